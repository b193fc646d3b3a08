"""Runs that are stopped and go on: what is left at the end is what one run would have left."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

import odonata as package
from odonata import Checkpoint, CheckpointError, OutputError
from odonata.errors import ExitCode
from odonata.output import CHECKPOINT_FILE
from odonata.results import Result
from odonata.simulate.checkpoint import CheckpointEvent, claim_run
from odonata.units import Duration, UnitError
from test_end_to_end import COMMAND, SMALL, digests, odonata

#: Takes some seconds of one core: traffic beside a motif, with a routing that draws random
#: numbers and sees a snapshot of the network.
LONG = """
seed = 5

[network]
family = "dragonfly"
p = 2
a = 4
h = 2
routing = "ugal-g"

[network.links]
terminal = { bandwidth = "8 GB/s", latency = "100 ns" }
local = { bandwidth = "8 GB/s", latency = "500 ns" }
global = { bandwidth = "8 GB/s", latency = "1 us" }

[simulation]
duration = "120 ms"
warmup = "1 ms"

[record]
messages = 50

[[job]]
name = "stencil"
nodes = 32
placement = "random-node"
motif = { kind = "halo2d", message = "16 KiB", iterations = 5000, compute = "20 us" }

[[job]]
name = "noise"
nodes = 40
placement = "random-node"
traffic = { pattern = "uniform-random", load = 0.2, message = "4 KiB" }
"""

SHORT = LONG.replace("120 ms", "60 ms")


def begin(directory: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [COMMAND, "run", *arguments],
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_checkpoint(process: subprocess.Popen[str], file: Path, since: float) -> None:
    """Until there is a checkpoint that was written after ``since``, or the process has ended."""
    while process.poll() is None and not (file.exists() and file.stat().st_mtime > since):
        time.sleep(0.005)


def test_a_run_killed_twenty_times_leaves_what_an_uninterrupted_one_leaves(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    done = odonata("run", "long.toml", "--out", "whole", directory=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    out = tmp_path / "out"
    same = ("long.toml", "--out", "out", "--checkpoint", "simulated=500us")
    moments = random.Random(1)
    kills = advances = 0
    while kills < 20:
        begun = time.time()
        # Few on two threads, which take long where other programs compute, too.
        process = begin(tmp_path, *same, "--threads", "2" if kills in (5, 10) else "1")
        try:
            if kills % 4 == 3:
                # At any moment, in the preparation too.
                time.sleep(moments.uniform(0.0, 0.6))
            else:
                wait_for_checkpoint(process, out / CHECKPOINT_FILE, begun)
                time.sleep(moments.uniform(0.0, 0.05))
            assert process.poll() is None, process.communicate()
        finally:
            process.kill()
            process.communicate()
        kills += 1
        advances += (out / CHECKPOINT_FILE).exists() and (
            (out / CHECKPOINT_FILE).stat().st_mtime > begun
        )
        with pytest.raises(OutputError, match="not finished"):
            Result.load(out)
    assert advances >= 15
    done = odonata("run", *same, directory=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    assert "Going on from" in done.stderr
    assert digests(out) == digests(tmp_path / "whole")
    assert "overview.png" in digests(out)


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, ExitCode.TERMINATED), (signal.SIGINT, ExitCode.INTERRUPTED)],
)
def test_a_stopped_run_writes_a_last_checkpoint(
    tmp_path: Path, number: signal.Signals, code: ExitCode
) -> None:
    (tmp_path / "short.toml").write_text(SHORT)
    (tmp_path / "long.toml").write_text(LONG.replace("120 ms", "10 s"))
    file = tmp_path / "out" / CHECKPOINT_FILE
    # The first one would come after a minute, or an hour.
    often = "every=1h,simulated=5s"
    process = begin(tmp_path, "long.toml", "--out", "out", "--checkpoint", often)
    try:
        # It is running when it has taken its directory and has had time for a report.
        while not file.parent.exists():
            time.sleep(0.01)
        time.sleep(1.0)
        assert process.poll() is None
        assert not file.exists()
        process.send_signal(number)
        _, error = process.communicate(timeout=120)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == code
    assert error.startswith("Interrupted: stopped at ")
    assert "go on with: odonata run long.toml --resume out" in error
    assert list(file.parent.iterdir()) == [file]
    # Not with another scenario, and not by accident.
    done = odonata("run", "short.toml", "--resume", "out", directory=tmp_path)
    assert done.returncode == ExitCode.OUTPUT
    assert 'simulation.duration was "10 s" there and is "60 ms" here' in done.stderr
    done = odonata("run", "long.toml", "--out", "out", directory=tmp_path)
    assert done.returncode == ExitCode.OUTPUT
    assert "--resume out" in done.stderr


def test_python_goes_on_too(tmp_path: Path) -> None:
    scenario = tmp_path / "short.toml"
    scenario.write_text(SHORT)
    package.run(scenario).save(tmp_path / "whole")
    events: list[CheckpointEvent] = []

    def stop(progress: object) -> None:
        raise RuntimeError("enough")

    checkpoint = Checkpoint(tmp_path / "out", simulated="10 ms", on_event=events.append)
    with pytest.raises(RuntimeError, match="enough"):
        package.run(scenario, checkpoint=checkpoint, progress=stop, threads=2)
    assert events[-1].kind == "written"
    assert events[-1].bytes == (tmp_path / "out" / CHECKPOINT_FILE).stat().st_size
    reached = events[-1].at_ps
    result = package.run(scenario, checkpoint=checkpoint)
    resumed = next(event for event in events if event.kind == "resumed")
    assert resumed.at_ps == reached
    assert events[-1].at_ps > Duration("49 ms")
    # Until the result is safe, the checkpoint stays.
    assert (tmp_path / "out" / CHECKPOINT_FILE).exists()
    result.save(tmp_path / "out")
    assert digests(tmp_path / "out") == digests(tmp_path / "whole")


def test_saving_elsewhere_ends_the_run_as_well(tmp_path: Path) -> None:
    scenario = tmp_path / "small.toml"
    scenario.write_text(SMALL)
    result = package.run(scenario, checkpoint=Checkpoint(tmp_path / "run", simulated="1 us"))
    assert (tmp_path / "run" / CHECKPOINT_FILE).exists()
    result.save(tmp_path / "result")
    assert not (tmp_path / "run").exists()
    assert Result.load(tmp_path / "result").meta == result.meta


def test_a_kill_while_results_are_written_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = tmp_path / "small.toml"
    scenario.write_text(SMALL)
    checkpoint = Checkpoint(tmp_path / "out", simulated="1 us")
    package.run(scenario).save(tmp_path / "whole")
    files = len(digests(tmp_path / "whole")) + 1  # with timing.json
    replace = os.replace
    for until in range(files):
        moved = 0

        def fail(name: str, target: str, until: int = until, **directories: int) -> None:
            nonlocal moved
            if moved == until:
                raise KeyboardInterrupt
            moved += 1
            replace(name, target, **directories)

        monkeypatch.setattr(os, "replace", fail)
        result = package.run(scenario, checkpoint=checkpoint)
        claim = result.claim
        assert claim is not None
        with pytest.raises(KeyboardInterrupt):
            result.save(tmp_path / "out")
        claim.release()  # as the end of the process does
        with pytest.raises(OutputError, match="not finished"):
            Result.load(tmp_path / "out")
    monkeypatch.setattr(os, "replace", replace)
    package.run(scenario, checkpoint=checkpoint).save(tmp_path / "out")
    assert digests(tmp_path / "out") == digests(tmp_path / "whole")


def test_a_damaged_checkpoint_is_refused(tmp_path: Path) -> None:
    scenario = tmp_path / "small.toml"
    scenario.write_text(SMALL)
    checkpoint = Checkpoint(tmp_path / "out", simulated="1 us")
    claim = package.run(scenario, checkpoint=checkpoint).claim
    assert claim is not None
    claim.release()
    file = claim.directory / CHECKPOINT_FILE
    whole = file.read_bytes()
    for damaged, words in [
        (whole[:-1], "cut off"),
        (whole[:100] + bytes([whole[100] ^ 1]) + whole[101:], "damaged"),
        (b"something else", "no checkpoint of Odonata"),
    ]:
        file.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=words):
            package.run(scenario, checkpoint=checkpoint)


def test_a_directory_belongs_to_one_process(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path / "out", every="10 min")
    claim = claim_run(checkpoint)
    with pytest.raises(OutputError, match="another process"):
        claim_run(checkpoint)
    claim.release()
    assert not (tmp_path / "out").exists()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "precious").touch()
    with pytest.raises(OutputError, match="never overwritten"):
        claim_run(Checkpoint(tmp_path / "full"))
    with pytest.raises(CheckpointError, match="no checkpoint to go on from"):
        claim_run(Checkpoint(tmp_path / "none", resume=True))
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("every=10min", {"every": 600 * 10**12}),
        ("simulated=500us", {"simulated": 500 * 10**6}),
        ("every=1h, simulated=1 ms", {"every": 3600 * 10**12, "simulated": 10**9}),
    ],
)
def test_intervals_are_read(text: str, expected: dict[str, int]) -> None:
    assert Checkpoint.intervals(text) == expected


@pytest.mark.parametrize("text", ["10min", "every=", "every=10", "every=0s", "often=1s", ""])
def test_wrong_intervals_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(UnitError):
        Checkpoint.intervals(text)
    done = odonata("run", "x.toml", "--checkpoint", text, directory=tmp_path)
    assert done.returncode == ExitCode.USAGE
