"""How many routers routes visit, counted on the wiring itself and not by the routing code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import odonata._engine as _engine
from odonata.scenario import Scenario
from odonata.simulate import ask_engine

#: Kind of global links in the engine's wiring.
GLOBAL = 2


class Routes:
    """Routes of a dragonfly of all-to-all groups with one link between any two of them.

    Args:
        scenario: With this network.
    """

    def __init__(self, scenario: Scenario) -> None:
        wiring = ask_engine(_engine.topology, scenario)
        self._group = [int(group) for group in wiring["group_of_router"]]
        self._groups = max(self._group) + 1
        #: Router of a group that has the link to another group.
        self._gate: dict[tuple[int, int], int] = {}
        for a, b, kind in zip(wiring["link_a"], wiring["link_b"], wiring["link_kind"], strict=True):
            if kind == GLOBAL:
                self._gate[self._group[a], self._group[b]] = int(a)
                self._gate[self._group[b], self._group[a]] = int(b)
        self._nodes = Counter(int(router) for router in wiring["node_router"])

    def _visited(self, source: int, groups: tuple[int, ...], destination: int) -> int:
        """Routers on the way from a router to another one by way of these groups."""
        here, routers = source, 1
        for group in groups:
            gate = self._gate[self._group[here], group]
            routers += gate != here
            here = self._gate[group, self._group[gate]]
            routers += 1
        return routers + (here != destination)

    def minimal_uniform(self) -> dict[int, float]:
        """Share of packets by routers visited: minimal routes, any other node."""
        counts: Counter[int] = Counter()
        for source, senders in self._nodes.items():
            for destination, receivers in self._nodes.items():
                pairs = senders * (receivers - (source == destination))
                there = self._group[destination]
                groups = () if there == self._group[source] else (there,)
                counts[self._visited(source, groups, destination)] += pairs
        return _shares(counts)

    def minimal_to_next_group(self) -> dict[int, float]:
        """The same to any node of the next group."""
        counts: Counter[int] = Counter()
        for source, destination in self._to_next_group():
            there = self._group[destination]
            counts[self._visited(source, (there,), destination)] += 1
        return _shares(counts)

    def valiant_to_next_group(self) -> dict[int, float]:
        """The same by way of a random third group."""
        counts: Counter[int] = Counter()
        for source, destination in self._to_next_group():
            here, there = self._group[source], self._group[destination]
            for between in range(self._groups):
                if between not in (here, there):
                    counts[self._visited(source, (between, there), destination)] += 1
        return _shares(counts)

    def _to_next_group(self) -> list[tuple[int, int]]:
        routers = range(len(self._group))
        return [
            (source, destination)
            for source in routers
            for destination in routers
            if (self._group[source] + 1) % self._groups == self._group[destination]
        ]


def _shares(counts: Mapping[int, int]) -> dict[int, float]:
    total = sum(counts.values())
    return {routers: count / total for routers, count in counts.items()}
