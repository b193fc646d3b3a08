"""The emulated Slurm itself: other live tests rest on what is shown here."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from emulated_slurm import EmulatedSlurm, EmulationError, Nodes, Partition, fields

Start = Callable[..., EmulatedSlurm]


def processes_below(directory: Path) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if str(directory) in command:
                found.append(command.replace("\0", " "))
    return found


def test_jobs_share_nodes_core_by_core_and_nothing_is_left(slurm: Start) -> None:
    cluster = slurm(2, cores=4)
    # Released together, they start in one pass, however long the host takes.
    wide = cluster.submit("--hold", "-N2", "-n4", command="sleep 2")
    narrow = cluster.submit("--hold", "-n1", command="sleep 2")
    cluster.run("scontrol", "release", f"{wide},{narrow}")
    cluster.wait_until_done(timeout_s=180)
    jobs = cluster.jobs()
    assert jobs[wide]["JobState"] == "COMPLETED"
    assert jobs[wide]["NodeList"] == "n[0-1]"
    assert jobs[narrow]["NumCPUs"] == "1"
    assert int(jobs[narrow]["StartTime"]) < int(jobs[wide]["EndTime"])
    directory = cluster.directory
    assert processes_below(directory)
    cluster.close()
    assert not directory.exists()
    assert processes_below(directory) == []


def test_features_gres_partitions_and_topology_are_slurms_own(slurm: Start) -> None:
    cluster = slurm(
        [
            Nodes(2, cores=2, features=("thin",)),
            Nodes(2, cores=8, sockets=2, features=("fat", "gpu"), gres={"gpu:a100": 2}),
        ],
        partitions=[
            Partition("main"),
            Partition("fat", nodes="n[2-3]", options={"MaxTime": 10, "PriorityTier": 2}),
        ],
        parameters={"SchedulerParameters": "bf_interval=5", "EnforcePartLimits": "ALL"},
        topology=["SwitchName=s0 Nodes=n[0-1]", "SwitchName=s1 Nodes=n[2-3]"],
    )
    fat = cluster.submit("-n1", "-C", "fat", command="sleep 1")
    gpus = cluster.submit("-N2", "--gres=gpu:a100:2", command="sleep 1")
    cluster.wait_until_done(timeout_s=180)
    jobs = cluster.jobs()
    assert jobs[fat]["NodeList"] == "n2"
    assert jobs[gpus]["NodeList"] == "n[2-3]"
    assert "bf_interval=5" in cluster.run("scontrol", "show", "config")
    assert "SwitchName=s1" in cluster.run("scontrol", "show", "topology")
    with pytest.raises(EmulationError, match="time limit"):
        cluster.submit("-p", "fat", "-t", "20", command="true")


def test_jobs_of_several_users(slurm: Start) -> None:
    cluster = slurm(1)
    job = cluster.submit("--uid=daemon", "--chdir=/", command="sleep 0")
    cluster.wait_until_done(timeout_s=180)
    assert cluster.jobs()[job]["UserId"].startswith("daemon(")
    assert cluster.jobs()[job]["JobState"] == "COMPLETED"


def test_two_clusters_stand_beside_each_other(slurm: Start) -> None:
    one, other = slurm(1), slurm(2)
    assert one.run("sinfo", "-h", "-o", "%D").strip() == "1"
    assert other.run("sinfo", "-h", "-o", "%D").strip() == "2"


def test_a_cluster_dies_with_its_process(slurm_available: None) -> None:
    script = (
        "import sys, time; from emulated_slurm import EmulatedSlurm\n"
        "cluster = EmulatedSlurm(1).__enter__()\n"
        "print(cluster.directory, flush=True); time.sleep(600)"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
    )
    assert process.stdout is not None
    directory = Path(process.stdout.readline().strip())
    assert directory.name.startswith("odonata-slurm-")
    assert processes_below(directory)
    process.kill()
    process.wait()
    process.stdout.close()
    deadline = time.monotonic() + 120
    while processes_below(directory) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert processes_below(directory) == []
    shutil.rmtree(directory)


def test_a_cluster_that_cannot_start_says_why(slurm_available: None) -> None:
    with (
        pytest.raises(EmulationError, match="no-such-plugin"),
        EmulatedSlurm(1, parameters={"SelectType": "select/no-such-plugin"}),
    ):
        raise AssertionError("it started")


def test_fields_of_scontrol() -> None:
    line = "JobId=7 JobName=a b UserId=u(1) TRES=cpu=2,mem=1G NodeList=(null) Comment=x=1"
    assert fields(line) == {
        "JobId": "7",
        "JobName": "a b",
        "UserId": "u(1)",
        "TRES": "cpu=2,mem=1G",
        "NodeList": "(null)",
        "Comment": "x=1",
    }
