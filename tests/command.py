"""The command ``odonata``, called in this process: all that it does, without the second of
processor time that a new process takes to start.

What belongs to processes (signals, streams, kills, several at a time) is tested with the installed
command.
"""

from __future__ import annotations

import io
import os
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

from odonata.cli import main


class Done(NamedTuple):
    """How a call ended."""

    returncode: int
    stdout: str
    stderr: str


def call(*arguments: str | Path, directory: Path) -> Done:
    """Calls the command in a working directory, with its output into files as of a pipe."""
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2)]
    before = Path.cwd()
    os.chdir(directory)
    code: object = 0
    try:
        with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
            main([str(argument) for argument in arguments])
    except SystemExit as end:
        code = end.code
    finally:
        os.chdir(before)
    assert isinstance(code, int)
    texts = []
    for stream in streams:
        stream.seek(0)
        texts.append(stream.read())
    return Done(code, *texts)
