"""Links and distances of every family, over random parameters, beside graphs of networkx."""

from __future__ import annotations

import itertools
import random
from typing import Any

import networkx as nx
import pytest

from odonata import Scenario, _engine
from odonata.simulate import ask_engine

JOB = {"nodes": 1, "motif": {"kind": "halo3d", "message": "1 kB"}}


def built(network: dict[str, Any]) -> tuple[nx.Graph, dict[str, Any]]:
    """The routers of a network with their links, parallel ones as one, and its description."""
    scenario = Scenario.from_dict({"network": network, "job": [JOB]})
    found = ask_engine(_engine.topology, scenario)
    graph = nx.Graph()
    graph.add_nodes_from(range(found["description"]["routers"]))
    graph.add_edges_from(zip(found["link_a"].tolist(), found["link_b"].tolist(), strict=True))
    nodes = [0] * graph.number_of_nodes()
    for router in found["node_router"].tolist():
        nodes[router] += 1
    nx.set_node_attributes(graph, dict(enumerate(nodes)), "nodes")
    return graph, found["description"]


def check_distances(graph: nx.Graph, described: dict[str, Any]) -> None:
    """Diameter and mean distances are those that networkx finds in the same links."""
    distance = dict(nx.all_pairs_shortest_path_length(graph))
    routers = graph.number_of_nodes()
    assert described["diameter"] == max(max(row.values()) for row in distance.values())
    if routers > 1:
        mean = sum(sum(row.values()) for row in distance.values()) / (routers * (routers - 1))
        assert described["average_distance_routers"] == pytest.approx(mean)
    nodes = nx.get_node_attributes(graph, "nodes")
    count = sum(nodes.values())
    assert described["nodes"] == count
    if count > 1:
        between = sum(
            nodes[a] * nodes[b] * links for a, row in distance.items() for b, links in row.items()
        )
        assert described["average_distance_nodes"] == pytest.approx(between / (count * (count - 1)))


def product(rows: list[nx.Graph]) -> nx.Graph:
    """The Cartesian product, numbered along the first graph first."""
    graph, stride = nx.empty_graph(1), 1
    for row in rows:
        number = {(a, b): a + stride * b for a in range(stride) for b in row}
        graph = nx.relabel_nodes(nx.cartesian_product(graph, row), number)
        stride *= row.number_of_nodes()
    return graph


def edges(graph: nx.Graph) -> set[frozenset[int]]:
    """All links, without those from a router to itself."""
    return {frozenset(edge) for edge in graph.edges if edge[0] != edge[1]}


@pytest.mark.parametrize("seed", range(6))
def test_tori_and_meshes_are_products_of_rings_and_lines(seed: int) -> None:
    draw = random.Random(seed)
    size = [draw.randint(1, 5) for _ in range(draw.randint(1, 4))]
    wrap = [draw.random() < 0.5 for _ in size]
    network = {"family": "torus", "size": size, "wrap": wrap, "p": draw.randint(1, 3)}
    graph, described = built(network)
    rings = zip(size, wrap, strict=True)
    rows = [nx.cycle_graph(n) if ring else nx.path_graph(n) for n, ring in rings]
    assert edges(graph) == edges(product(rows))
    check_distances(graph, described)


@pytest.mark.parametrize("seed", range(6))
def test_hyperx_are_products_of_complete_graphs(seed: int) -> None:
    draw = random.Random(seed)
    size = [draw.randint(1, 5) for _ in range(draw.randint(1, 3))]
    parallel = [draw.randint(1, 2) for _ in size]
    network = {"family": "hyperx", "size": size, "parallel": parallel, "p": draw.randint(1, 3)}
    graph, described = built(network)
    assert edges(graph) == edges(product([nx.complete_graph(n) for n in size]))
    check_distances(graph, described)


@pytest.mark.parametrize("seed", range(6))
def test_fat_trees_are_those_of_their_definition(seed: int) -> None:
    # A switch of level l of an extended generalised fat tree has a number below `down` for each
    # level above l and one below `up` for each up to l; it is linked to those of the next level
    # that differ from it in the number of that level only (Öhring et al. 1995, section 2).
    draw = random.Random(seed)
    levels = draw.randint(2, 3)
    down = [draw.randint(1, 3) for _ in range(levels)]
    up = [draw.randint(1, 3) for _ in range(levels - 1)]
    graph, described = built({"family": "fat-tree", "down": down, "up": up})
    expected = nx.Graph()
    counts = [1, *up]
    for level in range(levels):
        ranges = [range(count) for count in counts[: level + 1] + down[level + 1 :]]
        for place in itertools.product(*ranges):
            expected.add_node((level, place), nodes=down[0] if level == 0 else 0)
    for level, place in list(expected):
        if level + 1 < levels:
            for number in range(counts[level + 1]):
                above = (*place[: level + 1], number, *place[level + 2 :])
                expected.add_edge((level, place), (level + 1, above))
    # Which of the twins above or below is called what does not matter.
    same = nx.is_isomorphic(graph, expected, node_match=lambda a, b: a["nodes"] == b["nodes"])
    assert same, (down, up)
    check_distances(graph, described)


@pytest.mark.parametrize("q", [3, 5, 7, 11, 13])
def test_slim_flies_are_mckay_miller_siran_graphs(q: int) -> None:
    # Graphs of primes, with the generators of Hafner 2004 by any primitive root.
    graph, described = built({"family": "slim-fly", "q": q, "p": 1})

    def expected(root: int) -> nx.Graph:
        power = [pow(root, exponent, q) for exponent in range(q - 1)]
        w = (q + 1) // 4
        if q % 4 == 1:
            own, other = power[0::2], power[1::2]
        else:
            own = power[0 : 2 * w - 1 : 2] + power[2 * w - 1 : 4 * w - 2 : 2]
            other = power[1 : 2 * w : 2] + power[2 * w : 4 * w - 1 : 2]
        graph = nx.empty_graph(2 * q * q)
        for a, b in itertools.product(range(q), repeat=2):
            graph.add_edges_from((a * q + b, a * q + (b + g) % q) for g in own)
            start = q * q + a * q
            graph.add_edges_from((start + b, start + (b + g) % q) for g in other)
            # (1, a, b) and all (0, x, a·x + b).
            graph.add_edges_from((start + b, x * q + (a * x + b) % q) for x in range(q))
        return graph

    roots = [r for r in range(1, q) if len({pow(r, n, q) for n in range(q - 1)}) == q - 1]
    assert edges(graph) in [edges(expected(root)) for root in roots]
    check_distances(graph, described)
    assert described["diameter"] == 2


@pytest.mark.parametrize("seed", range(6))
def test_jellyfish_are_connected_and_regular(seed: int) -> None:
    draw = random.Random(seed)
    routers = draw.randint(4, 40)
    degree = draw.randint(3, min(8, routers - 1))
    network = {"family": "jellyfish", "routers": routers, "degree": degree, "p": draw.randint(1, 3)}
    graph, described = built({**network, "wiring_seed": seed})
    assert nx.is_connected(graph)
    # An odd number of ends leaves one port free.
    assert sorted(dict(graph.degree).values(), reverse=True) == (
        [degree] * (routers - routers * degree % 2) + [degree - 1] * (routers * degree % 2)
    )
    check_distances(graph, described)


@pytest.mark.parametrize("seed", range(6))
def test_dragonflies_are_complete_graphs_of_complete_graphs(seed: int) -> None:
    draw = random.Random(seed)
    p, a, h = draw.randint(1, 3), draw.randint(1, 4), draw.randint(1, 3)
    graph, described = built({"family": "dragonfly", "p": p, "a": a, "h": h})
    groups = a * h + 1
    members = [set(range(group * a, (group + 1) * a)) for group in range(groups)]
    for group in members:
        assert edges(graph.subgraph(group)) == {
            frozenset(pair) for pair in itertools.combinations(group, 2)
        }
    for one, other in itertools.combinations(members, 2):
        assert nx.cut_size(graph, one, other) == 1
    assert {graph.degree[router] for router in graph} == {a - 1 + h}
    check_distances(graph, described)


@pytest.mark.parametrize("seed", range(4))
def test_groups_of_leaves_and_spines_are_complete_bipartite(seed: int) -> None:
    draw = random.Random(seed)
    leaves, spines = draw.randint(1, 4), draw.randint(1, 4)
    p, h = draw.randint(1, 3), draw.randint(1, 3)
    network = {"family": "dragonfly+", "leaves": leaves, "spines": spines, "p": p, "h": h}
    graph, described = built(network)
    size = leaves + spines
    for group in range(spines * h + 1):
        own = graph.subgraph(range(group * size, (group + 1) * size))
        assert nx.is_isomorphic(own, nx.complete_bipartite_graph(leaves, spines))
    check_distances(graph, described)
