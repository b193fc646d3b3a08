"""Sweeps without a study file: a scenario, and keys with several values."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from odonata import _engine, display
from odonata.errors import Problem, ScenarioError
from odonata.output import Claim, warn
from odonata.progress import SweepBar, following
from odonata.scenario import Scenario, typed_value
from odonata.scenario.files import named_files
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

#: Values of one key; more are likely to be a slip in the step.
MOST_VALUES = 1_000
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RANGE = re.compile(rf"({_NUMBER}):({_NUMBER}):(\*?)({_NUMBER})")
_NETWORK = "network"


@dataclass(frozen=True)
class Swept:
    """What a sweep found.

    Attributes:
        study: What was varied and measured, in the form of a study file.
        table: One row per point: the keys that were varied, the seed, the measures with their
            units in their names (``docs/studies.md`` describes the columns).
        directory: Where the sweep is kept, or ``None``.
    """

    study: StudyFile
    table: pa.Table
    directory: Path | None

    def to_pandas(self) -> pd.DataFrame:
        """The table as a pandas data frame."""
        return self.table.to_pandas()

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

        figures = {figure.y: figure for figure in self.study.figure}
        wanted = measure or next(iter(figures), "")
        if wanted not in figures:
            raise KeyError(f"no picture of {wanted!r}; there are {', '.join(figures) or 'none'}")
        if path is not None:
            check_format(Path(path))
        drawn = draw_figure(self.study, self.table, figures[wanted])
        if path is not None:
            save(drawn, Path(path))
        return drawn

    def _repr_html_(self) -> str:
        shown: str = self.to_pandas().drop(columns=["fingerprint"])._repr_html_()
        return shown

    def __repr__(self) -> str:
        axes = ", ".join(axis.column for axis in self.study.axis) or "nothing"
        return f"<Sweep of {self.table.num_rows} points over {axes}>"


def sweep(
    scenario: Scenario | str | os.PathLike[str],
    changes: Mapping[str, Any],
    *,
    networks: Sequence[Scenario | str | os.PathLike[str]] = (),
    measure: Sequence[str] = (),
    repetitions: int = 1,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Callable[[StudyProgress], object] | bool | None = None,
    seen: Callable[[SweepPoint, Mapping[str, Any]], object] | None = None,
    notice: Callable[[str], object] = warn,
) -> Swept:
    """Simulates a scenario with all combinations of some keys' values.

    Args:
        scenario: The scenario, or its file.
        changes: Values by key, such as ``{"network.routing": ["minimal", "par"]}``; a key of every
            job is ``job.*.nodes``. A single value changes the scenario for all points.
        networks: Other scenarios whose networks are tried as well.
        measure: Figures of the summary to keep, such as ``job.*.run_time_ps``. Default: run times
            and latencies of the slowest job, and the load of the busiest link; of a scenario with
            ``[schedule]`` waits, bounded slowdown and utilisation.
        repetitions: Number of seeds with which every combination is simulated.
        jobs: Simulations at a time. Default: one per processor.
        out: Directory for dataset, pictures and page. If the sweep has been there before, it
            continues. Default: nothing is kept.
        progress: Called with the progress, about five times a second. ``True`` shows a bar in the
            terminal or notebook.
        seen: Called with every finished point and the values of its measures.
        notice: Called with what a person should know. Default: a warning.

    Raises:
        ScenarioError: If a key or value is wrong; the error names the combination.
        OutputError: If the directory cannot be written.
        KeyboardInterrupt: If it was interrupted; what was done by then is kept in `out`.
    """
    study = sweep_study(
        scenario, changes, networks=networks, measure=measure, repetitions=repetitions
    )
    with following(progress, lambda console: SweepBar(console, study.title), "Sweeping") as report:
        if out is not None:
            table = run_swept(
                study, Path(out), jobs=jobs, progress=report, seen=seen, notice=notice
            )
            return Swept(study, table, Path(out))
        with tempfile.TemporaryDirectory() as directory:
            table = run_sweep(
                _points(study, notice),
                Path(directory) / "sweep",
                executor=LocalExecutor(jobs),
                progress=report,
                seen=seen,
                notice=notice,
            )
    return Swept(study, table, None)


def run_swept(
    study: StudyFile,
    directory: Path,
    *,
    command: str = "odonata study study.toml",
    jobs: int | None = None,
    progress: Callable[[StudyProgress], object] | None = None,
    seen: Callable[[SweepPoint, Mapping[str, Any]], object] | None = None,
    notice: Callable[[str], object] = warn,
) -> pa.Table:
    """Runs what is missing of a sweep in its directory; leaves dataset, pictures and page there.

    Args:
        study: As :func:`sweep_study` makes it.
        directory: Of the results.
        command: That made them, for the page.
        jobs: As of :func:`sweep`.
        progress: As of :func:`sweep`.
        seen: As of :func:`sweep`.
        notice: As of :func:`sweep`.
    """
    points = _points(study, notice)
    with Claim(directory, goes_on=STORE_FILE) as claim:
        table = run_sweep(
            points,
            directory,
            executor=LocalExecutor(jobs),
            progress=progress,
            seen=seen,
            notice=notice,
            claim=claim,
        )
        with claim.adding() as partial:
            write_page(
                study, table, partial, command=command, total=len(points.points), notice=notice
            )
    return table


def _points(study: StudyFile, notice: Callable[[str], object]) -> Sweep:
    """The points of a sweep, after what a person should know about them."""
    points = Sweep(study)
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
    return points


def sweep_study(
    scenario: Scenario | str | os.PathLike[str],
    changes: Mapping[str, Any],
    *,
    networks: Sequence[Scenario | str | os.PathLike[str]] = (),
    measure: Sequence[str] = (),
    repetitions: int = 1,
) -> StudyFile:
    """The study that a sweep is; see :func:`sweep`."""
    base = scenario if isinstance(scenario, Scenario) else Scenario.from_file(scenario)
    fixed = {key: value for key, value in changes.items() if not _is_several(value)}
    if fixed:
        base = base.with_set(fixed)
    varied = {key: list(value) for key, value in changes.items() if _is_several(value)}
    if "seed" in varied:
        message = "found several; allowed: one, that of the first repetition (use --seeds)"
        raise ScenarioError([Problem("seed", message)], base.file)
    pieces = [_pieces(key.lower().replace(".*", "")) for key in varied]
    axes: list[dict[str, Any]] = [
        {"name": name, "key": key, "values": values}
        for name, (key, values) in zip(_short_names(pieces), varied.items(), strict=True)
    ]
    if networks:
        axes.insert(0, _networks(base, networks))
    for key, values in varied.items():
        if len(values) > MOST_VALUES:
            message = f"found {len(values):,} values; allowed: at most {MOST_VALUES:,}"
            raise ScenarioError([Problem(key, message)], base.file)
    measures = _measures(measure, [axis["name"] for axis in axes], base) or _usual(base)
    study = StudyFile.of_scenario(
        {
            "title": base.title or "Sweep",
            "axis": axes,
            "repetitions": repetitions,
            "measure": measures,
        },
        base,
    )
    return study.with_figures(_figures(study))


def values_of(text: str) -> Any:
    """The value or values that a text of ``--set`` names.

    ``a,b,c`` are three; ``0.1:0.9:0.1`` those from 0.1 to 0.9 in steps of 0.1, both ends included;
    ``1:64:*2`` those from 1 to 64, each twice the one before. Anything else is one value, typed as
    in TOML; commas in brackets, braces and quotes separate nothing.

    Raises:
        ValueError: If a range is empty, or never ends.
    """
    parts = _parts(text)
    found: list[Any] = []
    for part in parts:
        match = _RANGE.fullmatch(part.strip())
        found += _range(*match.groups()) if match else [typed_value(part)]
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


def _range(first: str, last: str, times: str, step: str) -> list[int | float]:
    """Both ends included; exact, as decimal fractions have no exact floats."""
    low, high, by = Decimal(first), Decimal(last), Decimal(step)
    said = f"{first}:{last}:{times}{step}"
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
    return found


def _is_several(value: Any) -> bool:
    """Whether values of one key are meant; a list of one number or text is one."""
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and len(value) > 0
        and all(isinstance(one, (str, int, float)) for one in value)
    ) or isinstance(value, range)


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


def _networks(
    base: Scenario, others: Sequence[Scenario | str | os.PathLike[str]]
) -> dict[str, Any]:
    """The axis of networks: that of the scenario and those of others."""
    settings: list[dict[str, Any]] = []
    for place, other in enumerate([base, *others]):
        one = other if isinstance(other, Scenario) else Scenario.from_file(other)
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


def _measures(texts: Sequence[str], axes: Collection[str], base: Scenario) -> list[dict[str, Any]]:
    """Measures from ``FIGURE`` or ``FIGURE:REDUCTION``, each with a name of its own.

    Args:
        texts: Of the measures.
        axes: Names that are in use.
        base: For errors.

    Raises:
        ScenarioError: If one is there twice.
    """
    found = [_measure(text) for text in texts]
    for place, one in enumerate(found):
        if one in found[:place]:
            message = f'found "{texts[place]}" twice; allowed: each figure once'
            raise ScenarioError([Problem("measure", message)], base.file)
    try:
        columns = [Measure(**one).column_name for one in found]
    except ScenarioError:
        return found  # the study's own check names the key
    alike = [
        place
        for place, column in enumerate(columns)
        if [*columns, *axes, *FIXED_COLUMNS].count(column) > 1
    ]
    keys = []
    for place in alike:
        scope, *name, quantity = found[place]["figure"].replace(".*", "").lower().split(".")
        reduced = [found[place]["reduce"]] if "reduce" in found[place] else []
        stem = quantity.removesuffix("_ps")
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


def _usual(base: Scenario) -> list[dict[str, Any]]:
    """What is measured where nothing is asked for."""
    if base.schedule is not None:
        return [
            {"figure": "schedule.mean_wait_s", "unit": "min", "about": "mean wait"},
            {"figure": "schedule.max_wait_s", "unit": "min", "about": "longest wait"},
            {"figure": "schedule.mean_bounded_slowdown", "about": "mean bounded slowdown"},
            {"figure": "schedule.utilisation", "about": "utilisation of the machine"},
        ]
    several = len(base.job) > 1
    slowest = " of the slowest job" if several else ""
    found: list[dict[str, Any]] = []
    busy = [job for job in base.job if not job.idle]
    if busy and all(job.motif or (job.traffic and job.traffic.messages) for job in busy):
        found.append(
            {
                "figure": "job.*.run_time_ps",
                "reduce": "maximum",
                "unit": "us",
                "about": f"run time{slowest}",
            }
        )
    for quantity, what in (("mean", "mean message latency"), ("p99", "p99 of message latency")):
        found.append(
            {
                "figure": f"job.*.message_latency_{quantity}_ps",
                "reduce": "maximum",
                "unit": "us",
                "about": f"{what}{slowest}",
            }
        )
    if any(job.traffic for job in busy):
        found.append(
            {
                "figure": "job.*.accepted_bytes_per_s",
                "reduce": "sum",
                "unit": "GB/s",
                "about": "delivered, sum of the rates of all jobs",
            }
        )
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


def _figures(study: StudyFile) -> list[dict[str, Any]]:
    """A picture of every measure: numbers along it, the rest as lines and panels."""
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
    for measure in study.measure:
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
