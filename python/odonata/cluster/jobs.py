"""Jobs of a cluster with all that placement asks of them.

From ``squeue`` in a form of our own (:func:`command`), or from JSON of ``squeue`` or ``scontrol``,
before and since Slurm 23.11. Free text of users (names, comments, paths) is not asked for, but for
the first letters of comments; whatever they hold, they cannot pass for another field or job.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from odonata.cluster.model import number, read_limit, read_time
from odonata.cluster.queue import hosts, read_queue
from odonata.errors import ClusterError

#: What the comment of a job begins with that waits for us to place it. Held jobs without it are
#: their users' business.
MARK = "odonata-place"

_FIELDS = (
    *("%i", "%A", "%F", "%T", "%Q", "%P", "%D", "%N", "%l", "%S", "%e", "%V", "%h", "%n", "%x"),
    *("%v", "%b", "%E", "%r", "%f", f"%.{len(MARK)}k"),
)
_BEGIN, _NEXT, _END = "\x1e", "\x1f", "\x1d"
#: Asked of Slurm: all tasks of arrays are named, however many; times are Unix seconds.
ENVIRONMENT = {"SLURM_BITSTR_LEN": "0", "SLURM_TIME_FORMAT": "%s"}


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
        id: What `scontrol` and people call it: ``12``, ``12_3``, ``12_[4-9]``, ``12+1``.
        number: Slurm's own number; those of waiting tasks of an array are their array's.
        state: As :class:`odonata.cluster.queue.QueuedJob` has it.
        held: Whether its priority is 0, so that Slurm does not start it.
        partitions: Where it may run; one of them once it runs.
        count: Nodes that it asks for, or has.
        most: Most nodes that it would take; `None`: not given.
        nodes: Names of nodes that it has.
        limit_s: Its time limit; `None`: none.
        start_s: When it began; `None` while it waits.
        end_s: When its time limit ends it; `None` without one, or while it waits.
        submit_s: When it was submitted.
        exclusive: Whether it gets whole nodes, as far as the job itself says.
        required: Nodes that it has to get.
        excluded: Nodes that it must not get.
        reservation: In which it runs, or "".
        gres: What it asks of each node beside cores and memory, or "".
        dependency: On other jobs, as Slurm prints it, or "".
        reason: Why it waits, as Slurm prints it.
        features: What it asks of nodes, as a constraint of Slurm, or "".
        marked: Whether its comment says that it waits for us.
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
    submit_s: int = 0
    exclusive: bool = False
    required: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    reservation: str = ""
    gres: str = ""
    dependency: str = ""
    reason: str = ""
    features: str = ""
    marked: bool = False

    @property
    def waits(self) -> bool:
        """Whether it has not begun, or waits to begin anew."""
        return self.state in (
            "PENDING",
            "REQUEUED",
            "REQUEUE_HOLD",
            "SPECIAL_EXIT",
            "RESV_DEL_HOLD",
        )

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
        """Whether it is an array of which only so many tasks may run at once."""
        return "%" in self.id

    def tasks(self) -> list[str]:
        """Ids of the tasks of an array that wait together; of any other job, its own.

        Raises:
            ClusterError: If the list is damaged or was cut off.
        """
        match = re.fullmatch(r"(\d+)_\[([^\]%]*)(?:%\d+)?\]", self.id)
        if match is None:
            return [self.id]
        tasks: list[str] = []
        for part in match[2].split(","):
            found = re.fullmatch(r"(\d+)(?:-(\d+)(?::(\d+))?)?", part)
            if found is None:
                raise ClusterError(f"squeue: tasks of {self.id[:60]} are not all told")
            first = int(found[1])
            last, step = int(found[2] or first), int(found[3] or 1)
            if not first <= last < first + (1 << 24) or step < 1:
                raise ClusterError(f"squeue: found tasks {part!r:.40} of job {match[1]}")
            tasks += [f"{match[1]}_{task}" for task in range(first, last + 1, step)]
        return tasks


_ENDED = frozenset(
    {
        *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL"),
        *("OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT", "REVOKED"),
    }
)


def has_ended(state: str) -> bool:
    """Whether nothing is left of a job in such a state but a record."""
    return state in _ENDED


def read_jobs(text: str, source: str = "squeue") -> tuple[list[Job], int]:
    """The jobs that :func:`command` asked for, or of JSON of ``squeue`` or ``scontrol``.

    Of whatever else ``squeue`` prints: their ids, states and nodes.

    Returns:
        The jobs in Slurm's order, and how many records made no sense and were left out.

    Raises:
        ClusterError: If it is none of these.
    """
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        return list(_of_json(text, source)), 0
    if _BEGIN not in text and text.strip():
        # Any other form tells job, state and nodes alone.
        queue = read_queue(text, source)
        return [Job(job.id, 0, job.state, nodes=job.nodes) for job in queue], 0
    found: list[Job] = []
    damaged = 0
    # Before the first beginning there is nothing, after each end but the end of a line.
    for record in text.split(_BEGIN)[1:]:
        fields = record.split(_END, 1)[0].split(_NEXT)
        # What a comment adds comes last and is cut to a few letters.
        whole = len(fields) >= len(_FIELDS) and _END in record
        try:
            job = _of_fields(fields[: len(_FIELDS)]) if whole else None
        except (ClusterError, ValueError):
            job = None
        if job is None:
            damaged += 1
        else:
            found.append(job)
    return found, damaged


_ID = re.compile(r"\d+(?:\+\d+|_\d+|_\[[\d,:%-]+\])?")


def _of_fields(fields: Sequence[str]) -> Job | None:
    (id_, number_, _, state, priority, partitions, count, nodes, limit, start, end, submit) = (
        fields[:12]
    )
    share, required, excluded, reservation, gres, dependency, reason, features, mark = fields[12:]
    if not _ID.fullmatch(id_) or not number_.isdigit():
        return None
    waits = state in ("PENDING", "REQUEUED", "REQUEUE_HOLD")
    return Job(
        id=id_,
        number=int(number_),
        state=state,
        held=priority == "0",
        partitions=tuple(partitions.split(",")),
        count=int(count.split("-")[0]),
        nodes=_hosts(nodes),
        limit_s=read_limit(limit),
        start_s=None if waits else read_time(start),
        end_s=None if waits else read_time(end),
        submit_s=read_time(submit) or 0,
        exclusive=share in ("NO", "EXCLUSIVE"),
        required=_hosts(required),
        excluded=_hosts(excluded),
        reservation=_word(reservation),
        gres=_word(gres),
        dependency=_word(dependency),
        reason=reason,
        features=_word(features),
        marked=mark.strip() == MARK,
    )


def _hosts(list_: str) -> tuple[str, ...]:
    return hosts(_word(list_), "squeue")


def _word(text: str) -> str:
    return "" if text in ("(null)", "N/A", "None") else text


def _of_json(text: str, source: str) -> Iterator[Job]:
    try:
        content = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise ClusterError(f"{source}: not the JSON of squeue: {error}") from error
    found = content.get("jobs") if isinstance(content, dict) else None
    if not isinstance(found, list) or not all(isinstance(job, dict) for job in found):
        raise ClusterError(f"{source}: found JSON without a list `jobs` of objects")
    for job in found:
        states = job.get("job_state") or ["PENDING"]
        state = states if isinstance(states, str) else str(states[-1])
        waits = state == "PENDING"
        limit = number(job.get("time_limit"))
        share = job.get("shared")
        words = share if isinstance(share, list) else [share]
        yield Job(
            id=_json_id(job, waits),
            number=number(job.get("job_id")) or 0,
            state=state,
            held=number(job.get("priority")) == 0,
            partitions=tuple(str(job.get("partition") or "").split(",")),
            count=number(job.get("node_count")) or 1,
            most=number(job.get("max_nodes")) or None,
            nodes=hosts(str(job.get("nodes") or ""), source),
            limit_s=None if limit is None else 60 * limit,
            start_s=None if waits else number(job.get("start_time")),
            end_s=None if waits else number(job.get("end_time")),
            submit_s=number(job.get("submit_time")) or 0,
            exclusive=any(word in (0, "none", "exclusive") for word in words),
            required=hosts(str(job.get("required_nodes") or ""), source),
            excluded=hosts(str(job.get("excluded_nodes") or ""), source),
            reservation=str(job.get("resv_name") or ""),
            gres=str(job.get("tres_per_node") or ""),
            dependency=str(job.get("dependency") or ""),
            reason=str(job.get("state_reason") or ""),
            features=str(job.get("features") or ""),
            marked=str(job.get("comment") or "").startswith(MARK),
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
