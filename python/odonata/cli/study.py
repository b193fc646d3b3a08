"""``odonata study``."""

from __future__ import annotations

from pathlib import Path

import click

from odonata.cli.shared import debug_option, progress_terminal, terminal

#: Studies that exist; their modules take a while to import.
NAMES = ("validation",)


@click.command()
@click.argument("name", type=click.Choice(NAMES))
@click.option("--quick", is_flag=True, help="A coarse version, in a minute or two.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Directory for the results. If the study has been there before, it goes on where it was. "
    "Default: results/NAME, or results/NAME-quick.",
)
@click.option(
    "--jobs",
    type=click.IntRange(1, 1024),
    metavar="K",
    help="Simulations at a time, each with one thread. Default: one per processor.",
)
@debug_option
def study(name: str, quick: bool, out: Path | None, jobs: int | None) -> None:
    """Run a study: many simulations for one question, with tables, figures and a page.

    validation compares the packet engine with theory and with other simulators.
    """
    from odonata.progress import StudyBar
    from odonata.study import STUDIES, run_study

    directory = out or Path("results") / (f"{name}-quick" if quick else name)
    chosen = STUDIES[name]()
    with StudyBar(progress_terminal(), chosen.title) as bar:
        try:
            lines = run_study(chosen, directory, quick=quick, jobs=jobs, progress=bar)
        except KeyboardInterrupt:
            message = f"stopped; run the same command again to go on in {directory}"
            raise KeyboardInterrupt(message) from None
    console = terminal()
    console.print(f"[bold]{chosen.title}[/]")
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)
