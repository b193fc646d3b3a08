"""``odonata interference``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from odonata.cli import options
from odonata.cli.shared import (
    command,
    goes_on_in,
    notices,
    print_json,
    progress_terminal,
    read_scenario,
)
from odonata.terminal import terminal


@command()
@options.scenario
@click.option(
    "--target",
    metavar="NAME",
    help="The job under study: only it is simulated alone, and in pairs with each other job. "
    "Default: all jobs.",
)
@click.option(
    "--pairs/--no-pairs",
    default=True,
    help="Whether to simulate the jobs in pairs, for the interference matrix.",
)
@click.option(
    "--attribution/--no-attribution",
    default=True,
    help="Whether to record who waits for whom at which link when all jobs run.",
)
@options.jobs
@options.out(
    "Directory for the results. If the analysis has been there before, it continues. "
    "Default: results/NAME-interference."
)
@options.json
def interference(
    scenario: Path, changes: tuple[str, ...], out: Path | None, as_json: bool, **how: Any
) -> None:
    """Find out which job slows down which, by how much, and at which links.

    Simulates every job alone, in pairs and together with all others, each time on the same nodes
    and with the same messages. Leaves slowdowns of message latencies and run times, the
    interference matrix, and where jobs waited for whom, as tables and pictures.
    """
    what = read_scenario(scenario, changes)

    from odonata.progress import StudyBar
    from odonata.report.summaries import print_interference
    from odonata.study.interference import figures
    from odonata.study.interference import interference as analyse

    directory = out or Path("results") / f"{scenario.stem}-interference"
    console = progress_terminal()
    with StudyBar(console, "Jobs alone and together") as bar, goes_on_in(directory):
        found = analyse(what, out=directory, progress=bar, notice=notices(console), **how)
    if as_json:
        print_json({"directory": str(directory), **figures(found)})
    else:
        print_interference(terminal(), found, directory)
