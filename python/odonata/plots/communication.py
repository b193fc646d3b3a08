"""Who sends how much to whom, and in messages of which size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from odonata import display
from odonata.columns import numbers
from odonata.plots.style import MORE_IS_DARKER, job_colour, say_empty

if TYPE_CHECKING:
    from odonata.results import Result

MATRIX_TITLE = "Bytes from rank to rank"
SIZES_TITLE = "Sizes of messages"
MOST_JOBS = 4
#: Ranks are joined until the matrix has at most so many rows.
MOST_ROWS = 512


def matrix(result: Result, job: int) -> npt.NDArray[np.float64]:
    """Bytes that each rank of a job sent to each other.

    Args:
        result: Of a run that recorded it (``[record] communication = true``).
        job: Row in ``jobs``.

    Returns:
        Shape: blocks × blocks; a block is one rank, or as many as keep the matrix within
        512 rows (see :func:`block_size`).
    """
    ranks = int(result.jobs["ranks"][job].as_py())
    block = block_size(ranks)
    rows = -(-ranks // block)
    table = result.table("communication")
    chosen = numbers(table, "job") == job
    source = numbers(table, "source_rank")[chosen] // block
    target = numbers(table, "destination_rank")[chosen] // block
    total: npt.NDArray[np.float64] = np.bincount(
        source.astype(np.int64) * rows + target,
        weights=numbers(table, "bytes")[chosen],
        minlength=rows * rows,
    ).astype(np.float64)
    return total.reshape(rows, rows)


def block_size(ranks: int) -> int:
    """Ranks in a row of the matrix."""
    return -(-ranks // MOST_ROWS)


def draw_communication(figure: Figure | SubFigure, result: Result) -> None:
    """Draws the communication matrix of each closed-loop job.

    Args:
        figure: An empty figure.
        result: Whose ranks.
    """
    recorded = np.unique(numbers(result.table("communication"), "job"))[:MOST_JOBS].tolist()
    if not recorded:
        say_empty(
            figure,
            MATRIX_TITLE,
            "Nothing was recorded; set [record] communication = true in the scenario.",
        )
        return
    names = result.jobs["name"].to_pylist()
    all_axes = np.atleast_1d(figure.subplots(1, len(recorded), squeeze=True))
    matrices = [matrix(result, job) for job in recorded]
    positive = np.concatenate([m[m > 0] for m in matrices])
    low, high = float(positive.min()), float(positive.max())
    norm = LogNorm(low if low < high else low / 2, high)
    for axes, job, values in zip(all_axes, recorded, matrices, strict=True):
        ranks = int(result.jobs["ranks"][job].as_py())
        axes.imshow(
            np.ma.masked_equal(values, 0.0),
            norm=norm,
            cmap=MORE_IS_DARKER,
            interpolation="nearest",
            origin="upper",
            extent=(-0.5, ranks - 0.5, ranks - 0.5, -0.5),
        )
        axes.set_facecolor("#EEEEEE")
        axes.set_title(names[job] if len(recorded) > 1 else f"{MATRIX_TITLE}: {names[job]}")
        axes.set_xlabel("to rank")
        axes.set_ylabel("from rank")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(nbins=8, integer=True, steps=[1, 2, 4, 5, 8, 10]))
        axes.grid(visible=False)
        axes.spines[:].set_visible(False)
    bar = figure.colorbar(
        ScalarMappable(norm, MORE_IS_DARKER), ax=list(all_axes), shrink=0.9, pad=0.02
    )
    if high < 100 * low:
        bar.ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    bar.outline.set_visible(False)
    bar.ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: display.tick(value, "size")))
    bar.ax.yaxis.set_minor_formatter("")
    bar.set_label("bytes from rank to rank (grey: none)")


def draw_message_sizes(figure: Figure | SubFigure, result: Result) -> None:
    """Draws how many messages of which size each closed-loop job sent, and their bytes.

    Args:
        figure: An empty figure.
        result: Whose messages.
    """
    table = result.table("message_sizes")
    job_of_row = numbers(table, "job")
    jobs = np.unique(job_of_row)[:MOST_JOBS].tolist()
    if not jobs:
        say_empty(figure, SIZES_TITLE, "No job has ranks that wait for each other.")
        return
    names = result.jobs["name"].to_pylist()
    size = (numbers(table, "low_bytes") + numbers(table, "high_bytes")) / 2
    count = numbers(table, "count").astype(float)
    bins = np.floor(np.log2(np.maximum(size, 1))).astype(int)
    low, high = int(bins.min()), int(bins.max())
    messages, volume = figure.subplots(2, 1, sharex=True)
    width = 0.8 / len(jobs)
    largest = 0.0
    for place, job in enumerate(jobs):
        chosen = job_of_row == job
        for axes, weights in ((messages, count), (volume, count * size)):
            heights = np.bincount(
                bins[chosen] - low, weights=weights[chosen], minlength=high - low + 1
            )
            # From a power of two to the next: the bars of a bin stand between their ticks.
            left = np.arange(low, high + 1) + 0.1 + place * width
            axes.bar(left, heights, width, align="edge", color=job_colour(job), label=names[job])
        largest = max(largest, float(heights.max()))
    scale, unit = display.scale_for(largest, "size")
    messages.set_title(SIZES_TITLE)
    messages.set_ylabel("messages")
    volume.set_ylabel(unit)
    messages.set_yscale("log")
    messages.set_ylim(bottom=0.7)
    for axes in (messages, volume):
        axes.grid(axis="x", visible=False)
    messages.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    messages.yaxis.set_minor_formatter(NullFormatter())
    volume.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / scale:g}"))
    volume.set_xlim(low, high + 1)
    step = -(-(high - low + 1) // 12)
    ticks = np.arange(low, high + 2, step)
    volume.set_xticks(ticks, [_power(int(tick)) for tick in ticks])
    volume.set_xlabel("size of the message")
    if len(jobs) > 1:
        # Beside the title, where no bar is.
        messages.legend(
            loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=min(len(jobs), 4), borderpad=0.2
        )


def _power(exponent: int) -> str:
    """A power of two in bytes, e.g. ``64 KiB``."""
    for unit, power in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if exponent >= power:
            return f"{2 ** (exponent - power)} {unit}"
    return f"{2**exponent} B"
