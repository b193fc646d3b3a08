"""What the wiring of a network is made of, found out from its links alone.

A torus, a mesh, a hypercube or a HyperX is a product of rings, lines and complete graphs; a fat
tree or a leaf-spine network has levels. Whatever file or family a network comes from, it is
recognised here, so that it can be drawn as people draw it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

#: Links above which a network is not searched for products: the search takes seconds there.
MOST_SEARCHED = 60_000


class RouterGraph:
    """Routers and the undirected links between them, parallel ones counted once.

    Attributes:
        routers: Number of them.
        neighbours: Of each router, ascending.
    """

    def __init__(self, routers: int, ends: Ints) -> None:
        """Makes the graph.

        Args:
            routers: Number of them.
            ends: Shape: links × 2, each link once.
        """
        self.routers = routers
        both = np.concatenate([ends, ends[:, ::-1]])
        both = both[np.lexsort((both[:, 1], both[:, 0]))]
        bounds = np.searchsorted(both[:, 0], np.arange(1, routers))
        self.neighbours: list[Ints] = np.split(both[:, 1], bounds)

    def distances(self, sources: Sequence[int]) -> Ints:
        """Hops of each router from the nearest of some; −1 if none can be reached."""
        distance = np.full(self.routers, -1, dtype=np.int64)
        front = np.unique(np.asarray(sources, dtype=np.int64))
        hops = 0
        while len(front):
            distance[front] = hops
            hops += 1
            near = np.unique(np.concatenate([self.neighbours[router] for router in front]))
            front = near[distance[near] < 0]
        return distance


def levels(graph: RouterGraph, has_nodes: npt.NDArray[np.bool_], ends: Ints) -> Ints | None:
    """The level of each router, or ``None`` if the network has none.

    In a tree, fat or not, nodes are attached to routers of level 0 only, and every link joins a
    level with the next one.

    Args:
        graph: The network.
        has_nodes: Whether each router has nodes.
        ends: Its links.
    """
    if has_nodes.all() or not has_nodes.any():
        return None
    level = graph.distances(np.flatnonzero(has_nodes).tolist())
    if (level < 0).any() or (np.abs(level[ends[:, 0]] - level[ends[:, 1]]) != 1).any():
        return None
    return level


@dataclass(frozen=True)
class Dimension:
    """A factor of a product of networks.

    Attributes:
        kind: ``ring``, ``line``, ``complete`` (each to each) or ``other``.
        size: Routers along it.
        coordinate: Of each router: its place, so that neighbours of a ring or line have
            neighbouring numbers.
    """

    kind: str
    size: int
    coordinate: Ints


def dimensions(graph: RouterGraph, ends: Ints) -> list[Dimension] | None:
    """The factors of a network that is a product of simpler ones, the largest first.

    A ring or a line by itself is a product of one factor. Links are distinguished by their
    dimension outwards from one router, by the squares that they lie in (Imrich and Klavžar,
    *Product Graphs*, 2000, chapter 4); whether the result is a product is then checked in full, so
    that nothing is taken for one that is none.

    Args:
        graph: The network, connected.
        ends: Its links, each once.

    Returns:
        ``None`` if it is no product.
    """
    if graph.routers < 3 or not 0 < len(ends) <= MOST_SEARCHED:
        return None
    label = _labels(graph)
    if label is None:
        return None
    low, high = np.minimum(ends[:, 0], ends[:, 1]), np.maximum(ends[:, 0], ends[:, 1])
    of_link = np.array([label[pair] for pair in zip(low.tolist(), high.tolist(), strict=True)])
    found, links = [], 0
    for name in np.unique(of_link):
        # What is joined by links of the other dimensions has the same place in this one.
        part = components(graph.routers, ends[of_link != name])
        size = int(part.max()) + 1
        own = np.unique(np.sort(part[ends[of_link == name]], axis=1), axis=0)
        if (own[:, 0] == own[:, 1]).any():
            return None
        links += len(own) * (graph.routers // size)
        found.append((size, own, part))
    sizes = [size for size, _, _ in found]
    places = np.stack([part for _, _, part in found], axis=1)
    is_product = (
        int(np.prod(sizes, dtype=np.float64)) == graph.routers
        and links == len(ends)
        and len(np.unique(places, axis=0)) == graph.routers
    )
    if not is_product:
        return None
    factors = _squares_as_rings([_dimension(*one) for one in found])
    if len(factors) == 1 and factors[0].kind not in ("ring", "line"):
        return None
    return sorted(factors, key=lambda one: -one.size)


def _labels(graph: RouterGraph) -> dict[tuple[int, int], int] | None:
    """The dimension of each link by its ends, or ``None`` if they contradict each other."""
    neighbours = [set(near.tolist()) for near in graph.neighbours]
    root = min(range(graph.routers), key=lambda router: len(neighbours[router]))
    around = sorted(neighbours[root])
    if not around or len(around) > 256:
        return None
    name = dict(zip(around, range(len(around)), strict=True))
    for one, other in combinations(around, 2):
        # Two links of different dimensions lie in exactly one square and in no triangle.
        if other in neighbours[one] or len(neighbours[one] & neighbours[other]) == 1:
            old, new = name[other], name[one]
            name = {router: new if given == old else given for router, given in name.items()}
    label = {(min(root, other), max(root, other)): given for other, given in name.items()}
    for parent, router in _outwards(graph, root):
        came = label[min(parent, router), max(parent, router)]
        for other in graph.neighbours[router].tolist():
            if other == parent:
                continue
            given = came
            for corner in neighbours[other] & neighbours[parent]:
                if corner == router:
                    continue
                across = label.get((min(parent, corner), max(parent, corner)))
                if across is not None and across != came:
                    given = across
            key = (min(router, other), max(router, other))
            if label.setdefault(key, given) != given:
                return None
    return label


def _outwards(graph: RouterGraph, root: int) -> Iterator[tuple[int, int]]:
    """Every router but the root with a neighbour that came before it, nearest first."""
    seen = np.zeros(graph.routers, dtype=bool)
    seen[root] = True
    front = [root]
    while front:
        following = []
        for parent in front:
            for router in graph.neighbours[parent].tolist():
                if not seen[router]:
                    seen[router] = True
                    following.append(router)
                    yield parent, router
        front = following


def components(routers: int, ends: Ints) -> Ints:
    """The number of each router's component, counted in the order of their first routers."""
    part = np.arange(routers)
    while len(ends):
        least = np.minimum(part[ends[:, 0]], part[ends[:, 1]])
        joined = part.copy()
        np.minimum.at(joined, part[ends[:, 0]], least)
        np.minimum.at(joined, part[ends[:, 1]], least)
        joined = joined[joined]
        if (joined == part).all():
            break
        part = joined[joined]
    return np.unique(part, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _dimension(size: int, links: Ints, place: Ints) -> Dimension:
    """A factor with its places in the order in which they should be drawn."""
    graph = RouterGraph(size, links)
    degree = np.array([len(near) for near in graph.neighbours])
    if size > 2 and (degree == 2).all():
        kind, first = "ring", 0
    elif (degree <= 2).all() and len(links) == size - 1:
        kind, first = "line", int(np.flatnonzero(degree == 1)[0])
    elif len(links) == size * (size - 1) // 2:
        return Dimension("complete", size, place)
    else:
        return Dimension("other", size, place)
    order, before = [first], -1
    while len(order) < size:
        near = [one for one in graph.neighbours[order[-1]].tolist() if one != before]
        before = order[-1]
        order.append(near[0])
    rank = np.empty(size, dtype=np.int64)
    rank[order] = np.arange(size)
    return Dimension(kind, size, rank[place])


def _squares_as_rings(factors: list[Dimension]) -> list[Dimension]:
    """Joins lines of two in pairs: what they span is a ring of four."""
    pairs = [one for one in factors if one.size == 2]
    rest = [one for one in factors if one.size != 2]
    while len(pairs) >= 2 and len(pairs) + len(rest) > 2:
        one, other = pairs.pop(0), pairs.pop(0)
        turn = np.array([[0, 1], [3, 2]])
        rest.append(Dimension("ring", 4, turn[one.coordinate, other.coordinate]))
    return rest + pairs
