"""Points of a study as tables for people: as wide as there is room, nothing cut."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.markup import escape
from rich.table import Table

from odonata import display
from odonata.terminal import clean

if TYPE_CHECKING:
    from rich.console import Console

    from odonata.study.file import Measure, StudyFile

#: Rows of the table in the terminal; all are in the dataset.
MOST_ROWS = 100
#: Lines of a column's head, where there is room.
_HEAD_LINES = 3
#: Between two columns, and around all.
_GAP, _EDGES = 3, 2


def print_points(
    console: Console, study: StudyFile, rows: Sequence[Mapping[str, Any]], directory: Path
) -> None:
    """Prints the points of a study, and where all of them are.

    Args:
        console: Where to.
        study: Whose points.
        rows: Values by column.
        directory: Of the study.
    """
    shown = rows[:MOST_ROWS]
    room = console.width if console.is_terminal or "COLUMNS" in os.environ else None
    tables = points_tables(study, shown, room)
    # A table that is wider than the terminal is not cut: the terminal wraps its lines.
    console.width = max([console.width, *(_width(table) for table in tables)])
    for table in tables:
        console.print(table)
    if len(rows) > len(shown):
        console.print(f"… and {len(rows) - len(shown):,} more points in {directory}", markup=False)


def points_tables(
    study: StudyFile, rows: Sequence[Mapping[str, Any]], room: int | None
) -> list[Table]:
    """Points of a study with their measures.

    One table if it fits, without its bars if need be; otherwise one per job, in as many parts as
    it takes. What the axes are called and their values are never cut.

    Args:
        study: Whose points.
        rows: Values by column.
        room: Letters in a line; ``None`` for as many as it takes.
    """
    axes = [axis.column for axis in study.axis]
    seeds = [] if len({row["seed"] for row in rows}) <= 1 else ["seed"]
    points = [_Column(name, [_cell(row[name]) for row in rows]) for name in [*axes, *seeds]]
    figures = [_Figures(measure, rows) for measure in study.measure]
    whole = [*points, *_with_bar(figures, True)]
    if room is None or _total(whole) <= room:
        return [_table(whole, len(points))]
    if _total([*points, *figures]) <= room:
        return [_table([*points, *figures], len(points))]
    found = []
    for job, of_job in groupby(figures, lambda one: one.job):
        alone = list(of_job)
        for one in alone:
            one.head = one.head.replace(f" of {job}", "") if job else one.head
        for part in _parts(alone, room - _total(points)):
            bars = _total([*points, *_with_bar(part, True)]) <= room
            found.append(_table([*points, *_with_bar(part, bars)], len(points), job))
    return found


class _Column:
    """A column with its texts, and the least letters that it is read in."""

    justify: Any = "left"

    def __init__(self, head: str, cells: Sequence[str]) -> None:
        self.head = clean(head)
        self.cells = cells

    @property
    def width(self) -> int:
        return max(map(cell_len, (self.head, *self.cells)))


class _Figures(_Column):
    """A measure's column, whose head may take several lines."""

    justify = "right"

    def __init__(self, measure: Measure, rows: Sequence[Mapping[str, Any]]) -> None:
        self.values = [row[measure.column_name] for row in rows]
        super().__init__(measure.label, [_figure(value) for value in self.values])
        self.job = clean(measure.job or "")

    @property
    def width(self) -> int:
        words = self.head.split()
        width = max(map(cell_len, (*words, *self.cells)))
        while _lines(words, width) > _HEAD_LINES:
            width += 1
        return width


class _Bars(_Column):
    """Bars for the values of a measure."""

    def __init__(self, of: _Figures) -> None:
        largest = max([*(value for value in of.values if value is not None), 0.0])
        shares = ((value or 0.0) / largest if largest > 0 else 0.0 for value in of.values)
        super().__init__("", [_bar_of(share) for share in shares])

    @property
    def width(self) -> int:
        return _BAR


def _with_bar(figures: Sequence[_Figures], bars: bool) -> list[_Column]:
    """The columns, with bars for the first if asked."""
    return [figures[0], *([_Bars(figures[0])] if bars else []), *figures[1:]]


def _parts(figures: Sequence[_Figures], room: int) -> Iterator[list[_Figures]]:
    """As many columns as fit beside those of the axes, again and again; at least one."""
    part: list[_Figures] = []
    for one in figures:
        if part and sum(column.width + _GAP for column in [*part, one]) > room:
            yield part
            part = []
        part.append(one)
    yield part


def _lines(words: Sequence[str], width: int) -> int:
    """Lines that words take."""
    lines, used = 1, 0
    for word in words:
        needed = cell_len(word) + (1 if used else 0)
        if used + needed > width:
            lines, used, needed = lines + 1, 0, cell_len(word)
        used += needed
    return lines


def _total(columns: Sequence[_Column]) -> int:
    """Letters of a line of a table."""
    return sum(column.width + _GAP for column in columns) - _GAP + _EDGES


def _width(table: Table) -> int:
    """Letters of a line of a table made here."""
    return sum((column.width or 0) + _GAP for column in table.columns) - _GAP + _EDGES


def _table(columns: Sequence[_Column], axes: int, title: str = "") -> Table:
    table = Table(
        box=SIMPLE_HEAD,
        pad_edge=False,
        title=escape(title) or None,
        title_justify="left",
        title_style="bold",
    )
    for place, column in enumerate(columns):
        table.add_column(
            escape(column.head),
            width=column.width,
            justify=column.justify,
            style="bold" if place < axes else None,
        )
    for cells in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*map(escape, cells))
    return table


def _figure(value: float | None) -> str:
    """Four digits; of large figures whole numbers, as powers of ten are hard to compare."""
    if value is None:
        return display.NO_VALUE
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


#: Letters of a bar.
_BAR = 20
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def _bar_of(share: float) -> str:
    eighths = round(share * 8 * _BAR)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _cell(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return display.NO_VALUE if value is None else clean(text)
