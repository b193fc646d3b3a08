"""What probes measured: every iteration and every rank's time, in a file."""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from odonata.errors import ClusterError
from odonata_live.cluster.clocks import Clocks, Nanoseconds
from odonata_live.cluster.store import StoreFile

#: What can be measured. A ping-pong is between the first and the last rank, there and back.
COLLECTIVES = ("bcast", "reduce", "alltoall", "allreduce", "barrier", "ping-pong")
#: How the ranks of an iteration are started together.
STARTS = ("barrier", "window")
#: What makes one time of an iteration's ranks.
TIME_OF = ("max", "root", "mean")


@dataclass(frozen=True)
class Series:
    """Iterations of one collective at one size.

    Attributes:
        collective: One of :data:`COLLECTIVES`, `command`, or the kind of a skeleton's motif.
        size_bytes: Of the message; of Alltoall what goes to each rank.
        start: One of :data:`STARTS`; empty of a command.
        starts: When each rank began, ns of its own clock. Shape: iterations × ranks.
        ends: When each rank was done, of the same shape.
        late: Whether the rank came after its planned start; zeros with barriers.
        planned: Planned start, ns of rank 0's clock; zeros with barriers. Shape: iterations.
        window: Time from this start to the next; zeros with barriers.
        clocks: The ranks' clocks beside rank 0's.
    """

    collective: str
    size_bytes: int
    start: str
    starts: Nanoseconds
    ends: Nanoseconds
    late: NDArray[np.int8]
    planned: Nanoseconds
    window: Nanoseconds
    clocks: Clocks

    @property
    def iterations(self) -> int:
        """How many were measured."""
        return len(self.starts)

    def times_us(self, of: str = "max") -> NDArray[np.float64]:
        """One time for each valid iteration, µs.

        With windows an iteration lasts from its planned start to the end of the slowest rank (or
        of the root, or the mean of all ends), on rank 0's clock; with barriers, each rank's own
        duration counts, and clocks do not matter.

        Args:
            of: One of :data:`TIME_OF`: which rank's.
        """
        if of not in TIME_OF:
            raise ClusterError(f"found of={of!r}; allowed: {', '.join(TIME_OF)}")
        if self.start == "window":
            durations = self.clocks.to_first(self.ends) - self.planned[:, None]
        else:
            durations = self.ends - self.starts
        if self.collective == "ping-pong":
            # Ranks between have no part in it.
            durations = durations[:, :1]
        if of == "max":
            time = durations.max(axis=1)
        else:
            time = durations[:, 0] if of == "root" else durations.mean(axis=1)
        return np.asarray(time[self.valid()] / 1e3, dtype=np.float64)

    def valid(self) -> NDArray[np.bool_]:
        """Iterations that began together and ended before the next: with barriers all."""
        if self.start != "window":
            return np.ones(self.iterations, dtype=np.bool_)
        ends = self.clocks.to_first(self.ends).max(axis=1)
        return np.asarray((self.late.max(axis=1) == 0) & (ends <= self.planned + self.window))

    def pack(self) -> bytes:
        """All arrays, as :meth:`unpack` reads them."""
        packed = io.BytesIO()
        np.savez_compressed(
            packed,
            starts=self.starts,
            ends=self.ends,
            late=self.late,
            planned=self.planned,
            window=self.window,
            clocks_before=self.clocks.before,
            clocks_after=self.clocks.after,
        )
        return packed.getvalue()

    @classmethod
    def unpack(
        cls, collective: str, size_bytes: int, start: str, packed: bytes, source: str
    ) -> Series:
        """A series of what `measure.py` left, or :meth:`pack` made.

        Raises:
            ClusterError: If it is damaged.
        """
        try:
            with np.load(io.BytesIO(packed), allow_pickle=False) as found:
                return cls(
                    collective,
                    size_bytes,
                    start,
                    starts=found["starts"],
                    ends=found["ends"],
                    late=found["late"],
                    planned=found["planned"],
                    window=found["window"],
                    clocks=Clocks(found["clocks_before"], found["clocks_after"]),
                )
        except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
            raise ClusterError(f"{source}: not a series of times: {error}") from error

    @classmethod
    def of_command(cls, starts: Nanoseconds, ends: Nanoseconds) -> Series:
        """Runs of a command, each timed from outside on one node."""
        none = np.zeros(len(starts), np.int64)
        clocks = Clocks(np.zeros((1, 3), np.int64), np.zeros((1, 3), np.int64))
        late = np.zeros((len(starts), 1), np.int8)
        return cls("command", 0, "", starts[:, None], ends[:, None], late, none, none, clocks)


@dataclass(frozen=True)
class ProbeRun:
    """One job that probed.

    Attributes:
        time_s: When its ranks began, or when it was submitted if they never did (Unix, s).
        job: Slurm's number of it.
        placement: As it was asked for.
        nodes: Names of its nodes, in the order of the ranks.
        groups: Switch of each; empty where the topology is unknown.
        islands: Island of each; empty where the topology is unknown.
        before: Utilisation before, by name (`b`, `b1`, … and, where the topology is known,
            `b_between_groups`, `b_between_islands`, `exposure`); empty if Slurm did not tell.
        after: The same afterwards.
        counts: Whether b before and after agree within the tolerance, and nothing failed.
        why_not: Why it does not count.
        environment: Versions, variables, kernels, what was asked for.
        series: What was measured.
    """

    time_s: float
    job: str
    placement: str
    nodes: tuple[str, ...]
    groups: tuple[str, ...]
    islands: tuple[str, ...]
    before: Mapping[str, float]
    after: Mapping[str, float]
    counts: bool
    why_not: str
    environment: Mapping[str, Any]
    series: tuple[Series, ...] = field(default=())

    def utilisation(self, name: str = "b") -> float:
        """Mean of a utilisation before and after; NaN if Slurm gave neither."""
        found = [part[name] for part in (self.before, self.after) if name in part]
        return sum(found) / len(found) if found else math.nan


_TABLES = """
CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    time_s REAL NOT NULL,
    job TEXT NOT NULL,
    placement TEXT NOT NULL,
    nodes TEXT NOT NULL, groups TEXT NOT NULL, islands TEXT NOT NULL,
    b_before REAL, b_after REAL,
    before TEXT NOT NULL, after TEXT NOT NULL,
    counts INTEGER NOT NULL, why_not TEXT NOT NULL,
    environment TEXT NOT NULL
);
CREATE TABLE series (
    run INTEGER NOT NULL REFERENCES runs (id),
    collective TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    start TEXT NOT NULL,
    iterations INTEGER NOT NULL,
    times BLOB NOT NULL
);
CREATE INDEX series_by_run ON series (run)
"""


class Probes(StoreFile):
    """The runs of probes on one cluster."""

    application = 0x4F645072  # "OdPr"
    version = 1
    tables = _TABLES
    content = "probes"
    made_by = "odonata cluster probe"

    def add(self, run: ProbeRun) -> None:
        """Adds a run with all its times, or nothing.

        Raises:
            sqlite3.Error: If it cannot be written; the store is as before.
        """
        with self.transaction():
            row = self._db.execute(
                "INSERT INTO runs (time_s, job, placement, nodes, groups, islands, b_before, "
                "b_after, before, after, counts, why_not, environment) VALUES "
                "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    run.time_s,
                    run.job,
                    run.placement,
                    *(json.dumps(names) for names in (run.nodes, run.groups, run.islands)),
                    run.before.get("b"),
                    run.after.get("b"),
                    json.dumps(dict(run.before)),
                    json.dumps(dict(run.after)),
                    int(run.counts),
                    run.why_not,
                    json.dumps(dict(run.environment)),
                ),
            ).lastrowid
            for one in run.series:
                self._db.execute(
                    "INSERT INTO series VALUES (?, ?, ?, ?, ?, ?)",
                    (row, one.collective, one.size_bytes, one.start, one.iterations, one.pack()),
                )

    def runs(self, since_s: float = 0, *, all_: bool = False) -> Iterator[ProbeRun]:
        """Runs in the order in which they were measured.

        Args:
            since_s: Only those since then (Unix, s).
            all_: Those that do not count, too.
        """
        rows = self._db.execute(
            "SELECT id, time_s, job, placement, nodes, groups, islands, before, after, counts, "
            "why_not, environment FROM runs WHERE time_s >= ? AND (counts OR ?) ORDER BY time_s",
            (since_s, all_),
        ).fetchall()
        for id_, time_s, job, placement, *texts, counts, why_not, environment in rows:
            nodes, groups, islands, before, after = (json.loads(text) for text in texts)
            found = self._db.execute(
                "SELECT collective, bytes, start, times FROM series WHERE run = ? ORDER BY rowid",
                (id_,),
            ).fetchall()
            yield ProbeRun(
                time_s,
                job,
                placement,
                tuple(nodes),
                tuple(groups),
                tuple(islands),
                before,
                after,
                bool(counts),
                why_not,
                json.loads(environment),
                tuple(
                    Series.unpack(collective, size, start, times, f"{self.path}: run {id_}")
                    for collective, size, start, times in found
                ),
            )
