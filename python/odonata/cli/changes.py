"""Completion of ``--set KEY=VALUE``: keys and names that scenarios have, by their JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem

#: Keys by which a table says what it is.
_CHOOSERS = ("family", "kind", "pattern", "level")


def complete_change(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Changes of a scenario that begin so, for a shell that completes them.

    Where the command names a scenario that can be read, its own keys, such as those of its family
    of networks; else those of all.
    """
    from click.shell_completion import CompletionItem

    from odonata.scenario.schema import scenario_schema

    schema = scenario_schema()
    key = incomplete.partition("=")[0]
    words = _changes(schema, schema["$defs"], _given(ctx.params), "", key)
    return [CompletionItem(word) for word in dict.fromkeys(words) if word.startswith(incomplete)]


def _given(arguments: Mapping[str, Any]) -> Any:
    """The tables of the scenario, or machine, that a command names; nothing if it is none."""
    from odonata.errors import ScenarioError
    from odonata.scenario.toml_source import parse_toml, read_text

    file = arguments.get("scenario") or arguments.get("machine")
    if not isinstance(file, (str, Path)):
        return None
    try:
        return parse_toml(read_text(file))
    except ScenarioError:
        return None


def _changes(
    schema: Mapping[str, Any], tables: Mapping[str, Any], data: Any, path: str, key: str
) -> Iterator[str]:
    """Changes below a path, of keys that `key` is the beginning of or that lead to it."""
    for member in _members(schema, tables, data):
        if "properties" in member:
            for name, inner in member["properties"].items():
                below = f"{path}.{name}" if path else name
                if below.startswith(key) or key.startswith(f"{below}."):
                    there = data.get(name) if isinstance(data, Mapping) else None
                    yield from _changes(inner, tables, there, below, key)
        elif member.get("type") == "array" and (isinstance(data, list) or path == "job"):
            for position, there in enumerate(data if isinstance(data, list) else [None]):
                yield from _changes(member["items"], tables, there, f"{path}.{position}", key)
        else:
            names = member.get("enum", [member["const"]] if "const" in member else [])
            if member.get("type") == "boolean":
                names = ["true", "false"]
            yield from (f"{path}={name}" for name in names or [""])


def _members(
    schema: Mapping[str, Any], tables: Mapping[str, Any], data: Any
) -> Iterator[Mapping[str, Any]]:
    """What a value may be; of tables that say what they are only those that `data` is."""
    if "$ref" in schema:
        yield from _members(tables[schema["$ref"].rsplit("/", 1)[1]], tables, data)
    elif "oneOf" in schema:
        for member in schema["oneOf"]:
            yield from _members(member, tables, data)
    elif _is_it(schema, data):
        yield schema


def _is_it(schema: Mapping[str, Any], data: Any) -> bool:
    """Whether a table with a key that says what it is may be `data`."""
    if not isinstance(data, Mapping):
        return True
    for chooser in _CHOOSERS:
        answer = schema.get("properties", {}).get(chooser)
        if answer is not None and chooser in data:
            return data[chooser] in answer.get("enum", [answer.get("const")])
    return True
