"""What tables of study files can do beside their keys, which the engine declares."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odonata.errors import Problem, ScenarioError
from odonata.scenario import Scenario
from odonata.scenario.problem import refused
from odonata.scenario.toml_source import parse_toml, read_text, with_lines
from odonata.scenario.toml_text import toml_text
from odonata.table import Table
from odonata.units import describe

if TYPE_CHECKING:
    from typing_extensions import Self

#: Copies of the study file and of its base scenario in a study's directory.
STUDY_FILE = "study.toml"
BASE_FILE = "base.toml"
#: Columns that every dataset has.
FIXED_COLUMNS = ("point", "seed", "saturated", "aborted", "fingerprint", "version")

#: A value by which people know a point.
Label = str | bool | int | float


class StudyTable(Table):
    """A table of a study file."""

    def __init__(self, /, **values: Any) -> None:
        super().__init__(**values)
        if found := _mistakes(self):
            raise ScenarioError(found)

    def check(self) -> None:
        """Checks what the engine knows nothing of, where the tables in it are right.

        Raises:
            ScenarioError: If it is wrong.
        """


def _mistakes(table: StudyTable) -> Sequence[Problem]:
    found: list[Problem] = []
    for key in type(table).keys.values():
        inner = getattr(table, key.name)
        is_list = isinstance(inner, list)
        for position, one in enumerate(inner if is_list else [inner]):
            if isinstance(one, StudyTable):
                place = f"{key.key}[{position}]" if is_list else key.key
                found += [replace(two, path=f"{place}.{two.path}") for two in _mistakes(one)]
    if found:
        return found
    try:
        table.check()
    except ScenarioError as error:
        return error.problems
    return ()


class AxisBase(StudyTable):
    """What an axis can do."""

    def check(self) -> None:
        """Checks that each of the values has a label."""
        if self.labels is not None and len(self.labels) != len(self.values or ()):
            allowed = f"one for each of the {len(self.values or ())} values"
            raise refused("labels", describe(self.labels), allowed)
        if self.labels is None:
            for position, value in enumerate(self.values or ()):
                if not isinstance(value, Label):
                    allowed = "a text, a number or true/false; give the others `labels`"
                    raise refused(f"values[{position}]", describe(value), allowed)

    @property
    def column(self) -> str:
        """Its name in the dataset."""
        if self.name is not None:
            return str(self.name)
        first = self.key if isinstance(self.key, str) else (self.key or [""])[0]
        return first.rsplit(".", 1)[-1].replace("-", "_")

    def settings(self) -> list[tuple[Label, dict[str, Any]]]:
        """For each value what it is called and the keys that it sets."""
        if self.setting is not None:
            return [(one.label, one.set) for one in self.setting]
        keys = [self.key] if isinstance(self.key, str) else list(self.key or ())
        found = []
        for position, value in enumerate(self.values or ()):
            label = value if self.labels is None else self.labels[position]
            text = value if self.format is None else self.format.replace("{}", str(value))
            found.append((label, dict.fromkeys(keys, text)))
        return found


class FindingBase(StudyTable):
    """What a finding can do."""

    def check(self) -> None:
        """Checks that the published values are those of the axes that are compared."""
        if self.values is not None and set(self.values) != set(self.over or ()):
            raise refused("values", ", ".join(self.values), ", ".join(self.over or ()))


class StudyBase(StudyTable):
    """What a study can do."""

    #: The file it was read from, or an empty string.
    file: str
    #: The base scenario of a study that was never a file.
    _base: Scenario | None

    def __init__(self, /, **values: Any) -> None:
        self.__dict__.update(file="", _base=None)
        super().__init__(**values)

    def check(self) -> None:
        """Checks that names are unique, and that figures and findings use those there are."""
        taken = dict.fromkeys(FIXED_COLUMNS, "a column of every dataset")
        for place, names in (
            ("axis", [axis.column for axis in self.axis]),
            ("measure", [measure.column_name for measure in self.measure]),
        ):
            for position, name in enumerate(names):
                if name in taken:
                    allowed = f"a name that differs from {taken[name]}"
                    raise refused(f"{place}[{position}].name", f'"{name}"', allowed)
                taken[name] = f"that of {place}[{position}]"
        axes = [axis.column for axis in self.axis]
        measures = [measure.column_name for measure in self.measure]
        for position, figure in enumerate(self.figure):
            wanted = {"x": figure.x, "series": figure.series}
            wanted |= {f"facets[{n}]": facet for n, facet in enumerate(figure.facets)}
            for key, name in wanted.items():
                if name is not None and name not in axes:
                    raise refused(f"figure[{position}].{key}", f'"{name}"', _axes(axes))
            _known(f"figure[{position}].y", figure.y, measures)
            for number, name in enumerate(figure.quantiles or ()):
                _known(f"figure[{position}].quantiles[{number}]", name, measures)
        claims = [finding.claim for finding in self.finding]
        for position, parameter in enumerate(self.parameter):
            for number, claim in enumerate(parameter.fitted_to or ()):
                if claim not in claims:
                    key = f"parameter[{position}].fitted_to[{number}]"
                    raise refused(key, f'"{claim}"', "the claim of a finding of this study")
        for position, finding in enumerate(self.finding):
            _known(f"finding[{position}].y", finding.y, measures)
            for number, name in enumerate(finding.over or ()):
                if name not in axes:
                    raise refused(f"finding[{position}].over[{number}]", f'"{name}"', _axes(axes))

    @classmethod
    def from_file(cls, file: str | os.PathLike[str]) -> Self:
        """Reads and checks a study file. Paths in it are relative to it.

        Raises:
            ScenarioError: If it cannot be read, is no TOML, or is no study; the error names every
                key that is wrong, what was found there and what is allowed.
        """
        name = os.fspath(file)
        text = read_text(file)
        try:
            return cls.from_dict(parse_toml(text, name), file=name)
        except ScenarioError as error:
            raise with_lines(error, text) from None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], *, file: str = "") -> Self:
        """Checks a study given as nested dicts and lists.

        Args:
            data: The study.
            file: Where it comes from: for messages, and paths in it are relative to this file.

        Raises:
            ScenarioError: If it is no study.
        """
        try:
            study = cls(**data)
        except ScenarioError as error:
            raise ScenarioError(error.problems, file) from None
        study.__dict__["file"] = file
        return study

    @classmethod
    def of_scenario(cls, data: Mapping[str, Any], base: Scenario) -> Self:
        """Checks a study of a scenario in memory, given as nested dicts and lists.

        Args:
            data: The study without `base` and `scenario`.
            base: The base scenario.

        Raises:
            ScenarioError: If it is no study.
        """
        study = cls.from_dict({**data, "base": BASE_FILE}, file=base.file)
        study.__dict__["_base"] = base
        return study

    def with_figures(self, figures: Sequence[Mapping[str, Any]]) -> Self:
        """The same study with other pictures."""
        data = {**self.to_dict(), "figure": list(figures)}
        study = self.from_dict(data, file=self.file)
        study.__dict__["_base"] = self._base
        return study

    def to_dict(self) -> dict[str, Any]:
        """The study as nested dicts and lists, without what is as by default."""
        return self.as_written("changed")

    def sources(self, directory: Path) -> dict[str, str]:
        """Texts of the study file, and of its base scenario if that is another file.

        Args:
            directory: Where they will lie: paths in a scenario that was none are made relative to
                there. Those of files stay as they are.

        Returns:
            By the names of the files; empty for a study without any.

        Raises:
            ScenarioError: If one cannot be read.
        """
        if self._base is not None:
            return {
                STUDY_FILE: toml_text(self.to_dict()),
                BASE_FILE: self._base.to_toml(directory=directory),
            }
        files = {STUDY_FILE: self.file, BASE_FILE: self.base and str(self.directory / self.base)}
        return {name: read_text(file) for name, file in files.items() if file}

    @property
    def directory(self) -> Path:
        """What the paths in it are relative to."""
        return Path(self.file).parent if self.file else Path()

    def base_scenario(self) -> tuple[dict[str, Any], Path, str]:
        """The base scenario as nested dicts and lists, not checked yet.

        Returns:
            It, the directory that its paths are relative to, and its file.

        Raises:
            ScenarioError: If its file cannot be read or is no TOML.
        """
        if self._base is not None:
            return self._base.to_dict(), self._base.directory, self._base.file
        if self.scenario is not None:
            return self.scenario, self.directory, self.file
        path = self.directory / (self.base or "")
        if not path.is_file():
            found = f'found "{self.base}", which is no file; allowed: a scenario file'
            raise ScenarioError([Problem("base", found, str(self.base))], self.file)
        return parse_toml(read_text(path), str(path)), path.parent, str(path)


def _axes(names: list[str]) -> str:
    return "an axis: " + ", ".join(names)


def _known(key: str, name: str, measures: list[str]) -> None:
    if name not in measures:
        raise refused(key, f'"{name}"', "a measure: " + ", ".join(measures))
