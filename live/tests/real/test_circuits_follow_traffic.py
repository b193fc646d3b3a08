"""`odonata control follow` on real switches: circuits follow traffic, and nothing is lost."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from pathlib import Path

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


def looks(follower: subprocess.Popen[str], count: int) -> list[dict[str, object]]:
    """The next rounds that a command tells of."""
    assert follower.stdout is not None
    found: list[dict[str, object]] = []
    text = ""
    while len(found) < count:
        line = follower.stdout.readline()
        assert line, text
        text += line
        if line == "}\n":
            found.append(json.loads(text))
            text = ""
    return found


def test_circuits_follow_traffic_within_two_periods(switches_available: None) -> None:
    """First the nodes of groups 0 and 1 send to each other, then those of 0 and 2. Of four circuits
    three join the two that send and one keeps the third reachable, then at least two join the
    others."""
    with tempfile.TemporaryDirectory(prefix="odonata-follow-") as name:
        machine = Dragonfly(Path(name), links=2)
        try:
            plant = machine.plant
            with Controller(plant) as control:
                control.set_circuits(1, plant.for_nodes(1, NODES))
            assert joined(plant) == {(0, 1): 1, (0, 2): 1, (1, 2): 2}
            follower = subprocess.Popen(
                [
                    *(*CLI, "control", "follow", name + "/plant.toml", "--job", "1"),
                    *("--hosts", "n[0-5]", "--every", "2 s", "--rounds", "30", "--json"),
                ],
                stdout=subprocess.PIPE,
                text=True,
            )
            (first,) = looks(follower, 1)
            assert first["why"] == "first look"
            # All the time a packet every 5 ms between all groups, whose circuits come and go.
            watchers = [machine.echoes(*pair, 4000) for pair in (("n1", "n5"), ("n3", "n5"))]
            busy = machine.echoes("n0", "n2", 1200, 1400)
            rounds = looks(follower, 2)
            assert joined(plant)[0, 1] == 3, rounds
            busy.wait(timeout=60)
            later = machine.echoes("n0", "n4", 2000, 1400)
            # The look that the change of traffic fell into may still count the old one.
            rounds += looks(follower, 3)
            assert joined(plant)[0, 2] >= 2, rounds
            assert [r["why"] for r in rounds].count("changed") >= 2
            for process in (busy, later, *watchers):
                said, _ = process.communicate(timeout=120)
                assert re.search(r", 0% packet loss", said), said
            follower.terminate()
            follower.communicate(timeout=60)
            assert follower.returncode == 0
        finally:
            machine.close()
