"""The study of GRAP on a reconfigurable dragonfly: its sizes are the paper's, and its quick
version finds what groups and circuits of one's own do."""

from pathlib import Path

import pytest

from odonata.study.cells import cells
from odonata.study.file import StudyFile
from odonata.study.findings import HOLDS, judge
from odonata.study.run import run_sweep
from odonata.study.sweep import Sweep
from odonata_studies.papers import LIBRARY
from studies import by_values, part_of

STUDY = LIBRARY / "feng2023.toml"


def test_jobs_fill_their_groups_as_in_the_paper() -> None:
    """5.1.3: 256 of 288 nodes for all-to-all, all for the stencil, 216 for (half of) neighbouring,
    and everybody else makes noise; 28, 32 and 24 of 32 on the small machine."""
    study = part_of(StudyFile.from_file(STUDY), "variant == 'standard' and noise == 26")
    points = Sweep(study).points
    used = {"all-to-all": (28, 256), "stencil": (32, 288), "neighbouring": (24, 216)}
    assert {point.axes["machine"] for point in points} == {"1,024 nodes", "82,944 nodes"}
    for point in points:
        paper = point.axes["machine"] == "82,944 nodes"
        scenario = point.scenario.normalised()
        target, noise = scenario["jobs"]
        each = used[str(point.axes["pattern"])][paper]
        assert target["nodes"] == each * int(str(point.axes["groups"]))
        assert target["nodes"] + noise["nodes"] == (82_944 if paper else 1024)
        assert noise["load"]["traffic"]["offered"] == {"load": 0.26}
        of_groups = target["placement"].get("nodes_per_group")
        if of_groups is not None:
            assert sum(of_groups) == target["nodes"]
            assert len(of_groups) == point.axes["groups"]


@pytest.mark.usefixtures("simulated_here")
def test_quick_study_finds_what_groups_of_one_s_own_do(tmp_path: Path) -> None:
    study = StudyFile.from_file(STUDY)
    table = run_sweep(Sweep(study, quick=True), tmp_path)
    found = {verdict.finding.claim: verdict for verdict in judge(by_values(study), table)}
    assert found["RDN: not affected by noise"].text == HOLDS
    assert found["All-to-all: almost no difference between balance and adaptive"].text == HOLDS
    axes = [axis.column for axis in study.axis]

    def means(measure: str) -> dict[tuple[object, ...], float]:
        keys = ("pattern", "groups", "network", "noise")
        return {
            tuple(cell.axes[key] for key in keys): cell.figure("mean")
            for cell in cells(table, axes, measure)
            if cell.axes["tago"] == "shortest"
        }

    time, routers = means("run_time_us"), means("mean_routers_visited")

    def saved(pattern: str, groups: int) -> float:
        return 1 - time[pattern, groups, "RDN-GRAP", 26] / time[pattern, groups, "TDN", 26]

    # Section 5.2: all-to-all gains less from more groups, the stencil as much from 2 as from 8, and
    # more than neighbouring traffic, whose groups talk to more others.
    assert saved("all-to-all", 2) > saved("all-to-all", 8) > 0.05
    assert abs(saved("stencil", 2) - saved("stencil", 8)) < 0.05
    assert saved("stencil", 8) > 0.27 > saved("neighbouring", 8) > 0.13
    visited = routers["neighbouring", 8, "RDN-GRAP", 26] / routers["neighbouring", 8, "TDN", 26]
    assert visited < 1 - 0.47
