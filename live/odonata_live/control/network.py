"""The network that optical switches belong to: which circuits a job gets, and which ways lead."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from odonata import _engine
from odonata.errors import ControlError
from odonata.network.steering import UplinkSwitch, steer_uplinks
from odonata.output import write_file
from odonata.scenario import Scenario
from odonata.simulate import ask_engine
from odonata_live.control.circuits import Connections

#: A port that is owned: number of switch, side, port.
Owned = tuple[int, str, int]
#: Circuits by number of switch, each an ingress and an egress port, and the ports that are owned.
Chosen = tuple[dict[int, set[tuple[int, int]]], set[Owned]]
#: Group, router and port of the router behind a port of a switch.
Hop3 = tuple[int, int, int]
#: A hop: the router, and the port that a packet leaves it by, from 0.
Hop = tuple[int, int]


@dataclass(frozen=True)
class Network:
    """A scenario's network, whose optical switches are real.

    Attributes:
        scenario: The scenario, without its jobs and without circuits.
        nodes: Names of its nodes, in their order.
    """

    scenario: Scenario
    nodes: tuple[str, ...]

    @classmethod
    def from_file(cls, file: Path, nodes: str, *, optical: bool = True) -> Network:
        """Reads the network of a scenario.

        Args:
            file: The scenario.
            nodes: Names of its nodes, a host list.
            optical: Whether it is to have optical switches; otherwise it is to have none.

        Raises:
            ScenarioError: If there is none, or it cannot be simulated.
            ControlError: If it has no optical switches or has some, as `optical` says, it has
                failures, or `nodes` are not as many as its nodes.
        """
        return cls.of(Scenario.from_file(file), nodes, str(file), optical=optical)

    @classmethod
    def of(
        cls, scenario: Scenario, nodes: str, where: str = "scenario", *, optical: bool = True
    ) -> Network:
        """The network of a scenario; see :meth:`from_file`."""
        data = scenario.to_dict()
        data.pop("job", None)
        network = data["network"]
        has_switches = network["family"] == "reconfigurable-dragonfly" or "optical" in network
        if not optical:
            if has_switches:
                raise ControlError(
                    f"{where}: network: found optical switches; allowed: a network without, or "
                    "[[switch]] for each"
                )
            if "failures" in data:
                raise ControlError(
                    f"{where}: failures: found a table; allowed: none, as routers say what of the "
                    "network does not work"
                )
        elif network["family"] == "reconfigurable-dragonfly":
            # How circuits are chosen for jobs is for `circuits` to know.
            _set_circuits(network, "jobs", network.get("steering"))
        elif "optical" in network:
            _set_circuits(network["optical"], "unsteered")
        else:
            raise ControlError(
                f"{where}: network.family: found {network['family']} without optical switches; "
                "allowed: reconfigurable-dragonfly, fat-tree with [network.optical]"
            )
        try:
            names = tuple(_engine.expand_hostlist(nodes))
        except ValueError as error:
            raise ControlError(f"nodes: {error}") from None
        found = cls(Scenario.from_dict(data, file=where, directory=scenario._directory), names)
        if len(names) != len(found._router_of_node) or len(set(names)) != len(names):
            raise ControlError(
                f"nodes: found {len(set(names))} names; allowed: one for each of the "
                f"{len(found._router_of_node)} nodes of the network"
            )
        return found

    # --- Structure ------------------------------------------------------------------

    @cached_property
    def _plant(self) -> tuple[bool, list[list[Hop3]], list[list[Hop3]]]:
        plant = _engine.optical_plant(self.scenario.normalised_json())
        return (False, [], []) if plant is None else plant

    @property
    def one_way(self) -> bool:
        """Whether circuits lead one way."""
        return self._plant[0]

    @property
    def ports(self) -> list[int]:
        """Connected ports of each switch, on either side."""
        return [len(ports) for ports in self._plant[1]]

    @property
    def ingress(self) -> list[list[Hop]]:
        """Router and port behind every ingress port. Shape: switches × ports."""
        return [[(router, port) for _, router, port in ports] for ports in self._plant[1]]

    @property
    def egress(self) -> list[list[Hop]]:
        """Router and port behind every egress port. Shape: switches × ports."""
        return [[(router, port) for _, router, port in ports] for ports in self._plant[2]]

    @cached_property
    def _router_of_node(self) -> list[int]:
        answer = _engine.topology(self.scenario.normalised_json())
        return [int(router) for router in answer["node_router"]]

    @cached_property
    def _group_of_router(self) -> dict[int, int]:
        """Group, or pod, of routers that optical switches reach."""
        return {router: group for ports in self._plant[1] for group, router, _ in ports}

    @property
    def routers(self) -> int:
        """Number of its routers."""
        return len(_engine.topology(self.scenario.normalised_json())["group_of_router"])

    @cached_property
    def _cabling(self) -> tuple[list[int], dict[Hop, Hop], dict[Hop, str]]:
        """Ports of routers, links between them from either end, and nodes at ports.

        The engine writes them as a net file of ibsim, whose ports count from 1.
        """
        radix: list[int] = []
        links: dict[Hop, Hop] = {}
        nodes: dict[Hop, str] = {}
        text = ask_engine(_engine.export, self.scenario, "ibsim")
        at: int | None = None
        for line in text.splitlines():
            if begin := re.match(r'(Switch|Hca) (\d+) "', line):
                at = None
                if begin[1] == "Switch":
                    at = len(radix)
                    radix.append(int(begin[2]))
            elif at is not None and (cable := re.match(r'\[(\d+)\] "([SH])-(\d+)"\[(\d+)\]', line)):
                here, there = (at, int(cable[1]) - 1), int(cable[3])
                if cable[2] == "S":
                    links[here] = (there, int(cable[4]) - 1)
                else:
                    nodes[here] = self.nodes[there]
        return radix, links, nodes

    @property
    def radix(self) -> list[int]:
        """Ports of each router, connected or not."""
        return self._cabling[0]

    @property
    def links(self) -> dict[Hop, Hop]:
        """The other end of every link between routers, from either end."""
        return self._cabling[1]

    @property
    def node_at(self) -> dict[Hop, str]:
        """The node at every port that has one."""
        return self._cabling[2]

    def router_of(self, node: str) -> int:
        """Number of the router of a node."""
        return self._router_of_node[self._number_of_node[node]]

    @cached_property
    def _groups(self) -> int:
        return 1 + max(self._group_of_router.values())

    @cached_property
    def _number_of_node(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.nodes)}

    def numbers(self, nodes: Sequence[str]) -> list[int]:
        """Numbers of nodes.

        Raises:
            ControlError: If one is not of this network, or named twice.
        """
        found = []
        for name in nodes:
            number = self._number_of_node.get(name)
            if number is None:
                raise ControlError(
                    f"found node {name}; allowed: the network's, {self.nodes[0]} to "
                    f"{self.nodes[-1]}"
                )
            found.append(number)
        if len(set(found)) != len(found):
            raise ControlError("a node is named twice; a job has each once")
        return found

    # --- Circuits -------------------------------------------------------------------

    def circuits(
        self, nodes: Sequence[str], sent: Sequence[tuple[str, str, float]] | None
    ) -> Callable[[Sequence[Connections]], Chosen]:
        """Chooses a job's circuits; see :meth:`odonata_live.control.plant.Plant.for_nodes`.

        Returns:
            What gives them from the connections that the switches hold, in their order.
        """
        numbers = self.numbers(nodes)
        traffic = self._traffic(numbers, sent)
        if self.one_way:
            return lambda before: self._steered(numbers, traffic, before)
        chosen = self._of_groups(numbers, traffic)
        return lambda before: chosen

    def switches_of(self, numbers: Sequence[int]) -> set[int]:
        """Switches whose circuits concern a job on these nodes."""
        if self.one_way:
            own = self._own_leaves(numbers)
            return {
                switch
                for switch, ports in enumerate(self._plant[1])
                if any(leaf in own for _, leaf, _ in ports)
            }
        groups = {self._group_of_router[self._router_of_node[number]] for number in numbers}
        return set(range(len(self._plant[1]))) if len(groups) > 1 else set()

    def _own_leaves(self, numbers: Sequence[int]) -> set[int]:
        """Leaves all of whose nodes are the job's."""
        leaf_of, of_job = self._router_of_node, set(numbers)
        others = {leaf_of[number] for number in range(len(leaf_of)) if number not in of_job}
        return {leaf_of[number] for number in numbers} - others

    def _traffic(
        self, numbers: Sequence[int], sent: Sequence[tuple[str, str, float]] | None
    ) -> list[tuple[int, int, float]] | None:
        if sent is None:
            return None
        of_job = set(numbers)
        rows = []
        for one, other, amount in sent:
            ends = self.numbers([one]) + self.numbers([other])
            if not of_job.issuperset(ends):
                raise ControlError(f"traffic from {one} to {other}: not both are nodes of the job")
            if not 0 <= amount < float("inf"):
                raise ControlError(
                    f"traffic from {one} to {other}: found {amount}; allowed: at least 0"
                )
            rows.append((ends[0], ends[1], amount))
        return rows

    def _of_groups(
        self, numbers: Sequence[int], traffic: Sequence[tuple[int, int, float]] | None
    ) -> Chosen:
        group = {number: self._group_of_router[self._router_of_node[number]] for number in numbers}
        groups = sorted(set(group.values()))
        if len(groups) < 2:
            # A small job: no links between groups (GRAP).
            return {}, set()
        place = {one: index for index, one in enumerate(groups)}
        demand = None
        if traffic is not None:
            demand = [
                (place[group[one]], place[group[other]], round(amount))
                for one, other, amount in traffic
            ]
        circuits = ask_engine(_engine.circuits_of_groups, self.scenario, groups, demand)
        made: dict[int, set[tuple[int, int]]] = {}
        for switch, one, other in circuits:
            made.setdefault(switch, set()).update({(one, other), (other, one)})
        owned = {
            (switch, side, port)
            for switch, ports in enumerate(self._plant[1])
            for port, (of, _, _) in enumerate(ports)
            if of in place
            for side in ("ingress", "egress")
        }
        return made, owned

    def _amounts(
        self, numbers: Sequence[int], traffic: Sequence[tuple[int, int, float]]
    ) -> list[list[float]]:
        """What a job's nodes send from group to group, or from pod to pod, by its own uplinks."""
        router_of, group = self._router_of_node, self._group_of_router
        own = self._own_leaves(numbers) if self.one_way else None
        amounts = [[0.0] * self._groups for _ in range(self._groups)]
        for one, other, amount in traffic:
            here, there = router_of[one], router_of[other]
            if (here != there and here in own) if own is not None else group[here] != group[there]:
                amounts[group[here]][group[there]] += amount
        return amounts

    def _links(self, settings: Sequence[Connections], owned: Collection[Owned]) -> list[int]:
        """Circuits from group to group among the ports that a job owns. Shape: groups × groups."""
        links = [0] * self._groups**2
        for number, connections in enumerate(settings):
            for connection in connections:
                ingress, egress = connection.ends
                if (number, "ingress", ingress) in owned:
                    one = self._plant[1][number][ingress][0]
                    links[one * self._groups + self._plant[2][number][egress][0]] += 1
        return links

    def worth(
        self,
        nodes: Sequence[str],
        sent: Sequence[tuple[str, str, float]],
        settings: tuple[Sequence[Connections], Sequence[Connections]],
        owned: Collection[Owned],
        margin: float,
        change: float,
    ) -> tuple[bool, float]:
        """Whether a job's new circuits are worth the change, as the simulator decides it.

        Args:
            nodes: The job's.
            sent: What they send to each other: from, to, bytes.
            settings: What switches hold, and what they are to hold, in their order.
            owned: Ports of the job.
            margin: What they must bring more, as a share.
            change: Share of the time that counts which the change takes.

        Returns:
            That, and what the new ones bring more, as a share; 1 where the old ones bring nothing.
        """
        numbers = self.numbers(nodes)
        amounts = self._amounts(numbers, self._traffic(numbers, sent) or [])
        before, after = settings
        stay = [
            frozenset(c for c in one if c.ends in {new.ends for new in other})
            for one, other in zip(before, after, strict=True)
        ]
        is_worth, was, is_ = _engine.worth_a_change(
            self._groups,
            [amount for row in amounts for amount in row],
            self._links(before, owned),
            self._links(stay, owned),
            self._links(after, owned),
            margin,
            change,
        )
        return is_worth, is_ / was - 1 if was else float(is_ > was)

    def _steered(
        self,
        numbers: Sequence[int],
        traffic: Sequence[tuple[int, int, float]] | None,
        before: Sequence[Connections],
    ) -> Chosen:
        """Algorithm 1 among the uplinks of the job's own leaves, and where they lead now."""
        own = self._own_leaves(numbers)
        if traffic is None:
            traffic = [(one, other, 1.0) for one in numbers for other in numbers if one != other]
        amounts = self._amounts(numbers, traffic)
        switches, sides = [], []
        for number, (ingress, egress) in enumerate(
            zip(self._plant[1], self._plant[2], strict=True)
        ):
            ends = dict(connection.ends for connection in before[number])
            starts = [port for port, (_, leaf, _) in enumerate(ingress) if leaf in own]
            if not starts:
                continue
            dark = sorted(set(range(len(egress))) - set(ends.values()))
            targets = []
            for port in starts:
                if port in ends:
                    targets.append(ends[port])
                else:
                    # Its own pod's, if that is dark: where it leads unsteered.
                    targets.append(dark.pop(dark.index(port) if port in dark else 0))
            targets.sort()
            sides.append((number, starts, targets))
            switches.append(
                UplinkSwitch(
                    tuple(ingress[port][0] for port in starts),
                    tuple(egress[port][0] for port in targets),
                )
            )
        found = steer_uplinks(amounts, switches).ports
        made, owned = {}, set()
        for (number, starts, targets), ports in zip(sides, found, strict=True):
            made[number] = {
                (start, targets[place]) for start, place in zip(starts, ports, strict=True)
            }
            owned |= {(number, "ingress", port) for port in starts}
            owned |= {(number, "egress", port) for port in targets}
        return made, owned

    # --- Ways -----------------------------------------------------------------------

    def ways(
        self,
        settings: Sequence[Connections],
        pairs: Sequence[tuple[str, str]],
        going: Sequence[Connections] = (),
    ) -> list[list[Hop]]:
        """The ways of packets between pairs of nodes, as the simulator routes them.

        The network's own algorithm (TAGO on a reconfigurable dragonfly, up-down in a steered tree)
        decides, on the circuits that switches hold. A way depends on the pair, so that packets of
        one pair stay in order.

        Args:
            settings: What switches hold, in their order.
            pairs: Names of sender and receiver.
            going: Connections of the switches that no way may use, as they are to be broken.

        Returns:
            Routers and the port that packets leave each by, the last towards the node.

        Raises:
            ScenarioError: If the routing does not know such a network, or no way joins a pair.
            ControlError: If a node is not of this network.
        """
        if not self.ports:
            return self._routed_without(pairs, (), ())[0]
        numbers = [(self.numbers([one])[0], self.numbers([other])[0]) for one, other in pairs]
        silent = []
        if self.one_way:
            silent = [(n, c.ingress) for n, of in enumerate(going) for c in sorted(of)]
        elif going:
            settings = [held - gone for held, gone in zip(settings, going, strict=True)]
        with tempfile.TemporaryDirectory(prefix="odonata-circuits-") as directory:
            file = Path(directory) / "circuits"
            write_file(file, self._listed(settings))
            data = self.scenario.to_dict()
            network = data["network"]
            table = network["optical"] if self.one_way else network
            _set_circuits(table, "file")
            table["circuits_file"] = str(file)
            return self._routes(data, numbers, silent)

    def ways_around(
        self, pairs: Sequence[tuple[str, str]], dark: Collection[Hop]
    ) -> tuple[dict[tuple[str, str], list[Hop]], list[tuple[str, str]]]:
        """The ways of pairs of nodes where links are down, as the simulator routes them.

        They are those of the network with these links in `[failures]`. Where it falls apart, each
        part is routed by itself, as if the others had failed.

        Args:
            pairs: Names of sender and receiver.
            dark: Both ends of links between routers that are down, and ports to nodes that are.

        Returns:
            The ways by pair, as :meth:`ways` has them, and the pairs that no way is left for.

        Raises:
            ScenarioError: If the routing does not take what is left.
            ControlError: If a node is not of this network.
        """
        away = {name for end, name in self.node_at.items() if end in dark}
        part = self._parts(dark)
        of_part: dict[int, list[tuple[str, str]]] = {}
        for one, other in pairs:
            here, there = (part[self.router_of(name)] for name in (one, other))
            if here == there and one not in away and other not in away:
                of_part.setdefault(here, []).append((one, other))
        ways: dict[tuple[str, str], list[Hop]] = {}
        for number, inside in of_part.items():
            routers = [router for router, of in enumerate(part) if of != number]
            within = {end for end in dark if part[end[0]] == number and end in self.links}
            found, renumbered = self._routed_without(inside, routers, within)
            for pair, way in zip(inside, found, strict=True):
                ways[pair] = [renumbered.get(hop, hop) for hop in way]
        return ways, [pair for pair in pairs if pair not in ways]

    def _parts(self, dark: Collection[Hop]) -> list[int]:
        """Which part of the network each router is in: the lowest number of a router there."""
        near: dict[int, set[int]] = {router: set() for router in range(len(self.radix))}
        for (router, port), (other, _) in self.links.items():
            if (router, port) not in dark:
                near[router].add(other)
        part = [-1] * len(near)
        for first in near:
            reached = [first] if part[first] < 0 else []
            while reached:
                router = reached.pop()
                if part[router] < 0:
                    part[router] = first
                    reached += near[router]
        return part

    def _routed_without(
        self, pairs: Sequence[tuple[str, str]], routers: Sequence[int], dark: Collection[Hop]
    ) -> tuple[list[list[Hop]], dict[Hop, Hop]]:
        """Ways without routers and links, and what ports on them are to be replaced by.

        `[failures]` takes the first of several links between two routers. They are alike, so that
        the way is the same but for the numbers of their ports.
        """
        bundles: dict[tuple[int, int], list[Hop]] = {}
        for end, (other, _) in sorted(self.links.items()):
            if end[0] < other:
                bundles.setdefault((end[0], other), []).append(end)
        failed, renumbered = [], {}
        for ends, all_ in bundles.items():
            left = [end for end in all_ if end not in dark]
            gone = len(all_) - len(left)
            if gone:
                failed.append({"routers": list(ends), "count": gone})
            for simulated, real in zip(all_[gone:], left, strict=True):
                renumbered[simulated] = real
                renumbered[self.links[simulated]] = self.links[real]
        data = self.scenario.to_dict()
        failures = {"links": failed, "routers": list(routers)}
        failures = {key: found for key, found in failures.items() if found}
        if failures:
            data["failures"] = failures
        numbers = [(self.numbers([one])[0], self.numbers([other])[0]) for one, other in pairs]
        return self._routes(data, numbers), renumbered

    def _routes(self, data: dict[str, Any], *arguments: Any) -> list[list[Hop]]:
        """The ways that the engine finds on the network of a scenario."""
        scenario = Scenario.from_dict(data, directory=self.scenario.directory)
        ways: list[list[Hop]] = ask_engine(_engine.routes, scenario, *arguments)
        return ways

    def _listed(self, settings: Sequence[Connections]) -> str:
        """The circuits as the scenario's `circuits_file` has them."""
        lines = []
        for number, connections in enumerate(settings):
            for connection in sorted(connections):
                ingress, egress = connection.ends
                if self.one_way:
                    lines.append(f"{number} {ingress} {egress}")
                elif ingress < egress:
                    lines.append(" ".join(self._link(number, port) for port in (ingress, egress)))
        return "".join(f"{line}\n" for line in lines)

    def _link(self, switch: int, port: int) -> str:
        per_switch = self._links_per_switch
        group, place = divmod(port, per_switch)
        return f"{group} {switch * per_switch + place}"

    @cached_property
    def _links_per_switch(self) -> int:
        groups = {group for group, _, _ in self._plant[1][0]}
        return self.ports[0] // len(groups)


def _set_circuits(table: dict[str, Any], circuits: str, steering: str | None = None) -> None:
    """Says which circuits are set, without what a scenario says of others."""
    for key in ("circuits_file", "matrix_file", "steering", "period", "reconfiguration"):
        table.pop(key, None)
    table["circuits"] = circuits
    if steering is not None:
        table["steering"] = steering


def flows(
    ways: Sequence[Sequence[Hop]], pairs: Sequence[tuple[str, str]]
) -> dict[int, dict[tuple[str, str], int]]:
    """Entries of every router: the port of each pair of nodes that comes by. Shape: routers."""
    entries: dict[int, dict[tuple[str, str], int]] = {}
    for way, pair in zip(ways, pairs, strict=True):
        for router, port in way:
            entries.setdefault(router, {})[pair] = port
    return entries


def by_destination(
    ways: Sequence[Sequence[Hop]], pairs: Sequence[tuple[str, str]]
) -> dict[int, dict[str, int]]:
    """Entries of every router by destination alone, as kernels route.

    Raises:
        ControlError: If the way from a router depends on who sent a packet.
    """
    entries: dict[int, dict[str, int]] = {}
    for router, of_pair in flows(ways, pairs).items():
        mine = entries.setdefault(router, {})
        for (_, to), port in of_pair.items():
            if mine.setdefault(to, port) != port:
                raise ControlError(
                    f"router {router} sends packets for {to} by ports {mine[to]} and {port}, as "
                    'others sent them; routes by destination need choice = "by-destination" in '
                    "[network.routing], or use flows"
                )
    return entries
