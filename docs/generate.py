"""Regenerates the generated pages and figures of ``docs/``.

Among the pages is the man page, in ``packaging/odonata.data``.

``make docs`` runs all of it. ``python docs/generate.py --pages`` leaves the figures, which are
simulated, as they are; ``--check`` writes nothing and fails if a page is out of date.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: In what a wheel installs outside the package: share/man/man1 below the environment.
MAN_PAGE = ROOT / "packaging" / "odonata.data" / "data" / "share" / "man" / "man1" / "odonata.1"


def pages() -> dict[Path, str]:
    """The generated pages by file."""
    from generators.api_page import api_page
    from generators.cli_page import cli_page
    from generators.man_page import man_page
    from generators.notebooks import notebooks
    from generators.results_page import results_page
    from generators.scenario_page import scenario_page
    from generators.validation_page import validation_page

    docs = ROOT / "docs"
    return {
        docs / "scenario.md": scenario_page(ROOT),
        docs / "results.md": results_page(),
        docs / "cli.md": cli_page(),
        MAN_PAGE: man_page(ROOT),
        docs / "python-reference.md": api_page(),
        ROOT / "studies" / "pages" / "validation.md": validation_page(ROOT),
        **notebooks(ROOT),
    }


def out_of_date() -> list[Path]:
    """Pages whose file differs from what would be generated."""
    return [
        path
        for path, text in pages().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def main(options: list[str]) -> int:
    """Generates or checks; returns the exit code."""
    if "--check" in options:
        stale = out_of_date()
        for path in stale:
            print(f"{path.relative_to(ROOT)} is out of date; run: make docs", file=sys.stderr)
        return 1 if stale else 0
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))
    if "--pages" not in options:
        from generators.figures import bisection_figure, demo_figures, interference_figures

        for draw in (demo_figures, bisection_figure, interference_figures):
            draw(ROOT)
            print(f"docs/figures: {draw.__name__}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
