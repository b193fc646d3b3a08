"""The load up to which a network delivers what it is offered."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from odonata import display
from odonata.columns import table_of
from odonata.errors import Problem
from odonata.output import Claim, picture, warn, write_csv, write_file, write_json, write_parquet
from odonata.plots.style import JOB_COLOURS, MUTED, new_figure, save, style
from odonata.results import SCENARIO_FILE, Result
from odonata.results.stored import Maybe, OrNull, read_keys, read_table, refusal
from odonata.results.summary import SHORTFALL, piles_up
from odonata.results.tables import with_units
from odonata.scenario import Scenario
from odonata.study.execution import STORE_FILE, Point, Record, Store, run_points
from odonata.study.intervals import Mean, interval
from odonata.units import GlobalLoad

#: The outcome in its directory.
RESULT_FILE = "saturation.json"
#: Loads of the first look, as shares of the highest one.
FIRST_LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True)
class LoadPoint:
    """What was found at one offered load.

    Attributes:
        load: Offered load asked for, as a fraction of a node's terminal bandwidth.
        offered_bytes_per_s: Created after warm-up by all jobs with traffic.
        accepted_bytes_per_s: Delivered after warm-up.
        accepted_ci95: Half the width of its 95 % confidence interval.
        latency_ps: Mean message latency of the first job with traffic.
        latency_ci95_ps: Half the width of its 95 % confidence interval.
        latency_p99_ps: 99th percentile.
    """

    load: float
    offered_bytes_per_s: float
    accepted_bytes_per_s: float
    accepted_ci95: float
    latency_ps: float
    latency_ci95_ps: float
    latency_p99_ps: float

    @property
    def saturated(self) -> bool:
        """Whether the backlog grows."""
        return piles_up(self.offered_bytes_per_s, self.accepted_bytes_per_s, self.accepted_ci95)


#: The columns of ``saturation.parquet``; all but the last are numbers of a :class:`LoadPoint`.
_SCHEMA = pa.schema(
    [*((one.name, pa.float64()) for one in fields(LoadPoint)), ("saturated", pa.bool_())]
)


@dataclass(frozen=True)
class Saturation:
    """Where a network saturates.

    Attributes:
        load: Offered load at which the network saturates; NaN if it delivered every load that it
            was offered.
        uncertainty: Half the width of the bracket around that load, in which the search ended; it
            says nothing of what another seed would give.
        throughput: Highest accepted load, in the unit of ``load``.
        points: All loads that were simulated, ascending.
        by_seed: Load, throughput and mean latency at the lowest load of searches with several
            seeds, the first of which is this one; nothing without.
    """

    load: float
    uncertainty: float
    throughput: float
    points: Sequence[LoadPoint]
    by_seed: Mapping[int, tuple[float, float, float]] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Where it saturates, in one line; the loads are in ``points``."""
        return f"<{answer(self).capitalize()}; {len(self.points)} loads>"

    def __str__(self) -> str:
        """The load-latency curve, and where it ends."""
        lines = [f"{'load':>8}  {'delivered':>9}  {'mean latency':>12}  {'p99':>10}"]
        for point in self.points:
            cells = (
                f"{point.load:>8.4g}",
                f"{display.percent(point.accepted_bytes_per_s / point.offered_bytes_per_s):>9}",
                f"{display.duration(point.latency_ps):>12}",
                f"{display.duration(point.latency_p99_ps):>10}",
                "saturated" if point.saturated else "",
            )
            lines.append("  ".join(cells).rstrip())
        return "\n".join([*lines, f"{answer(self).capitalize()}."])

    @property
    def mean_throughput(self) -> float:
        """Highest accepted load, the mean over seeds where there are several."""
        found = [throughput for _, throughput, _ in self.by_seed.values()]
        return math.fsum(found) / len(found) if found else self.throughput

    @property
    def over_seeds(self) -> Mean | None:
        """Mean of the load over seeds with its 95 % interval (Student's); None without seeds."""
        loads = [load for load, *_ in self.by_seed.values()]
        return interval(loads) if len(loads) > 1 and not any(map(math.isnan, loads)) else None


def at_load(scenario: Scenario, load: float) -> Scenario:
    """The scenario with this load on every job with traffic; of a ``rate``, this share of it.

    Raises:
        ScenarioError: If a job's traffic is given as neither, there is none, or the run would not
            end by itself.
    """
    changes: dict[str, Any] = {}
    for position, job in enumerate(scenario.job):
        if job.traffic is None:
            continue
        path = f"job.{position}.traffic"
        if job.traffic.rate is not None:
            # Where terminal links differ, a load has no single meaning.
            changes[f"{path}.rate"] = f"{round(float(job.traffic.rate) * load)} B/s"
        elif job.traffic.load is None or isinstance(job.traffic.load, GlobalLoad):
            message = (
                "found an interval or a TGLL; allowed: `load` as a fraction, which the search "
                "changes, or `rate`, of which it tries shares"
            )
            raise scenario.error([Problem(f"job[{position}].traffic", message)])
        else:
            changes[f"{path}.load"] = load
    if not changes:
        message = "found no job with traffic; allowed: at least one, with a `load` or a `rate`"
        raise scenario.error([Problem("job", message)])
    return scenario.with_set(changes)


def keep(result: Result) -> Record:
    """The figures of a :class:`LoadPoint`, but for the load."""
    jobs = [job for job in result.summary_dict["jobs"] if job["message_latency_mean_ps_batches"]]
    first = jobs[0] if jobs else result.summary_dict["jobs"][0]
    half_widths = [job["accepted_bytes_per_s_ci95"] or 0.0 for job in jobs]
    return {
        "offered_bytes_per_s": math.fsum(job["offered_bytes_per_s"] or 0.0 for job in jobs),
        "accepted_bytes_per_s": math.fsum(job["accepted_bytes_per_s"] or 0.0 for job in jobs),
        "accepted_ci95": math.sqrt(math.fsum(half**2 for half in half_widths)),
        "latency_ps": _number(first["message_latency_mean_ps"]),
        "latency_ci95_ps": _number(first["message_latency_mean_ps_ci95"]),
        "latency_p99_ps": _number(first["message_latency_p99_ps"]),
    }


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def find_saturation(
    scenario: Scenario,
    directory: Path,
    *,
    highest: float = 1.0,
    tolerance: float = 0.01,
    seeds: int = 1,
    jobs: int = 1,
    progress: Callable[[float, int], object] | None = None,
    notice: Callable[[str], object] = warn,
) -> Saturation:
    """Finds the load from which on a network falls behind what it is offered.

    First ten loads up to the highest are simulated, then the bracket between the highest load that
    was delivered below the lowest that was not is cut, `jobs` + 1 parts at a time, until it is
    narrow enough.

    Args:
        scenario: With at least one job with a `load`, and a duration.
        directory: For the results; if it holds those of an earlier search of the same scenario,
            loads that are done are not simulated again.
        highest: Load to begin with.
        tolerance: Width of the last bracket, as a share of the load.
        seeds: How many searches, with successive seeds; the curve is that of the first.
        jobs: Simulations at a time.
        progress: As of ``run_points``, for each round.
        notice: Called with the reason if what is there already is simulated again. Default: a
            warning.

    Raises:
        ScenarioError: If the scenario has no load to change, or cannot be run.
        OutputError: If the directory cannot be written.
    """
    searched: dict[int, Saturation] = {}
    with Store(directory / STORE_FILE) as store:
        for seed in range(scenario.seed, scenario.seed + seeds):
            one = scenario if seed == scenario.seed else scenario.with_seed(seed)
            of_seed = "" if seed == scenario.seed else f"seed {seed}: "
            searched[seed] = _search(
                one, store, of_seed, highest, tolerance, jobs, progress, notice
            )
    if seeds == 1:
        return searched[scenario.seed]
    by_seed = {
        seed: (one.load, one.throughput, one.points[0].latency_ps) for seed, one in searched.items()
    }
    return replace(searched[scenario.seed], by_seed=by_seed)


def _search(
    scenario: Scenario,
    store: Store,
    of_seed: str,
    highest: float,
    tolerance: float,
    jobs: int,
    progress: Callable[[float, int], object] | None,
    notice: Callable[[str], object],
) -> Saturation:
    """One search; names of its points begin with `of_seed`."""
    found: dict[float, LoadPoint] = {}

    def look(loads: Sequence[float]) -> None:
        points = [
            Point(f"{of_seed}{x!r}", at_load(scenario, x), keep, x) for x in loads if x not in found
        ]
        records = run_points(points, jobs=jobs, store=store, progress=progress, notice=notice)
        for name, record in records.items():
            load = float(name.removeprefix(of_seed))
            found[load] = LoadPoint(load, **record)

    look([round(highest * share, 6) for share in FIRST_LOADS])
    while True:
        low, high = bracket(list(found.values()))
        if math.isinf(high) or high - low <= tolerance * high:
            break
        # Steps that two rounds share no load with.
        parts = max(jobs, 1) + 1
        loads = [round(low + (high - low) * part / parts, 6) for part in range(1, parts)]
        new = [load for load in loads if load not in found]
        if not new:
            break
        look(new)
    points = sorted(found.values(), key=lambda point: point.load)
    capacity = full_load(points)
    return Saturation(
        load=math.nan if math.isinf(high) else (low + high) / 2,
        uncertainty=math.nan if math.isinf(high) else (high - low) / 2,
        throughput=max(point.accepted_bytes_per_s for point in points) / capacity,
        points=points,
    )


def full_load(points: Sequence[LoadPoint]) -> float:
    """Bytes per second that a load of 1 offers, by what was drawn at all loads; NaN without any."""
    loads = math.fsum(point.load for point in points)
    return math.fsum(point.offered_bytes_per_s for point in points) / loads if loads else math.nan


def bracket(points: Sequence[LoadPoint]) -> tuple[float, float]:
    """Highest load that was delivered below the lowest that was not; 0 and infinity if none."""
    high = min((point.load for point in points if point.saturated), default=math.inf)
    below = [point.load for point in points if not point.saturated and point.load < high]
    return max(below, default=0.0), high


def figures(found: Saturation) -> dict[str, Any]:
    """The outcome as JSON can hold it; no load is ``None``."""
    return {
        "load": None if math.isnan(found.load) else found.load,
        "uncertainty": None if math.isnan(found.uncertainty) else found.uncertainty,
        "throughput": found.throughput,
        "shortfall": SHORTFALL,
        **_seeds(found),
    }


def _seeds(found: Saturation) -> dict[str, Any]:
    """What several seeds gave, as JSON can hold it."""
    if not found.by_seed:
        return {}
    over = found.over_seeds
    return {
        "seeds": [
            {
                "seed": seed,
                "load": None if math.isnan(load) else load,
                "throughput": throughput,
                "lowest_load_latency_ps": None if math.isnan(latency) else latency,
            }
            for seed, (load, throughput, latency) in found.by_seed.items()
        ],
        "load_mean": None if over is None else over.mean,
        "load_ci95": None if over is None else over.half_width,
    }


def answer(found: Saturation) -> str:
    """Where the network saturates, in words."""
    never = [load for load, *_ in found.by_seed.values() if math.isnan(load)]
    over = found.over_seeds
    if over is not None:
        return (
            f"saturates at a load of {over.mean:.4g} ± {over.half_width + found.uncertainty:.2g} "
            f"(± {found.uncertainty:.2g} is the bracket of a search, ± {over.half_width:.2g} the "
            f"95 % interval of the mean over {len(found.by_seed)} seeds)"
        )
    if never or math.isnan(found.load):
        seeds = f" with {len(never)} of {len(found.by_seed)} seeds" if never else ""
        return f"does not saturate up to a load of {found.points[-1].load:g}{seeds}"
    low, high = found.load - found.uncertainty, found.load + found.uncertainty
    return f"saturates at a load between {low:.4g} and {high:.4g}"


def curve(found: Saturation) -> list[dict[str, Any]]:
    """The loads that were simulated; where nothing was measured there is ``None``."""
    return [
        {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in {**asdict(point), "saturated": point.saturated}.items()
        }
        for point in found.points
    ]


def write(
    found: Saturation, scenario: Scenario, claim: Claim, notice: Callable[[str], object] = warn
) -> None:
    """Writes ``saturation.json``, the curve as Parquet and CSV, the scenario, and a picture.

    Args:
        found: What was found.
        scenario: Of it.
        claim: Of the directory.
        notice: Called with what became of earlier files and of pictures. Default: a warning.
    """
    table = with_units(table_of(curve(found), _SCHEMA), {"accepted_ci95": "B/s"})
    with claim.updating(notice=notice) as partial:
        write_parquet(partial / "saturation.parquet", table)
        write_csv(partial / "saturation.csv", table)
        write_json(partial / RESULT_FILE, figures(found))
        toml = scenario.to_toml(directory=claim.directory)
        write_file(partial / SCENARIO_FILE, toml)
    with claim.adding() as partial, picture(Path("saturation.png"), notice):
        draw(found, partial / "saturation.png")


def load(directory: Path) -> Saturation:
    """What was found there.

    Raises:
        OutputError: If it cannot be read.
    """
    numbers = dict.fromkeys(("load", "uncertainty", "throughput"), Maybe(float))
    of_seed = ("load", "throughput", "lowest_load_latency_ps")
    seeds = [{"seed": int, **dict.fromkeys(of_seed, OrNull(float))}]
    saved = read_keys(directory / RESULT_FILE, {**numbers, "seeds": Maybe(seeds)})
    file = directory / "saturation.parquet"
    table = read_table(file, _SCHEMA, full=("load", "offered_bytes_per_s"))
    points = []
    for number, row in enumerate(table.drop_columns(["saturated"]).to_pylist()):
        if min(row["load"], row["offered_bytes_per_s"]) <= 0:
            raise refusal(file, f"it has no load, or nothing is offered, in row {number}")
        points.append(LoadPoint(**{k: math.nan if v is None else v for k, v in row.items()}))
    if not points:
        raise refusal(file, "it has no row")
    known = {key: math.nan if saved.get(key) is None else saved[key] for key in numbers}
    by_seed = {}
    for row in saved.get("seeds") or ():
        first, second, third = (math.nan if row[key] is None else row[key] for key in of_seed)
        by_seed[int(row["seed"])] = (first, second, third)
    return Saturation(known["load"], known["uncertainty"], known["throughput"], points, by_seed)


def draw(found: Saturation, path: Path) -> None:
    """Writes the picture: latency on the left, delivered load on the right.

    Latencies beyond saturation are left out: they grow for as long as one measures. What is
    delivered there is drawn hollow.
    """
    with style():
        figure = new_figure(9.0, 3.8)
        left, right = figure.subplots(1, 2)
        stable = [point for point in found.points if not point.saturated]
        measured = [point for point in stable if not math.isnan(point.latency_ps)]
        of_seed = f", seed {next(iter(found.by_seed))}" if found.by_seed else ""
        left.set_title(f"Latency below saturation{of_seed}")
        if measured:
            _latencies(left, measured)
        else:
            # The ticks of an empty logarithmic axis would be numbers of nothing.
            left.set_yticks([])
            message = "no load below saturation\nwas measured"
            left.text(0.5, 0.5, message, transform=left.transAxes, ha="center", color=MUTED)
        left.set_ylabel("message latency (ns)")
        capacity = full_load(found.points)
        right.axline((0, 0), slope=1, color=MUTED, linewidth=0.9, linestyle=(0, (2, 2)))
        for points, fill, label in (
            (stable, JOB_COLOURS[0], "what is offered arrives"),
            ([point for point in found.points if point.saturated], "white", "saturated"),
        ):
            if points:
                right.plot(
                    [point.load for point in points],
                    [point.accepted_bytes_per_s / capacity for point in points],
                    color=JOB_COLOURS[0],
                    marker="o",
                    markersize=4,
                    markerfacecolor=fill,
                    linestyle="-" if fill != "white" else ":",
                    linewidth=1.2,
                    label=label,
                )
        right.legend(loc="lower right")
        right.set_ylabel("delivered load")
        right.set_title(f"Delivered of what is offered{of_seed}")
        right.set_ylim(bottom=0)
        below = max((point.load for point in stable), default=found.points[-1].load)
        for axes, last in ((left, 1.12 * below), (right, 1.03 * found.points[-1].load)):
            axes.set_xlabel("offered load (fraction of terminal bandwidth)")
            axes.set_xlim(0, last)
            _mark(axes, found)
        save(figure, path)


def _latencies(axes: Axes, points: Sequence[LoadPoint]) -> None:
    """Draws mean and 99th percentile over the offered load."""
    axes.errorbar(
        [point.load for point in points],
        [point.latency_ps / 1e3 for point in points],
        yerr=[0 if math.isnan(p.latency_ci95_ps) else p.latency_ci95_ps / 1e3 for p in points],
        color=JOB_COLOURS[0],
        marker="o",
        markersize=4,
        label="mean",
    )
    axes.plot(
        [point.load for point in points],
        [point.latency_p99_ps / 1e3 for point in points],
        color=JOB_COLOURS[1],
        marker="^",
        markersize=4,
        label="99th percentile",
    )
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.legend(loc="upper left")


def _mark(axes: Axes, found: Saturation) -> None:
    over = found.over_seeds
    middle, half_width, which = found.load, found.uncertainty, ""
    if over is not None:
        middle, half_width = over.mean, over.half_width + found.uncertainty
        which = f", mean of {len(found.by_seed)} seeds"
    if math.isnan(middle):
        return
    low, high = middle - half_width, middle + half_width
    axes.axvspan(low, high, color="#D55E00", alpha=0.35, linewidth=0)
    axes.annotate(
        f"saturation {middle:.3g}{which}",
        (high, 0.3),
        xycoords=("data", "axes fraction"),
        xytext=(4, 0),
        textcoords="offset points",
        rotation=90,
        ha="left",
        va="center",
        fontsize=7.5,
        color=MUTED,
    )
