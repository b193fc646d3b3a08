"""Clusters in use: what Slurm says of them, and what that means for their network."""

from odonata.cluster.model import read_nodes
from odonata.cluster.nodes import Topology
from odonata.cluster.queue import QueuedJob, read_queue
from odonata.cluster.topologies import read_topology
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
