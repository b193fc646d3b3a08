"""Flow entries of OpenFlow routers that follow circuits."""

from __future__ import annotations

from collections.abc import Mapping

from odonata_live.control.drivers.openflow import Session

#: The cookie of our entries; others are not touched.
COOKIE = 0x4F46 << 48
#: IPv4.
_ETHERTYPE = 0x0800


def set_flows(
    session: Session,
    entries: Mapping[tuple[str, str], int],
    addresses: Mapping[str, str],
    ports: Mapping[int, int],
    priority: int = 100,
) -> tuple[int, int]:
    """Gives a router entries for pairs of nodes, and takes off those of ours that it has besides.

    Only differences are sent, new entries before old ones go, so that packets of pairs whose way
    stays are not disturbed. Returns when the router has done it.

    Args:
        session: The router's, with us as its master.
        entries: Port of each pair of sender and receiver that come by, as
            :func:`odonata_live.control.network.flows` has them for it.
        addresses: IPv4 address of each node.
        ports: The router's own numbers of its ports.
        priority: Of our entries.

    Returns:
        How many entries were set, and how many taken off.

    Raises:
        DeviceError: If the router refuses an entry or gives no answer; it may then have a part.
    """
    wanted = {
        (addresses[one], addresses[other]): ports[port] for (one, other), port in entries.items()
    }
    held: dict[tuple[str, str], int] = {}
    for entry in session.entries():
        if entry.cookie == COOKIE:
            match = dict(entry.match.items())
            (out,) = (a.port for i in entry.instructions for a in i.actions)
            held[match["ipv4_src"], match["ipv4_dst"]] = out
    constants, messages = session.constants, session.messages

    def send(command: int, pair: tuple[str, str], port: int) -> None:
        actions = [messages.OFPActionOutput(port)]
        session.send(
            "OFPFlowMod",
            command=command,
            cookie=COOKIE,
            priority=priority,
            out_port=constants.OFPP_ANY,
            out_group=constants.OFPG_ANY,
            match=messages.OFPMatch(eth_type=_ETHERTYPE, ipv4_src=pair[0], ipv4_dst=pair[1]),
            instructions=[messages.OFPInstructionActions(constants.OFPIT_APPLY_ACTIONS, actions)],
        )

    new = {pair: port for pair, port in wanted.items() if held.get(pair) != port}
    old = {pair: port for pair, port in held.items() if pair not in wanted}
    for pair, port in sorted(new.items()):
        # A new entry of the same pair takes the old one's place in one step.
        send(constants.OFPFC_ADD, pair, port)
    session.barrier()
    for pair, port in sorted(old.items()):
        send(constants.OFPFC_DELETE_STRICT, pair, port)
    session.barrier()
    return len(new), len(old)
