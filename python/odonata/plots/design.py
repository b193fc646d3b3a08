"""What networks deliver over what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from odonata.plots.style import JOB_COLOURS

if TYPE_CHECKING:
    from odonata.study.design import Design

#: Beside colours, which start again after seven.
MARKERS = "os^vDdXP*"
#: Panels in a row.
_COLUMNS = 3


def size_of(found: Design) -> tuple[float, float]:
    """Width and height of the picture in inches."""
    columns = min(len(found.traffic), _COLUMNS)
    rows = -(-len(found.traffic) // _COLUMNS)
    return max(3.2 * columns, 6.4), 2.9 * rows + 1.1


def draw_design(figure: Figure, found: Design) -> None:
    """Draws a panel for each traffic: share of the nodes' bandwidth over price.

    Filled markers are of the last engine, packets if there are any; hollow ones of flows beside.

    Args:
        figure: An empty figure.
        found: What is drawn.
    """
    columns = min(len(found.traffic), _COLUMNS)
    rows = -(-len(found.traffic) // _COLUMNS)
    panels = figure.subplots(rows, columns, squeeze=False, sharey=True)
    last = found.engines[-1]
    for place, axes in enumerate(panels.flat):
        if place >= len(found.traffic):
            axes.set_visible(False)
            continue
        traffic = found.traffic[place]
        axes.set_title(traffic)
        for number, one in enumerate(found.networks):
            for engine in found.engines:
                axes.plot(
                    one.relative_price,
                    one.share(traffic, engine),
                    linestyle="none",
                    marker=MARKERS[number % len(MARKERS)],
                    color=JOB_COLOURS[number % len(JOB_COLOURS)],
                    markerfacecolor=None if engine == last else "white",
                    markersize=7,
                    clip_on=False,
                    label=one.name if engine == last else None,
                )
        axes.set_ylim(0, 1.05)
        axes.set_xlim(0, 1.1 * max(one.relative_price for one in found.networks))
        if place % columns == 0:
            axes.set_ylabel("share of the nodes' bandwidth")
        if place + columns >= len(found.traffic):
            axes.set_xlabel(f"price, {found.dear_as_one} = 1")
    handles, labels = panels.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, title=_engines(found))


def _engines(found: Design) -> str:
    """Which marker is which engine's."""
    return "hollow: by flows; filled: by packets" if len(found.engines) > 1 else "by flows"
