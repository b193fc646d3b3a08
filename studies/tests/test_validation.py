"""The validation: what a verdict follows from, and the references that are repeated here."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from odonata import Scenario, run, write_report
from odonata.study.execution import run_points
from odonata.study.study import CONCLUSION_FILE
from odonata_studies.validation import Validation, booksim, reference_directory
from odonata_studies.validation.booksim_families import FURTHER, BookSimFamilies, scenario
from odonata_studies.validation.comparison import Comparison, read, write
from odonata_studies.validation.wiring import Routes


def compared(ours: float, reference: float, ci95: float = 0.0, explanation: str = "") -> Comparison:
    return Comparison(
        "section", "case", 0.5, "", "share", ours, ci95, reference, "theory", explanation
    )


@pytest.mark.parametrize(
    ("comparison", "verdict"),
    [
        (compared(1.0, 1.0), "exact"),
        (compared(0.0, 0.0), "exact"),
        (compared(1.04, 1.0), "within 5 %"),
        (compared(1.2, 1.0, ci95=0.25), "within its interval"),
        (compared(1.2, 1.0, explanation="allocation"), "explained by allocation"),
        (compared(1.2, 1.0, ci95=0.1), "DIFFERS"),
        (compared(0.1, 0.0), "DIFFERS"),
        (compared(math.nan, 1.0), "not compared"),
    ],
)
def test_verdicts_follow_from_the_figures(comparison: Comparison, verdict: str) -> None:
    assert comparison.verdict == verdict
    assert comparison.passes == (verdict not in ("DIFFERS", "not compared"))


def test_comparisons_read_back_equal(tmp_path: Path) -> None:
    written = [compared(1.04, 1.0), compared(1.2, 1.0, explanation="counting")]
    write(written, tmp_path)
    assert read(tmp_path / "comparisons.csv") == written
    (tmp_path / CONCLUSION_FILE).write_text("   1 within 5 %\n", encoding="utf-8")
    report = write_report(tmp_path, out=tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<p>2: 1 within 5 %, 1 explained by counting.</p>" in report


def test_routes_are_counted_on_the_wiring() -> None:
    network = {"family": "dragonfly", "p": 2, "a": 4, "h": 2}
    routes = Routes(Scenario.from_dict({"network": network}))
    # Of 71 other nodes 1 is beside, 6 in the group; 2 · 8 of the 64 others belong to the router
    # behind one of the router's own two links or one local hop away, and so on: with 1/4 each
    # end of the global link is the router itself.
    assert routes.minimal_uniform() == pytest.approx(
        {1: 1 / 71, 2: (6 + 64 / 16) / 71, 3: 64 * 6 / 16 / 71, 4: 64 * 9 / 16 / 71}
    )
    to_next = routes.valiant_to_next_group()
    assert math.fsum(to_next.values()) == pytest.approx(1.0)
    assert set(to_next) == {3, 4, 5, 6}


def test_without_data_of_other_simulators_there_is_no_panel_for_them(tmp_path: Path) -> None:
    from odonata_studies.validation import closed_forms, figures

    def one(section: str, series: str) -> Comparison:
        return Comparison(section, "case", 0.5, series, "wait", 1.0, 0.1, 1.01, "theory")

    sections = (closed_forms.WAITING, closed_forms.CREDITS, closed_forms.BLOCKING)
    theory = [one(section, name) for section in sections for name in ("a", "b")]
    figures.draw(theory, tmp_path / "theory.png")
    figures.draw([*theory, one(booksim.LATENCY, "min, 10 flits")], tmp_path / "all.png")
    # One panel less, and no warning of an empty legend.
    assert (tmp_path / "theory.png").read_bytes() != (tmp_path / "all.png").read_bytes()


def test_the_plan_covers_every_reference() -> None:
    directory = reference_directory()
    if directory is None:
        pytest.skip("no reference data beside the checkout")
    known = booksim.references(directory)
    assert len(known) == 36
    names = {point.name for point in Validation(directory).points(quick=False)}
    assert all(f"booksim: {reference.name}" in names for reference in known)
    # Minimal routes leave nothing to chance; Valiant's are drawn with three seeds.
    assert sum(name.startswith("sst: ") for name in names) == 3 + 3 * 3


def reference() -> Path:
    """Directory of BookSim's figures."""
    directory = reference_directory()
    if directory is None:
        pytest.skip("no reference data beside the checkout")
    return directory


def test_fat_tree_torus_and_mesh_have_booksims_latency() -> None:
    """All rows of the reference, within 5 %, but one where BookSim's allocator explains more."""
    part = BookSimFamilies(reference(), quick=True)
    further = {(name, flits, load) for (name, flits), at in FURTHER.items() for load in at}
    part.references = [r for r in part.references if (r.network, r.flits, r.load) not in further]
    assert len(part.references) == 12
    found = part.comparisons(run_points(part.points()))
    assert [c for c in found if not c.passes] == []
    explained = [c.case for c in found if c.explanation]
    assert explained == ["fat tree k=8 n=3, nca, 1 flit, load 0.5"]


def test_without_more_channels_packets_of_a_fat_tree_wait_for_each_other() -> None:
    # One queue of 16 flits at each input holds two packets: at half load it saturates.
    rows = BookSimFamilies(reference(), quick=True).references
    row = next(r for r in rows if (r.network[:3], r.flits, r.load) == ("fat", 8, 0.5))
    job = run(scenario(row, 4_000, channels=None)).jobs.to_pylist()[0]
    assert job["message_latency_mean_ps"] / 1e3 > 3 * row.latency
