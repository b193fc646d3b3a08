"""Load-latency curves of a dragonfly of 1,056 nodes: the study behind pages/dragonfly-theory.md.

    .venv/bin/python studies/scripts/dragonfly_curves.py           # minutes; writes page and figure
    .venv/bin/python studies/scripts/dragonfly_curves.py --quick   # under a minute; keeps nothing

Leaves data/dragonfly_curves.csv (every point), pages/figures/dragonfly-curves.png, and the
tables of pages/dragonfly-theory.md. Equal seeds give equal files, on any number of processes.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from dragonfly import page, plan, points
from dragonfly.figure import draw
from dragonfly.machine import Measured, Run, measure

HOME = Path(__file__).resolve().parents[1]


def simulate(runs: list[Run], processes: int) -> list[Measured]:
    """Simulates side by side, the longest runs first; results are in the order of ``runs``."""
    order = sorted(range(len(runs)), key=lambda index: -runs[index].cost)
    results: dict[int, Measured] = {}
    with ProcessPoolExecutor(processes) as pool:
        for index, measured in zip(
            order, pool.map(measure, [runs[index] for index in order]), strict=True
        ):
            results[index] = measured
            if sys.stderr.isatty():
                print(f"\r{len(results)} of {len(runs)} simulations", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    return [results[index] for index in range(len(runs))]


def main() -> None:
    """Runs the study."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a coarse version in under a minute")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--draw-only", action="store_true", help="figure and page again, from the CSV file"
    )
    parser.add_argument(
        "--out", type=Path, help="instead of studies/; default of --quick: results/dragonfly-curves"
    )
    options = parser.parse_args()
    out = options.out or (Path("results/dragonfly-curves") if options.quick else HOME)
    table = out / "data" / "dragonfly_curves.csv"
    if not options.draw_only:
        started = time.monotonic()
        runs = plan.runs(plan.QUICK if options.quick else plan.FULL)
        points.write(points.summarise(simulate(runs, options.processes)), table)
        print(f"{len(runs)} simulations in {time.monotonic() - started:.0f} s: {table}")
    measured = points.read(table)
    figure = out / "pages" / "figures" / "dragonfly-curves.png"
    figure.parent.mkdir(parents=True, exist_ok=True)
    draw(measured, figure)
    print(figure)
    if out == HOME:
        page.update(HOME / "pages" / "dragonfly-theory.md", measured)
        print(HOME / "pages" / "dragonfly-theory.md")
    else:
        print(page.saturation_table(measured))


if __name__ == "__main__":
    main()
