"""Makes the files of the examples that ship with the package, in python/odonata/examples.

The scenarios of examples/ that ship, as copies: links to them would be lost where a file system or
an archive has none. Traces (GOAL, OTF2, DUMPI), a job log (SWF) and a wiring (an edge list), each
small and made by what the project has for it, so that they may be passed on freely:

    .venv/bin/python tools/example_files.py

A test checks that what lies there is what this makes.
"""

from __future__ import annotations

import json
import struct
import tempfile
from collections import Counter
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
#: Ranks of the OTF2 archive and of the DUMPI trace.
RING = 4
#: When the DUMPI trace was begun, seconds since 1970.
BEGUN = 1_700_000_000


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

    A call takes a microsecond; halos are there five after they were sent. Every step is a call of
    the function `timestep`.
    """
    names = ["MPI_Init", "MPI_Irecv", "MPI_Isend", "MPI_Waitall", "MPI_Finalize", "timestep"]
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
            events[rank].append((clock[rank], enter, names.index("timestep"), 0, 0, 0, 0))
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
            events[rank].append((clock[rank], leave, names.index("timestep"), 0, 0, 0, 0))
    for rank in range(RING):
        call(rank, "MPI_Finalize", [])
    definitions = {
        "creator": "Odonata",
        "ticks_per_second": 10**9,
        "processes": [f"MPI rank {rank}" for rank in range(RING)],
        "regions": [(name, 1, 4 if name.startswith("MPI_") else 1) for name in names],
        "comms": [("MPI_COMM_WORLD", list(range(RING)))],
    }
    counts = np.array([len(own) for own in events], dtype=np.uint64)
    values = np.array([value for own in events for event in own for value in event], np.uint64)
    _engine.write_otf2(str(folder / "ring.otf2"), json.dumps(definitions), counts, values)
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


class Dumpi:
    """The DUMPI file of one rank.

    Layout of version 1.1.0, as sst-dumpi's ``docs/traceformat.dox`` describes it: big-endian; a
    record is a function's number, a mask of what follows, thread, times of the processor and of the
    wall, arguments.
    """

    MAGIC, FOOTER, END = 0xFFAADD44554D5049, 0xF007FEE7, 0x125
    #: Functions that the footer counts.
    COUNTED = 290
    #: Numbers of functions.
    ISEND, IRECV, WAITALL, ALLREDUCE, SIZE, RANK, INIT, FINALIZE = 8, 12, 18, 65, 81, 82, 124, 125
    #: MPI_COMM_WORLD, MPI_DOUBLE, MPI_SUM.
    WORLD, DOUBLE, SUM = 2, 14, 3
    STATUSES, TIMES_AND_THREAD = 0b11, 0b1001100

    def __init__(self) -> None:
        self.clock = 0
        self._records = struct.pack(">Qii", self.MAGIC, 0, BEGUN)
        self._seen: Counter[int] = Counter()

    def call(
        self, function: int, form: str = "", *values: int, until: int = 0, statuses: bool = False
    ) -> None:
        """Records a call of a microsecond, or one that returns at a time in nanoseconds.

        Args:
            function: Its number.
            form: Of its arguments, as of :mod:`struct`.
            values: The arguments.
            until: When it returns at the earliest.
            statuses: Whether there are some among the arguments.
        """
        begin, self.clock = self.clock, max(self.clock + 1_000, until)
        mask = self.TIMES_AND_THREAD | (self.STATUSES if statuses else 0)
        times = [part for time in (begin, self.clock) for part in divmod(time, 10**9)]
        self._records += struct.pack(">HBHHIHIHIHI", function, mask, 0, *times, *times)
        self._records += struct.pack(">" + form, *values)
        self._seen[function] += 1

    def file(self) -> bytes:
        """The file, with the sections that follow the records."""
        body = self._records + struct.pack(">H", self.END)
        host = b"example"
        header = struct.pack(f">3BQH{len(host)}sHII", 1, 1, 0, BEGUN, len(host), host, 0, 0, 0)
        called = [self._seen[function] for function in range(self.COUNTED)]
        counts = [*called, sum(called), *[0] * (self.COUNTED + 1)]
        footer = struct.pack(f">Q{len(counts)}I", self.FOOTER, *counts)
        # Counters, sizes of datatypes, names of functions: none of each.
        lists = len(body) + len(header) + len(footer)
        at = (lists + 4, lists + 8, lists, len(body), 8, len(body) + len(header), 0)
        return (
            body
            + header
            + footer
            + struct.pack(">3I", 0, 0, 0)
            + struct.pack(">8Q", self.MAGIC, *at)
        )


def halo() -> dict[str, bytes]:
    """A DUMPI trace: ranks in a ring exchange halos without blocking, and then add a number up.

    They do so step by step. A call takes a microsecond; what comes from others is there five after
    the last of them is.
    """
    ranks = [Dumpi() for _ in range(RING)]
    for number, rank in enumerate(ranks):
        rank.call(Dumpi.INIT, "i", 0)
        rank.call(Dumpi.RANK, "Hi", Dumpi.WORLD, number)
        rank.call(Dumpi.SIZE, "Hi", Dumpi.WORLD, RING)
    for step in range(STEPS):
        # Requests are numbered from 2.
        first = 2 + 4 * step
        for number, rank in enumerate(ranks):
            rank.clock += WORK + 500 * number
            peers = [(number + 1) % RING, (number - 1) % RING]
            for function in (Dumpi.IRECV, Dumpi.ISEND):
                for side, peer in enumerate(peers):
                    # What a rank sends to its right comes from the left.
                    tag = side if function == Dumpi.ISEND else 1 - side
                    request = first + 2 * (function == Dumpi.ISEND) + side
                    values = (FACE // 8, Dumpi.DOUBLE, peer, tag, Dumpi.WORLD, request)
                    rank.call(function, "iHiiHi", *values)
        ready = [rank.clock for rank in ranks]
        for number, rank in enumerate(ranks):
            there = max(ready[(number + side) % RING] for side in (1, -1)) + 5_000
            requests = [first + one for one in range(4)]
            # Its list of statuses is empty, as where a program ignores them.
            rank.call(Dumpi.WAITALL, "iI4iI", 4, 4, *requests, 0, until=there, statuses=True)
        added = max(rank.clock for rank in ranks) + 5_000
        for rank in ranks:
            values = (1, Dumpi.DOUBLE, Dumpi.SUM, Dumpi.WORLD)
            rank.call(Dumpi.ALLREDUCE, "iHBH", *values, until=added)
    for rank in ranks:
        rank.call(Dumpi.FINALIZE)
    about = {"hostname": "example", "numprocs": RING, "username": "", "startime": BEGUN}
    about |= {"fileprefix": "halo", "version": 1, "subversion": 1, "subsubversion": 0}
    meta = "".join(f"{key}={value}\n" for key, value in about.items())
    files = {f"halo-{number:04}.bin": rank.file() for number, rank in enumerate(ranks)}
    return {"halo.meta": meta.encode(), **files}


def written() -> dict[str, bytes]:
    """The files by their names."""
    found = {"stencil.goal": stencil().encode(), **halo()}
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
