"""The notebooks run from their first cell to their last, and one of them in a real kernel."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))


def test_there_are_six_and_they_are_listed() -> None:
    assert len(NOTEBOOKS) == 6
    listed = (ROOT / "examples" / "notebooks" / "README.md").read_text(encoding="utf-8")
    for one in NOTEBOOKS:
        assert f"({one.name})" in listed


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cells = json.loads(file.read_text(encoding="utf-8"))["cells"]
    names: dict[str, Any] = {}
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        assert (cell["outputs"], cell["execution_count"]) == ([], None)
        tree = ast.parse("".join(cell["source"]), file.name)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, file.name, "exec"), names)
        if last is None:
            continue
        assert isinstance(last, ast.Expr)
        shown = eval(compile(ast.Expression(last.value), file.name, "eval"), names)
        # What a notebook does to show it.
        if hasattr(shown, "_repr_png_"):
            assert shown._repr_png_()[:4] == b"\x89PNG"
        elif hasattr(shown, "_repr_html_"):
            assert "<" in shown._repr_html_()


def test_a_notebook_in_a_kernel(tmp_path: Path) -> None:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    book = nbformat.read(ROOT / "examples" / "notebooks" / "a_job_log.ipynb", as_version=4)
    more = "odonata.run(odonata.Scenario.from_toml(odonata.first_scenario(nodes=2)), progress=True)"
    book.cells.append(nbformat.v4.new_code_cell(more))
    nbclient.NotebookClient(
        book, timeout=600, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    kinds = [
        {key for output in cell.outputs for key in output.get("data", {})}
        for cell in book.cells
        if cell.cell_type == "code"
    ]
    assert "image/png" in kinds[2]
    assert "text/html" in kinds[-1]
