"""The examples that are part of the installed package."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from odonata.errors import OutputError
from odonata.output import check_new_file, new_file, subdirectory, write_file, writing


@dataclass(frozen=True)
class Example:
    """An example.

    Attributes:
        about: What it shows, in a few words.
        files: Its files; the first is the one that a command takes.
        command: What to do with it; ``{}`` is where its first file is.
    """

    about: str
    files: tuple[str, ...]
    command: str = "odonata run {}"


#: By name.
EXAMPLES: Mapping[str, Example] = {
    "demo": Example("two applications share a dragonfly, and one pays for it", ("demo.toml",)),
    "two-stencils": Example("two halo exchanges on a small dragonfly", ("two-stencils.toml",)),
    "uniform-load": Example(
        "open-loop traffic: a point of a load-latency curve",
        ("uniform-load.toml",),
        "odonata sweep {} --set job.0.traffic.load=0.1:0.9:0.2",
    ),
    "adversarial": Example("the traffic that minimal routing fears most", ("adversarial.toml",)),
    "congestion-control": Example(
        "an incast that interfaces hold back", ("congestion-control.toml",)
    ),
    "failures": Example("links and a router are out of service", ("failures.toml",)),
    "rail-optimised": Example(
        "nodes of eight GPUs and eight interfaces, on rails", ("rail-optimised.toml",)
    ),
    "incast": Example("many nodes send to one", ("incast.toml",)),
    "fat-tree": Example("a tapered fat tree", ("fat-tree.toml",)),
    "dragonfly-plus": Example("groups of leaf and spine switches", ("dragonfly-plus.toml",)),
    "reconfigurable": Example("optical circuits for jobs", ("reconfigurable.toml",)),
    "steered-fat-tree": Example("uplinks that are steered", ("steered-fat-tree.toml",)),
    "interference": Example(
        "three applications: which slows which", ("interference.toml",), "odonata interference {}"
    ),
    "mini-apps": Example("four applications share a machine", ("mini-apps.toml",)),
    "sweep3d": Example("wavefronts, and the size of their steps", ("sweep3d.toml",)),
    "training": Example("a training step in three kinds of parallelism", ("training.toml",)),
    "phases": Example("an application of several phases", ("phases.toml",)),
    "wiring": Example(
        "your own machine, from a list of links",
        ("wiring.toml", "wiring.edges"),
        "odonata topology draw {}",
    ),
    "trace": Example(
        "a trace of 16 ranks, as a GOAL schedule", ("stencil.goal",), "odonata replay {}"
    ),
    "otf2": Example(
        "a trace of 4 ranks of MPI, as an OTF2 archive",
        (
            *("ring.otf2", "ring.def"),
            *(f"ring/{rank}.{kind}" for rank in range(4) for kind in ("def", "evt")),
        ),
        "odonata replay {}",
    ),
    "dumpi": Example(
        "a trace of 4 ranks of MPI, as DUMPI files",
        ("halo.meta", *(f"halo-{rank:04}.bin" for rank in range(4))),
        "odonata replay {}",
    ),
    "job-log": Example(
        "200 jobs of a machine of 64 nodes, as SWF",
        ("jobs.swf",),
        "odonata schedule {} --compare fcfs",
    ),
}


def example(name: str, directory: str | os.PathLike[str] = ".") -> Path:
    """Copies an example out of the installed package.

    Args:
        name: One of :data:`EXAMPLES`.
        directory: Where to copy it; is made if it does not exist.

    Returns:
        The file that a command takes: a scenario, a trace, or a job log.

    Raises:
        KeyError: If there is no such example; the error lists the examples.
        OutputError: If one of its files exists there already, or cannot be written.
    """
    if name not in EXAMPLES:
        raise KeyError(f"no example {name!r}; there are {', '.join(EXAMPLES)}")
    directory = Path(directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{directory}: cannot be created: {error.strerror}") from error
    files = EXAMPLES[name].files
    for file in files:
        with writing(directory):
            for folder in Path(file).parts[:-1]:
                subdirectory(directory, folder)
        check_new_file(directory / file)
    source = resources.files("odonata") / "examples"
    for file in files:
        with new_file(directory / file) as partial:
            write_file(partial, (source / file).read_bytes())
    return directory / files[0]
