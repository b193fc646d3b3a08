"""Measured and predicted collectives: tables and figures of pages/study-collectives-measured.md.

    .venv/bin/python studies/scripts/collectives_measured.py # draws its CSV file
    .venv/bin/python studies/scripts/collectives_measured.py --simulate # an hour, by ../shared

With --errors it prints `machine.errors` for the machines. After --simulate machines and collectives
may be named, which are simulated anew, and `one-rank` leaves what was measured with several ranks a
node as it stands. Predicts with the machines as they are in examples/machines, and beside them by
Hockney's model, calibrated by the same rule to the same measurements. Leaves
data/collectives_measured.csv, pages/figures/collectives-*.png and the tables of the page.
Where the measurements are absent it says so and changes nothing.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter

from odonata.machines.calibration import (
    HOCKNEY,
    as_points,
    calibrate,
    calibration_part,
    comparable,
    fragment,
    judged_part,
    with_calibration,
    without_network,
)
from odonata.machines.intervals import Percentiles, errors_of, percentiles
from odonata.machines.measurements import read_measurements
from odonata.machines.names import OPERATIONS
from odonata.machines.prediction import Predictor
from odonata.machines.tofu import block
from odonata.plots.style import JOB_COLOURS, new_figure, save, style
from odonata.scenario import Scenario
from odonata.scenario.toml_text import toml_text
from odonata_studies.marked import markdown, write_tables
from odonata_studies.rows import beside, read_rows, write_rows

HOME = Path(__file__).resolve().parents[1]
ROOT = HOME.parent
PAGE = HOME / "pages" / "study-collectives-measured.md"
TABLE = HOME / "data" / "collectives_measured.csv"
DATA = "shared/data/hardware-collectives"
MACHINES = {
    "leonardo": "leonardo",
    "lumi-g": "lumi",
    "mare-nostrum-5": "mare-nostrum-5",
    "fugaku": "fugaku",
}
TITLES = {
    "leonardo": "Leonardo",
    "lumi-g": "LUMI-G",
    "mare-nostrum-5": "MareNostrum 5",
    "fugaku": "Fugaku",
}
#: Shapes of the jobs whose measurements name no hosts, by their nodes.
SHAPES = {8: (2, 2, 2), 64: (4, 4, 4)}

Row = dict[str, Any]

#: Nodes of the rows that `machine.many_ranks` was fitted to, which judge nothing.
FITTED = {"leonardo": 128}

#: What readers call the rows that no calibration has seen.
HELD_OUT = "held out"

#: Largest vector that is predicted by packets, too, on up to 32 nodes.
MOST_BY_PACKETS = 1 << 17


def main(options: list[str]) -> None:
    """Simulates if asked to, and draws."""
    if "--simulate" in options:
        found = beside(DATA)
        if found is None:
            return
        named = [file for file in MACHINES if file in options] or list(MACHINES)
        operations = {name for name in OPERATIONS.values() if name in options}
        most = 1 if "one-rank" in options else 1 << 16
        kept = [
            row
            for row in (read() if TABLE.exists() else [])
            if row["machine"] not in named
            or (operations and row["collective"] not in operations)
            or row["per_node"] > most
        ]
        rows = kept + [
            row
            for file in named
            for row in predicted(file, found / MACHINES[file], operations, most)
        ]
        rows.sort(key=lambda row: list(MACHINES).index(row["machine"]))
        write_rows(TABLE, rows, absent=0)
    rows = read()
    if "--errors" in options:
        for (file, shared), found_errors in machine_errors(rows).items():
            table: dict[str, Any] = {"errors": as_points(found_errors)}
            keys = {"machine": {"shared": table} if shared else table}
            print(f"# {file}\n{toml_text(keys)}")
        return
    rows = with_intervals(rows)
    figures(rows)
    tables = {
        "errors": errors(rows),
        "by collective": by_collective(rows),
        "intervals": intervals(rows),
        "engines": engines(rows),
        "fastest": fastest(rows),
        "worst": worst(rows),
    }
    write_tables(PAGE, tables)


def predicted(file: str, folder: Path, operations: set[str], most: int) -> list[Row]:
    """Rows of a machine: what was measured and predicted.

    Args:
        file: Name of its scenario.
        folder: Of its measurements.
        operations: Which; all if there are none.
        most: Ranks a node.
    """
    scenario = Scenario.from_file(ROOT / "examples" / "machines" / f"{file}.toml")
    measured = [
        row if row.hosts else replace(row, hosts=tuple(block(SHAPES[row.nodes])))
        for row in read_measurements([folder])
    ]
    rows = comparable(measured)
    used = {id(row) for row in calibration_part(rows)}
    judged = {id(row) for row in judged_part(rows)}
    bare = without_network(scenario)
    hockney = Predictor(
        with_calibration(bare, fragment(calibrate(bare, measured, form=HOCKNEY, jobs=2)))
    )
    machine, packets = Predictor(scenario), Predictor(scenario, engine="packet")
    found: list[Row] = []
    times: dict[Any, tuple[Any, float, float]] = {}
    asked = [
        row
        for row in rows
        if (not operations or row.operation in operations) and row.per_node <= most
    ]
    for number, row in enumerate(asked):
        case = machine.case(
            row.hosts, row.operation, row.name, row.bytes, row.per_node, row.segment
        )
        if case not in times:
            slow = case.ranks > 32 or case.size > MOST_BY_PACKETS
            times[case] = (
                machine.predict(case),
                hockney.predict(case).median_ns,
                0.0 if slow else packets.predict(case).median_ns,
            )
        ours, plain, by_packets = times[case]
        found.append(
            {
                "machine": file,
                "source": row.source,
                "collective": row.operation,
                "name": row.name,
                "algorithm": row.algorithm,
                "nodes": row.nodes,
                "per_node": row.per_node,
                "bytes": row.bytes,
                "part": "calibration"
                if id(row) in used
                else "judged"
                if id(row) in judged and row.nodes != FITTED.get(file)
                else "neither",
                "measured_ns": round(row.median_ns),
                "measured_p10_ns": round(row.p10_ns),
                "measured_p90_ns": round(row.p90_ns),
                "predicted_ns": round(ours.median_ns),
                "predicted_p10_ns": round(ours.p10_ns),
                "predicted_p90_ns": round(ours.p90_ns),
                "hockney_ns": round(plain),
                "packet_ns": round(by_packets),
            }
        )
        print(f"{file} {number + 1} of {len(asked)}", file=sys.stderr, end="\r")
    return found


def read() -> list[Row]:
    """What was written."""
    return [
        {
            key: int(value)
            if key in ("nodes", "per_node", "bytes") or key.endswith("_ns")
            else value
            for key, value in row.items()
        }
        for row in read_rows(TABLE)
    ]


def off(rows: Iterable[Row], key: str = "predicted_ns") -> np.ndarray:
    """Predicted over measured less 1. Shape: rows."""
    return np.array([row[key] / row["measured_ns"] - 1 for row in rows])


def share(values: np.ndarray) -> tuple[str, str]:
    """Median and 90th percentile of absolute values."""
    size = np.abs(values)
    return f"{100 * np.median(size):.0f} %", f"{100 * np.quantile(size, 0.9):.0f} %"


def groups(rows: Iterable[Row], *keys: str) -> list[tuple[tuple[Any, ...], list[Row]]]:
    """Rows by the values of keys, in their order."""
    ordered = sorted(rows, key=lambda row: tuple(row[key] for key in keys))
    grouped = itertools.groupby(ordered, key=lambda row: tuple(row[key] for key in keys))
    return [(key, list(group)) for key, group in grouped]


def errors(rows: list[Row]) -> str:
    """Errors by machine and part."""
    lines = []
    for (machine, part), group in groups(rows, "machine", "part"):
        if part == "neither":
            continue
        lines.append(
            [
                TITLES[machine],
                HELD_OUT if part == "judged" else part,
                str(len(group)),
                *share(off(group)),
                inside(group),
                *share(off(group, "hockney_ns")),
            ]
        )
    header = [
        *("machine", "part", "rows", "median error", "90th percentile", "within p10 to p90"),
        *("Hockney: median error", "90th percentile"),
    ]
    return markdown(header, lines, labels=2)


def inside(rows: list[Row]) -> str:
    """In how many the measured median lies within the predicted range."""
    within = [
        row["predicted_p10_ns"] <= row["measured_ns"] <= row["predicted_p90_ns"] for row in rows
    ]
    return f"{100 * np.mean(within):.0f} %"


def machine_errors(rows: list[Row]) -> dict[tuple[str, bool], tuple[Percentiles, ...]]:
    """What `machine.errors` says of each machine, by whether several ranks share a node.

    Of rows that no calibration has seen; of MareNostrum 5, which has none, those of the others.
    """
    judged = [row for row in rows if row["part"] == "judged"]
    found = {}
    for file in MACHINES:
        for shared in (False, True):
            alike = [row for row in judged if (row["per_node"] > 1) == shared]
            own = [row for row in alike if row["machine"] == file]
            if own or not shared:
                found[file, shared] = errors_of(ratios(own or alike))
    return found


def ratios(rows: Iterable[Row]) -> list[tuple[int, float]]:
    """Sizes, and measured over predicted medians."""
    return [(row["bytes"], row["measured_ns"] / row["predicted_ns"]) for row in rows]


def with_intervals(rows: list[Row]) -> list[Row]:
    """Rows with the intervals of the machines as they are now, without simulating."""
    machines = {
        file: Predictor.from_file(ROOT / "examples" / "machines" / f"{file}.toml")
        for file in MACHINES
    }
    found = []
    for row in rows:
        at = machines[row["machine"]].interval(row["bytes"], row["per_node"]) or (1.0, 1.0)
        ends = {
            f"predicted_{name}_ns": round(row["predicted_ns"] * ratio)
            for name, ratio in zip(("p10", "p90"), at, strict=True)
        }
        found.append({**row, **ends})
    return found


def intervals(rows: list[Row]) -> str:
    """Measured medians between p10 and p90 if these come from other collectives of the machine."""
    lines = []
    judged = [row for row in rows if row["part"] == "judged"]
    for (file,), of_machine in groups(judged, "machine"):
        for (shared,), alike in groups(
            [{**row, "shared": row["per_node"] > 1} for row in of_machine], "shared"
        ):
            parts = groups(alike, "collective", "nodes")
            inside = 0
            for key, part in parts:
                others = [row for other, group in parts if other != key for row in group]
                errors = errors_of(ratios(others))
                for size, ratio in ratios(part):
                    low, high = percentiles(size, None, errors) or (1.0, 1.0)
                    inside += low <= ratio <= high
            if len(parts) > 1:
                ranks = "several" if shared else "one"
                cells = [TITLES[file], ranks, str(len(parts)), str(len(alike))]
                lines.append([*cells, f"{100 * inside / len(alike):.0f} %"])
    return markdown(["machine", "ranks a node", "groups", "rows", "between"], lines, labels=2)


def by_collective(rows: list[Row]) -> str:
    """Errors on what judges, by machine, collective and nodes."""
    lines = []
    judged = [row for row in rows if row["part"] == "judged"]
    for (machine, collective, nodes, per_node), group in groups(
        judged, "machine", "collective", "nodes", "per_node"
    ):
        ours = off(group)
        overlap = np.mean(
            [
                row["predicted_p10_ns"] <= row["measured_p90_ns"]
                and row["measured_p10_ns"] <= row["predicted_p90_ns"]
                for row in group
            ]
        )
        lines.append(
            [
                TITLES[machine],
                collective,
                f"{nodes} x {per_node}",
                str(len(group)),
                *share(ours),
                f"{100 * np.median(ours):+.0f} %",
                f"{100 * overlap:.0f} %",
                *share(off(group, "hockney_ns")),
            ]
        )
    header = [
        *("machine", "collective", "nodes x ranks per node", "rows", "median error"),
        *("90th percentile", "bias", "ranges overlap"),
        *("Hockney: median error", "90th percentile"),
    ]
    return markdown(header, lines, labels=3)


def engines(rows: list[Row]) -> str:
    """Flows and packets beside each other, with the same parameters of hosts."""
    lines = []
    both = [row for row in rows if row.get("packet_ns")]
    for (machine,), group in groups(both, "machine"):
        apart = np.array([row["packet_ns"] / row["predicted_ns"] - 1 for row in group])
        lines.append(
            [
                TITLES[machine],
                str(len(group)),
                *share(off(group)),
                *share(off(group, "packet_ns")),
                f"{100 * np.median(np.abs(apart)):.1f} %",
                f"{100 * np.max(np.abs(apart)):.1f} %",
            ]
        )
    header = [
        *("machine", "rows", "flow: median error", "90th percentile"),
        *("packet: median error", "90th percentile"),
        *("difference: median", "largest"),
    ]
    return markdown(header, lines)


def fastest(rows: list[Row]) -> str:
    """How often the fastest algorithm is named, of what judges."""
    lines = []
    judged = [row for row in rows if row["part"] == "judged"]
    for (machine,), of_machine in groups(judged, "machine"):
        cases, named, near, plain = 0, 0, 0, 0
        for _, group in groups(of_machine, "source", "collective", "nodes", "bytes"):
            if len({row["algorithm"] for row in group}) < 2:
                continue
            best = min(row["measured_ns"] for row in group)
            choice = min(group, key=lambda row: row["predicted_ns"])
            other = min(group, key=lambda row: row["hockney_ns"])
            taken = min(
                row["measured_ns"] for row in group if row["algorithm"] == choice["algorithm"]
            )
            by_hockney = min(
                row["measured_ns"] for row in group if row["algorithm"] == other["algorithm"]
            )
            cases += 1
            named += taken == best
            near += taken <= 1.1 * best
            plain += by_hockney <= 1.1 * best
        if cases:
            lines.append(
                [
                    TITLES[machine],
                    str(cases),
                    *(f"{100 * count / cases:.0f} %" for count in (named, near, plain)),
                ]
            )
    header = [
        *("machine", "cases", "fastest named", "fastest, or within 10 %"),
        "Hockney: fastest, or within 10 %",
    ]
    return markdown(header, lines)


def worst(rows: list[Row]) -> str:
    """Algorithms that are predicted worst, of what judges."""
    judged = [row for row in rows if row["part"] == "judged"]
    found = []
    for (machine, collective, algorithm), group in groups(
        judged, "machine", "collective", "algorithm"
    ):
        ours = off(group)
        found.append((float(np.median(np.abs(ours))), machine, collective, algorithm, group, ours))
    found.sort(key=lambda one: -one[0])
    lines = [
        [
            TITLES[machine],
            collective,
            algorithm,
            str(len(group)),
            f"{100 * median:.0f} %",
            f"{100 * np.median(ours):+.0f} %",
        ]
        for median, machine, collective, algorithm, group, ours in found[:12]
    ]
    return markdown(
        ["machine", "collective", "algorithm", "rows", "median error", "bias"], lines, labels=3
    )


def in_bytes(size: float) -> str:
    """A power of two in bytes."""
    for unit, factor in (("MiB", 2**20), ("KiB", 2**10)):
        if size >= factor:
            return f"{size / factor:.0f} {unit}"
    return f"{size:.0f} B"


def figures(rows: list[Row]) -> None:
    """A figure per collective: measured and predicted against size, a panel per test."""
    for (collective,), of_collective in groups(rows, "collective"):
        panels = groups(of_collective, "machine", "nodes", "per_node", "source")
        columns = min(len(panels), 3)
        lines = -(-len(panels) // columns)
        with style():
            figure = new_figure(4.0 * columns + 1.8, 3.2 * lines)
            names = sorted({row["algorithm"] for row in of_collective})
            axes = figure.subplots(lines, columns, squeeze=False)
            for axis in axes.flat[len(panels) :]:
                axis.set_visible(False)
            for axis, ((machine, nodes, per_node, _), group) in zip(
                axes.flat, panels, strict=False
            ):
                ranks = f"{nodes} nodes" + (f" x {per_node} ranks" if per_node > 1 else "")
                part = f" ({HELD_OUT})" if any(row["part"] == "judged" for row in group) else ""
                axis.set_title(f"{TITLES[machine]}, {ranks}{part}", fontsize=8)
                for (algorithm, _), one in groups(group, "algorithm", "name"):
                    one.sort(key=lambda row: row["bytes"])
                    sizes = [row["bytes"] for row in one]
                    place = names.index(algorithm)
                    colour = JOB_COLOURS[place % len(JOB_COLOURS)]
                    middle = np.array([row["measured_ns"] for row in one]) / 1e3
                    low = np.array([row["measured_p10_ns"] for row in one]) / 1e3
                    high = np.array([row["measured_p90_ns"] for row in one]) / 1e3
                    axis.errorbar(
                        sizes,
                        middle,
                        yerr=[np.maximum(middle - low, 0), np.maximum(high - middle, 0)],
                        fmt="o" if place < len(JOB_COLOURS) else "s",
                        markersize=3,
                        linewidth=0.8,
                        color=colour,
                    )
                    axis.plot(
                        sizes,
                        [row["predicted_ns"] / 1e3 for row in one],
                        color=colour,
                        linewidth=1.0,
                        linestyle="-" if place < len(JOB_COLOURS) else "--",
                    )
                axis.set_xscale("log", base=2)
                axis.set_yscale("log")
                axis.set_xticks([2**power for power in range(6, 28, 6)])
                axis.xaxis.set_major_formatter(FuncFormatter(lambda size, _: in_bytes(size)))
                axis.yaxis.set_major_formatter(FuncFormatter(lambda time, _: f"{time:,.0f}"))
                axis.minorticks_off()
                axis.set_xlabel("size of the vector")
                axis.set_ylabel("time, µs")
            handles = [
                axes.flat[0].plot(
                    [],
                    [],
                    color=JOB_COLOURS[place % len(JOB_COLOURS)],
                    marker="o" if place < len(JOB_COLOURS) else "s",
                    linestyle="-" if place < len(JOB_COLOURS) else "--",
                    markersize=3,
                    label=name,
                )[0]
                for place, name in enumerate(names)
            ]
            figure.legend(handles=handles, loc="outside right center", fontsize=7)
            figure.suptitle(
                f"{collective}: measured (points, 10th to 90th percentile) and predicted (lines)",
                fontsize=9,
            )
            save(figure, HOME / "pages" / "figures" / f"collectives-{collective}.png")


if __name__ == "__main__":
    main(sys.argv[1:])
