"""Families of distributions found again in their own samples: a table of docs/tails.md.

    .venv/bin/python studies/scripts/tails_families.py [TRIALS]    # 10: half an hour of CPU

Draws 1,000 samples from each of twenty families, fits every continuous family of SciPy to them but
two that do not end in time, and looks for the one they came from among the five best, by AIC and by
BIC. What is the same distribution by another name has one place together. Leaves
data/tails_families.csv.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy import stats

from odonata.tails import Fit, fit_families
from odonata.tails.fits import all_families

SAMPLES, BEST = 1_000, 5
CRITERIA = ("aic", "bic")
#: A family that takes longer than this is out of the running, in this table too.
TIME_LIMIT_S = 3.0
#: Not done within 15 s of 1,000 samples: densities by numerical integration.
ENDLESS = ("levy_stable", "studentized_range")
#: Chosen before any was fitted: those that latencies and loads are described by, and textbook ones.
FAMILIES = {
    "norm": stats.norm(),
    "lognorm": stats.lognorm(0.7),
    "expon": stats.expon(),
    "gamma": stats.gamma(3),
    "weibull_min": stats.weibull_min(1.7),
    "pareto": stats.pareto(2.5),
    "lomax": stats.lomax(2.5),
    "gumbel_r": stats.gumbel_r(),
    "gumbel_l": stats.gumbel_l(),
    "logistic": stats.logistic(),
    "cauchy": stats.cauchy(),
    "laplace": stats.laplace(),
    "t": stats.t(3),
    "invgauss": stats.invgauss(0.5),
    "invgamma": stats.invgamma(4),
    "beta": stats.beta(2, 3),
    "rayleigh": stats.rayleigh(),
    "maxwell": stats.maxwell(),
    "uniform": stats.uniform(),
    "fisk": stats.fisk(3),
}


def place_of(name: str, fits: Sequence[Fit], criterion: str) -> int:
    """Place of a family among distributions that differ; 0 if it was not fitted."""
    (own,) = (fit for fit in fits if fit.family == name)
    different = [fit for fit in fits if not fit.failure and not fit.same_as]
    different.sort(key=lambda fit: float(getattr(fit, criterion)))
    names = [fit.family for fit in different]
    return 0 if own.failure else 1 + names.index(own.same_as or name)


def main(trials: int) -> None:
    """Fits, and keeps the places."""
    rows = []
    families = [name for name in all_families() if name not in ENDLESS]
    for trial in range(trials):
        for number, (name, family) in enumerate(FAMILIES.items()):
            random = np.random.default_rng([trial, number])
            samples = family.rvs(size=SAMPLES, random_state=random)
            fits = fit_families(samples, families, time_limit_s=TIME_LIMIT_S)
            places = [place_of(name, fits, criterion) for criterion in CRITERIA]
            rows.append([name, trial, *places, *(fit.family for fit in fits[:BEST])])
            print(*rows[-1], flush=True)
    for name in (*FAMILIES, ""):
        of = [row[2:4] for row in rows if name in ("", row[0])]
        found = (sum(0 < place <= BEST for place in places) for places in zip(*of, strict=True))
        print(f"{name or 'all':12} of {len(of)}:", *found)
    path = Path(__file__).resolve().parents[1] / "data" / "tails_families.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        by = (f"place_by_{criterion}" for criterion in CRITERIA)
        writer.writerow(["family", "trial", *by, *(f"best_by_aic_{k}" for k in range(1, BEST + 1))])
        writer.writerows(rows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
