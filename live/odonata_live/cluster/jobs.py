"""Jobs of a cluster with all that placement asks of them.

From ``squeue`` in a form of our own (:func:`command`), or from JSON of ``squeue`` or ``scontrol``,
before and since Slurm 23.11. Free text of users (names, comments, paths) is not asked for. A record
that makes no sense is left out and named.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from odonata.errors import ClusterError
from odonata_live.cluster.model import LONGEST_S, bounded, listed, number, read_limit, read_time
from odonata_live.cluster.queue import hosts, read_queue

#: Begin time of jobs that wait for us to place them, Unix seconds (24 January 2101). It is no hold:
#: Slurm keeps a job's priority 0 apart from it, so that whoever holds such a job is heard, and
#: nothing that we ask of Slurm lifts a hold. Users may set it as they may hold and release.
UNTIL_PLACED_S = 4_136_000_000
#: The same as Slurm's commands take it.
UNTIL_PLACED = f"uts{UNTIL_PLACED_S}"

_FIELDS = (
    *("%i", "%A", "%T", "%P", "%D", "%N", "%l", "%S", "%e", "%V", "%h", "%n", "%x"),
    # What users write is not at the end: a record that is cut there is not whole.
    *("%v", "%b", "%E", "%r", "%f", "%Q"),
)
_BEGIN, _NEXT, _END = "\x1e", "\x1f", "\x1d"
#: Longest list of an array's tasks that is asked for, letters: `squeue` needs minutes for millions
#: of tasks that are no range, and no more than the first few hundred can begin in a cycle.
_LONGEST_LIST = 1 << 14
#: Asked of Slurm: times are Unix seconds.
ENVIRONMENT = {"SLURM_BITSTR_LEN": str(_LONGEST_LIST), "SLURM_TIME_FORMAT": "%s"}
#: Slurm's own limits: 32 bits.
_MOST_NODES = _LARGEST_NUMBER = (1 << 32) - 1


def command(ids: Sequence[str] = (), *, ended: bool = False) -> tuple[str, ...]:
    """What asks for all jobs that wait or run, or for those of some ids.

    Args:
        ids: Numbers of jobs.
        ended: With those that have ended and that Slurm still knows.
    """
    form = _BEGIN + _NEXT.join(_FIELDS) + _END
    asked = ["squeue", "--noheader", f"--format={form}"]
    if ids:
        asked.append("--jobs=" + ",".join(ids))
    if ended:
        asked.append("--states=all")
    return tuple(asked)


@dataclass(frozen=True)
class Job:
    """A job, a task of an array that has begun, or the tasks of an array that wait together.

    Attributes:
        id: What `squeue` calls it: ``12``, ``12_3``, ``12_[4-9]``, ``12+1``.
        number: Slurm's own number; those of waiting tasks of an array are their array's.
        state: As :class:`odonata_live.cluster.queue.QueuedJob` has it.
        held: Whether its priority is 0: somebody, or Slurm, holds it.
        partitions: Where it may run; one of them once it runs.
        count: Nodes that it asks for, or has.
        most: Most nodes that it would take; `None`: not given.
        nodes: Names of nodes that it has.
        limit_s: Its time limit; `None`: none.
        start_s: When it began; `None` while it waits.
        end_s: When its time limit ends it; `None` without one, or while it waits.
        earliest_s: While it waits: when it may begin at the earliest, or is expected to; `None`:
            not known.
        submit_s: When it was submitted.
        exclusive: Whether it gets whole nodes, as far as the job itself says.
        required: Nodes that it has to get.
        excluded: Nodes that it must not get.
        reservation: In which it runs, or "".
        gres: What it asks of each node beside cores and memory, or "".
        dependency: On other jobs, as Slurm prints it, or "".
        reason: Why it waits, as Slurm prints it.
        features: What it asks of nodes, as a constraint of Slurm, or "".
    """

    id: str
    number: int
    state: str
    held: bool = False
    partitions: tuple[str, ...] = ()
    count: int = 1
    most: int | None = None
    nodes: tuple[str, ...] = ()
    limit_s: int | None = None
    start_s: int | None = None
    end_s: int | None = None
    earliest_s: int | None = None
    submit_s: int = 0
    exclusive: bool = False
    required: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    reservation: str = ""
    gres: str = ""
    dependency: str = ""
    reason: str = ""
    features: str = ""

    @property
    def key(self) -> str:
        """Its id, but for tasks of an array that wait together, whose id changes as they begin."""
        return f"{self.id.partition('_')[0]}_*" if "[" in self.id else self.id

    @property
    def waits(self) -> bool:
        """Whether it has not begun, or waits to begin anew."""
        return self.state in _WAITING

    @property
    def waits_for_us(self) -> bool:
        """Whether it waits to be placed, and nobody holds it."""
        return self.waits and not self.held and self.earliest_s == UNTIL_PLACED_S

    @property
    def holds_nodes(self) -> bool:
        """Whether its nodes are taken: also while it is set up, ends, or is suspended."""
        return bool(self.nodes) and self.state not in _ENDED and not self.waits

    @property
    def is_part(self) -> bool:
        """Whether it is a component of a heterogeneous job."""
        return "+" in self.id

    @property
    def is_throttled(self) -> bool:
        """Whether it is an array of which only this many tasks may run at once."""
        return "%" in self.id

    def tasks(self) -> Iterator[str]:
        """Ids of the tasks of an array that wait together; of any other job, its own.

        Of a list that was cut off the tasks that it still tells.
        """
        match = _ARRAY.fullmatch(self.id)
        if match is None:
            return iter([self.id])
        ranges = map(_range, _told(match[2]))
        return (f"{match[1]}_{task}" for task in itertools.chain.from_iterable(ranges))

    def count_tasks(self) -> int:
        """How many they are.

        Raises:
            ClusterError: If the list was cut off.
        """
        match = _ARRAY.fullmatch(self.id)
        if match is None:
            return 1
        if (parts := match[2].split(",")) != _told(match[2]):
            raise ClusterError(f"squeue: tasks of {self.id[:60]} are not all told")
        return sum(len(_range(part)) for part in parts)


#: An array's number, the list of its tasks, and how many may run at once.
_ARRAY = re.compile(r"(\d+)_\[([\d,:.-]+)(?:%\d+)?\]", re.ASCII)
_TASKS = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?", re.ASCII)


def _told(list_: str) -> list[str]:
    """The parts of a list of tasks that are whole."""
    parts = list_.split(",")
    # Slurm cuts a list at a letter, some versions with dots behind.
    cut = parts[-1].endswith("...") or len(list_) >= _LONGEST_LIST - len("...") - 1
    return parts[:-1] if cut else parts


def _range(part: str) -> range:
    found = _TASKS.fullmatch(part)
    if found is None:
        raise ClusterError(f"found {part!r:.40} as tasks of an array; allowed: such as 0-9:2")
    first = int(found[1])
    tasks = range(first, int(found[2] or first) + 1, max(1, int(found[3] or 1)))
    if not tasks:
        raise ClusterError(f"found {part!r:.40} as tasks of an array; allowed: such as 0-9:2")
    return tasks


_WAITING = frozenset({"PENDING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"})
_ENDED = frozenset(
    {
        *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL"),
        *("OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT", "REVOKED"),
    }
)


def has_ended(state: str) -> bool:
    """Whether nothing is left of a job in such a state but a record."""
    return state in _ENDED


class LeftOut(NamedTuple):
    """A record that made no sense: the id of its job, as far as it has one, and why."""

    id: str
    why: str

    def __str__(self) -> str:
        """For people."""
        name = self.id if _ID.fullmatch(self.id) else repr(self.id)
        return f"job {name:.60} is left out: {self.why}"


def read_jobs(text: str, source: str = "squeue") -> tuple[list[Job], list[LeftOut]]:
    """The jobs that :func:`command` asked for, or of JSON of ``squeue`` or ``scontrol``.

    Of whatever else ``squeue`` prints: their ids, states and nodes.

    Returns:
        The jobs in Slurm's order, and the records that made no sense.

    Raises:
        ClusterError: If it is none of these.
    """
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        records: list[Any] = listed(text, "jobs", source)
        return _read(records, lambda job: str(job.get("job_id"))[:60], _of_json)
    if _BEGIN not in text and text.strip():
        # Any other form tells job, state and nodes alone.
        queue = read_queue(text, source)
        return [Job(job.id, 0, job.state, nodes=job.nodes) for job in queue], []
    # Before the first beginning there is nothing, after each end but the end of a line.
    return _read(text.split(_BEGIN)[1:], lambda record: record.split(_NEXT, 1)[0], _of_record)


def _read(
    records: list[Any], id_of: Callable[[Any], str], read: Callable[[Any], Job]
) -> tuple[list[Job], list[LeftOut]]:
    found: dict[str, Job] = {}
    left_out: list[LeftOut] = []
    for record in records:
        try:
            job = read(record)
        except (ClusterError, ValueError, TypeError, AttributeError) as error:
            left_out.append(LeftOut(id_of(record), str(error)))
            continue
        if found.setdefault(job.id, job) is not job:
            left_out.append(LeftOut(job.id, "there are two of them"))
    for twice in left_out:
        if twice.why == "there are two of them":
            found.pop(twice.id, None)
    return list(found.values()), left_out


_ID = re.compile(r"(\d{1,10})(?:\+\d{1,10}|_\d{1,10}|_\[[\d,:%.-]+\])?", re.ASCII)


def _of_record(record: str) -> Job:
    fields = record.split(_END, 1)[0].split(_NEXT)
    if len(fields) != len(_FIELDS) or _END not in record:
        raise ClusterError(f"found {len(fields)} fields; allowed: {len(_FIELDS)}, whole")
    id_, number_, state, partitions, count, nodes, limit, start, end, submit = fields[:10]
    share, required, excluded, reservation, gres, dependency, reason, features = fields[10:18]
    priority = fields[18]
    waits = state in _WAITING
    time_s = read_time(start)
    return _sound(
        Job(
            id=id_,
            number=bounded(number_, "its number", 1, _LARGEST_NUMBER),
            state=state,
            held=priority == "0",
            partitions=tuple(partitions.split(",")),
            count=bounded(count.partition("-")[0] or count, "nodes", 0, _MOST_NODES),
            nodes=_hosts(nodes),
            limit_s=read_limit(limit),
            start_s=None if waits else time_s,
            end_s=None if waits else read_time(end),
            earliest_s=time_s if waits else None,
            submit_s=read_time(submit) or 0,
            exclusive=share in ("NO", "EXCLUSIVE"),
            required=_hosts(required),
            excluded=_hosts(excluded),
            reservation=_word(reservation),
            gres=_word(gres),
            dependency=_word(dependency),
            reason=reason,
            features=_word(features),
        )
    )


def _sound(job: Job) -> Job:
    """The job, if all of it makes sense together.

    Raises:
        ClusterError: If it does not.
    """
    if not _ID.fullmatch(job.id):
        raise ClusterError(f"found {job.id!r:.40} as its id; allowed: such as 12 or 12_[3-9]")
    if job.count < 1 and not has_ended(job.state):
        raise ClusterError("found 0 nodes; allowed: at least 1")
    if (match := _ARRAY.fullmatch(job.id)) is not None:
        for part in _told(match[2]):
            _range(part)
    return job


def _hosts(list_: str) -> tuple[str, ...]:
    return hosts(_word(list_), "squeue")


def _word(text: str) -> str:
    return "" if text in ("(null)", "N/A", "None") else text


def _of_json(job: dict[str, Any]) -> Job:
    states = job.get("job_state") or ["PENDING"]
    state = states if isinstance(states, str) else str(states[-1])
    waits = state in _WAITING
    share = job.get("shared")
    words = share if isinstance(share, list) else [share]

    def whole(key: str, largest: int) -> int | None:
        found = number(job.get(key))
        return None if found is None else bounded(found, key, 0, largest)

    def names(key: str) -> tuple[str, ...]:
        return hosts(str(job.get(key) or ""), key)

    limit_min = whole("time_limit", LONGEST_S // 60)
    start_s = whole("start_time", LONGEST_S)
    return _sound(
        Job(
            id=_json_id(job, waits),
            number=whole("job_id", _LARGEST_NUMBER) or 0,
            state=state,
            held=number(job.get("priority")) == 0,
            partitions=tuple(str(job.get("partition") or "").split(",")),
            count=whole("node_count", _MOST_NODES) or 1,
            most=whole("max_nodes", _MOST_NODES) or None,
            nodes=names("nodes"),
            limit_s=None if limit_min is None else 60 * limit_min,
            start_s=None if waits else start_s,
            end_s=None if waits else whole("end_time", LONGEST_S),
            earliest_s=(start_s or None) if waits else None,
            submit_s=whole("submit_time", LONGEST_S) or 0,
            exclusive=any(word in (0, "none", "exclusive") for word in words),
            required=names("required_nodes"),
            excluded=names("excluded_nodes"),
            reservation=str(job.get("resv_name") or ""),
            gres=str(job.get("tres_per_node") or ""),
            dependency=str(job.get("dependency") or ""),
            reason=str(job.get("state_reason") or ""),
            features=str(job.get("features") or ""),
        )
    )


def _json_id(job: dict[str, Any], waits: bool) -> str:
    own = number(job.get("job_id")) or 0
    array, task = number(job.get("array_job_id")) or 0, number(job.get("array_task_id"))
    het = number(job.get("het_job_id")) or 0
    if het:
        return f"{het}+{number(job.get('het_job_offset')) or 0}"
    if array and task is not None:
        return f"{array}_{task}"
    tasks = str(job.get("array_task_string") or "")
    return f"{array}_[{tasks}]" if array and tasks and waits else str(own)
