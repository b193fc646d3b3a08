"""Quantities with units: what scenario files write as ``"100 ns"`` or ``"16 GiB/s"``.

Every quantity is an exact integer in one base unit (picoseconds, bytes, bytes per
second), so that no rounding happens between a scenario file and the engine. Each
class is an ``int`` that knows how to read and print itself::

    >>> Duration("1.5 us")
    Duration('1.5 us')
    >>> int(Duration("1.5 us"))
    1500000
    >>> str(Rate("42 Gbit/s"))
    '5.25 GB/s'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from odonata import _engine

if TYPE_CHECKING:
    from typing_extensions import Self


class UnitError(ValueError):
    """A text that is no quantity of the wanted kind.

    Attributes:
        found: What was given.
        allowed: What would have been accepted.
        hint: What was probably meant, or an empty string.
    """

    def __init__(self, found: str, allowed: str, hint: str = "") -> None:
        super().__init__(f"found {found}; allowed: {allowed}" + (f" ({hint})" if hint else ""))
        self.found = found
        self.allowed = allowed
        self.hint = hint


class Quantity(int):
    """A whole number of base units that reads and prints itself with a unit.

    Built from a text (``Size("1 MB")``) or from a number of base units (``Size(1_000_000)``). The
    engine reads and prints.

    Raises:
        UnitError: If the text is no such quantity, negative, or finer than the base unit.
    """

    #: What the engine calls this kind of quantity.
    name: ClassVar[str]
    #: What messages call it.
    kind: ClassVar[str]
    #: The unit of the integer.
    base_unit: ClassVar[str]
    #: What keys of such quantities end in where the value is an integer in base units.
    suffix: ClassVar[str] = ""
    #: Factor of each accepted unit, in base units.
    units: ClassVar[Mapping[str, Fraction]]
    #: Example for the schema.
    example: ClassVar[str]
    #: The largest value, in base units.
    largest: ClassVar[int]
    #: What texts are accepted, for messages.
    allowed: ClassVar[str]

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Asks the engine what the kind of quantity is."""
        super().__init_subclass__(**keywords)
        facts = _engine.quantity_facts(cls.name)
        cls.kind, cls.base_unit, units, cls.example, cls.largest, cls.allowed = facts
        cls.units = {unit: Fraction(above, below) for unit, above, below in units}

    def __new__(cls, value: str | int) -> Self:
        """Reads a text or takes a number of base units."""
        if isinstance(value, str):
            return cls.parse(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise UnitError(describe(value), cls.allowed)
        # Beyond what any quantity may be, and what the engine takes.
        number = max(min(int(value), 2**100), -(2**100))
        return cls._asked(_engine.check_quantity, number)

    def engine_value(self) -> int | float:
        """What the engine takes: the number of base units."""
        return int(self)

    @classmethod
    def of_engine(cls, value: float) -> Self:
        """What the engine has as `value`."""
        return cls(int(value))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads a number with a unit, such as ``"1.5 us"``.

        Raises:
            UnitError: If that is not what the text holds.
        """
        return cls._asked(_engine.read_quantity, text)

    @classmethod
    def _asked(cls, function: Callable[[str, Any], int], value: str | int) -> Self:
        try:
            return int.__new__(cls, function(cls.name, value))
        except ValueError as error:
            raise UnitError(*error.args) from None

    def __str__(self) -> str:
        """The shortest exact text, such as ``1.5 us``."""
        return _text_of(self.name, int(self))

    def __repr__(self) -> str:
        """The text that builds this value again."""
        return f"{type(self).__name__}({str(self)!r})"

    def __format__(self, spec: str) -> str:
        """With no format, the text with its unit; otherwise that of the integer."""
        return format(int(self), spec) if spec else str(self)

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """A string whose pattern names the accepted units."""
        units = "|".join(re.escape(unit) for unit in cls.units)
        return {
            "type": "string",
            "pattern": rf"^\s*\+?(\d[\d_]*(\.\d+)?|\.\d+)([eE][+-]?\d{{1,2}})?\s*({units})\s*$",
            "examples": [cls.example],
            "x-quantity": cls.__name__.lower(),
            "x-units": list(cls.units),
        }


# A study's thousands of scenarios are written down again and again, with the same few values.
@lru_cache(maxsize=4096)
def _text_of(name: str, value: int) -> str:
    return _engine.quantity_text(name, value)


class Duration(Quantity):
    """A duration or point in simulated time, in whole picoseconds; at most 50 days."""

    name = "duration"
    suffix = "_ps"


class Size(Quantity):
    """An amount of data in whole bytes; kB, MB … are powers of 1000, KiB, MiB … of 1024."""

    name = "size"
    suffix = "_bytes"


class Rate(Quantity):
    """A bandwidth in bytes per second, rounded to the nearest whole number of them."""

    name = "rate"
    suffix = "_bytes_per_s"


class FlopRate(Quantity):
    """Floating-point operations per second, rounded to a whole number."""

    name = "floprate"


class _Part:
    """A quantity that the engine has as a part of one."""

    @property
    def fraction(self) -> float:
        """As a fraction of one."""
        return int(self) / 1e6  # type: ignore[call-overload,no-any-return]

    def engine_value(self) -> float:
        """What the engine takes: a fraction."""
        return self.fraction

    @classmethod
    def of_engine(cls, value: float) -> Self:
        """What the engine has as the fraction `value`."""
        return cls(round(value * 1e6))  # type: ignore[call-arg]


class Share(_Part, Quantity):
    """A part of a whole, in millionths."""

    name = "share"


class GlobalLoad(_Part, Quantity):
    """A theoretical global link load (Kang et al. 2019, equation 4), in millionths.

    The size of a message over the time between two messages of a rank, as a part of the bandwidth
    of a global link.
    """

    name = "globalload"


class Span(Quantity):
    """A duration of job logs, in whole seconds."""

    name = "span"


#: Kinds of quantities by what the engine calls them.
QUANTITIES: Mapping[str, type[Quantity]] = {
    one.name: one for one in (Duration, Size, Rate, FlopRate, Share, GlobalLoad, Span)
}


def describe(value: object) -> str:
    """A value of a scenario as messages show it: with its kind where that helps."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"{str(value).lower()} (true or false)"
    if isinstance(value, Quantity):
        return f'"{value}"'
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, str):
        shown = value if len(value) <= 60 else value[:57] + "…"
        return f'"{shown}"'
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, (list, tuple)):
        return f"a list of {len(value)}"
    return f"a value of type {type(value).__name__}"
