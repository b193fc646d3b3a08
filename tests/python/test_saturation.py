"""Replications, and the search for the load at which a network saturates."""

import json
import math
from pathlib import Path
from statistics import mean, stdev

import pyarrow.parquet as pq
import pytest

import odonata
from odonata import Result, Scenario, ScenarioError
from odonata.cli import main
from odonata.output import Claim
from odonata.study.replication import figures_of_jobs, replicate
from odonata.study.saturation import (
    LoadPoint,
    Saturation,
    answer,
    at_load,
    bracket,
    draw,
    find_saturation,
    write,
)

TEXT = """
title = "Every node of a group sends to the next group"

[network]
family = "dragonfly"
p = 2
a = 4
h = 2

[network.links]
terminal = { bandwidth = "8 GB/s", latency = "10 ns" }
local = { bandwidth = "8 GB/s", latency = "10 ns" }
global = { bandwidth = "8 GB/s", latency = "100 ns" }

[simulation]
packet = "256 B"
warmup = "20 us"
duration = "80 us"

[[job]]
name = "load"
nodes = 72
traffic = { pattern = "adversarial", message = "256 B", load = 0.05 }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "adversarial.toml"
    path.write_text(TEXT)
    return path


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    assert isinstance(stop.value.code, int)
    return stop.value.code


def test_saturation_is_where_theory_has_it(file: Path, tmp_path: Path) -> None:
    """Eight nodes share the one link to the next group: 1/8 of their links' bandwidth."""
    out = tmp_path / "out"
    scenario = Scenario.from_file(file)
    found = find_saturation(scenario, out, highest=0.3, tolerance=0.02, jobs=2)
    assert found.uncertainty <= 0.01 * 0.3
    # A shortfall of 1 % is seen at 1/8 / 0.99; queues near the limit take a little longer to fill.
    assert 0.99 / 8 < found.load < 1.03 / 8
    assert found.throughput == pytest.approx(1 / 8, rel=0.01)
    loads = [point.load for point in found.points]
    assert loads == sorted(loads)
    for point in found.points:
        assert point.saturated == (point.load > found.load)
    with_seeds = ("--seeds", 3, "--highest", 0.3, "--tolerance", "5%", "--jobs", 2)
    three = tmp_path / "three"
    assert run("saturation", file, *with_seeds, "--out", three) == 0
    saved = json.loads((three / "saturation.json").read_text())
    assert [row["seed"] for row in saved["seeds"]] == [scenario.seed + n for n in range(3)]
    loads = [row["load"] for row in saved["seeds"]]
    # Student's factor of three values is 4.303.
    assert saved["load_ci95"] == pytest.approx(4.303 * stdev(loads) / math.sqrt(3), rel=1e-3)
    assert saved["load_mean"] == pytest.approx(mean(loads))
    detours = tmp_path / "detours"
    valiant = ("--set", "network.routing=valiant", "--highest", 0.6, "--tolerance", "5%")
    assert run("saturation", file, *valiant, "--out", detours) == 0
    compared = odonata.compare(three, detours)
    rows = {(row["quantity"], row["result"]): row for row in compared.table.to_pylist()}
    assert rows["saturation_load", "three"]["value"] == pytest.approx(mean(loads))
    # Detours by any group carry 1/2 of what the links between groups do.
    assert rows["saturation_load", "detours"]["change"] > 2
    assert rows["saturation_load", "three"]["value_ci95"] == pytest.approx(saved["load_ci95"])
    assert odonata.study.saturation.load(three).by_seed.keys() == {1, 2, 3}
    # Again: everything is known, nothing is simulated.
    before = (out / "points.jsonl").read_bytes()
    assert find_saturation(scenario, out, highest=0.3, tolerance=0.02, jobs=2) == found
    assert (out / "points.jsonl").read_bytes() == before


def test_saturation_on_the_command_line(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    short = ("--set", "simulation.duration=40 us", "--tolerance", "20%", "--out", out)
    assert run("saturation", file, *short, "--highest", "30 %", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert abs(said["load"] - 0.125) < 0.03
    assert [p["saturated"] for p in said["curve"]] == sorted(p["saturated"] for p in said["curve"])
    kept = json.loads((out / "saturation.json").read_text())
    assert kept == {key: said[key] for key in kept}
    written = pq.read_table(out / "saturation.parquet")
    units = [(field.metadata or {}).get(b"unit", b"").decode() for field in written.schema]
    # Load; offered, accepted and its interval; latency, its interval and quantile; saturated.
    assert units == ["", "B/s", "B/s", "B/s", "ps", "ps", "ps", ""]
    rows = written.to_pylist()
    assert [row["load"] for row in rows] == [point["load"] for point in said["curve"]]
    assert (out / "saturation.png").stat().st_size > 10_000
    # Below its limit there is nothing to find, and it says so.
    below = ("--set", "simulation.duration=40 us", "--highest", "0.08", "--out", tmp_path / "low")
    assert run("saturation", file, *below) == 0
    assert "Does not saturate up to a load of 0.08" in capsys.readouterr().out
    assert run("saturation", file, "--tolerance", "2") == 2
    assert "--tolerance" in capsys.readouterr().err


def point(load: float, accepted: float, ci95: float = 0.0) -> LoadPoint:
    return LoadPoint(load, load * 100, accepted, ci95, 1.0, 0.0, 1.0)


def test_a_load_is_saturated_if_it_falls_behind_for_certain() -> None:
    assert not point(0.5, 49.6).saturated  # by less than 1 %
    assert point(0.5, 49.0).saturated
    assert not point(0.5, 49.0, ci95=1.5).saturated  # perhaps not at all
    assert bracket([point(0.2, 20), point(0.4, 30), point(0.3, 30)]) == (0.3, 0.4)
    assert bracket([point(0.2, 10)]) == (0.0, 0.2)
    assert bracket([point(0.2, 20)]) == (0.2, math.inf)


def overloaded(load: float) -> LoadPoint:
    """So far beyond saturation that nothing created after the warm-up arrived."""
    return LoadPoint(load, load * 100, 3.0, math.nan, math.nan, math.nan, math.nan)


def test_points_without_a_latency_have_no_value_anywhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from odonata.cli.shared import print_json, terminal
    from odonata.report.summaries import print_saturation

    found = Saturation(0.03, 0.001, 0.03, [point(0.02, 2.0), overloaded(0.5), overloaded(1.0)])
    scenario = Scenario.from_toml(TEXT)
    with Claim(tmp_path) as claim:
        write(found, scenario, claim)
    rows = pq.read_table(tmp_path / "saturation.parquet").to_pylist()
    assert [row["latency_ps"] for row in rows] == [1.0, None, None]
    assert "nan" not in (tmp_path / "saturation.csv").read_text()
    print_saturation(terminal(), scenario.title, found, tmp_path)
    said = capsys.readouterr().out
    assert "nan" not in said
    assert "no message that was created after the warm-up arrived" in " ".join(said.split())
    print_json({"curve": [vars(one) for one in found.points], "load": math.inf})
    answer = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert answer["load"] is None
    assert [one["latency_ps"] for one in answer["curve"]] == [1.0, None, None]


@pytest.mark.parametrize(
    "points",
    [
        [overloaded(0.5), overloaded(1.0)],
        [point(0.1, 10.0), overloaded(0.5)],
        [point(0.1, 10.0), point(0.2, 20.0)],
    ],
    ids=["all saturated", "one measured", "none saturated"],
)
def test_any_curve_is_drawn_without_a_warning(tmp_path: Path, points: list[LoadPoint]) -> None:
    low, high = bracket(points)
    load = math.nan if math.isinf(high) else (low + high) / 2
    draw(Saturation(load, load - low, 0.1, points), tmp_path / "saturation.png")
    assert (tmp_path / "saturation.png").stat().st_size > 10_000


def test_the_search_needs_a_load(file: Path) -> None:
    scenario = Scenario.from_file(file)
    assert at_load(scenario, 0.25).job[0].traffic.load == 0.25  # type: ignore[union-attr]
    # Of a rate, which machines with mixed links need, a load is a share.
    text = TEXT.replace("load = 0.05", 'rate = "1 GB/s"')
    assert at_load(Scenario.from_toml(text), 0.25).to_dict()["job"][0]["traffic"]["rate"] == (
        "250 MB/s"
    )
    text = TEXT.replace("load = 0.05", 'interval = "1 us"')
    with pytest.raises(ScenarioError, match="an interval or a TGLL"):
        at_load(Scenario.from_toml(text), 0.25)
    motif = TEXT.split("traffic = ")[0] + 'motif = { kind = "all-to-all", message = "1 kB" }'
    with pytest.raises(ScenarioError, match="no job with traffic"):
        at_load(Scenario.from_toml(motif), 0.25)


def test_replications_keep_every_result_and_their_means(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    scenario = Scenario.from_file(file).with_set(["simulation.duration=30 us", "seed=5"])
    table = replicate(scenario, 3, out, jobs=2)
    kept = [Result.load(out / f"seed-{seed}") for seed in (5, 6, 7)]
    latencies = [r.summary_dict["jobs"][0]["message_latency_mean_ps"] for r in kept]
    assert len(set(latencies)) == 3
    row = figures_of_jobs(table)["load"]["message_latency_mean_ps"]
    assert row["mean"] == pytest.approx(sum(latencies) / 3)
    assert (row["minimum"], row["maximum"]) == (min(latencies), max(latencies))
    assert row["ci95"] == pytest.approx(4.303 * row["deviation"] / math.sqrt(3), rel=1e-3)
    assert pq.read_table(out / "replications.parquet").equals(table)
    with pytest.raises(ValueError, match="at least 2"):
        replicate(scenario, 1, tmp_path / "one")


def test_replications_on_the_command_line(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = ("--set", "simulation.duration=25 us", "--out", tmp_path / "out")
    assert run("run", file, *short, "--replications", 2, "--jobs", 2) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "2 replications, seeds 1 to 2" in said
    assert "mean latency" in said
    # Results are never overwritten, and options that contradict each other are refused.
    assert run("run", file, *short, "--replications", 2) == 4
    assert run("run", file, "--replications", 2, "--threads", 2, "--out", tmp_path / "x") == 2
    assert run("run", file, "--jobs", 2, "--out", tmp_path / "x") == 2


def test_a_bracket_is_part_of_the_interval_and_seeds_are_told_apart(tmp_path: Path) -> None:
    """Three seeds that agree do not make the bracket of each search any narrower."""
    points = [LoadPoint(load, load, min(load, 0.25), 0.0, 1e6, 1e4, 2e6) for load in (0.1, 0.3)]
    same = dict.fromkeys((1, 2, 3), (0.2, 0.25, 1e6))
    found = Saturation(0.2, 0.1, 0.24, points, same)
    assert answer(found).startswith("saturates at a load of 0.2 ± 0.1 (± 0.1 is the bracket")
    assert found.mean_throughput == pytest.approx(0.25)
    draw(found, tmp_path / "a.svg")
    words = (tmp_path / "a.svg").read_text()
    assert "mean of 3 seeds" in words and "Latency below saturation, seed 1" in words
