"""Samples of times, from files of several kinds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from odonata.bounded import csv_rows, read_parquet, read_text
from odonata.errors import SampleError
from odonata.numbers import finite

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Table:
    """Columns of a file.

    Attributes:
        path: Where they are from.
        names: Names of the samples.
        usual: The one that is meant where none is named, if there is such a one.
    """

    path: Path
    names: tuple[str, ...]
    _numbers: Callable[[str], ArrayLike] = field(repr=False)
    _words: Callable[[str], Sequence[str]] = field(repr=False)
    usual: str | None = None

    def numbers(self, column: str | None) -> NDArray[np.float64]:
        """A column of numbers; which may be left open if there is one, or a usual one.

        Raises:
            SampleError: If there is no such column, or something in it is no number; says where.
        """
        if column is None:
            column = self.usual
        if column is None:
            if len(self.names) != 1:
                allowed = ", ".join(self.names)
                raise SampleError(f"{self.path}: which column? --column takes one of: {allowed}")
            column = self.names[0]
        return np.asarray(self._numbers(self._known(column)), dtype=np.float64)

    def words(self, column: str) -> list[str]:
        """A column as it is written.

        Raises:
            SampleError: If there is no such column.
        """
        return list(self._words(self._known(column)))

    def _known(self, column: str) -> str:
        if column not in self.names:
            raise SampleError(
                f"{self.path}: no column {column!r}; there are: {', '.join(self.names)}"
            )
        return column


def read_samples(path: Path, column: str | None = None) -> NDArray[np.float64]:
    """Samples of a file or of a run's result directory.

    Args:
        path: A text file of numbers with blanks or line ends between them; a CSV or TSV file with
            a header; a table with blanks between columns whose header begins with # (Netgauge's;
            further lines that begin so are skipped); a Parquet file; or the directory of a result,
            whose messages' latencies in ns are taken (all that the run recorded).
        column: Of a table; may be left out if it has one.

    Raises:
        SampleError: If there is no such file or column, or something in it is no number; says
            where.
    """
    table = read_table(path)
    return _of_words(path) if table is None else table.numbers(column)


def read_table(path: Path) -> Table | None:
    """The columns of a file; `None` if it has numbers alone.

    Of a result's directory those of its messages, with `latency_ns` beside them, the usual one.

    Raises:
        SampleError: If it cannot be read, or the run recorded no messages.
    """
    if path.is_dir():
        return _of_result(path)
    if path.suffix == ".parquet":
        import pyarrow as pa

        try:
            return _of_arrow(path, read_parquet(path))
        except OSError as error:
            raise SampleError(f"{path}: cannot be read: {error.strerror or error}") from error
        except pa.ArrowException as error:
            raise SampleError(f"{path}: not a Parquet file: {error}") from error
    text = read_text(path, SampleError, errors="replace")
    first = next((line for line in text.splitlines() if line.strip()), "")
    if not first:
        raise SampleError(f"{path}: empty")
    separator = "," if "," in first else "\t" if "\t" in first else None
    if separator is None and _is_number(first.split()[0]):
        return None
    if first.lstrip().startswith("#") and separator != ",":
        header = first.lstrip(" #\t").split()
        numbered = [(at, line.split()) for at, line in enumerate(text.splitlines(), 1)]
        lines = [(at, row) for at, row in numbered if row and not row[0].startswith("#")]
    else:
        rows = csv_rows(text, str(path), SampleError, separator=separator or ";")
        header = [name.strip() for name in next(rows)[1]]
        lines = list(rows)

    def words(name: str) -> list[str]:
        at = header.index(name)
        return [row[at].strip() if at < len(row) else "" for _, row in lines]

    def numbers(name: str) -> NDArray[np.float64]:
        found = words(name)
        for (line, _), word in zip(lines, found, strict=True):
            if not _is_number(word):
                raise SampleError(f"{path}: line {line}: found {word!r} in `{name}`, no number")
        return np.array([float(word) for word in found])

    return Table(path, tuple(header), numbers, words)


def _of_arrow(path: Path, table: pa.Table) -> Table:
    def words(name: str) -> list[str]:
        return ["" if value is None else str(value) for value in table[name].to_pylist()]

    def numbers(name: str) -> NDArray[np.float64]:
        try:
            return np.asarray(table[name].to_numpy(), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise SampleError(f"{path}: `{name}` has no numbers: {error}") from error

    return Table(path, tuple(table.column_names), numbers, words)


def _of_words(path: Path) -> NDArray[np.float64]:
    numbers = []
    for line, row in enumerate(read_text(path, SampleError, errors="replace").splitlines(), 1):
        for word in row.split("#", 1)[0].split():
            if not _is_number(word):
                raise SampleError(f"{path}: line {line}: found {word!r}; allowed: numbers")
            numbers.append(float(word))
    return np.array(numbers)


def _of_result(path: Path) -> Table:
    from odonata.results import Result

    messages = Result.load(path).messages
    if messages.num_rows == 0:
        raise SampleError(
            f"{path}: its run recorded no messages; run it again with --set record.messages=all"
        )
    latency_ps = messages["delivered_ps"].to_numpy() - messages["created_ps"].to_numpy()
    latency_ns = np.asarray(latency_ps, dtype=np.float64) / 1_000.0
    table = _of_arrow(path, messages.append_column("latency_ns", [latency_ns]))
    return replace(table, usual="latency_ns")


def _is_number(word: str) -> bool:
    try:
        finite(word)
    except ValueError:
        return False
    return True
