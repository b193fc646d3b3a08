"""What a call of a collective takes the hosts of a machine, besides the network."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from odonata.declared import HostTime
from odonata.machines.machine import MessageCosts, SharedNodes, SizedRate
from odonata.scenario import Scenario
from odonata.units import Duration, Rate

#: Times of its vector that a rank copies before its first message, in buffers that differ for
#: input and result: MPI's reductions begin with a copy of the input, gathers and all-to-alls with
#: the rank's own block. Bruck's algorithms turn the blocks round: in the beginning (all-to-all) and
#: at the end, and the all-to-all packs and unpacks half of them in every round.
_WHOLE = ("allreduce", "reduce", "reduce-scatter")
#: Trees of reductions combine the input with the first child's message as it has come, without a
#: copy, and those of gathers and scatters from rank 0 have their blocks in order (Open MPI 4.1,
#: `coll_base_reduce.c`, `coll_base_gather.c`, `coll_base_scatter.c`; PICO, `libbine_gather.c`).
_FROM_INPUT = (
    *("binary", "binomial", "binomial-overlapped", "chain", "chains"),
    *("in-order-binary", "knomial", "linear"),
)
#: The name of the library whose copies differ from Open MPI's and PICO's.
_MPICH = "mpich"
#: Operations in which NCCL sends to each rank by itself.
_EXCHANGES = ("alltoall", "gather", "scatter")
#: Operations whose ranks wait for the root alone.
_FROM_ROOT = ("broadcast", "scatter")


#: What needs one buffer of a whole vector, besides allreduces.
_IN_ORDER = (
    *(("allgather", "bruck"), ("alltoall", "bruck")),
    *(("reduce", "rabenseifner"), ("reduce", "bine-scatter-gather")),
)
#: Buffers of more bytes than this are new in each call: the largest threshold from which glibc maps
#: memory, and gives it back when it is freed (`malloc.c`, DEFAULT_MMAP_THRESHOLD_MAX).
FRESH_ABOVE = 32 * 1024 * 1024


def copied(operation: str, algorithm: str, ranks: int, library: str = "") -> float:
    """How often a rank copies its whole vector.

    MPICH copies other parts than Open MPI and PICO do: Bruck's allgather its own block into a
    buffer and the blocks of all in order out of it, the all-to-all its blocks once more to turn
    them back, and trees of reductions the input (MPICH 3.3 and 4.2, `allgather_intra_brucks.c`,
    `alltoall_intra_brucks.c`, `reduce_intra_binomial.c`).

    Args:
        operation: Of the collective.
        algorithm: By which it is carried out.
        ranks: That take part.
        library: Who carries it out, as in :class:`odonata.machines.names.Measured`.
    """
    if library == "nccl":  # kernels read one buffer and write the other
        return 0.0
    if operation == "reduce" and algorithm in _FROM_INPUT and library != _MPICH:
        return 0.0
    if operation in _WHOLE:
        return 1.0
    if operation == "broadcast":
        return 0.0
    if operation == "alltoall" and algorithm in ("bruck", "bine"):
        turns = 3.0 if library == _MPICH else 2.0
        return turns + math.ceil(math.log2(max(ranks, 2)))
    if operation == "allgather" and algorithm in ("bruck", "k-bruck"):
        if library == _MPICH:
            return 1.0 + 1 / ranks
        # Out of the way, up, and back again: of the rank that has most to move.
        return 2.0
    return 1 / ranks


def fresh(
    operation: str,
    algorithm: str,
    ranks: int,
    size: int,
    segment: int | None,
    above: int,
    pairs_above: int | None = None,
) -> int:
    """Bytes of the buffers that a rank allocates in each call whose pages are new each time.

    Allreduces receive into one buffer of a whole vector, or into two of what they receive at a
    time; reduce-scatters have a second one for what they combine; Bruck's algorithms order blocks
    in one (Open MPI 4.1, `coll_base_allreduce.c`, `coll_base_reduce_scatter.c`,
    `coll_base_allgather.c`, `coll_base_alltoall.c`; PICO's `libbine` and MPICH do the same). Trees
    of reductions, which allocate at each of their levels, are left out.

    Args:
        operation: Of the collective.
        algorithm: By which it is carried out.
        ranks: That take part.
        size: Of the vector, in bytes.
        segment: Of what it receives at a time, where it sends in segments.
        above: Shorter buffers are not new.
        pairs_above: Two buffers of the same call that are each longer than this are new; ``None``:
            than ``above``. glibc gives its heap back when more than twice the longest buffer is
            free (``M_TRIM_THRESHOLD``), which two of them are.
    """
    block = -(-size // max(ranks, 1))
    buffers: tuple[int, ...] = ()
    if algorithm in ("ring", "segmented-ring", "bine-segmented", "pairwise"):
        part = size // 2 if algorithm == "bine-segmented" else block
        part = min(part, segment or part)
        buffers = (part, part) if operation in ("allreduce", "reduce-scatter") else ()
        if operation == "reduce-scatter" and algorithm == "ring":
            buffers += (size,)
    elif operation == "allreduce" and algorithm not in ("reduce-broadcast", "channel-rings"):
        buffers = (size,)
    elif operation == "reduce-scatter":
        buffers = (size,) if algorithm == "reduce-scatter" else (size, size)
    elif (operation, algorithm) in _IN_ORDER:
        buffers = (size,)
    if buffers.count(size) > 1 and pairs_above is not None:
        above = min(above, pairs_above)
    return sum(buffer for buffer in buffers if buffer > above)


@dataclass(frozen=True)
class Within:
    """Messages between two ranks of one node, in ns and bytes.

    Attributes:
        send_ns: Overhead of a message for its sender.
        receive_ns: For its receiver.
        times: Size of a message and what it costs either of them besides, growing.
        latency_ns: From one to the other.
        byte_ns: That a byte takes; the ranks of a node share that rate.
    """

    send_ns: float
    receive_ns: float
    times: tuple[tuple[int, float], ...]
    latency_ns: float
    byte_ns: float


@dataclass(frozen=True)
class Costs:
    """Costs of messages that NCCL sends between nodes in its own way, as in :class:`HostModel`."""

    send_ns: float
    receive_ns: float
    delay_ns: float
    times: tuple[tuple[int, float], ...]
    delays: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True)
class HostModel:
    """Parameters of the hosts, in ns and bytes.

    Attributes:
        send_ns: Overhead of a message for its sender.
        receive_ns: For its receiver.
        delay_ns: Of a message, that keeps nobody busy.
        times: Size of a message and what it costs either of them besides, growing.
        delays: Size of a message and its delay besides, growing.
        call_ns: Of a call, before its first message.
        entry_ns: Mean time by which ranks enter a call late.
        combine: Size of the vector and ns for each byte that is combined.
        copy: The same for each that is copied.
        redirect_ns: What a message costs its sender besides, if the last went to another rank.
        rank_byte_ns: Of a byte through a rank's share of its node's interfaces; ``None``: what the
            scenario's interfaces say.
        exchange_byte_ns: The same in all-to-alls, gathers and scatters; ``None``: as in others.
        exchange: Costs of messages in those; ``None``: as in others.
        inline: Of messages in those the longest that a sender copies into its interface's command,
            and what that costs it besides; ``None``: it copies none.
        ll: Costs of messages of NCCL's protocol LL; ``None``: as of others.
        fresh_byte_ns: Of a byte of a buffer whose pages are new in each call.
        fresh_above: Buffers of more bytes than this are.
        fresh_pairs_above: Two of the same call are if each has more than this; ``None``: as one.
        register_ns: What a message that is not copied costs either end, if it is a piece of such a
            buffer of a reduce-scatter: the interface is told of every piece.
        register_byte_ns: The same of a byte.
        within: Messages within a node; ``None``: they cost ranks what others cost, and take what
            the scenario's interfaces say.
    """

    send_ns: float
    receive_ns: float
    delay_ns: float
    times: tuple[tuple[int, float], ...]
    call_ns: float
    combine: tuple[tuple[int, float], ...]
    copy: tuple[tuple[int, float], ...]
    within: Within | None = None
    delays: tuple[tuple[int, float], ...] = ()
    entry_ns: float = 0.0
    redirect_ns: float = 0.0
    rank_byte_ns: float | None = None
    exchange_byte_ns: float | None = None
    exchange: Costs | None = None
    inline: tuple[int, float] | None = None
    ll: Costs | None = None
    fresh_byte_ns: float = 0.0
    fresh_above: int = FRESH_ABOVE
    fresh_pairs_above: int | None = None
    register_ns: float = 0.0
    register_byte_ns: float = 0.0

    @classmethod
    def of(cls, scenario: Scenario, per_node: int = 1, ranks: int = 1) -> HostModel:
        """As a scenario says for this many ranks on each node, and this many together."""
        mpi, machine = scenario.mpi, scenario.machine
        if (shared := shared_nodes(scenario, per_node)) is not None:
            host = cls._of_shared(shared)
            if of_gpus(scenario) and host.within is not None:
                # Each GPU brings its links to the others of the node.
                byte = host.within.byte_ns * shared.per_node / per_node
                host = replace(host, within=replace(host.within, byte_ns=byte))
            return host.among(ranks, scenario)
        fixed = None if isinstance(mpi.collectives, str) else mpi.collectives.combine_bandwidth
        combine = _per_byte(machine.combine) if machine else ()
        if not combine and fixed is not None:
            combine = ((1, 1e9 / int(fixed)),)
        host = cls(
            send_ns=_ns(mpi.send_overhead),
            receive_ns=_ns(mpi.receive_overhead),
            delay_ns=_ns(mpi.send_delay),
            times=_times(mpi.host_times),
            delays=_times(mpi.delay_times),
            redirect_ns=_ns(mpi.redirect_overhead),
            call_ns=_ns(machine.call) if machine else 0.0,
            entry_ns=_ns(machine.entry_delay) if machine else 0.0,
            combine=combine,
            copy=_per_byte(machine.copy_rates) if machine else (),
        )
        if machine and (new := machine.fresh_buffers):
            host = replace(
                host,
                fresh_byte_ns=_byte_ns(new.bandwidth) or 0.0,
                register_ns=0.0 if new.registration is None else _ns(new.registration),
                register_byte_ns=_byte_ns(new.registration_bandwidth) or 0.0,
            )
        return host.of_machine(scenario).among(ranks, scenario)

    def of_machine(self, scenario: Scenario) -> HostModel:
        """With what a scenario says of its nodes that no calibration finds."""
        machine = scenario.machine
        if machine is None:
            return self
        new = machine.fresh_buffers
        pairs_above = new.pairs_above if new else None
        return replace(
            self,
            rank_byte_ns=_byte_ns(machine.rank_bandwidth),
            fresh_above=int(new.above) if new else FRESH_ABOVE,
            fresh_pairs_above=None if pairs_above is None else int(pairs_above),
        )

    def among(self, ranks: int, scenario: Scenario) -> HostModel:
        """With what differs in jobs of so many ranks: `machine.many_ranks`.

        Delays are longer by as much as the scenario says that they are. Where ranks share nodes
        exchanges alone differ.
        """
        tables = scenario.machine.many_ranks if scenario.machine else []
        many = [table for table in tables if ranks > table.above]
        if not many:
            return self
        if self.within is not None:
            return replace(self, exchange=_costs(many[-1].exchange) or self.exchange)
        delay, bandwidth = many[-1].send_delay, many[-1].rank_bandwidth
        more = 0.0 if delay is None else _ns(delay) - _ns(scenario.mpi.send_delay)
        return replace(
            self,
            delay_ns=self.delay_ns + more,
            rank_byte_ns=self.rank_byte_ns if bandwidth is None else _byte_ns(bandwidth),
        )

    @classmethod
    def _of_shared(cls, shared: SharedNodes) -> HostModel:
        within, inline = shared.within_node, shared.exchange_inline
        return cls(
            send_ns=_ns(shared.send_overhead),
            receive_ns=_ns(shared.receive_overhead),
            delay_ns=_ns(shared.send_delay),
            times=_times(shared.host_times),
            delays=_times(shared.delay_times),
            redirect_ns=_ns(shared.redirect_overhead),
            call_ns=_ns(shared.call),
            entry_ns=_ns(shared.entry_delay),
            rank_byte_ns=_byte_ns(shared.rank_bandwidth),
            exchange_byte_ns=_byte_ns(shared.exchange_bandwidth),
            exchange=_costs(shared.exchange),
            inline=None if inline is None else (int(inline.up_to), _ns(inline.overhead)),
            ll=_costs(shared.ll),
            combine=_per_byte(shared.combine),
            copy=_per_byte(shared.copy_rates),
            within=Within(
                send_ns=_ns(within.send_overhead),
                receive_ns=_ns(within.receive_overhead),
                times=_times(within.host_times),
                latency_ns=_ns(shared.loopback_latency),
                byte_ns=1e9 / int(shared.loopback_bandwidth),
            ),
        )

    def before_ns(
        self,
        operation: str,
        algorithm: str,
        ranks: int,
        size: int,
        library: str = "",
        segment: int | None = None,
        copies: float = 0.0,
    ) -> float:
        """What passes before the first message: the call itself, copies, and waiting for others.

        What it costs to touch new pages is a part of it: each rank does so with its own.

        Ranks enter a call late by times that are taken to be exponential. Where all wait for all,
        or one for all, the last of n ranks counts: the mean of the largest of n such times is
        1 + 1/2 + … + 1/n times their own mean. A rank that waits for a root waits for one.

        Args:
            operation: Of the collective.
            algorithm: By which it is carried out.
            ranks: That take part.
            size: Of the vector, in bytes.
            library: Who carries it out, for what is copied.
            segment: Of what is received at a time, where it is sent in segments.
            copies: How often the vector is copied besides.
        """
        volume = (copied(operation, algorithm, ranks, library) + copies) * size
        waits = 1.0 if operation in _FROM_ROOT else sum(1 / rank for rank in range(1, ranks + 1))
        new = self._fresh(operation, algorithm, ranks, size, segment)
        return (
            self.call_ns
            + waits * self.entry_ns
            + volume * by_size(self.copy, size)
            + new * self.fresh_byte_ns
        )

    def _fresh(
        self, operation: str, algorithm: str, ranks: int, size: int, segment: int | None
    ) -> int:
        """Bytes of new buffers; see :func:`fresh`."""
        above, pairs_above = self.fresh_above, self.fresh_pairs_above
        return fresh(operation, algorithm, ranks, size, segment, above, pairs_above)

    def with_registration(
        self,
        operation: str,
        algorithm: str,
        ranks: int,
        size: int,
        segment: int | None,
        copied_up_to: int,
    ) -> HostModel:
        """With what it costs to register the pieces of new buffers that messages are.

        Reduce-scatters send every block from a buffer of their own. An interface knows what it
        knew of a buffer that stays; pieces of a new one it is told of one by one, as they are sent.

        Args:
            operation: Of the collective.
            algorithm: By which it is carried out.
            ranks: That take part.
            size: Of the vector, in bytes.
            segment: Of what is received at a time, where it is sent in segments.
            copied_up_to: Shorter messages are copied into buffers that are registered.
        """
        if operation != "reduce-scatter" or not (self.register_ns or self.register_byte_ns):
            return self
        if not self._fresh(operation, algorithm, ranks, size, segment):
            return self
        known = np.array([(0, 0.0), *self.times])
        short = [point for point in self.times if point[0] < copied_up_to]
        at = float(np.interp(copied_up_to, known[:, 0], known[:, 1]))
        last = max(int(known[-1, 0]), copied_up_to + 1, size)

        def cost(length: int) -> float:
            own = float(np.interp(length, known[:, 0], known[:, 1]))
            return own + self.register_ns + length * self.register_byte_ns

        sizes = {copied_up_to + 1, last, *(length for length, _ in self.times)}
        long = [(length, cost(length)) for length in sorted(sizes) if length > copied_up_to]
        return replace(self, times=(*short, (copied_up_to, at), *long))

    def without_copies(self, above: int, up_to: int) -> HostModel:
        """For messages that are not copied above a size, where those of other algorithms are.

        What the latter cost up to ``up_to`` says nothing of the former: from what the longest
        copied message costs, ``above``, they go in a straight line to the first known size beyond.
        """
        known = np.array([(0, 0.0), *self.times])
        longest = (above, float(np.interp(above, known[:, 0], known[:, 1])))
        beyond = [(size, max(time, longest[1])) for size, time in self.times if size > up_to]
        if not beyond:
            return self
        short = [(size, time) for size, time in self.times if size < above]
        return replace(self, times=(*short, longest, *beyond))

    def in_operation(
        self, operation: str, protocol: str | None = None, message: int = 0
    ) -> HostModel:
        """What holds in an operation, which NCCL carries out by a protocol.

        Args:
            operation: Of the collective.
            protocol: NCCL's.
            message: Bytes that an exchange sends to each rank.
        """
        if operation in _EXCHANGES:
            host = self._with(self.exchange)
            if self.inline is not None and message <= self.inline[0]:
                host = replace(host, send_ns=host.send_ns + self.inline[1])
            byte_ns = self.exchange_byte_ns
            return host if byte_ns is None else replace(host, rank_byte_ns=byte_ns)
        return self._with(self.ll) if protocol == "ll" else self

    def _with(self, costs: Costs | None) -> HostModel:
        if costs is None:
            return self
        return replace(
            self,
            send_ns=costs.send_ns,
            receive_ns=costs.receive_ns,
            delay_ns=costs.delay_ns,
            times=costs.times,
            delays=costs.delays,
        )

    def put_into(self, form: dict[str, Any], size: int) -> None:
        """Sets what the engine's form of a scenario says of hosts, for vectors of a size."""
        mpi = form["mpi"]
        mpi["send_overhead_ps"] = round(self.send_ns * 1_000)
        mpi["receive_overhead_ps"] = round(self.receive_ns * 1_000)
        mpi["send_delay_ps"] = round(self.delay_ns * 1_000)
        mpi["redirect_overhead_ps"] = round(self.redirect_ns * 1_000)
        mpi["host_times"] = [[size, round(time * 1_000)] for size, time in self.times]
        mpi.pop("delay_times", None)
        if self.delays:
            mpi["delay_times"] = [[size, round(time * 1_000)] for size, time in self.delays]
        if self.within is not None:
            mpi["within_node"] = {
                "send_overhead_ps": round(self.within.send_ns * 1_000),
                "receive_overhead_ps": round(self.within.receive_ns * 1_000),
                "host_times": [[size, round(time * 1_000)] for size, time in self.within.times],
            }
            nic = form["network"]["nic"]
            nic["loopback_latency_ps"] = round(self.within.latency_ns * 1_000)
            nic["loopback_bandwidth_bytes_per_s"] = max(round(1e9 / self.within.byte_ns), 1_000)
        if self.rank_byte_ns is not None and form["simulation"]["engine"] == "flow":
            rate = max(round(1e9 / self.rank_byte_ns), 1_000)
            form["network"]["nic"]["rank_bandwidth_bytes_per_s"] = rate
        per_byte = by_size(self.combine, size)
        combine = None if per_byte == 0 else max(round(1e9 / per_byte), 1_000)
        mpi["collectives"]["combine_bandwidth_bytes_per_s"] = combine


def of_gpus(scenario: Scenario) -> bool:
    """Whether NCCL carries collectives out."""
    collectives = scenario.mpi.collectives
    return (collectives if isinstance(collectives, str) else collectives.library) == "nccl"


def shared_nodes(scenario: Scenario, per_node: int) -> SharedNodes | None:
    """What holds where this many ranks share a node; ``None``: what holds for one.

    A GPU has its proxy thread and its interface to itself, so that what NCCL costs it is the same
    where it is the only one of its node that is used.
    """
    machine = scenario.machine
    if machine is None or (per_node == 1 and not of_gpus(scenario)):
        return None
    return machine.shared


def _costs(table: MessageCosts | None) -> Costs | None:
    if table is None:
        return None
    return Costs(
        send_ns=_ns(table.send_overhead),
        receive_ns=_ns(table.receive_overhead),
        delay_ns=_ns(table.send_delay),
        times=_times(table.host_times),
        delays=_times(table.delay_times),
    )


def _ns(duration: Duration) -> float:
    return int(duration) / 1_000


def _byte_ns(rate: Rate | None) -> float | None:
    return None if rate is None else 1e9 / int(rate)


def _times(points: Iterable[HostTime]) -> tuple[tuple[int, float], ...]:
    return tuple((int(point.size), _ns(point.time)) for point in points)


def _per_byte(points: Iterable[SizedRate]) -> tuple[tuple[int, float], ...]:
    return tuple((int(point.size), 1e9 / int(point.bandwidth)) for point in points)


def by_size(points: Sequence[tuple[int, float]], size: int) -> float:
    """The value at a size: between points linear in its logarithm, beyond them theirs."""
    if not points:
        return 0.0
    if size <= points[0][0]:
        return points[0][1]
    for (low, at_low), (high, at_high) in itertools.pairwise(points):
        if size <= high:
            share = math.log(size / low) / math.log(high / low)
            return at_low + share * (at_high - at_low)
    return points[-1][1]
