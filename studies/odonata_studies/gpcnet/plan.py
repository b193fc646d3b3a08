"""What is simulated: GPCNeT's tests, and victims beside aggressors, alone and beside congestors.

Victims and aggressors are those of De Sensi et al. 2020. GPCNeT is github.com/netbench/GPCNET,
version 1.3, ``network_load_test.c``; what measures is one of its slices, a rank a node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from odonata import Scenario
from odonata.results import Result
from odonata.study.execution import Point, Record

SEEDS = (1, 2, 3, 4, 5)
SCHEMES = ("none", "window", "ecn", "infiniband", "hpcc", "slingshot")
#: Under these the aggressors of De Sensi et al. are tried.
FEW_SCHEMES = ("none", "slingshot")

#: 64 nodes on the 16 switches of one group of LUMI-G, whose interfaces and hosts they have
#: (examples/machines/lumi-g.toml).
NODES = 64
NETWORK: Mapping[str, Any] = {
    "family": "hyperx",
    "size": [16],
    "p": 4,
    "links": {
        "terminal": {"bandwidth": "25 GB/s", "latency": "10 ns"},
        "local": {"bandwidth": "25 GB/s", "latency": "15 ns"},
    },
    "router": {"delay": "350 ns"},
}
MPI: Mapping[str, Any] = {
    "eager_limit": "16 KiB",
    "send_overhead": "405 ns",
    "receive_overhead": "405 ns",
    "send_delay": "1423 ns",
}

#: Percent of the nodes that congest (CONGESTOR_NODE_FRAC), and ranks of each of them.
CONGESTING, CONGESTING_RANKS = 80, 8
#: Messages to each neighbour before the barrier, and their size (BW_OUTSTANDING, BW_MSG_COUNT).
OUTSTANDING, BANDWIDTH_BYTES = 8, 131_072
#: When what is measured begins, and when the run ends: later where an iteration takes long.
WARM_US, END_US, END_OF_BANDWIDTH_US = 100, 3_000, 20_000
#: Repetitions that no job comes to the end of.
ENDLESS = 100_000

#: What GPCNeT measures: the unit of its figure.
TESTS: Mapping[str, str] = {"latency": "us", "bandwidth": "MiB/s", "allreduce": "us"}
_MOTIFS: Mapping[str, Mapping[str, Any]] = {
    "latency": {"kind": "neighbour", "message": "8 B", "iterations": ENDLESS},
    "bandwidth": {
        "kind": "phases",
        "iterations": ENDLESS,
        "phases": [
            {"kind": "neighbour", "message": f"{OUTSTANDING * BANDWIDTH_BYTES} B"},
            {"kind": "collective", "operation": "barrier"},
        ],
    },
    "allreduce": {
        "kind": "collective", "operation": "allreduce", "message": "8 B", "iterations": ENDLESS,
    },
}  # fmt: skip

_INCAST = {"kind": "collective", "operation": "gather", "algorithm": "linear", "root": 0}
_ALL_TO_ALL = {"kind": "all-to-all"}
#: GPCNeT's congestors, messages of 4 KiB: a get is what the root sends, a put what it receives.
CONGESTORS: Mapping[str, Mapping[str, Any]] = {
    "all-to-all": _ALL_TO_ALL,
    "incast": _INCAST,
    "put incast": _INCAST,
    "get broadcast": {**_INCAST, "operation": "scatter"},
}

#: De Sensi et al. 2020, section III-A: aggressors that send 128 KiB, and shares of the nodes.
AGGRESSORS: Mapping[str, Mapping[str, Any]] = {"incast": _INCAST, "all-to-all": _ALL_TO_ALL}
SHARES = (10, 50, 90)
VICTIMS: Mapping[str, Mapping[str, Any]] = {
    "allreduce 8 B": _MOTIFS["allreduce"],
    "allreduce 128 KiB": {**_MOTIFS["allreduce"], "message": "128 KiB"},
    "all-to-all 16 KiB": {"kind": "all-to-all", "message": "16 KiB", "iterations": ENDLESS},
    "halo3d 16 KiB": {"kind": "halo3d", "message": "16 KiB", "iterations": ENDLESS},
}


@dataclass(frozen=True)
class Case:
    """A simulation.

    Attributes:
        victim: One of :data:`TESTS` or :data:`VICTIMS`.
        scheme: Of congestion control.
        seed: Draws nodes and ring.
        aggressor: ``GPCNeT``: all of :data:`CONGESTORS`; one of :data:`AGGRESSORS`.
        share: Percent of the nodes that the aggressor has.
        beside: Whether it sends; otherwise it only has its nodes.
    """

    victim: str
    scheme: str
    seed: int
    aggressor: str
    share: int
    beside: bool

    @property
    def name(self) -> str:
        """Names the point."""
        beside = f"beside {self.aggressor}" if self.beside else f"alone, without {self.aggressor}"
        return f"{self.victim} / {self.scheme} / {beside} {self.share} % / {self.seed}"

    def _nodes(self) -> tuple[Sequence[int], Mapping[str, Sequence[int]]]:
        """Nodes of the victim and of each job beside it, shuffled (``build_subcomms``)."""
        nodes = np.random.default_rng(self.seed).permutation(NODES).tolist()
        congesting, victim = nodes[: NODES * self.share // 100], nodes[NODES * self.share // 100 :]
        jobs = list(CONGESTORS) if self.aggressor == "GPCNeT" else [self.aggressor]
        return victim, {job: congesting[i :: len(jobs)] for i, job in enumerate(jobs)}

    def scenario(self) -> Scenario:
        """The victim first, in a ring of its own order, and what runs beside it."""
        victim, beside = self._nodes()
        motifs = {**_MOTIFS, **VICTIMS}
        jobs: list[dict[str, Any]] = [
            {
                "name": "victim",
                "placement": victim,
                "nodes": len(victim),
                "start": f"{WARM_US} us",
                "motif": dict(motifs[self.victim]),
            }
        ]
        is_gpcnet = self.aggressor == "GPCNeT"
        for name, nodes in beside.items():
            job: dict[str, Any] = {"name": name, "placement": nodes, "nodes": len(nodes)}
            job |= {"ranks_per_node": CONGESTING_RANKS} if is_gpcnet else {}
            message = {"message": "4 KiB" if is_gpcnet else "128 KiB", "iterations": ENDLESS}
            job |= {"motif": {**{**CONGESTORS, **AGGRESSORS}[name], **message}}
            jobs.append({**job, **({} if self.beside else {"idle": True})})
        network = {**NETWORK, "nic": {"congestion_control": self.scheme}}
        end_us = END_OF_BANDWIDTH_US if self.victim == "bandwidth" else END_US
        simulation = {"packet": "4 KiB", "duration": f"{end_us} us"}
        return Scenario.from_dict(
            {
                "seed": self.seed,
                "network": network,
                "mpi": dict(MPI),
                "simulation": simulation,
                "job": jobs,
            }
        )

    def point(self) -> Point:
        """As the study runs it."""
        return Point(self.name, self.scenario(), times_of, 2.0 if self.beside else 1.0)


def times_of(result: Result) -> Record:
    """Times of the first job's iterations but the first, and latencies of its messages, us."""
    iterations = result.to_pandas("iterations")
    ends = iterations[iterations.job == 0].end_ps.dropna().to_numpy() / 1e6
    times = np.diff(ends)
    job = result.to_pandas("jobs").iloc[0]
    return {
        "iterations": len(times),
        "mean_us": float(times.mean()) if len(times) else float("nan"),
        "p99_us": float(np.quantile(times, 0.99)) if len(times) else float("nan"),
        "latency_us": float(job["message_latency_mean_ps"]) / 1e6,
        "latency_p99_us": float(job["message_latency_p99_ps"]) / 1e6,
    }


def figures_of(victim: str, record: Record) -> tuple[float, float]:
    """GPCNeT's figure of a run, mean and 99th percentile, in the unit of :data:`TESTS`.

    Bandwidth is that of a rank in one direction, and its percentile the lowest; the latency is
    that of a message; all else is the time of an iteration.
    """
    if victim == "latency":
        return record["latency_us"], record["latency_p99_us"]
    if victim == "bandwidth":
        mebibytes = 2 * OUTSTANDING * BANDWIDTH_BYTES / 2**20
        return 1e6 * mebibytes / record["mean_us"], 1e6 * mebibytes / record["p99_us"]
    return record["mean_us"], record["p99_us"]


def cases() -> Iterator[Case]:
    """All that is simulated."""
    for test, scheme, seed, beside in product(TESTS, SCHEMES, SEEDS, (False, True)):
        yield Case(test, scheme, seed, "GPCNeT", CONGESTING, beside)
    for victim, scheme, share, seed in product(VICTIMS, FEW_SCHEMES, SHARES, SEEDS):
        yield Case(victim, scheme, seed, "incast", share, beside=False)
        for aggressor in AGGRESSORS:
            yield Case(victim, scheme, seed, aggressor, share, beside=True)


def few_cases() -> Iterator[Case]:
    """A seed of GPCNeT's tests without and with a scheme, and of one victim."""
    for test, scheme, beside in product(TESTS, FEW_SCHEMES, (False, True)):
        yield Case(test, scheme, SEEDS[0], "GPCNeT", CONGESTING, beside)
    victim = next(iter(VICTIMS))
    for scheme in FEW_SCHEMES:
        yield Case(victim, scheme, SEEDS[0], "incast", SHARES[1], beside=False)
        yield Case(victim, scheme, SEEDS[0], "incast", SHARES[1], beside=True)
