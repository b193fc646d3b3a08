"""`odonata control follow` on real switches: circuits follow traffic, and nothing is lost."""

from __future__ import annotations

import json
import queue
import re
import subprocess
import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from emulated_dragonfly import NODES, Dragonfly
from network_experiment import CLI
from odonata_live.control import Controller, Plant

#: Groups that the circuits of switches join, most first.
Joined = dict[tuple[int, int], int]


def joined(plant: Plant) -> Joined:
    """How many circuits join two groups."""
    with Controller(plant) as control:
        held = control.settings()
    found: Joined = {}
    for connections in held.values():
        for connection in connections:
            # A switch has one link of every group.
            one, other = connection.ends
            if one < other:
                found[one, other] = found.get((one, other), 0) + 1
    return found


class Follower:
    """`odonata control follow`, whose looks are read as they come; ended with the test."""

    def __init__(self, plant: Path) -> None:
        self.looks: queue.Queue[dict[str, Any]] = queue.Queue()
        self.process = subprocess.Popen(
            [
                *(*CLI, "control", "follow", str(plant), "--job", "1", "--hosts", "n[0-5]"),
                *("--every", "2 s", "--json"),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.looks.put(json.loads(line))

    def next(self) -> dict[str, Any]:
        """The next look."""
        return self.looks.get(timeout=60)

    def until(self, plant: Plant, follows: Callable[[Joined], bool]) -> list[dict[str, Any]]:
        """Looks up to the one after which circuits follow. Traffic that begins between two looks is
        a part of what the first one counts; two periods later at most circuits are there."""
        while not self.looks.empty():
            self.looks.get()
        found = []
        for _ in range(3):
            found.append(self.next())
            if follows(joined(plant)):
                return found
        raise AssertionError(f"{joined(plant)} after {found}")

    def end(self) -> int:
        self.process.terminate()
        code = self.process.wait(timeout=60)
        self.reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


def test_circuits_follow_traffic_within_two_periods(switches_available: None) -> None:
    """First the nodes of groups 0 and 1 send to each other, then those of 0 and 2. Of four circuits
    three join the two that send and one keeps the third reachable, then at least two join the
    others."""
    with tempfile.TemporaryDirectory(prefix="odonata-follow-") as name, ExitStack() as ends:
        machine = Dragonfly(Path(name), links=2)
        ends.callback(machine.close)
        plant = machine.plant
        with Controller(plant) as control:
            control.set_circuits(1, plant.for_nodes(1, NODES))
        assert joined(plant) == {(0, 1): 1, (0, 2): 1, (1, 2): 2}
        follower = Follower(Path(name) / "plant.toml")
        ends.callback(follower.end)
        assert follower.next()["why"] == "first look"

        def echoes(one: str, other: str, count: int, size: int = 56) -> subprocess.Popen[str]:
            process = machine.echoes(one, other, count, size)
            ends.callback(process.communicate)
            ends.callback(process.kill)
            return process

        # All the time a packet every 5 ms between all groups, whose circuits come and go.
        sent = [echoes(*pair, 4000) for pair in (("n1", "n5"), ("n3", "n5"))]
        sent.append(echoes("n0", "n2", 2000, 1400))
        follower.until(plant, lambda groups: groups.get((0, 1)) == 3)
        sent[-1].wait(timeout=120)
        sent.append(echoes("n0", "n4", 2000, 1400))
        follower.until(plant, lambda groups: groups.get((0, 2), 0) >= 2)
        for process in sent:
            assert process.stdout is not None
            process.wait(timeout=120)
            said = process.stdout.read()
            assert re.search(r", 0% packet loss", said), said
