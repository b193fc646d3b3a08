"""Timelines for trace viewers.

Writes Perfetto's own traces (:mod:`odonata.results.perfetto_protobuf`), which Perfetto
(https://ui.perfetto.dev) opens, or the Trace Event Format ("Trace Event Format", Google,
https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU), which Chrome's
``about:tracing`` opens as well: a process per job, a thread per rank, a slice per interval, an
arrow per recorded message, and the job's throughput as a counter.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from odonata.columns import numbers
from odonata.output import create, new_file
from odonata.results.perfetto_protobuf import packets

if TYPE_CHECKING:
    from odonata.results import Result

#: Rows that are turned into Python objects at a time.
_ROWS_AT_A_TIME = 10_000


def write_trace(result: Result, path: Path) -> int:
    """Writes the timeline of a result; compressed if the name ends in ``.gz``.

    As protocol buffers, Perfetto's own form, if the name ends in ``.pftrace`` or ``.pftrace.gz``:
    several times smaller, with times in nanoseconds, and counters of recorded routers besides.

    The file appears whole or not at all, and is the same for equal results.

    Args:
        result: Of a run that recorded what its ranks did (``[record] rank_activity = true``);
            arrows need ``messages`` as well.
        path: ``NAME.json``, ``NAME.json.gz``, ``NAME.pftrace`` or ``NAME.pftrace.gz``.

    Returns:
        Number of events; of protocol buffers, of packets.

    Raises:
        OutputError: If there is such a file already, or it cannot be written.
    """
    count = 0
    with new_file(path) as partial, create(partial) as raw:
        binary: Any = raw
        if path.suffix == ".gz":
            binary = gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0)
        if path.name.removesuffix(".gz").endswith(".pftrace"):
            for packet in packets(result):
                binary.write(packet)
                count += 1
            if binary is not raw:
                binary.close()
            return count
        with io.TextIOWrapper(binary, encoding="utf-8", newline="\n") as text:
            text.write('{"displayTimeUnit": "ns", "traceEvents": [\n')
            for event in _events(result):
                text.write(",\n" if count else "")
                text.write(json.dumps(event, separators=(",", ":")))
                count += 1
            text.write("\n]}\n")
    return count


def _events(result: Result) -> Iterator[dict[str, Any]]:
    names = result.jobs["name"].to_pylist()
    recorded = set(np.unique(numbers(result.table("rank_activity"), "job")).tolist())
    for job in sorted(recorded):
        yield _metadata("process_name", job, 0, {"name": f"job {names[job]}"})
        yield _metadata("process_sort_index", job, 0, {"sort_index": job})
    yield from _threads(result)
    yield from _slices(result)
    yield from _arrows(result, recorded)
    yield from _counters(result, recorded)


def _metadata(name: str, process: int, thread: int, args: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "M", "name": name, "pid": process, "tid": thread, "args": args}


def _threads(result: Result) -> Iterator[dict[str, Any]]:
    table = result.table("rank_activity")
    pairs = np.unique(np.stack([numbers(table, "job"), numbers(table, "rank")]), axis=1)
    for job, rank in pairs.T.tolist():
        yield _metadata("thread_name", job, rank, {"name": f"rank {rank}"})
        yield _metadata("thread_sort_index", job, rank, {"sort_index": rank})


def _microseconds(ps: int) -> float:
    return ps / 1e6


def _slices(result: Result) -> Iterator[dict[str, Any]]:
    for batch in result.table("rank_activity").to_batches(max_chunksize=_ROWS_AT_A_TIME):
        for row in batch.to_pylist():
            name, args = row["activity"], {}
            if row["collective"] is not None:
                name = f"{row['collective']}: {name}"
            if row["parallelism"] is not None:
                name = f"{row['parallelism']}: {name}"
            if row["cause_rank"] is not None:
                args = {
                    "ended by a message of rank": row["cause_rank"],
                    "sent at (µs)": _microseconds(row["cause_ps"]),
                }
            yield {
                "ph": "X",
                "name": name,
                "cat": row["activity"],
                "pid": row["job"],
                "tid": row["rank"],
                "ts": _microseconds(row["begin_ps"]),
                "dur": _microseconds(row["end_ps"] - row["begin_ps"]),
                "args": args,
            }


def _arrows(result: Result, recorded: set[int]) -> Iterator[dict[str, Any]]:
    number = 0
    for batch in result.messages.to_batches(max_chunksize=_ROWS_AT_A_TIME):
        for row in batch.to_pylist():
            if row["job"] not in recorded:
                continue
            number += 1
            shared = {"name": "message", "cat": "message", "id": number, "pid": row["job"]}
            args = {"bytes": row["bytes"]}
            begin, end = _microseconds(row["created_ps"]), _microseconds(row["delivered_ps"])
            yield {**shared, "ph": "s", "tid": row["source_rank"], "ts": begin, "args": args}
            # "bp": "e" ties it to the slice in which it arrives, not to the next one.
            yield {**shared, "ph": "f", "bp": "e", "tid": row["destination_rank"], "ts": end}


def _counters(result: Result, recorded: set[int]) -> Iterator[dict[str, Any]]:
    table = result.timeline
    times = numbers(table, "time_ps")
    if len(np.unique(times)) < 2:
        return
    width = int(np.diff(np.unique(times))[0])
    for job, time, delivered in zip(
        numbers(table, "job").tolist(),
        times.tolist(),
        numbers(table, "delivered_bytes").tolist(),
        strict=True,
    ):
        if job in recorded:
            yield {
                "ph": "C",
                "name": "delivered (GB/s)",
                "pid": job,
                "ts": _microseconds(time),
                "args": {"GB/s": delivered / width * 1e3},
            }
