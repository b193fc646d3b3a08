"""``odonata report``."""

from __future__ import annotations

from pathlib import Path

import click

from odonata.cli import options
from odonata.cli.shared import command, print_json, progress_terminal
from odonata.terminal import terminal


@command()
@click.argument(
    "directories", metavar="DIR…", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@options.out(
    "The file, which must not exist yet. Default: results/report-1.html, results/report-2.html …",
    metavar="FILE",
)
@click.option("--title", metavar="TEXT", help="Headline. Default: the title of what is shown.")
@options.json
def report(
    directories: tuple[Path, ...], out: Path | None, title: str | None, as_json: bool
) -> None:
    """Write results as one HTML file that opens anywhere, to pass on.

    DIR is the directory of a run, replications, a comparison, a study, a schedule, a search for
    saturation, an analysis of interference, networks by design, predictions of collectives or a
    validation. With several runs, the file first shows how they differ. The file loads nothing from
    elsewhere and has at most 5 MB.
    """
    from odonata.report.html import write_report

    with progress_terminal().status("Writing the report"):
        file = write_report(*directories, out=out, title=title)
    if as_json:
        print_json({"file": str(file), "bytes": file.stat().st_size})
    else:
        size = f"{file.stat().st_size / 1e6:.1f} MB"
        terminal().print(f"Report: {file} ({size})", markup=False, soft_wrap=True)
