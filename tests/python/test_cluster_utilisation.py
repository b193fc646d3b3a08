"""Background network utilisation: hand-computed queues, in every form in which Slurm tells them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from odonata.cluster import QueuedJob, read_nodes, read_queue, read_topology, utilisation
from odonata.cluster.utilisation import by_group, spanning
from odonata.errors import ClusterError

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
        ("", "no switch with nodes"),
        ("SwitchName=a Nodes=n0\nSwitchName=a Nodes=n1", "described twice"),
        ("SwitchName=a Nodes=n0\nSwitchName=b Nodes=n0", "is attached to a as well"),
        ("SwitchName=a Nodes=n0\nSwitchName=b Switches=a,c", "c is not described"),
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
