"""Tables of scenarios as Python has them: what was given, seen by what the engine declares.

The engine declares the keys of every table, reads and checks them. A [`Table`][odonata.table.Table]
holds a table that it has checked, as a TOML reader has it, and gives each key its Python value when
it is asked for: quantities with units, tables inside as tables. :mod:`odonata.declared` makes the
classes.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from odonata import _engine, names
from odonata.errors import Problem, ScenarioError
from odonata.plug_ins import is_known, known, names_of_jobs
from odonata.scenario.documented import FIELDS, sentence
from odonata.scenario.written import as_written
from odonata.units import QUANTITIES, Quantity

if TYPE_CHECKING:
    from typing_extensions import Self

#: Attributes of keys that are words of Python, or that classes of tables have otherwise.
_ATTRIBUTES = {"global": "global_", "copy": "copy_rates", "from": "origin"}

#: The classes of tables, by the names that the engine has for them.
CLASSES: dict[str, type[Table]] = {}
#: For tables of which a key says the kind: that key, the class by its values, that of plug-ins.
CHOICES: dict[str, tuple[str, dict[str, type[Table]], type[Table] | None]] = {}
#: The values of several forms, by their name.
FORMS: dict[str, list[dict[str, Any]]] = {one["name"]: one["forms"] for one in _engine.forms()}

#: Which keys of a table are written: all, those that were given, or those with other values than
#: their defaults.
Which = Literal["all", "given", "changed"]


class Key:
    """A key of a table.

    Attributes:
        key: The key in a file.
        name: The attribute of the table.
        text: What it means.
        kind: What its values are, as the engine declares it; besides, ``{"tables": NAME}``: tables
            by names, and ``{"class": TYPE}``: what this type reads.
        is_needed: Whether it must be given.
        facts: All that the engine declares of it.
    """

    def __init__(self, **facts: Any) -> None:
        self.facts = facts
        self.key: str = facts["key"]
        self.name = _ATTRIBUTES.get(self.key, self.key)
        self.text: str = facts["text"]
        if facts.get("needed") and "name" in facts["kind"] and len(self.text.split()) < 3:
            # What each of the names is says what the key is.
            listed = getattr(names, facts["kind"]["name"].upper())
            told = (f"`{name}`: {_inside(text)}" for name, text in listed.items())
            self.text = "; ".join(told) + "."
        self.kind: Any = facts["kind"]
        self.is_needed: bool = facts.get("needed", False)

    @property
    def words(self) -> list[str]:
        """The words that may stand in place of a value."""
        return [word for word, _ in self.facts.get("words", ())]

    @property
    def file_parts(self) -> str | None:
        """What belongs to the file that its value names; nothing if it names no file."""
        return self.kind.get("file") if isinstance(self.kind, dict) else None

    @property
    def engine_name(self) -> str:
        """The key in the engine's form: with the unit of its quantity."""
        quantity = self.kind.get("quantity") if isinstance(self.kind, dict) else None
        suffix = QUANTITIES[quantity].suffix if quantity is not None else ""
        return self.key if self.key.endswith(suffix) else self.key + suffix

    @property
    def is_made(self) -> bool:
        """Whether its default is made anew: a table or list, of which help shows nothing."""
        return isinstance(self.default, (Table, dict)) or self.default == []

    @cached_property
    def default(self) -> Any:
        """The Python value where nothing is given."""
        facts, kind = self.facts, self.kind
        default = facts.get("default")
        for word, value in facts.get("words", ()):
            if value == default and facts["word_key"] is None:
                return word
        if default is None or facts.get("optional") or self.is_needed:
            return None
        if facts.get("short") is not None:
            return CLASSES[kind["table"]].keys[facts["short"]].default
        if not isinstance(kind, dict):
            return default
        if "table" in kind:
            return CLASSES[kind["table"]]._of({})
        if "forms" in kind:
            # The name that it is by default.
            return default["policy"] if isinstance(default, dict) else default
        if "quantity" in kind:
            quantity = QUANTITIES[kind["quantity"]]
            return quantity.of_engine(default)
        return default

    def read(self, value: Any) -> Any:
        """The Python value of what was given."""
        return _read(self.kind, value, self.words)


def _read(kind: Any, value: Any, words: Sequence[str] = ()) -> Any:
    if kind == "number":
        return float(value) if isinstance(value, int) else value
    if not isinstance(kind, dict):
        return value
    ((what, of),) = kind.items()
    match value:
        case list() if what == "list":
            return [_read(of, one, words) for one in value]
        case dict() if what in ("table", "pair"):
            return CLASSES[of]._of(value)
        case dict() if what == "tables":
            return {name: CLASSES[of]._of(one) for name, one in value.items()}
        case dict() if what == "kinds":
            key, classes, plug_in = CHOICES[of]
            return classes.get(value[key], plug_in)._of(value)  # type: ignore[union-attr]
        case str() if what == "quantity" and value.strip() not in words:
            return QUANTITIES[of](value)
        case int() if what == "quantity":
            return float(value)
    if what == "forms":
        form = next(form for form in FORMS[of] if _fits(form["fits"], value))
        if isinstance(form["fits"], dict) and "plug-in-table" in form["fits"]:
            return CLASSES[f"{of}PlugIn"]._of(value)
        return _read(form["value"]["kind"], value)
    return value


def _fits(fits: Any, value: Any) -> bool:
    """Whether a value has a form."""
    if isinstance(fits, str):
        types: dict[str, Any] = {"text": str, "number": (int, float), "list": list, "table": dict}
        return isinstance(value, types[fits])
    ((what, of),) = fits.items()
    if what == "text-with":
        return isinstance(value, str) and of in value.lower()
    if what == "plug-in":
        return isinstance(value, str) and is_known(of, value)
    return isinstance(value, dict) and ("plug_in" if what == "plug-in-table" else of) in value


def _inside(text: str) -> str:
    """A sentence as a part of another one: names and abbreviations stay as they are."""
    text = text.rstrip(".")
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


class _Documented(type):
    """Tables say in ``help()`` and to completion what their keys are."""

    keys: Mapping[str, Key]

    # No text here: it would be in the way of the one below.
    @property
    def __doc__(cls) -> str | None:  # type: ignore[override]
        """A table's own text and those of its keys, for ``help()``."""
        own: str | None = cls.__dict__.get("__doc__")
        lines = [f"    {name}: {_said(key)}" for name, key in cls.keys.items()]
        about = inspect.cleandoc(own or "").partition(FIELDS)[0]
        return "\n".join([about + FIELDS, *lines]) if lines else own

    @property
    def __signature__(cls) -> inspect.Signature:
        empty = inspect.Parameter.empty
        return inspect.Signature(
            [
                inspect.Parameter(
                    name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=empty if key.is_needed else key.default,
                )
                for name, key in cls.keys.items()
            ]
        )


def _said(key: Key) -> str:
    return sentence(key.text, key.default, is_required=key.is_needed, is_plain=not key.is_made)


class Table(metaclass=_Documented):
    """A table of a scenario: unknown keys and values of another type are errors."""

    #: Its keys by attribute, in the order in which they are written.
    keys: ClassVar[Mapping[str, Key]] = {}
    #: What the engine calls it where it reads it by itself.
    read_as: ClassVar[str] = ""
    #: The key that says its kind, if one does.
    chooser: ClassVar[str | None] = None

    _given: dict[str, Any]

    def __init__(self, /, **values: Any) -> None:
        """Checks the values.

        Raises:
            ScenarioError: If a key is unknown or missing, or a value is not allowed.
        """
        given, found = checked_table(self.read_as, self._keys_of(values))
        if found:
            raise ScenarioError(found)
        self.__dict__["_given"] = given

    @classmethod
    def _of(cls, given: dict[str, Any]) -> Self:
        """The table of what the engine has checked."""
        table = cls.__new__(cls)
        table.__dict__["_given"] = given
        return table

    @classmethod
    def _keys_of(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments of a call as the keys of a table, the one that says the kind among them."""
        keys = cls.keys
        given = {}
        if cls.chooser is not None and keys[cls.chooser].default is not None:
            given[cls.chooser] = keys[cls.chooser].default
        for name, value in values.items():
            key = keys.get(name)
            if value is not None or key is None or not key.facts.get("optional"):
                given[name if key is None else key.key] = value
        return given

    def __getattr__(self, name: str) -> Any:
        key = type(self).keys.get(name)
        if key is None:
            raise AttributeError(f"{type(self).__name__} has no key {name}")
        given = self._given
        value = key.read(given[key.key]) if key.key in given else key.default
        self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuses changes."""
        raise AttributeError(self._frozen(name))

    __delattr__ = __setattr__  # type: ignore[assignment]

    def __setitem__(self, name: str, value: Any) -> None:
        """Refuses changes."""
        raise TypeError(self._frozen(name))

    def _frozen(self, name: str) -> str:
        """Why nothing can be assigned to a key, and what to do."""
        return (
            f"{type(self).__name__} is frozen, so that {name} cannot be assigned; allowed: "
            'scenario.with_set({"KEY": value}), a changed copy, with whole keys, such as '
            "network.routing or job.0.nodes"
        )

    def _values(self) -> Iterator[Any]:
        return (getattr(self, name) for name in type(self).keys)

    def __eq__(self, other: object) -> bool:
        """Whether another table of the same class has the same values, be it by default."""
        if type(other) is not type(self):
            return NotImplemented
        return self._given == other._given or [*self._values()] == [*other._values()]

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        """The call that makes the table again."""
        keys = type(self).keys
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in keys)
        return f"{type(self).__name__}({values})"

    def __dir__(self) -> Iterable[str]:
        return [*super().__dir__(), *type(self).keys]

    def is_given(self, name: str) -> bool:
        """Whether somebody has said what the key of an attribute is, and be it its default."""
        return type(self).keys[name].key in self._given

    def as_written(self, which: Which = "given") -> dict[str, Any]:
        """The keys as a TOML reader has them, that which says the kind first."""
        cls, data = type(self), {}
        if cls.chooser is not None:
            data[cls.chooser] = getattr(self, cls.chooser)
        for name, key in cls.keys.items():
            if which == "given" and key.key not in self._given:
                continue
            value = getattr(self, name)
            is_usual = which == "changed" and value == key.default
            if value is not None and not is_usual:
                data.setdefault(key.key, written(value, which))
        return data

    def engine_form(self, directory: Path = Path()) -> dict[str, Any]:
        """The form of the engine: integers in base units, absolute paths.

        Args:
            directory: What names of files are relative to.
        """
        form: dict[str, Any] = {}
        for name, key in type(self).keys.items():
            value = getattr(self, name)
            is_file = key.file_parts is not None and value is not None
            form[key.engine_name] = (
                str(directory / value) if is_file else _in_engine(value, directory)
            )
        return form

    def changed(self, **values: Any) -> Self:
        """A copy with other values of some keys, which are not checked."""
        given = {**self._given}
        for name, value in values.items():
            key = type(self).keys[name].key
            given.pop(key, None)
            if value is not None:
                given[key] = as_written(value)
        kept = {key: value for key, value in self.__dict__.items() if key not in values}
        copy = type(self)._of(given)
        copy.__dict__.update({**kept, "_given": given})
        return copy


def _in_engine(value: Any, directory: Path) -> Any:
    if isinstance(value, Quantity):
        return value.engine_value()
    if isinstance(value, Table):
        return value.engine_form(directory)
    if isinstance(value, list):
        return [_in_engine(one, directory) for one in value]
    return value


def written(value: Any, which: Which) -> Any:
    """A value of a table as a TOML reader has it."""
    if isinstance(value, Table):
        return value.as_written(which)
    if isinstance(value, Quantity):
        return str(value)
    if isinstance(value, list):
        return [written(one, which) for one in value]
    if isinstance(value, dict):
        return {key: written(one, which) for key, one in value.items()}
    return value


def checked_table(name: str, values: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """A table with every word of two spellings as its key has it, and all mistakes in it.

    Args:
        name: What the engine calls the table.
        values: Its keys.
    """
    wrong: list[Problem] = []
    plain = as_written(values, name.lower(), wrong)
    wrong = [replace(one, path=one.path.partition(".")[2]) for one in wrong]
    plug_ins = {**names_of_jobs(), "order": [*known("order")]}
    text, found = _engine.checked_table(name, json.dumps(plain), plug_ins)
    paths = {problem.path for problem in wrong}
    problems = wrong + [Problem(*one) for one in found if one[0] not in paths]
    return json.loads(text), problems
