"""The pages of the documentation site, from the repository's: ``make site`` builds it of them.

A page of the repository links to files as they lie there; on the site some lie elsewhere or are
no pages. What is linked comes along, links are written anew, and headings get the anchors that
they have in the repository's viewers, so that the site's generator needs to know nothing of it:

* ``docs/README.md`` is the start page; what is in ``docs/`` and
  ``studies/pages/`` lies at the top, all else as here.
* Notebooks are run, and become pages with what they print.
* Linked sources become pages below ``source/``, directories lists of such; tables and pictures are
  copied.

``python tools/site/pages.py OUT`` writes all of it; ``--sources-only`` runs no notebook.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[2]
#: Where the walk along links starts, beside all pages of docs/ and all notebooks.
STARTS = ("docs/README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
#: What the site's generator is given beside the pages.
WITH = ("style.css",)
#: Copied as they are.
COPIED = {".png", ".svg", ".csv"}
LANGUAGES = {
    ".md": "markdown",
    ".py": "python",
    ".rs": "rust",
    ".sh": "sh",
    ".toml": "toml",
    ".json": "json",
}
#: Not listed as part of a directory.
HIDDEN = {"__pycache__", "target", "Cargo.lock"}
#: How long one cell may take, in seconds.
CELL_LIMIT_S = 600

LINK = re.compile(r"(\]\()([^)\s]+)(\))")
FENCE = re.compile(r"^( *)(`{3,})[^`]*$")
HEADING = re.compile(r"^(#{1,6}) +(.*?) *#*$")


def site_path(path: PurePosixPath, root: Path = ROOT) -> PurePosixPath:
    """Where a file of the repository lies on the site, as the generator's input."""
    name = path.as_posix()
    if name == "docs/README.md":
        return PurePosixPath("index.md")
    if path.suffix == ".ipynb":
        return path.with_suffix(".md")
    if (root / path).is_dir():
        readme = path / "README.md"
        return readme if (root / readme).exists() else PurePosixPath("source", path, "index.md")
    if path.parts[:2] == ("studies", "pages") and path.suffix in {".md", ".png"}:
        return PurePosixPath(*path.parts[2:])
    if path.parts[0] == "docs" and (path.suffix == ".md" or path.parts[1] == "figures"):
        return PurePosixPath(*path.parts[1:])
    if path.suffix == ".md" and "tests" not in path.parts:
        return PurePosixPath(name.lower()) if len(path.parts) == 1 else path
    source = PurePosixPath("source", path)
    return source if path.suffix in COPIED else PurePosixPath(f"{source}.md")


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """``text`` with every line outside fenced code changed."""
    lines = []
    fence = ""
    for line in text.split("\n"):
        found = FENCE.match(line)
        if found and (not fence or found[2].startswith(fence)):
            fence = "" if fence else found[2]
        elif not fence and not found:
            line = change(line)
        lines.append(line)
    return "\n".join(lines)


def slug(heading: str) -> str:
    """The anchor of a heading as GitHub and GitLab make it.

    Lower case, without punctuation, a hyphen for every space.
    """
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")


def with_anchors(text: str) -> str:
    """``text`` with every heading's anchor said; of equal ones the later are numbered from 1."""
    seen: dict[str, int] = {}

    def anchored(line: str) -> str:
        found = HEADING.match(line)
        if not found:
            return line
        anchor = slug(found[2])
        number = seen.get(anchor, 0)
        seen[anchor] = number + 1
        # Else the generator takes the first brace of the heading for that of its anchor.
        said = re.sub(r"(`[^`]*`)|\{", lambda part: part[1] or "&#123;", found[2])
        return f"{found[1]} {said} {{ #{anchor}{f'-{number}' if number else ''} }}"

    return outside_code(text, anchored)


def anchors(page: str) -> set[str]:
    """The anchors of a page that was written here."""
    return set(re.findall(r"\{ #(\S+) \}$", page, flags=re.M)) | set(
        re.findall(r"<a id=\"([^\"]+)\">", page)
    )


def links(page: str) -> list[str]:
    """The links of a page, those to other sites left out."""
    found: list[str] = []

    def note(line: str) -> str:
        found.extend(match[2] for match in LINK.finditer(line) if "://" not in match[2])
        return line

    outside_code(page, note)
    return [link for link in found if not link.startswith("mailto:")]


class Site:
    """Pages written into a directory, each once, with all that they link to."""

    def __init__(self, out: Path, run: bool = True, root: Path = ROOT) -> None:
        self.out = out
        self.run = run
        self.root = root
        self.waiting: list[PurePosixPath] = []
        self.seen: set[PurePosixPath] = set()

    def ask_for(self, path: PurePosixPath) -> PurePosixPath:
        """Has the file of the repository written; returns where."""
        place = site_path(path, self.root)
        if (self.root / path).is_dir() and place.name == "README.md":
            path = place
        if path not in self.seen:
            self.seen.add(path)
            self.waiting.append(path)
        return place

    def write(self) -> None:
        """Writes all pages."""
        starts = [PurePosixPath(name) for name in STARTS]
        for folder, pattern in (
            ("docs", "*.md"),
            ("studies/pages", "*.md"),
            ("examples/notebooks", "*.ipynb"),
        ):
            found = sorted((self.root / folder).glob(pattern))
            starts += [PurePosixPath(folder, path.name) for path in found]
        for path in starts:
            self.ask_for(path)
        while self.waiting:
            self.write_one(self.waiting.pop())
        for name in WITH:
            shutil.copy(Path(__file__).with_name(name), self.out / name)

    def write_one(self, path: PurePosixPath) -> None:
        """Writes the page of one file or directory, and asks for what it links to."""
        source = self.root / path
        place = self.out / site_path(path, self.root)
        place.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            text = self.listing(path)
        elif path.suffix in COPIED:
            shutil.copy(source, place)
            return
        elif path.suffix == ".ipynb":
            text = self.linked(self.notebook(source, place), path)
        elif place.relative_to(self.out).parts[0] == "source":
            text = self.code(path)
        else:
            text = self.linked(source.read_text(encoding="utf-8"), path)
        place.write_text(with_anchors(text), encoding="utf-8")

    def linked(self, text: str, path: PurePosixPath) -> str:
        """``text`` of the file ``path`` with its links as they are on the site."""
        here = site_path(path, self.root).parent

        def anew(match: re.Match[str]) -> str:
            target, hash_, anchor = match[2].partition("#")
            if "://" in target or target.startswith("mailto:") or not target:
                return match[0]
            there = PurePosixPath(os.path.normpath(path.parent / target))
            if not (self.root / there).exists() and (self.out / here / target).exists():
                return match[0]  # A picture of a notebook.
            if there.parts[0] == ".." or not (self.root / there).exists():
                raise SystemExit(f"{path} links to {target}, which does not exist")
            place = self.ask_for(there)
            return f"{match[1]}{os.path.relpath(place, here)}{hash_}{anchor}{match[3]}"

        return outside_code(text, lambda line: LINK.sub(anew, line))

    def code(self, path: PurePosixPath) -> str:
        """A page that shows a source."""
        text = (self.root / path).read_text(encoding="utf-8").rstrip("\n")
        fence = "`" * 6
        language = LANGUAGES.get(path.suffix, "text")
        return f"{self.head(path)}{fence}{language}\n{text}\n{fence}\n"

    def listing(self, path: PurePosixPath) -> str:
        """A page that lists a directory."""
        names = sorted(one.name for one in (self.root / path).iterdir())
        shown = [name for name in names if name not in HIDDEN and not name.startswith(".")]
        here = site_path(path, self.root).parent
        rows = []
        for name in shown:
            readable = (self.root / path / name).is_dir() or PurePosixPath(name).suffix in LANGUAGES
            place = os.path.relpath(self.ask_for(path / name), here) if readable else ""
            rows.append(f"- [{name}]({place})" if readable else f"- {name}")
        return self.head(path) + "\n".join(rows) + "\n"

    @staticmethod
    def head(path: PurePosixPath) -> str:
        """The beginning of a page that shows a source or a directory."""
        # Sources are reached from what explains them; the search would find little else.
        return f"---\ntitle: {path.name}\nsearch:\n  exclude: true\n---\n\n# {path}\n\n"

    def notebook(self, source: Path, place: Path) -> str:
        """A notebook as a page, with its outputs if notebooks are to be run."""
        if not self.run:
            cells = json.loads(source.read_text(encoding="utf-8"))["cells"]
            return "\n\n".join(
                text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```"
                for cell in cells
                for text in ["".join(cell["source"])]
            )
        # Only here: they are of the extra `site`.
        import nbformat
        from nbclient import NotebookClient
        from nbconvert import MarkdownExporter
        from traitlets.config import Config

        book = nbformat.read(source, as_version=4)
        with tempfile.TemporaryDirectory() as scratch:
            resources = {"metadata": {"path": scratch}}
            # A socket file: a port would be open to whoever else is on the machine.
            local = Config({"KernelManager": {"transport": "ipc", "ip": f"{scratch}/kernel"}})
            client = NotebookClient(book, timeout=CELL_LIMIT_S, resources=resources, config=local)
            client.execute()
        for cell in book.cells:  # Bars that moved while it ran say nothing on a page.
            cell.outputs = [
                output
                for output in cell.get("outputs", [])
                if "<progress" not in output.get("data", {}).get("text/html", "")
            ]
        pictures = {"output_files_dir": f"{source.stem}_files", "unique_key": source.stem}
        text, made = MarkdownExporter().from_notebook_node(book, resources=pictures)
        for name, content in made["outputs"].items():
            (place.parent / name).parent.mkdir(exist_ok=True)
            (place.parent / name).write_bytes(content)
        # Tables without a class look, and scroll, like the site's own.
        return str(text).replace('<table border="1" class="dataframe">', "<table>")


def main(arguments: list[str]) -> int:
    """Writes the pages into the directory that is named; returns the exit code."""
    folders = [argument for argument in arguments if not argument.startswith("--")]
    if len(folders) != 1 or set(arguments) - set(folders) - {"--sources-only"}:
        print(__doc__, file=sys.stderr)
        return 2
    out = Path(folders[0])
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    Site(out, run="--sources-only" not in arguments).write()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
