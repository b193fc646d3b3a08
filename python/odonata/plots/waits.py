"""At which links jobs waited, and for whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure, SubFigure

from odonata import display
from odonata.columns import column_of, numbers
from odonata.plots.style import draw_empty, job_colour
from odonata.results.summary import RouterNames

if TYPE_CHECKING:
    from odonata.results import Result

WAITS_TITLE = "Where jobs waited, and for whom"
#: More would not be readable.
MOST_BARS = 14


def wait_rows(result: Result) -> list[dict[str, Any]]:
    """The rows of ``link_waits`` with the names of jobs and links, in their order.

    Args:
        result: Of a run that recorded it (``[record] attribution = true``).

    Returns:
        With the keys ``job``, ``name``, ``by_job``, ``by_name``, ``link``, ``link_name``,
        ``class``, ``sending_ps``, ``blocking_ps`` and their sum ``waited_ps``.
    """
    waits = result.table("link_waits")
    names = RouterNames(result.routers)
    links = result.links.take(column_of(np.unique(numbers(waits, "link")), pa.int64())).to_pylist()
    of_link = {row["link"]: (names.link(row), row["class"]) for row in links}
    jobs = result.jobs["name"].to_pylist()
    return [
        {
            "job": row["job"],
            "name": jobs[row["job"]],
            "by_job": row["by_job"],
            "by_name": jobs[row["by_job"]],
            "link": row["link"],
            "link_name": of_link[row["link"]][0],
            "class": of_link[row["link"]][1],
            "sending_ps": row["sending_ps"],
            "blocking_ps": row["blocking_ps"],
            "waited_ps": row["sending_ps"] + row["blocking_ps"],
        }
        for row in waits.to_pylist()
    ]


def draw_waits(figure: Figure | SubFigure, rows: Sequence[Mapping[str, Any]]) -> None:
    """Draws the links at which jobs lost most time to others, with all that they waited there.

    Args:
        figure: An empty figure.
        rows: As :func:`wait_rows` makes them.
    """
    by_place: dict[tuple[int, int], list[Mapping[str, Any]]] = {}
    for row in rows:
        by_place.setdefault((row["job"], row["link"]), []).append(row)

    def to_others(rows: Sequence[Mapping[str, Any]]) -> int:
        return sum(row["waited_ps"] for row in rows if row["by_job"] != row["job"])

    places = sorted(by_place.values(), key=lambda rows: -to_others(rows))[:MOST_BARS]
    places = [rows for rows in places if to_others(rows)]
    if not places:
        draw_empty(figure, WAITS_TITLE, "No job waited for another one.")
        return
    axes = figure.subplots()
    largest = max(sum(row["waited_ps"] for row in rows) for rows in places)
    factor, unit = display.scale_for(largest, "duration")
    shown: set[int] = set()
    for y, rows in enumerate(places):
        left = 0.0
        # Others first, then the job itself.
        for row in sorted(rows, key=lambda row: (row["by_job"] == row["job"], row["by_job"])):
            width = row["waited_ps"] / factor
            own = row["by_job"] == row["job"]
            axes.barh(
                y,
                width,
                left=left,
                height=0.7,
                color=job_colour(row["by_job"]),
                alpha=0.25 if own else 0.9,
                label=None if row["by_job"] in shown or own else f"for {row['by_name']}",
            )
            if not own:
                shown.add(row["by_job"])
            left += width
    names = [f"{rows[0]['name']}: {rows[0]['link_name']}" for rows in places]
    axes.set_yticks(range(len(places)), names)
    axes.invert_yaxis()
    axes.set_xlabel(f"waited, summed over packets ({unit}); pale: for packets of the same job")
    axes.grid(axis="y", visible=False)
    axes.set_title(WAITS_TITLE)
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4)
