"""``odonata show``."""

from __future__ import annotations

from pathlib import Path

import click

from odonata.cli.shared import debug_option, json_option, print_json, terminal


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@json_option
@debug_option
def show(directory: Path, as_json: bool) -> None:
    """Print the summary of an earlier run's result directory again."""
    from odonata.report import print_summary
    from odonata.results import Result

    result = Result.load(directory)
    if as_json:
        print_json({"directory": str(directory), **result.summary_dict, "timing": result.timing})
    else:
        print_summary(terminal(), result, directory)
