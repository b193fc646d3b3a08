"""The packet engine and its message protocol against run times measured with SST."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from odonata.results import Result
from odonata.scenario import Scenario
from odonata.study.execution import Point, Record
from odonata.study.intervals import interval
from odonata_studies.rows import read_rows
from odonata_studies.validation.comparison import Comparison

ALL_TO_ALL = "SST: all-to-all"
RATIOS = "SST: ratios of run times"
FILE = "sst-dragonfly-72-alltoall.csv"
NODES = 72

#: The run time that the others are related to.
FIRST = ("absolute", "minimal")


def run_time(result: Result) -> Record:
    """When the last rank was done, in µs."""
    return {"run_time_us": result.summary_dict["jobs"][0]["run_time_ps"] / 1e6}


def scenario(arrangement: str, routing: str, seed: int) -> Scenario:
    """The set-up of the reference data."""
    link = {"bandwidth": "1 GB/s", "latency": "40 ns", "buffer": "14 kB"}
    motif = {"kind": "all-to-all", "message": "100 kB"}
    return Scenario.from_dict(
        {
            "seed": seed,
            "network": {
                "family": "dragonfly",
                "p": 2,
                "a": 4,
                "h": 2,
                "arrangement": arrangement,
                "routing": routing,
                "links": {"terminal": link, "local": link, "global": link},
                # Input and output of a router take 50 ns each.
                "router": {
                    "delay": "100 ns",
                    "flit": "8 B",
                    "crossbar": 1.0,
                    "output_buffer": "14 kB",
                },
                # One send machine: message after message.
                "nic": {"injection": "fifo"},
            },
            # From the host to the interface 150 ns, to send 50 ns, to match 100 ns.
            "mpi": {
                "eager_limit": "12 kB",
                "send_overhead": "200 ns",
                "receive_overhead": "250 ns",
                # Firefly's sender waits until the receiver has fetched a message and said so.
                "rendezvous_completion": "acknowledged",
            },
            "simulation": {"packet": "1024 B"},
            "job": [{"name": "all-to-all", "nodes": NODES, "ranks_per_node": 2, "motif": motif}],
        }
    )


class Sst:
    """Points and comparisons of this part.

    Args:
        directory: Of the reference data.
        quick: Whether one run is enough where routes are drawn at random.
    """

    def __init__(self, directory: Path, quick: bool) -> None:
        rows = read_rows(directory / FILE)
        #: Run time in µs by arrangement and routing.
        self._known = {
            (row["arrangement"], row["routing"]): float(row["alltoall_time_us"]) for row in rows
        }
        self._seeds = range(1, 2 if quick else 4)

    def points(self) -> list[Point]:
        """What is simulated."""
        return [
            Point(_name(*case, seed), scenario(*case, seed), run_time, 15)
            for case in self._known
            for seed in self._seeds_of(case)
        ]

    def _seeds_of(self, case: tuple[str, str]) -> range:
        # Minimal routes leave nothing to chance.
        return range(1, 2) if case[1] == "minimal" else self._seeds

    def comparisons(self, records: Mapping[str, Record]) -> list[Comparison]:
        """Run times, and how they relate to each other, beside SST's."""
        found = {}
        for case in self._known:
            seeds = self._seeds_of(case)
            found[case] = interval([records[_name(*case, s)]["run_time_us"] for s in seeds])
        times = [
            Comparison(
                ALL_TO_ALL,
                ", ".join(case),
                math.nan,
                case[1],
                "run time, µs",
                found[case].mean,
                found[case].half_width,
                known,
                "SST 16.0",
            )
            for case, known in self._known.items()
        ]
        ratios = [
            Comparison(
                RATIOS,
                f"{', '.join(case)} to {', '.join(FIRST)}",
                math.nan,
                case[1],
                "ratio",
                found[case].mean / found[FIRST].mean,
                found[case].half_width / found[FIRST].mean,
                known / self._known[FIRST],
                "SST 16.0",
            )
            for case, known in self._known.items()
            if case != FIRST
        ]
        return times + ratios


def _name(arrangement: str, routing: str, seed: int) -> str:
    return f"sst: {arrangement}, {routing}, seed {seed}"
