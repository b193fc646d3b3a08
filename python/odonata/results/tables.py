"""The tables of a result, and how they become Arrow tables.

Those that the engine fills are declared where it fills them and listed in
:mod:`odonata.results.result_tables`; ``docs/results.md`` is generated from them, and they travel in
the Parquet files' metadata.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from odonata.columns import numbers
from odonata.results.result_tables import ENGINE
from odonata.results.stored import check_below, check_texts, read_table, refusal
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
    "read_tables",
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


#: Tables of what is recorded on request, which results of before they existed lack.
_LATER = (
    *("link_jobs", "link_waits", "arrivals", "held_pairs", "traffic_classes", "losses"),
    *("storage", "parallelism"),
)
#: Columns that such results lack, by table.
_LATER_COLUMNS = {"rank_activity": ("parallelism",)}
#: What columns of these names number.
_JOBS, _ROUTERS, _NODES = "jobs", "routers", "nodes"
_GROUPS, _RANKS = "groups", "ranks"
_NUMBERED: Mapping[str, str] = {
    **dict.fromkeys(("job", "by_job"), _JOBS),
    **dict.fromkeys(("router", "from_router", "to_router"), _ROUTERS),
    **dict.fromkeys(("node", "from_node", "to_node", "source_node", "destination_node"), _NODES),
    **dict.fromkeys(("group", "from_group", "to_group"), _GROUPS),
    **dict.fromkeys(("rank", "source_rank", "destination_rank", "cause_rank"), _RANKS),
    "link": "links",
}


def read_tables(directory: Path, meta: Mapping[str, Any]) -> dict[str, pa.Table]:
    """The tables of a result in its directory; that of the summary follows from them.

    Args:
        directory: Which.
        meta: The run's scalars.

    Raises:
        OutputError: If one is missing, cannot be read, or is not as it was written.
    """
    files = {name: directory / f"{name}.parquet" for name in ENGINE_TABLES}
    tables = {}
    for name, schema in ENGINE_TABLES.items():
        if name in _LATER and not files[name].exists():
            tables[name] = schema.arrow_schema().empty_table()
        else:
            later = _LATER_COLUMNS.get(name, ())
            table = read_table(files[name], schema.arrow_schema(), later=later)
            for absent in later:
                if absent not in table.column_names:
                    field = schema.arrow_schema().field(absent)
                    empty = pa.nulls(table.num_rows, field.type)
                    table = table.append_column(field, empty)
            tables[name] = table.select(schema.arrow_schema().names)
    for name, many in (("jobs", "job"), ("links", "link"), ("routers", "router")):
        rows = numbers(tables[name], many)
        if not np.array_equal(rows, np.arange(len(rows))):
            raise refusal(files[name], f'column "{many}" does not number its rows')
    links = tables["links"].num_rows
    counts = {
        _JOBS: tables["jobs"].num_rows,
        "links": links,
        _ROUTERS: tables["routers"].num_rows,
        # Each node has a link.
        _NODES: min(meta["nodes"], links),
        _GROUPS: min(meta["groups"], tables["routers"].num_rows),
    }
    for key in (_ROUTERS, _NODES, _GROUPS):
        if counts[key] != meta[key]:
            raise refusal(directory / "result.json", f'key "{key}" does not fit the tables')
    ranks = numbers(tables["jobs"], "ranks")
    if ranks.sum() != tables["placement"].num_rows:
        raise refusal(files["placement"], "it has not one row for each rank of the jobs")
    for name, schema in ENGINE_TABLES.items():
        for column in schema.columns:
            if column.labels is not None:
                known = column.labels
                texts = meta[known] if isinstance(known, str) else known
                check_texts(files[name], tables[name], column.name, texts)
            elif column.name in _NUMBERED:
                what = _NUMBERED[column.name]
                many = ranks[numbers(tables[name], "job")] if what == _RANKS else counts[what]
                check_below(files[name], tables[name], column.name, many, what)
    return tables


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
