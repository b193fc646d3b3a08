"""Where families of networks saturate, beside their bounds: behind docs/family-saturation.md.

    .venv/bin/python docs/studies/family_saturation.py    # minutes; writes family_saturation.csv

Saturation is the load up to which 98 % of what is offered arrives, to 1 % of the bound.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from odonata import Scenario, _engine, run
from odonata.simulate import ask_engine

HERE = Path(__file__).parent
UNIFORM = {"pattern": "uniform-or-self"}
TREE = {"family": "fat-tree", "radix": 8}
BUTTERFLY = {"family": "hyperx", "size": [8, 8], "p": 8}
DRAGONFLY = {"family": "dragonfly", "p": 2, "a": 4, "h": 2}
JELLYFISH = {"family": "jellyfish", "routers": 64, "degree": 8, "p": 4}


def shift(offset: int) -> dict[str, Any]:
    """Every node sends to the one `offset` further on."""
    return {"pattern": "shift", "offset": offset}


def equal_split_bound(network: dict[str, Any]) -> float:
    """The load at which the fullest link is full, under uniform traffic over shortest paths.

    Every router sends equal parts over all its links that lead to a router nearer to the
    destination, as `shortest-path` does at random.
    """
    found = ask_engine(_engine.topology, scenario(network, 1, UNIFORM, 1.0))
    links = list(zip(found["link_a"].tolist(), found["link_b"].tolist(), strict=True))
    routers = found["description"]["routers"]
    peers: list[list[int]] = [[] for _ in range(routers)]
    for a, b in links:
        peers[a].append(b)
        peers[b].append(a)
    nodes = found["description"]["nodes"] / routers
    carried: dict[tuple[int, int], float] = {}
    for to in range(routers):
        distance = {to: 0}
        order = [to]
        for at in order:
            for peer in peers[at]:
                if peer not in distance:
                    distance[peer] = distance[at] + 1
                    order.append(peer)
        # What of the traffic for this router is at each router.
        there = dict.fromkeys(order, nodes / routers)
        for at in reversed(order[1:]):
            nearer = [peer for peer in peers[at] if distance[peer] < distance[at]]
            for peer in nearer:
                part = there[at] / len(nearer)
                there[peer] += part
                carried[at, peer] = carried.get((at, peer), 0.0) + part
    return 1 / max(carried.values())


#: Name, network, nodes, traffic, routing, bound (`None`: by equal split), where it is from.
CASES: list[tuple[str, dict[str, Any], int, dict[str, Any], str, float | None, str]] = [
    ("torus 8 x 8, uniform", {"family": "torus", "size": [8, 8]}, 64, UNIFORM, "dimension-order",
     1.0, "8/k: Dally and Towles 2004, 3.3.1"),
    ("mesh 8 x 8, uniform", {"family": "torus", "size": [8, 8], "wrap": [False, False]}, 64,
     UNIFORM, "dimension-order", 0.5, "4/k: the same"),
    ("ring of 8, tornado", {"family": "torus", "size": [8]}, 8, shift(3), "dimension-order",
     1 / 3, "1/(k/2 - 1): the same"),
    ("ring of 8, tornado, Valiant", {"family": "torus", "size": [8]}, 8, shift(3), "valiant",
     6 / 16, "2·(1 + 2 + 3 + 4/2)/6 hops the longer way round: Singh 2005, 2.2"),
    ("fat tree of 128, shift by a leaf", TREE, 128, shift(4), "up-down", 1.0, "Leiserson 1985"),
    ("flattened butterfly 8 x 8, uniform", BUTTERFLY, 512, UNIFORM, "dimension-order", 1.0,
     "p/S: Kim, Dally and Abts 2007"),
    ("flattened butterfly 8 x 8, worst shift", BUTTERFLY, 512, shift(8), "dimension-order", 1 / 8,
     "1/p: the same"),
    ("slim fly q = 5, uniform", {"family": "slim-fly", "q": 5, "p": 4}, 200, UNIFORM,
     "shortest-path", 350 / 364, "Besta and Hoefler 2014"),
    ("jellyfish 64 of degree 8, uniform", JELLYFISH, 256, UNIFORM, "shortest-path", None,
     "its fullest link"),
    ("dragonfly of 72, worst shift", DRAGONFLY, 72, shift(8), "minimal", 1 / 8,
     "1/(a·p): Kim et al. 2008"),
]  # fmt: skip


def scenario(network: dict[str, Any], nodes: int, traffic: dict[str, Any], load: float) -> Scenario:
    """Links between routers with half the bandwidth of a node's, so that they give way."""
    terminal = {"bandwidth": "16 GB/s", "latency": "20 ns", "buffer": "64 KiB"}
    between = {
        "fat-tree": ["level1", "level2"],
        "slim-fly": ["local", "global"],
        "dragonfly": ["local", "global"],
    }.get(network["family"], ["local"])
    links = {name: {**terminal, "bandwidth": "8 GB/s"} for name in between}
    return Scenario.from_dict(
        {
            "network": {**network, "links": {"terminal": terminal, **links}},
            "simulation": {"duration": "200 us", "warmup": "80 us", "packet": "256 B"},
            "job": [{"nodes": nodes, "traffic": {**traffic, "message": "256 B", "load": load / 2}}],
        }
    )


def main() -> None:
    """Runs them all and writes the table."""
    rows = []
    for name, network, nodes, traffic, routing, known, source in CASES:
        bound = known if known is not None else equal_split_bound(network)
        routed = {**network, "routing": routing}

        def arrives(
            share: float, routed: Any = routed, case: Any = (nodes, traffic, bound)
        ) -> bool:
            nodes, traffic, bound = case
            load = share * bound
            job = run(scenario(routed, nodes, traffic, load)).to_pandas("jobs").iloc[0]
            return bool(job["accepted_bytes_per_s"] >= 0.98 * nodes * 8e9 * load)

        low, high = 80, 120
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if arrives(middle / 100) else (low, middle)
        row = {
            "case": name,
            "routing": routing,
            "bound": f"{bound:.4f}",
            "bound_from": source,
            "saturation": f"{low / 100 * bound:.4f}",
            "of_bound": f"{low / 100:.2f}",
        }
        print(row, flush=True)
        rows.append(row)
    with (HERE / "family_saturation.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
