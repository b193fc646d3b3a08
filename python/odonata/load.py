"""Jobs of a scenario: who sends what to whom and when, and where its ranks sit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, Tag, model_validator

from odonata import names
from odonata.model import (
    PLUG_IN,
    Count,
    FileName,
    Index,
    Numbers,
    PlugInTable,
    Table,
    by_form,
    has_key,
    is_list,
    is_table,
    is_text,
    names_plug_in,
    not_ours,
    numbers,
    tag,
)
from odonata.motif import Matrix, Motif, Trace
from odonata.normal_form import normal_form
from odonata.plug_in_forms import named, named_with_parameters, reference
from odonata.plug_ins import is_known
from odonata.problem import problem, requires
from odonata.traffic import AnyTraffic
from odonata.units import Duration, describe


class MappingTable(Table):
    """A mapping of ranks to nodes in full: from a file, or by a policy."""

    file: FileName | None = None
    """One line per rank: index of its node among the job's nodes; relative to the scenario. All
    other keys are for policies."""
    policy: names.MappingStart | None = None
    """Where the mapping starts from, as its name alone would."""
    refine: Literal["swap"] | None = None
    """`swap`: ranks swap places in pairs for as long as that lowers the objective. Default: they
    stay where the policy put them."""
    objective: names.MappingObjective | None = None
    """With `refine`: what swaps lower, bytes times the time for which each occupies links on its
    way (`hop-bytes`), or the load of the busiest links (`link-load`). Default: hop-bytes."""
    matrix: FileName | None = None
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

    def engine_form(self, directory: Path = Path()) -> dict[str, Any]:
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


class PlacementTable(Table):
    """A placement within some of the groups, or by a mode of GRAP."""

    policy: names.Placement = "contiguous"
    """Which of their free nodes the job gets, as its name alone would say of all groups."""
    groups: Numbers | None = None
    """Groups whose nodes it may get: numbers from 0, as a list or a text such as `"0, 3-8"`. Not
    with `grap`."""
    mode: names.GrapMode | None = None
    """With `policy = "grap"`: how the nodes of a job larger than a group are spread
    ([GRAP](grap.md)). Default: `adaptive`."""
    group_count: Count | None = None
    """With `mode = "custom-balance"`: number of groups."""
    nodes_per_group: Annotated[list[Count], Field(min_length=1)] | None = None
    """With `mode = "custom"`: nodes in each group; their sum is the job's."""

    @model_validator(mode="after")
    def _of_the_policy(self) -> PlacementTable:
        grap = self.policy == "grap"
        if grap and self.groups is not None:
            raise problem("groups", "a value", "nothing, as GRAP looks at all groups")
        requires(self, "groups", when=not grap, why=f'policy = "{self.policy}"')
        if not grap:
            requires(self, "mode", when=False, why='policy = "grap"')
        for key, mode in (("group_count", "custom-balance"), ("nodes_per_group", "custom")):
            requires(self, key, when=self.mode == mode, why=f'mode = "{mode}"')
        return self

    def group_numbers(self) -> list[int] | None:
        """The groups, as numbers; none if the policy looks at all of them."""
        return None if self.groups is None else numbers(self.groups)

    def engine_form(self, directory: Path = Path()) -> dict[str, Any]:
        """The engine's form of the policy."""
        if self.policy != "grap":
            return {"policy": self.policy}
        return {
            "policy": self.policy,
            "mode": self.mode or "adaptive",
            "group_count": self.group_count,
            "nodes_per_group": self.nodes_per_group,
        }


class RankMapPlacement(Table):
    """A placement by a map of ranks to servers of TraceR, which is the mapping as well."""

    rank_map: FileName
    """The map, relative to the scenario: 32-bit integers, or text with a record a line. Without
    `job` the map of this job, the server of each rank; with `job` the global map, server, rank and
    job of each. Servers are cores, numbered router by router and around the nodes of each router,
    `ranks_per_node` on each node ([maps of TraceR](mapping.md#maps-of-tracer))."""
    job: Index | None = None
    """Which job of a global map, from 0."""

    def engine_form(self, directory: Path = Path()) -> dict[str, Any]:
        """The engine's form; the file is found relative to `directory`."""
        return {"policy": "rank-map", "file": str(directory / self.rank_map), "job": self.job}


class PlacementPlugIn(PlugInTable):
    """A placement by a plug-in with parameters."""

    @model_validator(mode="after")
    def _known(self) -> PlacementPlugIn:
        self.find("placement")
        return self


class MappingPlugIn(PlugInTable):
    """A mapping by a plug-in with parameters."""

    @model_validator(mode="after")
    def _known(self) -> MappingPlugIn:
        self.find("mapping")
        return self


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
    start: Duration = Duration(0)
    """When its ranks start."""
    placement: Annotated[
        Annotated[names.Placement, Tag(tag("a name"))]
        | Annotated[str, not_ours("placement"), Tag(tag(PLUG_IN))]
        | Annotated[list[Index], Field(min_length=1), Tag(tag("a list of nodes"))]
        | Annotated[RankMapPlacement, Tag(tag("a table with `rank_map`"))]
        | Annotated[PlacementPlugIn, Tag(tag("a table with `plug_in`"))]
        | Annotated[PlacementTable, Tag(tag("a table"))],
        by_form(
            {
                PLUG_IN: names_plug_in("placement"),
                "a name": is_text,
                "a list of nodes": is_list,
                "a table with `rank_map`": has_key("rank_map"),
                "a table with `plug_in`": has_key("plug_in"),
                "a table": is_table,
            }
        ),
    ] = "contiguous"
    """Which free nodes the job gets: the first ones (`contiguous`), the nodes of one router of
    each group in turn (`spread`), one node of each router in turn (`even`), whole groups that it
    shares with no other job (`isolated`), those that [GRAP](grap.md) gives it (`grap`), random
    nodes, all of random routers or groups, or a list of nodes. `level-spread` (Zhang et al. 2018)
    takes the emptiest router that holds the job, or else spreads it over the emptiest group, or
    all; `hybrid` goes in order within the first group that holds it, or else as `spread`;
    `best-fit` takes the fullest router that holds it, or else the fullest group, or the fullest
    ones first. As a table within some groups, or by a mode of GRAP: `{ policy = "even", groups =
    "0-2" }`, `{ policy = "grap", mode = "minimal-balance" }`. Or, with the mapping, by a map of
    TraceR: `{ rank_map = "job0" }`. Or by a [plug-in](plug-ins.md)."""
    mapping: Annotated[
        Annotated[
            names.Mapping,
            Tag(tag("a name")),
        ]
        | Annotated[str, not_ours("mapping"), Tag(tag(PLUG_IN))]
        | Annotated[list[Index], Field(min_length=1), Tag(tag("a list"))]
        | Annotated[MappingPlugIn, Tag(tag("a table with `plug_in`"))]
        | Annotated[MappingTable, Tag(tag("a table"))],
        by_form(
            {
                PLUG_IN: names_plug_in("mapping"),
                "a name": is_text,
                "a list": is_list,
                "a table with `plug_in`": has_key("plug_in"),
                "a table": is_table,
            }
        ),
    ] = "linear"
    """Which rank sits on which of them: node after node, at random, at random within each half of
    the job (`random-halves`: no rank leaves its half, as for `bisection` over a given cut), or
    near to those that it talks to ([mapping](mapping.md)): the heaviest communicators first
    (`greedy`), or by cutting application and network in two again and again (`graph-bisection`).
    Or explicitly: the index of each rank's node among the job's nodes, as a list or in a file. Or
    by a [plug-in](plug-ins.md)."""
    idle: bool = False
    """Whether it only takes its nodes and does nothing, to see the other jobs without it."""
    motif: Motif | None = None
    """What its ranks do, waiting for what they receive."""
    traffic: AnyTraffic | None = None
    """What its ranks send, whatever the network does."""

    @model_validator(mode="after")
    def _one_load(self) -> Job:
        if (self.motif is None) == (self.traffic is None):
            found = "neither" if self.motif is None else "both"
            raise problem("", found, "exactly one of `motif` and `traffic`")
        mapped = isinstance(self.placement, RankMapPlacement)
        if mapped and "mapping" in self.model_fields_set:
            raise problem("mapping", describe(self.mapping), "nothing, as `placement` has a map")
        sized = self.nodes or self.ranks or isinstance(self.placement, list) or mapped
        if not sized and not isinstance(self.motif, Matrix | Trace):
            raise problem("nodes", "nothing", "a value, as `ranks` is not given either")
        return self

    def engine_form(self, directory: Path = Path(), position: int = 0) -> dict[str, Any]:
        """The engine's form of the job at a position of the scenario (from 0)."""
        groups = None
        if isinstance(self.placement, list):
            placement: dict[str, Any] = {"policy": "explicit", "nodes": self.placement}
        elif isinstance(self.placement, RankMapPlacement):
            placement = self.placement.engine_form(directory)
        elif isinstance(self.placement, PlacementTable):
            placement = self.placement.engine_form()
            groups = self.placement.group_numbers()
        elif is_known("placement", named(self.placement)):
            placement = reference("placement", *named_with_parameters(self.placement))
        else:
            placement = {"policy": self.placement}
        if isinstance(self.mapping, list):
            mapping: dict[str, Any] = {"policy": "explicit", "node_of_rank": self.mapping}
        elif isinstance(self.mapping, MappingTable):
            mapping = self.mapping.engine_form(directory)
        elif is_known("mapping", named(self.mapping)):
            mapping = reference("mapping", *named_with_parameters(self.mapping))
        elif self.mapping == "random-halves":
            mapping = {"policy": self.mapping}
        else:
            policy: Any = self.mapping
            mapping = MappingTable(policy=policy).engine_form(directory)
        common = normal_form(self, directory, without=("placement", "mapping", "motif", "traffic"))
        return {
            **common,
            "name": self.name or f"job{position + 1}",
            "placement": placement,
            "groups": groups,
            "mapping": mapping,
            "load": {"motif": self.motif.engine_form(directory)}
            if self.motif
            else {"traffic": self.traffic.engine_form(directory)}
            if self.traffic
            else None,
        }
