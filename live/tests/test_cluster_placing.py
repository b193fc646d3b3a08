"""Cycles of the placement beside scripts in place of Slurm: who is asked what, and how often."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from odonata.errors import ClusterError
from odonata_live.cluster import journal as states
from odonata_live.cluster.jobs import UNTIL_PLACED_S
from odonata_live.cluster.journal import Journal, open_journal
from odonata_live.cluster.placing import Placer, Rules
from odonata_live.cluster.pulse import Pulse
from odonata_live.cluster.submitting import is_alive
from odonata_live.cluster.topologies import read_topology


class FakeSlurm:
    """A Slurm that holds still: files say what it answers, and one keeps what it was asked."""

    def __init__(self, directory: Path, groups: int, size: int) -> None:
        self.directory = directory
        self.names = [f"n{i}" for i in range(groups * size)]
        self.rows: dict[str, dict[str, str]] = {}
        self.states = dict.fromkeys(self.names, "idle")
        bin_ = directory / "bin"
        bin_.mkdir()
        scripts = {
            "squeue": f'case "$*" in *MaxNodes*) cat {directory}/most ;; '
            f"*states=all*) cat {directory}/ended ;; *) cat {directory}/queue ;; esac",
            "sinfo": f"cat {directory}/states",
            "scontrol": f'case "$*" in "") cat >> {directory}/asked; cat {directory}/refused ;; '
            f"*nodes) cat {directory}/nodes ;; *partitions) cat {directory}/partitions ;; "
            "*) echo none ;; esac",
        }
        for name, script in scripts.items():
            (bin_ / name).write_text(f"#!/bin/sh\necho {name} >> {directory}/calls\n{script}\n")
            (bin_ / name).chmod(0o755)
        for name in ("asked", "calls", "ended", "refused"):
            (directory / name).write_text("")
        (directory / "nodes").write_text(
            "".join(f"NodeName={name} State=IDLE CPUTot=1\n" for name in self.names)
        )
        (directory / "partitions").write_text(
            f"PartitionName=main Nodes=n[0-{len(self.names) - 1}] OverSubscribe=EXCLUSIVE State=UP"
        )
        lines = [f"SwitchName=g{i} Nodes=n[{i * size}-{(i + 1) * size - 1}]" for i in range(groups)]
        self.topology = read_topology("\n".join(lines))

    def job(self, id_: str, count: int, **changes: str) -> None:
        row = {
            "i": id_,
            "A": id_.replace("+", "_").split("_")[0],
            "T": "PENDING",
            "P": "main",
            "D": str(count),
            "N": "",
            "l": "10:00",
            "S": str(UNTIL_PLACED_S),
            "e": "N/A",
            "V": "1700000000",
            "h": "NO",
            "n": "",
            "x": "",
            "v": "(null)",
            "b": "N/A",
            "E": "(null)",
            "r": "BeginTime",
            "f": "(null)",
            "Q": "9",
        }
        self.rows[id_] = {**row, **changes}

    def write(self) -> None:
        records = ("\x1e" + "\x1f".join(row.values()) + "\x1d\n" for row in self.rows.values())
        (self.directory / "queue").write_text("".join(records))
        most = (f"{row['A']} {row['D']}\n" for row in self.rows.values())
        (self.directory / "most").write_text("".join(most))
        (self.directory / "states").write_text(
            "".join(f"{name} {state}\n" for name, state in self.states.items())
        )

    def asked(self) -> list[str]:
        """What was asked since the last time."""
        path = self.directory / "asked"
        lines = path.read_text().splitlines()
        path.write_text("")
        return lines

    def calls(self) -> list[str]:
        path = self.directory / "calls"
        lines = path.read_text().splitlines()
        path.write_text("")
        return lines

    def answer(self, id_: str, nodes: list[str], state: str = "RUNNING") -> None:
        """As Slurm does with a job that was released."""
        list_ = ",".join(nodes)
        times = {"S": "1700000100", "e": "1700000700"}
        self.rows[id_] |= {"T": state, "Q": "9", "n": list_, "r": "None", "S": "N/A"}
        if state == "RUNNING":
            self.rows[id_] |= {"N": list_, **times}
            self.states.update(dict.fromkeys(nodes, "allocated"))


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSlurm:
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return FakeSlurm(tmp_path, 4, 4)


class Run:
    """A placer whose clock is ours."""

    def __init__(self, slurm: FakeSlurm, rules: Rules | None = None) -> None:
        self.slurm, self.rules = slurm, rules or Rules()
        self.now = 1_700_000_050.0
        self.said: list[str] = []
        self.restart()

    def restart(self) -> None:
        self.journal: Journal = open_journal(self.slurm.directory / "journal", self.said.append)
        self.placer = Placer(
            self.slurm.topology,
            self.rules,
            self.journal,
            say=self.said.append,
            clock=lambda: self.now,
        )

    def cycle(self, after_s: float = 1) -> list[str]:
        """One cycle; what was asked of Slurm."""
        self.now += after_s
        self.slurm.write()
        self.placer.cycle()
        return self.slurm.asked()

    def state(self, job: str) -> str:
        return self.journal.decisions(job=job)[-1].state


def pinned(asked: list[str]) -> dict[str, list[str]]:
    found = {}
    for line in asked:
        if "ReqNodeList=" in line and not line.endswith("="):
            words = dict(word.split("=") for word in line.split()[1:])
            found[words["jobid"]] = words["ReqNodeList"].split(",")
    return found


def may_begin(job: int | str) -> str:
    return f"update jobid={job} StartTime=now"


def wait(job: int | str) -> str:
    return f"update jobid={job} StartTime=uts{UNTIL_PLACED_S} ReqNodeList="


def test_a_job_from_waiting_to_ended(slurm: FakeSlurm) -> None:
    run = Run(slurm)
    slurm.job("1", 6)
    slurm.job("2", 3)
    asked = run.cycle()
    nodes = pinned(asked)
    assert nodes == {"1": ["n0", "n1", "n2", "n4", "n5", "n6"], "2": ["n8", "n9", "n10"]}
    assert asked[2:] == [may_begin(1), may_begin(2)]
    assert [run.state(job) for job in "12"] == ["decided"] * 2
    slurm.answer("1", nodes["1"])
    slurm.answer("2", nodes["2"], "PENDING")
    assert run.cycle() == []
    assert [run.state(job) for job in "12"] == ["running", "pinned"]
    del slurm.rows["1"]
    slurm.states = dict.fromkeys(slurm.names, "idle")
    run.cycle()
    assert [run.state(job) for job in "12"] == ["ended", "pinned"]
    kinds = [(kind, job) for _, kind, job, _, _ in run.journal.events()]
    assert kinds == [("came", "1"), ("came", "2"), ("ended", "1")]


def test_who_is_killed_again_and_again_rests(slurm: FakeSlurm, tmp_path: Path) -> None:
    """Silences count across processes, for an hour; while it rests, all jobs are left to Slurm and
    the heartbeat says that nobody places."""
    beat = tmp_path / "beat"
    begin = 1_700_000_000.0
    pulse = Pulse(beat, 3.0)
    pulse.begin(begin - 9)
    assert not beat.exists()
    pulse.beat(begin)
    # A long cycle is no silence, nor is the usual time to the next.
    pulse.begin(begin + 1)
    pulse.beat(begin + 9)
    assert Pulse(beat, 3.0).silent_s(begin + 12) == 0
    # Killed in a cycle, two seconds after its beginning another one begins; after three more, too.
    pulse.begin(begin + 12)
    pulse = Pulse(beat, 3.0)
    assert pulse.silent_s(begin + 14) == 2
    pulse.begin(begin + 14)
    pulse = Pulse(beat, 3.0)
    pulse.begin(begin + 17)
    assert pulse.silent_s(begin + 17) == 2 + 3
    pulse.beat(begin + 18)
    assert is_alive(beat, 60, begin + 18)
    # Killed between two.
    pulse = Pulse(beat, 3.0)
    assert pulse.silent_s(begin + 24) == 5 + 6
    pulse.rest(begin + 24)
    assert not is_alive(beat, 60, begin + 24)
    # Who gets no answer is not silent, and not alive.
    pulse = Pulse(tmp_path / "other", 3.0)
    pulse.beat(begin)
    for after in (2, 8, 14):
        pulse.begin(begin + after)
        pulse.no_answer(begin + after + 5)
    assert Pulse(tmp_path / "other", 3.0).silent_s(begin + 21) == 0
    assert not is_alive(tmp_path / "other", 5, begin + 21)
    # Resting is no silence; and of the hour half a second of the first silence is past.
    assert Pulse(beat, 3.0).silent_s(begin + 3612.5) == 5 - 0.5 + 6
    pulse = Pulse(beat, 3.0)
    pulse.beat(begin + 3700)
    assert Pulse(beat, 3.0).silent_s(begin + 3700) == 0
    assert beat.read_text() == f"{int(begin + 3700)}\nended {begin + 3700:.3f}\n"
    for text in ("x\nended y\n\nsilent 1\n", "\xff", ""):
        beat.write_bytes(text.encode("latin-1"))
        assert Pulse(beat, 3.0).silent_s(begin) == 0

    run = Run(slurm)
    slurm.job("1", 4)
    slurm.job("2", 4)
    run.placer.rests = "nobody looked"
    assert run.cycle() == [may_begin(1), may_begin(2)]
    assert {run.state(job) for job in "12"} == {states.LEFT}
    assert "job 1 is left to Slurm: nobody looked" in run.said
    run.placer.rests = ""
    slurm.job("3", 4)
    for job in "12":
        slurm.rows[job]["S"] = "N/A"
    assert list(pinned(run.cycle())) == ["3"]


def test_nothing_is_asked_of_slurm_beyond_what_it_needs(slurm: FakeSlurm, tmp_path: Path) -> None:
    """1,024 nodes, 1,000 jobs: one squeue and one sinfo a cycle, an update and a release a job."""
    (tmp_path / "large").mkdir()
    large = FakeSlurm(tmp_path / "large", 32, 32)
    os.environ["PATH"] = f"{tmp_path / 'large' / 'bin'}:{os.environ['PATH']}"
    run = Run(large, Rules(most_a_cycle=10_000))
    for job in range(1, 1001):
        large.job(str(job), 1 + job % 3)
    asked = run.cycle()
    decided = pinned(asked)
    assert sum(map(len, decided.values())) == 1024
    assert len(asked) == 2 * len(decided)
    # Three for the machine; four beside each other pin, then four release.
    assert sorted(large.calls()) == ["scontrol"] * 11 + ["sinfo"] + ["squeue"] * 2
    for job, nodes in decided.items():
        large.answer(job, nodes)
    assert run.cycle() == []
    assert sorted(large.calls()) == ["sinfo", "squeue"]
    waits = run.journal.waits()
    assert len(waits) == 1000 - len(decided)
    assert all("the most that are idle in one are 0" in wait.reason for wait in waits)


@pytest.mark.parametrize("done", ["nothing", "update", "release"])
def test_killed_while_slurm_is_asked(slurm: FakeSlurm, done: str) -> None:
    """After a decision was written, and before, amid or after its commands."""
    run = Run(slurm)
    slurm.job("1", 2)
    run.cycle()
    if done == "update":
        slurm.rows["1"]["n"] = "n0,n1"
    elif done == "release":
        slurm.answer("1", ["n0", "n1"])
    run.journal.close()
    run.restart()
    asked = run.cycle()
    if done == "release":
        assert asked == [] and run.state("1") == "running"
    else:
        assert pinned(asked) == {"1": ["n0", "n1"]} and may_begin(1) in asked
        assert [one.state for one in run.journal.decisions()] == ["withdrawn", "decided"]


def test_a_lost_journal_is_no_loss_to_jobs(slurm: FakeSlurm) -> None:
    run = Run(slurm)
    for job, count in (("1", 6), ("2", 6), ("3", 6)):
        slurm.job(job, count)
    nodes = pinned(run.cycle())
    assert set(nodes) == {"1", "2"}
    slurm.answer("1", nodes["1"])
    slurm.answer("2", nodes["2"], "PENDING")
    run.journal.close()
    (slurm.directory / "journal").write_bytes(b"x" * 5000)
    for ending in ("-wal", "-shm"):
        (slurm.directory / f"journal{ending}").unlink(missing_ok=True)
    run.restart()
    # The groups of both are still theirs.
    assert run.cycle() == []
    assert "put aside" in run.said[0]
    assert [wait.job for wait in run.journal.waits()] == ["3"]


def test_nodes_that_fail_before_the_job_began(slurm: FakeSlurm) -> None:
    run = Run(slurm)
    slurm.job("1", 2)
    nodes = pinned(run.cycle())["1"]
    slurm.answer("1", nodes, "PENDING")
    run.cycle()
    slurm.states["n1"] = "drained"
    asked = run.cycle()
    assert asked == [wait(1)]
    again = {"S": str(UNTIL_PLACED_S), "n": "", "r": "None"}
    slurm.rows["1"] |= again
    assert pinned(run.cycle()) == {"1": ["n0", "n2"]}
    # Time and again: after three times it is Slurm's.
    for _ in range(3):
        slurm.answer("1", ["n0", "n2"], "PENDING")
        asked = run.cycle(after_s=30)
        slurm.rows["1"] |= again if asked == [wait(1)] else {}
        run.cycle()
    slurm.answer("1", ["n0", "n2"], "PENDING")
    run.cycle(after_s=30)
    assert run.state("1") in ("left", "released")


def test_the_journal_tells_of_nodes_that_could_not_be_given(slurm: FakeSlurm) -> None:
    """Nodes that do not answer, and nodes that somebody unknown has, whenever somebody waits."""
    run = Run(slurm)
    slurm.job("1", 16)
    slurm.states |= {"n3": "idle*", "n5": "allocated"}
    run.cycle()
    slurm.states |= {"n3": "idle"}
    run.cycle()
    run.cycle()
    seen = [(kind, name) for _, kind, name, _, _ in run.journal.events()]
    assert seen == [
        ("came", "1"),
        ("withheld", "n3"),
        ("withheld", "n5"),
        ("given back", "n3"),
    ]


def test_what_slurm_refuses_waits_on(slurm: FakeSlurm) -> None:
    run = Run(slurm)
    slurm.job("1", 2)
    (slurm.directory / "refused").write_text("Invalid node name specified for job 1\n")
    for _ in range(4):
        asked = run.cycle()
        assert may_begin(1) not in asked
    asked = run.cycle()
    assert asked == [may_begin(1)]
    assert run.state("1") == "left"


@pytest.mark.parametrize("seen", [False, True])
def test_nodes_that_slurm_cannot_give_are_taken_back(slurm: FakeSlurm, seen: bool) -> None:
    """As `topology/block` of Slurm 24.11 does with nodes of two blocks for a job that fits into
    one: it takes them, takes the release, and holds the job, whether or not we saw it released."""
    run = Run(slurm)
    slurm.job("1", 2)
    nodes = pinned(run.cycle())["1"]
    slurm.answer("1", nodes, "PENDING")
    if seen:
        assert run.cycle() == []
    slurm.rows["1"] |= {"Q": "0", "r": "BadConstraints"}
    assert run.cycle() == ["update jobid=1 ReqNodeList=", "release 1"]
    assert run.state("1") == "left"
    slurm.rows["1"] |= {"Q": "9", "n": "", "r": "None"}
    assert run.cycle() == []
    assert run.state("1") == "released"
    # Nor does it find nodes by itself: it is not asked for ever.
    slurm.rows["1"] |= {"Q": "0", "r": "BadConstraints"}
    assert run.cycle() == []
    # What a job's user asks for, and Slurm therefore holds, is nothing of ours.
    slurm.rows.pop("1")
    slurm.job("2", 2, n="n3")
    assert run.cycle() == [may_begin(2)]
    slurm.rows["2"] |= {"Q": "0", "r": "BadConstraints", "S": "N/A"}
    assert [run.cycle() for _ in range(3)] == [[]] * 3


def test_who_is_left_is_left_by_one_scontrol(slurm: FakeSlurm) -> None:
    run = Run(slurm, Rules(partitions=("other",), most_a_cycle=5))
    for job in range(1, 8):
        slurm.job(str(job), 2)
    slurm.calls()
    assert run.cycle() == [may_begin(job) for job in range(1, 6)]
    # For nodes, partitions and reservations; then for all that may begin.
    assert slurm.calls().count("scontrol") == 4
    for job in range(1, 6):
        slurm.rows[str(job)] |= {"S": "N/A"}
    assert run.cycle() == [may_begin(6), may_begin(7)]


HOLDS = ["JobHeldUser", "JobHeldAdmin"]


@pytest.mark.parametrize("reason", HOLDS)
def test_whom_somebody_holds_waits_and_nothing_is_asked_of_it(
    slurm: FakeSlurm, reason: str
) -> None:
    """Before it is given nodes, whatever its comment says; once released it is placed."""
    run = Run(slurm)
    slurm.job("1", 2, Q="0", r=reason)
    slurm.job("2", 2, Q="0", r=reason, S="N/A")
    for _ in range(3):
        assert run.cycle() == []
    run.placer.rests = "nobody looked"
    assert run.cycle() == []
    run.placer.rests = ""
    slurm.rows["1"] |= {"Q": "9", "r": "None"}
    slurm.rows["2"] |= {"Q": "9", "r": "None"}
    assert set(pinned(run.cycle())) == {"1"}


@pytest.mark.parametrize("reason", HOLDS)
def test_who_holds_a_job_that_has_nodes_is_heard(slurm: FakeSlurm, reason: str) -> None:
    """It stays held, through a restart, and is placed anew once it is released."""
    run = Run(slurm)
    slurm.job("1", 2)
    slurm.answer("1", pinned(run.cycle())["1"], "PENDING")
    run.cycle()
    slurm.rows["1"] |= {"Q": "0", "r": reason}
    for _ in range(3):
        assert run.cycle() == []
    run.journal.close()
    run.restart()
    assert run.cycle() == []
    assert run.state("1") == "held"
    slurm.rows["1"] |= {"Q": "9", "r": "None"}
    assert run.cycle() == [wait(1)]
    slurm.rows["1"] |= {"S": str(UNTIL_PLACED_S), "n": ""}
    assert pinned(run.cycle()) == {"1": ["n0", "n1"]}


@pytest.mark.parametrize("told", [False, True])
def test_a_hold_between_our_commands_stays(slurm: FakeSlurm, told: bool) -> None:
    """Held by somebody after the decision, before or after the job was told that it may begin."""
    run = Run(slurm)
    slurm.job("1", 2)
    run.cycle()
    slurm.rows["1"] |= {"Q": "0", "r": "JobHeldUser", "n": "n0,n1"} | ({"S": "N/A"} if told else {})
    for _ in range(2):
        assert run.cycle() == []
    assert run.state("1") == ("held" if told else "withdrawn")
    # Its nodes are others' meanwhile.
    slurm.job("2", 16)
    assert len(pinned(run.cycle())["2"]) == 16


def test_a_task_that_is_held_within_an_array_is_passed_over(slurm: FakeSlurm) -> None:
    """`squeue` makes one record of waiting tasks, held or not; asked for one, it tells it."""
    run = Run(slurm)
    slurm.job("4_[0-9]", 4)
    decided = pinned(run.cycle())
    assert set(decided) == {"4_0", "4_1", "4_2", "4_3"}
    # Our words did not lift the hold of task 0; the others begin.
    array = dict(slurm.rows.pop("4_[0-9]"))
    slurm.rows["4_[0,4-9]"] = array | {"i": "4_[0,4-9]"}
    for task in ("4_1", "4_2", "4_3"):
        slurm.job(task, 4)
        slurm.answer(task, decided[task])
    rows = slurm.rows
    slurm.job("4_0", 4, Q="0", r="JobHeldUser", S="N/A", n=",".join(decided["4_0"]))
    held = {"4_0": slurm.rows.pop("4_0")}
    slurm.rows = held
    slurm.write()
    (slurm.directory / "ended").write_text((slurm.directory / "queue").read_text())
    slurm.rows = rows
    assert set(pinned(run.cycle())) == {"4_4"}
    assert run.state("4_0") == "held"
    # For a cycle nobody knew; from then on it is asked for by itself.
    slurm.calls()
    run.cycle()
    assert run.state("4_0") == "held"


def test_millions_of_tasks_are_one_record(slurm: FakeSlurm) -> None:
    """Three arrays of 16.7 million tasks: what is looked at follows from the idle nodes."""
    run = Run(slurm, Rules(depth=2))
    for array in (10, 11, 12):
        slurm.job(f"{array}_[0-16777215]", 2)
    begun = time.process_time()
    decided = pinned(run.cycle())
    # 16 nodes, two each.
    assert list(decided) == [f"10_{task}" for task in range(8)]
    for array in (10, 11, 12):
        slurm.rows[f"{array}_[0-16777215]"] |= {"i": f"{array}_[{8 * (array == 10)}-16777215]"}
    for task, nodes in decided.items():
        slurm.job(task, 2)
        slurm.answer(task, nodes)
    for _ in range(10):
        assert run.cycle() == []
    # On a slow machine; expanded they took minutes and gigabytes.
    assert time.process_time() - begun < 5
    kinds = [(kind, job) for _, kind, job, _, _ in run.journal.events()]
    assert kinds == [("came", f"{array}_[0-16777215]") for array in (10, 11, 12)]
    assert [wait.job for wait in run.journal.waits()] == ["10_*", "11_*", "12_*"]
    run.journal.close()
    assert (slurm.directory / "journal").stat().st_size < 100_000
    # Known through a restart, and gone as one.
    run.restart()
    slurm.rows.clear()
    slurm.states = dict.fromkeys(slurm.names, "idle")
    run.cycle()
    kinds = [(kind, job) for _, kind, job, _, _ in run.journal.events()]
    assert kinds[3:] == [("ended", f"{array}_[0-16777215]") for array in (10, 11, 12)]


def test_tasks_beyond_those_that_are_looked_at_delay_nobody_ahead(slurm: FakeSlurm) -> None:
    """What is decided is the same as where every task is a job of its own."""
    decided = []
    for tasks in (["7_[0-49]"], [f"7_{task}" for task in range(50)]):
        slurm.rows.clear()
        (slurm.directory / "journal").unlink(missing_ok=True)
        run = Run(slurm, Rules(depth=1))
        for number, id_ in enumerate(tasks):
            slurm.job(id_, 3, l="60:00", V=str(1_700_000_000 + number))
        slurm.job("8", 1, l="1:00", V="1700000060")
        slurm.job("9", 2, V="1700000061")
        decided.append(pinned(run.cycle()))
        run.journal.close()
    assert decided[0] == decided[1] and len(decided[0]) >= 4


def test_a_bad_record_is_named_once_and_its_job_keeps_its_nodes(slurm: FakeSlurm) -> None:
    run = Run(slurm)
    slurm.job("1", 6)
    slurm.answer("1", pinned(run.cycle())["1"])
    run.cycle()
    slurm.rows["1"] |= {"e": "9" * 30}
    slurm.job("2", 2, l="9" * 30)
    slurm.job("3", 3)
    slurm.states["n15"] = "idle or so"
    asked = run.cycle()
    assert set(pinned(asked)) == {"3"}
    said = [line for line in run.said if "left out" in line]
    assert [line.split(":")[0] for line in said] == [
        "sinfo",
        "job 1 is left out",
        "job 2 is left out",
    ]
    slurm.answer("3", pinned(asked)["3"])
    assert run.cycle() == []
    assert run.state("1") == "running"
    assert [line for line in run.said if "left out" in line] == said


@pytest.mark.parametrize("left", ["", "\x1e1\x1f1\x1f1\x1fRUN"])
def test_an_empty_or_cut_off_queue_frees_nothing(slurm: FakeSlurm, left: str) -> None:
    run = Run(slurm)
    slurm.job("1", 6)
    slurm.job("2", 6)
    slurm.job("3", 9)
    nodes = pinned(run.cycle())
    for job in "12":
        slurm.answer(job, nodes[job])
    run.cycle()
    whole = (slurm.directory / "queue").read_text()
    (slurm.directory / "ended").write_text(whole)
    rows, slurm.rows = slurm.rows, {}
    slurm.write()
    (slurm.directory / "queue").write_text(left)
    run.placer.cycle()
    assert slurm.asked() == []
    assert [run.state(job) for job in "12"] == ["running"] * 2
    # Jobs that Slurm has forgotten are over.
    (slurm.directory / "ended").write_text("")
    slurm.rows = {"3": rows["3"]}
    slurm.states = dict.fromkeys(slurm.names, "idle")
    assert set(pinned(run.cycle())) == {"3"}
    assert [run.state(job) for job in "12"] == ["ended"] * 2


def test_slurm_that_fails_decides_nothing(slurm: FakeSlurm) -> None:
    run = Run(slurm)
    slurm.job("1", 2)
    (slurm.directory / "bin" / "sinfo").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(ClusterError, match="sinfo"):
        run.cycle()
    assert slurm.asked() == [] and run.journal.decisions() == []


def test_arrays_dependencies_and_others(slurm: FakeSlurm) -> None:
    run = Run(slurm)
    slurm.job("4_[0,2-3]", 1)
    slurm.job("5_[0-9%2]", 1)
    slurm.job("6+0", 1)
    slurm.job("7", 2, E="afterok:9(unfulfilled)")
    slurm.job("8", 1, n="n3")
    slurm.job("10", 1, S="N/A")
    asked = run.cycle()
    assert set(pinned(asked)) == {"4_0", "4_2", "4_3"}
    left = [line for line in asked if "_" not in line]
    assert left == [may_begin(5), may_begin(6), may_begin(7), may_begin(8)]


def test_shadow_changes_nothing_and_compares(slurm: FakeSlurm) -> None:
    run = Run(slurm)
    slurm.job("1", 6, S="N/A", r="Priority")
    run.placer.shadow = True
    assert run.cycle() == []
    assert run.state("1") == "shadow"
    slurm.answer("1", ["n0", "n4", "n8", "n9", "n12", "n13"])
    assert run.cycle() == []
    (one,) = run.journal.decisions()
    assert (one.state, one.note) == ("ended", "Slurm: 4 groups, grap: 2")
    assert one.got == ("n0", "n4", "n8", "n9", "n12", "n13")
    assert json.dumps(one.nodes)


def test_a_job_that_does_not_get_done_blocks_nobody_for_ever(slurm: FakeSlurm) -> None:
    """Overdue by two minutes it is expected to take two more: a job of one minute may overtake."""
    run = Run(slurm)
    slurm.job("1", 6)
    slurm.answer("1", pinned(run.cycle())["1"])
    assert run.cycle() == []
    slurm.rows["1"]["T"] = "COMPLETING"
    slurm.job("2", 16)
    slurm.job("3", 1, l="1:00")
    assert set(pinned(run.cycle(after_s=300))) == {"3"}  # Five minutes of ten are left.
    slurm.rows.pop("3")
    slurm.job("4", 1, l="1:00")
    assert run.cycle(after_s=330) == []  # Half a minute overdue.
    assert set(pinned(run.cycle(after_s=90))) == {"4"}


def test_shadow_sees_jobs_that_never_waited(slurm: FakeSlurm) -> None:
    """Slurm starts most jobs as they are submitted, between two looks."""
    run = Run(slurm)
    run.placer.shadow = True
    slurm.job("1", 2, S="N/A")
    slurm.answer("1", ["n0", "n4"])
    assert run.cycle() == [] and run.journal.decisions() == []  # It ran before us.
    slurm.job("2", 3, S="N/A")
    slurm.answer("2", ["n5", "n8", "n12"])
    slurm.rows["2"]["n"] = ""  # Nobody asked for these.
    assert run.cycle() == []
    assert run.cycle() == []
    (one,) = run.journal.decisions()
    assert (one.job, one.state, one.note) == ("2", "ended", "Slurm: 3 groups, grap: 1")
    assert one.nodes == ("n1", "n2", "n3")


def test_planned_nodes_are_left_to_whom_they_are_planned_for(slurm: FakeSlurm) -> None:
    run = Run(slurm)
    slurm.job("1", 3)
    slurm.job("2", 2, S="N/A", r="Resources")
    slurm.states.update(dict.fromkeys(("n0", "n1"), "planned"))
    assert pinned(run.cycle()) == {"1": ["n4", "n5", "n6"]}
    assert states.OPEN[0] == run.state("1")


def test_nobody_waits_for_what_will_not_come(slurm: FakeSlurm) -> None:
    """Jobs of partitions that are not placed, and those that a policy cannot place, are Slurm's."""
    run = Run(slurm, Rules(partitions=("other",)))
    slurm.job("1", 2)
    assert run.cycle() == [may_begin(1)]
    run.journal.close()
    slurm.rows.clear()
    slurm.job("2", 3)
    slurm.states.update(dict.fromkeys(("n0", "n4", "n8", "n12"), "down*"))
    run.rules = Rules(policy="isolated")
    run.restart()
    # No group is whole, so none can be had for oneself; Slurm has twelve nodes.
    assert run.cycle() == [may_begin(2)]
    slurm.rows.clear()
    # More than there are: Slurm could not, either.
    slurm.job("3", 13)
    assert run.cycle() == []


def test_commands_beside_each_other(slurm: FakeSlurm, tmp_path: Path) -> None:
    """The command line: what would be, what was decided, and why who waits."""

    def odonata(*arguments: str) -> str:
        run = subprocess.run(
            [sys.executable, "-c", "import odonata.cli; odonata.cli.main()", "cluster", *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        return run.stdout

    slurm.job("1", 6)
    slurm.job("2", 16)
    slurm.write()
    names = (f"SwitchName=g{i} Nodes=n[{4 * i}-{4 * i + 3}]" for i in range(4))
    (tmp_path / "topology").write_text("\n".join(names))
    topology = ("--topology", "topology")
    reported = odonata("place", "none", *topology, "--dry-run")
    assert reported == "job 1 would get n0,n1,n2,n4,n5,n6, with groups g0, g1 for itself\n"
    assert slurm.asked() == [] and not (tmp_path / "none").exists()
    rest = ("--allow-root", "--cycles", "1", "--heartbeat", "beat", "--metrics", "metrics")
    odonata("place", "journal", *topology, *rest)
    assert set(pinned(slurm.asked())) == {"1"}
    assert is_alive(tmp_path / "beat", 60)
    assert "odonata_place_decided_total 1\n" in (tmp_path / "metrics").read_text()
    reported = odonata("decisions", "journal")
    assert "job 1  decided" in reported and "groups of its own: g0,g1" in reported
    assert "job 2 waits since" in reported and "without another large job" in reported
    content = json.loads(odonata("decisions", "journal", "--json", "--job", "2"))
    assert content["decisions"] == [] and content["waiting"][0]["promised_ms"] > 0
    written = odonata("slurm-files", "files", "--partition", "main").splitlines()
    assert written == ["files/job_submit.lua", "files/leave-waiting-jobs.sh"]
    assert os.access(tmp_path / written[1], os.X_OK)


@contextlib.contextmanager
def placing(slurm: FakeSlurm, *options: str) -> Iterator[subprocess.Popen[str]]:
    """The daemon beside a Slurm that holds still."""
    slurm.write()
    names = (f"SwitchName=g{i} Nodes=n[{4 * i}-{4 * i + 3}]" for i in range(4))
    (slurm.directory / "topology").write_text("\n".join(names))
    command = [sys.executable, "-c", "import odonata.cli; odonata.cli.main()", "cluster", "place"]
    command += ["journal", "--topology", "topology", "--allow-root", "--heartbeat", "beat"]
    with subprocess.Popen(
        [*command, *options], cwd=slurm.directory, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until(done: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not done():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("at", ["squeue", "sinfo", "scontrol", "between"])
def test_a_signal_ends_it_whatever_it_waits_for(
    slurm: FakeSlurm, at: str, number: signal.Signals
) -> None:
    """Where Slurm does not answer for a minute, or between two cycles; nobody waits for it then."""
    beat, waits = slurm.directory / "beat", slurm.directory / "waits"
    beat.write_text("5\n")
    if at != "between":
        script = f"#!/bin/sh\ntouch {waits}\nexec sleep 60\n"
        (slurm.directory / "bin" / at).write_text(script)
    with placing(slurm, "--period", "60 s", "--timeout", "60") as process:
        between = at == "between"
        wait_until(lambda: "ended" in beat.read_text() if between else waits.exists(), process)
        begun = time.monotonic()
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
        # Seconds are those of a loaded machine; it took a minute.
        assert time.monotonic() - begun < 15
        assert process.returncode == 0, said
    assert beat.read_text().splitlines()[0] == "0"


def test_nobody_else_can_hold_the_lock(slurm: FakeSlurm) -> None:
    """Who may open a file, if only to read it, may lock it: no other user may."""
    lock = slurm.directory / ".journal.lock"
    lock.touch(0o644)
    with placing(slurm) as process:
        wait_until((slurm.directory / "journal").exists, process)
        assert lock.stat().st_mode & 0o777 == 0o600
        process.terminate()
        process.communicate()
    # Nor is a link followed, or the lock of another user taken for ours.
    lock.unlink()
    victim = slurm.directory / "victim"
    victim.write_text("theirs")
    victim.chmod(0o644)
    lock.symlink_to(victim)
    with placing(slurm, "--cycles", "1") as process:
        assert "is a link; remove it" in process.communicate()[1]
        assert process.returncode == 4
    assert (victim.read_text(), victim.stat().st_mode & 0o777) == ("theirs", 0o644)
    if os.geteuid() == 0:
        lock.unlink()
        lock.touch(0o666)
        os.chown(lock, 1, 1)
        with placing(slurm, "--cycles", "1") as process:
            assert "belongs to another user" in process.communicate()[1]
