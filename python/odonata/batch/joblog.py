"""Job logs: reading, looking at, changing and writing them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from odonata import _engine
from odonata.batch.engine import ask, to_json
from odonata.batch.headerless import headerless_hint
from odonata.bounded import read_parquet
from odonata.columns import column_of, labelled, numbers_of
from odonata.errors import JobLogError, OutputError, Problem
from odonata.output import check_new_file, new_file, write_file, write_parquet
from odonata.results.tables import with_units

if TYPE_CHECKING:
    from odonata.scenario import Scenario

#: What became of a job, by the engine's code.
STATUSES = (
    *("unknown", "completed", "failed", "cancelled", "timeout", "out-of-memory", "node-fail"),
    *("preempted", "requeued"),
)

_LABELS = ("user", "group", "account", "application", "queue", "partition")
_TEXTS = ("id", "preceding", "node_list")
_INTEGERS = (
    *("submit_s", "eligible_s", "start_s", "run_s", "requested_s", "nodes", "processors"),
    *("requested_processors", "think_s"),
)
_REALS = ("cpu_s", "memory_kb", "requested_memory_kb", "communication_share")

#: Key of the metadata of a Parquet file of ours.
_METADATA = b"odonata.job_log"


class JobLog:
    """A job log: jobs in order of submission.

    Attributes:
        report: What the reader counted: lines, records, jobs, and every rule that applied with
            its first cases; ``None`` for a log that was not read from a file.
    """

    def __init__(self, handle: _engine.JobLog) -> None:
        self._handle = handle
        self.report: dict[str, Any] | None = handle.report()
        self._jobs: pa.Table | None = None

    def __len__(self) -> int:
        return len(self._handle)

    def __repr__(self) -> str:
        machine = f", {self.machine}" if self.machine else ""
        return f"<JobLog of {len(self):,} jobs{machine}>"

    @property
    def engine(self) -> _engine.JobLog:
        """The log as the engine holds it."""
        return self._handle

    @property
    def meta(self) -> dict[str, Any]:
        """What the log says of itself.

        ``epoch``, ``machine_nodes``, ``machine_processors``, ``unit`` (what it counts sizes in),
        ``unit_because``, ``processors_per_node``, ``header``.
        """
        return dict(self._handle.meta())

    @property
    def machine_nodes(self) -> int | None:
        """Nodes of the machine, where the log says so."""
        nodes: int | None = self.meta["machine_nodes"]
        return nodes

    @property
    def unit(self) -> str:
        """What the log counts sizes in: ``nodes`` or ``processors``."""
        return str(self.meta["unit"])

    @property
    def machine(self) -> str | None:
        """The machine in words, such as ``128 nodes of 8 processors``; ``None`` if unknown."""
        meta = self.meta
        nodes, processors = meta["machine_nodes"], meta["machine_processors"]
        if meta["unit"] == "nodes":
            return f"{nodes:,} nodes" if nodes else None
        each = meta["processors_per_node"]
        if nodes and each:
            return f"{nodes:,} nodes of {each:,} processors"
        if nodes and processors:
            return f"{processors:,} processors in {nodes:,} nodes"
        return f"{processors:,} processors" if processors else None

    @property
    def jobs(self) -> pa.Table:
        """One row per job; ``docs/job-logs.md`` describes the columns."""
        if self._jobs is None:
            self._jobs = _table(self._handle.columns())
        return self._jobs

    @classmethod
    def from_table(cls, table: Any, *, machine_nodes: int | None = None) -> JobLog:
        """A log from a table of your own.

        Args:
            table: An Arrow table, a pandas or a polars data frame. Needs the columns
                ``submit_s``, ``run_s`` and ``nodes``; understands those of :attr:`jobs`.
            machine_nodes: Nodes of the machine.

        Raises:
            JobLogError: If a column is missing or a value makes no sense.
        """
        if hasattr(table, "to_arrow"):
            table = table.to_arrow()
        if not isinstance(table, pa.Table):
            table = pa.Table.from_pandas(table, preserve_index=False)
        meta: dict[str, Any] = {"unit_because": "as its column is called"}
        if machine_nodes:
            meta["machine_nodes"] = machine_nodes
        return cls(_from_arrow(table, meta))

    def scaled(
        self,
        *,
        nodes_factor: float = 1.0,
        machine_nodes: int | None = None,
        arrivals_factor: float = 1.0,
        run_times_factor: float = 1.0,
    ) -> JobLog:
        """The log made larger, smaller, denser.

        Args:
            nodes_factor: Factor of every job's nodes, rounded up.
            machine_nodes: Nodes of the machine it is made for; larger jobs are cut down to it.
            arrivals_factor: Factor for the times between submissions; below 1 it raises the load.
            run_times_factor: Factor for run times and requested times.

        Raises:
            JobLogError: If a factor is not above 0.
        """
        spec = {
            "nodes_factor": nodes_factor,
            "machine_nodes": machine_nodes,
            "arrivals_factor": arrivals_factor,
            "run_times_factor": run_times_factor,
        }
        return JobLog(ask(self._handle.scaled, to_json(spec)))

    def selected(
        self, *, first: int | None = None, from_s: int | None = None, until_s: int | None = None
    ) -> JobLog:
        """A part of the log.

        Args:
            first: So many jobs at most.
            from_s: Submitted at this time of the log or later.
            until_s: Submitted before this time of the log.

        Raises:
            JobLogError: If no job is left.
        """
        table = self.jobs
        if from_s is not None:
            table = table.filter(pc.greater_equal(table["submit_s"], from_s))
        if until_s is not None:
            table = table.filter(pc.less(table["submit_s"], until_s))
        if first is not None:
            table = table.slice(0, first)
        if not table.num_rows:
            raise JobLogError(f"no job is left of the log's {len(self):,}: none is in that part")
        part = JobLog(_from_arrow(table, self.meta))
        part.report = self.report
        return part

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the log as ``.swf`` (Standard Workload Format) or ``.parquet`` (everything).

        Raises:
            OutputError: If there is such a file already, it cannot be written, or its name
                ends in neither.
        """
        path = Path(path)
        check_new_file(path)
        if path.suffix not in (".swf", ".parquet"):
            raise OutputError(f'{path}: found the ending "{path.suffix}"; allowed: .swf, .parquet')
        with new_file(path) as partial:
            if path.suffix == ".swf":
                write_file(partial, self._handle.swf())
            else:
                metadata = {_METADATA: json.dumps(self.meta).encode()}
                table = with_units(self.jobs).replace_schema_metadata(metadata)
                how = {"compression": "zstd", "compression_level": 3, "version": "2.6"}
                write_parquet(partial, table, **how)
        return path


def read_job_log(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    strict: bool = False,
    unit: str | None = None,
    processors_per_node: int | None = None,
    machine_nodes: int | None = None,
    columns: Sequence[str] | None = None,
    separator: str | None = None,
) -> JobLog:
    """Reads a job log.

    Args:
        path: A file in the Standard Workload Format, a dump of ``sacct --parsable2``, a table
            with a line of names, results of CQSim, or a Parquet file of :meth:`JobLog.save`;
            all but the last may be compressed (gzip, xz, zstd).
        format: ``swf``, ``sacct``, ``table``, ``cqsim``, ``scontrol``, ``slurm-json`` or
            ``parquet``; detected by default.
        strict: End at the first fault instead of counting it.
        unit: Unit of the sizes, ``nodes`` or ``processors``; detected by default.
        processors_per_node: Processors of a node, for logs that count processors; by default as
            the header says.
        machine_nodes: Nodes of the machine; by default as the header says.
        columns: Names of the columns of a ``sacct`` dump without header.
        separator: Separator between the columns of a ``sacct`` dump.

    Raises:
        JobLogError: If it is no job log, or no job is left of it; if ``strict``, also for its
            first fault.
    """
    path = Path(path)
    if format == "parquet" or (format is None and _is_parquet(path)):
        return _read_parquet(path, machine_nodes, unit, processors_per_node)
    reading = {
        "format": format,
        "strict": strict,
        "unit": unit,
        "processors_per_node": processors_per_node,
        "columns": None if columns is None else list(columns),
        "separator": separator,
    }
    spec = {"reading": reading, "machine_nodes": machine_nodes}
    try:
        return JobLog(ask(_engine.JobLog.read, str(path), to_json(spec)))
    except JobLogError as error:
        hint = None if format or columns else headerless_hint(path)
        if hint is None:
            raise
        raise JobLogError(f"{error}. {hint}") from None


def queue_log(scenario: Scenario, machine_nodes: int) -> JobLog:
    """The log of the jobs of a scenario, each submitted once.

    Its run times are those that the network of the schedule gives them.

    Args:
        scenario: With jobs that say how many nodes they have.
        machine_nodes: Nodes of the machine.

    Raises:
        ScenarioError: If a job does not say it.
    """
    jobs = scenario.normalised()["jobs"]
    problems = []
    for position, job in enumerate(jobs):
        if job["nodes"] is None and job["ranks"] is None:
            allowed = "a number of nodes, by which the queue places it"
            message = f"found nothing; allowed: {allowed}"
            problems.append(Problem(f"job[{position}].nodes", message, "nothing", allowed))
        elif job["nodes"] is None:
            job["nodes"] = -(-job["ranks"] // job["ranks_per_node"])
    if problems:
        raise scenario.error(problems)
    jobs.sort(key=lambda job: job.get("submit_s") or 0)
    table = pa.table(
        {
            "id": [job["name"] for job in jobs],
            "submit_s": [job.get("submit_s") or 0 for job in jobs],
            "run_s": [1] * len(jobs),
            "nodes": [job["nodes"] for job in jobs],
            "requested_s": [job.get("requested_s") or -1 for job in jobs],
        }
    )
    meta = {"machine_nodes": machine_nodes, "unit_because": "as its jobs say"}
    return JobLog(_from_arrow(table, meta))


def generate_job_log(
    *,
    nodes: int,
    jobs: int,
    kind: str = "all",
    arrivals_factor: float = 1.0,
    request_factor: float | None = None,
    seed: int = 1,
) -> JobLog:
    """Draws a synthetic log: the model of Lublin and Feitelson (2003).

    Args:
        nodes: Nodes of the machine, at least 2.
        jobs: Number of jobs.
        kind: Whose parameters to use: those of ``all`` jobs, ``batch`` jobs or ``interactive``
            jobs.
        arrivals_factor: Factor for the times between submissions; below 1 it raises the load.
        request_factor: Requested time as a multiple of the run time; by default jobs request no
            time.
        seed: Equal seeds give equal logs.

    Raises:
        JobLogError: If a parameter is out of range.
    """
    spec = {
        "kind": kind,
        "nodes": nodes,
        "jobs": jobs,
        "arrivals_factor": arrivals_factor,
        "request_factor": request_factor,
        "seed": seed,
    }
    return JobLog(ask(_engine.JobLog.generate, to_json(spec)))


def _is_parquet(path: Path) -> bool:
    # What a pipe gives can be read only once.
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        return False


def _read_parquet(
    path: Path, machine_nodes: int | None, unit: str | None, processors_per_node: int | None
) -> JobLog:
    try:
        table = read_parquet(path)
    except (OSError, pa.ArrowException) as error:
        raise JobLogError(f"{path}: cannot be read: {error}") from error
    if "schedule" in table.column_names:
        raise JobLogError(
            f"{path}: holds schedules, not a job log; their log is named in result.json beside it"
        )
    meta = json.loads((table.schema.metadata or {}).get(_METADATA, b"{}"))
    if machine_nodes is not None:
        meta["machine_nodes"] = machine_nodes
        meta["machine_processors"] = None
    if unit is not None:
        meta |= {"unit": unit, "unit_because": "as it was asked for"}
    if processors_per_node is not None:
        meta["processors_per_node"] = processors_per_node
    if not table.num_rows:
        raise JobLogError(f"{path}: has no jobs")
    try:
        log = JobLog(_from_arrow(table, meta))
    except JobLogError as error:
        raise JobLogError(f"{path}: {error}") from None
    count = len(log)
    log.report = {
        "file": str(path),
        "format": "parquet",
        "lines": count,
        "comments": 0,
        "blank": 0,
        "continued": 0,
        "records": count,
        "jobs": count,
        "dropped": 0,
        "rules": [],
    }
    return log


def _table(columns: Mapping[str, Any]) -> pa.Table:
    """The engine's columns as an Arrow table: absent values are null, labels texts."""
    names = columns["names"]
    arrays: dict[str, pa.Array] = {}
    for name, values in columns.items():
        if name == "names":
            continue
        if name in _LABELS:
            # Each column keeps only the texts it uses.
            used, codes = np.unique(values, return_inverse=True)
            texts = [names[code] for code in used if code >= 0]
            shift = 1 if len(used) and used[0] < 0 else 0
            arrays[name] = labelled(codes - shift, texts, pa.int32())
        elif name == "status":
            arrays[name] = labelled(values, STATUSES, pa.int8())
        elif name in _TEXTS:
            arrays[name] = column_of([text or None for text in values], pa.string())
        elif name in _REALS:
            arrays[name] = column_of(values, pa.float64(), np.isnan(values))
        elif name in ("submit_s", "run_s", "nodes"):
            arrays[name] = column_of(values, pa.int64())
        else:
            arrays[name] = column_of(values, pa.int64(), values < 0)
    return pa.table(arrays)


def _from_arrow(table: pa.Table, meta: Mapping[str, Any]) -> _engine.JobLog:
    """The engine's log of an Arrow table."""
    columns: dict[str, Any] = {}
    for name in table.column_names:
        column = table[name]
        try:
            if name in _INTEGERS:
                columns[name] = numbers_of(column.cast(pa.int64()).combine_chunks())
            elif name in _REALS:
                columns[name] = numbers_of(column.cast(pa.float64()).combine_chunks())
            elif name in _LABELS or name in _TEXTS or name == "status":
                columns[name] = [text or "" for text in column.cast(pa.string()).to_pylist()]
        except pa.ArrowException as error:
            raise JobLogError(f"column {name}: {error}") from None
    header = [(str(key), str(value)) for key, value in meta.get("header", [])]
    return ask(
        _engine.JobLog.from_columns,
        columns,
        meta.get("epoch"),
        meta.get("machine_nodes"),
        meta.get("machine_processors"),
        header,
        meta.get("unit", "nodes"),
        meta.get("unit_because", "as its column is called"),
        meta.get("processors_per_node"),
    )
