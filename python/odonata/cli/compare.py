"""``odonata compare``."""

from __future__ import annotations

from pathlib import Path

import click

from odonata.cli import options
from odonata.cli.shared import command, notices, print_json, progress_terminal
from odonata.terminal import terminal


@command()
@click.argument(
    "directories", metavar="A B…", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@options.out(
    "Directory for tables and picture; must not exist yet, or be empty. "
    "Default: results/compare-1, results/compare-2 …"
)
@options.json
def compare(directories: tuple[Path, ...], out: Path | None, as_json: bool) -> None:
    """Compare results: what differs from the first, and how certain the difference is.

    A, B … are directories that `odonata run` left, with or without --replications, `saturation`,
    `interference`, or `schedule`: one that holds several schedules may stand alone. Jobs and link
    classes are matched by name. A change has a 95 % interval if both results have replications, or
    if both are of traffic in steady state.
    """
    from odonata.output import claim
    from odonata.report.summaries import print_comparison
    from odonata.study.comparing import compare as compare_results

    with claim(out, "compare") as held:
        directory = held.directory
        try:
            found = compare_results(*directories)
        except ValueError as error:
            raise click.UsageError(str(error)) from None
        found.save(directory, claim=held, notice=notices(progress_terminal()))
    if as_json:
        print_json(
            {"directory": str(directory), **found.content, "figures": found.table.to_pylist()}
        )
    else:
        print_comparison(terminal(), found.content, found.table, directory)
