"""AMG2013 placed in five ways on Theta under five routing algorithms: behind pages/theta-amg.md.

    .venv/bin/python studies/scripts/theta_amg.py    # minutes

Leaves data/theta_amg.csv (every run), pages/figures/theta-amg*.png, and the tables of
pages/theta-amg.md. Equal seeds give equal files, on any number of processes.

It needs two data files that are not part of the repository, in ``../shared/data`` beside the
checkout, and does nothing but say so where they are absent.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import pandas as pd

from odonata_studies.marked import write_tables
from theta.page import all_tables
from theta.pictures import draw_groups, draw_study
from theta.runs import Kept, Run, simulate_all

HOME = Path(__file__).resolve().parents[1]
ROOT = HOME.parent
EXAMPLE = ROOT / "examples" / "theta-amg.toml"
RUNS = HOME / "data" / "theta_amg.csv"
DATA = ROOT.parent / "shared" / "data"
MATRIX = DATA / "comm-matrices" / "derived-edges" / "AMG2013_1000_undirected.csv"
WIRING = DATA / "theta-topology" / "theta.interconnect"


def main() -> int:
    """Reruns the study; returns the exit code."""
    parser = argparse.ArgumentParser(description="Reruns the study of pages/theta-amg.md.")
    parser.add_argument("--processes", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    for needed in (MATRIX, WIRING):
        if not needed.exists():
            print(f"theta_amg: skipped, as {needed} is absent")
            return 0
    started = time.monotonic()
    done = simulate_all(EXAMPLE, MATRIX, options.processes)
    rows = pd.DataFrame([kept.row for _, kept in done])
    table = rows.sort_values(
        ["part", "placement", "routing", "ranks_per_node", "seed"], kind="stable"
    )
    table.to_csv(RUNS, index=False, float_format="%.6g")
    rows = pd.read_csv(RUNS)  # so that page and pictures show what the table says
    kept = dict(done)
    figures = HOME / "pages" / "figures"
    figures.mkdir(exist_ok=True)
    draw_study(rows[rows.part == "main"], kept, figures / "theta-amg.png")
    draw_groups(kept, figures / "theta-amg-groups.png")
    write_tables(HOME / "pages" / "theta-amg.md", all_tables(rows))
    print_cost(done, time.monotonic() - started)
    return 0


def print_cost(done: list[tuple[Run, Kept]], wall_seconds: float) -> None:
    """What the study and its biggest run cost; not part of its results, which are reproducible."""
    cpu = sum(kept.cost["cpu_seconds"] for _, kept in done)
    hops = sum(kept.cost["packet_hops"] for _, kept in done)
    run, biggest = max(done, key=lambda pair: pair[1].cost["packet_hops"])
    print(
        f"{len(done)} runs: {hops / 1e6:.0f} million packet-hops in {cpu:.0f} CPU seconds of "
        f"simulation ({hops / cpu / 1e6:.2f} million/s), {wall_seconds:.0f} s in all"
    )
    print(
        f"biggest: {run.part}, {run.placement}, {run.routing}: "
        f"{biggest.cost['packet_hops'] / 1e6:.1f} million packet-hops, "
        f"{biggest.cost['cpu_seconds']:.1f} CPU seconds, at most "
        f"{biggest.cost['peak_rss_bytes'] / 1e6:.0f} MB"
    )


if __name__ == "__main__":
    raise SystemExit(main())
