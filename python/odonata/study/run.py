"""Runs a study file: what is missing of it, anywhere, and writes what it shows."""

from __future__ import annotations

import json
import statistics
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from odonata import _engine
from odonata.errors import OutputError
from odonata.output import Claim, warn, write_file
from odonata.plug_ins import registered_functions
from odonata.results.stored import ANY_NUMBER, Maybe, OrNull
from odonata.study.bases import BASE_FILE, STUDY_FILE
from odonata.study.cost import HOPS_PER_S
from odonata.study.dataset import (
    DATASET_FILE,
    FAILED_FILE,
    build_dataset,
    read_dataset,
    write_dataset,
    write_failed,
)
from odonata.study.execution import STORE_FILE, Record, Store
from odonata.study.file import Measure, StudyFile
from odonata.study.local import LocalExecutor
from odonata.study.sweep import FailedPoint, Sweep, SweepPoint
from odonata.study.task import Executor, Outcome, Task, TaskError


@dataclass(frozen=True)
class StudyProgress:
    """How far a study is.

    Attributes:
        share: Of the estimated work of all points asked for, in 0..=1.
        done: Points that are done.
        total: Points asked for.
        remaining_s: Estimate of the time that it still takes; ``None`` while nothing is known.
    """

    share: float
    done: int
    total: int
    remaining_s: float | None


@dataclass(frozen=True)
class Estimate:
    """What a study, or the rest of it, is likely to cost.

    Attributes:
        points: Asked for.
        done: Of these, in the directory already.
        cpu_s: Processor time of the others.
        measured: Whether that follows from points that are done, and not from a rule of thumb.
        unknown: Points of whose work nothing is known; they count as the others do on average.
        outdated: Why points have to be simulated again of which there are records.
    """

    points: int
    done: int
    cpu_s: float
    measured: bool
    unknown: int
    outdated: Sequence[str] = ()


def work_of(points: Sequence[SweepPoint]) -> list[float]:
    """Estimated packet-hops of each; where nothing is known, those of the others on average."""
    known = [p.packet_hops for p in points if p.packet_hops is not None]
    usual = statistics.fmean(known) if known else HOPS_PER_S
    return [usual if p.packet_hops is None else p.packet_hops for p in points]


def estimate(points: Sequence[SweepPoint], directory: Path) -> Estimate:
    """What is missing and what it is likely to cost; writes nothing.

    Args:
        points: Asked for.
        directory: Where an earlier run may have left points that are done.

    Raises:
        OutputError: If the directory cannot be read.
    """
    records: list[Record | None] = [None] * len(points)
    outdated: list[str] = []
    if (directory / STORE_FILE).exists():
        with _opened(directory, points) as store:
            records = [store.get(point) for point in points]
            outdated = store.outdated(points)
    work = work_of(points)
    spent = [(r["cpu_s"], w) for r, w in zip(records, work, strict=True) if r is not None]
    missing = sum(w for r, w in zip(records, work, strict=True) if r is None)
    rate = _rate(spent)
    return Estimate(
        points=len(points),
        done=len(spent),
        cpu_s=missing / (rate or HOPS_PER_S),
        measured=rate is not None,
        unknown=sum(point.packet_hops is None for point in points),
        outdated=outdated,
    )


def _opened(directory: Path, points: Sequence[SweepPoint]) -> Store:
    """The store of a study, whose records hold what is measured at its points.

    Raises:
        OutputError: If it cannot be read, or one does not; tells its line.
    """
    store = Store(directory / STORE_FILE)
    try:
        measures = points[0].measures if points else ()
        columns = [Measure(**one).column_name for one in measures]
        values = dict.fromkeys(columns, OrNull(ANY_NUMBER))
        form: dict[str, Any] = {"values": values, "cpu_s": float, "version": str}
        form |= dict.fromkeys(("saturated", "aborted"), Maybe([str]))
        for point in points:
            store.check(point, form)
    except BaseException:
        store.close()
        raise
    return store


def _rate(spent: Sequence[tuple[float, float]]) -> float | None:
    """Estimated packet-hops per second of processor time, of points that are done."""
    seconds = sum(cpu_s for cpu_s, _ in spent)
    return sum(hops for _, hops in spent) / seconds if seconds > 0 else None


def run_sweep(
    sweep: Sweep,
    directory: Path,
    *,
    points: Sequence[SweepPoint] | None = None,
    executor: Executor | None = None,
    progress: Callable[[StudyProgress], object] | None = None,
    seen: Callable[[SweepPoint, Mapping[str, Any]], object] | None = None,
    notice: Callable[[str], object] = warn,
    claim: Claim | None = None,
) -> pa.Table:
    """Simulates what is missing of a study and writes its dataset.

    Every point that ends is kept at once. Killed at any moment, the same call goes on; it ends
    with the same dataset, byte for byte.

    Args:
        sweep: The study.
        directory: For its results; if it holds those of an earlier run, points that are done and
            have not changed are not simulated again.
        points: Those to simulate. Default: all.
        executor: Where. Default: on all processors of this machine.
        progress: Called about five times a second.
        seen: Called with every point that is done, those of earlier runs first, with the values of
            its measures by column.
        notice: Called with the reason why points are simulated again that are there in another
            form, and where files are that showed something else. Default: a warning.
        claim: Of the directory, if it is claimed already.

    Returns:
        The dataset: all points of the study that are done, those of earlier runs included.

    Raises:
        OutputError: If the directory cannot be written.
        TaskError: If a point fails and the others are not to go on (`Sweep`'s ``go_on``), or all
            fail; what was done by then is kept.
        KeyboardInterrupt: If it was interrupted; what was done by then is kept.
    """
    wanted = sweep.points if points is None else points
    with claim or Claim(directory, goes_on=STORE_FILE) as held:
        directory = held.directory
        with _opened(directory, sweep.points) as store:
            for sentence in store.outdated(wanted):
                notice(sentence)
            _run_missing(sweep, wanted, store, executor or LocalExecutor(), progress, seen)
            records = {point.fingerprint(): store.get(point) for point in sweep.points}
        known = {key: record for key, record in records.items() if record is not None}
        table = build_dataset(sweep.study, sweep.points, known)
        with held.updating(partial(_grown, sweep.study), notice) as written:
            for name, text in sweep.study.sources(directory).items():
                write_file(written / name, text)
            write_dataset(table, written)
            # What failed before may be there still.
            if sweep.failed or (directory / FAILED_FILE).exists():
                write_failed(sweep.failed, written)
    return table


def _grown(study: StudyFile, old: Path, new: Path) -> bool:
    """Whether a dataset has all points that the one before has, of the same study."""
    for name in (STUDY_FILE, BASE_FILE):
        before_and_now = [
            (side / name).read_bytes() if (side / name).exists() else None for side in (old, new)
        ]
        if before_and_now[0] not in (None, before_and_now[1]):
            return False
    if not (old / DATASET_FILE).exists():
        return True
    try:
        before, now = read_dataset(old, study), read_dataset(new, study)
    except OutputError:
        return False
    if before.schema != now.schema:
        return False
    rows = {json.dumps(row) for row in now.to_pylist()}
    return all(json.dumps(row) in rows for row in before.to_pylist())


def _run_missing(
    sweep: Sweep,
    wanted: Sequence[SweepPoint],
    store: Store,
    executor: Executor,
    progress: Callable[[StudyProgress], object] | None,
    seen: Callable[[SweepPoint, Mapping[str, Any]], object] | None,
) -> None:
    work = dict(zip((p.fingerprint() for p in wanted), work_of(wanted), strict=True))
    alike = Counter(p.fingerprint() for p in wanted)
    # Points that differ in what no result depends on, such as a title, are one simulation.
    missing = {p.fingerprint(): p for p in wanted if store.get(p) is None}
    same: dict[str, list[SweepPoint]] = {}
    for point in wanted:
        record = store.get(point)
        if record is None:
            same.setdefault(point.fingerprint(), []).append(point)
        elif seen is not None:
            seen(point, record["values"])
    tasks = [_task(key, point) for key, point in missing.items()]
    # The longest first, so that at the end no processor waits for one that began late.
    tasks.sort(key=lambda task: -work[task.key])
    total = sum(work.values()) or 1.0
    begun_with = done = total - sum(work[key] for key in missing)
    still = sum(alike[key] for key in missing)
    shares: dict[str, float] = {}
    started = time.monotonic()

    def tell() -> None:
        if progress is None:
            return
        share = min((done + sum(work[k] * s for k, s in shares.items())) / total, 1.0)
        gained = share - begun_with / total
        elapsed = time.monotonic() - started
        remaining = elapsed * (1 - share) / gained if gained > 0.005 else None
        finished = len(wanted) - still
        progress(StudyProgress(share, finished, len(wanted), remaining))

    def report(key: str, share: float) -> None:
        if key:
            shares[key] = share
        else:
            tell()

    running = executor.run(tasks, report)
    failed: dict[str, TaskError] = {}
    try:
        for task, outcome in running:
            if isinstance(outcome, TaskError):
                if not sweep.go_on:
                    raise outcome
                failed[task.key] = outcome
                missing.pop(task.key)
                still -= alike[task.key]
                shares.pop(task.key, None)
                done += work[task.key]
                tell()
                continue
            _check(task, outcome)
            values = dict(outcome.values)
            kept: dict[str, Any] = {
                "values": values,
                "saturated": list(outcome.saturated),
                "aborted": list(outcome.aborted),
                "cpu_s": outcome.cpu_s,
                "version": _engine.VERSION,
            }
            store.put(missing.pop(task.key), kept, task.key)
            for point in same[task.key]:
                if seen is not None:
                    seen(point, values)
            still -= alike[task.key]
            shares.pop(task.key, None)
            done += work[task.key]
            tell()
    finally:
        running.close()
    for point in wanted:
        error = failed.get(point.fingerprint())
        if error is not None:
            if len(failed) == len(work):
                raise error
            said = str(error).removeprefix(f"at the point {point.name}: ")
            sweep.failed.append(FailedPoint(point.axes, said, point.scenario.seed))
    tell()


def _check(task: Task, outcome: Outcome) -> None:
    """That a worker simulated with this engine, and with the files of which the study knows.

    Raises:
        TaskError: If it did not.
    """
    if outcome.engine != _engine.SOURCES:
        other = f"Odonata {outcome.version}"
        if outcome.version == _engine.VERSION:
            other = f"another build of {other}"
        raise TaskError(
            f"a worker has {other}, this process Odonata {_engine.VERSION}; install the same one"
        )
    if outcome.scenario_fingerprint != task.scenario_fingerprint:
        raise TaskError(
            f"at the point {task.name}: its worker found other contents in a file that the "
            "scenario names than the study did when it began: the file changed meanwhile, or is "
            "another one on the worker's machine. Nothing was kept of the point; run the same "
            "command again"
        )


def _task(key: str, point: SweepPoint) -> Task:
    return Task(
        key=key,
        scenario_fingerprint=point.scenario_fingerprint,
        name=point.name,
        scenario=point.scenario.to_dict(),
        directory=str(point.scenario.directory.resolve()),
        measures=point.measures,
        plug_ins=registered_functions(),
    )
