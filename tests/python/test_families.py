"""Fat trees, tori, HyperX, Slim Fly and Jellyfish, by way of scenarios."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import odonata
from odonata import Scenario, _engine
from odonata.errors import ScenarioError
from odonata.simulate import ask_engine

HALO = {"nodes": 8, "motif": {"kind": "halo3d", "message": "1 kB"}}


def described(network: dict[str, Any]) -> dict[str, Any]:
    scenario = Scenario.from_dict({"network": network, "job": [HALO]})
    found: dict[str, Any] = ask_engine(_engine.topology, scenario)["description"]
    return found


@pytest.mark.parametrize(
    ("network", "nodes", "routers", "diameter"),
    [
        ({"family": "fat-tree", "radix": 8, "taper": [1, 2]}, 128, 64 + 8, 4),
        ({"family": "fat-tree", "down": [4, 4], "up": [2], "parallel": [2]}, 16, 6, 2),
        ({"family": "torus", "size": [4, 4, 2]}, 32, 32, 5),
        ({"family": "torus", "size": [4, 4], "wrap": [True, False], "p": 2}, 32, 16, 5),
        # Tofu-D: units of 2 × 3 × 2, a ring and two lines, in a torus of three dimensions.
        (
            {
                "family": "torus",
                "size": [4, 3, 4, 2, 3, 2],
                "wrap": [True, True, True, False, True, False],
            },
            *(576, 576, 2 + 1 + 2 + 1 + 1 + 1),
        ),
        ({"family": "hyperx", "size": [4, 3], "p": 2, "parallel": [1, 2]}, 24, 12, 2),
        ({"family": "slim-fly", "q": 5}, 200, 50, 2),
        ({"family": "jellyfish", "routers": 12, "degree": 6, "p": 2}, 24, 12, 2),
    ],
    ids=lambda value: str(value.get("family")) if isinstance(value, dict) else "",
)
def test_numbers_say_what_is_built(
    network: dict[str, Any], nodes: int, routers: int, diameter: int
) -> None:
    found = described(network)
    assert (found["nodes"], found["routers"], found["diameter"]) == (nodes, routers, diameter)


def tree(traffic: dict[str, Any], **routing: str) -> odonata.Result:
    """A tree of full bandwidth, 4 · 4 · 4 nodes, with routers that buffer before they send."""
    link = {"bandwidth": "8 GB/s", "latency": "50 ns", "buffer": "16 KiB"}
    return odonata.run(
        Scenario.from_dict(
            {
                "network": {
                    "family": "fat-tree",
                    "down": [4, 4, 4],
                    "up": [4, 4],
                    "routing": {"algorithm": "up-down", **routing},
                    "links": dict.fromkeys(("terminal", "level1", "level2"), link),
                },
                "simulation": {"duration": "30 us", "warmup": "5 us", "packet": "1 KiB"},
                "job": [{"nodes": 64, "traffic": {"message": "1 KiB", **traffic}}],
            }
        )
    )


def test_a_shift_by_destination_fills_every_link_and_nobody_waits() -> None:
    # D-mod-K (Zahavi 2010): no two flows of a shift share a link, so that all nodes send at
    # their full rate, and every message takes as long as alone: six links of 50 ns, five
    # routers of 50 ns and a flit of 32 B at 8 B/ns each, and 1 KiB at that rate.
    shift = {"pattern": "shift", "offset": 21, "process": "periodic"}
    jobs = tree({**shift, "load": 1.0}, choice="by-destination").to_pandas("jobs")
    alone_ps = 1000 * (6 * 50 + 5 * (50 + 4) + 128)
    assert jobs["message_latency_min_ps"][0] == jobs["message_latency_max_ps"][0] == alone_ps
    assert jobs["accepted_bytes_per_s"][0] == pytest.approx(64 * 8e9, rel=0.01)
    # At random, flows meet on their way up, and some wait.
    mixed = tree({**shift, "load": 0.7}).to_pandas("jobs")
    assert mixed["message_latency_max_ps"][0] > 1.2 * alone_ps


@pytest.mark.parametrize(
    "network",
    [
        {"family": "torus", "size": [4, 4, 2]},
        {"family": "torus", "size": [5, 3], "wrap": [False, True]},
        {"family": "hyperx", "size": [4, 3], "p": 2},
        {"family": "fat-tree", "radix": 6, "nodes": 40},
        {"family": "slim-fly", "q": 3},
    ],
    ids=lambda network: network["family"],
)
def test_default_routing_takes_shortest_paths(network: dict[str, Any]) -> None:
    # Everybody sends one packet to everybody else: the mean length of their routes is the
    # mean distance of nodes, and a router more is passed than links between routers.
    found = described(network)
    motif = {"kind": "all-to-all", "message": "256 B", "window": 4}
    job = {"nodes": found["nodes"], "motif": motif}
    jobs = odonata.run(Scenario.from_dict({"network": network, "job": [job]})).to_pandas("jobs")
    expected = found["average_distance_nodes"] + 1
    assert jobs["mean_routers_visited"][0] == pytest.approx(expected, rel=1e-9)


def share_delivered(
    network: dict[str, Any], nodes: int, offset: int, routing: Any, load: float
) -> float:
    """The share that arrives, where every node sends to the one `offset` further on."""
    link = {"bandwidth": "8 GB/s", "latency": "20 ns", "buffer": "64 KiB"}
    shift = {"pattern": "shift", "offset": offset, "message": "1 KiB", "load": load}
    scenario = Scenario.from_dict(
        {
            "network": {
                **network,
                "routing": routing,
                "links": {"terminal": link, "local": link},
            },
            "simulation": {"duration": "300 us", "warmup": "50 us", "packet": "1 KiB"},
            "job": [{"nodes": nodes, "traffic": shift}],
        }
    )
    accepted: float = odonata.run(scenario).to_pandas("jobs")["accepted_bytes_per_s"][0]
    return accepted / (nodes * 8e9 * load)


#: Nine routers, all joined to each other, of four nodes; all send to the next router's.
ROW = ({"family": "hyperx", "size": [9], "p": 4}, 36, 4)


def test_a_row_under_the_worst_shift_saturates_where_its_links_do() -> None:
    # Minimal routes: four nodes share one link. By way of seven other routers: each link
    # between routers that are no neighbours carries 4/7 of a node's load on first hops and as
    # much on second ones; 8/7 of a load of 7/8 is all it can.
    assert share_delivered(*ROW, "dimension-order", 1.0) == pytest.approx(1 / 4, rel=0.01)
    assert share_delivered(*ROW, "valiant", 1.0) == pytest.approx(7 / 8, rel=0.02)
    assert share_delivered(*ROW, "valiant", 0.83) > 0.98
    # UGAL has the direct link as well: 7/8 + 1/4 is more than all.
    for routing in ("ugal-l", "ugal-g", "dimwar", "dal"):
        assert share_delivered(*ROW, routing, 0.92) > 0.98


@pytest.mark.parametrize(
    "routing", ["valiant", "ugal-l", "ugal-g", {"algorithm": "ugal-l", "paths": "shortest-path"}]
)
def test_detours_use_both_directions_of_a_ring(routing: Any) -> None:
    # Tornado (Singh 2005, section 2.2): seven routers further on a ring of 16, all minimal
    # routes go one way, and a link carries seven of them: 1/7. Each part of a detour by one of
    # the 14 others makes (1 + … + 6 + 8/2) / 14 hops that way and (1 + … + 7 + 8/2) / 14 the
    # other: 1 / (2 · 32/14) = 0.219.
    ring = ({"family": "torus", "size": [16]}, 16, 7)
    assert share_delivered(*ring, "dimension-order", 0.2) < 1.05 / 7 / 0.2
    assert share_delivered(*ring, routing, 0.2) > 0.95


def test_a_fat_tree_and_a_random_graph_have_detours_too() -> None:
    tree = {"family": "fat-tree", "radix": 4}
    graph = {"family": "jellyfish", "routers": 16, "degree": 4, "p": 1}
    for network in (tree, graph):
        links = {"level1": {"bandwidth": "8 GB/s"}, "level2": {"bandwidth": "8 GB/s"}}
        for routing in ("valiant", "ugal-l", "ugal-g"):
            scenario = Scenario.from_dict(
                {
                    "network": {
                        **network,
                        "routing": routing,
                        **({"links": links} if network is tree else {}),
                    },
                    "job": [{"nodes": 16, "motif": {"kind": "all-to-all", "message": "1 kB"}}],
                }
            )
            jobs = odonata.run(scenario).to_pandas("jobs")
            shortest = described(network)["average_distance_nodes"] + 1
            # Valiant takes about twice as many hops; UGAL seldom a detour on an empty network.
            visited = jobs["mean_routers_visited"][0]
            assert (visited > 1.2 * shortest) == (routing == "valiant"), (network, routing)


@pytest.mark.parametrize(
    ("routing", "key", "words"),
    [
        (
            {"algorithm": "par", "paths": "up-down"},
            "paths",
            "minimal, valiant, ugal-l, ugal-g and ecmp",
        ),
        ({"algorithm": "valiant", "via": "group"}, "via", "only routes over groups"),
        ({"algorithm": "ugal-l", "choice": "by-destination"}, "choice", "drawn per packet"),
        ({"algorithm": "minimal", "paths": "groups"}, "algorithm", 'paths = "shortest-path"'),
    ],
    ids=str,
)
def test_flaws_of_routing_are_told(routing: dict[str, Any], key: str, words: str) -> None:
    network = {"family": "fat-tree", "radix": 4, "routing": routing}
    with pytest.raises(ScenarioError) as error:
        odonata.run(Scenario.from_dict({"network": network, "job": [HALO]}))
    assert f"network.routing.{key}" in str(error.value)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("network", "key", "words"),
    [
        ({"family": "fat-tree"}, "network.down", "there is no `radix`"),
        ({"family": "fat-tree", "radix": 8, "down": [4, 4]}, "network.down", "`radix` is given"),
        ({"family": "fat-tree", "radix": 8, "up": [4]}, "network.up", "`down`"),
        ({"family": "fat-tree", "down": [4, 4]}, "network.up", "more than one level"),
        ({"family": "fat-tree", "radix": 7}, "network.radix", "even number"),
        ({"family": "fat-tree", "radix": 8, "nodes": 10**4}, "network.nodes", "at most 512"),
        ({"family": "fat-tree", "radix": 8, "taper": [1, 3]}, "network.taper", "possible: 1, 2, 4"),
        ({"family": "torus", "size": []}, "network.size", "at least 1"),
        ({"family": "torus", "size": [4, 4], "wrap": [True]}, "network.wrap", "one for each"),
        (
            {"family": "hyperx", "size": [4], "p": 1, "parallel": [1, 1]},
            "network.parallel",
            "1 dim",
        ),
        ({"family": "slim-fly", "q": 6}, "network.q", "5 and 7"),
        ({"family": "jellyfish", "routers": 4, "degree": 4, "p": 1}, "network.degree", "at most 3"),
    ],
    ids=str,
)
def test_flaws_are_told(network: dict[str, Any], key: str, words: str) -> None:
    with pytest.raises(ScenarioError) as error:
        described(network)
    assert key in str(error.value)
    assert words in str(error.value)


def test_groups_are_pods(tmp_path: Path) -> None:
    network = {"family": "fat-tree", "radix": 8, "nodes": 64}
    scenario = Scenario.from_dict(
        {
            "network": network,
            "job": [{**HALO, "nodes": 24, "placement": "random-group"}],
        }
    )
    nodes = odonata.run(scenario).to_pandas("placement")["node"]
    # Pods of 16 nodes: all of one and half of another.
    assert sorted(nodes.floordiv(16).value_counts()) == [8, 16]


def test_other_routing_than_by_tables_has_no_choice_by_destination() -> None:
    network = {"family": "dragonfly", "p": 2, "a": 4, "h": 2}
    network["routing"] = {"algorithm": "minimal", "choice": "by-destination"}  # type: ignore[assignment]
    with pytest.raises(ScenarioError, match=r"network\.routing\.choice"):
        odonata.run(Scenario.from_dict({"network": network, "job": [HALO]}))
