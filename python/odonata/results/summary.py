"""The figures that answer "how did it go?": per run, per job, per link class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
import pyarrow as pa

from odonata.columns import codes, column_of, labels, numbers, rows_labelled
from odonata.results.bus_bandwidth import bandwidths
from odonata.results.tables import SUMMARY

ACCEPTED = "accepted_bytes_per_s"
LATENCY_FIGURES = ("min", "p25", "median", "p75", "p99", "max", "mean")
_LATENCIES = tuple(f"{q}_latency_{f}_ps" for q in ("message", "packet") for f in LATENCY_FIGURES)

#: Numeric figures of the run, of every job and of every link class, as in ``summary.json``.
RUN_FIGURES = (
    *("seed", "nodes", "routers", "groups", "simulated_ps", "measured_ps", "warmup_ps"),
    *("packet_hops", "created_bytes", "delivered_bytes", "backlog_bytes", "in_flight_bytes"),
    *("lost_bytes", "resent_bytes"),
)
JOB_FIGURES = (
    *("nodes", "ranks", "start_ps", "end_ps", "run_time_ps", "messages_created"),
    *("messages_delivered", "bytes_created", "bytes_delivered", "offered_bytes_per_s"),
    *("accepted_bytes_per_s", "accepted_bytes_per_s_per_node", "mean_routers_visited"),
    *("compute_ps", "wait_ps"),
    *_LATENCIES,
    *("message_latency_mean_ps_ci95", "accepted_bytes_per_s_ci95", "steady_from_ps", "iterations"),
    *("iterations_ended", "iteration_ps", "exposed_mean_ps", "exposed_max_ps"),
    *("algorithm_bytes_per_s", "bus_bytes_per_s", "packets_lost", "bytes_lost", "aborted_ps"),
)
LINK_CLASS_FIGURES = (
    *("links", "bandwidth_bytes_per_s", "bytes", "utilisation_mean", "utilisation_p99"),
    *("utilisation_max", "stall_mean", "stall_max"),
)


class LinkName(TypedDict):
    """One of the most loaded links."""

    link: int
    name: str
    kind: str
    utilisation: float
    stall: float
    bytes: int


class RouterNames:
    """Names of routers: ``r20 (g5)`` is router 20, as in tables and scenarios, of group 5.

    Args:
        routers: The ``routers`` table.
    """

    def __init__(self, routers: pa.Table) -> None:
        #: Group of each router. Shape: routers.
        self.group = numbers(routers, "group")
        self._grouped = len(np.unique(self.group)) > 1

    def router(self, router: int) -> str:
        """Name of a router; without its group where there is only one."""
        return f"r{router} (g{self.group[router]})" if self._grouped else f"r{router}"

    def link(self, row: Mapping[str, Any]) -> str:
        """Name of a row of the ``links`` table, e.g. ``r12 (g1) → r40 (g5), global``."""
        ends = []
        for end in ("from", "to"):
            router, node = row[f"{end}_router"], row[f"{end}_node"]
            ends.append(f"node {node}" if router is None else self.router(router))
        return f"{ends[0]} → {ends[1]}, {row['class']}"


def most_loaded_links(
    tables: Mapping[str, pa.Table], measured_ps: int, count: int, kinds: tuple[str, ...]
) -> list[LinkName]:
    """The links with the highest utilisation, ties in link order.

    Args:
        tables: By name.
        measured_ps: Length of the measured time.
        count: How many.
        kinds: Which of ``terminal``, ``local`` and ``global`` to consider.
    """
    links = tables["links"]
    names = RouterNames(tables["routers"])
    wanted = rows_labelled(links, "kind", *kinds)
    load = np.where(wanted, numbers(links, "utilisation"), -1.0)
    busiest = np.argsort(-load, kind="stable")[:count]
    # Not `take`, which imports pyarrow's functions for 40 ms.
    rows = [links.slice(index, 1).to_pylist()[0] for index in busiest.tolist()]
    return [
        LinkName(
            link=row["link"],
            name=names.link(row),
            kind=row["kind"],
            utilisation=row["utilisation"],
            stall=_fraction(row["stall_ps"], measured_ps),
            bytes=row["bytes"],
        )
        for row, index in zip(rows, busiest, strict=True)
        if load[index] > 0
    ]


def summarise(tables: Mapping[str, pa.Table], meta: Mapping[str, Any]) -> dict[str, Any]:
    """The summary as it is written to ``summary.json``; keys carry their units.

    Args:
        tables: By name.
        meta: The run's scalars.
    """
    measured_ps = max(int(meta["end_ps"]) - int(meta["warmup_ps"]), 0)
    known = ("title", "version", "seed", "network", "routing", "nodes", "routers", "groups")
    sums = ("packet_hops", "created_bytes", "delivered_bytes", "backlog_bytes", "in_flight_bytes")
    run = {
        **{key: meta[key] for key in known},
        "simulated_ps": meta["end_ps"],
        "measured_ps": measured_ps,
        "warmup_ps": meta["warmup_ps"],
        **{key: meta.get(key) for key in ("warmup_found", "precision", "precision_reached")},
        **{key: meta[key] for key in sums},
        # Results of before it was counted lost nothing.
        **{key: meta.get(key, 0) for key in ("lost_bytes", "resent_bytes")},
    }
    if "skipped" in meta:
        run["skipped_ps"] = sum(one["time_ps"] for one in meta["skipped"])
        run["skipped"] = meta["skipped"]
    network_kinds = ("local", "global")
    intervals: dict[int, dict[str, dict[str, Any]]] = {}
    for row in tables["statistics"].to_pylist():
        intervals.setdefault(row["job"], {})[row["quantity"]] = row
    job_of_iteration = numbers(tables["iterations"], "job")
    ends = numbers(tables["iterations"], "end_ps")
    ended = ends >= 0
    jobs = tables["jobs"].to_pylist()
    iterations = np.bincount(job_of_iteration, minlength=tables["jobs"].num_rows)
    iterations_ended = np.bincount(job_of_iteration[ended], minlength=tables["jobs"].num_rows)
    losses = {row["job"]: row for row in tables["losses"].to_pylist()}
    latest = np.zeros(len(jobs))
    np.maximum.at(latest, job_of_iteration[ended], ends[ended])
    steps = [
        (float(latest[row["job"]]) - row["start_ps"]) / many if many else None
        for row, many in zip(jobs, iterations_ended.tolist(), strict=True)
    ]
    exposed, parallelism = _parallelism(tables, jobs, iterations_ended, steps)
    figures = [
        {
            **_job(row, intervals.get(row["job"], {})),
            "iterations": int(iterations[row["job"]]),
            "iterations_ended": int(iterations_ended[row["job"]]),
            "iteration_ps": steps[row["job"]],
            **exposed.get(row["job"], {"exposed_mean_ps": None, "exposed_max_ps": None}),
            **_losses(losses.get(row["job"], {})),
        }
        for row in jobs
    ]
    # Runs without NCCL have none.
    collectives = bandwidths(meta.get("collectives", ()), figures)
    of_job = {one["job"]: one for one in collectives}
    for job in figures:
        for rate in ("algorithm_bytes_per_s", "bus_bytes_per_s"):
            # None for a job that calls no collective of NCCL.
            job[rate] = of_job.get(job["name"], {}).get(rate)
    return {
        "run": run,
        "jobs": figures,
        "parallelism": parallelism,
        **({"collectives": collectives} if collectives else {}),
        "link_classes": _link_classes(tables["links"], measured_ps),
        "most_loaded_links": most_loaded_links(tables, measured_ps, 10, network_kinds),
    }


def to_table(summary: Mapping[str, Any]) -> pa.Table:
    """The numeric figures of a summary as the ``summary`` table."""
    scopes = [("run", "", summary["run"])]
    scopes += [("job", job["name"], job) for job in summary["jobs"]]
    scopes += [("link_class", entry["class"], entry) for entry in summary["link_classes"]]
    rows = [
        (scope, name, quantity, None if value is None else float(value))
        for scope, name, figures in scopes
        for quantity, value in figures.items()
        if value is None or isinstance(value, (int, float))
    ]
    *texts, values = zip(*rows, strict=True)
    missing = np.array([value is None for value in values])
    figures = column_of([value or 0.0 for value in values], pa.float64(), missing)
    return pa.Table.from_arrays(
        [column_of(column, pa.string()) for column in texts] + [figures],
        schema=SUMMARY.arrow_schema(),
    )


#: Traffic piles up if less is delivered than offered by more than this share.
SHORTFALL = 0.01


def piles_up(offered: float, accepted: float, ci95: float) -> bool:
    """Whether a network falls behind what it is offered: is saturated.

    Both rates are counted over the same time, so that what differs is what piles up. That it does
    must be clearer than the interval of what is delivered.

    Args:
        offered: Created after the warm-up.
        accepted: Delivered after the warm-up, in the same unit.
        ci95: Half the width of its 95 % confidence interval.
    """
    missing = offered - accepted
    return missing > SHORTFALL * offered and missing > ci95


def per_node(rate: float | None, nodes: int) -> float | None:
    """A rate of a job, if it has one, by its nodes."""
    return None if rate is None or not nodes else rate / nodes


def is_open_loop(job: Mapping[str, Any]) -> bool:
    """Whether a job of a summary has traffic: a job with a motif waits for what it sends."""
    return job["accepted_bytes_per_s_batches"] is not None


def saturated_jobs(summary: Mapping[str, Any]) -> list[str]:
    """Names of the jobs whose traffic piles up: their latencies grow for as long as one measures.

    Args:
        summary: As ``Result.summary_dict``.
    """
    return [
        job["name"]
        for job in summary.get("jobs", ())
        # Jobs with a motif have no batches.
        if job["accepted_bytes_per_s_batches"]
        and piles_up(
            job["offered_bytes_per_s"],
            job["accepted_bytes_per_s"],
            job["accepted_bytes_per_s_ci95"] or 0.0,
        )
    ]


def aborted_jobs(summary: Mapping[str, Any]) -> list[str]:
    """Names of the jobs that were aborted, as a packet of them was lost too often.

    Args:
        summary: As ``Result.summary_dict``, or one of a schedule, which has no jobs in it.
    """
    return [job["name"] for job in summary.get("jobs", ()) if job["aborted_ps"] is not None]


def cut_off_jobs(summary: Mapping[str, Any]) -> list[str]:
    """Names of the jobs with a motif that the end of the run cut off.

    Args:
        summary: As ``Result.summary_dict``, or one of a schedule, which has no jobs in it.
    """
    jobs = summary.get("jobs", ())
    return [job["name"] for job in jobs if not is_open_loop(job) and job["end_ps"] is None]


def _job(row: Mapping[str, Any], intervals: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    run_time = None if row["end_ps"] is None else row["end_ps"] - row["start_ps"]
    sent = ("messages_created", "messages_delivered", "bytes_created", "bytes_delivered")
    spent = ("mean_routers_visited", "compute_ps", "wait_ps", *_LATENCIES)
    figures = {
        **{key: row[key] for key in ("name", "nodes", "ranks", "start_ps", "end_ps")},
        "run_time_ps": run_time,
        **{key: row[key] for key in (*sent, "offered_bytes_per_s", ACCEPTED)},
        "accepted_bytes_per_s_per_node": per_node(row[ACCEPTED], row["nodes"]),
        **{key: row[key] for key in spent},
    }
    for name, quantity in (("message_latency_mean_ps", "message_latency"), (ACCEPTED, "accepted")):
        # None for a job with a motif, which has no steady state.
        interval = intervals.get(quantity, {})
        figures[f"{name}_ci95"] = interval.get("ci95")
        figures[f"{name}_batches"] = interval.get("batches")
        figures[f"{name}_uncorrelated"] = interval.get("uncorrelated")
        figures["steady_from_ps"] = interval.get("warmup_end_ps")
    return figures


def _parallelism(
    tables: Mapping[str, pa.Table],
    jobs: Sequence[Mapping[str, Any]],
    iterations: np.ndarray,
    steps: Sequence[float | None],
) -> tuple[dict[int, dict[str, float]], list[dict[str, Any]]]:
    """Exposed communication of training steps, by job, and the share of each parallelism in it.

    All is per iteration that has ended, or of the first one; ``exposed_share`` is of its time.
    ``exposed_max_ps`` is of the rank that has most, in all or of this kind. A pipeline's stage that
    has ended the last step before others waits as after every other step, though no longer for a
    message: that counts, too, so that figures do not depend on the number of steps.
    """
    table, ranks_of = tables["parallelism"], tables["ranks"]
    job_of_row, kinds = numbers(table, "job"), labels(table, "parallelism")
    kind_of_row, rank = codes(table, "parallelism"), numbers(table, "rank")
    exposed, rows = {}, []
    for job in np.unique(job_of_row).tolist():
        step, ranks, times = steps[job], jobs[job]["ranks"], max(int(iterations[job]), 1)

        own = job_of_row == job
        at_end, end = np.zeros(ranks), jobs[job]["end_ps"]
        if end is not None and (own & rows_labelled(table, "parallelism", "pipeline")).any():
            took = numbers(ranks_of, "total_ps")[numbers(ranks_of, "job") == job]
            at_end = np.maximum(end - jobs[job]["start_ps"] - took, 0)

        def of_ranks(
            chosen: np.ndarray,
            ranks: int = ranks,
            times: int = times,
            at_end: np.ndarray | float = 0.0,
        ) -> dict[str, float]:
            waited = numbers(table, "exposed_ps")[chosen]
            by_rank = (np.bincount(rank[chosen], waited, ranks) + at_end) / times
            mean, most = float(by_rank.mean()), float(by_rank.max())
            return {"exposed_mean_ps": mean, "exposed_max_ps": most}

        exposed[job] = of_ranks(own, at_end=at_end)
        sent = int(numbers(table, "bytes")[own].sum())
        for code, kind in enumerate(kinds):
            chosen = own & (kind_of_row == code)
            if not chosen.any():
                continue
            found = of_ranks(chosen, at_end=at_end if kind == "pipeline" else 0.0)
            count = int(numbers(table, "bytes")[chosen].sum())
            rows.append(
                {
                    "job": jobs[job]["name"],
                    "parallelism": kind,
                    "bytes": count / times,
                    "bytes_share": _fraction(count, sent),
                    **found,
                    "exposed_share": found["exposed_mean_ps"] / step if step else None,
                }
            )
    return exposed, rows


def _losses(row: Mapping[str, Any]) -> dict[str, Any]:
    """What failures took from a job; only a scenario in which packets are lost has a row of it."""
    return {
        "packets_lost": row.get("packets_lost", 0),
        "bytes_lost": row.get("bytes_lost", 0),
        "aborted_ps": row.get("aborted_ps"),
    }


def _link_classes(links: pa.Table, measured_ps: int) -> list[dict[str, Any]]:
    kinds, kind_of_link = labels(links, "kind"), codes(links, "kind")
    class_of_link = codes(links, "class")
    utilisation = numbers(links, "utilisation")
    stall = numbers(links, "stall_ps") / measured_ps if measured_ps else 0.0 * utilisation
    count = numbers(links, "bytes")
    bandwidth = numbers(links, "bandwidth_bytes_per_s")
    result = []
    # In the order in which the scenario lists them, which is that of the dictionary.
    for index, name in enumerate(labels(links, "class")):
        chosen = class_of_link == index
        if not chosen.any():
            continue
        result.append(
            {
                "class": name,
                "kind": kinds[kind_of_link[chosen][0]],
                "links": int(chosen.sum()),
                "bandwidth_bytes_per_s": int(bandwidth[chosen].max()),
                "bytes": int(count[chosen].sum()),
                "utilisation_mean": float(utilisation[chosen].mean()),
                "utilisation_p99": float(np.quantile(utilisation[chosen], 0.99)),
                "utilisation_max": float(utilisation[chosen].max()),
                "stall_mean": float(stall[chosen].mean()),
                "stall_max": float(stall[chosen].max()),
            }
        )
    return result


def _fraction(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
