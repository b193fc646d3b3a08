"""What a report shows of predicted collectives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from odonata import display
from odonata.machines.predicted import Predicted, Prediction, load
from odonata.report.html import charts
from odonata.report.html.parts import Chart, Part, Section, facts, folded, paragraph, source, table

#: Where the percentiles are from, for people.
_SPREAD = {
    None: "none: the machine says nothing of its spread",
    "measured": "of the machine's measured calls",
    "simulated": "of calls simulated beside other jobs",
}


def section(directory: Path, *, brief: bool = False) -> Section:
    """What is shown of predictions of collectives in a directory."""
    found = load(directory)
    first = found.predictions[0]
    times = _by_size(found) if len(found.by_size) > 1 else _by_algorithm(found)
    parts = [
        _summary(found),
        Part("Times", [times, _times(found.predictions, "Predicted times")]),
        Part("Hosts", [folded(f"{len(found.hosts):,} hosts", source("\n".join(found.hosts)))]),
        Part(
            "Machine, and how to repeat it",
            [
                paragraph(
                    "Save the hosts as hosts.txt and the machine as scenario.toml, then: "
                    f"{found.command}"
                ),
                folded("scenario.toml", source(found.machine.to_toml())),
            ],
        ),
    ]
    title = f"{first.collective} on {first.nodes:,} hosts of {found.name}"
    return Section("predictions", f"{title} ({directory.name})" if brief else title, parts)


def _summary(found: Predicted) -> Part:
    first = found.predictions[0]
    fastest = [min(row, key=lambda one: one.median_ns) for row in found.by_size]
    return Part(
        "Summary",
        [
            facts(
                [
                    ("machine", found.name),
                    ("collective", first.collective),
                    ("hosts", f"{first.nodes:,}"),
                    ("ranks", f"{first.ranks:,}"),
                    ("engine", first.engine),
                    ("percentiles", _SPREAD[first.spread]),
                ]
            ),
            _times(fastest, "The fastest algorithm of each size"),
        ],
    )


def _times(rows: Any, caption: str) -> str:
    def time(value_ns: float | None) -> str:
        return display.duration(None if value_ns is None else value_ns * 1e3)

    cells = [
        [one.algorithm, f"{one.bytes:,}", time(one.median_ns), time(one.p10_ns), time(one.p90_ns)]
        for one in rows
    ]
    return table(["algorithm", "bytes", "median", "p10", "p90"], cells, caption)


def _scale(found: Predicted) -> tuple[float, str]:
    factor, unit = display.scale_for(max(_last(one) for one in found.predictions) * 1e3, "duration")
    return factor / 1e3, unit


def _last(one: Prediction) -> float:
    return one.median_ns if one.p90_ns is None else one.p90_ns


def _by_size(found: Predicted) -> Chart:
    """A line for each algorithm."""
    factor, unit = _scale(found)
    chart = charts.new(
        "Median by size",
        "bytes of a rank's vector",
        f"time of the slowest rank ({unit})",
        x_axis_type="log",
        y_axis_type="log",
    )
    named: dict[str, list[Prediction]] = {}
    for one in sorted(found.predictions, key=lambda one: one.bytes):
        named.setdefault(one.algorithm, []).append(one)
    curves = {
        name: (
            np.array([one.bytes for one in row], float),
            np.array([one.median_ns / factor for one in row]),
        )
        for name, row in named.items()
    }
    charts.lines(chart, curves, [("bytes", "@x{0,0}"), ("median", f"@y{{0.[000]}} {unit}")])
    charts.intervals(
        chart,
        [
            (place, one.bytes, one.p10_ns / factor, one.p90_ns / factor)
            for place, row in enumerate(named.values())
            for one in row
            if one.p10_ns is not None and one.p90_ns is not None
        ],
    )
    return Chart(chart, "Predicted time by size, with percentiles where there are any")


def _by_algorithm(found: Predicted) -> Chart:
    """A bar for each algorithm, of one size."""
    factor, unit = _scale(found)
    rows = []
    for place, one in enumerate(found.predictions):
        median = display.duration(one.median_ns * 1e3)
        rows.append((one.algorithm, 0.0, one.median_ns / factor, place, median))
    size = found.predictions[0].bytes
    chart = charts.bars(f"Median of {size:,} bytes", rows, f"time of the slowest rank ({unit})")
    return Chart(chart, "Predicted time by algorithm")
