"""Real placements of jobs beside other ones: tables and figure of pages/study-real-placements.md.

    .venv/bin/python studies/scripts/real_placements.py # draws its CSV file
    .venv/bin/python studies/scripts/real_placements.py --simulate [COUNT] # by ../shared

Takes allocations of Leonardo and LUMI-G at random, fills the rest of the machine with other ones
until :data:`BUSY` of its nodes are taken, and places the job on what is free by other policies,
too. Leaves data/real_placements.csv, pages/figures/real-placements.png and the tables of
the page. Where the allocations are absent it says so and changes nothing. Goes on where it was
stopped.
"""

from __future__ import annotations

import itertools
import json
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from odonata import _engine
from odonata.machines.hostmodel import HostModel
from odonata.machines.prediction import Case, Predictor
from odonata.plots.style import JOB_COLOURS, new_figure, save, style
from odonata_studies.marked import markdown, write_tables
from odonata_studies.rows import append_rows, beside, read_rows

HOME = Path(__file__).resolve().parents[1]
ROOT = HOME.parent
PAGE = HOME / "pages" / "study-real-placements.md"
TABLE = HOME / "data" / "real_placements.csv"
DATA = "shared/data/cluster-allocations"
MACHINES = {"leonardo": "leonardo", "lumi-g": "lumi"}
TITLES = {"leonardo": "Leonardo", "lumi-g": "LUMI-G"}
POLICIES = ("real", "grap", "contiguous", "spread")

#: Share of a machine's nodes that are taken.
BUSY = 0.85
#: Allocations of each machine.
COUNT = 500
#: Largest job: those beyond are a hundredth.
LARGEST = 256
#: An all-reduce of a vector, and an all-to-all of blocks.
VECTOR, BLOCK = 8 << 20, 64 << 10
SEED = 20

Row = dict[str, Any]


def main(options: list[str]) -> None:
    """Simulates if asked to, and draws."""
    if "--simulate" in options:
        found = beside(DATA)
        if found is None:
            return
        count = next((int(option) for option in options if option.isdecimal()), COUNT)
        simulate(found, count)
    rows = read()
    figure(rows)
    write_tables(PAGE, {"ratios": ratios(rows)})


def allocations(archive: Path, known: dict[str, int]) -> list[tuple[str, list[int]]]:
    """Jobs and their nodes, in the order of their numbers; of those that the machine has all of."""
    jobs = []
    with tarfile.open(archive) as files:
        for member in files:
            stream = files.extractfile(member) if member.isfile() else None
            if stream is None or not member.name.endswith(".txt"):
                continue
            names = stream.read().decode("utf-8", "replace").split()
            hosts = [name.split(".")[0] for name in names]
            if len(hosts) >= 2 and all(host in known for host in hosts):
                jobs.append((Path(member.name).stem, sorted({known[host] for host in hosts})))
    return sorted(jobs, key=lambda job: int(job[0]) if job[0].isdecimal() else 0)


def simulate(folder: Path, count: int) -> None:
    """Adds rows to the table, allocation by allocation of both machines in turn."""
    done = {(row["machine"], row["job"]) for row in read()} if TABLE.exists() else set()
    random = np.random.default_rng(SEED)
    work = {}
    for machine, archive in MACHINES.items():
        scenario = ROOT / "examples" / "machines" / f"{machine}.toml"
        predictor = Predictor.from_file(scenario)
        jobs = allocations(folder / f"{archive}.tar.gz", predictor.hosts)
        fit = [at for at, (_, nodes) in enumerate(jobs) if len(nodes) <= LARGEST]
        chosen = random.permutation(fit)[:count]
        work[machine] = (predictor, jobs, chosen.tolist())
    for turn in range(count):
        for machine, (predictor, jobs, chosen) in work.items():
            if turn >= len(chosen) or (machine, jobs[chosen[turn]][0]) in done:
                continue
            append_rows(TABLE, list(placed(machine, predictor, jobs, chosen[turn])))
            print(f"{turn + 1} of {count}", file=sys.stderr, end="\r")


def placed(
    machine: str, predictor: Predictor, jobs: Sequence[tuple[str, list[int]]], at: int
) -> list[Row]:
    """One allocation under all policies."""
    name, real = jobs[at]
    nodes = sorted(predictor.hosts.values())
    busy = others(jobs, at, int(BUSY * len(nodes)))
    free = np.array([node for node in nodes if node not in busy])
    group = groups_of(predictor)
    places: dict[str, list[int] | None] = {
        "real": real,
        "grap": by_grap(predictor, free, len(real)),
        "contiguous": free[: len(real)].tolist(),
        "spread": spread(free, group, len(real)),
    }
    rows, host = [], HostModel.of(predictor.scenario)
    for policy, chosen in places.items():
        if chosen is None:
            continue
        allreduce = Case("allreduce", "rabenseifner", VECTOR, tuple(chosen))
        alltoall = Case("alltoall", "pairwise", BLOCK * len(chosen), tuple(chosen))
        apart = group[chosen][:, None] != group[chosen][None, :]
        rows.append(
            {
                "machine": machine,
                "job": name,
                "nodes": len(real),
                "policy": policy,
                "groups": len(set(group[chosen].tolist())),
                "allreduce_ns": round(predictor.time_ns(allreduce, host)),
                "allreduce_global_bytes": between_groups(group[chosen]),
                "alltoall_ns": round(predictor.time_ns(alltoall, host)),
                # A message between groups takes one global link.
                "alltoall_global_bytes": int(apart.sum()) * BLOCK,
            }
        )
    return rows


def others(jobs: Sequence[tuple[str, list[int]]], at: int, most: int) -> set[int]:
    """Nodes of the jobs that are next to one by their numbers and on none of each other's nodes."""
    own, busy = set(jobs[at][1]), set()
    order = sorted(range(len(jobs)), key=lambda other: abs(other - at))
    for other in order:
        nodes = set(jobs[other][1])
        if other != at and not nodes & (own | busy) and len(nodes) + len(busy) <= most:
            busy |= nodes
    return busy


_groups: dict[str, np.ndarray] = {}


def groups_of(predictor: Predictor) -> np.ndarray:
    """The group of each node of the network."""
    if predictor.name not in _groups:
        tables = run(predictor, [job("all", max(predictor.hosts.values()) + 1, contiguous())])
        found = np.zeros(len(tables["placement"]["node"]), dtype=np.int64)
        found[np.array(tables["placement"]["node"])] = tables["placement"]["group"]
        _groups[predictor.name] = found
    return _groups[predictor.name]


def by_grap(predictor: Predictor, free: np.ndarray, count: int) -> list[int] | None:
    """Where GRAP places a job of so many nodes; ``None`` if it would have to wait.

    Large jobs get groups without another large job.
    """
    # Nodes of the network that are none of the machine's are taken, too.
    known = set(free.tolist())
    taken = [node for node in range(len(groups_of(predictor))) if node not in known]
    held = job("others", len(taken), {"policy": "explicit", "nodes": taken}, idle=True)
    try:
        tables = run(predictor, [held, job("job", count, {"policy": "grap"})])
    except _engine.SpecError:
        return None
    placement = tables["placement"]
    return sorted(
        int(node)
        for node, number in zip(placement["node"], placement["job"], strict=True)
        if number == 1
    )


def spread(free: np.ndarray, group: np.ndarray, count: int) -> list[int]:
    """One free node of each group in turn."""
    rank = np.zeros(len(free), dtype=np.int64)
    for number in np.unique(group[free]):
        here = group[free] == number
        rank[here] = np.arange(here.sum())
    order = np.lexsort((group[free], rank))
    return sorted(free[order[:count]].tolist())


def contiguous() -> dict[str, Any]:
    """The policy, in the engine's form."""
    return {"policy": "contiguous"}


def job(name: str, nodes: int, placement: dict[str, Any], *, idle: bool = False) -> dict[str, Any]:
    """The engine's form of a job that does nothing but a barrier."""
    kind = {"name": "collective", "operation": "barrier", "message_bytes": 0, "root": 0}
    load = {"kind": {**kind, "algorithm": "tree"}, "iterations": 1, "compute_ps": 0}
    return {
        "name": name,
        "nodes": nodes,
        "ranks": None,
        "ranks_per_node": 1,
        "start_ps": 0,
        "idle": idle,
        "placement": placement,
        "groups": None,
        "mapping": {"policy": "linear"},
        "load": {"motif": load},
    }


def run(predictor: Predictor, jobs: list[dict[str, Any]]) -> dict[str, Any]:
    """Simulates jobs on a machine."""
    form = predictor.scenario.normalised()
    form["jobs"] = jobs
    form["simulation"]["duration_ps"] = None
    tables: dict[str, Any] = _engine.run(json.dumps(form))
    return tables


def between_groups(group: np.ndarray) -> int:
    """Bytes of an all-reduce of :data:`VECTOR` by Rabenseifner's algorithm between groups.

    The odd ones of the first pairs beyond a power of two give their vector to the even ones and get
    the result; of the others, those at distances 1, 2, 4, … exchange a half, a quarter, …, and the
    same on the way back (:mod:`odonata.collectives`). A message between groups takes one global
    link.

    Args:
        group: Of each rank.
    """
    ranks = len(group)
    stay = 1 << (ranks.bit_length() - 1)
    leave = ranks - stay
    pairs = group[: 2 * leave].reshape(-1, 2)
    carried = 2 * VECTOR * int((pairs[:, 0] != pairs[:, 1]).sum())
    left = np.concatenate([pairs[:, 0], group[2 * leave :]])
    for step in range(stay.bit_length() - 1):
        apart = left != left[np.arange(stay) ^ (1 << step)]
        carried += 2 * int(apart.sum()) * (VECTOR >> (step + 1))
    return carried


def read() -> list[Row]:
    """What was written."""
    return [
        {
            key: int(value) if key not in ("machine", "job", "policy") else value
            for key, value in row.items()
        }
        for row in read_rows(TABLE)
    ]


def paired(rows: list[Row], machine: str, policy: str, key: str) -> np.ndarray:
    """The real placement's value over a policy's, job by job. Shape: jobs."""
    of_machine = [row for row in rows if row["machine"] == machine]
    mine = {row["job"]: row[key] for row in of_machine if row["policy"] == policy}
    real = {row["job"]: row[key] for row in of_machine if row["policy"] == "real"}
    return np.array([[real[name], mine[name]] for name in real if name in mine], dtype=float)


def interval(pairs: np.ndarray) -> tuple[float, float, float]:
    """All of the real ones over all of the policy's, with a 95 % interval by resampling jobs."""
    random = np.random.default_rng(SEED)
    picked = random.integers(len(pairs), size=(1000, len(pairs)))
    totals = pairs[picked].sum(axis=1)
    ratio = totals[:, 0] / np.maximum(totals[:, 1], 1)
    low, high = np.quantile(ratio, [0.025, 0.975])
    whole = pairs.sum(axis=0)
    return float(whole[0] / max(whole[1], 1)), float(low), float(high)


def ratios(rows: list[Row]) -> str:
    """What a placement takes of that of the real ones."""
    lines = []
    for machine, policy in itertools.product(MACHINES, POLICIES[1:]):
        line = [TITLES[machine], policy]
        line.append(str(len(paired(rows, machine, policy, "nodes"))))
        for key in ("allreduce_global_bytes", "alltoall_global_bytes"):
            middle, low, high = interval(paired(rows, machine, policy, key)[:, ::-1])
            line.append(f"{middle:.2f} ({low:.2f} to {high:.2f})")
        for key in ("allreduce_ns", "alltoall_ns"):
            pairs = paired(rows, machine, policy, key)
            ratio = pairs[:, 1] / pairs[:, 0]
            low, middle, high = np.quantile(ratio, [0.1, 0.5, 0.9])
            line.append(f"{middle:.3f} ({low:.3f} to {high:.3f})")
        lines.append(line)
    header = [
        *("machine", "placement", "jobs", "global bytes, allreduce", "global bytes, alltoall"),
        *("time, allreduce", "time, alltoall"),
    ]
    return markdown(header, lines, labels=2)


def figure(rows: list[Row]) -> None:
    """Shares of jobs by the time that a placement takes of that of the real one."""
    with style():
        drawn = new_figure(8.6, 6.2)
        axes = drawn.subplots(2, 2, squeeze=False)
        keys = {"allreduce_ns": "allreduce of 8 MiB", "alltoall_ns": "all-to-all of 64 KiB blocks"}
        for line, machine in enumerate(MACHINES):
            for axis, (key, title) in zip(axes[line], keys.items(), strict=True):
                for place, policy in enumerate(POLICIES[1:]):
                    pairs = paired(rows, machine, policy, key)
                    ratio = np.sort(pairs[:, 1] / pairs[:, 0])
                    share = np.arange(1, len(ratio) + 1) / len(ratio)
                    axis.step(
                        ratio,
                        100 * share,
                        where="post",
                        color=JOB_COLOURS[place],
                        linestyle=("-", "--", ":")[place],
                        label=policy,
                    )
                axis.axvline(1.0, color="0.6", linewidth=0.8)
                axis.set_title(f"{TITLES[machine]}: {title}", fontsize=9)
                axis.set_xlabel("predicted time over that on the job's real nodes")
                axis.set_ylabel("share of jobs, %")
                axis.set_ylim(0, 100)
        axes[0][0].legend(title="placement", fontsize=8)
        save(drawn, HOME / "pages" / "figures" / "real-placements.png")


if __name__ == "__main__":
    main(sys.argv[1:])
