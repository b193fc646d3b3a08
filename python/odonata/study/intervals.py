"""Means of independent runs with their confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from odonata._engine import student_t95


@dataclass(frozen=True)
class Mean:
    """A mean with its 95 % confidence interval.

    Attributes:
        mean: Of the values.
        half_width: Half the width of the interval (Student's t); NaN for a single value.
        deviation: Standard deviation of the values; NaN for a single one.
        count: Values.
    """

    mean: float
    half_width: float
    deviation: float
    count: int


def interval(values: Sequence[float]) -> Mean:
    """Mean of independent values, such as of runs with different seeds.

    Raises:
        ValueError: Without values.
    """
    count = len(values)
    if count == 0:
        raise ValueError("no values")
    mean = math.fsum(values) / count
    if count == 1:
        return Mean(mean, math.nan, math.nan, 1)
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
    error = math.sqrt(variance / count)
    return Mean(mean, student_t95(count - 1) * error, math.sqrt(variance), count)
