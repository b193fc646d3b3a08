"""``odonata design``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from odonata.cli import options
from odonata.cli.numeric import Number, Whole
from odonata.cli.shared import command, goes_on_in, notices, print_json, progress_terminal
from odonata.cli.topology import by_part
from odonata.terminal import terminal

#: The same as in ``odonata.study.design``, which would take long to import for ``--help``.
TRAFFIC = ("uniform", "all-to-all", "stencil", "scattered-stencil", "worst-shift")
NODES, RADIX, GPUS, RAILS, BANDWIDTH = (16, 100_000), (8, 1024), 64, 8, "25 GB/s"


@command()
@click.option("--nodes", type=Whole(1, NODES[1]), required=True, help="Number of nodes.")
@click.option(
    "--gpus",
    type=Whole(1, GPUS),
    default=1,
    help="GPUs of each node, each with an interface of its own, on a switch inside the node: the "
    "network joins all interfaces, and jobs have a rank on each GPU.",
)
@click.option(
    "--rails",
    type=Whole(1, RAILS),
    default=1,
    help="Networks side by side, which share a node's interfaces; without --gpus a node has one on "
    "each, with a rank of jobs.",
)
@click.option("--bandwidth", default=BANDWIDTH, metavar="RATE", help="Of every link.")
@click.option(
    "--traffic",
    default="uniform,all-to-all,stencil",
    metavar="LIST",
    help=f"What is compared, separated by commas: {', '.join(TRAFFIC)}.",
)
@click.option(
    "--radix", type=Whole(*RADIX), default=64, metavar="PORTS", help="Most ports of a switch."
)
@click.option(
    "--equal",
    type=click.Choice(["nodes", "cost"]),
    help="nodes: of each family the cheapest layout that carries uniform traffic at full "
    "bandwidth; cost: that of most bandwidth for the budget.  [default: cost with --budget, else "
    "nodes]",
)
@click.option(
    "--price",
    "prices",
    multiple=True,
    metavar="PART=NUMBER",
    help="Price of a part in your currency: switch_port, optical_cable (with its transceivers), "
    "copper_cable (to a node), local_cable (of copper, between switches of a group or pod; without "
    "it these are optical), switch (of any number of ports). May be given several times. Default: "
    "a port costs 1, an optical cable 1, a copper cable nothing.",
)
@click.option(
    "--budget",
    type=Number(above=True, largest=1e15),
    metavar="NUMBER",
    help="Most that a network may cost. Default with --equal cost: as much as the full fat tree.",
)
@click.option(
    "--packets", is_flag=True, help="Simulate packets as well, under the family's adaptive routing."
)
@options.jobs
@options.out(
    "Directory for the results. If the design has been there before, it continues. Default: "
    "results/design-N."
)
@options.json
def design(
    nodes: int,
    gpus: int,
    traffic: str,
    prices: tuple[str, ...],
    packets: bool,
    jobs: int | None,
    out: Path | None,
    as_json: bool,
    **how: Any,
) -> None:
    """Lay out a network of every family for N nodes, and compare what they cost and deliver.

    Chooses the numbers of fat trees, dragonflies, dragonfly+, full meshes, HyperX, tori, Slim Fly
    and Jellyfish, and one switch where that is enough; counts their parts, and simulates the same
    jobs on each by flows. Leaves a table, a picture, a report, and a scenario of each network.
    """
    from odonata.network.cost import Prices
    from odonata.output import Claim
    from odonata.progress import StudyBar
    from odonata.report.summaries import print_design
    from odonata.study.design import lay_out, write
    from odonata.study.execution import STORE_FILE

    chosen = lay_out(
        nodes,
        traffic=[one.strip() for one in traffic.split(",")],
        price=by_part(Prices, prices, "--price") if prices else None,
        gpus=gpus,
        **how,
    )
    name = f"design-{nodes}" if gpus == 1 else f"design-{nodes}x{gpus}"
    directory = out or Path("results") / name
    console = progress_terminal()
    with Claim(directory, goes_on=STORE_FILE) as held:
        with StudyBar(console, f"Networks for {chosen.design.who}") as bar, goes_on_in(directory):
            found = chosen.simulated(directory, packets, jobs, bar, notices(console))
        write(found, held, notices(console))
    if as_json:
        print_json({"directory": str(directory), **found.content})
    else:
        print_design(terminal(), found, directory)
