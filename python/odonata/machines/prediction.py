"""How long a collective takes on the nodes of an allocation of a real machine."""

from __future__ import annotations

import copy
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from odonata import _engine, names
from odonata.declared import Noise
from odonata.errors import (
    InternalError,
    MachineError,
    Problem,
    SimulationError,
)
from odonata.machines import background as others
from odonata.machines.aggressor import Aggressor, Beside
from odonata.machines.hostmodel import HostModel, shared_nodes
from odonata.machines.hosts import hosts_of, nodes_of, read_hosts
from odonata.machines.intervals import Percentiles, at_size, percentiles
from odonata.machines.machine import Background
from odonata.machines.names import (
    POWER_OF_TWO,
    algorithm_of,
    algorithms_of,
    measured_name,
    operation_of,
)
from odonata.machines.predicted import OF_NCCL, Predicted, Prediction, save
from odonata.machines.tofu import box
from odonata.output import Claim
from odonata.results.bus_bandwidth import BY_BLOCK
from odonata.scenario import Scenario, ScenarioLike, as_scenario
from odonata.units import Size, UnitError

#: Messages of a call for each pair of ranks, of algorithms that have about this many.
MESSAGES_PER_PAIR = {
    ("allreduce", "ring"): 2.0,
    ("allreduce", "channel-rings"): 2.0,
    ("allreduce", "segmented-ring"): 2.0,
    ("allgather", "bine-blocks"): 1.0,
    ("allgather", "neighbour-exchange"): 0.5,
    ("allgather", "ring"): 1.0,
    ("allgather", "channel-rings"): 1.0,
    ("allgather", "sparbit"): 1.0,
    ("alltoall", "linear"): 1.0,
    ("alltoall", "pairwise"): 1.0,
    ("alltoall", "rounds"): 1.0,
    ("alltoall", "scattered"): 1.0,
    ("broadcast", "scatter-ring"): 1.0,
    ("reduce-scatter", "bine-blocks"): 1.0,
    ("reduce-scatter", "pairwise"): 1.0,
    ("reduce-scatter", "ring"): 1.0,
    ("reduce-scatter", "channel-rings"): 1.0,
}

#: Calls of up to this many messages are simulated whole.
MOST_WHOLE = 300_000
#: The same of all-to-alls whose messages are all under way at once: 512 ranks with 64 MiB took
#: minutes. With 64 to 512 ranks and up to 1 MiB parts are within 2 % of the whole.
MOST_WHOLE_AT_ONCE = 100_000
#: Messages of longer calls that are simulated in the shorter of two simulations; twice as many in
#: the other.
SHORTENED = 60_000
#: The same of messages that are under way at once, as flows that share links cost more the more
#: there are.
SHORTENED_AT_ONCE = 10_000
#: NCCL's all-to-alls bring rates up to date this often in ps: with 1,024 ranks a prediction of
#: 64 KiB takes a second instead of more than four minutes, and with 32 ranks times differ by up to
#: 1.5 % from those of rates that are always up to date. With long blocks 16 times while a rank
#: sends one, but no less often than the second.
SETTLED_PS, SETTLED_LONG_PS = 4_000_000, 64_000_000
_BLOCK_AFTER_BLOCK = ("sparbit", "bine-blocks")
_AT_ONCE = ("linear", "rounds", "scattered", *_BLOCK_AFTER_BLOCK)

#: Algorithms that send by ``MPI_Isend``; all others by ``MPI_Send`` or ``MPI_Sendrecv``, also where
#: a rank only sends one message, as in linear gathers (Open MPI 4.1, ``coll_base_*.c``; PICO's
#: ``libbine``).
_WITHOUT_WAITING = {
    *(("broadcast", name) for name in ("binary", "binomial-at-once", "chain", "chains")),
    *(("broadcast", name) for name in ("knomial", "linear")),
    *(("broadcast", name) for name in ("bine-at-once", "bine-near-at-once")),
    *(("allgather", name) for name in ("k-bruck", "sparbit", "bine-blocks")),
    *(("alltoall", name) for name in ("linear", "rounds", "scattered")),
    ("reduce-scatter", "bine-blocks"),
}

#: With other jobs beside it this many messages of a call are simulated, of what repeats in it; the
#: whole call is then taken to be this many such parts in a row.
WITH_OTHERS = 10_000
#: Simulated time of all calls beside other jobs together, in ns, and the fewest calls.
MOST_TOGETHER, FEWEST = 2e9, 4 * others.STATES


@dataclass(frozen=True)
class Case:
    """A collective on some nodes.

    Attributes:
        operation: Ours.
        algorithm: Ours.
        size: Of the vector of a rank in bytes, all blocks together. Where there are blocks each is
            this divided by the number of ranks, rounded down, as benchmarks do.
        nodes: Of the network, in the order of ranks.
        per_node: Ranks on each; they follow each other.
        segment: Bytes of segments, of algorithms whose name says; ``None``: what the machine's
            scenario says, of ``bine-segmented`` the whole of a half.
        library: Who carries the algorithm out, of names that say
            (:class:`odonata.machines.names.Measured`); otherwise the library of the scenario.
        protocol: NCCL's, where its tuner has chosen.
        copies: How often ranks copy the vector besides (:class:`odonata.machines.names.Measured`).
    """

    operation: str
    algorithm: str
    size: int
    nodes: tuple[int, ...]
    per_node: int = 1
    segment: int | None = None
    library: str = ""
    protocol: str | None = None
    copies: float = 0.0

    @property
    def ranks(self) -> int:
        """How many take part."""
        return len(self.nodes) * self.per_node

    @property
    def message(self) -> int:
        """Bytes of a rank's block, or of its vector where there are no blocks."""
        return self.size // self.ranks if self.operation in BY_BLOCK else self.size

    @property
    def sent(self) -> int:
        """Bytes of a rank's vector without what rounding leaves out."""
        return self.message * (self.ranks if self.operation in BY_BLOCK else 1)


#: Within how many times the time alone the end of a call beside an aggressor is looked for.
_LONGER = (2, 4, 16, 64)


class Predictor:
    """Predicts collectives on one machine.

    Args:
        scenario: Of the machine: its network, `[mpi]` and `[machine]`. Its jobs do not count.
        engine: Instead of the scenario's.
        jobs: Which nodes jobs had (:func:`odonata.machines.background.read_jobs`), to simulate
            calls beside them for percentiles; instead of the scenario's.
        calls: How many are simulated beside them.
        aggressor: A job beside which collectives are predicted as well. Packets then simulate the
            network, as flows share links at once: no queue of theirs slows others.

    Raises:
        MachineError: If the scenario names no hosts, or wrongly, or the jobs cannot be read, or the
            aggressor is not possible.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        engine: names.Engine | None = None,
        jobs: str | os.PathLike[str] | None = None,
        calls: int = 100,
        aggressor: Aggressor | None = None,
    ) -> None:
        if aggressor is not None:
            if engine == "flow":
                raise MachineError(
                    "--engine: found flow with --beside; allowed: packet, as flows share links at "
                    "once and no queue of theirs slows others"
                )
            engine = "packet"
        self.aggressor = aggressor
        self.scenario = scenario
        self.hosts = hosts_of(scenario)
        self.background = (scenario.machine and scenario.machine.background) or Background()
        self.noise = scenario.mpi.noise or Noise()
        if jobs is None and self.background.jobs is not None:
            jobs = scenario.directory / self.background.jobs
        self.jobs = None if jobs is None else others.read_jobs(Path(jobs), self.hosts)
        self.calls = calls
        self.engine: str = engine or scenario.simulation.engine
        self.name = (scenario.machine.name if scenario.machine else "") or "the machine"
        collectives = scenario.mpi.collectives
        self._library = collectives if isinstance(collectives, str) else collectives.library
        self._form = scenario.normalised()
        self._form["jobs"] = []
        # What calls take without noise comes first, see :meth:`spread`.
        self._form["mpi"].pop("noise", None)
        network = self._form["network"]
        #: Whether messages stay in the part of the network that holds their ends.
        self._boxed = (
            network["topology"]["family"] == "torus"
            and network["topology"]["p"] == 1
            and network["routing"]["algorithm"] == "dimension-order"
            and not network.get("failures")
        )
        simulation = self._form["simulation"]
        simulation["engine"] = self.engine
        simulation["duration_ps"] = None
        if self.engine == "packet":
            simulation["paths"] = None
            simulation.pop("settle_ps", None)
            # Packets have all of their node's link.
            self._form["network"]["nic"].pop("rank_bandwidth_bytes_per_s", None)

    @classmethod
    def from_file(
        cls,
        file: str | os.PathLike[str],
        *,
        engine: names.Engine | None = None,
        jobs: str | os.PathLike[str] | None = None,
        calls: int = 100,
    ) -> Predictor:
        """Reads the scenario of a machine; see the class."""
        return cls(Scenario.from_file(file), engine=engine, jobs=jobs, calls=calls)

    def case(
        self,
        hosts: Sequence[str],
        collective: str,
        algorithm: str,
        size: int,
        per_node: int = 1,
        segment: int | None = None,
    ) -> Case:
        """A collective on hosts, checked.

        Args:
            hosts: In the order of ranks.
            collective: Name of the operation, as MPI or a benchmark has it.
            algorithm: Name of an algorithm, ours or a benchmark's, or ``auto``: the one that the
                rules of the scenario's library choose.
            size: Of the vector of a rank in bytes, all blocks together.
            per_node: Ranks on each host.
            segment: Bytes of the segments of a measured algorithm, where its name does not say.

        Raises:
            MachineError: If a host is unknown or there twice, or the collective, the algorithm or
                the size is none that is possible.
        """
        operation = operation_of(collective)
        nodes = nodes_of(hosts, self.hosts, per_node, self.name)
        ours = algorithm_of(operation, algorithm)
        meant = measured_name(operation, algorithm)
        segment = meant.segment or segment
        case = Case(
            operation,
            ours,
            size,
            tuple(nodes),
            per_node,
            segment,
            meant.library,
            copies=meant.copies,
        )
        check(case)
        if ours != "auto":
            return case
        chosen, segment, protocol = _engine.chosen_algorithm(
            json.dumps(self._form), operation, case.message, case.ranks, per_node
        )
        return replace(case, algorithm=chosen, segment=segment, protocol=protocol)

    def candidates(self, operation: str, ranks: int) -> list[str]:
        """What is compared where no algorithm is named: of NCCL what its tuner chooses."""
        return ["auto"] if self._library == "nccl" else candidates(operation, ranks)

    def predict(self, case: Case) -> Prediction:
        """Predicts one case.

        Raises:
            MachineError: If it cannot be carried out.
            ScenarioError: If the scenario cannot be simulated.
        """
        check(case)
        median = self.time_ns(case, HostModel.of(self.scenario, case.per_node, case.ranks))
        simulated = self.spread(case, median) if self.jobs is not None else None
        interval = self.interval(case.size, case.per_node, simulated)
        return Prediction(
            collective=case.operation,
            algorithm=case.algorithm,
            bytes=case.size,
            nodes=len(case.nodes),
            ranks=case.ranks,
            engine=self.engine,
            median_ns=median,
            p10_ns=median * interval[0] if interval else None,
            p90_ns=median * interval[1] if interval else None,
            spread="simulated" if self.jobs is not None else "measured" if interval else None,
            protocol=case.protocol,
            beside=self.beside(case, median) if self.aggressor else None,
        )

    def interval(
        self, size: int, per_node: int, spread: tuple[float, float] | None = None
    ) -> tuple[float, float] | None:
        """10th and 90th percentile of a call over what is predicted; ``None``: nothing is known.

        Args:
            size: Of the vector, in bytes.
            per_node: Ranks.
            spread: Percentiles of calls over their median. Default: those of the machine.
        """
        values = shared_nodes(self.scenario, per_node) or self.scenario.machine
        if values is None:
            return spread

        def points(of: Sequence[Any]) -> list[Percentiles]:
            return [(int(point.size), point.p10, point.p90) for point in of]

        if spread is None and values.spread:
            spread = at_size(size, points(values.spread))
        return percentiles(size, spread, points(values.errors))

    def time_ns(self, case: Case, host: HostModel) -> float:
        """One call with these parameters of the hosts, until its last rank is done.

        Simulated whole, or, where it does the same many times (:func:`repeated`) in more than
        :data:`MOST_WHOLE` messages, the first part of it twice, of two lengths; each further time
        then takes what one did between the two.
        """
        times, each = repeated(case)
        at_once = case.operation == "alltoall" and case.algorithm in _AT_ONCE
        if messages(case) <= min(MOST_WHOLE, MOST_WHOLE_AT_ONCE if at_once else MOST_WHOLE):
            return self._simulated_ns(case, host, None)
        most = SHORTENED_AT_ONCE if case.algorithm in _AT_ONCE else SHORTENED
        least = 4
        if case.operation == "alltoall":
            # What all partners of an exchange have in common is not seen with a few of them.
            least = 12
        elif case.algorithm in _BLOCK_AFTER_BLOCK:
            # Nor what the messages of a round take if it is sent before the first of them arrives.
            least = 16
        few = min(max(most // each, least), times // 3)
        short, long = (self._simulated_ns(case, host, count) for count in (few, 2 * few))
        done = repeated_within(case, few), repeated_within(case, 2 * few)
        rest = repeated_within(case, times) - done[1]
        return long + max(long - short, 0.0) * rest / max(done[1] - done[0], 1)

    def spread(self, case: Case, median_ns: float) -> tuple[float, float]:
        """10th and 90th percentile over the median of calls beside other jobs.

        Every call is a simulation of its own with the other jobs in other phases; some of them
        share which jobs there are (:data:`odonata.machines.background.STATES`). Of calls with many
        messages a part is simulated, and a call is this many parts, each as one of those simulated.
        Interruptions of hosts come to it. Percentiles are within each set of jobs, and then the
        mean over the sets.

        Args:
            case: Which.
            median_ns: What a call takes.
        """
        assert self.jobs is not None
        host = HostModel.of(self.scenario, case.per_node, case.ranks)
        times, each = repeated(case)
        part = None
        if messages(case) > WITH_OTHERS:
            part = min(max(WITH_OTHERS // max(each, 1), 1), times)
        before = self._before_ns(case, host)
        alone = self._simulated_ns(case, host, part)
        whole, parts = median_ns, max(round((median_ns - before) / max(alone - before, 1.0)), 1)
        calls = max(min(self.calls, int(MOST_TOGETHER / max(alone, 1.0))), FEWEST)
        most = int(self.background.busy.fraction * len(self.hosts))
        low, high = [], []
        for state in range(others.STATES):
            random = np.random.default_rng([self.scenario.seed, state])
            jobs = others.beside(self.jobs, case.nodes, most, random)
            ran = []
            for call in range(-(-calls // others.STATES)):
                # Which application a job is stays in a state, its phase does not.
                phase = np.random.default_rng([self.scenario.seed, state, call])
                kinds = np.random.default_rng([self.scenario.seed, state])
                beside = [
                    others.traffic(number, nodes, self.background.compute_rate, kinds, phase)
                    for number, nodes in enumerate(jobs)
                ]
                ran.append(self._simulated_ns(case, host, part, beside, seed=call + 1))
            drawn = random.choice(np.array(ran) / np.median(ran), (others.DRAWS, min(parts, 1000)))
            calls_ns = whole * drawn.mean(axis=1)
            calls_ns += others.interrupted_ns(self.noise, case.ranks, whole, random)
            p10, middle, p90 = np.quantile(calls_ns, (0.1, 0.5, 0.9))
            low.append(float(p10 / middle))
            high.append(float(p90 / middle))
        return sum(low) / len(low), sum(high) / len(high)

    def beside(self, case: Case, median_ns: float) -> Beside:
        """How much longer calls take beside the aggressor, each in another phase of it.

        Of calls with many messages a part is simulated; the rest is as much longer.

        Args:
            case: Which.
            median_ns: What a call takes.

        Raises:
            MachineError: If a host of the aggressor is unknown or the collective's own.
        """
        aggressor = self.aggressor
        assert aggressor is not None
        nodes = nodes_of(aggressor.hosts, self.hosts, 1, self.name)
        if both := set(nodes) & set(case.nodes):
            name = next(name for name, node in self.hosts.items() if node in both)
            raise MachineError(
                f"--beside-hosts: found {name}, which is the collective's as well; allowed: hosts "
                "of its own"
            )
        host = HostModel.of(self.scenario, case.per_node, case.ranks)
        times, each = repeated(case)
        part = None
        if messages(case) > WITH_OTHERS:
            part = min(max(WITH_OTHERS // max(each, 1), 1), times)
        before = self._before_ns(case, host)
        alone = self._simulated_ns(case, host, part)
        factors = []
        for call in range(aggressor.calls):
            took = self._beside_ns(case, host, part, nodes, call, alone)
            longer = (took - before) / max(alone - before, 1.0)
            factors.append((before + (median_ns - before) * longer) / median_ns)
        factors.sort()
        return Beside(
            aggressor.kind,
            len(nodes),
            len(factors),
            float(np.median(factors)),
            factors[0],
            factors[-1],
        )

    def _beside_ns(
        self,
        case: Case,
        host: HostModel,
        repeats: int | None,
        nodes: Sequence[int],
        call: int,
        alone_ns: float,
    ) -> float:
        """One call beside the aggressor; its end is looked for later and later."""
        assert self.aggressor is not None
        for longer in _LONGER:
            until_ps = others.WARM_PS + longer * alone_ns * 1_000
            job = self.aggressor.job(self.scenario, nodes, call, until_ps)
            took = self._simulated_ns(case, host, repeats, [job], call + 1, until_ps)
            if took >= 0:
                return took
        raise MachineError(
            f"{case.operation} {case.algorithm}: takes over {_LONGER[-1]} times as long as alone "
            "beside the aggressor, and is not simulated to its end"
        )

    def job(self, case: Case, host: HostModel, repeats: int | None = None) -> dict[str, Any]:
        """The engine's form of the job that calls a collective once.

        Args:
            case: Which, where.
            host: Parameters of the hosts.
            repeats: How often what repeats in it is done; ``None``: to the end.
        """
        return _job(case, self._before_ns(case, host), repeats)

    def _before_ns(self, case: Case, host: HostModel) -> float:
        library = case.library or self._library.rstrip("-.0123456789").removeprefix("cray-")
        return host.before_ns(
            case.operation,
            case.algorithm,
            case.ranks,
            case.sent,
            library,
            case.segment,
            case.copies,
        )

    def _simulated_ns(
        self,
        case: Case,
        host: HostModel,
        repeats: int | None,
        beside: Sequence[dict[str, Any]] = (),
        seed: int | None = None,
        until_ps: float | None = None,
    ) -> float:
        """Simulates a call, or this many times of what repeats in it, beside other jobs.

        Returns:
            Its time; below 0 if it has not ended at `until_ps`, where others never do.
        """
        form = copy.copy(self._form)
        if seed is not None:
            form["seed"] = seed
        form["mpi"] = copy.deepcopy(form["mpi"])
        form["network"] = {**form["network"], "nic": dict(form["network"]["nic"])}
        blocking = self.scenario.machine and self.scenario.machine.blocking_eager_limit
        limit = form["mpi"].get("eager_limit_bytes")
        if blocking and sends_without_waiting(case):
            host = host if limit is None else host.without_copies(limit, int(blocking))
        elif blocking:
            form["mpi"]["eager_limit_bytes"] = limit = int(blocking)
        host = host.in_operation(case.operation, case.protocol, case.message)
        if limit is not None:
            host = host.with_registration(
                case.operation, case.algorithm, case.ranks, case.sent, case.segment, limit
            )
        host.put_into(form, case.size)
        segment = case.segment
        if segment is None and case.algorithm == "bine-segmented":
            segment = case.size
        if segment is not None:
            form["mpi"]["collectives"]["segment_bytes"] = segment
        topology = form["network"]["topology"]
        if self._boxed and not beside:
            size, inside = box(topology["size"], topology["wrap"], case.nodes)
            form["network"]["topology"] = {**topology, "size": size}
            case = replace(case, nodes=tuple(inside))
        own = self.job(case, host, repeats)
        own["start_ps"] = others.WARM_PS if beside else 0
        form["jobs"] = [own, *beside]
        if case.algorithm == "rounds" and self.engine == "flow":
            part_ps = case.message * (host.rank_byte_ns or 0.0) * 1_000 / 16
            settle_ps = min(max(SETTLED_PS, round(part_ps)), SETTLED_LONG_PS)
            form["simulation"] = {"settle_ps": settle_ps, **form["simulation"]}
        if until_ps is not None:
            form["simulation"] = {**form["simulation"], "warmup_ps": 0}
            form["simulation"]["duration_ps"] = int(until_ps)
        try:
            tables = _engine.run(json.dumps(form))
        except _engine.SpecError as error:
            path, message = error.args[0], error.args[1]
            if path.startswith("job"):
                raise MachineError(f"{case.operation} {case.algorithm}: {message}") from None
            raise self.scenario.error([Problem(*error.args)]) from None
        except _engine.SimulationError as error:
            raise SimulationError(str(error)) from None
        except _engine.InternalError as error:
            raise InternalError(str(error)) from None
        return float(tables["jobs"]["end_ps"][0] - own["start_ps"]) / 1_000


def predict_collective(
    machine: ScenarioLike,
    hosts: str | Sequence[str],
    collective: str,
    size: str | int | Sequence[str | int],
    *,
    algorithm: str | Sequence[str] = (),
    per_node: int = 1,
    engine: names.Engine | None = None,
    background: str | os.PathLike[str] | None = None,
    calls: int = 100,
    beside: Aggressor | None = None,
    set: Mapping[str, Any] | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int, str], object] | bool = False,
) -> list[Prediction]:
    """Predicts how long a collective takes on hosts of a real machine.

    Args:
        machine: Scenario with the machine's hosts, such as ``examples/machines/leonardo.toml``.
        hosts: The allocation in rank order: names, a list such as ``n[0-3,7]``, or a file.
        collective: Name of the operation, as MPI or a benchmark has it.
        size: Of a rank's vector, all blocks together: bytes, or a text such as ``8MiB``; or
            several.
        algorithm: Name of an algorithm, ours or a benchmark's, ``auto`` for the rules of the
            machine's library; or several. Default: all of the collective.
        per_node: Ranks on each host.
        engine: Instead of the machine's.
        background: Lists of the hosts that real jobs had, to simulate calls beside such jobs.
        calls: How many calls to simulate beside them.
        beside: A job that sends as much as it can, to predict how much longer calls take beside it.
        set: Keys of the machine's scenario and their values.
        out: Directory for the predictions as tables, which must not exist yet, or be empty.
        progress: Whether to show how far it is, or a function that is called with the predictions
            done, all, and the name of the next.

    Returns:
        Size after size in the order given: one per algorithm, in the order given; of all
        algorithms, the fastest first.

    Raises:
        MachineError: If a host, size, collective or algorithm is none that is possible.
        ScenarioError: If the machine cannot be simulated.
        OutputError: If the directory holds something or cannot be written.
    """
    from odonata.progress import PredictionsBar, following

    scenario = as_scenario(machine, set)
    predictor = Predictor(scenario, engine=engine, jobs=background, calls=calls, aggressor=beside)
    listed = read_hosts(hosts) if isinstance(hosts, str) else list(hosts)
    sizes = [size] if isinstance(size, (str, int)) else size
    counts = [_bytes(one) for one in sizes]
    operation = operation_of(collective)
    first = predictor.case(listed, operation, "auto", counts[0], per_node)
    wanted = [algorithm] if isinstance(algorithm, str) else list(algorithm)
    rows = [
        [
            predictor.case(listed, operation, name, count, per_node)
            for name in wanted or predictor.candidates(operation, first.ranks)
        ]
        for count in counts
    ]
    found: list[Prediction] = []
    with (
        nullcontext() if out is None else Claim(Path(out)) as held,
        following(progress, PredictionsBar, "Predicting") as report,
    ):
        total = sum(map(len, rows))
        for row in rows:
            of_size: list[Prediction] = []
            for case in row:
                if report is not None:
                    done = len(found) + len(of_size)
                    report(done, total, f"{case.algorithm}, {case.size:,} B")
                of_size.append(predictor.predict(case))
            found += of_size if wanted else sorted(of_size, key=lambda one: one.median_ns)
        if held is not None:
            file = None if background is None else os.fspath(background)
            words = [] if beside is None else beside.words
            save(Predicted(scenario, listed, wanted, file, calls, words, found), held)
    return found


def _bytes(given: str | int) -> int:
    """A size: bytes, or a quantity with unit."""
    text = str(given)
    if text.strip().isdecimal():
        return int(text)
    try:
        return int(Size(text))
    except UnitError:
        raise MachineError(
            f'--bytes: found "{text}"; allowed: a number of bytes, or a size such as 8MiB'
        ) from None


def check(case: Case) -> None:
    """Whether a case can be carried out.

    Raises:
        MachineError: If it cannot; says what is allowed.
    """
    if case.size < 1:
        raise MachineError(f"bytes: found {case.size}; allowed: at least 1")
    if case.ranks < 2:
        raise MachineError(f"hosts: found {case.ranks} rank; allowed: at least 2")
    if case.message < 1:
        raise MachineError(
            f"bytes: found {case.size} for {case.ranks} ranks; allowed for {case.operation}: at "
            f"least {case.ranks}, a byte for each of them"
        )
    if not possible(case.operation, case.algorithm, case.ranks):
        others = [name for name in algorithms_of(case.operation) if name != case.algorithm]
        others = [name for name in others if possible(case.operation, name, case.ranks)]
        raise MachineError(
            f"{case.operation} {case.algorithm}: found {case.ranks} ranks; allowed: a power of two "
            f"of them. For {case.ranks} ranks there are {', '.join(others)}"
        )


def possible(operation: str, algorithm: str, ranks: int) -> bool:
    """Whether an algorithm is defined for a number of ranks, as libraries have it."""
    if (operation, algorithm) in (("allreduce", "bine-latency"), ("allreduce", "bine-segmented")):
        return True
    if algorithm == "bine-blocks":
        return ranks % 2 == 0
    needs = (operation, algorithm) in POWER_OF_TWO or algorithm.startswith("bine")
    return not needs or ranks & (ranks - 1) == 0


def candidates(operation: str, ranks: int) -> list[str]:
    """Algorithms of an operation that are defined for a number of ranks."""
    return [
        name
        for name in algorithms_of(operation)
        if name not in OF_NCCL
        and possible(operation, name, ranks)
        and not (name in _OF_OTHERS and ranks > _MOST_OF_OTHERS)
    ]


#: Algorithms that are put together from those that the library chooses for two operations, by
#: segments of its choice: not compared on more ranks than this, as they take minutes there.
_OF_OTHERS, _MOST_OF_OTHERS = ("reduce-broadcast", "gather-broadcast", "reduce-scatter"), 256


def sends_without_waiting(case: Case) -> bool:
    """Whether its ranks send by ``MPI_Isend``, and do not wait for each send by itself."""
    return (case.operation, case.algorithm) in _WITHOUT_WAITING


def messages(case: Case) -> float:
    """About how many a call has, of what repeats; 0 if nothing does."""
    if case.algorithm == "bine-segmented":
        return float(case.ranks * sum(_segments(case)))
    if case.algorithm == "double-tree":
        return float(repeated(case)[0] * _OF_CHUNKS * case.ranks)
    per_pair = MESSAGES_PER_PAIR.get((case.operation, case.algorithm), 0.0)
    return per_pair * case.ranks * (case.ranks - 1)


def repeated(case: Case) -> tuple[int, int]:
    """How often a call does the same, and how many messages all ranks send each time at most.

    Rounds around a ring or between pairs, partners of an exchange with all, and the messages of
    a round that sends every block, or every segment, on its own. ``(1, 0)``: nothing repeats.
    """
    ranks = case.ranks
    per_pair = MESSAGES_PER_PAIR.get((case.operation, case.algorithm), 0.0)
    if case.algorithm == "bine-segmented":
        return max(_segments(case)), ranks * max(int(math.log2(ranks)), 1)
    if case.algorithm == "double-tree":
        return max(-(-case.size // (case.segment or _OF_TREES)), 1), _OF_CHUNKS * ranks
    if not per_pair:
        return 1, 0
    if case.algorithm in _BLOCK_AFTER_BLOCK:
        rounds = max(int(math.log2(ranks)), 1)
        return max(ranks // 2, 1), ranks * rounds
    times = ranks // 2 if case.algorithm == "neighbour-exchange" else ranks - 1
    return max(times, 1), max(round(per_pair * ranks * ranks / max(times, 1)), 1)


def repeated_within(case: Case, most: int) -> int:
    """What is done of what repeats, if each round does it at most so often."""
    if case.algorithm == "bine-segmented":
        return sum(min(count, most) for count in _segments(case))
    if case.algorithm in _BLOCK_AFTER_BLOCK:
        return sum(min(blocks, most) for blocks in _halvings(case.ranks))
    return min(repeated(case)[0], most)


#: Messages of a rank for a chunk along each of four trees, up and down, and bytes of those of
#: NCCL's Simple.
_OF_CHUNKS, _OF_TREES = 8, 2 * 1024 * 1024


def _halvings(ranks: int) -> list[int]:
    """Blocks of each round in which half of what is left goes, the most first: one less in all.

    For Sparbit and Bine among other numbers than powers of two about as many.
    """
    found = []
    while ranks > 1:
        found.append(ranks // 2)
        ranks -= ranks // 2
    return found


def _segments(case: Case) -> list[int]:
    """Segments of each round of a segmented reduce-scatter."""
    stay = _power_of_two(case.ranks)
    segment = case.segment or case.size
    return [
        max(-(-(case.size >> (power + 1)) // segment), 1) for power in range(int(math.log2(stay)))
    ]


def _power_of_two(ranks: int) -> int:
    """The largest up to a number of ranks."""
    return 1 << (ranks.bit_length() - 1)


def _job(case: Case, before_ns: float, repeats: int | None) -> dict[str, Any]:
    """The engine's form of the job that calls the collective once."""
    return {
        "name": case.operation,
        "nodes": len(case.nodes),
        "ranks": None,
        "ranks_per_node": case.per_node,
        "start_ps": 0,
        "idle": False,
        "placement": {"policy": "explicit", "nodes": list(case.nodes)},
        "groups": None,
        "mapping": {"policy": "linear"},
        "load": {
            "motif": {
                "kind": {
                    "name": "collective",
                    "operation": case.operation,
                    "message_bytes": case.message,
                    "root": 0,
                    "algorithm": case.algorithm,
                    **({} if repeats is None else {"repeats": repeats}),
                },
                "iterations": 1,
                "compute_ps": round(before_ns * 1_000),
            }
        },
    }
