"""Output that is closed, full or of few letters; Ctrl-C at any time; files with no scenario."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from command import call
from odonata.errors import ExitCode

COMMAND = Path(sys.executable).with_name("odonata")
SCENARIO = """\
title = "Größe — 3 µs ≤ α"
[network]
family = "dragonfly"
p = 1
a = 2
h = 1
[[job]]
name = "ränge"
nodes = 3
motif = { kind = "all-to-all", message = "1 KiB" }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.toml").write_text(SCENARIO, encoding="utf-8")
    return tmp_path


def shell(folder: Path, text: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", text],
        cwd=folder,
        env={**os.environ, **environment, "O": str(COMMAND)},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=300,
    )


@pytest.mark.parametrize(
    ("redirection", "code"),
    [
        ("| head -c 1; exit ${PIPESTATUS[0]}", ExitCode.OK),
        (">&-", ExitCode.OK),
        ("2>&-", ExitCode.OK),
        ("<&-", ExitCode.OK),
        ("> /dev/full", ExitCode.OUTPUT),
    ],
)
@pytest.mark.parametrize("options", ["", "--json"])
def test_where_the_output_goes(folder: Path, redirection: str, code: int, options: str) -> None:
    found = shell(folder, f"$O run s.toml --no-plots --out out {options} {redirection}")
    assert found.returncode == code, found.stderr
    assert "Traceback" not in found.stderr
    assert "Internal error" not in found.stderr
    if code:
        assert "standard output cannot be written: no space left" in found.stderr
    # The result is there in any case, and no output in one of its files.
    shown = call("show", "out", "--json", directory=folder)
    assert json.loads(shown.stdout)["jobs"][0]["name"] == "ränge"


@pytest.mark.parametrize(
    "environment",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1"},
    ],
)
def test_letters_that_the_output_lacks(folder: Path, environment: dict[str, str]) -> None:
    # Pictures are drawn in the letters of their fonts; what they are called is up to the locale.
    pictures = "" if "LC_ALL" in environment else "--no-plots"
    found = shell(folder, f"$O run s.toml --out out {pictures}", **environment)
    assert (found.returncode, found.stderr) == (ExitCode.OK, "")
    if environment != {"PYTHONIOENCODING": "latin-1"}:
        assert "us <= alpha" in found.stdout
    report = shell(folder, "$O show out --json", **environment)
    assert json.loads(report.stdout)["jobs"][0]["name"] == "ränge"
    wrong = shell(folder, "$O run s.toml --set job.0.nodes=µ", **environment)
    assert wrong.returncode == ExitCode.USAGE
    assert "Traceback" not in wrong.stderr


def test_help_into_a_full_disk(folder: Path) -> None:
    for arguments in ("--help", "--version", "run --help", "schema"):
        found = shell(folder, f"$O {arguments} > /dev/full")
        assert found.returncode == ExitCode.OUTPUT, arguments
        assert "no space left" in found.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"x = " + b"[" * 5000 + b"]" * 5000, "is nested too deeply"),
        (b"seed = " + b"9" * 5000, "number overflowed"),
        ("title = 'a'".encode("utf-16"), "is text in UTF-16"),
        (b"title = '\xff'", "is not UTF-8"),
        (b"", "network: missing"),
    ],
)
def test_files_that_are_no_scenarios(folder: Path, text: bytes, words: str) -> None:
    (folder / "bad.toml").write_bytes(text)
    found = call("run", "bad.toml", directory=folder)
    assert found.returncode == ExitCode.USAGE, found.stderr
    assert found.stderr.startswith("Error: bad.toml: ")
    assert words in found.stderr
    assert not (folder / "results").exists()


def test_values_that_are_no_values(folder: Path) -> None:
    for value in ("9" * 5000, "[" * 5000 + "]" * 5000):
        found = call("run", "s.toml", "--set", f"seed={value}", directory=folder)
        assert found.returncode == ExitCode.USAGE
        assert "Internal error" not in found.stderr
        assert "seed: found" in found.stderr


def test_deeply_nested_phases_are_an_error(folder: Path) -> None:
    depth = 60
    inner = '{ kind = "all-to-all", message = "1 KiB" }'
    for _ in range(depth):
        inner = f"{{ repeat = 1, phases = [{inner}] }}"
    (folder / "deep.toml").write_text(
        SCENARIO.replace(
            '{ kind = "all-to-all", message = "1 KiB" }',
            f'{{ kind = "phases", phases = [{inner}] }}',
        )
    )
    found = call("run", "deep.toml", "--no-plots", directory=folder)
    assert found.returncode in (ExitCode.OK, ExitCode.USAGE), found.stderr
    assert "Traceback" not in found.stderr


def test_a_byte_order_mark_is_no_fault(folder: Path) -> None:
    (folder / "s.toml").write_bytes(b"\xef\xbb\xbf" + SCENARIO.encode())
    found = call("run", "s.toml", "--no-plots", "--quiet", directory=folder)
    assert (found.returncode, found.stderr) == (ExitCode.OK, "")


def test_ctrl_c_in_a_callback_of_python_is_not_lost(folder: Path) -> None:
    """Python drops exceptions of a callback of a weak reference, as imports have them."""
    script = (
        "import signal, sys, weakref\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "sys.argv = ['odonata', 'run', 's.toml', '--set', 'job.0.motif.iterations=100000000']\n"
        "from odonata.cli import commands, main\n"
        "class Thing: pass\n"
        "run = commands.run\n"
        "def interrupted(arguments, begin, answer):\n"
        "    def begun():\n"
        "        begin()\n"
        "        thing = Thing()\n"
        "        dropped = weakref.ref(thing, lambda _: signal.getsignal(signal.SIGINT)(2, None))\n"
        "        del thing\n"
        "    run(arguments, begun, answer)\n"
        "commands.run = interrupted\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == ExitCode.INTERRUPTED, done.stderr
    assert done.stderr.startswith("Interrupted: stopped")


def test_ctrl_c_at_any_time_ends_with_its_code(folder: Path) -> None:
    """From the first moment that is ours on, imports included."""
    script = (
        "import signal, sys\n"
        # Shells start background jobs with interrupts ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "sys.argv = ['odonata', 'run', 's.toml', '--set', 'job.0.motif.iterations=100000000']\n"
        "from odonata.cli import main\n"
        "install = signal.signal\n"
        "def told(number, handler):\n"
        "    install(number, handler)\n"
        "    print('begun', flush=True)\n"
        "signal.signal = told\n"
        "main()\n"
    )
    for delay in (0.0, 0.2, 1.0):
        process = subprocess.Popen(
            [sys.executable, "-c", script],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=120)
        assert process.returncode == ExitCode.INTERRUPTED, error
        assert error.startswith("Interrupted: stopped")
        assert not list(folder.glob("results/*"))
