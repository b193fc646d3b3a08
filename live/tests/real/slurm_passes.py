"""What a controller's log says of each pass of Slurm's two schedulers.

A line each, times in milliseconds since 1970:

    TIME A JOB PRIORITY   a job comes
    TIME M | F | B        a pass begins: of the main scheduler over some jobs or all, of backfill
    TIME S JOB PARTS      that pass starts a job; PARTS: `node:cores:MiB` of each of its nodes
    TIME E JOB            nothing of a job is left on its nodes

The log has to be kept with `PARAMETERS` below. The tests of crates/scheduler/src/slurm read it.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

#: What a controller has to log.
PARAMETERS: dict[str, str | int] = {"SlurmctldDebug": "debug2", "DebugFlags": "Backfill,TraceJobs"}

EVENTS = (
    ("A", re.compile(r"_slurm_rpc_submit_batch_job: JobId=(\d+) InitPrio=(\d+)")),
    ("F", re.compile(r"sched: Running job scheduler for full queue")),
    ("M", re.compile(r"sched: Running job scheduler for default depth")),
    ("B", re.compile(r"_attempt_backfill: beginning")),
    ("S", re.compile(r"sched: Allocate JobId=(\d+)|_start_job: Started JobId=(\d+)")),
    ("E", re.compile(r"cleanup_completing: JobId=(\d+)")),
)


def passes(log: str, listing: str) -> str:
    """The lines.

    Args:
        log: The controller's log.
        listing: `squeue --json` of the same jobs.
    """
    parts = {str(job["job_id"]): _parts(job) for job in json.loads(listing)["jobs"]}
    lines: list[str] = []
    for line in log.splitlines():
        for kind, pattern in EVENTS:
            if found := pattern.search(line):
                words = [word for word in found.groups() if word is not None]
                words += [parts[words[0]]] if kind == "S" else []
                lines.append(" ".join([_milliseconds(line), kind, *words]))
    return "\n".join(lines) + "\n"


def _parts(job: dict[str, object]) -> str:
    resources = job["job_resources"]
    assert isinstance(resources, dict)
    of = []
    for node in resources["allocated_nodes"]:
        cores = sum(len(socket["cores"]) for socket in node["sockets"].values())
        of.append(f"{node['nodename']}:{cores}:{node['memory_allocated']}")
    return ",".join(of)


def _milliseconds(line: str) -> str:
    text = line[1 : line.index("]")]
    return str(round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000))
