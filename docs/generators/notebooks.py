"""``examples/notebooks/*.ipynb`` from the sources in ``docs/notebooks``.

A source is a Python file in cells: ``# %%`` begins one of code, ``# %% [markdown]`` one of text,
whose lines are comments. Notebooks are kept without what they print; they are equal for equal
sources.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def cells_of(source: str) -> list[tuple[str, str]]:
    """The cells of a source: ``code`` or ``markdown``, and their text."""
    found: list[tuple[str, str]] = []
    for part in source.split("# %%")[1:]:
        head, _, body = part.partition("\n")
        if head.strip() == "[markdown]":
            lines = [line.removeprefix("#").removeprefix(" ") for line in body.strip().split("\n")]
            found.append(("markdown", "\n".join(lines)))
        else:
            found.append(("code", body.strip()))
    return found


def notebook(source: str) -> str:
    """The notebook of a source, in version 4.5 of the format."""
    cells: list[dict[str, Any]] = []
    for number, (kind, text) in enumerate(cells_of(source)):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        cells.append(cell | {"source": text.splitlines(keepends=True)})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    content = {
        "cells": cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def notebooks(root: Path) -> dict[Path, str]:
    """All notebooks by file."""
    return {
        root / "examples" / "notebooks" / f"{source.stem}.ipynb": notebook(
            source.read_text(encoding="utf-8")
        )
        for source in sorted((root / "docs" / "notebooks").glob("*.py"))
    }
