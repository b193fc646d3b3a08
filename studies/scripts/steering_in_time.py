"""Circuits that follow a changing mix of jobs: behind pages/steering-in-time.md.

    .venv/bin/python studies/scripts/steering_in_time.py [--quick]    # a quarter of an hour

Needs the log of Theta in ../shared/data (1,000 jobs of 2022). Simulates what is missing of
steering_in_time.csv and steering_in_seconds.csv and writes the tables of the page; ``--quick``
simulates one window of the log, prints, and writes nothing.

Every window of the log is a scenario: jobs from a job on, in the order of their starts, as many as
have room side by side on 128 nodes, their sizes divided by 32, hours turned into tens of
microseconds. A job is a 3-D stencil of as many iterations as its run time asks for.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from odonata import Scenario, run
from odonata.study.intervals import interval
from odonata_studies.marked import markdown, write_tables

DATA = Path(__file__).resolve().parents[1] / "data"
ROOT = DATA.parents[1]
LOG = ROOT.parent / "shared" / "data" / "theta-jobs" / "theta_1000.swf"
TABLE = DATA / "steering_in_time.csv"
IN_SECONDS = DATA / "steering_in_seconds.csv"
PAGE = ROOT / "studies" / "pages" / "steering-in-time.md"

NODES, POD = 128, 16
#: Nodes of Theta for one of the tree's, and seconds for a microsecond.
SCALE, SECONDS = 32, 120.0
#: Microseconds that an iteration of a stencil takes alone, about.
ITERATION = 10.0
#: First job of each window.
WINDOWS = tuple(range(0, 1000, 50))
#: Eight pods of four leaves with four nodes; a quarter of the links to the top.
TREE: dict[str, Any] = {"family": "fat-tree", "down": [4, 4, 8], "up": [4, 1]}
COLUMNS = ["window", "placement", "network", "slowest_us", "mean_us", "changes"]

#: What makes jobs of microseconds jobs of seconds: 20 µs become the 204 ms of a testbed whose
#: electronic switches poll their ports (Michelogiannakis et al. 2019, section 5).
LONGER = 10_200
#: How many times as many iterations a job has, besides.
LENGTHS = (1, 4, 16)
LONG_WINDOWS = WINDOWS[:5]
LONG_COLUMNS = ["window", "network", "length", "vanilla_s", "mean_ratio", "exposed", "changes"]


def jobs_of(window: int, large: bool) -> list[tuple[int, float, int]]:
    """Nodes, start in us and iterations of the jobs of a window; `large`: of several pods each."""
    lines = LOG.read_text(encoding="ascii").splitlines()
    fields = [line.split() for line in lines if line and not line.startswith(";")]
    logged = sorted((int(f[1]) + int(f[2]), int(f[3]), int(f[4])) for f in fields)
    chosen: list[tuple[int, float, int]] = []
    left, first = NODES, logged[window][0]
    for start, seconds, nodes in logged[window:]:
        size = math.ceil(nodes / SCALE)
        # A job on a leaf sends nothing up.
        if not (POD + 1 if large else 8) <= size <= NODES // 2:
            continue
        taken = -(-size // POD) * POD if large else size
        if taken > left:
            break
        left -= taken
        iterations = max(1, round(seconds / SECONDS / ITERATION))
        chosen.append((size, (start - first) / SECONDS, iterations))
    return chosen


def networks() -> dict[str, dict[str, Any]]:
    """Routing and circuits by name."""
    up_down = {"routing": "up-down"}
    switches = {"switch_ports": 8}
    found: dict[str, dict[str, Any]] = {
        "vanilla": up_down,
        "vanilla, by load": {"routing": {"algorithm": "up-down", "choice": "by-load"}},
        "all jobs, once": {**up_down, "optical": {**switches, "circuits": "jobs"}},
        "all jobs, once, if idle": {
            "routing": "steered",
            "optical": {**switches, "circuits": "jobs"},
        },
    }
    for time in (0, 20, 100):
        optical = {**switches, "circuits": "running-jobs", "reconfiguration": f"{time} us"}
        found[f"running jobs, {time} us"] = {**up_down, "optical": optical}
    for period in (20, 50, 200):
        for time in (0, 20, 100):
            if time > period:
                continue
            optical = {
                **switches,
                "circuits": "traffic",
                "period": f"{period} us",
                "reconfiguration": f"{time} us",
            }
            found[f"traffic every {period} us, {time} us"] = {**up_down, "optical": optical}
    return found


#: Placements, and the networks looked at under each: those with "large" of jobs of several pods
#: each, which under `isolated` are their own.
PLACEMENTS = {
    "contiguous": tuple(networks()),
    "random-node": tuple(networks())[:6],
    "random-node, large": tuple(networks())[:6],
    "isolated, large": tuple(networks())[:6],
}


def measured(window: int, placement: str, network: str) -> tuple[float, float, int]:
    """Run time of the slowest job and mean over jobs, each by node, in us; changes of circuits."""
    jobs = jobs_of(window, placement.endswith("large"))
    of_scenario = [
        {
            "nodes": size,
            "start": f"{round(start * 1000)} ns",
            "placement": placement.removesuffix(", large"),
            "motif": {"kind": "halo3d", "message": "16 KiB", "iterations": iterations},
        }
        for size, start, iterations in jobs
    ]
    scenario = Scenario.from_dict(
        {
            "seed": window + 1,
            "network": {**TREE, **networks()[network]},
            "simulation": {"packet": "1 KiB"},
            "job": of_scenario,
        }
    )
    result = run(scenario)
    table = result.to_pandas("jobs")
    times = (table.end_ps - table.start_ps).to_numpy() / 1e6
    changes = len(result.meta["reconfigurations"] or [])
    per_iteration = times / np.array([iterations for _, _, iterations in jobs])
    return float(per_iteration.max()), float(per_iteration.mean()), changes


def seconds_networks() -> dict[str, dict[str, Any]]:
    """Routing and circuits by name, of jobs of seconds."""
    found: dict[str, dict[str, Any]] = {"vanilla": {"routing": "up-down"}}
    for time in (0, 204):
        optical = {
            "switch_ports": 8,
            "circuits": "running-jobs",
            "period": "10 ms",
            "reconfiguration": f"{time} ms",
        }
        found[f"running jobs, {time} ms"] = {"routing": "up-down", "optical": optical}
    for period in (1, 4, 16):
        optical = {
            "switch_ports": 8,
            "circuits": "traffic",
            "period": f"{period} s",
            "reconfiguration": "204 ms",
        }
        found[f"traffic every {period} s, 204 ms"] = {"routing": "up-down", "optical": optical}
    return found


def in_seconds(window: int, network: str, length: int) -> tuple[np.ndarray, float, int]:
    """Run times of a window's jobs on scattered nodes, in s, and numbers of changes.

    The first number is that between a job's start and its end, as a mean over jobs; the second that
    of the whole run.
    """
    jobs = [
        {
            "nodes": size,
            "start": f"{round(start * 1000 * LONGER * length)} ns",
            "placement": "random-node",
            "motif": {
                "kind": "halo3d",
                "message": f"{16 * LONGER} KiB",
                "iterations": iterations * length,
            },
        }
        for size, start, iterations in jobs_of(window, large=False)
    ]
    scenario = Scenario.from_dict(
        {
            "seed": window + 1,
            "network": {**TREE, **seconds_networks()[network]},
            "simulation": {"packet": f"{LONGER} KiB"},
            "job": jobs,
        }
    )
    result = run(scenario)
    table = result.to_pandas("jobs")
    changes = [change["decided_ps"] for change in result.meta["reconfigurations"] or []]
    within = [
        sum(start < change < end for change in changes)
        for start, end in zip(table.start_ps, table.end_ps, strict=True)
    ]
    times = (table.end_ps - table.start_ps).to_numpy() / 1e12
    return times, float(np.mean(within)), len(changes)


def seconds_table(table: pd.DataFrame) -> str:
    """Mean times against the vanilla tree's by the length of jobs."""
    rows = []
    for name in list(seconds_networks())[1:]:
        for length in LENGTHS:
            here = table[(table.network == name) & (table.length == length)]
            if here.empty:
                continue
            expected = "–"
            if name == "running jobs, 204 ms":
                free = table[(table.network == "running jobs, 0 ms") & (table.length == length)]
                free = free.set_index("window").mean_ratio
                dark = 0.204 * here.exposed / here.vanilla_s
                expected = f"{(free + dark.set_axis(here.window)).mean():.2f}"
            rows.append(
                [
                    name,
                    f"{here.vanilla_s.mean():.3g}",
                    shown(here.mean_ratio),
                    expected,
                    f"{here.exposed.mean():.1f}",
                    f"{here.changes.mean():.1f}",
                ]
            )
    header = ["network", "vanilla, s", "time", "expected", "changes a job sees", "changes"]
    return markdown(header, rows, labels=1)


def measure_seconds(quick: bool) -> pd.DataFrame:
    """Simulates what is missing of the jobs of seconds."""
    table = pd.DataFrame(columns=LONG_COLUMNS)
    if IN_SECONDS.exists() and not quick:
        table = pd.read_csv(IN_SECONDS)
    known = set(table[LONG_COLUMNS[:3]].itertuples(index=False, name=None))
    vanilla, *others = seconds_networks()
    for length in LENGTHS[:1] if quick else LENGTHS:
        for window in LONG_WINDOWS[:1] if quick else LONG_WINDOWS:
            missing = [name for name in others if (window, name, length) not in known]
            if not missing:
                continue
            alone, _, _ = in_seconds(window, vanilla, length)
            for name in missing:
                times, exposed, changes = in_seconds(window, name, length)
                ratio = float((times / alone).mean())
                row = (window, name, length, float(alone.mean()), ratio, exposed, changes)
                print(*row, flush=True)
                table = pd.concat([table, pd.DataFrame([row], columns=LONG_COLUMNS)])
                if not quick:
                    table.to_csv(IN_SECONDS, index=False, lineterminator="\n")
    return table


def tables(table: pd.DataFrame) -> dict[str, str]:
    """Times against the vanilla tree's in the same window, by placement."""
    out = {}
    for placement, names in PLACEMENTS.items():
        here = table[table.placement == placement].set_index(["window", "network"])
        # Relative to the same jobs on scattered nodes, where they are isolated.
        base = table[table.placement == placement.replace("isolated", "random-node")]
        base = base[base.network == "vanilla"].set_index("window")
        rows = []
        for name in names:
            ratios = {
                column: here[column].unstack()[name] / base[column]
                for column in ("mean_us", "slowest_us")
            }
            changes = here.changes.unstack()[name].mean()
            rows.append([name, *(shown(ratio) for ratio in ratios.values()), f"{changes:.1f}"])
        header = ["network", "mean over jobs", "slowest job", "changes"]
        out[placement] = markdown(header, rows, labels=1)
    # What circuits do to jobs in pods of their own, by the same jobs there without.
    here = table[table.placement == "isolated, large"].set_index(["window", "network"])
    times = here[["mean_us", "slowest_us"]].unstack("network")
    rows = [
        [
            name,
            *(
                shown(times[column][name] / times[column]["vanilla"])
                for column in times.columns.levels[0]
            ),
        ]
        for name in PLACEMENTS["isolated, large"][1:]
    ]
    header = ["network", "mean over jobs", "slowest job"]
    out["isolated, large, alone"] = markdown(header, rows, labels=1)
    return out


def shown(ratios: pd.Series) -> str:
    """Mean over windows and half of its 95 % interval by Student's t."""
    found = interval(ratios.dropna().tolist())
    return f"{found.mean:.2f} ± {found.half_width:.2f}"


def main(options: list[str]) -> None:
    """Simulates what is missing and writes the tables."""
    quick = "--quick" in options
    table = pd.DataFrame(columns=COLUMNS)
    if TABLE.exists() and not quick:
        table = pd.read_csv(TABLE)
    known = set(table[COLUMNS[:3]].itertuples(index=False, name=None))
    for window in WINDOWS[:1] if quick else WINDOWS:
        for placement, names in PLACEMENTS.items():
            for name in names:
                if (window, placement, name) in known:
                    continue
                row = (window, placement, name, *measured(window, placement, name))
                print(*row, flush=True)
                table = pd.concat([table, pd.DataFrame([row], columns=COLUMNS)])
                if not quick:
                    table.to_csv(TABLE, index=False, lineterminator="\n")
    long_jobs = measure_seconds(quick)
    if not quick:
        write_tables(PAGE, {**tables(table), "jobs of seconds": seconds_table(long_jobs)})


if __name__ == "__main__":
    main(sys.argv[1:])
