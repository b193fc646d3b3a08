"""``docs/cli.md`` from the commands' own help and the exit codes."""

from __future__ import annotations

import click

from odonata.cli.commands import odonata
from odonata.errors import ExitCode

INTRODUCTION = """\
# Command line

`make build` leaves the command as `.venv/bin/odonata`.

People read standard output; programs add `--json` and get exactly one JSON object there.
Progress and errors go to standard error; the progress bar is drawn only on a terminal.
Results go to a new directory (see [results.md](results.md)). **Nothing is ever overwritten**, by one rule for every
command that writes. A file must not exist yet; it gets its name only once it is complete. The directory of a run must
not exist yet, or be empty; a command claims it before it simulates anything. So anything that would prevent the results
from being written shows up first, and commands that run at the same time get different directories. In the directory of
a study, of `saturation` or of `interference`, a command continues with what was simulated there; files that would now
show something else are moved to `earlier-1`, `earlier-2` … in the directory. `odonata show` reads all of them.

## Exit codes

| code | meaning |
|---|---|
{codes}

An error is one readable block that says what was found, what is allowed and what to do. `--debug`
adds where in the code it came from.

## Completion

With the following line in its start-up file, the shell completes commands, options, their values, examples, studies,
files, and the keys that `--set` may change (in bash up to the `=`). `odonata` must be on the `PATH`.

| shell | file | line |
|---|---|---|
| bash 4.4 or newer | `~/.bashrc` | `eval "$(_ODONATA_COMPLETE=bash_source odonata)"` |
| zsh | `~/.zshrc` | `eval "$(_ODONATA_COMPLETE=zsh_source odonata)"` |
| fish | `~/.config/fish/completions/odonata.fish` | `_ODONATA_COMPLETE=fish_source odonata \\| source` |
"""

EXIT_CODES = {
    ExitCode.OK: "it worked",
    ExitCode.INTERNAL: "a defect of Odonata itself; please report it",
    ExitCode.USAGE: "wrong usage, or a scenario that cannot be run: unknown key, wrong unit, "
    "missing or broken file, job larger than the machine, …",
    ExitCode.SIMULATION: "the simulation could not be finished: deadlock, a receive whose message is "
    "never sent, not enough memory",
    ExitCode.OUTPUT: "results or output cannot be written (not writable, no space left, or "
    "the name exists already), or cannot be read",
    ExitCode.UNSAFE: "`odonata verify` found that packets could wait for each other forever",
    ExitCode.UNPROVEN: "`odonata verify` ran out of time before it had an answer",
    ExitCode.DEVICE: "a switch did not carry out a command, does not answer, or does not hold the circuits that it "
    "should (`odonata control`)",
    ExitCode.INTERRUPTED: "interrupted with Ctrl-C; nothing was written, except a "
    "[checkpoint](checkpoints.md) if the run writes them",
    ExitCode.TERMINATED: "stopped by SIGTERM after writing a last "
    "[checkpoint](checkpoints.md); without checkpoints SIGTERM ends a run as it ends any program",
}


def cli_page() -> str:
    """The page."""
    codes = "\n".join(f"| {int(code)} | {EXIT_CODES[code]} |" for code in ExitCode)
    parts = [INTRODUCTION.format(codes=codes)]
    for path, command in commands(odonata, "odonata"):
        context = odonata.context_class(
            command, info_name=path, terminal_width=90, **odonata.context_settings
        )
        parts.append(f"## {path}\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


def commands(group: click.Group, path: str) -> list[tuple[str, click.Command]]:
    """The commands of a group and of those in it by what is typed, in the order of the help."""
    found: list[tuple[str, click.Command]] = []
    context = click.Context(group)
    # As they are declared: click would sort them.
    for name in list(group.commands) or group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            found += commands(command, f"{path} {name}")
        else:
            found.append((f"{path} {name}", command))
    return found
