"""Replications summed up as points with confidence intervals, and the CSV file that keeps them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from dragonfly.machine import Measured
from odonata.study.intervals import interval
from odonata_studies.rows import read_rows, write_rows

#: A point counts as stable if this share of what was offered in the window was delivered in it.
STABLE = 0.98


@dataclass(frozen=True)
class Point:
    """The replications of one point; the attributes are the columns of the CSV file.

    Means over replications; ``ci95`` is half the width of a 95 % confidence interval of the mean
    above it, and empty (``nan``) for a single replication.
    """

    experiment: str
    pattern: str
    routing: str
    setting: str
    load: float
    warmup_us: float
    window_us: float
    replications: int
    offered_load: float
    accepted_load: float
    accepted_load_ci95: float
    latency_mean_ns: float
    latency_mean_ns_ci95: float
    latency_p99_ns: float
    routers_visited: float
    global_utilisation_mean: float
    global_utilisation_max: float
    local_utilisation_mean: float
    local_utilisation_max: float
    direct_link_utilisation: float
    beside_direct_utilisation: float

    @property
    def stable(self) -> bool:
        """Whether the network delivered what it was offered."""
        return self.accepted_load >= STABLE * self.offered_load


def summarise(measured: Iterable[Measured]) -> list[Point]:
    """One point for all replications of the same thing, in the order of their first."""
    groups: dict[tuple[object, ...], list[Measured]] = {}
    for one in measured:
        run = one.run
        key = (run.experiment, run.pattern, run.routing, run.setting, run.load, run.warmup_us)
        groups.setdefault(key, []).append(one)
    return [_point(group) for group in groups.values()]


def _point(group: Sequence[Measured]) -> Point:
    run = group[0].run

    def mean(attribute: str) -> float:
        return interval([getattr(one, attribute) for one in group]).mean

    accepted = interval([one.accepted for one in group])
    latency = interval([one.latency_mean_ns for one in group])
    return Point(
        experiment=run.experiment,
        pattern=run.pattern,
        routing=run.routing,
        setting=run.setting,
        load=run.load,
        warmup_us=run.warmup_us,
        window_us=run.window_us,
        replications=len(group),
        offered_load=mean("offered"),
        accepted_load=accepted.mean,
        accepted_load_ci95=accepted.half_width,
        latency_mean_ns=latency.mean,
        latency_mean_ns_ci95=latency.half_width,
        latency_p99_ns=mean("latency_p99_ns"),
        routers_visited=mean("routers"),
        global_utilisation_mean=mean("global_mean"),
        global_utilisation_max=mean("global_max"),
        local_utilisation_mean=mean("local_mean"),
        local_utilisation_max=mean("local_max"),
        direct_link_utilisation=mean("direct"),
        beside_direct_utilisation=mean("beside_direct"),
    )


def curve_of(points: Iterable[Point], pattern: str, routing: str) -> list[Point]:
    """The points of one curve, by load."""
    wanted = ("curve", pattern, routing)
    curve = [p for p in points if (p.experiment, p.pattern, p.routing) == wanted]
    return sorted(curve, key=lambda point: point.load)


def write(points: Iterable[Point], path: Path) -> None:
    """Writes the CSV file; numbers have five significant digits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_rows(path, [{key: _cell(value) for key, value in vars(one).items()} for one in points])


def read(path: Path) -> list[Point]:
    """Reads a CSV file that ``write`` wrote."""
    types = {"int": int, "float": lambda text: float(text) if text else math.nan, "str": str}
    columns = {column.name: str(column.type) for column in fields(Point)}
    return [
        Point(**{name: types[kind](row[name]) for name, kind in columns.items()})
        for row in read_rows(path)
    ]


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.5g}"
    return str(value)
