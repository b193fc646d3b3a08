"""The command line ``odonata``; ``docs/cli.md`` is its manual."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import Any

#: ``ExitCode.INTERRUPTED``, which is not imported yet where this is needed.
_INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line and exits.

    Args:
        arguments: Instead of the process's own.
    """
    ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if ours:
        # An exception in the middle of an import leaves half a module, and comes out as anything.
        signal.signal(signal.SIGINT, _stop)
    from odonata.cli.commands import run

    answer: list[int] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        answer.append(number)
        raise KeyboardInterrupt

    def begin() -> None:
        if ours:
            signal.signal(signal.SIGINT, interrupt)

    dropped = sys.unraisablehook
    if ours:
        sys.unraisablehook = _interrupt_again
    try:
        run(arguments, begin, answer)
    finally:
        if ours:
            sys.unraisablehook = dropped
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _interrupt_again(lost: Any) -> None:
    """Repeats an interrupt that came in a callback of Python's own, whose exceptions it drops.

    Imports have such callbacks, for their locks.
    """
    if not issubclass(lost.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(lost)
        return
    from threading import Timer

    # Not at once: an exception of this hook would be dropped as well.
    again = Timer(0.01, os.kill, (os.getpid(), signal.SIGINT))
    again.daemon = True
    again.start()


def _stop(number: int, frame: FrameType | None) -> None:
    """Ends the process, which has not begun anything yet."""
    message = b"Interrupted: stopped by Ctrl-C; nothing was written\n"
    try:
        os.write(2, message)
    finally:
        os._exit(_INTERRUPTED)


__all__ = ["main"]
