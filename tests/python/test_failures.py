"""Parts of a network that do not work: what is left carries what its links can, and no more."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.text import Text
from rich.console import Console

import odonata
from command import call
from odonata import Checkpoint, Scenario, ScenarioError
from odonata.errors import JobLogError
from odonata.network.exporting import export_network
from odonata.report.html import write_report
from odonata.report.summaries import print_summary

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


@pytest.mark.parametrize("engine", ["packet", "flow"])
def test_links_that_damage_packets_carry_the_rest(engine: str) -> None:
    """A share e that is sent again leaves 1 - e, with a quarter of the lanes 1/4 of that."""
    failures = {"links": [{"routers": [0, 1], "error_rate": "20 %", "bandwidth": "25 %"}]}
    case = scenario(PAIR, failures, nodes=8, traffic=ACROSS)
    # Some 50,000 packets, of which the mean number of tries is known to 0.2 %.
    keys = {"engine": engine, "packet": "256 B", "duration": "550 us"}
    found = odonata.run(case.with_set({f"simulation.{key}": value for key, value in keys.items()}))
    assert accepted(found) == pytest.approx(2 * LINK * 0.8, rel=0.01)
    assert "dim1 at 25 % with 20 % sent again" in set(found.links["class"].to_pylist())


def test_lanes_are_dark_for_a_while() -> None:
    """Half of the measured time a quarter is left of all four links: 5/8 of what they carry."""
    failures = {
        "links": [{"routers": [0, 1], "bandwidth": "25 %", "at": "50 us", "until": "125 us"}]
    }
    found = odonata.run(scenario(PAIR, failures, nodes=8, traffic=ACROSS))
    assert accepted(found) == pytest.approx(8 * LINK * 5 / 8, rel=0.01)


def test_lanes_fail_and_are_repaired_over_time() -> None:
    """Dark for 1/4 of the time, with a fifth of the bandwidth left: 3/4 + 1/4 · 1/5 of the rate.

    The only link fails some 1,000 times: the mean is known to 0.8 %. Packets are short beside a
    repair, as one that has been begun is sent on as it was.
    """
    network = {**PAIR, "parallel": [1]}
    failures = {"draw": [{"mtbf": "7.5 us", "repair": "2.5 us", "bandwidth": "20 %"}]}
    case = scenario(network, failures, nodes=8, traffic=ACROSS)
    found = odonata.run(
        case.with_set({"simulation.duration": "10 ms", "simulation.packet": "256 B"})
    )
    assert accepted(found) == pytest.approx(2 * LINK * 0.8, rel=0.03)


def test_a_link_has_less_bandwidth_in_one_direction() -> None:
    """Half of four links one way and all of them back; the port is the first of these links."""
    half = {"routers": [0, 1], "one_way": True, "bandwidth": "50 %"}
    found = odonata.run(scenario(PAIR, {"links": [half]}, nodes=8, traffic=ACROSS))
    assert accepted(found) == pytest.approx((2 + 4) * LINK, rel=0.03)
    dark = {"links": [{"port": "0/4"}]}
    found = odonata.run(scenario(PAIR, dark, nodes=8, traffic=ACROSS))
    assert accepted(found) == pytest.approx(2 * 3 * LINK, rel=0.01)


#: Two leaves with two hosts each and a spine; a cable from each leaf.
SUBNET = """
vendid=0x2c9
switchguid=0x10(10)
Switch 3 "S-0000000000000010" # "leaf-1" enhanced port 0 lid 1 lmc 0
[1] "H-0000000000000001"[1](1) # "n1 HCA-1" lid 11 4xEDR
[2] "H-0000000000000002"[1](2) # "n2 HCA-1" lid 12 4xEDR
[3] "S-0000000000000030"[1] # "spine" lid 3 4xEDR

switchguid=0x20(20)
Switch 3 "S-0000000000000020" # "leaf-2" enhanced port 0 lid 2 lmc 0
[1] "H-0000000000000003"[1](3) # "n3 HCA-1" lid 13 4xEDR
[2] "H-0000000000000004"[1](4) # "n4 HCA-1" lid 14 4xEDR
[3] "S-0000000000000030"[2] # "spine" lid 3 4xEDR

switchguid=0x30(30)
Switch 2 "S-0000000000000030" # "spine" enhanced port 0 lid 3 lmc 0
[1] "S-0000000000000010"[3] # "leaf-1" lid 1 4xEDR
[2] "S-0000000000000020"[3] # "leaf-2" lid 2 4xEDR

caguid=0x1
Ca 1 "H-0000000000000001" # "n1 HCA-1"
[1](1) "S-0000000000000010"[1] # lid 11 lmc 0 "leaf-1" lid 1 4xEDR

caguid=0x2
Ca 1 "H-0000000000000002" # "n2 HCA-1"
[1](2) "S-0000000000000010"[2] # lid 12 lmc 0 "leaf-1" lid 1 4xEDR

caguid=0x3
Ca 1 "H-0000000000000003" # "n3 HCA-1"
[1](3) "S-0000000000000020"[1] # lid 13 lmc 0 "leaf-2" lid 2 4xEDR

caguid=0x4
Ca 1 "H-0000000000000004" # "n4 HCA-1"
[1](4) "S-0000000000000020"[2] # lid 14 lmc 0 "leaf-2" lid 2 4xEDR
"""


def by_number(network: str, failures: str, directory: Path) -> dict[str, Any]:
    """What of a network fails, as the engine has it."""
    text = f"{network}\n[failures]\n{failures}\n[[job]]\nnodes = 1\n"
    text += 'motif = { kind = "all-to-all", message = "8 B" }\n'
    (directory / "scenario.toml").write_text(text)
    found = Scenario.from_file(directory / "scenario.toml").normalised()
    return dict(found["network"]["failures"])


def test_parts_are_called_by_the_names_of_the_wiring_file(tmp_path: Path) -> None:
    (tmp_path / "subnet").write_text(SUBNET)
    network = '[network]\nfamily = "ibnetdiscover"\nfile = "subnet"'
    called = (
        'hosts = "n[2,4]"\nswitches = ["spine"]\n'
        'links = [{ switches = ["leaf-1", "spine"], bandwidth = "50 %" }, { port = "leaf-2/3" }]'
    )
    found = by_number(network, called, tmp_path)
    links = found["links"]
    assert (found["nodes"], found["routers"]) == ([1, 3], [2])
    assert links[0]["routers"] == [0, 2] and links[1]["port"] == "1/2"
    for other, words in [
        ('hosts = "n9"', "host n9; allowed: one of the 4 hosts, such as n1"),
        ('switches = ["leaf-3"]', "switch leaf-3; allowed: one of the 3 switches, such as leaf-1"),
        ('links = [{ port = "leaf-1" }]', "a router, a slash and its port"),
        ('links = [{ port = "leaf-1/0" }]', "a router, a slash and its port"),
    ]:
        with pytest.raises(ScenarioError, match=words):
            by_number(network, other, tmp_path)


def test_switches_are_called_by_the_part_of_their_description_that_people_say(
    tmp_path: Path,
) -> None:
    (tmp_path / "subnet").write_text(
        SUBNET.replace('"leaf-1"', '"MF0;leaf-1:MQM8700/U1"').replace('"spine"', '"MF0;spine:Q/U1"')
    )
    network = '[network]\nfamily = "ibnetdiscover"\nfile = "subnet"'
    for name in ("spine", "MF0;spine:Q/U1"):
        assert by_number(network, f'switches = ["{name}"]', tmp_path)["routers"] == [2]
    allowed = "one of the 3 switches, such as MF0;leaf-1:MQM8700/U1, or leaf-1"
    with pytest.raises(ScenarioError, match=re.escape(allowed)):
        by_number(network, 'switches = ["MF0"]', tmp_path)
    # Two of one name are told apart by nothing else than their numbers.
    (tmp_path / "subnet").write_text((tmp_path / "subnet").read_text().replace("spine:", "leaf-1:"))
    with pytest.raises(ScenarioError, match="switch leaf-1, the name of several"):
        by_number(network, 'switches = ["leaf-1"]', tmp_path)


def test_hosts_are_those_of_the_machine(tmp_path: Path) -> None:
    network = '[network]\nfamily = "dragonfly"\np = 2\na = 4\nh = 2\n'
    hosts = '[machine]\nhosts = [{ names = "nid[01-08]", first_node = 4 }]'
    outages = 'in_flight = "lost"\noutages = [{ hosts = "nid[02-03]", at = "5 us" }]'
    found = by_number(f"{network}{hosts}", outages, tmp_path)
    assert found["outages"][0]["nodes"] == [5, 6]
    (tmp_path / "hosts").write_text("# host and node\nnid[01-08] 4\n")
    found = by_number(f'{network}[machine]\nhosts_file = "hosts"', 'hosts = "nid08"', tmp_path)
    assert found["nodes"] == [11]
    with pytest.raises(ScenarioError, match=r"names of hosts; allowed: with machine\.hosts"):
        by_number(network, 'hosts = "nid08"', tmp_path)
    with pytest.raises(ScenarioError, match="names of switches; allowed: with family"):
        by_number(network, 'switches = ["leaf"]', tmp_path)


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


def test_defaults_of_routing_stay_those_of_the_whole_network() -> None:
    """Without a global link some router is two hops from one; what queues are compared stays."""
    traffic = {"pattern": "uniform-random", "message": "4 KiB", "load": 0.6}
    ways = []
    for routing in ("ugal-l", {"algorithm": "ugal-l", "queue": "hybrid"}):
        network = {**DRAGONFLY, "routing": routing}
        broken = {"draw": [{"class": "global", "count": 2}]}
        found = odonata.run(scenario(network, broken, nodes=72, traffic=traffic))
        ways.append((found.links, found.jobs))
    assert ways[0] == ways[1]


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


def test_a_drawn_class_of_links_has_two_spellings() -> None:
    """`class` cannot be an argument in Python, and is what people write into files."""

    def drawn(**keys: Any) -> Any:
        draw = {"share": "20 %", **keys}
        form = {"network": DRAGONFLY, "failures": {"draw": [draw]}}
        return Scenario.from_dict(form).normalised()

    assert drawn(**{"class": "global"}) == drawn(link_class="global")
    with pytest.raises(ScenarioError, match="unknown key"):
        drawn(**{"class": "global"}, link_class="local")


def test_a_share_of_nothing_is_the_base_of_a_sweep() -> None:
    load = {"kind": "all-to-all", "message": "1 KiB"}
    none = {"draw": [{"link_class": "global", "share": "0 %"}]}
    with_none, without = (
        odonata.run(scenario(DRAGONFLY, failures, nodes=60, motif=load))
        for failures in (none, None)
    )
    assert with_none.jobs == without.jobs and with_none.links == without.links


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


def test_a_link_that_fails_half_way_carries_half() -> None:
    """Three of four links, then two: on average 2.5, as all that work are full."""
    failures = {
        "links": [{"routers": [0, 1], "count": 1}, {"routers": [0, 1], "count": 1, "at": "300 us"}]
    }
    case = scenario(PAIR, failures, nodes=8, traffic=ACROSS)
    found = odonata.run(
        case.with_set({"simulation.duration": "500 us", "simulation.warmup": "100 us"})
    )
    assert accepted(found) == pytest.approx(2 * 2.5 * LINK, rel=0.01)
    # In 400 us, of which one of them has half; both directions.
    of_links = zip(found.links["class"].to_pylist(), found.links["bytes"].to_pylist(), strict=True)
    carried = sorted(sent / (LINK * 400e-6) for name, sent in of_links if name == "dim1" and sent)
    assert carried == pytest.approx([0.5] * 2 + [1.0] * 4, abs=0.02)


def test_a_link_that_has_failed_carries_nothing_once_it_is_drained() -> None:
    """Down from 20 us on, and measured from 50 us on; the others carry what it did."""
    failures = {"links": [{"routers": [0, 1], "count": 1, "at": "20 us"}]}
    found = odonata.run(scenario(PAIR, failures, nodes=8, traffic=ACROSS))
    of_links = zip(found.links["class"].to_pylist(), found.links["bytes"].to_pylist(), strict=True)
    assert [sent == 0 for name, sent in of_links if name == "dim1"].count(True) == 2
    assert accepted(found) == pytest.approx(2 * 3 * LINK, rel=0.01)


def test_links_that_come_back_are_used_again() -> None:
    """Three of four are dark until 20 us, so that all of the measured time has three."""
    failures = {
        "links": [
            {"routers": [0, 1], "count": 1},
            {"routers": [0, 1], "count": 2, "until": "20 us"},
        ]
    }
    found = odonata.run(scenario(PAIR, failures, nodes=8, traffic=ACROSS))
    assert accepted(found) == pytest.approx(2 * 3 * LINK, rel=0.01)


def test_a_spine_is_taken_down_and_comes_back() -> None:
    """Two of four spines in the first half of the measured time, three in the second."""
    tree = {
        "family": "fat-tree",
        "down": [4, 4],
        "up": [4],
        "routing": {"algorithm": "up-down", "choice": "by-load"},
    }
    failures = {"routers": [4], "links": [{"router": 5, "at": "50 us", "until": "300 us"}]}
    case = scenario(tree, failures, nodes=16, traffic=ACROSS)
    found = odonata.run(
        case.with_set({"simulation.duration": "500 us", "simulation.warmup": "100 us"})
    )
    assert accepted(found) == pytest.approx(4 * 2.5 * LINK, rel=0.03)


#: Groups 2 and 3 of a dragonfly are not joined for a while.
FOR_A_WHILE: dict[str, Any] = {"links": [{"groups": [2, 3], "at": "4 us", "until": "12 us"}]}
#: The same, and a tenth of the others fail meanwhile.
AND_MORE: dict[str, Any] = {
    **FOR_A_WHILE,
    "draw": [{"link_class": "global", "share": "10 %", "at": "8 us"}],
}


@pytest.mark.parametrize(
    ("routing", "failures"),
    [
        ("ugal-l", FOR_A_WHILE),
        ("par", FOR_A_WHILE),
        ("valiant", FOR_A_WHILE),
        ("shortest-path", FOR_A_WHILE),
        ("up-down", AND_MORE),
    ],
)
def test_all_arrives_while_links_fail_and_come_back(routing: str, failures: dict[str, Any]) -> None:
    """A node takes 17 us to send 71 messages: all moments are within the run."""
    load = {"kind": "all-to-all", "message": "4 KiB"}
    case = scenario({**DRAGONFLY, "routing": routing}, failures, nodes=72, motif=load)
    found = odonata.run(case)
    assert found.jobs["messages_delivered"].to_pylist() == [72 * 71]
    (end,) = found.jobs["end_ps"].to_pylist()
    assert end > 16e6
    proof = odonata.verify(case)
    assert proof.safe and proof.proven


@pytest.mark.parametrize("router", [{}, {"crossbar": 2.0, "output_buffer": "16 KiB"}])
def test_moments_are_the_same_on_any_number_of_threads_and_after_a_break(
    router: dict[str, Any], tmp_path: Path
) -> None:
    """A checkpoint every 4 us is also one at each moment at which links change."""
    load = {"kind": "all-to-all", "message": "8 KiB"}
    network = {**DRAGONFLY, "routing": "ugal-l", "router": router}
    case = scenario(network, FOR_A_WHILE, nodes=72, motif=load)
    whole = odonata.run(case)
    kept: list[Path] = []

    def keep(event: odonata.CheckpointEvent) -> None:
        if event.kind == "written":
            kept.append(tmp_path / f"at-{len(kept)}")
            shutil.copytree(tmp_path / "run", kept[-1])

    checkpoint = Checkpoint(tmp_path / "run", simulated="4 us", on_event=keep)
    runs = [odonata.run(case, threads=threads) for threads in (2, 4, 8)]
    runs.append(odonata.run(case, checkpoint=checkpoint, threads=2))
    assert len(kept) >= 3
    runs += [odonata.run(case, checkpoint=Checkpoint(place, resume=True)) for place in kept[:3]]
    for run in runs:
        assert run.jobs.equals(whole.jobs) and run.links.equals(whole.links)


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


#: Two switches of two nodes with two links of 1 MiB/s; each job sends 2 x 10 MiB from every node.
SLOW_PAIR = """
[schedule]
policy = "fcfs"
network = {{ level = "{level}", placement = "contiguous" }}
[network]
family = "hyperx"
size = [2]
parallel = [2]
p = 2
routing = {{ algorithm = "shortest-path", choice = "by-destination" }}
links = {{ dim1 = {{ bandwidth = "1 MiB/s" }}, terminal = {{ bandwidth = "1 MiB/s" }} }}
[failures]
links = [{{ routers = [0, 1], {failure} }}]
[[job]]
nodes = 4
motif = {{ kind = "bisection", message = "10 MiB" }}
[[job]]
nodes = 4
motif = {{ kind = "bisection", message = "10 MiB" }}
"""


@pytest.mark.parametrize("level", ["packet", "flow"])
@pytest.mark.parametrize("failure", ["count = 1", 'bandwidth = "50 %"', 'error_rate = "50 %"'])
def test_jobs_of_a_schedule_are_slower_over_what_is_left(level: str, failure: str) -> None:
    """40 MiB cross in each direction: 20 s over two links, 40 s over half of that.

    Times are whole seconds, rounded up. At 50 % errors the packets of a run stray by 2 %.
    """
    case = Scenario.from_toml(SLOW_PAIR.format(level=level, failure=failure))
    (schedule,) = odonata.batch.run_schedules(case)
    first, second = schedule.jobs["end_s"].to_pylist()
    assert 40 <= first <= 42
    assert schedule.jobs["start_s"].to_pylist() == [0, first]
    assert second == 2 * first


@pytest.mark.parametrize("level", ["packet", "flow"])
@pytest.mark.parametrize(
    ("failure", "ends"),
    [
        # 20 s of work each: 10 s of it are left at half the speed, for the second all of it.
        ('count = 1, at = "10 s"', (30, 70)),
        ('bandwidth = "50 %", at = "10 s"', (30, 70)),
        # 10 s at half the speed are 5 s of work.
        ('count = 1, at = "10 s", until = "20 s"', (25, 45)),
        # The first job loses its last 5 s to a network in two parts, and begins again.
        ('at = "15 s", until = "20 s"', (40, 60)),
    ],
)
def test_links_fail_during_a_schedule(level: str, failure: str, ends: tuple[int, int]) -> None:
    """Times are whole seconds; what comes to less than the links' bandwidth adds at most two."""
    case = Scenario.from_toml(SLOW_PAIR.format(level=level, failure=failure))
    (schedule,) = odonata.batch.run_schedules(case)
    for found, expected in zip(schedule.jobs["end_s"].to_pylist(), ends, strict=True):
        assert expected <= found <= expected + 3
    lost = "count" not in failure and "bandwidth" not in failure
    assert schedule.summary.get("failures", {"requeues": 0})["requeues"] == int(lost)


@pytest.mark.parametrize("level", ["packet", "flow"])
def test_routers_fail_during_a_schedule(level: str) -> None:
    """A job on four nodes ends with one router, waits for its repair, and takes its 20 s."""
    failure = 'count = 1, bandwidth = "99.9 %" }]\nin_flight = "lost"\n'
    failure += 'outages = [{ routers = [1], at = "5 s", until = "30 s"'
    case = Scenario.from_toml(SLOW_PAIR.format(level=level, failure=failure))
    (schedule,) = odonata.batch.run_schedules(case)
    first, second = schedule.jobs["end_s"].to_pylist()
    assert 50 <= first <= 52 and 70 <= second <= 74
    assert schedule.summary["failures"]["requeues"] == 1
    for more, words in (
        ('resend_after = "1 us"\n', "left out in a schedule"),
        ("", "whole seconds"),
    ):
        wrong = failure.replace("outages", f"{more}outages")
        wrong = wrong.replace("5 s", "5.5 s") if not more else wrong
        with pytest.raises(JobLogError, match=words):
            case = Scenario.from_toml(SLOW_PAIR.format(level=level, failure=wrong))
            odonata.batch.run_schedules(case)


@pytest.mark.parametrize("part", ["links", "routers"])
def test_what_is_drawn_over_time_fails_during_a_schedule(part: str) -> None:
    """A schedule of the same seed is the same; failures can only make it longer."""
    lost = 'in_flight = "lost"\n' if part == "routers" else ""
    drawn = f'draw = [{{ part = "{part}", mtbf = "40 s", repair = "5 s" }}]\nseed = 3\n'
    text = SLOW_PAIR.format(level="flow", failure="count = 1")
    text = text.replace("links = [{ routers = [0, 1], count = 1 }]", lost + drawn)
    ends = []
    for _ in range(2):
        (schedule,) = odonata.batch.run_schedules(Scenario.from_toml(text))
        ends.append(schedule.jobs["end_s"].to_pylist())
    assert ends[0] == ends[1]
    assert ends[0][1] > 42


#: One of four parallel links is dark and one is slow; a router has failed with its node.
ALL_SORTS: dict[str, Any] = {
    "links": [
        {"routers": [0, 1], "count": 1},
        {"routers": [0, 1], "count": 2, "bandwidth": "50 %"},
    ],
    "routers": [3],
    "nodes": [0],
}
SQUARE = {"family": "hyperx", "size": [4], "parallel": [4], "p": 1, "routing": "shortest-path"}


def test_what_does_not_work_is_found_by_comparing_with_the_whole(tmp_path: Path) -> None:
    file = tmp_path / "network.toml"
    file.write_text(Scenario.from_dict({"network": SQUARE, "failures": ALL_SORTS}).to_toml())
    found = json.loads(call("topology", "describe", file, "--json", directory=tmp_path).stdout)
    of_router = [{"routers": [other, 3], "count": 4, "of": 4} for other in range(3)]
    assert found["damage"] == {
        "links": [{"routers": [0, 1], "count": 1, "of": 4}, *of_router],
        "slower_links": [{"routers": [0, 1], "count": 2}],
        "routers": [3],
        "nodes": [0, 3],
        "during_run": {"links": [], "routers": [], "nodes": []},
    }
    printed = call("topology", "describe", file, directory=tmp_path).stdout
    assert "links between routers  0 and 1 (1 of 4)\n" in printed
    assert "slower links between   0 and 1 (2)\n" in printed
    file.write_text(Scenario.from_dict({"network": SQUARE}).to_toml())
    whole = json.loads(call("topology", "describe", file, "--json", directory=tmp_path).stdout)
    assert "damage" not in whole


def test_what_fails_during_the_run_is_said_and_drawn(tmp_path: Path) -> None:
    """Router 3 of four, with its node, its twelve links and two more. All thirty are named."""
    failures = {
        "in_flight": "lost",
        "nodes": [0],
        "links": [
            {"routers": [0, 1], "count": 1},
            {"routers": [0, 2], "count": 2, "at": "1 us"},
            {"routers": [1, 2], "at": "2 us", "bandwidth": "50 %"},
        ],
        "outages": [{"routers": "3", "at": "3 us", "until": "4 us"}],
    }
    file = tmp_path / "network.toml"
    file.write_text(Scenario.from_dict({"network": SQUARE, "failures": failures}).to_toml())
    found = json.loads(call("topology", "describe", file, "--json", directory=tmp_path).stdout)
    of_router = [{"routers": [other, 3], "count": 4, "of": 4} for other in range(3)]
    assert found["damage"] == {
        "links": [{"routers": [0, 1], "count": 1, "of": 4}],
        "slower_links": [{"routers": [1, 2], "count": 4}],
        "routers": [],
        "nodes": [0],
        "during_run": {
            "links": [{"routers": [0, 2], "count": 2, "of": 4}, *of_router],
            "routers": [3],
            "nodes": [3],
        },
    }
    figure = odonata.topology({"network": SQUARE, "failures": failures}).plot()
    labels = {text.get_text() for text in figure.legends[0].get_texts()}
    assert {"link that fails during the run", "router or node that fails during the run"} <= labels
    outage = {"in_flight": "lost", "outages": [{"nodes": [0], "at": "1 us"}]}
    file.write_text(Scenario.from_dict({"network": SQUARE, "failures": outage}).to_toml())
    printed = call("topology", "describe", file, directory=tmp_path).stdout
    assert "Does not work\n" not in printed
    assert "Does not work for a part of the run\n  nodes  0\n" in printed
    dark = {"network": DRAGONFLY, "failures": {"draw": [{"link_class": "local", "count": 30}]}}
    file.write_text(Scenario.from_dict(dark).to_toml())
    printed = call("topology", "describe", file, directory=tmp_path).stdout
    between = printed.partition("links between routers")[2].partition(" name ")[0]
    assert between.split().count("and") == between.count(",") + 1 == 30


@pytest.mark.parametrize(
    ("network", "failures", "dark", "crossed"),
    [
        # Between two of the four routers a link is left; the failed one has lost its three lines.
        (SQUARE, ALL_SORTS, 4, 3),
        (DRAGONFLY, {"links": [{"groups": [2, 3]}, {"routers": [0, 1]}]}, 2, 0),
        # Discs stand for groups, and their links for those of routers.
        ({"family": "dragonfly", "p": 4, "a": 12, "h": 6}, {"links": [{"groups": [2, 3]}]}, 1, 0),
    ],
    ids=["lattice", "groups", "discs"],
)
def test_what_does_not_work_is_drawn(
    network: dict[str, Any], failures: dict[str, Any], dark: int, crossed: int
) -> None:
    """Dashed lines for dark links and no full ones; crosses for routers and nodes."""
    figures = [
        odonata.topology({"network": network, **more}).plot()
        for more in ({}, {"failures": failures})
    ]
    whole, left = (figure.axes[0].collections for figure in figures)
    labels = [text.get_text() for text in figures[1].legends[0].get_texts()]
    assert "link out of service" in labels

    def lines(collections: Any, dashed: bool) -> list[int]:
        return [
            len(one.get_segments())
            for one in collections
            if isinstance(one, LineCollection) and (one.get_linestyle()[0][1] is not None) == dashed
        ]

    assert lines(whole, True) == []
    assert lines(left, True)[0] == dark
    crosses = [
        len(one.get_offsets())
        for one in left
        if isinstance(one, PathCollection) and one.get_zorder() == 6
    ]
    assert sum(crosses) == crossed
    if crossed:
        assert "link that is slower" in labels and "router or node out of service" in labels


@pytest.mark.parametrize(
    ("failures", "words"),
    [
        ({}, "nothing fails: give `links`, `routers`, `nodes`, `outages` or `draw`"),
        ({"links": [{"groups": [2, 99]}]}, "there is no group 99: the network's groups are 0 to 8"),
        ({"links": [{"routers": [0, 35]}]}, "there is no link between routers 0 and 35"),
        ({"links": [{"routers": [0]}]}, "at least 2"),
        ({"links": [{"router": 36}]}, "there is no router 36"),
        ({"links": [{"router": 3, "groups": [0, 1]}]}, "either `router` or `groups`"),
        ({"links": [{"router": 3}, {"router": 3}]}, "all links at router 3"),
        ({"links": [{}]}, "`routers`, `switches` or `groups`, two of them"),
        ({"links": [{"routers": [0, 1], "bandwidth": "100 %"}]}, "0 % and 99.9999 %"),
        ({"links": [{"routers": [0, 1]}, {"routers": [1, 0]}]}, "have failed already"),
        ({"routers": "0-40"}, "there is no router 36"),
        ({"routers": "0-35"}, "no node is left that works"),
        ({"routers": [1, 1]}, "router 1 is listed twice"),
        ({"nodes": [72]}, "there is no node 72"),
        ({"draw": [{"part": "nodes"}]}, "`share`, `count` or `mtbf`"),
        ({"draw": [{"mtbf": "1 ms", "count": 1}]}, "either `count` or `mtbf`"),
        ({"draw": [{"mtbf": "1 ms", "until": "1 us"}]}, "either `until` or `mtbf`"),
        ({"draw": [{"repair": "1 ms", "count": 1}]}, "only with `mtbf`"),
        ({"draw": [{"part": "nodes", "count": 1, "until": "1 ms"}]}, "have worked before"),
        ({"draw": [{"mtbf": "1 ms"}]}, "give `simulation.duration`"),
        (
            {"draw": [{"part": "nodes", "link_class": "global", "count": 1}]},
            'only with part = "links"',
        ),
        ({"draw": [{"link_class": "blue", "count": 1}]}, "no link class is called `blue`"),
        ({"draw": [{"count": 1000}]}, "of which only 90 still work"),
        ({"draw": [{"share": "0.1 %"}]}, "is none of them"),
        ({"lnks": []}, "did you mean `links`"),
        ({"links": [{"routers": [0, 1], "at": "0 s"}]}, "at least"),
        (
            {"links": [{"routers": [0, 1], "at": "9 us", "until": "8 us"}]},
            "later than `at`, 9 us",
        ),
        ({"links": [{"routers": [0, 1], "error_rate": "100 %"}]}, "99 %"),
        (
            {"draw": [{"part": "nodes", "count": 1, "error_rate": "1 %"}]},
            'only with part = "links"',
        ),
        (
            {"links": [{"router": 0, "error_rate": "1 %"}, {"routers": [0, 1], "at": "9 us"}]},
            "have failed already",
        ),
        (
            {
                "links": [
                    {"routers": [0, 1], "at": "1 us", "until": "9 us"},
                    {"routers": [1, 0], "at": "8 us"},
                ]
            },
            "have failed already",
        ),
        ({"links": [{"port": "0/0"}]}, "no link to another router at port 0 of router 0"),
        ({"links": [{"port": "0/99"}]}, "router 0 has no port 99"),
        ({"links": [{"port": "0/4", "routers": [0, 1]}]}, "either `port` or `routers`"),
        ({"links": [{"port": "0/4", "count": 1}]}, "a port has one link"),
        ({"links": [{"routers": [0, 1], "one_way": True}]}, "both ends take their side down"),
        (
            {"links": [{"groups": [0, 1], "one_way": True, "bandwidth": "50 %"}]},
            "which say the direction",
        ),
        (
            {"draw": [{"part": "routers", "count": 1, "at": "8 us"}]},
            'only with in_flight = "lost"',
        ),
        (
            {"links": [{"router": 0, "at": "5 us"}]},
            "would have no way to the others",
        ),
    ],
)
def test_what_cannot_fail_is_refused(failures: dict[str, Any], words: str) -> None:
    with pytest.raises(ScenarioError) as raised:
        odonata.run(
            scenario(DRAGONFLY, failures, nodes=2, motif={"kind": "all-to-all", "message": "8 B"})
        )
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"network.routing.algorithm": "ugal-g"}, "links cannot fail during a run under `ugal-g`"),
        ({"network.routing.algorithm": "minimal-adaptive"}, "`q-adaptive` and `minimal-adaptive`"),
        ({"network.routing.per": "message"}, "where links fail during a run"),
        ({"simulation.engine": "flow"}, "the paths of a flow stay"),
    ],
)
def test_what_cannot_be_routed_anew_is_refused(keys: dict[str, Any], words: str) -> None:
    network = {**PAIR, "routing": {"algorithm": "shortest-path"}}
    load = {"kind": "all-to-all", "message": "8 B"}
    failures = {"links": [{"routers": [0, 1], "count": 1, "at": "5 us"}]}
    case = scenario(network, failures, nodes=2, motif=load)
    with pytest.raises(ScenarioError, match=words):
        odonata.run(case.with_set(keys))


@pytest.mark.parametrize("key", ["at", "until"])
def test_nothing_fails_after_the_end(key: str) -> None:
    failures = {"links": [{"routers": [0, 1], key: "200 us"}]}
    with pytest.raises(ScenarioError, match="before the end of the run, 200 us"):
        odonata.run(scenario(PAIR, failures, nodes=8, traffic=ACROSS))


def test_every_moment_has_channels_of_its_own() -> None:
    network = {**DRAGONFLY, "routing": "ugal-l"}
    load = {"kind": "all-to-all", "message": "8 B"}
    failures = {
        "links": [
            {"routers": [0, 1], "at": f"{2 * n + 1} us", "until": f"{2 * n + 2} us"}
            for n in range(5)
        ]
    }
    with pytest.raises(ScenarioError, match="parts of the run between failures and repairs need"):
        odonata.run(scenario(network, failures, nodes=2, motif=load))


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


#: Two switches of one node each; a message of one packet from node 0 to node 1, again and again.
LOSING = {
    "family": "hyperx",
    "size": [2],
    "parallel": [1],
    "p": 1,
    "routing": {"algorithm": "up-down"},
}


def losing(failures: dict[str, Any], **motif: Any) -> odonata.Result:
    load = {"kind": "broadcast", "message": "256 B", "iterations": 1, **motif}
    data = {
        "network": LOSING,
        "job": [{"name": "job", "nodes": 2, "motif": load}],
        "failures": {"in_flight": "lost", **failures},
        "simulation": {"packet": "256 B"},
    }
    return odonata.run(Scenario.from_dict(data))


def test_a_packet_that_is_lost_arrives_as_much_later() -> None:
    """Its node's link goes dark with the packet on it, and works as it is sent again 5 us later."""
    late = {"links": [{"routers": [0, 1], "at": "900 us", "until": "901 us"}]}
    dark = {
        "outages": [{"nodes": [0], "at": "1 ps", "until": "4 us"}],
        "resend_after": "5 us",
    }
    undisturbed, found = losing(late), losing(dark)
    (row,) = found.table("losses").to_pylist()
    assert row == {"job": 0, "packets_lost": 1, "bytes_lost": 0, "aborted_ps": None}
    (end,) = undisturbed.jobs["end_ps"].to_pylist()
    (later,) = found.jobs["end_ps"].to_pylist()
    assert later - end == 5_000_000


def test_a_job_whose_packets_find_no_way_is_aborted() -> None:
    """Three times 5 us after the first loss it is given up; its bytes are lost with it."""
    cut = {"nodes": [1], "at": "1 ps"}
    found = losing({"outages": [cut], "resend_after": "5 us", "retries": 2})
    (row,) = found.table("losses").to_pylist()
    assert row["packets_lost"] == 3
    assert row["bytes_lost"] == 256
    assert 15_000_000 <= row["aborted_ps"] <= 16_000_000
    assert found.meta["lost_bytes"] == 256
    (job,) = found.summary_dict["jobs"]
    assert {name: job[name] for name in row if name != "job"} == {
        name: value for name, value in row.items() if name != "job"
    }


def test_a_run_with_an_abort_ends_at_the_same_time_after_a_break(tmp_path: Path) -> None:
    """The end is that of what was still on its way; a checkpoint every microsecond, resumed."""
    cut = {"outages": [{"nodes": [3], "at": "5 us"}], "resend_after": "5 us", "retries": 0}
    load = {"kind": "all-to-all", "message": "4 KiB"}
    case = scenario(
        {**DRAGONFLY, "routing": "up-down"}, {"in_flight": "lost", **cut}, nodes=72, motif=load
    )
    whole = odonata.run(case)
    (row,) = whole.table("losses").to_pylist()
    kept: list[Path] = []
    ends: list[int] = []

    def keep(event: odonata.CheckpointEvent) -> None:
        if event.kind == "written":
            kept.append(tmp_path / f"at-{len(kept)}")
            ends.append(event.at_ps)
            shutil.copytree(tmp_path / "run", kept[-1])

    odonata.run(case, checkpoint=Checkpoint(tmp_path / "run", simulated="1 us", on_event=keep))
    assert ends[0] < 5_000_000 and row["aborted_ps"] < ends[-1] < whole.meta["end_ps"]
    for number, place in enumerate(kept):
        resume = Checkpoint(place, resume=True)
        run = odonata.run(case, checkpoint=resume, threads=1 + number % 2)
        assert run.meta["end_ps"] == whole.meta["end_ps"]
        for name in ("jobs", "links", "losses"):
            assert run.table(name) == whole.table(name)


def test_a_job_that_was_aborted_is_said_to_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the summary, the picture, the report, comparisons, and tables of sweeps."""
    cut = {"outages": [{"nodes": [1], "at": "1 ps"}], "resend_after": "5 us"}
    lost, whole = losing({**cut, "retries": 1}), losing({"outages": [{"nodes": [1], "at": "1 s"}]})
    print_summary(Console(width=300), lost, None)
    said = capsys.readouterr().out
    assert "a packet of it was lost once more after 1 retry; 256 B were lost with the job" in said
    assert "0 B delivered, 256 B lost with jobs that were aborted; 2 packets were lost" in said
    print_summary(Console(width=300), whole, None)
    assert "lost" not in capsys.readouterr().out
    texts = lost.plot.overview().findobj(Text)
    assert any("job was aborted" in text.get_text() for text in texts)
    lost.save(tmp_path / "lost")
    whole.save(tmp_path / "whole")
    page = write_report(tmp_path / "lost", out=tmp_path / "report.html").read_text("utf-8")
    assert "job was aborted at" in page
    (notice,) = odonata.compare(tmp_path / "lost", tmp_path / "whole").notices
    assert notice.startswith("lost: job was aborted")
    done = call(
        *("sweep", tmp_path / "lost" / "scenario.toml", "--set", "failures.retries=1,2"),
        *("--jobs", "1", "--out", tmp_path / "sweep"),
        directory=tmp_path,
    )
    assert "2 ‡" in done.stdout and "‡ aborted: job" in done.stdout


def test_what_is_drawn_at_a_moment_is_what_is_drawn_for_the_whole_run() -> None:
    """The two nodes that a seed takes, and the same two listed: equal results."""
    load = {"kind": "all-to-all", "message": "4 KiB"}
    network = {**DRAGONFLY, "routing": "up-down"}
    draw = {"part": "nodes", "count": 2}
    left = odonata.run(scenario(network, {"draw": [draw]}, nodes=70, motif=load))
    lost = sorted(set(range(72)) - set(left.placement["node"].to_pylist()))
    assert len(lost) == 2
    losing = {"in_flight": "lost", "resend_after": "5 us", "retries": 1}
    drawn = {**losing, "draw": [{**draw, "at": "5 us"}]}
    listed = {**losing, "outages": [{"nodes": lost, "at": "5 us"}]}
    one, other = (
        odonata.run(scenario(network, failures, nodes=72, motif=load))
        for failures in (drawn, listed)
    )
    for name in ("jobs", "links", "losses"):
        assert one.table(name) == other.table(name)
    (row,) = one.table("losses").to_pylist()
    assert row["aborted_ps"] > 10_000_000


@pytest.mark.parametrize(
    ("failures", "key", "said"),
    [
        ({"links": [{"routers": [0, 1], "error_rate": "1 %"}]}, "in_flight", "nothing goes out"),
        ({"outages": [{"routers": "9", "at": "1 us"}]}, "outages", "there is no router 9"),
        ({"outages": [{"nodes": "0"}]}, "at", "the time of the failure"),
        (
            {"outages": [{"at": "1 us"}]},
            "outages",
            "`switches`, `nodes`, `hosts`, `optical_switches`",
        ),
        (
            {"outages": [{"nodes": [0], "at": "1 us"}, {"nodes": [0], "at": "2 us"}]},
            "outages",
            "already",
        ),
        (
            {"outages": [{"nodes": [0], "at": "1 us"}], "resend_after": "1 ps"},
            "resend_after",
            "longest latency",
        ),
        ({"in_flight": "drained", "retries": 2}, "retries", "in_flight"),
    ],
)
def test_what_cannot_lose_packets_is_refused(failures: dict[str, Any], key: str, said: str) -> None:
    with pytest.raises(ScenarioError) as error:
        losing(failures)
    assert key in str(error.value)
    assert said in str(error.value)


def test_a_proof_says_what_of_the_network_is_out_of_service(tmp_path: Path) -> None:
    file = tmp_path / "dark.toml"
    file.write_text(
        '[network]\nfamily = "dragonfly"\np = 2\na = 4\nh = 2\nrouting = "ugal-l"\n'
        '[failures]\ndraw = [{ part = "links", link_class = "global", share = "5 %" }]\n'
        '[[job]]\nnodes = 36\nmotif = { kind = "all-to-all", message = "8 B" }\n'
    )
    told = call("verify", file, directory=tmp_path).stdout
    assert "Free of deadlock" in told and "without 2 links." in told and "placed" not in told
    all_dark = ("--set", "failures.draw.0.share=100 %")
    done = call("verify", file, *all_dark, directory=tmp_path)
    # One of nine groups is left, of eight nodes.
    assert done.returncode == 0 and "without 84 links, 32 routers, 64 nodes." in done.stdout
    assert "cannot be placed on what is left" in done.stdout and "at most 8" in done.stdout


def test_a_refused_algorithm_is_told_those_that_take_what_is_left() -> None:
    job = {"nodes": 8, "motif": {"kind": "all-to-all", "message": "8 B"}}
    links = [{"groups": [0, 1]}]
    with pytest.raises(ScenarioError, match=r"no global link joins group 0 to group 1") as refused:
        odonata.run(scenario({**DRAGONFLY, "routing": "minimal"}, {"links": links}, **job))
    assert "`ugal-l`" in str(refused.value) and '"shortest-path"' in str(refused.value)
    for routing in ("valiant", "ugal-l"):
        odonata.run(scenario({**DRAGONFLY, "routing": routing}, {"links": links}, **job))
    # Of groups 0 to 8 only the last three are joined to the first.
    links = [{"groups": [0, group]} for group in (1, 2, 3, 4, 5)]
    links += [{"groups": [1, group]} for group in (6, 7, 8)]
    with pytest.raises(ScenarioError, match=r"a third group that is joined to both") as refused:
        odonata.run(scenario({**DRAGONFLY, "routing": "ugal-l"}, {"links": links}, **job))
    # What is usual in the whole network fits no better.
    assert "By default" not in str(refused.value)
