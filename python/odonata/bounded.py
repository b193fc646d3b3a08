"""Reads files: each up to a limit, so that reading ends and takes memory only in proportion.

The engine opens them: compressed files (gzip, xz, zstd) read as their content, which may be 100
times their size, or 64 MiB of small ones; a pipe may give 1 GiB; devices are refused. Here a text
that is read whole may have 256 MiB, a file in an archive 64 MiB, and the table of a Parquet file
1,000 times its size, or 1 GiB of numbers.

Without `error`, functions raise what Python does: `OSError` and `ValueError`. With it, all that
keeps a file from being read is an exception of that class, which names the file and why.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import errno
import io
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from odonata._engine import MOST_TEXT_BYTES, OpenFile, read_file

if TYPE_CHECKING:
    import bz2
    import tarfile

    import pyarrow as pa

#: Most bytes of a file in an archive; those that are read of it together may be a text's.
MOST_MEMBER_BYTES = 64 << 20
#: Most bytes of what describes such a file: names, extended headers.
_MOST_HEADER_BYTES = 1 << 20
#: What a table of a Parquet file may take, as bytes and as a multiple of the file's size.
_MOST_TABLE_BYTES = 1 << 30
_MOST_TABLE_TIMES = 1_000
#: How archives begin that the engine does not decompress.
_BZIP2 = b"BZh"
#: Bytes that are passed over at a time.
_PIECE = 1 << 18

#: Makes an exception of a sentence.
Error = Callable[[str], Exception]
_Path = str | os.PathLike[str]


@contextlib.contextmanager
def _said(path: _Path, error: Error | None) -> Iterator[None]:
    """Says of a file what keeps the block from reading it."""
    try:
        yield
    except (OSError, ValueError) as found:
        if error is None:
            raise
        raise error(f"{os.fspath(path)}: cannot be read: {_why(found)}") from None


def _why(error: OSError | ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        if error.object[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return "it is text in UTF-16; allowed: a UTF-8 text file. Save it as UTF-8"
        return f"byte {error.start} is not UTF-8; allowed: a UTF-8 text file"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _refused(path: _Path, sentence: str) -> OSError:
    return OSError(errno.EINVAL, sentence, os.fspath(path))


def read_bytes(path: _Path, error: Error | None = None) -> bytes:
    """What a file holds.

    Args:
        path: The file; `-` is standard input.
        error: What is raised if it cannot be read or holds more than 256 MiB.
    """
    with _said(path, error):
        if os.fspath(path) != "-":
            return read_file(path, MOST_TEXT_BYTES)
        content = sys.stdin.buffer.read(MOST_TEXT_BYTES + 1)
        if len(content) > MOST_TEXT_BYTES:
            raise _refused(path, "it gives more than 256 MiB, the most that is read")
        return content


def first_bytes(path: _Path, most: int) -> bytes:
    """The beginning of a file; nothing of one that cannot be read.

    Args:
        path: The file.
        most: Bytes at most.
    """
    try:
        with Path(path).open("rb") as file:
            return file.read(most)
    except OSError:
        return b""


def read_text(path: _Path, error: Error | None = None, *, errors: str = "strict") -> str:
    """A text file in UTF-8, without the mark that some editors put at its beginning.

    Args:
        path: The file; `-` is standard input.
        error: What is raised if it cannot be read, holds more than 256 MiB or is no UTF-8.
        errors: What becomes of bytes that are none: as of `bytes.decode`.
    """
    with _said(path, error):
        text = read_bytes(path).decode("utf-8-sig", errors)
    # Ends of lines as by `open`.
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def read_json(path: _Path, error: Error | None = None) -> Any:
    """What a JSON file holds.

    Args:
        path: The file.
        error: What is raised if it cannot be read, holds more than 256 MiB or is no JSON.
    """
    with _said(path, error):
        try:
            return json.loads(read_text(path))
        except RecursionError:
            raise ValueError("it is nested too deeply") from None


def csv_rows(
    text: str, where: str, error: Error, *, separator: str = ","
) -> Iterator[tuple[int, list[str]]]:
    """Rows of a table of texts, the header among them; blank lines are left out.

    Args:
        text: The table.
        where: Its name in messages.
        error: What is raised if a line is no row.
        separator: What stands between cells.

    Yields:
        Line, from 1, and cells.
    """
    rows = csv.reader(text.splitlines(keepends=True), delimiter=separator)
    try:
        yield from ((rows.line_num, row) for row in rows if row)
    except csv.Error as found:
        raise error(f"{where}: line {rows.line_num}: {found}") from None


def check_file(path: _Path) -> None:
    """Refuses what is no file, before a library opens it that would wait for a pipe's writer.

    Raises:
        OSError: If it is there and none.
    """
    if Path(path).exists() and not Path(path).is_file():
        raise _refused(path, "it is a directory, device or pipe; allowed: a file")


def read_parquet(path: _Path, columns: Sequence[str] | None = None) -> pa.Table:
    """The table of a Parquet file.

    Raises:
        OSError: If it cannot be read, or its rows would take more memory than it may.
        pyarrow.ArrowException: If it is none.
    """
    import pyarrow.parquet as pq

    check_file(path)
    with pq.ParquetFile(path) as file:
        most = max(_MOST_TABLE_BYTES, _MOST_TABLE_TIMES * Path(path).stat().st_size)
        wide = len(file.schema_arrow) if columns is None else len(columns)
        if 8 * wide * file.metadata.num_rows > most:
            rows = f"{file.metadata.num_rows:,} rows of {wide} columns"
            raise _refused(path, f"it says that it has {rows}; allowed: {most:,} bytes of numbers")
        return file.read(columns)


# --- Archives -----------------------------------------------------------------------------------


def members(
    path: _Path, wanted: Callable[[str], bool], error: Error | None = None
) -> Iterator[tuple[str, bytes]]:
    """Files of a tar archive, compressed (gzip, xz, zstd, bzip2) or not.

    Args:
        path: The archive.
        wanted: Whether the file of that name is to be read.
        error: What is raised if it cannot be read, is no archive or damaged, or a file in it is
            larger than 64 MiB or those that are read together than 256 MiB.

    Yields:
        Name and content.
    """
    total = 0
    with _said(path, error), _archive(path) as (archive, stream):
        while (member := stream.next(archive)) is not None:
            # Files that a Mac adds beside each one begin with "._".
            name = member.name
            if not member.isfile() or Path(name).name.startswith("._") or not wanted(name):
                continue
            if member.size > MOST_MEMBER_BYTES:
                short = name if len(name) <= 80 else name[:80] + "…"
                raise _refused(path, f"{short} in it is larger than 64 MiB, the most that is read")
            total += member.size
            if total > MOST_TEXT_BYTES:
                raise _refused(
                    path, "what is read of it is larger than 256 MiB; split it into archives"
                )
            yield name, stream.content(archive, member)


@contextlib.contextmanager
def _archive(path: _Path) -> Iterator[tuple[tarfile.TarFile, _Stream]]:
    import tarfile

    try:
        stream = _Stream(path)
        with tarfile.open(fileobj=cast("BinaryIO", stream), mode="r:") as archive:
            yield archive, stream
    except (tarfile.TarError, EOFError, ValueError, OverflowError, RecursionError) as error:
        raise _refused(path, f"it is no tar archive or damaged: {error}") from None


def is_archive(path: _Path, error: Error | None = None) -> bool:
    """Whether a file is a tar archive, compressed or not.

    Args:
        path: The file.
        error: What is raised if it cannot be read.
    """
    import tarfile

    with _said(path, error):
        start = _Stream(path).read(tarfile.BLOCKSIZE)
    try:
        tarfile.TarInfo.frombuf(start, "utf-8", "surrogateescape")
    except (tarfile.TarError, ValueError):
        return False
    return True


class _Stream(io.RawIOBase):
    """The content of a compressed archive for `tarfile`, which goes forward in it alone.

    It reads what describes a member into memory, however large that says it is; here that ends
    after :data:`_MOST_HEADER_BYTES`.
    """

    def __init__(self, path: _Path) -> None:
        self._path = path
        self._source: OpenFile | bz2.BZ2File = OpenFile(path)
        self._most: int | None = None
        self._start = self._source.read(len(_BZIP2))
        if self._start == _BZIP2:
            import bz2

            check_file(path)
            self._source, self._start = bz2.open(path), b""  # noqa: SIM115
            self._most = max(64 << 20, 100 * Path(path).stat().st_size)
        self._position = 0
        self._allowed = _MOST_HEADER_BYTES

    def next(self, archive: tarfile.TarFile) -> tarfile.TarInfo | None:
        """The next member; those before are forgotten, of which there may be millions."""
        self._allowed = _MOST_HEADER_BYTES
        archive.members.clear()  # type: ignore[attr-defined]
        return archive.next()

    def content(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
        """What a member holds."""
        self._allowed = member.size
        file = archive.extractfile(member)
        assert file is not None
        return file.read()

    def read(self, size: int | None = -1) -> bytes:
        """The next bytes."""
        if size is None or not 0 <= size <= self._allowed:
            raise _refused(self._path, "what describes a file in it is larger than 1 MiB")
        self._allowed -= size
        return self._next(size)

    def _next(self, size: int) -> bytes:
        given, self._start = self._start[:size], self._start[size:]
        try:
            given += self._source.read(size - len(given))
        except EOFError as error:  # of bz2 alone
            raise _refused(self._path, f"it is damaged: {error}") from None
        self._position += len(given)
        if self._most is not None and self._position > self._most:
            raise _refused(
                self._path,
                f"it holds more than {self._most >> 20} MiB, the most that is read of a compressed "
                "file of its size; decompress it first if that is right",
            )
        return given

    def tell(self) -> int:
        """Bytes before the next."""
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Goes forward."""
        if whence != os.SEEK_SET or offset < self._position:
            raise ValueError("its parts are not in order")
        while self._position < offset:
            if not self._next(min(offset - self._position, _PIECE)):
                break
        return self._position
