"""The scenario of a cluster, from what says which node is on which switch or how it is cabled."""

from __future__ import annotations

import re
import tempfile
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

from odonata import _engine
from odonata.errors import ClusterError
from odonata.network.subnets import nodes_of_ports
from odonata.output import write_file
from odonata.scenario.toml_text import toml_text
from odonata.units import Duration, Rate
from odonata_live.cluster.nodes import Topology
from odonata_live.cluster.topologies import asked

#: The files of a machine.
SCENARIO_FILE, WIRING_FILE, HOSTS_FILE = "machine.toml", "wiring.edges", "hosts.txt"
#: What InfiniBand's own cables are called beside it.
SUBNET_FILE = "ibnetdiscover.txt"
#: Room of a link beside what is on its way: some packets.
_BUFFER_BYTES = 32_768


def machine_files(
    topology: Topology, hosts: Sequence[str] | None, name: str, bandwidth: Rate, latency: Duration
) -> dict[str, str]:
    """The texts of a scenario, its wiring and its list of hosts, by the names of the files.

    Where Slurm's files name the switches above the leaves, several of them side by side too, these
    are taken; else a switch joins the leaf switches of an island, another one the islands. Nothing
    tells how many cables there are: a switch's links up have together the bandwidth of all nodes
    that go up by it.

    Args:
        topology: Which node is on which switch.
        hosts: The nodes to take. Default: all.
        name: Of the machine.
        bandwidth: Of a node's link.
        latency: Of every link.

    Raises:
        ClusterError: If a host is on no switch, or there are fewer than two.
    """
    wanted = _wanted(topology.leaf_of_node if hosts is None else hosts, topology, "the topology")
    on_leaf: dict[str, list[str]] = defaultdict(list)
    for node, leaf in topology.leaf_of_node.items():
        if node in wanted:
            on_leaf[leaf].append(node)
    leaves_of: dict[str, list[str]] = defaultdict(list)
    for leaf in on_leaf:
        leaves_of[topology.island_of_leaf[leaf]].append(leaf)
    below, joined = _switches(topology, leaves_of)
    wiring = _Wiring(int(bandwidth), int(latency))
    group_of = _groups(below, leaves_of)
    router_of: dict[str, int] = {}
    listed, first = [], 0
    for leaf in (leaf for island in leaves_of.values() for leaf in island):
        router_of[leaf] = wiring.router(group_of[leaf], leaf)
        wiring.lines.append(f"nodes {len(on_leaf[leaf])} {router_of[leaf]} terminal")
        listed.append(f"{','.join(on_leaf[leaf])} {first}")
        first += len(on_leaf[leaf])
    parents = Counter(child for children in below.values() for child in children)
    # What goes up by each switch, in nodes.
    upward = {leaf: Fraction(len(nodes)) for leaf, nodes in on_leaf.items()}
    for switch, children in below.items():
        upward[switch] = sum((upward[child] / parents[child] for child in children), Fraction())
        router_of[switch] = wiring.router(group_of[switch], switch)
        for child in children:
            ends, share = (router_of[child], router_of[switch]), upward[child] / parents[child]
            wiring.link(ends, share, is_local=group_of[child] == group_of[switch])
    return {
        SCENARIO_FILE: _ASSUMED.format(
            nodes=first,
            leaves=len(on_leaf),
            islands=len(leaves_of),
            bandwidth=bandwidth,
            latency=latency,
            above=joined,
        )
        + toml_text(
            {
                "title": name,
                "network": {"family": "edge-list", "file": WIRING_FILE, "routing": "up-down"},
                "machine": {"name": name, "hosts_file": HOSTS_FILE},
            }
        ),
        WIRING_FILE: f"title {' '.join(name.split())}\n{wiring.text()}",
        HOSTS_FILE: "# Hosts, and the node of the first.\n" + "\n".join(listed) + "\n",
    }


def subnet_files(
    text: str,
    source: str,
    topology: Topology | None,
    hosts: Sequence[str] | None,
    title: str,
    bandwidth: Rate | None,
    latency: Duration,
    notice: Callable[[str], object],
) -> dict[str, str]:
    """The same with the cables that ``ibnetdiscover`` found, and their rates.

    Args:
        text: Its output.
        source: What to call it in errors.
        topology: Which node is on which switch by Slurm, whose nodes are taken then.
        hosts: The nodes to take. Default: all of the topology, or that adapters name.
        title: Name of the machine.
        bandwidth: Of links whose rate is not told, if somebody says it.
        latency: Of every link.
        notice: Called with what a person should know.

    Raises:
        ClusterError: If it is no such output, a host has no adapter, or there are fewer than two;
            if a bandwidth is given though all rates are told.
    """
    subnet = asked(text, source, _engine.read_ibnetdiscover)
    node_of: dict[str, int] = {}
    leaf_of: dict[str, str] = {}
    switches = subnet["switches"]
    for node, port in zip(nodes_of_ports(subnet, "joined"), subnet["hosts"], strict=True):
        if port["host"] is not None and port["host"] not in node_of:
            node_of[port["host"]] = node
            leaf_of[port["host"]] = switches[port["switch"]]["name"]
    fabric = Topology(leaf_of, {})
    if hosts is None:
        hosts = list(leaf_of if topology is None else topology.leaf_of_node)
    wanted = _wanted(hosts, fabric, source)
    if topology is not None:
        _wanted(wanted, topology, "the topology")
        together: dict[str, set[str]] = defaultdict(set)
        for host in wanted:
            together[topology.leaf_of_node[host]].add(leaf_of[host])
        for leaf, several in together.items():
            if len(several) > 1:
                notice(
                    f"{source}: the nodes of {leaf} are on {len(several):,} switches, such as "
                    f"{' and '.join(sorted(several)[:2])}: the cables count"
                )
    ends = {"terminal": subnet["hosts"], "local": subnet["cables"]}
    rates = {kind: {one["rate"] for one in of_kind} for kind, of_kind in ends.items()}
    untold = [kind for kind, found in rates.items() if None in found]
    if bandwidth is not None and not untold:
        raise ClusterError(
            f"{source}: tells the rates of all links, so that a bandwidth of {bandwidth} changes "
            "nothing; allowed: none"
        )
    network = {"family": "ibnetdiscover", "file": SUBNET_FILE}
    links: dict[str, dict[str, str]] = {}
    told: list[str] = []
    assumed = [f"every link has a latency of {latency}"]
    for one in _classes(toml_text({"network": network}), text):
        # Those whose rate is not told have the name of their kind alone.
        name = one["name"]
        rate = Rate.of_engine(one["bandwidth_bytes_per_s"])
        if bandwidth is not None and name in untold:
            rate = bandwidth
        links[name] = {"bandwidth": str(rate), "latency": str(latency)}
        where = assumed if name in untold or "unknown" in name else told
        where.append(f"{name}: {one['links']:,} links of {rate}")
    listed = sorted((node_of[host], host) for host in wanted)
    # The file of the cables decides what is a node: nothing in a scenario takes one out of it.
    unnamed = sum(port["host"] is None for port in subnet["hosts"])
    others = [
        f"{count:,} {what}"
        for count, what in (
            (len(node_of) - len(wanted), "hosts that are not asked for"),
            (unnamed, "adapters that name no host"),
        )
        if count
    ]
    kept = ""
    if others:
        kept = (
            f"The network has {len(node_of) + unnamed:,} nodes, {len(wanted):,} of them with a "
            f"name in {HOSTS_FILE}; the others are {' and '.join(others)}: they stay, as "
            f"{SUBNET_FILE} has their cables, and jobs that ask for no host may get them."
        )
        notice(f"{source}: {kept[0].lower()}{kept[1:]}")
    return {
        SCENARIO_FILE: _TOLD.format(
            kept="".join(f"# {line}\n" for line in textwrap.wrap(kept, 98)),
            nodes=len(wanted),
            switches=len(switches),
            told="\n# - ".join(told or ["nothing"]),
            assumed="\n# - ".join(assumed),
        )
        + toml_text(
            {
                "title": title,
                "network": {**network, "links": links},
                "machine": {"name": title, "hosts_file": HOSTS_FILE},
            }
        ),
        SUBNET_FILE: text,
        HOSTS_FILE: "# Hosts and their nodes.\n"
        + "".join(f"{host} {node}\n" for node, host in listed),
    }


def _classes(scenario: str, subnet: str) -> Sequence[Mapping[str, Any]]:
    """The link classes of a network, as the engine makes them of the rates."""
    from odonata import topology

    with tempfile.TemporaryDirectory(prefix="odonata-machine-") as directory:
        for file, text in ((SCENARIO_FILE, scenario), (SUBNET_FILE, subnet)):
            write_file(Path(directory) / file, text)
        found: Sequence[Mapping[str, Any]] = topology(Path(directory) / SCENARIO_FILE).description[
            "link_classes"
        ]
    return found


def _wanted(hosts: Iterable[str], topology: Topology, source: str) -> list[str]:
    """Hosts once each.

    Raises:
        ClusterError: If a host is on no switch of `source`, or there are fewer than two.
    """
    wanted = list(dict.fromkeys(hosts))
    strangers = [host for host in wanted if host not in topology.leaf_of_node]
    if strangers:
        known = list(topology.leaf_of_node)
        several = "" if len(strangers) < len(wanted) else ": are these of two machines?"
        raise ClusterError(
            f"{source}: {len(strangers):,} of {len(wanted):,} nodes are on no switch there, such "
            f"as {strangers[0]}; allowed: its {len(known):,} nodes, such as "
            f"{known[0] if known else 'none'}{several}"
        )
    if len(wanted) < 2:
        raise ClusterError(f"found {len(wanted)} nodes; allowed: at least 2")
    return wanted


def _switches(
    topology: Topology, leaves_of: Mapping[str, Sequence[str]]
) -> tuple[dict[str, tuple[str, ...]], str]:
    """Switches above the leaves with those below each, lower ones first, and what is assumed.

    Args:
        topology: Which node is on which switch.
        leaves_of: Leaves with nodes that are wanted, by island.
    """
    leaves = [leaf for island in leaves_of.values() for leaf in island]
    # What leads to no leaf, and a switch above one other alone, joins nothing.
    below: dict[str, tuple[str, ...]] = {}
    instead = {leaf: leaf for leaf in leaves}
    for name in TopologicalSorter(topology.below).static_order():
        children = tuple(
            dict.fromkeys(instead[c] for c in topology.below.get(name, ()) if c in instead)
        )
        if len(children) > 1:
            below[name] = children
            instead[name] = name
        elif children:
            instead[name] = children[0]
    said = "the switches are those that Slurm's topology names, each of them one switch"
    if not below:
        said = "one switch joins the leaves of an island, and one the islands"
        for island, group in leaves_of.items():
            if len(group) > 1:
                below[_free(f"{island} (assumed)", below)] = tuple(group)
    reached = {name: frozenset([name]) for name in leaves}
    for name, children in below.items():
        reached[name] = frozenset().union(*(reached[child] for child in children))
    # Whatever is highest above some leaves, of which a network has to have one part.
    parts: dict[frozenset[str], list[str]] = {}
    for name in sorted(reached, key=lambda one: -len(reached[one])):
        known = next((part for part in parts if reached[name] <= part), None)
        if known is None:
            overlapping = [part for part in parts if part & reached[name]]
            tops = [top for part in overlapping for top in parts.pop(part)]
            parts[reached[name].union(*overlapping)] = [*tops, name]
        elif reached[name] == known:
            parts[known].append(name)
    if len(parts) > 1:
        below[_free("top (assumed)", below)] = tuple(
            top for tops in parts.values() for top in sorted(tops)
        )
        if topology.below:
            said += f";\n#   one more joins {len(parts):,} parts, which none of them joins"
    return below, said


def _free(name: str, taken: Iterable[str]) -> str:
    """A name that no switch has."""
    return name if name not in taken else _free(name + "'", taken)


def _groups(
    below: Mapping[str, tuple[str, ...]], leaves_of: Mapping[str, Sequence[str]]
) -> dict[str, int]:
    """The group of every switch: its island's, or that of all switches above several islands."""
    groups = {leaf: number for number, island in enumerate(leaves_of.values()) for leaf in island}
    for name, children in below.items():
        found = {groups[child] for child in children}
        groups[name] = found.pop() if len(found) == 1 else len(leaves_of)
    return groups


class _Wiring:
    """An edge list that grows."""

    def __init__(self, bandwidth: int, latency_ps: int) -> None:
        self._bandwidth, self._latency_ps = bandwidth, latency_ps
        self._classes = {"terminal": ("terminal", Fraction(1))}
        self._routers = 0
        self.lines: list[str] = []

    def router(self, group: int, name: str) -> int:
        """A router of a group, and its name."""
        # What is no word is left as a comment.
        called = f" # {name}" if re.search(r"[\s#]", name) else f" name {name}"
        self.lines.append(f"router {self._routers} group {group}{called}")
        self._routers += 1
        return self._routers - 1

    def link(self, ends: tuple[int, int], share: Fraction, *, is_local: bool) -> None:
        """A link with the bandwidth of so many nodes."""
        kind = "local" if is_local else "global"
        name = f"{kind}-of-{share}".replace("/", "-by-")
        self._classes[name] = (kind, share)
        self.lines.append(f"link {ends[0]} {ends[1]} {name}")

    def text(self) -> str:
        rates = [
            (name, kind, int(self._bandwidth * share))
            for name, (kind, share) in self._classes.items()
        ]
        classes = [
            f"class {name} {kind} {rate} {self._latency_ps} "
            f"{2 * rate * self._latency_ps // 10**12 + _BUFFER_BYTES}"
            for name, kind, rate in rates
        ]
        return "\n".join([*classes, *self.lines]) + "\n"


_ASSUMED = """\
# {nodes} nodes on {leaves} leaf switches in {islands} islands, as Slurm's topology says.
#
# Assumed, as nothing tells it; correct it in wiring.edges:
# - every node has one link of {bandwidth}, and every link a latency of {latency};
# - {above};
# - links up from a switch have together the bandwidth of all nodes that go up by it (no taper),
#   shared equally by the switches above it.

"""

_TOLD = """\
# {nodes} hosts in a subnet of {switches} switches, as ibnetdiscover found it. A node is a host, on
# the switch of its first adapter with the bandwidth of all; all switches are one group.
{kept}#
# Told by the rates of its ports:
# - {told}
#
# Assumed, as nothing tells it; correct it below:
# - {assumed}

"""
