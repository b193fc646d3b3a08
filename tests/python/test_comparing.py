"""Results beside each other: what changed, and how surely."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import odonata
from command import call
from odonata import OutputError, Scenario, compare
from odonata.cli import main
from odonata.results import Result
from odonata.study.cells import Cell
from odonata.study.comparing import change_of
from odonata.study.intervals import interval
from synthetic import engine_result

SCENARIO = """
seed = {seed}
[network]
family = "dragonfly"
p = 2
a = 4
h = 2
routing = "{routing}"
[[job]]
name = "halo"
nodes = 36
motif = {{ kind = "all-to-all", message = "1 kB" }}
[[job]]
name = "all-to-all"
nodes = 36
motif = {{ kind = "all-to-all", message = "1 kB" }}
"""


def save(
    directory: Path,
    *,
    seed: int = 1,
    factor: float = 1.0,
    routing: str = "minimal",
    ci95: float = 0,
    names: Sequence[str] = ("halo", "all-to-all"),
    classes: Sequence[str] = ("terminal", "local", "global"),
    p99: float = 1,
) -> Path:
    """A made-up result whose latencies are multiplied by a factor, its first p99 by another."""
    raw = engine_result(seed=seed)
    raw["jobs"]["name"], raw["meta"]["link_classes"] = [*names], [*classes]
    raw["jobs"]["message_latency_p99_ps"][0] *= p99
    raw["meta"]["routing"] = routing
    for name, values in raw["jobs"].items():
        if name.startswith("message_latency"):
            raw["jobs"][name] = [factor * value for value in values]
    if ci95:
        row = {
            "job": 0,
            "quantity": 0,
            "mean": raw["jobs"]["message_latency_mean_ps"][0],
            "ci95": ci95 * raw["jobs"]["message_latency_mean_ps"][0],
            "batches": 30,
            "batch_ps": 1000,
            "autocorrelation": 0.0,
            "uncorrelated": True,
            "from_ps": 0,
        }
        statistics = raw["statistics"]
        raw["statistics"] = {name: [row.get(name, 0)] for name in statistics}
    scenario = Scenario.from_toml(SCENARIO.format(seed=seed, routing=routing))
    result = Result.from_engine(raw, scenario)
    return result.save(directory)


def rows(found: object, name: str, quantity: str) -> list[dict[str, object]]:
    table = found.table  # type: ignore[attr-defined]
    return [r for r in table.to_pylist() if (r["name"], r["quantity"]) == (name, quantity)]


def test_two_runs_differ_by_what_differs(tmp_path: Path) -> None:
    one = save(tmp_path / "minimal")
    two = save(tmp_path / "par", factor=1.25, routing="par")
    found = compare(one, two)
    assert [r.label for r in found.results] == ["minimal", "par"]
    assert found.settings == {"network.routing": ["minimal", "par"]}
    base, other = rows(found, "halo", "message_latency_mean_ps")
    assert base["change"] is None
    assert other["value"] == pytest.approx(1.25 * base["value"])
    assert other["change"] == pytest.approx(0.25)
    # One run each tells nothing of chance.
    assert other["change_low"] is None and other["differs"] is None
    (_, same) = rows(found, "local", "utilisation_mean")
    assert same["change"] == 0
    assert found.notices == []


def test_links_that_differ_in_bandwidth_are_said(tmp_path: Path) -> None:
    job = {"nodes": 4, "motif": {"kind": "all-to-all", "message": "1 kB"}}
    halved = {"local": {"bandwidth": "8 GiB/s"}}
    for name, network in (
        ("crossbar", {"family": "crossbar", "nodes": 4}),
        ("ring", {"family": "torus", "size": [4], "links": halved}),
    ):
        odonata.run(Scenario.from_dict({"network": network, "job": [job]})).save(tmp_path / name)
    found = compare(tmp_path / "crossbar", tmp_path / "ring")
    sentence = (
        "Links of the networks differ in bandwidth (crossbar: 17.2 GB/s; ring: terminal "
        "17.2 GB/s, dim1 8.59 GB/s)."
    )
    assert found.notices == [sentence]
    found.save(tmp_path / "both")
    done = call("show", "both", directory=tmp_path)
    assert sentence in done.stdout
    done = call("topology", "describe", "ring/scenario.toml", directory=tmp_path)
    assert "Links differ in bandwidth (terminal 17.2 GB/s, dim1 8.59 GB/s)." in done.stdout


def test_replications_with_the_same_seeds_are_pairs(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        save(tmp_path / "a" / f"seed-{seed}", seed=seed)
        save(tmp_path / "b" / f"seed-{seed}", seed=seed, factor=1.02)
        save(tmp_path / "c" / f"seed-{seed + 10}", seed=seed + 10)
    found = compare(tmp_path / "a", tmp_path / "b", tmp_path / "c")
    base, paired, apart = rows(found, "halo", "message_latency_mean_ps")
    assert (base["runs"], paired["runs"], apart["runs"]) == (3, 3, 3)
    # By pairs, a change of 2 % is certain however much seeds differ from each other.
    assert paired["change"] == pytest.approx(0.02)
    assert paired["change_high"] - paired["change_low"] == pytest.approx(0, abs=1e-9)
    assert paired["differs"] is True
    # With other seeds it is a difference of two means.
    values = [
        [one.summaries[seed]["jobs"][0]["message_latency_mean_ps"] for seed in one.summaries]
        for one in found.results
    ]
    a, c = interval(values[0]), interval(values[2])
    assert base["value_ci95"] == pytest.approx(a.half_width)
    width = math.hypot(c.half_width / a.mean, c.mean * a.half_width / a.mean**2)
    assert apart["change"] == pytest.approx(c.mean / a.mean - 1)
    assert apart["change_high"] - apart["change"] == pytest.approx(width)
    assert apart["differs"] is False


def test_a_steady_state_has_an_interval_of_its_own(tmp_path: Path) -> None:
    one = save(tmp_path / "one", ci95=0.02)
    two = save(tmp_path / "two", factor=1.1, ci95=0.03)
    _, other = rows(compare(one, two), "halo", "message_latency_mean_ps")
    assert other["change"] == pytest.approx(0.1)
    assert other["change_high"] == pytest.approx(0.1 + 1.1 * math.hypot(0.02, 0.03))
    assert other["differs"] is True
    _, less = rows(compare(one, save(tmp_path / "three", factor=1.02, ci95=0.03)), "halo",
                   "message_latency_mean_ps")  # fmt: skip
    assert less["differs"] is False


def test_the_interval_of_a_ratio_covers_as_often_as_it_says() -> None:
    """About 95 % of 400 pairs of samples with means 10 and 12 cover the true change."""
    import numpy as np

    chance = np.random.default_rng(5)
    covered = 0
    for _ in range(400):
        a = Cell({}, dict(enumerate(chance.normal(10, 0.8, 8).tolist())))
        b = Cell({}, {100 + k: v for k, v in enumerate(chance.normal(12, 0.8, 8).tolist())})
        halves = [interval(list(cell.values.values())).half_width for cell in (b, a)]
        found = change_of(b, a, *halves)
        covered += found.low <= 0.2 <= found.high
    assert 0.93 <= covered / 400 <= 1.0


def test_what_is_not_in_all_results_is_said(tmp_path: Path) -> None:
    one = save(tmp_path / "one")
    found = compare(one, save(tmp_path / "two", names=("halo", "another")))
    assert found.left_out == ["job all-to-all", "job another"]
    assert not rows(found, "all-to-all", "run_time_ps")
    none = {"names": ("a third", "another")}
    words = compare(one, save(tmp_path / "three", **none)).plot().axes[1].texts
    assert [text.get_text() for text in words] == ["No job is in all of the results."]
    four = save(tmp_path / "four", **none, classes=("other", "links", "here"))
    with pytest.raises(ValueError, match="without a job or link class of the same name"):
        compare(one, four)


def test_names_tell_results_apart(tmp_path: Path) -> None:
    paths = [save(tmp_path / name / "run") for name in ("a", "b")]
    assert [one.label for one in compare(*paths).results] == ["a/run", "b/run"]
    assert [one.label for one in compare(paths[0], paths[0]).results] == ["run (1)", "run (2)"]


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    assert isinstance(stop.value.code, int)
    return stop.value.code


def test_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    for seed in (1, 2):
        save(Path("a") / f"seed-{seed}", seed=seed)
        save(Path("b") / f"seed-{seed}", seed=seed, factor=0.5, routing="par")
    assert run("compare", "a", "b") == 0
    said = capsys.readouterr().out
    assert "network.routing" in said
    # A file has no bold.
    assert "* -50.0 %" in said and "*: the 95 % interval excludes" in said
    assert "results/compare-1" in said
    files = {path.name for path in Path("results/compare-1").iterdir()}
    assert files == {
        "comparison.parquet",
        "comparison.csv",
        "comparison.json",
        "comparison.png",
    }
    assert Path("results/compare-1/comparison.png").stat().st_size > 20_000
    table = pq.read_table("results/compare-1/comparison.parquet")
    assert set(table["result"].to_pylist()) == {"a", "b"}
    # The next one takes the next name; one that was asked for is never overwritten.
    assert run("compare", "a", "b", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["directory"] == "results/compare-2"
    assert answer["settings"] == {"network.routing": ["minimal", "par"]}
    assert len(answer["figures"]) == table.num_rows
    assert run("compare", "a", "b", "--out", "results/compare-1") == 4
    assert run("compare", "a") == 2
    assert "at least two" in capsys.readouterr().err
    Path("empty").mkdir()
    assert run("compare", "a", "empty") == 4
    assert "found no results; allowed: the directory of a run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "words"), [('{"schema": -1}', "format -1"), ("{", "cannot be read")]
)
def test_other_formats_and_damage_are_errors(tmp_path: Path, content: str, words: str) -> None:
    one, two = save(tmp_path / "one"), save(tmp_path / "two")
    (two / "result.json").write_text(content)
    with pytest.raises(OutputError, match=words):
        compare(one, two)


def test_the_picture_has_every_format_and_its_words_are_in_it(tmp_path: Path) -> None:
    found = compare(*(save(tmp_path / name, factor=f) for name, f in (("x", 1.0), ("y", 2.0))))
    for ending in ("png", "pdf", "svg"):
        figure = found.plot(tmp_path / f"picture.{ending}")
        assert (tmp_path / f"picture.{ending}").stat().st_size > 5_000
    labels = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert "halo: mean latency" in labels and "local: mean utilisation" in labels
    assert "no intervals" in figure.axes[0].get_xlabel()


def test_changes_of_next_to_nothing_are_not_drawn(tmp_path: Path) -> None:
    """Blocking of less than 0.01 % in both is shown as the same: 16 % less of it says nothing."""
    found = compare(save(tmp_path / "one"), save(tmp_path / "two", factor=1.05))
    names, quantities = found.table["name"].to_pylist(), found.table["quantity"].to_pylist()
    places = [n for n, one in enumerate(quantities) if (names[n], one) == ("global", "stall_mean")]
    for size, drawn in ((5e-5, False), (5e-3, True)):
        rows = found.table.to_pylist()
        for place, change in zip(places, (None, -0.16), strict=True):
            rows[place] |= {"value": size * (1 + (change or 0)), "change": change}
        table = pa.Table.from_pylist(rows, schema=found.table.schema)
        axes = replace(found, table=table).plot().axes[0]
        labels = [text.get_text() for text in axes.get_yticklabels()]
        assert ("global: mean blocking" in labels) == drawn


@pytest.mark.parametrize("p99", [1, 60])
def test_one_large_change_leaves_room_for_the_others(tmp_path: Path, p99: float) -> None:
    one = save(tmp_path / "minimal")
    two = save(tmp_path / "par", factor=1.05, routing="par", p99=p99)
    axes = compare(one, two).plot().axes[0]
    high = axes.get_xlim()[1]
    at = axes.transAxes.inverted().transform(axes.transData.transform([(0, 0), (5, 0)]))[:, 0]
    # 5 % and none can be told apart, and all changes are within the axis.
    assert at[1] - at[0] > 0.08
    assert high > 100 * (1.05 * p99 - 1)
    assert ("logarithmic beyond 10 %" in axes.get_xlabel()) == (p99 > 1)


def test_lengths_are_told_where_latencies_grow_with_them(tmp_path: Path) -> None:
    """Half of what an adversarial load of 0.5 offers piles up; of 0.05 all arrives."""
    for load, told in ((0.5, True), (0.05, False)):
        directories = []
        for duration in ("15 us", "40 us"):
            traffic = {"pattern": "adversarial", "message": "512 B", "load": load}
            scenario = Scenario.from_dict(
                {
                    "network": {"family": "dragonfly", "p": 2, "a": 4, "h": 2},
                    "simulation": {"warmup": "5 us", "duration": duration},
                    "job": [{"name": "load", "nodes": 72, "traffic": traffic}],
                }
            )
            name = f"{load}-{duration.partition(' ')[0]}"
            directories.append(odonata.run(scenario).save(tmp_path / name))
        said = [one for one in compare(*directories).notices if "different times" in one]
        expected = (
            f"Measured for different times: {load}-15 10.0 µs, {load}-40 35.0 µs. Latencies of "
            "load grow with that time, so that their change is no effect of the settings alone."
        )
        assert said == [expected] * told


def test_an_interval_that_tells_nothing_is_not_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    for seed, factor in ((1, 1.0), (2, 9.0), (3, 2.0)):
        save(Path("a") / f"seed-{seed}", seed=seed)
        save(Path("b") / f"seed-{seed}", seed=seed, factor=factor)
    assert run("compare", "a", "b") == 0
    said = capsys.readouterr().out
    assert "not told apart" in said and "± 0.0" in said
    assert not [line for line in said.splitlines() if "mean latency" in line and "±" in line]


def test_interference_with_and_without_congestion_control(tmp_path: Path) -> None:
    """Three nodes overwhelm a fourth and with it the switches that other flows pass."""
    jobs = [
        {
            "name": "incast",
            "placement": [0, 8, 16, 24],
            "traffic": {
                "pattern": "hot-spot",
                "hot_ranks": [0],
                "fraction": 1.0,
                "load": 1.0,
                "message": "64 KiB",
            },
        },
        {
            "name": "victim",
            "placement": [9, 1],
            "traffic": {"pattern": "shift", "offset": 1, "load": 0.3, "message": "4 KiB"},
        },
    ]
    scenario = Scenario.from_dict(
        {
            "network": {"family": "dragonfly", "p": 2, "a": 4, "h": 2},
            "simulation": {"warmup": "20 us", "duration": "120 us"},
            "job": jobs,
        }
    )
    slowdowns = {}
    for name, changes in (("none", {}), ("cc", {"network.nic.congestion_control": "slingshot"})):
        analysis = odonata.interference(scenario, set=changes, out=tmp_path / name, jobs=2)
        slowdowns[name] = analysis.slowdown("victim")
    found = compare(tmp_path / "none", tmp_path / "cc")
    _, row = rows(found, "victim", "mean_slowdown")
    assert row["value"] == slowdowns["cc"] < slowdowns["none"]
    assert row["change"] == pytest.approx(slowdowns["cc"] / slowdowns["none"] - 1)
    assert any("none: incast is saturated" in one for one in found.notices)
    (axes,) = found.plot().axes
    labels = [text.get_text() for text in axes.get_yticklabels()]
    assert "victim: slowdown of the mean latency" in labels


def test_curves_of_saturations_lie_over_each_other(tmp_path: Path) -> None:
    scenario = Scenario.from_dict(
        {
            "network": {"family": "dragonfly", "p": 2, "a": 4, "h": 2},
            "simulation": {"warmup": "5 us", "duration": "25 us"},
            "job": [
                {
                    "nodes": 72,
                    "traffic": {"pattern": "adversarial", "message": "512 B", "load": 0.1},
                }
            ],
        }
    )
    curves = [
        odonata.saturation(
            scenario, highest=0.6, tolerance=0.3, routing=routing, jobs=2, out=tmp_path / routing
        )
        for routing in ("minimal", "valiant")
    ]
    compared = compare(tmp_path / "minimal", tmp_path / "valiant")
    # A bracket is no confidence interval: another seed can move the load by more.
    loads = [row for row in compared.table.to_pylist() if row["quantity"] == "saturation_load"]
    assert loads[1]["change"] > 1
    assert [(row["value_ci95"], row["change_low"], row["differs"]) for row in loads] == [
        (None, None, None)
    ] * 2
    told = "minimal: the saturation load is that of one seed, in a bracket of ± "
    assert any(told in sentence for sentence in compared.notices)
    right = compared.plot().axes[1]
    drawn = [line for line in right.lines if line.get_marker() == "o"]
    for line, curve in zip(drawn, curves, strict=True):
        stable = [point for point in curve.points if not point.saturated]
        assert list(line.get_xdata()) == [point.load for point in stable] != []
        assert list(line.get_ydata()) == [point.latency_ps for point in stable]
