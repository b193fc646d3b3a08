"""More virtual channels than routing needs: packets spread over them, or they are refused."""

from __future__ import annotations

from typing import Any

import pytest

from odonata import Scenario, ScenarioError, run, verify
from odonata.names import ROUTING

LINK = {"bandwidth": "8 GB/s", "latency": "20 ns", "buffer": "512 B"}
#: Bounded, so that every channel is a queue of its own.
ROUTER = {"delay": "2 ns", "crossbar": 1.0, "credit_use": "crossbar", "output_buffer": "512 B"}

DRAGONFLY = {"family": "dragonfly", "p": 2, "a": 4, "h": 2, "g": 5}
TREE = {"family": "fat-tree", "down": [4, 4], "up": [4]}
TORUS = {"family": "torus", "size": [4, 4], "p": 2}
HYPERX = {"family": "hyperx", "size": [4, 3], "p": 2}
NODES = {"dragonfly": 40, "fat-tree": 16, "torus": 32, "hyperx": 24, "dragonfly+": 20}
#: A network for every algorithm that spreads packets, and the channels that it needs there.
NEEDED: dict[str, tuple[dict[str, Any], int]] = {
    "minimal": (DRAGONFLY, 2),
    "ecmp": (DRAGONFLY, 2),
    "valiant": (DRAGONFLY, 3),
    "ugal-l": (DRAGONFLY, 3),
    "ugal-g": (DRAGONFLY, 3),
    "par": (DRAGONFLY, 4),
    "q-adaptive": (DRAGONFLY, 5),
    "fpar": ({"family": "dragonfly+", "leaves": 2, "spines": 2, "p": 2, "h": 4, "g": 5}, 2),
    "shortest-path": (TREE, 1),
    "up-down": (TREE, 1),
    "steered": (TREE, 1),
    "dimension-order": (TORUS, 2),
    "minimal-adaptive": (TORUS, 3),
    "dimwar": (HYPERX, 2),
    "dal": (HYPERX, 4),
    "tago": (
        {"family": "reconfigurable-dragonfly", "p": 2, "a": 4, "h": 1, "g": 5},
        3,
    ),
}
#: Algorithms whose channel follows from a packet's source and destination.
REFUSED = {"dfsssp", "forwarding-tables"}


def loaded(
    network: dict[str, Any],
    algorithm: str,
    channels: int | None,
    packet: str = "256 B",
    **keys: str,
) -> Scenario:
    """Uniform traffic at three quarters of the links' rate."""
    routing: dict[str, Any] = {"algorithm": algorithm}
    if channels is not None:
        routing["virtual_channels"] = channels
    names = {"dragonfly+": ("local", "global"), "fat-tree": ("level1",)}
    names |= dict.fromkeys(("dragonfly", "reconfigurable-dragonfly"), ("local", "global"))
    links = dict.fromkeys(("terminal", *names.get(network["family"], ("local",))), LINK)
    traffic = {"pattern": "uniform-random", "message": "256 B", "load": 0.75}
    return Scenario.from_dict(
        {
            "network": {**network, "routing": routing, "links": links, "router": ROUTER},
            "simulation": {"packet": "256 B", "duration": "4 us"},
            "job": [{"nodes": NODES.get(network["family"], 40), "traffic": traffic}],
        }
    )


def test_every_algorithm_spreads_packets_or_refuses() -> None:
    assert {*NEEDED, *REFUSED} == set(ROUTING)


@pytest.mark.parametrize("algorithm", NEEDED)
def test_packets_spread_over_more_channels_and_still_cannot_deadlock(algorithm: str) -> None:
    network, needed = NEEDED[algorithm]
    alone = run(loaded(network, algorithm, None))
    assert alone.meta["virtual_channels"] == needed
    # One more than needed is shared out unevenly, where it is not the second of one.
    more = loaded(network, algorithm, needed + 1)
    spread = run(more)
    assert spread.meta["virtual_channels"] == needed + 1
    # Equal traffic, another network: packets pass each other that waited for each other.
    created, delivered = (
        [result.jobs[column].to_pylist() for result in (alone, spread)]
        for column in ("messages_created", "message_latency_mean_ps")
    )
    assert created[0] == created[1]
    assert delivered[0] != delivered[1]
    proof = verify(more)
    assert (proof.proven, proof.safe, proof.virtual_channels) == (True, True, needed + 1)
    # As many as needed, said or not, are the same.
    said = run(loaded(network, algorithm, needed))
    assert said.jobs.equals(alone.jobs)


def test_channels_by_source_and_destination_are_refused() -> None:
    needed = run(loaded(TORUS, "dfsssp", None)).meta["virtual_channels"]
    assert run(loaded(TORUS, "dfsssp", needed)).meta["virtual_channels"] == needed
    with pytest.raises(ScenarioError) as caught:
        run(loaded(TORUS, "dfsssp", needed + 1))
    said = f"network.routing.virtual_channels: found {needed + 1}; allowed: at most {needed} here"
    assert said in str(caught.value)
