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
from typing import TYPE_CHECKING, Any, TypeAlias

from odonata import _engine
from odonata._engine import read_toml
from odonata.batch.declared import FlowNetwork, PacketNetwork
from odonata.batch.table import ScheduleTable
from odonata.declared import Simulation as Simulation
from odonata.errors import Problem, ScenarioError
from odonata.plug_ins import names_of_jobs
from odonata.plug_ins.forms import with_plug_ins
from odonata.scenario.files import named_files
from odonata.scenario.problem import key_path, nearest
from odonata.scenario.rates import notices_of_rates
from odonata.scenario.toml_source import covers, parse_toml, read_text, with_lines
from odonata.scenario.toml_text import toml_text
from odonata.scenario.written import as_written
from odonata.table import Key, Table
from odonata.units import Share, describe

if TYPE_CHECKING:
    from typing_extensions import Self

    from odonata.declared import Failures, Mpi, Node, Record, Storage
    from odonata.load import Job
    from odonata.machines.machine import Machine
    from odonata.network import Network

#: What functions take as a scenario: one, its file, or nested dicts as a TOML reader gives them.
ScenarioLike: TypeAlias = "Scenario | Mapping[str, Any] | str | os.PathLike[str]"

#: The highest seed.
MOST_SEED = 2**63 - 1


@dataclass(frozen=True)
class _Source:
    """Where a scenario comes from; those of two places may be equal.

    Attributes:
        text: The TOML it was read from, or an empty string.
        changed: Paths of keys that have another value since.
    """

    text: str = field(default="", compare=False)
    changed: tuple[str, ...] = field(default=(), compare=False)


def _keys(*keys: Key) -> dict[str, Key]:
    return {key.name: key for key in keys}


def _key(key: str, text: str, kind: Any, default: Any = None, **facts: Any) -> Key:
    return Key(key=key, text=text, kind=kind, default=default, optional=default is None, **facts)


class Scenario(Table):
    """What is simulated: a network, the jobs on it, and what to record; or a job log's schedule.

    Immutable; [`with_set`][odonata.scenario.Scenario.with_set] makes a changed copy. `network` is
    `None` of a scenario with a `schedule` that needs none.

    Raises:
        ScenarioError: If a key is unknown or missing, or a value is not allowed.
    """

    title: str
    seed: int
    network: Network
    simulation: Simulation
    mpi: Mpi
    record: Record
    machine: Machine | None
    failures: Failures | None
    node: Node | None
    storage: Storage | None
    job: list[Job]
    schedule: ScheduleTable | None

    keys = _keys(
        _key("title", "Title, for people.", "text", ""),
        _key(
            "seed",
            "Seed of every random choice; equal seeds give equal results, bit for bit.",
            "integer",
            1,
            least=0,
            most=MOST_SEED,
        ),
        _key(
            "network",
            "What is wired, and how packets are routed on it. May be left out with `[schedule]`.",
            {"kinds": "Network"},
        ),
        _key("simulation", "How long and how finely to simulate.", {"table": "Simulation"}, {}),
        _key("mpi", "How the ranks of jobs with a motif send and receive.", {"table": "Mpi"}, {}),
        _key(
            "record",
            "Which individual events get a row in the result tables.",
            {"table": "Record"},
            {},
        ),
        _key(
            "machine",
            "For a real machine: the names of its hosts, and what predictions need besides the "
            "network.",
            {"table": "Machine"},
        ),
        _key(
            "failures",
            "What of the network does not work, for the whole run or a part of it.",
            {"table": "Failures"},
        ),
        _key(
            "node",
            "What is inside every node: several ranks (GPUs), and several interfaces.",
            {"table": "Node"},
        ),
        _key(
            "storage",
            "A parallel file system: servers on nodes of their own, which the motif `checkpoint` "
            "writes to.",
            {"table": "Storage"},
        ),
        _key(
            "job",
            "Parallel applications, in the order in which they get their nodes.",
            {"list": {"table": "Job"}},
            [],
        ),
        _key(
            "schedule",
            "Instead of `job`: the jobs of a job log, and how they are scheduled. "
            "`odonata schedule` runs\nit.",
            {"table": "ScheduleTable"},
        ),
    )

    _file: str
    _directory: Path
    _source: _Source

    def __init__(self, **values: Any) -> None:
        self._read(self._keys_of(values), "", Path())

    def _read(self, data: Mapping[str, Any], file: str, directory: Path) -> None:
        """Takes what the engine finds no mistake in.

        Raises:
            ScenarioError: Of all mistakes.
        """
        given, found = _checked(data, directory)
        if isinstance(given.get("schedule"), dict):
            try:
                schedule = ScheduleTable(**given["schedule"])
            except ScenarioError as error:
                places = ((one, f"schedule.{one.path}".rstrip(".")) for one in error.problems)
                found += [replace(one, path=path) for one, path in places]
            else:
                found += _beside_schedule(schedule, data)
        elif "schedule" in given:
            wrong = describe(data["schedule"])
            message = f"found {wrong}; allowed: a table"
            found.append(Problem("schedule", message, wrong, "a table"))
        if found:
            raise ScenarioError(found, file)
        self.__dict__.update(_given=given, _file=file, _directory=directory, _source=_Source())

    @classmethod
    def from_file(
        cls, file: str | os.PathLike[str], *, changes: Iterable[str] | Mapping[str, Any] = ()
    ) -> Self:
        """Reads and checks a TOML file. Paths in it are relative to the file.

        Args:
            file: Its name.
            changes: As of `with_set`: only what they make of the file has to be a scenario.

        Raises:
            ScenarioError: If it cannot be read, is no TOML, or is no scenario; the error names
                every key that is wrong, what was found there and what is allowed.
        """
        return cls.from_toml(read_text(file), file=os.fspath(file), changes=changes)

    @classmethod
    def from_toml(
        cls, text: str, *, file: str = "", changes: Iterable[str] | Mapping[str, Any] = ()
    ) -> Self:
        """Reads and checks a scenario in TOML.

        Args:
            text: The scenario.
            file: Where it comes from: for messages, and paths in it are relative to this file.
            changes: As of `from_file`.

        Raises:
            ScenarioError: If it is no TOML or no scenario.
        """
        data = parse_toml(text, file)
        if changes:
            # A key that the text lacks may be one that is to be set.
            unchecked = cls.__new__(cls)
            unchecked.__dict__.update(
                _given=data, _file=file, _directory=Path(file).parent, _source=_Source(text)
            )
            return unchecked.with_set(changes)
        try:
            scenario = cls.from_dict(data, file=file)
        except ScenarioError as error:
            raise with_lines(error, text) from None
        scenario.__dict__["_source"] = _Source(text)
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
        scenario = cls.__new__(cls)
        scenario._read(data, file, Path(file).parent if directory is None else Path(directory))
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
        data = self.as_written("all" if defaults else "given")
        if defaults and self.network is not None:
            used, network = self.network.link_classes(), data["network"]
            network["links"] = {k: v for k, v in network["links"].items() if k in used}
            if isinstance(self.network.routing, Table):
                # The table has the keys of all algorithms, and each takes only its own.
                network["routing"] = self.network.routing.as_written()
        return data

    def without_defaults(self) -> dict[str, Any]:
        """The scenario as nested dicts and lists, without keys that have their defaults."""
        return self.as_written("changed")

    def __eq__(self, other: object) -> bool:
        """Whether another scenario says the same, of files of the same directory."""
        if not isinstance(other, Scenario):
            return NotImplemented
        places = ((one._file, one._directory, one._source) for one in (self, other))
        return len({*places}) == 1 and super().__eq__(other)

    __hash__ = Table.__hash__

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
                keys to values. Jobs count from 0 (``job.0.nodes``), or go by name
                (``job.NAME.nodes``); ``job.*.nodes`` is that of every job.

        Raises:
            ScenarioError: If a change names no key, or the changed scenario is not valid.
        """
        data = copy.deepcopy(self._given)
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
        scenario.__dict__["_source"] = source
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
        changed = self.changed(seed=seed)
        source = _Source(self._source.text, (*self._source.changed, "seed"))
        changed.__dict__["_source"] = source
        return changed

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
        directory = self._directory.resolve()
        data = {k: v for k, v in self._given.items() if k != "schedule"}
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

        What is not used of its files, where its routing is known to fall short by default, classes
        of traffic that may get nothing, and loads that no network can carry.
        """
        found: list[str] = []
        if self.network is not None:
            directory = self._directory.resolve()
            found += self.network.notices(directory)
            if self.simulation.engine == "packet":
                found += self.network.notices_of_routing(directory)
            normalised = self.normalised()["network"]
            found += notices_of_rates(normalised, self.network.nic.congestion_control)
            if self.node is not None and self.node.planes > 1:
                found.append(
                    f"node.planes = {self.node.planes}: the machine has {self.node.planes} copies "
                    "of the network, and as many times its switches and cables"
                )
            if self.network.router.traffic_class:
                classes = normalised["router"]["traffic_classes"]
                found += _engine.starving_classes(json.dumps(classes))
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


def _checked(data: Mapping[str, Any], directory: Path) -> tuple[dict[str, Any], list[Problem]]:
    """A scenario with every word of two spellings as its key has it, and all mistakes in it.

    Args:
        data: The scenario as nested mappings and lists. `schedule` is not looked into.
        directory: What names of files in it are relative to.
    """
    wrong: list[Problem] = []
    plain = {str(key): as_written(value, str(key), wrong) for key, value in data.items()}
    text, found = _engine.checked(json.dumps(plain), str(directory), {})
    if found:
        # Only a wrong name can be a plug-in's; to look for them takes a tenth of a short run.
        text, found = _engine.checked(json.dumps(plain), str(directory), names_of_jobs())
    paths = {problem.path for problem in wrong}
    told = [_with_hint(Problem(*one)) for one in found if one[0] not in paths]
    return json.loads(text), wrong + told


#: Names from which on nobody reads a list of what is allowed to its end.
_MANY = 8


def _with_hint(problem: Problem) -> Problem:
    """The problem; of a name that is none of many, with those that begin like it or are near."""
    allowed = problem.allowed.partition(" (")[0]
    names = re.findall(r'"([^"]+)"', allowed)
    word = problem.found.strip('"')
    if len(names) <= _MANY or not word or "did you mean" in problem.message:
        return problem
    like = [name for name in names if name.startswith(word)] or [nearest(word, names)]
    if not like[0]:
        return problem
    hint = f"found {problem.found} (did you mean {' or '.join(like)}?)"
    return replace(problem, message=problem.message.replace(f"found {problem.found}", hint, 1))


def _beside_schedule(schedule: ScheduleTable, data: Mapping[str, Any]) -> list[Problem]:
    """What is wrong with the rest of a scenario with a schedule."""
    pairs = []
    shared, jobs = schedule.network, data.get("job") or ()
    if schedule.log is None and not jobs:
        allowed = "a job log; or [[job]]s, which are the queue then"
        pairs.append(("schedule.log", "nothing", allowed))
    if jobs and not isinstance(shared, (FlowNetwork, PacketNetwork)):
        allowed = (
            "no jobs beside [schedule]: its log has them; on a network of level flow or packet "
            "its jobs run them"
        )
        pairs.append(("job", describe(data["job"]), allowed))
    timed = any("submit" in one or "requested" in one for one in map(_plain, jobs))
    if schedule.log is not None and timed:
        allowed = "jobs without `submit` and `requested` beside a log, which says when jobs come"
        pairs.append(("job", "jobs with them", allowed))
    for place, one in enumerate(map(_plain, jobs)):
        if "start" in one:
            allowed = "nothing, as the scheduler says when it starts; `submit` is when it comes"
            pairs.append((f"job[{place}].start", describe(one["start"]), allowed))
        if "placement" in one and schedule.grap is not None:
            allowed = "nothing, as GRAP of [schedule] chooses the groups of all jobs"
            pairs.append((f"job[{place}].placement", describe(one["placement"]), allowed))
    if isinstance(shared, (FlowNetwork, PacketNetwork)) and (shared.machine is None) != (
        "network" in data
    ):
        found, allowed = "nothing", "a scenario file, or a table [network] in this one"
        if shared.machine is not None:
            found = describe(shared.machine)
            allowed = "no value, as this scenario has a [network] of its own"
        pairs.append(("schedule.network.machine", found, allowed))
    return [
        Problem(path, f"found {found}; allowed: {allowed}", found, allowed)
        for path, found, allowed in pairs
    ]


def _plain(job: Any) -> Mapping[str, Any]:
    """The keys of a job that are given."""
    return job.as_written() if isinstance(job, Table) else job


def as_scenario(given: ScenarioLike, changes: Mapping[str, Any] | None = None) -> Scenario:
    """The scenario that is given in one of the forms of ``ScenarioLike``.

    Args:
        given: The scenario, its file, or nested dicts.
        changes: Keys and values, as of ``with_set``.

    Raises:
        ScenarioError: If it is none, or a change makes it none.
    """
    if isinstance(given, Mapping):
        data = copy.deepcopy(dict(given))
        for key, value in (changes or {}).items():
            set_key(data, key, value)
        return Scenario.from_dict(data)
    if isinstance(given, Scenario):
        return given.with_set(changes) if changes else given
    return Scenario.from_file(given, changes=changes or ())


def set_key(data: dict[str, Any], key: str, value: Any, file: str = "") -> list[str]:
    """Sets a dotted key of a scenario that is nested dicts and lists.

    Args:
        data: The scenario; changed in place.
        key: Such as ``network.p``, ``job.0.nodes``, by a job's name ``job.NAME.nodes`` or, for
            every job, ``job.*.nodes``.
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
        if not isinstance(part, int):
            named, length = _named_entry(here, parts[position:])
            if named is not None:
                parts = [*parts[:position], named, *parts[position + length :]]
                return _set_parts(here, parts, position, value, file)
        if not isinstance(part, int) or part >= len(here):
            last_index = len(here) - 1
            indices = f"an index from 0 to {last_index}" if last_index > 0 else "the index 0"
            allowed = f"{indices}, or *" if here else "no index"
            called = [str(one["name"]) for one in here if _name_of(one) is not None]
            if called:
                allowed = allowed.replace(", or *", f", * or a name: {', '.join(called)}")
            above = ".".join(str(one) for one in parts[:position])
            entries = f"{len(here)} {'entry' if len(here) == 1 else 'entries'}"
            message = f"found {part}, but {above} has {entries}; allowed: {allowed}"
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


def _name_of(entry: Any) -> str | None:
    """The name that an entry of a list has in the file."""
    name = entry.get("name") if isinstance(entry, Mapping) else None
    return name if isinstance(name, str) else None


def _named_entry(here: Sequence[Any], parts: Sequence[int | str]) -> tuple[int | None, int]:
    """The first entry of a list whose name a key goes on with, and the parts that its name has.

    Names may have dots; of several that fit the longest is meant. A key follows the name.
    """
    texts = [str(part) for part in parts]
    for length in range(len(texts) - 1, 0, -1):
        wanted = ".".join(texts[:length])
        for index, entry in enumerate(here):
            if _name_of(entry) == wanted:
                return index, length
    return None, 0


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
