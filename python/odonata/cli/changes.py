"""Completion of ``--set KEY=VALUE``: keys and names that scenarios have, by their JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem


def complete_change(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Changes of a scenario that begin so, for a shell that completes them.

    Where the command names a scenario that can be read, its own keys, such as those of its family
    of networks; else those of all.
    """
    from click.shell_completion import CompletionItem

    from odonata.scenario.keys import changes_from

    words = changes_from(_given(ctx.params), incomplete.partition("=")[0])
    return [CompletionItem(word) for word in dict.fromkeys(words) if word.startswith(incomplete)]


def _given(arguments: Mapping[str, Any]) -> Any:
    """The tables of the scenario, or machine, that a command names; nothing if it is none."""
    from odonata.errors import ScenarioError
    from odonata.scenario.toml_source import parse_toml, read_text

    file = arguments.get("scenario") or arguments.get("machine")
    if not isinstance(file, (str, Path)):
        return None
    try:
        return parse_toml(read_text(file))
    except ScenarioError:
        return None
