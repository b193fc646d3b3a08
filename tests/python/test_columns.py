"""Columns of Arrow tables as numpy arrays, and the other way."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odonata.columns import codes, column_of, in_one, labelled, labels, numbers, table_of

KINDS = (pa.int8(), pa.int32(), pa.int64(), pa.uint64(), pa.float64())


@given(st.sampled_from(KINDS), st.lists(st.none() | st.integers(0, 100), max_size=20))
def test_numbers_are_those_of_arrow(kind: pa.DataType, values: list[int | None]) -> None:
    missing = np.array([value is None for value in values], dtype=np.bool_)
    column = column_of([value or 0 for value in values], kind, missing)
    column.validate(full=True)
    assert column.equals(pa.array(values, kind))
    # A part begins in the middle of a byte of the bits that say what is missing.
    table = pa.table({"a": column}).slice(min(3, len(values)))
    if kind != pa.uint64():
        expected = table["a"].combine_chunks().fill_null(np.nan if kind == pa.float64() else -1)
        np.testing.assert_array_equal(numbers(table, "a"), expected.to_numpy())


@given(st.lists(st.none() | st.text(), max_size=20))
def test_texts_are_those_of_arrow(values: list[str | None]) -> None:
    column = column_of(values, pa.string())
    column.validate(full=True)
    assert column.to_pylist() == values


@given(st.lists(st.booleans(), max_size=20))
def test_truths_are_those_of_arrow(values: list[bool]) -> None:
    assert column_of(values, pa.bool_()).equals(pa.array(values, pa.bool_()))


@given(st.lists(st.integers(-1, 2), max_size=20))
def test_labels_stand_for_codes(values: list[int]) -> None:
    table = pa.table({"kind": labelled(values, ("a", "b", "c"), pa.int8())})
    assert labels(table, "kind") == ["a", "b", "c"]
    assert codes(table, "kind").tolist() == values
    assert table["kind"].to_pylist() == [None if code < 0 else "abc"[code] for code in values]


ROW = st.fixed_dictionaries(
    {},
    optional={
        "number": st.none() | st.integers(0, 100),
        "share": st.none() | st.floats(allow_nan=False) | st.integers(0, 9),
        "right": st.none() | st.booleans(),
        "name": st.none() | st.text(),
        "names": st.none() | st.lists(st.text(), max_size=3),
    },
)


@given(st.lists(ROW, max_size=20))
def test_rows_make_the_table_that_arrow_makes(rows: list[dict[str, object]]) -> None:
    texts = pa.list_(pa.field("element", pa.string()))
    schema = pa.schema(
        {"number": pa.int32(), "share": pa.float64(), "right": pa.bool_(), "name": pa.string()}
    ).append(pa.field("names", texts))
    table = table_of(rows, schema)
    table.validate(full=True)
    assert table.equals(pa.Table.from_pylist(rows, schema=schema))


@pytest.mark.parametrize("kind", [pa.int64(), pa.bool_(), pa.dictionary(pa.int8(), pa.string())])
def test_a_column_without_chunks_is_empty(kind: pa.DataType) -> None:
    assert in_one(pa.chunked_array([], kind)).to_pylist() == []


@pytest.mark.parametrize("number", [128, -129, 0.5])
def test_no_number_is_cut(number: float) -> None:
    with pytest.raises(OverflowError, match="are of int8"):
        column_of([number], pa.int8())
