"""Whether it pays to hold jobs while the network is busy: behind pages/holding-jobs.md.

    .venv/bin/python studies/scripts/holding_jobs.py [--as-is | --quick]    # three minutes

Needs the log of KTH SP2 (1996) in ../shared/data.
Simulates what is missing of holding_jobs.csv and writes the page's tables and picture. ``--as-is``
simulates nothing; ``--quick`` simulates 60 jobs with one seed and writes nothing.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import odonata
from odonata.batch import SharedLinks
from odonata.batch.network import COMMON_MIX
from odonata.plots.style import CLASS_COLOURS, new_figure, save, style
from odonata.study.intervals import Mean, interval
from odonata_studies.marked import markdown, write_tables

DATA = Path(__file__).resolve().parents[1] / "data"
ROOT = DATA.parents[1]
LOGS = ROOT.parent / "shared" / "data"
TABLE = DATA / "holding_jobs.csv"
PAGE = ROOT / "studies" / "pages" / "holding-jobs.md"

#: A tree with the nodes of KTH SP2, of which fewer links than nodes lead up from each leaf.
TREE = """
[network]
family = "fat-tree"
down = [10, 10]
up = [{up}]
routing = "up-down"
[network.links]
terminal = {{ bandwidth = "10 GB/s", latency = "100 ns" }}
level1 = {{ bandwidth = "10 GB/s", latency = "100 ns" }}
[[job]]
name = "any"
nodes = 2
motif = {{ kind = "all-to-all", message = "1 KiB" }}
"""


@dataclass(frozen=True)
class Machine:
    """A log, and the machine that its jobs share.

    Attributes:
        log: File below ``../shared/data``.
        nodes: Of the machine.
        jobs: First jobs of the log that are scheduled.
        network: Text of a scenario.
        injection: Share of its link's rate at which a node sends while it communicates.
    """

    log: str
    nodes: int
    jobs: int
    network: str
    injection: float


_KTH = "kth-sp2-jobs/KTH-SP2-1996-2.1-cln.swf"
MACHINES = {
    "5:1, nodes at 50 %": Machine(_KTH, 100, 1000, TREE.format(up=2), 0.5),
    "5:1, nodes at 100 %": Machine(_KTH, 100, 1000, TREE.format(up=2), 1.0),
    "10:1, nodes at 100 %": Machine(_KTH, 100, 1000, TREE.format(up=1), 1.0),
}
PLACEMENTS = ("contiguous", "random-node")
#: Loss above which a job is held, in per cent of its work; none: no job is.
ABOVE: tuple[int | None, ...] = (None, 5, 20, 50, 100)
#: How long a job is held at most.
AT_MOST = "1 h"
SEEDS = (1, 2, 3, 4, 5)
COLUMNS = [
    *("machine", "placement", "above", "seed", "wait_h", "stretch", "turnaround_h", "slowdown"),
    *("held", "held_h", "longest_wait_h", "makespan_h"),
]
FIGURES = ("turnaround_h", "wait_h", "stretch", "slowdown")


def cut(machine: Machine, jobs: int, directory: Path) -> Path:
    """The first jobs of a log, as a log of their own."""
    lines = (LOGS / machine.log).read_text("ascii", "replace").splitlines()
    header = [line for line in lines if line.startswith(";")]
    own = [line for line in lines if line.strip() and not line.startswith(";")]
    file = directory / f"{Path(machine.log).stem}-{jobs}.swf"
    file.write_text("\n".join([*header, *own[:jobs]]) + "\n", "ascii")
    return file


def scheduled(
    machine: Machine, log: Path, network: Path, placement: str, above: int | None, seed: int
) -> dict[str, float]:
    """What comes of a schedule."""
    keys: dict[str, Any] = {}
    if above is not None:
        keys["hold"] = {"above": f"{above}%", "at_most": AT_MOST}
    links = SharedLinks(
        machine=network,
        mix=COMMON_MIX,
        communication_share=(0.1, 0.5),
        injection=machine.injection,
        placement=placement,
        seed=seed,
    )
    made = odonata.schedule(
        log, nodes=machine.nodes, policy="easy", network=links, limits=False, **keys
    )
    jobs = made.jobs.to_pandas()
    run, work, wait = (jobs[name].to_numpy(float) for name in ("run_s", "log_run_s", "wait_s"))
    held = jobs["held_s"].to_numpy(float) if "held_s" in jobs else np.zeros(len(jobs))
    size = jobs["nodes"].to_numpy(float)
    return {
        "wait_h": wait.mean() / 3600,
        # Node-hours that the jobs take, over those of the log.
        "stretch": (size * run).sum() / (size * work).sum(),
        "turnaround_h": (wait + run).mean() / 3600,
        # Bounded at 10 s, over what the job would have run alone.
        "slowdown": np.maximum((wait + run) / np.maximum(work, 10), 1).mean(),
        "held": (held > 0).mean(),
        "held_h": held[held > 0].mean() / 3600 if (held > 0).any() else 0.0,
        "longest_wait_h": wait.max() / 3600,
        "makespan_h": (jobs["end_s"].max() - jobs["submit_s"].min()) / 3600,
    }


def simulate(quick: bool) -> pd.DataFrame:
    """All schedules, of which those in the table are not made again."""
    known = pd.read_csv(TABLE) if TABLE.exists() and not quick else pd.DataFrame(columns=COLUMNS)
    rows = known.to_dict("records")
    done = {(r["machine"], r["placement"], r["above"], r["seed"]) for r in rows}
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        for title, machine in MACHINES.items():
            log = cut(machine, 60 if quick else machine.jobs, directory)
            network = directory / "machine.toml"
            network.write_text(machine.network, "utf-8")
            for seed in SEEDS[:1] if quick else SEEDS:
                for placement in PLACEMENTS:
                    for above in ABOVE:
                        label = "none" if above is None else str(above)
                        if (title, placement, label, seed) in done:
                            continue
                        found = scheduled(machine, log, network, placement, above, seed)
                        point = {"machine": title, "placement": placement, "above": label}
                        rows.append({**point, "seed": seed, **found})
                        if not quick:
                            made = pd.DataFrame(rows, columns=COLUMNS)
                            made.to_csv(TABLE, index=False, float_format="%.6g")
    return pd.DataFrame(rows, columns=COLUMNS).astype({"above": str})


def change(found: pd.DataFrame, title: str, placement: str, above: str, figure: str) -> Mean:
    """By how much a figure changes if jobs are held, in per cent: pairs of one seed each."""
    here = found[(found.machine == title) & (found.placement == placement)]
    without = here[here.above == "none"].set_index("seed")[figure]
    held = here[here.above == above].set_index("seed")[figure]
    return interval([100 * (held[seed] / without[seed] - 1) for seed in held.index])


def tables(found: pd.DataFrame) -> dict[str, str]:
    """The page's tables, by name."""
    rows = []
    for title in MACHINES:
        for placement in PLACEMENTS:
            here = found[(found.machine == title) & (found.placement == placement)]
            for above in (str(one) for one in ABOVE if one is not None):
                held = here[here.above == above]
                changes = (change(found, title, placement, above, one) for one in FIGURES)
                rows.append(
                    [
                        *(title, placement, f"{above} %", f"{100 * held.held.mean():.1f} %"),
                        *(f"{one.mean:+.1f} ± {one.half_width:.1f} %" for one in changes),
                    ]
                )
    header = ["tree", "placement", "held above", "jobs held", "turnaround", "wait"]
    changes_table = markdown([*header, "node-hours", "slowdown"], rows, labels=3)
    without = found[found.above == "none"].groupby(["machine", "placement"], sort=False)
    rows = [
        [
            *(title, placement, f"{of.wait_h.mean():.2f} h", f"{of.turnaround_h.mean():.2f} h"),
            f"{100 * (of.stretch.mean() - 1):.1f} %",
        ]
        for (title, placement), of in without
    ]
    header = [
        *("tree", "placement", "mean wait", "mean turnaround", "more node-hours than in the log")
    ]
    return {"without": markdown(header, rows, labels=2), "changes": changes_table}


def draw(found: pd.DataFrame, path: Path) -> None:
    """Change of turnaround and of node-hours by the loss above which jobs are held."""
    labels = [str(one) for one in ABOVE if one is not None]
    looks = {"contiguous": ("local", "o"), "random-node": ("global", "s")}
    with style():
        figure = new_figure(9.0, 5.4)
        panels = figure.subplots(2, len(MACHINES), sharex=True, sharey="row")
        for column, title in enumerate(MACHINES):
            for row, (name, text) in enumerate(
                (("turnaround_h", "mean turnaround"), ("stretch", "node-hours"))
            ):
                axes = panels[row][column]
                for number, (placement, (colour, marker)) in enumerate(looks.items()):
                    changes = [change(found, title, placement, above, name) for above in labels]
                    axes.errorbar(
                        [at + 0.12 * (number - 0.5) for at in range(len(labels))],
                        [one.mean for one in changes],
                        [np.nan_to_num(one.half_width) for one in changes],
                        color=CLASS_COLOURS[colour],
                        marker=marker,
                        capsize=2,
                        label=placement,
                    )
                axes.axhline(0, linewidth=0.8, color="grey")
                axes.set_xticks(range(len(labels)), labels=[f"{label} %" for label in labels])
                if row == 0:
                    axes.set_title(title)
                else:
                    axes.set_xlabel("held above a loss of")
                if column == 0:
                    axes.set_ylabel(f"{text},\nchange in %")
        panels[0][0].legend(loc="best")
        save(figure, path)


def main(options: list[str]) -> None:
    """Simulates and writes the page."""
    quick = "--quick" in options
    found = pd.read_csv(TABLE).astype({"above": str}) if "--as-is" in options else simulate(quick)
    if quick:
        print(found.to_string())
        return
    draw(found, PAGE.parent / "figures" / "holding-jobs.png")
    write_tables(PAGE, tables(found))
    print(PAGE.relative_to(ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])
