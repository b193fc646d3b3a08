"""Families of networks of about one cost: behind pages/which-topology.md.

    .venv/bin/python studies/scripts/which_topology.py [--as-is] [--quick]

Simulates what is missing of which_topology.csv (some 20 minutes of processor time in all), draws
pages/figures/which-topology.png and writes the tables of the page. ``--quick`` simulates the
smaller size with one seed, prints, and writes nothing.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from odonata import Scenario, _engine, run
from odonata.network.cost import Watts, parts
from odonata.simulate import ask_engine
from odonata.study.intervals import interval
from odonata_studies.marked import markdown, write_tables
from odonata_studies.networks import FAMILIES, NETWORKS

DATA = Path(__file__).resolve().parents[1] / "data"
ROOT = DATA.parents[1]
TABLE = DATA / "which_topology.csv"
PAGE = ROOT / "studies" / "pages" / "which-topology.md"
FIGURE = ROOT / "studies" / "pages" / "figures" / "which-topology.png"

RATE = "12.5 GB/s"
#: Prices of an optical cable with its transceivers, in those of a port of a switch.
RATIOS = (0.5, 1, 2, 4)
SEEDS = (1, 2, 3, 4, 5)
#: What is measured: figure and traffic.
MEASURES = ("uniform", "adversarial", "latency", "stencil", "scattered stencil", "all-to-all")


@cache
def nodes_of(network: str) -> int:
    """Nodes of a network, given as JSON."""
    laid = Scenario.from_dict({"network": json.loads(network)})
    return int(ask_engine(_engine.topology, laid)["description"]["nodes"])


def scenario(network: dict[str, Any], measure: str, offset: int, seed: int) -> Scenario:
    """One network under one traffic."""
    link = {"bandwidth": RATE, "latency": "100 ns"}
    family = FAMILIES[network["family"]]
    cables = {"terminal": {**link, "latency": "10 ns"}}
    cables |= dict.fromkeys(family.links, link)
    job: dict[str, Any] = {"nodes": nodes_of(json.dumps(network))}
    simulation: dict[str, Any] = {"packet": "1 KiB"}
    if measure in ("uniform", "adversarial", "latency"):
        pattern: dict[str, Any] = {"pattern": "uniform-random"}
        if measure == "adversarial":
            pattern = {"pattern": "shift", "offset": offset}
        load = 0.2 if measure == "latency" else 1.0
        job["traffic"] = {**pattern, "message": "1 KiB", "load": load}
        simulation |= {"duration": "30 us", "warmup": "15 us"}
    elif measure == "all-to-all":
        job["motif"] = {"kind": "all-to-all", "message": "1 KiB", "window": 16}
    else:
        job["motif"] = {"kind": "halo3d", "message": "64 KiB", "iterations": 2}
        if measure == "scattered stencil":
            job["placement"] = "random-node"
    return Scenario.from_dict(
        {
            "seed": seed,
            "network": {**network, "routing": family.adaptive, "links": cables},
            "simulation": simulation,
            "job": [job],
        }
    )


def cost(network: dict[str, Any]) -> dict[str, float]:
    """Parts and static power for one node, cables of nodes of copper."""
    return cost_of(json.dumps(network))


@cache
def cost_of(given: str) -> dict[str, float]:
    """The same of a network given as JSON."""
    network = json.loads(given)
    made_of = parts(scenario(network, "latency", 1, 1), copper=["terminal"])
    nodes = made_of.cables["terminal"]
    ports = sum(ports * count for ports, count in made_of.switches.items())
    return {
        "nodes": nodes,
        "switches": sum(made_of.switches.values()),
        "radix": max(made_of.switches),
        "ports_per_node": ports / nodes,
        "optical_cables_per_node": made_of.optical_cables / nodes,
        "watts_per_node": sum(made_of.static_watts(Watts()).values()) / nodes,
    }


def measured(network: dict[str, Any], measure: str, offset: int, seed: int) -> float:
    """Share of the nodes' bandwidth that is delivered; latency in ns; run time in us."""
    result = run(scenario(network, measure, offset, seed))
    job = result.to_pandas("jobs").iloc[0]
    if measure in ("uniform", "adversarial"):
        return float(job["accepted_bytes_per_s"]) / (float(job["ranks"]) * 12.5e9)
    if measure == "latency":
        return float(job["message_latency_mean_ps"]) / 1e3
    return float(job["end_ps"] - job["start_ps"]) / 1e6


def missing(table: pd.DataFrame, quick: bool = False) -> pd.DataFrame:
    """The table with what it lacked; if ``quick``, one seed of the smaller size, unwritten."""
    columns = ["size", "network", "measure", "seed"]
    known = set(table[columns].itertuples(index=False, name=None))
    rows = []
    for seed, size in product([1] if quick else SEEDS, [1024] if quick else NETWORKS):
        for (name, (network, offset)), measure in product(NETWORKS[size].items(), MEASURES):
            left_out = size > 2000 and measure == "all-to-all"
            if (size, name, measure, seed) in known or left_out:
                continue
            value = measured(network, measure, offset, seed)
            rows.append((size, name, measure, seed, value))
            print(size, name, measure, seed, f"{value:.4g}", flush=True)
            if not quick:
                more = pd.DataFrame(rows, columns=[*columns, "value"])
                pd.concat([table, more]).to_csv(TABLE, index=False, lineterminator="\n")
    return pd.concat([table, pd.DataFrame(rows, columns=[*columns, "value"])])


def shown(values: pd.Series, digits: int = 3) -> str:
    """Mean and interval, as far as that is wider than the last digit."""
    if values.empty:
        return "–"
    found = interval(values.tolist())
    mean, half = found.mean, found.half_width
    text = f"{mean:,.0f}" if mean >= 1000 else f"{mean:.{digits}g}"
    return text if not half > 0.01 * mean else f"{text} ± {half:.2g}"


def price(of: dict[str, float], ratio: float) -> float:
    """The cost per node, in ports of a switch, if an optical cable costs `ratio`."""
    return of["ports_per_node"] + ratio * of["optical_cables_per_node"]


def gain(here: pd.Series, full: pd.Series, measure: str) -> float:
    """What a node gets by that of the full fat tree: bandwidth, or runs in a second."""
    share = float(here.mean() / full.mean())
    return share if measure in ("uniform", "adversarial") else 1 / share


def tables(table: pd.DataFrame) -> dict[str, str]:
    """The tables of the page, by name."""
    out = {}
    for size, networks in NETWORKS.items():
        costs, figures, per_cost, per_price = [], [], [], []
        dearest = cost(networks["fat tree"][0])
        for name, (network, _) in networks.items():
            of = cost(network)
            costs.append(
                [
                    name,
                    f"{of['nodes']:.0f}",
                    f"{of['switches']:.0f} of {of['radix']:.0f}",
                    f"{of['ports_per_node']:.2f}",
                    f"{of['optical_cables_per_node']:.2f}",
                    f"{of['watts_per_node']:.1f}",
                ]
            )
            here = table[(table["size"] == size) & (table["network"] == name)]
            by = {measure: here[here.measure == measure]["value"] for measure in MEASURES}
            if by["uniform"].empty:
                continue
            figures.append([name, *(shown(by[measure]) for measure in MEASURES)])
            watts = of["watts_per_node"]
            # What a node gets per watt; and runs in a second per kilowatt and node.
            gigabytes = [
                "–" if by[m].empty else f"{12.5 * by[m].mean() / watts:.3f}"
                for m in ("uniform", "adversarial")
            ]
            runs = [
                "–" if by[m].empty else f"{1e6 / by[m].mean() / watts:.0f}"
                for m in ("stencil", "scattered stencil", "all-to-all")
            ]
            per_cost.append([name, *gigabytes, *runs])
            relative = [price(of, ratio) / price(dearest, ratio) for ratio in RATIOS]
            full = table[(table["size"] == size) & (table["network"] == "fat tree")]
            gains = [
                "–"
                if by[m].empty
                else " … ".join(
                    dict.fromkeys(
                        f"{gain(by[m], full[full.measure == m]['value'], m) / one:.2f}"
                        for one in sorted((relative[0], relative[-1]), reverse=True)
                    )
                )
                for m in ("uniform", "adversarial", "stencil", "scattered stencil", "all-to-all")
                if not full[full.measure == m].empty
            ]
            per_price.append([name, *(f"{one:.2f}" for one in relative), *gains])
        out[f"cost {size}"] = markdown(
            ["network", "nodes", "switches and their ports", "ports per node",
             "optical cables per node", "static W per node"], costs, labels=1,
        )  # fmt: skip
        out[f"measured {size}"] = markdown(
            ["network", "uniform", "adversarial", "latency in ns", "stencil in us",
             "scattered stencil in us", "all-to-all in us"], figures, labels=1,
        )  # fmt: skip
        out[f"per price {size}"] = markdown(
            ["network", *(f"price, cable = {ratio:g} ports" for ratio in RATIOS),
             "uniform", "adversarial", "stencils", "scattered stencils", "all-to-alls"][
                : len(per_price[0])
            ], per_price, labels=1,
        )  # fmt: skip
        out[f"per cost {size}"] = markdown(
            ["network", "uniform, GB/s per W", "adversarial, GB/s per W",
             "stencils per s and W", "scattered stencils per s and W",
             "all-to-alls per s and W"], per_cost, labels=1,
        )  # fmt: skip
    return out


def draw(table: pd.DataFrame) -> None:
    """What a node gets, over what it costs."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colours = ["#0072B2", "#56B4E9", "#E69F00", "#D55E00", "#009E73", "#8FBF3F", "#000000",
               "#CC79A7", "#999999"]  # fmt: skip
    markers = "os^vDdXP*"
    panels = [
        ("uniform", "Uniform: share of\nthe nodes' bandwidth delivered"),
        ("adversarial", "Worst shift: share of\nthe nodes' bandwidth delivered"),
        ("latency", "Mean latency in ns of uniform\nmessages of 1 KiB at load 0.2"),
    ]
    figure, axes = plt.subplots(2, 3, figsize=(11, 6.6), sharex=True)
    for row, (size, networks) in zip(axes, NETWORKS.items(), strict=True):
        for axis, (measure, label) in zip(row, panels, strict=True):
            for (name, (network, _)), colour, marker in zip(
                networks.items(), colours, markers, strict=True
            ):
                here = table[
                    (table["size"] == size)
                    & (table["network"] == name)
                    & (table.measure == measure)
                ]["value"]
                if here.empty:
                    continue
                found = interval(here.tolist())
                half = 0.0 if np.isnan(found.half_width) else found.half_width
                watts = cost(network)["watts_per_node"]
                look = {"color": colour, "marker": marker, "markersize": 8}
                axis.errorbar(watts, found.mean, half, linestyle="none", label=name, **look)
            axis.set_title(f"{label}, {size:,} nodes", fontsize=9)
            # The larger torus is overloaded, and has no mean latency.
            axis.set_ylim(0, 1400 if measure == "latency" else 1.05)
            axis.grid(alpha=0.3)
    for axis in axes[1]:
        axis.set_xlabel("static power per node in W")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=5, fontsize=9, frameon=False)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.savefig(FIGURE, dpi=110, metadata={"Software": None})


def main(options: list[str]) -> None:
    """Simulates, draws and writes."""
    columns = ["size", "network", "measure", "seed", "value"]
    if "--quick" in options:
        missing(pd.DataFrame(columns=columns), quick=True)
        return
    table = pd.read_csv(TABLE) if TABLE.exists() else pd.DataFrame(columns=columns)
    if "--as-is" not in options:
        table = missing(table)
        order = ["size", "network", "measure", "seed"]
        table.sort_values(order).to_csv(TABLE, index=False, lineterminator="\n")
    draw(table)
    write_tables(PAGE, tables(table))


if __name__ == "__main__":
    main(sys.argv[1:])
