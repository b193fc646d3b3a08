"""Options and arguments that several commands have in common.

Each is a decorator of a command, or makes one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from odonata.cli.numeric import Whole
from odonata.terminal import say

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Command = TypeVar("Command", bound=Callable[..., Any])


def trace_formats(command: Command) -> Command:
    """Says in the help of a command, the text of its function, which files of traces are read."""
    from odonata.names import TRACE_FORMAT

    files = "; ".join(text[:1].lower() + text[1:].rstrip(".") for text in TRACE_FORMAT.values())
    command.__doc__ = f"{inspect.cleandoc(command.__doc__ or '')}\n\nFILE is one of these: {files}."
    return command


def renamed(*names: str, old: str = "", **settings: Any) -> Callable[[Command], Command]:
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


def hosts(text: str, *, old: str = "", required: bool = False) -> Callable[..., Any]:
    """Makes the decorator that adds ``--hosts``.

    Args:
        text: What they are, as the beginning of a sentence.
        old: What it was called.
        required: Whether it has to be given.
    """
    return renamed(
        "--hosts",
        old=old,
        required=required,
        metavar="HOSTS",
        help=f"{text}: a list such as n[0-3,7], or a file with hosts or lists, one a line; - is "
        "standard input.",
    )


def json(command: Command) -> Command:
    """Adds ``--json``."""
    return _json("Print exactly one JSON object, for programs.")(command)


def json_lines(command: Command) -> Command:
    """Adds ``--json`` to a command that goes on and on."""
    return _json("Print a JSON object on a line of its own each time, for programs.")(command)


def _json(text: str) -> Callable[[Command], Command]:
    return click.option("--json", "as_json", is_flag=True, help=text)


def _changes_complete(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The changes of a scenario that begin so, for a shell that completes them."""
    from odonata.cli.changes import complete_change

    return complete_change(ctx, param, incomplete)


def changes(text: str, *, metavar: str = "KEY=VALUE") -> Callable[[Command], Command]:
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


def scenario(command: Command) -> Command:
    """Adds the argument SCENARIO and the option ``--set``."""
    command = changes(
        "Change a key of the scenario, e.g. network.routing=valiant, job.0.nodes=64 or "
        "job.NAME.nodes=64. May be given several times."
    )(command)
    return click.argument("scenario", type=click.Path(path_type=Path))(command)


def out(text: str, *, metavar: str = "DIR") -> Callable[[Command], Command]:
    """Makes the decorator that adds ``--out``: a directory for results, or a file.

    Args:
        text: Its help.
        metavar: DIR or FILE.
    """
    return click.option("--out", type=click.Path(path_type=Path), metavar=metavar, help=text)


def quiet(command: Command) -> Command:
    """Adds ``--no-plots`` and ``--quiet``."""
    command = click.option("--quiet", is_flag=True, help="Print nothing but errors.")(command)
    return click.option("--no-plots", is_flag=True, help="Draw no pictures.")(command)


def pictures(command: Command) -> Command:
    """Adds what :func:`quiet` does, and ``--all-plots``."""
    text = (
        "Draw all pictures at once, not the overview alone; `odonata show DIR --plots` does later."
    )
    return click.option("--all-plots", is_flag=True, help=text)(quiet(command))


def pictures_to_draw(*, no_plots: bool, all_plots: bool) -> Sequence[str] | bool:
    """What ``--no-plots`` and ``--all-plots`` ask for, as `Result.save` takes it.

    Raises:
        click.UsageError: If both are given.
    """
    if no_plots and all_plots:
        raise click.UsageError("--no-plots and --all-plots exclude each other")
    return ("overview",) if not no_plots and not all_plots else all_plots


def threads(command: Command) -> Command:
    """Adds ``--threads``."""
    return click.option(
        "--threads",
        type=Whole(1, 1024),
        help="Threads that simulate; results do not depend on their number.",
    )(command)


def jobs(command: Command) -> Command:
    """Adds ``--jobs``, of commands that simulate side by side."""
    return click.option(
        "--jobs",
        type=Whole(1, 1024),
        metavar="K",
        help="Simulations at a time, each with one thread. Default: one per processor.",
    )(command)
