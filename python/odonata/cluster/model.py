"""A cluster as Slurm tells of it: nodes with their states, partitions, reservations.

From ``scontrol show nodes|partitions|reservations``, as text (of any version, with or without
``--oneliner``) or as JSON (before and since Slurm 23.11). Its jobs: :mod:`odonata.cluster.jobs`.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from odonata.cluster.queue import hosts
from odonata.errors import ClusterError

NODES_COMMAND = ("scontrol", "--oneliner", "show", "nodes")
PARTITIONS_COMMAND = ("scontrol", "--oneliner", "show", "partitions")
RESERVATIONS_COMMAND = ("scontrol", "--oneliner", "show", "reservations")
#: What asks for states alone, which is quick: a line for each node and partition.
STATES_COMMAND = ("sinfo", "--noheader", "--Node", "--format=%N %T")

#: What ``sinfo`` appends to the word of a state, and what it stands for.
_SUFFIXES = {
    "*": "NOT_RESPONDING",
    "~": "POWERED_DOWN",
    "#": "POWERING_UP",
    "!": "POWER_DOWN",
    "%": "POWERING_DOWN",
    "$": "MAINTENANCE",
    "@": "REBOOT_REQUESTED",
    "^": "REBOOT_ISSUED",
    "-": "PLANNED",
    "+": "DRAIN",
}
#: Words of states that are one state and a flag.
_WORDS = {
    "DRAINED": ("IDLE", "DRAIN"),
    "DRAINING": ("ALLOCATED", "DRAIN"),
    "FAILING": ("ALLOCATED", "FAIL"),
    "PLANNED": ("IDLE", "PLANNED"),
    "RESERVED": ("IDLE", "RESERVED"),
    "MAINT": ("IDLE", "MAINTENANCE"),
    "COMP": ("IDLE", "COMPLETING"),
    "COMPLETING": ("IDLE", "COMPLETING"),
    "REBOOT": ("IDLE", "REBOOT_REQUESTED"),
    "INVAL": ("DOWN", "INVALID_REG"),
}
_BASES = frozenset({"IDLE", "ALLOCATED", "MIXED", "DOWN", "ERROR", "FUTURE", "UNKNOWN"})
#: Flags that do not keep a job off an idle node.
_HARMLESS = frozenset({"CLOUD", "DYNAMIC_NORM", "POWERED_DOWN", "POWER_DOWN", "PLANNED"})


@dataclass(frozen=True)
class Node:
    """A node.

    Attributes:
        name: Slurm's name of it.
        state: ``IDLE``, ``ALLOCATED``, ``MIXED``, ``DOWN``, ``UNKNOWN`` …
        flags: What is more of it: ``DRAIN``, ``PLANNED``, ``MAINTENANCE``, ``RESERVED`` …
        partitions: Partitions that it belongs to.
        features: Features that are active.
        cpus: Its CPUs.
        memory_mb: Its memory, MiB.
        reason: Why it is out, if somebody said so.
    """

    name: str
    state: str
    flags: frozenset[str] = frozenset()
    partitions: tuple[str, ...] = ()
    features: frozenset[str] = frozenset()
    cpus: int = 0
    memory_mb: int = 0
    reason: str = ""

    @property
    def works(self) -> bool:
        """Whether jobs may start on it, now or once others have ended."""
        return self.state in ("IDLE", "ALLOCATED", "MIXED") and not (
            self.flags - _HARMLESS - {"COMPLETING", "RESERVED"}
        )

    @property
    def is_idle(self) -> bool:
        """Whether a job may start on it now. Whether Slurm planned it for one is not looked at."""
        return self.state == "IDLE" and self.works and "COMPLETING" not in self.flags

    @property
    def is_reserved(self) -> bool:
        """Whether a reservation has it now."""
        return "RESERVED" in self.flags

    @property
    def is_planned(self) -> bool:
        """Whether Slurm's backfill keeps it for a job."""
        return "PLANNED" in self.flags


@dataclass(frozen=True)
class Partition:
    """A partition.

    Attributes:
        name: Its name.
        nodes: Names of its nodes.
        is_up: Whether jobs start there.
        exclusive: Whether its jobs get whole nodes, whatever they ask for.
        time_limit_s: Longest time limit; `None`: none.
        default_time_s: Time limit of jobs that name none; `None`: the longest.
    """

    name: str
    nodes: tuple[str, ...]
    is_up: bool = True
    exclusive: bool = False
    time_limit_s: int | None = None
    default_time_s: int | None = None


@dataclass(frozen=True)
class Reservation:
    """Nodes that are kept for somebody, or for maintenance.

    Attributes:
        name: Its name.
        start_s: When it begins, Unix seconds.
        end_s: When it ends.
        nodes: Names of its nodes.
    """

    name: str
    start_s: int
    end_s: int
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class Machine:
    """Nodes, partitions and reservations of a cluster.

    Attributes:
        nodes: By name, in Slurm's order.
        partitions: By name.
        reservations: In the order in which they begin.
    """

    nodes: Mapping[str, Node]
    partitions: Mapping[str, Partition] = field(default_factory=dict)
    reservations: Sequence[Reservation] = ()


# --- Nodes ----------------------------------------------------------------------------


def read_node_list(text: str, source: str = "scontrol show nodes") -> dict[str, Node]:
    """The nodes that ``scontrol show nodes`` printed, or ``sinfo --json`` of Slurm before 23.11.

    Raises:
        ClusterError: If it is neither, or there is no node.
    """
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        nodes = [_node_of_json(node, source) for node in _list(text, "nodes", source)]
    else:
        nodes = list(_nodes_of_text(text, source))
    if not nodes:
        raise ClusterError(f"{source}: no node; allowed: the output of `scontrol show nodes`")
    return {node.name: node for node in nodes}


def _nodes_of_text(text: str, source: str) -> Iterator[Node]:
    for record in records(text, "NodeName"):
        state, flags = _state(record.get("State", "UNKNOWN").split("+"))
        yield Node(
            name=record["NodeName"],
            state=state,
            flags=flags,
            partitions=_names(record.get("Partitions")),
            features=frozenset(_names(record.get("ActiveFeatures"))),
            cpus=_integer(record.get("CPUTot")),
            memory_mb=_integer(record.get("RealMemory")),
            reason=_text(record.get("Reason")),
        )


def _node_of_json(node: Any, source: str) -> Node:
    name = node.get("name") if isinstance(node, dict) else None
    if not isinstance(name, str) or not name:
        raise ClusterError(f"{source}: found {node!r:.60}; allowed: nodes with a `name`")
    given = node.get("state") or "UNKNOWN"
    words = [given] if isinstance(given, str) else list(map(str, given))
    state, flags = _state([*words, *map(str, node.get("state_flags") or ())])
    features = node.get("active_features") or ()
    return Node(
        name=name,
        state=state,
        flags=flags,
        partitions=tuple(map(str, node.get("partitions") or ())),
        features=frozenset(_names(features) if isinstance(features, str) else features),
        cpus=_integer(node.get("cpus")),
        memory_mb=_integer(node.get("real_memory")),
        reason=str(node.get("reason") or ""),
    )


def read_states(text: str, source: str = "sinfo") -> dict[str, tuple[str, frozenset[str]]]:
    """State and flags of each node, from what :data:`STATES_COMMAND` asks for.

    Raises:
        ClusterError: If a line is not a node and its state.
    """
    states: dict[str, tuple[str, frozenset[str]]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words:
            continue
        if len(words) != 2:
            raise ClusterError(f"{source}: line {number}: found {line[:60]!r}; allowed: NODE STATE")
        word, suffixes = words[1], []
        while word and word[-1] in _SUFFIXES:
            suffixes.append(_SUFFIXES[word[-1]])
            word = word[:-1]
        states[words[0]] = _state([word, *suffixes])
    return states


def _state(words: Sequence[str]) -> tuple[str, frozenset[str]]:
    """A state and its flags; words that nobody knows are flags, so that they keep jobs away."""
    state, flags = "UNKNOWN", set()
    for word in words:
        word = word.strip().upper().replace("-", "_").rstrip("*~#!%$@^")
        base, *more = _WORDS.get(word, (word,))
        if base in _BASES and state == "UNKNOWN":
            state = base
        elif base and base not in _BASES:
            flags.add(base)
        flags.update(more)
    # Slurm writes the suffix of what does not answer to the word itself.
    flags.update(_SUFFIXES[w[-1]] for w in words if w and w[-1] in "*" and len(w) > 1)
    flags.discard("")
    return state, frozenset(flags)


# --- Partitions and reservations -------------------------------------------------------


def read_partitions(text: str, source: str = "scontrol show partitions") -> dict[str, Partition]:
    """The partitions that ``scontrol show partitions`` printed.

    Raises:
        ClusterError: If there is none.
    """
    found: dict[str, Partition] = {}
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        for partition in _list(text, "partitions", source):
            name = str(partition.get("name") or "")
            if isinstance(partition.get("nodes"), str):
                # Slurm before 23.11, by slurmrestd alone.
                found[name] = Partition(
                    name,
                    hosts(partition["nodes"], source),
                    is_up=str(partition.get("state")).upper() == "UP",
                    time_limit_s=_limited(partition.get("max_time_limit")),
                    default_time_s=_limited(partition.get("default_time_limit")),
                )
                continue
            at_most, usual = partition.get("maximums") or {}, partition.get("defaults") or {}
            shares = at_most.get("oversubscribe") or {}
            states = (partition.get("partition") or {}).get("state") or ["UP"]
            found[name] = Partition(
                name,
                hosts(str((partition.get("nodes") or {}).get("configured") or ""), source),
                is_up="UP" in [str(state).upper() for state in states],
                exclusive=shares.get("jobs") == 0 or "exclusive" in (shares.get("flags") or ()),
                time_limit_s=_minutes(at_most.get("time")),
                default_time_s=_minutes(usual.get("time")),
            )
    for record in () if found else records(text, "PartitionName"):
        name = record["PartitionName"]
        found[name] = Partition(
            name,
            hosts(_text(record.get("Nodes")), f"{source}: {name}"),
            is_up=record.get("State", "UP") == "UP",
            exclusive=record.get("OverSubscribe") == "EXCLUSIVE",
            time_limit_s=read_limit(record.get("MaxTime", "UNLIMITED")),
            default_time_s=read_limit(record.get("DefaultTime", "NONE")),
        )
    if not found:
        raise ClusterError(f"{source}: no partition; allowed: `scontrol show partitions`")
    return found


def read_reservations(text: str, source: str = "scontrol show reservations") -> list[Reservation]:
    """The reservations that ``scontrol show reservations`` printed; none if there are none."""
    found: list[Reservation] = []
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        for one in _list(text, "reservations", source):
            begin, end = _integer(one.get("start_time")), _integer(one.get("end_time"))
            nodes = hosts(str(one.get("node_list") or ""), source)
            found.append(Reservation(str(one.get("name")), begin, end, nodes))
    else:
        for record in records(text, "ReservationName"):
            found.append(
                Reservation(
                    record["ReservationName"],
                    read_time(record.get("StartTime", "")) or 0,
                    read_time(record.get("EndTime", "")) or 1 << 40,
                    hosts(_text(record.get("Nodes")), source),
                )
            )
    return sorted(found, key=lambda one: one.start_s)


# --- Words of Slurm --------------------------------------------------------------------


def records(text: str, first: str) -> Iterator[dict[str, str]]:
    """Records of ``scontrol show``, on one line each or not; each begins with a key."""
    begins = [match.start() for match in re.finditer(rf"(?m)^\s*{first}=", text)]
    for begin, end in zip(begins, (*begins[1:], len(text)), strict=False):
        record = text[begin:end]
        keys = list(re.finditer(r"(?:^|(?<=\s))([A-Za-z][\w/:]*)=", record))
        ends = [key.start() for key in keys[1:]] + [len(record)]
        fields: dict[str, str] = {}
        for key, stop in zip(keys, ends, strict=True):
            fields.setdefault(key[1], record[key.end() : stop].strip())
        yield fields


def read_limit(text: str) -> int | None:
    """Seconds of a time limit such as ``1-02:03:04``, ``10:00`` or ``30``; `None` without one.

    Raises:
        ClusterError: If it is none.
    """
    text = text.strip()
    if text.upper() in ("UNLIMITED", "INFINITE", "NONE", "NOT_SET", "INVALID", "N/A", "", "(NULL)"):
        return None
    match = re.fullmatch(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?", text)
    if match is None:
        raise ClusterError(f"found {text!r:.40} as a time limit; allowed: such as 1-02:03:04")
    days, *rest = match.groups()
    parts = [int(part) for part in rest if part is not None]
    if days is not None:
        parts += [0] * (3 - len(parts))
    elif len(parts) == 1:
        parts = [0, parts[0], 0]
    while len(parts) < 3:
        parts.insert(0, 0)
    return (int(days or 0) * 24 + parts[0]) * 3600 + parts[1] * 60 + parts[2]


def read_time(text: str) -> int | None:
    """Unix seconds of a time as Slurm prints it, as seconds or by the local clock; or `None`."""
    text = text.strip()
    if text.isdigit():
        return int(text) or None
    try:
        return int(time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S")))
    except (ValueError, OverflowError):
        return None


def _list(text: str, key: str, source: str) -> list[Any]:
    try:
        content = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise ClusterError(f"{source}: not JSON of Slurm: {error}") from error
    found = content.get(key) if isinstance(content, dict) else None
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ClusterError(f"{source}: found JSON without a list `{key}` of objects")
    return found


def number(value: Any) -> int | None:
    """A number that newer versions wrap up with whether it is set; `None` if it is not."""
    if isinstance(value, dict):
        if not value.get("set", True) or value.get("infinite"):
            return None
        value = value.get("number")
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _minutes(value: Any) -> int | None:
    minutes = number(value)
    return None if minutes is None else 60 * minutes


def _limited(value: Any) -> int | None:
    """Seconds of minutes that are negative where there is no limit."""
    minutes = number(value)
    return None if minutes is None or minutes < 0 else 60 * minutes


def _integer(value: Any) -> int:
    if isinstance(value, str):
        return int(value) if value.isdigit() else 0
    return number(value) or 0


def _text(value: str | None) -> str:
    return "" if value is None or value in ("(null)", "N/A") else value


def _names(value: str | None) -> tuple[str, ...]:
    return tuple(name for name in _text(value).split(",") if name)
