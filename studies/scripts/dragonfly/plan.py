"""Which simulations the study consists of."""

from __future__ import annotations

from dataclasses import dataclass

from dragonfly.machine import BUFFER_KIB, THRESHOLD_KIB, Run

#: Routing algorithms in the order of legends and tables.
ORDER = ("minimal", "valiant-group", "valiant-router", "ugal-l", "ugal-g", "par")

_VALIANT_ADV = (0.02, 0.1, 0.2, 0.3, 0.36, 0.4, 0.43, 0.45, 0.46, 0.47, 0.48, 0.5)
_LOW = (0.01, 0.03, 0.06, 0.1)

#: Offered loads of the curves, by pattern and routing; denser where the latency rises.
CURVES: dict[tuple[str, str], tuple[float, ...]] = {
    **{
        ("uniform", routing): (0.02, 0.2, 0.4, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.96, 1.0)
        for routing in ("minimal", "ugal-l", "ugal-g", "par")
    },
    **{
        ("uniform", routing): (0.02, 0.1, 0.2, 0.3, 0.36, 0.4, 0.43, 0.46, 0.48, 0.5, 0.52)
        for routing in ("valiant-group", "valiant-router")
    },
    ("adv+1", "minimal"): (0.002, 0.01, 0.015, 0.02, 0.024, 0.027, 0.029, 0.03, 0.031, 0.033),
    ("adv+1", "valiant-group"): _VALIANT_ADV,
    ("adv+1", "valiant-router"): _VALIANT_ADV,
    ("adv+1", "ugal-l"): (*_LOW, 0.15, 0.2, 0.25, 0.3, 0.33, 0.35, 0.36, 0.37, 0.39),
    ("adv+1", "ugal-g"): (*_LOW, 0.2, 0.3, 0.36, 0.4, 0.44, 0.47, 0.49, 0.5, 0.51, 0.53),
    ("adv+1", "par"): (*_LOW, 0.2, 0.3, 0.36, 0.4, 0.43, 0.45, 0.46, 0.47, 0.48, 0.5),
}

#: Offered load at which saturation throughput is measured.
OVERLOAD = 1.0


@dataclass(frozen=True)
class Effort:
    """How much is simulated.

    Attributes:
        curve_seeds: Replications of every point of a curve.
        saturation_seeds: Replications of every saturation throughput.
        curve_us: Warm-up and window of a point of a curve.
        saturation_us: The same of a saturation throughput.
        slow_us: The same where queues fill slowly: UGAL-L under ADV+1, near and beyond saturation.
        every: Takes one of every so many loads of a curve, from the last.
        asides: Whether the experiments around the curves are done as well.
    """

    curve_seeds: int = 3
    saturation_seeds: int = 5
    curve_us: tuple[float, float] = (10, 8)
    saturation_us: tuple[float, float] = (20, 10)
    slow_us: tuple[float, float] = (100, 25)
    every: int = 1
    asides: bool = True


FULL = Effort()
QUICK = Effort(
    curve_seeds=1,
    saturation_seeds=1,
    curve_us=(5, 4),
    saturation_us=(8, 4),
    slow_us=(30, 4),
    every=2,
    asides=False,
)


def runs(effort: Effort) -> list[Run]:
    """All simulations."""
    planned = [*_curves(effort), *_saturation(effort)]
    if effort.asides:
        planned += [*_twice_the_warmup(effort), *_candidates(effort), *_parameters(effort)]
        planned += _detours_of_groups(effort)
    return planned


def _slow(pattern: str, routing: str, load: float) -> bool:
    return (pattern, routing) == ("adv+1", "ugal-l") and load >= 0.33


def _curves(effort: Effort) -> list[Run]:
    return [
        Run("curve", pattern, routing, load, seed, *times)
        for (pattern, routing), loads in CURVES.items()
        for load in loads[:: -effort.every][::-1]
        for times in [effort.slow_us if _slow(pattern, routing, load) else effort.curve_us]
        for seed in range(1, effort.curve_seeds + 1)
    ]


def _saturated(
    effort: Effort, experiment: str, pattern: str, routing: str, seeds: int, **changes: object
) -> list[Run]:
    times = effort.slow_us if _slow(pattern, routing, OVERLOAD) else effort.saturation_us
    return [
        Run(experiment, pattern, routing, OVERLOAD, seed, *times, **changes)  # type: ignore[arg-type]
        for seed in range(1, seeds + 1)
    ]


def _saturation(effort: Effort) -> list[Run]:
    return [
        run
        for pattern in ("uniform", "adv+1")
        for routing in ORDER
        for run in _saturated(effort, "saturation", pattern, routing, effort.saturation_seeds)
    ]


def _twice_the_warmup(effort: Effort) -> list[Run]:
    """The saturation throughputs again, with the warm-up doubled."""
    again = []
    for run in _saturation(effort):
        if run.seed == 1:
            again.append(
                Run(
                    "twice the warm-up",
                    run.pattern,
                    run.routing,
                    run.load,
                    run.seed,
                    2 * run.warmup_us,
                    run.window_us,
                )
            )
    return again


def _candidates(effort: Effort) -> list[Run]:
    """UGAL-L with what it compares changed: how often are both candidates behind one port?"""
    changes = {
        "2 candidates": {"candidates": 2},
        "4 candidates": {"candidates": 4},
        "1 candidate, via node": {"via": "node"},
    }
    return [
        run
        for setting, routing_changes in changes.items()
        for run in _saturated(
            effort,
            "candidates",
            "adv+1",
            "ugal-l",
            2,
            setting=setting,
            routing_changes=routing_changes,
        )
    ]


def _parameters(effort: Effort) -> list[Run]:
    """Buffers and thresholds other than the study's."""
    planned = []
    for kib in (2, 4, BUFFER_KIB, 16):
        setting = {"setting": f"{kib} KiB", "buffer_kib": kib}
        for pattern, routing in (
            ("uniform", "minimal"),
            ("adv+1", "valiant-group"),
            ("adv+1", "ugal-l"),
            ("adv+1", "ugal-g"),
        ):
            planned += _saturated(effort, "buffer", pattern, routing, 1, **setting)
        planned.append(Run("buffer", "adv+1", "ugal-l", 0.2, 1, *effort.curve_us, **setting))
    for kib in (0, 1, THRESHOLD_KIB, 16):
        for pattern, load in (("uniform", 0.7), ("adv+1", 0.1), ("adv+1", 0.3)):
            for routing in ("ugal-l", "ugal-g", "par"):
                planned.append(
                    Run(
                        "threshold",
                        pattern,
                        routing,
                        load,
                        1,
                        *effort.curve_us,
                        setting=f"{kib} KiB",
                        routing_changes={"threshold": f"{kib} KiB"},
                    )
                )
    return planned


def _detours_of_groups(effort: Effort) -> list[Run]:
    """ADV+h, where Valiant via a group meets one local link in every intermediate group."""
    return [
        run
        for routing in ("valiant-group", "valiant-router")
        for run in _saturated(effort, "ADV+h", "adv+4", routing, 2)
    ]
