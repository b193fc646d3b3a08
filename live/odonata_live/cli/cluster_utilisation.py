"""``odonata cluster utilisation``: how busy the network is now, or was."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odonata.cli import options
from odonata.cli.keys import given_options
from odonata.cli.log import reading_of, reading_options
from odonata.cli.numeric import TIME, Whole
from odonata.cli.schedule_options import READING
from odonata.cli.shared import command, escape, new_table, print_csv, print_json
from odonata.errors import ClusterError
from odonata.numbers import finite
from odonata.terminal import terminal
from odonata_live.cli import cluster_options
from odonata_live.cli.cluster_inputs import (
    count_nodes,
    read_hosts,
    read_queue,
    read_text,
    read_topology,
)

if TYPE_CHECKING:
    from odonata_live.cluster.nodes import Topology
    from odonata_live.cluster.past import Past
    from odonata_live.cluster.queue import QueuedJob
    from odonata_live.cluster.utilisation import Utilisation


@command()
@cluster_options.squeue
@click.option(
    "--nodes",
    type=Whole(1),
    help="Nodes of the cluster, whatever their state.  [default: asks Slurm, or as --sinfo says]",
)
@cluster_options.sinfo(default="asks Slurm, or as --nodes says")
@cluster_options.topology(
    default="none", more=" Also shows islands and groups, and the traffic between them."
)
@options.hosts(
    "The nodes of a job: shows the utilisation of the groups and islands where it sits, which "
    "needs --topology"
)
@click.option(
    "--exclude",
    multiple=True,
    metavar="JOBID",
    help="A job to leave out; may be given several times.  [default: the job that this command "
    "runs in]",
)
@click.option(
    "--at-least",
    type=Whole(1),
    default=2,
    help="Smallest number of nodes with which a job communicates.",
)
@click.option(
    "--log",
    type=click.Path(path_type=Path),
    metavar="LOG",
    help="Look at a moment of the past instead of now: of a job log (sacct, SWF …), or of a "
    "schedule, given as the directory that `odonata schedule` or `odonata slurm` left.",
)
@click.option(
    "--at",
    metavar="TIME",
    help="Which moment: a date such as 2022-03-01T08:00 (UTC), or a duration after the first "
    "submission such as 12h. With --every: the first moment.  [default: the first submission]",
)
@click.option(
    "--every",
    type=TIME,
    help='Print all moments from then on, this far apart, e.g. "1 h", as a table for other '
    "programs.",
)
@click.option("--schedule", metavar="NAME", help="Which schedule, if the directory holds several.")
@reading_options
@click.option(
    "--communication",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="How much jobs communicate, as lines JOBID,NUMBER: the share of the job's time, or bytes "
    "per second per node divided by the usual value. Jobs not listed count 1.  [default: as "
    "the log says]",
)
@cluster_options.timeout
@options.json
def utilisation(
    squeue: Path | None,
    nodes: int | None,
    sinfo: Path | None,
    topology: Path | None,
    hosts: str | None,
    exclude: tuple[str, ...],
    at_least: int,
    log: Path | None,
    at: str | None,
    every: int | None,
    schedule: str | None,
    communication: Path | None,
    timeout: float,
    as_json: bool,
    **how: Any,
) -> None:
    """Background network utilisation b: the share of the nodes that is communicating.

    b1 = N_c / N_t and b = b1 · N'_c / N_a (Salimi Beni and Cosenza 2022, equations 1 and 2), from
    the jobs that run now: N_c is the number of nodes with jobs of two nodes or more, N_t the
    number of all nodes; N'_c and N_a are the node entries of such jobs and of all jobs, where a
    shared node counts once for every job on it.
    """
    if nodes is not None and sinfo is not None:
        raise click.UsageError("--nodes and --sinfo say the same: give one of them")
    past: Past | None = None
    moments: Sequence[int] = (0,)
    if log is not None:
        if squeue is not None:
            raise click.UsageError("--squeue and --log are two sources: give one of them")
        past, moments = _past(log, schedule, how, at, every)
    elif given := [
        *(
            name
            for name, value in (("--at", at), ("--every", every), ("--schedule", schedule))
            if value is not None
        ),
        *(option.option for option, _ in given_options(READING, how)),
    ]:
        raise click.UsageError(f"{given[0]} needs --log: a job log or a schedule")
    elif squeue is not None and nodes is None and sinfo is None:
        raise click.UsageError(
            "--squeue needs the number of the cluster's nodes: --nodes N, or --sinfo FILE"
        )
    wiring = past.topology() if past is not None else None
    if topology is not None:
        wiring = read_topology(topology)
    if hosts is not None and wiring is None:
        raise click.UsageError("--hosts needs --topology: which groups these nodes are in")
    weights: Mapping[str, float] = {} if past is None else past.communication
    if communication is not None:
        weights = _read_communication(communication)
    if past is not None:
        if nodes is None and sinfo is None:
            nodes = past.nodes
        if nodes is None and sinfo is None:
            raise click.UsageError(
                f"{log} does not say how many nodes the machine has: --nodes N, or --sinfo FILE"
            )
        queues = past.queues(moments)
    else:
        queues = iter([read_queue(squeue, timeout)])
        if not exclude and squeue is None and (own := os.environ.get("SLURM_JOB_ID")):
            exclude = (own,)
    if nodes is None:
        nodes = count_nodes(sinfo, timeout)
    looks = (_Look(jobs, nodes, at_least, exclude, weights) for jobs in queues)
    if every is not None:
        _write_all(moments, looks, wiring, as_json)
        return
    look = next(looks)
    if as_json:
        print_json(look.to_dict(wiring, hosts))
    else:
        look.show(wiring, hosts)


def _past(
    log: Path, schedule: str | None, how: Mapping[str, Any], at: str | None, every: int | None
) -> tuple[Past, Sequence[int]]:
    """The past, and which of its moments are asked for."""
    from odonata.batch.options import moment
    from odonata_live.cluster.past import read_past

    past = read_past(log, schedule, reading_of(how))
    first, last = past.span_s
    begin = first if at is None else moment(at, first, past.epoch)
    if not first <= begin <= last:
        raise ClusterError(
            f"found the moment {at}, {begin - first} s after the first submission; allowed: up to "
            f"the last end, {last - first} s after it"
        )
    return past, [begin] if every is None else range(begin, last + 1, every)


def _read_communication(path: Path) -> dict[str, float]:
    """How much jobs communicate, by job."""
    weights: dict[str, float] = {}
    for number, line in enumerate(read_text(path).splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        job, _, value = line.partition(",")
        try:
            weight = finite(value)
        except ValueError:
            weight = -1.0
        if weight < 0 or not job.strip():
            raise ClusterError(
                f"{path}: line {number}: found {line[:60]!r}; allowed: JOBID,NUMBER, such as 17,0.3"
            )
        weights[job.strip()] = weight
    return weights


def _write_all(
    moments: Sequence[int], looks: Iterable[_Look], wiring: Topology | None, as_json: bool
) -> None:
    """A row for each moment: as JSON all in one object, else as CSV."""
    rows = (
        {"time_s": time_s, **look.figures(wiring)}
        for time_s, look in zip(moments, looks, strict=True)
    )
    if as_json:
        print_json({"samples": list(rows)})
        return
    print_csv(rows)


@dataclass(frozen=True)
class _Look:
    """A queue at one moment, and how it is looked at."""

    jobs: list[QueuedJob]
    nodes: int
    at_least: int
    exclude: tuple[str, ...]
    communication: Mapping[str, float] = field(default_factory=dict)

    def whole(self) -> Utilisation:
        """The utilisation of the whole cluster."""
        from odonata_live.cluster.utilisation import utilisation

        return utilisation(self.jobs, self.nodes, at_least=self.at_least, exclude=self.exclude)

    def parts(self, group_of_node: dict[str, str]) -> dict[str, Utilisation]:
        """The utilisation of each group."""
        from odonata_live.cluster.utilisation import by_group

        return by_group(self.jobs, group_of_node, at_least=self.at_least, exclude=self.exclude)

    def between(self, group_of_node: dict[str, str]) -> float:
        """What leaves the groups."""
        from odonata_live.cluster.utilisation import spanning

        return spanning(self.jobs, group_of_node, self.nodes, exclude=self.exclude)

    def weighted(self, group_of_node: dict[str, str] | None = None) -> float:
        """By how much jobs communicate, all of it or what leaves the groups."""
        from odonata_live.cluster.utilisation import spanning, weighted

        answer, without = self.communication, self.exclude
        if group_of_node is None:
            least = self.at_least
            return weighted(self.jobs, self.nodes, answer, at_least=least, exclude=without)
        return spanning(self.jobs, group_of_node, self.nodes, exclude=without, communication=answer)

    def exposed(self, group_of_node: dict[str, str], hosts: str) -> Utilisation:
        """The utilisation of the groups that a job's nodes are in."""
        from odonata_live.cluster.utilisation import utilisation

        names = read_hosts(hosts)
        if unknown := [name for name in names if name not in group_of_node]:
            raise ClusterError(f"--hosts: node {unknown[0]} is not in the topology")
        own = {group_of_node[name] for name in names}
        there = [node for node, group in group_of_node.items() if group in own]
        return utilisation(self.jobs, there, at_least=self.at_least, exclude=self.exclude)

    def figures(self, topology: Topology | None) -> dict[str, Any]:
        """The quantities of the whole cluster, by name."""
        content = self.whole().to_dict()
        levels = {} if topology is None else _levels(topology)
        if self.communication:
            content["b_weighted"] = self.weighted()
        for name, of in levels.items():
            content[f"b_between_{name}"] = self.between(of)
            if self.communication:
                content[f"b_weighted_between_{name}"] = self.weighted(of)
        return content

    def to_dict(self, topology: Topology | None, hosts: str | None) -> dict[str, Any]:
        """For programs."""
        content = self.figures(topology)
        for name, of in ({} if topology is None else _levels(topology)).items():
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
        if self.communication:
            out.print(f"by how much jobs communicate: {self.weighted():.4f}")
        if topology is None:
            return
        levels = _levels(topology)
        for name, of in levels.items():
            by_weight = ""
            if self.communication:
                by_weight = f", by how much jobs communicate {self.weighted(of):.4f}"
            out.print(f"between {name}: {self.between(of):.4f}{by_weight}")
            if hosts is not None:
                out.print(f"of the {name} of {escape(hosts)}: b = {self.exposed(of, hosts).b:.4f}")
        table = new_table("Island", right=("nodes", "b", "b1", "running"))
        for island, part in self.parts(levels["islands"]).items():
            row = (str(part.n_t), f"{part.b:.3f}", f"{part.b1:.3f}", str(part.running_jobs))
            table.add_row(escape(island), *row)
        out.print(table)


def _levels(topology: Topology) -> dict[str, dict[str, str]]:
    return {"islands": topology.island_of_node(), "groups": dict(topology.leaf_of_node)}
