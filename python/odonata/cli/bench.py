"""``odonata bench``."""

from __future__ import annotations

import click

from odonata import names
from odonata.cli import options
from odonata.cli.numeric import SEED, Number, Whole
from odonata.cli.shared import command, print_json, progress_terminal
from odonata.terminal import terminal


@command()
@click.option(
    "--family",
    default="dragonfly",
    type=click.Choice(list(names.FAMILY)),
    metavar="NAME",
    help="Family of the network, as in scenarios; the network has about a thousand nodes.",
)
@click.option(
    "--nodes",
    type=Whole(1),
    help="Size of the dragonfly in nodes: 1056 is p=4 a=8 h=4 g=33; 16512 is p=8 a=16 h=8 g=129; "
    "82944 is p=12 a=24 g=288.  [default: 1056]",
)
@click.option(
    "--routing",
    type=click.Choice(list(names.ROUTING)),
    metavar="NAME",
    help="Routing algorithm, as in scenarios.  [default: the family's]",
)
@click.option(
    "--choice",
    default="random",
    type=click.Choice(list(names.CHOICE)),
    metavar="NAME",
    help="How a packet picks one of several minimal links, as in scenarios.",
)
@click.option(
    "--load",
    type=Number(0, 1, above=True),
    default=0.5,
    help="Offered load as a fraction of the terminal bandwidth; uniform random traffic.",
)
@options.threads
@click.option("--seed", type=SEED, default=1)
@options.json
def bench(
    family: str,
    nodes: int | None,
    routing: str | None,
    choice: str,
    load: float,
    threads: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Measure the speed of the packet engine on reference networks."""
    from odonata import _engine
    from odonata.progress import ProgressBar
    from odonata.report.summaries import print_figures
    from odonata.simulate import Progress

    with ProgressBar(progress_terminal()) as bar:
        try:
            figures = _engine.bench(
                family,
                nodes,
                routing,
                choice,
                load,
                threads or 1,
                seed,
                lambda now: bar(Progress(**now)),
            )
        except _engine.SpecError as error:
            raise click.UsageError(str(error)) from None
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--routing, --choice") from None
    if as_json:
        print_json(figures)
    else:
        print_figures(terminal(), f"{figures['family']} of {figures['nodes']:,} nodes", figures)
