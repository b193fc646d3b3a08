"""Published findings held against the study's own data; the verdict is computed."""

from __future__ import annotations

import csv
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from odonata.errors import Problem, ScenarioError
from odonata.output import rewriting
from odonata.study.cells import Cell, Estimated, cells, grouped
from odonata.study.expression import Condition, condition_of
from odonata.study.file import Finding, StudyFile

HOLDS, OPEN, FAILS, NOTHING = "holds", "not excluded", "does not hold", "not measured"
#: Verdicts of studies that are judged by intervals.
UNDECIDED, FITTED, UNJUDGED = "undecided", "fitted to", "no verdict under --quick"
#: Keys of the two conditions of a difference or ratio.
_SIDES = ("this", "to")
#: Where the mean of all combinations is, in the rows of a finding about it.
MEAN = "mean"
#: Fewest repetitions that such a study's verdict rests on.
FEWEST = 5


@dataclass(frozen=True)
class Observation:
    """Ours at one combination of the axes.

    Attributes:
        axes: The combination; only axes that the finding leaves open and that vary.
        ours: What was measured, in the unit of the finding; of `best` and `worst`, how much the
            published choice is behind ours, in per cent.
        choice: Of `best` and `worst`: our choice, in words.
        verdict: It holds, it does not, or our interval leaves that open ("not excluded").
        seeds: Repetitions that it rests on: pairs, where two points are compared; of more than
            two points those of the one that has fewest.
    """

    axes: Mapping[str, Any]
    ours: Estimated
    choice: str
    verdict: str
    seeds: int


@dataclass(frozen=True)
class Verdict:
    """A finding and what our data say of it.

    Attributes:
        finding: What was published.
        observations: Ours, combination by combination.
        unit: Of figures: `%`, `×` for multiples, or that of what is measured.
        instead: What stands in the place of a verdict where there is none to be given.
        mean: Of a finding about the mean of all combinations: that mean, if none is missing.
        combination_count: How many combinations the study has; 0 if that is not known.
    """

    finding: Finding
    observations: Sequence[Observation]
    unit: str = "%"
    instead: str = ""
    mean: Observation | None = None
    combination_count: int = 0

    @property
    def counted(self) -> Sequence[Observation]:
        """What the published figure is about: all observations, the extreme one, or the mean."""
        about = self.finding.combinations
        if about == "mean":
            return [self.mean] if self.mean else []
        if not self.observations or about == "every":
            return self.observations
        pick = max if about == "largest" else min
        return [pick(self.observations, key=lambda one: one.ours.value)]

    @property
    def holds(self) -> bool:
        """Whether every observation that counts agrees."""
        return (
            not self.instead
            and bool(self.counted)
            and all(one.verdict == HOLDS for one in self.counted)
        )

    @property
    def text(self) -> str:
        """The verdict in words."""
        counted = self.counted
        if not counted:
            return NOTHING
        if self.instead:
            return self.instead
        agree = sum(one.verdict == HOLDS for one in counted)
        undecided = sum(one.verdict in (OPEN, UNDECIDED) for one in counted)
        if agree == len(counted):
            return HOLDS
        open_ = UNDECIDED if any(one.verdict == UNDECIDED for one in counted) else OPEN
        if undecided == len(counted):
            return open_
        if agree == undecided == 0:
            return FAILS
        also = f", {open_} in {undecided}" if undecided else ""
        return f"holds in {agree} of {len(counted)}{also}"

    @property
    def seeds(self) -> str:
        """Repetitions that the figures rest on: the fewest and, if others have more, the most."""
        counts = [one.seeds for one in self.counted]
        if not counts:
            return "–"
        least, most = min(counts), max(counts)
        return f"{least}" if least == most else f"{least} … {most}"

    @property
    def published(self) -> str:
        """What was published, in words."""
        finding = self.finding
        if finding.values is not None:
            return ", ".join(str(value) for value in finding.values.values())
        low, high = finding.at_least, finding.at_most
        slack = f"{finding.slack:g}{'' if self.unit == '%' else ' %'}"
        about = f" ± {slack}" if finding.slack > 0.5 else ""
        limit = "" if finding.combinations == "every" else f"{finding.combinations}: "
        if low is None:
            return f"{limit}at most {self.published_figure(high)}{about}"
        if high is None:
            return f"{limit}at least {self.published_figure(low)}{about}"
        if low == high:
            return f"{limit}{self.published_figure(low)}{about}"
        first = f"{low:+g}" if self.unit == "%" else f"{low:g}"
        return f"{limit}{first} … {self.published_figure(high)}{about}"

    @property
    def ours(self) -> str:
        """What was measured, in words."""
        counted = self.counted
        if not counted:
            return "–"
        if self.finding.values is not None:
            return "; ".join(dict.fromkeys(one.choice for one in counted))
        values = [one.ours.value for one in counted]
        if len(counted) == 1:
            return self.with_interval(counted[0].ours)
        return f"{self._figure(min(values))} … {self._figure(max(values))} {self.unit}"

    def published_figure(self, value: float | None) -> str:
        """A published figure with its unit."""
        if self.unit == "%":
            return "0 %" if not value else f"{value:+g} %"
        return f"{value or 0:g} {self.unit}"

    def with_interval(self, estimated: Estimated) -> str:
        """A figure with its unit and its interval, where it has one."""
        text = f"{self._figure(estimated.value)} {self.unit}"
        if math.isfinite(estimated.low) and math.isfinite(estimated.high):
            text += f" ({self._figure(estimated.low)} … {self._figure(estimated.high)})"
        return text

    def _figure(self, value: float) -> str:
        if self.unit == "%":
            return f"{value:+.1f}"
        # Three digits that count, without an exponent.
        digits = 2 - math.floor(math.log10(abs(value))) if value else 0
        return f"{value:.{min(max(digits, 0), 9)}f}"


def judge(
    study: StudyFile,
    table: pa.Table,
    *,
    quick: bool = False,
    points: Iterable[Mapping[str, Any]] | None = None,
) -> list[Verdict]:
    """Every finding of a study with what the data say of it.

    Args:
        study: The study.
        table: Its dataset; may lack points.
        quick: Whether the data are of runs under ``--quick``, by which a study that is judged by
            intervals judges nothing.
        points: Values of the axes at every point of the study. A range or a choice among values
            of which the data lack some is then not judged. Default: those in the dataset.

    Raises:
        ScenarioError: If a finding is wrong; names its key.
    """
    axes = [axis.column for axis in study.axis]
    whole = None if points is None else {tuple(one[axis] for axis in axes): one for one in points}
    units = {measure.column_name: measure.unit_text for measure in study.measure}
    found = []
    for position, finding in enumerate(study.finding):
        judged = _Judge(study, axes, table, position, finding, whole)
        observations = judged.observations()
        unit = {"value": units[finding.y], "ratio": "×"}.get(finding.quantity, "%")
        mean = mean_of(study, finding, observations)
        instead = _instead(study, finding, quick)
        count = judged.combination_count()
        found.append(Verdict(finding, observations, unit, instead, mean, count))
    return found


def mean_of(
    study: StudyFile, finding: Finding, observations: Sequence[Observation]
) -> Observation | None:
    """The mean of all combinations, where the finding is about it and there are any.

    Its interval is the mean of theirs. That is as wide as it can be, whatever the combinations
    have in common: runs with the same seed share their random placements.

    Args:
        study: Whose finding it is.
        finding: The finding.
        observations: Ours, at all of its combinations.
    """
    if finding.combinations != "mean" or not observations:
        return None
    ends = zip(
        *((one.ours.value, one.ours.low, one.ours.high) for one in observations), strict=True
    )
    ours = Estimated(*map(statistics.fmean, ends))
    seeds = min(one.seeds for one in observations)
    return Observation({}, ours, "", verdict_of(study, finding, ours, seeds), seeds)


def _instead(study: StudyFile, finding: Finding, quick: bool) -> str:
    """What stands in the place of a verdict, if none is to be given."""
    if study.judged == "intervals" and quick:
        return UNJUDGED
    fits = [one.name for one in study.parameter if finding.claim in (one.fitted_to or ())]
    return f"{FITTED}: {'; '.join(fits)}" if fits else ""


class _Judge:
    """Computes the observations of one finding."""

    def __init__(
        self,
        study: StudyFile,
        axes: list[str],
        table: pa.Table,
        position: int,
        finding: Finding,
        whole: Mapping[tuple[Any, ...], Mapping[str, Any]] | None,
    ) -> None:
        self._study, self._axes, self._finding = study, axes, finding
        self._place = f"finding[{position}]"
        self._only = self._condition("only", finding.only, [*axes, "seed"])
        self._cells = cells(table, axes, finding.y, self._only)
        self._whole = whole

    def _condition(self, key: str, text: str | None, names: list[str]) -> Condition | None:
        return condition_of(text, names, f"{self._place}.{key}", self._study.file)

    def observations(self) -> list[Observation]:
        """Ours, combination by combination."""
        kind = self._finding.quantity
        if kind == "value":
            statistic = self._finding.statistic
            found = [(c, c.estimate(statistic), len(c.values)) for c in self._cells]
        elif kind in ("difference", "ratio"):
            found = self._differences()
        elif kind == "scatter":
            found = [
                (c, c.relative_range(), len(c.values)) for c in self._cells if len(c.values) > 1
            ]
        elif kind == "range":
            found = self._ranges()
        else:
            return self._choices()
        # Neither the extreme nor the mean of a part of the combinations is that of all.
        if self._finding.combinations != "every" and len(found) < self.combination_count():
            return []
        return [
            Observation(
                self._open_axes(cell),
                ours,
                "",
                verdict_of(self._study, self._finding, ours, seeds),
                seeds,
            )
            for cell, ours, seeds in found
            if math.isfinite(ours.value)
        ]

    def _differences(self) -> list[tuple[Cell, Estimated, int]]:
        this = self._condition("this", self._finding.this, self._axes)
        to = self._condition("to", self._finding.to, self._axes)
        assert this is not None and to is not None
        found = []
        for group in grouped(self._cells, self._axes, this.names | to.names).values():
            ones = [cell for cell in group if this.holds(cell.axes)]
            others = [cell for cell in group if to.holds(cell.axes)]
            for key, chosen in (("this", ones), ("to", others)):
                if len(chosen) > 1:
                    message = (
                        f'found "{getattr(self._finding, key)}", which holds for {len(chosen)} '
                        "points that agree in all other axes; allowed: a condition for one of them"
                    )
                    raise ScenarioError(
                        [Problem(f"{self._place}.{key}", message)], self._study.file
                    )
            if ones and others:
                ours = ones[0].difference(others[0], self._finding.statistic)
                ratio = self._finding.quantity == "ratio"
                shown = _multiple(ours) if ratio else _in_percent(ours)
                found.append((ones[0], shown, ones[0].pairs(others[0])))
        return found

    def _complete(self, over: Sequence[str]) -> list[list[Cell]]:
        """Cells that agree in all axes but some; only groups of which no point is missing."""
        groups = grouped(self._cells, self._axes, over)
        sizes = {key: len(there) for key, there in self._wanted(over).items()}
        return [group for key, group in groups.items() if len(group) >= sizes.get(key, 0)]

    def _wanted(self, apart: Iterable[str]) -> dict[tuple[Any, ...], list[Cell]]:
        """The study's cells that count, grouped; none where it is not known which these are."""
        if self._whole is None or "seed" in (self._only.names if self._only else ()):
            return {}
        wanted = [
            Cell(axes, {})
            for axes in self._whole.values()
            if not self._only or self._only.holds(axes)
        ]
        return grouped(wanted, self._axes, apart)

    def combination_count(self) -> int:
        """Number of combinations at which the study has what the finding is computed of."""
        groups = self._wanted(self._compared()).values()
        if self._finding.quantity == "range":
            return sum(len(group) > 1 for group in groups)
        compared = [self._condition(key, getattr(self._finding, key), self._axes) for key in _SIDES]
        return sum(
            all(side is None or any(side.holds(cell.axes) for cell in group) for side in compared)
            for group in groups
        )

    def _ranges(self) -> list[tuple[Cell, Estimated, int]]:
        found = []
        over = self._finding.over or []
        for group in self._complete(over):
            if len(group) < 2:
                continue
            least, most = self._ends(group)
            ours = most.difference(least, self._finding.statistic)
            found.append((group[0], _in_percent(ours), min(len(cell.values) for cell in group)))
        return found

    def _ends(self, group: Sequence[Cell]) -> tuple[Cell, Cell]:
        """The cells with the smallest and the largest figure."""

        def figure(cell: Cell) -> float:
            return cell.figure(self._finding.statistic)

        return min(group, key=figure), max(group, key=figure)

    def _choices(self) -> list[Observation]:
        over, values = self._finding.over or [], self._finding.values or {}
        found = []
        for group in self._complete(over):
            named = [c for c in group if all(c.axes[axis] == values[axis] for axis in over)]
            if len(group) < 2 or not named:
                continue
            least, most = self._ends(group)
            ours = least if self._finding.quantity == "best" else most
            behind = _in_percent(named[0].difference(ours, self._finding.statistic))
            seeds = min(named[0].pairs(cell) for cell in group)
            verdict = self._choice(named[0], ours, group, seeds)
            choice = ", ".join(str(ours.axes[axis]) for axis in over)
            found.append(Observation(self._open_axes(ours, over), behind, choice, verdict, seeds))
        return found

    def _choice(self, named: Cell, ours: Cell, group: Sequence[Cell], seeds: int) -> str:
        """Whether the choice that was published is ours.

        Judged by intervals it has to be ahead of every other choice by more than the interval,
        and behind one of them by more to fail.
        """
        if self._study.judged != "intervals":
            if named is ours:
                return HOLDS
            behind = named.difference(ours, self._finding.statistic)
            sure = not math.isfinite(behind.low) or not behind.low <= 0 <= behind.high
            return FAILS if sure else OPEN
        if seeds < FEWEST:
            return UNDECIDED
        apart = [
            named.difference(cell, self._finding.statistic) for cell in group if cell is not named
        ]
        if self._finding.quantity == "worst":
            apart = [Estimated(-one.value, -one.high, -one.low) for one in apart]
        if any(one.low > 0 for one in apart):
            return FAILS
        return HOLDS if all(one.high < 0 for one in apart) else UNDECIDED

    def _open_axes(self, cell: Cell, more: Sequence[str] = ()) -> dict[str, Any]:
        """The axes of a cell that the finding does not compare and that vary in its data."""
        compared = self._compared() | set(more)
        return {
            axis: value
            for axis, value in cell.axes.items()
            if axis not in compared and len({other.axes[axis] for other in self._cells}) > 1
        }

    def _compared(self) -> set[str]:
        """The axes whose values the finding compares."""
        compared = set(self._finding.over or ())
        for key in _SIDES:
            condition = self._condition(key, getattr(self._finding, key), self._axes)
            compared |= condition.names if condition is not None else frozenset()
        return compared


def verdict_of(study: StudyFile, finding: Finding, ours: Estimated, seeds: int) -> str:
    """What a figure says of a finding that is a range of figures.

    Args:
        study: Whose finding it is; says whether it is judged by intervals.
        finding: The finding; not a choice.
        ours: The figure, in the finding's unit.
        seeds: Repetitions that it rests on.
    """
    low = -math.inf if finding.at_least is None else finding.at_least
    high = math.inf if finding.at_most is None else finding.at_most
    if finding.quantity in ("value", "ratio"):
        low *= 1 - math.copysign(finding.slack / 100, low)
        high *= 1 + math.copysign(finding.slack / 100, high)
    else:
        low, high = low - finding.slack, high + finding.slack
    if study.judged == "intervals":
        return UNDECIDED if seeds < FEWEST else _by_interval(ours, low, high)
    if low <= ours.value <= high:
        return HOLDS
    if math.isfinite(ours.low) and ours.low <= high and ours.high >= low:
        return OPEN
    return FAILS


def _by_interval(ours: Estimated, low: float, high: float) -> str:
    """Whether all of an interval lies in a range, none of it, or some."""
    if not math.isfinite(ours.low):
        return UNDECIDED
    if low <= ours.low and ours.high <= high:
        return HOLDS
    return FAILS if ours.high < low or ours.low > high else UNDECIDED


def _in_percent(share: Estimated) -> Estimated:
    return Estimated(100 * share.value, 100 * share.low, 100 * share.high)


def _multiple(share: Estimated) -> Estimated:
    return Estimated(1 + share.value, 1 + share.low, 1 + share.high)


_COLUMNS = (
    *("finding", "claim", "source", "published", "at", "unit", "ours", "ci95_low", "ci95_high"),
    *("our_choice", "seeds", "verdict"),
)


def write_findings(verdicts: Sequence[Verdict], file: Path) -> None:
    """Writes every observation as a row of a CSV file, and their mean where it is what counts."""
    with rewriting(file, "w") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for number, verdict in enumerate(verdicts):
            for one in (*verdict.observations, *([verdict.mean] if verdict.mean else [])):
                at = ", ".join(f"{axis}={value}" for axis, value in one.axes.items())
                at = MEAN if one is verdict.mean else at
                # All digits, zeros too: judged again, they give the same verdicts.
                ours = [
                    "" if math.isnan(v) else f"{v:#.17g}"
                    for v in (one.ours.value, one.ours.low, one.ours.high)
                ]
                finding = (number, verdict.finding.claim, verdict.finding.source, verdict.published)
                judged = (one.choice, one.seeds, one.verdict)
                writer.writerow([*finding, at, verdict.unit, *ours, *judged])
