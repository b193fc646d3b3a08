"""The measured tables of ``pages/dragonfly-theory.md``, kept between markers in the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

from dragonfly.machine import MACHINE, ROUTINGS
from dragonfly.points import Point, curve_of
from odonata_studies.marked import markdown, with_tables

#: Saturation by latency: the load at which the mean latency is this multiple of that at zero load.
FACTOR = 3

_PATTERNS = {"uniform": "uniform", "adv+1": "ADV+1"}

#: Saturation throughput in theory, and whether it is an upper bound that need not be reached.
THEORY: dict[tuple[str, str], tuple[float, str]] = {
    ("uniform", "minimal"): (MACHINE.uniform_minimal(), "1"),
    ("uniform", "valiant-group"): (MACHINE.uniform_valiant_group(), ""),
    ("uniform", "valiant-router"): (MACHINE.uniform_valiant_router(), ""),
    ("uniform", "ugal-l"): (MACHINE.uniform_minimal(), "1"),
    ("uniform", "ugal-g"): (MACHINE.uniform_minimal(), "1"),
    ("uniform", "par"): (MACHINE.uniform_minimal(), "1"),
    ("adv+1", "minimal"): (MACHINE.adversarial_minimal(), "1/32"),
    ("adv+1", "valiant-group"): (MACHINE.adversarial_valiant(), "31/64"),
    ("adv+1", "valiant-router"): (MACHINE.adversarial_valiant(), "31/64"),
    ("adv+1", "ugal-l"): (MACHINE.adversarial_ugal_local(), "31/84"),
    ("adv+1", "ugal-g"): (MACHINE.adversarial_adaptive(), "33/64"),
    ("adv+1", "par"): (MACHINE.adversarial_adaptive(), "33/64"),
}


def update(page: Path, points: Sequence[Point]) -> None:
    """Replaces the tables of the page."""
    page.write_text(updated(page.read_text(encoding="utf-8"), points), encoding="utf-8")


def updated(text: str, points: Sequence[Point]) -> str:
    """The page's text with the tables of these points.

    Raises:
        ValueError: If the page lacks the markers of a table.
    """
    return with_tables(text, {name: table(points) for name, table in TABLES.items()})


def saturation_table(points: Sequence[Point]) -> str:
    """Theory beside measurement for every pattern and algorithm."""
    rows = []
    for pattern, routing in THEORY:
        bound, fraction = THEORY[pattern, routing]
        saturated = _one(points, "saturation", pattern, routing)
        again = _find(points, "twice the warm-up", pattern, routing)
        curve = curve_of(points, pattern, routing)
        rows.append(
            [
                _PATTERNS[pattern],
                ROUTINGS[routing].label,
                f"{bound:.4f}" + (f" = {fraction}" if "/" in fraction else ""),
                _with_ci(saturated.accepted_load, saturated.accepted_load_ci95, 4),
                f"{100 * (saturated.accepted_load / bound - 1):+.1f} %",
                f"{curve[0].latency_mean_ns:.0f} ns",
                _crossing(curve),
                ""
                if again is None
                else f"{100 * (again.accepted_load / saturated.accepted_load - 1):+.2f} %",
            ]
        )
    return markdown(
        [
            *("traffic", "routing", "bound in theory", "accepted under overload"),
            *("against the bound", "latency at zero load"),
            f"load at {FACTOR} × that latency",
            "with twice the warm-up",
        ],
        rows,
        labels=2,
    )


def links_table(points: Sequence[Point]) -> str:
    """How busy links are under overload."""
    rows = []
    for pattern, routing in THEORY:
        point = _one(points, "saturation", pattern, routing)
        direct, beside = point.direct_link_utilisation, point.beside_direct_utilisation
        rows.append(
            [
                _PATTERNS[pattern],
                ROUTINGS[routing].label,
                f"{point.global_utilisation_mean:.2f}",
                f"{point.global_utilisation_max:.2f}",
                "" if math.isnan(direct) else f"{direct:.2f}",
                "" if math.isnan(beside) else f"{beside:.2f}",
                f"{point.local_utilisation_mean:.2f}",
                f"{point.local_utilisation_max:.2f}",
            ]
        )
    return markdown(
        [
            *("traffic", "routing", "global, mean", "global, busiest", "direct"),
            *("beside the direct", "local, mean", "local, busiest"),
        ],
        rows,
        labels=2,
    )


def candidates_table(points: Sequence[Point]) -> str:
    """UGAL-L under ADV+1: prediction and measurement as what it compares changes."""
    base = _one(points, "saturation", "adv+1", "ugal-l")
    predicted = {
        "1 candidate": MACHINE.adversarial_ugal_local(),
        "2 candidates": MACHINE.adversarial_ugal_local(2),
        "4 candidates": MACHINE.adversarial_ugal_local(4),
        "1 candidate, via node": MACHINE.adversarial_ugal_local_node(),
    }
    rows = []
    for setting, bound in predicted.items():
        point = (
            base
            if setting == "1 candidate"
            else _one(points, "candidates", "adv+1", "ugal-l", setting=setting)
        )
        rows.append(
            [
                setting,
                f"{bound:.3f}",
                _with_ci(point.accepted_load, point.accepted_load_ci95, 3),
                f"{point.global_utilisation_mean:.2f}",
                f"{point.direct_link_utilisation:.2f}",
            ]
        )
    return markdown(
        [
            *("UGAL-L draws", "bound in theory", "accepted under overload"),
            *("global links, mean", "the direct links"),
        ],
        rows,
        labels=1,
    )


def hump_table(points: Sequence[Point]) -> str:
    """Latencies of UGAL-L under ADV+1 beside those of Valiant and UGAL-G at the same load."""
    rows = []
    for load in (0.03, 0.1, 0.2, 0.3):
        row = [f"{load:g}"]
        for routing in ("ugal-l", "ugal-g", "par"):
            point = next(p for p in curve_of(points, "adv+1", routing) if p.load == load)
            row.append(f"{point.latency_mean_ns:.0f} / {point.latency_p99_ns:,.0f}")
        local = next(p for p in curve_of(points, "adv+1", "ugal-l") if p.load == load)
        row.append(f"{local.direct_link_utilisation:.2f}")
        share = local.direct_link_utilisation / (MACHINE.nodes_per_group * local.accepted_load)
        row.append(f"{100 * share:.0f} %")
        rows.append(row)
    return markdown(
        [
            *("offered load", "UGAL-L, mean / p99 (ns)", "UGAL-G", "PAR"),
            *("UGAL-L: the direct links", "UGAL-L: packets routed minimally"),
        ],
        rows,
        labels=0,
    )


def buffer_table(points: Sequence[Point]) -> str:
    """Saturation throughput and UGAL-L's latency by buffer size."""
    rows = []
    for setting in _settings(points, "buffer"):

        def accepted(pattern: str, routing: str, setting: str = setting) -> str:
            point = _one(points, "buffer", pattern, routing, setting=setting, load=1.0)
            return f"{point.accepted_load:.3f}"

        latency = _one(points, "buffer", "adv+1", "ugal-l", setting=setting, load=0.2)
        rows.append(
            [
                setting,
                accepted("uniform", "minimal"),
                accepted("adv+1", "valiant-group"),
                accepted("adv+1", "ugal-l"),
                accepted("adv+1", "ugal-g"),
                f"{latency.latency_mean_ns:.0f} ns",
            ]
        )
    return markdown(
        [
            *("buffer per virtual channel", "uniform, minimal", "ADV+1, Valiant via group"),
            *("ADV+1, UGAL-L", "ADV+1, UGAL-G", "latency of UGAL-L, ADV+1, load 0.2"),
        ],
        rows,
        labels=0,
    )


def threshold_table(points: Sequence[Point]) -> str:
    """Latencies of the adaptive algorithms by threshold."""
    rows = []
    for setting in _settings(points, "threshold"):
        row = [setting]
        for pattern, load in (("uniform", 0.7), ("adv+1", 0.1), ("adv+1", 0.3)):
            three = [
                _one(points, "threshold", pattern, routing, setting=setting, load=load)
                for routing in ("ugal-l", "ugal-g", "par")
            ]
            row.append(" / ".join(f"{point.latency_mean_ns:.0f}" for point in three))
        rows.append(row)
    return markdown(
        ["threshold", "uniform, load 0.7", "ADV+1, load 0.1", "ADV+1, load 0.3"], rows, labels=0
    )


def adv_h_table(points: Sequence[Point]) -> str:
    """ADV+1 and ADV+h under Valiant via groups and via routers."""
    rows = []
    for label, experiment, pattern in (
        ("ADV+1", "saturation", "adv+1"),
        ("ADV+4", "ADV+h", "adv+4"),
    ):
        for routing in ("valiant-group", "valiant-router"):
            bound = MACHINE.adversarial_valiant()
            if (pattern, routing) == ("adv+4", "valiant-group"):
                bound = MACHINE.adversarial_h_valiant_group()
            point = _one(points, experiment, pattern, routing)
            rows.append(
                [
                    label,
                    ROUTINGS[routing].label,
                    f"{bound:.3f}",
                    _with_ci(point.accepted_load, point.accepted_load_ci95, 3),
                    f"{point.global_utilisation_mean:.2f}",
                    f"{point.local_utilisation_mean:.2f}",
                    f"{point.local_utilisation_max:.2f}",
                ]
            )
    return markdown(
        [
            *("traffic", "routing", "bound in theory", "accepted under overload", "global, mean"),
            *("local, mean", "local, busiest"),
        ],
        rows,
        labels=2,
    )


#: What stands between the markers of each name.
TABLES: dict[str, Callable[[Sequence[Point]], str]] = {
    "saturation": saturation_table,
    "links": links_table,
    "candidates": candidates_table,
    "hump": hump_table,
    "buffers": buffer_table,
    "thresholds": threshold_table,
    "adv+h": adv_h_table,
}


def _crossing(curve: Sequence[Point]) -> str:
    """The load at which the latency crosses its multiple, interpolated between measured points."""
    limit = FACTOR * curve[0].latency_mean_ns
    for low, high in pairwise(curve):
        if high.latency_mean_ns > limit:
            part = (limit - low.latency_mean_ns) / (high.latency_mean_ns - low.latency_mean_ns)
            return f"{low.load + part * (high.load - low.load):.3f}"
    return f"above {curve[-1].load:g}"


def _find(
    points: Sequence[Point],
    experiment: str,
    pattern: str,
    routing: str,
    setting: str = "",
    load: float | None = None,
) -> Point | None:
    wanted = (experiment, pattern, routing, setting)
    for point in points:
        if (point.experiment, point.pattern, point.routing, point.setting) == wanted and (
            load is None or point.load == load
        ):
            return point
    return None


def _one(
    points: Sequence[Point],
    experiment: str,
    pattern: str,
    routing: str,
    setting: str = "",
    load: float | None = None,
) -> Point:
    point = _find(points, experiment, pattern, routing, setting, load)
    if point is None:
        raise ValueError(f"not measured: {experiment}, {pattern}, {routing}, {setting}, {load}")
    return point


def _settings(points: Sequence[Point], experiment: str) -> list[str]:
    return list(dict.fromkeys(point.setting for point in points if point.experiment == experiment))


def _with_ci(value: float, ci95: float, digits: int) -> str:
    if math.isnan(ci95):
        return f"{value:.{digits}f}"
    return f"{value:.{digits}f} ± {max(ci95, 10**-digits):.{digits}f}"
