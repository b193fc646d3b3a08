"""Options of ``odonata schedule`` that set keys of `[schedule]`, and of how a log is read.

They follow from what the engine declares of the table: an option has its key's name, text, range
and default.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from odonata import _engine, names
from odonata.cli.keys import KeyOption

#: Keys with an option that is not declared, or none.
_NOT_OPTIONS = ("log", "level")
_DECLARED = _engine.schedule_tables()
_TABLES: dict[str, dict[str, Any]] = {one["name"]: one for one in _DECLARED["tables"]}
_LEVELS: list[dict[str, Any]] = _DECLARED["levels"]
#: What an option takes beside what its key does.
_MORE = {
    "schedule.compare": " With --network flow or packet also a placement, which is the first "
    f"schedule's own with it: {', '.join(names.PLACEMENT)}."
}


def _all_options() -> list[KeyOption]:
    found: dict[str, KeyOption] = {}
    for one in _options(_TABLES["Schedule"], "schedule", ()):
        known = found.get(one.key)
        levels = () if known is None else known.levels
        found[one.key] = replace(known or one, levels=(*levels, *one.levels))
    return [*found.values()]


def _options(table: dict[str, Any], path: str, levels: tuple[str, ...]) -> Iterator[KeyOption]:
    for key in table["keys"]:
        kind, inside = key["kind"], f"{path}.{key['key']}"
        if key["key"] in _NOT_OPTIONS:
            continue
        if isinstance(kind, dict) and "table" in kind:
            yield from _options(_TABLES[kind["table"]], inside, levels)
        elif isinstance(kind, dict) and "kinds" in kind:
            for one in _LEVELS:
                yield from _options(one["table"], inside, (one["names"][0],))
        else:
            yield _option(key, inside, levels)


def _option(key: dict[str, Any], path: str, levels: tuple[str, ...]) -> KeyOption:
    how = key["command_line"]
    kind, choices = _kind(key["kind"], is_off=bool(how["off"]))
    has_least = kind == "whole" and key["least"] is not None
    return KeyOption(
        how["option"] or "--" + key["key"].replace("_", "-"),
        path,
        kind,
        help=(how["off"] or _help(key, kind)) + _MORE.get(path, ""),
        metavar=how["metavar"],
        choices=choices,
        least=int(key["least"]) if has_least else None,
        levels=levels,
    )


def _kind(kind: Any, *, is_off: bool) -> tuple[Any, tuple[str, ...]]:
    """What the value of an option is, and the names that it takes."""
    if isinstance(kind, str):
        plain = {"integer": "whole", "number": "number", "text": "text", "flag": "flag"}
        return "off" if is_off else plain[kind], ()
    if "list" in kind:
        if isinstance(kind["list"], dict) and "table" in kind["list"]:
            return "window", ()
        return "texts" if kind["list"] != "text" else "words", ()
    if "name" in kind:
        return "text", tuple(getattr(names, kind["name"].upper()))
    return "file" if "file" in kind else "text", ()


def _help(key: dict[str, Any], kind: str) -> str:
    """The text of a key in the form of a command's help."""
    text = " ".join(key["text"].replace("`", "").split())
    text = re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", text)
    if kind in ("texts", "window"):
        text += " May be given several times."
    said = re.search(r"\s*Default: (.*?)\.(?= May be|$)", text)
    default = key["default"]
    if said:
        return text[: said.start()] + text[said.end() :] + f"  [default: {said[1]}]"
    if not key["needed"] and default not in (None, False, True, []):
        quantity = key["kind"].get("quantity") if isinstance(key["kind"], dict) else None
        shown = _engine.quantity_text(quantity, default) if quantity else default
        return text + f"  [default: {f'{shown:g}' if isinstance(shown, float) else shown}]"
    return text


def _with_levels(option: KeyOption) -> KeyOption:
    """The option, saying with which levels of the network it has a meaning."""
    if not option.levels or len(option.levels) == len(_LEVELS):
        return replace(option, levels=())
    text = option.help
    inside = text if text[1:2].isupper() else text[:1].lower() + text[1:]
    return replace(option, help=f"With --network {' or '.join(option.levels)}: {inside}")


def options_of(*keys: str, level: str | None = None) -> tuple[KeyOption, ...]:
    """The options of some keys, for other commands.

    Args:
        keys: The keys, as in `[schedule]`.
        level: The level of the network with which alone the command has them.
    """
    found = {one.key.removeprefix("schedule."): one for one in _EVERY}
    wanted = [replace(found[key], levels=(level,) if level else ()) for key in keys]
    return tuple(map(_with_levels, wanted))


_EVERY = _all_options()
_ALL = [_with_levels(one) for one in _EVERY]
READING = tuple(one for one in _ALL if one.key.startswith("schedule.reading."))
SCHEDULE = tuple(one for one in _ALL if one not in READING)
