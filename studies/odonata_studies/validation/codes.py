"""The packet engine as the routers of CODES, and its FPAR, against figures of that program."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from odonata.results import Result
from odonata.scenario import Scenario
from odonata.study.execution import Point, Record
from odonata.study.intervals import interval
from odonata_studies.rows import read_rows
from odonata_studies.validation.comparison import Comparison

FILE = "codes-a4780aed-dragonfly-plus.csv"
#: Nodes of the target, and of the background: two of each leaf of three groups.
TARGET, BACKGROUND = 2304, 144
#: What the background sends to either other group in a microsecond at 1 % of a global link.
BACKGROUND_PER_CENT = 46.8

#: What is compared: column of the reference, section of the page, figure of the summary.
QUANTITIES = {
    "mean_us": ("CODES: mean message latency", "message_latency_mean_ps"),
    "p50_us": ("CODES: median message latency", "message_latency_median_ps"),
    "p75_us": ("CODES: upper quartile of message latency", "message_latency_p75_ps"),
}
SECTIONS = [section for section, _ in QUANTITIES.values()]


class Case(NamedTuple):
    """A row of the reference."""

    pattern: str
    placement: str
    message: int
    interval_ns: int
    messages: int
    background: int
    mended: bool

    @property
    def name(self) -> str:
        """In tables."""
        parts = [
            f"{self.pattern} {self.placement}",
            f"{self.message:,} B every {self.interval_ns / 1000:g} µs",
        ]
        if self.background:
            parts.append(f"background {self.background} %")
        if self.mended:
            parts.append("tie-break mended")
        return ", ".join(parts)


def case_of(row: Mapping[str, str]) -> Case:
    """The case of a row."""
    return Case(
        row["pattern"],
        row["placement"],
        int(row["message_bytes"]),
        int(row["interval_ns"]),
        int(row["messages_per_node"]),
        int(row["background_percent"]),
        row["leaf_choice"] != "as published",
    )


def network(mended: bool = False) -> dict[str, Any]:
    """The network of the reference as its program has it.

    A packet takes room behind its next link before it joins the queue of the output, and gives
    up its own with that; room is counted in whole packets; channel 0 goes first. From one router
    to the next take 100 ns and some ns of the program's own (0.5 to 1 ns before a packet starts, 0
    to 1 ns after; a credit, 8 B at 5.25 GiB/s and 0 to 1 ns): the mean here. So from node to
    router: 10 ns of the interface and five such draws, half of which is the latency of a link
    that has it both ways. Nodes send whatever room their leaf has.
    """
    return {
        "family": "dragonfly+",
        "leaves": 24,
        "spines": 24,
        "p": 16,
        "h": 16,
        "g": 9,
        "routing": {
            "algorithm": "fpar",
            "threshold": 0.5,
            "rules": "codes-mended" if mended else "codes",
        },
        "router": {
            "delay": "99 ns",
            "switching": "store-and-forward",
            "credit_use": "crossbar",
            "output_buffer": "8 KiB",
            "arbitration": "lowest-channel",
            "room": "packets",
        },
        "nic": {"injection": "fifo"},
        "links": {
            "terminal": {"bandwidth": "16 GiB/s", "latency": "8 ns", "buffer": "4 GB"},
            "local": {"bandwidth": "5.25 GiB/s", "latency": "2 ns", "buffer": "8 KiB"},
            "global": {"bandwidth": "4.37 GiB/s", "latency": "2 ns", "buffer": "16 KiB"},
        },
    }


def scenario(case: Case, seed: int) -> Scenario:
    """The set-up of a row."""
    traffic: dict[str, Any] = {
        "process": "drifting",
        "drift": "1 ns",
        "message": f"{case.message} B",
        "interval": f"{case.interval_ns} ns",
        "messages": case.messages,
    }
    if case.pattern == "uniform":
        traffic["pattern"] = "uniform-random"
    else:
        traffic |= {"pattern": "shift", "offset": 384}
    background = {
        "name": "background",
        "nodes": BACKGROUND,
        "placement": {"policy": "even", "groups": "0-2"},
        "traffic": {"pattern": "group-peers", "to": "all", "process": "drifting", "drift": "1 ns"}
        # The places are taken without it as well.
        | (
            {"message": f"{round(BACKGROUND_PER_CENT * case.background)} B", "interval": "1 us"}
            if case.background
            else {"message": "1 B", "interval": "3600 s"}
        ),
    }
    contiguous = {"policy": "contiguous", "groups": "3-8"}
    target = {
        "name": "target",
        "nodes": TARGET,
        "placement": contiguous if case.placement == "contiguous" else "random-node",
        "traffic": traffic,
    }
    return Scenario.from_dict(
        {
            "seed": seed,
            "network": network(case.mended),
            "simulation": {"packet": "2048 B"},
            "job": [background, target],
        }
    )


def latencies(result: Result) -> Record:
    """Latencies of the target's messages, in µs."""
    target = result.summary_dict["jobs"][1]
    return {column: target[figure] / 1e6 for column, (_, figure) in QUANTITIES.items()}


class Codes:
    """Points and comparisons of this part.

    Args:
        directory: Of the reference data.
        quick: Whether one run of the rows with short messages is enough.
    """

    def __init__(self, directory: Path, quick: bool) -> None:
        rows = read_rows(directory / FILE)
        #: Figures in µs by case and column.
        self.known = {
            case_of(row): {column: float(row[column]) for column in QUANTITIES}
            for row in rows
            if not quick or int(row["message_bytes"]) <= 4096
        }
        self._seeds = range(1, 2 if quick else 6)

    def points(self) -> list[Point]:
        """What is simulated."""
        return [
            Point(_name(case, seed), scenario(case, seed), latencies, 20)
            for case in self.known
            for seed in self._seeds
        ]

    def comparisons(self, records: Mapping[str, Record]) -> list[Comparison]:
        """Latencies beside CODES'."""
        found = []
        for case, known in self.known.items():
            of_seeds = [records[_name(case, seed)] for seed in self._seeds]
            for column, (section, _) in QUANTITIES.items():
                ours = interval([record[column] for record in of_seeds])
                found.append(
                    Comparison(
                        section,
                        case.name,
                        math.nan,
                        case.pattern,
                        "µs",
                        ours.mean,
                        ours.half_width,
                        known[column],
                        "CODES a4780aed",
                    )
                )
        return found


def _name(case: Case, seed: int) -> str:
    return f"codes: {case.name}, seed {seed}"
