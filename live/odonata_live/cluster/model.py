"""A cluster as Slurm tells of it: nodes with their states, partitions, reservations.

From ``scontrol show nodes|partitions|reservations``, as text (of any version, with or without
``--oneliner``) or as JSON (before and since Slurm 23.11). :mod:`odonata_live.cluster.jobs` reads
its jobs.

A record that makes no sense is an error, or is left out where somebody is told (`left_out`).
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from odonata.errors import ClusterError
from odonata_live.cluster.queue import hosts

NODES_COMMAND = ("scontrol", "--oneliner", "show", "nodes")
PARTITIONS_COMMAND = ("scontrol", "--oneliner", "show", "partitions")
RESERVATIONS_COMMAND = ("scontrol", "--oneliner", "show", "reservations")
#: What asks for states alone, which is quick: a line for each node and partition.
STATES_COMMAND = ("sinfo", "--noheader", "--Node", "--format=%N %T")

#: Longest time and latest moment that make sense, seconds: Slurm's limits are minutes of 32 bits.
LONGEST_S = 1 << 38

_Read = TypeVar("_Read")
#: Is told of records that are left out.
LeftOut = Callable[[str], object]

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
#: Words that ``sinfo`` cuts short.
_SHORT = {
    "alloc": "ALLOCATED",
    "mix": "MIXED",
    "drng": "DRAINING",
    "drain": "DRAINED",
    "plnd": "PLANNED",
    "resv": "RESERVED",
    "unk": "UNKNOWN",
    "futr": "FUTURE",
    "failg": "FAILING",
    "boot": "REBOOT",
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


def read_node_list(
    text: str, source: str = "scontrol show nodes", left_out: LeftOut | None = None
) -> dict[str, Node]:
    """The nodes of a cluster, each once, in the order of the text.

    Args:
        text: Of ``scontrol show nodes`` or ``sinfo``, as JSON of any version or as text; of
            ``sinfo`` with any columns among which are the nodes (or their hosts), with its header
            or as ``%N`` or ``%N %T``. Nodes whose states are not told are ``UNKNOWN``.
        source: Where it comes from, for errors.
        left_out: Is told of records that make no sense; by default they are errors.

    Raises:
        ClusterError: If it is none of these, or there is no node.
    """
    if _is_json(text):
        found = _nodes_of_json(text, source, left_out)
    elif re.search(r"(?m)^\s*NodeName=", text):
        given = _each(records(text, "NodeName"), _node_of_text, "node", source, left_out)
        # A line of slurm.conf names many.
        found = (replace(one, name=name) for one in given for name in hosts(one.name, source))
    else:
        found = _nodes_of_sinfo(text.lstrip("\ufeff"), source)
    nodes: dict[str, Node] = {}
    for node in found:
        known = nodes.get(node.name)
        # `sinfo` has a row for each partition of a node.
        if known is None or known.state == "UNKNOWN":
            nodes[node.name] = node
        if known is not None:
            both = tuple(dict.fromkeys((*known.partitions, *node.partitions)))
            nodes[node.name] = replace(nodes[node.name], partitions=both)
    if not nodes:
        raise ClusterError(
            f"{source}: no node; allowed: the output of `scontrol show nodes` or `sinfo`"
        )
    return nodes


def read_nodes(text: str, source: str = "sinfo") -> tuple[str, ...]:
    """Names of all nodes of a cluster, in whatever state; see :func:`read_node_list`."""
    return tuple(read_node_list(text, source))


def _is_json(text: str) -> bool:
    return text.lstrip("\ufeff \t\r\n").startswith("{")


def _nodes_of_json(text: str, source: str, left_out: LeftOut | None) -> Iterator[Node]:
    if not re.search(r'"sinfo"\s*:', text):
        # `scontrol`, and `sinfo` of Slurm before 23.11: an entry for each node.
        yield from _each(listed(text, "nodes", source), _node_of_json, "node", source, left_out)
        return
    for row in listed(text, "sinfo", source):
        nodes, state = row.get("nodes") or {}, (row.get("node") or {}).get("state") or ["UNKNOWN"]
        word, flags = _state([state] if isinstance(state, str) else list(map(str, state)))
        of = row.get("partition")
        partition = str(of.get("name") or "") if isinstance(of, dict) else ""
        for list_ in nodes.get("nodes") or () if isinstance(nodes, dict) else ():
            for name in hosts(str(list_), f"{source}: sinfo"):
                yield Node(name, word, flags, (partition,) if partition else ())


#: Columns of ``sinfo``: with lists of nodes, and with their states.
_NODE_COLUMNS, _STATE_COLUMNS = ("NODELIST", "NODENAMES", "HOSTNAMES", "HOST"), ("STATE",)


def _nodes_of_sinfo(text: str, source: str) -> Iterator[Node]:
    at: tuple[int, int | None] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        columns = "|" in line
        words = [word.strip() for word in line.split("|")] if columns else line.split()
        if not any(words):
            continue
        where = f"{source}: line {number}"
        states = [word for word in words[1:] if is_state(word)]
        upper = [word.upper() for word in words]
        named = next((name for name in _NODE_COLUMNS if name in upper), None)
        if named is not None and at is None:
            state = next((name for name in _STATE_COLUMNS if name in upper), None)
            at = upper.index(named), None if state is None else upper.index(state)
            continue
        if at is not None:
            if at[0] >= len(words):
                raise ClusterError(f"{where}: found {line[:60]!r}; allowed: the columns above it")
            word = words[at[1]] if at[1] is not None and at[1] < len(words) else "UNKNOWN"
            listed = [(words[at[0]], word)]
        elif len(states) == 1 and (columns or len(words) == 2):
            listed = [(words[0], states[0])]
        elif number == 1 and re.match(r"\w{3} \w{3} +\d+ \d\d:", line):
            continue  # the date above a long listing
        else:
            listed = [(word, "UNKNOWN") for word in words if word]
        for list_, word in listed:
            if not re.fullmatch(r"[A-Za-z0-9][\w.\[\],-]*", list_):
                raise ClusterError(
                    f"{where}: found {line[:60]!r}; allowed: the output of `scontrol show nodes`, "
                    "of `sinfo` with its header, or of `sinfo --noheader --Node --format='%N %T'`"
                )
            state_word, flags = _state_of_word(word)
            for name in hosts(list_, where):
                yield Node(name, state_word, flags)


def is_state(word: str) -> bool:
    """Whether a word is the state of a node, as ``sinfo`` prints it."""
    state, _ = _state_of_word(word)
    return state != "UNKNOWN" or word.upper().rstrip("".join(_SUFFIXES)) == "UNKNOWN"


def _each(
    found: Iterable[Mapping[str, Any]],
    read: Callable[[Any], _Read],
    what: str,
    source: str,
    left_out: LeftOut | None,
) -> Iterator[_Read]:
    for record in found:
        try:
            one = read(record)
        except (ClusterError, ValueError, TypeError, AttributeError) as error:
            key = f"{what.capitalize()}Name"
            why = f"{source}: {what} {record.get('name', record.get(key))!s:.60}: {error}"
            if left_out is None:
                raise ClusterError(why) from error
            left_out(f"{why}; it is left out")
        else:
            yield one


def _node_of_text(record: Mapping[str, str]) -> Node:
    state, flags = _state(record.get("State", "UNKNOWN").split("+"))
    return Node(
        name=record["NodeName"],
        state=state,
        flags=flags,
        partitions=_names(record.get("Partitions")),
        features=frozenset(_names(record.get("ActiveFeatures"))),
        cpus=_integer(record.get("CPUTot")),
        memory_mb=_integer(record.get("RealMemory")),
        reason=_text(record.get("Reason")),
    )


def _node_of_json(node: Mapping[str, Any]) -> Node:
    name = node.get("name")
    if not isinstance(name, str) or not name:
        raise ClusterError(f"found {node!r:.60}; allowed: nodes with a `name`")
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


def read_states(
    text: str, source: str = "sinfo", left_out: LeftOut | None = None
) -> dict[str, tuple[str, frozenset[str]]]:
    """State and flags of each node, from what :data:`STATES_COMMAND` asks for.

    Raises:
        ClusterError: If there is no node, or a line is not a node and its state.
    """
    states: dict[str, tuple[str, frozenset[str]]] = {}
    why = f"{source}: found nothing; allowed: NODE STATE"
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words:
            continue
        if len(words) != 2:
            why = f"{source}: line {number}: found {line[:60]!r}; allowed: NODE STATE"
            if left_out is None:
                raise ClusterError(why)
            left_out(f"{why}; it is left out")
            continue
        states[words[0]] = _state_of_word(words[1])
    if not states:
        raise ClusterError(why)
    return states


def _state_of_word(word: str) -> tuple[str, frozenset[str]]:
    """A state and its flags, of a word as ``sinfo`` prints it: ``mixed*``, ``alloc``, ``drng``."""
    suffixes = []
    while word and word[-1] in _SUFFIXES:
        suffixes.append(_SUFFIXES[word[-1]])
        word = word[:-1]
    return _state([*(_SHORT.get(part.lower(), part) for part in word.split("+")), *suffixes])


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


def read_partitions(
    text: str, source: str = "scontrol show partitions", left_out: LeftOut | None = None
) -> dict[str, Partition]:
    """The partitions that ``scontrol show partitions`` printed.

    Raises:
        ClusterError: If there is none.
    """
    if _is_json(text):
        given = listed(text, "partitions", source)
        partitions = _each(given, _partition_of_json, "partition", source, left_out)
    else:
        given = list(records(text, "PartitionName"))
        partitions = _each(given, _partition_of_text, "partition", source, left_out)
    found = {partition.name: partition for partition in partitions}
    if not found:
        raise ClusterError(f"{source}: no partition; allowed: `scontrol show partitions`")
    return found


def _partition_of_json(partition: Mapping[str, Any]) -> Partition:
    name = str(partition.get("name") or "")
    if isinstance(partition.get("nodes"), str):
        # Slurm before 23.11, by slurmrestd alone.
        return Partition(
            name,
            hosts(partition["nodes"], "nodes"),
            is_up=str(partition.get("state")).upper() == "UP",
            time_limit_s=_minutes(partition.get("max_time_limit")),
            default_time_s=_minutes(partition.get("default_time_limit")),
        )
    at_most, usual = partition.get("maximums") or {}, partition.get("defaults") or {}
    shares = at_most.get("oversubscribe") or {}
    states = (partition.get("partition") or {}).get("state") or ["UP"]
    return Partition(
        name,
        hosts(str((partition.get("nodes") or {}).get("configured") or ""), "nodes"),
        is_up="UP" in [str(state).upper() for state in states],
        exclusive=shares.get("jobs") == 0 or "exclusive" in (shares.get("flags") or ()),
        time_limit_s=_minutes(at_most.get("time")),
        default_time_s=_minutes(usual.get("time")),
    )


def _partition_of_text(record: Mapping[str, str]) -> Partition:
    return Partition(
        record["PartitionName"],
        hosts(_text(record.get("Nodes")), "Nodes"),
        is_up=record.get("State", "UP") == "UP",
        exclusive=record.get("OverSubscribe") == "EXCLUSIVE",
        time_limit_s=read_limit(record.get("MaxTime", "UNLIMITED")),
        default_time_s=read_limit(record.get("DefaultTime", "NONE")),
    )


def read_reservations(
    text: str, source: str = "scontrol show reservations", left_out: LeftOut | None = None
) -> list[Reservation]:
    """The reservations that ``scontrol show reservations`` printed; none if there are none."""
    if _is_json(text):
        given = listed(text, "reservations", source)
        found = _each(given, _reservation_of_json, "reservation", source, left_out)
    else:
        given = list(records(text, "ReservationName"))
        found = _each(given, _reservation_of_text, "reservation", source, left_out)
    return sorted(found, key=lambda one: one.start_s)


def _reservation_of_json(one: Mapping[str, Any]) -> Reservation:
    begin, end = (
        bounded(number(one.get(key)) or 0, key, 0, LONGEST_S) for key in ("start_time", "end_time")
    )
    return Reservation(
        str(one.get("name")), begin, end, hosts(str(one.get("node_list") or ""), "node_list")
    )


def _reservation_of_text(record: Mapping[str, str]) -> Reservation:
    return Reservation(
        record["ReservationName"],
        read_time(record.get("StartTime", "")) or 0,
        read_time(record.get("EndTime", "")) or LONGEST_S,
        hosts(_text(record.get("Nodes")), "Nodes"),
    )


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


#: Numbers of no more digits than Python reads.
_LIMIT = r"(?:(\d{1,99})-)?(\d{1,99})(?::(\d{1,99}))?(?::(\d{1,99}))?"


def read_limit(text: str) -> int | None:
    """Seconds of a time limit such as ``1-02:03:04``, ``10:00`` or ``30``; `None` without one.

    Raises:
        ClusterError: If it is none.
    """
    text = text.strip()
    if text.upper() in ("UNLIMITED", "INFINITE", "NONE", "NOT_SET", "INVALID", "N/A", "", "(NULL)"):
        return None
    match = re.fullmatch(_LIMIT, text, re.ASCII)
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
    seconds = (int(days or 0) * 24 + parts[0]) * 3600 + parts[1] * 60 + parts[2]
    return bounded(seconds, "seconds of a time limit", 0, LONGEST_S)


def read_time(text: str) -> int | None:
    """Unix seconds of a time as Slurm prints it, as seconds or by the local clock.

    `None` where it prints a word such as ``Unknown``, or 0.

    Raises:
        ClusterError: If it is none.
    """
    text = text.strip()
    if re.fullmatch(r"[A-Za-z/() ]*", text):
        return None
    try:
        moment: int | str = int(time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S")))
    except (ValueError, OverflowError):
        moment = text
    return bounded(moment, "a time, Unix seconds", 0, LONGEST_S) or None


def bounded(value: int | str, what: str, least: int, most: int) -> int:
    """A whole number, given as one or by its digits, if it is within limits.

    Raises:
        ClusterError: If it is none, or beyond them.
    """
    if isinstance(value, int) or re.fullmatch(r"\d{1,99}", value, re.ASCII):
        found = int(value)
        if least <= found <= most:
            return found
    raise ClusterError(f"found {value!s:.40} as {what}; allowed: {least} to {most}")


def listed(text: str, key: str, source: str) -> list[Any]:
    """The objects that JSON of Slurm lists under a key.

    Raises:
        ClusterError: If it does not.
    """
    try:
        content = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise ClusterError(f"{source}: not JSON of Slurm: {error}") from error
    found = content.get(key) if isinstance(content, dict) else None
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ClusterError(f"{source}: found JSON without a list `{key}` of objects")
    return found


def number(value: Any) -> int | None:
    """A number that newer versions wrap up with whether it is set; `None` if it is not.

    Raises:
        ClusterError: If it is no number that there is.
    """
    if isinstance(value, dict):
        if not value.get("set", True) or value.get("infinite"):
            return None
        value = value.get("number")
    if isinstance(value, float) and not math.isfinite(value):
        raise ClusterError(f"found {value} as a number")
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _minutes(value: Any) -> int | None:
    """Seconds of minutes; `None` without a limit, which some versions write as a negative one."""
    minutes = number(value)
    if minutes is None or minutes < 0:
        return None
    return 60 * bounded(minutes, "minutes of a time limit", 0, LONGEST_S // 60)


def _integer(value: Any) -> int:
    if isinstance(value, str):
        return int(value) if re.fullmatch(r"\d{1,18}", value, re.ASCII) else 0
    return number(value) or 0


def _text(value: str | None) -> str:
    return "" if value is None or value in ("(null)", "N/A") else value


def _names(value: str | None) -> tuple[str, ...]:
    return tuple(name for name in _text(value).split(",") if name)
