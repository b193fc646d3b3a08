"""How two series go together, such as network utilisation and time."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from odonata.errors import SampleError
from odonata.tails.measures import as_samples


@dataclass(frozen=True)
class Correlation:
    """Correlation of two series.

    Attributes:
        count: Pairs.
        pearson: Pearson's r.
        pearson_p: Two-sided p-value of r = 0.
        pearson_low: Lower end of the 95 % interval of r (Fisher's z).
        pearson_high: Its upper end.
        spearman: Spearman's ρ.
        spearman_p: Two-sided p-value of ρ = 0.
        spearman_low: Lower end of the 95 % interval of ρ (Fisher's z with the variance
            1.06 / (n − 3) of Fieller, Hartley and Pearson 1957).
        spearman_high: Its upper end.
    """

    count: int
    pearson: float
    pearson_p: float
    pearson_low: float
    pearson_high: float
    spearman: float
    spearman_p: float
    spearman_low: float
    spearman_high: float

    def to_dict(self) -> dict[str, Any]:
        """All of it by name."""
        return asdict(self)


def correlate(x: ArrayLike, y: ArrayLike) -> Correlation:
    """Correlation of two series.

    Args:
        x: One of them. Shape: pairs, at least 4.
        y: The other, as long.

    Raises:
        SampleError: If they differ in length, are too short, not finite, or one is constant.
    """
    from scipy import stats

    one, other = as_samples(x, least=4), as_samples(y, least=4)
    if one.size != other.size:
        raise SampleError(f"found series of {one.size} and {other.size}; allowed: of equal length")
    for name, series in (("first", one), ("second", other)):
        if np.ptp(series) == 0:
            raise SampleError(f"the {name} series is constant, {series[0]:g}: nothing to correlate")
    pearson, spearman = stats.pearsonr(one, other), stats.spearmanr(one, other)
    interval = pearson.confidence_interval(0.95)
    rho = float(spearman.statistic)
    half = 1.959964 * np.sqrt(1.06 / (one.size - 3))
    # The interval of a perfect order is that order.
    z = np.arctanh(rho) if abs(rho) < 1 else np.copysign(np.inf, rho)
    return Correlation(
        count=one.size,
        pearson=float(pearson.statistic),
        pearson_p=float(pearson.pvalue),
        pearson_low=float(interval.low),
        pearson_high=float(interval.high),
        spearman=rho,
        spearman_p=float(spearman.pvalue),
        spearman_low=float(np.tanh(z - half)),
        spearman_high=float(np.tanh(z + half)),
    )
