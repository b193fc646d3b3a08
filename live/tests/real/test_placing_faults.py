"""The placement beside a real controller, and everything that can die, dies: jobs run once each.

More kills: ODONATA_CHAOS_KILLS=50 (CI: 8); results in docs/cluster-placement.md.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import stat
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import placed_slurm
from accounted_slurm import AccountedSlurm, reason_to_skip_accounting
from emulated_slurm import EmulatedSlurm, Partition
from network_experiment import CLI
from odonata_live.cluster import commands
from odonata_live.cluster.jobs import UNTIL_PLACED_S
from odonata_live.cluster.journal import Journal
from odonata_live.cluster.queue import hosts
from odonata_live.cluster.slurm_files import SHIPPED, write_slurm_files
from odonata_live.cluster.submitting import MARK
from placed_slurm import Daemon, complaint, finished, runs, submit, synthetic_day, wait_until_done
from test_watch_faults import controller

KILLS = int(os.environ.get("ODONATA_CHAOS_KILLS", "8"))
RESTARTS = max(1, KILLS // 10)
GROUPS, SIZE = 8, 8
Start = Callable[..., EmulatedSlurm]


def cluster_of(slurm: Start, groups: int = GROUPS, **parameters: str | int | None) -> EmulatedSlurm:
    return slurm(
        groups * SIZE,
        cores=1,
        partitions=placed_slurm.PARTITIONS,
        parameters={**placed_slurm.PARAMETERS, **parameters},
        topology=placed_slurm.topology(groups, SIZE),
    )


def bad_squeue(directory: Path) -> Path:
    """A squeue in front of the real one that now and then is slow, empty or cut off."""
    bin_ = directory / "bin"
    bin_.mkdir()
    script = bin_ / "squeue"
    script.write_text(
        "#!/bin/sh\n"
        "case $(($(date +%s) % 11)) in\n"
        "  3) exit 0 ;;\n"
        '  5) sleep 1; exec /usr/bin/squeue "$@" ;;\n'
        '  7) /usr/bin/squeue "$@" | head -c 700; exit 0 ;;\n'
        'esac\nexec /usr/bin/squeue "$@"\n'
    )
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return bin_


def test_every_job_runs_exactly_once(slurm: Start) -> None:
    """The daemon is killed at random, the controller restarted, nodes drained and failed, squeue
    slow, empty and cut off, the journal cut: no job is lost, none runs twice or elsewhere."""
    cluster = cluster_of(slurm)
    chance = random.Random(KILLS)
    seconds = 2.0 * KILLS + 8
    day = synthetic_day(8 * KILLS + 40, GROUPS * SIZE, seconds, 3.0, seed=KILLS)
    bin_ = bad_squeue(cluster.directory)
    daemon = Daemon(cluster, "--patience", "5 s", "--timeout", "20")
    real = dict(cluster.environment)
    cluster.environment["PATH"] = f"{bin_}:{real['PATH']}"
    daemon.start()
    cluster.environment["PATH"] = real["PATH"]
    ids: list[int] = []
    submitting = threading.Thread(
        target=lambda: ids.extend(submit_patiently(cluster, day)), daemon=True
    )
    submitting.start()
    restarts = 0
    damaged = False
    timers: list[threading.Timer] = []
    for kill in range(KILLS):
        # A slow machine needs seconds to start it: who is killed before has done nothing.
        wait_until_it_places(daemon, kill + 1)
        time.sleep(chance.uniform(0.3, 3.5))
        daemon.end(signal.SIGKILL)
        if kill % 8 == 3 and restarts < RESTARTS:
            restarts += 1
            stop_controller(cluster)
            cluster.restart_controller()
        if kill % 4 == 1:
            node = f"n{chance.randrange(GROUPS * SIZE)}"
            run_patiently(cluster, "update", f"nodename={node}", "state=drain", "reason=test")
            back = ("update", f"nodename={node}", "state=resume")
            timers.append(threading.Timer(4, run_patiently, (cluster, *back)))
            timers[-1].start()
        if kill == KILLS // 2:
            cut(daemon.journal)
            damaged = True
        cluster.environment["PATH"] = f"{bin_}:{real['PATH']}"
        daemon.start()
        cluster.environment["PATH"] = real["PATH"]
    submitting.join()
    for timer in timers:
        timer.join()
    assert damaged and len(ids) == len(day)
    wait_until_done(cluster, 300, daemon)
    daemon.end()
    check_once(cluster, daemon, ids)


def wait_until_it_places(daemon: Daemon, starts: int) -> None:
    """Until it has said for so many times that it goes to work, and has its journal."""
    deadline = time.monotonic() + 120
    while daemon.said().count("places by") < starts or not daemon.journal.exists():
        assert time.monotonic() < deadline, daemon.said()
        time.sleep(0.05)


def submit_patiently(cluster: EmulatedSlurm, day: list[placed_slurm.DayJob]) -> list[int]:
    """As users do, who try again where the controller is not there."""
    begin = time.monotonic()
    ids = []
    for job in day:
        time.sleep(max(0.0, begin + job.after_s - time.monotonic()))
        while True:
            try:
                ids.append(submit(cluster, job))
                break
            except RuntimeError as error:
                assert "ontroller" in str(error) or "onnect" in str(error), error
                time.sleep(0.5)
    return ids


def stop_controller(cluster: EmulatedSlurm) -> None:
    """As an operator does: it writes its state. Killed it would forget what it started last."""
    process = controller(cluster)
    os.kill(process, signal.SIGTERM)
    deadline = time.monotonic() + 60
    while placed_slurm.alive(process):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def run_patiently(cluster: EmulatedSlurm, *arguments: str) -> None:
    for _ in range(60):
        try:
            cluster.run("scontrol", *arguments)
            return
        except RuntimeError:
            time.sleep(0.5)


def cut(journal: Path) -> None:
    """Leaves half of the journal, as a machine without power may."""
    with journal.open("r+b") as file:
        file.truncate(journal.stat().st_size // 2 + 100)
    journal.with_name(journal.name + "-wal").unlink(missing_ok=True)


def logged(cluster: EmulatedSlurm, ids: list[int]) -> str:
    """What the controller and the nodes have in their logs of some jobs."""
    any_of = "|".join(map(str, ids))
    names = re.compile(rf"\b(?:JobId=|[Jj]ob |StepId=|job0*)(?:{any_of})\b|\[(?:{any_of})\.")
    lines = [
        f"{log.name}: {line}"
        for log in sorted((cluster.directory / "log").glob("*.log"))
        for line in log.read_text(errors="replace").splitlines()
        if names.search(line)
    ]
    return "\n".join(lines)


def script_was_deleted(cluster: EmulatedSlurm, job: int) -> bool:
    """Whether a node deleted Slurm's copy of a job's script while it was starting the job.

    slurmd 22.05.8 does, without us, too, if it is asked to register (as after every restart of the
    controller) between `bind` and `listen` of the job's slurmstepd: the connection that is refused
    makes it take the step for dead (`_handle_stray_script`). `execve` then fails, and the job ends
    by status 2, which is ENOENT. Seen every time with a `listen` that is nine seconds late.
    """
    script = f"job{job:05}/slurm_script"
    purging = f"Purging vestigial job script {cluster.directory}/spool/"
    return f"{script}: No such file or directory" in complaint(cluster, job) and any(
        purging in line and line.rstrip().endswith(script)
        for log in (cluster.directory / "log").glob("slurmd.*.log")
        for line in log.read_text(errors="replace").splitlines()
    )


def check_once(cluster: EmulatedSlurm, daemon: Daemon, ids: list[int]) -> None:
    ran = runs(cluster)
    jobs = cluster.jobs()
    lost = {job for job in ids if ran[job] == 0 and script_was_deleted(cluster, job)}
    assert len(lost) <= RESTARTS, lost
    odd = [job for job in ids if ran[job] != 1 and job not in lost]
    said = {job: complaint(cluster, job) for job in odd}
    assert not odd, (
        f"{[(ran[job], said[job], jobs.get(job)) for job in odd]}\n{logged(cluster, odd)}"
    )
    assert {jobs[job]["JobState"] for job in ids if job not in lost} == {"COMPLETED"}
    # No job whose decisions are known began on other nodes than one of them says.
    decided: dict[int, list[set[str]]] = {}
    left: set[int] = set()
    for path in daemon.journal.parent.glob("journal.sqlite*"):
        if path.name.endswith(("-wal", "-shm")) or "damaged" in path.name:
            continue
        journal = Journal(path)
        for one in journal.decisions():
            if one.nodes:
                decided.setdefault(int(one.job), []).append(set(one.nodes))
            else:
                left.add(int(one.job))
        journal.close()
    elsewhere = [
        (job, jobs[job]["NodeList"], decided[job])
        for job in ids
        if job in decided
        and job not in left
        and set(hosts(jobs[job]["NodeList"], "jobs")) not in decided[job]
    ]
    assert not elsewhere, f"{elsewhere}\n{daemon.said()[-2000:]}"
    assert len(decided) > len(ids) // 4


def test_a_full_disk_and_the_watchdog(slurm: Start) -> None:
    """Where the journal cannot be written nothing is placed; the watchdog gives the jobs to Slurm.

    A limit to the size of files stands in for a full disk.
    """
    cluster = cluster_of(slurm, groups=1)
    daemon = Daemon(cluster)
    daemon.journal.parent.mkdir(exist_ok=True)
    daemon.process = subprocess.Popen(
        [
            *("prlimit", "--fsize=1", *CLI, "cluster", "place", str(daemon.journal)),
            *("--allow-root", "--heartbeat", str(daemon.heartbeat)),
        ],
        env=cluster.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    ids = [submit(cluster, job) for job in synthetic_day(4, SIZE, 1, 0.5)]
    watchdog = [str(SHIPPED / "leave-waiting-jobs.sh"), str(daemon.heartbeat), "2"]
    deadline = time.monotonic() + 120
    while cluster.run("squeue", "--noheader"):
        assert time.monotonic() < deadline
        subprocess.run(watchdog, env=cluster.environment, check=True)
        time.sleep(0.5)
    assert not daemon.heartbeat.exists()
    daemon.end(signal.SIGKILL)
    ended = finished(cluster)
    assert {job: len(ended[job]) for job in ids} == dict.fromkeys(ids, 1)


class WithLua(EmulatedSlurm):
    """A cluster with our job_submit.lua, and the watchdog beside it."""

    def __init__(self, **parameters: str | int | None) -> None:
        super().__init__(
            SIZE,
            cores=1,
            partitions=(*placed_slurm.PARTITIONS, Partition("other")),
            parameters={**placed_slurm.PARAMETERS, "JobSubmitPlugins": "lua", **parameters},
            topology=placed_slurm.topology(1, SIZE),
        )
        self.watchdog = Path()

    def _write_configuration(self) -> None:
        super()._write_configuration()
        beat = self.directory / "place" / "heartbeat"
        _, self.watchdog = write_slurm_files(self.directory, beat, ["main"], 30)


def test_lua_lets_jobs_wait_and_the_watchdog_ends_that(slurm_available: None) -> None:
    """Plain sbatch into a partition of ours: waits while somebody places, left alone while not."""
    with WithLua() as cluster:
        daemon = Daemon(cluster)
        # Nobody places: Slurm goes on by itself.
        plain = cluster.submit("-N2", command="sleep 0")
        wait_until_done(cluster, 60)
        assert cluster.jobs()[plain].get("Comment", "(null)") == "(null)"
        daemon.start()
        daemon.wait_for_a_cycle()
        placed = cluster.submit("-N2", "-t1", "--comment=mine", command="sleep 0")
        named = cluster.submit("-N1", "-w", "n3", command="sleep 0")
        other = cluster.submit("-N1", "-p", "other", command="sleep 0")
        wait_until_done(cluster, 60, daemon)
        jobs = cluster.jobs()
        assert jobs[placed]["Comment"] == f"{MARK} mine"
        assert all(jobs[job].get("Comment", "(null)") == "(null)" for job in (named, other))
        journal = Journal(daemon.journal)
        assert [one.job for one in journal.decisions()] == [str(placed)]
        journal.close()
        # It hangs: jobs wait, until the watchdog comes.
        assert daemon.process is not None
        daemon.process.send_signal(signal.SIGSTOP)
        stuck = cluster.submit("-N2", "-t1", command="sleep 0")
        assert cluster.jobs()[stuck]["EligibleTime"] == str(UNTIL_PLACED_S)
        deadline = time.monotonic() + 90
        while cluster.run("squeue", "--noheader"):
            assert time.monotonic() < deadline
            subprocess.run(
                [str(cluster.watchdog), str(daemon.heartbeat), "2"],
                env=cluster.environment,
                check=True,
            )
            time.sleep(0.5)
        assert cluster.jobs()[stuck]["JobState"] == "COMPLETED"
        # It wakes up and does no harm.
        daemon.process.send_signal(signal.SIGCONT)
        daemon.wait_for_a_cycle()
        daemon.end()
        assert len(finished(cluster)[stuck]) == 1


def test_rights_of_slurms_own_user_suffice(slurm_available: None) -> None:
    """Without accounting SlurmUser, not root, may pin and release others' jobs; users may not."""

    class OfDaemon(EmulatedSlurm):
        def _write_configuration(self) -> None:
            state = self.directory / "state"
            self.parameters |= {
                "SlurmctldLogFile": f"{state}/slurmctld.log",
                "SlurmctldPidFile": f"{state}/slurmctld.pid",
                "JobCompLoc": f"{state}/finished.txt",
            }
            super()._write_configuration()
            shutil.chown(state, "daemon")

    with OfDaemon(
        SIZE,
        cores=1,
        partitions=placed_slurm.PARTITIONS,
        parameters={**placed_slurm.PARAMETERS, "SlurmUser": "daemon"},
        topology=placed_slurm.topology(1, SIZE),
    ) as cluster:
        waits = (*placed_slurm.WAITS, "-N2", "-t1", "--chdir=/")
        job = cluster.submit(*waits, "--uid=bin", command="sleep 0")

        asked = f"{commands.pin(str(job), ['n3', 'n5'])}\n{commands.begin(str(job))}\n"
        assert "Invalid user id" in asked_as(cluster, "games", asked)
        assert cluster.jobs()[job]["EligibleTime"] == str(UNTIL_PLACED_S)
        assert "for job" not in asked_as(cluster, "daemon", asked)
        wait_until_done(cluster, 60)
        assert cluster.jobs()[job]["NodeList"] == "n[3,5]"


def asked_as(cluster: EmulatedSlurm, user: str, lines: str) -> str:
    """What scontrol says to a user who asks so."""
    done = subprocess.run(
        [*("setpriv", f"--reuid={user}", "--regid=1", "--clear-groups"), "scontrol"],
        input=lines,
        env=cluster.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_an_operator_may_place_and_no_more(slurm_available: None) -> None:
    """With accounting, a user of the level Operator may do all that the daemon asks of Slurm, in
    its words, with the jobs of others; but change neither nodes nor the controller."""
    if reason := reason_to_skip_accounting():
        pytest.skip(reason)
    with AccountedSlurm(
        SIZE,
        cores=1,
        partitions=placed_slurm.PARTITIONS,
        parameters=dict(placed_slurm.PARAMETERS),
        topology=placed_slurm.topology(1, SIZE),
        start_timeout_s=120,
    ) as cluster:
        waits = (*placed_slurm.WAITS, "-N2", "-t1", "--chdir=/")
        job = str(cluster.submit(*waits, "--uid=bin", command="sleep 0"))

        def lines(asked: list[str]) -> str:
            return "".join(f"{line}\n" for line in asked)

        place = lines([commands.pin(job, ["n3", "n5"]), commands.begin(job)])
        back = lines([commands.pin(job, ["n1", "n2"]), commands.withdraw(job)])
        left = lines(commands.leave(job, pinned=True, refused=True))
        for asked in (place, back, left, lines(commands.leave(job, pinned=True))):
            assert "Invalid user id" in asked_as(cluster, "games", asked)
        assert cluster.jobs()[int(job)]["EligibleTime"] == str(UNTIL_PLACED_S)
        assert "error" not in (said := asked_as(cluster, "daemon", back)), said
        assert cluster.jobs()[int(job)]["EligibleTime"] == str(UNTIL_PLACED_S)
        assert "error" not in (said := asked_as(cluster, "daemon", place)), said
        for not_theirs in ("update nodename=n7 state=drain reason=x\n", "reconfigure\n"):
            assert "Invalid user id" in asked_as(cluster, "daemon", not_theirs)
        wait_until_done(cluster, 60)
        assert cluster.jobs()[int(job)]["NodeList"] == "n[3,5]"
