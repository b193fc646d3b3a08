"""The critical path of a job: what its run time is made of.

From the end of the rank that finished last backwards: while the rank computed or was busy
with overheads, the path stays on it; where it waited for a message, the path goes on at the
sender, when that wanted to send it. Shortening anything that is not on the path does not
shorten the run (as long as nothing else becomes critical).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from odonata.columns import codes, column_of, labelled, numbers
from odonata.errors import NotRecordedError, OutputError
from odonata.results.tables import COLLECTIVES, RANK_ACTIVITIES

if TYPE_CHECKING:
    from odonata.results import Result

#: What a part of the path is, in the order in which it is shown. ``network``: a message, from
#: when its sender has handed it over (queueing at the interface included) until its receiver
#: goes on; ``leaving``: a rank waits until its own messages have left the node.
KINDS = ("compute", "send", "receive", "network", "leaving")

_COMPUTE, _SEND, _RECEIVE, _WAIT_TO_SEND, _WAIT_TO_RECEIVE = range(len(RANK_ACTIVITIES))
_KIND_OF_ACTIVITY = {_COMPUTE: 0, _SEND: 1, _RECEIVE: 2, _WAIT_TO_SEND: 4, _WAIT_TO_RECEIVE: 3}

SCHEMA = pa.schema(
    [
        pa.field("begin_ps", pa.int64()),
        pa.field("end_ps", pa.int64()),
        pa.field("kind", pa.dictionary(pa.int8(), pa.string())),
        pa.field("rank", pa.int32()),
        pa.field("to_rank", pa.int32()),
        pa.field("collective", pa.dictionary(pa.int8(), pa.string())),
    ]
)


def critical_path(result: Result, job: int) -> pa.Table:
    """The parts of a job's critical path, in the order of time, without gap or overlap.

    Args:
        result: Of a run that recorded what its ranks did (``[record] rank_activity = true``).
        job: Row in ``jobs``.

    Returns:
        A table of :data:`SCHEMA`: from the start of the job to its end. ``kind`` is one of
        :data:`KINDS`; ``rank`` did it or sent the message that ``to_rank`` received;
        ``collective`` is the one that the rank was in, if any.

    Raises:
        NotRecordedError: If nothing was recorded of the job.
        OutputError: If what was recorded contradicts itself.
    """
    table = result.table("rank_activity")
    rows = np.flatnonzero(numbers(table, "job") == job)
    if not len(rows):
        name = result.jobs["name"][job].as_py()
        raise NotRecordedError(
            f"nothing was recorded of what the ranks of job {name!r} did; set "
            "[record] rank_activity = true in the scenario (jobs with traffic have no ranks "
            "that wait)"
        )
    part = table.slice(rows[0], len(rows))
    rank = numbers(part, "rank")
    begin, end = numbers(part, "begin_ps"), numbers(part, "end_ps")
    activity, collective = codes(part, "activity"), codes(part, "collective")
    cause, sent = numbers(part, "cause_rank"), numbers(part, "cause_ps")
    first = np.searchsorted(rank, np.arange(int(result.jobs["ranks"][job].as_py()) + 1))

    at = int(np.argmax(end))
    now, who = int(end[at]), int(rank[at])
    parts: list[tuple[int, int, int, int, int, int]] = []
    # No interval is passed twice, but to leave it at its beginning.
    for _ in range(2 * len(rows) + 2):
        low, high = first[who], first[who + 1]
        at = low + int(np.searchsorted(begin[low:high], now, side="left")) - 1
        if at < low:
            break
        kind = _KIND_OF_ACTIVITY[int(activity[at])]
        waits = activity[at] in (_WAIT_TO_SEND, _WAIT_TO_RECEIVE)
        if waits and now >= end[at] and cause[at] >= 0:
            sender, earlier = int(cause[at]), int(sent[at])
            # Its overhead comes first; with none, it goes to the interface at once.
            low, high = first[sender], first[sender + 1]
            handing = low + int(np.searchsorted(begin[low:high], earlier))
            handed = earlier
            if handing < high and begin[handing] == earlier and activity[handing] == _SEND:
                handed = min(int(end[handing]), now)
            if now > handed:
                parts.append((handed, now, 3, sender, who, int(collective[at])))
            now, who = handed, sender
        else:
            earlier = int(begin[at])
            parts.append((earlier, now, kind, who, who, int(collective[at])))
            now = earlier
    else:
        raise OutputError("rank_activity: its rows are not as they were written: waits cause waits")
    parts.reverse()
    columns = list(zip(*parts, strict=True)) or [()] * len(SCHEMA)
    return pa.Table.from_arrays(
        [
            column_of(columns[0], pa.int64()),
            column_of(columns[1], pa.int64()),
            labelled(columns[2], KINDS, pa.int8()),
            column_of(columns[3], pa.int32()),
            column_of(columns[4], pa.int32()),
            labelled(columns[5], COLLECTIVES, pa.int8()),
        ],
        schema=SCHEMA,
    )


def shares(path: pa.Table) -> Mapping[str, int]:
    """Time in ps that each of :data:`KINDS` has on a path."""
    length = numbers(path, "end_ps") - numbers(path, "begin_ps")
    kind = codes(path, "kind")
    return {name: int(length[kind == code].sum()) for code, name in enumerate(KINDS)}
