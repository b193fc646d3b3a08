"""Failures of optical switches, uplinks and circuits, and circuits that are set around them."""

from __future__ import annotations

import math
import os
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import odonata
from odonata import Checkpoint, Scenario, ScenarioError
from odonata.cli.commands import odonata as main

#: Two pods of two leaves with four nodes and four uplinks each: optical switch `u` has uplink
#: `u % 4` of leaf `u // 4` of either pod.
TREE: dict[str, Any] = {"family": "fat-tree", "down": [4, 2, 2], "up": [4, 4]}
#: Four pods of two leaves with two nodes and two uplinks each.
SMALL_TREE: dict[str, Any] = {"family": "fat-tree", "down": [2, 2, 4], "up": [2, 2]}
#: Six groups of four routers with two global links each, link `l` of each on optical switch `l`.
DRAGONFLY: dict[str, Any] = {
    "family": "reconfigurable-dragonfly",
    "p": 2,
    "a": 4,
    "h": 2,
    "g": 6,
}


def _tree(optical: dict[str, Any], **routing: Any) -> dict[str, Any]:
    return {**TREE, "routing": {"algorithm": "up-down", **routing}, "optical": optical}


def _between_leaves(circuits: str, failures: dict[str, Any] | None) -> odonata.Result:
    """The first leaf of each pod sends all it can to that of the other one."""
    nodes = [0, 1, 2, 3, 8, 9, 10, 11]
    traffic = {"pattern": "shift", "offset": 4, "message": "16 KiB", "load": 1.0}
    network = _tree({"switch_ports": 2, "circuits": circuits}, choice="by-load")
    # Uplinks carry an eighth of what nodes send to them, so that all are always busy.
    network["links"] = {"level1": {"bandwidth": "2 GiB/s"}}
    data = {
        "network": network,
        "simulation": {"warmup": "20 us", "duration": "520 us", "packet": "1 KiB"},
        "job": [{"nodes": 8, "placement": nodes, "traffic": traffic}],
    }
    if failures:
        data["failures"] = failures
    return odonata.run(Scenario.from_dict(data))


def _accepted(run: odonata.Result) -> float:
    (job,) = run.jobs.to_pylist()
    return float(job["bytes_delivered"])


@pytest.mark.parametrize("circuits", ["unsteered", "jobs"])
@pytest.mark.parametrize(
    ("failures", "left"),
    [
        ({"links": [{"port": "0/4"}]}, 3 / 4),
        ({"links": [{"port": "0/4"}, {"port": "0/6"}]}, 2 / 4),
        ({"optical_switches": [2]}, 3 / 4),
        ({"optical_switches": "0-2"}, 1 / 4),
        # Uplinks of the other leaves.
        ({"optical_switches": "4-7"}, 1.0),
        ({"draw": [{"part": "optical-switches", "count": 8}]}, None),
    ],
)
def test_a_leaf_without_some_of_its_uplinks(
    circuits: str, failures: dict[str, Any], left: float | None
) -> None:
    """k - 1 of k uplinks carry (k - 1) / k of what k carry: links down are lost beside them."""
    if left is None:
        with pytest.raises(ScenarioError, match="8 nodes; allowed: at most 4"):
            _between_leaves(circuits, failures)
        return
    whole, damaged = (_between_leaves(circuits, failing) for failing in (None, failures))
    assert _accepted(damaged) / _accepted(whole) == pytest.approx(left, rel=0.02)


def test_uplinks_that_fail_during_a_run() -> None:
    """Half of the time with four uplinks, half of it with two; then 150 of 500 us with two.

    Packets that are drained, or lost with those before them, are what is off.
    """
    whole = _accepted(_between_leaves("jobs", None))
    two = [{"port": "0/4", "at": "270 us"}, {"port": "0/6", "at": "270 us"}]
    assert _accepted(_between_leaves("jobs", {"links": two})) / whole == pytest.approx(
        3 / 4, rel=0.02
    )
    switches = {"optical_switches": [0, 1], "at": "120 us", "until": "270 us"}
    failures = {"outages": [switches], "in_flight": "lost", "resend_after": "5 us"}
    run = _between_leaves("jobs", failures)
    assert _accepted(run) / whole == pytest.approx((350 + 150 / 2) / 500, rel=0.02)
    assert run.table("losses")["packets_lost"].to_pylist()[0] > 0


@pytest.mark.parametrize(("time", "left"), [("1 us", 1.0), ("100 us", 0.8)])
@pytest.mark.parametrize("in_flight", ["drained", "lost"])
@pytest.mark.parametrize("circuits", ["jobs", "running-jobs"])
def test_circuits_are_led_around_an_uplink_and_back(
    circuits: str, in_flight: str, time: str, left: float
) -> None:
    """A leaf of pod 3 with four uplinks sends to pods 0 and 1, by two circuits each.

    An uplink of pod 0 dies at the egress of one of these: it is led to pod 1, and one of the others
    on another switch to pod 0, so that all four are busy but for the time of two changes, of which
    one is back: 4 x 500 us less 2 x 2 x that time. Were they not, 200 of the 2,000 us were lost.
    """
    network = {
        **_tree({"switch_ports": 4, "circuits": circuits, "reconfiguration": time}),
        "down": [4, 2, 4],
        "links": {"level1": {"bandwidth": "2 GiB/s"}},
    }
    network["routing"]["choice"] = "by-load"
    traffic = {"pattern": "shift", "offset": 2, "message": "16 KiB", "load": 1.0}
    places = [[24, 25, 0, 1], [26, 27, 8, 9]]
    data = {
        "network": network,
        "simulation": {"warmup": "20 us", "duration": "520 us", "packet": "1 KiB"},
        "job": [{"nodes": 4, "placement": nodes, "traffic": traffic} for nodes in places],
    }
    failures: dict[str, Any] = {"links": [{"port": "0/5", "at": "120 us", "until": "320 us"}]}
    if in_flight == "lost":
        failures |= {"in_flight": "lost", "resend_after": "5 us"}

    def sent(case: dict[str, Any]) -> tuple[int, odonata.Result]:
        run = odonata.run(Scenario.from_dict(case))
        links = run.links.to_pylist()
        # Router 18 is the first of pod 3's two leaves and four switches; its uplinks come last.
        return sum(one["bytes"] for one in links if one["from_router"] == 18), run

    if circuits == "jobs":
        del network["optical"]["reconfiguration"]
    whole, _ = sent(data)
    network["optical"]["reconfiguration"] = time
    around, run = sent({**data, "failures": failures})
    assert around / whole == pytest.approx(left, rel=0.02)
    changes = run.meta["reconfigurations"]
    assert [change["decided_ps"] // 10**6 for change in changes] == [120, 320]
    assert changes[0]["circuits"] == changes[1]["circuits"] > 0


@pytest.mark.parametrize(
    "steering", ["uniform", "min-max", "matching", "min-cost-flow", "birkhoff"]
)
def test_circuits_join_groups_around_what_has_failed(steering: str) -> None:
    """Uplinks 0 and 1 of group 0 and 2 of group 1 are dark, and optical switch 3.

    Without them 6 groups of 8 links less one have 42 ends; on a switch of an odd number of ends
    that work one stays dark. The motif needs every pair of groups, directly or by another.
    """
    whole = {"kind": "all-to-all", "message": "4 KiB"}
    job = {"nodes": 48, "placement": "grap", "motif": whole}
    network = {**DRAGONFLY, "circuits": "jobs", "steering": steering}
    failures = {
        "links": [{"port": "0/5"}, {"port": "0/6"}, {"port": "5/5"}],
        "optical_switches": [3],
    }
    data = {"network": network, "job": [job], "failures": failures}
    run = odonata.run(Scenario.from_dict(data))
    (done,) = run.jobs.to_pylist()
    assert done["bytes_delivered"] == 48 * 47 * 4096
    between = [
        (link["from_router"], link["port"])
        for link in run.links.to_pylist()
        if link["class"] == "global"
    ]
    assert len(set(between)) == len(between)
    # Routers 0 and 5 have ports 5 and 6 to optical switches; link 3 of a group is its router 1's.
    dark = {(0, 5), (0, 6), (5, 5)} | {(4 * group + 1, 6) for group in range(6)}
    assert not dark & set(between)
    # Switches 0, 1 and 2 have five ends, two circuits and a dark end each; the others six.
    assert len(between) == 2 * (3 * 2 + 4 * 3)


def test_a_circuit_that_fails_is_not_set() -> None:
    """Optical switch 0 joins groups 0 and 1 only if it may: both have other partners there."""
    network = {**DRAGONFLY, "links_per_switch": 2}
    job = {"nodes": 2, "motif": {"kind": "all-to-all", "message": "8 B"}}
    run = odonata.run(Scenario.from_dict({"network": network, "job": [job]}))
    ends = {(one["from_router"], one["port"]): one["to_router"] for one in run.links.to_pylist()}
    # Port 0 of switch 0 is link 0 of group 0, which is port 5 of router 0.
    peer = ends[0, 5]
    group = peer // 4
    other = next(port for port in (5, 6) if ends[peer, port] == 0) - 5
    failing = {"circuits": [f"0/{2 * group + other}-0"]}
    changed = odonata.run(
        Scenario.from_dict({"network": network, "job": [job], "failures": failing})
    )
    after = {
        (one["from_router"], one["port"]): one["to_router"] for one in changed.links.to_pylist()
    }
    assert after.get((0, 5)) != peer


def test_a_single_circuit_of_a_tree_is_steered_around() -> None:
    """All of leaf 0 goes to pod 1 by circuits; without one of these its uplink goes up at home."""
    optical = {"switch_ports": 2, "circuits": "jobs"}
    traffic = {"pattern": "shift", "offset": 8, "message": "4 KiB", "load": 0.3, "messages": 20}
    data = {"network": _tree(optical), "job": [{"nodes": 16, "traffic": traffic}]}

    def by_class(failures: dict[str, Any] | None) -> Counter[str]:
        case = {**data, "failures": failures} if failures else data
        links = odonata.run(Scenario.from_dict(case)).links.to_pylist()
        sent: Counter[str] = Counter()
        for link in links:
            if None not in (link["from_router"], link["to_router"]) and link["bytes"]:
                sent[link["class"]] += link["bytes"]
        return sent

    sent = 16 * 20 * 4096
    assert by_class(None) == {"level1": 2 * sent}
    # Both ends of the switch are unsteered then, and nothing takes the longer way.
    assert by_class({"circuits": ["0/0-1"]}) == {"level1": 2 * sent}
    without = {"circuits": [f"{switch}/0-1" for switch in range(4)]}
    # Leaf 0 reaches pod 1 by the top alone, and so does the leaf that shares its switches pod 0.
    assert by_class(without)["level2"] == 2 * 2 * sent // 4


def test_drawn_circuits_are_not_set() -> None:
    """A larger number of them contains a smaller one, and a share is one of all that can be set.

    Four switches with two pods of one uplink each have four circuits each.
    """
    optical = {"switch_ports": 2, "circuits": "unsteered"}
    network = {**TREE, "routing": "up-down", "optical": optical, "up": [2, 2]}
    job = {"nodes": 16, "motif": {"kind": "all-to-all", "message": "64 B"}}

    def used(draw: dict[str, Any]) -> set[tuple[int, int]]:
        failures = {"draw": [{"part": "circuits", **draw}]}
        data = {"network": network, "job": [job], "failures": failures}
        links = odonata.run(Scenario.from_dict(data)).links.to_pylist()
        return {(one["from_router"], one["port"]) for one in links if one["class"] == "level1"}

    few, more = used({"count": 4}), used({"count": 8})
    assert more < few == used({"share": "25 %"})


def test_traffic_that_circuits_follow_leaves_dead_uplinks_alone() -> None:
    optical = {
        "switch_ports": 2,
        "circuits": "traffic",
        "period": "10 us",
        "reconfiguration": "1 us",
    }
    traffic = {"pattern": "shift", "offset": 8, "message": "4 KiB", "load": 0.3, "messages": 40}
    data = {
        "network": _tree(optical),
        "job": [{"nodes": 16, "traffic": traffic}],
        "failures": {"links": [{"port": "0/4"}], "optical_switches": [5], "circuits": ["2/0-1"]},
    }
    runs = [odonata.run(Scenario.from_dict(data), threads=threads) for threads in (1, 3)]
    assert runs[0].jobs == runs[1].jobs and runs[0].links == runs[1].links
    assert runs[0].meta["delivered_bytes"] == 16 * 40 * 4096
    assert runs[0].meta["reconfigurations"]
    ports = {(link["from_router"], link["port"]) for link in runs[0].links.to_pylist()}
    assert (0, 4) not in ports and (0, 5) in ports


@pytest.mark.parametrize(
    ("failures", "words"),
    [
        (
            {"optical_switches": [8]},
            "no optical switch 8: the network's optical switches are 0 to 7",
        ),
        ({"optical_switches": [1, 1]}, "optical switch 1 is listed twice"),
        ({"circuits": ["1:3"]}, 'such as "2/5-9"'),
        ({"circuits": ["1/3-3"]}, "joins a port to itself"),
        ({"circuits": ["1/0-6"]}, "optical switch 1 has ports 0 to 5"),
        ({"circuits": ["1/0-2", "1/2-0"]}, "circuit 1/0-2 is out of service already"),
        ({"circuits": ["1/0-2"], "optical_switches": [1]}, "with its optical switch"),
        ({"links": [{"groups": [0, 1]}]}, "give the `port` of an uplink"),
        ({"links": [{"port": "0/5", "one_way": True, "bandwidth": "50 %"}]}, "passes both ways"),
        ({"links": [{"port": "0/5"}, {"port": "0/5"}]}, "said to have failed already"),
        ({"outages": [{"routers": [1], "at": "1 us"}]}, 'in_flight = "lost"'),
        ({"circuits": "1/0-2"}, r'circuits = \["1/0-2"\]'),
        ({"links": {"port": "0/5"}}, r'links = \[{ port = "0/5" }\]'),
        ({"links": [{"groups": 3}]}, r"groups = \[3, …\]"),
        ({"draw": [{"class": "circuit", "share": "5 %"}]}, 'write part = "circuits"'),
        # Eight switches of six ports: fifteen circuits each.
        ({"draw": [{"part": "circuits", "count": 121}]}, "121 circuits, of which only 120"),
        (
            {"draw": [{"part": "optical-switches", "count": 9}]},
            "9 optical switches, of which only 8",
        ),
        ({"draw": [{"part": "routers", "count": 1, "bandwidth": "50 %"}]}, '"links" or "uplinks"'),
        ({"optical_switches": "0-6"}, "that have failed are not used"),
    ],
)
def test_bad_input_is_told(failures: dict[str, Any], words: str) -> None:
    job = {"nodes": 2, "motif": {"kind": "all-to-all", "message": "8 B"}}
    data = {"network": DRAGONFLY, "failures": failures, "job": [job]}
    with pytest.raises(ScenarioError, match=words):
        odonata.run(Scenario.from_dict(data))


def test_networks_without_optical_switches_have_none_that_fail() -> None:
    job = {"nodes": 2, "motif": {"kind": "all-to-all", "message": "8 B"}}
    for failures in (
        {"optical_switches": [0]},
        {"circuits": ["0/0-1"]},
        {"draw": [{"part": "uplinks", "count": 1}]},
    ):
        network = {"family": "dragonfly", "p": 2, "a": 4, "h": 2}
        data = {"network": network, "failures": failures, "job": [job]}
        with pytest.raises(ScenarioError, match="has no optical switches"):
            odonata.run(Scenario.from_dict(data))


def test_commands_show_what_has_failed(tmp_path: Path) -> None:
    file = tmp_path / "dark.toml"
    file.write_text(
        '[network]\nfamily = "reconfigurable-dragonfly"\np = 2\na = 4\nh = 2\ng = 6\n'
        '[failures]\noptical_switches = [0]\nlinks = [{ port = "1/5" }]\n'
        '[[job]]\nnodes = 8\nmotif = { kind = "all-to-all", message = "8 B" }\n'
    )
    runner = CliRunner()
    told = runner.invoke(main, ["topology", "describe", str(file)]).output
    assert "7 uplinks, 1 optical switch" in told
    # Link 0 of every group is its first router's, at port 5.
    assert "0/5, 1/5, 4/5, 8/5, 12/5, 16/5, 20/5" in told and "links between routers" not in told
    told = runner.invoke(main, ["verify", str(file)])
    assert told.exit_code == 0 and "Free of deadlock" in told.output, told.output
    picture = tmp_path / "dark.svg"
    drawn = runner.invoke(main, ["topology", "draw", str(file), "--out", str(picture)])
    assert drawn.exit_code == 0, drawn.output
    assert "out of service" in picture.read_text()


@pytest.mark.parametrize(
    ("seed", "tree", "optical", "message", "failures"),
    [
        # A leaf cut from the first switches of its pod: heights fell from another router by some
        # circuits, and packets that had gone up by both orders waited for each other for ever.
        (
            554,
            {"down": [2, 2, 6], "up": [2, 2]},
            {"switch_ports": 3, "period": "2 us", "reconfiguration": "100 ns"},
            "5 kB",
            {
                "links": [{"port": "0/3", "at": "3459613 ps"}],
                "outages": [{"optical_switches": [4], "at": "6646106 ps"}],
                "resend_after": "3 us",
            },
        ),
        # A packet came to a router that had no way on by the tables of the next circuits.
        (
            2318,
            {"down": [2, 3, 3], "up": [2, 2]},
            {"switch_ports": 3, "period": "3 us", "reconfiguration": "500 ns"},
            "2 kB",
            {
                "links": [{"port": "1/3", "at": "2767946 ps", "until": "4555245 ps"}],
                "outages": [{"optical_switches": [2], "at": "1762146 ps", "until": "9204555 ps"}],
                "resend_after": "3 us",
                "reconvergence": "700 ns",
            },
        ),
    ],
)
def test_circuits_that_follow_traffic_while_ways_break_close_no_circle(
    seed: int,
    tree: dict[str, Any],
    optical: dict[str, Any],
    message: str,
    failures: dict[str, Any],
) -> None:
    """All that is created arrives or is lost with its job, on any number of threads."""
    network = {
        "family": "fat-tree",
        **tree,
        "routing": {"algorithm": "up-down", "choice": "by-load" if seed == 554 else "random"},
        "optical": {"circuits": "traffic", **optical},
    }
    nodes = math.prod(tree["down"])
    motif = {"kind": "all-to-all", "message": message, "window": 8}
    data = {
        "seed": seed,
        "network": network,
        "job": [{"nodes": nodes, "motif": motif}],
        "failures": {"in_flight": "lost", "retries": 1, "reconvergence": "0 ns", **failures},
    }
    runs = [odonata.run(Scenario.from_dict(data), threads=threads) for threads in (1, 3)]
    assert runs[0].jobs == runs[1].jobs and runs[0].links == runs[1].links
    (job,), (losses,) = runs[0].jobs.to_pylist(), runs[0].table("losses").to_pylist()
    assert job["bytes_created"] == job["bytes_delivered"] + losses["bytes_lost"]
    assert (losses["bytes_lost"] > 0) == (losses["aborted_ps"] is not None)
    assert losses["packets_lost"] > 0


def _plan(draw: random.Random, optics: Any, end_ps: int, during: bool) -> dict[str, Any]:
    """A table [failures] of uplinks, optical switches, circuits, routers, nodes."""
    switches, ports, uplinks = optics

    def when() -> dict[str, str]:
        if not during:
            return {}
        at = draw.randint(1, end_ps)
        until = {"until": f"{at + draw.randint(1, end_ps)} ps"} if draw.random() < 0.5 else {}
        return {"at": f"{at} ps", **until}

    def circuit() -> str:
        one, other = draw.sample(range(ports), 2)
        return f"{draw.randrange(switches)}/{one}-{other}"

    plan: dict[str, Any] = {"seed": draw.randrange(1000)}
    chosen = draw.sample(uplinks, draw.choice([0, 1, 1, 2]))
    plan["links"] = [{"port": f"{router}/{port}", **when()} for router, port in chosen]
    if draw.random() < 0.4:
        parts = ["uplinks", "optical-switches", "circuits", "links", "routers", "nodes"]
        part = draw.choice(parts)
        plan["draw"] = [{"part": part, "count": draw.randint(1, 2), **when()}]
    whole = {"optical_switches": [draw.randrange(switches)], "circuits": [circuit()]}
    whole = {key: value for key, value in whole.items() if draw.random() < 0.4}
    if during:
        plan["in_flight"] = "lost"
        plan["resend_after"] = f"{draw.randint(2, 20)} us"
        plan["retries"] = draw.choice([0, 1, 7])
        plan["reconvergence"] = draw.choice(["0 ns", "700 ns", "4 us"])
        plan["outages"] = [{key: value, **when()} for key, value in whole.items()]
    else:
        plan |= whole
    if not any(
        plan.get(key) for key in ("links", "draw", "outages", "optical_switches", "circuits")
    ):
        plan["draw"] = [{"part": "uplinks", "count": 1, **when()}]
    return plan


def _checkpoints(case: Scenario, place: Path) -> list[Path]:
    kept: list[Path] = []

    def keep(event: odonata.CheckpointEvent) -> None:
        if event.kind == "written":
            kept.append(place.with_name(f"{place.name}-{len(kept)}"))
            shutil.copytree(place, kept[-1])

    odonata.run(case, checkpoint=Checkpoint(place, simulated="3 us", on_event=keep))
    return kept


def test_random_plans_account_for_every_byte(tmp_path: Path) -> None:
    """Delivered or lost with the job; dead uplinks carry nothing; threads and checkpoints agree.

    The suite runs a few plans; ODONATA_FAILURE_PLANS=10000 runs so many.
    """
    seen: Counter[str] = Counter()
    trees = ["unsteered", "jobs", "traffic", "running-jobs"]
    plans = int(os.environ.get("ODONATA_FAILURE_PLANS", "36"))
    for number in range(plans):
        draw = random.Random(number)
        is_tree = number % 2 == 0
        if is_tree:
            circuits = trees[number // 2 % len(trees)]
            optical: dict[str, Any] = {"switch_ports": 4, "circuits": circuits}
            if circuits in ("traffic", "running-jobs"):
                optical |= {"period": "3 us", "reconfiguration": "500 ns"}
            network, nodes = {**SMALL_TREE, "routing": "up-down", "optical": optical}, 16
            optics = (4, 4, [(router, port) for router in (0, 1) for port in (2, 3)])
        else:
            circuits = draw.choice(["uniform", "jobs"])
            routing = draw.choice(["tago", "shortest-path"]) if circuits == "uniform" else "tago"
            network, nodes = {**DRAGONFLY, "circuits": circuits, "routing": routing}, 48
            optics = (8, 6, [(router, port) for router in range(24) for port in (5, 6)])
        during = draw.random() < 0.7
        message = draw.choice(["300 B", "5 kB"])
        job = {"nodes": nodes - 6, "motif": {"kind": "all-to-all", "message": message, "window": 4}}
        if circuits == "jobs" and not is_tree:
            job["placement"] = "grap"
        data = {"seed": number, "network": network, "job": [job]}
        whole = odonata.run(Scenario.from_dict(data))
        (end_ps,) = whole.jobs["end_ps"].to_pylist()
        data["failures"] = plan = _plan(draw, optics, end_ps, during)
        told = f"plan {number}: {data}"
        threads = draw.choice([2, 3, 8])
        try:
            run = odonata.run(Scenario.from_dict(data), threads=threads)
        except ScenarioError as error:
            assert str(error), told
            seen["refused"] += 1
            continue
        again = odonata.run(Scenario.from_dict(data), threads=1)
        assert again.jobs == run.jobs and again.links == run.links, told
        (result,), (undisturbed,) = run.jobs.to_pylist(), whole.jobs.to_pylist()
        lost, aborted = 0, None
        if during:
            (losses,) = run.table("losses").to_pylist()
            lost, aborted = losses["bytes_lost"], losses["aborted_ps"]
            seen["packets lost"] += losses["packets_lost"] > 0
        assert result["bytes_created"] == result["bytes_delivered"] + lost, told
        if aborted is None:
            assert lost == 0, told
            assert result["bytes_delivered"] == undisturbed["bytes_delivered"], told
        else:
            seen["aborted"] += 1
        if not during:
            carried = {
                (link["from_router"], link["port"]): link["bytes"] for link in run.links.to_pylist()
            }
            for entry in plan["links"]:
                router, port = map(int, entry["port"].split("/"))
                assert not carried.get((router, port)), told
                seen["dead uplinks"] += 1
        elif number % 5 == 0:
            case = Scenario.from_dict(data)
            for one in _checkpoints(case, tmp_path / str(number))[:2]:
                resumed = odonata.run(case, checkpoint=Checkpoint(one, resume=True))
                assert resumed.jobs == run.jobs and resumed.links == run.links, told
                seen["checkpoints"] += 1
        seen["tree" if is_tree else "dragonfly"] += 1
        seen["during" if during else "whole run"] += 1
    print(dict(seen))
    assert seen["refused"] <= plans / 3
    for event in ("tree", "dragonfly", "during", "whole run", "packets lost", "dead uplinks"):
        assert seen[event] >= 3, event
    assert seen["checkpoints"] and seen["aborted"]
