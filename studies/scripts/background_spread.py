"""How calls scatter on a busy machine: tables and figure of pages/study-background.md.

    .venv/bin/python studies/scripts/background_spread.py # draws its CSV file
    .venv/bin/python studies/scripts/background_spread.py --simulate # by ../shared

Simulates calls beside other jobs (:mod:`odonata.machines.background`) for what judges the machines'
predictions with one rank a node, and holds their percentiles against those of all measured calls.
Leaves data/background_spread.csv, pages/figures/background-spread.png and the tables of the
page. Where the measurements are absent it says so and changes nothing. Goes on where it was
stopped.
"""

from __future__ import annotations

import sys
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter

from collectives_measured import TITLES, groups
from odonata.machines.calibration import comparable, judged_part
from odonata.machines.hostmodel import by_size
from odonata.machines.measurements import Measurement, read_measurements
from odonata.machines.prediction import Predictor
from odonata.plots.style import JOB_COLOURS, new_figure, save, style
from odonata_studies.marked import markdown, write_tables
from odonata_studies.rows import append_rows, beside, read_rows

HOME = Path(__file__).resolve().parents[1]
ROOT = HOME.parent
PAGE = HOME / "pages" / "study-background.md"
TABLE = HOME / "data" / "background_spread.csv"
MEASURED = "shared/data/hardware-collectives"
ALLOCATIONS = "shared/data/cluster-allocations"
MACHINES = ("leonardo", "lumi-g")
FOLDERS = {"leonardo": "leonardo", "lumi-g": "lumi"}

#: Calls that are simulated of each case.
CALLS = 48
SEED = 20
#: Percentiles over medians that are kept.
KEPT = ("measured", "simulated", "calibration")
#: Limits of the sizes of the table.
SMALL, LARGE = 16 << 10, 1 << 20

Row = dict[str, Any]


def main(options: list[str]) -> None:
    """Simulates if asked to, and draws."""
    if "--simulate" in options:
        measured = beside(MEASURED)
        if measured is None:
            return
        simulate(measured.parents[2])
    rows = read()
    figure(rows)
    write_tables(PAGE, {"spread": spread(rows)})


def simulate(root: Path) -> None:
    """Adds rows to the table."""
    done = {(row["machine"], row["source"], row["name"], row["bytes"]) for row in read()}
    work: list[tuple[str, Measurement]] = []
    predictors = {}
    for machine in MACHINES:
        measured = read_measurements([root / MEASURED / FOLDERS[machine]])
        rows = [row for row in judged_part(comparable(measured)) if row.per_node == 1]
        work += [(machine, row) for row in rows]
        predictors[machine] = Predictor.from_file(
            ROOT / "examples" / "machines" / f"{machine}.toml",
            jobs=root / ALLOCATIONS / f"{FOLDERS[machine]}.tar.gz",
            calls=CALLS,
        )
    # In any order, so that what there is when it is stopped is a sample of all.
    order = np.random.default_rng(SEED).permutation(len(work))
    ratios: dict[Any, tuple[float, float]] = {}
    for number, place in enumerate(order):
        machine, row = work[place]
        key = f"{row.source}/{row.operation}"
        if (machine, key, row.name, row.bytes) in done:
            continue
        predictor = predictors[machine]
        case = predictor.case(row.hosts, row.operation, row.name, row.bytes)
        if case not in ratios:
            found = predictor.predict(case)
            assert found.p10_ns is not None and found.p90_ns is not None
            ratios[case] = found.p10_ns / found.median_ns, found.p90_ns / found.median_ns
        calls = calls_of(root / MEASURED / FOLDERS[machine], row)
        append_rows(TABLE, [compared(machine, key, row, ratios[case], calls, predictor)])
        print(f"{number + 1} of {len(work)}", file=sys.stderr, end="\r")


def calls_of(folder: Path, row: Measurement) -> np.ndarray:
    """All measured calls over their median. Shape: calls."""
    stamp = row.source.split(".")[0]
    member = f"{stamp}/{row.test}/{row.bytes // 4}_{row.name}_int32.csv"
    with tarfile.open(folder / row.source) as archive:
        stream = archive.extractfile(member)
        assert stream is not None
        words = stream.read().decode("utf-8", "replace").replace("\0", "").split()[1:]
    times = np.array([float(word) for word in words if word.replace(".", "").isdecimal()])
    return times / np.median(times)


def compared(
    machine: str,
    source: str,
    row: Measurement,
    simulated: tuple[float, float],
    calls: np.ndarray,
    predictor: Predictor,
) -> Row:
    """A row of the table."""
    # What the calibration has at that size; the time itself does not matter.
    points = predictor.scenario.machine.spread if predictor.scenario.machine else []
    copied = tuple(
        by_size([(int(point.size), getattr(point, end)) for point in points], row.bytes)
        for end in ("p10", "p90")
    )
    measured = tuple(np.quantile(calls, (0.1, 0.9)))
    line: Row = {
        "machine": machine,
        "source": source,
        "collective": row.operation,
        "nodes": row.nodes,
        "name": row.name,
        "bytes": row.bytes,
        "calls": len(calls),
    }
    for kind, (low, high) in zip(KEPT, (measured, simulated, copied), strict=True):
        line[f"{kind}_p10"], line[f"{kind}_p90"] = f"{low:.4f}", f"{high:.4f}"
        line[f"{kind}_covers"] = f"{np.mean((calls >= low) & (calls <= high)):.3f}"
    return line


def read() -> list[Row]:
    """What was written."""
    if not TABLE.exists():
        return []
    return [
        {
            key: int(value)
            if key in ("nodes", "bytes", "calls")
            else float(value)
            if key.split("_")[0] in KEPT
            else value
            for key, value in row.items()
        }
        for row in read_rows(TABLE)
    ]


def width(row: Row, kind: str) -> float:
    """From the 10th to the 90th percentile, over the median."""
    return float(row[f"{kind}_p90"] - row[f"{kind}_p10"])


def size_of(row: Row) -> str:
    """Which part of the sizes a row is of."""
    return "below 16 KiB" if row["bytes"] < SMALL else "below" if row["bytes"] < LARGE else "from"


def spread(rows: list[Row]) -> str:
    """Widths and coverage by machine, collective, nodes and sizes."""
    titles = {"below 16 KiB": "< 16 KiB", "below": "16 KiB to < 1 MiB", "from": "≥ 1 MiB"}
    lines = []
    for (machine, collective, nodes), group in groups(rows, "machine", "collective", "nodes"):
        for size, title in titles.items():
            some = [row for row in group if size_of(row) == size]
            if not some:
                continue
            line = [TITLES[machine], collective, str(nodes), title, str(len(some))]
            line.append(f"{100 * np.median([width(row, 'measured') for row in some]):.1f} %")
            for kind in ("simulated", "calibration"):
                ratios = [width(row, kind) / max(width(row, "measured"), 1e-4) for row in some]
                low, middle, high = np.quantile(ratios, (0.25, 0.5, 0.75))
                line.append(f"{middle:.2f} ({low:.2f} to {high:.2f})")
                line.append(f"{100 * np.median([row[f'{kind}_covers'] for row in some]):.0f} %")
            lines.append(line)
    header = [
        *("machine", "collective", "nodes", "vector", "rows", "measured width"),
        *("simulated ÷ measured width", "simulated covers"),
        *("copied ÷ measured width", "copied covers"),
    ]
    return markdown(header, lines, labels=4)


def figure(rows: list[Row]) -> None:
    """Widths, simulated and copied, against measured ones."""
    with style():
        drawn = new_figure(8.6, 4.0)
        axes = drawn.subplots(1, 2, squeeze=False, sharex=True, sharey=True)[0]
        names = list(dict.fromkeys((row["machine"], row["nodes"]) for row in rows))
        for axis, kind, title in zip(
            axes,
            ("simulated", "calibration"),
            ("simulated beside other jobs", "copied from the calibration"),
            strict=True,
        ):
            for place, (machine, nodes) in enumerate(names):
                some = [row for row in rows if (row["machine"], row["nodes"]) == (machine, nodes)]
                axis.plot(
                    [100 * max(width(row, "measured"), 1e-3) for row in some],
                    [100 * max(width(row, kind), 1e-3) for row in some],
                    linestyle="",
                    marker="os^"[place % 3],
                    markersize=4,
                    color=JOB_COLOURS[place],
                    label=f"{TITLES[machine]}, {nodes} nodes",
                )
            axis.plot([0.1, 300], [0.1, 300], color="0.6", linewidth=0.8)
            axis.set_xscale("log")
            axis.set_yscale("log")
            for scale in (axis.xaxis, axis.yaxis):
                scale.set_major_formatter(FuncFormatter(lambda percent, _: f"{percent:g}"))
            axis.set_title(title, fontsize=9)
            axis.set_xlabel("measured p90 less p10, % of the median")
        axes[0].set_ylabel("predicted, % of the median")
        axes[0].legend(fontsize=8)
        save(drawn, HOME / "pages" / "figures" / "background-spread.png")


if __name__ == "__main__":
    main(sys.argv[1:])
