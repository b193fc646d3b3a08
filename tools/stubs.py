"""Writes the stubs of modules whose classes and types are made from the engine's declarations.

Type checkers and editors read them beside the modules, in ``python/odonata``. They are not part of
the repository: whatever builds the engine writes them, and wheels hold them.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import odonata.study.file  # noqa: F401 - makes the classes of study files
from odonata import _engine, declared
from odonata.table import CHOICES, CLASSES, FORMS, Key, Table
from odonata.units import QUANTITIES

PACKAGE = Path(declared.__file__).parent
#: The types of values of several kinds: where they are, and what they are called.
UNIONS = {"Motif": "motif.Motif", "Traffic": "traffic.AnyTraffic", "Network": "network.Network"}
UNIONS["ScheduleNetwork"] = "batch.declared.AnyScheduleNetwork"
PLAIN = {
    "flag": "bool",
    "integer": "int",
    "signed": "int",
    "number": "float",
    "text": "str",
    "numbers": "list[int] | str",
    "label": "str | bool | int | float",
    "any": "Any",
}
HEADER = '''\
"""Types of what the module makes from the engine's declarations; written by tools/stubs.py."""

from collections.abc import Mapping
from typing import Any, Final, Literal

import odonata.application
import odonata.batch.declared
import odonata.declared
import odonata.load
import odonata.machines.machine
import odonata.motif
import odonata.network
import odonata.study.bases
import odonata.study.file
import odonata.study.measures
import odonata.traffic
from odonata import bases, names, table, units
'''


def main() -> None:
    """Writes all of them."""
    for module, contents in declared.modules().items():
        parts = [HEADER]
        if module == "odonata.declared":
            parts.append(
                "def classes_of(module: str) -> dict[str, Any]: ...\n"
                "def modules() -> Mapping[str, Mapping[str, Any]]: ...\n"
                "def study_classes(bases: Mapping[str, type[table.Table]], "
                "base: type[table.Table]) -> dict[str, Any]: ...\n"
            )
        for name, value in contents.items():
            parts.append(_entry(module, name, value))
        place = PACKAGE / Path(*module.split(".")[1:])
        path = place / "__init__.pyi" if place.is_dir() else place.with_suffix(".pyi")
        path.write_text("\n".join(parts), encoding="utf-8")
    (PACKAGE / "names.pyi").write_text(_names(), encoding="utf-8")


def _entry(module: str, name: str, value: Any) -> str:
    if isinstance(value, tuple):
        return f"{name}: Final[tuple[type[table.Table], ...]]\n"
    if not isinstance(value, type):
        return f"{name} = {' | '.join(map(_class, get_args(value)))}\n"
    if value.__module__ != module and value.__module__ in declared.modules():
        return f"{name} = {_class(value)}\n"
    return _table(name, value)


def _table(name: str, value: type[Table]) -> str:
    base = value.__bases__[0]
    about = inspect.cleandoc(value.__dict__["__doc__"])
    lines = [f"class {name}({_class(base)}):", *_text(about)]
    for key in value.keys.values():
        lines += [f"    {key.name}: {_annotation(key)}", *_text(key.text)]
    if value.keys:
        given = (f"{key.name}: {_argument(key)}" for key in value.keys.values())
        lines.append(f"    def __init__(self, *, {', '.join(given)}) -> None: ...")
    return "\n".join(lines) + "\n"


def _text(text: str) -> Iterator[str]:
    first, *rest = text.replace("\\", "\\\\").split("\n")
    yield '    """' + "\n".join([first, *(f"    {line}" if line else "" for line in rest)]) + '"""'


def _class(one: type) -> str:
    return one.__qualname__ if one.__module__ == "builtins" else _qualified(one)


def _qualified(one: type) -> str:
    module = {"odonata.table": "table", "odonata.bases": "bases"}
    place = module.get(one.__module__, one.__module__)
    return f"{place}.{one.__qualname__}"


def _literal(words: list[str]) -> str:
    return f"Literal[{', '.join(json.dumps(word) for word in words)}]"


def _annotation(key: Key) -> str:
    kind = _kind(key.kind)
    if key.words and key.kind != "text":
        kind += f" | {_literal(key.words)}"
    if key.facts.get("short"):
        short = CLASSES[key.kind["table"]].keys[key.facts["short"]]
        kind += f" | {_kind(short.kind)}"
    if key.facts.get("number"):
        kind += " | float"
    return f"{kind} | None" if key.default is None and not key.is_needed else kind


def _argument(key: Key) -> str:
    """The type of an argument: quantities may be texts, and tables mappings."""
    kind = _annotation(key)
    if "units." in kind:
        kind += " | str"
    if isinstance(key.kind, dict) and {"table", "kinds", "tables", "forms"} & {*key.kind}:
        kind += " | Mapping[str, Any]"
    if isinstance(key.kind, dict) and "list" in key.kind:
        kind += " | list[Any]"
    return kind if key.is_needed else f"{kind} = ..."


def _kind(kind: Any) -> str:
    """The Python type of values of a kind."""
    if isinstance(kind, str):
        return PLAIN[kind]
    ((what, of),) = kind.items()
    match what:
        case "quantity":
            return f"units.{QUANTITIES[of].__name__}"
        case "name":
            return f"names.{_title(of)}"
        case "one-of":
            return _literal(of)
        case "file" | "written":
            return "str"
        case "list":
            return f"list[{_kind(of)}]"
        case "by-name":
            return f"dict[str, {_kind(of)}]"
        case "tables":
            return f"dict[str, {_class(CLASSES[of])}]"
        case "kinds":
            assert of in CHOICES
            return f"odonata.{UNIONS[of]}"
        case "forms":
            return " | ".join(dict.fromkeys(_form(of, form) for form in FORMS[of]))
    return _class(CLASSES[of])


def _form(name: str, form: dict[str, Any]) -> str:
    if isinstance(form["fits"], dict) and "plug-in-table" in form["fits"]:
        return _class(CLASSES[f"{name}PlugIn"])
    return _kind(form["value"]["kind"])


def _title(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def _names() -> str:
    lines = ["from collections import abc\nfrom typing import Literal\n"]
    for one in _engine.registry():
        entries = [entry["name"] for entry in one["entries"]]
        lines.append(f"{_title(one['name'])} = {_literal(entries)}")
        lines.append(f"{one['name'].upper()}: abc.Mapping[str, str]")
        if any("options" in entry for entry in one["entries"]):
            lines.append(f"{one['name'].upper()}_OPTIONS: abc.Mapping[str, tuple[str, ...]]")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
