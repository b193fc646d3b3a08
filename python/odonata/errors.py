"""Errors that a user can do something about, each with the exit code of the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import ClassVar


class ExitCode(IntEnum):
    """What the command line returns to its caller; documented in ``docs/cli.md``."""

    #: It worked.
    OK = 0
    #: A defect of Odonata itself.
    INTERNAL = 1
    #: Wrong usage, or a scenario that cannot be run.
    USAGE = 2
    #: The simulation could not be finished, e.g. because of a deadlock.
    SIMULATION = 3
    #: The results could not be written.
    OUTPUT = 4
    #: ``odonata verify`` found a cycle: packets could wait for each other forever.
    UNSAFE = 5
    #: Interrupted with Ctrl-C.
    INTERRUPTED = 130


class OdonataError(Exception):
    """Base of all errors that Odonata raises on purpose."""

    #: What the command line exits with.
    exit_code: ClassVar[ExitCode] = ExitCode.INTERNAL


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a scenario.

    Attributes:
        path: The key, such as ``network.g`` or ``job[1].motif.kind``; empty for the file itself.
        message: What was found and what is allowed.
        hint: What to do, or an empty string.
    """

    path: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        """One line, or two with the hint."""
        text = f"{self.path}: {self.message}" if self.path else self.message
        return f"{text}\n    {self.hint}" if self.hint else text


class ScenarioError(OdonataError):
    """A scenario that cannot be run; lists everything that is wrong with it.

    Attributes:
        file: The scenario's file, or ``None`` for one that was built in code.
        problems: At least one.
    """

    exit_code = ExitCode.USAGE

    def __init__(self, file: str | None, problems: Sequence[Problem]) -> None:
        super().__init__(file, problems)
        self.file = file
        self.problems = list(problems)

    def __str__(self) -> str:
        """The file and one indented line per problem."""
        where = self.file or "scenario"
        if len(self.problems) == 1:
            return f"{where}: {self.problems[0]}"
        lines = [f"{where}: {len(self.problems)} problems"]
        lines += [f"  {problem}" for problem in self.problems]
        return "\n".join(lines)


class SimulationError(OdonataError):
    """A simulation that did not reach its end, for instance because of a deadlock."""

    exit_code = ExitCode.SIMULATION


class OutputError(OdonataError):
    """Results that cannot be written where they were asked for, or read from there."""

    exit_code = ExitCode.OUTPUT
