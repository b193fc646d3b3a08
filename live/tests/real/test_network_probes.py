"""Probes on an emulated cluster with a network: real Slurm, real MPI, real background jobs."""

import json
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from emulated_network import Network
from emulated_slurm import EmulatedSlurm
from network_experiment import CLI, Background, odonata, probe
from odonata.tails import correlate

MPIEXEC = Path(sys.executable).parent / "mpiexec"


@pytest.mark.skipif(not MPIEXEC.exists(), reason="no MPI beside this Python: pip install mpich")
def test_b_is_blind_to_place_and_what_leaves_groups_is_not(
    networked_slurm: Callable[[Network], EmulatedSlurm], tmp_path: Path
) -> None:
    """Watch, probes of all placements, background traffic, advice, end to end on 64 nodes.

    The same b = 0.75 slows a broadcast between islands where its jobs send between islands, and
    hardly where they send inside groups; `b_between_groups` tells which, and is the better
    predictor. Only ratios are asserted: this host has two processors, which others use as well.
    """
    cluster = networked_slurm(Network())
    store, samples = tmp_path / "probes.sqlite", tmp_path / "b.sqlite"
    (tmp_path / "topology.conf").write_text(cluster.run("scontrol", "show", "topology"))
    watching = subprocess.Popen(
        [
            *(*cluster.enter, *CLI, "cluster", "watch", str(samples), "--period", "1 s"),
            *("--topology", str(tmp_path / "topology.conf")),
        ],
        env=cluster.environment,
        stderr=subprocess.DEVNULL,
    )
    try:
        options = ["--ranks", "4", "--budget", "2 min", "--collective", "bcast"]
        options += ["--size", "32 KiB", "--iterations", "10"]
        idle = probe(
            cluster, store, *options, "--placement", "same-group", "--placement", "same-island"
        )
        # One size more than advice needs: a series may lose all its windows on a busy host.
        options += ["--size", "4 B", "--size", "8 KiB", "--size", "16 KiB", "--size", "48 KiB"]
        idle += probe(cluster, store, *options)
        islands = cluster.network.islands if cluster.network else 0
        assert [(len(set(run["groups"])), len(set(run["islands"]))) for run in idle] == [
            *((1, 1), (2, 1), (4, islands)),
        ]
        found = {"idle": idle[-1]}
        for name in ("across", "inside"):
            # Six of a group's eight nodes, two groups behind a trunk of 60 Mb/s: four fifths of it.
            load = Background(cluster, 6, name == "across", mbit=4.0)
            (found[name],) = probe(cluster, store, *options)
            load.end()
    finally:
        watching.send_signal(signal.SIGTERM)
        watched = watching.wait(timeout=60)
    assert watched == 0
    for run in [*idle, *found.values()]:
        assert run["counts"], run["why_not"]
    # Three sizes fill trunks, so that one disturbed series does not decide.
    median = {
        name: statistics.geometric_mean(
            row["median_us"] for row in run["series"] if row["bytes"] >= 1 << 14
        )
        for name, run in found.items()
    }
    b = {name: run["before"]["b"] for name, run in found.items()}
    between = {name: run["before"]["b_between_groups"] for name, run in found.items()}
    assert b == {"idle": 0, "across": 0.75, "inside": 0.75}
    assert between == {"idle": 0, "across": 0.75, "inside": 0}
    # What else this host does may slow any one of them, by 1.6 as seen; never all that is not slow.
    assert median["across"] > 1.5 * min(median["idle"], median["inside"]), median
    assert median["across"] > max(median["idle"], median["inside"]), median
    # The quantity that knows where jobs are goes with times, by the size's usual one.
    large = {
        name: [row for row in run["series"] if row["bytes"] >= 1 << 14]
        for name, run in found.items()
    }
    usual = {
        row["bytes"]: statistics.fmean(
            one["median_us"]
            for rows in large.values()
            for one in rows
            if one["bytes"] == row["bytes"]
        )
        for row in large["idle"]
    }
    relative = [row["median_us"] / usual[row["bytes"]] for rows in large.values() for row in rows]
    told_by_b, told_by_place = (
        correlate([figure[name] for name, rows in large.items() for _ in rows], relative)
        for figure in (b, between)
    )
    assert told_by_place.pearson > told_by_b.pearson, (told_by_place, told_by_b)
    # The watcher saw the jobs, and the probes, meanwhile.
    history = json.loads(odonata(cluster, "cluster", "history", str(samples), "--json"))["samples"]
    assert max(sample["b"] for sample in history) >= 0.75
    assert all(sample["error"] is None for sample in history)
    # Six jobs between islands are few; what is expected of the next is in what they took.
    answer = odonata(
        cluster,
        *("cluster", "advise", str(store), "--watch", str(samples), "--json"),
        *("--topology", str(tmp_path / "topology.conf"), "--size", "32 KiB"),
    )
    (advice,) = json.loads(answer)["advice"]
    assert (advice["placement"], advice["ranks"], advice["wait_h"]) == ("different-islands", 4, 0)
    assert min(median.values()) / 3 < advice["now"]["expected_us"] < 3 * max(median.values())


@pytest.mark.skipif(not MPIEXEC.exists(), reason="no MPI beside this Python: pip install mpich")
def test_launchers_that_know_this_mpi_and_one_that_does_not(
    networked_slurm: Callable[[Network], EmulatedSlurm], tmp_path: Path
) -> None:
    cluster = networked_slurm(Network(islands=2, groups=1, nodes=1))
    options = ["--ranks", "2", "--iterations", "5", "--collective", "bcast", "--size", "4 B"]
    # Emulated nodes' names are known to nobody else: hydra gets the address to call back.
    launcher = f"{MPIEXEC} -iface eth0"
    (run,) = probe(cluster, tmp_path / "p.sqlite", *options, "--launcher", launcher)
    assert run["counts"], run["why_not"]
    assert [rank["host"] for rank in run["environment"]["ranks"]] == run["nodes"] == ["n0", "n1"]
    alone = subprocess.run(
        [
            *(*cluster.enter, *CLI, "cluster", "probe", str(tmp_path / "p.sqlite"), *options),
            *("--launcher", "srun --mpi=none", "--work", str(tmp_path)),
        ],
        env=cluster.environment,
        capture_output=True,
        text=True,
    )
    assert alone.returncode == 2
    assert "each of the 2 processes is alone" in alone.stderr


def test_an_interrupted_probe_leaves_no_job(
    networked_slurm: Callable[[Network], EmulatedSlurm], tmp_path: Path
) -> None:
    cluster = networked_slurm(Network(islands=2, groups=1, nodes=2))
    probing = subprocess.Popen(
        [
            *(*cluster.enter, *CLI, "cluster", "probe", str(tmp_path / "p.sqlite"), "--ranks", "2"),
            *("--work", str(tmp_path), "--placement", "same-group", "--command", "sleep 300"),
        ],
        env=cluster.environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while "RUNNING" not in cluster.run("squeue", "--noheader", "--format=%T"):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    probing.send_signal(signal.SIGINT)
    assert probing.stderr is not None
    assert "cancelled" in probing.stderr.read()
    probing.stderr.close()
    assert probing.wait(timeout=60) == 130
    cluster.wait_until_done(timeout_s=60)
    assert [job["JobState"] for job in cluster.jobs().values()] == ["CANCELLED"]
