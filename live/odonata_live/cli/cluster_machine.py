"""``odonata cluster machine``."""

from __future__ import annotations

from pathlib import Path

import click

from odonata.cli.shared import debug_option, out_option
from odonata.terminal import say
from odonata_live.cli.cluster_options import read_topology, topology_option


@click.command()
@topology_option(default="must be given")
@click.option(
    "--nodes",
    metavar="HOSTS",
    help="The nodes to take: a list such as n[0-3,7], or a file with hosts or lists, one a line.  "
    "[default: all of the topology]",
)
@click.option("--name", default="my cluster", show_default=True, help="What the machine is called.")
@click.option(
    "--bandwidth",
    default="25 GB/s",
    show_default=True,
    metavar="RATE",
    help="Of a node's link, which no topology tells.",
)
@click.option(
    "--latency", default="200 ns", show_default=True, metavar="TIME", help="Of every link."
)
@out_option(
    "Directory for the scenario; must not exist yet, or be empty. Default: results/machine-1 …"
)
@debug_option
def machine(
    topology: Path | None,
    nodes: str | None,
    name: str,
    bandwidth: str,
    latency: str,
    out: Path | None,
) -> None:
    """Write the scenario of a cluster: its network and hosts, from Slurm's topology.

    The scenario is for schedule --network, cluster what-if and predict-collective. Comments say
    what is assumed. InfiniBand's own cables are read by family = "ibnetdiscover".
    """
    if topology is None:
        allowed = "--topology FILE, such as topology.conf or what scontrol show topology prints"
        raise click.UsageError(f"found no topology; allowed: {allowed}")
    from odonata.machines.hosts import read_hosts
    from odonata.output import claim, write_file
    from odonata.units import Duration, Rate, UnitError
    from odonata_live.cluster.machine import SCENARIO_FILE, machine_files

    try:
        rate, time = Rate(bandwidth), Duration(latency)
    except UnitError as error:
        raise click.UsageError(f"--bandwidth, --latency: {error}") from None
    listed = None if nodes is None else read_hosts(nodes)
    texts = machine_files(read_topology(topology), listed, name, rate, time)
    with claim(out, "machine") as held, held.adding() as partial:
        for file, text in texts.items():
            write_file(partial / file, text)
    say(f"Written: {held.directory / SCENARIO_FILE}; its comments say what is assumed")
