"""What is said of a table and its columns: names, types, units and meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from odonata.columns import column_of, labelled

#: Raised when a column changes its name, type or meaning.
SCHEMA_VERSION = 1

#: Text that the engine codes as small integers.
LABEL = pa.dictionary(pa.int8(), pa.string())


#: Units by how the names of columns end.
_UNITS = {"_bytes_per_s": "B/s", "_ps": "ps", "_ns": "ns", "_s": "s", "_kb": "kB"}


def unit_of(column: str) -> str:
    """The unit that the name of a column tells; empty if it has none."""
    for ending, unit in _UNITS.items():
        if column.endswith(ending):
            return unit
    return "B" if "bytes" in column.split("_") else ""


def with_units(table: pa.Table, known: Mapping[str, str] | None = None) -> pa.Table:
    """The table with the unit of each column that has one in the field's metadata.

    Args:
        table: Which.
        known: Units of columns whose names do not tell them.
    """
    fields = []
    for one in table.schema:
        unit = (known or {}).get(one.name) or unit_of(one.name)
        fields.append(one.with_metadata({**(one.metadata or {}), b"unit": unit}) if unit else one)
    schema = pa.schema(fields, metadata=table.schema.metadata)
    return pa.Table.from_arrays(table.columns, schema=schema)


@dataclass(frozen=True)
class Column:
    """One column of a result table.

    Attributes:
        name: Ends in the unit where there is one.
        type: Arrow type.
        doc: What it holds.
        nullable: Whether rows without a value exist. The engine marks them with −1
            (integers) or NaN (floating point).
        labels: For text that the engine codes as small integers: the texts by code, or the
            name of the entry of ``meta`` that lists them.
    """

    name: str
    type: pa.DataType
    doc: str
    nullable: bool = False
    labels: tuple[str, ...] | str | None = None

    @property
    def unit(self) -> str:
        """Its unit, by its name; empty if it has none."""
        return unit_of(self.name)

    def field(self) -> pa.Field:
        """The Arrow field, with description and unit in its metadata."""
        metadata = {"description": self.doc} | ({"unit": self.unit} if self.unit else {})
        return pa.field(self.name, self.type, nullable=self.nullable, metadata=metadata)


@dataclass(frozen=True)
class TableSchema:
    """One result table.

    Attributes:
        name: Also the name of its file, without ``.parquet``.
        doc: What one row is, and in which order they come.
        columns: In order.
    """

    name: str
    doc: str
    columns: tuple[Column, ...] = field(repr=False)

    def arrow_schema(self) -> pa.Schema:
        """The Arrow schema; descriptions and units are in the fields' metadata."""
        return pa.schema(
            [column.field() for column in self.columns],
            metadata={"odonata_table": self.name, "odonata_schema": str(SCHEMA_VERSION)},
        )

    def build(self, arrays: Mapping[str, Any], meta: Mapping[str, Any]) -> pa.Table:
        """Makes the Arrow table of the engine's arrays; numeric columns are not copied.

        Args:
            arrays: One array (or list, for text) per column, all of the same length.
            meta: The run's scalars; lists of labels are taken from it.

        Raises:
            ValueError: If a column is missing or unknown, which is a defect of Odonata.
        """
        names = [column.name for column in self.columns]
        if set(names) != set(arrays):
            missing = sorted(set(names) - set(arrays))
            unknown = sorted(set(arrays) - set(names))
            raise ValueError(f"table {self.name}: missing columns {missing}, unknown {unknown}")
        columns = [_arrow_array(column, arrays[column.name], meta) for column in self.columns]
        return pa.Table.from_arrays(columns, schema=self.arrow_schema())


def _arrow_array(column: Column, values: Any, meta: Mapping[str, Any]) -> pa.Array:
    if column.labels is not None:
        labels = meta[column.labels] if isinstance(column.labels, str) else column.labels
        return labelled(values, labels, pa.int8())
    if pa.types.is_string(column.type):
        return column_of(values, column.type)
    data = np.ascontiguousarray(values, dtype=column.type.to_pandas_dtype())
    mask = None
    if column.nullable:
        mask = np.isnan(data) if pa.types.is_floating(column.type) else data < 0
    return column_of(data, column.type, mask)
