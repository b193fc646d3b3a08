"""Sleep jobs of many kinds for an emulated Slurm, the same ones for the same seed."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from pathlib import Path

from emulated_slurm import EmulatedSlurm, Nodes, Partition

#: Sixteen nodes of three kinds.
NODES = (
    Nodes(10, cores=4, memory_mb=4000, features=("thin",)),
    Nodes(4, cores=8, memory_mb=16000, features=("fat",)),
    Nodes(2, cores=8, memory_mb=8000, features=("thin", "gpu"), gres={"gpu": 2}, weight=10),
)
PARTITIONS = (
    Partition("main", options={"MaxTime": 30}),
    Partition("short", nodes="n[0-7]", options={"MaxTime": 2, "PriorityJobFactor": 5}),
)
#: Everything about time in seconds where a real cluster has minutes.
PARAMETERS: dict[str, str | int] = {
    "SelectTypeParameters": "CR_Core_Memory",
    "DefMemPerCPU": 100,
    "PriorityType": "priority/multifactor",
    "PriorityWeightAge": 100000,
    "PriorityMaxAge": 10,
    "PriorityCalcPeriod": 1,
    "PriorityWeightJobSize": 2000,
    "PriorityWeightPartition": 1000,
    "SchedulerParameters": "bf_interval=5,bf_resolution=1,bf_window=60,batch_sched_delay=1,"
    "sched_interval=10,bf_continue",
}
USERS = ("daemon", "bin", "sys", "games")


@dataclass(frozen=True)
class SleepJob:
    """A job: when it is submitted after the first one, how, and how long it sleeps."""

    after_s: float
    options: tuple[str, ...]
    sleep_s: int


def sleep_jobs(count: int, seed: int, gap_s: float, sleep_s: tuple[int, int]) -> list[SleepJob]:
    """Jobs that come `gap_s` apart on average and sleep a whole time between two."""
    draw = random.Random(seed)
    jobs: list[SleepJob] = []
    at = 0.0
    for _ in range(count):
        kind = draw.random()
        if kind < 0.45:
            cores = draw.choice((1, 2, 3, 4))
            options = ["-N1", f"-n{cores}"]
        elif kind < 0.65:
            nodes = draw.choice((2, 3, 4, 6))
            options = [f"-N{nodes}", f"-n{nodes * draw.choice((1, 2, 4))}"]
        elif kind < 0.75:
            options = ["-N1", "-n1", f"-c{draw.choice((2, 4, 8))}"]
        elif kind < 0.83:
            options = ["-N1", f"-n{draw.choice((1, 4))}", "-C", draw.choice(("fat", "thin&gpu"))]
        elif kind < 0.90:
            options = ["-N1", "-n1", f"--gres=gpu:{draw.choice((1, 2))}"]
        elif kind < 0.95:
            options = ["-N1", "-n1", f"--mem={draw.choice((2000, 6000, 12000))}"]
        else:
            options = [f"-N{draw.choice((1, 2))}", "--exclusive"]
        narrow = options[0] == "-N1" and len(options) == 2
        if narrow and draw.random() < 0.3:
            options += ["-p", "short"]
        options += [f"--uid={draw.choice(USERS)}", f"-t{draw.choice((1, 1, 2))}"]
        jobs.append(SleepJob(at, tuple(options), draw.randint(*sleep_s)))
        at += draw.expovariate(1 / gap_s)
    return jobs


def run(cluster: EmulatedSlurm, jobs: list[SleepJob], timeout_s: float) -> None:
    """Submits the jobs in time and waits for their ends."""
    # A controller that has just started takes some seconds to its first pass.
    time.sleep(4)
    first = time.monotonic()
    for job in jobs:
        time.sleep(max(0.0, first + job.after_s - time.monotonic()))
        cluster.submit("--chdir=/", *job.options, command=f"sleep {job.sleep_s}")
    cluster.wait_until_done(timeout_s)


def record(cluster: EmulatedSlurm, directory: Path) -> tuple[Path, Path, Path]:
    """Leaves the jobs, as text and JSON, and the configuration in files that a simulation reads."""
    text, listing = directory / "jobs.txt", directory / "jobs.json"
    configuration = directory / "slurm.conf"
    text.write_text(cluster.run("scontrol", "show", "jobs", "--oneliner"))
    listing.write_text(cluster.run("squeue", "--json"))
    configuration.write_text((cluster.directory / "slurm.conf").read_text())
    return text, listing, configuration
