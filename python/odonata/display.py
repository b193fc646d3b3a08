"""Numbers as people read them: three digits and the unit that suits their size.

The functions take base units (picoseconds, bytes, bytes per second). ``None`` and NaN mean that
there is no value and show as a dash.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

NO_VALUE = "–"

_DURATIONS = [(1.0, "ps"), (1e3, "ns"), (1e6, "µs"), (1e9, "ms"), (1e12, "s")]
_PREFIXES = [(1.0, ""), (1e3, "k"), (1e6, "M"), (1e9, "G"), (1e12, "T"), (1e15, "P")]


def scale_for(largest: float, kind: str) -> tuple[float, str]:
    """The factor and unit in which values up to ``largest`` read best on an axis.

    Args:
        largest: In base units.
        kind: ``duration`` (ps), ``size`` (B) or ``rate`` (B/s).

    Returns:
        Divide base units by the first to get the second.
    """
    if kind == "duration":
        scales = _DURATIONS
    else:
        unit = {"size": "B", "rate": "B/s"}[kind]
        scales = [(factor, prefix + unit) for factor, prefix in _PREFIXES]
    return _fitting_scale(largest, scales)


def tick(value: float, kind: str) -> str:
    """The label of a round value on an axis, without digits that say nothing, e.g. ``5 MB``.

    Args:
        value: In base units.
        kind: As of :func:`scale_for`.
    """
    scale, unit = scale_for(value, kind)
    return f"{value / scale:g} {unit}"


def duration(ps: float | None) -> str:
    """A duration given in picoseconds, e.g. ``1.25 µs``; minutes and hours above 100 s."""
    if ps is None or math.isnan(ps):
        return NO_VALUE
    seconds = ps / 1e12
    if seconds >= 100:
        return clock(seconds)
    return _with_unit(ps, _DURATIONS)


def span(seconds: float | None) -> str:
    """A time of a log as people read it: ``45 s``, ``12.5 min``, ``3.2 h``, ``333 d``."""
    if seconds is None or math.isnan(seconds):
        return NO_VALUE
    for length, unit in ((2 * 86400, "d"), (2 * 3600, "h"), (120, "min")):
        if seconds >= length:
            divisor = {"d": 86400, "h": 3600, "min": 60}[unit]
            value = seconds / divisor
            return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
    if seconds == int(seconds):
        return f"{seconds:.0f} s"
    return f"{seconds:.1f} s" if seconds >= 1 else _with_unit(1e12 * seconds, _DURATIONS)


def clock(seconds: float) -> str:
    """A wall-clock time of at least a second, e.g. ``42 s``, ``1 h 05 min`` or ``8 d 14 h``."""
    whole = round(seconds)
    if whole >= 2 * 86400:
        return f"{whole // 86400} d {whole % 86400 // 3600} h"
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    if whole >= 60:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole} s"


def size(count: float | None) -> str:
    """An amount of data given in bytes, e.g. ``12.3 MB``."""
    return NO_VALUE if count is None or math.isnan(count) else _with_unit(count, _prefixed("B"))


def rate(bytes_per_s: float | None) -> str:
    """A bandwidth given in bytes per second, e.g. ``5.25 GB/s``."""
    if bytes_per_s is None or math.isnan(bytes_per_s):
        return NO_VALUE
    return _with_unit(bytes_per_s, _prefixed("B/s"))


def different_links(networks: Mapping[str, Iterable[Mapping[str, Any]]]) -> str | None:
    """Says that links differ in bandwidth: those of one network, or of compared ones.

    Args:
        networks: Rows of their link classes, by label, which is not shown if there is one.

    Returns:
        A sentence, or ``None`` where they do not differ.
    """
    classes = {
        label: {
            row.get("class", row.get("name")): row["bandwidth_bytes_per_s"]
            for row in rows
            if row["links"]
        }
        for label, rows in networks.items()
    }
    rates = [set(one.values()) for one in classes.values()]
    if all(one == rates[0] for one in rates) and (len(rates) > 1 or len(rates[0]) < 2):
        return None
    said = []
    for label, one in classes.items():
        names: dict[int, list[str]] = {}
        for name, value in one.items():
            names.setdefault(value, []).append(str(name))
        parts = [f"{' and '.join(alike)} {rate(value)}" for value, alike in names.items()]
        if len(names) == 1:
            parts = [rate(next(iter(names)))]
        said.append(", ".join(parts) if len(classes) == 1 else f"{label}: {', '.join(parts)}")
    whose = "Links" if len(classes) == 1 else "Links of the networks"
    return f"{whose} differ in bandwidth ({'; '.join(said)})."


def count(number: float | None) -> str:
    """A count: exact below 100,000, above that three digits, e.g. ``12.3 M``."""
    if number is None or math.isnan(number):
        return NO_VALUE
    if abs(number) < 1e5 and float(number).is_integer():
        return f"{int(number):,}"
    return _with_unit(number, _PREFIXES)


def percent(fraction: float | None) -> str:
    """A fraction as a percentage, e.g. ``42.0 %``; small ones keep two digits."""
    if fraction is None or math.isnan(fraction):
        return NO_VALUE
    value = fraction * 100
    if value and abs(value) < 0.01:
        return "< 0.01 %"
    digits = 2 if abs(value) < 1 and value else 1
    return f"{value:.{digits}f} %"


#: Names of figures that say little by themselves: those of schedules.
_SAID = {
    "backfilled": "overtook others",
    "killed": "killed at their limit",
    "requeues": "put back into the queue",
    "mean_queue": "mean jobs waiting",
    "max_queue": "max jobs waiting",
    "fragmentation": "groups over least groups, mean",
    "node_fails": "lost jobs",
    "slowed_jobs": "jobs slowed by the network",
    **{f"{key}_run_over_log": f"run time over the log's, {key}" for key in ("mean", "p99", "max")},
    **{
        f"{key}_{unit}_hours": f"{unit}-hours {words}"
        for key, words in (("lost", "lost"), ("out", "out of service"))
        for unit in ("node", "processor")
    },
}


def words(name: str) -> str:
    """What a figure is called, by its name in results without its unit."""
    return _SAID.get(name, name.replace("_", " "))


def decimal(number: float | None, digits: int = 2) -> str:
    """A plain number with a fixed number of decimals."""
    return NO_VALUE if number is None or math.isnan(number) else f"{number:.{digits}f}"


def _prefixed(unit: str) -> list[tuple[float, str]]:
    return [(factor, prefix + unit) for factor, prefix in _PREFIXES]


def _fitting_scale(value: float, scales: Sequence[tuple[float, str]]) -> tuple[float, str]:
    chosen = scales[0]
    for scale in scales:
        # 999.6 would print as 1000: that is one of the next unit.
        if abs(value) >= scale[0] * 0.9995:
            chosen = scale
    return chosen


def _with_unit(value: float, scales: Sequence[tuple[float, str]]) -> str:
    factor, unit = _fitting_scale(value, scales)
    scaled = value / factor
    if factor == 1.0 and float(value).is_integer():
        text = f"{int(value)}"
    else:
        digits = 2 if abs(scaled) < 9.995 else 1 if abs(scaled) < 99.95 else 0
        text = f"{scaled:.{digits}f}"
    return f"{text} {unit}".rstrip()


def machine_size(nodes: int, ranks: int | None = None) -> str:
    """How many nodes a machine has, and how many ranks each has if they have an inside.

    Args:
        nodes: Of the network; with an inside they are ranks.
        ranks: Of a node with an inside.
    """
    return f"{nodes:,} nodes" if ranks is None else f"{nodes // ranks:,} nodes of {ranks} ranks"
