"""The study of steered fat trees: its sizes are the paper's, and steering does what it must."""

from __future__ import annotations

import lzma
from pathlib import Path

import numpy as np
import pytest

from odonata.study.file import StudyFile
from odonata.study.run import run_sweep
from odonata.study.sweep import Sweep
from odonata_studies.papers import LIBRARY
from studies import part_of

STUDY = LIBRARY / "michelogiannakis2019.toml"

#: Table 2, with 2,752 for what is printed as 2,725 (1,024 + 1,728).
TASKS = {
    "MILC/MiniDFT": 2432,
    "MiniDFT": 4525,
    "Nekbone/AMG": 2752,
    "AMR/AMG": 3456,
    "Nekbone/MiniDFT/AMG": 4672,
    "AMG/MiniDFT": 3648,
    "Nekbone": 1024,
    "AMG": 1728,
}


def edges(name: str) -> np.ndarray:
    """Sender, receiver and bytes of a matrix of the study. Shape: pairs × 3."""
    with lzma.open(LIBRARY / "michelogiannakis2019" / f"{name}.csv.xz", "rt") as file:
        return np.loadtxt(file, delimiter=",", skiprows=1, dtype=np.int64)


def test_every_workload_has_a_node_per_task_on_the_least_tree_with_room() -> None:
    points = Sweep(StudyFile.from_file(STUDY)).points
    assert {str(point.axes["workload"]) for point in points} == set(TASKS)
    for point in points:
        tasks = TASKS[str(point.axes["workload"])]
        scenario = point.scenario.normalised()
        tree = scenario["network"]["topology"]
        (k,) = set(tree["down"]) | set(tree["up"])
        assert (k - 1) ** 3 < tasks <= k**3
        assert 2 * k <= 36
        assert tree["nodes"] == tasks == sum(job["nodes"] for job in scenario["jobs"])
        assert scenario["simulation"]["packet_bytes"] == 256
        optical = tree.get("optical")
        assert (optical is None) == (point.axes["network"] == "vanilla")


def test_the_skeletons_send_as_they_should() -> None:
    amg = edges("amg-1728")
    assert amg[:, :2].max() == 1727
    steps = np.abs(amg[:, 0] - amg[:, 1])
    faces = amg[np.isin(steps, [1, 12, 144]), 2].sum() / amg[:, 2].sum()
    # A 12 × 12 × 12 grid; of the measured matrix 93 % go to these neighbours.
    assert faces > 0.75
    milc = edges("milc-512")
    # 4-D: eight nearest and eight third neighbours, which in a grid of 4 are the same or opposite.
    assert len(np.unique(milc[:, 0])) == 512
    fft = edges("minidft-1920")
    # 48 × 40 pencils: everybody of the row and of the column, alike.
    assert set(np.bincount(fft[:, 0])) == {47 + 39}


@pytest.mark.usefixtures("simulated_here")
def test_steering_keeps_traffic_below_the_top(tmp_path: Path) -> None:
    """Nekbone, 1,024 ranks on random nodes of an 11-ary tree: every leaf reaches every pod."""
    only = (
        "workload == 'Nekbone' and load == 0.3 and placement == 'random' and taper == 1 "
        "and radix in [none, 16] and router == 'ideal'"
    )
    file = part_of(StudyFile.from_file(STUDY), only).changed(repetitions=1)
    table = run_sweep(Sweep(file), tmp_path).to_pandas().set_index("network")
    vanilla, always, idle = (table.loc[name] for name in ("vanilla", "always", "if idle"))
    assert always.throughput_gb_per_s > 0.98 * vanilla.throughput_gb_per_s
    # Always: no packet that a circuit can take goes by the top. If idle: some do.
    assert always.top < idle.top < vanilla.top
    assert always.hops < idle.hops < vanilla.hops
    # A step up and a step down fewer, out of those between different leaves.
    assert always.latency_us < vanilla.latency_us
