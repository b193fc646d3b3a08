"""Does GRAP pay? Waits of a year of jobs, as Feng et al. (ICS 2023, 5.3 and figure 5) found them.

    .venv/bin/python studies/scripts/feng2023_workload.py    # minutes; needs ../shared/data

The paper's second step: jobs of 576 nodes and more become faster by

    accelerated time = job time − MPI time · speed-up(mode, size)       (5.1.4)

and are placed by GRAP on the 288 groups of a reconfigurable dragonfly of 82,944 nodes; beside it
the same jobs, not accelerated, on any free nodes. Every job has twice its nodes. One month of Mira
is public, January 2019; a synthetic year is made of its days, drawn with replacement, whose months
say how far the answer hangs on the order of days and nothing of other months. The year of Theta is
twelve real ones, by the month in which a job was submitted. Leaves
data/feng2023_workload.csv, pages/figures/feng2023-waits.png and feng2023-utilisation.png.
Where the logs are absent it says so and changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import odonata
from odonata.batch import JobLog
from odonata.plots import new_figure, save, style
from odonata_studies.marked import markdown, write_tables
from odonata_studies.rows import beside, read_rows, write_rows

HOME = Path(__file__).resolve().parents[1]
ROOT = HOME.parent
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
    #: What is faster, or not, is placed by GRAP's rules; else on any free nodes.
    grap: bool = True
    #: Jobs larger than a group ask for whole groups, without any other rule.
    whole_groups: bool = False
    #: Groups that GRAP sees, if they are not the machine's own.
    groups: int | None = None


ASSUMPTIONS = (
    Assumption("as the paper"),
    # The gains that the paper's jobs had, 9 to 11 % by month, by as much less or more MPI time.
    Assumption("jobs 9 % faster", mpi=0.365),
    Assumption("jobs 10 % faster", mpi=0.405),
    Assumption("jobs 11 % faster", mpi=0.446),
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
#: What of GRAP's rules costs on Theta: whole groups on any nodes, and fewer or more groups.
RULES = (
    Assumption("whole groups on any free nodes", mpi=0.0, grap=False, whole_groups=True),
    *(
        Assumption(f"GRAP, nothing faster, {groups} groups", mpi=0.0, groups=groups)
        for groups in (6, 24, 48, 96)
    ),
)
#: Variants that January and Theta are simulated with, the last one Theta only.
BRIEF = (
    *("as the paper", "jobs 9 % faster", "jobs 10 % faster", "jobs 11 % faster"),
    *("GRAP, nothing faster", "faster, but any free nodes"),
    *("MPI 20 % of the time", "MPI 70 % of the time"),
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
) -> dict[str, object]:
    """Both schedules of some jobs.

    Returns:
        The share by which jobs are faster, and of the schedules before and after: mean waits in
        hours, by the month of 30 days in which jobs were submitted as well, utilisation, and the
        share of nodes in use in every minute from the first submission to the last.
    """
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
    groups = assumption.groups or machine.groups

    def simulate(jobs: pa.Table, grap: bool) -> odonata.batch.Schedule:
        if assumption.estimate > 1:
            jobs = jobs.append_column("requested_s", pa.array(asked))
        log = JobLog.from_table(jobs, machine_nodes=machine.nodes)
        return odonata.schedule(
            log,
            nodes=machine.nodes,
            estimates="requested" if assumption.estimate > 1 else "perfect",
            enforce_limits=False,
            grap_groups=groups if grap else None,
            # Modes decide speed-ups here; feng2023_network.py lets them decide places as well.
            grap_modes=["adaptive"] if grap else None,
        )

    before = simulate(jobs, grap=False)
    if assumption.whole_groups:
        faster = of_whole_groups(faster, machine)
    after = simulate(faster, assumption.grap)
    run = jobs["run_s"].to_numpy().sum()
    found: dict[str, object] = {"faster": 1 - faster["run_s"].to_numpy().sum() / run}
    for name, schedule in (("before", before), ("after", after)):
        found[f"wait_{name}_h"] = schedule.summary["wait_s"]["mean"] / 3600
        found[f"utilisation_{name}"] = schedule.summary["utilisation_until_last_submit"]
        found[f"waits_{name}_h"] = waits_by_month(schedule)
        found[f"minutes_{name}"] = used_by_minute(schedule, machine)
    return found


def of_whole_groups(jobs: pa.Table, machine: Machine) -> pa.Table:
    """The jobs, those larger than a group with as many nodes as whole groups have."""
    nodes = jobs["nodes"].to_numpy()
    whole = np.minimum(np.ceil(nodes / machine.group) * machine.group, machine.nodes)
    larger = np.where(nodes > machine.group, whole, nodes).astype(np.int64)
    return jobs.set_column(jobs.schema.get_field_index("nodes"), "nodes", pa.array(larger))


def waits_by_month(schedule: odonata.batch.Schedule) -> list[float]:
    """Mean wait in hours of the jobs submitted in each 30 days; the last is what is left."""
    jobs = schedule.jobs
    submit = jobs["submit_s"].to_numpy()
    wait = jobs["start_s"].to_numpy(zero_copy_only=False) - submit
    month = np.minimum((submit - submit.min()) // (DAYS * DAY), MONTHS - 1)
    return [float(np.nanmean(wait[month == one]) / 3600) for one in np.unique(month)]


def used_by_minute(schedule: odonata.batch.Schedule, machine: Machine) -> np.ndarray:
    """Share of the nodes in use at every minute from the first submission to the last.

    Returns:
        Shape: minutes.
    """
    jobs = schedule.jobs
    start = jobs["start_s"].to_numpy(zero_copy_only=False)
    ran = np.isfinite(start)
    start, nodes = start[ran], jobs["nodes"].to_numpy()[ran]
    end = start + jobs["run_s"].to_numpy(zero_copy_only=False)[ran]
    times, changes = np.concatenate([start, end]), np.concatenate([nodes, -nodes])
    order = np.argsort(times, kind="stable")
    used = np.concatenate([[0], np.cumsum(changes[order])])
    submit = jobs["submit_s"].to_numpy()
    minutes = np.arange(submit.min(), submit.max(), 60)
    share: np.ndarray = used[np.searchsorted(times[order], minutes, side="right")] / machine.nodes
    return share


def interval(
    before: Sequence[float], after: Sequence[float], draws: int = 2000
) -> tuple[float, float, float]:
    """Change of the mean over pairs, with its 95 % interval by a bootstrap of the pairs.

    The ratio of the means and not the mean of the ratios, to which a month of short waits adds as
    much as one of long ones.

    Args:
        before: By pair, such as month or draw.
        after: The same.
        draws: Of the bootstrap.
    """
    draw = np.random.default_rng(1)
    pairs = np.asarray([before, after])
    mean = pairs.mean(axis=1)
    chosen = pairs[:, draw.integers(0, len(before), (draws, len(before)))].mean(axis=2)
    low, high = np.quantile(chosen[1] / chosen[0] - 1, (0.025, 0.975))
    return float(mean[1] / mean[0] - 1), float(low), float(high)


def own_speedups() -> dict[str, dict[str, tuple[tuple[float, float], ...]]]:
    """Share of the run time saved by message size, pattern and groups, from our figure 4.

    Sizes are places between two groups and the whole machine, carried over to 288 groups.
    """
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for row in read_rows(HOME / "data" / "feng2023_speedups.csv"):
        place = np.log(int(row["groups"]) / 2) / np.log(32 / 2)
        point = (2 * (288 / 2) ** place, float(row["saved"]))
        found.setdefault(row["message"], {}).setdefault(row["pattern"], []).append(point)
    return {
        message: {pattern: tuple(sorted(points)) for pattern, points in patterns.items()}
        for message, patterns in found.items()
    }


def keep_speedups(dataset: Path) -> None:
    """Writes what `odonata study feng2023` found as shares of the run time saved.

    Beside the baseline with noise, means of all seeds, standard points of 1,024 nodes, TAGO over
    the shortest links.
    """
    table = pq.read_table(dataset).to_pandas()
    standard = (table.variant == "standard") & (table.machine == "1,024 nodes")
    table = table[standard & (table.noise == 26) & (table.tago == "shortest")]
    keys = ["message", "pattern", "groups"]
    times = table.groupby([*keys, "network"]).run_time_us.mean().unstack("network")
    saved = (1 - times["RDN-GRAP"] / times["TDN"]).rename("saved").round(4).dropna().reset_index()
    saved.to_csv(HOME / "data" / "feng2023_speedups.csv", index=False, lineterminator="\n")


def main() -> None:
    """Simulates the years and writes what came out."""
    dataset = ROOT / "results" / "feng2023" / "dataset.parquet"
    if dataset.exists():
        keep_speedups(dataset)
    mira, theta = beside(MIRA), beside(THETA)
    if mira is None or theta is None:
        return
    tables: dict[str, object] = {"paper": PAPER, **own_speedups()}
    rows: list[dict[str, object]] = []
    #: Schedules of the paper's assumptions, for figure 5b.
    used: dict[str, list[dict[str, object]]] = {}

    def keep(log: str, assumption: Assumption, found: list[dict[str, object]], over: str) -> None:
        def of(key: str) -> list[float]:
            return [float(str(one[key])) for one in found]

        before, after = of("wait_before_h"), of("wait_after_h")
        if over == "real months":
            # Months of one schedule: means over the draws of modes.
            before, after = (
                [float(x) for x in np.mean([one[key] for one in found], axis=0)]  # type: ignore[list-item]
                for key in ("waits_before_h", "waits_after_h")
            )
        changes = [new / old - 1 for old, new in zip(before, after, strict=True)]
        change, low, high = interval(before, after)
        if over == "real months":
            # The change over all jobs, as of the waits; months have different numbers of them.
            change = float(np.mean(of("wait_after_h")) / np.mean(of("wait_before_h")) - 1)
        rows.append(
            {
                "log": log,
                "assumption": assumption.name,
                "interval_over": over,
                "months": len(changes),
                "faster_percent": round(100 * float(np.mean(of("faster"))), 1),
                "wait_before_h": round(float(np.mean(of("wait_before_h"))), 2),
                "wait_after_h": round(float(np.mean(of("wait_after_h"))), 2),
                "change_percent": round(100 * change, 1),
                "change_low": round(100 * low, 1),
                "change_high": round(100 * high, 1),
                "least": round(100 * min(changes), 1),
                "most": round(100 * max(changes), 1),
                "months_longer": sum(change > 0 for change in changes),
                "utilisation_before": round(float(np.mean(of("utilisation_before"))), 3),
                "utilisation_after": round(float(np.mean(of("utilisation_after"))), 3),
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
        keep("Mira, synthetic year", assumption, found, "months of its days")
        if position == 0:
            used["Mira, synthetic year"] = found[:MONTHS]
    brief = [assumption for assumption in ASSUMPTIONS if assumption.name in BRIEF]
    for assumption in brief[:-1]:
        found = [compare(january, machine, assumption, tables, seed) for seed in range(1, 6)]
        keep("Mira, January 2019", assumption, found, "draws of modes")
        if assumption.name == "as the paper":
            used["Mira, January 2019"] = found[:1]
    year = odonata.read_job_log(theta).jobs.select(["submit_s", "run_s", "nodes"])
    own = Machine(4392, 12)
    for assumption in (*brief, *RULES):
        as_it_is = replace(assumption, nodes=1.0)
        # Where nothing is faster, nothing is drawn.
        seeds = range(1, 6 if assumption.mpi else 2)
        found = [compare(year, own, as_it_is, tables, seed) for seed in seeds]
        keep("Theta 2022", assumption, found, "real months")
        if assumption.name == "as the paper":
            used["Theta 2022"] = found[:1]
    write_rows(HOME / "data" / "feng2023_workload.csv", rows)
    draw_waits(rows)
    draw_utilisation(used)
    write_table(rows)


def write_table(rows: Sequence[dict[str, object]]) -> None:
    """Puts the table into pages/does-grap-pay.md."""
    page = HOME / "pages" / "does-grap-pay.md"
    header = [
        *("log", "assumption", "jobs faster by", "wait before → after", "change (95 %)"),
        *("interval over", "least to most", "longer", "utilisation"),
    ]
    cells = [
        [
            f"{row['log']}",
            f"{row['assumption']}",
            f"{row['faster_percent']} %",
            f"{row['wait_before_h']} → {row['wait_after_h']} h",
            f"{row['change_percent']:+} % ({row['change_low']:+} to {row['change_high']:+})",
            f"{row['months']} {row['interval_over']}",
            f"{row['least']:+} to {row['most']:+} %",
            f"{row['months_longer']} of {row['months']}",
            f"{row['utilisation_before']} → {row['utilisation_after']}",
        ]
        for row in rows
    ]
    tables = {"waits": markdown(header, cells, labels=len(header))}
    write_tables(page, tables)


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
    save(figure, HOME / "pages" / "figures" / "feng2023-waits.png")


def draw_utilisation(used: dict[str, list[dict[str, object]]]) -> None:
    """Figure 5b: the share of nodes in use by minute, before and after, in boxes.

    Whiskers are the extremes. A month of the synthetic year, and January, are one schedule each;
    the year of Theta is cut into its months.
    """
    with style():
        figure = new_figure(7.2, 5.6)
        panels = figure.subplots(len(used), sharey=True)
        for panel, (log, found) in zip(panels, used.items(), strict=True):
            for shift, name, colour in ((-0.18, "before", "C0"), (0.18, "after", "C1")):
                parts = [np.asarray(one[f"minutes_{name}"]) for one in found]
                if log.startswith("Theta"):
                    parts = np.array_split(parts[0], MONTHS)
                drawn = panel.boxplot(
                    parts,
                    positions=np.arange(len(parts)) + 1 + shift,
                    widths=0.3,
                    whis=(0, 100),
                    manage_ticks=False,
                    patch_artist=True,
                    medianprops={"color": "black"},
                )
                for box in drawn["boxes"]:
                    box.set(facecolor=colour, alpha=0.6)
            panel.set_title(log)
            panel.set(ylim=(0, 1.02), ylabel="nodes in use", xticks=range(1, len(parts) + 1))
        panels[-1].set(xlabel="month; left (blue) any free nodes, right (orange) GRAP")
    save(figure, HOME / "pages" / "figures" / "feng2023-utilisation.png")


if __name__ == "__main__":
    main()
