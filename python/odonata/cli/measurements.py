"""``odonata measurements``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from odonata.cli import options
from odonata.cli.shared import command, escape, new_table, print_json
from odonata.output import check_new_file, new_file, write_csv, write_parquet
from odonata.terminal import terminal


@command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@options.out("Write the table there: .csv or .parquet.", metavar="FILE")
@options.json
def measurements(paths: tuple[Path, ...], out: Path | None, as_json: bool) -> None:
    """Read measured collectives from benchmarks' files into one table.

    PATHS are folders or archives of PICO, output of the OSU Micro-Benchmarks, of the Intel MPI
    Benchmarks, of nccl-tests or rccl-tests, tables that this command has written as CSV, or folders
    of these. The table has one row for each
    size and algorithm: collective, the measured name and Odonata's, bytes of a rank's vector,
    nodes, ranks, iterations, median, 10th and 90th percentile of the time in ns, hosts.
    """
    from odonata.errors import MachineError
    from odonata.machines.measurements import read_measurements, to_table

    if out is not None:
        if out.suffix not in (".csv", ".parquet"):
            raise MachineError(f"--out: found {out.name}; allowed: a name in .csv or .parquet")
        check_new_file(out)
    found = read_measurements(paths)
    table = to_table(found)
    if out is not None:
        from odonata.results.tables import with_units

        with new_file(out) as partial:
            if out.suffix == ".csv":
                write_csv(partial, table)
            else:
                write_parquet(partial, with_units(table))
    if as_json:
        print_json({"measurements": table.to_pylist()})
        return
    _show(found)


def _show(found: list[Any]) -> None:
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for row in found:
        key = (row.source, row.test, row.operation, row.nodes, row.per_node)
        groups.setdefault(key, []).append(row)
    figures = ("nodes", "ranks a node", "algorithms", "of them simulated", "rows")
    table = new_table("source", "test", "collective", right=figures, keys=3)
    for (source, test, operation, nodes, per_node), rows in groups.items():
        names = {row.name: row.algorithm for row in rows}
        simulated = sum(algorithm not in (None, "auto") for algorithm in names.values())
        table.add_row(
            *map(escape, (source, test, operation)),
            str(nodes),
            str(per_node or "?"),
            str(len(names)),
            str(simulated),
            str(len(rows)),
        )
    terminal().print(table)
