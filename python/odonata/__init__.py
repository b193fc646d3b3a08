"""Odonata: the network of a supercomputer and everything that runs on it, simulated together.

A scenario says what is wired, how packets are routed, and which jobs send what::

    import odonata

    result = odonata.run("examples/demo.toml")
    result.jobs.to_pandas()
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from odonata.checkpoint import Checkpoint
from odonata.errors import (
    CheckpointError,
    InternalError,
    JobLogError,
    OdonataError,
    OutputError,
    ScenarioError,
    SimulationError,
)
from odonata.scenario import Scenario
from odonata.units import Duration, Rate, Size

if TYPE_CHECKING:
    from odonata.batch import generate_job_log, read_job_log, schedule
    from odonata.results import Result
    from odonata.simulate import run
    from odonata.study.interference import Interference, interference

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "Duration",
    "Interference",
    "InternalError",
    "JobLogError",
    "OdonataError",
    "OutputError",
    "Rate",
    "Result",
    "Scenario",
    "ScenarioError",
    "SimulationError",
    "Size",
    "generate_job_log",
    "interference",
    "read_job_log",
    "run",
    "schedule",
]

#: Names that are loaded on first use: tables and plots take half a second to import.
_LAZY = {
    "Interference": "odonata.study.interference",
    "Result": "odonata.results",
    "generate_job_log": "odonata.batch",
    "interference": "odonata.study.interference",
    "read_job_log": "odonata.batch",
    "run": "odonata.simulate",
    "schedule": "odonata.batch",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
