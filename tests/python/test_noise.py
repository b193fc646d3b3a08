"""Noise of nodes and of MPI in ordinary scenarios: `mpi.noise`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import odonata
from command import call
from odonata import Scenario, ScenarioError
from odonata.declared import Noise
from odonata.machines.background import interrupted_ns
from odonata.machines.prediction import Predictor
from test_background import SMALL
from test_threads import digests

LINKS = {"terminal": {"bandwidth": "100 GB/s", "latency": "1 ns"}}
BARRIER = {"kind": "collective", "operation": "barrier"}
#: One group of a dragonfly for one job, whose routes never meet another's messages.
GROUP = {
    "network": {"family": "dragonfly", "p": 2, "a": 4, "h": 2},
    "job": [
        {
            "name": "all-to-all",
            "nodes": 8,
            "placement": "contiguous",
            "motif": {
                "kind": "all-to-all",
                "message": "4 KiB",
                "iterations": 60,
                "compute": "20 us",
            },
        }
    ],
}


def machine(ranks: int, noise: dict[str, str], engine: str = "packet", **motif: Any) -> Scenario:
    """A job of ranks that compute and meet, on a network that takes next to no time."""
    return Scenario.from_dict(
        {
            "network": {
                "family": "crossbar",
                "nodes": ranks,
                "links": LINKS,
                "router": {"delay": "0 ns"},
            },
            "simulation": {"engine": engine},
            "mpi": {"noise": noise},
            "job": [{"nodes": ranks, "motif": {**BARRIER, **motif}}],
        }
    )


def iterations_ps(result: odonata.Result) -> np.ndarray:
    """How long each iteration took."""
    return np.diff(result.iterations["end_ps"].to_numpy(), prepend=0)


@pytest.mark.parametrize("engine", ["packet", "flow"])
def test_who_waits_for_all_waits_for_the_latest(engine: str) -> None:
    # The largest of n exponential times has the mean 1 + 1/2 + … + 1/n.
    ranks, mean = 16, 1_000_000
    noise = {"entry_delay": "1 us", "detour_time": "0 s"}
    took = iterations_ps(odonata.run(machine(ranks, noise, engine, iterations=4000)))
    expected = mean * sum(1 / n for n in range(1, ranks + 1))
    # Its variance is 1 + 1/4 + … + 1/n²: the mean of 4,000 scatters by 0.6 %. Four rounds of
    # messages of next to no time come to it.
    messages = iterations_ps(odonata.run(machine(ranks, {"detour_time": "1 ns"}, engine)))[0]
    assert messages < 0.02 * mean
    assert np.mean(took) == pytest.approx(expected, rel=0.025)


def test_interruptions_are_those_of_predictions() -> None:
    # What 4,000 ranks lose of 2 ms that they compute, and sixteen of them together, against the
    # draws of predictions, which are another program's (NumPy).
    result = odonata.run(machine(4000, {}, compute="2 ms"))
    lost = result.table("ranks")["compute_ps"].to_numpy() / 1e3 - 2e6
    drawn = interrupted_ns(Noise(), 1, 2e6, np.random.default_rng(1))
    # A mean of half an interruption of 3.2 µs scatters by 1.6 times itself, of 4,000 by 2.5 %.
    assert np.mean(lost) == pytest.approx(1_600, rel=0.08)
    assert np.mean(lost) == pytest.approx(np.mean(drawn), rel=0.1)
    assert np.mean(lost > 0) == pytest.approx(1 - np.exp(-0.5), abs=0.025)
    some = lost[lost > 0], drawn[drawn > 0]
    for share in (0.25, 0.5, 0.75, 0.9):
        ours, theirs = (np.quantile(one, share) for one in some)
        assert ours == pytest.approx(theirs, rel=0.1)
    longest = lost.reshape(-1, 16).max(axis=1)
    together = interrupted_ns(Noise(), 16, 2e6, np.random.default_rng(2))
    assert np.mean(longest) == pytest.approx(np.mean(together), rel=0.08)


def test_tails_inside_a_group_are_not_zero() -> None:
    quiet = iterations_ps(odonata.run(GROUP))[1:]
    assert np.ptp(quiet) == 0
    noise = {"detour_interval": "200 us", "detour_time": "5 us"}
    noisy = iterations_ps(odonata.run({**GROUP, "mpi": {"noise": noise}}))[1:]
    # Eight ranks with an interruption every 200 µs: of the iterations of 24 µs half have one.
    assert np.quantile(noisy, 0.95) > 1.1 * np.median(noisy)
    assert noisy.sum() > quiet.sum()


def test_noise_is_a_seeds_and_a_jobs_own(tmp_path: Path) -> None:
    noisy = {**GROUP, "mpi": {"noise": {"detour_interval": "50 us"}}}
    first = iterations_ps(odonata.run(noisy))
    assert not np.array_equal(first, iterations_ps(odonata.run(noisy, seed=2)))
    other = {**GROUP["job"][0], "name": "other"}
    beside = odonata.run({**noisy, "job": [*GROUP["job"], other]})
    both = beside.iterations.to_pandas().groupby("job")["end_ps"]
    one, two = (np.diff(both.get_group(job), prepend=0) for job in (0, 1))
    # The second has a group of its own, too, so that nothing but its noise tells them apart.
    assert np.array_equal(one, first) and not np.array_equal(two, first)
    for threads in (1, 3):
        odonata.run(noisy, threads=threads).save(tmp_path / str(threads))
    assert digests(tmp_path / "1") == digests(tmp_path / "3")


@pytest.mark.parametrize("engine", ["packet", "flow"])
def test_applications_traces_and_collectives_are_noisy(engine: str, tmp_path: Path) -> None:
    trace = tmp_path / "two.goal"
    trace.write_text(
        "num_ranks 2\nrank 0 {\nl1: calc 100000\nl2: send 10b to 1\nl2 requires l1\n}\n"
        "rank 1 {\nl1: recv 10b from 0\n}\n"
    )
    for motif in (
        {"kind": "lulesh", "iterations": 2},
        {"kind": "trace", "file": str(trace)},
        {"kind": "collective", "operation": "allreduce", "message": "8 B", "compute": "100 us"},
    ):
        ranks = 2 if motif["kind"] == "trace" else 8
        job = {"nodes": ranks, "motif": motif}
        quiet = {**GROUP, "job": [job], "simulation": {"engine": engine}}
        noise = {"noise": {"detour_interval": "5 us", "detour_time": "1 us"}}
        ends = [
            odonata.run(one).jobs["end_ps"][0].as_py() for one in (quiet, {**quiet, "mpi": noise})
        ]
        # An interruption of 1 µs every 5 µs: what computes takes a fifth longer.
        assert ends[1] > 1.05 * ends[0], motif


def test_a_noise_that_changes_nothing_is_refused(tmp_path: Path) -> None:
    nothing = {**GROUP, "mpi": {"noise": {"detour_time": "0 s"}}}
    with pytest.raises(ScenarioError, match=r"mpi\.noise: found neither"):
        odonata.run(nothing)
    traffic = {
        "nodes": 8,
        "traffic": {"pattern": "uniform-random", "message": "1 KiB", "load": 0.1},
    }
    only = {**GROUP, "mpi": {"noise": {}}, "job": [traffic], "simulation": {"duration": "9 us"}}
    with pytest.raises(ScenarioError, match=r"mpi\.noise: found no job with a motif"):
        odonata.run(only)
    log = Path(__file__).parents[2] / "examples" / "schedule.toml"
    done = call("schedule", log, "--set", "mpi.noise.detour_time=1us", directory=tmp_path)
    assert (
        done.returncode == 2
        and "mpi.noise: found a noise of ranks; allowed: nothing" in done.stderr
    )


def test_predictions_take_the_noise_of_the_scenario(tmp_path: Path) -> None:
    jobs = tmp_path / "jobs"
    jobs.write_text("node[03-04,11-12]\nnode[05-08,13-16]\n")
    calm, noisy = (
        Scenario.from_toml(SMALL.replace('detour_time = "0 s"', f'detour_time = "{time}"'))
        for time in ("0 s", "300 us")
    )
    found = []
    for scenario in (calm, noisy):
        predictor = Predictor(scenario, jobs=jobs, calls=16)
        case = predictor.case(["node01", "node02"], "allreduce", "ring", 4 << 20)
        found.append(predictor.predict(case))
    # What a call takes in the middle is measured; interruptions widen the spread.
    assert found[0].median_ns == found[1].median_ns
    assert found[1].p90_ns > 1.02 * found[0].p90_ns
