"""What was counted in an InfiniBand subnet, in sentences for people."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def read_subnet(path: Path) -> dict[str, Any]:
    """What is cabled, from the output of ``ibnetdiscover`` or a list of OpenSM.

    Raises:
        SpecError: If it cannot be read, or contradicts itself.
    """
    from odonata import _engine

    return _engine.read_ibnetdiscover(str(path))


def ports_of_hosts(subnet: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The ports of each host that their descriptions name, along the switches."""
    found: dict[str, list[dict[str, Any]]] = {}
    for port in subnet["hosts"]:
        if port["host"] is not None:
            found.setdefault(port["host"], []).append(port)
    return found


def nodes_of_ports(subnet: Mapping[str, Any], interfaces: str) -> list[int]:
    """The node that each port of ``subnet["hosts"]`` is, as the engine numbers them.

    Args:
        subnet: As of :func:`read_subnet`.
        interfaces: As of ``network.interfaces``.
    """
    node_of: dict[str | int, int] = {}
    return [
        node_of.setdefault(
            port["host"] if port["host"] is not None and interfaces == "joined" else place,
            len(node_of),
        )
        for place, port in enumerate(subnet["hosts"])
    ]


def counted(subnet: Mapping[str, Any], unnamed_are: str, several_switches: str) -> list[str]:
    """What a person should know about what was counted, sentences.

    Args:
        subnet: As of :func:`read_subnet`.
        unnamed_are: What becomes of adapters that name no host.
        several_switches: What becomes of hosts whose adapters are on several switches.
    """
    found = []
    if count := subnet["warnings"]:
        found.append(
            f"{_many(count, 'warning')} of ibnetdiscover's libraries between the lines: what they "
            "could not ask is missing"
        )
    hosts = ports_of_hosts(subnet)
    named = sum(map(len, hosts.values()))
    unnamed, left_out = len(subnet["hosts"]) - named, subnet["aggregation_nodes"]
    if left_out or (unnamed and named) or named > len(hosts):
        parts = [f"{named:,} of {_many(len(hosts), 'host')}"]
        if unnamed:
            parts.append(f"{unnamed:,} that name no host, {unnamed_are}")
        if left_out:
            parts.append(f"{left_out:,} aggregation nodes of switches, which are left out")
        all_ = named + unnamed + left_out
        found.append(f"{_many(all_, 'port')} of adapters on switches: {'; '.join(parts)}")
    spread = sum(len({port["switch"] for port in ports}) > 1 for ports in hosts.values())
    if spread:
        found.append(
            f"{_many(spread, 'host')} with adapters on several switches: {several_switches}"
        )
    return found


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("s" if count != 1 else "")
