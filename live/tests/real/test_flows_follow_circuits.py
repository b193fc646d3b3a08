"""TAGO's routes as flow entries of real switches, on circuits of real switches."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest

from emulated_switches import PATH, SPACES
from odonata_live.control import Controller, Plant, Switch
from odonata_live.control.drivers.openflow import OpenFlow
from odonata_live.control.flows import set_flows
from odonata_live.control.network import flows

#: Three groups of two routers, a node and a global link each; two optical switches of three ports.
SCENARIO = """
title = "six nodes"
[network]
family = "reconfigurable-dragonfly"
p = 1
a = 2
h = 1
g = 3
circuits = "jobs"
"""
NODES = [f"n{n}" for n in range(6)]
ADDRESSES = {name: f"10.7.0.{n + 1}" for n, name in enumerate(NODES)}
#: Address of every node, so that nobody has to ask.
MAC = "02:00:00:00:00:07"


class Dragonfly:
    """Bridges as routers and as optical switches, nodes in namespaces; up while the test runs."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        (directory / "machine.toml").write_text(SCENARIO)
        rows = "".join(
            f'[[switch]]\nname = "o{n}"\ndriver = "ovs"\nat = "unix:{directory}/o{n}.mgmt"\n'
            for n in range(2)
        )
        (directory / "plant.toml").write_text(
            'store = "circuits.sqlite"\nscenario = "machine.toml"\nnodes = "n[0-5]"\n'
            f'[driver.ovs]\nkind = "openflow"\ntimeout = 60\n{rows}'
        )
        self.plant = Plant.from_file(directory / "plant.toml")
        self.process = subprocess.Popen(
            [*SPACES, "sh", "-e", "-c", self._script()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self.environment,
        )
        assert self.process.stdout is not None
        said = []
        for line in self.process.stdout:
            if line == "ready\n":
                return
            said.append(line)
        raise RuntimeError("".join(said[-20:]))

    @property
    def environment(self) -> dict[str, str]:
        names = ("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR")
        return {**os.environ, "PATH": PATH, **dict.fromkeys(names, str(self.directory))}

    def _script(self) -> str:
        network = self.plant.network
        assert network is not None
        # A router's ports: its node, the other router of its group, its global link.
        ends = {(f"r{n}", 0): (name, "eth0") for n, name in enumerate(NODES)}
        ends |= {(f"r{n}", 1): (f"r{n + 1}", 1) for n in (0, 2, 4)}
        for switch, ports in enumerate(network.ingress):
            for port, (router, of_router) in enumerate(ports):
                ends[f"r{router}", of_router] = (f"o{switch}", port)
        links, add = [], ["ovs-vsctl"]
        for bridge in [f"r{n}" for n in range(6)] + ["o0", "o1"]:
            add += ["--", "add-br", bridge, "--", "set", "bridge", bridge]
            add += ["datapath_type=netdev", "protocols=OpenFlow13", "fail_mode=secure"]
        for (bridge, port), (other, at) in ends.items():
            one = f"{bridge}-{port}"
            if at == "eth0":
                links.append(f"link add {one} type veth peer name eth0 netns {other} address {MAC}")
            else:
                links.append(f"link add {one} type veth peer name {other}-{at}")
                links.append(f"link set {other}-{at} up")
                add += ["--", "add-port", other, f"{other}-{at}", "--", "set", "interface"]
                add += [f"{other}-{at}", f"ofport_request={int(at) + 1}"]
            links.append(f"link set {one} up")
            add += ["--", "add-port", bridge, one, "--", "set", "interface", one]
            add += [f"ofport_request={port + 1}"]
        here = self.directory
        steps = ["mkdir -p /run/netns", "mount -t tmpfs none /run/netns"]
        steps += [f"ip netns add {name}" for name in NODES]
        steps.append("ip -batch - <<'END'\n" + "\n".join(links) + "\nEND")
        for name in NODES:
            steps.append(f"ip -n {name} addr add {ADDRESSES[name]}/24 dev eth0")
            steps.append(f"ip -n {name} link set eth0 up")
            steps += [
                f"ip -n {name} neigh add {ADDRESSES[other]} lladdr {MAC} dev eth0 nud permanent"
                for other in NODES
                if other != name
            ]
        steps += [
            f"ovsdb-tool create {here}/conf.db /usr/share/openvswitch/vswitch.ovsschema",
            f"ovsdb-server {here}/conf.db --remote=punix:{here}/db.sock --pidfile --detach "
            "--log-file -vconsole:off",
            "ovs-vsctl --no-wait init",
            f"ovs-vswitchd unix:{here}/db.sock --pidfile --detach --log-file -vconsole:off "
            "--disable-system",
            shlex.join(add),
            "echo ready",
            "cat",
        ]
        return "\n".join(steps)

    def follow(self, routers: OpenFlow, nodes: list[str]) -> int:
        """Gives routers entries for the circuits that switches hold; how many are new."""
        network = self.plant.network
        assert network is not None
        with Controller(self.plant) as control:
            held = control.settings()
        pairs = [(one, other) for one in nodes for other in nodes if one != other]
        ways = network.ways([held[name] for name in self.plant.names], pairs)
        entries = flows(ways, pairs)
        new = 0
        for router in range(6):
            at = {"at": f"unix:{self.directory}/r{router}.mgmt"}
            session = routers.session(Switch(f"r{router}", "ovs", 3, True, at))
            numbers = {port: port + 1 for port in range(3)}
            new += set_flows(session, entries.get(router, {}), ADDRESSES, numbers)[0]
        return new

    def passes(self, one: str, other: str) -> bool:
        """Whether an echo comes back."""
        # Where it should not come back there is nothing to wait for; where it should, a long time.
        ping = ["ping", "-n", "-c", "1", "-W", "60", ADDRESSES[other]]
        return self._ping(one, ping) == 0

    def is_lost(self, one: str, other: str) -> bool:
        """Whether no echo comes back, for as long as one would take a thousand times."""
        return self._ping(one, ["ping", "-n", "-c", "1", "-W", "1", ADDRESSES[other]]) != 0

    def _ping(self, one: str, ping: list[str]) -> int:
        enter = ["nsenter", f"--target={self.process.pid}", "--net", "--mount", "--"]
        inside = ["nsenter", f"--net=/run/netns/{one}", *ping]
        return subprocess.run([*enter, *inside], capture_output=True, check=False).returncode

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


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
