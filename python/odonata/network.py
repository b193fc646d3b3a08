"""The `[network]` table of a scenario: what is wired, and how packets are routed on it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, Tag, model_validator

from odonata.model import (
    Bandwidth,
    CodesFile,
    Count,
    Delay,
    FileName,
    Index,
    PositiveDelay,
    PositiveSize,
    Table,
    by_form,
    chosen_by,
    is_list,
    is_number,
    is_table,
    is_text,
    tag,
)
from odonata.problem import problem, requires
from odonata.units import Duration, Rate, Size

Algorithm = Literal[
    "minimal",
    "valiant",
    "ugal-l",
    "ugal-g",
    "par",
    "fpar",
    "q-adaptive",
    "shortest-path",
    "up-down",
    "dimension-order",
    "dimwar",
    "tago",
]


#: A share of something.
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
#: A share that is not nothing.
PositiveShare = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]


def is_size(value: Any) -> bool:
    """Whether a value is the text of a size, or one that has been read."""
    return is_text(value) or isinstance(value, Size)


class Link(Table):
    """What all links of one class have in common; both directions have the full bandwidth."""

    bandwidth: Bandwidth = Rate("5.25 GiB/s")
    """Rate of each direction."""
    latency: PositiveDelay = Duration("30 ns")
    """Propagation delay of each direction."""
    buffer: PositiveSize | None = None
    """Input buffer at the receiving router, per virtual channel. Default: what the link
    carries during one round trip (twice its latency, the router delay and the credit
    delay), plus four packets."""

    def normalised(self) -> dict[str, Any]:
        """The engine's form."""
        return {
            "bandwidth_bytes_per_s": int(self.bandwidth),
            "latency_ps": int(self.latency),
            "buffer_bytes": None if self.buffer is None else int(self.buffer),
            "kind": None,
        }


class TerminalLink(Link):
    """The links between nodes and routers."""

    bandwidth: Bandwidth = Rate("16 GiB/s")
    """Rate of each direction."""


class NamedLink(Link):
    """A link class of a wiring file."""

    kind: Literal["terminal", "local", "global"] | None = None
    """Role of the class. Default: that of its name, or `local`."""

    def normalised(self) -> dict[str, Any]:
        """The engine's form."""
        return {**super().normalised(), "kind": self.kind}


class GlobalLink(Link):
    """The links between groups."""

    bandwidth: Bandwidth = Rate("4.69 GiB/s")
    """Rate of each direction."""
    latency: PositiveDelay = Duration("300 ns")
    """Propagation delay of each direction."""


class Links(Table):
    """Link classes of a network."""

    terminal: TerminalLink = Field(default_factory=TerminalLink)
    """Between nodes and routers."""

    def normalised(self) -> dict[str, Any]:
        """The engine's form, by class name."""
        names = {name: field.alias or name for name, field in type(self).model_fields.items()}
        return {alias: getattr(self, name).normalised() for name, alias in names.items()}


class DragonflyLinks(Links):
    """Link classes of a dragonfly; `green` and `black` instead of `local` in Cray XC groups."""

    local: Link = Field(default_factory=Link)
    """Within a group."""
    green: Link = Field(default_factory=Link)
    """Within a row of a Cray XC group (backplane of a chassis)."""
    black: Link = Field(default_factory=Link)
    """Within a column of a Cray XC group (cables between chassis)."""
    global_: GlobalLink = Field(default_factory=GlobalLink, alias="global")
    """Between groups."""


class CrayXcLinks(Links):
    """Link classes of a Cray XC, by the colours of its link list."""

    green: Link = Field(default_factory=Link)
    """Within a row of a group (backplane of a chassis)."""
    black: Link = Field(default_factory=Link)
    """Within a column of a group (cables between chassis)."""
    blue: GlobalLink = Field(default_factory=GlobalLink)
    """Between groups."""


class Routing(Table):
    """How packets find their way, in full."""

    algorithm: Algorithm
    """`minimal`, `valiant` (by way of a random intermediate), `ugal-l` and `ugal-g` (minimal or
    Valiant, whichever has the shorter queue, seen locally or globally), `par` (UGAL-L that may
    change its mind within the source group), `fpar` (fully progressive adaptive: minimal or by way
    of a spine or a leaf of another group, decided at every router; needs groups of leaves and
    spines), `q-adaptive` (by times that the routers learn; needs all-to-all groups),
    `shortest-path` (any network), `up-down` (up, then down: shortest paths in fat trees; any
    network, on one virtual channel), `dimension-order` (along one dimension after the other, in
    tori, meshes and HyperX), `dimwar` (the same in HyperX, in every dimension directly or by way of
    another router of the row, whichever has the shorter queue), or `tago` (over the circuits that
    join two groups directly, by other groups only where there are none; needs all-to-all
    groups)."""
    minimal_links: Literal["all", "shortest"] = "all"
    """Which global links to the destination's group minimal routes use: all of them, or those
    on a shortest path."""
    choice: Literal["random", "by-load", "by-destination"] = "random"
    """How one of several minimal links is chosen: at random, or by the shorter queue. With `fpar`:
    how one of the ports is chosen that its threshold counts as free. With `up-down`,
    `dimension-order` and `shortest-path` also `by-destination`: that of the destination node, in
    fat trees D-mod-K (Zahavi 2010)."""
    paths: Literal["groups", "shortest-path", "up-down", "dimension-order"] | None = None
    """What `minimal` routes are, and what those of `valiant`, `ugal-l` and `ugal-g` consist of: by
    way of the links between two `groups`, or the routes of the algorithm of that name. Default:
    `up-down` in fat trees, `dimension-order` in tori and HyperX, `shortest-path` in a Slim Fly, a
    Jellyfish, and other networks of one group, else `groups`."""
    via: Literal["group", "router", "node"] | None = None
    """What a non-minimal route goes by way of: any router of a random group, a random router, or
    the router of a random node. Default: `group`, or `router` where `paths` are not over
    groups."""
    candidates: Count | None = None
    """Routes of each sort that an adaptive algorithm draws and compares. Default: 1."""
    threshold: (
        Annotated[
            Annotated[Size, Tag(tag("a size"))]
            | Annotated[Share, Tag(tag("a number from 0 to 1"))],
            by_form({"a size": is_size, "a number from 0 to 1": is_number}),
        ]
        | None
    ) = None
    """Advantage of minimal routes, a size: an adaptive algorithm takes the minimal route unless its
    weighted queue is longer than that of the other by more than this. Default: what follows from
    the links' buffers ([adaptive routing by default](adaptive-routing.md)); none, 0 B, with
    `engine = "flow"` and for the jobs of a schedule. With `fpar` a number from 0 to 1: the share
    of a port's queue up to which a path counts as free. Default: 0.75."""
    source_threshold: Share | None = None
    """With `q-adaptive`: by how much, as a share of its own time, the minimal port may be worse
    than the best and still be taken by the source router. Default: 0.2."""
    intermediate_threshold: Share | None = None
    """The same in the first router of an intermediate group. Default: 0.35."""
    rate_down: PositiveShare | None = None
    """With `q-adaptive`: learning rate towards shorter times. Default: 0.2."""
    rate_up: PositiveShare | None = None
    """With `q-adaptive`: learning rate towards longer times. Default: 0.04."""
    exploration: Share | None = None
    """With `q-adaptive`: probability that a decision takes a random port. Default: 0.001."""
    weights: Annotated[
        Annotated[Literal["hops"], Tag(tag('"hops"'))]
        | Annotated[
            Annotated[list[Count], Field(min_length=2, max_length=2)],
            Tag(tag("a list of two weights")),
        ],
        by_form({'"hops"': is_text, "a list of two weights": is_list}),
    ] = "hops"
    """How an adaptive algorithm weights queues: `hops`, each by the length of its route, or the
    weights of minimal and of non-minimal routes, such as `[1, 2]`."""
    detours_in_group: bool | None = None
    """Whether adaptive traffic, or that of `tago`, inside a group may go by way of a random router
    of the group. Default: false, it is always minimal."""
    virtual_channels: Annotated[int, Field(ge=1, le=64)] | None = None
    """Virtual channels per link; fewer than the algorithm needs are merged, and packets may then
    wait for each other forever, as `odonata verify` shows. Default: what the algorithm needs."""

    per: Literal["packet", "message"] = "packet"
    """What every router decides on: each packet by itself, or the first packet of a message, which
    the others follow, so that a message has one path and its packets keep their order (adaptive
    routing that keeps flows in order, as on InfiniBand). Not with `q-adaptive`."""

    def normalised(self) -> dict[str, Any]:
        """The engine's form."""
        return {
            "algorithm": self.algorithm,
            "minimal_links": self.minimal_links,
            "choice": self.choice,
            "via": self.via,
            "candidates": self.candidates,
            "threshold_bytes": int(self.threshold) if isinstance(self.threshold, Size) else None,
            "threshold_share": self.threshold if isinstance(self.threshold, float) else None,
            "source_threshold": self.source_threshold,
            "intermediate_threshold": self.intermediate_threshold,
            "rate_down": self.rate_down,
            "rate_up": self.rate_up,
            "exploration": self.exploration,
            "weights": self.weights,
            "detours_in_group": self.detours_in_group,
            "virtual_channels": self.virtual_channels,
            **({} if self.paths is None else {"paths": self.paths}),
            # Only where it differs: points of studies are known by this form.
            **({} if self.per == "packet" else {"per": self.per}),
        }


RoutingChoice = Annotated[
    Annotated[Algorithm, Tag(tag("a name"))] | Annotated[Routing, Tag(tag("a table"))],
    by_form({"a name": is_text, "a table": is_table}),
]


class Router(Table):
    """The router model."""

    delay: Delay = Duration("50 ns")
    """From the arrival of a packet's head at an input to its earliest departure."""
    credit_delay: Delay = Duration(0)
    """Extra delay of a credit, besides the latency of the link on which it returns."""
    credit_use: Literal["link", "crossbar"] = "link"
    """When a packet takes room in the buffer at the other end of its next link: when it starts
    over the link, or already when it starts through a bounded crossbar, so that output buffers
    only hold packets that can leave (input-queued routers, such as BookSim's)."""
    switching: Literal["cut-through", "store-and-forward"] = "cut-through"
    """Whether a packet may leave before all of it has arrived."""
    flit: PositiveSize = Size("32 B")
    """With cut-through: bytes that must have arrived before a packet is routed."""
    crossbar: Annotated[
        Annotated[Literal["ideal"], Tag(tag('"ideal"'))]
        | Annotated[float, Field(ge=1, allow_inf_nan=False), Tag(tag("a speed-up"))],
        by_form({'"ideal"': is_text, "a speed-up": is_number}),
    ] = "ideal"
    """The switch inside the router: `ideal` (never a bottleneck), or the rate of its ports as a
    multiple of the fastest link of the router, at least 1."""
    output_buffer: PositiveSize | None = None
    """With a bounded crossbar: output buffer per virtual channel. Default: two packets."""
    occupancy: Literal["buffered", "requests"] = "buffered"
    """With a bounded crossbar, what routing sees of an output, besides what has been sent and not
    credited: the bytes in its buffer, or also those in input queues that have chosen it."""
    arbitration: Literal["round-robin", "oldest-first"] = "round-robin"
    """Which of several waiting packets goes first: virtual channels take turns, or the packet
    that was created first."""

    @model_validator(mode="after")
    def _fits_crossbar(self) -> Router:
        if self.credit_use == "crossbar" and self.crossbar == "ideal":
            raise problem("credit_use", '"crossbar"', '"link" with an ideal crossbar')
        if self.occupancy == "requests" and self.crossbar == "ideal":
            allowed = '"buffered" with an ideal crossbar, where all that waits counts'
            raise problem("occupancy", '"requests"', allowed)
        return self

    def normalised(self) -> dict[str, Any]:
        """The engine's form."""
        return {
            "delay_ps": int(self.delay),
            "credit_delay_ps": int(self.credit_delay),
            "credit_use": self.credit_use,
            "switching": self.switching,
            "flit_bytes": int(self.flit),
            "crossbar_speedup": None if self.crossbar == "ideal" else self.crossbar,
            "output_buffer_bytes": None if self.output_buffer is None else int(self.output_buffer),
            "arbitration": self.arbitration,
            # Only where it differs: points of studies are known by this form.
            **({} if self.occupancy == "buffered" else {"occupancy": self.occupancy}),
        }


class Nic(Table):
    """The network interface of a node."""

    injection: Literal["round-robin", "fifo"] = "round-robin"
    """Order in which a node sends the messages that its ranks have handed over: one packet of
    each in turn, or message after message. Decides much where ranks send many messages at once
    ([order of injection](packet-model.md#order-of-injection)): `milc` took 20 to 59 % longer
    message after message."""
    loopback_bandwidth: Bandwidth = Rate("16 GB/s")
    """Bandwidth between two ranks of the same node."""
    loopback_latency: Delay = Duration("500 ns")
    """Latency of a message between two ranks of the same node."""

    def normalised(self) -> dict[str, Any]:
        """The engine's form."""
        return {
            "injection": self.injection,
            "loopback_bandwidth_bytes_per_s": int(self.loopback_bandwidth),
            "loopback_latency_ps": int(self.loopback_latency),
        }


class NetworkBase(Table, ABC):
    """What every family of networks has."""

    default_routing: ClassVar[Algorithm] = "minimal"

    router: Router = Field(default_factory=Router)
    """The router model."""
    nic: Nic = Field(default_factory=Nic)
    """The network interface of a node."""
    routing: RoutingChoice | None = None
    """How packets find their way: the name of an algorithm, or a table with its parameters.
    Default: `minimal` where the network has groups, else `shortest-path`; `tago` on a
    reconfigurable dragonfly with all-to-all groups, `up-down` on a fat tree, `dimension-order` on
    a torus or HyperX; with `family = "codes"` by the model of the configuration."""

    @abstractmethod
    def topology(self, directory: Path) -> dict[str, Any]:
        """The engine's form of what is wired; files are found relative to `directory`."""

    def link_classes(self) -> dict[str, Any]:
        """The engine's form of the link classes."""
        links: Links = self.links  # type: ignore[attr-defined]
        return links.normalised()

    def notices(self, directory: Path) -> list[str]:
        """What a person should know about the files that it is read from, sentences."""
        return []

    def normalised(self, directory: Path) -> dict[str, Any]:
        """The engine's form."""
        routing = self.routing or self.default_routing
        if isinstance(routing, str):
            routing = Routing(algorithm=routing)
        return {
            "topology": self.topology(directory),
            "routing": routing.normalised(),
            "links": self.link_classes(),
            "router": self.router.normalised(),
            "nic": self.nic.normalised(),
        }


class GroupsOfRouters(NetworkBase):
    """Families whose groups are wired inside like those of a dragonfly."""

    p: Count
    """Nodes per router."""
    a: Count | None = None
    """Routers per group."""
    h: Count | None = None
    """Global links per router."""
    g: Count | None = None
    """Groups."""
    group: Literal["all-to-all", "cray-xc"] = "all-to-all"
    """Wiring within a group: every router to every other, or a Cray XC grid whose rows and
    columns are each all-to-all."""
    rows: Count | None = None
    """With `group = "cray-xc"`: rows of a group; rows × columns = a."""
    columns: Count | None = None
    """With `group = "cray-xc"`: columns of a group."""
    row_links: Count | None = None
    """With `group = "cray-xc"`: parallel links between two routers of a row. Default: 1."""
    column_links: Count | None = None
    """With `group = "cray-xc"`: parallel links between two routers of a column. Default: 1."""

    def is_grid(self) -> bool:
        """Whether groups are grids rather than all-to-all."""
        return self.group == "cray-xc"

    def check_groups(self, *, told_elsewhere: bool = False) -> None:
        """Whether the keys of a grid are there where groups are one, and no others' links.

        `told_elsewhere`: a file tells rows and columns.

        Raises:
            PydanticCustomError: What is missing or too much.
        """
        grid = self.group == "cray-xc"
        for key in () if told_elsewhere else ("rows", "columns"):
            requires(self, key, when=grid, why='group = "cray-xc"')
        for key in () if grid else ("row_links", "column_links"):
            requires(self, key, when=False, why='group = "cray-xc"')
        unused = self._unused_links()
        links: Links = self.links  # type: ignore[attr-defined]
        for key in unused:
            if key in links.model_fields_set:
                kind = "grids" if self.is_grid() else "all-to-all"
                used = "green, black" if self.is_grid() else "local"
                raise problem(
                    f"links.{key}",
                    f"`{key}` where groups are {kind}",
                    f"terminal, {used}, global",
                )

    def wiring_within(self) -> dict[str, Any]:
        """The engine's form of what is wired within groups."""
        return {
            "group": self.group,
            "rows": self.rows,
            "columns": self.columns,
            "row_links": self.row_links or 1,
            "column_links": self.column_links or 1,
        }

    def link_classes(self) -> dict[str, Any]:
        """The engine's form of the link classes that these groups have."""
        unused = self._unused_links()
        return {k: v for k, v in super().link_classes().items() if k not in unused}

    def _unused_links(self) -> tuple[str, ...]:
        return ("local",) if self.is_grid() else ("green", "black")


class Dragonfly(GroupsOfRouters):
    """A dragonfly: groups of routers, groups connected to each other directly (Kim et al. 2008)."""

    family: Literal["dragonfly"] = "dragonfly"
    """The family."""
    a: Count
    """Routers per group."""
    h: Count
    """Global links per router."""
    g: Count | None = None
    """Groups, at most a·h + 1. Default: a·h + 1, one link between every two groups."""
    arrangement: Literal["absolute", "relative", "circulant", "custom"] = "absolute"
    """Which router of a group holds the link to which other group (Hastings et al. 2015);
    `custom` reads it from `arrangement_file`."""
    arrangement_file: FileName | None = None
    """With `arrangement = "custom"`: file with the global links, relative to the scenario."""
    links: DragonflyLinks = Field(default_factory=DragonflyLinks)
    """Link classes."""

    @model_validator(mode="after")
    def _consistent(self) -> Dragonfly:
        custom = self.arrangement == "custom"
        requires(self, "arrangement_file", when=custom, why='arrangement = "custom"')
        self.check_groups()
        return self

    def topology(self, directory: Path) -> dict[str, Any]:
        """The engine's form of what is wired; files are found relative to `directory`."""
        file = self.arrangement_file
        return {
            "family": self.family,
            "p": self.p,
            "a": self.a,
            "h": self.h,
            "g": self.g,
            "arrangement": self.arrangement,
            "arrangement_file": None if file is None else str(directory / file),
            **self.wiring_within(),
        }


class DragonflyPlusLinks(Links):
    """Link classes of a dragonfly+."""

    local: Link = Field(default_factory=Link)
    """Between leaves and spines."""
    global_: GlobalLink = Field(default_factory=GlobalLink, alias="global")
    """Between spines of different groups."""


class DragonflyPlus(NetworkBase):
    """A dragonfly+, or megafly: groups of leaf and spine routers (Shpiner et al. 2017).

    Leaves have nodes, spines have global links, and every leaf of a group is linked to every spine
    of it.
    """

    family: Literal["dragonfly+"] = "dragonfly+"
    """The family."""
    leaves: Count
    """Leaf routers per group."""
    spines: Count
    """Spine routers per group."""
    p: Count
    """Nodes per leaf."""
    h: Count
    """Global links per spine."""
    g: Count | None = None
    """Groups; g − 1 must divide spines·h, so that as many links join every two groups. Default:
    spines·h + 1, one link between every two groups."""
    arrangement: Literal["balanced", "unbalanced"] = "balanced"
    """Which spines of two groups are joined: the links of a spine to another group are spread over
    its spines, or all end at one of them (Kang et al. 2019)."""
    links: DragonflyPlusLinks = Field(default_factory=DragonflyPlusLinks)
    """Link classes."""

    def topology(self, directory: Path) -> dict[str, Any]:
        """The engine's form of what is wired."""
        return {
            "family": self.family,
            "leaves": self.leaves,
            "spines": self.spines,
            "p": self.p,
            "h": self.h,
            "g": self.g,
            "arrangement": self.arrangement,
        }


class ReconfigurableLinks(Links):
    """Link classes of a reconfigurable dragonfly."""

    local: Link = Field(default_factory=Link)
    """Within a group that is all-to-all."""
    green: Link = Field(default_factory=Link)
    """Within rows of Cray XC groups."""
    black: Link = Field(default_factory=Link)
    """Within columns of Cray XC groups."""
    global_: GlobalLink = Field(default_factory=GlobalLink, alias="global")
    """Circuits: from group to group through an optical switch."""


class ReconfigurableDragonfly(GroupsOfRouters):
    """A dragonfly whose global links lead to optical switches (Feng et al. 2023).

    Circuits through the switches decide which groups are joined.
    """

    default_routing: ClassVar[Algorithm] = "tago"

    family: Literal["reconfigurable-dragonfly"] = "reconfigurable-dragonfly"
    """The family."""
    a: Count | None = None
    """Routers per group. Needed without `wiring_file`."""
    h: Count | None = None
    """Global links per router. Needed without `wiring_file`."""
    g: Count | None = None
    """Groups. Needed without `wiring_file`, otherwise by default as many as that lists."""
    wiring_file: FileName | None = None
    """Link list of a Cray XC (as of family `cray-xc-file`), relative to the scenario, whose groups
    these are: their links inside, and the global ports of their routers, which lead to the
    switches. Takes the place of `a`, `h`, `group` and its keys; with `g` above the number of
    listed groups the list's rule goes on."""
    links_per_switch: Count = 1
    """Global links of every group on each optical switch, a divisor of a·h."""
    switch_ports: Count | None = None
    """Ports of an optical switch, at least g·links_per_switch. Default: as many as that."""
    circuits: Literal["uniform", "jobs", "file"] = "uniform"
    """Which circuits are set for the run: as many between every two groups, give or take one
    (`uniform`), for every job that sends between groups those between its own groups (`jobs`),
    or those of a list (`file`)."""
    circuits_file: FileName | None = None
    """With `circuits = "file"`: the list, relative to the scenario: `group_a link_a group_b link_b`
    in every line."""
    steering: Literal["uniform", "min-max", "matching", "min-cost-flow", "birkhoff"] = "uniform"
    """With `circuits = "jobs"`: how many circuits join which groups of a job: as many each, or
    matched to what the groups send to each other: so that the busiest circuit has least to carry
    (`min-max`), by assignments of greatest weight (`matching`; all of them at once:
    `min-cost-flow`), or by a Birkhoff–von Neumann decomposition (`birkhoff`)."""
    links: ReconfigurableLinks = Field(default_factory=ReconfigurableLinks)
    """Link classes."""

    @model_validator(mode="after")
    def _consistent(self) -> ReconfigurableDragonfly:
        listed = self.circuits == "file"
        requires(self, "circuits_file", when=listed, why='circuits = "file"')
        if self.wiring_file is not None:
            for key in ("a", "h", "rows", "columns", "row_links", "column_links"):
                requires(self, key, when=False, why="no `wiring_file`, which tells it")
        else:
            for key in ("a", "h", "g"):
                requires(self, key, when=True, why="there is no `wiring_file` that tells it")
        self.check_groups(told_elsewhere=self.wiring_file is not None)
        if self.steering != "uniform" and self.circuits != "jobs":
            raise problem("steering", f'"{self.steering}"', 'nothing, or circuits = "jobs"')
        return self

    def topology(self, directory: Path) -> dict[str, Any]:
        """The engine's form of what is wired; files are found relative to `directory`."""
        file, wiring = self.circuits_file, self.wiring_file
        return {
            "family": self.family,
            "p": self.p,
            "a": self.a or 0,
            "h": self.h or 0,
            "g": self.g or 0,
            **self.wiring_within(),
            "wiring_file": None if wiring is None else str(directory / wiring),
            "links_per_switch": self.links_per_switch,
            "switch_ports": self.switch_ports,
            "circuits": self.circuits,
            "circuits_file": None if file is None else str(directory / file),
            "steering": self.steering,
        }

    def is_grid(self) -> bool:
        """Whether groups are grids rather than all-to-all: those of a link list are."""
        return super().is_grid() or self.wiring_file is not None

    def normalised(self, directory: Path) -> dict[str, Any]:
        """The engine's form."""
        if self.routing is None and self.is_grid():
            # TAGO knows all-to-all groups only.
            return self.model_copy(update={"routing": "minimal"}).normalised(directory)
        return super().normalised(directory)


Counts = Annotated[list[Count], Field(min_length=1)]


class FatTreeLink(Link):
    """The links above one level of a fat tree."""

    bandwidth: Bandwidth = Rate("16 GiB/s")
    """Rate of each direction."""


class FatTreeUpperLink(FatTreeLink):
    """The links above a level of a fat tree from the second on."""

    latency: PositiveDelay = Duration("300 ns")
    """Propagation delay of each direction."""


class FatTreeLinks(Links):
    """Link classes of a fat tree."""

    level1: FatTreeLink = Field(default_factory=FatTreeLink)
    """Between leaf switches and those of level 2."""
    level2: FatTreeUpperLink = Field(default_factory=FatTreeUpperLink)
    """Between switches of levels 2 and 3."""
    level3: FatTreeUpperLink = Field(default_factory=FatTreeUpperLink)
    """Between switches of levels 3 and 4."""


class FatTree(NetworkBase):
    """A fat tree: a folded Clos, a k-ary n-tree or any extended generalised fat tree.

    Laid out from switches of one size (`radix`), or by its numbers (`down`, `up`, `parallel`;
    Öhring et al. 1995, Zahavi 2010). Level 1 are the leaf switches, which have the nodes. Groups
    are the pods, the subtrees below the top, and one more for the switches of the top.
    """

    default_routing: ClassVar[Algorithm] = "up-down"

    family: Literal["fat-tree"] = "fat-tree"
    """The family."""
    radix: Count | None = None
    """Ports of a switch, an even number. Half of them lead down and half up, all of those of a top
    switch down; where the tree has few pods, several links join the same two switches."""
    levels: Annotated[int, Field(ge=1, le=4)] | None = None
    """With `radix`: levels of switches. Default: as few as `nodes` need; 3 without `nodes`."""
    nodes: Count | None = None
    """Nodes; those that the tree has room for beyond, and switches that are then empty, are left
    out. Default: as many as there is room for."""
    down: Counts | None = None
    """Without `radix`: nodes per leaf, then children of a switch of each level: `[18, 18, 36]`."""
    up: list[Count] | None = None
    """With `down`: parents of a switch of each level but the top: `[18, 18]`."""
    parallel: list[Count] | None = None
    """With `down`: links to each parent, by level. Default: 1."""
    taper: list[Count] | None = None
    """What the number of links above each level but the top is divided by: `[1, 2]` takes out half
    of those to the top of three levels. First parallel links go, then whole switches. Default:
    nothing is taken out."""
    links: FatTreeLinks = Field(default_factory=FatTreeLinks)
    """Link classes."""

    @model_validator(mode="after")
    def _consistent(self) -> FatTree:
        if self.radix is not None and self.down is not None:
            raise problem("down", str(self.down), "nothing, as `radix` is given, or no `radix`")
        if self.radix is None:
            requires(self, "down", when=True, why="there is no `radix`")
            requires(self, "levels", when=False, why="`radix`")
        for key in ("up", "parallel"):
            if self.down is None:
                requires(self, key, when=False, why="`down`")
        if self.down is not None and len(self.down) > 1:
            requires(self, "up", when=True, why="`down` has more than one level")
        return self

    def topology(self, directory: Path) -> dict[str, Any]:
        """The engine's form of what is wired."""
        return {
            "family": self.family,
            "radix": self.radix,
            "levels": self.levels,
            "nodes": self.nodes,
            "down": self.down,
            "up": self.up,
            "parallel": self.parallel,
            "taper": self.taper,
        }

    def link_classes(self) -> dict[str, Any]:
        """The engine's form of the link classes that are given; the others are the engine's."""
        classes = super().link_classes()
        return {name: link for name, link in classes.items() if name in self.links.model_fields_set}


class LatticeLinks(Links):
    """Link classes of a torus or HyperX."""

    local: Link = Field(default_factory=Link)
    """Between routers, in dimensions of which nothing else is said."""
    dim1: Link | None = None
    """Along the first dimension. Default: as `local`."""
    dim2: Link | None = None
    """Along the second dimension. Default: as `local`."""
    dim3: Link | None = None
    """Along the third dimension. Default: as `local`."""
    dim4: Link | None = None
    """Along the fourth dimension. Default: as `local`."""
    dim5: Link | None = None
    """Along the fifth dimension. Default: as `local`."""
    dim6: Link | None = None
    """Along the sixth dimension. Default: as `local`."""

    def normalised(self) -> dict[str, Any]:
        """The engine's form, by class name."""
        given = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: link.normalised() for name, link in given.items() if link is not None}


class Torus(NetworkBase):
    """A torus or mesh of any dimensions (k-ary n-cube); all routers have nodes."""

    default_routing: ClassVar[Algorithm] = "dimension-order"

    family: Literal["torus"] = "torus"
    """The family."""
    size: Counts
    """Routers along each dimension: `[8, 8, 4]`. Router `(x, y, z)` has number x + 8·(y + 8·z)."""
    wrap: list[bool] | None = None
    """For each dimension, whether the last router of a row is linked to its first: `[false, false]`
    makes a mesh of two dimensions. Default: in all."""
    p: Count = 1
    """Nodes per router."""
    links: LatticeLinks = Field(default_factory=LatticeLinks)
    """Link classes."""

    def topology(self, directory: Path) -> dict[str, Any]:
        """The engine's form of what is wired."""
        return {"family": self.family, "size": self.size, "wrap": self.wrap, "p": self.p}


class HyperX(NetworkBase):
    """A HyperX: a lattice whose rows are all-to-all in every dimension (Ahn et al. 2009)."""

    default_routing: ClassVar[Algorithm] = "dimension-order"

    family: Literal["hyperx"] = "hyperx"
    """The family."""
    size: Counts
    """Routers along each dimension."""
    parallel: Counts | None = None
    """Links between two routers of a row, for each dimension. Default: 1."""
    p: Count
    """Nodes per router; a flattened butterfly has as many as routers along a dimension."""
    links: LatticeLinks = Field(default_factory=LatticeLinks)
    """Link classes."""

    def topology(self, directory: Path) -> dict[str, Any]:
        """The engine's form of what is wired."""
        return {"family": self.family, "size": self.size, "parallel": self.parallel, "p": self.p}


class SlimFly(NetworkBase):
    """A Slim Fly: a graph of diameter 2 of nearly as many routers as possible.

    McKay–Miller–Širáň graphs (Besta and Hoefler 2014).
    """

    default_routing: ClassVar[Algorithm] = "shortest-path"

    family: Literal["slim-fly"] = "slim-fly"
    """The family."""
    q: Count
    """A prime power 4w − 1, 4w or 4w + 1 (3, 4, 5, 7, 8, 9, 11, 13, 16, …): 2·q² routers in q
    groups, each router with about 3·q/2 links to others."""
    p: Count | None = None
    """Nodes per router. Default: half of its links to others, rounded up."""
    links: DragonflyPlusLinks = Field(default_factory=DragonflyPlusLinks)
    """Link classes."""

    def topology(self, directory: Path) -> dict[str, Any]:
        """The engine's form of what is wired."""
        return {"family": self.family, "q": self.q, "p": self.p}


class LocalLinks(Links):
    """Link classes of a network of one group."""

    local: Link = Field(default_factory=Link)
    """Between routers."""


class Jellyfish(NetworkBase):
    """A Jellyfish: a random regular graph of routers (Singla et al. 2012)."""

    default_routing: ClassVar[Algorithm] = "shortest-path"

    family: Literal["jellyfish"] = "jellyfish"
    """The family."""
    routers: Count
    """Routers."""
    degree: Count
    """Links of each router to others."""
    p: Count
    """Nodes per router."""
    wiring_seed: Index = 1
    """Of the random links; the `seed` of the run has no effect on them."""
    links: LocalLinks = Field(default_factory=LocalLinks)
    """Link classes."""

    def topology(self, directory: Path) -> dict[str, Any]:
        """The engine's form of what is wired."""
        return {
            "family": self.family,
            "routers": self.routers,
            "degree": self.degree,
            "p": self.p,
            "wiring_seed": self.wiring_seed,
        }


class Crossbar(NetworkBase):
    """All nodes on one router: an ideal network to compare real ones with."""

    default_routing: ClassVar[Algorithm] = "shortest-path"

    family: Literal["crossbar"] = "crossbar"
    """The family."""
    nodes: Count
    """Nodes."""
    links: Links = Field(default_factory=Links)
    """Link classes."""

    def topology(self, directory: Path) -> dict[str, Any]:
        """The engine's form of what is wired."""
        return {"family": self.family, "nodes": self.nodes}


class CrayXcFile(NetworkBase):
    """A real Cray XC, from the link list that its maintenance software prints."""

    family: Literal["cray-xc-file"] = "cray-xc-file"
    """The family."""
    file: FileName
    """The link list, relative to the scenario."""
    nodes_per_router: Count = 4
    """Nodes on each router."""
    links: CrayXcLinks = Field(default_factory=CrayXcLinks)
    """Link classes."""

    def topology(self, directory: Path) -> dict[str, Any]:
        """The engine's form of what is wired; the file is found relative to `directory`."""
        return {
            "family": self.family,
            "file": str(directory / self.file),
            "nodes_per_router": self.nodes_per_router,
        }


class CodesLinks(DragonflyPlusLinks):
    """Link classes of a network from CODES."""

    local: Link = Field(default_factory=Link)
    """Within a group."""
    green: Link = Field(default_factory=Link)
    """Within a row of a group (backplane of a chassis)."""
    black: Link = Field(default_factory=Link)
    """Within a column of a group (cables between chassis)."""


class Codes(NetworkBase):
    """A network from a configuration of the CODES simulator, or from its lists of links."""

    family: Literal["codes"] = "codes"
    """The family."""
    file: CodesFile | None = None
    """Configuration of CODES, relative to the scenario: numbers, bandwidths, buffers and lists; of
    the models `torus`, `fattree` and `slimfly` also the delay of routers."""
    intra_file: FileName | None = None
    """List of the links within a group. Default: the one that the configuration names."""
    inter_file: FileName | None = None
    """List of the links between groups. Default: the one that the configuration names."""
    model: Literal["dragonfly_plus", "dragonfly_dally"] | None = None
    """Without `file`: the model of CODES that the lists are for."""
    leaves: Count | None = None
    """Without `file`, with `model = "dragonfly_plus"`: leaf routers per group."""
    spines: Count | None = None
    """Without `file`, with `model = "dragonfly_plus"`: spine routers per group."""
    a: Count | None = None
    """Without `file`, with `model = "dragonfly_dally"`: routers per group."""
    p: Count | None = None
    """Without `file`: nodes per router that has nodes."""
    g: Count | None = None
    """Without `file`: groups."""
    links: CodesLinks = Field(default_factory=CodesLinks)
    """Link classes. One that is given here replaces that of the configuration as a whole."""

    @model_validator(mode="after")
    def _consistent(self) -> Codes:
        bare, why = self.file is None, "there is no `file`, a configuration"
        for key in ("model", "p", "g"):
            requires(self, key, when=bare, why=why)
        for key in ("intra_file", "inter_file") if bare else ():
            requires(self, key, when=True, why=why)
        for key, model in (
            ("leaves", "dragonfly_plus"),
            ("spines", "dragonfly_plus"),
            ("a", "dragonfly_dally"),
        ):
            requires(self, key, when=self.model == model, why=f'model = "{model}"')
        return self

    def topology(self, directory: Path) -> dict[str, Any]:
        """The engine's form of what is wired; files are found relative to `directory`."""
        files = {"file": self.file, "intra_file": self.intra_file, "inter_file": self.inter_file}
        return {
            "family": self.family,
            **{key: None if file is None else str(directory / file) for key, file in files.items()},
            "model": self.model,
            "leaves": self.leaves,
            "spines": self.spines,
            "a": self.a,
            "p": self.p,
            "g": self.g,
        }

    def _facts(self, directory: Path) -> dict[str, Any]:
        """What the configuration says besides the network.

        Nothing if it cannot be read: the engine says so where it builds the network.
        """
        from odonata import _engine

        if self.file is None:
            return {}
        try:
            return _engine.codes_facts(str(directory / self.file))
        except _engine.SpecError:
            return {}

    def notices(self, directory: Path) -> list[str]:
        """What of the configuration is not used."""
        found: list[str] = self._facts(directory).get("notices", [])
        return found

    def normalised(self, directory: Path) -> dict[str, Any]:
        """The engine's form."""
        form, facts = super().normalised(directory), self._facts(directory)
        if self.routing is None and facts.get("routing") is not None:
            form["routing"] = Routing(algorithm=facts["routing"]).normalised()
        if "delay" not in self.router.model_fields_set and facts.get("router_delay_ps") is not None:
            form["router"]["delay_ps"] = facts["router_delay_ps"]
        return form

    def link_classes(self) -> dict[str, Any]:
        """The engine's form of the link classes that the configuration does not give."""
        classes = super().link_classes()
        if self.file is None:
            return classes
        given = {name.rstrip("_") for name in self.links.model_fields_set}
        return {name: link for name, link in classes.items() if name in given}


class FileNetwork(NetworkBase):
    """A network from a file in a general format."""

    default_routing: ClassVar[Algorithm] = "shortest-path"

    file: FileName
    """The wiring, relative to the scenario."""
    nodes_per_router: Annotated[int, Field(ge=1, le=4096)] | None = None
    """Nodes on each router, for a file that attaches none. Default: 1."""
    links: dict[str, NamedLink] = Field(default_factory=dict)
    """Link classes, by the names that the file uses. Links that the file gives no class, and no
    class of their kind is there, are of the class `terminal`, `local` or `global` with the
    defaults of a dragonfly."""

    def topology(self, directory: Path) -> dict[str, Any]:
        """The engine's form of what is wired; the file is found relative to `directory`."""
        family: str = self.family  # type: ignore[attr-defined]
        return {
            "family": family,
            "file": str(directory / self.file),
            "nodes_per_router": self.nodes_per_router,
        }

    def link_classes(self) -> dict[str, Any]:
        """The engine's form of the link classes."""
        return {name: link.normalised() for name, link in self.links.items()}


class EdgeList(FileNetwork):
    """A network from a list of links, one per line."""

    family: Literal["edge-list"] = "edge-list"
    """The family."""


class Graphml(FileNetwork):
    """A network from a GraphML file."""

    family: Literal["graphml"] = "graphml"
    """The family."""


Network = Annotated[
    Annotated[Dragonfly, Tag(tag("dragonfly"))]
    | Annotated[DragonflyPlus, Tag(tag("dragonfly+"))]
    | Annotated[ReconfigurableDragonfly, Tag(tag("reconfigurable-dragonfly"))]
    | Annotated[FatTree, Tag(tag("fat-tree"))]
    | Annotated[Torus, Tag(tag("torus"))]
    | Annotated[HyperX, Tag(tag("hyperx"))]
    | Annotated[SlimFly, Tag(tag("slim-fly"))]
    | Annotated[Jellyfish, Tag(tag("jellyfish"))]
    | Annotated[Crossbar, Tag(tag("crossbar"))]
    | Annotated[CrayXcFile, Tag(tag("cray-xc-file"))]
    | Annotated[Codes, Tag(tag("codes"))]
    | Annotated[EdgeList, Tag(tag("edge-list"))]
    | Annotated[Graphml, Tag(tag("graphml"))],
    chosen_by(
        "family",
        "dragonfly",
        "dragonfly+",
        "reconfigurable-dragonfly",
        "fat-tree",
        "torus",
        "hyperx",
        "slim-fly",
        "jellyfish",
        "crossbar",
        "cray-xc-file",
        "codes",
        "edge-list",
        "graphml",
    ),
]
