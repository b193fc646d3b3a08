"""Runs simulations side by side, and remembers those that are done."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from odonata.errors import OutputError, SimulationError
from odonata.output import opened, reason, warn
from odonata.results import Result
from odonata.results.stored import Form, Maybe, flaw_of
from odonata.results.tables import SCHEMA_VERSION
from odonata.scenario import Scenario
from odonata.scenario.files import fingerprint_of, named_files
from odonata.simulate import Progress
from odonata.simulate import run as simulate

if TYPE_CHECKING:
    from typing_extensions import Self

#: What is kept of a simulation: numbers and texts that JSON can hold.
Record = dict[str, Any]
#: Name of the :class:`Store` in a directory of results.
STORE_FILE = "points.jsonl"


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

    @property
    def scenario_fingerprint(self) -> str:
        """SHA-256 of the scenario and of what the files hold that it names."""
        return fingerprint_of(self.scenario)

    def fingerprint(self) -> str:
        """Changes with whatever changes the record: scenario, files, what is kept, engine."""
        from odonata import _engine

        what = {
            "scenario": self.scenario_fingerprint,
            "keep": _name_of(self.keep),
            "engine": [_engine.SOURCES, SCHEMA_VERSION],
        }
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()


def _name_of(function: Callable[..., Any]) -> str:
    """What a function is called; where its arguments lead is no part of what it keeps."""
    if isinstance(function, partial):
        function = function.func
    return f"{function.__module__}.{function.__qualname__}"


class Named(Protocol):
    """What a store keeps records of."""

    @property
    def name(self) -> str:
        """What it is, for people."""

    @property
    def scenario(self) -> Scenario:
        """What is simulated."""

    @property
    def scenario_fingerprint(self) -> str:
        """SHA-256 of the scenario and of what the files hold that it names."""

    def fingerprint(self) -> str:
        """Changes with whatever changes the record."""


class _StoppedError(Exception):
    """Raised in simulations that go on after the study was interrupted."""


class Store:
    """Records of finished simulations in a file, one line each.

    A record is known by all that it depends on, the build of the engine included; besides, its line
    tells what that was, so that :meth:`outdated` can say why a point has to be simulated again.
    Lines are only added: who goes back to an earlier build, or to a file as it was, finds what was
    simulated with it.

    A line is written whole and synchronised before the next simulation counts as done; one that a
    kill cut off, the last, is ignored when the file is read again. Any other that is not as it was
    written is refused: it ends with a checksum, which lines of before there was one lack. Only one
    process at a time may hold a store; the system releases it however that process ends.

    Args:
        file: May not exist yet.

    Raises:
        OutputError: If it cannot be read or written, holds what was not written so, or another
            process holds it.
    """

    def __init__(self, file: Path) -> None:
        self._path = file
        #: By fingerprint, the line of each record that was read.
        self._lines: dict[str, int] = {}
        self._known: dict[str, Record] = {}
        #: By name, the last line of a point without its record.
        self._named: dict[str, dict[str, Any]] = {}
        whole = 0
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            # Not buffered: what could not be written must not be tried again when it is closed.
            number = opened(file, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            self._file = FileIO(number, "a+b")
            _hold(self._file, file)
            self._file.seek(0)
            for number, line in enumerate(self._file.readall().splitlines(keepends=True), 1):
                if not line.endswith(b"\n"):
                    break
                self._read(line, number)
                whole += len(line)
            self._file.truncate(whole)
            self._length = whole
        except OSError as error:
            raise OutputError(f"{file}: cannot be written: {reason(error)}") from error
        except OutputError:
            self._file.close()
            raise

    def _read(self, line: bytes, number: int) -> None:
        try:
            entry = json.loads(line)
            flaw = flaw_of(entry, _ENTRY)
        except (ValueError, RecursionError) as error:
            raise self._refusal(number, f"it is no JSON ({error})") from None
        if flaw is not None:
            raise self._refusal(number, flaw)
        if "checksum" in entry and entry.pop("checksum") != _checksum(entry):
            raise self._refusal(number, "its checksum is another one")
        self._known[entry["fingerprint"]] = entry.pop("record")
        self._lines[entry["fingerprint"]] = number
        self._named[entry["name"]] = entry

    def _refusal(self, line: int, what: str) -> OutputError:
        return OutputError(
            f"{self._path}: line {line}: not as it was written: {what}. Remove the line, and its "
            "point is simulated again"
        )

    def check(self, point: Named, form: Form) -> None:
        """Refuses the record of a point, if there is one, that does not hold what it should.

        Args:
            point: Which.
            form: As of :func:`odonata.results.stored.read_keys`.

        Raises:
            OutputError: If it does not; tells the line and the key.
        """
        key = point.fingerprint()
        flaw = flaw_of(self._known[key], form) if key in self._known else None
        if flaw is not None:
            raise self._refusal(self._lines.get(key, 0), f"point {point.name}: {flaw}")

    def get(self, point: Named) -> Record | None:
        """The record of a point, if it is done."""
        return self._known.get(point.fingerprint())

    def put(self, point: Named, record: Record, fingerprint: str | None = None) -> Record:
        """Keeps a record; returns it as it would be read back.

        Args:
            point: Of it.
            record: What was found.
            fingerprint: Of the point when its simulation began. Default: now.
        """
        from odonata import _engine

        key = fingerprint or point.fingerprint()
        entry = {
            "name": point.name,
            "fingerprint": key,
            "engine": _engine.SOURCES,
            "version": _engine.VERSION,
            "scenario": point.scenario_fingerprint,
            "files": {file.key: file.contents() for file in named_files(point.scenario)},
            "record": record,
        }
        line = json.dumps({**entry, "checksum": _checksum(entry)})
        try:
            rest = memoryview((line + "\n").encode())
            while rest:
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            # A line is written whole or not at all.
            with contextlib.suppress(OSError):
                self._file.truncate(self._length)
            raise OutputError(f"{self._path}: cannot be written: {reason(error)}") from error
        self._length += len(line.encode()) + 1
        kept: Record = json.loads(line)["record"]
        self._known[key] = kept
        return kept

    def outdated(self, points: Iterable[Named]) -> list[str]:
        """Why points have to be simulated again of which there are records, in a few sentences."""
        from odonata import _engine

        reasons: Counter[str] = Counter()
        for point in points:
            entry = self._named.get(point.name)
            if entry is None or point.fingerprint() in self._known:
                continue
            if "engine" not in entry:
                reasons["it is not known which build of Odonata simulated them"] += 1
            elif entry["engine"] != _engine.SOURCES:
                version = entry.get("version")
                reasons[f"another build of Odonata {version} simulated them"] += 1
            elif entry["scenario"] == point.scenario_fingerprint:
                reasons["something else is measured of them now"] += 1
            else:
                held = entry.get("files", {})
                changed = [
                    f"{file.name} ({file.key})"
                    for file in named_files(point.scenario)
                    if held.get(file.key, "") != file.contents()
                ]
                what = f"{' and '.join(changed)} changed" if changed else "the scenario changed"
                reasons[f"{what} since"] += 1
        return [
            f"{count} that {'was' if count == 1 else 'were'} simulated before "
            f"{'has' if count == 1 else 'have'} to be simulated again: {why}"
            for why, count in reasons.items()
        ]

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def __enter__(self) -> Self:
        """Closes the file at the end of the block."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Closes the file."""
        self.close()


#: What a line holds; the rest came later.
_ENTRY = {"name": str, "fingerprint": str, "record": {}, "checksum": Maybe(str)}


def _checksum(entry: Mapping[str, Any]) -> str:
    """SHA-256 of a line as it is read back."""
    return hashlib.sha256(json.dumps(json.loads(json.dumps(entry))).encode()).hexdigest()


def _hold(opened: FileIO, file: Path) -> None:
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
    notice: Callable[[str], object] = warn,
) -> dict[str, Record]:
    """Simulates points side by side, each with one thread.

    The engine computes without the interpreter's lock, so that threads of this process suffice.

    Args:
        points: Of different names.
        jobs: Simulations at a time. Default: processors.
        store: Remembers what is done; points that it holds are not simulated.
        progress: Called about five times a second with the share of the work that is done and how
            many points are.
        notice: Called with the reason why points are simulated again that the store holds in
            another form.

    Returns:
        Records by the points' names, whatever the order in which they were done.

    Raises:
        ValueError: If two points have one name.
        SimulationError: If a file that a scenario names changes while it is simulated.
        KeyboardInterrupt: If it was interrupted. What was done by then is in the store.
    """
    names = [point.name for point in points]
    if len(set(names)) < len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"points of the same name: {twice}")
    records: dict[str, Record] = {}
    open_points = []
    begun = {point.name: point.fingerprint() for point in points}
    if store is not None:
        for sentence in store.outdated(points):
            notice(sentence)
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
                    if point.fingerprint() != begun[point.name]:
                        raise changed_meanwhile(point.name)
                    records[point.name] = store.put(point, record) if store else record
                    done += point.cost
                    parts.pop(point.name, None)
                if progress is not None:
                    progress(min((done + sum(list(parts.values()))) / total, 1.0), len(records))
        except BaseException:
            # Points that wait are not begun, points that run end at their next report.
            stopped.set()
            for future in futures:
                future.cancel()
            raise
    return {name: records[name] for name in names}


def changed_meanwhile(point: str) -> SimulationError:
    """The error of a point whose files changed while it was simulated."""
    return SimulationError(
        f"at the point {point}: a file that the scenario names changed while it was simulated, and "
        "nothing was kept of it; run the same command again"
    )


def figures_of(record: Mapping[str, Any], job: int = 0) -> Mapping[str, Any]:
    """The figures of one job of a summary."""
    figures: Mapping[str, Any] = record["jobs"][job]
    return figures
