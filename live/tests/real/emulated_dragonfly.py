"""A small reconfigurable dragonfly: Open vSwitch as routers and as optical switches."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

from emulated_switches import PATH, SPACES
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
#: Address of every node, so that nobody has to ask.
MAC = "02:00:00:00:00:07"


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
        switches = [f"o{n}" for n in range(len(network.ingress))]
        for bridge in [f"r{n}" for n in range(6)] + switches:
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
        sessions = [
            routers.session(Switch(one.name, one.driver, 3, True, one.device))
            for one in self.plant.routers
        ]
        return set_ways(sessions, ways, pairs, ADDRESSES)[0]

    def echoes(self, one: str, other: str, count: int, size: int = 56) -> subprocess.Popen[str]:
        """Sends a packet every 5 ms; what it prints tells how many came back."""
        ping = ["ping", "-n", "-q", "-c", str(count), "-i", "0.005", "-W", "10", "-s", str(size)]
        return subprocess.Popen(
            self._inside(one, [*ping, ADDRESSES[other]]), stdout=subprocess.PIPE, text=True
        )

    def passes(self, one: str, other: str) -> bool:
        """Whether an echo comes back."""
        # Where it should not come back there is nothing to wait for; where it should, a long time.
        ping = ["ping", "-n", "-c", "1", "-W", "60", ADDRESSES[other]]
        return self._ping(one, ping) == 0

    def is_lost(self, one: str, other: str) -> bool:
        """Whether no echo comes back, for as long as one would take a thousand times."""
        return self._ping(one, ["ping", "-n", "-c", "1", "-W", "1", ADDRESSES[other]]) != 0

    def _inside(self, node: str, command: list[str]) -> list[str]:
        enter = ["nsenter", f"--target={self.process.pid}", "--net", "--mount", "--"]
        return [*enter, "nsenter", f"--net=/run/netns/{node}", *command]

    def _ping(self, one: str, ping: list[str]) -> int:
        return subprocess.run(self._inside(one, ping), capture_output=True, check=False).returncode

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()
