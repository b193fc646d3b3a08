"""What stands for plug-ins in the engine's form of a scenario, until they are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from odonata.plug_ins import Kind, find, is_known

#: Key by which the engine's form of a scenario says that a plug-in gives something.
MARK = "plug-in"


def reference(kind: Kind, name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """What stands for a plug-in in the engine's form of a scenario.

    It names the plug-in and its source, and so tells whether two scenarios are the same;
    :func:`odonata.plug_ins.calls.resolved` puts what the plug-in gives in its place.

    Raises:
        PlugInError: If it cannot be imported.
    """
    return {
        MARK: name,
        "kind": kind,
        "source": find(kind, name).source,
        "parameters": dict(parameters),
    }


#: Kind of the plug-ins in the place of each kind of tables, and the key that names them.
_OF_KINDS: dict[str, tuple[Kind, str]] = {
    "Motif": ("application", "kind"),
    "Traffic": ("pattern", "pattern"),
}


def with_plug_in(kinds: str, data: dict[str, Any]) -> dict[str, Any]:
    """The keys of a motif or traffic with what stands for its plug-in, if it has one.

    Args:
        kinds: ``Motif`` or ``Traffic``.
        data: As a TOML reader has it.

    Raises:
        PlugInError: If the plug-in cannot be imported.
    """
    kind, key = _OF_KINDS[kinds]
    name = data.get(key)
    if not isinstance(name, str) or not is_known(kind, name):
        return data
    rest = {k: v for k, v in data.items() if k not in (key, "parameters")}
    return {key: reference(kind, name, data.get("parameters", {})), **rest}


def with_plug_ins(job: Mapping[str, Any]) -> dict[str, Any]:
    """A job, as a TOML reader has it, with what stands for its plug-ins.

    Raises:
        PlugInError: If one cannot be imported.
    """
    found = dict(job)
    places: tuple[Kind, Kind] = ("placement", "mapping")
    for kind in places:
        value = found.get(kind)
        name = value.get("plug_in") if isinstance(value, Mapping) else value
        if isinstance(name, str) and is_known(kind, name):
            parameters = value.get("parameters", {}) if isinstance(value, Mapping) else {}
            found[kind] = reference(kind, name, parameters)
    for key, kinds in (("motif", "Motif"), ("traffic", "Traffic")):
        if key in found:
            found[key] = with_plug_in(kinds, found[key])
    return found
