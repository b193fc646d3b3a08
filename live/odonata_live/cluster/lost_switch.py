"""A switch of a cluster's network that goes out of service without any node, as a spine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from odonata import ScenarioError, _engine
from odonata.errors import ClusterError
from odonata.network.subnets import ports_of_hosts, read_subnet
from odonata.scenario import as_scenario
from odonata.simulate import ask_engine

if TYPE_CHECKING:
    from odonata.scenario import Scenario, ScenarioLike


@dataclass(frozen=True)
class LostSwitch:
    """What a network is without a switch.

    Attributes:
        name: The switch.
        machine: The network's scenario without it.
        neighbours: Switches that have lost links to it.
        left: Links to other switches that the one of them keeps that loses most.
        links: Links to other switches that this one had.
        hosts: Hosts that keep their node, which is on the switch of their first adapter, and lose
            another adapter (a rail), which a node has no link of its own for.
    """

    name: str
    machine: Scenario
    neighbours: int
    left: int
    links: int
    hosts: tuple[str, ...] = ()

    def sentence(self) -> str:
        """For people."""
        loses = "no node loses its way"
        if self.hosts:
            some = ", ".join(self.hosts[:3]) + (", …" if len(self.hosts) > 3 else "")
            loses = (
                f"{len(self.hosts)} {'host loses' if len(self.hosts) == 1 else 'hosts lose'} a "
                f"rail, an adapter on it ({some}), though none is cut off; the network does "
                "not show it: a node is on the switch of its first adapter with all bandwidth"
            )
        return (
            f"without switch {self.name} {loses}; its {self.neighbours} neighbours keep "
            f"{self.left} of {self.links} links or more ({self.left / self.links:.0%} of the "
            "bandwidth to others)"
        )

    def to_json(self) -> dict[str, Any]:
        """For ``--json``."""
        return {
            "switch": self.name,
            "neighbours": self.neighbours,
            "links_left": self.left,
            "links": self.links,
            "hosts_without_a_rail": list(self.hosts),
        }


def lost_switch(machine: ScenarioLike, name: str) -> LostSwitch:
    """What a machine's network is without a switch.

    Args:
        machine: Scenario with the network.
        name: A switch by the name that it has in the wiring file, or a router's number.

    Raises:
        ClusterError: If there is no such switch, or nodes lose their way with it.
    """
    scenario = as_scenario(machine)
    data = scenario.to_dict()
    failures = data.setdefault("failures", {})
    key, one = ("routers", int(name)) if name.isdigit() else ("switches", name)
    known = failures.get(key, [])
    failures[key] = [*known, one] if isinstance(known, list) else f"{known}, {one}"
    try:
        without = type(scenario).from_dict(data, directory=scenario.directory)
        before, after = (ask_engine(_engine.topology, case) for case in (scenario, without))
    except ScenarioError as error:
        raise ClusterError(f"--without {name}: {error}") from None
    lost = _out(after) - _out(before)
    if lost:
        raise ClusterError(
            f"--without {name}: takes {len(lost)} nodes with it; allowed: a switch that no node "
            "needs, such as a spine; name these nodes, or the switch as Slurm's topology does"
        )
    had, has = _links(before), _links(after)
    neighbours = [router for router in had if 0 < has[router] < had[router]]
    if not neighbours:
        raise ClusterError(f"--without {name}: has no links to other switches that work")
    worst = min(neighbours, key=lambda router: (has[router] / had[router], router))
    cut_off = {router for router in had if not has[router]}
    hosts = _rails(scenario, cut_off)
    return LostSwitch(name, without, len(neighbours), has[worst], had[worst], hosts)


def _rails(machine: Scenario, routers: set[int]) -> tuple[str, ...]:
    """Hosts with an adapter on one of these routers, and their node on another one."""
    network = machine.to_dict()["network"]
    if network.get("family") != "ibnetdiscover" or network.get("interfaces", "joined") != "joined":
        return ()
    hosts = ports_of_hosts(read_subnet(machine.directory / network["file"]))
    return tuple(
        host
        for host, (first, *others) in hosts.items()
        if first["switch"] not in routers and any(port["switch"] in routers for port in others)
    )


def _out(described: Mapping[str, Any]) -> set[int]:
    """Nodes out of service."""
    return {node for node, out in enumerate(described.get("node_out_of_service", ())) if out}


def _links(described: Mapping[str, Any]) -> Counter[int]:
    """Links of each router to others."""
    return Counter([*described["link_a"].tolist(), *described["link_b"].tolist()])
