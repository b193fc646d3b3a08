"""Latency curves of BookSim 2 (Jiang et al., ISPASS 2013) on a mesh and on flattened butterflies.

Two public repositories hold what BookSim printed: ``jandersson/Booksim_Projects`` (``dor.csv`` of
commit f864528, BookSim's defaults on an 8 x 8 mesh) and ``sts08015/BookSim-tutorial`` (logs with
their configuration in ``tutorials/1`` of commit 2bd7d88). family-saturation.md says how our
routers are made the same.
"""

from __future__ import annotations

from typing import Any

import pytest

from odonata import Scenario, run

#: Packets of one flit per node and cycle: mean latency in cycles.
MESH = {0.1: 33.6457, 0.2: 34.6208, 0.3: 36.4722, 0.35: 38.5494, 0.38: 42.1607, 0.4: 46.7399}
BUTTERFLY = {0.1: 9.54173, 0.2: 9.75249, 0.3: 10.0154, 0.4: 10.4072, 0.5: 11.0406, 0.6: 12.4394}
BUTTERFLY_2D = {0.025: 12.1729, 0.2: 12.6501, 0.4: 13.5147, 0.6: 15.9503}

#: Network, nodes, cycles that a flit spends in a router, flits that an input holds, the crossbar.
Router = tuple[dict[str, Any], int, float, int, float]
#: Four stages, the first in the cycle of arrival; 16 channels of 8 flits.
ON_MESH: Router = ({"family": "torus", "size": [8, 8], "wrap": [False] * 2}, 64, 3.0, 128, 1.0)
#: The same stages at 1.6 a cycle, in whole ones: 2, 2, 2, 1 or 2 cycles later; 2 channels of 16.
ON_BUTTERFLY: Router = ({"family": "hyperx", "size": [16], "p": 16}, 256, 1.8, 32, 1.6)
ON_BUTTERFLY_2D: Router = ({"family": "hyperx", "size": [6, 6], "p": 6}, 216, 1.8, 32, 1.6)


def latency(router: Router, load: float, crossbar: float | None = None) -> float:
    """Mean latency of packets in cycles; a cycle is 1 ns and a flit 8 bytes."""
    network, nodes, delay, flits, speedup = router
    link = {"bandwidth": "8 GB/s", "latency": "1 ns", "buffer": f"{flits * 8} B"}
    scenario = {
        "network": {
            **network,
            "routing": "dimension-order",
            "links": {"terminal": link, "local": link},
            "router": {
                "delay": f"{round(delay * 1000)} ps",
                "credit_delay": "2 ns",
                "flit": "8 B",
                "crossbar": crossbar or speedup,
                "credit_use": "crossbar",
                "output_buffer": f"{flits * 8} B",
            },
            # Packets to oneself pass a router and two channels in BookSim.
            "nic": {
                "loopback_latency": f"{round((delay + 3) * 1000)} ps",
                "loopback_bandwidth": "8 GB/s",
            },
        },
        "simulation": {"duration": "8 us", "warmup": "4 us", "packet": "8 B"},
        "job": [
            {
                "nodes": nodes,
                "traffic": {
                    "pattern": "uniform-or-self",
                    "process": "bernoulli",
                    "slot": "1 ns",
                    "message": "8 B",
                    "load": load,
                },
            }
        ],
    }
    job = run(Scenario.from_dict(scenario)).to_pandas("jobs").iloc[0]
    return float(job["message_latency_mean_ps"]) / 1000


@pytest.mark.parametrize("load", MESH)
def test_a_mesh_has_booksims_latency_up_to_saturation(load: float) -> None:
    assert latency(ON_MESH, load) == pytest.approx(MESH[load], rel=0.05)


@pytest.mark.parametrize("load", [0.1, 0.2, 0.3, 0.4])
def test_a_flattened_butterfly_has_booksims_latency_at_half_its_saturation(load: float) -> None:
    assert latency(ON_BUTTERFLY, load) == pytest.approx(BUTTERFLY[load], rel=0.05)


@pytest.mark.parametrize("load", [0.025, 0.2, 0.4])
def test_one_of_two_dimensions_too(load: float) -> None:
    assert latency(ON_BUTTERFLY_2D, load) == pytest.approx(BUTTERFLY_2D[load], rel=0.05)


def test_beyond_that_booksims_allocators_act_as_a_slower_crossbar() -> None:
    # A channel passes a packet of one flit in three stages at least (routing, channel, switch), so
    # that the two of an input pass 2 · 1.6 / 3 = 1.07 a cycle where all allocations succeed.
    for router, curve in ((ON_BUTTERFLY, BUTTERFLY), (ON_BUTTERFLY_2D, BUTTERFLY_2D)):
        fast, slow = latency(router, 0.6), latency(router, 0.6, crossbar=2 * 1.6 / 3)
        assert fast < curve[0.6] < slow
