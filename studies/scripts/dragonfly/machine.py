"""The machine that is measured, and one measurement of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import odonata
from dragonfly.theory import Dragonfly
from odonata import Result, Scenario

MACHINE = Dragonfly(p=4, a=8, h=4)

#: All links alike, as in the literature; lengths in time as on a machine of a few rows of cabinets.
BANDWIDTH_GB_PER_S = 16
LATENCY_NS = {"terminal": 10, "local": 10, "global": 100}
ROUTER_DELAY_NS = 50
PACKET_BYTES = 256
#: Per virtual channel: 32 packets, about twice what a global link holds in one round trip.
BUFFER_KIB = 8
#: Advantage of minimal routes, in bytes weighted by hops.
THRESHOLD_KIB = 4


@dataclass(frozen=True)
class Routing:
    """A routing algorithm with its parameters.

    Attributes:
        label: What people call it.
        table: ``[network.routing]`` of the scenario.
    """

    label: str
    table: dict[str, Any]


_ADAPTIVE = {"via": "group", "candidates": 1, "threshold": f"{THRESHOLD_KIB} KiB"}

ROUTINGS = {
    "minimal": Routing("Minimal", {"algorithm": "minimal"}),
    "valiant-group": Routing("Valiant, via group", {"algorithm": "valiant", "via": "group"}),
    "valiant-router": Routing("Valiant, via router", {"algorithm": "valiant", "via": "router"}),
    "ugal-l": Routing("UGAL-L", {"algorithm": "ugal-l", **_ADAPTIVE}),
    "ugal-g": Routing("UGAL-G", {"algorithm": "ugal-g", **_ADAPTIVE}),
    "par": Routing("PAR", {"algorithm": "par", **_ADAPTIVE}),
}

PATTERNS = {
    "uniform": {"pattern": "uniform-random"},
    "adv+1": {"pattern": "adversarial", "k": 1},
    "adv+4": {"pattern": "adversarial", "k": 4},
}


@dataclass(frozen=True)
class Run:
    """One simulation.

    Attributes:
        experiment: Which table or curve it is for.
        pattern: Key of ``PATTERNS``.
        routing: Key of ``ROUTINGS``.
        load: Offered load as a fraction of the injection bandwidth.
        seed: Of all random choices.
        warmup_us: Simulated time that is not measured.
        window_us: Simulated time that is.
        setting: What differs from the study's parameters, for people.
        routing_changes: Keys of ``[network.routing]`` that differ.
        buffer_kib: Input buffer per virtual channel.
    """

    experiment: str
    pattern: str
    routing: str
    load: float
    seed: int
    warmup_us: float
    window_us: float
    setting: str = ""
    routing_changes: dict[str, Any] = field(default_factory=dict)
    buffer_kib: float = BUFFER_KIB

    @property
    def cost(self) -> float:
        """Roughly proportional to the time it takes."""
        return min(self.load, 0.6 if self.pattern != "uniform" else 1.0) * (
            self.warmup_us + self.window_us
        )

    def scenario(self) -> Scenario:
        """What is simulated."""

        def link(kind: str) -> dict[str, str]:
            return {
                "bandwidth": f"{BANDWIDTH_GB_PER_S} GB/s",
                "latency": f"{LATENCY_NS[kind]} ns",
                "buffer": f"{self.buffer_kib} KiB",
            }

        traffic = {
            **PATTERNS[self.pattern],
            "message": f"{PACKET_BYTES} B",
            "process": "poisson",
            "load": self.load,
        }
        return Scenario.from_dict(
            {
                "title": f"{self.routing} under {self.pattern} at load {self.load}",
                "seed": self.seed,
                "network": {
                    "family": "dragonfly",
                    "p": MACHINE.p,
                    "a": MACHINE.a,
                    "h": MACHINE.h,
                    "routing": {**ROUTINGS[self.routing].table, **self.routing_changes},
                    "links": {kind: link(kind) for kind in LATENCY_NS},
                    "router": {"delay": f"{ROUTER_DELAY_NS} ns"},
                },
                "simulation": {
                    "packet": f"{PACKET_BYTES} B",
                    "warmup": f"{self.warmup_us} us",
                    "duration": f"{self.warmup_us + self.window_us} us",
                },
                "job": [{"name": "load", "nodes": MACHINE.nodes, "traffic": traffic}],
            }
        )


@dataclass(frozen=True)
class Measured:
    """What one simulation showed; loads and utilisations are fractions, latencies nanoseconds.

    Attributes:
        run: The simulation.
        offered: Load that its sources created.
        accepted: Load that was delivered.
        latency_mean_ns: From creation to the arrival of the tail, queueing at the source
            included; ``nan`` if nothing that was created after the warm-up arrived.
        latency_p99_ns: The same, 99th percentile.
        routers: Routers that a packet visited, on average.
        global_mean: Mean utilisation of global links.
        global_max: Largest utilisation of a global link.
        local_mean: Mean utilisation of local links.
        local_max: Largest utilisation of a local link.
        direct: Mean utilisation of the links from each group to the one that it sends to; ``nan``
            under uniform traffic.
        beside_direct: The same of the other global links of the routers that own these.
    """

    run: Run
    offered: float
    accepted: float
    latency_mean_ns: float
    latency_p99_ns: float
    routers: float
    global_mean: float
    global_max: float
    local_mean: float
    local_max: float
    direct: float
    beside_direct: float


def measure(run: Run) -> Measured:
    """Simulates."""
    result: Result = odonata.run(run.scenario())
    job = result.jobs.to_pylist()[0]
    injection = MACHINE.nodes * BANDWIDTH_GB_PER_S * 1e9
    links = result.to_pandas("links")
    use = {kind: links.loc[links["class"] == kind, "utilisation"] for kind in ("global", "local")}
    shift = PATTERNS[run.pattern].get("k")
    direct = beside_direct = float("nan")
    if shift is not None:
        between = links[links["class"] == "global"]
        forward = (between["from_group"] + shift) % MACHINE.g == between["to_group"]
        owners = between["from_router"].isin(between.loc[forward, "from_router"])
        direct = between.loc[forward, "utilisation"].mean()
        beside_direct = between.loc[owners & ~forward, "utilisation"].mean()

    def number(value: float | None, scale: float = 1.0) -> float:
        return float("nan") if value is None else value * scale

    return Measured(
        run=run,
        offered=job["offered_bytes_per_s"] / injection,
        accepted=job["accepted_bytes_per_s"] / injection,
        latency_mean_ns=number(job["packet_latency_mean_ps"], 1e-3),
        latency_p99_ns=number(job["packet_latency_p99_ps"], 1e-3),
        routers=number(job["mean_routers_visited"]),
        global_mean=float(use["global"].mean()),
        global_max=float(use["global"].max()),
        local_mean=float(use["local"].mean()),
        local_max=float(use["local"].max()),
        direct=float(direct),
        beside_direct=float(beside_direct),
    )
