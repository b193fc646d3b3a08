"""The traffic between groups as a heat map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator

from odonata.columns import numbers
from odonata.plots.style import CLASS_COLOURS, MORE_IS_DARKER, draw_empty

if TYPE_CHECKING:
    from odonata.results import Result

TITLE = "Load between groups"
#: Rows and columns; with more routers or groups than that, some share one.
MOST_ROWS = 256
#: How many links of a network of a single router are shown.
BUSIEST_NODES = 12


def draw_group_heatmap(figure: Figure | SubFigure, result: Result) -> None:
    """Draws the mean utilisation of the links from each group to each other group.

    The diagonal shows the links within the group. Pairs without a link stay grey. A network
    of one group is shown router by router, one of a single router by its busiest nodes. Above 256
    groups or routers, neighbouring ones share a row.
    """
    links = result.links
    source_router = numbers(links, "from_router")
    target_router = numbers(links, "to_router")
    between = (source_router >= 0) & (target_router >= 0)
    if not between.any():
        _draw_busiest_nodes(figure, result)
        return
    if result.meta["groups"] > 1:
        source, target = numbers(links, "from_group"), numbers(links, "to_group")
        unit, title = "group", TITLE
    else:
        source, target = source_router, target_router
        unit, title = "router", "Load between routers"
    # Neighbouring routers or groups share a row where there are too many.
    joined = -(-(int(max(source[between].max(), target[between].max())) + 1) // MOST_ROWS)
    load = mean_utilisation(
        source[between] // joined, target[between] // joined, numbers(links, "utilisation")[between]
    )
    edge = joined * len(load) - 0.5

    axes = figure.add_subplot()
    picture = axes.imshow(
        np.ma.masked_invalid(100 * load),
        cmap=MORE_IS_DARKER,
        vmin=0,
        vmax=max(100 * float(np.nanmax(load)), 1.0),
        interpolation="nearest",
        origin="upper",
        extent=(-0.5, edge, edge, -0.5),
    )
    axes.set_facecolor("#EEEEEE")
    axes.set_title(title)
    axes.set_xlabel(f"to {unit}" + (" (diagonal: within the group)" if unit == "group" else ""))
    axes.set_ylabel(f"from {unit}")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=9, integer=True, steps=[1, 2, 4, 5, 8, 10]))
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    bar = figure.colorbar(picture, ax=axes, shrink=0.92, pad=0.02)
    bar.outline.set_visible(False)
    bar.set_label("mean utilisation of the links (%)")


def _draw_busiest_nodes(figure: Figure | SubFigure, result: Result) -> None:
    """What is left to show of a network of one router: the links of the busiest nodes."""
    busiest = result.most_loaded_links(BUSIEST_NODES, kinds=("terminal",))
    if not busiest:
        draw_empty(figure, TITLE, "Nothing was sent.")
        return
    axes = figure.add_subplot()
    names = [link["name"].rsplit(" (", 1)[0] for link in busiest]
    load = [100 * link["utilisation"] for link in busiest]
    axes.barh(range(len(busiest)), load, color=CLASS_COLOURS["terminal"], height=0.7)
    axes.set_yticks(range(len(busiest)), names)
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.grid(axis="y", visible=False)
    axes.set_title("Most loaded links")
    axes.set_xlabel("busy (% of time)")


def mean_utilisation(
    source: npt.NDArray[np.integer], target: npt.NDArray[np.integer], load: npt.NDArray[np.floating]
) -> npt.NDArray[np.float64]:
    """Mean load of the links from each source to each target; NaN where there is none.

    Args:
        source: Of each link, counted from 0.
        target: Of each link, counted from 0.
        load: Of each link.

    Returns:
        Shape: sources × targets.
    """
    size = int(max(source.max(), target.max())) + 1
    pair = source.astype(np.int64) * size + target
    links = np.bincount(pair, minlength=size * size)
    total = np.bincount(pair, weights=load, minlength=size * size)
    with np.errstate(invalid="ignore"):
        mean: npt.NDArray[np.float64] = (total / links).reshape(size, size)
    return mean
