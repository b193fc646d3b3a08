"""Nodes that fail under a queue: options, files, tables and what is said of them."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import odonata
from odonata.batch import Outage, Schedule, Window, read_job_log, run_schedules
from odonata.batch.schedules import load_schedules
from odonata.batch.waits import AGAIN, WITHHELD
from odonata.batch.withheld import Withheld, withheld_seconds
from odonata.cli.commands import odonata as command
from odonata.errors import JobLogError
from odonata.scenario import Scenario
from odonata.study.comparing import compare
from test_batch import EXAMPLE, swf
from test_slurm import CONF, job


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "example.swf"
    path.write_text(swf(*EXAMPLE))
    return path


def call(*arguments: str | Path) -> Any:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def said(*arguments: str | Path) -> str:
    answer = call(*arguments)
    assert answer.exit_code != 0, answer.output
    return " ".join(f"{answer.output} {answer.exception}".split())


def test_a_failure_costs_what_it_costs_by_hand(log: Path, tmp_path: Path) -> None:
    # Node 0 is away from 4 to 6 s. A, of nodes 0 to 5, has run for 4 s and goes back; it has 6 of 9
    # or 10 nodes again when D ends at 10 s. E needs 2 of what is left beside that and starts at
    # 4 s; B, of all 8 that E leaves, comes after A at 20 s, then C. Without A, B starts at 10 s,
    # and E when node 0 is back, as B would miss its nodes before.
    out = tmp_path / "out"
    compared = ("--compare", "easy,requeue=false")
    answer = call("schedule", log, "--outage", "4s..6s,0", *compared, "--out", out, "--no-plots")
    assert answer.exit_code == 0, answer.output
    jobs = pq.read_table(out / "jobs.parquet", partitioning=None).to_pandas()
    again, lost = (jobs[jobs["schedule"] == name] for name in ("easy", "easy,requeue=false"))
    assert again["start_s"].tolist() == [10, 20, 30, 2, 4]
    assert again["wait_s"].tolist() == [6, 19, 28, 0, 1]
    assert again["requeues"].tolist() == [1, 0, 0, 0, 0]
    assert again["lost_run_s"].tolist() == [4, 0, 0, 0, 0]
    assert again["node_list"].tolist()[0] == "0, 3-7"
    assert lost["start_s"].tolist() == [0, 10, 20, 2, 6]
    assert lost["fate"].tolist() == ["node-fail"] + ["finished"] * 4
    assert "node 0 failed at 4 s" in lost["reason"].tolist()[0]
    assert "put back into the queue" in answer.output and "node-hours lost" in answer.output
    # A waited from 4 to 10 s, B as if nothing had failed.
    assert f"1 job: {AGAIN} (6 s in all)" in answer.output
    assert "ended: node 0 failed" in answer.output
    # What was written is read again, and the scenario runs again.
    (first, second, without), _ = load_schedules(out)
    # A in the place of 0 at 10 s, as above; the others as without.
    cost = first.summary["costs"]["failures"]
    assert without.name == cost["without"] == "easy without failures"
    assert cost["lost_node_hours"] == 24 / 3600 and cost["out_node_hours"] == 2 / 3600
    assert first.figure("requeues") == 1 and second.figure("node_fails") == 1
    assert first.figure("lost_node_seconds") == second.figure("lost_node_seconds") == 24
    assert first.summary["failures"]["out_node_seconds"] == 2
    assert first.occupancy["out_of_service_nodes"].to_pylist()[0] == pytest.approx(2 / 60)
    assert call("schedule", out / "scenario.toml", "--out", tmp_path / "again").exit_code == 0
    assert pq.read_table(tmp_path / "again" / "jobs.parquet").equals(
        pq.read_table(out / "jobs.parquet")
    )
    # The same with how long it lasts, and in Python.
    lasts = ("--outage", "4s..+2s,0", "--out", tmp_path / "lasts", "--no-plots")
    assert call("schedule", log, *lasts).exit_code == 0
    for directory in (tmp_path / "lasts", out):
        found = load_schedules(directory)[0][0].jobs
        assert found["start_s"].to_pylist() == [10, 20, 30, 2, 4]
    # Beside the same without, also where jobs that a failure ends are lost.
    lost = ("--outage", "4s..6s,0", "--no-requeue", "--out", tmp_path / "lost", "--no-plots")
    assert call("schedule", log, *lost).exit_code == 0
    of_lost, of_all = load_schedules(tmp_path / "lost")[0]
    assert of_lost.figure("node_fails") == 1
    assert of_all.jobs["start_s"].equals(without.jobs["start_s"])
    own = odonata.schedule(log, outages=[Outage((0,), 4, 6)])
    assert own.jobs["start_s"].to_pylist() == [10, 20, 30, 2, 4]


def test_failures_are_compared_with_a_schedule_without(log: Path, tmp_path: Path) -> None:
    failing, plain = tmp_path / "failing", tmp_path / "plain"
    outage = ("--outage", "4s..6s,0")
    assert call("schedule", log, *outage, "--out", failing, "--no-plots").exit_code == 0
    assert call("schedule", log, "--out", plain, "--no-plots").exit_code == 0
    rows = compare(failing, plain).table.to_pylist()
    found = {
        (row["quantity"], row["result"].removesuffix(": easy")): row["value"]
        for row in rows
        if row["scope"] == "schedule"
    }
    # By hand as above: A's 6 nodes for 4 s, node 0 for 2 s.
    assert found["requeues", "failing"] == 1 and found["requeues", "plain"] == 0
    assert found["lost_node_hours", "failing"] == pytest.approx(24 / 3600)
    assert found["out_node_hours", "failing"] == pytest.approx(2 / 3600)
    assert found["lost_node_hours", "plain"] == found["out_node_hours", "plain"] == 0
    assert "lost_processor_hours" not in {quantity for quantity, _ in found}
    assert "requeues" not in compare(plain, plain).table["quantity"].to_pylist()


def test_nothing_lost_is_zero(log: Path) -> None:
    late = odonata.schedule(log, outages=[Outage((0,), 1000, None)])
    assert str(late.summary["failures"]["lost_node_seconds"]) == "0.0"


def test_without_failures_nothing_is_new(log: Path) -> None:
    plain = odonata.schedule(log)
    assert not {"requeues", "node_list"} & set(plain.jobs.column_names)
    assert "failures" not in plain.summary and plain.figure("requeues") is None
    # Failures after the last end change no start.
    late = odonata.schedule(log, outages=[Outage((0, 9), 1000, None)])
    assert late.jobs["start_s"].equals(plain.jobs["start_s"])


def test_drawn_failures_follow_their_seed(log: Path) -> None:
    def lost(seed: int) -> list[int]:
        failures = {"mtbf": "2 min", "repair": "5 s", "together": 2}
        made = odonata.schedule(log, mode_seed=seed, failures=failures)
        found: list[int] = made.jobs["lost_run_s"].to_pylist()
        return found

    assert lost(1) == lost(1)
    assert any(lost(1) != lost(seed) for seed in (2, 3, 4))


def test_maintenance_names_its_nodes(log: Path) -> None:
    # Nodes 6 to 9 are kept from 5 to 50 s, so that B, of 8 nodes, waits for the end of that.
    window = Window(5, 50, which=(6, 7, 8, 9), name="maintenance")
    made = odonata.schedule(log, policy="fcfs", windows=[window])
    assert made.jobs["start_s"].to_pylist()[:2] == [0, 50]
    assert made.jobs["node_list"].to_pylist()[0] == "0-5"
    with pytest.raises(JobLogError, match=r"maintenance\.which"):
        odonata.schedule(log, grap_groups=2, windows=[window])


def test_maintenance_on_the_command_line_counts_or_names_nodes(log: Path, tmp_path: Path) -> None:
    """Nodes 0 to 3: the first job gets six others. Any four: it gets six, nobody says which."""
    lists = {}
    for nodes in ("0-3", "4"):
        out = tmp_path / nodes
        options = ("--policy", "fcfs", "--maintenance", f"0s..+50s,{nodes}", "--no-plots")
        assert call("schedule", log, *options, "--out", out).exit_code == 0
        made = pq.read_table(out / "jobs.parquet", partitioning=None).to_pylist()
        assert made[0]["start_s"] == 0
        lists[nodes] = made[0].get("node_list")
    assert lists == {"0-3": "4-9", "4": None}
    late = ("--maintenance", "2026-12-01T08:00..+4h,2", "--outage", "900d..,1")
    told = call("schedule", log, *late, "--no-plots", "--out", tmp_path / "late").output
    told = " ".join(told.split())
    assert "maintenance from 2026-12-01 08:00 UTC on changes nothing: all jobs had ended" in told
    assert "outage from 2024-06-19 00:00 UTC on changes nothing" in told
    # Said last, and the time after the jobs costs nothing.
    assert told.index("changes nothing") > told.index("Results in")
    assert "withheld: 0.0 node-hours start later: 0 jobs" in told
    for option in ("--maintenance", "--outage"):
        early = (option, "2020-12-01T08:00..+4h,2", "--out", tmp_path / "early")
        assert "which is over by the first submission, 20" in said("schedule", log, *early)
    wrong = said("schedule", log, "--maintenance", "0s..5s,n3", "--out", tmp_path / "none")
    assert "how many, such as 64, or which, such as 0-63" in wrong


def test_what_a_maintenance_costs(log: Path, tmp_path: Path) -> None:
    # All five jobs would reach into the time from 5 to 50 s, and start 50 s later: in the order of
    # the queue at 50, 60, 70, 70, 70 s in the place of 0, 10, 20, 20, 20 s.
    out = tmp_path / "out"
    done = call("schedule", log, "--policy", "fcfs", "--maintenance", "5s..50s", "--out", out)
    assert done.exit_code == 0, done.output
    told = " ".join(done.output.split())
    assert "What the maintenance costs, beside fcfs without maintenance:" in told
    # 10 nodes for 45 s.
    assert "withheld: 0.1 node-hours" in told
    assert "start later: 5 jobs, by 50 s on average and 50 s at most" in told
    assert "mean wait: +50 s; makespan: +50 s" in told
    assert f"5 jobs: {WITHHELD} (5.2 min in all)" in told
    both, _ = load_schedules(out)
    assert [one.name for one in both] == ["fcfs", "fcfs without maintenance"]
    assert both[0].summary["costs"]["maintenance"]["withheld_node_hours"] == 450 / 3600
    drawn = both[0].plot.gantt()
    assert [text.get_text() for text in drawn.axes[0].texts] == ["maintenance"]
    assert not both[1].plot.gantt().axes[0].texts
    page = tmp_path / "page.html"
    assert call("report", out, "--out", page).exit_code == 0
    assert "start later: 5 jobs" in page.read_text()


def test_windows_that_name_the_same_nodes_withhold_them_once() -> None:
    windows = [
        Withheld(0, 10, 4, 4.0, "maintenance", frozenset(range(4))),
        Withheld(5, 20, 4, 4.0, "maintenance", frozenset(range(2, 6))),
        Withheld(15, 25, 3, 3.0, "maintenance"),
    ]
    # 4 nodes for 5 s, 6 for 5 s, 4 for 5 s, then 3 more for 5 s, and 3 alone for 5 s.
    assert withheld_seconds(windows, 10) == 20 + 30 + 20 + 35 + 15
    # No more than there are.
    assert withheld_seconds(windows, 5) == 20 + 25 + 20 + 25 + 15


def test_jobs_on_a_network_avoid_nodes_that_are_out(log: Path) -> None:
    text = f"""
[schedule]
log = "{log}"
nodes = 10
limits = false
network = {{ level = "flow", mpi_share = "50%", placement = "random-node" }}

[[schedule.outage]]
nodes = [0, 1]
at = "0 s"

[[schedule.outage]]
nodes = "2-3"
at = "4 s"
until = "9 s"

[network]
family = "dragonfly"
p = 2
a = 4
h = 2
"""
    (made, *_) = run_schedules(Scenario.from_toml(text))
    rows = made.jobs.to_pylist()
    names = [row["node_list"] for row in rows]
    assert all(name.split(",")[0].split("-")[0] not in ("0", "1") for name in names), names
    assert sum(row["requeues"] for row in rows) > 0
    assert {row["fate"] for row in rows} == {"finished"}
    # Every job is among the first ten nodes, which are the schedule's.
    assert all(int(name.replace("-", ",").split(",")[-1]) < 10 for name in names)


def test_what_cannot_be_is_said(log: Path, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "none")

    def told(*options: str) -> str:
        return said("schedule", log, *options, *out)

    assert "there is no node 10; jobs may have 0-9" in told("--outage", "4s..,10")
    # In the words of who asked, not in seconds of the log.
    wrong = 'found "4s..4s", but its end must lie after its start; allowed: a later end, or how'
    assert f"schedule.outage[0]: {wrong}" in told("--outage", "4s..4s,1")
    assert f"schedule.maintenance[0]: {wrong}" in told("--maintenance", "4s..4s")
    twice = told("--outage", "4s..,1", "--outage", "5s..9s,0-2")
    assert "node 1 fails at 5 s, but is out of service for ever" in twice
    assert "START..END,NODES or START..,NODES" in told("--outage", "4s,1")
    assert "a list of numbers" in told("--outage", "4s..,n1")
    assert "give `outage` or `failures`" in told("--no-requeue")
    assert "--mtbf: missing; without it --repair would change nothing" in told("--repair", "5s")
    shared = told("--outage", "4s..,1", "--unit", "processors", "--processors-per-node", "2")
    assert "whole nodes" in shared
    assert "has no meaning" in told("--network-seed", "3")
    # Nodes that never come back: jobs that need them are named.
    answer = call("schedule", log, "--outage", "4s..,0-2", "--out", tmp_path / "out", "--no-plots")
    assert answer.exit_code == 0
    assert "nodes 0-2 never work again" in " ".join(answer.output.split())
    assert "[failures]" not in answer.output


#: A crossbar of four nodes whose jobs compute and then send.
SHARED = """
[schedule]
policy = "fcfs"
network = {{ level = "{level}", placement = "contiguous" }}
{outage}
[network]
family = "crossbar"
nodes = 4
{failures}
[[job]]
nodes = 2
[job.motif]
kind = "phases"
phases = [{{ compute = "10 s" }}, {{ kind = "all-to-all", message = "1 kB" }}]
[[job]]
nodes = 2
[job.motif]
kind = "phases"
phases = [{{ compute = "20 s" }}, {{ kind = "all-to-all", message = "1 kB" }}]
"""


def _shared(level: str, lost: str, outage: str = "") -> Schedule:
    failures = f'[failures]\nin_flight = "lost"\n{lost}' if lost else ""
    text = SHARED.format(level=level, failures=failures, outage=outage)
    (schedule, *_) = run_schedules(Scenario.from_toml(text))
    return schedule


@pytest.mark.parametrize("level", ["flow", "packet"])
def test_jobs_on_a_network_go_back_to_the_queue_when_a_node_fails(level: str) -> None:
    """Node 1 fails after 4 s for 3 s; the job there begins again when nodes 0 and 1 are both free.

    Nodes 2 and 3 are the other job's until 20 s.
    """
    out = 'outages = [{ nodes = [1], at = "4 s", until = "7 s" }]'
    listed = '[[schedule.outage]]\nat = "4s"\nuntil = "7s"\nnodes = "1"'
    schedule = _shared(level, out)
    assert schedule.jobs["requeues"].to_pylist() == [1, 0]
    assert schedule.jobs["start_s"].to_pylist() == [7.0, 0.0]
    assert schedule.summary["failures"]["lost_node_seconds"] == 8
    # The same as where it is the queue that says so.
    assert schedule.jobs == _shared(level, "", listed).jobs
    drawn = _shared(level, 'draw = [{ part = "nodes", count = 4, at = "4 s", until = "7 s" }]')
    assert drawn.jobs["requeues"].to_pylist() == [1, 1]
    for_ever = 'outages = [{ nodes = "1", at = "4 s" }]'
    assert _shared(level, for_ever).jobs["start_s"].to_pylist() == [20, 0]


@pytest.mark.parametrize(
    ("failures", "outage", "said"),
    [
        ('outages = [{ nodes = [0], at = "1500 ms" }]', "", r"outages\[0\]\.at.*whole seconds"),
        ('outages = [{ nodes = [9], at = "1 s" }]', "", r"no node 9"),
        ('retries = 1\noutages = [{ nodes = [0], at = "1 s" }]', "", r"retries.*ends at once"),
        (
            'outages = [{ nodes = [0], at = "1 s" }]',
            '[[schedule.outage]]\nat = "4s"\nnodes = "1"',
            "either",
        ),
    ],
)
def test_failures_that_a_schedule_cannot_have_are_told(
    failures: str, outage: str, said: str
) -> None:
    with pytest.raises(JobLogError, match=said):
        _shared("flow", failures, outage)


def test_slurm_requeues_and_keeps_for_maintenance(tmp_path: Path) -> None:
    conf, jobs = tmp_path / "slurm.conf", tmp_path / "jobs.txt"
    conf.write_text(CONF.replace("n[0-1]", "nid[001-002]").replace("n2", "nid003"))
    jobs.write_text(job(1, 0, cpus=4, run=30) + job(2, 1, cpus=1, run=20))
    common = ("slurm", jobs, "--conf", conf)
    out = tmp_path / "out"
    answer = call(*common, "--outage", "10s..15s,nid[001-002]", "--out", out)
    assert answer.exit_code == 0, answer.output
    told = " ".join(answer.output.split())
    assert "put back into the queue 2 – lost jobs 0 – processor-hours lost 0.0 –" in told
    drawn = {file.name for file in out.glob("*.png")}
    assert drawn == {"gantt.png", "utilisation.png", "waits.png"}
    assert call("report", out, "--out", tmp_path / "report.html").exit_code == 0
    rows = pq.read_table(out / "jobs.parquet", partitioning=None).to_pylist()
    rows = [row for row in rows if row["schedule"] == "slurm"]
    log = read_job_log(jobs)
    first = log.jobs["submit_s"][0].as_py()
    # Back in the queue from 10 s on, they may start after 120 s (cred_expire).
    assert [row["requeues"] for row in rows] == [1, 1]
    assert all(130 <= row["start_s"] - first < 145 for row in rows), rows
    # A time limit of 120 s reaches into maintenance after 60 s: jobs go to the third node.
    kept = call(*common, "--maintenance", "60s..1h,nid[001-002]", "--out", tmp_path / "kept")
    assert kept.exit_code == 0, kept.output
    rows = pq.read_table(tmp_path / "kept" / "jobs.parquet", partitioning=None).to_pylist()
    assert {row["node_list"] for row in rows if row["schedule"] == "slurm"} == {"nid003"}
    # Two nodes for 3540 s.
    assert "withheld: 2.0 node-hours" in kept.output
    assert "changes nothing" not in kept.output
    dates = ("--maintenance", "2030-01-02T12:00..+4h,nid001")
    late = " ".join(call(*common, *dates, "--out", tmp_path / "late").output.split())
    assert "maintenance from 2030-01-02 12:00 UTC on changes nothing: all jobs had ended" in late
    early = ("--outage", "2001-01-02T12:00..+4h,nid001")
    assert "which is over by the first submission" in said(*common, *early, "--out", tmp_path / "e")
    none = ("--out", tmp_path / "none")
    assert '"nid009"; allowed: nodes of the configuration' in said(
        *common, "--outage", "1s..,nid009", *none
    )
    assert "change nothing without --mtbf" in said(*common, "--repair", "5s", *none)
    assert "requeue" in said(*common, "--no-requeue", *none)
    assert "START..END,NODELIST" in said(*common, "--maintenance", "1s..,nid001", *none)
    for option in ("--outage", "--maintenance"):
        wrong = said(*common, option, "12d..4h,nid001", *none)
        assert f'{option}: found "12d..4h", but its end must lie after its start' in wrong
    lasts = ("--outage", "10s..+5s,nid[001-002]", "--out", tmp_path / "lasts")
    assert call(*common, *lasts).exit_code == 0
    again = pq.read_table(tmp_path / "lasts" / "jobs.parquet", partitioning=None)
    assert again.equals(pq.read_table(out / "jobs.parquet", partitioning=None))
    drawn = call(
        *common, "--mtbf", "40s", "--repair", "5s", "--no-requeue", "--out", tmp_path / "d"
    )
    assert drawn.exit_code == 0, drawn.output


#: Four leaves of a host each, under one spine.
MACHINE = """
[network]
family = "fat-tree"
down = [1, 4]
up = [1]
[machine]
hosts = [{ names = "nid[001-004]", first_node = 0 }]
"""


def test_slurm_takes_out_nodes_behind_what_fails_in_the_network(tmp_path: Path) -> None:
    """A host whose leaf is dead, or without a way to the others, is out as if it were listed."""
    conf, jobs = tmp_path / "slurm.conf", tmp_path / "jobs.txt"
    conf.write_text(CONF.replace("n[0-1]", "nid[001-002]").replace("n2", "nid003"))
    jobs.write_text(job(1, 0, cpus=4, run=30) + job(2, 1, cpus=1, run=20))
    common = ("slurm", jobs, "--conf", conf, "--no-plots")
    machine = tmp_path / "machine.toml"

    def rows(name: str, *options: str | Path) -> list[dict[str, Any]]:
        done = call(*common, *options, "--out", tmp_path / name)
        assert done.exit_code == 0, done.output
        found = pq.read_table(tmp_path / name / "jobs.parquet", partitioning=None).to_pylist()
        return [row for row in found if row["schedule"] == "slurm"]

    listed = rows("listed", "--outage", "10s..15s,nid[001-002]")
    assert [row["requeues"] for row in listed] == [1, 1]
    router = 'in_flight = "lost"\noutages = [{ routers = "0-1", at = "10 s", until = "15 s" }]'
    link = (
        'links = [{ routers = [0, 4], at = "10 s", until = "15 s" }, '
        '{ routers = [1, 4], at = "10 s", until = "15 s" }]'
    )
    for number, failures in enumerate((router, link)):
        machine.write_text(f"{MACHINE}[failures]\n{failures}\n")
        assert rows(f"by-network-{number}", "--machine", machine) == listed
    # Out from the beginning: both jobs are on the third host.
    machine.write_text(f"{MACHINE}[failures]\nrouters = '0-1'\n")
    assert {row["node_list"] for row in rows("always", "--machine", machine)} == {"nid003"}


@pytest.mark.parametrize(
    ("failures", "words"),
    [
        ("", "failures: found nothing"),
        ('links = [{ routers = [0, 4], bandwidth = "50 %" }]', "take out no node"),
        ('links = [{ routers = [0, 4], at = "10.5 s" }]', "whole seconds"),
    ],
)
def test_failures_that_slurm_cannot_have_are_told(
    tmp_path: Path, failures: str, words: str
) -> None:
    conf, jobs = tmp_path / "slurm.conf", tmp_path / "jobs.txt"
    conf.write_text(CONF.replace("n[0-1]", "nid[001-002]").replace("n2", "nid003"))
    jobs.write_text(job(1, 0))
    machine = tmp_path / "machine.toml"
    machine.write_text(f"{MACHINE}[failures]\n{failures}\n" if failures else MACHINE)
    assert words in said("slurm", jobs, "--conf", conf, "--machine", machine)
