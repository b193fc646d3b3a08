"""A node fails or is drained between decision and start: the job is placed anew, and runs once."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

import placed_slurm
from emulated_slurm import EmulatedSlurm
from odonata_live.cluster.journal import Decision, Journal
from odonata_live.cluster.queue import hosts
from placed_slurm import Daemon, DayJob, finished, runs, submit, wait_until_done

SIZE = 8
#: A controller that starts nothing until it is configured anew: what a job is decided for can
#: fail first, however slow the host is.
ASLEEP = "batch_sched_delay=3600,sched_interval=-1,sched_min_interval=2000000000,bf_interval=3600"


@pytest.mark.parametrize("fault", ["down", "drain"])
def test_a_node_fails_before_the_job_begins(
    slurm: Callable[..., EmulatedSlurm], fault: str
) -> None:
    cluster = slurm(
        SIZE,
        cores=1,
        partitions=placed_slurm.PARTITIONS,
        parameters={**placed_slurm.PARAMETERS, "SchedulerParameters": ASLEEP},
        topology=placed_slurm.topology(1, SIZE),
    )
    # Nobody's nodes are busy: patience plays no part.
    daemon = Daemon(cluster, "--patience", "10 min")
    daemon.start()
    job = submit(cluster, DayJob(0.0, 3, 0.1, 1))
    first = decisions_of(daemon, job, 1)[0]
    assert len(first.nodes) == 3
    lost = first.nodes[0]
    cluster.run("scontrol", "update", f"nodename={lost}", f"state={fault}", "reason=test")
    second = decisions_of(daemon, job, 2)[1]
    assert len(second.nodes) == 3 and lost not in second.nodes
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
