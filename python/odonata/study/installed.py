"""The studies that are installed: entry points of the group ``odonata.studies``.

An entry point has the name of its study, and leads to the path of a study file, or to a function
that makes a :class:`~odonata.study.study.Study`.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from odonata.errors import PlugInError
from odonata.study.study import Study

#: The group of the entry points.
GROUP = "odonata.studies"


def _points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def names() -> list[str]:
    """The names of all that are installed, sorted."""
    return sorted(_points())


def find(name: str) -> Path | Callable[[], Study] | None:
    """A study file, or what makes a study; none if no study has the name.

    Raises:
        PlugInError: If it cannot be imported.
    """
    point = _points().get(name)
    if point is None:
        return None
    try:
        found: Any = point.load()
    except (ImportError, AttributeError) as error:
        raise PlugInError(f"the study {name} cannot be loaded: {point.value}: {error}") from error
    return found  # type: ignore[no-any-return]


def name_of(file: Path) -> str | None:
    """The name of an installed study file; none if it is none."""
    return next((name for name in names() if name == file.stem and find(name) == file), None)
