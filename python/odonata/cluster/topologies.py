"""Which node hangs on which router, and which routers are a group, from whatever a site has.

Read are: ``topology.conf`` and what ``scontrol show topology`` prints (tree, block, and dragonfly,
whose leaf switches are the groups); ``topology.yaml``; lists of nodes with attributes (``NODE 17
CELL 2 SWITCH 10102``); lists of links.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from odonata.cluster.nodes import Topology, read_topology
from odonata.cluster.queue import hosts
from odonata.errors import ClusterError

#: What attributes of nodes are called that say on which router a node hangs, and in which group.
ROUTER_KEYS = ("SWITCH", "ROUTER", "LEAF", "BLADE")
GROUP_KEYS = ("GROUP", "CELL", "ISLAND", "POD", "RACK")


def read_wiring(text: str, source: str = "topology") -> Topology:
    """The topology of a cluster; its islands are what placement calls groups.

    Args:
        text: In one of the forms above; which one is seen from it.
        source: Where it comes from, for errors.

    Raises:
        ClusterError: If it is none of them, or contradicts itself.
    """
    lines = [line.split("#", 1)[0].strip() for line in text.splitlines()]
    lines = [line for line in lines if line]
    if any(re.match(r"(?i)(SwitchName|BlockName)=", line) for line in lines):
        return read_topology(text, source)
    if any(
        re.match(r"-?\s*(topology|tree|block|switch|switches|blocks)\s*:", line) for line in lines
    ):
        return read_topology(_of_yaml(text, source), source)
    if lines and re.match(r"(?i)NODE(NAME)?[\s=]", lines[0]):
        return _of_attributes(lines, source)
    if lines and all(len(line.split()) in (2, 3) for line in lines):
        return _of_links(lines, source)
    raise ClusterError(
        f"{source}: line 1: found {(lines or [''])[0][:60]!r}; allowed: topology.conf or "
        "`scontrol show topology`, topology.yaml, lines such as NODE n17 SWITCH s2 CELL 1, or "
        "links as two names a line"
    )


def _of_yaml(text: str, source: str) -> str:
    """The switches or blocks of a ``topology.yaml`` as lines of a ``topology.conf``.

    Of several topologies the one is taken that is the cluster's default, else the first that has
    switches or blocks. Only what Slurm's documentation shows of YAML is understood.
    """
    topologies: list[tuple[bool, list[str]]] = [(False, [])]
    words = {"switch": "SwitchName", "block": "BlockName", "children": "Switches", "nodes": "Nodes"}
    for number, line in enumerate(text.splitlines(), 1):
        content = line.split(" #", 1)[0].rstrip()
        if not content.strip() or content.strip() in ("---", "...") or content.startswith("#"):
            continue
        match = re.fullmatch(r"\s*(-\s+)?([\w-]+)\s*:\s*(.*)", content)
        if match is None:
            raise ClusterError(
                f"{source}: line {number}: found {content[:60]!r}; allowed: KEY: VALUE"
            )
        key, value = match[2].lower(), match[3].strip().strip("\"'")
        if key == "topology" and match[1]:
            topologies.append((False, []))
        elif key == "cluster_default":
            topologies[-1] = (value.lower() == "true", topologies[-1][1])
        elif key in ("switch", "block") and value:
            topologies[-1][1].append(f"{words[key]}={value}")
        elif key in ("children", "nodes") and topologies[-1][1]:
            topologies[-1][1][-1] += f" {words[key]}={value}"
        elif value.startswith(("{", "&", "*", "|", ">")):
            raise ClusterError(f"{source}: line {number}: YAML of this form is not understood")
    full = [one for one in topologies if one[1]]
    if not full:
        raise ClusterError(f"{source}: no switches and no blocks in this YAML")
    return "\n".join(next((one for one in full if one[0]), full[0])[1])


def _of_attributes(lines: list[str], source: str) -> Topology:
    """Nodes with the router and the group that each names."""
    leaf_of_node: dict[str, str] = {}
    island_of_leaf: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        words = [word for word in re.split(r"[\s=]+", line) if word]
        keys = {k.upper(): v for k, v in zip(words[::2], words[1::2], strict=False)}
        name = keys.get("NODE") or keys.get("NODENAME") or ""
        group = next((keys[key] for key in GROUP_KEYS if key in keys), None)
        if not name or group is None:
            raise ClusterError(
                f"{source}: line {number}: found {line[:60]!r}; allowed: NODE, one of "
                f"{', '.join(GROUP_KEYS)}, and at will one of {', '.join(ROUTER_KEYS)}"
            )
        leaf = next((keys[key] for key in ROUTER_KEYS if key in keys), group)
        known = island_of_leaf.setdefault(leaf, group)
        if known != group:
            # Two groups name a router alike: numbers that count within each of them.
            leaf = f"{group}/{leaf}"
            island_of_leaf[leaf] = group
        for host in hosts(name, f"{source}: line {number}"):
            if leaf_of_node.setdefault(host, leaf) != leaf:
                raise ClusterError(f"{source}: line {number}: node {host} is listed twice")
    used = set(leaf_of_node.values())
    return Topology(leaf_of_node, {leaf: at for leaf, at in island_of_leaf.items() if leaf in used})


def _of_links(lines: list[str], source: str) -> Topology:
    """Links as pairs of names, at will with their class: who has one link is a node.

    Groups are what links other than those of class ``global`` join; without classes, what is left
    of the routers' network where every router's links to routers that share no neighbour with it
    are taken away.
    """
    peers: dict[str, dict[str, str]] = defaultdict(dict)
    for number, line in enumerate(lines, 1):
        one, other, *kind = line.split()
        if one == other:
            raise ClusterError(f"{source}: line {number}: {one} is linked with itself")
        peers[one][other] = peers[other][one] = kind[0].lower() if kind else ""
    routers = {name for name, others in peers.items() if len(others) > 1}
    leaf_of_node = {
        name: router
        for name, others in peers.items()
        if name not in routers
        for router in others
        if router in routers
    }
    if not leaf_of_node:
        raise ClusterError(f"{source}: no node: nothing has one link only, to a router")
    classes = any(kind for others in peers.values() for kind in others.values())

    def joins(router: str) -> Iterator[str]:
        for other, kind in peers[router].items():
            if other not in routers:
                continue
            common = routers.intersection(peers[router]).intersection(peers[other])
            if kind != "global" if classes else bool(common):
                yield other

    return Topology(leaf_of_node, _parts(leaf_of_node, routers, joins, source))


def _parts(
    leaf_of_node: Mapping[str, str], routers: set[str], joins: object, source: str
) -> dict[str, str]:
    assert callable(joins)
    island: dict[str, str] = {}
    for first in sorted(routers):
        if first in island:
            continue
        stack = [first]
        while stack:
            router = stack.pop()
            if island.setdefault(router, first) == first:
                stack += [other for other in joins(router) if other not in island]
    return {leaf: island[leaf] for leaf in dict.fromkeys(leaf_of_node.values())}
