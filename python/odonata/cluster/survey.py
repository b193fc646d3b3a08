"""Asks Slurm for a whole cluster: machine, jobs, topology."""

from __future__ import annotations

from odonata.cluster import jobs as cluster_jobs
from odonata.cluster import model, slurm
from odonata.cluster.nodes import Topology, read_topology
from odonata.cluster.places import TOPOLOGY_COMMAND


def ask_machine(timeout_s: float = slurm.TIMEOUT_S) -> model.Machine:
    """Nodes, partitions and reservations of the cluster here.

    Raises:
        ClusterError: If Slurm does not answer, or nobody can read what it says.
    """
    return model.Machine(
        model.read_node_list(slurm.ask(model.NODES_COMMAND, timeout_s)),
        model.read_partitions(slurm.ask(model.PARTITIONS_COMMAND, timeout_s)),
        model.read_reservations(slurm.ask(model.RESERVATIONS_COMMAND, timeout_s)),
    )


def ask_jobs(timeout_s: float = slurm.TIMEOUT_S) -> tuple[list[cluster_jobs.Job], int]:
    """Jobs that wait or run, and how many records made no sense.

    Raises:
        ClusterError: If Slurm does not answer.
    """
    answer = slurm.ask(cluster_jobs.command(), timeout_s, environment=cluster_jobs.ENVIRONMENT)
    return cluster_jobs.read_jobs(answer)


def ask_topology(timeout_s: float = slurm.TIMEOUT_S) -> Topology:
    """The topology that Slurm itself knows.

    Raises:
        ClusterError: If it knows none, or does not answer.
    """
    return read_topology(slurm.ask(TOPOLOGY_COMMAND, timeout_s), "scontrol show topology")
