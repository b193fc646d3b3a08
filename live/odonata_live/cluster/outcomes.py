"""What probes tell for a prediction: how busy the network was at submission, and how long it took.

Only what a user knows when submitting counts as known: the utilisation before the job, its history,
the time of day, and what the job does where. The outcome is the mean time of the run's iterations.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from odonata_live.cluster.probes import ProbeRun

#: Forms of the utilisation that predictions use, where they are known.
BUSY = ("b", "b1", "b_between_groups", "b_between_islands", "exposure", "exposure_islands")
#: The forms that a watcher's samples have.
WATCHED = ("b", "b1", "b_between_groups", "b_between_islands")
#: Runs of a kind from which on anything is said about it.
LEAST_OF_A_KIND = 3


@dataclass(frozen=True, order=True)
class Kind:
    """What a job does and where.

    Attributes:
        collective: Its name, or `command`.
        size_bytes: Of a message.
        placement: Where the nodes are.
        ranks: How many.
    """

    collective: str
    size_bytes: int
    placement: str
    ranks: int


@dataclass(frozen=True)
class Outcome:
    """One job: what was known when it was submitted, and how long it took.

    Attributes:
        time_s: When it began (Unix, s).
        kind: What it does and where.
        busy: Utilisation before it, by names of :data:`BUSY`.
        time_us: Mean time of its iterations; NaN of a job that is yet to run.
        past: Utilisation of the hour before it, by names of :data:`WATCHED`, where it is a
            forecast; `None` for what the history has.
    """

    time_s: float
    kind: Kind
    busy: Mapping[str, float] = field(default_factory=dict)
    time_us: float = math.nan
    past: Mapping[str, float] | None = None


def outcomes_of(runs: Iterable[ProbeRun], of: str = "max") -> list[Outcome]:
    """The outcomes of probes, in the order in which they ran.

    Args:
        runs: Those that count.
        of: Which rank's time is an iteration's.
    """
    found = []
    for run in runs:
        busy = {name: run.before[name] for name in BUSY if name in run.before}
        for series in run.series:
            times = series.times_us(of)
            if len(times):
                kind = Kind(series.collective, series.size_bytes, run.placement, len(run.nodes))
                found.append(Outcome(run.time_s, kind, busy, float(times.mean())))
    return sorted(found, key=lambda one: one.time_s)


class History:
    """A watcher's samples, to be asked for what was known at a moment.

    Args:
        samples: As `Store.samples` returns them; failures are left out.
    """

    def __init__(self, samples: Iterable[Mapping[str, Any]] = ()) -> None:
        good = sorted(
            (sample for sample in samples if sample.get("error") is None),
            key=lambda sample: float(sample["time_s"]),
        )
        self.times = [float(sample["time_s"]) for sample in good]
        self.values = {
            name: np.array(
                [math.nan if sample.get(name) is None else float(sample[name]) for sample in good]
            )
            for name in WATCHED
        }

    def before(self, time_s: float, span_s: float = 3600.0) -> dict[str, float]:
        """Mean utilisations of the time before a moment; empty without samples of it."""
        begin = bisect.bisect_left(self.times, time_s - span_s)
        end = bisect.bisect_left(self.times, time_s)
        if begin == end:
            return {}
        means = {name: values[begin:end].mean() for name, values in self.values.items()}
        return {name: float(mean) for name, mean in means.items() if math.isfinite(mean)}


class Features:
    """Numbers that models take, the same for all outcomes of one advisor.

    Each outcome is its forms of utilisation now and in the last hour, each also times the logarithm
    of the message's size; the time of day; size, collective and placement.

    Args:
        outcomes: From which is taken which forms are known, and which kinds there are.
        history: A watcher's samples.
    """

    def __init__(self, outcomes: Sequence[Outcome], history: History) -> None:
        self.history = history
        self.busy = [name for name in BUSY if any(name in one.busy for one in outcomes)]
        self.watched = [
            name
            for name in WATCHED
            if any(
                name in history.before(one.time_s)
                for one in outcomes[:: max(len(outcomes) // 50, 1)]
            )
        ]
        self.collectives = sorted({one.kind.collective for one in outcomes})
        self.placements = sorted({one.kind.placement for one in outcomes})

    def table(self, outcomes: Sequence[Outcome]) -> NDArray[np.float64]:
        """Shape: outcomes × features. What is not known of an outcome is NaN."""
        return np.array([self._row(one) for one in outcomes], dtype=np.float64)

    def _row(self, one: Outcome) -> list[float]:
        past = one.past
        if past is None:
            past = self.history.before(one.time_s) if self.watched else {}
        busy = [one.busy.get(name, math.nan) for name in self.busy]
        busy += [past.get(name, math.nan) for name in self.watched]
        size = math.log2(one.kind.size_bytes + 1) / 20
        day = 2 * math.pi * (one.time_s % 86_400) / 86_400
        return [
            *busy,
            *(value * size for value in busy),
            math.sin(day),
            math.cos(day),
            size,
            math.log2(one.kind.ranks),
            *(float(one.kind.collective == name) for name in self.collectives),
            *(float(one.kind.placement == name) for name in self.placements),
        ]
