"""The probe: collectives on 16 nodes, again and again, among the jobs of a moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from odonata.results import Result
from odonata.scenario import Scenario
from odonata.study.execution import Record
from odonata_studies.longtail import machine
from odonata_studies.longtail.months import Moment

#: The paper's collectives and one more, and its sizes.
COLLECTIVES = ("broadcast", "reduce", "alltoall", "allreduce")
SIZES = (2**2, 2**10, 2**15, 2**20)
LARGE = 2**20
#: Not among the paper's figures, which says that the background hardly affects it (5.2).
PING_PONG = "ping-pong"
#: With whom the first node exchanges: the last, on another island, or the second, on the same one.
LAST, SECOND = -1, 1
#: Standard deviation, over their mean, of 208 means of 1,000 half round trips each, of 1 B and of
#: 16 MiB, between two nodes in different racks of Piz Daint in a quiet hour (De Sensi et al. 2022,
#: "Noise in the Clouds"; cloud_noise_data, daint_mc_quiet_hour_diff_rack_default). They do not go
#: with the share of busy nodes (studies/pages/study-tails-measured.md).
_SCATTER_SMALL, _SCATTER_LARGE = 0.337, 0.041
#: Name of the probe's job.
PROBE = "probe"
#: Table 1: HACC with 10 million particles on 16 nodes, miniAMR. A node computes 1 TFLOP/s: some
#: 3 % of what its four V100 could.
APPLICATION_PROBES: Mapping[str, Mapping[str, Any]] = {
    "HACC": {"kind": "hacc", "cells": [86, 86, 86], "flop_rate": "1 TFLOP/s"},
    "miniAMR": {"kind": "mini-amr", "flop_rate": "1 TFLOP/s"},
}


@dataclass(frozen=True)
class Setting:
    """What one simulation is, beside the moment.

    Attributes:
        scenario: Where the probe's nodes are.
        routing: Name of the algorithm.
        sizes: Of the collectives, in bytes.
        duration_ms: Simulated time.
        intensity: Factor for the bytes of all background messages.
        pause_us: Of the ranks before each call.
        application: Name of an application that is the probe, instead of collectives.
        global_links: Of a spine.
        per_message: Whether routing decides for whole messages.
        combine: How fast a rank combines vectors.
        library: Whose choice of algorithms.
        attribution: Whether it is recorded for whom the probe waits.
        alone: Whether the other jobs do nothing.
        packet: Of what size packets are.
        pair: Whether the probe's first node and one other alone send a message to and fro, instead
            of the collectives of all.
        partner: Which of the probe's nodes the other one is.
    """

    scenario: str = machine.DIFFERENT_ISLANDS
    routing: str = "fpar"
    sizes: tuple[int, ...] = SIZES
    duration_ms: int = 60
    intensity: float = 1.0
    pause_us: int = 100
    application: str = ""
    global_links: int = machine.GLOBAL_LINKS
    per_message: bool = False
    combine: str = "11 GB/s"
    library: str = "open-mpi"
    attribution: bool = False
    alone: bool = False
    packet: str = "16 KiB"
    pair: bool = False
    partner: int = LAST

    def but(self, **changes: Any) -> Setting:
        """The same with some changes."""
        return replace(self, **changes)

    @property
    def name(self) -> str:
        """All that differs from the default."""
        usual = Setting()
        parts = []
        for key, value in self.__dict__.items():
            if value != getattr(usual, key):
                text = "+".join(map(str, value)) if isinstance(value, tuple) else str(value)
                parts.append(f"{key}={text}")
        return ", ".join(parts) or "standard"


@dataclass(frozen=True)
class Samples:
    """Times of one collective at one size.

    Attributes:
        collective: Its name.
        size: Bytes.
        us: Of every call the time of its slowest rank; of a ping-pong to and fro.
    """

    collective: str
    size: int
    us: NDArray[np.float64] = field(repr=False)


def scenario_of(moment: Moment, setting: Setting) -> Scenario:
    """The scenario of a setting at a moment."""
    algorithm: Any = setting.routing
    if setting.per_message:
        algorithm = {"algorithm": setting.routing, "per": "message"}
    nodes = machine.probe_nodes(setting.scenario)
    if setting.pair:
        nodes = [nodes[0], nodes[setting.partner]]
    content = {
        "network": machine.network(algorithm, setting.global_links),
        "simulation": {"duration": f"{setting.duration_ms} ms", "packet": setting.packet},
        "mpi": machine.mpi(setting.combine, setting.library),
        "seed": moment.number + 1,
        "record": {"rank_activity": not setting.application, "attribution": setting.attribution},
        "job": [
            {"name": PROBE, "placement": nodes, "motif": _motif(setting)},
            *([] if setting.alone else _background(moment, setting.intensity)),
        ],
    }
    return Scenario.from_dict(content)


def scatter_of(size: int) -> float:
    """Scatter of a mean of 1,000 ping-pongs on a real machine: of short messages, and of others.

    Args:
        size: Bytes.
    """
    return _SCATTER_SMALL if size <= 2**10 else _SCATTER_LARGE


def calls(setting: Setting) -> list[tuple[str, int]]:
    """The collectives of a round and their sizes, in order."""
    names = (PING_PONG,) if setting.pair else COLLECTIVES
    return [(name, size) for size in setting.sizes for name in names]


def _motif(setting: Setting) -> dict[str, Any]:
    if setting.application:
        return {**APPLICATION_PROBES[setting.application], "iterations": 100_000}
    phases: list[dict[str, Any]] = []
    for name, size in calls(setting):
        phases += [
            {"compute": f"{setting.pause_us} us"},
            {"kind": "collective", "operation": "barrier"},
            *_call(name, size),
        ]
    # More rounds than fit: the run ends after its duration.
    return {"kind": "phases", "iterations": 100_000, "phases": phases}


def _call(name: str, size: int) -> list[dict[str, Any]]:
    if name != PING_PONG:
        return [{"kind": "collective", "operation": name, "message": f"{size} B"}]
    # Between two ranks the simplest broadcast is one message from its root to the other.
    simplest = {"kind": "collective", "operation": "broadcast", "algorithm": "linear"}
    return [{**simplest, "message": f"{size} B", "root": root} for root in (0, 1)]


def _background(moment: Moment, intensity: float) -> list[dict[str, Any]]:
    jobs = []
    for job in moment.jobs:
        if len(job.nodes) < 2:
            continue
        application = job.application
        jobs.append(
            {
                "name": f"{application.name}-{job.id}",
                "placement": list(job.nodes),
                "start": f"{round(1000 * job.phase * application.interval_us)} ns",
                "traffic": {
                    "pattern": "stencil",
                    "to": "all",
                    "process": "aligned",
                    "message": f"{round(application.message_bytes * intensity)} B",
                    "interval": f"{application.interval_us} us",
                },
            }
        )
    return jobs


def keep_probe(result: Result) -> Record:
    """What is kept of a run: times of all calls, loads of links, and whom the probe waited for."""
    record: Record = {"links": _loads(result), "waits": _waits(result)}
    if len(result.table("rank_activity")):
        record["calls_ns"] = call_times(result).tolist()
    else:
        ends = result.table("iterations").to_pandas()
        # Iterations that were not reached have no end.
        ends = ends[(ends.job == 0) & (ends.end_ps > 0)].end_ps.to_numpy()
        record["iterations_us"] = (np.diff(ends, prepend=0) / 1e6).tolist()
    return record


def call_times(result: Result) -> NDArray[np.int64]:
    """Times of the probe's calls in ns, in their order; barriers are left out.

    A rank's time is that from the end of the barrier before to the end of the last thing that it
    does in the collective; that of a call the largest of its ranks. Calls that the end of the run
    cut off are left out.
    """
    table = result.table("rank_activity")
    rank = table["rank"].to_numpy()
    begin, end = table["begin_ps"].to_numpy(), table["end_ps"].to_numpy()
    name = np.array([one or "" for one in table["collective"].to_pylist()], dtype=object)
    counts = (name != "") & (name != "barrier")
    first = counts & ~np.concatenate(([False], counts[:-1] & (rank[1:] == rank[:-1])))
    last = counts & ~np.concatenate((counts[1:] & (rank[1:] == rank[:-1]), [False]))
    per_rank = []
    for one in np.unique(rank):
        here = rank == one
        # The last call may be cut off.
        per_rank.append((end[here & last] - begin[here & first])[:-1])
    shortest = min(map(len, per_rank), default=0)
    times = np.stack([times[:shortest] for times in per_rank])
    slowest: NDArray[np.int64] = np.rint(times.max(axis=0) / 1000).astype(np.int64)
    return slowest


def samples_of(record: Record, setting: Setting) -> list[Samples]:
    """The times of a record by collective and size."""
    order = calls(setting)
    times = np.asarray(record["calls_ns"], dtype=np.float64) / 1000
    return [
        Samples(name, size, times[position :: len(order)])
        for position, (name, size) in enumerate(order)
    ]


def _loads(result: Result) -> dict[str, float]:
    """Loads of links as a share of what they carry: of all global ones, and near the probe.

    By the background alone where attribution was recorded, else by all.
    """
    links = result.table("links").to_pandas()
    sent = links.bytes.to_numpy(dtype=np.float64)
    by_job = result.table("link_jobs").to_pandas()
    if len(by_job):
        own = by_job[by_job.job == 0]
        sent[own.link.to_numpy()] -= own.bytes.to_numpy()
    seconds = result.meta["end_ps"] * 1e-12
    load = sent / (links.bandwidth_bytes_per_s.to_numpy() * seconds)
    placement = result.table("placement").to_pandas()
    routers = set(placement[placement.job == 0].router)
    local, far = links.kind == "local", links.kind == "global"
    near = local & (links.from_router.isin(routers) | links.to_router.isin(routers))
    return {
        "global": float(load[far].mean()),
        "busiest global": float(load[far].max()),
        "local": float(load[local].mean()),
        "near the probe": float(load[near].mean()),
    }


def _waits(result: Result) -> dict[str, float]:
    """Time in µs that packets of the probe waited for those of each other job."""
    waits = result.table("link_waits").to_pandas()
    if not len(waits):
        return {}
    names: Sequence[str] = result.table("jobs")["name"].to_pylist()
    own = waits[(waits.job == 0) & (waits.by_job != 0)]
    total = (own.sending_ps + own.blocking_ps).groupby(own.by_job).sum()
    return {names[job]: float(ps) / 1e6 for job, ps in total.items()}
