"""What of a scenario's network `[failures]` takes away, link by link."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from odonata import _engine
from odonata.simulate import ask_engine

if TYPE_CHECKING:
    from odonata.scenario import Scenario

#: Links and nodes that are printed of each sort.
_MOST_PRINTED = 12


@dataclass(frozen=True)
class Damage:
    """What does not work from the start of a run on; links that go dark later are not in it.

    Attributes:
        whole: The network without failures, as ``odonata._engine.topology`` describes it.
        dark: Pairs of routers between which links are out of service, and how many of how many.
        slower: Pairs of routers between which links have less bandwidth or send packets again
            for all or a part of the run, and how many of them.
        routers: Routers out of service or cut off: they have lost all their links.
        nodes: Nodes out of service.
    """

    whole: Mapping[str, Any]
    dark: Mapping[tuple[int, int], tuple[int, int]]
    slower: Mapping[tuple[int, int], int]
    routers: tuple[int, ...]
    nodes: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "links": [
                {"routers": list(pair), "count": lost, "of": all_}
                for pair, (lost, all_) in self.dark.items()
            ],
            "slower_links": [
                {"routers": list(pair), "count": count} for pair, count in self.slower.items()
            ],
            "routers": list(self.routers),
            "nodes": list(self.nodes),
        }

    def sentences(self) -> dict[str, str]:
        """The same for people, by what has failed; links of routers that have failed left out."""
        of_others = {
            pair: lost for pair, lost in self.dark.items() if not {*pair} & {*self.routers}
        }
        found = {
            "links between routers": [
                f"{a} and {b}" + (f" ({lost} of {all_})" if all_ > 1 else "")
                for (a, b), (lost, all_) in of_others.items()
            ],
            "slower links between": [
                f"{a} and {b}" + (f" ({count})" if count > 1 else "")
                for (a, b), count in self.slower.items()
            ],
            "routers": [str(router) for router in self.routers],
            "nodes": [str(node) for node in self.nodes],
        }
        return {name: _listed(parts) for name, parts in found.items() if parts}


def _listed(parts: list[str]) -> str:
    more = len(parts) - _MOST_PRINTED
    return ", ".join(parts[:_MOST_PRINTED]) + (f" and {more:,} more" if more > 0 else "")


def damage_of(scenario: Scenario, left: Mapping[str, Any]) -> Damage | None:
    """What a scenario's `[failures]` takes away, or ``None`` if it has none.

    Args:
        scenario: The scenario.
        left: What is left, as ``odonata._engine.topology`` describes it.
    """
    data = scenario.to_dict()
    if not data.pop("failures", None):
        return None
    undamaged = type(scenario).from_dict(data, directory=scenario.directory)
    whole = ask_engine(_engine.topology, undamaged)
    before, after = _links(whole), _links(left)
    names = {one["name"] for one in whole["description"]["link_classes"]}
    classes = [one["name"] for one in left["description"]["link_classes"]]
    is_slower = [classes[at] not in names for at in left["link_class"]]
    slower = Counter(pair for pair, slow in zip(after, is_slower, strict=True) if slow)
    counts, lost = Counter(before), Counter(before)
    lost.subtract(after)
    linked = np.unique(np.array([*before, (-1, -1)]))
    still = {end for pair in after for end in pair}
    gone = [int(router) for router in linked if router >= 0 and int(router) not in still]
    return Damage(
        whole,
        {pair: (count, counts[pair]) for pair, count in sorted(lost.items()) if count > 0},
        dict(sorted(slower.items())),
        tuple(gone),
        tuple(np.flatnonzero(left.get("node_out_of_service", [])).tolist()),
    )


def _links(described: Mapping[str, Any]) -> list[tuple[int, int]]:
    """The routers of each link, the lower one first."""
    ends = zip(described["link_a"].tolist(), described["link_b"].tolist(), strict=True)
    return [(min(pair), max(pair)) for pair in ends]
