"""Motifs of jobs: closed loop, each rank waits for what it receives."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, Tag, ValidationError, model_validator

from odonata import names
from odonata.application import (
    Amg,
    Fft,
    Gtc,
    Hacc,
    Halo3d26,
    Lulesh,
    Milc,
    MiniAmr,
    Nekbone,
    Sweep3d,
    Training,
)
from odonata.collectives import ALGORITHMS, ROOTED
from odonata.errors import ScenarioError
from odonata.model import (
    PLUG_IN,
    Count,
    FileName,
    Index,
    PhasesFile,
    PositiveDuration,
    PositiveSize,
    Table,
    TraceFile,
    by_form,
    chosen_by,
    has_key,
    not_ours,
    tag,
)
from odonata.normal_form import LATER, InEngine, normal_form
from odonata.plug_in_forms import reference
from odonata.problem import problem, problems
from odonata.toml_source import parse_toml, read_text, with_lines
from odonata.units import Duration, describe


def _kind_form(motif: Table, directory: Path) -> dict[str, Any]:
    """The engine's form of the kind of a motif."""
    form = normal_form(motif, directory, without=("iterations", "compute"))
    return {"name": form.pop("kind"), **form}


#: How messages follow each other, of which the engine has a table.
_SENDS = InEngine(within="sends")


class MotifBase(Table):
    """What every motif has."""

    iterations: Count = 1
    """How often each rank runs through the motif."""
    compute: Duration = Duration(0)
    """Time that each rank computes at the start of every iteration."""

    def form(self, directory: Path) -> dict[str, Any]:
        """The engine's form of the kind; files are found relative to `directory`."""
        return _kind_form(self, directory)

    def engine_form(self, directory: Path = Path()) -> dict[str, Any]:
        """The engine's form of the motif; files are found relative to `directory`."""
        return {
            "kind": self.form(directory),
            "iterations": self.iterations,
            "compute_ps": int(self.compute),
        }


class MessageMotif(MotifBase):
    """What every motif with messages of one size has."""

    message: PositiveSize
    """Size of each message."""


class WindowMotif(MessageMotif):
    """A motif of many steps, in each of which a rank has one partner."""

    window: Count = 1
    """Steps that a rank has outstanding at once: 1 waits for each partner before the next."""
    blocking: Annotated[bool, LATER, _SENDS] = False
    """Whether each send is complete before the rank does anything else (`MPI_Send`). Makes no
    difference with a window of 1."""
    receives: Annotated[names.Receives, LATER, _SENDS] = "ahead"
    """When a rank posts the receives of a window: all of them before it sends anything, or that
    of each step just before the step's send. Makes no difference with a window of 1."""


class AllToAll(WindowMotif):
    """Every rank sends a message to every other rank; in step s rank r sends to r + s.

    With a window of 1 as the Alltoall motif of SST's Ember; other orders and algorithms:
    `collective`.
    """

    kind: Literal["all-to-all"] = "all-to-all"
    """The motif."""


class Bisection(WindowMotif):
    """Every rank exchanges a message with every rank of the other half of the job.

    SST's Ember has no such motif; its Unstructured motif with the graph of a bisection takes
    `order = "ascending"`, `blocking = true`, `receives = "in-turn"` and a window of all partners
    ([motifs](applications.md#motifs-and-their-sources)).
    """

    kind: Literal["bisection"] = "bisection"
    """The motif."""
    order: Annotated[names.BisectionOrder, LATER] = "rotating"
    """In which order a rank takes the ranks of the other half: another one for each in every step,
    or the lowest first for all."""


class Halo(MessageMotif):
    """Every rank of a grid exchanges messages with its neighbours across the faces.

    The Halo3D motif of SST's Ember: `order = "dimensions"`, `blocking = true`, `periodic = false`
    ([motifs](applications.md#motifs-and-their-sources)).
    """

    dimensions: ClassVar[int]

    periodic: bool = True
    """Whether the grid wraps around."""
    order: Annotated[names.HaloOrder, LATER] = "together"
    """Whether a rank exchanges all faces at once, or those of one dimension before the next."""
    blocking: Annotated[bool, LATER] = False
    """Whether each send is complete before the rank does anything else (`MPI_Send`); receives are
    posted before."""

    def form(self, directory: Path) -> dict[str, Any]:
        """The engine's form."""
        return {**super().form(directory), "name": "halo", "dimensions": self.dimensions}


class Halo2d(Halo):
    """Halo exchange on a 2-D grid."""

    dimensions: ClassVar[int] = 2

    kind: Literal["halo2d"] = "halo2d"
    """The motif."""
    grid: Annotated[list[Count], Field(min_length=2, max_length=2)] | None = None
    """Ranks along each dimension, their product the number of ranks. Default: as nearly square
    as the number of ranks allows."""


class Halo3d(Halo):
    """Halo exchange on a 3-D grid."""

    dimensions: ClassVar[int] = 3

    kind: Literal["halo3d"] = "halo3d"
    """The motif."""
    grid: Annotated[list[Count], Field(min_length=3, max_length=3)] | None = None
    """Ranks along each dimension, their product the number of ranks. Default: as nearly cubic
    as the number of ranks allows."""


class Halo4d(Halo):
    """Halo exchange on a 4-D grid."""

    dimensions: ClassVar[int] = 4

    kind: Literal["halo4d"] = "halo4d"
    """The motif."""
    grid: Annotated[list[Count], Field(min_length=4, max_length=4)] | None = None
    """Ranks along each dimension, their product the number of ranks. Default: as nearly equal
    as the number of ranks allows."""


def _exchange(motif: MessageMotif, pattern: dict[str, Any]) -> dict[str, Any]:
    """The engine's form of an exchange under a pattern."""
    return {"name": "exchange", "message_bytes": int(motif.message), "pattern": pattern}


class Exchange(MessageMotif):
    """In every iteration each rank sends one message to its partner under a pattern."""

    kind: Literal[
        "uniform-random",
        "permutation",
        "transpose",
        "tornado",
        "bisection-pairs",
        "neighbour",
        "group-tornado",
    ]
    """The pattern: another random partner in every iteration (`uniform-random`), the partner in
    one random permutation, the mirror place in a square matrix (`transpose`), r + ⌈n/2⌉ − 1
    (`tornado`), the partner in the other half (`bisection-pairs`), both neighbours on a ring
    (`neighbour`), or the rank at the same place of the group half-way round (`group-tornado`)."""

    def form(self, directory: Path) -> dict[str, Any]:
        """The engine's form."""
        return _exchange(self, {"name": self.kind})


class ShiftExchange(MessageMotif):
    """In every iteration each rank sends one message to the rank a fixed distance further."""

    kind: Literal["shift"] = "shift"
    """The motif."""
    offset: Count
    """Rank r sends to r + offset (modulo the number of ranks)."""

    def form(self, directory: Path) -> dict[str, Any]:
        """The engine's form."""
        return _exchange(self, {"name": "shift", "offset": self.offset})


class GroupShiftExchange(MessageMotif):
    """In every iteration each rank sends one message to its counterpart in another group."""

    kind: Literal["group-shift"] = "group-shift"
    """The motif."""
    k: int = 1
    """Distance in groups, among those where the job has ranks."""

    def form(self, directory: Path) -> dict[str, Any]:
        """The engine's form."""
        return _exchange(self, {"name": "group-shift", "k": self.k})


class Broadcast(MessageMotif):
    """One rank's message reaches all others over a tree."""

    kind: Literal["broadcast"] = "broadcast"
    """The motif."""
    root: Index = 0
    """Rank that has the message."""
    tree: names.Tree = "binomial"
    """Who passes it on: a binomial tree, or the root sends to all others itself."""


class Collective(MotifBase):
    """All ranks take part in a collective of MPI, carried out by messages."""

    kind: Literal["collective"] = "collective"
    """The motif."""
    operation: names.Operation
    """Which: `barrier`, `broadcast`, …"""
    message: Annotated[PositiveSize | None, InEngine(absent=0)] = None
    """Size, of all but barriers. Broadcasts, reductions and scans: of the whole vector. Gathers
    and all-gathers: what each rank has. Scatters and reduce-scatters: what each rank gets.
    All-to-alls: what each rank has for each."""
    root: Annotated[Index | None, InEngine(absent=0)] = None
    """Rank that sends or gets, of broadcasts, reductions, gathers and scatters. Default: 0."""
    algorithm: Annotated[str, InEngine(value=lambda given: None if given == "auto" else given)] = (
        "auto"
    )
    """Name of an algorithm of the operation, as in `mpi.collectives`. Default: as that says."""

    @model_validator(mode="after")
    def _fits_operation(self) -> Collective:
        if self.operation == "barrier":
            if self.message is not None:
                raise problem("message", f'"{self.message}"', "nothing, as a barrier has no data")
        elif self.message is None:
            raise problem("message", "nothing", "a size, as all collectives but barriers have")
        if self.root is not None and self.operation not in ROOTED:
            raise problem("root", str(self.root), f"only with {', '.join(ROOTED)}")
        allowed = ALGORITHMS[self.operation]
        if self.algorithm not in allowed:
            raise problem("algorithm", f'"{self.algorithm}"', ", ".join(allowed))
        return self


class Matrix(MotifBase):
    """Replays a communication matrix: bytes from rank to rank, as measured in an application."""

    kind: Literal["matrix"] = "matrix"
    """The motif."""
    file: FileName
    """The matrix (CSV or edge list), relative to the scenario."""
    message: PositiveSize | None = None
    """Largest message; larger entries are cut. Default: one message per entry."""
    recorded: bool = False
    """Cut each entry into as many messages as the matrix counts, instead."""
    scale: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """Factor for every entry. Default: 1."""
    total_bytes: PositiveSize | None = None
    """Scales the matrix so that its entries sum to this, instead of `scale`."""
    order: Annotated[names.MatrixOrder, LATER] = "after-own"
    """In which order a rank takes the others: from the one after itself on and round, or the lowest
    first for all, as the Unstructured motif of SST's Ember."""
    blocking: Annotated[bool, LATER, _SENDS] = False
    """Whether each send is complete before the rank does anything else (`MPI_Send`), as Ember."""
    receives: Annotated[names.Receives, LATER, _SENDS] = "ahead"
    """When a rank posts its receives: all before it sends anything, or those from each partner just
    before the sends to it, as Ember; only in ascending order, as in another one all ranks may wait
    for each other."""

    @model_validator(mode="after")
    def _ranks_do_not_wait_for_each_other(self) -> Matrix:
        if self.receives == "in-turn" and self.order != "ascending":
            raise problem("receives", '"in-turn"', '"ahead", or `order = "ascending"` with it')
        return self

    @model_validator(mode="after")
    def _one_scale(self) -> Matrix:
        if self.scale is not None and self.total_bytes is not None:
            raise problem("total_bytes", f'"{self.total_bytes}"', "either `scale` or `total_bytes`")
        return self


class TimeBorder(Table):
    """A moment of a trace."""

    time: Duration
    """Time since the trace's start: calls that begin from then on (`start`), or before (`end`)."""

    def engine_form(self, directory: Path = Path()) -> dict[str, Any]:
        """The engine's form of the border."""
        return {"time-ps": int(self.time)}


class RegionBorder(Table):
    """Where a rank enters a function (`start`) or leaves it (`end`)."""

    region: Annotated[str, Field(min_length=1)]
    """The function: a region of the program that the trace knows, or a function of MPI such as
    `MPI_Allreduce`."""
    iteration: Annotated[int, Field(ge=1, le=2**63 - 1)] | None = None
    """Which time that each rank is in it. Default: the first as `start`, the last as `end`."""

    def engine_form(self, directory: Path = Path()) -> dict[str, Any]:
        """The engine's form of the border."""
        return {"region": {"name": self.region, "iteration": self.iteration}}


class MarkerBorder(Table):
    """A marker of an OTF2 archive."""

    marker: Annotated[str, Field(min_length=1)]
    """Its text or kind."""
    iteration: Annotated[int, Field(ge=1, le=2**63 - 1)] | None = None
    """Which marker of that name. Default: the first as `start`, the last as `end`."""

    def engine_form(self, directory: Path = Path()) -> dict[str, Any]:
        """The engine's form of the border."""
        return {"marker": {"name": self.marker, "iteration": self.iteration}}


#: Where a region of interest of a trace starts or ends.
Border = Annotated[
    Annotated[TimeBorder, Tag(tag("a table with `time`"))]
    | Annotated[RegionBorder, Tag(tag("one with `region`"))]
    | Annotated[MarkerBorder, Tag(tag("one with `marker`"))],
    by_form(
        {
            "a table with `time`": has_key("time"),
            "one with `region`": has_key("region"),
            "one with `marker`": has_key("marker"),
        }
    ),
]


class Trace(Table):
    """Replays what a real application did.

    A trace of MPI (DUMPI, OTF2, liballprof), a schedule (GOAL), the flows of an htsim connection
    matrix, or packets.
    """

    kind: Literal["trace"] = "trace"
    """The motif."""
    file: TraceFile
    """The trace, relative to the scenario: description of a DUMPI job (.meta), anchor file of an
    OTF2 archive (.otf2), GOAL schedule (text or binary), liballprof trace of rank 0 (.txt) beside
    those of the others, connection matrix (.cm), packet trace; with `repeat_rank` the DUMPI trace
    of one rank (.bin)."""
    compute_scale: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """Factor for every time between two calls: 0 replays the communication alone. Default: 1."""
    gap: Duration | None = None
    """Replaces every time between two calls, instead of `compute_scale`."""
    repeat_rank: names.RepeatRank | None = None
    """Lets the trace of one rank stand for all. A rank's peers are then as far from it as the
    recorded ones from the recorded rank (`offset`, around the ring of ranks), or differ from it in
    the same bits (`xor`, for a power of two of ranks)."""
    start: Border | None = None
    """Where the part of a trace of MPI starts that is replayed: `{ time = "10 ms" }`,
    `{ region = "solve" }`, `{ region = "timestep", iteration = 11 }` or `{ marker = "warm" }`.
    Default: the trace's start."""
    end: Border | None = None
    """Where it ends, as for `start`. Default: the trace's end."""

    @model_validator(mode="after")
    def _one_compute(self) -> Trace:
        if self.compute_scale is not None and self.gap is not None:
            raise problem("gap", describe(self.gap), "either `compute_scale` or `gap`")
        return self

    def engine_form(self, directory: Path = Path()) -> dict[str, Any]:
        """The engine's form of the motif; the file is found relative to `directory`."""
        return {
            "kind": _kind_form(self, directory),
            "iterations": 1,
            "compute_ps": 0,
        }


class ComputePhase(Table):
    """A phase in which every rank computes."""

    compute: PositiveDuration
    """How long."""

    def engine_form(self, directory: Path = Path()) -> dict[str, Any]:
        """The engine's form of the phase."""
        return {"compute-ps": int(self.compute)}


class RepeatPhase(Table):
    """Phases several times over."""

    repeat: Count
    """How often."""
    phases: Annotated[list[Phase], Field(min_length=1)]
    """Motifs, computing and repeats, one after another."""

    def engine_form(self, directory: Path = Path()) -> dict[str, Any]:
        """The engine's form of the phase; files are found relative to `directory`."""
        phases = [phase_form(phase, directory) for phase in self.phases]
        return {"repeat": {"times": self.repeat, "phases": phases}}


class PhaseFile(Table):
    """A file of phases."""

    phases: Annotated[list[Phase], Field(min_length=1)]
    """Motifs, computing and repeats, one after another."""


class Phases(Table):
    """An application of several phases: motifs one after another, with repeats.

    Each phase is a motif, `{ compute = … }`, or `{ repeat = …, phases = [ … ] }`. Ranks go from
    phase to phase without waiting for others.
    """

    kind: Literal["phases"] = "phases"
    """The motif."""
    iterations: Count = 1
    """How often each rank runs through all phases."""
    phases: Annotated[list[Phase], Field(min_length=1)] | None = None
    """Motifs, computing and repeats, one after another."""
    file: PhasesFile | None = None
    """File that has `phases`, instead; relative to the scenario."""

    @model_validator(mode="after")
    def _one_source(self) -> Phases:
        if (self.phases is None) == (self.file is None):
            found = "neither" if self.file is None else "both"
            raise problem("phases", found, "either `phases` or `file`")
        return self

    def engine_form(self, directory: Path = Path()) -> dict[str, Any]:
        """The engine's form of the motif; files are found relative to `directory`.

        Raises:
            ScenarioError: If a file of phases cannot be read or is none.
        """
        phases = self.phases
        if phases is None:
            file = directory / str(self.file)
            phases, directory = read_phases(file), file.parent
        forms = [phase_form(phase, directory) for phase in phases]
        return {"kind": {"name": self.kind, "phases": forms}, "iterations": self.iterations}


def phase_form(phase: Phase, directory: Path) -> dict[str, Any]:
    """The engine's form of a phase; files are found relative to `directory`."""
    form = phase.engine_form(directory)
    return form if isinstance(phase, ComputePhase | RepeatPhase) else {"motif": form}


def read_phases(file: Path) -> list[Phase]:
    """The phases of a file."""
    text = read_text(file)
    data = parse_toml(text, str(file))
    try:
        return PhaseFile.model_validate(data).phases
    except ValidationError as error:
        found = ScenarioError(problems(error, PhaseFile), str(file))
        raise with_lines(found, text) from None


_EXCHANGES = "uniform-random|permutation|transpose|tornado|bisection-pairs|neighbour|group-tornado"


class PlugInMotif(Table):
    """An application of a [plug-in](plug-ins.md)."""

    kind: Annotated[str, not_ours("application")]
    """Its name."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """What it is given."""

    def form(self, directory: Path) -> dict[str, Any]:
        """What stands for it in the engine's form."""
        return reference("application", self.kind, self.parameters)

    def engine_form(self, directory: Path = Path()) -> dict[str, Any]:
        """The engine's form of the motif."""
        return {"kind": self.form(directory), "iterations": 1, "compute_ps": 0}


Motif = Annotated[
    Annotated[AllToAll, Tag(tag("all-to-all"))]
    | Annotated[Bisection, Tag(tag("bisection"))]
    | Annotated[Halo2d, Tag(tag("halo2d"))]
    | Annotated[Halo3d, Tag(tag("halo3d"))]
    | Annotated[Halo4d, Tag(tag("halo4d"))]
    | Annotated[Exchange, Tag(tag(_EXCHANGES))]
    | Annotated[ShiftExchange, Tag(tag("shift"))]
    | Annotated[GroupShiftExchange, Tag(tag("group-shift"))]
    | Annotated[Broadcast, Tag(tag("broadcast"))]
    | Annotated[Collective, Tag(tag("collective"))]
    | Annotated[Matrix, Tag(tag("matrix"))]
    | Annotated[Trace, Tag(tag("trace"))]
    | Annotated[Halo3d26, Tag(tag("halo3d-26"))]
    | Annotated[Sweep3d, Tag(tag("sweep3d"))]
    | Annotated[Fft, Tag(tag("fft"))]
    | Annotated[Lulesh, Tag(tag("lulesh"))]
    | Annotated[Amg, Tag(tag("amg"))]
    | Annotated[Milc, Tag(tag("milc"))]
    | Annotated[Nekbone, Tag(tag("nekbone"))]
    | Annotated[MiniAmr, Tag(tag("mini-amr"))]
    | Annotated[Hacc, Tag(tag("hacc"))]
    | Annotated[Gtc, Tag(tag("gtc"))]
    | Annotated[Training, Tag(tag("training"))]
    | Annotated[Phases, Tag(tag("phases"))]
    | Annotated[PlugInMotif, Tag(tag(PLUG_IN))],
    chosen_by(
        "kind",
        *("all-to-all", "bisection", "halo2d", "halo3d", "halo4d"),
        *(_EXCHANGES, "shift", "group-shift", "broadcast", "collective", "matrix", "trace"),
        *("halo3d-26", "sweep3d", "fft", "lulesh", "amg", "milc", "nekbone", "mini-amr", "hacc"),
        *("gtc", "training", "phases"),
        plug_ins="application",
    ),
]

_PHASE_FORMS = {
    "a motif (a table with `kind`)": has_key("kind"),
    "a table with `compute`": has_key("compute"),
    "a table with `repeat` and `phases`": has_key("repeat"),
}


def _ours(phase: Any) -> Any:
    """Refuses plug-ins, of which the engine gets a program for all that a job does."""
    if isinstance(phase, PlugInMotif):
        allowed = "a motif of ours: a plug-in is the motif of a whole job"
        raise problem("kind", f'the plug-in "{phase.kind}"', allowed)
    return phase


Phase = Annotated[
    Annotated[Motif, Tag(tag("a motif (a table with `kind`)"))]
    | Annotated[ComputePhase, Tag(tag("a table with `compute`"))]
    | Annotated[RepeatPhase, Tag(tag("a table with `repeat` and `phases`"))],
    by_form(_PHASE_FORMS),
    AfterValidator(_ours),
]
for _table in (RepeatPhase, PhaseFile, Phases):
    _table.model_rebuild()
