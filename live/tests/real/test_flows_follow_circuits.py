"""TAGO's routes as flow entries of real switches, on circuits of real switches."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest

from emulated_dragonfly import NODES, Dragonfly
from odonata_live.control import Controller
from odonata_live.control.drivers.openflow import OpenFlow


@pytest.fixture
def dragonfly(switches_available: None) -> Iterator[Dragonfly]:
    with tempfile.TemporaryDirectory(prefix="odonata-flows-") as name:
        machine = Dragonfly(Path(name))
        try:
            yield machine
        finally:
            machine.close()


def test_entries_of_routers_follow_the_circuits_of_jobs(dragonfly: Dragonfly) -> None:
    plant = dragonfly.plant
    routers = OpenFlow(60, 20, None)
    with Controller(plant) as control:
        control.set_circuits(1, plant.for_nodes(1, NODES[:4]))
    assert dragonfly.follow(routers, NODES[:4]) > 0
    # Within groups 0 and 1 and between them, by circuits.
    assert all(dragonfly.passes(*pair) for pair in permutations(NODES[:4], 2))
    assert dragonfly.is_lost("n0", "n4")
    assert dragonfly.follow(routers, NODES[:4]) == 0
    with Controller(plant) as control:
        control.give_back(1)
        control.set_circuits(2, plant.for_nodes(2, NODES[2:]))
    dragonfly.follow(routers, NODES[2:])
    assert all(dragonfly.passes(*pair) for pair in permutations(NODES[2:], 2))
    assert dragonfly.is_lost("n0", "n2")
    routers.close()
