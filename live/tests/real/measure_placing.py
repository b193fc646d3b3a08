"""Measurements of the placement beside an emulated Slurm, by hand:

python live/tests/real/measure_placing.py rate NODES JOBS     decisions a second, commands, sdiag
python live/tests/real/measure_placing.py waits JOBS SECONDS  waits of a day with and without us
python live/tests/real/measure_placing.py chaos JOBS SECONDS [SEED [POLICY [LOAD]]]
    each job's wait beside that under plain Slurm, of the same day under the same faults
"""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import placed_slurm
from emulated_slurm import EmulatedSlurm
from odonata_live.cluster.jobs import UNTIL_PLACED_S
from odonata_live.cluster.journal import Journal
from odonata_live.cluster.slurm_files import SHIPPED
from placed_slurm import (
    Daemon,
    DayJob,
    submit,
    submit_day,
    synthetic_day,
    theta_day,
    wait_until_done,
)
from test_placing_faults import run_patiently, stop_controller

GROUP = 32


class CloudSlurm(EmulatedSlurm):
    """A controller whose nodes are of a cloud and never come up: any number of them is cheap."""

    def _write_configuration(self) -> None:
        super()._write_configuration()
        path = self.directory / "slurm.conf"
        # Powered-down nodes of a cloud are not shown otherwise.
        power = "PrivateData=cloud\nSuspendProgram=/bin/true\nResumeProgram=/bin/true\n"
        path.write_text(
            path.read_text().replace("State=UNKNOWN", "State=CLOUD")
            + power
            + "SuspendTime=86400\nResumeTimeout=3600\n"
        )
        self.node_names = []


def requests(cluster: EmulatedSlurm) -> dict[str, tuple[int, float]]:
    """Calls and their mean time (ms) by kind, as `sdiag` counts them."""
    found = re.findall(
        r"(REQUEST_\w+)\s+\(\s*\d+\) count:(\d+)\s+ave_time:(\d+)", cluster.run("sdiag")
    )
    return {name: (int(count), int(mean) / 1000) for name, count, mean in found}


def rate(nodes: int, jobs: int) -> dict[str, Any]:
    """How fast so many jobs of one node get their nodes."""
    with CloudSlurm(
        nodes,
        cores=1,
        partitions=placed_slurm.PARTITIONS,
        parameters=placed_slurm.PARAMETERS,
        topology=placed_slurm.topology(nodes // GROUP, GROUP),
    ) as cluster:

        def one(_: int) -> None:
            options = (*placed_slurm.WAITS, "-N1", "-t10", "--output=/dev/null")
            cluster.run("sbatch", *options, "--wrap", "true")

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(one, range(jobs)))
        cluster.run("sdiag", "--reset")
        before = requests(cluster)
        daemon = Daemon(cluster, "--metrics", str(cluster.directory / "metrics"))
        begin = time.monotonic()
        daemon.start()
        while True:
            time.sleep(2)
            begins = cluster.run("squeue", "--noheader", "--format=%S").split()
            if str(UNTIL_PLACED_S) not in begins:
                break
            assert time.monotonic() - begin < 600, daemon.said()
        took = time.monotonic() - begin
        daemon.wait_for_a_cycle()
        daemon.end()
        metrics = (cluster.directory / "metrics").read_text()
        journal = Journal(daemon.journal)
        times = [one.time_ms for one in journal.decisions()]
        journal.close()
        after = requests(cluster)
        return {
            "jobs": jobs,
            "nodes": nodes,
            "seconds_from_the_start_of_the_process": took,
            "cycles": len(set(times)),
            # From the first decision to the last; what that decided was not carried out by then.
            "jobs_per_second": sum(time_ms < times[-1] for time_ms in times)
            / max((times[-1] - times[0]) / 1000, 1e-3),
            "requests": {
                name: (count - before.get(name, (0, 0))[0], mean)
                for name, (count, mean) in after.items()
            },
            "metrics": dict(re.findall(r"(?m)^odonata_place_(\w+) (\S+)", metrics)),
        }


def waits(jobs: int, seconds: float) -> dict[str, Any]:
    """The same day under plain Slurm and through the daemon."""
    make = theta_day if placed_slurm.THETA.exists() else synthetic_day
    day = make(jobs, 64, seconds, seconds / 6)
    found: dict[str, Any] = {}
    for name in ("plain", "placed"):
        with EmulatedSlurm(
            64,
            cores=1,
            partitions=placed_slurm.PARTITIONS,
            parameters=placed_slurm.PARAMETERS,
            topology=placed_slurm.topology(8, 8),
        ) as cluster:
            time.sleep(4)
            daemon = Daemon(cluster)
            if name == "placed":
                daemon.start()
                daemon.wait_for_a_cycle()
            ids = submit_day(cluster, day, placed=name == "placed")
            wait_until_done(cluster, 1800)
            daemon.end()
            records = cluster.jobs()
            waited = sorted(
                int(records[job]["StartTime"]) - int(records[job]["SubmitTime"]) for job in ids
            )
            spans = []
            for job in ids:
                listed = subprocess.run(
                    ["scontrol", "show", "hostnames", records[job]["NodeList"]],
                    env=cluster.environment,
                    capture_output=True,
                    text=True,
                    check=True,
                )
                spans.append(len({int(node[1:]) // 8 for node in listed.stdout.split()}))
            ends = [int(records[job]["EndTime"]) for job in ids]
            found[name] = {
                "mean_wait_s": statistics.fmean(waited),
                "median_wait_s": statistics.median(waited),
                "longest_wait_s": waited[-1],
                "mean_groups": statistics.fmean(spans),
                "makespan_s": max(ends) - min(int(records[job]["SubmitTime"]) for job in ids),
                "requests": requests(cluster),
            }
    return found


#: Times of `chaos` in seconds: how old the heartbeat may be and how often the watchdog looks; how
#: long the daemon may have been silent before it rests.
WATCHDOG_S, WATCHDOG_PERIOD_S, MOST_SILENT_S = 5, 2, 5
#: As `chaos` runs its day: twice without us, so that two runs without us can be compared, too.
CHAOS_RUNS = ("plain", "plain again", "placed")


@dataclass
class Observed:
    """What was seen of one run of a day. Times are Unix seconds.

    Attributes:
        submitted: When each job's id came back, by its place in the day.
        started: When it began; Slurm says whole seconds.
        ids: Slurm's numbers.
        beats: When the heartbeat was renewed.
        released: When the watchdog released a job, by Slurm's number.
        decided: When a job's last decision was made, by Slurm's number.
        nodes: Of each job, as Slurm says them.
        said: Lines of the daemon that tell of failures.
    """

    submitted: list[float] = field(default_factory=list)
    started: list[int] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    beats: list[float] = field(default_factory=list)
    released: dict[int, float] = field(default_factory=dict)
    decided: dict[int, float] = field(default_factory=dict)
    ended: list[int] = field(default_factory=list)
    said: str = ""

    def waits(self) -> list[float]:
        """The wait of each job, in seconds."""
        return [
            max(0.0, start - submit)
            for submit, start in zip(self.submitted, self.started, strict=True)
        ]

    def unattended(self, at: int) -> float:
        """Longest time in which a job waited to be placed and nobody looked at it, seconds."""
        begin = self.submitted[at]
        job = self.ids[at]
        ends = [of[job] for of in (self.decided, self.released) if job in of]
        end = min([max(ends), self.started[at] + 1.0]) if ends else self.started[at] + 1.0
        marks = [begin, *(beat for beat in self.beats if begin < beat < end), end]
        return max(later - earlier for earlier, later in itertools.pairwise(marks))


def chaos(jobs: int, seconds: float, seed: int, policy: str, load: float) -> dict[str, Any]:
    """The same day and faults under plain Slurm, twice, and through the daemon.

    Nodes are drained and given back, the controller is stopped and started; the daemon is killed
    every few seconds besides, and stays dead every third time until the watchdog has come. The
    watchdog's own time is how old a heartbeat may be and how often it looks. `load` is the share of
    the machine that the jobs need: the more, the more does one job's wait become another's.

    Silences add up where queues do not empty in between. So what jobs may lose is what the daemon
    may be silent before it rests, and once more the watchdog's time.
    """
    draw = random.Random(seed)
    day = synthetic_day(jobs, 64, seconds, 3.0, seed)
    work = sum(job.nodes * job.sleep_s for job in day)
    scale = load * 64 * seconds / work
    day = [replace(job, sleep_s=round(job.sleep_s * scale, 2)) for job in day]
    faults = _faults(draw, seconds)
    runs = {name: _chaotic_day(name, day, faults, policy) for name in CHAOS_RUNS}
    plain, again, placed = (runs[name].waits() for name in CHAOS_RUNS)
    allowed = MOST_SILENT_S + WATCHDOG_S + WATCHDOG_PERIOD_S
    unattended = sorted(runs["placed"].unattended(at) for at in range(jobs))

    def beside(longer: list[float]) -> dict[str, Any]:
        return {
            "median_s": statistics.median(longer),
            "p95_s": sorted(longer)[int(0.95 * len(longer))],
            "longest_s": max(longer),
            "more_than_the_watchdog_allows": sum(one > allowed for one in longer),
        }

    longer = [b - max(a, c) for a, b, c in zip(plain, placed, again, strict=True)]
    worst = sorted(range(jobs), key=lambda at: -longer[at])[:10]
    first = min(runs["placed"].submitted)
    return {
        "jobs": jobs,
        "watchdog_s": allowed,
        "waits": {
            name: {
                "mean_s": statistics.fmean(one.waits()),
                "median_s": statistics.median(one.waits()),
                "longest_s": max(one.waits()),
                "last_end_s": max(one.ended) - min(one.submitted),
            }
            for name, one in runs.items()
        },
        "placed_beside_plain": beside([b - a for a, b in zip(plain, placed, strict=True)]),
        "plain_beside_plain": beside([b - a for a, b in zip(plain, again, strict=True)]),
        "held_and_nobody_looked": {
            "median_s": statistics.median(unattended),
            "longest_s": unattended[-1],
        },
        "silences_s": [
            (round(a - first, 1), round(b - a, 1))
            for a, b in itertools.pairwise(runs["placed"].beats)
            if b - a > 2.5
        ],
        "faults": [(round(at, 1), fault) for at, fault, _ in faults],
        "worst": [
            {
                "submitted_s": round(day[at].after_s, 1),
                "nodes": day[at].nodes,
                "sleep_s": day[at].sleep_s,
                "waits_s": [round(one[at], 1) for one in (plain, again, placed)],
                "unattended_s": round(runs["placed"].unattended(at), 1),
                "decided_s": _since(runs["placed"].decided.get(runs["placed"].ids[at]), first),
                "released_s": _since(runs["placed"].released.get(runs["placed"].ids[at]), first),
            }
            for at in worst
        ],
        "said": runs["placed"].said,
    }


def _since(at: float | None, first: float) -> float | None:
    return None if at is None else round(at - first, 1)


def _chaotic_day(
    name: str, day: list[DayJob], faults: list[tuple[float, str, str]], policy: str
) -> Observed:
    observed = Observed()
    held = name == "placed"
    with EmulatedSlurm(
        64,
        cores=1,
        partitions=placed_slurm.PARTITIONS,
        parameters=placed_slurm.PARAMETERS,
        topology=placed_slurm.topology(8, 8),
    ) as cluster:
        time.sleep(4)
        options = ("--patience", "5 s", "--timeout", "20", "--policy", policy)
        daemon = Daemon(cluster, *options, "--most-silent", f"{MOST_SILENT_S} s")
        over = threading.Event()
        threads = []
        if held:
            daemon.start()
            daemon.wait_for_a_cycle()
            for target in (_watch, _note_beats):
                threads.append(
                    threading.Thread(target=target, args=(cluster, daemon, over, observed))
                )
        threads.append(threading.Thread(target=_submit, args=(cluster, day, held, observed)))
        for thread in threads:
            thread.start()
        begin = time.monotonic()
        for at, fault, node in faults:
            time.sleep(max(0.0, begin + at - time.monotonic()))
            if fault == "restart":
                stop_controller(cluster)
                cluster.restart_controller()
            elif fault in ("drain", "resume"):
                asked = (f"nodename={node}", f"state={fault}", "reason=test")
                run_patiently(cluster, "update", *(asked if fault == "drain" else asked[:2]))
            elif held and fault == "kill":
                daemon.end(signal.SIGKILL)
            elif held:
                daemon.start()
        threads[-1].join()
        wait_until_done(cluster, 900, daemon)
        over.set()
        for thread in threads:
            thread.join()
        daemon.end()
        records = cluster.jobs()
        if held:
            journal = Journal(daemon.journal)
            observed.decided = {
                int(one.job): one.time_ms / 1000 for one in journal.decisions() if one.nodes
            }
            journal.close()
            observed.said = daemon.said()[-3000:]
    observed.started = [int(records[job]["StartTime"]) for job in observed.ids]
    observed.ended = [int(records[job]["EndTime"]) for job in observed.ids]
    return observed


def _faults(draw: random.Random, seconds: float) -> list[tuple[float, str, str]]:
    """When what happens, and to which node."""
    faults: list[tuple[float, str, str]] = []
    at, kills = 3.0, 0
    while at < seconds:
        kills += 1
        # Every third time it stays dead until the watchdog has come.
        dead = WATCHDOG_S + 5.0 if kills % 3 == 0 else 0.1
        faults += [(at, "kill", ""), (at + dead, "start", "")]
        at += dead + draw.uniform(2, 6)
    for share in (0.3, 0.7):
        faults.append((share * seconds, "restart", ""))
    for _ in range(max(1, int(seconds / 10))):
        at, node = draw.uniform(0, seconds), f"n{draw.randrange(64)}"
        faults += [(at, "drain", node), (at + 4, "resume", node)]
    return sorted(faults)


def _submit(cluster: EmulatedSlurm, day: list[DayJob], held: bool, observed: Observed) -> None:
    begin = time.monotonic()
    for job in day:
        time.sleep(max(0.0, begin + job.after_s - time.monotonic()))
        while True:
            try:
                observed.ids.append(submit(cluster, job, placed=held))
                observed.submitted.append(time.time())
                break
            except RuntimeError:
                # The controller is being restarted.
                time.sleep(0.2)


def _note_beats(
    cluster: EmulatedSlurm, daemon: Daemon, over: threading.Event, observed: Observed
) -> None:
    """When the heartbeat was renewed."""
    while not over.wait(0.05):
        with contextlib.suppress(OSError):
            beat = daemon.heartbeat.stat().st_mtime
            if not observed.beats or beat > observed.beats[-1]:
                observed.beats.append(beat)


def _watch(
    cluster: EmulatedSlurm, daemon: Daemon, over: threading.Event, observed: Observed
) -> None:
    """The watchdog as cron would start it."""
    watchdog = [str(SHIPPED / "leave-waiting-jobs.sh"), str(daemon.heartbeat), str(WATCHDOG_S)]

    def held() -> set[int]:
        answer = cluster.run("squeue", "--noheader", "--states=PENDING", "--format=%A %S")
        pairs = (line.split() for line in answer.splitlines())
        return {int(job) for job, begin in pairs if begin == str(UNTIL_PLACED_S)}

    while not over.wait(WATCHDOG_PERIOD_S):
        with contextlib.suppress(OSError, RuntimeError):
            silent = time.time() - daemon.heartbeat.stat().st_mtime > WATCHDOG_S
            before = held() if silent else set()
            subprocess.run(watchdog, env=cluster.environment, capture_output=True, check=False)
            at = time.time()
            for job in before - held() if before else ():
                observed.released.setdefault(job, at)


if __name__ == "__main__":
    what, *numbers = sys.argv[1:]
    if what == "chaos":
        seed = int(numbers[2]) if len(numbers) > 2 else 1
        policy = numbers[3] if len(numbers) > 3 else "grap"
        load = float(numbers[4]) if len(numbers) > 4 else 0.5
        found = chaos(int(numbers[0]), float(numbers[1]), seed, policy, load)
        print(json.dumps(found, indent=1))
    elif what == "rate":
        print(json.dumps(rate(int(numbers[0]), int(numbers[1])), indent=1))
    else:
        print(json.dumps(waits(int(numbers[0]), float(numbers[1])), indent=1))
