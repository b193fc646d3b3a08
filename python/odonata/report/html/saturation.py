"""What a report shows of a search for the load at which a network saturates."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from odonata import display
from odonata.report.html import charts
from odonata.report.html.parts import Chart, Part, Section, facts, paragraph, source, table
from odonata.results import SCENARIO_FILE
from odonata.scenario import Scenario
from odonata.study.saturation import LoadPoint, Saturation, answer, load


def section(directory: Path, *, brief: bool = False) -> Section:
    """What is shown of the search that ``odonata saturation`` has left in a directory."""
    found = load(directory)
    scenario = Scenario.from_file(directory / SCENARIO_FILE)
    parts = [
        _summary(found),
        Part("Load and latency", [_latency(found), _delivered(found)]),
        Part(
            "Scenario, and how to repeat it",
            [
                facts([("seed", str(scenario.seed))]),
                paragraph("Save as scenario.toml, then: odonata saturation scenario.toml"),
                source(scenario.to_toml()),
            ],
        ),
    ]
    title = scenario.title or directory.name
    return Section("saturation", f"{title} ({directory.name})" if brief else title, parts)


def _summary(found: Saturation) -> Part:
    rows = [
        [
            f"{point.load:.4g}",
            display.percent(point.accepted_bytes_per_s / point.offered_bytes_per_s),
            display.duration(point.latency_ps),
            display.duration(point.latency_ci95_ps),
            display.duration(point.latency_p99_ps),
            "yes" if point.saturated else "no",
        ]
        for point in found.points
    ]
    head = ["offered load", "delivered", "mean latency", "± 95 %", "p99", "saturated"]
    return Part(
        "Summary",
        [
            facts(
                [
                    ("load", answer(found)),
                    ("delivers at most", f"a load of {found.mean_throughput:.4g}"),
                    ("loads simulated", str(len(found.points))),
                ]
            ),
            table(head, rows, "Delivered load and message latency by offered load"),
        ],
    )


def _latency(found: Saturation) -> Any:
    """Latencies beyond saturation are left out: they grow for as long as one measures."""
    points = [p for p in found.points if not p.saturated and not math.isnan(p.latency_ps)]
    if not points:
        return paragraph("No load below saturation was measured.")
    factor, unit = display.scale_for(max(p.latency_ps for p in points), "duration")
    chart = charts.new(
        "Latency below saturation",
        "offered load (fraction of terminal bandwidth)",
        f"message latency ({unit})",
        y_axis_type="log",
    )
    x = np.array([p.load for p in points])
    curves = {
        "mean": (x, np.array([p.latency_ps for p in points]) / factor),
        "99th percentile": (x, np.array([p.latency_p99_ps for p in points]) / factor),
    }
    charts.lines(chart, curves, [("offered load", "@x"), ("latency", f"@y{{0.[000]}} {unit}")])
    charts.intervals(
        chart,
        [
            (0, p.load, (p.latency_ps - half) / factor, (p.latency_ps + half) / factor)
            for p in points
            if 0 < (half := p.latency_ci95_ps) < p.latency_ps
        ],
    )
    return Chart(chart, "Mean and 99th percentile of message latency by offered load")


def _delivered(found: Saturation) -> Chart:
    chart = charts.new(
        "Delivered of what is offered",
        "offered load (fraction of terminal bandwidth)",
        "delivered load",
    )

    def share(point: LoadPoint) -> float:
        return point.load * point.accepted_bytes_per_s / point.offered_bytes_per_s

    x = np.array([point.load for point in found.points])
    curves = {
        "delivered": (x, np.array([share(point) for point in found.points])),
        "offered": (x, x),
    }
    charts.lines(chart, curves, [("offered load", "@x"), ("load", "@y{0.[0000]}")])
    return Chart(chart, "Delivered load by offered load")
