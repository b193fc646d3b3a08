"""Why jobs of a schedule waited."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from odonata.columns import absent, numbers

if TYPE_CHECKING:
    from odonata.batch.schedules import Schedule

#: Waited although enough nodes were free; none of which says that they were in one place.
BEHIND_OTHERS = (
    "when submitted, enough were free, but kept for jobs ahead, or not where the job may run"
)
TOO_FEW = "when submitted, too few were free"
AGAIN = "back in the queue as a node failed: waits before and after that"


@dataclass(frozen=True)
class Reason:
    """Why some of the jobs waited or never ran.

    Attributes:
        text: The reason.
        jobs: How many jobs.
        wait_s: The sum of their waits; 0 of jobs that never ran, or whose node failed for good.
        has_run: Whether they ran and did not get to their end.
    """

    text: str
    jobs: int
    wait_s: float
    has_run: bool = False


def reasons(schedule: Schedule, most: int = 3) -> list[Reason]:
    """Why jobs waited, as seen when each was submitted, the longest waits first.

    Free is what jobs that run at that moment leave of the machine. Then come the commonest reasons
    for which jobs were refused, which the scheduler gives.

    Args:
        schedule: With its table of jobs.
        most: Reasons of refusals at most.
    """
    jobs = schedule.jobs
    size, submit, start, end, wait = (
        numbers(jobs, name) for name in (schedule.unit, "submit_s", "start_s", "end_s", "wait_s")
    )
    ran = ~absent(jobs["start_s"].combine_chunks())
    ended = zip(jobs["reason"].to_pylist(), ran.tolist(), strict=True)
    refused = Counter((text, has_run) for text, has_run in ended if text)
    again = np.zeros(len(jobs), bool)
    if "requeues" in jobs.column_names:
        again = numbers(jobs, "requeues") > 0
    size, submit, start, end, wait = size[ran], submit[ran], start[ran], end[ran], wait[ran]
    again = again[ran]
    waited = wait > 0
    used = _until(start, size, submit[waited]) - _until(end, size, submit[waited])
    too_few = schedule.summary["machine"] - used < size[waited]
    wait, again = wait[waited], again[waited]
    found = [
        Reason(text, int(which.sum()), float(wait[which].sum()))
        for text, which in (
            (TOO_FEW, too_few & ~again),
            (BEHIND_OTHERS, ~too_few & ~again),
            (AGAIN, again),
        )
        if which.any()
    ]
    found.sort(key=lambda one: -one.wait_s)
    return found + [
        Reason(text, count, 0.0, has_run) for (text, has_run), count in refused.most_common(most)
    ]


def _until(when: np.ndarray, size: np.ndarray, moments: np.ndarray) -> np.ndarray:
    """The sum of sizes whose time has come, at each of the moments."""
    order = np.argsort(when, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(size[order])])
    return sums[np.searchsorted(when[order], moments, side="right")]
