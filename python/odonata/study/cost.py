"""How much work a simulation is likely to be, before it is begun."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from odonata.scenario import Scenario

#: Packet-hops that one core simulates in a second, where nothing has been measured yet.
HOPS_PER_S = 2.0e6
#: Links that a packet crosses, the node's two included.
_HOPS = {"minimal": 4.5, "shortest-path": 4.0}
_DETOURED_HOPS = 6.5

PS_PER_S = 1e12


def packet_hops(scenario: Scenario) -> float | None:
    """Packets times the links that they cross, estimated; ``None`` for loads it knows nothing of.

    Good to a factor of two: enough to begin with the longest, and to say whether a study takes
    minutes or days.
    """
    form = scenario.normalised()
    packet = form["simulation"]["packet_bytes"]
    network = form["network"]
    packets = 0.0
    for job in form["jobs"]:
        found = _job_packets(job, packet, form["simulation"]["duration_ps"], network)
        if found is None:
            return None
        packets += found
    return packets * _HOPS.get(network["routing"]["algorithm"], _DETOURED_HOPS)


def _job_packets(
    job: Mapping[str, Any], packet: int, duration_ps: int | None, network: Mapping[str, Any]
) -> float | None:
    ranks = job["ranks"]
    if ranks is None:
        nodes = job["nodes"] or len(job["placement"].get("nodes", ())) or None
        ranks = nodes and nodes * job["ranks_per_node"]
    load = job["load"] or {}
    if "motif" in load:
        return _motif_packets(load["motif"], ranks, packet)
    if ranks is None or duration_ps is None or "traffic" not in load:
        return None
    traffic = load["traffic"]
    message = traffic["message_bytes"]
    each = math.ceil(message / packet)
    offered = traffic["offered"]
    seconds = duration_ps / PS_PER_S
    if "load" in offered:
        terminal = network["links"]["terminal"]["bandwidth_bytes_per_s"]
        nodes = ranks / job["ranks_per_node"]
        messages = offered["load"] * terminal * nodes * seconds / message
    elif "rate_bytes_per_s" in offered:
        messages = offered["rate_bytes_per_s"] * ranks * seconds / message
    else:
        messages = ranks * duration_ps / max(offered["interval_ps"], 1)
    return float(messages * each)


def _motif_packets(motif: Mapping[str, Any], ranks: int | None, packet: int) -> float | None:
    kind = motif["kind"]
    name, message = kind["name"], kind.get("message_bytes")
    if name == "matrix":
        total = kind.get("total_bytes")
        return None if total is None else motif["iterations"] * total / packet
    if ranks is None or message is None:
        return None
    messages = {
        "all-to-all": ranks * (ranks - 1),
        "bisection": ranks * ranks / 2,
        "halo": 2 * kind.get("dimensions", 0) * ranks,
        "exchange": ranks,
        "broadcast": ranks - 1,
    }.get(name)
    if messages is None:
        return None
    return float(motif["iterations"] * messages * math.ceil(message / packet))
