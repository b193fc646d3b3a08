"""An emulated Slurm whose jobs are placed: a day of jobs, the daemon, and what to make of both."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from emulated_slurm import EmulatedSlurm, Partition, fields
from network_experiment import CLI
from odonata_live.cluster.submitting import to_be_placed

THETA = Path(__file__).parents[4] / "shared" / "data" / "theta-jobs" / "theta_2022.swf"

#: Options of sbatch of a job that waits to be placed.
WAITS = tuple(to_be_placed(())[0])
#: Whole nodes, and a controller that looks at its queue as soon as something happens.
PARTITIONS = (Partition("main", options={"OverSubscribe": "EXCLUSIVE"}),)
PARAMETERS: dict[str, str | int | None] = {
    "SchedulerParameters": "bf_interval=5,batch_sched_delay=0,sched_min_interval=0,"
    "default_queue_depth=1000",
    "MessageTimeout": 60,
    "MaxJobCount": 20000,
}


def topology(groups: int, size: int) -> list[str]:
    """Groups of as many nodes, all below one switch."""
    lines = [f"SwitchName=g{i} Nodes=n[{size * i}-{size * (i + 1) - 1}]" for i in range(groups)]
    return [*lines, f"SwitchName=top Switches=g[0-{groups - 1}]"]


@dataclass(frozen=True)
class DayJob:
    """A job: when it comes after the first, its nodes, how long it sleeps, its limit."""

    after_s: float
    nodes: int
    sleep_s: float
    limit_min: int


def theta_day(count: int, nodes: int, span_s: float, longest_s: float) -> list[DayJob]:
    """Jobs of Theta from the middle of its year, scaled to a machine and to seconds."""
    rows = []
    for line in THETA.read_text().splitlines():
        words = line.split()
        if words and words[0] != ";":
            rows.append((int(words[1]), int(words[4]), int(words[3]), int(words[8])))
    rows = rows[12_000 : 12_000 + count]
    first, last = rows[0][0], rows[-1][0]
    jobs = []
    for submit, size, run, limit in rows:
        sleep = min(longest_s, max(0.2, run / 21_600 * longest_s))
        jobs.append(
            DayJob(
                (submit - first) / (last - first) * span_s,
                max(1, round(size * nodes / 4360)),
                round(sleep, 2),
                1 + limit // 7200,
            )
        )
    return jobs


def synthetic_day(
    count: int, nodes: int, span_s: float, longest_s: float, seed: int = 1
) -> list[DayJob]:
    """Jobs like these: many small, few large."""
    draw = random.Random(seed)
    jobs = []
    for _ in range(count):
        size = min(nodes, max(1, round(2 ** draw.uniform(0, 5.2)) - draw.randint(0, 1)))
        sleep = round(draw.uniform(0.2, longest_s), 2)
        jobs.append(DayJob(draw.uniform(0, span_s), size, sleep, 1 + draw.randint(0, 4)))
    return sorted(jobs, key=lambda job: job.after_s)


def submit(cluster: EmulatedSlurm, job: DayJob, *, placed: bool = True) -> int:
    """Submits a job of a day; its id. Every run leaves a file (`runs`)."""
    # A file each, and to the end with what cannot be written: a lost line is no lost run.
    run = f"{_runs_directory(cluster)}/$SLURM_JOB_ID.${{SLURM_RESTART_COUNT:-0}}.$$"
    script = f"echo begun > {run} || exit 9; sleep {job.sleep_s}"
    options = WAITS if placed else ()
    out = cluster.run(
        *("sbatch", "--parsable", "--output=/dev/null", f"--error={_errors_directory(cluster)}/%j"),
        *(f"-N{job.nodes}", f"-t{job.limit_min}", *options, "--wrap", script),
    )
    return int(out)


def runs(cluster: EmulatedSlurm) -> Counter[int]:
    """How often each job of `submit` has begun, by its own account."""
    return Counter(int(path.name.split(".")[0]) for path in _runs_directory(cluster).iterdir())


def complaint(cluster: EmulatedSlurm, job: int) -> str:
    """What the shell of a job of `submit` has complained about."""
    file = _errors_directory(cluster) / str(job)
    return file.read_text(encoding="utf-8") if file.exists() else ""


def _errors_directory(cluster: EmulatedSlurm) -> Path:
    directory = cluster.directory / "errors"
    directory.mkdir(exist_ok=True)
    return directory


def _runs_directory(cluster: EmulatedSlurm) -> Path:
    directory = cluster.directory / "runs"
    directory.mkdir(exist_ok=True)
    return directory


class Daemon:
    """`odonata cluster place` beside a cluster; may be killed and started again.

    It ends with the cluster, if nothing has ended it before: no test leaves one behind.
    """

    def __init__(self, cluster: EmulatedSlurm, *options: str, path: Path | None = None) -> None:
        self.cluster = cluster
        self.journal = path or cluster.directory / "place" / "journal.sqlite"
        self.journal.parent.mkdir(exist_ok=True)
        self.heartbeat = self.journal.parent / "heartbeat"
        self.options = options
        self.log = self.journal.parent / "log"
        self.process: subprocess.Popen[bytes] | None = None
        cluster.at_close.append(lambda: self.end(signal.SIGKILL))

    def start(self) -> None:
        """Starts it."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *(*CLI, "cluster", "place", str(self.journal), "--allow-root"),
                    # However slow the machine, or often it is killed, it goes on placing.
                    *("--most-silent", "1 h", "--heartbeat", str(self.heartbeat), *self.options),
                ],
                env=self.cluster.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def end(self, number: int = signal.SIGTERM) -> None:
        """Ends it by a signal."""
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait()
            self.process = None

    def wait_for_a_cycle(self, timeout_s: float = 120) -> None:
        """Until it has gone well once from now on."""
        self.heartbeat.unlink(missing_ok=True)
        deadline = time.monotonic() + timeout_s
        while not self.heartbeat.exists():
            assert self.process is not None and self.process.poll() is None, self.said()
            assert time.monotonic() < deadline, self.said()
            time.sleep(0.05)

    def said(self) -> str:
        """What it said."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""


def finished(cluster: EmulatedSlurm) -> dict[int, list[dict[str, str]]]:
    """What jobcomp/filetxt has of ended jobs: a record for each time that a job ended."""
    found: dict[int, list[dict[str, str]]] = {}
    path = cluster.directory / "finished.txt"
    for line in path.read_text().splitlines() if path.exists() else ():
        record = fields(line)
        found.setdefault(int(record["JobId"]), []).append(record)
    return found


def wait_until_done(
    cluster: EmulatedSlurm, timeout_s: float, daemon: Daemon | None = None, every_s: float = 0.3
) -> None:
    """Until nothing waits or runs, which is asked every `every_s`."""
    deadline = time.monotonic() + timeout_s
    while queue := cluster.run("squeue", "--noheader", "--format=%i %T %r %Q %n"):
        said = daemon.said()[-3000:] if daemon else ""
        assert time.monotonic() < deadline, f"{queue}\n{said}"
        time.sleep(every_s)


def submit_day(cluster: EmulatedSlurm, day: Sequence[DayJob], *, placed: bool = True) -> list[int]:
    """Submits a day's jobs as time goes by; their ids."""
    begin = time.monotonic()
    ids = []
    for job in day:
        time.sleep(max(0.0, begin + job.after_s - time.monotonic()))
        ids.append(submit(cluster, job, placed=placed))
    return ids


def alive(pid: int) -> bool:
    """Whether a process is there."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
