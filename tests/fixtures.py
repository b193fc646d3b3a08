"""Fixtures that the tests of all packages share."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from odonata.study.task import Outcome, Task

#: The first picture of every name that was written while `rendered_once` was in use.
_RENDERED: dict[str, bytes] = {}


@pytest.fixture
def rendered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests in which pictures are drawn by the way: every figure is made up of its data, but
    only the first PNG of every name is rendered, which takes most of the time; its bytes stand for
    the later ones.
    """
    from odonata import plots
    from odonata.study import drawing as of_studies

    # `plots.style` is the function of that name.
    of_all = importlib.import_module("odonata.plots.style")
    save = plots.save

    def save_once(figure: Figure, path: Path) -> None:
        if path.suffix == ".png" and path.name in _RENDERED:
            path.write_bytes(_RENDERED[path.name])
            return
        save(figure, path)
        _RENDERED[path.name] = path.read_bytes()

    for module in (plots, of_all, of_studies):
        monkeypatch.setattr(module, "save", save_once)


class _Here:
    """Simulates the points of a study in this process, one after another."""

    processes = 1

    def __init__(self, processes: int | None = None) -> None:
        """Takes what the executor that it stands for takes."""

    def run(self, tasks: Sequence[Task], report: object) -> Iterator[tuple[Task, Outcome]]:
        """As `Executor.run`."""
        from odonata.study.task import simulate_task

        for task in tasks:
            yield task, simulate_task(task)


@pytest.fixture
def simulated_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what a study finds: its workers take a second of processor time each to begin.
    What belongs to workers is tested in test_study_file.py and test_sweep.py.
    """
    from odonata.study import local, run, sweeping

    for module in (local, run, sweeping):
        monkeypatch.setattr(module, "LocalExecutor", _Here)
