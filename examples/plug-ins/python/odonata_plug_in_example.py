"""Plug-ins of every kind, each as short as it can be.

``docs/plug-ins.md`` of Odonata says what the functions get and return.
"""

from __future__ import annotations

from odonata.plug_ins.calls import (
    ApplicationCall,
    Compute,
    MappingCall,
    OrderCall,
    PatternCall,
    PlacementCall,
    Receive,
    Send,
)
from odonata.results import Result


def every_other(job: PlacementCall) -> list[int]:
    """Every second free node, or every `stride`th; then those in between."""
    stride = int(job.parameters.get("stride", 2))
    free = [int(node) for node in job.machine.free]
    taken = [node for first in range(stride) for node in free[first::stride]]
    return taken[: job.nodes]


def back_to_front(job: MappingCall) -> list[int]:
    """The last rank on the first node, and so on, as many ranks on a node as it takes."""
    return [(job.ranks - 1 - rank) // job.ranks_per_node for rank in range(job.ranks)]


def bit_reversal(job: PatternCall) -> list[int]:
    """The rank whose number has the bits of the sender's in reverse (for powers of two)."""
    bits = (job.ranks - 1).bit_length()
    if job.ranks != 1 << bits:
        raise ValueError(f"found {job.ranks} ranks; allowed: a power of two")
    return [int(f"{rank:0{bits}b}"[::-1], 2) for rank in range(job.ranks)]


def token_ring(job: ApplicationCall) -> list[list[object]]:
    """A token goes round the ring of ranks `rounds` times; who has it computes for `work`."""
    size = job.parameters.get("size", "1 KiB")
    work = job.parameters.get("work", "1 us")
    programs: list[list[object]] = [[] for _ in range(job.ranks)]
    for turn in range(int(job.parameters.get("rounds", 1))):
        for rank, program in enumerate(programs):
            if turn or rank:
                program.append(Receive((rank - 1) % job.ranks, size))
            program += [Compute(work), Send((rank + 1) % job.ranks, size)]
    programs[0].append(Receive(job.ranks - 1, size))
    return programs


def smallest_area(queue: OrderCall) -> list[float]:
    """Who asks for the fewest node-seconds comes first."""
    columns = queue.jobs.select(["nodes", "requested_s", "run_s"]).to_pylist()
    return [-float(job["nodes"] * (job["requested_s"] or job["run_s"])) for job in columns]


def slowest_over_fastest(result: Result) -> float | None:
    """Run time of the job that took longest over that of the one that took least."""
    times = [job["run_time_ps"] for job in result.summary_dict["jobs"]]
    known = [time for time in times if time]
    return max(known) / min(known) if known else None
