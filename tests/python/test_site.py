"""The documentation's site: its navigation is complete, and every link of its pages arrives.

The pages are those that the site is built of, without what its notebooks print; they are tested
elsewhere. All but the test that builds it need nothing that builds sites.
"""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PAGES = runpy.run_path(str(ROOT / "tools" / "site" / "pages.py"))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    PAGES["Site"](out, run=False).write()
    return out


def in_navigation(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    else:
        for one in entry.values() if isinstance(entry, dict) else entry:
            yield from in_navigation(one)


def test_every_page_is_once_in_the_navigation(written: Path) -> None:
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    listed = list(in_navigation(settings["nav"]))
    assert len(listed) == len(set(listed))
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "studies" / "pages").glob("*.md")]
    own = {page.name for page in pages} - {"README.md"}
    assert own <= set(listed)
    books = (ROOT / "examples" / "notebooks").glob("*.ipynb")
    assert {f"examples/notebooks/{book.stem}.md" for book in books} <= set(listed)
    pages = {path.relative_to(written).as_posix() for path in written.rglob("*.md")}
    assert set(listed) == {page for page in pages if not page.startswith("source/")}


def test_links_and_anchors_of_all_pages_lead_somewhere(written: Path) -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in written.rglob("*.md")}
    lost = []
    for path, text in texts.items():
        for link in PAGES["links"](text):
            target, _, anchor = link.partition("#")
            there = Path(os.path.normpath(path.parent / target)) if target else path
            if not there.is_file() or (anchor and anchor not in PAGES["anchors"](texts[there])):
                lost.append(f"{path.relative_to(written)}: {link}")
    assert lost == []


GENERATOR = Path(sys.executable).parent / "zensical"


def built(directory: Path) -> subprocess.CompletedProcess[str]:
    """Builds the site of the pages in a directory's `pages`, as `make site` does."""
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for key, place in (("docs_dir", "pages"), ("site_dir", "site")):
        settings, changed = re.subn(f"^{key}: .*$", f"{key}: {place}", settings, flags=re.M)
        assert changed == 1
    (directory / "mkdocs.yml").write_text(settings, encoding="utf-8")
    command = [GENERATOR, "build", "--strict", "--clean", "--config-file", "mkdocs.yml"]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not GENERATOR.exists(), reason="no zensical, which needs Python 3.11")
def test_the_site_is_built_without_a_warning(written: Path, tmp_path: Path) -> None:
    shutil.copytree(written, tmp_path / "pages")
    done = built(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {path.relative_to(written) for path in written.rglob("*.md")}
    made = {path.relative_to(tmp_path / "site") for path in tmp_path.rglob("*.html")}
    assert {
        path.with_name("index.html") if path.name == "README.md" else path.with_suffix(".html")
        for path in pages
    } <= made
    # A page that links to none is a warning, and that an error.
    (tmp_path / "pages" / "python.md").write_text("[nowhere](nowhere.md)\n", encoding="utf-8")
    assert built(tmp_path).returncode != 0


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [  # As GitHub makes them.
        ("What is asked of `N` nodes, and why?", "what-is-asked-of-n-nodes-and-why"),
        ("A – B", "a--b"),
        ("See [the page](x.md#y)", "see-the-page"),
        ("`link_bytes` of *links*", "link_bytes-of-links"),
    ],
)
def test_anchors(heading: str, anchor: str) -> None:
    assert PAGES["slug"](heading) == anchor


def test_braces_of_headings_are_not_taken_for_those_of_anchors() -> None:
    page = "## &#123;a, b} of `{c}` { #a-b-of-c }"
    assert PAGES["with_anchors"]("## {a, b} of `{c}`") == page


def test_anchors_of_equal_headings_are_numbered_and_code_has_none() -> None:
    text = "# A\n\n```sh\n# A\n```\n\n## A\n"
    page = "# A { #a }\n\n```sh\n# A\n```\n\n## A { #a-1 }\n"
    assert PAGES["with_anchors"](text) == page


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("docs/README.md", "index.md"),
        ("docs/cli.md", "cli.md"),
        ("studies/pages/study-rules.md", "study-rules.md"),
        ("docs/figures/report.png", "figures/report.png"),
        ("examples", "examples/README.md"),
        ("examples/notebooks/first_run.ipynb", "examples/notebooks/first_run.md"),
        ("examples/demo.toml", "source/examples/demo.toml.md"),
        ("studies/data/theta_amg.csv", "source/studies/data/theta_amg.csv"),
        ("examples/plug-ins/rust", "source/examples/plug-ins/rust/index.md"),
    ],
)
def test_where_files_lie(path: str, place: str) -> None:
    assert PAGES["site_path"](PurePosixPath(path)) == PurePosixPath(place)


def test_a_link_to_nothing_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for name in PAGES["STARTS"]:
        (tmp_path / name).write_text("# x\n", encoding="utf-8")
    (tmp_path / "docs" / "a.md").write_text("[b](b.md)\n", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"docs/a.md links to b.md, which does not exist"):
        PAGES["Site"](tmp_path / "out", run=False, root=tmp_path).write()
