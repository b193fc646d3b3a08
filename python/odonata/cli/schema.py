"""``odonata schema``."""

from __future__ import annotations

import click

from odonata.cli.shared import command, print_json


@command()
@click.argument("what", type=click.Choice(["scenario", "study"]), default="scenario")
def schema(what: str) -> None:
    """Print the JSON Schema of scenario or study files, so that editors can check them."""
    from odonata.scenario.schema import scenario_schema, study_schema

    print_json(scenario_schema() if what == "scenario" else study_schema())
