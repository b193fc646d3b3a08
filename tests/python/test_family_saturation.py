"""Where families of networks saturate: within 5 % of what their links can carry.

Links between routers have half the bandwidth of a node's, so that they are what gives way.
"""

from __future__ import annotations

from typing import Any

import networkx
import pytest
from scipy.optimize import linear_sum_assignment

from odonata import Result, Scenario, _engine, run
from odonata.simulate import ask_engine

UNIFORM = {"pattern": "uniform-or-self"}
HALO = {"kind": "halo3d", "message": "1 kB"}
TREE = {"family": "fat-tree", "radix": 8, "levels": 2}
SLIM_FLY = {"family": "slim-fly", "q": 5, "p": 4}
RING = {"family": "torus", "size": [8]}
TORNADO = {"pattern": "shift", "offset": 3}


def adaptive(size: list[int], wrap: bool) -> dict[str, Any]:
    """A torus or a mesh with minimal adaptive routing."""
    network = {"family": "torus", "size": size, "wrap": [wrap] * len(size)}
    return {**network, "routing": "minimal-adaptive"}


def loaded(
    network: dict[str, Any],
    nodes: int,
    traffic: dict[str, Any],
    load: float,
    end: str = "130 us",
    messages: str = "none",
) -> Result:
    """A run in which nodes send `load` times the bandwidth of a link between routers."""
    terminal = {"bandwidth": "16 GB/s", "latency": "20 ns", "buffer": "64 KiB"}
    between = {**terminal, "bandwidth": "8 GB/s"}
    names = {"fat-tree": ["level1"], "slim-fly": ["local", "global"]}
    links = dict.fromkeys(names.get(network["family"], ["local"]), between)
    scenario = Scenario.from_dict(
        {
            "network": {**network, "links": {"terminal": terminal, **links}},
            "simulation": {"duration": end, "warmup": "50 us", "packet": "256 B"},
            "job": [{"nodes": nodes, "traffic": {**traffic, "message": "256 B", "load": load / 2}}],
            "record": {"messages": messages},
        }
    )
    return run(scenario)


def delivered(
    network: dict[str, Any], nodes: int, traffic: dict[str, Any], load: float, end: str = "130 us"
) -> float:
    """The share that arrives of what nodes send, `load` times the bandwidth of a link."""
    job = loaded(network, nodes, traffic, load, end).to_pandas("jobs").iloc[0]
    return float(job["accepted_bytes_per_s"] / job["offered_bytes_per_s"])


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
    # What the best choice of shortest paths can carry, by a linear program
    # (studies/scripts/family_saturation.py); dimension order stops at 2/7 and at 1/7.
    "torus, transpose": (adaptive([8, 8], True), 64, {"pattern": "transpose"}, 2 / 3),
    "mesh, transpose": (adaptive([8, 8], False), 64, {"pattern": "transpose"}, 5 / 11),
    # Two routers of four nodes each send over every link of the chains.
    "slim fly, two hops on": (SLIM_FLY, 200, {"pattern": "two-hop"}, 1 / 8),
    "slim fly, uniform": ({"family": "slim-fly", "q": 5, "p": 4}, 200, UNIFORM, 7 * 50 / (4 * 91)),
}


@pytest.mark.parametrize("case", BOUNDS)
def test_saturation_is_within_five_per_cent_of_the_bound(case: str) -> None:
    network, nodes, traffic, bound = BOUNDS[case]
    assert delivered(network, nodes, traffic, 0.95 * bound) > 0.98
    assert delivered(network, nodes, traffic, 1.05 * bound) < 0.975


def sent(result: Result) -> list[float]:
    """What each node sends, in units of the bandwidth of a link between routers."""
    links = result.to_pandas("links")
    return [2.0 * used for used in links[links["from_node"].notna()]["utilisation"]]


def test_beyond_saturation_a_ring_starves_nodes_by_the_golden_ratio() -> None:
    # Where own packets and transit wait for one channel in the order of arrival, with as much room
    # for each, half of what crosses a link is new: T_i / 2 = T_(i-1) - E_i. What begins at a router
    # ends three links on, so that E_i = T_(i-3) / 2, and T_i = T_(i-1) + T_(i-2): up to the link
    # before the router whose own packets have another channel, which is full (5, whose way and that
    # of 6 and 7 leads over the link that closes the ring).
    golden = (1 + 5**0.5) / 2
    result = loaded(RING, 8, TORNADO, 1.0, "650 us")
    links = result.to_pandas("links")
    onwards = links[(links["to_router"] == (links["from_router"] + 1) % 8)]
    carried = dict(zip(onwards["from_router"], onwards["utilisation"], strict=True))
    assert carried[4] > 0.999
    for router in (1, 2, 3):
        assert carried[router + 1] / carried[router] == pytest.approx(golden, rel=0.05)
    new = sent(result)
    assert new[:5] == pytest.approx([carried[router] / 2 for router in range(5)], rel=0.03)
    # All eight: half of 1 + 1/g + 1/g^2 + ..., which is g^2 / 2, over eight nodes.
    assert sum(new) / 8 == pytest.approx(golden**2 / 16, rel=0.03)


@pytest.mark.parametrize(
    "router",
    [
        {},
        {"credit_use": "crossbar"},
        {"crossbar": 1.0},
        {"crossbar": 2.0, "credit_use": "crossbar"},
    ],
    ids=str,
)
def test_a_ring_that_lets_transit_go_first_carries_all_that_it_can(router: dict[str, Any]) -> None:
    network = {**RING, "router": {**router, "arbitration": "transit-first"}}
    new = sent(loaded(network, 8, TORNADO, 1.0, "350 us"))
    # The bound, and for every node.
    assert new == pytest.approx([1 / 3] * 8, rel=0.02)


@pytest.mark.parametrize("wrap", [True, False])
def test_adaptive_packets_alone_take_as_long_as_in_dimension_order(wrap: bool) -> None:
    def latency(routing: str) -> list[float]:
        network = {**adaptive([5, 4], wrap), "routing": routing}
        job = loaded(network, 20, UNIFORM, 0.002).to_pandas("jobs").iloc[0]
        return [*job.filter(like="packet_latency"), job["mean_routers_visited"]]

    assert latency("minimal-adaptive") == latency("dimension-order")


def partners(network: dict[str, Any], nodes: int, pattern: str) -> tuple[networkx.Graph, list[int]]:
    """The routers with their links, and whom the nodes of each send to."""
    scenario = Scenario.from_dict({"network": network, "job": [{"nodes": 1, "motif": HALO}]})
    found = ask_engine(_engine.topology, scenario)
    graph = networkx.Graph(zip(found["link_a"].tolist(), found["link_b"].tolist(), strict=True))
    router = found["node_router"].tolist()
    sends = loaded(network, nodes, {"pattern": pattern}, 0.1, "60 us", "all").to_pandas("messages")
    pairs = set(zip(sends["source_node"], sends["destination_node"], strict=True))
    assert sorted(a for a, _ in pairs) == sorted(b for _, b in pairs) == list(range(nodes))
    between = {(router[a], router[b]) for a, b in pairs}
    # All nodes of a router to those of one other.
    assert len(between) == graph.number_of_nodes()
    return graph, [to for _, to in sorted(between)]


def test_a_longest_matching_is_the_longest() -> None:
    network = {"family": "jellyfish", "routers": 32, "degree": 4, "p": 2, "wiring_seed": 7}
    graph, to = partners(network, 64, "longest-matching")
    distance = networkx.floyd_warshall_numpy(graph, nodelist=sorted(graph))
    longest = distance[linear_sum_assignment(-distance)].sum()
    assert sum(distance[router, to[router]] for router in sorted(graph)) == longest


@pytest.mark.parametrize("q", [4, 5])
def test_two_hops_on_no_router_sends_to_a_neighbour(q: int) -> None:
    graph, to = partners({"family": "slim-fly", "q": q, "p": 2}, 4 * q * q, "two-hop")
    assert {networkx.shortest_path_length(graph, *pair) for pair in enumerate(to)} == {2}


def test_two_hops_on_two_routers_share_each_link() -> None:
    # Paths of two links are unique where q is 5 (the Hoffman-Singleton graph): one link out of each
    # of the 50 routers carries what its four nodes send and what those of the router before send.
    result = loaded(SLIM_FLY, 200, {"pattern": "two-hop", "process": "periodic"}, 0.1)
    links = result.to_pandas("links")
    used = links[(links["kind"] != "terminal") & (links["bytes"] > 0)]
    assert sorted(used["from_router"]) == sorted(used["to_router"]) == list(range(50))
    assert used["utilisation"].to_list() == pytest.approx([8 * 0.1] * 50, rel=0.03)
