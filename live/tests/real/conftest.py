"""Fixtures of the tests with real components; each skips by name where its parts are missing."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from emulated_network import Network, reason_to_skip_network
from emulated_slurm import EmulatedSlurm, reason_to_skip
from emulated_switches import reason_to_skip_switches


@pytest.fixture(scope="session")
def slurm_available() -> None:
    """Skips tests where no Slurm can be emulated, with the reason."""
    if reason := reason_to_skip():
        pytest.skip(reason)


@pytest.fixture(scope="session")
def switches_available() -> None:
    """Skips tests where no switches can be emulated, with the reason."""
    if reason := reason_to_skip_switches():
        pytest.skip(reason)


@pytest.fixture
def slurm(slurm_available: None) -> Iterator[Callable[..., EmulatedSlurm]]:
    """Starts clusters, as `slurm(16, cores=2)`; they end with the test."""
    with ExitStack() as clusters:

        def start(*args: Any, **options: Any) -> EmulatedSlurm:
            return clusters.enter_context(EmulatedSlurm(*args, **options))

        yield start


@pytest.fixture
def networked_slurm(slurm_available: None) -> Iterator[Callable[[Network], EmulatedSlurm]]:
    """Starts clusters whose nodes have a network each; they end with the test."""
    if reason := reason_to_skip_network():
        pytest.skip(reason)
    with ExitStack() as clusters:

        def start(network: Network) -> EmulatedSlurm:
            cluster = EmulatedSlurm(network.size, cores=2, network=network)
            return clusters.enter_context(cluster)

        yield start
