"""GTC over steered uplinks in namespaces: the figure and tables of pages/study-live-testbed.md.

    .venv/bin/python live/tests/real/steered_testbed.py studies/data    # as root; minutes
    .venv/bin/python studies/scripts/live_testbed.py

live_testbed_pause.csv are the times of another one, with --repetitions 3 --steps 2 --pause 12.5.
Leaves pages/figures/study-live-testbed.png and prints the tables of the page.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median

from odonata.plots.style import JOB_COLOURS, new_figure, save, style
from odonata_studies.rows import read_rows

HOME = Path(__file__).resolve().parents[1]
CONDITIONS = [(tree, kind) for tree in ("full", "tapered") for kind in ("standard", "steered")]
MBIT = 20
#: Seconds of the paper, section 6.
PAPER = {("full", "standard"): 72, ("full", "steered"): 56, ("tapered", "standard"): 115}
STAGES = ("read", "decide", "journal", "break", "make", "verify", "routes decided", "routes set")


def rows(name: str) -> list[dict[str, str]]:
    """A table of the experiment."""
    return read_rows(HOME / f"data/live_testbed_{name}.csv")


def run_times(name: str) -> dict[tuple[str, str], list[float]]:
    """Seconds of every repetition, by condition."""
    seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
    loads = []
    for row in rows(name):
        seconds[row["tree"], row["network"]].append(float(row["seconds"]))
        loads.append(float(row["load"]))
    print(f"{name}: load {min(loads):.0f} to {max(loads):.0f}")
    return seconds


def rates() -> dict[tuple[str, str], dict[str, list[tuple[float, float]]]]:
    """Mb/s of each upper link, in the middle of its intervals, by condition."""
    bytes_of: dict[tuple[str, str], dict[str, list[tuple[float, int]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in rows("links"):
        reading = (float(row["time_s"]), int(row["bytes"]))
        bytes_of[row["tree"], row["network"]][row["link"]].append(reading)
    return {
        condition: {
            link: [
                ((early + late) / 2, 8e-6 * (after - before) / (late - early))
                for (early, before), (late, after) in pairwise(readings[::2])
            ]
            for link, readings in links.items()
        }
        for condition, links in bytes_of.items()
    }


def main() -> None:
    """Draws and prints."""
    seconds = run_times("times")
    for name in ("times", "pause"):
        print(name, "| tree | network | seconds | of the full steered | paper |")
        found_times = run_times(name)
        for condition in CONDITIONS:
            of = found_times[condition]
            # Ratios of one repetition each, so that what the host does at the time counts for both.
            pairs = zip(of, found_times["full", "steered"], strict=True)
            ratios = [one / other for one, other in pairs]
            paper = PAPER.get(condition, 56) / 56
            said = f"{median(of):.1f} ({min(of):.1f} to {max(of):.1f})"
            ratio = f"{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
            print("|", *condition, "|", said, "|", ratio, f"| {paper:.2f} |")
    print("| stage | standard to steered, median ms |")
    stages: dict[str, list[float]] = defaultdict(list)
    for row in rows("stages"):
        if row["to"] == "steered":
            stages[row["stage"]].append(float(row["value"]))
    for stage in (*STAGES, "dark", "entries"):
        unit = 1 if stage == "entries" else 1000
        print(f"| {stage} | {unit * median(stages[stage]):.2f} |")
    found = rates()
    print("| upper links | mean Mb/s while GTC runs | busiest second |")
    with style():
        figure = new_figure(9.6, 5.4)
        axes = figure.subplots(2, 2, sharex="row", sharey=True)
        for axis, condition in zip(axes.flat, CONDITIONS, strict=True):
            end = seconds[condition][0]
            every = []
            for colour, (link, points) in zip(
                JOB_COLOURS * 2, sorted(found[condition].items()), strict=False
            ):
                router, _, port = link.partition("-o")
                times, values = zip(*points, strict=True)
                label = f"switch {router[1:]}, port {port}"
                dashes = "--" if int(port) % 2 else "-"
                axis.plot(times, values, dashes, color=colour, label=label, linewidth=1)
                every += [value for time, value in points if 2 < time < end]
            axis.set_title(f"{condition[0]} tree, {condition[1]}: {end:.0f} s")
            axis.axhline(MBIT, color="#666666", linewidth=0.6, linestyle=":")
            print(f"| {condition} | {fmean(every):.1f} | {max(every):.1f} |")
        for axis in axes[:, 0]:
            axis.set_ylabel("Throughput of upper links [Mb/s]")
        for axis in axes[1]:
            axis.set_xlabel("Time [s]")
        axes[0, 1].legend(loc="upper right", fontsize=6, ncol=2)
    save(figure, HOME / "pages/figures/study-live-testbed.png")


if __name__ == "__main__":
    main()
