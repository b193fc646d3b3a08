"""Pictures of schedules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from odonata.batch.withheld import withheld
from odonata.columns import numbers
from odonata.output import picture, warn
from odonata.plots.style import JOB_COLOURS, MUTED, draw_empty, drawn, job_colour, plain_powers

if TYPE_CHECKING:
    from odonata.batch.schedules import Schedule

#: Jobs in a Gantt chart, about: more would be thinner than a line.
GANTT_JOBS = 400
#: Points over time, of all lines together.
MOST_POINTS = 700

_SPANS = ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))


class SchedulePlots:
    """Draws schedules of one log, side by side where there are several.

    Each method returns a matplotlib figure, and writes it if it is given a path: as PNG, PDF or
    SVG, by how the name ends.
    """

    def __init__(self, schedules: Sequence[Schedule]) -> None:
        self._schedules = list(schedules)

    def gantt(
        self,
        path: str | Path | None = None,
        *,
        from_s: int | None = None,
        until_s: int | None = None,
    ) -> Figure:
        """Jobs as rectangles over time and nodes, of the first schedule.

        Args:
            path: Where to write the picture.
            from_s: From this time of the log on; by default the busiest part that can be
                distinguished apart, or everything if that can.
            until_s: Up to this time.
        """
        chosen = self._schedules[0]
        return drawn(path, (9.0, 4.8), lambda f: draw_gantt(f, chosen, from_s, until_s))

    def utilisation(self, path: str | Path | None = None) -> Figure:
        """Nodes in use, and nodes that waiting jobs ask for, over time."""
        return drawn(path, (9.0, 5.0), lambda f: draw_utilisation(f, self._schedules))

    def waits(self, path: str | Path | None = None) -> Figure:
        """How many jobs wait for how long, and mean waits by size."""
        return drawn(path, (9.0, 4.2), lambda f: draw_waits(f, self._schedules))

    def save_all(
        self, directory: str | Path, *, notice: Callable[[str], object] = warn
    ) -> list[Path]:
        """Writes every picture as a PNG of its name; tells of those that cannot be drawn."""
        directory = Path(directory)
        paths = []
        for name in ("gantt", "utilisation", "waits"):
            path = directory / f"{name}.png"
            with picture(Path(path.name), notice):
                getattr(self, name)(path)
                paths.append(path)
        return paths


def time_unit(span: float) -> tuple[float, str]:
    """Seconds of the unit in which a span of time reads best, and its name."""
    for length, name in _SPANS:
        if span >= 3 * length:
            return length, name
    return _SPANS[-1]


def draw_gantt(figure: Figure, schedule: Schedule, from_s: int | None, until_s: int | None) -> None:
    """Draws jobs as rectangles: time to the right, nodes upwards.

    The machine counts nodes and does not tell them apart: each job is drawn on the lowest
    nodes that are free when it starts, in several pieces where they lie apart.
    """
    table = schedule.jobs
    start, end = numbers(table, "start_s"), numbers(table, "end_s")
    nodes, submit = numbers(table, schedule.unit), numbers(table, "submit_s")
    ran = (start >= 0) & (end > start)
    if not ran.any():
        draw_empty(figure, "Schedule", "No job ran.")
        return
    first = int(submit.min())
    low, high = gantt_window(start[ran], end[ran], schedule)
    low, high = (low if from_s is None else from_s), (high if until_s is None else until_s)
    shown = np.flatnonzero(ran & (start < high) & (end > low))
    pieces = gantt_pieces(start[shown], end[shown], nodes[shown], schedule)
    length, unit = time_unit(high - low)
    machine = schedule.summary["machine"]
    axes = figure.add_subplot()
    for colour in range(len(JOB_COLOURS) - 1):
        corners = []
        for job, bottom, top in pieces:
            if job % (len(JOB_COLOURS) - 1) == colour:
                left, right = ((time[shown[job]] - first) / length for time in (start, end))
                corners.append([(left, bottom), (right, bottom), (right, top), (left, top)])
        # A thin white edge keeps neighbours apart, unless it would be all there is.
        width = 0.3 if len(shown) <= 2 * GANTT_JOBS else 0.0
        axes.add_collection(
            PolyCollection(
                corners, facecolors=JOB_COLOURS[colour], edgecolors="white", linewidths=width
            )
        )
    draw_withheld(axes, schedule, first, length)
    axes.set_xlim((low - first) / length, (high - first) / length)
    axes.set_ylim(0, machine)
    axes.grid(False)
    axes.set_title(f"Schedule {schedule.name}: {len(shown):,} of {int(ran.sum()):,} jobs")
    axes.set_xlabel(f"{unit} since the first submission")
    axes.set_ylabel(schedule.unit)


def draw_withheld(axes: Axes, schedule: Schedule, first: int, length: float) -> None:
    """Marks what maintenance and reservations withhold, above the jobs, which begin at the bottom.

    Args:
        axes: With time since `first` in units of `length` seconds to the right.
        schedule: Whose windows.
        first: Second of the log.
        length: Seconds of the axis' unit.
    """
    machine = schedule.summary["machine"]
    for one in withheld(schedule):
        left, right = ((at - first) / length for at in (one.start, one.end))
        corners = [(left, machine - one.amount), (right, machine - one.amount)]
        corners += [(right, machine), (left, machine)]
        mark = PolyCollection(
            [corners], facecolors="#00000014", edgecolors=MUTED, hatch="///", linewidths=0.8
        )
        axes.add_collection(mark)
        axes.text(
            (left + right) / 2,
            machine - one.amount / 2,
            one.name,
            ha="center",
            va="center",
            rotation=90,
            fontsize=8,
            clip_on=True,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.5},
        )


def gantt_window(
    start: npt.NDArray[np.int64], end: npt.NDArray[np.int64], schedule: Schedule
) -> tuple[int, int]:
    """The time to show: everything, or about this many jobs around maintenance or longest queue."""
    low, high = int(start.min()), int(end.max())
    if len(start) <= GANTT_JOBS:
        return low, high
    waiting = numbers(schedule.occupancy, f"waiting_{schedule.unit}")
    peak = int(numbers(schedule.occupancy, "time_s")[int(np.argmax(waiting))])
    windows = [one for one in withheld(schedule) if one.start < high]
    if windows:
        peak = windows[0].start
    ordered = np.sort(start)
    middle = int(np.searchsorted(ordered, peak))
    begin = max(0, min(middle - GANTT_JOBS // 2, len(ordered) - GANTT_JOBS))
    return int(ordered[begin]), int(ordered[begin + GANTT_JOBS - 1])


def gantt_pieces(
    start: npt.NDArray[np.int64],
    end: npt.NDArray[np.int64],
    nodes: npt.NDArray[np.int64],
    schedule: Schedule,
) -> list[tuple[int, int, int]]:
    """Job, first node and the node after the last of every piece."""
    free = [(0, int(schedule.summary["machine"]))]
    running: list[tuple[int, list[tuple[int, int]]]] = []
    pieces: list[tuple[int, int, int]] = []
    for job in np.lexsort((np.arange(len(start)), start)):
        over = [held for until, held in running if until <= start[job]]
        running = [entry for entry in running if entry[0] > start[job]]
        if over:
            free = _joined([*free, *(piece for held in over for piece in held)])
        wanted = int(nodes[job])
        taken: list[tuple[int, int]] = []
        while wanted and free:
            low, high = free.pop(0)
            use = min(wanted, high - low)
            taken.append((low, low + use))
            wanted -= use
            if low + use < high:
                free.insert(0, (low + use, high))
        running.append((int(end[job]), taken))
        pieces.extend((int(job), low, high) for low, high in taken)
    return pieces


def _joined(intervals: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for low, high in sorted(intervals):
        if joined and joined[-1][1] == low:
            joined[-1] = (joined[-1][0], high)
        else:
            joined.append((low, high))
    return joined


def draw_utilisation(figure: Figure, schedules: Sequence[Schedule]) -> None:
    """Draws nodes in use and nodes waited for over time, a line per schedule."""
    if not any(one.occupancy.num_rows for one in schedules):
        draw_empty(figure, "Machine and queue over time", "No job ran.")
        return
    upper, lower = figure.subplots(2, 1, sharex=True)
    origin = min(int(one.summary["first_submit_s"]) for one in schedules)
    last = max(int(one.summary["last_end_s"]) for one in schedules)
    length, unit = time_unit(max(last - origin, 1))
    for index, one in enumerate(schedules):
        for axes, column in ((upper, "busy"), (lower, "waiting")):
            values = numbers(one.occupancy, f"{column}_{one.unit}")
            times = numbers(one.occupancy, "time_s")
            if not len(values):
                continue
            step = int(times[1] - times[0]) if len(times) > 1 else 1
            points = MOST_POINTS // len(schedules)
            joined = max(1, -(-len(values) // points))
            starts = np.arange(0, len(values), joined)
            counts = np.diff(np.append(starts, len(values)))
            means = np.add.reduceat(values, starts) / counts
            edges = np.append(times[starts], times[-1] + step)
            label = one.name if axes is upper else None
            axes.stairs(
                means,
                (edges - origin) / length,
                color=job_colour(index),
                linewidth=1.1,
                label=label,
            )
    machine = int(schedules[0].summary["machine"])
    upper.axhline(machine, color=MUTED, linewidth=0.8, linestyle=(0, (4, 2)), label="machine")
    upper.set_ylim(0, machine * 1.12)
    upper.set_title("Machine and queue over time")
    what = schedules[0].unit
    upper.set_ylabel(f"{what} in use")
    lower.set_ylabel(f"{what} waited for")
    lower.set_ylim(bottom=0)
    lower.set_xlim(0, (last - origin) / length)
    lower.set_xlabel(f"{unit} since the first submission")
    upper.legend(loc="lower right", ncols=min(4, len(schedules) + 1))


def draw_waits(figure: Figure, schedules: Sequence[Schedule]) -> None:
    """Draws the distribution of waits and their means by size, per schedule."""
    if not any(one.summary["classes"] for one in schedules):
        draw_empty(figure, "Waits", "No job ran.")
        return
    left, right = figure.subplots(1, 2)
    _draw_distribution(left, schedules)
    classes = sorted(
        {
            (c[f"{one.unit}_from"], c[f"{one.unit}_to"])
            for one in schedules
            for c in one.summary["classes"]
        }
    )
    width = 0.8 / len(schedules)
    for index, one in enumerate(schedules):
        means = {
            (c[f"{one.unit}_from"], c[f"{one.unit}_to"]): c["wait_s"]["mean"] / 3600
            for c in one.summary["classes"]
        }
        at = np.arange(len(classes)) + (index - (len(schedules) - 1) / 2) * width
        heights = [means.get(size, 0.0) for size in classes]
        right.bar(at, heights, width, color=job_colour(index), label=one.name)
    names = [f"{low:,}" if low == high else f"{low:,}–{high:,}" for low, high in classes]
    right.set_xticks(range(len(classes)), names, rotation=45, ha="right", fontsize=7.5)
    right.grid(axis="x", visible=False)
    right.set_title("Mean wait by size")
    right.set_xlabel(schedules[0].unit)
    right.set_ylabel("hours")
    if len(schedules) > 1:
        left.legend(loc="lower right")


def _draw_distribution(axes: Axes, schedules: Sequence[Schedule]) -> None:
    longest = 60.0
    for index, one in enumerate(schedules):
        waits = numbers(one.jobs, "wait_s")
        waits = np.sort(waits[waits >= 0])
        if len(waits):
            share = np.arange(1, len(waits) + 1) / len(waits) * 100
            hours = np.maximum(waits, 30) / 3600
            longest = max(longest, float(waits[-1]))
            axes.step(hours, share, where="post", color=job_colour(index), label=one.name)
    axes.set_xscale("log")
    axes.set_xlim(30 / 3600, longest / 3600)
    plain_powers(axes.xaxis)
    axes.set_ylim(0, 100)
    axes.set_title("Jobs that wait no longer than …")
    axes.set_xlabel("hours (at the left end: 30 s or less)")
    axes.set_ylabel("% of jobs")
