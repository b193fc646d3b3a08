"""Points of a study as tables for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from odonata import display
from odonata.report.tables import WholeTable

if TYPE_CHECKING:
    from rich.console import Console

    from odonata.study.file import StudyFile

#: Rows of the table in the terminal; all are in the dataset.
MOST_ROWS = 100
#: Points that failed in the same way, of which each is named.
MOST_NAMED = 6
#: Marks of points by the column of the dataset that names jobs there, and what they say of these.
_MARKS = {
    "saturated": ("†", "saturated: traffic of {} piles up, and latencies grow with the run"),
    "aborted": ("‡", "aborted: {}, whose figures are of the time before"),
}


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
    console.print(points_table(study, shown))
    for column, (mark, text) in _MARKS.items():
        jobs = dict.fromkeys(name for row in shown for name in row.get(column) or ())
        if jobs:
            console.print(f"{mark} {text.format(', '.join(jobs))}", markup=False, soft_wrap=True)
    if len(rows) > len(shown):
        console.print(f"… and {len(rows) - len(shown):,} more points in {directory}", markup=False)


def print_failed(console: Console, failed: Sequence[Mapping[str, Any]]) -> None:
    """Prints which points of a study failed, and why.

    Args:
        console: Where to.
        failed: Values of the axes, seed and error of each.
    """
    by_error: dict[str, list[str]] = {}
    for row in failed:
        axes = {name: row[name] for name in row if name not in ("seed", "error")}
        name = ", ".join(f"{axis}={_cell(value)}" for axis, value in axes.items())
        by_error.setdefault(row["error"], []).append(name or f"seed={row['seed']}")
    for error, names in by_error.items():
        unique = list(dict.fromkeys(names))
        points = "; ".join(unique[:MOST_NAMED]) + ("; …" if len(unique) > MOST_NAMED else "")
        console.print(f"Failed: {points}: {error}", style="red", markup=False, soft_wrap=True)


def points_table(study: StudyFile, rows: Sequence[Mapping[str, Any]]) -> WholeTable:
    """Points of a study with their measures: one table, or one per job where there is no room.

    Args:
        study: Whose points.
        rows: Values by column.
    """
    axes = [axis.column for axis in study.axis]
    names = [*axes, *([] if len({row["seed"] for row in rows}) <= 1 else ["seed"])]
    table = WholeTable(keys=len(names), narrow=True)
    for name in names:
        table.add_column(escape(name), style="bold")
    for measure in study.measure:
        bars = _shares([row[measure.column_name] for row in rows])
        job = measure.job or ""
        table.add_column(escape(measure.label), justify="right", job=job, bars=bars)
    for row in rows:
        keys = [_cell(row[name]) for name in names]
        marks = "".join(mark for column, (mark, _) in _MARKS.items() if row.get(column))
        if keys and marks:
            keys[-1] += f" {marks}"
        figures = (_figure(row[measure.column_name]) for measure in study.measure)
        table.add_row(*map(escape, keys), *figures)
    return table


def _shares(values: Sequence[float | None]) -> list[float]:
    """Values as shares of the largest."""
    largest = max([*(value for value in values if value is not None), 0.0])
    return [(value or 0.0) / largest if largest > 0 else 0.0 for value in values]


def _figure(value: float | None) -> str:
    """Four digits; of large figures whole numbers, as powers of ten are hard to compare."""
    if value is None:
        return display.NO_VALUE
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def _cell(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return display.NO_VALUE if value is None else text
