"""The load-latency curves as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from dragonfly.machine import MACHINE, ROUTINGS
from dragonfly.plan import ORDER
from dragonfly.points import Point, curve_of
from odonata.plots.style import MUTED, new_figure, save, style

#: Colours of Okabe and Ito, markers and dashes: each alone tells the algorithms apart.
_LOOK = {
    "minimal": {"color": "#000000", "marker": "o", "linestyle": "-"},
    "valiant-group": {"color": "#0072B2", "marker": "s", "linestyle": "-"},
    "valiant-router": {"color": "#56B4E9", "marker": "D", "linestyle": (0, (5, 1.5))},
    "ugal-l": {"color": "#D55E00", "marker": "^", "linestyle": "-"},
    "ugal-g": {"color": "#009E73", "marker": "v", "linestyle": (0, (5, 1.5))},
    "par": {"color": "#CC79A7", "marker": "P", "linestyle": "-"},
}
_LATENCIES_NS = (300, 400, 500, 700, 1000, 1500, 2000, 3000)


def draw(points: Sequence[Point], path: Path) -> None:
    """Writes the picture: uniform random traffic on the left, ADV+1 on the right."""
    with style():
        figure = new_figure(9.6, 4.6)
        left, right = figure.subplots(1, 2, sharey=True)
        _panel(left, points, "uniform", (0.0, 1.03), "Uniform random traffic")
        _panel(right, points, "adv+1", (0.0, 0.57), "Adversarial traffic, ADV+1")
        left.set_ylabel("mean packet latency (ns)")
        _bound(left, MACHINE.uniform_valiant_group(), "Valiant's bound 0.52", 0.62, "left")
        _bound(left, MACHINE.uniform_minimal(), "terminal links 1.00", 0.93, "right", offset=26)
        _bound(right, MACHINE.adversarial_minimal(), "one link for 32 nodes: 1/32", 0.93, "left")
        _bound(right, MACHINE.adversarial_ugal_local(), "UGAL-L\n31/84", 0.14, "right")
        _bound(right, MACHINE.adversarial_valiant(), "Valiant\n31/64", 0.14, "right")
        _bound(right, MACHINE.adversarial_adaptive(), "any\n33/64", 0.14, "left")
        handles, labels = left.get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside upper center", ncols=len(ORDER), handlelength=2.6
        )
        save(figure, path)


def _panel(
    axes: Axes, points: Sequence[Point], pattern: str, loads: tuple[float, float], title: str
) -> None:
    for zorder, routing in enumerate(ORDER):
        curve = curve_of(points, pattern, routing)
        stable = [point for point in curve if point.stable]
        axes.errorbar(
            [point.load for point in stable],
            [point.latency_mean_ns for point in stable],
            yerr=np.nan_to_num([point.latency_mean_ns_ci95 for point in stable]),
            label=ROUTINGS[routing].label,
            linewidth=1.5,
            markersize=4.2,
            markeredgewidth=0,
            elinewidth=0.9,
            zorder=3 + zorder,
            **_LOOK[routing],  # type: ignore[arg-type]
        )
        _rise(axes, points, pattern, routing, stable, zorder)
    axes.set_title(title)
    axes.set_xlabel("offered load (fraction of injection bandwidth)")
    axes.set_xlim(loads)
    axes.set_yscale("log")
    axes.set_ylim(_LATENCIES_NS[0], _LATENCIES_NS[-1])
    axes.yaxis.set_major_locator(FixedLocator(_LATENCIES_NS))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def _rise(
    axes: Axes,
    points: Sequence[Point],
    pattern: str,
    routing: str,
    stable: Sequence[Point],
    zorder: int,
) -> None:
    """A line from the last stable point out of the picture, to the throughput under overload.

    Beyond it the latency grows for as long as one measures.
    """
    for saturated in points:
        if (saturated.experiment, saturated.pattern, saturated.routing) == (
            "saturation",
            pattern,
            routing,
        ) and stable:
            last = stable[-1]
            axes.plot(
                [last.load, max(saturated.accepted_load, last.load)],
                [last.latency_mean_ns, 4 * _LATENCIES_NS[-1]],
                color=_LOOK[routing]["color"],
                linewidth=1.1,
                linestyle=":",
                zorder=2 + zorder / 10,
            )


def _bound(axes: Axes, load: float, text: str, height: float, side: str, offset: float = 3) -> None:
    """A saturation throughput in theory, named on one side of its line."""
    axes.axvline(load, color="#AAAAAA", linewidth=0.9, linestyle=(0, (2, 2)), zorder=1)
    axes.annotate(
        text,
        (load, height),
        xycoords=("data", "axes fraction"),
        xytext=(-offset if side == "right" else offset, 0),
        textcoords="offset points",
        ha=side,
        va="top",
        fontsize=7.5,
        color=MUTED,
    )
