"""Where a probe's ranks sit: idle nodes of one group, of one island, or of several.

The placements of Salimi Beni and Cosenza (2022), section 4.1, made from what Slurm says of its
switches and nodes.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Mapping

from odonata.errors import ClusterError
from odonata_live.cluster.model import read_nodes
from odonata_live.cluster.nodes import Topology

#: Names of the placements. `any` leaves the choice to Slurm.
PLACEMENTS = ("same-group", "same-island", "different-islands", "any")

#: What asks a cluster for its switches.
TOPOLOGY_COMMAND = ("scontrol", "show", "topology")


class NoNodesError(ClusterError):
    """There are no such nodes idle now; later there may be."""


def idle_nodes_command(partition: str | None) -> tuple[str, ...]:
    """What asks a cluster for its idle nodes, of a partition or of all."""
    asked = ("sinfo", "--noheader", "--Node", "--states=idle", "--format=%N")
    return asked if partition is None else (*asked, f"--partition={partition}")


def read_idle_nodes(text: str) -> tuple[str, ...]:
    """Names of idle nodes, none if there are none."""
    return read_nodes(text, "sinfo --states=idle") if text.strip() else ()


def choose_nodes(
    placement: str,
    count: int,
    idle: Collection[str],
    topology: Topology,
    chance: random.Random,
    *,
    islands: int | None = None,
) -> tuple[str, ...]:
    """Idle nodes placed as asked; which of several possible ones is drawn.

    *same-group*: all on one leaf switch. *same-island*: in one island, spread as evenly as possible
    over its groups, at least two. *different-islands*: as many in each island as in the next, over
    all islands or as many as asked, and inside each spread over its groups.

    Args:
        placement: One of :data:`PLACEMENTS` but `any`.
        count: Nodes that are wanted.
        idle: Names of nodes that are idle.
        topology: Which node is attached to which switch.
        chance: Draws.
        islands: How many islands, for *different-islands*.

    Returns:
        Names of nodes; the ranks sit on them in Slurm's order.

    Raises:
        NoNodesError: If no such nodes are idle; says what is.
        ClusterError: If there can be none, whatever is idle.
    """
    if count < 2:
        raise ClusterError(f"found {count} nodes for a probe; allowed: at least 2")
    free = [node for node in idle if node in topology.leaf_of_node]
    groups_of_island: dict[str, list[str]] = {}
    for group in dict.fromkeys(topology.leaf_of_node.values()):
        groups_of_island.setdefault(topology.island_of_leaf[group], []).append(group)
    idle_of_group: dict[str, list[str]] = {group: [] for group in topology.island_of_leaf}
    for node in free:
        idle_of_group[topology.leaf_of_node[node]].append(node)
    for nodes in idle_of_group.values():
        chance.shuffle(nodes)
    if placement == "same-group":
        return _same_group(count, idle_of_group, _sizes(topology.leaf_of_node.values()), chance)
    if placement == "same-island":
        return _same_island(count, idle_of_group, groups_of_island, topology, chance)
    if placement == "different-islands":
        return _different_islands(count, idle_of_group, groups_of_island, chance, islands)
    raise ClusterError(f"found placement {placement!r}; allowed: {', '.join(PLACEMENTS)}")


def _sizes(names: Iterable[str]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for name in names:
        sizes[name] = sizes.get(name, 0) + 1
    return sizes


def _same_group(
    count: int,
    idle_of_group: Mapping[str, list[str]],
    sizes: Mapping[str, int],
    chance: random.Random,
) -> tuple[str, ...]:
    if max(sizes.values()) < count:
        raise ClusterError(
            f"same-group: no switch has {count} nodes; the largest has {max(sizes.values())}"
        )
    fit = [group for group, nodes in idle_of_group.items() if len(nodes) >= count]
    if not fit:
        group, nodes = max(idle_of_group.items(), key=lambda item: len(item[1]))
        raise NoNodesError(
            f"same-group: no switch has {count} idle nodes now; most are on {group}: {len(nodes)}"
        )
    return tuple(idle_of_group[chance.choice(fit)][:count])


def _same_island(
    count: int,
    idle_of_group: Mapping[str, list[str]],
    groups_of_island: Mapping[str, list[str]],
    topology: Topology,
    chance: random.Random,
) -> tuple[str, ...]:
    of_several = {name: groups for name, groups in groups_of_island.items() if len(groups) > 1}
    if not of_several:
        raise ClusterError(
            "same-island: no island of this topology has several groups: no switch but the highest "
            "joins others"
        )
    sizes = _sizes(topology.island_of_node().values())
    if max(sizes[island] for island in of_several) < count:
        raise ClusterError(f"same-island: no island of several groups has {count} nodes")
    idle = {
        island: [idle_of_group[group] for group in groups if idle_of_group[group]]
        for island, groups in of_several.items()
    }
    fit = [name for name, lists in idle.items() if len(lists) > 1 and sum(map(len, lists)) >= count]
    if not fit:
        island = max(idle, key=lambda name: sum(map(len, idle[name])))
        raise NoNodesError(
            f"same-island: no island has {count} idle nodes in at least 2 groups now; most are in "
            f"{island}: {sum(map(len, idle[island]))} in {len(idle[island])} groups"
        )
    return _in_turn(idle[chance.choice(fit)], count, chance)


def _different_islands(
    count: int,
    idle_of_group: Mapping[str, list[str]],
    groups_of_island: Mapping[str, list[str]],
    chance: random.Random,
    islands: int | None,
) -> tuple[str, ...]:
    if len(groups_of_island) < 2:
        raise ClusterError("different-islands: the topology has one island")
    wanted = min(len(groups_of_island), count) if islands is None else islands
    if not 2 <= wanted <= min(len(groups_of_island), count):
        raise ClusterError(
            f"found {wanted} islands for {count} nodes; allowed: 2 to "
            f"{min(len(groups_of_island), count)}"
        )
    idle = {
        island: [idle_of_group[group] for group in groups]
        for island, groups in groups_of_island.items()
    }
    held = {island: sum(map(len, lists)) for island, lists in idle.items()}
    # Groups with more idle nodes take the remainder, if the count does not divide.
    order = sorted(held, key=lambda name: (-held[name], chance.random()))
    least, more = divmod(count, wanted)
    fit = [name for name in order if held[name] >= least]
    large = [name for name in fit if held[name] > least]
    if len(fit) < wanted or len(large) < more:
        raise NoNodesError(
            f"different-islands: {wanted} islands with {least + (more > 0)} idle nodes each are "
            "needed; now there are " + ", ".join(f"{held[name]} in {name}" for name in order)
        )
    chosen = chance.sample(large, more)
    others = [name for name in fit if name not in chosen]
    chosen += chance.sample(others, wanted - more)
    return tuple(
        node
        for index, island in enumerate(chosen)
        for node in _in_turn(idle[island], least + (index < more), chance)
    )


def _in_turn(lists: list[list[str]], count: int, chance: random.Random) -> tuple[str, ...]:
    """One node of each list after the other, until there are enough."""
    lists = [list(nodes) for nodes in lists if nodes]
    chance.shuffle(lists)
    taken: list[str] = []
    while len(taken) < count:
        for nodes in lists:
            if nodes and len(taken) < count:
                taken.append(nodes.pop())
    return tuple(taken)
