"""The command ``odonata``, and how it fails: one readable block and a documented exit code."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version

import click
from rich.markup import escape

from odonata.checkpoint import Terminated
from odonata.cli.bench import bench
from odonata.cli.interference import interference
from odonata.cli.log import log
from odonata.cli.mapping import mapping
from odonata.cli.ranks import ranks
from odonata.cli.replay import replay
from odonata.cli.run import run
from odonata.cli.saturation import saturation
from odonata.cli.schedule import schedule
from odonata.cli.schema import schema
from odonata.cli.shared import debug_option, progress_terminal
from odonata.cli.show import show
from odonata.cli.study import study
from odonata.cli.topology import topology
from odonata.cli.trace import trace
from odonata.cli.verify import verify
from odonata.errors import ExitCode, OdonataError


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with:  odonata run examples/demo.toml",
)
@click.version_option(version("odonata"), prog_name="odonata", message="%(prog)s %(version)s")
@debug_option
def odonata() -> None:
    """Simulates a supercomputer's network packet by packet, with its jobs and their placement."""


COMMANDS = (
    *(run, replay, show, ranks, saturation, interference, study, verify, topology, mapping),
    *(trace, schedule, log, schema, bench),
)
for command in COMMANDS:
    odonata.add_command(command)


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line and exits.

    Args:
        arguments: Instead of the process's own.
    """
    context_debug: dict[str, bool] = {}
    try:
        with odonata.make_context(
            "odonata", list(sys.argv[1:] if arguments is None else arguments)
        ) as context:
            context_debug = context.meta
            odonata.invoke(context)
            sys.stdout.flush()
        code = int(ExitCode.OK)
    except click.exceptions.Exit as error:  # --help, --version
        code = error.exit_code
    except BrokenPipeError:
        # Whoever read our output has seen enough; there is nobody left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = ExitCode.OK
    except BaseException as error:
        if isinstance(error, SystemExit):
            raise
        code = explain(error)
        if context_debug.get("odonata.debug") and not isinstance(error, click.ClickException):
            progress_terminal().print_exception()
    sys.exit(int(code))


def explain(error: BaseException) -> ExitCode:
    """Tells a person on standard error what went wrong.

    Returns:
        What to exit with.
    """
    console = progress_terminal()

    def say(headline: str, message: str) -> None:
        console.print(f"[bold red]{headline}:[/] {escape(message)}", soft_wrap=True)

    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return ExitCode.USAGE
    if isinstance(error, click.UsageError):
        hint = f"\nSee: {error.ctx.command_path} --help" if error.ctx else ""
        say("Error", error.format_message() + hint)
        return ExitCode.USAGE
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        message = str(error) or "stopped by Ctrl-C; nothing was written"
        say("Interrupted", message)
        return ExitCode.TERMINATED if isinstance(error, Terminated) else ExitCode.INTERRUPTED
    if isinstance(error, OdonataError) and error.exit_code is not ExitCode.INTERNAL:
        say("Error", str(error))
        return error.exit_code
    if isinstance(error, MemoryError):
        say("Error", "not enough memory on this machine for a network of this size")
        return ExitCode.SIMULATION
    say(
        "Internal error",
        f"{type(error).__name__}: {error}\n"
        "This is a defect of Odonata. Please report it with the scenario and what the same "
        "command prints with --debug.",
    )
    return ExitCode.INTERNAL
