"""Results beside each other: what changed, and how latencies are distributed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, SymmetricalLogLocator

from odonata import display
from odonata.plots.style import FAINT, MUTED, job_colour

if TYPE_CHECKING:
    from odonata.study.comparing import Comparison

#: What figures are called in the picture.
NAMES: Mapping[str, str] = {
    "run_time_ps": "run time",
    "message_latency_mean_ps": "mean latency",
    "message_latency_median_ps": "median latency",
    "message_latency_p99_ps": "p99 latency",
    "accepted_bytes_per_s": "delivered",
    "algorithm_bytes_per_s": "algbw",
    "bus_bytes_per_s": "busbw",
    "mean_routers_visited": "routers visited",
    "utilisation_mean": "mean utilisation",
    "utilisation_max": "highest utilisation",
    "stall_mean": "mean blocking",
    "lowest_load_latency_ps": "mean latency at the lowest load",
    "run_time_slowdown": "slowdown of the run time",
    **{f"{name}_slowdown": f"slowdown of the {name} latency" for name in ("mean", "median", "p99")},
}


def name_of(quantity: str) -> str:
    """What a figure is called."""
    return NAMES.get(quantity) or display.words(quantity.removesuffix("_s"))


#: Figures and strips that are drawn: more would not be readable.
MOST_ROWS = 40
#: Shares of time below which a change says nothing: tables show both as "< 0.01 %".
_LEAST_SHARE = 1e-4


def _changes(found: Comparison) -> list[tuple[str, list[dict[str, Any]]]]:
    """The rows of every figure that can be compared, with its name."""
    rows: dict[str, list[dict[str, Any]]] = {}
    all_ = found.table.to_pylist()
    large = {
        (row["name"], row["quantity"]) for row in all_ if (row["value"] or 0.0) >= _LEAST_SHARE
    }
    for row in all_:
        is_share = row["quantity"].startswith(("utilisation", "stall"))
        if is_share and (row["name"], row["quantity"]) not in large:
            continue
        if row["change"] is not None:
            text = f"{row['name']}: {name_of(row['quantity'])}"
            rows.setdefault(text, []).append(row)
    return list(rows.items())[:MOST_ROWS]


def _strips(found: Comparison) -> list[tuple[str, int, Mapping[str, float]]]:
    """Job, result and quantiles of message latency, means over replications."""
    strips: list[tuple[str, int, Mapping[str, float]]] = []
    for job in dict.fromkeys(
        row["name"] for row in found.table.to_pylist() if row["scope"] == "job"
    ):
        for place, one in enumerate(found.results):
            figures = {}
            for name in ("min", "p25", "median", "p75", "p99", "max"):
                cell = one.cell("job", job, f"message_latency_{name}_ps")
                if cell is not None:
                    figures[name] = cell.figure("mean")
            if len(figures) == 6:
                strips.append((job, place, figures))
    return strips[:MOST_ROWS]


def size_of(found: Comparison) -> tuple[float, float]:
    """Width and height that the picture of a comparison needs, in inches."""
    rows = max(len(_changes(found)) * max(len(found.results) - 1, 1) * 0.8, len(_strips(found)))
    return 12.0, 2.0 + 0.24 * max(rows, 6)


def draw_comparison(figure: Figure, found: Comparison) -> None:
    """Draws the change of every figure on the left, latencies of all runs on the right.

    Args:
        figure: An empty figure.
        found: What is compared.
    """
    kinds = {key for one in found.results for s in one.summaries.values() for key in s}
    if kinds & {"schedules", "slowdowns"}:
        _draw_changes(figure.subplots(), found)
    elif "saturations" in kinds:
        left, right = figure.subplots(1, 2)
        _draw_changes(left, found)
        _draw_curves(right, found)
    else:
        left, right = figure.subplots(1, 2)
        _draw_changes(left, found)
        _draw_latencies(right, found)
    handles = [
        Line2D(
            [],
            [],
            color=job_colour(place),
            marker="o",
            linewidth=3,
            label=one.label if place else f"{one.label} (compared with)",
        )
        for place, one in enumerate(found.results)
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=min(len(handles), 4))


def _draw_changes(axes: Axes, found: Comparison) -> None:
    changes = _changes(found)
    first = found.results[0].label
    axes.set_title(f"Change from {first}")
    if not changes:
        axes.set_axis_off()
        axes.text(0.5, 0.5, "No figure can be compared.", ha="center", color=MUTED)
        return
    place_of = {one.label: place for place, one in enumerate(found.results)}
    others = len(found.results) - 1
    linear = _linear_part([100 * row["change"] for _, rows in changes for row in rows])
    if linear is not None:
        axes.set_xscale("symlog", linthresh=linear, linscale=0.8)
        axes.xaxis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=linear))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    for y, (_, rows) in enumerate(changes):
        for row in rows:
            place = place_of[row["result"]]
            at = y + 0.7 * ((place - 0.5) / others - 0.5)
            colour = job_colour(place)
            if row["change_low"] is not None:
                ends = [100 * row["change_low"], 100 * row["change_high"]]
                axes.plot(ends, [at, at], color=colour, linewidth=1.4)
            # Hollow: the interval does not exclude that nothing changed.
            face = "white" if row["differs"] is False else colour
            axes.plot(
                100 * row["change"], at, "o", color=colour, markerfacecolor=face, markersize=4.5
            )
    axes.axvline(0, color=MUTED, linewidth=0.9)
    axes.set_yticks(range(len(changes)), [text for text, _ in changes])
    axes.set_ylim(len(changes) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.spines["left"].set_visible(False)
    remark = "lines: 95 % intervals; hollow: it may be none"
    known = any(row["change_low"] is not None for _, rows in changes for row in rows)
    scale = "" if linear is None else f", logarithmic beyond {linear:g} %"
    axes.set_xlabel(
        f"change (%){scale}" + (f"\n{remark}" if known else "\nno intervals: single runs")
    )


def _linear_part(changes: Sequence[float]) -> float | None:
    """Up to where an axis of changes is linear, or ``None`` if all of it is.

    Where some changes are so large that the others could not be told from none, the axis is
    logarithmic beyond the power of ten that is nearest to the median one.
    """
    sizes = np.abs(np.array([value for value in changes if value]))
    if not len(sizes) or sizes.max() <= 20 * np.median(sizes):
        return None
    return float(max(10.0 ** round(math.log10(np.median(sizes))), 0.1))


def _draw_curves(axes: Axes, found: Comparison) -> None:
    """Latency over the offered load below saturation, of every search; of its first seed."""
    highest = 0.0
    for place, one in enumerate(found.results):
        (row,) = next(iter(one.summaries.values()))["saturations"]
        points = [p for p in row["curve"] if not p.saturated and math.isfinite(p.latency_ps)]
        loads = [point.load for point in points]
        latencies = [point.latency_ps for point in points]
        colour = job_colour(place)
        axes.plot(loads, latencies, color=colour, marker="o", markersize=3.5, linewidth=1.2)
        where = one.cell("saturation", row["name"], "saturation_load")
        if where is not None:
            axes.axvline(where.figure("mean"), color=colour, linewidth=1.0, linestyle=(0, (3, 2)))
        highest = max([highest, *latencies])
    seeds = " of the first seed" if any(len(one.summaries) > 1 for one in found.results) else ""
    axes.set_title(f"Mean latency below saturation{seeds}")
    axes.set_xlabel("offered load (fraction of terminal bandwidth); dashed: saturation")
    axes.set_xlim(left=0)
    if highest:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda ps, _: display.tick(ps, "duration")))


def _draw_latencies(axes: Axes, found: Comparison) -> None:
    strips = _strips(found)
    axes.set_title("Message latency")
    if not strips:
        axes.set_axis_off()
        shared = any(row["scope"] == "job" for row in found.table.to_pylist())
        why = "No message was measured." if shared else "No job is in all of the results."
        axes.text(0.5, 0.5, why, ha="center", color=MUTED)
        return
    ticks: dict[str, list[float]] = {}
    y = 0.0
    for index, (job, place, at) in enumerate(strips):
        y += 0.6 if index and strips[index - 1][0] != job else 0.0
        ticks.setdefault(job, []).append(y)
        colour = job_colour(place)
        axes.plot([max(at["min"], 1.0), at["max"]], [y, y], color=colour, linewidth=1.0)
        axes.plot(
            [at["p25"], at["p75"]], [y, y], color=colour, linewidth=6.0, solid_capstyle="butt"
        )
        axes.plot(at["median"], y, "o", color="white", markeredgecolor=colour, markersize=4.5)
        axes.plot(at["p99"], y, "|", color=colour, markersize=10, markeredgewidth=1.6)
        y += 1.0
    axes.set_yticks([float(np.mean(rows)) for rows in ticks.values()], list(ticks))
    axes.set_ylim(y - 0.3, -0.7)
    axes.set_xscale("log")
    low = min(max(at["min"], 1.0) for _, _, at in strips)
    high = max(at["max"] for _, _, at in strips)
    few = math.log10(high / low) < 2
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,), numticks=12))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda ps, _: display.tick(ps, "duration")))
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.grid(axis="x", color=FAINT)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel("range, quartiles, median (dot) and 99th percentile (tick)")
