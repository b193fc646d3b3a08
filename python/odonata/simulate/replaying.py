"""Scenarios that replay traces: a job per trace, on a network of their size."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from odonata import names
from odonata.errors import InternalError, TraceError
from odonata.scenario import Scenario


@dataclass(frozen=True)
class ReplayedTrace:
    """A trace that can be replayed.

    Attributes:
        file: The trace.
        format: What it is, for people.
        ranks: Number of ranks.
        facts: What a replay does, for people: names and values.
        nodes: Node of each rank, where an allocation says; otherwise empty.
        rank_map: Map of TraceR that says where its ranks sit, if there is one.
        map_job: Which job of it, if it is a global map.
    """

    file: Path
    format: str
    ranks: int
    facts: list[tuple[str, str]]
    nodes: tuple[int, ...] = ()
    rank_map: Path | None = None
    map_job: int | None = None


def ask(function: Any, *arguments: Any) -> Any:
    """Calls a function of the engine about traces.

    Raises:
        TraceError: If a trace is damaged or of no known format.
        InternalError: If the engine has a defect.
    """
    from odonata import _engine

    try:
        return function(*arguments)
    except _engine.SpecError as error:
        raise TraceError(error.args[1]) from None
    except _engine.InternalError as error:
        raise InternalError(str(error)) from None


def check_trace(
    file: str | os.PathLike[str],
    *,
    ranks: int | None = None,
    repeat_rank: names.RepeatRank | None = None,
    start: dict[str, Any] | None = None,
    end: dict[str, Any] | None = None,
) -> ReplayedTrace:
    """Reads a trace once and checks that it can be replayed.

    Args:
        file: A file in one of the formats of :data:`odonata.names.TRACE_FORMAT`; the trace of one
            rank with `repeat_rank` alone.
        ranks: Number of ranks that it must have, or for which one rank's is repeated.
        repeat_rank: Lets one rank's trace stand for all.
        start: Where the part of a trace of MPI starts that is looked at, as a motif's ``start``
            in a scenario, e.g. ``{"region": "timestep", "iteration": 11}``.
        end: Where it ends.

    Raises:
        TraceError: If it is of no known format, damaged, its ranks contradict each other, or
            start or end are not in it.
        ScenarioError: If `start` or `end` are no borders.
        InternalError: If the engine has a defect.
    """
    from odonata import _engine
    from odonata.motif import Trace

    values: dict[str, Any] = {"file": os.fspath(file), "start": start, "end": end}
    kind = Trace(**values).engine_form()["kind"]
    options = {
        "ranks": ranks,
        "repeat_rank": repeat_rank,
        "start": kind["start"],
        "end": kind["end"],
    }
    found = ask(_engine.replay_facts, os.fspath(file), json.dumps(options))
    facts = [(name, value) for name, value in found["facts"]]
    return ReplayedTrace(Path(file), found["format"], found["ranks"], facts)


def codes_traces(
    workload: str | os.PathLike[str], allocation: str | os.PathLike[str]
) -> list[ReplayedTrace]:
    """The jobs of a CODES workload with the nodes of an allocation, checked.

    A job's name is the start of the names of its DUMPI files, relative to the workload file;
    beside them lies the job's description (.meta).

    Raises:
        TraceError: If one of the files is damaged, they do not fit each other, or a job is a
            synthetic pattern.
        InternalError: If the engine has a defect.
    """
    from odonata import _engine

    traces = []
    for job in ask(_engine.codes_jobs, os.fspath(workload), os.fspath(allocation)):
        name = job["name"]
        if job["synthetic"]:
            message = (
                f"{os.fspath(workload)}: job {name} is a synthetic pattern, which CODES makes; "
                "write it as a job with traffic in a scenario"
            )
            raise TraceError(message)
        folder = Path(workload).parent
        wanted = [folder / name, *(folder / f"{start}.meta" for start in (name, name.rstrip("-")))]
        file = next((path for path in wanted if path.is_file()), None)
        if file is None:
            looked = ", ".join(str(path) for path in wanted)
            message = f"{os.fspath(workload)}: no trace of job {name}; looked for {looked}"
            raise TraceError(message)
        found = check_trace(file, ranks=job["ranks"])
        nodes = tuple(job["nodes"])
        traces.append(ReplayedTrace(found.file, found.format, found.ranks, found.facts, nodes))
    return traces


def tracer_traces(config: str | os.PathLike[str]) -> list[ReplayedTrace]:
    """The jobs of a configuration of TraceR, checked, with their maps of ranks.

    A job's trace is a file, or a folder with a ``traces.otf2``. Its own map decides where its
    ranks sit, without one the global map, without either the jobs follow each other.

    Raises:
        TraceError: If a file is damaged, a trace has not as many ranks as the configuration says,
            or a job is replayed several times.
        InternalError: If the engine has a defect.
    """
    from odonata import _engine

    traces = []
    read = ask(_engine.tracer_config, os.fspath(config))
    for number, job in enumerate(read["jobs"]):
        if job["iterations"] != 1:
            message = (
                f"{os.fspath(config)}: job {number} is replayed {job['iterations']} times; "
                "allowed: once"
            )
            raise TraceError(message)
        file = Path(job["trace"])
        if file.is_dir():
            file = file / "traces.otf2"
        found = check_trace(file, ranks=job["ranks"])
        own, of_all = job["map"], read["global_map"]
        placed = own or of_all
        traces.append(
            replace(
                found,
                rank_map=None if placed is None else Path(placed),
                map_job=number if own is None and of_all is not None else None,
            )
        )
    return traces


def dragonfly_for(nodes: int) -> dict[str, Any]:
    """The smallest balanced dragonfly (a = 2p = 2h, as many groups as can be) with this many nodes.

    J. Kim, W. Dally, S. Scott, D. Abts: Technology-driven, highly-scalable dragonfly topology,
    ISCA 2008.
    """
    p = 1
    while p * 2 * p * (2 * p * p + 1) < nodes:
        p += 1
    return {"family": "dragonfly", "p": p, "a": 2 * p, "h": p}


def replay_scenario(
    traces: Sequence[ReplayedTrace],
    *,
    network: Scenario | None = None,
    compute_scale: float | None = None,
    gap: str | None = None,
    ranks_per_node: int = 1,
    repeat_rank: names.RepeatRank | None = None,
    start: dict[str, Any] | None = None,
    end: dict[str, Any] | None = None,
) -> Scenario:
    """A scenario with a job per trace.

    Args:
        traces: What to replay.
        network: Where: a scenario whose jobs give way. Default: the smallest balanced dragonfly
            with enough nodes (at least 72 of them), minimal routing, everything else by default.
        compute_scale: Factor for every time between two calls. Default: 1.
        gap: Replaces every time between two calls, e.g. ``"1 us"``.
        ranks_per_node: Ranks on each node.
        repeat_rank: How one rank's trace stands for all.
        start: Where the part of each trace starts that is replayed, as for `check_trace`.
        end: Where it ends.

    Raises:
        ScenarioError: If the scenario cannot be.
    """
    if network is None:
        nodes = sum(-(-trace.ranks // ranks_per_node) for trace in traces)
        lowest = max((node + 1 for trace in traces for node in trace.nodes), default=0)
        data: dict[str, Any] = {"network": dragonfly_for(max(72, nodes, lowest))}
    else:
        data = network.to_dict()
        data.pop("title", None)
    given = {
        "compute_scale": compute_scale,
        "gap": gap,
        "repeat_rank": repeat_rank,
        "start": start,
        "end": end,
    }
    how = {key: value for key, value in given.items() if value is not None}
    jobs = []
    names: dict[str, int] = {}
    for trace in traces:
        name = trace.file.stem[:190] or "trace"
        names[name] = names.get(name, 0) + 1
        motif = {"kind": "trace", "file": str(trace.file.resolve()), **how}
        job: dict[str, Any] = {
            "name": name if names[name] == 1 else f"{name}-{names[name]}",
            "ranks": trace.ranks,
            "ranks_per_node": ranks_per_node,
            "motif": motif,
        }
        if trace.nodes:
            job["placement"] = list(trace.nodes)
        elif trace.rank_map is not None:
            by_map = {"rank_map": str(trace.rank_map.resolve())}
            job["placement"] = by_map | ({} if trace.map_job is None else {"job": trace.map_job})
        jobs.append(job)
    data["job"] = jobs
    # Traces use no file system.
    data.pop("storage", None)
    if network is None:
        return Scenario.from_dict(data)
    return Scenario.from_dict(data, file=network.file, directory=network.directory)
