"""The tables of ``pages/theta-amg.md``, written between markers into the page."""

from __future__ import annotations

import pandas as pd

from odonata.study.intervals import interval
from odonata_studies.marked import markdown

from .runs import BY_DEFAULT, CLASSES, PLACEMENTS, ROUTINGS, SENSITIVITY


def all_tables(rows: pd.DataFrame) -> dict[str, str]:
    """Every table of the page by its name, from the table of runs."""
    main = rows[rows.part == "main"]
    return {
        "run-times": run_times(main),
        "bounds": bounds_table(main),
        "links": links_table(main),
        "ranks-per-node": ranks_per_node(rows),
        "others": others(rows),
        "sensitivity": sensitivity(rows),
        "by-default": by_default(rows),
    }


def with_interval(times: pd.Series) -> str:
    """Mean and half the width of its 95 % confidence interval."""
    if len(times) == 1:
        return f"{times.iloc[0]:.0f}"
    found = interval(times.tolist())
    return f"{found.mean:.0f} ± {found.half_width:.0f}"


def run_times(main: pd.DataFrame) -> str:
    """Placement × routing; the best routing of each placement in bold."""
    lines = []
    for placement in PLACEMENTS:
        of_placement = main[main.placement == placement]
        times = {r: of_placement[of_placement.routing == r].run_time_us for r in ROUTINGS}
        best = min(times, key=lambda routing: times[routing].mean())
        cells = [
            f"**{with_interval(t)}**" if routing == best else with_interval(t)
            for routing, t in times.items()
        ]
        lines.append([placement, *cells])
    return markdown(["run time (µs)", *ROUTINGS], lines)


def bounds_table(main: pd.DataFrame) -> str:
    """Bounds, means over seeds, beside the fastest run measured."""
    names = ("terminal", "router", "chassis", "group", "group_pair", "green")
    heads = (
        "busiest node",
        "router",
        "chassis",
        "group",
        "pair of groups ¹",
        "green link in a group ²",
    )
    lines = []
    for placement in PLACEMENTS:
        chosen = main[main.placement == placement]
        minimal = chosen[chosen.routing == "minimal"]
        bound = minimal[[f"bound_{name}_us" for name in names]]
        share = bound.max(axis=1) / minimal.run_time_us
        cells = [_span(bound[column]) for column in bound]
        lines.append(
            [
                placement,
                *cells,
                _span(minimal.run_time_us),
                f"{100 * share.min():.0f}–{100 * share.max():.0f} %",
                f"{chosen.run_time_us.min():.0f}",
            ]
        )
    header = [
        "bound (µs)",
        *heads,
        "measured, minimal",
        "largest bound ÷ measured",
        "fastest of all routings",
    ]
    return markdown(header, lines)


def _span(values: pd.Series) -> str:
    low, high = f"{values.min():.0f}", f"{values.max():.0f}"
    return low if low == high else f"{low}–{high}"


def links_table(main: pd.DataFrame) -> str:
    """What the links of each class carry, and how busy the busiest is; means over seeds."""
    lines = []
    for routing in ("minimal", "PAR", "PAR + groups"):
        for placement in PLACEMENTS:
            chosen = main[(main.placement == placement) & (main.routing == routing)]
            mean = chosen.mean(numeric_only=True)
            busiest = [f"{100 * mean[f'{n}_busiest_us'] / mean.run_time_us:.0f}" for n in CLASSES]
            lines.append(
                [
                    f"{placement}, {routing}",
                    f"{mean.mean_routers_visited:.2f}",
                    *(f"{mean[f'{name}_gb']:.2f}" for name in CLASSES[1:]),
                    *busiest,
                    *(f"{mean[f'{name}_stall_mean_us']:.1f}" for name in CLASSES),
                    f"{mean.delivered_90_us:.0f}",
                    f"{mean.run_time_us:.0f}",
                ]
            )
    header = [
        "placement, routing",
        "routers per packet",
        *(f"{name} (GB)" for name in CLASSES[1:]),
        *(f"busiest {name} (% of run)" for name in CLASSES),
        *(f"{name} blocked (µs)" for name in CLASSES),
        "90 % delivered (µs)",
        "run time (µs)",
    ]
    return markdown(header, lines)


def ranks_per_node(rows: pd.DataFrame) -> str:
    """Run time and its bound with 1, 4 and 16 ranks on a node."""
    main = rows[(rows.part == "main") & (rows.seed == 1)]
    chosen = pd.concat([main, rows[rows.part == "ranks per node"]])
    lines = []
    for ranks in (1, 4, 16):
        cells = []
        for placement in ("contiguous", "random-node", "spread"):
            for routing in ("minimal", "PAR + groups"):
                cells.append(f"{_one(chosen, placement, routing, ranks).run_time_us:.0f}")
        bound = chosen[chosen.ranks_per_node == ranks].bound_terminal_us.max()
        nodes = -(-1000 // ranks)
        lines.append([f"{ranks} ({nodes:,} nodes)", *cells, f"{bound:.0f}"])
    header = [
        "ranks per node",
        *(
            f"{placement}, {routing}"
            for placement in ("contiguous", "random-node", "spread")
            for routing in ("minimal", "PAR + groups")
        ),
        "busiest node (bound)",
    ]
    return markdown(header, lines)


def _one(rows: pd.DataFrame, placement: str, routing: str, ranks: int = 1) -> pd.Series:
    chosen = rows[
        (rows.placement == placement)
        & (rows.routing == routing)
        & (rows.ranks_per_node == ranks)
        & (rows.seed == 1)
    ]
    assert len(chosen) == 1
    return chosen.iloc[0]


def others(rows: pd.DataFrame) -> str:
    """The idle machine against one whose other nodes are at work; seeds 1 and 2."""
    lines = []
    for routing in ("minimal", "PAR + groups"):
        for placement in ("contiguous", "random-node", "spread"):
            times = {}
            for part in ("main", "others"):
                chosen = rows[
                    (rows.part == part)
                    & (rows.placement == placement)
                    & (rows.routing == routing)
                    & (rows.seed <= 2)
                ]
                times[part] = chosen.run_time_us
            ratio = times["others"].mean() / times["main"].mean()
            lines.append(
                [
                    f"{placement}, {routing}",
                    _span(times["main"]),
                    _span(times["others"]),
                    f"{100 * (ratio - 1):+.0f} %",
                ]
            )
    header = ["run time (µs)", "idle machine", "others at work", "slower by"]
    return markdown(header, lines)


def sensitivity(rows: pd.DataFrame) -> str:
    """Changes of the model, seed 1."""
    main = rows[rows.part == "main"]
    pairs = [
        (placement, routing)
        for placement in ("contiguous", "random-node", "spread")
        for routing in ("minimal", "PAR + groups")
    ]
    lines = [["as above", *(f"{_one(main, *pair).run_time_us:.0f}" for pair in pairs)]]
    for name in SENSITIVITY:
        chosen = rows[rows.part == name]
        lines.append([name, *(f"{_one(chosen, *pair).run_time_us:.0f}" for pair in pairs)])
    return markdown(["run time (µs)", *(f"{p}, {r}" for p, r in pairs)], lines)


def by_default(rows: pd.DataFrame) -> str:
    """Without a threshold and with the one by default, seed 1."""
    lines = []
    for placement in ("contiguous", "random-node", "spread"):
        cells = []
        for part, routing in (
            ("main", "minimal"),
            *((part, routing) for routing in BY_DEFAULT for part in ("main", "by default")),
        ):
            run = _one(rows[rows.part == part], placement, routing)
            cells.append(f"{run.run_time_us:.0f} ({run.mean_routers_visited:.2f})")
        lines.append([placement, *cells])
    heads = [name for routing in BY_DEFAULT for name in (routing, f"{routing}, by default")]
    return markdown(["run time (µs), routers per packet", "minimal", *heads], lines)
