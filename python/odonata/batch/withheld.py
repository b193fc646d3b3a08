"""Nodes that maintenance and reservations withhold, and what maintenance and failures cost."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from odonata import _engine, display
from odonata.batch.describe import moment_text
from odonata.columns import numbers

if TYPE_CHECKING:
    from odonata.batch.schedules import Schedule

#: The name of windows for which nodes are kept free of all jobs.
MAINTENANCE = "maintenance"

#: Nodes that fail, as what a schedule is also made without.
FAILURES = "failures"

#: How it is said what each of them costs.
COSTS = {MAINTENANCE: "What the maintenance costs", FAILURES: "What the failures cost"}


@dataclass(frozen=True)
class Withheld:
    """What a window withholds.

    Attributes:
        start: First second, in the log's time.
        end: The second after the last.
        nodes: How many nodes.
        amount: Of what the schedule counts: nodes, or processors, of which Slurm's nodes are taken
            to have equally many.
        name: What the window is: maintenance or a reservation.
        which: The nodes, where they are told.
    """

    start: int
    end: int
    nodes: int
    amount: float
    name: str
    which: frozenset[Any] | None = None


def withheld(schedule: Schedule) -> list[Withheld]:
    """What the windows of a schedule withhold, as its options say."""
    machine, options = float(schedule.summary["machine"]), schedule.options
    found = []
    for window in options.get("windows", ()):
        which = None if window["which"] is None else frozenset(window["which"])
        nodes = window["nodes"] if which is None else len(which)
        amount = machine if nodes is None else nodes * float(options.get("share_processors") or 1)
        nodes, amount = nodes or schedule.machine_nodes, min(machine, amount)
        times = window["start_s"], window["end_s"]
        found.append(Withheld(*times, nodes, amount, window["name"], which))
    for window in options.get(MAINTENANCE, ()):
        # Slurm's, whose schedules count processors.
        which = frozenset(_engine.expand_hostlist(window["nodes"]))
        amount = min(machine, len(which) * machine / schedule.machine_nodes)
        times = window["start_s"], window["end_s"]
        found.append(Withheld(*times, len(which), amount, MAINTENANCE, which))
    return found


def most_withheld(
    windows: Sequence[Withheld], begin: npt.NDArray[np.int64], end: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """The most that one of the windows withholds between two moments, for each pair of these."""
    most = np.zeros(len(begin))
    for window in windows:
        overlaps = (window.start < end) & (window.end > begin)
        most[overlaps] = np.maximum(most[overlaps], window.amount)
    return most


def withheld_seconds(windows: Sequence[Withheld], machine_nodes: int) -> int:
    """Node-seconds that windows withhold; nodes that several of them name count once."""
    moments = sorted({at for one in windows for at in (one.start, one.end)})
    total = 0
    for begin, end in itertools.pairwise(moments):
        now = [one for one in windows if one.start <= begin and one.end >= end]
        counted = sum(one.nodes for one in now if one.which is None)
        named = frozenset().union(*(one.which for one in now if one.which is not None))
        total += min(machine_nodes, counted + len(named)) * (end - begin)
    return total


def without_effect(jobs: Any, starts: Iterable[tuple[str, int]], epoch: int | None) -> list[str]:
    """Sentences on what began after all jobs had ended, and would have by their time limits.

    Args:
        jobs: Of a schedule.
        starts: What began, such as maintenance, and when, in the log's time.
        epoch: Unix time of the log's second 0, where known.
    """
    last, end = _last_end(jobs), max((at for at in jobs["end_s"].to_pylist() if at), default=0)
    return [
        f"{what} from {moment_text(start, epoch)} on changes nothing: all jobs had ended by "
        f"{moment_text(end, epoch)}. Times are dates of the log, or durations after its first "
        "submission, such as 12h."
        for what, start in starts
        if start >= last
    ]


def _last_end(jobs: Any) -> int:
    """When the last job ended, or would have by its time limit, in the log's time."""
    times = (jobs[name].to_pylist() for name in ("start_s", "end_s", "requested_s"))
    started = (job for job in zip(*times, strict=True) if job[0] is not None)
    return max((max(end or 0, start + (limit or 0)) for start, end, limit in started), default=0)


def cost_of(what: str, schedule: Schedule, without: Schedule) -> dict[str, Any]:
    """What maintenance or failures cost: nodes for a time, and jobs that start later.

    Args:
        what: Maintenance or failures.
        schedule: With these.
        without: The same schedule without.
    """
    starts, before = (numbers(each.jobs, "start_s") for each in (schedule, without))
    both = (starts >= 0) & (before >= 0)
    later = (starts - before)[both]
    delayed, advanced = later[later > 0], -later[later < 0]
    return {
        "without": without.name,
        **_taken(what, schedule),
        "delayed_jobs": len(delayed),
        "mean_delay_s": float(delayed.mean()) if len(delayed) else 0.0,
        "max_delay_s": float(delayed.max()) if len(delayed) else 0.0,
        "advanced_jobs": len(advanced),
        "mean_advance_s": float(advanced.mean()) if len(advanced) else 0.0,
        "prevented_jobs": int(((starts < 0) & (before >= 0)).sum()),
        "mean_wait_change_s": float(later.mean()) if len(later) else 0.0,
        "makespan_change_s": float(schedule.summary["makespan_s"] - without.summary["makespan_s"]),
    }


def _taken(what: str, schedule: Schedule) -> dict[str, float]:
    """Node-hours that maintenance withholds, or that failures keep out and lose."""
    if what == MAINTENANCE:
        # What begins after all jobs have ended withholds nothing.
        last = _last_end(schedule.jobs)
        found = withheld(schedule)
        windows = [one for one in found if one.name == MAINTENANCE and one.start < last]
        return {"withheld_node_hours": withheld_seconds(windows, schedule.machine_nodes) / 3600}
    one, failures = schedule.unit.removesuffix("s"), schedule.summary["failures"]
    return {f"{key}_{one}_hours": failures[f"{key}_{one}_seconds"] / 3600 for key in _FAILED}


#: What of nodes failures take: those that are out, and work that is lost with its job.
_FAILED = {"out": "out of service", "lost": "lost with jobs that failed"}


def cost_sentences(cost: dict[str, Any]) -> list[str]:
    """What :func:`cost_of` found, a line each."""

    def jobs(count: int) -> str:
        return f"{count:,} {'job' if count == 1 else 'jobs'}"

    def change(seconds: float) -> str:
        return f"{'+' if seconds >= 0 else '-'}{display.span(abs(seconds))}"

    delayed = jobs(cost["delayed_jobs"])
    if cost["delayed_jobs"]:
        delayed += (
            f", by {display.span(cost['mean_delay_s'])} on average and "
            f"{display.span(cost['max_delay_s'])} at most"
        )
    taken = {"withheld": "withheld", **_FAILED}
    found = [
        f"{text}: {cost[key]:,.1f} {unit}-hours"
        for which, text in taken.items()
        for unit in ("node", "processor")
        if (key := f"{which}_{unit}_hours") in cost
    ]
    found.append(f"start later: {delayed}")
    if cost["advanced_jobs"]:
        by = display.span(cost["mean_advance_s"])
        found.append(f"start earlier: {jobs(cost['advanced_jobs'])}, by {by} on average")
    if cost["prevented_jobs"]:
        found.append(f"never start: {jobs(cost['prevented_jobs'])}")
    found.append(
        f"mean wait: {change(cost['mean_wait_change_s'])}; makespan: "
        f"{change(cost['makespan_change_s'])}"
    )
    if any(key.startswith("lost_") for key in cost):
        found.append("failures at random are one draw of many: other seeds cost more or less")
    return found
