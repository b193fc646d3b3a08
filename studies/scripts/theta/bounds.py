"""Times that AMG cannot beat, computed from the matrix and the wiring alone, without simulating.

Each is the most bytes that something has to carry, divided by what it can carry per second. Zero
latency, perfectly shared links: a simulation can only be slower. Which something has to carry what
depends on the freedom that routing has; each bound says for which algorithms it holds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from odonata import Result

EVERY = ("minimal", "UGAL-L", "PAR", "PAR + groups", "Valiant")
#: Algorithms that never leave the only way between two routers of a group: first along the row,
#: then along the column.
DIRECT_IN_GROUP = ("minimal", "UGAL-L", "PAR")
#: Algorithms that always use the links between the two groups concerned.
DIRECT_BETWEEN_GROUPS = ("minimal",)


@dataclass(frozen=True)
class Traffic:
    """What is sent: one entry per ordered pair of ranks. Shapes: pairs."""

    source: np.ndarray
    target: np.ndarray
    bytes: np.ndarray


@dataclass(frozen=True)
class Place:
    """Where each rank of job 0 sits. Shapes: ranks."""

    node: np.ndarray
    router: np.ndarray
    group: np.ndarray

    @classmethod
    def of(cls, result: Result) -> Place:
        """As the result says."""
        ranks = result.to_pandas("placement").query("job == 0").sort_values("rank")
        return cls(ranks.node.to_numpy(), ranks.router.to_numpy(), ranks.group.to_numpy())


@dataclass(frozen=True)
class Bound:
    """A time that cannot be beaten under the named routing algorithms."""

    name: str
    seconds: float
    holds_for: tuple[str, ...]


def all_bounds(traffic: Traffic, place: Place, links: pd.DataFrame) -> list[Bound]:
    """Every bound of the study.

    Args:
        traffic: What the ranks send.
        place: Where they sit.
        links: The result's table of links: what is wired, and how fast it is.
    """
    source, target = place.node[traffic.source], place.node[traffic.target]
    away = source != target
    traffic = Traffic(traffic.source[away], traffic.target[away], traffic.bytes[away])
    return [
        Bound("terminal", _terminal(traffic, place, links), EVERY),
        Bound("router", _cut(traffic, place.router, _router_ends(links)), EVERY),
        Bound("chassis", _cut(traffic, place.router // ROW, _chassis_ends(links)), EVERY),
        Bound("group", _cut(traffic, place.group, _group_ends(links)), EVERY),
        Bound("green", _green(traffic, place, links), DIRECT_IN_GROUP),
        Bound("group_pair", _group_pair(traffic, place, links), DIRECT_BETWEEN_GROUPS),
    ]


#: Routers in a row of a Cray XC group: a chassis.
ROW = 16
#: Routers in a group.
GROUP = 96


def _terminal(traffic: Traffic, place: Place, links: pd.DataFrame) -> float:
    """The node that sends or receives most, through its terminal link."""
    rate = links[links["class"] == "terminal"].bandwidth_bytes_per_s.min()
    sent = np.bincount(place.node[traffic.source], traffic.bytes)
    received = np.bincount(place.node[traffic.target], traffic.bytes)
    return float(max(sent.max(), received.max()) / rate)


def _cut(traffic: Traffic, part: np.ndarray, ends: pd.DataFrame) -> float:
    """The part of the machine whose links have most to carry, out of it or into it.

    Args:
        traffic: What the ranks send.
        part: Where each rank sits: router, chassis or group.
        ends: Columns ``source`` and ``target``, the parts that each link joins, and its
            ``rate`` (B/s).
    """
    source, target = part[traffic.source], part[traffic.target]
    cross = source != target
    if not cross.any():
        return 0.0
    outside = ends[ends.source != ends.target]
    rate_out = outside.groupby("source").rate.sum()
    rate_in = outside.groupby("target").rate.sum()
    out = pd.Series(traffic.bytes[cross]).groupby(source[cross]).sum() / rate_out
    into = pd.Series(traffic.bytes[cross]).groupby(target[cross]).sum() / rate_in
    return float(max(out.max(), into.max()))


def _between_routers(links: pd.DataFrame) -> pd.DataFrame:
    return links[links["kind"] != "terminal"]


def _ends(source: Iterable[int], target: Iterable[int], rate: Iterable[int]) -> pd.DataFrame:
    return pd.DataFrame({"source": source, "target": target, "rate": rate})


def _router_ends(links: pd.DataFrame) -> pd.DataFrame:
    links = _between_routers(links)
    return _ends(links.from_router, links.to_router, links.bandwidth_bytes_per_s)


def _chassis_ends(links: pd.DataFrame) -> pd.DataFrame:
    links = _between_routers(links)
    return _ends(links.from_router // ROW, links.to_router // ROW, links.bandwidth_bytes_per_s)


def _group_ends(links: pd.DataFrame) -> pd.DataFrame:
    links = _between_routers(links)
    return _ends(links.from_group, links.to_group, links.bandwidth_bytes_per_s)


def _green(traffic: Traffic, place: Place, links: pd.DataFrame) -> float:
    """The green link that has most to carry for ranks of its own group.

    From one router to another of its group goes first along the row, over the one green link to
    the column of the other, then along that column.
    """
    source, target = place.router[traffic.source], place.router[traffic.target]
    inside = (source // GROUP == target // GROUP) & (source % ROW != target % ROW)
    if not inside.any():
        return 0.0
    green = links[links["class"] == "green"]
    assert not green.duplicated(["from_router", "to_router"]).any(), "green links are single"
    corner = source[inside] // ROW * ROW + target[inside] % ROW
    link = source[inside].astype(np.int64) * 1_000_000 + corner
    most = pd.Series(traffic.bytes[inside]).groupby(link).sum().max()
    return float(most / green.bandwidth_bytes_per_s.min())


def _group_pair(traffic: Traffic, place: Place, links: pd.DataFrame) -> float:
    """The pair of groups whose own links have most to carry."""
    source, target = place.group[traffic.source], place.group[traffic.target]
    cross = source != target
    if not cross.any():
        return 0.0
    blue = links[links["kind"] == "global"]
    rate = blue.groupby(["from_group", "to_group"]).bandwidth_bytes_per_s.sum()
    keys = pd.MultiIndex.from_arrays([source[cross], target[cross]], names=rate.index.names)
    asked = pd.Series(traffic.bytes[cross], index=keys).groupby(level=[0, 1]).sum()
    return float((asked / rate).max())
