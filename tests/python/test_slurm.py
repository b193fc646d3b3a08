"""Schedules as Slurm makes them: its files and listings, and what comes of them."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from odonata.batch import read_job_log, schedule_as_slurm
from odonata.cli.commands import odonata
from odonata.cli.slurm import beside_recorded
from odonata.display import percent
from odonata.errors import JobLogError

#: Runs of 200 sleep jobs on an emulated cluster of 16 nodes, by
#: live/tests/real/test_slurm_schedules.py: seeds 1 to 3, one job every 0.8 s, which sleeps 10 s
#: to 25 s.
EMULATED = Path(__file__).parents[2] / "crates" / "scheduler" / "tests" / "emulated_slurm"
OUTPUTS = Path(__file__).parents[3] / "shared" / "data" / "slurm-outputs"

CONF = """
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
PriorityType=priority/basic
SchedulerParameters=bf_interval=10,bf_resolution=1
NodeName=n[0-1] CPUs=4 RealMemory=1000
NodeName=n2 CPUs=8 RealMemory=4000 Features=fat Gres=gpu:2
PartitionName=main Nodes=ALL Default=YES MaxTime=60
"""

JOB = (
    "JobId={id} JobName=a b UserId=ann(7) GroupId=g(7) Priority=9 Account=lab QOS=normal "
    "JobState=COMPLETED RunTime=00:00:{run} TimeLimit=00:02:00 "
    "SubmitTime=2025-01-01T00:00:{submit} StartTime=2025-01-01T00:01:00 "
    "EndTime=2025-01-01T00:01:30 Partition=main ReqNodeList=(null) ExcNodeList=(null) "
    "NodeList=n0 NumNodes=1 NumCPUs={cpus} NumTasks={cpus} CPUs/Task=1 "
    "TRES=cpu={cpus},mem=100M,node=1 MinCPUsNode=1 MinMemoryCPU=100M "
    "Features={features} OverSubscribe=OK {more}\n"
)


def job(number: int, submit: int, **changes: str | int) -> str:
    given = {"run": 30, "cpus": 1, "features": "(null)", "more": "", **changes}
    return JOB.format(id=number, submit=f"{submit:02d}", **given)


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    jobs, conf = tmp_path / "jobs.txt", tmp_path / "slurm.conf"
    conf.write_text(CONF)
    jobs.write_text(
        job(1, 0, cpus=4)
        + job(2, 1, features="fat")
        + job(3, 2, more="TresPerNode=gres:gpu:2")
        + job(4, 3, more="TresPerNode=gres:gpu:1")
        + job(5, 4, cpus=8, run=20)
        + job(6, 5, features="nowhere")
    )
    return jobs, conf


def test_priorities_that_no_log_has_are_refused(files: tuple[Path, Path]) -> None:
    jobs, conf = files
    log = read_job_log(jobs)
    assert schedule_as_slurm(log, [conf], recorded_priorities=True).jobs.num_rows == 6
    jobs.write_text(jobs.read_text().replace("Priority=9 ", ""))
    with pytest.raises(JobLogError, match="recorded_priorities: found a log without any"):
        schedule_as_slurm(read_job_log(jobs), [conf], recorded_priorities=True)


def test_constraints_decide_where_and_when(files: tuple[Path, Path]) -> None:
    result = schedule_as_slurm(*files)
    rows = {row["id"]: row for row in result.jobs.to_pylist()}
    assert [rows[str(n)]["node_list"] for n in (1, 2, 3, 4)] == ["n0", "n2", "n2", "n2"]
    first = rows["1"]["submit_s"]
    starts = {number: row["start_s"] for number, row in rows.items()}
    # Two GPUs are taken for 30 s; eight cores of one node are free when all others ended.
    assert starts["3"] - first <= 6
    assert starts["4"] >= starts["3"] + 30
    assert starts["5"] >= starts["4"] + 30
    assert rows["6"]["fate"] == "refused"
    assert "features nowhere" in rows["6"]["reason"]
    assert result.machine_cpus == 16


def test_settings_replace_what_files_say(files: tuple[Path, Path]) -> None:
    result = schedule_as_slurm(*files, settings=["PartitionName=main Nodes=n[0-1] Default=YES"])
    refused = [row["id"] for row in result.jobs.to_pylist() if row["fate"] == "refused"]
    assert refused == ["2", "3", "4", "5", "6"]
    with pytest.raises(JobLogError, match="bf_window=x"):
        schedule_as_slurm(*files, settings=["SchedulerParameters=bf_window=x"])
    with pytest.raises(JobLogError, match="names no file"):
        schedule_as_slurm(files[0], [])


def test_a_configuration_of_other_nodes_is_said_at_once(files: tuple[Path, Path]) -> None:
    jobs, conf = files
    said: list[str] = []
    schedule_as_slurm(jobs, conf, notice=said.append)
    assert said == []
    # Its jobs ran on n0.
    conf.write_text(CONF.replace("n[0-1]", "n1"))
    schedule_as_slurm(jobs, conf, notice=said.append)
    (sentence,) = said
    assert "2 nodes; jobs of the log ran on 1, of which 1 are not there, such as n0" in sentence


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("gres.conf", "# none\n", "gres.conf of Slurm is not read; allowed: slurm.conf"),
        ("g.txt", "AutoDetect=off\nNodeName=n2 Name=gpu\n", "is like gres.conf"),
        ("g.txt", "NodeName=n2 Name=gpu File=/dev/nvidia0\n", "is like gres.conf"),
        ("q.script", "# QOS\nadd QOS Name=long Priority=100\n", "commands of sacctmgr"),
        ("dump.cfg", "Cluster - 'main':Fairshare=1\nParent - 'root'\n", "sacctmgr dump"),
        ("jobs.txt", job(1, 0), "holds jobs, which are LOG"),
    ],
)
def test_files_that_are_not_read_are_refused(
    files: tuple[Path, Path], tmp_path: Path, name: str, text: str, said: str
) -> None:
    other = tmp_path / "other" / name
    other.parent.mkdir()
    other.write_text(text)
    with pytest.raises(JobLogError, match=said):
        schedule_as_slurm(files[0], [files[1], other])


def test_command(files: tuple[Path, Path], tmp_path: Path) -> None:
    jobs, conf = files
    out = tmp_path / "out"
    options = ["--out", str(out), "--json"]
    done = CliRunner().invoke(odonata, ["slurm", str(jobs), "--conf", str(conf), *options])
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout)
    assert answer["recorded"]["jobs"] == 5
    assert (out / "jobs.parquet").exists()
    # Jobs 1 to 5 waited 60 s less their submission, 0 to 4 s: 56 to 60.
    assert answer["recorded"]["rows"]["p90 wait"][0] == "60 s"
    options = ["--out", str(tmp_path / "again")]
    done = CliRunner().invoke(odonata, ["slurm", str(jobs), "--conf", str(conf), *options])
    summary = answer["schedules"]["slurm"]["summary"]
    assert "median wait" in done.output and "mean wait" in done.output
    assert percent(summary["utilisation"]) in done.output
    assert "until the last submission" in done.output
    assert "Why jobs waited, slurm, as seen" in done.output
    assert "1 job: never started: " in done.output


def test_a_log_of_another_cluster_is_no_table_of_zeros(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    jobs, conf = files
    conf.write_text(re.sub(r"PartitionName=\S+", "PartitionName=elsewhere", CONF))
    out = tmp_path / "out"
    done = CliRunner().invoke(odonata, ["slurm", str(jobs), "--conf", str(conf), "--out", str(out)])
    assert isinstance(done.exception, JobLogError)
    assert re.search(
        r"none of its \d jobs can start: .*partition.*; there are elsewhere", str(done.exception)
    )
    assert not out.exists()


def test_grap_in_the_place_of_slurms_choice(tmp_path: Path) -> None:
    """Jobs of 6 and 3 nodes on groups of four and eight, by hand from Feng et al., algorithm 1.

    The first gets nodes of the only group that it fits; the second is in the group with the fewest
    idle nodes that suffice.
    """
    jobs, conf, topology = (tmp_path / name for name in ("jobs.txt", "slurm.conf", "topology.conf"))
    conf.write_text(
        "TopologyPlugin=topology/tree\nPriorityType=priority/basic\n"
        "NodeName=n[0-11] CPUs=1 RealMemory=100\n"
        "PartitionName=main Nodes=ALL Default=YES\n"
    )
    topology.write_text(
        "SwitchName=g0 Nodes=n[0-3]\nSwitchName=g1 Nodes=n[4-11]\nSwitchName=top Switches=g[0-1]\n"
    )
    jobs.write_text(
        "".join(
            job(number, number, cpus=nodes)
            .replace("Nodes=1", f"Nodes={nodes}")
            .replace("node=1", f"node={nodes}")
            for number, nodes in ((1, 6), (2, 3))
        )
    )
    files = [conf, topology]
    rows = schedule_as_slurm(jobs, files, grap=0).jobs.to_pylist()
    assert [row["node_list"] for row in rows] == ["n4,n5,n6,n7,n8,n9", "n0,n1,n2"]
    with pytest.raises(JobLogError, match=r"no switches of level 2.*allowed: 0 \(2 switches\)"):
        schedule_as_slurm(jobs, files, grap=2)
    with pytest.raises(JobLogError, match="allowed for all jobs alike: adaptive"):
        schedule_as_slurm(jobs, files, grap=0, grap_mode="custom")
    command = ["slurm", str(jobs), "--conf", str(conf), "--conf", str(topology)]
    out = tmp_path / "out"
    done = CliRunner().invoke(odonata, [*command, "--grap", "0", "--out", str(out), "--json"])
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(odonata, [*command, "--grap-mode", "minimal-balance"])
    assert done.exit_code == 2 and "without --grap LEVEL" in done.output


@pytest.mark.parametrize(
    "name",
    [
        "squeue-22.05.8.json",
        "sacct-22.05.8.json",
        "slurm-24.11.5/j.json",
        "rivosinc/squeue_out.json",
        "meta-gcm/scontrol_out_all_gpus.txt",
        "sonar/tests_testdata_scontrol_resource1.txt",
    ],
)
def test_listings_of_real_clusters_account_for_every_job(name: str) -> None:
    path = OUTPUTS / name
    if not path.exists():
        pytest.skip(f"there is no ../shared/data/slurm-outputs/{name}")
    try:
        log = read_job_log(path)
    except JobLogError as error:
        # Listings of the present: nothing in them has ended.
        assert "no job is left" in str(error)
        assert "unfinished" in str(error)
        return
    assert log.report is not None
    dropped = sum(rule["count"] for rule in log.report["rules"] if rule["action"] == "dropped")
    assert len(log) + dropped == log.report["records"]


def test_partitions_of_a_real_cluster_are_read() -> None:
    path = OUTPUTS / "slurm-24.11.5" / "n.json"
    if not path.exists():
        pytest.skip("there is no ../shared/data/slurm-outputs/slurm-24.11.5")
    log = OUTPUTS / "squeue-22.05.8.json"
    result = schedule_as_slurm(log, [path, path.with_name("p.json")])
    assert result.machine_nodes == 8
    assert result.summary["refused"] == 0


def test_recorded_runs_of_an_emulated_cluster() -> None:
    """Mean wait of all 600 jobs within 5 % of Slurm's, rank correlation of each run's starts 0.95.

    Single runs differ by more, either way: listings know whole seconds, and the same jobs with
    other times within these have mean waits with a standard deviation of a tenth
    (docs/scheduling.md).
    """
    recorded, simulated = 0.0, 0.0
    for seed in (1, 2, 3):
        run = schedule_as_slurm(EMULATED / f"seed{seed}.json.xz", EMULATED / "slurm.conf")
        assert run.summary["refused"] == 0
        figures = beside_recorded(run.jobs)
        assert figures["jobs"] == 200
        assert figures["rank_correlation_of_starts"] >= 0.95
        recorded += figures["mean_wait_s"]["recorded"]
        simulated += figures["mean_wait_s"]["simulated"]
    assert simulated == pytest.approx(recorded, rel=0.05)
