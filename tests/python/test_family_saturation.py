"""Where families of networks saturate: within 5 % of what their links can carry.

Links between routers have half the bandwidth of a node's, so that they are what gives way.
"""

from __future__ import annotations

from typing import Any

import pytest

from odonata import Scenario, run

UNIFORM = {"pattern": "uniform-or-self"}
TREE = {"family": "fat-tree", "radix": 8, "levels": 2}


def delivered(network: dict[str, Any], nodes: int, traffic: dict[str, Any], load: float) -> float:
    """The share that arrives of what nodes send, `load` times the bandwidth of a link."""
    terminal = {"bandwidth": "16 GB/s", "latency": "20 ns", "buffer": "64 KiB"}
    between = {**terminal, "bandwidth": "8 GB/s"}
    names = {"fat-tree": ["level1"], "slim-fly": ["local", "global"]}
    links = dict.fromkeys(names.get(network["family"], ["local"]), between)
    scenario = Scenario.from_dict(
        {
            "network": {**network, "links": {"terminal": terminal, **links}},
            "simulation": {"duration": "130 us", "warmup": "50 us", "packet": "256 B"},
            "job": [{"nodes": nodes, "traffic": {**traffic, "message": "256 B", "load": load / 2}}],
        }
    )
    accepted: float = run(scenario).to_pandas("jobs")["accepted_bytes_per_s"][0]
    return accepted / (nodes * 8e9 * load)


#: Network, nodes, traffic, and the load at which the fullest link between routers has no more.
BOUNDS: dict[str, tuple[dict[str, Any], int, dict[str, Any], float]] = {
    # Half of the traffic crosses the middle, over 4·k links one way: 8/k (Dally and Towles,
    # "Principles and Practices of Interconnection Networks", 2004, section 3.3.1).
    "torus, uniform": ({"family": "torus", "size": [8, 8]}, 64, UNIFORM, 8 / 8),
    # Half as many links: 4/k.
    "mesh, uniform": (
        {"family": "torus", "size": [8, 8], "wrap": [False, False]},
        64,
        UNIFORM,
        4 / 8,
    ),
    # Everybody goes 3 of 8 routers on, the same way round, so that each link carries three.
    "ring, tornado": (
        {"family": "torus", "size": [8]},
        8,
        {"pattern": "shift", "offset": 3},
        1 / 3,
    ),
    # As many links up from a leaf as it has nodes, and as many down to one (Leiserson 1985).
    "fat tree, shift": (TREE, 32, {"pattern": "shift", "offset": 4}, 1.0),
    # A quarter of the routers of a row is where a packet goes, for four nodes on each.
    "hyperx, uniform": ({"family": "hyperx", "size": [4, 4], "p": 4}, 64, UNIFORM, 1.0),
    # The four nodes of a router share the link to the next, as a flattened butterfly's do under
    # its worst case (Kim, Dally and Abts, ISCA 2007, section 3.1).
    "hyperx, shift": (
        {"family": "hyperx", "size": [4, 4], "p": 4},
        64,
        {"pattern": "shift", "offset": 4},
        1 / 4,
    ),
    # 50 routers of 7 links each: 7 others are one hop away and 42 two, 91 hops of 50 on average;
    # 4 nodes on each send 4·91/50 hops over 7 links (Besta and Hoefler, SC 2014, section 3.2).
    "slim fly, uniform": ({"family": "slim-fly", "q": 5, "p": 4}, 200, UNIFORM, 7 * 50 / (4 * 91)),
}


@pytest.mark.parametrize("case", BOUNDS)
def test_saturation_is_within_five_per_cent_of_the_bound(case: str) -> None:
    network, nodes, traffic, bound = BOUNDS[case]
    assert delivered(network, nodes, traffic, 0.95 * bound) > 0.98
    assert delivered(network, nodes, traffic, 1.05 * bound) < 0.975
