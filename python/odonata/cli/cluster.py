"""``odonata cluster``: clusters in use."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odonata.cli.cluster_advise import advise
from odonata.cli.cluster_options import read_text, size, span, squeue_option, timeout_option
from odonata.cli.cluster_place import decisions, place, slurm_files, submit
from odonata.cli.cluster_probe import probe, probes
from odonata.cli.cluster_show import show
from odonata.cli.cluster_what_if import what_if
from odonata.cli.shared import debug_option, escape, json_option, new_table, print_json, terminal
from odonata.errors import ClusterError

if TYPE_CHECKING:
    from odonata.cluster.nodes import Topology
    from odonata.cluster.queue import QueuedJob
    from odonata.cluster.utilisation import Utilisation


@click.group()
@debug_option
def cluster() -> None:
    """Clusters in use: who sits where, how busy the network is and was."""


@cluster.command()
@squeue_option
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
@timeout_option
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
    asked = slurm.ask(queue.COMMAND, timeout) if squeue is None else read_text(squeue)
    jobs = queue.read_queue(asked, "squeue" if squeue is None else str(squeue))
    if nodes is None:
        told = slurm.ask(cluster_nodes.COMMAND, timeout) if sinfo is None else read_text(sinfo)
        nodes = len(cluster_nodes.read_nodes(told, "sinfo" if sinfo is None else str(sinfo)))
    if not exclude and squeue is None and (own := os.environ.get("SLURM_JOB_ID")):
        exclude = (own,)
    look = _Look(jobs, nodes, at_least, exclude)
    wiring = None
    if topology is not None:
        wiring = cluster_nodes.read_topology(read_text(topology), str(topology))
    if as_json:
        print_json(look.to_dict(wiring, hosts))
    else:
        look.show(wiring, hosts)


@cluster.command()
@click.argument("store", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--period",
    callback=span,
    default="60 s",
    show_default=True,
    metavar="TIME",
    help="Between two questions to Slurm.",
)
@click.option(
    "--for",
    "for_",
    callback=span,
    metavar="TIME",
    help='How long, e.g. "2 w".  [default: until stopped]',
)
@click.option(
    "--keep", callback=span, metavar="TIME", help="Older samples are removed.  [default: none]"
)
@click.option(
    "--largest",
    callback=size,
    default="1 GiB",
    show_default=True,
    metavar="SIZE",
    help="The oldest samples are removed where they take more.",
)
@click.option(
    "--topology",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Slurm's topology.conf: keeps what is sent between islands and groups as well.",
)
@click.option(
    "--metrics",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write the latest sample there in Prometheus' text format, for the textfile collector "
    "of its node exporter. The file is replaced each time.",
)
@timeout_option
@debug_option
def watch(
    store: Path,
    period: int,
    for_: int | None,
    keep: int | None,
    largest: int,
    topology: Path | None,
    metrics: Path | None,
    timeout: float,
) -> None:
    """Samples the utilisation once a period and keeps it in STORE, for weeks.

    Costs the controller one squeue a period; less where it fails or is slow. Goes on with a STORE
    that is there. A kill loses the sample that was being taken, nothing else; Ctrl-C and SIGTERM
    end it.
    """
    import signal
    import threading
    import time

    from odonata.cluster import nodes as cluster_nodes
    from odonata.cluster.watch import Watch

    wiring = None
    if topology is not None:
        wiring = cluster_nodes.read_topology(read_text(topology), str(topology))
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())

    def say(line: str) -> None:
        click.echo(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}", err=True)

    watching = Watch(
        period_s=period,
        timeout_s=timeout,
        keep_s=keep,
        largest_bytes=largest,
        topology=wiring,
        metrics=metrics,
        say=say,
    )
    say(f"watching into {store}, one sample in {period} s")
    kept = watching.run(store, for_s=float("inf") if for_ is None else for_, stop=ended.wait)
    say(f"{kept} samples kept")


@cluster.command()
@click.argument("store", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--last", callback=span, metavar="TIME", help='Only so far back, e.g. "12 h".  [default: all]'
)
@click.option("--csv", "as_csv", is_flag=True, help="All samples, as a table for other programs.")
@json_option
@debug_option
def history(store: Path, last: int | None, as_csv: bool, as_json: bool) -> None:
    """What `odonata cluster watch` kept in STORE: how busy the network was."""
    import csv
    import time

    from odonata.cluster.watch import COLUMNS, Store

    kept = Store(store)
    samples = kept.samples(since_s=0 if last is None else time.time() - last)
    kept.close()
    if as_json:
        print_json({"samples": samples})
        return
    if as_csv:
        writer = csv.DictWriter(sys.stdout, COLUMNS)
        writer.writeheader()
        writer.writerows(samples)
        return
    out = terminal()
    good = [sample for sample in samples if sample["error"] is None]
    out.print(f"{len(samples)} samples, of {len(samples) - len(good)} Slurm gave no answer")
    if not good:
        return
    table = new_table()
    for heading in ("hour of the day", "samples", "b: least", "median", "most"):
        table.add_column(heading, justify="right")
    by_hour: dict[int, list[float]] = {}
    for sample in good:
        by_hour.setdefault(time.localtime(sample["time_s"]).tm_hour, []).append(sample["b"])
    for hour, values in sorted(by_hour.items()):
        ordered = sorted(values)
        figures = (ordered[0], ordered[len(ordered) // 2], ordered[-1])
        row = (f"{hour:02}", str(len(ordered)), *(f"{value:.3f}" for value in figures))
        table.add_row(*row)
    out.print(table)
    now = good[-1]
    below = sum(sample["b"] <= now["b"] for sample in good) / len(good)
    out.print(f"latest: b = {now['b']:.3f}; it was so low or lower {100 * below:.0f} % of the time")


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


cluster.add_command(show)
for command in (place, submit, decisions, slurm_files, what_if):
    cluster.add_command(command)
cluster.add_command(probe)
cluster.add_command(probes)
cluster.add_command(advise)


def _levels(topology: Topology) -> dict[str, dict[str, str]]:
    return {"islands": topology.island_of_node(), "groups": dict(topology.leaf_of_node)}
