"""``odonata bench``."""

from __future__ import annotations

import click

from odonata.cli.shared import (
    debug_option,
    json_option,
    print_json,
    progress_terminal,
    terminal,
    threads_option,
)

#: Dragonflies whose speed is tracked: nodes and what they are made of.
MACHINES = {
    "1056": "p=4 a=8 h=4 g=33",
    "16512": "p=8 a=16 h=8 g=129",
    "82944": "p=12 a=24 g=288",
}


@click.command()
@click.option(
    "--nodes",
    type=click.Choice(list(MACHINES)),
    required=True,
    help="Size of the dragonfly: " + "; ".join(f"{n} is {what}" for n, what in MACHINES.items()),
)
@click.option(
    "--routing",
    type=click.Choice(["minimal", "valiant", "ugal-l", "ugal-g", "par"]),
    default="minimal",
    show_default=True,
    help="Routing algorithm.",
)
@click.option(
    "--load",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.5,
    show_default=True,
    help="Offered load as a fraction of the terminal bandwidth; uniform random traffic.",
)
@threads_option
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, metavar="N")
@json_option
@debug_option
def bench(
    nodes: str, routing: str, load: float, threads: int | None, seed: int, as_json: bool
) -> None:
    """Measure the speed of the packet engine on one of three reference machines."""
    from odonata import _engine
    from odonata.progress import ProgressBar
    from odonata.report import print_figures
    from odonata.simulate import Progress

    with ProgressBar(progress_terminal()) as bar:
        figures = _engine.bench(
            int(nodes), routing, load, threads or 1, seed, lambda now: bar(Progress(**now))
        )
    if as_json:
        print_json(figures)
    else:
        print_figures(terminal(), f"Dragonfly {MACHINES[nodes]}", figures)
