"""What plug-ins get and what they give back, and how they reach the engine."""

from __future__ import annotations

import hashlib
import operator
import reprlib
import tempfile
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from odonata.errors import PlugInError, ScenarioError
from odonata.output import create
from odonata.plug_ins import PlugIn, find
from odonata.plug_ins.forms import MARK
from odonata.units import Duration, Size

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from odonata.scenario import Scenario

#: Ranks of a job whose pattern is a plug-in, at most: it gives a rate for every two of them.
MOST_RANKS = 4096
#: Steps of all ranks of an application that is a plug-in, at most; those of a list count each.
MOST_STEPS = 1 << 24


@dataclass(frozen=True)
class Machine:
    """The network that jobs are placed on.

    Attributes:
        router_of_node: Shape: nodes.
        group_of_router: Shape: routers.
        free: Nodes that no job before has, ascending.
    """

    router_of_node: NDArray[np.int64]
    group_of_router: NDArray[np.int64]
    free: NDArray[np.int64]

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return len(self.router_of_node)

    @property
    def group_of_node(self) -> NDArray[np.int64]:
        """Shape: nodes."""
        return self.group_of_router[self.router_of_node]


@dataclass(frozen=True)
class JobCall:
    """What a function is given of the job that it is called for.

    Attributes:
        name: Of the job.
        nodes: How many it gets.
        ranks: How many it has.
        ranks_per_node: At most this many on a node.
        parameters: What the scenario gives it beside the name.
        seed: Of this call: drawn from the scenario's seed, the job's place and the plug-in's name.
    """

    name: str
    nodes: int
    ranks: int
    ranks_per_node: int
    parameters: Mapping[str, Any]
    seed: int

    @cached_property
    def random(self) -> np.random.Generator:
        """Random numbers that are the same whenever the scenario is."""
        return np.random.default_rng(self.seed)


@dataclass(frozen=True)
class PlacementCall(JobCall):
    """A placement: returns the numbers of `nodes` nodes that are free, in the job's order.

    Attributes:
        machine: The network, and which of its nodes are free.
    """

    machine: Machine


@dataclass(frozen=True)
class MappingCall(JobCall):
    """A mapping: returns for each rank the index of its node in `placed`.

    Attributes:
        machine: The network.
        placed: The job's nodes, in the order of its placement.
    """

    machine: Machine
    placed: NDArray[np.int64]


@dataclass(frozen=True)
class PatternCall(JobCall):
    """A pattern: returns for each rank the one that it sends to, or the rates of all pairs.

    A rank that sends to itself, or a row of zeros, sends nothing. Rates have the shape
    ranks × ranks; only their proportions count.
    """


@dataclass(frozen=True)
class ApplicationCall(JobCall):
    """An application: returns for each rank its steps, one after the other.

    A step is an operation (:class:`Compute`, :class:`Send`, :class:`Receive`), or a list of
    operations that go on side by side; the next step begins when all of them are done.
    """


@dataclass(frozen=True)
class OrderCall:
    """An order of a queue: returns a priority for each job, the highest first.

    Jobs of equal priority come in order of submission. Priorities do not change as time passes.

    Attributes:
        jobs: The log, a row for each job (``docs/job-logs.md`` describes the columns).
        nodes: Nodes of the machine.
        random: Random numbers that are the same whenever the scenario's seed is.
    """

    jobs: pa.Table
    nodes: int
    random: np.random.Generator


@dataclass(frozen=True)
class Compute:
    """The rank computes.

    Attributes:
        time: How long, such as ``"3 us"``; whole nanoseconds.
    """

    time: Duration | str


@dataclass(frozen=True)
class Send:
    """The rank sends a message; done when its last byte has left the node.

    Attributes:
        to: Receiving rank.
        size: Such as ``"4 KiB"``, or a number of bytes; at least one.
        tag: Matched against the receiver's.
    """

    to: int
    size: Size | str | int
    tag: int = 0


@dataclass(frozen=True)
class Receive:
    """The rank receives a message; done when it has arrived whole.

    Attributes:
        source: Sending rank.
        size: As it is sent.
        tag: Matched against the sender's.
    """

    source: int
    size: Size | str | int
    tag: int = 0


def _array(plug_in: PlugIn, given: Any, most: int, allowed: str) -> NDArray[Any]:
    """Numbers that a plug-in gave, or lists of them; what is there already is not copied.

    No list is taken beyond `most` items: it may have no end.

    Raises:
        PlugInError: If a list is longer, or no array comes of it.
    """

    def plain(value: Any, depth: int) -> Any:
        if isinstance(value, np.generic):
            return value
        if hasattr(value, "__array__"):
            array = np.asarray(value)
            if array.size > most**depth:
                shown = f"an array of {array.dtype} of shape {array.shape}"
                raise plug_in.error(f"it returned {shown}; allowed: {allowed}")
            return array
        if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
            return value
        if not depth:
            raise plug_in.error(f"it returned lists in lists of lists; allowed: {allowed}")
        listed = isinstance(value, (list, tuple)) and len(value) <= most
        if listed and {*map(type, value)} <= {int, float, bool}:
            return value
        return [plain(one, depth - 1) for one in plug_in.items(value, most, allowed)]

    try:
        return np.asarray(plain(given, 2))
    except (ValueError, OverflowError) as error:  # lists of different lengths
        if isinstance(error, PlugInError):
            raise
        raise plug_in.error(f"it returned {reprlib.repr(given)}; allowed: {allowed}") from None


def integers(plug_in: PlugIn, given: Any, count: int, what: str) -> NDArray[np.int64]:
    """A list of whole numbers that a plug-in gave.

    Raises:
        PlugInError: If it is none, or of another length.
    """
    allowed = f"a list of {count} {what}"
    found = _array(plug_in, given, count, allowed)
    if found.ndim != 1 or (found.size and not np.issubdtype(found.dtype, np.integer)):
        shown = f"an array of {found.dtype} of shape {found.shape}"
        raise plug_in.error(f"it returned {shown}; allowed: {allowed}")
    if len(found) != count:
        raise plug_in.error(f"it returned {len(found)} numbers; allowed: {count} {what}")
    return found.astype(np.int64)


def place(plug_in: PlugIn, call: PlacementCall) -> list[int]:
    """The nodes that a placement gives.

    Raises:
        PlugInError: If it fails or gives something else.
    """
    machine = call.machine
    found = integers(plug_in, plug_in.call(call), call.nodes, "free nodes")
    outside = found[(found < 0) | (found >= machine.nodes)]
    if len(outside):
        allowed = f"nodes from 0 to {machine.nodes - 1}"
        raise plug_in.error(f"it returned the node {outside[0]}; allowed: {allowed}")
    numbers, counts = np.unique(found, return_counts=True)
    if (counts > 1).any():
        raise plug_in.error(f"it returned the node {numbers[counts > 1][0]} twice")
    taken = np.setdiff1d(found, machine.free)
    if len(taken):
        raise plug_in.error(f"it returned the node {taken[0]}, which another job has")
    return [int(node) for node in found]


def map_ranks(plug_in: PlugIn, call: MappingCall) -> list[int]:
    """The node of each rank, as its index among the job's.

    Raises:
        PlugInError: If it fails or gives something else.
    """
    found = integers(plug_in, plug_in.call(call), call.ranks, "indices of the job's nodes")
    outside = found[(found < 0) | (found >= call.nodes)]
    if len(outside):
        allowed = f"indices from 0 to {call.nodes - 1} of the job's nodes"
        raise plug_in.error(f"it returned {outside[0]}; allowed: {allowed}")
    most = np.bincount(found, minlength=1)
    if most.max() > call.ranks_per_node:
        where, ranks = int(most.argmax()), int(most.max())
        allowed = f"{call.ranks_per_node} on a node"
        raise plug_in.error(f"it put {ranks} ranks on the node {where}; allowed: {allowed}")
    return [int(index) for index in found]


def rates(plug_in: PlugIn, call: PatternCall) -> NDArray[np.float64]:
    """What every two ranks send to each other, up to a factor. Shape: ranks × ranks.

    Raises:
        PlugInError: If it fails or gives something else.
    """
    ranks = call.ranks
    if ranks > MOST_RANKS:
        raise plug_in.error(f"the job has {ranks} ranks; allowed: at most {MOST_RANKS}")
    allowed = f"({ranks},) for destinations, ({ranks}, {ranks}) for rates"
    given = _array(plug_in, plug_in.call(call), ranks, f"an array of shape {allowed}")
    found = np.zeros((ranks, ranks))
    if given.ndim == 1:
        to = integers(plug_in, given, ranks, "destinations")
        outside = to[(to < 0) | (to >= ranks)]
        if len(outside):
            destinations = f"ranks from 0 to {ranks - 1}"
            raise plug_in.error(
                f"it returned the destination {outside[0]}; allowed: {destinations}"
            )
        found[np.arange(ranks), to] = 1.0
    else:
        if given.shape != found.shape:
            raise plug_in.error(f"it returned an array of shape {given.shape}; allowed: {allowed}")
        try:
            found[:] = given
        except (TypeError, ValueError, OverflowError):
            raise plug_in.error("it returned no numbers; allowed: a matrix of rates") from None
        if not np.isfinite(found).all() or (found < 0).any():
            raise plug_in.error("it returned a rate that is negative or no number")
    np.fill_diagonal(found, 0.0)
    if not found.any():
        raise plug_in.error("nobody sends anything; allowed: at least one destination")
    return found


def priorities(plug_in: PlugIn, call: OrderCall) -> list[float]:
    """The priority of each job.

    Raises:
        PlugInError: If it fails or gives something else.
    """
    count = call.jobs.num_rows
    allowed = f"({count},), one for each job of the log"
    given = _array(plug_in, plug_in.call(call), count, f"an array of shape {allowed}")
    if given.shape != (count,):
        raise plug_in.error(f"it returned an array of shape {given.shape}; allowed: {allowed}")
    try:
        found = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise plug_in.error("it returned no numbers; allowed: a priority for each job") from None
    if not np.isfinite(found).all():
        job = int(np.argmin(np.isfinite(found)))
        raise plug_in.error(f"it gave job {job} the priority {found[job]}; allowed: finite numbers")
    priorities: list[float] = found.tolist()
    return priorities


def measured(plug_in: PlugIn, result: Any) -> float | None:
    """The figure that a measure gives.

    Raises:
        PlugInError: If it fails or gives something else.
    """
    found = plug_in.call(result)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, (int, float, np.number)):
        shown = reprlib.repr(found)
        raise plug_in.error(f"it returned {shown}; allowed: a number, or None for no value")
    try:
        return float(found)
    except OverflowError:
        raise plug_in.error("it returned a whole number beyond 1.8e308") from None


def goal(plug_in: PlugIn, call: ApplicationCall) -> Iterator[str]:
    """What an application's ranks do, as the lines of a schedule in GOAL.

    Raises:
        PlugInError: If it fails or gives something else.
    """
    allowed = f"{call.ranks}, one for each rank"
    yield f"num_ranks {call.ranks}"
    left, rank = MOST_STEPS, -1
    programs = plug_in.items(plug_in.call(call), call.ranks, "a list of steps per rank")
    for rank, program in enumerate(programs):
        yield from ("", f"rank {rank} {{")
        left = yield from _rank(plug_in, call, rank, program, left)
        yield "}"
    if rank + 1 != call.ranks:
        raise plug_in.error(f"it returned {rank + 1} lists of steps; allowed: {allowed}")


def _rank(
    plug_in: PlugIn, call: ApplicationCall, rank: int, program: Any, most: int
) -> Generator[str, None, int]:
    """The lines of one rank. What goes on side by side is joined by computing for no time.

    Returns:
        How many of the `most` steps are left.
    """
    number, last, left = 0, "", most
    allowed = f"a list of steps per rank, and {MOST_STEPS:,} steps of all ranks"
    for position, step in enumerate(plug_in.items(program, most, allowed)):
        together = step if isinstance(step, (list, tuple)) else [step]
        left -= max(len(together), 1)
        if left < 0:
            raise plug_in.error(f"it returned more than {MOST_STEPS:,} steps; allowed: {allowed}")
        where = f"step {position} of rank {rank}"
        names = []
        for operation in together:
            name = f"l{number}"
            number += 1
            names.append(name)
            yield f"{name}: {_operation(plug_in, call, rank, where, operation)}"
            if last:
                yield f"{name} requires {last}"
        if len(names) == 1:
            last = names[0]
        elif names:
            last = f"l{number}"
            number += 1
            yield f"{last}: calc 0"
            yield from (f"{last} requires {name}" for name in names)
    if not number:
        yield "l0: calc 0"
    return left


def _operation(
    plug_in: PlugIn, call: ApplicationCall, rank: int, where: str, operation: Any
) -> str:
    try:
        if isinstance(operation, Compute):
            time = Duration(operation.time)
            if time % 1000:
                raise plug_in.error(f"{where} computes for {time}; allowed: whole nanoseconds")
            return f"calc {time // 1000}"
        if isinstance(operation, (Send, Receive)):
            size, tag = Size(operation.size), operator.index(operation.tag)
            is_send = isinstance(operation, Send)
            other = operator.index(
                operation.to if isinstance(operation, Send) else operation.source
            )
            if not 0 <= other < call.ranks or other == rank:
                allowed = f"another rank from 0 to {call.ranks - 1}"
                raise plug_in.error(f"{where} names the rank {other}; allowed: {allowed}")
            if size < 1 or tag < 0:
                message = f"{where} has {size} and the tag {tag}"
                raise plug_in.error(f"{message}; allowed: at least 1 B, tags from 0")
            verb = f"send {int(size)}b to" if is_send else f"recv {int(size)}b from"
            return f"{verb} {other} tag {tag}"
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, PlugInError):
            raise
        raise plug_in.error(f"{where}: {error}") from None
    allowed = "Compute, Send, Receive, or a list of them"
    raise plug_in.error(f"{where} is {reprlib.repr(operation)}; allowed: {allowed}")


# --- Scenarios ----------------------------------------------------------------------------


def has_plug_ins(form: Mapping[str, Any]) -> bool:
    """Whether anything in the engine's form of a scenario is to be resolved."""
    return any(_references(job) for job in form["jobs"])


def _references(job: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    load = job["load"] or {}
    places = (
        job["placement"],
        job["mapping"],
        load.get("traffic", {}).get("pattern", {}),
        load.get("motif", {}).get("kind", {}),
    )
    return [place for place in places if MARK in place]


@contextmanager
def resolved(scenario: Scenario, form: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The engine's form of a scenario, with what plug-ins give in place of their names.

    Files that the engine is to read exist for as long as the context does.

    Raises:
        ScenarioError: If a plug-in fails or gives what makes no sense; tells the key.
    """
    if not has_plug_ins(form):
        yield form
        return
    with tempfile.TemporaryDirectory(prefix="odonata-") as directory:
        jobs: list[dict[str, Any]] = []
        for position, job in enumerate(form["jobs"]):
            resolver = _Resolver({**form, "jobs": jobs}, position, Path(directory))
            try:
                jobs.append(resolver.job(dict(job)))
            except PlugInError as error:
                key = error.key or resolver.key
                raise PlugInError(str(error)).at(f"job[{position}].{key}", scenario.file) from error
        yield {**form, "jobs": jobs}


class _Resolver:
    """Resolves one job, those before it being resolved."""

    def __init__(self, form: dict[str, Any], position: int, directory: Path) -> None:
        self._form, self._position, self._directory = form, position, directory
        #: Key of the job that is being resolved.
        self.key = ""

    def job(self, job: dict[str, Any]) -> dict[str, Any]:
        nodes, ranks = self._sizes(job)
        common: dict[str, Any] = {
            "name": job["name"],
            "nodes": nodes,
            "ranks": ranks,
            "ranks_per_node": job["ranks_per_node"],
        }
        if MARK in job["placement"]:
            self.key = "placement"
            plug_in, more = self._call(job["placement"])
            placed = place(plug_in, PlacementCall(**common, **more, machine=self._machine()))
            job["placement"] = {"policy": "explicit", "nodes": placed}
        load = job["load"] or {}
        if MARK in load.get("traffic", {}).get("pattern", {}):
            self.key = "traffic.pattern"
            plug_in, more = self._call(load["traffic"]["pattern"])
            of_pairs = rates(plug_in, PatternCall(**common, **more))
            file = self._write("rates.txt", _matrix_lines(of_pairs))
            pattern = {"name": "matrix", "file": file, "between": "ranks"}
            job["load"] = {"traffic": {**load["traffic"], "pattern": pattern}}
        if MARK in load.get("motif", {}).get("kind", {}):
            self.key = "motif.kind"
            plug_in, more = self._call(load["motif"]["kind"])
            file = self._write("program.goal", goal(plug_in, ApplicationCall(**common, **more)))
            motif = {**load["motif"], "kind": {"name": "trace", "file": file}}
            job["load"] = {"motif": motif}
        if MARK in job["mapping"]:
            self.key = "mapping"
            plug_in, more = self._call(job["mapping"])
            unmapped = {**job, "mapping": {"policy": "linear"}}
            nodes_of = self._place([*self._form["jobs"], unmapped])["jobs"]
            of_job = np.asarray(nodes_of[-1], dtype=np.int64)
            call = MappingCall(**common, **more, machine=self._machine(), placed=of_job)
            found = map_ranks(plug_in, call)
            job["mapping"] = {"policy": "explicit", "node_of_rank": found}
        return job

    def _sizes(self, job: Mapping[str, Any]) -> tuple[int, int]:
        """Nodes and ranks of a job."""
        per_node, nodes, ranks = job["ranks_per_node"], job["nodes"], job["ranks"]
        if nodes is None and ranks is None:
            nodes = len(job["placement"].get("nodes", ()))
            if not nodes and _references(job):
                message = "found nothing; allowed: `nodes` or `ranks`, which a plug-in needs"
                raise PlugInError(message, key="nodes")
        nodes = -(-ranks // per_node) if nodes is None else nodes
        return nodes, nodes * per_node if ranks is None else ranks

    def _call(self, given: Mapping[str, Any]) -> tuple[PlugIn, dict[str, Any]]:
        plug_in = find(given["kind"], given[MARK])
        text = f"{self._form['seed']}/{self._position}/{given['kind']}/{given[MARK]}"
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
        return plug_in, {"parameters": given["parameters"], "seed": seed}

    @cached_property
    def _topology(self) -> Mapping[str, Any]:
        from odonata import _engine

        found: Mapping[str, Any] = _ask(_engine.topology, {**self._form, "jobs": []})
        return found

    def _machine(self) -> Machine:
        router_of_node = np.asarray(self._topology["node_router"], dtype=np.int64)
        free = np.arange(len(router_of_node))
        if self._form["jobs"]:
            free = self._place(self._form["jobs"])["free"]
        return Machine(
            router_of_node,
            np.asarray(self._topology["group_of_router"], dtype=np.int64),
            np.asarray(free, dtype=np.int64),
        )

    def _place(self, jobs: Sequence[Any]) -> Mapping[str, Any]:
        """The nodes of each job, and those that are free then."""
        from odonata import _engine

        found: Mapping[str, Any] = _ask(_engine.place, {**self._form, "jobs": jobs})
        return found

    def _write(self, name: str, lines: Iterable[str]) -> str:
        path = self._directory / f"job{self._position}-{name}"
        with create(path, "w") as file:
            file.writelines(f"{line}\n" for line in lines)
        return str(path)


def _ask(function: Any, form: Mapping[str, Any]) -> Any:
    """A function of the engine of a scenario's form, with its errors as those of scenarios."""
    import json

    from odonata import _engine
    from odonata.errors import Problem

    try:
        return function(json.dumps(form))
    except _engine.SpecError as error:
        raise ScenarioError([Problem(*error.args)]) from None


def _matrix_lines(found: NDArray[np.float64]) -> Iterator[str]:
    """A matrix as a list of its entries, whole numbers in the same proportions."""
    whole = np.rint(found / found.max() * 1e12).astype(np.int64)
    rows, columns = np.nonzero(whole)
    yield "src,dst,bytes"
    for row, to, rate in zip(
        rows.tolist(), columns.tolist(), whole[rows, columns].tolist(), strict=True
    ):
        yield f"{row},{to},{rate}"
