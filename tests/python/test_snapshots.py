"""What people see of common commands and mistakes, word for word, in files of ``snapshots/``.

A change there is one that users notice: look at the difference, then write the files anew by
``PYTHONPATH=tests .venv/bin/python tests/python/test_snapshots.py``. Figures in them are held by
other tests.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest

from command import call

SNAPSHOTS = Path(__file__).with_name("snapshots")

SCENARIO = """\
title = "Two small jobs"

[network]
family = "dragonfly"
p = 1
a = 2
h = 1

[[job]]
name = "halo"
nodes = 4
motif = { kind = "halo2d", message = "16 KiB", iterations = 3 }

[[job]]
name = "noise"
nodes = 2
motif = { kind = "all-to-all", message = "4 KiB" }
"""

#: Three mistakes in one file, of a name, a unit and a key.
MISTAKES = """\
[network]
family = "dragonfly"
p = 1
a = 2
h = 1
routing = "minimall"
links = { global = { bandwidth = "4 GB", latency = "100 ns" } }

[[job]]
nodes = 4
colour = "red"
motif = { kind = "halo2d", message = "1 MB" }
"""

#: What other sessions find in their directory.
FILES = {
    "small.toml": SCENARIO,
    "mistakes.toml": MISTAKES,
    "load.toml": """\
title = "Random traffic"

[network]
family = "dragonfly"
p = 1
a = 2
h = 1

[[job]]
name = "all"
nodes = 6
traffic = { pattern = "uniform-random", load = 0.5, message = "4 KiB" }

[simulation]
warmup = "5 us"
duration = "30 us"
""",
    "topology.conf": """\
SwitchName=leaf1 Nodes=n[1-4]
SwitchName=leaf2 Nodes=n[5-8]
SwitchName=top Switches=leaf[1-2]
""",
    # Number, submission, wait, run time, processors …, asked for: processors and time.
    "day.swf": "; MaxNodes: 8\n"
    + "".join(
        f"{n} {300 * n} 60 {run} {nodes} -1 -1 {nodes} {2 * run} -1 1 1 1 1 1 1 -1 -1\n"
        for n, run, nodes in ((1, 3600, 6), (2, 1800, 4), (3, 600, 2), (4, 1200, 8), (5, 300, 1))
    ),
}

#: By the file, what is typed in one directory, in this order.
SESSIONS = {
    "output": (
        "run small.toml --no-plots --out first",
        "run small.toml --no-plots --out second --set network.routing=valiant",
        "topology describe small.toml",
        "verify small.toml",
        "mapping small.toml",
    ),
    "errors": (
        "fly",
        "run",
        "run none.toml",
        "run mistakes.toml",
        "run small.toml --set network.p=0",
        "run small.toml --set job.0.nodes=4000",
        "run small.toml --out small.toml",
        "run small.toml --threads 0",
        "topology draw small.toml --out picture.bmp",
        "report .",
    ),
    # The first hour of someone who learns how networks behave,
    "student": (
        "init first.toml --family fat-tree --nodes 16",
        "run first.toml --no-plots --out first",
        "run first.toml --no-plots --out other --set network.routing=minimal",
        "run first.toml --no-plots --out other --set network.routing=random",
        "compare first other --out compared",
        "sweep small.toml --set network.routing=minimal,valiant --jobs 1 --out swept",
        "ranks first",
        "report first other --out both.html",
    ),
    # of someone who is to design one,
    "architect": (
        "init net.toml --family dragonfly --nodes 4000",
        "topology describe net.toml",
        "topology describe small.toml --cost",
        "verify small.toml",
        "saturation load.toml --jobs 1 --out saturation",
        "design --nodes 16 --radix 8 --traffic stencil --jobs 1 --out design",
        "report saturation design --out both.html",
    ),
    # and of someone who runs a centre.
    "operator": (
        "log describe day.swf",
        "schedule day.swf --no-plots --compare fcfs --out scheduled",
        "machine from-slurm --topology topology.conf --out machine",
        "predict-collective machine/machine.toml --hosts n[1-8] --collective allreduce "
        "--bytes 1MiB --out predicted",
        "interference small.toml --jobs 1 --out interference",
        "report scheduled predicted interference --out all.html",
    ),
}
#: Results of a session that are shown again, on terminals of several widths.
SHOWN = {
    "student": ("first", "compared", "swept"),
    "architect": ("saturation", "design"),
    "operator": ("scheduled", "predicted", "interference"),
}
WIDTHS = (60, 80, 200)


def session(name: str, directory: Path) -> str:
    """The commands of a session with what they print, and exit codes that are not 0."""
    for file, text in FILES.items():
        (directory / file).write_text(text, encoding="utf-8")
    lines: list[tuple[str, int | None]] = [(line, None) for line in SESSIONS[name]]
    lines += [(f"show {shown}", width) for shown in SHOWN.get(name, ()) for width in WIDTHS]
    parts = []
    for line, width in lines:
        with pytest.MonkeyPatch.context() as patch:
            patch.delenv("COLUMNS", raising=False)
            if width is not None:
                patch.setenv("COLUMNS", str(width))
            done = call(*line.split(), directory=directory)
        text = done.stdout + done.stderr
        # The machine's, not the program's: how long it computed, and how fast that was; and how
        # large the library of charts is.
        text = re.sub(r"hops, .* of CPU time \(.*\)", "hops, … of CPU time", text)
        text = re.sub(r"CPU time .*", "CPU time …", text)
        text = re.sub(r"(Report: \S+ )\(.*\)", r"\1(…)", text)
        text = "\n".join(row.rstrip() for row in text.splitlines())
        where = "" if width is None else f"    # {width} columns"
        parts.append(f"$ odonata {line}{where}\n{text}\n")
        if done.returncode:
            parts.append(f"[exit code {done.returncode}]\n")
        parts.append("\n")
    return "".join(parts)


@pytest.mark.parametrize("name", SESSIONS)
def test_commands_print_what_they_did(name: str, tmp_path: Path) -> None:
    expected = (SNAPSHOTS / f"{name}.txt").read_text(encoding="utf-8")
    assert session(name, tmp_path) == expected


if __name__ == "__main__":
    for one in SESSIONS:
        with tempfile.TemporaryDirectory() as name:
            text = session(one, Path(name))
        (SNAPSHOTS / f"{one}.txt").write_text(text, encoding="utf-8")
