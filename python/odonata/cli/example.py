"""``odonata example``."""

from __future__ import annotations

from pathlib import Path

import click

from odonata.cli import options
from odonata.cli.shared import command, new_table, print_json
from odonata.terminal import terminal


def _names(context: click.Context, parameter: click.Parameter, begin: str) -> list[str]:
    """The examples whose name begins so, for a shell that completes it."""
    from odonata.shipped import EXAMPLES

    return [name for name in EXAMPLES if name.startswith(begin)]


@command()
@click.argument("name", required=False, shell_complete=_names)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=".",
    show_default=False,
    metavar="DIR",
    help="Directory to copy into. Default: this one.",
)
@options.json
def example(name: str | None, out: Path, as_json: bool) -> None:
    """Copy an example out of the installed package: a scenario, a trace, a job log, a wiring.

    Without NAME it lists them.
    """
    from odonata.shipped import EXAMPLES
    from odonata.shipped import example as copy

    if name is None:
        if as_json:
            print_json(
                {
                    key: {
                        "about": one.about,
                        "files": one.files,
                        "command": one.command.format(one.files[0]),
                    }
                    for key, one in EXAMPLES.items()
                }
            )
            return
        console = terminal()
        table = new_table("name")
        table.add_column("what it shows", prose=True)
        for key, one in EXAMPLES.items():
            table.add_row(key, one.about)
        console.print(table)
        console.print("Copy one with: odonata example NAME")
        return
    if name not in EXAMPLES:
        raise click.UsageError(f"found {name}; allowed: {', '.join(EXAMPLES)}")
    file = copy(name, out)
    command = EXAMPLES[name].command.format(file)
    if as_json:
        print_json({"file": str(file), "command": command})
        return
    console = terminal()
    for written in EXAMPLES[name].files:
        console.print(f"Written: {out / written}", markup=False, soft_wrap=True)
    console.print(f"Next:    {command}", markup=False, soft_wrap=True)
