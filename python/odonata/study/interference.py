"""How jobs slow each other down: each alone, in pairs and all together, on the same nodes."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from odonata import display
from odonata.columns import table_of
from odonata.errors import Problem
from odonata.output import Claim, warn, write_file, write_json, write_parquet
from odonata.plots.waits import wait_rows
from odonata.progress import StudyBar, following
from odonata.results import SCENARIO_FILE, Result
from odonata.results.stored import Maybe, check_below, read_keys, read_table, refusal
from odonata.results.summary import is_open_loop, saturated_jobs
from odonata.results.tables import with_units
from odonata.scenario import Scenario, ScenarioLike
from odonata.scenario.keys import changed_scenario
from odonata.study.execution import STORE_FILE, Point, Record, Store, run_points

#: The outcome in its directory.
RESULT_FILE = "interference.json"
#: Quantiles of slowdowns that are reported, beside smallest, largest and mean.
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)

_FIGURES = ("min", "p25", "median", "p75", "p99", "max", "mean")

SLOWDOWNS = pa.schema(
    [
        pa.field("job", pa.int32()),
        pa.field("name", pa.string()),
        # `min`, `p5` … `p99`, `max`, `mean` of message latencies, or `run_time`.
        pa.field("quantity", pa.string()),
        pa.field("alone_ps", pa.float64()),
        pa.field("together_ps", pa.float64()),
        pa.field("slowdown", pa.float64()),
    ]
)
MATRIX = pa.schema(
    [
        pa.field("job", pa.int32()),
        pa.field("name", pa.string()),
        pa.field("by_job", pa.int32()),
        pa.field("by_name", pa.string()),
        # Ratio of mean message latencies, and of run times where both ended.
        pa.field("slowdown", pa.float64()),
        pa.field("run_time_slowdown", pa.float64()),
    ]
)
LATENCIES = pa.schema(
    [
        # `alone`, `together` or the name of the one other job that ran.
        pa.field("beside", pa.string()),
        pa.field("job", pa.int32()),
        pa.field("name", pa.string()),
        pa.field("messages", pa.int64()),
        pa.field("run_time_ps", pa.int64()),
        # Simulated time of the run, and of a job with traffic the share of what it offered that
        # was delivered, and whether the rest piled up.
        pa.field("end_ps", pa.int64()),
        pa.field("delivered_share", pa.float64()),
        pa.field("saturated", pa.bool_()),
        *(pa.field(f"message_latency_{figure}_ps", pa.float64()) for figure in _FIGURES),
    ]
)
WAITS = pa.schema(
    [
        pa.field("job", pa.int32()),
        pa.field("name", pa.string()),
        pa.field("by_job", pa.int32()),
        pa.field("by_name", pa.string()),
        pa.field("link", pa.int64()),
        pa.field("link_name", pa.string()),
        pa.field("class", pa.string()),
        # As in `link_waits`, and their sum.
        pa.field("sending_ps", pa.int64()),
        pa.field("blocking_ps", pa.int64()),
        pa.field("waited_ps", pa.int64()),
        # Share of all the time that packets of `job` waited for links.
        pa.field("share", pa.float64()),
    ]
)

HELD = pa.schema(
    [
        # All jobs with ranks on both nodes.
        pa.field("name", pa.string()),
        # As in `held_pairs`.
        pa.field("source_node", pa.int32()),
        pa.field("destination_node", pa.int32()),
        pa.field("notifications", pa.int64()),
        pa.field("held_ps", pa.int64()),
        pa.field("held_bytes", pa.int64()),
    ]
)

#: The tables by the names of their files.
TABLES = {
    "slowdowns": SLOWDOWNS,
    "matrix": MATRIX,
    "latencies": LATENCIES,
    "waits": WAITS,
    "held": HELD,
}
#: Columns of latencies that earlier analyses lack.
_LATER = ("end_ps", "delivered_share", "saturated")
#: Columns of waits that always have a value.
_SUMMED = ("sending_ps", "blocking_ps", "waited_ps", "share")

ALONE, TOGETHER = "alone", "together"


@dataclass(frozen=True)
class Interference:
    """How jobs slowed each other down.

    Attributes:
        scenario: The scenario with all jobs.
        names: Names of all jobs.
        target: The job under study; ``None``: all jobs.
        slowdowns: Values alone and with all jobs: one row per job and quantity.
        matrix: One row per two jobs that ran by themselves: how much the first is slowed down by
            the second. Empty if no pairs were simulated.
        latencies: Message latencies: one row per run and job that ran.
        waits: Where each job waited for which other job when all ran: one row per two jobs and
            link, the most expensive first. Empty if that was not recorded.
        held: What congestion control held back when all ran: one row per pair of nodes, the one
            that waited longest first.
    """

    scenario: Scenario
    names: Sequence[str]
    target: int | None
    slowdowns: pa.Table
    matrix: pa.Table
    latencies: pa.Table
    waits: pa.Table
    held: pa.Table

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The tables by the names of their files."""
        return {name: getattr(self, name) for name in TABLES}

    def slowdown(self, job: int | str, quantity: str = "mean") -> float:
        """Slowdown of a job by all others together.

        Args:
            job: Number or name.
            quantity: ``min``, ``p5``, ``p25``, ``p50``, ``p75``, ``p95``, ``p99``, ``max``,
                ``mean`` (of message latencies) or ``run_time``.

        Raises:
            KeyError: If there is no such job or quantity.
        """
        number = self.names.index(job) if isinstance(job, str) and job in self.names else job
        for row in self.slowdowns.to_pylist():
            if row["job"] == number and row["quantity"] == quantity:
                slowdown: float = row["slowdown"]
                return slowdown
        raise KeyError(f"no slowdown {quantity!r} of job {job!r}")

    def _repr_html_(self) -> str:
        from odonata.report.html.parts import table

        wanted = ("mean", "p99", "run_time")
        rows = [
            [row["name"], row["quantity"], f"{row['slowdown']:.2f}×"]
            for row in self.slowdowns.to_pylist()
            if row["quantity"] in wanted and row["slowdown"] is not None
        ]
        return table(["job", "figure", "slowdown"], rows, "Slowed down by all others", texts=2)

    def caused(self) -> npt.NDArray[np.float64]:
        """The interference matrix: slowdown of the row's job by the column's; NaN if unknown."""
        found = np.full((len(self.names), len(self.names)), math.nan)
        for row in self.matrix.to_pylist():
            found[row["job"], row["by_job"]] = row["slowdown"]
        return found


def interference(
    scenario: ScenarioLike,
    *,
    set: Mapping[str, Any] | None = None,
    target: str | int | None = None,
    pairs: bool = True,
    attribution: bool = True,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Callable[[float, int], object] | bool | None = None,
    notice: Callable[[str], object] = warn,
    **named: Any,
) -> Interference:
    """Simulates jobs alone, in pairs and all together, on the same nodes and with equal draws.

    Jobs that do not take part in a run keep their nodes and do nothing (``idle``), so that every
    job sends the same messages from the same nodes in all runs.

    Args:
        scenario: With at least two jobs, or the name of its file.
        set: Keys to change and their values, such as ``{"network.routing": "par"}``.
        target: Name or number of the job under study: only this job runs alone, and in pairs with
            each other job. Default: all jobs.
        pairs: Whether to simulate pairs of jobs for the interference matrix. N jobs have N (N − 1)
            / 2 pairs (with a target N − 1); with two jobs the only pair is the run of all jobs.
        attribution: Whether to record who waited for whom at which link when all jobs ran.
        jobs: Simulations at a time, each with one thread. Default: one per processor.
        out: Directory for tables and pictures; if it holds those of an earlier call for the same
            scenario, finished simulations are not repeated. Default: nothing is written.
        progress: Called with the share and the number of the simulations that are done. ``True``
            shows a bar in the terminal or notebook.
        notice: Called with the reason if simulations that are there already have to be repeated.
            Default: a warning.
        **named: Changes by the last part of a key, such as ``routing="par"``, as of :func:`sweep`.

    Raises:
        ScenarioError: If the scenario has fewer than two jobs that do something, no job of the
            target's name, or cannot be run.
        OutputError: If the directory cannot be written.
    """
    scenario = changed_scenario(scenario, set, named)
    if attribution and scenario.simulation.engine == "flow":
        message = (
            'found "flow"; allowed: "packet", as flows have no queues that tell who waits for '
            "whom; or --no-attribution, in Python attribution=False"
        )
        raise scenario.error([Problem("simulation.engine", message)])
    plan = _Plan(scenario, _target(scenario, target), pairs, attribution)
    total = len(plan.runs)
    title = "Looking for interference"
    with contextlib.ExitStack() as held:
        say = held.enter_context(
            following(progress, lambda console: StudyBar(console, title), title)
        )
        claim = store = None
        if out is not None:
            claim = held.enter_context(Claim(Path(out), goes_on=STORE_FILE))
            store = Store(claim.directory / STORE_FILE)
            held.callback(store.close)
        done: dict[str, Record] = {}

        def simulate(points: Sequence[Point]) -> None:
            share = len(points) / total

            def report(part: float, finished: int) -> None:
                if say is not None:
                    say(len(done) / total + part * share, len(done) + finished)

            found = run_points(
                points, jobs=jobs or os.cpu_count(), store=store, progress=report, notice=notice
            )
            done.update(found)

        if plan.needs_end():
            # How long jobs without an end run alone is how long they do with the others.
            simulate([plan.point(plan.everybody)])
            plan.end_ps = done[plan.name(plan.everybody)]["end_ps"]
        simulate([plan.point(run) for run in plan.runs if plan.name(run) not in done])
        found = plan.evaluate(done)
        if claim is not None:
            write(found, claim, notice)
    return found


def _target(scenario: Scenario, target: str | int | None) -> int | None:
    names = scenario.job_names()
    busy = [number for number, job in enumerate(scenario.job) if not job.idle]
    if len(busy) < 2:
        message = f"found {len(busy)} jobs that do something; allowed: at least 2"
        raise scenario.error([Problem("job", message)])
    if target is None:
        return None
    number = names.index(target) if isinstance(target, str) and target in names else target
    if number not in busy:
        allowed = ", ".join(names[number] for number in busy)
        message = f'found the target "{target}"; allowed: the name of a job: {allowed}'
        raise scenario.error([Problem("job", message)])
    assert isinstance(number, int)
    return number


class _Plan:
    """Which jobs run in which simulation."""

    def __init__(
        self, scenario: Scenario, target: int | None, pairs: bool, attribution: bool
    ) -> None:
        self.scenario = scenario
        self.names = scenario.job_names()
        self.target = target
        self.attribution = attribution
        self.end_ps: int | None = None
        busy = [number for number, job in enumerate(scenario.job) if not job.idle]
        self.everybody = tuple(busy)
        self.victims = busy if target is None else [target]
        wanted = [(number,) for number in self.victims]
        if pairs:
            both = combinations(busy, 2)
            wanted += [pair for pair in both if target is None or target in pair]  # type: ignore[misc]
        self.pairs = pairs
        #: Jobs that run, of every simulation: all of them first.
        self.runs: list[tuple[int, ...]] = list(dict.fromkeys([self.everybody, *wanted]))

    def name(self, run: tuple[int, ...]) -> str:
        """Name of a simulation."""
        return "jobs " + ", ".join(map(str, run))

    def _ends(self, run: tuple[int, ...]) -> bool:
        jobs = [self.scenario.job[number] for number in run]
        return any(job.motif or (job.traffic and job.traffic.messages) for job in jobs)

    def needs_end(self) -> bool:
        """Whether some simulations need to know how long that of all jobs takes."""
        endless = not all(self._ends(run) for run in self.runs)
        return self.scenario.simulation.duration is None and endless

    def point(self, run: tuple[int, ...]) -> Point:
        """A simulation in which only some jobs run."""
        changes: dict[str, Any] = {
            f"job.{number}.idle": True
            for number in range(len(self.names))
            if number not in run and not self.scenario.job[number].idle
        }
        recorded = self.attribution and run == self.everybody
        if recorded:
            changes["record.attribution"] = True
        if self.end_ps is not None and not self._ends(run):
            changes["simulation.duration"] = f"{self.end_ps} ps"
        scenario = self.scenario.with_set(changes) if changes else self.scenario
        keep = keep_together if run == self.everybody else keep_latencies
        return Point(self.name(run), scenario, keep, float(len(run) + 2 * recorded))

    def evaluate(self, done: Mapping[str, Record]) -> Interference:
        """What the simulations show."""
        together = done[self.name(self.everybody)]
        slowdowns, matrix, latencies = [], [], []
        for job in self.victims:
            by_itself = done[self.name((job,))]
            alone = by_itself["jobs"][job]
            slowdowns += _slowdowns(job, self.names[job], alone, together["jobs"][job])
            latencies.append(_latencies(ALONE, job, self.names[job], by_itself))
            latencies.append(_latencies(TOGETHER, job, self.names[job], together))
            for by in self.everybody if self.pairs else ():
                if by == job:
                    continue
                pair = (min(job, by), max(job, by))
                both = done[self.name(pair)]
                beside = both["jobs"][job]
                mean = "message_latency_mean_ps"
                matrix.append(
                    {
                        "job": job,
                        "name": self.names[job],
                        "by_job": by,
                        "by_name": self.names[by],
                        "slowdown": _ratio(beside[mean], alone[mean]),
                        "run_time_slowdown": _ratio(beside["run_time_ps"], alone["run_time_ps"]),
                    }
                )
                if len(self.everybody) > 2:
                    latencies.append(_latencies(self.names[by], job, self.names[job], both))
        waits = _waits(together["waits"], self.victims)
        return Interference(
            self.scenario,
            self.names,
            self.target,
            table_of(slowdowns, SLOWDOWNS),
            table_of(matrix, MATRIX),
            table_of(latencies, LATENCIES),
            table_of(waits, WAITS),
            table_of(together["held"], HELD),
        )


# --- What is kept of a simulation -------------------------------------------------------


def keep_latencies(result: Result) -> Record:
    """Message latencies of every job, when it ended, and what arrived of what it offered."""
    histograms = result.histograms.to_pylist()
    full = saturated_jobs(result.summary_dict)
    jobs = []
    for row, summary in zip(result.jobs.to_pylist(), result.summary_dict["jobs"], strict=True):
        buckets = [
            (bucket["low_ps"], bucket["high_ps"], bucket["count"])
            for bucket in histograms
            if bucket["job"] == row["job"] and bucket["quantity"] == "message_latency"
        ]
        figures = {f"message_latency_{f}_ps": row[f"message_latency_{f}_ps"] for f in _FIGURES}
        run_time = None if row["end_ps"] is None else row["end_ps"] - row["start_ps"]
        offered = summary["offered_bytes_per_s"] if is_open_loop(summary) else None
        load = {
            "delivered_share": _ratio(row["accepted_bytes_per_s"], offered),
            "saturated": row["name"] in full,
        }
        jobs.append({**figures, "run_time_ps": run_time, **load, "buckets": buckets})
    return {"end_ps": int(result.meta["end_ps"]), "jobs": jobs}


def keep_together(result: Result) -> Record:
    """The same, who waited for whom where, and whom congestion control held back."""
    return {**keep_latencies(result), "waits": wait_rows(result), "held": _held(result)}


def _held(result: Result) -> list[dict[str, Any]]:
    jobs: dict[int, set[int]] = {}
    for row in result.placement.to_pylist():
        jobs.setdefault(row["node"], set()).add(row["job"])
    names = result.jobs["name"].to_pylist()
    rows = []
    for row in result.table("held_pairs").to_pylist():
        both = sorted(jobs[row["source_node"]] & jobs[row["destination_node"]])
        rows.append({"name": ", ".join(names[job] for job in both), **row})
    return sorted(rows, key=lambda row: -row["held_ps"])


# --- What it shows ----------------------------------------------------------------------


def _ratio(value: float | None, base: float | None) -> float | None:
    return value / base if value is not None and base else None


def quantile(buckets: Sequence[Sequence[int]], share: float) -> float | None:
    """The value below which a share of those in a histogram lies.

    Args:
        buckets: Lowest and highest value and count of each, ascending.
        share: In 0..=1.

    Returns:
        The middle of the bucket; ``None`` if there are no values.
    """
    counts = np.array([count for _, _, count in buckets], dtype=np.int64)
    if not counts.sum():
        return None
    at = int(np.searchsorted(np.cumsum(counts), max(share * counts.sum(), 1.0) - 1e-9))
    low, high, _ = buckets[min(at, len(buckets) - 1)]
    return (low + high) / 2


def _slowdowns(
    job: int, name: str, alone: Mapping[str, Any], together: Mapping[str, Any]
) -> list[dict[str, Any]]:
    pairs: dict[str, tuple[float | None, float | None]] = {}

    def both(quantity: str, key: str) -> None:
        pairs[quantity] = (alone[key], together[key])

    both("min", "message_latency_min_ps")
    for share in QUANTILES:
        found = (quantile(alone["buckets"], share), quantile(together["buckets"], share))
        pairs[f"p{round(100 * share)}"] = found
    both("max", "message_latency_max_ps")
    both("mean", "message_latency_mean_ps")
    both("run_time", "run_time_ps")
    return [
        {
            "job": job,
            "name": name,
            "quantity": quantity,
            "alone_ps": before,
            "together_ps": after,
            "slowdown": _ratio(after, before),
        }
        for quantity, (before, after) in pairs.items()
    ]


def _latencies(beside: str, job: int, name: str, run: Mapping[str, Any]) -> dict[str, Any]:
    kept = run["jobs"][job]
    figures = {key: value for key, value in kept.items() if key.startswith("message_latency")}
    messages = sum(count for _, _, count in kept["buckets"])
    run_time = kept["run_time_ps"]
    row = {"beside": beside, "job": job, "name": name, "messages": messages}
    # Simulations of before it was kept lack the load.
    load = {key: kept.get(key) for key in ("delivered_share", "saturated")}
    return {**row, "run_time_ps": run_time, "end_ps": run["end_ps"], **load, **figures}


def _waits(kept: Sequence[dict[str, Any]], victims: Sequence[int]) -> list[dict[str, Any]]:
    rows = [row for row in kept if row["job"] in victims]
    total: dict[int, int] = {}
    for row in rows:
        total[row["job"]] = total.get(row["job"], 0) + row["waited_ps"]
    found = [{**row, "share": _ratio(row["waited_ps"], total[row["job"]]) or 0.0} for row in rows]
    found.sort(key=lambda row: (-row["waited_ps"], row["link"], row["job"], row["by_job"]))
    return found


def lost(found: Interference, job: int) -> dict[str, float]:
    """Share of a job's waiting for links that was for each job, the largest first."""
    shares: dict[str, float] = {}
    for row in found.waits.to_pylist():
        if row["job"] == job:
            shares[row["by_name"]] = shares.get(row["by_name"], 0.0) + row["share"]
    return dict(sorted(shares.items(), key=lambda item: -item[1]))


def figures(found: Interference, links: int = 5) -> dict[str, Any]:
    """The outcome as JSON can hold it; what has no value is ``None``."""
    jobs = []
    for job in dict.fromkeys(found.slowdowns["job"].to_pylist()):
        rows = [row for row in found.slowdowns.to_pylist() if row["job"] == job]
        others = [
            row for row in found.waits.to_pylist() if row["job"] == job and row["by_job"] != job
        ]
        jobs.append(
            {
                "job": found.names[job],
                "slowdown": {row["quantity"]: row["slowdown"] for row in rows},
                "alone_ps": {row["quantity"]: row["alone_ps"] for row in rows},
                "together_ps": {row["quantity"]: row["together_ps"] for row in rows},
                "waited_for": lost(found, job),
                "links": [
                    {key: row[key] for key in ("link", "link_name", "by_name", "waited_ps")}
                    for row in others[:links]
                ],
            }
        )
    matrix = [
        {key: row[key] for key in ("name", "by_name", "slowdown", "run_time_slowdown")}
        for row in found.matrix.to_pylist()
    ]
    target = None if found.target is None else found.names[found.target]
    held: dict[str, list[dict[str, Any]]] = {}
    for row in found.held.to_pylist():
        held.setdefault(row.pop("name"), []).append(row)
    return {
        "target": target,
        "jobs": jobs,
        "matrix": matrix,
        "unfinished": unfinished(found),
        "saturated": saturated(found),
        "lengths": lengths(found),
        "held": [
            {"name": name, "pairs": len(rows), "longest": rows[0]} for name, rows in held.items()
        ],
    }


def lengths(found: Interference) -> list[dict[str, Any]]:
    """Simulated time of each job's run by itself and of that with all jobs, where it is known."""
    rows = [row for row in found.latencies.to_pylist() if row["end_ps"] is not None]
    together = [row["end_ps"] for row in rows if row["beside"] == TOGETHER][:1]
    alone = [
        {"run": f"{row['name']} alone", "end_ps": row["end_ps"]}
        for row in rows
        if row["beside"] == ALONE
    ]
    return [*alone, *({"run": "all together", "end_ps": end} for end in together)]


def saturated(found: Interference) -> dict[str, str]:
    """Jobs whose traffic piled up, each with a sentence on what that means for its figures."""
    rows = {(row["name"], row["beside"]): row for row in found.latencies.to_pylist()}
    sentences = {}
    for name in dict.fromkeys(row["name"] for row in found.latencies.to_pylist()):
        runs = {"alone": rows[name, ALONE], "with all others": rows[name, TOGETHER]}
        full = [where for where, row in runs.items() if row["saturated"]]
        if full:
            shares = [
                f"{display.percent(row['delivered_share'])} {where}" for where, row in runs.items()
            ]
            sentences[name] = (
                f"{name} is saturated {' and '.join(full)}: the network delivers "
                f"{' and '.join(shares)} of what it offers, so that its latencies grow with the "
                "length of the run, and their ratio says little."
            )
    return sentences


def unfinished(found: Interference) -> list[str]:
    """Sentences on jobs of which less arrived with all others than alone, and why that matters.

    Of these the latencies are those of messages that arrived before the end of the run.
    """
    rows = {(row["name"], row["beside"]): row for row in found.latencies.to_pylist()}
    sentences = []
    for name in dict.fromkeys(row["name"] for row in found.latencies.to_pylist()):
        alone, together = rows[name, ALONE], rows[name, TOGETHER]
        arrived, all_ = together["messages"], alone["messages"]
        ends = alone["run_time_ps"] is None or together["run_time_ps"] is not None
        if ends and arrived >= 0.98 * all_:
            continue
        text = f"{name}: {arrived:,} messages arrived with all others, {all_:,} alone"
        duration = found.scenario.simulation.duration
        if not ends and duration is not None:
            job = found.scenario.job[found.names.index(name)]
            least = (int(duration) - int(job.start)) / alone["run_time_ps"]
            text += f"; it was not finished when the run ended, and takes at least {least:.3g} "
            text += "times as long as alone"
        sentences.append(
            f"{text}. Its latencies and slowdowns are of what arrived: a longer "
            "simulation.duration tells more."
        )
    return sentences


def write(found: Interference, claim: Claim, notice: Callable[[str], object] = warn) -> None:
    """Writes the tables, ``interference.json``, the scenario and the pictures.

    Args:
        found: What was found.
        claim: Of the directory.
        notice: Called with what became of earlier files and of pictures. Default: a warning.
    """
    from odonata.plots.interference import draw_all

    with claim.updating(notice=notice) as partial:
        for name, table in found.tables.items():
            write_parquet(partial / f"{name}.parquet", with_units(table))
        write_json(partial / RESULT_FILE, figures(found))
        toml = found.scenario.to_toml(directory=claim.directory)
        write_file(partial / SCENARIO_FILE, toml)
    with claim.adding() as partial:
        draw_all(found, partial, notice)


def load(directory: Path) -> Interference:
    """What was found there.

    Raises:
        OutputError: If it cannot be read.
        ScenarioError: If its scenario has been changed into none.
    """
    report = read_keys(directory / RESULT_FILE, {"target": Maybe(str)}).get("target")
    scenario = Scenario.from_file(directory / SCENARIO_FILE)
    names = scenario.job_names()
    target = names.index(report) if report in names else None
    tables = {}
    for name, schema in TABLES.items():
        file = directory / f"{name}.parquet"
        if schema is HELD and not file.exists():
            # Analyses of before there was congestion control.
            tables[name] = HELD.empty_table()
            continue
        full = [
            field.name
            for field in schema
            if schema is HELD
            or pa.types.is_string(field.type)
            or field.name in ("job", "by_job", "link", *_SUMMED)
        ]
        later = _LATER if schema is LATENCIES else ()
        table = read_table(file, schema, full=full, later=later)
        for column in later:
            if column not in table.column_names:
                table = table.append_column(
                    schema.field(column), pa.nulls(len(table), schema.field(column).type)
                )
        tables[name] = table.select(schema.names)
        for column in ("job", "by_job"):
            if column in schema.names:
                check_below(file, tables[name], column, len(names), "jobs")
    held: dict[int, set[str]] = {}
    for row in tables["slowdowns"].to_pylist():
        held.setdefault(row["job"], set()).add(row["quantity"])
    for job, quantities in held.items():
        if lacking := {"mean", "p50", "p99", "run_time"} - quantities:
            file, what = directory / "slowdowns.parquet", f'no quantity "{min(lacking)}"'
            raise refusal(file, f'column "quantity" has {what} of job {job}')
    return Interference(scenario, names, target, **tables)
