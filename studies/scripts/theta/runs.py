"""What is simulated, and the figures that are kept of each run.

A run is named by *part* (what it is for), *placement*, *routing* and *seed*; everything else is
``examples/theta-amg.toml``.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import odonata
from odonata import Result, Scenario

from . import bounds

PLACEMENTS = ("contiguous", "random-group", "random-router", "random-node", "spread")
#: Placements that do not depend on the seed; only routing does.
FIXED = ("contiguous", "spread")

#: Name in tables and pictures → value of ``network.routing``. Without a threshold, which was the
#: default when the study was made.
ROUTINGS: dict[str, Any] = {
    "minimal": "minimal",
    "UGAL-L": {"algorithm": "ugal-l", "threshold": "0 B"},
    "PAR": {"algorithm": "par", "threshold": "0 B"},
    "PAR + groups": {"algorithm": "par", "detours_in_group": True, "threshold": "0 B"},
    "Valiant": "valiant",
}
#: The same algorithms with the threshold that they have by default today.
BY_DEFAULT: dict[str, Any] = {
    "PAR": "par",
    "PAR + groups": {"algorithm": "par", "detours_in_group": True},
}

CLASSES = ("terminal", "green", "black", "blue")

#: Nodes that AMG leaves to others, and what those do where there are others.
BACKGROUND = {
    "name": "others",
    "nodes": 2456,
    "traffic": {"pattern": "uniform-random", "message": "64 KiB", "load": 0.1},
}
#: AMG starts when the others' traffic has become steady.
BACKGROUND_START = "30 us"

#: Changes of the model, one at a time.
SENSITIVITY: dict[str, dict[str, Any]] = {
    "twice the bytes": {"job.0.motif.total_bytes": "4.8 GB"},
    "ten phases of a tenth": {"job.0.motif.total_bytes": "240 MB", "job.0.motif.iterations": 10},
    "all latencies × 4": {
        "network.router.delay": "200 ns",
        "network.links.terminal.latency": "120 ns",
        "network.links.green.latency": "120 ns",
        "network.links.black.latency": "120 ns",
        "network.links.blue.latency": "1200 ns",
    },
    "buffers of 64 KiB": {f"network.links.{name}.buffer": "64 KiB" for name in CLASSES},
    "blue links of 1.5 GiB/s": {"network.links.blue.bandwidth": "1.5 GiB/s"},
}


@dataclass(frozen=True)
class Run:
    """One simulation."""

    #: What it is for; routing algorithms of ``by default`` are those of :data:`BY_DEFAULT`.
    part: str
    placement: str
    routing: str
    seed: int
    ranks_per_node: int = 1
    changes: dict[str, Any] = field(default_factory=dict, hash=False)
    background: bool = False

    def scenario(self, base: Path) -> Scenario:
        """The example with this run's changes.

        Args:
            base: ``examples/theta-amg.toml``.
        """
        routings = BY_DEFAULT if self.part == "by default" else ROUTINGS
        scenario = Scenario.from_file(base).with_set(
            {
                "seed": self.seed,
                "network.routing": routings[self.routing],
                "job.0.placement": self.placement,
                "job.0.ranks_per_node": self.ranks_per_node,
                **self.changes,
            }
        )
        if not self.background:
            return scenario
        data = scenario.with_set({"job.0.start": BACKGROUND_START}).to_dict()
        data["job"].append(BACKGROUND)
        return Scenario.from_dict(data, directory=scenario.directory)


def all_runs() -> list[Run]:
    """Every simulation of the study, the longest kinds first, so that all cores stay busy."""
    runs = []
    seeds = {placement: 3 if placement in FIXED else 6 for placement in PLACEMENTS}
    three = ("contiguous", "random-node", "spread")
    pair = ("minimal", "PAR + groups")
    for placement in three:
        for routing in pair:
            for seed in (1, 2):
                runs.append(Run("others", placement, routing, seed, background=True))
    for routing in reversed(ROUTINGS):
        for placement in PLACEMENTS:
            for seed in range(1, seeds[placement] + 1):
                runs.append(Run("main", placement, routing, seed))
    for routing in BY_DEFAULT:
        for placement in three:
            runs.append(Run("by default", placement, routing, 1))
    for name, changes in SENSITIVITY.items():
        for placement in three:
            for routing in pair:
                runs.append(Run(name, placement, routing, 1, changes=changes))
    # A node copies between its own ranks at the rate of its memory, not of its network interface.
    memory = {"network.nic.loopback_bandwidth": "90 GB/s"}
    for ranks in (4, 16):
        for placement in three:
            for routing in pair:
                runs.append(Run("ranks per node", placement, routing, 1, ranks, memory))
    return runs


@dataclass
class Kept:
    """What is kept of a run: figures, and for the pictures a few arrays."""

    row: dict[str, Any]
    #: Time in µs and share of AMG's bytes delivered until then.
    delivered: tuple[np.ndarray, np.ndarray]
    #: Bytes sent over the global links from each group to each other one. Shape: groups × groups.
    between_groups: np.ndarray
    #: CPU seconds, packet-hops and peak memory: what the run cost, which no table shows.
    cost: dict[str, float]


def simulate(run: Run, base: Path, matrix_file: Path) -> Kept:
    """Simulates one run, and checks it against the bounds that hold for its routing.

    Raises:
        AssertionError: If AMG finishes earlier than it can.
    """
    scenario = run.scenario(base)
    result = odonata.run(scenario)
    job = result.to_pandas("jobs").iloc[0]
    links = result.to_pandas("links")
    run_us = (job.end_ps - job.start_ps) / 1e6
    row: dict[str, Any] = {
        "part": run.part,
        "placement": run.placement,
        "routing": run.routing,
        "seed": run.seed,
        "ranks_per_node": run.ranks_per_node,
        "run_time_us": run_us,
        "message_latency_median_us": job.message_latency_median_ps / 1e6,
        "message_latency_p99_us": job.message_latency_p99_ps / 1e6,
        "mean_routers_visited": job.mean_routers_visited,
    }
    for name in CLASSES:
        of_class = links[links["class"] == name]
        used = of_class[of_class.bytes > 0]
        row[f"{name}_gb"] = of_class.bytes.sum() / 1e9
        row[f"{name}_links_used"] = len(used)
        row[f"{name}_busiest_us"] = of_class.busy_ps.max() / 1e6
        row[f"{name}_stall_mean_us"] = used.stall_ps.mean() / 1e6 if len(used) else 0.0
    time_us, share = delivery(result, float(job.start_ps))
    for quantile in (50, 90, 99):
        row[f"delivered_{quantile}_us"] = time_us[np.searchsorted(share, quantile / 100)]

    iterations = scenario.job[0].motif.iterations  # type: ignore[union-attr]
    sent = traffic(matrix_file, float(job.bytes_created) / iterations)
    place = bounds.Place.of(result)
    for bound in bounds.all_bounds(sent, place, links):
        row[f"bound_{bound.name}_us"] = bound.seconds * iterations * 1e6
        if run.routing in bound.holds_for:
            assert run_us >= bound.seconds * iterations * 1e6, (run, bound, run_us)

    blue = links[links["kind"] == "global"]
    between = np.zeros((result.meta["groups"],) * 2)
    np.add.at(between, (blue.from_group, blue.to_group), blue.bytes)
    cost = {
        "cpu_seconds": result.timing["cpu_seconds"],
        "packet_hops": float(result.meta["packet_hops"]),
        "peak_rss_bytes": float(result.timing["peak_rss_bytes"]),
    }
    return Kept(row, (time_us, share), between, cost)


def delivery(result: Result, start_ps: float) -> tuple[np.ndarray, np.ndarray]:
    """Share of AMG's bytes delivered until the end of each slice of time since its start (µs)."""
    timeline = result.to_pandas("timeline")
    timeline = timeline[timeline.job == 0]
    width = timeline.time_ps.iloc[1] - timeline.time_ps.iloc[0]
    share = timeline.delivered_bytes.cumsum() / timeline.delivered_bytes.sum()
    return (timeline.time_ps.to_numpy() + width - start_ps) / 1e6, share.to_numpy()


@cache
def _pairs(matrix_file: Path) -> pd.DataFrame:
    return pd.read_csv(matrix_file)


def traffic(matrix_file: Path, total_bytes: float) -> bounds.Traffic:
    """The matrix as the engine replays it: half of each pair's bytes either way, scaled."""
    pairs = _pairs(matrix_file)
    half = pairs.bytes.to_numpy() / pairs.bytes.sum() * total_bytes / 2
    return bounds.Traffic(
        source=np.concatenate([pairs.a, pairs.b]),
        target=np.concatenate([pairs.b, pairs.a]),
        bytes=np.concatenate([half, half]),
    )


def simulate_all(base: Path, matrix_file: Path, processes: int) -> list[tuple[Run, Kept]]:
    """Simulates everything, in the order of :func:`all_runs`, and says how far it is."""
    runs = all_runs()
    kept = []
    with ProcessPoolExecutor(processes) as pool:
        work = [pool.submit(simulate, run, base, matrix_file) for run in runs]
        for number, (run, future) in enumerate(zip(runs, work, strict=True), start=1):
            done = future.result()
            kept.append((run, done))
            print(
                f"\r{number}/{len(runs)}  {run.placement}, {run.routing}: "
                f"{done.row['run_time_us']:.0f} µs".ljust(70),
                end="",
                flush=True,
            )
    print()
    return kept
