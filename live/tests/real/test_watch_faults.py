"""The sampler beside a real controller that hangs, dies and comes back, and is killed itself."""

import os
import random
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from emulated_slurm import EmulatedSlurm
from network_experiment import CLI
from odonata_live.cluster.watch import Store


def controller(cluster: EmulatedSlurm) -> int:
    """Its process, seen from outside of the cluster's namespace."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue
            if command[0].endswith("slurmctld") and str(cluster.directory) in " ".join(command):
                return int(entry.name)
    raise AssertionError("no slurmctld")


def wait_for(path: Path, wanted: Callable[[list[str | None]], bool], timeout_s: float = 90) -> None:
    """Until the errors of all samples are as wanted."""
    deadline = time.monotonic() + timeout_s
    while True:
        errors: list[str | None] = []
        if path.exists():
            store = Store(path)
            errors = [sample["error"] for sample in store.samples()]
            store.close()
        if wanted(errors):
            return
        assert time.monotonic() < deadline, errors
        time.sleep(0.3)


def good_since(count: int) -> Callable[[list[str | None]], bool]:
    return lambda errors: any(error is None for error in errors[count:])


def failed_since(count: int) -> Callable[[list[str | None]], bool]:
    return lambda errors: any(error is not None for error in errors[count:])


def taken(path: Path) -> int:
    store = Store(path)
    count = len(store.samples())
    store.close()
    return count


def test_the_watcher_goes_on_whatever_the_controller_does(
    slurm: Callable[..., EmulatedSlurm], tmp_path: Path
) -> None:
    cluster = slurm(4, cores=2)
    cluster.submit("-N2", "-n2", command="sleep 600")
    while "RUNNING" not in cluster.run("squeue", "--noheader", "--format=%T"):
        time.sleep(0.1)
    path, log = tmp_path / "b.sqlite", tmp_path / "log"
    with log.open("w") as said:
        command = (*CLI, "cluster", "watch", str(path), "--period", "1 s", "--timeout", "1")
        watching = subprocess.Popen(command, env=cluster.environment, stderr=said)
        wait_for(path, good_since(0))
        # It hangs: no answer in time; then it goes on.
        process = controller(cluster)
        before = taken(path)
        os.kill(process, signal.SIGSTOP)
        wait_for(path, failed_since(before))
        before = taken(path)
        os.kill(process, signal.SIGCONT)
        wait_for(path, good_since(before))
        # It dies, and another is started, in the namespace, so that it dies with the cluster.
        before = taken(path)
        os.kill(process, signal.SIGKILL)
        wait_for(path, failed_since(before))
        before = taken(path)
        cluster.restart_controller()
        wait_for(path, good_since(before))
        watching.send_signal(signal.SIGTERM)
        assert watching.wait(timeout=60) == 0
    text = log.read_text()
    assert "no answer within 1 s" in text
    assert text.count("Slurm answers again") >= 2
    store = Store(path)
    assert {sample["b1"] for sample in store.samples() if sample["error"] is None} == {0.5}
    store.close()


def test_killed_at_random_beside_a_real_slurm(
    slurm: Callable[..., EmulatedSlurm], tmp_path: Path
) -> None:
    """As the test with scripts in place of Slurm, but the whole command; five times."""
    cluster = slurm(2, cores=2)
    path = tmp_path / "b.sqlite"
    chance = random.Random(1)
    count = 0
    for _ in range(5):
        command = (*CLI, "cluster", "watch", str(path), "--period", "1 s")
        watching = subprocess.Popen(command, env=cluster.environment, stderr=subprocess.DEVNULL)
        before = count
        wait_for(path, lambda errors, before=before: len(errors) > before)  # type: ignore[misc]
        time.sleep(chance.uniform(0, 1.2))
        watching.kill()
        watching.wait()
        now = taken(path)
        assert now > count
        count = now
    database = sqlite3.connect(path)
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert database.execute("SELECT count(*) FROM samples WHERE error IS NOT NULL").fetchone() == (
        0,
    )
    database.close()
