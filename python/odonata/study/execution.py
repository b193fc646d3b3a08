"""Runs simulations side by side, and remembers those that are done."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TextIO

from odonata.errors import OutputError
from odonata.results import Result
from odonata.scenario import Scenario
from odonata.simulate import Progress
from odonata.simulate import run as simulate
from odonata.tables import SCHEMA_VERSION

#: What is kept of a simulation: numbers and texts that JSON can hold.
Record = dict[str, Any]


def summary_of(result: Result) -> Record:
    """The figures of a run, as in its ``summary.json``."""
    return result.summary_dict


@dataclass(frozen=True)
class Point:
    """One simulation of a study.

    Attributes:
        name: Names it within its study.
        scenario: What is simulated, with one thread.
        keep: What is kept of the result; a function of a module, so that its name says what it
            does. Default: the summary.
        cost: Roughly proportional to the time it takes; the longest begin first.
    """

    name: str
    scenario: Scenario
    keep: Callable[[Result], Record] = summary_of
    cost: float = 1.0

    def fingerprint(self) -> str:
        """Changes with whatever changes the record: the scenario, what is kept, the version."""
        from odonata import _engine

        what = {
            "scenario": self.scenario.normalised(),
            "keep": f"{self.keep.__module__}.{self.keep.__qualname__}",
            "version": [_engine.VERSION, SCHEMA_VERSION],
        }
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


class Named(Protocol):
    """What a store keeps records of."""

    @property
    def name(self) -> str:
        """What it is, for people."""

    def fingerprint(self) -> str:
        """Changes with whatever changes the record."""


class _StoppedError(Exception):
    """Raised in simulations that go on after the study was interrupted."""


class Store:
    """Records of finished simulations in a file, one line each.

    A line is written whole and synchronised before the next simulation counts as done; one that a
    kill cut off is ignored when the file is read again. Only one process at a time may hold a
    store; the system releases it however that process ends.

    Args:
        file: May not exist yet.

    Raises:
        OutputError: If it cannot be read or written, or another process holds it.
    """

    def __init__(self, file: Path) -> None:
        self._known: dict[str, Record] = {}
        whole = 0
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._file: TextIO = file.open("a", encoding="utf-8")
            _hold(self._file, file)
            for line in file.read_bytes().splitlines(keepends=True):
                if not line.endswith(b"\n"):
                    break
                try:
                    entry = json.loads(line)
                    self._known[entry["fingerprint"]] = entry["record"]
                except (ValueError, KeyError, TypeError):
                    break
                whole += len(line)
            self._file.truncate(whole)
        except OSError as error:
            raise OutputError(f"{file}: {error.strerror or error}") from error

    def get(self, point: Named) -> Record | None:
        """The record of a point, if it is done."""
        return self._known.get(point.fingerprint())

    def put(self, point: Named, record: Record) -> Record:
        """Keeps a record; returns it as it would be read back."""
        fingerprint = point.fingerprint()
        entry = {"name": point.name, "fingerprint": fingerprint, "record": record}
        line = json.dumps(entry)
        self._file.write(line + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        kept: Record = json.loads(line)["record"]
        self._known[fingerprint] = kept
        return kept

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


def _hold(opened: TextIO, file: Path) -> None:
    """Keeps other processes from a file until this one closes it or ends.

    Raises:
        OutputError: If another one has it.
    """
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        opened.close()
        raise OutputError(
            f"{file}: another process is running a study here; wait for it, or choose another "
            "directory with --out"
        ) from None


def run_points(
    points: Sequence[Point],
    *,
    jobs: int | None = None,
    store: Store | None = None,
    progress: Callable[[float, int], object] | None = None,
) -> dict[str, Record]:
    """Simulates points side by side, each with one thread.

    The engine computes without the interpreter's lock, so that threads of this process suffice.

    Args:
        points: Of different names.
        jobs: Simulations at a time. Default: processors.
        store: Remembers what is done; points that it holds are not simulated.
        progress: Is told, about five times a second, the share of the work that is done and how
            many points are.

    Returns:
        Records by the points' names, whatever the order in which they were done.

    Raises:
        ValueError: If two points have one name.
        KeyboardInterrupt: If it was interrupted. What was done by then is in the store.
    """
    names = [point.name for point in points]
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"points of the same name: {twice}")
    records: dict[str, Record] = {}
    open_points = []
    for point in points:
        known = store.get(point) if store else None
        if known is None:
            open_points.append(point)
        else:
            records[point.name] = known
    total = sum(point.cost for point in points) or 1.0
    done = total - sum(point.cost for point in open_points)
    parts: dict[str, float] = {}
    stopped = threading.Event()

    def run(point: Point) -> Record:
        def report(now: Progress) -> None:
            if stopped.is_set():
                raise _StoppedError
            parts[point.name] = now.fraction * point.cost

        return point.keep(simulate(point.scenario, threads=1, progress=report))

    open_points.sort(key=lambda point: -point.cost)
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        futures: dict[Future[Record], Point] = {}
        try:
            futures = {pool.submit(run, point): point for point in open_points}
            pending: Iterable[Future[Record]] = set(futures)
            while pending:
                finished, pending = wait(pending, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in finished:
                    point = futures[future]
                    record = future.result()
                    records[point.name] = store.put(point, record) if store else record
                    done += point.cost
                    parts.pop(point.name, None)
                if progress is not None:
                    progress(min((done + sum(list(parts.values()))) / total, 1.0), len(records))
        except BaseException:
            # Those that wait are not begun, those that run end at their next report.
            stopped.set()
            for future in futures:
                future.cancel()
            raise
    return {name: records[name] for name in names}


def figures_of(record: Mapping[str, Any], job: int = 0) -> Mapping[str, Any]:
    """The figures of one job of a summary."""
    figures: Mapping[str, Any] = record["jobs"][job]
    return figures
