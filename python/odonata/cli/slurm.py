"""``odonata slurm``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from odonata.cli.keys import key_options, keys_given
from odonata.cli.log import log_options, print_report, read_log
from odonata.cli.numeric import Number, Whole
from odonata.cli.schedule import print_reasons
from odonata.cli.schedule_options import options_of
from odonata.cli.shared import (
    debug_option,
    escape,
    json_option,
    new_table,
    notices,
    out_option,
    print_json,
    progress_terminal,
)
from odonata.terminal import terminal

if TYPE_CHECKING:
    from odonata.batch.joblog import JobLog
    from odonata.batch.slurm import ListedNodes

MEASURING = options_of("tau", "interval")
FAILURES = options_of("failures.mtbf", "failures.repair", "failures.together", "requeue")


@click.command()
@log_options
@click.option(
    "--conf",
    "configuration",
    multiple=True,
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="slurm.conf, topology.conf, or the output of scontrol show config, topology, nodes or "
    "partitions, of sacctmgr show qos or assoc, or of sshare. May be given several times; later "
    "files override earlier ones.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="KEY=VALUE",
    help="A line of slurm.conf that replaces what the files say, such as "
    "SchedulerParameters=bf_interval=60. May be given several times.",
)
@click.option(
    "--recorded-priorities",
    is_flag=True,
    help="Order jobs by the priorities that the log recorded.",
)
@click.option(
    "--test-time",
    type=Number(),
    default=0.0,
    metavar="SECONDS",
    help="Time that backfill takes to test one job: sdiag's mean cycle divided by its mean depth.",
)
@click.option(
    "--grap",
    type=Whole(0),
    metavar="LEVEL",
    help="Choose nodes by GRAP (Feng et al. 2023) in the place of Slurm's own way: groups are the "
    "switches of this level of topology.conf, 0 for leaf switches.",
)
@click.option(
    "--grap-mode",
    type=click.Choice(["adaptive", "minimal-balance"]),
    default="adaptive",
    show_default=True,
    help="With --grap: how large jobs are spread over groups.",
)
@click.option(
    "--outage",
    "outages",
    multiple=True,
    metavar="START..[END],NODELIST",
    help="Nodes fail: jobs on them end as NODE_FAIL and are requeued. Times are dates "
    "(2022-03-01T08:00, UTC) or durations after the first submission (12 h), END also one after "
    "START (+4h); without END the nodes never come back. May be given several times.",
)
@click.option(
    "--maintenance",
    multiple=True,
    metavar="START..END,NODELIST",
    help="Keep nodes free: no job gets one whose time limit reaches into this time. May be given "
    "several times.",
)
@partial(key_options, options=FAILURES)
@click.option(
    "--seed",
    type=Whole(0),
    default=1,
    show_default=True,
    help="With --mtbf: seed of the times.",
)
@partial(key_options, options=MEASURING)
@out_option("Directory for the results. Default: results/LOG-1, results/LOG-2 …")
@json_option
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@debug_option
def slurm(
    log: Path,
    configuration: tuple[Path, ...],
    settings: tuple[str, ...],
    recorded_priorities: bool,
    test_time: float,
    grap: int | None,
    grap_mode: str,
    outages: tuple[str, ...],
    maintenance: tuple[str, ...],
    seed: int,
    out: Path | None,
    as_json: bool,
    quiet: bool,
    **how: Any,
) -> None:
    """Simulate when Slurm starts the jobs of a log, from Slurm's own configuration.

    LOG is a log that `odonata log describe` reads, best of all from sacct or scontrol. Prints the
    result beside what the log recorded. CPUs are counted, not nodes.
    """
    context = click.get_current_context()
    if grap is None and context.get_parameter_source("grap_mode") is not ParameterSource.DEFAULT:
        raise click.UsageError("--grap-mode changes nothing without --grap LEVEL")
    failures = keys_given(FAILURES, how)
    requeue = failures.pop("requeue", None)
    if failures and "mtbf" not in failures:
        raise click.UsageError("--repair and --fail-together change nothing without --mtbf TIME")
    if not failures and context.get_parameter_source("seed") is not ParameterSource.DEFAULT:
        raise click.UsageError("--seed changes nothing without --mtbf TIME")
    from odonata.batch import save_schedules
    from odonata.batch.slurm import schedule_as_slurm
    from odonata.output import claim

    console = progress_terminal()
    with console.status(f"Reading {log.name}"):
        read = read_log(log, how)
    # Whether the results have a place is known before anything is simulated.
    with claim(out, log.stem) as held:
        directory = held.directory
        with console.status("Scheduling"):
            simulated = schedule_as_slurm(
                read,
                list(configuration),
                settings=settings,
                recorded_priorities=recorded_priorities,
                seconds_per_test=test_time,
                notice=notices(console),
                grap=grap,
                grap_mode=grap_mode,
                outages=listed_nodes(read, outages, "--outage"),
                maintenance=listed_nodes(read, maintenance, "--maintenance"),
                failures=failures or None,
                requeue=requeue,
                seed=seed,
                **keys_given(MEASURING, how),
            )
        save_schedules(
            [simulated],
            directory,
            source={"file": str(log), "report": read.report, **read.meta},
            claim=held,
        )
    figures = beside_recorded(simulated.jobs)
    if as_json:
        print_json(
            {
                "directory": str(directory),
                "report": read.report,
                "notes": simulated.notes,
                "recorded": figures,
                "schedules": {
                    simulated.name: {"summary": simulated.summary, "cost": simulated.cost}
                },
            }
        )
    elif not quiet:
        if read.report is not None:
            print_report(terminal(), read.report)
        for note in simulated.notes:
            terminal().print(f"Note: {escape(note)}", highlight=False)
        table = new_table()
        table.add_column("")
        for name in ("recorded", "simulated"):
            table.add_column(name, justify="right")
        for name, (recorded, value) in figures["rows"].items():
            table.add_row(name, recorded, value)
        for name, key in (("", ""), (" until the last submission", "_until_last_submit")):
            share = f"{simulated.summary[f'utilisation{key}']:.1%}"
            table.add_row(f"utilisation, CPUs{name}", "", share)
        terminal().print(table)
        print_reasons(terminal(), simulated)
        refused = simulated.summary["refused"]
        if refused:
            starts = "job never starts" if refused == 1 else "jobs never start"
            terminal().print(f"{refused:,} {starts}; the column reason says why")
        failed = simulated.summary.get("failures")
        if failed is not None:
            ended = failed["node_fails"]
            terminal().print(
                f"Requeued as a node failed: {failed['requeues']:,}; ended so: {ended:,} "
                f"{'job' if ended == 1 else 'jobs'}; lost: "
                f"{failed['lost_processor_seconds'] / 3600:,.1f} CPU hours"
            )
        terminal().print(f"Results in {escape(str(directory))}", soft_wrap=True)


def listed_nodes(log: JobLog, texts: Sequence[str], option: str) -> list[ListedNodes]:
    """Reads ``START..[END],NODELIST`` of an option.

    Raises:
        JobLogError: If it is none.
    """
    from odonata.batch.options import outage_keys, times
    from odonata.batch.slurm import ListedNodes

    first = int(log.jobs["submit_s"][0].as_py()) if len(log) else 0
    found = []
    for text in texts:
        keys = outage_keys(text, option)
        if option == "--maintenance" and "until" not in keys:
            raise click.UsageError(f'--maintenance: found "{text}"; allowed: START..END,NODELIST')
        start, end = times(option, keys["at"], keys.get("until"), first, log.meta["epoch"])
        found.append(ListedNodes(keys["nodes"], start, end))
    return found


def beside_recorded(jobs: Any) -> dict[str, Any]:
    """Waits and the rank correlation of starts, of jobs that started in both.

    Args:
        jobs: Table of a schedule.
    """
    import numpy as np

    from odonata.batch.describe import figures_of, span

    frame = jobs.select(["submit_s", "start_s", "wait_s", "recorded_wait_s"]).to_pandas()
    both = frame.dropna()
    if both.empty:
        return {"jobs": 0, "rows": {}}
    real = both["submit_s"] + both["recorded_wait_s"]
    ranks = real.rank(), both["start_s"].rank()
    # Starts that are all the same have no order to compare.
    ordered = all(rank.nunique() > 1 for rank in ranks)
    correlation = float(np.corrcoef(*ranks)[0, 1]) if ordered else None
    waits = [figures_of(both[name].to_numpy()) for name in ("recorded_wait_s", "wait_s")]
    return {
        "jobs": len(both),
        "mean_wait_s": {"recorded": waits[0]["mean"], "simulated": waits[1]["mean"]},
        "rank_correlation_of_starts": correlation,
        "rows": {
            "jobs": (f"{len(both):,}", f"{len(both):,}"),
            **{f"wait, {which}": tuple(span(one[which]) for one in waits) for which in waits[0]},
            "rank correlation of starts": (
                "",
                "–" if correlation is None else f"{correlation:.3f}",
            ),
        },
    }
