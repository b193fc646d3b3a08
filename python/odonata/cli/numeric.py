"""Types of options that take a number, finite and no larger than what takes it can bear."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import click

#: What numbers may be at most where an option's help names no limit: as seconds 11 days, more than
#: which the system does not wait.
LARGEST, LARGEST_WHOLE = 1e6, 10**9


class _Limited:
    """What ranges of click's have besides: a limit that nobody reaches and no help tells."""

    _largest: float
    _allowed: str

    def _describe_range(self) -> str:
        whole: str = super()._describe_range()  # type: ignore[misc]
        return "" if whole.endswith("None") else whole

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> Any:
        """Reads it."""
        number = super().convert(value, parameter, context)  # type: ignore[misc]
        last = getattr(self, "max", None)
        if number != number or (last is None and abs(number) > self._largest):
            message = f"found {str(value)[:40]}; allowed: {self._allowed}"
            raise click.BadParameter(message, context, parameter)
        return number


class Number(_Limited, click.FloatRange):
    """A finite number.

    Args:
        least: The smallest; any if `None`.
        most: The largest, as its help says; `None`: `largest`, of which the help says nothing.
        above: Whether it must be more than the smallest.
        largest: What it may be at most, positive or negative.
    """

    def __init__(
        self,
        least: float | None = 0,
        most: float | None = None,
        *,
        above: bool = False,
        largest: float = LARGEST,
    ) -> None:
        super().__init__(least, most, min_open=above)
        self._largest, self._allowed = largest, f"numbers up to {largest:,g}"


class Fraction(Number):
    """A finite number that may be written in per cent; arguments as of :class:`Number`."""

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> Any:
        """Reads it."""
        if isinstance(value, str) and value.rstrip().endswith("%"):
            with suppress(ValueError):
                value = str(float(value.rstrip().removesuffix("%")) / 100)
        return super().convert(value, parameter, context)


class Whole(_Limited, click.IntRange):
    """A whole number; arguments as of :class:`Number`."""

    def __init__(
        self, least: int | None, most: int | None = None, *, largest: int = LARGEST_WHOLE
    ) -> None:
        super().__init__(least, most)
        self._largest, self._allowed = largest, f"whole numbers up to {largest:,}"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str | None:
        """What stands for it in the help of an option; an argument has its name there."""
        return "N" if isinstance(param, click.Option) else None


class QuantityType(click.ParamType):  # type: ignore[type-arg]
    """A quantity with its unit.

    Args:
        kind: Its class in :mod:`odonata.units`, which is slow to import.
        metavar: What stands for it in help.
        plain: What the command gets of the quantity. Default: itself.
        least: The smallest, in words; the quantity may be 0 without.
    """

    def __init__(
        self,
        kind: str,
        metavar: str,
        plain: Callable[[Any], Any] = lambda quantity: quantity,
        least: str = "",
    ) -> None:
        self.name = metavar
        self._kind, self._plain, self._least = kind, plain, least

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> Any:
        """Reads it."""
        from odonata import units

        try:
            found = getattr(units, self._kind)(value)
        except units.UnitError as error:
            self.fail(str(error), parameter, context)
        if self._least and not found:
            self.fail(f'found "{value}"; allowed: at least {self._least}', parameter, context)
        return self._plain(found)


#: The seed of random numbers.
SEED = Whole(0, largest=2**64 - 1)
#: A duration in whole seconds, such as `"60 s"`.
TIME = QuantityType("Span", "TIME", int, least="1 s")
#: A duration such as `"1 ms"`, in seconds; `"0 s"` is allowed.
DURATION = QuantityType("Duration", "TIME", lambda duration: int(duration) * 1e-12)
#: A number of bytes, such as `"1 GiB"`.
SIZE = QuantityType("Size", "SIZE", int)
#: A share such as `"5 %"`, as a part of 1.
SHARE = QuantityType("Share", "SHARE", lambda share: int(share) / 1e6)
