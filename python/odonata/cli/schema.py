"""``odonata schema``."""

from __future__ import annotations

import click

from odonata.cli.shared import debug_option, print_json


@click.command()
@debug_option
def schema() -> None:
    """Print the JSON Schema of scenario files, with which editors complete and check them."""
    from odonata.schema import scenario_schema

    print_json(scenario_schema())
