"""Networks of every family for a number of nodes, out of switches of a radix.

A layout's *bound* is the share of their bandwidth that all nodes can send at once to random others
over shortest paths: the least, over classes of links, of what the links carry by what the traffic
puts on them. Above 1 there is bandwidth to spare, which detours use.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from odonata.errors import ScenarioError
from odonata.network.cost import Parts, Prices, parts
from odonata.scenario import Scenario

#: What parts cost where no price is given, in ports of a switch: no list could be checked.
IN_PORTS = Prices(switch_port=1, optical_cable=1, copper_cable=0)
#: Layouts with a bound of that much have full bandwidth: rounding is not to decide.
FULL = 0.999
#: Layouts that are wired in turn until one can be.
_TRIED = 20


@dataclass(frozen=True)
class Layout:
    """A network with its size.

    Attributes:
        network: As in a scenario, without routing and links.
        nodes: Nodes that it has.
        switches: Its switches.
        radix: Most ports of a switch that are connected.
        cables: Links between switches.
        bound: Share of their bandwidth that nodes can send to random others; see the module.
        shift: From a node to the one that makes the worst shift: in the next pod, group or router,
            or half round a ring.
        local: Those of the cables that join switches of one group or pod.
    """

    network: dict[str, Any]
    nodes: int
    switches: int
    radix: int
    cables: int
    bound: float
    shift: int
    local: int = 0

    def price(self, prices: Prices) -> float:
        """What it costs: of copper are cables to nodes and, with a price, those in groups."""
        local = self.local if prices.local_cable is not None else 0
        return math.fsum(
            count * (each or 0.0)
            for count, each in (
                (self.switches, prices.switch),
                (self.nodes + 2 * self.cables, prices.switch_port),
                (self.cables - local, prices.optical_cable),
                (local, prices.local_cable),
                (self.nodes, prices.copper_cable),
            )
        )


@dataclass(frozen=True)
class Kind:
    """A family, or a way to lay one out.

    Attributes:
        name: For people.
        layouts: All for so many nodes and this radix that are worth a look.
        links: Classes of links between switches.
        flows: Routings by flows, of which the fastest counts.
        adaptive: Routing of packets by load.
        needs: What has to hold for it to fit.
        enough: The bound from which on a layout has the bandwidth that the kind stands for.
    """

    name: str
    layouts: Callable[[int, int], Iterator[Layout]]
    links: tuple[str, ...]
    flows: tuple[str | dict[str, str], ...]
    adaptive: str | dict[str, str]
    needs: str
    enough: float = FULL

    def classes(self, network: Mapping[str, Any]) -> tuple[str, ...]:
        """Classes of links between switches; all but the last are in groups or pods."""
        return self.links[: len(network["up"])] if "up" in network else self.links


def _one_switch(nodes: int, radix: int) -> Iterator[Layout]:
    if nodes <= radix:
        yield Layout({"family": "crossbar", "nodes": nodes}, nodes, 1, nodes, 0, 1.0, nodes // 2)


def _fat_trees(taper: int) -> Callable[[int, int], Iterator[Layout]]:
    """Trees of two and three levels whose top has a share 1/`taper` of the full bandwidth."""

    def layouts(nodes: int, radix: int) -> Iterator[Layout]:
        half = radix // 2
        for down in range(max(half // 2, 2), half + 1):
            leaves = -(-nodes // down)
            up = -(-down // taper)
            if 2 <= leaves <= radix:
                lanes = _lanes(up, leaves, radix)
                yield Layout(
                    {"family": "fat-tree", "down": [down, leaves], "up": [up // lanes],
                     "parallel": [lanes]},
                    down * leaves, leaves + up // lanes, max(down + up, leaves * lanes),
                    leaves * up, up / down, down,
                )  # fmt: skip
                continue
            for middle in range(max(half // 2, 2), half + 1):
                pods, above = -(-nodes // (down * middle)), -(-middle // taper)
                if not 2 <= pods <= radix:
                    continue
                lanes = _lanes(above, pods, radix)
                top = down * above // lanes
                yield Layout(
                    {"family": "fat-tree", "down": [down, middle, pods],
                     "up": [down, above // lanes], "parallel": [1, lanes]},
                    down * middle * pods, pods * (middle + down) + top,
                    max(2 * down, middle + above, pods * lanes),
                    pods * down * (middle + above), above / middle, down * middle,
                    pods * down * middle,
                )  # fmt: skip

    return layouts


def _lanes(up: int, below: int, radix: int) -> int:
    """Parallel links to each switch above, so that as few switches as can be stand there."""
    return next(n for n in range(up, 0, -1) if up % n == 0 and below * n <= radix)


def _dragonflies(nodes: int, radix: int) -> Iterator[Layout]:
    for a in range(2, radix):
        for h in range(1, radix - a + 1):
            # Local links carry a packet on both sides of its global one.
            for p in range(1, min(radix - a + 1 - h, h, a // 2) + 1):
                g = -(-nodes // (p * a))
                if not 3 <= g <= a * h + 1:
                    continue
                far = 1 - 1 / g
                local = (a - 1) / p / ((1 - 1 / a) * (1 + far))
                yield Layout(
                    {"family": "dragonfly", "p": p, "a": a, "h": h, "g": g},
                    p * a * g, a * g, p + a - 1 + h, g * (a * (a - 1) + a * h) // 2,
                    min(h / p / far, local), p * a, g * a * (a - 1) // 2,
                )  # fmt: skip


def _dragonflies_plus(nodes: int, radix: int) -> Iterator[Layout]:
    for leaves in range(2, radix):
        for p in range(1, radix):
            g = -(-nodes // (leaves * p))
            if g < 3:
                break
            far = 1 - 1 / g
            for spines in range(p, min(2 * p, radix - p) + 1):
                least = max(-(-(g - 1) // spines), math.ceil(leaves * p * far / spines))
                # The other groups share a group's links evenly, which two numbers are enough for.
                even = (g - 1) // math.gcd(g - 1, spines)
                first = -(-least // even) * even
                for h in range(first, min(first + even, radix - leaves) + 1, even):
                    up = spines / p / (far + (1 - far) * (1 - 1 / leaves))
                    yield Layout(
                        {"family": "dragonfly+", "leaves": leaves, "spines": spines, "p": p,
                         "h": h, "g": g},
                        leaves * p * g, (leaves + spines) * g, max(p + spines, leaves + h),
                        g * (2 * leaves + h) * spines // 2,
                        min(up, spines * h / (leaves * p) / far), leaves * p,
                        g * leaves * spines,
                    )  # fmt: skip


def _lattices(dimensions: int) -> Callable[[int, int], Iterator[Layout]]:
    def layouts(nodes: int, radix: int) -> Iterator[Layout]:
        for size in _sizes(dimensions, radix, nodes):
            routers = math.prod(size)
            p, degree = -(-nodes // routers), sum(size) - dimensions
            if p + degree <= radix:
                yield Layout(
                    {"family": "hyperx", "size": size, "p": p},
                    p * routers, routers, p + degree, routers * degree // 2, min(size) / p, p,
                )  # fmt: skip

    return layouts


def _sizes(dimensions: int, longest: int, most: int) -> Iterator[list[int]]:
    """Lattices whose sides differ by a third at most, with at most so many points."""

    def grown(size: list[int]) -> Iterator[list[int]]:
        if len(size) == dimensions:
            yield size
            return
        for side in range(max(2, -(-2 * size[0] // 3)), size[-1] + 1):
            if math.prod(size) * side <= most:
                yield from grown([*size, side])

    for side in range(2, longest + 1):
        yield from grown([side])


def _tori(nodes: int, radix: int) -> Iterator[Layout]:
    for size in _sizes(3, max(round(nodes ** (1 / 3)) * 2, 4), nodes):
        routers = math.prod(size)
        p = -(-nodes // routers)
        # A ring of two is a single link; of larger ones a packet crosses a quarter.
        if min(size) < 3 or p + 6 > radix:
            continue
        yield Layout(
            {"family": "torus", "size": size, "p": p},
            p * routers, routers, p + 6, 3 * routers, 8 / (max(size) * p),
            p * size[0] * size[1] * max(-(-size[2] // 2) - 1, 1),
        )  # fmt: skip


def _slim_flies(nodes: int, radix: int) -> Iterator[Layout]:
    for q in range(3, radix):
        if q % 4 == 2 or not _is_prime_power(q):
            continue
        routers, degree = 2 * q * q, (3 * q - {0: 0, 1: 1, 3: -1}[q % 4]) // 2
        p = -(-nodes // routers)
        if p + degree <= radix:
            distance = (degree + 2 * (routers - 1 - degree)) / routers
            yield Layout(
                {"family": "slim-fly", "q": q, "p": p},
                p * routers, routers, p + degree, routers * degree // 2,
                degree / p / distance, p, routers * (degree - q + 1) // 2,
            )  # fmt: skip


def _is_prime_power(q: int) -> bool:
    least = next(one for one in range(2, q + 1) if q % one == 0)
    while q % least == 0:
        q //= least
    return q == 1


def _jellyfish(nodes: int, radix: int) -> Iterator[Layout]:
    for p in range(1, radix):
        routers = -(-nodes // p)
        # With links to all others it is a full mesh.
        for degree in range(3, min(radix - p, routers - 2) + 1):
            if routers * degree % 2:
                continue
            # As if a random graph were a tree until all routers are reached.
            reached, ring, steps, hops = 1, degree, 1, 0
            while reached < routers:
                here = min(ring, routers - reached)
                reached, hops = reached + here, hops + steps * here
                ring, steps = ring * (degree - 1), steps + 1
            yield Layout(
                {"family": "jellyfish", "routers": routers, "degree": degree, "p": p,
                 "wiring_seed": 1},
                p * routers, routers, p + degree, routers * degree // 2,
                degree / p / (hops / routers), p,
            )  # fmt: skip


_TREE = (
    {"algorithm": "up-down", "choice": "by-destination"},
    {"algorithm": "up-down", "choice": "random"},
)
_BY_LOAD = {"algorithm": "up-down", "choice": "by-load"}
_DETOURS = ("valiant", "ugal-l")
_LEVELS = ("level1", "level2")
_GROUPS = ("local", "global")
_PORTS = "nodes, and links to all routers of a row in every dimension, on a switch's ports"

#: What has no cable between switches.
ONE_SWITCH = "one switch"
#: By name, in the order of tables; the first that fits is what others are compared with.
KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(ONE_SWITCH, _one_switch, (), ("shortest-path",), "shortest-path",
             "a port for each node"),
        Kind("fat tree", _fat_trees(1), _LEVELS, _TREE, _BY_LOAD,
             "two or three levels of switches"),
        Kind("fat tree 1:2", _fat_trees(2), _LEVELS, _TREE, _BY_LOAD,
             "two or three levels of switches", FULL / 2),
        Kind("dragonfly", _dragonflies, _GROUPS, ("minimal", *_DETOURS), "par",
             "3 groups or more of a routers, at most a·h + 1, with h ≥ p and a ≥ 2p"),
        Kind("dragonfly+", _dragonflies_plus, _GROUPS, ("minimal", *_DETOURS), "fpar",
             "3 groups or more, at most spines·h + 1, with full bandwidth between them"),
        Kind("full mesh", _lattices(1), ("local",), ("dimension-order", *_DETOURS), "dal",
             "nodes, and a link to every other switch, on a switch's ports"),
        Kind("HyperX 2-D", _lattices(2), ("local",), ("dimension-order", *_DETOURS), "dal",
             _PORTS),
        Kind("HyperX 3-D", _lattices(3), ("local",), ("dimension-order", *_DETOURS), "dal",
             _PORTS),
        Kind("torus 3-D", _tori, ("local",), ("dimension-order", *_DETOURS), "ugal-l",
             "rings of 3 routers or more, with six ports for them"),
        Kind("Slim Fly", _slim_flies, _GROUPS, ("shortest-path", *_DETOURS), "ugal-l",
             "2·q² routers, q a prime power that is no 4w + 2, with about 3q/2 links each"),
        Kind("Jellyfish", _jellyfish, ("local",), ("shortest-path", *_DETOURS), "ugal-l",
             "routers with three links or more to others"),
    )
}  # fmt: skip
#: Whose price is the limit of families without full bandwidth.
REFERENCE = "fat tree"


@dataclass(frozen=True)
class Fitted:
    """A layout that was chosen, with what it is made of.

    Attributes:
        kind: Its kind.
        layout: The layout.
        parts: What it is made of, as wired.
        price: What that costs.
    """

    kind: Kind
    layout: Layout
    parts: Parts
    price: float


def fit(
    kind: Kind,
    nodes: int,
    radix: int,
    prices: Prices,
    *,
    most: float | None,
    full: bool,
    multiple: int = 1,
) -> Fitted | str:
    """The layout of a kind for so many nodes.

    Args:
        kind: Which.
        nodes: Least number of nodes.
        radix: Most ports of a switch.
        prices: Of parts.
        most: Price that it may have at most, if there is such a limit.
        full: Whether the cheapest of full bandwidth is wanted, where there is one; otherwise that
            of most bandwidth for the price.
        multiple: Of what its number of nodes has to be a multiple.

    Returns:
        The layout, or why there is none.
    """
    found = list(kind.layouts(nodes, radix))
    whole = [one for one in found if one.nodes % multiple == 0]
    if found and not whole:
        return f"has no layout of a multiple of {multiple} interfaces, as nodes have"
    found = whole
    if not found:
        return f"does not fit {radix} ports and {nodes:,} nodes: it needs {kind.needs}"
    enough = [one for one in found if one.bound >= kind.enough]
    cheapest = min(one.price(prices) for one in found)
    if not (full and enough):
        if most is not None:
            found = [one for one in found if one.price(prices) <= most * (1 + 1e-9)]
            if not found:
                return f"costs {_money(cheapest)} at least; the budget is {_money(most)}"
        order = sorted(found, key=lambda one: (-one.bound, one.price(prices), one.switches))
    else:
        order = sorted(enough, key=lambda one: (one.price(prices), one.switches))
    reason = ""
    for layout in islice(order, _TRIED):
        local = () if prices.local_cable is None else kind.classes(layout.network)[:-1]
        try:
            made_of = parts(scenario_of(kind, layout, kind.adaptive), copper=("terminal", *local))
        except ScenarioError as error:
            reason = error.problems[0].message
            continue
        return Fitted(kind, layout, made_of, math.fsum(made_of.price(prices).values()))
    return f"cannot be wired: {reason}"


def _money(amount: float) -> str:
    """A price, to the whole unit from 1,000 on."""
    return f"{amount:,.0f}" if amount >= 1000 else f"{amount:,.6g}"


def scenario_of(
    kind: Kind,
    layout: Layout,
    routing: str | dict[str, str],
    bandwidth: str = "25 GB/s",
    **tables: Any,
) -> Scenario:
    """A scenario on a layout.

    Args:
        kind: Of the layout.
        layout: The network.
        routing: Its routing.
        bandwidth: Of all links.
        tables: The scenario's other tables. Without a job one sends a single message.
    """
    link = {"bandwidth": bandwidth, "latency": "100 ns"}
    classes = dict.fromkeys(kind.classes(layout.network), link)
    links = {"terminal": {**link, "latency": "20 ns"}, **classes}
    network = {**layout.network, "routing": routing, "links": links}
    job = [{"nodes": 2, "motif": {"kind": "neighbour", "message": "4 KiB"}}]
    return Scenario.from_dict({"network": network, "job": job, **tables})
