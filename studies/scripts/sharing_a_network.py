"""The tables of ``pages/sharing-a-network.md``.

    .venv/bin/python studies/scripts/sharing_a_network.py [--as-is]

From the datasets of the studies sharing and sharing-applications, which study_files.py leaves in
results/; what is missing of them is simulated first (a quarter of an hour), unless it is told
``--as-is``. The table of arrival rates is that of kang2019_arrivals.py.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pandas as pd

import study_files
from odonata.study.findings import FEWEST
from odonata.study.intervals import interval
from odonata_studies.marked import markdown, write_tables

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "studies" / "pages" / "sharing-a-network.md"

PLACEMENT = ("contiguous", "isolated", "random-group", "random-router", "random-node")
ROUTING = {
    "dragonfly": (
        *("minimal", "valiant", "ugal-l", "ugal-l by default", "par", "par by default"),
        "q-adaptive",
    ),
    "dragonfly+": (
        *("minimal", "valiant", "ugal-l", "ugal-l by default", "par", "par by default"),
        "fpar",
    ),
}
MACHINE = ("dragonfly, minimal", "dragonfly, par", "dragonfly+, par", "dragonfly+, fpar")


def main(options: list[str]) -> None:
    """Writes the tables into the page."""
    study_files.main([*options, "study-sharing", "study-sharing-applications"])
    sharing, applications = (
        pd.read_parquet(ROOT / "results" / name / "dataset.parquet")
        for name in ("sharing", "sharing-applications")
    )
    tables = {
        "mean latency": victim_table(sharing, "latency_us"),
        "99th percentile": victim_table(sharing, "latency_p99_us"),
        "applications": applications_table(applications),
    }
    write_tables(PAGE, tables)
    print(PAGE.relative_to(ROOT))


def victim_table(runs: pd.DataFrame, figure: str) -> str:
    """What the victim has alone, and by how much the bully multiplies it."""
    rows = []
    for network, routings in ROUTING.items():
        for routing in routings:
            chosen = runs[(runs.network == network) & (runs.routing == routing)]
            cells = [_cell(chosen[chosen.placement == name], figure) for name in PLACEMENT]
            rows.append([network, routing, *cells])
    return markdown(["network", "routing", *PLACEMENT], rows, labels=2)


def applications_table(runs: pd.DataFrame) -> str:
    """Run time of every application alone, and by how much the others multiply it."""
    rows = []
    for application in sorted(runs.application.unique(), key=str.lower):
        for machine in MACHINE:
            chosen = runs[(runs.application == application) & (runs.machine == machine)]
            cells = [_cell(chosen[chosen.placement == name], "run_time_us") for name in PLACEMENT]
            rows.append([application, machine, *cells])
    return markdown(["application", "machine", *PLACEMENT], rows, labels=2)


def _cell(runs: pd.DataFrame, figure: str) -> str:
    """Mean alone in µs × geometric mean of the ratios of pairs of runs.

    With its 95 % interval, or with the extremes where there are fewer seeds than a verdict needs.
    """
    alone = runs[runs.company == "alone"].set_index("seed")[figure]
    together = runs[runs.company != "alone"].set_index("seed")[figure]
    ratios = [math.log(ratio) for ratio in (together / alone).tolist()]
    if not ratios:
        return "–"
    mean = interval(ratios)
    spread = ""
    if len(ratios) >= FEWEST:
        low, high = (math.exp(mean.mean + sign * mean.half_width) for sign in (-1, 1))
        spread = f" ({low:.2f} … {high:.2f})"
    elif len(ratios) > 1:
        spread = f" ({math.exp(min(ratios)):.2f}–{math.exp(max(ratios)):.2f})"
    return f"{alone.mean():.3g} × {math.exp(mean.mean):.2f}{spread}"


if __name__ == "__main__":
    main(sys.argv[1:])
