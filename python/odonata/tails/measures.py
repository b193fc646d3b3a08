"""How long the tail of a distribution is, without assuming a family."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from odonata.errors import SampleError

#: Share of the largest samples that Hill's estimator takes by default.
HILL_SHARE = 0.05


@dataclass(frozen=True)
class Tail:
    """Tail measures of samples, in their unit where they have one.

    Attributes:
        count: Samples.
        mean: Their mean.
        median: Half of them are below.
        p85: 85 % of them are below.
        p99: 99 % of them are below.
        maximum: The largest.
        mean_median_gap: (mean − median) / median; 0 if symmetric, positive with a tail to the
            right.
        p99_over_p50: How much slower than usual the slowest hundredth is at least.
        above_twice_median: Share of samples above 2 × median.
        above_threshold: Share of samples above `threshold`. Of the samples' own p85 that share is
            15 % by definition; the 85th percentile of another, quiet measurement tells something.
        threshold: See above.
        hill: Hill's estimate of the tail index α, P(X > x) ~ x^(−α): the smaller the heavier;
            below 2 the variance is infinite. `None` with fewer than 10 samples in the tail.
        hill_error: Its asymptotic standard error, α / √k.
        hill_samples: k, the number of largest samples that it comes from.
    """

    count: int
    mean: float
    median: float
    p85: float
    p99: float
    maximum: float
    mean_median_gap: float
    p99_over_p50: float
    above_twice_median: float
    above_threshold: float
    threshold: float
    hill: float | None
    hill_error: float | None
    hill_samples: int

    def to_dict(self) -> dict[str, Any]:
        """All of it by name."""
        return asdict(self)


def as_samples(values: ArrayLike, least: int = 2) -> NDArray[np.float64]:
    """Samples as a flat array of finite numbers.

    Raises:
        SampleError: If there are fewer than `least`, or one is not finite.
    """
    samples = np.asarray(values, dtype=np.float64).ravel()
    if samples.size < least:
        raise SampleError(f"found {samples.size} samples; allowed: at least {least}")
    if not np.isfinite(samples).all():
        at = int(np.flatnonzero(~np.isfinite(samples))[0])
        raise SampleError(f"sample {at} is {samples[at]}; allowed: finite numbers")
    return samples


def measure_tail(values: ArrayLike, threshold: float | None = None) -> Tail:
    """Measures of the right tail of samples.

    Args:
        values: Times of any unit. Shape: samples, at least 2.
        threshold: What counts as slow; the samples' own 85th percentile if `None`.

    Raises:
        SampleError: If there are too few samples or one is not finite.
    """
    samples = as_samples(values)
    median, p85, p99 = (float(q) for q in np.quantile(samples, [0.5, 0.85, 0.99]))
    mean = float(samples.mean())
    limit = p85 if threshold is None else threshold
    index, error, used = hill(samples)
    return Tail(
        count=samples.size,
        mean=mean,
        median=median,
        p85=p85,
        p99=p99,
        maximum=float(samples.max()),
        mean_median_gap=(mean - median) / median if median else float("nan"),
        p99_over_p50=p99 / median if median else float("nan"),
        above_twice_median=float((samples > 2 * median).mean()),
        above_threshold=float((samples > limit).mean()),
        threshold=limit,
        hill=index,
        hill_error=error,
        hill_samples=used,
    )


def hill(values: ArrayLike, share: float = HILL_SHARE) -> tuple[float | None, float | None, int]:
    """Hill's estimate of the tail index, its standard error, and the samples that it comes from.

    Args:
        values: Samples.
        share: Of the largest samples to take.
    """
    samples = np.sort(as_samples(values))[::-1]
    k = int(samples.size * share)
    if k < 10 or samples[k] <= 0 or samples[0] == samples[k]:
        return None, None, k
    index = float(1.0 / np.mean(np.log(samples[:k] / samples[k])))
    return index, float(index / np.sqrt(k)), k


def hill_plot(values: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Hill's estimate for every number k of largest samples, where it shows whether it is stable.

    Returns:
        k from 10 to half of the positive samples, and the estimates.
    """
    samples = np.sort(as_samples(values))[::-1]
    logs = np.log(samples[samples > 0])
    k = np.arange(10, max(10, logs.size // 2))
    sums = np.cumsum(logs)
    excess = sums[k - 1] / k - logs[k]
    with np.errstate(divide="ignore"):
        return k, 1.0 / excess
