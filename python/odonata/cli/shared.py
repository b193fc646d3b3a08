"""What several commands have in common: options, terminals, JSON.

Modules of commands are imported to print ``odonata --help``. They import what takes long (rich,
numpy, the engine) where it is used, in functions.
"""

from __future__ import annotations

import contextlib
import csv
import inspect
import itertools
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from odonata.cli.numeric import Whole
from odonata.terminal import CleanWriter, clean_json, say, terminal

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem
    from rich.console import Console

    from odonata.report.tables import WholeTable
    from odonata.scenario import Scenario

Command = TypeVar("Command", bound=Callable[..., Any])


def lists_trace_formats(command: Command) -> Command:
    """Says in the help of a command, the text of its function, which files of traces are read."""
    from odonata.names import TRACE_FORMAT

    files = "; ".join(text[:1].lower() + text[1:].rstrip(".") for text in TRACE_FORMAT.values())
    command.__doc__ = f"{inspect.cleandoc(command.__doc__ or '')}\n\nFILE is one of these: {files}."
    return command


def option(*names: str, old: str = "", **settings: Any) -> Callable[[Command], Command]:
    """As ``click.option``; a name that the option had before is accepted with a notice.

    Args:
        names: The option's.
        old: The name that it had; empty for none.
        settings: As of ``click.option``.
    """
    if not old:
        return click.option(*names, **settings)
    new, then = names[0], settings.pop("callback", None)

    def remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
        if value not in (None, ()):
            say(
                f"Note: {old} is called {new} now; the old name will be an error in the next minor "
                "version",
                err=True,
            )
            context.meta[f"odonata.{new}"] = value

    def value_of(context: click.Context, parameter: click.Parameter, value: Any) -> Any:
        before = context.meta.get(f"odonata.{new}")
        if before is not None:
            source = context.get_parameter_source(parameter.name or "")
            if source is not click.core.ParameterSource.DEFAULT:
                raise click.UsageError(f"{old} is the old name of {new}: give one of them")
            value = before
        if settings.get("required") and value in (None, ()):
            raise click.MissingParameter(ctx=context, param=parameter)
        return value if then is None else then(context, parameter, value)

    kept = {key: settings[key] for key in ("type", "multiple") if key in settings}

    def decorate(command: Command) -> Command:
        main = {**settings, "required": False, "callback": value_of}
        command = click.option(*names, **main)(command)
        return click.option(
            old, **kept, hidden=True, is_eager=True, expose_value=False, callback=remember
        )(command)

    return decorate


def hosts_option(text: str, *, old: str = "", required: bool = False) -> Callable[..., Any]:
    """Makes the decorator that adds ``--hosts``.

    Args:
        text: What they are, as the beginning of a sentence.
        old: What it was called.
        required: Whether it has to be given.
    """
    return option(
        "--hosts",
        old=old,
        required=required,
        metavar="HOSTS",
        help=f"{text}: a list such as n[0-3,7], or a file with hosts or lists, one a line; - is "
        "standard input.",
    )


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


def json_option(command: Command) -> Command:
    """Adds ``--json``."""
    return _json_option("Print exactly one JSON object, for programs.")(command)


def json_lines_option(command: Command) -> Command:
    """Adds ``--json`` to a command that goes on and on."""
    return _json_option("Print a JSON object on a line of its own each time, for programs.")(
        command
    )


def _json_option(text: str) -> Callable[[Command], Command]:
    return click.option("--json", "as_json", is_flag=True, help=text)


def _changes_complete(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The changes of a scenario that begin so, for a shell that completes them."""
    from odonata.cli.changes import complete_change

    return complete_change(ctx, param, incomplete)


def changes_option(text: str, *, metavar: str = "KEY=VALUE") -> Callable[[Command], Command]:
    """Makes the decorator that adds ``--set``.

    Args:
        text: Its help.
        metavar: What it takes.
    """
    return click.option(
        "--set",
        "changes",
        multiple=True,
        metavar=metavar,
        shell_complete=_changes_complete,
        help=text,
    )


def scenario_argument(command: Command) -> Command:
    """Adds the argument SCENARIO and the option ``--set``."""
    command = changes_option(
        "Change a key of the scenario, e.g. network.routing=valiant, job.0.nodes=64 or "
        "job.NAME.nodes=64. May be given several times."
    )(command)
    return click.argument("scenario", type=click.Path(path_type=Path))(command)


def out_option(text: str, *, metavar: str = "DIR") -> Callable[[Command], Command]:
    """Makes the decorator that adds ``--out``: a directory for results, or a file.

    Args:
        text: Its help.
        metavar: DIR or FILE.
    """
    return click.option("--out", type=click.Path(path_type=Path), metavar=metavar, help=text)


def quiet_options(command: Command) -> Command:
    """Adds ``--no-plots`` and ``--quiet``."""
    command = click.option("--quiet", is_flag=True, help="Print nothing but errors.")(command)
    return click.option("--no-plots", is_flag=True, help="Draw no pictures.")(command)


def picture_options(command: Command) -> Command:
    """Adds what :func:`quiet_options` does, and ``--all-plots``."""
    text = (
        "Draw all pictures at once, not the overview alone; `odonata show DIR --plots` does later."
    )
    return click.option("--all-plots", is_flag=True, help=text)(quiet_options(command))


def pictures_to_draw(*, no_plots: bool, all_plots: bool) -> Sequence[str] | bool:
    """What ``--no-plots`` and ``--all-plots`` ask for, as `Result.save` takes it.

    Raises:
        click.UsageError: If both are given.
    """
    if no_plots and all_plots:
        raise click.UsageError("--no-plots and --all-plots exclude each other")
    return ("overview",) if not no_plots and not all_plots else all_plots


def threads_option(command: Command) -> Command:
    """Adds ``--threads``."""
    return click.option(
        "--threads",
        type=Whole(1, 1024),
        help="Threads that simulate; results do not depend on their number.",
    )(command)


def jobs_option(command: Command) -> Command:
    """Adds ``--jobs``, of commands that simulate side by side."""
    return click.option(
        "--jobs",
        type=Whole(1, 1024),
        metavar="K",
        help="Simulations at a time, each with one thread. Default: one per processor.",
    )(command)


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
