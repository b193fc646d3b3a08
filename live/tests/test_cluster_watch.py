"""The sampler of a cluster: nothing is lost, whatever is killed, slow, full or garbage."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from command import call
from odonata.errors import ClusterError, OutputError
from odonata_live.cluster.watch import Store, Watch, write_metrics

CLI = (sys.executable, "-c", "import odonata.cli; odonata.cli.main()")
QUEUE = "1|RUNNING|n[0-1]\n2|RUNNING|n[1-3]\n3|RUNNING|n1\n4|PENDING|\n"


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Slurm that answers at once; returns the file of its squeue."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (tmp_path / "queue").write_text(QUEUE)
    for name, script in [("squeue", f"cat {tmp_path}/queue"), ("sinfo", "echo 'n[0-7]'")]:
        (bin_ / name).write_text(f"#!/bin/sh\n{script}\n")
        (bin_ / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_}:{os.environ['PATH']}")
    return bin_ / "squeue"


class Steps:
    """In place of waiting: ends after so many samples, and does something before each further."""

    def __init__(self, count: int, **then: object) -> None:
        self.waits: list[float] = []
        self.count = count
        self.then = then

    def __call__(self, wait: float) -> bool:
        self.waits.append(wait)
        action = self.then.get(f"after_{len(self.waits)}")
        if callable(action):
            action()
        return len(self.waits) >= self.count


def test_samples_are_kept_with_the_whole_queue(slurm: Path, tmp_path: Path) -> None:
    path = tmp_path / "b.sqlite"
    steps = Steps(3)
    watch = Watch(period_s=60)
    watch.run(path, stop=steps)
    assert watch.kept == 3
    assert all(wait == pytest.approx(60, abs=5) for wait in steps.waits)
    watch.run(path, stop=Steps(2))
    assert watch.kept == 3 + 2
    store = Store(path)
    samples = store.samples()
    assert len(samples) == 5
    assert [sample["b"] for sample in samples] == [pytest.approx(5 / 12)] * 5
    assert (samples[0]["n_c"], samples[0]["n_t"], samples[0]["pending_jobs"]) == (4, 8, 1)
    jobs = store.queue_at(samples[-1]["time_s"])
    assert [(job.id, job.state, len(job.nodes)) for job in jobs][:2] == [
        ("1", "RUNNING", 2),
        ("2", "RUNNING", 3),
    ]
    with pytest.raises(ClusterError, match="no sample up to"):
        store.queue_at(0)


def test_a_slurm_that_fails_is_said_once_and_asked_less_often(slurm: Path, tmp_path: Path) -> None:
    good = slurm.read_text()
    lines: list[str] = []

    def fail() -> None:
        slurm.write_text("#!/bin/sh\necho 'Unable to contact slurm controller' >&2\nexit 1\n")

    def garbage() -> None:
        slurm.write_text("#!/bin/sh\nhead -c 100 /dev/urandom\n")

    def mend() -> None:
        slurm.write_text(good)

    steps = Steps(8, after_1=fail, after_4=garbage, after_6=mend)
    watch = Watch(period_s=10, say=lines.append)
    watch.run(tmp_path / "b.sqlite", stop=steps)
    assert watch.kept == 8
    periods = [round(wait / 10) for wait in steps.waits]
    assert periods == [1, 2, 4, 8, 16, 16, 1, 1]
    assert "Unable to contact" in lines[0]
    assert lines[1:] == ["Slurm answers again, after 5 failures"]
    errors = [sample["error"] for sample in Store(tmp_path / "b.sqlite").samples()]
    assert [error is None for error in errors] == [True, *([False] * 5), True, True]


def test_a_slow_slurm_is_given_up_and_rests(slurm: Path, tmp_path: Path) -> None:
    slurm.write_text("#!/bin/sh\nexec sleep 10\n")
    steps = Steps(1)
    Watch(period_s=0.1, timeout_s=0.3, say=lambda _: None).run(tmp_path / "b.sqlite", stop=steps)
    (sample,) = Store(tmp_path / "b.sqlite").samples()
    assert "no answer within 0.3 s" in sample["error"]
    assert steps.waits[0] >= 3


def test_slow_answers_are_kept_and_asked_for_less_often(slurm: Path, tmp_path: Path) -> None:
    slurm.write_text(slurm.read_text().replace("cat", "sleep 1; cat"))
    lines: list[str] = []
    steps = Steps(2)
    Watch(period_s=2, say=lines.append).run(tmp_path / "b.sqlite", stop=steps)
    samples = Store(tmp_path / "b.sqlite").samples()
    assert all(sample["error"] is None and sample["asked_s"] >= 1 for sample in samples)
    # Ten times what the answer took, at least; nothing to tell people.
    for wait, sample in zip(steps.waits, samples, strict=True):
        assert wait >= 9.9 * sample["asked_s"]
    assert lines == []


def test_old_samples_go(slurm: Path, tmp_path: Path) -> None:
    path = tmp_path / "b.sqlite"
    store = Store(path, create=True)
    for at in (1.0, 2.0, time.time()):
        store.add({"time_s": at, "asked_s": 0.1}, [])
    store.close()
    Watch(keep_s=86_400).run(path, stop=Steps(1))
    store = Store(path)
    assert len(store.samples()) == 2
    for _ in range(300):
        store.add({"time_s": 1.0, "asked_s": 0.1, "error": "x" * 1_000}, None)
    assert store.forget_oldest(100_000) > 150
    assert 1 <= len(store.samples()) < 150


def test_a_full_disk_loses_the_sample_and_nothing_else(slurm: Path, tmp_path: Path) -> None:
    path = tmp_path / "b.sqlite"
    lines: list[str] = []
    store = Store(path, create=True)
    store.add({"time_s": 1.0, "asked_s": 0.1}, [])

    class Full(Store):
        def add(self, sample: object, jobs: object) -> None:
            raise sqlite3.OperationalError("database or disk is full")

    watch = Watch(say=lines.append)
    watch._sample_for(Full(path), float("inf"), Steps(2))
    assert watch.kept == 0
    assert lines == ["a sample could not be kept: database or disk is full"] * 2
    assert len(store.samples()) == 1


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("this is no database at all, but a text of some length")
    with pytest.raises(ClusterError, match="not a store"):
        Store(tmp_path / "text")
    other = sqlite3.connect(tmp_path / "other")
    other.execute("CREATE TABLE a (b)")
    other.close()
    with pytest.raises(ClusterError, match="no store of samples"):
        Store(tmp_path / "other")
    with pytest.raises(OutputError, match="there is no such file"):
        Store(tmp_path / "none")
    with pytest.raises(OutputError, match="cannot be opened"):
        Watch().run(tmp_path / "no" / "b.sqlite", stop=Steps(1))


def test_metrics_are_prometheus_text(tmp_path: Path) -> None:
    path = tmp_path / "odonata.prom"
    write_metrics(path, {"b": 0.5, "n_t": 8, "time_s": 1.5, "asked_s": 0.02})
    text = path.read_text()
    assert "# TYPE odonata_cluster_utilisation gauge\nodonata_cluster_utilisation 0.5\n" in text
    assert text.endswith("odonata_cluster_slurm_up 1\n")
    write_metrics(path, {"time_s": 2.0, "error": "no answer"})
    assert "odonata_cluster_slurm_up 0" in path.read_text()
    assert "odonata_cluster_utilisation " not in path.read_text()
    assert list(tmp_path.iterdir()) == [path]


def test_several_open_a_new_store_at_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        for number in range(20):
            path = tmp_path / f"{number}.sqlite"
            stores = list(pool.map(lambda _, path=path: Store(path, create=True), range(8)))
            assert all(store.path == path for store in stores)


def test_a_store_that_another_holds_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "b.sqlite"
    Store(path, create=True).close()
    # A file whose journal is about to change is held whole: SQLite refuses a second at once.
    holder = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    holder.execute("PRAGMA journal_mode=DELETE")
    holder.execute("BEGIN EXCLUSIVE")
    release = threading.Timer(0.3, holder.close)
    release.start()
    Store(path).close()
    release.join()

    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("PRAGMA journal_mode=DELETE")
    holder.execute("BEGIN EXCLUSIVE")
    monkeypatch.setattr("odonata_live.cluster.store.LONGEST_WAIT_S", 0.2)
    with pytest.raises(OutputError, match="cannot be opened: database is locked"):
        Store(path)
    holder.close()


#: Watches without the seconds that the command takes to start, and says when a sample is safe.
PROGRAM = """
import sys, time
from pathlib import Path
from odonata_live.cluster.watch import Watch
def stop(wait):
    print("kept", flush=True)
    time.sleep(0.005)
    return False
Watch(period_s=0.01).run(Path(sys.argv[1]), stop=stop)
"""


def test_killed_twenty_times_it_has_every_sample_that_was_taken(
    slurm: Path, tmp_path: Path
) -> None:
    path = tmp_path / "b.sqlite"
    chance = random.Random(1)
    said = 0
    for _ in range(20):
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        said += process.stdout.readline() == "kept\n"
        time.sleep(chance.uniform(0, 0.08))
        process.kill()
        said += process.stdout.read().count("kept\n")
        process.wait()
        process.stdout.close()
    store = Store(path)
    (verdict,) = store._db.execute("PRAGMA integrity_check").fetchone()
    assert verdict == "ok"
    samples = store.samples()
    # What was said to be kept is there; a kill may come between keeping and saying.
    assert said <= len(samples) <= said + 20
    assert all(sample["error"] is None and sample["n_c"] == 4 for sample in samples)


def test_the_commands(slurm: Path, tmp_path: Path) -> None:
    path = str(tmp_path / "b.sqlite")
    process = subprocess.Popen(
        [*CLI, "cluster", "watch", path, "--period", "1 s", "--metrics", str(tmp_path / "m.prom")],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert "one sample in 1 s" in process.stderr.readline()
    while not (tmp_path / "m.prom").exists():
        time.sleep(0.05)
    second = subprocess.run([*CLI, "cluster", "watch", path], capture_output=True, text=True)
    assert second.returncode == 4
    assert "another process watches" in second.stderr
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=60) == 0
    assert "samples kept" in process.stderr.read()
    process.stderr.close()
    reported = call("cluster", "history", path, "--json", directory=tmp_path)
    assert reported.returncode == 0, reported.stderr
    assert json.loads(reported.stdout)["samples"][0]["b1"] == 0.5
    reported = call("cluster", "history", path, "--csv", directory=tmp_path)
    assert reported.returncode == 0, reported.stderr
    assert reported.stdout.startswith("time_s,asked_s,b1,b,")
    reported = call("cluster", "history", path, directory=tmp_path)
    assert reported.returncode == 0, reported.stderr
    assert "latest: b = 0.417" in reported.stdout
    wrong = call("cluster", "watch", path, "--period", "5", directory=tmp_path)
    assert wrong.returncode == 2
    assert "without a unit" in wrong.stderr
