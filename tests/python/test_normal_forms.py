"""Stored study points are known by the engine's form of their scenario: it never changes.

``normal_forms.json`` has a hash of the form of each scenario here, made when the scenario came to
the list. A key that is new leaves all of them as they are. This module, run by itself, adds what is
missing from the file and changes nothing else.
"""

import hashlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from odonata import Scenario
from odonata.scenario.files import fingerprint_of, fingerprints_of
from random_scenarios import scenarios as random_scenarios

ROOT = Path(__file__).resolve().parents[2]
KNOWN = Path(__file__).with_name("normal_forms.json")

NETWORKS: dict[str, dict[str, Any]] = {
    "dragonfly": {"family": "dragonfly", "p": 2, "a": 4, "h": 2},
    "cray-xc": {
        "family": "dragonfly",
        "p": 2,
        "a": 6,
        "h": 2,
        "g": 5,
        "group": "cray-xc",
        "rows": 2,
        "columns": 3,
        "row_links": 2,
        "column_links": 3,
        "links": {"green": {"buffer": "1 MiB"}, "global": {"latency": "1 us"}},
    },
    "custom": {
        "family": "dragonfly",
        "p": 2,
        "a": 4,
        "h": 2,
        "arrangement": "custom",
        "arrangement_file": "links.txt",
    },
    "dragonfly+": {
        "family": "dragonfly+",
        "leaves": 4,
        "spines": 2,
        "p": 2,
        "h": 2,
        "g": 5,
        "arrangement": "unbalanced",
    },
    "reconfigurable": {"family": "reconfigurable-dragonfly", "p": 2, "a": 4, "h": 2, "g": 6},
    "reconfigurable-jobs": {
        "family": "reconfigurable-dragonfly",
        "p": 2,
        "a": 4,
        "h": 2,
        "g": 6,
        "circuits": "jobs",
        "steering": "min-max",
        "links_per_switch": 2,
        "switch_ports": 16,
    },
    "reconfigurable-file": {
        "family": "reconfigurable-dragonfly",
        "p": 4,
        "wiring_file": "theta.txt",
        "circuits": "file",
        "circuits_file": "circuits.txt",
    },
    "fat-tree": {"family": "fat-tree", "radix": 8, "levels": 2, "nodes": 20},
    "fat-tree-numbers": {
        "family": "fat-tree",
        "down": [4, 4, 4],
        "up": [2, 2],
        "parallel": [1, 2, 1],
        "taper": [1, 2],
        "links": {"level1": {"bandwidth": "25 GB/s"}},
    },
    "fat-tree-optical": {
        "family": "fat-tree",
        "radix": 8,
        "levels": 3,
        "routing": "steered",
        "optical": {"switch_ports": 8, "links_per_switch": 2, "circuits": "jobs"},
    },
    "fat-tree-circuits": {
        "family": "fat-tree",
        "radix": 8,
        "levels": 3,
        "optical": {"circuits": "file", "circuits_file": "circuits.txt"},
    },
    "torus": {"family": "torus", "size": [4, 4, 2], "wrap": [True, True, False], "p": 2},
    "torus-links": {"family": "torus", "size": [4, 4], "links": {"dim2": {"latency": "1 us"}}},
    "hyperx": {"family": "hyperx", "size": [4, 4], "parallel": [1, 2], "p": 4},
    "slim-fly": {"family": "slim-fly", "q": 5, "p": 3},
    "jellyfish": {"family": "jellyfish", "routers": 20, "degree": 5, "p": 2, "wiring_seed": 7},
    "crossbar": {"family": "crossbar", "nodes": 16},
    "cray-xc-file": {"family": "cray-xc-file", "file": "theta.txt", "nodes_per_router": 2},
    "codes": {
        "family": "codes",
        "model": "dragonfly_plus",
        "intra_file": "intra",
        "p": 4,
        "g": 5,
        "inter_file": "inter",
        "leaves": 4,
        "spines": 4,
    },
    "edge-list": {
        "family": "edge-list",
        "file": "edges.txt",
        "nodes_per_router": 3,
        "links": {"fibre": {"kind": "global", "latency": "2 us"}, "copper": {}},
    },
    "graphml": {"family": "graphml", "file": "wiring.graphml"},
    "gml": {"family": "gml", "file": "zoo.gml", "nodes_per_router": 2},
    "anynet": {
        "family": "anynet",
        "file": "anynet_file",
        "links": {"local-10": {"latency": "10 ns"}},
    },
    "ibnetdiscover-ports": {
        "family": "ibnetdiscover",
        "file": "subnet.txt",
        "interfaces": "nodes",
    },
    "ibnetdiscover": {
        "family": "ibnetdiscover",
        "file": "subnet.txt",
        "links": {"local-4xEDR": {"latency": "1 us"}},
        "routing": {
            "algorithm": "forwarding-tables",
            "tables": "tables.csv",
            "subnet": "opensm-subnet.lst",
            "service_levels": "levels.csv",
        },
    },
}

TABLES: dict[str, list[dict[str, Any]]] = {
    "network.routing": [
        *({"algorithm": name} for name in ("minimal", "shortest-path", "up-down", "tago")),
        {"algorithm": "minimal", "minimal_links": "shortest", "choice": "by-load"},
        {"algorithm": "minimal", "paths": "up-down", "choice": "by-destination"},
        {"algorithm": "valiant", "via": "node", "virtual_channels": 4, "per": "message"},
        {"algorithm": "ugal-l", "candidates": 4, "threshold": "2 KiB", "weights": [1, 2]},
        {"algorithm": "ugal-g", "weights": "hops", "detours_in_group": True},
        {"algorithm": "par", "detours_in_group": False, "threshold": "0 B"},
        {"algorithm": "fpar", "threshold": 0.5},
        {"algorithm": "fpar", "threshold": 1},
        {"algorithm": "q-adaptive", "source_threshold": 0.1, "intermediate_threshold": 0},
        {"algorithm": "q-adaptive", "rate_down": 0.5, "rate_up": 1, "exploration": 0.01},
        {"algorithm": "dimwar", "threshold": "1 MB"},
    ],
    "network.router": [
        {"delay": "0 ns", "credit_delay": "5 ns", "flit": "64 B"},
        {"switching": "store-and-forward", "arbitration": "oldest-first"},
        {"crossbar": 1.5, "output_buffer": "16 KiB"},
        {"crossbar": 2, "credit_use": "crossbar", "occupancy": "requests"},
        {"crossbar": "17 GB/s", "output_buffer": "14 kB"},
    ],
    "network.nic": [
        {"injection": "fifo"},
        {"loopback_bandwidth": "25 GB/s", "loopback_latency": "1 us"},
        {"congestion_control": "infiniband"},
        {"congestion_control": {"kind": "window", "window": "64 KiB"}},
    ],
    "simulation": [
        {"engine": "flow", "paths": 4, "settle": "1 us"},
        {"packet": "1 KiB", "duration": "2 ms", "warmup": "1 ms", "threads": 3},
        {"duration": "2 ms", "warmup": "auto", "precision": "2.5 %", "timeline_bin": "1 us"},
    ],
    "mpi": [
        {"eager_limit": "8 KiB", "control_message": "32 B", "rendezvous_completion": "sent"},
        {"eager_limit": "0 B", "rendezvous_completion": "acknowledged", "gap": "1 ns"},
        {"send_overhead": "1 us", "receive_overhead": "2 us", "copy_bandwidth": "5 GB/s"},
        {"send_delay": "3.51 us", "collectives": "open-mpi"},
        {"host_times": [{"size": "1 B", "time": "1 us"}, {"size": "1 MB", "time": "0.2 ms"}]},
        {"collectives": {"library": "mpich", "combine_bandwidth": "8 GB/s", "segment": "64 KiB"}},
        {"collectives": {"allreduce": "ring", "reduce_scatter": "pairwise", "alltoallv": "linear"}},
        {"collectives": {"barrier": "tree", "scatter": "binomial", "scan": "linear"}},
        {"within_node": {"send_overhead": "1 us"}},
        {"within_node": {"host_times": [{"size": "1 kB", "time": "1 us"}]}, "gap": "2 ns"},
    ],
    "record": [
        *({"messages": what} for what in ("none", "all", 1, 7)),
        {"rank_activity": True, "communication": True, "attribution": True},
        {"arrivals": {"interval": "1 us"}},
        {"arrivals": {"interval": "1 us", "routers": "0, 2-4", "links": ["global"]}},
        {"arrivals": {"interval": "10 us", "groups": [0, 1]}},
    ],
}

MOTIFS: list[dict[str, Any]] = [
    {"kind": "all-to-all", "message": "1 kB"},
    {"kind": "all-to-all", "message": "1 kB", "window": 3, "blocking": True, "iterations": 2},
    {"kind": "all-to-all", "message": "1 kB", "receives": "in-turn", "compute": "1 us"},
    {"kind": "bisection", "message": "1 kB", "order": "ascending", "window": 2},
    {"kind": "halo2d", "message": "1 kB", "grid": [2, 4], "periodic": False},
    {"kind": "halo3d", "message": "1 kB", "order": "dimensions", "blocking": True},
    {"kind": "halo4d", "message": "1 kB", "grid": [2, 2, 2, 1]},
    {"kind": "tornado", "message": "1 kB"},
    {"kind": "shift", "message": "1 kB", "offset": 3},
    {"kind": "group-shift", "message": "1 kB", "k": -1},
    {"kind": "broadcast", "message": "1 kB", "root": 2, "tree": "linear"},
    {"kind": "collective", "operation": "barrier"},
    {"kind": "collective", "operation": "reduce", "message": "1 kB", "root": 1},
    {"kind": "collective", "operation": "alltoall", "message": "1 kB", "algorithm": "bruck"},
    {"kind": "matrix", "file": "matrix.csv"},
    {"kind": "matrix", "file": "m.csv", "message": "1 kB", "order": "ascending", "scale": 2},
    {"kind": "matrix", "file": "m.csv", "total_bytes": "1 GB", "order": "ascending"},
    {"kind": "matrix", "file": "m.csv", "recorded": True, "blocking": True},
    {"kind": "trace", "file": "trace.meta", "compute_scale": 0.5},
    {"kind": "trace", "file": "trace.bin", "gap": "1 us", "repeat_rank": "xor"},
    {"kind": "trace", "file": "t.otf2", "start": {"time": "1 ms"}, "end": {"region": "main"}},
    {"kind": "trace", "file": "t.otf2", "start": {"marker": "step", "iteration": 2}},
    {"kind": "lulesh"},
    {"kind": "training", "iterations": 2},
    {
        "kind": "phases",
        "phases": [
            {"compute": "1 us"},
            {"repeat": 3, "phases": [{"kind": "shift", "message": "1 kB", "offset": 1}]},
        ],
    },
]

TRAFFIC: list[dict[str, Any]] = [
    {"pattern": "uniform-random", "message": "4 KiB", "load": 0.5},
    {"pattern": "uniform-random", "message": "4 KiB", "load": "50 %", "process": "periodic"},
    {"pattern": "uniform-random", "message": "4 KiB", "load": "90 % TGLL", "messages": 5},
    {"pattern": "tornado", "message": "4 KiB", "rate": "1 GB/s", "process": "aligned"},
    {"pattern": "permutation", "interval": "1 us", "load": 1},
    {"pattern": "transpose", "message": "1 B", "interval": "1 us"},
    {"pattern": "bisection", "message": "1 kB", "load": 0.1, "process": "bernoulli"},
    {
        "pattern": "neighbour",
        "message": "1 kB",
        "load": 0.1,
        "process": "bernoulli",
        "slot": "1 us",
    },
    {"pattern": "adversarial", "message": "1 kB", "load": 0.1, "k": 2},
    {"pattern": "shift", "message": "1 kB", "load": 0.1, "offset": 4},
    {"pattern": "stencil", "message": "1 kB", "load": 0.1, "grid": [2, 4], "to": "next"},
    {"pattern": "stencil", "message": "1 kB", "load": 0.1, "dimensions": 2, "periodic": False},
    {"pattern": "group-peers", "message": "1 kB", "load": 0.1, "to": "all"},
    {"pattern": "broadcast", "message": "1 kB", "load": 0.1, "root": 3},
    {"pattern": "hot-spot", "message": "1 kB", "load": 0.1, "hot_ranks": [0], "fraction": 0.2},
    {"pattern": "matrix", "message": "1 kB", "load": 0.1, "file": "rates", "between": "groups"},
]

JOBS: list[dict[str, Any]] = [
    {"name": "a", "ranks": 12, "ranks_per_node": 2, "start": "1 ms", "idle": True},
    *(
        {"placement": name}
        for name in ("spread", "even", "isolated", "grap", "random-node", "random-router")
    ),
    {"placement": [3, 1, 2, 0, 4, 5, 6, 7]},
    {"placement": {"policy": "even", "groups": "0-2"}},
    {"placement": {"policy": "grap", "mode": "custom-balance", "group_count": 2}},
    {"placement": {"policy": "grap", "mode": "custom", "nodes_per_group": [4, 4]}},
    {"placement": {"rank_map": "map", "job": 1}},
    *(
        {"mapping": name}
        for name in ("linear", "random", "random-halves", "greedy", "graph-bisection")
    ),
    {"mapping": [7, 6, 5, 4, 3, 2, 1, 0]},
    {"mapping": {"file": "mapping.txt"}},
    {"mapping": {"policy": "random", "refine": "swap"}},
    {"mapping": {"policy": "greedy", "refine": "swap", "objective": "link-load", "matrix": "m"}},
    {"mapping": "random-clusters"},
]


def tables() -> Iterator[tuple[str, dict[str, Any]]]:
    """Scenarios as dicts with names, over every key of every table."""
    job = {"nodes": 8, "motif": {"kind": "all-to-all", "message": "1 kB"}}
    network = NETWORKS["dragonfly"]
    for name, other in NETWORKS.items():
        yield f"network {name}", {"network": other, "job": [job]}
    for table, values in TABLES.items():
        for number, value in enumerate(values):
            outer, _, inner = table.partition(".")
            data: dict[str, Any] = {"network": dict(network), "job": [job]}
            if inner:
                data[outer] = {**data[outer], inner: value}
            else:
                data[outer] = value
            yield f"{table} {number}", data
    for number, motif in enumerate(MOTIFS):
        yield f"motif {number}", {"network": network, "job": [{"nodes": 8, "motif": motif}]}
    simulation = {"duration": "1 ms"}
    for number, traffic in enumerate(TRAFFIC):
        data = {"network": network, "job": [{"nodes": 8, "traffic": traffic}]}
        yield f"traffic {number}", {**data, "simulation": simulation}
    for number, more in enumerate(JOBS):
        data = {"network": network, "job": [{**job, **more}], "seed": number}
        yield f"job {number}", {**data, "simulation": simulation}


def forms() -> dict[str, str]:
    """Hash of the engine's form of each scenario, by name."""
    found = {name: _hash(Scenario.from_dict(data, directory="/")) for name, data in tables()}
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made)
        for number, data in enumerate(random_scenarios(60, directory)):
            found[f"random {number}"] = _hash(Scenario.from_dict(data), directory.resolve())
    for example in sorted((ROOT / "examples").glob("*.toml")):
        scenario = Scenario.from_file(example)
        found[f"examples/{example.name}"] = _hash(scenario, example.parent)
    return found


def _hash(scenario: Scenario, directory: Path | None = None) -> str:
    text = json.dumps(scenario.normalised(), sort_keys=True)
    if directory is not None:
        text = text.replace(str(directory), "")
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def test_the_normal_form_of_a_scenario_never_changes() -> None:
    known = json.loads(KNOWN.read_text(encoding="utf-8"))
    found = forms()
    assert set(known) == set(found), "run this module by itself: it adds what is missing"
    changed = [name for name, form in known.items() if found[name] != form]
    assert changed == [], "stored study points of these would be simulated again"


def test_points_of_several_seeds_are_known_as_the_runs_that_a_worker_makes_of_them() -> None:
    """What is drawn by the seed, such as failures, is in the form a second time."""
    for example in sorted((ROOT / "examples").glob("*.toml")):
        scenario = Scenario.from_file(example)
        alone = [fingerprint_of(scenario.with_seed(seed)) for seed in (1, 2, 3)]
        assert fingerprints_of(scenario, (1, 2, 3)) == alone, example.name


if __name__ == "__main__":
    known = json.loads(KNOWN.read_text(encoding="utf-8")) if KNOWN.exists() else {}
    known = {**forms(), **known}
    KNOWN.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
