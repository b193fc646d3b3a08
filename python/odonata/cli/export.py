"""``odonata export``."""

from __future__ import annotations

from pathlib import Path

import click

from odonata.cli import options
from odonata.cli.shared import command, escape, print_json
from odonata.terminal import terminal


@command()
@click.argument(
    "directories", metavar="DIR…", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["dragonview"]),
    default="dragonview",
    help="Tables of links and jobs by groups, rows and columns, which DragonView draws.",
)
@options.out(
    "Directory for the tables; must not exist yet, or be empty. Default: results/dragonview-1, -2 …"
)
@options.json
def export(directories: tuple[Path, ...], format_: str, out: Path | None, as_json: bool) -> None:
    """Write results of runs as tables for other programs.

    DIR is the result of a run on a network of groups, such as a dragonfly; several results go into
    the same tables, under the names of their directories.
    """
    from odonata.output import unused_file
    from odonata.results import Result
    from odonata.results.dragonview import write_tables

    named = {directory.resolve().name: directory for directory in directories}
    if len(named) < len(directories):
        raise click.UsageError(
            "two of the directories have the same name, by which they are distinguished"
        )
    directory = out or unused_file(format_, "")
    write_tables({name: Result.load(path) for name, path in named.items()}, directory)
    if as_json:
        print_json({"directory": str(directory), "runs": list(named)})
    else:
        terminal().print(f"Written: [bold]{escape(str(directory))}[/]", soft_wrap=True)
