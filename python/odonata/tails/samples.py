"""Samples of times, from files of several kinds."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from odonata.errors import SampleError


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
    if path.is_dir():
        return _of_result(path, column)
    try:
        if path.suffix == ".parquet":
            import pyarrow.parquet as pq

            table = pq.read_table(path)
            return _of_column(path, table.column_names, column, lambda name: table[name].to_numpy())
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise SampleError(f"{path}: cannot be read: {error.strerror or error}") from error
    if path.suffix == ".parquet":
        raise SampleError(f"{path}: not a Parquet file")
    first = next((line for line in text.splitlines() if line.strip()), "")
    if not first:
        raise SampleError(f"{path}: empty")
    separator = "," if "," in first else "\t" if "\t" in first else None
    if separator is None and _is_number(first.split()[0]):
        return _of_words(path, text)
    marked = first.lstrip().startswith("#") and separator != ","
    if marked:
        # Lines of the file keep their numbers.
        rows = [[] if line.lstrip().startswith("#") else line.split() for line in text.splitlines()]
        header, rows = first.lstrip(" #\t").split(), [[], *rows]
    else:
        rows = list(csv.reader(io.StringIO(text), delimiter=separator or ";"))
        header = [name.strip() for name in rows[0]]

    def values(name: str) -> NDArray[np.float64]:
        at = header.index(name)
        numbers = []
        for line, row in enumerate(rows[1:], 1 if marked else 2):
            if not row:
                continue
            found = row[at] if at < len(row) else ""
            if not _is_number(found):
                raise SampleError(f"{path}: line {line}: found {found!r} in `{name}`, no number")
            numbers.append(float(found))
        return np.array(numbers)

    return _of_column(path, header, column, values)


def _of_words(path: Path, text: str) -> NDArray[np.float64]:
    numbers = []
    for line, row in enumerate(text.splitlines(), 1):
        for word in row.split("#", 1)[0].split():
            if not _is_number(word):
                raise SampleError(f"{path}: line {line}: found {word!r}; allowed: numbers")
            numbers.append(float(word))
    return np.array(numbers)


def _of_column(
    path: Path, names: Sequence[str], column: str | None, values: Callable[[str], ArrayLike]
) -> NDArray[np.float64]:
    if column is None:
        if len(names) != 1:
            raise SampleError(f"{path}: which column? --column takes one of: {', '.join(names)}")
        column = names[0]
    if column not in names:
        raise SampleError(f"{path}: no column {column!r}; there are: {', '.join(names)}")
    return np.asarray(values(column), dtype=np.float64)


def _of_result(path: Path, column: str | None) -> NDArray[np.float64]:
    from odonata.results import Result

    messages = Result.load(path).messages
    if column is not None:
        return _of_column(path, messages.column_names, column, lambda n: messages[n].to_numpy())
    if messages.num_rows == 0:
        raise SampleError(
            f"{path}: its run recorded no messages; run it again with --set record.messages=all"
        )
    latency_ps = messages["delivered_ps"].to_numpy() - messages["created_ps"].to_numpy()
    return np.asarray(latency_ps, dtype=np.float64) / 1_000.0


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
