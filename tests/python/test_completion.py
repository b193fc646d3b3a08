"""Completion of the command line, by the shells themselves.

What a shell makes of a line and a tab is what counts: bash and zsh get both in a terminal, fish
says it when asked (``complete --do-complete``). A shell that this machine lacks is skipped by name.
"""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from odonata.cli.changes import complete_change

#: A line, and what is right: commands, subcommands, values of a choice, shipped examples,
#: studies, files and keys of scenarios, each of which is the only one that begins so.
LINES = {
    "odonata sched": "odonata schedule",
    "odonata topology dr": "odonata topology draw",
    "odonata init --family cross": "odonata init --family crossbar",
    "odonata example two": "odonata example two-stencils",
    "odonata study feng": "odonata study feng2023",
    "odonata run my-sc": "odonata run my-scenario.toml",
    "odonata run x.toml --set network.nic.loopback_l": (
        "odonata run x.toml --set network.nic.loopback_latency="
    ),
}

#: How each shell begins without what its user has set up, and takes completion in.
SET_UP = {
    "bash": (
        ["bash", "--noprofile", "--norc", "-i"],
        'eval "$(_ODONATA_COMPLETE=bash_source odonata)"',
    ),
    "zsh": (
        ["zsh", "-f", "-i"],
        "bindkey -e; autoload -Uz compinit; compinit -D -u; "
        'eval "$(_ODONATA_COMPLETE=zsh_source odonata)"',
    ),
}


def environment(directory: Path) -> dict[str, str]:
    """In which ``odonata`` is this Python's, and a user has no settings."""
    program = directory / "bin" / "odonata"
    program.parent.mkdir()
    program.write_text(
        f"#!/bin/sh\nexec {sys.executable} -c 'from odonata.cli import main; main()' \"$@\"\n"
    )
    program.chmod(0o755)
    programs = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": programs, "HOME": str(directory), "TERM": "dumb", "LC_ALL": "C.UTF-8"}


def until(screen: int, expected: str) -> str:
    """What a terminal shows up to an expected text."""
    text = ""
    end = time.monotonic() + 60
    while expected not in text:
        ready, _, _ = select.select([screen], [], [], max(0, end - time.monotonic()))
        assert ready, f"no {expected!r} in {text!r}"
        text += os.read(screen, 65536).decode(errors="replace")
    return text


def completed_in_terminal(shell: str, directory: Path, variables: dict[str, str]) -> list[str]:
    """What a shell in a terminal makes of the lines when tab is pressed at their ends."""
    command, set_up = SET_UP[shell]
    process, screen = pty.fork()
    if process == 0:
        os.chdir(directory)
        os.execvpe(command[0], command, variables)
    found = []
    try:
        # The terminal shows what is typed, too: only the shell makes 1 of $((1)).
        os.write(screen, f"{set_up}; echo _$((0))_\n".encode())
        until(screen, "_0_")
        for line in LINES:
            # What the tab made of the line is printed: control-A and -E go to its two ends.
            os.write(screen, f"{line}\t\x01echo _$((1))_ \x05 _$((2))_\n".encode())
            text = until(screen, "_2_")
            found.append(text.split("_1_")[-1].split("_2_")[0].strip())
    finally:
        os.close(screen)
        os.waitpid(process, 0)
    return found


def completed_by_fish(directory: Path, variables: dict[str, str]) -> list[str]:
    """The lines with what fish proposes for the last word of each."""
    program = "_ODONATA_COMPLETE=fish_source odonata | source\n"
    program += "".join(f"complete --do-complete '{line}'; echo _end_\n" for line in LINES)
    done = subprocess.run(
        ["fish", "--no-config", "--command", program],
        cwd=directory,
        env=variables,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    found = []
    for line, proposals in zip(LINES, done.stdout.split("_end_\n")[:-1], strict=True):
        # A proposal is a word and, behind a tab, what it means.
        words = [proposal.split("\t")[0] for proposal in proposals.splitlines()]
        found.append(" ".join([*line.split()[:-1], *words]))
    return found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes(shell: str, tmp_path: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"needs {shell}")
    (tmp_path / "my-scenario.toml").touch()
    variables = environment(tmp_path)
    if shell == "fish":
        found = completed_by_fish(tmp_path, variables)
    else:
        found = completed_in_terminal(shell, tmp_path, variables)
    assert found == list(LINES.values())


def changes(incomplete: str, scenario: Path | None = None) -> list[str]:
    """What ``--set`` proposes of a scenario."""
    context = click.Context(click.Command("run"))
    context.params["scenario"] = scenario
    option = click.Option(["--set"])
    return [item.value for item in complete_change(context, option, incomplete)]


def test_set_proposes_the_keys_and_names_that_are_declared(tmp_path: Path) -> None:
    assert changes("network.nic.inj") == [
        "network.nic.injection=round-robin",
        "network.nic.injection=fifo",
    ]
    assert changes("network.nic.injection=f") == ["network.nic.injection=fifo"]
    # Keys of all families of networks where none is known, and of the scenario's where it is.
    assert "network.spines=" in changes("network.") and "network.size=" in changes("network.")
    scenario = tmp_path / "torus.toml"
    scenario.write_text('[network]\nfamily = "torus"\n[[job]]\n[[job]]\nmotif.kind = "shift"\n')
    assert changes("network.s", scenario) == ["network.size="]
    assert changes("network.lea", scenario) == []
    assert changes("job.1.motif.o", scenario) == ["job.1.motif.offset="]
    assert changes("job.2.", scenario) == []
    assert changes("netwrok", scenario) == []
    assert "title=" in changes("", tmp_path / "none.toml")


def test_every_command_that_changes_a_scenario_proposes_keys() -> None:
    from odonata.cli.commands import odonata

    options = [
        option
        for command in _commands(odonata, click.Context(odonata))
        for option in command.params
        # The option of `odonata slurm` sets what slurm.conf does.
        if "--set" in option.opts and option.name == "changes"
    ]
    assert len(options) > 10
    for option in options:
        context = click.Context(click.Command("any"))
        proposed = [item.value for item in option.shell_complete(context, "simulation.thr")]
        assert proposed == ["simulation.threads="], option


def _commands(command: click.Command, context: click.Context) -> list[click.Command]:
    """A command and all below it."""
    if not isinstance(command, click.Group):
        return [command]
    inner = (command.get_command(context, name) for name in command.list_commands(context))
    return [one for below in inner if below for one in _commands(below, context)]
