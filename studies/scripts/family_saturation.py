"""Where families of networks saturate, beside their bounds: behind pages/family-saturation.md.

    .venv/bin/python studies/scripts/family_saturation.py    # minutes; writes family_saturation.csv

Saturation is the load up to which 98 % of what is offered arrives, to 1 % of the bound. Where the
bound is that of the fullest link, beside it stands from which load that is busy 98 % of the time.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scipy.optimize import linprog
from scipy.sparse import lil_matrix

from odonata import Scenario, _engine, run
from odonata.simulate import ask_engine
from odonata_studies.rows import write_rows

#: Two routers.
Pair = tuple[int, int]

DATA = Path(__file__).resolve().parents[1] / "data"
UNIFORM = {"pattern": "uniform-or-self"}
TREE = {"family": "fat-tree", "radix": 8}
OFF_LEAF = "Leiserson 1985; one in 32 messages stays on its leaf"
BY_LOAD = {"algorithm": "up-down", "choice": "by-load"}
BUTTERFLY = {"family": "hyperx", "size": [8, 8], "p": 8}
DRAGONFLY = {"family": "dragonfly", "p": 2, "a": 4, "h": 2}
TORUS = {"family": "torus", "size": [8, 8]}
MESH = {**TORUS, "wrap": [False, False]}
HYPERX = {"family": "hyperx", "size": [4, 4], "p": 4}
SLIM_FLY = {"family": "slim-fly", "q": 5, "p": 4}
TRANSPOSE = {"pattern": "transpose"}
JELLYFISH = {"family": "jellyfish", "routers": 64, "degree": 8, "p": 4}


def shift(offset: int) -> dict[str, Any]:
    """Every node sends to the one `offset` further on."""
    return {"pattern": "shift", "offset": offset}


def routers_of(network: dict[str, Any]) -> tuple[list[list[int]], list[int]]:
    """The routers that each router is linked to, and the router of each node."""
    found = ask_engine(_engine.topology, scenario(network, 1, UNIFORM, 1.0))
    peers: list[list[int]] = [[] for _ in range(found["description"]["routers"])]
    for a, b in zip(found["link_a"].tolist(), found["link_b"].tolist(), strict=True):
        peers[a].append(b)
        peers[b].append(a)
    return peers, found["node_router"].tolist()


def demands(network: dict[str, Any], nodes: int, traffic: dict[str, Any]) -> dict[Pair, float]:
    """What the nodes of a router send to those of another in all, each node 1."""
    _, router = routers_of(network)
    sent: dict[Pair, float] = {}
    if traffic == UNIFORM:
        pairs = [(a, b, 1 / nodes) for a in range(nodes) for b in range(nodes)]
    else:
        recorded = scenario(network, nodes, traffic, 0.1).to_dict()
        recorded["simulation"].update(duration="20 us", warmup="0 s")
        recorded["record"] = {"messages": "all"}
        table = run(Scenario.from_dict(recorded)).to_pandas("messages")
        partners = set(zip(table["source_node"], table["destination_node"], strict=True))
        pairs = [(a, b, 1.0) for a, b in partners]
    for a, b, part in pairs:
        ends = router[a], router[b]
        if ends[0] != ends[1]:
            sent[ends] = sent.get(ends, 0.0) + part
    return sent


def distances(peers: list[list[int]], to: int) -> dict[int, int]:
    """Links from every router to one, nearest first."""
    distance = {to: 0}
    for at in (order := [to]):
        for peer in peers[at]:
            if peer not in distance:
                distance[peer] = distance[at] + 1
                order.append(peer)
    return distance


def equal_split_bound(network: dict[str, Any], nodes: int, traffic: dict[str, Any]) -> float:
    """The load at which the fullest link is full over shortest paths drawn hop by hop.

    Every router sends equal parts over all its links that lead to a router nearer to the
    destination, as `shortest-path` does at random.
    """
    peers, _ = routers_of(network)
    sent = demands(network, nodes, traffic)
    carried: dict[Pair, float] = {}
    for to in {to for _, to in sent}:
        distance = distances(peers, to)
        # What of the traffic for this router is at each router.
        there = {at: sent.get((at, to), 0.0) for at in distance}
        for at in reversed(list(distance)[1:]):
            nearer = [peer for peer in peers[at] if distance[peer] < distance[at]]
            for peer in nearer:
                part = there[at] / len(nearer)
                there[peer] += part
                carried[at, peer] = carried.get((at, peer), 0.0) + part
    # Links in parallel are several in `peers` as well.
    links = {pair: peers[pair[0]].count(pair[1]) for pair in carried}
    return min(links[pair] / part for pair, part in carried.items() if part > 0)


def in_order_bound(network: dict[str, Any], nodes: int, traffic: dict[str, Any]) -> float:
    """The load at which the fullest link of a torus or mesh is full in dimension order."""
    size, wrap = network["size"], network.get("wrap", [True] * len(network["size"]))
    carried: dict[Pair, float] = {}
    for (at, to), part in demands(network, nodes, traffic).items():
        stride = 1
        for length, ring in zip(size, wrap, strict=True):
            ahead = (to // stride - at // stride) % length
            here = at // stride % length
            if not ring:
                ways = [(1, ahead)] if here + ahead < length else [(-1, length - ahead)]
            elif 2 * ahead == length:
                ways = [(1, ahead), (-1, ahead)]
            else:
                ways = [(1, ahead) if 2 * ahead < length else (-1, length - ahead)]
            for step, hops in ways:
                for hop in range(hops):
                    one = at + ((here + step * hop) % length - here) * stride
                    two = at + ((here + step * (hop + 1)) % length - here) * stride
                    carried[one, two] = carried.get((one, two), 0.0) + part / len(ways)
            at += ((here + ahead) % length - here) * stride
            stride *= length
    return 1 / max(carried.values())


def minimal_bound(network: dict[str, Any], nodes: int, traffic: dict[str, Any]) -> float:
    """The largest load that any choice of shortest paths can carry: a linear program.

    Maximum concurrent flow: for every destination a flow on each link that leads nearer to it.
    """
    peers, _ = routers_of(network)
    sent = demands(network, nodes, traffic)
    # Column 0 is the load; then a column for each destination and link.
    rows: list[dict[int, float]] = []
    links: dict[Pair, list[int]] = {}
    columns = 1
    for to in sorted({to for _, to in sent}):
        distance = distances(peers, to)
        kept: dict[int, dict[int, float]] = {}
        for at in distance:
            if at != to:
                kept.setdefault(at, {})[0] = -sent.get((at, to), 0.0)
            for peer in {peer for peer in peers[at] if distance[peer] < distance[at]}:
                links.setdefault((at, peer), []).append(columns)
                kept.setdefault(at, {})[columns] = 1.0
                if peer != to:
                    kept.setdefault(peer, {})[columns] = -1.0
                columns += 1
        rows += kept.values()
    flows = lil_matrix((len(rows), columns))
    for number, row in enumerate(rows):
        for column, factor in row.items():
            flows[number, column] = factor
    capacities = lil_matrix((len(links), columns))
    for number, used in enumerate(links.values()):
        capacities[number, used] = 1.0
    room = [peers[a].count(b) for a, b in links]
    objective = [-1.0] + [0.0] * (columns - 1)
    found = linprog(
        objective, capacities.tocsr(), room, flows.tocsr(), [0.0] * len(rows), method="highs"
    )
    return float(-found.fun)


#: Where a bound comes from that is no number.
FULLEST = "its fullest link"
IN_ORDER = "its fullest link, in dimension order"
PROGRAM = "the best choice of shortest paths, by a linear program"

#: Name, network, nodes, traffic, routing, bound (`None`: worked out), where it is from.
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
    ("fat tree of 128, uniform", TREE, 128, UNIFORM, "up-down", 32 / 31, OFF_LEAF),
    ("fat tree of 128, uniform, by load", TREE, 128, UNIFORM, BY_LOAD, 32 / 31, OFF_LEAF),
    ("flattened butterfly 8 x 8, uniform", BUTTERFLY, 512, UNIFORM, "dimension-order", 1.0,
     "p/S: Kim, Dally and Abts 2007"),
    ("flattened butterfly 8 x 8, worst shift", BUTTERFLY, 512, shift(8), "dimension-order", 1 / 8,
     "1/p: the same"),
    ("slim fly q = 5, uniform", {"family": "slim-fly", "q": 5, "p": 4}, 200, UNIFORM,
     "shortest-path", 350 / 364, "Besta and Hoefler 2014"),
    ("jellyfish 64 of degree 8, uniform", JELLYFISH, 256, UNIFORM, "shortest-path", None,
     FULLEST),
    ("dragonfly of 72, worst shift", DRAGONFLY, 72, shift(8), "minimal", 1 / 8,
     "1/(a·p): Kim et al. 2008"),
    *[(f"{kind} 8 x 8, {name}", network, 64, traffic, routing, None, source)
      for kind, network in (("torus", TORUS), ("mesh", MESH))
      for name, traffic in (("uniform", UNIFORM), ("tornado", shift(3)), ("transpose", TRANSPOSE))
      for routing, source in (("dimension-order", IN_ORDER), ("minimal-adaptive", PROGRAM))
      if (kind, name, routing) not in {(kind, "uniform", "dimension-order")}],
    ("hyperx 4 x 4, transpose", HYPERX, 64, TRANSPOSE, "minimal-adaptive", None, PROGRAM),
    ("slim fly q = 5, two hops on", SLIM_FLY, 200, {"pattern": "two-hop"}, "shortest-path", 1 / 8,
     "1/(2·p), see below"),
    ("slim fly q = 5, longest matching", SLIM_FLY, 200, {"pattern": "longest-matching"},
     "shortest-path", None, FULLEST),
    ("jellyfish 64 of degree 8, longest matching", JELLYFISH, 256,
     {"pattern": "longest-matching"}, "shortest-path", None, FULLEST),
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


def senders(nodes: int, traffic: dict[str, Any]) -> int:
    """Nodes that send: under a transpose not those on the diagonal."""
    return nodes - math.isqrt(nodes) if traffic == TRANSPOSE else nodes


def last_of_percents(holds: Callable[[float], bool]) -> int:
    """The largest share of 40 to 130 per cent at which something holds that ends with load."""
    low, high = 40, 131
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle / 100) else (low, middle)
    return low


def main(words: list[str]) -> None:
    """Runs all cases and writes the table, or those with one of these words in their name."""
    rows = []
    for name, network, nodes, traffic, routing, known, source in CASES:
        if words and not any(word in name for word in words):
            continue
        work_out = {FULLEST: equal_split_bound, IN_ORDER: in_order_bound, PROGRAM: minimal_bound}
        bound = known if known is not None else work_out[source](network, nodes, traffic)
        routed = {**network, "routing": routing}

        def measured(
            share: float, routed: Any = routed, case: Any = (nodes, traffic, bound)
        ) -> tuple[float, float]:
            nodes, traffic, bound = case
            load = share * bound
            result = run(scenario(routed, nodes, traffic, load))
            accepted = result.to_pandas("jobs")["accepted_bytes_per_s"][0]
            links = result.to_pandas("links")
            between = links[links["kind"] != "terminal"]
            return (
                float(accepted / (senders(nodes, traffic) * 8e9 * load)),
                float(between["utilisation"].max()),
            )

        low = last_of_percents(lambda share, measured=measured: measured(share)[0] >= 0.98)
        row = {
            "case": name,
            "routing": routing if isinstance(routing, str) else routing["algorithm"],
            "bound": f"{bound:.4f}",
            "bound_from": source,
            "saturation": f"{low / 100 * bound:.4f}",
            "of_bound": f"{low / 100:.2f}",
            "fullest_link_full_at": "",
        }
        if source in (FULLEST, IN_ORDER):
            full = last_of_percents(lambda share, measured=measured: measured(share)[1] < 0.98) + 1
            row["fullest_link_full_at"] = f"{full / 100:.2f}"
        print(row, flush=True)
        rows.append(row)
    if not words:
        write_rows(DATA / "family_saturation.csv", rows)


if __name__ == "__main__":
    main(sys.argv[1:])
