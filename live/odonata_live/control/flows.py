"""Flow entries of OpenFlow routers that follow circuits."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from odonata_live.control.circuits import NOBODY
from odonata_live.control.drivers.openflow import Session
from odonata_live.control.network import Hop

#: The cookie of our entries, with the job in its lower bits; others are not touched.
COOKIE = 0x4F46 << 48
#: IPv4.
_ETHERTYPE = 0x0800


def set_ways(
    sessions: Mapping[int, Session],
    ways: Sequence[Sequence[Hop]],
    pairs: Sequence[tuple[str, str]],
    addresses: Mapping[str, str],
    port: Callable[[int, int], int] = lambda router, port: port + 1,
    *,
    priority: int = 100,
    job: int = NOBODY,
    drain_s: float = 0.0,
) -> tuple[int, int]:
    """Leads pairs of nodes along ways, and takes off those of our entries that are on none.

    Only differences are sent, those of a way from its end to its beginning, so that a packet takes
    the rest of the old way or all of the new one, whenever it comes: none is lost, and none goes in
    a circle. Entries of old ways go last. Returns when the routers have done it.

    Args:
        sessions: The routers', by number, with us as their master; those on no way may be left
            out.
        ways: Routers and ports of each pair, as :meth:`.Network.ways` has them.
        pairs: Names of sender and receiver.
        addresses: IPv4 address of each node.
        port: A router's own number of one of its ports.
        priority: Of our entries.
        job: Whose entries; those of others are not touched.
        drain_s: How long packets get to leave old ways, seconds.

    Returns:
        How many entries were set, and how many taken off.

    Raises:
        DeviceError: If a router refuses an entry or gives no answer; some may then be set.
    """
    held: dict[int, dict[tuple[str, str], int]] = {}
    for number, session in sessions.items():
        of_router = {}
        for entry, pair in _entries(session, job):
            (of_router[pair],) = (a.port for i in entry.instructions for a in i.actions)
        held[number] = of_router
    by_address = [(addresses[one], addresses[other]) for one, other in pairs]
    wanted: dict[int, set[tuple[str, str]]] = {number: set() for number in sessions}
    new = old = 0
    for from_end in range(max(map(len, ways), default=0)):
        touched = set()
        for way, pair in zip(ways, by_address, strict=True):
            if from_end < len(way):
                router, leaving = way[-1 - from_end]
                wanted[router].add(pair)
                if held[router].get(pair) != port(router, leaving):
                    # A new entry of the same pair takes the old one's place in one step, and keeps
                    # its counters.
                    _send(sessions[router], "ADD", pair, port(router, leaving), priority, job)
                    touched.add(router)
                    new += 1
        for router in sorted(touched):
            sessions[router].barrier()
    gone = {router: sorted(held[router].keys() - wanted[router]) for router in sessions}
    if any(gone.values()):
        time.sleep(drain_s)
    for router, without in gone.items():
        for pair in without:
            _send(sessions[router], "DELETE_STRICT", pair, held[router][pair], priority, job)
            old += 1
        if without:
            sessions[router].barrier()
    return new, old


def _send(
    session: Session, command: str, pair: tuple[str, str], port: int, priority: int, job: int
) -> None:
    constants, messages = session.constants, session.messages
    actions = [messages.OFPActionOutput(port)]
    session.send(
        "OFPFlowMod",
        command=getattr(constants, f"OFPFC_{command}"),
        cookie=COOKIE | job,
        priority=priority,
        out_port=constants.OFPP_ANY,
        out_group=constants.OFPG_ANY,
        match=messages.OFPMatch(eth_type=_ETHERTYPE, ipv4_src=pair[0], ipv4_dst=pair[1]),
        instructions=[messages.OFPInstructionActions(constants.OFPIT_APPLY_ACTIONS, actions)],
    )


def bytes_by_pair(session: Session, job: int = NOBODY) -> dict[tuple[str, str], int]:
    """Bytes that a router's entries have forwarded so far, by addresses of sender and receiver.

    Raises:
        DeviceError: If the router gives no answer.
    """
    return {pair: int(entry.byte_count) for entry, pair in _entries(session, job)}


def _entries(session: Session, job: int) -> list[tuple[Any, tuple[str, str]]]:
    """Entries of a job, and the addresses of sender and receiver that they are for."""
    found = []
    for entry in session.entries():
        if entry.cookie == COOKIE | job:
            match = dict(entry.match.items())
            found.append((entry, (match["ipv4_src"], match["ipv4_dst"])))
    return found
