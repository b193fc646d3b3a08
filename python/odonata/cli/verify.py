"""``odonata verify``."""

from __future__ import annotations

from pathlib import Path

import click

from odonata.cli import options
from odonata.cli.numeric import Number
from odonata.cli.shared import command, escape, print_json, progress_terminal, read_scenario
from odonata.errors import ExitCode, ScenarioError
from odonata.terminal import terminal


@command()
@options.scenario
@click.option(
    "--time",
    "seconds",
    type=Number(above=True),
    metavar="SECONDS",
    help="Longest time to take; after it, print what is known so far. Default: as long as it "
    "takes, seconds for most machines. Ctrl-C also prints what is known.",
)
@options.json
def verify(scenario: Path, changes: tuple[str, ...], seconds: float | None, as_json: bool) -> None:
    """Prove that no packets can wait for each other forever, or show how they could.

    The proof searches the channel dependency graph of the scenario's network and routing for a
    cycle (Dally and Seitz 1987). The exit code is 5 if a cycle is found, and 6 if the time runs
    out before all routes have been followed and no cycle has been found until then.
    """
    from odonata import _engine
    from odonata.progress import ProofBar
    from odonata.simulate import ask_engine

    what = read_scenario(scenario, changes)
    with ProofBar(progress_terminal()) as bar:
        found = ask_engine(_engine.verify, what, bar, seconds=seconds)
    assert what.network is not None
    algorithm = what.normalised()["network"]["routing"]["algorithm"]
    is_default = what.network.routing is None
    found = {**found, "routing": algorithm}
    if as_json:
        print_json(found)
    else:
        console = terminal()
        graph = (
            f"routing {escape(algorithm)}{' (default)' if is_default else ''}, "
            f"{found['channels']:,} channels, "
            + (f"{found['dependencies']:,} dependencies, " if found["safe"] else "")
            + f"{found['virtual_channels']} virtual "
            + ("channel per link" if found["virtual_channels"] == 1 else "channels per link")
        )
        if not found["proven"]:
            verdict = escape(f"routing {algorithm}: {found['verdict']}")
            console.print(f"[bold yellow]Unknown[/]: {verdict}", soft_wrap=True)
        elif found["safe"]:
            console.print(f"[bold green]Free of deadlock[/]: {graph}, no cycle.")
        else:
            console.print(
                f"[bold red]Deadlock is possible[/]: {graph}; "
                f"this cycle of {len(found['cycle'])} channels among them:"
            )
            for channel in found["cycle"]:
                console.print(f"  {escape(channel)}", soft_wrap=True)
            console.print(f"  … which waits for the first again: {escape(found['cycle'][0])}")
        if what.failures is not None:
            console.print(f"Proven of {escape(found['network'])}.", soft_wrap=True)
            try:
                ask_engine(_engine.place, what)
            except ScenarioError as error:
                message = f"Its jobs cannot be placed on what is left: {error}"
                console.print(message, style="yellow", markup=False, soft_wrap=True)
    if not found["safe"]:
        raise click.exceptions.Exit(ExitCode.UNSAFE)
    if not found["proven"]:
        raise click.exceptions.Exit(ExitCode.UNPROVEN)
