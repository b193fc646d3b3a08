"""Which families of distributions fit the times of calls best."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from odonata.bounded import read_json
from odonata.output import rewrite
from odonata.tails.fits import Fit, fit_families
from odonata_studies.longtail import machine
from odonata_studies.longtail.findings import PAPER
from odonata_studies.longtail.plan import HIGH, LOW, ROUTINGS, USUAL, Found

#: Fewer calls say little about families.
LEAST_CALLS = 100
#: Processor time for one family. The slow ones take minutes; they are named as failed in the table.
TIME_LIMIT_S = 2.0
#: One of this many calls is held out.
_HELD_OUT = 5


@dataclass(frozen=True)
class BestFits:
    """The best families of one distribution.

    Attributes:
        where: Which distribution, in words.
        collective: Its calls.
        calls: How many, those held out among them.
        families: That could be fitted.
        squared_error: The best by it, with its Kolmogorov–Smirnov distance, in words.
        aic: The best by AIC.
        bic: The best by BIC.
        held_out: By how much the best by BIC makes calls that it was not fitted to likelier than a
            normal distribution does: mean difference of log-likelihoods.
    """

    where: str
    collective: str
    calls: int
    families: int
    squared_error: str
    aic: str
    bic: str
    held_out: float


def distributions_of(found: Found) -> list[tuple[str, str, NDArray[np.float64]]]:
    """The distributions of figures 3 and 5: which, the collective, times of all calls in µs.

    Those with too few calls, or whose calls all take equally long, are left out.
    """
    plan = found.plan
    parts = [
        (f"{scenario}, b about {b:g}", scenario, b)
        for scenario, b in (
            (machine.SAME_GROUP, USUAL),
            (machine.SAME_ISLAND, USUAL),
            (machine.DIFFERENT_ISLANDS, USUAL),
            (machine.DIFFERENT_ISLANDS, LOW),
            (machine.DIFFERENT_ISLANDS, HIGH),
        )
    ]
    chosen = []
    for where, scenario, b in parts:
        setting = plan.long(scenario, ROUTINGS[0], 1.0)
        for name in PAPER:
            times = found.times(plan.near(b), setting, name)
            samples = np.array([us for one in times for us in one], dtype=np.float64)
            if samples.size >= LEAST_CALLS and np.ptp(samples) > 1e-3 * samples.mean():
                chosen.append((where, name, samples))
    return chosen


def best_fits(found: Found, kept: Path, families: Sequence[str] | None = None) -> list[BestFits]:
    """The best families of all distributions.

    Args:
        found: What was simulated.
        kept: A file of earlier fits; those of the same samples are taken from it, others added.
        families: To be fitted; all that SciPy has if `None`.

    Raises:
        LibraryError: If SciPy is not installed.
    """
    known = read_json(kept) if kept.exists() else {}
    fits = []
    for where, name, samples in distributions_of(found):
        asked = repr((where, name, families)).encode()
        which = hashlib.sha256(asked + samples.tobytes()).hexdigest()
        if which not in known:
            known[which] = asdict(_best(where, name, samples, families))
            rewrite(kept, json.dumps(known, indent=1))
        fits.append(BestFits(**known[which]))
    return fits


def _best(
    where: str, name: str, samples: NDArray[np.float64], families: Sequence[str] | None
) -> BestFits:
    from scipy.stats import norm

    out = np.arange(samples.size) % _HELD_OUT == _HELD_OUT - 1
    fits = fit_families(samples[~out], families, time_limit_s=TIME_LIMIT_S)
    good = [one for one in fits if not one.failure]

    def best(criterion: str) -> str:
        first = min(good, key=lambda one: getattr(one, criterion))
        return f"{first.family} ({first.ks:.3f})"

    normal = samples[~out]
    usual = norm.logpdf(samples[out], normal.mean(), normal.std())
    gain = _log_likelihood(good[0], samples[out]) - usual
    return BestFits(
        where=where,
        collective=name,
        calls=samples.size,
        families=len(good),
        squared_error=best("squared_error"),
        aic=best("aic"),
        bic=best("bic"),
        held_out=float(gain.mean()),
    )


def _log_likelihood(fit: Fit, samples: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(all="ignore"):
        found: NDArray[np.float64] = fit.distribution().logpdf(samples)
    return found
