"""Why jobs of a schedule waited."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from odonata.batch.withheld import most_withheld, withheld
from odonata.columns import absent, numbers

if TYPE_CHECKING:
    from odonata.batch.schedules import Schedule

TOO_FEW = "too few were free"
WITHHELD = "enough were free, but a maintenance or reservation came before the job's time was over"
HELD = "they were held as the network was busy"
BEHIND_OTHERS = "enough were free, but other jobs waited already"
ELSEWHERE = (
    "enough were free and nobody else waited: not where the job may run, or the scheduler's next "
    "pass was still to come"
)
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

    Free is what jobs that run at that moment leave of the machine, wherever it is. Then come the
    commonest reasons for which jobs were refused, which the scheduler gives.

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
    asked = numbers(jobs, "requested_s")
    asked = np.where(asked >= 0, asked, end - start)[ran]
    size, submit, start, end, wait = size[ran], submit[ran], start[ran], end[ran], wait[ran]
    again = again[ran]
    waited = wait > 0
    when, one = submit[waited], np.ones(len(size))
    free = schedule.summary["machine"] - _until(start, size, when) + _until(end, size, when)
    # Jobs of the same second may come in any order: only earlier ones were there already.
    queue = _until(submit, one, when - 1) - _until(start, one, when)
    kept = most_withheld(withheld(schedule), when, when + asked[waited])
    too_few = free < size[waited]
    withheld_ = ~too_few & (free - kept < size[waited])
    held = ~too_few & ~withheld_
    held &= numbers(jobs, "held_s")[ran][waited] > 0 if "held_s" in jobs.column_names else False
    behind = ~too_few & ~withheld_ & ~held & (queue > 0)
    wait, again = wait[waited], again[waited]
    found = [
        Reason(text, int(which.sum()), float(wait[which].sum()))
        for text, which in (
            (TOO_FEW, too_few & ~again),
            (WITHHELD, withheld_ & ~again),
            (HELD, held & ~again),
            (BEHIND_OTHERS, behind & ~again),
            (ELSEWHERE, ~(too_few | withheld_ | held | behind | again)),
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
