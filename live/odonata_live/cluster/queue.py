"""The queue of a Slurm cluster: what ``squeue`` prints, as JSON of any version or as text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from odonata._engine import expand_hostlist
from odonata.errors import ClusterError

#: What asks a cluster for its queue in a form that is small and the same in all versions: job,
#: state, nodes. Tasks of an array that have begun have a line each, those that wait one together.
COMMAND = ("squeue", "--noheader", "--format=%A|%T|%N")

#: Short names of states, as ``squeue`` prints them with ``%t`` and by default.
_SHORT_STATES = {
    "BF": "BOOT_FAIL",
    "CA": "CANCELLED",
    "CD": "COMPLETED",
    "CF": "CONFIGURING",
    "CG": "COMPLETING",
    "DL": "DEADLINE",
    "F": "FAILED",
    "NF": "NODE_FAIL",
    "OOM": "OUT_OF_MEMORY",
    "PD": "PENDING",
    "PR": "PREEMPTED",
    "R": "RUNNING",
    "RD": "RESV_DEL_HOLD",
    "RF": "REQUEUE_FED",
    "RH": "REQUEUE_HOLD",
    "RQ": "REQUEUED",
    "RS": "RESIZING",
    "RV": "REVOKED",
    "SE": "SPECIAL_EXIT",
    "SI": "SIGNALING",
    "SO": "STAGE_OUT",
    "ST": "STOPPED",
    "S": "SUSPENDED",
    "TO": "TIMEOUT",
}
_STATES = frozenset(_SHORT_STATES.values())

#: Names that ``squeue`` gives to the columns that are read.
_COLUMNS = {
    "JOBID": "id",
    "STATE": "state",
    "ST": "state",
    "NODELIST": "nodes",
    "NODELIST(REASON)": "nodes",
}


@dataclass(frozen=True)
class QueuedJob:
    """A job of a queue: an array's task and a component of a heterogeneous job are one each.

    Attributes:
        id: Slurm's number or name of it.
        state: One word, such as ``RUNNING``, ``PENDING``, ``COMPLETING``, ``SUSPENDED``. Of a job
            with several, the one that ``squeue`` prints: what is being done with a running job
            (``COMPLETING``, ``CONFIGURING`` …) hides that it runs.
        nodes: Names of its nodes, each once; empty while it has none.
    """

    id: str
    state: str
    nodes: tuple[str, ...]

    @property
    def is_running(self) -> bool:
        """Whether its processes run: not if it is being set up, ended, or is suspended."""
        return self.state == "RUNNING"


def read_queue(text: str, source: str = "squeue") -> list[QueuedJob]:
    """The jobs that ``squeue`` printed.

    Args:
        text: Of ``squeue --json`` (Slurm 21.08 and later), of ``squeue`` with any columns among
            which are job, state and nodes, with its header, or of
            ``squeue --noheader --format='%A|%T|%N'``. The form ``-h -t R -o '%A|%D|%N'`` tells
            no states: there jobs with nodes are taken for running.
        source: Where it comes from, for errors.

    Raises:
        ClusterError: If it is none of these; says where.
    """
    if text.lstrip("\ufeff \t\r\n").startswith(("{", "[")):
        return _from_json(text, source)
    return list(_from_text(text, source))


def _from_json(text: str, source: str) -> list[QueuedJob]:
    try:
        content = json.loads(text.lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise ClusterError(f"{source}: not the JSON of squeue: {error}") from error
    jobs = content.get("jobs") if isinstance(content, dict) else None
    if not isinstance(jobs, list):
        raise ClusterError(
            f"{source}: found JSON without a list `jobs`; allowed: what `squeue --json` prints"
        )
    return [_job_of(job, f"{source}: jobs[{index}]") for index, job in enumerate(jobs)]


def _job_of(job: Any, where: str) -> QueuedJob:
    if not isinstance(job, dict):
        raise ClusterError(f"{where}: found {job!r:.60}; allowed: an object for each job")
    for key in ("job_id", "job_state"):
        if key not in job:
            raise ClusterError(f"{where}: no `{key}`; is this what `squeue --json` prints?")
    states = job["job_state"]
    # A list since Slurm 23.11, the state first, what is being done with the job behind it.
    names = [states] if isinstance(states, str) else states
    if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
        raise ClusterError(f"{where}.job_state: found {states!r:.60}; allowed: names of states")
    nodes = job.get("nodes") or ""
    if not isinstance(nodes, str):
        raise ClusterError(f"{where}.nodes: found {nodes!r:.60}; allowed: a list such as n[0-3]")
    return QueuedJob(
        id=str(_number(job["job_id"])),
        state=names[-1].upper(),
        nodes=hosts(nodes, f"{where}.nodes"),
    )


def _number(value: Any) -> Any:
    """A number that newer versions wrap up with whether it is set."""
    return value.get("number") if isinstance(value, dict) else value


def _from_text(text: str, source: str) -> Iterator[QueuedJob]:
    lines = [(n, line) for n, line in enumerate(text.lstrip("\ufeff").splitlines(), 1) if line]
    if not lines:
        return
    header = lines[0][1]
    if "|" in header:
        yield from _separated(lines, source)
    elif re.match(r"\s*JOBID\b", header):
        yield from _aligned(lines, source)
    else:
        raise ClusterError(
            f"{source}: line 1: found {header[:60]!r}; allowed: the output of `squeue --json`, of "
            "`squeue` with its header, or of `squeue --noheader --format='%A|%T|%N'`"
        )


def _separated(lines: Sequence[tuple[int, str]], source: str) -> Iterator[QueuedJob]:
    """Columns between bars."""
    first = [field.strip().upper() for field in lines[0][1].split("|")]
    if any(field in _COLUMNS for field in first):
        at = {_COLUMNS[name]: index for index, name in enumerate(first) if name in _COLUMNS}
        _need_columns(at, source)
        lines = lines[1:]
    else:
        at, first = {"id": 0, "state": 1, "nodes": 2}, ["", "", ""]
    for number, line in lines:
        fields = line.split("|")
        if len(fields) == 3 and fields[1].strip().isdigit() and at["state"] == 1:
            # `squeue -h -t R -o '%A|%D|%N'`: a number of nodes, and what has them runs.
            fields[1] = "RUNNING" if fields[2].strip() else "PENDING"
        if len(fields) != len(first):
            raise ClusterError(
                f"{source}: line {number}: found {len(fields)} columns; allowed: {len(first)}, "
                "as job, state and nodes by --format='%A|%T|%N', or as the header says"
            )
        where = f"{source}: line {number}"
        yield _of_fields(fields[at["id"]], fields[at["state"]], fields[at["nodes"]], where)


def _aligned(lines: Sequence[tuple[int, str]], source: str) -> Iterator[QueuedJob]:
    """Columns as ``squeue`` aligns them: a header's right or left end is its column's."""
    header = lines[0][1]
    words = list(re.finditer(r"\S+", header))
    at: dict[str, tuple[int, int | None]] = {}
    for index, word in enumerate(words):
        if name := _COLUMNS.get(word.group().upper()):
            # All but the last column are aligned to the right and as wide as needed.
            begin = words[index - 1].end() if index else 0
            last = index + 1 == len(words)
            at[name] = (word.start() if last else begin, None if last else word.end())
    _need_columns(at, source)
    for number, line in lines[1:]:
        part = {name: line[begin:end].strip() for name, (begin, end) in at.items()}
        yield _of_fields(part["id"], part["state"], part["nodes"], f"{source}: line {number}")


def _need_columns(found: dict[str, Any], source: str) -> None:
    if missing := {"id", "state", "nodes"} - set(found):
        names = {"id": "JOBID (%A)", "state": "STATE (%T)", "nodes": "NODELIST (%N)"}
        lacking = ", ".join(names[name] for name in sorted(missing))
        raise ClusterError(f"{source}: line 1: no column {lacking}")


def _of_fields(id_: str, state: str, nodes: str, where: str) -> QueuedJob:
    state = state.strip().upper()
    state = _SHORT_STATES.get(state, state)
    if not id_.strip():
        raise ClusterError(f"{where}: no job's number")
    if state not in _STATES:
        raise ClusterError(
            f"{where}: found {state!r} as a job's state; allowed: RUNNING, PENDING, … or R, PD, …"
        )
    nodes = nodes.strip()
    # The column may tell why a job waits, or that there is none.
    if nodes.startswith("(") or nodes in ("None", "N/A"):
        nodes = ""
    return QueuedJob(id_.strip(), state, hosts(nodes, where))


def hosts(list_: str, where: str) -> tuple[str, ...]:
    """The names of a list of hosts, each once, in its order.

    Raises:
        ClusterError: If it is damaged or too long.
    """
    if not list_:
        return ()
    try:
        return tuple(dict.fromkeys(expand_hostlist(list_)))
    except ValueError as error:
        raise ClusterError(f"{where}: {error}") from error
