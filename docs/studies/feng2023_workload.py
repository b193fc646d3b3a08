"""Does GRAP pay? Waits of a year of jobs, as Feng et al. (ICS 2023, 5.3 and figure 5) found them.

    .venv/bin/python docs/studies/feng2023_workload.py    # minutes; needs ../shared/data

The paper's second step: jobs of 576 nodes and more become faster by

    accelerated time = job time − MPI time · speed-up(mode, size)       (5.1.4)

and are placed by GRAP on the 288 groups of a reconfigurable dragonfly of 82,944 nodes; beside it
the same jobs, not accelerated, on any free nodes. Months are made of the days of January 2019 on
Mira, drawn with replacement; every job has twice its nodes. Leaves
docs/studies/feng2023_workload.csv and docs/figures/feng2023-waits.png. Where the logs are absent it
says so and changes nothing.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from marked import markdown, with_tables

import odonata
from odonata.batch import JobLog
from odonata.plots import new_figure, save, style

DOCS = Path(__file__).resolve().parents[1]
MIRA = "shared/data/mira-jobs/mira-2019-01.txt"
THETA = "shared/data/theta-jobs/theta_2022.swf"
DAY = 86_400
MONTHS, DAYS = 12, 30

#: Share of the run time that a pattern saves, as figure 4 of the paper has it: all-to-all from two
#: groups to all of them, linear in the logarithm of their number.
PAPER = {"all-to-all": ((2.0, 0.32), (288.0, 0.0)), "stencil": ((2.0, 0.30),),
         "neighbouring": ((2.0, 0.16),)}  # fmt: skip
MODES = ("minimal-balance", "adaptive", "custom-balance", "custom")
PATTERN = {"minimal-balance": "stencil", "adaptive": "all-to-all", "custom-balance": "stencil",
           "custom": "neighbouring"}  # fmt: skip


@dataclass(frozen=True)
class Machine:
    """A machine with groups of equal size, as near as may be."""

    nodes: int
    groups: int

    @property
    def group(self) -> int:
        """Nodes of the largest group."""
        return -(-self.nodes // self.groups)


@dataclass(frozen=True)
class Assumption:
    """What the second step takes for granted."""

    name: str
    #: Share of MPI time. With 0.45 the paper's speed-ups make Mira's jobs 11 % faster; the paper
    #: has 9 to 11 %.
    mpi: float = 0.45
    #: Shares of jobs in each of :data:`MODES`.
    mix: tuple[float, ...] = (0.4, 0.4, 0.1, 0.1)
    speedups: str = "paper"
    #: Multiple of a job's nodes.
    nodes: float = 2.0
    #: Multiple of the times between submissions.
    arrivals: float = 1.0
    #: Multiple of the run time that users ask for; 1: they know it.
    estimate: float = 1.0
    grap: bool = True


ASSUMPTIONS = (
    Assumption("as the paper"),
    Assumption("speed-ups of our figure 4, 4 KiB", speedups="4 KiB"),
    Assumption("speed-ups of our figure 4, 16 KiB", speedups="16 KiB"),
    Assumption("GRAP, nothing faster", mpi=0.0),
    Assumption("faster, but any free nodes", grap=False),
    Assumption("MPI 20 % of the time", mpi=0.2),
    Assumption("MPI 70 % of the time", mpi=0.7),
    Assumption("all adaptive", mix=(0.0, 1.0, 0.0, 0.0)),
    Assumption("all balanced", mix=(1.0, 0.0, 0.0, 0.0)),
    Assumption("jobs 1.5 times as large, as much load", nodes=1.5, arrivals=0.75),
    Assumption("jobs of whole groups (1.125 times), as much load", nodes=1.125, arrivals=0.5625),
    Assumption("users ask for three times the time", estimate=3.0),
)
#: Those that January and Theta are simulated with, the last one Theta only.
BRIEF = (
    "as the paper",
    "GRAP, nothing faster",
    "faster, but any free nodes",
    "MPI 20 % of the time",
    "MPI 70 % of the time",
)


def speedup(table: dict[str, tuple[tuple[float, float], ...]], mode: str, groups: int) -> float:
    """Share of the MPI time that a job of so many groups saves."""
    points = table[PATTERN[mode]]
    sizes = [np.log(size) for size, _ in points]
    return float(np.interp(np.log(max(groups, 2)), sizes, [saved for _, saved in points]))


def accelerated(
    jobs: pa.Table, machine: Machine, assumption: Assumption, tables: dict[str, object], seed: int
) -> pa.Table:
    """The jobs with the run times of a reconfigurable dragonfly."""
    draw = np.random.default_rng(seed)
    nodes = jobs["nodes"].to_numpy()
    run = jobs["run_s"].to_numpy().astype(float)
    modes = draw.choice(len(MODES), size=len(nodes), p=assumption.mix)
    table: dict[str, tuple[tuple[float, float], ...]] = tables[assumption.speedups]  # type: ignore[assignment]
    saved = np.zeros(len(nodes))
    for index, (size, mode) in enumerate(zip(nodes, modes, strict=True)):
        if size <= machine.group:
            continue  # small jobs have no links to be matched
        share = size / machine.nodes
        balanced = size < 2 * machine.group or share > 65_536 / 82_944
        groups = -(-size // machine.group)
        # Sizes count by their place between two groups and the whole machine.
        place = np.log(max(groups, 2) / 2) / np.log(machine.groups / 2)
        like = round(2 * (288 / 2) ** place)
        saved[index] = speedup(table, MODES[0] if balanced else MODES[mode], like)
    faster = np.maximum(np.rint(run * (1 - assumption.mpi * saved)), 0).astype(np.int64)
    return jobs.set_column(jobs.schema.get_field_index("run_s"), "run_s", pa.array(faster))


def months(log: JobLog, seed: int) -> Iterator[pa.Table]:
    """Months of days of the log, drawn with replacement."""
    table = log.jobs.select(["submit_s", "run_s", "nodes"])
    submit = table["submit_s"].to_numpy()
    day = (submit - submit.min()) // DAY
    whole = np.arange(day.max())  # the last one is not whole
    draw = np.random.default_rng(seed)
    for _ in range(MONTHS):
        parts = []
        for place, chosen in enumerate(draw.choice(whole, DAYS)):
            part = table.filter(pa.array(day == chosen))
            moved = part["submit_s"].to_numpy() + (place - chosen) * DAY
            parts.append(part.set_column(0, "submit_s", pa.array(moved)))
        yield pa.concat_tables(parts)


def compare(
    jobs: pa.Table, machine: Machine, assumption: Assumption, tables: dict[str, object], seed: int
) -> dict[str, float]:
    """Both schedules of some jobs: mean waits in hours, and utilisation."""
    larger = np.minimum(np.ceil(jobs["nodes"].to_numpy() * assumption.nodes), machine.nodes)
    jobs = jobs.set_column(
        jobs.schema.get_field_index("nodes"), "nodes", pa.array(larger.astype(np.int64))
    )
    submit = np.rint(jobs["submit_s"].to_numpy() * assumption.arrivals).astype(np.int64)
    jobs = jobs.set_column(
        jobs.schema.get_field_index("submit_s"), "submit_s", pa.array(submit - submit.min())
    )
    asked = np.ceil(jobs["run_s"].to_numpy() * assumption.estimate).astype(np.int64)
    faster = accelerated(jobs, machine, assumption, tables, seed)

    def simulate(jobs: pa.Table, grap: bool) -> odonata.batch.Schedule:
        if assumption.estimate > 1:
            jobs = jobs.append_column("requested_s", pa.array(asked))
        log = JobLog.from_table(jobs, machine_nodes=machine.nodes)
        return odonata.schedule(
            log,
            nodes=machine.nodes,
            estimates="requested" if assumption.estimate > 1 else "perfect",
            enforce_limits=False,
            grap_groups=machine.groups if grap else None,
            # Modes decide speed-ups here; feng2023_network.py lets them decide places as well.
            grap_modes=["adaptive"] if grap else None,
        )

    before, after = simulate(jobs, grap=False), simulate(faster, assumption.grap)
    run = jobs["run_s"].to_numpy().sum()
    return {
        "wait_before_h": before.summary["wait_s"]["mean"] / 3600,
        "wait_after_h": after.summary["wait_s"]["mean"] / 3600,
        "utilisation_before": before.summary["utilisation_until_last_submit"],
        "utilisation_after": after.summary["utilisation_until_last_submit"],
        "faster": 1 - faster["run_s"].to_numpy().sum() / run,
    }


def interval(values: Sequence[float], draws: int = 2000) -> tuple[float, float]:
    """95 % interval of the mean, by bootstrap."""
    draw = np.random.default_rng(1)
    array = np.asarray(values)
    means = array[draw.integers(0, len(array), (draws, len(array)))].mean(axis=1)
    return float(np.quantile(means, 0.025)), float(np.quantile(means, 0.975))


def own_speedups() -> dict[str, dict[str, tuple[tuple[float, float], ...]]]:
    """Share of the run time saved by message size, pattern and groups, from our figure 4.

    Sizes are places between two groups and the whole machine, carried over to 288 groups.
    """
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    with (DOCS / "studies" / "feng2023_speedups.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            place = np.log(int(row["groups"]) / 2) / np.log(32 / 2)
            point = (2 * (288 / 2) ** place, float(row["saved"]))
            found.setdefault(row["message"], {}).setdefault(row["pattern"], []).append(point)
    return {
        message: {pattern: tuple(sorted(points)) for pattern, points in patterns.items()}
        for message, patterns in found.items()
    }


def keep_speedups(dataset: Path) -> None:
    """Writes what `odonata study feng2023` found as shares of the run time saved.

    Beside the baseline with noise, means of all seeds, standard points of 1,024 nodes.
    """
    table = pq.read_table(dataset).to_pandas()
    standard = (table.variant == "standard") & (table.machine == "1,024 nodes")
    table = table[standard & (table.noise == 26)]
    keys = ["message", "pattern", "groups"]
    times = table.groupby([*keys, "network"]).run_time_us.mean().unstack("network")
    saved = (1 - times["RDN-GRAP"] / times["TDN"]).rename("saved").round(4).dropna().reset_index()
    saved.to_csv(DOCS / "studies" / "feng2023_speedups.csv", index=False, lineterminator="\n")


def find(name: str) -> Path | None:
    """A file beside the checkout."""
    return next((above / name for above in DOCS.parents if (above / name).exists()), None)


def main() -> None:
    """Simulates the years and writes what came out."""
    dataset = DOCS.parent / "results" / "feng2023" / "dataset.parquet"
    if dataset.exists():
        keep_speedups(dataset)
    mira, theta = find(MIRA), find(THETA)
    if mira is None or theta is None:
        print(f"skipped: there is no ../{MIRA} or no ../{THETA}", file=sys.stderr)
        return
    tables: dict[str, object] = {"paper": PAPER, **own_speedups()}
    rows: list[dict[str, object]] = []

    def keep(log: str, assumption: Assumption, found: list[dict[str, float]]) -> None:
        changes = [month["wait_after_h"] / month["wait_before_h"] - 1 for month in found]
        low, high = interval(changes)
        mean: Callable[[str], float] = lambda key: float(np.mean([m[key] for m in found]))  # noqa: E731
        rows.append(
            {
                "log": log,
                "assumption": assumption.name,
                "months": len(found),
                "faster_percent": round(100 * mean("faster"), 1),
                "wait_before_h": round(mean("wait_before_h"), 2),
                "wait_after_h": round(mean("wait_after_h"), 2),
                "change_percent": round(100 * float(np.mean(changes)), 1),
                "change_low": round(100 * low, 1),
                "change_high": round(100 * high, 1),
                "least": round(100 * min(changes), 1),
                "most": round(100 * max(changes), 1),
                "months_longer": sum(change > 0 for change in changes),
                "utilisation_before": round(mean("utilisation_before"), 3),
                "utilisation_after": round(mean("utilisation_after"), 3),
            }
        )
        print(rows[-1], flush=True)

    machine = Machine(82_944, 288)
    log = odonata.read_job_log(mira)
    january = log.jobs.select(["submit_s", "run_s", "nodes"])
    for position, assumption in enumerate(ASSUMPTIONS):
        seeds = range(1, 4 if position == 0 else 2)
        found = [
            compare(month, machine, assumption, tables, seed * MONTHS + number)
            for seed in seeds
            for number, month in enumerate(months(log, seed))
        ]
        keep("Mira, synthetic year", assumption, found)
    brief = [assumption for assumption in ASSUMPTIONS if assumption.name in BRIEF]
    for assumption in brief[:4]:
        found = [compare(january, machine, assumption, tables, seed) for seed in range(1, 5)]
        keep("Mira, January 2019", assumption, found)
    year = odonata.read_job_log(theta).jobs.select(["submit_s", "run_s", "nodes"])
    own = Machine(4392, 12)
    for assumption in brief:
        as_it_is = replace(assumption, nodes=1.0)
        found = [compare(year, own, as_it_is, tables, seed) for seed in range(1, 5)]
        keep("Theta 2022", assumption, found)
    with (DOCS / "studies" / "feng2023_workload.csv").open(
        "w", newline="", encoding="utf-8"
    ) as out:
        writer = csv.DictWriter(out, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    draw_waits(rows)
    write_table(rows)


def write_table(rows: Sequence[dict[str, object]]) -> None:
    """Puts the table into docs/does-grap-pay.md."""
    page = DOCS / "does-grap-pay.md"
    header = [
        *("log", "assumption", "jobs faster by", "wait before → after", "change (95 %)"),
        *("months", "longer", "utilisation"),
    ]
    cells = [
        [
            f"{row['log']}",
            f"{row['assumption']}",
            f"{row['faster_percent']} %",
            f"{row['wait_before_h']} → {row['wait_after_h']} h",
            f"{row['change_percent']:+} % ({row['change_low']:+} to {row['change_high']:+})",
            f"{row['least']:+} to {row['most']:+} %",
            f"{row['months_longer']} of {row['months']}",
            f"{row['utilisation_before']} → {row['utilisation_after']}",
        ]
        for row in rows
    ]
    tables = {"waits": markdown(header, cells, labels=len(header))}
    page.write_text(with_tables(page.read_text(encoding="utf-8"), tables), encoding="utf-8")


def draw_waits(rows: Sequence[dict[str, object]]) -> None:
    """The picture: change of the mean wait by assumption, with intervals."""
    chosen = [row for row in rows if row["log"] == "Mira, synthetic year"]
    with style():
        figure = new_figure(7.2, 4.4)
        axes = figure.subplots()
        for place, row in enumerate(reversed(chosen)):
            low, high = float(str(row["change_low"])), float(str(row["change_high"]))
            mean = float(str(row["change_percent"]))
            ends = [float(str(row["least"])), float(str(row["most"]))]
            axes.plot(ends, [place, place], color="C0", linewidth=0.8)
            axes.plot([low, high], [place, place], color="C0", linewidth=3)
            axes.plot([mean], [place], "o", color="C0")
        axes.axvline(0, color="0.4", linewidth=0.8)
        axes.axvspan(-52, -9, color="0.92", zorder=0)
        axes.set_yticks(range(len(chosen)), [str(row["assumption"]) for row in reversed(chosen)])
        axes.set_xlabel("change of the mean wait, % (grey: the paper's months)")
    save(figure, DOCS / "figures" / "feng2023-waits.png")


if __name__ == "__main__":
    main()
