"""Makes the files of the examples that ship with the package, in python/odonata/examples.

The scenarios of examples/ that ship, as copies: links to them would be lost where a file system or
an archive has none. A trace (a GOAL schedule), a job log (SWF) and a wiring (an edge list), each
small and made by what the project has for it, so that they may be passed on freely:

    .venv/bin/python tools/example_files.py

A test checks that what lies there is what this makes.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from odonata.cli import main as odonata
from odonata.shipped import EXAMPLES as SHIPPED

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "python" / "odonata" / "examples"

#: Ranks of the trace, in a torus of two dimensions; steps of the application.
SIDE, STEPS = 4, 4
#: Bytes to a neighbour, nanoseconds of computing.
FACE, WORK = 262_144, 20_000


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


def written() -> dict[str, str]:
    """The files by their names."""
    found = {"stencil.goal": stencil()}
    named = {file for example in SHIPPED.values() for file in example.files}
    for path in sorted((ROOT / "examples").glob("*.toml")):
        if path.name in named:
            found[path.name] = path.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        network = ROOT / "examples" / "two-stencils.toml"
        draw = ["log", "generate", "--nodes", "64", "--jobs", "200", "--request-factor", "2"]
        export = ["topology", "export", str(network), "--format", "edge-list", "--out"]
        for command, file in ((draw, "jobs.swf"), (export, "wiring.edges")):
            try:
                odonata([*command, str(directory / file)])
            except SystemExit as end:
                assert not end.code, end.code
            found[file] = (directory / file).read_text(encoding="utf-8")
    return found


if __name__ == "__main__":
    for name, text in written().items():
        (EXAMPLES / name).write_text(text, encoding="utf-8")
        print(f"{EXAMPLES / name}: {len(text):,} bytes")
