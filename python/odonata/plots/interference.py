"""Pictures of how jobs slow each other down."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from odonata import display
from odonata.output import picture, warn
from odonata.plots.style import (
    FAINT,
    MORE_IS_DARKER,
    MUTED,
    draw_empty,
    job_colour,
    new_figure,
    save,
    style,
)
from odonata.plots.waits import draw_waits

if TYPE_CHECKING:
    from odonata.study.interference import Interference

LATENCY_TITLE = "Message latency alone and beside others"
MATRIX_TITLE = "Slowdown of mean message latency"
#: More would not be readable.
MOST_BOXES = 24


def draw_all(found: Interference, directory: Path, notice: Callable[[str], object] = warn) -> None:
    """Writes ``latency.png``, ``matrix.png`` and ``waits.png``, those that there is data for.

    Args:
        found: What to draw.
        directory: Where to.
        notice: Called with the picture that could not be drawn, and why. Default: a warning.
    """
    boxes = min(found.latencies.num_rows, MOST_BOXES)
    jobs = len(found.names)
    with style():
        with picture(Path("latency.png"), notice):
            figure = new_figure(max(5.0, 2.2 + 0.62 * boxes), 4.2)
            draw_latencies(figure, found)
            save(figure, directory / "latency.png")
        if found.matrix.num_rows:
            with picture(Path("matrix.png"), notice):
                side = max(4.0, 2.2 + 0.62 * jobs)
                figure = new_figure(side + 0.9, side)
                draw_matrix(figure, found)
                save(figure, directory / "matrix.png")
        if found.waits.num_rows:
            with picture(Path("waits.png"), notice):
                figure = new_figure(8.6, 4.6)
                draw_waits(figure, found.waits.to_pylist())
                save(figure, directory / "waits.png")


def _box(row: dict[str, Any]) -> dict[str, float]:
    def figure(name: str) -> float:
        return float(row[f"message_latency_{name}_ps"])

    return {
        "whislo": figure("min"),
        "q1": figure("p25"),
        "med": figure("median"),
        "q3": figure("p75"),
        "whishi": figure("max"),
        "mean": figure("mean"),
    }


def draw_latencies(figure: Figure | SubFigure, found: Interference) -> None:
    """Draws the latencies of each job alone, beside each other one and with all of them.

    Boxes from the lower to the upper quartile with the median, whiskers to the smallest and
    largest, a dot at the mean.

    Args:
        figure: An empty figure.
        found: What was simulated.
    """
    rows = [row for row in found.latencies.to_pylist() if row["messages"]]
    order = {"alone": 0, "together": 2}
    rows.sort(key=lambda row: (row["job"], order.get(row["beside"], 1)))
    rows = rows[:MOST_BOXES]
    if not rows:
        draw_empty(figure, LATENCY_TITLE, "No message was measured.")
        return
    axes = figure.subplots()
    places, place, last = [], 0.0, rows[0]["job"]
    for row in rows:
        place += 1.0 if row["job"] == last else 1.6
        last = row["job"]
        places.append(place)
    for at, row in zip(places, rows, strict=True):
        colour = job_colour(row["job"])
        axes.bxp(
            [_box(row)],
            positions=[at],
            widths=0.62,
            showmeans=True,
            showfliers=False,
            patch_artist=True,
            boxprops={
                "facecolor": colour,
                "alpha": 0.25 if row["beside"] == "alone" else 0.75,
                "edgecolor": colour,
            },
            medianprops={"color": "black", "linewidth": 1.2},
            whiskerprops={"color": MUTED},
            capprops={"color": MUTED},
            meanprops={
                "marker": "o",
                "markersize": 4.5,
                "markerfacecolor": "white",
                "markeredgecolor": "black",
            },
            manage_ticks=False,
        )
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda ps, _: display.tick(ps, "duration")))
    axes.set_xticks(places, [_beside(row["beside"]) for row in rows], rotation=40, ha="right")
    axes.set_xlim(places[0] - 0.8, places[-1] + 0.8)
    axes.grid(axis="x", visible=False)
    axes.set_title(LATENCY_TITLE, pad=20)
    axes.set_ylabel("message latency")
    axes.set_xlabel("box: quartiles and median;\nwhiskers: smallest and largest; dot: mean")
    for job in dict.fromkeys(row["job"] for row in rows):
        here = [at for at, row in zip(places, rows, strict=True) if row["job"] == job]
        axes.text(
            float(np.mean(here)),
            1.01,
            found.names[job],
            transform=axes.get_xaxis_transform(),
            ha="center",
            va="bottom",
            color=job_colour(job),
            fontweight="bold",
        )


def _beside(name: str) -> str:
    return {"alone": "alone", "together": "with all"}.get(name, f"with {name}")


def draw_matrix(figure: Figure | SubFigure, found: Interference) -> None:
    """Draws how much every job slows down every other one, in pairs.

    Args:
        figure: An empty figure.
        found: What was simulated.
    """
    values = found.caused()
    rows = [job for job in range(len(found.names)) if np.isfinite(values[job]).any()]
    if not rows:
        draw_empty(figure, MATRIX_TITLE, "No pairs of jobs were simulated.")
        return
    values = values[rows]
    axes = figure.subplots()
    finite = values[np.isfinite(values)]
    high = max(float(finite.max()), 1.1)
    norm = LogNorm(min(float(finite.min()), 1.0), high)
    axes.imshow(np.ma.masked_invalid(values), norm=norm, cmap=MORE_IS_DARKER, aspect="equal")
    axes.set_facecolor(FAINT)
    middle = float(norm.inverse(0.6))
    for y, line in enumerate(values):
        for x, value in enumerate(line):
            if np.isfinite(value):
                colour = "white" if value > middle else "black"
                axes.text(x, y, f"{value:.2f}×", ha="center", va="center", color=colour)
    axes.set_xticks(range(len(found.names)), found.names, rotation=40, ha="right")
    axes.set_yticks(range(len(rows)), [found.names[job] for job in rows])
    axes.set_xlabel("by")
    axes.set_ylabel("slowdown of")
    axes.set_title(MATRIX_TITLE)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
