"""Scenarios: what is simulated, from a TOML file or built in code, checked the same way.

A file::

    scenario = Scenario.from_file("examples/demo.toml")

The same in code::

    from odonata import Scenario
    from odonata.load import Job
    from odonata.motif import Halo3d
    from odonata.network import Dragonfly

    scenario = Scenario(
        network=Dragonfly(p=2, a=4, h=2),
        job=[Job(nodes=36, motif=Halo3d(message="1 MB"))],
    )
"""

from __future__ import annotations

import copy
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    Field,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from typing_extensions import Self

from odonata._engine import read_toml
from odonata.batch.table import ScheduleTable, SharedNetwork
from odonata.declared import Mpi, Record, Simulation
from odonata.errors import Problem, ScenarioError
from odonata.files import named_files
from odonata.kind_base import with_kinds
from odonata.load import Job
from odonata.machines.machine import Machine
from odonata.model import (
    Table,
)
from odonata.network import Network
from odonata.phases import check_phases
from odonata.plug_ins.forms import with_plug_ins
from odonata.problem import key_path, problem, problems
from odonata.toml_source import covers, parse_toml, read_text, with_lines
from odonata.toml_text import toml_text
from odonata.units import Share, describe
from odonata.written import checked

#: The highest seed.
MOST_SEED = 2**63 - 1
#: Tables that the engine does not look into.
_NOT_OF_THE_ENGINE = ("machine", "schedule")
#: Context of a validation after that of the engine.
_CHECKED = object()
#: In the place of a network that a scenario with a schedule need not have.
_NO_NETWORK = object()


def _or_none(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    return None if value is _NO_NETWORK else handler(value)


@dataclass(frozen=True)
class _Source:
    """Where a scenario comes from; those of two places may be equal.

    Attributes:
        text: The TOML it was read from, or an empty string.
        changed: Paths of keys that have another value since.
    """

    text: str = field(default="", compare=False)
    changed: tuple[str, ...] = field(default=(), compare=False)


class Scenario(Table):
    """What is simulated: a network, the jobs on it, and what to record; or a job log's schedule.

    Immutable; [`with_set`][odonata.scenario.Scenario.with_set] makes a changed copy. `network` is
    `None` of a scenario with a `schedule` that needs none.

    Raises:
        ScenarioError: If a key is unknown or missing, or a value is not allowed.
    """

    title: str = ""
    """Title, for people."""
    seed: Annotated[int, Field(ge=0, le=MOST_SEED)] = 1
    """Seed of every random choice; equal seeds give equal results, bit for bit."""
    network: Annotated[Network, WrapValidator(_or_none)]
    """What is wired, and how packets are routed on it. May be left out with `[schedule]`."""
    simulation: Simulation = Field(default_factory=Simulation)
    """How long and how finely to simulate."""
    mpi: Mpi = Field(default_factory=Mpi)
    """How the ranks of jobs with a motif send and receive."""
    record: Record = Field(default_factory=Record)
    """Which individual events get a row in the result tables."""
    machine: Machine | None = None
    """For a real machine: the names of its hosts, and what predictions need besides the network."""
    job: list[Job] = Field(default_factory=list)
    """Parallel applications, in the order in which they get their nodes."""
    schedule: ScheduleTable | None = None
    """Instead of `job`: the jobs of a job log, and how they are scheduled. `odonata schedule` runs
    it."""

    _file: str = PrivateAttr(default="")
    _directory: Path = PrivateAttr(default_factory=Path)
    _source: _Source = PrivateAttr(default_factory=lambda: _Source())

    @model_validator(mode="before")
    @classmethod
    def _network_or_schedule(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and "network" not in data and "schedule" in data:
            return {**data, "network": _NO_NETWORK}
        return data

    @model_validator(mode="after")
    def _consistent(self, info: ValidationInfo) -> Scenario:
        if self.schedule is not None:
            self._check_schedule(self.schedule)
        if info.context is not _CHECKED:
            for one in checked(self.to_dict(), self._directory)[1]:
                raise problem(one.path, one.found, one.allowed)
        return self

    def _check_schedule(self, schedule: ScheduleTable) -> None:
        if self.job:
            raise problem("job", describe(self.job), "no jobs beside [schedule]: its log has them")
        shared = schedule.network
        if isinstance(shared, SharedNetwork) and (shared.machine is None) == (self.network is None):
            if shared.machine is None:
                allowed = "a scenario file, or a table [network] in this one"
                raise problem("schedule.network.machine", "nothing", allowed)
            allowed = "no value, as this scenario has a [network] of its own"
            raise problem("schedule.network.machine", describe(shared.machine), allowed)

    @classmethod
    def from_file(cls, file: str | os.PathLike[str]) -> Self:
        """Reads and checks a TOML file. Paths in it are relative to the file.

        Raises:
            ScenarioError: If it cannot be read, is no TOML, or is no scenario; the error names
                every key that is wrong, what was found there and what is allowed.
        """
        return cls.from_toml(read_text(file), file=os.fspath(file))

    @classmethod
    def from_toml(cls, text: str, *, file: str = "") -> Self:
        """Reads and checks a scenario in TOML.

        Args:
            text: The scenario.
            file: Where it comes from: for messages, and paths in it are relative to this file.

        Raises:
            ScenarioError: If it is no TOML or no scenario.
        """
        data = parse_toml(text, file)
        try:
            scenario = cls.from_dict(data, file=file)
        except ScenarioError as error:
            raise with_lines(error, text) from None
        scenario._source = _Source(text)
        return scenario

    @classmethod
    def from_dict(
        cls,
        data: Mapping[str, Any],
        *,
        file: str = "",
        directory: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Checks a scenario given as nested dicts and lists, as a TOML reader makes them.

        Args:
            data: The scenario.
            file: Where it comes from, for messages.
            directory: What paths in it are relative to. Default: the directory of `file`, or the
                working directory.

        Raises:
            ScenarioError: If it is no scenario.
        """
        if directory is None:
            directory = Path(file).parent
        meant, found = checked(data, Path(directory))
        try:
            scenario = cls.model_validate(meant, context=_CHECKED)
        except ValidationError as error:
            # Of what the engine does not look into, and nothing twice.
            paths = {one.path for one in found}
            others = [one for one in problems(error, cls) if one.path not in paths]
            found += [one for one in others if not found or one.path.startswith(_NOT_OF_THE_ENGINE)]
        if found:
            raise ScenarioError(found, file)
        scenario._file = file
        scenario._directory = Path(directory)
        return scenario

    @property
    def file(self) -> str:
        """The file it was read from, or an empty string."""
        return self._file

    @property
    def directory(self) -> Path:
        """Directory to which relative paths in the scenario refer."""
        return self._directory

    def job_names(self) -> list[str]:
        """Name of each job, as in tables and pictures."""
        return [job.name or f"job{position + 1}" for position, job in enumerate(self.job)]

    def to_dict(self, *, defaults: bool = False) -> dict[str, Any]:
        """The scenario as nested dicts and lists, quantities as texts with units.

        Args:
            defaults: Whether to include keys that were not given.
        """
        data = self._dumped(exclude_unset=not defaults)
        if defaults and self.network is not None:
            used = self.network.link_classes()
            network = data["network"]
            network["links"] = {k: v for k, v in network["links"].items() if k in used}
            if isinstance(self.network.routing, BaseModel):
                # The table has the keys of all algorithms, and each takes only its own.
                given = self.network.routing.model_fields_set
                network["routing"] = {k: v for k, v in network["routing"].items() if k in given}
        return data

    def without_defaults(self) -> dict[str, Any]:
        """The scenario as nested dicts and lists, without keys that have their defaults."""
        return self._dumped(exclude_defaults=True)

    def _dumped(
        self, *, exclude_unset: bool = False, exclude_defaults: bool = False
    ) -> dict[str, Any]:
        data = self.model_dump(
            by_alias=True,
            exclude_none=True,
            exclude_unset=exclude_unset,
            exclude_defaults=exclude_defaults,
            warnings=False,
        )
        # What chooses the kind of a table comes first, and is kept even where code left it out.
        if self.network is not None:
            data["network"] = {"family": self.network.family, **data["network"]}
        if self.schedule is not None and self.schedule.network is not None:
            network = data["schedule"]["network"]
            data["schedule"]["network"] = {"level": self.schedule.network.level, **network}
        for job, table in zip(self.job, data.get("job", []), strict=True):
            if job.motif is not None:
                table["motif"] = with_kinds(job.motif, table["motif"])
            if job.traffic is not None:
                table["traffic"] = {"pattern": job.traffic.pattern, **table["traffic"]}
        return data

    def to_toml(
        self, *, directory: str | os.PathLike[str] | None = None, defaults: bool = False
    ) -> str:
        """The scenario as TOML that reads back equal.

        Args:
            directory: Where the text will lie: paths in it are made relative to there. Default:
                as they are.
            defaults: Whether to include keys that were not given.
        """
        data = self.to_dict(defaults=defaults)
        if directory is not None:
            there = Path(directory).resolve()
            for file in named_files(self):
                # What a file of phases names is relative to that file.
                if ":" not in file.place and not Path(file.name).is_absolute():
                    path = Path(os.path.relpath(file.path, there)).as_posix()
                    file.table_in(data)[file.place[-1]] = path
        return toml_text(data)

    def with_set(self, changes: Iterable[str] | Mapping[str, Any]) -> Self:
        """A copy with some keys changed.

        Args:
            changes: Texts such as ``"network.p=4"`` or ``"job.0.motif.message=1 MB"``, their
                values typed as in TOML (what is no TOML value is a text); or a mapping from such
                keys to values. Jobs count from 0; ``job.*.nodes`` is that of every job.

        Raises:
            ScenarioError: If a change names no key, or the changed scenario is not valid.
        """
        data = self.to_dict()
        pairs = changes.items() if isinstance(changes, Mapping) else map(self._change, changes)
        changed = []
        for key, value in pairs:
            changed += set_key(data, key, value, self._file)
        source = _Source(self._source.text, (*self._source.changed, *changed))
        try:
            scenario = self.from_dict(data, file=self._file, directory=self._directory)
        except ScenarioError as error:
            found = _blame_changes(error, changed)
            raise with_lines(found, source.text, but=source.changed) from None
        scenario._source = source
        return scenario

    def with_seed(self, seed: int) -> Self:
        """A copy with another seed.

        As [`with_set`][odonata.scenario.Scenario.with_set] makes one, but at once, as nothing else
        is checked again.

        Raises:
            ScenarioError: If it is negative or above 2⁶³ − 1.
        """
        if not 0 <= seed <= MOST_SEED:
            return self.with_set({"seed": seed})
        copy = self.model_copy(update={"seed": seed})
        copy._source = _Source(self._source.text, (*self._source.changed, "seed"))
        return copy

    def error(self, problems: Sequence[Problem]) -> ScenarioError:
        """What is wrong with the scenario, with the lines of its file."""
        error = ScenarioError(problems, self._file)
        source = self._source
        return with_lines(error, source.text, but=source.changed) if source.text else error

    def normalised(self) -> dict[str, Any]:
        """The form that the engine takes: quantities as integers in base units, absolute paths.

        Without `schedule`, of which [`schedule_form`][odonata.scenario.Scenario.schedule_form] has
        all.

        Raises:
            ScenarioError: If there is no network, or a key that means nothing beside others.
        """
        if self.network is None:
            message = (
                "missing; this key must be given. The scenario has a [schedule] without a network: "
                "`odonata schedule` runs it"
            )
            raise self.error([Problem("network", message, "nothing", "a table")])
        from odonata import _engine

        directory = self._directory.resolve()
        data = self.to_dict()
        for key in ("machine", "schedule"):
            data.pop(key, None)
        check_phases(self.job, directory)
        data["job"] = [with_plug_ins(job) for job in data.get("job", [])]
        try:
            form: dict[str, Any] = json.loads(_engine.engine_form(json.dumps(data), str(directory)))
        except _engine.SpecError as error:
            raise self.error([Problem(*error.args)]) from None
        return form

    def schedule_form(self) -> dict[str, Any]:
        """All that a schedule depends on, in the form of `normalised`."""
        assert self.schedule is not None
        form: dict[str, Any] = {"seed": self.seed}
        form["schedule"] = self.schedule.engine_form(self._directory.resolve())
        if self.network is not None:
            normalised = self.normalised()
            form |= {key: normalised[key] for key in ("network", "simulation")}
        return form

    def check_runnable(self) -> None:
        """Checks that there is something for `odonata run` to simulate.

        Raises:
            ScenarioError: If it is a job log's schedule.
        """
        if self.schedule is not None:
            allowed = "jobs in [[job]]; `odonata schedule` runs a scenario with a [schedule]"
            message = f"found a table; allowed: {allowed}"
            raise self.error([Problem("schedule", message, "a table", allowed)])

    def notices(self) -> list[str]:
        """What a person should know about the network and what is offered to it.

        What is not used of its files, where its routing is known to fall short by default, and
        loads that no network can carry.
        """
        found: list[str] = []
        if self.network is not None:
            directory = self._directory.resolve()
            found += self.network.notices(directory)
            if self.simulation.engine == "packet":
                found += self.network.notices_of_routing(directory)
        for number, job in enumerate(self.job):
            load = job.traffic.load if job.traffic is not None else None
            if isinstance(load, Share):
                load = load.fraction
            if isinstance(load, float) and load > 1:
                found.append(
                    f"job.{number}.traffic.load is above 1: the job offers more than the links of "
                    "its nodes carry, and the rest piles up"
                )
        return found

    def normalised_json(self) -> str:
        """[`normalised`][odonata.scenario.Scenario.normalised] as JSON."""
        return json.dumps(self.normalised())

    def _change(self, text: str) -> tuple[str, Any]:
        """Splits ``key=value``."""
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            message = f'found "{text}"; allowed: KEY=VALUE, such as network.p=4'
            raise ScenarioError([Problem("--set", message, f'"{text}"')], self._file)
        return key.strip(), typed_value(value)


def set_key(data: dict[str, Any], key: str, value: Any, file: str = "") -> list[str]:
    """Sets a dotted key of a scenario that is nested dicts and lists.

    Args:
        data: The scenario; changed in place.
        key: Such as ``network.p``, ``job.0.nodes`` or, for every job, ``job.*.nodes``.
        value: Its value.
        file: Where the scenario comes from, for messages.

    Returns:
        Paths of what was set.

    Raises:
        ScenarioError: If there is no such place.
    """
    parts: list[int | str] = [
        int(part) if part.isdecimal() else part
        for part in re.sub(r"\[(\d+|\*)\]", r".\1", key).split(".")
    ]
    return _set_parts(data, parts, 0, value, file)


def _set_parts(
    here: Any, parts: list[int | str], position: int, value: Any, file: str
) -> list[str]:
    """Sets what lies at the parts from a position on, below `here`; returns the paths."""
    part, last = parts[position], position == len(parts) - 1
    path = key_path(parts[: position + 1])
    if isinstance(here, list):
        if part == "*":
            found = []
            for index in range(len(here)):
                one = [*parts[:position], index, *parts[position + 1 :]]
                found += _set_parts(here, one, position, value, file)
            return found
        if not isinstance(part, int) or part >= len(here):
            allowed = f"an index from 0 to {len(here) - 1}, or *" if here else "no index"
            message = f"found {part} for a list of {len(here)}; allowed: {allowed}"
            raise ScenarioError([Problem(path, message, str(part), allowed)], file)
        inner = here[part]
    else:
        part = str(part)
        inner = here.get(part, {})
        if part == "routing" and isinstance(inner, str):
            inner = {"algorithm": inner}
    if last:
        here[part] = copy.deepcopy(value)
        return [path]
    if not isinstance(inner, (dict, list)):
        message = f"found {describe(inner)}, which has no keys"
        raise ScenarioError([Problem(path, message, describe(inner))], file)
    here[part] = inner
    return _set_parts(inner, parts, position + 1, value, file)


def _blame_changes(error: ScenarioError, changed: Sequence[str]) -> ScenarioError:
    """The error, saying of each problem whether a change made it."""
    problems = [
        replace(problem, message=f"{problem.message} (the value was set by --set or with_set)")
        if any(covers(path, problem.path) for path in changed)
        else problem
        for problem in error.problems
    ]
    return ScenarioError(problems, error.file)


def typed_value(text: str) -> Any:
    """A value typed as in TOML; what is none is a text, and so are dates and times."""
    text = text.strip()
    if "\n" not in text:
        try:
            return read_toml(f"value = {text}")["value"]
        except ValueError:
            # A text, of which the key speaks.
            pass
    return text
