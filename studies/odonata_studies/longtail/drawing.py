"""The study's pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, NullLocator

from odonata.plots.style import MUTED, new_figure, plain_powers, save, style
from odonata_studies.longtail import machine
from odonata_studies.longtail.findings import application_times, month_means, size_of, title_of
from odonata_studies.longtail.plan import FIGURE_6, HIGH, LOW, ROUTINGS, USUAL, Found
from odonata_studies.longtail.predictors import culprits, indicators
from odonata_studies.longtail.probes import COLLECTIVES, SIZES
from odonata_studies.longtail.statistics import pearson, spearman

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")


def _slower(axes: Axes, curves: Mapping[str, Sequence[Sequence[float]]], title: str) -> None:
    """Share of the calls that take longer than a time, of all moments together."""
    for number, (label, times) in enumerate(curves.items()):
        all_ = np.sort(np.concatenate([np.asarray(one) for one in times])) if times else None
        if all_ is None:
            continue
        share = 1 - np.arange(all_.size) / all_.size
        colour = _COLOURS[number % len(_COLOURS)]
        axes.step(all_ / 1000, share, where="post", color=colour, label=f"{label} ({all_.size})")
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    low, high = axes.dataLim.intervalx
    if high > 3 * low:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.xaxis.set_minor_locator(NullLocator())
    else:
        axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_title(title)
    axes.set_xlabel("time of a call (ms)")
    if axes.lines:
        axes.legend(fontsize=7, loc="upper right")


def _panels(
    found: Found,
    path: Path,
    curves: Callable[[str], Mapping[str, Sequence[Sequence[float]]]],
    heading: str,
) -> None:
    """One panel for each collective."""
    with style():
        figure = new_figure(10.2, 3.4)
        figure.suptitle(heading)
        all_axes = figure.subplots(1, len(COLLECTIVES), sharey=True)
        for axes, name in zip(all_axes, COLLECTIVES, strict=True):
            _slower(axes, curves(name), title_of(name))
        all_axes[0].set_ylabel("share of calls that take longer")
        save(figure, path)


def draw_places(found: Found, path: Path) -> None:
    """Figure 3."""
    moments = found.plan.near(USUAL)
    _panels(
        found,
        path,
        lambda name: {
            scenario: found.times(moments, found.plan.long(scenario, ROUTINGS[0], 1.0), name)
            for scenario in machine.SCENARIOS
        },
        f"1 MiB on 16 nodes, b about {USUAL:g} (number of calls)",
    )


def draw_correlation(found: Found, path: Path) -> None:
    """Figure 4."""
    with style():
        figure = new_figure(10.2, 9.0)
        grid = figure.subplots(len(COLLECTIVES), len(SIZES), sharex=True)
        for number, intensity in enumerate(found.plan.extent.intensities):
            moments, means = month_means(found, found.plan.month(intensity))
            if not moments:
                continue
            b = np.array([moment.b for moment in moments])
            for row, name in enumerate(COLLECTIVES):
                for column, size in enumerate(SIZES):
                    axes, y = grid[row][column], means[name, size]
                    text = "–"
                    if len(b) > 3:
                        text = f"r {pearson(b, y):.2f}, ρ {spearman(b, y):.2f}"
                    label = f"× {intensity:g}: {text}"
                    axes.plot(b, y, ".", color=_COLOURS[number], markersize=4, label=label)
        for row, name in enumerate(COLLECTIVES):
            for column, size in enumerate(SIZES):
                axes = grid[row][column]
                axes.set_title(f"{title_of(name)}, {size_of(size)}")
                # A few moments take ten times as long as all others.
                axes.set_yscale("log")
                low, high = axes.get_ylim()
                axes.set_ylim(low, high * (high / low) ** 0.35)
                plain_powers(axes.yaxis)
                if axes.lines:
                    axes.legend(fontsize=7, loc="upper left")
            grid[row][0].set_ylabel("mean time (µs)")
        for axes in grid[-1]:
            axes.set_xlabel("b (equation 2)")
        save(figure, path)


def draw_utilisations(found: Found, path: Path) -> None:
    """Figure 5."""
    setting = found.plan.long(machine.DIFFERENT_ISLANDS, ROUTINGS[0], 1.0)
    _panels(
        found,
        path,
        lambda name: {
            f"b about {b:g}": found.times(found.plan.near(b), setting, name) for b in (LOW, HIGH)
        },
        "1 MiB on 16 nodes of different islands (number of calls)",
    )


def draw_routing(found: Found, path: Path) -> None:
    """What routing does at high utilisation."""
    moments = found.plan.near(HIGH)
    _panels(
        found,
        path,
        lambda name: {
            routing: found.times(
                moments, found.plan.long(machine.DIFFERENT_ISLANDS, routing, 1.0), name
            )
            for routing in ROUTINGS
        },
        f"1 MiB on different islands, b about {HIGH:g}, by routing (number of calls)",
    )


def draw_applications(found: Found, path: Path) -> None:
    """Figure 6."""
    with style():
        figure = new_figure(8.0, 3.4)
        for axes, (name, levels) in zip(figure.subplots(1, 2), FIGURE_6.items(), strict=True):
            for colour, b in zip(_COLOURS, levels, strict=False):
                times = application_times(found, name, b)
                if times:
                    all_ = np.concatenate([np.asarray(one) for one in times]) / 1000
                    axes.hist(all_, 30, color=colour, alpha=0.6, label=f"b about {b:g}")
            axes.set_title(name)
            axes.set_xlabel("time of an iteration (ms)")
            axes.set_ylabel("iterations")
            if axes.patches:
                axes.legend()
        save(figure, path)


def draw_indicators(found: Found, path: Path) -> None:
    """What goes with times, and how well."""
    intensity = found.plan.extent.intensities[0]
    rows = indicators(found, intensity)
    with style():
        figure = new_figure(8.0, 3.8)
        axes = figure.subplots()
        height = 0.8 / (1 + len(COLLECTIVES))
        for number, row in enumerate(rows):
            bars = {"true load of global links": row.load}
            bars |= {title_of(name): value for name, value in row.times.items()}
            for place, (label, value) in enumerate(bars.items()):
                y = number + (place - 2) * height
                colour = MUTED if place == 0 else _COLOURS[place - 1]
                axes.barh(y, value.value, height, color=colour, label=label if not number else None)
                axes.plot([value.low, value.high], [y, y], color="black", linewidth=0.7)
        axes.set_yticks(range(len(rows)), [row.name for row in rows])
        axes.invert_yaxis()
        axes.set_xlabel("Spearman's ρ with the mean time of 1 MiB (95 % interval)")
        if rows:
            axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.01, 0.5))
        save(figure, path)


def draw_culprits(found: Found, path: Path) -> None:
    """Whom the probe waited for, beside who there was."""
    made = culprits(found, found.plan.extent.intensities[0])
    with style():
        figure = new_figure(6.0, 2.6)
        axes = figure.subplots()
        if made is not None:
            names = sorted(made.nodes, key=lambda name: -made.waited.get(name, 0.0))
            places = np.arange(len(names))
            axes.bar(
                places - 0.2,
                [100 * made.nodes[n] for n in names],
                0.4,
                color=MUTED,
                label="of the nodes that b counts",
            )
            axes.bar(
                places + 0.2,
                [100 * made.waited.get(n, 0.0) for n in names],
                0.4,
                color=_COLOURS[0],
                label="of the time that the probe waited for others",
            )
            axes.set_xticks(places, names)
            axes.legend(fontsize=7)
        axes.set_ylabel("share (%)")
        save(figure, path)


#: By file: what it shows, and what draws it.
FIGURES: Mapping[str, tuple[str, Callable[[Found, Path], None]]] = {
    "places.png": ("Fig. 3: where the nodes are", draw_places),
    "correlation.png": (
        "Fig. 4: mean times over b, at one and three times the measured bytes",
        draw_correlation,
    ),
    "utilisations.png": ("Fig. 5: two utilisations", draw_utilisations),
    "applications.png": ("Fig. 6: applications at two utilisations", draw_applications),
    "routing.png": ("The same moments under other routing algorithms", draw_routing),
    "indicators.png": ("What goes with times: b, its variants, and the true load", draw_indicators),
    "culprits.png": ("Which applications made the probe wait", draw_culprits),
}
