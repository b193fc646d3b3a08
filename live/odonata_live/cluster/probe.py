"""Probes: jobs that measure what the network gives, submitted to Slurm as anybody's.

A probe asks Slurm for nodes in a certain place, notes how busy the network is, times collectives
(or a command) there, notes it again, and keeps all times with it. It needs no privileges. On the
nodes only `on_nodes/measure.py` runs, which needs Python, NumPy and mpi4py.
"""

from __future__ import annotations

import gzip
import json
import math
import random
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from odonata.errors import ClusterError, OutputError
from odonata.output import write_file
from odonata_live.cluster import nodes as cluster_nodes
from odonata_live.cluster import places, queue, slurm
from odonata_live.cluster.model import read_nodes
from odonata_live.cluster.probes import COLLECTIVES, STARTS, ProbeRun, Series
from odonata_live.cluster.skeletons import Skeleton, read_skeleton
from odonata_live.cluster.topologies import read_topology
from odonata_live.cluster.utilisation import exposure, spanning, utilisation

#: b may change so much during a run that counts; in points, as the paper gives b in per cent.
TOLERANCE = 0.05
#: The part of the job's time that is kept for gathering and leaving results.
_RESERVE_S = 2.0
#: How long after its budget a job that has not ended is cancelled.
_GRACE_S = 10.0
#: States of a job that is over; empty once Slurm has forgotten it.
_OVER = (
    *("", "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL"),
    *("OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT"),
)


@dataclass(frozen=True)
class Probe:
    """What to measure, where, and for how long.

    Attributes:
        placement: One of :data:`odonata_live.cluster.places.PLACEMENTS`.
        ranks: Nodes, of which each has one rank.
        collectives: What to time.
        sizes: Bytes.
        iterations: Of each collective at each size; of a command its runs.
        interval_s: Pause between iterations.
        start: One of :data:`odonata_live.cluster.probes.STARTS`.
        warm_up: Iterations before, which are not kept.
        exchanges: With each rank, to estimate its clock.
        command: A shell command that is timed from outside, in the job; no collectives then.
        skeletons: Motifs as :func:`odonata_live.cluster.skeletons.read_skeleton` reads them, whose
            steps the ranks carry out and time by iteration; no collectives then.
        budget_s: The job ends after this many seconds at most, whatever is left to measure.
        start_within_s: The job is cancelled if it has not begun by then.
        tolerance: By how much b before and after may differ for the run to count.
        islands: How many, of *different-islands*.
        exclusive: Whether no other job may run on its nodes.
        launcher: What starts the ranks.
        python: Of the nodes; with mpi4py and NumPy.
        options: More options of sbatch, such as `--account=…`.
        partition: Slurm's.
    """

    placement: str = "different-islands"
    ranks: int = 16
    collectives: tuple[str, ...] = ("bcast", "reduce", "alltoall")
    sizes: tuple[int, ...] = (1 << 2, 1 << 10, 1 << 15, 1 << 20)
    iterations: int = 1_000
    interval_s: float = 0.001
    start: str = "window"
    warm_up: int = 5
    exchanges: int = 30
    command: str | None = None
    skeletons: tuple[str, ...] = ()
    budget_s: float = 600.0
    start_within_s: float = 600.0
    tolerance: float = TOLERANCE
    islands: int | None = None
    exclusive: bool = True
    launcher: str = "srun"
    python: str = sys.executable
    options: tuple[str, ...] = ()
    partition: str | None = None

    def __post_init__(self) -> None:
        """Refuses what cannot be measured.

        Raises:
            ClusterError: Says what is allowed.
        """
        for name in self.collectives:
            if name not in COLLECTIVES:
                raise ClusterError(f"found collective {name!r}; allowed: {', '.join(COLLECTIVES)}")
        if self.start not in STARTS:
            raise ClusterError(f"found start {self.start!r}; allowed: {', '.join(STARTS)}")
        if self.placement not in places.PLACEMENTS:
            allowed = ", ".join(places.PLACEMENTS)
            raise ClusterError(f"found placement {self.placement!r}; allowed: {allowed}")
        least = 1 if self.command else 2
        if self.ranks < least:
            raise ClusterError(f"found {self.ranks} ranks; allowed: at least {least}")
        if min((*self.sizes, 1)) < 1:
            raise ClusterError(f"found a message of {min(self.sizes)} bytes; allowed: at least 1")
        if self.command and self.skeletons:
            raise ClusterError("found a command and skeletons; allowed: one of them in a job")
        if not self.budget_s >= 5:
            raise ClusterError(f"found a budget of {self.budget_s:g} s; allowed: at least 5 s")

    def series(self) -> list[dict[str, Any]]:
        """What `measure.py` is to run, small messages first: they take least of a budget."""
        if self.skeletons:
            return [
                {
                    "collective": skeleton.name,
                    "bytes": 0,
                    "start": "barrier",
                    "program": f"program-{number}.json.gz",
                }
                for number, skeleton in enumerate(self.programs)
            ]
        found = []
        for size in self.sizes:
            for name in self.collectives:
                bytes_ = 0 if name == "barrier" else size
                one = {"collective": name, "bytes": bytes_, "start": self.start}
                if one not in found:
                    found.append(one)
        return found

    @cached_property
    def programs(self) -> tuple[Skeleton, ...]:
        """The steps of the skeletons.

        Raises:
            ClusterError: If one cannot be carried out.
        """
        count = self.warm_up + self.iterations
        return tuple(read_skeleton(text, self.ranks, count) for text in self.skeletons)

    def specification(self) -> dict[str, Any]:
        """For `measure.py`."""
        return {
            "ranks": self.ranks,
            "series": [] if self.command else self.series(),
            "command": self.command,
            "iterations": self.iterations,
            "interval_s": self.interval_s,
            "warm_up": self.warm_up,
            "exchanges": self.exchanges,
            "budget_s": self.budget_s,
            "reserve_s": min(_RESERVE_S, self.budget_s / 5),
        }

    def sbatch(self, directory: Path, nodes: Sequence[str]) -> list[str]:
        """The command that submits."""
        return [
            "sbatch",
            "--parsable",
            "--job-name=odonata-probe",
            f"--nodes={self.ranks}",
            f"--ntasks={self.ranks}",
            "--ntasks-per-node=1",
            # Slurm counts minutes; the script and the submitter keep the seconds.
            f"--time={math.ceil((self.budget_s + _GRACE_S) / 60)}",
            "--no-requeue",
            f"--chdir={directory}",
            f"--output={directory}/job.out",
            f"--error={directory}/job.err",
            *(["--exclusive"] if self.exclusive else []),
            *([f"--partition={self.partition}"] if self.partition else []),
            *([f"--nodelist={','.join(nodes)}"] if nodes else []),
            *self.options,
            str(directory / "job.sh"),
        ]

    def script(self, directory: Path) -> str:
        """The job: what is busy before, whether the nodes can measure, times, busy after."""
        program = shlex.join([self.python, str(directory / "measure.py")])
        spec = shlex.quote(str(directory / "spec.json"))
        if self.command:
            measure = f"{program} command {spec}"
        else:
            measure = f"{self.launcher} {program} collectives {spec}"
        asked = shlex.join(queue.COMMAND)
        lines = [
            "#!/bin/sh",
            f"cd {shlex.quote(str(directory))} || exit 1",
            "begin=$(date +%s)",
            'echo "$SLURM_JOB_NODELIST" > nodes',
            f"left() {{ echo $(({math.floor(self.budget_s)} - $(date +%s) + begin)); }}",
            # The answer, and when it came.
            "busy() {",
            f"    timeout 30 {asked} > $1.queue 2> $1.error || echo failed > $1.failed",
            "    date +%s.%N > $1.time",
            "}",
            "busy before",
        ]
        if not self.command:
            lines += [
                f"timeout 60 srun --mpi=none --kill-on-bad-exit=0 {program} check {spec} "
                "> check.txt 2> check.err",
                'if [ "$(cut -f 2- check.txt | sort -u | wc -l)" -ne 1 ] || '
                f'[ "$(wc -l < check.txt)" -ne {self.ranks} ] || '
                "grep -q '\tmissing\t' check.txt; then",
                "    echo unlike > code",
                "    touch done",
                "    exit 0",
                "fi",
            ]
        lines += [
            "export PROBE_END_S=$(($(date +%s) + $(left)))",
            f"timeout --signal=TERM --kill-after=5 $(left) {measure} > measure.out 2> measure.err",
            "echo $? > code",
            "busy after",
            "touch done",
        ]
        return "\n".join(lines) + "\n"


@dataclass
class Prober:
    """Runs probes on the cluster whose commands are on PATH.

    Attributes:
        work: A directory that all nodes see, in which each job gets one of its own.
        topology: Which node is attached to which switch; asked of Slurm if `None`.
        timeout_s: For one answer of Slurm.
        chance: Draws among nodes.
        say: Called with a line for people.
        sleep: Waits.
    """

    work: Path
    topology: cluster_nodes.Topology | None = None
    timeout_s: float = slurm.TIMEOUT_S
    chance: random.Random = field(default_factory=random.Random)
    say: Callable[[str], None] = print
    sleep: Callable[[float], None] = time.sleep
    _silent: bool = field(default=False, init=False, repr=False)

    def choose(self, probe: Probe, *, wait_s: float = 0.0) -> tuple[str, ...]:
        """Idle nodes for a probe; none where Slurm is to choose.

        Raises:
            NoNodesError: If there are none after `wait_s` seconds.
            ClusterError: If there can be none, or Slurm does not answer.
        """
        if probe.placement == "any":
            return ()
        topology = self._topology()
        deadline = time.monotonic() + wait_s
        while True:
            asked = places.idle_nodes_command(probe.partition)
            idle = places.read_idle_nodes(slurm.ask(asked, self.timeout_s))
            try:
                return places.choose_nodes(
                    probe.placement, probe.ranks, idle, topology, self.chance, islands=probe.islands
                )
            except places.NoNodesError as error:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise
                self.say(f"{error}; looking again for {left:.0f} s")
                self.sleep(min(30.0, max(left, 0.1)))

    def _topology(self) -> cluster_nodes.Topology:
        if self.topology is None:
            answer = slurm.ask(places.TOPOLOGY_COMMAND, self.timeout_s)
            try:
                self.topology = read_topology(answer, "scontrol show topology")
            except ClusterError as error:
                raise ClusterError(
                    f"{error}. This Slurm does not say which nodes are attached to which switch: "
                    "give a file with --topology, or --placement any"
                ) from None
        return self.topology

    def run(
        self,
        probe: Probe,
        *,
        wait_s: float = 0.0,
        keep: Callable[[ProbeRun], None] = lambda run: None,
    ) -> ProbeRun:
        """Submits a probe, waits until its job is over, and reads what it measured.

        Whatever ends this early, an interrupt included, cancels the job. While Slurm does not
        answer, the job goes on, and so does the wait for what it leaves.

        Args:
            probe: What to measure.
            wait_s: How long to wait for idle nodes.
            keep: Gets what was measured. If it raises, what the job left stays where it is.

        Raises:
            NoNodesError: If no such nodes are idle.
            ClusterError: If Slurm refuses the job, does not start it in time, or nothing could be
                measured; says why and what to do.
            OutputError: If the job's directory cannot be made.
        """
        # A skeleton that cannot be carried out is said before Slurm is asked for anything.
        _ = probe.programs
        nodes_total = len(read_nodes(slurm.ask(cluster_nodes.COMMAND, self.timeout_s)))
        nodes = self.choose(probe, wait_s=wait_s)
        directory = self._prepare(probe)
        submitted = time.time()
        answer = slurm.ask(probe.sbatch(directory, nodes), self.timeout_s)
        job = answer.strip().split(";")[0]
        if not job.isdigit():
            raise ClusterError(f"sbatch: found {answer.strip()[:100]!r}; allowed: a job's number")
        over = False
        try:
            self._wait(probe, job, directory)
            over = True
        finally:
            if not over:
                self._cancel(job)
        self._explain_failure(probe, job, directory)
        run = self._read(probe, job, directory, nodes_total, submitted)
        try:
            keep(run)
        except BaseException:
            self.say(f"job {job} could not be kept; its times are in {directory}")
            raise
        shutil.rmtree(directory, ignore_errors=True)
        return run

    def _prepare(self, probe: Probe) -> Path:
        directory = self.work / f"odonata-probe-{time.time_ns():x}-{random.randrange(1 << 32):08x}"
        try:
            directory.mkdir(parents=True)
            program = Path(__file__).parent / "on_nodes" / "measure.py"
            write_file(directory / "measure.py", program.read_bytes())
            spec = json.dumps(probe.specification())
            write_file(directory / "spec.json", spec)
            for number, skeleton in enumerate(probe.programs):
                packed = gzip.compress(skeleton.program.encode(), mtime=0)
                write_file(directory / f"program-{number}.json.gz", packed)
            write_file(directory / "job.sh", probe.script(directory))
        except OSError as error:
            raise OutputError(f"{directory}: cannot be made: {error.strerror}") from error
        return directory

    def _cancel(self, job: str) -> None:
        try:
            slurm.ask(("scancel", job), self.timeout_s)
        except ClusterError as error:
            self.say(f"job {job} could not be cancelled and ends by its own limits: {error}")
        else:
            self.say(f"job {job} cancelled")

    def _wait(self, probe: Probe, job: str, directory: Path) -> None:
        """Waits until the job has left what it measured."""
        submitted = time.monotonic()
        longest = probe.start_within_s + probe.budget_s + _GRACE_S
        started: float | None = None
        pause, ask_at, missed = 0.5, 0.0, 0
        while not (directory / "done").exists():
            here = time.monotonic()
            beyond = started is not None and here - started > probe.budget_s + _GRACE_S
            if beyond or here - submitted > longest:
                raise ClusterError(
                    f"job {job} did not end within its budget of {probe.budget_s:g} s and is "
                    f"cancelled; what it said is in {directory}"
                )
            if here >= ask_at:
                state, reason = self._state(job)
                ask_at, pause = time.monotonic() + pause, min(pause * 1.5, 10.0)
                if state == "RUNNING" and started is None:
                    started = here
                elif state == "PENDING" and here - submitted > probe.start_within_s:
                    raise ClusterError(
                        f"job {job} has not begun after {probe.start_within_s:g} s ({reason}) and "
                        "is cancelled; try again later, or with a longer --start-within"
                    )
                elif state in _OVER:
                    # What it left may come a little later than that it ended.
                    missed += 1
                    if missed == 3:
                        self._gone(job, state, directory)
            self.sleep(0.1 if here - submitted < 60 else 1.0)

    def _state(self, job: str) -> tuple[str, str]:
        """State of a job and why it waits; empty if Slurm does not know it any more."""
        try:
            answer = slurm.ask(
                ("squeue", "--noheader", f"--jobs={job}", "--format=%T|%r"), self.timeout_s
            )
        except ClusterError as error:
            if "Invalid job id" in str(error):
                return "", ""
            if not self._silent:
                self.say(f"{error}; waiting on for job {job}")
            self._silent = True
            return "UNKNOWN", ""
        self._silent = False
        state, _, reason = answer.strip().partition("|")
        return state, reason

    def _gone(self, job: str, state: str, directory: Path) -> None:
        said = _end_of(directory / "job.err") or _end_of(directory / "measure.err")
        raise ClusterError(
            f"job {job} ended without results (state {state or 'unknown'})"
            + (f": {said}" if said else "")
            + f". Do all nodes see {self.work} (--work)?"
        )

    def _explain_failure(self, probe: Probe, job: str, directory: Path) -> None:
        """Raises where nothing was measured."""
        code = (directory / "code").read_text(encoding="utf-8").strip()
        if code == "unlike":
            raise ClusterError(f"job {job}: {_unlike(directory, probe)}")
        if (failure := directory / "failure").exists():
            raise ClusterError(f"job {job}: {failure.read_text(encoding='utf-8')}")
        if probe.command or any(directory.glob("series-*.npz")):
            return
        said = _end_of(directory / "measure.err") or _end_of(directory / "measure.out")
        if code == "124":
            said = f"the budget of {probe.budget_s:g} s was over before the first series. {said}"
        raise ClusterError(f"job {job}: nothing was measured (code {code}): {said}")

    def _read(
        self, probe: Probe, job: str, directory: Path, nodes_total: int, submitted: float
    ) -> ProbeRun:
        names = queue.hosts((directory / "nodes").read_text().strip(), f"nodes of job {job}")
        environment: dict[str, Any] = {}
        if (file := directory / "environment.json").exists():
            environment = json.loads(file.read_text(encoding="utf-8"))
        environment["probe"] = {
            "start": probe.start,
            "iterations": probe.iterations,
            "interval_s": probe.interval_s,
            "command": probe.command,
            "skeletons": [dict(skeleton.motif) for skeleton in probe.programs],
            "launcher": probe.launcher,
            "budget_s": probe.budget_s,
            "exclusive": probe.exclusive,
        }
        series, lacks = self._series(probe, directory)
        groups: tuple[str, ...] = ()
        islands: tuple[str, ...] = ()
        if self.topology is not None:
            groups = tuple(self.topology.leaf_of_node.get(name, "") for name in names)
            island_of = self.topology.island_of_node()
            islands = tuple(island_of.get(name, "") for name in names)
        reasons = list(lacks)
        figures, times = {}, {}
        for moment in ("before", "after"):
            try:
                figures[moment] = self._busy(directory, moment, job, nodes_total, names)
                times[moment] = float((directory / f"{moment}.time").read_text())
            except (ClusterError, OSError, ValueError) as error:
                figures[moment] = {}
                reasons.append(f"utilisation {moment} is unknown: {error}")
        if all(figures.values()):
            change = figures["after"]["b"] - figures["before"]["b"]
            if abs(change) >= probe.tolerance:
                reasons.append(f"b changed by {change:+.3f}")
        for rank in environment.get("ranks", ()):
            if abs(rank["clock_set_s"]) > 0.5:
                self.say(
                    f"the time of day of {rank['host']} was set by {rank['clock_set_s']:+.1f} s; "
                    "iterations are not timed with it"
                )
        return ProbeRun(
            time_s=times.get("before", submitted),
            job=job,
            placement=probe.placement,
            nodes=names,
            groups=groups,
            islands=islands,
            before=figures["before"],
            after=figures["after"],
            counts=not reasons,
            why_not="; ".join(reasons),
            environment=environment,
            series=series,
        )

    def _series(self, probe: Probe, directory: Path) -> tuple[tuple[Series, ...], list[str]]:
        """What was measured, and what is wrong with it."""
        found, lacks = [], []
        if probe.command:
            rows = [line.split() for line in (directory / "command.txt").read_text().splitlines()]
            if bad := [code for *_, code in rows if code != "0"]:
                lacks.append(f"{len(bad)} of {len(rows)} runs of the command failed ({bad[0]})")
            good = [(int(begin), int(end)) for begin, end, code in rows if code == "0"]
            if good:
                starts, ends = np.array(good, dtype=np.int64).T
                found.append(Series.of_command(starts, ends))
            if len(rows) < probe.iterations:
                lacks.append(f"the budget sufficed for {len(rows)} of {probe.iterations} runs")
            return tuple(found), lacks
        asked = probe.series()
        for number, one in enumerate(asked):
            file = directory / f"series-{number}.npz"
            if file.exists():
                series = Series.unpack(
                    one["collective"], one["bytes"], one["start"], file.read_bytes(), str(file)
                )
                if series.iterations:
                    found.append(series)
        whole = sum(one.iterations == probe.iterations for one in found)
        code = (directory / "code").read_text(encoding="utf-8").strip()
        if code not in ("0", "124"):
            lacks.append(f"its ranks ended with code {code}: {_end_of(directory / 'measure.err')}")
        if whole < len(asked):
            lacks.append(f"the budget sufficed for {whole} of {len(asked)} series")
        return tuple(found), lacks

    def _busy(
        self, directory: Path, moment: str, job: str, nodes_total: int, own: Sequence[str]
    ) -> Mapping[str, float]:
        """Utilisation before or after, without the probe itself."""
        if (directory / f"{moment}.failed").exists():
            raise ClusterError(_end_of(directory / f"{moment}.error") or "squeue failed")
        text = (directory / f"{moment}.queue").read_text(encoding="utf-8", errors="replace")
        jobs = queue.read_queue(text, f"squeue {moment}")
        return figures_of(jobs, nodes_total, self.topology, own, exclude=(job,))


def figures_of(
    jobs: Sequence[queue.QueuedJob],
    nodes: int,
    topology: cluster_nodes.Topology | None,
    own: Sequence[str],
    exclude: tuple[str, ...] = (),
) -> dict[str, float]:
    """All forms of the utilisation, by name, as they are kept with a probe.

    Args:
        jobs: The queue.
        nodes: Nodes of the cluster.
        topology: Its switches, if known: tells what is sent between groups and islands.
        own: The nodes whose exposure is asked for; may be empty.
        exclude: Jobs that do not count.
    """
    whole = utilisation(jobs, nodes, exclude=exclude)
    figures = {"b": whole.b, "b1": whole.b1, "b_shared": whole.b_shared}
    if topology is not None:
        islands = topology.island_of_node()
        figures["b_between_islands"] = spanning(jobs, islands, nodes, exclude=exclude)
        figures["b_between_groups"] = spanning(jobs, topology.leaf_of_node, nodes, exclude=exclude)
        if own:
            figures["exposure"] = exposure(jobs, topology.leaf_of_node, own, exclude=exclude)
            figures["exposure_islands"] = exposure(jobs, islands, own, exclude=exclude)
    return figures


def _unlike(directory: Path, probe: Probe) -> str:
    """Why the nodes cannot measure together."""
    rows = [
        line.split("\t")
        for line in (directory / "check.txt").read_text(encoding="utf-8").splitlines()
        if line.count("\t") >= 2
    ]
    if missing := {host: why for host, state, why, *_ in rows if state == "missing"}:
        host, why = next(iter(missing.items()))
        return (
            f"{probe.python} cannot load MPI on {len(missing)} of {len(rows)} nodes ({host}: {why})"
            ". Install mpi4py and NumPy where all nodes see them (pip install mpi4py numpy; "
            "where the site has no MPI, pip install mpich as well), or give --python"
        )
    kinds: dict[tuple[str, ...], list[str]] = {}
    for host, _, *versions in rows:
        kinds.setdefault(tuple(versions), []).append(host)
    if len(kinds) > 1:
        answer = "; ".join(
            f"{', '.join(hosts[:8])}{' …' if len(hosts) > 8 else ''}: Python {versions[0]}, "
            f"mpi4py {versions[1]}, NumPy {versions[2]}, {versions[3]}"
            for versions, hosts in kinds.items()
        )
        return f"the nodes differ in their versions, which cannot run together: {answer}"
    said = _end_of(directory / "check.err") or "no output"
    return f"{len(rows)} of {probe.ranks} nodes could be looked at before MPI is started: {said}"


def _end_of(file: Path) -> str:
    """The last lines of a file, as one; empty if there is none."""
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    return " | ".join(line.strip() for line in lines[-6:] if line.strip())[-800:]
