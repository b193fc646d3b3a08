"""Tables of a result that the engine fills, by what it declares of them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from odonata import _engine
from odonata.table_schema import LABEL, Column, TableSchema

#: Arrow's type by the engine's.
_TYPES = {
    "i8": pa.int8(),
    "i32": pa.int32(),
    "i64": pa.int64(),
    "f64": pa.float64(),
    "text": pa.string(),
}


def _column(column: dict[str, Any]) -> Column:
    names, meta = column["names"], column["meta"]
    labels = tuple(names) if names is not None else meta
    kind = _TYPES[column["kind"]] if labels is None else LABEL
    nullable = column["may_be_none"]
    return Column(column["name"], kind, column["text"], nullable=nullable, labels=labels)


#: In the order of the documentation.
ENGINE = tuple(
    TableSchema(table["name"], table["text"], tuple(map(_column, table["columns"])))
    for table in _engine.result_tables()
)
