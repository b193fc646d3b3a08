"""Everything that matters about a run on one page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from odonata import display
from odonata.plots.groups import draw_group_heatmap
from odonata.plots.latency import draw_latency
from odonata.plots.links import draw_link_load
from odonata.plots.style import MUTED
from odonata.plots.timeline import draw_timeline
from odonata.results.summary import aborted_jobs

if TYPE_CHECKING:
    from odonata.results import Result


def draw_overview(figure: Figure, result: Result) -> None:
    """Draws latency, link load, group heat map and timeline under a headline.

    Args:
        figure: An empty figure, about 13 × 9 inches.
        result: What to show.
    """
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
    upper, lower = body.subfigures(2, 1, hspace=0.04)
    latency, link_load = upper.subfigures(1, 2, width_ratios=[1.2, 1.0], wspace=0.03)
    timeline, heatmap = lower.subfigures(1, 2, width_ratios=[1.65, 1.0], wspace=0.03)
    draw_latency(latency, result)
    draw_link_load(link_load, result)
    draw_timeline(timeline, result)
    draw_group_heatmap(heatmap, result)
