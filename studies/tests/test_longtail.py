"""The study of long tails and background traffic: its machine, its months, its figures."""

from __future__ import annotations

import csv
import math
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pytest

from command import call
from odonata import write_report
from odonata.scenario import Scenario
from odonata.simulate import run
from odonata.study import run_program
from odonata.study.findings import UNJUDGED
from odonata_studies.longtail import LongTail, families, machine, statistics
from odonata_studies.longtail import plan as plans
from odonata_studies.longtail.families import distributions_of
from odonata_studies.longtail.findings import (
    FAILS,
    HOLDS,
    NOTHING,
    UNDECIDED,
    largest,
    most,
    slow_share,
    verdict_of,
)
from odonata_studies.longtail.months import (
    APPLICATIONS,
    Moment,
    Running,
    place_packed,
    place_scattered,
    simulate_months,
)
from odonata_studies.longtail.plan import Extent, Found, Plan, name_of
from odonata_studies.longtail.probes import (
    COLLECTIVES,
    LARGE,
    PING_PONG,
    SECOND,
    Setting,
    keep_probe,
    samples_of,
    scenario_of,
)
from odonata_studies.longtail.statistics import (
    OfMoments,
    bootstrap,
    has_two_modes,
    least_r,
    mean_of,
    peak,
    ratio_of_means,
    share_not_seen,
    share_with_two_modes,
    spearman,
    tail_length,
    two_modes,
)

QUIET = Moment(0, 0.0, ())


@pytest.fixture(autouse=True, scope="module")
def _months_once() -> Iterator[None]:
    """Plans of the same moments share their months, which take seconds."""
    once = cache(lambda times, policy: simulate_months(times, policy))

    def months(times: Sequence[float], policy: str = "scattered") -> list[Moment]:
        return list(once(tuple(times), policy))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plans, "simulate_months", months)
        yield


def test_the_machine_and_the_probe_are_as_the_paper_says() -> None:
    nodes = machine.nodes()
    assert len(nodes) == 980
    assert set(Counter(map(machine.island_of, nodes)).values()) == {245}
    assert max(Counter(map(machine.leaf_of, nodes)).values()) == 20
    probes = {scenario: machine.probe_nodes(scenario) for scenario in machine.SCENARIOS}
    for probe in probes.values():
        assert len(set(probe)) == 16
        assert set(probe) <= set(nodes)
    assert len(set(map(machine.leaf_of, probes["same group"]))) == 1
    assert len(set(map(machine.island_of, probes["same island"]))) == 1
    assert len(set(map(machine.leaf_of, probes["same island"]))) > 8
    away = probes["different islands"]
    assert set(Counter(map(machine.island_of, away)).values()) == {4}
    assert len(set(map(machine.leaf_of, away))) == 16


def test_packed_jobs_take_the_fullest_groups() -> None:
    """Section 4.1: one group if it suffices, else the groups with the fewest idle nodes first."""
    idle = {0: [0, 1, 2], 1: [20], 2: [40, 41, 42, 43, 44], 3: []}
    assert place_packed(idle, 3, Random(1)) == [0, 1, 2]
    assert place_packed(idle, 6, Random(1)) == [20, 40, 41, 42, 43, 44]
    assert place_packed(idle, 1, Random(1)) is None


def test_scattered_jobs_span_cells_as_those_on_leonardo() -> None:
    """54, 31 and 7 % of jobs of 4, 8 and 16 nodes were in one cell (HLC-Lab/pico)."""
    random = Random(3)
    for size, alone in ((4, 0.54), (8, 0.31), (16, 0.07)):
        spans = []
        for _ in range(1500):
            idle: dict[int, list[int]] = {}
            for node in machine.nodes():
                idle.setdefault(machine.leaf_of(node), []).append(node)
            taken = place_scattered(idle, size, random)
            assert taken is not None
            assert len(set(taken)) == size
            spans.append(len(set(map(machine.island_of, taken))))
        # Within four standard errors.
        assert spans.count(1) / 1500 == pytest.approx(alone, abs=4 * math.sqrt(alone / 1500))


def test_nodes_of_the_months_have_one_job_and_the_probe_its_own() -> None:
    moments = simulate_months([3.0, 5.5, 8.0])
    assert moments == simulate_months([3.0, 5.5, 8.0])
    for moment in moments:
        taken = [node for job in moment.jobs for node in job.nodes]
        assert len(taken) == len(set(taken))
        assert not machine.reserved().intersection(taken)
        communicating = sum(len(job.nodes) for job in moment.jobs if len(job.nodes) > 1)
        # Equation 2 where no node is shared.
        assert moment.b == pytest.approx(communicating / 980 * communicating / max(1, len(taken)))
    # The same jobs under both policies, as long as all of them find room at once.
    first = simulate_months([0.02], "packed")[0], simulate_months([0.02], "scattered")[0]
    assert [len(job.nodes) for job in first[0].jobs] == [len(job.nodes) for job in first[1].jobs]
    with pytest.raises(ValueError, match="below 2"):
        simulate_months([2.5], days=2)


def test_indicators_see_where_jobs_are() -> None:
    inside = Moment(0, 0.0, (Running(1, tuple(range(20, 36))),))
    across = Moment(0, 0.0, (Running(1, tuple(range(20, 1040, 65))),))
    one, other = inside.indicators(), across.indicators()
    assert one["b"] == other["b"] == 16 / 980
    assert one["between islands"] == one["between groups"] == 0.0
    # Each of 16 nodes has 12 of the 15 others on other islands.
    assert other["between islands"] == pytest.approx(16 / 980 * 12 / 15)
    assert one["sending"] == 0.0
    assert other["sending"] > 0.0


def test_background_traffic_is_what_was_measured() -> None:
    """A rank of miniAMR sent 829 MB in 17.0 s; a node has 16 such ranks at each of six faces."""
    rates = {one.name: one.bytes_per_s for one in APPLICATIONS}
    per_rank = 829.4e6 / 17.0
    # 6 faces of 16 ranks, each with one of its 6.45 partners across, and 12^(2/3) times as much.
    expected = per_rank * 6 * 16 / 6.45 * 12 ** (2 / 3)
    assert rates["miniAMR"] == pytest.approx(expected, rel=0.01)


def test_times_of_calls_on_a_quiet_machine() -> None:
    """All calls of a kind take equally long, and not less than their bytes need."""
    setting = Setting(
        scenario=machine.SAME_GROUP, sizes=(4, LARGE), duration_ms=14, alone=True, pause_us=20
    )
    record = keep_probe(run(scenario_of(QUIET, setting), threads=1))
    found = {(one.collective, one.size): one.us for one in samples_of(record, setting)}
    assert all(len(us) >= 3 for us in found.values())
    for us in found.values():
        assert np.ptp(us) <= 0.02 * us.mean()
    wire_us = LARGE / 12.5e9 * 1e6
    assert found["broadcast", LARGE].mean() > wire_us
    # 15 messages out of every node; barriers and pauses are not counted.
    assert found["alltoall", LARGE].mean() == pytest.approx(15 * wire_us, rel=0.12)
    assert all(us.mean() < 30 for (_, size), us in found.items() if size == 4)
    assert record["links"]["global"] == 0.0


def test_background_slows_the_probe_and_is_named() -> None:
    """With a heavy job at the probe's leaves calls take longer, and it is whom they wait for."""
    probe = machine.probe_nodes(machine.DIFFERENT_ISLANDS)
    near = tuple(sorted(node + further for node in probe for further in range(2, 8)))
    number = next(n for n in range(100) if Running(n, near).application.name == "miniAMR")
    moment = Moment(0, 0.0, (Running(number, near), Running(number + 1, (300,))))
    setting = Setting(
        sizes=(LARGE,), duration_ms=10, routing="minimal", attribution=True, intensity=2.0
    )
    with_, without = (
        keep_probe(run(scenario_of(moment, one), threads=1))
        for one in (setting, setting.but(alone=True))
    )
    slowed, quiet = (
        {s.collective: s.us.mean() for s in samples_of(record, setting)}
        for record in (with_, without)
    )
    assert all(slowed[name] > 1.01 * quiet[name] for name in quiet)
    assert set(with_["waits"]) == {f"miniAMR-{number}"}
    assert without["waits"] == {}
    # By the background alone: nothing of the probe's own.
    assert with_["links"]["global"] > 0.0
    assert without["links"]["global"] == pytest.approx(0.0, abs=1e-12)


def test_peak_and_tail() -> None:
    uniform = np.linspace(0.0, 2.0, 100_001)
    assert peak(uniform) == pytest.approx(0.5, rel=1e-3)
    assert tail_length(uniform) == pytest.approx(0.98, rel=1e-6)
    assert peak([1.0, 1.0, 1.0, 5.0]) == math.inf


def test_slow_calls_are_counted() -> None:
    assert slow_share([1.0, 1.0, 1.0, 1.4, 2.0]) == 0.2
    assert two_modes([[1.0] * 4, [2.0] * 5]) is None


def test_two_modes_are_seen_and_one_is_left_alone() -> None:
    random = np.random.default_rng(4)
    one = random.lognormal(0.0, 0.1, 200)
    assert not has_two_modes(one)
    assert has_two_modes(np.concatenate([one, 3 + random.normal(0, 0.1, 100)]))


def test_intervals_cover_what_they_should() -> None:
    random = np.random.default_rng(5)
    covered = 0
    for _ in range(60):
        x = random.normal(2.0, 1.0, 40)
        found = bootstrap(lambda chosen, x=x: float(x[chosen].mean()), x.size)  # type: ignore[misc]
        covered += found.low <= 2.0 <= found.high
    assert covered >= 50
    ratio = ratio_of_means([4.0, 4.0, 4.0], [2.0, 2.0, 2.0])
    assert (ratio.value, ratio.low, ratio.high) == (2.0, 2.0, 2.0)
    assert math.isnan(ratio_of_means([], [1.0]).value)
    assert math.isnan(mean_of([]).value)
    covered = 0
    for _ in range(400):
        # The true ratio is 3; three values on each side.
        ones, others = (np.exp(random.normal(mean, 0.3, 3)).tolist() for mean in (np.log(3.0), 0.0))
        found = ratio_of_means(ones, others)
        covered += found.low <= 3.0 <= found.high
    assert covered >= 370
    assert spearman(np.array([1.0, 2.0, 3.0]), np.array([1.0, 10.0, 100.0])) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("ours", "verdict"),
    [
        (OfMoments(1.5, 1.2, 1.8, 16), HOLDS),
        (OfMoments(1.5, 0.9, 1.8, 16), UNDECIDED),
        (OfMoments(0.8, 0.5, 1.1, 16), UNDECIDED),
        (OfMoments(0.5, 0.2, 0.8, 16), FAILS),
        # Fewer than five moments decide nothing, and nothing does without an interval.
        (OfMoments(1.5, 1.2, 1.8, 4), UNDECIDED),
        (OfMoments(0.5, 0.2, 0.8, 4), UNDECIDED),
        (OfMoments(2.5, moments=16), UNDECIDED),
        (OfMoments(math.nan), NOTHING),
    ],
)
def test_verdicts(ours: OfMoments, verdict: str) -> None:
    assert verdict_of(ours, 1.0, 2.0) == verdict


def test_figures_know_on_how_many_moments_they_rest() -> None:
    assert mean_of([1.0, 2.0, 4.0]).moments == 3
    assert ratio_of_means([1.0, 2.0, 4.0], [1.0, 2.0]).moments == 2
    assert ratio_of_means([1.0], [2.0]).moments == 1
    assert bootstrap(lambda chosen: float(chosen.max()), 7).moments == 7
    # The longest of all: no resample has a longer one.
    longest = largest([[1000.0], [2000.0], [9000.0, 1.0]])
    assert (longest.value, longest.high, longest.moments) == (9.0, 9.0, 3)
    assert math.isnan(largest([]).value)
    spread = most([4.0, 8.0, 6.0], [1.0, 2.0])
    assert (spread.value, spread.moments) == (8.0, 2)


def test_what_22_points_cannot_tell_from_zero() -> None:
    """The table of critical values of r has 0.4227 for 20 degrees of freedom at 5 %."""
    assert least_r(22) == pytest.approx(0.4227, abs=5e-5)


def test_two_modes_are_asked_of_all_moments_but_one() -> None:
    random = np.random.default_rng(4)
    apart = [np.r_[random.normal(1, 0.1, 15), random.normal(3, 0.1, 15)].tolist() for _ in range(6)]
    alike = [random.lognormal(0.0, 0.1, 15).tolist() for _ in range(6)]
    assert share_with_two_modes(apart).value == 1.0
    assert share_with_two_modes(alike).value == 0.0
    # One moment alone makes the second mode: without it there is one.
    lone = [*alike, random.normal(9.0, 0.1, 25).tolist()]
    some = share_with_two_modes(lone)
    assert (some.value, some.low, some.high, some.moments) == (6 / 7, 0.0, 1.0, 7)
    assert math.isnan(share_with_two_modes([]).value)


def test_ping_pongs_are_two_messages_between_two_nodes() -> None:
    """To and fro of 1 MiB takes twice what its bytes need, and little more; no other rank sends."""
    setting = Setting(duration_ms=3, alone=True, pause_us=20, pair=True)
    record = keep_probe(run(scenario_of(QUIET, setting), threads=1))
    found = {one.size: one.us for one in samples_of(record, setting)}
    assert {one.collective for one in samples_of(record, setting)} == {PING_PONG}
    assert all(len(us) >= 5 for us in found.values())
    assert all(np.ptp(us) == pytest.approx(0.0, abs=1e-9) for us in found.values())
    wire_us = LARGE / 12.5e9 * 1e6
    assert found[LARGE].mean() == pytest.approx(2 * wire_us, rel=0.06)
    near = setting.but(scenario=machine.SAME_GROUP)
    record = keep_probe(run(scenario_of(QUIET, near), threads=1))
    closer = {one.size: one.us.mean() for one in samples_of(record, near)}
    # Two global cables of 150 ns and the switches between them, there and back.
    assert found[4].mean() - closer[4] > 2 * 0.3


def test_the_second_node_is_on_another_leaf_of_the_same_island() -> None:
    scenario = scenario_of(QUIET, Setting(pair=True, partner=SECOND, alone=True))
    placed = scenario.job[0].placement
    assert isinstance(placed, list)
    first, second = placed
    assert isinstance(first, int) and isinstance(second, int)
    assert machine.island_of(first) == machine.island_of(second)
    assert machine.leaf_of(first) != machine.leaf_of(second)


def test_scatter_hides_a_correlation() -> None:
    """One draw in twenty is significant at 5 %, of two series that have nothing in common."""
    x = np.linspace(0.0, 0.9, 88)
    assert share_not_seen(x, 1 + x, 0.0, 22) == 0.0
    assert share_not_seen(x, 1 + 1e-9 * x, 0.3, 22) == pytest.approx(0.95, abs=0.02)
    # What is expected of r is r0 = s / √(s² + c²), of a rise with deviation s beside a scatter c;
    # half of the draws are below the bound where r0 is about as large as it, for 22 points 0.42.
    y = 1 + 0.1 * (x - x.mean())
    spread = y.std()
    scatter = spread * math.sqrt(1 / least_r(22) ** 2 - 1)
    assert share_not_seen(x, y, scatter, 22) == pytest.approx(0.5, abs=0.06)


def test_families_are_fitted_once_to_the_distributions_that_have_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gamma draws of one group of moments: found again, also on the calls that were held out."""
    plan = Plan(Extent(each=4))
    # Without jobs: all of one utilisation, and nothing has to be simulated.
    plan.__dict__["moments"] = [Moment(number, 0.0, ()) for number in range(4)]
    random = np.random.default_rng(8)
    order = COLLECTIVES
    away = plan.long(machine.DIFFERENT_ISLANDS, "fpar", 1.0)
    group = plan.long(machine.SAME_GROUP, "fpar", 1.0)
    records = {}
    for moment in plan.near(0.55):
        drawn = 200 + random.gamma(2.0, 30.0, (75, len(order)))
        records[name_of(moment, away)] = {"calls_ns": (1000 * drawn).ravel().tolist()}
        records[name_of(moment, group)] = {"calls_ns": [200_000.0] * 75 * len(order)}
    found = Found(plan, records)
    # In one group all calls take equally long: nothing can be fitted.
    assert {where for where, *_ in distributions_of(found)} == {
        f"different islands, b about {b}" for b in ("0.19", "0.55", "0.72")
    }
    # Each is fitted by processes of its own, which take a second to begin: one is enough here.
    monkeypatch.setattr(families, "distributions_of", lambda found: distributions_of(found)[:1])
    kept = tmp_path / "fits.json"
    (one,) = fits = families.best_fits(found, kept, ("gamma", "norm", "uniform"))
    assert (one.collective, one.calls, one.families) == ("broadcast", 300, 3)
    assert one.bic.startswith("gamma")
    # For gamma(2) and the normal distribution of its mean and variance, by quadrature; the
    # standard error of 60 calls is 0.08, and five of them are allowed.
    assert one.held_out == pytest.approx(0.188, abs=0.4)
    before = kept.stat().st_mtime_ns
    assert families.best_fits(found, kept, ("gamma", "norm", "uniform")) == fits
    assert kept.stat().st_mtime_ns == before


def test_a_small_study_writes_everything_and_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Enough for an interval. What intervals cover is tested above, with all resamples.
    monkeypatch.setattr(statistics, "_RESAMPLES", 40)
    extent = Extent(
        moments=8,
        month_ms=6,
        long_ms=6,
        experiment_ms=6,
        application_ms=16,
        each=1,
        intensities=(1.0,),
        experiments=("standard",),
    )
    study = LongTail(extent)
    # Some of the points: five of the moments, those with the fewest jobs, and one distribution.
    points = {point.name: point for point in study.points(False)}
    plan = Plan(extent)
    quiet = sorted(plan.moments, key=lambda moment: moment.b)[:5]
    chosen = [points[name_of(moment, plan.month(1.0))] for moment in quiet]
    setting = plan.long(machine.SAME_GROUP, "fpar", 1.0)
    chosen.append(points[name_of(plan.near(0.55)[0], setting)])

    class Part(LongTail):
        def points(self, quick: bool) -> list:  # type: ignore[type-arg]
            super().points(quick)
            return chosen

    lines = run_program(Part(extent), tmp_path / "out", jobs=2)
    with (tmp_path / "out" / "findings.csv").open(encoding="utf-8") as opened:
        findings = list(csv.DictReader(opened))
    assert len(findings) == len(lines) - 1
    verdicts = {one["claim"]: one["verdict"] for one in findings}
    assert verdicts["Reduce: as fast on one island as in one group (1.18 to 1.17 ms)"] == NOTHING
    assert verdicts["Reduce in one group takes 1.17 ms on average"] == UNDECIDED
    measured = [one for one in findings if one["source"] == "Fig. 4"]
    assert measured
    assert all(one["verdict"] != NOTHING for one in measured)
    with (tmp_path / "out" / "moments.csv").open(encoding="utf-8") as opened:
        assert len(list(csv.DictReader(opened))) == 8
    page = (tmp_path / "out" / "study.md").read_text(encoding="utf-8")
    assert f"{len(chosen)} of {len(points)} simulations" in page
    for name in ("places.png", "correlation.png", "indicators.png"):
        assert (tmp_path / "out" / name).stat().st_size > 5000

    report = write_report(tmp_path / "out", out=tmp_path / "out.html").read_text(encoding="utf-8")
    assert f"<p>{len(findings)}: " in report
    assert "as fast on one island as in one group (1.18 to 1.17 ms)</th>" in report
    shown = call("show", "out", directory=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert [line.strip() for line in shown.stdout.splitlines()] == [
        line.strip().replace(str(tmp_path / "out"), "out") for line in lines
    ]

    # The same as a quick one: nothing is simulated again, and nothing judged.
    (tmp_path / "quick").mkdir()
    shutil.copy(tmp_path / "out" / "points.jsonl", tmp_path / "quick")
    run_program(Part(extent), tmp_path / "quick", jobs=2, quick=True)
    with (tmp_path / "quick" / "findings.csv").open(encoding="utf-8") as opened:
        again = list(csv.DictReader(opened))
    assert [one["ours"] for one in again] == [one["ours"] for one in findings]
    assert {one["verdict"] for one in again} == {NOTHING, UNJUDGED}


def test_all_points_have_names_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    # A scenario of each setting, at the first of its moments: all of them take seconds to check.
    first: dict[Setting, Scenario] = {}

    def scenario_at_first(moment: Moment, setting: Setting) -> Scenario:
        if setting not in first:
            first[setting] = scenario_of(moment, setting)
        return first[setting]

    named: dict[str, set[tuple[Moment, Setting]]] = {}

    def recorded_name(moment: Moment, setting: Setting, kind: str = "") -> str:
        name = name_of(moment, setting, kind)
        named.setdefault(name, set()).add((moment, setting))
        return name

    monkeypatch.setattr(plans, "scenario_of", scenario_at_first)
    monkeypatch.setattr(plans, "name_of", recorded_name)
    plan = Plan()
    assert [point.name for point in plan.points()] == list(named)
    shared = {name: of for name, of in named.items() if len(of) > 1}
    assert not shared, "different simulations have one name, and only the first would be made"
    assert all(abs(moment.b - 0.72) < 0.1 for moment in plan.near(0.72))
    assert plan.experiment_moments("standard", 0.72) == plan.near(0.72)
    assert min(m.b for m in plan.moments) < 0.1
    assert max(m.b for m in plan.moments) > 0.8
