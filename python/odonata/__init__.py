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
    from odonata.api import (
        Topology,
        Verification,
        describe_trace,
        replay,
        saturation,
        topology,
        verify,
    )
    from odonata.api import describe_trace as trace
    from odonata.batch import generate_job_log, read_job_log, schedule, schedule_as_slurm
    from odonata.batch import read_job_log as log
    from odonata.batch import schedule_as_slurm as slurm
    from odonata.commands import init, show
    from odonata.machines.prediction import predict_collective
    from odonata.mapping import compare_mappings, mapping_costs
    from odonata.network.steering import Uplinks, UplinkSwitch, optimal_uplinks, steer_uplinks
    from odonata.report.html import write_report
    from odonata.results import Result
    from odonata.scenario import Scenario
    from odonata.scenario.starting import first_scenario
    from odonata.shipped import example
    from odonata.simulate import run
    from odonata.simulate.checkpoint import Checkpoint
    from odonata.study.comparing import Comparison, compare
    from odonata.study.design import Design, design
    from odonata.study.interference import Interference, interference
    from odonata.study.saturation import Saturation
    from odonata.study.sweeping import Swept, run_study, sweep
    from odonata.tails import find_modes, fit_families, measure_tail, read_samples
    from odonata.units import Duration, Rate, Size

    __version__: str

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "Comparison",
    "Design",
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
    "compare_mappings",
    "describe_trace",
    "design",
    "example",
    "find_modes",
    "first_scenario",
    "fit_families",
    "generate_job_log",
    "init",
    "interference",
    "log",
    "mapping_costs",
    "measure_tail",
    "optimal_uplinks",
    "predict_collective",
    "read_job_log",
    "read_samples",
    "replay",
    "run",
    "run_study",
    "saturation",
    "schedule",
    "schedule_as_slurm",
    "show",
    "slurm",
    "steer_uplinks",
    "sweep",
    "topology",
    "trace",
    "verify",
    "write_report",
]

#: Names that are loaded on first use, and where they are: scenario files, tables and plots take
#: most of a second to import, which ``odonata --help`` does not need.
_LAZY = {
    "Checkpoint": "odonata.simulate.checkpoint",
    "Comparison": "odonata.study.comparing",
    "Design": "odonata.study.design",
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
    "compare_mappings": "odonata.mapping",
    "describe_trace": "odonata.api",
    "design": "odonata.study.design",
    "example": "odonata.shipped",
    "find_modes": "odonata.tails",
    "first_scenario": "odonata.scenario.starting",
    "fit_families": "odonata.tails",
    "generate_job_log": "odonata.batch",
    "init": "odonata.commands",
    "interference": "odonata.study.interference",
    "log": "odonata.batch:read_job_log",
    "mapping_costs": "odonata.mapping",
    "measure_tail": "odonata.tails",
    "optimal_uplinks": "odonata.network.steering",
    "predict_collective": "odonata.machines.prediction",
    "read_job_log": "odonata.batch",
    "read_samples": "odonata.tails",
    "replay": "odonata.api",
    "run": "odonata.simulate",
    "run_study": "odonata.study.sweeping",
    "saturation": "odonata.api",
    "schedule": "odonata.batch",
    "schedule_as_slurm": "odonata.batch",
    "show": "odonata.commands",
    "slurm": "odonata.batch:schedule_as_slurm",
    "steer_uplinks": "odonata.network.steering",
    "sweep": "odonata.study.sweeping",
    "topology": "odonata.api",
    "trace": "odonata.api:describe_trace",
    "verify": "odonata.api",
    "write_report": "odonata.report.html",
}

#: Commands whose name a module has, which can be called like the function.
_MODULES = ("mapping", "report", "study", "tails")

_get, _ = on_first_use(__name__, _LAZY)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("odonata")
    if name in _MODULES:
        from importlib import import_module

        return import_module(f"{__name__}.{name}")
    if name == "cluster":
        from importlib import import_module

        try:
            return import_module("odonata_live.cluster")
        except ModuleNotFoundError:
            message = "odonata.cluster: needs the package odonata-live, which is not installed"
            raise AttributeError(message) from None
    return _get(name)


def __dir__() -> list[str]:
    return sorted(__all__)
