"""What else runs on a machine while a collective does: other jobs' messages, and the hosts' noise.

Other jobs have the nodes that real ones got and send as measured applications do, beside the
collective, in the same simulation. Hosts are interrupted now and then. Nothing of it is fitted to
measured collectives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from odonata import _engine
from odonata.bounded import is_archive, members, read_text
from odonata.declared import Noise
from odonata.errors import MachineError


@dataclass(frozen=True)
class Application:
    """What the ranks of an application were measured to send.

    Attributes:
        name: Its name.
        rate: Bytes that a rank sends in a second, of the whole run.
        message: Mean size of a message in bytes.
    """

    name: str
    rate: float
    message: int


#: Proxy applications on 64 ranks of one node, by mpiP's reports in
#: github.com/CNCA-CeNAT/comm-patterns-clustering (2018): bytes and messages from rank to rank over
#: the time that all ranks ran.
APPLICATIONS = (
    Application("AMG2013", 0.420e6, 20_491),
    Application("LULESH", 1.123e6, 16_039),
    Application("miniAMR", 24.351e6, 40_916),
    Application("miniFE", 0.428e6, 57_962),
    Application("miniMD", 12.915e6, 48_202),
)
#: Ranks along each edge of the cube that the 64 ranks of a node are, whose faces leave the node.
EDGE = 4
#: Shape of the gamma distribution of what an interruption takes: its quartiles are as far apart as
#: the 2.3, 3.2 and 3.8 µs that Netgauge found on a node of Alps.
SHAPE = 6.0
#: Sets of other jobs that share the calls of a prediction: a machine's state lasts longer than a
#: benchmark.
STATES = 4
#: Time that other jobs have run before the call begins: several times what an exchange takes.
WARM_PS = 200_000_000
#: Draws of the hosts' interruptions.
DRAWS = 4_000


def read_jobs(path: Path, known: dict[str, int]) -> list[list[int]]:
    """Which nodes jobs had, in the order of their numbers or lines.

    Args:
        path: A text with a list of hosts of a job in every line, as `squeue -h -t R -o %N` prints
            it, or a folder or archive of files of a job each with one host in a line.
        known: Node of each host of the machine.

    Returns:
        Nodes of each job, growing; hosts that the machine does not have are left out, and jobs
        with fewer than two.

    Raises:
        MachineError: If it cannot be read or holds no job of the machine.
    """
    jobs = []
    for hosts in _lists(path):
        nodes = sorted({known[name] for host in hosts if (name := host.split(".")[0]) in known})
        if len(nodes) > 1:
            jobs.append(nodes)
    if not jobs:
        raise MachineError(
            f"{path}: holds no job on two or more hosts of the machine; allowed: a list of hosts "
            "in every line, as squeue -h -t R -o %N prints it, or a folder or archive of files of "
            "a job each, one host in a line"
        )
    return jobs


def _lists(path: Path) -> Iterator[list[str]]:
    """Hosts of each job."""
    if path.is_dir():
        texts = {file.stem: read_text(file, MachineError) for file in sorted(path.glob("*.txt"))}
    elif path.is_file() and is_archive(path, MachineError):
        texts = {
            Path(name).stem: content.decode("utf-8", "replace")
            for name, content in members(path, lambda name: name.endswith(".txt"), MachineError)
        }
    else:
        yield from _by_line(path)
        return
    for name in sorted(texts, key=lambda name: (int(name) if name.isdecimal() else 0, name)):
        yield texts[name].split()


def _by_line(path: Path) -> Iterator[list[str]]:
    for number, line in enumerate(read_text(path, MachineError).splitlines(), 1):
        text = line.split("#")[0].strip()
        if not text or text == "(null)":
            continue
        try:
            yield _engine.expand_hostlist(text)
        except ValueError as error:
            raise MachineError(f'{path}:{number}: "{text}" is no list of hosts: {error}') from None


def beside(
    jobs: Sequence[Sequence[int]], own: Iterable[int], most: int, random: np.random.Generator
) -> list[Sequence[int]]:
    """Jobs that may have run at the same time as one on some nodes.

    Those whose places in the list are next to one drawn at random, on none of each other's nodes.

    Args:
        jobs: Nodes of each, in the order of their numbers.
        own: Nodes of the collective.
        most: Nodes that are taken in all, those of the collective among them.
        random: Draws the place.
    """
    taken = set(own)
    at = int(random.integers(len(jobs)))
    found = []
    for place in sorted(range(len(jobs)), key=lambda place: abs(place - at)):
        nodes = jobs[place]
        if len(taken) + len(nodes) <= most and taken.isdisjoint(nodes):
            taken.update(nodes)
            found.append(nodes)
    return found


def traffic(
    number: int,
    nodes: Sequence[int],
    compute_rate: float,
    kinds: np.random.Generator,
    phases: np.random.Generator,
) -> dict[str, Any]:
    """The engine's form of another job: an application drawn at random, in any phase.

    Its nodes are a grid in three dimensions, and all send to their neighbours at once: of the
    faces of the cube of ranks on each node a message a rank. The interval between two such
    exchanges follows from the measured rate.

    Args:
        number: Of the job, for its name.
        nodes: Its own.
        compute_rate: As `machine.background.compute_rate`.
        kinds: Draws the application.
        phases: Draws when it exchanges first.
    """
    application = APPLICATIONS[int(kinds.integers(len(APPLICATIONS)))]
    face = EDGE**2 * application.message
    # A cube's ranks send to six neighbours each, and the ranks of a face send one out of it.
    rate = application.rate * compute_rate * EDGE**2
    interval = 6 * face / rate
    return {
        "name": f"{application.name} {number}",
        "nodes": len(nodes),
        "ranks": None,
        "ranks_per_node": 1,
        "start_ps": int(phases.uniform(0, interval) * 1e12),
        "idle": False,
        "placement": {"policy": "explicit", "nodes": list(nodes)},
        "groups": None,
        "mapping": {"policy": "linear"},
        "load": {
            "traffic": {
                "interval_ps": None,
                "message_bytes": face,
                "process": "aligned",
                "messages": None,
                "slot_ps": None,
                "pattern": {
                    "name": "stencil",
                    "grid": None,
                    "dimensions": 3,
                    "periodic": True,
                    "to": "all",
                },
                "offered": {"interval_ps": max(int(interval * 1e12), 1)},
            }
        },
    }


def interrupted_ns(
    noise: Noise, ranks: int, time_ns: float, random: np.random.Generator
) -> np.ndarray:
    """How much longer calls take as their hosts are interrupted. Shape: :data:`DRAWS`.

    Interruptions of a rank come at random; those of different ranks overlap, so that of the ranks
    the one that is interrupted longest counts.
    """
    every, each = int(noise.detour_interval) / 1e3, int(noise.detour_time) / 1e3
    if not each:
        return np.zeros(DRAWS)
    longest = np.zeros(DRAWS)
    for first in range(0, ranks, 64):
        count = random.poisson(time_ns / every, (DRAWS, min(64, ranks - first)))
        lost = random.gamma(np.maximum(count * SHAPE, 1e-9), each / SHAPE) * (count > 0)
        np.maximum(longest, lost.max(axis=1), out=longest)
    return longest
