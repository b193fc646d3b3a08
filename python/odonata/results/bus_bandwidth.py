"""Bandwidths of collectives as nccl-tests prints them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

#: Operations whose vector has a block for every rank.
BY_BLOCK = ("allgather", "alltoall", "gather", "reduce-scatter", "scatter")


def bus_factor(operation: str, ranks: int) -> float:
    """What the algorithm bandwidth is multiplied by to have what each rank sends around a ring.

    That is 2 (n - 1) / n of all-reduces, (n - 1) / n of operations with a block for each of n
    ranks, and 1 of others (nccl-tests, `PERFORMANCE.md`).

    Args:
        operation: The collective.
        ranks: That take part.
    """
    others = (ranks - 1) / ranks
    if operation == "allreduce":
        return 2 * others
    return others if operation in BY_BLOCK else 1.0


def bandwidths(
    collectives: Iterable[Mapping[str, Any]], jobs: Iterable[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """NCCL's collectives of a run with the time of a call and its bandwidths.

    Args:
        collectives: As in the run's scalars: job, operation, how it is carried out, and bytes.
        jobs: Of the summary; a job calls its collective once an iteration.

    Returns:
        The collectives of jobs of which an iteration has ended.
    """
    of_job = {job["name"]: job for job in jobs}
    found = []
    for one in collectives:
        job = of_job[one["job"]]
        if not job["iteration_ps"]:
            continue
        rate = one["bytes"] / (job["iteration_ps"] * 1e-12)
        found.append(
            {
                **one,
                "ranks": job["ranks"],
                "time_ps": job["iteration_ps"],
                "algorithm_bytes_per_s": rate,
                "bus_bytes_per_s": rate * bus_factor(one["operation"], job["ranks"]),
            }
        )
    return found
