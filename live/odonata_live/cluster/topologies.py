"""Which node is attached to which router, and which routers are a group, from whatever a site has.

Read are: ``topology.conf`` and what ``scontrol show topology`` prints (tree, block, and dragonfly,
whose leaf switches are the groups); ``topology.yaml``; lists of nodes with attributes (``NODE 17
CELL 2 SWITCH 10102``); lists of links; InfiniBand subnets, as ``ibnetdiscover`` prints them or
OpenSM writes them (``opensm-subnet.lst``); graphs in GraphML and GML; BookSim's network files;
lists of links as Odonata exports them; and scenarios of machines whose hosts have names.
"""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from odonata.bounded import read_text
from odonata.errors import ClusterError
from odonata.output import warn, write_file
from odonata_live.cluster.model import is_state
from odonata_live.cluster.nodes import Switch, Topology, tree
from odonata_live.cluster.queue import hosts

#: Names of the attributes of nodes that say to which router a node is attached, and which group
#: it is in.
ROUTER_KEYS = ("SWITCH", "ROUTER", "LEAF", "BLADE")
GROUP_KEYS = ("GROUP", "CELL", "ISLAND", "POD", "RACK")

#: What is read, for people.
FORMS = (
    "topology.conf or `scontrol show topology`, topology.yaml, lines such as NODE n17 SWITCH s2 "
    "CELL 1, links as two names a line, the output of ibnetdiscover, GraphML, GML, BookSim's "
    "network files, or a scenario whose name ends in .toml, of a machine with hosts"
)


#: A line of ibnetdiscover's or OpenSM's.
_SUBNET = re.compile(r"(?m)\A\s*\{|^((Switch|Ca|Hca|Rt)\s+\d+\s+\"|(vendid|switchguid)=)")


def read_topology_file(
    path: Path, notice: Callable[[str], object] = warn, *, alone: bool = False
) -> Topology:
    """The topology of a cluster from a file; `-` is standard input.

    Args:
        path: A file in one of the forms above; a scenario's name ends in ``.toml``.
        notice: Called with what a person should know of it. Default: a warning.
        alone: To make a machine of it without its cables, which subnets tell: they are refused.

    Raises:
        ClusterError: If it cannot be read, is none of them, or contradicts itself.
        ScenarioError: If it is a scenario, and wrong.
    """
    if path.suffix == ".toml":
        return _of_scenario(path)
    text = read_text(path, ClusterError, errors="replace")
    source = "standard input" if str(path) == "-" else str(path)
    if alone and _SUBNET.search(text):
        raise ClusterError(
            f"--topology: {source} is the output of ibnetdiscover or a list of OpenSM, with every "
            f"cable and its rate; allowed: --links {path}"
        )
    return read_topology(text, source, notice)


def read_topology(
    text: str, source: str = "topology", notice: Callable[[str], object] = warn
) -> Topology:
    """The topology of a cluster; its islands are what placement calls groups.

    Args:
        text: In one of the forms above, but for scenarios; which one is seen from it.
        source: Where it comes from, for errors.
        notice: Called with what a person should know of it. Default: a warning.

    Raises:
        ClusterError: If it is none of them, or contradicts itself.
    """
    lines = [line.split("#", 1)[0].strip() for line in text.splitlines()]
    lines = [line for line in lines if line]
    first = lines[0] if lines else ""
    if _SUBNET.search(text):
        return _of_subnet(text, source, notice)
    if first.startswith("<"):
        return _of_graph(text, "graphml", source)
    if re.search(r"(?m)^\s*graph\s*(\[|$)", text):
        return _of_graph(text, "gml", source)
    if any(re.match(r"(?i)(SwitchName|BlockName)=", line) for line in lines):
        return tree(_of_conf(text), source)
    if any(
        re.match(r"-?\s*(topology|tree|block|switch|switches|blocks)\s*:", line) for line in lines
    ):
        return tree(_of_yaml(text, source), source)
    if lines and all(re.match(_ANYNET, line) for line in lines):
        return _of_graph(text, "anynet", source)
    if any(re.match(_EDGE_LIST, line) for line in lines):
        return _of_edge_list(text, source)
    if re.match(r"(?i)NODE(NAME)?[\s=]", first):
        return _of_attributes(text, source)
    if lines and all(len(line.split()) in (2, 3) for line in lines):
        return _of_links(text, source)
    raise ClusterError(f"{source}: line 1: found {first[:60]!r}; allowed: {FORMS}")


#: A line of BookSim's, and one that only lists of links of ours have.
_ANYNET = r"(?i)(router|node)\s+\d+(\s+(router|node)\s+\d+(\s+\d+)?)*\s*$"
_EDGE_LIST = (
    r"title\s|class\s+\S+\s+(terminal|local|global)\b|routers?\s+\d.*\bgroup\s|links?\s+\d"
    r"|nodes?\s+\d+\s+\d"
)

# --- Slurm's files ---------------------------------------------------------------------

_KEY = re.compile(r"(\w+)=(\S+)")


def _of_conf(text: str) -> Iterator[Switch]:
    """The switches or blocks of a ``topology.conf``, or of ``scontrol show topology``."""
    held, begin = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        begin = begin if held else number
        held += line.removesuffix("\\") + " "
        if line.endswith("\\"):
            continue
        keys = {k.lower(): v for k, v in _KEY.findall(held.split("#", 1)[0])}
        held = ""
        if name := keys.get("switchname") or keys.get("blockname"):
            yield Switch(begin, name, keys.get("switches", ""), keys.get("nodes", ""))


def _of_yaml(text: str, source: str) -> list[Switch]:
    """The switches or blocks of a ``topology.yaml``.

    Of several topologies the one is taken that is the cluster's default, else the first that has
    switches or blocks. Only what Slurm's documentation shows of YAML is understood.
    """
    topologies: list[tuple[bool, list[Switch]]] = [(False, [])]
    for number, line in enumerate(text.splitlines(), 1):
        content = line.split(" #", 1)[0].rstrip()
        if not content.strip() or content.strip() in ("---", "...") or content.startswith("#"):
            continue
        match = re.fullmatch(r"\s*(-\s+)?([\w-]+)\s*:\s*(.*)", content)
        if match is None:
            if re.fullmatch(r"\s*-\s+\d+", content):
                continue  # one of `block_sizes`
            raise ClusterError(
                f"{source}: line {number}: found {content[:60]!r}; allowed: KEY: VALUE"
            )
        key, value = match[2].lower(), match[3].strip().strip("\"'")
        described = topologies[-1][1]
        if key == "topology" and match[1]:
            topologies.append((False, []))
        elif key == "cluster_default":
            topologies[-1] = (value.lower() == "true", described)
        elif key in ("switch", "block") and value:
            described.append(Switch(number, value))
        elif key in ("children", "nodes") and described:
            is_leaf = key == "nodes"
            last = described[-1]
            described[-1] = replace(last, nodes=value) if is_leaf else replace(last, switches=value)
        elif value.startswith(("{", "&", "*", "|", ">")):
            raise ClusterError(f"{source}: line {number}: YAML of this form is not understood")
    full = [one for one in topologies if one[1]]
    if not full:
        raise ClusterError(f"{source}: no switches and no blocks in this YAML")
    return next((one for one in full if one[0]), full[0])[1]


# --- Lists -----------------------------------------------------------------------------


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines that say something, with their numbers."""
    for number, line in enumerate(text.splitlines(), 1):
        if content := line.split("#", 1)[0].strip():
            yield number, content


def _of_attributes(text: str, source: str) -> Topology:
    """Nodes with the router and the group that each names."""
    leaf_of_node: dict[str, str] = {}
    island_of_leaf: dict[str, str] = {}
    line_of: dict[str, int] = {}
    for number, line in _lines(text):
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
                raise ClusterError(
                    f"{source}: line {number}: node {host} is listed twice, first in line "
                    f"{line_of[host]}"
                )
            line_of[host] = number
    used = set(leaf_of_node.values())
    return Topology(leaf_of_node, {leaf: at for leaf, at in island_of_leaf.items() if leaf in used})


def _of_links(text: str, source: str) -> Topology:
    """Links as pairs of names, at will with their class: who has one link is a node.

    Groups are what links other than those of class ``global`` join; without classes, what routers
    with many common neighbours are.
    """
    peers: dict[str, dict[str, str]] = defaultdict(dict)
    if all(is_state(line.split()[1]) for _, line in _lines(text)):
        number, line = next(_lines(text))
        raise ClusterError(
            f"{source}: line {number}: found {line[:60]!r}, nodes and their states, which say "
            f"nothing of switches; allowed: {FORMS}"
        )
    for number, line in _lines(text):
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
        return Topology(leaf_of_node, _parts(leaf_of_node, routers, joins))

    def of_class(router: str) -> Iterator[str]:
        for other, kind in peers[router].items():
            if other in routers and kind != "global":
                yield other

    return Topology(leaf_of_node, _parts(leaf_of_node, routers, of_class))


# --- Networks that the engine reads -----------------------------------------------------


def asked(text: str, source: str, question: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """What the engine reads from a file with such a text."""
    from odonata import _engine

    with tempfile.TemporaryDirectory(prefix="odonata-topology-") as directory:
        path = Path(directory) / "topology"
        write_file(path, text)
        try:
            return question(str(path))
        except _engine.SpecError as error:
            said = str(error.args[1] if len(error.args) > 1 else error)
            raise ClusterError(f"{source}: {said.replace(str(path) + ': ', '')}") from error


def _of_subnet(text: str, source: str, notice: Callable[[str], object]) -> Topology:
    """An InfiniBand subnet.

    Hosts go by the names in the descriptions of their adapters (``n17 mlx5_0``), one on several
    switches (rails) by the first of them.
    """
    from odonata import _engine
    from odonata.network.subnets import counted, ports_of_hosts

    subnet = asked(text, source, _engine.read_ibnetdiscover)
    for sentence in counted(subnet, "left out", "each is taken to be on the first of them"):
        notice(f"{source}: {sentence}")
    # Two switches may be described alike: their numbers tell them apart.
    labels = [f"{switch['name']}#{at}" for at, switch in enumerate(subnet["switches"])]
    if len({switch["name"] for switch in subnet["switches"]}) == len(labels):
        labels = [switch["name"] for switch in subnet["switches"]]
    leaf_of_node = {
        host: labels[ports[0]["switch"]] for host, ports in ports_of_hosts(subnet).items()
    }
    if not leaf_of_node:
        raise ClusterError(f"{source}: no host on a switch")
    peers: dict[str, set[str]] = {label: set() for label in labels}
    for cable in subnet["cables"]:
        one, other = (labels[cable[end][0]] for end in "ab")
        if one != other:
            peers[one].add(other)
            peers[other].add(one)
    return Topology(leaf_of_node, _islands_of(leaf_of_node, peers))


def _of_graph(text: str, family: str, source: str) -> Topology:
    """A graph whose vertices have names. Who has one link only is a node, if none is said to be."""
    from odonata import _engine

    graph = asked(text, source, lambda path: _engine.named_graph(path, family))
    vertices, names = graph["vertices"], [vertex["name"] for vertex in graph["vertices"]]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ClusterError(f"{source}: two vertices are called {twice}; allowed: names that differ")
    peers: dict[str, set[str]] = {name: set() for name in names}
    for a, b in graph["edges"]:
        peers[names[a]].add(names[b])
        peers[names[b]].add(names[a])
    is_node = {vertex["name"]: vertex["is_node"] for vertex in vertices}
    if not any(is_node.values()):
        is_node = {n: is_node[n] is None and len(peers[n]) == 1 for n in names}
    leaf_of_node = {
        name: next(iter(peers[name]))
        for name in names
        if is_node[name] and len(peers[name]) == 1 and not is_node[next(iter(peers[name]))]
    }
    if not leaf_of_node:
        raise ClusterError(f"{source}: no node: nothing has one link only, to a router")
    routers = {name: peers[name] - leaf_of_node.keys() for name in names if not is_node[name]}
    groups = {vertex["name"]: vertex["group"] for vertex in vertices if vertex["group"] is not None}
    if len(set(groups.values())) > 1:
        return Topology(
            leaf_of_node, {leaf: groups.get(leaf, leaf) for leaf in set(leaf_of_node.values())}
        )
    return Topology(leaf_of_node, _islands_of(leaf_of_node, routers))


def _of_edge_list(text: str, source: str) -> Topology:
    """A list of links of ours, whose nodes are called ``n0``, ``n1``, … as in GraphML of ours."""

    def question(path: str) -> dict[str, Any]:
        from odonata import _engine
        from odonata.scenario import Scenario

        scenario = Scenario.from_dict({"network": {"family": "edge-list", "file": path}})
        return _engine.topology(scenario.normalised_json())

    network = asked(text, source, question)
    names = {number: f"n{number}" for number in range(len(network["node_router"]))}
    return _of_network(network, names, source)


def _of_scenario(path: Path) -> Topology:
    """The network of a scenario whose `[machine]` names the hosts."""
    from odonata import _engine
    from odonata.errors import MachineError
    from odonata.machines.hosts import hosts_of
    from odonata.scenario import Scenario
    from odonata.simulate import ask_engine

    scenario = Scenario.from_file(path)
    try:
        names = {node: host for host, node in hosts_of(scenario).items()}
    except MachineError as error:
        raise ClusterError(str(error)) from error
    return _of_network(ask_engine(_engine.topology, scenario), names, str(path))


def _of_network(network: dict[str, Any], names: Mapping[int, str], source: str) -> Topology:
    """A network of the engine, as far as its nodes have names."""
    routers = [int(router) for router in network["node_router"]]
    if strangers := [names[node] for node in names if node >= len(routers)]:
        raise ClusterError(
            f"{source}: host {strangers[0]} is on none of the network's {len(routers)} nodes"
        )
    leaf_of_node = {names[node]: f"r{routers[node]}" for node in sorted(names)}
    groups = [int(group) for group in network["group_of_router"]]
    if len(set(groups)) > 1:
        leaves = dict.fromkeys(leaf_of_node.values())
        return Topology(leaf_of_node, {leaf: f"g{groups[int(leaf[1:])]}" for leaf in leaves})
    peers: dict[str, set[str]] = {f"r{router}": set() for router in range(len(groups))}
    for a, b in zip(network["link_a"], network["link_b"], strict=True):
        peers[f"r{a}"].add(f"r{b}")
        peers[f"r{b}"].add(f"r{a}")
    return Topology(leaf_of_node, _islands_of(leaf_of_node, peers))


# --- Groups ----------------------------------------------------------------------------


def _islands_of(leaf_of_node: Mapping[str, str], peers: Mapping[str, set[str]]) -> dict[str, str]:
    """The group of each router with nodes, of routers whose groups nobody has told.

    Where every router has nodes, groups are what routers with many common neighbours are.
    Elsewhere they are what is left connected without the links between routers that are farthest
    from nodes (the spines of a dragonfly+), or, where there are none, without those routers: in a
    fat tree of two levels single leaf switches, of three levels its pods.
    """
    distance = dict.fromkeys(leaf_of_node.values(), 0)
    queue = list(distance)
    for router in queue:
        for other in peers[router]:
            if other not in distance:
                distance[other] = distance[router] + 1
                queue.append(other)
    top = max(distance.values())
    if top == 0:
        return _parts(leaf_of_node, set(distance), _inside(peers))
    highest = {router for router, at in distance.items() if at == top}
    linked = any(peers[router] & highest for router in highest)

    def joins(router: str) -> Iterator[str]:
        for other in peers[router]:
            if other not in highest or (linked and router not in highest):
                yield other

    return _parts(leaf_of_node, set(distance) if linked else set(distance) - highest, joins)


def _inside(peers: Mapping[str, set[str]]) -> Callable[[str], Iterator[str]]:
    """The routers that each router shares a group with.

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
    leaf_of_node: Mapping[str, str], routers: set[str], joins: Callable[[str], Iterator[str]]
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
