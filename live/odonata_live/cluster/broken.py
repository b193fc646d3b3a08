"""What of a cluster's network does not work, from what its own programs print.

Read are, recognised from the content: a later ``ibnetdiscover`` (or ``opensm-subnet.lst``),
``iblinkinfo``, ``ibqueryerrors`` (infiniband-diags 44.0), ``ibdiagnet2.db_csv`` of ibdiagnet 2
(tables ``NODES``, ``PORTS``, ``PM_INFO``), and what Slurm says of nodes: ``sinfo -R``, ``sinfo``,
``scontrol show nodes``. All of it is compared with the network of a scenario, which is whole.
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from odonata import _engine
from odonata.errors import ClusterError
from odonata.machines.hosts import hosts_of
from odonata.network.subnets import nodes_of_ports, read_subnet
from odonata.scenario import Scenario
from odonata.scenario.toml_text import toml_text
from odonata_live.cluster.model import read_node_list
from odonata_live.cluster.queue import hosts
from odonata_live.cluster.topologies import asked

#: A port of a switch or adapter: GUID and number, from 1.
Port = tuple[int, int]

#: What is read, for people.
FORMS = (
    "the output of ibnetdiscover, iblinkinfo, ibqueryerrors, `sinfo -R`, sinfo or `scontrol show "
    "nodes`, or the file ibdiagnet2.db_csv"
)

#: Gigabits per second of a lane, less its line code, by speed.
LANE_GBPS = {
    "SDR": 2.0,
    "DDR": 4.0,
    "QDR": 8.0,
    "FDR10": 10.0,
    "FDR": 13.636363636,
    "EDR": 25.0,
    "HDR": 50.0,
    "NDR": 100.0,
    "XDR": 200.0,
}
#: Speeds by what ``iblinkinfo`` prints, and by ``LinkSpeedActv`` of ibdiagnet.
_PRINTED = {
    "2.5": "SDR",
    "5.0": "DDR",
    "10.0": "QDR",
    "14.0625": "FDR",
    "25.78125": "EDR",
    "53.125": "HDR",
    "106.25": "NDR",
    "212.5": "XDR",
}
_SPEED_CODES = {1: "SDR", 2: "DDR", 4: "QDR", 0x100: "FDR", 0x200: "EDR", 0x400: "HDR"}
_SPEED_CODES |= {0x800: "NDR", 0x1000: "XDR", 0x10000: "FDR10"}
_WIDTH_CODES = {1: 1, 2: 4, 4: 8, 8: 12, 16: 2}
#: Counters that grow where a cable or its plugs are bad; others grow with load as well.
_BAD_LINK = (
    *("SymbolErrorCounter", "LinkErrorRecoveryCounter", "LinkDownedCounter", "PortRcvErrors"),
    *("PortRcvRemotePhysicalErrors", "LocalLinkIntegrityErrors", "ExcessiveBufferOverrunErrors"),
)
#: Ports of which errors are told.
_MOST_ERRORS = 12
#: Links that are told which the scenario does not have.
_MOST_LINKS = 24


@dataclass
class Seen:
    """What one or several outputs show.

    Attributes:
        dark: Ports whose link is not active.
        lit: Ports whose link is, with ``4xEDR`` or ``""`` where the rate is not told.
        all_ports: Whether a port that is not among these has no link: the whole subnet was seen.
        errors: Counters of ports above their threshold.
        out: Hosts that take no jobs, and why.
        cables: The port at the other end of a cable between switches, where ends are told.
        hosts: The port of a switch that an adapter's port is in, likewise.
        names: Their names for people.
    """

    dark: set[Port] = field(default_factory=set)
    lit: dict[Port, str] = field(default_factory=dict)
    all_ports: bool = False
    errors: dict[Port, dict[str, int]] = field(default_factory=dict)
    out: dict[str, str] = field(default_factory=dict)
    cables: dict[Port, Port] = field(default_factory=dict)
    hosts: dict[Port, Port] = field(default_factory=dict)
    names: dict[Port, str] = field(default_factory=dict)

    def leads(self, ports: Iterable[Port]) -> str:
        """Where ports of switches lead now, for people."""
        there = {adapter: port for port, adapter in self.hosts.items()} | self.cables
        return ", ".join(
            f"{self.names[port]} leads to {self.names[there[port]]}"
            for port in ports
            if port in there
        )


@dataclass
class Broken:
    """What does not work.

    Attributes:
        table: What `[failures]` of the scenario has to be; empty if all works.
        why: For each entry of the table, what it is by the names of the outputs.
        notices: What a person should know besides: what the table cannot say, errors of links.
    """

    table: dict[str, Any]
    why: list[str]
    notices: list[str]


def broken(scenario: Scenario, given: Sequence[tuple[str, str]]) -> Broken:
    """What does not work of the network of a scenario.

    Args:
        scenario: With the whole network: ``family = "ibnetdiscover"``, or any family with the
            hosts of a machine where only Slurm's outputs are given.
        given: Name and text of each output.

    Raises:
        ClusterError: If a text is no such output, or tells of another network.
        MachineError: If Slurm's outputs are given and the scenario names no hosts.
        SpecError: If the file of the scenario's subnet cannot be read.
    """
    if scenario.without_defaults().get("failures"):
        raise ClusterError(
            f"{scenario.file}: has [failures] already; allowed: the scenario of the whole network"
        )
    slurms: list[tuple[str, Seen]] = []
    fabric: list[tuple[str, Seen]] = []
    for source, text in given:
        read, is_slurms = _reader(text, source)
        (slurms if is_slurms else fabric).append((source, read(text, source)))
    subnet = _Whole(scenario) if scenario.network.family == "ibnetdiscover" else None
    if fabric and subnet is None:
        raise ClusterError(
            f"{fabric[0][0]}: tells of switches by GUID, which a network of "
            f'family = "{scenario.network.family}" does not have; allowed: a scenario with '
            'family = "ibnetdiscover", whose file was written while all worked'
        )
    found = Broken({}, [], [])
    if subnet is not None:
        subnet.compare(fabric, found)
    if slurms:
        routers = found.table.get("routers", ())
        gone = set() if subnet is None else subnet.lost_with(routers)
        _add_hosts(found, slurms, _nodes_of_hosts(scenario, subnet), gone)
    return found


def _nodes_of_hosts(scenario: Scenario, subnet: _Whole | None) -> Mapping[str, Sequence[int]]:
    """The nodes of each host, by its name."""
    if subnet is not None and scenario.machine is None:
        return subnet.nodes_of_host
    return {host: [node] for host, node in hosts_of(scenario).items()}


def _add_hosts(
    found: Broken,
    slurms: Sequence[tuple[str, Seen]],
    nodes: Mapping[str, Sequence[int]],
    gone: set[int],
) -> None:
    """Adds nodes whose hosts take no jobs, but for those that are gone with their routers."""
    out = set(found.table.get("nodes", ()))
    for source, seen in slurms:
        strangers = [host for host in seen.out if host not in nodes]
        if seen.out and len(strangers) == len(seen.out):
            known = f"such as {next(iter(nodes))}" if nodes else "by [machine] or their adapters"
            raise ClusterError(
                f"{source}: host {strangers[0]} is no node of the scenario; allowed: hosts that "
                f"the scenario names, {known}"
            )
        if strangers:
            found.notices.append(
                f"{source}: {_many(len(strangers), 'host')} such as {strangers[0]} are no nodes of "
                "the scenario: left out"
            )
        for host, reason in seen.out.items():
            for node in nodes.get(host, ()):
                if node not in out | gone:
                    out.add(node)
                    found.why.append(f"node {node}: host {host}: {reason}")
    if out:
        found.table["nodes"] = sorted(out)


def written(found: Broken) -> str:
    """`[failures]` as TOML, with what each entry is in comments before it."""
    comments = "".join(f"# {sentence}\n" for sentence in found.why)
    return comments + toml_text({"failures": found.table})


# --- Comparing with the whole -------------------------------------------------------------


class _Whole:
    """A subnet that works, with the numbers that the engine gives its parts."""

    def __init__(self, scenario: Scenario) -> None:
        network = scenario.network
        subnet = read_subnet(scenario.directory / (network.file or ""))
        self.switches: list[dict[str, Any]] = subnet["switches"]
        self.cables: list[dict[str, Any]] = subnet["cables"]
        self.host_ports: list[dict[str, Any]] = subnet["hosts"]
        self.node_of_port = nodes_of_ports(subnet, network.interfaces)
        self.nodes_of_host: dict[str, list[int]] = {}
        for node, port in zip(self.node_of_port, self.host_ports, strict=True):
            name = port["host"]
            if name is not None and node not in self.nodes_of_host.setdefault(name, []):
                self.nodes_of_host[name].append(node)

    def end(self, end: Sequence[int]) -> Port:
        """The port of a cable's end."""
        return self.switches[end[0]]["guid"], end[1]

    def name(self, end: Sequence[int]) -> str:
        """A switch's port for people."""
        return f"{self.switches[end[0]]['name']} port {end[1]}"

    def compare(self, outputs: Sequence[tuple[str, Seen]], found: Broken) -> None:
        """Adds what the outputs show not to work."""
        ports = {
            self.end(cable[end]): self.name(cable[end]) for cable in self.cables for end in "ab"
        }
        for host in self.host_ports:
            here = (host["switch"], host["switch_port"])
            ports[self.end(here)] = self.name(here)
            ports[host["guid"], host["port"]] = f"{host['name']} port {host['port']}"
            if host["port_guid"] is not None:
                ports[host["port_guid"], host["port"]] = f"{host['name']} port {host['port']}"
        for source, seen in outputs:
            told = seen.dark | seen.lit.keys() | seen.errors.keys()
            if told and not told & ports.keys():
                raise ClusterError(
                    f"{source}: none of its ports is cabled in the scenario's file; allowed: "
                    "outputs of the same subnet"
                )
            new = [port for port in seen.lit if port not in ports]
            if seen.cables or seen.hosts:
                self._say_links_besides(source, seen, found)
            elif new:
                found.notices.append(
                    f"{source}: {_many(len(new), 'port')} with a link that the scenario's file "
                    f"does not have, such as port {new[0][1]} of 0x{new[0][0]:x}: left out"
                )
        seen_by = [seen for _, seen in outputs]
        self._cables(seen_by, found)
        self._hosts(seen_by, found)
        self._errors(seen_by, found, ports)

    def _replugged(self, seen: Seen) -> tuple[dict[int, Port | None], list[Port]]:
        """Cables of the file that are not where it has them, and those that it does not have.

        Cables between the same two switches are alike, whichever of their ports they are in.

        Returns:
            By number of a cable that does not join its two ports, an end of the cable that stands
            in for it between the two switches, or ``None``; and an end of each cable that stands
            in for none.
        """
        missing: dict[frozenset[int], list[int]] = defaultdict(list)
        intact: set[Port] = set()
        for number, cable in enumerate(self.cables):
            a, b = self.end(cable["a"]), self.end(cable["b"])
            if seen.cables.get(a) == b:
                intact |= {a, b}
            else:
                missing[frozenset({a[0], b[0]})].append(number)
        replugged: dict[int, Port | None] = {}
        besides = []
        for one, other in sorted(seen.cables.items()):
            if one < other and one not in intact:
                if numbers := missing[frozenset({one[0], other[0]})]:
                    replugged[numbers.pop(0)] = one
                else:
                    besides.append(one)
        replugged.update((number, None) for numbers in missing.values() for number in numbers)
        return replugged, besides

    def _say_links_besides(self, source: str, seen: Seen, found: Broken) -> None:
        """Says which links an output shows that the scenario does not have."""
        home, taken = {}, set()
        for host in self.host_ports:
            port = self.end((host["switch"], host["switch_port"]))
            home[_adapter(host)] = port[0]
            taken.add(port)
        pairs = [(port, seen.cables[port]) for port in self._replugged(seen)[1]]
        for adapter, port in sorted(seen.hosts.items()):
            # Another adapter in the port of one is a spare part, no other link.
            spare = port[0] if port in taken else None
            if home.get(adapter, spare) != port[0]:
                pairs.append((port, adapter))
        for one, other in pairs[:_MOST_LINKS]:
            found.notices.append(
                f"{source}: {seen.names[one]} to {seen.names[other]}: a link that the scenario "
                "does not have, left out"
            )
        if (more := len(pairs) - _MOST_LINKS) > 0:
            found.notices.append(f"{source}: {_many(more, 'more link')} that it does not have")
        if pairs:
            found.notices.append(
                "for the network as it is now make a scenario of its own: odonata machine "
                f"from-slurm --links {source}"
            )

    def _cables(self, seen: Sequence[Seen], found: Broken) -> None:
        """Adds cables between switches that are dark or slow, and switches without any."""
        state: dict[tuple[int, int], list[tuple[float, str]]] = defaultdict(list)
        of_switch: dict[int, list[bool]] = defaultdict(list)
        rates: dict[tuple[int, int], set[str | None]] = defaultdict(set)
        unknown = faster = mixed = 0
        replugged = [(one, self._replugged(one)[0]) for one in seen if one.cables]
        for number, cable in enumerate(self.cables):
            a, b = cable["a"], cable["b"]
            rates[a[0], b[0]].add(cable["rate"])
            ports = [self.end(a), self.end(b)]
            moved = [(one, there[number]) for one, there in replugged if number in there]
            stands_in = [port for _, port in moved if port is not None]
            share, rate = _state(seen, stands_in or ports, cable["rate"])
            what = f"{self.name(a)} to {self.name(b)}"
            words = f"{what} is dark"
            if share is None:
                unknown, share = unknown + bool(rate), 1.0
            elif share:
                faster += share > 1
                words = f"{what} at {rate} of {cable['rate']}"
            if share and (elsewhere := [one for one, port in moved if port is None]):
                share, words = 0.0, f"{what} is not there: {elsewhere[0].leads(ports)}"
            state[a[0], b[0]].append((share, words))
            for end in {a[0], b[0]}:
                of_switch[end].append(share == 0)
        if unknown:
            found.notices.append(
                f"{_many(unknown, 'cable')} of which the scenario's file tells no rate: slow ones "
                "are not recognised"
            )
        if faster:
            found.notices.append(
                f"{_many(faster, 'cable')} faster than in the scenario's file, which was written "
                "when they were slow: discover the whole subnet anew"
            )
        # A switch that still has hosts with links is cut off, not down.
        alive = {guid for one in seen for guid, _ in one.lit}
        dark = {switch for switch, of_cables in of_switch.items() if all(of_cables)}
        lost = {switch for switch in dark if self.switches[switch]["guid"] not in alive}
        if lost:
            found.table["routers"] = sorted(lost)
            found.why += [
                f"router {switch}: {self.switches[switch]['name']} has no link"
                for switch in sorted(lost)
            ]
        links = []
        for (one, other), cables in sorted(state.items()):
            if {one, other} & lost:
                continue
            by_share: dict[float, list[str]] = defaultdict(list)
            for share, words in cables:
                if share < 1:
                    by_share[share].append(words)
            for share, those in sorted(by_share.items()):
                entry: dict[str, Any] = {"routers": [one, other]}
                if len(those) < len(cables):
                    entry["count"] = len(those)
                    mixed += len(rates[one, other]) > 1
                if share:
                    entry["bandwidth"] = f"{100 * share:.4f}".rstrip("0").rstrip(".") + " %"
                links.append(entry)
                found.why += [f"routers {one} and {other}: {words}" for words in those]
        if links:
            found.table["links"] = links
        if mixed:
            found.notices.append(
                f"{_many(mixed, 'pair')} of switches with cables of several rates: the table takes "
                "the first of them by port, whichever are broken"
            )

    def _hosts(self, seen: Sequence[Seen], found: Broken) -> None:
        """Adds nodes all of whose ports are dark; others cannot be slow in a scenario."""
        shares: dict[int, list[float]] = defaultdict(list)
        moved: dict[int, str] = {}
        for node, host in zip(self.node_of_port, self.host_ports, strict=True):
            ends = [self.end((host["switch"], host["switch_port"])), (host["guid"], host["port"])]
            if host["port_guid"] is not None:
                ends.append((host["port_guid"], host["port"]))
            places = (one.hosts.get(_adapter(host)) for one in seen)
            now = [place for place in places if place is not None]
            share, _ = _state(seen, now or ends, host["rate"])
            if elsewhere := [place for place in now if place[0] != ends[0][0]]:
                share = 0.0
                moved[node] = next(
                    one.names[elsewhere[0]] for one in seen if elsewhere[0] in one.names
                )
            shares[node].append(1.0 if share is None else share)
        routers = set(found.table.get("routers", ()))
        names = self._names_of_nodes()
        nodes, cut_off = [], 0
        for node, of_ports in shares.items():
            name, switches = names[node]
            if switches[0] in routers:
                # It has one link, to the first of its switches.
                cut_off += any(of_ports)
                continue
            if not any(of_ports):
                nodes.append(node)
                where = f"at {moved[node]} now" if node in moved else "not there"
                found.why.append(f"node {node}: host {name} is {where}")
            elif min(of_ports) < 1:
                dark = of_ports.count(0)
                slow = sum(0 < share < 1 for share in of_ports)
                parts = [f"{n} {what}" for n, what in ((dark, "dark"), (slow, "slow")) if n]
                found.notices.append(
                    f"host {name} (node {node}): {' and '.join(parts)} of {len(of_ports)} ports, "
                    "which no table says: a node works or does not"
                )
        if cut_off:
            found.notices.append(
                f"{_many(cut_off, 'host')} with adapters on other switches as well: out of service "
                "with the first of their switches"
            )
        if nodes:
            found.table["nodes"] = sorted(nodes)

    def _names_of_nodes(self) -> dict[int, tuple[str, list[int]]]:
        """The name and the switches of each node, the one that it is attached to first."""
        names: dict[int, tuple[str, list[int]]] = {}
        for node, host in zip(self.node_of_port, self.host_ports, strict=True):
            _, switches = names.setdefault(node, (host["host"] or host["name"], []))
            switches.append(host["switch"])
        return names

    def lost_with(self, routers: Container[int]) -> set[int]:
        """The nodes attached to routers."""
        names = self._names_of_nodes()
        return {node for node, (_, switches) in names.items() if switches[0] in routers}

    def _errors(self, seen: Sequence[Seen], found: Broken, ports: Mapping[Port, str]) -> None:
        """Says which links had most errors; in how many packets no counter tells."""
        told = [(port, counters) for one in seen for port, counters in one.errors.items()]
        told = [(port, counters) for port, counters in told if port in ports]
        told.sort(key=lambda item: (-sum(item[1].values()), item[0]))
        for port, counters in told[:_MOST_ERRORS]:
            words = ", ".join(f"{name} {count:,}" for name, count in counters.items())
            found.notices.append(
                f"{ports[port]}: {words}; if it goes on, give the link an error_rate"
            )
        if (more := len(told) - _MOST_ERRORS) > 0:
            found.notices.append(f"{_many(more, 'port')} with fewer errors")


def _adapter(host: Mapping[str, Any]) -> Port:
    """The port of an adapter on a switch; some simulated ones have GUIDs of ports alone."""
    return host["guid"] or host["port_guid"] or 0, host["port"]


def _state(
    seen: Iterable[Seen], ends: Sequence[Port], rate: str | None
) -> tuple[float | None, str]:
    """The share of a link's rate that is left by all outputs, and what it is now.

    ``None`` if the rates cannot be compared.
    """
    share, now = None, ""
    for one in seen:
        if one.dark.intersection(ends) or (one.all_ports and not one.lit.keys() & set(ends)):
            return 0.0, ""
        for end in ends:
            if found := one.lit.get(end):
                now = found
                if rate is not None:
                    left = _gbps(found) / _gbps(rate)
                    share = left if share is None else min(share, left)
    return share, now


def _gbps(rate: str) -> float:
    width, speed = rate.split("x")
    return int(width) * LANE_GBPS[speed]


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("s" if count != 1 else "")


# --- Reading ------------------------------------------------------------------------------


def _reader(text: str, source: str) -> tuple[Callable[[str, str], Seen], bool]:
    """What reads an output, and whether it is Slurm's."""
    for looks_like, read, is_slurms in _READERS:
        if re.search(looks_like, text):
            return read, is_slurms
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    raise ClusterError(f"{source}: line 1: found {first[:60]!r}; allowed: {FORMS}")


def _of_discovery(text: str, source: str) -> Seen:
    """A later ``ibnetdiscover``."""
    subnet = asked(text, source, _engine.read_ibnetdiscover)
    seen = Seen(all_ports=True)
    switches = subnet["switches"]

    def port_of(switch: int, number: int) -> Port:
        port = switches[switch]["guid"], number
        seen.names[port] = f"{switches[switch]['name']} port {number}"
        return port

    for cable in subnet["cables"]:
        one, other = port_of(*cable["a"]), port_of(*cable["b"])
        seen.cables[one], seen.cables[other] = other, one
        seen.lit[one] = seen.lit[other] = cable["rate"] or ""
    for host in subnet["hosts"]:
        port = port_of(host["switch"], host["switch_port"])
        adapter = _adapter(host)
        if adapter[0]:
            seen.names[adapter] = f"host {host['host'] or host['name']} port {host['port']}"
            seen.hosts[adapter] = port
        seen.lit[port] = host["rate"] or ""
    return seen


#: A link of ``iblinkinfo``, with the GUID that ``-l`` puts before it, or ``Link info`` of
#: ``ibqueryerrors -r``.
_LINK = re.compile(
    r"^\s*(?:(?P<guid>0x[0-9a-fA-F]+)\s+(?:\".*?\"\s+)?|Link info:\s*)?(?P<lid>\d+)\s+"
    r"(?P<port>\d+)\[[^]]*\]\s+==\(\s*(?:(?P<width>\d+)X\s+(?P<speed>[\d.]+)\s+Gbps\s+"
    r"(?P<name>\(FDR10\)\s+)?)?(?P<state>\w+)/\s*(?P<physical>\w+)\s*\)==>"
)


def _of_links(text: str, source: str) -> Seen:
    """``iblinkinfo``, and ``ibqueryerrors`` with or without links."""
    seen = Seen()
    guid: int | None = None
    port: Port | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.match(r"\s*Switch: (0x[0-9a-fA-F]+) ", line):
            guid = int(match[1], 16)
        elif line.startswith("CA: "):
            guid = None
        elif match := re.match(r"\s*GUID (0x[0-9a-fA-F]+) port (\d+|ALL): (\[.*)", line):
            if match[2] == "ALL":
                continue
            port = int(match[1], 16), int(match[2])
            counters = {
                name: int(count) for name, count in re.findall(r"\[(\w+) == (\d+)", match[3])
            }
            if bad := {name: count for name, count in counters.items() if name in _BAD_LINK}:
                seen.errors[port] = bad
        elif "==(" in line:
            link = _LINK.match(line)
            if link is None:
                raise ClusterError(
                    f"{source}: line {number}: found {line.strip()[:60]!r}; allowed: a link as "
                    "iblinkinfo prints it"
                )
            at = port if "Link info:" in line else _port_of(link, guid)
            if at is None:
                raise ClusterError(
                    f"{source}: line {number}: a link of no switch or adapter; allowed: "
                    "the whole output"
                )
            if link["state"] == "Active" and link["width"]:
                seen.lit[at] = f"{link['width']}x{_speed(link, source, number)}"
            else:
                seen.dark.add(at)
    return seen


def _port_of(link: re.Match[str], guid: int | None) -> Port | None:
    if link["guid"]:
        return int(link["guid"], 16), int(link["port"])
    return None if guid is None else (guid, int(link["port"]))


def _speed(link: re.Match[str], source: str, number: int) -> str:
    speed = "FDR10" if link["name"] else _PRINTED.get(link["speed"])
    if speed is None:
        allowed = ", ".join(_PRINTED)
        raise ClusterError(
            f"{source}: line {number}: found {link['speed']} Gbps a lane; allowed: {allowed}"
        )
    return speed


def _of_ibdiagnet(text: str, source: str) -> Seen:
    """``ibdiagnet2.db_csv``: tables of comma-separated values between START_ and END_."""
    seen = Seen(all_ports=True)
    for number, row in _rows(text, source, "PORTS"):
        where = f"{source}: line {number}"
        port = _int(row, "NodeGuid", where), _int(row, "PortNum", where)
        state = _int(row, "PortState", where)
        if port[1] == 0:
            continue  # a switch's own
        if state != 4:
            seen.dark.add(port)
            continue
        width = _WIDTH_CODES.get(_int(row, "LinkWidthActv", where))
        speed = _SPEED_CODES.get(_int(row, "LinkSpeedActv", where))
        seen.lit[port] = f"{width}x{speed}" if width and speed else ""
    if not seen.lit:
        raise ClusterError(f"{source}: has no active port in START_PORTS; allowed: {FORMS}")
    for number, row in _rows(text, source, "PM_INFO"):
        where = f"{source}: line {number}"
        counted = {}
        for name in _BAD_LINK:
            # The extended counter stands beside the one of 16 bits where there is one.
            for column in (f"{name}Ext", name):
                if re.fullmatch(r"\d+|0x[0-9a-fA-F]+", row.get(column, "")):
                    counted[name] = int(row[column], 0)
                    break
        if found := {name: count for name, count in counted.items() if count}:
            seen.errors[_int(row, "NodeGUID", where), _int(row, "PortNumber", where)] = found
    return seen


def _rows(text: str, source: str, table: str) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a table, with the numbers of their lines."""
    lines = text.splitlines()
    try:
        first = lines.index(f"START_{table}") + 1
        last = lines.index(f"END_{table}", first)
    except ValueError:
        if table == "PORTS" or f"START_{table}" in lines:
            raise ClusterError(
                f"{source}: has no whole table {table}, from START_{table} to END_{table}; "
                "allowed: the file ibdiagnet2.db_csv of one whole run"
            ) from None
        return
    rows = list(csv.reader(lines[first:last]))
    for number, row in enumerate(rows[1:], first + 2):
        if len(row) != len(rows[0]):
            raise ClusterError(
                f"{source}: line {number}: found {len(row)} columns; allowed: {len(rows[0])}, as "
                f"in line {first + 1}"
            )
        yield number, dict(zip(rows[0], row, strict=True))


def _int(row: Mapping[str, str], column: str, where: str) -> int:
    try:
        return int(row[column], 0)
    except KeyError:
        raise ClusterError(f"{where}: no column {column}") from None
    except ValueError:
        raise ClusterError(
            f"{where}: found {row[column]!r} as {column}; allowed: a number"
        ) from None


#: A row of ``sinfo -R`` or ``sinfo -lR``: reason, user, time, state with ``-l``, nodes.
_REASON = re.compile(
    r"(?P<reason>.*?)\s+[^\s:]+\s+(?:\d{4}-\d\d-\d\dT[\d:]+|Unknown)\s+(?:(?P<state>\S+)\s+)?(?P<nodes>\S+)"
)


def _of_reasons(text: str, source: str) -> Seen:
    """``sinfo -R``: nodes that are out, and why."""
    seen = Seen()
    begun = False
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"REASON\s+USER\s+TIMESTAMP\b", line):
            begun = True
        elif begun and line.strip():
            row = _REASON.fullmatch(line.strip())
            if row is None:
                raise ClusterError(
                    f"{source}: line {number}: found {line.strip()[:60]!r}; allowed: reason, user, "
                    "time and nodes, as `sinfo -R` prints them"
                )
            for host in hosts(row["nodes"], f"{source}: line {number}"):
                seen.out[host] = row["reason"]
    return seen


def _of_nodes(text: str, source: str) -> Seen:
    """What Slurm says of all nodes."""
    nodes = read_node_list(text, source)
    broken = {name: node for name, node in nodes.items() if not node.works}
    return Seen(out={name: node.reason or node.state.lower() for name, node in broken.items()})


#: How an output looks, what reads it, and whether it is Slurm's.
_READERS: list[tuple[str, Callable[[str, str], Seen], bool]] = [
    (r"(?m)^START_(NODES|PORTS|LINKS)$", _of_ibdiagnet, False),
    (r"(?m)==\(.*\)==>|^Errors for |^## Summary:", _of_links, False),
    (r"(?m)^REASON\s+USER\s+TIMESTAMP\b", _of_reasons, True),
    (
        r"(?m)\A\s*\{\s*(CA|SW|RT|Rt)\b|^((Switch|Ca|Hca|Rt)\s+\d+\s+\"|(vendid|switchguid)=)",
        _of_discovery,
        False,
    ),
    (
        r"(?mi)^\s*NodeName=|\A\s*[\[{]|\b(NODELIST|HOSTNAMES)\b"
        r"|\A\S+\s+(idle|alloc|mix|down|drain|drng|comp|maint|resv|plan|fail|unk)",
        _of_nodes,
        True,
    ),
]
