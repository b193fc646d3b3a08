"""Tables of measured figures in pages.

They stand between the markers ``<!-- NAME: begin -->`` and ``<!-- NAME: end -->``, so that text and
figures live in one file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path


def with_tables(text: str, tables: Mapping[str, str]) -> str:
    """The page's text with these tables, by name, in place of those that it has.

    Raises:
        ValueError: If the page lacks the markers of a table.
    """
    for name, table in tables.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.S)
        if not pattern.search(text):
            raise ValueError(f"the page has no place for a table: add {begin} and {end}")
        body = f"{begin}\n\n{table}\n\n{end}".replace("\\", r"\\")
        text = pattern.sub(body, text)
    return text


def write_tables(page: Path, tables: Mapping[str, str]) -> None:
    """Puts these tables, by name, in place of those that the page's file has."""
    page.write_text(with_tables(page.read_text(encoding="utf-8"), tables), encoding="utf-8")


def titled(title: str, *, quick: bool) -> str:
    """The title of a page, which says that a quick version is none to judge by."""
    return f"{title}: a quick version, of few points" if quick else title


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]], *, labels: int = 1) -> str:
    """A Markdown table.

    Args:
        header: Of the columns.
        rows: Of cells.
        labels: Columns at the left that are text; the others are figures, at the right.
    """
    rules = ["---" if column < labels else "--:" for column in range(len(header))]
    lines = ["| " + " | ".join(header) + " |", "|" + "|".join(rules) + "|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])
