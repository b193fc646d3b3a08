"""Circuits of fat trees that change during a run, and how they are chosen."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import odonata
from odonata import Checkpoint, Scenario, UplinkSwitch
from odonata.errors import ScenarioError, SimulationError

US = 1_000_000

#: Four pods of two leaves with two nodes and two uplinks each.
TREE: dict[str, Any] = {"family": "fat-tree", "down": [2, 2, 4], "up": [2, 2]}
RUNNING = {"switch_ports": 4, "circuits": "running-jobs"}
#: Every node of a job to the one half of the job further on.
SHIFT = {"pattern": "shift", "offset": 4, "message": "4 KiB", "load": 0.4, "messages": 200}


def shifts(optical: dict[str, Any], second_start: str = "20 us", **network: Any) -> Scenario:
    """One job between pods 0 and 1, and later one between pods 2 and 3."""
    jobs = [
        {"name": "first", "nodes": 8, "traffic": SHIFT},
        {"name": "second", "nodes": 8, "start": second_start, "traffic": SHIFT},
    ]
    return Scenario.from_dict(
        {
            "network": {**TREE, **network, "optical": optical},
            "simulation": {"packet": "256 B"},
            "record": {"messages": "all"},
            "job": jobs,
        }
    )


def core_bytes(result: odonata.Result) -> int:
    links = result.table("links").to_pandas()
    return int(links[(links["class"] == "level2")].bytes.sum())


def test_jobs_that_all_begin_at_once_get_the_circuits_of_all_jobs() -> None:
    """Nothing changes: it is not looked for jobs that are done."""
    steady = odonata.run(shifts({"switch_ports": 4, "circuits": "jobs"}, "0 s"))
    changing = odonata.run(shifts({**RUNNING, "period": "1 s"}, "0 s"))
    assert changing.meta["reconfigurations"] == []
    assert changing.table("messages").equals(steady.table("messages"))
    assert steady.meta["reconfigurations"] is None


@pytest.mark.parametrize("routing", ["up-down", "steered"])
@pytest.mark.parametrize("switch_time_us", [0, 20])
def test_circuits_follow_the_jobs(routing: str, switch_time_us: int) -> None:
    optical = {**RUNNING, "reconfiguration": f"{switch_time_us} us", "period": "10 us"}
    result = odonata.run(shifts(optical, routing=routing))
    jobs = result.to_pandas("jobs")
    # Every byte arrives: none is lost in circuits that change.
    assert list(jobs.bytes_delivered) == [8 * 200 * 4096] * 2
    begun, *later = result.meta["reconfigurations"]
    assert 20 * US <= begun["decided_ps"] < 20 * US + 100_000
    for change in (begun, *later):
        assert change["circuits"] > 0
        if change["done_ps"] is not None:
            lasted = change["done_ps"] - change["drained_ps"]
            # Up to the next time window, of less than the shortest latency, 30 ns.
            assert switch_time_us * US <= lasted < switch_time_us * US + 30_000
        # Drained within some round trips, as there is room elsewhere.
        assert change["drained_ps"] - change["decided_ps"] < 5 * US


def test_what_has_no_other_way_waits_for_its_circuits() -> None:
    """With one uplink a leaf has no other way up while its circuit changes."""
    tree = {"family": "fat-tree", "down": [2, 2, 4], "up": [1, 2], "routing": "up-down"}
    optical = {**RUNNING, "reconfiguration": "50 us", "period": "1 s"}
    slow = odonata.run(shifts(optical, **tree))
    [change] = slow.meta["reconfigurations"]
    messages = slow.table("messages").to_pandas()
    far = messages[messages.job == 1]
    early = far[far.created_ps < change["drained_ps"]]
    # The circuits of pods 2 and 3 change: nothing of the second job goes up before they are set.
    assert len(early) > 0
    assert early.delivered_ps.min() > change["done_ps"] > 70 * US
    assert list(slow.to_pandas("jobs").bytes_delivered) == [8 * 200 * 4096] * 2
    assert core_bytes(slow) == 0
    quick = odonata.run(shifts({**optical, "reconfiguration": "0 s"}, **tree))
    assert quick.to_pandas("jobs").end_ps[1] < slow.to_pandas("jobs").end_ps[1]


def test_circuits_follow_what_is_sent() -> None:
    """After the first period traffic of one pod to another has the circuits between them."""
    optical = {
        "switch_ports": 4,
        "circuits": "traffic",
        "period": "10 us",
        "reconfiguration": "1 us",
    }
    scenario = shifts(optical, "0 s")
    result = odonata.run(scenario)
    first, *others = result.meta["reconfigurations"]
    # All send to one other pod: every uplink leads there, and stays until a job is done.
    done = result.to_pandas("jobs").end_ps.min()
    assert first["circuits"] == 16
    assert all(change["decided_ps"] >= done for change in others)
    unsteered = odonata.run(scenario.with_set(["network.optical={switch_ports=4}"]))
    assert 0 < core_bytes(result) < core_bytes(unsteered) / 2
    # Motifs are counted as well.
    motif = {"kind": "halo3d", "message": "16 KiB", "iterations": 20}
    job = [{"nodes": 16, "placement": "random-node", "motif": motif}]
    halo = Scenario.from_dict({"network": {**TREE, "optical": optical}, "job": job})
    found = odonata.run(halo)
    assert found.meta["reconfigurations"]
    # It is not asked for: only counted.
    assert found.table("communication").num_rows == 0


def test_circuits_stay_where_others_are_not_worth_the_change() -> None:
    """All uplinks to the one pod that is sent to bring 1 + 1/2 + 1/3 + 1/4 times what goes there,
    and unsteered ones nothing of it: any margin is passed, once. Of a horizon as short as the
    change itself nothing is left."""
    optical = {
        "switch_ports": 4,
        "circuits": "traffic",
        "period": "10 us",
        "reconfiguration": "1 us",
        "hysteresis": "90 %",
    }
    scenario = shifts(optical, "0 s")
    first, *others = odonata.run(scenario).meta["reconfigurations"]
    free = odonata.run(scenario.with_set(["network.optical.hysteresis=0 %"]))
    assert first == free.meta["reconfigurations"][0]
    # Once a job is done half of the circuits carry nothing; others would carry no more.
    assert not others
    patient = scenario.with_set(["network.optical.horizon=1 us"])
    assert odonata.run(patient).meta["reconfigurations"] == []


@pytest.mark.parametrize("circuits", ["running-jobs", "traffic"])
def test_threads_and_breaks_change_nothing(circuits: str, tmp_path: Path) -> None:
    """Every checkpoint is taken up: before, while, and after circuits drain and change."""
    optical = {
        "switch_ports": 4,
        "circuits": circuits,
        "period": "15 us",
        "reconfiguration": "5 us",
    }
    scenario = shifts(optical, "20 us", routing={"algorithm": "steered", "threshold": "0 B"})
    scenario = scenario.with_set(["job.0.traffic.messages=40", "job.1.traffic.messages=60"])
    whole = odonata.run(scenario)
    kept: list[Path] = []

    def keep(event: odonata.CheckpointEvent) -> None:
        if event.kind == "written":
            kept.append(tmp_path / f"at-{len(kept)}")
            shutil.copytree(tmp_path / "run", kept[-1])

    checkpoint = Checkpoint(tmp_path / "run", simulated="4 us", on_event=keep)
    again = odonata.run(scenario, checkpoint=checkpoint, threads=2)
    changes = whole.meta["reconfigurations"]
    assert len(changes) >= 2 and again.meta["reconfigurations"] == changes
    moments = [4 * US * (number + 1) for number in range(len(kept))]
    assert any(
        change["decided_ps"] < moment < change["done_ps"]
        for change in changes
        if change["done_ps"]
        for moment in moments
    )
    for place in kept[2:13:3]:
        resumed = odonata.run(scenario, checkpoint=Checkpoint(place, resume=True))
        assert resumed.meta["reconfigurations"] == changes
        for table in ("jobs", "messages", "links"):
            assert resumed.table(table).equals(whole.table(table)), (place.name, table)


def test_a_matrix_from_a_file_is_that_of_the_jobs(tmp_path: Path) -> None:
    """Pods exchange all in pairs, so that the amounts do not matter."""
    file = tmp_path / "pods.txt"
    rows = ["0 1 0 0", "1, 0, 0, 0", "0 0 0 2.5  # more", "", "0 0 1 0"]
    file.write_text("# by sender\n" + "\n".join(rows))
    by_file = {"switch_ports": 4, "circuits": "matrix", "matrix_file": str(file)}
    by_jobs = {"switch_ports": 4, "circuits": "jobs"}
    results = [odonata.run(shifts(optical, "0 s")) for optical in (by_file, by_jobs)]
    assert core_bytes(results[0]) == 0
    assert results[0].table("messages").equals(results[1].table("messages"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1 2\n3 4\n", "line 1: found 2 numbers; allowed: 4 rows of 4 numbers, as the tree has 4"),
        ("0 0 0 0\n" * 3, "found 3 rows; allowed: 4 rows of 4 numbers"),
        ("0 0 0 0\n" * 5, "line 5: found row 5; allowed: 4 rows"),
        ("0 0 0 -1\n" * 4, 'line 1: found "-1"; allowed: numbers of at least 0'),
        ("0 0 0 inf\n" * 4, 'line 1: found "inf"; allowed: numbers of at least 0'),
    ],
)
def test_wrong_matrices_are_refused(text: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "pods.txt"
    file.write_text(text)
    optical = {"switch_ports": 4, "circuits": "matrix", "matrix_file": str(file)}
    with pytest.raises(ScenarioError) as raised:
        odonata.run(shifts(optical))
    assert words in str(raised.value)
    assert "network.optical.matrix_file" in str(raised.value)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("network.optical.circuits=traffic", "period"),
        ("network.optical={circuits='jobs', period='1 us'}", "only with circuits that change"),
        ("network.optical={reconfiguration='1 us'}", "only with circuits that change"),
        ("network.optical.hysteresis=5 %", 'only with circuits = "traffic"'),
        ("network.optical.horizon=1 ms", 'only with circuits = "traffic"'),
        ("network.optical.matrix_file=pods.txt", 'circuits = "matrix"'),
        ("network.optical={circuits='matrix'}", "matrix_file"),
        ("network.routing={algorithm='up-down', per='message'}", "packet where circuits change"),
        ("network.router={crossbar=2}", '"ideal"'),
        ("simulation.engine=flow", "circuits change during runs of packets only"),
        ("record.attribution=true", "nothing of it where circuits change"),
    ],
)
def test_what_circuits_cannot_do_is_told(change: str, words: str) -> None:
    with pytest.raises((ScenarioError, SimulationError)) as raised:
        odonata.run(shifts(RUNNING).with_set([change]))
    assert words in str(raised.value)


def every_setting(pods: int, switches: int) -> list[np.ndarray]:
    """Numbers of uplinks from pod to pod by all settings of switches with a port of each pod."""
    single = [np.eye(pods, dtype=int)[list(order)] for order in itertools.permutations(range(pods))]
    chosen = itertools.combinations_with_replacement(single, switches)
    return [np.sum(matrices, axis=0) for matrices in chosen]


def test_min_max_leaves_the_busiest_uplink_least() -> None:
    """Beside all settings of three switches between three pods, where each pair can have one."""
    draw = np.random.default_rng(5)
    switches = [UplinkSwitch((0, 1, 2), (0, 1, 2))] * 3
    settings = every_setting(3, 3)
    for _ in range(200):
        traffic = draw.pareto(1.2, size=(3, 3))

        def busiest(links: np.ndarray, traffic: np.ndarray = traffic) -> float:
            with np.errstate(divide="ignore"):
                return float((traffic / links).max())

        found = odonata.steer_uplinks(traffic, switches, "min-max")
        assert found.links.sum(axis=0).tolist() == found.links.sum(axis=1).tolist() == [3, 3, 3]
        assert busiest(found.links) == pytest.approx(min(map(busiest, settings)))


@pytest.mark.parametrize("steering", ["min-max", "birkhoff", "matching"])
def test_traffic_that_is_a_sum_of_permutations_gets_them(steering: Any) -> None:
    """Two parts of one permutation of pods and one of another, on three switches."""
    one, other = np.eye(4, dtype=int)[[1, 2, 3, 0]], np.eye(4, dtype=int)[[2, 3, 0, 1]]
    switches = [UplinkSwitch((0, 1, 2, 3), (0, 1, 2, 3))] * 3
    found = odonata.steer_uplinks(2.0 * one + other, switches, steering)
    assert found.links.tolist() == (2 * one + other).tolist()


def test_ways_to_steer_keep_to_their_switches() -> None:
    """All uplinks are used once, on random switches with unlike sides too."""
    draw = np.random.default_rng(6)
    for _ in range(100):
        pods = int(draw.integers(2, 6))
        sides = [draw.integers(0, pods, size=(2, int(draw.integers(1, 7)))) for _ in range(4)]
        switches = [UplinkSwitch(tuple(map(int, i)), tuple(map(int, e))) for i, e in sides]
        traffic = draw.pareto(1.2, size=(pods, pods)) * draw.integers(0, 2, size=(pods, pods))
        for steering in ("min-max", "birkhoff"):
            found = odonata.steer_uplinks(traffic, switches, steering)  # type: ignore[arg-type]
            for switch, ports in zip(switches, found.ports, strict=True):
                assert sorted(ports) == list(range(len(switch.ingress)))
