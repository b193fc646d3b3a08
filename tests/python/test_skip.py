"""Iterations that are passed over: what a scenario may ask for, and what its result says.

That their figures are right is tested in ``crates/odonata/tests/skip.rs``.
"""

from pathlib import Path

import pytest

import odonata
from odonata import Scenario, ScenarioError
from odonata.cli import main

TEXT = """
[network]
family = "dragonfly"
p = 2
a = 4
h = 2

[network.routing]
algorithm = "minimal"

[simulation]
skip = { error = "1 %" }

[[job]]
name = "app"
nodes = 4
motif = { kind = "sweep3d", iterations = 300, compute = "40 us" }
"""


def test_only_a_share_between_nothing_and_all_is_an_error() -> None:
    skip = Scenario.from_toml(TEXT).normalised()["simulation"]["skip"]
    assert skip == {"error": 0.01}
    for error in ('"0 %"', '"100 %"', '"-1 %"', "0.01"):
        with pytest.raises(ScenarioError) as refused:
            Scenario.from_toml(TEXT.replace('"1 %"', error))
        assert [problem.path for problem in refused.value.problems] == ["simulation.skip.error"]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ('simulation.duration="1 ms"', "simulation.duration"),
        ('simulation.timeline_bin="1 us"', "simulation.timeline_bin"),
        ("record.messages=all", "record.messages"),
        ("record.rank_activity=true", "record.rank_activity"),
        ("record.attribution=true", "record.attribution"),
        ('record.arrivals={ interval = "1 us" }', "record.arrivals"),
        ("simulation.engine=flow", "simulation.skip"),
    ],
)
def test_what_has_moments_of_its_own_is_refused(change: str, path: str) -> None:
    with pytest.raises(ScenarioError, match="skip") as error:
        odonata.run(Scenario.from_toml(TEXT).with_set([change]))
    assert [problem.path for problem in error.value.problems] == [path]


def test_something_must_repeat_itself() -> None:
    for once in ("iterations = 3,", ""):
        text = TEXT.replace("iterations = 300,", once)
        with pytest.raises(ScenarioError, match="no job that repeats itself"):
            odonata.run(Scenario.from_toml(text))
    # A job's number of messages is no iteration.
    traffic = (
        'traffic = { pattern = "uniform-random", message = "1 KiB", load = 0.1, messages = 100 }'
    )
    text = f'{TEXT}\n[[job]]\nname = "other"\nnodes = 9\n{traffic}\n'
    with pytest.raises(ScenarioError, match=r"job\[1\] with a number of `messages`"):
        odonata.run(Scenario.from_toml(text))


def test_what_is_extrapolated_is_marked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "app.toml", tmp_path / "out"
    file.write_text(TEXT)
    with pytest.raises(SystemExit) as stop:
        main(["run", str(file), "--no-plots", "--out", str(out)])
    assert stop.value.code == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "of the time is extrapolated, not simulated" in said
    assert "all that is counted had repeated exactly" in said
    result = odonata.Result.load(out)
    run = result.summary_dict["run"]
    skipped = [job["iterations"] for one in run["skipped"] for job in one["jobs"]]
    assert 270 < sum(skipped) < 300
    assert run["skipped_ps"] == sum(one["time_ps"] for one in run["skipped"])
    assert run["skipped_ps"] > 0.9 * run["simulated_ps"]
    # All that is counted repeats, so that a run that simulates everything finds the same.
    plain = odonata.run(Scenario.from_toml(TEXT.replace('skip = { error = "1 %" }', "")))
    assert "skipped" not in plain.summary_dict["run"]
    assert plain.iterations.equals(result.iterations)
    assert plain.links.equals(result.links)
