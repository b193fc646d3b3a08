"""Connections of a switch, and the steps from one set of them to another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from odonata.errors import DeviceError

#: The job of connections that nobody owns.
NOBODY = 0
#: The largest job number that fits the 48 bits which devices keep it in.
LARGEST_JOB = 2**48 - 1


@dataclass(frozen=True, order=True)
class Connection:
    """Light that enters a switch at one port and leaves it at another.

    A circuit that leads both ways is two of them.

    Attributes:
        ingress: Port where it enters, from 0.
        egress: Port where it leaves, from 0.
        job: Who owns it, or :data:`NOBODY`.
    """

    ingress: int
    egress: int
    job: int = NOBODY

    @property
    def ends(self) -> tuple[int, int]:
        """Ingress and egress port."""
        return (self.ingress, self.egress)


#: All connections of a switch.
Connections = frozenset[Connection]
#: All connections of switches, by their names.
Settings = Mapping[str, Connections]


@dataclass(frozen=True)
class Step:
    """What all switches do before any of them goes on.

    Attributes:
        action: Whether connections are made or broken.
        connections: By switch; none of them empty.
    """

    action: Literal["make", "break"]
    connections: Mapping[str, tuple[Connection, ...]]


def check(name: str, connections: Iterable[Connection]) -> Connections:
    """The connections as a set.

    Raises:
        DeviceError: If a port is in two of them.
    """
    found = frozenset(connections)
    for side in ("ingress", "egress"):
        seen: set[int] = set()
        for connection in sorted(found):
            port = getattr(connection, side)
            if port in seen:
                raise DeviceError(
                    f"switch {name}: {side} port {port} is in two connections; a port takes one"
                )
            seen.add(port)
    return found


def between(before: Settings, after: Settings) -> list[Step]:
    """Steps from one setting to another, of the same switches.

    Make before break, where ports allow: first what begins and ends at dark ports, and what only
    changes its owner; then what goes is broken; then what took its ports is made. Ports that are
    in neither difference are in no step.
    """
    early: dict[str, tuple[Connection, ...]] = {}
    gone: dict[str, tuple[Connection, ...]] = {}
    late: dict[str, tuple[Connection, ...]] = {}
    for name in sorted(after):
        old = {connection.ends: connection for connection in before[name]}
        kept = {connection.ends for connection in after[name]}
        lit_in = {ingress for ingress, _ in old}
        lit_out = {egress for _, egress in old}
        first: list[Connection] = []
        last: list[Connection] = []
        for connection in sorted(after[name] - before[name]):
            dark = connection.ingress not in lit_in and connection.egress not in lit_out
            (first if dark or connection.ends in old else last).append(connection)
        broken = [connection for ends, connection in sorted(old.items()) if ends not in kept]
        for step, found in ((early, first), (gone, broken), (late, last)):
            if found:
                step[name] = tuple(found)
    steps = (Step("make", early), Step("break", gone), Step("make", late))
    return [step for step in steps if step.connections]


def touched(before: Connections, after: Connections) -> tuple[set[int], set[int]]:
    """Ingress and egress ports that differ between two settings of a switch."""
    changed = before ^ after
    return {c.ingress for c in changed}, {c.egress for c in changed}


def merged(now: Connections, wanted: Connections, ports: tuple[set[int], set[int]]) -> Connections:
    """What a switch has `now`, but at some ingress and egress ports what is `wanted` there."""
    ingress, egress = ports
    others = {c for c in now if c.ingress not in ingress and c.egress not in egress}
    return frozenset(others | {c for c in wanted if c.ingress in ingress or c.egress in egress})
