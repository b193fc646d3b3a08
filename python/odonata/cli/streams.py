"""Standard output and error: closed, full, or of few letters, and what to exit with then."""

from __future__ import annotations

import codecs
import contextlib
import os
import sys

from odonata.errors import ExitCode
from odonata.output import reason

#: What is printed where an encoding lacks a letter; a question mark for the rest.
_PLAIN = {
    "–": "-",
    "—": "-",
    "−": "-",
    "…": "...",
    "×": "x",
    "·": ".",
    "±": "+-",
    "µ": "u",
    "μ": "u",
    "α": "alpha",
    "→": "->",
    "≤": "<=",
    "≥": ">=",
    "’": "'",
    "“": '"',
    "”": '"',
}


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Puts plain letters in place of those that an encoding lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = "".join(_PLAIN.get(letter, "?") for letter in error.object[error.start : error.end])
    return text, error.end


def prepare_streams() -> None:
    """Makes standard output and error such that printing does not fail for what is printed.

    A closed one takes everything and keeps nothing: its number must not become that of a file
    of results.
    """
    codecs.register_error("odonata-plain", _plain)
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free is taken.
            os.open(os.devnull, os.O_RDWR)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="odonata-plain")


def flush() -> None:
    """Writes what was printed.

    Raises:
        OSError: If that is not possible; `BrokenPipeError` if nobody reads any more.
    """
    sys.stdout.flush()


def close_streams(code: int) -> int:
    """Writes the rest, so that the interpreter has nothing left that it could fail with.

    Args:
        code: What to exit with.

    Returns:
        That, or another code if what was printed could not be written.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _discard(1)
    except OSError as error:
        _discard(1)
        if code == ExitCode.OK:
            code = int(ExitCode.OUTPUT)
            with contextlib.suppress(OSError):
                print(f"Error: standard output cannot be written: {reason(error)}", file=sys.stderr)
    try:
        sys.stderr.flush()
    except OSError:
        _discard(2)
    return code


def _discard(number: int) -> None:
    """Lets what is still to be written to a stream vanish."""
    with contextlib.suppress(OSError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, number)
        os.close(null)
