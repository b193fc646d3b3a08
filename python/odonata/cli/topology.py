"""``odonata topology``: describe, draw, export."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import click

from odonata.cli.shared import (
    Command,
    debug_option,
    json_option,
    new_file,
    print_json,
    read_scenario,
    scenario_argument,
    terminal,
)
from odonata.errors import OutputError

#: Formats of ``export`` and how their files' names end.
FORMATS = {"graphml": ".graphml", "edge-list": ".edges"}


def out_option(default: str) -> Callable[[Command], Command]:
    """Makes the decorator that adds ``--out FILE``.

    Args:
        default: The name that is taken without it.
    """
    return click.option(
        "--out",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=f"File to write; must not exist yet. Default: {default}.",
    )


@click.group()
@debug_option
def topology() -> None:
    """Look at the network of a scenario without running it."""


@topology.command()
@scenario_argument
@json_option
@debug_option
def describe(scenario: Path, changes: tuple[str, ...], as_json: bool) -> None:
    """Print counts, distances, links per class and an estimate of the bisection."""
    from odonata import _engine
    from odonata.report import link_class_table, print_figures
    from odonata.simulate import ask_engine

    described = ask_engine(_engine.topology, read_scenario(scenario, changes))["description"]
    if as_json:
        print_json(described)
        return
    console = terminal()
    figures = {name: value for name, value in described.items() if name != "network"}
    print_figures(console, described["network"], figures)
    for name, value in described.items():
        if isinstance(value, dict):
            print_figures(console, name.replace("_", " ").capitalize(), value)
    console.print(link_class_table(described["link_classes"]))


@topology.command()
@scenario_argument
@out_option("NAME-topology.png")
@json_option
@debug_option
def draw(scenario: Path, changes: tuple[str, ...], out: Path | None, as_json: bool) -> None:
    """Draw the network as a PNG."""
    what = read_scenario(scenario, changes)
    path = new_file(out or Path(f"{scenario.stem}-topology.png"))

    from odonata import _engine
    from odonata.plots import Wiring, draw_topology, new_figure, save, style
    from odonata.simulate import ask_engine

    found = ask_engine(_engine.topology, what)
    with style():
        figure = new_figure(6.8, 6.8)
        draw_topology(figure, Wiring.of_description(found), found["description"]["network"])
    try:
        save(figure, path)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror}") from error
    _say_written(path, as_json)


@topology.command()
@scenario_argument
@click.option(
    "--format",
    "format_",
    type=click.Choice(list(FORMATS)),
    default="graphml",
    show_default=True,
    help="GraphML, or one line per link.",
)
@out_option("NAME.graphml or NAME.edges")
@json_option
@debug_option
def export(
    scenario: Path, changes: tuple[str, ...], format_: str, out: Path | None, as_json: bool
) -> None:
    """Write the network as a file that other programs, and Odonata itself, can read."""
    what = read_scenario(scenario, changes)
    path = new_file(out or Path(scenario.stem + FORMATS[format_]))

    from odonata import _engine
    from odonata.simulate import ask_engine

    try:
        # Beside the target and renamed at the end: an interrupted export leaves nothing.
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as directory:
            partial = Path(directory) / path.name
            ask_engine(_engine.export, what, format_, os.fspath(partial))
            partial.rename(path)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {error.strerror or error}") from error
    _say_written(path, as_json)


def _say_written(path: Path, as_json: bool) -> None:
    if as_json:
        print_json({"file": str(path)})
    else:
        terminal().print(f"Written: [bold]{path}[/]", soft_wrap=True)
