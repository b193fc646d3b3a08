"""What the paper found beside what is found here; verdicts are computed."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from odonata.output import create
from odonata.study.cells import Estimated
from odonata.study.findings import FEWEST, UNJUDGED
from odonata_studies.longtail import machine
from odonata_studies.longtail.months import Moment
from odonata_studies.longtail.plan import FIGURE_6, HIGH, LOW, PACKED, ROUTINGS, USUAL, Found
from odonata_studies.longtail.probes import COLLECTIVES, LARGE, PING_PONG, SIZES, Setting
from odonata_studies.longtail.statistics import (
    OfMoments,
    bootstrap,
    estimate_pairs,
    least_r,
    mean_of,
    peak,
    pearson,
    ratio_of_means,
    share_with_two_modes,
    spearman,
    tail_length,
)

HOLDS, UNDECIDED, FAILS, NOTHING = "holds", "undecided", "does not hold", "not measured"

#: The paper's collectives.
PAPER = ("broadcast", "reduce", "alltoall")
#: Points of a plot of figure 4.
PAPER_POINTS = 22
#: A figure of two series.
OfPairs = Callable[[NDArray[np.float64], NDArray[np.float64]], float]


@dataclass(frozen=True)
class Finding:
    """A published statement and what is found here.

    Attributes:
        claim: What was published, in words.
        source: Where in the paper.
        published: The figure.
        ours: Ours with its interval, in words.
        verdict: It holds (all of our interval does), it does not (none of it), or neither.
        moments: How many it rests on; of two sorts compared, of the one that has fewer.
    """

    claim: str
    source: str
    published: str
    ours: str
    verdict: str
    moments: int


def verdict_of(ours: OfMoments, at_least: float = -math.inf, at_most: float = math.inf) -> str:
    """What ours says of a published range, which both ends belong to.

    Undecided where the interval reaches in and out or is not known, and with fewer than five
    moments.

    Args:
        ours: The figure with its interval.
        at_least: Lower end of the range.
        at_most: Upper end.
    """
    if math.isnan(ours.value):
        return NOTHING
    if math.isnan(ours.low) or ours.moments < FEWEST:
        return UNDECIDED
    if at_least <= ours.low and ours.high <= at_most:
        return HOLDS
    return FAILS if ours.high < at_least or ours.low > at_most else UNDECIDED


def in_words(ours: Estimated, unit: str = "", digits: int = 2) -> str:
    """A figure with its interval, in words."""
    if math.isnan(ours.value):
        return "–"
    text = f"{ours.value:.{digits}f}{unit}"
    if not math.isnan(ours.low):
        text += f" ({ours.low:.{digits}f} … {ours.high:.{digits}f})"
    return text


def all_findings(found: Found, *, quick: bool = False) -> list[Finding]:
    """Every finding of the paper that the study speaks of.

    Args:
        found: What was simulated.
        quick: Whether it is what ``--quick`` simulates, by which nothing is judged.
    """
    findings = [*_figure_3(found), *_figure_4(found), *_figure_5(found), *_figure_6(found)]
    if not quick:
        return findings
    return [f if f.verdict == NOTHING else replace(f, verdict=UNJUDGED) for f in findings]


def write_findings(findings: Sequence[Finding], path: Path) -> None:
    """Writes them as a table."""
    with create(path, "w") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(["claim", "source", "published", "ours", "moments", "verdict"])
        for one in findings:
            row = [one.claim, one.source, one.published, one.ours, one.moments, one.verdict]
            writer.writerow(row)


def per_moment(
    found: Found,
    moments: Sequence[Moment],
    settings: Sequence[tuple[Setting, str]],
    figure: Callable[[Sequence[Sequence[float]]], float],
) -> OfMoments:
    """A figure of samples that is computed at every moment, its mean over the moments.

    Args:
        found: What was simulated.
        moments: Where all of the settings are done.
        settings: Each with a collective.
        figure: Of the samples of each setting, in their order.
    """
    values = []
    for moment in moments:
        samples = [found.times([moment], setting, name) for setting, name in settings]
        if all(samples):
            values.append(figure([one[0] for one in samples]))
    return mean_of(values)


# --- Figure 3: where the nodes are ----------------------------------------------------------------


def _figure_3(found: Found) -> Iterator[Finding]:
    moments = found.plan.near(USUAL)
    _, _, away = _settings_of_figure_3(found)
    yield from _means(found, moments)
    yield from _lower_peaks(found, moments)
    yield from _tails(found, moments)
    yield from _fastest(found, moments)
    yield from _highest_peaks(found, moments)
    yield from _alltoall_away(found, moments, away)
    yield from _as_local_at_low_b(found)
    for name, longest_ms in (("reduce", 10), ("alltoall", 13)):
        ours = largest(found.times(moments, away, name))
        yield Finding(
            f"{title_of(name)} on different islands takes up to {longest_ms} ms",
            "Fig. 3",
            f"{longest_ms} ms",
            in_words(ours, " ms"),
            verdict_of(ours, longest_ms - 0.5, longest_ms + 0.5),
            ours.moments,
        )


def _settings_of_figure_3(found: Found) -> tuple[Setting, Setting, Setting]:
    """In one group, in one island, on different islands."""
    group, island, away = (
        found.plan.long(scenario, ROUTINGS[0], 1.0) for scenario in machine.SCENARIOS
    )
    return group, island, away


def _finding(
    claim: str,
    source: str,
    published: str,
    ours: OfMoments,
    unit: str,
    low: float = -math.inf,
    high: float = math.inf,
) -> Finding:
    verdict = verdict_of(ours, low, high)
    return Finding(claim, source, published, in_words(ours, unit, 3), verdict, ours.moments)


def _means(found: Found, moments: Sequence[Moment]) -> Iterator[Finding]:
    group, island, away = _settings_of_figure_3(found)

    def mean_ms(setting: Setting, name: str) -> OfMoments:
        return per_moment(found, moments, [(setting, name)], lambda s: float(np.mean(s[0])) / 1e3)

    yield _finding(
        "Bcast in one group takes 0.2 ms on average",
        "Fig. 3a",
        "0.2 ms",
        mean_ms(group, "broadcast"),
        " ms",
        0.15,
        0.25,
    )
    yield _finding(
        "Reduce in one group takes 1.17 ms on average",
        "Fig. 3b",
        "1.17 ms",
        mean_ms(group, "reduce"),
        " ms",
        1.165,
        1.175,
    )

    def ratio(setting: Setting, to: Setting, name: str) -> OfMoments:
        return per_moment(
            found,
            moments,
            [(setting, name), (to, name)],
            lambda s: float(np.mean(s[0]) / np.mean(s[1])),
        )

    yield _finding(
        "Reduce: as fast on one island as in one group (1.18 to 1.17 ms)",
        "Fig. 3b",
        "1.01 ×",
        ratio(island, group, "reduce"),
        " ×",
        *_of_printed(1.18, 1.17, 0.005, 0.005),
    )
    yield _finding(
        "Reduce: different islands are slower than one group (1.4 to 1.17 ms)",
        "Fig. 3b",
        "1.2 ×",
        ratio(away, group, "reduce"),
        " ×",
        *_of_printed(1.4, 1.17, 0.05, 0.005),
    )


def _lower_peaks(found: Found, moments: Sequence[Moment]) -> Iterator[Finding]:
    group, island, away = _settings_of_figure_3(found)
    for other in (island, away):
        ours = per_moment(
            found,
            moments,
            [(group, "broadcast"), (other, "broadcast")],
            lambda s: peak(s[1]) / peak(s[0]),
        )
        yield _finding(
            f"Bcast, {other.scenario}: the peak is lower than in one group",
            "Fig. 3a",
            "6 or 19 to 68: 0.09 or 0.28 ×",
            ours,
            " ×",
            high=1 - 1e-9,
        )


def _highest_peaks(found: Found, moments: Sequence[Moment]) -> Iterator[Finding]:
    _, island, away = _settings_of_figure_3(found)
    for here in (island, away):
        ours = per_moment(
            found,
            moments,
            [(here, name) for name in PAPER],
            lambda s: peak(s[0]) / max(peak(s[1]), peak(s[2])),
        )
        yield _finding(
            f"{here.scenario.capitalize()}: Bcast has the highest peak",
            "Fig. 3",
            "ratio to the next: > 1 ×",
            ours,
            " ×",
            1 + 1e-9,
        )


def _tails(found: Found, moments: Sequence[Moment]) -> Iterator[Finding]:
    group, island, away = _settings_of_figure_3(found)
    for name in PAPER:
        ours = per_moment(
            found,
            moments,
            [(away, name), (group, name)],
            lambda s: (tail_length(s[0]) - tail_length(s[1])) / 1e3,
        )
        yield _finding(
            f"{title_of(name)}: a longer tail on different islands than in one group"
            " (99th percentile less median)",
            "Fig. 3, section 6",
            "longer",
            ours,
            " ms longer",
            1e-9,
        )
    for here in (group, island, away):
        for other_name in ("reduce", "alltoall"):
            ours = per_moment(
                found,
                moments,
                [(here, other_name), (here, "broadcast")],
                lambda s: (tail_length(s[0]) - tail_length(s[1])) / 1e3,
            )
            yield _finding(
                f"{here.scenario.capitalize()}: the tail of Bcast is shorter than that of "
                f"{title_of(other_name)}",
                "Fig. 3, section 6",
                "shorter",
                ours,
                " ms shorter",
                1e-9,
            )


def _fastest(found: Found, moments: Sequence[Moment]) -> Iterator[Finding]:
    group, island, _ = _settings_of_figure_3(found)
    for here in (group, island):
        ours = per_moment(
            found,
            moments,
            [(here, name) for name in PAPER],
            lambda s: float(np.mean(s[0]) / min(np.mean(s[1]), np.mean(s[2]))),
        )
        yield _finding(
            f"{here.scenario.capitalize()}: Bcast is the fastest",
            "section 6",
            "ratio to the next: < 1 ×",
            ours,
            " ×",
            high=1 - 1e-9,
        )


def _of_printed(
    above: float, below: float, above_by: float, below_by: float
) -> tuple[float, float]:
    """Least and largest ratio of two printed figures, each half of its last digit off."""
    return (above - above_by) / (below + below_by), (above + above_by) / (below - below_by)


def largest(times: Sequence[Sequence[float]]) -> OfMoments:
    """The longest call of all moments, in ms; its interval that of as many other moments."""
    longest = np.array([max(one) / 1e3 for one in times])
    return bootstrap(lambda chosen: float(longest[chosen].max()), longest.size)


def _alltoall_away(found: Found, moments: Sequence[Moment], away: Setting) -> Iterator[Finding]:
    """Alltoall is the slowest and most variable collective on different islands."""

    def above_others(figure: Callable[[Sequence[float]], float]) -> OfMoments:
        return per_moment(
            found,
            moments,
            [(away, name) for name in ("alltoall", "broadcast", "reduce")],
            lambda s: figure(s[0]) / max(figure(s[1]), figure(s[2])),
        )

    for what, figure in (
        ("slowest", lambda one: float(np.mean(one))),
        ("most variable (99th percentile less median)", tail_length),
    ):
        ours = above_others(figure)
        yield Finding(
            f"Different islands: Alltoall is the {what}",
            "Fig. 3c, section 6",
            "ratio to the next: > 1 ×",
            in_words(ours, " ×"),
            verdict_of(ours, 1 + 1e-9),
            ours.moments,
        )
    ours = per_moment(found, moments, [(away, "alltoall")], lambda s: 1e3 * peak(s[0]))
    yield Finding(
        "Alltoall on different islands: the peak is 2 per ms",
        "Fig. 3c",
        "2 per ms",
        in_words(ours, " per ms"),
        verdict_of(ours, 1.5, 2.5),
        ours.moments,
    )


def _as_local_at_low_b(found: Found) -> Iterator[Finding]:
    """At low b Bcast across islands is as good as in one island, and as variable as in one group.

    As good: to half of the last digit in which the paper gives averages of Bcast, 0.1 ms.
    """
    moments = found.plan.near(LOW)
    group, island, away = (
        found.plan.long(scenario, ROUTINGS[0], 1.0) for scenario in machine.SCENARIOS
    )
    for claim, source, there, figure in (
        (
            "as fast on different islands as in one island",
            "section 5.3",
            island,
            lambda one: float(np.mean(one)),
        ),
        (
            "as variable on different islands as in one group (99th percentile less median)",
            "section 6",
            group,
            tail_length,
        ),
    ):
        ours = per_moment(
            found,
            moments,
            [(away, "broadcast"), (there, "broadcast")],
            lambda s, figure=figure: (figure(s[0]) - figure(s[1])) / 1e3,  # type: ignore[misc]
        )
        yield Finding(
            f"Bcast at low b: {claim}",
            source,
            "0.0 ms more",
            f"{in_words(ours, ' ms', 3)} more",
            verdict_of(ours, -0.05, 0.05),
            ours.moments,
        )


# --- Figure 4: correlation with b -----------------------------------------------------------------


def month_means(
    found: Found, setting: Setting
) -> tuple[list[Moment], dict[tuple[str, int], NDArray[np.float64]]]:
    """The moments that are done and of every collective and size their mean times, in µs.

    Moments at which not every call came to its end once are left out.
    """
    moments: list[Moment] = []
    means: dict[tuple[str, int], list[float]] = {}
    for moment in found.plan.moments:
        for samples in found.samples([moment], setting):
            if all(len(one.us) for one in samples):
                moments.append(moment)
                for one in samples:
                    means.setdefault((one.collective, one.size), []).append(float(one.us.mean()))
    return moments, {key: np.array(values) for key, values in means.items()}


def _figure_4(found: Found) -> Iterator[Finding]:
    for intensity in found.plan.extent.intensities:
        moments, means = month_means(found, found.plan.month(intensity))
        if len(moments) < 4:
            continue
        b = np.array([moment.b for moment in moments])
        yield from _correlations(b, means, _times_words(intensity))
    yield from _point_to_point(found)


def _point_to_point(found: Found) -> Iterator[Finding]:
    """Not significantly affected: r is one that the paper's 22 points cannot tell from 0."""
    moments, means = month_means(found, found.plan.pair())
    if len(moments) < 4:
        return
    b = np.array([moment.b for moment in moments])
    unseen = least_r(PAPER_POINTS)
    for size in SIZES:
        ours = estimate_pairs(pearson, b, means[PING_PONG, size])
        yield Finding(
            f"Ping-pong on different islands, {size_of(size)}: not significantly affected by b",
            "section 5.2",
            f"r from {-unseen:.2f} to {unseen:.2f}",
            f"r = {in_words(ours)}",
            verdict_of(ours, -unseen, unseen),
            ours.moments,
        )


def _times_words(intensity: float) -> str:
    return "" if intensity == 1.0 else f" (jobs send {intensity:g} × as much)"


def _correlations(
    b: NDArray[np.float64], means: dict[tuple[str, int], NDArray[np.float64]], where: str
) -> Iterator[Finding]:
    def of(figure: Callable[[NDArray[np.int64]], float]) -> OfMoments:
        return bootstrap(figure, b.size)

    def r(name: str, size: int, chosen: NDArray[np.int64], of_pairs: OfPairs = pearson) -> float:
        return of_pairs(b[chosen], means[name, size][chosen])

    def growth(name: str, of_pairs: OfPairs, chosen: NDArray[np.int64]) -> float:
        return r(name, LARGE, chosen, of_pairs) - r(name, SIZES[0], chosen, of_pairs)

    def lead(size: int, of_pairs: OfPairs, chosen: NDArray[np.int64]) -> float:
        others = (r(name, size, chosen, of_pairs) for name in ("broadcast", "alltoall"))
        return r("reduce", size, chosen, of_pairs) - max(others)

    for name in PAPER:
        ours = of(partial(r, name, LARGE))
        yield Finding(
            f"{title_of(name)}, 1 MiB: the time rises with b{where}",
            "Fig. 4",
            "r > 0",
            f"r = {in_words(ours)}",
            verdict_of(ours, 1e-9),
            ours.moments,
        )
    for sign, of_pairs in (("r", pearson), ("ρ", spearman)):
        for name in PAPER:
            ours = of(partial(growth, name, of_pairs))
            yield Finding(
                f"{title_of(name)}: {sign} grows from 4 B to 1 MiB{where}",
                "Fig. 4",
                "> 0",
                in_words(ours),
                verdict_of(ours, 1e-9),
                ours.moments,
            )
        for size in (2**15, 2**20):
            ours = of(partial(lead, size, of_pairs))
            yield Finding(
                f"Reduce has the highest {sign} at {size_of(size)}{where}",
                "Fig. 4",
                "ahead by > 0",
                in_words(ours),
                verdict_of(ours, 1e-9),
                ours.moments,
            )

    def ahead(chosen: NDArray[np.int64]) -> float:
        keys = [(name, size) for name in PAPER for size in SIZES]
        return float(
            np.mean(
                [
                    spearman(b[chosen], means[k][chosen]) > pearson(b[chosen], means[k][chosen])
                    for k in keys
                ]
            )
        )

    ours = of(ahead)
    yield Finding(
        f"Spearman's ρ is usually above Pearson's r{where}",
        "Fig. 4",
        "in more than half of 12",
        f"in {in_words(ours)} of them",
        verdict_of(ours, 0.5 + 1e-9),
        ours.moments,
    )


# --- Figure 5: two utilisations -------------------------------------------------------------------


def _figure_5(found: Found) -> Iterator[Finding]:
    high = found.plan.near(HIGH)
    setting = found.plan.long(machine.DIFFERENT_ISLANDS, ROUTINGS[0], 1.0)
    yield from _high_over_low_b(found, setting)
    ours = largest(found.times(high, setting, "broadcast"))
    yield Finding(
        "Bcast at high b takes up to 8 ms",
        "Fig. 5",
        "8 ms",
        in_words(ours, " ms"),
        verdict_of(ours, 7.5, 8.5),
        ours.moments,
    )
    yield from _alltoall_at_high_b(found, setting)
    for name in ("reduce", "alltoall"):
        yield _two_modes(f"{title_of(name)}: two modes at high b", found.times(high, setting, name))
    for other in ROUTINGS[2:]:
        yield _slow_calls(found, other)


def _at_both_b(
    found: Found, setting: Setting, name: str, figure: Callable[[Sequence[float]], float]
) -> tuple[list[float], list[float]]:
    """A figure of the samples of every moment, at high b and at low b."""
    high = found.times(found.plan.near(HIGH), setting, name)
    low = found.times(found.plan.near(LOW), setting, name)
    return [figure(one) for one in high], [figure(one) for one in low]


def _mean(samples: Sequence[float]) -> float:
    return float(np.mean(samples))


def _width(samples: Sequence[float]) -> float:
    return 1 / peak(samples)


def _high_over_low_b(found: Found, setting: Setting) -> Iterator[Finding]:
    for name, published, ratio, at_least, at_most in (
        ("broadcast", "up to 6.4 ×", most, 6.35, 6.45),
        ("alltoall", "1.6 ×", ratio_of_means, 1.55, 1.65),
    ):
        ours = ratio(*_at_both_b(found, setting, name, _mean))
        yield Finding(
            f"{title_of(name)}: mean at b = 0.7 over that at b = 0.2",
            "Fig. 5",
            published,
            in_words(ours, " ×"),
            verdict_of(ours, at_least, at_most),
            ours.moments,
        )
    for name in PAPER:
        for what, figure, digits in (
            ("slower on average at high b", _mean, 3),
            ("a longer tail at high b (99th percentile less median)", tail_length, 2),
            ("a lower peak at high b (width)", _width, 2),
        ):
            ours = ratio_of_means(*_at_both_b(found, setting, name, figure))
            yield Finding(
                f"{title_of(name)}: {what}",
                "Fig. 5",
                "> 1 ×",
                in_words(ours, " ×", digits),
                verdict_of(ours, 1 + 1e-9),
                ours.moments,
            )


def _alltoall_at_high_b(found: Found, setting: Setting) -> Iterator[Finding]:
    ours = ratio_of_means(
        *_at_both_b(found, setting, "alltoall", lambda samples: float(np.median(samples)))
    )
    yield Finding(
        "Alltoall: the median is shifted, too, at high b",
        "Fig. 5",
        "> 1 ×",
        in_words(ours, " ×", 3),
        verdict_of(ours, 1 + 1e-9),
        ours.moments,
    )
    for what, figure in (
        ("is the slowest", _mean),
        ("has the longest tail (99th percentile less median)", tail_length),
        ("has the lowest peak (width)", _width),
    ):
        ours = per_moment(
            found,
            found.plan.near(HIGH),
            [(setting, name) for name in ("alltoall", "broadcast", "reduce")],
            lambda s, figure=figure: _to_the_next(*map(figure, s)),  # type: ignore[misc]
        )
        yield Finding(
            f"High b: Alltoall {what}",
            "section 5.3",
            "ratio to the next: > 1 ×",
            in_words(ours, " ×"),
            verdict_of(ours, 1 + 1e-9),
            ours.moments,
        )


def _to_the_next(first: float, *others: float) -> float:
    """Ratio of a figure to the largest of the others; NaN if that is 0."""
    return first / max(others) if max(others) else math.nan


def most(above: Sequence[float], below: Sequence[float]) -> OfMoments:
    """The largest of some over the least of others; its interval that of as many other moments."""
    fewer = min(len(above), len(below))
    if not fewer:
        return OfMoments(math.nan)
    ones, others = np.array(above[:fewer]), np.array(below[:fewer])
    return bootstrap(lambda chosen: float(ones[chosen].max() / others[chosen].min()), fewer)


def _two_modes(claim: str, times: Sequence[Sequence[float]], source: str = "Fig. 5") -> Finding:
    ours = share_with_two_modes(times)
    known = not math.isnan(ours.value)
    words = f"in {round(ours.value * ours.moments)} of {ours.moments}" if known else "–"
    return Finding(claim, source, "two", words, verdict_of(ours, 1.0), ours.moments)


def slow_share(samples: Sequence[float]) -> float:
    """Part of the samples above 1.5 times their median."""
    data = np.asarray(samples)
    return float((data > 1.5 * np.median(data)).mean())


def _slow_calls(found: Found, other: str) -> Finding:
    """Whether slow calls come from the choice between paths: are there fewer without it?"""
    plan, away = found.plan, machine.DIFFERENT_ISLANDS
    settings = [
        (plan.long(away, routing, 1.0), name)
        for routing in (other, ROUTINGS[0])
        for name in COLLECTIVES
    ]

    def more(samples: Sequence[Sequence[float]]) -> float:
        shares = [slow_share(one) for one in samples]
        half = len(shares) // 2
        return 100 * float(np.mean(shares[:half]) - np.mean(shares[half:]))

    ours = per_moment(found, plan.near(HIGH), settings, more)
    paths = {"minimal": "minimal routes alone", "valiant": "Valiant's routes alone"}[other]
    return Finding(
        f"High b: slow calls (above 1.5 × the median) come from adaptive routing: with {paths} "
        "there are fewer",
        "section 5.3",
        "fewer",
        f"{in_words(ours, '', 1)} percentage points more",
        verdict_of(ours, at_most=-1e-9),
        ours.moments,
    )


# --- Figure 6: applications -----------------------------------------------------------------------


def application_times(
    found: Found, name: str, b: float, intensity: float = 1.0
) -> list[list[float]]:
    """The times of an application's iterations in µs, for each moment near b."""
    setting = found.plan.application(name, intensity)
    records = [found.record(moment, setting) for moment in found.plan.near(b)]
    return [record["iterations_us"] for record in records if record is not None]


def application_rise(found: Found, name: str, intensity: float = 1.0) -> OfMoments:
    """How much longer an application's iterations take at the higher b of figure 6, in per cent."""
    low, high = FIGURE_6[name]
    ratio = ratio_of_means(
        [float(np.mean(one)) for one in application_times(found, name, high, intensity)],
        [float(np.mean(one)) for one in application_times(found, name, low, intensity)],
    )
    value, low_end, high_end = (100 * (end - 1) for end in (ratio.value, ratio.low, ratio.high))
    return OfMoments(value, low_end, high_end, ratio.moments)


def _figure_6(found: Found) -> Iterator[Finding]:
    for name, published, half in (("HACC", 4.4, 0.05), ("miniAMR", 2.0, 0.5)):
        low, high = FIGURE_6[name]
        ours = application_rise(found, name)
        yield Finding(
            f"{name} is slower by {published:g} % at b = {high:g} than at {low:g}",
            "Fig. 6",
            f"+{published:g} %",
            in_words(ours, " %"),
            verdict_of(ours, published - half, published + half),
            ours.moments,
        )
    for b in FIGURE_6["miniAMR"]:
        times = application_times(found, "miniAMR", b)
        yield _two_modes(f"miniAMR at b = {b:g}: several peaks", times, "Fig. 6b")


# --- All distributions ----------------------------------------------------------------------------


#: What :func:`distributions` tells of each.
CALLS_COLUMNS = (
    *("part", "moment", "b", "setting", "collective", "bytes", "calls"),
    *("mean_us", "median_us", "p85_us", "p99_us", "maximum_us", "peak_per_ms", "slow_share"),
)


def distributions(found: Found, size: int) -> Iterator[list[str]]:
    """A row of figures for each collective, for every simulation of large calls alone."""
    plan = found.plan
    parts: list[tuple[str, Sequence[Moment], Setting, str]] = []
    for b, what in ((HIGH, "high b"), (LOW, "low b")):
        for routing in ROUTINGS:
            for intensity in plan.extent.intensities:
                setting = plan.long(machine.DIFFERENT_ISLANDS, routing, intensity)
                parts.append((f"{routing}, {what}", plan.near(b), setting, ""))
        for name in plan.extent.experiments:
            kind = PACKED if name == PACKED else ""
            there = plan.experiment_moments(name, b)
            parts.append((f"{name}, {what}", there, plan.experiment(name), kind))
    for scenario in machine.SCENARIOS:
        parts.append((scenario, plan.near(USUAL), plan.long(scenario, ROUTINGS[0], 1.0), ""))
    for part, moments, setting, kind in parts:
        for moment in moments:
            for name in COLLECTIVES:
                for us in found.times([moment], setting, name, size, kind):
                    p50, p85, p99 = np.quantile(us, (0.5, 0.85, 0.99))
                    yield [
                        part,
                        str(moment.number),
                        f"{moment.b:.3f}",
                        setting.name,
                        name,
                        str(size),
                        str(len(us)),
                        *(f"{v:.1f}" for v in (np.mean(us), p50, p85, p99, max(us))),
                        f"{1e3 * peak(us):.3g}",
                        f"{slow_share(us):.3f}",
                    ]


def title_of(name: str) -> str:
    """A collective as people write it."""
    return {"broadcast": "Bcast", "reduce": "Reduce", "alltoall": "Alltoall"}.get(name, "Allreduce")


def size_of(size: int) -> str:
    """A size as people write it."""
    return f"{size} B" if size < 1024 else f"{size // 1024} KiB" if size < LARGE else "1 MiB"
