"""What several commands have in common beside options: ``--debug``, terminals, tables, JSON.

Modules of commands are imported to print ``odonata --help``. They import what takes long (rich,
numpy, the engine) where it is used, in functions.
"""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odonata.terminal import CleanWriter, clean_json, terminal

if TYPE_CHECKING:
    from rich.console import Console

    from odonata.report.tables import WholeTable
    from odonata.scenario import Scenario


def _remember_debug(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.find_root().meta["odonata.debug"] = True


def _with_debug(params: list[click.Parameter] | None) -> list[click.Parameter]:
    """The parameters of a command and ``--debug``, which lets errors show where they came from."""
    debug = click.Option(
        ["--debug"],
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=_remember_debug,
        help="Show where an error came from.",
    )
    return [*(params or ()), debug]


class DebugCommand(click.Command):
    """A command with ``--debug``."""

    def __init__(
        self,
        name: str | None = None,
        *,
        params: list[click.Parameter] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(name, params=_with_debug(params), **settings)


class DebugGroup(click.Group):
    """A group with ``--debug``, as its commands."""

    command_class = DebugCommand

    def __init__(
        self,
        name: str | None = None,
        *,
        params: list[click.Parameter] | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(name, params=_with_debug(params), **settings)


def command(name: str | None = None, **settings: Any) -> Callable[..., DebugCommand]:
    """As ``click.command``, with ``--debug``."""
    return click.command(name, cls=DebugCommand, **settings)


def group() -> Callable[..., DebugGroup]:
    """As ``click.group``, with ``--debug``."""
    return click.group(cls=DebugGroup)


def read_scenario(file: Path, changes: tuple[str, ...]) -> Scenario:
    """Reads a scenario file and applies ``--set``.

    Raises:
        ScenarioError: If there is no such file, or it is no scenario.
    """
    from odonata.scenario import Scenario

    return Scenario.from_file(file, changes=changes)


@contextlib.contextmanager
def goes_on_in(directory: Path) -> Iterator[None]:
    """Adds to an interruption that the same command goes on with what is in a directory."""
    try:
        yield
    except KeyboardInterrupt:
        message = f"stopped; run the same command again to go on in {directory}"
        raise KeyboardInterrupt(message) from None


def print_json(content: Any, *, indent: int | None = 2) -> None:
    """Prints one JSON object on standard output.

    JSON knows no NaN and no infinity: what has no value is ``null``.

    Args:
        content: The object.
        indent: Spaces by which parts are indented; ``None``: all on one line.
    """
    # What an encoding lacks is escaped: plain letters in its place would be another text.
    plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    text = json.dumps(_finite(content), indent=indent, ensure_ascii=plain, allow_nan=False)
    sys.stdout.write(clean_json(text) + "\n")


def print_csv(rows: Iterable[Mapping[str, Any]], columns: Sequence[str] = ()) -> None:
    """Prints rows as CSV on standard output.

    Args:
        rows: As they come.
        columns: Names of the columns; by default those of the first row, and nothing without one.
    """
    writer = None
    for row in itertools.chain([dict.fromkeys(columns)] if columns else (), rows):
        if writer is None:
            writer = csv.DictWriter(CleanWriter(sys.stdout), list(row))
            writer.writeheader()
            if columns:
                continue
        writer.writerow(row)


def _finite(content: Any) -> Any:
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_finite(value) for value in content]
    return content


def notices(console: Console) -> Callable[[str], None]:
    """What prints sentences that a person should know about what a command does."""

    def notice(sentence: str) -> None:
        console.print(f"[yellow]Note:[/] {escape(sentence)}", soft_wrap=True)

    return notice


def progress_terminal() -> Console:
    """Standard error, for progress bars and errors."""
    return terminal(stderr=True)


def new_table(*left: str, right: Iterable[str] = (), **options: Any) -> WholeTable:
    """An empty table for a terminal.

    Args:
        left: Heads of its first columns, of texts.
        right: Heads of those after them, of figures.
        options: As of a ``WholeTable``.
    """
    from odonata.report.tables import WholeTable

    table = WholeTable(**options)
    for head in left:
        table.add_column(head)
    for head in right:
        table.add_column(head, justify="right")
    return table


def escape(text: str) -> str:
    """The text for a terminal, with nothing in it taken for markup."""
    from rich import markup

    return markup.escape(text)
