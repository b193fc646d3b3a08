"""The keys that a scenario may have, as ``--set`` names them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from odonata.errors import Problem, ScenarioError
from odonata.scenario.problem import nearest
from odonata.scenario.scenario import Scenario, ScenarioLike, as_scenario
from odonata.scenario.schema import scenario_schema

#: Keys by which a table says what it is.
_CHOOSERS = ("family", "kind", "pattern", "level")


def changes_from(data: Any, key: str) -> Iterator[str]:
    """Changes of a scenario, of keys that `key` is the beginning of or that lead to it.

    Args:
        data: The scenario as nested dicts and lists, or ``None`` if it is unknown.
        key: Such as ``network.ro``; empty for all.
    """
    schema = scenario_schema()
    return _changes(schema, schema["$defs"], data, "", key)


def changes_by_key(
    scenario: Scenario, changes: Mapping[str, Any] | None, named: Mapping[str, Any]
) -> dict[str, Any]:
    """Changes by key, and those by the last part of a key, whose keys are completed.

    Raises:
        ScenarioError: If a name is the end of no key, or of several.
    """
    full = {full_key(scenario, name): value for name, value in named.items()}
    return {**(changes or {}), **full}


def changed_scenario(
    given: ScenarioLike, changes: Mapping[str, Any] | None, named: Mapping[str, Any]
) -> Scenario:
    """The scenario that is given in one of the forms of ``ScenarioLike``, changed.

    Raises:
        ScenarioError: If it is none, a name is no key's, or a change makes it none.
    """
    if not named:
        return as_scenario(given, changes)
    scenario = as_scenario(given)
    return as_scenario(scenario, changes_by_key(scenario, changes, named))


def full_key(scenario: Scenario, name: str) -> str:
    """The key that a short name means, such as ``network.routing`` by ``routing``.

    A name is the last part of a key, or several joined by ``_``. Keys of tables that the scenario
    has come first. A key that every job has is that of every job.

    Raises:
        ScenarioError: If it is the end of no key, or of several.
    """
    data = scenario.to_dict()
    keys = [change.partition("=")[0] for change in changes_from(data, "")]
    found = [key for key in dict.fromkeys(keys) if _ends_in(key, name)]
    there = [key for key in found if _has_table(data, key.split(".")[:-1])]
    meant = _of_every_job(there or found, len(scenario.job))
    if len(meant) == 1:
        return meant[0]
    if not meant:
        near = nearest(name, [key.rsplit(".", 1)[-1].replace("-", "_") for key in keys])
        hint = f" (did you mean {near}?)" if near else ""
        allowed = f"the last part of a key, as routing is of network.routing{hint}"
        raise ScenarioError([Problem(name, f"no key ends so; allowed: {allowed}")], scenario.file)
    message = f'several keys end so; allowed: one of them, as in {{"{meant[0]}": [...]}}: '
    raise ScenarioError([Problem(name, message + ", ".join(meant))], scenario.file)


def _ends_in(key: str, name: str) -> bool:
    """Whether the last parts of a key make the name."""
    parts = key.replace("-", "_").split(".")
    return any("_".join(parts[place:]) == name for place in range(len(parts)))


def _has_table(data: Any, parts: Sequence[str]) -> bool:
    for part in parts:
        if isinstance(data, list) and part.isdecimal() and int(part) < len(data):
            data = data[int(part)]
        elif isinstance(data, Mapping) and part in data:
            data = data[part]
        else:
            return False
    return isinstance(data, Mapping)


def _of_every_job(keys: Sequence[str], jobs: int) -> list[str]:
    """The keys, with one of every job for those that all jobs have."""
    every = [re.sub(r"^job\.\d+\.", "job.*.", key) for key in keys]
    found = (
        common if common != key and every.count(common) == jobs else key
        for key, common in zip(keys, every, strict=True)
    )
    return list(dict.fromkeys(found))


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
