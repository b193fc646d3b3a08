"""Which node is attached to which router, and which routers are a group, from whatever a site has.

Read are: ``topology.conf`` and what ``scontrol show topology`` prints (tree, block, and dragonfly,
whose leaf switches are the groups); ``topology.yaml``; lists of nodes with attributes (``NODE 17
CELL 2 SWITCH 10102``); lists of links; InfiniBand subnets, as ``ibnetdiscover`` prints them or
OpenSM writes them (``opensm-subnet.lst``).
"""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from odonata.cluster.nodes import Topology, read_topology
from odonata.cluster.queue import hosts
from odonata.errors import ClusterError

#: Names of the attributes of nodes that say to which router a node is attached, and which group
#: it is in.
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
    if re.search(r"(?m)\A\s*\{|^((Switch|Ca|Hca|Rt)\s+\d+\s+\"|(vendid|switchguid)=)", text):
        return _of_subnet(text, source)
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
        "links as two names a line, or the output of ibnetdiscover"
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

    Groups are what links other than those of class ``global`` join; without classes, what routers
    with many common neighbours are.
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

    if not classes:
        joins = _inside({name: routers.intersection(peers[name]) for name in routers})
        return Topology(leaf_of_node, _parts(leaf_of_node, routers, joins, source))

    def of_class(router: str) -> Iterator[str]:
        for other, kind in peers[router].items():
            if other in routers and kind != "global":
                yield other

    return Topology(leaf_of_node, _parts(leaf_of_node, routers, of_class, source))


def _of_subnet(text: str, source: str) -> Topology:
    """An InfiniBand subnet.

    Hosts go by the first word of their descriptions (``n17 mlx5_0``), one on several switches
    (rails) by the first of them.

    Where every switch has hosts, groups are those of lists of links. Elsewhere they are what is
    left connected without the links between switches that are farthest from hosts (the spines of a
    dragonfly+), or, where there are none, without those switches: in a fat tree of two levels
    single leaf switches, of three levels its pods.
    """
    from odonata import _engine

    with tempfile.TemporaryDirectory(prefix="odonata-subnet-") as directory:
        path = Path(directory) / "subnet"
        path.write_text(text)
        try:
            subnet = _engine.read_ibnetdiscover(str(path))
        except _engine.SpecError as error:
            raise ClusterError(f"{source}: {str(error).replace(str(path), 'subnet')}") from error
    # Two switches may be described alike: their numbers tell them apart.
    labels = [f"{switch['name']}#{at}" for at, switch in enumerate(subnet["switches"])]
    if len({switch["name"] for switch in subnet["switches"]}) == len(labels):
        labels = [switch["name"] for switch in subnet["switches"]]
    leaf_of_node: dict[str, str] = {}
    for host in subnet["hosts"]:
        words = host["name"].split()
        if words and host["switch"] is not None:
            leaf_of_node.setdefault(words[0], labels[host["switch"]])
    if not leaf_of_node:
        raise ClusterError(f"{source}: no host on a switch")
    peers: dict[str, set[str]] = {label: set() for label in labels}
    for cable in subnet["cables"]:
        one, other = (labels[cable[end][0]] for end in "ab")
        if one != other:
            peers[one].add(other)
            peers[other].add(one)
    distance = dict.fromkeys(leaf_of_node.values(), 0)
    queue = list(distance)
    for switch in queue:
        for other in peers[switch]:
            if other not in distance:
                distance[other] = distance[switch] + 1
                queue.append(other)
    top = max(distance.values())

    if top == 0:
        return Topology(leaf_of_node, _parts(leaf_of_node, set(distance), _inside(peers), source))
    highest = {switch for switch, at in distance.items() if at == top}
    linked = any(peers[switch] & highest for switch in highest)

    def joins(switch: str) -> Iterator[str]:
        for other in peers[switch]:
            if other not in highest or (linked and switch not in highest):
                yield other

    kept = set(distance) if linked else set(distance) - highest
    return Topology(leaf_of_node, _parts(leaf_of_node, kept, joins, source))


def _inside(peers: Mapping[str, set[str]]) -> Callable[[str], Iterator[str]]:
    """Of each router those that it shares a group with.

    Their common neighbours are more than half as many as either has in common with anybody. Links
    of a group that are all-to-all have that; links between groups close a triangle by chance.
    """
    common = {(one, other): len(peers[one] & peers[other]) for one in peers for other in peers[one]}
    most = {one: max((common[one, other] for other in peers[one]), default=0) for one in peers}

    def joins(router: str) -> Iterator[str]:
        for other in peers[router]:
            if 2 * common[router, other] > max(most[router], most[other]):
                yield other

    return joins


def _parts(
    leaf_of_node: Mapping[str, str],
    routers: set[str],
    joins: Callable[[str], Iterator[str]],
    source: str,
) -> dict[str, str]:
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
