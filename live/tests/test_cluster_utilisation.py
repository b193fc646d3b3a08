"""Background network utilisation: hand-computed queues, in every form in which Slurm tells them."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from command import call
from odonata.batch import JobLog, save_schedules
from odonata.batch import schedule as simulate_schedule
from odonata.errors import ClusterError
from odonata_live.cluster import QueuedJob, read_nodes, read_queue, read_topology, utilisation
from odonata_live.cluster.past import Past, read_past
from odonata_live.cluster.utilisation import by_group, spanning, weighted

#: The command by its module: the installed script may not be on PATH.
CLI = (sys.executable, "-c", "import odonata.cli; odonata.cli.main()")
SLURM = Path(__file__).parents[3] / "shared" / "data" / "slurm-outputs"
TREE = Path(__file__).parents[3] / "shared" / "data" / "slurm-topology-tree" / "topology.conf"


def has(path: Path) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not path.exists(), reason=f"needs {path.name} of the shared data")


# Ten states of a cluster of 8 nodes: lines of a queue, and (N_c, N'_c, N_a) counted by hand.
QUEUES = {
    "nothing": ("", (0, 0, 0)),
    "one job of one node": ("1|RUNNING|n0", (0, 0, 1)),
    "one job of two": ("1|RUNNING|n[0-1]", (2, 2, 2)),
    "two jobs share a node, a third of one node": (
        "1|RUNNING|n[0-1]\n2|RUNNING|n[1-3]\n3|RUNNING|n1",
        (4, 5, 6),
    ),
    "pending": ("1|RUNNING|n[0-2]\n2|PENDING|\n3_[1-4]|PENDING|", (3, 3, 3)),
    "suspended": ("1|SUSPENDED|n[0-3]\n2|RUNNING|n[0-1]", (2, 2, 2)),
    "completing and configuring": ("1|COMPLETING|n[0-3]\n2|CONFIGURING|n[4-7]", (0, 0, 0)),
    "tasks of an array": ("7_1|RUNNING|n[0-1]\n7_2|RUNNING|n[2-3]\n7_3|RUNNING|n4", (4, 4, 5)),
    "components of a heterogeneous job": ("9+0|RUNNING|n0\n9+1|RUNNING|n[1-2]", (2, 2, 3)),
    "all nodes, twice": ("1|RUNNING|n[0-7]\n2|RUNNING|n[0-7]", (8, 16, 16)),
}


@pytest.mark.parametrize("name", QUEUES)
def test_hand_computed(name: str) -> None:
    lines, (n_c, n_c_dup, n_a) = QUEUES[name]
    found = utilisation(read_queue(lines), 8)
    assert (found.n_c, found.n_t, found.n_c_dup, found.n_a) == (n_c, 8, n_c_dup, n_a)
    assert found.b1 == n_c / 8
    assert found.b == (n_c / 8 * n_c_dup / n_a if n_a else 0)
    assert found.b_shared == n_c_dup / 8


def as_json(lines: str, new: bool) -> str:
    jobs = []
    for line in lines.splitlines():
        id_, state, nodes = line.split("|")
        number = int("".join(c for c in id_.split("_")[0] if c.isdigit()))
        base = {"COMPLETING": ["RUNNING"], "CONFIGURING": ["RUNNING"]}.get(state, [])
        jobs.append({"job_id": number, "job_state": [*base, state] if new else state})
        jobs[-1]["nodes"] = nodes
    return json.dumps({"meta": {}, "errors": [], "jobs": jobs})


@pytest.mark.parametrize("name", QUEUES)
def test_all_forms_agree(name: str) -> None:
    lines, _ = QUEUES[name]
    bars = utilisation(read_queue(lines), 8)
    rows = [line.split("|") for line in lines.splitlines()]
    for form in (as_json(lines, new=False), as_json(lines, new=True)):
        assert utilisation(read_queue(form), 8) == bars
    header = (
        f"{'JOBID':>18} {'PARTITION':>9} {'NAME':>8} {'ST':>12} {'NODES':>6} NODELIST(REASON)\n"
    )
    table = header + "".join(
        f"{job:>18} {'main':>9} {'a name':>8} {state:>12} {1:>6} {nodes or '(Resources, x y)'}\n"
        for job, state, nodes in rows
    )
    assert utilisation(read_queue(table), 8) == bars
    bars_with_header = "NODELIST|NAME|STATE|JOBID\n" + "".join(
        f"{nodes}|x|{state}|{job}\n" for job, state, nodes in rows
    )
    assert utilisation(read_queue(bars_with_header), 8) == bars


def test_short_states_and_counts_of_nodes() -> None:
    table = "             JOBID ST NODELIST(REASON)\n                 1  R n[0-1]\n"
    table += "                 2 PD (Priority)\n                 3 CG n4\n"
    assert [job.state for job in read_queue(table)] == ["RUNNING", "PENDING", "COMPLETING"]
    assert utilisation(read_queue("1|2|n[0-1]\n2|3|n[1-3]\n3|1|n1"), 8).b == pytest.approx(5 / 12)


@has(SLURM / "squeue-22.05.8.json")
def test_the_worked_example_of_a_real_slurm(tmp_path: Path) -> None:
    command = [*CLI, "cluster", "utilisation", "--json"]
    command += ["--squeue", str(SLURM / "squeue-22.05.8.json"), "--nodes", "8"]
    found = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert found["b1"] == 0.5
    assert found["b"] == pytest.approx(0.41667, abs=1e-5)
    assert (found["n_c"], found["n_t"], found["n_c_dup"], found["n_a"]) == (4, 8, 5, 6)
    assert (found["running_jobs"], found["pending_jobs"]) == (3, 1)


@has(SLURM / "slurm-24.11.5")
def test_newer_slurm() -> None:
    jobs = read_queue((SLURM / "slurm-24.11.5" / "sq.json").read_text())
    assert [job.state for job in jobs] == ["PENDING", "PENDING"]
    for file in ("si.json", "n.json"):
        names = read_nodes((SLURM / "slurm-24.11.5" / file).read_text())
        assert names == tuple(f"n{index}" for index in range(8))
    older = read_nodes((SLURM / "rivosinc" / "sinfo_out.json").read_text())
    assert len(older) == len(set(older)) > 1


@has(TREE)
def test_a_real_tree() -> None:
    wiring = read_topology(TREE.read_text())
    assert len(set(wiring.leaf_of_node.values())) > 20
    assert wiring.leaf_of_node["cn224"] == "ibsw2"
    assert set(wiring.island_of_node()) == set(wiring.leaf_of_node)


GROUPS = """\
SwitchName=g0 Nodes=n[0-1]
SwitchName=g1 Nodes=n[2-3]
SwitchName=g2 Nodes=n[4-5]
SwitchName=g3 Nodes=n[6-7]
SwitchName=left Switches=g[0-1]
SwitchName=right Switches=g[2-3]
SwitchName=all Switches=left,right
"""


def test_islands_and_groups() -> None:
    wiring = read_topology(GROUPS)
    assert wiring.island_of_node()["n3"] == "left"
    assert wiring.leaf_of_node["n3"] == "g1"
    jobs = read_queue("1|RUNNING|n[0-3]\n2|RUNNING|n4\n3|RUNNING|n[5-6]")
    parts = by_group(jobs, wiring.island_of_node())
    assert {name: part.b1 for name, part in parts.items()} == {"left": 1.0, "right": 0.5}
    # n[5-6] are two nodes of one island, in two groups; the job communicates in both.
    assert {name: part.b for name, part in parts.items()} == {"left": 1.0, "right": 0.5 * 2 / 3}
    # Between islands nobody sends; between groups, job 1 sends 2/3 of what it sends, job 3 all.
    assert spanning(jobs, wiring.island_of_node(), 8) == 0
    assert spanning(jobs, wiring.leaf_of_node, 8) == pytest.approx((4 * 2 / 3 + 2) / 8)


def test_the_same_b_within_and_between_groups_is_told_apart() -> None:
    wiring = read_topology(GROUPS)
    within = read_queue("1|RUNNING|n[0-1]\n2|RUNNING|n[2-3]")
    between = read_queue("1|RUNNING|n0,n2\n2|RUNNING|n1,n3")
    assert utilisation(within, 8) == utilisation(between, 8)
    assert spanning(within, wiring.leaf_of_node, 8) == 0
    assert spanning(between, wiring.leaf_of_node, 8) == 0.5


def test_ones_own_job_and_larger_jobs_only() -> None:
    jobs = [QueuedJob("1", "RUNNING", ("a", "b")), QueuedJob("2", "RUNNING", ("c", "d", "e"))]
    assert utilisation(jobs, 10, exclude=("2",)).b1 == 0.2
    assert utilisation(jobs, 10, at_least=3).b == pytest.approx(0.3 * 3 / 5)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not the JSON of squeue"),
        ('{"sinfo": []}', "without a list `jobs`"),
        ('{"jobs": [{"job_id": 1}]}', "jobs[0]: no `job_state`"),
        ('{"jobs": [{"job_id": 1, "job_state": []}]}', "jobs[0].job_state"),
        ('{"jobs": [3]}', "jobs[0]"),
        ("[" * 100_000, "not the JSON"),
        ("1|RUNNING|n[0-1", "line 1: found `n[0-1`"),
        ("1|RUNNING|n[0-99999999999]", "of at most"),
        ("1|RUNNING|n0|extra", "line 1: found 4 columns"),
        ("1|WALKING|n0", "'WALKING'"),
        ("slurm_load_jobs error: Unable to contact slurm controller", "line 1: found"),
        ("JOBID|NODELIST\n1|n0", "no column STATE"),
    ],
)
def test_what_is_no_queue_is_refused(text: str, says: str) -> None:
    with pytest.raises(ClusterError) as error:
        read_queue(text)
    assert says in str(error.value)


def test_wrong_topologies_and_numbers_are_refused() -> None:
    for text, says in [
        ("", "line 1: found ''"),
        ("SwitchName=a", "no switch with nodes"),
        ("SwitchName=a Nodes=n0\nSwitchName=a Nodes=n1", "described twice"),
        ("SwitchName=a Nodes=n0\nSwitchName=b Nodes=n0", "is attached to b, and to a in line 1"),
        ("SwitchName=a Nodes=n0\nSwitchName=b Switches=a,c", "c, below b, is not described"),
        (
            "SwitchName=a Nodes=n0\nSwitchName=b Switches=a,c\nSwitchName=c Switches=b",
            "above itself",
        ),
    ]:
        with pytest.raises(ClusterError, match=says):
            read_topology(text)
    with pytest.raises(ClusterError, match="has 2; give the number"):
        utilisation(read_queue("1|RUNNING|n[0-3]"), 2)


def command(*options: str, input_: str = "", path: str | None = None) -> tuple[int, str, str]:
    environment = {"PATH": path} if path is not None else None
    done = subprocess.run(
        [*CLI, "cluster", "utilisation", *options],
        input=input_,
        capture_output=True,
        text=True,
        env=environment,
    )
    return done.returncode, done.stdout, done.stderr


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "topology.conf").write_text(GROUPS)
    queue = "1|RUNNING|n[0-3]\n2|RUNNING|n4\n3|RUNNING|n[5-6]\n4|PENDING|\n"
    code, out, _ = command(
        *("--squeue", "-", "--nodes", "8", "--topology", str(tmp_path / "topology.conf")),
        *("--hosts", "n[6-7]"),
        input_=queue,
    )
    assert code == 0
    assert "b  = 0.6429" in out
    assert "2 of 3 running jobs communicate, on 6 of 8 nodes; 1 jobs wait" in out
    code, _, error = command("--squeue", "-", input_=queue)
    assert code == 2
    assert "--nodes N, or --sinfo FILE" in error
    code, _, error = command("--squeue", str(tmp_path / "none"), "--nodes", "8")
    assert code == 2
    assert "cannot be read" in error


def test_without_slurm_and_with_a_slurm_that_fails_or_sleeps(tmp_path: Path) -> None:
    code, _, error = command(path=str(tmp_path))
    assert code == 2
    assert "squeue: not found" in error
    squeue = tmp_path / "squeue"
    squeue.write_text("#!/bin/sh\necho 'slurm_load_jobs error: Connection refused' >&2; exit 1\n")
    squeue.chmod(0o755)
    code, _, error = command(path=f"{tmp_path}:/bin:/usr/bin")
    assert code == 2
    assert "failed with code 1: slurm_load_jobs error: Connection refused" in error
    squeue.write_text("#!/bin/sh\nexec sleep 60\n")
    code, _, error = command("--timeout", "0.2", path=f"{tmp_path}:/bin:/usr/bin")
    assert code == 2
    assert "no answer within 0.2 s" in error


#: The worked example, jobs n[0-1], n[1-3] and n1 of 8 nodes, from 100 s to 200 s after the first
#: submission; a job that comes later, and one that ended.
SACCT = """\
JobID|Submit|Start|End|State|NNodes|NodeList
1|2022-03-01T08:00:00|2022-03-01T08:00:00|2022-03-01T08:05:00|COMPLETED|2|n[0-1]
1.batch|2022-03-01T08:00:00|2022-03-01T08:00:00|2022-03-01T08:05:00|COMPLETED|1|n0
2|2022-03-01T08:00:10|2022-03-01T08:01:40|2022-03-01T08:03:20|COMPLETED|3|n[1-3]
3|2022-03-01T08:00:20|2022-03-01T08:00:30|2022-03-01T08:04:00|COMPLETED|1|n1
4|2022-03-01T08:00:30|2022-03-01T08:02:59|2022-03-01T08:30:00|COMPLETED|4|n[4-7]
5|2022-03-01T08:00:40|2022-03-01T08:00:50|2022-03-01T08:01:40|FAILED|8|n[0-7]
"""
SWF = """\
; MaxNodes: 8
; MaxProcs: 8
1 0 0 300 2 -1 -1 2 -1 -1 1 -1 -1 -1 -1 -1 -1 -1 n[0-1]
2 10 90 100 3 -1 -1 3 -1 -1 1 -1 -1 -1 -1 -1 -1 -1 n[1-3]
3 20 10 210 1 -1 -1 1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1 n1
4 30 149 1621 4 -1 -1 4 -1 -1 1 -1 -1 -1 -1 -1 -1 -1 n[4-7]
5 40 10 50 8 -1 -1 8 -1 -1 0 -1 -1 -1 -1 -1 -1 -1 n[0-7]
"""


@pytest.mark.parametrize(("name", "text"), [("sacct.txt", SACCT), ("log.swf", SWF)])
def test_any_moment_of_a_job_log(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    ask = ["cluster", "utilisation", "--log", name, "--nodes", "8", "--json"]
    # Job 5 ends as job 2 begins; job 4 waits. Then it is as in the worked example.
    done = call(*ask, "--at", "100s", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["b1"], found["b"]) == (0.5, pytest.approx(5 / 12))
    assert (found["running_jobs"], found["pending_jobs"]) == (3, 1)
    # A second before, all nodes have a job of eight, two of them one of two as well.
    before = json.loads(call(*ask, "--at", "99s", directory=tmp_path).stdout)
    assert (before["n_c"], before["n_c_dup"], before["n_a"], before["b1"]) == (8, 10, 11, 1)
    rows = json.loads(call(*ask, "--every", "50s", directory=tmp_path).stdout)["samples"]
    assert [row["time_s"] - rows[0]["time_s"] for row in rows] == list(range(0, 1801, 50))
    assert rows[2] == {"time_s": rows[2]["time_s"], **found}
    # What ends at that moment has ended: of the last there is nothing.
    assert rows[-1]["running_jobs"] == 0


def test_moments_by_date_where_the_log_has_dates(tmp_path: Path) -> None:
    (tmp_path / "sacct.txt").write_text(SACCT)
    ask = ["cluster", "utilisation", "--log", "sacct.txt", "--nodes", "8"]
    done = call(*ask, "--at", "2022-03-01T08:01:40", directory=tmp_path)
    assert "b  = 0.4167" in done.stdout
    (tmp_path / "log.swf").write_text(SWF)
    done = call(*ask[:3], "log.swf", "--at", "2022-03-01T08:01:40", directory=tmp_path)
    assert done.returncode == 2
    assert "does not say when its second 0 is" in done.stderr
    for options, says in [
        (["--at", "1h"], "up to the last end, 1800 s after it"),
        (["--squeue", "-"], "two sources"),
        (["--schedule", "easy"], "a schedule of a directory only"),
    ]:
        done = call(*ask, *options, directory=tmp_path)
        assert done.returncode == 2
        assert says in done.stderr
    done = call("cluster", "utilisation", "--at", "1h", directory=tmp_path)
    assert "--at needs --log" in done.stderr


def test_a_simulated_schedule_and_its_groups(tmp_path: Path) -> None:
    # Four groups of two nodes. GRAP gives a job of five three groups, as nobody may share them.
    log = JobLog.from_table(
        pa.table(
            {
                "id": ["a", "b", "c"],
                "submit_s": [0, 1, 2],
                "run_s": [100, 100, 100],
                "requested_s": [100, 100, 100],
                "nodes": [5, 2, 1],
            }
        ),
        machine_nodes=8,
    )
    by_grap = simulate_schedule(log, grap_groups=4, grap_modes=[], name="grap")
    save_schedules([by_grap, simulate_schedule(log)], tmp_path / "s")
    past = read_past(tmp_path / "s", "grap")
    whole = utilisation(past.queue_at(50), 8)
    assert (whole.n_c, whole.n_a, whole.communicating_jobs) == (7, 8, 2)
    wiring = past.topology()
    assert wiring is not None
    parts = by_group(past.queue_at(50), wiring.leaf_of_node)
    assert sorted(part.n_c for part in parts.values()) == [1, 2, 2, 2]
    # Two groups have two nodes of the job of five, of which 3/4 of the partners are elsewhere,
    # one has one node.
    assert spanning(past.queue_at(50), wiring.leaf_of_node, 8) == pytest.approx(
        (2 * 2 * 3 / 4 + 1) / 8
    )
    # Without groups the same counts, of nodes without names.
    assert utilisation(read_past(tmp_path / "s", "easy").queue_at(50), 8) == whole
    done = call("cluster", "utilisation", "--log", "s", "--at", "50s", directory=tmp_path)
    assert "which schedule? there are: grap, easy" in done.stderr


def test_jobs_by_how_much_they_communicate(tmp_path: Path) -> None:
    wiring = read_topology(GROUPS)
    jobs = read_queue("1|RUNNING|n[0-3]\n2|RUNNING|n4\n3|RUNNING|n[5-6]")
    assert weighted(jobs, 8, {}) == utilisation(jobs, 8).b_shared
    # By hand: four nodes by half, two by three; the job of one node does not communicate.
    answer = {"1": 0.5, "2": 9.0, "3": 3.0}
    assert weighted(jobs, 8, answer) == (4 * 0.5 + 2 * 3) / 8
    between = spanning(jobs, wiring.leaf_of_node, 8, communication=answer)
    assert between == pytest.approx((4 * 2 / 3 * 0.5 + 2 * 3) / 8)
    (tmp_path / "topology.conf").write_text(GROUPS)
    (tmp_path / "queue").write_text("1|RUNNING|n[0-3]\n2|RUNNING|n4\n3|RUNNING|n[5-6]\n")
    (tmp_path / "shares").write_text("# job, share\n1,0.5\n2, 9\n3,3\n")
    ask = ["cluster", "utilisation", "--squeue", "queue", "--nodes", "8", "--json"]
    ask += ["--topology", "topology.conf", "--communication", "shares"]
    found = json.loads(call(*ask, directory=tmp_path).stdout)
    assert found["b_weighted"] == 1.0
    assert found["b_weighted_between_groups"] == pytest.approx(between)
    for wrong in ("1,-1", "1,nan", "1", ",3", "1,inf"):
        (tmp_path / "shares").write_text(f"{wrong}\n")
        done = call(*ask, directory=tmp_path)
        assert done.returncode == 2
        assert "shares: line 1: found" in done.stderr
    # A log may tell it itself.
    table = pa.table(
        {
            "submit_s": [0, 0],
            "start_s": [0, 0],
            "run_s": [9, 9],
            "nodes": [4, 2],
            "communication_share": [0.5, None],
        }
    )
    past = Past.of_log(JobLog.from_table(table, machine_nodes=8))
    assert weighted(past.queue_at(0), 8, past.communication) == (4 * 0.5 + 2) / 8


def test_logs_that_do_not_tell_who_ran_where_are_refused() -> None:
    table = pa.table({"submit_s": [0], "run_s": [9], "nodes": [4]})
    with pytest.raises(ClusterError, match="records no starts"):
        Past.of_log(JobLog.from_table(table))
