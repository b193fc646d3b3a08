"""Tables on terminals of any width: nothing is cut, nothing is wider than it must be."""

from __future__ import annotations

import io
import random

import pytest
from rich.console import Console

from odonata.report.tables import WholeTable

NAMES = ["halo", "a job with a long name, 48 nodes", "σ-method/2", "noise"]


def table(columns: int, **options: object) -> tuple[WholeTable, list[list[str]]]:
    """A table and its cells: names of several lengths, and figures."""
    draw = random.Random(columns)
    whole = WholeTable(**options)  # type: ignore[arg-type]
    whole.add_column("Job or links", style="bold")
    for number in range(columns):
        over = "latency" if number % 3 else ""
        whole.add_column(f"the {number}th of figures", over=over, justify="right")
    rows = []
    for name in NAMES:
        row = [name, *(f"{draw.randrange(10 ** draw.randint(1, 9)):,}" for _ in range(columns))]
        rows.append(row)
        whole.add_row(*row)
    return whole, rows


def shown(whole: WholeTable, width: int | None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    if width is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", str(width))
    out = io.StringIO()
    Console(file=out, width=width or 80).print(whole, crop=False)
    return [line.rstrip() for line in out.getvalue().splitlines()]


@pytest.mark.parametrize("columns", [1, 4, 9])
@pytest.mark.parametrize("width", [60, 80, 200, None])
def test_names_and_figures_stand_whole(
    columns: int, width: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, rows = table(columns)
    lines = shown(whole, width, monkeypatch)
    for name, *figures in rows:
        # A name stands at the head of each part of its row, and each figure in one of them.
        parts = [line for line in lines if line.startswith(f" {name} ")]
        words = [line.removeprefix(f" {name} ").split() for line in parts]
        assert [figure for part in words for figure in part] == figures
    if width is None:
        # In a pipe one table, however wide.
        assert sum(line.startswith(" ─") for line in lines) == 1
    else:
        # The name of 32 letters and a figure of at most 13 fit 60.
        assert max(map(len, lines)) <= width


def test_bars_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = WholeTable()
    whole.add_column("routing")
    whole.add_column("run time", justify="right", bars=[1.0, 0.5])
    whole.add_column("latency", justify="right")
    whole.add_row("minimal", "14", "3")
    whole.add_row("valiant", "7", "4")
    wide, narrow = (shown(whole, width, monkeypatch) for width in (60, 40))
    assert any("█" * 20 in line for line in wide)
    assert not any("█" in line for line in narrow)
    # Both are one table.
    assert all(sum(line.startswith(" ─") for line in lines) == 1 for lines in (wide, narrow))


def test_names_of_sections_become_titles(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = WholeTable(keys=2, sections=True)
    for head in ("Job", "figure", "first", "other"):
        whole.add_column(head)
    whole.add_column("change", joined=True)
    for row in (("a job of 30 letters or so, here", "run time"), ("", "latency")):
        whole.add_row(*row, "193 µs", "194 µs", "+0.5 %")
    lines = shown(whole, 60, monkeypatch)
    assert lines[0].strip() == "a job of 30 letters or so, here"
    assert " run time   193 µs   194 µs   +0.5 %" in lines
    # With room for a value but not for its change, both move down together.
    heads = [line.split() for line in shown(whole, 32, monkeypatch) if "figure" in line]
    assert heads == [["figure", "first"], ["figure", "other", "change"]]


def test_prose_takes_several_lines_in_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = WholeTable()
    whole.add_column("name")
    whole.add_column("what it shows", prose=True)
    whole.add_row("two-stencils", "two halo exchanges on a small dragonfly that they share")
    assert len(shown(whole, 60, monkeypatch)) == len(shown(whole, None, monkeypatch)) + 1
