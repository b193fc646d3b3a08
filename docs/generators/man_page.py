"""The man page ``odonata.1`` from the commands' own help and the exit codes."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import click

from generators.cli_page import EXIT_CODES, commands
from odonata.cli.commands import odonata
from odonata.errors import ExitCode

ABOUT = (
    "Odonata simulates the network of a supercomputer packet by packet, together with the "
    "applications that run on it and the nodes that they are given. A scenario, a text file in "
    "TOML, says how the network is wired, how packets are routed, and which jobs send what; a run leaves "
    "tables, pictures and a summary in a directory of its own. Nothing is ever overwritten."
)

FIRST_STEPS = {
    "odonata example demo": "copies a first scenario out of the installed package;",
    "odonata run demo.toml": "simulates it, and prints where tables and pictures are;",
    "odonata run demo.toml --set network.routing=par": "the same with adaptive routing;",
    "odonata report results/demo-1": "makes one HTML file of the result to pass on.",
}

ENVIRONMENT = {
    "NO_COLOR": "If it is set, messages have no colours.",
    "_ODONATA_COMPLETE": "Set to bash_source, zsh_source or fish_source it makes the command print "
    "the shell's completion script.",
}


def man_page(root: Path) -> str:
    """The page, as roff.

    Args:
        root: The repository, for the version of the package.
    """
    found = re.search(r'^version = "(.+)"', (root / "Cargo.toml").read_text(), flags=re.M)
    assert found
    parts = [
        '.\\" Written by docs/generate.py.',
        f'.TH ODONATA 1 "" "Odonata {found[1]}" "User Commands"',
        ".SH NAME",
        "odonata \\- simulate a supercomputer's network, its jobs and their placement together",
        ".SH SYNOPSIS",
        ".B odonata",
        "[\\fIOPTIONS\\fR] \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]",
        ".SH DESCRIPTION",
        _text(ABOUT),
        ".PP",
        _text(
            "People read standard output; programs add --json and get exactly one JSON object "
            "there. Progress and errors go to standard error."
        ),
        ".SH OPTIONS",
        "Every command has \\-\\-debug and \\-\\-help, too.",
        *_options(odonata, "odonata"),
        ".SH COMMANDS",
    ]
    for path, command in commands(odonata, "odonata"):
        parts += _command(path, command)
    parts += [".SH EXIT STATUS"]
    for code in ExitCode:
        what = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", EXIT_CODES[code]).replace("`", "")
        parts += [".TP", f".B {int(code)}", _text(what)]
    parts += [".SH ENVIRONMENT"]
    for name, what in ENVIRONMENT.items():
        parts += [".TP", f".B {name}", _text(what)]
    parts += [".SH EXAMPLES"]
    for line, what in FIRST_STEPS.items():
        parts += [".TP", f".B {_escaped(line)}", _text(what)]
    return "\n".join(parts) + "\n"


def _command(path: str, command: click.Command) -> list[str]:
    context = click.Context(command, info_name=path, **odonata.context_settings)
    usage = " ".join(command.collect_usage_pieces(context))
    parts = [f".SS {_escaped(path)} {_escaped(usage)}"]
    paragraphs = inspect.cleandoc(command.help or "").split("\f")[0].split("\n\n")
    for number, paragraph in enumerate(paragraphs):
        # A backspace keeps the lines of a paragraph as they are.
        if paragraph.startswith("\b"):
            lines = [_text(line) for line in paragraph.split("\n")[1:]]
            parts += [".PP", ".nf", *lines, ".fi"]
        else:
            parts += [".PP"] * (number > 0) + [_text(paragraph)]
    return parts + _options(command, path, but=("--debug", "-h, --help"))


def _options(command: click.Command, path: str, but: tuple[str, ...] = ()) -> list[str]:
    """The options, but those that all commands have."""
    context = click.Context(command, info_name=path, **odonata.context_settings)
    parts = []
    for parameter in command.get_params(context):
        name, about = parameter.get_help_record(context) or ("", "")
        # Arguments have a record, too, with nothing in it that the synopsis does not say.
        if about and name not in but:
            parts += [".TP", f".B {_escaped(name)}", _text(about)]
    return parts


def _text(text: str) -> str:
    """A paragraph in a line, which roff fills."""
    line = _escaped(" ".join(text.split()))
    # A line that begins with a dot or an apostrophe is a request.
    return f"\\&{line}" if line[:1] in (".", "'") else line


def _escaped(text: str) -> str:
    """Text as roff takes it: a backslash is its escape, a plain hyphen would become a dash."""
    return text.replace("\\", "\\e").replace("-", "\\-")
