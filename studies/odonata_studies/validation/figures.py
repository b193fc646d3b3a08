"""The comparisons as one picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from odonata.plots.style import MUTED, new_figure, save, style
from odonata_studies.validation import booksim, closed_forms
from odonata_studies.validation.comparison import TOLERANCE, Comparison

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def draw(comparisons: Sequence[Comparison], path: Path) -> None:
    """Writes the picture: three laws with their points, BookSim's latencies, all differences.

    Without the data of other simulators there are no latencies, and no panel for them.
    """
    with style():
        figure = new_figure(10.2, 7.4)
        parts = figure.subfigures(2, 1, squeeze=False, height_ratios=(1.0, 1.2))
        upper, lower = parts[0, 0], parts[1, 0]
        left, middle, right = upper.subplots(1, 3)
        _law(left, comparisons, closed_forms.WAITING, "Waiting at one port", "offered load")
        left.set_ylabel("mean wait (service times)")
        _law(middle, comparisons, closed_forms.CREDITS, "Credits", "room behind the link (packets)")
        middle.set_ylabel("throughput (share of the link)")
        _law(
            right, comparisons, closed_forms.BLOCKING, "Head-of-line blocking", "inputs and outputs"
        )
        right.set_ylabel("throughput (share of the links)")
        right.set_xscale("log", base=2)
        right.xaxis.set_major_formatter("{x:.0f}")
        if _latencies(comparisons):
            curves, differences = lower.subplots(1, 2)
            _curves(curves, comparisons)
        else:
            differences = lower.subplots()
        _differences(differences, comparisons)
        save(figure, path)


def _of(comparisons: Sequence[Comparison], section: str) -> list[Comparison]:
    return [c for c in comparisons if c.section == section and not math.isnan(c.ours)]


def _law(
    axes: Axes, comparisons: Sequence[Comparison], section: str, title: str, x_label: str
) -> None:
    """Measured points with intervals on the line of theory."""
    found = _of(comparisons, section)
    for index, series in enumerate(dict.fromkeys(c.series for c in found)):
        chosen = sorted((c for c in found if c.series == series), key=lambda c: c.x)
        x = [c.x for c in chosen]
        colour = _COLOURS[index]
        axes.plot(x, [c.reference for c in chosen], color=colour, linewidth=1.0, zorder=2)
        axes.errorbar(
            x,
            [c.ours for c in chosen],
            yerr=np.nan_to_num([c.ci95 for c in chosen]),
            label=series,
            color=colour,
            linestyle="none",
            marker=_MARKERS[index],
            markersize=4.5,
            markerfacecolor="white",
            zorder=3,
        )
    axes.set_title(title)
    axes.set_xlabel(x_label)
    axes.set_ylim(bottom=0)
    if len({c.series for c in found}) > 1:
        axes.legend(loc="upper left")
    axes.annotate(
        "lines: theory",
        (0.98, 0.03),
        xycoords="axes fraction",
        ha="right",
        fontsize=7.5,
        color=MUTED,
    )


def _latencies(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Comparisons with BookSim's latencies of packets of 10 flits."""
    return [c for c in _of(comparisons, booksim.LATENCY) if "10 flits" in c.series]


def _curves(axes: Axes, comparisons: Sequence[Comparison]) -> None:
    """Latency over offered load, packets of 10 flits: BookSim's as crosses."""
    found = _latencies(comparisons)
    for index, series in enumerate(dict.fromkeys(c.series for c in found)):
        chosen = sorted((c for c in found if c.series == series), key=lambda c: c.x)
        x = [c.x for c in chosen]
        axes.errorbar(
            x,
            [c.ours for c in chosen],
            yerr=np.nan_to_num([c.ci95 for c in chosen]),
            label=series.replace(", 10 flits", ""),
            color=_COLOURS[index],
            marker=_MARKERS[index],
            markersize=4.5,
            markerfacecolor="white",
            linewidth=1.2,
        )
        axes.plot(
            x,
            [c.reference for c in chosen],
            color="#000000",
            linestyle="none",
            marker="x",
            markersize=6,
            zorder=5,
            label="BookSim 2" if index == 0 else None,
        )
    axes.set_title("Dragonfly of 72 nodes, packets of 10 flits")
    axes.set_xlabel("offered load (flits per node and cycle)")
    axes.set_ylabel("mean latency (cycles)")
    axes.set_ylim(bottom=100)
    axes.legend(loc="upper right", bbox_to_anchor=(0.82, 1.0))


def _differences(axes: Axes, comparisons: Sequence[Comparison]) -> None:
    """Every difference in per cent, by section."""
    sections = list(dict.fromkeys(c.section for c in comparisons))
    shown = [
        (section, [c for c in _of(comparisons, section) if math.isfinite(c.difference)])
        for section in sections
    ]
    shown = [(section, found) for section, found in shown if found]
    axes.axvspan(-100 * TOLERANCE, 100 * TOLERANCE, color="#F0F0F0", zorder=0)
    for row, (_, found) in enumerate(shown):
        spread = np.linspace(-0.25, 0.25, len(found)) if len(found) > 1 else np.zeros(1)
        inside = [abs(c.difference) <= TOLERANCE for c in found]
        axes.scatter(
            [100 * c.difference for c in found],
            row + spread,
            s=13,
            color=[_COLOURS[0] if ok else _COLOURS[1] for ok in inside],
            zorder=3,
        )
    axes.set_yticks(range(len(shown)), [section for section, _ in shown])
    axes.invert_yaxis()
    axes.set_title("All differences")
    axes.set_xlabel("ours against the reference (%); grey: ± 5 %")
