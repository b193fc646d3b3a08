"""Checkpoints: what a long run leaves now and then, so that it can go on after it was stopped."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from odonata.errors import CheckpointError, OutputError, Terminated
from odonata.units import Duration, UnitError

#: The checkpoint in the directory of an unfinished run.
CHECKPOINT_FILE = "checkpoint"
#: What a killed process may leave beside it.
_LEFTOVERS = (f".{CHECKPOINT_FILE}.partial", ".results.partial")


@dataclass(frozen=True)
class CheckpointEvent:
    """What became of a checkpoint.

    Attributes:
        kind: ``resumed`` (the run goes on from one), ``written`` or ``failed`` (the one before
            is still there, if there was any).
        at_ps: Simulated time that it holds, in picoseconds.
        bytes: Size of the file, if it was written.
        seconds: Time that it took, if it was written.
        message: Why, if it failed.
    """

    kind: str
    at_ps: int
    bytes: int = 0
    seconds: float = 0.0
    message: str = ""


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often a run writes checkpoints.

    The run goes on from the checkpoint in the directory, if there is one, and writes the next
    ones there: the same call begins a run and takes it up again. When the result is saved, the
    checkpoint is removed.

    Attributes:
        directory: Where the result will be. Must not exist yet, be empty, or hold an unfinished
            run of the same scenario.
        every: Time on the clock between two checkpoints, e.g. ``"10 min"``.
        simulated: Simulated time between two checkpoints, e.g. ``"500 us"``. With both,
            whichever comes first; with neither, as often as before the run was stopped, and only
            when it is stopped if it is a new one.
        resume: ``True`` demands a checkpoint to go on from.
        on_event: Is called when something became of a checkpoint.

    Raises:
        UnitError: If a time is none, or zero.
    """

    directory: str | os.PathLike[str]
    every: str | Duration | None = None
    simulated: str | Duration | None = None
    resume: bool = False
    on_event: Callable[[CheckpointEvent], object] | None = None

    def __post_init__(self) -> None:
        """Reads the times."""
        for name in ("every", "simulated"):
            given = getattr(self, name)
            if given is None:
                continue
            object.__setattr__(self, name, _interval(given))

    @staticmethod
    def intervals(text: str) -> dict[str, Duration]:
        """Reads ``every=10min``, ``simulated=500us`` or both with a comma between them.

        Raises:
            UnitError: If that is not what the text holds.
        """
        found = {}
        for part in text.split(","):
            key, _, value = part.strip().partition("=")
            if key not in ("every", "simulated") or key in found:
                raise UnitError(
                    f'"{part.strip()}"',
                    "every=10min (time on the clock), simulated=500us (simulated time), "
                    "or both with a comma between them",
                )
            found[key] = _interval(value)
        return found


def _interval(given: str | Duration) -> Duration:
    time = Duration(given)
    if time == 0:
        raise UnitError(f'"{given}"', "a duration above 0")
    return time


class Claim:
    """The directory of an unfinished run, which belongs to one process as long as that lives.

    Args:
        checkpoint: Says which directory; it is created if it does not exist.

    Raises:
        OutputError: If it holds something else than an unfinished run, or cannot be written.
        CheckpointError: If another process has it, or there is no checkpoint to go on from.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.directory = Path(checkpoint.directory)
        #: The checkpoint.
        self.file = self.directory / CHECKPOINT_FILE
        #: Whether it was there already.
        self.resumes = self.file.is_file()
        if checkpoint.resume and not self.resumes:
            raise CheckpointError(f"{self.directory}: there is no checkpoint to go on from")
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            self._lock = os.open(self.directory, os.O_RDONLY)
            try:
                self._take()
            except BaseException:
                os.close(self._lock)
                raise
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise OutputError(f"{self.directory}: cannot be written: {reason}") from error

    def _take(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CheckpointError(
                f"{self.directory}: another process is running there; wait for it, or choose "
                "another directory"
            ) from None
        except OSError:
            pass  # Some network file systems cannot lock; then it is up to the user.
        present = {path.name for path in self.directory.iterdir()}
        if not self.resumes and not present <= set(_LEFTOVERS):
            raise OutputError(
                f"{self.directory}: already holds files, and results are never overwritten. "
                "Choose another directory, or remove this one."
            )
        self._remove_leftovers()

    def _remove_leftovers(self) -> None:
        for name in _LEFTOVERS:
            leftover = self.directory / name
            if leftover.is_dir():
                shutil.rmtree(leftover)
            else:
                leftover.unlink(missing_ok=True)

    @contextlib.contextmanager
    def completing(self) -> Iterator[Path]:
        """A temporary directory whose files appear in the claimed one when the block ends well.

        Until all of them are there, the checkpoint is there too.
        """
        partial = self.directory / _LEFTOVERS[1]
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        yield partial
        for file in sorted(partial.iterdir()):
            with file.open("rb") as written:
                os.fsync(written.fileno())
        for file in sorted(partial.iterdir()):
            file.replace(self.directory / file.name)
        partial.rmdir()
        os.fsync(self._lock)
        self.end()

    def end(self) -> None:
        """Removes the checkpoint and lets others have the directory."""
        self.file.unlink(missing_ok=True)
        self._remove_leftovers()
        with contextlib.suppress(OSError):
            self.directory.rmdir()  # Unless there is a result in it.
        os.close(self._lock)

    def release(self) -> None:
        """Lets others have the directory; removes it if the run has left nothing there."""
        with contextlib.suppress(OSError):
            self.directory.rmdir()
        os.close(self._lock)


def engine_arguments(
    checkpoint: Checkpoint, claim: Claim, seen: Callable[[CheckpointEvent], object]
) -> dict[str, Any]:
    """What the engine wants to know of checkpoints."""

    def report(event: Mapping[str, Any]) -> None:
        seen(CheckpointEvent(**event))

    every, simulated = checkpoint.every, checkpoint.simulated
    return {
        "checkpoint_file": str(claim.file),
        "resume": claim.resumes,
        "every_wall_s": None if every is None else int(every) * 1e-12,
        "every_simulated_ps": None if simulated is None else int(simulated),
        "checkpointed": report,
    }


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """Turns SIGTERM into :class:`Terminated`, unless the program has its own way with it."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Terminated

    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    )
    if not ours:
        yield
        return
    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
