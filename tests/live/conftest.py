"""Fixtures of the tests with real components; each skips by name where its parts are missing."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from emulated_slurm import EmulatedSlurm, reason_to_skip


@pytest.fixture(scope="session")
def slurm_available() -> None:
    """Skips tests where no Slurm can be emulated, with the reason."""
    if reason := reason_to_skip():
        pytest.skip(reason)


@pytest.fixture
def slurm(slurm_available: None) -> Iterator[Callable[..., EmulatedSlurm]]:
    """Starts clusters, as `slurm(16, cores=2)`; they end with the test."""
    with ExitStack() as clusters:

        def start(*args: Any, **options: Any) -> EmulatedSlurm:
            return clusters.enter_context(EmulatedSlurm(*args, **options))

        yield start
