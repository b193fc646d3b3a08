"""Switches and journals that fail or kill at any step, for tests of circuits."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from odonata.errors import DeviceError
from odonata_live.control import Connection, Controller, Driver, Journal, Plant, Switch
from odonata_live.control.circuits import Connections


class KilledError(BaseException):
    """Stands for kill −9: nothing after it is done, and nobody catches it."""


class Faults:
    """Counts points at which something may go wrong, and lets the chosen one.

    Attributes:
        at: Number of the point, from 1; 0 for none.
        kind: `kill`, or `refuse`.
        gone: Switches that answer nothing.
        seen: Points passed.
        watch: Called after everything that a switch did.
    """

    def __init__(self, at: int = 0, kind: str = "kill") -> None:
        self.at = at
        self.kind = kind
        self.gone: set[str] = set()
        self.seen = 0
        self.watch: Callable[[], None] = lambda: None

    def point(self, *, refusable: bool = True) -> None:
        """A point."""
        self.seen += 1
        if self.seen != self.at:
            return
        if self.kind == "kill":
            raise KilledError
        if refusable:
            raise DeviceError("refused by the test")


class FaultyDriver:
    """A driver whose every call has points before it, in its middle and after it."""

    def __init__(self, driver: Driver, faults: Faults) -> None:
        self.driver = driver
        self.faults = faults
        self.keeps_jobs = driver.keeps_jobs

    def _answer(self, switch: Switch) -> None:
        if switch.name in self.faults.gone:
            raise DeviceError(f"switch {switch.name} is gone")
        self.faults.point()

    def read(self, switch: Switch) -> Connections:
        self._answer(switch)
        return self.driver.read(switch)

    def make(self, switch: Switch, connections: Sequence[Connection]) -> None:
        self._each(self.driver.make, switch, connections)

    def break_(self, switch: Switch, connections: Sequence[Connection]) -> None:
        self._each(self.driver.break_, switch, connections)

    def _each(self, act: Any, switch: Switch, connections: Sequence[Connection]) -> None:
        for connection in connections:
            self._answer(switch)
            act(switch, [connection])
            self.faults.watch()
        self._answer(switch)

    def barrier(self, switch: Switch) -> None:
        self._answer(switch)
        self.driver.barrier(switch)

    def close(self) -> None:
        self.driver.close()


class FaultyJournal(Journal):
    """A journal with points before and after everything that it writes."""

    faults: Faults

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        self.faults.point(refusable=False)
        with super().transaction():
            yield
            self.faults.point(refusable=False)
        self.faults.point(refusable=False)


@contextlib.contextmanager
def controller(plant: Plant, faults: Faults | None = None) -> Iterator[Controller]:
    """A controller; with faults it and its journal have them."""
    if faults is None:
        with Controller(plant) as whole:
            yield whole
        return
    with Controller(plant, wrap=lambda driver: FaultyDriver(driver, faults)) as faulty:
        faulty.journal.close()
        faulty.journal = FaultyJournal.__new__(FaultyJournal)
        faulty.journal.faults = Faults()
        faulty.journal.__init__(plant.store, create=True)  # type: ignore[misc]
        faulty.journal.faults = faults
        yield faulty


#: A driver of a site's own, whose switches do not keep who owns what.
BLIND = """
from dataclasses import replace
from pathlib import Path

from odonata_live.control.drivers.recorder import Recorder


class Blind(Recorder):
    keeps_jobs = False

    def read(self, switch):
        return frozenset(replace(connection, job=0) for connection in super().read(switch))


def driver(keys, lock):
    assert lock > 0
    return Blind(Path(keys["where"]))
"""


def write_plant(
    directory: Path, switches: int, ports: int, *, one_way: bool, blind: bool = False
) -> Plant:
    """A plant of recorders; blind ones are in the package `site_switches` beside it."""
    rows = [
        f'[[switch]]\nname = "s{n}"\ndriver = "files"\nports = {ports}\n'
        f"one_way = {str(one_way).lower()}\n"
        for n in range(switches)
    ]
    file = directory / "plant.toml"
    kind = 'kind = "recorder"\n'
    if blind:
        kind = f'kind = "site_switches.blind"\nwhere = "{directory}"\n'
    file.write_text(f'store = "circuits.sqlite"\n[driver.files]\n{kind}' + "".join(rows))
    return Plant.from_file(file)


def random_circuits(
    draw: random.Random, plant: Plant, free: dict[str, tuple[set[int], set[int]]]
) -> list[tuple[str, int, int]]:
    """Circuits at ports that are free on either side, a part of them on every switch."""
    found = []
    for name, switch in plant.switches.items():
        ingress, egress = (sorted(side) for side in free[name])
        if not switch.one_way:
            ports = sorted(set(ingress) & set(egress))
            draw.shuffle(ports)
            pairs = list(zip(ports[::2], ports[1::2], strict=False))
        else:
            draw.shuffle(egress)
            pairs = list(zip(ingress, egress, strict=False))
        found += [(name, *pair) for pair in pairs if draw.random() < 0.6]
    return found


def free_ports(plant: Plant, held: dict[str, Connections]) -> dict[str, tuple[set[int], set[int]]]:
    """Ports of every switch that no job has."""
    free = {}
    for name, switch in plant.switches.items():
        owned = [c for c in held[name] if c.job]
        free[name] = (
            set(range(switch.ports)) - {c.ingress for c in owned},
            set(range(switch.ports)) - {c.egress for c in owned},
        )
    return free
