"""What options of ``odonata cluster`` have in common."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from odonata.cli.numeric import TIME, Number
from odonata.cli.shared import Command, notices, option, progress_terminal
from odonata.errors import ClusterError
from odonata.terminal import say

if TYPE_CHECKING:
    from odonata_live.cluster.nodes import Topology
    from odonata_live.cluster.queue import QueuedJob


def timeout_option(command: Command) -> Command:
    """Adds ``--timeout``."""
    return click.option(
        "--timeout",
        type=Number(above=True),
        default=30.0,
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


def read_queue(file: Path | None, timeout: float) -> list[QueuedJob]:
    """The queue in the file of ``--squeue``, or as Slurm tells it.

    Raises:
        ClusterError: If it is none, or Slurm does not answer.
    """
    from odonata_live.cluster import queue, slurm

    text = slurm.ask(queue.COMMAND, timeout) if file is None else read_text(file)
    return queue.read_queue(text, "squeue" if file is None else str(file))


def count_nodes(file: Path | None, timeout: float) -> int:
    """How many nodes the file of ``--sinfo`` lists, or Slurm does.

    Raises:
        ClusterError: If it is none, or Slurm does not answer.
    """
    from odonata_live.cluster import nodes, slurm
    from odonata_live.cluster.model import read_nodes

    text = slurm.ask(nodes.COMMAND, timeout) if file is None else read_text(file)
    return len(read_nodes(text, "sinfo" if file is None else str(file)))


def tell(line: str) -> None:
    """Says a line of a command that goes on and on, with the time."""
    say(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}", err=True)


def last_option(what: str) -> Callable[[Command], Command]:
    """Makes the decorator that adds ``--last``.

    Args:
        what: Of which only the latest are shown, with an example of a time.
    """
    return click.option("--last", type=TIME, help=f"Only the {what}.  [default: all]")


def since(last: int | None) -> float:
    """When the time of ``--last`` began, Unix seconds."""
    return 0 if last is None else time.time() - last


def read_hosts(given: str) -> tuple[str, ...]:
    """The hosts that ``--hosts`` names, each once.

    Raises:
        MachineError: If it names none.
    """
    from odonata.machines.hosts import read_hosts as read

    return tuple(dict.fromkeys(read(given)))


def read_text(path: Path) -> str:
    """What a file holds; `-` is standard input.

    Raises:
        ClusterError: If it cannot be read.
    """
    from odonata import bounded

    return bounded.read_text(path, ClusterError, errors="replace")
