"""Which nodes a job may have at all, and whether it is ours to place."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from odonata_live.cluster.jobs import Job, has_ended
from odonata_live.cluster.model import Machine, Node, Partition

#: Limit of a job that has none, for plans: a year.
FOREVER_S = 365 * 86400


class LeftToSlurm(Exception):  # noqa: N818 - it is no error
    """The job is better left to Slurm; says why."""


class NotYet(Exception):  # noqa: N818 - it is no error
    """The job cannot start yet, whatever is free; says why."""


def partition_of(job: Job, machine: Machine, *, whole_nodes: bool) -> Partition:
    """The partition of a job that we place.

    Args:
        job: The job.
        machine: The cluster.
        whole_nodes: Whether jobs that would share nodes get whole ones, too.

    Raises:
        LeftToSlurm: If it asks for what Slurm does better.
        NotYet: If its partition is down.
    """
    if job.is_part:
        raise LeftToSlurm("it is a heterogeneous job, whose components start together")
    if job.is_throttled:
        raise LeftToSlurm("only so many tasks of its array may run at once")
    if job.required:
        raise LeftToSlurm("its user names nodes that it has to get")
    if job.reservation:
        raise LeftToSlurm(f"it runs in the reservation {job.reservation}")
    if job.gres:
        raise LeftToSlurm(f"it asks for generic resources ({job.gres})")
    if job.most is not None and job.most > job.count:
        raise LeftToSlurm(f"it takes {job.count} to {job.most} nodes")
    if len(job.partitions) != 1:
        raise LeftToSlurm("it may run in any of several partitions")
    partition = machine.partitions.get(job.partitions[0])
    if partition is None:
        raise LeftToSlurm(f"the partition {job.partitions[0]} is not known")
    if not (partition.exclusive or job.exclusive or whole_nodes):
        raise LeftToSlurm("it shares nodes with other jobs")
    longest = partition.time_limit_s
    if longest is not None and job.limit_s is not None and job.limit_s > longest:
        raise LeftToSlurm("its time limit is beyond the partition's")
    if not partition.is_up:
        raise NotYet(f"the partition {partition.name} is down")
    return partition


def limit_s(job: Job, partition: Partition) -> int:
    """How long a job may run, for plans."""
    if job.limit_s is not None:
        return job.limit_s
    return partition.default_time_s or partition.time_limit_s or FOREVER_S


def allows(features: str) -> Callable[[Node], bool]:
    """What tells of a node whether it has the features that a constraint asks for.

    Args:
        features: Names joined by ``&`` (or ``,``) or by ``|``, as ``sbatch --constraint``.

    Raises:
        LeftToSlurm: If the constraint is more than that.
    """
    if not features:
        return lambda node: True
    names = re.split(r"[&,|]", features)
    mixed = "|" in features and re.search(r"[&,]", features)
    if mixed or not all(re.fullmatch(r"[\w.:=-]+", name) for name in names):
        raise LeftToSlurm("its constraint on features is more than names joined by & or |")
    wanted = frozenset(names)
    if "|" in features:
        return lambda node: bool(wanted & node.features)
    return lambda node: wanted <= node.features


_DEPENDENCY = re.compile(r"(after|afterany|afterok|afternotok):(\d+)(?:\((\w+)\))?")


def check_dependency(job: Job, state_of: Callable[[str], str | None]) -> None:
    """Whether a held job's dependencies are met: Slurm does not look at them while it is held.

    What is found wrongly does no harm: Slurm looks again when the job is released.

    Args:
        job: The job.
        state_of: Tells the state of another job; `None`: Slurm knows nothing of it any more.

    Raises:
        NotYet: If they are not.
        LeftToSlurm: If they are of another kind, or never will be.
    """
    if not job.dependency:
        return
    for part in job.dependency.split(","):
        found = _DEPENDENCY.fullmatch(part)
        if found is None:
            raise LeftToSlurm(f"it depends on other jobs in a way of its own ({part[:60]})")
        kind, other, fulfilled = found.groups()
        if fulfilled == "fulfilled":
            continue
        state = state_of(other)
        if kind == "after" and state not in (None, "PENDING"):
            continue
        if state is not None and not has_ended(state):
            raise NotYet(f"it depends on job {other}")
        if kind == "afterok" and state != "COMPLETED":
            raise LeftToSlurm(f"it depends on job {other}, of which Slurm has to know how it ended")
        if kind == "afternotok" and (state is None or state == "COMPLETED"):
            raise LeftToSlurm(f"it depends on job {other}, of which Slurm has to know how it ended")


def may_have(
    job: Job, partition: Partition, machine: Machine, numbers: Mapping[str, int]
) -> frozenset[int]:
    """Numbers of the nodes that a job may have, whatever their state.

    Raises:
        LeftToSlurm: If these are fewer than it asks for, or its constraint is beyond us.
    """
    fits, out = allows(job.features), frozenset(job.excluded)
    found = frozenset(
        numbers[name]
        for name in partition.nodes
        if name in numbers
        and name in machine.nodes
        and name not in out
        and fits(machine.nodes[name])
    )
    if len(found) < job.count:
        raise LeftToSlurm(
            f"it asks for {job.count} nodes; the topology has {len(found)} that it may have"
        )
    return found
