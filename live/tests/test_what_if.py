"""What-if on queues of which every start can be worked out by hand."""

from __future__ import annotations

import json
import lzma
import math
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from command import call
from odonata.batch.network import SharedLinks
from odonata.errors import ClusterError
from odonata.scenario import Scenario
from odonata_live.cluster import model
from odonata_live.cluster.jobs import UNTIL_PLACED_S, Job, read_jobs
from odonata_live.cluster.placing import Rules
from odonata_live.cluster.topologies import read_topology
from odonata_live.cluster.what_if import (
    Predicted,
    RunTimes,
    Snapshot,
    read_last_backfill,
    read_run_times,
    replay_error,
    summary,
    unaccounted,
    under_policy,
    under_slurm,
    why_not,
)

EMULATED = Path(__file__).parents[2] / "crates" / "scheduler" / "tests" / "emulated_slurm"
NOW = 1_700_000_000
CONF = """ClusterName=c
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
NodeName=n[0-7] CPUs=1 State=UNKNOWN
PartitionName=main Nodes=n[0-7] Default=YES MaxTime=INFINITE State=UP OverSubscribe=EXCLUSIVE
"""


def waits(number: int, count: int, minutes: int, **changes: object) -> Job:
    fields = {"partitions": ("main",), "limit_s": 60 * minutes, "submit_s": NOW - 100 + number}
    return Job(str(number), number, "PENDING", count=count, **{**fields, **changes})


def snapshot(*jobs: Job, down: tuple[str, ...] = ()) -> Snapshot:
    """Two groups of four; job 1 has three nodes of the first, ends in 100 s, at most in 200 s."""
    busy = ("n0", "n1", "n2")
    runs = Job(
        *("1", 1, "RUNNING", False, ("main",), 3, None, busy, 300, NOW - 100, NOW + 200),
        submit_s=NOW - 200,
    )
    nodes = {}
    for name in (f"n{i}" for i in range(8)):
        state = "DOWN" if name in down else "ALLOCATED" if name in busy else "IDLE"
        nodes[name] = model.Node(name, state)
    machine = model.Machine(nodes, {"main": model.Partition("main", tuple(nodes), exclusive=True)})
    topology = read_topology("SwitchName=a Nodes=n[0-3]\nSwitchName=b Nodes=n[4-7]\n")
    return Snapshot(NOW, machine, [runs, *jobs], topology)


def starts(predicted: list[Predicted]) -> dict[str, float | None]:
    return {one.job: one.start_s for one in predicted}


RUNS = RunTimes({"1": 200, "2": 50, "3": 30, "4": 20})


def test_grap_waits_for_groups() -> None:
    # Job 2 is large: all of both groups it needs, once job 1 has ended at 100. Job 3 fits into the
    # other group and would be over at its limit, at 120, before job 1 must end, at 200. Job 4 would
    # not, so it waits for job 2.
    look = snapshot(waits(2, 8, 10), waits(3, 4, 2), waits(4, 1, 10))
    found = under_policy(look, Rules(), RUNS, 3600)
    assert starts(found) == {"2": 100, "3": 0, "4": 150}
    assert [one.groups for one in found] == [2, 1, 1]
    assert found[0].wait_s == 100 + 98
    assert found[1].slowdown == pytest.approx((97 + 30) / 30)
    # As far as is looked only.
    assert starts(under_policy(look, Rules(), RUNS, 120))["4"] is None
    # Nobody overtakes.
    assert starts(under_policy(look, Rules(depth=0), RUNS, 3600)) == {"2": 100, "3": 150, "4": 150}


def test_nodes_that_are_down_and_dependencies() -> None:
    look = snapshot(waits(2, 8, 10), waits(3, 4, 2, dependency="afterok:1"), down=("n7",))
    found = starts(under_policy(look, Rules(policy="contiguous"), RUNS, 3600))
    assert found == {"2": None, "3": 100}


def test_jobs_that_do_not_start_say_why() -> None:
    look = snapshot(
        *(waits(2, 8, 10), waits(3, 4, 2, dependency="afterok:2"), waits(5, 8, 10)),
        waits(4, 1, 2, partitions=("other",)),
        waits(6, 1, 2, required=("n7",)),
        down=("n7",),
    )
    never = [replace(one, start_s=None) for one in under_policy(look, Rules(), RUNS, 60)]
    assert why_not(look, never, 60) == [
        (2, "2", "asks for 8 nodes; 7 of its partition main work"),
        (1, "3", "waits for other jobs (afterok:2)"),
        (1, "4", "its partition other is not among those that are known: main"),
        (1, "6", "asks for n7, which is not in its partition main or does not work"),
    ]
    # Job 1 ends at 200 at the latest; until then five nodes are free.
    late = under_policy(snapshot(waits(2, 8, 10)), Rules(), RUNS, 60)
    ((count, first, reason),) = why_not(snapshot(waits(2, 8, 10)), late, 60)
    assert (count, first) == (1, "2") and reason.startswith("not within 60 s")


@pytest.mark.parametrize("policy", ["grap", "contiguous", "spread"])
def test_named_nodes_hold_under_every_policy(policy: str) -> None:
    """Job 1 has n0 to n2 until 100 s, at most until 200 s."""

    def at(*jobs: Job, down: tuple[str, ...] = ()) -> dict[str, float | None]:
        look = snapshot(*jobs, down=down)
        return starts(under_policy(look, Rules(policy=policy), RUNS, 3600))

    across = waits(2, 2, 10, required=("n3", "n4"))
    assert at(across) == {"2": 0}
    assert at(across, down=("n4",)) == {"2": None}
    assert at(replace(across, required=("n3", "x"))) == {"2": None}
    assert at(replace(across, required=("n0",))) == {"2": 100}
    # One more than is named: whichever of the others is free.
    assert at(replace(across, required=("n7",)), down=("n3", "n4", "n5")) == {"2": 0}
    assert at(replace(across, required=("n7",), excluded=("n6",)), down=("n3", "n4", "n5")) == {
        "2": 100
    }
    # n3 is kept for job 2 from 200 s on, when job 1 must have ended: job 3 may not run so long,
    # job 4 may.
    named = waits(2, 2, 10, required=("n0", "n3"))
    out = ("n4", "n5", "n6", "n7")
    assert at(named, waits(3, 1, 10), down=out) == {"2": 100, "3": 100}
    assert at(named, waits(4, 1, 2), down=out) == {"2": 100, "4": 0}
    # Two that name the same node: one after the other.
    same = [waits(number, 1, 1, required=("n5",)) for number in (3, 4)]
    assert at(*same) == {"3": 0, "4": 30}
    # Excluded nodes are not given either, also where fewer are left than are asked for.
    assert at(waits(2, 4, 10, excluded=("n3", "n7"))) == {"2": 100}
    never = snapshot(waits(2, 8, 10, excluded=("n7",)))
    found = under_policy(never, Rules(policy=policy), RUNS, 3600)
    assert why_not(never, found, 3600) == [
        (1, "2", "asks for 8 nodes; 7 of its partition main work without those that it excludes")
    ]


def test_named_nodes_in_groups_of_others_have_no_circuits_of_their_own() -> None:
    """Jobs 2 and 3 have a node in either group, which therefore belong to neither."""
    machine = Scenario.from_dict(RECONFIGURABLE)
    links = replace(always_talk("halves"), machine=machine, switch_delay="2 s")
    look = snapshot(waits(2, 2, 10, required=("n3", "n4")), waits(3, 2, 10, required=("n5", "n0")))
    runs = RunTimes({"1": 200, "2": 300, "3": 30})
    found = under_policy(look, Rules(), runs, 3600, links)
    assert starts(found) == {"2": 0, "3": 100}
    assert all(one.stretch > 1 for one in found)


def test_means_beside_each_other_are_of_the_same_jobs() -> None:
    found = under_policy(snapshot(waits(2, 4, 2), waits(3, 8, 10)), Rules(), RUNS, 60)
    assert starts(found) == {"2": 0, "3": None}
    # Job 2 was submitted 98 s ago.
    assert (summary(found)["mean_wait_s"], summary(found, {"2"})["mean_wait_s"]) == (98, 98)
    none = summary(found, set())
    assert (none["jobs"], none["start"], none["mean_wait_s"]) == (2, 1, None)


#: Two groups of four nodes, joined by one link, which carries as much as a node sends.
MACHINE = {
    "network": {
        "family": "dragonfly",
        "p": 4,
        "a": 1,
        "h": 1,
        "g": 2,
        "links": {
            name: {"bandwidth": "10 GB/s", "latency": "10 ns"}
            for name in ("terminal", "local", "global")
        },
    },
}


def always_talk(traffic: str) -> SharedLinks:
    return SharedLinks(
        mix=f"{traffic}=1",
        communication_share=1.0,
        machine=Scenario.from_dict(MACHINE),
        injection=1.0,
    )


def listing(look: Snapshot) -> str:
    raw = [
        {
            "job_id": job.number,
            "node_count": job.count,
            "cpus": job.count,
            "tasks": job.count,
            "partition": "main",
            "time_limit": (job.limit_s or 0) // 60,
            "user_name": "u",
            "priority": 100 - job.number,
            "job_state": job.state,
            "nodes": ",".join(job.nodes),
        }
        for job in look.jobs
    ]
    return json.dumps({"jobs": raw})


def test_jobs_slow_each_other_down_on_the_network() -> None:
    """Half of each job sends to its other half, all the time, as fast as its nodes can."""
    links = always_talk("halves")
    # Job 2 has a node of either group and the link between them for itself; job 3 has two nodes of
    # one group, and after it, at 30 s, job 4 three of it. Nobody is slower.
    look = snapshot(waits(2, 2, 10), waits(3, 2, 10), waits(4, 3, 10))
    found = under_policy(look, Rules(policy="contiguous"), RUNS, 3600, links)
    assert starts(found) == {"2": 0, "3": 0, "4": 30}
    assert [one.stretch for one in found] == pytest.approx([1, 1, 1])
    # Three jobs of 50, 30 and 20 s with a node in each group: each has a third of the link until
    # the last has done its 20 s after 60 s; two have half of it each until 30 s are done, after
    # 80 s; the first has its last 20 s of work then, and is alone: it ends at 100 s.
    taken = [
        replace(waits(number, 2, 10), state="RUNNING", nodes=nodes, start_s=NOW, end_s=NOW + 600)
        for number, nodes in ((2, ("n0", "n4")), (3, ("n1", "n5")), (4, ("n2", "n6")))
    ]
    busy = Snapshot(NOW, look.machine, [*taken, waits(5, 8, 10)], look.topology)
    runs = RunTimes({**RUNS.known, "5": 10})
    assert starts(under_policy(busy, Rules(policy="contiguous"), runs, 3600)) == {"5": 50}
    found = under_policy(busy, Rules(policy="contiguous"), runs, 3600, links)
    assert found[0].start_s == pytest.approx(100, abs=0.01)
    # Four of eight nodes send to the other four over one link.
    assert found[0].stretch == pytest.approx(4, rel=1e-3)
    assert found[0].run_s == pytest.approx(40, rel=1e-3)
    assert found[0].slowdown == pytest.approx((100 + 95 + 40) / 10, rel=1e-3)
    # So it is under plain Slurm, which tells whole seconds.
    conf = [("slurm.conf", CONF)]
    plain = under_slurm(busy, listing(busy), conf, runs, 3600, NOW - 1, links)
    assert plain[0].start_s == pytest.approx(100, abs=1.6)
    assert plain[0].stretch == pytest.approx(4, rel=1e-3)
    assert plain[0].groups == 2
    # Killed at their limits: job 5 may run a minute.
    short = replace(busy, jobs=[*taken, waits(5, 8, 1)])
    slow = RunTimes({**RUNS.known, "5": 50})
    assert under_policy(short, Rules(policy="contiguous"), slow, 3600, links)[0].run_s == 60


#: Five groups of four nodes. A group has four links to optical switches, which carry as much as a
#: node sends: joined to all others alike, one to each; a job that owns two groups has all four
#: between them.
RECONFIGURABLE = {
    "network": {
        **MACHINE["network"],
        "family": "reconfigurable-dragonfly",
        "p": 1,
        "a": 4,
        "h": 1,
        "g": 5,
        "circuits": "jobs",
    },
}


def test_large_jobs_have_circuits_of_their_own_under_grap() -> None:
    """Four nodes of job 2 send to four of the other group as fast as they can: over four links
    under GRAP, once these are set after two seconds, over one elsewhere."""
    machine = Scenario.from_dict(RECONFIGURABLE)
    links = replace(always_talk("halves"), machine=machine, switch_delay="2 s")
    assert links.sets_circuits_for_jobs() and not always_talk("halves").sets_circuits_for_jobs()
    look = snapshot(waits(2, 8, 10), waits(3, 8, 10))
    found = under_policy(look, Rules(), RUNS, 3600, links)
    # Job 3 finds the circuits as it needs them.
    assert starts(found) == {"2": 100, "3": 152}
    assert [one.run_s for one in found] == pytest.approx([52, 30], rel=1e-3)
    shared = under_policy(look, Rules(policy="contiguous"), RUNS, 3600, links)
    assert [one.run_s for one in shared] == pytest.approx([4 * 50, 4 * 30], rel=1e-3)
    plain = under_slurm(look, listing(look), [("slurm.conf", CONF)], RUNS, 3600, NOW - 1, links)
    assert [one.stretch for one in plain] == pytest.approx([4, 4], rel=1e-2)


def test_who_shares_groups_now_has_no_circuits_of_its_own() -> None:
    """Two jobs of plain Slurm's with a node in either group share the link that joins these until
    both have done their 50 s: then job 4 has the groups, and their circuits, to itself."""
    links = replace(always_talk("halves"), machine=Scenario.from_dict(RECONFIGURABLE))
    look = snapshot()
    taken = [
        replace(waits(number, 2, 10), state="RUNNING", nodes=nodes, start_s=NOW, end_s=NOW + 600)
        for number, nodes in ((2, ("n0", "n4")), (3, ("n1", "n5")))
    ]
    busy = Snapshot(NOW, look.machine, [*taken, waits(4, 8, 10)], look.topology)
    runs = RunTimes({"2": 50, "3": 50, "4": 20})
    (found,) = under_policy(busy, Rules(), runs, 3600, links)
    assert found.start_s == pytest.approx(100, abs=0.01)
    assert found.run_s == pytest.approx(20.1, abs=0.01)
    # Alone in both groups a job has had circuits since it began.
    busy = Snapshot(NOW, look.machine, [taken[0], waits(4, 8, 10)], look.topology)
    assert under_policy(busy, Rules(), runs, 3600, links)[0].start_s == 50
    valiant = {**RECONFIGURABLE["network"], "routing": {"algorithm": "valiant"}}
    detours = replace(links, machine=Scenario.from_dict({"network": valiant}))
    with pytest.raises(ClusterError, match="tago or minimal"):
        under_policy(busy, Rules(), runs, 3600, detours)


def test_networks_that_do_not_fit() -> None:
    look = snapshot(waits(2, 2, 10))
    small = replace(
        always_talk("ring"),
        machine=Scenario.from_dict(
            {"network": {"family": "dragonfly", "p": 1, "a": 2, "h": 1, "g": 3}}
        ),
    )
    with pytest.raises(ClusterError, match="2 groups of up to 4"):
        under_policy(look, Rules(), RUNS, 3600, small)
    with pytest.raises(ClusterError, match="mpi_share"):
        log = replace(always_talk("ring"), communication_share="log")
        under_policy(look, Rules(), RUNS, 3600, log)
    # Two jobs on a node at once: plain Slurm may, a network of flows does not say what they do.
    beside = replace(waits(3, 1, 10), state="RUNNING", nodes=("n0",), start_s=NOW, held=False)
    both = replace(look, jobs=[*look.jobs, beside])
    with pytest.raises(ClusterError, match="job 3 shares a node"):
        under_policy(both, Rules(policy="contiguous"), RUNS, 3600, always_talk("ring"))
    with pytest.raises(ClusterError, match=r"job [13] shares a node"):
        shared = [("slurm.conf", CONF.replace("OverSubscribe=EXCLUSIVE", "OverSubscribe=FORCE:2"))]
        under_slurm(both, listing(both), shared, RUNS, 3600, None, always_talk("ring"))


def test_nobody_waits() -> None:
    look = replace(snapshot(), jobs=[])
    assert under_policy(look, Rules(), RUNS, 3600) == []
    assert under_slurm(look, '{"jobs": []}', [("slurm.conf", CONF)], RUNS, 3600) == []
    assert summary([])["mean_wait_s"] is None


def test_nodes_that_nobody_gets_are_left_out() -> None:
    """Three of eight nodes run job 1 until 100 s, and four are out, one by a job unseen."""
    look = snapshot(waits(2, 2, 10), waits(3, 4, 10))
    nodes = dict(look.machine.nodes)
    free = [name for name in nodes if not any(name in job.nodes for job in look.jobs)]
    for name in free[:3]:
        nodes[name] = replace(nodes[name], flags=frozenset({"DRAIN"}))
    nodes[free[3]] = replace(nodes[free[3]], state="ALLOCATED")
    machine = replace(look.machine, nodes=nodes)
    unknown = unaccounted(machine, look.jobs)
    assert unknown == {free[3]}
    less = replace(look, machine=machine, unaccounted=unknown)
    assert less.out() == set(free[:4])
    for found in (
        starts(under_policy(less, Rules(policy="contiguous"), RUNS, 3600)),
        starts(under_slurm(less, listing(less), [("slurm.conf", CONF)], RUNS, 3600)),
    ):
        # Not before job 1 gives its nodes back, and both then: four are left.
        assert found["2"] == pytest.approx(100, abs=2)
        assert found["3"] == pytest.approx(150, abs=31)


def test_held_jobs_are_not_looked_at_and_too_many_are_refused() -> None:
    ours = waits(3, 1, 1, earliest_s=UNTIL_PLACED_S)
    look = snapshot(waits(2, 1, 1, held=True), ours, replace(ours, id="4", held=True))
    assert list(starts(under_policy(look, Rules(), RUNS, 3600))) == ["3"]
    with pytest.raises(ClusterError, match="found 200001 jobs and tasks"):
        snapshot(replace(ours, id="3_[0-200000]")).waiting()
    with pytest.raises(ClusterError, match="not all told"):
        snapshot(replace(ours, id="3_[0-9,...]")).waiting()


def test_plain_slurm_goes_on_from_the_nodes_that_are_taken() -> None:
    look = snapshot(waits(2, 8, 10), waits(3, 4, 2))
    told_by_slurm = listing(look)
    found = starts(under_slurm(look, told_by_slurm, [("slurm.conf", CONF)], RUNS, 3600))
    assert found["2"] == pytest.approx(100, abs=2)
    # By backfill, in its next pass.
    assert found["3"] is not None and found["3"] <= 31
    # Which comes bf_interval, 30 s, after the last.
    texts = [("slurm.conf", CONF)]
    for ago in (5, 12, 29):
        answer = "Main schedule\nBackfilling stats\n\tLast cycle when: Tue Nov 14 ({})\n"
        last = read_last_backfill(answer.format(NOW - ago))
        assert starts(under_slurm(look, told_by_slurm, texts, RUNS, 3600, last))["3"] == 30 - ago
    with pytest.raises(ClusterError, match="no JSON"):
        under_slurm(look, "x", [("slurm.conf", CONF)], RUNS, 3600)


@dataclass(frozen=True)
class Recorded:
    """A queue of an emulated Slurm 22.05.8 when it was asked about, and what became of it."""

    look: Snapshot
    listing: str
    known: RunTimes
    backfilled_s: int | None
    #: When jobs began, seconds from the question.
    began_s: dict[str, float]

    def foretold(self, draws: int = 1) -> list[Predicted]:
        return under_slurm(
            self.look, self.listing, self._conf(), self.known, 3600, self.backfilled_s, draws=draws
        )

    def error_share(self, found: list[Predicted]) -> float:
        """Mean distance of starts from those foretold, over the mean wait."""
        off = [abs((one.start_s or math.inf) - self.began_s[one.job]) for one in found]
        return sum(off) / sum(self.began_s[one.job] for one in found)

    @staticmethod
    def _conf() -> list[tuple[str, str]]:
        return [(file, (EMULATED / file).read_text()) for file in ("tree.conf", "topology.conf")]


def recorded(name: str) -> Recorded:
    kind = "asked" if name.startswith("tree") else "json"
    asked = json.loads(lzma.decompress((EMULATED / f"{name}.{kind}.xz").read_bytes()))
    answer, now_s = json.dumps(asked["squeue"]), asked["asked_s"]
    names = [f"n{i}" for i in range(32)]
    machine = model.Machine(
        {node: model.Node(node, "IDLE") for node in names},
        {"main": model.Partition("main", tuple(names), exclusive=True)},
    )
    topology = read_topology((EMULATED / "topology.conf").read_text())
    look = Snapshot(now_s, machine, read_jobs(answer)[0], topology)
    if kind == "asked":
        packed = lzma.decompress((EMULATED / f"{name}.passes.xz").read_bytes()).decode()
        passes = [line.split() for line in packed.splitlines()]
        began = {words[2]: int(words[0]) / 1000 - now_s for words in passes if words[1] == "S"}
        last = read_last_backfill(asked["sdiag"])
    else:
        # Whole seconds, as Slurm lists them.
        began = {job: max(0.0, at - now_s) for job, at in asked["began_s"].items()}
        last = asked["backfilled_s"]
    return Recorded(look, answer, RunTimes(asked["run_s"]), last, began)


#: Queues, and the mean error that their starts may have, over the mean wait. Where backfill's
#: moment in its second is the middle, as is guessed, they begin as foretold but for the seconds
#: that Slurm tells. Those above 0.05 are of queues in which it began within 0.3 s of a job's end:
#: one pass sees it and the other does not, another job overtakes, and starts differ from there.
RECORDED = {
    "tree1": 0.2,
    "tree2": 0.1,
    "queue3": 0.2,
    "queue4": 0.01,
    "queue5": 0.1,
    "queue6": 0.01,
}


@pytest.mark.parametrize(("name", "share"), RECORDED.items())
def test_recorded_queues_are_foretold(name: str, share: float) -> None:
    """Every pass of the first two is simulated as Slurm's was
    (crates/scheduler/src/slurm/simulate/tests.rs)."""
    queue = recorded(name)
    found = queue.foretold()
    assert len(found) > 20
    assert queue.error_share(found) <= share
    assert queue.error_share(queue.foretold(draws=21)) <= share


def test_eight_in_ten_jobs_begin_within_what_is_drawn() -> None:
    """Over all recorded queues: in one of them what happened may be among the two in ten.

    A second more to either side, as starts are told in whole ones.
    """
    within = []
    for name in RECORDED:
        drawn = (queue := recorded(name)).foretold(draws=21)
        within += [
            one.early_s is not None
            and one.late_s is not None
            and one.early_s <= (one.start_s or 0.0) <= one.late_s
            and one.early_s - 1 <= queue.began_s[one.job] <= one.late_s + 1
            for one in drawn
        ]
    assert sum(within) >= 0.8 * len(within)
    # The same draws in every call.
    assert drawn == queue.foretold(draws=21)


def test_a_log_is_replayed_against_itself(tmp_path: Path) -> None:
    """200 jobs of an emulated Slurm; its mean wait, 17.3 s, and the simulation's, 18.2 s, are those
    of docs/scheduling.md."""
    log, conf = EMULATED / "seed2.json.xz", EMULATED / "slurm.conf"
    command = ("cluster", "what-if", "--log", log, "--conf", conf)
    answer = call(*command, "--json", directory=tmp_path)
    assert answer.returncode == 0, answer.stderr
    error = json.loads(answer.stdout)["error"]
    assert error["jobs"] == 200
    assert error["mean_wait_s"] == pytest.approx(17.295)
    assert error["mean_simulated_wait_s"] == pytest.approx(17.295, rel=0.1)
    assert error["median_error_s"] <= 1
    shown = call(*command, directory=tmp_path)
    assert "200 jobs: starts are off by" in shown.stdout and "17.3 s as recorded" in shown.stdout
    missing = call(*command[:4], directory=tmp_path)
    assert missing.returncode != 0 and "--conf" in missing.stderr


def test_figures() -> None:
    some = [Predicted("1", 2, 10, 0, 100, 1), Predicted("2", 2, 0, 30, 10, 3)]
    answer = summary([*some, Predicted("3", 9, 0, None, 1)])
    assert (answer["jobs"], answer["start"], answer["mean_wait_s"], answer["mean_groups"]) == (
        3,
        2,
        20,
        2,
    )
    assert answer["mean_slowdown"] == pytest.approx((1.1 + 4) / 2)
    error = replay_error([10.0, 20.0], [10.5, 30.0], [0.0, 0.0])
    assert (error["jobs"], error["mean_error_s"], error["share_within_10_percent"]) == (
        2,
        5.25,
        0.5,
    )
    assert replay_error([], [], [])["jobs"] == 0


def test_run_times() -> None:
    assert read_run_times("job,seconds\n1,2.5\n7_3,4\n", "x") == {"1": 2.5, "7_3": 4.0}
    assert RunTimes({"1": 5}, 0.5).of("2", 100) == 50
    with pytest.raises(ClusterError, match="line 2"):
        read_run_times("1,2\n3,soon\n", "x")
