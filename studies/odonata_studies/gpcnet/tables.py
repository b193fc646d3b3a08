"""The study's tables, as data and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from odonata.study.execution import Record
from odonata.study.intervals import Mean, interval
from odonata_studies.gpcnet.plan import AGGRESSORS, SHARES, TESTS, VICTIMS, Case, figures_of
from odonata_studies.marked import markdown

#: The impact factors of GPCNeT's run on 64 nodes of Slingshot, mean and 99th percentile: 2.9 and
#: 2.9 us, 4,061 and 4,058 MiB/s, 20.2 and 20.3 us, and so on (HewlettPackard/shs-docs).
MEASURED: Mapping[str, tuple[float, float]] = {
    "latency": (2.9 / 2.9, 4.3 / 4.3),
    "bandwidth": (4061 / 4058, 2830 / 2821),
    "allreduce": (20.3 / 20.2, 22.3 / 22.2),
}


def simulated(cases: Sequence[Case], records: Mapping[str, Record]) -> pd.DataFrame:
    """One row per simulation: what ran, and GPCNeT's figures of it."""
    rows = []
    for case in cases:
        record = records[case.name]
        mean, worst = figures_of(case.victim, record)
        rows.append(
            {
                "victim": case.victim,
                "scheme": case.scheme,
                "aggressor": case.aggressor,
                "share": case.share,
                "beside": case.beside,
                "seed": case.seed,
                "iterations": record["iterations"],
                "mean": mean,
                "p99": worst,
            }
        )
    return pd.DataFrame(rows)


def impacts(
    found: pd.DataFrame, victim: str, scheme: str, aggressor: str, share: int, figure: str = "mean"
) -> list[float]:
    """How many times worse each seed's figure is beside the aggressor; above 1 is worse."""
    here = found[(found.victim == victim) & (found.scheme == scheme) & (found.share == share)]
    of_gpcnet = here[(here.aggressor == "GPCNeT") == (aggressor == "GPCNeT")]
    alone = of_gpcnet[~of_gpcnet.beside].set_index("seed")[figure]
    beside = of_gpcnet[of_gpcnet.beside & (of_gpcnet.aggressor == aggressor)]
    ratio = beside.set_index("seed")[figure] / alone
    ratio = 1 / ratio if victim == "bandwidth" else ratio
    return [float(one) for one in ratio.dropna()]


def _shown(values: Sequence[float], digits: int = 2) -> str:
    if not values:
        return "–"
    mean: Mean = interval(values)
    half = mean.half_width
    return f"{mean.mean:.{digits}f}" + (
        f" ± {half:.{digits}f}" if len(values) > 1 and half > 0.5 * 10**-digits else ""
    )


def _gpcnet(found: pd.DataFrame) -> str:
    rows = []
    here = found[found.aggressor == "GPCNeT"]
    for test, unit in TESTS.items():
        for scheme in here.scheme.unique():
            row = [f"{test}, {unit}", scheme]
            for figure in ("mean", "p99"):
                for beside in (False, True):
                    of = here[(here.victim == test) & (here.scheme == scheme)]
                    values = of[of.beside == beside][figure].dropna()
                    row.append(f"{np.mean(values):,.1f}" if len(values) else "–")
                factors = impacts(found, test, scheme, "GPCNeT", here.share.iloc[0], figure)
                row.append(_shown(factors))
            rows.append(row)
        row = [f"{test}, {unit}", "measured, Slingshot"]
        for factor in MEASURED[test]:
            row += ["–", "–", f"{factor:.2f}"]
        rows.append(row)
    header = ["test", "scheme", "mean alone", "beside", "factor", "99 % alone", "beside", "factor"]
    return markdown(header, rows, labels=2)


def _de_sensi(found: pd.DataFrame) -> str:
    rows = []
    for victim in VICTIMS:
        for aggressor in AGGRESSORS:
            for scheme in found[found.aggressor != "GPCNeT"].scheme.unique():
                factors = [impacts(found, victim, scheme, aggressor, share) for share in SHARES]
                if any(factors):
                    rows.append([victim, aggressor, scheme, *(_shown(one) for one in factors)])
    header = ["victim", "aggressor", "scheme", *(f"{share} % of the nodes" for share in SHARES)]
    return markdown(header, rows, labels=3)


def tables(found: pd.DataFrame) -> dict[str, str]:
    """The tables of the page, by name."""
    return {"GPCNeT": _gpcnet(found), "congestion impact": _de_sensi(found)}


def conclusion(found: pd.DataFrame) -> list[str]:
    """What the terminal says, line by line."""
    lines = []
    here = found[found.aggressor == "GPCNeT"]
    for scheme in here.scheme.unique():
        factors = ", ".join(
            f"{test} {_shown(impacts(found, test, scheme, 'GPCNeT', here.share.iloc[0]))} "
            f"(99 %: {_shown(impacts(found, test, scheme, 'GPCNeT', here.share.iloc[0], 'p99'))})"
            for test in TESTS
        )
        lines.append(f"{scheme}: {factors} times worse beside GPCNeT's congestors")
    return lines


def page(title: str, figure: str, found: pd.DataFrame) -> str:
    """The page that the study leaves beside its results."""
    parts = [f"# {title}", "\n".join(f"- {line}" for line in conclusion(found))]
    parts.append(f"![{title}]({figure})")
    for name, table in tables(found).items():
        parts += [f"## {name[0].upper()}{name[1:]}", table]
    return "\n\n".join(parts) + "\n"
