"""How much work a simulation is likely to be, before it is begun."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from odonata.plug_ins.calls import has_plug_ins
from odonata.scenario import Scenario

#: Packet-hops that one core simulates in a second, where nothing has been measured yet.
HOPS_PER_S = 4.0e6
#: Links that a packet crosses, the node's two included.
_HOPS = {"minimal": 4.5, "shortest-path": 4.0}
_DETOURED_HOPS = 6.5

PS_PER_S = 1e12


def packet_hops(scenario: Scenario) -> float | None:
    """Packets times the links that they cross, estimated; ``None`` for loads it knows nothing of.

    Good to a factor of two: enough to begin with the longest, and to say whether a study takes
    minutes or days.
    """
    if scenario.schedule is not None:
        return None
    form = scenario.normalised()
    if has_plug_ins(form):
        return None
    packet = form["simulation"]["packet_bytes"]
    network = form["network"]
    duration_ps = form["simulation"]["duration_ps"]
    if duration_ps is None:
        duration_ps = _last_message_ps(form["jobs"])
    packets = 0.0
    for job in form["jobs"]:
        found = _job_packets(job, packet, duration_ps, network)
        if found is None:
            return None
        packets += found
    return packets * _HOPS.get(network["routing"]["algorithm"], _DETOURED_HOPS)


def _last_message_ps(jobs: Sequence[Mapping[str, Any]]) -> float | None:
    """When the last of the jobs that send a number of messages sends it, if all is known."""
    traffics = [(job["load"] or {}).get("traffic") for job in jobs]
    ends = [
        traffic["messages"] * (traffic["interval_ps"] or traffic["offered"].get("interval_ps", 0))
        for traffic in traffics
        if traffic is not None and traffic["messages"] is not None
    ]
    return max(ends, default=0) or None


def _job_packets(
    job: Mapping[str, Any], packet: int, duration_ps: float | None, network: Mapping[str, Any]
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
    offered, interval_ps = traffic["offered"], traffic["interval_ps"]
    seconds = duration_ps / PS_PER_S
    nodes = ranks / job["ranks_per_node"]
    if "load" in offered:
        terminal = network["links"]["terminal"]["bandwidth_bytes_per_s"]
        rate = offered["load"] * terminal * nodes / ranks
    elif "tgll" in offered:
        if "global" not in network["links"]:
            return None
        rate = offered["tgll"] * network["links"]["global"]["bandwidth_bytes_per_s"]
    elif "rate_bytes_per_s" in offered:
        rate = offered["rate_bytes_per_s"]
    else:
        rate, interval_ps = 0.0, max(offered["interval_ps"], 1)
    message = traffic["message_bytes"] or max(rate * (interval_ps or 0) / PS_PER_S, 1)
    messages = duration_ps / interval_ps if interval_ps else rate * seconds / message
    if traffic["messages"] is not None:
        messages = min(messages, traffic["messages"])
    pattern = traffic["pattern"]
    if pattern["name"] == "broadcast":
        senders, at_once = 1, ranks - 1
    else:
        dimensions = len(pattern.get("grid") or ()) or pattern.get("dimensions") or 3
        every = pattern["name"] == "stencil" and pattern.get("to") == "all"
        senders, at_once = ranks, 2 * dimensions if every else 1
    return float(senders * at_once * messages * math.ceil(message / packet))


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
