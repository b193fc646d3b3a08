"""Measurements of the placement beside an emulated Slurm, by hand:

python tests/live/measure_placing.py rate NODES JOBS     decisions a second, commands, sdiag
python tests/live/measure_placing.py waits JOBS SECONDS  waits of a day with and without us
python tests/live/measure_placing.py chaos JOBS SECONDS [SEED [POLICY [LOAD]]]
    each job's wait beside that under plain Slurm, of the same day under the same faults
"""

from __future__ import annotations

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
from dataclasses import replace
from typing import Any

import placed_slurm
from emulated_slurm import EmulatedSlurm
from odonata.cluster.jobs import MARK
from odonata.cluster.journal import Journal
from odonata.cluster.slurm_files import SHIPPED
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
    """How fast so many held jobs of one node get their nodes."""
    with CloudSlurm(
        nodes,
        cores=1,
        partitions=placed_slurm.PARTITIONS,
        parameters=placed_slurm.PARAMETERS,
        topology=placed_slurm.topology(nodes // GROUP, GROUP),
    ) as cluster:

        def one(_: int) -> None:
            options = ("-H", f"--comment={MARK}", "-N1", "-t10", "--output=/dev/null")
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
            held = cluster.run("squeue", "--noheader", "--format=%Q").split().count("0")
            if held == 0:
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
            ids = submit_day(cluster, day, held=name == "placed")
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


#: Of the watchdog in `chaos`: how old the heartbeat may be, and how often it looks, seconds.
WATCHDOG_S, WATCHDOG_PERIOD_S = 10, 2


def chaos(jobs: int, seconds: float, seed: int, policy: str, load: float) -> dict[str, Any]:
    """The same day and faults under plain Slurm and through the daemon; each job's wait in both.

    Nodes are drained and given back, the controller is stopped and started; the daemon is killed
    every few seconds besides, and stays dead every third time until the watchdog has come. The
    watchdog's own time is how old a heartbeat may be and how often it looks. `load` is the share of
    the machine that the jobs need: the more, the more does one job's wait become another's.
    """
    draw = random.Random(seed)
    day = synthetic_day(jobs, 64, seconds, 3.0, seed)
    work = sum(job.nodes * job.sleep_s for job in day)
    scale = load * 64 * seconds / work
    day = [replace(job, sleep_s=round(job.sleep_s * scale, 2)) for job in day]
    faults = _faults(draw, seconds)
    found: dict[str, dict[int, float]] = {}
    restarts = 0
    for name in ("plain", "placed"):
        with EmulatedSlurm(
            64,
            cores=1,
            partitions=placed_slurm.PARTITIONS,
            parameters=placed_slurm.PARAMETERS,
            topology=placed_slurm.topology(8, 8),
        ) as cluster:
            time.sleep(4)
            daemon = Daemon(cluster, "--patience", "5 s", "--timeout", "20", "--policy", policy)
            over = threading.Event()
            threads = []
            if name == "placed":
                daemon.start()
                daemon.wait_for_a_cycle()
                threads.append(threading.Thread(target=_watch, args=(cluster, daemon, over)))
            ids: list[int] = []
            threads.append(threading.Thread(target=_submit, args=(cluster, day, name, ids)))
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
                elif name == "placed" and fault == "kill":
                    daemon.end(signal.SIGKILL)
                    restarts += 1
                elif name == "placed":
                    daemon.start()
            threads[-1].join()
            wait_until_done(cluster, 900, daemon)
            over.set()
            for thread in threads:
                thread.join()
            daemon.end()
            records = cluster.jobs()
            found[name] = {
                at: int(records[job]["StartTime"]) - int(records[job]["SubmitTime"])
                for at, job in enumerate(ids)
            }
    by_job = {at: found["placed"][at] - found["plain"][at] for at in found["plain"]}
    longer = sorted(by_job.values())
    worst = sorted(by_job, key=lambda at: -by_job[at])[:10]
    allowed = WATCHDOG_S + WATCHDOG_PERIOD_S
    return {
        "jobs": len(longer),
        "daemon_kills": restarts,
        "watchdog_s": allowed,
        **{
            f"{name}_{figure.__name__}_wait_s": figure(list(waits.values()))
            for name, waits in found.items()
            for figure in (statistics.fmean, statistics.median, max)
        },
        "longer_s": {
            "median": statistics.median(longer),
            "p95": longer[int(0.95 * len(longer))],
            "longest": longer[-1],
        },
        "longer_than_the_watchdog_allows": sum(one > allowed for one in longer),
        "faults": [(round(at, 1), fault) for at, fault, _ in faults],
        "worst": [
            {
                "submitted_s": round(day[at].after_s, 1),
                "nodes": day[at].nodes,
                **{name: waits[at] for name, waits in found.items()},
            }
            for at in worst
        ],
    }


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


def _submit(cluster: EmulatedSlurm, day: list[DayJob], name: str, ids: list[int]) -> None:
    begin = time.monotonic()
    for job in day:
        time.sleep(max(0.0, begin + job.after_s - time.monotonic()))
        while True:
            try:
                ids.append(submit(cluster, job, held=name == "placed"))
                break
            except RuntimeError:
                # The controller is being restarted.
                time.sleep(0.2)


def _watch(cluster: EmulatedSlurm, daemon: Daemon, over: threading.Event) -> None:
    """The watchdog as cron would start it."""
    watchdog = str(SHIPPED / "release-held-jobs.sh")
    while not over.wait(WATCHDOG_PERIOD_S):
        subprocess.run(
            [watchdog, str(daemon.heartbeat), str(WATCHDOG_S)],
            env=cluster.environment,
            capture_output=True,
            check=False,
        )


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
