"""What the paper could not do: what predicts slow runs, and which jobs make them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from odonata.study.cells import Estimated
from odonata_studies.longtail.findings import month_means
from odonata_studies.longtail.months import Moment
from odonata_studies.longtail.plan import Found
from odonata_studies.longtail.probes import COLLECTIVES, LARGE
from odonata_studies.longtail.statistics import bootstrap, estimate_pairs, logistic, spearman

#: Sizes of the runs that are predicted.
_PREDICTED = (2**15, LARGE)
#: What is not known beforehand: mean load of the global links, and of those at the probe's leaves.
TRUE_LOADS = ("global", "near the probe")


@dataclass(frozen=True)
class Indicator:
    """How well one quantity goes with the network's load and with times.

    Attributes:
        name: Of the quantity.
        load: Spearman's ρ with the true load of the global links by the background.
        times: ρ with the mean time of 1 MiB, by collective.
    """

    name: str
    load: Estimated
    times: dict[str, Estimated]


def _quantities(
    found: Found, moments: Sequence[Moment], intensity: float
) -> dict[str, NDArray[np.float64]]:
    """By name, of every moment: what can be known of it, and the true loads."""
    rows = [moment.indicators() for moment in moments]
    quantities = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    setting = found.plan.month(intensity)
    for name in TRUE_LOADS:
        loads = []
        for moment in moments:
            record = found.record(moment, setting)
            loads.append(math.nan if record is None else record["links"][name])
        quantities[f"load: {name}"] = np.array(loads)
    return quantities


def indicators(found: Found, intensity: float) -> list[Indicator]:
    """Every quantity with its correlations over the moments."""
    moments, means = month_means(found, found.plan.month(intensity))
    if len(moments) < 4:
        return []
    quantities = _quantities(found, moments, intensity)
    load = quantities[f"load: {TRUE_LOADS[0]}"]

    def rho(x: NDArray[np.float64], y: NDArray[np.float64]) -> Estimated:
        return estimate_pairs(spearman, x, y)

    return [
        Indicator(name, rho(x, load), {c: rho(x, means[c, LARGE]) for c in COLLECTIVES})
        for name, x in quantities.items()
    ]


@dataclass(frozen=True)
class Forecast:
    """How good a forecast of slow runs is.

    Attributes:
        name: What it is made from.
        brier: Mean square of probability less outcome, over the runs of the later moments.
        gain: How much less that is than with the threshold on b.
    """

    name: str
    brier: float
    gain: Estimated


@dataclass(frozen=True)
class Forecasts:
    """Forecasts and what they are of.

    Attributes:
        learnt: Moments that they were made from, the earlier ones.
        judged: Moments that they are judged by.
        slow: Part of the judged runs that were slow.
        threshold: Of b, above which the paper's user would not submit.
        rows: The forecasts.
    """

    learnt: int
    judged: int
    slow: float
    threshold: float
    rows: list[Forecast]


def forecasts(found: Found, intensity: float) -> Forecasts | None:
    """Forecasts of slow runs, learnt from the first 60 % of the moments, judged by the rest.

    A run is slow if its mean exceeds the 85th percentile of the earlier runs of its collective and
    size. The threshold of b is the one with the least Brier score on the earlier runs.
    """
    moments, means = month_means(found, found.plan.month(intensity))
    learnt = round(0.6 * len(moments))
    if learnt < 8 or len(moments) - learnt < 4:
        return None
    quantities = _quantities(found, moments, intensity)
    slow = np.stack(
        [
            means[name, size] > np.quantile(means[name, size][:learnt], 0.85)
            for name in COLLECTIVES
            for size in _PREDICTED
        ],
        axis=1,
    )
    early, late = slow[:learnt], slow[learnt:]
    b = quantities["b"]
    limits = np.unique(b[:learnt])
    scores = [float(((b[:learnt, None] > limit) != early).mean()) for limit in limits]
    threshold = float(limits[int(np.argmin(scores))])
    probabilities: dict[str, NDArray[np.float64]] = {
        "b above a threshold (the paper's)": (b[learnt:] > threshold).astype(np.float64),
        "the same threshold, the share of slow runs on each side as the probability": _on_sides(
            b[:learnt], early, b[learnt:], threshold
        ),
        "always the usual share": np.full(len(late), float(early.mean())),
    }
    known = [name for name in quantities if not name.startswith("load: ")]
    chosen = {name: [name] for name in known} | {"all of these": known}
    chosen |= {f"load: {name}": [f"load: {name}"] for name in TRUE_LOADS}
    for name, columns in chosen.items():
        features = np.stack([quantities[column] for column in columns], axis=1)
        # One row for each run: a moment's runs have the same features.
        rows = np.repeat(features[:learnt], early.shape[1], axis=0)
        probabilities[name] = logistic(rows, early.ravel(), features[learnt:])
    squares = {name: ((p[:, None] - late) ** 2).mean(axis=1) for name, p in probabilities.items()}
    naive = squares["b above a threshold (the paper's)"]

    def gain(of: NDArray[np.float64]) -> Estimated:
        return bootstrap(lambda picked: float((naive - of)[picked].mean()), len(late))

    return Forecasts(
        learnt,
        len(late),
        float(late.mean()),
        threshold,
        [Forecast(name, float(of.mean()), gain(of)) for name, of in squares.items()],
    )


def _on_sides(
    b: NDArray[np.float64], slow: NDArray[np.bool_], where: NDArray[np.float64], threshold: float
) -> NDArray[np.float64]:
    """The share of slow runs among the earlier ones on the same side of a threshold, by moment."""
    sides = [slow[b > threshold], slow[b <= threshold]]
    above, below = (float((one if one.size else slow).mean()) for one in sides)
    return np.where(where > threshold, above, below)


@dataclass(frozen=True)
class Culprits:
    """Whom the probe waited for.

    Attributes:
        waited: By application, its part of all time that the probe's packets waited for others.
        nodes: By application, its part of the nodes of communicating jobs.
        first: Part of that time, at a moment, that one job made: mean over the moments.
        first_of_b: The same job's part of the nodes that b counts.
        jobs: Communicating jobs at a moment, on average.
    """

    waited: dict[str, float]
    nodes: dict[str, float]
    first: float
    first_of_b: float
    jobs: float


def culprits(found: Found, intensity: float) -> Culprits | None:
    """Whom the probe waited for over the moments."""
    setting = found.plan.month(intensity)
    waited: Counter[str] = Counter()
    nodes: Counter[str] = Counter()
    first, first_of_b, jobs = [], [], []
    for moment in found.plan.moments:
        record = found.record(moment, setting)
        if record is None or not record["waits"]:
            continue
        sizes = {
            f"{job.application.name}-{job.id}": len(job.nodes)
            for job in moment.jobs
            if len(job.nodes) > 1
        }
        for name, size in sizes.items():
            nodes[name.rpartition("-")[0]] += size
        for name, us in record["waits"].items():
            waited[name.rpartition("-")[0]] += us
        worst = max(record["waits"], key=record["waits"].__getitem__)
        first.append(record["waits"][worst] / sum(record["waits"].values()))
        first_of_b.append(sizes[worst] / sum(sizes.values()))
        jobs.append(len(sizes))
    if not first:
        return None

    def shares(counted: Counter[str]) -> dict[str, float]:
        return {name: count / sum(counted.values()) for name, count in counted.most_common()}

    return Culprits(
        shares(waited),
        shares(nodes),
        float(np.mean(first)),
        float(np.mean(first_of_b)),
        float(np.mean(jobs)),
    )
