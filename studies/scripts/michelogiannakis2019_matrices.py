"""Who sends how much to whom in the skeletons of the study michelogiannakis2019.

    .venv/bin/python studies/scripts/michelogiannakis2019_matrices.py    # a minute

Runs one iteration of each application of Odonata once and writes the bytes from rank
to rank beside the study file, compressed. Equal versions give equal files.
"""

from __future__ import annotations

import lzma
from typing import Any

import odonata
from odonata import Scenario
from odonata_studies.papers import LIBRARY

#: Where the matrices go.
TARGET = LIBRARY / "michelogiannakis2019"

#: Ranks and motif of each, by the name of its file. Numbers of ranks follow from table 2: the
#: sums of its mixes leave 512 for MILC and 1,920 for MiniDFT.
APPLICATIONS: dict[str, tuple[int, dict[str, Any]]] = {
    "amg-1728": (1728, {"kind": "amg"}),
    "amr-1728": (1728, {"kind": "mini-amr"}),
    "nekbone-1024": (1024, {"kind": "nekbone"}),
    "milc-512": (512, {"kind": "milc"}),
    "minidft-1920": (1920, {"kind": "fft", "points": [240, 240, 240]}),
    "minidft-4525": (4525, {"kind": "fft", "points": [320, 320, 320]}),
}


def matrix(ranks: int, motif: dict[str, Any]) -> str:
    """What the ranks send to each other, as an edge list with a header."""
    # Time does not matter, nor does the network: one switch, or as many as the ranks need.
    scenario = {
        "network": {"family": "fat-tree", "radix": 64, "nodes": ranks},
        "simulation": {"packet": "64 KiB"},
        "record": {"communication": True},
        "job": [{"ranks": ranks, "nodes": ranks, "motif": {"iterations": 1, **motif}}],
    }
    table = odonata.run(Scenario.from_dict(scenario)).table("communication")
    columns = [table[name].to_pylist() for name in ("source_rank", "destination_rank", "bytes")]
    lines = [f"{source},{to},{size}" for source, to, size in zip(*columns, strict=True)]
    return "\n".join(["src,dst,bytes", *lines]) + "\n"


def main() -> None:
    """Writes the matrices."""
    TARGET.mkdir(exist_ok=True)
    for name, (ranks, motif) in APPLICATIONS.items():
        text = matrix(ranks, motif).encode()
        file = TARGET / f"{name}.csv.xz"
        file.write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))
        pairs = text.count(b"\n") - 1
        print(f"{name}: {pairs} pairs, {file.stat().st_size} bytes")


if __name__ == "__main__":
    main()
