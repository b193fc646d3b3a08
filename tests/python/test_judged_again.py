"""Findings that were kept are judged again by the study file as it is now."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from odonata.study.cells import Estimated
from odonata.study.dataset import build_dataset
from odonata.study.file import StudyFile
from odonata.study.findings import Observation, Verdict, judge, write_findings
from odonata.study.page import findings_section, statements_section
from odonata.study.sweep import Sweep
from odonata.toml_source import parse_toml

DOCS = Path(__file__).resolve().parents[2] / "docs"
#: A finding that holds up to 1.07 × 1.005 = 1.07535, at two loads.
STUDY = """
title = "Kept"
judged = "intervals"
repetitions = 5
[scenario.network]
family = "crossbar"
nodes = 2
[[scenario.job]]
nodes = 2
traffic = { pattern = "shift", offset = 1, message = "4 KiB" }
[scenario.simulation]
duration = "1 us"
[[axis]]
name = "load"
key = "job.0.traffic.load"
values = [0.1, 0.2]
[[measure]]
figure = "job.0.message_latency_mean_ps"
name = "latency"
unit = "us"
[[finding]]
claim = "slowed by 7 %"
source = "x"
quantity = "value"
y = "latency_us"
at_most = 1.07
slack = 0.5
"""


@pytest.fixture(autouse=True)
def _studies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "studies"))


@pytest.fixture
def study() -> StudyFile:
    return StudyFile.from_dict(parse_toml(STUDY, "study"))


def row(load: float, low: str, high: str, verdict: str, **other: str) -> dict[str, str]:
    """A row of a file of findings."""
    return {
        "claim": "slowed by 7 %",
        "published": "at most 1.07 µs",
        "at": f"load={load}",
        "unit": "us",
        "ours": low,
        "ci95_low": low,
        "ci95_high": high,
        "our_choice": "",
        "seeds": "5",
        "verdict": verdict,
    } | other


def again(study: StudyFile, *rows: dict[str, str]) -> list[str]:
    """Verdicts of what was kept."""
    import judged_again

    (verdict,) = judged_again.again(
        Sweep(study), build_dataset(study, [], {}), {"slowed by 7 %": rows}
    )
    return [one.verdict for one in verdict.observations]


def test_all_digits_are_kept(study: StudyFile, tmp_path: Path) -> None:
    """1.07534 lies below the end of the range, 1.07535, and 1.075 with one digit less would too;
    1.0754 lies above it, and would lie below with four digits."""
    import judged_again

    for high, expected in ((1.0753400000000001, "holds"), (1.0754, "undecided")):
        verdicts = [
            Verdict(
                study.finding[0],
                [Observation({"load": 0.1}, Estimated(1.01, 1.0, high), "", expected, 5)],
                "us",
            )
        ]
        write_findings(verdicts, tmp_path / "kept.csv")
        kept = judged_again.before(tmp_path / "kept.csv")
        assert [float(one["ci95_high"]) for one in kept["slowed by 7 %"]] == [high]
        assert again(study, *kept["slowed by 7 %"]) == [expected]


def test_rounded_figures_beside_an_end_keep_the_verdict_of_their_run(
    study: StudyFile, capsys: pytest.CaptureFixture[str]
) -> None:
    """1.075 stands for 1.0745 to 1.0755, on either side of the end, 1.07535; 1.0 is 1.000."""
    for verdict in ("holds", "undecided"):
        assert again(study, row(0.1, "1", "1.075", verdict)) == [verdict]
    assert capsys.readouterr().out == ""
    # What was published has changed since: nothing says on which side the figure lies.
    other = row(0.1, "1", "1.075", "holds", published="at most 1.1 µs")
    assert again(study, other) == ["undecided"]
    assert "kept rounded: slowed by 7 %; load=0.1" in capsys.readouterr().out
    # Not beside an end: the verdict is that of the rules of today, whatever was kept.
    assert again(study, row(0.1, "1", "1.074", "does not hold")) == ["holds"]


def test_a_choice_whose_points_are_not_kept_has_the_verdict_of_its_run(
    study: StudyFile, capsys: pytest.CaptureFixture[str]
) -> None:
    """That load 0.1 is ahead is kept; how far 0.2 is behind, which decides, is not."""
    choice = {"quantity": "best", "over": ["load"], "values": {"load": 0.1}}
    finding = study.finding[0].model_copy(update=choice | {"at_most": None})
    study = study.model_copy(update={"finding": [finding]})

    def kept(verdict: str, **other: str) -> dict[str, str]:
        choice = {"published": "0.1", "at": "", "our_choice": "0.1"}
        return row(0.1, "0", "0", verdict, **(choice | other))

    for verdict in ("holds", "undecided"):
        assert again(study, kept(verdict)) == [verdict]
    behind = {"our_choice": "0.2", "ci95_low": "2", "ours": "3"}
    assert again(study, kept("does not hold", **behind)) == ["does not hold"]
    assert again(study, kept("holds", seeds="4")) == ["undecided"]
    assert capsys.readouterr().out == ""
    assert again(study, kept("holds", published="0.2")) == ["undecided"]
    assert "as another choice was published when it was judged" in capsys.readouterr().out


def test_a_mean_is_that_of_what_is_together(study: StudyFile, tmp_path: Path) -> None:
    """1.0 of before and 1.2 of before are 1.1 on average; the row of the mean is no combination."""
    import judged_again

    finding = study.finding[0].model_copy(update={"combinations": "mean"})
    study = study.model_copy(update={"finding": [finding]})
    rows = [row(0.1, "1.0", "1.01", "holds"), row(0.2, "1.2", "1.21", "does not hold")]
    known = {"slowed by 7 %": rows}
    (verdict,) = judged_again.again(Sweep(study), build_dataset(study, [], {}), known)
    assert verdict.mean is not None
    assert verdict.mean.ours.value == pytest.approx(1.1)
    assert verdict.text == "does not hold"
    write_findings([verdict], tmp_path / "kept.csv")
    kept = judged_again.before(tmp_path / "kept.csv")
    assert len(kept["slowed by 7 %"]) == 2


def test_each_combination_is_the_one_with_more_seeds(study: StudyFile) -> None:
    import judged_again

    def one(load: float, value: float, seeds: int) -> Observation:
        return Observation({"load": load}, Estimated(value), "", "", seeds)

    before = [one(0.1, 1.0, 1), one(0.2, 1.0, 9)]
    now = [one(0.1, 2.0, 5), one(0.2, 2.0, 5)]
    together = judged_again._together(before, now)
    assert [found.ours.value for found in together] == [2.0, 1.0]
    # Named by other axes they cannot be told apart: the longer list stays whole.
    assert judged_again._together(before, [Observation({}, Estimated(3.0), "", "", 5)]) is before


@pytest.mark.parametrize(("added", "text"), [("load == 0.2", "1.2"), ("load == 0.1", "1.1")])
def test_of_an_extreme_a_part_is_known_and_the_rest_is_added(
    study: StudyFile, added: str, text: str
) -> None:
    """1.1 is known of load 0.1. The largest is that of both loads, and 1.1 while 0.2 is missing."""
    import judged_again

    finding = study.finding[0].model_copy(update={"combinations": "largest"})
    study = study.model_copy(update={"finding": [finding]})
    points = Sweep(study).select(added)
    record = {"values": {"latency_us": 1.2}, "version": "1"}
    table = build_dataset(study, points, {point.fingerprint(): record for point in points})
    kept = {"slowed by 7 %": [row(0.1, "1.1", "1.1", "does not hold")]}
    (verdict,) = judged_again.again(Sweep(study), table, kept)
    assert [str(one.ours.value) for one in verdict.counted] == [text]


def test_what_was_added_is_named_as_before(study: StudyFile) -> None:
    """A dataset of one load names no load; beside what was kept of the other it needs its name."""
    import judged_again

    points = Sweep(study).select("load == 0.2")
    record = {"values": {"latency_us": 1.0}, "version": "1"}
    added = build_dataset(study, points, {point.fingerprint(): record for point in points})
    kept = {"slowed by 7 %": [row(0.1, "1.1", "1.1", "does not hold")]}
    (verdict,) = judged_again.again(Sweep(study), added, kept)
    found = [(one.axes, one.ours.value) for one in verdict.observations]
    assert found == [({"load": 0.1}, 1.1), ({"load": 0.2}, 1.0)]


def test_a_file_that_does_not_suffice_is_refused(tmp_path: Path) -> None:
    import judged_again

    kept = tmp_path / "kept.csv"
    columns = [name for name in row(0.1, "1", "1", "holds") if name != "seeds"]
    with kept.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerow(columns)
    with pytest.raises(SystemExit, match=r"found no column seeds; allowed: .*study_files\.py"):
        judged_again.before(kept)
    with pytest.raises(SystemExit, match="found validation, which has no study file; allowed: "):
        judged_again.main("validation")


def test_statements_of_our_own_stand_apart(study: StudyFile) -> None:
    """Numbered as in the file, so that the page and the file of findings agree."""
    published: dict[str, Any] = study.finding[0].model_dump(exclude_defaults=True)
    mine = {**published, "claim": "the same of ours", "own": True}
    both = StudyFile.from_dict({**study.to_dict(), "finding": [published, mine]})
    verdicts = judge(both, build_dataset(both, [], {}))
    apart, ours = findings_section(both, verdicts), statements_section(both, verdicts)
    assert apart.startswith("## Published findings beside ours\n")
    assert "| 1 | slowed by 7 % |" in apart and "the same of ours" not in apart
    assert ours.startswith("## Statements of our own\n")
    assert "| 2 | the same of ours |" in ours and "slowed" not in ours
    assert statements_section(study, judge(study, build_dataset(study, [], {}))) == ""


def test_a_page_has_the_sections_of_its_study_in_order() -> None:
    import judged_again

    page = "# T\n\n## Published findings beside ours\n\nold\n\n## Figures\n\npicture\n"
    page = judged_again.with_section(page, "## What is not here\n\n- a\n")
    page = judged_again.with_section(page, "## Statements of our own\n\nnew\n")
    page = judged_again.without_section(page, "## Published findings beside ours")
    assert page == (
        "# T\n\n## Statements of our own\n\nnew\n\n## What is not here\n\n- a\n\n"
        "## Figures\n\npicture\n"
    )


def test_what_was_rounded_stays_recognisable(study: StudyFile, tmp_path: Path) -> None:
    """1.075 is not written as 1.075 with 13 zeros, which would be a figure that lies below the end
    of the range; another figure, of a run since, keeps its digits."""
    import judged_again

    kept, rows = tmp_path / "kept.csv", [row(0.1, "1", "1.075", "holds")]
    new = Observation({"load": 0.2}, Estimated(1.01, 1.0, 1.075), "", "holds", 5)
    old = Observation({"load": 0.1}, Estimated(1.0, 1.0, 1.075), "", "holds", 5)
    write_findings([Verdict(study.finding[0], [old, new], "µs")], kept)
    judged_again.with_digits_of(kept, {"slowed by 7 %": rows})
    found = judged_again.before(kept)["slowed by 7 %"]
    assert [one["ci95_high"] for one in found] == ["1.075", "1.0750000000000000"]


def test_points_that_were_added_are_counted_once(study: StudyFile) -> None:
    """A page of the five points at 0.1, and a dataset of the five at 0.2: all ten, 0.1 and 0.2."""
    import judged_again

    points = Sweep(study).select("load == 0.2")
    record = {"values": {"latency_us": 1.0}, "version": "1"}
    added = build_dataset(study, points, {point.fingerprint(): record for point in points})
    page = "\n".join(
        [
            "| axis | keys | values simulated |",
            "|---|---|---|",
            "| load | `job.0.traffic.load` | 0.1 |",
            "",
            "5 simulations of 1 combinations.",
            "",
            "**Not complete**: the study has 10 simulations.",
            "",
            "## Figures",
        ]
    )
    once = judged_again.with_simulations(page, Sweep(study), added)
    assert "| load | `job.0.traffic.load` | 0.1, 0.2 |" in once
    assert "10 simulations of 2 combinations.\n\n## Figures" in once
    assert judged_again.with_simulations(once, Sweep(study), added) == once


def test_points_are_kept_and_found_again_by_their_scenario(
    study: StudyFile, tmp_path: Path
) -> None:
    """One run has two points and one that the study no longer has; a line is not whole yet."""
    import judged_again

    points = Sweep(study).points
    done = {
        points[0].scenario_fingerprint: {"latency_us": 0.1 + 0.2},
        points[9].scenario_fingerprint: {"latency_us": None},
        "of an earlier study file": {"latency_us": 1.0},
    }
    records = {
        scenario: {"values": values, "saturated": ["a", "b"], "version": "1"}
        for scenario, values in done.items()
    }
    lines = [json.dumps({"scenario": one, "record": records[one]}) for one in records]
    (tmp_path / "points.jsonl").write_text("\n".join(lines) + '\n{"scenario": "wh')
    simulated = judged_again.points_of([tmp_path])
    assert simulated == records
    kept = tmp_path / "points.csv"
    assert judged_again.points_before(kept) == {}
    judged_again.write_points(judged_again._table(Sweep(study), simulated), kept)
    assert kept.read_text().startswith("load,seed,latency_us,saturated,fingerprint,version\n0.1,1,")
    del records["of an earlier study file"]
    assert judged_again.points_before(kept) == records
    with pytest.raises(SystemExit, match=r"found no points\.jsonl"):
        judged_again.points_of([tmp_path / "nowhere"])
