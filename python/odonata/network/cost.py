"""What a network is made of, what power it takes, and what it costs at given prices.

Parts are counted from the network as it is wired. Power follows Michelogiannakis et al.,
"Bandwidth steering in HPC using silicon nanophotonics", SC 2019, sections 7.1 and 7.2.4; what the
paper cites without printing it is an assumption that the caller may replace, see :class:`Watts`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np

from odonata.columns import numbers
from odonata.errors import Problem, ScenarioError
from odonata.results import Result
from odonata.scenario import Scenario

#: Rings that light goes through on its way across a silicon photonic switch (section 7.1).
RINGS_PER_PATH = 2


@dataclass(frozen=True)
class Watts:
    """Power of single parts.

    Attributes:
        ring: Of a ring of a silicon photonic switch that is tuned by half of its free spectral
            range: 3 mW (section 7.1). With two rings on each of 16 paths, 96 mW a switch.
        switch_port: Static, of an electronic switch, by connected port. The paper cites a manual
            of Mellanox 36-port EDR switches for it and prints that they take "about three orders
            of magnitude" more than a silicon photonic switch (section 7.2.4): 1,000 times 96 mW
            over 36 ports.
        transceiver: Of one end of an active optical cable. The paper cites a data sheet and prints
            nothing. Here the most that power class 3 of SFF-8636 allows a QSFP28 module: 2.5 W.
        joules_per_byte: Dynamic, of a byte that passes an electronic switch. The paper prints
            none; ``None`` leaves dynamic power out, and how many switches a byte passes, to which
            it is proportional, is said all the same. That of photonic switches is "negligible".
    """

    ring: float = 3e-3
    switch_port: float = 1_000 * 96e-3 / 36
    transceiver: float = 2.5
    joules_per_byte: float | None = None

    def __post_init__(self) -> None:
        """Refuses what is no power."""
        for part in fields(self):
            _check_number(part.name, getattr(self, part.name))


@dataclass(frozen=True)
class Prices:
    """Prices of single parts, in any currency; ``None`` where a part is not to be counted.

    There are no defaults: what a buyer pays is in no list that could be checked.

    Attributes:
        switch: An electronic switch, whatever its ports.
        switch_port: A connected port of one, beside that.
        optical_cable: An optical cable with its two transceivers.
        copper_cable: A cable of a class that is of copper.
        optical_switch: An optical switch.
        local_cable: A cable of copper between switches. Default: as ``copper_cable``.
    """

    switch: float | None = None
    switch_port: float | None = None
    optical_cable: float | None = None
    copper_cable: float | None = None
    optical_switch: float | None = None
    local_cable: float | None = None

    def __post_init__(self) -> None:
        """Refuses what is no price."""
        for part in fields(self):
            _check_number(part.name, getattr(self, part.name))


@dataclass(frozen=True)
class Parts:
    """What a network is made of.

    Attributes:
        nodes: Nodes that it has.
        switches: Electronic switches by their number of connected ports, ascending.
        cables: Cables by link class, those of nodes included.
        copper: Link classes whose cables are of copper, without transceivers.
        optical_switches: Optical switches.
        optical_ports: Ports of each: on either side where circuits lead one way, otherwise all.
        optical_connected: Those that fibres are plugged into, on all of them, counted likewise.
        one_way: Whether circuits lead one way.
    """

    nodes: int
    switches: dict[int, int]
    cables: dict[str, int]
    copper: frozenset[str] = field(default_factory=frozenset)
    optical_switches: int = 0
    optical_ports: int = 0
    optical_connected: int = 0
    one_way: bool = False

    @property
    def optical_cables(self) -> int:
        """Optical cables, those that are cut in two for optical switches included."""
        return sum(count for name, count in self.cables.items() if name not in self.copper)

    @property
    def half_cables(self) -> int:
        """Cables with a transceiver at one end only, whose fibres optical switches join.

        Where circuits lead one way, each connected port of one side stands for a cable of which
        only the way up goes through a switch; both of its ends are half cables all the same.
        """
        return 2 * self.optical_connected if self.one_way else self.optical_connected

    @property
    def transceivers(self) -> int:
        """Ends of optical cables: optical switches have none, so that steering adds none."""
        return 2 * self.optical_cables

    @property
    def fibres(self) -> int:
        """Ways of light between two transceivers, one for each direction of an optical cable."""
        return 2 * self.optical_cables

    def static_watts(self, watts: Watts) -> dict[str, float]:
        """Static power by sort of part: ``switches``, ``transceivers``, ``optical_switches``.

        All paths of photonic switches are taken to be in use, as in the paper (section 7.1).
        Switches whose circuits lead both ways are no silicon photonic ones: their power is
        unknown here, and left out.
        """
        ports = sum(ports * count for ports, count in self.switches.items())
        power = {
            "switches": ports * watts.switch_port,
            "transceivers": self.transceivers * watts.transceiver,
        }
        if self.one_way:
            paths = self.optical_switches * self.optical_ports
            power["optical_switches"] = paths * RINGS_PER_PATH * watts.ring
        return power

    def price(self, prices: Prices) -> dict[str, float]:
        """What parts cost, by sort of part: those of which the network has any.

        Raises:
            ScenarioError: If the network has parts whose price is not given; names all of them.
        """
        copper = {name: n for name, n in self.cables.items() if name in self.copper}
        to_nodes = copper.pop("terminal", 0)
        local = 0 if prices.local_cable is None else sum(copper.values())
        count = {
            "switch": sum(self.switches.values()) if prices.switch is not None else 0,
            "switch_port": sum(ports * count for ports, count in self.switches.items()),
            "optical_cable": self.optical_cables,
            "copper_cable": to_nodes + sum(copper.values()) - local,
            "local_cable": local,
            "optical_switch": self.optical_switches,
        }
        price = {part: getattr(prices, part) for part, number in count.items() if number}
        lacking = [
            Problem(part, f"found no price; the network has {count[part]:,} of them")
            for part, each in price.items()
            if each is None
        ]
        if lacking:
            raise ScenarioError(lacking)
        return {part: count[part] * each for part, each in price.items()}

    def to_json(self, watts: Watts) -> dict[str, Any]:
        """All of it by name, with the static power in watts."""
        static = self.static_watts(watts)
        return {
            "nodes": self.nodes,
            "electronic_switches": sum(self.switches.values()),
            "electronic_switches_by_ports": {str(k): n for k, n in self.switches.items()},
            "optical_switches": self.optical_switches,
            "optical_switch_ports": self.optical_ports,
            "cables": sum(self.cables.values()),
            "cables_by_class": dict(self.cables),
            "half_cables": self.half_cables,
            "transceivers": self.transceivers,
            "fibres": self.fibres,
            "static_watts": sum(static.values()),
            "static_watts_by_part": static,
        }


def parts(scenario: Scenario, copper: Collection[str] = ()) -> Parts:
    """What the network of a scenario is made of; its jobs and circuits do not count.

    Args:
        scenario: Its network is looked at.
        copper: Link classes whose cables are of copper.

    Raises:
        ScenarioError: If the network cannot be built, or has no such link class.
    """
    from odonata import _engine
    from odonata.simulate import ask_engine

    if scenario.node is not None:
        return _of_planes(scenario, copper)
    laid = _without_circuits(scenario)
    found = ask_engine(_engine.topology, laid)
    classes = [entry["name"] for entry in found["description"]["link_classes"]]
    unknown = sorted(set(copper) - set(classes))
    if unknown:
        found_text = f'found "{unknown[0]}"; allowed: {", ".join(classes)}'
        raise ScenarioError([Problem("copper", found_text)])
    ends = np.concatenate([found["node_router"], found["link_a"], found["link_b"]])
    connected = np.bincount(ends, minlength=len(found["group_of_router"]))
    cables = {
        entry["name"]: int(entry["links"])
        for entry in found["description"]["link_classes"]
        if entry["links"]
    }
    optical = ask_engine(_engine.optical_parts, laid)
    switches, ports, plugged, one_way = optical or (0, 0, 0, False)
    return Parts(
        nodes=len(found["node_router"]),
        switches=dict(sorted(Counter(int(n) for n in connected).items())),
        cables=cables,
        copper=frozenset(copper),
        optical_switches=switches,
        optical_ports=ports,
        optical_connected=plugged,
        one_way=one_way,
    )


def _of_planes(scenario: Scenario, copper: Collection[str]) -> Parts:
    """All planes between nodes with an inside: what is in the nodes is none of the network's."""
    node = scenario.node
    assert node is not None
    plane = parts(scenario.changed(node=None, job=[]), copper)
    times = node.planes
    return replace(
        plane,
        nodes=plane.nodes * times // node.interfaces,
        switches={ports: count * times for ports, count in plane.switches.items()},
        cables={name: count * times for name, count in plane.cables.items()},
    )


def power(result: Result, made_of: Parts, watts: Watts) -> dict[str, float | None]:
    """Power per throughput of a run: what a byte that arrives costs.

    Args:
        result: Of a run on that network.
        made_of: Its parts.
        watts: Power of single parts.

    Returns:
        ``throughput_bytes_per_s`` over the measured time; ``static_joules_per_byte``, static
        power by throughput; ``switches_per_byte``, electronic switches that a byte passes on
        average; ``dynamic_joules_per_byte``, or None without ``watts.joules_per_byte``.

    Raises:
        ScenarioError: If nothing was delivered.
    """
    links = result.table("links")
    sent = numbers(links, "bytes")
    # Routers inside nodes, which come after all others, are no switches.
    router = numbers(links, "from_router")
    from_router = (router >= 0) & (router < sum(made_of.switches.values()))
    to_node = numbers(links, "to_node") >= 0
    # Every byte that a router port sends has passed its switch; what reaches nodes has arrived.
    passed, arrived = float(sent[from_router].sum()), float(sent[to_node].sum())
    seconds = result.summary_dict["run"]["measured_ps"] / 1e12
    if not (arrived and seconds):
        raise ScenarioError([Problem("result", "nothing was delivered in the measured time")])
    throughput = arrived / seconds
    per_byte = watts.joules_per_byte
    return {
        "throughput_bytes_per_s": throughput,
        "static_joules_per_byte": sum(made_of.static_watts(watts).values()) / throughput,
        "switches_per_byte": passed / arrived,
        "dynamic_joules_per_byte": None if per_byte is None else per_byte * passed / arrived,
    }


def _check_number(name: str, value: float | None) -> None:
    if value is not None and not (np.isfinite(value) and value >= 0):
        raise ScenarioError([Problem(name, f"found {value}; allowed: a number of at least 0")])


def _without_circuits(scenario: Scenario) -> Scenario:
    """The scenario without jobs, and with circuits that use every port: these change no part."""
    changes: dict[str, Any] = {"job": []}
    network = scenario.network
    optical = getattr(network, "optical", None)
    if optical is not None:
        alone = {
            "circuits_file": None,
            "matrix_file": None,
            "period": None,
            "reconfiguration": None,
        }
        straight = optical.changed(circuits="unsteered", **alone)
        changes["network"] = network.changed(optical=straight)
    elif network.family == "reconfigurable-dragonfly":
        uniform = {"circuits": "uniform", "circuits_file": None, "steering": "uniform"}
        changes["network"] = network.changed(**uniform)
    return scenario.changed(**changes)
