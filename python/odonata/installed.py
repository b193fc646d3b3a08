"""What installed distributions add to Odonata under a name: entry points.

The packages in ``studies/`` and ``live/`` add their studies and commands in this way, and are
imported in no other.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from odonata.errors import PlugInError


def installed(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name."""
    return {point.name: point for point in entry_points(group=group)}


def load(point: EntryPoint, kind: str) -> Any:
    """What an entry point leads to.

    Args:
        point: The entry point.
        kind: What it is, for people: ``study``.

    Raises:
        PlugInError: If it cannot be imported.
    """
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        raise PlugInError(
            f"the {kind} {point.name} cannot be loaded: {point.value}: {error}"
        ) from error
