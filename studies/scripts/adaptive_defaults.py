"""The tables of ``pages/study-adaptive-routing.md``: adaptive algorithms by default.

    .venv/bin/python studies/scripts/adaptive_defaults.py             # a minute; one seed
    .venv/bin/python studies/scripts/adaptive_defaults.py ugal-l par  # these columns only
    .venv/bin/python studies/scripts/adaptive_defaults.py seeds       # near 95 %, several seeds

Every algorithm that fits a network, as its name alone sets it up, beside minimal and Valiant
routing.
"""

from __future__ import annotations

import os
import re
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import odonata
from odonata.study.intervals import interval
from odonata_studies.marked import markdown, write_tables

PAGE = Path(__file__).resolve().parents[1] / "pages" / "study-adaptive-routing.md"

#: All links alike, as in the literature.
ALIKE = {
    kind: {"bandwidth": "16 GB/s", "latency": f"{latency} ns"}
    for kind, latency in (("terminal", 10), ("local", 10), ("global", 100))
}
#: What is simulated: warm-up and end, in µs.
WARMUP_US, END_US = 30, 50
#: An algorithm that delivers less than this share of the better oblivious one is behind.
ENOUGH = 0.95
OBLIVIOUS = ("minimal", "valiant")
ADAPTIVE = ("ugal-l", "ugal-g", "par", "fpar", "q-adaptive")
TRAFFIC = (
    ("uniform", {"pattern": "uniform-random"}, 0.2),
    ("uniform", {"pattern": "uniform-random"}, 0.4),
    ("uniform", {"pattern": "uniform-random"}, 0.8),
    ("ADV+1", {"pattern": "adversarial", "k": 1}, 0.2),
    ("ADV+1", {"pattern": "adversarial", "k": 1}, 0.4),
)


@dataclass(frozen=True)
class Machine:
    """A network to route on, with the algorithms that fit it beside UGAL and PAR."""

    label: str
    nodes: int
    network: dict[str, Any]
    more: tuple[str, ...] = ()
    packet: str = "4 KiB"


#: Links of Cray's Aries as CODES models them, other than those of nodes, which have 16 GiB/s.
ARIES_LOCAL, ARIES_GLOBAL = {"bandwidth": "5.25 GiB/s"}, {"bandwidth": "4.69 GiB/s"}
DRAGONFLY = {"family": "dragonfly", "p": 4, "a": 8, "h": 4}
ARIES = {"local": ARIES_LOCAL, "global": ARIES_GLOBAL}
ARIES_GRIDS = {"green": ARIES_LOCAL, "black": ARIES_LOCAL}
MACHINES = (
    Machine("dragonfly", 1056, {**DRAGONFLY, "links": ALIKE}, ("q-adaptive",)),
    Machine("dragonfly, packets of 256 B", 1056, {**DRAGONFLY, "links": ALIKE}, packet="256 B"),
    Machine("dragonfly, Aries links", 1056, {**DRAGONFLY, "links": ARIES}),
    Machine(
        "dragonfly+",
        576,
        {"family": "dragonfly+", "leaves": 8, "spines": 8, "p": 8, "h": 8, "g": 9, "links": ALIKE},
        ("fpar",),
    ),
    Machine(
        "Cray XC, Aries links",
        3456,
        {
            "family": "dragonfly",
            "p": 4,
            "a": 96,
            "h": 6,
            "g": 9,
            "group": "cray-xc",
            "rows": 6,
            "columns": 16,
            "column_links": 3,
            "links": {**ARIES_GRIDS, "global": ARIES_GLOBAL},
        },
    ),
    Machine(
        "reconfigurable dragonfly",
        288,
        {"family": "reconfigurable-dragonfly", "p": 4, "a": 8, "h": 4, "g": 9, "links": ALIKE},
    ),
)
#: Networks tried after the rules had been chosen; Theta's links lie beside the checkout.
LARGER_PLUS = {"family": "dragonfly+", "leaves": 12, "spines": 12, "p": 12, "h": 12, "g": 13}
THETA = "shared/data/theta-topology/theta.interconnect"
JUDGES = (
    Machine("dragonfly+ of 12", 1872, {**LARGER_PLUS, "links": ALIKE}),
    Machine(
        "Theta's list, Aries links",
        3456,
        {
            "family": "cray-xc-file",
            "file": THETA,
            "nodes_per_router": 4,
            "links": {**ARIES_GRIDS, "blue": ARIES_GLOBAL},
        },
    ),
)
#: Rows near 95 % and below it: network, traffic, load, algorithm, better oblivious one.
NEAR = (
    ("dragonfly+", "uniform", 0.8, "ugal-l", "minimal"),
    ("dragonfly, Aries links", "uniform", 0.4, "ugal-l", "minimal"),
    ("dragonfly, Aries links", "ADV+1", 0.2, "par", "valiant"),
    ("dragonfly+ of 12", "uniform", 0.8, "ugal-l", "minimal"),
    ("Cray XC, Aries links", "uniform", 0.8, "ugal-l", "minimal"),
    ("Cray XC, Aries links", "ADV+1", 0.2, "ugal-l", "valiant"),
    ("Cray XC, Aries links", "ADV+1", 0.4, "ugal-l", "valiant"),
    ("Theta's list, Aries links", "uniform", 0.4, "par", "minimal"),
    ("Theta's list, Aries links", "uniform", 0.8, "par", "minimal"),
)


def seeds(machine: Machine) -> range:
    """The seeds of the rows near 95 %."""
    return range(1, 6 if machine.nodes <= 1500 else 4)


def delivered(task: tuple[Machine, dict[str, Any], float, str, int | None]) -> float:
    """Share of the offered bytes that arrive, after the warm-up."""
    machine, traffic, load, routing, seed = task
    network = {**machine.network, "routing": routing}
    if "file" in network:
        network["file"] = str(next(p / THETA for p in PAGE.parents if (p / THETA).exists()))
    scenario = odonata.Scenario.from_dict(
        {
            **({} if seed is None else {"seed": seed}),
            "network": network,
            "simulation": {
                "packet": machine.packet,
                "warmup": f"{WARMUP_US} us",
                "duration": f"{END_US} us",
            },
            "job": [
                {
                    "name": "all",
                    "nodes": machine.nodes,
                    "traffic": {**traffic, "message": machine.packet, "load": load},
                }
            ],
        }
    )
    summary = odonata.run(scenario).summary.to_pylist()
    found = {row["quantity"]: row["value"] for row in summary if row["scope"] == "job"}
    share = found["accepted_bytes_per_s"] / found["offered_bytes_per_s"]
    return float(share)


def written(page: str) -> dict[tuple[str, ...], dict[str, float]]:
    """Shares in the table of a page, by its first three columns and the routing."""
    table = page.partition("<!-- defaults: begin -->")[2].partition("<!-- defaults: end -->")[0]
    rows = [re.split(r" *\| *", line)[1:-1] for line in table.splitlines() if line[:1] == "|"]
    found: dict[tuple[str, ...], dict[str, float]] = {}
    for row in rows[2:]:
        cells = zip(rows[0][3:], row[3:], strict=True)
        shares = {routing: text.strip("*") for routing, text in cells if text}
        found[tuple(row[:3])] = {routing: float(text) / 100 for routing, text in shares.items()}
    return found


def near() -> str:
    """The table of rows near 95 %, each with several seeds."""
    machines = {machine.label: machine for machine in (*MACHINES, *JUDGES)}
    patterns = {name: traffic for name, traffic, _ in TRAFFIC}
    rows = []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for label, name, load, algorithm, better in NEAR:
            machine = machines[label]
            tasks = [
                (machine, patterns[name], load, routing, seed)
                for routing in (algorithm, better)
                for seed in seeds(machine)
            ]
            shares = list(pool.map(delivered, tasks))
            found, best = shares[: len(shares) // 2], shares[len(shares) // 2 :]
            rows.append([label, name, f"{load:g}", f"`{algorithm}`", *verdict(found, best)])
    header = ["network", "traffic", "load", "algorithm"]
    header += ["delivered, %", "share of the better one, %"]
    return markdown(header, rows, labels=4)


def verdict(found: list[float], best: list[float]) -> tuple[str, str]:
    """What an algorithm delivers, and its share of what the better one does, seed by seed."""
    mean = interval([100 * share for share in found])
    of_best = interval([100 * share / of for share, of in zip(found, best, strict=True)])
    text = f"{of_best.mean:.1f} ± {of_best.half_width:.1f}"
    if of_best.mean + of_best.half_width < 100 * ENOUGH:
        text = f"**{text}**"
    elif of_best.mean - of_best.half_width < 100 * ENOUGH:
        text += ", undecided"
    return f"{mean.mean:.1f} ± {mean.half_width:.1f}", text


def main() -> None:
    """Simulates, all columns or those named, and writes the table."""
    if sys.argv[1:] == ["seeds"]:
        several = near()
        write_tables(PAGE, {"seeds": several})
        print(several)
        return
    named = sys.argv[1:] or (*OBLIVIOUS, *ADAPTIVE)
    cases = [(machine, *traffic) for machine in MACHINES for traffic in TRAFFIC]
    tasks = [
        (machine, traffic, load, routing, None)
        for machine, _, traffic, load in cases
        for routing in (*OBLIVIOUS, "ugal-l", "ugal-g", "par", *machine.more)
        if routing in named
    ]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        shares = iter(list(pool.map(delivered, tasks)))
    before = written(PAGE.read_text("utf-8"))
    rows = []
    for machine, name, _, load in cases:
        routings = (*OBLIVIOUS, "ugal-l", "ugal-g", "par", *machine.more)
        label = (machine.label, name, f"{load:g}")
        found = {
            routing: next(shares) if routing in named else before[label][routing]
            for routing in routings
        }
        better = max(found[routing] for routing in OBLIVIOUS)
        cells = []
        for routing in (*OBLIVIOUS, *ADAPTIVE):
            share = found.get(routing)
            text = "" if share is None else f"{100 * share:.1f}"
            behind = share is not None and share < ENOUGH * better and routing in ADAPTIVE
            cells.append(f"**{text}**" if behind else text)
        rows.append([*label, *cells])
    table = markdown(["network", "traffic", "load", *OBLIVIOUS, *ADAPTIVE], rows, labels=2)
    write_tables(PAGE, {"defaults": table})
    print(table)


if __name__ == "__main__":
    main()
