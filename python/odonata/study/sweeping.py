"""Sweeps without a study file: a scenario, and keys with several values."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from odonata import _engine, display
from odonata.errors import Problem, ScenarioError
from odonata.output import Claim, warn
from odonata.progress import SweepBar, following
from odonata.scenario import Scenario, ScenarioLike, as_scenario, typed_value
from odonata.scenario.files import named_files
from odonata.scenario.keys import changes_by_key
from odonata.simulate import ask_engine
from odonata.study.bases import FIXED_COLUMNS
from odonata.study.execution import STORE_FILE
from odonata.study.file import Measure, StudyFile
from odonata.study.local import LocalExecutor
from odonata.study.page import write_page
from odonata.study.run import StudyProgress, run_sweep
from odonata.study.sweep import Sweep, SweepPoint

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from odonata.load import Job

#: Jobs of which each has its own figures by default.
MOST_JOBS = 8
#: Values of one key; more are likely to be a slip in the step.
MOST_VALUES = 1_000
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_UNIT = r"\s*(%|[A-Za-z][A-Za-z/]*)?"
_RANGE = re.compile(rf"({_NUMBER}){_UNIT}:({_NUMBER}){_UNIT}:(\*?)({_NUMBER}){_UNIT}")
#: A range whose step was forgotten.
_HALF_RANGE = re.compile(rf"{_NUMBER}{_UNIT}:{_NUMBER}{_UNIT}")
_NETWORK = "network"
#: Keys whose value says which kind of table one is.
_CHOOSING = ("algorithm", "kind", "pattern", "family", "policy", "name", "level")


@dataclass(frozen=True)
class Swept:
    """What a sweep found.

    Attributes:
        study: What was varied and measured, in the form of a study file.
        table: One row per point: the keys that were varied, the seed, the measures with their
            units in their names (``docs/studies.md`` describes the columns).
        directory: Where the sweep is kept, or ``None``.
        failed: Points that cannot be simulated: their axes, seed and error.
    """

    study: StudyFile
    table: pa.Table
    directory: Path | None
    failed: Sequence[Mapping[str, Any]] = ()

    def to_pandas(self, *, fingerprint: bool = False) -> pd.DataFrame:
        """The table as a pandas data frame.

        Args:
            fingerprint: Whether to include the column that identifies each point's scenario.
        """
        shown = self.table if fingerprint else self.table.drop_columns(["fingerprint"])
        return shown.to_pandas()

    def plot(
        self, measure: str | None = None, path: str | os.PathLike[str] | None = None
    ) -> Figure:
        """A picture of one measure over what was varied.

        Args:
            measure: Its column. Default: the first.
            path: Where to write it: PNG, PDF or SVG, by how the name ends.

        Raises:
            KeyError: If there is no such measure, or nothing was varied; lists those there are.
        """
        from odonata.plots import check_format, save
        from odonata.study.drawing import draw_figure

        drawable = self.study.with_figures(_figures(self.study, self.study.measure))
        figures = {figure.y: figure for figure in drawable.figure}
        wanted = measure or next(iter(figures), "")
        if wanted not in figures:
            raise KeyError(f"no picture of {wanted!r}; there are {', '.join(figures) or 'none'}")
        if path is not None:
            check_format(Path(path))
        drawn = draw_figure(drawable, self.table, figures[wanted])
        if path is not None:
            save(drawn, Path(path))
        return drawn

    def _repr_html_(self) -> str:
        shown: str = self.to_pandas()._repr_html_()
        return shown

    def __repr__(self) -> str:
        axes = ", ".join(axis.column for axis in self.study.axis) or "nothing"
        return f"<Sweep of {self.table.num_rows} points over {axes}>"


def sweep(
    scenario: ScenarioLike,
    set: Mapping[str, Any] | None = None,
    *,
    networks: Sequence[ScenarioLike] = (),
    measure: Sequence[str] = (),
    repetitions: int = 1,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Callable[[StudyProgress], object] | bool | None = None,
    seen: Callable[[SweepPoint, Mapping[str, Any]], object] | None = None,
    notice: Callable[[str], object] = warn,
    **named: Any,
) -> Swept:
    """Simulates a scenario with all combinations of some keys' values.

    Args:
        scenario: The scenario, its file, or nested dicts.
        set: Values by key, such as ``{"network.routing": ["minimal", "par"]}``; keys of jobs
            are ``job.0.nodes``, ``job.NAME.nodes`` or, of every job, ``job.*.nodes``. A single
            value changes the scenario for all points.
        networks: Scenarios whose networks are tried instead of the scenario's own, which is tried
            if it is among them.
        measure: Figures of the summary to keep, such as ``job.*.run_time_ps``. Default: run times
            and latencies of each job (of the slowest, where there are more than 8), and the load of
            the busiest link; of a scenario with ``[schedule]`` waits, bounded slowdown and
            utilisation.
        repetitions: Number of seeds with which every combination is simulated.
        jobs: Simulations at a time. Default: one per processor.
        out: Directory for dataset, pictures and page. If the sweep has been there before, it
            continues. Default: nothing is kept.
        progress: Called with the progress, about five times a second. ``True`` shows a bar in the
            terminal or notebook.
        seen: Called with every finished point and the values of its measures.
        notice: Called with what a person should know. Default: a warning.
        **named: Values by the last part of a key, where that is enough to know it, such as
            ``routing=["minimal", "par"]``; several parts are joined by ``_``.

    Combinations that cannot be simulated are told and left out (:attr:`Swept.failed`).

    Raises:
        ScenarioError: If a key or value is wrong; the error names the combination.
        OutputError: If the directory cannot be written.
        KeyboardInterrupt: If it was interrupted; what was done by then is kept in `out`.
    """
    base = _base(scenario, set or {})
    changes = changes_by_key(base, set, named)
    study = sweep_study(base, changes, networks=networks, measure=measure, repetitions=repetitions)
    return _swept(Sweep(study, go_on=True), None, out, jobs, progress, seen, notice)


def run_study(
    study: StudyFile | str | os.PathLike[str],
    *,
    quick: bool = False,
    only: str | None = None,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Callable[[StudyProgress], object] | bool | None = None,
    seen: Callable[[SweepPoint, Mapping[str, Any]], object] | None = None,
    notice: Callable[[str], object] = warn,
) -> Swept:
    """Simulates what is missing of a study file.

    Args:
        study: The study, or its file.
        quick: Whether a coarse version is enough.
        only: A condition on axes and ``seed``: simulate the points of which it is true.
        jobs: As of :func:`sweep`.
        out: As of :func:`sweep`.
        progress: As of :func:`sweep`.
        seen: As of :func:`sweep`.
        notice: As of :func:`sweep`.

    Raises:
        ScenarioError: If the study or one of its points is wrong.
        OutputError: If the directory cannot be written.
        KeyboardInterrupt: If it was interrupted; what was done by then is kept in `out`.
    """
    file = study if isinstance(study, StudyFile) else StudyFile.from_file(study)
    return _swept(Sweep(file, quick=quick, go_on=True), only, out, jobs, progress, seen, notice)


def _swept(
    points: Sweep,
    only: str | None,
    out: str | os.PathLike[str] | None,
    jobs: int | None,
    progress: Callable[[StudyProgress], object] | bool | None,
    seen: Callable[[SweepPoint, Mapping[str, Any]], object] | None,
    notice: Callable[[str], object],
) -> Swept:
    """Runs what is missing of a study, with a directory of results or without."""
    study = points.study
    with following(progress, lambda console: SweepBar(console, study.title), "Sweeping") as report:
        if out is not None:
            table = run_swept(
                points, Path(out), only=only, jobs=jobs, progress=report, seen=seen, notice=notice
            )
            return Swept(study, table, Path(out), _failed(points, notice))
        with tempfile.TemporaryDirectory() as directory:
            _say_what_differs(points, notice)
            table = run_sweep(
                points,
                Path(directory) / "sweep",
                points=None if only is None else points.select(only),
                executor=LocalExecutor(jobs),
                progress=report,
                seen=seen,
                notice=notice,
            )
    return Swept(study, table, None, _failed(points, notice))


def _failed(points: Sweep, notice: Callable[[str], object]) -> list[dict[str, Any]]:
    """Rows of the points that failed, of which a person is told."""
    rows = [point.row for point in points.failed]
    if rows:
        notice(f"{len(rows):,} points failed (see `failed`), the first: {rows[0]['error']}")
    return rows


def run_swept(
    points: Sweep,
    directory: Path,
    *,
    only: str | None = None,
    command: str = "odonata study study.toml",
    jobs: int | None = None,
    progress: Callable[[StudyProgress], object] | None = None,
    seen: Callable[[SweepPoint, Mapping[str, Any]], object] | None = None,
    notice: Callable[[str], object] = warn,
) -> pa.Table:
    """Runs what is missing of a sweep in its directory; leaves dataset, pictures and page there.

    Args:
        points: Of the sweep.
        directory: Of the results.
        only: As of :func:`run_study`.
        command: That made them, for the page.
        jobs: As of :func:`sweep`.
        progress: As of :func:`sweep`.
        seen: As of :func:`sweep`.
        notice: As of :func:`sweep`.
    """
    _say_what_differs(points, notice)
    with Claim(directory, goes_on=STORE_FILE) as claim:
        table = run_sweep(
            points,
            directory,
            points=None if only is None else points.select(only),
            executor=LocalExecutor(jobs),
            progress=progress,
            seen=seen,
            notice=notice,
            claim=claim,
        )
        with claim.adding() as partial:
            write_page(
                points.study,
                table,
                partial,
                command=command,
                total=len(points.points),
                quick=points.quick,
                points=[point.axes for point in points.points],
                notice=notice,
            )
    return table


def _say_what_differs(points: Sweep, notice: Callable[[str], object]) -> None:
    """Says what a person should know about the points of a sweep."""
    for sentence in dict.fromkeys(s for point in points.points for s in point.scenario.notices()):
        notice(sentence)
    networks = {
        str(point.axes[_NETWORK]): point.scenario
        for point in points.points
        if point.axes.get(_NETWORK) is not None
    }
    described = {
        label: ask_engine(_engine.topology, scenario)["description"]["link_classes"]
        for label, scenario in networks.items()
    }
    differ = display.different_links(described) if len(described) > 1 else None
    if differ is not None:
        notice(differ)


def _base(scenario: ScenarioLike, changes: Mapping[str, Any]) -> Scenario:
    """The scenario; if it lacks what is varied, with the first values."""
    try:
        return as_scenario(scenario)
    except ScenarioError as error:
        firsts = {key: each[0] for key, each in changes.items() if isinstance(each, list) and each}
        try:
            return as_scenario(scenario, firsts)
        except ScenarioError:
            # What the file says is wrong, whatever is varied.
            raise error from None


def sweep_study(
    scenario: ScenarioLike,
    changes: Mapping[str, Any],
    *,
    networks: Sequence[ScenarioLike] = (),
    measure: Sequence[str] = (),
    repetitions: int = 1,
) -> StudyFile:
    """The study that a sweep is; see :func:`sweep`."""
    base = _base(scenario, changes)
    several = {key for key, value in changes.items() if _is_several(value, key, base)}
    fixed = {key: value for key, value in changes.items() if key not in several}
    if fixed:
        try:
            base = base.with_set(fixed)
        except ScenarioError as error:
            raise ScenarioError(
                [_without_step(one) for one in error.problems], error.file
            ) from None
    varied = {key: list(value) for key, value in changes.items() if key in several}
    if "seed" in varied:
        message = "found several; allowed: one, that of the first repetition (use --seeds)"
        raise ScenarioError([Problem("seed", message)], base.file)
    pieces = [_pieces(key.lower().replace(".*", "")) for key in varied]
    axes: list[dict[str, Any]] = [
        _axis(name, key, values)
        for name, (key, values) in zip(_short_names(pieces), varied.items(), strict=True)
    ]
    if networks:
        of_network = {key: v for key, v in fixed.items() if key.partition(".")[0] == _NETWORK}
        axes.insert(0, _networks(networks, of_network))
    for key, values in varied.items():
        if len(values) > MOST_VALUES:
            message = f"found {len(values):,} values; allowed: at most {MOST_VALUES:,}"
            raise ScenarioError([Problem(key, message)], base.file)
    renamed = any(key.endswith(".name") for key in varied)
    wanted = _measures(measure, base, None if renamed else base.job_names())
    wanted = wanted or _usual(base, each=not renamed)
    measures = _told_apart(wanted, [axis["name"] for axis in axes])
    study = StudyFile.of_scenario(
        {
            "title": base.title or "Sweep",
            "axis": axes,
            "repetitions": repetitions,
            "measure": measures,
        },
        base,
    )
    return study.with_figures(_figures(study, _firsts(study.measure)))


def _without_step(problem: Problem) -> Problem:
    """The problem, with how a range is written if it is one that lacks its step."""
    quoted = (problem.found, *re.findall(r'"([^"]*)"', problem.message))
    if not any(_HALF_RANGE.fullmatch(text.strip('"')) for text in quoted):
        return problem
    advice = "; a range is FROM:TO:STEP, as in 0.1:0.9:0.1, or FROM:TO:*FACTOR, as in 8KiB:64KiB:*2"
    return replace(problem, message=problem.message + advice)


def values_of(text: str) -> Any:
    """The value or values that a text of ``--set`` names.

    ``a,b,c`` are three; ``0.1:0.9:0.1`` those from 0.1 to 0.9 in steps of 0.1, both ends included;
    ``1:64:*2`` those from 1 to 64, each twice the one before. Quantities have one unit throughout,
    as in ``8KiB:64KiB:*2``. Anything else is one value, typed as in TOML; commas in brackets,
    braces and quotes separate nothing.

    Raises:
        ValueError: If a range is empty, never ends, or has several units.
    """
    parts = _parts(text)
    found: list[Any] = []
    for part in parts:
        match = _RANGE.fullmatch(part.strip())
        found += _range(part.strip(), *match.groups()) if match else [typed_value(part)]
    return found if len(found) > 1 else found[0]


def _parts(text: str) -> list[str]:
    """Splits at commas outside of brackets, braces and quotes."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "[{":
            depth += 1
        elif letter in "]}":
            depth -= 1
        if letter == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _range(
    said: str,
    first: str,
    unit: str | None,
    last: str,
    last_unit: str | None,
    times: str,
    step: str,
    step_unit: str | None,
) -> list[Any]:
    """Both ends included; exact, as decimal fractions have no exact floats."""
    low, high, by = Decimal(first), Decimal(last), Decimal(step)
    if last_unit != unit or step_unit != (None if times else unit):
        units = ", ".join(f'"{one or ""}"' for one in (unit, last_unit, step_unit))
        raise ValueError(
            f"{said}: found the units {units}; allowed: one unit at both ends and at a step, none "
            "at a factor, as in 8KiB:64KiB:8KiB and 8KiB:64KiB:*2"
        )
    if times and (by <= 1 or low <= 0):
        raise ValueError(f"{said}: found *{by} from {low}; allowed: above 1, from above 0")
    if not times and (by == 0 or (high - low) * by < 0):
        raise ValueError(f"{said}: found the step {by}; allowed: one from {low} to {high}")
    whole = all(re.fullmatch(r"[-+]?\d+", one) for one in (first, last, step))
    found: list[int | float] = []
    while (high - low) * (1 if times else by) >= 0:
        found.append(int(low) if whole else float(low))
        if len(found) > MOST_VALUES:
            raise ValueError(f"{said}: found more than {MOST_VALUES:,} values")
        low = low * by if times else low + by
    if not found:
        raise ValueError(f"{said}: found no value from {low} to {high}")
    return found if unit is None else [f"{value} {unit}" for value in found]


def _is_several(value: Any, key: str, base: Scenario) -> bool:
    """Whether values of a key are meant.

    Lists of tables and lists are the values of some keys; elsewhere they are several.
    """
    if isinstance(value, range):
        return True
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        return False
    if all(isinstance(one, (str, int, float)) for one in value):
        return True
    try:
        base.with_set({key: value})
    except ScenarioError:
        return True
    return False


def _axis(name: str, key: str, values: Sequence[Any]) -> dict[str, Any]:
    """An axis of the values of a key; tables and lists have labels."""
    if all(isinstance(one, (str, int, float)) for one in values):
        return {"name": name, "key": key, "values": list(values)}
    labels = [_label(one) for one in values]
    for place, label in enumerate(labels):
        if label in labels[:place]:
            labels[place] = f"{label} ({place + 1})"
    settings = [
        {"label": label, "set": {key: value}} for label, value in zip(labels, values, strict=True)
    ]
    return {"name": name, "setting": settings}


def _label(value: Any) -> str:
    """A value as people read it: of tables what they choose, and then their keys."""
    if isinstance(value, Mapping):
        return " ".join(
            _label(one) if key in _CHOOSING else f"{key}={_label(one)}"
            for key, one in value.items()
        )
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(_label, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _pieces(key: str) -> list[str]:
    """The parts of a key, with letters that names of columns may have."""
    return [re.sub(r"[^a-z0-9]+", "_", piece).strip("_") for piece in key.split(".")]


def _short_names(keys: Sequence[Sequence[str]], taken: Collection[str] = ()) -> list[str]:
    """What keys are called: their last parts, as far as those differ.

    Args:
        keys: Their parts.
        taken: Names that are in use, beside those of every dataset.
    """
    depths = [1] * len(keys)
    while True:
        names = ["_".join(key[-d:]) for key, d in zip(keys, depths, strict=True)]
        used = [*names, *taken, *FIXED_COLUMNS]
        longer = [
            place
            for place, name in enumerate(names)
            if (used.count(name) > 1 or not name[:1].isalpha()) and depths[place] < len(keys[place])
        ]
        if not longer:
            break
        for place in longer:
            depths[place] += 1
    for place, name in enumerate(names):
        if name in names[:place]:
            names[place] = f"{name}_{names[:place].count(name) + 1}"
    return names


def _networks(scenarios: Sequence[ScenarioLike], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The axis of networks: those of the scenarios, with keys changed in each."""
    settings: list[dict[str, Any]] = []
    for place, other in enumerate(scenarios):
        one = as_scenario(other, changes)
        data = one.to_dict()
        for file in named_files(one):
            # Paths are relative to another scenario there, and to the study later.
            if file.place[0] == _NETWORK:
                file.table_in(data)[file.place[-1]] = str(file.path)
        label = Path(one.file).stem if one.file else f"{place}"
        settings.append({"label": label, "set": {_NETWORK: data[_NETWORK]}})
    labels = [setting["label"] for setting in settings]
    if len(set(labels)) < len(labels):
        for place, setting in enumerate(settings):
            setting["label"] = f"{place} {setting['label']}"
    return {"name": _NETWORK, "setting": settings}


def _measures(
    texts: Sequence[str], base: Scenario, jobs: Collection[str] | None
) -> list[dict[str, Any]]:
    """Measures from ``FIGURE`` or ``FIGURE:REDUCTION``.

    Args:
        texts: Of the measures.
        base: For errors.
        jobs: The names of all jobs, where they are known before anything is simulated.

    Raises:
        ScenarioError: If one is there twice, or is of no job.
    """
    found = [_measure(text) for text in texts]
    for one in found:
        scope, _, rest = one["figure"].partition(".")
        name = rest.rpartition(".")[0]
        if scope == "job" and jobs and name not in ("*", *jobs):
            message = f"found no job {name}; allowed: * or {', '.join(jobs)}"
            raise ScenarioError([Problem("measure", message)], base.file)
    for place, one in enumerate(found):
        if one in found[:place]:
            message = f'found "{texts[place]}" twice; allowed: each figure once'
            raise ScenarioError([Problem("measure", message)], base.file)
    return found


def _told_apart(found: list[dict[str, Any]], axes: Collection[str]) -> list[dict[str, Any]]:
    """The measures, each with a name that no other and no axis has."""
    try:
        columns = [Measure(**one).column_name for one in found]
    except ScenarioError:
        return found  # the study's own check names the key
    alike = [
        place
        for place, column in enumerate(columns)
        if [*columns, *axes, *FIXED_COLUMNS].count(column) > 1 and "figure" in found[place]
    ]
    keys = []
    for place in alike:
        scope, *name, quantity = found[place]["figure"].replace(".*", "").lower().split(".")
        reduced = [found[place]["reduce"]] if "reduce" in found[place] else []
        stem = quantity.removesuffix("_ps").removesuffix("_bytes_per_s")
        keys.append(_pieces(".".join([scope, *name, *reduced, stem])))
    for place, column in zip(alike, _short_names(keys, {*axes, *columns}), strict=True):
        found[place]["name"] = column
    return found


def _measure(text: str) -> dict[str, Any]:
    """A measure from ``FIGURE`` or ``FIGURE:REDUCTION``."""
    figure, colon, reduction = text.partition(":")
    found: dict[str, Any] = {"figure": figure}
    if colon:
        found["reduce"] = reduction
    elif ".*." in figure:
        found["reduce"] = "maximum"
    if figure.endswith("_ps"):
        found["unit"] = "us"
    return found


def _figures_of(name: str, whose: str, jobs: Collection[Job]) -> list[dict[str, Any]]:
    """Run time where all jobs end, latencies, and what traffic delivers.

    Args:
        name: The job's, or ``*`` for the largest of all.
        whose: The same in words.
        jobs: Which they are.
    """
    quantities = [
        ("message_latency_mean_ps", "mean message latency"),
        ("message_latency_p99_ps", "p99 of message latency"),
    ]
    if jobs and all(job.motif or (job.traffic and job.traffic.messages) for job in jobs):
        quantities.insert(0, ("run_time_ps", "run time"))
    reduced = {"reduce": "maximum"} if name == "*" else {}
    found: list[dict[str, Any]] = [
        {"figure": f"job.{name}.{quantity}", **reduced, "unit": "us", "about": f"{what}{whose}"}
        for quantity, what in quantities
    ]
    if any(job.traffic for job in jobs):
        summed = {"reduce": "sum"} if name == "*" else {}
        about = "delivered, sum of the rates of all jobs" if name == "*" else f"delivered{whose}"
        figure = f"job.{name}.accepted_bytes_per_s"
        found.append({"figure": figure, **summed, "unit": "GB/s", "about": about})
    return found


def _usual(base: Scenario, *, each: bool) -> list[dict[str, Any]]:
    """What is measured where nothing is asked for.

    Args:
        base: The scenario.
        each: Whether its jobs keep their names.
    """
    if base.schedule is not None:
        return [
            {"figure": "schedule.mean_wait_s", "unit": "min", "about": "mean wait"},
            {"figure": "schedule.max_wait_s", "unit": "min", "about": "longest wait"},
            {"figure": "schedule.mean_bounded_slowdown", "about": "mean bounded slowdown"},
            {"figure": "schedule.utilisation", "about": "utilisation of the machine"},
        ]
    busy = {name: job for name, job in zip(base.job_names(), base.job, strict=True) if not job.idle}
    found: list[dict[str, Any]] = []
    if each and 1 < len(busy) <= MOST_JOBS and "*" not in busy:
        for name, job in busy.items():
            found += _figures_of(name, f" of {name}", [job])
    else:
        found += _figures_of("*", " of the slowest job" if len(base.job) > 1 else "", busy.values())
    found.append(
        {
            "name": "busiest_link",
            "table": "links",
            "column": "utilisation",
            "reduce": "maximum",
            "about": "utilisation of the busiest link",
        }
    )
    return found


def _firsts(measures: Sequence[Measure]) -> list[Measure]:
    """The first measure of each job, and all that are no job's."""
    jobs = [measure.job for measure in measures]
    return [m for place, m in enumerate(measures) if m.job is None or m.job not in jobs[:place]]


def _figures(study: StudyFile, measures: Sequence[Measure]) -> list[dict[str, Any]]:
    """A picture of each of the measures: numbers along it, the rest as lines and panels."""
    sizes = {axis.column: len(axis.settings()) for axis in study.axis}
    varied = [axis for axis in study.axis if sizes[axis.column] > 1]
    if not varied or len(varied) > 4:
        return []
    numeric = [
        axis.column
        for axis in varied
        if all(
            isinstance(label, (int, float)) and not isinstance(label, bool)
            for label, _ in axis.settings()
        )
    ]
    names = [axis.column for axis in varied]
    along = max(numeric or names, key=lambda name: sizes[name])
    others = sorted((name for name in names if name != along), key=lambda name: sizes[name])
    found = []
    for measure in measures:
        figure: dict[str, Any] = {
            "name": measure.column_name.replace("_", "-"),
            "title": measure.what.capitalize(),
            "kind": "line" if numeric else "bar",
            "x": along,
            "y": measure.column_name,
        }
        if others:
            figure["series"] = others[-1]
        if len(others) > 1:
            figure["facets"] = others[:-1]
        found.append(figure)
    return found
