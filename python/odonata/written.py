"""Scenarios as people write them, and what the engine finds wrong with them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from odonata.errors import Problem
from odonata.plug_ins import Kind, known
from odonata.units import Quantity, describe

#: Kinds of plug-ins that jobs name.
_OF_JOBS: tuple[Kind, ...] = ("placement", "mapping", "pattern", "application")


def checked(data: Mapping[str, Any], directory: Path) -> tuple[dict[str, Any], list[Problem]]:
    """A scenario with every word of two spellings as its key has it, and all mistakes in it.

    Args:
        data: The scenario as nested mappings and lists. `machine` and `schedule` are not looked
            into.
        directory: What names of files in it are relative to.
    """
    from odonata import _engine

    wrong: list[Problem] = []
    plain = {
        key: value if key in ("machine", "schedule") else as_written(value, str(key), wrong)
        for key, value in data.items()
    }
    looked_into = {key: None if key in ("machine", "schedule") else plain[key] for key in plain}
    plug_ins: dict[str, list[str]] = {kind: list(known(kind)) for kind in _OF_JOBS}
    text, found = _engine.checked(json.dumps(looked_into), str(directory), plug_ins)
    read = json.loads(text)
    paths = {problem.path for problem in wrong}
    problems = wrong + [Problem(*one) for one in found if one[0] not in paths]
    return {key: plain[key] if value is None else value for key, value in read.items()}, problems


def as_written(value: Any, path: str = "", wrong: list[Problem] | None = None) -> Any:
    """A value as a TOML reader has it: quantities as texts, tables of code as mappings.

    Args:
        value: The value.
        path: Its key path.
        wrong: Gets what no TOML file for scenarios holds; it becomes ``False`` in the value.
    """
    if isinstance(value, Quantity):
        return str(value)
    if isinstance(value, str):
        # Bytes of a command line that are no letters of its locale have no place in Unicode.
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, Mapping):
        return {
            as_written(str(key)): as_written(one, f"{path}.{key}", wrong)
            for key, one in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [as_written(one, f"{path}[{place}]", wrong) for place, one in enumerate(value)]
    if hasattr(value, "as_written"):
        return value.as_written()
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if isinstance(value, bool) or (is_number and math.isfinite(value)):
        return value
    allowed = "a finite number" if is_number else "a text, number, true or false, list or table"
    if wrong is not None:
        message = f"found {describe(value)}; allowed: {allowed}"
        wrong.append(Problem(path, message, describe(value), allowed))
    return False
