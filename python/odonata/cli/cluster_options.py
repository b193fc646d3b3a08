"""What options of ``odonata cluster`` have in common."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from odonata.cli.numeric import Number
from odonata.errors import ClusterError

Command = TypeVar("Command", bound=Callable[..., Any])


def timeout_option(command: Command) -> Command:
    """Adds ``--timeout``."""
    return click.option(
        "--timeout",
        type=Number(above=True),
        default=30.0,
        show_default=True,
        metavar="SECONDS",
        help="Longest time that a Slurm command may take.",
    )(command)


def squeue_option(command: Command) -> Command:
    """Adds ``--squeue``."""
    return click.option(
        "--squeue",
        type=click.Path(path_type=Path, allow_dash=True),
        metavar="FILE",
        help="What squeue printed, as JSON or text; - is standard input.  [default: asks Slurm]",
    )(command)


def span(context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """A duration in whole seconds, such as `"60 s"`."""
    from odonata.batch.options import Span
    from odonata.units import UnitError

    if value is None:
        return None
    try:
        seconds = int(Span(value))
    except UnitError as error:
        raise click.BadParameter(str(error)) from None
    if seconds < 1:
        raise click.BadParameter(f'found "{value}"; allowed: at least 1 s')
    return seconds


def size(context: click.Context, parameter: click.Parameter, value: str) -> int:
    """A number of bytes, such as `"1 GiB"`."""
    from odonata.units import Size, UnitError

    try:
        return int(Size(value))
    except UnitError as error:
        raise click.BadParameter(str(error)) from None


def read_text(path: Path) -> str:
    """What a file holds; `-` is standard input.

    Raises:
        ClusterError: If it cannot be read.
    """
    from odonata import bounded

    return bounded.read_text(path, ClusterError, errors="replace")


def sizes(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[int, ...]:
    """Several numbers of bytes."""
    return tuple(size(context, parameter, value) for value in values)


def duration(context: click.Context, parameter: click.Parameter, value: str) -> float:
    """A duration such as `"1 ms"`, in seconds; `"0 s"` is allowed."""
    from odonata.units import Duration, UnitError

    try:
        return int(Duration(value)) * 1e-12
    except UnitError as error:
        raise click.BadParameter(str(error)) from None
