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
    #: ``odonata verify`` found no cycle, but was out of time before it had seen all routes.
    UNPROVEN = 6
    #: A switch did not do as told, or does not hold what it should.
    DEVICE = 7
    #: Interrupted with Ctrl-C.
    INTERRUPTED = 130
    #: Stopped by SIGTERM, with a last checkpoint.
    TERMINATED = 143


class OdonataError(Exception):
    """Base of all errors that Odonata raises on purpose."""

    #: What the command line exits with.
    exit_code: ClassVar[ExitCode] = ExitCode.INTERNAL


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a scenario.

    Attributes:
        path: Key path, such as ``job[1].motif.message``; empty if no key is to blame.
        message: What is wrong, in full.
        found: What the scenario holds there, where known.
        allowed: What would be accepted there, where known.
        line: Line of the file on which the key stands, from 1, or of the table that lacks it; 0
            where no file holds it.
    """

    path: str
    message: str
    found: str = ""
    allowed: str = ""
    line: int = 0


class ScenarioError(OdonataError, ValueError):
    """A scenario that cannot be simulated as written.

    Attributes:
        problems: Everything that is wrong, in the order of the file.
        file: The scenario's file, or an empty string if it was built in code.
        path: Key path of the first problem.
        found: What the first problem's key holds.
        allowed: What would be accepted there.
    """

    exit_code = ExitCode.USAGE

    def __init__(self, problems: Sequence[Problem], file: str = "") -> None:
        self.problems = tuple(problems)
        self.file = file
        first = self.problems[0]
        self.path, self.found, self.allowed = first.path, first.found, first.allowed
        lines = []
        for problem in self.problems:
            line = f"line {problem.line}" if problem.line else ""
            parts = (file, line, problem.path, problem.message)
            lines.append(": ".join(part for part in parts if part))
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[type[ScenarioError], tuple[tuple[Problem, ...], str]]:
        """Survives pickling, so that sweeps can run in processes of their own."""
        return type(self), (self.problems, self.file)


class PlugInError(OdonataError, ValueError):
    """A plug-in that there is not, that fails, or that returns what makes no sense.

    Attributes:
        key: The key that is to blame below that of the call, where that is not the plug-in.
    """

    exit_code = ExitCode.USAGE

    def __init__(self, message: str, key: str = "") -> None:
        super().__init__(message)
        self.key = key

    def at(self, path: str, file: str = "") -> ScenarioError:
        """The error, said of a key of a scenario."""
        return ScenarioError([Problem(f"{path}.{self.key}" if self.key else path, str(self))], file)


class SimulationError(OdonataError):
    """A simulation that could not go on, such as a deadlock."""

    exit_code = ExitCode.SIMULATION


class InternalError(OdonataError):
    """A mistake of Odonata's own; please report it."""


class _WrongInputError(OdonataError, ValueError):
    """What was given cannot be used; the message says what was found and what is allowed."""

    exit_code = ExitCode.USAGE


class TraceError(_WrongInputError):
    """A trace file that is of no known format or damaged; tells file, place and reason."""


class JobLogError(_WrongInputError):
    """A job log that cannot be read, or not be scheduled as asked; says what is allowed."""


class ClusterError(_WrongInputError):
    """What a cluster or a file of its output does not tell, or tells in no known form."""


class ControlError(_WrongInputError):
    """Circuits, or a file about them, that cannot be as asked; says what is allowed."""


class DeviceError(OdonataError):
    """A switch that refuses something, does not answer, or does not hold what it should."""

    exit_code = ExitCode.DEVICE


class MachineError(_WrongInputError):
    """A machine, its hosts or measurements on it that cannot be used; says what is allowed."""


class SampleError(_WrongInputError):
    """Samples that cannot be read, or of which there are too few for what is asked."""


class LibraryError(OdonataError, ModuleNotFoundError):
    """A library that is installed on request only, and is not; says the command."""

    exit_code = ExitCode.USAGE


class NotRecordedError(_WrongInputError):
    """A question about a result that its run did not record; says what to set."""


class OutputError(OdonataError):
    """Results that cannot be written where they were asked for, or read from there."""

    exit_code = ExitCode.OUTPUT


class Terminated(KeyboardInterrupt):
    """The run was stopped by SIGTERM, as batch systems send it before they kill."""


class CheckpointError(OutputError):
    """A checkpoint that is missing, damaged, or of another run, version or build."""
