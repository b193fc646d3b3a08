"""Does GRAP pay when jobs share a network? Waits of logs with the network in the loop.

    .venv/bin/python studies/scripts/feng2023_network.py           # an hour; needs ../shared/data
    .venv/bin/python studies/scripts/feng2023_network.py theta     # one of the logs only

Every log is scheduled (EASY) on the same machine: as a dragonfly with fixed links and adaptive
routing, on any free nodes; with GRAP on the same fixed links; and with GRAP and circuits for every
large job (TAGO routing, 100 ms for setting them). Running jobs share its links as flows (`flow`),
or gain what the paper's figure 4 says (`table`). Machines: Theta's real groups continued to 12,
and the 9 that are listed; the paper's 82,944 nodes for Mira.

Each run is kept as a line of data/feng2023_network.csv and not repeated; delete the file
to begin anew. Leaves the tables in pages/does-grap-pay.md and pages/figures/feng2023-network.png.
Where the logs are absent it says so and changes nothing.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

import odonata
from feng2023_workload import HOME, MIRA, THETA, interval, months
from odonata.batch import JobLog, SharedLinks, SpeedUps
from odonata.plots import new_figure, save, style
from odonata_studies.marked import markdown, write_tables
from odonata_studies.rows import append_rows, beside, read_rows

KEPT = HOME / "data" / "feng2023_network.csv"
#: Share of their time that jobs communicate: 45 % on average, with which the paper's speed-ups
#: make Mira's jobs 11 % faster.
SHARE = (0.2, 0.7)
#: What is compared with the first one.
BASELINE, POLICY, CIRCUITS = "fixed links", "GRAP on fixed links", "GRAP, circuits"
TABLE = "GRAP, the paper's speed-ups"

THETA_MACHINE = """
[network]
family = "reconfigurable-dragonfly"
p = 4
wiring_file = "{wiring}"
g = {groups}
{circuits}
[network.links] # those of a Cray XC, as CODES models them
green = {{ bandwidth = "5.25 GiB/s" }}
black = {{ bandwidth = "5.25 GiB/s" }}
global = {{ bandwidth = "4.69 GiB/s" }}

[[job]]
name = "any"
nodes = 2
motif = {{ kind = "all-to-all", message = "1 KiB" }}
"""
#: The wiring of the paper (5.1.2), 12 GB/s.
MIRA_MACHINE = """
[network]
family = "reconfigurable-dragonfly"
p = 12
a = 24
h = 12
g = {groups}
{circuits}
[network.links]
terminal = {{ bandwidth = "12 GB/s", latency = "100 ns" }}
local = {{ bandwidth = "12 GB/s", latency = "200 ns" }}
global = {{ bandwidth = "12 GB/s", latency = "400 ns" }}
[[job]]
name = "any"
nodes = 2
motif = {{ kind = "all-to-all", message = "1 KiB" }}
"""
FIXED = 'circuits = "uniform"\nrouting = "par"'
CHANGING = 'circuits = "jobs"\nsteering = "min-max"'


@dataclass(frozen=True)
class Case:
    """A log on a machine, drawn several times."""

    name: str
    nodes: int
    groups: int
    #: Injections and what is scheduled at each, with the numbers of draws.
    plans: tuple[tuple[float, str, int], ...]


CASES = {
    "theta": Case(
        "Theta 2022, 12 groups",
        4392,
        12,
        (
            (0.0, BASELINE, 4),
            (0.0, POLICY, 4),
            (0.0, TABLE, 4),
            (0.25, BASELINE, 4),
            (0.25, CIRCUITS, 4),
            (0.5, BASELINE, 4),
            (0.5, CIRCUITS, 4),
            (0.5, POLICY, 4),
        ),
    ),
    "theta9": Case(
        "Theta 2022, the 9 listed groups",
        3456,
        9,
        (
            (0.0, BASELINE, 4),
            (0.0, POLICY, 4),
            (0.0, TABLE, 4),
            (0.5, BASELINE, 4),
            (0.5, CIRCUITS, 4),
        ),
    ),
    "mira": Case(
        "Mira, synthetic year",
        82_944,
        288,
        (
            (0.0, BASELINE, 12),
            (0.0, POLICY, 12),
            (0.0, TABLE, 12),
            (1.0, BASELINE, 12),
            (1.0, CIRCUITS, 12),
            (0.5, BASELINE, 12),
            (0.5, CIRCUITS, 12),
            (0.25, BASELINE, 12),
            (0.25, CIRCUITS, 12),
        ),
    ),
}
KEYS = ("log", "injection", "scheduled", "draw")


def paper_speedups(group: int, nodes: int) -> dict[str, dict[int, float]]:
    """What jobs save of their communication by figure 4 of the paper.

    32 to 0 % for adaptive jobs, from two groups to all, 30 % for balanced ones, 16 % for custom
    ones.
    """
    return {
        "adaptive": {2 * group: 0.32, nodes: 0.0},
        "minimal-balance": {2 * group: 0.30},
        "custom-balance": {2 * group: 0.30},
        "custom": {2 * group: 0.16},
    }


def logs(which: str, case: Case) -> Iterator[JobLog]:
    """The log of each draw: Theta's year again and again, Mira's months one after the other."""
    if which != "mira":
        year = odonata.read_job_log(beside(THETA) or THETA)
        table = year.jobs.select(["submit_s", "run_s", "nodes"])
        while True:
            yield JobLog.from_table(table, machine_nodes=case.nodes)
    for month in months(odonata.read_job_log(beside(MIRA) or MIRA), seed=1):
        larger = np.minimum(month["nodes"].to_numpy() * 2, case.nodes)
        larger = month.set_column(month.schema.get_field_index("nodes"), "nodes", pa.array(larger))
        yield JobLog.from_table(larger, machine_nodes=case.nodes)


def simulate(
    log: JobLog, case: Case, machine: str, injection: float, scheduled: str, draw: int
) -> dict[str, float]:
    """One schedule: mean wait, how much longer jobs ran than in the log, utilisation."""
    grap = scheduled in (POLICY, CIRCUITS, TABLE)
    network: SharedLinks | SpeedUps | None
    with tempfile.TemporaryDirectory() as directory:
        if scheduled == TABLE:
            gains = paper_speedups(-(-case.nodes // case.groups), case.nodes)
            network = SpeedUps(mix="by-mode", communication_share=SHARE, seed=draw, speed_ups=gains)
        elif injection == 0:
            network = None
        else:
            file = Path(directory) / "machine.toml"
            file.write_text(
                machine.format(
                    circuits=CHANGING if scheduled == CIRCUITS else FIXED,
                    groups=case.groups,
                    wiring=beside("shared/data/theta-topology/theta.interconnect"),
                ),
                encoding="utf-8",
            )
            network = SharedLinks(
                mix="by-mode",
                communication_share=SHARE,
                seed=draw,
                machine=file,
                injection=injection,
                placement="contiguous",
            )
        schedule = odonata.schedule(
            log,
            nodes=case.nodes,
            estimates="perfect",
            enforce_limits=False,
            grap_groups=case.groups if grap else None,
            mode_seed=draw,
            network=network,
        )
    jobs = schedule.jobs
    ran = jobs["run_s"].is_valid().to_numpy()
    run = jobs["run_s"].to_numpy(zero_copy_only=False)[ran].sum()
    return {
        "wait_h": round(schedule.summary["wait_s"]["mean"] / 3600, 3),
        "stretch": round(float(run / jobs["log_run_s"].to_numpy()[ran].sum()), 4),
        "utilisation": round(schedule.summary["utilisation_until_last_submit"], 4),
        "refused": schedule.summary["refused"],
        "cpu_s": round(schedule.cost["cpu_seconds"], 1),
    }


def kept() -> list[dict[str, str]]:
    """The runs that have been made."""
    return read_rows(KEPT) if KEPT.exists() else []


def run(which: str) -> None:
    """Makes the runs of a log that have not been made."""
    case = CASES[which]
    machine = MIRA_MACHINE if which == "mira" else THETA_MACHINE
    most = max(count for _, _, count in case.plans)
    drawn = logs(which, case)
    everything = [next(drawn) for _ in range(most)]
    plans = [plan for plan in case.plans if plan[0] == 0]
    turns = [(draw, *plan) for plan in plans for draw in range(1, plan[2] + 1)]
    # Plans that take long go round by round, so that runs that are cut off have all draws alike.
    plans = [plan for plan in case.plans if plan[0] > 0]
    turns += [(draw, *plan) for draw in range(1, most + 1) for plan in plans if draw <= plan[2]]
    for draw, injection, scheduled, _ in turns:
        key = (case.name, f"{injection:g}", scheduled, str(draw))
        known = {(r["log"], r["injection"], r["scheduled"], r["draw"]) for r in kept()}
        if key in known:
            continue
        found = simulate(everything[draw - 1], case, machine, injection, scheduled, draw)
        append_rows(KEPT, [{**dict(zip(KEYS, key, strict=True)), **found}])
        print(*key, found, flush=True)


def compared(runs: Sequence[dict[str, str]]) -> list[dict[str, object]]:
    """Every schedule beside that on fixed links with the same draws."""
    rows: list[dict[str, object]] = []
    order = {case.name: place for place, case in enumerate(CASES.values())}
    groups = {(r["log"], r["injection"], r["scheduled"]) for r in runs}
    names = (BASELINE, POLICY, CIRCUITS, TABLE)
    for log, injection, scheduled in sorted(
        groups, key=lambda key: (order[key[0]], float(key[1]), names.index(key[2]))
    ):

        def of(name: str, log: str = log, injection: str = injection) -> dict[int, dict[str, str]]:
            wanted = (log, injection, name)
            return {
                int(r["draw"]): r
                for r in runs
                if (r["log"], r["injection"], r["scheduled"]) == wanted
            }

        own, base = of(scheduled), of(BASELINE)
        draws = sorted(own.keys() & base.keys())
        if not draws:
            continue
        change, low, high = interval(
            [float(base[d]["wait_h"]) for d in draws], [float(own[d]["wait_h"]) for d in draws]
        )

        def mean(key: str, of: dict[int, dict[str, str]], draws: Sequence[int] = draws) -> float:
            return float(np.mean([float(of[d][key]) for d in draws]))

        rows.append(
            {
                "log": log,
                "injection": float(injection),
                "scheduled": scheduled,
                "draws": len(draws),
                "wait_h": mean("wait_h", own),
                "base_h": mean("wait_h", base),
                "change": change,
                "low": low,
                "high": high,
                "stretch": mean("stretch", own),
                "utilisation": mean("utilisation", own),
                "refused": int(mean("refused", own)),
                "cpu_s": mean("cpu_s", own),
            }
        )
    return rows


def write_table(rows: Sequence[dict[str, object]]) -> None:
    """Puts the table into pages/does-grap-pay.md."""
    header = [
        *("log", "nodes send at", "scheduled on", "draws", "run times"),
        *("wait on fixed links, same draws", "mean wait"),
        *("change (95 %)", "utilisation", "CPU time"),
    ]
    cells = []
    for row in rows:
        injection = float(str(row["injection"]))
        change = "–" if row["scheduled"] == BASELINE else f"{row['change']:+.1%}"
        if change != "–" and row["draws"] != 1:
            change += f" ({row['low']:+.1%} to {row['high']:+.1%})"
        cells.append(
            [
                f"{row['log']}",
                f"{injection:.0%}" if injection else "(no links)",
                f"{row['scheduled']}",
                f"{row['draws']}",
                f"× {row['stretch']:.3f}",
                "–" if row["scheduled"] == BASELINE else f"{row['base_h']:.2f} h",
                f"{row['wait_h']:.2f} h",
                change.replace("%", " %"),
                f"{row['utilisation']:.3f}",
                f"{row['cpu_s']:.0f} s",
            ]
        )
    page = HOME / "pages" / "does-grap-pay.md"
    tables = {"network": markdown(header, cells, labels=4)}
    write_tables(page, tables)


def draw(rows: Sequence[dict[str, object]]) -> None:
    """The picture: change of the mean wait beside the same machine with fixed links."""
    chosen = [row for row in rows if row["scheduled"] != BASELINE]
    with style():
        figure = new_figure(7.2, 0.9 + 0.3 * len(chosen))
        axes = figure.subplots()
        for place, row in enumerate(reversed(chosen)):
            colour = "C1" if row["scheduled"] == CIRCUITS else "C0"
            ends = [100 * float(str(row["low"])), 100 * float(str(row["high"]))]
            axes.plot(ends, [place, place], color=colour, linewidth=3)
            axes.plot([100 * float(str(row["change"]))], [place], "o", color=colour)
        axes.axvline(0, color="0.4", linewidth=0.8)

        def label(row: dict[str, object]) -> str:
            injection = float(str(row["injection"]))
            sending = f", at {injection:.0%}" if injection else ""
            return f"{row['log']}: {row['scheduled']}{sending}"

        axes.set_yticks(range(len(chosen)), [label(row) for row in reversed(chosen)])
        axes.set_xlabel("change of the mean wait, %")
    save(figure, HOME / "pages" / "figures" / "feng2023-network.png")


def main() -> None:
    """Makes the runs and writes what came out."""
    if beside(MIRA) is None or beside(THETA) is None:
        return
    for which in sys.argv[1:] or CASES:
        run(which)
    rows = compared(kept())
    write_table(rows)
    draw(rows)


if __name__ == "__main__":
    main()
