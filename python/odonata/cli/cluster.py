"""``odonata cluster``: clusters in use."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odonata.cli.shared import debug_option, escape, json_option, new_table, print_json, terminal
from odonata.errors import ClusterError

if TYPE_CHECKING:
    from odonata.cluster.nodes import Topology
    from odonata.cluster.queue import QueuedJob
    from odonata.cluster.utilisation import Utilisation


@click.group()
@debug_option
def cluster() -> None:
    """Clusters in use: how busy a cluster's network is now. Needs no privileges."""


@cluster.command()
@click.option(
    "--squeue",
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="FILE",
    help="What squeue printed, as JSON or text; - is standard input.  [default: asks Slurm]",
)
@click.option(
    "--nodes",
    type=click.IntRange(min=1),
    metavar="N",
    help="Nodes of the cluster, in whatever state.  [default: asks Slurm, or as --sinfo says]",
)
@click.option(
    "--sinfo",
    type=click.Path(path_type=Path, allow_dash=True),
    metavar="FILE",
    help="What sinfo or `scontrol show nodes` printed, in place of --nodes.",
)
@click.option(
    "--topology",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Slurm's topology.conf, or what `scontrol show topology` printed: shows islands and "
    "groups as well, and what is sent between them.",
)
@click.option(
    "--hosts",
    metavar="LIST",
    help="Nodes of a job, such as n[0-3,7]: utilisation of the groups and islands it sits in. "
    "Needs --topology.",
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="JOBID",
    help="A job that does not count; may be given several times.  [default: the job that this "
    "command runs in]",
)
@click.option(
    "--at-least",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    metavar="N",
    help="Nodes from which on a job communicates.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a command of Slurm may take.",
)
@json_option
@debug_option
def utilisation(
    squeue: Path | None,
    nodes: int | None,
    sinfo: Path | None,
    topology: Path | None,
    hosts: str | None,
    exclude: tuple[str, ...],
    at_least: int,
    timeout: float,
    as_json: bool,
) -> None:
    """Background network utilisation b: which share of the nodes is communicating.

    b1 = N_c / N_t and b = b1 · N'_c / N_a (Salimi Beni and Cosenza 2022, equations 1 and 2), from
    the jobs that run now: N_c nodes of jobs of two nodes or more, N_t nodes in all, N'_c and N_a
    node entries of such jobs and of all, in which shared nodes count once for every job.
    """
    from odonata.cluster import nodes as cluster_nodes
    from odonata.cluster import queue, slurm

    if hosts is not None and topology is None:
        raise click.UsageError("--hosts needs --topology: which groups these nodes are in")
    if nodes is not None and sinfo is not None:
        raise click.UsageError("--nodes and --sinfo say the same: give one of them")
    if squeue is not None and nodes is None and sinfo is None:
        raise click.UsageError(
            "--squeue needs the number of the cluster's nodes: --nodes N, or --sinfo FILE"
        )
    asked = slurm.ask(queue.COMMAND, timeout) if squeue is None else _text(squeue)
    jobs = queue.read_queue(asked, "squeue" if squeue is None else str(squeue))
    if nodes is None:
        told = slurm.ask(cluster_nodes.COMMAND, timeout) if sinfo is None else _text(sinfo)
        nodes = len(cluster_nodes.read_nodes(told, "sinfo" if sinfo is None else str(sinfo)))
    if not exclude and squeue is None and (own := os.environ.get("SLURM_JOB_ID")):
        exclude = (own,)
    look = _Look(jobs, nodes, at_least, exclude)
    wiring = None
    if topology is not None:
        wiring = cluster_nodes.read_topology(_text(topology), str(topology))
    if as_json:
        print_json(look.to_dict(wiring, hosts))
    else:
        look.show(wiring, hosts)


def _text(path: Path) -> str:
    if str(path) == "-":
        return sys.stdin.read()
    try:
        return path.read_bytes().decode(errors="replace")
    except OSError as error:
        raise ClusterError(f"{path}: cannot be read: {error.strerror}") from error


@dataclass(frozen=True)
class _Look:
    """A queue at one moment, and how it is looked at."""

    jobs: list[QueuedJob]
    nodes: int
    at_least: int
    exclude: tuple[str, ...]

    def whole(self) -> Utilisation:
        """Of the whole cluster."""
        from odonata.cluster.utilisation import utilisation

        return utilisation(self.jobs, self.nodes, at_least=self.at_least, exclude=self.exclude)

    def parts(self, group_of_node: dict[str, str]) -> dict[str, Utilisation]:
        """Of each group."""
        from odonata.cluster.utilisation import by_group

        return by_group(self.jobs, group_of_node, at_least=self.at_least, exclude=self.exclude)

    def between(self, group_of_node: dict[str, str]) -> float:
        """What leaves the groups."""
        from odonata.cluster.utilisation import spanning

        return spanning(self.jobs, group_of_node, self.nodes, exclude=self.exclude)

    def exposed(self, group_of_node: dict[str, str], hosts: str) -> Utilisation:
        """Of the groups that a job's nodes are in."""
        from odonata.cluster import queue
        from odonata.cluster.utilisation import utilisation

        names = queue.hosts(hosts, "--hosts")
        if unknown := [name for name in names if name not in group_of_node]:
            raise ClusterError(f"--hosts: node {unknown[0]} is not in the topology")
        own = {group_of_node[name] for name in names}
        there = [node for node, group in group_of_node.items() if group in own]
        return utilisation(self.jobs, there, at_least=self.at_least, exclude=self.exclude)

    def to_dict(self, topology: Topology | None, hosts: str | None) -> dict[str, Any]:
        """For programs."""
        content = self.whole().to_dict()
        if topology is None:
            return content
        for name, of in _levels(topology).items():
            content[f"b_between_{name}"] = self.between(of)
            content[name] = {group: part.to_dict() for group, part in self.parts(of).items()}
            if hosts is not None:
                content[f"exposed_{name}"] = self.exposed(of, hosts).to_dict()
        return content

    def show(self, topology: Topology | None, hosts: str | None) -> None:
        """For people."""
        whole = self.whole()
        out = terminal()
        out.print(f"b  = {whole.b:.4f}   background network utilisation (equation 2)")
        out.print(f"b1 = {whole.b1:.4f}   communicating nodes over all nodes (equation 1)")
        out.print(
            f"{whole.communicating_jobs} of {whole.running_jobs} running jobs communicate, on "
            f"{whole.n_c} of {whole.n_t} nodes; {whole.pending_jobs} jobs wait"
        )
        out.print(
            f"N_c = {whole.n_c}, N_t = {whole.n_t}, N'_c = {whole.n_c_dup}, N_a = {whole.n_a}"
        )
        if topology is None:
            return
        levels = _levels(topology)
        for name, of in levels.items():
            out.print(f"between {name}: {self.between(of):.4f}")
            if hosts is not None:
                out.print(f"of the {name} of {escape(hosts)}: b = {self.exposed(of, hosts).b:.4f}")
        table = new_table()
        for heading in ("Island", "nodes", "b", "b1", "running"):
            table.add_column(heading, justify="left" if heading == "Island" else "right")
        for island, part in self.parts(levels["islands"]).items():
            row = (str(part.n_t), f"{part.b:.3f}", f"{part.b1:.3f}", str(part.running_jobs))
            table.add_row(escape(island), *row)
        out.print(table)


def _levels(topology: Topology) -> dict[str, dict[str, str]]:
    return {"islands": topology.island_of_node(), "groups": dict(topology.leaf_of_node)}
