"""What a report shows of a study."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from odonata import display
from odonata.bounded import read_text
from odonata.errors import OutputError
from odonata.report.html import charts
from odonata.report.html.page import picture
from odonata.report.html.parts import Chart, Part, Section, facts, folded, paragraph, source, table
from odonata.study.bases import BASE_FILE, STUDY_FILE
from odonata.study.dataset import read_dataset
from odonata.study.file import StudyFile
from odonata.study.findings import judge
from odonata.study.intervals import interval

#: Lines in one chart; more hide each other.
MOST_LINES = 12
#: Measures that have a chart each.
MOST_MEASURES = 12
#: Rows of the table of points.
MOST_POINTS = 1_000
#: Size of the study's own pictures, all together.
MOST_PICTURE_BYTES = 1_500_000


def section(directory: Path, *, brief: bool = False) -> Section:
    """What is shown of a study or a sweep; if `brief`, without its own pictures."""
    study = StudyFile.from_file(directory / STUDY_FILE)
    points = read_dataset(directory, study)
    parts = [_summary(study, points), *_measures(study, points)]
    if not brief:
        parts += pictures(directory)
    parts += [_points(study, points), _reproducible(directory)]
    title = study.title or directory.name
    return Section("study", f"{title} ({directory.name})" if brief else title, parts)


def _summary(study: StudyFile, points: pa.Table) -> Part:
    axes = [axis.column for axis in study.axis]
    answer = [
        ("points", f"{points.num_rows:,}"),
        *((axis, ", ".join(_texts(points, axis))) for axis in axes),
        ("seeds", str(len(set(points["seed"].to_pylist())))),
    ]
    content: list[Any] = [facts(answer)]
    verdicts = judge(study, points)
    if verdicts:
        rows = [[v.finding.claim, v.published, v.ours, v.text] for v in verdicts]
        head = ["finding", "published", "here", "verdict"]
        content.append(table(head, rows, "What others found, and what this study finds", texts=4))
    for column, what in (
        ("saturated", "traffic piles up: latencies there grow with the simulated time."),
        ("aborted", "a job was aborted: its figures there are of the time before."),
    ):
        # Datasets of before it was kept have no column of it.
        there = points[column].to_pylist() if column in points.column_names else []
        count = sum(bool(names) for names in there)
        if count:
            text = f"At {count} of {points.num_rows} points {what}"
            content.append(paragraph(text, "warning"))
    return Part("Summary", content)


def _texts(points: pa.Table, axis: str) -> list[str]:
    values = list(dict.fromkeys(points[axis].to_pylist()))
    texts = [f"{value:g}" if isinstance(value, float) else str(value) for value in values]
    return texts if len(texts) <= 12 else [*texts[:4], "…", texts[-1]]


def _measures(study: StudyFile, points: pa.Table) -> list[Part]:
    axes = [axis.column for axis in study.axis]
    varied = [axis for axis in axes if len(set(points[axis].to_pylist())) > 1]
    content: list[Any] = []
    if not varied:
        return []
    numeric = [a for a in varied if pa.types.is_integer(points.schema.field(a).type)]
    numeric += [a for a in varied if pa.types.is_floating(points.schema.field(a).type)]
    counts = {axis: len(set(points[axis].to_pylist())) for axis in varied}
    along = max(numeric or varied, key=lambda axis: counts[axis])
    others = [axis for axis in varied if axis != along]
    rows = points.to_pylist()
    for measure in study.measure[:MOST_MEASURES]:
        chart = _chart(measure, rows, along, others, along in numeric)
        if chart is not None:
            content.append(Chart(chart, f"{measure.label} by {along}"))
    if len(study.measure) > MOST_MEASURES:
        content.append(paragraph(f"The first {MOST_MEASURES} of {len(study.measure)} measures."))
    content.append(
        paragraph(
            "Each line is the mean over seeds; bars are its 95 % interval, where there are "
            "several seeds."
        )
    )
    return [Part("Measures", content)]


def _chart(
    measure: Any, rows: Sequence[Mapping[str, Any]], along: str, others: Sequence[str], scaled: bool
) -> Any:
    cells: dict[tuple[Any, ...], dict[Any, list[float]]] = {}
    for row in rows:
        value = row[measure.column_name]
        if value is None or not math.isfinite(value) or row[along] is None:
            continue
        series = tuple(row[axis] for axis in others)
        cells.setdefault(series, {}).setdefault(row[along], []).append(float(value))
    if not cells:
        return None
    unit = measure.unit_text
    label = measure.label if not unit or unit in measure.label else f"{measure.label} ({unit})"
    if not scaled:
        return _bars(label, cells, along, others)
    chart = charts.new(measure.label, along, label)
    curves = {}
    for series, of_series in list(cells.items())[:MOST_LINES]:
        x = sorted(of_series)
        y = [float(np.mean(of_series[at])) for at in x]
        curves[_name(others, series) or measure.label] = (np.array(x, float), np.array(y))
    charts.lines(chart, curves, [(along, "@x"), (measure.label, "@y")])
    charts.intervals(chart, _intervals(list(cells.values())[:MOST_LINES]))
    if len(cells) > MOST_LINES:
        chart.title.text += f" (the first {MOST_LINES} of {len(cells)} combinations)"
    return chart


def _intervals(cells: Sequence[Mapping[Any, Sequence[float]]]) -> list[tuple[int, float, Any, Any]]:
    """Place of the line, x, lower and upper end, of all points with several seeds."""
    found = []
    for place, of_series in enumerate(cells):
        for at, values in of_series.items():
            if len(values) > 1:
                known = interval(list(values))
                mean = float(np.mean(values))
                if math.isfinite(known.half_width):
                    ends = (mean - known.half_width, mean + known.half_width)
                    found.append((place, float(at), *ends))
    return found


def _bars(
    label: str, cells: Mapping[Any, Mapping[Any, Sequence[float]]], along: str, others: Any
) -> Any:
    rows = []
    for place, (series, of_series) in enumerate(list(cells.items())[:MOST_LINES]):
        for at, values in of_series.items():
            mean = float(np.mean(values))
            width = interval(list(values)).half_width if len(values) > 1 else math.nan
            name = ", ".join(filter(None, [f"{along} {at}", _name(others, series)]))
            rows.append(
                {
                    "name": name,
                    "result": "",
                    "place": place,
                    "value": mean,
                    "low": mean - width,
                    "high": mean + width,
                }
            )
    return charts.changes(label, rows, label, unit="")


def _name(axes: Sequence[str], values: Sequence[Any]) -> str:
    return ", ".join(f"{a} {v}" for a, v in zip(axes, values, strict=True) if v is not None)


def pictures(directory: Path) -> list[Part]:
    """The pictures of a study, as far as there is room."""
    content, room, left = [], MOST_PICTURE_BYTES, []
    for file in sorted(directory.glob("*.png")):
        size = file.stat().st_size
        if size > room:
            left.append(file.name)
            continue
        room -= size
        content.append(picture(file, file.stem))
    if left:
        content.append(paragraph(f"Too large for this report: {', '.join(left)}"))
    return [Part("The study's own pictures", content)] if content else []


def _points(study: StudyFile, points: pa.Table) -> Part:
    axes = [axis.column for axis in study.axis]
    measures = [measure.column_name for measure in study.measure]
    names = [*axes, "seed", *measures]
    rows = [
        [_cell(row[name]) for name in names]
        for row in points.slice(0, MOST_POINTS).select(names).to_pylist()
    ]
    content = [
        table(names, rows, "Points, with the unit in the name of a measure", texts=len(axes))
    ]
    if points.num_rows > MOST_POINTS:
        content.append(paragraph(f"The first {MOST_POINTS:,} of {points.num_rows:,} points."))
    return Part("Points", [folded("All points as a table", "".join(content))])


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return display.NO_VALUE
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _reproducible(directory: Path) -> Part:
    content = [paragraph(f"Save both files beside each other, then: odonata study {STUDY_FILE}")]
    for name in (STUDY_FILE, BASE_FILE):
        if (directory / name).exists():
            text = read_text(directory / name, OutputError)
            content.append(folded(name, source(text)))
    return Part("Study, and how to repeat it", content)
