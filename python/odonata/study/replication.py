"""The same scenario with several seeds: how much each figure scatters."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from odonata.columns import table_of
from odonata.output import Claim, write_file, write_parquet
from odonata.results import SCENARIO_FILE, Result
from odonata.results.stored import read_table, refusal
from odonata.scenario import Scenario
from odonata.study.execution import Point, Record, run_points
from odonata.study.intervals import interval

TABLE_FILE = "replications.parquet"

SCHEMA = pa.schema(
    {
        **dict.fromkeys(("scope", "name", "quantity"), pa.string()),
        **dict.fromkeys(("mean", "ci95", "deviation", "minimum", "maximum"), pa.float64()),
        "replications": pa.int32(),
    }
)


def replicate(
    scenario: Scenario,
    count: int,
    directory: Path,
    *,
    jobs: int | None = None,
    progress: Callable[[float, int], object] | None = None,
    claim: Claim | None = None,
) -> pa.Table:
    """Simulates a scenario with `count` seeds, its own and those that follow it, side by side.

    Args:
        scenario: What to simulate.
        count: Replications, at least 2.
        directory: Must not exist yet, or be empty. Gets a result directory ``seed-N`` per
            replication, ``replications.parquet`` and ``scenario.toml``.
        jobs: Simulations at a time. Default: processors.
        progress: As of ``run_points``.
        claim: Of the directory, if it is claimed already.

    Returns:
        One row per figure of the summary: its mean over the replications, half the width of the
        mean's 95 % confidence interval (Student's t), and its spread. Figures that some
        replications lack are left out.

    Raises:
        OutputError: If the directory holds something or cannot be written.
        ValueError: If there are fewer than two replications.
    """
    if count < 2:
        raise ValueError(f"found {count} replications; allowed: at least 2")
    seeds = range(scenario.seed, scenario.seed + count)
    with claim or Claim(directory) as held:
        directory = held.directory
        points = [
            Point(
                name := f"seed-{seed}", scenario.with_seed(seed), partial(_save, directory / name)
            )
            for seed in seeds
        ]
        records = run_points(points, jobs=jobs, progress=progress)
        table = _table(list(records.values()))
        with held.adding() as written:
            write_parquet(written / TABLE_FILE, table, compression="zstd", compression_level=3)
            write_file(written / SCENARIO_FILE, scenario.to_toml(directory=directory))
    return table


def load(directory: Path) -> tuple[Scenario, pa.Table]:
    """What was simulated there with its first seed, and the table.

    Raises:
        OutputError: If it cannot be read.
        ScenarioError: If its scenario has been changed into none.
    """
    file = directory / TABLE_FILE
    table = read_table(file, SCHEMA, full=SCHEMA.names)
    if not table.num_rows:
        raise refusal(file, "it has no row")
    return Scenario.from_file(directory / SCENARIO_FILE), table


def _save(directory: Path, result: Result) -> Record:
    result.save(directory)
    figures = {}
    for row in result.summary.to_pylist():
        if row["value"] is not None and row["quantity"] != "seed":
            figures["\t".join((row["scope"], row["name"], row["quantity"]))] = row["value"]
    return figures


def _table(records: Sequence[Record]) -> pa.Table:
    rows: list[dict[str, Any]] = []
    for key in records[0]:
        values = [record[key] for record in records if key in record]
        if len(values) < len(records) or not all(math.isfinite(value) for value in values):
            continue
        found = interval(values)
        scope, name, quantity = key.split("\t")
        rows.append(
            {
                "scope": scope,
                "name": name,
                "quantity": quantity,
                "mean": found.mean,
                "ci95": found.half_width,
                "deviation": found.deviation,
                "minimum": min(values),
                "maximum": max(values),
                "replications": found.count,
            }
        )
    return table_of(rows, SCHEMA)


def figures_of_jobs(table: pa.Table) -> dict[str, dict[str, Mapping[str, Any]]]:
    """Rows of the table by job and quantity."""
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in table.to_pylist():
        if row["scope"] == "job":
            found.setdefault(row["name"], {})[row["quantity"]] = row
    return found
