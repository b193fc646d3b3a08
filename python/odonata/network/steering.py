"""Bandwidth steering of uplinks in fat trees: where optical switches lead them.

Uplinks of top-of-rack switches go through optical switches to aggregation switches of several
pods (Michelogiannakis et al., "Bandwidth steering in HPC using silicon nanophotonics", SC 2019). A
switch that leads an uplink of pod *i* to pod *j* takes traffic from *i* to *j* off the core of the
tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from odonata import _engine, names
from odonata.errors import Problem, ScenarioError


@dataclass(frozen=True)
class UplinkSwitch:
    """An optical switch between uplinks and aggregation switches, with circuits one way.

    Attributes:
        ingress: Pod, from 0, of the top-of-rack switch behind each ingress port.
        egress: Pod of the aggregation switch behind each egress port; as many ports as ingress
            ports.
    """

    ingress: tuple[int, ...]
    egress: tuple[int, ...]


@dataclass(frozen=True)
class Uplinks:
    """How optical switches are set.

    Attributes:
        ports: Egress port of each ingress port. Shape: switches × radix.
        links: Uplinks from pod to pod, *d_ij*. Shape: pods × pods.
        value: Sum over pairs of pods of their traffic times 1 + 1/2 + … + 1/*d_ij*, in the unit of
            the traffic: what the weights of the algorithm add up to.
    """

    ports: list[list[int]]
    links: NDArray[np.int64]
    value: float


def steer_uplinks(
    traffic: ArrayLike,
    switches: Iterable[UplinkSwitch],
    steering: names.UplinkSteering = "matching",
) -> Uplinks:
    """Sets optical switches for a traffic matrix.

    ``matching`` is algorithm 1 of Michelogiannakis et al. 2019, section 4.5: one switch after the
    other gets the matching of greatest weight, where an uplink from pod *i* to pod *j* weighs
    *t_ij* / (*d_ij* + 1). Of equal weights links within a pod come first. ``min-max`` and
    ``birkhoff`` first decide on the numbers of uplinks: so that the busiest uplink carries as
    little as possible (as in Flexfly, Wen et al., SC 2016), or by a Birkhoff–von Neumann
    decomposition of the traffic, scaled to be doubly stochastic.

    Args:
        traffic: What pods send to each other, in any unit, at least 0. The diagonal is what goes
            from one top-of-rack switch of a pod to another of it. Shape: pods × pods, by sender.
        switches: The switches, in the order in which they are set.
        steering: How circuits are chosen.

    Returns:
        The settings.

    Raises:
        ScenarioError: If the matrix is not square or has other numbers, a switch does not have the
            same number of ports on both sides, or a port belongs to a pod that the matrix does not
            have.
    """
    amounts, given = _matrix(traffic), list(switches)
    try:
        ports = _engine.steer_uplinks(
            len(amounts),
            amounts.ravel().tolist(),
            [(list(switch.ingress), list(switch.egress)) for switch in given],
            steering,
        )
    except ValueError as error:
        raise ScenarioError([Problem("steer_uplinks", str(error))]) from None
    return _settings(amounts, given, ports)


def optimal_uplinks(
    traffic: ArrayLike, switches: Iterable[UplinkSwitch], *, time_limit_s: float | None = None
) -> Uplinks:
    """Sets all optical switches at once, for the greatest :attr:`Uplinks.value`.

    An integer program, solved by HiGHS; for small cases, to see how far :func:`steer_uplinks` is
    from the best.

    Args:
        traffic: As for :func:`steer_uplinks`.
        switches: As for :func:`steer_uplinks`.
        time_limit_s: Time in seconds after which to give up.

    Returns:
        The settings.

    Raises:
        ScenarioError: As :func:`steer_uplinks`, or if no optimum is found in time.
    """
    given = list(switches)
    greedy = steer_uplinks(traffic, given)  # Checks both.
    amounts = _matrix(traffic)
    found = _solve(amounts, given, greedy.links.sum(axis=1), time_limit_s)
    return _settings(amounts, given, found)


def _matrix(traffic: ArrayLike) -> NDArray[np.float64]:
    try:
        amounts = np.asarray(traffic, dtype=float)
    except (TypeError, ValueError) as error:
        raise ScenarioError([Problem("traffic", f"not a matrix of numbers: {error}")]) from None
    if amounts.ndim != 2 or amounts.shape[0] != amounts.shape[1]:
        shape = " × ".join(str(size) for size in amounts.shape) or "a number"
        raise ScenarioError([Problem("traffic", f"found {shape}; allowed: pods × pods")])
    return amounts


def _settings(
    amounts: NDArray[np.float64], switches: Sequence[UplinkSwitch], ports: list[list[int]]
) -> Uplinks:
    links = np.zeros(amounts.shape, dtype=np.int64)
    for switch, matching in zip(switches, ports, strict=True):
        for pod, port in zip(switch.ingress, matching, strict=True):
            links[pod, switch.egress[port]] += 1
    harmonic = np.concatenate([[0.0], np.cumsum(1 / np.arange(1, links.max(initial=0) + 1))])
    return Uplinks(ports, links, float((amounts * harmonic[links]).sum()))


def _solve(
    amounts: NDArray[np.float64],
    switches: Sequence[UplinkSwitch],
    uplinks: NDArray[np.int64],
    time_limit_s: float | None,
) -> list[list[int]]:
    """Egress ports of the best settings; ``uplinks``: of each pod, by which ``d_ij`` is bounded.

    Variables: whether ingress port *a* of switch *o* leads to egress port *b*; then for every pair
    of pods whether it has at least *k* links, worth *t_ij* / *k*, for k = 1, 2, ….
    """
    from scipy import optimize, sparse

    arcs = [
        (number, a, b, switch.ingress[a], switch.egress[b])
        for number, switch in enumerate(switches)
        for a in range(len(switch.ingress))
        for b in range(len(switch.egress))
    ]
    pods = len(amounts)
    steps = [
        (i, j, k)
        for i in range(pods)
        for j in range(pods)
        if amounts[i, j] > 0
        for k in range(1, int(uplinks[i]) + 1)
    ]
    gains = np.array([0.0] * len(arcs) + [amounts[i, j] / k for i, j, k in steps])
    rows: dict[Any, int] = {}
    entries: list[tuple[int, int, float]] = []
    for column, (number, a, b, i, j) in enumerate(arcs):
        for side in (("in", number, a), ("out", number, b)):
            entries.append((rows.setdefault(side, len(rows)), column, 1.0))
        if amounts[i, j] > 0:
            entries.append((rows.setdefault(("pair", i, j), len(rows)), column, -1.0))
    for column, (i, j, _) in enumerate(steps, start=len(arcs)):
        entries.append((rows.setdefault(("pair", i, j), len(rows)), column, 1.0))
    places, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
    table = sparse.csr_array((values, (places, columns)), shape=(len(rows), len(gains)))
    exactly = [1.0 if key[0] != "pair" else -np.inf for key in rows]
    most = [1.0 if key[0] != "pair" else 0.0 for key in rows]
    solution = optimize.milp(
        -gains / max(float(amounts.max(initial=0.0)), 1e-300),
        constraints=optimize.LinearConstraint(table, exactly, most),
        integrality=np.ones(len(gains)),
        bounds=optimize.Bounds(0, 1),
        options={} if time_limit_s is None else {"time_limit": time_limit_s},
    )
    if solution.status != 0:
        raise ScenarioError([Problem("optimal_uplinks", f"no optimum found: {solution.message}")])
    ports: list[list[int]] = [[0] * len(switch.ingress) for switch in switches]
    for chosen, (number, a, b, _, _) in zip(solution.x, arcs, strict=False):
        if chosen > 0.5:
            ports[number][a] = b
    return ports
