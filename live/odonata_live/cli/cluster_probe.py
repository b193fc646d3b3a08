"""``odonata cluster probe`` and ``odonata cluster probes``: what the network gives, measured."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odonata.cli import options
from odonata.cli.numeric import DURATION, SIZE, TIME, Number, Whole
from odonata.cli.shared import command, escape, new_table, print_csv, print_json
from odonata.errors import ClusterError
from odonata.terminal import say, terminal
from odonata_live.cli import cluster_options
from odonata_live.cli.cluster_inputs import read_topology, since

if TYPE_CHECKING:
    from odonata_live.cluster.probe import Probe, Prober
    from odonata_live.cluster.probes import ProbeRun, Probes

#: As in odonata_live.cluster, which is imported when a command runs.
PLACEMENTS = ("same-group", "same-island", "different-islands", "any")
COLLECTIVES = ("bcast", "reduce", "alltoall", "allreduce", "barrier", "ping-pong")


@command()
@click.argument("store", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--placement",
    "placements",
    type=click.Choice(PLACEMENTS),
    multiple=True,
    default=("different-islands",),
    help="Where the nodes are: below one switch, in one island, in several islands, or wherever "
    "Slurm puts them. May be given several times: one job for each.",
)
@options.renamed(
    "--ranks",
    old="--nodes",
    type=Whole(1),
    default=16,
    help="Ranks of the job, each on a node of its own.",
)
@click.option(
    "--islands",
    type=Whole(2),
    help="With different-islands: number of islands to spread over.  [default: all]",
)
@click.option(
    "--collective",
    "collectives",
    type=click.Choice(COLLECTIVES),
    multiple=True,
    default=("bcast", "reduce", "alltoall"),
    help="What to time; may be given several times.",
)
@click.option(
    "--size",
    "message_sizes",
    type=SIZE,
    multiple=True,
    default=("4 B", "1 KiB", "32 KiB", "1 MiB"),
    help="Size of a message; for alltoall, the bytes that each rank receives. May be given "
    "several times.",
)
@click.option(
    "--iterations",
    type=Whole(1),
    default=1_000,
    help="Iterations of each collective at each size, of each skeleton, or of --command.",
)
@click.option(
    "--interval", "interval_s", type=DURATION, default="1 ms", help="Pause between iterations."
)
@click.option(
    "--start",
    type=click.Choice(["window", "barrier"]),
    default="window",
    help="How ranks start together: at a time that their clocks agree on, or after a barrier.",
)
@click.option(
    "--command",
    metavar="TEXT",
    help="Time this shell command from outside instead of collectives; it runs on the job's first "
    'node, e.g. "srun ./hacc".',
)
@click.option(
    "--skeleton",
    "skeletons",
    multiple=True,
    metavar="MOTIF",
    help="Run the skeleton of an application, or another motif, instead of collectives, and time "
    'its iterations, e.g. hacc or \'{ kind = "mini-amr", compute = "1 ms" }\'. May be '
    "given several times.",
)
@click.option(
    "--budget",
    "budget_s",
    type=TIME,
    default="10 min",
    help="Longest time that a job may take; it ends then even if measurements are missing.",
)
@click.option(
    "--wait", type=TIME, help="How long to wait for suitable nodes to be idle.  [default: none]"
)
@click.option(
    "--start-within",
    "start_within_s",
    type=TIME,
    default="10 min",
    help="Cancel the job if Slurm has not started it within this time.",
)
@click.option(
    "--repeat", type=Whole(1), default=1, help="How often to repeat the whole measurement."
)
@click.option(
    "--every",
    type=TIME,
    default="1 h",
    help="Time from the start of one repetition to the start of the next.",
)
@click.option(
    "--tolerance",
    type=Number(above=True),
    default=0.05,
    metavar="B",
    help="A run counts if b before and b after differ by less than this.",
)
@click.option(
    "--shared-nodes",
    is_flag=True,
    help="Let other jobs onto the nodes.  [default: sbatch --exclusive]",
)
@click.option("--partition", metavar="NAME", help="Slurm's partition.")
@click.option(
    "--sbatch",
    "options",
    multiple=True,
    metavar="OPTION",
    help="A further option for sbatch, e.g. --sbatch=--account=me. May be given several times.",
)
@click.option(
    "--launcher",
    default="srun",
    metavar="TEXT",
    help='What starts the ranks, e.g. "srun --mpi=pmi2" or mpiexec.',
)
@click.option(
    "--python",
    metavar="FILE",
    help="Python of the nodes, with mpi4py and NumPy.  [default: the one that runs this command]",
)
@click.option(
    "--work",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    show_default=False,
    help="Directory that all nodes see; jobs leave their results there until they are in STORE.  "
    "[default: here]",
)
@cluster_options.topology()
@click.option(
    "--seed",
    type=Whole(None, largest=2**64 - 1),
    help=("Seed for the choice among idle nodes: the same seed chooses the same nodes."),
)
@click.option("--dry-run", is_flag=True, help="Show what would be submitted.")
@cluster_options.timeout
@options.json
def probe(
    store: Path,
    placements: tuple[str, ...],
    islands: int | None,
    collectives: tuple[str, ...],
    message_sizes: tuple[int, ...],
    wait: int | None,
    repeat: int,
    every: int,
    shared_nodes: bool,
    python: str | None,
    work: Path,
    topology: Path | None,
    seed: int | None,
    dry_run: bool,
    timeout: float,
    as_json: bool,
    **how: Any,
) -> None:
    """Measure what the network delivers now, with a batch job, and keep all times in STORE.

    Submits a batch job to nodes with the chosen placement, records how busy the network is, times
    collectives there, and records it again. A run counts if b did not change meanwhile. Ctrl-C
    cancels the job.
    """
    import random

    from odonata_live.cluster.probe import Probe, Prober
    from odonata_live.cluster.probes import Probes

    wanted = [
        Probe(
            placement=placement,
            collectives=tuple(dict.fromkeys(collectives)),
            sizes=tuple(sorted(set(message_sizes))),
            islands=islands if placement == "different-islands" else None,
            exclusive=not shared_nodes,
            python=python or sys.executable,
            **how,
        )
        for placement in dict.fromkeys(placements)
    ]
    prober = Prober(
        work.resolve(), timeout_s=timeout, chance=random.Random(seed), say=partial(say, err=True)
    )
    if topology is not None:
        prober.topology = read_topology(topology)
    if dry_run:
        _show_plan(prober, wanted)
        return
    with Probes(store, create=True) as kept:
        runs = _measure(prober, wanted, kept, repeat, every, wait or 0)
    if as_json:
        print_json({"runs": [_run_dict(run) for run in runs]})
    else:
        _show_runs(runs)


def _show_plan(prober: Prober, wanted: list[Probe]) -> None:
    import shlex

    for one in wanted:
        chosen = prober.choose(one)
        say(shlex.join(one.sbatch(prober.work / "odonata-probe-…", chosen)))
        say(
            f"# at most {one.ranks * one.budget_s / 3600:.2f} node hours; "
            f"{len(one.series()) if not one.command else 1} series"
        )


def _measure(
    prober: Prober, wanted: list[Probe], kept: Probes, repeat: int, every: int, wait: int
) -> list[ProbeRun]:
    """All probes, again and again; one that fails does not keep the others from being measured."""
    import signal
    import sqlite3
    import time
    from types import FrameType

    from odonata.errors import OutputError, Terminated

    def stop(number: int, frame: FrameType | None) -> None:
        raise Terminated

    signal.signal(signal.SIGTERM, stop)
    runs: list[ProbeRun] = []
    failure: ClusterError | None = None
    try:
        for turn in range(repeat):
            begin = time.monotonic()
            for one in wanted:
                try:
                    run = prober.run(one, wait_s=wait, keep=kept.add)
                except ClusterError as error:
                    failure = error
                    prober.say(str(error))
                    continue
                except sqlite3.Error as error:
                    raise OutputError(f"{kept.path}: cannot be written: {error}") from error
                runs.append(run)
                if not run.counts:
                    prober.say(f"job {run.job} is kept, but does not count: {run.why_not}")
            if turn + 1 < repeat:
                time.sleep(max(0.0, begin + every - time.monotonic()))
    except KeyboardInterrupt as error:
        answer = f"stopped; {len(runs)} runs are kept in {kept.path}"
        raise type(error)(answer) from None
    if failure is not None and not runs:
        raise ClusterError("nothing was measured: the reasons are above")
    return runs


@command()
@click.argument("store", type=click.Path(path_type=Path, dir_okay=False))
@cluster_options.last('runs of this last stretch of time, e.g. "2 w"')
@click.option("--all", "all_", is_flag=True, help="Include runs that do not count.")
@click.option(
    "--csv",
    "as_csv",
    is_flag=True,
    help=("Print a table for other programs: one row for each run, collective and size."),
)
@click.option(
    "--times", is_flag=True, help=("Print one row for each iteration, e.g. for `odonata tails`.")
)
@click.option(
    "--of",
    type=click.Choice(["max", "root", "mean"]),
    default="max",
    help="Which rank's time counts as the time of an iteration.",
)
@options.json
def probes(
    store: Path, last: int | None, all_: bool, as_csv: bool, times: bool, of: str, as_json: bool
) -> None:
    """Show what `odonata cluster probe` kept in STORE."""
    from odonata_live.cluster.probes import Probes

    with Probes(store) as kept:
        runs = list(kept.runs(since(last), all_=all_))
    if as_json:
        print_json({"runs": [_run_dict(run, of) for run in runs]})
        return
    if not (as_csv or times):
        _show_runs(runs)
        return
    rows = [row for run in runs for row in (_times(run, of) if times else _rows(run, of))]
    columns = list(dict.fromkeys(name for row in rows for name in row))
    print_csv(rows, columns)


def _run_dict(run: ProbeRun, of: str = "max") -> dict[str, Any]:
    return {
        "time_s": run.time_s,
        "job": run.job,
        "placement": run.placement,
        "nodes": list(run.nodes),
        "groups": list(run.groups),
        "islands": list(run.islands),
        "before": dict(run.before),
        "after": dict(run.after),
        "counts": run.counts,
        "why_not": run.why_not,
        "environment": dict(run.environment),
        "series": _rows(run, of),
    }


def _rows(run: ProbeRun, of: str) -> list[dict[str, Any]]:
    """A row for each series: where, how busy, and how long."""
    from odonata.tails import measure_tail

    rows = []
    for series in run.series:
        row = _where(run) | {
            "collective": series.collective,
            "bytes": series.size_bytes,
            "iterations": series.iterations,
        }
        values = series.times_us(of)
        row["valid"] = len(values)
        if len(values) > 1:
            tail = measure_tail(values)
            row |= {"mean_us": tail.mean, "median_us": tail.median, "p85_us": tail.p85}
            row |= {"p99_us": tail.p99, "maximum_us": tail.maximum}
        elif len(values):
            row["mean_us"] = float(values[0])
        rows.append(row)
    return rows


def _times(run: ProbeRun, of: str) -> list[dict[str, Any]]:
    return [
        _where(run)
        | {"collective": series.collective, "bytes": series.size_bytes, "time_us": float(value)}
        for series in run.series
        for value in series.times_us(of)
    ]


def _where(run: ProbeRun) -> dict[str, Any]:
    names = dict.fromkeys([*run.before, *run.after])
    return {
        "time_s": run.time_s,
        "job": run.job,
        "placement": run.placement,
        "counts": int(run.counts),
        **{name: run.utilisation(name) for name in names},
    }


def _show_runs(runs: list[ProbeRun]) -> None:
    import math
    import time

    out = terminal()
    if not runs:
        out.print("no runs that count; --all shows the others")
        return
    for run in runs:
        at = time.strftime("%Y-%m-%d %H:%M", time.localtime(run.time_s))
        between = run.utilisation("b_between_groups")
        answer = "" if math.isnan(between) else f" (between groups {between:.3f})"
        kept = "" if run.counts else "; does not count"
        out.print(
            f"{at}  {escape(run.placement)}, {len(run.nodes)} nodes, job {escape(run.job)}: "
            f"b = {run.utilisation():.3f}{answer}{kept}"
        )
        columns = ("bytes", "iterations", "median µs", "mean µs", "p99 µs")
        table = new_table("collective", right=columns, keys=2)
        for row in _rows(run, "max"):
            figures = (
                f"{row.get(k, float('nan')):.5g}" for k in ("median_us", "mean_us", "p99_us")
            )
            size = str(row["bytes"]) if row["bytes"] else ""
            table.add_row(escape(row["collective"]), size, str(row["valid"]), *figures)
        out.print(table)
