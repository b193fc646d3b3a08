"""Checkpoints: what a long run leaves now and then, so that it can go on after it was stopped."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from odonata.errors import CheckpointError, Terminated
from odonata.output import CHECKPOINT_FILE, Claim
from odonata.units import Duration, UnitError


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

    The run continues from the checkpoint in the directory, if there is one, and writes the next
    ones there: the same call starts a run and continues it. When the result is saved, the
    checkpoint is removed.

    Attributes:
        directory: Where the result will be. Must not exist yet, be empty, or hold an unfinished
            run of the same scenario.
        every: Time on the clock between two checkpoints, e.g. ``"10 min"``.
        simulated: Simulated time between two checkpoints, e.g. ``"500 us"``. With both, whichever
            comes first; with neither, a continued run writes them as often as before it was
            stopped, and a new run only when it is stopped.
        resume: ``True`` requires a checkpoint to continue from.
        on_event: Is called when the run continues from a checkpoint, when one was written, and
            when one could not be written.

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


def claim_run(checkpoint: Checkpoint) -> Claim:
    """Claims the directory of an unfinished run, or of one that begins.

    Raises:
        OutputError: If it holds something else than an unfinished run, another process has it, or
            it cannot be written.
        CheckpointError: If there is no checkpoint to go on from.
    """
    directory = Path(checkpoint.directory)
    if checkpoint.resume and not (directory / CHECKPOINT_FILE).is_file():
        raise CheckpointError(f"{directory}: there is no checkpoint to go on from")
    return Claim(directory, goes_on=CHECKPOINT_FILE)


def engine_arguments(
    checkpoint: Checkpoint, claim: Claim, seen: Callable[[CheckpointEvent], object]
) -> dict[str, Any]:
    """What the engine wants to know of checkpoints."""

    def report(event: Mapping[str, Any]) -> None:
        seen(CheckpointEvent(**event))

    every, simulated = checkpoint.every, checkpoint.simulated
    return {
        "checkpoint_file": str(claim.directory / CHECKPOINT_FILE),
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
