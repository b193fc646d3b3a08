"""Tables of rows in CSV files, and data beside the checkout that they are made of."""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

#: Where pages and tables lie: the directory `studies/` of a checkout.
STUDIES = Path(__file__).resolve().parents[1]


def beside(name: str) -> Path | None:
    """A file or directory beside the checkout; where it is absent, says so."""
    found = next((above / name for above in STUDIES.parents if (above / name).exists()), None)
    if found is None:
        print(f"skipped: there is no ../{name}", file=sys.stderr)
    return found


def read_rows(file: Path) -> list[dict[str, str]]:
    """All rows, by column."""
    with file.open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def write_rows(file: Path, rows: Sequence[Mapping[str, object]], absent: object = "") -> None:
    """Writes rows; one that lacks a column of another has `absent` there."""
    _write(file, "w", rows, absent, header=True)


def append_rows(file: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Adds rows to a table, which may not be there yet."""
    _write(file, "a", rows, "", header=not file.exists() or file.stat().st_size == 0)


def _write(
    file: Path, mode: str, rows: Sequence[Mapping[str, object]], absent: object, *, header: bool
) -> None:
    columns = list(dict.fromkeys(column for row in rows for column in row))
    with file.open(mode, encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, columns, restval=absent, lineterminator="\n")
        if header:
            writer.writeheader()
        writer.writerows(rows)
