"""Everything that matters about a run on one page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure, SubFigure

from odonata import display
from odonata.plots.groups import draw_group_heatmap
from odonata.plots.latency import draw_latency
from odonata.plots.links import draw_link_load
from odonata.plots.style import MUTED
from odonata.plots.timeline import draw_timeline
from odonata.results.summary import aborted_jobs

if TYPE_CHECKING:
    from odonata.results import Result


#: Inches around the axes of a part: above for its title, below for ticks and what they count, to
#: the right for half a tick's label; and between axes above each other.
_ABOVE, _BELOW, _RIGHT, _BETWEEN = 0.36, 0.48, 0.2, 0.14
#: Inches between the edge of a part and its labels.
_PAD = 0.06


def draw_overview(figure: Figure, result: Result) -> None:
    """Draws latency, link load, group heat map and timeline under a headline."""
    # The room for labels is measured here, once: a constrained layout does so four times, which
    # takes longer than all that is drawn.
    figure.set_layout_engine(None)
    meta = result.meta
    inside = result.scenario.node if result.scenario is not None else None
    rows: Any = figure.subfigures(2, 1, height_ratios=[0.075, 1.0])
    headline, body = rows
    headline.text(
        0.012, 0.70, meta["title"] or meta["network"], fontsize=15, weight="bold", va="center"
    )
    facts = [
        # Without a title, the network is the headline.
        *([meta["network"]] if meta["title"] else []),
        display.machine_size(meta["nodes"], inside.ranks if inside is not None else None),
        f"{meta['routing']} routing",
        f"{display.duration(meta['end_ps'])} simulated",
        f"{display.size(meta['delivered_bytes'])} delivered",
        *(f"{name} was aborted" for name in aborted_jobs(result.summary_dict)),
    ]
    headline.text(0.012, 0.16, "   ·   ".join(facts), fontsize=9.5, color=MUTED, va="center")
    upper, lower = body.subfigures(2, 1)
    latency, link_load = upper.subfigures(1, 2, width_ratios=[1.2, 1.0])
    timeline, heatmap = lower.subfigures(1, 2, width_ratios=[1.65, 1.0])
    draw_latency(latency, result)
    draw_link_load(link_load, result)
    draw_timeline(timeline, result)
    draw_group_heatmap(heatmap, result)
    for part in (latency, link_load, timeline, heatmap):
        _leave_room(part)


def _leave_room(part: SubFigure) -> None:
    """Widens the axes of a part of the page as far as their labels let them."""
    inch = part.figure.dpi
    width, height = part.bbox.width / inch, part.bbox.height / inch
    place: Any = part.axes[0].get_subplotspec()
    rows = place.get_topmost_subplotspec().get_gridspec().nrows
    inner = height - _ABOVE - _BELOW - _BETWEEN * (rows - 1)
    part.subplots_adjust(
        bottom=_BELOW / height, top=1 - _ABOVE / height, hspace=_BETWEEN * rows / inner
    )
    canvas: Any = part.figure.canvas
    renderer = canvas.get_renderer()
    left, right = 0.0, _RIGHT
    for axes in part.axes:
        labels = axes.yaxis.get_tightbbox(renderer)
        if labels is not None:
            left = max(left, (axes.bbox.x0 - labels.x0) / inch)
            right = max(right, (labels.x1 - axes.bbox.x1) / inch + _PAD)
    part.subplots_adjust(left=min((left + _PAD) / width, 0.6), right=1 - right / width)
