"""The points of a study file: every combination of its axes, every repetition."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from odonata.errors import Problem, ScenarioError, SimulationError
from odonata.plug_ins import find
from odonata.results.tables import SCHEMA_VERSION
from odonata.scenario import Scenario, set_key
from odonata.scenario.files import fingerprints_of, missing_files
from odonata.scenario.toml_source import covers
from odonata.study.bases import Label
from odonata.study.cost import packet_hops
from odonata.study.expression import Condition, condition_of
from odonata.study.file import StudyFile

#: Combinations that a study may simulate; more is a mistake in an axis.
MOST_COMBINATIONS = 1_000_000

#: Combinations and beginnings of combinations that its conditions may be asked about, at some
#: hundred thousand per second.
MOST_TRIED = 20_000_000


@dataclass(frozen=True)
class SweepPoint:
    """One simulation of a study.

    Attributes:
        number: Its place among all points of the study, from 0.
        axes: Its value on every axis, by name; ``None`` where the axis does not apply.
        scenario: What is simulated.
        scenario_fingerprint: SHA-256 of all that its result depends on: the engine's form of the
            scenario, and the contents of the files that it names.
        measures: What is kept, as in the study file.
        packet_hops: Estimate of the work; ``None`` if unknown.
    """

    number: int
    axes: Mapping[str, Label | None]
    scenario: Scenario
    scenario_fingerprint: str
    measures: Sequence[Mapping[str, Any]]
    packet_hops: float | None

    @property
    def name(self) -> str:
        """What it is, for people."""
        parts = [f"{name}={value}" for name, value in self.axes.items() if value is not None]
        return ", ".join([*parts, f"seed={self.scenario.seed}"])

    @cached_property
    def _fingerprint(self) -> str:
        from odonata import _engine

        what = [self.scenario_fingerprint, self.measures, _engine.SOURCES, SCHEMA_VERSION]
        plug_ins = [measure["plug_in"] for measure in self.measures if "plug_in" in measure]
        what += [find("measure", name).source for name in plug_ins]
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()

    def fingerprint(self) -> str:
        """Changes with whatever changes its record: scenario, files, measures, engine."""
        return self._fingerprint


@dataclass(frozen=True)
class FailedPoint:
    """A point that cannot be simulated.

    Attributes:
        axes: Its value on every axis, by name.
        error: Why.
        seed: Of its scenario, if it came to be one.
    """

    axes: Mapping[str, Label | None]
    error: str
    seed: int | None = None

    @property
    def row(self) -> dict[str, Any]:
        """It as a row of a table."""
        return {**self.axes, "seed": self.seed, "error": self.error}


class Sweep:
    """All points of a study.

    Args:
        study: The study.
        quick: Whether its ``[quick]`` table applies.
        go_on: Whether points that cannot be are left out, as long as each value of each axis has
            one that can; what they are and why is in :attr:`failed`.

    Raises:
        ScenarioError: If an axis, a condition or a point is wrong; of a point, the error names
            the axis and the value that made it so.
    """

    def __init__(self, study: StudyFile, *, quick: bool = False, go_on: bool = False) -> None:
        self.study = study
        self.quick = quick
        self.go_on = go_on
        #: Points that cannot be simulated, or failed when they were.
        self.failed: list[FailedPoint] = []
        #: Names of the axes, in the order of the file.
        self.axes: tuple[str, ...] = tuple(axis.column for axis in study.axis)
        if quick and study.quick is None:
            allowed = "a table [quick] that says what is less"
            raise ScenarioError(
                [Problem("quick", f"found nothing; allowed: {allowed}", "nothing", allowed)],
                study.file,
            )
        self._base, self._directory, self._base_file = study.base_scenario()
        self._settings = [axis.settings() for axis in study.axis]
        self._blocks = _blocks(study, self._settings)
        self._when = [
            self._condition(f"axis[{n}].when", axis.when, self.axes[:n])
            for n, axis in enumerate(study.axis)
        ]
        self._rules = [
            (self._condition(f"rule[{n}].when", rule.when), rule)
            for n, rule in enumerate(study.rule)
        ]
        self.points = self._points()

    def _condition(
        self, key: str, text: str | None, names: Sequence[str] | None = None
    ) -> Condition | None:
        return condition_of(text, self.axes if names is None else names, key, self.study.file)

    def select(self, text: str) -> list[SweepPoint]:
        """The points for which a condition on the axes and ``seed`` is true.

        Raises:
            ScenarioError: If it is no condition.
        """
        condition = self._condition("--only", text, (*self.axes, "seed"))
        assert condition is not None
        return [p for p in self.points if condition.holds({**p.axes, "seed": p.scenario.seed})]

    # --- Points -----------------------------------------------------------------------

    def _points(self) -> list[SweepPoint]:
        study = self.study
        wanted = [self._condition("where", study.where)]
        most = None
        if self.quick and study.quick is not None:
            wanted.append(self._condition("quick.only", study.quick.only))
            most = study.quick.repetitions
        counts = self._counts()
        measures = [m.as_written("all") for m in study.measure]
        points: list[SweepPoint] = []
        seen: dict[tuple[int | None, ...], dict[str, Label | None]] = {}
        for choice, axes in self._choices([c for c in wanted if c is not None]):
            # Axes that vary together and do not apply make combinations alike.
            seen.setdefault(choice, axes)
            if len(seen) > MOST_COMBINATIONS:
                self._too_many(f"{MOST_COMBINATIONS:,} combinations")
        errors: dict[tuple[int | None, ...], ScenarioError] = {}
        for choice, axes in seen.items():
            try:
                data, origin = self._changed(choice, axes)
                scenario = self._checked(data, origin, axes)
            except ScenarioError as error:
                if not self.go_on:
                    raise
                errors[choice] = error
                self.failed.append(FailedPoint(axes, str(error)))
                continue
            repetitions = next(
                (
                    count
                    for condition, count in counts
                    if condition is None or condition.holds(axes)
                ),
                1,
            )
            self._check_measures(scenario)
            hops = packet_hops(scenario)
            seeds = self._seeds(scenario.seed, min(repetitions, most or repetitions))
            for seed, fingerprint in zip(seeds, fingerprints_of(scenario, seeds), strict=True):
                points.append(
                    SweepPoint(
                        len(points), axes, scenario.with_seed(seed), fingerprint, measures, hops
                    )
                )
        for choice, wrong in errors.items():
            # A value that is wrong wherever it stands is a mistake of who wrote it.
            for number, position in enumerate(choice):
                if all(other in errors for other in seen if other[number] == position):
                    raise wrong
        if not points:
            message = "leaves no point; allowed: conditions that are true of some combination"
            raise ScenarioError([Problem("where", message)], study.file)
        return points

    def _choices(
        self, wanted: Sequence[Condition]
    ) -> Iterator[tuple[tuple[int | None, ...], dict[str, Label | None]]]:
        """Combinations for which all that is wanted is true.

        Yields:
            The position of each axis' value, and by the axis' name what it is called; both None
            where the axis does not apply. Some come several times where axes vary together.
        """
        first = {axis: block[0] for block in self._blocks for axis in block}
        alone = {block[0] for block in self._blocks if len(block) == 1}
        taken: dict[int, int] = {}
        choice: list[int | None] = []
        axes: dict[str, Label | None] = {}
        tried = 0

        def chosen(number: int) -> Iterator[tuple[tuple[int | None, ...], dict[str, Label | None]]]:
            nonlocal tried
            tried += 1
            if tried > MOST_TRIED:
                self._too_many(f"{MOST_TRIED:,} combinations and beginnings of combinations to try")
            # As soon as a condition fails, so do all combinations with the same beginning.
            # Conditions without the last name are known not to fail.
            last = self.axes[number - 1] if number else None
            if any(
                condition.fails(axes)
                for condition in wanted
                if last is None or last in condition.names
            ):
                return
            if number == len(self._settings):
                yield tuple(choice), dict(axes)
                return
            condition = self._when[number]
            applies = condition is None or condition.holds(axes)
            begins = first[number] == number
            name = self.axes[number]
            positions: Sequence[int] = range(len(self._settings[number]))
            if not begins:
                positions = (taken[first[number]],)
            elif not applies and number in alone:
                # All its values make the same combinations.
                positions = positions[:1]
            for position in positions:
                if begins:
                    taken[number] = position
                choice.append(position if applies else None)
                axes[name] = self._settings[number][position][0] if applies else None
                yield from chosen(number + 1)
                choice.pop()
                del axes[name]

        return chosen(0)

    def _too_many(self, what: str) -> NoReturn:
        message = (
            f"found more than {what}; allowed: fewer values, or conditions (`where`, `when`) that "
            "are true of fewer of them"
        )
        raise ScenarioError([Problem("axis", message)], self.study.file)

    def _changed(
        self, choice: Sequence[int | None], axes: Mapping[str, Label | None]
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """The base scenario with the keys set, and for each path that was set what set it."""
        data = copy.deepcopy(self._base)
        origin: dict[str, str] = {}
        for number, (axis, position) in enumerate(zip(self.study.axis, choice, strict=True)):
            if position is None:
                continue
            part = "setting" if axis.setting is not None else "values"
            place = f"axis[{number}].{part}[{position}]"
            for key, value in self._settings[number][position][1].items():
                self._set(data, key, value, place, axes, origin)
        for number, (condition, rule) in enumerate(self._rules):
            if condition is None or condition.holds(axes):
                for key, value in rule.set.items():
                    self._set(data, key, value, f"rule[{number}].set", axes, origin)
        if self.quick and self.study.quick is not None:
            for key, value in self.study.quick.set.items():
                self._set(data, key, value, "quick.set", axes, origin)
        return data, origin

    def _set(
        self,
        data: dict[str, Any],
        key: str,
        value: Any,
        place: str,
        axes: Mapping[str, Label | None],
        origin: dict[str, str],
    ) -> None:
        try:
            for path in set_key(data, key, value):
                origin[path] = place
        except ScenarioError as error:
            raise ScenarioError(
                [_blamed(p, place, axes) for p in error.problems], self.study.file
            ) from None

    def _checked(
        self, data: Mapping[str, Any], origin: Mapping[str, str], axes: Mapping[str, Label | None]
    ) -> Scenario:
        """The scenario of a point, or an error that names the axis."""
        try:
            scenario = Scenario.from_dict(data, file=self._base_file, directory=self._directory)
            missing = missing_files(scenario)
            if missing:
                raise ScenarioError(missing, self._base_file)
        except ScenarioError as error:
            found = []
            for one in error.problems:
                place = next(
                    (origin[p] for p in reversed(list(origin)) if one.path and covers(p, one.path)),
                    "",
                )
                table = one.path.rpartition(".")[0]
                if not place and table and any(p.rpartition(".")[0] == table for p in origin):
                    advice = f"; or vary `{table}` as a whole: each value then brings its own keys"
                    one = replace(one, message=one.message + advice)
                if not place and self.study.scenario is not None:
                    place = "scenario"
                found.append(_blamed(one, place or f"base ({self.study.base})", axes))
            raise ScenarioError(found, self.study.file) from None
        return scenario

    def _check_measures(self, scenario: Scenario) -> None:
        """That what is kept is a figure of what is simulated: a run, or a job log's schedule."""
        is_schedule = scenario.schedule is not None
        for number, measure in enumerate(self.study.measure):
            if measure.is_of_schedule == is_schedule or measure.plug_in is not None:
                continue
            found = measure.figure or f"the table {measure.table}"
            allowed = "schedule.QUANTITY, as the scenario has a [schedule]"
            if not is_schedule:
                allowed = "a figure or table of a run, as the scenario has no [schedule]"
            problem = Problem(
                f"measure[{number}]", f'found "{found}"; allowed: {allowed}', found, allowed
            )
            raise ScenarioError([problem], self.study.file)

    def _counts(self) -> list[tuple[Condition | None, int]]:
        if isinstance(self.study.repetitions, int):
            return [(None, self.study.repetitions)]
        counts = [
            (self._condition(f"repetitions[{n}].when", entry.when), entry.count)
            for n, entry in enumerate(self.study.repetitions)
        ]
        given = len(self.study.seeds or ())
        most = max(count for _, count in counts)
        if self.study.seeds is not None and given < most:
            self._too_few_seeds(given, most)
        return counts

    def _seeds(self, first: int, count: int) -> Sequence[int]:
        seeds = self.study.seeds
        if seeds is None:
            return range(first, first + count)
        if len(seeds) < count:
            self._too_few_seeds(len(seeds), count)
        return seeds[:count]

    def _too_few_seeds(self, given: int, wanted: int) -> None:
        message = f"found {given} seeds; allowed: one for each of {wanted} repetitions"
        raise ScenarioError([Problem("seeds", message)], self.study.file)


def raise_failed(sweep: Sweep, directory: Path) -> None:
    """Ends a command of whose points some failed, which it has told.

    Raises:
        SimulationError: If some did.
    """
    from odonata.study.dataset import FAILED_FILE

    if sweep.failed:
        count, all_ = len(sweep.failed), len(sweep.failed) + len(sweep.points)
        all_ -= sum(one.seed is not None for one in sweep.failed)
        raise SimulationError(
            f"{count:,} of {all_:,} points failed; {directory / FAILED_FILE} says why of each"
        )


def _blocks(
    study: StudyFile, settings: Sequence[Sequence[tuple[Label, dict[str, Any]]]]
) -> list[list[int]]:
    """Axes that advance together, as positions in the file.

    Raises:
        ScenarioError: If zipped axes have different numbers of values.
    """
    blocks: dict[Any, list[int]] = {}
    for number, axis in enumerate(study.axis):
        blocks.setdefault(("zip", axis.zip) if axis.zip else number, []).append(number)
    for block in blocks.values():
        first = len(settings[block[0]])
        for number in block[1:]:
            found = len(settings[number])
            if found != first:
                allowed = f"{first}, as axis[{block[0]}] has, with which it is zipped"
                message = f"found {found} values; allowed: {allowed}"
                problem = Problem(f"axis[{number}].values", message, str(found), allowed)
                raise ScenarioError([problem], study.file)
    return list(blocks.values())


def _blamed(problem: Problem, place: str, axes: Mapping[str, Label | None]) -> Problem:
    """The problem, said of the place in the study file that made it."""
    point = ", ".join(f"{name}={value}" for name, value in axes.items() if value is not None)
    key = f"{problem.path}: " if problem.path else ""
    where = f" (at the point {point})" if point else ""
    return replace(problem, path=place, message=f"{key}{problem.message}{where}")
