"""Whoever holds a job beside a real controller: the daemon and the watchdog leave it held."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable

import placed_slurm
from emulated_slurm import EmulatedSlurm
from odonata_live.cluster.jobs import UNTIL_PLACED
from odonata_live.cluster.submitting import MARK
from placed_slurm import Daemon, finished, wait_until_done
from test_placing_faults import WithLua, asked_as


def test_the_daemon_lifts_no_hold(slurm_available: None) -> None:
    """Holds of users and of operators, before and after a job was submitted or marked.

    `scontrol hold` by a job's user and `uhold` are JobHeldUser, `hold` by an operator is
    JobHeldAdmin, which users cannot lift. Without them, all of these jobs would begin at once.
    """
    with WithLua() as cluster:
        daemon = Daemon(cluster)
        daemon.start()
        daemon.wait_for_a_cycle()
        # The nodes are taken: what lua lets wait is not placed before it is held.
        blocking = cluster.submit("-N8", "-t5", command="sleep 60")
        wait_for(cluster, blocking, "RUNNING")

        def of_user(*options: str) -> int:
            options = ("-N1", "-t1", "--uid=bin", "--chdir=/", *options)
            return cluster.submit(*options, command="sleep 0")

        def scontrol(*words: str, user: str = "root") -> None:
            assert not asked_as(cluster, user, " ".join(words) + "\n").count("error")

        held: dict[str, int] = {}
        # Users: held at submission with our mark, with our begin time; set later; held later.
        held["own, with the comment"] = of_user("-H", f"--comment={MARK}")
        held["own, as we submit"] = of_user("-H", *placed_slurm.WAITS)
        held["own, marked later"] = of_user("-H")
        scontrol("update", f"jobid={held['own, marked later']}", f"comment={MARK}", user="bin")
        held["own, begin time later"] = of_user("-H")
        scontrol(
            *("update", f"jobid={held['own, begin time later']}", f"StartTime={UNTIL_PLACED}"),
            user="bin",
        )
        held["own, waiting to be placed"] = of_user()
        scontrol("hold", str(held["own, waiting to be placed"]), user="bin")
        # Operators: jobs that wait to be placed, plain ones, one task of an array.
        held["operator's"] = of_user()
        scontrol("hold", str(held["operator's"]))
        held["operator's for the user"] = of_user()
        scontrol("uhold", str(held["operator's for the user"]))
        other = of_user("-p", "other", f"--comment={MARK}")
        held["operator's, of another partition"] = other
        scontrol("hold", str(other))
        scontrol("update", f"jobid={other}", f"comment={MARK}", user="bin")
        array = of_user("--array=0-3")
        scontrol("hold", f"{array}_1")
        scontrol("uhold", f"{array}_2")
        # A plain begin time of a user with our mark is the user's.
        later = of_user(f"--comment={MARK}", "--begin=now+1hour")
        free = of_user()
        reasons = reasons_of(cluster)
        assert {reasons[str(job)] for job in held.values()} == {"JobHeldUser", "JobHeldAdmin"}
        assert reasons[str(held["operator's"])] == "JobHeldAdmin"

        cluster.run("scancel", str(blocking))
        # Its own are placed, the tasks that nobody holds among them.
        for job in (free, array):
            deadline = time.monotonic() + 60
            while len(done := finished(cluster).get(job, ())) < 1:
                assert time.monotonic() < deadline, (job, done, daemon.said())
                time.sleep(0.1)
        for _ in range(3):
            daemon.wait_for_a_cycle()
        check_held(cluster, held, array, later, daemon)

        # Nor when it rests, is started anew with an empty journal, or the watchdog takes over.
        daemon.end()
        daemon.journal.unlink()
        daemon.start()
        for _ in range(3):
            daemon.wait_for_a_cycle()
        check_held(cluster, held, array, later, daemon)
        daemon.end()
        watchdog = [str(cluster.watchdog), str(daemon.heartbeat), "2"]
        subprocess.run(watchdog, env=cluster.environment, check=True)
        time.sleep(2)
        check_held(cluster, held, array, later, daemon)

        # Once released they begin.
        for job in held.values():
            scontrol("release", str(job))
        scontrol("release", f"{array}_1")
        scontrol("release", f"{array}_2")
        cluster.run("scancel", str(later))
        daemon.start()
        wait_until_done(cluster, 90, daemon)
        daemon.end()
        ended = finished(cluster)
        assert all(len(ended[job]) == 1 for job in held.values()), daemon.said()


def check_held(
    cluster: EmulatedSlurm, held: dict[str, int], array: int, later: int, daemon: Daemon
) -> None:
    reasons = reasons_of(cluster)
    for name, job in held.items():
        assert reasons.get(str(job), "").startswith("JobHeld"), (name, reasons, daemon.said())
    for task in (1, 2):
        assert reasons.get(f"{array}_{task}", "").startswith("JobHeld"), (task, reasons)
    assert reasons[str(later)] in ("BeginTime", "None")
    assert not [line for line in daemon.said().splitlines() if "release" in line]


def reasons_of(cluster: EmulatedSlurm) -> dict[str, str]:
    """Why jobs wait, each task of an array by itself."""
    out = cluster.run("squeue", "--noheader", "--array", "--states=PENDING", "--format=%i %r")
    return dict(line.split(maxsplit=1) for line in out.splitlines())


def wait_for(cluster: EmulatedSlurm, job: int, state: str) -> None:
    deadline = time.monotonic() + 60
    while cluster.jobs()[job]["JobState"] != state:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_a_hold_on_nodes_that_were_chosen(slurm: Callable[..., EmulatedSlurm]) -> None:
    """Who holds a job after it was given nodes is heard, too; released, it is placed anew."""
    cluster = slurm(
        8,
        cores=1,
        partitions=placed_slurm.PARTITIONS,
        # Nothing begins by itself: there is time to hold what was given nodes.
        parameters={
            **placed_slurm.PARAMETERS,
            "SchedulerParameters": "batch_sched_delay=3600,sched_interval=-1,"
            "sched_min_interval=2000000000,bf_interval=3600",
        },
        topology=placed_slurm.topology(1, 8),
    )
    daemon = Daemon(cluster, "--patience", "10 min")
    daemon.start()
    job = cluster.submit(*placed_slurm.WAITS, "-N3", "-t1", command="sleep 0")
    deadline = time.monotonic() + 60
    while cluster.jobs()[job]["ReqNodeList"] == "(null)":
        assert time.monotonic() < deadline, daemon.said()
        time.sleep(0.1)
    cluster.run("scontrol", "hold", str(job))
    for _ in range(3):
        daemon.wait_for_a_cycle()
    record = cluster.jobs()[job]
    assert (record["Priority"], record["Reason"]) == ("0", "JobHeldAdmin"), daemon.said()
    cluster.run("scontrol", "release", str(job))
    for _ in range(3):
        daemon.wait_for_a_cycle()
    record = cluster.jobs()[job]
    assert record["Priority"] != "0" and record["ReqNodeList"] != "(null)", daemon.said()
    daemon.end()
