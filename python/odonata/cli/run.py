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
