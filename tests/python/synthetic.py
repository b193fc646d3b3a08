"""A made-up result of the shape that the engine returns, for tests of what comes after it.

Nothing in it was simulated. The wiring is a dragonfly's with the absolute arrangement; loads
and latencies are drawn from distributions that look like those of a run.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from odonata.results.tables import ENGINE_TABLES

PS_PER_US = 1_000_000
ACTIVITY = ("injected_bytes", "delivered_bytes", "messages", "message_latency_sum_ps")


def wiring(p: int, a: int, h: int) -> dict[str, np.ndarray]:
    """Link table columns of a dragonfly with g = a·h + 1 groups."""
    g = a * h + 1
    rows: list[tuple[int, ...]] = []  # kind, from_router, from_node, to_router, to_node, port
    for group in range(g):
        for place in range(a):
            router = group * a + place
            for node in range(p):
                rows.append((0, router, -1, -1, router * p + node, node))
            others = [group * a + other for other in range(a) if other != place]
            for number, other in enumerate(others):
                rows.append((1, router, -1, other, -1, p + number))
            for number in range(h):
                index = place * h + number
                peer = index if index < group else index + 1
                back = group if group < peer else group - 1
                rows.append((2, router, -1, peer * a + back // h, -1, p + a - 1 + number))
    for node in range(g * a * p):
        rows.append((0, -1, node, node // p, -1, -1))
    kind, from_router, from_node, to_router, to_node, port = np.array(rows).T

    def group_of(router: np.ndarray, node: np.ndarray) -> np.ndarray:
        return np.where(router >= 0, router // a, node // (p * a))

    return {
        "link": np.arange(len(kind)),
        "kind": kind,
        "class": kind.copy(),
        "from_router": from_router,
        "from_node": from_node,
        "to_router": to_router,
        "to_node": to_node,
        "from_group": group_of(from_router, from_node),
        "to_group": group_of(to_router, to_node),
        "port": port,
    }


def _latency_figures(name: str, sample: np.ndarray) -> dict[str, float]:
    sample = np.sort(sample)
    figures = {
        "min": sample[0],
        "p25": sample[len(sample) // 4],
        "median": sample[len(sample) // 2],
        "p75": sample[3 * len(sample) // 4],
        "p99": sample[99 * len(sample) // 100],
        "max": sample[-1],
        "mean": sample.mean(),
    }
    return {f"{name}_{key}_ps": value for key, value in figures.items()}


def engine_result(p: int = 2, a: int = 4, h: int = 2, seed: int = 1) -> dict[str, Any]:
    """What ``odonata._engine.run`` would return for two jobs that halve the machine."""
    random = np.random.default_rng(seed)
    g = a * h + 1
    nodes, routers = g * a * p, g * a
    end = 800 * PS_PER_US
    links = wiring(p, a, h)
    count = len(links["link"])
    mean_load = np.array([0.25, 0.35, 0.6])[links["kind"]]
    utilisation = np.clip(random.gamma(9.0, mean_load / 9.0), 0, 1)
    bandwidth = np.array([16 << 30, 5_637_144_576, 5_035_849_154])[links["kind"]]
    latency = np.array([30_000, 30_000, 300_000])[links["kind"]]
    busy = (utilisation * end).astype(np.int64)
    stall = (np.clip(random.normal(0.05, 0.05, count), 0, 1 - utilisation) * end).astype(np.int64)
    carried = (busy / 1e12 * bandwidth).astype(np.int64)
    links |= {
        "bandwidth_bytes_per_s": bandwidth,
        "latency_ps": latency,
        "bytes": carried,
        "packets": carried // 4096,
        "busy_ps": busy,
        "stall_ps": stall,
        "utilisation": busy / end,
    }

    names = ["halo", "all-to-all"]
    jobs: dict[str, list[Any]] = {}
    histograms: dict[str, list[Any]] = {
        key: [] for key in ("job", "quantity", "low_ps", "high_ps", "count")
    }
    placement: dict[str, list[Any]] = {
        key: [] for key in ("job", "rank", "node", "router", "group")
    }
    timeline: dict[str, list[Any]] = {key: [] for key in ("time_ps", "job", *ACTIVITY)}
    for job, name in enumerate(names):
        message = np.sort(random.lognormal(2.5 + job, 0.6, 5_000) * PS_PER_US).astype(np.int64)
        packet = np.sort(message // 3)
        ranks = nodes // 2
        row: dict[str, Any] = {
            "job": job,
            "name": name,
            "nodes": ranks,
            "ranks": ranks,
            "start_ps": 0,
            "end_ps": end if job else end * 3 // 4,
            "messages_created": len(message),
            "messages_delivered": len(message),
            "bytes_created": len(message) << 20,
            "bytes_delivered": len(message) << 20,
            "offered_bytes_per_s": (len(message) << 20) / (end / 1e12),
            "accepted_bytes_per_s": (len(message) << 20) / (end / 1e12),
            **_latency_figures("message_latency", message),
            **_latency_figures("packet_latency", packet),
            "mean_routers_visited": 2.9 + job / 10,
            "compute_ps": 0.0,
            "wait_ps": 1e9,
            "unreceived_messages": 0,
        }
        for key, value in row.items():
            jobs.setdefault(key, []).append(value)
        for quantity, sample in enumerate((message, packet)):
            edges = np.unique((10 ** np.arange(4, 11, 0.01)).astype(np.int64))
            counts, _ = np.histogram(sample, edges)
            for bucket in np.flatnonzero(counts):
                for key, value in zip(
                    histograms,
                    (job, quantity, edges[bucket], edges[bucket + 1] - 1, counts[bucket]),
                    strict=True,
                ):
                    histograms[key].append(value)
        for rank in range(ranks):
            node = 2 * rank + job
            for key, value in zip(
                placement, (job, rank, node, node // p, node // (p * a)), strict=True
            ):
                placement[key].append(value)
    for slice_ in range(80):
        for job in range(2):
            busy_now = slice_ < 60 or job
            sent = int(random.normal(1.0, 0.1) * 40e6) if busy_now else 0
            for key, value in zip(
                timeline, (slice_ * end // 80, job, sent, int(sent * 0.98), 10, 50), strict=True
            ):
                timeline[key].append(value)

    total = sum(jobs["bytes_created"])
    return {
        "meta": {
            "title": "Two made-up jobs",
            "version": "0.0.0",
            "seed": seed,
            "network": f"dragonfly p={p} a={a} h={h} g={g} (absolute)",
            "routing": "minimal",
            "nodes": nodes,
            "routers": routers,
            "groups": g,
            "link_classes": ["terminal", "local", "global"],
            "packet_bytes": 4096,
            "warmup_ps": 0,
            "duration_ps": -1,
            "end_ps": end,
            "packet_hops": 123_456,
            "created_bytes": total,
            "delivered_bytes": total,
            "backlog_bytes": 0,
            "in_flight_bytes": 0,
            "threads": 1,
            "events": 300_000,
            "cpu_seconds": 0.5,
            "wall_seconds": 0.5,
            "peak_rss_bytes": 100 << 20,
            "peak_packets": 1000,
            "bytes_per_packet": 64,
            "bytes_per_port": 512,
        },
        "jobs": jobs,
        "links": links,
        "timeline": timeline,
        "statistics": {
            key: []
            for key in (
                "job",
                "quantity",
                "mean",
                "ci95",
                "batches",
                "batch_ps",
                "autocorrelation",
                "uncorrelated",
                "from_ps",
                "warmup_end_ps",
            )
        },
        "histograms": histograms,
        "routers": {
            "router": np.arange(routers),
            "group": np.arange(routers) // a,
            "row": np.full(routers, -1),
            "column": np.full(routers, -1),
        },
        "routers_visited": {
            "job": [0, 0, 0, 1, 1],
            "routers": [2, 3, 4, 3, 4],
            "packets": [100, 300, 600, 200, 800],
        },
        "iterations": {
            "job": [0, 0, 1],
            "iteration": [0, 1, 0],
            "end_ps": [end // 4, end // 2, end],
        },
        "placement": placement,
        "messages": {
            key: []
            for key in (
                "job",
                "source_rank",
                "destination_rank",
                "source_node",
                "destination_node",
                "bytes",
                "created_ps",
                "delivered_ps",
            )
        },
        # As for open-loop jobs and without what is recorded on request: nothing.
        **{
            name: {column.name: [] for column in ENGINE_TABLES[name].columns}
            for name in (
                *("ranks", "rank_activity", "message_sizes", "communication"),
                *("link_jobs", "link_waits", "arrivals", "held_pairs", "traffic_classes", "losses"),
                *("storage", "parallelism"),
            )
        },
    }
