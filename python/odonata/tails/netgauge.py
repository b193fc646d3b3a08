"""Netgauge's noise measurements, and Slurm's node counts beside them.

The public data of De Sensi et al., "Noise in the Clouds: Influence of Network Performance
Variability on Application Scalability" (SIGMETRICS 2023): one pair of nodes, the same message
1,000 times in a row, again and again for an hour.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from odonata.errors import SampleError

#: Messages of one run of Netgauge in that data (`-c 1000`).
REPETITIONS = 1_000


def read_blocks(
    text: str, source: str = "netgauge", repetitions: int = REPETITIONS
) -> list[NDArray[np.float64]]:
    """The blocks of a file ``ng_netnoise_*.out``: half round-trip times in µs.

    Args:
        text: Lines `size time`. Lines that begin with # stand before each block in some of the
            files, before the first only in others, and are skipped.
        source: Where it comes from, for errors.
        repetitions: Times of a block; the last may have fewer.

    Raises:
        SampleError: If a line is something else, or there is no block.
    """
    values: list[float] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        try:
            _, time = words
            values.append(float(time))
        except ValueError:
            raise SampleError(
                f"{source}: line {number}: found {line[:60]!r}; allowed: size and time"
            ) from None
    if not values:
        raise SampleError(f"{source}: no times")
    return np.split(np.array(values), range(repetitions, len(values), repetitions))


@dataclass(frozen=True)
class NodeCounts:
    """How many nodes were given away, by the time of day.

    Attributes:
        time_s: Seconds since midnight, local.
        allocated: Nodes of running jobs.
        total: All nodes, those that are down too.
    """

    time_s: NDArray[np.float64]
    allocated: NDArray[np.float64]
    total: NDArray[np.float64]

    def share_at(self, time_s: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
        """Share of nodes that were given away, between samples linearly.

        That is b in its simplest form: which jobs have several nodes the counts do not tell.
        """
        return np.interp(time_s, self.time_s, self.allocated / self.total)


def read_node_counts(text: str, source: str = "sinfo") -> NodeCounts:
    """Lines `HH:MM:SS allocated idle other total`, of ``sinfo -o %F`` every minute.

    Raises:
        SampleError: If there is no such line.
    """
    rows = []
    for line in text.splitlines():
        match = re.match(r"(\d+):(\d+):(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s*$", line)
        if match:
            hour, minute, second, allocated, _, _, total = map(int, match.groups())
            if total:
                rows.append((3600.0 * hour + 60 * minute + second, allocated, total))
    if not rows:
        raise SampleError(f"{source}: no line of a time and four counts of nodes")
    time_s, allocated, total = np.array(rows, dtype=np.float64).T
    return NodeCounts(time_s, allocated, total)
