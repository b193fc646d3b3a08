"""What was decided of circuits, written before it is done (SQLite, write-ahead)."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from odonata.errors import ClusterError, OutputError
from odonata_live.cluster.store import StoreFile
from odonata_live.control.circuits import Connection, Connections, Settings

#: A port of a switch: its name, "ingress" or "egress", and its number.
Port = tuple[str, str, int]


@dataclass(frozen=True)
class Transaction:
    """A change of circuits.

    Attributes:
        number: In order of time.
        kind: `set`; `undo`, one that is to be taken back; `give-back`.
        job: For whom.
        before: Connections of the switches when it began, as they said themselves.
        after: What they are to become.
        ports: What the job owns then.
    """

    number: int
    kind: str
    job: int
    before: Settings
    after: Settings
    ports: frozenset[Port]


class Journal(StoreFile):
    """Circuits, who owns which ports, and every change, begun and ended.

    A change is written before a switch gets it and ended after all of them were read: what
    has no end is what a crash left, see :meth:`open_transactions`.
    """

    application = 0x4F444343
    version = 1
    content = "circuits"
    made_by = "odonata control recover"
    tables = """
        CREATE TABLE transactions (
            number INTEGER PRIMARY KEY, kind TEXT NOT NULL, job INTEGER NOT NULL,
            began_s REAL NOT NULL, ended_s REAL, outcome TEXT, message TEXT,
            before TEXT NOT NULL, after TEXT NOT NULL, ports TEXT NOT NULL
        );
        CREATE TABLE connections (
            switch TEXT NOT NULL, ingress INTEGER NOT NULL, egress INTEGER NOT NULL,
            job INTEGER NOT NULL, PRIMARY KEY (switch, ingress), UNIQUE (switch, egress)
        );
        CREATE TABLE ports (
            switch TEXT NOT NULL, side TEXT NOT NULL, port INTEGER NOT NULL, job INTEGER NOT NULL,
            PRIMARY KEY (switch, side, port)
        );
        CREATE TABLE jobs (job INTEGER PRIMARY KEY, began_s REAL NOT NULL, ended_s REAL)
    """

    def __init__(self, path: Path, *, create: bool = False) -> None:
        super().__init__(path, create=create)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is changed inside is written, or nothing.

        Raises:
            OutputError: If it cannot be written: a full disk, a file that others hold for long.
        """
        try:
            with super().transaction():
                yield
        except sqlite3.Error as error:
            raise OutputError(
                f"{self.path}: cannot be written: {error}. What switches have begun is ended by "
                "the next command that can write"
            ) from error

    def _asked(self, question: str) -> list[Any]:
        try:
            return self._db.execute(question).fetchall()
        except sqlite3.Error as error:
            raise ClusterError(
                f"{self.path}: cannot be read: {error}. Move it away; `{self.made_by}` makes it "
                "again from what switches hold"
            ) from error

    def begin(
        self, kind: str, job: int, before: Settings, after: Settings, ports: Iterable[Port]
    ) -> Transaction:
        """Writes what is going to be done."""
        ports = frozenset(ports)
        with self.transaction():
            cursor = self._db.execute(
                "INSERT INTO transactions (kind, job, began_s, before, after, ports) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (kind, job, time.time(), *map(_text, (before, after)), json.dumps(sorted(ports))),
            )
        return Transaction(cursor.lastrowid or 0, kind, job, before, after, ports)

    def commit(self, change: Transaction, found: Settings) -> None:
        """Ends a change that switches have been found to hold."""
        with self.transaction():
            self._keep(found)
            if change.kind == "give-back":
                self._db.execute("DELETE FROM ports WHERE job = ?", (change.job,))
                self._db.execute(
                    "UPDATE jobs SET ended_s = ? WHERE job = ?", (time.time(), change.job)
                )
            elif change.kind == "set":
                self._own(change.job, change.ports)
            self._end(change.number, "committed", "")

    def abort(self, change: Transaction, found: Settings, message: str) -> None:
        """Ends a change that was taken back; `found` is what switches hold since."""
        with self.transaction():
            self._keep(found)
            self._end(change.number, "rolled back", message)

    def undo(self, change: Transaction) -> Transaction:
        """Decides that a change is taken back, whatever switches are found to hold later."""
        with self.transaction():
            self._db.execute(
                "UPDATE transactions SET kind = 'undo' WHERE number = ?", (change.number,)
            )
        return replace(change, kind="undo")

    def narrow(self, change: Transaction, switch: str, found: Connections) -> None:
        """Ends a change for one switch, which others may use while the rest is not done."""
        with self.transaction():
            self._keep({switch: found})
            row = "SELECT before, after FROM transactions WHERE number = ?"
            texts = self._db.execute(row, (change.number,)).fetchone()
            left = []
            for text in texts:
                rows = json.loads(text)
                del rows[switch]
                left.append(json.dumps(rows))
            self._db.execute(
                "UPDATE transactions SET before = ?, after = ? WHERE number = ?",
                (*left, change.number),
            )

    def keep(self, found: Settings, adopted: Mapping[int, Iterable[Port]]) -> None:
        """Takes over what switches hold, and jobs that only they knew of, with their ports."""
        with self.transaction():
            self._keep(found)
            for job, ports in sorted(adopted.items()):
                self._own(job, ports)

    def _own(self, job: int, ports: Iterable[Port]) -> None:
        self._db.execute(
            "INSERT INTO jobs (job, began_s) VALUES (?, ?) "
            "ON CONFLICT (job) DO UPDATE SET ended_s = NULL",
            (job, time.time()),
        )
        self._db.execute("DELETE FROM ports WHERE job = ?", (job,))
        rows = [(*port, job) for port in sorted(ports)]
        self._db.executemany("INSERT INTO ports VALUES (?, ?, ?, ?)", rows)

    def _keep(self, found: Settings) -> None:
        for switch, connections in sorted(found.items()):
            self._db.execute("DELETE FROM connections WHERE switch = ?", (switch,))
            self._db.executemany(
                "INSERT INTO connections VALUES (?, ?, ?, ?)",
                [(switch, c.ingress, c.egress, c.job) for c in sorted(connections)],
            )

    def _end(self, number: int, outcome: str, message: str) -> None:
        self._db.execute(
            "UPDATE transactions SET ended_s = ?, outcome = ?, message = ? WHERE number = ?",
            (time.time(), outcome, message, number),
        )

    def open_transactions(self) -> list[Transaction]:
        """Changes that have begun and not ended, the oldest first."""
        rows = self._asked(
            "SELECT number, kind, job, before, after, ports FROM transactions "
            "WHERE ended_s IS NULL ORDER BY number"
        )
        return [
            Transaction(
                *(number, kind, job, _settings(before), _settings(after)),
                frozenset((switch, side, port) for switch, side, port in json.loads(ports)),
            )
            for number, kind, job, before, after, ports in rows
        ]

    def settings(self, switches: Iterable[str]) -> dict[str, Connections]:
        """What switches hold, as far as the journal knows."""
        found: dict[str, set[Connection]] = {name: set() for name in switches}
        rows = self._asked("SELECT switch, ingress, egress, job FROM connections")
        for switch, ingress, egress, job in rows:
            if switch in found:
                found[switch].add(Connection(ingress, egress, job))
        return {name: frozenset(connections) for name, connections in found.items()}

    def owners(self) -> dict[Port, int]:
        """The job that owns each port that is owned."""
        rows = self._asked("SELECT switch, side, port, job FROM ports")
        return {(switch, side, port): job for switch, side, port, job in rows}

    def jobs(self) -> dict[int, bool]:
        """All jobs that have had circuits, and whether they still have."""
        rows = self._asked("SELECT job, ended_s IS NULL FROM jobs ORDER BY job")
        return {job: bool(running) for job, running in rows}


def _text(settings: Settings) -> str:
    rows = {
        name: [[c.ingress, c.egress, c.job] for c in sorted(connections)]
        for name, connections in sorted(settings.items())
    }
    return json.dumps(rows)


def _settings(text: str) -> dict[str, Connections]:
    return {
        name: frozenset(Connection(*row) for row in rows) for name, rows in json.loads(text).items()
    }
