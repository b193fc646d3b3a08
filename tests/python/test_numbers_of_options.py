"""Every option of every command that takes a number refuses what is none, by one way of reading.

Options that were missed would be found here: the commands are walked, not listed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import click
import pytest

from odonata.cli import main
from odonata.cli.commands import COMMANDS, Commands
from odonata.cli.numeric import Number, Whole
from odonata.errors import ExitCode
from odonata.numbers import finite


def _parameters(
    command: click.Command, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Parameter]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _parameters(inner, (*path, name))
    else:
        yield from ((path, parameter) for parameter in command.params)


NUMERIC = [
    (path, parameter)
    for path, parameter in _parameters(Commands())
    if parameter.type.name.startswith(("float", "integer"))
]
WRONG = ["nan", "inf", "-inf", "1e400", "-1e400", "9" * 400, "-" + "9" * 400, "9" * 5000, "x", ""]


def test_all_commands_were_walked() -> None:
    commands = {path[0] for path, _ in _parameters(Commands())}
    assert commands == {*COMMANDS, "cluster", "control", "machine"}
    assert len(NUMERIC) > 50


@pytest.mark.parametrize(
    ("path", "parameter"), NUMERIC, ids=[f"{' '.join(path)} {one.name}" for path, one in NUMERIC]
)
def test_what_is_no_usable_number_is_refused(
    path: tuple[str, ...], parameter: click.Parameter
) -> None:
    assert isinstance(parameter.type, (Number, Whole))
    for text in WRONG:
        with pytest.raises(click.BadParameter):
            parameter.type.convert(text, parameter, None)
    default = parameter.default
    if isinstance(default, (int, float)):
        assert parameter.type.convert(str(default), parameter, None) == default


@pytest.mark.parametrize("text", ["nan", "inf", "-1", "0", "1e300"])
def test_the_error_names_the_option(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["log", "generate", "g.swf", "--nodes", "64", "--jobs", "100"]
    with pytest.raises(SystemExit) as ended:
        main([*arguments, f"--arrivals-factor={text}"])
    assert ended.value.code == ExitCode.USAGE
    error = capsys.readouterr().err
    assert "--arrivals-factor" in error
    assert "allowed" in error or "range" in error


def test_limits_that_the_help_names_hold_and_others_are_far() -> None:
    assert Number().convert("1e6", None, None) == 1e6
    assert Number(None, largest=1e300).convert("-1e300", None, None) == -1e300
    assert Whole(1).convert("1000000000", None, None) == 10**9
    for kind, text in [
        (Number(), "-0.1"),
        (Number(above=True), "0"),
        (Number(0, 1), "1.1"),
        (Number(), "1000001"),
        (Whole(1), "0"),
        (Whole(1, 5), "6"),
        (Whole(None), "-1000000001"),
    ]:
        with pytest.raises(click.BadParameter):
            kind.convert(text, None, None)


def test_numbers_in_texts_are_finite() -> None:
    assert finite(" 1.5e3 ") == 1500
    for text in ("nan", "inf", "-Infinity", "1e400", "", "1,5", "one"):
        with pytest.raises(ValueError, match=r"found|could not"):
            finite(text)
    assert math.isfinite(finite("1e308"))
