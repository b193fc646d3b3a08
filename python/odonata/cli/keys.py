"""Options of commands that set keys of a scenario."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click

from odonata.cli.numeric import Number, Whole
from odonata.cli.options import Command


@dataclass(frozen=True)
class KeyOption:
    """An option that sets a key.

    Attributes:
        option: Such as ``--policy``.
        key: Its key, such as ``schedule.policy``.
        kind: What its value is. A flag that is ``off`` sets false; ``texts`` may be given several
            times; ``words`` are separated by commas; ``window`` is a list of tables, each
            ``START..END,NODES,USER,…``, or ``START..[END],NODES`` for outages.
        help: What it does.
        metavar: What stands for the value in the help.
        choices: Names that it takes.
        least: Smallest number.
        levels: Kinds of a table that have the key; all if none.
    """

    option: str
    key: str
    kind: Literal["flag", "off", "whole", "number", "text", "texts", "words", "file", "window"]
    help: str
    metavar: str | None = None
    choices: Sequence[str] = ()
    least: int | None = None
    levels: Sequence[str] = ()

    @property
    def parameter(self) -> str:
        """By which the command gets its value."""
        return re.sub(r"\W", "_", self.key)

    def add_to(self, command: Command) -> Command:
        """Adds the option."""
        more: dict[str, Any] = {"help": self.help, "metavar": self.metavar}
        if self.kind in ("flag", "off"):
            more = {"help": self.help, "is_flag": True, "default": None}
        elif self.choices:
            more["type"] = click.Choice(list(self.choices))
        elif self.kind == "whole":
            more["type"] = Whole(self.least)
        elif self.kind == "number":
            more["type"] = Number(None, largest=1e300)
        elif self.kind == "file":
            more["type"] = click.Path(path_type=Path, exists=True, dir_okay=False)
        more["multiple"] = self.kind in ("texts", "window")
        return click.option(self.option, self.parameter, **more)(command)

    def value(self, given: Any) -> Any:
        """The key's value, of what the command got.

        Raises:
            JobLogError: If it is a window and none.
        """
        if self.kind == "off":
            return not given
        if self.kind == "words":
            return [word.strip() for word in given.split(",")]
        if self.kind == "texts":
            return list(given)
        if self.kind == "window":
            from odonata.batch.options import outage_keys, window_keys

            if self.key.endswith(".outage"):
                return [outage_keys(text, self.option) for text in given]
            has_users = "USER" in (self.metavar or "")
            return [window_keys(text, self.option, has_users=has_users) for text in given]
        return str(given) if self.kind == "file" else given


def key_options(command: Command, options: Sequence[KeyOption]) -> Command:
    """Adds options to a command, in their order."""
    for option in reversed(options):
        command = option.add_to(command)
    return command


def keys_given(options: Sequence[KeyOption], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the options that were given, by the last part of their keys."""
    return {one.key.rpartition(".")[2]: value for one, value in given_options(options, values)}


def given_options(
    options: Sequence[KeyOption], values: Mapping[str, Any]
) -> list[tuple[KeyOption, Any]]:
    """The options that were given, each with its key's value.

    Args:
        options: All.
        values: What the command got, by the options' parameters.
    """
    found = [(option, values[option.parameter]) for option in options]
    return [(option, option.value(one)) for option, one in found if one not in (None, ())]
