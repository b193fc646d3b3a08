"""Places the waiting jobs of a Slurm cluster: what decides is what decides in simulations.

Jobs wait by a begin time that never comes (:data:`odonata_live.cluster.jobs.UNTIL_PLACED_S`). In
every cycle the cluster's state is asked for anew; the engine's pass says who starts where; that is
written to the journal; then each job gets its nodes as required ones, and may begin. Slurm keeps
the state: who was killed goes on from any point. Whom somebody holds waits on.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from odonata._engine import ClusterPlacement
from odonata.errors import ClusterError
from odonata_live.cluster import commands, constraints, model, slurm, survey
from odonata_live.cluster import journal as states
from odonata_live.cluster.jobs import UNTIL_PLACED_S, Job, LeftOut, has_ended
from odonata_live.cluster.journal import Decision, Journal
from odonata_live.cluster.nodes import Topology

#: How often nodes' features, partitions and reservations are asked for.
_MACHINE_EVERY_S = 60.0
#: How often it is written down that nothing has changed for who waits.
_WAITS_EVERY_S = 60.0
#: How long an ended job has its nodes at most while they are not idle.
_LONGEST_LINGER_S = 60.0
#: Jobs and tasks of a queue that are looked at in one cycle.
_MOST_LOOKED_AT = 10_000
#: A job that did not begin on its nodes is taken back so often; then it is left to Slurm.
_MOST_ATTEMPTS = 3
#: Reasons of a released job that only Slurm can deal with.
_SLURMS_OWN = ("BadConstraints", "Dependency", "Licenses", "JobArrayTaskLimit")
#: What Slurm says of a job, which it then holds, that cannot run on the nodes that it was given.
_REFUSED_NODES = "BadConstraints"
_SLURMS_OWN_BEGIN = ("QOS", "Assoc", "Partition", "Reservation", "Account")
#: Reasons that say that its nodes are not to be had any more.
_NODES_GONE = ("ReqNodeNotAvail", "NodeDown", "Nodes required for job are DOWN")


class Wiring:
    """Numbers of a topology's nodes, routers and groups, as the engine counts them.

    Nodes are numbered group by group, within it router by router, all in the topology's order.

    Attributes:
        numbers: Of each node, by name.
        names: Of each node, by number.
        groups: Names of the groups, by number.
        group_of_node: Name of each node's group.
    """

    def __init__(self, topology: Topology, level: str = "island") -> None:
        of = topology.island_of_node() if level == "island" else dict(topology.leaf_of_node)
        routers: dict[str, dict[str, list[str]]] = {}
        for node, leaf in topology.leaf_of_node.items():
            routers.setdefault(of[node], {}).setdefault(leaf, []).append(node)
        self.groups = tuple(routers)
        self.group_of_node = of
        self.router_of_node: list[int] = []
        self.group_of_router: list[int] = []
        names: list[str] = []
        for number, leaves in enumerate(routers.values()):
            for nodes in leaves.values():
                names += nodes
                self.router_of_node += [len(self.group_of_router)] * len(nodes)
                self.group_of_router.append(number)
        self.names = tuple(names)
        self.numbers = {name: number for number, name in enumerate(names)}


@dataclass(frozen=True)
class Rules:
    """How to place.

    Attributes:
        policy: One of ``cluster_policies`` of the engine.
        mode: Of GRAP.
        seed: Of policies that draw.
        depth: Jobs with reservations; 1 is EASY, 0 strictly in order.
        level: What a group is: `island` or `leaf`.
        partitions: Only jobs of these; all if empty.
        whole_nodes: Whether jobs that would share nodes get whole ones.
        patience_s: How long a released job may wait for its nodes.
        most_a_cycle: Jobs that are given nodes in one cycle.
    """

    policy: str = "grap"
    mode: str = "adaptive"
    seed: int = 1
    depth: int = 1
    level: str = "island"
    partitions: tuple[str, ...] = ()
    whole_nodes: bool = False
    patience_s: float = 20.0
    most_a_cycle: int = 200


@dataclass
class Counts:
    """What happened, for metrics."""

    cycles: int = 0
    failures: int = 0
    decided: int = 0
    withdrawn: int = 0
    left: int = 0
    elsewhere: int = 0
    refused: int = 0
    waiting: int = 0
    resting: int = 0
    holding: int = 0
    last_cycle_s: float = 0.0
    last_decide_s: float = 0.0
    last_command_s: float = 0.0


@dataclass
class Placer:
    """Places jobs, cycle by cycle.

    Attributes:
        topology: Which node is attached to which router.
        rules: How to place.
        journal: Where decisions are written; `None` writes and changes nothing.
        session: How ``scontrol`` is called.
        shadow: Decide beside Slurm, for the jobs that it starts itself; nothing is changed.
        timeout_s: For each question to Slurm.
        say: Called with a line for people.
        clock: Unix seconds.
        counts: What happened.
        rests: Why all jobs are left to Slurm for now, if they are.
    """

    topology: Topology
    rules: Rules = field(default_factory=Rules)
    journal: Journal | None = None
    session: commands.Session = field(default_factory=commands.Session)
    shadow: bool = False
    timeout_s: float = slurm.TIMEOUT_S
    say: Callable[[str], None] = print
    clock: Callable[[], float] = time.time
    counts: Counts = field(default_factory=Counts)
    rests: str = ""

    def __post_init__(self) -> None:
        self.wiring = Wiring(self.topology, self.rules.level)
        self.engine = ClusterPlacement(
            self.wiring.router_of_node,
            self.wiring.group_of_router,
            self.rules.policy,
            self.rules.mode,
            self.rules.seed,
        )
        self._machine: model.Machine | None = None
        self._machine_asked = -float("inf")
        self._most: dict[int, int] = {}
        #: Who came and is there: id (of an array as it came), nodes, limit (ms).
        self._seen: dict[str, tuple[str, int, int]] = {}
        self._attempts: dict[str, int] = {}
        #: Decisions that may hold nodes; jobs that were left, and are not seen released yet;
        #: jobs that are held by others' will; jobs whose nodes we took back.
        self._open: dict[str, Decision] = {}
        self._left: dict[str, Decision] = {}
        self._theirs: dict[str, Decision] = {}
        self._taken_back: set[str] = set()
        #: Who had nodes when we last looked; `None`: we have not looked.
        self._had_nodes: set[str] | None = None
        #: How often Slurm has held a job again that was left to it, as our nodes do not suit it.
        self._refused: dict[str, int] = {}
        #: Ids of jobs whose records made no sense, and what was wrong with records so far.
        self._unread: frozenset[str] = frozenset()
        self._named: set[str] = set()
        self._lingering: dict[str, int] = {}
        #: Nodes that no decision has and that could not be given all the same.
        self._withheld: frozenset[str] = frozenset()
        #: Who waited as of the last time that it was written down, and when that was.
        self._waits: list[tuple[str, int | None, str]] = []
        self._waits_kept = -float("inf")
        self._is_new, self._since_ms = False, 0
        if self.journal is None:
            return
        for _, kind, job, count, estimate in self.journal.events():
            if kind == "came":
                self._seen[_whole(job)] = (job, count, estimate)
            elif kind == "ended":
                self._seen.pop(_whole(job), None)
        made = self.journal.decisions()
        self._is_new, self._since_ms = not made, int(1000 * self.clock())
        # The last decision about a job is what holds.
        for decision in made:
            for of in (self._open, self._left, self._theirs):
                of.pop(decision.job, None)
            if decision.state in ((states.SHADOW,) if self.shadow else states.OPEN):
                self._open[decision.job] = decision
            elif decision.state == states.LEFT:
                self._left[decision.job] = decision
            elif decision.state in (states.RELEASED, states.HELD):
                self._theirs[decision.job] = decision
            elif decision.state == states.WITHDRAWN:
                self._taken_back.add(decision.job)

    # --- One cycle ----------------------------------------------------------------------

    def cycle(self) -> int:
        """Looks once, decides once; returns how many jobs got nodes.

        Raises:
            ClusterError: If Slurm does not answer; nothing was decided.
            sqlite3.Error: If the journal cannot be written; nothing was done that is not in it.
        """
        begin = time.monotonic()
        self.counts.last_command_s = 0.0
        queue, left_out = survey.ask_jobs(self.timeout_s)
        # Nodes are asked for after jobs: who begins in between is seen by its nodes.
        answer = slurm.ask(model.STATES_COMMAND, self.timeout_s)
        machine = self._with_states(model.read_states(answer, left_out=self._name))
        now_ms = int(1000 * self.clock())
        jobs = {job.key: job for job in queue}
        found, too = self._missing(jobs)
        jobs.update(found)
        self._unread = frozenset(record.id for record in (*left_out, *too))
        for record in (*left_out, *too):
            self._name(str(record))
        self._note_come(jobs, now_ms)
        if self.shadow:
            self._decide_for_begun(jobs, machine, now_ms)
        self._follow(jobs, machine, now_ms)
        self._note_ended(jobs, now_ms)
        candidates, waits = self._candidates(jobs, machine, now_ms)
        started = time.monotonic()
        decided, kept = self._decide(jobs, machine, candidates, now_ms)
        self.counts.last_decide_s = time.monotonic() - started
        waits += kept
        done = self._carry_out(decided, now_ms)
        self._keep_waits(waits, now_ms)
        self.counts.cycles += 1
        self.counts.waiting = len(waits)
        self.counts.holding = len(self._open)
        self.counts.last_cycle_s = time.monotonic() - begin
        return done

    def _keep_waits(self, waits: list[tuple[str, int | None, str]], now_ms: int) -> None:
        same = waits == self._waits and time.monotonic() - self._waits_kept < _WAITS_EVERY_S
        if self.journal is not None and not same:
            self.journal.keep_waits(waits, now_ms)
            self._waits, self._waits_kept = waits, time.monotonic()

    def _with_states(self, answer: Mapping[str, tuple[str, frozenset[str]]]) -> model.Machine:
        if self._machine is None or time.monotonic() - self._machine_asked > _MACHINE_EVERY_S:
            self._machine = survey.ask_machine(self.timeout_s, self._name)
            self._machine_asked = time.monotonic()
        nodes = {}
        for name, node in self._machine.nodes.items():
            # A node that sinfo does not tell of (no partition has it) is not known to work.
            state, flags = answer.get(name, ("UNKNOWN", frozenset()))
            nodes[name] = model.Node(
                *(name, state, flags, node.partitions, node.features, node.cpus, node.memory_mb),
                node.reason,
            )
        return model.Machine(nodes, self._machine.partitions, self._machine.reservations)

    def _name(self, complaint: str) -> None:
        """Says once of a record that it is left out."""
        if complaint not in self._named:
            if len(self._named) > _MOST_LOOKED_AT:
                self._named.clear()
            self._named.add(complaint)
            self.say(complaint)

    def _missing(self, jobs: Mapping[str, Job]) -> tuple[dict[str, Job], list[LeftOut]]:
        """Jobs of decisions that the queue does not tell of, if they have not ended.

        A queue that is empty or was cut off makes nobody's nodes free. Tasks of an array that have
        not begun are one record in the queue, whatever differs between them.
        """
        found: dict[str, Job] = {}
        left_out: list[LeftOut] = []
        theirs = (id_ for id_ in self._theirs if _array_of(id_) in jobs)
        lost = [id_ for id_ in (*self._open, *theirs) if id_ not in jobs]
        if self.shadow:
            return found, left_out
        for begin in range(0, len(lost), 500):
            part = lost[begin : begin + 500]
            answered, without = survey.ask_jobs(self.timeout_s, part, ended=True)
            found.update((job.id, job) for job in answered if not has_ended(job.state))
            left_out += without
        return found, left_out

    def _note_come(self, jobs: Mapping[str, Job], now_ms: int) -> None:
        """Keeps when jobs came, so that a simulation can be given the same."""
        if self.journal is None or self.shadow:
            return
        came = []
        for job in jobs.values():
            if job.waits_for_us and _whole(job.id) not in self._seen:
                row = (job.id, job.count, 1000 * (job.limit_s or constraints.FOREVER_S))
                self._seen[_whole(job.id)] = row
                came.append(row)
        if came:
            self.journal.event("came", now_ms, came)

    def _note_ended(self, jobs: Mapping[str, Job], now_ms: int) -> None:
        """Keeps when jobs ended, in the same way."""
        if self.journal is None or self.shadow:
            return
        ids = (job.id for job in jobs.values() if not has_ended(job.state))
        here = {_whole(id_) for id_ in (*ids, *self._open, *self._unread)}
        if gone := set(self._seen) - here:
            self.journal.event("ended", now_ms, [self._seen.pop(id_) for id_ in sorted(gone)])

    def _note_withheld(self, names: frozenset[str], now_ms: int) -> None:
        """Keeps since when nodes did not work or were others', and until when."""
        if self.journal is None or self.shadow:
            return
        for kind, changed in (
            ("withheld", names - self._withheld),
            ("given back", self._withheld - names),
        ):
            if changed:
                self.journal.event(kind, now_ms, [(name, 0, 0) for name in sorted(changed)])
        self._withheld = names

    # --- What became of earlier decisions -----------------------------------------------

    def _follow(self, jobs: Mapping[str, Job], machine: model.Machine, now_ms: int) -> None:
        back: list[Decision] = []
        changes: dict[tuple[str, str], list[Decision]] = {}
        busy = {name for job in jobs.values() if job.holds_nodes for name in job.nodes}
        for id_, decision in list(self._open.items()):
            job = jobs.get(id_)
            if job is None and id_ in self._unread:
                continue
            if job is None or has_ended(job.state):
                if self._lingers(decision, busy, machine, now_ms):
                    continue
                changes.setdefault((states.ENDED, ""), []).append(decision)
                del self._open[id_]
                self._attempts.pop(id_, None)
                self._lingering.pop(id_, None)
            elif job.holds_nodes:
                if decision.state != states.RUNNING:
                    self._begun(job, decision, now_ms)
            elif decision.state == states.SHADOW:
                continue
            elif _is_refused(job):
                # It was heard that the job may begin; it is Slurm that holds it.
                back.append(decision)
            elif job.held and job.earliest_s != UNTIL_PLACED_S:
                del self._open[id_]
                note = "held by somebody since it was given nodes"
                changes.setdefault((states.HELD, note), []).append(decision)
                self._theirs[id_] = decision
            elif job.earliest_s == UNTIL_PLACED_S:
                # What we asked never reached Slurm, or its user lets it wait for us once more.
                del self._open[id_]
                changes.setdefault((states.WITHDRAWN, "not carried out"), []).append(decision)
                self._taken_back.add(id_)
            elif decision.state == states.RUNNING or self._is_stuck(job, decision, machine, now_ms):
                back.append(decision)
            elif decision.state == states.DECIDED:
                # The last thing that was asked of Slurm was done, and we were not there to see it.
                changes.setdefault((states.PINNED, ""), []).append(decision)
        for id_, decision in list(self._left.items()):
            job = jobs.get(id_)
            if job is not None and _is_refused(job):
                self._refused[id_] = self._refused.get(id_, 0) + 1
            # Whom Slurm holds again and again without nodes of ours, it has no nodes for.
            if job is None or not self._is_unheard(job):
                changes.setdefault((states.RELEASED, decision.note), []).append(decision)
                self._theirs[id_] = self._left.pop(id_)
                self._refused.pop(id_, None)
        for id_, decision in list(self._theirs.items()):
            job = jobs.get(id_)
            if decision.state == states.HELD and job is not None and job.waits and not job.held:
                # Whoever held it has released it: it is placed anew.
                back.append(decision)
            elif job is None or (decision.state == states.HELD and not job.held):
                del self._theirs[id_]
        for (state, note), decisions in changes.items():
            self._change(decisions, state, now_ms, note)
        self._ask_to_leave([jobs[id_] for id_ in self._left])
        if back:
            self._take_back(back, jobs, now_ms)

    def _lingers(
        self, decision: Decision, busy: set[str], machine: model.Machine, now_ms: int
    ) -> bool:
        """Whether an ended job's nodes are not idle yet, so that it has its groups still.

        Slurm forgets the job before its nodes are told to be idle.
        """
        nodes = [machine.nodes[name] for name in decision.nodes if name in machine.nodes]
        left = [node for node in nodes if node.works and not node.is_idle]
        since = self._lingering.setdefault(decision.job, now_ms)
        lingers = any(node.name not in busy for node in left)
        return lingers and not self.shadow and now_ms - since < 1000 * _LONGEST_LINGER_S

    def _is_unheard(self, job: Job) -> bool:
        """Whether a job that was left to Slurm waits for us still.

        Or Slurm holds it, as it cannot run on nodes of ours.
        """
        if _is_refused(job):
            given = self.journal.decisions(job=job.id) if self.journal is not None else ()
            refused = self._refused.get(job.key, 0)
            return any(made.nodes for made in given) and refused <= _MOST_ATTEMPTS
        return job.waits and job.earliest_s == UNTIL_PLACED_S

    def _decide_for_begun(
        self, jobs: Mapping[str, Job], machine: model.Machine, now_ms: int
    ) -> None:
        """In shadow: decides for jobs that began since the last look and had not been decided for.

        Slurm starts most jobs as they are submitted, where nodes are idle; nobody sees them wait.
        Their nodes count as idle.
        """
        before = self._had_nodes
        self._had_nodes = {id_ for id_, job in jobs.items() if job.holds_nodes}
        begun = self._had_nodes - (self._had_nodes if before is None else before) - set(self._open)
        if not begun:
            return
        waiting = {
            id_: replace(jobs[id_], state="PENDING", nodes=(), start_s=None, end_s=None)
            for id_ in begun
        }
        nodes = dict(machine.nodes)
        for name in (name for id_ in begun for name in jobs[id_].nodes if name in nodes):
            nodes[name] = replace(nodes[name], state="IDLE", flags=frozenset())
        idle = model.Machine(nodes, machine.partitions, machine.reservations)
        others = {id_: job for id_, job in jobs.items() if job.holds_nodes}
        candidates, _ = self._candidates(waiting, idle, now_ms)
        decided, _ = self._decide({**others, **waiting}, idle, candidates, now_ms)
        self._carry_out(decided, now_ms)

    def _begun(self, job: Job, decision: Decision, now_ms: int) -> None:
        note = ""
        if set(job.nodes) != set(decision.nodes):
            self.counts.elsewhere += not self.shadow
            note = "began on other nodes"
        state = states.ENDED if decision.state == states.SHADOW else states.RUNNING
        if self.shadow and note:
            groups = {self.wiring.group_of_node.get(name, "?") for name in job.nodes}
            ours = {self.wiring.group_of_node[name] for name in decision.nodes}
            note = f"Slurm: {len(groups)} groups, {self.rules.policy}: {len(ours)}"
        self._change([decision], state, now_ms, note, job.nodes)
        if decision.state == states.SHADOW:
            del self._open[decision.job]

    def _is_stuck(self, job: Job, decision: Decision, machine: model.Machine, now_ms: int) -> bool:
        if job.reason.startswith((*_NODES_GONE, *_SLURMS_OWN, *_SLURMS_OWN_BEGIN)):
            return True
        if job.reason == "BeginTime" and 1000 * (job.earliest_s or 0) > now_ms:
            return True
        if any(not machine.nodes[name].works for name in decision.nodes if name in machine.nodes):
            return True
        return now_ms - decision.changed_ms > 1000 * self.rules.patience_s

    def _take_back(
        self, decisions: Sequence[Decision], jobs: Mapping[str, Job], now_ms: int
    ) -> None:
        asked: list[str] = []
        for decision in decisions:
            job = jobs[decision.job]
            attempts = self._attempts[decision.job] = self._attempts.get(decision.job, 0) + 1
            slurms = job.reason.startswith((*_SLURMS_OWN, *_SLURMS_OWN_BEGIN, "BeginTime"))
            if slurms or attempts > _MOST_ATTEMPTS:
                why = f"it waits for {job.reason}" if slurms else "it did not begin on its nodes"
                self._leave(decision.job, why, now_ms)
                self._change([decision], states.WITHDRAWN, now_ms, why)
                if _is_refused(job):
                    asked += commands.leave(decision.job, pinned=True, refused=True)
                else:
                    asked.append(commands.unpin(decision.job))
            else:
                self._change([decision], states.WITHDRAWN, now_ms, job.reason)
                self._taken_back.add(decision.job)
                self.counts.withdrawn += 1
                asked.append(commands.withdraw(decision.job))
            self._open.pop(decision.job, None)
            self._theirs.pop(decision.job, None)
        self._ask(asked)

    # --- Who may be placed --------------------------------------------------------------

    def _candidates(
        self, jobs: Mapping[str, Job], machine: model.Machine, now_ms: int
    ) -> tuple[list[tuple[str, Job, frozenset[int], int]], list[tuple[str, int | None, str]]]:
        """Jobs that may start now if there are nodes, in order; and why others wait."""
        ours = [job for job in jobs.values() if self._is_ours(job)]
        self._ask_most(ours)
        found: list[tuple[str, Job, frozenset[int], int]] = []
        waits: list[tuple[str, int | None, str]] = []
        leaving: list[tuple[Job, str]] = []
        idle = sum(node.is_idle for node in machine.nodes.values())
        hopeless = {_array_of(id_) for id_, n in self._attempts.items() if n > _MOST_ATTEMPTS}
        for job in sorted(ours, key=lambda job: (job.submit_s, job.number, job.id)):
            try:
                if self.rests:
                    raise constraints.LeftToSlurm(self.rests)
                if self._attempts.get(job.key, 0) > _MOST_ATTEMPTS or job.key in hopeless:
                    raise constraints.LeftToSlurm("Slurm does not take its nodes")
                if not self._serves(job):
                    raise constraints.LeftToSlurm("its partition is not placed here")
                job = self._with_most(job)
                partition = constraints.partition_of(
                    job, machine, whole_nodes=self.rules.whole_nodes
                )
                constraints.check_dependency(job, lambda other: self._state_of(other, jobs))
                allowed = constraints.may_have(job, partition, machine, self.wiring.numbers)
            except constraints.LeftToSlurm as why:
                leaving.append((job, str(why)))
                continue
            except constraints.NotYet as why:
                waits.append((job.key, None, str(why)))
                continue
            limit = 1000 * constraints.limit_s(job, partition)
            tasks = [
                (id_, job, allowed, limit)
                # All tasks are alike: if this many cannot start, none behind them can.
                for id_ in itertools.islice(
                    (id_ for id_ in job.tasks() if id_ == job.id or not self._is_known(id_, jobs)),
                    min(idle // job.count + self.rules.depth + 1, _MOST_LOOKED_AT - len(found)),
                )
            ]
            if not tasks:
                waits.append((job.key, None, "others are looked at before it"))
            found += tasks
        # The others are there in the next cycle, too.
        self._leave_now(leaving[: self.rules.most_a_cycle], now_ms)
        return found, waits

    def _is_known(self, id_: str, jobs: Mapping[str, Job]) -> bool:
        """Whether we know more of an array's task than of those that wait with it."""
        return any(id_ in of for of in (jobs, self._open, self._left, self._theirs))

    def _is_ours(self, job: Job) -> bool:
        if self.shadow:
            return job.waits and not job.held and job.id not in self._open and self._serves(job)
        others = (self._open, self._left, self._theirs)
        return job.waits_for_us and not any(job.key in of for of in others)

    def _serves(self, job: Job) -> bool:
        only = self.rules.partitions
        return not only or bool(set(job.partitions) & set(only))

    def _ask_most(self, jobs: Iterable[Job]) -> None:
        """Asks once of each job how many nodes it would take at most."""
        numbers = {job.number for job in jobs if job.most is None}
        self._most = {number: self._most[number] for number in numbers & set(self._most)}
        new = sorted(numbers - set(self._most))
        for begin in range(0, len(new), 1000):
            ids = ",".join(map(str, new[begin : begin + 1000]))
            asked = ("squeue", "--noheader", "--Format=JobID:24,MaxNodes:24", f"--jobs={ids}")
            for line in slurm.ask(asked, self.timeout_s).splitlines():
                words = line.split()
                if len(words) == 2 and all(re.fullmatch(r"[0-9]{1,10}", word) for word in words):
                    self._most[int(words[0])] = int(words[1])

    def _with_most(self, job: Job) -> Job:
        most = self._most.get(job.number)
        # A job that was held before it was released has our own nodes, not its user's.
        pinned = job.required and (job.id in self._taken_back or self._was_ours(job))
        required = () if pinned else job.required
        return replace(job, most=job.most if most is None else most, required=required)

    def _was_ours(self, job: Job) -> bool:
        if self.journal is None:
            return False
        return any(
            set(made.nodes) == set(job.required) for made in self.journal.decisions(job=job.id)
        )

    def _state_of(self, other: str, jobs: Mapping[str, Job]) -> str | None:
        for job in jobs.values():
            if other in (job.id, str(job.number)) or job.id.startswith((f"{other}_", f"{other}+")):
                return job.state
        answered, _ = survey.ask_jobs(self.timeout_s, (other,), ended=True)
        found = [job.state for job in answered]
        if len(set(found)) > 1:
            return next((state for state in found if not has_ended(state)), "FAILED")
        return found[0] if found else None

    # --- Deciding -----------------------------------------------------------------------

    def _decide(
        self,
        jobs: Mapping[str, Job],
        machine: model.Machine,
        candidates: Sequence[tuple[str, Job, frozenset[int], int]],
        now_ms: int,
    ) -> tuple[
        list[tuple[str, list[str], list[str], int, bool]], list[tuple[str, int | None, str]]
    ]:
        if not candidates:
            return [], []
        numbers = self.wiring.numbers
        holders, held = self._holders(jobs, now_ms)
        foreign = any(
            job.waits and not job.held and not job.waits_for_us and job.key not in self._open
            for job in jobs.values()
        )
        out, unknown = [], []
        for name, number in numbers.items():
            node = machine.nodes.get(name)
            if node is None or not node.works:
                out.append(number)
            elif number not in held and (not node.is_idle or (node.is_planned and foreign)):
                # Somebody we do not know of has it; it counts among the group's nodes.
                unknown.append(number)
        holders += [(now_ms + 1000, [number]) for number in unknown]
        self._note_withheld(
            frozenset(self.wiring.names[number] for number in (*out, *unknown)), now_ms
        )
        withheld = [
            (1000 * one.start_s, 1000 * one.end_s, [numbers[n] for n in one.nodes if n in numbers])
            for one in machine.reservations
        ]
        sets: dict[frozenset[int], int] = {}
        queue: list[tuple[int, int, int | None, int]] = [
            (job.count, limit, sets.setdefault(allowed, len(sets)), job.number)
            for _, job, allowed, limit in candidates
        ]
        given, kept = self.engine.decide(
            now=now_ms,
            out=out,
            holders=holders,
            queue=queue,
            sets=[sorted(allowed) for allowed in sets],
            withheld=withheld,
            depth=self.rules.depth,
        )
        names, groups = self.wiring.names, self.wiring.groups
        decided = [
            (
                *(candidates[index][0], [names[n] for n in nodes], [groups[g] for g in owned]),
                *(candidates[index][3], overtakes),
            )
            for index, nodes, owned, overtakes in given[: self.rules.most_a_cycle]
        ]
        first: dict[str, tuple[str, int | None, str]] = {}
        hopeless: dict[str, tuple[Job, str]] = {}
        for index, promised, never, why in kept:
            _, job, allowed, _ = candidates[index]
            if never and len(allowed.difference(out)) >= job.count:
                # The policy cannot, as the cluster is; Slurm can.
                hopeless[job.key] = (job, why)
            # The first task of an array says it for all.
            first.setdefault(job.key, (job.key, promised, why))
        self._leave_now(list(hopeless.values()), now_ms)
        return decided, list(first.values())

    def _holders(
        self, jobs: Mapping[str, Job], now_ms: int
    ) -> tuple[list[tuple[int, list[int]]], set[int]]:
        """Expected ends and nodes of jobs that run or are about to."""
        holders: list[tuple[int, list[int]]] = []
        held: set[int] = set()
        forever = 1000 * constraints.FOREVER_S
        for id_ in [*jobs, *(id_ for id_ in self._open if id_ not in jobs)]:
            job, decision = jobs.get(id_), self._open.get(id_)
            if job is None or has_ended(job.state):
                if decision is None or self.shadow:
                    continue
                names = decision.nodes
            elif job.holds_nodes:
                names = job.nodes
            elif decision is not None and not self.shadow:
                names = decision.nodes
            elif job.waits and not job.held and job.required and self._has_forgotten(now_ms):
                # Pinned by one of us, maybe.
                names = job.required
            else:
                continue
            if decision is not None and not self.shadow:
                end = decision.time_ms + decision.estimate_ms
            else:
                end = now_ms + forever
                if job is not None and job.end_s is not None:
                    end = 1000 * job.end_s
            nodes = [self.wiring.numbers[n] for n in names if n in self.wiring.numbers]
            if nodes:
                holders.append((end, nodes))
                held.update(nodes)
        return holders, held

    def _has_forgotten(self, now_ms: int) -> bool:
        """Whether there may be jobs with nodes of ours that the journal does not tell of.

        It was lost; they begin on them soon.
        """
        recent = now_ms - self._since_ms < 1000 * self.rules.patience_s
        return self._is_new and recent and not self.shadow

    # --- Doing --------------------------------------------------------------------------

    def _carry_out(
        self, decided: Sequence[tuple[str, list[str], list[str], int, bool]], now_ms: int
    ) -> int:
        if not decided:
            return 0
        if self.journal is None:
            for job, nodes, owned, _, _ in decided:
                groups = f", with groups {', '.join(owned)} for itself" if owned else ""
                self.say(f"job {job} would get {','.join(nodes)}{groups}")
            return len(decided)
        if self.shadow:
            made = self.journal.decide(decided, self.rules.policy, now_ms, state=states.SHADOW)
            self._open.update((decision.job, decision) for decision in made)
            return len(made)
        made = self.journal.decide(decided, self.rules.policy, now_ms)
        self._open.update((decision.job, decision) for decision in made)
        self._taken_back.difference_update(decision.job for decision in made)
        refused = self._ask([commands.pin(one.job, one.nodes) for one in made], apart=True)
        # Who did not get the nodes stays held: the next cycle decides anew.
        wrong = {found[1] for line in refused if (found := re.search(r"\bjob (\d+(_\d+)?)", line))}
        for job in wrong:
            self._attempts[job] = self._attempts.get(job, 0) + 1
        if refused and not wrong:
            raise ClusterError(f"scontrol: {refused[0]}")
        self._ask([commands.begin(one.job) for one in made if one.job not in wrong], apart=True)
        self.counts.decided += len(made)
        return len(made)

    def _leave_now(self, jobs: Sequence[tuple[Job, str]], now_ms: int) -> None:
        """Leaves jobs to Slurm, for a reason each."""
        if self.shadow or self.journal is None:
            return
        for job, why in jobs:
            self._leave(job.key, why, now_ms)
        self._ask_to_leave([job for job, _ in jobs])

    def _ask_to_leave(self, jobs: Sequence[Job]) -> None:
        asked = []
        for job in jobs:
            # All tasks of an array, and all components of a heterogeneous job, at once.
            id_ = re.split(r"\+|_\[", job.id)[0]
            ours = job.id in self._taken_back or self._was_ours(job)
            pinned = bool(job.required) and ours
            asked.append(commands.leave(id_, pinned=pinned, refused=_is_refused(job)))
        self._ask([command for one in asked for command in one[:-1]], apart=True)
        self._ask([one[-1] for one in asked], apart=True)

    def _leave(self, job: str, why: str, now_ms: int) -> None:
        if self.journal is not None:
            self._left[job] = self.journal.leave(job, now_ms, why, self.rules.policy)
        self.counts.left += 1
        self.say(f"job {job} is left to Slurm: {why}")

    def _ask(self, asked: Sequence[str], *, apart: bool = False) -> list[str]:
        """Asks Slurm to do things; returns what it refused."""
        if not asked or self.journal is None or self.shadow:
            return []
        begin = time.monotonic()
        refused = self.session.run(asked, apart=apart)
        self.counts.last_command_s += time.monotonic() - begin
        self.counts.refused += len(refused)
        for line in refused[:5]:
            self.say(f"scontrol: {line}")
        return refused

    def _change(
        self,
        decisions: Sequence[Decision],
        state: str,
        now_ms: int,
        note: str = "",
        got: Sequence[str] | None = None,
    ) -> None:
        if self.journal is not None:
            self.journal.change(decisions, state, now_ms, note, got)
        for old in decisions:
            if old.job in self._open:
                self._open[old.job] = Decision(
                    **{**old.__dict__, "state": state, "changed_ms": now_ms, "note": note}
                )


def _is_refused(job: Job) -> bool:
    """Whether Slurm itself holds a job, as it cannot run on the nodes that it asks for."""
    return job.waits and job.held and job.reason.startswith(_REFUSED_NODES)


def _whole(id_: str) -> str:
    """The number of an array for any of its tasks, or a job's own id."""
    return id_.partition("_")[0]


def _array_of(id_: str) -> str:
    """The key of an array's tasks that wait together, for one of them."""
    return f"{_whole(id_)}_*" if "_" in id_ else ""
