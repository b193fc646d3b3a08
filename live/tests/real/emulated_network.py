"""A network for the nodes of an emulated Slurm: namespaces behind bridges and slow trunks.

Every node has a network and a host name of its own. A group is a bridge, an island joins groups,
and a core joins islands; the trunks in between are shaped by token buckets, as are the nodes' own
links. It is TCP over Ethernet: it shows who shares which link, and how ratios change.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

#: The controller's address; nodes count from 10.8.0.1.
CONTROLLER = "10.8.255.254"


@dataclass(frozen=True)
class Network:
    """Islands of groups of nodes, numbered through.

    Attributes:
        islands: How many.
        groups: Of an island.
        nodes: Of a group.
        node_mbit: Rate of a node's link, Mb/s.
        group_mbit: Rate of the trunk between a group and its island.
        island_mbit: Rate of the trunk between an island and the core.
    """

    islands: int = 4
    groups: int = 2
    nodes: int = 8
    node_mbit: int = 200
    group_mbit: int = 60
    island_mbit: int = 60

    @property
    def size(self) -> int:
        """Nodes in all."""
        return self.islands * self.groups * self.nodes

    def topology(self) -> list[str]:
        """Lines of Slurm's topology.conf."""
        lines = []
        for group in range(self.islands * self.groups):
            first = group * self.nodes
            lines.append(f"SwitchName=s{group} Nodes=n[{first}-{first + self.nodes - 1}]")
        for island in range(self.islands):
            first = island * self.groups
            lines.append(f"SwitchName=i{island} Switches=s[{first}-{first + self.groups - 1}]")
        return [*lines, f"SwitchName=top Switches=i[0-{self.islands - 1}]"]

    def set_up(self) -> str:
        """The shell script that makes it, in a namespace of networks and of mounts."""
        links, shapes = list(self._links()), list(self._shapes())
        return "\n".join(
            [
                "mkdir -p /run/netns",
                "mount -t tmpfs none /run/netns",
                "ip -batch - <<'END'",
                *links,
                "END",
                "tc -batch - <<'END'",
                *shapes,
                "END",
            ]
        )

    def _links(self) -> Iterator[str]:
        yield "link set lo up"
        yield "link add core type bridge"
        yield "link set core up"
        yield f"addr add {CONTROLLER}/16 dev core"
        groups = [(f"g{i}", f"island{i // self.groups}") for i in range(self.islands * self.groups)]
        islands = [(f"island{i}", "core") for i in range(self.islands)]
        for below, above in [*islands, *groups]:
            yield f"link add {below} type bridge"
            yield f"link set {below} up"
            yield f"link add {below}up type veth peer name {below}down"
            yield f"link set {below}up master {below} up"
            yield f"link set {below}down master {above} up"
        for node in range(self.size):
            yield f"netns add n{node}"
            yield f"link add h{node} type veth peer name eth0 netns n{node}"
            yield f"link set h{node} master g{node // self.nodes} up"

    def _shapes(self) -> Iterator[str]:
        for island in range(self.islands):
            for end in ("up", "down"):
                yield _bucket(f"island{island}{end}", self.island_mbit)
        for group in range(self.islands * self.groups):
            for end in ("up", "down"):
                yield _bucket(f"g{group}{end}", self.group_mbit)
        for node in range(self.size):
            yield _bucket(f"h{node}", self.node_mbit)

    def address(self, node: int) -> str:
        """A node's address."""
        return f"10.8.{(node + 1) // 256}.{(node + 1) % 256}"

    def on_node(self, node: int, command: list[str]) -> str:
        """A shell command that starts another on a node, which it sets up first."""
        steps = [
            "ip link set lo up",
            f"ip addr add {self.address(node)}/16 dev eth0",
            "ip link set eth0 up",
            f"tc {_bucket('eth0', self.node_mbit)}",
            f"hostname n{node}",
            f"exec {shlex.join(command)}",
        ]
        # `ip netns exec` would hide the control groups that slurmd looks for.
        inside = ["unshare", "--uts", "sh", "-c", " && ".join(steps)]
        return shlex.join(["nsenter", f"--net=/run/netns/n{node}", *inside])


def _bucket(device: str, mbit: int) -> str:
    return f"qdisc add dev {device} root tbf rate {mbit}mbit burst 16kb limit 600kb"


def reason_to_skip_network() -> str | None:
    """Why no network can be emulated here; `None` if it can."""
    script = "; ".join(
        [
            "set -e",
            "mkdir -p /run/netns",
            "mount -t tmpfs none /run/netns",
            "ip link add bridge0 type bridge",
            "ip netns add node0",
            "ip link add up0 type veth peer name eth0 netns node0",
            f"tc {_bucket('up0', 10)}",
            "nsenter --net=/run/netns/node0 unshare --uts true",
        ]
    )
    try:
        done = subprocess.run(
            ["unshare", "--net", "--mount", "--uts", "sh", "-c", script],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        return f"an emulated network needs unshare: {error.strerror}"
    if done.returncode != 0:
        return (
            "an emulated network needs root, network namespaces, ip and tc (package iproute2): "
            f"{done.stderr.strip()}"
        )
    return None
