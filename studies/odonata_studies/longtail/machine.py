"""A dragonfly+ as Marconi100's, as far as the paper tells; the rest is assumed, and said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Nodes of the machine (3.1), and islands of a dragonfly+ among which they are (3.2).
NODES, ISLANDS = 980, 4
#: Nodes at a leaf switch at most (4.1): a group in the paper's words.
LEAF_NODES = 20
#: Leaf switches that 245 nodes need.
LEAVES = 13
#: Assumed: spine switches, each joined to every leaf. With EDR switches of 36 ports a leaf of 20
#: nodes has 16 ports left.
SPINES = 16
#: Assumed: links of a spine to other islands, two to each. An island of 13 · 16 links from leaves
#: to spines has then 96 to others, a taper of about 2 to 1.
GLOBAL_LINKS = 6
#: Places for nodes in an island; the last ones of each are empty.
PLACES = LEAVES * LEAF_NODES

#: Places of the probe in each scenario of section 4.1, by its name there.
SAME_GROUP, SAME_ISLAND, DIFFERENT_ISLANDS = "same group", "same island", "different islands"
SCENARIOS = (SAME_GROUP, SAME_ISLAND, DIFFERENT_ISLANDS)


def nodes() -> list[int]:
    """The nodes that there are, as numbers of the simulated network."""
    per_island = NODES // ISLANDS
    return [island * PLACES + place for island in range(ISLANDS) for place in range(per_island)]


def island_of(node: int) -> int:
    """Island of a node."""
    return node // PLACES


def leaf_of(node: int) -> int:
    """Leaf switch of a node, numbered through all islands; the paper's group."""
    return node // LEAF_NODES


def name_of(node: int) -> str:
    """Name of a node, as a cluster's queue would tell it."""
    return f"n{node}"


def probe_nodes(scenario: str) -> list[int]:
    """The 16 nodes of the probe, which no other job ever gets.

    All at one leaf; on the leaves of one island in turn; or four leaves of each island, one node
    each ("four nodes are allocated on each island in different groups", 4.1).
    """
    if scenario == SAME_GROUP:
        return list(range(2 * PLACES, 2 * PLACES + 16))
    if scenario == SAME_ISLAND:
        # The last leaf has five nodes only; twelve full ones, four of them with two.
        return sorted(
            PLACES + leaf * LEAF_NODES + 1 + turn
            for turn, count in ((0, 12), (1, 4))
            for leaf in range(count)
        )
    return [
        island * PLACES + (3 * leaf + 1) * LEAF_NODES for island in range(4) for leaf in range(4)
    ]


def reserved() -> frozenset[int]:
    """Nodes of the probe in any of the scenarios."""
    return frozenset(node for scenario in SCENARIOS for node in probe_nodes(scenario))


def network(routing: str | Mapping[str, Any], global_links: int = GLOBAL_LINKS) -> dict[str, Any]:
    """The network of a scenario."""
    # Assumed: 64 KiB of buffer for each input and virtual channel.
    edr = {"bandwidth": "12.5 GB/s", "buffer": "64 KiB"}
    return {
        "family": "dragonfly+",
        "leaves": LEAVES,
        "spines": SPINES,
        "p": LEAF_NODES,
        "h": global_links,
        "g": ISLANDS,
        "routing": routing,
        # Lengths of cables as assumed for Leonardo, the same centre's next dragonfly+
        # (examples/machines/leonardo.toml); 90 ns is what NVIDIA names for an EDR switch.
        "links": {
            "terminal": {**edr, "latency": "20 ns"},
            "local": {**edr, "latency": "25 ns"},
            "global": {**edr, "latency": "150 ns"},
        },
        "router": {"delay": "90 ns"},
    }


def mpi(combine: str = "11 GB/s", library: str = "open-mpi") -> dict[str, Any]:
    """How ranks send: Spectrum MPI is made from Open MPI; costs as measured on Leonardo."""
    return {
        "eager_limit": "8 KiB",
        "send_overhead": "155 ns",
        "receive_overhead": "155 ns",
        "send_delay": "704 ns",
        "collectives": {"library": library, "combine_bandwidth": combine},
    }
