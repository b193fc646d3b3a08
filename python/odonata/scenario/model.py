"""What the tables of study files have in common, which Python declares."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    ValidationError,
)
from pydantic.fields import FieldInfo

from odonata.errors import ScenarioError
from odonata.scenario.documented import FIELDS, sentence, text_of_field
from odonata.scenario.problem import problems


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
    """A table of a study file: unknown keys and values of another type are errors."""

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


#: A number of things, at least one.
Count = Annotated[int, Field(ge=1, le=2**32 - 1)]
#: An index, from zero.
Index = Annotated[int, Field(ge=0, le=2**32 - 1)]


def tag(name: str) -> str:
    """Tag of a union's member; the brackets tell it from a key in an error's location."""
    return f"<{name}>"


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
