"""Repetitions put together: the values of a measure at every combination of the axes."""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from odonata.study.expression import Condition
from odonata.study.intervals import interval

#: Resamples of a bootstrap.
_RESAMPLES = 2000

_STATISTICS: Mapping[str, Callable[[Iterable[float]], float]] = {
    "mean": statistics.fmean,
    "median": statistics.median,
    "minimum": min,
    "maximum": max,
}


@dataclass(frozen=True)
class Estimated:
    """A figure with its 95 % interval.

    Attributes:
        value: The figure.
        low: Lower end of the interval; NaN where one repetition tells none.
        high: Upper end.
    """

    value: float
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True)
class Cell:
    """The repetitions at one combination of the axes.

    Attributes:
        axes: The combination.
        values: Measured values by seed; none if nothing could be measured at this point.
        saturated: Jobs whose traffic piled up in one of them.
    """

    axes: Mapping[str, Any]
    values: Mapping[int, float]
    saturated: frozenset[str] = frozenset()

    def figure(self, statistic: str) -> float:
        """A statistic of the repetitions."""
        return float(_STATISTICS[statistic](self.values.values()))

    def estimate(self, statistic: str) -> Estimated:
        """A statistic of the repetitions.

        The interval of a mean is Student's, that of the others a bootstrap.
        """
        values = list(self.values.values())
        if statistic == "mean":
            found = interval(values)
            return Estimated(
                found.mean, found.mean - found.half_width, found.mean + found.half_width
            )
        return _bootstrap([values], lambda samples: _STATISTICS[statistic](samples[0]))

    def difference(self, other: Cell, statistic: str) -> Estimated:
        """Difference to another cell, as a share of the other's figure.

        Runs with the same seed are pairs: they share their random placements and mappings. The
        interval of means is Student's over the pairs' ratios, that of the others a bootstrap of
        pairs. Without pairs there is none.
        """
        one, two = self.figure(statistic), other.figure(statistic)
        ratio = one / two - 1 if two else math.nan
        seeds = [seed for seed in self.values if seed in other.values]
        pairs = [[cell.values[seed] for seed in seeds] for cell in (self, other)]
        if len(seeds) < 2 or not all(pairs[1]):
            return Estimated(ratio)
        if statistic == "mean":
            width = interval([a / b for a, b in zip(*pairs, strict=True)]).half_width
            return Estimated(ratio, ratio - width, ratio + width)
        choose = _STATISTICS[statistic]
        spread = _bootstrap(pairs, lambda samples: choose(samples[0]) / choose(samples[1]) - 1)
        return Estimated(ratio, spread.low, spread.high)

    def pairs(self, other: Cell) -> int:
        """Repetitions with the same seed here and there."""
        return len(self.values.keys() & other.values.keys())

    def relative_range(self) -> Estimated:
        """Largest less smallest repetition, in per cent of their median.

        The range of a sample has no interval of its own, and a bootstrap's is too small, as no
        resample reaches further than the sample. So the interval is that in which the range of as
        many new repetitions would lie, if they are normal: what another experiment of this size,
        such as a published one, can find where it measures the same.
        """
        values = list(self.values.values())
        median = statistics.median(values)
        value = 100 * (max(values) - min(values)) / median
        deviation = 100 * statistics.stdev(values) / median
        low, high = _range_over_deviation(len(values))
        return Estimated(value, low * deviation, high * deviation)


@functools.cache
def _range_over_deviation(count: int) -> tuple[float, float]:
    """Between which multiples of one normal sample's deviation another's range lies, in 95 %.

    Args:
        count: Of values in either sample.
    """
    # A fixed seed: equal data have equal intervals.
    draw = np.random.default_rng(0)
    one, two = draw.standard_normal((2, 40 * _RESAMPLES, count))
    low, high = np.quantile(np.ptp(one, axis=1) / np.std(two, axis=1, ddof=1), (0.025, 0.975))
    return float(low), float(high)


def _bootstrap(
    values: Sequence[Sequence[float]], figure: Callable[[Sequence[Sequence[float]]], float]
) -> Estimated:
    """A figure of samples with its percentile interval; resamples all of them alike.

    Args:
        values: Samples. Shape: samples × repetitions.
        figure: Function of as many samples.
    """
    data = np.asarray(values)
    count = data.shape[1]
    value = float(figure([list(sample) for sample in data]))
    if count < 2:
        return Estimated(value)
    # A fixed seed: equal data have equal intervals.
    chosen = np.random.default_rng(0).integers(0, count, size=(_RESAMPLES, count))
    found = [figure([sample[picks].tolist() for sample in data]) for picks in chosen]
    low, high = np.quantile(found, (0.025, 0.975))
    return Estimated(value, float(low), float(high))


def cells(
    table: pa.Table, axes: Sequence[str], measure: str, only: Condition | None = None
) -> list[Cell]:
    """As :func:`all_cells`, without those that have no value."""
    return [cell for cell in all_cells(table, axes, measure, only) if cell.values]


def all_cells(
    table: pa.Table, axes: Sequence[str], measure: str, only: Condition | None = None
) -> list[Cell]:
    """The cells of a dataset in the order of the study.

    Args:
        table: The dataset.
        axes: Names of all axes.
        measure: Column.
        only: Condition on axes and seed.
    """
    # Datasets of before it was kept have no column of it.
    known = [name for name in ("saturated",) if name in table.column_names]
    columns = dict.fromkeys([*axes, "seed", measure, *known])
    found: dict[tuple[Any, ...], dict[int, float]] = {}
    saturated: dict[tuple[Any, ...], set[str]] = {}
    for row in table.select(list(columns)).to_pylist():
        if only is not None and not only.holds(row):
            continue
        key = tuple(row[axis] for axis in axes)
        values = found.setdefault(key, {})
        saturated.setdefault(key, set()).update(row.get("saturated") or ())
        if row[measure] is not None and not math.isnan(row[measure]):
            values[row["seed"]] = row[measure]
    return [
        Cell(dict(zip(axes, key, strict=True)), values, frozenset(saturated[key]))
        for key, values in found.items()
    ]


def grouped(
    found: Iterable[Cell], axes: Sequence[str], apart: Iterable[str]
) -> dict[tuple[Any, ...], list[Cell]]:
    """Cells that agree in all axes but some.

    Args:
        found: The cells.
        axes: Names of all axes.
        apart: Axes in which cells of a group may differ.
    """
    apart = set(apart)
    fixed = [axis for axis in axes if axis not in apart]
    groups: dict[tuple[Any, ...], list[Cell]] = {}
    for cell in found:
        groups.setdefault(tuple(cell.axes[axis] for axis in fixed), []).append(cell)
    return groups


def value_text(value: object) -> str:
    """A value of an axis, for people."""
    if value is None:
        return "–"
    return f"{value:g}" if isinstance(value, float) else str(value)
