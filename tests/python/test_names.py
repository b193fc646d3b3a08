"""What scenarios call by a name is listed once, by the engine."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from odonata import _engine, names
from odonata.declared import CHOICES
from sources import SOURCES

LISTS: dict[str, list[str]] = {
    one["name"]: [entry["name"] for entry in one["entries"]] for one in _engine.registry()
}

#: Modules that name what is called alike, and why.
PARTS = {"mapping.py": "node, router, group: where traffic stays, and what a detour goes by way of"}


def test_every_list_is_in_the_module_as_it_is_in_the_engine() -> None:
    for name, entries in LISTS.items():
        assert list(getattr(names, name.upper())) == entries
        kind = "".join(word.capitalize() for word in name.split("_"))
        assert list(get_args(getattr(names, kind))) == entries


def test_every_family_and_pattern_has_a_table() -> None:
    families, patterns, motifs = ({*CHOICES[kinds][1]} for kinds in ("Network", "Traffic", "Motif"))
    assert sorted(families) == sorted(names.FAMILY)
    assert sorted(patterns) == sorted(names.PATTERN)
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
    [pytest.param(file, id=name) for name, file in SOURCES.items()],
)
def test_no_module_lists_them_again(source: Path) -> None:
    for line, texts in lists_of_texts(source):
        for name, entries in LISTS.items():
            if source.name in PARTS or len(entries) < 3:
                continue
            whole = set(texts) >= set(entries)
            most = set(texts) <= set(entries) and 2 * len(texts) > len(entries)
            assert not whole and not most, f"line {line} lists {name}: use odonata.names"
