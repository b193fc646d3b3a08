"""What all tables of a scenario have in common."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
)
from pydantic.fields import FieldInfo
from pydantic_core import core_schema

from odonata.documented import FIELDS, sentence, text_of_field
from odonata.errors import ScenarioError
from odonata.normal_form import InEngine, NamesFile, normal_form
from odonata.plug_ins import Kind, is_known, known, ours
from odonata.problem import problem, problems
from odonata.units import (
    Duration,
    Quantity,
    Rate,
    Share,
    Size,
    UnitError,
    describe,
    quantity_error,
)


def described_fields(table: type[BaseModel]) -> Mapping[str, FieldInfo]:
    """The fields of a table, with their texts."""
    for name, field in table.model_fields.items():
        if field.description is None:
            field.description = text_of_field(table, name)
    return table.model_fields


def _described(field: FieldInfo) -> str:
    return sentence(
        field.description or "",
        field.default,
        is_required=field.is_required(),
        is_plain=field.default_factory is None,
    )


class _WithTexts(type(BaseModel)):  # type: ignore[misc]
    # No text here: it would be in the way of the one below.
    @property
    def __doc__(cls) -> str | None:  # type: ignore[override]
        """A table's own text and those of its fields, for ``help()``."""
        own: str | None = cls.__dict__.get("__doc__")
        if not getattr(cls, "__pydantic_fields__", None):
            return own
        about = inspect.cleandoc(own or "").partition(FIELDS)[0]
        fields = described_fields(cls)
        lines = [f"    {name}: {_described(field)}" for name, field in fields.items()]
        return "\n".join([about + FIELDS, *lines])


# Pydantic's own metaclass is not public: type checkers could not tell that ours is one.
if TYPE_CHECKING:
    _Base = BaseModel
else:

    class _Base(BaseModel, metaclass=_WithTexts):
        pass


class Table(_Base):
    """A table of a scenario file: unknown keys and values of another type are errors."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        frozen=True,
        validate_default=False,
        populate_by_name=True,
        defer_build=True,
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

    def as_written(self) -> dict[str, Any]:
        """The keys that were given, as a TOML reader has them."""
        return self.model_dump(by_alias=True, exclude_none=True, exclude_unset=True, warnings=False)

    def engine_form(self, directory: Path = Path()) -> dict[str, Any]:
        """The form that the engine takes; files are found relative to `directory`."""
        return normal_form(self, directory)


def schema_of_engine_table(table: type[Any]) -> core_schema.CoreSchema:
    """Checks values of tables that the engine declares, inside those that Python declares."""

    def validate(value: Any) -> Any:
        if isinstance(value, table):
            return value
        if not isinstance(value, Mapping):
            raise problem("", describe(value), "a table")
        try:
            return table(**value)
        except ScenarioError as error:
            first = error.problems[0]
            raise problem(first.path, first.found, first.allowed) from None

    return core_schema.no_info_plain_validator_function(
        validate,
        serialization=core_schema.plain_serializer_function_ser_schema(table.as_written),
    )


def between(low: Quantity, high: Quantity | None = None) -> AfterValidator:
    """Refuses quantities below `low` or above `high`."""

    def check(value: Quantity) -> Quantity:
        if value < low or (high is not None and value > high):
            allowed = f"at least {low}" if high is None else f"between {low} and {high}"
            raise quantity_error(UnitError(f'"{value}"', f"{value.kind} {allowed}"))
        return value

    return AfterValidator(check)


#: A latency, delay or overhead: what every packet or message adds up.
Delay = Annotated[Duration, between(Duration(0), Duration("1 h"))]
#: A delay that takes time.
PositiveDelay = Annotated[Duration, between(Duration(1), Duration("1 h"))]
#: A duration that takes time.
PositiveDuration = Annotated[Duration, between(Duration(1))]
#: An amount of data above zero.
PositiveSize = Annotated[Size, between(Size(1))]
#: The rate of a link or source.
Bandwidth = Annotated[Rate, between(Rate("1 kB/s"), Rate("1000 TB/s"))]
#: A share above zero.
PositiveShare = Annotated[Share, between(Share(1))]


#: Name of a file, relative to the scenario.
FileName = Annotated[str, NamesFile()]
#: Name of a file with others that belong to it.
TraceFile = Annotated[str, NamesFile("trace")]
TablesFile = Annotated[str, NamesFile("tables")]
CodesFile = Annotated[str, NamesFile("codes")]
PhasesFile = Annotated[str, NamesFile("phases")]
#: Name of a scenario file, of which only the network counts.
MachineFile = Annotated[str, NamesFile("machine")]
#: A number of things, at least one.
Count = Annotated[int, Field(ge=1, le=2**32 - 1)]
#: An index, from zero.
Index = Annotated[int, Field(ge=0, le=2**32 - 1)]


def tag(name: str) -> str:
    """Tag of a union's member; the brackets tell it from a key in an error's location."""
    return f"<{name}>"


#: Tag of the member of a union that is for plug-ins.
PLUG_IN = "the name of a plug-in"


def chosen_by(key: str, *tags: str, plug_ins: Kind | None = None) -> Discriminator:
    """Chooses the member of a union of tables by the value of `key`.

    Args:
        key: Key that every member has.
        tags: Tag of each member: the values of `key` that choose it, separated by ``|``.
        plug_ins: Kind of the plug-ins of which a name chooses the member tagged `PLUG_IN`.
    """
    chosen = {name: tag(names) for names in tags for name in names.split("|")}

    def choose(value: Any) -> str:
        named = value.get(key) if isinstance(value, dict) else getattr(value, key, None)
        # A wrong value may be a list or a table.
        if not isinstance(named, str):
            return tag("")
        if plug_ins is not None and named not in chosen and is_known(plug_ins, named):
            return tag(PLUG_IN)
        return chosen.get(named, tag(""))

    choose.__name__ = key
    return Discriminator(choose)


def not_ours(kind: Kind) -> Any:
    """Marks the type of a plug-in's name: in JSON Schema only one member of a union may fit."""
    return Field(json_schema_extra={"not": {"enum": list(ours(kind))}})


def names_plug_in(kind: Kind) -> Callable[[Any], bool]:
    """Whether a value is the name of a plug-in of a kind."""
    return lambda value: is_known(kind, value)


class PlugInTable(Table):
    """A plug-in with parameters."""

    plug_in: str
    """Name of the plug-in."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """Parameters that the plug-in is given."""

    def find(self, kind: Kind) -> None:
        """Checks that there is one of the name."""
        if not is_known(kind, self.plug_in):
            allowed = ", ".join(known(kind)) or "no plug-in, as none is installed or registered"
            raise problem("plug_in", f'"{self.plug_in}"', allowed)


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


def described(things: Mapping[str, str]) -> str:
    """What each of some things with names is, in one sentence."""
    return "; ".join(f"`{name}`: {_inside(text)}" for name, text in things.items()) + "."


def _inside(text: str) -> str:
    """A sentence as a part of another one: names and abbreviations stay as they are."""
    text = text.rstrip(".")
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def is_text(value: Any) -> bool:
    """Whether a value is a string."""
    return isinstance(value, str)


def is_number(value: Any) -> bool:
    """Whether a value is an integer or a float."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_plain_number(value: Any) -> bool:
    """Whether a value is a number without a unit."""
    return is_number(value) and not isinstance(value, Quantity)


def has_text(part: str, quantity: type[Quantity]) -> Callable[[Any], bool]:
    """Whether a value is a text with a part in it, in capitals or not, or the quantity read."""
    return lambda value: isinstance(value, quantity) or (is_text(value) and part in value.lower())


def is_quantity(value: Any) -> bool:
    """Whether a value is a number, with a unit or without."""
    return is_number(value) or (is_text(value) and any(map(str.isdigit, value)))


def is_word(*words: str) -> Callable[[Any], bool]:
    """Whether a value is one of some words."""
    return lambda value: isinstance(value, str) and value.strip() in words


def is_list(value: Any) -> bool:
    """Whether a value is a list."""
    return isinstance(value, list)


def has_key(key: str) -> Callable[[Any], bool]:
    """Whether a value is a table that has `key`."""

    def has(value: Any) -> bool:
        return key in value if isinstance(value, dict) else hasattr(value, key)

    return has


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


def _listed(value: Any) -> Any:
    """A text of numbers as their list; no name begins with a digit."""
    is_numbers = isinstance(value, str) and value.lstrip()[:1].isdecimal()
    return numbers(value) if is_numbers and not is_known("placement", value) else value


def _in_file(value: Any) -> Any:
    """The name of a file as the table that has it; no other name has a dot or slash."""
    if not isinstance(value, str) or is_known("mapping", value):
        return value
    if value == "file":
        allowed = 'the name of the file, such as "ranks.map" or { file = "ranks" }'
        raise problem("", '"file"', allowed)
    return {"file": value} if "." in value or "/" in value else value


#: For a value that may be a list of nodes: a text such as ``0, 3-8`` stands for it.
NODES_AS_TEXT = BeforeValidator(_listed)
#: For a value that may be a table with a file: the file's name stands for it.
FILE_AS_TEXT = BeforeValidator(_in_file)

#: Numbers of groups or routers, from zero: a list, or a text with ranges; see :func:`numbers`.
Numbers = Annotated[
    Annotated[list[Index], Field(min_length=1), Tag(tag("a list of numbers"))]
    | Annotated[str, AfterValidator(_checked_numbers), Tag(tag('a text such as "3-8"'))],
    by_form({"a list of numbers": is_list, 'a text such as "3-8"': is_text}),
    InEngine(value=numbers),
]
