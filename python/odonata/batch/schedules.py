"""Schedules: simulated ones, and the one that a log recorded."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from odonata.batch.engine import ask, to_json
from odonata.batch.joblog import JobLog, read_job_log
from odonata.batch.options import (
    INTERVAL,
    TAU,
    Multifactor,
    Outage,
    Window,
    span_text,
)
from odonata.columns import column_of, labelled, numbers
from odonata.errors import JobLogError
from odonata.output import Claim, warn, write_file, write_json, write_parquet
from odonata.plug_ins import find, is_known
from odonata.plug_ins.calls import OrderCall
from odonata.plug_ins.calls import priorities as priorities_of
from odonata.results.stored import Every, Maybe, OrNull, check_texts, read_keys, read_table, refusal
from odonata.results.tables import with_units
from odonata.table_schema import LABEL

if TYPE_CHECKING:
    from odonata.batch.network import Mix, Network
    from odonata.batch.plots import SchedulePlots
    from odonata.scenario import Scenario

#: Figures of the summary that studies keep, by name, with the keys that lead to them there.
FIGURES: Mapping[str, tuple[str, ...]] = {
    **{
        key: (key,)
        for key in (
            *("jobs", "refused", "killed", "backfilled", "broken_promises", "makespan_s"),
            *("utilisation", "utilisation_until_last_submit", "weighted_wait_s"),
            *("mean_queue", "max_queue", "fragmentation"),
        )
    },
    **{key: ("failures", key) for key in ("requeues", "node_fails", "lost_node_seconds")},
    **{
        f"{which}_{key}": (key, which)
        for key in ("wait_s", "slowdown", "bounded_slowdown")
        for which in ("mean", "median", "p90", "p99", "max")
    },
    "slowed_jobs": ("run_over_log", "slowed_jobs"),
    **{f"{which}_run_over_log": ("run_over_log", which) for which in ("mean", "p99", "max")},
}

#: The scenario of the schedules in a directory.
SCENARIO_FILE = "scenario.toml"

#: What became of a job, and how it came to start, by the engine's codes.
FATES = ("finished", "killed", "refused", "node-fail")
STARTED = ("in-order", "backfilled", "reservation")

#: Columns of the tables of schedules: times of jobs, texts, and those of jobs on a network only.
_TIMES = (
    *("submit_s", "start_s", "end_s", "wait_s", "run_s"),
    *("log_run_s", "requested_s", "promised_s", "recorded_wait_s"),
)
_TEXTS = ("id", "user", "reason", "traffic", "mode", "node_list", "group_nodes")
_LATER = (
    *("requeues", "lost_run_s", "held_s", "group_nodes"),
    *("mode", "communication_share", "traffic", "node_list"),
)
#: A column of the occupancy, where nodes can fail.
_OUT = "out_of_service_"
#: What the summary has only where nodes can fail.
_FAILURES = ("requeued", "requeues", "node_fails")


def _type(column: str) -> pa.DataType:
    """The type of a column of the tables of schedules."""
    if column in ("schedule", "fate", "started"):
        return LABEL
    if column in _TEXTS:
        return pa.string()
    counts = ("nodes", "processors", "groups", "requeues")
    is_whole = column in counts or column.endswith("_s")
    return pa.int64() if is_whole else pa.float64()


def _schemas(unit: str) -> dict[str, pa.Schema]:
    """The tables of schedules that count nodes or processors."""
    jobs = ("id", "user", unit, *_TIMES, "groups", "fate", "started", "reason", *_LATER)
    occupancy = ("time_s", f"busy_{unit}", "waiting_jobs", f"waiting_{unit}", _OUT + unit)
    return {
        table: pa.schema([(name, _type(name)) for name in ("schedule", *columns)])
        for table, columns in (("jobs", jobs), ("occupancy", occupancy))
    }


#: What maintenance or failures cost, whichever it is.
_COSTS = (
    *("delayed_jobs", "mean_delay_s", "max_delay_s", "advanced_jobs", "mean_advance_s"),
    *("prevented_jobs", "mean_wait_change_s", "makespan_change_s"),
)

_QUANTILES = dict.fromkeys(("mean", "median", "p90", "p99", "max"), OrNull(float))
_SUMMARY = {
    **dict.fromkeys(
        (
            *("machine", "jobs", "refused", "killed", "backfilled", "broken_promises"),
            *("makespan_s", "first_submit_s", "last_end_s", "max_queue", "mean_queue"),
            *("utilisation", "utilisation_until_last_submit"),
        ),
        float,
    ),
    **dict.fromkeys(("wait_s", "slowdown", "bounded_slowdown"), _QUANTILES),
    **dict.fromkeys(("weighted_wait_s", "fragmentation"), OrNull(float)),
    "network": Maybe({"circuits": Maybe(dict.fromkeys(("circuits_set", "reconfigurations"), int))}),
}


def _summary(unit: str) -> dict[str, Any]:
    """What the figures are of a schedule that counts nodes or processors."""
    one = unit.removesuffix("s")
    sizes = dict.fromkeys((f"{unit}_from", f"{unit}_to", "jobs", f"{one}_seconds"), float)
    waits = dict.fromkeys(("wait_s", "bounded_slowdown"), _QUANTILES)
    lost = (*_FAILURES, f"lost_{one}_seconds", f"out_{one}_seconds")
    failures = Maybe(dict.fromkeys(lost, float))
    taken = (f"out_{one}", f"lost_{one}")

    def cost(*hours: str) -> Any:
        keys = (*(f"{each}_hours" for each in hours), *_COSTS)
        return Maybe({"without": str, **dict.fromkeys(keys, float)})

    return {
        **_SUMMARY,
        "unit": str,
        "classes": [{**sizes, **waits}],
        "failures": failures,
        "run_over_log": Maybe(dict.fromkeys(("slowed_jobs", "mean", "p99", "max"), float)),
        "costs": Maybe({"maintenance": cost("withheld_node"), "failures": cost(*taken)}),
    }


#: What ``result.json`` says of schedules; `unit` is missing in those of before it was said.
_REPORT = {"version": str, "machine_nodes": int, "unit": Maybe(str), "log": Every(object)} | {
    "schedules": Every(Every(object))
}


def _run_over_log(jobs: pa.Table) -> dict[str, dict[str, float]]:
    """How much longer than in the log jobs ran on a network; nothing where no job tells."""
    run, log = (numbers(jobs, name) for name in ("run_s", "log_run_s"))
    # What has no value is negative. Jobs that limits cut short tell nothing of the network.
    killed = np.array([fate == "killed" for fate in jobs["fate"].to_pylist()], bool)
    known = (run >= 0) & (log > 0) & ~(killed & (run < log))
    if not known.any():
        return {}
    ratio = run[known] / log[known]
    return {
        "run_over_log": {
            "slowed_jobs": int((ratio > 1).sum()),
            "mean": float(ratio.mean()),
            "p99": float(np.percentile(ratio, 99)),
            "max": float(ratio.max()),
        }
    }


class Schedule:
    """When every job of a log started and ended.

    Attributes:
        name: What it is called in comparisons, such as ``easy``.
        machine_nodes: Nodes of the machine.
        unit: What is counted, in tables and figures: ``nodes``, or ``processors`` where jobs share
            nodes.
        options: How it was made: under ``schedule`` the table `[schedule]`, the rest in the
            engine's form.
        jobs: One row per job of the log (``docs/scheduling.md`` describes the columns).
        occupancy: Nodes in use and jobs waiting, a row per interval.
        summary: Its figures.
        cost: CPU seconds and passes of the scheduler; empty for a recorded schedule.
    """

    def __init__(
        self, name: str, machine_nodes: int, options: Mapping[str, Any], raw: Mapping[str, Any]
    ) -> None:
        self.name = name
        self.machine_nodes = machine_nodes
        self.options = dict(options)
        self.jobs = _jobs(raw["jobs"])
        self.occupancy = pa.table(
            {
                name: column_of(values, pa.int64() if name == "time_s" else pa.float64())
                for name, values in raw["occupancy"].items()
            }
        )
        self.summary: dict[str, Any] = raw["meta"]["summary"]
        if failures := self.summary.get("failures"):
            # The engine's sum of nothing is -0.0.
            self.summary["failures"] = {key: value + 0 for key, value in failures.items()}
        # The column is there with a network.
        if "communication_share" in self.jobs.column_names:
            self.summary.update(_run_over_log(self.jobs))
        self.unit: str = self.summary["unit"]
        self.cost: dict[str, Any] = raw["meta"].get("cost", {})

    def __repr__(self) -> str:
        return f"<Schedule {self.name} of {self.jobs.num_rows:,} jobs>"

    def figure(self, name: str) -> float | None:
        """One of :data:`FIGURES`; ``None`` where there is none, such as waits if no job ran."""
        value: Any = self.summary
        for key in FIGURES[name]:
            value = None if value is None else value.get(key)
        return None if value is None else float(value)

    def _repr_html_(self) -> str:
        from odonata import display
        from odonata.report.html.parts import facts

        one = self.summary
        waits = one["wait_s"]
        return facts(
            [
                ("schedule", self.name),
                ("jobs", f"{self.jobs.num_rows:,}"),
                ("machine", f"{one['machine']:,} {self.unit}"),
                ("utilisation", display.percent(one["utilisation"])),
                ("mean wait", display.duration(1e12 * waits["mean"])),
                ("median wait", display.duration(1e12 * waits["median"])),
            ]
        )

    @property
    def plot(self) -> SchedulePlots:
        """Pictures of it."""
        from odonata.batch.plots import SchedulePlots

        return SchedulePlots([self])


def schedule(
    log: JobLog | str | os.PathLike[str],
    *,
    nodes: int | None = None,
    policy: str = "easy",
    order: str | Multifactor = "fcfs",
    estimates: str | float = "requested",
    running_estimates: str | float | None = None,
    enforce_limits: bool = True,
    every: str | int | None = None,
    per_event: bool = False,
    eligible: bool = False,
    cut_larger: bool = False,
    share_processors: int | None = None,
    whole_nodes: bool = False,
    grap_groups: int | None = None,
    grap_modes: Sequence[Mix | str] | None = None,
    mode_seed: int = 1,
    network: Network | None = None,
    windows: Sequence[Window] = (),
    outages: Sequence[Outage] = (),
    tau: str | int = TAU,
    interval: str | int = INTERVAL,
    name: str | None = None,
    progress: Callable[[int, int], object] | bool | None = None,
    **keys: Any,
) -> Schedule:
    """Simulates when the jobs of a log start.

    Args:
        log: The log, or its file.
        nodes: Nodes of the machine; by default as the log says.
        policy: ``fcfs`` (nobody overtakes), ``easy``, ``conservative``,
            ``conservative-replanned``, or ``depth:N`` (reservations for the first N jobs).
        order: Order of the queue: ``fcfs``, ``sjf``, ``ljf``, ``smallest``, ``largest``,
            ``wfp``, ``multifactor``, the name of a plug-in, or a :class:`Multifactor`.
        estimates: Run times that the scheduler assumes: ``requested``, ``perfect``, or a multiple
            of the actual run time.
        running_estimates: Run times that the scheduler assumes for running jobs, if they differ.
        enforce_limits: Whether jobs are killed when their requested time is over.
        every: The scheduler works at multiples of this time, e.g. ``"30 s"``; by default
            whenever something happens.
        per_event: The scheduler works after every single event, also within one second.
        eligible: Jobs arrive when they become eligible, where the log records that time.
        cut_larger: Jobs larger than the machine are cut down to it, not refused.
        share_processors: Jobs share nodes that have this many processors; by default only the jobs
            of a log that counts processors share nodes, unless `whole_nodes`.
        whole_nodes: Sizes of a log that counts processors are rounded up to whole nodes.
        grap_groups: Place by GRAP (Feng et al. 2023) on this many groups of a reconfigurable
            dragonfly, of sizes as equal as possible; by default a job can use any free nodes.
        grap_modes: From which mix of ``minimal-balance``, ``adaptive``, ``custom-balance`` and
            ``custom`` the modes of large jobs are drawn, by size; a job in no mix is adaptive. By
            default those of Feng et al. 2023, :func:`~odonata.batch.network.feng2023_modes`.
        mode_seed: Seed for drawing the modes.
        network: What slows jobs down or makes them faster, such as
            :class:`~odonata.batch.SpeedUps`; by default they run as long as the log says.
        windows: Maintenance and reservations.
        outages: Nodes that fail. Those that are drawn are keys: ``failures={"mtbf": "30 d"}``.
        tau: Shortest run time in the bounded slowdown.
        interval: Time between the rows of :attr:`Schedule.occupancy`.
        name: Name of the schedule; by default formed from policy, order and GRAP.
        progress: Is called with the number of jobs that have ended and the number of all jobs.
            ``True`` shows a bar in the terminal or notebook.
        keys: Other keys of `[schedule]`, by their names in a scenario file.

    Raises:
        JobLogError: If the log cannot be read, or an option makes no sense.
        KeyboardInterrupt: If it was interrupted.
    """
    if not isinstance(log, JobLog):
        log = read_job_log(log)
    order_name = order if isinstance(order, str) else "multifactor"
    given = {
        "policy": policy,
        "order": order_name,
        "multifactor": order.as_written() if isinstance(order, Multifactor) else None,
        "estimates": estimates,
        "running_estimates": running_estimates,
        "limits": enforce_limits,
        "every": None if every is None else span_text(every),
        "per_event": per_event,
        "eligible": eligible,
        "larger": "cut" if cut_larger else "refuse",
        "tau": span_text(tau),
        "interval": span_text(interval),
        "grap": None if grap_groups is None else {"groups": grap_groups},
        **keys,
    }
    default = policy if order_name == "fcfs" else f"{policy}/{order_name}"
    default += "" if grap_groups is None else "+grap"
    return schedule_table(
        log,
        given,
        capacity_of(log, nodes, share_processors, whole_nodes),
        grap_modes=grap_modes,
        seed=mode_seed,
        network=network,
        windows=windows,
        outages=outages,
        name=name or default,
        progress=progress,
    )


def schedule_table(
    log: JobLog,
    table: Mapping[str, Any],
    capacity: Mapping[str, Any],
    *,
    grap_modes: Sequence[Mix | str] | None,
    seed: int,
    network: Network | None,
    windows: Sequence[Window],
    outages: Sequence[Outage],
    name: str,
    progress: Callable[[int, int], object] | bool | None,
) -> Schedule:
    """Simulates when the jobs of a log start, as a table `[schedule]` says.

    Args:
        log: The log.
        table: The table as people write it; what is None is not there.
        capacity: What the machine has: nodes, or processors of how many nodes.
        grap_modes: The modes of large jobs under GRAP.
        seed: The seed of what is drawn.
        network: The network that the jobs share.
        windows: Maintenance and reservations, in the log's time.
        outages: Nodes that fail, in the log's time.
        name: The name of the schedule.
        progress: As for :func:`schedule`.

    Raises:
        JobLogError: If a key has no such value.
        KeyboardInterrupt: If it was interrupted.
    """
    from odonata.progress import JobsBar, following

    given = {key: value for key, value in table.items() if value is not None}
    order, groups = given.get("order", "fcfs"), (given.get("grap") or {}).get("groups")
    priorities: list[float] | None = None
    if is_known("order", order):
        call = OrderCall(log.jobs, capacity["nodes"], np.random.default_rng(seed))
        priorities = priorities_of(find("order", order), call)
    spec: dict[str, Any] = {
        **capacity,
        "schedule": {"log": "", **given},
        "modes": _modes(capacity["nodes"], groups, grap_modes, seed, network),
        "network": None if network is None else network.for_engine(),
        "windows": [window.for_engine() for window in windows],
    }
    if outages or "failures" in given:
        spec |= {"outages": [outage.for_engine() for outage in outages], "seed": seed}
    for_engine = dict(spec)
    if priorities is not None:
        for_engine |= {"priorities": priorities, "schedule": {**spec["schedule"], "order": "fcfs"}}
        spec["order"] = {"kind": order, "source": find("order", order).source}
    with following(
        progress, lambda console: JobsBar(console, "Scheduling"), "Scheduling"
    ) as report:
        raw = ask(log.engine.schedule, to_json(for_engine), report)
    return Schedule(name, capacity["nodes"], spec, raw)


def _modes(
    nodes: int,
    grap_groups: int | None,
    grap_modes: Sequence[Mix | str] | None,
    seed: int,
    network: Network | None,
) -> dict[str, Any] | None:
    """Modes in the engine's form, if anything asks for them."""
    from odonata.batch.network import BY_MODE, feng2023_modes, mixes_for_engine

    by_mode = network is not None and network.mix == BY_MODE
    if grap_groups is None and not by_mode:
        if grap_modes is not None:
            raise JobLogError("grap modes: have a meaning with GRAP, or a mix by mode, only")
        return None
    groups = grap_groups
    if groups is None and network is not None:
        groups = network.groups()
    if groups is None:
        raise JobLogError(
            'mix: found "by-mode"; allowed: traffics, as nobody says how many groups the machine '
            "has (GRAP would, or a dragonfly's g)"
        )
    if not 1 <= groups <= nodes:
        raise JobLogError(
            f"grap.groups: found {groups}; allowed: 1 to {nodes}, the machine's nodes"
        )
    mixes = feng2023_modes(nodes, groups) if grap_modes is None else grap_modes
    return {"mix": mixes_for_engine(mixes), "seed": seed, "group": -(-nodes // groups)}


def recorded_schedule(
    log: JobLog,
    *,
    nodes: int | None = None,
    share_processors: int | None = None,
    whole_nodes: bool = False,
    tau: str | int = TAU,
    interval: str | int = INTERVAL,
) -> Schedule:
    """The schedule that a log recorded, with the same tables and figures as a simulated one.

    What it counts, nodes or processors, is what :func:`schedule` counts with the same arguments.

    Raises:
        JobLogError: If the log records no starts.
    """
    table = {"log": "", "tau": span_text(tau), "interval": span_text(interval)}
    spec = {**capacity_of(log, nodes, share_processors, whole_nodes), "schedule": table}
    raw = ask(log.engine.recorded, to_json(spec))
    return Schedule("recorded", spec["nodes"], {}, raw)


def save_schedules(
    schedules: Sequence[Schedule],
    directory: str | os.PathLike[str],
    *,
    source: Mapping[str, Any] | None = None,
    scenario: Scenario | None = None,
    plots: bool = False,
    claim: Claim | None = None,
    notice: Callable[[str], object] = warn,
) -> Path:
    """Writes schedules of one log: the tables, all or none, and then the pictures.

    Args:
        schedules: With different names; the first is what the others are compared with.
        directory: Must not exist yet, or be empty.
        source: What to keep of where they come from, such as the log's file and report.
        scenario: That made them; is saved so that it runs again from there.
        plots: Whether to draw the pictures too.
        claim: Of the directory, if it is claimed already.
        notice: Called with the picture that could not be drawn, and why. Default: a warning.

    Returns:
        The directory.

    Raises:
        OutputError: If the directory holds something already or cannot be written.
    """
    directory = Path(directory)
    held = Claim(directory) if claim is None else claim
    with held:
        with held.adding() as partial:
            _write(schedules, partial, source)
            if scenario is not None:
                text = scenario.to_toml(directory=directory)
                write_file(partial / SCENARIO_FILE, text)
        if plots:
            from odonata.batch.plots import SchedulePlots

            # Only now that the tables are safe.
            with held.adding() as partial:
                SchedulePlots(schedules).save_all(partial, notice=notice)
    return directory


@dataclass(frozen=True)
class Outcome:
    """What a directory tells of a schedule without its tables.

    Attributes:
        name: What it is called in comparisons.
        summary: Its figures.
        cost: CPU seconds and passes of the scheduler.
        unit: What its machine is counted in.
    """

    name: str
    summary: dict[str, Any]
    cost: dict[str, Any]
    unit: str


def load_outcomes(directory: Path) -> list[Outcome]:
    """What schedules in a directory that :func:`save_schedules` wrote came to.

    Raises:
        OutputError: If it cannot be read.
    """
    summaries, costs, report = _read(directory)
    unit = report["unit"]
    return [Outcome(name, summaries[name], costs[name], unit) for name in report["schedules"]]


def _read(directory: Path) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """What the JSON files of a directory say: summaries and costs by schedule, and the report."""
    report = read_keys(directory / "result.json", _REPORT)
    names = report["schedules"]
    if not names:
        raise refusal(directory / "result.json", 'key "schedules" names none')
    unit = report.setdefault("unit", "nodes")
    if unit not in ("nodes", "processors"):
        raise refusal(directory / "result.json", 'key "unit"; allowed: nodes, processors')
    summaries = read_keys(directory / "summary.json", dict.fromkeys(names, _summary(unit)))
    costs = read_keys(directory / "timing.json", dict.fromkeys(names, Every(float)))
    for name, cost in costs.items():
        # A recorded schedule has none.
        if cost and "cpu_seconds" not in cost:
            raise refusal(directory / "timing.json", f'key "{name}.cpu_seconds"; allowed: this key')
    return summaries, costs, report


def load_schedules(directory: str | os.PathLike[str]) -> tuple[list[Schedule], dict[str, Any]]:
    """Schedules of a directory that :func:`save_schedules` wrote, with their tables.

    Args:
        directory: Which.

    Returns:
        The schedules, and what ``result.json`` says: version, log, machine, options.

    Raises:
        OutputError: If it cannot be read.
    """
    directory = Path(directory)
    summaries, costs, report = _read(directory)
    unit = report["unit"]
    tables = {}
    for table, schema in _schemas(unit).items():
        file = directory / f"{table}.parquet"
        later = (*_LATER, _OUT + unit)
        empty = (*_TIMES[1:], *_TEXTS[1:], *later, "groups", "started")
        full = [name for name in schema.names if name not in empty]
        tables[table] = read_table(file, schema, full=full, later=later, measured=False)
        check_texts(file, tables[table], "schedule", list(report["schedules"]))
    found = []
    for name, options in report["schedules"].items():
        one = Schedule.__new__(Schedule)
        one.name, one.options = name, dict(options)
        one.machine_nodes = report["machine_nodes"]
        one.unit = report["unit"]
        one.summary, one.cost = summaries[name], costs[name]
        one.jobs, one.occupancy = (
            table.filter(pc.equal(table["schedule"].cast(pa.string()), name)).drop_columns(
                ["schedule"]
            )
            for table in (tables["jobs"], tables["occupancy"])
        )
        found.append(one)
    return found, report


def _write(schedules: Sequence[Schedule], partial: Path, source: Mapping[str, Any] | None) -> None:
    """Writes the tables."""
    from odonata import _engine

    for table in ("jobs", "occupancy"):
        parts = [_named(getattr(one, table), one.name, schedules) for one in schedules]
        write_parquet(
            partial / f"{table}.parquet",
            with_units(pa.concat_tables(parts, promote_options="permissive").unify_dictionaries()),
            compression="zstd",
            compression_level=3,
            version="2.6",
            data_page_version="2.0",
            row_group_size=1 << 20,
        )
    write_json(partial / "summary.json", {one.name: one.summary for one in schedules})
    content = {
        "version": _engine.VERSION,
        "machine_nodes": schedules[0].machine_nodes,
        "unit": schedules[0].unit,
        "log": dict(source or {}),
        "schedules": {one.name: one.options for one in schedules},
    }
    write_json(partial / "result.json", content)
    write_json(partial / "timing.json", {one.name: one.cost for one in schedules})


def _named(table: pa.Table, name: str, schedules: Sequence[Schedule]) -> pa.Table:
    """A table with the schedule's name as its first column."""
    names = [one.name for one in schedules]
    column = labelled(np.full(table.num_rows, names.index(name)), names, pa.int8())
    return table.add_column(0, "schedule", column)


def capacity_of(
    log: JobLog, nodes: int | None, share: int | None, whole_nodes: bool
) -> dict[str, Any]:
    """What the machine has, and what is counted: nodes or processors."""
    meta = log.meta
    by_processors = meta["unit"] == "processors"
    each, known = meta["processors_per_node"], meta["machine_nodes"]
    if whole_nodes and share is not None:
        raise JobLogError("whole_nodes: nodes that are shared are not whole; choose one")
    found = known if nodes is None else nodes
    processors = None
    if by_processors and share is None and not whole_nodes:
        same = nodes is None or nodes == known
        processors = meta["machine_processors"] if same else None
        if processors is None and each is None:
            raise JobLogError(
                "processors_per_node: the log counts processors and does not say how many the "
                "machine has, nor a node; name them, or say that it counts nodes (unit)"
            )
        share = each or 1
        # Nobody knows how many nodes they are in, which matters to whole nodes only.
        found = processors if found is None else found
    elif (
        whole_nodes
        and by_processors
        and each is None
        and None in (meta["machine_processors"], known)
    ):
        raise JobLogError(
            "processors_per_node: the log counts processors and does not say how many a node "
            "has; name them, or say that it counts nodes (unit)"
        )
    if found is None:
        raise JobLogError("nodes: the log does not say how many nodes the machine has; name them")
    return {"nodes": found, "share_processors": share, "processors": processors}


def _jobs(columns: Mapping[str, Any]) -> pa.Table:
    arrays: dict[str, pa.Array] = {}
    for name, values in columns.items():
        kind = _type(name)
        if kind == LABEL:
            arrays[name] = labelled(values, FATES if name == "fate" else STARTED, pa.int8())
        elif kind == pa.string():
            arrays[name] = column_of([text or None for text in values], kind)
        elif kind == pa.float64() or name in ("nodes", "processors", "submit_s"):
            arrays[name] = column_of(values, kind)
        else:
            arrays[name] = column_of(values, kind, values < 0)
    return pa.table(arrays)
