"""What a report shows of results beside each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from odonata import display
from odonata.errors import OdonataError
from odonata.report.html import charts
from odonata.report.html.parts import Chart, Part, Section, facts, paragraph, table
from odonata.report.html.run import latencies
from odonata.report.summaries import readable
from odonata.results import RESULT_FILE, Result
from odonata.study.comparing import compare, load

#: Results whose latencies are drawn beside each other.
MOST_RESULTS = 8
#: Jobs of which each has its charts.
MOST_JOBS = 6


def section(directory: Path, *, brief: bool = False) -> Section:
    """What is shown of a comparison that ``odonata compare`` has left in a directory."""
    content, found = load(directory)
    title = f"Comparison ({directory.name})" if brief else "Comparison"
    return _section(title, content, found.to_pylist())


def compared(directories: Sequence[Path]) -> Section:
    """The same of runs that have not been compared before.

    Raises:
        OutputError: If one of them holds no result.
    """
    try:
        found = compare(*directories)
    except ValueError as error:
        # Nothing has the same name in all of them.
        part = Part("Summary", [paragraph(f"The runs cannot be compared: {error}.")])
        return Section("comparison", "Comparison", [part])
    return _section("Comparison", found.content, found.table.to_pylist())


def _section(title: str, content: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> Section:
    labels = list(content["results"])
    parts = [_summary(content, rows, labels), _changes(rows, labels)]
    runs = _runs(content["results"])
    if len(runs) > 1:
        parts += _latency(runs)
    parts.append(_figures(rows))
    return Section("comparison", title, parts)


def _summary(
    content: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], labels: Sequence[str]
) -> Part:
    differ = [row for row in rows if row["differs"]]
    unsure = [row for row in rows if row["change"] is not None and row["differs"] is None]
    answer = [
        ("compared with the first", ", ".join(labels)),
        ("figures that differ, with 95 % confidence", str(len(differ))),
        ("figures without an interval", str(len(unsure))),
    ]
    parts: list[Any] = [facts(answer)]
    if unsure:
        parts.append(
            paragraph(
                "A single run of jobs that wait for their messages has no interval: run it with "
                "--replications to tell chance from effect."
            )
        )
    if content["settings"]:
        settings = [[key, *values] for key, values in content["settings"].items()]
        parts.append(
            table(
                ["key", *labels], settings, "What differs in the scenarios", texts=1 + len(labels)
            )
        )
    if content["left_out"]:
        left = ", ".join(content["left_out"])
        parts.append(paragraph(f"Not in all results, and left out: {left}."))
    parts += [paragraph(sentence) for sentence in content.get("notices", ())]
    return Part("Summary", parts)


def _changes(rows: Sequence[Mapping[str, Any]], labels: Sequence[str]) -> Part:
    drawn = []
    for row in rows:
        if row["change"] is None or not math.isfinite(row["change"]):
            continue
        low, high = row["change_low"], row["change_high"]
        name, _ = readable(row["quantity"], 0)
        drawn.append(
            {
                "name": f"{row['name']}: {name}",
                "result": row["result"],
                "place": labels.index(row["result"]),
                "value": 100 * row["change"],
                "low": math.nan if low is None else 100 * low,
                "high": math.nan if high is None else 100 * high,
            }
        )
    title = "Changes"
    if not drawn:
        return Part(title, [paragraph("No figure is known of several results.")])
    several = len(labels) > 2
    content: list[Any] = []
    for label in labels[1:]:
        chosen = [row for row in drawn if row["result"] == label]
        if chosen:
            chart = charts.changes(
                f"{label}, compared with {labels[0]}", chosen, "change (%), with its 95 % interval"
            )
            content.append(Chart(chart, f"Change of every figure of {label}"))
    if several and len(content) > 6:
        content = [*content[:6], paragraph("The other results are in the table.")]
    return Part(title, content)


def _figures(rows: Sequence[Mapping[str, Any]]) -> Part:
    texts = []
    for row in rows:
        name, value = readable(row["quantity"], row["value"])
        change = ""
        if row["change"] is not None:
            change = f"{100 * row['change']:+.1f} %"
            if row["change_low"] is not None:
                change += f" ({100 * row['change_low']:+.1f} to {100 * row['change_high']:+.1f})"
        sure = {True: "yes", False: "no", None: ""}[row["differs"]]
        texts.append([row["name"], name, row["result"], value, change, sure, str(row["runs"])])
    head = ["of", "figure", "result", "value", "change (95 % interval)", "differs", "runs"]
    return Part("All figures", [table(head, texts, "Figures of all results", texts=3)])


def _runs(directories: Mapping[str, str]) -> dict[str, Result]:
    """The results that are still where they were, one run of each, by label."""
    found = {}
    for label, name in list(directories.items())[:MOST_RESULTS]:
        directory = Path(name)
        if not (directory / RESULT_FILE).exists():
            directory = next(
                (one.parent for one in sorted(directory.glob(f"seed-*/{RESULT_FILE}"))), directory
            )
        try:
            found[label] = Result.load(directory)
        except OdonataError:
            continue
    return found


def _latency(runs: Mapping[str, Result]) -> list[Part]:
    known = {label: latencies(result) for label, result in runs.items()}
    names = list(dict.fromkeys(name for one in known.values() for name in one))
    parts = []
    for name in names[:MOST_JOBS]:
        of_job = {label: one[name] for label, one in known.items() if name in one}
        if len(of_job) < 2:
            continue
        largest = max(float(value[-1]) for value, _ in of_job.values())
        factor, unit = display.scale_for(largest / 30, "duration")
        ecdf, ccdf = charts.distributions(
            {
                label: (np.maximum(value, 1) / factor, count.astype(float))
                for label, (value, count) in of_job.items()
            },
            "latency",
            unit,
        )
        pair = [
            Chart(ecdf, f"Share of the messages of {name} that take at most so long, by result"),
            Chart(ccdf, f"Share of the messages of {name} that take longer, by result"),
        ]
        parts.append(Part(f"Latency of {name}", [pair]))
    return parts
