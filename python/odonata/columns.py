"""Columns of Arrow tables as numpy arrays, and the other way.

What pyarrow itself has for this imports pandas, which takes 0.4 s of processor time; buffers of
arrays do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def column_of(
    values: npt.ArrayLike | Sequence[str | None],
    kind: pa.DataType,
    missing: npt.NDArray[np.bool_] | None = None,
) -> pa.Array:
    """The Arrow array of numbers, truth values or texts.

    Args:
        values: Of one dimension. A text may be None, which is no value. Numbers of the right
            type that lie side by side are not copied.
        kind: Integers, floats, ``pa.bool_()`` or ``pa.string()``.
        missing: Where there is no value; not of texts.

    Raises:
        OverflowError: If a number is none of an integer type.
    """
    if pa.types.is_string(kind):
        texts: list[str | None] = list(values)  # type: ignore[arg-type]
        encoded = [b"" if text is None else text.encode() for text in texts]
        ends = np.cumsum([0, *map(len, encoded)])
        if ends[-1] > np.iinfo(np.int32).max:
            return pa.array(texts, kind)
        absent = np.fromiter((text is None for text in texts), np.bool_, len(texts))
        data = [pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(b"".join(encoded))]
        return pa.Array.from_buffers(kind, len(texts), [_validity(absent), *data])
    if pa.types.is_boolean(kind):
        truths = np.asarray(values, np.bool_)
        bits = pa.py_buffer(np.packbits(truths, bitorder="little"))
        return pa.Array.from_buffers(kind, len(truths), [_validity(missing), bits])
    given = np.asarray(values)
    plain = np.ascontiguousarray(given, dtype=kind.to_pandas_dtype())
    if pa.types.is_integer(kind) and given.dtype != plain.dtype and (given != plain).any():
        raise OverflowError(f"not all numbers of {given.dtype} are of {kind}")
    return pa.Array.from_buffers(kind, len(plain), [_validity(missing), pa.py_buffer(plain)])


def _validity(missing: npt.NDArray[np.bool_] | None) -> pa.Buffer | None:
    if missing is None or not missing.any():
        return None
    return pa.py_buffer(np.packbits(~missing, bitorder="little"))


def labelled(codes: npt.ArrayLike, texts: Iterable[str], kind: pa.DataType) -> pa.DictionaryArray:
    """The Arrow array of codes, each of which stands for one of the texts; no value below 0.

    Args:
        codes: Integers.
        texts: By code.
        kind: The integer type of the codes in the array.
    """
    given = np.asarray(codes)
    indices = column_of(given, kind, given < 0)
    return pa.DictionaryArray.from_arrays(indices, column_of(list(texts), pa.string()))


def table_of(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """A table of rows; ``None``, or a key that a row lacks, is no value.

    Args:
        rows: Each with the columns that have a value.
        schema: Numbers, truth values, texts, or lists of texts.
    """
    columns = []
    for field in schema:
        values = [row.get(field.name) for row in rows]
        missing = np.fromiter((one is None for one in values), np.bool_, len(values))
        if pa.types.is_list(field.type):
            ends = np.cumsum([0, *(len(one or ()) for one in values)]).astype(np.int32)
            texts = column_of([text for one in values for text in one or ()], pa.string())
            buffers = [_validity(missing), pa.py_buffer(ends)]
            columns.append(pa.Array.from_buffers(field.type, len(rows), buffers, children=[texts]))
        elif pa.types.is_string(field.type):
            columns.append(column_of(values, field.type))
        else:
            known = [0 if one is None else one for one in values]
            columns.append(column_of(known, field.type, missing))
    return pa.Table.from_arrays(columns, schema=schema)


def in_one(column: pa.ChunkedArray) -> pa.Array:
    """A column as one array; one of a file's that is empty has no chunk at all."""
    return column.combine_chunks() if column.num_chunks else pa.nulls(0, column.type)


def numbers(table: pa.Table, column: str) -> npt.NDArray[Any]:
    """A numeric column; where there is no value, −1 in an integer and NaN in a float column."""
    return numbers_of(in_one(table[column]))


def numbers_of(array: pa.Array) -> npt.NDArray[Any]:
    """An array of numbers, as :func:`numbers`; not copied if none is missing."""
    kind = np.dtype(array.type.to_pandas_dtype())
    if not len(array):
        return np.empty(0, kind)
    begin, end = array.offset, array.offset + len(array)
    values = np.frombuffer(array.buffers()[1], kind, end)[begin:]
    if not array.null_count:
        return values
    return np.where(absent(array), kind.type(np.nan if kind.kind == "f" else -1), values)


def absent(array: pa.Array) -> npt.NDArray[np.bool_]:
    """Where an array has no value."""
    if not array.null_count:
        return np.zeros(len(array), np.bool_)
    begin, end = array.offset, array.offset + len(array)
    bits = np.frombuffer(array.buffers()[0], np.uint8)
    return ~np.unpackbits(bits, count=end, bitorder="little")[begin:].astype(np.bool_)


def labels(table: pa.Table, column: str) -> list[str]:
    """The texts that a dictionary column can hold, in the order of their codes."""
    texts: list[str] = in_one(table[column]).dictionary.to_pylist()
    return texts


def codes(table: pa.Table, column: str) -> npt.NDArray[np.int8]:
    """Which of :func:`labels` each row of a dictionary column holds; −1 where there is no value."""
    return numbers_of(in_one(table[column]).indices)


def rows_labelled(table: pa.Table, column: str, *wanted: str) -> npt.NDArray[np.bool_]:
    """Whether each row of a dictionary column holds one of the wanted texts."""
    known = labels(table, column)
    return np.isin(codes(table, column), [i for i, text in enumerate(known) if text in wanted])
