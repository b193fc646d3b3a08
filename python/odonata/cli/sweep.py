"""``odonata sweep``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from odonata.cli import options
from odonata.cli.numeric import Whole
from odonata.cli.shared import command, goes_on_in, notices, print_json, progress_terminal
from odonata.terminal import terminal


@command()
@click.argument("scenario", type=click.Path(path_type=Path))
@options.changes(
    "Values of a key: network.routing=minimal,par or job.0.traffic.load=0.1:0.9:0.1 (from, "
    "to, step) or job.NAME.nodes=8:512:*2 (each twice the one before). A single value applies "
    "to all simulations. May be given several times: all combinations are simulated.",
    metavar="KEY=VALUES",
)
@click.option(
    "--network",
    "networks",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="SCENARIO",
    help="Try the network of another scenario. May be given several times; the scenario's own is "
    "tried as well if its file is given here, too.",
)
@click.option(
    "--measure",
    "measures",
    multiple=True,
    metavar="FIGURE",
    help="What to keep of every run, such as job.*.run_time_ps:maximum (docs/studies.md). May be "
    "given several times. Default: run time and latencies of each job (of the slowest, where "
    "there are more than 8), and the load of the busiest link; with a [schedule] waits, bounded "
    "slowdown and utilisation.",
)
@click.option(
    "--seeds", type=Whole(1, 10_000), default=1, help="Simulate every combination with N seeds."
)
@options.jobs
@options.out(
    "Directory for the results. If the sweep has been there before, it continues. Default: "
    "results/NAME-sweep."
)
@options.json
def sweep(
    scenario: Path,
    changes: tuple[str, ...],
    networks: tuple[Path, ...],
    measures: tuple[str, ...],
    seeds: int,
    jobs: int | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Simulate a scenario with all combinations of some keys' values; no study file needed.

    Shows a table and a bar for every value while it runs. Leaves a dataset, pictures, a page, and
    the study file for the same simulations; after a kill, the same command continues. Combinations
    that cannot be simulated are told, the others go on, and the exit code is 3.
    """
    from odonata.progress import LiveTable
    from odonata.study.sweep import Sweep, raise_failed
    from odonata.study.sweeping import run_swept, sweep_study

    study = sweep_study(
        scenario, _values(changes), networks=networks, measure=measures, repetitions=seeds
    )
    if not study.axis and seeds == 1:
        raise click.UsageError(
            "found nothing to vary; allowed: --set KEY=VALUE,VALUE, --network or --seeds"
        )
    directory = out or Path("results") / f"{scenario.stem}-sweep"
    console = progress_terminal()
    given = [("--set", one) for one in changes] + [("--network", str(one)) for one in networks]
    given += [("--measure", one) for one in measures]
    given += [("--seeds", str(seeds))] if seeds > 1 else []
    command = shlex.join(["odonata", "sweep", str(scenario), *(w for pair in given for w in pair)])
    points = Sweep(study, go_on=True)
    with LiveTable(console, study) as live, goes_on_in(directory):
        table = run_swept(
            points,
            directory,
            command=command,
            jobs=jobs,
            progress=live,
            seen=live.seen,
            notice=notices(console),
        )
    rows = table.to_pylist()
    if as_json:
        failed = {"failed": [one.row for one in points.failed]} if points.failed else {}
        print_json({"directory": str(directory), "points": rows, **failed})
    else:
        from odonata.report.points import print_failed, print_points

        console = terminal()
        console.print(study.title, style="bold", markup=False)
        print_points(console, study, rows, directory)
        print_failed(console, [one.row for one in points.failed])
        where = f"Results: {directory} (study.md, dataset.parquet)"
        console.print(where, markup=False, soft_wrap=True)
    raise_failed(points, directory)


def _values(changes: tuple[str, ...]) -> dict[str, Any]:
    from odonata.study.sweeping import values_of

    found: dict[str, Any] = {}
    for text in changes:
        key, equals, value = text.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise click.UsageError(f'--set: found "{text}"; allowed: KEY=VALUE,VALUE')
        try:
            found[key.strip()] = values_of(value)
        except ValueError as error:
            raise click.UsageError(f"--set {key}: {error}") from None
    return found
