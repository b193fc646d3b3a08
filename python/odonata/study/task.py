"""One simulation as plain data: what goes to a worker, and what comes back."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from odonata.errors import OdonataError, SimulationError
from odonata.plug_ins import Kind, register_functions
from odonata.scenario import Scenario
from odonata.scenario.files import fingerprint_of

if TYPE_CHECKING:
    from odonata.study.file import Measure


@dataclass(frozen=True)
class Task:
    """What a worker needs, as plain data that every process of the same version can read.

    Attributes:
        key: Fingerprint of the point.
        scenario_fingerprint: Of the scenario and of what the files hold that it names.
        name: Of the point, for people.
        scenario: As nested dicts and lists.
        directory: What its paths are relative to, absolute.
        measures: What is kept, as in the study file.
        plug_ins: Functions that were registered: kind, name, module, function.
    """

    key: str
    scenario_fingerprint: str
    name: str
    scenario: Mapping[str, Any]
    directory: str
    measures: Sequence[Mapping[str, Any]]
    plug_ins: tuple[tuple[Kind, str, str, str], ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What a worker found.

    Attributes:
        values: Every measure by its column; ``None`` where there is no value.
        cpu_s: Processor time of the simulation.
        version: Of the worker's Odonata.
        engine: Names the sources of the worker's engine.
        scenario_fingerprint: Of what the worker simulated, with the files that it found.
        saturated: Names of the jobs whose traffic piled up.
        aborted: Names of the jobs that were aborted, as a packet of them was lost too often.
    """

    values: Mapping[str, float | None]
    cpu_s: float
    version: str
    engine: str
    scenario_fingerprint: str
    saturated: Sequence[str] = ()
    aborted: Sequence[str] = ()


class Executor(Protocol):
    """Runs tasks somewhere."""

    def run(
        self, tasks: Sequence[Task], report: Callable[[str, float], object]
    ) -> Generator[tuple[Task, Outcome | TaskError]]:
        """Runs tasks, in their order where it can.

        Args:
            tasks: Of different keys.
            report: Called now and then with the key of a running task and the share of it that is
                done; with an empty key, that time has passed.

        Yields:
            Each task with its outcome as it ends, or with its error if it cannot be simulated.
            Closing the generator stops those that run.

        Raises:
            TaskError: If a worker dies.
        """


class TaskError(SimulationError):
    """A task that failed, or whose worker died."""


def simulate_task(task: Task, report: Callable[[float], object] | None = None) -> Outcome:
    """Simulates with one thread.

    Args:
        task: What.
        report: Called with the share that is done about five times a second; what it raises stops
            the simulation.

    Raises:
        OdonataError: If it fails.
    """
    from odonata import _engine
    from odonata.results.summary import aborted_jobs, saturated_jobs
    from odonata.simulate import Progress
    from odonata.simulate import run as simulate
    from odonata.study.file import Measure
    from odonata.study.measures import measure_all

    register_functions(task.plug_ins)
    scenario = Scenario.from_dict(task.scenario, directory=Path(task.directory))

    def reporting(now: Progress) -> None:
        if report is not None:
            report(now.fraction)

    measures = [Measure(**measure) for measure in task.measures]
    if scenario.schedule is not None:
        return _scheduled(task, scenario, measures, report)
    result = simulate(scenario, threads=1, progress=reporting)
    try:
        values = measure_all(measures, result)
    except KeyError as error:
        raise SimulationError(f"{task.name}: {error.args[0]}") from None
    return Outcome(
        values,
        float(result.timing["cpu_seconds"]),
        _engine.VERSION,
        _engine.SOURCES,
        fingerprint_of(scenario),
        saturated_jobs(result.summary_dict),
        aborted_jobs(result.summary_dict),
    )


def _scheduled(
    task: Task,
    scenario: Scenario,
    measures: Sequence[Measure],
    report: Callable[[float], object] | None,
) -> Outcome:
    """The first schedule of a job log."""
    from odonata import _engine
    from odonata.batch.from_scenario import ScheduleRun
    from odonata.study.measures import measure_all

    def reporting(done: int, jobs: int) -> None:
        if report is not None:
            report(done / max(jobs, 1))

    run = ScheduleRun(scenario)
    made = run.run(run.names[0], reporting)
    cpu_s = float(made.cost["cpu_seconds"])
    fingerprint = fingerprint_of(scenario)
    values = measure_all(measures, made)
    return Outcome(values, cpu_s, _engine.VERSION, _engine.SOURCES, fingerprint)


def failure(task: Task, error: BaseException) -> TaskError:
    """The error of a task as the study reports it: an expected one says which point it was.

    Raises:
        BaseException: The error, if it is not expected.
    """
    if isinstance(error, OdonataError) and error.exit_code.value != 1:
        return TaskError(f"at the point {task.name}: {error}")
    raise error
