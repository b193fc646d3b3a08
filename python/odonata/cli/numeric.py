"""Types of options that take a number: finite, and no larger than what takes it can bear."""

from __future__ import annotations

import math
from typing import Any

import click

#: What numbers may be at most where an option's help names no limit: as seconds 11 days, more than
#: which the system does not wait.
LARGEST, LARGEST_WHOLE = 1e6, 10**9


class Number(click.FloatRange):
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
        self._largest = largest

    def _describe_range(self) -> str:
        return super()._describe_range() if self.min is not None or self.max is not None else ""

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> float:
        """Reads it."""
        number: float = super().convert(value, parameter, context)
        if math.isnan(number) or (self.max is None and abs(number) > self._largest):
            allowed = f"numbers up to {self._largest:,g}"
            self.fail(f"found {str(value)[:40]}; allowed: {allowed}", parameter, context)
        return number


class Whole(click.IntRange):
    """A whole number.

    Args:
        least: The smallest; any if `None`.
        most: The largest, as its help says; `None`: `largest`, of which the help says nothing.
        largest: What it may be at most, positive or negative.
    """

    def __init__(
        self, least: int | None, most: int | None = None, *, largest: int = LARGEST_WHOLE
    ) -> None:
        super().__init__(least, most)
        self._largest = largest

    def _describe_range(self) -> str:
        return super()._describe_range() if self.min is not None or self.max is not None else ""

    def convert(
        self, value: Any, parameter: click.Parameter | None, context: click.Context | None
    ) -> int:
        """Reads it."""
        number: int = super().convert(value, parameter, context)
        if self.max is None and abs(number) > self._largest:
            allowed = f"whole numbers up to {self._largest:,}"
            self.fail(f"found {str(value)[:40]}; allowed: {allowed}", parameter, context)
        return number


#: The seed of random numbers.
SEED = Whole(0, largest=2**64 - 1)
