"""How many links of a network may fail before it falls apart."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from odonata import Scenario, _engine
from odonata.simulate import ask_engine


@dataclass(frozen=True)
class Extent:
    """How much is looked at.

    Attributes:
        orders: Random orders in which the links of a network fail.
        nodes: Of the largest networks.
    """

    orders: int
    nodes: int


WHOLE, QUICK = Extent(400, 8192), Extent(20, 512)
#: Networks by what Besta and Hoefler 2014 call them and by about how many nodes they have: of each
#: family the balanced one nearest to that number.
PUBLISHED_NETWORKS: Mapping[str, Mapping[int, dict[str, Any]]] = {
    "Slim Fly": {
        nodes: {"family": "slim-fly", "q": q}
        for nodes, q in ((512, 7), (2048, 11), (4096, 13), (8192, 17))
    },
    # DLN: a ring with random shortcuts, with as many links to a router as the Slim Fly.
    "random graph": {
        nodes: {"family": "jellyfish", "routers": routers, "degree": k, "p": 1, "wiring_seed": 1}
        for nodes, routers, k in ((512, 98, 11), (2048, 242, 17), (4096, 338, 19), (8192, 578, 25))
    },
    "dragonfly": {
        nodes: {"family": "dragonfly", "p": p, "a": 2 * p, "h": p}
        for nodes, p in ((1024, 4), (2048, 5), (4096, 6), (8192, 7))
    },
    "fat tree": {
        nodes: {"family": "fat-tree", "radix": radix, "levels": 3}
        for nodes, radix in ((512, 12), (1024, 16), (2048, 20), (4096, 26), (8192, 32))
    },
    "3-D HyperX": {
        nodes: {"family": "hyperx", "size": [side] * 3, "p": 1}
        for nodes, side in ((512, 5), (1024, 6), (2048, 7), (4096, 8))
    },
    "hypercube": {2**n: {"family": "hyperx", "size": [2] * n, "p": 1} for n in (9, 10, 11, 12, 13)},
    "3-D torus": {
        512: {"family": "torus", "size": [8, 8, 8], "p": 1},
        1024: {"family": "torus", "size": [16, 8, 8], "p": 1},
        2048: {"family": "torus", "size": [16, 16, 8], "p": 1},
        4096: {"family": "torus", "size": [16, 16, 16], "p": 1},
        8192: {"family": "torus", "size": [32, 16, 16], "p": 1},
    },
}
#: Besta and Hoefler 2014, table III: percent of the links that can be removed at random before the
#: network is disconnected, in steps of 5.
PUBLISHED: Mapping[str, Mapping[int, int]] = {
    "Slim Fly": {512: 60, 2048: 65, 4096: 70, 8192: 75},
    "random graph": {512: 60, 2048: 65, 4096: 70, 8192: 75},
    "dragonfly": {1024: 50, 2048: 55, 4096: 60, 8192: 65},
    "fat tree": {512: 35, 1024: 40, 2048: 40, 4096: 55, 8192: 60},
    "3-D HyperX": {512: 55, 1024: 60, 2048: 65, 4096: 70},
    "hypercube": {512: 40, 1024: 40, 2048: 40, 4096: 45, 8192: 45},
    "3-D torus": {512: 30, 1024: 25, 2048: 20, 4096: 15, 8192: 10},
}


@dataclass(frozen=True)
class Wiring:
    """The routers of a network and the links between them.

    Attributes:
        routers: How many.
        ends: The two routers of each link. Shape: links × 2.
    """

    routers: int
    ends: npt.NDArray[np.int64]

    def connected_up_to(self, order: npt.NDArray[np.int64]) -> int:
        """Links that may fail before the network falls apart.

        It holds together for as long as the links of a spanning tree do, and longest by the tree
        whose first link fails last: the minimum spanning tree of links that cost the more the
        earlier they fail.

        Args:
            order: Number of each link, as they fail.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import minimum_spanning_tree

        links = len(self.ends)
        cost = np.empty(links, dtype=np.int64)
        cost[order] = np.arange(links, 0, -1)
        # Of parallel links the one that fails last counts; a matrix would add them up.
        pair = self.ends.min(axis=1) * self.routers + self.ends.max(axis=1)
        by_pair = np.lexsort((cost, pair))
        first = by_pair[np.unique(pair[by_pair], return_index=True)[1]]
        matrix = coo_array(
            (cost[first].astype(float), (self.ends[first, 0], self.ends[first, 1])),
            shape=(self.routers, self.routers),
        )
        tree = minimum_spanning_tree(matrix.tocsr())
        if tree.nnz < self.routers - 1:
            return 0
        return links - int(tree.data.max())

    def shares(self, orders: int) -> npt.NDArray[np.float64]:
        """Share of the links that may fail, for each of so many random orders."""
        random = np.random.default_rng(1)
        links = len(self.ends)
        found = [self.connected_up_to(random.permutation(links)) for _ in range(orders)]
        return np.array(found) / links

    def isolated_at(self) -> float:
        """Share of failed links at which half of all networks have a router without a link.

        Links that fail independently with probability f leave a router of k links none with
        probability f^k; of all routers one or more with 1/2 where the sum of these is ln 2, if
        routers were independent (Erdős and Rényi 1960 for random graphs, Burtin 1977 for cubes).
        """
        degrees = np.bincount(self.ends.ravel(), minlength=self.routers)
        low, high = 0.0, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            if (middle**degrees).sum() < math.log(2):
                low = middle
            else:
                high = middle
        return low


def wiring_of(network: Mapping[str, Any]) -> Wiring:
    """The wiring of a network as a scenario has it."""
    described = ask_engine(_engine.topology, Scenario.from_dict({"network": dict(network)}))
    ends = np.stack([described["link_a"], described["link_b"]], axis=1).astype(np.int64)
    return Wiring(int(described["description"]["routers"]), ends)


def connectivity(extent: Extent) -> pd.DataFrame:
    """Percent of the links that may fail, beside what was published.

    Columns: `half`, up to which half of the orders leave a network connected; `most`, up to which
    95 % do; `isolated`, see `Wiring.isolated_at`.
    """
    rows = []
    for family, networks in PUBLISHED_NETWORKS.items():
        for nodes, network in networks.items():
            if nodes > extent.nodes:
                continue
            wiring = wiring_of(network)
            most, half = 100 * np.quantile(wiring.shares(extent.orders), (0.05, 0.5))
            rows.append(
                {
                    "family": family,
                    "nodes": nodes,
                    "routers": wiring.routers,
                    "links": len(wiring.ends),
                    "half": half,
                    "most": most,
                    "isolated": 100 * wiring.isolated_at(),
                    "published": PUBLISHED[family][nodes],
                }
            )
    return pd.DataFrame(rows)
