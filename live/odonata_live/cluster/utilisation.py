"""Background network utilisation: how much of a cluster is communicating.

After Salimi Beni and Cosenza, "An Analysis of Long-Tailed Network Latency Distribution and
Background Traffic on Dragonfly+" (2022), section 5.1, equations 1 and 2.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from odonata.errors import ClusterError
from odonata_live.cluster.queue import QueuedJob


@dataclass(frozen=True)
class Utilisation:
    """Background network utilisation, and the counts that it is made of.

    A job communicates if it runs on as many nodes as `utilisation` was given, two by default.

    Attributes:
        b1: Equation 1, N_c / N_t.
        b: Equation 2, (N_c / N_t) · (N'_c / N_a). Jobs of one node lower it; it is b1 without them.
        b_shared: N'_c / N_t: as b1, but a node counts once for each communicating job on it, so
            that sharing raises it, which the paper's text asks for and equation 2 does not do.
            May exceed 1.
        n_c: Nodes on which a communicating job runs, each once.
        n_t: Nodes of the cluster.
        n_c_dup: Nodes of communicating jobs (N'_c), each once for every such job on it.
        n_a: Nodes of running jobs, each once for every job on it.
        running_jobs: Jobs that run.
        communicating_jobs: Those that communicate.
        pending_jobs: Jobs that wait; they count in nothing else.
        other_jobs: Jobs in other states (completing, suspended, configuring …).
    """

    b1: float
    b: float
    b_shared: float
    n_c: int
    n_t: int
    n_c_dup: int
    n_a: int
    running_jobs: int
    communicating_jobs: int
    pending_jobs: int
    other_jobs: int

    def to_dict(self) -> dict[str, Any]:
        """All of it by name."""
        return asdict(self)


def utilisation(
    jobs: Iterable[QueuedJob],
    nodes: int | Collection[str],
    *,
    at_least: int = 2,
    exclude: Collection[str] = (),
) -> Utilisation:
    """Background network utilisation of a cluster whose queue is `jobs`.

    Args:
        jobs: All jobs of the queue; those that do not run are counted, and nothing more.
        nodes: Number of nodes of the cluster (N_t), in whatever state; or the names of the nodes
            that are looked at, a group's for instance: of every job only those count then, while
            whether it communicates is still decided by all its nodes.
        at_least: Nodes from which on a job communicates.
        exclude: Numbers of jobs that do not count: one's own.

    Raises:
        ClusterError: If there are no nodes, or more of them run jobs than there are.
    """
    names = None if isinstance(nodes, int) else frozenset(nodes)
    n_t = nodes if isinstance(nodes, int) else len(nodes)
    if n_t < 1:
        raise ClusterError(f"found a cluster of {n_t} nodes; allowed: at least 1")
    if at_least < 1:
        raise ClusterError(f"found {at_least} as the least nodes of a job; allowed: at least 1")
    communicating: set[str] = set()
    n_c_dup = n_a = running = communicating_jobs = pending = other = 0
    for job in jobs:
        if job.id in exclude:
            continue
        if not job.is_running:
            pending += job.state == "PENDING"
            other += job.state != "PENDING"
            continue
        here = job.nodes if names is None else [name for name in job.nodes if name in names]
        if names is not None and not here:
            continue
        running += 1
        n_a += len(here)
        if len(job.nodes) >= at_least:
            communicating_jobs += 1
            n_c_dup += len(here)
            communicating.update(here)
    n_c = len(communicating)
    if n_c > n_t:
        raise ClusterError(
            f"running jobs have {n_c} nodes, but the cluster has {n_t}; give the number of all its "
            "nodes"
        )
    return Utilisation(
        b1=n_c / n_t,
        b=n_c / n_t * (n_c_dup / n_a) if n_a else 0.0,
        b_shared=n_c_dup / n_t,
        n_c=n_c,
        n_t=n_t,
        n_c_dup=n_c_dup,
        n_a=n_a,
        running_jobs=running,
        communicating_jobs=communicating_jobs,
        pending_jobs=pending,
        other_jobs=other,
    )


def by_group(
    jobs: Iterable[QueuedJob],
    group_of_node: Mapping[str, str],
    *,
    at_least: int = 2,
    exclude: Collection[str] = (),
) -> dict[str, Utilisation]:
    """The utilisation of each group's own nodes, by the group's name, in natural order."""
    jobs = list(jobs)
    members: dict[str, list[str]] = {}
    for node, group in group_of_node.items():
        members.setdefault(group, []).append(node)
    return {
        group: utilisation(jobs, members[group], at_least=at_least, exclude=exclude)
        for group in sorted(members, key=lambda name: (len(name), name))
    }


def spanning(
    jobs: Iterable[QueuedJob],
    group_of_node: Mapping[str, str],
    nodes: int,
    *,
    exclude: Collection[str] = (),
    communication: Mapping[str, float] | None = None,
) -> float:
    """Share of the cluster's nodes whose jobs send from one group to another.

    Not in the paper: its utilisation is the same wherever jobs sit, while only jobs of several
    groups load the links between groups. Of each running job of n nodes, of which m_g are in group
    g, every node counts by the part of the job's other nodes that are in other groups,
    Σ_g m_g (n − m_g) / (n − 1): for traffic between all pairs, what leaves the groups. With
    `communication` every job counts by so much more or less, as in `weighted`.
    """
    leaving = _leaving(jobs, group_of_node, exclude, communication or {})
    return math.fsum(leaving.values()) / nodes


def weighted(
    jobs: Iterable[QueuedJob],
    nodes: int,
    communication: Mapping[str, float],
    *,
    at_least: int = 2,
    exclude: Collection[str] = (),
) -> float:
    """Share of the cluster's nodes that communicate, each by how much its job does.

    Not in the paper, where a job that always sends counts as one that hardly does: Σ_j w_j n_j over
    the nodes of the cluster, for running jobs of at least this many nodes. It is `b_shared` where
    all jobs weigh 1.

    Args:
        jobs: All jobs of the queue.
        nodes: Nodes of the cluster.
        communication: By job, how much it communicates: the share of its time, or any quantity,
            such as bytes per second of a node, over what is usual. Who is not there counts 1.
        at_least: Nodes from which on a job communicates.
        exclude: Numbers of jobs that do not count.
    """
    return (
        math.fsum(
            len(job.nodes) * communication.get(job.id, 1.0)
            for job in jobs
            if job.is_running and job.id not in exclude and len(job.nodes) >= at_least
        )
        / nodes
    )


def exposure(
    jobs: Iterable[QueuedJob],
    group_of_node: Mapping[str, str],
    hosts: Collection[str],
    *,
    exclude: Collection[str] = (),
) -> float:
    """How much other jobs load the way out of the groups that a job on `hosts` communicates over.

    Not in the paper. As `spanning`, but of the groups of `hosts` only: the nodes in them that send
    to other groups (each by the part of its job's other nodes that are there), over all nodes of
    these groups. It is 0 where `hosts` are all in one group, whose way out they do not use.
    """
    own = {group_of_node[node] for node in hosts if node in group_of_node}
    if len(own) < 2:
        return 0.0
    leaving = _leaving(jobs, group_of_node, exclude, {})
    sum_ = math.fsum(nodes for group, nodes in leaving.items() if group in own)
    return sum_ / sum(group in own for group in group_of_node.values())


def _leaving(
    jobs: Iterable[QueuedJob],
    group_of_node: Mapping[str, str],
    exclude: Collection[str],
    communication: Mapping[str, float],
) -> dict[str, float]:
    """By group, its nodes of running jobs, each by the part of its job's others outside."""
    leaving: dict[str, float] = {}
    for job in jobs:
        if not job.is_running or job.id in exclude or len(job.nodes) < 2:
            continue
        counts: dict[str, int] = {}
        for node in job.nodes:
            # A node that the topology does not know is in no group with others.
            group = group_of_node.get(node, f"\0{node}")
            counts[group] = counts.get(group, 0) + 1
        total = len(job.nodes)
        for group, count in counts.items():
            part = count * (total - count) / (total - 1) * communication.get(job.id, 1.0)
            leaving[group] = leaving.get(group, 0.0) + part
    return leaving
