"""The documentation agrees with the code."""

import re
import runpy
from pathlib import Path

import pytest

from odonata import Scenario

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    *(ROOT / name / "README.md" for name in ("python", "live")),
    *sorted((ROOT / "studies").rglob("*.md")),
    ROOT / "examples" / "README.md",
]


def test_generated_pages_are_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    stale = runpy.run_path(str(ROOT / "docs" / "generate.py"))["out_of_date"]()
    assert stale == [], "run: make docs"


@pytest.mark.parametrize(
    "example", sorted((ROOT / "examples").glob("*.toml")), ids=lambda p: p.stem
)
def test_examples_are_valid_and_listed(example: Path) -> None:
    assert Scenario.from_file(example).title
    assert f"({example.name})" in (ROOT / "examples" / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_routing_algorithm_of_the_page_is_the_one_that_is_tested() -> None:
    page = (ROOT / "docs" / "add-a-routing-algorithm.md").read_text(encoding="utf-8")
    source = (ROOT / "crates/sim/tests/engine/own_routing.rs").read_text(encoding="utf-8")
    blocks = re.findall(r"```rust\n(.*?)```", page, flags=re.S)
    parts = re.findall(r"// \[\w+\]\n(.*?)// \[end\]", source, flags=re.S)
    assert [block.strip() for block in blocks] == [part.strip() for part in parts]


def test_what_the_table_of_places_names_is_there() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.split("## Where to find what\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\|[^|]*\| (`.*?) \|([^|]*)\|$", table, flags=re.M)
    assert len(rows) > 15
    for files, names in rows:
        first, *others = re.findall(r"`([^`]+)`", files)
        directory = first if first.endswith("/") else str(Path(first).parent)
        named = [ROOT / directory / other for other in others]
        places = [ROOT / first, *named] if not first.endswith("/") or not others else named
        assert all(place.exists() for place in places), files
        inside = [
            file
            for place in places
            for file in (place.rglob("*.*") if place.is_dir() else [place])
            if file.suffix in (".rs", ".py")
        ]
        text = "".join(file.read_text(encoding="utf-8") for file in inside)
        for name in re.findall(r"`([^`]+)`", names):
            assert name in text, f"{name} is not in {files}"
