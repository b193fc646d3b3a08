"""What stands for plug-ins in the engine's form of a scenario, until they are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from odonata.model import PlugInTable
from odonata.plug_ins import Kind, find

#: Key by which the engine's form of a scenario says that a plug-in gives something.
MARK = "plug-in"


def reference(kind: Kind, name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What stands for a plug-in in the engine's form of a scenario.

    It names the plug-in and its source, and so tells whether two scenarios are the same;
    :func:`odonata.plug_in_calls.resolved` puts what the plug-in gives in its place.

    Raises:
        PlugInError: If it cannot be imported.
    """
    return {
        MARK: name,
        "kind": kind,
        "source": find(kind, name).source,
        "parameters": dict(parameters),
    }


def named(value: Any) -> Any:
    """The name that a key has, be it alone or in a table with parameters."""
    return value.plug_in if isinstance(value, PlugInTable) else value


def named_with_parameters(value: Any) -> tuple[str, Mapping[str, Any]]:
    """The name of a plug-in that a key has, and its parameters."""
    return (value.plug_in, value.parameters) if isinstance(value, PlugInTable) else (value, {})
