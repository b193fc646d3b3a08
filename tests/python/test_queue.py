"""A queue of jobs that each run an application on a network they share."""

import json
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import odonata
from odonata import JobLogError, Scenario, ScenarioError
from odonata.batch import run_schedules
from odonata.batch.from_scenario import ScheduleRun
from odonata.errors import OdonataError

#: A dragonfly of 72 nodes.
MACHINE = """
[network]
family = "dragonfly"
p = 2
a = 4
h = 2
"""

#: An application that only computes, and one that sends as well.
COMPUTE = 'motif = {{ kind = "phases", iterations = {n}, phases = [{{ compute = "1 ms" }}] }}'
EXCHANGE = (
    'motif = {{ kind = "all-to-all", message = "16 KiB", iterations = {n}, compute = "10 us" }}'
)

TRAFFIC = 'traffic = { pattern = "uniform-random", message = "1 KiB", load = 0.1, messages = 9 }'


def job(nodes: int, load: str, **keys: str) -> str:
    more = "".join(f'{key} = "{value}"\n' for key, value in keys.items())
    return f"[[job]]\nnodes = {nodes}\n{load}\n{more}"


def queue(
    *jobs: str,
    level: str = "packet",
    policy: str = "fcfs",
    placement: str = "random-node",
    more: str = "",
) -> Scenario:
    network = f'network = {{ level = "{level}", placement = "{placement}" }}'
    table = f'[schedule]\npolicy = "{policy}"\n{network}\n{more}\n'
    return Scenario.from_toml(table + MACHINE + "\n".join(jobs))


def columns(scenario: Scenario) -> dict[str, list[Any]]:
    (schedule,) = run_schedules(scenario)
    found: dict[str, list[Any]] = schedule.jobs.to_pydict()
    return found


@pytest.mark.parametrize("level", ["packet", "flow"])
def test_a_job_of_the_whole_machine_waits_for_its_nodes(level: str) -> None:
    """Nodes are used again: 72 of 72 nodes, three times, each for 2,000 times 1 ms."""
    load = COMPUTE.format(n=2000)
    found = columns(queue(*(job(72, load) for _ in range(3)), level=level))
    assert found["run_s"] == [2, 2, 2]
    assert found["start_s"] == [0, 2, 4]
    assert found["fate"] == ["finished"] * 3


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative"])
def test_jobs_of_fixed_run_time_are_scheduled_as_a_log_of_them(tmp_path: Path, policy: str) -> None:
    """Applications that only compute take the same time beside whatever else runs."""
    sizes = [40, 20, 60, 8, 30, 12, 72, 5, 33, 2]
    runs = [7, 3, 5, 11, 2, 9, 4, 13, 6, 1]
    submits = [0, 1, 2, 3, 3, 5, 8, 13, 14, 15]
    jobs = [
        job(n, COMPUTE.format(n=1000 * run), submit=f"{submit} s", requested=f"{run + 2} s")
        for n, run, submit in zip(sizes, runs, submits, strict=True)
    ]
    lines = [
        f"{i + 1} {submit} -1 {run} {n} -1 -1 {n} {run + 2} -1 1 1 1 -1 1 -1 -1 -1"
        for i, (n, run, submit) in enumerate(zip(sizes, runs, submits, strict=True))
    ]
    log = tmp_path / "log.swf"
    log.write_text("; MaxNodes: 72\n; MaxProcs: 72\n" + "\n".join(lines) + "\n")
    found = columns(queue(*jobs, policy=policy))
    fixed = odonata.schedule(log, nodes=72, policy=policy).jobs.to_pydict()
    for column in ("submit_s", "start_s", "end_s", "run_s", "promised_s", "nodes"):
        assert found[column] == fixed[column]


def test_the_network_makes_the_run_time_and_requested_times_kill() -> None:
    load = EXCHANGE.format(n=30_000)
    alone = columns(queue(job(36, load)))
    beside = columns(queue(job(36, load), job(36, load)))
    # Ranks on random nodes share links between groups with the other job's.
    assert min(beside["run_s"]) > alone["run_s"][0]
    assert beside["log_run_s"] == alone["log_run_s"] * 2
    limit = alone["run_s"][0]
    killed = columns(queue(*(job(36, load, requested=f"{limit} s") for _ in range(2))))
    assert killed["fate"] == ["killed", "killed"]
    assert killed["run_s"] == [limit, limit]


def test_threads_change_nothing() -> None:
    load = EXCHANGE.format(n=30_000)
    jobs = [job(nodes, load) for nodes in (30, 20, 40, 30)]
    found = [columns(queue(*jobs, "[simulation]", f"threads = {n}")) for n in (1, 3, 8)]
    assert found[0] == found[1] == found[2]


def test_jobs_of_a_log_run_what_the_mix_gives_them(tmp_path: Path) -> None:
    (tmp_path / "log.swf").write_text(
        "; MaxNodes: 72\n; MaxProcs: 72\n"
        "1 0 -1 100 10 -1 -1 10 -1 -1 1 7 1 -1 1 -1 -1 -1\n"
        "2 0 -1 100 30 -1 -1 30 -1 -1 1 8 1 -1 1 -1 -1 -1\n"
    )
    mix = '["user=7:quiet", "1..64:loud"]'
    table = (
        f'[schedule]\nlog = "log.swf"\nnetwork = {{ level = "flow", mix = {mix} }}\n'
        f"{MACHINE}"
        '[[job]]\nname = "quiet"\nnodes = 1\nmotif = { kind = "phases", phases = [ { compute = '
        '"1 ms" } ] }\n'
        '[[job]]\nname = "loud"\nnodes = 1\nmotif = { kind = "all-to-all", message = "1 MB" }\n'
    )
    file = tmp_path / "queue.toml"
    file.write_text(table)
    found = columns(Scenario.from_file(file))
    assert found["traffic"] == ["quiet", "loud"]
    # Nobody else sends, but the second job is on nodes 10 to 39 and was alone on 0 to 29.
    assert found["run_s"][0] == 100
    assert 100 <= found["run_s"][1] <= 102
    file.write_text(table.replace('"user=7:quiet", "1..64:loud"', '"user=7:quiet"'))
    with pytest.raises(JobLogError, match="no application for job 2 of 30 nodes"):
        run_schedules(Scenario.from_file(file))


@pytest.mark.parametrize(
    ("jobs", "message"),
    [
        (
            [job(4, EXCHANGE.format(n=1) + "\nranks = 9")],
            'application "job1" on 4 nodes.*at most 4',
        ),
        ([job(100, EXCHANGE.format(n=1))], 'job "job1".nodes: found 100; allowed: at most 72'),
        (
            [job(4, TRAFFIC)],
            'job "job1".traffic',
        ),
    ],
)
def test_jobs_that_cannot_run_are_refused(jobs: list[str], message: str) -> None:
    with pytest.raises((JobLogError, ScenarioError), match=message):
        run_schedules(queue(*jobs))


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ('start = "1 s"', r"job\[0\].start: .*`submit` is when it comes"),
    ],
)
def test_keys_that_the_queue_decides_are_refused(key: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        queue(job(4, f"{EXCHANGE.format(n=1)}\n{key}"))


def test_a_job_is_placed_by_its_own_placement_or_else_by_the_networks() -> None:
    """Two nodes of one router exchange faster than two of different groups: a job takes the time of
    its own placement, whatever the machine's is."""
    load = 'motif = { kind = "all-to-all", message = "8 B", iterations = 40000000 }'

    def run_s(own: str, machine: str) -> list[int]:
        keys = {"placement": own} if own else {}
        return list(columns(queue(job(2, load, **keys), placement=machine))["run_s"])

    near, far = run_s("", "contiguous"), run_s("", "random-node")
    assert far[0] > 2 * near[0]
    assert run_s("contiguous", "random-node") == near
    assert run_s("random-node", "contiguous") == far


@pytest.mark.parametrize(
    ("placement", "more", "message"),
    [
        ('"isolated"', "", 'job "job1".placement: found isolated; allowed: a placement that takes'),
        ("[0, 1, 2, 3]", "", 'job "job1".placement: .*goes by a name'),
        ('{ policy = "spread", groups = [0] }', "", 'job "job1".placement: .*without groups'),
        ('"spread"', "grap = { groups = 9 }", r"job\[0\].placement: .*GRAP of \[schedule\]"),
    ],
)
def test_a_placement_that_counts_groups_is_refused(placement: str, more: str, message: str) -> None:
    placed = job(4, f"{EXCHANGE.format(n=1)}\nplacement = {placement}")
    with pytest.raises((JobLogError, ScenarioError), match=message):
        run_schedules(queue(placed, more=more))


def test_jobs_of_a_queue_need_not_fit_together() -> None:
    """A mistake in one job makes no other job wrong."""
    wrong = job(72, 'motif = { kind = "nothing" }')
    with pytest.raises(ScenarioError) as caught:
        queue(wrong, job(72, EXCHANGE.format(n=1)), job(72, EXCHANGE.format(n=1)))
    assert [problem.path for problem in caught.value.problems] == ["job[0].motif.kind"]


def test_submit_has_a_meaning_in_queues_only() -> None:
    with pytest.raises(ScenarioError, match="only with \\[schedule\\]"):
        Scenario.from_toml(MACHINE + job(4, EXCHANGE.format(n=1), submit="1 s"))


#: Applications with iterations of 40 µs to 8 ms, and seconds of each.
APPLICATIONS = (
    ('kind = "halo3d", message = "16 KiB", compute = "20 us"', 40e-6),
    ('kind = "all-to-all", message = "4 KiB", compute = "50 us"', 150e-6),
    ('kind = "fft"', 130e-6),
    ('kind = "milc"', 400e-6),
    ('kind = "amg"', 3.8e-3),
    ('kind = "nekbone"', 8e-3),
)


def stretches(seed: int, window_iterations: int) -> list[float]:
    """What the network does to four applications beside each other."""
    chosen = random.Random(seed).choices(APPLICATIONS, k=4)
    network = (
        f'level = "packet", placement = "random-node", window_iterations = {window_iterations}'
    )
    jobs = "\n".join(
        job(18, f"motif = {{ {load}, iterations = {int(1000 / seconds)} }}")
        for load, seconds in chosen
    )
    links = '[network.links]\nglobal = { bandwidth = "25 Gbit/s" }\n'
    table = f"[schedule]\nnetwork = {{ {network} }}\n{MACHINE}{links}{jobs}"
    found = columns(Scenario.from_toml(table))
    return [run / alone for run, alone in zip(found["run_s"], found["log_run_s"], strict=True)]


def test_windows_that_are_cut_are_right_on_average() -> None:
    """Beside whole windows, in which jobs take from 0.64 to 1.23 times as long as alone."""
    errors = [
        cut / whole - 1
        for seed in range(1, 9)
        for cut, whole in zip(stretches(seed, 32), stretches(seed, 1_000_000), strict=True)
    ]
    assert any(errors)
    assert abs(statistics.mean(errors)) < 0.01
    assert statistics.mean(error**2 for error in errors) < 0.04**2
    assert max(map(abs, errors)) < 0.13


def test_equal_jobs_are_measured_once() -> None:
    """Once alone with one iteration, once for as long as a window, and once beside each other."""
    jobs = [job(24, EXCHANGE.format(n=30_000)) for _ in range(3)]
    (schedule,) = run_schedules(queue(*jobs))
    assert schedule.summary["network"]["windows"]["simulated"] == 3
    # Two thirds of the jobs end later than the last one alone: they are the same state again.
    more = [job(24, EXCHANGE.format(n=n)) for n in (20_000, 30_000, 40_000) for _ in range(2)]
    (schedule,) = run_schedules(queue(*more))
    assert schedule.summary["network"]["windows"]["reused"] > 0


def test_jobs_that_send_nothing_are_in_no_window() -> None:
    """However short their iterations are, windows beside them are whole."""
    quiet = 'motif = { kind = "phases", iterations = 1000000, phases = [{ compute = "1 us" }] }'
    loud = EXCHANGE.format(n=30_000)
    beside = columns(queue(job(30, loud), job(30, loud), job(12, quiet)))
    assert beside["run_s"][:2] == columns(queue(job(30, loud), job(30, loud)))["run_s"]
    assert beside["run_s"][2] == 1


def test_only_applications_have_windows(tmp_path: Path) -> None:
    (tmp_path / "log.swf").write_text("1 0 -1 100 10 -1 -1 10 -1 -1 1 7 1 -1 1 -1 -1 -1\n")
    network = 'network = { level = "flow", mpi_share = "10%", window_iterations = 8 }'
    file = tmp_path / "queue.toml"
    file.write_text(f'[schedule]\nlog = "log.swf"\nnodes = 72\n{network}\n{MACHINE}')
    with pytest.raises(JobLogError, match="window_iterations: found 8; allowed: nothing"):
        run_schedules(Scenario.from_file(file))


def test_a_schedule_goes_on_after_a_kill(tmp_path: Path) -> None:
    """Killed by SIGKILL in the middle of 50 jobs; the rest is simulated, the result is equal."""
    load = EXCHANGE.format(n=20_000)
    jobs = [job(10 + 7 * i % 50, load, submit=f"{i} s") for i in range(50)]
    file = tmp_path / "queue.toml"
    network = 'network = { level = "packet", placement = "random-node" }'
    file.write_text(f'[schedule]\npolicy = "easy"\n{network}\n{MACHINE}' + "\n".join(jobs))
    windows = tmp_path / "windows"
    command = [sys.executable, "-c", "from odonata.cli import main; main()", "schedule", str(file)]
    command += ["--no-plots", "--quiet"]
    whole = tmp_path / "whole"
    subprocess.run([*command, "--out", str(whole)], check=True)
    going = subprocess.Popen(
        [*command, "--out", str(tmp_path / "killed"), "--windows", str(windows)]
    )
    while going.poll() is None and (not windows.exists() or windows.read_bytes().count(b"\n") < 12):
        time.sleep(0.01)
    os.kill(going.pid, signal.SIGKILL)
    assert going.wait() == -signal.SIGKILL
    kept = windows.read_bytes().count(b"\n") - 1
    again = tmp_path / "again"
    subprocess.run([*command, "--out", str(again), "--windows", str(windows)], check=True)
    for name in ("jobs.parquet", "occupancy.parquet"):
        assert (again / name).read_bytes() == (whole / name).read_bytes()
    reports = [json.loads((one / "summary.json").read_text()) for one in (whole, again)]
    simulated = [one["easy"]["network"]["windows"]["simulated"] for one in reports]
    assert simulated[1] == simulated[0] - kept
    assert pq.read_table(whole / "jobs.parquet").num_rows == 50


def test_windows_are_kept_in_a_file_of_windows_alone(tmp_path: Path) -> None:
    """Other content stays as it is, also without a line's end; so does what a link names."""

    def schedules_with(file: Path) -> None:
        run = ScheduleRun(queue(job(72, COMPUTE.format(n=2000))), file)
        for name in run.names:
            run.run(name)

    other = tmp_path / "notes"
    link = tmp_path / "link"
    link.symlink_to(other)
    for content in ("mine", "mine\n", "windows", f"windows {'0' * 64}\n", "\n"):
        other.write_text(content)
        for path, reason in ((other, "is no file of windows"), (link, "it is a link")):
            with pytest.raises(OdonataError, match=reason):
                schedules_with(path)
            assert other.read_text() == content
    kept = tmp_path / "windows"
    schedules_with(kept)
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-5])
    schedules_with(kept)
    assert kept.read_bytes() == whole
    kept.write_bytes(whole + b"mine\n")
    with pytest.raises(OdonataError, match="is no window"):
        schedules_with(kept)
    assert kept.read_bytes() == whole + b"mine\n"
