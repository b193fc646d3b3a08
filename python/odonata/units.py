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
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema
from typing_extensions import Self

_QUANTITY = re.compile(r"\s*([+-]?)(\d[\d_]*(?:\.\d+)?|\.\d+)(?:[eE]([+-]?\d{1,2}))?\s*(\S*)\s*")

_SIZE_UNITS: Mapping[str, Fraction] = {
    "B": Fraction(1),
    "kB": Fraction(10**3),
    "MB": Fraction(10**6),
    "GB": Fraction(10**9),
    "TB": Fraction(10**12),
    "KiB": Fraction(2**10),
    "MiB": Fraction(2**20),
    "GiB": Fraction(2**30),
    "TiB": Fraction(2**40),
}


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

    Built from a text (``Size("1 MB")``) or from a number of base units (``Size(1_000_000)``).

    Raises:
        UnitError: If the text is no such quantity, negative, or finer than the base unit.
    """

    #: What it measures, as messages name it.
    kind: ClassVar[str]
    #: The unit of the integer.
    base_unit: ClassVar[str]
    #: What keys of such quantities end in where the value is an integer in base units.
    suffix: ClassVar[str] = ""
    #: Factor of each accepted unit, in base units.
    units: ClassVar[Mapping[str, Fraction]]
    #: Units that ``str`` chooses from.
    printed_units: ClassVar[tuple[str, ...]]
    #: Example for messages and schema.
    example: ClassVar[str]
    #: The largest value, in base units, and how messages name it.
    largest: ClassVar[int] = 2**63 - 1
    largest_name: ClassVar[str] = "2^63 of its smallest unit"
    #: Whether values between two base units are rounded; otherwise they are refused.
    rounds: ClassVar[bool] = False

    def __new__(cls, value: str | int) -> Self:
        """Reads a text or takes a number of base units."""
        if isinstance(value, str):
            return cls.parse(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise UnitError(describe(value), cls.allowed())
        return cls._checked(Fraction(value), f"{value} {cls.base_unit}")

    def engine_value(self) -> int | float:
        """What the engine takes: the number of base units."""
        return int(self)

    @classmethod
    def allowed(cls) -> str:
        """What texts are accepted, for messages."""
        return f'{cls.kind} with a unit such as "{cls.example}" (units: {", ".join(cls.units)})'

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads a number with a unit, such as ``"1.5 us"``.

        Raises:
            UnitError: If that is not what the text holds.
        """
        match = _QUANTITY.fullmatch(text)
        if match is None:
            raise UnitError(f'"{text}"', cls.allowed())
        sign, digits, exponent, unit = match.groups()
        if unit not in cls.units:
            found = f'"{text}" without a unit' if not unit else f'unit "{unit}" in "{text}"'
            raise UnitError(found, cls.allowed(), cls._hint(unit))
        number = Fraction(digits.replace("_", "")) * Fraction(10) ** int(exponent or 0)
        if sign == "-" and number:
            raise UnitError(f'"{text}"', f"{cls.kind} of at least 0")
        return cls._checked(number * cls.units[unit], f'"{text}"')

    @classmethod
    def _checked(cls, value: Fraction, found: str) -> Self:
        whole = round(value)
        if whole != value and not cls.rounds:
            exact = f"{float(value):.6g} {cls.base_unit}"
            raise UnitError(
                f"{found}, which is {exact}",
                f"{cls.kind} that is a whole number of {cls.base_unit}",
            )
        if not 0 <= whole <= cls.largest:
            raise UnitError(found, f"{cls.kind} between 0 and {cls.largest_name}")
        return int.__new__(cls, whole)

    @classmethod
    def _hint(cls, unit: str) -> str:
        """What a wrong unit was probably meant to be."""
        fold = {known.lower(): known for known in cls.units}
        known = fold.get(unit.lower())
        return f'did you mean "{known}"?' if known else ""

    def __str__(self) -> str:
        """The shortest exact text, such as ``1.5 us``."""
        return self._text_of(int(self))

    # A study's thousands of scenarios are written down again and again, with the same few values.
    @classmethod
    @lru_cache(maxsize=4096)
    def _text_of(cls, value: int) -> str:
        best = ""
        for unit in cls.printed_units:
            number = Fraction(value) / cls.units[unit]
            if not _is_decimal(number):
                continue
            text = f"{_decimal(number)} {unit}"
            if not best or (len(text) <= len(best) and (number >= 1 or not value)):
                best = text
        return best

    def __repr__(self) -> str:
        """The text that builds this value again."""
        return f"{type(self).__name__}({str(self)!r})"

    def __format__(self, spec: str) -> str:
        """With no format, the text with its unit; otherwise that of the integer."""
        return format(int(self), spec) if spec else str(self)

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[Any], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Accepts texts and values of this class, nothing else."""

        def validate(value: Any) -> Quantity:
            if isinstance(value, cls):
                return value
            if isinstance(value, str):
                try:
                    return cls.parse(value)
                except UnitError as error:
                    raise quantity_error(error) from None
            found = describe(value)
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                found += " without a unit"
            raise quantity_error(UnitError(found, cls.allowed()))

        return core_schema.no_info_plain_validator_function(
            validate,
            serialization=core_schema.plain_serializer_function_ser_schema(str),
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """A string whose pattern names the accepted units."""
        units = "|".join(re.escape(unit) for unit in cls.units)
        return {
            "type": "string",
            "pattern": rf"^\s*\+?(\d[\d_]*(\.\d+)?|\.\d+)([eE][+-]?\d{{1,2}})?\s*({units})\s*$",
            "examples": [cls.example],
            "x-quantity": cls.__name__.lower(),
            "x-units": list(cls.units),
        }


class Duration(Quantity):
    """A duration or point in simulated time, in whole picoseconds; at most 50 days."""

    kind = "a duration"
    base_unit = "ps"
    suffix = "_ps"
    largest = 50 * 24 * 3600 * 10**12
    largest_name = "50 days (1200 h), the longest time that is simulated"
    example = "100 ns"
    units: ClassVar[Mapping[str, Fraction]] = {
        "ps": Fraction(1),
        "ns": Fraction(10**3),
        "us": Fraction(10**6),
        "µs": Fraction(10**6),  # U+00B5, the micro sign
        "μs": Fraction(10**6),  # U+03BC, the Greek letter
        "ms": Fraction(10**9),
        "s": Fraction(10**12),
        "min": Fraction(60 * 10**12),
        "h": Fraction(3600 * 10**12),
    }
    printed_units = ("ps", "ns", "us", "ms", "s")


class Size(Quantity):
    """An amount of data in whole bytes; kB, MB … are powers of 1000, KiB, MiB … of 1024."""

    kind = "a size"
    base_unit = "B"
    suffix = "_bytes"
    example = "1 MB"
    units: ClassVar[Mapping[str, Fraction]] = _SIZE_UNITS
    printed_units = tuple(_SIZE_UNITS)

    @classmethod
    def _hint(cls, unit: str) -> str:
        if unit.lower() in ("bit", "kbit", "mbit", "gbit"):
            return "sizes are in bytes"
        return super()._hint(unit)


class Rate(Quantity):
    """A bandwidth in bytes per second, rounded to the nearest whole number of them."""

    kind = "a bandwidth"
    base_unit = "B/s"
    suffix = "_bytes_per_s"
    example = "16 GB/s"
    rounds = True
    units: ClassVar[Mapping[str, Fraction]] = {
        **{f"{unit}/s": factor for unit, factor in _SIZE_UNITS.items()},
        "bit/s": Fraction(1, 8),
        "kbit/s": Fraction(10**3, 8),
        "Mbit/s": Fraction(10**6, 8),
        "Gbit/s": Fraction(10**9, 8),
        "Tbit/s": Fraction(10**12, 8),
    }
    printed_units = tuple(f"{unit}/s" for unit in _SIZE_UNITS)

    @classmethod
    def _hint(cls, unit: str) -> str:
        match = re.fullmatch(r"([kKMGT])(?:b/s|bps)", unit)
        if match:
            prefix = match[1].lower() if match[1] == "K" else match[1]
            return f'did you mean "{prefix}B/s" (bytes) or "{prefix}bit/s" (bits)?'
        if f"{unit}/s" in cls.units:
            return f'did you mean "{unit}/s"?'
        return super()._hint(unit)


class FlopRate(Quantity):
    """Floating-point operations per second, rounded to a whole number."""

    kind = "a computing rate"
    base_unit = "FLOP/s"
    example = "10 GFLOP/s"
    rounds = True
    units: ClassVar[Mapping[str, Fraction]] = {
        "FLOP/s": Fraction(1),
        "kFLOP/s": Fraction(10**3),
        "MFLOP/s": Fraction(10**6),
        "GFLOP/s": Fraction(10**9),
        "TFLOP/s": Fraction(10**12),
        "PFLOP/s": Fraction(10**15),
    }
    printed_units = tuple(units)


class Share(Quantity):
    """A part of a whole, in millionths."""

    kind = "a share"
    base_unit = "ppm"
    example = "2 %"
    units: ClassVar[Mapping[str, Fraction]] = {"%": Fraction(10**4), "ppm": Fraction(1)}
    printed_units = ("%",)

    @property
    def fraction(self) -> float:
        """As a fraction of one."""
        return int(self) / 1e6

    def engine_value(self) -> float:
        """What the engine takes: a fraction."""
        return self.fraction


class GlobalLoad(Quantity):
    """A theoretical global link load (Kang et al. 2019, equation 4), in millionths.

    The size of a message over the time between two messages of a rank, as a part of the bandwidth
    of a global link.
    """

    kind = "a theoretical global link load"
    base_unit = "ppm TGLL"
    example = "90 % TGLL"
    units: ClassVar[Mapping[str, Fraction]] = {
        "% TGLL": Fraction(10**4),
        "TGLL": Fraction(10**6),
        "ppm TGLL": Fraction(1),
    }
    printed_units = ("% TGLL",)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads a load such as ``"90 % TGLL"`` or ``"0.9 TGLL"``."""
        compact = re.sub(r"(%|ppm)\s*TGLL\s*$", r"\1_TGLL", text)
        match = _QUANTITY.fullmatch(compact)
        unit = match[4].replace("_", " ") if match else ""
        if match is None or unit not in cls.units or match[1] == "-":
            raise UnitError(f'"{text}"', cls.allowed())
        number = Fraction(match[2].replace("_", "")) * Fraction(10) ** int(match[3] or 0)
        return cls._checked(number * cls.units[unit], f'"{text}"')

    @property
    def fraction(self) -> float:
        """As a fraction of the bandwidth of a global link."""
        return int(self) / 1e6

    def engine_value(self) -> float:
        """What the engine takes: a fraction."""
        return self.fraction


def quantity_error(error: UnitError) -> PydanticCustomError:
    """The pydantic form of a unit error; keeps what was found and what is allowed."""
    return PydanticCustomError(
        "quantity",
        "found {found}; allowed: {allowed}",
        {"found": error.found, "allowed": error.allowed, "hint": error.hint},
    )


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


def _is_decimal(value: Fraction) -> bool:
    """Whether a fraction has an exact decimal text; 10 s are none in minutes."""
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return rest == 1


def _decimal(value: Fraction) -> str:
    """Exact decimal text of a fraction whose denominator divides a power of ten."""
    places = 0
    while value.denominator != 1:
        value *= 10
        places += 1
    digits = str(value.numerator).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}" if places else digits
