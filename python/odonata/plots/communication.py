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
from odonata.plots.style import MORE_IS_DARKER, draw_empty, job_colour

if TYPE_CHECKING:
    from odonata.results import Result

MATRIX_TITLE = "Bytes from rank to rank"
SIZES_TITLE = "Sizes of messages"
MOST_JOBS = 4
#: This many sizes of messages have a bar each.
MOST_SIZES = 20
#: Ranks are joined until the matrix has at most this many rows.
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
    """Draws the communication matrix of each closed-loop job."""
    recorded = np.unique(numbers(result.table("communication"), "job"))[:MOST_JOBS].tolist()
    if not recorded:
        draw_empty(
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
    """Draws how many messages of which size each closed-loop job sent, and their bytes."""
    table = result.table("message_sizes")
    job_of_row = numbers(table, "job")
    jobs = np.unique(job_of_row)[:MOST_JOBS].tolist()
    if not jobs:
        draw_empty(figure, SIZES_TITLE, "No job has ranks that wait for each other.")
        return
    names = result.jobs["name"].to_pylist()
    lowest, highest = numbers(table, "low_bytes"), numbers(table, "high_bytes")
    size = (lowest + highest) / 2
    count = numbers(table, "count").astype(float)
    places, labels, what = _places(lowest, highest)
    heights = np.zeros((2, len(jobs), len(labels)))
    for number, job in enumerate(jobs):
        chosen = job_of_row == job
        for weights, filled in ((count, heights[0, number]), (count * size, heights[1, number])):
            np.add.at(filled, places[chosen], weights[chosen])
    # The bars of a size stand side by side, in the middle of its place.
    present = heights[0] > 0
    width = 0.8 / int(present.sum(axis=0).max())
    left = np.arange(len(labels)) + width * (present.cumsum(axis=0) - 1 - present.sum(axis=0) / 2)
    messages, volume = figure.subplots(2, 1, sharex=True)
    for axes, of_jobs in zip((messages, volume), heights, strict=True):
        for number, job in enumerate(jobs):
            here = present[number]
            axes.bar(
                left[number, here],
                of_jobs[number, here],
                width,
                align="edge",
                color=job_colour(job),
                label=names[job],
            )
    largest = float(heights[1].max())
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
    room = max(0.6, (6 - len(labels)) / 2)
    volume.set_xlim(-room, len(labels) - 1 + room)
    turned = len(labels) > 8
    volume.set_xticks(
        range(len(labels)),
        labels,
        rotation=40 if turned else 0,
        ha="right" if turned else "center",
        rotation_mode="anchor",
    )
    volume.tick_params(axis="x", length=0)
    volume.set_xlabel(what)
    if len(jobs) > 1:
        # Beside the title, where no bar is.
        messages.legend(
            loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=min(len(jobs), 4), borderpad=0.2
        )


def _places(
    lowest: npt.NDArray[np.int64], highest: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], list[str], str]:
    """Where the bars of each bucket stand, what each place is called, and what all of them are.

    Few sizes have a place each. Where there are more, those from a power of two to below the next
    share one.

    Args:
        lowest: Smallest size of each bucket.
        highest: Largest.
    """
    sizes, place = np.unique(lowest, return_inverse=True)
    if len(sizes) <= MOST_SIZES:
        largest = np.zeros_like(sizes)
        np.maximum.at(largest, place, highest)
        pairs = zip(sizes.tolist(), largest.tolist(), strict=True)
        return place, [_size(low, high) for low, high in pairs], "size of the message"
    power = np.floor(np.log2(np.maximum(lowest, 1))).astype(np.int64)
    powers, place = np.unique(power, return_inverse=True)
    labels = [_size(2**n, 2**n) for n in powers.tolist()]
    return place, labels, "size of the message, from a power of two to below the next"


def _size(low: int, high: int) -> str:
    """The size of a bucket: a round one in powers of 1024 if there is one, e.g. ``64 KiB``."""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if low >= factor:
            if low % factor == 0 and low < 1024 * factor:
                return f"{low // factor} {unit}"
            break
    return display.size((low + high) / 2)
