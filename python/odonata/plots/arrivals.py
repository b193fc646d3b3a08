"""What arrives at the recorded routers over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure, SubFigure

from odonata import display
from odonata.columns import codes, labels, numbers
from odonata.plots.style import draw_empty, job_colour

if TYPE_CHECKING:
    from odonata.results import Result

TITLE = "Arrivals at the recorded routers"
MOST_JOBS = 8
#: Dashes of link classes, in their order.
_LINES = ("solid", "dashed", "dotted", "dashdot")


def draw_arrivals(figure: Figure | SubFigure, result: Result) -> None:
    """Draws what arrives per second at all recorded routers together, by job and link class."""
    table = result.table("arrivals")
    if not table.num_rows:
        message = "Nothing was recorded; set [record] arrivals in the scenario."
        draw_empty(figure, TITLE, message)
        return
    begin, end = numbers(table, "begin_ps"), numbers(table, "end_ps")
    edges = np.unique(np.concatenate([begin, end])).astype(float)
    seconds = np.diff(edges) / 1e12
    place = np.searchsorted(edges, begin)
    job_of_row, class_of_row = numbers(table, "job"), codes(table, "class")
    amount = numbers(table, "bytes").astype(float)
    names, classes = result.jobs["name"].to_pylist(), labels(table, "class")
    used = [int(code) for code in np.unique(class_of_row)]
    series: dict[tuple[int, int], npt.NDArray[np.float64]] = {}
    for job in np.unique(job_of_row)[:MOST_JOBS].tolist():
        for code in used:
            chosen = (job_of_row == job) & (class_of_row == code)
            if chosen.any():
                sums = np.bincount(place[chosen], amount[chosen], minlength=len(seconds))
                series[job, code] = sums.astype(np.float64) / seconds
    largest = max(float(rate.max()) for rate in series.values())
    rate_scale, rate_unit = display.scale_for(largest, "rate")
    time_scale, time_unit = display.scale_for(float(edges[-1]), "duration")
    axes = figure.add_subplot()
    for (job, code), rate in series.items():
        name = names[job] if len(used) == 1 else f"{names[job]}, {classes[code]}"
        axes.stairs(
            rate / rate_scale,
            edges / time_scale,
            baseline=None,
            color=job_colour(job),
            linestyle=_LINES[used.index(code) % len(_LINES)],
            linewidth=1.4,
            label=name,
        )
    routers = len(np.unique(numbers(table, "router")))
    over = f" over {classes[used[0]]} links" if len(used) == 1 else ""
    axes.set_title(TITLE)
    axes.set_xlim(0, edges[-1] / time_scale)
    axes.set_ylim(0, 1.22 * largest / rate_scale)
    axes.set_xlabel(f"simulated time ({time_unit})")
    axes.set_ylabel(f"at {routers} routers{over}, {rate_unit}")
    axes.legend(loc="upper right", ncols=min(len(series), 4))
