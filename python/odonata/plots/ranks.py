"""What the ranks of closed-loop jobs did with their time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator

from odonata import display
from odonata.columns import numbers
from odonata.plots.style import ACTIVITY_COLOURS, draw_empty

if TYPE_CHECKING:
    from odonata.results import Result

TITLE = "Time of the ranks"
MOST_JOBS = 4
#: Ranks are joined until there are at most this many bars: more cannot be distinguished.
MOST_BARS = 400

#: Columns of ``ranks`` from bottom to top, and what they are called.
PARTS = (
    ("compute_ps", "compute"),
    ("send_overhead_ps", "send overhead"),
    ("receive_overhead_ps", "receive overhead"),
    ("send_wait_ps", "wait to send"),
    ("receive_wait_ps", "wait to receive"),
    ("collective_ps", "collectives"),
)


def draw_ranks(figure: Figure | SubFigure, result: Result) -> None:
    """Draws, for every rank of each closed-loop job, its time by what it did."""
    table = result.table("ranks")
    job_of_row = numbers(table, "job")
    jobs = np.unique(job_of_row)[:MOST_JOBS].tolist()
    if not jobs:
        draw_empty(figure, TITLE, "No job has ranks that wait for each other.")
        return
    names = result.jobs["name"].to_pylist()
    all_axes = np.atleast_1d(figure.subplots(1, len(jobs), squeeze=True))
    for axes, job in zip(all_axes, jobs, strict=True):
        chosen = job_of_row == job
        # Each job has its own scale: a short job beside a long one would not be seen.
        largest = int(numbers(table, "total_ps")[chosen].max())
        scale, unit = display.scale_for(largest, "duration")
        parts = np.stack([numbers(table, column)[chosen] for column, _ in PARTS]) / scale
        _draw_job(axes, parts)
        axes.set_title(names[job] if len(jobs) > 1 else f"{TITLE}: {names[job]}")
        axes.set_ylabel(f"time of a rank ({unit})" if job == jobs[0] else unit)
        axes.set_ylim(0, 1.02 * max(largest / scale, 1e-9))
    handles, words = all_axes[0].get_legend_handles_labels()
    figure.legend(handles[::-1], words[::-1], loc="outside right center", handlelength=1.0)


def _draw_job(axes: Axes, parts: np.ndarray) -> None:
    """Args: axes: Where. parts: Shape: parts × ranks, in the axis's unit."""
    ranks = parts.shape[1]
    joined = -(-ranks // MOST_BARS)
    edges = np.append(np.arange(0, ranks, joined), ranks)
    means = np.add.reduceat(parts, edges[:-1], axis=1) / np.diff(edges)
    below = np.zeros(means.shape[1])
    for mean, (_, name) in zip(means, PARTS, strict=True):
        axes.stairs(
            below + mean,
            edges - 0.5,
            baseline=below,
            fill=True,
            color=ACTIVITY_COLOURS[name],
            linewidth=0,
            label=name,
        )
        below = below + mean
    axes.set_xlim(-0.5, ranks - 0.5)
    axes.set_xlabel("rank" if joined == 1 else f"rank (means of {joined})")
    axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True))
    axes.grid(axis="x", visible=False)
