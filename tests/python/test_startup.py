"""What the command line and the package load before anything is asked of them.

Counted in modules: a clock would tell more of the machine than of the program.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

#: Each of them, or what it pulls in, takes a tenth of a second or more.
HEAVY = {
    *("matplotlib", "numpy", "pandas", "polars", "pyarrow"),
    *("scipy", "networkx", "bokeh", "distributed", "rich"),
}

#: Runs the command line and prints what it had imported, whichever way it ends.
PROGRAM = """
import json, sys
from odonata.cli import main
try:
    main(sys.argv[1:])
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def loaded(program: str, *arguments: str) -> tuple[int, set[str]]:
    """Exit code of a program in a fresh interpreter, and the modules that it imported."""
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False
    )
    modules = set(json.loads(done.stderr.splitlines()[-1]))
    return done.returncode, modules


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--help"], 0),
        (["--version"], 0),
        (["run", "--help"], 0),
        (["topology", "draw", "--help"], 0),
        (["schedule", "--help"], 0),
        (["fly"], 2),
        (["run"], 2),
        (["run", "small.toml", "--colour"], 2),
        (["run", "small.toml", "--threads", "0"], 2),
        (["bench", "--nodes", "0"], 2),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_help_and_wrong_arguments_load_nothing_heavy(arguments: list[str], code: int) -> None:
    returned, modules = loaded(PROGRAM, *arguments)
    assert returned == code
    assert "odonata.cli.commands" in modules
    assert not modules & HEAVY


@pytest.mark.parametrize(
    "arguments", [("run", "demo.toml"), ("schedule", "schedule.toml")], ids=" ".join
)
def test_commands_make_their_tables_without_pandas(
    arguments: tuple[str, str], tmp_path: Path
) -> None:
    """pyarrow would import it, which takes 0.4 s of processor time."""
    command, name = arguments
    scenario = Path(__file__).resolve().parents[2] / "examples" / name
    code, modules = loaded(PROGRAM, command, str(scenario), "--out", str(tmp_path / "out"))
    assert code == 0
    assert "pyarrow" in modules
    assert "pandas" not in modules
    # Nor with what takes 40 and 30 ms of a short run, and is of no use to it.
    if command == "run":
        assert not modules & {"pyarrow.compute", "importlib.metadata", "matplotlib.pyplot"}
        code, modules = loaded(PROGRAM, "show", str(tmp_path / "out"))
        assert (code, modules & {"pandas", "pyarrow.compute", "matplotlib"}) == (0, set())
    assert not {name for name in modules if name.startswith("odonata_live")}


def test_a_command_loads_no_other_command() -> None:
    _, modules = loaded(PROGRAM, "verify", "--help")
    others = {name for name in modules if name.startswith("odonata.cli.")}
    assert others == {
        *("odonata.cli.commands", "odonata.cli.numeric", "odonata.cli.options"),
        *("odonata.cli.shared", "odonata.cli.streams", "odonata.cli.verify"),
    }
    # Nor does it look for commands of other packages.
    assert not modules & {"odonata.installed", "importlib.metadata", "odonata_live"}


def test_the_package_loads_nothing_heavy_until_it_is_used() -> None:
    program = """
import json, sys
import odonata
print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""
    code, modules = loaded(program)
    assert code == 0
    assert not modules & HEAVY


def test_every_public_name_is_there_and_listed() -> None:
    import odonata

    for name in odonata.__all__:
        assert getattr(odonata, name) is not None
    assert set(odonata.__all__) <= set(dir(odonata))
    with pytest.raises(AttributeError, match="no attribute 'runn'"):
        odonata.runn  # noqa: B018


def test_every_listed_command_exists() -> None:
    import click

    from odonata.cli.commands import COMMANDS, odonata

    context = click.Context(odonata)
    listed = odonata.list_commands(context)
    # Those of the live side, which entry points name, stand among ours.
    live = ["cluster", "control", "machine"]
    assert listed[listed.index("log") :][:5] == ["log", *live, "tails"]
    assert [name for name in listed if name not in live] == list(COMMANDS)
    for name in listed:
        command = odonata.get_command(context, name)
        assert command is not None
        assert command.name == name
    assert odonata.get_command(context, "main") is None


# --- Completion ---------------------------------------------------------------------------

COMMAND_LINE = "from odonata.cli import main; main()"


def asked(instruction: str, **words: str) -> str:
    """What the command line answers to a shell."""
    done = subprocess.run(
        [sys.executable, "-c", COMMAND_LINE],
        env={**os.environ, "_ODONATA_COMPLETE": instruction, **words},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_its_script(shell: str) -> None:
    script = asked(f"{shell}_source")
    assert f"{shell}_complete" in script
    assert "odonata" in script
    assert "Usage:" not in script


@pytest.mark.parametrize(
    ("line", "word", "expected"),
    [
        ("odonata sat", 1, {"saturation"}),
        ("odonata clu", 1, {"cluster"}),
        ("odonata control r", 2, {"recover", "reroute", "routes"}),
        ("odonata to", 1, {"topology"}),
        ("odonata topology d", 2, {"describe", "draw"}),
        ("odonata topology export x.toml --format g", 5, {"graphml", "gexf"}),
        ("odonata run x.toml --no", 3, {"--no-plots"}),
    ],
)
def test_words_are_completed(line: str, word: int, expected: set[str]) -> None:
    answer = asked("bash_complete", COMP_WORDS=line, COMP_CWORD=str(word))
    assert {one.split(",")[1] for one in answer.splitlines()} == expected


def test_completion_loads_nothing_heavy() -> None:
    program = PROGRAM.replace("main(sys.argv[1:])", "main()")
    os.environ |= (
        words := {
            "_ODONATA_COMPLETE": "bash_complete",
            "COMP_WORDS": "odonata run --t",
            "COMP_CWORD": "2",
        }
    )
    try:
        _, modules = loaded(program)
    finally:
        for name in words:
            del os.environ[name]
    assert not modules & HEAVY


def test_bash_itself_completes(tmp_path: Path) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    command = tmp_path / "odonata"
    command.write_text(f"#!{sys.executable}\n{COMMAND_LINE}\n")
    command.chmod(0o755)
    done = subprocess.run(
        [
            bash,
            "--norc",
            "-c",
            'eval "$(_ODONATA_COMPLETE=bash_source odonata)"; COMP_WORDS=(odonata interf); '
            'COMP_CWORD=1; _odonata_completion odonata; echo "${COMPREPLY[@]}"',
        ],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["interference"], done.stderr
