"""``odonata topology``: describe, bisection, draw, export."""

from __future__ import annotations

from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from odonata import display, names
from odonata.cli import options
from odonata.cli.numeric import Whole
from odonata.cli.shared import (
    escape,
    group,
    new_table,
    notices,
    print_json,
    progress_terminal,
    read_scenario,
)
from odonata.network.exporting import FORMATS, export_network, format_of
from odonata.numbers import finite
from odonata.output import check_new_file, new_file, unused_file
from odonata.terminal import terminal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from odonata.network.bisection import Width
    from odonata.network.cost import Prices, Watts
    from odonata.scenario import Scenario

#: Figures of single parts.
Figures = TypeVar("Figures", "Watts", "Prices")


_out_option = partial(options.out, metavar="FILE")


@group()
def topology() -> None:
    """Look at the network of a scenario without running it."""


@topology.command()
@options.scenario
@click.option(
    "--cost",
    is_flag=True,
    help="Print instead what the network is made of (switches by ports, optical switches, cables, "
    "transceivers, fibres), and its static power.",
)
@click.option(
    "--run",
    "result",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIRECTORY",
    help="With --cost: also the power per unit of throughput of this result of a run on the "
    "network.",
)
@click.option(
    "--copper",
    multiple=True,
    metavar="CLASS",
    help="With --cost: the link class whose cables are copper, without transceivers. May be given "
    "several times.",
)
@click.option(
    "--watts",
    "watts",
    multiple=True,
    metavar="PART=WATTS",
    help="With --cost: power of a part, instead of the default. PART is ring, switch_port, "
    "transceiver, or joules_per_byte (dynamic energy of every electronic switch that a byte "
    "passes). May be given several times.",
)
@click.option(
    "--price",
    "prices",
    multiple=True,
    metavar="PART=NUMBER",
    help="With --cost: also print the price, in your currency. PART is switch_port, optical_cable "
    "(with its transceivers), copper_cable, local_cable (of copper, between switches; otherwise as "
    "copper_cable), optical_switch, or switch (of any number of ports). Every other part that the "
    "network has needs a price, except switch.",
)
@options.json
def describe(
    scenario: Path,
    changes: tuple[str, ...],
    cost: bool,
    result: Path | None,
    copper: tuple[str, ...],
    watts: tuple[str, ...],
    prices: tuple[str, ...],
    as_json: bool,
) -> None:
    """Print counts, distances, links per class and an estimate of the bisection, or the cost."""
    if cost:
        from odonata.network.cost import Prices, Watts

        given = (by_part(Watts, watts, "--watts"), by_part(Prices, prices, "--price"))
        _print_cost(read_scenario(scenario, changes), result, copper, *given, as_json)
        return
    if result is not None or copper or watts or prices:
        raise click.UsageError("--run, --copper, --watts and --price go with --cost")
    from odonata import _engine
    from odonata.network.damage import damage_of
    from odonata.report.summaries import link_class_table, print_figures
    from odonata.simulate import ask_engine

    what = read_scenario(scenario, changes)
    found = ask_engine(_engine.topology, what)
    described = found["description"]
    damage = damage_of(what, found)
    for sentence in what.notices():
        notices(progress_terminal())(sentence)
    if as_json:
        print_json(described if damage is None else {**described, "damage": damage.to_json()})
        return
    console = terminal()
    figures = {name: value for name, value in described.items() if name != "network"}
    ranks_per_node = figures.pop("ranks_per_node", None)
    if ranks_per_node is not None:
        ranks = figures.pop("nodes")
        figures = {"nodes": ranks // ranks_per_node, "ranks": ranks, **figures}
        if "nodes_out_of_service" in figures:
            figures["nodes_out_of_service"] //= ranks_per_node
    # A network that is read from a file has no other title than its name, if that says none.
    title = str(described["network"])
    file = str(getattr(what.network, "file", None))
    if what.title and title in (file, f"subnet {Path(file).name}"):
        title = f"{what.title} ({title})"
    print_figures(console, title, figures)
    for name, value in described.items():
        if isinstance(value, dict):
            print_figures(console, name.replace("_", " ").capitalize(), value)
    if damage is not None:
        for title, parts in damage.sentences().items():
            print_figures(console, title, parts)
    console.print(link_class_table(described["link_classes"]))
    differ = display.different_links({"": described["link_classes"]})
    if differ is not None:
        console.print(differ, markup=False, soft_wrap=True)


def _print_cost(
    scenario: Scenario,
    result: Path | None,
    copper: tuple[str, ...],
    watts: Watts,
    prices: Prices,
    as_json: bool,
) -> None:
    """Prints parts, power and price."""
    from odonata.network.cost import Prices, parts, power
    from odonata.report.summaries import print_figures
    from odonata.results import Result

    made_of = parts(scenario, copper)
    content = made_of.to_json(watts)
    if prices != Prices():
        content["price_by_part"] = made_of.price(prices)
        content["price"] = sum(content["price_by_part"].values())
        content["price_per_node"] = content["price"] / made_of.nodes
    if result is not None:
        content["run"] = power(Result.load(result), made_of, watts)
    if as_json:
        print_json(content)
        return
    console = terminal()
    print_figures(console, "Parts", {k: v for k, v in content.items() if not isinstance(v, dict)})
    for name, value in content.items():
        if isinstance(value, dict):
            shown = {k: v for k, v in value.items() if v is not None}
            print_figures(console, name.replace("_", " ").capitalize(), shown)


def by_part(kind: type[Figures], given: tuple[str, ...], option: str) -> Figures:
    """Reads ``PART=NUMBER``."""
    names = [field.name for field in fields(kind)]
    read: dict[str, float] = {}
    for text in given:
        name, _, number = text.partition("=")
        try:
            if name not in names:
                raise ValueError
            read[name] = finite(number)
        except ValueError:
            raise click.BadParameter(
                f'found "{text}"; allowed: PART=NUMBER, with PART one of {", ".join(names)}',
                param_hint=option,
            ) from None
    return kind(**read)


def _alphas(context: click.Context, parameter: click.Parameter, text: str | None) -> list[float]:
    """Reads ``FIRST:LAST:STEP`` or a list of numbers."""
    if text is None:
        return []
    try:
        if ":" in text:
            first, last, step = map(finite, text.split(":"))
            if step <= 0 or last < first or (last - first) / step > 1000:
                raise ValueError
            count = int((last - first) / step + 1e-9) + 1
            values = [round(first + place * step, 9) for place in range(count)]
        else:
            values = [finite(part) for part in text.split(",")]
        if not all(0 < value < 1000 for value in values):
            raise ValueError
    except ValueError:
        raise click.BadParameter(
            f'found "{text}"; allowed: FIRST:LAST:STEP such as 0.5:4:0.5, or numbers separated by '
            "commas, all above 0",
            context,
            parameter,
        ) from None
    return values


@topology.command()
@options.scenario
@click.option(
    "--alpha",
    "alphas",
    callback=_alphas,
    metavar="FIRST:LAST:STEP",
    help="Sweep the ratio of global to local link bandwidth, e.g. 0.5:4:0.5 or 1,2,4, for several "
    "arrangements.",
)
@click.option(
    "--arrangement",
    "arrangements",
    multiple=True,
    type=click.Choice([name for name in names.ARRANGEMENT if name != "custom"]),
    help="With --alpha: only this one. May be given several times.",
)
@click.option(
    "--steps",
    type=Whole(0, 10**12),
    default=2_000_000,
    help="Number of partial assignments after which the search for the exact width gives up; a "
    "million take some seconds.",
)
@_out_option(
    "File to write; must not exist yet. Default: none; with --alpha, a picture of the widths "
    "(.png, .pdf, .svg)."
)
@options.json
def bisection(
    scenario: Path,
    changes: tuple[str, ...],
    alphas: list[float],
    arrangements: tuple[str, ...],
    steps: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Compute the least bandwidth between two halves of the machine.

    The width is exact where the search finishes, as it does for machines of some dozens of
    routers; otherwise it lies between the best cut found and a lower bound. It counts one
    direction.
    """
    from odonata.network.bisection import ARRANGEMENTS, bisection_sweep, bisection_width

    what = read_scenario(scenario, changes)
    if not alphas and (arrangements or out):
        option = "--arrangement" if arrangements else "--out"
        raise click.UsageError(f"{option} goes with --alpha")
    path = None if out is None else _new_picture(out)
    if alphas:
        chosen = arrangements or ARRANGEMENTS
        widths = list(bisection_sweep(what, alphas, chosen, steps))
    else:
        widths = [bisection_width(what, steps)]
    if path is not None:
        _draw_widths(widths, path)
    if as_json:
        print_json({"widths": [vars(width) for width in widths]})
        return
    if alphas:
        _print_sweep(widths)
    else:
        _print_width(widths[0])
    if path is not None:
        _print_written(path, as_json)


def _draw_widths(widths: list[Width], path: Path) -> None:
    """Writes the picture of a sweep."""
    from odonata.plots import new_figure, style
    from odonata.plots.bisection import draw_bisection

    with style():
        figure = new_figure(6.4, 4.2)
        draw_bisection(figure, widths, widths[0].network.split(" (")[0])
    _save_picture(figure, path)


def _new_picture(path: Path) -> Path:
    """Checks that a picture can be written: its place and its format.

    Raises:
        OutputError: If it cannot.
    """
    from odonata.plots import check_format

    check_format(path)
    return check_new_file(path)


def _save_picture(figure: Figure, path: Path) -> None:
    """Writes a picture.

    Raises:
        OutputError: If it cannot be written.
    """
    from odonata.plots import save

    with new_file(path) as partial:
        save(figure, partial)


def _print_width(width: Width) -> None:
    """Prints one width."""
    from odonata import display

    console = terminal()
    console.print(f"[bold]{escape(width.network)}[/]")
    found = display.rate(width.bandwidth_bytes_per_s)
    if width.is_exact:
        console.print(f"  bisection width  {found}, exactly: no halves have less between them")
    else:
        low = display.rate(width.lower_bound_bytes_per_s)
        console.print(
            f"  bisection width  at most {found} (best cut found), at least {low} (bound)"
        )
    cut = ", ".join(f"{entry['links']:,} {escape(entry['class'])}" for entry in width.cut_links)
    console.print(f"  links cut        {cut or 'none'}")
    if width.imbalance_nodes:
        console.print(f"  halves differ    by {width.imbalance_nodes} nodes")
    shares = " ".join(str(routers) for routers in width.routers_of_groups_in_second_half[:40])
    more = " …" if len(width.routers_of_groups_in_second_half) > 40 else ""
    balanced = "; every group is halved" if width.halves_every_group else ""
    console.print(f"  second half      {shares}{more} routers of the groups{balanced}")


def _print_sweep(widths: list[Width]) -> None:
    """Prints a table of widths: a line for each α, a column for each arrangement."""
    console = terminal()
    arrangements = list(dict.fromkeys(width.arrangement for width in widths))
    table = new_table(right=("α", *map(str, arrangements)))
    for alpha in dict.fromkeys(width.alpha for width in widths):
        row = [f"{alpha:g}"]
        for arrangement in arrangements:
            (width,) = (w for w in widths if (w.arrangement, w.alpha) == (arrangement, alpha))
            if width.is_exact:
                text = f"{width.local_links:.4g}"
            else:
                text = f"{width.lower_bound_local_links:.4g} to {width.local_links:.4g}"
            row.append(text + (" =" if width.halves_every_group else "  "))
        table.add_row(*row)
    console.print(f"[bold]{escape(widths[0].network.split(' (')[0])}[/]")
    console.print("Bisection width in local links; = where the cut halves every group")
    console.print(table)


@topology.command()
@options.scenario
@_out_option(
    "File to write; must not exist yet. Default: results/NAME-topology-1.png, -2 …; .pdf and .svg "
    "are drawn as well."
)
@options.json
def draw(scenario: Path, changes: tuple[str, ...], out: Path | None, as_json: bool) -> None:
    """Draw the network as a picture: PNG, PDF or SVG; what does not work is dashed or crossed."""
    what = read_scenario(scenario, changes)
    path = _new_picture(out or unused_file(f"{scenario.stem}-topology", ".png"))

    from odonata import _engine
    from odonata.network.damage import damage_of
    from odonata.plots import Wiring, draw_topology, new_figure, style
    from odonata.simulate import ask_engine

    found = ask_engine(_engine.topology, what)
    damage = damage_of(what, found)
    wiring = Wiring.of_description(found if damage is None else damage.whole)
    with style():
        figure = new_figure(6.8, 6.8)
        draw_topology(figure, wiring, found["description"]["network"], damage=damage)
    _save_picture(figure, path)
    _print_written(path, as_json)


@topology.command()
@options.scenario
@click.option(
    "--format",
    "format_",
    type=click.Choice(list(FORMATS)),
    help="GraphML; GEXF, for Gephi; one line per link; a net file for ibsim, which simulates "
    "InfiniBand; a file for OpenSM: its root switches, its order of destinations, its switch "
    "numbers, or forwarding tables (--lfts_file); or forwarding tables and virtual channels in "
    "Odonata's formats.  [default: as the name of FILE ends, or graphml]",
)
@_out_option(
    "File to write; must not exist yet. Default: results/NAME-1 and the ending of the format, such "
    "as .graphml, -2 …."
)
@options.json
def export(
    scenario: Path, changes: tuple[str, ...], format_: str | None, out: Path | None, as_json: bool
) -> None:
    """Write the network as a file that other programs can read.

    Odonata itself reads GraphML and one line per link.
    """
    chosen = format_of(out, format_)
    what = read_scenario(scenario, changes)
    path = check_new_file(out or unused_file(scenario.stem, FORMATS[chosen]))
    with new_file(path) as partial:
        export_network(what, chosen, partial)
    if what.node is not None:
        text = (
            "in the file every rank is a node, and nothing joins the ranks of a node but links: "
            "read back it has neither [node] nor which interface a message takes"
        )
        notices(progress_terminal())(text)
    _print_written(path, as_json)


def _print_written(path: Path, as_json: bool) -> None:
    if as_json:
        print_json({"file": str(path)})
    else:
        terminal().print(f"Written: [bold]{escape(str(path))}[/]", soft_wrap=True)
