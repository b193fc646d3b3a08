"""What a schedule takes, checked and in the engine's form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from odonata import names
from odonata.errors import JobLogError
from odonata.plug_ins import is_known, known
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


@dataclass(frozen=True)
class Multifactor:
    """Slurm's multifactor priority: weights and times.

    Attributes:
        age: Weight of the wait, in units of ``max_age``, at most 1.
        size: Weight of the share of the machine.
        fair_share: Weight of 2^(−usage / share); all users have equal shares.
        max_age: Wait that counts as age 1.
        half_life: Time after which usage counts half; 0 for never.
        favour_small: Whether small jobs, not large ones, are favoured.
    """

    age: float = 1000.0
    size: float = 1000.0
    fair_share: float = 1000.0
    max_age: str | int = "7 d"
    half_life: str | int = "7 d"
    favour_small: bool = False

    def for_engine(self) -> dict[str, Any]:
        """In the engine's form."""
        return {
            "kind": "multifactor",
            "age": self.age,
            "size": self.size,
            "fair_share": self.fair_share,
            "max_age_s": seconds("max_age", self.max_age),
            "half_life_s": seconds("half_life", self.half_life),
            "favour_small": self.favour_small,
        }


@dataclass(frozen=True)
class Window:
    """Nodes that are withheld for a time: maintenance, or a reservation for users.

    Attributes:
        start: First second, in the log's time.
        end: The second after the last.
        nodes: How many; ``None`` for the whole machine.
        users: Whose jobs may run on them within the window; none for maintenance.
        name: For messages.
    """

    start: int
    end: int
    nodes: int | None = None
    users: tuple[str, ...] = ()
    name: str = "window"

    def for_engine(self) -> dict[str, Any]:
        """In the engine's form."""
        return {
            "name": self.name,
            "start_s": self.start,
            "end_s": self.end,
            "nodes": self.nodes,
            "users": list(self.users),
        }


def date_or_span(text: str) -> datetime | Span:
    """A point in a log's time: a date, or a duration after the first submission.

    Raises:
        OptionError: If it is neither.
    """
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        try:
            return Span(text)
        except UnitError:
            allowed = (
                "a date such as 2022-03-01T08:00 (UTC), or a duration after the first submission "
                'such as "12 h"'
            )
            raise OptionError("time", f'"{text}"', allowed) from None


def moment(text: str, first: int, epoch: int | None) -> int:
    """A point in a log's time.

    Args:
        text: ``2022-03-01T08:00`` (UTC), or a duration after the first submission: ``12 h``.
        first: The first submission.
        epoch: Unix time of the log's second 0, where known.

    Raises:
        JobLogError: If it is neither, or a date and the log has none.
    """
    date = date_or_span(text)
    if isinstance(date, Span):
        return first + int(date)
    if epoch is None:
        raise JobLogError(
            f'found the date "{text}", but the log does not say when its second 0 is; give a '
            "duration after the first submission, such as 12 h"
        )
    if date.tzinfo is None:
        date = date.replace(tzinfo=timezone.utc)
    return int(date.timestamp()) - epoch


def window_keys(text: str, name: str, *, has_users: bool) -> dict[str, Any]:
    """Reads ``START..END``, ``START..END,NODES`` or ``START..END,NODES,USER,USER…``.

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
        try:
            keys["nodes"] = int(more[0])
        except ValueError:
            raise OptionError(name, f'"{more[0]}" nodes', "a whole number") from None
    users = [user.strip() for user in more[1:]]
    if has_users and not users:
        raise OptionError(name, f'"{text}", which names no users', "START..END,NODES,USER,…")
    if users and not has_users:
        allowed = "START..END,NODES: users have a meaning with --reservation only"
        raise OptionError(name, f'"{text}"', allowed)
    return {**keys, "users": users} if users else keys


def policy_for_engine(policy: str) -> Any:
    """A policy's name in the engine's form.

    Raises:
        OptionError: If there is no such policy.
    """
    if policy in names.POLICY:
        return policy
    kind, colon, depth = policy.partition(":")
    if kind == "depth" and colon and depth.isdigit():
        return {"depth": int(depth)}
    allowed = ", ".join((*names.POLICY, "depth:N (reservations for the first N)"))
    raise OptionError("policy", f'"{policy}"', allowed)


def check_order(order: str) -> None:
    """Checks that there is an order of a name.

    Raises:
        OptionError: If there is none.
    """
    if order not in names.ORDER and not is_known("order", order):
        allowed = ", ".join((*names.ORDER, *known("order")))
        raise OptionError("order", f'"{order}"', allowed)


def order_for_engine(order: str | Multifactor) -> dict[str, Any]:
    """An order of ours in the engine's form.

    Raises:
        OptionError: If there is no such order.
    """
    if isinstance(order, Multifactor):
        return order.for_engine()
    check_order(order)
    return Multifactor().for_engine() if order == "multifactor" else {"kind": order}


def estimate_for_engine(what: str, estimate: str | float) -> Any:
    """``requested``, ``perfect``, or a multiple of the run time, in the engine's form.

    Raises:
        OptionError: If it is none of them.
    """
    if estimate in ("requested", "perfect"):
        return estimate
    try:
        return {"factor": float(estimate)}
    except ValueError:
        allowed = "requested, perfect, or a multiple of the run time such as 2"
        raise OptionError(what, f'"{estimate}"', allowed) from None


def passes_for_engine(every: str | int | None, per_event: bool) -> Any:
    """When the scheduler works, in the engine's form.

    Raises:
        JobLogError: If the interval is none, or both are given.
    """
    if every is not None and per_event:
        raise JobLogError("every, per_event: the scheduler works at intervals or after every event")
    if every is not None:
        return {"every-s": seconds("every", every)}
    return "event" if per_event else "instant"


def windows_for_engine(windows: Sequence[Window]) -> list[dict[str, Any]]:
    """Windows in the engine's form."""
    return [window.for_engine() for window in windows]
