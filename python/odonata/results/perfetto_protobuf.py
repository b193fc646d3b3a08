"""Timelines as Perfetto's own traces: protocol buffers, several times smaller than JSON.

The messages are those of Perfetto's ``TracePacket``, ``TrackEvent`` and ``TrackDescriptor``
(https://perfetto.dev/docs/reference/trace-packet-proto); of their fields only the few below are
written. A message is a row of fields, each a number that holds its place and kind, and then a
number or a length with this many bytes (https://protobuf.dev/programming-guides/encoding/).
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from odonata.columns import numbers

if TYPE_CHECKING:
    from odonata.results import Result

#: Rows that are turned into Python objects at a time.
_ROWS_AT_A_TIME = 10_000
#: Kinds of events.
_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4
#: That what the sequence has named before no longer counts, and that what it names is needed.
_CLEARED, _NEEDED = 1, 2
_SEQUENCE = 1


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _text(field: int, value: str) -> bytes:
    return _message(field, value.encode())


def _message(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _fixed(field: int, value: int) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<Q", value)


def _double(field: int, value: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", value)


class _Writer:
    """Makes packets, and numbers for names that come again and again."""

    def __init__(self) -> None:
        self._names: dict[str, int] = {}
        self._tracks: dict[tuple[str | int, ...], int] = {}

    def uuid(self, *key: str | int) -> int:
        """The number of a track; small ones, as every event names one."""
        return self._tracks.setdefault(key, len(self._tracks) + 1)

    def track(self, uuid: int, name: str, parent: int | None = None, kind: bytes = b"") -> bytes:
        """Describes a track."""
        content = _number(1, uuid) + _text(2, name) + kind
        if parent is not None:
            content += _number(5, parent)
        return self._packet(_message(60, content))

    def event(self, kind: int, track: int, ps: int, name: str = "", more: bytes = b"") -> bytes:
        """An event on a track."""
        content = _number(9, kind) + _number(11, track)
        new = b""
        if name:
            number = self._names.get(name)
            if number is None:
                number = self._names[name] = len(self._names) + 1
                new = _message(12, _message(2, _number(1, number) + _text(2, name)))
            content += _number(10, number)
        # Nanoseconds: what viewers count in.
        return self._packet(new + _number(8, ps // 1000) + _message(11, content + more))

    def first(self) -> bytes:
        """What the sequence begins with."""
        return _message(1, _number(10, _SEQUENCE) + _number(13, _CLEARED))

    def _packet(self, content: bytes) -> bytes:
        return _message(1, content + _number(10, _SEQUENCE) + _number(13, _NEEDED))


def recorded_ranks(result: Result) -> list[tuple[int, int]]:
    """Job and rank of all that was recorded of what ranks did."""
    table = result.table("rank_activity")
    pairs = np.unique(np.stack([numbers(table, "job"), numbers(table, "rank")]), axis=1)
    return [(job, rank) for job, rank in pairs.T.tolist()]


def intervals(result: Result) -> Iterator[tuple[str, dict[str, Any]]]:
    """What ranks did: its name, and its row in ``rank_activity``."""
    for batch in result.table("rank_activity").to_batches(max_chunksize=_ROWS_AT_A_TIME):
        for row in batch.to_pylist():
            parts = (row["parallelism"], row["collective"], row["activity"])
            yield ": ".join(part for part in parts if part is not None), row


def messages(result: Result, recorded: Collection[int]) -> Iterator[tuple[int, dict[str, Any]]]:
    """The messages of some jobs, numbered from 1, each with its row."""
    number = 0
    for batch in result.messages.to_batches(max_chunksize=_ROWS_AT_A_TIME):
        for row in batch.to_pylist():
            if row["job"] in recorded:
                number += 1
                yield number, row


def delivered(result: Result, recorded: Collection[int]) -> list[tuple[int, int, float]]:
    """Job, time (ps) and GB/s of each slice of time of some jobs; nothing of a single slice."""
    rows = result.timeline
    times = numbers(rows, "time_ps")
    slices = np.unique(times)
    if len(slices) < 2:
        return []
    rates = numbers(rows, "delivered_bytes") / int(slices[1] - slices[0]) * 1e3
    found = zip(numbers(rows, "job").tolist(), times.tolist(), rates.tolist(), strict=True)
    return [one for one in found if one[0] in recorded]


def packets(result: Result) -> Iterator[bytes]:
    """The packets of a result's timeline, in the order in which they are written.

    A track for every rank with a slice per interval, an arrow from the sending to the receiving
    rank per recorded message, a counter of what each job receives, and of what arrives over the
    links of each recorded router.

    Args:
        result: Of a run that recorded what its ranks did.
    """
    writer = _Writer()
    yield writer.first()
    names = result.jobs["name"].to_pylist()
    pairs = recorded_ranks(result)
    recorded = {job for job, _ in pairs}
    for job in sorted(recorded):
        process = _message(3, _number(1, job + 1) + _text(6, f"job {names[job]}"))
        yield writer.track(writer.uuid("job", job), f"job {names[job]}", kind=process)
    for job, rank in pairs:
        # A thread's number may not be that of its process, which is its first.
        thread = _message(
            4, _number(1, job + 1) + _number(2, 2 + rank + (job << 32)) + _text(5, f"rank {rank}")
        )
        uuid, parent = writer.uuid("rank", job, rank), writer.uuid("job", job)
        yield writer.track(uuid, f"rank {rank}", parent, thread)
    for name, row in intervals(result):
        track = writer.uuid("rank", row["job"], row["rank"])
        yield writer.event(_BEGIN, track, row["begin_ps"], name)
        yield writer.event(_END, track, row["end_ps"])
    for number, row in messages(result, recorded):
        for field, name, end, moment in (
            (47, "sends", "source_rank", "created_ps"),
            (48, "receives", "destination_rank", "delivered_ps"),
        ):
            track = writer.uuid("rank", row["job"], row[end])
            yield writer.event(_INSTANT, track, row[moment], name, _fixed(field, number))
    rates = delivered(result, recorded)
    counter = _message(8, _text(6, "GB/s"))
    for job in sorted(recorded) if rates else ():
        uuid, parent = writer.uuid("rate", job), writer.uuid("job", job)
        yield writer.track(uuid, f"delivered to {names[job]}", parent, counter)
    for job, time, rate in rates:
        yield writer.event(_COUNTER, writer.uuid("rate", job), time, more=_double(44, rate))
    yield from _arrivals(writer, result)


def _arrivals(writer: _Writer, result: Result) -> Iterator[bytes]:
    """Counters of the links that lead to each recorded router, by class; all jobs together."""
    sums: dict[tuple[int, str], dict[tuple[int, int], int]] = {}
    for batch in result.table("arrivals").to_batches(max_chunksize=_ROWS_AT_A_TIME):
        for row in batch.to_pylist():
            slices = sums.setdefault((row["router"], row["class"]), {})
            when = (row["begin_ps"], row["end_ps"])
            slices[when] = slices.get(when, 0) + row["bytes"]
    counter = _message(8, _text(6, "GB/s"))
    for number, ((router, name), slices) in enumerate(sorted(sums.items())):
        uuid = writer.uuid("links", number)
        yield writer.track(uuid, f"{name} links to router {router}", None, counter)
        last = None
        for (begin, end), amount in sorted(slices.items()):
            if last is not None and last < begin:
                yield writer.event(_COUNTER, uuid, last, more=_double(44, 0.0))
            value = _double(44, amount / max(end - begin, 1) * 1e3)
            yield writer.event(_COUNTER, uuid, begin, more=value)
            last = end
        if last is not None:
            yield writer.event(_COUNTER, uuid, last, more=_double(44, 0.0))
