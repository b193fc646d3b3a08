"""What all tables of a scenario have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
)

from odonata.errors import ScenarioError
from odonata.problem import problem, problems
from odonata.units import (
    Duration,
    FlopRate,
    GlobalLoad,
    Quantity,
    Rate,
    Share,
    Size,
    UnitError,
    quantity_error,
)


class Table(BaseModel):
    """A table of a scenario file: unknown keys and values of another type are errors."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        validate_default=False,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )

    def __init__(self, **values: Any) -> None:
        """Checks the values.

        Raises:
            ScenarioError: If a key is unknown or missing, or a value is not allowed.
        """
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise ScenarioError(problems(error, type(self))) from None

    # Pydantic calls an __init__ of our own for every table inside a table, and would
    # lose where it is, unless it is marked as the plain one.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]


def _between(low: Quantity, high: Quantity | None = None) -> AfterValidator:
    """Refuses quantities below `low` or above `high`."""

    def check(value: Quantity) -> Quantity:
        if value < low or (high is not None and value > high):
            allowed = f"at least {low}" if high is None else f"between {low} and {high}"
            raise quantity_error(UnitError(f'"{value}"', f"{value.kind} {allowed}"))
        return value

    return AfterValidator(check)


#: A latency, delay or overhead: what every packet or message adds up.
Delay = Annotated[Duration, _between(Duration(0), Duration("1 h"))]
#: A delay that takes time.
PositiveDelay = Annotated[Duration, _between(Duration(1), Duration("1 h"))]
#: A duration that takes time.
PositiveDuration = Annotated[Duration, _between(Duration(1))]
#: An amount of data that is not nothing.
PositiveSize = Annotated[Size, _between(Size(1))]
#: The rate of a link or source.
Bandwidth = Annotated[Rate, _between(Rate("1 kB/s"), Rate("1000 TB/s"))]
#: How fast something computes.
Computing = Annotated[FlopRate, _between(FlopRate(1))]
#: Precision of a mean.
Precision = Annotated[Share, _between(Share("0.01 %"), Share("50 %"))]
#: A part that is not nothing.
PositiveShare = Annotated[Share, _between(Share(1))]
#: A theoretical global link load that is not nothing.
PositiveGlobalLoad = Annotated[GlobalLoad, _between(GlobalLoad(1))]


@dataclass(frozen=True)
class NamesFile:
    """Marks the type of a key that names a file; see :mod:`odonata.files`.

    Attributes:
        parts: What belongs to the file: nothing else (``itself``), the other files of a trace, the
            lists that a configuration of CODES names, or what a file of phases names.
    """

    parts: Literal["itself", "trace", "codes", "phases"] = "itself"


#: Name of a file, relative to the scenario.
FileName = Annotated[str, NamesFile()]
#: Name of a file with others that belong to it.
TraceFile = Annotated[str, NamesFile("trace")]
CodesFile = Annotated[str, NamesFile("codes")]
PhasesFile = Annotated[str, NamesFile("phases")]
#: A number of things, at least one.
Count = Annotated[int, Field(ge=1, le=2**32 - 1)]
#: An index, from zero.
Index = Annotated[int, Field(ge=0, le=2**32 - 1)]


def tag(name: str) -> str:
    """Tag of a union's member; the brackets tell it from a key in an error's location."""
    return f"<{name}>"


def chosen_by(key: str, *tags: str) -> Discriminator:
    """Chooses the member of a union of tables by the value of `key`.

    Args:
        key: Key that every member has.
        tags: Tag of each member: the values of `key` that choose it, separated by ``|``.
    """
    chosen = {name: tag(names) for names in tags for name in names.split("|")}

    def choose(value: Any) -> str:
        named = value.get(key) if isinstance(value, dict) else getattr(value, key, None)
        return chosen.get(named, tag("")) if isinstance(named, str) else tag("")

    choose.__name__ = key
    return Discriminator(choose)


def by_form(forms: dict[str, Callable[[Any], bool]]) -> Discriminator:
    """Chooses the member of a union by the form of the value.

    Args:
        forms: Whether a value has a form, by the member's tag. The tag is also what
            messages say is allowed, such as ``a name``.
    """

    def choose(value: Any) -> str:
        return tag(next((name for name, fits in forms.items() if fits(value)), ""))

    choose.__name__ = "form"
    return Discriminator(choose)


def is_text(value: Any) -> bool:
    """Whether a value is a string."""
    return isinstance(value, str)


def is_number(value: Any) -> bool:
    """Whether a value is an integer or a float."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_list(value: Any) -> bool:
    """Whether a value is a list."""
    return isinstance(value, list)


def is_table(value: Any) -> bool:
    """Whether a value is a table or an object made from one."""
    return isinstance(value, (dict, Table))


#: No number of a router or group in a text is larger, so that no range takes all memory.
_MOST_NUMBERS = 1 << 20


def numbers(given: list[int] | str) -> list[int]:
    """The numbers of a list, or of a text such as ``0, 3-8``.

    Raises:
        PydanticCustomError: If the text is none.
    """
    if not isinstance(given, str):
        return given
    found: list[int] = []
    for part in given.split(","):
        first, dash, last = (word.strip() for word in part.partition("-"))
        ends = [first, last] if dash else [first]
        low, high = ends[0], ends[-1]
        if not all(end.isdecimal() for end in ends) or not int(low) <= int(high) < _MOST_NUMBERS:
            raise problem("", f'"{given}"', 'numbers such as "3-8" or "0, 2, 5-7"')
        found.extend(range(int(low), int(high) + 1))
    return found


def _checked_numbers(text: str) -> str:
    numbers(text)
    return text


#: Numbers of groups or routers, from zero: a list, or a text with ranges; see :func:`numbers`.
Numbers = Annotated[
    Annotated[list[Index], Field(min_length=1), Tag(tag("a list of numbers"))]
    | Annotated[str, AfterValidator(_checked_numbers), Tag(tag('a text such as "3-8"'))],
    by_form({"a list of numbers": is_list, 'a text such as "3-8"': is_text}),
]
