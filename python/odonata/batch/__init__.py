"""Job logs and batch schedules: which job of a machine's log starts when, under which policy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odonata.lazy import on_first_use

if TYPE_CHECKING:
    from odonata.batch.from_scenario import run_schedules
    from odonata.batch.joblog import JobLog, generate_job_log, read_job_log
    from odonata.batch.network import Mix, Network, SharedLinks, SharedPackets, SpeedUps
    from odonata.batch.options import Multifactor, Outage, Window
    from odonata.batch.schedules import Schedule, recorded_schedule, save_schedules, schedule
    from odonata.batch.slurm import SlurmSchedule, schedule_as_slurm

__all__ = [
    "JobLog",
    "Mix",
    "Multifactor",
    "Network",
    "Outage",
    "Schedule",
    "SharedLinks",
    "SharedPackets",
    "SlurmSchedule",
    "SpeedUps",
    "Window",
    "generate_job_log",
    "read_job_log",
    "recorded_schedule",
    "run_schedules",
    "save_schedules",
    "schedule",
    "schedule_as_slurm",
]

#: Where each name is. Every scenario reads `[schedule]`, of which tables of job logs are no part.
_MODULES = {
    **dict.fromkeys(("JobLog", "generate_job_log", "read_job_log"), "joblog"),
    **dict.fromkeys(("Mix", "Network", "SharedLinks", "SharedPackets", "SpeedUps"), "network"),
    **dict.fromkeys(("Multifactor", "Outage", "Window"), "options"),
    **dict.fromkeys(("Schedule", "recorded_schedule", "save_schedules", "schedule"), "schedules"),
    **dict.fromkeys(("SlurmSchedule", "schedule_as_slurm"), "slurm"),
    "run_schedules": "from_scenario",
}

__getattr__, __dir__ = on_first_use(
    __name__, {name: f"odonata.batch.{module}" for name, module in _MODULES.items()}
)
