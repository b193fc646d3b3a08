"""Warm-up and precision: what a scenario may ask for, and what its result says."""

import json
from pathlib import Path

import pytest

import odonata
from odonata import Scenario, ScenarioError
from odonata.cli import main
from odonata.units import Share

TEXT = """
[network]
family = "dragonfly"
p = 2
a = 4
h = 2

[network.links]
terminal = {{ bandwidth = "8 GB/s", latency = "10 ns" }}
local = {{ bandwidth = "8 GB/s", latency = "10 ns" }}
global = {{ bandwidth = "8 GB/s", latency = "100 ns" }}

[simulation]
packet = "256 B"
warmup = "auto"
precision = "3 %"
duration = "200 us"

[[job]]
name = "load"
nodes = 72
traffic = {{ pattern = "{pattern}", message = "256 B", load = {load} }}
"""


def scenario(pattern: str = "uniform-random", load: float = 0.4) -> Scenario:
    return Scenario.from_toml(TEXT.format(pattern=pattern, load=load))


def test_shares_are_read_and_printed() -> None:
    assert Share("2 %").fraction == 0.02
    assert Share("0.5%").fraction == 0.005
    assert str(Share("2.50 %")) == "2.5 %"
    simulation = scenario().normalised()["simulation"]
    assert (simulation["detect_warmup"], simulation["precision"]) == (True, 0.03)
    assert Scenario.from_toml(scenario().to_toml()) == scenario()


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ('simulation.precision="80 %"', "simulation.precision"),
        ("simulation.precision=0.02", "simulation.precision"),
        ("simulation.warmup=soon", "simulation.warmup"),
        ('simulation.warmup="300 us"', "simulation.warmup"),
    ],
)
def test_what_makes_no_sense_is_refused(change: str, path: str) -> None:
    with pytest.raises(ScenarioError) as error:
        scenario().with_set([change])
    assert [problem.path for problem in error.value.problems] == [path]


def test_both_need_a_duration() -> None:
    text = TEXT.format(pattern="uniform-random", load=0.1).replace('duration = "200 us"', "")
    with pytest.raises(ScenarioError, match=r"simulation\.duration"):
        Scenario.from_toml(text)


def test_a_precise_run_says_what_it_reached(tmp_path: Path) -> None:
    result = odonata.run(scenario())
    run, job = result.summary_dict["run"], result.summary_dict["jobs"][0]
    assert run["warmup_found"] is True
    assert run["precision_reached"] is True
    assert 0 < run["warmup_ps"] < run["simulated_ps"] < 200_000_000
    for figure in ("message_latency_mean_ps", "accepted_bytes_per_s"):
        assert 0 < job[f"{figure}_ci95"] <= 0.031 * job[figure]
    rows = {row["quantity"]: row for row in result.statistics.to_pylist()}
    # Both means: of the messages that arrived, and of those that were created.
    mean = rows["message_latency"]["mean"]
    assert mean == pytest.approx(job["message_latency_mean_ps"], rel=0.03)
    assert rows["accepted"]["mean"] == pytest.approx(job["accepted_bytes_per_s"], rel=0.01)
    assert all(row["uncorrelated"] == 1 and row["batches"] >= 8 for row in rows.values())
    # The table is the timeline's sum from there on.
    timeline = result.timeline.to_pandas()
    width = result.meta["timeline_bin_ps"]
    first = rows["message_latency"]["from_ps"]
    whole = timeline[
        (timeline.time_ps >= first) & (timeline.time_ps + width <= run["simulated_ps"])
    ]
    assert mean == pytest.approx(whole.message_latency_sum_ps.sum() / whole.messages.sum())
    # On disk as well, and the same again.
    saved = odonata.Result.load(result.save(tmp_path / "one"))
    assert saved.summary_dict == result.summary_dict


def test_saturation_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "adversarial.toml"
    file.write_text(TEXT.format(pattern="adversarial", load=0.4).replace("200 us", "60 us"))
    with pytest.raises(SystemExit) as stop:
        main(["run", str(file), "--no-plots", "--out", str(tmp_path / "out"), "--precision", "5%"])
    assert stop.value.code == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "No steady state was found" in said
    assert "The precision of 5.0 % was not reached within the duration, 60.0 µs" in said
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["run"]["precision_reached"] is False
    assert summary["jobs"][0]["steady_from_ps"] is None


def test_a_job_that_ended_has_no_interval_of_its_rate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It sends for some 5 of 50 µs: a mean over both is no rate that scatters, and its interval
    would be wider than the rate. Its latencies count as those of any other."""
    finite = TEXT.format(pattern="uniform-random", load="0.4, messages = 60")
    endless = """
[[job]]
name = "endless"
nodes = "rest"
traffic = { pattern = "uniform-random", message = "256 B", load = 0.2 }
"""
    file = tmp_path / "two.toml"
    text = finite.replace("nodes = 72", "nodes = 36").replace('"auto"', '"0 s"')
    text = text.replace('precision = "3 %"\n', "").replace("200 us", "50 us")
    file.write_text(text + endless.replace('"rest"', "36"))
    with pytest.raises(SystemExit) as stop:
        main(["run", str(file), "--no-plots", "--out", str(tmp_path / "out")])
    assert stop.value.code == 0
    jobs = json.loads((tmp_path / "out" / "summary.json").read_text())["jobs"]
    assert [job["end_ps"] is None for job in jobs] == [False, True]
    assert jobs[0]["accepted_bytes_per_s_ci95"] is None
    assert 0 < jobs[0]["message_latency_mean_ps_ci95"] < 0.2 * jobs[0]["message_latency_mean_ps"]
    assert 0 < jobs[1]["accepted_bytes_per_s_ci95"] < 0.1 * jobs[1]["accepted_bytes_per_s"]
    said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("load: ")]
    assert len(said) == 1 and "± " in said[0] and "delivered" not in said[0]
