"""A small reconfigurable dragonfly: Open vSwitch as routers and as optical switches."""

from __future__ import annotations

import subprocess
from pathlib import Path

from emulated_fabric import End, Fabric
from odonata_live.control import Controller, Plant, Switch
from odonata_live.control.drivers.openflow import OpenFlow
from odonata_live.control.flows import set_ways

#: Three groups of two routers, with a node and some global links each; for every link of a group an
#: optical switch of three ports.
SCENARIO = """
title = "six nodes"
[network]
family = "reconfigurable-dragonfly"
p = 1
a = 2
h = {links}
g = 3
circuits = "jobs"
steering = "min-max"
"""
NODES = [f"n{n}" for n in range(6)]
ADDRESSES = {name: f"10.7.0.{n + 1}" for n, name in enumerate(NODES)}


class Dragonfly:
    """Bridges as routers and as optical switches, nodes in namespaces; up while the test runs.

    Args:
        directory: Where sockets, plant and scenario lie.
        links: Global links of a router.
    """

    def __init__(self, directory: Path, links: int = 1) -> None:
        self.directory = directory
        (directory / "machine.toml").write_text(SCENARIO.format(links=links))
        (directory / "hosts").write_text(
            "".join(f"{address} {name}\n" for name, address in ADDRESSES.items())
        )
        rows = "".join(
            f'[[{kind}]]\nname = "{kind[0]}{n}"\ndriver = "ovs"\n'
            f'at = "unix:{directory}/{kind[0]}{n}.mgmt"\n'
            for kind, count in (("optical", 2 * links), ("router", 6))
            for n in range(count)
        ).replace("[[optical]]", "[[switch]]")
        (directory / "plant.toml").write_text(
            'store = "circuits.sqlite"\nscenario = "machine.toml"\nnodes = "n[0-5]"\n'
            f'addresses = "hosts"\n[driver.ovs]\nkind = "openflow"\ntimeout = 60\n{rows}'
        )
        self.plant = Plant.from_file(directory / "plant.toml")
        self.fabric = Fabric(directory, ADDRESSES, *self._cables())

    def _cables(self) -> tuple[list[str], dict[End, End]]:
        network = self.plant.network
        assert network is not None
        # A router's ports: its node, the other router of its group, its global link.
        ends: dict[End, End] = {(f"r{n}", 0): (name, None) for n, name in enumerate(NODES)}
        ends |= {(f"r{n}", 1): (f"r{n + 1}", 1) for n in (0, 2, 4)}
        for switch, ports in enumerate(network.ingress):
            for port, (router, of_router) in enumerate(ports):
                ends[f"r{router}", of_router] = (f"o{switch}", port)
        switches = [f"o{n}" for n in range(len(network.ingress))]
        return [f"r{n}" for n in range(6)] + switches, ends

    def follow(self, routers: OpenFlow, nodes: list[str]) -> int:
        """Gives routers entries for the circuits that switches hold; how many are new."""
        network = self.plant.network
        assert network is not None
        with Controller(self.plant) as control:
            held = control.settings()
        pairs = [(one, other) for one in nodes for other in nodes if one != other]
        ways = network.ways([held[name] for name in self.plant.names], pairs)
        sessions = {
            number: routers.session(Switch(one.name, one.driver, 3, True, one.device))
            for number, one in enumerate(self.plant.routers)
        }
        return set_ways(sessions, ways, pairs, ADDRESSES)[0]

    def echoes(self, one: str, other: str, count: int, size: int = 56) -> subprocess.Popen[str]:
        """See :meth:`Fabric.echoes`."""
        return self.fabric.echoes(one, other, count, size)

    def passes(self, one: str, other: str) -> bool:
        """See :meth:`Fabric.passes`."""
        return self.fabric.passes(one, other)

    def is_lost(self, one: str, other: str) -> bool:
        """See :meth:`Fabric.is_lost`."""
        return self.fabric.is_lost(one, other)

    def close(self) -> None:
        """Ends every process."""
        self.fabric.close()
