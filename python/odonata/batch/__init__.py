"""Job logs and batch schedules: which job of a machine's log starts when, under which policy."""

from __future__ import annotations

from odonata.batch.joblog import JobLog, generate_job_log, read_job_log
from odonata.batch.network import Mix, Network, SharedLinks, SharedPackets, SpeedUps
from odonata.batch.options import Multifactor, Window
from odonata.batch.schedules import Schedule, recorded_schedule, save_schedules, schedule
from odonata.batch.slurm import SlurmSchedule, schedule_as_slurm

__all__ = [
    "JobLog",
    "Mix",
    "Multifactor",
    "Network",
    "Schedule",
    "SharedLinks",
    "SharedPackets",
    "SlurmSchedule",
    "SpeedUps",
    "Window",
    "generate_job_log",
    "read_job_log",
    "recorded_schedule",
    "save_schedules",
    "schedule",
    "schedule_as_slurm",
]
