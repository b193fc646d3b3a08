"""What commands of ``odonata cluster`` read: files that options name, or Slurm's answers."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from odonata.cli.shared import notices, progress_terminal
from odonata.errors import ClusterError
from odonata.terminal import say

if TYPE_CHECKING:
    from odonata_live.cluster.nodes import Topology
    from odonata_live.cluster.queue import QueuedJob


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
