"""Jobs of a scenario: who sends what to whom and when, and where its ranks sit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, Tag, model_validator

from odonata.collectives import ALGORITHMS, ROOTED, Operation
from odonata.model import (
    Bandwidth,
    Count,
    Delay,
    Index,
    PositiveDuration,
    PositiveSize,
    Table,
    by_form,
    chosen_by,
    is_list,
    is_table,
    is_text,
    tag,
)
from odonata.problem import problem
from odonata.units import Duration, describe

# --- Motifs: closed loop, each rank waits for what it receives ----------------


class MotifBase(Table):
    """What every motif has."""

    iterations: Count = 1
    """How often each rank runs through the motif."""
    compute: Delay = Duration(0)
    """Time that each rank computes at the start of every iteration."""

    def form(self, directory: Path) -> dict[str, Any]:
        """The engine's form of the kind; files are found relative to `directory`."""
        return {"name": self.kind}  # type: ignore[attr-defined]

    def normalised(self, directory: Path) -> dict[str, Any]:
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

    def form(self, directory: Path) -> dict[str, Any]:
        """The engine's form."""
        return {**super().form(directory), "message_bytes": int(self.message)}


class WindowMotif(MessageMotif):
    """A motif of many steps, in each of which a rank has one partner."""

    window: Count = 1
    """Steps that a rank has outstanding at once: 1 waits for each partner before the next."""

    def form(self, directory: Path) -> dict[str, Any]:
        """The engine's form."""
        return {**super().form(directory), "window": self.window}


class AllToAll(WindowMotif):
    """Every rank sends a message to every other rank; in step s rank r sends to r + s."""

    kind: Literal["all-to-all"] = "all-to-all"
    """The motif."""


class Bisection(WindowMotif):
    """Every rank exchanges a message with every rank of the other half of the job."""

    kind: Literal["bisection"] = "bisection"
    """The motif."""


class Halo(MessageMotif):
    """Every rank of a grid exchanges messages with its neighbours across the faces."""

    dimensions: ClassVar[int]

    periodic: bool = True
    """Whether the grid wraps around."""

    def form(self, directory: Path) -> dict[str, Any]:
        """The engine's form."""
        return {
            **super().form(directory),
            "name": "halo",
            "dimensions": self.dimensions,
            "grid": self.grid,  # type: ignore[attr-defined]
            "periodic": self.periodic,
        }


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
    tree: Literal["binomial", "linear"] = "binomial"
    """Who passes it on: a binomial tree, or the root sends to all others itself."""

    def form(self, directory: Path) -> dict[str, Any]:
        """The engine's form."""
        return {**super().form(directory), "root": self.root, "tree": self.tree}


class Collective(MotifBase):
    """All ranks take part in a collective of MPI, carried out by messages."""

    kind: Literal["collective"] = "collective"
    """The motif."""
    operation: Operation
    """Which: `barrier`, `broadcast`, …"""
    message: PositiveSize | None = None
    """Size, of all but barriers. Broadcasts, reductions and scans: of the whole vector. Gathers
    and all-gathers: what each rank has. Scatters and reduce-scatters: what each rank gets.
    All-to-alls: what each rank has for each."""
    root: Index | None = None
    """Rank that sends or gets, of broadcasts, reductions, gathers and scatters. Default: 0."""
    algorithm: str = "auto"
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

    def form(self, directory: Path) -> dict[str, Any]:
        """The engine's form."""
        return {
            **super().form(directory),
            "operation": self.operation,
            "message_bytes": 0 if self.message is None else int(self.message),
            "root": self.root or 0,
            "algorithm": None if self.algorithm == "auto" else self.algorithm,
        }


class Matrix(MotifBase):
    """Replays a communication matrix: bytes from rank to rank, as measured in an application."""

    kind: Literal["matrix"] = "matrix"
    """The motif."""
    file: str
    """The matrix (CSV or edge list), relative to the scenario."""
    message: PositiveSize | None = None
    """Largest message; larger entries are cut. Default: one message per entry."""
    recorded: bool = False
    """Cut each entry into as many messages as the matrix counts, instead."""
    scale: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """Factor for every entry. Default: 1."""
    total_bytes: PositiveSize | None = None
    """Scales the matrix so that its entries sum to this, instead of `scale`."""

    @model_validator(mode="after")
    def _one_scale(self) -> Matrix:
        if self.scale is not None and self.total_bytes is not None:
            raise problem("total_bytes", f'"{self.total_bytes}"', "either `scale` or `total_bytes`")
        return self

    def form(self, directory: Path) -> dict[str, Any]:
        """The engine's form; the file is found relative to `directory`."""
        return {
            **super().form(directory),
            "file": str(directory / self.file),
            "message_bytes": None if self.message is None else int(self.message),
            "recorded": self.recorded,
            "scale": self.scale,
            "total_bytes": None if self.total_bytes is None else int(self.total_bytes),
        }


class Trace(Table):
    """Replays what a real application did.

    A trace of MPI (DUMPI, OTF2), a schedule (GOAL), the flows of an htsim connection matrix, or
    packets.
    """

    kind: Literal["trace"] = "trace"
    """The motif."""
    file: str
    """The trace, relative to the scenario: description of a DUMPI job (.meta), anchor file of an
    OTF2 archive (.otf2), GOAL schedule (text or binary), connection matrix (.cm), packet trace;
    with `repeat_rank` the DUMPI trace of one rank (.bin)."""
    compute_scale: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    """Factor for every time between two calls: 0 replays the communication alone. Default: 1."""
    gap: Delay | None = None
    """Replaces every time between two calls, instead of `compute_scale`."""
    repeat_rank: Literal["offset", "xor"] | None = None
    """Lets the trace of one rank stand for all. A rank's peers are then as far from it as the
    recorded ones from the recorded rank (`offset`, around the ring of ranks), or differ from it in
    the same bits (`xor`, for a power of two of ranks)."""

    @model_validator(mode="after")
    def _one_compute(self) -> Trace:
        if self.compute_scale is not None and self.gap is not None:
            raise problem("gap", describe(self.gap), "either `compute_scale` or `gap`")
        return self

    def normalised(self, directory: Path) -> dict[str, Any]:
        """The engine's form of the motif; the file is found relative to `directory`."""
        return {
            "kind": {
                "name": self.kind,
                "file": str(directory / self.file),
                "compute_scale": self.compute_scale,
                "gap_ps": None if self.gap is None else int(self.gap),
                "repeat_rank": self.repeat_rank,
            },
            "iterations": 1,
            "compute_ps": 0,
        }


_EXCHANGES = "uniform-random|permutation|transpose|tornado|bisection-pairs|neighbour|group-tornado"
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
    | Annotated[Trace, Tag(tag("trace"))],
    chosen_by(
        "kind",
        *("all-to-all", "bisection", "halo2d", "halo3d", "halo4d"),
        *(_EXCHANGES, "shift", "group-shift", "broadcast", "collective", "matrix", "trace"),
    ),
]

# --- Traffic: open loop, offered whatever the network does --------------------


class TrafficBase(Table):
    """What all open-loop traffic has."""

    message: PositiveSize
    """Size of each message."""
    process: Literal["poisson", "periodic", "bernoulli"] = "poisson"
    """When a rank starts its messages: exponential gaps, fixed gaps, or with a fixed probability
    in every slot."""
    load: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """Offered load of a node, as a fraction of the bandwidth of its terminal link; its ranks
    share it."""
    rate: Bandwidth | None = None
    """Offered load of a rank."""
    interval: PositiveDuration | None = None
    """Mean time between two messages of a rank."""
    slot: PositiveDuration | None = None
    """With `process = "bernoulli"`: length of a slot. Default: the time that a message takes on
    the terminal link."""

    @model_validator(mode="after")
    def _one_rate(self) -> TrafficBase:
        given = [k for k in ("load", "rate", "interval") if getattr(self, k) is not None]
        if len(given) != 1:
            found = " and ".join(f"`{key}`" for key in given) or "none of them"
            raise problem(given[-1] if given else "load", found, "one of load, rate and interval")
        if self.slot is not None and self.process != "bernoulli":
            raise problem("slot", describe(self.slot), 'only with process = "bernoulli"')
        return self

    def normalised(self) -> dict[str, Any]:
        """The engine's form."""
        if self.load is not None:
            offered = {"load": self.load}
        elif self.rate is not None:
            offered = {"rate_bytes_per_s": int(self.rate)}
        else:
            offered = {"interval_ps": int(self.interval or 0)}
        return {
            "pattern": self.pattern_form(),
            "message_bytes": int(self.message),
            "process": self.process,
            "slot_ps": None if self.slot is None else int(self.slot),
            "offered": offered,
        }

    def pattern_form(self) -> dict[str, Any]:
        """The engine's form of the pattern."""
        return {"name": self.pattern}  # type: ignore[attr-defined]


class Traffic(TrafficBase):
    """Traffic by a pattern that needs no parameter."""

    pattern: Literal[
        "uniform-random",
        "uniform-or-self",
        "permutation",
        "tornado",
        "transpose",
        "bisection",
        "bisection-pairs",
        "neighbour",
        "group-tornado",
    ]
    """Whom a rank sends to: any other rank (`uniform-random`), any rank and itself, the partner
    in a random permutation, r + ⌈n/2⌉ − 1 (`tornado`), the mirror place in a square matrix
    (`transpose`), a random rank or the partner in the other half, either neighbour, or the rank
    at the same place of the group half-way round (`group-tornado`)."""


class GroupShift(TrafficBase):
    """Traffic to another group: ADV+k, the worst case of minimal routing on a dragonfly."""

    pattern: Literal["adversarial", "group-shift"]
    """To a random rank (`adversarial`) or to the rank at the same place (`group-shift`) of the
    group k groups further."""
    k: int = 1
    """Distance in groups, among those where the job has ranks."""

    def pattern_form(self) -> dict[str, Any]:
        """The engine's form of the pattern."""
        return {"name": self.pattern, "k": self.k}


class Shift(TrafficBase):
    """Traffic to the rank a fixed distance further."""

    pattern: Literal["shift"] = "shift"
    """The pattern."""
    offset: Count
    """Rank r sends to r + offset (modulo the number of ranks)."""

    def pattern_form(self) -> dict[str, Any]:
        """The engine's form of the pattern."""
        return {"name": self.pattern, "offset": self.offset}


class Stencil(TrafficBase):
    """Traffic to the neighbours in a grid of ranks."""

    pattern: Literal["stencil"] = "stencil"
    """The pattern."""
    grid: Annotated[list[Count], Field(min_length=1, max_length=4)]
    """Ranks along each dimension; their product is the number of ranks."""
    periodic: bool = True
    """Whether the grid wraps around."""

    def pattern_form(self) -> dict[str, Any]:
        """The engine's form of the pattern."""
        return {"name": self.pattern, "grid": self.grid, "periodic": self.periodic}


class HotSpot(TrafficBase):
    """Traffic of which a share goes to a few ranks, the rest to any rank."""

    pattern: Literal["hot-spot"] = "hot-spot"
    """The pattern."""
    hot_ranks: Annotated[list[Index], Field(min_length=1)]
    """Ranks that draw more traffic."""
    fraction: Annotated[float, Field(ge=0, le=1)]
    """Share of the messages that goes to them."""

    def pattern_form(self) -> dict[str, Any]:
        """The engine's form of the pattern."""
        return {"name": self.pattern, "hot_ranks": self.hot_ranks, "fraction": self.fraction}


_PLAIN = (
    "uniform-random|uniform-or-self|permutation|tornado|transpose|bisection|bisection-pairs"
    "|neighbour|group-tornado"
)
_GROUPED = "adversarial|group-shift"
AnyTraffic = Annotated[
    Annotated[Traffic, Tag(tag(_PLAIN))]
    | Annotated[GroupShift, Tag(tag(_GROUPED))]
    | Annotated[Shift, Tag(tag("shift"))]
    | Annotated[Stencil, Tag(tag("stencil"))]
    | Annotated[HotSpot, Tag(tag("hot-spot"))],
    chosen_by("pattern", _PLAIN, _GROUPED, "shift", "stencil", "hot-spot"),
]

# --- Jobs ---------------------------------------------------------------------


class MappingTable(Table):
    """A mapping of ranks to nodes in full: from a file, or by a policy."""

    file: str | None = None
    """One line per rank: index of its node among the job's nodes; relative to the scenario. All
    other keys are for policies."""
    policy: Literal["linear", "random", "greedy", "graph-bisection"] | None = None
    """Where the mapping starts from, as its name alone would."""
    refine: Literal["swap"] | None = None
    """`swap`: ranks swap places in pairs for as long as that lowers the objective. Default: they
    stay where the policy put them."""
    objective: Literal["hop-bytes", "link-load"] | None = None
    """With `refine`: what swaps lower, bytes times the time for which each occupies links on its
    way (`hop-bytes`), or the load of the busiest links (`link-load`). Default: hop-bytes."""
    matrix: str | None = None
    """Communication matrix that says who sends how much to whom, relative to the scenario.
    Default: what the job's own motif or traffic sends."""

    @model_validator(mode="after")
    def _one_source(self) -> MappingTable:
        if (self.file is None) == (self.policy is None):
            found = "neither" if self.file is None else "both"
            raise problem("", found, "exactly one of `file` and `policy`")
        for key in ("refine", "matrix"):
            if self.file is not None and getattr(self, key) is not None:
                raise problem(key, describe(getattr(self, key)), "only with `policy`")
        if self.objective is not None and self.refine is None:
            raise problem("objective", describe(self.objective), 'only with refine = "swap"')
        fitted = self.policy in ("greedy", "graph-bisection") or self.refine
        if self.matrix is not None and not fitted:
            allowed = "only with greedy or graph-bisection, or with `refine`"
            raise problem("matrix", describe(self.matrix), allowed)
        return self

    def normalised(self, directory: Path) -> dict[str, Any]:
        """The engine's form; files are found relative to `directory`."""
        if self.file is not None:
            return {"policy": "file", "file": str(directory / self.file)}
        if self.policy in ("linear", "random") and self.refine is None:
            return {"policy": self.policy}
        return {
            "policy": "fitted",
            "start": self.policy,
            "refine": None if self.refine is None else self.objective or "hop-bytes",
            "matrix": None if self.matrix is None else str(directory / self.matrix),
        }


class Job(Table):
    """A parallel application: ranks on nodes, and what they send."""

    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """Name in tables and pictures. Default: job1, job2, …"""
    nodes: Count | None = None
    """Nodes that the job gets. Default: as many as its ranks need."""
    ranks: Count | None = None
    """Ranks (processes). Default: `ranks_per_node` on every node; those of the matrix or
    trace, where one is replayed."""
    ranks_per_node: Count = 1
    """Ranks on each node."""
    start: Delay = Duration(0)
    """When its ranks start."""
    placement: Annotated[
        Annotated[
            Literal["contiguous", "spread", "random-node", "random-router", "random-group"],
            Tag(tag("a name")),
        ]
        | Annotated[list[Index], Field(min_length=1), Tag(tag("a list of nodes"))],
        by_form({"a name": is_text, "a list of nodes": is_list}),
    ] = "contiguous"
    """Which free nodes the job gets: the first ones, one of each group in turn, random nodes,
    all of random routers or groups, or a list of nodes."""
    mapping: Annotated[
        Annotated[
            Literal["linear", "random", "greedy", "graph-bisection"],
            Tag(tag("a name")),
        ]
        | Annotated[list[Index], Field(min_length=1), Tag(tag("a list"))]
        | Annotated[MappingTable, Tag(tag("a table"))],
        by_form({"a name": is_text, "a list": is_list, "a table": is_table}),
    ] = "linear"
    """Which rank sits on which of them: node after node, at random, or near to those that it
    talks to ([mapping](mapping.md)): the heaviest communicators first (`greedy`), or by cutting
    application and network in two again and again (`graph-bisection`). Or explicitly: the index
    of each rank's node among the job's nodes, as a list or in a file."""
    motif: Motif | None = None
    """What its ranks do, waiting for what they receive."""
    traffic: AnyTraffic | None = None
    """What its ranks send, whatever the network does."""

    @model_validator(mode="after")
    def _one_load(self) -> Job:
        if (self.motif is None) == (self.traffic is None):
            found = "neither" if self.motif is None else "both"
            raise problem("", found, "exactly one of `motif` and `traffic`")
        sized = self.nodes or self.ranks or isinstance(self.placement, list)
        if not sized and not isinstance(self.motif, Matrix | Trace):
            raise problem("nodes", "nothing", "a value, as `ranks` is not given either")
        return self

    def normalised(self, position: int, directory: Path) -> dict[str, Any]:
        """The engine's form of the job at a position of the scenario (from 0)."""
        if isinstance(self.placement, list):
            placement: dict[str, Any] = {"policy": "explicit", "nodes": self.placement}
        else:
            placement = {"policy": self.placement}
        if isinstance(self.mapping, list):
            mapping: dict[str, Any] = {"policy": "explicit", "node_of_rank": self.mapping}
        elif isinstance(self.mapping, MappingTable):
            mapping = self.mapping.normalised(directory)
        else:
            mapping = MappingTable(policy=self.mapping).normalised(directory)
        return {
            "name": self.name or f"job{position + 1}",
            "nodes": self.nodes,
            "ranks": self.ranks,
            "ranks_per_node": self.ranks_per_node,
            "start_ps": int(self.start),
            "placement": placement,
            "mapping": mapping,
            "load": {"motif": self.motif.normalised(directory)}
            if self.motif
            else {"traffic": self.traffic.normalised()}
            if self.traffic
            else None,
        }
