"""Clusters in use: what Slurm says of them, and what that means for their network."""

from odonata_live.cluster.model import read_nodes
from odonata_live.cluster.nodes import Topology
from odonata_live.cluster.queue import QueuedJob, read_queue
from odonata_live.cluster.topologies import read_topology
from odonata_live.cluster.utilisation import Utilisation, utilisation

__all__ = [
    "QueuedJob",
    "Topology",
    "Utilisation",
    "read_nodes",
    "read_queue",
    "read_topology",
    "utilisation",
]
