"""Schedules as Slurm makes them, from its own configuration and listings."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from odonata.batch.engine import ask, to_json
from odonata.batch.joblog import JobLog, read_job_log
from odonata.batch.options import INTERVAL, TAU, seconds
from odonata.batch.schedules import Schedule
from odonata.errors import JobLogError


class SlurmSchedule(Schedule):
    """A schedule of Slurm's; its rows and figures count CPUs, not nodes.

    Attributes:
        notes: What the configuration asks for and the simulation does not do.
        machine_cpus: CPUs of the cluster.
    """

    def __init__(self, name: str, options: Mapping[str, Any], raw: Mapping[str, Any]) -> None:
        meta = raw["meta"]
        super().__init__(name, meta["machine_nodes"], options, raw)
        self.notes: list[str] = meta["notes"]
        self.machine_cpus: int = meta["machine_cpus"]


@dataclass(frozen=True)
class Onset:
    """A cluster in use, from which a simulation goes on.

    Attributes:
        at_ms: The moment, milliseconds since 1970; nothing comes or starts before it.
        backfilled_s: The second in which backfill began its last pass, as ``sdiag`` says it.
        running_ms: By id, of jobs that run then on the nodes that the log says they must have:
            since when.
        run_ms: By id: how long jobs run, more precisely than logs say it.
        out: Nodes that no job gets any more; those that run there go on.
    """

    at_ms: int
    backfilled_s: int | None = None
    running_ms: Mapping[str, int] = field(default_factory=dict)
    run_ms: Mapping[str, int] = field(default_factory=dict)
    out: tuple[str, ...] = ()


def schedule_as_slurm(
    log: JobLog | str | os.PathLike[str],
    configuration: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    settings: Sequence[str] = (),
    recorded_priorities: bool = False,
    seconds_per_test: float = 0.0,
    completing_s: float = 0.02,
    onset: Onset | None = None,
    tau: str | int = TAU,
    interval: str | int = INTERVAL,
    name: str = "slurm",
    progress: Callable[[int, int], object] | bool | None = None,
) -> SlurmSchedule:
    """Simulates when Slurm starts the jobs of a log.

    Args:
        log: The log, or its file: ``sacct --parsable2``, ``scontrol show jobs``, JSON of
            ``squeue`` or ``sacct``; any other log will do, with jobs that ask for CPUs only.
        configuration: The cluster's ``slurm.conf``, or listings of ``scontrol show config``,
            ``nodes``, ``partitions``, of ``sacctmgr show qos`` and ``show assoc`` or of
            ``sshare`` (with ``--parsable2``), in any number; what a later one says goes.
        settings: Lines of slurm.conf that replace what the files say, such as
            ``SchedulerParameters=bf_interval=60,bf_window=2880``.
        recorded_priorities: Order jobs by the priorities that the log recorded.
        seconds_per_test: Working time of backfill for one test of a job, which decides how
            far a pass gets before ``bf_max_time`` and how often it pauses: mean cycle over mean
            depth of ``sdiag``.
        completing_s: Seconds that a job holds its nodes beyond its run time (epilogue, messages);
            an emulated cluster without epilogue needs 0.01 s to 0.02 s.
        onset: The cluster in use from which to go on; by default it is idle before the first job.
        tau: Least run time in the bounded slowdown.
        interval: Of the rows of :attr:`Schedule.occupancy`.
        name: What to call it.
        progress: Is called with the number of jobs that have ended and of all. ``True`` shows a
            bar in the terminal or notebook.

    Raises:
        JobLogError: If a file cannot be read, or what it says makes no sense.
        KeyboardInterrupt: If it was interrupted.
    """
    if not isinstance(log, JobLog):
        log = read_job_log(log)
    if isinstance(configuration, (str, os.PathLike)):
        configuration = [configuration]
    if not configuration:
        raise JobLogError("configuration: names no file; allowed: slurm.conf, listings of Slurm")
    spec: dict[str, Any] = {
        "files": [str(Path(path)) for path in configuration],
        "settings": list(settings),
        "recorded_priorities": recorded_priorities,
        "seconds_per_test": float(seconds_per_test),
        "completing_s": float(completing_s),
        "onset": None if onset is None else asdict(onset),
        "tau_s": seconds("tau", tau),
        "interval_s": seconds("interval", interval),
    }
    from odonata.progress import JobsBar, following

    title = "Scheduling"
    with following(progress, lambda console: JobsBar(console, title), title) as reporting:
        raw = ask(log.engine.schedule_as_slurm, to_json(spec), reporting)
    return SlurmSchedule(name, spec, raw)
