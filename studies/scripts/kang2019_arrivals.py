"""Figure 10 of Kang et al. 2019, and the arrival rates of its section 4.4, from our runs.

    .venv/bin/python studies/scripts/kang2019_arrivals.py    # a minute

The broadcasts of the study kang2019 under a background of 520 %, with arrivals recorded, on its
routers and on ideal ones. The figure is of the former. Leaves
pages/figures/kang2019-arrivals.png and a table in pages/sharing-a-network.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import odonata
from odonata.plots.style import JOB_COLOURS, MUTED, new_figure, save, style
from odonata.study.file import StudyFile
from odonata.study.sweep import Sweep
from odonata_studies.marked import markdown, write_tables
from odonata_studies.papers import LIBRARY

HOME = Path(__file__).resolve().parents[1]
FIGURE = HOME / "pages" / "figures" / "kang2019-arrivals.png"
PAGE = HOME / "pages" / "sharing-a-network.md"

GIB = 1 << 30
NODES_PER_GROUP, NODES_PER_LEAF = 384, 16
#: Jobs of the study's scenario.
BACKGROUND, TARGET = 0, 1
INTERVAL_PS = 25 * 10**6
#: An experiment of the study: routers in which nothing waits behind a packet for another port.
IDEAL_CROSSBAR = {"network.router.crossbar": "ideal", "network.router.occupancy": "buffered"}
#: Published rates of the broadcast out of the root's group, and of the background into it; GiB/s.
PUBLISHED = {
    "contiguous": ("13.32", "874"),
    "random, root outside": ("–", "–"),
    "random, root inside": ("7.58", "1,758"),
}


@dataclass(frozen=True)
class Rates:
    """What a broadcast found.

    Attributes:
        placement: Of the target.
        over_time: Bytes per second that arrived outside the root's group, by interval.
        mean: The same from the broadcast's begin to the last of these arrivals.
        at_spines: What the paper counts, in the same time: bytes per second of the broadcast that
            came to spines of the root's group, bound for other groups.
        background: Bytes per second of the background over global links into the root's group.
    """

    placement: str
    over_time: np.ndarray
    mean: float
    at_spines: float
    background: float


def main() -> None:
    """Simulates the three placements, and keeps figure and table."""
    sweep = Sweep(StudyFile.from_file(LIBRARY / "kang2019.toml"))
    points = sweep.select("pattern == 'broadcast' and background == 520")
    found = [rates(str(point.axes["placement"]), point.scenario) for point in points]
    ideal = [
        rates(str(point.axes["placement"]), point.scenario.with_set(IDEAL_CROSSBAR))
        for point in points
    ]
    for one in (*found, *ideal):
        print(f"{one.placement}: {one.mean / GIB:.2f}, at spines {one.at_spines / GIB:.2f} GiB/s")
    draw(found)
    rows = [
        [
            one.placement,
            PUBLISHED[one.placement][0],
            *(f"{ours.mean / GIB:.2f}" for ours in (one, other)),
            PUBLISHED[one.placement][1],
            *(f"{ours.background / GIB:,.0f}" for ours in (one, other)),
        ]
        for one, other in zip(found, ideal, strict=True)
    ]
    ours = ("input queues", "ideal crossbar")
    header = [
        "placement of the broadcast",
        *("broadcast, published", *ours, "background, published", *ours),
    ]
    tables = {"arrival rates": markdown(header, rows)}
    write_tables(PAGE, tables)
    print(PAGE.name, FIGURE.name)


def rates(placement: str, scenario: odonata.Scenario) -> Rates:
    """Simulates one placement.

    Args:
        placement: Its name.
        scenario: Of the study.
    """
    record = {"messages": "all", "arrivals": {"interval": "25 us", "links": ["local", "global"]}}
    result = odonata.run(scenario.with_set({"record": record}))
    messages = result.to_pandas("messages")
    target = messages[messages.job == TARGET]
    # The last broadcast; the background has been at work until then.
    begin = int(target.created_ps.max())
    second = target[target.created_ps == begin]
    group = int(second.source_node.iloc[0]) // NODES_PER_GROUP
    outside = second[second.destination_node // NODES_PER_GROUP != group]
    end = int(outside.delivered_ps.max())
    edges = np.arange(begin, end + INTERVAL_PS, INTERVAL_PS)
    over_time, _ = np.histogram(outside.delivered_ps, edges, weights=outside.bytes)
    arrivals = result.to_pandas("arrivals")
    during = arrivals[(arrivals.begin_ps >= begin) & (arrivals.end_ps <= end)]
    span_s = (during.end_ps.max() - during.begin_ps.min()) * 1e-12
    into = during[(during.kind == "global") & (during.group == group)]
    background = into[into.job == BACKGROUND]
    # Spines are where global links end. What stays in the group passes one of them, too, unless it
    # is for the root's own leaf.
    spines = set(arrivals[arrivals.kind == "global"].router)
    up = arrivals[(arrivals.begin_ps >= begin) & (arrivals.job == TARGET)]
    up = up[(up.kind == "local") & (up.group == group) & up.router.isin(spines)]
    root = int(second.source_node.iloc[0])
    stays = second[second.destination_node // NODES_PER_GROUP == group]
    stays = stays[stays.destination_node // NODES_PER_LEAF != root // NODES_PER_LEAF]
    time_s = (end - begin) * 1e-12
    return Rates(
        placement,
        over_time / (INTERVAL_PS * 1e-12),
        float(outside.bytes.sum() / time_s),
        float((up.bytes.sum() - stays.bytes.sum()) / time_s),
        float(background.bytes.sum() / span_s),
    )


def draw(found: Sequence[Rates]) -> None:
    """The figure: a panel for every placement."""
    with style():
        figure = new_figure(11, 3.2)
        panels = figure.subplots(1, len(found), sharex=True, sharey=True)
        for panel, one in zip(panels, found, strict=True):
            times_us = (np.arange(len(one.over_time)) + 0.5) * INTERVAL_PS / 1e6
            panel.plot(times_us, one.over_time / GIB, color=JOB_COLOURS[0], drawstyle="steps-mid")
            panel.axhline(one.mean / GIB, color=MUTED, linewidth=1, linestyle="--")
            panel.set(
                title=f"{one.placement}\nmean {one.mean / GIB:.2f} GiB/s (dashed)",
                xlabel="time since the broadcast began, µs",
            )
        panels[0].set(ylabel="arriving outside the root's group, GiB/s", ylim=(0, None))
    save(figure, FIGURE)


if __name__ == "__main__":
    main()
