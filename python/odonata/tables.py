"""The tables of a result, and how they become Arrow tables.

Those that the engine fills are declared where it fills them and listed in
:mod:`odonata.result_tables`; ``docs/results.md`` is generated from them, and they travel in the
Parquet files' metadata.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from odonata.result_tables import ENGINE
from odonata.table_schema import SCHEMA_VERSION, Column, TableSchema, unit_of, with_units

__all__ = [
    "COLLECTIVES",
    "ENGINE_TABLES",
    "RANK_ACTIVITIES",
    "SCHEMA_VERSION",
    "SUMMARY",
    "TABLES",
    "Column",
    "TableSchema",
    "build_tables",
    "to_markdown",
    "unit_of",
    "with_units",
]

SUMMARY = TableSchema(
    "summary",
    "The figures of the run, one per row, for comparing many runs: the same figures as in "
    "`summary.json`.",
    (
        Column("scope", pa.string(), "`run`, `job` or `link_class`"),
        Column("name", pa.string(), "name of the job or link class; empty for the run"),
        Column(
            "quantity", pa.string(), "name of the figure, with its unit, as in the other tables"
        ),
        Column("value", pa.float64(), "value of the figure", nullable=True),
    ),
)

#: What the engine fills, by name.
ENGINE_TABLES: Mapping[str, TableSchema] = {schema.name: schema for schema in ENGINE}


def _labels(table: str, column: str) -> tuple[str, ...]:
    """The texts of a column by the engine's codes."""
    found = next(one for one in ENGINE_TABLES[table].columns if one.name == column).labels
    assert isinstance(found, tuple)
    return found


#: What a rank may do; index: the engine's code.
RANK_ACTIVITIES = _labels("rank_activity", "activity")

#: Collective operations; index: the engine's code.
COLLECTIVES = _labels("rank_activity", "collective")

#: All tables of a result, by name, in the order of the documentation.
TABLES: Mapping[str, TableSchema] = {**ENGINE_TABLES, SUMMARY.name: SUMMARY}


def build_tables(
    arrays: Mapping[str, Mapping[str, Any]], meta: Mapping[str, Any]
) -> dict[str, pa.Table]:
    """The Arrow tables of what the engine returned.

    Args:
        arrays: Columns by table and name.
        meta: The run's scalars.
    """
    return {name: schema.build(arrays[name], meta) for name, schema in ENGINE_TABLES.items()}


def to_markdown(schemas: Sequence[TableSchema] = tuple(TABLES.values())) -> str:
    """The tables as a Markdown reference."""
    parts = []
    for schema in schemas:
        parts.append(f"## {schema.name}\n\n{schema.doc}\n")
        parts.append("| column | type | meaning |\n|---|---|---|")
        for column in schema.columns:
            kind = "text" if _is_text(column.type) else str(column.type)
            optional = ", may be empty" if column.nullable else ""
            parts.append(f"| `{column.name}` | {kind}{optional} | {column.doc} |")
        parts.append("")
    return "\n".join(parts)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_dictionary(kind))
