"""Clusters in use: what Slurm says of them, and what that means for their network."""

from odonata.cluster.nodes import Topology, read_nodes, read_topology
from odonata.cluster.queue import QueuedJob, read_queue
from odonata.cluster.utilisation import Utilisation, utilisation

__all__ = [
    "QueuedJob",
    "Topology",
    "Utilisation",
    "read_nodes",
    "read_queue",
    "read_topology",
    "utilisation",
]
