"""The form of a table that the engine takes: integers in base units, absolute paths.

It follows from the types of the fields: a quantity's key gets the unit (``delay`` becomes
``delay_ps``), a file's name becomes a path, a table its own form. What a field does otherwise is
said beside its type, by :class:`InEngine`. Of `[schedule]` alone: what Rust declares has its form
from there (``_engine.engine_form``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from odonata.units import Quantity


@dataclass(frozen=True)
class InEngine:
    """How a key stands in the engine's form, where that does not follow from its type.

    Attributes:
        value: What becomes of a value that is given. Default: what its type says.
    """

    value: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class NamesFile:
    """Marks the type of a key that names a file; see :mod:`odonata.scenario.files`.

    Attributes:
        parts: What belongs to the file: nothing else (``itself``), the other files of a trace, the
            lists that a configuration of CODES names, what a file of phases names, what the
            network of a scenario names (``machine``), or of a directory of forwarding tables the
            files that are read (``tables``).
    """

    parts: Literal["itself", "trace", "codes", "phases", "machine", "tables"] = "itself"


@dataclass(frozen=True)
class _Plan:
    """What becomes of a field."""

    name: str
    key: str
    engine: InEngine
    is_file: bool


@cache
def _plans(table: type[BaseModel]) -> tuple[_Plan, ...]:
    return tuple(_plan(name, field) for name, field in table.model_fields.items())


def _plan(name: str, field: FieldInfo) -> _Plan:
    found = [*field.metadata, *_parts(field.annotation)]
    engine = next((part for part in found if isinstance(part, InEngine)), InEngine())
    suffixes = {part.suffix for part in found if _is_quantity(part)}
    key = field.alias or name
    if len(suffixes) == 1:
        suffix = suffixes.pop()
        key = key if not suffix or key.endswith(suffix) else key + suffix
    return _Plan(
        name,
        key,
        engine,
        any(isinstance(part, NamesFile) for part in found),
    )


def _is_quantity(part: Any) -> bool:
    return isinstance(part, type) and issubclass(part, Quantity)


def _parts(annotation: Any) -> Iterator[Any]:
    """A type, what it consists of, and what is said beside it."""
    yield annotation
    yield from getattr(annotation, "__metadata__", ())
    for part in get_args(annotation):
        yield from _parts(part)


def normal_form(table: BaseModel, directory: Path) -> dict[str, Any]:
    """The engine's form of a table.

    Args:
        table: Checked already.
        directory: What names of files are relative to.
    """
    form: dict[str, Any] = {}
    for plan in _plans(type(table)):
        value = getattr(table, plan.name)
        if value is not None and plan.engine.value is not None:
            form[plan.key] = plan.engine.value(value)
        elif value is not None and plan.is_file:
            form[plan.key] = str(directory / value)
        else:
            form[plan.key] = _value(value, directory)
    return form


def _value(value: Any, directory: Path) -> Any:
    if isinstance(value, Quantity):
        return value.engine_value()
    if hasattr(value, "engine_form"):
        return value.engine_form(directory)
    if isinstance(value, list):
        return [_value(one, directory) for one in value]
    return value
