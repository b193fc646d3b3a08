"""Runs a scenario."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import odonata._engine as _engine
from odonata.errors import CheckpointError, InternalError, Problem, ScenarioError, SimulationError
from odonata.output import CHECKPOINT_FILE, Claim
from odonata.plug_ins.calls import resolved
from odonata.results import Result
from odonata.scenario import Scenario, ScenarioLike
from odonata.scenario.files import difference, essence, words
from odonata.scenario.keys import changed_scenario
from odonata.simulate.checkpoint import (
    Checkpoint,
    CheckpointEvent,
    claim_run,
    engine_arguments,
    stoppable,
)
from odonata.terminal import clean


@dataclass(frozen=True)
class Progress:
    """How far a run is.

    Attributes:
        now_ps: Simulated time in picoseconds.
        packets_delivered: So far.
        bytes_delivered: So far.
        packet_hops: Packets that left a router port so far.
        fraction: Of the run, in 0..=1: of its duration, or of the bytes that its jobs send.
    """

    now_ps: int
    packets_delivered: int
    bytes_delivered: int
    packet_hops: int
    fraction: float


def run(
    scenario: ScenarioLike,
    *,
    set: Mapping[str, Any] | None = None,
    threads: int | None = None,
    seed: int | None = None,
    progress: Callable[[Progress], object] | bool | None = None,
    checkpoint: Checkpoint | None = None,
    **named: Any,
) -> Result:
    """Simulates a scenario; Ctrl-C stops it.

    Args:
        scenario: A scenario, the name of its file, or nested dicts.
        set: Keys to change and their values, such as ``{"network.routing": "par"}``.
        threads: Threads that simulate, instead of the scenario's; results do not depend on it.
        seed: Seed to use instead of the scenario's.
        progress: Is called about five times a second, in the calling thread; what it raises
            stops the run and is raised here. ``True`` shows a bar in the terminal or notebook.
        checkpoint: Where and how often to write checkpoints; the run continues from one that is
            already there. Ctrl-C and SIGTERM write a last one. Whether there are checkpoints, and
            how often the run was stopped, changes nothing in the result.
        **named: Changes by the last part of a key, such as ``routing="par"``, as of :func:`sweep`.

    Returns:
        Everything that was measured.

    Raises:
        ScenarioError: If the scenario cannot be run.
        SimulationError: If the simulation stands still, for instance because of a deadlock.
        KeyboardInterrupt: If it was interrupted.
        CheckpointError: If there is a checkpoint, but the run cannot continue from it.
        OutputError: If the directory of the checkpoints holds something else.
    """
    scenario = changed_scenario(scenario, set, named)
    scenario.check_runnable()
    if seed is not None:
        scenario = scenario.with_set({"seed": seed})
    if progress is True:
        from odonata.progress import ProgressBar, following

        with following(True, ProgressBar, "Simulating") as bar:
            return run(scenario, threads=threads, progress=bar, checkpoint=checkpoint)
    report = None
    if progress:
        reporting = progress

        def report(now: Mapping[str, Any]) -> None:
            reporting(Progress(**now))

    if checkpoint is None:
        raw = ask_engine(_engine.run, scenario, report, threads=threads)
        return Result.from_engine(raw, scenario)
    claim = claim_run(checkpoint)
    try:
        with stoppable():
            seen = checkpoint.on_event or _warn
            more = engine_arguments(checkpoint, claim, seen)
            identity = {"result": essence(scenario), "keys": words(scenario)}
            more["identity_json"] = json.dumps(identity)
            try:
                raw = ask_engine(_engine.run, scenario, report, threads=threads, **more)
            except CheckpointError as error:
                raise _in_keys(error, claim, identity) from None
        result = Result.from_engine(raw, scenario)
    except BaseException:
        claim.release()
        raise
    result.claim = claim
    return result


def _in_keys(error: CheckpointError, claim: Claim, identity: Mapping[str, Any]) -> CheckpointError:
    """The error, said in the keys of the scenario if it is that the scenario is another one."""
    if not claim.resumes:
        return error
    try:
        header = _engine.checkpoint_header(str(claim.directory / CHECKPOINT_FILE))
    except _engine.CheckpointError:
        return error
    if header["sources"] != _engine.SOURCES or header["scenario"] == identity["result"]:
        return error
    found = difference(header["keys"], identity["keys"])
    if found is None:
        return error
    file = claim.directory / CHECKPOINT_FILE
    return CheckpointError(
        f"{file}: a checkpoint of another scenario: {found}. Resume with the scenario and the "
        "files that it was begun with, or start afresh in another directory"
    )


def _warn(event: CheckpointEvent) -> None:
    if event.kind == "failed":
        warnings.warn(clean(event.message), RuntimeWarning, stacklevel=2)


def ask_engine(
    function: Callable[..., Any],
    scenario: Scenario,
    *arguments: Any,
    threads: int | None = None,
    **more: Any,
) -> Any:
    """Calls a function of the engine with a scenario, and says its errors of that scenario.

    Args:
        function: Of ``odonata._engine``; takes the normalised scenario first.
        scenario: What to pass.
        arguments: Further arguments.
        more: Further arguments, by name.
        threads: Instead of the scenario's.

    Raises:
        ScenarioError: If the scenario cannot be run.
        SimulationError: If the simulation stands still.
        CheckpointError: If there is a checkpoint, but the run cannot continue from it.
        InternalError: If the engine has a defect.
    """
    normalised = scenario.normalised()
    if threads is not None:
        normalised["simulation"]["threads"] = threads
    try:
        with resolved(scenario, normalised) as form:
            text = json.dumps(form)
            try:
                return function(text, *arguments, **more)
            except _engine.SpecError as error:
                raise scenario.error(_all_problems(text, Problem(*error.args))) from None
    except ScenarioError as error:
        raise scenario.error(error.problems) from error.__cause__
    except _engine.CheckpointError as error:
        raise CheckpointError(str(error)) from None
    except _engine.SimulationError as error:
        raise SimulationError(str(error)) from None
    except _engine.InternalError as error:
        raise InternalError(str(error)) from None


def _all_problems(form: str, first: Problem) -> list[Problem]:
    """What is wrong with a scenario in the engine's form, of which the engine has said `first`."""
    try:
        others = [Problem(*one) for one in _engine.faults(form)]
    except _engine.SpecError:
        return [first]
    return [first, *(one for one in others if one.path != first.path)]
