"""Every family with every routing that goes over it, over random parameters: free of deadlock."""

from __future__ import annotations

import random
from typing import Any

import pytest

import odonata
from odonata import Scenario

JOB = {"nodes": 1, "motif": {"kind": "halo3d", "message": "1 kB"}}
#: What goes over any network whose routers are connected.
ANY = ["shortest-path", "up-down", "dfsssp"]
#: Algorithms with detours, whose two parts are the paths of the family.
DETOURS = [*ANY, "minimal", "ecmp", "valiant", "ugal-l", "ugal-g"]


def torus(draw: random.Random) -> dict[str, Any]:
    """Rings of 2 to 5 routers and lines, in one to three dimensions."""
    size = [draw.randint(2, 5) for _ in range(draw.randint(1, 3))]
    return {"family": "torus", "size": size, "wrap": [draw.random() < 0.7 for _ in size]}


def hyperx(draw: random.Random) -> dict[str, Any]:
    """Complete rows of 2 to 4 routers in one to three dimensions."""
    size = [draw.randint(2, 4) for _ in range(draw.randint(1, 3))]
    parallel = [draw.randint(1, 2) for _ in size]
    return {"family": "hyperx", "size": size, "parallel": parallel, "p": 2}


def fat_tree(draw: random.Random) -> dict[str, Any]:
    """Two or three levels of up to 3 children and parents each, some links parallel."""
    levels = draw.randint(2, 3)
    drawn = [[draw.randint(1, 3) for _ in range(levels - 1)] for _ in range(2)]
    down = [draw.randint(1, 3) for _ in range(levels)]
    return {"family": "fat-tree", "down": down, "up": drawn[0], "parallel": drawn[1]}


def slim_fly(draw: random.Random) -> dict[str, Any]:
    """Slim flies of up to 50 routers."""
    return {"family": "slim-fly", "q": draw.choice([3, 4, 5]), "p": draw.randint(1, 2)}


def jellyfish(draw: random.Random) -> dict[str, Any]:
    """Up to 24 routers of 3 to 5 links."""
    routers, degree = draw.randint(6, 24), draw.randint(3, 5)
    seed = draw.randint(0, 99)
    return {
        "family": "jellyfish",
        "routers": routers,
        "degree": degree,
        "p": 1,
        "wiring_seed": seed,
    }


def dragonfly(draw: random.Random) -> dict[str, Any]:
    """Up to 3 links of each of up to 4 routers of a group."""
    return {"family": "dragonfly", "p": 1, "a": draw.randint(2, 4), "h": draw.randint(1, 3)}


def dragonfly_plus(draw: random.Random) -> dict[str, Any]:
    """Up to 3 leaves and spines."""
    leaves, spines = draw.randint(1, 3), draw.randint(1, 3)
    return {"family": "dragonfly+", "leaves": leaves, "spines": spines, "p": 1, "h": 2}


FAMILIES = {
    "torus": (torus, [*DETOURS, "dimension-order", "minimal-adaptive"]),
    "hyperx": (hyperx, [*DETOURS, "dimension-order", "minimal-adaptive", "dimwar", "dal"]),
    "fat-tree": (fat_tree, DETOURS),
    "slim-fly": (slim_fly, DETOURS),
    "jellyfish": (jellyfish, DETOURS),
    "dragonfly": (dragonfly, [*DETOURS, "par", "q-adaptive"]),
    "dragonfly+": (dragonfly_plus, [*DETOURS, "par", "fpar"]),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("family", FAMILIES)
def test_no_routing_of_a_family_can_deadlock(family: str, seed: int) -> None:
    build, routings = FAMILIES[family]
    network = build(random.Random(f"{family} {seed}"))
    for routing in routings:
        scenario = {"network": {**network, "routing": routing}, "job": [JOB]}
        found = odonata.verify(Scenario.from_dict(scenario))
        assert found, (network, routing, found)
