"""Real MPI probes on an emulated cluster whose network other jobs load: the paper's effect, live.

By hand, the whole experiment of 64 nodes; RESULTS is a table with a row for each series:

    python live/tests/real/network_experiment.py RESULTS.csv
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from emulated_network import Network
from emulated_slurm import EmulatedSlurm

CLI = (sys.executable, "-c", "import odonata.cli; odonata.cli.main()")
#: MPICH takes shared memory between ranks of one host, and no network would be measured. Ranks that
#: wait give way to those that they wait for, which have the same few processors.
VARIABLES = {
    "UCX_TLS": "tcp,self",
    "UCX_NET_DEVICES": "eth0",
    "MPIR_CVAR_POLLS_BEFORE_YIELD": "1",
    "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",
}


def odonata(cluster: EmulatedSlurm, *arguments: str, timeout_s: float = 300) -> str:
    """Runs a command of Odonata on the cluster; what it prints."""
    done = subprocess.run(
        [*cluster.enter, *CLI, *arguments],
        capture_output=True,
        text=True,
        env={**cluster.environment, **VARIABLES},
        cwd=cluster.directory,
        timeout=timeout_s,
        check=False,
    )
    assert done.returncode == 0, f"{arguments}: {done.stderr}"
    return done.stdout


def probe(cluster: EmulatedSlurm, store: Path, *options: str) -> list[dict[str, Any]]:
    """Measures; the runs that it kept."""
    command = ["cluster", "probe", str(store), "--json", "--launcher", "srun --mpi=pmi2"]
    command += ["--work", str(cluster.directory), "--interval", "0 s", *options]
    try:
        answer = odonata(cluster, *command)
    except AssertionError as failed:
        # MPICH's own start over TCP has been seen to find a node unreachable, once in nine runs;
        # and Slurm to hold a job's step back until the budget was over, once, among background
        # traffic, which its daemons' messages share the trunks with.
        if "MPIDI_UCX" not in str(failed) and "Cancelled pending job step" not in str(failed):
            raise
        answer = odonata(cluster, *command)
    runs: list[dict[str, Any]] = json.loads(answer)["runs"]
    return runs


class Background:
    """Jobs that take the last nodes of every group, and send.

    Args:
        cluster: Where.
        share: How many nodes of each group have such a job.
        across: Whether a job is spread over all groups, a node in each, and sends to another
            island; otherwise each job is inside one group, and sends there.
        mbit: What each node sends, Mb/s.
    """

    def __init__(self, cluster: EmulatedSlurm, share: int, across: bool, mbit: float) -> None:
        network = cluster.network
        assert network is not None
        groups = network.islands * network.groups
        last = [
            [group * network.nodes + network.nodes - 1 - k for k in range(share)]
            for group in range(groups)
        ]
        # Turned over: a node of each group.
        jobs = [list(nodes) for nodes in zip(*last, strict=True)] if across else last
        self.cluster = cluster
        self.numbers = [self._submit(nodes, across, mbit) for nodes in jobs if len(nodes) > 1]
        deadline = time.monotonic() + 60
        while "PENDING" in cluster.run("squeue", "--noheader", "--format=%T"):
            assert time.monotonic() < deadline, cluster.run("squeue")
            time.sleep(0.2)
        time.sleep(2)

    def _submit(self, nodes: list[int], across: bool, mbit: float) -> int:
        network = self.cluster.network
        assert network is not None
        program = Path(__file__).with_name("background_traffic.py")
        shift = len(nodes) // 2 if across else 1
        addresses = " ".join(network.address(node) for node in nodes)
        return self.cluster.submit(
            f"--nodes={len(nodes)}",
            f"--ntasks={len(nodes)}",
            f"--nodelist={','.join(f'n{node}' for node in nodes)}",
            command=f"srun --mpi=none python3 -S -E {program} {mbit} {shift} {addresses}",
        )

    def end(self) -> None:
        """Cancels the jobs and waits until their nodes are idle."""
        self.cluster.run("scancel", *(str(number) for number in self.numbers))
        self.cluster.wait_until_done(timeout_s=120)
        time.sleep(1)


def rows_of(condition: str, runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each series of runs."""
    return [
        {"condition": condition, "b_change": run["after"]["b"] - run["before"]["b"], **row}
        for run in runs
        for row in run["series"]
    ]


def main(results: Path) -> None:
    """64 nodes; each dose twice, between groups and inside, after the placements without load."""
    network = Network(nodes=8)
    rows: list[dict[str, Any]] = []
    options = ["--ranks", "8", "--iterations", "40", "--size", "32 KiB", "--budget", "6 min"]
    options += ["--collective", "bcast", "--collective", "reduce", "--collective", "alltoall"]
    with EmulatedSlurm(network.size, cores=2, network=network) as cluster:
        store = cluster.directory / "probes.sqlite"
        begin = time.monotonic()
        samples = cluster.directory / "b.sqlite"
        watching = subprocess.Popen(
            [*cluster.enter, *CLI, "cluster", "watch", str(samples), "--period", "2 s"],
            env=cluster.environment,
            stderr=subprocess.DEVNULL,
        )
        placements = ("same-group", "same-island", "different-islands")
        for name in placements:
            rows += rows_of("idle", probe(cluster, store, *options, "--placement", name))
        for share in (2, 4, 6):
            for across in (True, False):
                load = Background(cluster, share, across, mbit=4.0)
                name = "across" if across else "inside"
                rows += rows_of(name, probe(cluster, store, *options))
                load.end()
        print(odonata(cluster, "cluster", "advise", str(store), "--watch", str(samples)))
        watching.terminate()
        watching.wait()
        print(f"{time.monotonic() - begin:.0f} s")
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with results.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
