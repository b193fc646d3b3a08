"""``odonata calibrate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odonata import names
from odonata.cli import options
from odonata.cli.shared import (
    command,
    escape,
    new_table,
    print_json,
    progress_terminal,
    read_scenario,
)
from odonata.output import check_new_file, new_file, write_file
from odonata.terminal import terminal

if TYPE_CHECKING:
    from odonata.machines.calibration import Calibration


@command()
@click.argument("machine", type=click.Path(path_type=Path))
@click.option(
    "--measurements",
    "paths",
    required=True,
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="The measurements: folders or files that `odonata measurements` reads. May be given "
    "several times.",
)
@options.hosts("Hosts for measurements that do not name theirs, in rank order")
@click.option(
    "--shared",
    is_flag=True,
    help="Calibrate the parameters of nodes shared by several ranks, on measurements with more "
    "than one rank per node.",
)
@click.option(
    "--engine",
    type=click.Choice(list(names.ENGINE)),
    help="What simulates the network; predictions must use the same engine.  [default: the "
    "machine's]",
)
@options.out(
    "Write the calibrated keys to this file, as part of a scenario in TOML.", metavar="FILE"
)
@options.changes("Change a key of the machine's scenario. May be given several times.")
@options.jobs
@options.json
def calibrate(
    machine: Path,
    paths: tuple[Path, ...],
    hosts: str | None,
    shared: bool,
    engine: Any,
    out: Path | None,
    changes: tuple[str, ...],
    jobs: int | None,
    as_json: bool,
) -> None:
    """Fit the parameters of a machine's hosts to measured collectives.

    The fit uses only small sizes and few nodes, chosen by a fixed rule. The command prints the
    parameters with their uncertainty, whether the measurements determine each of them at all, and
    the error of the prediction for each measurement when that measurement is left out of the fit.
    Up to 60 measurements that the fit has not used are predicted as well: how far these are off
    is machine.errors, by which percentiles of predictions are wider.
    The results go into the scenario of the machine, under [mpi] and [machine].
    """
    import os

    from odonata.machines.calibration import calibrate as fit
    from odonata.machines.calibration import fragment
    from odonata.machines.hosts import read_hosts
    from odonata.machines.measurements import read_measurements, with_hosts

    if out is not None:
        check_new_file(out)
    scenario = read_scenario(machine, changes)
    found = read_measurements(paths)
    if hosts is not None:
        found = with_hosts(found, tuple(read_hosts(hosts)), 1)
    calibration = fit(
        scenario,
        found,
        shared=shared,
        engine=engine,
        jobs=jobs or os.cpu_count() or 1,
        progress=say_progress,
    )
    if out is not None:
        with new_file(out) as partial:
            write_file(partial, as_text(calibration))
    if as_json:
        from dataclasses import asdict

        print_json(
            {
                "machine": calibration.machine,
                "engine": calibration.engine,
                "measurements": len(calibration.used),
                "evaluations": calibration.evaluations,
                "parameters": [asdict(one) for one in calibration.parameters],
                "errors": _errors(calibration),
                "checked": calibration.checked,
                "scenario": fragment(calibration),
            }
        )
        return
    _show(calibration)


def say_progress(text: str) -> None:
    """Says how far a fit is, on one line of a terminal."""
    console = progress_terminal()
    if console.is_terminal:
        console.print(text, end="\r", markup=False)


def as_text(calibration: Calibration) -> str:
    """The calibrated keys in TOML, with where they come from."""
    from odonata.machines.calibration import fragment
    from odonata.scenario.toml_text import toml_text

    errors = _errors(calibration)
    nodes = sorted({row.nodes for row in calibration.used})
    sources = sorted({row.source for row in calibration.used})
    lines = [
        f"{calibration.machine}: by odonata calibrate, {calibration.engine} engine, from "
        f"{len(calibration.used)} measurements",
        f"on {', '.join(map(str, nodes))} nodes ({', '.join(sources)}).",
        f"Errors: median {errors['median']:.1%}, 90th percentile {errors['p90']:.1%}; each left "
        f"out: {errors['left_out_median']:.1%}, {errors['left_out_p90']:.1%}.",
        f"machine.errors: {_checked(calibration)}.",
        "Values and 68 % intervals; * = mostly what was taken to be likely beforehand:",
        *(
            f"  {one.name}: {one.value:.4g} {one.unit} ({one.low:.4g} to {one.high:.4g})"
            f"{'' if one.identified else ' *'}"
            for one in calibration.parameters
        ),
    ]
    return "".join(f"# {line}\n" for line in lines) + "\n" + toml_text(fragment(calibration))


def _checked(calibration: Calibration) -> str:
    """What the intervals of predictions come from."""
    if calibration.checked:
        return f"from {calibration.checked} measurements that the fit did not use"
    return "from the same measurements, each left out"


def _errors(calibration: Calibration) -> dict[str, float]:
    import numpy as np

    fitted, left_out = calibration.fit_errors(), calibration.left_out_errors()
    return {
        "median": float(np.median(np.abs(fitted))),
        "p90": float(np.quantile(np.abs(fitted), 0.9)),
        "left_out_median": float(np.median(np.abs(left_out))),
        "left_out_p90": float(np.quantile(np.abs(left_out), 0.9)),
    }


def _show(calibration: Calibration) -> None:
    out = terminal()
    errors = _errors(calibration)
    out.print(
        f"{escape(calibration.machine)}: {len(calibration.used)} measurements, "
        f"{calibration.evaluations:,} simulations ({calibration.engine} engine)"
    )
    table = new_table("parameter", right=("value", "68 % interval"))
    table.add_column("", prose=True)
    for one in calibration.parameters:
        table.add_row(
            one.name,
            f"{one.value:.4g} {one.unit}",
            f"{one.low:.4g} to {one.high:.4g}",
            "" if one.identified else "not determined by the measurements",
        )
    out.print(table)
    out.print(
        f"Errors: median {errors['median']:.1%}, 90th percentile {errors['p90']:.1%}; each left "
        f"out {errors['left_out_median']:.1%}, {errors['left_out_p90']:.1%}"
    )
    if calibration.errors:
        ranges = ", ".join(
            f"{low - 1:+.0%} to {high - 1:+.0%} near {size:,} B"
            for size, low, high in calibration.errors
        )
        out.print(
            f"Eight of ten medians beside their predictions, {_checked(calibration)}: {ranges}"
        )
