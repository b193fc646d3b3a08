"""The `[network]` table of a scenario: what is wired, and how packets are routed on it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, Tag, model_validator

from odonata import names
from odonata.declared import Nic, Router
from odonata.model import (
    Bandwidth,
    CodesFile,
    Count,
    FileName,
    Index,
    PositiveDelay,
    PositiveSize,
    Table,
    TablesFile,
    by_form,
    chosen_by,
    described,
    is_list,
    is_number,
    is_table,
    is_text,
    tag,
)
from odonata.normal_form import LATER, InEngine, normal_form
from odonata.optical_layer import OpticalLayer
from odonata.problem import problem, requires
from odonata.units import Duration, Rate, Size

#: A share of something.
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
#: A share that is not nothing.
PositiveShare = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]


def _thresholds(threshold: Size | float | None) -> dict[str, Any]:
    """One key for people, of two kinds for the engine."""
    return {
        "threshold_bytes": int(threshold) if isinstance(threshold, Size) else None,
        "threshold_share": threshold if isinstance(threshold, float) else None,
    }


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

    def engine_form(self, directory: Path = Path()) -> dict[str, Any]:
        """The engine's form: only link classes of wiring files have a role of their own."""
        return {"kind": None, **super().engine_form(directory)}


class TerminalLink(Link):
    """The links between nodes and routers."""

    bandwidth: Bandwidth = Rate("16 GiB/s")
    """Rate of each direction."""


class NamedLink(Link):
    """A link class of a wiring file."""

    kind: names.LinkKind | None = None
    """Role of the class. Default: that of its name, or `local`."""


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

    algorithm: names.Routing = Field(description=described(names.ROUTING))
    minimal_links: names.MinimalLinks = "all"
    """Which global links to the destination's group minimal routes use: all of them, or those
    on a shortest path."""
    choice: names.Choice = "random"
    """How one of several minimal links is chosen: at random, or by the shorter queue. With `fpar`:
    how one of the ports is chosen that its threshold counts as free. With `up-down`, `steered`,
    `dimension-order` and `shortest-path` also `by-destination`: that of the destination node, in
    fat trees D-mod-K (Zahavi 2010)."""
    paths: Annotated[names.Paths | None, LATER] = None
    """What `minimal` routes are, and what those of `valiant`, `ugal-l` and `ugal-g` consist of: by
    way of the links between two `groups`, or the routes of the algorithm of that name. Default:
    `up-down` in fat trees, `dimension-order` in tori and HyperX, `shortest-path` in a Slim Fly, a
    Jellyfish, and other networks of one group, else `groups`."""
    via: names.Via | None = None
    """What a non-minimal route goes by way of: any router of a random group, a random router, or
    the router of a random node. Default: `group`, or `router` where `paths` are not over
    groups."""
    candidates: Count | None = None
    """Routes of each sort that an adaptive algorithm draws and compares. Default: 1."""
    threshold: Annotated[
        Annotated[
            Annotated[Size, Tag(tag("a size"))]
            | Annotated[Share, Tag(tag("a number from 0 to 1"))],
            by_form({"a size": is_size, "a number from 0 to 1": is_number}),
        ]
        | None,
        InEngine(keys=_thresholds),
    ] = None
    """Advantage of minimal routes, a size: an adaptive algorithm takes the minimal route unless its
    weighted queue is longer than that of the other by more than this. Default: what follows from
    the links' buffers ([adaptive routing by default](adaptive-routing.md)); none, 0 B, with
    `engine = "flow"` and for the jobs of a schedule. With `fpar` a number from 0 to 1: the share
    of a port's queue up to which a path counts as free. Default: 0.75. With `steered` a size: the
    queue up to which a circuit counts as empty, what is sent and not yet credited included.
    Default: what a link carries during one round trip of credits, and a packet."""
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
    tables: Annotated[TablesFile | None, LATER] = None
    """With `forwarding-tables`: the file of the tables, relative to the scenario, ours or one of
    OpenSM, or a directory with the files of the [names that are looked
    for](forwarding-tables.md#files)."""
    subnet: Annotated[FileName | None, LATER] = None
    """With `forwarding-tables`: output of `ibnetdiscover`, or OpenSM's `opensm-subnet.lst`, which
    tells what GUIDs and LIDs are. Default: that of the directory of `tables`; the network itself
    with `family = "ibnetdiscover"`."""
    service_levels: Annotated[FileName | None, LATER] = None
    """With `forwarding-tables`: the virtual channel of each source and destination, ours or the
    output of `saquery PR`. Default: that of the directory of `tables`; else all are 0."""
    virtual_channels: Annotated[int, Field(ge=1, le=64)] | None = None
    """Virtual channels per link; fewer than the algorithm needs are merged, and packets may then
    wait for each other forever, as `odonata verify` shows. Default: what the algorithm needs."""

    rules: Annotated[names.FparRules, LATER] = "paper"
    """How `fpar` resolves what its description leaves open: by the text of the `paper`s; as the
    program of Kang et al. 2019 did (`codes`: two sorts of paths, scores in whole per cent, the best
    port drawn among the running minima, from the first port on); or as it was meant to
    (`codes-mended`: among the ports of least score). With the last two `choice` has no say."""
    per: Annotated[names.Per, LATER] = "packet"
    """What every router decides on: each packet by itself, or the first packet of a message, which
    the others follow, so that a message has one path and its packets keep their order (adaptive
    routing that keeps flows in order, as on InfiniBand). Not with `q-adaptive`."""


RoutingChoice = Annotated[
    Annotated[names.Routing, Tag(tag("a name"))] | Annotated[Routing, Tag(tag("a table"))],
    by_form({"a name": is_text, "a table": is_table}),
]


class NetworkBase(Table):
    """What every family of networks has."""

    default_routing: ClassVar[names.Routing] = "minimal"

    router: Router = Field(default_factory=Router)
    """The router model."""
    nic: Nic = Field(default_factory=Nic)
    """The network interface of a node."""
    routing: RoutingChoice | None = None
    """How packets find their way: the name of an algorithm, or a table with its parameters.
    Default: `minimal` where the network has groups, else `shortest-path`; `tago` on a
    reconfigurable dragonfly with all-to-all groups, `up-down` on a fat tree, `dimension-order` on
    a torus or HyperX; with `family = "codes"` by the model of the configuration."""

    def topology(self, directory: Path) -> dict[str, Any]:
        """The engine's form of what is wired; files are found relative to `directory`."""
        return normal_form(self, directory, without=(*NetworkBase.model_fields, "links"))

    def link_classes(self) -> dict[str, Any]:
        """The engine's form of the link classes."""
        links: Links = self.links  # type: ignore[attr-defined]
        return links.engine_form()

    def notices(self, directory: Path) -> list[str]:
        """What a person should know about the files that it is read from, sentences."""
        return []

    def engine_form(self, directory: Path = Path()) -> dict[str, Any]:
        """The engine's form."""
        routing = self.routing or self.default_routing
        if isinstance(routing, str):
            routing = Routing(algorithm=routing)
        return {
            "topology": self.topology(directory),
            "routing": routing.engine_form(directory),
            "links": self.link_classes(),
            "router": self.router.engine_form(),
            "nic": self.nic.engine_form(),
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
    group: names.GroupWiring = "all-to-all"
    """Wiring within a group: every router to every other, or a Cray XC grid whose rows and
    columns are each all-to-all."""
    rows: Count | None = None
    """With `group = "cray-xc"`: rows of a group; rows × columns = a."""
    columns: Count | None = None
    """With `group = "cray-xc"`: columns of a group."""
    row_links: Annotated[Count | None, InEngine(absent=1)] = None
    """With `group = "cray-xc"`: parallel links between two routers of a row. Default: 1."""
    column_links: Annotated[Count | None, InEngine(absent=1)] = None
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
    arrangement: names.Arrangement = "absolute"
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
    arrangement: names.SpineArrangement = "balanced"
    """Which spines of two groups are joined: the links of a spine to another group are spread over
    its spines, or all end at one of them (Kang et al. 2019)."""
    links: DragonflyPlusLinks = Field(default_factory=DragonflyPlusLinks)
    """Link classes."""


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

    default_routing: ClassVar[names.Routing] = "tago"

    family: Literal["reconfigurable-dragonfly"] = "reconfigurable-dragonfly"
    """The family."""
    a: Annotated[Count | None, InEngine(absent=0)] = None
    """Routers per group. Needed without `wiring_file`."""
    h: Annotated[Count | None, InEngine(absent=0)] = None
    """Global links per router. Needed without `wiring_file`."""
    g: Annotated[Count | None, InEngine(absent=0)] = None
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
    circuits: names.Circuits = "uniform"
    """Which circuits are set for the run: as many between every two groups, give or take one
    (`uniform`), for every job that sends between groups those between its own groups (`jobs`),
    or those of a list (`file`)."""
    circuits_file: FileName | None = None
    """With `circuits = "file"`: the list, relative to the scenario: `group_a link_a group_b link_b`
    in every line."""
    steering: names.Steering = "uniform"
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

    def is_grid(self) -> bool:
        """Whether groups are grids rather than all-to-all: those of a link list are."""
        return super().is_grid() or self.wiring_file is not None

    def engine_form(self, directory: Path = Path()) -> dict[str, Any]:
        """The engine's form."""
        if self.routing is None and self.is_grid():
            # TAGO knows all-to-all groups only.
            return self.model_copy(update={"routing": "minimal"}).engine_form(directory)
        return super().engine_form(directory)


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

    default_routing: ClassVar[names.Routing] = "up-down"

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
    optical: Annotated[OpticalLayer | None, LATER] = None
    """Optical switches above the leaves, with 3 or 4 levels. Default: none."""
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

    def link_classes(self) -> dict[str, Any]:
        """The engine's form of the link classes that are given; the others are the engine's."""
        classes = super().link_classes()
        return {name: link for name, link in classes.items() if name in self.links.model_fields_set}


class LatticeLinks(Links):
    """Link classes of a torus or HyperX."""

    local: Link = Field(default_factory=Link)
    """Between routers, in dimensions of which nothing else is said."""
    dim1: Annotated[Link | None, LATER] = None
    """Along the first dimension. Default: as `local`."""
    dim2: Annotated[Link | None, LATER] = None
    """Along the second dimension. Default: as `local`."""
    dim3: Annotated[Link | None, LATER] = None
    """Along the third dimension. Default: as `local`."""
    dim4: Annotated[Link | None, LATER] = None
    """Along the fourth dimension. Default: as `local`."""
    dim5: Annotated[Link | None, LATER] = None
    """Along the fifth dimension. Default: as `local`."""
    dim6: Annotated[Link | None, LATER] = None
    """Along the sixth dimension. Default: as `local`."""


class Torus(NetworkBase):
    """A torus or mesh of any dimensions (k-ary n-cube); all routers have nodes."""

    default_routing: ClassVar[names.Routing] = "dimension-order"

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


class HyperX(NetworkBase):
    """A HyperX: a lattice whose rows are all-to-all in every dimension (Ahn et al. 2009)."""

    default_routing: ClassVar[names.Routing] = "dimension-order"

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


class SlimFly(NetworkBase):
    """A Slim Fly: a graph of diameter 2 of nearly as many routers as possible.

    McKay–Miller–Širáň graphs (Besta and Hoefler 2014).
    """

    default_routing: ClassVar[names.Routing] = "shortest-path"

    family: Literal["slim-fly"] = "slim-fly"
    """The family."""
    q: Count
    """A prime power 4w − 1, 4w or 4w + 1 (3, 4, 5, 7, 8, 9, 11, 13, 16, …): 2·q² routers in q
    groups, each router with about 3·q/2 links to others."""
    p: Count | None = None
    """Nodes per router. Default: half of its links to others, rounded up."""
    links: DragonflyPlusLinks = Field(default_factory=DragonflyPlusLinks)
    """Link classes."""


class LocalLinks(Links):
    """Link classes of a network of one group."""

    local: Link = Field(default_factory=Link)
    """Between routers."""


class Jellyfish(NetworkBase):
    """A Jellyfish: a random regular graph of routers (Singla et al. 2012)."""

    default_routing: ClassVar[names.Routing] = "shortest-path"

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


class Crossbar(NetworkBase):
    """All nodes on one router: an ideal network to compare real ones with."""

    default_routing: ClassVar[names.Routing] = "shortest-path"

    family: Literal["crossbar"] = "crossbar"
    """The family."""
    nodes: Count
    """Nodes."""
    links: Links = Field(default_factory=Links)
    """Link classes."""


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
    model: names.CodesModel | None = None
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

    def engine_form(self, directory: Path = Path()) -> dict[str, Any]:
        """The engine's form."""
        form, facts = super().engine_form(directory), self._facts(directory)
        if self.routing is None and facts.get("routing") is not None:
            form["routing"] = Routing(algorithm=facts["routing"]).engine_form()
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


class Ibnetdiscover(NetworkBase):
    """An InfiniBand subnet, as it has been discovered: switches are routers, host ports nodes.

    All are one group. Routers and nodes are numbered as they are called if that is `S-0`, `S-1`, …
    and `H-0`, `H-1`, …, else by the GUIDs of the switches and along their ports.
    """

    default_routing: ClassVar[names.Routing] = "shortest-path"

    family: Literal["ibnetdiscover"] = "ibnetdiscover"
    """The family."""
    file: FileName
    """Output of `ibnetdiscover`, or OpenSM's `opensm-subnet.lst`, relative to the scenario."""
    links: dict[str, Link] = Field(default_factory=dict)
    """Link classes: `terminal` and `local`, or, where links of a kind differ in their rates, one
    for each, such as `local-4xEDR`. Default: the bandwidth follows from the rate in the file, such
    as 4xEDR, 12.5 GB/s; without one, and for latencies, as of a dragonfly."""

    def link_classes(self) -> dict[str, Any]:
        """The engine's form of the link classes that are given; the others are the engine's."""
        return {name: link.engine_form() for name, link in self.links.items()}


class FileNetwork(NetworkBase):
    """A network from a file in a general format."""

    default_routing: ClassVar[names.Routing] = "shortest-path"

    file: FileName
    """The wiring, relative to the scenario."""
    nodes_per_router: Annotated[int, Field(ge=1, le=4096)] | None = None
    """Nodes on each router, for a file that attaches none. Default: 1."""
    links: dict[str, NamedLink] = Field(default_factory=dict)
    """Link classes, by the names that the file uses. Links that the file gives no class, and no
    class of their kind is there, are of the class `terminal`, `local` or `global` with the
    defaults of a dragonfly."""

    def link_classes(self) -> dict[str, Any]:
        """The engine's form of the link classes."""
        return {name: link.engine_form() for name, link in self.links.items()}


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
    | Annotated[Ibnetdiscover, Tag(tag("ibnetdiscover"))]
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
        "ibnetdiscover",
        "edge-list",
        "graphml",
    ),
]
