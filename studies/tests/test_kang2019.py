"""The study of interference on a dragonfly+: its loads are the paper's, and its quick version
finds that isolation protects."""

from pathlib import Path

import pytest

from odonata.study.cells import cells
from odonata.study.file import StudyFile
from odonata.study.findings import HOLDS, judge
from odonata.study.run import run_sweep
from odonata.study.sweep import Sweep
from odonata_studies.papers import LIBRARY
from studies import by_values, part_of

STUDY = LIBRARY / "kang2019.toml"
GIB = 1 << 30


def test_background_has_the_loads_of_the_paper() -> None:
    """Table 1: 2,340, 4,212 and 6,084 bytes per µs are 50, 90 and 130 % of a global link.

    The paper computes with 4,680 MB/s; 4.37 GiB/s are 4,692.
    """
    only = (
        "pattern == 'tornado' and placement == 'random' and intensity == 'near'"
        " and routing == 'fpar' and model == 'standard' and background != 0"
    )
    points = Sweep(part_of(StudyFile.from_file(STUDY), only)).points
    paper = {50: 2340, 90: 4212, 130: 6084}
    intervals = {"4 kB": 1, "512 kB": 10, "4 MB": 100}
    assert len(points) == 9
    for point in points:
        traffic = point.scenario.normalised()["jobs"][0]["load"]["traffic"]
        interval_us = intervals[str(point.axes["message"])]
        assert traffic["interval_ps"] == interval_us * 10**6
        message = traffic["offered"]["tgll"] * 4.37 * GIB * interval_us * 1e-6
        expected = paper[int(str(point.axes["background"]))] * interval_us
        assert message == pytest.approx(expected, rel=0.003)


def test_target_has_the_loads_of_the_paper() -> None:
    """Table 2: 21 to 28 %, 73 to 85 % and more than 100 % of a global link from every rank."""
    sizes = {"4 kB": 4e3, "512 kB": 512e3, "4 MB": 4e6}
    ranges = {"under": (0.21, 0.29), "near": (0.72, 0.86), "over": (1.0, 2.0)}
    only = (
        "pattern == 'uniform random' and placement == 'random' and background == 0"
        " and routing == 'fpar' and model == 'standard'"
    )
    points = Sweep(part_of(StudyFile.from_file(STUDY), only)).points
    assert len(points) == 9
    for point in points:
        traffic = point.scenario.normalised()["jobs"][1]["load"]["traffic"]
        rate = sizes[str(point.axes["message"])] / (traffic["offered"]["interval_ps"] * 1e-12)
        low, high = ranges[str(point.axes["intensity"])]
        assert low <= rate / (4.37 * GIB) <= high


@pytest.mark.usefixtures("simulated_here")
def test_quick_study_finds_what_isolation_does(tmp_path: Path) -> None:
    # Half as many messages as the quick version, and only the points that are looked at.
    only = (
        "routing == 'fpar' and (intensity == 'near' or pattern != 'tornado'"
        " and placement == 'contiguous' or pattern == 'stencil' and background == 0)"
    )
    study = part_of(StudyFile.from_file(STUDY), only, quick={"job.1.traffic.messages": 20})
    table = run_sweep(Sweep(study, quick=True), tmp_path)
    found = {verdict.finding.claim: verdict for verdict in judge(by_values(study), table)}
    for pattern, most in (("Uniform random", "7"), ("Stencil", "3.2")):
        isolated = found[f"{pattern}, isolated: no background slows it by more than {most} %"]
        assert isolated.text == HOLDS
    mean = {
        tuple(cell.axes[axis] for axis in ("pattern", "placement", "intensity", "background")): (
            cell.figure("mean")
        )
        for cell in cells(table, [axis.column for axis in study.axis], "latency_mean_us")
        if cell.axes["routing"] == "fpar"
    }
    # Sharing groups costs more than nothing, and tornado traffic prefers random nodes, stencils
    # contiguous ones (sections 4.1 to 4.3).
    for pattern in ("uniform random", "stencil", "tornado"):
        shared = mean[pattern, "random", "near", 130] / mean[pattern, "random", "near", 0]
        apart = mean[pattern, "contiguous", "near", 130] / mean[pattern, "contiguous", "near", 0]
        assert shared > 1.04 > 1.01 > apart
    assert mean["tornado", "contiguous", "near", 0] > 3 * mean["tornado", "random", "near", 0]
    # Six messages in 1 µs are more than a node's own link carries, wherever its partners are; in
    # 3 µs they fit through it, and only random ranks overload the links between groups.
    assert mean["stencil", "random", "under", 0] > 2 * mean["stencil", "contiguous", "under", 0]
