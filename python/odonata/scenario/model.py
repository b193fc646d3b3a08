"""What tables have in common that Python declares: `[schedule]`, and those of study files."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    ValidationError,
)
from pydantic.fields import FieldInfo

from odonata.errors import ScenarioError
from odonata.plug_ins import Kind, is_known, known, ours
from odonata.scenario.documented import FIELDS, sentence, text_of_field
from odonata.scenario.normal_form import NamesFile, normal_form
from odonata.scenario.problem import problem, problems
from odonata.units import (
    Duration,
    Quantity,
    Size,
    UnitError,
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


def between(low: Quantity, high: Quantity | None = None) -> AfterValidator:
    """Refuses quantities below `low` or above `high`."""

    def check(value: Quantity) -> Quantity:
        if value < low or (high is not None and value > high):
            allowed = f"at least {low}" if high is None else f"between {low} and {high}"
            raise quantity_error(UnitError(f'"{value}"', f"{value.kind} {allowed}"))
        return value

    return AfterValidator(check)


#: A duration that takes time.
PositiveDuration = Annotated[Duration, between(Duration(1))]
#: An amount of data above zero.
PositiveSize = Annotated[Size, between(Size(1))]
#: Name of a file, relative to the scenario.
FileName = Annotated[str, NamesFile()]
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


def written(grammar: str) -> AfterValidator:
    """Refuses texts that a grammar of the engine does not have."""

    def check(text: str) -> str:
        from odonata import _engine

        try:
            _engine.written(grammar, text, known("order"))
        except ValueError as error:
            found, allowed = error.args
            raise problem("", found, allowed) from None
        return text

    return AfterValidator(check)


def not_ours(kind: Kind) -> Any:
    """Marks the type of a plug-in's name: in JSON Schema only one member of a union may fit."""
    return Field(json_schema_extra={"not": {"enum": list(ours(kind))}})


def names_plug_in(kind: Kind) -> Callable[[Any], bool]:
    """Whether a value is the name of a plug-in of a kind."""
    return lambda value: is_known(kind, value)


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
