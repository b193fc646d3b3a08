"""The command ``odonata``, and how it fails: one readable block and a documented exit code."""

from __future__ import annotations

import errno
import importlib
import os
import sys
from collections.abc import Callable, Sequence

import click

from odonata.cli.shared import DebugGroup, progress_terminal
from odonata.cli.streams import close_streams, flush, prepare_streams
from odonata.errors import ExitCode, OdonataError, Terminated
from odonata.output import reason
from odonata.terminal import say_error

#: What the system says where there is no room, or nothing may be written.
_CANNOT_WRITE = (
    *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO, errno.EACCES, errno.EPERM),
)

#: In the order of ``--help``. Each is a function of its name in a module of its name.
COMMANDS = (
    *("example", "init"),
    *("run", "replay", "sweep", "show", "compare", "report", "ranks", "export", "saturation"),
    *("interference", "study", "design", "verify"),
    *("topology", "mapping", "trace", "schedule", "slurm", "log", "tails"),
    *("predict-collective", "measurements", "calibrate"),
    *("schema", "bench"),
)
#: Entry points by which other packages add commands: each leads to one of its name.
GROUP = "odonata.commands"
#: Before which of ours ``--help`` lists them.
OTHERS_BEFORE = "tails"

#: By which a shell asks for its script of completion (``bash_source``), and this for words.
COMPLETION = "_ODONATA_COMPLETE"


class Commands(DebugGroup):
    """The commands, each imported when it is called or its help is printed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of ``--help``."""
        from odonata.installed import installed

        others = sorted(installed(GROUP).keys() - set(COMMANDS))
        place = COMMANDS.index(OTHERS_BEFORE)
        return [*COMMANDS[:place], *others, *COMMANDS[place:]]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name, or ``None`` if there is none."""
        command: click.Command
        if cmd_name in COMMANDS:
            name = cmd_name.replace("-", "_")
            module = importlib.import_module(f"odonata.cli.{name}")
            command = getattr(module, name)
            return command
        from odonata.installed import installed, load

        point = installed(GROUP).get(cmd_name)
        if point is None:
            return None
        command = load(point, "command")
        return command


@click.group(
    cls=Commands,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 100,
        "show_default": True,
    },
    epilog="Start with:  odonata example demo, and then  odonata run demo.toml",
)
@click.version_option(package_name="odonata", prog_name="odonata", message="%(prog)s %(version)s")
def odonata() -> None:
    """Simulates a supercomputer's network packet by packet, with its jobs and their placement."""


def run(arguments: list[str] | None, begin: Callable[[], None], interrupts: Sequence[int]) -> None:
    """Runs the command line and exits.

    Args:
        arguments: Instead of the process's own.
        begin: Is called as soon as an interruption is reported.
        interrupts: Ctrl-C that came since.
    """
    asked = os.environ.get(COMPLETION)
    if asked:
        from click.shell_completion import shell_complete

        sys.exit(shell_complete(odonata, {}, "odonata", COMPLETION, asked))
    context_debug: dict[str, bool] = {}
    try:
        begin()
        prepare_streams()
        with odonata.make_context(
            "odonata", list(sys.argv[1:] if arguments is None else arguments)
        ) as context:
            context_debug = context.meta
            odonata.invoke(context)
            flush()
        code = int(ExitCode.OK)
    except click.exceptions.Exit as error:  # --help, --version
        code = error.exit_code
    except BrokenPipeError:
        # The reader of our output has closed it; there is nobody left to write for.
        code = ExitCode.OK
    except SystemExit:
        raise
    except BaseException as error:
        code = explain(_interruption(error, interrupts))
        if context_debug.get("odonata.debug") and not isinstance(error, click.ClickException):
            progress_terminal().print_exception()
    code = close_streams(int(code))
    sys.exit(code)


def _interruption(error: BaseException, interrupts: Sequence[int]) -> BaseException:
    """The error, or the interruption that it came from: an import makes another one of it."""
    expected = isinstance(error, (OdonataError, click.ClickException, KeyboardInterrupt))
    return KeyboardInterrupt() if interrupts and not expected else error


def explain(error: BaseException) -> ExitCode:
    """Tells a person on standard error what went wrong.

    Returns:
        What to exit with.
    """
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return ExitCode.USAGE
    if isinstance(error, click.UsageError):
        hint = f"\nSee: {error.ctx.command_path} --help" if error.ctx else ""
        say_error("Error", error.format_message() + hint)
        return ExitCode.USAGE
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        message = str(error) or "stopped by Ctrl-C; nothing was written"
        say_error("Interrupted", message)
        return ExitCode.TERMINATED if isinstance(error, Terminated) else ExitCode.INTERRUPTED
    if isinstance(error, OdonataError) and error.exit_code is not ExitCode.INTERNAL:
        say_error("Error", str(error))
        return error.exit_code
    if isinstance(error, OSError) and error.errno in _CANNOT_WRITE:
        what = error.filename or "standard output"
        say_error("Error", f"{what} cannot be written: {reason(error)}")
        return ExitCode.OUTPUT
    if isinstance(error, MemoryError):
        say_error(
            "Error", "not enough memory on this machine for what the command reads or simulates"
        )
        return ExitCode.SIMULATION
    say_error(
        "Internal error",
        f"{type(error).__name__}: {error}\n"
        "This is a defect of Odonata. Please report it with the scenario and what the same "
        "command prints with --debug.",
    )
    return ExitCode.INTERNAL
