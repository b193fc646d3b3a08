"""How fast the jobs of a cluster go on: as they would alone, or as a network leaves them.

The network is that of schedules (``docs/scheduling.md``, `--network flow`): running jobs share the
links of a machine as flows. Here others say who begins when, and on which nodes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from odonata._engine import JobsOnNetwork, SpecError
from odonata.batch.network import SharedLinks
from odonata.errors import ClusterError
from odonata.machines.hosts import hosts_of
from odonata.scenario import Scenario
from odonata_live.cluster.nodes import Topology
from odonata_live.cluster.placing import Wiring


def check_machine(file: Path, topology: Topology) -> None:
    """Refuses the scenario of another machine, as far as it names hosts.

    Raises:
        ClusterError: If it names hosts, and none of them is a node of the topology.
        ScenarioError: If it is none.
        MachineError: If it names hosts, and these make no sense.
    """
    scenario = Scenario.from_file(file)
    machine = scenario.machine
    if machine is None or not (machine.hosts or machine.hosts_file):
        return
    hosts = hosts_of(scenario)
    if topology.leaf_of_node.keys().isdisjoint(hosts):
        raise ClusterError(
            f"{file}: is of another cluster: found hosts such as {min(hosts)}, and none of the "
            f"topology's nodes, such as {min(topology.leaf_of_node)}; allowed: the scenario that "
            "`odonata machine from-slurm` writes for this cluster"
        )


class ClusterNetwork:
    """A machine's network under a cluster: the nodes of its groups are those of the cluster's.

    Group after group, in both in their order; the machine may have more of either.

    Attributes:
        engine: The network.
        node: Number of each of the cluster's nodes in the machine.
        number: Of each job, in the order in which what it does is drawn.
    """

    def __init__(
        self, links: SharedLinks, wiring: Wiring, sizes: Mapping[str, int], *, owned: bool = False
    ) -> None:
        """A network without jobs.

        Args:
            links: The network, and what jobs do on it.
            wiring: The cluster's nodes and groups.
            sizes: Nodes of all jobs that may come, by id.
            owned: Large jobs have groups of their own. A machine whose circuits are set for jobs
                then sets them; otherwise its circuits join all groups alike.

        Raises:
            ClusterError: If the network is none of flows, or the machine has no room for the
                cluster's groups.
        """
        spec = json.dumps(links.for_engine())
        try:
            self.engine = JobsOnNetwork(spec, list(sizes.values()), owned=owned)
        except SpecError as error:
            raise ClusterError(f"{error.args[0]}: {error.args[1]}") from None
        self.number = {id_: number for number, id_ in enumerate(sizes)}
        of_machine = self.engine.nodes_of_group()
        of_cluster: list[list[int]] = [[] for _ in wiring.groups]
        for node, router in enumerate(wiring.router_of_node):
            of_cluster[wiring.group_of_router[router]].append(node)
        largest = max(map(len, of_cluster), default=0)
        if len(of_machine) < len(of_cluster) or any(
            len(there) < len(here) for here, there in zip(of_cluster, of_machine, strict=False)
        ):
            raise ClusterError(
                f"network: found a machine of {len(of_machine)} groups of "
                f"{min(map(len, of_machine))} nodes; allowed: one with the cluster's "
                f"{len(of_cluster)} groups of up to {largest}, in their order"
            )
        self.node = {
            node: other
            for here, there in zip(of_cluster, of_machine, strict=False)
            for node, other in zip(here, there, strict=False)
        }


class RunningJobs:
    """Work of running jobs, which the network lets them do faster or slower.

    Times are milliseconds from now. Without a network every job does a second of work in a second.
    """

    def __init__(self, network: ClusterNetwork | None = None) -> None:
        self.network = network
        self._now = 0
        #: By job, running ones: work that is left, speed, when it is killed.
        self._left: dict[str, float] = {}
        self._speed: dict[str, float] = {}
        self._killed: dict[str, int] = {}
        #: By job: how long it still stands until its circuits are set.
        self._stands: dict[str, int] = {}
        #: By job: when it began, its work, and how long it ran, so far.
        self._begun: dict[str, int] = {}
        self._work: dict[str, int] = {}
        self._ran: dict[str, int] = {}
        self._unsettled = False

    def begin(
        self,
        job: str,
        work_ms: int,
        limit_ms: int,
        nodes: Sequence[int],
        *,
        shares: bool = False,
        runs: bool = False,
    ) -> None:
        """A job begins now; where circuits are set for it, it stands still until they are.

        Args:
            job: Its id.
            work_ms: How long it would run on a network that is never full.
            limit_ms: When it is killed, however much is left; of no meaning without a network.
            nodes: The cluster's nodes that it has.
            shares: It has its groups with other large jobs, and so no circuits of its own.
            runs: It runs already, and its circuits are there.

        Raises:
            ClusterError: If another job has one of them, or its groups cannot have circuits, and
                there is a network.
        """
        self._left[job], self._speed[job] = float(work_ms), 1.0
        self._stands[job] = 0
        self._begun[job], self._work[job] = self._now, work_ms
        if self.network is not None:
            # Who would not keep its limit even alone is not killed for the network's sake.
            self._killed[job] = max(limit_ms, self._now + work_ms)
            on = [self.network.node[node] for node in nodes]
            try:
                number = self.network.number[job]
                dark_s = self.network.engine.begin(number, on, shares=shares)
            except SpecError as error:
                if "is not free" not in str(error):
                    raise ClusterError(f"network: job {job}: {error}") from None
                raise ClusterError(
                    f"network: job {job} shares a node with others; allowed: whole nodes"
                ) from None
            if not runs:
                self._stands[job] = math.ceil(1000 * dark_s - 1e-6)
            self._unsettled = True

    def ends(self) -> dict[str, int]:
        """When running jobs end, as things are now."""
        self._settle()
        return {job: self._end(job) for job in self._left}

    def pass_to(self, now_ms: int) -> list[str]:
        """Lets time pass; the jobs that have ended by then."""
        ends = self.ends()
        passed = now_ms - self._now
        ended = [job for job, end in ends.items() if end <= now_ms]
        for job in self._left:
            stood = min(passed, self._stands[job])
            self._stands[job] -= stood
            self._left[job] -= (passed - stood) * self._speed[job]
        self._now = now_ms
        for job in ended:
            self._ran[job] = ends[job] - self._begun[job]
            del self._left[job], self._speed[job], self._stands[job]
            if self.network is not None:
                self.network.engine.end(self.network.number[job])
                self._unsettled = True
        return ended

    def ran_ms(self, job: str) -> int:
        """How long a job ran, or will if nothing changes."""
        if job in self._ran:
            return self._ran[job]
        self._settle()
        return self._end(job) - self._begun[job]

    def stretch(self, job: str) -> float:
        """How many times as long it runs as alone; 1 for who has not begun."""
        if self.network is None or job not in self._begun:
            return 1.0
        return self.ran_ms(job) / max(1, self._work[job])

    def _end(self, job: str) -> int:
        # A job that is due to the millisecond is not kept a millisecond longer by rounding.
        works = math.ceil(self._left[job] / self._speed[job] - 1e-6)
        end = self._now + self._stands[job] + works
        return end if self.network is None else min(end, self._killed[job])

    def _settle(self) -> None:
        if self.network is None or not self._unsettled:
            return
        self._unsettled = False
        of = {number: job for job, number in self.network.number.items()}
        for number, speed in self.network.engine.settle():
            if of[number] in self._speed:
                self._speed[of[number]] = speed


@dataclass(frozen=True)
class Placed:
    """A job of a schedule that somebody else made. Times are milliseconds from now.

    Attributes:
        job: Its id.
        begin_ms: When it begins, rounded down to its second.
        work_ms: How long it would run on a network that is never full.
        limit_ms: How long it may run.
        nodes: Its nodes, the cluster's numbers.
    """

    job: str
    begin_ms: int
    work_ms: int
    limit_ms: int
    nodes: Sequence[int]


def follow(placed: Sequence[Placed], running: RunningJobs) -> dict[str, int]:
    """Lets the jobs of a schedule run; who finds its nodes taken begins once they are free.

    Args:
        placed: The schedule.
        running: No job yet; then all that have begun.

    Returns:
        How much later than in the schedule each job began, ms.
    """
    waiting = sorted(placed, key=lambda one: one.begin_ms)
    nodes = {one.job: one.nodes for one in waiting}
    holds: set[int] = set()
    late: dict[str, int] = {}
    now = 0
    while waiting or holds:
        left = []
        for one in waiting:
            if one.begin_ms <= now and holds.isdisjoint(one.nodes):
                running.begin(one.job, one.work_ms, now + one.limit_ms, one.nodes)
                holds.update(one.nodes)
                late[one.job] = now - one.begin_ms
            else:
                left.append(one)
        waiting = left
        events = [end for end in running.ends().values() if end > now]
        events += [one.begin_ms for one in waiting if one.begin_ms > now]
        if not events:
            break
        now = min(events)
        for job in running.pass_to(now):
            holds.difference_update(nodes[job])
    return late
