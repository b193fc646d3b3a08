"""Circuits are set whole or not at all, whatever fails or is killed, and never another job's."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from circuit_faults import (
    BLIND,
    Faults,
    KilledError,
    controller,
    free_ports,
    random_circuits,
    write_plant,
)
from command import call
from odonata.errors import ClusterError, ControlError, DeviceError, OutputError
from odonata_live.control import Connection, Controller, Plant, between
from odonata_live.control.circuits import Connections, merged, touched


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """In memory where that can be: journals wait for the disk a hundred times here."""
    memory = Path("/dev/shm")
    directory = memory if os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="odonata-circuits-", dir=directory) as found:
        yield Path(found)


def matching(draw: st.DrawFn, ports: int) -> Connections:
    egress = draw(st.permutations(range(ports)))
    jobs = draw(st.lists(st.integers(0, 3), min_size=ports, max_size=ports))
    lit = draw(st.lists(st.booleans(), min_size=ports, max_size=ports))
    rows = zip(range(ports), egress, jobs, lit, strict=True)
    return frozenset(Connection(one, other, job) for one, other, job, on in rows if on)


@st.composite
def two_settings(draw: st.DrawFn) -> tuple[dict[str, Connections], dict[str, Connections]]:
    ports = draw(st.integers(1, 6))
    names = [f"s{n}" for n in range(draw(st.integers(1, 3)))]
    return {n: matching(draw, ports) for n in names}, {n: matching(draw, ports) for n in names}


@given(two_settings())
def test_steps_lead_from_one_setting_to_the_other_and_no_port_is_ever_in_two(
    pair: tuple[dict[str, Connections], dict[str, Connections]],
) -> None:
    before, after = pair
    held = {name: {c.ends: c for c in connections} for name, connections in before.items()}
    steps = between(before, after)
    for step in steps:
        for name, connections in step.connections.items():
            assert connections
            for connection in connections:
                if step.action == "break":
                    del held[name][connection.ends]
                    continue
                others = [ends for ends in held[name] if ends != connection.ends]
                assert connection.ingress not in {ends[0] for ends in others}
                assert connection.egress not in {ends[1] for ends in others}
                held[name][connection.ends] = connection
    assert {name: frozenset(of.values()) for name, of in held.items()} == after
    # What stays as it is, is not touched.
    for step in steps:
        for name, connections in step.connections.items():
            assert not set(connections) & before[name] & after[name]


@given(two_settings())
def test_a_setting_taken_back_is_as_before_and_leaves_other_ports_alone(
    pair: tuple[dict[str, Connections], dict[str, Connections]],
) -> None:
    before, after = pair
    for name in before:
        ports = touched(before[name], after[name])
        assert merged(after[name], before[name], ports) == before[name]
        assert merged(before[name], after[name], ports) == after[name]


def test_what_begins_and_ends_at_dark_ports_is_made_before_anything_is_broken() -> None:
    before = {"s": frozenset({Connection(0, 0), Connection(1, 1)})}
    after = {"s": frozenset({Connection(0, 1, 5), Connection(2, 2, 5)})}
    steps = [
        (step.action, [c.ends for c in step.connections["s"]]) for step in between(before, after)
    ]
    assert steps == [("make", [(2, 2)]), ("break", [(0, 0), (1, 1)]), ("make", [(0, 1)])]


def check_whole(plant: Plant) -> dict[str, Connections]:
    """Recovers; switches then hold what the journal says, and nothing is open."""
    with Controller(plant) as control:
        control.recover()
        held = control.settings()
        assert held == control.journal.settings(plant.switches)
        assert control.journal.open_transactions() == []
        assert control.verify() == []
        again = control.recover()
        assert again == [] and control.settings() == held
    return held


def jobs_circuits(held: dict[str, Connections], job: int) -> set[tuple[str, int, int]]:
    return {(name, *c.ends) for name, of in held.items() for c in of if c.job == job}


@pytest.fixture
def site_switches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package with a driver of a site's own."""
    package = tmp_path / "package" / "site_switches"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "blind.py").write_text(BLIND)
    monkeypatch.syspath_prepend(str(package.parent))
    yield
    for name in ("site_switches", "site_switches.blind"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("one_way", "blind"),
    [(True, False), (False, False), (True, True)],
    ids=["one way", "both ways", "blind"],
)
@pytest.mark.parametrize("kind", ["kill", "refuse"])
def test_whatever_step_fails_a_change_is_whole_or_not_at_all(
    tmp_path: Path, site_switches: None, kind: str, one_way: bool, blind: bool
) -> None:
    """Job 1 runs; job 2's circuits break what job 3 left, and something fails at each point."""
    points = 0
    for seed in range(2):
        at = 0
        while True:
            at += 1
            directory = tmp_path / f"{seed}-{at}"
            directory.mkdir()
            draw = random.Random(seed)
            plant = write_plant(directory, 2, 6, one_way=one_way, blind=blind)
            with controller(plant) as control:
                for job in (1, 3):
                    free = free_ports(plant, control.settings())
                    control.set_circuits(
                        job, plant.for_circuits(job, random_circuits(draw, plant, free))
                    )
                control.give_back(3)
                before = control.settings()
                wanted = random_circuits(draw, plant, free_ports(plant, before))
            ones = jobs_circuits(before, 1)
            faults = Faults(at, kind)

            def others_are_untouched(plant: Plant = plant, ones: set = ones) -> None:
                from odonata_live.control.drivers.recorder import Recorder

                held = {
                    name: Recorder(plant.store.parent)._held(switch)
                    for name, switch in plant.switches.items()
                }
                assert jobs_circuits(held, 1) == ones

            faults.watch = others_are_untouched
            done = False
            with controller(plant, faults) as control:
                try:
                    control.set_circuits(2, plant.for_circuits(2, wanted))
                    done = True
                except KilledError:
                    assert kind == "kill"
                except DeviceError:
                    assert kind == "refuse"
            failed = faults.seen >= at
            held = check_whole(plant)
            assert jobs_circuits(held, 1) == ones
            got = jobs_circuits(held, 2)
            all_of_it = {
                circuit
                for name, one, other in wanted
                for circuit in ([(name, one, other)] + ([] if one_way else [(name, other, one)]))
            }
            assert got in (all_of_it, set())
            if done:
                assert got == all_of_it
            elif not got:
                assert held == before
            if not failed:
                break
            points += 1
    assert points > 20


def test_giving_back_is_finished_whatever_step_fails(tmp_path: Path) -> None:
    at = 0
    while True:
        at += 1
        directory = tmp_path / str(at)
        directory.mkdir()
        plant = write_plant(directory, 2, 4, one_way=True)
        with controller(plant) as control:
            control.set_circuits(1, plant.for_circuits(1, [("s0", 0, 1), ("s1", 2, 3)]))
            control.set_circuits(2, plant.for_circuits(2, [("s0", 2, 2)]))
        faults = Faults(at)
        with controller(plant, faults) as control, contextlib.suppress(KilledError):
            control.give_back(1)
        held = check_whole(plant)
        assert jobs_circuits(held, 2) == {("s0", 2, 2)}
        with Controller(plant) as control:
            control.give_back(1)
            assert control.give_back(1).note == "job 1 has given its circuits back"
        held = check_whole(plant)
        assert jobs_circuits(held, 1) == set()
        # Taking them down would be work for nothing.
        assert {c.ends for c in held["s0"]} == {(0, 1), (2, 2)}
        if faults.seen < at:
            break
    assert at > 10


def test_a_switch_that_is_gone_is_set_right_when_it_is_back(tmp_path: Path) -> None:
    plant = write_plant(tmp_path, 3, 4, one_way=True)
    with controller(plant) as control:
        control.set_circuits(1, plant.for_circuits(1, [("s0", 0, 0), ("s1", 0, 0)]))
        before = control.settings()
    for lost_after in range(2, 12):
        faults = Faults()
        with controller(plant, faults) as control:
            passed = 0

            def lose(faults: Faults = faults, last: int = lost_after) -> None:
                nonlocal passed
                passed += 1
                if passed == last - 1:
                    faults.gone = {"s1"}

            faults.watch = lose
            wanted = [(name, port, 4 - port) for name in plant.switches for port in (1, 2, 3)]
            try:
                control.set_circuits(2, plant.for_circuits(2, wanted))
                control.give_back(2)
            except DeviceError as error:
                assert "s1 is gone" in str(error)
                # Other switches may be used meanwhile.
                control.set_circuits(3, plant.for_circuits(3, [("s2", 0, 0)]), ["s2"])
                with pytest.raises(DeviceError):
                    control.set_circuits(4, plant.for_circuits(4, [("s1", 3, 3)]), ["s1"])
                faults.gone = set()
                control.give_back(3)
                control.give_back(2)
        held = check_whole(plant)
        assert jobs_circuits(held, 1) == jobs_circuits(before, 1)
        assert jobs_circuits(held, 2) == set()
        assert jobs_circuits(held, 4) == set()


def test_principle_1_goes_by_the_journal_and_by_the_switches(tmp_path: Path) -> None:
    plant = write_plant(tmp_path, 1, 4, one_way=True)
    with Controller(plant) as control:
        control.set_circuits(1, plant.for_circuits(1, [("s0", 0, 1)]))
        for circuit in (("s0", 0, 2), ("s0", 3, 1), ("s0", 0, 1)):
            with pytest.raises(ControlError, match="belongs to job 1"):
                control.set_circuits(2, plant.for_circuits(2, [circuit]))
        with pytest.raises(ControlError, match=r"found ingress port 4; allowed: 0 to 3"):
            control.set_circuits(2, plant.for_circuits(2, [("s0", 4, 0)]))
        # A switch that says so, of a job that the journal does not know.
        (tmp_path / "s0.json").write_text("[[0, 1, 1], [2, 2, 77]]")
        with pytest.raises(ControlError, match="the switch says it belongs to job 77"):
            control.set_circuits(2, plant.for_circuits(2, [("s0", 2, 3)]))
        assert control.verify() == ["switch s0: circuit 2 → 2 of job 77 is not in the journal"]
        assert control.recover() == ["switch s0: job 77 is only known there; kept"]
        assert control.journal.jobs() == {1: True, 77: True}
        # Where both name a job, nobody's is taken.
        (tmp_path / "s0.json").write_text("[[0, 1, 78]]")
        with pytest.raises(DeviceError, match="by the journal its ports belong to job 1"):
            control.recover()
        assert jobs_circuits(control.settings(), 78) == {("s0", 0, 1)}
        control.give_back(78)
        assert control.recover()
        assert jobs_circuits(control.settings(), 1) == {("s0", 0, 1)}
        # A job may get others in place of its own.
        control.set_circuits(77, plant.for_circuits(77, [("s0", 2, 3)]))
        assert jobs_circuits(control.settings(), 77) == {("s0", 2, 3)}


def test_a_switch_that_has_lost_its_circuits_gets_those_of_jobs_again(tmp_path: Path) -> None:
    plant = write_plant(tmp_path, 2, 4, one_way=False)
    with Controller(plant) as control:
        control.set_circuits(1, plant.for_circuits(1, [("s0", 0, 1)]))
        control.set_circuits(2, plant.for_circuits(2, [("s0", 2, 3)]))
        control.give_back(2)
        (tmp_path / "s0.json").unlink()
        assert "switch s0: circuit 0 → 1 of job 1 is missing" in control.verify()
        control.recover()
        # Nobody's circuits are as the switch has them: gone.
        assert control.settings()["s0"] == {Connection(0, 1, 1), Connection(1, 0, 1)}
        (tmp_path / "s0.json").write_text("[[0, 2, 0], [2, 0, 0]]")
        control.recover()
        assert control.settings()["s0"] == {Connection(0, 1, 1), Connection(1, 0, 1)}
    assert check_whole(plant)


def test_a_lost_journal_is_made_again_from_the_switches(tmp_path: Path) -> None:
    plant = write_plant(tmp_path, 2, 4, one_way=True)
    with Controller(plant) as control:
        control.set_circuits(5, plant.for_circuits(5, [("s0", 0, 1), ("s1", 1, 1)]))
        held = control.settings()
    for file in tmp_path.glob("circuits.sqlite*"):
        file.unlink()
    assert check_whole(plant) == held
    with Controller(plant) as control:
        with pytest.raises(ControlError, match="belongs to job 5"):
            control.set_circuits(6, plant.for_circuits(6, [("s1", 1, 2)]))
        control.give_back(5)


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(seed=st.integers(0, 10**9), one_way=st.booleans())
def test_any_sequence_of_jobs_and_faults_keeps_switches_and_journal_equal(
    tmp_path: Path, seed: int, one_way: bool
) -> None:
    draw = random.Random(seed)
    directory = Path(tempfile.mkdtemp(dir=tmp_path))
    plant = write_plant(directory, 3, 8, one_way=one_way)
    running: dict[int, set[tuple[str, int, int]]] = {}
    for job in range(1, 10):
        faults = Faults(
            draw.randrange(1, 60) if draw.random() < 0.5 else 0, draw.choice(("kill", "refuse"))
        )
        with controller(plant, faults) as control:
            try:
                if running and draw.random() < 0.4:
                    ending = draw.choice(sorted(running))
                    control.give_back(ending)
                else:
                    ending = 0
                    free = free_ports(plant, control.settings())
                    wanted = random_circuits(draw, plant, free)
                    control.set_circuits(job, plant.for_circuits(job, wanted))
            except (KilledError, DeviceError):
                pass
        held = check_whole(plant)
        if ending:
            running.pop(ending) if not jobs_circuits(held, ending) else None
        elif got := jobs_circuits(held, job):
            running[job] = got
        for other, circuits in running.items():
            assert jobs_circuits(held, other) == circuits


def test_only_one_is_at_work_and_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    plant = write_plant(tmp_path, 1, 4, one_way=True)
    with Controller(plant), pytest.raises(ControlError, match="another `odonata control`"):
        Controller(plant, wait_s=0).__enter__()
    program = (
        "import sys; from pathlib import Path; from odonata_live.control import Controller, Plant\n"
        "with Controller(Plant.from_file(Path(sys.argv[1]))) as control:\n"
        "    print('locked', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", program, str(plant.file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None and holder.stdin is not None
    assert holder.stdout.readline() == "locked\n"
    with pytest.raises(ControlError):
        Controller(plant, wait_s=0).__enter__()
    holder.kill()
    holder.wait()
    holder.stdout.close()
    holder.stdin.close()
    with Controller(plant, wait_s=60) as control:
        assert control.verify() == []


def test_many_at_once_wait_for_each_other(tmp_path: Path) -> None:
    plant = write_plant(tmp_path, 2, 8, one_way=True)
    failures: list[BaseException] = []

    def work(job: int) -> None:
        try:
            with Controller(plant, wait_s=120) as control:
                control.set_circuits(
                    job, plant.for_circuits(job, [("s0", job, job), ("s1", job, 7 - job)])
                )
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(job,)) for job in range(1, 7)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    held = check_whole(plant)
    assert [len(jobs_circuits(held, job)) for job in range(1, 7)] == [2] * 6


@pytest.mark.parametrize("after", [0, 1], ids=["before", "while it is set"])
def test_a_full_disk_leaves_circuits_as_they_were_or_is_made_up_for(
    tmp_path: Path, after: int
) -> None:
    plant = write_plant(tmp_path, 2, 64, one_way=True)
    faults = Faults()
    wanted = [(name, port, port) for name in plant.names for port in range(64)]
    with controller(plant, faults) as control:
        control.set_circuits(1, plant.for_circuits(1, wanted[:3]))
        control.give_back(1)
        before = control.settings()
        database = control.journal._db

        def fill() -> None:
            (pages,) = database.execute("PRAGMA page_count").fetchone()
            database.execute(f"PRAGMA max_page_count={pages}")

        if after:
            faults.watch = fill
        else:
            fill()
        with pytest.raises(OutputError, match="cannot be written: database or disk is full"):
            control.set_circuits(2, plant.for_circuits(2, wanted))
        if not after:
            assert control.settings() == before
    held = check_whole(plant)
    assert len(jobs_circuits(held, 2)) == (128 if after else 0)


def test_a_damaged_journal_is_told_and_made_again(tmp_path: Path) -> None:
    plant = write_plant(tmp_path, 1, 4, one_way=True)
    with Controller(plant) as control:
        control.set_circuits(2, plant.for_circuits(2, [("s0", 0, 1)]))
        held = control.settings()
        control.journal._db.execute("DROP TABLE ports")
    with Controller(plant) as control, pytest.raises(ClusterError, match="Move it away"):
        control.verify()
    for file in tmp_path.glob("circuits.sqlite*"):
        file.unlink()
    assert check_whole(plant) == held


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(text=st.text(), content=st.binary())
def test_no_text_of_a_job_is_more_than_text(tmp_path: Path, text: str, content: bytes) -> None:
    """Names with quotes, newlines, semicolons; files that are none: an error, nothing else."""
    file = tmp_path / "plant.toml"
    if not file.exists():
        network_plant(tmp_path, DRAGONFLY, "n[0-47]", 4)
        (tmp_path / "list").write_bytes(b"")
    (tmp_path / "list").write_bytes(content)
    before = sorted(tmp_path.iterdir())
    for options in (
        ["--hosts", f"n1{text}"],
        ["--hosts", f"{text},n[0-15]"],
        ["--hosts", "n[0-15]", "--traffic", str(tmp_path / "list")],
        ["--circuits", str(tmp_path / "list")],
    ):
        done = call("control", "set", file, "--job", "5", *options, directory=tmp_path)
        assert done.returncode in (0, 2), (options, done)
    ours = ("circuits.sqlite", "s0", "s1", "s2", "s3")
    new = [found for found in tmp_path.iterdir() if found not in before]
    assert all(found.name.startswith(ours) for found in new), new


@pytest.mark.parametrize(
    "options",
    [["--hosts", "n[0-15]", "--traffic"], ["--circuits"], ["--hosts"]],
)
def test_a_file_without_end_is_refused(tmp_path: Path, options: list[str]) -> None:
    file = network_plant(tmp_path, DRAGONFLY, "n[0-47]", 4).file
    done = call("control", "set", file, "--job", "5", *options, "/dev/zero", directory=tmp_path)
    assert done.returncode == 2
    assert "/dev/zero: " in done.stderr
    assert not (tmp_path / "circuits.sqlite").exists()


# --- The network's own choice -----------------------------------------------------------


def network_plant(directory: Path, scenario: str, nodes: str, switches: int) -> Plant:
    (directory / "machine.toml").write_text(scenario)
    rows = "".join(f'[[switch]]\nname = "s{n}"\ndriver = "files"\n' for n in range(switches))
    file = directory / "plant.toml"
    file.write_text(
        f'store = "circuits.sqlite"\nscenario = "machine.toml"\nnodes = "{nodes}"\n'
        f'[driver.files]\nkind = "recorder"\n{rows}'
    )
    return Plant.from_file(file)


DRAGONFLY = """
title = "six groups of eight nodes"
[network]
family = "reconfigurable-dragonfly"
p = 2
a = 4
h = 2
g = 6
links_per_switch = 2
circuits = "jobs"
"""

TREE = """
title = "two pods of four leaves"
[network]
family = "fat-tree"
down = [4, 4, 2]
up = [2, 2]
routing = { algorithm = "up-down", choice = "by-destination" }
[network.optical]
switch_ports = 4
links_per_switch = 2
"""


def through_switches(plant: Plant, held: dict[str, Connections]) -> dict[tuple[int, int], int]:
    """Where light from a router's port arrives by the circuits that switches hold: a router."""
    network = plant.network
    assert network is not None
    return {
        network.ingress[number][c.ingress]: network.egress[number][c.egress][0]
        for number, name in enumerate(plant.names)
        for c in held[name]
    }


def test_large_jobs_own_all_links_of_their_groups_and_small_ones_none(tmp_path: Path) -> None:
    plant = network_plant(tmp_path, DRAGONFLY, "n[0-47]", 4)
    with Controller(plant) as control:
        few = ["n0", "n7"]
        assert plant.switches_of(few) == []
        small = control.set_circuits(1, plant.for_nodes(1, few), plant.switches_of(few))
        assert small.made == 0 and control.journal.jobs() == {1: True}
        control.give_back(1)
        large = [f"n{n}" for n in range(8, 24)]
        control.set_circuits(2, plant.for_nodes(2, large))
        held = control.settings()
        # Two links of groups 1 and 2 on every switch: ports 2, 3 and 4, 5.
        for name in plant.switches:
            assert {c.ends for c in held[name]} == {(2, 4), (4, 2), (3, 5), (5, 3)}
        owned = control.journal.owners()
        assert {port for _, _, port in owned} == {2, 3, 4, 5} and len(owned) == 4 * 4 * 2
        with pytest.raises(ControlError, match="belongs to job 2"):
            control.set_circuits(3, plant.for_nodes(3, [f"n{n}" for n in range(16, 40)]))
        control.give_back(2)
        control.set_circuits(3, plant.for_nodes(3, [f"n{n}" for n in range(16, 40)]))
        held = control.settings()
        assert plant.network is not None
        # Groups 2 to 4 reach each other by circuits of their own; the simulator's routes.
        pairs = [(f"n{one}", f"n{other}") for one in (16, 24, 32) for other in (17, 25, 39)]
        ways = plant.network.ways([held[name] for name in plant.names], pairs)
        leads = through_switches(plant, held)
        for (_, to), way in zip(pairs, ways, strict=True):
            assert 1 <= len(way) <= 5 and way[-1][0] == int(to[1:]) // 2
            # Between groups by circuits that are there, inside by a router's own links.
            for here, there in itertools.pairwise(way):
                inside = here[0] // 4 == there[0] // 4
                assert (leads.get(here) is None) if inside else leads[here] == there[0]


def test_ways_follow_the_circuits_that_switches_hold(tmp_path: Path) -> None:
    plant = network_plant(tmp_path, TREE, "n[0-31]", 4)
    network = plant.network
    assert network is not None
    straight = [(name, port, port) for name in plant.names for port in range(4)]
    nodes = [f"n{n}" for n in range(32)]
    # All that is sent goes to the other pod.
    sent = [(f"n{n}", f"n{(n + 16) % 32}", 1.0) for n in range(32)]
    pairs = [(one, other) for one, other, _ in sent]
    with Controller(plant) as control:
        control.set_circuits(1, plant.for_circuits(1, straight))
        held = control.settings()
        before = network.ways([held[name] for name in plant.names], pairs)
        # Leaf, aggregation, top, aggregation, leaf.
        assert [len(way) for way in before] == [5] * 32
        control.give_back(1)
        control.set_circuits(2, plant.for_nodes(2, nodes, sent))
        held = control.settings()
        # Every uplink of a leaf leads to the other pod: no way by the top.
        after = network.ways([held[name] for name in plant.names], pairs)
        assert [len(way) for way in after] == [3] * 32
        for name in plant.names:
            assert sorted(c.egress for c in held[name]) == [0, 1, 2, 3]
        # As the simulator sets them for the same job, by the same code.
        assert {c.ends for c in held["s0"]} == {(0, 2), (1, 3), (2, 0), (3, 1)}
        from odonata_live.control.network import by_destination

        everyone = [(one, other) for one in nodes for other in nodes if one != other]
        ways = network.ways([held[name] for name in plant.names], everyone)
        entries = by_destination(ways, everyone)
        leads = through_switches(plant, held)
        up = 0
        for way in ways:
            for here, there in itertools.pairwise(way):
                if here in leads:
                    up += 1
                    assert leads[here] == there[0]
        assert up == sum(len(way) > 1 for way in ways)
        # Every router forwards by destination alone.
        leaves = {way[0][0] for way in ways}
        assert len(leaves) == 8 and all(len(entries[leaf]) == 32 for leaf in leaves)


@pytest.mark.parametrize(
    ("scenario", "nodes", "chosen"),
    [
        (DRAGONFLY, 48, 'steering = "min-max"'),
        (TREE, 32, 'circuits = "jobs"\nsteering = "min-max"'),
        (TREE, 32, 'circuits = "matrix"\nmatrix_file = "pods"'),
        (TREE, 32, 'circuits = "traffic"\nperiod = "10 us"\nreconfiguration = "1 us"'),
        (TREE, 32, 'circuits = "running-jobs"\nsteering = "birkhoff"'),
    ],
)
def test_ways_need_no_word_of_how_circuits_are_chosen(
    scenario: str, nodes: int, chosen: str, tmp_path: Path
) -> None:
    """Routes are of the circuits that switches hold, whoever has chosen them."""
    names = [f"n{n}" for n in range(nodes)]
    found = []
    for text in (scenario, scenario + chosen):
        directory = tmp_path / str(len(found))
        directory.mkdir()
        (directory / "pods").write_text("0 1\n1 0\n")
        plant = network_plant(directory, text, f"n[0-{nodes - 1}]", 4)
        with Controller(plant) as control:
            # All pairs send as much, so that it does not matter how circuits are chosen.
            control.set_circuits(1, plant.for_nodes(1, names))
            held = control.settings()
        assert plant.network is not None
        pairs = list(itertools.permutations(names[::7], 2))
        found.append(plant.network.ways([held[name] for name in plant.names], pairs))
        done = call("control", "routes", "plant.toml", "--by", "pair", directory=directory)
        assert done.returncode == 0, done.stderr
    assert len(found[0]) == len(found[1])
    if scenario == TREE:
        assert found[0] == found[1]


def test_a_job_steers_the_uplinks_of_leaves_that_it_has_alone(tmp_path: Path) -> None:
    plant = network_plant(tmp_path, TREE, "n[0-31]", 4)
    straight = [(name, port, port) for name in plant.names for port in range(4)]
    with Controller(plant) as control:
        control.set_circuits(1, plant.for_circuits(1, straight))
        control.give_back(1)
        before = control.settings()
        # Leaves 0 and 4 whole, leaf 1 in part: it sends all to the other pod.
        nodes = [f"n{n}" for n in (0, 1, 2, 3, 16, 17, 18, 19, 4)]
        sent = [(f"n{n}", f"n{n + 16}", 1.0) for n in range(4)]
        sent += [(other, one, 1.0) for one, other, _ in sent]
        # Both uplinks of leaf 0 are on the first switch.
        assert plant.switches_of(nodes[:4]) == ["s0"]
        control.set_circuits(2, plant.for_nodes(2, nodes, sent), plant.switches_of(nodes))
        held = control.settings()
        network = plant.network
        assert network is not None
        ways = network.ways([held[name] for name in plant.names], [("n0", "n1"), ("n16", "n17")])
        own = {way[0][0] for way in ways}
        changed = 0
        for number, name in enumerate(plant.names):
            for connection in held[name]:
                leaf, _ = network.ingress[number][connection.ingress]
                assert (connection.job == 2) == (leaf in own)
                if leaf not in own:
                    assert connection in before[name]
                changed += connection.ends[0] != connection.ends[1]
        # Two uplinks of either leaf, on two switches: all lead to the other pod.
        assert changed == 4


def test_a_driver_that_is_not_there_is_told(tmp_path: Path) -> None:
    plant = write_plant(tmp_path, 1, 4, one_way=True, blind=True)
    with Controller(plant) as control, pytest.raises(ControlError, match="cannot be loaded"):
        control.settings()
    for kind, words in (
        ("record", "found 'record'; allowed: openflow, mirred, recorder"),
        ("a b", "found 'a b'"),
        ("odonata.errors", "cannot be loaded"),
    ):
        text = plant.file.read_text().replace("site_switches.blind", kind)
        (tmp_path / "other.toml").write_text(text)
        other = Plant.from_file(tmp_path / "other.toml")
        with Controller(other) as control, pytest.raises(ControlError, match=words):
            control.settings()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("store = 3\n", "store: found 3; allowed: a str"),
        ("[driver.files]\nkind = 'recorder'\n", "store: found nothing"),
        ("store = 'x'\ncolour = 1\n", "colour: no such key"),
        ("store = 'x'\n[driver.d]\nkind = 'recorder'\n[[switch]]\nname = 'a;b'\n", "a;b"),
        (
            "store = 'x'\n[driver.d]\nkind = 'recorder'\n[[switch]]\nname = 'a'\ndriver = 'e'\n",
            "found 'e'; allowed: one of the drivers: d",
        ),
        (
            "store = 'x'\n[driver.d]\nkind = 'recorder'\n[[switch]]\nname = 'a'\ndriver = 'd'\n",
            "switch[0].ports: found None",
        ),
    ],
)
def test_wrong_plants_say_what_is_wrong(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "plant.toml"
    file.write_text(text)
    with pytest.raises(ControlError) as error:
        Plant.from_file(file)
    assert words in str(error.value) and str(file) in str(error.value)


def run(*arguments: str, code: int = 0) -> str:
    done = call(*arguments, directory=Path.cwd())
    assert done.returncode == code, done
    return done.stdout if code == 0 else done.stderr


def test_commands_set_show_verify_and_give_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant = network_plant(tmp_path, DRAGONFLY, "n[0-47]", 4)
    file = str(plant.file)
    said = json.loads(run("control", "set", file, "--job", "7", "--hosts", "n[0-15]", "--json"))
    assert said["made"] == 16 and set(said["seconds"]) >= {"read", "make", "barrier", "verify"}
    shown = json.loads(run("control", "show", file, "--json"))
    assert shown["ports_of_jobs"] == {"7": 32} and shown["open_transactions"] == []
    assert "switches hold" in run("control", "verify", file)
    entries = json.loads(
        run("control", "routes", file, "--hosts", "n[0-15]", "--by", "pair", "--json")
    )
    # Routers 0 to 7 have the job's nodes; a packet for another router's node leaves towards it.
    assert {row["router"] for row in entries["entries"]} == set(range(8))
    last = [row for row in entries["entries"] if int(row["to"][1:]) // 2 == row["router"]]
    assert {(row["to"], row["port"]) for row in last} == {(f"n{n}", n % 2) for n in range(16)}
    assert "no way from node 0 to node 16" in run(
        "control", "routes", file, "--hosts", "n[0,16]", code=2
    )
    (tmp_path / "s0.json").unlink()
    assert "is missing" in run("control", "verify", file, code=7)
    assert "was missing; set" in run("control", "recover", file)
    run("control", "verify", file)
    assert "belongs to job 7" in run(
        "control", "set", file, "--job", "8", "--hosts", "n[8-23]", code=2
    )
    assert "0 connections made" in run("control", "give-back", file, "7")
    asked = tmp_path / "squeue"
    asked.write_text("#!/bin/sh\necho 11\n")
    asked.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    for job in ("10", "11"):
        run(
            "control",
            "set",
            file,
            "--job",
            job,
            "--hosts",
            f"n[{16 * (int(job) - 10)}-{16 * (int(job) - 9) - 1}]",
        )
    assert json.loads(run("control", "give-back", file, "--ended", "--json")) == {
        "given_back": [10]
    }
    assert "1 jobs" not in run("control", "give-back", file, "--ended")
    run("control", "give-back", file, "11")
    circuits = tmp_path / "list"
    circuits.write_text("s0 0 2 # a comment\n\ns1 0 2\n")
    run("control", "set", file, "--job", "9", "--circuits", str(circuits))
    circuits.write_text("s0 0\n")
    assert 'line 1: found "s0 0"' in run(
        "control", "set", file, "--job", "9", "--circuits", str(circuits), code=2
    )
    for name in ("n[0-15", "x;rm", "n99"):
        assert name in run("control", "set", file, "--job", "9", "--hosts", name, code=2)
