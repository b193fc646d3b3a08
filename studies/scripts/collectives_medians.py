"""Predictions beside medians that no calibration has seen: tables of study-collectives-measured.md.

    .venv/bin/python studies/scripts/collectives_medians.py # draws its CSV file
    .venv/bin/python studies/scripts/collectives_medians.py --simulate # minutes, by ../shared

After --simulate a machine may be named, which is simulated anew. Leaves the CSV file
data/collectives_medians.csv and three tables of the page. Where the measurements are absent it
says so and changes nothing.
"""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np

from odonata.machines.calibration import SHORTEST
from odonata.machines.prediction import Predictor
from odonata_studies.marked import markdown, write_tables
from odonata_studies.rows import beside, read_rows, write_rows

HOME = Path(__file__).resolve().parents[1]
PAGE = HOME / "pages" / "study-collectives-measured.md"
TABLE = HOME / "data" / "collectives_medians.csv"
DATA = "shared/data/hardware-collectives"
#: Scenarios by the names of machines in the table of medians.
MACHINES = {"leonardo": "leonardo", "mare_nostrum": "mare-nostrum-5"}
TITLES = {"leonardo": "Leonardo", "mare_nostrum": "MareNostrum 5"}

Row = dict[str, str]


def main(options: list[str]) -> None:
    """Simulates if asked to, and writes the tables."""
    if "--simulate" in options:
        found = beside(DATA)
        if found is None:
            return
        named = [name for name in MACHINES if name in options] or list(MACHINES)
        kept = read_rows(TABLE) if TABLE.exists() else []
        kept = [row for row in kept if row["machine"] not in named]
        rows = kept + [row for name in named for row in predicted(name, found)]
        rows.sort(key=lambda row: list(MACHINES).index(row["machine"]))
        write_rows(TABLE, rows)
    rows = read_rows(TABLE)
    own = [row for row in rows if not is_choice(row)]
    tables = {
        "medians": errors(own),
        "medians of choices": errors([row for row in rows if is_choice(row)]),
        "medians fastest": fastest(own),
    }
    write_tables(PAGE, tables)


def predicted(machine: str, folder: Path) -> list[Row]:
    """Rows of a machine: what was measured and predicted."""
    rows = read_rows(folder / "more-hosts.csv")
    hosts = {row["archive"]: row["hosts"].split() for row in rows}
    rows = [row for row in read_rows(folder / "more-medians.csv") if row["machine"] == machine]
    measured = [row for row in rows if int(row["bytes"]) >= SHORTEST]
    predictor = predictor_of(machine)
    found = []
    for number, row in enumerate(measured):
        name = "auto" if is_choice(row) else row["algorithm"]
        case = predictor.case(
            hosts[row["archive"]],
            row["collective"],
            name,
            int(row["bytes"]),
            int(row["tasks_per_node"]),
        )
        ours = predictor.predict(case)
        found.append(
            {
                **{key: row[key] for key in ("machine", "nodes", "collective", "algorithm")},
                "simulated": ours.algorithm,
                "bytes": row["bytes"],
                "measured_ns": f"{float(row['median_ns']):.0f}",
                "predicted_ns": f"{ours.median_ns:.0f}",
            }
        )
        print(f"{machine} {number + 1} of {len(measured)}", file=sys.stderr, end="\r")
    return found


def predictor_of(machine: str) -> Predictor:
    """What predicts on a machine of the table."""
    file = f"{MACHINES[machine]}.toml"
    return Predictor.from_file(HOME.parent / "examples" / "machines" / file)


def is_choice(row: Row) -> bool:
    """Whether the library chose the algorithm."""
    return row["algorithm"].startswith("default")


def errors(rows: list[Row]) -> str:
    """Errors by machine, nodes and collective, and of a machine's rows together."""
    lines = []
    for machine, title in TITLES.items():
        of_machine = [row for row in rows if row["machine"] == machine]
        predictor = predictor_of(machine)
        nodes = ", ".join(sorted({row["nodes"] for row in of_machine}))
        collectives = sorted({row["collective"] for row in of_machine})
        for collective in (*collectives, "all"):
            group = [row for row in of_machine if collective in (row["collective"], "all")]
            off = np.array(
                [float(row["predicted_ns"]) / float(row["measured_ns"]) - 1 for row in group]
            )
            inside = np.mean(
                [
                    low <= float(row["measured_ns"]) / float(row["predicted_ns"]) <= high
                    for row in group
                    for low, high in [predictor.interval(int(row["bytes"]), 1) or (1.0, 1.0)]
                ]
            )
            lines.append(
                [
                    title,
                    nodes,
                    collective,
                    str(len(group)),
                    f"{100 * np.median(np.abs(off)):.0f} %",
                    f"{100 * np.quantile(np.abs(off), 0.9):.0f} %",
                    f"{100 * np.median(off):+.0f} %",
                    f"{100 * inside:.0f} %",
                ]
            )
    header = ["machine", "nodes", "collective", "rows", "median error", "90th percentile"]
    return markdown([*header, "bias", "within p10 to p90"], lines, labels=3)


def fastest(rows: list[Row]) -> str:
    """How often the fastest of the measured algorithms is named, or one within 10 %."""
    lines = []
    for machine, title in TITLES.items():
        of_machine = [row for row in rows if row["machine"] == machine]

        def case(row: Row) -> tuple[str, int]:
            return row["collective"], int(row["bytes"])

        cases, near = 0, 0
        for _, group in itertools.groupby(sorted(of_machine, key=case), key=case):
            of_case = list(group)
            if len({row["simulated"] for row in of_case}) < 2:
                continue
            choice = min(of_case, key=lambda row: float(row["predicted_ns"]))["simulated"]
            times = [(float(row["measured_ns"]), row["simulated"] == choice) for row in of_case]
            best = min(time for time, _ in times)
            cases += 1
            near += min(time for time, chosen in times if chosen) <= 1.1 * best
        lines.append([title, str(cases), f"{100 * near / max(cases, 1):.0f} %"])
    return markdown(["machine", "cases", "fastest, or within 10 %"], lines)


if __name__ == "__main__":
    main(sys.argv[1:])
