"""Columns of Arrow tables as numpy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def numbers(table: pa.Table, column: str) -> npt.NDArray[Any]:
    """A numeric column; where there is no value, −1 in an integer and NaN in a float column."""
    chunk = table[column].combine_chunks()
    if chunk.null_count:
        chunk = chunk.fill_null(float("nan") if pa.types.is_floating(chunk.type) else -1)
    result: npt.NDArray[Any] = chunk.to_numpy()
    return result


def labels(table: pa.Table, column: str) -> list[str]:
    """The texts that a dictionary column can hold, in the order of their codes."""
    texts: list[str] = table[column].combine_chunks().dictionary.to_pylist()
    return texts


def codes(table: pa.Table, column: str) -> npt.NDArray[np.int8]:
    """Which of :func:`labels` each row of a dictionary column holds."""
    result: npt.NDArray[np.int8] = table[column].combine_chunks().indices.to_numpy()
    return result


def rows_labelled(table: pa.Table, column: str, *wanted: str) -> npt.NDArray[np.bool_]:
    """Whether each row of a dictionary column holds one of the wanted texts."""
    known = labels(table, column)
    return np.isin(codes(table, column), [i for i, text in enumerate(known) if text in wanted])
