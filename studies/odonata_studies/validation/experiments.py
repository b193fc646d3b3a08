"""The table of the experiments that explain differences, on disk."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from odonata.output import create
from odonata_studies.rows import read_rows


def write(rows: Sequence[Mapping[str, Any]], file: Path) -> None:
    """Writes one line per point; the columns are those of the first row."""
    with create(file, "w") as written:
        if rows:
            writer = csv.DictWriter(written, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


def read(file: Path) -> list[dict[str, Any]]:
    """Reads it back: texts in the first column, numbers in the others."""
    return [
        {key: value if key == "point" else float(value) for key, value in row.items()}
        for row in read_rows(file)
    ]
