"""``odonata cluster place``, ``submit``, ``decisions`` and ``slurm-files``."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odonata import names
from odonata.cli import options
from odonata.cli.numeric import SEED, TIME, Whole
from odonata.cli.shared import command, escape, print_json
from odonata.errors import ClusterError, OutputError
from odonata.terminal import say, terminal
from odonata_live.cli import cluster_options
from odonata_live.cli.cluster_inputs import read_topology, since, tell

if TYPE_CHECKING:
    from odonata_live.cluster.journal import Decision, Wait

#: Names of the policies, of the engine's `cluster_policies`; a test compares them.
POLICIES = ("grap", *(name for name in names.PLACEMENT if name != "grap"))
MODES = tuple(names.GRAP_MODE)

_heartbeat = click.option(
    "--heartbeat",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="ODONATA_HEARTBEAT",
    help="The heartbeat file, which shows that the placement daemon is running.  [default: "
    "$ODONATA_HEARTBEAT]",
)


@command()
@click.argument("journal", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--policy", type=click.Choice(POLICIES), default="grap", help="How nodes are chosen.")
@click.option(
    "--grap-mode",
    "mode",
    type=click.Choice(MODES),
    default="adaptive",
    help="How GRAP spreads large jobs over groups.",
)
@click.option("--seed", type=SEED, default=1, help=("Seed of policies that draw at random."))
@cluster_options.topology()
@cluster_options.group
@click.option(
    "--partition",
    "partitions",
    multiple=True,
    metavar="NAME",
    help="Only jobs of this partition; may be given several times.",
)
@click.option(
    "--reservations",
    "depth",
    type=Whole(0),
    default=1,
    help="Reservations for the first N jobs that cannot start, which other jobs must not delay; 1 "
    "is EASY backfill, 0 lets no job overtake.",
)
@click.option(
    "--whole-nodes",
    is_flag=True,
    help="Also place jobs that would share nodes, on whole nodes.  [default: leave them to Slurm]",
)
@click.option("--period", type=TIME, default="1 s", help=("Time between scheduling cycles."))
@click.option(
    "--patience",
    "patience_s",
    type=TIME,
    default="20 s",
    help="How long a released job may wait for its nodes before it is placed again.",
)
@_heartbeat
@click.option(
    "--most-silent",
    type=TIME,
    default="2 min",
    help="With --heartbeat: if nobody looked at the queue for longer than this in the last hour, "
    "because the command was killed again and again, leave all jobs to Slurm until the "
    "silence is past.",
)
@click.option(
    "--metrics",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write metrics to this file in Prometheus' text format.",
)
@click.option(
    "--keep", type=TIME, default="13 w", help="How long the journal keeps what is finished."
)
@click.option("--cycles", type=Whole(1), help=("End after this many cycles."))
@click.option(
    "--shadow",
    is_flag=True,
    help="Change nothing: decide for the jobs that Slurm starts, and record both decisions in the "
    "journal.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help=("Decide once and print the decisions; change and record nothing."),
)
@click.option("--allow-root", is_flag=True, help="Run as root, although nothing here needs it.")
@cluster_options.timeout
def place(
    journal: Path,
    topology: Path | None,
    period: int,
    heartbeat: Path | None,
    most_silent: int,
    metrics: Path | None,
    keep: int,
    cycles: int | None,
    shadow: bool,
    dry_run: bool,
    allow_root: bool,
    timeout: float,
    **how: Any,
) -> None:
    """Choose the nodes of waiting jobs with the functions that simulations use.

    Places jobs that were submitted by `odonata cluster submit` or that our job_submit.lua let wait,
    each as soon as it can start, and writes every decision to JOURNAL before carrying it out. Jobs
    that somebody holds stay held. Ctrl-C or SIGTERM ends the command at once; after a kill it
    continues where it was.
    """
    from odonata_live.cluster import survey
    from odonata_live.cluster.daemon import Daemon
    from odonata_live.cluster.placing import Placer, Rules
    from odonata_live.cluster.stopping import stopping

    if os.geteuid() == 0 and not (allow_root or dry_run):
        raise click.UsageError(
            "this is root, which nothing here needs: run it as a user of its own whom Slurm lets "
            "update jobs (docs/cluster-placement.md), or with --allow-root"
        )
    if shadow and dry_run:
        raise click.UsageError("--shadow keeps what it decides, --dry-run does not: choose one")
    wiring = survey.ask_topology(timeout) if topology is None else read_topology(topology)
    rules = Rules(**how)
    if dry_run:
        placer = Placer(wiring, rules, timeout_s=timeout, say=say)
        if placer.cycle() == 0:
            say("no job would get nodes now")
        return
    daemon = Daemon(
        wiring,
        rules,
        journal,
        heartbeat=heartbeat,
        most_silent_s=most_silent,
        metrics=metrics,
        period_s=period,
        keep_s=keep,
        timeout_s=timeout,
        shadow=shadow,
        say=tell,
    )
    tell(f"{'watches beside Slurm' if shadow else 'places'} by {rules.policy}, journal {journal}")
    with stopping():
        daemon.run(cycles=cycles)


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@_heartbeat
@click.option(
    "--stale",
    type=TIME,
    default="2 min",
    help="With --heartbeat: if the heartbeat is older than this, submit jobs unchanged.",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[SBATCH-ARGUMENTS]...")
def submit(heartbeat: Path | None, stale: int, arguments: tuple[str, ...]) -> None:
    """Submit a job as sbatch does, to be placed by `odonata cluster place`.

    All arguments after our own options go to sbatch; output and exit code are those of sbatch. The
    job gets a begin time in 2101 and a mark in its comment, and waits until its nodes are chosen.
    Jobs that name nodes, a begin time, a deadline or a reservation, throttled arrays and
    heterogeneous jobs are submitted unchanged.
    """
    from odonata_live.cluster.submitting import is_alive, to_be_placed

    given = list(arguments)
    if heartbeat is not None and not is_alive(heartbeat, stale):
        say(f"{heartbeat}: nobody places jobs now; submitted to Slurm as it is", err=True)
    else:
        given, why = to_be_placed(given, _script)
        if why is not None:
            say(f"submitted to Slurm as it is: {why}", err=True)
    program = shutil.which("sbatch")
    if program is None:
        raise ClusterError("sbatch: not found. Run this where Slurm's commands are on PATH")
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(program, ["sbatch", *given])


def _script(path: str) -> str | None:
    """What a script holds; `None` if sbatch may say what is wrong with it."""
    from odonata import bounded

    try:
        return bounded.read_text(path, errors="replace")
    except OSError:
        return None


@command()
@click.argument("journal", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--job", metavar="JOBID", help="Only the decisions about this job.")
@cluster_options.last('decisions of this last stretch of time, e.g. "12 h"')
@options.json
def decisions(journal: Path, job: str | None, last: int | None, as_json: bool) -> None:
    """Show what `odonata cluster place` decided, and why jobs wait."""
    from odonata_live.cluster.journal import Journal

    with Journal(journal) as kept:
        made = kept.decisions(job=job, since_ms=int(1000 * since(last)))
        waits = [wait for wait in kept.waits() if job in (None, wait.job)]
    if as_json:
        print_json(
            {
                "decisions": [one.__dict__ for one in made],
                "waiting": [one.__dict__ for one in waits],
            }
        )
        return
    _print(made, waits)


def _print(made: list[Decision], waits: list[Wait]) -> None:
    out = terminal()
    for one in made:
        listed = ",".join(one.nodes[:16]) + (" …" if len(one.nodes) > 16 else "")
        parts = [f"{len(one.nodes)} nodes: {listed}"] if one.nodes else []
        parts += [f"groups of its own: {','.join(one.owned)}"] if one.owned else []
        parts += ["overtook others"] if one.backfilled else []
        parts += [one.note] if one.note else []
        line = f"{_clock(one.time_ms)}  job {one.job}  {one.state:9}  {'; '.join(parts)}"
        out.print(escape(line), soft_wrap=True)
    for wait in waits:
        start = (
            "" if wait.promised_ms is None else f", expected to start {_clock(wait.promised_ms)}"
        )
        out.print(
            f"job {escape(wait.job)} waits since {_clock(wait.since_ms)}{start}: "
            f"{escape(wait.reason)}",
            soft_wrap=True,
        )


def _clock(time_ms: int) -> str:
    import time

    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time_ms / 1000))


@command("slurm-files")
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--heartbeat",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("/var/lib/odonata/heartbeat"),
    help="The heartbeat file of `odonata cluster place`.",
)
@click.option(
    "--partition",
    "partitions",
    multiple=True,
    required=True,
    metavar="NAME",
    help="Partitions whose jobs are placed; may be given several times.",
)
@click.option("--stale", type=TIME, default="2 min", help="Age above which a heartbeat is stale.")
def slurm_files(directory: Path, heartbeat: Path, partitions: tuple[str, ...], stale: int) -> None:
    """Write job_submit.lua and leave-waiting-jobs.sh, the watchdog, into DIRECTORY."""
    from odonata_live.cluster.slurm_files import write_slurm_files

    try:
        written = write_slurm_files(directory, heartbeat, partitions, stale)
    except OSError as error:
        raise OutputError(f"{directory}: cannot be written: {error.strerror}") from error
    for path in written:
        say(path)
