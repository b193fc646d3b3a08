"""Files of a Rust crate import each other in no circle larger than a pair.

A file that can be read without another one is understood without it. Counted are the paths in
``use`` lines and in code that begin with ``crate``, ``super`` or ``self``, of what a build without
tests compiles.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest

CRATES = Path(__file__).resolve().parents[2] / "crates"

Module = tuple[str, ...]

#: A run's partition is generic over the parts that it is compiled for, and each of these acts upon
#: a partition: a larger circle by design. None but these may belong to it.
GENERIC = {
    "sim": {
        "engine/model",
        "engine/partition",
        "engine/partition/forward",
        "engine/partition/losses",
        "engine/partition/view",
        "engine/ranks",
        "engine/routed",
        "engine/scheduler",
        "engine/switch",
    }
}


def modules(root: Path) -> dict[Module, Path]:
    """Files of a crate by the path of their module."""
    found = {}
    for file in root.rglob("*.rs"):
        parts = file.relative_to(root).with_suffix("").parts
        found[parts[:-1] if parts[-1] in ("mod", "lib") else parts] = file
    return found


def paths(text: str) -> Iterator[Module]:
    """Paths within the crate that a file names."""
    text = re.sub(r"//[^\n]*", "", text).partition("#[cfg(test)]\nmod tests")[0]
    for used in re.finditer(r"\buse\s+((?:crate|super|self)[^;]*);", text):
        yield from expanded((), re.sub(r"\s+", "", used[1]))
    for named in re.finditer(r"\b(?:crate|super|self)(?:::\w+)+", text):
        yield tuple(named[0].split("::"))


def expanded(before: Module, tree: str) -> Iterator[Module]:
    """The paths of a tree of ``use``, such as ``a::{b, c::{d, e}}``."""
    depth, start = 0, 0
    for place, letter in enumerate(tree + ","):
        depth += (letter == "{") - (letter == "}")
        if letter != "," or depth:
            continue
        outer, brace, inner = tree[start:place].partition("{")
        path = (*before, *(part for part in outer.split("::") if part))
        if brace:
            yield from expanded(path, inner.removesuffix("}"))
        else:
            yield path
        start = place + 1


def imports(root: Path) -> nx.DiGraph:
    """Which module imports which."""
    known = modules(root)
    graph = nx.DiGraph()
    for module, file in known.items():
        for path in paths(file.read_text(encoding="utf-8")):
            here = [] if path[0] == "crate" else list(module)
            for part in path:
                if part == "super" and here:
                    here.pop()
                elif part not in ("crate", "super", "self"):
                    here.append(part)
            while here and tuple(here) not in known:
                here.pop()
            if here and tuple(here) != module and module:
                graph.add_edge(module, tuple(here))
    return graph


@pytest.mark.parametrize("crate", sorted(path.name for path in CRATES.iterdir()))
def test_no_circle_is_larger_than_a_pair(crate: str) -> None:
    found = nx.strongly_connected_components(imports(CRATES / crate / "src"))
    circles = [{"/".join(module) for module in circle} for circle in found]
    larger = [circle for circle in circles if len(circle) > 2]
    assert [circle for circle in larger if not circle <= GENERIC.get(crate, set())] == []


def test_paths_of_a_tree_of_use() -> None:
    text = "use crate::{a, b::{self, c}};\nfn f() { super::d::e(); }\n// use crate::no;\n"
    assert list(paths(text)) == [
        ("crate", "a"),
        ("crate", "b", "self"),
        ("crate", "b", "c"),
        ("super", "d", "e"),
    ]
