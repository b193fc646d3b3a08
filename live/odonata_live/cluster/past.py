"""The queue of a machine at any moment of a job log, or of a schedule.

What `squeue` would have printed then, as far as it is known: who ran on which nodes, who waited.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odonata.errors import ClusterError
from odonata_live.cluster.nodes import Topology
from odonata_live.cluster.queue import QueuedJob, hosts

if TYPE_CHECKING:
    import pyarrow as pa

    from odonata.batch import JobLog, Schedule

#: Nodes that a schedule by GRAP gave to a job, as it writes them: groups with their nodes.
_IN_GROUPS = re.compile(r"(\d+):(\d+)")


@dataclass(frozen=True)
class PastJob:
    """When a job waited and ran, and where.

    Attributes:
        id: Its number or name.
        submit_s: When it came.
        start_s: When it began.
        end_s: When it ended.
        size: How many nodes it had.
        nodes: Their names, where they are known.
        in_groups: By group how many of them it had there, where that is all that is known.
    """

    id: str
    submit_s: int
    start_s: int
    end_s: int
    size: int
    nodes: tuple[str, ...] = ()
    in_groups: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Past:
    """Jobs of a machine that waited and ran. Those that never ran are not among them.

    Where nothing says which nodes a job had, they are its own alone, and are called after it.

    Attributes:
        jobs: In the order in which they came, at least one.
        nodes: Nodes of the machine, where that is known.
        epoch: Unix time of its second 0, where that is known.
        communication: By job, the share of its time that it communicates, where that is known.
        groups: By name of a group how many nodes it has, if jobs are known by groups.
    """

    jobs: tuple[PastJob, ...]
    nodes: int | None
    epoch: int | None
    communication: Mapping[str, float]
    groups: Mapping[str, int]

    @classmethod
    def of_log(cls, log: JobLog) -> Past:
        """What a job log recorded.

        Raises:
            ClusterError: If it records no starts, or counts processors and tells no nodes.
        """
        meta = log.meta
        return _past(log.jobs, "the log", log.unit, meta["machine_nodes"], meta["epoch"], {})

    @classmethod
    def of_schedule(cls, schedule: Schedule, epoch: int | None = None) -> Past:
        """What a simulation of the scheduler made of a log.

        Args:
            schedule: With GRAP its groups are known, with Slurm's configuration its nodes.
            epoch: Unix time of the log's second 0.

        Raises:
            ClusterError: If nothing started, or it counts processors and tells no nodes.
        """
        nodes, groups = schedule.machine_nodes, {}
        if grap := schedule.options.get("schedule", {}).get("grap"):
            count = int(grap["groups"])
            # As equal as possible, the larger first: as the simulator cuts the machine.
            groups = {str(g): nodes // count + (g < nodes % count) for g in range(count)}
        where = f"the schedule {schedule.name}"
        return _past(schedule.jobs, where, schedule.unit, nodes, epoch, groups)

    @property
    def span_s(self) -> tuple[int, int]:
        """From the first submission to the last end."""
        return self.jobs[0].submit_s, max(job.end_s for job in self.jobs)

    def queue_at(self, time_s: int) -> list[QueuedJob]:
        """Jobs that waited or ran at a moment; one that ends then has ended.

        Args:
            time_s: In the log's time, seconds.
        """
        return next(self.queues([time_s]))

    def queues(self, times_s: Iterable[int]) -> Iterator[list[QueuedJob]]:
        """The queue at several moments, which follow each other."""
        coming = iter(self.jobs)
        job = next(coming, None)
        present: list[PastJob] = []
        for time_s in times_s:
            while job is not None and job.submit_s <= time_s:
                present.append(job)
                job = next(coming, None)
            present = [job for job in present if job.end_s > time_s]
            yield list(_queued(present, time_s))

    def topology(self) -> Topology | None:
        """Groups as a topology, where jobs are known by groups; each is an island of its own."""
        if not self.groups:
            return None
        leaves = {f"{g}/{k}": g for g, count in self.groups.items() for k in range(count)}
        return Topology(leaves, {group: group for group in self.groups})


def _queued(jobs: list[PastJob], time_s: int) -> Iterator[QueuedJob]:
    taken: dict[str, int] = {}
    for job in jobs:
        if time_s < job.start_s:
            yield QueuedJob(job.id, "PENDING", ())
            continue
        nodes = list(job.nodes)
        for group, count in job.in_groups:
            # Whole nodes: each is of one job, so that any numbering of them will do.
            first = taken.get(group, 0)
            nodes += [f"{group}/{k}" for k in range(first, first + count)]
            taken[group] = first + count
        if not nodes:
            nodes = [f"{job.id}/{k}" for k in range(job.size)]
        yield QueuedJob(job.id, "RUNNING", tuple(nodes))


def _past(
    table: pa.Table,
    where: str,
    unit: str,
    nodes: int | None,
    epoch: int | None,
    groups: Mapping[str, int],
) -> Past:
    columns: dict[str, list[Any]] = {name: table[name].to_pylist() for name in table.column_names}

    def column(name: str) -> list[Any]:
        return columns.get(name) or [None] * table.num_rows

    jobs: list[PastJob] = []
    shares: dict[str, float] = {}
    for name, submit, start, end, run, size, list_, in_groups, share in zip(
        *(column("id"), column("submit_s"), column("start_s"), column("end_s"), column("run_s")),
        *(column("nodes"), column("node_list"), column("group_nodes")),
        column("communication_share"),
        strict=True,
    ):
        if start is None:
            continue
        if unit == "processors" and not list_:
            raise ClusterError(
                f"{where} counts processors, and names no nodes of job {name}: whether it had "
                "several, and who shared them, is not known. If it counts nodes: --unit nodes"
            )
        job = PastJob(
            str(name),
            int(submit),
            int(start),
            int(start + run if end is None else end),
            int(size or 0),
            hosts(list_, f"{where}: job {name}") if list_ else (),
            tuple((group, int(n)) for group, n in _IN_GROUPS.findall(in_groups or "")),
        )
        jobs.append(job)
        if share is not None:
            shares[job.id] = float(share)
    if not jobs:
        raise ClusterError(
            f"{where} records no starts; `odonata schedule` simulates when its jobs would have "
            "started, and what it leaves may be given in place of the log"
        )
    jobs.sort(key=lambda job: job.submit_s)
    known = groups if any(job.in_groups for job in jobs) else {}
    return Past(tuple(jobs), nodes, epoch, shares, known)


def read_past(
    path: Path, schedule: str | None = None, how: Mapping[str, Any] | None = None
) -> Past:
    """What a job log, or the directory of a schedule, tells of the past.

    Args:
        path: A log that `odonata.read_job_log` reads, or what `odonata schedule` or `odonata slurm`
            left.
        schedule: Which of the schedules of a directory; may be left out if there is one.
        how: Arguments of `odonata.read_job_log`.

    Raises:
        JobLogError: If the log cannot be read.
        OutputError: If the directory cannot be read.
        ClusterError: If it does not tell who ran when.
    """
    if not path.is_dir():
        from odonata.batch import read_job_log

        if schedule is not None:
            raise ClusterError(f"{path} is a job log; allowed: a schedule of a directory only")
        return Past.of_log(read_job_log(path, **(how or {})))
    from odonata.batch.schedules import load_schedules

    found, description = load_schedules(path)
    by_name = {one.name: one for one in found}
    if schedule is None and len(by_name) == 1:
        (schedule,) = by_name
    if schedule not in by_name:
        asked = "which schedule?" if schedule is None else f"no schedule {schedule!r};"
        raise ClusterError(f"{path}: {asked} there are: {', '.join(by_name)}")
    return Past.of_schedule(by_name[schedule], description.get("log", {}).get("epoch"))
