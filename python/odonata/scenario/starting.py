"""A first scenario: a network of a family and size, and a job on it, as commented TOML."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from odonata.errors import Problem, ScenarioError
from odonata.names import Routing
from odonata.network.layouts import FULL, IN_PORTS, KINDS, Layout
from odonata.scenario import Scenario
from odonata.scenario.toml_source import parse_toml
from odonata.simulate.replaying import dragonfly_for

#: More nodes than that are no first scenario.
MOST_NODES = 100_000


@dataclass(frozen=True)
class Family:
    """A family that a first scenario can have.

    Attributes:
        about: What it is, in a few words.
        routings: Algorithms for it, the usual one first.
        links: Link classes: name, bandwidth, latency and what they are.
    """

    about: str
    routings: tuple[Routing, ...]
    links: tuple[tuple[str, str, str, str], ...]


_TERMINAL = ("terminal", "25 GB/s", "20 ns", "between a node and its router")
_LATTICE = (_TERMINAL, ("local", "25 GB/s", "50 ns", "between neighbouring routers"))
_GROUPS = (
    _TERMINAL,
    ("local", "25 GB/s", "30 ns", "between the routers of a group"),
    ("global", "25 GB/s", "300 ns", "between groups"),
)

FAMILIES: Mapping[str, Family] = {
    "dragonfly": Family(
        "groups of routers, every two groups joined (Slingshot, Aries)",
        ("minimal", "valiant", "ugal-l", "ugal-g", "par", "q-adaptive"),
        _GROUPS,
    ),
    "dragonfly+": Family(
        "groups of leaf and spine switches, every two groups joined",
        ("minimal", "valiant", "ugal-l", "ugal-g", "par", "fpar"),
        _GROUPS,
    ),
    "fat-tree": Family(
        "levels of switches with full bandwidth upwards (InfiniBand, Ethernet)",
        ("up-down", "ecmp"),
        (_TERMINAL, ("level1", "25 GB/s", "30 ns", "between leaves and the level above")),
    ),
    "torus": Family(
        "a ring of routers in every dimension (Tofu, Blue Gene)",
        ("dimension-order", "minimal-adaptive"),
        _LATTICE,
    ),
    "hyperx": Family(
        "every row of a lattice of routers all-to-all",
        ("dimension-order", "ugal-l", "dimwar", "dal", "minimal-adaptive"),
        _LATTICE,
    ),
    "crossbar": Family(
        "all nodes on one ideal router, to compare with", ("shortest-path",), (_TERMINAL,)
    ),
}


#: Keys of the networks that are laid out, and what they mean.
_KEYS: Mapping[str, Mapping[str, str]] = {
    "dragonfly": {
        "p": "nodes per router",
        "a": "routers per group",
        "h": "global links per router",
        "g": "groups",
    },
    "dragonfly+": {
        "leaves": "leaf switches per group",
        "spines": "spine switches per group",
        "p": "nodes per leaf",
        "h": "global links per spine",
        "g": "groups",
    },
    "torus": {"size": "routers along each dimension", "p": "nodes per router"},
    "hyperx": {"size": "routers along each dimension", "p": "nodes per router"},
}
#: Kinds of layouts that a first scenario has.
_NAMED = {"dragonfly": "dragonfly", "dragonfly+": "dragonfly+", "hyperx": "HyperX 2-D"}


def first_scenario(
    family: str = "dragonfly",
    *,
    nodes: int = 72,
    load: float | None = None,
    routing: str | None = None,
) -> str:
    """The text of a scenario to start from.

    Args:
        family: One of :data:`FAMILIES`.
        nodes: Number of nodes that are wanted. The network has more where the family has no layout
            of full bandwidth with exactly so many; a comment says so.
        load: Load of random traffic, as a fraction of the bandwidth of a node's link. Default: a
            halo-exchange job that ends, instead of random traffic.
        routing: One of the family's algorithms. Default: its first.

    Returns:
        Commented TOML that is a valid scenario.

    Raises:
        ScenarioError: If there is no such family, size, load or algorithm.
    """
    if family not in FAMILIES:
        _refuse("family", f'"{family}"', ", ".join(FAMILIES))
    chosen = FAMILIES[family]
    if not 2 <= nodes <= MOST_NODES:
        _refuse("nodes", f"{nodes:,}", f"2 to {MOST_NODES:,}")
    if load is not None and not 0 < load <= 1:
        _refuse("load", f"{load:g}", "above 0, at most 1")
    algorithm = routing or chosen.routings[0]
    if algorithm not in chosen.routings:
        _refuse("routing", f'"{algorithm}"', f"of {family}: {', '.join(chosen.routings)}")
    others = [one for one in chosen.routings if one != algorithm]
    sizes, links = _sizes(family, nodes), list(chosen.links)
    if family == "fat-tree" and sizes["levels"][0] == 3:
        links.append(("level2", "25 GB/s", "100 ns", "between that and the top"))
    width = max(len(one[0]) for one in links)
    lines = [
        f'title = "{nodes:,} nodes on a {family}"',
        "seed = 1 # equal seeds give equal results, bit by bit",
        "",
        "# What is wired. Another family: odonata init --help.",
        "# All keys: docs/scenario.md, and for programs odonata schema",
        "[network]",
        f'family = "{family}" # {chosen.about}',
        *_more(family, nodes, sizes),
        *(f"{key} = {value[0]} # {value[1]}" for key, value in sizes.items()),
        f'routing = "{algorithm}"' + (f" # or {', '.join(others)}" if others else ""),
        "",
        "[network.links]",
        *(
            f'{name:<{width}} = {{ bandwidth = "{bandwidth}", latency = "{latency}" }} # {about}'
            for name, bandwidth, latency, about in links
        ),
        "",
        "# Who sends what. More jobs: more [[job]] tables.",
        "[[job]]",
    ]
    if load is None:
        lines += [
            'name = "stencil"',
            f"nodes = {nodes}",
            'placement = "random-node" # or contiguous, random-router, random-group',
            "# Every rank exchanges 64 KiB with its six neighbours, ten times.",
            'motif = { kind = "halo3d", message = "64 KiB", iterations = 10 }',
        ]
    else:
        lines += [
            'name = "uniform"',
            f"nodes = {nodes}",
            "# Every node sends to random others, this share of what its link can carry.",
            f'traffic = {{ pattern = "uniform-random", message = "4 KiB", load = {load:g} }}',
            "",
            "[simulation]",
            'duration = "200 us" # traffic has no end of its own',
            'warmup = "auto"     # what comes before the steady state does not count',
        ]
    text = "\n".join(lines) + "\n"
    Scenario.from_dict(parse_toml(text, "scenario"))
    return text


def _refuse(key: str, found: str, allowed: str) -> None:
    raise ScenarioError([Problem(key, f"found {found}; allowed: {allowed}", found, allowed)])


def _sizes(family: str, nodes: int) -> dict[str, tuple[Any, str]]:
    """Keys of a network with this many nodes, each with what it means."""
    if family in _KEYS:
        layout = _laid(family, nodes)
        return {key: (layout[key], text) for key, text in _KEYS[family].items() if key in layout}
    if family == "fat-tree":
        # Two levels of k ports carry k²/2 nodes, three k³/4.
        radix = next((k for k in (4, 8, 16, 24, 32, 36, 40, 64) if k * k // 2 >= nodes), 0)
        levels = 2
        if radix == 0 or radix > 40:
            radix = next(k for k in (16, 24, 32, 36, 40, 48, 64, 80) if k**3 // 4 >= nodes)
            levels = 3
        if nodes <= radix // 2:
            radix = 4
        return {
            "radix": (radix, "ports of a switch, half of them down"),
            "nodes": (nodes, "of the machine"),
            "levels": (levels, "of switches"),
        }
    return {"nodes": (nodes, "of the machine")}


def _laid(family: str, nodes: int) -> dict[str, Any]:
    """The network nearest to so many nodes, of the smallest switches that do."""
    if family == "torus":
        return {"size": _block(nodes) or _cube(nodes, 3), "p": 1}
    kind = KINDS[_NAMED[family]]
    for radix in (8, 16, 32, 64, 128, 256, 512):
        found = [one for one in kind.layouts(nodes, radix) if one.bound >= FULL]
        if found:

            def order(one: Layout) -> tuple[float, ...]:
                return one.nodes - nodes, one.price(IN_PORTS), one.switches

            return min(found, key=order).network
    # Too few for three groups, or for two routers in a row.
    if family == "hyperx":
        return {"size": [2, 2], "p": 2}
    few = {"leaves": 2, "spines": 2, "p": 2, "h": 2}
    return few if family == "dragonfly+" else dragonfly_for(nodes)


def _more(family: str, nodes: int, sizes: Mapping[str, tuple[Any, str]]) -> list[str]:
    """Why the network has more nodes than are wanted, if it has."""
    if family not in _KEYS:
        return []
    of = {key: value for key, (value, _) in sizes.items()}
    if "size" in of:
        has = of["p"] * math.prod(of["size"])
    else:
        beside = of.get("a", of.get("leaves")), of["h"] * of.get("a", of.get("spines"))
        has = of["p"] * beside[0] * of.get("g", beside[1] + 1)
    why = "no near-cubic lattice" if family == "torus" else "no layout of full bandwidth"
    return [f"# {has:,} nodes: {why} has exactly {nodes:,}"] if has != nodes else []


def _block(nodes: int) -> list[int] | None:
    """The most even lattice with exactly so many points, if its sides differ by a half at most."""
    sides = [
        (a, b, nodes // (a * b))
        for a in range(round(nodes ** (1 / 3)) * 2, 2, -1)
        for b in range(3, a + 1)
        if nodes % (a * b) == 0 and 3 <= nodes // (a * b) <= b and 2 * (nodes // (a * b)) >= a
    ]
    return list(min(sides)) if sides else None


def _cube(nodes: int, dimensions: int) -> list[int]:
    """The most even lattice with at least this many points."""
    size = [2] * dimensions
    while True:
        total = 1
        for one in size:
            total *= one
        if total >= nodes:
            return size
        size[size.index(min(size))] += 1
