"""Routing by forwarding tables, from files to results."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command import call
from odonata import Scenario, _engine, run
from odonata.errors import ScenarioError, SimulationError

RING = {"family": "torus", "size": [5]}
NODES = 5


def clockwise(router: int, node: int) -> int:
    """Ports of a ring's router: its node, back, forth; of the first: its node, forth, back."""
    return 1 if router == 0 else 2


def shortest(router: int, node: int) -> int:
    """The nearer way round."""
    forth = clockwise(router, node)
    return forth if (node - router) % NODES <= NODES // 2 else 3 - forth


def past_the_first(source: int, to: int) -> int:
    """A channel of their own for packets that go by the link between the last and the first."""
    return int(abs(source - to) > NODES // 2)


def write_tables(file: Path, port: Callable[[int, int], int]) -> None:
    lines = [
        f"{router},{node},{port(router, node)}"
        for router in range(NODES)
        for node in range(NODES)
        if router != node
    ]
    file.write_text("\n".join(["router,destination,port", *lines, ""]))


def write_channels(file: Path, channel: Callable[[int, int], int]) -> None:
    lines = [
        f"{source},{to},{channel(source, to)}"
        for source in range(NODES)
        for to in range(NODES)
        if source != to
    ]
    file.write_text("\n".join(["source,destination,channel", *lines, ""]))


def ring(directory: Path, **options: Any) -> dict[str, Any]:
    routing = {"algorithm": "forwarding-tables", "tables": "forwarding-tables.csv", **options}
    return {**RING, "routing": routing}


def test_a_packet_takes_exactly_what_the_links_on_its_way_take(tmp_path: Path) -> None:
    write_tables(tmp_path / "forwarding-tables.csv", clockwise)
    motif = {"kind": "all-to-all", "message": "100 B"}
    latencies = {}
    for network, pair in (
        (ring(tmp_path), [1, 0]),
        # On a line there is one way, over the same links: from end to end.
        ({"family": "torus", "size": [5], "wrap": [False]}, [0, 4]),
        (ring(tmp_path), [0, 1]),
        ({"family": "torus", "size": [5], "wrap": [False]}, [0, 1]),
    ):
        job = {"nodes": 2, "placement": pair, "motif": motif}
        data = {"network": network, "job": [job], "record": {"messages": "all"}}
        messages = run(Scenario.from_dict(data, directory=tmp_path)).messages.to_pylist()
        there = next(m for m in messages if m["source_rank"] == 0)
        key = (network.get("wrap") is None, tuple(pair))
        latencies[key] = there["delivered_ps"] - there["created_ps"]
    assert latencies[True, (1, 0)] == latencies[False, (0, 4)]
    assert latencies[True, (0, 1)] == latencies[False, (0, 1)] < latencies[True, (1, 0)]


def test_channels_by_source_keep_a_full_ring_going(tmp_path: Path) -> None:
    """Everybody sends to everybody, with hardly a buffer."""
    write_tables(tmp_path / "forwarding-tables.csv", shortest)
    write_channels(tmp_path / "levels.csv", past_the_first)
    links = {name: {"buffer": "4 KiB"} for name in ("terminal", "local")}
    motif = {"kind": "all-to-all", "message": "64 KiB"}

    def scenario(**options: Any) -> Scenario:
        network = {**ring(tmp_path, **options), "links": links}
        job = {"nodes": NODES, "motif": motif}
        data = {"network": network, "simulation": {"packet": "4 KiB"}, "job": [job]}
        return Scenario.from_dict(data, directory=tmp_path)

    result = run(scenario(service_levels="levels.csv"))
    assert result.jobs["messages_delivered"].to_pylist() == [NODES * (NODES - 1)]
    with pytest.raises(SimulationError, match="deadlock"):
        run(scenario())


def test_verify_shows_the_cycle_and_proves_its_absence(tmp_path: Path) -> None:
    write_tables(tmp_path / "forwarding-tables.csv", shortest)
    write_channels(tmp_path / "virtual-channels.csv", past_the_first)
    job = {"nodes": NODES, "motif": {"kind": "all-to-all", "message": "1 KiB"}}
    for name, tables in (("alone", "forwarding-tables.csv"), ("both", ".")):
        data = {"network": ring(tmp_path, tables=tables), "job": [job]}
        scenario = Scenario.from_dict(data, directory=tmp_path)
        (tmp_path / f"{name}.toml").write_text(scenario.to_toml())
    done = call("verify", "alone.toml", "--json", directory=tmp_path)
    assert done.returncode == 5
    cycle = json.loads(done.stdout)["cycle"]
    assert len(cycle) == NODES
    # The first of the two ways round in which there is one.
    assert all(line.endswith("vc 0)") for line in cycle)
    # A directory is looked through for channels, too.
    done = call("verify", "both.toml", "--json", directory=tmp_path)
    found = json.loads(done.stdout)
    assert (found["safe"], found["proven"], found["virtual_channels"]) == (True, True, 2)


def test_mistakes_are_errors_at_their_key(tmp_path: Path) -> None:
    write_tables(tmp_path / "forwarding-tables.csv", shortest)
    write_tables(tmp_path / "lost.csv", lambda router, node: 1)
    (tmp_path / "short.csv").write_text("source,destination,channel\n0,1,0\n")
    (tmp_path / "opensm").mkdir()
    (tmp_path / "opensm" / "opensm-lfts.dump").write_text("Unicast lids [0-8] of switch …\n")
    job = {"nodes": NODES, "motif": {"kind": "all-to-all", "message": "1 KiB"}}
    for options, key, words in (
        ({"tables": None}, "tables", "found nothing; allowed: a file or a directory"),
        ({"tables": "nowhere.csv"}, "tables", "cannot be read"),
        ({"tables": "lost.csv"}, "tables", "go round for ever: routers "),
        ({"tables": "opensm"}, "tables", "give `subnet`, the output of `ibnetdiscover`"),
        ({"service_levels": "short.csv"}, "service_levels", "from node 0 to node 2"),
        ({"algorithm": "minimal"}, "tables", "no such option, which is for forwarding-tables"),
        ({"virtual_channels": 4}, "virtual_channels", "follows from a packet's source"),
        ({"subnet": "short.csv"}, "subnet", "line 1: found `source,destination,channel`"),
    ):
        network = ring(tmp_path, **options)
        network["routing"] = {k: v for k, v in network["routing"].items() if v is not None}
        data = {"network": network, "job": [job]}
        with pytest.raises((ScenarioError, _engine.SpecError)) as caught:
            run(Scenario.from_dict(data, directory=tmp_path))
        assert f"network.routing.{key}" in str(caught.value)
        assert words in str(caught.value)


def test_a_subnet_comes_back_as_the_network_that_it_was(tmp_path: Path) -> None:
    data = {
        "network": RING,
        "job": [{"nodes": 1, "motif": {"kind": "all-to-all", "message": "1 B"}}],
    }
    (tmp_path / "ring.toml").write_text(Scenario.from_dict(data).to_toml())
    done = call(
        *("topology", "export", "ring.toml", "--format", "ibsim", "--out", "ring.net"),
        directory=tmp_path,
    )
    assert done.returncode == 0
    found = _engine.read_ibnetdiscover(str(tmp_path / "ring.net"))
    assert [switch["name"] for switch in found["switches"]] == [f"S-{n}" for n in range(NODES)]
    assert [host["switch"] for host in found["hosts"]] == list(range(NODES))
    assert len(found["cables"]) == NODES
    data["network"] = {"family": "ibnetdiscover", "file": "ring.net"}
    (tmp_path / "again.toml").write_text(Scenario.from_dict(data).to_toml())
    done = call("topology", "describe", "again.toml", "--json", directory=tmp_path)
    described = json.loads(done.stdout)
    assert (described["routers"], described["nodes"], described["diameter"]) == (5, 5, 2)
    with pytest.raises(_engine.SpecError, match="line 2"):
        (tmp_path / "broken.txt").write_text("\nnonsense\n")
        _engine.read_ibnetdiscover(str(tmp_path / "broken.txt"))
