"""Pictures of a result.

Each picture is drawn by one module of this package, whose function fills an empty figure with what
a result shows; this one offers them as methods.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from odonata.output import picture, warn
from odonata.plots.arrivals import draw_arrivals
from odonata.plots.communication import draw_communication, draw_message_sizes
from odonata.plots.critical_path import draw_critical_path
from odonata.plots.groups import draw_group_heatmap
from odonata.plots.latency import draw_latency
from odonata.plots.links import draw_link_load
from odonata.plots.overview import draw_overview
from odonata.plots.ranks import draw_ranks
from odonata.plots.style import check_format, drawn, new_figure, save, style
from odonata.plots.timeline import draw_timeline
from odonata.plots.topology import draw_topology
from odonata.plots.waits import draw_waits, wait_rows
from odonata.plots.wiring import Wiring

if TYPE_CHECKING:
    from odonata.results import Result

__all__ = [
    "Plots",
    "Wiring",
    "check_format",
    "draw_topology",
    "drawn",
    "new_figure",
    "save",
    "style",
]


#: Pictures that every run has.
_ALWAYS = ("overview", "latency", "link_load", "group_heatmap", "timeline", "topology")

#: Tables that pictures of what is recorded on request are drawn from.
_NEEDS = {
    "ranks": "ranks",
    "message_sizes": "message_sizes",
    "communication": "communication",
    "critical_path": "rank_activity",
    "waits": "link_waits",
    "arrivals": "arrivals",
}


class Plots:
    """The pictures of one result; ``result.plot`` makes it.

    Each method returns a matplotlib figure, which a notebook shows by itself, and writes it
    if it is given a path: as PNG, PDF or SVG, by how the name ends.
    """

    def __init__(self, result: Result) -> None:
        self._result = result

    def latency(self, path: str | Path | None = None) -> Figure:
        """Latency distribution of each job's messages."""
        return self._draw(path, 7.2, 4.3, lambda figure: draw_latency(figure, self._result))

    def link_load(self, path: str | Path | None = None) -> Figure:
        """Utilisation and blocking of the links of each class, most loaded first."""
        return self._draw(path, 7.2, 4.3, lambda figure: draw_link_load(figure, self._result))

    def group_heatmap(self, path: str | Path | None = None) -> Figure:
        """Mean utilisation of the links between each pair of groups."""
        return self._draw(path, 5.8, 4.8, lambda figure: draw_group_heatmap(figure, self._result))

    def timeline(self, path: str | Path | None = None) -> Figure:
        """Throughput of each job over simulated time."""
        return self._draw(path, 7.2, 3.6, lambda figure: draw_timeline(figure, self._result))

    def topology(self, path: str | Path | None = None) -> Figure:
        """The network with its link loads and the nodes of each job."""
        result = self._result

        def draw(figure: Figure) -> None:
            names = result.jobs["name"].to_pylist()
            draw_topology(figure, Wiring.of_result(result), result.meta["network"], names)

        return self._draw(path, 7.6, 6.8, draw)

    def ranks(self, path: str | Path | None = None) -> Figure:
        """Time of every rank of closed-loop jobs, by what it did."""
        jobs = set(self._result.table("ranks")["job"].to_pylist())
        width = 5.6 + 2.8 * min(max(len(jobs), 1), 4)
        return self._draw(path, width, 4.3, lambda figure: draw_ranks(figure, self._result))

    def communication(self, path: str | Path | None = None) -> Figure:
        """Who of a closed-loop job sent how much to whom."""
        jobs = set(self._result.table("communication")["job"].to_pylist())
        width = 1.6 + 4.4 * min(max(len(jobs), 1), 4)
        return self._draw(path, width, 5.2, lambda figure: draw_communication(figure, self._result))

    def message_sizes(self, path: str | Path | None = None) -> Figure:
        """Sizes of the messages of closed-loop jobs, by number and by volume."""
        return self._draw(path, 7.2, 4.8, lambda figure: draw_message_sizes(figure, self._result))

    def critical_path(self, path: str | Path | None = None, job: int | None = None) -> Figure:
        """What the run time of a job is made of; of the first recorded one by default."""
        return self._draw(
            path, 8.4, 4.6, lambda figure: draw_critical_path(figure, self._result, job)
        )

    def waits(self, path: str | Path | None = None) -> Figure:
        """The links at which jobs lost most time to other jobs."""
        return self._draw(
            path, 8.6, 4.6, lambda figure: draw_waits(figure, wait_rows(self._result))
        )

    def arrivals(self, path: str | Path | None = None) -> Figure:
        """What arrived at the recorded routers over time."""
        return self._draw(path, 7.2, 3.6, lambda figure: draw_arrivals(figure, self._result))

    def overview(self, path: str | Path | None = None) -> Figure:
        """Latency, link load, group heat map and timeline on one page."""
        return self._draw(path, 13.0, 9.0, lambda figure: draw_overview(figure, self._result))

    def save_all(
        self,
        directory: str | Path,
        names: Sequence[str] | None = None,
        *,
        notice: Callable[[str], object] = warn,
    ) -> list[Path]:
        """Writes every picture that has something to show as a PNG of its name.

        Args:
            directory: Where to.
            names: Only these.
            notice: Called with the picture that could not be drawn, and why. Default: a warning.

        Returns:
            The files, the overview first.
        """
        directory = Path(directory)
        paths = []
        if names is None:
            shown = [name for name, table in _NEEDS.items() if self._result.table(table).num_rows]
            names = [*_ALWAYS, *shown]
        for name in names:
            path = directory / f"{name}.png"
            with picture(Path(path.name), notice):
                getattr(self, name)(path)
                paths.append(path)
        return paths

    def _draw(
        self,
        path: str | Path | None,
        width: float,
        height: float,
        draw: Callable[[Figure], None],
    ) -> Figure:
        return drawn(path, (width, height), draw)
