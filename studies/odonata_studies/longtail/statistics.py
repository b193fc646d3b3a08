"""Figures of samples, and of moments, with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from odonata._engine import student_t95
from odonata.study.cells import Estimated
from odonata.study.intervals import interval
from odonata.tails import dip_test, find_modes

#: Resamples of a bootstrap.
_RESAMPLES = 500
#: Draws of a share.
_DRAWS = 1000


@dataclass(frozen=True)
class OfMoments(Estimated):
    """A figure of moments with its 95 % interval.

    Attributes:
        moments: How many it rests on; of two sorts compared, of the one that has fewer.
    """

    moments: int = 0


def peak(samples: ArrayLike) -> float:
    """Height of a distribution: half over the width of the shortest interval that holds half.

    Unlike a fitted density it needs no bandwidth. Per unit of the samples; infinite if half of
    them are equal.
    """
    ordered = np.sort(np.asarray(samples, dtype=np.float64))
    half = (ordered.size + 1) // 2
    width = float((ordered[half - 1 :] - ordered[: ordered.size - half + 1]).min())
    return 0.5 / width if width > 0 else float("inf")


def tail_length(samples: ArrayLike) -> float:
    """99th percentile less the median, in the samples' unit."""
    median, p99 = np.quantile(np.asarray(samples, dtype=np.float64), (0.5, 0.99))
    return float(p99 - median)


def has_two_modes(samples: ArrayLike) -> bool:
    """Whether both tests of :func:`odonata.tails.find_modes` say that there are several modes."""
    # The test is a hundred times as fast as the mixtures.
    return dip_test(samples)[1] < 0.05 and len(find_modes(samples).modes) > 1


#: Fewer samples say nothing of modes.
LEAST_FOR_MODES = 10


def two_modes(distributions: Sequence[Sequence[float]]) -> bool | None:
    """Whether all samples together have several modes; none if there are too few."""
    samples = [value for one in distributions for value in one]
    return has_two_modes(samples) if len(samples) >= LEAST_FOR_MODES else None


def share_with_two_modes(distributions: Sequence[Sequence[float]]) -> OfMoments:
    """How often all samples have several modes together, each moment being left out once.

    The dip test does not bear samples that are there several times, as in a bootstrap. The interval
    is from 0 to 1 unless all agree. NaN where the samples are too few.
    """
    count = len(distributions)
    parts = [
        [one for n, one in enumerate(distributions) if n != left or count == 1]
        for left in range(count)
    ]
    found = [two_modes(part) for part in parts]
    if not found or None in found:
        return OfMoments(float("nan"), moments=count)
    share = sum(map(bool, found)) / count
    return OfMoments(share, float(all(found)), float(any(found)), count)


def least_r(count: int) -> float:
    """Smallest |r| of this many points that differs from 0 at 5 %: t = r √((n − 2) / (1 − r²))."""
    t = student_t95(count - 2)
    return float(t / np.sqrt(t * t + count - 2))


def share_not_seen(
    x: NDArray[np.float64], y: NDArray[np.float64], scatter: float, points: int, seed: int = 0
) -> float:
    """How often a correlation is not significant at 5 % among a few of the pairs.

    Args:
        x: One series.
        y: The other, all positive.
        scatter: Standard deviation, over its mean, of what else makes a value of `y` larger or
            smaller: normal, and independent of `x`.
        points: Pairs of each draw, without replacement.
        seed: Equal seeds, equal shares.
    """
    random = np.random.default_rng(seed)
    least = least_r(points)
    seen = 0
    for _ in range(_DRAWS):
        chosen = random.permutation(x.size)[:points]
        scattered = y[chosen] * (1 + scatter * random.standard_normal(chosen.size))
        seen += abs(pearson(x[chosen], scattered)) >= least
    return 1 - seen / _DRAWS


def bootstrap(figure: Callable[[NDArray[np.int64]], float], count: int, seed: int = 0) -> OfMoments:
    """A figure of independent things, with the 95 % interval of its percentiles.

    Args:
        figure: Of the things that are chosen, by their numbers; may be NaN.
        count: Things.
        seed: Equal seeds, equal intervals.
    """
    value = float(figure(np.arange(count))) if count else float("nan")
    if count < 3:
        return OfMoments(value, moments=count)
    random = np.random.default_rng(seed)
    found = np.array([figure(random.integers(0, count, count)) for _ in range(_RESAMPLES)])
    found = found[np.isfinite(found)]
    if found.size < _RESAMPLES / 2:
        return OfMoments(value, moments=count)
    low, high = np.quantile(found, (0.025, 0.975))
    return OfMoments(value, float(low), float(high), count)


def pearson(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Pearson's r; NaN if one is constant."""
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan")
    return float(np.corrcoef(x, y)[0, 1])


def ranks(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks, equal values sharing theirs."""
    _, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    shared: NDArray[np.float64] = (ends - (counts - 1) / 2)[inverse]
    return shared


def spearman(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Spearman's ρ; NaN if one is constant."""
    return pearson(ranks(x), ranks(y))


def estimate_pairs(
    figure: Callable[[NDArray[np.float64], NDArray[np.float64]], float],
    x: NDArray[np.float64],
    y: NDArray[np.float64],
) -> OfMoments:
    """A figure of two series with its 95 % interval; pairs are resampled."""
    return bootstrap(lambda chosen: figure(x[chosen], y[chosen]), x.size)


def mean_of(values: Sequence[float]) -> OfMoments:
    """Mean of independent values with Student's 95 % interval; NaN without values."""
    if not values:
        return OfMoments(float("nan"))
    found = interval(values)
    ends = (found.mean - found.half_width, found.mean + found.half_width)
    return OfMoments(found.mean, *ends, found.count)


def ratio_of_means(above: Sequence[float], below: Sequence[float]) -> OfMoments:
    """Ratio of two geometric means with the 95 % interval of Welch's test on the logarithms.

    NaN where there is nothing to compare; without an interval where one side has one value, or a
    value is not positive.
    """
    if not above or not below:
        return OfMoments(float("nan"))
    fewer = min(len(above), len(below))
    if min(*above, *below) <= 0:
        bottom = float(np.mean(below))
        ratio = float(np.mean(above)) / bottom if bottom else float("nan")
        return OfMoments(ratio, moments=fewer)
    ones, others = np.log(above), np.log(below)
    difference = float(ones.mean() - others.mean())
    if fewer < 2:
        return OfMoments(float(np.exp(difference)), moments=fewer)
    parts = [float(side.var(ddof=1)) / side.size for side in (ones, others)]
    if sum(parts) == 0:
        ratio = float(np.exp(difference))
        return OfMoments(ratio, ratio, ratio, fewer)
    # Welch and Satterthwaite's degrees of freedom, rounded down: wider.
    freedom = sum(parts) ** 2 / sum(
        part**2 / (side.size - 1) for part, side in zip(parts, (ones, others), strict=True)
    )
    half = student_t95(max(1, int(freedom + 1e-9))) * sum(parts) ** 0.5
    value, low, high = (float(np.exp(difference + step)) for step in (0.0, -half, half))
    return OfMoments(value, low, high, fewer)


def logistic(
    features: NDArray[np.float64], happened: NDArray[np.bool_], where: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Probabilities by a logistic regression, learnt at some rows and asked of others.

    Args:
        features: Shape: rows × features.
        happened: Of each row.
        where: Rows to be reported. Shape: rows × features.
    """
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    if happened.all() or not happened.any():
        return np.full(len(where), float(happened.mean()))
    centre, width = features.mean(axis=0), features.std(axis=0)
    width = np.where(width > 0, width, 1.0)
    # Small tables are faster so.
    with threadpool_limits(1):
        model: Any = LogisticRegression(C=1.0)
        model.fit((features - centre) / width, happened)
        probabilities: NDArray[np.float64] = model.predict_proba((where - centre) / width)[:, 1]
    return probabilities
