"""One measured figure beside what it should be."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv

from odonata.output import write_csv, write_parquet

#: Share of the reference that a figure may differ by.
TOLERANCE = 0.05


@dataclass(frozen=True)
class Comparison:
    """One measured figure beside its reference.

    Attributes:
        section: Which part of the study it belongs to.
        case: What was simulated, in a few words.
        x: Where it lies in the section's figure, such as the offered load; NaN if nowhere.
        series: Which line of the figure.
        quantity: What was measured, with its unit.
        ours: The measured figure; NaN if there is none.
        ci95: Half the width of its 95 % confidence interval; NaN if there is none, 0 if exact.
        reference: What it should be; NaN if there is no number.
        source: Of the reference.
        explanation: Key of the experiment that explains a difference, if one does.
        remark: What else the reader should know.
    """

    section: str
    case: str
    x: float
    series: str
    quantity: str
    ours: float
    ci95: float
    reference: float
    source: str
    explanation: str = ""
    remark: str = ""

    @property
    def difference(self) -> float:
        """As a share of the reference; NaN if there is none."""
        if self.reference == 0:
            return 0.0 if self.ours == 0 else math.inf
        return self.ours / self.reference - 1

    @property
    def verdict(self) -> str:
        """What the figures say; computed, never given."""
        if math.isnan(self.ours) or math.isnan(self.reference):
            return "not compared"
        if abs(self.difference) <= 1e-6:
            return "exact"
        if abs(self.difference) <= TOLERANCE:
            return "within 5 %"
        if abs(self.ours - self.reference) <= self.ci95:
            return "within its interval"
        return f"explained by {self.explanation}" if self.explanation else "DIFFERS"

    @property
    def passes(self) -> bool:
        """Whether nothing is left to explain."""
        return self.verdict not in ("DIFFERS", "not compared")


def worst(comparisons: Iterable[Comparison]) -> float:
    """Largest difference, as a share; NaN without any."""
    found = [abs(c.difference) for c in comparisons if not math.isnan(c.difference)]
    return max(found, default=math.nan)


def table(comparisons: Sequence[Comparison]) -> pa.Table:
    """All comparisons with their differences and verdicts."""
    columns = {
        field.name: [getattr(c, field.name) for c in comparisons] for field in fields(Comparison)
    }
    columns["difference"] = [c.difference for c in comparisons]
    columns["verdict"] = [c.verdict for c in comparisons]
    return pa.table(columns)


def write(comparisons: Sequence[Comparison], directory: Path) -> None:
    """Writes ``comparisons.csv`` and ``comparisons.parquet``."""
    written = table(comparisons)
    write_csv(directory / "comparisons.csv", written)
    write_parquet(directory / "comparisons.parquet", written)


def read(file: Path) -> list[Comparison]:
    """Comparisons of a CSV file; verdicts are computed again."""
    texts = [f.name for f in fields(Comparison) if f.type == "str"]
    numbers = [f.name for f in fields(Comparison) if f.type == "float"]
    types = {**dict.fromkeys(texts, pa.string()), **dict.fromkeys(numbers, pa.float64())}
    options = pacsv.ConvertOptions(column_types=types, null_values=["nan", "NaN"])
    found = []
    for row in pacsv.read_csv(file, convert_options=options).to_pylist():
        values: dict[str, Any] = {name: row[name] for name in texts}
        values |= {name: math.nan if row[name] is None else row[name] for name in numbers}
        found.append(Comparison(**values))
    return found
