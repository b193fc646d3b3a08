"""What a report shows of schedules of one job log."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from odonata import display
from odonata.batch.plots import gantt_pieces, gantt_window, time_unit
from odonata.batch.schedules import Schedule, load_schedules
from odonata.batch.withheld import COSTS, cost_sentences, withheld
from odonata.columns import numbers
from odonata.report.html import charts
from odonata.report.html.parts import Chart, Part, Section, facts, folded, paragraph, source, table
from odonata.report.summaries import readable

#: Rectangles in a Gantt chart.
MOST_BOXES = 4_000
#: Slices of time in a chart.
MOST_SLICES = 1_200


def section(directory: Path, *, brief: bool = False) -> Section:
    """What is shown of schedules in a directory; if `brief`, with smaller charts."""
    schedules, answer = load_schedules(directory)
    parts = [
        _summary(schedules, answer),
        _waits(schedules),
        _timeline(schedules),
        _gantt(schedules, MOST_BOXES // (2 if brief else 1)),
        _reproducible(answer),
    ]
    log = str(answer.get("log", {}).get("file", "")).rsplit("/", 1)[-1]
    title = f"Schedules of {log}" if log else "Schedules"
    return Section("schedule", f"{title} ({directory.name})" if brief else title, parts)


def _summary(schedules: Sequence[Schedule], answer: Mapping[str, Any]) -> Part:
    names = [one.name for one in schedules]
    summaries = [_flat(one.summary) for one in schedules]
    keys = [
        key
        for key, value in summaries[0].items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    ]
    rows = []
    for key in keys:
        label, _ = readable(key, 0)
        rows.append([label, *(_value(key, one.get(key)) for one in summaries)])
    shown = [row for row in rows if any(cell != display.NO_VALUE for cell in row[1:])]
    facts_of = [
        ("machine", f"{schedules[0].summary['machine']:,} {schedules[0].unit}"),
        ("jobs", f"{schedules[0].jobs.num_rows:,}"),
        ("schedules", ", ".join(names)),
    ]
    words = ("wait", "utilisation", "slowdown")
    first = [row for row in shown if any(word in row[0] for word in words)]
    costs = [
        f"{COSTS[what]}, {one.name} beside {cost['without']}: {'; '.join(cost_sentences(cost))}."
        for one in schedules
        for what, cost in one.summary.get("costs", {}).items()
    ]
    return Part(
        "Summary",
        [
            facts(facts_of),
            table(["figure", *names], first or shown, "Schedules beside each other"),
            *(paragraph(cost) for cost in costs),
            folded("All figures", table(["figure", *names], shown, "All figures")),
        ],
    )


def _flat(summary: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Figures of nested tables by one name each, with the unit at its end."""
    found: dict[str, Any] = {}
    for key, value in summary.items():
        name = f"{above}{key}"
        if isinstance(value, Mapping) and key in ("wait_s", "slowdown", "bounded_slowdown"):
            # As in comparisons: the mean wait, not the wait's mean.
            found |= {f"{which}_{key}": figure for which, figure in value.items()}
        elif isinstance(value, Mapping):
            found |= _flat(value, f"{above}{key}_")
        elif not isinstance(value, (list, str)):
            found[name] = value
    return found


def _value(key: str, value: Any) -> str:
    if value is None:
        return display.NO_VALUE
    if "utilisation" in key:
        return display.percent(float(value))
    if isinstance(value, float) and abs(value) >= 1e4:
        return display.count(round(value))
    return readable(key, value)[1]


def _waits(schedules: Sequence[Schedule]) -> Part:
    samples = {}
    for one in schedules:
        waits = numbers(one.jobs, "wait_s")
        waits = np.sort(waits[waits >= 0])
        if len(waits):
            value, count = np.unique(np.maximum(waits, 1), return_counts=True)
            samples[one.name] = (value / 3600, count.astype(float))
    if not samples:
        return Part("Waits", [paragraph("No job ran.")])
    ecdf, ccdf = charts.distributions(samples, "wait", "h")
    return Part(
        "Waits",
        [
            [
                Chart(ecdf, "Share of jobs that wait at most so long, by schedule"),
                Chart(ccdf, "Share of jobs that wait as long or longer, by schedule"),
            ],
            paragraph("Waits below one second are drawn as one second."),
        ],
    )


def _timeline(schedules: Sequence[Schedule]) -> Part:
    busy: dict[str, Any] = {}
    queue: dict[str, Any] = {}
    origin = min(int(one.summary["first_submit_s"]) for one in schedules)
    last = max(int(one.summary["last_end_s"]) for one in schedules)
    length, unit = time_unit(max(last - origin, 1))
    for one in schedules:
        time = numbers(one.occupancy, "time_s")
        if not len(time):
            continue
        joined = max(1, -(-len(time) // MOST_SLICES))
        starts = np.arange(0, len(time), joined)
        counts = np.diff(np.append(starts, len(time)))
        for found, column in ((busy, "busy"), (queue, "waiting")):
            values = numbers(one.occupancy, f"{column}_{one.unit}")
            found[one.name] = (
                (time[starts] - origin) / length,
                np.add.reduceat(values, starts) / counts,
            )
    what = schedules[0].unit
    label = f"{unit} since the first submission"
    content: list[Any] = []
    shared = None
    for found, title in ((busy, f"{what} in use"), (queue, f"{what} waited for")):
        chart = charts.new(title.capitalize(), label, title)
        hover = [("time", f"@x{{0.[00]}} {unit}"), (title, "@y{0,0}")]
        charts.lines(chart, found, hover, steps=True)
        if shared is None:
            shared = chart.x_range
        chart.x_range = shared
        content.append(Chart(chart, f"{title.capitalize()} over time, by schedule"))
    return Part("Timeline", content)


def _gantt(schedules: Sequence[Schedule], most: int) -> Part:
    content: list[Any] = []
    for one in schedules[:4]:
        start, end = numbers(one.jobs, "start_s"), numbers(one.jobs, "end_s")
        ran = (start >= 0) & (end > start)
        if not ran.any():
            content.append(paragraph(f"{one.name}: no job ran."))
            continue
        low, high = gantt_window(start[ran], end[ran], one)
        shown = np.flatnonzero(ran & (start < high) & (end > low))
        size = numbers(one.jobs, one.unit)
        pieces = gantt_pieces(start[shown], end[shown], size[shown], one)[:most]
        first = int(numbers(one.jobs, "submit_s").min())
        length, unit = time_unit(high - low)
        job = shown[[piece[0] for piece in pieces]]
        ids = one.jobs["id"].to_pylist()
        boxes = {
            "left": (start[job] - first) / length,
            "right": (end[job] - first) / length,
            "bottom": np.array([piece[1] for piece in pieces], float),
            "top": np.array([piece[2] for piece in pieces], float),
            "place": [piece[0] for piece in pieces],
            "id": [str(ids[number]) for number in job],
            "size": size[job].astype(np.int64),
            "wait": [display.duration(1e12 * float(w)) for w in _waited(one, job)],
            "run": [display.duration(1e12 * float(end[j] - start[j])) for j in job],
        }
        chart = charts.rectangles(
            f"{one.name}: {len(shown):,} of {int(ran.sum()):,} jobs",
            boxes,
            f"{unit} since the first submission",
            one.unit,
            [("job", "@id"), (one.unit, "@size{0,0}"), ("waited", "@wait"), ("ran", "@run")],
            [
                (
                    *((at - first) / length for at in (window.start, window.end)),
                    one.summary["machine"] - window.amount,
                    one.summary["machine"],
                )
                for window in withheld(one)
            ],
        )
        content.append(Chart(chart, f"When and on how many {one.unit} jobs ran by {one.name}"))
    content.append(
        paragraph(
            "The machine counts nodes and does not tell them apart: each job is drawn on the "
            "lowest ones that are free when it starts. What maintenance and reservations withhold "
            "is hatched. Of long logs the time around the first of these, or else around the "
            "longest queue, is shown."
        )
    )
    return Part("Gantt chart", content)


def _waited(schedule: Schedule, job: Any) -> Any:
    return np.maximum(numbers(schedule.jobs, "wait_s")[job], 0)


def _reproducible(answer: Mapping[str, Any]) -> Part:
    return Part(
        "Options, and how to repeat it",
        [
            facts([("version of Odonata", str(answer["version"]))]),
            paragraph("The log and the options of every schedule, as in result.json:"),
            source(
                json.dumps({"log": answer.get("log"), "schedules": answer["schedules"]}, indent=2)
            ),
        ],
    )
