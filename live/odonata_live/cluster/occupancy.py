"""Who sits where: a cluster's groups with their nodes, the jobs that span them, what is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from odonata.errors import ClusterError
from odonata_live.cluster.jobs import Job
from odonata_live.cluster.model import Machine
from odonata_live.cluster.nodes import Topology

#: What a node is: free, of a job of this group alone, of one that spans groups, or out of use.
IDLE, INSIDE, SPANNING, OTHER, OUT = "idle", "inside", "spanning", "other", "out"
STATES = (IDLE, INSIDE, SPANNING, OTHER, OUT)


@dataclass(frozen=True)
class Group:
    """A group of nodes.

    Attributes:
        name: Its name in the topology.
        states: What each of its nodes is, by name, in order: one of :data:`STATES`. `other` is
            taken without a job: it completes, reboots, is reserved, or is planned.
        owners: Ids of jobs that span this and other groups.
    """

    name: str
    states: Mapping[str, str]
    owners: tuple[str, ...]

    def count(self, state: str) -> int:
        """Nodes in a state."""
        return Counter(self.states.values())[state]


@dataclass(frozen=True)
class Occupancy:
    """A cluster by groups.

    Attributes:
        groups: In the order in which the topology names them.
        spans: Of every running job its groups and how many nodes it has in each.
        unplaced: Nodes that the topology does not name.
    """

    groups: tuple[Group, ...]
    spans: Mapping[str, Mapping[str, int]]
    unplaced: tuple[str, ...]

    @property
    def free_groups(self) -> tuple[str, ...]:
        """Groups that no job spans: which GRAP may give to a large job."""
        return tuple(group.name for group in self.groups if not group.owners)

    @property
    def idle(self) -> int:
        """Nodes that are idle."""
        return sum(group.count(IDLE) for group in self.groups)

    @property
    def largest_small(self) -> int:
        """The largest job that one group could take now."""
        return max((group.count(IDLE) for group in self.groups), default=0)

    @property
    def largest_large(self) -> int:
        """Nodes that a large job could have now, in groups that no other job spans."""
        return sum(group.count(IDLE) for group in self.groups if not group.owners)

    @property
    def fragmentation(self) -> float:
        """How far idle nodes are from being in one group: 0 if as many are as could be.

        1 − (most idle nodes of a group) / min(idle nodes, nodes of the largest group).
        """
        largest = max((len(group.states) for group in self.groups), default=0)
        possible = min(self.idle, largest)
        return 1 - self.largest_small / possible if possible else 0.0

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        return {
            "groups": [
                {
                    "name": group.name,
                    "nodes": len(group.states),
                    **{state: group.count(state) for state in STATES},
                    "spanned_by": list(group.owners),
                }
                for group in self.groups
            ],
            "spanning_jobs": {
                job: dict(groups) for job, groups in self.spans.items() if len(groups) > 1
            },
            "idle_nodes": self.idle,
            "largest_small_job": self.largest_small,
            "largest_large_job": self.largest_large,
            "free_groups": list(self.free_groups),
            "fragmentation": self.fragmentation,
            "nodes_outside_the_topology": list(self.unplaced),
        }


def occupancy(
    machine: Machine, jobs: Iterable[Job], topology: Topology, level: str = "island"
) -> Occupancy:
    """Brings nodes, jobs and topology together.

    Args:
        machine: Nodes with their states.
        jobs: All jobs.
        topology: Which node is attached to which router.
        level: What is a group: `island`, or `leaf` for what is attached to one router.

    Raises:
        ClusterError: If no node of the cluster is in the topology.
    """
    of = topology.island_of_node() if level == "island" else dict(topology.leaf_of_node)
    known = [name for name in of if name in machine.nodes]
    if not known:
        raise ClusterError(
            f"the topology names none of the cluster's nodes; it names {', '.join(list(of)[:3])}, "
            f"Slurm {', '.join(list(machine.nodes)[:3])}"
        )
    job_of_node: dict[str, list[str]] = {}
    spans: dict[str, dict[str, int]] = {}
    for job in jobs:
        if not job.holds_nodes:
            continue
        for name in job.nodes:
            job_of_node.setdefault(name, []).append(job.id)
            if name in of:
                groups = spans.setdefault(job.id, {})
                groups[of[name]] = groups.get(of[name], 0) + 1
    states: dict[str, dict[str, str]] = {}
    for name in known:
        node, holders = machine.nodes[name], job_of_node.get(name, ())
        if holders:
            wide = any(len(spans[job]) > 1 for job in holders)
            state = SPANNING if wide else INSIDE
        elif not node.works:
            state = OUT
        else:
            state = IDLE if node.is_idle and not node.is_reserved else OTHER
        states.setdefault(of[name], {})[name] = state
    owners: dict[str, list[str]] = {}
    for job_id, groups in spans.items():
        for group in groups if len(groups) > 1 else ():
            owners.setdefault(group, []).append(job_id)
    return Occupancy(
        groups=tuple(
            Group(name, nodes, tuple(owners.get(name, ()))) for name, nodes in states.items()
        ),
        spans=spans,
        unplaced=tuple(name for name in machine.nodes if name not in of),
    )
