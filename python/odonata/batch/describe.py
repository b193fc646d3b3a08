"""Job logs in figures."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

import numpy as np

from odonata.batch.joblog import STATUSES, JobLog
from odonata.columns import codes, numbers
from odonata.display import NO_VALUE, span


def describe_log(log: JobLog) -> dict[str, Any]:
    """What a log holds: machine, time span, sizes, run times, waits, users, ends."""
    table, meta = log.jobs, log.meta
    submit, run, nodes = (numbers(table, name) for name in ("submit_s", "run_s", "nodes"))
    unit, machine = meta["unit"], meta["machine_nodes"]
    sizes = nodes
    if unit == "processors":
        asked, had = numbers(table, "requested_processors"), numbers(table, "processors")
        each = meta["processors_per_node"] or 1
        sizes = np.where(asked > 0, asked, np.where(had > 0, had, nodes * each))
        machine = meta["machine_processors"] or (machine * each if machine else None)
    span_s = int(submit[-1] - submit[0]) if len(submit) else 0
    start, requested = numbers(table, "start_s"), numbers(table, "requested_s")
    columns = {
        unit: sizes,
        "run time": run,
        "requested": requested[requested >= 0],
        "wait": (start - submit)[start >= 0],
    }
    counts = np.bincount(codes(table, "status"), minlength=9)
    return {
        "report": log.report,
        "jobs": len(log),
        "machine_nodes": meta["machine_nodes"],
        "machine": log.machine,
        "unit": unit,
        "unit_because": meta["unit_because"],
        "span_s": span_s,
        "submitted": _submitted(submit, meta["epoch"], span_s),
        f"{unit[:-1]}_seconds": float((sizes * run.astype(float)).sum()),
        "offered_load": _load(sizes, run, machine, span_s),
        "figures": {name: figures_of(values) for name, values in columns.items() if len(values)},
        "users": int(table["user"].combine_chunks().dictionary.__len__()),
        "statuses": {
            name: int(count)
            for name, count in zip(STATUSES, counts, strict=False)
            if count and name != "unknown"
        },
        "header": meta["header"],
    }


def figures_of(values: Any) -> dict[str, float]:
    """Mean, median, 90th percentile and maximum."""
    return {
        "mean": float(values.mean()),
        "median": float(np.median(values)),
        "p90": float(np.quantile(values, 0.9, method="inverted_cdf")),
        "max": float(values.max()),
    }


def _load(sizes: Any, run: Any, machine: int | None, span_s: int) -> str | None:
    if not machine or not span_s:
        return None
    share = float((sizes * run.astype(float)).sum()) / (machine * span_s)
    return f"{share:.1%} of the machine over that time"


#: Seconds since 1970 of the last date that is written as one: that of a wrong log may be later.
_LAST_DATE = int(datetime(9999, 12, 31, tzinfo=timezone.utc).timestamp())


def _submitted(submit: Any, epoch: int | None, span_s: int) -> str:
    if not len(submit):
        return NO_VALUE
    if epoch is None or epoch + int(submit[-1]) > _LAST_DATE:
        return f"over {span(span_s)}"
    ends = (datetime.fromtimestamp(epoch + int(at), timezone.utc) for at in submit[[0, -1]])
    first, last = (end.strftime("%Y-%m-%d %H:%M") for end in ends)
    return f"{first} to {last} UTC, {span(span_s)}"


def moment_text(second: int, epoch: int | None) -> str:
    """A second of a log as people read it: a date, or how long after second 0."""
    if epoch is None or epoch + second > _LAST_DATE:
        return f"{span(second)} after the log's second 0"
    return datetime.fromtimestamp(epoch + second, timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
