"""What options of ``odonata cluster`` have in common."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from odonata.cli.numeric import Number
from odonata.cli.shared import Command, notices, option, progress_terminal
from odonata.errors import ClusterError

if TYPE_CHECKING:
    from odonata_live.cluster.nodes import Topology


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


def sinfo_option(*, default: str = "asks Slurm", old: str = "") -> Callable[[Command], Command]:
    """Makes the decorator that adds ``--sinfo``.

    Args:
        default: What happens without it.
        old: What it was called.
    """
    return option(
        "--sinfo",
        old=old,
        type=click.Path(path_type=Path, allow_dash=True),
        metavar="FILE",
        help="The cluster's nodes: what sinfo or `scontrol show nodes` printed, as JSON or text; - "
        f"is standard input.  [default: {default}]",
    )


def topology_option(*, default: str = "asks Slurm", more: str = "") -> Callable[[Command], Command]:
    """Makes the decorator that adds ``--topology``.

    Args:
        default: What happens without it.
        more: What it is for.
    """
    return click.option(
        "--topology",
        type=click.Path(path_type=Path, allow_dash=True),
        metavar="FILE",
        help="Which node is on which switch: topology.conf, topology.yaml, a list of nodes with "
        "attributes, a list of links, the output of ibnetdiscover, GraphML, GML, a network file of "
        f"BookSim, or a scenario of the machine with its hosts (.toml).{more}  "
        f"[default: {default}]",
    )


def group_option(command: Command) -> Command:
    """Adds ``--group``."""
    return click.option(
        "--group",
        "level",
        type=click.Choice(["island", "leaf"]),
        default="island",
        show_default=True,
        help="What a group is: the nodes joined below the top level of switches (island), or those "
        "of one lowest-level switch (leaf).",
    )(command)


def read_topology(path: Path, *, alone: bool = False) -> Topology:
    """The topology in a file that ``--topology`` names.

    Args:
        path: The file.
        alone: As of :func:`odonata_live.cluster.topologies.read_topology_file`.

    Raises:
        ClusterError: If it is none.
        ScenarioError: If it is a scenario, and wrong.
    """
    from odonata_live.cluster.topologies import read_topology_file

    return read_topology_file(path, notices(progress_terminal()), alone=alone)


def read_hosts(given: str) -> tuple[str, ...]:
    """The hosts that ``--hosts`` names, each once.

    Raises:
        MachineError: If it names none.
    """
    from odonata.machines.hosts import read_hosts as read

    return tuple(dict.fromkeys(read(given)))


def span(context: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """A duration in whole seconds, such as `"60 s"`."""
    from odonata.units import Span, UnitError

    if value is None:
        return None
    try:
        seconds = int(Span(value))
    except UnitError as error:
        raise click.BadParameter(str(error)) from None
    if seconds < 1:
        raise click.BadParameter(f'found "{value}"; allowed: at least 1 s')
    return seconds


def share(context: click.Context, parameter: click.Parameter, value: str) -> float:
    """A share such as `"5 %"`, as a part of 1."""
    from odonata.units import Share, UnitError

    try:
        return float(Share(value)) / 1e6
    except UnitError as error:
        raise click.BadParameter(str(error)) from None


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
