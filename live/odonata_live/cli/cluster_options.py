"""Options that several of ``odonata cluster`` have in common: decorators, or what makes one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from odonata.cli import options
from odonata.cli.numeric import TIME, Number
from odonata.cli.options import Command


def timeout(command: Command) -> Command:
    """Adds ``--timeout``."""
    return click.option(
        "--timeout",
        type=Number(above=True),
        default=30.0,
        metavar="SECONDS",
        help="Longest time that a Slurm command may take.",
    )(command)


def squeue(command: Command) -> Command:
    """Adds ``--squeue``."""
    return click.option(
        "--squeue",
        type=click.Path(path_type=Path, allow_dash=True),
        metavar="FILE",
        help="What squeue printed, as JSON or text; - is standard input.  [default: asks Slurm]",
    )(command)


def sinfo(*, default: str = "asks Slurm", old: str = "") -> Callable[[Command], Command]:
    """Makes the decorator that adds ``--sinfo``.

    Args:
        default: What happens without it.
        old: What it was called.
    """
    return options.renamed(
        "--sinfo",
        old=old,
        type=click.Path(path_type=Path, allow_dash=True),
        metavar="FILE",
        help="The cluster's nodes: what sinfo or `scontrol show nodes` printed, as JSON or text; - "
        f"is standard input.  [default: {default}]",
    )


def topology(*, default: str = "asks Slurm", more: str = "") -> Callable[[Command], Command]:
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


def group(command: Command) -> Command:
    """Adds ``--group``."""
    return click.option(
        "--group",
        "level",
        type=click.Choice(["island", "leaf"]),
        default="island",
        help="What a group is: the nodes joined below the top level of switches (island), or those "
        "of one lowest-level switch (leaf).",
    )(command)


def last(what: str) -> Callable[[Command], Command]:
    """Makes the decorator that adds ``--last``.

    Args:
        what: Of which only the latest are shown, with an example of a time.
    """
    return click.option("--last", type=TIME, help=f"Only the {what}.  [default: all]")
