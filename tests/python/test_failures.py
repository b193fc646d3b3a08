"""Parts of a network that do not work: what is left carries what its links can, and no more."""

from pathlib import Path
from typing import Any

import pytest

import odonata
from odonata import Scenario, ScenarioError
from odonata.network.exporting import export_network

#: A dragonfly of 72 nodes, 36 routers, 9 groups, one link between every two groups.
DRAGONFLY = {"family": "dragonfly", "p": 2, "a": 4, "h": 2}


def scenario(network: dict[str, Any], failures: dict[str, Any] | None, **job: Any) -> Scenario:
    data: dict[str, Any] = {
        "network": network,
        "simulation": {"duration": "200 us", "warmup": "50 us"} if "traffic" in job else {},
        "job": [{"name": "job", **job}],
    }
    if failures is not None:
        data["failures"] = failures
    return Scenario.from_dict(data)


def accepted(found: odonata.Result) -> float:
    """Bytes per second that the nodes of the only job take in together."""
    (rate,) = found.jobs["accepted_bytes_per_s"].to_pylist()
    return float(rate)


#: Bytes per second of a link of which nothing is said.
LINK = 16 << 30
#: Two switches of four nodes each with four links between them, at which all nodes send across.
PAIR = {
    "family": "hyperx",
    "size": [2],
    "parallel": [4],
    "p": 4,
    "routing": {"algorithm": "shortest-path", "choice": "by-load"},
}
ACROSS = {"pattern": "bisection-pairs", "message": "4 KiB", "load": 1.0}


@pytest.mark.parametrize("dark", [1, 2, 3])
def test_of_four_parallel_links_those_that_are_left_carry_the_traffic(dark: int) -> None:
    """Eight nodes ask for four links in each direction: with k dark, 4 - k are full."""
    failures = {"links": [{"routers": [0, 1], "count": dark}]}
    found = odonata.run(scenario(PAIR, failures, nodes=8, traffic=ACROSS))
    assert accepted(found) == pytest.approx(2 * (4 - dark) * LINK, rel=0.01)


def test_a_link_of_which_lanes_are_dark_carries_its_share() -> None:
    """All four links at 25 %: what one of them carries whole, on links of a class of their own."""
    failures = {"links": [{"routers": [0, 1], "bandwidth": "25 %"}]}
    found = odonata.run(scenario(PAIR, failures, nodes=8, traffic=ACROSS))
    assert accepted(found) == pytest.approx(2 * LINK, rel=0.01)
    assert "dim1 at 25 %" in set(found.links["class"].to_pylist())


def test_a_ring_that_is_cut_is_a_line() -> None:
    """Equal routes and equal times, packet by packet; routers keep their numbers."""
    ring = {"family": "torus", "size": [6], "p": 1, "routing": "shortest-path"}
    line = {**ring, "wrap": [False]}
    load = {"kind": "all-to-all", "message": "1 KiB"}
    cut = odonata.run(scenario(ring, {"links": [{"routers": [5, 0]}]}, nodes=6, motif=load))
    mesh = odonata.run(scenario(line, None, nodes=6, motif=load))
    columns = ["end_ps", "messages_delivered", "mean_routers_visited"]
    assert cut.jobs.select(columns) == mesh.jobs.select(columns)


def test_a_fat_tree_without_a_spine_has_the_bandwidth_of_the_others() -> None:
    """Leaves of four nodes and four spines, of which one is down: 3/4 of the bisection."""
    tree = {
        "family": "fat-tree",
        "down": [4, 4],
        "up": [4],
        "routing": {"algorithm": "up-down", "choice": "by-load"},
    }
    spines = range(4, 8)
    failures = {"routers": [spines[1]]}
    found = odonata.run(scenario(tree, failures, nodes=16, traffic=ACROSS))
    # All 16 nodes send to another leaf: three links up of each of four leaves.
    assert accepted(found) == pytest.approx(4 * 3 * LINK, rel=0.03)


@pytest.mark.parametrize("routing", ["ugal-l", "ugal-g", "par", "valiant", "shortest-path"])
@pytest.mark.parametrize("engine", ["packet", "flow"])
def test_all_arrives_by_a_third_group(routing: str, engine: str) -> None:
    """SST's test (dragon_128_test_fl): all links between groups 2 and 3 are dark."""
    load = {"kind": "all-to-all", "message": "4 KiB"}
    case = scenario(
        {**DRAGONFLY, "routing": routing}, {"links": [{"groups": [2, 3]}]}, nodes=72, motif=load
    )
    found = odonata.run(case.with_set({"simulation.engine": engine}))
    assert found.jobs["messages_delivered"].to_pylist() == [72 * 71]


def test_minimal_routing_names_the_two_groups() -> None:
    network = {**DRAGONFLY, "routing": "minimal"}
    load = {"kind": "all-to-all", "message": "4 KiB"}
    with pytest.raises(ScenarioError, match="no global link joins group 2 to group 3"):
        odonata.run(scenario(network, {"links": [{"groups": [2, 3]}]}, nodes=72, motif=load))


def test_jobs_get_no_node_that_is_out_of_service() -> None:
    """A router of two nodes and a node by itself: 69 of 72 are left."""
    failures = {"routers": [5], "nodes": [0]}
    load = {"kind": "all-to-all", "message": "64 B"}
    network = {**DRAGONFLY, "routing": "shortest-path"}
    found = odonata.run(scenario(network, failures, nodes=69, motif=load))
    assert not {0, 10, 11} & set(found.placement["node"].to_pylist())
    with pytest.raises(ScenarioError, match="at most 69, all nodes of the machine"):
        odonata.run(scenario(network, failures, nodes=70, motif=load))
    with pytest.raises(ScenarioError, match="node 10 is out of service"):
        odonata.run(scenario(network, failures, placement=[10, 12], motif=load))


def test_results_are_the_same_on_any_number_of_threads() -> None:
    failures = {
        "draw": [{"link_class": "global", "share": "20 %"}, {"part": "routers", "count": 2}]
    }
    network = {**DRAGONFLY, "routing": "ugal-l"}
    load = {"kind": "all-to-all", "message": "8 KiB"}
    runs = [
        odonata.run(scenario(network, failures, nodes=60, motif=load), threads=threads)
        for threads in (1, 2, 4)
    ]
    assert all(run.jobs == runs[0].jobs and run.links == runs[0].links for run in runs[1:])


def test_jobs_of_a_schedule_share_what_is_left(tmp_path: Path) -> None:
    """Two jobs of 40 nodes fit beside each other into 80 nodes, and not into 79."""
    table = """
[schedule]
policy = "fcfs"
network = { level = "packet", placement = "random-node" }
[network]
family = "crossbar"
nodes = 80
"""
    job = '[[job]]\nnodes = 40\nmotif = { kind = "phases", phases = [{ compute = "100 s" }] }\n'
    starts = []
    for failures in ("", "[failures]\nnodes = [3]\n"):
        (schedule,) = odonata.batch.run_schedules(Scenario.from_toml(table + failures + job + job))
        starts.append(schedule.jobs["start_s"].to_pylist())
    assert starts == [[0.0, 0.0], [0.0, 100.0]]


@pytest.mark.parametrize(
    ("failures", "words"),
    [
        ({}, "nothing fails: give `links`, `routers`, `nodes` or `draw`"),
        ({"links": [{"groups": [2, 99]}]}, "there is no group 99: the network's groups are 0 to 8"),
        ({"links": [{"routers": [0, 35]}]}, "there is no link between routers 0 and 35"),
        ({"links": [{"routers": [0]}]}, "at least 2"),
        ({"links": [{}]}, "`routers` or `groups`, two of them"),
        ({"links": [{"routers": [0, 1], "bandwidth": "100 %"}]}, "0 % and 99.9999 %"),
        ({"links": [{"routers": [0, 1]}, {"routers": [1, 0]}]}, "have failed already"),
        ({"routers": "0-40"}, "there is no router 36"),
        ({"routers": "0-35"}, "no node is left that works"),
        ({"routers": [1, 1]}, "router 1 is listed twice"),
        ({"nodes": [72]}, "there is no node 72"),
        ({"draw": [{"part": "nodes"}]}, "`share` or `count`"),
        (
            {"draw": [{"part": "nodes", "link_class": "global", "count": 1}]},
            'only with part = "links"',
        ),
        ({"draw": [{"link_class": "blue", "count": 1}]}, "no link class is called `blue`"),
        ({"draw": [{"count": 1000}]}, "of which only 90 still work"),
        ({"draw": [{"share": "0.1 %"}]}, "is none of them"),
        ({"lnks": []}, "did you mean `links`"),
    ],
)
def test_what_cannot_fail_is_refused(failures: dict[str, Any], words: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        odonata.run(
            scenario(DRAGONFLY, failures, nodes=2, motif={"kind": "all-to-all", "message": "8 B"})
        )
    assert words in str(raised.value)


def test_networks_with_circuits_are_refused() -> None:
    network = {"family": "reconfigurable-dragonfly", "p": 2, "a": 4, "h": 2, "g": 9}
    load = {"kind": "all-to-all", "message": "8 B"}
    with pytest.raises(ScenarioError, match="whose circuits optical switches set"):
        odonata.run(scenario(network, {"nodes": [0]}, nodes=2, motif=load))


def test_a_network_with_lost_nodes_is_not_written(tmp_path: Path) -> None:
    """No format of wirings has a node that is attached to nothing."""
    load = {"kind": "all-to-all", "message": "8 B"}
    out = tmp_path / "out.edges"
    with pytest.raises(ScenarioError, match="node 10 is out of service"):
        export_network(scenario(DRAGONFLY, {"routers": [5]}, nodes=2, motif=load), "edge-list", out)
    assert not out.exists()
    cut = scenario(DRAGONFLY, {"links": [{"groups": [2, 3]}]}, nodes=2, motif=load)
    export_network(cut, "edge-list", out)
    assert out.is_file()
