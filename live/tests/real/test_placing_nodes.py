"""A node fails or is drained between decision and start: the job is placed anew, and runs once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import placed_slurm
from emulated_slurm import EmulatedSlurm
from network_experiment import CLI
from odonata_live.cluster.journal import WITHDRAWN, Decision, Journal
from odonata_live.cluster.queue import hosts
from placed_slurm import Daemon, DayJob, finished, runs, submit, wait_until_done

SIZE = 8
#: A controller that starts nothing until it is configured anew: what a job is decided for can
#: fail first, however slow the host is.
ASLEEP = "batch_sched_delay=3600,sched_interval=-1,sched_min_interval=2000000000,bf_interval=3600"
#: After how many seconds Slurm gives up a node that does not answer.
GIVEN_UP_S = 6


@pytest.mark.parametrize("fault", ["down", "drain", "killed"])
def test_a_node_fails_before_the_job_begins(
    slurm: Callable[..., EmulatedSlurm], fault: str
) -> None:
    cluster = slurm(
        SIZE,
        cores=1,
        partitions=placed_slurm.PARTITIONS,
        parameters={
            **placed_slurm.PARAMETERS,
            "SchedulerParameters": ASLEEP,
            **({"SlurmdTimeout": GIVEN_UP_S} if fault == "killed" else {}),
        },
        topology=placed_slurm.topology(1, SIZE),
    )
    # Nobody's nodes are busy: patience plays no part.
    daemon = Daemon(cluster, "--patience", "10 min")
    daemon.start()
    job = submit(cluster, DayJob(0.0, 3, 0.1, 1))
    first = decisions_of(daemon, job, 1)[0]
    assert len(first.nodes) == 3
    # One that waits in Slurm's own queue, for all nodes.
    whole = cluster.submit(f"-N{SIZE}", "-t1", command="true")
    assert starts(cluster)[str(whole)] is not None
    lost = first.nodes[0]
    fail(cluster, lost, fault)
    # What is asked of Slurm from now on knows it: what-if at once, the daemon in the first cycle
    # that begins after that, which is the second that ends.
    assert starts(cluster)[str(whole)] is None
    cluster.run("scancel", str(whole))
    for _ in range(2):
        daemon.wait_for_a_cycle()
    assert decisions_of(daemon, job, 1)[0].state == WITHDRAWN
    second = decisions_of(daemon, job, 2)[1]
    assert len(second.nodes) == 3 and lost not in second.nodes
    if fault == "killed":
        # The rest is as where the node is taken down, but that Slurm waits for it to be configured.
        daemon.end()
        return
    path = cluster.directory / "slurm.conf"
    awake = str(placed_slurm.PARAMETERS["SchedulerParameters"])
    path.write_text(path.read_text().replace(ASLEEP, awake))
    cluster.run("scontrol", "reconfigure")
    wait_until_done(cluster, 60, daemon)
    daemon.end()
    assert [one["JobState"] for one in finished(cluster)[job]] == ["COMPLETED"]
    # Nodes that answer late to the new configuration seem lost: then it is decided again.
    last = decisions_of(daemon, job, 2)[-1]
    assert set(hosts(cluster.jobs()[job]["NodeList"], "jobs")) == set(last.nodes)
    assert runs(cluster) == {job: 1}


def decisions_of(daemon: Daemon, job: int, count: int) -> list[Decision]:
    """What the journal has of a job, once that is so many."""
    deadline = time.monotonic() + 90
    while True:
        if daemon.journal.exists() and daemon.heartbeat.exists():
            journal = Journal(daemon.journal)
            found = [one for one in journal.decisions() if one.job == str(job)]
            journal.close()
            if len(found) >= count:
                return found
        assert time.monotonic() < deadline, daemon.said()
        time.sleep(0.1)


def fail(cluster: EmulatedSlurm, node: str, fault: str) -> None:
    """Takes a node down, drains it, or kills its daemon; returns when Slurm itself knows it."""
    if fault != "killed":
        cluster.run("scontrol", "update", f"nodename={node}", f"state={fault}", "reason=test")
        return
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            words = (directory / "cmdline").read_text().split("\0")
        except (OSError, UnicodeDecodeError):
            continue
        ours = words[1:5] == ["-N", node, "-f", str(cluster.directory / "slurm.conf")]
        if ours and words[0].endswith("slurmd"):
            os.kill(int(directory.name), signal.SIGKILL)
            break
    else:
        raise AssertionError(f"no daemon of {node}")
    deadline = time.monotonic() + 90
    # Slurm marks what does not answer with a star.
    while "*" not in cluster.run("sinfo", "--noheader", f"--nodes={node}", "--format=%T"):
        assert time.monotonic() < deadline, "Slurm does not miss the daemon"
        time.sleep(0.1)


def starts(cluster: EmulatedSlurm) -> dict[str, float | None]:
    """When jobs that wait are expected to start, seconds from now, by `cluster what-if`."""
    answer = subprocess.run(
        [*CLI, "cluster", "what-if", "--json", "--policy", "slurm", "--draws", "1"],
        env=cluster.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    found: dict[str, Any] = json.loads(answer.stdout)
    return {job["job"]: job["start_s"] for job in found["slurm"]["jobs"]}
