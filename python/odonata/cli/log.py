"""``odonata log``: job logs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odonata import names
from odonata.cli import options
from odonata.cli.keys import key_options, keys_given
from odonata.cli.numeric import SEED, Number, Whole
from odonata.cli.options import Command
from odonata.cli.schedule_options import READING
from odonata.cli.shared import escape, group, new_table, print_json
from odonata.output import check_new_file
from odonata.terminal import terminal

if TYPE_CHECKING:
    from rich.console import Console

    from odonata.batch import JobLog


def reading_options(command: Command) -> Command:
    """Adds the options that say how a log is read."""
    return key_options(command, READING)


def reading_of(how: Mapping[str, Any]) -> dict[str, Any]:
    """What they say, as arguments of ``read_job_log``.

    Args:
        how: Values of the options, by their parameters.
    """
    return keys_given(READING, how)


def log_options(command: Command) -> Command:
    """Adds the argument LOG and how to read it."""
    return click.argument("log", type=click.Path(path_type=Path))(reading_options(command))


def read_log(log: Path, how: Mapping[str, Any], machine_nodes: int | None = None) -> JobLog:
    """Reads a log as the options say.

    Args:
        log: The file.
        how: Values of the options, by their parameters.
        machine_nodes: Nodes of the machine; by default as the log says.

    Raises:
        JobLogError: If it is none, or the first fault of it if reading is strict.
    """
    from odonata.batch import read_job_log

    return read_job_log(log, machine_nodes=machine_nodes, **reading_of(how))


_arrivals_factor = click.option(
    "--arrivals-factor",
    type=Number(above=True),
    default=1.0,
    metavar="X",
    help="Factor for the times between submissions; below 1 it raises the load.",
)


@group()
def log() -> None:
    """Look at job logs, convert them, draw synthetic ones."""


@log.command()
@log_options
@click.option(
    "--nodes",
    type=Whole(1),
    help="Nodes of the machine, to count jobs that are larger than the machine.  [default: as the "
    "log says]",
)
@options.json
def describe(log: Path, nodes: int | None, as_json: bool, **how: Any) -> None:
    """Print what a job log holds, and what is wrong with it.

    LOG is a file in the Standard Workload Format, a dump of `sacct --parsable2`, a table with a
    line of names (Submit, Runtime, Nodes …), results of CQSim, or a Parquet file of `odonata log
    convert`.
    """
    from odonata.batch.describe import describe_log

    read = read_log(log, how, nodes)
    described = describe_log(read)
    if as_json:
        print_json(described)
        return
    console = terminal()
    print_report(console, described["report"], examples=True)
    _print_described(console, described)


@log.command()
@log_options
@click.argument("output", type=click.Path(path_type=Path))
@click.option(
    "--nodes-factor",
    type=Number(above=True),
    default=1.0,
    metavar="X",
    help="Factor by which every job's number of nodes is multiplied, rounded up.",
)
@click.option(
    "--machine-nodes",
    type=Whole(1),
    help="Nodes of the machine that the new log is for; larger jobs are cut down to this number.",
)
@_arrivals_factor
@click.option(
    "--run-times-factor",
    type=Number(above=True),
    default=1.0,
    metavar="X",
    help="Factor for run times and requested times.",
)
@click.option("--first", type=Whole(1), help="Keep the first N jobs only.")
@click.option(
    "--from",
    "from_",
    metavar="TIME",
    help="Keep jobs submitted from here on: a date such as 2022-03-01T08:00 (UTC), or a duration "
    "after the first submission such as 12h.",
)
@click.option("--until", metavar="TIME", help="Keep jobs submitted before this.")
@options.json
def convert(
    log: Path,
    output: Path,
    nodes_factor: float,
    machine_nodes: int | None,
    arrivals_factor: float,
    run_times_factor: float,
    first: int | None,
    from_: str | None,
    until: str | None,
    as_json: bool,
    **how: Any,
) -> None:
    """Write a job log as another file: .swf, or .parquet, which keeps everything.

    Can cut and scale the log on the way: --nodes-factor 2 --machine-nodes 82944 is how Feng et al.
    (2023) enlarge the log of Mira.
    """
    from odonata.batch.options import moment

    check_new_file(output)
    read = read_log(log, how)
    if first is not None or from_ is not None or until is not None:
        begin = int(read.jobs["submit_s"][0].as_py()) if len(read) else 0
        epoch = read.meta["epoch"]
        read = read.selected(
            first=first,
            from_s=None if from_ is None else moment(from_, begin, epoch),
            until_s=None if until is None else moment(until, begin, epoch),
        )
    scaled = read.scaled(
        nodes_factor=nodes_factor,
        machine_nodes=machine_nodes,
        arrivals_factor=arrivals_factor,
        run_times_factor=run_times_factor,
    )
    scaled.save(output)
    if as_json:
        print_json({"file": str(output), "jobs": len(scaled), "report": read.report})
        return
    console = terminal()
    if read.report is not None:
        print_report(console, read.report)
    console.print(f"{len(scaled):,} jobs in {escape(str(output))}")


@log.command()
@click.argument("output", type=click.Path(path_type=Path))
@click.option("--nodes", type=Whole(2), required=True, help="Nodes of the machine.")
@click.option("--jobs", type=Whole(1, 10**7), required=True, help="Number of jobs.")
@click.option(
    "--kind",
    type=click.Choice(list(names.LOG_KIND)),
    default="all",
    help="Which of the model's jobs to draw.",
)
@_arrivals_factor
@click.option(
    "--request-factor",
    type=Number(1),
    metavar="X",
    help="Requested time as a multiple of the run time, at least 1.  [default: jobs request no "
    "time]",
)
@click.option("--seed", type=SEED, default=1)
@options.json
def generate(output: Path, as_json: bool, **how: Any) -> None:
    """Draw a synthetic job log, by the model of Lublin and Feitelson (2003).

    OUTPUT ends in .swf or .parquet.
    """
    from odonata.batch import generate_job_log

    check_new_file(output)
    drawn = generate_job_log(**how)
    drawn.save(output)
    if as_json:
        print_json({"file": str(output), "jobs": len(drawn)})
    else:
        terminal().print(f"{len(drawn):,} jobs in {escape(str(output))}")


def print_report(
    console: Console, report: dict[str, Any], *, examples: bool = False, cut_larger: bool = False
) -> None:
    """Prints what a reader counted; nothing of rules that did not apply.

    Args:
        console: Where to.
        report: Of the reader.
        examples: With examples of faults.
        cut_larger: A schedule was made that cuts jobs down to the machine, and refuses none.
    """
    dropped = f", {report['dropped']:,} dropped" if report["dropped"] else ""
    console.print(
        f"[bold]{escape(report['file'])}[/]: {report['format']}, {report['records']:,} records, "
        f"{report['jobs']:,} jobs{dropped}",
        soft_wrap=True,
    )
    if not report["rules"]:
        return
    table = new_table("rule", right=("records",))
    table.add_column("")
    table.add_column("what it is", prose=True)
    for rule in report["rules"]:
        explanation = rule["explanation"]
        if rule["rule"] == "larger-than-machine":
            done = (
                "cut down to it" if cut_larger else "a schedule refuses it, or --larger cut cuts it"
            )
            explanation = f"larger than the machine; {done}"
        table.add_row(rule["rule"], f"{rule['count']:,}", rule["action"], escape(explanation))
        if examples and rule["fault"]:
            for example in rule["examples"]:
                found = f": {example['found']}" if example["found"] else ""
                table.add_row("", "", "", f"[dim]line {example['line']}{escape(found)}[/]")
    console.print(table)


def _print_described(console: Console, described: dict[str, Any]) -> None:
    from odonata.display import span

    unit = described["unit"]
    rows = [
        ("machine", described["machine"] or "the log does not say"),
        ("sizes count", f"{unit} ({described['unit_because']})"),
        ("submitted", described["submitted"]),
        ("offered load", described["offered_load"] or "–"),
    ]
    for name, figures in described["figures"].items():
        shown = [
            f"{which} {span(figures[which]) if name != unit else format(figures[which], ',.0f')}"
            for which in ("mean", "median", "p90", "max")
        ]
        rows.append((name, ", ".join(shown)))
    rows.append(("users", f"{described['users']:,}" if described["users"] else "–"))
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        console.print(f"  {name:<{width}}  {escape(str(text))}", soft_wrap=True)
    if described["statuses"]:
        ends = ", ".join(f"{name} {count:,}" for name, count in described["statuses"].items())
        console.print(f"  {'ends':<{width}}  {escape(ends)}", soft_wrap=True)
