"""Run times that the authors of Kaplan et al. 2017 left in their program, beside ours.

    .venv/bin/python studies/scripts/kaplan2017_author_runs.py             # an hour on one core
    .venv/bin/python studies/scripts/kaplan2017_author_runs.py --table     # only the page's table

Bisections on a machine that the paper does not have (sst-elements,
scheduler/simulations/N1_bisection, eight files ember.out), by the study's judged model with the
crossbar of the harness. Leaves kaplan2017_author_runs.csv, α after α, and from it a table in
pages/study-kaplan2017.md. An α that is in the CSV is not simulated again: remove it first.
"""

from __future__ import annotations

import sys
from pathlib import Path

import odonata
from odonata import Scenario
from odonata.study.file import StudyFile
from odonata.study.sweep import Sweep
from odonata_studies.marked import markdown, write_tables
from odonata_studies.papers import LIBRARY
from odonata_studies.rows import read_rows, write_rows

HOME = Path(__file__).resolve().parents[1]
PAGE = HOME / "pages" / "study-kaplan2017.md"
KEPT = HOME / "data" / "kaplan2017_author_runs.csv"
COLUMNS = ("alpha", "first_rank_s", "end_s")

#: By α: when rank 0 is done ("Job Finished"), and when the simulation ends, in seconds.
AUTHORS = {
    0.5: (11.998489, 12.4905),
    1.0: (6.069882, 6.31378),
    1.5: (4.581634, 4.76158),
    2.0: (4.369099, 4.54206),
    2.5: (4.395507, 4.56009),
    3.0: (4.490283, 4.65586),
    3.5: (4.385124, 4.55312),
    4.0: (4.39908, 4.57172),
}

#: A bisection of the study, of which the authors' run differs in what `AS_RUN` sets.
POINT = (
    "pattern == 'bisection' and machine == 'small' and message == '100 kB' and outstanding == 1"
    " and routing == 'minimal' and arrangement == 'absolute' and alpha == 1"
    " and crossbar == 'harness' and halves == 'minimum' and order == 'harness'"
    " and iterations == 'ten'"
)
#: dragonfly[4,9,4,2,all_to_all,absolute]: 17 groups of 4 routers with 2 nodes and 4 global links
#: each. Nodes and ranks in order, Ember's default of 10,000 items of 8 B, 50 iterations.
AS_RUN = {
    "network.h": 4,
    "job.0.nodes": 136,
    "job.0.placement": "contiguous",
    "job.0.mapping": "linear",
    "job.0.motif.message": "80 kB",
    "job.0.motif.iterations": 50,
    "job.0.motif.window": 136,
}


def scenario(alpha: float) -> Scenario:
    """The authors' run at an α."""
    study = StudyFile.from_file(LIBRARY / "kaplan2017.toml")
    alone = study.changed(where=POINT, repetitions=1)
    (point,) = Sweep(alone).points
    return point.scenario.with_set({**AS_RUN, "network.links.global.bandwidth": f"{alpha:g} GB/s"})


def simulated(alpha: float) -> tuple[float, float]:
    """When rank 0 is done, and when all are, in seconds."""
    result = odonata.run(scenario(alpha))
    (first,) = (row for row in result.ranks.to_pylist() if row["rank"] == 0)
    end_ps = result.summary_dict["jobs"][0]["run_time_ps"]
    return first["total_ps"] / 1e12, end_ps / 1e12


def kept() -> dict[float, tuple[float, float]]:
    """What was simulated, by α."""
    if not KEPT.exists():
        return {}
    return {
        float(row["alpha"]): (float(row["first_rank_s"]), float(row["end_s"]))
        for row in read_rows(KEPT)
    }


def keep(found: dict[float, tuple[float, float]]) -> None:
    """Writes what was simulated."""
    rows = [(f"{alpha:g}", *found[alpha]) for alpha in sorted(found)]
    write_rows(KEPT, [dict(zip(COLUMNS, row, strict=True)) for row in rows])


def table(found: dict[float, tuple[float, float]]) -> str:
    """Theirs and ours, as Markdown; an α that was not simulated has only theirs."""
    rows = []
    off: tuple[list[float], list[float]] = ([], [])
    for alpha, theirs in AUTHORS.items():
        ours = found.get(alpha)
        cells = [f"{alpha:g}"]
        for number, their in enumerate(theirs):
            cells += [f"{their:.2f}", "–", "–"]
            if ours is not None:
                off[number].append(100 * (ours[number] / their - 1))
                cells[-2:] = [f"{ours[number]:.2f}", f"{_signed(off[number][-1])} %"]
        rows.append(cells)
    header = ("α", "rank 0, s: SST", "ours", "difference", "all, s: SST", "ours", "difference")
    first, every = (f"{_signed(min(one))} to {_signed(max(one))} %" for one in off)
    summary = f"All ranks together differ by {every} from SST's, rank 0 by {first}."
    return f"{markdown(header, rows, labels=0)}\n\n{summary}"


def _signed(percent: float) -> str:
    return f"{percent:+.1f}".replace("-", "−")


def main() -> None:
    """Simulates what is missing, and rewrites the page's table."""
    found = kept()
    for alpha in AUTHORS if "--table" not in sys.argv else ():
        if alpha not in found:
            found[alpha] = simulated(alpha)
            keep(found)
            print(f"alpha {alpha:g}: {found[alpha][0]:.3f} s, all {found[alpha][1]:.3f} s")
    write_tables(PAGE, {"author runs": table(found)})


if __name__ == "__main__":
    main()
