"""Studies for tests: a small one, and the points of the package's that a test looks at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from odonata import _engine
from odonata.study.file import StudyFile
from odonata.study.task import Outcome, Task

#: 2 arrangements × (minimal, valiant with 2 alphas) × 2 seeds.
STUDY = """
title = "Small"
repetitions = 2

[scenario]
network = { family = "dragonfly", p = 1, a = 2, h = 1 }
[[scenario.job]]
nodes = 6
mapping = "random"
motif = { kind = "all-to-all", message = "64 KiB", iterations = 4 }

[[axis]]
key = "network.arrangement"
values = ["absolute", "relative"]

[[axis]]
key = "network.routing"
values = ["minimal", "valiant"]

[[axis]]
name = "alpha"
key = "network.links.global.bandwidth"
values = [0.5, 2]
format = "{} GB/s"
when = "routing == 'valiant'"

[[measure]]
figure = "job.*.run_time_ps"
reduce = "maximum"
unit = "us"

[[measure]]
name = "busiest_global"
table = "links"
column = "utilisation"
only = "kind == 'global'"
reduce = "maximum"

[[figure]]
name = "run-time"
x = "alpha"
y = "run_time_us"
series = "arrangement"
only = "routing == 'valiant'"
relative_to = "arrangement == 'absolute' and alpha == 0.5"

[[finding]]
claim = "More bandwidth helps"
source = "nobody, table 0"
quantity = "difference"
y = "run_time_us"
this = "alpha == 2"
to = "alpha == 0.5"
at_most = -1

[quick]
only = "arrangement == 'absolute'"
repetitions = 1
"""


def part_of(study: StudyFile, only: str, quick: dict[str, Any] | None = None) -> StudyFile:
    """The study with fewer points, the rest of it as it is.

    Args:
        study: The study.
        only: Condition on its axes.
        quick: Keys of the scenario that ``--quick`` sets besides its own.
    """
    where = f"({only})" if study.where is None else f"({only}) and ({study.where})"
    changes: dict[str, Any] = {"where": where}
    if quick is not None:
        assert study.quick is not None
        keys = {**study.quick.set, **quick}
        changes["quick"] = study.quick.changed(set=keys)
    return study.changed(**changes)


def by_values(study: StudyFile) -> StudyFile:
    """A study whose findings are judged by the figures alone, as tests of a few runs have to."""
    return study.changed(judged="values")


def changed(file: Path, old: str, new: str) -> Path:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")
    return file


class Instant:
    """Makes outcomes up at once: the run time is 10 µs for alpha 2, else 20 µs plus the seed."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def run(self, tasks: list[Task], report: object) -> Iterator[tuple[Task, Outcome]]:
        for task in tasks:
            self.ran.append(task.name)
            seed = task.scenario.get("seed", 1)
            time_us = 10.0 if "alpha=2" in task.name else 20.0 + seed
            values = {"run_time_us": time_us, "busiest_global": None}
            yield (
                task,
                Outcome(values, 1.0, _engine.VERSION, _engine.SOURCES, task.scenario_fingerprint),
            )
