"""``odonata machine new``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odonata.cli import options
from odonata.cli.shared import command, notices, progress_terminal
from odonata.terminal import say

if TYPE_CHECKING:
    from odonata.machines.calibration import Calibration
    from odonata.machines.measurements import Measurement
    from odonata.scenario import Scenario


@command()
@click.option(
    "--network",
    type=click.Path(path_type=Path),
    metavar="SCENARIO",
    help="The scenario that says how the machine is wired, by `odonata machine from-slurm`, by "
    "`odonata init` or by hand.",
)
@options.hosts("The hosts of its nodes, in their order, where the scenario names none")
@click.option(
    "--measurements",
    "paths",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Measured collectives: folders or files that `odonata measurements` reads. May be given "
    "several times.",
)
@click.option(
    "--measured-on",
    metavar="HOSTS",
    help="Hosts of measurements that do not name theirs, in rank order.",
)
@click.option("--name", help="What the machine is called.  [default: as the scenario says]")
@options.jobs
@options.out(
    "Directory for the machine; must not exist yet, or be empty. Default: results/machine-1 …"
)
def new(
    network: Path | None,
    hosts: str | None,
    paths: tuple[Path, ...],
    measured_on: str | None,
    name: str | None,
    jobs: int | None,
    out: Path | None,
) -> None:
    """Make a machine to predict collectives on, from its network and a few measurements.

    Asks on a terminal for what no option gives. Fits what the hosts take (as `odonata calibrate`,
    for one rank a node, and for several if they were measured) and leaves machine.toml, which
    predict-collective takes, the measurements as a table, and fit.md: how far predictions are
    off, for each collective and number of nodes, also of measurements that were left out.
    """
    if sys.stdin.isatty():
        if network is None:
            network = Path(click.prompt("Scenario with the machine's network"))
        if not paths:
            paths = (Path(click.prompt("File or folder with measured collectives")),)
    if network is None:
        allowed = "the scenario of the machine, as `odonata machine from-slurm` writes it"
        raise click.UsageError(f"--network: found none; allowed: {allowed}")
    if not paths:
        allowed = "a file or folder that `odonata measurements` reads"
        raise click.UsageError(f"--measurements: found none; allowed: {allowed}")
    from odonata.machines.fit_page import (
        FIGURE_FILE,
        PAGE_FILE,
        SCENARIO_FILE,
        TABLE_FILE,
        draw_fit,
        fit_page,
    )
    from odonata.machines.hosts import read_hosts
    from odonata.machines.measurements import read_measurements, to_table, with_hosts
    from odonata.output import claim, picture, write_csv, write_file

    scenario = _with_hosts(network, hosts, name)
    rows = read_measurements(paths)
    if measured_on is not None:
        rows = with_hosts(rows, tuple(read_hosts(measured_on)), 1)
    with claim(out, "machine") as held:
        fitted, calibrations = _fitted(scenario, rows, jobs)
        with held.adding() as partial:
            write_file(partial / SCENARIO_FILE, fitted.to_toml(directory=held.directory))
            write_file(partial / PAGE_FILE, fit_page(calibrations, rows))
            write_csv(partial / TABLE_FILE, to_table(rows))
            with picture(Path(FIGURE_FILE), notices(progress_terminal())):
                draw_fit(calibrations, partial / FIGURE_FILE)
    machine = held.directory / SCENARIO_FILE
    say(f"Written: {machine}; how well it fits: {held.directory / PAGE_FILE}")
    say(f"Next:    odonata predict-collective {machine} --hosts HOSTS --collective allreduce …")


def _with_hosts(network: Path, hosts: str | None, name: str | None) -> Scenario:
    """The scenario, with the name and the hosts that it lacks."""
    from odonata.cli.shared import read_scenario
    from odonata.errors import MachineError
    from odonata.scenario import Scenario

    scenario = read_scenario(network, ())
    data: dict[str, Any] = scenario.to_dict()
    data.pop("job", None)
    machine = data.setdefault("machine", {})
    named = "hosts" in machine or "hosts_file" in machine
    if hosts is None and not named and sys.stdin.isatty():
        hosts = click.prompt("Hosts of its nodes, in their order, such as n[001-128]")
    if hosts is not None:
        if named:
            raise MachineError(f"--hosts: {network} names its hosts; leave the option out")
        from odonata.machines.hosts import read_hosts

        machine["hosts"] = [{"names": ",".join(read_hosts(hosts)), "first_node": 0}]
    elif not named:
        raise MachineError(f"--hosts: {network} names no hosts; allowed: a list such as n[001-128]")
    if "engine" not in data.setdefault("simulation", {}):
        data["simulation"]["engine"] = "flow"
        text = 'the scenario says no simulation.engine: "flow", which takes minutes, not hours'
        notices(progress_terminal())(text)
    if name is not None or "name" not in machine:
        machine["name"] = name or network.stem
    return Scenario.from_dict(data, file=scenario.file, directory=scenario.directory)


def _fitted(
    scenario: Scenario, rows: list[Measurement], jobs: int | None
) -> tuple[Scenario, list[Calibration]]:
    """The calibrated scenario, and the calibrations for one and for several ranks a node."""
    import os

    from odonata.cli.calibrate import say_progress
    from odonata.machines.calibration import calibrate, fragment, shared_part, with_calibration
    from odonata.machines.hostmodel import of_gpus

    found: list[Calibration] = []
    kinds = (False,) if of_gpus(scenario) or not shared_part(rows) else (False, True)
    for shared in kinds:
        found.append(
            calibrate(
                scenario,
                rows,
                shared=shared,
                jobs=jobs or os.cpu_count() or 1,
                progress=say_progress,
            )
        )
        scenario = with_calibration(scenario, fragment(found[-1]))
    return scenario, found
