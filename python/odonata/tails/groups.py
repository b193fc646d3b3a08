"""A table's rows by what some of its columns say: collective, size, placement, utilisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from odonata.errors import SampleError
from odonata.tails.samples import Table

#: A column of numbers with more values than this is cut into parts.
MOST_VALUES = 12
#: As many, each with as many rows.
PARTS = 3
#: Groups that are looked at, at most.
MOST_GROUPS = 400


@dataclass(frozen=True)
class RowGroup:
    """Rows that are alike in some columns.

    Attributes:
        by: What they have in common, by column.
        rows: Their indices.
    """

    by: dict[str, str]
    rows: NDArray[np.int64]

    @property
    def name(self) -> str:
        """Such as ``bcast, 1024``."""
        return ", ".join(self.by.values())


def divide(table: Table, by: Sequence[str]) -> list[RowGroup]:
    """Groups of rows, in the order in which their first rows stand; by numbers in theirs.

    A column of numbers with more than twelve values is cut at its thirds, such as utilisations
    into low, middling, and high.

    Args:
        table: With the columns.
        by: Their names; all rows are one group if there are none.

    Raises:
        SampleError: If there is no such column, or there are too many groups.
    """
    labels = [_labels(table.words(name)) for name in by]
    if not by:
        count = len(table.words(table.names[0]))
        return [RowGroup({}, np.arange(count, dtype=np.int64))]
    rows: dict[tuple[int, ...], list[int]] = {}
    for row, key in enumerate(zip(*(place for _, place in labels), strict=True)):
        rows.setdefault(key, []).append(row)
    if len(rows) > MOST_GROUPS:
        raise SampleError(
            f"{table.path}: found {len(rows)} groups by {', '.join(by)}; allowed: {MOST_GROUPS}"
        )
    return [
        RowGroup(
            {
                name: labels[at][0][place]
                for at, (name, place) in enumerate(zip(by, key, strict=True))
            },
            np.array(rows[key], dtype=np.int64),
        )
        for key in sorted(rows)
    ]


def _labels(words: list[str]) -> tuple[list[str], list[int]]:
    """Different labels in order, and of each row which it has."""
    different = list(dict.fromkeys(words))
    try:
        numbers = np.array([float(word) for word in words])
    except ValueError:
        return different, [different.index(word) for word in words]
    values = np.unique(numbers)
    if values.size <= MOST_VALUES:
        texts = {float(word): word for word in reversed(words)}
        return [texts[value] for value in values.tolist()], np.searchsorted(
            values, numbers
        ).tolist()
    cuts = np.quantile(numbers, np.arange(1, PARTS) / PARTS)
    place = np.searchsorted(cuts, numbers, side="left")
    kept = np.unique(place)
    ends = [(numbers[place == part].min(), numbers[place == part].max()) for part in kept]
    return [f"{low:.3g} to {high:.3g}" for low, high in ends], np.searchsorted(kept, place).tolist()
