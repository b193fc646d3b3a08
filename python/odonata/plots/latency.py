"""The latency distribution of each job's messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from odonata import display
from odonata.columns import numbers, rows_labelled
from odonata.plots.style import FAINT, MUTED, draw_empty, draw_steps, job_colour

if TYPE_CHECKING:
    from odonata.results import Result

TITLE = "Message latency"
#: More curves than this hide each other; the strips below stay readable for longer.
MOST_CURVES = 6
MOST_STRIPS = 16
BINS = 90


def draw_latency(figure: Figure | SubFigure, result: Result) -> None:
    """Draws the share of messages per latency, and below it each job's quantiles."""
    jobs = [row for row in result.jobs.to_pylist() if row["message_latency_median_ps"] is not None]
    if not jobs:
        draw_empty(figure, TITLE, "No message was measured.")
        return
    jobs = jobs[:MOST_STRIPS]
    strips = 0.25 + 0.30 * len(jobs)
    curves, quantiles = figure.subplots(
        2, 1, sharex=True, gridspec_kw={"height_ratios": [2.4, strips]}
    )
    largest = max(job["message_latency_max_ps"] for job in jobs)
    smallest = max(min(job["message_latency_min_ps"] for job in jobs), 1)
    logarithmic = largest > 8 * smallest
    if logarithmic:
        edges = np.geomspace(smallest / 1.15, largest * 1.15, BINS + 1)
        curves.set_xscale("log")
    else:
        margin = max(0.06 * (largest - smallest), 0.02 * largest)
        edges = np.linspace(smallest - margin, largest + margin, BINS + 1)
    curves.set_xlim(edges[0], edges[-1])

    for job in jobs[:MOST_CURVES]:
        _curve(curves, result, job, edges)
    curves.set_title(TITLE)
    curves.set_ylabel("messages (%)")
    curves.set_ylim(bottom=0)
    curves.tick_params(axis="x", length=0)
    curves.grid(axis="y", visible=False)
    if len(jobs) > 1:
        curves.legend(loc="upper right")

    _strips(quantiles, jobs)
    if logarithmic:
        quantiles.xaxis.set_major_locator(LogLocator(subs=(1.0,), numticks=12))
        if largest < 100 * smallest:
            quantiles.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
        quantiles.xaxis.set_minor_formatter(NullFormatter())
        quantiles.xaxis.set_major_formatter(
            FuncFormatter(lambda ps, _: display.tick(ps, "duration"))
        )
        quantiles.set_xlabel("latency, from creation to the last byte's arrival (log scale)")
    else:
        scale, unit = display.scale_for(largest, "duration")
        quantiles.xaxis.set_major_formatter(FuncFormatter(lambda ps, _: f"{ps / scale:g}"))
        quantiles.set_xlabel(f"latency, from creation to the last byte's arrival ({unit})")


def _curve(axes: Axes, result: Result, job: dict[str, Any], edges: npt.NDArray[np.float64]) -> None:
    table = result.histograms
    chosen = rows_labelled(table, "quantity", "message_latency")
    chosen &= numbers(table, "job") == job["job"]
    share = 100 * share_between(
        edges,
        numbers(table, "low_ps")[chosen],
        numbers(table, "high_ps")[chosen],
        numbers(table, "count")[chosen],
    )
    colour = job_colour(job["job"])
    draw_steps(axes, edges, share, fill=0.22, color=colour, linewidth=1.3, label=job["name"])


def share_between(
    edges: npt.NDArray[np.float64],
    low: npt.NDArray[np.int64],
    high: npt.NDArray[np.int64],
    count: npt.NDArray[np.int64],
) -> npt.NDArray[np.float64]:
    """Share of the values between neighbouring edges, values lying evenly in their buckets.

    Args:
        edges: Ascending; all buckets lie between the first and the last.
        low: Smallest value of each bucket, ascending.
        high: Largest value of each bucket.
        count: Values in each bucket; at least one bucket.

    Returns:
        Sums to 1. Shape: edges − 1.
    """
    bounds = np.stack([low, high + 1], axis=1).astype(float).reshape(-1)
    below = np.cumsum(count) / count.sum()
    cumulative = np.stack([np.concatenate([[0.0], below[:-1]]), below], axis=1).reshape(-1)
    share: npt.NDArray[np.float64] = np.diff(np.interp(edges, bounds, cumulative))
    return share


def _strips(axes: Axes, jobs: list[dict[str, Any]]) -> None:
    """One line per job: range thin, quartiles thick, median a dot, 99th percentile a tick."""
    for place, job in enumerate(jobs):
        colour = job_colour(job["job"])

        def at(figure: str, job: dict[str, Any] = job) -> float:
            return float(job[f"message_latency_{figure}_ps"])

        axes.plot([at("min"), at("max")], [place, place], color=colour, linewidth=1.0)
        axes.plot(
            [at("p25"), at("p75")],
            [place, place],
            color=colour,
            linewidth=6.0,
            solid_capstyle="butt",
        )
        axes.plot(at("median"), place, "o", color="white", markeredgecolor=colour, markersize=4.5)
        axes.plot(at("p99"), place, "|", color=colour, markersize=10, markeredgewidth=1.6)
        left = float(
            axes.transAxes.inverted().transform(axes.transData.transform((at("median"), 0)))[0]
        )
        axes.annotate(
            f"median {display.duration(at('median'))},  p99 {display.duration(at('p99'))}",
            (at("median"), place),
            xytext=(0, 8),
            textcoords="offset points",
            ha="left" if left < 0.2 else "right" if left > 0.8 else "center",
            va="center",
            fontsize=7.5,
            color=MUTED,
        )
    axes.set_yticks(range(len(jobs)), [job["name"] for job in jobs])
    axes.set_ylim(len(jobs) - 0.45, -0.75)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x", color=FAINT)
    axes.spines["left"].set_visible(False)
