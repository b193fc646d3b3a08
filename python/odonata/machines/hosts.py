"""Names of hosts, and the nodes that they are."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from odonata import _engine
from odonata.bounded import read_text
from odonata.errors import MachineError
from odonata.machines.machine import HostRange
from odonata.scenario import Scenario


def hosts_of(scenario: Scenario) -> dict[str, int]:
    """The node of each host of a machine, by name without domain.

    Args:
        scenario: Of a machine: with `[machine]` and hosts in it.

    Returns:
        Node of each host.

    Raises:
        MachineError: If it names no hosts, or some twice, or two for one node.
    """
    where = scenario.file or "the scenario"
    machine = scenario.machine
    if machine is None or not (machine.hosts or machine.hosts_file):
        raise MachineError(
            f"{where}: names no hosts; allowed: machine.hosts or machine.hosts_file, which say "
            "which node of the network each host is"
        )
    nodes: dict[str, int] = {}
    names: dict[int, str] = {}
    for place, names_text, first in _ranges(scenario):
        try:
            expanded = _engine.expand_hostlist(names_text)
        except ValueError as error:
            raise MachineError(f'{place}: "{names_text}" is no list of hosts: {error}') from None
        for node, name in enumerate(expanded, first):
            if name in nodes:
                raise MachineError(f"{place}: host {name} is there already, on node {nodes[name]}")
            if node in names:
                raise MachineError(f"{place}: node {node} of {name} is that of {names[node]}")
            nodes[name], names[node] = node, name
    return nodes


def _ranges(scenario: Scenario) -> Iterable[tuple[str, str, int]]:
    """Where, list of hosts, node of the first."""
    machine = scenario.machine
    assert machine is not None
    file = scenario.file or "the scenario"
    if machine.hosts_file is None:
        for position, entry in enumerate(machine.hosts):
            assert isinstance(entry, HostRange)
            yield f"{file}: machine.hosts[{position}]", entry.names, entry.first_node
        return
    path = scenario.directory / machine.hosts_file
    for number, line in enumerate(read_text(path, MachineError).splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if len(words) != 2 or not words[1].isdecimal():
            raise MachineError(
                f'{path}:{number}: found "{line.strip()}"; allowed: a list of hosts and the '
                "number of the node of the first, such as lrdn[0001-0010] 0"
            )
        yield f"{path}:{number}", words[0], int(words[1])


def read_hosts(given: str | os.PathLike[str]) -> list[str]:
    """Names of hosts, in the order of the ranks.

    Args:
        given: A list as Slurm writes it, such as ``n[0-3,7]``, or a file with hosts or such lists,
            one in a line; ``-`` is standard input. Blank lines and what follows a ``#`` do not
            count.

    Raises:
        MachineError: If it is neither, or names no host.
    """
    text = os.fspath(given)
    if text == "-" or _is_file(text):
        lines = read_text(text, MachineError).splitlines()
    elif "/" in text or text.endswith((".txt", ".list", ".lst", ".hosts")):
        raise MachineError(f"{text}: there is no such file")
    else:
        return _expanded("hosts", text)
    names = []
    for number, line in enumerate(lines, 1):
        words = line.split("#")[0].split()
        if len(words) > 1:
            allowed = "a host, or a list such as n[0-3,7]"
            raise MachineError(f'{text}:{number}: found "{line.strip()}"; allowed: {allowed}')
        for word in words:
            names += _expanded(f"{text}:{number}", word)
    if not names:
        raise MachineError(f"{text}: holds no hosts; allowed: one in a line, in order of ranks")
    return names


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):
        return False  # a list longer than names of files may be


def _expanded(where: str, list_: str) -> list[str]:
    try:
        names = list(_engine.expand_hostlist(list_))
    except ValueError as error:
        raise MachineError(f"{where}: {error}") from None
    if not names:
        raise MachineError(f"{where}: found no host; allowed: a list such as n[0-3,7], or a file")
    return names


def nodes_of(hosts: Sequence[str], known: dict[str, int], per_node: int, machine: str) -> list[int]:
    """The nodes of an allocation, in the order of its ranks.

    Args:
        hosts: In the order of ranks: each host once, or `per_node` times in a row.
        known: Node of each host of the machine.
        per_node: Ranks on each.
        machine: Its name, for messages.

    Returns:
        One node for each host.

    Raises:
        MachineError: If the machine does not have a host, or one is there more often.
    """
    names = [host.split(".")[0] for host in hosts]
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            first, last = min(known), max(known)
            raise MachineError(
                f"host {name}: {machine} has none of that name; allowed: {len(known)} hosts from "
                f"{first} to {last}{hint}"
            )
    if per_node > 1 and len(names) > len(set(names)):
        packed = names[::per_node]
        if [name for name in packed for _ in range(per_node)] != names:
            raise MachineError(
                f"hosts: found {len(names)} lines with repeated hosts that are not {per_node} "
                f"in a row each; allowed: every host once, or {per_node} times in a row"
            )
        names = packed
    seen: dict[str, int] = {}
    for rank, name in enumerate(names):
        if name in seen:
            raise MachineError(
                f"host {name}: is there twice, in places {seen[name] + 1} and {rank + 1}; allowed: "
                "every host once (several ranks on each: --per-node)"
            )
        seen[name] = rank
    return [known[name] for name in names]
