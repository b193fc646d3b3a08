"""Small random scenarios over everything that a scenario can say, the same in every run."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import odonata._engine as _engine
from odonata import Scenario

#: Every family that needs no data from outside, dragonflies in both forms.
FAMILIES = (
    "dragonfly",
    "cray-xc",
    "dragonfly+",
    "crossbar",
    "edge-list",
    "graphml",
    "reconfigurable-dragonfly",
    "fat-tree",
    "torus",
)
GROUPED_ROUTINGS = ("minimal", "valiant", "ugal-l", "ugal-g", "par")
ALL_TO_ALL_ROUTINGS = (*GROUPED_ROUTINGS, "q-adaptive")
LEAF_SPINE_ROUTINGS = ("fpar", *GROUPED_ROUTINGS)


def scenarios(count: int, directory: Path, seed: int = 8) -> Iterator[dict[str, Any]]:
    """Scenarios as nested dicts; families and routings take turns, the rest is drawn.

    Args:
        count: How many.
        directory: Gets the wiring files that some of them read.
        seed: Of all draws.
    """
    draw = random.Random(seed)
    for number in range(count):
        family = FAMILIES[number % len(FAMILIES)]
        network, nodes = network_of(family, number, directory, draw)
        jobs = _jobs(nodes, family not in ("crossbar", "torus"), draw)
        yield {
            "title": f"random scenario {number}",
            "seed": draw.randrange(2**40),
            "network": network,
            "simulation": _simulation(len(jobs) == 1, draw),
            "record": {"messages": draw.choice(["none", "all", 3])},
            "job": jobs,
        }


def network_of(
    family: str, number: int, directory: Path, draw: random.Random
) -> tuple[dict[str, Any], int]:
    """A small network of a family and how many nodes it has."""
    dragonfly, nodes = _dragonfly(family == "cray-xc", draw)
    routings = {"dragonfly": ALL_TO_ALL_ROUTINGS, "dragonfly+": LEAF_SPINE_ROUTINGS}.get(
        family, GROUPED_ROUTINGS
    )
    # Turn by turn with the families, so that all pairs come up.
    routing: dict[str, Any] = {"algorithm": routings[number // len(FAMILIES) % len(routings)]}
    if routing["algorithm"] == "fpar":
        routing["threshold"] = draw.choice([0, 0.25, 0.5, 1.0])
    elif routing["algorithm"] == "q-adaptive":
        routing["exploration"] = draw.choice([0, 0.01, 0.2])
    elif routing["algorithm"] != "minimal":
        routing["via"] = draw.choice(["group", "router", "node"])
        if routing["algorithm"] != "valiant":
            routing["candidates"] = draw.randint(1, 3)
            routing["threshold"] = draw.choice(["0 B", "512 B", "4 KiB"])
    network: dict[str, Any]
    if family == "crossbar":
        nodes = draw.randint(2, 40)
        network = {"family": "crossbar", "nodes": nodes, "links": {"terminal": _link(draw, 20)}}
    elif family == "fat-tree":
        network, nodes = _fat_tree(draw)
        network["links"] = {name: _link(draw, 100) for name in ("terminal", "level1")}
    elif family == "torus":
        size, p = draw.choice([([4, 3], 1), ([3, 2, 2], 2), ([5], 2)])
        nodes = p * math.prod(size)
        network = {"family": "torus", "size": size, "p": p}
        network["wrap"] = [draw.choice([True, False]) for _ in size]
        network["routing"] = draw.choice(["dimension-order", "shortest-path", "up-down"])
        network["links"] = {name: _link(draw, 40) for name in ("terminal", "local", "dim1")}
    elif family == "dragonfly+":
        network, nodes = _dragonfly_plus(draw)
        network["routing"] = routing
        network["links"] = {"terminal": _link(draw, 20)}
        network["links"] |= {kind: _link(draw, 400) for kind in ("local", "global")}
    elif family == "reconfigurable-dragonfly":
        network, nodes = _reconfigurable(draw)
        network["links"] = {"terminal": _link(draw, 20)}
        network["links"] |= {kind: _link(draw, 400) for kind in ("local", "global")}
    elif family in ("edge-list", "graphml"):
        file = directory / f"{number}.{family}"
        spec = Scenario.from_dict({"network": dragonfly}).normalised_json()
        file.write_text(_engine.export(spec, family))
        links = {kind: _link(draw, 400) for kind in ("terminal", "local", "global")}
        network = {"family": family, "file": str(file), "links": links}
        network["routing"] = draw.choice([routing, "shortest-path"])
    else:
        network = {**dragonfly, "routing": routing}
        kinds = ("green", "black", "global") if family == "cray-xc" else ("local", "global")
        network["links"] = {"terminal": _link(draw, 20)} | {k: _link(draw, 400) for k in kinds}
    network["router"] = _router(draw)
    network["nic"] = {"injection": draw.choice(["round-robin", "fifo"])}
    return network, nodes


def _dragonfly(grid: bool, draw: random.Random) -> tuple[dict[str, Any], int]:
    p, a, h = draw.choice([(1, 4, 1), (2, 4, 2), (3, 2, 2), (2, 6, 1)])
    g = draw.randint(3, a * h + 1)
    network: dict[str, Any] = {"family": "dragonfly", "p": p, "a": a, "h": h, "g": g}
    network["arrangement"] = draw.choice(["absolute", "relative", "circulant"])
    if grid:
        network |= {"group": "cray-xc", "rows": 2, "columns": a // 2}
        network |= {"row_links": draw.randint(1, 2), "column_links": draw.randint(1, 2)}
    return network, p * a * g


def _reconfigurable(draw: random.Random) -> tuple[dict[str, Any], int]:
    p, a, h, g = draw.choice([(1, 4, 1, 5), (2, 4, 2, 4), (3, 2, 2, 7), (2, 6, 1, 9)])
    network: dict[str, Any] = {"family": "reconfigurable-dragonfly", "p": p, "a": a, "h": h, "g": g}
    network["links_per_switch"] = draw.choice([1, 2])
    network["routing"] = {
        "algorithm": "tago",
        "minimal_links": draw.choice(["all", "shortest"]),
        "choice": draw.choice(["random", "by-load"]),
        "detours_in_group": draw.choice([True, False]),
    }
    return network, p * a * g


def _dragonfly_plus(draw: random.Random) -> tuple[dict[str, Any], int]:
    leaves, spines, p, h, g = draw.choice(
        [(2, 2, 2, 4, 5), (3, 4, 1, 2, 5), (4, 2, 1, 3, 7), (1, 3, 4, 2, 7), (2, 3, 3, 4, 5)]
    )
    numbers = {"leaves": leaves, "spines": spines, "p": p, "h": h, "g": g}
    arrangement = draw.choice(["balanced", "unbalanced"])
    return {"family": "dragonfly+", **numbers, "arrangement": arrangement}, leaves * p * g


def _fat_tree(draw: random.Random) -> tuple[dict[str, Any], int]:
    nodes = draw.randint(10, 30)
    network: dict[str, Any] = {"family": "fat-tree", "radix": draw.choice([6, 8]), "nodes": nodes}
    network["routing"] = {
        "algorithm": "up-down",
        "choice": draw.choice(["random", "by-load", "by-destination"]),
        "per": draw.choice(["packet", "message"]),
    }
    return network, nodes


def _link(draw: random.Random, latency_ns: int) -> dict[str, Any]:
    return {
        "bandwidth": draw.choice(["4 GB/s", "10 GB/s", "25 GB/s"]),
        "latency": f"{latency_ns + draw.randrange(latency_ns)} ns",
        "buffer": draw.choice(["8 KiB", "64 KiB"]),
    }


def _router(draw: random.Random) -> dict[str, Any]:
    router: dict[str, Any] = {
        "delay": draw.choice(["0 ns", "40 ns"]),
        "credit_delay": draw.choice(["0 ns", "3 ns"]),
        "switching": draw.choice(["cut-through", "store-and-forward"]),
        "arbitration": draw.choice(["round-robin", "oldest-first"]),
        "crossbar": draw.choice(["ideal", 1.0, 2.0]),
    }
    if router["crossbar"] != "ideal":
        router["output_buffer"] = draw.choice(["4 KiB", "16 KiB"])
        router["credit_use"] = draw.choice(["link", "crossbar"])
        router["occupancy"] = draw.choice(["buffered", "requests"])
    return router


def _simulation(traffic_only: bool, draw: random.Random) -> dict[str, Any]:
    simulation: dict[str, Any] = {
        "packet": draw.choice(["256 B", "1 KiB", "4 KiB"]),
        "duration": f"{draw.randint(8, 16)} us",
        "warmup": draw.choice(["0 ns", "3 us", "auto"]),
    }
    if draw.random() < 0.3:
        simulation["timeline_bin"] = "777 ns"
    if traffic_only and draw.random() < 0.5:
        simulation["precision"] = draw.choice(["5 %", "50 %"])
    return simulation


def _jobs(nodes: int, grouped: bool, draw: random.Random) -> list[dict[str, Any]]:
    """One or two jobs on the nodes, traffic first so that every run has some."""
    first = nodes if draw.random() < 0.5 else max(nodes // 2, 2)
    placed = _placed(first, draw)
    ranks = placed["nodes"] * placed["ranks_per_node"]
    jobs = [{**placed, "traffic": _traffic(ranks, grouped, draw)}]
    if nodes - first >= 2:
        jobs.append({**_placed(nodes - first, draw), "motif": _motif(draw)})
    return jobs


def _placed(nodes: int, draw: random.Random) -> dict[str, Any]:
    return {
        "nodes": nodes,
        "ranks_per_node": draw.randint(1, 2),
        "placement": draw.choice(["contiguous", "spread", "random-node"]),
        "mapping": draw.choice(["linear", "random"]),
        "start": draw.choice(["0 ns", "2 us"]),
    }


def _traffic(ranks: int, grouped: bool, draw: random.Random) -> dict[str, Any]:
    patterns = ["uniform-random", "uniform-or-self", "permutation", "tornado", "bisection"]
    patterns += ["bisection-pairs", "neighbour", "shift", "stencil", "hot-spot"]
    if grouped:
        patterns += ["adversarial", "group-shift", "group-tornado"]
    pattern = draw.choice(patterns)
    traffic: dict[str, Any] = {
        "pattern": pattern,
        "message": draw.choice(["100 B", "1 KiB", "9 KiB"]),
        "process": draw.choice(["poisson", "periodic", "bernoulli"]),
        "load": draw.choice([0.05, 0.3, 0.6, 0.9, 1.4]),
    }
    if traffic["process"] == "bernoulli":
        # One message per slot at most.
        traffic["load"] = min(traffic["load"], 0.9)
    if pattern == "stencil":
        traffic["grid"] = [ranks]
    if pattern == "shift":
        traffic["offset"] = 1
    if pattern == "hot-spot":
        traffic |= {"hot_ranks": [0, 1], "fraction": 0.3}
    return traffic


def _motif(draw: random.Random) -> dict[str, Any]:
    motif: dict[str, Any] = {
        "kind": draw.choice(["all-to-all", "halo2d", "halo3d", "permutation", "broadcast"]),
        "message": draw.choice(["500 B", "20 kB"]),
        "iterations": draw.randint(1, 4),
        "compute": draw.choice(["0 ns", "700 ns"]),
    }
    if motif["kind"] == "all-to-all":
        motif["window"] = draw.randint(1, 3)
    return motif
