"""Where routers and nodes are drawn: groups on a circle, levels in rows, tori on a grid.

The layout follows from what the wiring is made of (:mod:`odonata.plots.structure`), not from the
family that it comes from: a torus in an edge list is drawn as a torus.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from odonata.plots.structure import Dimension, RouterGraph, components, dimensions, levels
from odonata.plots.wiring import Floats, Ints, Wiring

#: Up to this many routers, a network without known structure is laid out by all distances.
MOST_PAIRED = 700
#: Routers from which distances are taken in larger ones.
PIVOTS = 64
#: Steps in which distances in the picture approach those in the network.
STEPS = 120


@dataclass(frozen=True)
class Layout:
    """Where things are drawn.

    Attributes:
        kind: ``groups`` (on a circle), ``levels`` (in rows), ``grid`` or ``free``.
        router: Shape: routers × 2.
        node: Shape: nodes × 2.
        router_radius: Room of one router.
        node_radius: Room of one node.
        group: Centres of groups on the circle of radius 1, if that is the kind. Shape: groups × 2.
        group_radius: Of the ring of a group's routers.
        dimensions: Of a grid.
        cell: Distance of neighbours on a grid.
    """

    kind: str
    router: Floats
    node: Floats
    router_radius: float
    node_radius: float
    group: Floats
    group_radius: float = 0.0
    dimensions: tuple[Dimension, ...] = ()
    cell: float = 0.0

    @property
    def has_groups(self) -> bool:
        """Whether there are several groups on a circle."""
        return self.kind == "groups" and len(self.group) > 1

    @property
    def wraps(self) -> bool:
        """Whether there are links that are drawn as stubs, because they wrap around."""
        return any(one.kind == "ring" and one.size > 2 for one in self.dimensions)

    def paths(self, ends: Ints) -> tuple[list[Floats], Ints]:
        """What is drawn of links: lines of points, and the link that each belongs to.

        Most links are one straight line. On a grid, one that wraps around is a stub at either
        end, and one that passes other routers of its row is an arc.

        Args:
            ends: Shape: links × 2.
        """
        straight = np.stack([self.router[ends[:, 0]], self.router[ends[:, 1]]], axis=1)
        if not self.dimensions:
            return list(straight), np.arange(len(ends))
        paths, link = [], []
        coordinates = np.stack([one.coordinate[ends] for one in self.dimensions], axis=2)
        gap = coordinates[:, 1] - coordinates[:, 0]
        along = np.abs(gap).argmax(axis=1)
        for index, (line, axis) in enumerate(zip(straight, along.tolist(), strict=True)):
            factor, hops = self.dimensions[axis], abs(int(gap[index, axis]))
            whole = line[1] - line[0]
            if factor.kind == "ring" and factor.size > 2 and hops == factor.size - 1:
                step = whole / hops
                length = float(np.hypot(*step))
                part = step * min(0.42, 0.42 * self.cell / length)
                paths += [np.stack([line[0], line[0] - part]), np.stack([line[1], line[1] + part])]
                link += [index, index]
                continue
            if hops > 1:
                side = np.array([-whole[1], whole[0]]) / float(np.hypot(*whole))
                bend = 0.7 * self.cell * side * (hops - 1) / max(factor.size - 2, 1)
                t = np.linspace(0, 1, 13)[:, None]
                line = line[0] + t * whole + 4 * t * (1 - t) * bend * 0.5
            paths.append(line)
            link.append(index)
        return paths, np.array(link, dtype=np.int64)


def lay_out(wiring: Wiring) -> Layout:
    """Places the routers and nodes of a network as suits its structure."""
    routers = len(wiring.group_of_router)
    graph = RouterGraph(routers, wiring.ends)
    has_nodes = np.bincount(wiring.router_of_node, minlength=routers) > 0
    level = levels(graph, has_nodes, wiring.ends)
    if level is not None:
        if wiring.is_node_switch is not None:
            level = np.where(wiring.is_node_switch, 0, level + 1)
        return _in_rows(wiring, level)
    if wiring.cell_of_router is not None or wiring.is_spine is not None or routers < 3:
        return _on_a_circle(wiring, wiring.group_of_router)
    groups = wiring.group_of_router
    several = 1 < len(np.unique(groups)) < routers
    if several and _groups_are_complete(wiring):
        return _on_a_circle(wiring, groups)
    factors = dimensions(graph, wiring.ends)
    if factors is not None and (len(factors) > 1 or factors[0].kind == "line"):
        return _on_a_grid(wiring, factors)
    if several:
        return _on_a_circle(wiring, groups)
    together = np.zeros(routers, dtype=np.int64)
    is_complete = len(wiring.ends) == routers * (routers - 1) // 2
    if is_complete or routers <= 3:
        return _on_a_circle(wiring, together)
    if factors is not None:
        return _on_a_circle(wiring, together, along=factors[0].coordinate)
    return _by_distance(wiring, graph)


def _groups_are_complete(wiring: Wiring) -> bool:
    """Whether every router is linked to every other of its group, as in a dragonfly."""
    sizes = np.bincount(wiring.group_of_router)
    own = wiring.group_of_router[wiring.ends[:, 0]] == wiring.group_of_router[wiring.ends[:, 1]]
    return int(own.sum()) == int((sizes * (sizes - 1) // 2).sum())


def _place_of_node(wiring: Wiring) -> tuple[Ints, Ints]:
    """The place of each node among those of its router, and the number of those. Shape: nodes."""
    routers = len(wiring.group_of_router)
    order = np.argsort(wiring.router_of_node, kind="stable")
    per_router = np.bincount(wiring.router_of_node, minlength=routers)
    starts = np.concatenate([[0], np.cumsum(per_router)[:-1]])
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order)) - starts[wiring.router_of_node[order]]
    return place, per_router[wiring.router_of_node]


def _fans(
    wiring: Wiring, router: Floats, direction: Floats, room: float, widest: float = 150.0
) -> Floats:
    """Nodes in a fan around their routers.

    Args:
        wiring: Whose nodes.
        router: Where the routers are.
        direction: The middle of each router's fan, in radians.
        room: Of one router.
        widest: Most degrees that a fan covers.
    """
    place, of_router = _place_of_node(wiring)
    fan = np.minimum(np.radians(widest), np.radians(48) * of_router)
    spread = (place + 0.5) / np.maximum(of_router, 1) - 0.5
    angle = direction[wiring.router_of_node] + fan * spread
    outward = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    node: Floats = router[wiring.router_of_node] + 1.05 * room * outward
    return node


# --- Groups -------------------------------------------------------------------------------


def _on_a_circle(wiring: Wiring, group_of_router: Ints, along: Ints | None = None) -> Layout:
    """Places groups on a circle, clockwise from the top, and nodes outside their routers.

    The routers of a group stand on a ring, on a grid where they have rows and columns, with
    rows counted outwards, or in two rows where they are leaves and spines, the leaves outside.

    Args:
        wiring: What is drawn.
        group_of_router: May differ from that of the wiring.
        along: Order of the routers on the ring, if there is one group; their numbers otherwise.
    """
    groups = int(group_of_router.max()) + 1
    sizes = np.bincount(group_of_router, minlength=groups)
    if groups == 1:
        centre, radius = np.zeros((1, 2)), 1.0
    else:
        angle = np.pi / 2 - 2 * np.pi * np.arange(groups) / groups
        centre = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        # Neighbouring groups on the circle must not touch.
        radius = min(0.36, 0.80 * np.sin(np.pi / groups))
    # Within the unit circle, outwards along x and clockwise along −y.
    unit = np.zeros((len(group_of_router), 2))
    if wiring.cell_of_router is not None:
        # Rows are further apart than columns: there is room outwards.
        rows, columns = wiring.cell_of_router.max(axis=0)
        width = max(float(columns), 1.6 * float(rows), 1.0)
        cells = (2 * wiring.cell_of_router - [rows, columns]) / width
        unit = np.stack([1.6 * cells[:, 0], -cells[:, 1]], axis=1)
        room = min(0.24, 0.9 / width) * radius
    elif wiring.is_spine is not None:
        most = 1
        for group in np.arange(groups):
            for row, part in ((-0.62, wiring.is_spine), (0.62, ~wiring.is_spine)):
                members = np.flatnonzero((group_of_router == group) & part)
                count = len(members)
                line = np.linspace(1, -1, count) if count > 1 else np.zeros(1)
                unit[members] = np.stack([np.full(count, row), 1.15 * line], axis=1)
                most = max(most, count)
        room = min(0.24, 1.7 / most) * radius
    else:
        for group in np.flatnonzero(sizes > 1):
            members = np.flatnonzero(group_of_router == group)
            order = np.arange(len(members)) if along is None else along[members]
            around = -2 * np.pi * order / len(members)
            unit[members] = np.stack([np.cos(around), np.sin(around)], axis=1)
        room = min(0.24, 1.9 / int(sizes.max())) * radius
    turn = np.pi / 2 - 2 * np.pi * group_of_router / groups
    cosine, sine = np.cos(turn), np.sin(turn)
    turned = np.stack(
        [
            cosine * unit[:, 0] - sine * unit[:, 1],
            sine * unit[:, 0] + cosine * unit[:, 1],
        ],
        axis=1,
    )
    router = centre[group_of_router] + 0.74 * radius * turned
    # Nodes are on the far side of their group's centre.
    outward = router - centre[group_of_router]
    direction = np.arctan2(outward[:, 1], outward[:, 0])
    node = _fans(wiring, router, direction, room)
    return Layout("groups", router, node, room, 0.26 * room, centre, radius)


# --- Levels -------------------------------------------------------------------------------


def _in_rows(wiring: Wiring, level: Ints) -> Layout:
    """Places the levels of a tree in rows, the one with nodes above switches within nodes only.

    What is joined below stands together: the routers of a pod side by side, and so on upwards.
    """
    count = int(level.max()) + 1
    highest = level[wiring.ends].max(axis=1)
    keys = [np.arange(len(level))]
    for top in range(count - 1):
        # Parts of what is left without the levels above; routers of those stay where they are.
        part = components(len(level), wiring.ends[highest <= top])
        keys.append(np.where(level <= top, part, 0))
    order = np.lexsort(keys)
    members = [order[level[order] == row] for row in range(count)]
    x = np.zeros(len(level))
    for row in members:
        x[row] = (2 * np.arange(len(row)) + 1) / len(row) - 1
    height = min(0.75, 1.5 / (count - 1))
    router = np.stack([x, height * (level - (count - 1) / 2)], axis=1)
    spacing = 2.0 / max(len(row) for row in members)
    room = min(0.06, 0.9 * spacing)

    # Nodes in a block below their router, as wide as there is room.
    place, of_router = _place_of_node(wiring)
    lowest = members[int(level[wiring.router_of_node[0]])]
    width = min(0.85 * 2.0 / len(lowest), 0.30)
    most = int(of_router.max(initial=1))
    columns = int(np.ceil(np.sqrt(most))) if most > 4 else most
    step = min(width / columns, 0.045)
    column, line = place % columns, place // columns
    used = np.minimum(of_router, columns)
    node = router[wiring.router_of_node] + np.stack(
        [(column - (used - 1) / 2) * step, -(1.5 * room + (line + 0.5) * step)], axis=1
    )
    return Layout("levels", router, node, room, 0.38 * step, np.zeros((1, 2)))


# --- Grids --------------------------------------------------------------------------------


def _on_a_grid(wiring: Wiring, factors: list[Dimension]) -> Layout:
    """Places a product of networks on a grid.

    The first two dimensions go to the right and up. The third goes aslant within a cell of the
    grid, so that no link hides another one. Further ones repeat all of it to the right and up.
    """
    sizes = [one.size for one in factors]
    steps = [np.array([1.0, 0.0]), np.array([0.0, 1.0])]
    extent = np.array([sizes[0] - 1.0, sizes[1] - 1.0 if len(sizes) > 1 else 0.0])
    room = 0.26
    if len(sizes) > 2:
        slant = 0.62 / (sizes[2] - 1)
        steps.append(np.array([slant, slant]))
        extent = extent + 0.62
        room = min(room, 0.8 * slant)
    for place, size in enumerate(sizes[3:]):
        axis = place % 2
        step = np.zeros(2)
        step[axis] = extent[axis] + 2.2
        steps.append(step)
        extent = extent + (size - 1) * step
    router = np.zeros((len(wiring.group_of_router), 2))
    for one, step in zip(factors, steps, strict=False):
        router += one.coordinate[:, None] * step
    # The first router at the top left, as people read.
    scale = 2.0 / max(float(extent.max()), 1.0)
    router = scale * (router - extent / 2) * [1.0, -1.0]
    # Nodes where no link of the first three dimensions leads.
    corner = np.full(len(router), np.radians(45.0 if len(sizes) > 2 else 135.0))
    room = room * scale
    node = _fans(wiring, router, corner, room, widest=70.0)
    return Layout(
        "grid",
        router,
        node,
        room,
        0.26 * room,
        np.zeros((1, 2)),
        dimensions=tuple(factors),
        cell=scale,
    )


# --- Anything else --------------------------------------------------------------------------


def _by_distance(wiring: Wiring, graph: RouterGraph) -> Layout:
    """Places routers so that distances in the picture are like hops in the network.

    Starts from the two main axes of the hops to some routers (Brandes and Pich 2007) and lowers
    the stress of all pairs where they are not too many (Gansner et al. 2004).
    """
    routers = graph.routers
    pivots = np.arange(routers) if routers <= MOST_PAIRED else _pivots(graph)
    hops = np.stack([graph.distances([int(pivot)]) for pivot in pivots], axis=1).astype(float)
    squares = hops**2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    left, size, _ = np.linalg.svd(-centred / 2, full_matrices=False)
    axes: Floats = left[:, :2] * np.sqrt(size[:2])
    # The signs of singular vectors are arbitrary.
    axes = axes * np.where(axes[np.abs(axes).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)
    router = _less_stress(axes, hops, pivots, wiring.ends)
    router = router - router.mean(axis=0)
    router = router / np.sqrt((router**2).sum(axis=1).max())
    room = float(np.clip(0.6 * _usual_gap(router), 0.004, 0.09))
    direction = np.arctan2(router[:, 1], router[:, 0])
    node = _fans(wiring, router, direction, room)
    return Layout("free", router, node, room, 0.26 * room, np.zeros((1, 2)))


def _pivots(graph: RouterGraph) -> Ints:
    """Routers far from each other, each the farthest from those before it."""
    chosen = [0]
    nearest = graph.distances(chosen)
    while len(chosen) < PIVOTS:
        chosen.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, graph.distances(chosen[-1:]))
    return np.array(chosen)


def _less_stress(router: Floats, hops: Floats, pivots: Ints, ends: Ints) -> Floats:
    """Moves routers until distances in the picture are as close to hops as they become.

    Args:
        router: Where they are. Shape: routers × 2.
        hops: To the pivots. Shape: routers × pivots.
        pivots: From which distances are known.
        ends: Links, which pull as well.
    """
    weight: Floats = np.where(hops > 0, 1.0 / np.maximum(hops, 1.0) ** 2, 0.0)
    degree = np.bincount(ends.reshape(-1), minlength=len(router))
    total = (weight.sum(axis=1) + degree)[:, None]
    # A little off each other, in a fixed way: routers that coincide would never part.
    turn = 2.399963 * np.arange(len(router))
    router = router + 1e-3 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    for _ in range(STEPS):
        gap = router[:, None, :] - router[None, pivots, :]
        length = np.maximum(np.sqrt((gap**2).sum(axis=2)), 1e-9)
        wanted = weight @ router[pivots] + ((weight * hops / length)[:, :, None] * gap).sum(axis=1)
        link = router[ends[:, 0]] - router[ends[:, 1]]
        link /= np.maximum(np.sqrt((link**2).sum(axis=1)), 1e-9)[:, None]
        np.add.at(wanted, ends[:, 0], router[ends[:, 1]] + link)
        np.add.at(wanted, ends[:, 1], router[ends[:, 0]] - link)
        router = 0.1 * router + 0.9 * wanted / total
    return router


def _usual_gap(router: Floats) -> float:
    """The median distance of a router from the nearest other one, of some hundred routers."""
    some = router[:: max(1, len(router) // 400)]
    gap = np.sqrt(((some[:, None, :] - router[None, :, :]) ** 2).sum(axis=2))
    gap.sort(axis=1)
    return float(np.median(gap[:, 1]))
