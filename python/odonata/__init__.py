"""Odonata: the network of a supercomputer and everything that runs on it, simulated together.

A scenario says what is wired, how packets are routed, and which jobs send what::

    import odonata

    result = odonata.run("examples/demo.toml")
    result.jobs.to_pandas()
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from odonata.errors import (
    CheckpointError,
    InternalError,
    JobLogError,
    OdonataError,
    OutputError,
    ScenarioError,
    SimulationError,
)

if TYPE_CHECKING:
    from odonata.batch import generate_job_log, read_job_log, schedule
    from odonata.checkpoint import Checkpoint
    from odonata.results import Result
    from odonata.scenario import Scenario
    from odonata.simulate import run
    from odonata.steering import Uplinks, UplinkSwitch, optimal_uplinks, steer_uplinks
    from odonata.study.comparing import Comparison, compare
    from odonata.study.interference import Interference, interference
    from odonata.units import Duration, Rate, Size

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "Comparison",
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
    "UplinkSwitch",
    "Uplinks",
    "compare",
    "generate_job_log",
    "interference",
    "optimal_uplinks",
    "read_job_log",
    "run",
    "schedule",
    "steer_uplinks",
]

#: Names that are loaded on first use, and where they are: scenario files, tables and plots take
#: most of a second to import, which ``odonata --help`` does not need.
_LAZY = {
    "Checkpoint": "odonata.checkpoint",
    "Comparison": "odonata.study.comparing",
    "Duration": "odonata.units",
    "Interference": "odonata.study.interference",
    "Rate": "odonata.units",
    "Result": "odonata.results",
    "Scenario": "odonata.scenario",
    "Size": "odonata.units",
    "UplinkSwitch": "odonata.steering",
    "Uplinks": "odonata.steering",
    "compare": "odonata.study.comparing",
    "generate_job_log": "odonata.batch",
    "interference": "odonata.study.interference",
    "optimal_uplinks": "odonata.steering",
    "read_job_log": "odonata.batch",
    "run": "odonata.simulate",
    "schedule": "odonata.batch",
    "steer_uplinks": "odonata.steering",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
