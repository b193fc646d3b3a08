"""What a report is made of: sections, their parts, and the HTML of what is in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any


@dataclass(frozen=True)
class Chart:
    """A chart in a report.

    Attributes:
        model: Bokeh's.
        label: What it shows, in a sentence, for who does not see it.
    """

    model: Any
    label: str


@dataclass(frozen=True)
class Part:
    """Something that a report shows under a heading.

    Attributes:
        title: Its heading.
        content: HTML and charts, in their order; charts in a list stand beside each other.
    """

    title: str
    content: Sequence[str | Chart | Sequence[Chart]]


@dataclass(frozen=True)
class Section:
    """What a report shows of one directory, or of several together.

    Attributes:
        kind: ``run``, ``comparison``, ``study``, ``schedule``, ``saturation``, ``interference``,
            ``design`` or ``predictions``.
        title: Its heading.
        parts: The summary first.
        data: What the page's script needs of it, for JSON.
    """

    kind: str
    title: str
    parts: Sequence[Part]
    data: Mapping[str, Any] = field(default_factory=dict)


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of plain text."""
    return f"<p{_of_class(kind)}>{escape(text)}</p>"


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[Any]],
    caption: str,
    *,
    texts: int = 1,
    kind: str = "",
) -> str:
    """A table.

    Args:
        head: Names of the columns.
        rows: What is in them, as text.
        caption: What it shows.
        texts: Columns from the left that hold text, not figures.
        kind: Class of the table.
    """

    def cells(row: Sequence[Any]) -> str:
        found = []
        for place, value in enumerate(row):
            align = "" if place < texts else ' class="figure"'
            tag, scope = ("th", ' scope="row"') if place == 0 else ("td", "")
            found.append(f"<{tag}{scope}{align}>{escape(str(value))}</{tag}>")
        return f"<tr>{''.join(found)}</tr>"

    heads = "".join(
        f'<th scope="col"{"" if place < texts else _of_class("figure")}>{escape(name)}</th>'
        for place, name in enumerate(head)
    )
    body = "\n".join(cells(row) for row in rows)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(caption)}">'
        f"<table{_of_class(kind)}><caption>{escape(caption)}</caption>"
        f"<thead><tr>{heads}</tr></thead><tbody>\n{body}\n</tbody></table></div>"
    )


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Names and what they are, two by two."""
    rows = "".join(f"<div><dt>{escape(a)}</dt><dd>{escape(b)}</dd></div>" for a, b in pairs)
    return f'<dl class="facts">{rows}</dl>'


def folded(summary: str, content: str) -> str:
    """What is shown when a reader asks for it, and in print."""
    return f"<details><summary>{escape(summary)}</summary>{content}</details>"


def source(text: str) -> str:
    """A file's text."""
    return f'<pre tabindex="0"><code>{escape(text)}</code></pre>'


def _of_class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
