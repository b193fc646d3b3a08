"""What scenarios call by a name is listed once, by the engine."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from odonata import _engine, names
from odonata.motif import Motif
from odonata.network import Network
from odonata.traffic import AnyTraffic
from sources import SOURCES

LISTS: dict[str, list[str]] = {
    one["name"]: [entry["name"] for entry in one["entries"]] for one in _engine.registry()
}

#: Modules that name a part of a list, or what is called alike, and why.
PARTS = {
    "motif.py": "the patterns of an exchange in which every rank sends one message",
    "traffic.py": "the patterns that need no parameter, and those to a group",
    "mapping.py": "node, router, group: where traffic stays, and what a detour goes by way of",
}


def members(union: Any) -> list[type[BaseModel]]:
    """The tables of a union of tagged ones."""
    return [get_args(member)[0] for member in get_args(get_args(union)[0])]


def choices(table: type[BaseModel], key: str) -> tuple[str, ...]:
    """The names that choose a table."""
    return get_args(table.model_fields[key].annotation)


def test_every_list_is_in_the_module_as_it_is_in_the_engine() -> None:
    for name, entries in LISTS.items():
        assert list(getattr(names, name.upper())) == entries
        kind = "".join(word.capitalize() for word in name.split("_"))
        assert list(get_args(getattr(names, kind))) == entries


def test_every_family_and_pattern_has_a_table() -> None:
    families = [name for table in members(Network) for name in choices(table, "family")]
    assert sorted(families) == sorted(names.FAMILY)
    patterns = [name for table in members(AnyTraffic) for name in choices(table, "pattern")]
    assert sorted(patterns) == sorted(names.PATTERN)
    motifs = {name for table in members(Motif) for name in choices(table, "kind")}
    assert motifs >= set(names.APPLICATION)
    # Halo exchanges go by their dimensions, exchanges by their pattern.
    others = set(names.MOTIF) - {"halo", "exchange", "application"}
    assert motifs >= others | {"halo2d", "halo3d", "halo4d"}
    assert motifs - set(names.APPLICATION) - others - {"halo2d", "halo3d", "halo4d"} <= set(
        names.PATTERN
    )


def lists_of_texts(source: Path) -> Iterator[tuple[int, list[str]]]:
    """Literal lists of three texts or more in a module, with their lines."""
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        elements: list[Any] = []
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            elements = node.elts
        texts = [e.value for e in elements if isinstance(e, ast.Constant)]
        if len(texts) == len(elements) > 2 and all(isinstance(text, str) for text in texts):
            yield node.lineno, texts


@pytest.mark.parametrize(
    "source",
    [pytest.param(file, id=name) for name, file in SOURCES.items() if name != "odonata/names.py"],
)
def test_no_module_lists_them_again(source: Path) -> None:
    for line, texts in lists_of_texts(source):
        for name, entries in LISTS.items():
            if source.name in PARTS or len(entries) < 3:
                continue
            whole = set(texts) >= set(entries)
            most = set(texts) <= set(entries) and 2 * len(texts) > len(entries)
            assert not whole and not most, f"line {line} lists {name}: use odonata.names"
