"""Schemas of the result tables: names, types, units and meaning of every column.

This is the one place where they are defined: the engine's arrays are turned into Arrow
tables by it, ``docs/results.md`` is generated from it, and it travels in the Parquet files'
metadata.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from odonata import names

#: Raised when a column changes its name, type or meaning.
SCHEMA_VERSION = 1

_LABEL = pa.dictionary(pa.int8(), pa.string())

#: What a row of ``histograms`` counts; index: the engine's code.
HISTOGRAM_QUANTITIES = ("message_latency", "packet_latency")

#: What a rank may do; index: the engine's code.
RANK_ACTIVITIES = ("compute", "send", "receive", "wait-to-send", "wait-to-receive")

#: Collective operations; index: the engine's code.
COLLECTIVES: tuple[str, ...] = tuple(names.OPERATION)

#: What a row of ``statistics`` is about; index: the engine's code.
STATISTICS_QUANTITIES = ("message_latency", "accepted")


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
        codes = np.asarray(values, dtype=np.int8)
        indices = pa.array(codes, mask=codes < 0 if column.nullable else None)
        return pa.DictionaryArray.from_arrays(indices, pa.array(list(labels), pa.string()))
    if pa.types.is_string(column.type):
        return pa.array(list(values), pa.string())
    data = np.ascontiguousarray(values, dtype=column.type.to_pandas_dtype())
    mask = None
    if column.nullable:
        mask = np.isnan(data) if pa.types.is_floating(column.type) else data < 0
    return pa.array(data, type=column.type, mask=mask)


def _latency_columns(quantity: str, text: str) -> tuple[Column, ...]:
    figures = {
        "min": "smallest",
        "p25": "lower quartile of the",
        "median": "median",
        "p75": "upper quartile of the",
        "p99": "99th percentile of the",
        "max": "largest",
    }
    return (
        *(
            Column(f"{quantity}_{key}_ps", pa.int64(), f"{words} {text}", nullable=True)
            for key, words in figures.items()
        ),
        Column(f"{quantity}_mean_ps", pa.float64(), f"mean {text}", nullable=True),
    )


_JOB = Column("job", pa.int32(), "job, as its row in `jobs`")

JOBS = TableSchema(
    "jobs",
    "One row per job, in the order of the scenario. Latencies and bandwidths count what was "
    "created after warm-up; quantiles are exact to 0.4 %, minimum, maximum and mean are exact.",
    (
        Column("job", pa.int32(), "row number, from 0"),
        Column("name", pa.string(), "name in the scenario"),
        Column("nodes", pa.int32(), "nodes that it occupies"),
        Column("ranks", pa.int32(), "ranks"),
        Column("start_ps", pa.int64(), "simulated time at which it starts"),
        Column(
            "end_ps",
            pa.int64(),
            "simulated time at which its last rank finished, or the last byte of traffic with a "
            "number of messages arrived; none for traffic without end and for jobs that the end of "
            "the run cut off",
            nullable=True,
        ),
        Column("messages_created", pa.int64(), "messages handed to a network interface"),
        Column("messages_delivered", pa.int64(), "messages that arrived whole"),
        Column("bytes_created", pa.int64(), "bytes of the created messages"),
        Column("bytes_delivered", pa.int64(), "bytes that arrived"),
        Column(
            "offered_bytes_per_s",
            pa.float64(),
            "bytes created after warm-up per second of measured time, over all its nodes",
        ),
        Column(
            "accepted_bytes_per_s",
            pa.float64(),
            "bytes delivered after warm-up per second of measured time, over all its nodes",
        ),
        *_latency_columns(
            "message_latency", "time from a message's creation to the arrival of its last byte"
        ),
        *_latency_columns(
            "packet_latency",
            "time from the creation of a packet's message to the arrival of the packet's tail",
        ),
        Column(
            "mean_routers_visited",
            pa.float64(),
            "routers that a packet passed, source and destination router included; mean",
            nullable=True,
        ),
        Column("compute_ps", pa.float64(), "time that its ranks computed, summed over ranks"),
        Column(
            "wait_ps", pa.float64(), "time that its ranks waited for messages, summed over ranks"
        ),
        Column(
            "unreceived_messages",
            pa.int64(),
            "messages that came, or asked to come, and that no rank received",
        ),
    ),
)

LINKS = TableSchema(
    "links",
    "One row per direction of every link: first what each router port sends, in port order, "
    "then what each node sends into its router. Counted from warm-up on.",
    (
        Column("link", pa.int64(), "row number, from 0"),
        Column(
            "kind",
            _LABEL,
            "`terminal`, `local` or `global`",
            labels=tuple(names.LINK_KIND),
        ),
        Column("class", _LABEL, "link class of the scenario", labels="link_classes"),
        Column("from_router", pa.int32(), "sending router; none if a node sends", nullable=True),
        Column("from_node", pa.int32(), "sending node; none if a router sends", nullable=True),
        Column("to_router", pa.int32(), "receiving router; none if a node receives", nullable=True),
        Column("to_node", pa.int32(), "receiving node; none if a router receives", nullable=True),
        Column("from_group", pa.int32(), "group of the sender"),
        Column("to_group", pa.int32(), "group of the receiver"),
        Column("port", pa.int32(), "port of the sending router; none for a node", nullable=True),
        Column("bandwidth_bytes_per_s", pa.int64(), "bandwidth"),
        Column("latency_ps", pa.int64(), "latency of the wire"),
        Column(
            "bytes",
            pa.int64(),
            "bytes sent in the measured time; of packets that its borders cut, the part within",
        ),
        Column("packets", pa.int64(), "packets begun in the measured time"),
        Column("busy_ps", pa.int64(), "time during which it was sending, of the measured time"),
        Column(
            "stall_ps",
            pa.int64(),
            "time during which it was free and packets waited for it, but the buffer at its other "
            "end had no room for any of them",
        ),
        Column(
            "utilisation",
            pa.float64(),
            "`busy_ps` as a fraction of the measured time; never above 1",
        ),
    ),
)

ROUTERS = TableSchema(
    "routers",
    "One row per router.",
    (
        Column("router", pa.int32(), "row number, from 0"),
        Column("group", pa.int32(), "group that it belongs to"),
        Column("row", pa.int32(), "its row, in two-dimensional groups", nullable=True),
        Column("column", pa.int32(), "its column, in two-dimensional groups", nullable=True),
    ),
)

TIMELINE = TableSchema(
    "timeline",
    "One row per slice of time and job, over the whole run (warm-up included).",
    (
        Column("time_ps", pa.int64(), "start of the slice"),
        _JOB,
        Column("injected_bytes", pa.int64(), "bytes that its nodes sent into the network"),
        Column("delivered_bytes", pa.int64(), "bytes that its nodes received"),
        Column("messages", pa.int64(), "messages that arrived whole"),
        Column(
            "message_latency_sum_ps",
            pa.int64(),
            "sum of these messages' latencies, from creation to the arrival of the last byte",
        ),
    ),
)

STATISTICS = TableSchema(
    "statistics",
    "How sure the means of open-loop traffic are: one row per job with traffic and quantity. A "
    "95 % confidence interval by batch means over what arrived after warm-up (see "
    "[statistics](statistics.md)).",
    (
        _JOB,
        Column(
            "quantity",
            _LABEL,
            "`message_latency` (mean in ps) or `accepted` (bytes delivered per second)",
            labels=STATISTICS_QUANTITIES,
        ),
        Column("mean", pa.float64(), "mean, in the quantity's unit", nullable=True),
        Column(
            "ci95",
            pa.float64(),
            "half the width of the interval; none for the rate of a job that has ended",
            nullable=True,
        ),
        Column("batches", pa.int32(), "batches that it was computed from"),
        Column("batch_ps", pa.int64(), "simulated time of a batch"),
        Column("autocorrelation", pa.float64(), "correlation of successive batches", nullable=True),
        Column(
            "uncorrelated",
            pa.int8(),
            "1 if the batches pass as uncorrelated; 0 if the interval may be too narrow",
        ),
        Column("from_ps", pa.int64(), "simulated time from which messages count"),
        Column(
            "warmup_end_ps",
            pa.int64(),
            "where the job's warm-up ends by MSER-5 over the whole run; none if the run shows no "
            "steady state",
            nullable=True,
        ),
    ),
)

HISTOGRAMS = TableSchema(
    "histograms",
    "Latency distributions: one row per job, quantity and bucket that is not empty. A bucket is "
    "at most 1/128 as wide as its values.",
    (
        _JOB,
        Column(
            "quantity",
            _LABEL,
            "`message_latency` or `packet_latency`, as in `jobs`",
            labels=HISTOGRAM_QUANTITIES,
        ),
        Column("low_ps", pa.int64(), "smallest value of the bucket"),
        Column("high_ps", pa.int64(), "largest value of the bucket"),
        Column("count", pa.int64(), "messages or packets in it"),
    ),
)

ROUTERS_VISITED = TableSchema(
    "routers_visited",
    "How far packets travelled: one row per job and number of routers.",
    (
        _JOB,
        Column("routers", pa.int32(), "routers passed, source and destination router included"),
        Column("packets", pa.int64(), "packets that passed so many"),
    ),
)

ITERATIONS = TableSchema(
    "iterations",
    "Progress of closed-loop jobs: one row per job and iteration.",
    (
        _JOB,
        Column("iteration", pa.int32(), "from 0"),
        Column("end_ps", pa.int64(), "simulated time at which its slowest rank ended it"),
    ),
)

PLACEMENT = TableSchema(
    "placement",
    "Where each rank sat: one row per job and rank.",
    (
        _JOB,
        Column("rank", pa.int32(), "rank within the job"),
        Column("node", pa.int32(), "its node"),
        Column("router", pa.int32(), "the node's router"),
        Column("group", pa.int32(), "the router's group"),
    ),
)

MESSAGES = TableSchema(
    "messages",
    "One row per recorded message (`[record] messages` in the scenario; none by default), in "
    "order of delivery.",
    (
        _JOB,
        Column("source_rank", pa.int32(), "sending rank"),
        Column("destination_rank", pa.int32(), "receiving rank"),
        Column("source_node", pa.int32(), "its node"),
        Column("destination_node", pa.int32(), "its node"),
        Column("bytes", pa.int64(), "size"),
        Column("created_ps", pa.int64(), "simulated time at which the sender handed it over"),
        Column("delivered_ps", pa.int64(), "simulated time at which its last byte arrived"),
    ),
)

RANKS = TableSchema(
    "ranks",
    "How the ranks of closed-loop jobs spent their time, from the job's start until the rank "
    "finished: one row per job and rank. The columns up to `collective_ps` add up to `total_ps`.",
    (
        _JOB,
        Column("rank", pa.int32(), "rank within the job"),
        Column("compute_ps", pa.int64(), "time computing, outside of collectives"),
        Column("send_overhead_ps", pa.int64(), "time busy with handing over messages"),
        Column("receive_overhead_ps", pa.int64(), "time busy with taking in messages"),
        Column(
            "send_wait_ps",
            pa.int64(),
            "time with nothing to do until its own messages had been sent",
        ),
        Column(
            "receive_wait_ps", pa.int64(), "time with nothing to do until others' messages came"
        ),
        Column("collective_ps", pa.int64(), "time in blocking collectives, whatever it did there"),
        Column("collective_compute_ps", pa.int64(), "part of it: time combining data"),
        Column("total_ps", pa.int64(), "all of it"),
    ),
)

RANK_ACTIVITY = TableSchema(
    "rank_activity",
    "What every rank did when: one row per job, rank and interval, in this order "
    "(`[record] rank_activity = true` in the scenario; none by default).",
    (
        _JOB,
        Column("rank", pa.int32(), "rank within the job"),
        Column("begin_ps", pa.int64(), "simulated time at which it began"),
        Column("end_ps", pa.int64(), "and ended"),
        Column(
            "activity",
            _LABEL,
            "`compute`; `send`, `receive`: busy with handing over or taking in messages; "
            "`wait-to-send`, `wait-to-receive`: nothing to do until messages have been sent or "
            "have come",
            labels=RANK_ACTIVITIES,
        ),
        Column(
            "collective",
            _LABEL,
            "the blocking collective that it was in",
            nullable=True,
            labels=COLLECTIVES,
        ),
        Column(
            "cause_rank",
            pa.int32(),
            "of a wait: the sender of the message that ended it",
            nullable=True,
        ),
        Column(
            "cause_ps",
            pa.int64(),
            "simulated time at which that rank wanted to send it",
            nullable=True,
        ),
    ),
)

MESSAGE_SIZES = TableSchema(
    "message_sizes",
    "Sizes of the messages of closed-loop jobs: one row per job and bucket that is not empty. A "
    "bucket is at most 1/128 as wide as its values.",
    (
        _JOB,
        Column("low_bytes", pa.int64(), "smallest size in the bucket"),
        Column("high_bytes", pa.int64(), "largest size in the bucket"),
        Column("count", pa.int64(), "messages"),
    ),
)

COMMUNICATION = TableSchema(
    "communication",
    "Who sent how much to whom: one row per job and two ranks of which one sent to the other, "
    "in the order of sender and receiver (`[record] communication = true` in the scenario; "
    "none by default).",
    (
        _JOB,
        Column("source_rank", pa.int32(), "sending rank"),
        Column("destination_rank", pa.int32(), "receiving rank"),
        Column("messages", pa.int64(), "messages"),
        Column("bytes", pa.int64(), "their bytes"),
    ),
)

LINK_JOBS = TableSchema(
    "link_jobs",
    "What each job did at each link: one row per link and job that sent or waited there, in this "
    "order (`[record] attribution = true` in the scenario; none by default). The bytes and packets "
    "of all jobs at a link sum to those of its row in `links`. See "
    "[interference](interference.md).",
    (
        Column("link", pa.int64(), "link, as in `links`"),
        _JOB,
        Column("bytes", pa.int64(), "bytes that it sent in the measured time"),
        Column("packets", pa.int64(), "packets that it began to send in the measured time"),
        Column(
            "stall_ps",
            pa.int64(),
            "time during which the link was free and packets of this job waited, but no packet "
            "that waited had room at the other end; parts of the link's `stall_ps` that may "
            "overlap",
        ),
        Column(
            "router_ps",
            pa.int64(),
            "time that its packets waited, summed over packets, while the link neither sent nor "
            "lacked room at the other end: for a bounded crossbar of their own router",
        ),
    ),
)

LINK_WAITS = TableSchema(
    "link_waits",
    "Who waited for whom: one row per link, job that waited and job that it waited for (perhaps "
    "itself), in this order (`[record] attribution = true` in the scenario; none by default). "
    "Times are summed over the packets that waited, after warm-up. See "
    "[interference](interference.md).",
    (
        Column("link", pa.int64(), "link, as in `links`"),
        _JOB,
        Column("by_job", pa.int32(), "job that it waited for, as its row in `jobs`"),
        Column("sending_ps", pa.int64(), "while packets of `by_job` were being sent"),
        Column(
            "blocking_ps",
            pa.int64(),
            "while the link was free and packets of `by_job` held the buffer at the other end, on "
            "the virtual channel that the waiting packet needed; in proportion to the bytes held",
        ),
    ),
)

ARRIVALS = TableSchema(
    "arrivals",
    "What arrived at routers over time: one row per interval, router, link class and job of which "
    "packets came, in this order, warm-up included (`[record] arrivals` in the scenario; none by "
    "default).",
    (
        Column("begin_ps", pa.int64(), "begin of the interval"),
        Column("end_ps", pa.int64(), "end of the interval, or of the run"),
        Column("router", pa.int32(), "router"),
        Column("group", pa.int32(), "its group"),
        Column("kind", _LABEL, "kind of the link", labels=tuple(names.LINK_KIND)),
        Column("class", _LABEL, "class of the link", labels="link_classes"),
        _JOB,
        Column("bytes", pa.int64(), "bytes of packets whose tail arrived"),
        Column("packets", pa.int64(), "those packets"),
    ),
)

SUMMARY = TableSchema(
    "summary",
    "The run in figures, one row each, for comparing many runs: the same figures as in "
    "`summary.json`.",
    (
        Column("scope", pa.string(), "`run`, `job` or `link_class`"),
        Column("name", pa.string(), "of the job or link class; empty for the run"),
        Column("quantity", pa.string(), "figure, with its unit as in the other tables"),
        Column("value", pa.float64(), "its value", nullable=True),
    ),
)

#: What the engine fills, by name.
ENGINE_TABLES: Mapping[str, TableSchema] = {
    schema.name: schema
    for schema in (
        JOBS,
        LINKS,
        ROUTERS,
        TIMELINE,
        STATISTICS,
        HISTOGRAMS,
        ROUTERS_VISITED,
        ITERATIONS,
        PLACEMENT,
        MESSAGES,
        RANKS,
        RANK_ACTIVITY,
        MESSAGE_SIZES,
        COMMUNICATION,
        LINK_JOBS,
        LINK_WAITS,
        ARRIVALS,
    )
}

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
