"""A site's optical switches, from a TOML file, and which circuits a job gets on them."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odonata import bounded
from odonata.errors import ControlError
from odonata.scenario.toml_source import parse_toml, read_text
from odonata_live.control.circuits import Connection, Connections, Settings
from odonata_live.control.journal import Port

if TYPE_CHECKING:
    from odonata_live.control.controller import Decision
    from odonata_live.control.network import Network


@dataclass(frozen=True)
class Switch:
    """An optical switch.

    Attributes:
        name: Its name, which journals keep.
        driver: Name of its driver.
        ports: Ports on either side; where circuits lead both ways, all.
        one_way: Whether circuits lead from an ingress to an egress port only.
        device: What the driver has to know of it.
    """

    name: str
    driver: str
    ports: int
    one_way: bool
    device: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Router:
    """A router of the network, which forwards by entries of OpenFlow.

    Attributes:
        name: Its name.
        driver: Name of its driver, of kind `openflow`.
        ports: Its own numbers of its ports, in the order of the network's; `None`: from 1 on.
        device: What the driver has to know of it.
    """

    name: str
    driver: str
    ports: tuple[int, ...] | None
    device: Mapping[str, Any] = field(default_factory=dict)

    def port(self, number: int) -> int:
        """Its own number of a port.

        Raises:
            ControlError: If it has none.
        """
        if self.ports is None:
            return number + 1
        if number >= len(self.ports):
            raise ControlError(
                f"router {self.name}: names: found {len(self.ports)} ports; its port {number} is "
                "used: name all"
            )
        return self.ports[number]


@dataclass(frozen=True)
class Plant:
    """All switches that are controlled together.

    Attributes:
        file: Where it is written.
        store: The journal.
        switches: By name, where there is a network in the order of its switches; none where only
            routers are controlled.
        drivers: The tables of drivers, by name.
        network: What the switches are plugged into, if that is written.
        routers: The network's routers, in its order; none where nobody reads or sets their entries.
        addresses: IPv4 address of every node; none without routers.
    """

    file: Path
    store: Path
    switches: Mapping[str, Switch]
    drivers: Mapping[str, Mapping[str, Any]]
    network: Network | None = None
    routers: tuple[Router, ...] = ()
    addresses: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_file(cls, file: Path) -> Plant:
        """Reads a plant.

        Raises:
            ControlError: If it makes no sense; says the key, what is found and what is allowed.
            ScenarioError: If it cannot be read, is no TOML, or its scenario is wrong.
        """
        table = parse_toml(read_text(file), str(file))
        return _Reader(file, table).plant()

    @cached_property
    def names(self) -> list[str]:
        """Names of the switches, in their order."""
        return list(self.switches)

    def for_circuits(self, job: int, circuits: Iterable[tuple[str, int, int]]) -> Decision:
        """Gives a job these circuits, each a switch and two ports; what they need is broken.

        Raises:
            ControlError: If there is no such switch.
        """
        wanted: dict[str, set[Connection]] = {}
        for name, ingress, egress in circuits:
            switch = self.switches.get(name)
            if switch is None:
                names = ", ".join(self.names[:8])
                raise ControlError(f"found switch {name}; allowed: {names}")
            made = wanted.setdefault(name, set())
            made.add(Connection(ingress, egress, job))
            if not switch.one_way:
                made.add(Connection(egress, ingress, job))

        def decide(before: Settings) -> tuple[Settings, frozenset[Port]]:
            ports = {
                (name, side, port)
                for name, made in wanted.items()
                for connection in made
                for side, port in zip(("ingress", "egress"), connection.ends, strict=True)
            }
            return self._with(before, wanted, ports), frozenset(ports)

        return decide

    def switches_of(self, nodes: Sequence[str]) -> list[str]:
        """Names of the switches whose circuits concern a job on these nodes, maybe none.

        Raises:
            ControlError: As :meth:`for_nodes`.
        """
        network = self._network()
        concerned = network.switches_of(network.numbers(nodes))
        return [name for number, name in enumerate(self.names) if number in concerned]

    def _network(self) -> Network:
        if self.network is None:
            raise ControlError(
                f"{self.file}: scenario: found nothing; allowed: a scenario whose network the "
                "switches belong to, or give the circuits themselves"
            )
        return self.network

    def for_nodes(
        self, job: int, nodes: Sequence[str], sent: Iterable[tuple[str, str, float]] | None = None
    ) -> Decision:
        """Gives a job on these nodes the circuits that the simulator would.

        On a reconfigurable dragonfly the job owns all links of its groups, if it has several
        (GRAP, Feng et al. 2023, section 4.1), and the network's `steering` decides. In a fat tree
        it owns the uplinks of the leaves that it has to itself, and algorithm 1 of Michelogiannakis
        et al. 2019 (section 4.5) permutes where they lead.

        Args:
            job: Its number.
            nodes: Names of its nodes.
            sent: What nodes send to each other, `(from, to, bytes)`; by default every node as much
                to every other.

        Raises:
            ControlError: If the plant says nothing of a network, or a node is not in it.
        """
        chosen = self._network().circuits(nodes, None if sent is None else list(sent))

        def decide(before: Settings) -> tuple[Settings, frozenset[Port]]:
            by_number = [before.get(name, frozenset()) for name in self.names]
            made, ports = chosen(by_number)
            names = self.names
            wanted = {
                names[number]: {Connection(*ends, job) for ends in pairs}
                for number, pairs in made.items()
            }
            owned = {(names[number], side, port) for number, side, port in ports}
            return self._with(before, wanted, owned), frozenset(owned)

        return decide

    @staticmethod
    def _with(
        before: Settings, wanted: Mapping[str, Iterable[Connection]], ports: Iterable[Port]
    ) -> dict[str, Connections]:
        """What switches hold once ports have what is wanted, and what else they had is broken."""
        taken = set(ports)
        after = {}
        for name in {port[0] for port in taken} & set(before):
            others = {
                connection
                for connection in before[name]
                if (name, "ingress", connection.ingress) not in taken
                and (name, "egress", connection.egress) not in taken
            }
            after[name] = frozenset(others | set(wanted.get(name, ())))
        return after


class _Reader:
    def __init__(self, file: Path, table: dict[str, Any]) -> None:
        self.file = file
        self.table = table

    def plant(self) -> Plant:
        known = {
            "store": str,
            "scenario": str,
            "nodes": str,
            "driver": dict,
            "switch": list,
            "router": list,
            "addresses": str,
        }
        for key, value in self.table.items():
            if key not in known:
                raise self._error(key, "no such key", ", ".join(known))
            if not isinstance(value, known[key]):
                raise self._error(key, f"found {value!r}", f"a {known[key].__name__}")
        for key in ("store", "driver"):
            if not self.table.get(key):
                raise self._error(key, "found nothing", "it is needed")
        optical = bool(self.table.get("switch"))
        if not optical and not self.table.get("router"):
            raise self._error("switch", "found nothing", "it is needed, or [[router]]")
        directory = self.file.absolute().parent
        drivers = {
            name: {"directory": str(directory), **keys}
            if keys.get("kind") == "recorder" and "directory" not in keys
            else keys
            for name, keys in self.table["driver"].items()
            if self._is_table(f"driver.{name}", keys)
        }
        network = None
        if "scenario" in self.table:
            from odonata_live.control.network import Network

            if "nodes" not in self.table:
                raise self._error("nodes", "found nothing", "names of the network's nodes: n[0-31]")
            network = Network.from_file(
                directory / self.table["scenario"], self.table["nodes"], optical=optical
            )
        switches = self._switches(drivers, network)
        routers = self._routers(drivers, network)
        addresses = self._addresses(directory, network) if routers else {}
        if "addresses" in self.table and not routers:
            raise self._error("addresses", "found a file", "only with [[router]]")
        store = directory / self.table["store"]
        return Plant(self.file, store, switches, drivers, network, routers, addresses)

    def _routers(self, drivers: Mapping[str, Any], network: Network | None) -> tuple[Router, ...]:
        rows = self.table.get("router", [])
        if not rows:
            return ()
        if network is None:
            raise self._error("router", "found no scenario", "with `scenario`, whose they are")
        if len(rows) != network.routers:
            raise self._error(
                "router", f"found {len(rows)} routers", f"the {network.routers} of the network"
            )
        routers: dict[str, Router] = {}
        for number, row in enumerate(rows):
            key = f"router[{number}]"
            self._is_table(key, row)
            row = dict(row)
            name, driver = row.pop("name", None), row.pop("driver", None)
            name = self._name(key, name, routers)
            if drivers.get(driver, {}).get("kind") != "openflow":
                allowed = "a driver whose kind is openflow"
                raise self._error(f"{key}.driver", f"found {driver!r}", allowed)
            ports = row.pop("names", None)
            if ports is not None and not (
                isinstance(ports, list)
                and all(isinstance(one, int) and 0 < one < 1 << 32 for one in ports)
                and len(set(ports)) == len(ports)
            ):
                allowed = "different numbers from 1"
                raise self._error(f"{key}.names", f"found {ports!r:.80}", allowed)
            routers[name] = Router(name, driver, None if ports is None else tuple(ports), row)
        return tuple(routers.values())

    def _addresses(self, directory: Path, network: Network | None) -> dict[str, str]:
        """Addresses of nodes, from a file in the form of /etc/hosts."""
        assert network is not None, "routers have one"
        if "addresses" not in self.table:
            allowed = "a file like /etc/hosts with all nodes, as there are routers"
            raise self._error("addresses", "found nothing", allowed)
        file = directory / self.table["addresses"]
        found: dict[str, str] = {}
        for number, line in enumerate(bounded.read_text(file, ControlError).splitlines(), start=1):
            words = line.split("#")[0].split()
            if not words:
                continue
            try:
                address = ipaddress.ip_address(words[0])
            except ValueError:
                raise ControlError(
                    f'{file}, line {number}: found "{words[0]:.40}"; allowed: address and names'
                ) from None
            if isinstance(address, ipaddress.IPv4Address):
                found |= dict.fromkeys(words[1:], str(address))
        missing = [name for name in network.nodes if name not in found]
        if missing:
            raise ControlError(
                f"{file}: no IPv4 address of {len(missing)} nodes, the first of them {missing[0]}"
            )
        addresses = {name: found[name] for name in network.nodes}
        if len(set(addresses.values())) != len(addresses):
            raise ControlError(f"{file}: two nodes have the same address")
        return addresses

    def _switches(self, drivers: Mapping[str, Any], network: Network | None) -> dict[str, Switch]:
        rows = self.table.get("switch", [])
        if network is not None and len(rows) != len(network.ports):
            raise self._error(
                "switch", f"found {len(rows)} switches", f"the {len(network.ports)} of the network"
            )
        switches: dict[str, Switch] = {}
        for number, row in enumerate(rows):
            key = f"switch[{number}]"
            self._is_table(key, row)
            row = dict(row)
            name, driver = row.pop("name", None), row.pop("driver", None)
            name = self._name(key, name, switches)
            if driver not in drivers:
                allowed = f"one of the drivers: {', '.join(drivers)}"
                raise self._error(f"{key}.driver", f"found {driver!r}", allowed)
            if network is not None:
                ports, one_way = network.ports[number], network.one_way
                for own in {"ports", "one_way"} & set(row):
                    raise self._error(f"{key}.{own}", "the network says that", "leave it out")
            else:
                ports, one_way = row.pop("ports", None), row.pop("one_way", False)
                if not isinstance(ports, int) or isinstance(ports, bool) or ports < 1:
                    raise self._error(f"{key}.ports", f"found {ports!r}", "a number from 1")
                if not isinstance(one_way, bool):
                    raise self._error(f"{key}.one_way", f"found {one_way!r}", "true or false")
            switches[name] = Switch(name, driver, ports, one_way, row)
        return switches

    def _name(self, key: str, name: Any, others: Iterable[str]) -> str:
        # It is a file's name, a column of a list, a word of a command.
        if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
            allowed = "letters, digits, dots, hyphens"
            raise self._error(f"{key}.name", f"found {name!r}", allowed)
        if name in others:
            raise self._error(f"{key}.name", f'found "{name}" again', "another name")
        return name

    def _is_table(self, key: str, value: Any) -> bool:
        if not isinstance(value, dict):
            raise self._error(key, f"found {value!r}", "a table")
        return True

    def _error(self, key: str, found: str, allowed: str) -> ControlError:
        return ControlError(f"{self.file}: {key}: {found}; allowed: {allowed}")


def ports_of_device(switch: Switch, side: str, kind: type, first: Any = None) -> list[Any]:
    """A switch's own names of its ports, from its key `ingress`, `egress`, or `names` for both.

    Args:
        switch: The switch.
        side: `ingress` or `egress`.
        kind: What they are.
        first: Where nothing is given, ports are numbered from here.

    Raises:
        ControlError: If they are not as many as its ports, twice the same, or nothing is given.
    """
    given = switch.device.get(side, switch.device.get("names"))
    if given is None and first is not None:
        return list(range(first, first + switch.ports))
    if (
        not isinstance(given, list)
        or len(given) != switch.ports
        or not all(isinstance(one, kind) and not isinstance(one, bool) for one in given)
        or len(set(given)) != len(given)
    ):
        raise ControlError(
            f"switch {switch.name}: {side}: found {given!r}; allowed: a list of {switch.ports} "
            f"different values ({kind.__name__}), or `names` for both sides"
        )
    return given
