"""Throughput over simulated time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure, SubFigure

from odonata import display
from odonata.columns import numbers
from odonata.plots.style import MUTED, draw_empty, draw_steps, job_colour

if TYPE_CHECKING:
    from odonata.results import Result

TITLE = "Throughput over time"
MOST_JOBS = 8
#: Slices are joined until there are at most this many: more are noise at the width of a page.
MOST_SLICES = 320


def draw_timeline(figure: Figure | SubFigure, result: Result) -> None:
    """Draws what each job delivers (filled) and injects (dotted) per second."""
    table = result.timeline
    end = int(result.meta["end_ps"])
    times = np.unique(numbers(table, "time_ps"))
    if not len(times) or not end:
        draw_empty(figure, TITLE, "Nothing was simulated.")
        return
    joined = -(-len(times) // MOST_SLICES)
    edges = np.append(times[::joined], max(end, int(times[-1]) + 1)).astype(float)
    seconds = np.diff(edges) / 1e12
    job_of_row = numbers(table, "job")
    names = result.jobs["name"].to_pylist()

    series = []
    for job in range(min(len(names), MOST_JOBS)):
        chosen = job_of_row == job
        at = np.searchsorted(times, numbers(table, "time_ps")[chosen]) // joined
        rates = []
        for column in ("delivered_bytes", "injected_bytes"):
            amount = np.zeros(len(seconds))
            np.add.at(amount, at, numbers(table, column)[chosen])
            rates.append(amount / seconds)
        series.append(rates)
    largest = max(float(rate.max()) for rates in series for rate in rates)
    rate_scale, rate_unit = display.scale_for(largest, "rate")
    time_scale, time_unit = display.scale_for(end, "duration")

    axes = figure.add_subplot()
    x = edges / time_scale
    for job, (delivered, injected) in enumerate(series):
        colour = job_colour(job)
        line: dict[str, Any] = {"color": colour, "linewidth": 1.4, "label": names[job]}
        draw_steps(axes, x, delivered / rate_scale, fill=0.18, **line)
        dotted: dict[str, Any] = {"color": colour, "linewidth": 0.9, "linestyle": (0, (1, 1.5))}
        draw_steps(axes, x, injected / rate_scale, **dotted)
    warmup = int(result.meta["warmup_ps"])
    if warmup:
        axes.axvspan(0, warmup / time_scale, color="#F2F2F2", zorder=0)
        axes.annotate(
            "warm-up",
            (warmup / time_scale, 0.97),
            xycoords=("data", "axes fraction"),
            xytext=(-3, 0),
            textcoords="offset points",
            ha="right",
            va="top",
            rotation=90,
            color=MUTED,
            fontsize=8,
        )
    axes.set_title(TITLE)
    axes.set_xlim(0, edges[-1] / time_scale)
    axes.set_ylim(0, max(1.22 * largest / rate_scale, 1e-9))
    axes.set_xlabel(f"simulated time ({time_unit})")
    axes.set_ylabel(f"delivered (dotted: injected), {rate_unit}")
    if len(names) > 1:
        axes.legend(loc="upper right", ncols=min(len(series), 4))
