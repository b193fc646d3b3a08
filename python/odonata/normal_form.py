"""The form of a table that the engine takes: integers in base units, absolute paths.

It follows from the types of the fields: a quantity's key gets the unit (``delay`` becomes
``delay_ps``), a file's name becomes a path, a table its own form. What a field does otherwise is
said beside its type, by :data:`LATER` and :class:`InEngine`. Stored points of studies are known by
this form, which never changes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
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
        key: Its name there. Default: as it is, with the unit.
        value: What becomes of a value that is given. Default: what its type says.
        absent: What stands there where nothing is given.
        within: The table there that it is part of; left out where it would be empty.
        keys: Several keys in place of this one, from its value.
    """

    key: str | None = None
    value: Callable[[Any], Any] | None = None
    absent: Any = None
    within: str | None = None
    keys: Callable[[Any], dict[str, Any]] | None = None


def words(meanings: Mapping[str, Any]) -> Callable[[Any], Any]:
    """What becomes of a value in place of which there may be words.

    Args:
        meanings: What each word is in the engine's form.
    """
    return lambda given: meanings[given] if isinstance(given, str) else given


def or_word(
    key: str, word_key: str, meanings: Mapping[str, Any]
) -> Callable[[Any], dict[str, Any]]:
    """The keys of a quantity in place of which there may be a word.

    Args:
        key: Has the quantity.
        word_key: Says whether it was a word.
        meanings: What each word is in the engine's form.
    """

    def keys(given: Any) -> dict[str, Any]:
        if isinstance(given, str):
            return {key: meanings[given.strip()], word_key: True}
        return {key: given.engine_value(), word_key: False}

    return keys


def or_share(key: str, share_key: str) -> Callable[[Any], dict[str, Any]]:
    """The keys of a value that is a quantity or a share.

    Args:
        key: Has the quantity.
        share_key: Has the share.
    """

    def keys(given: Any) -> dict[str, Any]:
        return {
            key: given.engine_value() if isinstance(given, Quantity) else None,
            share_key: given if isinstance(given, float) else None,
        }

    return keys


@dataclass(frozen=True)
class _Later:
    """See :data:`LATER`."""


#: Marks a key that came when scenarios were already known by their form: it is left out where it is
#: as by default, so that those stay what they were.
LATER = _Later()


@dataclass(frozen=True)
class NamesFile:
    """Marks the type of a key that names a file; see :mod:`odonata.files`.

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
    is_later: bool
    default: Any
    is_file: bool


@cache
def _plans(table: type[BaseModel]) -> tuple[_Plan, ...]:
    return tuple(_plan(name, field) for name, field in table.model_fields.items())


def _plan(name: str, field: FieldInfo) -> _Plan:
    found = [*field.metadata, *_parts(field.annotation)]
    engine = next((part for part in found if isinstance(part, InEngine)), InEngine())
    suffixes = {part.suffix for part in found if _is_quantity(part)}
    key = engine.key or field.alias or name
    if engine.key is None and engine.keys is None and len(suffixes) == 1:
        suffix = suffixes.pop()
        key = key if not suffix or key.endswith(suffix) else key + suffix
    return _Plan(
        name,
        key,
        engine,
        any(isinstance(part, _Later) for part in found),
        field.get_default(call_default_factory=True),
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


def normal_form(
    table: BaseModel, directory: Path, *, without: Collection[str] = ()
) -> dict[str, Any]:
    """The engine's form of a table.

    Args:
        table: Checked already.
        directory: What names of files are relative to.
        without: Fields that are not in it.
    """
    form: dict[str, Any] = {}
    for plan in _plans(type(table)):
        value = getattr(table, plan.name)
        if plan.name in without or (plan.is_later and value == plan.default):
            continue
        place = form.setdefault(plan.engine.within, {}) if plan.engine.within else form
        if plan.engine.keys is not None:
            place.update(plan.engine.keys(value))
        elif value is None:
            place[plan.key] = plan.engine.absent
        elif plan.engine.value is not None:
            place[plan.key] = plan.engine.value(value)
        else:
            place[plan.key] = str(directory / value) if plan.is_file else _value(value, directory)
    return form


def _value(value: Any, directory: Path) -> Any:
    if isinstance(value, Quantity):
        return value.engine_value()
    if hasattr(value, "engine_form"):
        return value.engine_form(directory)
    if isinstance(value, list):
        return [_value(one, directory) for one in value]
    return value
