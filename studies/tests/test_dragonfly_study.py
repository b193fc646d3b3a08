"""The dragonfly study: closed forms, plan, measured points and page agree."""

from pathlib import Path

import pytest

from dragonfly import page, plan, points
from dragonfly.theory import Dragonfly

ROOT = Path(__file__).resolve().parents[2]

STUDY = Dragonfly(p=4, a=8, h=4)


def test_closed_forms_are_the_fractions_of_the_page() -> None:
    assert (STUDY.nodes, STUDY.g) == (1056, 33)
    assert STUDY.adversarial_minimal() == pytest.approx(1 / 32)
    assert STUDY.adversarial_valiant() == pytest.approx(31 / 64)
    assert STUDY.adversarial_adaptive() == pytest.approx(33 / 64)
    assert STUDY.adversarial_ugal_local() == pytest.approx(31 / 84)
    assert STUDY.adversarial_ugal_local_node() == pytest.approx(33 / 148)
    assert STUDY.uniform_minimal() == 1.0
    # 1,024 of the other 1,055 nodes are in other groups; two global links each way.
    assert STUDY.uniform_valiant_group() == pytest.approx(1055 / 2048)


def test_page_shows_the_measured_points() -> None:
    measured = points.read(ROOT / "studies" / "data" / "dragonfly_curves.csv")
    text = (ROOT / "studies" / "pages" / "dragonfly-theory.md").read_text(encoding="utf-8")
    assert page.updated(text, measured) == text, "run: make figures"


def test_measured_points_are_those_of_the_plan(tmp_path: Path) -> None:
    file = ROOT / "studies" / "data" / "dragonfly_curves.csv"
    measured = points.read(file)
    planned = {
        (run.experiment, run.pattern, run.routing, run.setting, run.load, run.warmup_us)
        for run in plan.runs(plan.FULL)
    }
    assert planned == {
        (p.experiment, p.pattern, p.routing, p.setting, p.load, p.warmup_us) for p in measured
    }
    points.write(measured, tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == file.read_bytes()
