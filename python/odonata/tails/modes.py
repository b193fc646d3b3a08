"""Whether a distribution has one mode or several, and where they are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from odonata.tails.measures import as_samples

#: Samples of the uniform distributions that the dip's p-value comes from. √n·dip hardly depends
#: on n from some hundred on (Hartigan and Hartigan 1985, table 1).
_LARGEST_REFERENCE = 200
_REFERENCES = 1_000
#: Samples that mixtures are fitted to at most: of more, evenly spaced ones in order.
_MOST_SAMPLES = 20_000


@dataclass(frozen=True)
class Mode:
    """One component of a mixture.

    Attributes:
        centre: Its median, in the samples' unit.
        share: Of the samples.
        spread: Factor (of positive samples, which are taken by their logarithms), or width in the
            samples' unit, of one standard deviation.
    """

    centre: float
    share: float
    spread: float


@dataclass(frozen=True)
class Modes:
    """How many modes samples have.

    Attributes:
        dip: Hartigan's dip statistic.
        p: Probability of such a dip, or a larger one, if there were one mode.
        modes: Components of the mixture of one to three normal distributions (of the logarithms,
            if all samples are positive) that is best by BIC, by their centres.
        bic: BIC of the mixtures of one, two and three components.
    """

    dip: float
    p: float
    modes: tuple[Mode, ...]
    bic: tuple[float, ...]


def find_modes(values: ArrayLike, most: int = 3) -> Modes:
    """Tests samples for several modes, and finds them.

    A mixture may need two components for one mode with a long tail, which is why the dip test
    stands beside it: modes are several where its p is small and the mixture says so, too.

    Args:
        values: Samples. Shape: samples, at least 10. Of more than 20,000 the mixtures are fitted
            to this many, evenly spaced in order.
        most: Components that are tried at most.

    Raises:
        SampleError: If there are too few samples or one is not finite.
    """
    from sklearn.mixture import GaussianMixture

    samples = as_samples(values, least=10)
    dip, p = dip_test(samples)
    logs = bool((samples > 0).all())
    points = (np.log(samples) if logs else samples).reshape(-1, 1)
    if len(points) > _MOST_SAMPLES:
        places = (np.arange(_MOST_SAMPLES) + 0.5) * len(points) / _MOST_SAMPLES
        points = np.sort(points, axis=0)[places.astype(np.int64)]
    if np.ptp(points) == 0:
        return Modes(dip, p, (Mode(float(samples[0]), 1.0, 1.0 if logs else 0.0),), (0.0,))
    least = 1e-6 * float(points.var())
    fitted = [
        GaussianMixture(components, n_init=4, random_state=0, reg_covar=least).fit(points)
        for components in range(1, most + 1)
    ]
    bic = tuple(float(one.bic(points)) for one in fitted)
    best = fitted[int(np.argmin(bic))]
    deviations = np.sqrt(best.covariances_.ravel())
    modes = [
        Mode(
            float(np.exp(centre) if logs else centre),
            float(share),
            float(np.exp(deviation) if logs else deviation),
        )
        for centre, share, deviation in zip(
            best.means_.ravel(), best.weights_, deviations, strict=True
        )
    ]
    return Modes(dip, p, tuple(sorted(modes, key=lambda mode: mode.centre)), bic)


def dip_test(values: ArrayLike) -> tuple[float, float]:
    """Hartigan's dip test: the statistic, and its p-value under a uniform distribution.

    After Hartigan and Hartigan, "The Dip Test of Unimodality", Annals of Statistics 13 (1985). The
    p-value counts how many of 1,000 uniform samples dip further; its least value is 1/1,001.

    Raises:
        SampleError: If there are fewer than 4 samples or one is not finite.
    """
    samples = np.sort(as_samples(values, least=4))
    dip = _dip(samples)
    size = min(samples.size, _LARGEST_REFERENCE)
    scaled = dip * np.sqrt(samples.size)
    beyond = int((_reference(size) >= scaled).sum())
    return dip, (beyond + 1) / (_REFERENCES + 1)


@lru_cache(maxsize=16)
def _reference(size: int) -> NDArray[np.float64]:
    """√n·dip of uniform samples of one size; the same in every run."""
    random = np.random.default_rng(size)
    dips = [_dip(np.sort(random.random(size))) for _ in range(_REFERENCES)]
    scaled: NDArray[np.float64] = np.sqrt(size) * np.array(dips)
    return scaled


def _hull(x: NDArray[np.float64]) -> list[int]:
    """For every sample, the one before it on the greatest convex minorant.

    Of the empirical distribution up to that sample.
    """
    before = [0] * len(x)
    values = x.tolist()
    for j in range(1, len(values)):
        at = j - 1
        # A point above the line from its predecessor to j is not on the minorant.
        while at > 0 and (values[j] - values[at]) * (at - before[at]) >= (
            values[at] - values[before[at]]
        ) * (j - at):
            at = before[at]
        before[j] = at
    return before


def _dip(x: NDArray[np.float64]) -> float:
    """The dip of sorted samples.

    That is the greatest distance of the empirical distribution from the unimodal one nearest to it.
    """
    n = len(x)
    if x[0] == x[-1]:
        return 0.5 / n
    minorant = _hull(x)
    # The least concave majorant is the minorant of the samples seen from behind.
    mirrored = _hull(-x[::-1])
    majorant = [n - 1 - mirrored[n - 1 - k] for k in range(n)]
    low, high, dip = 0, n - 1, 1.0
    while True:
        convex, concave = [high], [low]
        while convex[-1] > low:
            convex.append(minorant[convex[-1]])
        while concave[-1] < high:
            concave.append(majorant[concave[-1]])
        distance, i, j = _farthest(x, convex, concave)
        if distance < dip:
            break
        left = _deviation(x, [(b, a) for a, b in zip(convex[i:], convex[i + 1 :], strict=False)], 1)
        right = _deviation(x, list(zip(concave[j:], concave[j + 1 :], strict=False)), -1)
        dip = max(dip, left, right)
        if low == convex[i] and high == concave[j]:
            break
        low, high = convex[i], concave[j]
    return dip / (2 * n)


def _farthest(
    x: NDArray[np.float64], convex: list[int], concave: list[int]
) -> tuple[float, int, int]:
    """Largest distance between minorant and majorant at their vertices, in samples, and where."""
    if len(convex) == 2 and len(concave) == 2:
        return 1.0, 1, 1
    distance, at_convex, at_concave = 0.0, len(convex) - 1, len(concave) - 1
    i, j = len(convex) - 2, 1
    while True:
        a, b = convex[i], concave[j]
        if a > b:
            # A vertex of the majorant, against the minorant's segment around it.
            start = convex[i + 1]
            here = (b - start + 1) - (x[b] - x[start]) * (a - start) / (x[a] - x[start])
            j += 1
            if here >= distance:
                distance, at_convex, at_concave = float(here), i + 1, j - 1
        else:
            start = concave[j - 1]
            here = (x[a] - x[start]) * (b - start) / (x[b] - x[start]) - (a - start - 1)
            i -= 1
            if here >= distance:
                distance, at_convex, at_concave = float(here), i + 1, j
        i, j = max(i, 0), min(j, len(concave) - 1)
        if convex[i] == concave[j]:
            return distance, at_convex, at_concave


def _deviation(x: NDArray[np.float64], segments: list[tuple[int, int]], sign: int) -> float:
    """Largest distance of the empirical distribution from segments of a hull, in samples."""
    largest = 0.0
    for begin, end in segments:
        here = 1.0
        if end - begin > 1 and x[end] != x[begin]:
            steps = np.arange(end - begin + 1)
            line = (x[begin : end + 1] - x[begin]) * (end - begin) / (x[end] - x[begin])
            here = max(here, float((sign * (steps - line) + 1).max()))
        largest = max(largest, here)
    return largest
