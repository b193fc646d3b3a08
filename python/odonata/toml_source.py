"""Reads the TOML of scenarios, phases and studies."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection
from dataclasses import replace
from typing import Any

from odonata import bounded
from odonata._engine import key_lines
from odonata.errors import Problem, ScenarioError

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib


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
        tables: dict[str, Any] = tomllib.loads(text)
        return tables
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError([_syntax_problem(str(error), text)], file) from None
    except RecursionError:
        message = f"is nested too deeply; allowed: about {_DEPTH} lists or tables in each other"
        raise ScenarioError([Problem("", message)], file) from None
    except ValueError as error:
        # What the language of the reader says of numbers of thousands of digits.
        message = f"has a number that cannot be: {str(error).split(';')[0]}"
        raise ScenarioError([Problem("", message)], file) from None


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


#: Tables in each other that a scenario may have, as messages say.
_DEPTH = 100
#: A number with a unit where TOML wants a text in quotes.
_BARE_QUANTITY = re.compile(r"=\s*([\d._]+\s*[A-Za-zµμ][A-Za-z/]*)\s*(#.*|[,}].*)?$")


def _syntax_problem(error: str, text: str) -> Problem:
    """What is wrong with a text that is no TOML."""
    match = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", error, re.S)
    if match is None:
        return Problem("", f"is no valid TOML: {error}")
    lines = text.splitlines() or [""]
    line = int(match[2]) if match[2] else len(lines)
    column = int(match[3]) if match[3] else len(lines[-1]) + 1
    source = lines[min(line, len(lines)) - 1]
    bare = _BARE_QUANTITY.search(source)
    message = f"line {line}, column {column}: {match[1]}: {source.strip()}"
    if bare:
        message += f' (quantities are texts in quotes: "{bare[1].strip()}")'
    return Problem("", message, source.strip(), "valid TOML")
