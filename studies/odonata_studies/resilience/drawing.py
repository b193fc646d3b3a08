"""The study's picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from odonata.plots.style import new_figure, save, style
from odonata.study.intervals import interval
from odonata_studies.resilience.plan import FAILURES, LAYOUTS, NOTHING, ROUTINGS
from odonata_studies.resilience.tables import values

#: As the picture of which-topology draws the same families.
_LOOKS = {
    "fat tree, tapered 1:2": ("#56B4E9", "s"),
    "dragonfly": ("#E69F00", "^"),
    "dragonfly+": ("#D55E00", "v"),
    "HyperX 3-D": ("#009E73", "D"),
    "torus 3-D": ("#000000", "X"),
    "Slim Fly": ("#CC79A7", "P"),
    "Jellyfish": ("#999999", "*"),
}
#: By traffic: title, and ticks of a logarithmic scale.
_PANELS: Mapping[str, tuple[str, tuple[int, ...]]] = {
    "uniform": ("Uniform traffic at load 1: share\nof the nodes' bandwidth delivered", ()),
    "latency": (
        "99th percentile of latency in ns\nof messages of 1 KiB at load 0.2",
        (600, 800, 1000, 1500, 2000, 3000),
    ),
    "stencil": ("Run time of the scattered\nstencil in µs", (80, 100, 150, 200, 300, 400)),
}
_ROWS = dict(zip(ROUTINGS, ("Tables", "Adaptive routing"), strict=True))
#: Where failed routers stand, right of the shares of links.
_ROUTERS_AT = 12.5


def draw(found: pd.DataFrame, path: Path) -> None:
    """Throughput, latency and run time over the share of failed links, by family and routing."""
    links = [one for one in FAILURES if one.part == NOTHING.part]
    routers = next(one for one in FAILURES if one.part == "routers")
    with style():
        figure = new_figure(10.5, 6.6)
        axes = figure.subplots(len(ROUTINGS), len(_PANELS), sharex=True, sharey="col")
        for row, routing in zip(axes, ROUTINGS, strict=True):
            for panel, (traffic, (title, ticks)) in zip(row, _PANELS.items(), strict=True):
                for number, layout in enumerate(LAYOUTS):
                    colour, marker = _LOOKS[layout.name]
                    look = {"color": colour, "marker": marker, "markersize": 5.5, "linewidth": 1.2}
                    # Beside each other, so that intervals can be told apart.
                    aside = 0.06 * (number - len(LAYOUTS) / 2)
                    for failures, line, face in (
                        ([(one.percent, one) for one in links], "-", colour),
                        ([(_ROUTERS_AT, routers)], "none", "white"),
                    ):
                        points = [
                            (at + aside, interval(list(figures)))
                            for at, one in failures
                            if len(figures := values(found, layout.name, routing, one, traffic))
                        ]
                        if points:
                            panel.errorbar(
                                [at for at, _ in points],
                                [mean.mean for _, mean in points],
                                [np.nan_to_num(mean.half_width) for _, mean in points],
                                linestyle=line,
                                markerfacecolor=face,
                                capsize=2,
                                **look,
                            )
                panel.axvline(11.2, color="#BBBBBB", linewidth=0.8, linestyle=":")
                if routing == ROUTINGS[0]:
                    panel.set_title(title, fontsize=9)
                if ticks:
                    panel.set_yscale("log")
                    panel.set_ylim(0.93 * ticks[0], 1.15 * ticks[-1])
                    panel.set_yticks(ticks, [f"{tick:,}" for tick in ticks])
                    panel.yaxis.set_minor_formatter(NullFormatter())
                else:
                    panel.set_ylim(0, 1.02)
            row[0].set_ylabel(_ROWS[routing], fontweight="bold")
        for panel in axes[-1]:
            panel.set_xticks([0, 2, 5, 10, _ROUTERS_AT], ["0", "2", "5", "10", "5 % of\nrouters"])
            panel.set_xlabel("failed global links in %", loc="left")
        handles = [
            Line2D([], [], color=colour, marker=marker, markersize=6, linewidth=1.2, label=name)
            for name, (colour, marker) in _LOOKS.items()
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=4)
        save(figure, path)
