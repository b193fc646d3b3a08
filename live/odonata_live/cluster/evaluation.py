"""How good predictions of long-tailed runs are: later runs judge what earlier ones taught."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from odonata.errors import ClusterError
from odonata_live.cluster.advice import LEAST, Advisor
from odonata_live.cluster.outcomes import History, Outcome

Floats = NDArray[np.float64]

#: Resamples of the interval of a difference.
_RESAMPLES = 1_000


@dataclass(frozen=True)
class Score:
    """How good one predictor of long-tailed runs is.

    Attributes:
        brier: Mean squared error of its probabilities: 0 is perfect.
        precision: Of the runs that it calls long-tailed, the share that is; `None` if there are
            none.
        recall: Of the runs that are, the share that it calls so; `None` if none is.
    """

    brier: float
    precision: float | None
    recall: float | None


@dataclass(frozen=True)
class Evaluation:
    """A model beside the threshold of b of Salimi Beni and Cosenza (2022).

    Attributes:
        runs: Outcomes that were predicted, each by a model of earlier ones.
        long_share: Share of them that was long-tailed.
        model: The model's score.
        b_threshold: Of "long-tailed if b > θ", θ being the best of the earlier runs, with the
            shares of both sides there as probabilities: the fairest form of the paper's heuristic.
        b_hard: The same, as yes or no.
        base_rate: Of the earlier runs' share, whatever is known.
        advantage: Brier score of `b_threshold` minus the model's: positive if the model is better.
        advantage_low: Lower end of its 95 % interval (bootstrap of whole jobs).
        advantage_high: Its upper end.
        coverage: Share of times inside the interval that is said to hold nine of ten.
        calibration: Rows of (mean probability, share that was long-tailed, outcomes), by fifths of
            the predicted probabilities.
    """

    runs: int
    long_share: float
    model: Score
    b_threshold: Score
    b_hard: Score
    base_rate: Score
    advantage: float
    advantage_low: float
    advantage_high: float
    coverage: float
    calibration: tuple[tuple[float, float, int], ...]

    def to_dict(self) -> dict[str, Any]:
        """All of it by name."""
        return asdict(self)


def evaluate(
    outcomes: Sequence[Outcome], history: History | None = None, splits: int = 5
) -> Evaluation:
    """Predicts the later half of outcomes in as many parts, each from all that came before it.

    Args:
        outcomes: Jobs that ran.
        history: A watcher's samples.
        splits: Parts.

    Raises:
        ClusterError: If there are too few outcomes.
    """
    ordered = sorted(outcomes, key=lambda one: one.time_s)
    moments = sorted({one.time_s for one in ordered})
    if len(ordered) < 2 * LEAST or len(moments) < 2 * splits:
        raise ClusterError(
            f"found {len(ordered)} outcomes of {len(moments)} jobs; allowed, to evaluate: at least "
            f"{2 * LEAST} of {2 * splits}"
        )
    half = len(moments) // 2
    edges = [half + round(part * (len(moments) - half) / splits) for part in range(splits + 1)]
    rows: list[tuple[float, ...]] = []
    for begin, end in itertools.pairwise(edges):
        earlier = [one for one in ordered if one.time_s < moments[begin]]
        last = moments[end - 1]
        later = [one for one in ordered if moments[begin] <= one.time_s <= last]
        rows += _predicted(earlier, later, history)
    if not rows:
        raise ClusterError("nothing to evaluate: no kind of job was measured often enough before")
    job, long, p, soft, hard, base, inside = np.array(rows).T
    gain = (soft - long) ** 2 - (p - long) ** 2
    low, high = _interval(gain, job)
    return Evaluation(
        runs=len(rows),
        long_share=float(long.mean()),
        model=_score(p, long),
        b_threshold=_score(soft, long),
        b_hard=_score(hard, long),
        base_rate=_score(base, long),
        advantage=float(gain.mean()),
        advantage_low=low,
        advantage_high=high,
        coverage=float(inside.mean()),
        calibration=_calibration(p, long),
    )


def _predicted(
    earlier: list[Outcome], later: list[Outcome], history: History | None
) -> list[tuple[float, ...]]:
    """For each later outcome: job, whether long-tailed, four probabilities, whether inside."""
    advisor = Advisor(earlier, history)
    asked = [one for one in later if one.kind in advisor.scale]
    known = [(one, one.time_us > advisor.long[one.kind]) for one in advisor.used]
    with_b = [(one.busy["b"], long) for one, long in known if "b" in one.busy]
    threshold, above, below = best_threshold(
        np.array([b for b, _ in with_b]), np.array([long for _, long in with_b])
    )
    base = sum(long for _, long in known) / len(known)
    found: list[tuple[float, ...]] = []
    for one, forecast in zip(asked, advisor.forecasts(asked), strict=True):
        b = one.busy.get("b", math.nan)
        soft = base if math.isnan(b) else above if b > threshold else below
        inside = forecast.low_us <= one.time_us <= forecast.high_us
        long = one.time_us > forecast.long_us
        hard = float(b > threshold)
        found.append((one.time_s, float(long), forecast.p_long, soft, hard, base, float(inside)))
    return found


def best_threshold(b: Floats, long: NDArray[np.bool_]) -> tuple[float, float, float]:
    """The threshold that tells long-tailed runs best (Youden's index), and both sides' shares.

    Returns:
        θ, the share of long-tailed runs with b > θ, and with b ≤ θ; infinite without any.
    """
    best, found = 0.0, math.inf
    for threshold in np.unique(b):
        above = b > threshold
        if long.any() and not long.all():
            index = float(above[long].mean() - above[~long].mean())
            if index > best:
                best, found = index, float(threshold)
    above = b > found
    # One success and one failure more than seen: no side is ever sure.
    shares = [
        (float(long[side].sum()) + 1) / (float(side.sum()) + 2) if side.any() else float("nan")
        for side in (above, ~above)
    ]
    whole = (float(long.sum()) + 1) / (len(long) + 2)
    high, low = (whole if math.isnan(share) else share for share in shares)
    return found, high, low


def _score(p: Floats, long: Floats) -> Score:
    called = p >= 0.5
    hits = float(long[called].sum())
    return Score(
        brier=float(np.mean((p - long) ** 2)),
        precision=hits / float(called.sum()) if called.any() else None,
        recall=hits / float(long.sum()) if long.any() else None,
    )


def _interval(gain: Floats, job: Floats) -> tuple[float, float]:
    """95 % of means where whole jobs are drawn again: series of one job go together."""
    _, index = np.unique(job, return_inverse=True)
    sums, counts = np.bincount(index, gain), np.bincount(index)
    chance = np.random.default_rng(0)
    drawn = chance.integers(0, len(sums), (_RESAMPLES, len(sums)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def _calibration(p: Floats, long: Floats) -> tuple[tuple[float, float, int], ...]:
    order = np.argsort(p, kind="stable")
    parts = [part for part in np.array_split(order, 5) if len(part)]
    return tuple((float(p[part].mean()), float(long[part].mean()), len(part)) for part in parts)
