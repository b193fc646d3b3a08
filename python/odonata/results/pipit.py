"""Timelines as CSV files that Pipit reads.

Pipit (https://github.com/hpcgroup/pipit; Bhatele et al., "Pipit: Scripting the analysis of parallel
execution traces", 2023) analyses traces as data frames of events: a row when something is entered
and one when it is left, with the columns ``Timestamp (ns)``, ``Event Type``, ``Name`` and
``Process``; ``pipit.Trace.from_csv`` takes them from a file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from odonata.columns import numbers
from odonata.output import new_file, write_csv

if TYPE_CHECKING:
    from odonata.results import Result


def events(result: Result) -> pa.Table:
    """What ranks did, as Pipit's events in the order of time.

    Processes are the ranks of all recorded jobs, counted on from job to job; ``Job`` and ``Rank``
    say which one each is.

    Args:
        result: Of a run that recorded what its ranks did (``[record] rank_activity = true``).
    """
    table = result.table("rank_activity")
    job, rank = numbers(table, "job"), numbers(table, "rank")
    _, process = np.unique(np.stack([job, rank]), axis=1, return_inverse=True)
    process = process.reshape(-1)
    collective = table["collective"].cast(pa.string()).to_pylist()
    activity = table["activity"].cast(pa.string()).to_pylist()
    names = [a if c is None else f"{c}: {a}" for c, a in zip(collective, activity, strict=True)]
    # Entered and left in turn: what ends comes before what begins in the same moment.
    times = np.stack([numbers(table, "begin_ps"), numbers(table, "end_ps")], axis=1).reshape(-1)
    order = np.argsort(times, kind="stable")
    row = order // 2
    return pa.table(
        {
            "Timestamp (ns)": times[order] / 1e3,
            "Event Type": np.array(["Enter", "Leave"])[order % 2],
            "Name": np.array(names, dtype=object)[row],
            "Process": process[row],
            "Job": np.array(result.jobs["name"].to_pylist(), dtype=object)[job[row]],
            "Rank": rank[row],
        }
    )


def write_events(result: Result, path: Path) -> int:
    """Writes the events of a result as CSV, whole or not at all.

    Args:
        result: As of :func:`events`.
        path: The file, which must not exist yet.

    Returns:
        Number of events.

    Raises:
        OutputError: If there is such a file already, or it cannot be written.
    """
    table = events(result)
    with new_file(path) as partial:
        write_csv(partial, table)
    return int(table.num_rows)
