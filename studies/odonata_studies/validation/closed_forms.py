"""The packet engine against results that are known in closed form."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from odonata.results import Result
from odonata.scenario import Scenario
from odonata.study.execution import Point, Record
from odonata_studies.validation.comparison import Comparison
from odonata_studies.validation.wiring import Routes

#: All links of these networks carry a packet of 256 B in 32 ns.
BANDWIDTH = 8e9
PACKET = 256
SERVICE_NS = 32.0

#: Arrivals at one port by one node and by sixteen.
WAITING = "waiting at one port"
CREDITS = "credits"
BLOCKING = "head-of-line blocking"
HOPS = "routers visited"
LOADS = "link loads"
SATURATION = "saturation"

#: Throughput of a saturated switch with a FIFO per input, by its size (Karol, Hluchyj and Morgan
#: 1987, table I).
KAROL = {2: 0.75, 3: 0.6825, 4: 0.6553, 5: 0.6399, 6: 0.6302, 7: 0.6234, 8: 0.6184}


def means(result: Result) -> Record:
    """Means of the first job with their intervals; routers visited by number of routers."""
    figures = result.summary_dict["jobs"][0]
    kept: Record = {"offered": figures["offered_bytes_per_s"]}
    for row in result.statistics.to_pylist():
        if row["job"] == 0:
            kept[row["quantity"]] = row["mean"]
            kept[f"{row['quantity']}_ci95"] = row["ci95"]
    visits = result.routers_visited.to_pydict()
    kept["visits"] = dict(zip(map(str, visits["routers"]), visits["packets"], strict=True))
    return kept


def link_loads(result: Result) -> Record:
    """What links carry per direction, as a multiple of the offered load of a node's link."""
    links = result.to_pandas("links")
    nodes = result.meta["nodes"]
    offered = result.summary_dict["jobs"][0]["offered_bytes_per_s"] / nodes / BANDWIDTH
    between = links[links["class"] == "global"]
    forward = (between["from_group"] + 1) % result.meta["groups"] == between["to_group"]
    return {
        "local": links.loc[links["class"] == "local", "utilisation"].mean() / offered,
        "global": between["utilisation"].mean() / offered,
        "direct": between.loc[forward, "utilisation"].mean() / offered,
        "indirect": between.loc[~forward, "utilisation"].mean() / offered,
    }


class ClosedForms:
    """Points and comparisons of this part.

    Args:
        quick: Whether fewer and shorter runs are enough.
    """

    def __init__(self, quick: bool) -> None:
        self._quick = quick
        self._loads = (0.5, 0.8) if quick else (0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
        self._buffers = (2, 8, 16) if quick else (1, 2, 3, 5, 8, 10, 11, 12, 13, 16, 20)
        self._switches = (2, 8) if quick else (2, 3, 4, 5, 6, 7, 8, 16, 32, 64)

    def points(self) -> list[Point]:
        """What is simulated."""
        points = []
        for load in self._loads:
            packets = 1e5 / (1 - load) ** 2
            points.append(_waiting(2, load, packets / (5 if self._quick else 1)))
            points.append(_waiting(17, load, packets / (20 if self._quick else 4)))
        points += [_credits(buffer) for buffer in self._buffers]
        points += [_blocking(n, 40_000 if self._quick else 400_000) for n in self._switches]
        length = 40 if self._quick else 400
        for routing, traffic, load in (
            ("minimal", UNIFORM, 0.3),
            ("valiant", ADVERSARIAL, 0.1),
            ("minimal", ADVERSARIAL, 0.1),
        ):
            name = f"{routing}, {traffic['pattern']}"
            scenario = _dragonfly(routing, traffic, load, length)
            points.append(Point(f"hops: {name}", scenario, means, 5))
            points.append(Point(f"loads: {name}", scenario, link_loads, 5))
        for name, routing, traffic, groups, _, _ in _SATURATED:
            scenario = _dragonfly(routing, traffic, 0.8, length // 2, groups)
            points.append(Point(f"saturation: {name}", scenario, means, 8))
        return points

    def comparisons(self, records: Mapping[str, Record]) -> list[Comparison]:
        """What was found beside what is known."""
        return [
            *self._compare_waiting(records),
            *self._compare_credits(records),
            *self._compare_blocking(records),
            *_compare_hops(records),
            *_compare_loads(records),
            *_compare_saturation(records),
        ]

    def _compare_waiting(self, records: Mapping[str, Record]) -> list[Comparison]:
        found = []
        for nodes, source in ((2, "one source"), (17, "16 sources, 1 of 17 messages elsewhere")):
            for load in self._loads:
                record = records[f"waiting: {nodes} nodes, load {load}"]
                # Each of 17 nodes sends as much; the hot one's messages wait alone.
                of_all = (16 * _md1(load) + _md1(load / 16)) / 17
                exact = _md1(load) if nodes == 2 else of_all
                # Two wires, the router, a flit and the packet itself.
                empty = 2 * 10 + 50 + 1 + SERVICE_NS
                found.append(
                    Comparison(
                        WAITING,
                        f"{source}, load {load}",
                        load,
                        source.split(",")[0],
                        "mean wait, services",
                        (record["message_latency"] / 1e3 - empty) / SERVICE_NS,
                        record["message_latency_ci95"] / 1e3 / SERVICE_NS,
                        exact,
                        "M/D/1: ρ / (2 (1 − ρ)) (Pollaczek, Khinchine)",
                    )
                )
        return found

    def _compare_credits(self, records: Mapping[str, Record]) -> list[Comparison]:
        # Flit, wire, router, packet, wire back, credit delay.
        round_trip = 1 + 150 + 40 + SERVICE_NS + 150 + 8
        return [
            Comparison(
                CREDITS,
                f"room for {buffer} packets",
                buffer,
                "one flow",
                "throughput, share of the link",
                records[f"credits: {buffer}"]["accepted"] / 2 / BANDWIDTH,
                _ci(records[f"credits: {buffer}"]["accepted_ci95"]) / 2 / BANDWIDTH,
                buffer * SERVICE_NS / max(round_trip, buffer * SERVICE_NS),
                "buffer / round trip of 381 ns",
            )
            for buffer in self._buffers
        ]

    def _compare_blocking(self, records: Mapping[str, Record]) -> list[Comparison]:
        limit = 2 - math.sqrt(2)
        return [
            Comparison(
                BLOCKING,
                f"{n} × {n} switch",
                n,
                "FIFO inputs",
                "throughput, share of the links",
                records[f"blocking: {n}"]["accepted"] / (2 * n) / BANDWIDTH,
                _ci(records[f"blocking: {n}"]["accepted_ci95"]) / (2 * n) / BANDWIDTH,
                KAROL.get(n, limit),
                "Karol et al. 1987, table I" if n in KAROL else "2 − √2, the limit for large N",
            )
            for n in self._switches
        ]


def _ci(value: float | None) -> float:
    return math.nan if value is None else value


def _md1(load: float) -> float:
    """Mean wait of M/D/1 in service times."""
    return load / (2 * (1 - load))


def _scenario(
    network: dict[str, Any],
    traffic: dict[str, Any],
    nodes: int,
    duration_ns: float,
    warmup_ns: float,
    seed: int = 1,
) -> Scenario:
    return Scenario.from_dict(
        {
            "seed": seed,
            "network": network,
            "simulation": {
                "packet": f"{PACKET} B",
                "warmup": f"{warmup_ns:.0f} ns",
                "duration": f"{duration_ns:.0f} ns",
            },
            "job": [{"name": "load", "nodes": nodes, "traffic": traffic}],
        }
    )


def _switch(nodes: int, latency_ns: int, buffer: int, router: dict[str, Any]) -> dict[str, Any]:
    terminal = {
        "bandwidth": "8 GB/s",
        "latency": f"{latency_ns} ns",
        "buffer": f"{buffer * PACKET} B",
    }
    return {
        "family": "crossbar",
        "nodes": nodes,
        "links": {"terminal": terminal},
        "router": {"flit": "8 B", **router},
    }


def _waiting(nodes: int, load: float, packets: float) -> Point:
    """Poisson arrivals at one port: of one node (each of two is the other's), or of all but one."""
    duration = packets * SERVICE_NS / load
    traffic: dict[str, Any] = {"message": f"{PACKET} B", "process": "poisson"}
    if nodes == 2:
        traffic |= {"pattern": "uniform-random", "load": load}
    else:
        hot = {"hot_ranks": [nodes - 1], "fraction": 1.0}
        traffic |= {"pattern": "hot-spot", **hot, "load": load / (nodes - 1)}
    network = _switch(nodes, 10, 1 << 14, {"delay": "50 ns"})
    # Points with equal seeds would all err to the same side.
    seed = round(100 * load) + nodes
    scenario = _scenario(network, traffic, nodes, duration * 1.1, duration * 0.1, seed)
    return Point(f"waiting: {nodes} nodes, load {load}", scenario, means, packets / 1e5)


def _credits(buffer: int) -> Point:
    """A node that always has something to send, into a buffer of few packets."""
    traffic = {"pattern": "uniform-random", "message": f"{PACKET} B", "load": 1.5}
    network = _switch(2, 150, buffer, {"delay": "40 ns", "credit_delay": "8 ns"})
    return Point(f"credits: {buffer}", _scenario(network, traffic, 2, 1.1e6, 1e5), means, 0.3)


def _blocking(n: int, slots: int) -> Point:
    """Two switches of n inputs and n outputs in one router, with a message per slot and node."""
    traffic = {
        "pattern": "bisection",
        "message": f"{PACKET} B",
        "process": "bernoulli",
        "slot": f"{SERVICE_NS:.0f} ns",
        "load": 1.0,
    }
    router = {"delay": "50 ns", "crossbar": 1.0, "output_buffer": f"{PACKET} B"}
    network = _switch(2 * n, 10, 16, router)
    warmup = 200 * SERVICE_NS
    duration = warmup + slots / n * SERVICE_NS
    return Point(f"blocking: {n}", _scenario(network, traffic, 2 * n, duration, warmup), means, 4)


# --- Dragonflies ----------------------------------------------------------------------

UNIFORM = {"pattern": "uniform-random"}
ADVERSARIAL = {"pattern": "adversarial", "k": 1}
#: Nodes of a group of the dragonfly p = 2, a = 4, h = 2.
GROUP = 8

#: Name, routing, traffic, groups, bound, where it comes from.
_SATURATED: Sequence[tuple[str, str, dict[str, Any], int, float, str]] = (
    ("minimal, ADV+1", "minimal", ADVERSARIAL, 9, 1 / 8, "one link for 8 nodes"),
    ("minimal, ADV+1, 5 groups", "minimal", ADVERSARIAL, 5, 2 / 8, "two links for 8 nodes"),
    ("Valiant, ADV+1", "valiant", ADVERSARIAL, 9, 7 / 16, "(g − 2) / (2 a p)"),
    ("Valiant, uniform", "valiant", UNIFORM, 9, 71 / 128, "two global hops for 64 of 71"),
)


def _dragonfly(
    routing: str, traffic: dict[str, Any], load: float, length_us: float, groups: int = 9
) -> Scenario:
    def link(latency: int) -> dict[str, str]:
        return {"bandwidth": "8 GB/s", "latency": f"{latency} ns", "buffer": "16 KiB"}

    network = {
        "family": "dragonfly",
        "p": 2,
        "a": 4,
        "h": 2,
        "g": groups,
        "routing": routing,
        "links": {"terminal": link(10), "local": link(10), "global": link(100)},
        "router": {"delay": "40 ns", "flit": "8 B"},
    }
    offered = {**traffic, "message": f"{PACKET} B", "load": load}
    length = length_us * 1e3
    return _scenario(network, offered, GROUP * groups, 1.5 * length, 0.5 * length)


def _compare_hops(records: Mapping[str, Record]) -> list[Comparison]:
    routes = Routes(_dragonfly("minimal", UNIFORM, 0.1, 1))
    expected = {
        "minimal, uniform-random": routes.minimal_uniform(),
        "valiant, adversarial": routes.valiant_to_next_group(),
        "minimal, adversarial": routes.minimal_to_next_group(),
    }
    found = []
    for name, exact in expected.items():
        visits = records[f"hops: {name}"]["visits"]
        total = sum(visits.values())
        for routers, share in sorted(exact.items()):
            ours = visits.get(str(routers), 0) / total
            # Every message draws its destination and intermediate group anew.
            deviation = math.sqrt(share * (1 - share) / total)
            found.append(
                Comparison(
                    HOPS,
                    f"{name}: {routers} router{'s' if routers > 1 else ''}",
                    routers,
                    name,
                    "share of packets",
                    ours,
                    1.96 * deviation,
                    share,
                    "enumeration of all routes of the wiring",
                )
            )
    return found


def _compare_loads(records: Mapping[str, Record]) -> list[Comparison]:
    others = GROUP * 9 - 1
    uniform, valiant, adversarial = (
        records[f"loads: {name}"]
        for name in ("minimal, uniform-random", "valiant, adversarial", "minimal, adversarial")
    )
    rows = (
        (
            "minimal, uniform: global links",
            uniform["global"],
            GROUP**2 / others,
            "(a p)² / (N − 1)",
        ),
        (
            "minimal, uniform: local links",
            uniform["local"],
            4 * (2 * 8 + 1) / others,
            "p² (2 a h + 1) / (N − 1)",
        ),
        ("minimal, ADV+1: direct links", adversarial["direct"], float(GROUP), "a p"),
        ("minimal, ADV+1: other global links", adversarial["indirect"], 0.0, "0"),
        (
            "Valiant, ADV+1: global links but the direct",
            valiant["indirect"],
            2 * GROUP / 7,
            "2 a p / (g − 2)",
        ),
        ("Valiant, ADV+1: direct links", valiant["direct"], 0.0, "0"),
    )
    return [
        Comparison(
            LOADS, case, math.nan, "", "load per offered load", ours, math.nan, exact, source
        )
        for case, ours, exact, source in rows
    ]


def _compare_saturation(records: Mapping[str, Record]) -> list[Comparison]:
    found = []
    for name, _, _, groups, bound, source in _SATURATED:
        record = records[f"saturation: {name}"]
        capacity = GROUP * groups * BANDWIDTH
        found.append(
            Comparison(
                SATURATION,
                name,
                math.nan,
                "",
                "accepted load under overload",
                record["accepted"] / capacity,
                _ci(record["accepted_ci95"]) / capacity,
                bound,
                f"load of the busiest link: {source}",
            )
        )
    return found
