"""Results beside each other: what changed from one to the next, and how surely."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from odonata import display
from odonata.batch.schedules import FIGURES, load_schedules
from odonata.columns import table_of
from odonata.errors import OutputError
from odonata.output import Claim, picture, warn, write_csv, write_json, write_parquet
from odonata.results import RESULT_FILE, SCENARIO_FILE, Result
from odonata.results.kinds import kind_of
from odonata.results.stored import Every, Maybe, read_keys, read_table, refusal
from odonata.results.summary import aborted_jobs, cut_off_jobs, saturated_jobs
from odonata.scenario import Scenario
from odonata.study.cells import Cell, Estimated
from odonata.study.intervals import interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What `Comparison.save` leaves, without its picture.
TABLE_FILE = "comparison.parquet"
CONTENT_FILE = "comparison.json"

#: Figures that are compared, by where they are in the summary.
QUANTITIES: Mapping[str, Sequence[str]] = {
    "job": (
        *("run_time_ps", "message_latency_mean_ps", "message_latency_median_ps"),
        *("message_latency_p99_ps", "accepted_bytes_per_s", "algorithm_bytes_per_s"),
        *("bus_bytes_per_s", "mean_routers_visited"),
    ),
    "link_class": ("utilisation_mean", "utilisation_max", "stall_mean"),
    "interference": ("mean_slowdown", "median_slowdown", "p99_slowdown", "run_time_slowdown"),
    "saturation": ("saturation_load", "highest_delivered_load", "lowest_load_latency_ps"),
    "schedule": (
        *("mean_wait_s", "median_wait_s", "p90_wait_s", "max_wait_s"),
        *("mean_bounded_slowdown", "median_bounded_slowdown", "utilisation", "makespan_s"),
        *("mean_queue", "max_queue", "fragmentation", "refused", "killed", "backfilled"),
        *("slowed_jobs", "mean_run_over_log", "p99_run_over_log", "max_run_over_log"),
        *("requeues", "node_fails", "lost_node_hours", "out_node_hours"),
        *("lost_processor_hours", "out_processor_hours"),
    ),
}
#: Figures that schedules have only where nodes fail.
_FAILURES = QUANTITIES["schedule"][-6:]
#: Where the summary holds the rows of a scope, and the key of their names.
_ROWS = {
    "job": ("jobs", "name"),
    "link_class": ("link_classes", "class"),
    "schedule": ("schedules", "name"),
    "saturation": ("saturations", "name"),
    "interference": ("slowdowns", "name"),
}

SCHEMA = pa.schema(
    {
        **dict.fromkeys(("scope", "name", "quantity", "result"), pa.string()),
        "runs": pa.int32(),
        **dict.fromkeys(("value", "value_ci95"), pa.float64()),
        **dict.fromkeys(("change", "change_low", "change_high"), pa.float64()),
        "differs": pa.bool_(),
    }
)

#: What is in `CONTENT_FILE`.
_CONTENT = {
    "results": Every(str),
    "settings": Every([str]),
    "left_out": [str],
    "notices": Maybe([str]),
}


@dataclass(frozen=True)
class Compared:
    """One of the results.

    Attributes:
        label: Tells it from the others.
        directory: Where it lies.
        summaries: Of its runs by seed; several if it is one of replications.
        scenario: Of the first run, as nested dicts and lists.
    """

    label: str
    directory: Path
    summaries: Mapping[int, Mapping[str, Any]]
    scenario: Mapping[str, Any]

    def rows(self, scope: str) -> list[str]:
        """Names of the jobs or link classes that all of its runs have."""
        rows, key = _ROWS[scope]
        first, *others = (
            [row[key] for row in summary.get(rows, ())] for summary in self.summaries.values()
        )
        return [name for name in first if all(name in other for other in others)]

    def cell(self, scope: str, name: str, quantity: str) -> Cell | None:
        """A figure of each of its runs, or ``None`` if one of them has none."""
        found = {seed: _figure(s, scope, name, quantity) for seed, s in self.summaries.items()}
        values = {seed: float(v) for seed, v in found.items() if v is not None and math.isfinite(v)}
        return Cell({}, values) if len(values) == len(found) else None

    def half_width(self, scope: str, name: str, quantity: str) -> float:
        """Half the width of a figure's 95 % interval; NaN if there is none.

        Of replications it is Student's; of a single run that of its batches, where it has them.
        """
        cell = self.cell(scope, name, quantity)
        if cell is None:
            return math.nan
        if len(cell.values) > 1:
            return interval(list(cell.values.values())).half_width
        (summary,) = self.summaries.values()
        batches = _figure(summary, scope, name, f"{quantity}_ci95")
        return math.nan if batches is None else float(batches)


def _figure(summary: Mapping[str, Any], scope: str, name: str, quantity: str) -> float | None:
    rows, key = _ROWS[scope]
    row = next(row for row in summary[rows] if row[key] == name)
    value: float | None = row.get(quantity)
    return value


@dataclass(frozen=True)
class Comparison:
    """Results side by side; the others are compared with the first.

    Attributes:
        results: The results that are compared.
        table: One row per figure and result; see ``docs/looking-at-results.md#compare``.
        settings: Keys of the scenarios that differ, with the value of each result.
        left_out: Jobs and link classes that not all results have.
    """

    results: Sequence[Compared]
    table: pa.Table
    settings: Mapping[str, Sequence[str]]
    left_out: Sequence[str]

    @property
    def content(self) -> dict[str, Any]:
        """All but the table, as it is saved."""
        return {
            "results": {one.label: os.fspath(one.directory) for one in self.results},
            "settings": {key: list(values) for key, values in self.settings.items()},
            "left_out": list(self.left_out),
            "notices": self.notices,
        }

    @property
    def notices(self) -> list[str]:
        """What a person should know about what is compared, sentences."""
        first = {one.label: next(iter(one.summaries.values())) for one in self.results}
        differ = display.different_links(
            {label: summary.get("link_classes", ()) for label, summary in first.items()}
        )
        kinds: dict[str, Callable[[Mapping[str, Any]], Sequence[str]]] = {
            "was aborted; its figures are of the time before": aborted_jobs,
            "was not finished when the run ended; its latencies are of what arrived": cut_off_jobs,
            "piles up, as the network is saturated; its latencies are of what arrived, and grow "
            "with the run": saturated_jobs,
        }
        ended = [
            f"{one.label}: {name} {what}."
            for one in self.results
            for what, jobs_of in kinds.items()
            for name in dict.fromkeys(n for s in one.summaries.values() for n in jobs_of(s))
        ]
        never = [
            f"{one.label} is not saturated by any load that was offered: its saturation load is "
            "not compared."
            for one in self.results
            for summary in one.summaries.values()
            for row in summary.get("saturations", ())
            if row["saturation_load"] is None
        ]
        ended += [
            f"{one.label}: {sentence}"
            for one in self.results
            for summary in one.summaries.values()
            for sentence in summary.get("told", ())
        ]
        return [
            *([] if differ is None else [differ]),
            *ended,
            *self._lengths(),
            *dict.fromkeys(never),
        ]

    def _lengths(self) -> list[str]:
        """That results were measured for different times, if latencies grow with that time."""
        times = {
            one.label: float(np.mean([s["run"]["measured_ps"] for s in one.summaries.values()]))
            for one in self.results
            if all("run" in summary for summary in one.summaries.values())
        }
        grow = dict.fromkeys(
            name
            for one in self.results
            for summary in one.summaries.values()
            for name in saturated_jobs(summary)
        )
        if not grow or max(times.values()) <= 1.05 * min(times.values()):
            return []
        each = ", ".join(f"{label} {display.duration(time)}" for label, time in times.items())
        jobs = " and ".join(grow)
        return [
            f"Measured for different times: {each}. Latencies of {jobs} grow with that time, so "
            "that their change is no effect of the settings alone."
        ]

    def _repr_html_(self) -> str:
        shown: str = self.table.to_pandas()._repr_html_()
        return shown

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Changes with their intervals, and the latencies of every job in every result.

        Args:
            path: Where to write the picture: PNG, PDF or SVG, by how the name ends.
        """
        from odonata.plots import drawn
        from odonata.plots.comparison import draw_comparison, size_of

        return drawn(path, size_of(self), lambda figure: draw_comparison(figure, self))

    def save(
        self,
        directory: str | os.PathLike[str],
        *,
        claim: Claim | None = None,
        notice: Callable[[str], object] = warn,
    ) -> Path:
        """Writes the tables, all or none, and then the picture.

        Args:
            directory: Must not exist yet, or be empty.
            claim: Of the directory, if it is claimed already.
            notice: Called with the reason if the picture could not be drawn. Default: a warning.

        Raises:
            OutputError: If it holds something already or cannot be written.
        """
        directory = Path(directory)
        with claim or Claim(directory) as held:
            with held.adding() as partial:
                write_parquet(partial / TABLE_FILE, self.table, compression="zstd")
                write_csv(partial / "comparison.csv", self.table)
                write_json(partial / CONTENT_FILE, self.content)
            with held.adding() as partial, picture(Path("comparison.png"), notice):
                self.plot(partial / "comparison.png")
        return directory


def load(directory: Path) -> tuple[dict[str, Any], pa.Table]:
    """What was saved there: `Comparison.content` and the table.

    Raises:
        OutputError: If it cannot be read.
    """
    content = read_keys(directory / CONTENT_FILE, _CONTENT)
    file = directory / TABLE_FILE
    table = read_table(file, SCHEMA, full=SCHEMA.names[:6])
    unknown = [label for label in table["result"].to_pylist() if label not in content["results"]]
    if unknown:
        raise refusal(file, f'column "result" has "{unknown[0]:.40}", which {CONTENT_FILE} lacks')
    return content, table


def compare(*directories: str | os.PathLike[str]) -> Comparison:
    """Compares results with the first of them.

    Args:
        *directories: Results of ``odonata run``, or of ``odonata run --replications``, or schedules
            of job logs, searches for saturation, or analyses of interference. The others are
            compared with the first.

    Raises:
        OutputError: If one of them holds no result.
        ValueError: If there are fewer than two results, or they have no job and no link class in
            common.
    """
    paths = [Path(directory) for directory in directories]
    labelled = zip(paths, _labels(paths), strict=True) if paths else ()
    results = [one for path, label in labelled for one in _read(path, label)]
    if len(results) < 2:
        raise ValueError(f"found {len(results)} results; allowed: at least two, to compare them")
    rows: list[dict[str, Any]] = []
    left_out: list[str] = []
    for scope, quantities in QUANTITIES.items():
        names = list(dict.fromkeys(name for one in results for name in one.rows(scope)))
        for name in names:
            if not all(name in one.rows(scope) for one in results):
                left_out.append(f"{scope.replace('_', ' ')} {name}")
                continue
            for quantity in quantities:
                rows += _compared(results, scope, name, quantity)
    if not rows:
        raise ValueError(
            "found results without a job or link class of the same name in each; allowed: runs "
            "that have one, or schedules of job logs only"
        )
    table = table_of(rows, SCHEMA)
    return Comparison(results, table, _settings(results), left_out)


def _read(directory: Path, label: str) -> list[Compared]:
    """Reads the summaries of one run, of replications, or of each schedule of a job log.

    Raises:
        OutputError: If there are none.
    """
    kind = kind_of(directory)
    if kind == "schedule":
        return _read_schedules(directory, label)
    if kind == "saturation":
        return [_read_saturation(directory, label)]
    if kind == "interference":
        return [_read_interference(directory, label)]
    runs = [directory]
    if kind == "replications":
        runs = sorted(one.parent for one in directory.glob(f"seed-*/{RESULT_FILE}"))
    if kind not in ("run", "replications") or not runs:
        raise OutputError(
            f"{directory}: found results of {kind}; allowed: the result of a run, those of "
            "replications, of searches for saturation, analyses of interference, or schedules of a "
            "job log"
        )
    summaries = {}
    for run in runs:
        summary = Result.load(run).summary_dict
        summaries[int(summary["run"]["seed"])] = summary
    file = runs[0] / SCENARIO_FILE
    scenario = Scenario.from_file(file).to_dict() if file.exists() else {}
    return [Compared(label, directory, summaries, scenario)]


def _read_saturation(directory: Path, label: str) -> Compared:
    """Reads what one or several seeds of a search for saturation gave."""
    from odonata.study.saturation import load

    found = load(directory)
    file = directory / SCENARIO_FILE
    scenario = Scenario.from_file(file) if file.exists() else None
    lowest = found.points[0]
    seed = 0 if scenario is None else scenario.seed
    by_seed = found.by_seed or {seed: (found.load, found.throughput, lowest.latency_ps)}
    summaries: dict[int, dict[str, Any]] = {}
    for seed, (where, throughput, latency) in by_seed.items():
        row: dict[str, Any] = {
            "name": "saturation",
            "saturation_load": _known(where),
            "highest_delivered_load": throughput,
            "lowest_load_latency_ps": _known(latency),
        }
        if len(by_seed) == 1:
            row["lowest_load_latency_ps_ci95"] = _known(lowest.latency_ci95_ps)
        if not summaries:
            # Of the first seed alone all loads are kept.
            row["curve"] = found.points
        summaries[seed] = {"saturations": [row]}
    if not math.isnan(found.uncertainty):
        # Another seed can move the load by more than the bracket, which is no interval of a mean.
        summaries[next(iter(by_seed))]["told"] = [
            f"each search ends in a bracket of ± {found.uncertainty:.2g}, which its interval over "
            "seeds leaves out."
            if len(by_seed) > 1
            else f"the saturation load is that of one seed, in a bracket of "
            f"± {found.uncertainty:.2g}; `saturation --seeds N` gives a confidence interval."
        ]
    return Compared(label, directory, summaries, {} if scenario is None else scenario.to_dict())


def _read_interference(directory: Path, label: str) -> Compared:
    """Reads the slowdowns of jobs by all others."""
    from odonata.study.interference import load, saturated

    found = load(directory)
    columns = {"mean": "mean", "p50": "median", "p99": "p99", "run_time": "run_time"}
    jobs: dict[str, dict[str, Any]] = {}
    for row in found.slowdowns.to_pylist():
        if row["quantity"] in columns:
            of_job = jobs.setdefault(row["name"], {"name": row["name"]})
            of_job[f"{columns[row['quantity']]}_slowdown"] = row["slowdown"]
    told = {"slowdowns": list(jobs.values()), "told": list(saturated(found).values())}
    return Compared(label, directory, {found.scenario.seed: told}, found.scenario.to_dict())


def _read_schedules(directory: Path, label: str) -> list[Compared]:
    """Reads the summaries of the schedules of a job log."""
    schedules, answer = load_schedules(directory)
    file = directory / SCENARIO_FILE
    scenario = Scenario.from_file(file) if file.exists() else None
    tables = scenario.schedule.variants if scenario is not None and scenario.schedule else {}
    found = []
    for one in schedules:
        summary = {"name": "all jobs", **{name: one.figure(name) for name in FIGURES}}
        for key, value in (one.summary.get("failures") or {}).items():
            is_time = key.endswith("_seconds")
            summary[key.replace("_seconds", "_hours")] = value / 3600 if is_time else value
        table = tables.get(one.name)
        dumped = {} if table is None else table.as_written()
        whole = {} if scenario is None else scenario.to_dict()
        log = answer["log"].get("file", display.NO_VALUE)
        whole["schedule"] = {**(dumped or one.options), "policy": one.name, "log": log}
        name = f"{label}: {one.name}"
        found.append(Compared(name, directory, {0: {"schedules": [summary]}}, whole))
    return found


def _labels(paths: Sequence[Path]) -> list[str]:
    """Names of the directories, with those above them as far as they are needed."""
    parts = [path.resolve().parts for path in paths]
    for depth in range(1, max(map(len, parts)) + 1):
        labels = [os.path.join(*one[-depth:]) for one in parts]  # noqa: PTH118
        if len(set(labels)) == len(labels):
            return labels
    # The same directory more than once.
    return [f"{one[-1]} ({number})" for number, one in enumerate(parts, 1)]


def _compared(
    results: Sequence[Compared], scope: str, name: str, quantity: str
) -> list[dict[str, Any]]:
    """Rows of the table, or none if a result has no such figure."""
    cells = [one.cell(scope, name, quantity) for one in results]
    if quantity in _FAILURES and any(cell is not None for cell in cells):
        # Where no node can fail, none was lost.
        cells = [Cell({}, {0: 0.0}) if cell is None else cell for cell in cells]
    rows = []
    for one, cell in zip(results, cells, strict=True):
        base = cells[0]
        if cell is None or base is None:
            return []
        row: dict[str, Any] = {
            "scope": scope,
            "name": name,
            "quantity": quantity,
            "result": one.label,
            "runs": len(cell.values),
            "value": cell.figure("mean"),
            "value_ci95": _known(one.half_width(scope, name, quantity)),
        }
        if one is not results[0]:
            widths = [two.half_width(scope, name, quantity) for two in (one, results[0])]
            change = change_of(cell, base, *widths)
            row |= {
                "change": _known(change.value),
                "change_low": _known(change.low),
                "change_high": _known(change.high),
            }
            if not math.isnan(change.low):
                row["differs"] = not change.low <= 0 <= change.high
        rows.append(row)
    return rows


def change_of(cell: Cell, base: Cell, half_width: float, base_half_width: float) -> Estimated:
    """How much larger a mean is than another, as a share of that.

    Runs with the same seed are pairs, where there are at least two: they share what is drawn at
    random. Otherwise both are taken for independent, and the interval of their ratio follows from
    theirs (Taylor series, first order).

    Args:
        cell: Values by seed.
        base: The same of what it is compared with.
        half_width: Half the width of the 95 % interval of the first mean; NaN if there is none.
        base_half_width: Of the second.
    """
    if len(set(cell.values) & set(base.values)) >= 2:
        return cell.difference(base, "mean")
    one, two = cell.figure("mean"), base.figure("mean")
    if not two:
        return Estimated(math.nan)
    change = one / two - 1
    width = math.hypot(half_width / two, one * base_half_width / two**2)
    return Estimated(change, change - width, change + width)


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _settings(results: Sequence[Compared]) -> dict[str, list[str]]:
    """Keys of the scenarios whose values differ, but for the seed."""
    flat = [dict(_flattened(one.scenario)) for one in results]
    keys = dict.fromkeys(key for one in flat for key in one)
    found = {}
    for key in keys:
        values = [one.get(key, "–") for one in flat]
        if key not in ("seed", "title") and len(set(values)) > 1:
            found[key] = values
    return found | _ways(results)


def _ways(results: Sequence[Compared]) -> dict[str, list[str]]:
    """How NCCL carries out the collective of a job, where results differ."""
    ways: list[dict[str, str]] = []
    for one in results:
        summary = next(iter(one.summaries.values()))
        ways.append(
            {
                f"collective of {call['job']}": ", ".join(
                    str(call[key]) for key in ("algorithm", "protocol") if call[key] is not None
                )
                for call in summary.get("collectives", ())
            }
        )
    found = {}
    for key in dict.fromkeys(key for one in ways for key in one):
        values = [one.get(key, "–") for one in ways]
        if len(set(values)) > 1:
            found[key] = values
    return found


def _flattened(value: Any, path: str = "") -> list[tuple[str, str]]:
    if isinstance(value, Mapping):
        parts = [(f"{path}.{key}" if path else str(key), below) for key, below in value.items()]
    elif isinstance(value, list) and any(isinstance(one, (Mapping, list)) for one in value):
        parts = [(f"{path}[{place}]", below) for place, below in enumerate(value)]
    else:
        return [(path, str(value))]
    return [pair for key, below in parts for pair in _flattened(below, key)]
