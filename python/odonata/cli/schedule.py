"""``odonata schedule``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odonata import names
from odonata.cli import options
from odonata.cli.keys import KeyOption, given_options, key_options
from odonata.cli.log import print_report
from odonata.cli.schedule_options import READING, SCHEDULE
from odonata.cli.shared import command, escape, new_table, notices, print_json, progress_terminal
from odonata.errors import JobLogError, Problem, ScenarioError
from odonata.terminal import has_edge, terminal

if TYPE_CHECKING:
    from rich.console import Console

    from odonata.batch import JobLog, Schedule
    from odonata.batch.schedules import Outcome
    from odonata.scenario import Scenario

#: What says, in the place of `schedule.network.level`, that there is no network.
NONE = "none"

#: Keys below this one are of the network.
_NETWORK = "schedule.network."

#: The seed of what is drawn for jobs is the scenario's.
_SEED = KeyOption(
    "--network-seed",
    "seed",
    "whole",
    help="Seed of what is drawn for jobs, modes included, and of failures.  [default: 1]",
    metavar="N",
    least=0,
)
_LEVEL = KeyOption(
    "--network",
    "schedule.network.level",
    "text",
    help="What slows jobs down or makes them faster: nothing (they run as long as the log says), a "
    "table of speed-ups, the links of a machine that running jobs share as flows, or the same "
    "packet by packet (small machines, short logs).  [default: none]",
    choices=(NONE, "table", "flow", "packet"),
)
_OPTIONS = (*READING, *SCHEDULE, _LEVEL, _SEED)


@command()
@options.scenario
@partial(key_options, options=_OPTIONS)
@options.out("Directory for the results. Default: results/LOG-1, results/LOG-2 …")
@click.option(
    "--windows",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With applications on a network: keep what the network came to in this file, so that the "
    "same schedule goes on from there if it is interrupted.",
)
@options.json
@options.quiet
def schedule(
    scenario: Path,
    changes: tuple[str, ...],
    out: Path | None,
    windows: Path | None,
    as_json: bool,
    no_plots: bool,
    quiet: bool,
    **values: Any,
) -> None:
    """Simulate when the jobs of a log start on a machine; leave tables and pictures.

    SCENARIO is a file with a [schedule], whose name ends in .toml, or a job log that `odonata log
    describe` reads. Options stand for keys of [schedule] and override those of the file. The
    machine consists of nodes, or of processors where the log counts these; a job can use any free
    ones.
    """
    from odonata.batch import save_schedules
    from odonata.batch.from_scenario import ScheduleRun
    from odonata.output import claim
    from odonata.progress import JobsBar

    what = _scenario(scenario, given_options(_OPTIONS, values), changes)
    console = progress_terminal()
    assert what.schedule is not None
    log = what.schedule.log
    with console.status(f"Reading {Path(log or scenario).name}"):
        run = ScheduleRun(what, windows)
    with claim(out, scenario.stem) as held:
        directory = held.directory
        schedules = []
        try:
            for name in run.names:
                with JobsBar(console, f"Scheduling {name}") as bar:
                    schedules.append(run.run(name, bar))
            for costly in run.costly:
                with JobsBar(console, f"Scheduling {run.names[0]} without {costly}") as bar:
                    schedules.append(run.without(costly, schedules[0], bar))
        except JobLogError as error:
            raise _of_engine(error, is_log=scenario.suffix != ".toml") from None
        save_schedules(
            schedules,
            directory,
            source={"file": log or scenario.name, "report": run.log.report, **run.log.meta},
            scenario=what,
            plots=not no_plots,
            claim=held,
            notice=notices(console),
        )
    if as_json:
        print_json(
            {
                "directory": str(directory),
                "report": run.log.report,
                "schedules": {
                    each.name: {"summary": each.summary, "cost": each.cost} for each in schedules
                },
            }
        )
    elif not quiet:
        if run.log.report is not None:
            print_report(terminal(), run.log.report, cut_larger=what.schedule.larger == "cut")
        print_outcomes(terminal(), schedules, directory, _counted(run.log, schedules[0]))
    # Below the tables, where it is not missed.
    made = next((each for each in schedules[: len(run.names)] if each.cost), None)
    for sentence in [] if made is None else run.without_effect(made):
        notices(console)(sentence)


def _scenario(
    file: Path, given: Sequence[tuple[KeyOption, Any]], changes: tuple[str, ...]
) -> Scenario:
    """The scenario of a file, or of a job log, with what options say.

    Raises:
        ScenarioError: If it is none; tells option or key.
        click.UsageError: If options do not go together.
    """
    from odonata.scenario import Scenario, set_key
    from odonata.scenario.toml_source import parse_toml, read_text, with_lines

    name = text = ""
    if file.suffix == ".toml":
        name = str(file)
        text = read_text(file)
        data = parse_toml(text, name)
        if "schedule" not in data:
            allowed = "a table [schedule] with the key `log`"
            message = f"found nothing; allowed: {allowed}, to run with `odonata schedule`"
            raise ScenarioError([Problem("schedule", message, "nothing", allowed)], name)
    else:
        data = {"schedule": {"log": str(file)}}
    _set_network(data, given)
    for option, value in given:
        if option is not _LEVEL:
            set_key(data, option.key, value, name)
    _write_out_placements(data["schedule"])
    try:
        scenario = Scenario.from_dict(data, file=name)
        return scenario.with_set(changes) if changes else scenario
    except ScenarioError as error:
        answer = with_lines(error, text, but=[option.key for option, _ in given])
        found = [_of_option(one, given, is_log=not name) for one in answer.problems]
        raise ScenarioError(found, name) from None


def _write_out_placements(schedule: Any) -> None:
    """Puts the schedule's own policy, with another placement, where a placement is compared."""
    from odonata.batch.table import ScheduleTable, Which

    if not isinstance(schedule, dict) or not isinstance(schedule.get("compare"), list):
        return
    own = Which(
        schedule.get("policy", ScheduleTable.keys["policy"].default),
        schedule.get("order", ScheduleTable.keys["order"].default),
        "grap" in schedule,
    )
    for place, which in enumerate(schedule["compare"]):
        if which not in names.PLACEMENT:
            continue
        network = schedule.get("network")
        if not isinstance(network, dict) or network.get("level") not in ("flow", "packet"):
            allowed = "a placement with --network flow or packet, as it changes nothing without"
            raise click.UsageError(f"--compare: found {which}; allowed: {allowed}")
        schedule["compare"][place] = f"{own.name},network.placement={which}"


def _set_network(data: Mapping[str, Any], given: Sequence[tuple[KeyOption, Any]]) -> None:
    """Sets the level of the network, and refuses options that mean nothing with it."""
    schedule = data["schedule"]
    if not isinstance(schedule, dict):
        return
    asked = next((value for option, value in given if option is _LEVEL), None)
    if asked == NONE:
        schedule.pop("network", None)
    elif asked is not None:
        there = schedule.get("network")
        schedule["network"] = {**(there if isinstance(there, dict) else {}), "level": asked}
    there = schedule.get("network")
    level = there.get("level") if isinstance(there, dict) else NONE
    has_modes = "grap" in schedule or any(o.key == "schedule.grap.groups" for o, _ in given)
    fails = "failures" in schedule or any(".failures." in o.key for o, _ in given)
    for option, _ in given:
        if option is _SEED:
            useless = level == NONE and not has_modes and not fails
        else:
            useless = option.key.startswith(_NETWORK) and (
                level == NONE or (option.levels and level not in option.levels)
            )
        if useless and option is not _LEVEL:
            raise click.UsageError(f"{option.option}: has no meaning with --network {level}")
    for option in SCHEDULE:
        if option.key == f"{_NETWORK}speed_ups" and level == "table" and asked is not None:
            keys = [o.key for o, _ in given]
            if option.key not in keys and "speed_ups" not in schedule["network"]:
                raise click.UsageError("--network table: needs --speed-ups FILE")


def _of_option(
    problem: Problem, given: Sequence[tuple[KeyOption, Any]], *, is_log: bool
) -> Problem:
    """The problem, said of the option that set the key."""
    for option, _ in given:
        if problem.path == option.key or problem.path.startswith((f"{option.key}[",)):
            message = problem.message
            if option.option == "--compare" and problem.allowed:
                # Placements are written out before the engine reads the rest.
                message += f"; with --network flow or packet also {', '.join(names.PLACEMENT)}"
                message += "; of several, each with a --compare of its own"
            return replace(problem, path=option.option, message=message)
    if is_log and problem.path == "schedule.network.machine":
        return replace(problem, path="--network", message="needs --machine SCENARIO")
    for table, key, named in (("failures", "mtbf", "--mtbf"), ("hold", "above", "--hold-above")):
        if is_log and problem.path == f"schedule.{table}.{key}":
            others = [o.option for o, _ in given if o.key.startswith(f"schedule.{table}.")]
            message = f"missing; without it {', '.join(others)} would change nothing"
            return replace(problem, path=named, message=message)
    return problem


def _of_engine(error: JobLogError, *, is_log: bool) -> JobLogError:
    """What the engine refuses, said of an option where there is no file with its key."""
    key, _, said = str(error).partition(": ")
    for option in SCHEDULE if is_log and said else ():
        if option.key == f"schedule.{key}":
            return JobLogError(f"{option.option}: {said}")
        inside = f"schedule.{key}".removeprefix(f"{option.key}.")
        if option.key == f"{_NETWORK}machine" and inside != f"schedule.{key}":
            return JobLogError(f"{option.option}: network.{inside}: {said}")
    return error


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
    console: Console, schedules: Sequence[Schedule | Outcome], directory: Path, counted: str = ""
) -> None:
    """Prints what schedules came to, side by side, below what their log counts."""
    from odonata.batch.schedules import Outcome

    if counted:
        console.print(counted, soft_wrap=True, markup=False)
    table = new_table("", right=(escape(each.name) for each in schedules))
    for name, cells in outcome_rows(schedules).items():
        table.add_row(name, *cells)
    console.print(table)
    for each in schedules:
        if not isinstance(each, Outcome):
            print_reasons(console, each)
    _print_idle_networks(console, schedules)
    for each in schedules:
        print_costs(console, each)
    console.print(f"Results in {escape(str(directory))}", soft_wrap=True)


def outcome_rows(schedules: Sequence[Schedule | Outcome]) -> dict[str, list[str]]:
    """Figures of schedules in words, by what they are; a cell of each schedule."""
    from odonata.display import percent, span, words

    rows: dict[str, list[str]] = {}
    one = schedules[0].unit.removesuffix("s")

    def row(name: str, show: Any) -> None:
        rows[name] = [show(each.summary) for each in schedules]

    def named(key: str, show: Any) -> None:
        row(words(key), show)

    row("jobs that ran", lambda s: f"{s['jobs'] - s['refused']:,}")
    if any(each.summary["refused"] for each in schedules):
        named("refused", lambda s: f"{s['refused']:,}")
    named("killed", lambda s: f"{s['killed']:,}")
    if any("failures" in each.summary for each in schedules):
        for key in ("requeues", "node_fails"):
            named(key, lambda s, key=key: _failures(s, key))
        for key in ("lost", "out"):
            seconds = f"{key}_{one}_seconds"
            named(f"{key}_{one}_hours", lambda s, key=seconds: _failures(s, key, 3600))
    named("backfilled", lambda s: f"{s['backfilled']:,}" if s["backfilled"] else "–")
    row(f"utilisation, {schedules[0].unit}", lambda s: percent(s["utilisation"]))
    row("  until the last submission", lambda s: percent(s["utilisation_until_last_submit"]))
    row("makespan", lambda s: span(s["makespan_s"]))
    for which in ("mean", "median", "p90", "max"):
        row(f"{which} wait", lambda s, which=which: span(s["wait_s"][which]))
    for which in ("mean", "median"):
        row(f"{which} bounded slowdown", lambda s, w=which: _number(s["bounded_slowdown"][w]))
    named("mean_queue", lambda s: f"{s['mean_queue']:,.1f}")
    named("max_queue", lambda s: f"{s['max_queue']:,}")
    if any(each.summary["fragmentation"] is not None for each in schedules):
        named("fragmentation", lambda s: _number(s["fragmentation"]))
    if any("network" in each.summary for each in schedules):
        row("circuits set", _circuits)
    if any("run_over_log" in each.summary for each in schedules):
        named("slowed_jobs", partial(_over_log, key="slowed_jobs", digits=0))
        for key in ("mean", "p99", "max"):
            named(f"{key}_run_over_log", partial(_over_log, key=key))
    rows["CPU time"] = [
        f"{each.cost['cpu_seconds']:.3f} s" if each.cost else "–" for each in schedules
    ]
    return rows


def print_costs(console: Console, schedule: Schedule | Outcome) -> None:
    """Prints what a schedule's maintenance and failures cost, where it has these."""
    from odonata.batch.withheld import COSTS, cost_sentences

    wrap = not has_edge(console)
    for what, cost in schedule.summary.get("costs", {}).items():
        console.print(f"[bold]{COSTS[what]}[/], beside {escape(cost['without'])}:", soft_wrap=wrap)
        for sentence in cost_sentences(cost):
            console.print(f"  {escape(sentence)}", highlight=False, soft_wrap=wrap)


def print_reasons(console: Console, schedule: Schedule) -> None:
    """Prints why jobs waited, and why some never ran."""
    from odonata.batch.waits import reasons
    from odonata.display import span

    found = reasons(schedule)
    if found:
        # Logs give no reasons; a schedule that was not simulated has no cost.
        whence = "" if schedule.cost else ", by the nodes that jobs of the log held"
        console.print(
            f"[bold]Why jobs waited[/], {escape(schedule.name)}{whence}, as seen when each was "
            "submitted:",
            soft_wrap=not has_edge(console),
        )
    for one in found:
        never = "ended" if one.has_run else "never started"
        text = f"{one.text} ({span(one.wait_s)} in all)" if one.wait_s else f"{never}: {one.text}"
        jobs = f"{one.jobs:>9,} {'job' if one.jobs == 1 else 'jobs'}"
        console.print(f"  {jobs}: {escape(text)}", soft_wrap=not has_edge(console))


def _over_log(summary: dict[str, Any], key: str, digits: int = 2) -> str:
    over = summary.get("run_over_log")
    return "–" if over is None else f"{over[key]:,.{digits}f}"


def _print_idle_networks(console: Console, schedules: Sequence[Schedule | Outcome]) -> None:
    """Says on which networks no job ran longer than in the log."""
    for each in schedules:
        over = each.summary.get("run_over_log")
        if over is not None and over["max"] == over["mean"] == 1:
            console.print(
                f"{escape(each.name)}: no job ran longer than in the log: no link was ever full "
                "with what jobs send (--injection says how much that is), or none can be: a "
                "machine that from-slurm wrote has as much bandwidth up as down unless its "
                "files say less.",
                soft_wrap=True,
            )


def _failures(summary: dict[str, Any], key: str, unit: int = 1) -> str:
    failures = summary.get("failures")
    if failures is None:
        return "–"
    return f"{failures[key] / unit:,.{0 if unit == 1 else 1}f}"


def _circuits(summary: dict[str, Any]) -> str:
    circuits = summary.get("network", {}).get("circuits")
    if circuits is None:
        return "–"
    return f"{circuits['circuits_set']:,} in {circuits['reconfigurations']:,} goes"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}"
