"""Timelines as OTF2 archives, which Vampir opens.

The Open Trace Format of the Score-P project (https://www.vi-hps.org/projects/score-p) holds what
the ranks of a program did: regions entered and left, and messages. The engine writes and reads its
files (``crates/traces/src/otf2``); here a result becomes events.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from odonata import _engine
from odonata.columns import numbers
from odonata.output import Claim

if TYPE_CHECKING:
    from odonata.results import Result

#: Kinds of events, as OTF2 numbers them.
ENTER, LEAVE, SEND, RECEIVE = 12, 13, 14, 18
#: Roles of regions: code of the application, messages between two, collectives.
_CODE, _POINT_TO_POINT, _COLLECTIVE = 4, 28, 26
#: Programming models: the application itself, MPI.
_USER, _MPI = 1, 4
#: Values of an event, see ``_engine.write_otf2``.
_COLUMNS = 7
#: A tick is a picosecond.
_TICKS_PER_SECOND = 10**12


def write_archive(result: Result, directory: Path) -> int:
    """Writes what the ranks of a result did as an OTF2 archive.

    A location per rank of all recorded jobs, a communicator per job; an interval is a region, with
    its collective before its name. Messages, if they were recorded, carry a number of their own for
    each pair of ranks as their tag, so that the two ends are found however they overtake each
    other. A tick of the clock is a picosecond. The archive is the same for equal results.

    Args:
        result: Of a run that recorded what its ranks did (``[record] rank_activity = true``).
        directory: Where to; must not exist yet, or be empty. The anchor file is ``traces.otf2``
            there.

    Returns:
        Number of events.

    Raises:
        OutputError: If there is something already, or it cannot be written.
    """
    activity = result.table("rank_activity")
    jobs = np.unique(numbers(activity, "job"))
    names = result.jobs["name"].to_pylist()
    ranks = numbers(result.jobs, "ranks")[jobs]
    first = np.concatenate([[0], np.cumsum(ranks)])

    def location(job: npt.NDArray[np.int64], rank: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return first[np.searchsorted(jobs, job)] + rank

    regions, region = np.unique(_labels(activity), return_inverse=True)
    intervals = _events(2 * len(region))
    # Entered and left in turn: what ends comes before what begins in the same moment.
    for side, (kind, column) in enumerate(((ENTER, "begin_ps"), (LEAVE, "end_ps"))):
        intervals[side::2, 0] = numbers(activity, column)
        intervals[side::2, 1] = kind
        intervals[side::2, 2] = region
    of_rank = location(numbers(activity, "job"), numbers(activity, "rank"))
    events, places = [intervals], [np.repeat(of_rank, 2)]

    recorded = result.messages.filter(np.isin(numbers(result.messages, "job"), jobs))
    job, tags = numbers(recorded, "job"), _tags(recorded)
    for kind, own, other, column in (
        (SEND, "source_rank", "destination_rank", "created_ps"),
        (RECEIVE, "destination_rank", "source_rank", "delivered_ps"),
    ):
        messages = _events(len(job))
        messages[:, 0] = numbers(recorded, column)
        messages[:, 1] = kind
        messages[:, 2] = numbers(recorded, other)
        messages[:, 3] = np.searchsorted(jobs, job)
        messages[:, 4] = tags
        messages[:, 5] = numbers(recorded, "bytes")
        events.append(messages)
        places.append(location(job, numbers(recorded, own)))
    table, at = np.concatenate(events), np.concatenate(places)
    # What arrives ends a wait; what is sent lies in what begins with it.
    moment = np.select([table[:, 1] == RECEIVE, table[:, 1] == SEND], [0, 2], 1)
    order = np.lexsort((moment, table[:, 0], at))
    definitions = {
        "creator": f"Odonata {result.meta['version']}",
        "ticks_per_second": _TICKS_PER_SECOND,
        "processes": [
            f"{names[job]} rank {rank}"
            for job, count in zip(jobs.tolist(), ranks.tolist(), strict=True)
            for rank in range(count)
        ],
        "regions": [(name, *_role(name)) for name in regions.tolist()],
        "comms": [
            (names[job], list(range(start, start + count)))
            for job, start, count in zip(
                jobs.tolist(), first.tolist(), ranks.tolist(), strict=False
            )
        ],
    }
    counts = np.bincount(at, minlength=int(first[-1]))
    with Claim(directory, option="--otf2") as claim, claim.adding() as partial:
        _engine.write_otf2(
            str(partial / "traces.otf2"),
            json.dumps(definitions),
            counts.astype(np.uint64),
            np.ascontiguousarray(table[order]).reshape(-1),
        )
    return len(table)


def _events(count: int) -> npt.NDArray[np.uint64]:
    return np.zeros((count, _COLUMNS), dtype=np.uint64)


def _labels(activity: pa.Table) -> npt.NDArray[np.str_]:
    """What every interval is called: the activity, behind the collective that it is part of."""
    names = activity["activity"].cast(pa.string())
    within = pc.binary_join_element_wise(activity["collective"].cast(pa.string()), names, ": ")
    return np.array(pc.coalesce(within, names).to_pylist(), dtype=np.str_)


def _role(name: str) -> tuple[int, int]:
    """Role and programming model of a region."""
    if ": " in name:
        return _COLLECTIVE, _MPI
    return (_CODE, _USER) if name == "compute" else (_POINT_TO_POINT, _MPI)


def _tags(messages: pa.Table) -> npt.NDArray[np.int64]:
    """Numbers of messages, from 0 for each pair of ranks, in the order in which they were sent."""
    keys = ("created_ps", "destination_rank", "source_rank", "job")
    order = np.lexsort([numbers(messages, key) for key in keys])
    pairs = np.stack([numbers(messages, key)[order] for key in keys[1:]])
    place = np.arange(len(order))
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = (pairs[:, 1:] != pairs[:, :-1]).any(axis=0)
    tags = np.empty(len(order), dtype=np.int64)
    tags[order] = place - np.maximum.accumulate(np.where(begins, place, 0))
    return tags
