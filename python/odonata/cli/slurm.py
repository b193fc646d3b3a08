"""``odonata slurm``."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from odonata.cli import options
from odonata.cli.keys import key_options, keys_given
from odonata.cli.log import log_options, print_report, read_log
from odonata.cli.numeric import Number, Whole
from odonata.cli.schedule import outcome_rows, print_costs, print_reasons
from odonata.cli.schedule_options import options_of
from odonata.cli.shared import command, escape, new_table, notices, print_json, progress_terminal
from odonata.errors import JobLogError
from odonata.terminal import terminal

if TYPE_CHECKING:
    from odonata.batch.joblog import JobLog
    from odonata.batch.schedules import Schedule
    from odonata.batch.slurm import ListedNodes, SlurmSchedule

MEASURING = options_of("tau", "interval")
FAILING = options_of("failures.mtbf", "failures.repair", "failures.together", "requeue")


@command()
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
@click.option(
    "--machine",
    type=click.Path(path_type=Path),
    metavar="SCENARIO",
    help="Scenario of the machine, with its hosts in [machine]: nodes fail that its [failures] "
    "take out (routers, links, nodes, at whole seconds after the first submission). Jobs are not "
    "slower for what is left: odonata schedule --network flow says by how much they are.",
)
@partial(key_options, options=FAILING)
@click.option("--seed", type=Whole(0), default=1, help="With --mtbf: seed of the times.")
@partial(key_options, options=MEASURING)
@options.out("Directory for the results. Default: results/LOG-1, results/LOG-2 …")
@options.json
@options.quiet
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
    machine: Path | None,
    seed: int,
    out: Path | None,
    as_json: bool,
    no_plots: bool,
    quiet: bool,
    **how: Any,
) -> None:
    """Simulate when Slurm starts the jobs of a log, from Slurm's own configuration.

    LOG is a log that `odonata log describe` reads, best of all from sacct or scontrol. Prints the
    result beside what the log recorded, and leaves tables and pictures as `odonata schedule` does.
    CPUs are counted, not nodes.
    """
    context = click.get_current_context()
    if grap is None and context.get_parameter_source("grap_mode") is not ParameterSource.DEFAULT:
        raise click.UsageError("--grap-mode changes nothing without --grap LEVEL")
    failures = keys_given(FAILING, how)
    requeue = failures.pop("requeue", None)
    if failures and "mtbf" not in failures:
        raise click.UsageError("--repair and --fail-together change nothing without --mtbf TIME")
    if not failures and context.get_parameter_source("seed") is not ParameterSource.DEFAULT:
        raise click.UsageError("--seed changes nothing without --mtbf TIME")
    from odonata.batch import save_schedules
    from odonata.batch.slurm import schedule_as_slurm
    from odonata.batch.withheld import FAILURES, MAINTENANCE, cost_of, without_effect
    from odonata.output import claim
    from odonata.progress import JobsBar

    console = progress_terminal()
    with console.status(f"Reading {log.name}"):
        read = read_log(log, how)
    # Whether the results have a place is known before anything is simulated.
    with claim(out, log.stem) as held:
        directory = held.directory
        failing = listed_nodes(read, outages, "--outage")
        options: dict[str, Any] = {
            "settings": settings,
            "recorded_priorities": recorded_priorities,
            "seconds_per_test": test_time,
            "grap": grap,
            "grap_mode": grap_mode,
            "seed": seed,
            **keys_given(MEASURING, how),
        }
        kept_free = listed_nodes(read, maintenance, "--maintenance")
        costly: dict[str, dict[str, Any]] = {
            MAINTENANCE: {"maintenance": kept_free},
            FAILURES: {
                "outages": failing,
                "failures": failures or None,
                "machine": machine,
                "requeue": requeue,
            },
        }

        def made(name: str, notice: Callable[[str], object], without: str = "") -> SlurmSchedule:
            kept = [keys.items() for what, keys in costly.items() if what != without]
            how = options | dict(itertools.chain.from_iterable(kept))
            with JobsBar(console, f"Scheduling {name}") as bar:
                return schedule_as_slurm(
                    read, list(configuration), name=name, notice=notice, progress=bar, **how
                )

        simulated = made("slurm", notices(console))
        _refuse_strangers(simulated, log)
        schedules: list[Schedule] = [simulated]
        for what, keys in costly.items():
            if any(keys.values()):
                # What the first one noticed is said once.
                fewer = made(f"slurm without {what}", lambda sentence: None, what)
                simulated.summary.setdefault("costs", {})[what] = cost_of(what, simulated, fewer)
                schedules.append(fewer)
        save_schedules(
            schedules,
            directory,
            source={"file": str(log), "report": read.report, **read.meta},
            plots=not no_plots,
            claim=held,
            notice=notices(console),
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
                    each.name: {"summary": each.summary, "cost": each.cost} for each in schedules
                },
            }
        )
    elif not quiet:
        if read.report is not None:
            print_report(terminal(), read.report)
        for note in simulated.notes:
            terminal().print(f"Note: {escape(note)}", highlight=False)
        table = new_table("", right=("recorded", *(escape(each.name) for each in schedules)))
        # Waits are of jobs that started in both, as far as the log tells starts.
        beside = [beside_recorded(each.jobs)["rows"] for each in schedules]
        if figures["rows"]:
            jobs = (f"{figures['jobs']:,}", *("" for _ in schedules))
            table.add_row("jobs that started in both", *jobs)
        for name, cells in outcome_rows(schedules).items():
            if name in figures["rows"]:
                cells = [rows.get(name, ("", "–"))[1] for rows in beside]
            table.add_row(name, figures["rows"].get(name, [""])[0], *cells)
        if figures["rows"]:
            correlation = figures["rank_correlation_of_starts"]
            shown = "–" if correlation is None else f"{correlation:.3f}"
            table.add_row("rank correlation of starts", "", shown, *("" for _ in schedules[1:]))
        terminal().print(table)
        for each in schedules:
            print_reasons(terminal(), each)
        print_costs(terminal(), simulated)
        terminal().print(f"Results in {escape(str(directory))}", soft_wrap=True)
    starts = [(MAINTENANCE, one.start_s) for one in kept_free] + [
        ("outage", o.start_s) for o in failing
    ]
    for sentence in without_effect(simulated.jobs, starts, read.meta["epoch"]):
        notices(console)(sentence)


def _refuse_strangers(simulated: Schedule, log: Path) -> None:
    """Refuses a log of which no job can start.

    Raises:
        JobLogError: If so.
    """
    from odonata.batch.waits import reasons

    jobs, refused = (simulated.summary[key] for key in ("jobs", "refused"))
    if jobs and refused == jobs:
        said = "; ".join(f"{one.text} ({one.jobs:,})" for one in reasons(simulated))
        raise JobLogError(
            f"{log}: none of its {jobs:,} jobs can start: {said}; allowed: a log and the "
            "configuration of the same cluster"
        )


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

    from odonata.batch.describe import figures_of
    from odonata.display import span

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
        "rows": {f"{which} wait": [span(one[which]) for one in waits] for which in waits[0]},
    }
