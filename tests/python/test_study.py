"""Studies: side by side, resumable, and verdicts that are computed."""

import json
import math
from pathlib import Path

import pytest

from odonata import Scenario, write_report
from odonata.results import Result
from odonata.study.execution import Point, Record, Store, run_points
from odonata.study.intervals import interval
from odonata.study.validation import Validation, booksim, reference_directory
from odonata.study.validation.comparison import Comparison, read, write
from odonata.study.validation.wiring import Routes


def scenario(nodes: int = 4, duration: str = "20 us") -> Scenario:
    return Scenario.from_dict(
        {
            "network": {"family": "crossbar", "nodes": nodes},
            "simulation": {"duration": duration},
            "job": [
                {
                    "nodes": nodes,
                    "traffic": {"pattern": "uniform-random", "message": "4 KiB", "load": 0.3},
                }
            ],
        }
    )


SIMULATED: list[int] = []


def nodes_of(result: Result) -> Record:
    SIMULATED.append(result.meta["nodes"])
    return {"nodes": result.meta["nodes"], "end": result.meta["end_ps"]}


def test_points_run_once_and_keep_their_order(tmp_path: Path) -> None:
    SIMULATED.clear()
    points = [Point(f"{n} nodes", scenario(n), nodes_of, cost=n) for n in (2, 5, 3)]
    answer: list[tuple[float, int]] = []
    file = tmp_path / "points.jsonl"
    store = Store(file)
    found = run_points(points, jobs=2, store=store, progress=lambda *now: answer.append(now))
    store.close()
    assert list(found) == ["2 nodes", "5 nodes", "3 nodes"]
    assert [record["nodes"] for record in found.values()] == [2, 5, 3]
    assert answer[-1] == (pytest.approx(1.0), 3)
    assert sorted(SIMULATED) == [2, 3, 5]
    # A kill in the middle of a line loses that point, and only that.
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:2]) + lines[2][:-10])
    lost = json.loads(lines[2])["record"]["nodes"]
    SIMULATED.clear()
    store = Store(file)
    assert run_points(points, store=store) == found
    assert [lost] == SIMULATED
    # A changed scenario is another point.
    other = [Point("2 nodes", scenario(2, "30 us"), nodes_of)]
    why: list[str] = []
    again = run_points(other, store=store, notice=why.append)
    store.close()
    assert again["2 nodes"]["end"] == 30_000_000
    # Why is told of a point that was in the file when it was read; which one was last, and lost,
    # depends on which of two threads was first.
    assert len(why) == (lost != 2)
    assert all("the scenario changed since" in sentence for sentence in why)


def test_an_error_ends_the_study_and_keeps_what_is_done(tmp_path: Path) -> None:
    def fails(result: Result) -> Record:
        raise RuntimeError("on request")

    store = Store(tmp_path / "points.jsonl")
    points = [Point("good", scenario(2), nodes_of, 2.0), Point("bad", scenario(3), fails)]
    with pytest.raises(RuntimeError, match="on request"):
        run_points(points, jobs=1, store=store)
    assert store.get(points[0]) is not None
    store.close()
    with pytest.raises(ValueError, match="same name"):
        run_points([points[0], points[0]])


def test_interval_is_students() -> None:
    found = interval([1.0, 2.0, 3.0])
    # Deviation 1, three values, t = 4.303.
    assert (found.mean, found.deviation) == (2.0, 1.0)
    assert found.half_width == pytest.approx(4.303 / math.sqrt(3), rel=1e-3)
    assert math.isnan(interval([5.0]).half_width)


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
    report = write_report(tmp_path, out=tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<p>2: 1 within 5 %, 1 explained by counting.</p>" in report


def test_routes_are_counted_on_the_wiring() -> None:
    network = {"family": "dragonfly", "p": 2, "a": 4, "h": 2}
    routes = Routes(Scenario.from_dict({"network": network}))
    # Among 71 other nodes 1 is beside, 6 in the group; 2 · 8 of the 64 others belong to the router
    # behind one of the router's own two links or one local hop away, and so on: with 1/4 each
    # end of the global link is the router itself.
    assert routes.minimal_uniform() == pytest.approx(
        {1: 1 / 71, 2: (6 + 64 / 16) / 71, 3: 64 * 6 / 16 / 71, 4: 64 * 9 / 16 / 71}
    )
    to_next = routes.valiant_to_next_group()
    assert math.fsum(to_next.values()) == pytest.approx(1.0)
    assert set(to_next) == {3, 4, 5, 6}


def test_without_data_of_other_simulators_there_is_no_panel_for_them(tmp_path: Path) -> None:
    from odonata.study.validation import closed_forms, figures

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
