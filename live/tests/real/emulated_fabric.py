"""Bridges of Open vSwitch joined by cables, and nodes in network namespaces at them."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from emulated_switches import OpenVSwitch, adding_bridge, adding_port, in_batch

#: Hardware address of every node, so that nobody has to ask.
MAC = "02:00:00:00:00:07"
#: A port of a bridge, from 0; or a node, which has one.
End = tuple[str, "int | None"]


class Fabric(OpenVSwitch):
    """Bridges and nodes; up until it is closed.

    The interface at port 3 of bridge r2 is `r2-3`, and its own number of it is 4.

    Args:
        directory: Where sockets lie.
        addresses: IPv4 address of every node.
        bridges: Names of bridges.
        cables: From a bridge's port to another, or to a node.
    """

    def __init__(
        self,
        directory: Path,
        addresses: Mapping[str, str],
        bridges: Sequence[str],
        cables: Mapping[End, End],
    ) -> None:
        self.addresses = addresses
        links: list[str] = []
        adding = [word for bridge in bridges for word in adding_bridge(bridge)]
        for (bridge, port), (other, at) in cables.items():
            assert port is not None
            one = f"{bridge}-{port}"
            if at is None:
                links.append(f"link add {one} type veth peer name eth0 netns {other} address {MAC}")
            else:
                links.append(f"link add {one} type veth peer name {other}-{at}")
                links.append(f"link set {other}-{at} up")
                adding += adding_port(other, f"{other}-{at}", at + 1)
            links.append(f"link set {one} up")
            adding += adding_port(bridge, one, port + 1)
        steps = ["mkdir -p /run/netns", "mount -t tmpfs none /run/netns"]
        steps += [f"ip netns add {name}" for name in addresses]
        steps.append(in_batch(links))
        for name, address in addresses.items():
            steps += [
                # What a userspace switch forwards it does not complete: whole frames, with sums.
                f"nsenter --net=/run/netns/{name} ethtool -K eth0 tx off tso off gso off gro off",
                f"ip -n {name} link set lo up",
                f"ip -n {name} addr add {address}/24 dev eth0",
                f"ip -n {name} link set eth0 up",
            ]
            steps += [
                f"ip -n {name} neigh add {to} lladdr {MAC} dev eth0 nud permanent"
                for other, to in addresses.items()
                if other != name
            ]
        super().__init__(directory, steps, adding)

    def inside(self, command: Sequence[str], node: str | None = None) -> list[str]:
        """A command where the bridges are, or in the network of a node."""
        enter = ["nsenter", f"--target={self.pid}", "--net", "--mount", "--"]
        return [
            *enter,
            *([] if node is None else ["nsenter", f"--net=/run/netns/{node}"]),
            *command,
        ]

    def beside(self, command: Sequence[str], node: str) -> list[str]:
        """A command in the network of a node that may read /proc, which is ours there."""
        first = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()[0]
        enter = ["nsenter", f"--target={first}", "--pid", "--net", "--mount", "--"]
        return [*enter, "nsenter", f"--net=/run/netns/{node}", *command]

    def set_link(self, bridge: str, port: int, state: str) -> None:
        """Sets one end of a cable `up` or `down`; the other loses its carrier with it."""
        link = ["ip", "link", "set", f"{bridge}-{port}", state]
        subprocess.run(self.inside(link), check=True, env=self.environment)

    def echoes(self, one: str, other: str, count: int, size: int = 56) -> subprocess.Popen[str]:
        """Sends a packet every 5 ms; what it prints tells how many came back."""
        ping = ["ping", "-n", "-q", "-c", str(count), "-i", "0.005", "-W", "10", "-s", str(size)]
        return subprocess.Popen(
            self.inside([*ping, self.addresses[other]], one), stdout=subprocess.PIPE, text=True
        )

    def passes(self, one: str, other: str) -> bool:
        """Whether an echo comes back."""
        # Where it should not come back there is nothing to wait for; where it should, a long time.
        return self._ping(one, ["ping", "-n", "-c", "1", "-W", "60", self.addresses[other]]) == 0

    def is_lost(self, one: str, other: str) -> bool:
        """Whether no echo comes back, for as long as one would take a thousand times."""
        return self._ping(one, ["ping", "-n", "-c", "1", "-W", "1", self.addresses[other]]) != 0

    def _ping(self, one: str, ping: list[str]) -> int:
        return subprocess.run(self.inside(ping, one), capture_output=True, check=False).returncode
