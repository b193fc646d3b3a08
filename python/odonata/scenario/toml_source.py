"""Reads the TOML of scenarios, phases and studies."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from odonata import bounded
from odonata._engine import key_lines, read_toml
from odonata.errors import Problem, ScenarioError

#: Lines of ibnetdiscover, and the first of OpenSM's list of a subnet.
_CABLES = re.compile(r'(?m)^(Switch|Ca|Hca|Rt)\s+\d+\s+"|\A\s*\{\s*(CA|SW|Rt)\b', re.IGNORECASE)


def read_text(file: str | os.PathLike[str]) -> str:
    """The text of a scenario or study file.

    Raises:
        ScenarioError: If it cannot be read or is no text.
    """
    name = os.fspath(file)

    def error(sentence: str) -> ScenarioError:
        return ScenarioError([Problem("", sentence.removeprefix(f"{name}: "))], name)

    return bounded.read_text(file, error)


def parse_toml(text: str, file: str = "") -> dict[str, Any]:
    """The tables of a TOML text.

    Raises:
        ScenarioError: If it is no TOML; tells line and column.
    """
    try:
        tables: dict[str, Any] = read_toml(text)
    except ValueError as error:
        sentence = str(error)
        if _CABLES.search(text):
            sentence = (
                "found cables, as ibnetdiscover or OpenSM list them; allowed: a scenario in TOML, "
                f"such as `odonata machine from-slurm --links {file or 'FILE'}` makes of them"
            )
        raise ScenarioError([Problem("", sentence)], file) from None
    return tables


def with_lines(error: ScenarioError, text: str, *, but: Collection[str] = ()) -> ScenarioError:
    """The error, with the line of every problem.

    Args:
        error: Said of the keys of a TOML text.
        text: That text.
        but: Paths of keys of which the value is not that of the text.
    """
    try:
        lines = key_lines(text)
    except ValueError:
        return error
    found = [
        one
        if one.line or any(covers(path, one.path) for path in but)
        else replace(one, line=_line(lines, one.path))
        for one in error.problems
    ]
    return ScenarioError(found, error.file)


def covers(path: str, other: str) -> bool:
    """Whether `other` is the key path `path` or one below it."""
    return other == path or other.startswith((f"{path}.", f"{path}["))


def _line(lines: dict[str, int], path: str) -> int:
    """Line of a key; if it is not there, of the table that should have it; 0 if that is not."""
    while path and path not in lines:
        path = path[: max(path.rfind("."), path.rfind("["), 0)]
    return lines.get(path, 0)
