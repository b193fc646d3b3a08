"""The tables of ``pages/designing-a-dragonfly.md``.

    .venv/bin/python studies/scripts/designing_a_dragonfly.py [--as-is]

From the datasets of the studies dragonfly-design (16,512 nodes) and measured-applications, which
study_files.py leaves in results/; what is missing of them is simulated first (more than an hour in
all), unless it is told ``--as-is``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

import study_files
from odonata.study.intervals import interval
from odonata_studies.marked import markdown, write_tables

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "studies" / "pages" / "designing-a-dragonfly.md"

TRAFFIC = ("uniform", "halves by routers", "halves by groups", "next group")
ROUTING = ("minimal", "valiant", "ugal-l", "par")
PLACEMENT = ("cluster", "spread", "random")
ALPHA = (0.5, 1.0, 2.0, 4.0)


def main(options: list[str]) -> None:
    """Writes the tables into the page."""
    study_files.main([*options, "study-dragonfly-design", "study-measured-applications"])
    design, applications = (
        pd.read_parquet(ROOT / "results" / name / "dataset.parquet")
        for name in ("dragonfly-design", "measured-applications")
    )
    tables = {
        "arrangement": arrangement_table(design),
        "arrangement of applications": applications_table(applications),
        "alpha": alpha_table(design),
        "routing": routing_table(design),
        "defaults of today": defaults_table(design),
        "placement of a stencil": stencil_table(design),
        "placement of applications": placement_table(applications),
    }
    write_tables(PAGE, tables)
    print(PAGE.relative_to(ROOT))


def arrangement_table(design: pd.DataFrame) -> str:
    """By how much more arrives with circulant than with absolute, in per cent."""
    arriving = _arriving(design, ["traffic", "routing", "alpha", "arrangement"])
    rows = []
    for traffic in TRAFFIC:
        for routing in ROUTING:
            more = [
                arriving[traffic, routing, alpha, "circulant"]
                / arriving[traffic, routing, alpha, "absolute"]
                for alpha in ALPHA
            ]
            rows.append([traffic, routing, *(f"{100 * (ratio - 1):+.1f}" for ratio in more)])
    return markdown(["traffic", "routing", *(f"α = {alpha:g}" for alpha in ALPHA)], rows, labels=2)


def applications_table(applications: pd.DataFrame) -> str:
    """Run times of measured applications by arrangement, over absolute."""
    times = _times(applications, ["application", "placement", "routing", "alpha", "arrangement"])
    cases = [(name, placement) for name in _applications(applications) for placement in PLACEMENT]
    rows = []
    for routing in ROUTING:
        for alpha in (0.5, 2.0):
            cells = [
                _change(
                    times[name, placement, routing, alpha, arrangement]
                    / times[name, placement, routing, alpha, "absolute"]
                    for name, placement in cases
                )
                for arrangement in ("circulant", "relative")
            ]
            rows.append([routing, f"{alpha:g}", *cells])
    return markdown(["routing", "α", "circulant", "relative"], rows)


def alpha_table(design: pd.DataFrame) -> str:
    """What arrives over α under PAR with the circulant arrangement."""
    arriving = _arriving(design, ["traffic", "routing", "arrangement", "alpha"])
    rows = [
        [traffic, *(f"{arriving[traffic, 'par', 'circulant', alpha]:.2f}" for alpha in ALPHA)]
        for traffic in TRAFFIC
    ]
    return markdown(["arriving, GB/s per node", *(f"α = {alpha:g}" for alpha in ALPHA)], rows)


def routing_table(design: pd.DataFrame) -> str:
    """What arrives under each routing algorithm at α = 2 with the absolute arrangement.

    And by how much at worst it is behind the best, over all traffic and arrangements at α ≥ 1.
    """
    arriving = _arriving(design, ["traffic", "routing", "arrangement", "alpha"])
    every = arriving.unstack("routing")
    behind = every.div(every.max(axis=1), axis=0).query("alpha >= 1").min()
    rows = [
        [
            routing,
            *(f"{arriving[traffic, routing, 'absolute', 2.0]:.2f}" for traffic in TRAFFIC),
            f"{100 * (1 - behind[routing]):.0f} %",
        ]
        for routing in ROUTING
    ]
    return markdown(["routing", *TRAFFIC, "largest shortfall behind the best routing, α ≥ 1"], rows)


def defaults_table(design: pd.DataFrame) -> str:
    """What arrives with the circulant arrangement, with and without a threshold by default."""
    arriving = _arriving(design, ["arrangement", "traffic", "alpha", "routing"])["circulant"]
    routings = ("minimal", "ugal-l", "ugal-l by default", "par", "par by default")
    cases = (("uniform", 0.5), ("uniform", 2.0), ("halves by groups", 2.0), ("next group", 2.0))
    rows = [
        [f"{traffic}, α = {alpha:g}"]
        + [f"{arriving[traffic, alpha, routing]:.2f}" for routing in routings]
        for traffic, alpha in cases
    ]
    return markdown(["circulant", *routings], rows)


def stencil_table(design: pd.DataFrame) -> str:
    """Run time of a stencil on all nodes by placement, mean of the arrangements."""
    stencil = design[design.traffic == "stencil"]
    times = _times(stencil, ["routing", "alpha", "placement"])
    rows = [
        [
            routing,
            f"{alpha:g}",
            *(f"{times[routing, alpha, placement]:.0f}" for placement in PLACEMENT),
        ]
        for routing in ROUTING
        for alpha in (1.0, 4.0)
    ]
    return markdown(["routing", "α", *PLACEMENT], rows)


def placement_table(applications: pd.DataFrame) -> str:
    """Run times of measured applications under PAR by placement, over cluster."""
    chosen = applications[applications.routing == "par"]
    times = _times(chosen, ["application", "alpha", "placement"])
    rows = []
    for name in _applications(applications):
        row = [name]
        for alpha in (0.5, 2.0):
            row += [f"{times[name, alpha, placement]:.0f}" for placement in PLACEMENT]
        rows.append(row)
    header = [f"{placement}, α = {alpha:g}" for alpha in (0.5, 2.0) for placement in PLACEMENT]
    return markdown(["run time, µs", *header], rows)


def _arriving(design: pd.DataFrame, axes: list[str]) -> pd.Series[float]:
    """Mean over seeds of what arrives, in GB/s per node."""
    return design[design.traffic != "stencil"].groupby(axes).arriving_gb_per_s_per_node.mean()


def _times(dataset: pd.DataFrame, axes: list[str]) -> pd.Series[float]:
    """Mean run time in µs over everything but these axes."""
    return dataset.groupby(axes).run_time_us.mean()


def _applications(applications: pd.DataFrame) -> list[str]:
    return sorted(applications.application.unique(), key=str.lower)


def _change(ratios: Iterable[float]) -> str:
    """Geometric mean of ratios as a change in per cent, with its 95 % interval and extremes."""
    known = list(ratios)
    mean = interval([math.log(ratio) for ratio in known])

    def percent(logarithm: float) -> str:
        return f"{100 * (math.exp(logarithm) - 1):+.1f}"

    low, high = mean.mean - mean.half_width, mean.mean + mean.half_width
    worst, best = math.log(max(known)), math.log(min(known))
    return (
        f"{percent(mean.mean)} ({percent(low)} … {percent(high)}), "
        f"from {percent(best)} to {percent(worst)}"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
