"""``odonata cluster show``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from odonata.cli import options
from odonata.cli.shared import command, escape, new_table, notices, print_json, progress_terminal
from odonata.terminal import terminal
from odonata_live.cli import cluster_options
from odonata_live.cli.cluster_inputs import read_text, read_topology

if TYPE_CHECKING:
    from odonata_live.cluster.occupancy import Occupancy


@command()
@cluster_options.squeue
@cluster_options.sinfo(old="--nodes")
@cluster_options.topology()
@click.option(
    "--slurmrestd",
    "rest",
    type=click.Path(path_type=Path),
    metavar="SOCKET",
    help="Ask slurmrestd on this Unix socket for nodes and jobs, instead of Slurm's commands. "
    "Needs --topology.",
)
@cluster_options.group
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FIGURE",
    help="Draw the map as a picture: .png, .pdf or .svg.",
)
@cluster_options.timeout
@options.json
def show(
    squeue: Path | None,
    sinfo: Path | None,
    topology: Path | None,
    rest: Path | None,
    level: str,
    out: Path | None,
    timeout: float,
    as_json: bool,
) -> None:
    """Show who sits where: nodes by group and state, jobs that span groups, what is left for whom.

    Files can take the place of Slurm's answers, so the command also works away from the cluster.
    """
    from odonata_live.cluster import jobs, model, survey
    from odonata_live.cluster.occupancy import occupancy
    from odonata_live.cluster.rest import Slurmrestd

    if (squeue is None) != (sinfo is None):
        raise click.UsageError("--squeue and --sinfo go together: they are of the same moment")
    if rest is not None:
        if topology is None or squeue is not None:
            raise click.UsageError("--slurmrestd needs --topology, and no --squeue or --sinfo")
        daemon = Slurmrestd(rest, timeout)
        machine = daemon.machine()
        queue, _ = daemon.jobs()
    elif squeue is None or sinfo is None:
        machine = survey.ask_machine(timeout)
        queue, _ = survey.ask_jobs(timeout)
    else:
        nodes = model.read_node_list(read_text(sinfo), str(sinfo))
        if all(node.state == "UNKNOWN" for node in nodes.values()):
            notices(progress_terminal())(
                f"{sinfo} tells no states: nodes without a job are taken for idle"
            )
            nodes = {name: replace(node, state="IDLE") for name, node in nodes.items()}
        machine = model.Machine(nodes)
        queue, _ = jobs.read_jobs(read_text(squeue), str(squeue))
    wiring = survey.ask_topology(timeout) if topology is None else read_topology(topology)
    look = occupancy(machine, queue, wiring, level)
    if out is not None:
        _draw(look, out)
    if as_json:
        print_json(look.to_dict())
    else:
        _print(look)


def _print(look: Occupancy) -> None:
    from odonata_live.cluster.occupancy import INSIDE, SPANNING

    out = terminal()
    figures = ("nodes", "idle", "jobs inside", "spanning", "other", "out")
    table = new_table("group", right=figures)
    table.add_column("spanned by", prose=True)
    for group in look.groups:
        counts = (group.count(state) for state in ("idle", INSIDE, SPANNING, "other", "out"))
        row = [escape(group.name), str(len(group.states)), *map(str, counts)]
        table.add_row(*row, escape(", ".join(group.owners)))
    out.print(table)
    spanning = {job: groups for job, groups in look.spans.items() if len(groups) > 1}
    for job, groups in spanning.items():
        parts = ", ".join(f"{count} in {group}" for group, count in groups.items())
        out.print(f"job {escape(job)} spans {len(groups)} groups: {escape(parts)}", soft_wrap=True)
    free = look.free_groups
    out.print(
        f"{look.idle} nodes idle, {look.largest_small} of them in one group "
        f"(fragmentation {look.fragmentation:.2f})"
    )
    out.print(
        f"{len(free)} of {len(look.groups)} groups are spanned by no job; a large job could have "
        f"{look.largest_large} nodes there"
    )
    if look.unplaced:
        named = ", ".join(look.unplaced[:5]) + (" …" if len(look.unplaced) > 5 else "")
        out.print(f"{len(look.unplaced)} nodes are not in the topology: {escape(named)}")


def _draw(look: Occupancy, path: Path) -> None:
    from odonata.plots import check_format, new_figure, save
    from odonata_live.cluster.picture import draw_occupancy

    check_format(path)
    figure = new_figure(9.0, 1.6 + 0.3 * len(look.groups))
    draw_occupancy(figure, look)
    save(figure, path)
