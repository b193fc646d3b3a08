"""A cluster's groups as rows of nodes, coloured by who sits on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure, SubFigure
from matplotlib.patches import Patch, Rectangle

if TYPE_CHECKING:
    from odonata_live.cluster.occupancy import Occupancy

#: Colour and meaning of each state of a node.
_STATES = {
    "idle": ("#E6E6E6", "idle"),
    "inside": ("#56B4E9", "job inside one group"),
    "spanning": ("#D55E00", "job that spans groups"),
    "other": ("#F5D9A0", "completing, reserved or planned"),
    "out": ("#444444", "down or drained"),
}


def draw_occupancy(figure: Figure | SubFigure, occupancy: Occupancy) -> None:
    """Draws each group as a row of its nodes; behind it the jobs that span it.

    Args:
        figure: An empty figure.
        occupancy: What to draw.
    """
    axes = figure.add_subplot()
    widest = max((len(group.states) for group in occupancy.groups), default=1)
    # Where there are many, gaps would be stripes.
    gap = 0.06 if widest <= 100 else 0.0
    boxes, colours = [], []
    for row, group in enumerate(occupancy.groups):
        for column, state in enumerate(group.states.values()):
            boxes.append(Rectangle((column + gap, row - 0.4), 1 - 2 * gap, 0.8))
            colours.append(_STATES[state][0])
        owners = ", ".join(group.owners[:3]) + (" …" if len(group.owners) > 3 else "")
        idle = f"{group.count('idle')} idle"
        text = f"  {idle}" + (f"; job {owners}" if owners else "")
        axes.text(widest, row, text, va="center", fontsize="small")
    edge = "#999999" if len(boxes) <= 2000 else "none"
    axes.add_collection(PatchCollection(boxes, facecolors=colours, edgecolors=edge, linewidths=0.3))
    axes.set_xlim(0, widest * 1.28)
    axes.set_ylim(len(occupancy.groups) - 0.4, -0.6)
    rows = np.arange(len(occupancy.groups))
    axes.set_yticks(rows, [group.name for group in occupancy.groups])
    axes.set_xlabel("Node of the group, in the topology's order")
    axes.set_ylabel("Group")
    step = max(1, 10 ** (len(str(widest)) - 1) // (2 if widest < 25 else 1))
    nodes = np.arange(0, widest, step)
    axes.set_xticks(nodes + 0.5, [str(node) for node in nodes])
    for side in ("top", "right", "bottom", "left"):
        axes.spines[side].set_visible(False)
    shown = {state for group in occupancy.groups for state in group.states.values()}
    figure.legend(
        handles=[
            Patch(facecolor=colour, edgecolor="#999999", label=label)
            for state, (colour, label) in _STATES.items()
            if state in shown
        ],
        loc="outside lower center",
        ncols=5,
        frameon=False,
    )
    axes.set_title(
        f"{occupancy.idle} nodes idle, up to {occupancy.largest_small} in one group; "
        f"{len(occupancy.free_groups)} of {len(occupancy.groups)} groups free for a large job"
    )
