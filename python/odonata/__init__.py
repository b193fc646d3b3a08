"""Odonata: the network of a supercomputer and everything that runs on it, simulated together.

A scenario says what is wired, how packets are routed, and which jobs send what::

    import odonata

    result = odonata.run("examples/demo.toml")
    result.jobs.to_pandas()
"""

from __future__ import annotations

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
from odonata.lazy import on_first_use

if TYPE_CHECKING:
    from odonata.api import Topology, Verification, replay, saturation, topology, verify
    from odonata.batch import generate_job_log, read_job_log, schedule
    from odonata.network.steering import Uplinks, UplinkSwitch, optimal_uplinks, steer_uplinks
    from odonata.report.html import write_report
    from odonata.results import Result
    from odonata.scenario import Scenario
    from odonata.scenario.starting import first_scenario
    from odonata.shipped import example
    from odonata.simulate import run
    from odonata.simulate.checkpoint import Checkpoint
    from odonata.study.comparing import Comparison, compare
    from odonata.study.interference import Interference, interference
    from odonata.study.saturation import Saturation
    from odonata.study.sweeping import Swept, sweep
    from odonata.units import Duration, Rate, Size

    __version__: str

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
    "Saturation",
    "Scenario",
    "ScenarioError",
    "SimulationError",
    "Size",
    "Swept",
    "Topology",
    "UplinkSwitch",
    "Uplinks",
    "Verification",
    "__version__",
    "compare",
    "example",
    "first_scenario",
    "generate_job_log",
    "interference",
    "optimal_uplinks",
    "read_job_log",
    "replay",
    "run",
    "saturation",
    "schedule",
    "steer_uplinks",
    "sweep",
    "topology",
    "verify",
    "write_report",
]

#: Names that are loaded on first use, and where they are: scenario files, tables and plots take
#: most of a second to import, which ``odonata --help`` does not need.
_LAZY = {
    "Checkpoint": "odonata.simulate.checkpoint",
    "Comparison": "odonata.study.comparing",
    "Duration": "odonata.units",
    "Interference": "odonata.study.interference",
    "Rate": "odonata.units",
    "Result": "odonata.results",
    "Saturation": "odonata.study.saturation",
    "Scenario": "odonata.scenario",
    "Size": "odonata.units",
    "Swept": "odonata.study.sweeping",
    "Topology": "odonata.api",
    "UplinkSwitch": "odonata.network.steering",
    "Uplinks": "odonata.network.steering",
    "Verification": "odonata.api",
    "compare": "odonata.study.comparing",
    "example": "odonata.shipped",
    "first_scenario": "odonata.scenario.starting",
    "generate_job_log": "odonata.batch",
    "interference": "odonata.study.interference",
    "optimal_uplinks": "odonata.network.steering",
    "read_job_log": "odonata.batch",
    "replay": "odonata.api",
    "run": "odonata.simulate",
    "saturation": "odonata.api",
    "schedule": "odonata.batch",
    "steer_uplinks": "odonata.network.steering",
    "sweep": "odonata.study.sweeping",
    "topology": "odonata.api",
    "verify": "odonata.api",
    "write_report": "odonata.report.html",
}

_get, _ = on_first_use(__name__, _LAZY)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("odonata")
    return _get(name)


def __dir__() -> list[str]:
    return sorted(__all__)
