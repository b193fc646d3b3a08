"""Intervals of predictions: the scatter of calls, and how far earlier predictions were off."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from odonata.machines.hostmodel import by_size

#: Groups of sizes for which errors are told apart, at most, and measurements of each, at least.
GROUPS, FEWEST = 4, 10

#: Size of a vector in bytes, 10th and 90th percentile of a ratio.
Percentiles = tuple[int, float, float]


def errors_of(ratios: Iterable[tuple[int, float]]) -> tuple[Percentiles, ...]:
    """Percentiles of measured over predicted medians, by size.

    Sizes are cut into at most :data:`GROUPS` groups of about as many ratios each, :data:`FEWEST` or
    more. The percentiles of n ratios are those of place p (n + 1): one more of the same kind is
    between them with eight chances of ten (Vovk, Gammerman, Shafer: Algorithmic Learning in a
    Random World, 2005, chapter 2), where those of place 1 + p (n - 1) are too narrow.

    Args:
        ratios: Size of the vector in bytes, measured over predicted median.

    Returns:
        The median size of each group with its percentiles; nothing of fewer than
        :data:`FEWEST` ratios.
    """
    rows = sorted(ratios)
    sizes = np.array([size for size, _ in rows])
    groups = min(len(rows) // FEWEST, GROUPS)
    cuts = [len(rows) * group // max(groups, 1) for group in range(1, groups)]
    # Equal sizes belong together.
    starts = sorted({int(np.searchsorted(sizes, sizes[cut])) for cut in cuts} - {0})
    found = []
    for group in np.split(np.arange(len(rows)), starts) if groups else []:
        low, high = np.quantile([rows[row][1] for row in group], (0.1, 0.9), method="weibull")
        found.append((int(np.median(sizes[group])), float(low), float(high)))
    return tuple(found)


def at_size(size: int, points: Sequence[Percentiles]) -> tuple[float, float]:
    """Percentiles at a size in bytes, between points linear in its logarithm."""
    low = by_size([(at, low) for at, low, _ in points], size)
    return low, by_size([(at, high) for at, _, high in points], size)


def percentiles(
    size: int, spread: tuple[float, float] | None, errors: Sequence[Percentiles]
) -> tuple[float, float] | None:
    """10th and 90th percentile of a call over what is predicted.

    Scatter and errors do not depend on each other, so that in logarithms their squares add up.

    Args:
        size: Of the vector, in bytes.
        spread: 10th and 90th percentile of calls over their median, where they are known.
        errors: Percentiles of measured over predicted medians, by size.

    Returns:
        ``None`` where neither is known.
    """
    if not errors:
        return spread
    off_low, off_high = (math.log(ratio) for ratio in at_size(size, errors))
    low, high = (0.0, 0.0) if spread is None else (math.log(ratio) for ratio in spread)
    middle, half = (off_low + off_high) / 2, (off_high - off_low) / 2
    return math.exp(middle - math.hypot(half, low)), math.exp(middle + math.hypot(half, high))
