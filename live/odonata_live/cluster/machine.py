"""The scenario of a cluster, from what says which node is on which switch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from odonata.errors import ClusterError
from odonata.scenario.toml_text import toml_text
from odonata.units import Duration, Rate
from odonata_live.cluster.nodes import Topology

#: The files of a machine.
SCENARIO_FILE, WIRING_FILE, HOSTS_FILE = "machine.toml", "wiring.edges", "hosts.txt"
#: Room of a link beside what is on its way: some packets.
_BUFFER_BYTES = 32_768


def machine_files(
    topology: Topology, hosts: Sequence[str] | None, name: str, bandwidth: Rate, latency: Duration
) -> dict[str, str]:
    """The texts of a scenario, its wiring and its list of hosts, by the names of the files.

    A switch joins the leaf switches of an island, another one the islands. The bandwidth between
    two switches is that of all nodes below: nothing tells how many cables there are.

    Args:
        topology: Which node is on which switch.
        hosts: The nodes to take. Default: all.
        name: Of the machine.
        bandwidth: Of a node's link.
        latency: Of every link.

    Raises:
        ClusterError: If a host is on no switch, or there are fewer than two.
    """
    wanted = dict.fromkeys(topology.leaf_of_node if hosts is None else hosts)
    strangers = [host for host in wanted if host not in topology.leaf_of_node]
    if strangers:
        raise ClusterError(
            f"{len(strangers):,} of {len(wanted):,} nodes are on no switch, such as "
            f"{strangers[0]}; allowed: nodes that the topology names"
        )
    if len(wanted) < 2:
        raise ClusterError(f"found {len(wanted)} nodes; allowed: at least 2")
    on_leaf: dict[str, list[str]] = defaultdict(list)
    for node, leaf in topology.leaf_of_node.items():
        if node in wanted:
            on_leaf[leaf].append(node)
    leaves_of: dict[str, list[str]] = defaultdict(list)
    for leaf in on_leaf:
        leaves_of[topology.island_of_leaf[leaf]].append(leaf)
    wiring = _Wiring(int(bandwidth), int(latency))
    listed, first = [], 0
    tops = []
    for island in leaves_of.values():
        group = wiring.new_group()
        routers = []
        for leaf in island:
            router = wiring.router(group)
            wiring.lines.append(f"nodes {len(on_leaf[leaf])} {router} terminal # {leaf}")
            listed.append(f"{','.join(on_leaf[leaf])} {first}")
            first += len(on_leaf[leaf])
            routers.append((router, len(on_leaf[leaf])))
        tops.append((wiring.joined(routers, group, "local"), sum(n for _, n in routers)))
    wiring.joined(tops, None, "global")
    return {
        SCENARIO_FILE: _ASSUMED.format(
            nodes=first,
            leaves=len(on_leaf),
            islands=len(leaves_of),
            bandwidth=bandwidth,
            latency=latency,
        )
        + toml_text(
            {
                "title": name,
                "network": {"family": "edge-list", "file": WIRING_FILE, "routing": "up-down"},
                "machine": {"name": name, "hosts_file": HOSTS_FILE},
            }
        ),
        WIRING_FILE: wiring.text(),
        HOSTS_FILE: "# Hosts, and the node of the first.\n" + "\n".join(listed) + "\n",
    }


class _Wiring:
    """An edge list that grows."""

    def __init__(self, bandwidth: int, latency_ps: int) -> None:
        self._bandwidth, self._latency_ps = bandwidth, latency_ps
        self._classes = {"terminal": ("terminal", 1)}
        self._groups = self._routers = 0
        self.lines: list[str] = []

    def new_group(self) -> int:
        self._groups += 1
        return self._groups - 1

    def router(self, group: int) -> int:
        self.lines.append(f"router {self._routers} group {group}")
        self._routers += 1
        return self._routers - 1

    def joined(self, below: Sequence[tuple[int, int]], group: int | None, kind: str) -> int:
        """The router above others, each with its number of nodes; of a single one itself."""
        if len(below) == 1:
            return below[0][0]
        top = self.router(self.new_group() if group is None else group)
        for router, nodes in below:
            self._classes[f"{kind}-of-{nodes}"] = (kind, nodes)
            self.lines.append(f"link {router} {top} {kind}-of-{nodes}")
        return top

    def text(self) -> str:
        classes = [
            f"class {name} {kind} {self._bandwidth * nodes} {self._latency_ps} "
            f"{2 * self._bandwidth * nodes * self._latency_ps // 10**12 + _BUFFER_BYTES}"
            for name, (kind, nodes) in self._classes.items()
        ]
        return "\n".join([*classes, *self.lines]) + "\n"


_ASSUMED = """\
# {nodes} nodes on {leaves} leaf switches in {islands} islands, as Slurm's topology says.
#
# Assumed, as nothing tells it; correct it in wiring.edges:
# - every node has one link of {bandwidth}, and every link a latency of {latency};
# - one switch joins the leaves of an island and one the islands, each with the bandwidth of all
#   nodes below (no taper).

"""
