"""What benchmarks and MPI libraries call collectives and their algorithms, and what we do."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from odonata.collectives import ALGORITHMS
from odonata.errors import MachineError

#: Operations that are predicted, by the names that MPI and benchmarks have for them.
OPERATIONS = {
    "allreduce": "allreduce",
    "allgather": "allgather",
    "alltoall": "alltoall",
    "bcast": "broadcast",
    "broadcast": "broadcast",
    "gather": "gather",
    "reduce": "reduce",
    "reduce_scatter": "reduce-scatter",
    "reduce-scatter": "reduce-scatter",
    "reduce_scatter_block": "reduce-scatter",
    "scatter": "scatter",
}

#: Our algorithm for the name that PICO's measurements and Open MPI's and MPICH's switches have,
#: where the rounds, partners and sizes of messages are the same, or differ by the one message that
#: is said. What is not here (Fujitsu's own algorithms, those over several interfaces, those that
#: know which ranks share a node) is not simulated.
_MEASURED = {
    "allreduce": {
        "linear": "reduce-broadcast",
        "nonoverlapping": "reduce-broadcast",
        "non_overlapping": "reduce-broadcast",
        "recursive_doubling": "recursive-doubling",
        "ring": "ring",
        "ring_segmented": "segmented-ring",
        "segmented_ring": "segmented-ring",
        "rabenseifner": "rabenseifner",
        "reduce_scatter_allgather": "rabenseifner",
        # So in the Open MPI that PICO had changed, by the notes of its metadata; Open MPI 5's own
        # of that name collects all vectors and combines them.
        "allgather_reduce": "rabenseifner",
        "bine_lat": "bine-latency",
        "bine_bdw_remap": "bine",
        "bine_bdw_static": "bine",
        "bine_bdw_remap_segmented": "bine-segmented",
        "bine_block_by_block": "bine-blocks",
        "bine_block_by_block_any_even": "bine-blocks",
    },
    "allgather": {
        "linear": "gather-broadcast",
        "recursive_doubling": "recursive-doubling",
        "ring": "ring",
        "neighbor": "neighbour-exchange",
        "neighbour": "neighbour-exchange",
        "bruck": "bruck",
        "brucks": "bruck",
        "k_bruck": "k-bruck",
        "k_brucks": "k-bruck",
        "two_proc": "recursive-doubling",
        "sparbit": "sparbit",
        "bine_send_remap": "bine",
        "bine_send_static": "bine",
        # These bring blocks into order by copies (`_IN_ORDER`) instead of a message of one block.
        "bine_permutation": "bine",
        "bine_permute_remap": "bine",
        "bine_permute_static": "bine",
        "bine_2_blocks": "bine-two-blocks",
        "bine_2_blocks_dtype": "bine-two-blocks",
        "bine_block_by_block": "bine-blocks",
        "bine_block_by_block_over_any_even": "bine-blocks",
        "bine_block_by_block_any_even": "bine-blocks",
    },
    "alltoall": {
        "linear": "linear",
        "linear_sync": "linear",
        "pairwise": "pairwise",
        "pairwise_sendrecv_replace": "pairwise",
        "pairwise_ompi": "pairwise",
        "two_proc": "pairwise",
        "scattered": "scattered",
        "modified_bruck": "bruck",
        "bruck": "bruck",
        "brucks": "bruck",
        "bine": "bine",
    },
    "broadcast": {
        "linear": "linear",
        "basic_linear": "linear",
        "binomial": "binomial",
        "binary": "binary",
        "binary_tree": "binary",
        "chain": "chain",
        "pipeline": "chain",
        "knomial": "knomial",
        "split_binary": "split-binary",
        "split_binary_tree": "split-binary",
        "scatter_allgather": "scatter-recursive-doubling",
        "scatter_recursive_doubling_allgather": "scatter-recursive-doubling",
        "scatter_allgather_ring": "scatter-ring",
        "scatter_ring_allgather": "scatter-ring",
        "bine_lat": "bine-near-at-once",
        "bine_lat_new": "bine",
        "bine_lat_i_new": "bine-at-once",
        "bine_lat_reversed": "bine-at-once",
        "bine_bdw_remap": "bine-scatter-allgather",
        "bine_bdw_static": "bine-scatter-allgather",
    },
    "reduce": {
        "linear": "linear",
        "binomial": "binomial",
        "binary": "binary",
        "chain": "chain",
        "pipeline": "chain",
        "knomial": "knomial",
        "in_order": "in-order-binary",
        "in_order_binary": "in-order-binary",
        "rabenseifner": "rabenseifner",
        "reduce_scatter_gather": "rabenseifner",
        "bine_lat": "bine",
        "bine_bdw": "bine-scatter-gather",
    },
    "gather": {
        "linear": "linear",
        "basic_linear": "linear",
        "simple": "linear",
        "binomial": "binomial",
        "linear_sync": "linear-sync",
        "linear_synch": "linear-sync",
        "bine": "bine",
    },
    "scatter": {
        "linear": "linear",
        "linear_nb": "linear",
        "basic_linear": "linear",
        "binomial": "binomial",
        "bine": "bine",
    },
    "reduce-scatter": {
        "nonoverlapping": "reduce-scatter",
        "non_overlapping": "reduce-scatter",
        "recursive_halving": "recursive-halving",
        "recursive_doubling": "recursive-doubling",
        "recursive_distance_doubling": "butterfly",
        "butterfly": "butterfly",
        "non_commutative": "butterfly",
        "noncommutative": "butterfly",
        "ring": "ring",
        "pairwise": "pairwise",
        "bine_send_remap": "bine",
        "bine_static": "bine",
        # As above.
        "bine_permute_remap": "bine",
        "bine_block_by_block": "bine-blocks",
        "bine_block_by_block_any_even": "bine-blocks",
    },
}

#: Algorithms of the library that PICO's measurements of Fugaku name by family, algorithm, layer,
#: bytes of segments and number of interfaces (github.com/HLC-Lab, `libswing`), over one interface
#: and without segments. Partners are the same, in the order of the torus's dimensions. Its Bine
#: algorithms count their distances within each dimension, which is not simulated.
_OF_TORI = {
    ("allreduce", "RECDOUB-L"): "recursive-doubling",
    ("allreduce", "RECDOUB-B_CONT"): "rabenseifner",
    ("alltoall", "BRUCK-LOG"): "bruck",
}
_OF_TORI_NAME = re.compile(r"(?P<algorithm>[A-Z]+-[A-Z_-]+)-(MPI|UTOFU)-0-1")

#: What Open MPI and the libraries that descend from it do by these names (`coll_base_bcast.c`,
#: `coll_base_reduce.c`, `coll_base_gather.c`, `coll_base_scatter.c`, `coll_base_topo.c`, the same
#: from 4.0 on): trees send to all children at once and receive from two of them at a time, chains
#: are four, and linear gathers and scatters serve one rank after the other.
_OPEN_MPI = {
    ("broadcast", "binomial"): "binomial-at-once",
    ("broadcast", "chain"): "chains",
    ("reduce", "binomial"): "binomial-overlapped",
    ("reduce", "chain"): "chains",
    ("gather", "linear"): "linear-in-turn",
    ("gather", "basic_linear"): "linear-in-turn",
    ("scatter", "linear"): "linear-in-turn",
    ("scatter", "basic_linear"): "linear-in-turn",
}

#: Bytes of the segments that Fujitsu's MPI has sent in where it chose the algorithm itself (the
#: records of its choices in PICO's results of Fugaku).
_FUJITSU_SEGMENTS = {("reduce", "in_order_binary"): 65_536}

#: Names whose messages are those of another algorithm but for one, or that pack and unpack what
#: they send: predicted as that, but nothing is calibrated to them.
_NEARLY = {
    "allgather_reduce",
    "bine_2_blocks_dtype",
    "bine_permutation",
    "bine_permute_remap",
    "bine_permute_static",
}

#: Allgathers whose blocks are brought into order in place, each copied once (`reorder_blocks` of
#: PICO's library). Reduce-scatters so named order them where they copy their input anyway.
_IN_ORDER = {"bine_permutation", "bine_permute_remap", "bine_permute_static"}

#: Who carries an algorithm out, by the end of its measured name.
_LIBRARIES = {"ompi": "open-mpi", "mpich": "mpich", "over": "point-to-point", "fjmpi": "fujitsu"}

#: Algorithms that are defined for a power of two of ranks alone, or go otherwise for others
#: (MPICH's reduce-scatter); others fold or go on with blocks.
POWER_OF_TWO = {("allgather", "recursive-doubling"), ("reduce-scatter", "recursive-doubling")}


@dataclass(frozen=True)
class Measured:
    """What a measured name means.

    Attributes:
        algorithm: Ours, ``auto`` for the choice of a library, or ``None`` if it is not simulated.
        library: Who carries it out: ``open-mpi``, ``mpich``, ``point-to-point`` (the benchmark
            itself, over sends and receives), ``fujitsu``, or nothing if the name does not say.
        segment: Bytes of the segments that it sends in, where the name says so.
        exact: Whether all of its messages are those of that algorithm.
        copies: How often ranks copy the vector besides.
    """

    algorithm: str | None
    library: str
    segment: int | None = None
    exact: bool = True
    copies: float = 0.0


def measured_name(operation: str, name: str) -> Measured:
    """What a benchmark's name for an algorithm means.

    Args:
        operation: Ours.
        name: Such as ``ring_ompi``, ``recursive_doubling_over`` or ``default-binomial``.
    """
    text, library = name, ""
    if of_tori := _OF_TORI_NAME.fullmatch(name):
        ours = _OF_TORI.get((operation, of_tori["algorithm"]))
        return Measured(ours, "point-to-point", exact=False)
    if text.startswith("default-"):  # those of Fujitsu's MPI, on Fugaku
        text, library = text.removeprefix("default-"), "fujitsu"
        if text == "default":
            return Measured("auto", library)
    text = text.lower().replace("-", "_")
    stem, _, end = text.rpartition("_")
    segment = None
    if "_segmented_" in text and end.isdecimal() and int(end) > 0:
        text, segment = stem, int(end)
        stem, _, end = text.rpartition("_")
    if stem and end in _LIBRARIES:
        text, library = stem, _LIBRARIES[end]
    if text in ("default", "non_blocking", "smp"):
        return Measured("auto", library)
    if (operation, text) in _OPEN_MPI and library in ("open-mpi", "fujitsu"):
        return Measured(_OPEN_MPI[operation, text], library)
    if (operation, text, library) == ("allgather", "k_bruck", "point-to-point"):
        # PICO's has two as its radix; Open MPI 5's own four.
        return Measured("bruck", library)
    found = _MEASURED.get(operation, {}).get(text)
    if library == "fujitsu":
        segment = _FUJITSU_SEGMENTS.get((operation, text))
    copies = 1.0 if operation == "allgather" and text in _IN_ORDER else 0.0
    return Measured(found, library, segment, text not in _NEARLY, copies)


def operation_of(name: str) -> str:
    """Our operation for the name of a collective.

    Raises:
        MachineError: If none is predicted by that name.
    """
    found = OPERATIONS.get(name.strip().lower())
    if found is None:
        near = difflib.get_close_matches(name.lower(), OPERATIONS, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        allowed = ", ".join(sorted(set(OPERATIONS.values())))
        raise MachineError(f'collective: found "{name}"; allowed: {allowed}{hint}')
    return found


def algorithms_of(operation: str) -> list[str]:
    """Our algorithms of an operation, without ``auto``."""
    return [name for name in ALGORITHMS[operation] if name != "auto"]


def algorithm_of(operation: str, name: str) -> str:
    """Our algorithm for a name, ours or a benchmark's; ``auto`` for the choice of the library.

    Raises:
        MachineError: If the operation has none of that name.
    """
    plain = name.strip()
    if plain.lower() in ALGORITHMS[operation]:
        return plain.lower()
    meaning = measured_name(operation, plain)
    if meaning.algorithm is not None:
        return meaning.algorithm
    hyphened = re.sub(r"_(ompi|mpich|over)$", "", plain.lower()).replace("_", "-")
    if hyphened in ALGORITHMS[operation]:
        return hyphened
    near = difflib.get_close_matches(hyphened, ALGORITHMS[operation], n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    allowed = ", ".join(algorithms_of(operation))
    raise MachineError(
        f'algorithm: found "{name}", which is none of {operation} that is simulated; allowed: '
        f"{allowed}, or the name that a benchmark has for one of them, such as "
        f"{next(iter(_MEASURED[operation]))}_ompi{hint}"
    )
