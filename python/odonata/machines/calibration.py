"""Fits what the hosts of a machine take to measured collectives.

The few free parameters are found by least squares on the logarithms of predicted over measured
times, by the same simulation that predicts. Only a part of the measurements is used, the same for
every machine (:func:`calibration_part`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from odonata import names
from odonata.errors import MachineError
from odonata.machines.hostmodel import FRESH_ABOVE, Costs, HostModel, Within, of_gpus
from odonata.machines.intervals import FEWEST, Percentiles, errors_of
from odonata.machines.measurements import Measurement
from odonata.machines.names import measured_name
from odonata.machines.prediction import MESSAGES_PER_PAIR, Case, Predictor, messages
from odonata.scenario import Scenario

KIB, MIB = 1024, 1024 * 1024

#: Sizes of messages at which what they cost a rank is free; in between it goes in straight lines.
MESSAGE_SIZES = (64, 256, 2 * KIB, 16 * KIB, 128 * KIB, MIB, 8 * MIB, 64 * MIB)
#: Messages up to this size go by way of buffers: libraries' limits are of this order.
BUFFERED = 16 * KIB
#: Sizes of vectors at which the time to combine a byte is free.
COMBINE_SIZES = (64 * KIB, 4 * MIB, 64 * MIB)
#: Sizes of vectors at which the time to copy a byte is free.
COPY_SIZES = (MIB, 64 * MIB)
#: Sizes of vectors at which the spread of calls is said.
SPREAD_SIZES = (KIB, 16 * KIB, 128 * KIB, MIB, 16 * MIB, 64 * MIB)

#: Up to this size everything is used for calibration, of what is longer only the largest size up to
#: each of these.
SMALL, LARGE = MIB, (8 * MIB, 64 * MIB)
#: Operations that calibrate nodes with several ranks.
SHARED_OPERATIONS = ("allgather", "allreduce", "broadcast")
#: Algorithms of more messages are not used for that.
MOST_MESSAGES = 60_000
#: Sizes that predictions are compared at; shorter ones time little but the benchmark's loop.
SHORTEST, LONGEST = 64, 128 * MIB


def _size(size: int) -> str:
    for unit, factor in (("MiB", MIB), ("KiB", KIB)):
        if size % factor == 0:
            return f"{size // factor} {unit}"
    return f"{size} B"


@dataclass(frozen=True)
class Free:
    """A free parameter; the fit is for its logarithm.

    Attributes:
        name: In words.
        unit: Of its value.
        start: Where the fit starts, and the middle of what is taken to be likely beforehand.
        width: Standard deviation of that, of the natural logarithm.
    """

    name: str
    unit: str
    start: float
    width: float


@dataclass(frozen=True)
class Form:
    """Which parameters are free, and what they make of the hosts.

    Attributes:
        name: In words.
        free: The parameters.
        host_model: The hosts that their values stand for.
    """

    name: str
    free: tuple[Free, ...]
    host_model: Callable[[Sequence[float]], HostModel]


def _by_size(values: Sequence[float]) -> HostModel:
    rest = list(values)
    overhead, delay, call, entry, moved, new, register, register_byte = rest[:8]
    steps = rest[8 : 8 + len(MESSAGE_SIZES)]
    combine = rest[8 + len(MESSAGE_SIZES) : -len(COPY_SIZES)]
    busy, delays = message_costs(np.cumsum(steps).tolist(), moved)
    return HostModel(
        send_ns=overhead,
        receive_ns=overhead,
        delay_ns=delay,
        times=busy,
        delays=delays,
        call_ns=call,
        entry_ns=entry,
        fresh_byte_ns=new,
        register_ns=register,
        register_byte_ns=register_byte,
        combine=tuple(zip(COMBINE_SIZES, combine, strict=True)),
        copy=tuple(zip(COPY_SIZES, rest[-len(COPY_SIZES) :], strict=True)),
    )


def message_costs(
    costs: Sequence[float], moved: float
) -> tuple[tuple[tuple[int, float], ...], tuple[tuple[int, float], ...]]:
    """What of the costs of messages keeps ranks busy, and what delays messages.

    Libraries move short messages into and out of buffers, at a time per byte; what they cost beyond
    that, of buses and interfaces, keeps nobody. What messages beyond :data:`BUFFERED` cost more
    than one of that size is their rate, which they share with others of the rank.

    Args:
        costs: Of either rank, by :data:`MESSAGE_SIZES`, growing.
        moved: ns for a byte.

    Returns:
        Points of what keeps a rank busy, and of the delay.
    """
    busy, delays, longest = [], [], 0.0
    for size, cost in zip(MESSAGE_SIZES, costs, strict=True):
        if size <= BUFFERED:
            busy.append((size, min(cost, size * moved)))
            # Either rank spends it, the message once.
            longest = max(longest, 2 * (cost - busy[-1][1]))
            delays.append((size, longest))
            last, within = cost, busy[-1][1]
        else:
            busy.append((size, within + cost - last))
    return tuple(busy), (*delays, (MESSAGE_SIZES[-1], longest))


#: Costs by size. Starts are of the order of what is published for such nodes: a core sends some
#: eight million short messages in a second (Mellanox, by insideHPC, 30 June 2010), and ping-pongs
#: take one to two microseconds between neighbours; messages at 10 to 25 GB/s from the interface and
#: back, sums at 5 GB/s, copies at 10 GB/s; half a microsecond for a fault of a page of 4 KiB, as
#: much to register it, and some 50 µs for the calls that register it and take that back.
BY_SIZE = Form(
    "by size",
    (
        Free("overhead of a message", "ns", 150.0, 0.7),
        Free("delay of a message", "ns", 1000.0, 1.0),
        Free("call", "ns", 500.0, 1.5),
        Free("late entry", "ns", 300.0, 1.0),
        Free("move of a short message", "ns/B", 0.1, 0.7),
        Free("new page", "ns/B", 0.15, 1.0),
        Free("registration", "ns", 50_000.0, 1.0),
        Free("registered byte", "ns/B", 0.1, 1.0),
        *(
            Free(f"message of {_size(size)}", "ns more", 20 + (size - before) / 50, 1.5)
            for before, size in itertools.pairwise((0, *MESSAGE_SIZES))
        ),
        *(Free(f"combine, vector of {_size(size)}", "ns/B", 0.2, 1.0) for size in COMBINE_SIZES),
        *(Free(f"copy, vector of {_size(size)}", "ns/B", 0.1, 1.0) for size in COPY_SIZES),
    ),
    _by_size,
)


def shared_form(alone: HostModel) -> Form:
    """Costs by size on nodes that several ranks share.

    What messages, sums and copies take by size is what they take with one rank a node times a
    factor each, for messages one for those that go by way of buffers (up to :data:`BUFFERED`), one
    for what longer ones cost more and one for the longest. The overhead of a message is that of one
    rank a node: the library is the same, and so are the cores. Free besides are the delay of a
    message, the late entry, what another receiver costs, and within a node, where likely is what
    shared memory takes: some 50 ns to begin and to end a message, 300 ns between two cores, 12 GB/s
    for all ranks together.

    Args:
        alone: The hosts with one rank a node, calibrated.
    """
    free = (
        Free("delay of a message", "ns", max(alone.delay_ns, 1.0), 1.0),
        Free("late entry", "ns", max(alone.entry_ns, 1.0), 1.0),
        Free("overhead of another receiver", "ns", 100.0, 1.0),
        *(
            Free(f"{what}, to one rank a node", "x", 1.0, 1.0)
            for what in (
                "short messages",
                "longer messages",
                "longest messages",
                "combining",
                "copying",
            )
        ),
        Free("overhead within a node", "ns", 50.0, 0.7),
        Free("latency within a node", "ns", 300.0, 0.7),
        Free(_BYTE_WITHIN, "ns/B", 1 / 12, 1.0),
    )

    def host_model(values: Sequence[float]) -> HostModel:
        delay, entry, redirect, *factors, within, latency, byte = values
        short, longer, longest, combine, copy = factors
        return replace(
            alone,
            delay_ns=delay,
            entry_ns=entry,
            redirect_ns=redirect,
            times=_scaled(alone.times, short, longer, longest),
            delays=tuple((size, time * short) for size, time in alone.delays),
            # The factors below have what is new in each call.
            fresh_byte_ns=0.0,
            register_ns=0.0,
            register_byte_ns=0.0,
            combine=tuple((size, time * combine) for size, time in alone.combine),
            copy=tuple((size, time * copy) for size, time in alone.copy),
            within=Within(within, within, (), latency, byte),
            rank_byte_ns=None,
        )

    return Form("by size, several ranks a node", free, host_model)


#: Sizes of messages of NCCL, on the wire, at which what they cost a rank is free: of the protocols
#: Simple and LL. Between them, and down to nothing, it goes in straight lines. The last is the
#: longest that NCCL sends; longer ones here stand for several, which cost as they are under way.
SIMPLE_SIZES, LL_SIZES = (64 * KIB, 512 * KIB), (64 * KIB,)
_SEVERAL = 1024 * MIB
_BYTE_WITHIN = "byte within a node"


def _gpu(values: Sequence[float]) -> HostModel:
    rest = iter(values)

    def take(sizes: Sequence[int]) -> tuple[tuple[int, float], ...]:
        steps = [next(rest) for _ in sizes]
        costs = np.cumsum(steps).tolist()
        return (*zip(sizes, costs, strict=True), (_SEVERAL, costs[-1]))

    call, delay, send, receive, send_ll, receive_ll = (next(rest) for _ in range(6))
    simple, ll = take(SIMPLE_SIZES), take(LL_SIZES)
    exchange_send, exchange_receive, within, latency, byte = (next(rest) for _ in range(5))
    rank_byte, exchange_byte = next(rest), next(rest)
    return HostModel(
        send_ns=send,
        receive_ns=receive,
        delay_ns=delay,
        times=simple,
        call_ns=call,
        combine=(),
        copy=(),
        within=Within(within, within, (), latency, byte),
        rank_byte_ns=rank_byte,
        exchange_byte_ns=exchange_byte,
        exchange=Costs(exchange_send, exchange_receive, delay, ()),
        ll=Costs(send_ll, receive_ll, delay, ll),
    )


#: Costs of nodes of GPUs with NCCL: a call, messages between nodes and within them. A rank's proxy,
#: a thread that does all of its sending and receiving between nodes, is busy with each message;
#: with those of LL, whose flags it looks at and which it keeps in the processor's memory, for
#: another time than with those of Simple. Likely beforehand are what NCCL's tuner takes for a call
#: and its steps (`src/graph/tuning.cc`: 7 to 14 µs, 3 to 14 µs between nodes, 1 to 4 µs over
#: NVLink), 20 GB/s of an interface and 5 GB/s for a rank that sends to each by itself.
GPUS = Form(
    "GPUs",
    (
        Free("call", "ns", 10_000.0, 0.7),
        Free("delay of a message", "ns", 1_000.0, 1.0),
        Free("send of a message", "ns", 1_500.0, 1.0),
        Free("receive of a message", "ns", 1_500.0, 1.0),
        Free("send of a message, LL", "ns", 1_500.0, 1.0),
        Free("receive of a message, LL", "ns", 1_500.0, 1.0),
        *(Free(f"message of {_size(size)}", "ns more", 4_000.0, 1.0) for size in SIMPLE_SIZES),
        *(Free(f"message of {_size(size)}, LL", "ns more", 4_000.0, 1.0) for size in LL_SIZES),
        Free("send of a message to each", "ns", 2_500.0, 1.0),
        Free("receive of a message from each", "ns", 2_500.0, 1.0),
        Free("overhead within a node", "ns", 300.0, 1.0),
        Free("latency within a node", "ns", 1_000.0, 0.7),
        Free(_BYTE_WITHIN, "ns/B", 1 / 200, 1.0),
        Free("byte of a rank", "ns/B", 1 / 20, 0.5),
        Free("byte of a rank that sends to each", "ns/B", 0.2, 0.7),
    ),
    _gpu,
)


def _with_gpu_links(form: Form, scenario: Scenario) -> Form:
    """Takes the scenario's bandwidth between the GPUs of a node to be likely, within a half.

    It is in data sheets, and measurements say little of it: collectives between nodes seldom wait
    for it.
    """
    shared = scenario.machine.shared if scenario.machine else None
    if shared is None:
        return form
    byte = 1e9 / int(shared.loopback_bandwidth)
    free = (
        replace(one, start=byte, width=0.5) if one.name == _BYTE_WITHIN else one
        for one in form.free
    )
    return replace(form, free=tuple(free))


def gpu_part(measurements: Iterable[Measurement]) -> list[Measurement]:
    """What calibrates nodes of GPUs: out of place, 64 KiB to 1 GiB.

    Of the numbers of nodes the smaller half (the middle one, too).
    """
    rows = gpu_rows(measurements)
    counts = sorted({row.nodes for row in rows})
    few = set(counts[: (len(counts) + 1) // 2])
    return [row for row in rows if row.nodes in few]


def gpu_rows(measurements: Iterable[Measurement], shortest: int = 64 * KIB) -> list[Measurement]:
    """What nccl-tests measured out of place, on known hosts, of 64 KiB to 1 GiB."""
    return [
        row
        for row in measurements
        if row.library == "nccl"
        and row.name == "out of place"
        and row.hosts
        and shortest <= row.bytes <= 1024 * MIB
    ]


def _inline(
    host: HostModel, few: set[int], rows: Iterable[Measurement], predictor: Predictor
) -> tuple[HostModel, tuple[Parameter, ...]]:
    """With what messages cost that are copied into their interface's command, if there are any.

    Nothing else is fitted to all-to-alls of as short blocks. Each says how much longer it took than
    the shortest one of the same run whose messages are not copied; the middle of them counts.

    Args:
        host: Calibrated otherwise.
        few: Numbers of nodes that calibrate.
        rows: Measurements.
        predictor: Predicts them.
    """
    shared = predictor.scenario.machine and predictor.scenario.machine.shared
    table = shared and shared.exchange_inline
    if not table:
        return host, ()
    up_to, stated = int(table.up_to), int(table.overhead) / 1_000
    runs: dict[Any, list[Measurement]] = {}
    for row in sorted(gpu_rows(rows, shortest=1), key=lambda row: row.bytes):
        if row.operation == "alltoall" and row.nodes in few:
            runs.setdefault((row.source, row.test, row.hosts), []).append(row)
    found = []
    for run in runs.values():
        short = [row for row in run if row.bytes <= up_to * row.ranks]
        whole = run[len(short) : len(short) + 1]
        for row in short if whole else ():
            case = _case(predictor, row)
            copied, not_copied = (
                predictor.time_ns(case, replace(host, inline=(up_to, cost)))
                for cost in (10_000.0, 0.0)
            )
            longer = max(row.median_ns - whole[0].median_ns, 0.0)
            found.append(10_000.0 * longer / max(copied - not_copied, 1.0))
    if not found:
        return replace(host, inline=(up_to, stated)), ()
    low, middle, high = np.percentile(found, (16, 50, 84)).tolist()
    known = Parameter("copy of a short message to each", "ns", middle, low, high, True)
    return replace(host, inline=(up_to, middle)), (known,)


def _scaled(
    points: Sequence[tuple[int, float]], short: float, longer: float, longest: float
) -> tuple[tuple[int, float], ...]:
    """Each point's rise over the one before it, times the factor of its size."""
    found, before, time = [], 0.0, 0.0
    for place, (size, cost) in enumerate(points):
        last = place == len(points) - 1
        factor = short if size <= BUFFERED else longest if last else longer
        time += factor * (cost - before)
        before = cost
        found.append((size, time))
    return tuple(found)


def _with_interfaces(form: Form, scenario: Scenario, shared: bool) -> Form:
    """The same with what a scenario says of a rank's interfaces and buffers."""
    machine = scenario.machine
    if not shared:
        return replace(form, host_model=lambda values: form.host_model(values).of_machine(scenario))
    table = machine.shared if machine else None
    if table is None or table.rank_bandwidth is None:
        return form
    byte_ns = 1e9 / int(table.rank_bandwidth)
    return replace(
        form,
        host_model=lambda values: replace(form.host_model(values), rank_byte_ns=byte_ns),
    )


def _hockney(values: Sequence[float]) -> HostModel:
    start, byte, combine = values
    size = 64 * MIB
    # Half of a message's time for its sender, half for its receiver.
    return HostModel(
        send_ns=start / 2,
        receive_ns=start / 2,
        delay_ns=0.0,
        times=((size, size * byte / 2),),
        call_ns=0.0,
        combine=((1, combine),),
        copy=(),
    )


#: Hockney's model (1994): a message takes a start and a time for each byte; here with a time for
#: each byte that is combined. For comparison, on a network that takes no time
#: (:func:`without_network`).
HOCKNEY = Form(
    "Hockney",
    (
        Free("start of a message", "ns", 2000.0, 1.0),
        Free("byte", "ns/B", 0.1, 1.0),
        Free("combine", "ns/B", 0.2, 1.0),
    ),
    _hockney,
)


def without_network(scenario: Scenario) -> Scenario:
    """A machine whose messages take its hosts time, and its network none to speak of."""
    data = scenario.to_dict()
    network = data["network"]
    swift = {"bandwidth": "100 TB/s", "latency": "1 ps"}
    network["links"] = {
        name: {**network.get("links", {}).get(name, {}), **swift}
        for name in scenario.network.link_classes()
    }
    network["router"] = {"delay": "0 ns"}
    network["nic"] = {"loopback_bandwidth": "100 TB/s", "loopback_latency": "1 ps"}
    mpi = data.get("mpi", {})
    mpi.pop("eager_limit", None)
    for key in ("shared", "blocking_eager_limit"):
        data.get("machine", {}).pop(key, None)
    data["job"] = []
    return Scenario.from_dict(data, file=scenario.file, directory=scenario.directory)


# --- Which measurements -------------------------------------------------------------------


def comparable(measurements: Iterable[Measurement]) -> list[Measurement]:
    """Measurements whose algorithm is named and simulated, on known hosts, of 64 B to 128 MiB."""
    return [
        row
        for row in measurements
        if row.algorithm not in (None, "auto")
        and row.hosts
        and SHORTEST <= row.bytes <= LONGEST
        and row.ranks > 1
    ]


def calibration_part(measurements: Iterable[Measurement]) -> list[Measurement]:
    """The part of the measurements that a calibration uses: small sizes and few nodes.

    Of each operation's numbers of nodes the smaller half (the middle one, too), one rank on each;
    sizes up to 1 MiB, the largest one up to 8 MiB and the largest one up to 64 MiB. Where a
    benchmark carried an algorithm out itself that is used, and the library's own of the same name
    is not, as that may choose another one. Only algorithms all of whose messages are simulated.
    """
    return _small_part(row for row in comparable(measurements) if row.per_node == 1)


def shared_part(measurements: Iterable[Measurement]) -> list[Measurement]:
    """The part that a calibration of nodes with several ranks uses, by the same rule.

    Of the operations one that combines, one of blocks and one from a root
    (:data:`SHARED_OPERATIONS`), so that the others judge it where there is one number of nodes
    only; no algorithms of more than :data:`MOST_MESSAGES` messages, or of segments, for the time
    that they take.
    """
    rows = (row for row in comparable(measurements) if row.per_node > 1)
    return _small_part(
        row
        for row in rows
        if row.operation in SHARED_OPERATIONS
        and MESSAGES_PER_PAIR.get((row.operation, row.algorithm or ""), 0.0) * row.ranks**2
        <= MOST_MESSAGES
        and row.algorithm != "bine-segmented"
    )


def _small_part(measurements: Iterable[Measurement]) -> list[Measurement]:
    rows = list(measurements)
    few = set()
    for operation in {row.operation for row in rows}:
        counts = sorted({row.nodes for row in rows if row.operation == operation})
        few |= {(operation, count) for count in counts[: (len(counts) + 1) // 2]}
    rows = [row for row in rows if (row.operation, row.nodes) in few]
    tests = {(row.source, row.test) for row in rows}
    large = {
        (*test, max(sizes))
        for test in tests
        for limit in LARGE
        if (
            sizes := [
                row.bytes for row in rows if (row.source, row.test) == test and row.bytes <= limit
            ]
        )
    }
    own = {(row.source, row.test, row.algorithm) for row in rows if row.library == "point-to-point"}
    return [
        row
        for row in rows
        if measured_name(row.operation, row.name).exact
        and (row.bytes <= SMALL or (row.source, row.test, row.bytes) in large)
        and (row.library == "point-to-point" or (row.source, row.test, row.algorithm) not in own)
    ]


def judged_part(measurements: Iterable[Measurement]) -> list[Measurement]:
    """What predictions are judged by: numbers of nodes, or of ranks, that no calibration has seen.

    With several ranks a node: operations that none has seen. Where all measurements have the same
    number of nodes: the sizes that it has not seen.
    """
    rows = comparable(measurements)
    used = calibration_part(rows)
    shared = {row.operation for row in shared_part(rows)}
    few = {(row.operation, row.nodes) for row in used}
    unseen = [
        row
        for row in rows
        if (row.operation, row.nodes) not in few
        and not (row.per_node > 1 and row.operation in shared)
    ]
    if unseen:
        return unseen
    sizes = {row.bytes for row in used}
    return [row for row in rows if row.bytes not in sizes]


# --- Fit ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Parameter:
    """A calibrated parameter.

    Attributes:
        name: In words.
        unit: Of its value.
        value: Most likely.
        low: Lower end of the interval that holds it with 68 %.
        high: Upper end.
        identified: Whether the measurements say more of it than was likely beforehand: they narrow
            it to less than half.
    """

    name: str
    unit: str
    value: float
    low: float
    high: float
    identified: bool


@dataclass(frozen=True)
class Calibration:
    """What a calibration found.

    Attributes:
        machine: Its name.
        engine: What simulated.
        parameters: In the order of their form.
        host_model: The same as parameters of hosts.
        spread: Size of a vector, p10 and p90 over the median.
        errors: Size of a vector, 10th and 90th percentile of measured over predicted medians: of
            measurements that it did not use, or of what each would be had it been left out where
            too few others are there.
        checked: How many measurements it predicted that it did not use.
        used: Measurements that it used.
        predicted_ns: Their times with the parameters.
        left_out_ns: What would be predicted of each had it been left out (linearised at the fit).
        evaluations: Simulations.
    """

    machine: str
    engine: str
    parameters: tuple[Parameter, ...]
    host_model: HostModel
    spread: tuple[Percentiles, ...]
    errors: tuple[Percentiles, ...]
    checked: int
    used: tuple[Measurement, ...]
    predicted_ns: tuple[float, ...]
    left_out_ns: tuple[float, ...]
    evaluations: int

    def fit_errors(self) -> np.ndarray:
        """Predicted over measured, less 1, of what was used. Shape: measurements."""
        return np.array(self.predicted_ns) / [row.median_ns for row in self.used] - 1

    def left_out_errors(self) -> np.ndarray:
        """The same of what would be predicted of each had it been left out."""
        return np.array(self.left_out_ns) / [row.median_ns for row in self.used] - 1


def calibrate(
    scenario: Scenario,
    measurements: Iterable[Measurement],
    *,
    form: Form | None = None,
    shared: bool = False,
    engine: names.Engine | None = None,
    jobs: int = 1,
    progress: Callable[[str], object] | None = None,
) -> Calibration:
    """Fits the parameters of a machine's hosts.

    Args:
        scenario: Of the machine; what it says of its hosts' times does not count.
        measurements: Any; :func:`calibration_part` or :func:`shared_part` of them is used.
        form: Which parameters are free. Default: costs by size.
        shared: Whether it is for nodes that several ranks share; what the scenario says of one
            rank a node is then taken to be likely beforehand.
        engine: What simulates; default: the scenario's.
        jobs: Processes.
        progress: Called with how far it is.

    Raises:
        MachineError: If there are too few measurements, or on hosts that the machine has not.
    """
    from scipy.optimize import least_squares

    rows = list(measurements)
    used = shared_part(rows) if shared else calibration_part(rows)
    if of_gpus(scenario):
        used, form = gpu_part(rows), form or _with_gpu_links(GPUS, scenario)
    if form is None:
        form = shared_form(HostModel.of(scenario)) if shared else BY_SIZE
        form = _with_interfaces(form, scenario, shared)
    free = form.free
    if len(used) < 2 * len(free):
        raise MachineError(
            f"measurements: found {len(used)} that a calibration can use; allowed: at least "
            f"{2 * len(free)}, {_usable(scenario, rows, shared)}"
        )
    predictor = Predictor(scenario, engine=engine)
    cases = [_case(predictor, row) for row in used]
    with ProcessPoolExecutor(jobs, initializer=_begin, initargs=(scenario, engine, cases)) as pool:
        model = _Residuals(form, used, lambda hosts: list(pool.map(_times, hosts)), progress)
        # The parameters of the fit are in widths from where it starts: all of one order.
        fit = least_squares(
            model.residuals,
            np.zeros(len(free)),
            jac=model.jacobian,
            bounds=(-4.0, 4.0),
            loss="soft_l1",
            f_scale=2.0,
            ftol=1e-2,
            max_nfev=14,
        )
        slopes = model.differences(fit.x)
        found = model.logarithms(fit.x)
    inner = slopes[: len(cases)]
    # What the robust loss counts each residual by.
    off = (found - model.measured) / SIGMA
    weights = 1 / np.sqrt(1 + (off / 2.0) ** 2)
    information = (inner.T * weights) @ inner + np.eye(len(free))
    covariance = np.linalg.inv(information)
    scale = max(1.0, float(np.sqrt(np.average(off**2, weights=weights))))
    deviations = np.sqrt(np.diag(covariance)) * scale * model.widths
    leverage = np.einsum("ij,jk,ik->i", inner, covariance, inner) * weights
    left_out = model.measured + (found - model.measured) / np.clip(1 - leverage, 0.05, None)
    values = model.values(fit.x)
    host_model, inline = _inline(
        form.host_model(values.tolist()), {row.nodes for row in used}, rows, predictor
    )
    left_out_ns = np.exp(left_out)
    checked = _unseen(rows, used, predictor, shared=shared)
    if len(checked) < FEWEST:
        checked, predicted, pairs = [], [], zip(used, left_out_ns, strict=True)
    else:
        cases = [_case(predictor, row) for row in checked]
        with ProcessPoolExecutor(
            jobs, initializer=_begin, initargs=(scenario, engine, cases)
        ) as pool:
            predicted = list(pool.map(partial(_time, host_model), range(len(cases))))
        pairs = zip(checked, predicted, strict=True)
    return Calibration(
        machine=predictor.name,
        engine=predictor.engine,
        parameters=(
            *(
                Parameter(
                    one.name,
                    one.unit,
                    float(value),
                    float(value * math.exp(-deviation)),
                    float(value * math.exp(deviation)),
                    bool(deviation < one.width / 2),
                )
                for one, value, deviation in zip(free, values, deviations, strict=True)
            ),
            *inline,
        ),
        host_model=host_model,
        spread=spread_of(used),
        errors=errors_of((row.bytes, row.median_ns / time) for row, time in pairs),
        checked=len(checked),
        used=tuple(used),
        predicted_ns=tuple(np.exp(found).tolist()),
        left_out_ns=tuple(left_out_ns.tolist()),
        evaluations=model.count,
    )


def _usable(scenario: Scenario, rows: Sequence[Measurement], shared: bool) -> str:
    """Which measurements a calibration can use."""
    if of_gpus(scenario):
        return "of nccl-tests, out of place, on known hosts, of 64 KiB to 1 GiB"
    ranks = "several ranks" if shared else "one rank"
    operations = f", of {', '.join(SHARED_OPERATIONS)}" if shared else ""
    nccl = (
        '; these are of NCCL: a machine of GPUs has [mpi.collectives] library = "nccl", as '
        "examples/machines/polaris.toml has"
        if any(row.library == "nccl" for row in rows)
        else ""
    )
    return (
        f"of algorithms that are named and simulated, on known hosts with {ranks} each, of "
        f"{SHORTEST} B to {_size(LARGE[-1])}{operations}{nccl}"
    )


#: Width of a residual: a prediction within 10 % is a good one.
SIGMA = 0.1
#: Step of the differences that stand for derivatives, in widths of a parameter.
STEP = 0.02


class _Residuals:
    """Logarithms of predicted times beside measured ones, and where parameters are likely.

    Parameters are in widths from where they start.

    Attributes:
        measured: Logarithms of the measured times. Shape: measurements.
        widths: Of the parameters, in logarithms. Shape: parameters.
        count: Simulations so far.
    """

    def __init__(
        self,
        form: Form,
        used: Sequence[Measurement],
        times: Callable[[list[HostModel]], list[Any]],
        progress: Callable[[str], object] | None,
    ) -> None:
        self._form, self._times, self._progress = form, times, progress
        self._starts = np.log([one.start for one in form.free])
        self.widths = np.array([one.width for one in form.free])
        self.measured = np.log([row.median_ns for row in used])
        self.count = 0
        self._known: dict[bytes, np.ndarray] = {}
        self._last: list[tuple[np.ndarray, np.ndarray]] = []

    def values(self, at: np.ndarray) -> np.ndarray:
        """The parameters themselves."""
        return np.asarray(np.exp(self._starts + self.widths * at))

    def _simulate(self, points: Sequence[np.ndarray]) -> np.ndarray:
        self.count += len(points) * len(self.measured)
        hosts = [self._form.host_model(self.values(point).tolist()) for point in points]
        return np.asarray(np.log(np.array(self._times(hosts))))

    def logarithms(self, at: np.ndarray) -> np.ndarray:
        """Logarithms of the predicted times. Shape: measurements."""
        key = at.tobytes()
        if key not in self._known:
            self._known[key] = self._simulate([at])[0]
        return self._known[key]

    def residuals(self, at: np.ndarray) -> np.ndarray:
        """Shape: measurements + parameters."""
        beside = self.logarithms(at) - self.measured
        if self._progress is not None:
            off = np.median(np.abs(np.expm1(beside)))
            self._progress(f"{self.count} simulations, median error {off:.1%}")
        return np.concatenate([beside / SIGMA, at])

    def differences(self, at: np.ndarray) -> np.ndarray:
        """Derivatives of the residuals. Shape: measurements + parameters × parameters."""
        here = self.logarithms(at)
        moved = self._simulate([at + STEP * unit for unit in np.eye(len(at))])
        return np.vstack([(moved - here).T / STEP / SIGMA, np.eye(len(at))])

    def jacobian(self, at: np.ndarray) -> np.ndarray:
        """Differences in every third step; in between Broyden's update by the step just made."""
        if len(self._last) % 3 == 0:
            slopes = self.differences(at)
        else:
            before, slopes = self._last[-1]
            step = at - before
            change = self.residuals(at) - self.residuals(before)
            slopes = slopes + np.outer(change - slopes @ step, step) / max(step @ step, 1e-12)
        self._last.append((at.copy(), slopes))
        return slopes


_predictor: Predictor
_cases: list[Case]


def _begin(scenario: Scenario, engine: names.Engine | None, cases: list[Case]) -> None:
    """Sets what a process predicts."""
    global _predictor, _cases
    _predictor = Predictor(scenario, engine=engine)
    _cases = cases


def _times(host: HostModel) -> list[float]:
    return [_predictor.time_ns(case, _of_case(host, case)) for case in _cases]


def _time(host: HostModel, place: int) -> float:
    case = _cases[place]
    return _predictor.time_ns(case, _of_case(host, case))


def _of_case(host: HostModel, case: Case) -> HostModel:
    """With what differs in jobs of so many ranks."""
    alike = case.per_node > 1 and host.within is None
    return host if alike else host.among(case.ranks, _predictor.scenario)


def _case(predictor: Predictor, row: Measurement) -> Case:
    name = "auto" if row.library == "nccl" else row.name
    return predictor.case(row.hosts, row.operation, name, row.bytes, row.per_node, row.segment)


#: Measurements that a calibration predicts besides those that it uses, at most, and how many
#: messages each of them has.
CHECKED, CHECKED_MESSAGES = 60, 300_000


def _unseen(
    rows: Iterable[Measurement], used: Iterable[Measurement], predictor: Predictor, *, shared: bool
) -> list[Measurement]:
    """Measurements that a calibration does not use, of all numbers of nodes and sizes alike."""
    gpus = of_gpus(predictor.scenario)
    alike = gpu_rows(rows) if gpus else comparable(rows)
    seen = {id(row) for row in used}
    others = [
        row
        for row in alike
        if id(row) not in seen
        and (gpus or (row.per_node > 1) == shared)
        and messages(_case(predictor, row)) <= CHECKED_MESSAGES
    ]
    others.sort(key=lambda row: (row.nodes, row.ranks, row.operation, row.name, row.bytes))
    step = max(len(others) / CHECKED, 1.0)
    return [others[int(place * step)] for place in range(int(len(others) / step))]


def spread_of(measurements: Iterable[Measurement]) -> tuple[Percentiles, ...]:
    """How calls scatter: by size of the vector p10 and p90 over the median.

    Medians over the measurements whose size is nearest to each of :data:`SPREAD_SIZES`; sizes
    without any are left out, as are measurements of which there is a mean only.
    """
    rows = [row for row in measurements if row.statistic == "median"]
    near: dict[int, list[Measurement]] = {size: [] for size in SPREAD_SIZES}
    for row in rows:
        nearest = min(SPREAD_SIZES, key=lambda size: abs(math.log(size / row.bytes)))
        near[nearest].append(row)
    return tuple(
        (
            size,
            float(np.median([row.p10_ns / row.median_ns for row in found])),
            float(np.median([row.p90_ns / row.median_ns for row in found])),
        )
        for size, found in near.items()
        if found
    )


# --- As a part of a scenario --------------------------------------------------------------


def fragment(calibration: Calibration) -> dict[str, Any]:
    """The calibrated keys of a machine's scenario, as nested dicts and lists."""
    host, within = calibration.host_model, calibration.host_model.within

    def rates(points: Sequence[tuple[int, float]]) -> list[dict[str, str]]:
        return [
            {"size": _size(size), "bandwidth": f"{round(1e9 / value / 1e6)} MB/s"}
            for size, value in points
        ]

    def times(points: Sequence[tuple[int, float]]) -> list[dict[str, str]]:
        return [{"size": _size(size), "time": f"{time:.0f} ns"} for size, time in points]

    def costs(of: HostModel | Costs) -> dict[str, Any]:
        return {
            "send_overhead": f"{of.send_ns:.0f} ns",
            "receive_overhead": f"{of.receive_ns:.0f} ns",
            "send_delay": f"{of.delay_ns:.0f} ns",
            "host_times": times(of.times),
            "delay_times": times(of.delays),
        }

    mpi = costs(host)
    if host.redirect_ns:
        mpi["redirect_overhead"] = f"{host.redirect_ns:.0f} ns"
    machine: dict[str, Any] = {
        "call": f"{host.call_ns:.0f} ns",
        "entry_delay": f"{host.entry_ns:.0f} ns",
        "combine": rates(host.combine),
        "copy": rates(host.copy),
        "spread": [
            {"size": _size(size), "p10": round(low, 3), "p90": round(max(high, 1.0), 3)}
            for size, low, high in calibration.spread
        ],
    }
    if calibration.errors:
        machine["errors"] = as_points(calibration.errors)
    if host.fresh_byte_ns:
        new: dict[str, str] = {"bandwidth": f"{round(1e9 / host.fresh_byte_ns / 1e6)} MB/s"}
        if host.register_ns:
            new["registration"] = f"{host.register_ns:.0f} ns"
        if host.register_byte_ns:
            rate = round(1e9 / host.register_byte_ns / 1e6)
            new["registration_bandwidth"] = f"{rate} MB/s"
        if host.fresh_above != FRESH_ABOVE:
            new["above"] = f"{host.fresh_above} B"
        if host.fresh_pairs_above is not None:
            new["pairs_above"] = f"{host.fresh_pairs_above} B"
        machine["fresh_buffers"] = new
    if host.rank_byte_ns is not None:
        machine["rank_bandwidth"] = f"{round(1e9 / host.rank_byte_ns / 1e6)} MB/s"
    if host.exchange_byte_ns is not None:
        machine["exchange_bandwidth"] = f"{round(1e9 / host.exchange_byte_ns / 1e6)} MB/s"
    if host.inline is not None:
        up_to, overhead = host.inline
        machine["exchange_inline"] = {"up_to": f"{up_to} B", "overhead": f"{overhead:.0f} ns"}
    for way in ("exchange", "ll"):
        if (of := getattr(host, way)) is not None:
            machine[way] = costs(of)
    if within is None:
        return {"mpi": mpi, "machine": machine}
    shared = {
        "per_node": max(row.per_node for row in calibration.used),
        **mpi,
        "within_node": {
            "send_overhead": f"{within.send_ns:.0f} ns",
            "receive_overhead": f"{within.receive_ns:.0f} ns",
        },
        "loopback_latency": f"{within.latency_ns:.0f} ns",
        "loopback_bandwidth": f"{round(1e9 / within.byte_ns / 1e6)} MB/s",
        **machine,
    }
    return {"machine": {"shared": shared}}


def as_points(errors: Iterable[Percentiles]) -> list[dict[str, Any]]:
    """`machine.errors` of a scenario."""
    return [
        # A key's least value: none is 0, however far a prediction is off.
        {"size": _size(size), "p10": max(round(low, 3), 0.001), "p90": round(high, 3)}
        for size, low, high in errors
    ]


def with_calibration(scenario: Scenario, keys: dict[str, Any]) -> Scenario:
    """A machine's scenario with calibrated keys in place of its own."""
    data = scenario.to_dict()
    for table, values in keys.items():
        data[table] = {**data.get(table, {}), **values}
    return Scenario.from_dict(data, file=scenario.file, directory=scenario.directory)
