"""The pages that users read stay short enough to be read.

In 2026 the documentation had 217,000 words on 80 pages; nobody finds a fact in that. What a user
needs fits into 60,000 words, written by hand. Studies are apart: nobody needs them in order to use
Odonata. So are generated pages, in which things are looked up; but no cell of a table is longer
than 300 characters there either: a longer one is a paragraph in a narrow column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
#: Pages that ``docs/generate.py`` writes from declarations.
GENERATED = {"scenario.md", "cli.md", "results.md", "python-reference.md"}
#: What users read, and what only developers do.
MOST_WORDS = {"users": 60_000, "developers": 15_000}
MOST_CHARACTERS = 300


def pages(entry: Any) -> Iterator[str]:
    """The pages of docs/ in a part of the navigation."""
    if isinstance(entry, str):
        if (DOCS / entry).is_file():
            yield entry
    else:
        for one in entry.values() if isinstance(entry, dict) else entry:
            yield from pages(one)


def parts() -> dict[str, list[str]]:
    """The pages of docs/ by the parts of the site's navigation."""
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    named = {name: list(pages(part)) for entry in settings["nav"] for name, part in entry.items()}
    return {**named, "Start": [*named["Start"], "README.md"]}


def words(page: str) -> int:
    """As ``wc -w`` counts them: code, and the bars of tables, are words too."""
    return len((DOCS / page).read_text(encoding="utf-8").split())


def cells(text: str) -> Iterator[str]:
    """The cells of all tables."""
    for line in re.sub(r"```.*?```", "", text, flags=re.S).splitlines():
        if line.startswith("|"):
            yield from (cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])


#: Pages for users and for developers, studies left out.
READ = sorted(page for part, found in parts().items() if part != "Studies" for page in found)


def test_every_page_is_in_one_part() -> None:
    found = [page for part in parts().values() for page in part]
    assert sorted(found) == sorted(page.name for page in DOCS.glob("*.md"))


@pytest.mark.parametrize("readers", MOST_WORDS)
def test_what_is_written_by_hand_can_be_read(readers: str) -> None:
    for_developers = set(parts()["For developers"])
    counts = {
        page: words(page)
        for page in READ
        if page not in GENERATED and (page in for_developers) == (readers == "developers")
    }
    longest = sorted(counts.items(), key=lambda item: -item[1])[:5]
    assert 0 < sum(counts.values()) <= MOST_WORDS[readers], f"the longest pages are {longest}"


@pytest.mark.parametrize("page", READ)
def test_no_cell_of_a_table_is_a_paragraph(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    assert [cell for cell in cells(text) if len(cell) > MOST_CHARACTERS] == []


def test_a_cell_is_what_stands_between_bars() -> None:
    text = "| a | `b \\| c` |\n|---|---|\n```\n| code |\n```\n"
    assert list(cells(text)) == ["a", "`b \\| c`", "---", "---"]
