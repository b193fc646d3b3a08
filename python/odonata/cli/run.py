"""``odonata run``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import click

from odonata import display
from odonata.cli import options
from odonata.cli.numeric import SEED, Whole
from odonata.cli.shared import (
    command,
    escape,
    notices,
    print_json,
    progress_terminal,
    read_scenario,
)
from odonata.terminal import terminal

if TYPE_CHECKING:
    from odonata.output import Claim
    from odonata.progress import ProgressBar
    from odonata.scenario import Scenario
    from odonata.simulate.checkpoint import CheckpointEvent


@command()
@options.scenario
@options.threads
@click.option(
    "--precision",
    metavar="SHARE",
    help="End as soon as mean latency and delivered load of all traffic are known to within this "
    "share, e.g. 2%, with 95 % confidence; the scenario's duration is then an upper limit.",
)
@click.option("--seed", type=SEED, metavar="N", help=("Seed to use instead of the scenario's."))
@options.out(
    "Directory for the results; must not exist yet, or be empty. "
    "Default: results/NAME-1, results/NAME-2 …"
)
@click.option(
    "--replications",
    type=Whole(2, 10_000),
    metavar="N",
    help="Simulate with N seeds side by side, the scenario's and those that follow it; keep each "
    "result (without pictures) and the mean of every figure with its 95 % confidence "
    "interval.",
)
@click.option(
    "--jobs",
    type=Whole(1, 1024),
    metavar="K",
    help="With --replications: number of simulations at a time. Default: one per processor.",
)
@click.option(
    "--checkpoint",
    metavar="every=TIME",
    help="How often to write a checkpoint into the result directory, e.g. every=10min; "
    "simulated=500us counts simulated time instead. The same command, with the same --out, "
    "continues a run that was stopped.",
)
@click.option(
    "--resume",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Continue the stopped run whose checkpoint is in DIR.",
)
@options.json
@options.pictures
def run(
    scenario: Path,
    changes: tuple[str, ...],
    threads: int | None,
    precision: str | None,
    seed: int | None,
    out: Path | None,
    replications: int | None,
    jobs: int | None,
    checkpoint: str | None,
    resume: Path | None,
    as_json: bool,
    no_plots: bool,
    all_plots: bool,
    quiet: bool,
) -> None:
    """Simulate a scenario; leave tables and pictures in a directory.

    docs/not-modelled.md lists what no result can show.
    """
    drawn = options.pictures_to_draw(no_plots=no_plots, all_plots=all_plots)
    if seed is not None:
        changes = (*changes, f"seed={seed}")
    if precision is not None:
        changes = (*changes, f"simulation.precision={precision}")
    what = read_scenario(scenario, changes)

    from odonata.output import claim
    from odonata.progress import ProgressBar
    from odonata.simulate import run as simulate
    from odonata.simulate.checkpoint import Checkpoint

    if resume is not None and out not in (None, resume):
        raise click.UsageError(f"--resume {resume} goes on in that directory; leave out --out")
    if replications is not None:
        if threads is not None:
            raise click.UsageError("--replications run side by side, each with one thread")
        if checkpoint is not None or resume is not None:
            raise click.UsageError("--replications have no checkpoints")
        if all_plots:
            raise click.UsageError("--replications draw no pictures; leave out --all-plots")
        with claim(out, scenario.stem) as claimed:
            _replicate(what, replications, jobs, claimed, as_json=as_json, quiet=quiet)
        return
    if jobs is not None:
        raise click.UsageError("--jobs has a meaning with --replications only; see --threads")
    console = progress_terminal()
    if quiet:
        console.quiet = True
    for sentence in what.notices():
        notices(console)(sentence)
    keeping: Checkpoint | None = None
    held: Claim | None = None
    last: list[CheckpointEvent] = []
    if checkpoint is not None or resume is not None:
        directory = resume or out
        if directory is None:
            with claim(None, scenario.stem) as unused:
                directory = unused.directory

        def seen(event: CheckpointEvent) -> None:
            if event.kind == "resumed":
                at = display.duration(event.at_ps)
                console.print(f"Going on from {at} of simulated time")
            elif event.kind == "failed":
                console.print(f"[bold yellow]Warning:[/] {escape(event.message)}", soft_wrap=True)
            last[:] = [event]

        keeping = Checkpoint(
            directory, **_intervals(checkpoint), resume=resume is not None, on_event=seen
        )
    else:
        held = claim(out, scenario.stem)
        directory = held.directory

    bar = ProgressBar(console)
    with held or contextlib.nullcontext(), _printing_how_to_resume(scenario, directory, bar, last):
        loading = Thread(target=_load_plots)
        if drawn:
            loading.start()
        with bar:
            result = simulate(what, threads=threads, progress=bar, checkpoint=keeping)
        if drawn:
            loading.join()
        if held is not None:
            result.claim = held
        doing = "Writing results and drawing pictures" if drawn else "Writing results"
        with console.status(doing):
            result.save(directory, plots=drawn, notice=notices(console))

    if as_json:
        print_json({"directory": str(directory), **result.summary_dict, "timing": result.timing})
    elif not quiet:
        from odonata.report.summaries import print_summary

        print_summary(terminal(), result, directory)
        rest = "" if all_plots else f"odonata show {directory} --plots (all pictures), "
        terminal().print(
            f"Next: {rest}odonata report {directory} (one HTML file), odonata sweep {scenario} "
            "--set KEY=VALUE,VALUE, or odonata compare with another run.",
            style="dim",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )


def _load_plots() -> None:
    """Imports what draws pictures, for a quarter of a second, while the engine works."""
    with contextlib.suppress(Exception):  # Which is raised where pictures are drawn.
        import_module("odonata.plots")


def _intervals(text: str | None) -> dict[str, Any]:
    """How often, from the value of ``--checkpoint``."""
    from odonata.simulate.checkpoint import Checkpoint
    from odonata.units import UnitError

    if text is None:
        return {}
    try:
        return dict(Checkpoint.intervals(text))
    except UnitError as error:
        raise click.BadParameter(str(error), param_hint="'--checkpoint'") from None


@contextlib.contextmanager
def _printing_how_to_resume(
    scenario: Path, directory: Path, bar: ProgressBar, last: list[CheckpointEvent]
) -> Iterator[None]:
    """Adds to an interruption where the run was, and how to go on with it if it can."""
    from odonata.output import CHECKPOINT_FILE
    from odonata.results import RESULT_FILE

    try:
        yield
    except KeyboardInterrupt as interrupt:
        at = display.duration(bar.now_ps)
        rest = "nothing was written"
        if (directory / RESULT_FILE).exists():
            rest = f"the tables are in {directory}, but not all pictures"
        if last and (directory / CHECKPOINT_FILE).exists():
            rest = f"go on with: odonata run {scenario} --resume {directory}"
            if last[0].kind == "failed":
                rest = f"the last checkpoint could not be written; from the one before, {rest}"
        message = f"stopped at {at} of simulated time; {rest}"
        raise type(interrupt)(message) from None


def _replicate(
    scenario: Scenario,
    count: int,
    jobs: int | None,
    held: Claim,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Several seeds of a scenario side by side."""
    from odonata.progress import StudyBar
    from odonata.report.summaries import print_replications
    from odonata.study.replication import replicate

    console = progress_terminal()
    if quiet:
        console.quiet = True
    directory = held.directory
    with StudyBar(console, f"{count} replications") as bar:
        try:
            table = replicate(scenario, count, directory, jobs=jobs, progress=bar, claim=held)
        except KeyboardInterrupt:
            message = f"stopped; replications that were done are in {directory}"
            raise KeyboardInterrupt(message) from None
    if as_json:
        print_json({"directory": str(directory), "figures": table.to_pylist()})
    elif not quiet:
        print_replications(terminal(), scenario, table, directory)
