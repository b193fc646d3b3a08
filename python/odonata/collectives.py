"""How ranks carry out MPI's collectives: which algorithm for which operation."""

from __future__ import annotations

from typing import Any, Literal, get_args

from odonata.model import Bandwidth, PositiveSize, Table
from odonata.units import Size

Library = Literal["mpich", "open-mpi"]
"""Libraries whose rules can choose."""

Barrier = Literal["auto", "dissemination", "recursive-doubling", "tree", "linear"]
Broadcast = Literal[
    "auto",
    "linear",
    "binomial",
    "binomial-at-once",
    "binary",
    "split-binary",
    "chain",
    "knomial",
    "bine",
    "scatter-recursive-doubling",
    "scatter-ring",
]
Reduce = Literal["auto", "linear", "binomial", "binary", "chain", "knomial", "bine", "rabenseifner"]
Allreduce = Literal[
    "auto",
    "recursive-doubling",
    "rabenseifner",
    "ring",
    "segmented-ring",
    "bine",
    "bine-latency",
    "reduce-broadcast",
]
Gather = Literal["auto", "linear", "binomial"]
Allgather = Literal[
    "auto",
    "bruck",
    "k-bruck",
    "sparbit",
    "bine",
    "ring",
    "recursive-doubling",
    "neighbour-exchange",
    "gather-broadcast",
]
Alltoall = Literal["auto", "bruck", "pairwise", "linear", "scattered", "hierarchical"]
Alltoallv = Literal["auto", "pairwise", "linear", "scattered"]
ReduceScatter = Literal["auto", "recursive-halving", "pairwise", "ring", "bine"]
Scan = Literal["auto", "recursive-doubling", "linear"]

Operation = Literal[
    "barrier",
    "broadcast",
    "reduce",
    "allreduce",
    "gather",
    "scatter",
    "allgather",
    "alltoall",
    "reduce-scatter",
    "scan",
    "exclusive-scan",
]
"""Collectives that a motif can consist of, in the order of the engine's codes."""

ALGORITHMS: dict[str, tuple[str, ...]] = {
    "barrier": get_args(Barrier),
    "broadcast": get_args(Broadcast),
    "reduce": get_args(Reduce),
    "allreduce": get_args(Allreduce),
    "gather": get_args(Gather),
    "scatter": get_args(Gather),
    "allgather": get_args(Allgather),
    "alltoall": get_args(Alltoall),
    "reduce-scatter": get_args(ReduceScatter),
    "scan": get_args(Scan),
    "exclusive-scan": get_args(Scan),
}
"""Algorithms of each operation."""

ROOTED = ("broadcast", "reduce", "gather", "scatter")
"""Operations with a root."""


class Collectives(Table):
    """By which algorithms ranks carry out collectives.

    `auto` leaves the choice to the rules of the library, by size and number of ranks.
    """

    library: Library = "mpich"
    """Whose rules choose where no algorithm is named: those of MPICH 4 or of Open MPI 1.3 to
    4.0."""
    combine_bandwidth: Bandwidth | None = None
    """Rate at which a rank combines what it receives with its own, in reductions and scans.
    Default: combining takes no time."""
    segment: PositiveSize = Size("32 KiB")
    """Size of the segments in which `chain`, `binary` and `split-binary` send, where they are
    named; a library that chooses them chooses the size, too."""
    barrier: Barrier = "auto"
    """Algorithm of barriers."""
    broadcast: Broadcast = "auto"
    """Algorithm of broadcasts."""
    reduce: Reduce = "auto"
    """Algorithm of reductions."""
    allreduce: Allreduce = "auto"
    """Algorithm of all-reductions; `reduce-broadcast` takes those of `reduce` and `broadcast`."""
    gather: Gather = "auto"
    """Algorithm of gathers. With sizes of their own they are always linear."""
    scatter: Gather = "auto"
    """Algorithm of scatters. With sizes of their own they are always linear."""
    allgather: Allgather = "auto"
    """Algorithm of all-gathers."""
    alltoall: Alltoall = "auto"
    """Algorithm of all-to-alls; `hierarchical` follows the groups of the network where all ranks
    of a job take part, and leaves the choice to the library where only some do and in traces."""
    alltoallv: Alltoallv = "auto"
    """Algorithm of all-to-alls with sizes of their own."""
    reduce_scatter: ReduceScatter = "auto"
    """Algorithm of reduce-scatters."""
    scan: Scan = "auto"
    """Algorithm of scans, exclusive ones too."""

    def normalised(self) -> dict[str, Any]:
        """The engine's form."""
        combine = self.combine_bandwidth
        operations = (*ALGORITHMS, "alltoallv")
        named = {
            operation: getattr(self, operation.replace("-", "_"))
            for operation in operations
            if operation != "exclusive-scan"
        }
        return {
            "family": self.library,
            "combine_bandwidth_bytes_per_s": None if combine is None else int(combine),
            "segment_bytes": int(self.segment),
            "algorithms": {operation: name for operation, name in named.items() if name != "auto"},
        }
