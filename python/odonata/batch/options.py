"""What a schedule takes, checked and in the engine's form."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from odonata import _engine
from odonata.batch.declared import MultifactorTable, Schedule
from odonata.batch.describe import moment_text
from odonata.errors import JobLogError
from odonata.plug_ins import known
from odonata.units import Span, UnitError


class OptionError(JobLogError):
    """A value that an option does not take.

    Attributes:
        found: What was given.
        allowed: What would have been accepted.
    """

    def __init__(self, what: str, found: str, allowed: str) -> None:
        super().__init__(f"{what}: found {found}; allowed: {allowed}")
        self.what, self.found, self.allowed = what, found, allowed

    def __reduce__(self) -> tuple[type[OptionError], tuple[str, str, str]]:
        """Survives pickling, on its way from a worker."""
        return type(self), (self.what, self.found, self.allowed)


def seconds(what: str, value: str | int) -> int:
    """A duration such as ``"30 min"``, or a number of seconds.

    Raises:
        JobLogError: If it is none.
    """
    try:
        return int(Span(value))
    except UnitError as error:
        raise JobLogError(f"{what}: {error}") from None


def span_text(value: str | int) -> str:
    """A duration, or a number of seconds, as `[schedule]` has it."""
    return str(value) if isinstance(value, (str, Span)) else f"{value} s"


def read(grammar: str, what: str, text: str) -> Any:
    """What a text of one of the engine's grammars says.

    Raises:
        OptionError: If it says nothing; ``what`` is the option's name.
    """
    try:
        return json.loads(_engine.written(grammar, text, known("order")))
    except ValueError as error:
        found, allowed = error.args
        raise OptionError(what, found, allowed) from None


#: Slurm's multifactor priority: weights and times.
Multifactor = MultifactorTable

#: Shortest run time in the bounded slowdown, and interval of the table of nodes in use, by default.
TAU, INTERVAL = (str(Schedule.keys[key].default) for key in ("tau", "interval"))


@dataclass(frozen=True)
class Window:
    """Nodes that are withheld for a time: maintenance, or a reservation for users.

    Attributes:
        start: First second, in the log's time.
        end: The second after the last.
        nodes: How many; ``None`` for the whole machine.
        users: Whose jobs may run on them within the window; none for maintenance.
        name: For messages.
        which: In place of their number: these, by their own numbers.
    """

    start: int
    end: int
    nodes: int | None = None
    users: tuple[str, ...] = ()
    name: str = "window"
    which: tuple[int, ...] | None = None

    def for_engine(self) -> dict[str, Any]:
        """In the engine's form."""
        return {
            "name": self.name,
            "start_s": self.start,
            "end_s": self.end,
            "nodes": self.nodes,
            "users": list(self.users),
            "which": None if self.which is None else list(self.which),
        }


@dataclass(frozen=True)
class Outage:
    """Nodes that fail during a schedule.

    Attributes:
        nodes: Their numbers.
        at: When they fail, in the log's time.
        until: When they work again; ``None`` for never.
    """

    nodes: tuple[int, ...]
    at: int
    until: int | None = None

    def for_engine(self) -> dict[str, Any]:
        """In the engine's form."""
        return {"nodes": list(self.nodes), "at_s": self.at, "until_s": self.until}


def moment(text: str, first: int, epoch: int | None) -> int:
    """A point in a log's time.

    Args:
        text: ``2022-03-01T08:00`` (UTC), or a duration after the first submission: ``12 h``.
        first: The first submission.
        epoch: Unix time of the log's second 0, where known.

    Raises:
        JobLogError: If it is neither, or a date and the log has none.
    """
    point = read("time", "time", text)
    if "after" in point:
        return first + int(point["after"])
    if epoch is None:
        raise JobLogError(
            f'found the date "{text}", but the log does not say when its second 0 is; give a '
            "duration after the first submission, such as 12 h"
        )
    return int(point["date"]) - epoch


def times(
    what: str, start: str, end: str | None, first: int, epoch: int | None
) -> tuple[int, int | None]:
    """The start and the end of a time in a log.

    Args:
        what: The key or option, for messages.
        start: As :func:`moment` takes it.
        end: Likewise, or ``+4h``: so long after the start. ``None`` for never.
        first: The first submission.
        epoch: Unix time of the log's second 0, where known.

    Raises:
        JobLogError: If one of them is none, the end does not lie after the start, or not after the
            first submission.
    """
    try:
        begin = moment(start, first, epoch)
        if end is None:
            return begin, None
        from_start = end.strip().startswith("+")
        until = moment(end, begin if from_start else first, epoch)
    except JobLogError as error:
        raise JobLogError(f"{what}: {error}") from None
    if until <= begin:
        raise JobLogError(
            f'{what}: found "{start}..{end}", but its end must lie after its start; allowed: a '
            f'later end, or how long it lasts, such as "{start}..+4h"'
        )
    if until <= first:
        raise JobLogError(
            f'{what}: found "{start}..{end}", which is over by the first submission, '
            f"{moment_text(first, epoch)}; allowed: dates of the log, or durations after its first "
            "submission, such as 12h"
        )
    return begin, until


def numbers(what: str, given: Sequence[int] | str | None) -> tuple[int, ...]:
    """The numbers of a list, or of a text such as ``0, 3-8``.

    Raises:
        OptionError: If it is none.
    """
    return tuple(read("numbers", what, given) if isinstance(given, str) else given or ())


def window_keys(text: str, name: str, *, has_users: bool) -> dict[str, Any]:
    """Reads ``START..END``, ``START..END,NODES`` or ``START..END,NODES,USER,USER…``.

    NODES is how many, or a range of numbers such as ``0-63``.

    Args:
        text: What was given.
        name: Of the option, for messages.
        has_users: Whether it must name users; otherwise it must not.

    Returns:
        The keys of a table `[[schedule.maintenance]]` or `[[schedule.reservation]]`.

    Raises:
        OptionError: If it is none of them.
    """
    times, *more = text.split(",")
    start, dots, end = times.partition("..")
    if not dots:
        allowed = "START..END,NODES,USER,…" if has_users else "START..END or START..END,NODES"
        raise OptionError(name, f'"{text}"', allowed)
    keys: dict[str, Any] = {"start": start.strip(), "end": end.strip()}
    if more and more[0].strip():
        keys |= _counted_or_listed(more[0].strip(), name)
    users = [user.strip() for user in more[1:]]
    if has_users and not users:
        raise OptionError(name, f'"{text}", which names no users', "START..END,NODES,USER,…")
    if users and not has_users:
        allowed = "START..END,NODES: users have a meaning with --reservation only"
        raise OptionError(name, f'"{text}"', allowed)
    return {**keys, "users": users} if users else keys


def _counted_or_listed(text: str, name: str) -> dict[str, Any]:
    if re.fullmatch(r"\d+ *- *\d+", text):
        return {"which": text}
    if not text.isdecimal():
        allowed = "how many, such as 64, or which, such as 0-63"
        raise OptionError(name, f'"{text}" nodes', allowed)
    return {"nodes": int(text)}


def outage_keys(text: str, name: str) -> dict[str, Any]:
    """Reads ``START..,NODES`` or ``START..END,NODES``.

    Args:
        text: What was given.
        name: Of the option, for messages.

    Returns:
        The keys of a table `[[schedule.outage]]`; nodes as they were written.

    Raises:
        OptionError: If it is none of them.
    """
    times, _, nodes = text.partition(",")
    start, dots, end = times.partition("..")
    if not dots or not nodes.strip():
        raise OptionError(name, f'"{text}"', "START..END,NODES or START..,NODES (for ever)")
    keys = {"nodes": nodes.strip(), "at": start.strip()}
    return {**keys, "until": end.strip()} if end.strip() else keys
