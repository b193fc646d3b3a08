"""``odonata init``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from odonata.cli import options
from odonata.cli.numeric import Number, Whole
from odonata.cli.shared import command, print_json
from odonata.terminal import terminal

#: The same as ``odonata.scenario.starting.FAMILIES``, which would take most of a second to import
#: for ``--help``.
FAMILIES = ("dragonfly", "dragonfly+", "fat-tree", "torus", "hyperx", "crossbar")


@command()
@click.argument("file", required=False, default="scenario.toml", type=click.Path(path_type=Path))
@click.option("--family", type=click.Choice(FAMILIES), help="Kind of network.")
@click.option(
    "--nodes",
    type=Whole(2, 100_000),
    help="Number of nodes; more where the family has no layout with exactly so many.",
)
@click.option(
    "--load",
    type=Number(0, 1, above=True),
    metavar="SHARE",
    help="Random traffic that offers this share of a node's bandwidth, instead of a halo-exchange "
    "job that ends.",
)
@click.option("--routing", metavar="NAME", help="One of the family's routing algorithms.")
@options.json
def init(
    file: Path,
    family: str | None,
    nodes: int | None,
    load: float | None,
    routing: str | None,
    as_json: bool,
) -> None:
    """Write a first scenario, with comments, into FILE (scenario.toml).

    On a terminal, asks for whatever no option gives; elsewhere the scenario is a dragonfly of 72
    nodes with a halo-exchange job.
    """
    from odonata.output import check_new_file, new_file, write_file
    from odonata.scenario.starting import FAMILIES as KNOWN
    from odonata.scenario.starting import first_scenario

    check_new_file(file)
    asks = not as_json and family is None and sys.stdin.isatty()
    if asks:
        console = terminal()
        for name, one in KNOWN.items():
            console.print(f"  {name:<11} {one.about}", markup=False)
        family = click.prompt("Family", type=click.Choice(FAMILIES), default="dragonfly")
        if nodes is None:
            nodes = click.prompt("Nodes", type=Whole(2, 100_000), default=72)
        if routing is None:
            known = KNOWN[str(family)].routings
            routing = click.prompt("Routing", type=click.Choice(known), default=known[0])
        if load is None:
            kind: Any = Number(0, 1)
            asked = click.prompt("Load of random traffic (0: a stencil)", type=kind, default=0.0)
            load = asked or None
    text = first_scenario(family or "dragonfly", nodes=nodes or 72, load=load, routing=routing)
    with new_file(file) as partial:
        write_file(partial, text)
    if as_json:
        print_json({"file": str(file)})
    else:
        console = terminal()
        console.print(f"Written: {file}", markup=False, soft_wrap=True)
        for line in text.splitlines():
            if " has exactly " in line:
                console.print(f"Note:    {line[2:]}", markup=False, soft_wrap=True)
        console.print(f"Next:    odonata run {file}", markup=False, soft_wrap=True)
