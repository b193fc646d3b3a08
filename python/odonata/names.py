"""What scenarios, schedules and commands call by a name, declared by the engine.

Of each list what its names are, under the name of the list in capitals; the type of the names; and
where some keys mean something with some names alone, those keys by name (`…_OPTIONS`).
"""

from typing import Any, Literal

from odonata._engine import registry


def _lists() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for one in registry():
        entries, name = one["entries"], one["name"]
        kind = "".join(word.capitalize() for word in name.split("_"))
        found[name.upper()] = {entry["name"]: entry["text"] for entry in entries}
        found[kind] = Literal[tuple(found[name.upper()])]
        if any("options" in entry for entry in entries):
            options = {entry["name"]: tuple(entry.get("options", ())) for entry in entries}
            found[f"{name.upper()}_OPTIONS"] = options
    return found


globals().update(_lists())
