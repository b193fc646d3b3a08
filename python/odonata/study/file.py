"""Study files: a scenario, the axes along which it changes, what to measure, what to draw."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr, Tag, ValidationError, model_validator
from typing_extensions import Self

from odonata.errors import Problem, ScenarioError
from odonata.scenario import Scenario
from odonata.scenario.model import Count, Index, Table, by_form, is_list, is_number, is_text, tag
from odonata.scenario.problem import problem, problems
from odonata.scenario.toml_source import parse_toml, read_text, with_lines
from odonata.scenario.toml_text import toml_text
from odonata.study.measures import Measure
from odonata.units import describe

#: Copies of the study file and of its base scenario in a study's directory.
STUDY_FILE = "study.toml"
BASE_FILE = "base.toml"

#: A name that becomes a column of the dataset.
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=60)]
#: A name that becomes a file.
FileName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=60)]
#: Numbers that are whole are integers too; exactly one form of a label may fit.
_FRACTIONAL: Any = {"not": {"type": "integer"}}
#: A value by which people know a point.
Label = Annotated[
    Annotated[str, Tag(tag("a text"))]
    | Annotated[bool, Tag(tag("true or false"))]
    | Annotated[int, Tag(tag("a whole number"))]
    | Annotated[
        float,
        Field(allow_inf_nan=False, json_schema_extra=_FRACTIONAL),
        Tag(tag("a number")),
    ],
    by_form(
        {
            "a text": is_text,
            "true or false": lambda value: isinstance(value, bool),
            "a whole number": lambda value: isinstance(value, int),
            "a number": is_number,
        }
    ),
]

#: Columns that every dataset has.
FIXED_COLUMNS = ("point", "seed", "saturated", "fingerprint", "version")


class Setting(Table):
    """One value of an axis that sets several keys."""

    label: Label
    """What the value is called in the dataset, in pictures and in conditions."""
    set: dict[str, Any]
    """Keys of the scenario and their values."""


class Axis(Table):
    """What changes from point to point: one key over some values, or several keys together."""

    name: Name | None = None
    """Name in the dataset, with its unit if it has one. Default: the last part of `key`."""
    key: (
        Annotated[
            Annotated[str, Tag(tag("a key"))]
            | Annotated[Annotated[list[str], Field(min_length=1)], Tag(tag("a list of keys"))],
            by_form({"a key": is_text, "a list of keys": is_list}),
        ]
        | None
    ) = None
    """Key of the scenario that the values are for, as of `--set`, or several that get the same
    value. `job.*.nodes` is a key of every job."""
    values: Annotated[list[Any], Field(min_length=1)] | None = None
    """The values."""
    format: str | None = None
    """Text with `{}` for the value, such as `"{} GB/s"`: sets that, and the dataset has the
    number."""
    labels: Annotated[list[Label], Field(min_length=1)] | None = None
    """What the values are called, one for each; needed where they are tables or lists."""
    setting: Annotated[list[Setting], Field(min_length=1)] | None = None
    """Instead of `key` and `values`: for each value the keys that it sets."""
    zip: Name | None = None
    """Axes with the same word here advance together instead of being combined."""
    when: str | None = None
    """Condition on the axes before this one. Elsewhere the axis sets nothing and is empty in
    the dataset."""

    @model_validator(mode="after")
    def _one_form(self) -> Axis:
        if self.setting is not None:
            for key in ("key", "values", "format", "labels"):
                if getattr(self, key) is not None:
                    raise problem(key, describe(getattr(self, key)), "only without `setting`")
            if self.name is None:
                raise problem("name", "nothing", "a name, as there is no `key` to take it from")
        else:
            for key in ("key", "values"):
                if getattr(self, key) is None:
                    raise problem(key, "nothing", "a value, or `setting`")
            if self.labels is not None and len(self.labels) != len(self.values or ()):
                allowed = f"one for each of the {len(self.values or ())} values"
                raise problem("labels", describe(self.labels), allowed)
            if self.format is not None and "{}" not in self.format:
                raise problem("format", describe(self.format), "a text with {} for the value")
            if self.labels is None:
                for position, value in enumerate(self.values or ()):
                    if not isinstance(value, (str, int, float)):
                        allowed = "a text, a number or true/false; give the others `labels`"
                        raise problem(f"values[{position}]", describe(value), allowed)
        return self

    @property
    def column(self) -> str:
        """Its name in the dataset."""
        if self.name is not None:
            return self.name
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


class Rule(Table):
    """Keys that follow from the values of the axes, without being an axis."""

    when: str
    """Condition on the axes."""
    set: dict[str, Any]
    """Keys of the scenario and their values, where it is true."""


class Repetitions(Table):
    """How often the points are simulated for which a condition is true."""

    when: str | None = None
    """Condition on the axes. Default: all points that no earlier entry is for."""
    count: Count
    """Repetitions."""


class Figure(Table):
    """A picture drawn from the dataset."""

    name: FileName
    """Name of its file, without `.png`."""
    title: str = ""
    """What it shows."""
    kind: Literal["line", "bar", "box"] = "line"
    """Lines with markers, bars side by side, or boxes (median, quartiles, whiskers to the
    extremes) of the repetitions, or of what each of them found (`quantiles`)."""
    x: Name
    """Axis along the picture."""
    y: Name
    """What is measured."""
    quantiles: Annotated[list[Name], Field(min_length=5, max_length=5)] | None = None
    """For boxes: measures that are the minimum, lower quartile, median, upper quartile and maximum
    within one run, such as those of message latencies; `y` is then drawn as a mark. Of several
    repetitions the `statistic` of each."""
    series: Name | None = None
    """Axis whose values are the lines, or the bars of a group."""
    facets: Annotated[list[Name], Field(max_length=2)] = Field(default_factory=list)
    """Axes whose values have a panel each: columns, and rows."""
    only: str | None = None
    """Condition on the points that are drawn."""
    statistic: Literal["mean", "median", "minimum", "maximum"] = "mean"
    """What of the repetitions is drawn; a mean with its 95 % confidence interval."""
    relative_to: str | None = None
    """Condition that chooses, among the points that agree in all axes it does not name, the one
    that values are divided by."""
    x_label: str = ""
    """Default: the axis' name."""
    y_label: str = ""
    """Default: the measure's name."""
    log_x: bool = False
    """Logarithmic scale."""
    log_y: bool = False
    """Logarithmic scale."""
    y_from_zero: bool = True
    """Whether the vertical scale begins at 0."""
    share_y: bool = True
    """Whether all panels have one vertical scale."""

    @model_validator(mode="after")
    def _boxes_of_one_kind(self) -> Figure:
        if self.quantiles is not None:
            if self.kind != "box":
                raise problem("quantiles", "a value", 'no value, but with kind = "box"')
            if self.relative_to is not None:
                raise problem("relative_to", describe(self.relative_to), "no value with quantiles")
        return self


class Finding(Table):
    """A published statement, or one of our own, to be held against what is measured here."""

    claim: str
    """What they found, in words."""
    source: str
    """Where: publication, figure or table; of a statement of our own, what it is taken from."""
    own: bool = False
    """Whether it is a statement of our own: what was published of another machine or other traffic,
    asked of this one. The page lists such statements apart from published findings."""
    quantity: Literal["value", "difference", "ratio", "range", "scatter", "best", "worst"]
    """What is computed of `y`, for every combination of the other axes: its `value` itself; the
    `difference` of the points where `this` holds to those where `to` holds, in per cent of the
    latter, or their `ratio`; the `range`
    over the values of the axis `over`, largest less smallest in per cent of the smallest; the
    `scatter` over the repetitions, largest less smallest in per cent of the median; or the
    values of the axes `over` that have the smallest (`best`) or largest (`worst`) figure."""
    y: Name
    """What is measured."""
    only: str | None = None
    """Condition on the points that count."""
    statistic: Literal["mean", "median", "minimum", "maximum"] = "mean"
    """What of the repetitions counts."""
    this: str | None = None
    """For a difference or ratio: condition that chooses what is compared."""
    to: str | None = None
    """For a difference or ratio: condition that chooses what it is compared with."""
    over: Annotated[list[Name], Field(min_length=1)] | None = None
    """For a range, `best` or `worst`: the axes whose values are compared."""
    at_least: Annotated[float, Field(allow_inf_nan=False)] | None = None
    """Smallest value published: in per cent; of a `value` in the unit of `y`, of a `ratio` as a
    multiple."""
    at_most: Annotated[float, Field(allow_inf_nan=False)] | None = None
    """Largest value published, likewise."""
    values: dict[Name, Label] | None = None
    """For `best` or `worst`: the values of the axes `over` that were published."""
    combinations: Literal["every", "largest", "smallest", "mean"] = "every"
    """What the published range is of: the figure at every combination, only the largest or
    smallest over all of them ("up to"), or their mean ("on average")."""
    slack: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.5
    """By how much ours may lie outside: half the last digit of the published figures, or more
    where they are given as "about" or are said to be met so closely. In per cent points; of a
    `value` or `ratio` in per cent of what is published."""
    explanation: str = ""
    """Why ours differs, where it does."""

    @model_validator(mode="after")
    def _complete(self) -> Finding:
        needs = {
            "value": (),
            "difference": ("this", "to"),
            "ratio": ("this", "to"),
            "range": ("over",),
            "scatter": (),
            "best": ("over", "values"),
            "worst": ("over", "values"),
        }[self.quantity]
        for key in ("this", "to", "over", "values"):
            given = getattr(self, key) is not None
            if given != (key in needs):
                found = describe(getattr(self, key))
                allowed = "a value" if key in needs else "no value"
                raise problem(key, found, f'{allowed} with quantity = "{self.quantity}"')
        if self.values is not None and set(self.values) != set(self.over or ()):
            raise problem("values", ", ".join(self.values), ", ".join(self.over or ()))
        if self.values is not None and self.combinations == "mean":
            allowed = "another value where `values` are given, as these have no mean"
            raise problem("combinations", "mean", allowed)
        if "values" not in needs and self.at_least is None and self.at_most is None:
            raise problem("at_most", "nothing", "a value, or `at_least`")
        return self


class Quick(Table):
    """What is less under `--quick`."""

    only: str | None = None
    """Condition on the axes: the points that remain."""
    repetitions: Count | None = None
    """Repetitions at most."""
    set: dict[str, Any] = Field(default_factory=dict)
    """Keys of the scenario and their values."""


class Parameter(Table):
    """Where a parameter of the study's model is from."""

    name: str
    """What it is, in words, with its value."""
    origin: Literal["paper", "program", "data", "assumption", "fit"] = Field(alias="from")
    """The text that the study is held against, its authors' program, their data, an assumption
    made before any comparison, or a fit to some of the published figures."""
    source: str
    """Where there: section, file, commit; of an assumption or fit, why this value."""
    fitted_to: Annotated[list[str], Field(min_length=1)] | None = None
    """For a fit: the findings, by their claims, that it was made on. They get no verdict; it is
    judged by the others."""

    @model_validator(mode="after")
    def _fit(self) -> Parameter:
        if (self.origin == "fit") != (self.fitted_to is not None):
            allowed = "the findings it was made on" if self.origin == "fit" else "no value"
            raise problem("fitted_to", describe(self.fitted_to), f'{allowed} with from = "fit"')
        return self


class StudyFile(Table):
    """A study: a base scenario, axes, repetitions, what to measure, and what it shows.

    Raises:
        ScenarioError: If a key is unknown or missing, or a value is not allowed.
    """

    title: str
    """What it is about."""
    text: str = ""
    """What the study's page says first, in Markdown."""
    base: str | None = None
    """File of the base scenario, relative to the study."""
    scenario: dict[str, Any] | None = None
    """The base scenario itself, instead of `base`."""
    axis: list[Axis] = Field(default_factory=list)
    """What changes. All values of one axis are combined with all of the next."""
    rule: list[Rule] = Field(default_factory=list)
    """What else is set under some condition, after the axes; all rules whose condition is true,
    in the order of the file."""
    where: str | None = None
    """Condition on the axes: combinations that are simulated. Default: all."""
    repetitions: Annotated[
        Annotated[Count, Tag(tag("a whole number"))]
        | Annotated[Annotated[list[Repetitions], Field(min_length=1)], Tag(tag("a list"))],
        by_form({"a whole number": is_number, "a list": is_list}),
    ] = 1
    """How often each point is simulated, each time with another seed; or a list of counts, each
    with the condition under which it holds."""
    seeds: Annotated[list[Index], Field(min_length=1)] | None = None
    """Seeds of the repetitions. Default: the scenario's and those that follow it. All points
    have the same ones."""
    measure: Annotated[list[Measure], Field(min_length=1)]
    """What is kept of every simulation."""
    figure: list[Figure] = Field(default_factory=list)
    """Pictures."""
    finding: list[Finding] = Field(default_factory=list)
    """What was published, to be held against ours."""
    judged: Literal["values", "intervals"] = "values"
    """How findings are judged. By `intervals` one holds if all of our 95 % interval lies in the
    published range, does not if none of it does, and is undecided else, or with fewer than five
    repetitions; and under `--quick` nothing is judged. By `values`: by where the figure itself
    lies."""
    parameter: list[Parameter] = Field(default_factory=list)
    """Where the parameters of the model are from; the page lists them."""
    lacking: list[str] = Field(default_factory=list)
    """What was published and this study does not have, each with the reason; the page lists it. Of
    a study that has only statements of our own, what it leaves open."""
    quick: Quick | None = None
    """What is less under `--quick`."""

    _file: str = PrivateAttr(default="")
    #: The base scenario of a study that was never a file.
    _base: Scenario | None = PrivateAttr(default=None)

    @model_validator(mode="after")
    def _consistent(self) -> StudyFile:
        if (self.base is None) == (self.scenario is None):
            found = "neither" if self.base is None else "both"
            raise problem("base", found, "exactly one of `base` and `scenario`")
        taken = dict.fromkeys(FIXED_COLUMNS, "a column of every dataset")
        for place, names in (
            ("axis", [axis.column for axis in self.axis]),
            ("measure", [measure.column_name for measure in self.measure]),
        ):
            for position, name in enumerate(names):
                if name in taken:
                    allowed = f"a name that differs from {taken[name]}"
                    raise problem(f"{place}[{position}].name", f'"{name}"', allowed)
                taken[name] = f"that of {place}[{position}]"
        self._check_names()
        return self

    def _check_names(self) -> None:
        """That figures and findings speak of axes and measures that there are."""
        axes = [axis.column for axis in self.axis]
        measures = [measure.column_name for measure in self.measure]
        for position, figure in enumerate(self.figure):
            wanted = {"x": figure.x, "series": figure.series}
            wanted |= {f"facets[{n}]": facet for n, facet in enumerate(figure.facets)}
            for key, name in wanted.items():
                if name is not None and name not in axes:
                    raise problem(f"figure[{position}].{key}", f'"{name}"', _axes(axes))
            _known(f"figure[{position}].y", figure.y, measures)
            for number, name in enumerate(figure.quantiles or ()):
                _known(f"figure[{position}].quantiles[{number}]", name, measures)
        claims = [finding.claim for finding in self.finding]
        for position, parameter in enumerate(self.parameter):
            for number, claim in enumerate(parameter.fitted_to or ()):
                if claim not in claims:
                    key = f"parameter[{position}].fitted_to[{number}]"
                    raise problem(key, f'"{claim}"', "the claim of a finding of this study")
        for position, finding in enumerate(self.finding):
            _known(f"finding[{position}].y", finding.y, measures)
            for number, name in enumerate(finding.over or ()):
                if name not in axes:
                    raise problem(f"finding[{position}].over[{number}]", f'"{name}"', _axes(axes))

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
            study = cls.model_validate(data)
        except ValidationError as error:
            raise ScenarioError(problems(error, cls), file) from None
        study._file = file
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
        study._base = base
        return study

    def with_figures(self, figures: Sequence[Mapping[str, Any]]) -> Self:
        """The same study with other pictures."""
        data = {**self.to_dict(), "figure": list(figures)}
        study = self.from_dict(data, file=self._file)
        study._base = self._base
        return study

    def to_dict(self) -> dict[str, Any]:
        """The study as nested dicts and lists, without what is as by default."""
        return self.model_dump(mode="json", exclude_defaults=True)

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
        files = {STUDY_FILE: self._file, BASE_FILE: self.base and str(self.directory / self.base)}
        return {name: read_text(file) for name, file in files.items() if file}

    @property
    def file(self) -> str:
        """The file it was read from, or an empty string."""
        return self._file

    @property
    def directory(self) -> Path:
        """What the paths in it are relative to."""
        return Path(self._file).parent if self._file else Path()

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
            return self.scenario, self.directory, self._file
        path = self.directory / (self.base or "")
        if not path.is_file():
            found = f'found "{self.base}", which is no file; allowed: a scenario file'
            raise ScenarioError([Problem("base", found, str(self.base))], self._file)
        return parse_toml(read_text(path), str(path)), path.parent, str(path)


def _axes(names: list[str]) -> str:
    return "an axis: " + ", ".join(names)


def _known(key: str, name: str, measures: list[str]) -> None:
    if name not in measures:
        raise problem(key, f'"{name}"', "a measure: " + ", ".join(measures))
