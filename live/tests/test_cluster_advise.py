"""Advice on synthetic clusters, of which the truth is known."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from command import call
from odonata.errors import ClusterError
from odonata_live.cluster.advice import Advisor, advise, forecast_busy
from odonata_live.cluster.clocks import Clocks
from odonata_live.cluster.evaluation import best_threshold, evaluate
from odonata_live.cluster.outcomes import History, Kind, Outcome
from odonata_live.cluster.probes import ProbeRun, Probes, Series
from odonata_live.cluster.watch import Store

pytest.importorskip("sklearn")

BCAST = Kind("bcast", 1 << 15, "different-islands", 16)
NOISE = 0.15


def months(jobs: int, effect: float, seed: int = 1) -> tuple[list[Outcome], History, list[float]]:
    """A job every six hours; times go with what leaves groups, of which b shows a part.

    Returns:
        Outcomes, samples of each hour, and the median time of each outcome, which no noise changed.
    """
    chance = np.random.default_rng(seed)
    hours = np.arange(6 * jobs + 48)
    noise, place = np.zeros(len(hours)), np.zeros(len(hours))
    for hour in hours[1:]:
        noise[hour] = 0.9 * noise[hour - 1] + 0.04 * chance.standard_normal()
        place[hour] = 0.9 * place[hour - 1] + 0.3 * chance.standard_normal()
    daily = 0.45 + 0.2 * np.sin(2 * np.pi * (hours % 24 - 8) / 24)
    b = np.clip(daily + noise, 0, 1)
    between = b / (1 + np.exp(-2 * place))
    found, truth = [], []
    for job in range(jobs):
        hour = 6 * job + job % 7 + 24
        busy = {"b": b[hour], "b1": b[hour], "b_between_groups": between[hour]}
        truth.append(100 * math.exp(effect * between[hour] ** 2))
        time_us = truth[-1] * math.exp(NOISE * chance.standard_normal())
        found.append(Outcome(3600.0 * hour + 60, BCAST, busy, time_us))
    samples = [
        {"time_s": 3600.0 * h, "b": b[h], "b1": b[h], "b_between_groups": between[h], "error": None}
        for h in hours
    ]
    return found, History(samples), truth


def test_a_model_is_better_than_the_threshold_of_b_where_b_is_blind() -> None:
    outcomes, history, _ = months(500, effect=2.0)
    judged = evaluate(outcomes, history, splits=3)
    assert judged.runs in (250, 251)
    # Better by more than chance, and by a wide margin than the base rate.
    assert judged.advantage_low > 0
    assert judged.model.brier < 0.85 * judged.base_rate.brier
    assert judged.b_threshold.brier < judged.b_hard.brier
    # The interval holds what it says: 90 %, within three standard errors.
    assert abs(judged.coverage - 0.9) < 3 * math.sqrt(0.9 * 0.1 / judged.runs)
    said, seen = np.array([row[:2] for row in judged.calibration]).T
    assert np.abs(said - seen).max() < 0.2
    assert seen[-1] > seen[0]


def test_where_nothing_can_be_predicted_nothing_is() -> None:
    outcomes, history, _ = months(200, effect=0.0)
    judged = evaluate(outcomes, history, splits=2)
    assert judged.model.brier < judged.base_rate.brier + 0.01
    assert judged.advantage_low <= 0 <= judged.advantage_high + 0.005
    advisor = Advisor(outcomes, history)
    forecasts = advisor.forecasts(outcomes[::20])
    assert max(one.p_long for one in forecasts) < 0.35
    assert advise(advisor, outcomes[100], history).wait_h == 0


def test_expected_times_are_the_true_medians() -> None:
    outcomes, history, truth = months(300, effect=2.0)
    advisor = Advisor(outcomes[:250], history)
    forecasts = advisor.forecasts(outcomes[250:])
    ratios = [one.expected_us / true for one, true in zip(forecasts, truth[250:], strict=True)]
    assert abs(np.median(ratios) - 1) < 0.05
    assert np.quantile(np.abs(np.log(ratios)), 0.9) < NOISE
    # What no model can know is the noise: the interval is not much wider than it.
    width = np.median([math.log(one.high_us / one.low_us) for one in forecasts])
    assert 2 * 1.645 * NOISE * 0.8 < width < 2 * 1.645 * NOISE * 1.6


def day_and_night(days: int = 20) -> tuple[list[Outcome], History]:
    """Busy from 8 to 20 o'clock (UTC), and slow then."""
    chance = np.random.default_rng(2)
    outcomes, samples = [], []
    for hour in range(24 * days):
        b = 0.8 if 8 <= hour % 24 < 20 else 0.2
        busy = {"b": b + 0.02 * chance.standard_normal()}
        samples.append({"time_s": 3600.0 * hour, "error": None, **busy})
        if hour % 5 == 0:
            time_us = (300 if b > 0.5 else 100) * math.exp(0.05 * chance.standard_normal())
            outcomes.append(Outcome(3600.0 * hour + 60, BCAST, busy, time_us))
    return outcomes, History(samples)


def test_waiting_is_advised_until_the_network_is_free() -> None:
    outcomes, history = day_and_night()
    advisor = Advisor(outcomes, history)
    noon = 3600.0 * (24 * 20 + 12)
    advice = advise(advisor, Outcome(noon, BCAST, {"b": 0.8}), history)
    assert advice.wait_h in (8, 9)
    assert advice.now.expected_us == pytest.approx(300, rel=0.1)
    assert advice.then.expected_us == pytest.approx(100, rel=0.15)
    assert advice.then.p_long < 0.1 < advice.now.p_long
    night = advise(advisor, Outcome(noon + 12 * 3600, BCAST, {"b": 0.2}), history)
    assert (night.wait_h, night.reason) == (0, "no hour of the next day is much better")
    blind = advise(advisor, Outcome(noon, BCAST, {"b": 0.8}), History())
    assert "no two days of samples" in blind.reason


def test_what_is_unusual_fades() -> None:
    _, history = day_and_night()
    noon = 3600.0 * (24 * 20 + 12)
    ahead = forecast_busy(Outcome(noon, BCAST, {"b": 0.3}), history, 24)
    assert len(ahead) == 24
    # There was no persistence: in an hour all is as usual.
    assert ahead[0]["b"] == pytest.approx(0.8, abs=0.1)
    assert ahead[10]["b"] == pytest.approx(0.2, abs=0.05)
    # What was not watched is not known to change.
    ahead = forecast_busy(Outcome(noon, BCAST, {"b_between_groups": 0.7}), history, 24)
    assert {hour["b_between_groups"] for hour in ahead} == {0.7}


def test_the_best_threshold_by_hand() -> None:
    b = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    threshold, above, below = best_threshold(b, np.array([False, False, False, True, True]))
    assert (threshold, above, below) == (0.3, 3 / 4, 1 / 5)
    nothing = best_threshold(b, np.zeros(5, dtype=bool))
    assert nothing == (math.inf, 1 / 7, 1 / 7)


def test_too_little_is_said() -> None:
    outcomes, history, _ = months(30, effect=2.0)
    with pytest.raises(ClusterError, match=r"found 9 outcomes .* allowed: at least 10"):
        Advisor(outcomes[:9])
    with pytest.raises(ClusterError, match="to evaluate: at least 20 of 10"):
        evaluate(outcomes[:15])
    advisor = Advisor(outcomes, history)
    with pytest.raises(ClusterError, match=r"nothing is known of reduce .* measured were: bcast"):
        advisor.forecasts([Outcome(0.0, Kind("reduce", 4, "any", 2), {"b": 0.1})])


def test_the_command(tmp_path: Path) -> None:
    store, watched = tmp_path / "probes.sqlite", tmp_path / "b.sqlite"
    chance = np.random.default_rng(3)
    probes = Probes(store, create=True)
    samples = Store(watched, create=True)
    clocks = Clocks(np.zeros((2, 3), np.int64), np.zeros((2, 3), np.int64))
    for hour in range(52):
        b = 0.8 if 8 <= hour % 24 < 20 else 0.2
        samples.add({"time_s": 3600.0 * hour, "asked_s": 0.1, "b": b, "b1": b}, [])
        took = np.rint((300e3 if b > 0.5 else 100e3) * np.exp(0.1 * chance.standard_normal((5, 2))))
        starts, none = np.zeros((5, 2), np.int64), np.zeros(5, np.int64)
        series = Series(
            *("bcast", 4, "barrier", starts, took.astype(np.int64)),
            *(np.zeros((5, 2), np.int8), none, none, clocks),
        )
        busy = {"b": b, "b1": b}
        probes.add(
            ProbeRun(
                *(3600.0 * hour, str(hour), "any", ("n0", "n1"), (), (), busy, busy, True, ""),
                *({}, (series,)),
            )
        )
    probes.close()
    samples.close()
    (tmp_path / "queue").write_text("1|RUNNING|n[0-6]\n")
    (tmp_path / "nodes").write_text("n[0-7]\n")
    options = [str(store), "--watch", str(watched), "--sinfo", str(tmp_path / "nodes")]
    options += ["--squeue", str(tmp_path / "queue")]
    command = ("cluster", "advise", *options)
    answer = call(*command, "--json", directory=tmp_path)
    assert answer.returncode == 0, answer.stderr
    content = json.loads(answer.stdout)
    assert content["busy"]["b"] == 7 / 8
    (row,) = content["advice"]
    assert row["now"]["expected_us"] == pytest.approx(330, rel=0.3)
    answer = call(*command, directory=tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert "bcast of 4 B, any, 2 ranks" in answer.stdout
    answer = call(*command, "--evaluate", directory=tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert "b above a threshold" in answer.stdout
    wrong = call(*command, "--collective", "reduce", directory=tmp_path)
    assert wrong.returncode == 2
    assert "there are: bcast of 4 B" in wrong.stderr
