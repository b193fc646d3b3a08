"""What a study shows: findings and their verdicts, curves and boxes, what its page says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

from odonata import Scenario, ScenarioError
from odonata.report.points import print_points
from odonata.scenario.toml_source import parse_toml
from odonata.study.cells import Cell
from odonata.study.drawing import draw_figure
from odonata.study.file import StudyFile
from odonata.study.findings import Verdict, judge, write_findings
from odonata.study.page import findings_section
from odonata.study.run import run_sweep
from odonata.study.sweep import Sweep
from odonata.study.task import Outcome, Task
from studies import STUDY, Instant, changed


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


def test_findings_are_computed(file: Path, tmp_path: Path) -> None:
    study = StudyFile.from_file(file)
    table = run_sweep(Sweep(study), tmp_path / "out", executor=Instant())
    (verdict,) = judge(study, table)
    # Made up: 10 µs with alpha 2, 21 and 22 µs with alpha 0.5.
    assert [one.ours.value for one in verdict.observations] == [
        pytest.approx(100 * (10 / 21.5 - 1))
    ] * 2
    assert verdict.text == "holds"
    other = StudyFile.from_file(changed(file, "at_most = -1", "at_least = 10"))
    assert judge(other, table)[0].text == "does not hold"
    part = table.filter([row["arrangement"] == "" for row in table.to_pylist()])
    assert judge(other, part)[0].text == "not measured"


def test_best_range_and_scatter(file: Path, tmp_path: Path) -> None:
    text = """
[[finding]]
claim = "a"
source = "b"
quantity = "best"
y = "run_time_us"
only = "routing == 'valiant'"
over = ["alpha"]
values = { alpha = ALPHA }

[[finding]]
claim = "c"
source = "d"
quantity = "range"
y = "run_time_us"
over = ["arrangement"]
at_most = 1

[[finding]]
claim = "e"
source = "f"
quantity = "scatter"
y = "run_time_us"
only = "alpha != 2"
at_least = 4
at_most = 5
combinations = "largest"

[quick]
"""
    changed(file, "\n[quick]\n", text)
    original = file.read_text(encoding="utf-8")
    found = []
    for alpha in ("2", "0.5"):
        file.write_text(original.replace("ALPHA", alpha), encoding="utf-8")
        study = StudyFile.from_file(file)
        table = run_sweep(Sweep(study), tmp_path / f"out-{alpha}", executor=Instant())
        found.append([verdict.text for verdict in judge(study, table)[1:]])
    # (22 − 21) / 21.5 = 4.65 %; arrangements do not differ.
    assert found == [["holds"] * 3, ["does not hold", "holds", "holds"]]


def test_values_and_ratios(file: Path, tmp_path: Path) -> None:
    """Made up: 10 µs with alpha 2, 21 and 22 µs with alpha 0.5. Slack is a share of what is
    published: 25 µs less 14 % are 21.5 µs, the mean."""
    text = """
[[finding]]
claim = "a"
source = "b"
quantity = "value"
y = "run_time_us"
only = "alpha != 2 and arrangement == ''"
at_least = 25
at_most = 25
slack = SLACK

[[finding]]
claim = "c"
source = "d"
quantity = "ratio"
y = "run_time_us"
only = "arrangement == ''"
this = "alpha != 2"
to = "alpha == 2"
at_least = 2.1
at_most = 2.2
"""
    whole = file.read_text()
    for slack, word in ((14.1, "holds"), (13.9, "not excluded")):
        file.write_text(whole + text.replace("SLACK", str(slack)).replace("''", "'absolute'"))
        study = StudyFile.from_file(file)
        table = run_sweep(Sweep(study), tmp_path / f"out-{slack}", executor=Instant())
        value, ratio = judge(study, table)[1:]
        assert (value.unit, ratio.unit) == ("µs", "×")
        assert [one.ours.value for one in value.observations] == [pytest.approx(21.5)] * 2
        assert [one.ours.value for one in ratio.observations] == [pytest.approx(2.15)]
        # An interval of two repetitions is wide: what lies outside may still not be excluded.
        wide = {one.ours.high - one.ours.low for one in value.observations}
        assert min(wide) > 5
        assert value.text == word
        assert ratio.text == "holds"
        assert value.published == f"25 µs ± {slack} %"
        assert value.ours.startswith("21.5")


def test_boxes_of_quantiles(file: Path, tmp_path: Path) -> None:
    """A box that is drawn from five measures; here all of them the same, so that it is flat."""
    from odonata.study.drawing import draw

    changed(file, "relative_to = \"arrangement == 'absolute' and alpha == 0.5\"\n", "")
    boxes = f'kind = "box"\nshare_y = false\nquantiles = {["run_time_us"] * 5}\n'
    study = StudyFile.from_file(changed(file, 'x = "alpha"\n', f'x = "alpha"\n{boxes}'))
    table = run_sweep(Sweep(study), tmp_path / "out", executor=Instant())
    drawn = draw(study, table, tmp_path)
    assert all(path.stat().st_size > 5_000 for path in drawn)
    with pytest.raises(ScenarioError, match=r"quantiles: .*allowed: no value, but with kind"):
        StudyFile.from_file(changed(file, 'kind = "box"', 'kind = "bar"'))


CURVE = """
title = "A curve"

[scenario]
network = { family = "dragonfly", p = 1, a = 2, h = 1 }
[scenario.simulation]
duration = "20 us"
[[scenario.job]]
name = "load"
nodes = 6
traffic = { pattern = "uniform-random", message = "1 kB", load = 0.1 }

[[axis]]
name = "load"
key = "job.0.traffic.load"
values = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]

[[measure]]
figure = "job.load.message_latency_mean_ps"
unit = "ns"
name = "latency"

[[measure]]
figure = "link_class.global.utilisation_mean"

[[figure]]
name = "curve"
x = "load"
y = "latency_ns"

[[figure]]
name = "links"
x = "load"
y = "utilisation_mean"
"""


class Overloaded:
    """A load from which on traffic piles up, and one at which nothing arrives any more."""

    def run(self, tasks: list[Task], report: object) -> Iterator[tuple[Task, Outcome]]:
        from odonata import _engine

        for task in tasks:
            load = task.scenario["job"][0]["traffic"]["load"]
            latency = None if load == 0.2 else float("nan") if load == 0.6 else 100 * load
            values = {"latency_ns": latency, "utilisation_mean": load}
            saturated = ["load"] if load > 0.35 else []
            outcome = Outcome(
                values,
                1.0,
                _engine.VERSION,
                _engine.SOURCES,
                task.scenario_fingerprint,
                saturated,
            )
            yield task, outcome


def test_points_beyond_saturation_and_without_a_value_are_told_apart(tmp_path: Path) -> None:
    from odonata.study import drawing

    (tmp_path / "curve.toml").write_text(CURVE, encoding="utf-8")
    study = StudyFile.from_file(tmp_path / "curve.toml")
    table = run_sweep(Sweep(study), tmp_path / "out", executor=Overloaded())
    assert table["saturated"].to_pylist() == [[], [], [], ["load"], ["load"], ["load"]]
    seen: dict[str, Any] = {}

    def keep(figure: Any, path: Path) -> None:
        seen[path.stem] = figure

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "save", keep)
        drawing.draw(study, table, tmp_path)
    lines = seen["curve"].axes[0].lines

    def places(marker: str, alpha: float | None) -> list[float]:
        chosen = [x for x in lines if x.get_marker() == marker and (x.get_alpha() or 1.0) == alpha]
        return [round(float(x), 6) for line in chosen for x in line.get_xdata()]

    assert places("o", 1.0) == [0.1, 0.3]
    assert places("o", 0.4) == [0.4, 0.5]
    assert places("x", 1.0) == [0.2, 0.6]
    # No line leads over the point without a value, and those to saturated points are dotted.
    joined = {
        (tuple(line.get_xdata()), line.get_linestyle())
        for line in lines
        if len(line.get_xdata()) == 2 and line.get_marker() == "None"
    }
    assert joined == {((0.3, 0.4), ":"), ((0.4, 0.5), ":")}
    words = [text.get_text() for text in seen["curve"].legends[0].get_texts()]
    assert words == ["saturated", "no value"]
    # What links carry does not grow with the time: nothing to tell there.
    assert not seen["links"].legends


def test_saturated_points_leave_the_others_room(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At more than ten times the others' height they would press these onto the axis."""
    long = CURVE.replace('unit = "ns"', f'unit = "ns"\nabout = "{"latency of a long name " * 2}"')
    (tmp_path / "curve.toml").write_text(long, encoding="utf-8")
    study = StudyFile.from_file(tmp_path / "curve.toml")
    table = run_sweep(Sweep(study), tmp_path / "out", executor=Overloaded())
    place = table.column_names.index("latency_ns")
    steep = table.set_column(place, table.schema.field(place), [[1.0, 2, 3, 40, 50, 60]])
    for values, scale in ((table, "linear"), (steep, "log")):
        axes = draw_figure(study, values, study.figure[0]).axes[0]
        assert axes.get_yscale() == scale
        ticks = [text.get_text() for text in axes.get_xticklabels()]
        assert ticks == ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6"]
        assert "\n" in axes.get_ylabel()
    print_points(Console(width=100), study, steep.to_pylist(), tmp_path)
    said = capsys.readouterr().out
    assert said.count("†") == 4 and "0.4 †" in said and "traffic of load piles up" in said


def test_what_a_worker_finds_says_which_jobs_are_saturated(tmp_path: Path) -> None:
    from odonata.study.task import simulate_task

    for load, saturated in ((0.02, []), (1.0, ["load"])):
        data = Scenario.from_toml(
            """
            simulation = { packet = "256 B", warmup = "10 us", duration = "50 us" }
            [network]
            family = "dragonfly"
            p = 2
            a = 2
            h = 1
            [[job]]
            name = "load"
            nodes = 12
            traffic = { pattern = "adversarial", message = "256 B", load = 0.5 }
            """
        ).with_set([f"job.0.traffic.load={load}"])
        task = Task("key", "", "a point", data.to_dict(), str(tmp_path), [])
        assert list(simulate_task(task).saturated) == saturated


# --- By the rules of studies ----------------------------------------------------------

RULED = """
title = "By intervals"
judged = "intervals"
repetitions = 5
lacking = ["Figure 9: nobody counts that."]
[scenario]
[[axis]]
name = "load"
key = "job.0.traffic.load"
values = [0.1, 0.2]
[[measure]]
figure = "job.0.message_latency_mean_ps"
name = "latency"
unit = "us"
[[parameter]]
name = "buffers of 8 KiB"
from = "fit"
source = "the first finding"
fitted_to = ["at 10 %"]
[[parameter]]
name = "T = 50 %"
from = "paper"
source = "3.1.2"
[[finding]]
claim = "at 10 %"
source = "x"
quantity = "value"
y = "latency_us"
only = "load == 0.1"
at_least = 1.0
at_most = 1.2
[[finding]]
claim = "at 20 %"
source = "x"
quantity = "value"
y = "latency_us"
only = "load == 0.2"
at_least = 2.0
at_most = 2.2
slack = 0
"""


def _judged(values: list[float], *, quick: bool = False) -> list[str]:
    study = StudyFile.from_dict(parse_toml(RULED, "study"))
    return [verdict.text for verdict in judge(study, _measured(values), quick=quick)]


def _measured(values: list[float]) -> pa.Table:
    """The same values at both loads."""
    rows = [(load, seed, value) for load in (0.1, 0.2) for seed, value in enumerate(values)]
    load, seed, latency = (list(column) for column in zip(*rows, strict=True))
    names = ["load", "seed", "latency_us", "saturated"]
    return pa.table([load, seed, latency, [""] * len(rows)], names=names)


def test_verdicts_by_intervals() -> None:
    """Five seeds at least, the whole interval in the range or none of it."""
    inside = [2.09, 2.1, 2.1, 2.1, 2.11]
    fitted = "fitted to: buffers of 8 KiB"
    assert _judged(inside) == [fitted, "holds"]
    assert _judged(inside[:4])[1] == "undecided"
    # The mean lies inside, the interval reaches out; and the other way round.
    assert _judged([1.8, 2.1, 2.1, 2.1, 2.4])[1] == "undecided"
    assert _judged([2.1, 2.3, 2.3, 2.3, 2.4])[1] == "undecided"
    assert _judged([2.49, 2.5, 2.5, 2.5, 2.51])[1] == "does not hold"
    assert _judged(inside, quick=True) == ["no verdict under --quick"] * 2


def test_the_interval_of_a_scatter_is_that_of_another_sample() -> None:
    """In 4,000 pairs of normal samples, the interval of the one holds the scatter of the other in
    95 % (± 1 %, three standard deviations); and it is made for the number of values."""
    draw = np.random.default_rng(3)
    for count in (5, 15):
        inside = 0
        for _ in range(4000):
            # Spread of 1 % of the mean, so that the median is 100 to within what does not matter.
            one, other = (
                Cell({}, dict(enumerate(100 + draw.standard_normal(count)))).relative_range()
                for _ in range(2)
            )
            inside += one.low <= other.value <= one.high
        assert abs(inside / 4000 - 0.95) < 0.0105


def test_a_choice_by_intervals_has_to_be_ahead_of_all_others() -> None:
    """Two routings and a published best: ahead of the other by more than the interval of pairs it
    holds, behind by more it does not, and within it, or with four seeds, nothing is said."""
    finding = """
[[finding]]
claim = "best"
source = "x"
quantity = "best"
y = "latency_us"
over = ["load"]
values = { load = 0.1 }
"""
    study = StudyFile.from_dict(parse_toml(RULED + finding, "study"))
    for other, count, word in (
        ([1.21, 1.19, 1.2, 1.2, 1.22], 5, "holds"),
        ([0.81, 0.79, 0.8, 0.8, 0.82], 5, "does not hold"),
        ([1.3, 0.8, 1.2, 0.9, 1.0], 5, "undecided"),
        ([1.21, 1.19, 1.2, 1.2, 1.22], 4, "undecided"),
    ):
        rows = [
            (load, seed, value)
            for load, values in ((0.1, [1.0] * 5), (0.2, other))
            for seed, value in enumerate(values[:count])
        ]
        columns = [list(column) for column in zip(*rows, strict=True)]
        names = ["load", "seed", "latency_us", "saturated"]
        table = pa.table([*columns, [""] * len(rows)], names=names)
        verdict = judge(study, table)[-1]
        assert verdict.text == word
        assert verdict.seeds == str(count)
        # A third routing that the study has and the data lack may be better than both.
        loads = [{"load": load} for load in (0.1, 0.2, 0.3)]
        assert judge(study, table, points=loads)[-1].text == "not measured"
        assert judge(study, table, points=loads[:2])[-1].text == word


def test_a_mean_of_all_combinations_is_judged_by_the_mean_of_their_intervals(
    tmp_path: Path,
) -> None:
    """1 and 3 µs, each ± 0.1 or more, are 2 on average, of at most 2 ± 0.1 or more: no narrower
    than if all that they have in common pulled both to the same side."""
    finding = """
[[finding]]
claim = "on average"
source = "x"
quantity = "value"
y = "latency_us"
combinations = "mean"
at_least = 1.8
at_most = 2.2
slack = 0
"""
    study = StudyFile.from_dict(parse_toml(RULED + finding, "study"))
    loads = [{"load": load} for load in (0.1, 0.2, 0.3)]

    def judged(
        spread: float, count: int = 5, points: list[dict[str, float]] = loads[:2]
    ) -> Verdict:
        steps = [spread * step for step in (-1, 0, 0, 0, 1)][:count]
        rows = [
            (load, seed, mean + step)
            for load, mean in ((0.1, 1.0), (0.2, 3.0))
            for seed, step in enumerate(steps)
        ]
        columns = [list(column) for column in zip(*rows, strict=True)]
        names = ["load", "seed", "latency_us", "saturated"]
        table = pa.table([*columns, [""] * len(rows)], names=names)
        return judge(study, table, points=points)[-1]

    narrow = judged(0.05)
    assert narrow.text == "holds"
    assert narrow.ours.startswith("2.00 µs (1.9")
    assert narrow.published == "mean: 1.8 … 2.2 µs"
    parts = [one.ours for one in narrow.observations]
    assert narrow.mean is not None
    assert narrow.mean.ours.low == pytest.approx(sum(one.low for one in parts) / 2)
    assert judged(0.5).text == "undecided"
    assert judged(0.05, count=4).text == "undecided"
    # Without one of its combinations there is no mean, and none is known to be the largest.
    assert judged(0.05, points=loads).text == "not measured"
    largest = finding.replace('"mean"', '"largest"')
    study = StudyFile.from_dict(parse_toml(RULED + largest, "study"))
    assert judged(0.05, points=loads).text == "not measured"
    assert judged(0.05).text == "does not hold"
    study = StudyFile.from_dict(parse_toml(RULED + finding, "study"))
    write_findings([narrow], tmp_path / "findings.csv")
    *_, last = (tmp_path / "findings.csv").read_text(encoding="utf-8").splitlines()
    assert ",mean,µs,2.0" in last
    page = findings_section(study, [narrow])
    assert "| mean | 2.00 µs" in page
    assert page.count("part of the mean") == 2
    choice = finding.replace('"value"', '"best"\nover = ["load"]\nvalues = { load = 0.1 }')
    with pytest.raises(ScenarioError, match="combinations"):
        StudyFile.from_dict(parse_toml(RULED + choice, "study"))


def test_a_mean_of_ratios_counts_combinations_that_have_both_sides() -> None:
    """At a load of 0.2 the study has placement a alone, so that the ratio at 0.1 is their mean; one
    that the data lack at 0.2, though the study has it, is missing."""
    finding = """
[[finding]]
claim = "on average"
source = "x"
quantity = "ratio"
y = "latency_us"
this = "placement == 'a'"
to = "placement == 'b'"
combinations = "mean"
at_most = 2.1
"""
    axis = """
[[axis]]
name = "placement"
setting = [{ label = "a", set = {} }, { label = "b", set = {} }]
[[measure]]
"""
    study = StudyFile.from_dict(
        parse_toml(RULED.replace("\n[[measure]]\n", axis) + finding, "study")
    )
    points = [(0.1, "a"), (0.1, "b"), (0.2, "a")]
    rows = [
        (load, placement, seed, 2.0 if placement == "a" else 1.0 + 1e-3 * seed)
        for load, placement in points
        for seed in range(5)
    ]
    columns = [list(column) for column in zip(*rows, strict=True)]
    names = ["load", "placement", "seed", "latency_us", "saturated"]
    table = pa.table([*columns, [""] * len(rows)], names=names)
    there = [{"load": load, "placement": placement} for load, placement in points]
    assert judge(study, table, points=there)[-1].text == "holds"
    more = [*there, {"load": 0.2, "placement": "b"}]
    assert judge(study, table, points=more)[-1].text == "not measured"


def test_a_fit_names_findings_that_there_are() -> None:
    for wrong, place in (
        (RULED.replace('fitted_to = ["at 10 %"]', 'fitted_to = ["at 30 %"]'), "fitted_to[0]"),
        (RULED.replace('from = "paper"', 'from = "fit"'), "parameter[1].fitted_to"),
        (RULED.replace('from = "fit"', 'from = "paper"'), "parameter[0].fitted_to"),
    ):
        with pytest.raises(ScenarioError, match=re.escape(place)):
            StudyFile.from_dict(parse_toml(wrong, "study"))


def test_the_page_says_where_parameters_are_from_and_what_is_lacking() -> None:
    from odonata.study.dataset import build_dataset
    from odonata.study.page import page

    study = StudyFile.from_dict(parse_toml(RULED, "study"))
    table = build_dataset(study, [], {})
    text = page(study, table, judge(study, table), [], command="x", total=0)
    assert "| buffers of 8 KiB | a fit | the first finding; fitted on: at 10 % |" in text
    assert "| T = 50 % | the paper | 3.1.2 |" in text
    assert "- Figure 9: nobody counts that." in text


def test_the_page_begins_with_what_was_found_and_a_picture() -> None:
    from odonata.study.page import page

    figure = '[[figure]]\nname = "all"\ntitle = "All of it"\nx = "load"\ny = "latency_us"\n'
    study = StudyFile.from_dict(parse_toml(RULED + figure, "study"))
    verdicts = judge(study, _measured([2.09, 2.1, 2.1, 2.1, 2.11]))
    text = page(study, _measured([2.1]), verdicts, ["all.png"], command="x", total=0)
    # One finding is what the buffers were fitted to, the other is judged.
    assert text.split("\n")[2:5] == [
        "Of 2 published findings: 1 *holds*, 1 *fitted to*.",
        "",
        "![All of it](all.png)",
    ]
    assert "## Figures" not in text, "the only picture is at the top"


def test_a_fitted_finding_is_not_judged_by_its_combinations_either() -> None:
    from odonata.study.page import page

    study = StudyFile.from_dict(parse_toml(RULED, "study"))
    table = _measured([2.09, 2.1, 2.1, 2.1, 2.11])
    text = page(study, table, judge(study, table), [], command="x", total=0)
    fitted, held = text.split("### 1. ")[1].split("### 2. ")
    assert "| – |" in fitted
    assert "holds |" not in fitted
    assert "| holds |" in held
