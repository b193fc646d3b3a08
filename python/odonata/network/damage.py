"""What of a scenario's network `[failures]` takes away, link by link."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from odonata import _engine
from odonata.simulate import ask_engine

if TYPE_CHECKING:
    from odonata.scenario import Scenario


@dataclass(frozen=True)
class Lost:
    """Parts of a network that are out of service.

    Attributes:
        dark: Pairs of routers between which links are out of service, and how many of how many.
        routers: Routers out of service or cut off: they have lost all their links.
        nodes: Nodes out of service; of those with an inside, their ranks.
        uplinks: Ports that lead to optical switches and are dark, by router and number there.
        ranks: How many a node has, each a node of the network; 1 without an inside.
        within: The first of the routers within nodes, which come last.
    """

    dark: Mapping[tuple[int, int], tuple[int, int]]
    routers: tuple[int, ...]
    nodes: tuple[int, ...]
    uplinks: tuple[tuple[int, int], ...] = ()
    ranks: int = 1
    within: int | None = None

    def __bool__(self) -> bool:
        return bool(self.dark or self.routers or self.nodes or self.uplinks)

    def to_json(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "links": [
                {"routers": list(pair), "count": lost, "of": all_}
                for pair, (lost, all_) in self.dark.items()
            ],
            "routers": self._of_network,
            "nodes": self._whole_nodes,
            **(
                {"uplinks": [f"{router}/{port}" for router, port in self.uplinks]}
                if self.uplinks
                else {}
            ),
        }

    @property
    def _of_network(self) -> list[int]:
        """The routers that are not within nodes."""
        return [one for one in self.routers if self.within is None or one < self.within]

    @property
    def _whole_nodes(self) -> list[int]:
        return sorted({rank // self.ranks for rank in self.nodes})

    def sentences(self) -> dict[str, str]:
        """The same for people; links of routers that have failed left out."""
        of_others = {
            pair: lost for pair, lost in self.dark.items() if not {*pair} & {*self.routers}
        }
        return _listed(
            {
                "links between routers": (
                    f"{a} and {b}" + (f" ({lost} of {all_})" if all_ > 1 else "")
                    for (a, b), (lost, all_) in of_others.items()
                ),
                "uplinks of optical switches": (f"{one}/{port}" for one, port in self.uplinks),
                "routers": map(str, self._of_network),
                "nodes": map(str, self._whole_nodes),
            }
        )


@dataclass(frozen=True)
class Damage:
    """What of a network does not work.

    Attributes:
        whole: The network without failures, as ``odonata._engine.topology`` describes it; circuits
            between groups as they are set around what has failed.
        lost: What is out of service from the start of a run on.
        later: What is so for a part of the run alone; without what fails at times that are drawn
            (``mtbf``).
        slower: Pairs of routers between which links have less bandwidth or send packets again
            for all or a part of the run, and how many of them.
    """

    whole: Mapping[str, Any]
    lost: Lost
    later: Lost
    slower: Mapping[tuple[int, int], int]

    def to_json(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            **self.lost.to_json(),
            "slower_links": [
                {"routers": list(pair), "count": count} for pair, count in self.slower.items()
            ],
            "during_run": self.later.to_json(),
        }

    def sentences(self) -> dict[str, dict[str, str]]:
        """The same for people, by headline and what has failed."""
        slower = (
            f"{a} and {b}" + (f" ({count})" if count > 1 else "")
            for (a, b), count in self.slower.items()
        )
        found = {
            "Does not work": {**self.lost.sentences(), **_listed({"slower links between": slower})},
            "Does not work for a part of the run": self.later.sentences(),
        }
        return {name: parts for name, parts in found.items() if parts}


def _listed(found: Mapping[str, Iterable[str]]) -> dict[str, str]:
    texts = {name: ", ".join(parts) for name, parts in found.items()}
    return {name: text for name, text in texts.items() if text}


def damage_of(scenario: Scenario, left: Mapping[str, Any]) -> Damage | None:
    """What a scenario's `[failures]` takes away, or ``None`` if it has none.

    Args:
        scenario: The scenario.
        left: What is left, as ``odonata._engine.topology`` describes it.
    """
    data = scenario.to_dict()
    failures = data.pop("failures", None)
    if not failures:
        return None
    kind = type(scenario)
    if "optical" in data["network"]:
        # Steered or not, uplinks that are dark are those that are laid.
        data["network"]["optical"] = {
            key: value
            for key, value in data["network"]["optical"].items()
            if key in ("switch_ports", "links_per_switch")
        } | {"circuits": "unsteered"}
        unsteered = kind.from_dict({**data, "failures": failures}, directory=scenario.directory)
        left = {**ask_engine(_engine.topology, unsteered), "dark_uplinks": []}
    whole = ask_engine(_engine.topology, kind.from_dict(data, directory=scenario.directory))
    after = _links(left)
    names = {one["name"] for one in whole["description"]["link_classes"]}
    classes = [one["name"] for one in left["description"]["link_classes"]]
    is_slower = [classes[at] not in names for at in left["link_class"]]
    slower = Counter(pair for pair, slow in zip(after, is_slower, strict=True) if slow)
    # Circuits between groups are others, as they are set around what has failed.
    fixed = data["network"].get("family") != "reconfigurable-dragonfly"
    lost, later = _lost(whole, left, fixed=fixed), Lost({}, (), ())
    moments, timed = _moments(failures, data, scenario)
    for moment in moments:
        then = ask_engine(_engine.topology, timed, moment)
        later = _together(later, _without(_lost(whole, then, fixed=fixed), lost))
    if not fixed:
        whole = _with_circuits(whole, left)
    return Damage(whole, lost, later, dict(sorted(slower.items())))


def _with_circuits(whole: Mapping[str, Any], left: Mapping[str, Any]) -> dict[str, Any]:
    """A network without failures, but with the circuits that are set around these."""
    within, circuits = (np.asarray(one["link_kind"]) < 2 for one in (whole, left))
    return {
        key: np.concatenate([np.asarray(values)[within], np.asarray(left[key])[~circuits]])
        if key.startswith("link_")
        else values
        for key, values in whole.items()
    }


def _lost(whole: Mapping[str, Any], left: Mapping[str, Any], *, fixed: bool = True) -> Lost:
    before, after = (_links(one, fixed=fixed) for one in (whole, left))
    counts, lost = Counter(before), Counter(before)
    lost.subtract(after)
    linked = np.unique(np.array([*before, (-1, -1)]))
    still = {end for pair in after for end in pair}
    gone = [int(router) for router in linked if router >= 0 and int(router) not in still]
    ranks = whole["description"].get("ranks_per_node")
    return Lost(
        {pair: (count, counts[pair]) for pair, count in sorted(lost.items()) if count > 0},
        tuple(gone),
        tuple(np.flatnonzero(left.get("node_out_of_service", [])).tolist()),
        tuple(tuple(one) for one in left.get("dark_uplinks", ())),
        ranks or 1,
        None if ranks is None else int(min(whole["node_router"])),
    )


def _without(all_: Lost, lost: Lost) -> Lost:
    """What is out of service besides."""
    dark = {
        pair: (count - lost.dark.get(pair, (0, of))[0], of)
        for pair, (count, of) in all_.dark.items()
    }
    return replace(
        all_,
        dark={pair: (count, of) for pair, (count, of) in dark.items() if count},
        routers=tuple(one for one in all_.routers if one not in lost.routers),
        nodes=tuple(one for one in all_.nodes if one not in lost.nodes),
        uplinks=tuple(one for one in all_.uplinks if one not in lost.uplinks),
    )


def _together(one: Lost, other: Lost) -> Lost:
    """What is out of service at either of two times."""
    dark = {
        pair: max(one.dark.get(pair, (0, 0)), other.dark.get(pair, (0, 0)))
        for pair in sorted({*one.dark, *other.dark})
    }
    return replace(
        other,
        dark=dark,
        routers=tuple(sorted({*one.routers, *other.routers})),
        nodes=tuple(sorted({*one.nodes, *other.nodes})),
        uplinks=tuple(sorted({*one.uplinks, *other.uplinks})),
    )


def _moments(
    failures: Mapping[str, Any], data: Mapping[str, Any], scenario: Scenario
) -> tuple[list[int], Scenario]:
    """When something goes out of service or works again.

    Returns:
        These times in ps, and a scenario in which nothing does at times that are drawn.
    """
    # What is drawn over time keeps its place among the draws, and does not fail in any run.
    drawn = [
        {**entry, "mtbf": "10000000 s"} if "mtbf" in entry else entry
        for entry in failures.get("draw", ())
    ]
    timed = {**failures, **({"draw": drawn} if drawn else {})}
    kept = type(scenario).from_dict({**data, "failures": timed}, directory=scenario.directory)
    form = kept.normalised()["network"]["failures"]
    entries = [*form["links"], *form["draw"], *form.get("outages", ())]
    # Links that become slower keep their times: they are not out of service.
    dark = [one for one in entries if not (one.get("bandwidth") or one.get("error_rate"))]
    times = {one.get(key) for one in dark for key in ("at_ps", "until_ps")} - {None}
    return sorted({0, *times}) if times else [], kept


def _links(described: Mapping[str, Any], *, fixed: bool = True) -> list[tuple[int, int]]:
    """The routers of each link, the lower one first; only within groups, if not `fixed`."""
    kept = np.asarray(described["link_kind"]) < (3 if fixed else 2)
    ends = zip(described["link_a"][kept].tolist(), described["link_b"][kept].tolist(), strict=True)
    return [(min(pair), max(pair)) for pair in ends]
