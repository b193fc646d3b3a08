"""Probes beside background traffic on an emulated cluster: the figure of study-live-probes.md.

    .venv/bin/python live/tests/real/network_experiment.py studies/data/live_probes.csv    # as root
    .venv/bin/python studies/scripts/live_probes.py

Leaves pages/figures/study-live-probes.png and prints the tables of the page.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from odonata.plots.style import JOB_COLOURS, new_figure, save, style
from odonata.tails import correlate
from odonata_studies.rows import read_rows

HOME = Path(__file__).resolve().parents[1]
COLLECTIVES = ("bcast", "reduce", "alltoall")
CONDITIONS = {"across": "jobs send between islands", "inside": "jobs send inside groups"}


def read() -> list[dict[str, str]]:
    """Rows of the experiment, of runs with four islands in the order of b."""
    return sorted(read_rows(HOME / "data/live_probes.csv"), key=lambda row: float(row["b"]))


def main() -> None:
    """Draws and prints."""
    rows = read()
    idle = {
        (row["collective"], row["placement"]): float(row["median_us"]) / 1e3
        for row in rows
        if row["condition"] == "idle"
    }
    print("median, ms, idle | same group | same island | different islands")
    for name in COLLECTIVES:
        placed = (idle[name, p] for p in ("same-group", "same-island", "different-islands"))
        print(name, *(f"| {value:.1f}" for value in placed))
    spread = [row for row in rows if row["placement"] == "different-islands"]
    print("median, ms | b | across | inside")
    with style():
        figure = new_figure(9.6, 3.4)
        axes = figure.subplots(1, 3)
        for axis, name in zip(axes, COLLECTIVES, strict=True):
            for colour, (condition, label) in zip(JOB_COLOURS, CONDITIONS.items(), strict=False):
                chosen = [
                    (float(row["b"]), float(row["median_us"]) / 1e3, float(row["p99_us"]) / 1e3)
                    for row in spread
                    if row["collective"] == name and row["condition"] in (condition, "idle")
                ]
                b, median, p99 = np.array(chosen).T
                axis.plot(b, median, "o-", color=colour, label=label)
                axis.plot(b, p99, "o:", color=colour, markersize=3, label="their p99")
                for here, value in zip(b, median, strict=True):
                    print(name, condition, f"| {here:.2f} | {value:.1f}")
            axis.set_title(name)
            axis.set_xlabel("b")
            axis.set_ylim(bottom=0)
        axes[0].set_ylabel("Time [ms]")
        axes[0].legend(loc="upper left")
    save(figure, HOME / "pages/figures/study-live-probes.png")
    print("Spearman of the mean | b | between groups")
    for name in COLLECTIVES:
        chosen = [row for row in spread if row["collective"] == name]
        mean = [float(row["mean_us"]) for row in chosen]
        found = []
        for quantity in ("b", "b_between_groups"):
            one = correlate([float(row[quantity]) for row in chosen], mean)
            found.append(
                f"ρ {one.spearman:.2f} r {one.pearson:.2f} ({one.pearson_low:.2f} to "
                f"{one.pearson_high:.2f}) n {one.count}"
            )
        print(name, *(f"| {text}" for text in found))


if __name__ == "__main__":
    main()
