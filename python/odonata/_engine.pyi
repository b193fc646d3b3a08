"""The engine, written in Rust (``crates/python``). Scenarios come normalised, as JSON."""

from collections.abc import Callable
from typing import Any

__version__: str

class SpecError(Exception):
    """A scenario that cannot be run. Arguments: path of the key, message."""

class SimulationError(Exception):
    """A simulation that stands still, such as a deadlock."""

_Report = Callable[[dict[str, Any]], object] | None

def run(scenario: str, progress: _Report = None) -> dict[str, Any]:
    """Simulates; returns ``meta`` and one dict of arrays per table."""

def topology(scenario: str) -> dict[str, Any]:
    """``description`` (plain figures) and the wiring as arrays."""

def verify(scenario: str) -> dict[str, Any]:
    """Whether the channel dependency graph is free of cycles, or a cycle."""

def export(scenario: str, format: str, path: str) -> None:
    """Writes the wiring as ``graphml`` or ``edge-list``."""

def bench(
    nodes: int, routing: str, load: float, threads: int, seed: int, progress: _Report = None
) -> dict[str, Any]:
    """Measures the engine's speed on a reference machine."""
