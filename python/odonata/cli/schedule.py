"""``odonata schedule``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odonata.cli.log import log_options, print_report, read_log
from odonata.cli.network import NetworkOptions, network_options
from odonata.cli.shared import (
    debug_option,
    json_option,
    new_table,
    notices,
    print_json,
    progress_terminal,
    terminal,
)
from odonata.errors import JobLogError

if TYPE_CHECKING:
    from rich.console import Console

    from odonata.batch import JobLog, Schedule
    from odonata.batch.schedules import Outcome

#: Orders of the queue, as ``--order`` names them.
_ORDERS = ("fcfs", "sjf", "ljf", "smallest", "largest", "wfp", "multifactor")


@click.command()
@log_options
@click.option(
    "--nodes",
    type=click.IntRange(min=1),
    metavar="N",
    help="Nodes of the machine.  [default: as the log says]",
)
@click.option(
    "--policy",
    default="easy",
    show_default=True,
    metavar="POLICY",
    help="Which jobs may overtake: fcfs (none), easy, conservative, conservative-replanned, or "
    "depth:N (backfill with reservations for the first N).",
)
@click.option(
    "--order",
    type=click.Choice(_ORDERS),
    default="fcfs",
    show_default=True,
    help="Order of the queue.",
)
@click.option(
    "--compare",
    multiple=True,
    metavar="WHAT",
    help="Compare with another schedule of the log: recorded, a policy, or POLICY/ORDER such as "
    "easy/wfp. May be given several times.",
)
@click.option(
    "--estimates",
    default="requested",
    show_default=True,
    metavar="WHICH",
    help="Run times that the scheduler believes in: requested, perfect, or a multiple of the run "
    "time such as 2.",
)
@click.option(
    "--running-estimates",
    metavar="WHICH",
    help="The same of running jobs.  [default: as --estimates]",
)
@click.option("--no-limits", is_flag=True, help="Do not kill jobs when their time is over.")
@click.option(
    "--every",
    metavar="TIME",
    help="The scheduler works at multiples of this time, e.g. 30s.  [default: whenever something "
    "happens]",
)
@click.option("--per-event", is_flag=True, help="It works after every single event.")
@click.option(
    "--eligible",
    is_flag=True,
    help="Jobs come when they become eligible, where the log knows that.",
)
@click.option(
    "--larger",
    type=click.Choice(["refuse", "cut"]),
    default="refuse",
    show_default=True,
    help="Jobs larger than the machine are refused, or cut down to it.",
)
@click.option(
    "--share",
    type=click.IntRange(min=1),
    metavar="N",
    help="Jobs share nodes of N processors each.  [default: where LOG counts processors, as many "
    "as it says]",
)
@click.option(
    "--whole-nodes",
    is_flag=True,
    help="Round sizes of a LOG that counts processors up to whole nodes.",
)
@click.option(
    "--grap",
    type=click.IntRange(min=1),
    metavar="GROUPS",
    help="Place jobs by GRAP (Feng et al. 2023) on so many groups of a reconfigurable dragonfly.  "
    "[default: any free nodes]",
)
@click.option(
    "--grap-modes",
    multiple=True,
    metavar="[FROM..TO:]MODE=SHARE,…",
    help="With --grap: modes of large jobs of FROM to TO nodes, drawn by shares: minimal-balance, "
    "adaptive, custom-balance, custom. May be given several times.  [default: as Feng et al. 2023 "
    "assume, by the machine's groups]",
)
@network_options
@click.option(
    "--maintenance",
    multiple=True,
    metavar="START..END[,NODES]",
    help="Withhold NODES, or the whole machine. Times are dates (2022-03-01T08:00, UTC) or "
    "durations after the first submission (12h). May be given several times.",
)
@click.option(
    "--reservation",
    multiple=True,
    metavar="START..END,NODES,USER,…",
    help="Withhold NODES for jobs of these users. May be given several times.",
)
@click.option("--weight-age", type=float, metavar="W", help="Weights of --order multifactor.")
@click.option("--weight-size", type=float, metavar="W")
@click.option("--weight-fair-share", type=float, metavar="W", help="[default of each: 1000]")
@click.option("--max-age", metavar="TIME", help="Wait that counts as age 1.  [default: 7d]")
@click.option("--half-life", metavar="TIME", help="Usage counts half after it.  [default: 7d]")
@click.option(
    "--tau",
    default="10s",
    show_default=True,
    metavar="TIME",
    help="Least run time in the bounded slowdown.",
)
@click.option(
    "--interval",
    default="1min",
    show_default=True,
    metavar="TIME",
    help="Interval of the table of nodes in use and jobs waiting.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Directory for the results. Default: results/LOG-1, results/LOG-2 …",
)
@json_option
@click.option("--no-plots", is_flag=True, help="Draw no pictures.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@debug_option
def schedule(
    log: Path,
    nodes: int | None,
    policy: str,
    order: str,
    compare: tuple[str, ...],
    estimates: str,
    running_estimates: str | None,
    no_limits: bool,
    every: str | None,
    per_event: bool,
    eligible: bool,
    larger: str,
    share: int | None,
    whole_nodes: bool,
    grap: int | None,
    grap_modes: tuple[str, ...],
    maintenance: tuple[str, ...],
    reservation: tuple[str, ...],
    weight_age: float | None,
    weight_size: float | None,
    weight_fair_share: float | None,
    max_age: str | None,
    half_life: str | None,
    tau: str,
    interval: str,
    out: Path | None,
    as_json: bool,
    no_plots: bool,
    quiet: bool,
    network: str,
    mix: tuple[str, ...],
    mpi_share: str | None,
    speed_ups: Path | None,
    machine: Path | None,
    injection: str | None,
    placement: str | None,
    network_seed: int | None,
    switch_delay: str | None,
    packet_window: str | None,
    warmup: str | None,
    message: str | None,
    stretch: str | None,
    **how: Any,
) -> None:
    """Simulate when the jobs of a log start on a machine; leave tables and pictures.

    LOG is what `odonata log describe` reads. The machine counts nodes, or processors where the
    log does: any free ones will do for a job.
    """
    weights = {
        "age": weight_age,
        "size": weight_size,
        "fair_share": weight_fair_share,
        "max_age": max_age,
        "half_life": half_life,
    }
    given: dict[str, Any] = {name: value for name, value in weights.items() if value is not None}
    wanted = [f"{policy}/{order}", *(one for one in compare if one != "recorded")]
    if given and not any(one.endswith("/multifactor") for one in wanted):
        raise click.UsageError("weights and their times have a meaning with multifactor only")
    from odonata.batch import recorded_schedule, save_schedules
    from odonata.batch import schedule as simulate
    from odonata.batch.options import Multifactor, window
    from odonata.output import claim
    from odonata.progress import JobsBar

    chosen = NetworkOptions(
        network=network,
        mix=mix,
        mpi_share=mpi_share,
        speed_ups=speed_ups,
        machine=machine,
        injection=injection,
        placement=placement,
        network_seed=network_seed,
        switch_delay=switch_delay,
        window=packet_window,
        warmup=warmup,
        message=message,
        stretch=stretch,
        grap=grap is not None,
    ).read()
    console = progress_terminal()
    with console.status(f"Reading {log.name}"):
        read = read_log(log, machine_nodes=nodes, **how)
    first = int(read.jobs["submit_s"][0].as_py()) if len(read) else 0
    epoch = read.meta["epoch"]
    windows = [window(text, "maintenance", first, epoch) for text in maintenance]
    windows += [window(text, "reservation", first, epoch) for text in reservation]
    if any(not one.users for one in windows[len(maintenance) :]):
        raise click.UsageError("--reservation: names no users; give START..END,NODES,USER")
    if any(one.users for one in windows[: len(maintenance)]):
        raise click.UsageError("--maintenance: users have a meaning with --reservation only")

    def one(which: str) -> Schedule:
        name, _, its_order = which.partition("/")
        its_order = its_order or "fcfs"
        with JobsBar(console, f"Scheduling {which}") as bar:
            return simulate(
                read,
                nodes=nodes,
                policy=name,
                order=Multifactor(**given) if its_order == "multifactor" else its_order,
                estimates=estimates,
                running_estimates=running_estimates,
                enforce_limits=not no_limits,
                every=every,
                per_event=per_event,
                eligible=eligible,
                cut_larger=larger == "cut",
                share_processors=share,
                whole_nodes=whole_nodes,
                grap_groups=grap,
                grap_modes=grap_modes or None,
                mode_seed=1 if network_seed is None else network_seed,
                network=chosen,
                windows=windows,
                tau=tau,
                interval=interval,
                progress=bar,
            )

    def recorded() -> Schedule:
        return recorded_schedule(
            read,
            nodes=nodes,
            share_processors=share,
            whole_nodes=whole_nodes,
            tau=tau,
            interval=interval,
        )

    with claim(out, log.stem) as held:
        directory = held.directory
        schedules = [one(wanted[0])]
        schedules += [recorded() if which == "recorded" else one(which) for which in compare]
        names = [each.name for each in schedules]
        for name in names:
            if names.count(name) > 1:
                raise JobLogError(f"--compare: {name} is there twice")
        save_schedules(
            schedules,
            directory,
            source={"file": str(log), "report": read.report, **read.meta},
            plots=not no_plots,
            claim=held,
            notice=notices(console),
        )
    if as_json:
        print_json(
            {
                "directory": str(directory),
                "report": read.report,
                "schedules": {
                    each.name: {"summary": each.summary, "cost": each.cost} for each in schedules
                },
            }
        )
    elif not quiet:
        if read.report is not None:
            print_report(terminal(), read.report)
        print_outcomes(terminal(), schedules, directory, _counted(read, schedules[0]))


def _counted(log: JobLog, schedule: Schedule) -> str:
    """What the log counts, what the schedule does, and what rounding that took."""
    said = f"The log counts {log.unit} ({log.meta['unit_because']})"
    machine = f"{schedule.summary['machine']:,} {schedule.unit}"
    if log.unit == schedule.unit:
        return f"{said}; scheduled on {machine}."
    if schedule.unit == "processors":
        return f"{said}; scheduled on {machine}, shared."
    return f"{said}; scheduled on {machine}, sizes rounded up to whole nodes."


def print_outcomes(
    console: Console,
    schedules: Sequence[Schedule | Outcome],
    directory: Path,
    counted: str = "",
) -> None:
    """Prints what schedules came to, side by side, below what their log counts."""
    from odonata.batch.describe import span

    if counted:
        console.print(counted, soft_wrap=True, markup=False)
    table = new_table()
    table.add_column("")
    for each in schedules:
        table.add_column(each.name, justify="right")

    def row(name: str, show: Any) -> None:
        table.add_row(name, *(show(each.summary) for each in schedules))

    row("jobs that ran", lambda s: f"{s['jobs'] - s['refused']:,}")
    if any(each.summary["refused"] for each in schedules):
        row("refused", lambda s: f"{s['refused']:,}")
    row("killed at their limit", lambda s: f"{s['killed']:,}")
    row("overtook others", lambda s: f"{s['backfilled']:,}" if s["backfilled"] else "–")
    row(f"utilisation, {schedules[0].unit}", lambda s: f"{s['utilisation']:.1%}")
    row("makespan", lambda s: span(s["makespan_s"]))
    for which in ("mean", "median", "p90", "max"):
        row(f"wait, {which}", lambda s, which=which: span(s["wait_s"][which]))
    row("bounded slowdown, mean", lambda s: _number(s["bounded_slowdown"]["mean"]))
    row("bounded slowdown, median", lambda s: _number(s["bounded_slowdown"]["median"]))
    row("jobs waiting, mean", lambda s: f"{s['mean_queue']:,.1f}")
    row("jobs waiting, most", lambda s: f"{s['max_queue']:,}")
    if any(each.summary["fragmentation"] is not None for each in schedules):
        row("groups over least groups, mean", lambda s: _number(s["fragmentation"]))
    if any("network" in each.summary for each in schedules):
        row("circuits set", _circuits)
    table.add_row(
        "CPU time",
        *(f"{each.cost['cpu_seconds']:.3f} s" if each.cost else "–" for each in schedules),
    )
    console.print(table)
    console.print(f"Results in {directory}", soft_wrap=True)


def _circuits(summary: dict[str, Any]) -> str:
    circuits = summary.get("network", {}).get("circuits")
    if circuits is None:
        return "–"
    return f"{circuits['circuits_set']:,} in {circuits['reconfigurations']:,} goes"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}"
