"""``odonata machine``."""

from __future__ import annotations

from pathlib import Path

import click

from odonata.cli import options
from odonata.cli.machine_new import new
from odonata.cli.shared import group, notices, progress_terminal
from odonata.terminal import say
from odonata_live.cli import cluster_options
from odonata_live.cli.cluster_inputs import read_topology


@group()
def machine() -> None:
    """Make the scenario of a machine: its network and hosts, and what its hosts take."""


@machine.command()
@cluster_options.topology(default="none, with --links")
@click.option(
    "--links",
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="FILE",
    help="Every cable and its rate: the output of ibnetdiscover, or OpenSM's opensm-subnet.lst; - "
    "is standard input.",
)
@click.option(
    "--nodes",
    metavar="HOSTS",
    help="The nodes to take: a list such as n[0-3,7], or a file with hosts or lists, one a line.  "
    "[default: all of the topology, else all that adapters of --links name]",
)
@click.option("--name", default="my cluster", help="What the machine is called.")
@click.option(
    "--bandwidth",
    metavar="RATE",
    help="Of a node's link, which no topology tells; with --links, of links whose rate is not "
    "told.  [default: 25 GB/s]",
)
@click.option("--latency", default="200 ns", metavar="TIME", help="Of every link.")
@options.out(
    "Directory for the scenario; must not exist yet, or be empty. Default: results/machine-1 …"
)
def from_slurm(
    topology: Path | None,
    links: Path | None,
    nodes: str | None,
    name: str,
    bandwidth: str | None,
    latency: str,
    out: Path | None,
) -> None:
    """Write the scenario of a cluster: its network and hosts, from Slurm's topology or its cables.

    The scenario is for schedule --network, cluster what-if and predict-collective. Comments say
    what is assumed. With --links every cable is there with its rate; --topology then says which
    hosts are Slurm's.
    """
    if topology is None and links is None:
        allowed = "--topology FILE, such as topology.conf, or --links with ibnetdiscover's output"
        raise click.UsageError(f"found no topology; allowed: {allowed}")
    from odonata.bounded import read_text
    from odonata.errors import ClusterError
    from odonata.machines.hosts import read_hosts
    from odonata.output import claim, write_file
    from odonata.units import Duration, Rate, UnitError
    from odonata_live.cluster.machine import SCENARIO_FILE, machine_files, subnet_files

    try:
        rate, time = None if bandwidth is None else Rate(bandwidth), Duration(latency)
    except UnitError as error:
        raise click.UsageError(f"--bandwidth, --latency: {error}") from None
    listed = None if nodes is None else read_hosts(nodes)
    slurms = None if topology is None else read_topology(topology, alone=links is None)
    if links is not None:
        text, notice = read_text(links, ClusterError), notices(progress_terminal())
        texts = subnet_files(text, str(links), slurms, listed, name, rate, time, notice)
    else:
        assert slurms is not None
        texts = machine_files(slurms, listed, name, rate or Rate("25 GB/s"), time)
    with claim(out, "machine") as held, held.adding() as partial:
        for file, text in texts.items():
            write_file(partial / file, text)
    written = held.directory / SCENARIO_FILE
    say(f"Written: {written}; its comments say what is assumed")
    say(f"Next: odonata schedule LOG --network flow --machine {written} --mpi-share 30%")


machine.add_command(new)
