"""What a study keeps of every simulation: figures of the summary, or columns of result tables."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from odonata.batch.schedules import FIGURES as SCHEDULE_FIGURES
from odonata.batch.schedules import Schedule
from odonata.columns import numbers
from odonata.plug_ins import find, is_known, known
from odonata.plug_ins.calls import measured
from odonata.results import Result
from odonata.results.summary import JOB_FIGURES, LINK_CLASS_FIGURES, RUN_FIGURES
from odonata.results.tables import TABLES
from odonata.scenario.problem import nearest, refused
from odonata.study.bases import StudyTable
from odonata.study.expression import Condition, ConditionError
from odonata.units import Duration, Quantity, Rate, Size, Span, UnitError, describe

if TYPE_CHECKING:
    from odonata.study.file import Measure

_DECIMAL, _BINARY = ("B", "kB", "MB", "GB", "TB"), ("KiB", "MiB", "GiB", "TiB")


def _of_bytes(
    kind: type[Quantity], per: str, units: Sequence[str]
) -> dict[str, tuple[str, Fraction]]:
    """Units of names that end in `_bytes` and what they are per."""
    found = {}
    for unit in units:
        name = "bytes" if unit == "B" else unit.lower()
        full = f"{unit}/s" if per else unit
        found[full] = (f"_{name}{per}", kind.units[full])
    return found


#: By the suffix of a source's name: units that it can be given in, each with the suffix of the
#: column and how many of the source's units it has.
_UNITS: Mapping[str, Mapping[str, tuple[str, Fraction]]] = {
    "_ps": {unit: (f"_{unit}", Duration.units[unit]) for unit in ("ps", "ns", "us", "ms", "s")},
    "_bytes_per_s": _of_bytes(Rate, "_per_s", _DECIMAL + _BINARY),
    "_bytes_per_s_per_node": _of_bytes(Rate, "_per_s_per_node", _DECIMAL),
    "_bytes": _of_bytes(Size, "", _DECIMAL),
}
#: The same of schedules, which count seconds.
_SCHEDULE_UNITS: Mapping[str, Mapping[str, tuple[str, Fraction]]] = {
    "_s": {unit: (f"_{unit}", Span.units[unit]) for unit in ("s", "min", "h", "d")}
}
#: Figures of the summary by scope.
_FIGURES: Mapping[str, Sequence[str]] = {
    "run": RUN_FIGURES,
    "job": JOB_FIGURES,
    "link_class": LINK_CLASS_FIGURES,
    "schedule": tuple(SCHEDULE_FIGURES),
}
#: Scopes of which there is one.
_ALONE = ("run", "schedule")
#: Tables that hold rows of one run; the summary is asked for by `figure`.
RESULT_TABLES = {name: schema for name, schema in TABLES.items() if name != "summary"}


class MeasureBase(StudyTable):
    """What a measure can do."""

    def check(self) -> None:
        """Checks that what it is taken from is there, and has the unit."""
        if self.plug_in is not None:
            if not is_known("measure", self.plug_in):
                allowed = ", ".join(known("measure")) or "no plug-in, as there is none of a measure"
                raise refused("plug_in", describe(self.plug_in), allowed)
        elif self.figure is not None:
            self._check_figure(self.figure)
        else:
            self._check_table(self.table)
        if self.per is not None:
            self._check_per(self.per)
        units = self._units()
        if self.unit is not None and self.unit not in units:
            allowed = ", ".join(units) or f"no unit: {self.source} has none"
            raise refused("unit", describe(self.unit), allowed)

    def _check_figure(self, figure: str) -> None:
        scope, name, quantity = _parts(figure)
        if scope not in _FIGURES or (scope in _ALONE) != (name == ""):
            allowed = (
                "run.QUANTITY, job.NAME.QUANTITY, link_class.NAME.QUANTITY or schedule.QUANTITY"
            )
            raise refused("figure", describe(figure), allowed)
        known = _FIGURES[scope]
        if quantity not in known:
            near = nearest(quantity, known)
            hint = f" (did you mean {near}?)" if near else ""
            raise refused("figure", f"the quantity {quantity}", ", ".join(known) + hint)
        if (name == "*") != (self.reduce is not None):
            allowed = "a value, as `figure` has several values" if name == "*" else "only with `*`"
            raise refused("reduce", describe(self.reduce), allowed)

    def _check_table(self, table: str) -> None:
        if table not in RESULT_TABLES:
            near = nearest(table, [*RESULT_TABLES])
            hint = f' (did you mean "{near}"?)' if near else ""
            raise refused("table", describe(table), ", ".join(RESULT_TABLES) + hint)
        columns = {column.name: column for column in RESULT_TABLES[table].columns}
        numeric = [n for n, c in columns.items() if _is_number(c.type)]
        if self.column not in numeric:
            raise refused("column", describe(self.column), ", ".join(numeric))
        if self.weight is not None and self.weight not in numeric:
            raise refused("weight", describe(self.weight), ", ".join(numeric))
        if self.only is not None:
            try:
                Condition(self.only, columns)
            except ConditionError as error:
                raise refused("only", error.found, error.allowed) from None

    def _check_per(self, per: str) -> None:
        is_bytes = self.source == "bytes" or self.source.endswith("_bytes")
        if not is_bytes or self.reduce == "count":
            raise refused("per", describe(per), f"only of bytes, which {self.source} is not")
        scope, name, quantity = _parts(per)
        known = _FIGURES.get(scope, ()) if scope != "schedule" and name != "*" else ()
        if quantity in known and quantity.endswith("_ps") and (scope == "run") == (name == ""):
            return
        try:
            duration = Duration(per)
        except UnitError as error:
            allowed = f"{error.allowed}, or a duration of the summary, such as job.NAME.run_time_ps"
            raise refused("per", error.found, allowed) from None
        if not duration:
            raise refused("per", describe(per), "more than 0")

    @property
    def source(self) -> str:
        """The quantity, column or plug-in that it is taken from."""
        if self.plug_in is not None:
            return str(self.plug_in).replace("-", "_").replace(".", "_")
        return _parts(self.figure)[2] if self.figure is not None else str(self.column)

    @property
    def job(self) -> str | None:
        """The one job whose figure it is."""
        scope, name, _ = _parts(self.figure or "")
        return name if scope == "job" and name != "*" else None

    @property
    def is_of_schedule(self) -> bool:
        """Whether it is a figure of a job log's schedule, not of a run."""
        return self.figure is not None and _parts(self.figure)[0] == "schedule"

    def _all_units(self) -> Mapping[str, Mapping[str, tuple[str, Fraction]]]:
        return _SCHEDULE_UNITS if self.is_of_schedule else _UNITS

    def _units(self) -> Mapping[str, tuple[str, Fraction]]:
        units = self._all_units()
        if self.per is not None:
            return units["_bytes_per_s"]
        if self.reduce == "count" or self.plug_in is not None:
            return {}
        suffix = next((s for s in units if self.source.endswith(s)), None)
        return {} if suffix is None else units[suffix]

    def _suffix(self) -> str:
        """The unit of its source, as names have it."""
        if self.per is not None:
            return "_bytes_per_s"
        units = self._all_units() if self._units() else {}
        return next((s for s in units if self.source.endswith(s)), "")

    def _stem(self) -> str:
        """The name of its source without the unit."""
        if self.per is not None:
            return self.source.removesuffix("bytes").rstrip("_")
        return self.source.removesuffix(self._suffix())

    @property
    def column_name(self) -> str:
        """Its name in the dataset, with its unit."""
        units = self._units()
        stem = self.name or self._stem()
        if not units:
            return stem
        suffix = units[self.unit][0] if self.unit is not None else self._suffix()
        return stem if stem.endswith(suffix) else (stem + suffix).lstrip("_")

    @property
    def unit_text(self) -> str:
        """Its unit, for people; empty if it has none."""
        if self.unit is not None:
            return "µs" if self.unit == "us" else self.unit
        units = self._units()
        return next((unit for unit, (_, factor) in units.items() if factor == 1), "")

    @property
    def what(self) -> str:
        """What it is, without its unit."""
        return self.about or (self.name or self._stem()).replace("_", " ")

    @property
    def label(self) -> str:
        """What it is, with its unit, for pictures and tables."""
        return f"{self.what}, {self.unit_text}" if self.unit_text else self.what

    def value(self, result: Result | Schedule) -> float | None:
        """The figure of a run or schedule; ``None`` where there is none.

        Such as the end of a job that was cut off.

        Raises:
            KeyError: If there is no job or link class of that name; lists those that exist.
        """
        found: list[float | None]
        weights: list[float | None] | None = None
        if self.plug_in is not None:
            value = measured(find("measure", self.plug_in), result)
            return value if value is not None and math.isfinite(value) else None
        if isinstance(result, Schedule):
            found = [result.figure(self.source)]
        elif self.figure is not None:
            found = _figures(result, self.figure)
        else:
            names = [str(self.column), *([self.weight] if self.weight is not None else [])]
            found, *rest = _columns(result, str(self.table), names, self.only)
            weights = rest[0] if rest else None
        value = found[0] if self.reduce is None else _reduced(found, self.reduce, weights)
        if value is None or not math.isfinite(value):
            return None
        if self.per is not None and not isinstance(result, Schedule):
            time_ps = _duration_ps(result, self.per)
            if not time_ps:
                return None
            value = value / time_ps * 1e12
        factor = self._units()[self.unit][1] if self.unit is not None else Fraction(1)
        return float(Fraction(value) / factor)


def measure_all(measures: Sequence[Measure], result: Result | Schedule) -> dict[str, float | None]:
    """Every measure of a run or schedule, by the name of its column."""
    return {measure.column_name: measure.value(result) for measure in measures}


def _parts(figure: str) -> tuple[str, str, str]:
    """Scope, name (empty for the run) and quantity of a figure."""
    scope, _, rest = figure.partition(".")
    name, _, quantity = rest.rpartition(".")
    return scope, name, quantity


def _duration_ps(result: Result, per: str) -> float | None:
    """A duration, or one of the summary."""
    if _parts(per)[0] in _FIGURES:
        return _figures(result, per)[0]
    return int(Duration(per))


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _figures(result: Result, figure: str) -> list[float | None]:
    scope, name, quantity = _parts(figure)
    summary = result.summary_dict
    if scope == "run":
        return [summary["run"][quantity]]
    rows, key = (summary["jobs"], "name") if scope == "job" else (summary["link_classes"], "class")
    found = [row[quantity] for row in rows if name in ("*", row[key])]
    if not found and name != "*":
        raise KeyError(f"no {scope} {name}; there are {', '.join(row[key] for row in rows)}")
    return found


def _columns(
    result: Result, table: str, names: Sequence[str], only: str | None
) -> list[list[float | None]]:
    """Values of columns in the rows that count and have all of them."""
    rows = result.table(table)
    there = np.ones(len(rows), dtype=bool)
    for name in names:
        there &= rows[name].combine_chunks().is_valid().to_numpy(zero_copy_only=False)
    if only is not None:
        condition = Condition(only, rows.column_names)
        columns = {
            name: rows[name].to_pandas().to_numpy(dtype=object)
            if not _is_number(rows.schema.field(name).type)
            else numbers(rows, name)
            for name in condition.names
        }
        there = there & condition.mask(columns, len(rows))
    return [[value.item() for value in numbers(rows, name)[there]] for name in names]


def _reduced(
    values: Sequence[float | None], reduction: str, weights: Sequence[float | None] | None = None
) -> float | None:
    """One value of many; those that are absent make the whole absent."""
    if reduction == "count":
        return len(values)
    if not values or any(value is None for value in values):
        return None
    if weights is not None:
        return _reduced_by_weight(np.asarray(values, float), reduction, np.asarray(weights, float))
    # Exact for the integers of tables: sums of picoseconds and bytes stay below 2^63.
    data = np.asarray(values)
    if reduction in ("minimum", "maximum"):
        return float(data.min() if reduction == "minimum" else data.max())
    if reduction == "sum":
        return float(data.sum())
    if reduction == "mean":
        return math.fsum(data) / len(data)
    if reduction == "standard-deviation":
        return float(data.std())
    share = 0.5 if reduction == "median" else int(reduction[1:]) / 100
    return float(np.quantile(data, share))


def _reduced_by_weight(
    values: npt.NDArray[np.float64], reduction: str, weights: npt.NDArray[np.float64]
) -> float | None:
    """The same where each value counts as often as its weight says."""
    total = weights.sum()
    if reduction == "sum":
        return float(values @ weights)
    if total == 0:
        return None
    mean = values @ weights / total
    if reduction == "mean":
        return float(mean)
    return math.sqrt((values - mean) ** 2 @ weights / total)
