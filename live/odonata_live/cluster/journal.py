"""What the placement of a cluster decided, written before it is done.

Slurm's own state is what holds; the journal says what was decided and why, tells our pins from
users' own, and who waits for what. Without it jobs are placed all the same, but what happened
before is forgotten.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from odonata.errors import ClusterError
from odonata_live.cluster.store import StoreFile

#: A decision is made; its nodes were told to Slurm and the job released; it runs; it is over.
DECIDED, PINNED, RUNNING, ENDED = "decided", "pinned", "running", "ended"
#: Taken back before the job began; the job was left to Slurm; only thought, beside Slurm.
WITHDRAWN, LEFT, SHADOW = "withdrawn", "left", "shadow"
#: Left to Slurm, and seen released; held by somebody else since its release.
RELEASED, HELD = "released", "held"
#: States in which a job holds, or may hold, the nodes of a decision.
OPEN = (DECIDED, PINNED, RUNNING)

_TABLES = """
CREATE TABLE decisions (
    id INTEGER PRIMARY KEY,
    job TEXT NOT NULL,
    time_ms INTEGER NOT NULL,
    policy TEXT NOT NULL,
    nodes TEXT NOT NULL,
    owned TEXT NOT NULL,
    estimate_ms INTEGER NOT NULL,
    backfilled INTEGER NOT NULL,
    state TEXT NOT NULL,
    changed_ms INTEGER NOT NULL,
    got TEXT,
    note TEXT
);
CREATE INDEX decisions_by_job ON decisions (job);
CREATE INDEX decisions_by_state ON decisions (state);
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    time_ms INTEGER NOT NULL,
    kind TEXT NOT NULL,
    job TEXT,
    count INTEGER,
    estimate_ms INTEGER,
    note TEXT
);
CREATE TABLE waits (
    job TEXT PRIMARY KEY,
    since_ms INTEGER NOT NULL,
    told_ms INTEGER NOT NULL,
    promised_ms INTEGER,
    reason TEXT NOT NULL
)
"""


@dataclass(frozen=True)
class Decision:
    """Nodes for a job.

    Attributes:
        id: Its number in the journal.
        job: The job's id, as `scontrol` takes it.
        time_ms: When it was made, Unix milliseconds.
        nodes: Names of its nodes.
        owned: Groups that the job has for itself.
        estimate_ms: How long the job is believed to run.
        backfilled: Whether it overtook others.
        state: One of the states above.
        changed_ms: Since when it is in that state.
        got: Names of the nodes that the job began on, where they are known.
        note: What there is to say of its state.
    """

    id: int
    job: str
    time_ms: int
    nodes: tuple[str, ...]
    owned: tuple[str, ...]
    estimate_ms: int
    backfilled: bool
    state: str
    changed_ms: int
    got: tuple[str, ...] | None
    note: str


@dataclass(frozen=True)
class Wait:
    """Why a job waits: since when, as of when, until when it is expected to, and the reason."""

    job: str
    since_ms: int
    told_ms: int
    promised_ms: int | None
    reason: str


class Journal(StoreFile):
    """The decisions about one cluster.

    Every change is a transaction of SQLite, on disk before the call returns.
    """

    application = 0x4F646F50  # "OdoP"
    version = 1
    tables = _TABLES
    content = "decisions"
    made_by = "odonata cluster place"

    def decide(
        self,
        decisions: Sequence[tuple[str, Sequence[str], Sequence[str], int, bool]],
        policy: str,
        time_ms: int,
        *,
        state: str = DECIDED,
    ) -> list[Decision]:
        """Writes decisions down: job, nodes, groups of its own, estimate (ms), backfilled.

        Raises:
            sqlite3.Error: If they cannot be written; then none is.
        """
        made = []
        with self.transaction():
            for job, nodes, owned, estimate, backfilled in decisions:
                row = (job, time_ms, policy, json.dumps(list(nodes)), json.dumps(list(owned)))
                cursor = self._db.execute(
                    "INSERT INTO decisions (job, time_ms, policy, nodes, owned, estimate_ms, "
                    "backfilled, state, changed_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (*row, estimate, int(backfilled), state, time_ms),
                )
                self._db.execute("DELETE FROM waits WHERE job = ?", (job,))
                number = int(cursor.lastrowid or 0)
                made.append(
                    Decision(
                        *(number, job, time_ms, tuple(nodes), tuple(owned), estimate, backfilled),
                        *(state, time_ms, None, ""),
                    )
                )
        return made

    def change(
        self,
        decisions: Iterable[Decision],
        state: str,
        time_ms: int,
        note: str = "",
        got: Sequence[str] | None = None,
    ) -> None:
        """Moves decisions to another state."""
        with self.transaction():
            for decision in decisions:
                self._db.execute(
                    "UPDATE decisions SET state = ?, changed_ms = ?, note = ?, "
                    "got = coalesce(?, got) WHERE id = ?",
                    (
                        *(state, time_ms, note),
                        *(None if got is None else json.dumps(list(got)), decision.id),
                    ),
                )

    def leave(self, job: str, time_ms: int, note: str, policy: str) -> Decision:
        """Writes down that a job is left to Slurm, and why."""
        with self.transaction():
            cursor = self._db.execute(
                "INSERT INTO decisions (job, time_ms, policy, nodes, owned, estimate_ms, "
                "backfilled, state, changed_ms, note) VALUES (?, ?, ?, '[]', '[]', 0, 0, ?, ?, ?)",
                (job, time_ms, policy, LEFT, time_ms, note),
            )
            self._db.execute("DELETE FROM waits WHERE job = ?", (job,))
        number = int(cursor.lastrowid or 0)
        return Decision(number, job, time_ms, (), (), 0, False, LEFT, time_ms, None, note)

    def event(self, kind: str, time_ms: int, rows: Iterable[tuple[str, int, int]]) -> None:
        """Writes down what was seen.

        Args:
            kind: `came` and `ended` of jobs; `withheld` and `given back` of nodes that did not
                work or were others'.
            time_ms: When, Unix milliseconds.
            rows: Job, count of its nodes, estimate (ms); or the node's name, 0, 0.
        """
        with self.transaction():
            self._db.executemany(
                "INSERT INTO events (time_ms, kind, job, count, estimate_ms) "
                "VALUES (?, ?, ?, ?, ?)",
                [(time_ms, kind, *row) for row in rows],
            )

    def keep_waits(self, kept: Sequence[tuple[str, int | None, str]], time_ms: int) -> None:
        """Writes down who waits (job, when it is expected to start, why) and forgets others."""
        with self.transaction():
            known = {row[0]: row[1] for row in self._db.execute("SELECT job, since_ms FROM waits")}
            self._db.execute("DELETE FROM waits")
            self._db.executemany(
                "INSERT OR REPLACE INTO waits VALUES (?, ?, ?, ?, ?)",
                [
                    (job, known.get(job, time_ms), time_ms, promised, reason)
                    for job, promised, reason in kept
                ],
            )

    def decisions(
        self, *, job: str | None = None, states: Sequence[str] = (), since_ms: int = 0
    ) -> list[Decision]:
        """Decisions in the order in which they were made."""
        where, values = ["time_ms >= ?"], [since_ms]
        if job is not None:
            where, values = [*where, "job = ?"], [*values, job]  # type: ignore[list-item]
        if states:
            where.append(f"state IN ({', '.join('?' * len(states))})")
            values = [*values, *states]  # type: ignore[list-item]
        found = self._db.execute(
            "SELECT id, job, time_ms, nodes, owned, estimate_ms, backfilled, state, changed_ms, "
            f"got, note FROM decisions WHERE {' AND '.join(where)} ORDER BY id",
            values,
        )
        return [_decision(row) for row in found]

    def waits(self) -> list[Wait]:
        """Jobs that wait, longest first."""
        return [Wait(*row) for row in self._db.execute("SELECT * FROM waits ORDER BY since_ms")]

    def events(self) -> list[tuple[int, str, str, int, int]]:
        """What was seen: time, kind, and a row as `event` takes it; in order."""
        return list(
            self._db.execute(
                "SELECT time_ms, kind, job, count, estimate_ms FROM events ORDER BY id"
            )
        )

    def forget(self, before_ms: int) -> None:
        """Removes what is over since before a time."""
        with self.transaction():
            self._db.execute(
                "DELETE FROM decisions WHERE changed_ms < ? AND state NOT IN (?, ?, ?)",
                (before_ms, *OPEN),
            )
            self._db.execute("DELETE FROM events WHERE time_ms < ?", (before_ms,))

    def check(self) -> None:
        """Reads all of it.

        Raises:
            ClusterError: If it is damaged.
        """
        try:
            found = self._db.execute("PRAGMA quick_check").fetchone()
            self.decisions()
        except (sqlite3.Error, ValueError) as error:
            raise ClusterError(f"{self.path}: damaged: {error}") from error
        if found != ("ok",):
            raise ClusterError(f"{self.path}: damaged: {found[0]}")


def _decision(row: Sequence[Any]) -> Decision:
    id_, job, made, nodes, owned, estimate, backfilled, state, changed, got, note = row
    return Decision(
        *(id_, job, made, tuple(json.loads(nodes)), tuple(json.loads(owned)), estimate),
        *(bool(backfilled), state, changed, None if got is None else tuple(json.loads(got))),
        note or "",
    )


def open_journal(path: Path, say: Any = print) -> Journal:
    """Opens a journal, or makes one; a damaged one is put aside.

    Raises:
        OutputError: If no file can be made there.
    """
    try:
        journal = Journal(path, create=True)
        try:
            journal.check()
        except ClusterError:
            journal.close()
            raise
        return journal
    except ClusterError as error:
        aside = path.with_name(f"{path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
        number = 0
        while aside.exists():
            number += 1
            aside = aside.with_name(f"{path.name}.damaged-{number}")
        path.rename(aside)
        for ending in ("-wal", "-shm"):
            rest = path.with_name(path.name + ending)
            if rest.exists():
                rest.rename(aside.with_name(aside.name + ending))
        say(f"{error}; put aside as {aside.name}, going on with an empty journal")
        return Journal(path, create=True)
