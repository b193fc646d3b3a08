"""SST's test of failed links, set up from its files: two groups reach each other by a third."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import odonata
from command import call
from odonata import Scenario, ScenarioError

GROUPS, ROUTERS, HOSTS, LINKS = 4, 8, 4, 4
#: Nodes of each of the two jobs: the first has groups 0 and 1, the second 2 and 3.
RANKS = GROUPS * ROUTERS * HOSTS // 2
ROUNDS = 10
#: When SST's two jobs have all they get, in ps (refFiles/test_merlin_dragon_128_test_fl.out).
ENDS = (6_203_000, 4_692_000)


def _global_port(link: int) -> tuple[int, int]:
    """Router and port of a link (pymerlin-topo-dragonfly.py): four of 16 ports stay empty."""
    return divmod(link, 2) if link < ROUTERS else (link - ROUTERS // 2, 0)


def _wiring() -> str:
    """Link l of a group is the one of number l // 3 to the (l % 3)-th of the other groups."""
    lines = []
    for one in range(GROUPS):
        for other in range(one + 1, GROUPS):
            for number in range(LINKS):
                ends = ((one, other - 1), (other, one))
                ports = [(g, *_global_port(number * (GROUPS - 1) + peer)) for g, peer in ends]
                lines.append(" ".join(str(part) for end in ports for part in end))
    return "\n".join(lines)


def _schedule() -> str:
    """Ten rounds: every rank sends 8 bytes to every other, from the next on (test/nic.cc)."""
    lines = [f"num_ranks {RANKS}"]
    for rank in range(RANKS):
        steps = [(turn, step) for turn in range(ROUNDS) for step in range(1, RANKS)]
        todo = [f"recv 8b from {(rank - step) % RANKS} tag {turn}" for turn, step in steps]
        todo += [f"send 8b to {(rank + step) % RANKS} tag {turn}" for turn, step in steps]
        lines += [f"rank {rank} {{", *(f"l{n}: {what}" for n, what in enumerate(todo, 1)), "}"]
    return "\n".join(lines)


def _scenario(directory: Path, seed: int) -> Scenario:
    (directory / "links.txt").write_text(_wiring())
    (directory / "rounds.goal").write_text(_schedule())
    link = {"bandwidth": "4 GB/s", "latency": "20 ns", "buffer": "4 kB"}
    network: dict[str, Any] = {
        "family": "dragonfly",
        "p": HOSTS,
        "a": ROUTERS,
        "h": 2,
        "g": GROUPS,
        "arrangement": "custom",
        "arrangement_file": str(directory / "links.txt"),
        "links": dict.fromkeys(("terminal", "local", "global"), link),
        # Input and output of a router take 20 ns each.
        "router": {
            "delay": "40 ns",
            "flit": "8 B",
            "crossbar": "6 GB/s",
            "output_buffer": "4 kB",
            # hr_router's oql_track_remote is false.
            "occupancy": "unsent",
        },
        # All four links to the group and all four to a third one, in flits of the virtual channel:
        # the detour counts double and 50 more (topology/dragonfly.cc, route_ugal).
        "routing": {
            "algorithm": "ugal-l",
            "candidates": LINKS,
            "weights": [1, 2],
            "threshold": "400 B",
            "queue": "channel",
            "detours_in_group": True,
        },
    }
    motif = {"kind": "trace", "file": str(directory / "rounds.goal")}
    jobs = [
        {"name": name, "placement": list(range(first, first + RANKS)), "motif": motif}
        for name, first in (("first", 0), ("second", RANKS))
    ]
    return Scenario.from_dict(
        {
            "seed": seed,
            "network": network,
            "failures": {"links": [{"groups": [2, 3]}]},
            "simulation": {"packet": "8 B"},
            "job": jobs,
        }
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[odonata.Result]:
    directory = tmp_path_factory.mktemp("sst")
    return [odonata.run(_scenario(directory, seed)) for seed in (1, 2, 3)]


def test_everything_arrives_by_third_groups(runs: list[odonata.Result]) -> None:
    """SST's interfaces get 640 packets each, of which ten are their own; ours get the others."""
    for run in runs:
        delivered = run.jobs["messages_delivered"].to_pylist()
        assert delivered == [RANKS * (RANKS - 1) * ROUNDS] * 2
        between = {
            (row["from_group"], row["to_group"]): row["bytes"]
            for row in run.links.to_pylist()
            if row["kind"] == "global" and row["bytes"]
        }
        assert between and not {(2, 3), (3, 2)} & set(between)


def test_the_run_takes_as_long_as_in_sst(runs: list[odonata.Result]) -> None:
    """Both jobs are within 10 % of SST's, the mean of three seeds, and so is the run.

    SST's output does not say which times are whose; a model of its routers made after its sources
    does, by group: 6.202 us for the job whose groups are joined, 4.694 us for the other. The first
    one is the longer, as UGAL counts what is in the output's buffer alone and does not see what
    waits at the routers with the global links until their inputs are full: the model takes 3.51 and
    4.71 us where what has been sent counts too.
    """
    for job, end in enumerate(ENDS):
        ends = [run.jobs["end_ps"][job].as_py() for run in runs]
        assert sum(ends) / len(ends) == pytest.approx(end, rel=0.1)
    whole = sum(max(run.jobs["end_ps"].to_pylist()) for run in runs) / len(runs)
    assert whole == pytest.approx(max(ENDS), rel=0.1)


def test_routing_that_looks_at_no_queues_counts_none(tmp_path: Path) -> None:
    """What has been sent cannot be left out where nothing is counted."""
    case = _scenario(tmp_path, 1).with_set(
        {"failures.links": [{"groups": [2, 3], "count": 1}], "network.routing": "minimal"}
    )
    with pytest.raises(ScenarioError, match=r"network\.router\.occupancy.*looks at no queues"):
        odonata.run(case)


def test_verify_refuses_minimal_routing(tmp_path: Path) -> None:
    file = tmp_path / "minimal.toml"
    case = _scenario(tmp_path, 1).with_set({"network.routing": "minimal"})
    file.write_text(case.to_toml())
    done = call("verify", file, directory=tmp_path)
    assert done.returncode == 2
    assert "no global link joins group 2 to group 3" in done.stderr
