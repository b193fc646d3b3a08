"""A real slurmrestd says the same of a cluster as Slurm's commands do."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable

import pytest

import placed_slurm
from emulated_slurm import EmulatedSlurm
from odonata.errors import ClusterError
from odonata_live.cluster import jobs, model
from odonata_live.cluster.rest import Slurmrestd

PROGRAM = shutil.which("slurmrestd", path=f"{os.environ['PATH']}:/usr/sbin")
NOBODY = 65534


@pytest.mark.skipif(PROGRAM is None, reason="needs slurmrestd: run tools/live-packages.sh")
def test_slurmrestd_says_what_commands_say(slurm: Callable[..., EmulatedSlurm]) -> None:
    cluster = slurm(
        8,
        cores=1,
        partitions=placed_slurm.PARTITIONS,
        parameters=placed_slurm.PARAMETERS,
        topology=placed_slurm.topology(2, 4),
    )
    cluster.submit("-H", "-N3", "-t5", command="sleep 0")
    cluster.run("scontrol", "update", "nodename=n7", "state=drain", "reason=test")
    directory = cluster.directory / "rest"
    directory.mkdir()
    # It refuses to run as root.
    os.chown(directory, NOBODY, NOBODY)
    socket = directory / "socket"
    environment = {k: v for k, v in cluster.environment.items() if k != "SLURM_TIME_FORMAT"}
    as_nobody = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    with subprocess.Popen(
        [
            *as_nobody,
            str(PROGRAM),
            "-s",
            "openapi/v0.0.38",
            "-a",
            "rest_auth/local",
            f"unix:{socket}",
        ],
        env=environment,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            rest = answering(socket)
            machine, (waiting, left_out) = rest.machine(), rest.jobs()
        finally:
            process.kill()
    assert rest.version == "0.0.38"
    answer = model.read_node_list(cluster.run(*model.NODES_COMMAND))
    assert {name: node.works for name, node in machine.nodes.items()} == {
        name: node.works for name, node in answer.items()
    }
    partitions = model.read_partitions(cluster.run(*model.PARTITIONS_COMMAND))
    assert machine.partitions["main"].nodes == partitions["main"].nodes
    assert machine.reservations == []
    asked, _ = jobs.read_jobs(cluster.run("squeue", "--json"))
    assert (waiting, left_out) == (asked, []) and len(waiting) == 1


def answering(socket: os.PathLike[str]) -> Slurmrestd:
    """Once it listens."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return Slurmrestd(socket)
        except ClusterError:
            assert time.monotonic() < deadline
            time.sleep(0.1)
