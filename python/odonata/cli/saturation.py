"""``odonata saturation``."""

from __future__ import annotations

from pathlib import Path

import click

from odonata.cli import options
from odonata.cli.numeric import Fraction, Whole
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
    "--highest",
    type=Fraction(0, 10, above=True),
    default=1.0,
    metavar="LOAD",
    help="Highest load to offer, as a fraction of the terminal bandwidth, or of a job's `rate`.",
)
@click.option(
    "--tolerance",
    default="1%",
    metavar="SHARE",
    help="Width of the bracket around the saturation load at which the search ends.",
)
@click.option(
    "--seeds",
    type=Whole(1, 1_000),
    default=1,
    help="Search with N seeds, for a confidence interval of the load.",
)
@options.jobs
@options.out(
    "Directory for the results. If the search has been there before, it continues. Default: "
    "results/NAME-saturation."
)
@options.json
def saturation(
    scenario: Path,
    changes: tuple[str, ...],
    highest: float,
    tolerance: str,
    seeds: int,
    jobs: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Find the load above which a network delivers less than it is offered.

    Changes the `load` of every job with traffic, or tries shares of its `rate`. A network is
    saturated if it delivers less than 99 % of the offered load, by more than the 95 % confidence
    interval explains: the rest piles up. Leaves the load-latency curve as a table and a picture.
    """
    from odonata.units import Share, UnitError

    try:
        width = Share(tolerance).fraction
    except UnitError as error:
        raise click.UsageError(f"--tolerance: {error}") from None
    if not 0 < width < 1:
        raise click.UsageError(f"--tolerance: found {tolerance}; allowed: above 0 and below 100 %")
    what = read_scenario(scenario, changes)

    from odonata.api import saturation as find
    from odonata.progress import StudyBar
    from odonata.report.summaries import print_saturation
    from odonata.study.saturation import curve, figures

    directory = out or Path("results") / f"{scenario.stem}-saturation"
    console = progress_terminal()
    with StudyBar(console, "Looking for saturation") as bar, goes_on_in(directory):
        found = find(
            what,
            highest=highest,
            tolerance=width,
            seeds=seeds,
            jobs=jobs,
            out=directory,
            progress=bar,
            notice=notices(console),
        )
    if as_json:
        print_json({"directory": str(directory), **figures(found), "curve": curve(found)})
    else:
        print_saturation(terminal(), what.title, found, directory)
