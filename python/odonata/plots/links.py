"""How loaded the links of each class are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from numpy.typing import NDArray

from odonata import display
from odonata.columns import codes, labels, numbers
from odonata.plots.style import class_colours, draw_empty

if TYPE_CHECKING:
    from odonata.results import Result

TITLE = "Link load by class"


def draw_link_load(figure: Figure | SubFigure, result: Result) -> None:
    """Draws, per link class, utilisation and blocking of all links, most loaded first."""
    links = result.links
    measured = result.measured_ps
    if not measured or not len(links):
        draw_empty(figure, TITLE, "Nothing was measured.")
        return
    names = labels(links, "class")
    class_of_link = codes(links, "class")
    utilisation = 100 * numbers(links, "utilisation")
    stall = 100 * numbers(links, "stall_ps") / measured
    colours = class_colours(names)

    load, blocked = figure.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": [2.4, 1.0]})
    for index, name in enumerate(names):
        chosen = class_of_link == index
        count = int(chosen.sum())
        if not count:
            continue
        mean, most = utilisation[chosen].mean(), utilisation[chosen].max()
        label = (
            f"{name}  ({count:,} links: mean {display.percent(mean / 100)}, "
            f"max {display.percent(most / 100)})"
        )
        _draw_sorted(load, utilisation[chosen], colour=colours[name], label=label)
        _draw_sorted(blocked, stall[chosen], colour=colours[name])
    load.set_title(TITLE)
    load.set_xlim(0, 100)
    load.set_ylim(0, max(5.0, 1.36 * float(utilisation.max())))
    # The room above 100 % is for the legend.
    load.set_yticks([tick for tick in load.get_yticks() if tick <= 100])
    load.set_ylabel("busy (% of time)")
    load.tick_params(axis="x", length=0)
    load.legend(loc="upper right", handlelength=1.4)
    blocked.set_ylim(0, max(5.0, 1.08 * float(stall.max())))
    blocked.set_ylabel("blocked (%)")
    blocked.set_xlabel("links of the class, most loaded first (%)")


def _draw_sorted(axes: Axes, shares: NDArray[np.float64], *, colour: str, label: str = "") -> None:
    """A step for every link, the largest first.

    A line with steps, not ``stairs``: of a million links the latter takes 20 s, as the limits of a
    patch are found curve by curve.
    """
    down = np.sort(shares)[::-1]
    edges = np.linspace(0, 100, len(down) + 1)
    axes.plot(
        edges,
        np.append(down, down[-1]),
        drawstyle="steps-post",
        color=colour,
        linewidth=1.8,
        label=label or None,
    )
