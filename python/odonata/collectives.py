"""How ranks carry out MPI's collectives: which algorithm for which operation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from odonata import names
from odonata.model import Bandwidth, PositiveSize, Table
from odonata.normal_form import LATER, InEngine
from odonata.units import Size

ALGORITHMS: dict[str, tuple[str, ...]] = {
    operation: tuple(getattr(names, f"{own.upper().replace('-', '_')}_ALGORITHM"))
    for operation in names.OPERATION
    for own in [operation.removeprefix("exclusive-")]
}
"""Algorithms of each operation, in the order of the engine's codes of those."""

ROOTED = tuple(one for one, keys in names.OPERATION_OPTIONS.items() if "root" in keys)
"""Operations with a root."""


def _of(operation: str) -> InEngine:
    """The algorithm of an operation, in the engine's form."""
    return InEngine(operation, within="algorithms")


class Collectives(Table):
    """By which algorithms ranks carry out collectives.

    `auto` leaves the choice to the rules of the library, by size and number of ranks.
    """

    library: Annotated[names.Library, InEngine("family")] = "mpich"
    """Whose rules choose where no algorithm is named: those of MPICH 4 or of Open MPI 1.3 to
    4.0."""
    combine_bandwidth: Bandwidth | None = None
    """Rate at which a rank combines what it receives with its own, in reductions and scans.
    Default: combining takes no time."""
    segment: PositiveSize = Size("32 KiB")
    """Size of the segments in which `chain`, `binary` and `split-binary` send, where they are
    named; a library that chooses them chooses the size, too."""
    barrier: Annotated[names.BarrierAlgorithm, LATER, _of("barrier")] = "auto"
    """Algorithm of barriers."""
    broadcast: Annotated[names.BroadcastAlgorithm, LATER, _of("broadcast")] = "auto"
    """Algorithm of broadcasts."""
    reduce: Annotated[names.ReduceAlgorithm, LATER, _of("reduce")] = "auto"
    """Algorithm of reductions."""
    allreduce: Annotated[names.AllreduceAlgorithm, LATER, _of("allreduce")] = "auto"
    """Algorithm of all-reductions; `reduce-broadcast` takes those of `reduce` and `broadcast`."""
    gather: Annotated[names.GatherAlgorithm, LATER, _of("gather")] = "auto"
    """Algorithm of gathers. With sizes of their own they are always linear."""
    scatter: Annotated[names.ScatterAlgorithm, LATER, _of("scatter")] = "auto"
    """Algorithm of scatters. With sizes of their own they are always linear."""
    allgather: Annotated[names.AllgatherAlgorithm, LATER, _of("allgather")] = "auto"
    """Algorithm of all-gathers."""
    alltoall: Annotated[names.AlltoallAlgorithm, LATER, _of("alltoall")] = "auto"
    """Algorithm of all-to-alls; `hierarchical` follows the groups of the network where all ranks
    of a job take part, and leaves the choice to the library where only some do and in traces."""
    alltoallv: Annotated[names.AlltoallvAlgorithm, LATER, _of("alltoallv")] = "auto"
    """Algorithm of all-to-alls with sizes of their own."""
    reduce_scatter: Annotated[names.ReduceScatterAlgorithm, LATER, _of("reduce-scatter")] = "auto"
    """Algorithm of reduce-scatters."""
    scan: Annotated[names.ScanAlgorithm, LATER, _of("scan")] = "auto"
    """Algorithm of scans, exclusive ones too."""

    def engine_form(self, directory: Path = Path()) -> dict[str, Any]:
        """The engine's form."""
        return {"algorithms": {}, **super().engine_form(directory)}
