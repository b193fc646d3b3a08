"""Mappings fitted to what a job sends, through the real engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import odonata
from command import Done, call
from odonata.errors import ExitCode, ScenarioError
from odonata.mapping import COMPARED, compare_mappings, mapping_costs
from odonata.scenario import Scenario

#: Kaplan et al. 2017's small machine, all of it for one stencil of 4 × 6 × 6 ranks.
STENCIL: dict[str, Any] = {
    "network": {"family": "dragonfly", "p": 2, "a": 4, "h": 2, "arrangement": "circulant"},
    "job": [
        {
            "name": "stencil",
            "nodes": 72,
            "ranks_per_node": 2,
            "placement": "random-node",
            "motif": {"kind": "halo3d", "message": "100 kB", "grid": [4, 6, 6]},
        }
    ],
}


def stencil(mapping: Any) -> Scenario:
    return Scenario.from_dict({**STENCIL, "job": [{**STENCIL["job"][0], "mapping": mapping}]})


def test_the_busiest_link_tells_how_long_an_exchange_takes() -> None:
    """What `odonata mapping` estimates against what the packet engine then needs."""
    links = {kind: {"bandwidth": "1 GB/s"} for kind in ("terminal", "local", "global")}
    took, busiest = {}, {}
    for name in ("linear", "graph-bisection", "graph-bisection, swapped for link load"):
        scenario = stencil(COMPARED[name])
        scenario = scenario.with_set(
            {f"network.links.{kind}.bandwidth": link["bandwidth"] for kind, link in links.items()}
        )
        costs = mapping_costs(scenario)[0]
        busiest[name] = max(costs[f"busiest_{kind}_ns"] for kind in links) * 1e3
        took[name] = odonata.run(scenario).jobs.to_pylist()[0]["end_ps"]
        # No exchange is faster than its busiest link; waiting adds some.
        assert busiest[name] <= took[name] < 1.3 * busiest[name]
    linear, bisected, even = took.values()
    assert even < 0.8 * bisected < 0.8 * linear


def test_costs_tell_mappings_apart() -> None:
    found = {name: costs for name, costs, _ in compare_mappings(stencil("linear"))}
    assert all(costs is not None for costs in found.values())
    jobs = {name: costs[0] for name, costs in found.items() if costs}
    # Every rank sends 100 kB to each of six neighbours, whatever the mapping.
    assert {job["bytes"] for job in jobs.values()} == {144 * 600_000}
    hops = {name: job["hop_bytes"] for name, job in jobs.items()}
    assert hops["graph-bisection"] < hops["linear"] < hops["random"]
    assert hops["greedy"] < hops["random"]
    # Each of the 72 nodes has a pair of neighbours in both; only one puts pairs near each other.
    clusters = jobs["random-clusters"]
    assert clusters["share_in_node"] == jobs["graph-bisection"]["share_in_node"] == 1 / 6
    assert clusters["share_in_group"] < 0.5 * jobs["graph-bisection"]["share_in_group"]
    swapped = jobs["graph-bisection, swapped for hop-bytes"]
    assert swapped["link_time_ns"] <= jobs["graph-bisection"]["link_time_ns"]
    even = jobs["graph-bisection, swapped for link load"]
    assert even["busiest_global_ns"] <= jobs["graph-bisection"]["busiest_global_ns"]


def test_a_mapping_is_written_and_read_again(tmp_path: Path) -> None:
    text = """
        [network]
        family = "dragonfly"
        p = 2
        a = 4
        h = 2
        [[job]]
        name = "stencil"
        nodes = 36
        ranks_per_node = 2
        placement = "spread"
        mapping = "graph-bisection"
        motif = { kind = "halo2d", message = "1 kB" }
    """
    (tmp_path / "a.toml").write_text(text, encoding="utf-8")
    written = text.replace('"graph-bisection"', '{ file = "m.txt" }')
    (tmp_path / "b.toml").write_text(written, encoding="utf-8")

    def mapping(*arguments: str) -> Done:
        return call("mapping", *arguments, directory=tmp_path)

    first = mapping("a.toml", "--out", "m.txt", "--json")
    assert first.returncode == 0, first.stderr
    again = mapping("b.toml", "--json")
    assert again.returncode == 0, again.stderr
    one, two = (json.loads(done.stdout)["jobs"][0] for done in (first, again))
    assert one["node_of_rank"] == two["node_of_rank"]
    assert one["mapping"] == "graph-bisection"
    # Nothing is overwritten.
    assert mapping("a.toml", "--out", "m.txt").returncode == ExitCode.OUTPUT
    table = mapping("a.toml", "--compare")
    assert table.returncode == 0
    for name in ("linear", "random", "random-clusters", "greedy", "graph-bisection"):
        assert name in table.stdout
    assert mapping("a.toml", "--job", "nobody").returncode == ExitCode.USAGE


def test_a_matrix_can_say_who_talks_to_whom(tmp_path: Path) -> None:
    # All-to-all sends alike between all ranks; the matrix says that rank r talks
    # to r + 4 of 8 only, and these pairs then share nodes.
    rows = [",".join("100" if (a - b) % 8 == 4 else "0" for b in range(8)) for a in range(8)]
    file = tmp_path / "pairs.csv"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    scenario = Scenario.from_dict(
        {
            "network": STENCIL["network"],
            "job": [
                {
                    "nodes": 4,
                    "ranks_per_node": 2,
                    "mapping": {"policy": "graph-bisection", "matrix": str(file)},
                    "motif": {"kind": "all-to-all", "message": "1 kB"},
                }
            ],
        }
    )
    nodes = mapping_costs(scenario)[0]["node_of_rank"]
    assert nodes[:4] == nodes[4:]
    assert sorted(nodes[:4]) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("mapping", "path", "words"),
    [
        ("nearest", "job[0].mapping", ["graph-bisection"]),
        ({"policy": "greedy", "file": "x"}, "job[0].mapping", ["both", "exactly one"]),
        ({"refine": "swap"}, "job[0].mapping", ["neither"]),
        ({"file": "x", "refine": "swap"}, "job[0].mapping.refine", ["only with `policy`"]),
        (
            {"policy": "linear", "objective": "link-load"},
            "job[0].mapping.objective",
            ["refine"],
        ),
        ({"policy": "random", "matrix": "x"}, "job[0].mapping.matrix", ["greedy"]),
        ({"policy": "greedy", "matrix": "no/such"}, "job[0].mapping.matrix", ["no/such"]),
    ],
)
def test_flaws_name_their_key(mapping: Any, path: str, words: list[str]) -> None:
    with pytest.raises(ScenarioError) as error:
        mapping_costs(stencil(mapping))
    assert error.value.path == path
    for word in words:
        assert word in str(error.value)
