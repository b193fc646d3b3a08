"""The studies that are installed: entry points of the group ``odonata.studies``.

An entry point has the name of its study, and leads to the path of a study file, or to a function
that makes a :class:`~odonata.study.study.Study`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from odonata.installed import installed, load
from odonata.study.study import Study

#: The group of the entry points.
GROUP = "odonata.studies"


def names() -> list[str]:
    """The names of all that are installed, sorted."""
    return sorted(installed(GROUP))


def find(name: str) -> Path | Callable[[], Study] | None:
    """A study file, or what makes a study; none if no study has the name.

    Raises:
        PlugInError: If it cannot be imported.
    """
    point = installed(GROUP).get(name)
    if point is None:
        return None
    found: Any = load(point, "study")
    return found  # type: ignore[no-any-return]


def name_of(file: Path) -> str | None:
    """The name of an installed study file; none if it is none."""
    return next((name for name in names() if name == file.stem and find(name) == file), None)
