"""How long a collective takes on the nodes of an allocation of a real machine."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from odonata import _engine, names
from odonata.errors import (
    InternalError,
    MachineError,
    Problem,
    SimulationError,
)
from odonata.machines.hostmodel import HostModel, by_size
from odonata.machines.hosts import hosts_of, nodes_of
from odonata.machines.names import POWER_OF_TWO, algorithm_of, algorithms_of, operation_of
from odonata.scenario import Scenario

#: Messages of a call for each pair of ranks, of algorithms that have about so many.
MESSAGES_PER_PAIR = {
    ("allreduce", "ring"): 2.0,
    ("allreduce", "segmented-ring"): 2.0,
    ("allgather", "neighbour-exchange"): 0.5,
    ("allgather", "ring"): 1.0,
    ("allgather", "sparbit"): 1.0,
    ("alltoall", "linear"): 1.0,
    ("alltoall", "pairwise"): 1.0,
    ("broadcast", "scatter-ring"): 1.0,
    ("reduce-scatter", "ring"): 1.0,
}

#: Operations whose vector has a block for every rank.
BY_BLOCK = ("allgather", "alltoall", "gather", "reduce-scatter", "scatter")


@dataclass(frozen=True)
class Case:
    """A collective on some nodes.

    Attributes:
        operation: Ours.
        algorithm: Ours, or ``auto``.
        size: Of the vector of a rank in bytes, all blocks together.
        nodes: Of the network, in the order of ranks.
        per_node: Ranks on each; they follow each other.
    """

    operation: str
    algorithm: str
    size: int
    nodes: tuple[int, ...]
    per_node: int = 1

    @property
    def ranks(self) -> int:
        """How many take part."""
        return len(self.nodes) * self.per_node


@dataclass(frozen=True)
class Prediction:
    """A predicted time.

    Attributes:
        collective: Operation.
        algorithm: By which it is carried out; ``auto``: the rules of the scenario's library.
        bytes: Size of the vector of a rank, all blocks together.
        nodes: That take part.
        ranks: On them.
        engine: What simulated the network.
        median_ns: Predicted median over many calls of the time of the slowest rank.
        p10_ns: 10th percentile; ``None`` if the machine says nothing of its spread.
        p90_ns: 90th percentile.
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

    def to_dict(self) -> dict[str, Any]:
        """As nested dicts, for JSON."""
        return asdict(self)


class Predictor:
    """Predicts collectives on one machine.

    Args:
        scenario: Of the machine: its network, `[mpi]` and `[machine]`. Its jobs do not count.
        engine: Instead of the scenario's.

    Raises:
        MachineError: If the scenario names no hosts, or wrongly.
    """

    def __init__(self, scenario: Scenario, *, engine: names.Engine | None = None) -> None:
        self.scenario = scenario
        self.hosts = hosts_of(scenario)
        self.engine: str = engine or scenario.simulation.engine
        self.name = (scenario.machine.name if scenario.machine else "") or "the machine"
        self._form = scenario.normalised()
        self._form["jobs"] = []
        simulation = self._form["simulation"]
        simulation["engine"] = self.engine
        simulation["duration_ps"] = None
        if self.engine == "packet":
            simulation["paths"] = None
            simulation.pop("settle_ps", None)

    @classmethod
    def from_file(
        cls, file: str | os.PathLike[str], *, engine: names.Engine | None = None
    ) -> Predictor:
        """Reads the scenario of a machine."""
        return cls(Scenario.from_file(file), engine=engine)

    def case(
        self,
        hosts: Sequence[str],
        collective: str,
        algorithm: str,
        size: int,
        per_node: int = 1,
    ) -> Case:
        """A collective on hosts, checked.

        Args:
            hosts: In the order of ranks.
            collective: Name of the operation, as MPI or a benchmark has it.
            algorithm: Name of an algorithm, ours or a benchmark's.
            size: Of the vector of a rank in bytes, all blocks together.
            per_node: Ranks on each host.

        Raises:
            MachineError: If a host is unknown or there twice, or the collective, the algorithm or
                the size is none that is possible.
        """
        operation = operation_of(collective)
        nodes = nodes_of(hosts, self.hosts, per_node, self.name)
        case = Case(operation, algorithm_of(operation, algorithm), size, tuple(nodes), per_node)
        check(case)
        return case

    def predict(self, case: Case) -> Prediction:
        """Predicts one case.

        Raises:
            MachineError: If it cannot be carried out.
            ScenarioError: If the scenario cannot be simulated.
        """
        check(case)
        median = self.time_ns(case, HostModel.of(self.scenario, case.per_node))
        machine = self.scenario.machine
        shared = machine.shared if machine and case.per_node > 1 else None
        spread = shared.spread if shared else machine.spread if machine else []
        low = by_size([(int(point.size), point.p10) for point in spread], case.size)
        high = by_size([(int(point.size), point.p90) for point in spread], case.size)
        return Prediction(
            collective=case.operation,
            algorithm=case.algorithm,
            bytes=case.size,
            nodes=len(case.nodes),
            ranks=case.ranks,
            engine=self.engine,
            median_ns=median,
            p10_ns=median * low if spread else None,
            p90_ns=median * high if spread else None,
        )

    def time_ns(self, case: Case, host: HostModel) -> float:
        """Simulates one call with these parameters of the hosts; until its last rank is done."""
        form = copy.copy(self._form)
        form["mpi"] = copy.deepcopy(form["mpi"])
        form["network"] = {**form["network"], "nic": dict(form["network"]["nic"])}
        host.put_into(form, case.size)
        before = host.before_ns(case.operation, case.algorithm, case.ranks, case.size)
        form["jobs"] = [_job(case, before)]
        try:
            tables = _engine.run(json.dumps(form))
        except _engine.SpecError as error:
            path, message = error.args[0], error.args[1]
            if path.startswith("job"):
                raise MachineError(f"{case.operation} {case.algorithm}: {message}") from None
            raise self.scenario.error([Problem(*error.args)]) from None
        except _engine.SimulationError as error:
            raise SimulationError(str(error)) from None
        except _engine.InternalError as error:
            raise InternalError(str(error)) from None
        return float(tables["jobs"]["end_ps"][0]) / 1_000


def check(case: Case) -> None:
    """Whether a case can be carried out.

    Raises:
        MachineError: If it cannot; says what is allowed.
    """
    if case.size < 1:
        raise MachineError(f"bytes: found {case.size}; allowed: at least 1")
    if case.ranks < 2:
        raise MachineError(f"hosts: found {case.ranks} rank; allowed: at least 2")
    if case.operation in BY_BLOCK and case.size % case.ranks:
        nearest = max(case.size // case.ranks, 1) * case.ranks
        raise MachineError(
            f"bytes: found {case.size} for {case.ranks} ranks; allowed for {case.operation}: a "
            f"multiple of {case.ranks}, such as {nearest}, as all ranks have blocks of one size"
        )
    if not possible(case.operation, case.algorithm, case.ranks):
        others = [name for name in algorithms_of(case.operation) if name != case.algorithm]
        others = [name for name in others if possible(case.operation, name, case.ranks)]
        raise MachineError(
            f"{case.operation} {case.algorithm}: found {case.ranks} ranks; allowed: a power of two "
            f"of them. For {case.ranks} ranks there are {', '.join(others)}"
        )


def possible(operation: str, algorithm: str, ranks: int) -> bool:
    """Whether an algorithm is defined for a number of ranks, as libraries have it."""
    needs = (operation, algorithm) in POWER_OF_TWO or algorithm.startswith("bine")
    return not needs or ranks & (ranks - 1) == 0


def candidates(operation: str, ranks: int) -> list[str]:
    """Algorithms of an operation that are defined for a number of ranks."""
    return [name for name in algorithms_of(operation) if possible(operation, name, ranks)]


def _job(case: Case, before_ns: float) -> dict[str, Any]:
    """The engine's form of the job that calls the collective once."""
    block = case.size // case.ranks if case.operation in BY_BLOCK else case.size
    return {
        "name": case.operation,
        "nodes": len(case.nodes),
        "ranks": None,
        "ranks_per_node": case.per_node,
        "start_ps": 0,
        "idle": False,
        "placement": {"policy": "explicit", "nodes": list(case.nodes)},
        "groups": None,
        "mapping": {"policy": "linear"},
        "load": {
            "motif": {
                "kind": {
                    "name": "collective",
                    "operation": case.operation,
                    "message_bytes": block,
                    "root": 0,
                    "algorithm": case.algorithm,
                },
                "iterations": 1,
                "compute_ps": round(before_ns * 1_000),
            }
        },
    }
