"""Measurements of the placement beside an emulated Slurm, by hand:

python tests/live/measure_placing.py rate NODES JOBS     decisions a second, commands, sdiag
python tests/live/measure_placing.py waits JOBS SECONDS  waits of a day with and without us
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import placed_slurm
from emulated_slurm import EmulatedSlurm
from odonata.cluster.jobs import MARK
from odonata.cluster.journal import Journal
from placed_slurm import Daemon, submit_day, synthetic_day, theta_day, wait_until_done

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


if __name__ == "__main__":
    what, *numbers = sys.argv[1:]
    if what == "rate":
        print(json.dumps(rate(int(numbers[0]), int(numbers[1])), indent=1))
    else:
        print(json.dumps(waits(int(numbers[0]), float(numbers[1])), indent=1))
