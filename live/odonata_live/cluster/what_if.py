"""What becomes of the jobs that wait now: under plain Slurm, under GRAP, under other policies.

Plain Slurm is the scheduler's model of it (``docs/scheduling.md``), given Slurm's own configuration
and jobs; the other policies are the passes of :mod:`odonata_live.cluster.placing` on the cluster's
real groups, from the nodes that are taken now. Nothing comes in that is not there yet. How long
jobs run is given, or follows from what they do to each other on a network
(:mod:`odonata_live.cluster.running`).
"""

from __future__ import annotations

import json
import math
import re
import tempfile
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from statistics import fmean, median
from typing import Any

from odonata import display
from odonata._engine import ClusterPlacement
from odonata.batch.network import SharedLinks
from odonata.bounded import csv_rows
from odonata.errors import ClusterError
from odonata.numbers import finite
from odonata.output import write_file
from odonata_live.cluster import constraints
from odonata_live.cluster.jobs import Job, read_jobs
from odonata_live.cluster.model import (
    Machine,
    Node,
    Partition,
    Reservation,
    number,
    read_node_list,
    read_partitions,
)
from odonata_live.cluster.nodes import Topology
from odonata_live.cluster.placing import Rules, Wiring
from odonata_live.cluster.queue import hosts
from odonata_live.cluster.running import ClusterNetwork, Placed, RunningJobs, follow
from odonata_live.cluster.topologies import read_topology

#: Least run time in bounded slowdowns, seconds.
TAU_S = 10.0
#: Slurm tells the second in which a job starts, so that its nodes may be taken a little longer.
_ROUNDING_MS = 1500
#: How much longer than their commands jobs keep their nodes, drawn for each: what was measured of
#: Slurm 22.05 (docs/cluster-placement.md).
_LONGER_MS = (100, 300)
#: Jobs and tasks whose starts are predicted at once: one takes about a kilobyte.
_MOST_WAITING = 200_000
#: How long a job is believed to run, from its time limit, by default.
WHOLE_LIMIT = 1.0


@dataclass(frozen=True)
class Predicted:
    """A job that waits now, as it is expected to go on.

    Attributes:
        job: Its id.
        nodes: Nodes that it asks for.
        waited_s: How long it has waited already.
        start_s: When it starts, seconds from now; `None`: not within the time that was simulated.
        run_s: How long it is believed to run.
        groups: Groups that it sits in; 0 where that is not known.
        stretch: How many times as long it runs as on a network that is never full.
        early_s: With draws, in one of ten it starts before this, seconds from now; `None` with
            `start_s`, or without draws.
        late_s: In one of ten it starts after this; `None`: not within the time that was simulated.
    """

    job: str
    nodes: int
    waited_s: float
    start_s: float | None
    run_s: float
    groups: int = 0
    stretch: float = 1.0
    early_s: float | None = None
    late_s: float | None = None

    @property
    def wait_s(self) -> float | None:
        """From submission to start."""
        return None if self.start_s is None else self.waited_s + self.start_s

    @property
    def slowdown(self) -> float | None:
        """Bounded slowdown: (wait + run) / max(r, τ), at least 1; r on a network never full."""
        if self.wait_s is None:
            return None
        return max(1.0, (self.wait_s + self.run_s) / max(self.run_s / self.stretch, TAU_S))


@dataclass(frozen=True)
class RunTimes:
    """How long jobs run.

    Attributes:
        known: By id, seconds.
        share: Of the time limit, for all others.
    """

    known: Mapping[str, float]
    share: float = WHOLE_LIMIT

    def of(self, id_: str, limit_s: int) -> float:
        """The run time of a job."""
        return max(1.0, self.known.get(id_, self.share * limit_s))


def read_run_times(text: str, source: str) -> dict[str, float]:
    """Run times by job, from lines ``JOB,SECONDS``; a header may stand first.

    Raises:
        ClusterError: If a line is none.
    """
    found: dict[str, float] = {}
    for line, row in csv_rows(text, source, ClusterError):
        try:
            found[row[0].strip()] = finite(row[1])
        except (ValueError, IndexError):
            if line > 1:
                raise ClusterError(
                    f"{source}: line {line}: found {','.join(row)[:60]!r}; allowed: JOB,SECONDS"
                ) from None
    return found


@dataclass(frozen=True)
class Snapshot:
    """A cluster at one moment.

    Attributes:
        now_s: When, Unix seconds.
        machine: Nodes, partitions, reservations.
        jobs: All jobs.
        topology: Which node is attached to which router.
        unaccounted: Nodes that are busy with none of the jobs, see :func:`unaccounted`, or that no
            job is to get.
    """

    now_s: float
    machine: Machine
    jobs: Sequence[Job]
    topology: Topology
    unaccounted: frozenset[str] = frozenset()

    def waiting(self) -> list[tuple[str, Job]]:
        """Jobs and tasks that wait, in order of submission, but for those that somebody holds.

        Raises:
            ClusterError: If they are too many, or the tasks of an array are not all told.
        """
        ours = [job for job in self.jobs if job.waits and not job.held]
        if (count := sum(job.count_tasks() for job in ours)) > _MOST_WAITING:
            raise ClusterError(
                f"squeue: found {count} jobs and tasks that wait; allowed: {_MOST_WAITING}, as the "
                "start of each is predicted"
            )
        ours.sort(key=lambda job: (job.submit_s, job.number, job.id))
        return [(id_, job) for job in ours for id_ in job.tasks()]

    def held(self) -> list[Job]:
        """Jobs that would wait if nobody held them: their starts are not predicted."""
        return [job for job in self.jobs if job.waits and job.held]

    def partition(self, job: Job) -> Partition | None:
        """A job's partition; one of all nodes where no partition is known."""
        name = job.partitions[0] if job.partitions else ""
        if not self.machine.partitions:
            return Partition(name, tuple(self.machine.nodes))
        return self.machine.partitions.get(name)

    def out(self) -> frozenset[str]:
        """Nodes that no job gets: down, drained, or busy with jobs that are not known."""
        broken = {name for name, node in self.machine.nodes.items() if not node.works}
        return self.unaccounted | broken

    def without(
        self, nodes: frozenset[str], begin_s: float | None = None, end_s: float | None = None
    ) -> Snapshot:
        """The same, with nodes that no job gets any more; those that run there go on.

        Args:
            nodes: Their names.
            begin_s: From when on, Unix seconds: jobs start there whose time limits end before.
                `None`: from now on, for ever.
            end_s: Until when; `None`: for ever.
        """
        if begin_s is None:
            return replace(self, unaccounted=self.unaccounted | nodes)
        until = self.now_s + constraints.FOREVER_S if end_s is None else end_s
        kept = Reservation("without", int(begin_s), int(until), tuple(sorted(nodes)))
        there = sorted((*self.machine.reservations, kept), key=lambda one: one.start_s)
        return replace(self, machine=replace(self.machine, reservations=there))

    def named(self, what: str) -> frozenset[str]:
        """The nodes of a list, or all below a switch of the topology.

        Raises:
            ClusterError: If it names neither.
        """
        islands = self.topology.island_of_node()
        leaves = self.topology.leaf_of_node
        below = {node for node in islands if what in (islands[node], leaves[node])}
        if below:
            return frozenset(below)
        names = frozenset(hosts(what, "--without"))
        if strangers := sorted(names - self.machine.nodes.keys()):
            switches = sorted({*islands.values(), *leaves.values()})
            shown = ", ".join(switches[:8]) + (", …" if len(switches) > 8 else "")
            raise ClusterError(
                f"--without: found {strangers[0]!r}; allowed: nodes of the cluster such as n[0-3], "
                f"or a switch that nodes are attached to, or an island: {shown}; with --machine "
                "also a switch of its network that no node needs, such as a spine"
            )
        return names

    def ends_s(
        self, nodes: frozenset[str], run_times: RunTimes, *, apart: bool = False
    ) -> dict[str, float]:
        """When the jobs that run on nodes end, seconds from now, by id.

        Args:
            nodes: Any of these.
            run_times: How long jobs run.
            apart: Only those whose nodes are attached to several switches.
        """
        ends = {}
        leaf_of = self.topology.leaf_of_node
        for job in self.jobs:
            if apart and len({leaf_of.get(node) for node in job.nodes}) < 2:
                continue
            if job.holds_nodes and nodes.intersection(job.nodes):
                began_s = self.now_s if job.start_s is None else job.start_s
                end_s = began_s + run_times.of(job.id, self.limit_s(job))
                ends[job.id] = max(0.0, end_s - self.now_s)
        return ends

    def limit_s(self, job: Job) -> int:
        """The time limit of a job, or its partition's."""
        partition = self.partition(job)
        if partition is None:
            return job.limit_s or constraints.FOREVER_S
        return constraints.limit_s(job, partition)


def read_snapshot(
    queue: tuple[str, str],
    nodes: tuple[str, str],
    configuration: Sequence[tuple[str, str]],
    topology: Topology | None,
) -> tuple[float, Machine, list[Job], Topology]:
    """A cluster at one moment, from what Slurm's commands printed then.

    Args:
        queue: Name and text of what ``squeue`` printed.
        nodes: Of what ``scontrol show nodes`` or ``sinfo`` printed.
        configuration: Of slurm.conf, topology.conf or listings of ``scontrol``: for partitions,
            which else are those that nodes name, and for the topology if it is not given.
        topology: Which node is attached to which router.

    Returns:
        The moment, Unix seconds (when the controller answered, where the queue tells it, else its
        latest submission or start), machine, jobs, topology.

    Raises:
        ClusterError: If something is missing or cannot be read, or they are of two clusters.
    """
    jobs, _ = read_jobs(queue[1], queue[0])
    if poor := next((job for job in jobs if job.holds_nodes and job.start_s is None), None):
        raise ClusterError(
            f"{queue[0]}: does not tell when job {poor.id} began, nor limits; allowed here: what "
            "`squeue --json` printed"
        )
    partitions: dict[str, Partition] = {}
    for name, text in configuration:
        if re.search(r"(?m)^\s*PartitionName=", text):
            partitions |= read_partitions(text, name)
        if topology is None and re.search(r"(?mi)^(SwitchName|BlockName)=", text):
            topology = read_topology(text, name)
    if topology is None:
        raise ClusterError("no topology: give --topology FILE, or topology.conf with --conf")
    known = read_node_list(nodes[1], nodes[0])
    if topology.leaf_of_node.keys().isdisjoint(known):
        raise ClusterError(
            f"{nodes[0]}: does not fit the topology, none of whose nodes, such as "
            f"{min(topology.leaf_of_node)}, it names; found {min(known)} and others; allowed: "
            "files of one cluster"
        )
    machine = Machine(known, partitions or _partitions_of(known))
    return _moment(queue[1], jobs), machine, jobs, topology


def _partitions_of(nodes: Mapping[str, Node]) -> dict[str, Partition]:
    """The partitions that nodes name, whose limits nobody tells."""
    of: dict[str, list[str]] = {}
    for name, node in nodes.items():
        for partition in node.partitions:
            of.setdefault(partition, []).append(name)
    return {name: Partition(name, tuple(members)) for name, members in of.items()}


def _moment(queue: str, jobs: Sequence[Job]) -> float:
    """When a queue was printed, as far as it tells."""
    latest = max((max(job.submit_s, job.start_s or 0) for job in jobs), default=0)
    if queue.lstrip("\ufeff \t\r\n").startswith("{"):
        told = number(json.loads(queue.lstrip("\ufeff")).get("last_update"))
        latest = max(latest, told or 0)
    return float(latest)


def unaccounted(machine: Machine, jobs: Sequence[Job]) -> frozenset[str]:
    """Nodes that are busy with none of the jobs, as where Slurm shows nobody others' jobs.

    One look may be between a job's start and its node's change; who asks twice and takes the nodes
    of both looks has those that stay so.
    """
    held = {name for job in jobs if job.holds_nodes for name in job.nodes}
    return frozenset(
        name
        for name, node in machine.nodes.items()
        if node.state in ("ALLOCATED", "MIXED")
        and name not in held
        and "COMPLETING" not in node.flags
    )


def under_policy(
    snapshot: Snapshot,
    rules: Rules,
    run_times: RunTimes,
    horizon_s: float,
    links: SharedLinks | None = None,
) -> list[Predicted]:
    """The jobs that wait now under a policy of ours, from the nodes that are taken now.

    Times are in milliseconds from now.

    Args:
        snapshot: The cluster.
        rules: How to place.
        run_times: How long jobs run, with `links` on a network that is never full.
        horizon_s: How far to look.
        links: The network that jobs share; by default they do nothing to each other.

    Raises:
        ClusterError: If the network is none of flows, or its machine has no room for the cluster.
    """
    return _Twin(snapshot, rules, run_times, links).run(horizon_s)


def _sizes(snapshot: Snapshot) -> dict[str, int]:
    """Nodes of all jobs that run or wait, the same ones in the same order for every policy."""
    running = {job.id: job.count for job in snapshot.jobs if job.holds_nodes}
    return {**running, **{id_: job.count for id_, job in snapshot.waiting()}}


class _Twin:
    def __init__(
        self, snapshot: Snapshot, rules: Rules, run_times: RunTimes, links: SharedLinks | None
    ) -> None:
        self.snapshot, self.rules, self.run_times = snapshot, rules, run_times
        self.wiring = Wiring(snapshot.topology, rules.level)
        self.engine = ClusterPlacement(
            self.wiring.router_of_node,
            self.wiring.group_of_router,
            rules.policy,
            rules.mode,
            rules.seed,
        )
        out = snapshot.out()
        numbers = self.wiring.numbers
        self.out = [
            number_
            for name, number_ in numbers.items()
            if name not in snapshot.machine.nodes or name in out
        ]
        network = None
        if links is not None:
            # GRAP gives large jobs groups of their own, others do not.
            owned = rules.policy == "grap"
            network = ClusterNetwork(links, self.wiring, _sizes(snapshot), owned=owned)
        self.work = RunningJobs(network)
        #: For each running job: when it is expected to end, its nodes.
        self.running: dict[str, tuple[int, list[int]]] = {}
        sharing = self._sharing()
        for job in snapshot.jobs:
            if job.holds_nodes and job.start_s is not None:
                limit = snapshot.limit_s(job)
                passed = snapshot.now_s - job.start_s
                left = max(1.0, run_times.of(job.id, limit) - passed)
                nodes = [numbers[name] for name in job.nodes if name in numbers]
                end = max(1000, int(1000 * (limit - passed)))
                self.running[job.id] = (end, nodes)
                shares = job.id in sharing
                self.work.begin(job.id, int(1000 * left), end, nodes, shares=shares, runs=True)
        self.allowed: dict[str, frozenset[int]] = {}
        self.withheld = [
            (
                int(1000 * (one.start_s - snapshot.now_s)),
                int(1000 * (one.end_s - snapshot.now_s)),
                [numbers[name] for name in one.nodes if name in numbers],
            )
            for one in snapshot.machine.reservations
        ]

    def _sharing(self) -> set[str]:
        """Running jobs of several groups that have one of them with another such job.

        Their placement did not give them groups of their own.
        """
        large: dict[str, list[str]] = {}
        of = self.wiring.group_of_node
        for job in self.snapshot.jobs:
            groups = {of[name] for name in job.nodes if name in of} if job.holds_nodes else set()
            for group in groups if len(groups) > 1 else ():
                large.setdefault(group, []).append(job.id)
        return {id_ for jobs in large.values() if len(jobs) > 1 for id_ in jobs}

    def run(self, horizon_s: float) -> list[Predicted]:
        waiting = self.snapshot.waiting()
        started: dict[str, tuple[int, int]] = {}
        queue = list(waiting)
        now, horizon = 0, int(1000 * horizon_s)
        # Only a network makes it matter what becomes of jobs once they have all begun.
        while (queue or (self.work.network and self.running)) and now <= horizon:
            # Ends of an array's tasks are not distinguished from their array's.
            there = {*self.running, *(id_ for id_, _ in queue)}
            ready = [(id_, job) for id_, job in queue if not self._depends(job, there)]
            for id_, job, nodes in self._starts(ready, now):
                limit = 1000 * self.snapshot.limit_s(job)
                run = int(1000 * self.run_times.of(id_, limit // 1000))
                self.running[id_] = (now + limit, nodes)
                shares = bool(job.required) and self._meets(id_)
                self.work.begin(id_, run, now + limit, nodes, shares=shares)
                started[id_] = (now, self._groups(nodes))
            queue = [(id_, job) for id_, job in queue if id_ not in started]
            events = [end for end in self.work.ends().values() if end > now]
            events += [
                edge for start, end, _ in self.withheld for edge in (start, end) if edge > now
            ]
            if not events:
                break
            now = min(events)
            for id_ in self.work.pass_to(now):
                del self.running[id_]
        return [self._predicted(id_, job, started.get(id_)) for id_, job in waiting]

    def _predicted(self, id_: str, job: Job, start: tuple[int, int] | None) -> Predicted:
        run = self.run_times.of(id_, self.snapshot.limit_s(job))
        stretch = self.work.stretch(id_)
        return Predicted(
            id_,
            job.count,
            max(0.0, self.snapshot.now_s - job.submit_s),
            None if start is None else start[0] / 1000,
            run * stretch,
            0 if start is None else start[1],
            stretch,
        )

    @staticmethod
    def _depends(job: Job, there: set[str]) -> bool:
        ids = {word for part in job.dependency.split(",") for word in part.split(":")[1:]}
        return any(id_.split("(")[0].split("_")[0] in there for id_ in ids)

    def _starts(
        self, ready: Sequence[tuple[str, Job]], now: int
    ) -> list[tuple[str, Job, list[int]]]:
        starts, kept = self._starts_by_name(ready, now)
        ready = [one for one in ready if not one[1].required]
        sets: dict[frozenset[int], int] = {}
        queue: list[tuple[int, int, int | None, int]] = []
        for _, job in ready:
            allowed = self._may_have(job)
            limit = 1000 * self.snapshot.limit_s(job)
            queue.append((job.count, limit, sets.setdefault(allowed, len(sets)), job.number))
        given, _ = self.engine.decide(
            now=now,
            out=self.out,
            holders=[
                *((end, nodes) for end, nodes in self.running.values() if nodes),
                *((now + 1000 * self.snapshot.limit_s(job), nodes) for _, job, nodes in starts),
            ],
            queue=queue,
            sets=[sorted(allowed) for allowed in sets],
            withheld=[*self.withheld, *kept],
            depth=self.rules.depth,
        )
        return [*starts, *((*ready[index], nodes) for index, nodes, _, _ in given)]

    def _starts_by_name(
        self, ready: Sequence[tuple[str, Job]], now: int
    ) -> tuple[list[tuple[str, Job, list[int]]], list[tuple[int, int, list[int]]]]:
        """Jobs whose users name nodes, which placement leaves to Slurm: once these are free.

        Until then, they are kept from others, from when the jobs there must have ended.
        """
        starts: list[tuple[str, Job, list[int]]] = []
        kept: list[tuple[int, int, list[int]]] = []
        if not any(job.required for _, job in ready):
            return starts, kept
        free_at: dict[int, int] = {}
        taken: dict[int, list[tuple[int, int]]] = {}
        for end, nodes in self.running.values():
            # Who runs beyond its limit has its nodes still.
            free_at.update({node: max(end, now + 1, free_at.get(node, now)) for node in nodes})
        for begin, end, nodes in sorted(self.withheld):
            for node in nodes:
                taken.setdefault(node, []).append((begin, end))

        def free_from(node: int, at: int, length: int) -> int:
            at = max(at, free_at.get(node, now))
            for begin, end in taken.get(node, ()):
                at = end if begin < at + length and at < end else at
            return at

        for id_, job in ready:
            allowed = self._may_have(job).difference(self.out)
            named = {self.wiring.numbers.get(name, -1) for name in job.required}
            more = job.count - len(named)
            if not job.required or not named <= allowed or len(allowed) < job.count:
                continue
            length, at, then = 1000 * self.snapshot.limit_s(job), now - 1, now
            while then != at:
                at = then
                free = {n: free_from(n, at, length) for n in (allowed if more > 0 else named)}
                others = sorted(free.keys() - named, key=lambda n: (free[n], n))
                nodes = sorted([*named, *others[: max(0, more)]])
                then = max(free[node] for node in nodes)
            if at == now:
                starts.append((id_, job, nodes))
            else:
                kept.append((at, at + length, nodes))
            for node in nodes:
                taken[node] = sorted([*taken.get(node, ()), (at, at + length)])
        return starts, kept

    def _meets(self, job: str) -> bool:
        """Whether a running job of several groups has one of them with another such job."""
        groups = {
            id_: {self.wiring.group_of_router[self.wiring.router_of_node[n]] for n in nodes}
            for id_, (_, nodes) in self.running.items()
        }
        mine = groups.pop(job)
        return len(mine) > 1 and any(len(one) > 1 and mine & one for one in groups.values())

    def _may_have(self, job: Job) -> frozenset[int]:
        known = self.allowed.get(job.id)
        if known is None:
            partition = self.snapshot.partition(job) or Partition("", ())
            machine, numbers = self.snapshot.machine, self.wiring.numbers
            try:
                known = constraints.may_have(job, partition, machine, numbers)
            except constraints.LeftToSlurm:
                # Features may not be told, or be beyond us.
                job_ = replace(job, features="", count=0)
                known = constraints.may_have(job_, partition, machine, numbers)
            self.allowed[job.id] = known
        return known

    def _groups(self, nodes: Sequence[int]) -> int:
        return len({self.wiring.group_of_router[self.wiring.router_of_node[n]] for n in nodes})


def under_slurm(
    snapshot: Snapshot,
    listing: str,
    configuration: Sequence[tuple[str, str]],
    run_times: RunTimes,
    horizon_s: float,
    backfilled_s: int | None = None,
    links: SharedLinks | None = None,
    level: str = "island",
    draws: int = 1,
) -> list[Predicted]:
    """The jobs that wait now under plain Slurm.

    Which of two jobs overtakes the other may hang on tenths of a second that Slurm does not tell:
    when in its second a job began or backfill looked, and how long nodes are kept after a job's
    end. With `draws` they are drawn as often, and a start is the median of what follows; of an
    odd number of draws one that did follow. Draws are the same for equal queues.

    Starts are those that Slurm would say, which are whole seconds: half a second too early on
    average. With a network the schedule is made again with the run times that its own places give,
    until they are those that it was made with: what Slurm decides depends on earlier ends alone, so
    that every round is right for longer.

    Args:
        snapshot: The cluster.
        listing: ``squeue --json`` or ``scontrol show jobs --json`` of the same moment.
        configuration: slurm.conf and topology.conf, or listings of ``scontrol show config``,
            ``topology``, ``nodes`` and ``partitions``: name and text of each.
        run_times: How long jobs run, with `links` on a network that is never full.
        horizon_s: How far to look.
        backfilled_s: The second in which backfill began its last pass, where known.
        links: The network that jobs share; by default they do nothing to each other.
        level: What a group is: ``island`` or ``leaf``.
        draws: How often to draw; one: nothing is drawn, the middle of what is not known is taken.
            With a network nothing is drawn.

    Raises:
        ClusterError: If the listing is none, jobs share nodes on a network, the network is none of
            flows, or its machine has no room for the cluster.
        JobLogError: If the configuration makes no sense.
    """
    wiring = Wiring(snapshot.topology, level)
    if not snapshot.waiting():
        return []
    drawn: list[_Slurms] = []
    if links is None:
        schedule = _slurms(snapshot, listing, configuration, run_times, backfilled_s)
        stretches: Mapping[str, float] = {}
        if draws > 1:
            drawn = [
                _slurms(snapshot, listing, configuration, run_times, backfilled_s, Random(draw))
                for draw in range(draws)
            ]
    else:
        schedule, stretches = _settled(
            snapshot, listing, configuration, run_times, backfilled_s, links, wiring
        )
    predicted = []
    for id_, job in snapshot.waiting():
        begins, nodes = schedule.get(id_, (None, ()))

        def from_now(at: float | None) -> float | None:
            later = None if at is None else max(0.0, at - snapshot.now_s)
            return None if later is None or later > horizon_s else later

        begins = from_now(begins)
        spread: tuple[float | None, float | None] = (None, None)
        if drawn:
            # Who does not start is the last of them.
            starts = [from_now(one.get(id_, (None, ()))[0]) for one in drawn]
            starts.sort(key=lambda at: math.inf if at is None else at)
            begins = starts[(draws - 1) // 2]
            spread = (starts[(draws - 1) // 10], starts[draws - 1 - (draws - 1) // 10])
        if begins is None:
            nodes, spread = (), (None, None)
        waited = max(0.0, snapshot.now_s - job.submit_s)
        stretch = stretches.get(id_, 1.0)
        run = run_times.of(id_, snapshot.limit_s(job)) * stretch
        groups = len({wiring.group_of_node[node] for node in nodes if node in wiring.group_of_node})
        found = Predicted(id_, job.count, waited, begins, run, groups, stretch, *spread)
        predicted.append(found)
    return predicted


#: A schedule of Slurm's: when each job starts, Unix seconds, and its nodes.
_Slurms = dict[str, tuple[float | None, tuple[str, ...]]]


def _slurms(
    snapshot: Snapshot,
    listing: str,
    configuration: Sequence[tuple[str, str]],
    run_times: RunTimes,
    backfilled_s: int | None,
    draw: Random | None = None,
) -> _Slurms:
    from odonata.batch.slurm import ListedNodes, Onset, schedule_as_slurm

    kept_free = [
        ListedNodes(",".join(one.nodes), one.start_s, one.end_s)
        for one in snapshot.machine.reservations
        if one.nodes and one.end_s > snapshot.now_s
    ]
    with tempfile.TemporaryDirectory(prefix="odonata-what-if-") as directory:
        log = Path(directory) / "jobs.json"
        jobs, running_ms, run_ms = _as_ended(snapshot, listing, snapshot.waiting(), run_times)
        write_file(log, json.dumps({"jobs": jobs}))
        now_ms, shift_ms = int(1000 * snapshot.now_s), 0
        if draw is not None:
            # Backfill looks at a whole second: all else is moved against it.
            shift_ms = draw.randint(-500, 499)
            now_ms += shift_ms
            running_ms = {
                id_: min(now_ms, began + shift_ms + draw.randint(-500, 499))
                for id_, began in running_ms.items()
            }
            run_ms = {id_: run + draw.randint(*_LONGER_MS) for id_, run in run_ms.items()}
        onset = Onset(now_ms, backfilled_s, running_ms, run_ms, tuple(sorted(snapshot.out())))
        files = []
        for name, text in configuration:
            files.append(Path(directory) / name.replace("/", "_"))
            write_file(files[-1], text)
        schedule = schedule_as_slurm(
            log, files, recorded_priorities=True, onset=onset, maintenance=kept_free
        )
        table = schedule.jobs.select(["id", "start_s", "node_list"]).to_pydict()
    rows = zip(table["id"], table["start_s"], table["node_list"], strict=True)
    return {
        id_: (
            None if at is None else at - shift_ms / 1000,
            tuple((nodes or "").split(",")) if nodes else (),
        )
        for id_, at, nodes in rows
    }


def _settled(
    snapshot: Snapshot,
    listing: str,
    configuration: Sequence[tuple[str, str]],
    run_times: RunTimes,
    backfilled_s: int | None,
    links: SharedLinks,
    wiring: Wiring,
) -> tuple[_Slurms, Mapping[str, float]]:
    """Slurm's schedule with the run times that its own places give, and how long jobs stretch."""
    limits = {job.id: snapshot.limit_s(job) for job in snapshot.jobs}
    limits |= {id_: snapshot.limit_s(job) for id_, job in snapshot.waiting()}
    began = {
        job.id: max(0.0, snapshot.now_s - job.start_s - 0.5)
        for job in snapshot.jobs
        if job.holds_nodes and job.start_s is not None
    }
    sizes = _sizes(snapshot)
    stretched = run_times
    # Each round is right for at least one more end of a job.
    for _ in range(len(sizes) + 2):
        schedule = _slurms(snapshot, listing, configuration, stretched, backfilled_s)
        placed = []
        for id_, (at, names) in schedule.items():
            if at is None or id_ not in sizes:
                continue
            passed = began.get(id_, 0.0)
            work = max(0.001, run_times.of(id_, limits[id_]) - passed)
            begin = 0 if id_ in began else int(1000 * max(0.0, at - snapshot.now_s))
            nodes = [wiring.numbers[name] for name in names if name in wiring.numbers]
            limit = int(1000 * (limits[id_] - passed))
            placed.append(Placed(id_, begin, int(1000 * work), max(1, limit), nodes))
        running = RunningJobs(ClusterNetwork(links, wiring, sizes))
        late_ms = follow(placed, running)
        known = {
            one.job: began.get(one.job, 0.0) + running.ran_ms(one.job) / 1000 for one in placed
        }
        same = all(abs(stretched.of(id_, limits[id_]) - run) < 0.002 for id_, run in known.items())
        if same:
            if shares := [job for job, late in late_ms.items() if late > _ROUNDING_MS]:
                raise ClusterError(
                    f"network: job {shares[0]} shares a node with others; allowed: whole nodes"
                )
            return schedule, {one.job: running.stretch(one.job) for one in placed}
        stretched = replace(run_times, known={**run_times.known, **known})
    raise ClusterError("network: run times under plain Slurm depend on themselves; leave it out")


def _as_ended(
    snapshot: Snapshot, listing: str, waiting: Sequence[tuple[str, Job]], run_times: RunTimes
) -> tuple[list[dict[str, Any]], dict[str, int], dict[str, int]]:
    """The jobs as a log, with those that run on their nodes; since when these run; run times.

    Both in milliseconds by job. Slurm says the second in which a job began: any time within it.
    """
    try:
        listed = json.loads(listing)["jobs"]
    except (ValueError, KeyError, TypeError) as error:
        raise ClusterError("squeue: no JSON with jobs; allowed: squeue --json") from error
    raw = {number(one.get("job_id")) or 0: one for one in listed if isinstance(one, dict)}
    now = int(snapshot.now_s)
    found: list[dict[str, Any]] = []
    running_ms: dict[str, int] = {}
    run_ms: dict[str, int] = {}

    def add(one: dict[str, Any], id_: str, begin: int, run: float, **changes: object) -> None:
        times = {"submit_time": begin, "eligible_time": begin, "start_time": begin}
        state = {"job_id": id_, "job_state": "COMPLETED", "end_time": begin + max(1, round(run))}
        found.append({**one, **times, **state, **changes})
        run_ms[id_] = round(1000 * run)

    for job in snapshot.jobs:
        one = raw.get(job.number)
        if one is not None and job.holds_nodes and job.start_s is not None:
            limit = snapshot.limit_s(job)
            began_ms = 1000 * job.start_s + 500
            running_ms[job.id] = began_ms
            run = max(run_times.of(job.id, limit), snapshot.now_s - began_ms / 1000)
            add(one, job.id, job.start_s, run, required_nodes=",".join(job.nodes), priority=1 << 31)
    for place, (id_, job) in enumerate(waiting):
        one = raw.get(job.number)
        if one is None:
            continue
        # By submission, where Slurm tells none.
        priority = number(one.get("priority")) or (1 << 30) - place
        run = run_times.of(id_, snapshot.limit_s(job))
        add(one, id_, now, run, nodes="", priority=priority)
    return found, running_ms, run_ms


def read_last_backfill(text: str) -> int | None:
    """The second in which backfill began its last pass, from what ``sdiag`` prints."""
    found = re.search(r"(?s)Backfilling stats.*?Last cycle when:[^\n]*\((\d+)\)", text)
    return int(found[1]) if found and int(found[1]) else None


def why_not(
    snapshot: Snapshot, predicted: Sequence[Predicted], horizon_s: float
) -> list[tuple[int, str, str]]:
    """Why jobs do not start, as far as the cluster tells: how many, one of them, and the reason.

    Args:
        snapshot: The cluster.
        predicted: Its jobs under a policy.
        horizon_s: How far was looked.
    """
    jobs = dict(snapshot.waiting())
    out = snapshot.out()
    found: dict[str, list[str]] = {}
    for one in predicted:
        if one.start_s is None:
            job = jobs[one.job]
            found.setdefault(_why_not(snapshot, job, out, horizon_s), []).append(one.job)
    ordered = sorted(found.items(), key=lambda item: -len(item[1]))
    return [(len(ids), ids[0], reason) for reason, ids in ordered]


def _why_not(snapshot: Snapshot, job: Job, out: frozenset[str], horizon_s: float) -> str:
    name = job.partitions[0] if job.partitions else ""
    partition = snapshot.partition(job)
    if partition is None:
        known = ", ".join(sorted(snapshot.machine.partitions))
        return f"its partition {name or '(none)'} is not among those that are known: {known}"
    if not partition.is_up:
        return f"its partition {name} is down"
    work = [one for one in partition.nodes if one in snapshot.machine.nodes and one not in out]
    whole = f"its partition {name}" if snapshot.machine.partitions else "the cluster"
    if strangers := sorted(set(job.required) - set(work)):
        return f"asks for {strangers[0]}, which is not in {whole} or does not work"
    if both := sorted(set(job.required) & set(job.excluded)):
        return f"asks for {both[0]}, and excludes it"
    left = set(work) - set(job.excluded)
    if job.count > len(left):
        excluded = " without those that it excludes" if len(left) < len(work) else ""
        return f"asks for {job.count:,} nodes; {len(left):,} of {whole} work{excluded}"
    if job.dependency:
        return f"waits for other jobs ({job.dependency})"
    return f"not within {display.span(horizon_s)}, as far as was looked: a longer --for tells when"


def summary(predicted: Sequence[Predicted], of: Container[str] | None = None) -> dict[str, Any]:
    """Figures of one schedule: jobs, how many start, waits (s), bounded slowdowns, groups.

    Args:
        predicted: Its jobs.
        of: Those that all figures but the counts are of, by id. Default: all that start.
    """
    start = sum(one.start_s is not None for one in predicted)
    count = len(predicted)
    if of is not None:
        predicted = [one for one in predicted if one.job in of]
    waits = sorted(one.wait_s for one in predicted if one.wait_s is not None)
    slowdowns = [one.slowdown for one in predicted if one.slowdown is not None]
    groups = [one.groups for one in predicted if one.groups and one.nodes > 1]
    return {
        "jobs": count,
        "start": start,
        "mean_wait_s": fmean(waits) if waits else None,
        "median_wait_s": median(waits) if waits else None,
        "p95_wait_s": waits[min(len(waits) - 1, int(0.95 * len(waits)))] if waits else None,
        "mean_slowdown": fmean(slowdowns) if slowdowns else None,
        "mean_groups": fmean(groups) if groups else None,
        "mean_stretch": fmean([one.stretch for one in predicted]) if predicted else None,
    }


def replay_error(
    recorded_s: Sequence[float], simulated_s: Sequence[float], submit_s: Sequence[float]
) -> dict[str, float | None]:
    """How far a replayed log's starts are from those that it recorded.

    Args:
        recorded_s: Starts that were recorded.
        simulated_s: Starts that were simulated, of the same jobs.
        submit_s: Submissions of these jobs.
    """
    errors = sorted(abs(a - b) for a, b in zip(recorded_s, simulated_s, strict=True))
    if not errors:
        return {"jobs": 0, "median_error_s": None, "mean_error_s": None, "mean_wait_s": None}
    waits = [start - submit for start, submit in zip(recorded_s, submit_s, strict=True)]
    answer = [start - submit for start, submit in zip(simulated_s, submit_s, strict=True)]
    close = sum(abs(a - b) <= max(0.1 * a, 1.0) for a, b in zip(waits, answer, strict=True))
    return {
        "jobs": len(errors),
        "median_error_s": median(errors),
        "mean_error_s": fmean(errors),
        "p95_error_s": errors[min(len(errors) - 1, int(0.95 * len(errors)))],
        "mean_wait_s": fmean(waits),
        "mean_simulated_wait_s": fmean(answer),
        "share_within_10_percent": close / len(errors),
    }
