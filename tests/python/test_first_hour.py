"""The mistakes of a first hour, and that each gets an answer that says what to do.

Mistakes in files are in the session ``errors`` of ``test_snapshots``, those of assignments in
``test_scenario``, of sweeps' values in ``test_sweep``, of designs and of nodes that a family does
not have in ``test_design``, of a log without a header in ``test_batch``, of slurm.conf in
``test_slurm``, of clusters in ``live/tests/test_cluster_forms.py``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import odonata
from command import call

NETWORK = """\
[network]
family = "dragonfly"
p = 1
a = 2
h = 1
"""
MACHINE = """
[machine]
name = "Ours"
hosts = [ { names = "n[1-6]", first_node = 0 } ]
"""
JOB = """
[[job]]
name = "halo"
nodes = 4
motif = { kind = "halo2d", message = "16 KiB" }
"""
#: A job of 10 nodes, of a machine of 20.
LOG = "; MaxNodes: 20\n1 0 60 10 10 -1 -1 10 100 -1 1 1 1 1 1 1 -1 -1\n"

UNKNOWN_JOB = "job.hallo: found hallo, but job has 1 entry; allowed: the index 0, * or a name"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        # Sweeps: names of jobs, networks that are tried, what is shown again.
        ("run t.toml --set job.hallo.nodes=2", f"{UNKNOWN_JOB}: halo"),
        ("run t.toml --set nodes", '--set: found "nodes"; allowed: KEY=VALUE, such as'),
        ("run t.toml --set network.routing=ugal", "(did you mean ugal-l or ugal-g?); allowed"),
        ("run t.toml --set job.1.nodes=3", "job[1]: found 1, but job has 1 entry; allowed"),
        ("sweep t.toml --set job.0.nodes=2:4", "a range is FROM:TO:STEP, as in 0.1:0.9:0.1"),
        ("sweep t.toml --set job.hallo.nodes=2,4", f"{UNKNOWN_JOB}: halo (at the point nodes=2)"),
        (
            "sweep ugal.toml --set network.routing.algorithm=minimal,ugal-l",
            "or vary `network.routing` as a whole: each value then brings its own keys",
        ),
        (
            "sweep t.toml --seeds 2 --measure job.hallo.run_time_ps",
            "measure: found no job hallo; allowed: * or halo",
        ),
        ("sweep t.toml --network none.toml", "none.toml: cannot be read: No such file"),
        ("show .", "found no results; allowed: the directory of a run, replications,"),
        ("report t.toml", "t.toml: there is no such directory"),
        # Sizes that nothing has.
        ("init a.toml --nodes 200000", "200000 is not in the range 2<=x<=100000"),
        ("design --nodes 5", "nodes: found 5; allowed: 16 to 100,000"),
        ("design --nodes 2 --gpus 4", "found 2 of 4 GPUs; allowed: 16 to 100,000 interfaces"),
        ("design --nodes 64 --price gold=3", "PART=NUMBER, with PART one of switch, switch_port"),
        # A centre's machine and log.
        ("schedule t.toml", "found nothing; allowed: a table [schedule] with the key `log`"),
        ("schedule log.swf --network flow", "--network: needs --machine SCENARIO"),
        ("schedule log.swf --compare fast", '--compare: found "fast"; allowed: fcfs, easy'),
        (
            "schedule log.swf --compare fast",
            "with --network flow or packet also contiguous, spread",
        ),
        ("schedule log.swf --compare random-node", "a placement with --network flow or packet"),
        ("schedule log.swf --network flow --machine t.toml", "--mpi-share: found log; allowed: a"),
        (
            "schedule log.swf --network flow --mpi-share 1% --machine steered.toml",
            "--machine: network.routing.algorithm: found dal; allowed: minimal, tago",
        ),
        (
            "schedule log.swf --network flow --machine machine.toml --compare fcfs,spread",
            "of several, each with a --compare of its own",
        ),
        (
            "slurm log.swf --conf slurm.conf",
            "slurm.conf: 6 nodes; the log says that its machine has 20",
        ),
        (
            "predict-collective machine.toml --hosts n1,n9 --collective allreduce --bytes 1",
            "host n9: Ours has none of that name; allowed: 6 hosts from n1 to n6",
        ),
        (
            "predict-collective t.toml --hosts n1,n2 --collective allreduce --bytes 1",
            "names no hosts; allowed: machine.hosts or machine.hosts_file",
        ),
    ],
)
def test_commands_say_what_is_wrong(line: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(NETWORK + JOB)
    ugal = NETWORK + 'routing = { algorithm = "ugal-l", threshold = "1 KiB" }\n'
    (tmp_path / "ugal.toml").write_text(ugal + JOB)
    (tmp_path / "machine.toml").write_text(NETWORK + MACHINE)
    lattice = '[network]\nfamily = "hyperx"\nsize = [5]\np = 4\nrouting = "dal"\n'
    (tmp_path / "steered.toml").write_text(lattice)
    (tmp_path / "log.swf").write_text(LOG)
    (tmp_path / "slurm.conf").write_text("NodeName=n[1-6]\nPartitionName=a Nodes=ALL\n")
    files = sorted(tmp_path.iterdir())
    done = call(*line.split(), directory=tmp_path)
    assert done.returncode not in (0, 1), done.stderr
    assert message in " ".join(done.stderr.split())
    assert sorted(tmp_path.iterdir()) == files


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"set": {"network.rooting": "par"}}, r"network.rooting: .*did you mean `routing`"),
        ({"set": {"network.routing": "parr"}}, r'network.routing: found "parr"; allowed: .*"par"'),
        ({"set": {"job.hallo.nodes": 2}}, r"job.hallo: found hallo, .* or a name: halo"),
    ],
)
def test_functions_say_the_same(
    changes: dict[str, dict[str, object]], message: str, tmp_path: Path
) -> None:
    (tmp_path / "t.toml").write_text(NETWORK + JOB)
    with pytest.raises(odonata.ScenarioError, match=message):
        odonata.run(tmp_path / "t.toml", **changes)  # type: ignore[arg-type]


def test_scenarios_of_dicts_are_checked_as_files_are() -> None:
    with pytest.raises(odonata.ScenarioError, match=r"network.rooting: unknown key \(did you mean"):
        odonata.run({"network": {"family": "torus", "size": [4], "rooting": "minimal"}})
