"""The nodes of a cluster and the switches that they are attached to, as Slurm tells them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any

from odonata.cluster.queue import hosts
from odonata.errors import ClusterError

#: What asks a cluster for its nodes: every name once for each of its partitions.
COMMAND = ("sinfo", "--noheader", "--Node", "--format=%N")


def read_nodes(text: str, source: str = "sinfo") -> tuple[str, ...]:
    """Names of all nodes of a cluster, in whatever state, each once.

    Args:
        text: Of ``sinfo --json`` or ``scontrol show nodes --json`` (any version), of
            ``scontrol show nodes``, or lists of nodes, one or more a line (``sinfo -h -N -o %N``).
        source: Where it comes from, for errors.

    Raises:
        ClusterError: If it is none of these, or names no node.
    """
    text = text.lstrip("\ufeff")
    if text.lstrip().startswith("{"):
        names = _of_json(text, source)
    elif "NodeName=" in text:
        lists = re.findall(r"(?m)\bNodeName=(\S+)", text)
        names = [name for list_ in lists for name in hosts(list_, source)]
    else:
        names = [
            name
            for number, line in enumerate(text.splitlines(), 1)
            for word in line.split()
            if word not in ("NODELIST", "HOSTNAMES")
            for name in hosts(word, f"{source}: line {number}")
        ]
    if not names:
        raise ClusterError(f"{source}: no node; allowed: the output of `sinfo --json` or `sinfo`")
    return tuple(dict.fromkeys(names))


def _of_json(text: str, source: str) -> list[str]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ClusterError(f"{source}: not the JSON of sinfo: {error}") from error
    names: list[str] = []
    # Slurm 21.08 to 23.02, and scontrol: an entry for each node; later sinfo: for each of its rows.
    for node in content.get("nodes") or ():
        names.append(_name(node, "name", f"{source}: nodes"))
    for row in content.get("sinfo") or ():
        listed = row.get("nodes", {}).get("nodes", ()) if isinstance(row, dict) else ()
        for list_ in listed:
            names.extend(hosts(str(list_), f"{source}: sinfo"))
    return names


def _name(node: Any, key: str, where: str) -> str:
    name = node.get(key) if isinstance(node, dict) else None
    if not isinstance(name, str) or not name:
        raise ClusterError(f"{where}: found {node!r:.60}; allowed: objects with a `{key}`")
    return name


@dataclass(frozen=True)
class Topology:
    """Which node is attached to which switch, as Slurm's topology plugin has it.

    Attributes:
        leaf_of_node: Name of the switch, or block, that each node is attached to.
        island_of_leaf: Of each of them, the name of what switches join that are not above all
            leaves: of the highest such switch, of a leaf without one its own.
    """

    leaf_of_node: Mapping[str, str]
    island_of_leaf: Mapping[str, str]

    def island_of_node(self) -> dict[str, str]:
        """The island of each node."""
        return {node: self.island_of_leaf[leaf] for node, leaf in self.leaf_of_node.items()}


_KEY = re.compile(r"(\w+)=(\S+)")


def read_topology(text: str, source: str = "topology.conf") -> Topology:
    """The switches of a ``topology.conf`` (tree or block), or of ``scontrol show topology``.

    Raises:
        ClusterError: If there are none, one is above itself or not described, or a node
            is attached to two.
    """
    leaf_of_node: dict[str, str] = {}
    children: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(text.replace("\\\n", " ").splitlines(), 1):
        where = f"{source}: line {number}"
        keys = {k.lower(): v for k, v in _KEY.findall(line.split("#", 1)[0])}
        name = keys.get("switchname") or keys.get("blockname")
        if not name:
            continue
        if name in children:
            raise ClusterError(f"{where}: switch {name} is described twice")
        children[name] = hosts(keys.get("switches", "").replace("(null)", ""), where)
        if children[name]:
            # `scontrol` lists all nodes below a switch of any height; only leaves have them.
            continue
        for node in hosts(keys.get("nodes", "").replace("(null)", ""), where):
            if leaf_of_node.setdefault(node, name) != name:
                other = leaf_of_node[node]
                raise ClusterError(f"{where}: node {node} is attached to {other} as well")
    if not leaf_of_node:
        raise ClusterError(
            f"{source}: no switch with nodes; allowed: lines such as "
            "SwitchName=s0 Nodes=n[0-15], as in Slurm's topology.conf"
        )
    for below in children.values():
        if unknown := [child for child in below if child not in children]:
            raise ClusterError(f"{source}: switch {unknown[0]} is not described")
    return Topology(leaf_of_node, _islands(dict.fromkeys(leaf_of_node.values()), children, source))


def _islands(
    leaves: Mapping[str, None], children: Mapping[str, tuple[str, ...]], source: str
) -> dict[str, str]:
    """What switches join, but for those above all leaves; named after the highest of them.

    A leaf may be below several switches, as in a fat tree.
    """
    below: dict[str, frozenset[str]] = {}
    # The leaves of a switch follow from those of the switches below it.
    try:
        order = tuple(TopologicalSorter(children).static_order())
    except CycleError as error:
        raise ClusterError(f"{source}: switch {error.args[1][0]} is above itself") from error
    for name in order:
        own = [frozenset([name])] if name in leaves else []
        below[name] = frozenset().union(*own, *(below[child] for child in children[name]))
    island: dict[str, tuple[str, frozenset[str]]] = {
        leaf: (leaf, frozenset([leaf])) for leaf in leaves
    }
    for name in order:
        if name in leaves or not below[name] or len(below[name]) == len(leaves):
            continue
        joined = below[name].union(*(island[leaf][1] for leaf in below[name]))
        largest = max((island[leaf] for leaf in below[name]), key=lambda found: len(found[1]))
        # A switch beside those that join as much already, in a fat tree, names nothing.
        known = len(largest[1]) == len(joined)
        island.update(dict.fromkeys(joined, largest if known else (name, joined)))
    return {leaf: island[leaf][0] for leaf in leaves}
