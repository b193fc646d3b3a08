"""SQLite files that survive kills and full disks, and know what they hold."""

from __future__ import annotations

import contextlib
import sqlite3
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from odonata.errors import ClusterError, OutputError
from odonata.output import reason, write_file

if TYPE_CHECKING:
    from typing_extensions import Self

#: How long an open waits for another process that holds the file.
LONGEST_WAIT_S = 30.0


class StoreFile:
    """A file of one kind: SQLite with a write-ahead log, where a transaction is there whole or not.

    Attributes:
        application: Says of an SQLite file that it is of this kind (PRAGMA application_id).
        version: Of its tables (PRAGMA user_version).
        tables: SQL that makes them.
        content: What is in it, for errors.
        made_by: The command that makes it, for errors.
    """

    application: ClassVar[int]
    version: ClassVar[int]
    tables: ClassVar[str]
    content: ClassVar[str]
    made_by: ClassVar[str]

    def __init__(self, path: Path, *, create: bool = False) -> None:
        """Opens a store.

        Args:
            path: The file.
            create: Make it if there is none.

        Raises:
            OutputError: If it is not there or cannot be opened or made.
            ClusterError: If it is something else, or damaged.
        """
        self.path = path
        if not create and not path.is_file():
            raise OutputError(f"{path}: there is no such file; `{self.made_by}` makes it")
        if create:
            self._make()
        deadline = time.monotonic() + LONGEST_WAIT_S
        while True:
            try:
                self._connect()
                return
            except sqlite3.DatabaseError as error:
                if not isinstance(error, sqlite3.OperationalError):
                    raise ClusterError(f"{path}: not a store of {self.content}: {error}") from error
                # SQLite doesn't wait for a lock where two that change a new file's journal could
                # wait for each other: it refuses one of them at once, whatever the timeout. (Codes
                # of errors come with Python 3.11.)
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise OutputError(f"{path}: cannot be opened: {error}") from error
            time.sleep(0.01)

    def _make(self) -> None:
        """Makes an empty file, of this user alone: who may read a store may lock it."""
        try:
            write_file(self.path, b"", permissions=0o600)
        except FileExistsError:
            # SQLite itself would follow a link.
            if not stat.S_ISREG(self.path.lstat().st_mode):
                raise OutputError(f"{self.path}: is a link or no file; remove it") from None
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be made: {reason(error)}") from error

    def _connect(self) -> None:
        self._db = sqlite3.connect(self.path, timeout=LONGEST_WAIT_S, isolation_level=None)
        try:
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._check()
        except BaseException:
            self._db.close()
            raise

    def _check(self) -> None:
        if self._is_empty():
            with self.transaction():
                # Another process may have made them since.
                if self._is_empty():
                    for statement in self.tables.split(";"):
                        self._db.execute(statement)
                    self._db.execute(f"PRAGMA application_id={self.application}")
                    self._db.execute(f"PRAGMA user_version={self.version}")
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if application != self.application:
            raise ClusterError(f"{self.path}: an SQLite file, but no store of {self.content}")
        if version != self.version:
            raise ClusterError(
                f"{self.path}: found version {version} of the store; allowed: {self.version}. It "
                "was written by another version of Odonata"
            )

    def _is_empty(self) -> bool:
        (application,) = self._db.execute("PRAGMA application_id").fetchone()
        (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return bool(tables == 0 and application == 0)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is changed inside is written, or nothing."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def close(self) -> None:
        """Closes the file."""
        self._db.close()

    def __enter__(self) -> Self:
        """Closes the file at the end of the block."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Closes the file."""
        self.close()
