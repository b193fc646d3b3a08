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
Results go to a new directory (see [results.md](results.md)). **Nothing is ever overwritten**: a file must not exist yet
and gets its name only once it is complete; a directory must not exist yet or be empty, and is claimed before anything is
simulated. In the directory of a study, of `saturation`, `interference` or `design`, a command continues with what was simulated
there; files that would now show something else are moved to `earlier-1`, `earlier-2` … in it.

All commands have `--help` and `--debug` (show where an error came from), which are left out below. Commands that read a
job log have the options of [`odonata log describe`](#odonata-log-describe).

## Exit codes

| code | meaning |
|---|---|
{codes}

An error is one readable block that says what was found, what is allowed and what to do.

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


#: The command with whose options logs are read; others that have them point to it.
READING_LOGS = "odonata log describe"
READING_OPTIONS = (
    *("--format", "--strict", "--unit", "--processors-per-node", "--columns", "--separator"),
)
#: A call of each command, where its help has none; ``tests/python/test_code_blocks.py`` parses them.
EXAMPLES = {
    "odonata example": "odonata example demo",
    "odonata init": "odonata init first.toml --family fat-tree --nodes 64",
    "odonata run": "odonata run examples/demo.toml --set network.routing=par --out results/par",
    "odonata replay": "odonata replay traces.otf2 --network machine.toml --check",
    "odonata sweep": "odonata sweep examples/demo.toml --set network.routing=minimal,par",
    "odonata show": "odonata show results/demo-1",
    "odonata compare": "odonata compare results/minimal results/par",
    "odonata report": "odonata report results/minimal results/par --out routing.html",
    "odonata ranks": "odonata ranks results/demo-1 --perfetto timeline.json.gz",
    "odonata export": "odonata export results/demo-1 --format dragonview --out tables",
    "odonata saturation": "odonata saturation examples/uniform-load.toml",
    "odonata interference": "odonata interference examples/interference.toml --target stencil",
    "odonata design": "odonata design --nodes 4096 --radix 64 --price switch_port=300 "
    "--price optical_cable=400 --price copper_cable=50",
    "odonata study": "odonata study kaplan2017 --quick --dry-run",
    "odonata verify": "odonata verify examples/demo.toml",
    "odonata topology describe": "odonata topology describe examples/demo.toml --cost",
    "odonata topology bisection": "odonata topology bisection examples/demo.toml --alpha 0.5:4:0.5",
    "odonata topology draw": "odonata topology draw examples/demo.toml --out network.svg",
    "odonata topology export": "odonata topology export examples/demo.toml --out network.graphml",
    "odonata mapping": "odonata mapping examples/demo.toml --compare",
    "odonata trace show": "odonata trace show halo.meta --records 2",
    "odonata schedule": "odonata schedule year.parquet --nodes 4392 --policy easy --order wfp",
    "odonata slurm": "odonata slurm march.txt --conf slurm.conf",
    "odonata log describe": "odonata log describe KTH-SP2-1996-2.1-cln.swf",
    "odonata log convert": "odonata log convert slurm.txt march.parquet",
    "odonata log generate": "odonata log generate synthetic.swf --nodes 4096 --jobs 20000",
    "odonata cluster watch": 'odonata cluster watch b.sqlite --period "60 s"',
    "odonata cluster history": "odonata cluster history b.sqlite --csv",
    "odonata machine from-slurm": "odonata machine from-slurm --topology topology.conf --nodes nodes.txt",
    "odonata machine new": "odonata machine new --network machine/machine.toml --measurements nccl/",
    "odonata cluster failures": "odonata cluster failures machine.toml iblinkinfo.txt sinfo-R.txt "
    "--out today.toml",
    "odonata cluster utilisation": "odonata cluster utilisation --squeue queue.json --nodes 980",
    "odonata cluster show": "odonata cluster show --topology topology.conf --out groups.png",
    "odonata cluster place": "odonata cluster place shadow.sqlite --shadow",
    "odonata cluster submit": "odonata cluster submit --heartbeat heartbeat job.sh",
    "odonata cluster decisions": "odonata cluster decisions place.sqlite --job 4711",
    "odonata cluster slurm-files": "odonata cluster slurm-files files --partition main --heartbeat beat",
    "odonata cluster what-if": 'odonata cluster what-if --policy slurm --policy grap --for "12 h"',
    "odonata cluster probe": "odonata cluster probe probes.sqlite --ranks 16 --dry-run",
    "odonata cluster probes": "odonata cluster probes probes.sqlite --csv",
    "odonata cluster advise": "odonata cluster advise probes.sqlite --watch b.sqlite",
    "odonata control show": "odonata control show plant.toml",
    "odonata control set": "odonata control set plant.toml --job 41 --hosts 'n[0-15]'",
    "odonata control give-back": "odonata control give-back plant.toml 41",
    "odonata control verify": "odonata control verify plant.toml",
    "odonata control recover": "odonata control recover plant.toml",
    "odonata control routes": "odonata control routes plant.toml --by pair",
    "odonata control reroute": "odonata control reroute plant.toml --every '1 s'",
    "odonata control follow": "odonata control follow plant.toml --job 41 --hosts 'n[0-15]' --every '10 s'",
    "odonata tails": "odonata tails probes.csv --column time_us --against b",
    "odonata predict-collective": "odonata predict-collective machine.toml --hosts hosts.txt "
    "--collective allreduce --bytes 8388608",
    "odonata measurements": "odonata measurements folder --out table.csv",
    "odonata calibrate": "odonata calibrate machine.toml --measurements folder --out calibrated.toml",
    "odonata schema": "odonata schema",
    "odonata bench": "odonata bench --nodes 1056 --routing ugal-l --load 0.8 --threads 2",
}


def cli_page() -> str:
    """The page.

    Raises:
        ValueError: If a command has no example, or an example no command.
    """
    codes = "\n".join(f"| {int(code)} | {EXIT_CODES[code]} |" for code in ExitCode)
    parts = [INTRODUCTION.format(codes=codes)]
    found = commands(odonata, "odonata")
    if strange := {path for path, _ in found} ^ set(EXAMPLES):
        raise ValueError(f"commands without examples, or the reverse: {sorted(strange)}")
    reading = {name for path, command in found if path == READING_LOGS for name in _texts(command)}
    for path, command in found:
        context = odonata.context_class(
            command, info_name=path, terminal_width=90, **odonata.context_settings
        )
        shared = reading if path != READING_LOGS else set()
        hidden = {id(one): getattr(one, "hidden", False) for one in command.params}
        command.add_help_option = False
        for one in command.params:
            if isinstance(one, click.Option) and (one.name == "debug" or _text(one) in shared):
                one.hidden = True
        text = command.get_help(context)
        for one in command.params:
            if isinstance(one, click.Option):
                one.hidden = hidden[id(one)]
        command.add_help_option = True
        parts.append(
            f"## {path}\n\n{NOT_RUN}\n```sh\n{EXAMPLES[path]}\n```\n\n```text\n{text}\n```\n"
        )
    return "\n".join(parts)


#: The examples are parsed; the pages that explain the commands run such.
NOT_RUN = "<!-- not run: pages that explain the command run such -->"


def _text(option: click.Option) -> tuple[str, str]:
    """What a user reads of an option."""
    return option.opts[0], option.help or ""


def _texts(command: click.Command) -> set[tuple[str, str]]:
    """The options by which a command reads a log, by what a user reads of them."""
    own = (one for one in command.params if isinstance(one, click.Option))
    return {_text(one) for one in own if one.opts[0] in READING_OPTIONS}


def commands(group: click.Group, path: str) -> list[tuple[str, click.Command]]:
    """The commands of a group and of those in it by what is typed, in the order of the help."""
    found: list[tuple[str, click.Command]] = []
    context = click.Context(group)
    # As they are declared: click would sort them.
    for name in list(group.commands) or group.list_commands(context):
        if getattr(group.commands.get(name), "hidden", False):
            continue
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            found += commands(command, f"{path} {name}")
        else:
            found.append((f"{path} {name}", command))
    return found
