"""Fat tree, torus and mesh beside BookSim 2, with four virtual channels on every link.

One cycle is 1 ns and one flit 8 bytes, as in :mod:`odonata_studies.validation.booksim`. The
reference is a file, and what BookSim (commit 28f4329) gave with the same settings at further loads.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from odonata.results import Result
from odonata.scenario import Scenario
from odonata.study.execution import Point, Record
from odonata_studies.rows import read_rows
from odonata_studies.validation.comparison import TOLERANCE, Comparison

LATENCY = "BookSim 2: fat tree, torus, mesh"

FILE = "booksim2-fat-tree-torus-mesh.csv"
CHANNELS = 4
#: Flits that fit into the buffer behind a virtual channel.
BUFFER_FLITS = 16
FLIT_BYTES = 8


@dataclass(frozen=True)
class Network:
    """A network of the reference.

    Attributes:
        table: As in a scenario, without its links.
        classes: Of the links between routers.
        channel_cycles: Latency of the channels between routers; those to nodes have one cycle.
        nodes: How many.
    """

    table: Mapping[str, Any]
    classes: tuple[str, ...]
    channel_cycles: int
    nodes: int


#: By their names in the reference. BookSim builds the channels of a torus twice as long as all
#: others, "due to wrap around" (``kncube.cpp``).
NETWORKS: Mapping[str, Network] = {
    "fat tree k=8 n=3, nca": Network(
        {"family": "fat-tree", "down": [8, 8, 8], "up": [8, 8], "routing": "up-down"},
        ("level1", "level2"),
        1,
        512,
    ),
    "torus 8x8, dim_order": Network(
        {"family": "torus", "size": [8, 8], "routing": "dimension-order"}, ("local",), 2, 64
    ),
    "mesh 8x8, dim_order": Network(
        {"family": "torus", "size": [8, 8], "wrap": [False] * 2, "routing": "dimension-order"},
        ("local",),
        1,
        64,
    ),
}

#: Mean latencies of the same program with the same settings at further loads, one run each.
FURTHER: Mapping[tuple[str, int], Mapping[float, float]] = {
    ("fat tree k=8 n=3, nca", 1): {0.1: 21.1397, 0.2: 21.5859, 0.4: 23.9552},
    ("fat tree k=8 n=3, nca", 8): {0.1: 30.2016, 0.2: 33.8786, 0.4: 47.3913},
    ("torus 8x8, dim_order", 1): {0.2: 26.5089, 0.4: 27.8726, 0.5: 29.8353},
    ("torus 8x8, dim_order", 8): {0.2: 37.4545, 0.4: 48.0797, 0.5: 60.5252},
    ("mesh 8x8, dim_order", 1): {0.2: 27.8541, 0.4: 39.4701},
    ("mesh 8x8, dim_order", 8): {0.2: 41.0664, 0.4: 97.2541},
}
#: The same with a maximum matching in the switches (``sw_allocator = max_size``) near saturation.
MATCHED: Mapping[tuple[str, float], float] = {
    ("fat tree k=8 n=3, nca, 1 flit", 0.5): 25.9868,
    ("mesh 8x8, dim_order, 1 flit", 0.4): 34.5336,
    ("mesh 8x8, dim_order, 8 flits", 0.4): 92.3268,
}


@dataclass(frozen=True)
class Reference:
    """A mean latency in cycles, of packets of this many flits; load in flits per node and cycle."""

    network: str
    flits: int
    load: float
    latency: float

    @property
    def series(self) -> str:
        """What it belongs to."""
        flits = "1 flit" if self.flits == 1 else f"{self.flits} flits"
        return f"{self.network}, {flits}"

    @property
    def name(self) -> str:
        """What it is."""
        return f"{self.series}, load {self.load:g}"


def references(directory: Path) -> list[Reference]:
    """All points of the reference, and those at further loads."""
    found = [
        Reference(
            row["network"],
            int(row["packet_flits"]),
            float(row["load"]),
            float(row["mean_packet_latency_cycles"]),
        )
        for row in read_rows(directory / FILE)
    ]
    further = [
        Reference(network, flits, load, latency)
        for (network, flits), curve in FURTHER.items()
        for load, latency in curve.items()
    ]
    return sorted(
        [*found, *further], key=lambda r: (list(NETWORKS).index(r.network), r.flits, r.load)
    )


def scenario(
    reference: Reference, cycles: int, channels: int | None = CHANNELS, seed: int = 1
) -> Scenario:
    """The same network and traffic; the first quarter is warm-up.

    Args:
        reference: What it is compared with.
        cycles: Simulated.
        channels: Virtual channels of a link. Default: BookSim's. ``None``: as many as routing
            needs.
        seed: Of all draws.
    """
    network = NETWORKS[reference.network]

    def link(cycles: int) -> dict[str, str]:
        buffer = f"{BUFFER_FLITS * FLIT_BYTES} B"
        return {"bandwidth": "8 GB/s", "latency": f"{cycles} ns", "buffer": buffer}

    routing: dict[str, Any] = {"algorithm": network.table["routing"]}
    if channels is not None:
        routing["virtual_channels"] = channels
    between = dict.fromkeys(network.classes, link(network.channel_cycles))
    message = f"{reference.flits * FLIT_BYTES} B"
    return Scenario.from_dict(
        {
            "seed": seed,
            "network": {
                **network.table,
                "routing": routing,
                "links": {"terminal": link(1), **between},
                "router": {
                    # Virtual channel and switch are allocated in a cycle each.
                    "delay": "2 ns",
                    "credit_delay": "2 ns",
                    "flit": f"{FLIT_BYTES} B",
                    "crossbar": 1.0,
                    "credit_use": "crossbar",
                    "output_buffer": f"{BUFFER_FLITS * FLIT_BYTES} B",
                },
                # A packet to oneself passes a router and two channels in BookSim.
                "nic": {"loopback_bandwidth": "8 GB/s", "loopback_latency": "5 ns"},
            },
            "simulation": {
                "packet": message,
                "warmup": f"{cycles // 4} ns",
                "duration": f"{cycles} ns",
            },
            "job": [
                {
                    "name": "load",
                    "nodes": network.nodes,
                    "traffic": {
                        "pattern": "uniform-or-self",
                        "message": message,
                        "process": "bernoulli",
                        "slot": "1 ns",
                        "load": reference.load,
                    },
                }
            ],
        }
    )


def latency(result: Result) -> Record:
    """Mean latency in cycles."""
    row = next(r for r in result.statistics.to_pylist() if r["quantity"] == "message_latency")
    ci95 = row["ci95"]
    return {"latency": row["mean"] / 1e3, "ci95": math.nan if ci95 is None else ci95 / 1e3}


class BookSimFamilies:
    """Points and comparisons of this part.

    Args:
        directory: Of the reference data.
        quick: Whether shorter runs are enough.
    """

    def __init__(self, directory: Path, quick: bool) -> None:
        self.references = references(directory)
        self._cycles = 6_000 if quick else 30_000

    def points(self) -> list[Point]:
        """What is simulated: every reference."""
        return [
            Point(
                f"booksim: {reference.name}",
                scenario(reference, self._cycles),
                latency,
                self._cycles * reference.load * NETWORKS[reference.network].nodes / 2e6,
            )
            for reference in self.references
        ]

    def comparisons(self, records: Mapping[str, Record]) -> list[Comparison]:
        """What was found beside what BookSim found."""
        return [self._compare(r, records[f"booksim: {r.name}"]) for r in self.references]

    def _compare(self, reference: Reference, record: Record) -> Comparison:
        ours, explanation, remark = record["latency"], "", ""
        matched = MATCHED.get((reference.series, reference.load), math.nan)
        if not math.isnan(matched):
            remark = f"{matched:.1f} with a maximum matching in BookSim's switches"
            between = min(ours, reference.latency) <= matched <= max(ours, reference.latency)
            if between or abs(ours / matched - 1) <= TOLERANCE:
                explanation = "allocation"
        return Comparison(
            LATENCY,
            reference.name,
            reference.load,
            reference.series,
            "mean latency, cycles",
            ours,
            record["ci95"],
            reference.latency,
            "BookSim 2",
            explanation,
            remark,
        )
