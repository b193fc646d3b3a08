"""The `[schedule]` table of a scenario: a job log, and how its jobs are started.

The one declaration of what a schedule takes: files are checked by it, and the options of
``odonata schedule`` are generated from it (``docs/generate.py`` writes
``odonata/cli/schedule_options.py``). :mod:`odonata.batch.from_scenario` runs it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from odonata import names
from odonata.batch.network import (
    BY_MODE,
    STRETCHES,
    Mix,
    SharedMachine,
    SharedPackets,
    communication_share_for_engine,
    injection_for_engine,
)
from odonata.batch.options import (
    Multifactor,
    OptionError,
    check_order,
    date_or_span,
    estimate_for_engine,
    policy_for_engine,
)
from odonata.errors import ScenarioError
from odonata.model import (
    PLUG_IN,
    Count,
    FileName,
    MachineFile,
    PositiveDuration,
    PositiveSize,
    Table,
    between,
    by_form,
    chosen_by,
    is_number,
    is_text,
    names_plug_in,
    not_ours,
    tag,
)
from odonata.plug_ins import find, is_known
from odonata.problem import problem
from odonata.units import Duration, Size, Span

#: As a schedule to compare with: that which the log records.
RECORDED = "recorded"

#: Keys that schedules of one log may have different values of, beside policy and order.
_CHANGED = (
    *("estimates", "running_estimates", "limits", "every", "per_event", "eligible", "larger"),
    *("grap", "multifactor", "network"),
)


@dataclass(frozen=True)
class OnCommandLine:
    """How a key stands on the command line, where that does not follow from its name and type.

    Attributes:
        option: The option. Default: the key's name.
        metavar: What stands for its value in the help.
        is_off: The option is a flag that sets the key to false.
        text: What it does. Default: the key's text.
    """

    option: str | None = None
    metavar: str | None = None
    is_off: bool = False
    text: str | None = None


def _checked(check: Callable[[str], object]) -> AfterValidator:
    """Refuses texts that a function of :mod:`odonata.batch` refuses, in its words."""

    def validate(text: Any) -> Any:
        try:
            check(text)
        except OptionError as error:
            raise problem("", error.found, error.allowed) from None
        return text

    return AfterValidator(validate)


@dataclass(frozen=True)
class Which:
    """One of the schedules of a log, as ``POLICY[/ORDER][+grap][,KEY=VALUE…]``.

    Attributes:
        policy: Its policy.
        order: Its order of the queue.
        grap: Whether it places jobs by GRAP.
        changes: Other keys of `[schedule]` that it changes, and their values as texts.
    """

    policy: str
    order: str = "fcfs"
    grap: bool = False
    changes: tuple[tuple[str, str], ...] = ()

    @classmethod
    def read(cls, text: str) -> Which:
        """What a text names.

        Raises:
            OptionError: If it names none.
        """
        what, *changes = text.split(",")
        plain, plus, placed = what.strip().partition("+")
        policy, _, order = plain.partition("/")
        pairs = tuple((k.strip(), v.strip()) for k, _, v in (one.partition("=") for one in changes))
        wrong = [one for one, (_, value) in zip(changes, pairs, strict=True) if not value]
        if wrong or (plus and placed != "grap"):
            found = wrong[0].strip() if wrong else f"+{placed}"
            allowed = "recorded, or POLICY[/ORDER][+grap][,KEY=VALUE…] such as easy/wfp"
            raise OptionError("", f'"{found}"', allowed)
        policy_for_engine(policy)
        check_order(order or "fcfs")
        for key, _ in pairs:
            if key.partition(".")[0] not in _CHANGED:
                raise OptionError("", f'"{key}"', f"keys of {', '.join(_CHANGED)}")
        return cls(policy, order or "fcfs", bool(plus), pairs)

    @property
    def name(self) -> str:
        """Its name, by which two are the same."""
        order = "" if self.order == "fcfs" else f"/{self.order}"
        grap = "+grap" if self.grap else ""
        changes = "".join(f",{key}={value}" for key, value in self.changes)
        return f"{self.policy}{order}{grap}{changes}"


def _check_compared(which: str) -> None:
    if which != RECORDED:
        Which.read(which)


Policy = Annotated[str, _checked(policy_for_engine)]
Compared = Annotated[str, _checked(_check_compared)]
Time = Annotated[str, _checked(date_or_span)]
MixText = Annotated[str, _checked(Mix.read)]
MpiShare = Annotated[str, _checked(communication_share_for_engine)]
#: What a scheduler believes of run times.
Estimates = Annotated[
    Annotated[str, _checked(lambda text: estimate_for_engine("", text)), Tag(tag("a text"))]
    | Annotated[float, Field(gt=0, allow_inf_nan=False), Tag(tag("a number"))],
    by_form({"a text": is_text, "a number": is_number}),
]
#: A duration of job logs that takes time.
PositiveSpan = Annotated[Span, between(Span(1))]
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Reading(Table):
    """How the log is read, where the log itself does not say."""

    format: Literal[names.LogFormat, "parquet"] | None = None
    """Format of the log. Default: detected."""
    strict: bool = False
    """End at the log's first fault, with its line, instead of counting it."""
    unit: names.LogUnit | None = None
    """Unit of the job sizes in the log. Default: detected, and reported."""
    processors_per_node: Annotated[Count, OnCommandLine(metavar="N")] | None = None
    """Processors of a node, for logs that count processors. Default: as the header says, or 1."""
    columns: (
        Annotated[list[str], Field(min_length=1), OnCommandLine("--columns", metavar="NAME,NAME…")]
        | None
    ) = None
    """Names of the columns of a `sacct` dump that has no header."""
    separator: str | None = None
    """Separator between the columns of a `sacct` dump. Default: as in its header."""


class Grap(Table):
    """Placement by GRAP (Feng et al. 2023) on the groups of a reconfigurable dragonfly."""

    groups: Annotated[Count, OnCommandLine("--grap", metavar="GROUPS")]
    """Place jobs by GRAP (Feng et al. 2023) on this many groups of a reconfigurable dragonfly, of
    sizes as equal as possible. Default: any free nodes."""
    modes: (
        Annotated[
            list[MixText],
            Field(min_length=1),
            OnCommandLine("--grap-modes", metavar="[FROM..TO:]MODE=SHARE,…"),
        ]
        | None
    ) = None
    """With GRAP: modes of large jobs of FROM to TO nodes, drawn by shares: `minimal-balance`,
    `adaptive`, `custom-balance`, `custom`. Default: as Feng et al. 2023 assume, by the machine's
    groups."""


class ScheduleNetwork(Table):
    """What slows jobs down or makes them faster."""

    mix: (
        Annotated[
            list[MixText],
            Field(min_length=1),
            OnCommandLine(metavar="[FROM..TO:]NAME=SHARE,…"),
        ]
        | None
    ) = None
    """Traffic of jobs of FROM to TO nodes, drawn by shares, e.g.
    `576..65536:adaptive=40%,custom=60%`; or by-mode: it follows from the job's GRAP mode. Default:
    with level table by-mode under GRAP, else that of Feng et al. 2023; with flow and packet
    uniform, stencil and ring in equal shares."""
    mpi_share: Annotated[MpiShare, OnCommandLine(metavar="SHARE")] = "log"
    """The share of their time that jobs communicate: log (as the log says), one share such as 30%,
    or two between which each job's share is drawn, such as 10%..50%."""

    @property
    def is_by_mode(self) -> bool:
        """Whether traffic follows from the job's GRAP mode."""
        return self.mix == [BY_MODE]


class SpeedUpNetwork(ScheduleNetwork):
    """A table of speed-ups, whatever other jobs run."""

    level: Literal["table"] = Field(default="table", description="A table of speed-ups.")
    speed_ups: Annotated[FileName, OnCommandLine(metavar="FILE")]
    """CSV file with the columns traffic, nodes, speed_up (the fraction of the communication time
    that is saved)."""


class SharedNetwork(ScheduleNetwork):
    """What both levels of shared machines have."""

    machine: Annotated[MachineFile, OnCommandLine(metavar="SCENARIO")] | None = None
    """Scenario file whose `[network]` the jobs share, with its routing. Default: the `[network]` of
    this scenario."""
    injection: Annotated[str, _checked(injection_for_engine), OnCommandLine(metavar="SHARE")] = str(
        SharedMachine.injection
    )
    """The fraction of its link's rate at which a node sends while it communicates."""
    placement: names.Placement | None = None
    """Which free nodes a job gets, where the scheduler only counts nodes. Default: contiguous; with
    GRAP the nodes of the job's groups."""
    switch_delay: Annotated[Duration, OnCommandLine(metavar="TIME")] = Duration(
        SharedMachine.switch_delay
    )
    """With circuits for jobs: how long a job stands still at its start while circuits are set, if
    any circuit changes."""

    def engine_form(self, directory: Path = Path()) -> dict[str, Any]:
        """The engine's form: the machine's network in place of its file."""
        from odonata.scenario import Scenario

        form = super().engine_form(directory)
        if self.machine is not None:
            machine = Scenario.from_file(directory / self.machine).normalised()
            form["machine"] = {
                "network": machine["network"],
                "packet_bytes": machine["simulation"]["packet_bytes"],
            }
        return form


class FlowNetwork(SharedNetwork):
    """The links of a machine, which running jobs share as flows."""

    level: Literal["flow"] = Field(default="flow", description="Links shared as flows.")


class PacketNetwork(SharedNetwork):
    """The network of a machine, packet by packet: for small machines and short logs."""

    level: Literal["packet"] = Field(default="packet", description="Packet by packet.")
    window: Annotated[PositiveDuration, OnCommandLine(metavar="TIME")] = Duration(
        SharedPackets.window
    )
    """Simulated time that is measured."""
    warmup: Annotated[Duration, OnCommandLine(metavar="TIME")] = Duration(SharedPackets.warmup)
    """Simulated time before the measurement."""
    message: Annotated[PositiveSize, OnCommandLine(metavar="SIZE")] = Size(SharedPackets.message)
    """Size of a message."""
    stretch: Literal[STRETCHES] = STRETCHES[0]  # type: ignore[valid-type]
    """What stretches communication: the share of a job's traffic that arrives (throughput), or that
    share and how much longer the job's messages take than when it runs alone (latency)."""


#: The levels of a schedule's network.
AnyScheduleNetwork = Annotated[
    Annotated[SpeedUpNetwork, Tag(tag("table"))]
    | Annotated[FlowNetwork, Tag(tag("flow"))]
    | Annotated[PacketNetwork, Tag(tag("packet"))],
    chosen_by("level", "table", "flow", "packet"),
]


class MultifactorTable(Table):
    """Weights and times of the order `multifactor`: Slurm's multifactor priority."""

    age: Annotated[Weight, OnCommandLine("--weight-age", metavar="W")] = Multifactor.age
    """For the order multifactor: weight of the age, which is the wait divided by `max_age`, at most
    1."""
    size: Annotated[Weight, OnCommandLine("--weight-size", metavar="W")] = Multifactor.size
    """Weight of the size: the share of the machine that a job asks for."""
    fair_share: Annotated[Weight, OnCommandLine("--weight-fair-share", metavar="W")] = (
        Multifactor.fair_share
    )
    """Weight of 2^(−usage / share); all users have equal shares."""
    max_age: Annotated[PositiveSpan, OnCommandLine(metavar="TIME")] = Span(Multifactor.max_age)
    """The wait at which the age is 1."""
    half_life: Annotated[Span, OnCommandLine(metavar="TIME")] = Span(Multifactor.half_life)
    """Time after which usage counts half; 0 s for no decay."""
    favour_small: bool = Multifactor.favour_small
    """Small jobs, not large ones, are favoured."""


class Maintenance(Table):
    """Nodes that are withheld for a time."""

    start: Time
    """First second: a date such as `2022-03-01T08:00` (UTC), or a duration after the first
    submission such as `12 h`."""
    end: Time
    """The second after the last one, given likewise."""
    nodes: Count | None = None
    """Number of nodes. Default: the whole machine."""


class Reservation(Maintenance):
    """Nodes that are withheld for the jobs of some users."""

    users: Annotated[list[str], Field(min_length=1)]
    """Users whose jobs may run on these nodes, if the jobs end in time."""


class ScheduleTable(Table):
    """A job log, and when its jobs start: see [scheduling](scheduling.md)."""

    log: FileName
    """The job log: see [job logs](job-logs.md)."""
    reading: Reading = Field(default_factory=Reading)
    """How the log is read, where the log itself does not say."""
    nodes: Annotated[Count, OnCommandLine(metavar="N")] | None = None
    """Nodes of the machine. Default: as the log says."""
    policy: Annotated[Policy, OnCommandLine(metavar="POLICY")] = "easy"
    """Which jobs may overtake: fcfs (none), easy, conservative, conservative-replanned, or depth:N
    (backfill with reservations for the first N)."""
    order: Annotated[
        Annotated[names.Order, Tag(tag("a name"))]
        | Annotated[str, not_ours("order"), Tag(tag(PLUG_IN))],
        by_form({PLUG_IN: names_plug_in("order"), "a name": is_text}),
        OnCommandLine(metavar="ORDER"),
    ] = Field(
        default="fcfs",
        description=f"Order of the queue: {', '.join(names.ORDER)}, or a [plug-in](plug-ins.md).",
    )
    multifactor: MultifactorTable | None = None
    """Weights and times of the order `multifactor`. Default: as below."""
    compare: Annotated[list[Compared], OnCommandLine(metavar="WHAT")] = Field(default_factory=list)
    """Compare with another schedule of the log: recorded, or POLICY[/ORDER][+grap] such as
    easy/wfp; keys of `[schedule]` that differ follow, such as easy,estimates=perfect. Without +grap
    it uses any free nodes."""
    estimates: Annotated[Estimates, OnCommandLine(metavar="WHICH")] = "requested"
    """Run times that the scheduler assumes: requested, perfect, or a multiple of the actual run
    time such as 2."""
    running_estimates: Annotated[Estimates, OnCommandLine(metavar="WHICH")] | None = None
    """Run times that the scheduler assumes for running jobs. Default: as `estimates`."""
    limits: Annotated[
        bool,
        OnCommandLine("--no-limits", is_off=True, text="Do not kill jobs when their time is over."),
    ] = True
    """Jobs are killed when their requested time is over."""
    every: Annotated[PositiveSpan, OnCommandLine(metavar="TIME")] | None = None
    """The scheduler works at multiples of this time, e.g. 30 s. Default: whenever something
    happens."""
    per_event: bool = False
    """The scheduler works after every single event, also within one second."""
    eligible: bool = False
    """Jobs arrive when they become eligible, where the log records that time."""
    larger: Literal["refuse", "cut"] = "refuse"
    """Jobs larger than the machine are refused, or cut down to it."""
    share: Annotated[Count, OnCommandLine(metavar="N")] | None = None
    """Jobs share nodes that have this many processors each. Default: where the log counts
    processors, as many as the log says."""
    whole_nodes: bool = False
    """Round sizes of a log that counts processors up to whole nodes."""
    tau: Annotated[PositiveSpan, OnCommandLine(metavar="TIME")] = Span("10 s")
    """Shortest run time in the bounded slowdown."""
    interval: Annotated[PositiveSpan, OnCommandLine(metavar="TIME")] = Span("1 min")
    """Interval between the rows of the table of nodes in use and jobs waiting."""
    grap: Grap | None = None
    """Place jobs by GRAP. Default: any free nodes will do."""
    network: AnyScheduleNetwork | None = None
    """What slows jobs down or makes them faster. Default: nothing; they run as long as the log
    says."""
    maintenance: Annotated[list[Maintenance], OnCommandLine(metavar="START..END[,NODES]")] = Field(
        default_factory=list
    )
    """Withhold nodes, or the whole machine, for a time. Times are dates (2022-03-01T08:00, UTC) or
    durations after the first submission (12 h)."""
    reservation: Annotated[list[Reservation], OnCommandLine(metavar="START..END,NODES,USER,…")] = (
        Field(default_factory=list)
    )
    """Withhold nodes for jobs of these users."""

    def engine_form(self, directory: Path = Path()) -> dict[str, Any]:
        """What the schedule depends on, sources of plug-ins included."""
        form = super().engine_form(directory)
        plug_ins = {
            one.order: find("order", one.order).source
            for one in self.variants.values()
            if one is not None and is_known("order", one.order)
        }
        return {**form, "plug-ins": plug_ins} if plug_ins else form

    @property
    def _own(self) -> str:
        """The name of the schedule of its own policy and order."""
        return Which(self.policy, self.order, self.grap is not None).name

    @property
    def variants(self) -> dict[str, ScheduleTable | None]:
        """The schedules that are made, by name: the table of each, ``None`` if it is recorded."""
        return {
            which if which == RECORDED else Which.read(which).name: self._variant(which)
            for which in (self._own, *self.compare)
        }

    def _variant(self, which: str) -> ScheduleTable | None:
        """The table of one of the schedules.

        Raises:
            ScenarioError: If keys that it changes have no such values.
            PydanticCustomError: If it says nothing, or contradicts itself.
        """
        from odonata.scenario import set_key, typed_value

        if which == RECORDED:
            return None
        one = Which.read(which)
        data = self.model_dump(
            by_alias=True,
            exclude_none=True,
            exclude_unset=True,
            exclude={"compare"},
            warnings=False,
        )
        if self.network is not None:
            data["network"]["level"] = self.network.level
        data |= {"policy": one.policy, "order": one.order}
        if not one.grap:
            data.pop("grap", None)
        if one.order != "multifactor":
            data.pop("multifactor", None)
        before = copy.deepcopy(data)
        for key, value in one.changes:
            set_key(data, key, typed_value(value))
        if one.grap != ("grap" in data):
            raise problem("", f'"{which}"', "+grap if, and only if, `grap` has its groups")
        changed = ScheduleTable(**data)
        if one.changes and _same(changed, ScheduleTable(**before)):
            raise problem("", f'"{which}"', "changes; its keys have these values anyway")
        return changed

    @model_validator(mode="after")
    def _consistent(self) -> ScheduleTable:
        orders = {self.order} | {Which.read(one).order for one in self.compare if one != RECORDED}
        if self.multifactor is not None and "multifactor" not in orders:
            allowed = "no value: weights and their times have a meaning with multifactor only"
            raise problem("multifactor", "a table", allowed)
        if self.every is not None and self.per_event:
            raise problem("per_event", "true", "only without `every`: one of the two")
        if self.share is not None and self.whole_nodes:
            allowed = "only without `share`: nodes that are shared are not whole; choose one"
            raise problem("whole_nodes", "true", allowed)
        if self.compare:
            self._check_compare()
        return self

    def _check_compare(self) -> None:
        made = [(self._own, self._variant(self._own))]
        for position, which in enumerate(self.compare):
            place, found = f"compare[{position}]", f'"{which}"'
            try:
                one = self._variant(which)
            except ScenarioError as error:
                said = "; ".join(f"{p.path}: {p.message}" for p in error.problems)
                raise problem(place, found, f"values that the keys take ({said})") from None
            except PydanticCustomError as error:
                raise problem(place, found, (error.context or {})["allowed"]) from None
            twice = next((name for name, other in made if _same(one, other)), None)
            if twice is not None:
                allowed = (
                    f"schedules that differ; {twice} is there twice. What differs follows, such as "
                    "easy,estimates=perfect"
                )
                raise problem(place, found, allowed)
            made.append((which, one))


def _same(one: ScheduleTable | None, other: ScheduleTable | None) -> bool:
    """Whether two tables say the same, be it by default."""
    if one is None or other is None:
        return one is other
    return one.model_dump(warnings=False) == other.model_dump(warnings=False)
