"""Makes the files of the examples that ship with the package, in python/odonata/examples.

The scenarios of examples/ that ship, as copies: links to them would be lost where a file system or
an archive has none. A trace (a GOAL schedule), a job log (SWF) and a wiring (an edge list), each
small and made by what the project has for it, so that they may be passed on freely:

    .venv/bin/python tools/example_files.py

A test checks that what lies there is what this makes.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np

from odonata import _engine
from odonata.cli import main as odonata
from odonata.shipped import EXAMPLES as SHIPPED

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "python" / "odonata" / "examples"

#: Ranks of the trace, in a torus of two dimensions; steps of the application.
SIDE, STEPS = 4, 4
#: Bytes to a neighbour, nanoseconds of computing.
FACE, WORK = 262_144, 20_000
#: Ranks of the OTF2 archive.
RING = 4


def stencil() -> str:
    """A GOAL schedule: every rank computes and exchanges faces with four neighbours, step by step.

    What a rank sends in a step it sends when it has computed; it computes the next one when all
    four faces of the step have come.
    """
    lines = [f"num_ranks {SIDE * SIDE}", ""]
    for rank in range(SIDE * SIDE):
        x, y = rank % SIDE, rank // SIDE
        around = [
            ((x + 1) % SIDE, y),
            ((x - 1) % SIDE, y),
            (x, (y + 1) % SIDE),
            (x, (y - 1) % SIDE),
        ]
        peers = [column + SIDE * row for column, row in around]
        lines.append(f"rank {rank} {{")
        for step in range(STEPS):
            # By rank, so that they differ in how much they have to do.
            lines.append(f"c{step}: calc {WORK + 500 * rank}")
            if step:
                lines += [f"c{step} requires r{step - 1}x{side}" for side in range(4)]
            for side, peer in enumerate(peers):
                # What goes right comes from the left.
                other = side ^ 1
                lines.append(f"s{step}x{side}: send {FACE}b to {peer} tag {4 * step + side}")
                lines.append(f"s{step}x{side} requires c{step}")
                lines.append(f"r{step}x{side}: recv {FACE}b from {peer} tag {4 * step + other}")
        lines += ["}", ""]
    return "\n".join(lines)


def ring(folder: Path) -> dict[str, bytes]:
    """An OTF2 archive of MPI: ranks in a ring exchange halos without blocking, step by step.

    A call takes a microsecond; halos are there five after they were sent.
    """
    names = ["MPI_Init", "MPI_Irecv", "MPI_Isend", "MPI_Waitall", "MPI_Finalize"]
    enter, leave, isend, sent, posted, irecv = 12, 13, 15, 16, 17, 19
    events: list[list[tuple[int, ...]]] = [[] for _ in range(RING)]
    clock = [0] * RING

    def call(rank: int, name: str, inside: list[tuple[int, ...]], until: int = 0) -> None:
        begin, region = clock[rank], names.index(name)
        end = max(begin + 1_000, until)
        events[rank].append((begin, enter, region, 0, 0, 0, 0))
        events[rank] += [(end if name == "MPI_Waitall" else begin, *event) for event in inside]
        events[rank].append((end, leave, region, 0, 0, 0, 0))
        clock[rank] = end

    for rank in range(RING):
        call(rank, "MPI_Init", [])
    for step in range(STEPS):
        for rank in range(RING):
            clock[rank] += WORK + 500 * rank
            peers = [(rank + 1) % RING, (rank - 1) % RING]
            for side in range(2):
                call(rank, "MPI_Irecv", [(posted, 0, 0, 0, 0, 4 * step + side)])
            for side, peer in enumerate(peers):
                message = (isend, peer, 0, side, FACE, 4 * step + 2 + side)
                call(rank, "MPI_Isend", [message])
        ready = list(clock)
        for rank in range(RING):
            peers = [(rank + 1) % RING, (rank - 1) % RING]
            done = [(sent, 0, 0, 0, 0, 4 * step + 2 + side) for side in range(2)]
            # What a rank sends to its right comes from the left.
            done += [(irecv, peers[s], 0, 1 - s, FACE, 4 * step + s) for s in range(2)]
            call(rank, "MPI_Waitall", done, max(ready[peer] for peer in peers) + 5_000)
    for rank in range(RING):
        call(rank, "MPI_Finalize", [])
    definitions = {
        "creator": "Odonata",
        "ticks_per_second": 10**9,
        "processes": [f"MPI rank {rank}" for rank in range(RING)],
        "regions": [(name, 1, 4) for name in names],
        "comms": [("MPI_COMM_WORLD", list(range(RING)))],
    }
    counts = np.array([len(own) for own in events], dtype=np.uint64)
    values = np.array([value for own in events for event in own for value in event], np.uint64)
    _engine.write_otf2(str(folder / "ring.otf2"), json.dumps(definitions), counts, values)
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def written() -> dict[str, bytes]:
    """The files by their names."""
    found = {"stencil.goal": stencil().encode()}
    named = {file for example in SHIPPED.values() for file in example.files}
    for path in sorted((ROOT / "examples").glob("*.toml")):
        if path.name in named:
            found[path.name] = path.read_bytes()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        (directory / "ring").mkdir()
        found |= ring(directory / "ring")
        network = ROOT / "examples" / "two-stencils.toml"
        draw = ["log", "generate", "--nodes", "64", "--jobs", "200", "--request-factor", "2"]
        export = ["topology", "export", str(network), "--format", "edge-list", "--out"]
        for command, file in ((draw, "jobs.swf"), (export, "wiring.edges")):
            try:
                odonata([*command, str(directory / file)])
            except SystemExit as end:
                assert not end.code, end.code
            found[file] = (directory / file).read_bytes()
    return found


if __name__ == "__main__":
    for name, content in written().items():
        (EXAMPLES / name).parent.mkdir(exist_ok=True)
        (EXAMPLES / name).write_bytes(content)
        print(f"{EXAMPLES / name}: {len(content):,} bytes")
