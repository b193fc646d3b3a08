r"""Terminals: all that is printed goes through here, and no text of others is a command to them.

Titles, names of jobs, switches and hosts, and whatever errors quote come from files, from Slurm and
from other users. What a terminal would take for a command is printed as Python writes it: `\x1b`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cache
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment
    from rich.text import Text

#: Control characters but for tabs and ends of lines, and what lets text run the other way.
_COMMANDS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
)


def clean(text: str) -> str:
    """The text, with what a terminal would take for a command in letters."""
    return _COMMANDS.sub(_escaped_letter, text)


def _escaped_letter(found: re.Match[str]) -> str:
    number = ord(found[0])
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}"


def clean_json(text: str) -> str:
    """JSON with the same characters escaped as JSON does it: it means what it did."""
    return _COMMANDS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def say(text: object, *, err: bool = False) -> None:
    """Prints a line, on standard output or standard error."""
    import click

    click.echo(clean(str(text)), err=err)


def say_error(headline: str, message: str) -> None:
    """Prints what went wrong on standard error.

    By click: rich would double the time that a wrong option takes.
    """
    import click

    colour = False if os.environ.get("NO_COLOR") else None
    headline = click.style(f"{headline}:", fg="red", bold=True)
    click.echo(f"{headline} {clean(message)}", err=True, color=colour)


class CleanWriter:
    """A file for rows of CSV that may be a terminal."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        """Writes rows."""
        # Ends of lines of CSV are `\r\n`.
        return self._file.write("\r\n".join(map(clean, text.split("\r\n"))))


def terminal(*, stderr: bool = False) -> Console:
    """Standard output, or standard error, for people."""
    console: Console = _kind()(stderr=stderr, highlight=False, emoji=False)
    return console


def has_edge(console: Console) -> bool:
    """Whether its lines have an end: those of a pipe are as long as they need to be."""
    return console.is_terminal or "COLUMNS" in os.environ


@cache
def _kind() -> Any:
    from rich.console import Console
    from rich.segment import Segment

    class Terminal(Console):
        def on_broken_pipe(self) -> None:
            # Its own way is to exit with 1.
            raise BrokenPipeError

        def print(self, *objects: Any, crop: bool = False, **options: Any) -> None:
            # What is wider than the terminal is for the terminal to wrap: nothing is cut.
            super().print(*objects, crop=crop, **options)

        def render_str(self, text: str, **options: Any) -> Text:
            # Before anything is laid out.
            return super().render_str(clean(text), **options)

        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            # What did not come as a string; commands of rich's own are apart.
            for segment in super().render(renderable, options):
                # A line that is to be overwritten ends so; text itself never holds it here.
                if segment.control is None and segment.text != "\r":
                    segment = Segment(clean(segment.text), segment.style)
                yield segment

    return Terminal
