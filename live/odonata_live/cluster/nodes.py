"""Which node of a cluster is attached to which switch, and what the switches above them join."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from odonata.errors import ClusterError
from odonata_live.cluster.queue import hosts

#: What asks a cluster for its nodes: every name once for each of its partitions.
COMMAND = ("sinfo", "--noheader", "--Node", "--format=%N")


@dataclass(frozen=True)
class Topology:
    """Which node is attached to which switch, as Slurm's topology plugin has it.

    Attributes:
        leaf_of_node: Name of the switch, or block, that each node is attached to.
        island_of_leaf: Of each of them, the name of what switches join that are not above all
            leaves: of the highest such switch, of a leaf without one its own.
        below: Switches above the leaves with those below each, where Slurm's files tell them.
    """

    leaf_of_node: Mapping[str, str]
    island_of_leaf: Mapping[str, str]
    below: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def island_of_node(self) -> dict[str, str]:
        """The island of each node."""
        return {node: self.island_of_leaf[leaf] for node, leaf in self.leaf_of_node.items()}


@dataclass(frozen=True)
class Switch:
    """A switch, or block, as Slurm's files describe it.

    Attributes:
        line: Where, from 1.
        name: Its name.
        switches: List of the switches below it.
        nodes: List of the nodes on it.
    """

    line: int
    name: str
    switches: str = ""
    nodes: str = ""


def tree(switches: Iterable[Switch], source: str) -> Topology:
    """The topology that switches make.

    Raises:
        ClusterError: If there are none with nodes, one is above itself or not described, or a node
            is attached to two; says in which lines.
    """
    leaf_of_node: dict[str, str] = {}
    line_of: dict[str, int] = {}
    children: dict[str, tuple[str, ...]] = {}
    for one in switches:
        where = f"{source}: line {one.line}"
        if one.name in children:
            raise ClusterError(
                f"{where}: switch {one.name} is described twice, first in line {line_of[one.name]}"
            )
        line_of[one.name] = one.line
        children[one.name] = hosts(one.switches.replace("(null)", ""), where)
        if children[one.name]:
            # `scontrol` lists all nodes below a switch of any height; only leaves have them.
            continue
        for node in hosts(one.nodes.replace("(null)", ""), where):
            other = leaf_of_node.setdefault(node, one.name)
            if other != one.name:
                raise ClusterError(
                    f"{where}: node {node} is attached to {one.name}, and to {other} in line "
                    f"{line_of[other]}; allowed: one switch of each node"
                )
    if not leaf_of_node:
        raise ClusterError(
            f"{source}: no switch with nodes; allowed: lines such as "
            "SwitchName=s0 Nodes=n[0-15], as in Slurm's topology.conf"
        )
    for name, below in children.items():
        if unknown := [child for child in below if child not in children]:
            raise ClusterError(
                f"{source}: line {line_of[name]}: switch {unknown[0]}, below {name}, is not "
                "described"
            )
    leaves = dict.fromkeys(leaf_of_node.values())
    above = {name: below for name, below in children.items() if below}
    return Topology(leaf_of_node, _islands(leaves, children, source), above)


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
