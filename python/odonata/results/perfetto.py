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

from odonata.output import create, new_file
from odonata.results.perfetto_protobuf import (
    delivered,
    intervals,
    messages,
    packets,
    recorded_ranks,
)

if TYPE_CHECKING:
    from odonata.results import Result


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
    pairs = recorded_ranks(result)
    recorded = {job for job, _ in pairs}
    for job in sorted(recorded):
        yield _metadata("process_name", job, 0, {"name": f"job {names[job]}"})
        yield _metadata("process_sort_index", job, 0, {"sort_index": job})
    for job, rank in pairs:
        yield _metadata("thread_name", job, rank, {"name": f"rank {rank}"})
        yield _metadata("thread_sort_index", job, rank, {"sort_index": rank})
    for name, row in intervals(result):
        args = {}
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
    for number, row in messages(result, recorded):
        shared = {"name": "message", "cat": "message", "id": number, "pid": row["job"]}
        args = {"bytes": row["bytes"]}
        begin, end = _microseconds(row["created_ps"]), _microseconds(row["delivered_ps"])
        yield {**shared, "ph": "s", "tid": row["source_rank"], "ts": begin, "args": args}
        # "bp": "e" ties it to the slice in which it arrives, not to the next one.
        yield {**shared, "ph": "f", "bp": "e", "tid": row["destination_rank"], "ts": end}
    for job, time, rate in delivered(result, recorded):
        at = _microseconds(time)
        yield {"ph": "C", "name": "delivered (GB/s)", "pid": job, "ts": at, "args": {"GB/s": rate}}


def _metadata(name: str, process: int, thread: int, args: dict[str, Any]) -> dict[str, Any]:
    return {"ph": "M", "name": name, "pid": process, "tid": thread, "args": args}


def _microseconds(ps: int) -> float:
    return ps / 1e6
