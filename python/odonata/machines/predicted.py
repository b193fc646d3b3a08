"""Predictions of collectives, and how they are kept in a directory."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa

from odonata.machines.aggressor import Beside
from odonata.output import Claim, write_csv, write_file, write_json
from odonata.results import SCENARIO_FILE
from odonata.results.bus_bandwidth import bus_factor
from odonata.results.stored import Maybe, OrNull, read_keys, refusal
from odonata.scenario import Scenario

#: Algorithms of NCCL.
OF_NCCL = ("channel-rings", "double-tree", "pat", "rounds")

#: What predictions are kept in.
PREDICTIONS_FILE = "predictions.json"


@dataclass(frozen=True)
class Prediction:
    """A predicted time.

    Attributes:
        collective: Operation.
        algorithm: By which it is carried out; for ``auto`` what the scenario's library chooses.
        bytes: Size of the vector of a rank, all blocks together.
        nodes: That take part.
        ranks: On them.
        engine: What simulated the network.
        median_ns: Predicted median over many calls of the time of the slowest rank.
        p10_ns: 10th percentile; ``None`` if the machine says nothing of its spread.
        p90_ns: 90th percentile.
        spread: Where the percentiles are from: ``measured`` with the calibration, or calls
            ``simulated`` beside other jobs; ``None`` without.
        protocol: NCCL's, where its tuner chose.
        beside: How much longer it takes beside an aggressor; ``None`` without one.
    """

    collective: str
    algorithm: str
    bytes: int
    nodes: int
    ranks: int
    engine: str
    median_ns: float
    p10_ns: float | None
    p90_ns: float | None
    spread: str | None = None
    protocol: str | None = None
    beside: Beside | None = None

    @property
    def of_nccl(self) -> bool:
        """Whether the algorithm is one of NCCL's."""
        return self.algorithm in OF_NCCL

    @property
    def bus_bandwidth(self) -> float:
        """As nccl-tests prints it, in GB/s."""
        return self.bytes / self.median_ns * bus_factor(self.collective, self.ranks)

    def to_dict(self) -> dict[str, Any]:
        """As nested dicts, for JSON; of NCCL with protocol and bus bandwidth.

        Without what it is beside if it is alone.
        """
        found = asdict(self)
        del found["protocol"]
        if self.beside is None:
            del found["beside"]
        if self.of_nccl:
            found |= {"protocol": self.protocol, "bus_bandwidth_gb_s": self.bus_bandwidth}
        return found

    def to_row(self) -> dict[str, Any]:
        """The same as a row of a table."""
        found = self.to_dict()
        for key, value in found.pop("beside", {}).items():
            found[f"beside_{key}"] = value
        return found


@dataclass(frozen=True)
class Predicted:
    """What was predicted at a time.

    Attributes:
        machine: Its scenario.
        hosts: The allocation, in rank order.
        algorithms: Those that were asked for; none: all of the collective.
        background: File of the hosts that other jobs had, if one was given.
        calls: How many were simulated beside them.
        beside: The options of an aggressor, as words; none without one.
        predictions: Size after size.
    """

    machine: Scenario
    hosts: Sequence[str]
    algorithms: Sequence[str]
    background: str | None
    calls: int
    beside: Sequence[str]
    predictions: Sequence[Prediction]

    @property
    def name(self) -> str:
        """The machine's."""
        return (self.machine.machine.name if self.machine.machine else "") or "the machine"

    @property
    def by_size(self) -> list[list[Prediction]]:
        """The predictions of each size."""
        return [[*row] for _, row in groupby(self.predictions, lambda one: one.bytes)]

    @property
    def command(self) -> str:
        """What predicts the same, with the machine in scenario.toml and the hosts in hosts.txt."""
        one = self.predictions[0]
        words = ["odonata", "predict-collective", "scenario.toml", "--hosts", "hosts.txt"]
        words += ["--collective", one.collective, "--engine", one.engine]
        words += ["--per-node", str(one.ranks // one.nodes)]
        for name in self.algorithms:
            words += ["--algorithm", name]
        for row in self.by_size:
            words += ["--bytes", str(row[0].bytes)]
        if self.background is not None:
            words += ["--background", self.background, "--calls", str(self.calls)]
        words += self.beside
        return shlex.join(words)


_PREDICTION = {
    **dict.fromkeys(("collective", "algorithm", "engine"), str),
    **dict.fromkeys(("bytes", "nodes", "ranks"), int),
    "median_ns": float,
    **dict.fromkeys(("p10_ns", "p90_ns"), OrNull(float)),
    "spread": OrNull(str),
    "beside": Maybe(
        {
            "kind": str,
            **dict.fromkeys(("hosts", "calls"), int),
            **dict.fromkeys(("median", "least", "most"), float),
        }
    ),
}
_FORM = {
    "hosts": [str],
    "algorithms": [str],
    "background": OrNull(str),
    "calls": int,
    "beside": [str],
    "predictions": [_PREDICTION],
}


def content(found: Predicted) -> dict[str, Any]:
    """All but the machine's scenario, for JSON."""
    rows = {"predictions": [one.to_dict() for one in found.predictions]}
    return {**{key: getattr(found, key) for key in _FORM}, **rows}


def save(found: Predicted, held: Claim) -> None:
    """Writes predictions, as JSON and as a table, and the machine's scenario."""
    with held.adding() as partial:
        write_json(partial / PREDICTIONS_FILE, content(found))
        rows = [one.to_row() for one in found.predictions]
        write_csv(partial / "predictions.csv", pa.Table.from_pylist(rows))
        write_file(partial / SCENARIO_FILE, found.machine.to_toml(directory=held.directory))


def load(directory: Path) -> Predicted:
    """The predictions of a directory.

    Raises:
        OutputError: If they cannot be read.
    """
    file = directory / PREDICTIONS_FILE
    saved = read_keys(file, _FORM)
    if not saved["predictions"]:
        raise refusal(file, "it has no prediction")
    names = [one.name for one in fields(Prediction)]
    found = [Prediction(**{key: one.get(key) for key in names}) for one in saved["predictions"]]
    found = [
        replace(one, beside=Beside(**one.beside)) if isinstance(one.beside, dict) else one
        for one in found
    ]
    machine = Scenario.from_file(directory / SCENARIO_FILE)
    return Predicted(machine, **{**{key: saved[key] for key in _FORM}, "predictions": found})


__all__ = ["Predicted", "Prediction", "content", "load", "save"]
