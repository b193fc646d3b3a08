"""What people see of common commands and mistakes, word for word, in files of ``snapshots/``.

A change there is one that users notice: look at the difference, then write the files anew by
``.venv/bin/python tests/python/test_snapshots.py``. Figures in them are held by other tests.
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
}


def session(name: str, directory: Path) -> str:
    """The commands of a session with what they print, and exit codes that are not 0."""
    (directory / "small.toml").write_text(SCENARIO, encoding="utf-8")
    (directory / "mistakes.toml").write_text(MISTAKES, encoding="utf-8")
    parts = []
    for line in SESSIONS[name]:
        done = call(*line.split(), directory=directory)
        text = done.stdout + done.stderr
        # The machine's, not the program's: how long it computed, and how fast that was.
        text = re.sub(r"hops, .* of computing \(.*\)", "hops, … of computing", text)
        text = "\n".join(row.rstrip() for row in text.splitlines())
        parts.append(f"$ odonata {line}\n{text}\n")
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
