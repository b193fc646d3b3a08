"""Schedules as Slurm makes them, from its own configuration and listings."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from odonata import _engine
from odonata.batch.declared import NodeFailures
from odonata.batch.engine import ask, to_json
from odonata.batch.joblog import JobLog, read_job_log
from odonata.batch.options import INTERVAL, TAU, seconds
from odonata.batch.schedules import Schedule
from odonata.bounded import read_text
from odonata.errors import JobLogError
from odonata.output import warn

if TYPE_CHECKING:
    from odonata.scenario import ScenarioLike

#: Lines that name nodes, in slurm.conf and in `scontrol show nodes`.
_NODES = re.compile(r"(?im)^\s*NodeName=(?!DEFAULT\b)(\S+)")

#: Configuration that is read.
_READ = (
    "slurm.conf, topology.conf, the output of scontrol show config, topology, nodes or partitions, "
    "of sacctmgr show qos or assoc, or of sshare"
)
#: Other files of Slurm's: by name (its page of manuals, section 5), or by what their lines are.
_OTHER_FILES = frozenset(
    f"{name}.conf"
    for name in (
        *("acct_gather", "burst_buffer", "cgroup", "ext_sensors", "gres", "helpers"),
        *("job_container", "knl", "mpi", "oci", "plugstack", "scrun", "slurmdbd"),
    )
)
_OTHER_LINES: tuple[tuple[str, str], ...] = (
    (
        r"(?im)^[ \t]*(AutoDetect=|(NodeName=\S+[ \t]+)?Name=\S+([ \t]+\w+=|[ \t]*$))",
        "is like gres.conf, which is not read (Gres= of the nodes in slurm.conf is)",
    ),
    (
        r"(?im)^[ \t]*(add|create|modify|delete|remove)[ \t]+"
        r"(account|assoc\w*|cluster|coord\w*|qos|tres|user)\b",
        "holds commands of sacctmgr, which are not read (the output of sacctmgr show qos is)",
    ),
    (
        r"(?m)^(Cluster|Parent|User) - '",
        "is like the output of sacctmgr dump, which is not read (that of sacctmgr show assoc is)",
    ),
    (r"(?m)^[ \t]*JobId=\d", "holds jobs, which are LOG"),
)


class SlurmSchedule(Schedule):
    """A schedule of Slurm's; its rows and figures count CPUs, not nodes.

    Attributes:
        notes: What the configuration asks for and the simulation does not do.
        machine_cpus: CPUs of the cluster.
    """

    def __init__(self, name: str, options: Mapping[str, Any], raw: Mapping[str, Any]) -> None:
        meta = raw["meta"]
        super().__init__(name, meta["machine_nodes"], options, raw)
        self.notes: list[str] = meta["notes"]
        self.machine_cpus: int = meta["machine_cpus"]


@dataclass(frozen=True)
class Onset:
    """A cluster in use, from which a simulation goes on.

    Attributes:
        at_ms: The moment, milliseconds since 1970; nothing comes or starts before it.
        backfilled_s: The second in which backfill began its last pass, as ``sdiag`` says it.
        running_ms: By id, of jobs that run then on the nodes that the log says they must have:
            since when.
        run_ms: By id: how long jobs run, more precisely than logs say it.
        out: Nodes that no job gets any more; those that run there go on.
    """

    at_ms: int
    backfilled_s: int | None = None
    running_ms: Mapping[str, int] = field(default_factory=dict)
    run_ms: Mapping[str, int] = field(default_factory=dict)
    out: tuple[str, ...] = ()


@dataclass(frozen=True)
class ListedNodes:
    """Nodes of a cluster, for a time.

    Attributes:
        nodes: A list of their names, such as ``nid[001-004]``.
        start_s: First second, in the log's time.
        end_s: The second after the last; ``None`` for ever.
    """

    nodes: str
    start_s: int
    end_s: int | None = None


def _drawn(failures: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Failures that are drawn, in the engine's form."""
    table = NodeFailures(**failures)
    repair = None if table.repair is None else int(table.repair)
    return {"mtbf_s": int(table.mtbf), "repair_s": repair, "together": table.together, "seed": seed}


def schedule_as_slurm(
    log: JobLog | str | os.PathLike[str],
    configuration: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    settings: Sequence[str] = (),
    recorded_priorities: bool = False,
    seconds_per_test: float = 0.0,
    completing_s: float = 0.02,
    grap: int | None = None,
    grap_mode: str = "adaptive",
    onset: Onset | None = None,
    outages: Sequence[ListedNodes] = (),
    maintenance: Sequence[ListedNodes] = (),
    failures: Mapping[str, Any] | None = None,
    machine: ScenarioLike | None = None,
    requeue: bool | None = None,
    seed: int = 1,
    tau: str | int = TAU,
    interval: str | int = INTERVAL,
    name: str = "slurm",
    progress: Callable[[int, int], object] | bool | None = None,
    notice: Callable[[str], object] = warn,
) -> SlurmSchedule:
    """Simulates when Slurm starts the jobs of a log.

    Args:
        log: The log, or its file: ``sacct --parsable2``, ``scontrol show jobs``, JSON of
            ``squeue`` or ``sacct``; any other log will do, with jobs that ask for CPUs only.
        configuration: The cluster's ``slurm.conf``, or listings of ``scontrol show config``,
            ``nodes``, ``partitions``, of ``sacctmgr show qos`` and ``show assoc`` or of
            ``sshare`` (with ``--parsable2``), in any number; what a later one says goes.
        settings: Lines of slurm.conf that replace what the files say, such as
            ``SchedulerParameters=bf_interval=60,bf_window=2880``.
        recorded_priorities: Order jobs by the priorities that the log recorded.
        seconds_per_test: Working time of backfill for one test of a job, which decides how
            far a pass gets before ``bf_max_time`` and how often it pauses: mean cycle over mean
            depth of ``sdiag``.
        completing_s: Seconds that a job holds its nodes beyond its run time (epilogue, messages);
            an emulated cluster without epilogue needs 0.01 s to 0.02 s.
        grap: Choose nodes by GRAP (Feng et al. 2023), which Slurm does not have, in the place of
            its own way; groups are the switches of this level, 0 for leaf switches.
        grap_mode: How large jobs are spread over groups: ``adaptive`` or ``minimal-balance``.
        onset: The cluster in use from which to go on; by default it is idle before the first job.
        outages: Nodes that fail: jobs on them end as ``NODE_FAIL`` and are requeued.
        maintenance: Nodes that no job gets whose time limit reaches into these times.
        failures: Nodes fail at random besides: the keys of `[schedule.failures]`, such as
            ``{"mtbf": "30 d", "repair": "4 h"}``.
        machine: Scenario of the machine, with its hosts in `[machine]`: nodes fail besides that its
            `[failures]` take out, as links or routers do; jobs are not slower for what is left.
        requeue: Whether jobs whose node fails are requeued; by default as ``JobRequeue`` says.
        seed: Of the times of failures that are drawn.
        tau: Least run time in the bounded slowdown.
        interval: Of the rows of :attr:`Schedule.occupancy`.
        name: What to call it.
        progress: Is called with the number of jobs that have ended and of all. ``True`` shows a
            bar in the terminal or notebook.
        notice: Called at once if the log's nodes are not those of the configuration. Default: a
            warning.

    Raises:
        JobLogError: If a file cannot be read, or what it says makes no sense.
        KeyboardInterrupt: If it was interrupted.
    """
    if not isinstance(log, JobLog):
        log = read_job_log(log)
    if isinstance(configuration, (str, os.PathLike)):
        configuration = [configuration]
    if not configuration:
        raise JobLogError("configuration: names no file; allowed: slurm.conf, listings of Slurm")
    differ = _different_nodes(log, [Path(path) for path in configuration])
    if differ is not None:
        notice(differ)
    spec: dict[str, Any] = {
        "files": [str(Path(path)) for path in configuration],
        "settings": list(settings),
        "recorded_priorities": recorded_priorities,
        "seconds_per_test": float(seconds_per_test),
        "completing_s": float(completing_s),
        "grap": None if grap is None else {"level": grap, "mode": grap_mode},
        "onset": None if onset is None else asdict(onset),
        "outages": [asdict(one) for one in (*outages, *outages_of(machine, log))],
        "maintenance": [asdict(one) for one in maintenance],
        "failures": None if failures is None else _drawn(failures, seed),
        "requeue": requeue,
        "tau_s": seconds("tau", tau),
        "interval_s": seconds("interval", interval),
    }
    from odonata.progress import JobsBar, following

    title = "Scheduling"
    with following(progress, lambda console: JobsBar(console, title), title) as reporting:
        raw = ask(log.engine.schedule_as_slurm, to_json(spec), reporting)
    return SlurmSchedule(name, spec, raw)


def outages_of(machine: ScenarioLike | None, log: JobLog) -> list[ListedNodes]:
    """Nodes that the failures of a machine's network take out during a log.

    Args:
        machine: Its scenario, with hosts in `[machine]`; ``None``: none.
        log: The log, whose first submission times are counted from.

    Raises:
        JobLogError: If nothing fails, takes nodes out, or not at whole seconds.
        MachineError: If it names no hosts.
    """
    if machine is None:
        return []
    from odonata.machines.hosts import hosts_of
    from odonata.scenario import as_scenario

    scenario = as_scenario(machine)
    names = {node: host for host, node in hosts_of(scenario).items()}
    where = scenario.file or "machine"
    network = json.dumps(scenario.normalised()["network"])
    try:
        outages = ask(log.engine.outages_by_network, network)
    except JobLogError as error:
        raise JobLogError(f"{where}: {error}") from None
    found = []
    for nodes, start, end in outages:
        nameless = [node for node in nodes if node not in names]
        if nameless:
            raise JobLogError(
                f"{where}: node {nameless[0]} fails, and has no host; allowed: hosts of all nodes "
                "in machine.hosts"
            )
        found.append(ListedNodes(",".join(names[node] for node in nodes), start, end))
    if not found:
        raise JobLogError(
            f"{where}: its [failures] take out no node, and Slurm counts no links; allowed: "
            "failures that do, or odonata schedule --network flow, which says how much slower jobs "
            "are by what is left"
        )
    return found


def _refuse_others(file: Path, text: str) -> None:
    """Refuses files of Slurm's that say nothing which is simulated.

    Raises:
        JobLogError: If it is one.
    """
    what = f"{file.name} of Slurm is not read" if file.name in _OTHER_FILES else None
    if what is None:
        what = next((said for lines, said in _OTHER_LINES if re.search(lines, text)), None)
    if what is not None:
        raise JobLogError(f"{file}: {what}; allowed: {_READ}")


def _different_nodes(log: JobLog, files: Sequence[Path]) -> str | None:
    """What to say where a log has other nodes than the lines ``NodeName=`` of the configuration.

    Raises:
        JobLogError: If a file cannot be read.
    """
    named: set[str] = set()
    for file in files:
        text = read_text(file, JobLogError, errors="replace")
        _refuse_others(file, text)
        for found in _NODES.finditer(text):
            try:
                named.update(_engine.expand_hostlist(found[1]))
            except ValueError:
                return None  # of which the engine speaks, with its line
    if not named:
        return None
    lists = pc.unique(log.jobs["node_list"].combine_chunks().cast(pa.string())).to_pylist()
    used: set[str] = set()
    for one in filter(None, lists):
        try:
            used.update(_engine.expand_hostlist(one))
        except ValueError:
            continue
    where = ", ".join(map(str, files))
    if strangers := sorted(used - named):
        return (
            f"{where}: {len(named):,} nodes; jobs of the log ran on {len(used):,}, of which "
            f"{len(strangers):,} are not there, such as {strangers[0]}: is it the configuration of "
            "that machine, at that time?"
        )
    machine = log.meta["machine_nodes"]
    if machine is not None and machine != len(named):
        return f"{where}: {len(named):,} nodes; the log says that its machine has {machine:,}"
    largest = int(pc.max(log.jobs["nodes"]).as_py() or 0) if log.unit == "nodes" else 0
    if largest > len(named):
        return f"{where}: {len(named):,} nodes; a job of the log had {largest:,}, and never starts"
    return None
