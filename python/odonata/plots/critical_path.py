"""What the run time of a job is made of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from odonata import display
from odonata.columns import codes, numbers
from odonata.errors import NotRecordedError
from odonata.plots.style import PATH_COLOURS, draw_empty
from odonata.results.critical_path import KINDS, critical_path, shares

if TYPE_CHECKING:
    from odonata.results import Result

TITLE = "Critical path"


def draw_critical_path(figure: Figure | SubFigure, result: Result, job: int | None = None) -> None:
    """Draws the critical path of a job: which rank it is on at any time, and why.

    Args:
        figure: An empty figure.
        result: Whose ranks.
        job: Row in ``jobs``; by default the first of which something was recorded.
    """
    recorded = np.unique(numbers(result.table("rank_activity"), "job"))
    if job is None and len(recorded):
        job = int(recorded[0])
    try:
        if job is None:
            raise NotRecordedError("Nothing was recorded; set [record] rank_activity = true.")
        path = critical_path(result, job)
    except NotRecordedError as error:
        draw_empty(figure, TITLE, str(error))
        return
    begin, end = numbers(path, "begin_ps"), numbers(path, "end_ps")
    rank, to_rank, kind = numbers(path, "rank"), numbers(path, "to_rank"), codes(path, "kind")
    total = int(end[-1] - begin[0])
    scale, unit = display.scale_for(float(end[-1]), "duration")
    lines = np.stack(
        [np.stack([begin / scale, rank], axis=1), np.stack([end / scale, to_rank], axis=1)], axis=1
    )
    axes = figure.add_subplot()
    parts = shares(path)
    handles = []
    for code, name in enumerate(KINDS):
        if not parts[name]:
            continue
        width = 1.2 if name == "network" else 4.0
        colour = PATH_COLOURS[name]
        axes.add_collection(
            LineCollection(list(lines[kind == code]), colors=colour, linewidths=width)
        )
        label = f"{name}  ({100 * parts[name] / max(total, 1):.1f} %)"
        handles.append(Line2D([], [], color=colour, linewidth=width, label=label))
    ranks = int(result.jobs["ranks"][job].as_py())
    axes.set_xlim(begin[0] / scale, end[-1] / scale)
    axes.set_ylim(ranks - 0.5, -0.5)
    axes.yaxis.set_major_locator(MaxNLocator(nbins=9, integer=True))
    name = result.jobs["name"][job].as_py()
    axes.set_title(f"{TITLE} of {name}: {display.duration(total)}")
    axes.set_xlabel(f"simulated time ({unit})")
    axes.set_ylabel("rank")
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
