"""``odonata trace``: look at application traces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odonata.cli import options
from odonata.cli.numeric import Whole
from odonata.cli.shared import escape, group, new_table, print_json
from odonata.terminal import terminal

if TYPE_CHECKING:
    from rich.console import Console


@group()
def trace() -> None:
    """Look at traces of real applications."""


@trace.command()
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--records", type=Whole(0), default=0, help="Also print the first N records of each file."
)
@options.json
@options.trace_formats
def show(files: tuple[Path, ...], records: int, as_json: bool) -> None:
    """Print what trace files hold: ranks, and records and bytes sent by kind.

    Reads every FILE to its end, so that damage anywhere is found.
    """
    from odonata import describe_trace

    summaries = [describe_trace(file, records=records) for file in files]
    if as_json:
        print_json({"traces": summaries})
        return
    console = terminal()
    for summary in summaries:
        _print(console, summary)


def _print(console: Console, summary: dict[str, Any]) -> None:
    """Prints a summary for people."""
    from odonata.display import count, size
    from odonata.report.summaries import print_figures

    figures = {"ranks": summary["ranks"], "records": summary["records"], **summary["facts"]}
    print_figures(console, f"{summary['file']}: {summary['format']}", figures)
    table = new_table("kind", right=("records", "bytes sent"))
    for row in summary["kinds"]:
        sent = size(row["bytes_sent"]) if row["bytes_sent"] else ""
        table.add_row(escape(row["kind"]), count(row["records"]), sent)
    console.print(table)
    for sample in summary["samples"]:
        console.print(escape(sample), soft_wrap=True)
