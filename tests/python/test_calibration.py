"""Calibration of real machines with measured collectives."""

import itertools
from dataclasses import replace
from itertools import cycle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from odonata.errors import MachineError
from odonata.machines.calibration import (
    BY_SIZE,
    GPUS,
    HOCKNEY,
    MESSAGE_SIZES,
    calibrate,
    calibration_part,
    fragment,
    judged_part,
    shared_form,
    shared_part,
    with_calibration,
    without_network,
)
from odonata.machines.hostmodel import HostModel
from odonata.machines.intervals import percentiles
from odonata.machines.measurements import Measurement
from odonata.machines.prediction import Predictor
from odonata.scenario import Scenario
from odonata.simulate import run
from small_machine import HOSTS, small


def fragment_of_starts() -> dict[str, Any]:
    """Keys of a machine whose hosts take what is likely beforehand."""
    host = BY_SIZE.host_model([one.start for one in BY_SIZE.free])
    return fragment(SimpleNamespace(host_model=host, spread=(), errors=()))


def made(predictor: Predictor, host: HostModel, nodes: int, per_node: int = 1) -> list[Measurement]:
    """Measurements that a machine with these parameters would give."""
    rows = []
    for operation, names in (
        ("allreduce", ("ring", "recursive-doubling", "rabenseifner")),
        ("allgather", ("ring", "bruck", "sparbit")),
        *((("broadcast", ("binomial",)), ("reduce", ("binomial",))) if per_node > 1 else ()),
    ):
        for name in names:
            for size in (64, 512, 4096, 1 << 15, 1 << 18, 1 << 20, 1 << 25):
                case = predictor.case(HOSTS[:nodes], operation, name, size, per_node)
                time = predictor.time_ns(case, host)
                rows.append(
                    Measurement(
                        source="made",
                        test=f"{operation}-{nodes}",
                        operation=operation,
                        name=f"{name}_over",
                        algorithm=name,
                        library="point-to-point",
                        bytes=size,
                        ranks=nodes * per_node,
                        per_node=per_node,
                        iterations=10,
                        median_ns=time,
                        p10_ns=time * 0.9,
                        p90_ns=time * 1.2,
                        statistic="median",
                        hosts=tuple(HOSTS[:nodes]),
                    )
                )
    return rows


def test_calibration_finds_the_parameters_that_made_the_measurements():
    """A calibrated machine gives the times of other numbers of nodes that it has not seen."""
    scenario = small()
    predictor = Predictor(scenario)
    true = [one.start * f for one, f in zip(BY_SIZE.free, cycle([1.5, 0.7]), strict=False)]
    rows = [row for nodes in (4, 16) for row in made(predictor, BY_SIZE.host_model(true), nodes)]
    used, judged = calibration_part(rows), judged_part(rows)
    assert {row.nodes for row in used} == {4}
    assert {row.nodes for row in judged} == {16}
    found = calibrate(scenario, rows)
    assert np.median(np.abs(found.fit_errors())) < 0.02
    assert found.spread[0][1:] == pytest.approx((0.9, 1.2))
    # It has predicted others of them, and says how far these are off.
    assert found.checked >= 20 and not {id(row) for row in used} & {id(row) for row in judged}
    assert all(0.8 < low <= 1.05 and 0.95 <= high < 1.25 for _, low, high in found.errors)
    calibrated = Predictor(with_calibration(scenario, fragment(found)))
    size, low, high = found.errors[0]
    assert calibrated.interval(size, 1) == pytest.approx(
        percentiles(size, found.spread[0][1:], [(size, low, high)]), rel=2e-3
    )
    off = [
        calibrated.predict(
            calibrated.case(row.hosts, row.operation, row.algorithm, row.bytes)
        ).median_ns
        / row.median_ns
        - 1
        for row in judged
    ]
    assert np.median(np.abs(off)) < 0.05
    assert np.quantile(np.abs(off), 0.9) < 0.15
    # No message of 32 MiB on four nodes is longer than 16 MiB: what longer ones take is not told.
    longest = next(one for one in found.parameters if one.name == "message of 64 MiB")
    assert not longest.identified


def test_each_operation_has_its_own_smaller_half_of_nodes():
    """Allreduces on 4 of 4 and 8 nodes calibrate; allgathers on 16 alone calibrate as well."""
    predictor = Predictor(small())
    host = BY_SIZE.host_model([one.start for one in BY_SIZE.free])
    rows = [row for nodes in (4, 8, 16) for row in made(predictor, host, nodes)]
    rows = [row for row in rows if (row.operation == "allreduce") == (row.nodes != 16)]
    rows = [row for row in rows if row.nodes != 8 or row.operation == "allreduce"]
    used = {(row.operation, row.nodes) for row in calibration_part(rows)}
    assert used == {("allreduce", 4), ("allgather", 16)}
    judged = {(row.operation, row.nodes) for row in judged_part(rows)}
    assert judged == {("allreduce", 8)}


def test_jobs_of_many_ranks_calibrate_with_their_own_delay():
    """Jobs of 16 ranks take 50 us more for each message than those of 4: the fit finds what made
    them, and the 50 us stay those of the scenario."""
    scenario = small(
        "[mpi]\nsend_delay = '1 us'\n[[machine.many_ranks]]\nabove = 8\nsend_delay = '51 us'\n"
    )
    predictor = Predictor(scenario)
    true = BY_SIZE.host_model([one.start for one in BY_SIZE.free])
    rows = [
        row
        for nodes, operation in ((4, "allreduce"), (16, "allgather"))
        for row in made(predictor, true.among(nodes, scenario), nodes)
        if row.operation == operation
    ]
    assert true.among(16, scenario).delay_ns == true.delay_ns + 50_000
    found = calibrate(scenario, rows)
    assert {row.nodes for row in found.used} == {4, 16}
    assert np.median(np.abs(found.fit_errors())) < 0.02


def test_a_shared_node_is_calibrated_by_what_several_ranks_take():
    """Prior and truth differ; operations that the calibration has not seen come out right."""
    scenario = small()
    alone = HostModel.of(with_calibration(scenario, fragment_of_starts()))
    form = shared_form(alone)
    true = [one.start * factor for one, factor in zip(form.free, cycle([1.5, 0.7]), strict=False)]
    scenario = with_calibration(scenario, fragment_of_starts())
    predictor = Predictor(scenario)
    rows = made(predictor, form.host_model(true), 8, per_node=2)
    assert {row.operation for row in shared_part(rows)} == {"allgather", "allreduce", "broadcast"}
    found = calibrate(scenario, rows, shared=True)
    assert np.median(np.abs(found.fit_errors())) < 0.02
    keys = fragment(found)
    assert keys["machine"]["shared"]["per_node"] == 2
    calibrated = Predictor(with_calibration(scenario, keys))
    unseen = [row for row in rows if row in judged_part(rows)]
    assert {row.operation for row in unseen} == {"reduce"}
    off = [
        calibrated.predict(
            calibrated.case(row.hosts, row.operation, row.algorithm, row.bytes, 2)
        ).median_ns
        / row.median_ns
        - 1
        for row in unseen
    ]
    assert np.median(np.abs(off)) < 0.05
    # With one rank a node nothing changes.
    one = predictor.case(HOSTS[:4], "allreduce", "ring", 4096)
    assert calibrated.predict(one).median_ns == predictor.predict(one).median_ns


@pytest.mark.parametrize("engine", ["packet", "flow"])
def test_what_messages_within_a_node_take_follows_by_hand(engine):
    """A broadcast to the other rank of the node: both overheads, both times of its size (here
    twice the point's, on beyond it), latency, and bytes over bandwidth."""
    scenario = Scenario.from_dict(
        {
            "network": {
                "family": "crossbar",
                "nodes": 2,
                "nic": {"loopback_latency": "300 ns", "loopback_bandwidth": "10 GB/s"},
            },
            "simulation": {"engine": engine},
            "mpi": {
                "send_overhead": "5 us",
                "send_delay": "1 ms",
                "within_node": {
                    "send_overhead": "50 ns",
                    "receive_overhead": "70 ns",
                    "host_times": [{"size": "500 B", "time": "20 ns"}],
                },
            },
            "job": [
                {
                    "name": "pair",
                    "nodes": 1,
                    "ranks_per_node": 2,
                    "motif": {
                        "kind": "collective",
                        "operation": "broadcast",
                        "algorithm": "binomial",
                        "message": "1 kB",
                    },
                }
            ],
        }
    )
    end = run(scenario).jobs["end_ps"][0].as_py()
    assert end == 1_000 * (50 + 40 + 300 + 100 + 70 + 40)


def test_messages_of_nccl_cost_by_way():
    """Costs of LL are what LL says, those of all-to-alls what exchanges say, others the rest; what
    a calibration writes down is what a scenario's hosts then have."""
    found = GPUS.host_model([one.start for one in GPUS.free])
    assert found.ll is not None and found.exchange is not None
    of_ll = found.in_operation("allreduce", "ll")
    assert (of_ll.send_ns, of_ll.times) == (found.ll.send_ns, found.ll.times)
    assert found.in_operation("allreduce", "simple") == found
    to_each = found.in_operation("alltoall")
    assert (to_each.receive_ns, to_each.rank_byte_ns) == (
        found.exchange.receive_ns,
        found.exchange_byte_ns,
    )
    # Longer messages than NCCL's longest stand for several, which cost beside each other.
    (_, longest), (_, beyond) = found.times[-2:]
    assert longest == beyond


OF_GPUS = """
rank_bandwidth = "5 GB/s"
[mpi]
collectives = "nccl"
[[machine.many_ranks]]
above = 16
exchange = { send_overhead = "3 us", receive_overhead = "5 us" }
[machine.shared]
per_node = 2
rank_bandwidth = "5 GB/s"
send_overhead = "1 us"
receive_overhead = "1 us"
exchange_inline = { up_to = "192 B", overhead = "10 us" }
"""


def test_short_messages_to_each_and_those_of_many_ranks_cost_their_own():
    """Up to 192 B a block is copied by its sender, 10 us for each of those on other nodes; beyond
    16 ranks a message costs its ends 6 us more."""
    predictor = Predictor(small(OF_GPUS))

    def time(block: int, nodes: int, of: str = "alltoall") -> float:
        size = block * 2 * nodes
        return predictor.predict(predictor.case(HOSTS[:nodes], of, "auto", size, 2)).median_ns

    others = 2 * (8 - 1)
    assert time(192, 8) - time(193, 8) == pytest.approx(others * 10_000, rel=0.01)
    assert time(193, 9) - time(193, 8) == pytest.approx(others * 6_000 + 2 * 8_000, rel=0.05)
    # Nothing else is in the memory of GPUs when it is sent, or waits for so many.
    assert time(192, 4, "allgather") < time(193, 4, "allgather") + 100


def test_short_messages_to_each_are_calibrated_by_themselves():
    """The rows say 14 us where the scenario says 10: what all other rows are fitted to stays."""
    scenario = small(OF_GPUS)
    predictor = Predictor(scenario)
    true = replace(HostModel.of(scenario, 2), inline=(192, 14_000.0))
    sizes = {"alltoall": range(6, 27), "allreduce": range(16, 27), "allgather": range(16, 27)}
    rows = [
        Measurement(
            source="made",
            test="nccl-tests",
            operation=operation,
            name="out of place",
            algorithm="auto",
            library="nccl",
            bytes=size,
            ranks=2 * nodes,
            per_node=2,
            iterations=20,
            statistic="mean",
            median_ns=predictor.time_ns(case, true),
            p10_ns=float("nan"),
            p90_ns=float("nan"),
            hosts=tuple(HOSTS[:nodes]),
        )
        for nodes in (2, 4)
        for operation, powers in sizes.items()
        for size in (1 << power for power in powers)
        if size >= 2 * nodes
        for case in [predictor.case(HOSTS[:nodes], operation, "auto", size, 2)]
    ]
    found = calibrate(scenario, rows)
    assert all(row.bytes >= 1 << 16 for row in found.used)
    assert found.parameters[-1].low <= found.parameters[-1].high
    assert found.host_model.inline is not None
    assert found.host_model.inline == (192, pytest.approx(14_000, rel=0.1))
    keys = fragment(found)["machine"]["shared"]["exchange_inline"]
    assert keys == {"up_to": "192 B", "overhead": f"{found.parameters[-1].value:.0f} ns"}


def test_calibration_says_what_it_needs():
    with pytest.raises(MachineError, match="found 0 that a calibration can use"):
        calibrate(small(), [])


def test_host_times_grow_by_steps():
    model = BY_SIZE.host_model([one.start for one in BY_SIZE.free])
    assert [size for size, _ in model.times] == list(MESSAGE_SIZES)
    assert all(low < high for (_, low), (_, high) in itertools.pairwise(model.times))


def test_hockney_has_no_network():
    """Recursive doubling of n ranks: log2 n times start, bytes and combining, by hand."""
    predictor = Predictor(without_network(small()))
    case = predictor.case(HOSTS, "allreduce", "recursive-doubling", 1 << 20)
    time = predictor.time_ns(case, HOCKNEY.host_model([2000.0, 0.1, 0.2]))
    assert time == pytest.approx(4 * (2000 + 0.3 * (1 << 20)), rel=1e-3)
