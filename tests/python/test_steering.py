"""Optical switches between uplinks and pods of a fat tree."""

from __future__ import annotations

import numpy as np
import pytest

from odonata import ScenarioError, UplinkSwitch, optimal_uplinks, steer_uplinks


def one_port_per_pod(pods: int, radix: int, count: int, seed: int) -> list[UplinkSwitch]:
    """Switches of which each has ports of ``radix`` pods drawn, the same on either side."""
    draws = np.random.default_rng(seed)
    drawn = [tuple(draws.permutation(pods)[:radix].tolist()) for _ in range(count)]
    return [UplinkSwitch(pods_of_switch, pods_of_switch) for pods_of_switch in drawn]


def test_what_is_set_is_counted_and_valued() -> None:
    # Pod 0 sends to pod 1 only; all links that can lead there do.
    switches = [UplinkSwitch((0, 1), (0, 1)), UplinkSwitch((0, 1), (1, 0))]
    found = steer_uplinks([[0, 6], [0, 0]], switches)
    assert found.ports == [[1, 0], [0, 1]]
    assert found.links.tolist() == [[0, 2], [2, 0]]
    assert found.value == 6 * (1 + 1 / 2)


@pytest.mark.parametrize("seed", range(12))
def test_one_switch_after_the_other_is_near_the_optimum(seed: int) -> None:
    # Where every switch has one port of a pod, its matching adds exactly what the weights say, so
    # that the greedy settings have at least half of the greatest value (Fisher, Nemhauser and
    # Wolsey 1978: each switch chooses from a set of its own, and additions only get less).
    draws = np.random.default_rng(seed)
    traffic = draws.pareto(1.2, (6, 6))
    switches = one_port_per_pod(6, 4, 5, seed)
    greedy, best = steer_uplinks(traffic, switches), optimal_uplinks(traffic, switches)
    assert best.links.sum() == greedy.links.sum() == 5 * 4
    assert 0.5 * best.value <= greedy.value <= best.value * (1 + 1e-9)


def test_the_optimum_beats_the_order_of_switches() -> None:
    # The first switch takes the largest flow, 0 to 1, although only it can serve 0 to 2; the
    # second, which could have taken it, is left with a second link.
    traffic = [[0, 10, 9, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    switches = [UplinkSwitch((0, 3), (1, 2)), UplinkSwitch((0, 3), (1, 3))]
    greedy, best = steer_uplinks(traffic, switches), optimal_uplinks(traffic, switches)
    assert greedy.value == 10 * 1.5
    assert best.value == pytest.approx(10 + 9)


@pytest.mark.parametrize(
    ("traffic", "switches", "words"),
    [
        ([[1, 2, 3], [4, 5, 6]], [], "found 2 × 3; allowed: pods × pods"),
        ([["a"]], [], "not a matrix of numbers"),
        ([[0, -1], [0, 0]], [], "pod 0 sends -1 to pod 1"),
        ([[0, float("nan")], [0, 0]], [], "pod 0 sends NaN"),
        ([[0, 1], [1, 0]], [UplinkSwitch((0,), (0, 1))], "1 ingress and 2 egress ports"),
        ([[0, 1], [1, 0]], [UplinkSwitch((0,), (2,))], "a port of pod 2"),
    ],
    ids=str,
)
def test_flaws_are_told(
    traffic: list[list[float]], switches: list[UplinkSwitch], words: str
) -> None:
    for steer in (steer_uplinks, optimal_uplinks):
        with pytest.raises(ScenarioError) as error:
            steer(traffic, switches)
        assert words in str(error.value)
