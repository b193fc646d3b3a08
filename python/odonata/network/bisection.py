"""How much bandwidth lies between two halves of a machine, by arrangement and ratio of bandwidths.

The *bisection width* is the least bandwidth, one direction, between two halves of the machine with
the same number of nodes. α is the bandwidth of a global link by that of a local one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from odonata import names
from odonata.errors import Problem, ScenarioError
from odonata.scenario import Scenario

#: Partial assignments at which a search for the exact width gives up.
STEPS = 2_000_000

#: Arrangements that a sweep compares: those that need no file.
ARRANGEMENTS = tuple(name for name in names.ARRANGEMENT if name != "custom")


@dataclass(frozen=True)
class Width:
    """The bisection width of a network, exactly or between bounds.

    Attributes:
        network: The network.
        bandwidth_bytes_per_s: Between the halves found: the width if ``is_exact``, otherwise an
            upper bound of it.
        lower_bound_bytes_per_s: No halves have less between them.
        is_exact: Whether it is shown that no halves have less between them.
        imbalance_nodes: By how many nodes the halves differ.
        halves_every_group: Whether every group has as many routers in one half as in the other (a
            *balanced cut*).
        cut_links: Links between the halves by link class: ``class``, ``kind``, ``links``,
            ``bandwidth_bytes_per_s``.
        routers_of_groups_in_second_half: How many of each group's.
        first_half_nodes: Numbers of the nodes of one half, ascending.
        second_half_nodes: Those of the other.
        steps: Partial assignments that the search looked at.
        arrangement: In a sweep: the global link arrangement.
        alpha: In a sweep: bandwidth of a global link by that of a local one.
        local_links: In a sweep: ``bandwidth_bytes_per_s`` in local links.
        lower_bound_local_links: In a sweep: ``lower_bound_bytes_per_s`` in local links.
    """

    network: str
    bandwidth_bytes_per_s: int
    lower_bound_bytes_per_s: int
    is_exact: bool
    imbalance_nodes: int
    halves_every_group: bool
    cut_links: list[dict[str, Any]]
    routers_of_groups_in_second_half: list[int]
    first_half_nodes: list[int]
    second_half_nodes: list[int]
    steps: int
    arrangement: str | None = None
    alpha: float | None = None
    local_links: float | None = None
    lower_bound_local_links: float | None = None

    def links(self, kind: str) -> int:
        """Links of a kind (``local``, ``global``) between the halves."""
        return sum(entry["links"] for entry in self.cut_links if entry["kind"] == kind)


def bisection_width(scenario: Scenario, steps: int = STEPS) -> Width:
    """The bisection width of a scenario's network.

    Args:
        scenario: Its jobs do not count.
        steps: Partial assignments after which the search for the exact width gives up and bounds
            are given instead; a million take some seconds.

    Raises:
        ScenarioError: If the network cannot be built.
    """
    from odonata import _engine
    from odonata.simulate import ask_engine

    found: dict[str, Any] = ask_engine(_engine.bisection, scenario, steps)
    del found["nodes"], found["routers"]
    return Width(**found)


def bisection_sweep(
    scenario: Scenario,
    alphas: Sequence[float],
    arrangements: Sequence[str] = ARRANGEMENTS,
    steps: int = STEPS,
) -> Iterator[Width]:
    """Bisection widths of a dragonfly over α for several arrangements.

    Local links keep the bandwidth of the scenario, global ones get α times that.

    Args:
        scenario: A dragonfly with all-to-all groups.
        alphas: Values of α, above 0.
        arrangements: Global link arrangements.
        steps: As of ``bisection_width``.

    Yields:
        Arrangement after arrangement, each for all α.

    Raises:
        ScenarioError: If the scenario's network is no such dragonfly.
    """
    network = scenario.normalised()["network"]
    family = network["topology"].get("family")
    if family != "dragonfly":
        what = f'α is swept for family = "dragonfly", not for "{family}"; leave --alpha out'
        raise ScenarioError([Problem("network.family", what)])
    described = _classes(scenario)
    if "local" not in described:
        what = 'α is swept for group = "all-to-all", whose links are all alike; leave --alpha out'
        raise ScenarioError([Problem("network.group", what)])
    local = described["local"]
    for arrangement in arrangements:
        for alpha in alphas:
            changed = scenario.with_set(
                {
                    "network.arrangement": arrangement,
                    "network.links.global.bandwidth": f"{round(local * alpha)} B/s",
                }
            )
            width = bisection_width(changed, steps)
            yield Width(
                **{
                    **vars(width),
                    "arrangement": arrangement,
                    "alpha": alpha,
                    "local_links": width.bandwidth_bytes_per_s / local,
                    "lower_bound_local_links": width.lower_bound_bytes_per_s / local,
                }
            )


def _classes(scenario: Scenario) -> dict[str, int]:
    """Bandwidth in bytes per second of each link class."""
    from odonata import _engine
    from odonata.simulate import ask_engine

    described = ask_engine(_engine.topology, scenario)["description"]
    return {entry["name"]: entry["bandwidth_bytes_per_s"] for entry in described["link_classes"]}
