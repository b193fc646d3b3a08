"""The distribution of samples, and its tail."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from odonata.plots.style import JOB_COLOURS, MUTED, new_figure, plain_powers
from odonata.tails.changes import Change
from odonata.tails.correlation import Correlation
from odonata.tails.fits import Fit
from odonata.tails.measures import Tail, hill_plot

Floats = NDArray[np.float64]

#: Share of the samples that densities show: the rest is in the curve of the tail.
_SHOWN = 0.995


def draw_tail(
    figure: Figure,
    samples: Floats,
    tail: Tail,
    fits: Sequence[Fit],
    title: str,
    quantity: str,
    over: tuple[Floats, Sequence[Change], str] | None = None,
) -> None:
    """Draws a histogram, the share of samples above each value, and Hill's estimates.

    The first two with the best fits; the second with logarithmic axes, where a long tail is a slow
    descent. The third has the tail index for every number of largest samples that it may be
    estimated from: it is to be trusted where that is flat.

    Args:
        figure: What to draw in.
        samples: All of them.
        tail: Their measures.
        fits: The best first; three different ones at most are drawn.
        title: Headline.
        quantity: What the samples are, with their unit, for the axes.
        over: When each sample was taken, when they changed, and what that time is called: draws
            them below.
    """
    if over is None:
        left, right, index = figure.subplots(1, 3)
    else:
        grid = figure.add_gridspec(2, 3)
        left, right, index = (figure.add_subplot(grid[0, column]) for column in range(3))
        _draw_series(figure.add_subplot(grid[1, :]), samples, over, quantity)
    left.set_title(title)
    shown = samples[samples <= np.quantile(samples, _SHOWN)]
    left.hist(shown, bins=60, density=True, color=MUTED, alpha=0.35, linewidth=0)
    positive = np.sort(samples[samples > 0])
    share = 1 - np.arange(positive.size) / positive.size
    right.step(positive, share, where="post", color="black", linewidth=1.6, label="samples")
    drawn = [fit for fit in fits if not fit.failure and not fit.same_as][:3]
    for fit, colour in zip(drawn, JOB_COLOURS, strict=False):
        family = fit.distribution()
        x = np.linspace(shown.min(), shown.max(), 400)
        left.plot(x, family.pdf(x), color=colour, label=fit.family)
        if positive.size:
            x = np.geomspace(positive[0], positive[-1], 400)
            right.plot(x, family.sf(x), color=colour, label=fit.family)
    marks = (("median", tail.median, ":"), ("mean", tail.mean, "-"), ("p85", tail.p85, "--"))
    for name, at, line in marks:
        left.axvline(at, color="black", linestyle=line, linewidth=1, label=f"{name} {at:.4g}")
    left.set_xlabel(quantity)
    left.set_ylabel("Density [1 / unit]")
    left.set_xlim(right=float(shown.max()))
    left.legend()
    _finish_tail(right, positive.size, quantity)
    _draw_index(index, samples, tail)


def _finish_tail(axes: Axes, largest: int, quantity: str) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.5 / max(largest, 1), top=1.3)
    plain_powers(axes.xaxis, axes.yaxis)
    axes.set_xlabel(quantity)
    axes.set_ylabel("Share of samples above")
    axes.legend()


def _draw_index(axes: Axes, samples: Floats, tail: Tail) -> None:
    axes.set_title("Tail index α (Hill)")
    k, estimates = hill_plot(samples)
    known = np.isfinite(estimates)
    k, estimates = k[known], estimates[known]
    if not k.size:
        axes.text(0.5, 0.5, "too few samples", transform=axes.transAxes, ha="center", color=MUTED)
        return
    error = 1.96 * estimates / np.sqrt(k)
    colour = JOB_COLOURS[0]
    axes.fill_between(
        k, estimates - error, estimates + error, color=colour, alpha=0.2, linewidth=0, label="95 %"
    )
    axes.plot(k, estimates, color=colour, linewidth=1.2)
    if tail.hill is not None:
        label = f"{tail.hill:.3g} of the largest {tail.hill_samples}"
        axes.axvline(tail.hill_samples, color="black", linestyle=":", linewidth=1, label=label)
    # A handful of samples says anything; what follows is what can be read.
    axes.set_ylim(0, 1.6 * float(estimates[k >= min(50, k[-1])].max()))
    axes.set_xlabel("Largest samples that it is from")
    axes.set_ylabel("α, below 2: infinite variance")
    axes.legend()


def _draw_series(
    axes: Axes, samples: Floats, over: tuple[Floats, Sequence[Change], str], quantity: str
) -> None:
    """Samples over time, with the medians between their changes."""
    when, changes, name = over
    order = np.argsort(when, kind="stable")
    times, values = when[order], samples[order]
    axes.plot(times, values, ".", color=MUTED, markersize=2, rasterized=True)
    bounds = [0, *(change.index for change in changes), values.size]
    for begin, end in itertools.pairwise(bounds):
        middle = float(np.median(values[begin:end]))
        axes.hlines(middle, times[begin], times[end - 1], color=JOB_COLOURS[0], linewidth=2)
    for change in changes:
        axes.axvline(change.at, color="black", linestyle="--", linewidth=1)
    found = "no change" if not changes else f"changed {len(changes)} ×"
    axes.set_title(f"Over time: {found} (medians between changes)")
    if values.min() > 0 and values.max() > 20 * np.median(values):
        axes.set_yscale("log")
        plain_powers(axes.yaxis)
    axes.set_xlabel(name)
    axes.set_ylabel(quantity)


@dataclass(frozen=True)
class Curve:
    """Samples that make one curve.

    Attributes:
        by: What they have in common: the last names the curve, what is before it the panel.
        samples: They themselves.
        fits: The best first; it is drawn.
    """

    by: dict[str, str]
    samples: Floats
    fits: Sequence[Fit] = ()


def draw_groups(curves: Sequence[Curve], title: str, quantity: str) -> Figure:
    """Distributions beside each other: densities above, what is slower than a time below.

    Args:
        curves: One for each of them.
        title: Headline.
        quantity: What the samples are, with their unit.
    """
    panels: dict[tuple[str, ...], list[Curve]] = {}
    for curve in curves:
        panels.setdefault(tuple(curve.by.values())[:-1], []).append(curve)
    across = len(panels)
    figure = new_figure(max(4.2, 3.4 * across), 6.4)
    figure.suptitle(title)
    grid = figure.subplots(2, max(across, 1), squeeze=False)
    for column, (name, own) in enumerate(panels.items()):
        above, below = grid[0][column], grid[1][column]
        above.set_title(", ".join(name) or ", ".join(curves[0].by))
        longest = max(float(np.quantile(curve.samples, _SHOWN)) for curve in own)
        for number, curve in enumerate(own):
            colour = JOB_COLOURS[number % len(JOB_COLOURS)]
            label = f"{list(curve.by.values())[-1]} ({curve.samples.size})"
            _draw_density(above, curve, longest, colour)
            ordered = np.sort(curve.samples[curve.samples > 0])
            share = 1 - np.arange(ordered.size) / max(ordered.size, 1)
            below.step(ordered, share, where="post", color=colour, label=label)
        above.set_xlabel(quantity)
        _finish_tail(below, max(curve.samples.size for curve in own), quantity)
        if column:
            below.set_ylabel("")
    grid[0][0].set_ylabel("Density [1 / unit]")
    return figure


def _draw_density(axes: Axes, curve: Curve, longest: float, colour: str) -> None:
    shown = curve.samples[curve.samples <= longest]
    bins = min(60, max(8, int(np.sqrt(shown.size))))
    axes.hist(shown, bins=bins, density=True, color=colour, alpha=0.25, linewidth=0)
    best = next((fit for fit in curve.fits if not fit.failure), None)
    x = np.linspace(float(shown.min()), float(shown.max()), 300)
    if best is not None:
        family = best.distribution()
        axes.plot(x, family.pdf(x), color=colour, label=best.family)
        axes.legend()
    else:
        axes.hist(shown, bins=bins, density=True, color=colour, histtype="step", linewidth=1.2)


@dataclass(frozen=True)
class Scatter:
    """Pairs that make one panel.

    Attributes:
        by: What they have in common.
        x: Such as utilisation.
        y: Such as mean times.
        correlation: Of both, if there are enough.
    """

    by: dict[str, str]
    x: Floats
    y: Floats
    correlation: Correlation | None


def draw_correlations(panels: Sequence[Scatter], title: str, x: str, y: str) -> Figure:
    """Samples over another quantity, with r and ρ: a row for each of the first of what parts them.

    Args:
        panels: One for each group.
        title: Headline.
        x: Name of the other quantity.
        y: What the samples are, with their unit.
    """
    rows: dict[str, list[Scatter]] = {}
    for panel in panels:
        first = next(iter(panel.by.values())) if len(panel.by) > 1 else ""
        rows.setdefault(first, []).append(panel)
    across = max(len(row) for row in rows.values())
    figure = new_figure(max(4.2, 2.7 * across), 0.4 + 2.5 * len(rows))
    figure.suptitle(title)
    grid = figure.subplots(len(rows), across, squeeze=False, sharex=True)
    for axes_of_row, row in zip(grid, rows.values(), strict=True):
        for axes in axes_of_row[len(row) :]:
            axes.set_axis_off()
        for axes, panel in zip(axes_of_row, row, strict=False):
            axes.plot(panel.x, panel.y, ".", color=JOB_COLOURS[0], markersize=4)
            axes.set_title(", ".join(panel.by.values()))
            if (c := panel.correlation) is not None:
                axes.annotate(
                    f"r {c.pearson:.2f}, ρ {c.spearman:.2f}",
                    (0.04, 0.96),
                    xycoords="axes fraction",
                    va="top",
                    fontsize=8.5,
                )
                low, high = axes.get_ylim()
                axes.set_ylim(low, high + 0.2 * (high - low))
        axes_of_row[0].set_ylabel(y)
    for axes in grid[-1]:
        axes.set_xlabel(x)
    return figure
