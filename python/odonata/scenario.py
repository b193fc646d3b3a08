"""Scenarios: what is simulated, from a TOML file or built in code, checked the same way.

A file::

    scenario = Scenario.from_file("examples/demo.toml")

The same in code::

    from odonata import Scenario
    from odonata.load import Halo3d, Job
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
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr, Tag, ValidationError, model_validator
from typing_extensions import Self

from odonata.collectives import Collectives, Library
from odonata.errors import Problem, ScenarioError
from odonata.files import named_files
from odonata.load import Job, Motif, Phase, Phases, RepeatPhase
from odonata.machines.machine import Machine
from odonata.model import (
    Bandwidth,
    Count,
    Delay,
    Numbers,
    PositiveDuration,
    PositiveSize,
    Precision,
    Table,
    by_form,
    is_number,
    is_table,
    is_text,
    numbers,
    tag,
)
from odonata.network import Network
from odonata.problem import key_path, problem, problems
from odonata.toml_source import parse_toml, read_text
from odonata.toml_text import toml_text
from odonata.units import Duration, Size, describe

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover
    import tomli as tomllib


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value.strip() == "auto"


class Simulation(Table):
    """How long and how finely to simulate."""

    engine: Literal["packet", "flow"] = "packet"
    """What simulates: every packet with its buffers and credits, or messages as flows that share
    links max-min fairly, which is faster and coarser (see the page on the flow engine)."""
    paths: Annotated[int, Field(ge=1, le=4096)] | None = None
    """With `engine = "flow"`: paths that a message is spread over at most, as far as it has
    packets. Default: 8."""
    settle: PositiveDuration | None = None
    """With `engine = "flow"`: rates are brought up to date at multiples of this only, so that all
    flows that begin or end in between cost one solution; a flow begins and gives its bandwidth back
    that much late at most. Default: whenever a flow begins or ends."""
    packet: PositiveSize = Size("4 KiB")
    """Largest packet; messages are cut into packets of this size and a rest."""
    duration: PositiveDuration | None = None
    """Simulated time at which the run stops. Default: when every job with a motif or a number of
    messages has finished."""
    warmup: Annotated[
        Annotated[Literal["auto"], Tag(tag('"auto"'))]
        | Annotated[Duration, Tag(tag("a duration"))],
        by_form({'"auto"': _is_auto, "a duration": lambda value: True}),
    ] = Duration(0)
    """Statistics count what is created (latencies) or happens (throughput, link load) from here.
    `auto`: from where all traffic is found to be steady, half of the duration at the latest."""
    precision: Precision | None = None
    """Ends the run as soon as the mean latency and the delivered load of every job with traffic
    are known to this share of their value, on either side, with 95 % confidence; `duration` is
    then the longest that it may take. Default: the run takes all of `duration`."""
    timeline_bin: PositiveDuration | None = None
    """Width of a bin of the timeline. Default: chosen so that there are at most 1,024."""
    threads: Annotated[int, Field(ge=1, le=1024)] = 1
    """Threads that simulate; results do not depend on it."""

    @model_validator(mode="after")
    def _warmup_ends(self) -> Simulation:
        automatic = {"warmup": self.warmup == "auto", "precision": self.precision is not None}
        for key, given in automatic.items():
            if given and self.duration is None:
                raise problem("duration", "nothing", f"a duration, as the longest with `{key}`")
        if self.duration is None or isinstance(self.warmup, str):
            return self
        if self.warmup >= self.duration:
            raise problem("warmup", f'"{self.warmup}"', f"less than the duration, {self.duration}")
        return self

    def normalised(self) -> dict[str, Any]:
        """The engine's form."""
        return {
            "engine": self.engine,
            "paths": self.paths,
            # Only where it is given: points of studies are known by this form.
            **({} if self.settle is None else {"settle_ps": int(self.settle)}),
            "packet_bytes": int(self.packet),
            "duration_ps": None if self.duration is None else int(self.duration),
            "warmup_ps": 0 if isinstance(self.warmup, str) else int(self.warmup),
            "detect_warmup": self.warmup == "auto",
            "precision": None if self.precision is None else self.precision.fraction,
            "timeline_bin_ps": None if self.timeline_bin is None else int(self.timeline_bin),
            "threads": self.threads,
        }


class HostTime(Table):
    """What messages of a size cost the rank that sends and the rank that receives, each."""

    size: PositiveSize
    """Of the message."""
    time: Delay
    """For which either rank is busy with it."""


class Mpi(Table):
    """How the ranks of jobs with a motif send and receive; jobs with traffic have none of it.

    The parameters of LogGPS (Ino, Fujimoto, Hagihara 2001) that are not the network's.
    """

    eager_limit: Size | None = None
    """Messages between nodes that are longer ask first (rendezvous): the sender sends a request,
    the receiver grants it when it has a receive for it, then the message is sent. Default: no
    message asks."""
    rendezvous_completion: Literal["sent", "acknowledged"] = "sent"
    """When such a message is complete at its sender: when its last byte has left the node, or when
    the receiver has taken it in and said so by a message of its own (FIN), as where the receiver
    fetches the data: SST's Firefly and most MPI libraries by RDMA read. Matters where a rank waits
    for its sends before it goes on, up to 20 % of run time
    ([long messages](packet-model.md#overheads-and-long-messages))."""
    control_message: PositiveSize = Size("64 B")
    """Size of a request, grant or FIN; at most a packet."""
    send_overhead: Delay = Duration(0)
    """Time that a rank is busy with a message that it sends."""
    receive_overhead: Delay = Duration(0)
    """The same with a message, or a request, that it receives. Starts when the message has come,
    its receive is posted, and nothing else keeps the rank busy."""
    gap: Delay = Duration(0)
    """Time for which an interface sends nothing after a message, requests and grants apart: what
    *g* of LogGP is beyond the time that a byte takes."""
    send_delay: Delay = Duration(0)
    """Time between a rank's handing a message over, be it of the job or of the protocol, and its
    interface's having it. Keeps nobody busy, unlike `send_overhead`: the rank goes on meanwhile.
    CODES' delays of hosts are such: 3.51 µs with the defaults of its MPI replay."""
    copy_bandwidth: Bandwidth | None = None
    """Rate at which ranks copy the messages that they send and receive, besides. Default: copying
    takes no time."""
    host_times: Annotated[list[HostTime], Field(max_length=16)] = Field(default_factory=list)
    """What a message costs either rank by its size, besides all of that, as libraries have
    protocols, buffers and copies for some sizes and not for others: points of growing size, with
    straight lines from 0 B in no time through all of them, and on beyond the last."""
    collectives: Annotated[
        Annotated[Library, Tag(tag("a library"))] | Annotated[Collectives, Tag(tag("a table"))],
        by_form({"a library": is_text, "a table": is_table}),
    ] = "mpich"
    """By which algorithms they carry out collectives: as the rules of a library say, or a table."""

    @model_validator(mode="after")
    def _times_grow(self) -> Mpi:
        size, time = Size(0), Duration(0)
        for position, point in enumerate(self.host_times):
            if point.size <= size:
                allowed = f"more than {size}, the one before"
                raise problem(f"host_times[{position}].size", f'"{point.size}"', allowed)
            if point.time < time:
                allowed = f"at least {time}, the one before"
                raise problem(f"host_times[{position}].time", f'"{point.time}"', allowed)
            size, time = point.size, point.time
        return self

    def normalised(self) -> dict[str, Any]:
        """The engine's form."""
        limit, copy, times = self.eager_limit, self.copy_bandwidth, self.host_times
        collectives = self.collectives
        if isinstance(collectives, str):
            collectives = Collectives(library=collectives)
        return {
            "eager_limit_bytes": None if limit is None else int(limit),
            # Only where they are given: points of studies are known by this form.
            **(
                {"rendezvous_completion": self.rendezvous_completion}
                if self.rendezvous_completion != "sent"
                else {}
            ),
            **({"send_delay_ps": int(self.send_delay)} if self.send_delay else {}),
            "control_message_bytes": int(self.control_message),
            "send_overhead_ps": int(self.send_overhead),
            "receive_overhead_ps": int(self.receive_overhead),
            "gap_ps": int(self.gap),
            "copy_bandwidth_bytes_per_s": None if copy is None else int(copy),
            **({"host_times": [[int(p.size), int(p.time)] for p in times]} if times else {}),
            "collectives": collectives.normalised(),
        }


class Arrivals(Table):
    """What arrives at some routers over time: bytes and packets of every job."""

    interval: PositiveDuration
    """Length of an interval."""
    routers: Numbers | None = None
    """At these routers, numbered from 0: a list or a text such as `"0, 3-8"`. Default: at all of
    `groups`."""
    groups: Numbers | None = None
    """At all routers of these groups, as a list or a text. Default: of all groups."""
    links: Annotated[list[str], Field(min_length=1)] | None = None
    """Over links of these classes or kinds (`terminal`, `local`, `global`). Default: any."""

    @model_validator(mode="after")
    def _one_choice(self) -> Arrivals:
        if self.routers is not None and self.groups is not None:
            raise problem("groups", describe(self.groups), "either `routers` or `groups`")
        return self

    def normalised(self) -> dict[str, Any]:
        """The engine's form."""
        return {
            "interval_ps": int(self.interval),
            "routers": None if self.routers is None else numbers(self.routers),
            "groups": None if self.groups is None else numbers(self.groups),
            "links": self.links,
        }


class Record(Table):
    """Which single events get a row in the result tables."""

    messages: Annotated[
        Annotated[Literal["none", "all"], Tag(tag('"none", "all"'))]
        | Annotated[Count, Tag(tag("a whole number"))],
        by_form({'"none", "all"': is_text, "a whole number": is_number}),
    ] = "none"
    """Rows of the `messages` table: `none`, `all`, or one of every so many messages of a node.
    Distributions are kept all the same."""

    rank_activity: bool = False
    """Whether to record what every rank of a closed-loop job does when, for timelines and the
    critical path. Takes 64 bytes of memory for each change."""
    communication: bool = False
    """Whether to record how much every rank of a closed-loop job sends to every other, for the
    communication matrix. Takes 40 bytes of memory for every two ranks that talk to each other."""
    attribution: bool = False
    """Whether to record what every job sends over each link, and how long its packets wait there
    because of which job ([interference](interference.md)). Such a run takes up to twice as long."""
    arrivals: Arrivals | None = None
    """What arrives at some routers over time, by job and link class. Default: not recorded."""

    def normalised(self) -> dict[str, Any]:
        """The engine's form: every how many messages (0 for none), and what else."""
        every = {"none": 0, "all": 1}.get(str(self.messages), self.messages)
        return {
            "messages_every": every,
            "rank_activity": self.rank_activity,
            "communication": self.communication,
            "attribution": self.attribution,
            "arrivals": None if self.arrivals is None else self.arrivals.normalised(),
        }


class Scenario(Table):
    """What is simulated: a network, the jobs on it, and what to record.

    Immutable; [`with_set`][odonata.scenario.Scenario.with_set] makes a changed copy.

    Raises:
        ScenarioError: If a key is unknown or missing, or a value is not allowed.
    """

    title: str = ""
    """What it shows, for people."""
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 1
    """Seed of every random choice; equal seeds give equal results, bit by bit."""
    network: Network
    """What is wired, and how packets are routed on it."""
    simulation: Simulation = Field(default_factory=Simulation)
    """How long and how finely to simulate."""
    mpi: Mpi = Field(default_factory=Mpi)
    """How the ranks of jobs with a motif send and receive."""
    record: Record = Field(default_factory=Record)
    """Which single events get a row in the result tables."""
    machine: Machine | None = None
    """Of a real machine: the names of its hosts, and what predictions need beside the network."""
    job: list[Job] = Field(default_factory=list)
    """Parallel applications, in the order in which they get their nodes."""

    _file: str = PrivateAttr(default="")
    _directory: Path = PrivateAttr(default_factory=Path)

    @model_validator(mode="after")
    def _consistent(self) -> Scenario:
        busy = [job for job in self.job if not job.idle]
        ends = any(job.motif or (job.traffic and job.traffic.messages) for job in busy)
        if self.job and self.simulation.duration is None and not ends:
            allowed = "a duration, as traffic without a number of `messages` has no end"
            raise problem("simulation.duration", "nothing", allowed)
        names: dict[str, int] = {}
        for position, name in enumerate(self.job_names()):
            first = names.setdefault(name, position)
            if first != position:
                allowed = f"a name that differs from that of job[{first}]"
                raise problem(f"job[{position}].name", f'"{name}"', allowed)
        return self

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
        return cls.from_dict(parse_toml(text, file), file=file)

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
        try:
            scenario = cls.model_validate(data)
        except ValidationError as error:
            raise ScenarioError(problems(error, cls), file) from None
        scenario._file = file
        if directory is not None:
            scenario._directory = Path(directory)
        elif file:
            scenario._directory = Path(file).parent
        return scenario

    @property
    def file(self) -> str:
        """The file it was read from, or an empty string."""
        return self._file

    @property
    def directory(self) -> Path:
        """What the paths in it are relative to."""
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
        if defaults:
            used = self.network.link_classes()
            network = data["network"]
            network["links"] = {k: v for k, v in network["links"].items() if k in used}
        return data

    def without_defaults(self) -> dict[str, Any]:
        """The scenario as nested dicts and lists, without keys that are as by default."""
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
        data["network"] = {"family": self.network.family, **data["network"]}
        for job, table in zip(self.job, data.get("job", []), strict=True):
            if job.motif is not None:
                table["motif"] = _with_kinds(job.motif, table["motif"])
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
        try:
            return self.from_dict(data, file=self._file, directory=self._directory)
        except ScenarioError as error:
            raise _blame_changes(error, changed) from None

    def normalised(self) -> dict[str, Any]:
        """The form that the engine takes: quantities as integers in base units, absolute paths."""
        directory = self._directory.resolve()
        return {
            "title": self.title,
            "seed": self.seed,
            "network": self.network.normalised(directory),
            "simulation": self.simulation.normalised(),
            "mpi": self.mpi.normalised(),
            "record": self.record.normalised(),
            "jobs": [job.normalised(n, directory) for n, job in enumerate(self.job)],
        }

    def notices(self) -> list[str]:
        """What a person should know about the network's files, such as what is not used of them."""
        return self.network.notices(self._directory.resolve())

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
        if any(
            problem.path == path or problem.path.startswith((f"{path}.", f"{path}["))
            for path in changed
        )
        else problem
        for problem in error.problems
    ]
    return ScenarioError(problems, error.file)


def typed_value(text: str) -> Any:
    """A value typed as in TOML; what is none is a text."""
    text = text.strip()
    if "\n" not in text:
        try:
            return copy.copy(tomllib.loads(f"value = {text}")["value"])
        except (ValueError, RecursionError):
            # No TOML, or numbers and nesting that no key allows: a text, of which the key speaks.
            pass
    return text


def _with_kinds(phase: Motif | Phase, data: dict[str, Any]) -> dict[str, Any]:
    """The form of a motif or phase with its kind first, also of those in it."""
    if isinstance(phase, (Phases, RepeatPhase)) and phase.phases is not None:
        inner = zip(phase.phases, data["phases"], strict=True)
        data = {**data, "phases": [_with_kinds(part, table) for part, table in inner]}
    kind = getattr(phase, "kind", None)
    return data if kind is None else {"kind": kind, **data}
