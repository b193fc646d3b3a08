"""Asks Slurm for a whole cluster: machine, jobs, topology."""

from __future__ import annotations

from collections.abc import Sequence

from odonata.errors import ClusterError
from odonata_live.cluster import jobs as cluster_jobs
from odonata_live.cluster import model, slurm
from odonata_live.cluster.nodes import Topology
from odonata_live.cluster.places import TOPOLOGY_COMMAND
from odonata_live.cluster.topologies import read_topology


def ask_machine(
    timeout_s: float = slurm.TIMEOUT_S, left_out: model.LeftOut | None = None
) -> model.Machine:
    """Nodes, partitions and reservations of the cluster here.

    Args:
        timeout_s: For each question.
        left_out: Is told of records that make no sense; by default they are errors.

    Raises:
        ClusterError: If Slurm does not answer, or nobody can read what it says.
    """
    nodes = slurm.ask(model.NODES_COMMAND, timeout_s)
    partitions = slurm.ask(model.PARTITIONS_COMMAND, timeout_s)
    reservations = slurm.ask(model.RESERVATIONS_COMMAND, timeout_s)
    return model.Machine(
        model.read_node_list(nodes, left_out=left_out),
        model.read_partitions(partitions, left_out=left_out),
        model.read_reservations(reservations, left_out=left_out),
    )


def ask_jobs(
    timeout_s: float = slurm.TIMEOUT_S, ids: Sequence[str] = (), *, ended: bool = False
) -> tuple[list[cluster_jobs.Job], list[cluster_jobs.LeftOut]]:
    """Jobs that wait or run, and the records that made no sense.

    Args:
        timeout_s: For the question.
        ids: Only these, tasks of arrays each by itself; none where Slurm knows none of them.
        ended: With those that have ended and that Slurm still knows.

    Raises:
        ClusterError: If Slurm does not answer.
    """
    try:
        answer = slurm.ask(
            cluster_jobs.command(ids, ended=ended), timeout_s, environment=cluster_jobs.ENVIRONMENT
        )
    except ClusterError as error:
        # Slurm prints nothing but an error where it has forgotten all of several jobs.
        if not ids or "Invalid job id" not in str(error):
            raise
        return [], []
    return cluster_jobs.read_jobs(answer)


def ask_topology(timeout_s: float = slurm.TIMEOUT_S) -> Topology:
    """The topology that Slurm itself knows.

    Raises:
        ClusterError: If it knows none, or does not answer.
    """
    return read_topology(slurm.ask(TOPOLOGY_COMMAND, timeout_s), "scontrol show topology")
