"""How ranks carry out MPI's collectives: which algorithm for which operation."""

from __future__ import annotations

from odonata import names

ALGORITHMS: dict[str, tuple[str, ...]] = {
    operation: tuple(getattr(names, f"{own.upper().replace('-', '_')}_ALGORITHM"))
    for operation in names.OPERATION
    for own in [operation.removeprefix("exclusive-")]
}
"""Algorithms of each operation, in the order of the engine's codes of those."""
