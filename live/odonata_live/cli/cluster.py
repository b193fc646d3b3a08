"""``odonata cluster``: clusters in use."""

from __future__ import annotations

from copy import copy
from pathlib import Path
from typing import Any

import click

from odonata.cli import options
from odonata.cli.numeric import SIZE, TIME
from odonata.cli.shared import group, new_table, print_csv, print_json
from odonata.terminal import terminal
from odonata_live.cli import cluster_options
from odonata_live.cli.cluster_advise import advise
from odonata_live.cli.cluster_failures import failures
from odonata_live.cli.cluster_inputs import read_topology, since, tell
from odonata_live.cli.cluster_place import decisions, place, slurm_files, submit
from odonata_live.cli.cluster_probe import probe, probes
from odonata_live.cli.cluster_show import show
from odonata_live.cli.cluster_utilisation import utilisation
from odonata_live.cli.cluster_what_if import what_if
from odonata_live.cli.machine import from_slurm


@group()
def cluster() -> None:
    """Clusters in use: who sits where, how busy the network is and was."""


@cluster.command()
@click.argument("store", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--period", "period_s", type=TIME, default="60 s", help="Time between two queries to Slurm."
)
@click.option(
    "--for", "for_", type=TIME, help='How long to watch, e.g. "2 w".  [default: until stopped]'
)
@click.option(
    "--keep", "keep_s", type=TIME, help="Remove samples older than this.  [default: keep all]"
)
@click.option(
    "--largest",
    "largest_bytes",
    type=SIZE,
    default="1 GiB",
    help="Remove the oldest samples once all of them take more than this.",
)
@cluster_options.topology(
    default="none", more=" Also keeps the traffic between islands and between groups."
)
@click.option(
    "--metrics",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the latest sample to this file in Prometheus' text format, for the textfile "
    "collector of its node exporter. The file is replaced each time.",
)
@cluster_options.timeout
def watch(store: Path, for_: int | None, topology: Path | None, timeout: float, **how: Any) -> None:
    """Sample the utilisation once per period, for weeks, and keep it in STORE.

    Costs the controller one squeue per period, or less while squeue fails or is slow. Continues a
    STORE that exists. A kill loses only the sample that was being taken; Ctrl-C and SIGTERM end
    the command.
    """
    from odonata_live.cluster.stopping import stopping
    from odonata_live.cluster.watch import Watch

    wiring = None if topology is None else read_topology(topology)
    watching = Watch(timeout_s=timeout, topology=wiring, say=tell, **how)
    tell(f"watching into {store}, one sample in {watching.period_s} s")
    with stopping():
        watching.run(store, for_s=float("inf") if for_ is None else for_)
    tell(f"{watching.kept} samples kept")


@cluster.command()
@click.argument("store", type=click.Path(path_type=Path, dir_okay=False))
@cluster_options.last('samples of this last stretch of time, e.g. "12 h"')
@click.option(
    "--csv", "as_csv", is_flag=True, help=("Print all samples as a table for other programs.")
)
@options.json
def history(store: Path, last: int | None, as_csv: bool, as_json: bool) -> None:
    """Show what `odonata cluster watch` kept in STORE: how busy the network was."""
    import time

    from odonata_live.cluster.watch import COLUMNS, Store

    with Store(store) as kept:
        samples = kept.samples(since_s=since(last))
    if as_json:
        print_json({"samples": samples})
        return
    if as_csv:
        print_csv(samples, COLUMNS)
        return
    out = terminal()
    good = [sample for sample in samples if sample["error"] is None]
    out.print(f"{len(samples)} samples, of {len(samples) - len(good)} Slurm gave no answer")
    if not good:
        return
    table = new_table(right=("hour of the day", "samples", "b: least", "median", "most"))
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


# What it was called before.
_machine = copy(from_slurm)
_machine.hidden = True
cluster.add_command(_machine, "machine")
for command_ in (
    *(failures, utilisation, show, place, submit, decisions, slurm_files, what_if),
    *(probe, probes, advise),
):
    cluster.add_command(command_)
