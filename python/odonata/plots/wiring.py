"""What is drawn of a network: routers, nodes and links as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from odonata.columns import codes, labels, numbers

if TYPE_CHECKING:
    from odonata.results import Result

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

LOCAL, GLOBAL = 1, 2
#: The class of links between the ranks of a node.
INSIDE = "inside"


@dataclass(frozen=True)
class Wiring:
    """What is drawn.

    Attributes:
        group_of_router: Shape: routers.
        cell_of_router: Row and column within the group, or ``None`` where groups have none.
            Shape: routers × 2.
        router_of_node: Shape: nodes.
        ends: Routers of each undirected link between routers. Shape: links × 2.
        kind: 1 local, 2 global. Shape: links.
        load: Utilisation of the busier direction, in 0..=1, or ``None`` if nothing ran.
        job_of_node: −1 for idle nodes, or ``None`` if nothing ran. Shape: nodes.
        is_inside: Whether each link lies within a node, or ``None`` if none does. Shape: links.
        classes: Names of the link classes of each kind.
    """

    group_of_router: Ints
    cell_of_router: Ints | None
    router_of_node: Ints
    ends: Ints
    kind: Ints
    load: Floats | None = None
    job_of_node: Ints | None = None
    is_inside: npt.NDArray[np.bool_] | None = None
    classes: Mapping[int, Sequence[str]] = field(default_factory=dict)

    @cached_property
    def is_node_switch(self) -> npt.NDArray[np.bool_] | None:
        """Whether each router is a switch within a node, or ``None`` if none is. Shape: routers."""
        if self.is_inside is None:
            return None
        routers = len(self.group_of_router)
        outside = np.bincount(self.ends[~self.is_inside].reshape(-1), minlength=routers)
        nodes = np.bincount(self.router_of_node, minlength=routers)
        found: npt.NDArray[np.bool_] = (outside == 0) & (nodes == 0)
        return found if found.any() else None

    @cached_property
    def is_spine(self) -> npt.NDArray[np.bool_] | None:
        """Whether each router is a spine, or ``None`` if groups are not leaves and spines.

        Leaves have nodes and spines have none, every group has both, and a link within a group
        joins one of each. Shape: routers.
        """
        spine = np.bincount(self.router_of_node, minlength=len(self.group_of_router)) == 0
        groups = int(self.group_of_router.max()) + 1
        for part in (spine, ~spine):
            if len(np.unique(self.group_of_router[part])) < groups:
                return None
        local = self.ends[self.kind == LOCAL]
        return spine if (spine[local[:, 0]] != spine[local[:, 1]]).all() else None

    @classmethod
    def of_result(cls, result: Result) -> Wiring:
        """The wiring that a run used, with its link loads and its jobs' nodes."""
        links = result.links
        source, target = numbers(links, "from_router"), numbers(links, "to_router")
        node = numbers(links, "from_node")
        routers = result.routers
        cells = np.stack([numbers(routers, "row"), numbers(routers, "column")], axis=1)
        router_of_node = np.zeros(int(result.meta["nodes"]), dtype=np.int64)
        injects = node >= 0
        router_of_node[node[injects]] = target[injects]

        between = (source >= 0) & (target >= 0)
        known = labels(links, "kind")
        kind = np.where(codes(links, "kind") == known.index("global"), GLOBAL, LOCAL)[between]
        low = np.minimum(source, target)[between].astype(np.int64)
        high = np.maximum(source, target)[between].astype(np.int64)
        ends, first, link = np.unique(
            np.stack([low, high], axis=1), axis=0, return_index=True, return_inverse=True
        )
        load = np.zeros(len(ends))
        np.maximum.at(load, link.reshape(-1), numbers(links, "utilisation")[between])

        names = labels(links, "class")
        inside = codes(links, "class") == (names.index(INSIDE) if INSIDE in names else -1)
        job_of_node = np.full(int(result.meta["nodes"]), -1, dtype=np.int64)
        job_of_node[numbers(result.placement, "node")] = numbers(result.placement, "job")
        # The most loaded links are drawn last, above the others.
        order = np.argsort(load, kind="stable")
        return cls(
            numbers(routers, "group").astype(np.int64),
            cells.astype(np.int64) if (cells >= 0).all() else None,
            router_of_node,
            ends[order],
            kind[first][order],
            load[order],
            job_of_node,
            inside[between][first][order] if inside.any() else None,
        )

    @classmethod
    def of_description(cls, description: Mapping[str, Any]) -> Wiring:
        """The wiring that ``odonata._engine.topology`` describes."""
        ends = np.stack([description["link_a"], description["link_b"]], axis=1).astype(np.int64)
        kind = np.asarray(description["link_kind"], dtype=np.int64)
        ends, first = np.unique(np.sort(ends, axis=1), axis=0, return_index=True)
        cells = None
        if "router_row" in description:
            cells = np.stack([description["router_row"], description["router_column"]], axis=1)
        known = description["description"]["link_classes"]
        kinds = {"local": LOCAL, "global": GLOBAL}
        classes = {
            number: [one["name"] for one in known if one["kind"] == kind]
            for kind, number in kinds.items()
        }
        names = np.array([one["name"] for one in known])
        inside = names[np.asarray(description["link_class"], dtype=np.int64)] == INSIDE
        return cls(
            np.asarray(description["group_of_router"], dtype=np.int64),
            None if cells is None else cells.astype(np.int64),
            np.asarray(description["node_router"], dtype=np.int64),
            ends,
            kind[first],
            is_inside=inside[first] if inside.any() else None,
            classes=classes,
        )
