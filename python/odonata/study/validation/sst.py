"""All-to-all run times measured with SST, for when messages can go by rendezvous."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from odonata.network import Nic
from odonata.results import Result
from odonata.scenario import Scenario
from odonata.study.execution import Point, Record
from odonata.study.validation.comparison import Comparison

ALL_TO_ALL = "SST: all-to-all"
FILE = "sst-dragonfly-72-alltoall.csv"

#: Keys of ``[network.nic]`` by which long messages are requested by their receiver; empty as long
#: as no such protocol exists. In SST's set-up messages above 12,000 B are.
PROTOCOL: dict[str, Any] = {}


def is_comparable() -> bool:
    """Whether the engine has the protocol by which SST's messages go."""
    return bool(PROTOCOL) and set(PROTOCOL) <= set(Nic.model_fields)


def run_time(result: Result) -> Record:
    """When the last rank was done, in µs."""
    return {"run_time_us": result.summary_dict["jobs"][0]["run_time_ps"] / 1e6}


def scenario(arrangement: str, routing: str) -> Scenario:
    """The set-up of the reference data."""
    link = {"bandwidth": "1 GB/s", "latency": "40 ns", "buffer": "14 kB"}
    motif = {"kind": "all-to-all", "message": "100 kB"}
    return Scenario.from_dict(
        {
            "network": {
                "family": "dragonfly",
                "p": 2,
                "a": 4,
                "h": 2,
                "arrangement": arrangement,
                "routing": routing,
                "links": {"terminal": link, "local": link, "global": link},
                "router": {"delay": "100 ns", "flit": "8 B", "crossbar": 1.0},
                "nic": PROTOCOL,
            },
            "simulation": {"packet": "1024 B"},
            "job": [{"name": "all-to-all", "nodes": NODES, "ranks_per_node": 2, "motif": motif}],
        }
    )


NODES = 72


class Sst:
    """Points and comparisons of this part.

    Args:
        directory: Of the reference data.
    """

    def __init__(self, directory: Path) -> None:
        with (directory / FILE).open(encoding="utf-8", newline="") as file:
            self._rows = list(csv.DictReader(file))

    def points(self) -> list[Point]:
        """What is simulated; nothing while it could not be compared."""
        if not is_comparable():
            return []
        return [
            Point(_name(row), scenario(row["arrangement"], row["routing"]), run_time, 20)
            for row in self._rows
        ]

    def comparisons(self, records: Mapping[str, Record]) -> list[Comparison]:
        """Run times beside SST's, or that they are not compared yet."""
        found = []
        for row in self._rows:
            record = records.get(_name(row))
            found.append(
                Comparison(
                    ALL_TO_ALL,
                    f"{row['arrangement']}, {row['routing']}",
                    math.nan,
                    row["routing"],
                    "run time, µs",
                    math.nan if record is None else record["run_time_us"],
                    math.nan,
                    float(row["alltoall_time_us"]),
                    "SST 16.0",
                    remark=""
                    if record
                    else "not compared yet: its messages go by rendezvous, which the engine lacks",
                )
            )
        return found


def _name(row: Mapping[str, str]) -> str:
    return f"sst: {row['arrangement']}, {row['routing']}"
