"""The packages of the repository depend on each other one way: studies → live → odonata."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: Each with those that it may import.
PACKAGES = {
    "python/odonata": {"odonata"},
    "live/odonata_live": {"odonata", "odonata_live"},
    "studies/odonata_studies": {"odonata", "odonata_live", "odonata_studies"},
}


def imported(source: str) -> Iterator[str]:
    """The names that a module imports, with their modules."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{one.name}" for one in node.names)


def test_no_package_imports_one_that_is_built_on_it() -> None:
    for place, allowed in PACKAGES.items():
        found = {
            name.split(".")[0]
            for file in (ROOT / place).rglob("*.py")
            for name in imported(file.read_text(encoding="utf-8"))
        }
        ours = {name for name in found if name.startswith("odonata")}
        assert ours <= allowed, place
        assert "odonata" in ours


def test_other_packages_take_no_private_name() -> None:
    """But for the engine's functions, which are private to all of our packages together."""
    for place in list(PACKAGES)[1:]:
        for file in (ROOT / place).rglob("*.py"):
            for name in imported(file.read_text(encoding="utf-8")):
                private = [part for part in name.split(".") if part.startswith("_")]
                if name.startswith("odonata.") and private != ["_engine"]:
                    assert private == [], f"{file.name}: {name}"


def test_such_imports_would_be_found() -> None:
    source = "import odonata_live.cluster\nfrom odonata.study import _private\n"
    assert list(imported(source)) == ["odonata_live.cluster", "odonata.study._private"]
