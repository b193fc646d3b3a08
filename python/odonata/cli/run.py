"""``odonata run``."""

from __future__ import annotations

from pathlib import Path

import click

from odonata import display
from odonata.cli.shared import (
    debug_option,
    json_option,
    print_json,
    progress_terminal,
    read_scenario,
    scenario_argument,
    terminal,
    threads_option,
)
from odonata.scenario import Scenario


@click.command()
@scenario_argument
@threads_option
@click.option(
    "--precision",
    metavar="SHARE",
    help="End as soon as mean latency and delivered load of all traffic are known to this share, "
    "e.g. 2%, with 95 % confidence; the duration is then the longest that it may take.",
)
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Instead of the scenario's.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Directory for the results; must not exist yet, or be empty. "
    "Default: results/NAME-1, results/NAME-2 …",
)
@click.option(
    "--replications",
    type=click.IntRange(2, 10_000),
    metavar="N",
    help="Simulate with N seeds, the scenario's and those that follow it, side by side; keep each "
    "result (without pictures) and the mean of every figure with its 95 % confidence interval.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 1024),
    metavar="K",
    help="With --replications: simulations at a time. Default: one per processor.",
)
@json_option
@click.option("--no-plots", is_flag=True, help="Draw no pictures.")
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
@debug_option
def run(
    scenario: Path,
    changes: tuple[str, ...],
    threads: int | None,
    precision: str | None,
    seed: int | None,
    out: Path | None,
    replications: int | None,
    jobs: int | None,
    as_json: bool,
    no_plots: bool,
    quiet: bool,
) -> None:
    """Simulate a scenario; leave tables and pictures in a directory."""
    if seed is not None:
        changes = (*changes, f"seed={seed}")
    if precision is not None:
        changes = (*changes, f"simulation.precision={precision}")
    what = read_scenario(scenario, changes)

    from odonata.progress import ProgressBar
    from odonata.results import check_output_directory, unused_directory
    from odonata.simulate import run as simulate

    directory = out if out is not None else unused_directory(scenario.stem)
    check_output_directory(directory)
    if replications is not None:
        if threads is not None:
            raise click.UsageError("--replications run side by side, each with one thread")
        _replicate(what, replications, jobs, directory, as_json=as_json, quiet=quiet)
        return
    if jobs is not None:
        raise click.UsageError("--jobs has a meaning with --replications only; see --threads")

    console = progress_terminal()
    if quiet:
        console.quiet = True
    with ProgressBar(console) as bar:
        try:
            result = simulate(what, threads=threads, progress=bar)
        except KeyboardInterrupt:
            at = display.duration(bar.now_ps)
            message = f"stopped at {at} of simulated time; nothing was written"
            raise KeyboardInterrupt(message) from None
    with console.status("Writing results" if no_plots else "Writing results and drawing pictures"):
        result.save(directory, plots=not no_plots)

    if as_json:
        print_json({"directory": str(directory), **result.summary_dict, "timing": result.timing})
    elif not quiet:
        from odonata.report import print_summary

        print_summary(terminal(), result, directory)


def _replicate(
    scenario: Scenario,
    count: int,
    jobs: int | None,
    directory: Path,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Several seeds of a scenario side by side."""
    from odonata.progress import StudyBar
    from odonata.report import print_replications
    from odonata.study.replication import replicate

    console = progress_terminal()
    if quiet:
        console.quiet = True
    with StudyBar(console, f"{count} replications") as bar:
        try:
            table = replicate(scenario, count, directory, jobs=jobs, progress=bar)
        except KeyboardInterrupt:
            message = f"stopped; replications that were done are in {directory}"
            raise KeyboardInterrupt(message) from None
    if as_json:
        print_json({"directory": str(directory), "figures": table.to_pylist()})
    elif not quiet:
        print_replications(terminal(), scenario, table, directory)
