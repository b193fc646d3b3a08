"""The packet engine against points measured with BookSim 2.

One cycle is 1 ns and one flit 8 bytes, so that every link carries a flit per cycle (8 GB/s). How
parameters correspond is in ``studies/pages/validation.md``.
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
from odonata.study.intervals import interval
from odonata_studies.rows import read_rows
from odonata_studies.validation.comparison import TOLERANCE, Comparison

LATENCY = "BookSim 2: mean latency"
ROUTERS = "BookSim 2: routers visited"
THROUGHPUT = "BookSim 2: throughput beyond saturation"

FILES = ("booksim2-dragonfly-72.csv", "booksim2-dragonfly-72-packets-of-10.csv")
NODES = 72
FLIT_BYTES = 8
#: Flits that fit into the buffer behind a virtual channel.
BUFFER_FLITS = 256
#: BookSim gives up when the mean latency since its last reset exceeds this (its default), which it
#: looks at after every period; statistics are reset after the warm-up.
GIVES_UP_CYCLES = 500.0
PERIOD_CYCLES = 2_000
WARM_UP_PERIODS = 3
PERIODS = 15
#: Runs of BookSim's length, to see how much one scatters.
READINGS = 8


@dataclass(frozen=True)
class Reference:
    """A row of the reference data; loads in flits per node and cycle, latency in cycles."""

    routing: str
    traffic: str
    flits: int
    offered: float
    accepted: float
    latency: float
    routers: float

    @property
    def stable(self) -> bool:
        """Whether BookSim found a steady state."""
        return not math.isnan(self.latency)

    @property
    def name(self) -> str:
        """What it is."""
        traffic = {"uniform": "uniform", "bad_dragon": "ADV+1"}[self.traffic]
        flits = "1 flit" if self.flits == 1 else f"{self.flits} flits"
        return f"{self.routing}, {traffic}, {flits}, load {self.offered:g}"

    @property
    def series(self) -> str:
        """Line of the figure that it belongs to."""
        return self.name.rsplit(",", 1)[0]


@dataclass(frozen=True)
class Router:
    """What experiments vary.

    Attributes:
        speedup: Of the crossbar.
        credit_use: As in a scenario.
        queue_flits: Output buffer per virtual channel.
        threshold_flits: Advantage of minimal routes under UGAL.
    """

    speedup: float = 2.0
    credit_use: str = "crossbar"
    queue_flits: int = BUFFER_FLITS
    threshold_flits: int = 30


AS_BOOKSIM = Router()
#: What may explain a difference: name, what is changed, and why that is a model difference.
EXPERIMENTS: Mapping[str, Router] = {
    "allocation": Router(speedup=1.5),
    "counting": Router(threshold_flits=29),
    "credits at the link": Router(credit_use="link", queue_flits=51),
}


def references(directory: Path) -> list[Reference]:
    """All points of the reference data."""
    found = []
    for name in FILES:
        for row in read_rows(directory / name):
            found.append(
                Reference(
                    row["routing"],
                    row.get("traffic", "uniform"),
                    int(row.get("packet_flits", 10)),
                    float(row["offered_load_flits_per_node_cycle"]),
                    float(row["accepted_load"]),
                    float(row["mean_packet_latency_cycles"] or "nan"),
                    float(row["mean_routers_visited"] or "nan"),
                )
            )
    return found


def scenario(reference: Reference, router: Router, cycles: int, seed: int = 1) -> Scenario:
    """The same network and traffic for Odonata; the first fifth is warm-up."""

    def link(cycles: int) -> dict[str, str]:
        buffer = f"{BUFFER_FLITS * FLIT_BYTES} B"
        return {"bandwidth": "8 GB/s", "latency": f"{cycles} ns", "buffer": buffer}

    routing: dict[str, Any] = {"algorithm": "minimal"}
    if reference.routing == "ugal":
        routing = {
            "algorithm": "ugal-l",
            "via": "node",
            "threshold": f"{router.threshold_flits * FLIT_BYTES} B",
            "weights": [1, 2],
        }
    message = f"{reference.flits * FLIT_BYTES} B"
    pattern = "uniform-or-self" if reference.traffic == "uniform" else "adversarial"
    return Scenario.from_dict(
        {
            "seed": seed,
            "network": {
                "family": "dragonfly",
                "p": 2,
                "a": 4,
                "h": 2,
                "routing": routing,
                "links": {"terminal": link(1), "local": link(10), "global": link(100)},
                "router": {
                    "delay": "1 ns",
                    "credit_delay": "2 ns",
                    "flit": f"{FLIT_BYTES} B",
                    "crossbar": router.speedup,
                    "credit_use": router.credit_use,
                    "output_buffer": f"{router.queue_flits * FLIT_BYTES} B",
                },
                # To oneself a packet crosses one router there and takes as long here.
                "nic": {"loopback_bandwidth": "8 GB/s", "loopback_latency": "4 ns"},
            },
            "simulation": {
                "packet": message,
                "warmup": f"{cycles // 5} ns",
                "duration": f"{cycles} ns",
                **({} if reference.stable else {"timeline_bin": f"{PERIOD_CYCLES} ns"}),
            },
            "job": [
                {
                    "name": "load",
                    "nodes": NODES,
                    "traffic": {
                        "pattern": pattern,
                        "message": message,
                        "process": "bernoulli",
                        "slot": "1 ns",
                        "load": reference.offered,
                    },
                }
            ],
        }
    )


def steady(result: Result) -> Record:
    """Latency in cycles, accepted load, and routers visited, packets to oneself included."""
    kept = _means(result)
    job = result.jobs.to_pylist()[0]
    visits = result.routers_visited.to_pydict()
    crossed = sum(visits["packets"])
    counts = result.histograms.to_pandas()
    messages = int(counts.loc[counts["quantity"] == "message_latency", "count"].sum())
    # A packet to oneself visits one router there and none here.
    kept["routers"] = (job["mean_routers_visited"] * crossed + messages - crossed) / messages
    return kept


def _means(result: Result) -> Record:
    capacity = NODES * 8e9
    kept: Record = {}
    for row in result.statistics.to_pylist():
        unit = 1e3 if row["quantity"] == "message_latency" else capacity
        kept[row["quantity"]] = row["mean"] / unit
        ci95 = row["ci95"]
        kept[f"{row['quantity']}_ci95"] = math.nan if ci95 is None else ci95 / unit
    return kept


def overloaded(result: Result) -> Record:
    """Accepted load in the steady state, and as BookSim reads it when it gives up."""
    kept = _means(result)
    timeline = result.timeline.to_pydict()
    capacity = NODES * PERIOD_CYCLES * FLIT_BYTES
    messages = latency = delivered = periods = 0
    kept["reading"], kept["reading_cycles"] = math.nan, 0
    for number, _ in enumerate(timeline["time_ps"][:PERIODS], start=1):
        periods += 1
        messages += timeline["messages"][number - 1]
        latency += timeline["message_latency_sum_ps"][number - 1]
        delivered += timeline["delivered_bytes"][number - 1]
        kept["reading"] = delivered / capacity / periods
        kept["reading_cycles"] = number * PERIOD_CYCLES
        if latency > messages * GIVES_UP_CYCLES * 1e3:
            break
        if number == WARM_UP_PERIODS:
            messages = latency = delivered = periods = 0
    return kept


class BookSim:
    """Points and comparisons of this part.

    Args:
        directory: Of the reference data.
        quick: Whether fewer and shorter runs are enough.
    """

    def __init__(self, directory: Path, quick: bool) -> None:
        known = references(directory)
        self.references = [r for r in known if not quick or r.flits == 10]
        self._cycles = 20_000 if quick else 100_000

    def points(self) -> list[Point]:
        """What is simulated: every reference as BookSim has it, some in all experiments."""
        points = []
        for reference in self.references:
            for name, router in (("", AS_BOOKSIM), *EXPERIMENTS.items()):
                if name and not _is_examined(reference):
                    continue
                if not reference.stable:
                    cycles = PERIODS * PERIOD_CYCLES
                    keep = overloaded
                else:
                    cycles, keep = self._cycles, steady
                points.append(
                    Point(
                        _point_name(reference, name),
                        scenario(reference, router, cycles),
                        keep,
                        cycles * reference.offered / 3e4,
                    )
                )
            if _scatters(reference):
                length = PERIODS * PERIOD_CYCLES
                for seed in range(1, READINGS + 1):
                    run = scenario(reference, AS_BOOKSIM, length, seed)
                    name = _point_name(reference, f"reading {seed}")
                    points.append(Point(name, run, steady, reference.offered))
        return points

    def comparisons(self, records: Mapping[str, Record]) -> list[Comparison]:
        """What was found beside what BookSim found."""
        found = []
        for reference in self.references:
            record = records[_point_name(reference, "")]
            if reference.stable:
                found += _compare_stable(reference, record, records)
            else:
                found += _compare_overloaded(reference, record)
        return found

    def experiments(self, records: Mapping[str, Record]) -> list[dict[str, Any]]:
        """One row per examined point: latencies in every experiment."""
        rows = []
        for reference in self.references:
            if not (_is_examined(reference) and reference.stable):
                continue
            row: dict[str, Any] = {"point": reference.name, "BookSim": reference.latency}
            for name in ("", *EXPERIMENTS):
                row[name or "ours"] = records[_point_name(reference, name)]["message_latency"]
            row["one reading, ±"] = math.nan
            if _scatters(reference):
                row["one reading, ±"] = _reading(reference, records)
            rows.append(row)
        return rows


def _is_examined(reference: Reference) -> bool:
    """Whether packets wait for each other enough for models to differ."""
    return reference.flits == 10 and (reference.offered >= 0.5 or reference.traffic == "bad_dragon")


def _scatters(reference: Reference) -> bool:
    """Whether a run of BookSim's length may be too short: near saturation."""
    near = {("min", "bad_dragon"): 0.12, ("ugal", "bad_dragon"): 0.3}
    limit = near.get((reference.routing, reference.traffic), 0.9)
    return reference.stable and reference.flits == 10 and reference.offered >= limit


def _reading(reference: Reference, records: Mapping[str, Record]) -> float:
    """Half the width of the interval that holds 95 % of single readings, for a normal law."""
    names = [_point_name(reference, f"reading {seed}") for seed in range(1, READINGS + 1)]
    found = [records[name]["message_latency"] for name in names]
    # The interval of one more reading around the mean of these (Student's t).
    return interval(found).half_width * math.sqrt(READINGS + 1)


def _point_name(reference: Reference, experiment: str) -> str:
    return f"booksim: {reference.name}" + (f", {experiment}" if experiment else "")


def _compare_stable(
    reference: Reference, record: Record, records: Mapping[str, Record]
) -> list[Comparison]:
    ours, wanted = record["message_latency"], reference.latency
    explanation = ""
    if abs(ours / wanted - 1) > TOLERANCE and _is_examined(reference):
        explanation = _explanation(reference, ours, records)
    return [
        Comparison(
            LATENCY,
            reference.name,
            reference.offered,
            reference.series,
            "mean latency, cycles",
            ours,
            record["message_latency_ci95"],
            wanted,
            "BookSim 2",
            explanation,
        ),
        Comparison(
            ROUTERS,
            reference.name,
            reference.offered,
            reference.series,
            "routers visited, mean",
            record["routers"],
            math.nan,
            reference.routers,
            "BookSim 2",
        ),
    ]


def _explanation(reference: Reference, ours: float, records: Mapping[str, Record]) -> str:
    """The first experiment that agrees with the reference, or lies on its other side.

    Before that: whether the reference lies where 95 % of single runs of its length do.

    An experiment changes one thing that differs between the models. If ours then agrees, or if the
    reference lies between ours with and without it, that thing is large enough to be the reason.
    """
    if _scatters(reference) and abs(ours - reference.latency) <= _reading(reference, records):
        return "reading"
    for name in ("counting", "allocation"):
        if name == "counting" and reference.routing != "ugal":
            continue
        changed = records[_point_name(reference, name)]["message_latency"]
        between = min(ours, changed) <= reference.latency <= max(ours, changed)
        if between or abs(changed / reference.latency - 1) <= TOLERANCE:
            return name
    return ""


def _compare_overloaded(reference: Reference, record: Record) -> list[Comparison]:
    cycles = record["reading_cycles"]
    return [
        Comparison(
            THROUGHPUT,
            f"{reference.name}, read as BookSim does",
            reference.offered,
            reference.series,
            "accepted load",
            record["reading"],
            math.nan,
            reference.accepted,
            "BookSim 2",
            remark=f"gave up after {cycles:,} cycles; steady state: {record['accepted']:.4f}",
        )
    ]
