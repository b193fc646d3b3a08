"""The study of jobs that are held while the network is busy: its page says what its table says."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import holding_jobs as study
from odonata_studies.marked import with_tables


def test_the_page_shows_its_table() -> None:
    found = pd.read_csv(study.TABLE).astype({"above": str})
    points = len(study.MACHINES) * len(study.PLACEMENTS) * len(study.ABOVE) * len(study.SEEDS)
    assert len(found) == points and not found.duplicated(list(study.COLUMNS[:4])).any()
    page = study.PAGE.read_text("utf-8")
    assert with_tables(page, study.tables(found)) == page


def test_nothing_is_held_without_and_nobody_for_longer_than_allowed() -> None:
    found = pd.read_csv(study.TABLE).astype({"above": str})
    assert not found[found.above == "none"].held.any()
    # More is held above a smaller loss.
    of = found[found.above != "none"].astype({"above": int}).groupby("above").held.mean()
    assert of.is_monotonic_decreasing


def test_a_schedule_is_measured_as_the_page_says(tmp_path: Path) -> None:
    """Two jobs of two leaves each that meet on nothing, of which the second waits for nodes."""
    machine = study.Machine("", 20, 2, study.TREE.format(up=10), 0.5)
    (tmp_path / "tree.toml").write_text(machine.network)
    lines = ["; MaxNodes: 20", "; MaxProcs: 20"]
    for number in (1, 2):
        fields = [number, 0, -1, 3600, 20, -1, -1, 20, -1, -1, 1, *[-1] * 7]
        lines.append(" ".join(map(str, fields)))
    log = tmp_path / "log.swf"
    log.write_text("\n".join(lines) + "\n")
    found = study.scheduled(machine, log, tmp_path / "tree.toml", "contiguous", 5, 1)
    assert found["wait_h"] == pytest.approx(0.5) and found["turnaround_h"] == pytest.approx(1.5)
    assert found["stretch"] == 1 and found["slowdown"] == pytest.approx(1.5)
    assert found["held"] == found["held_h"] == 0
    assert found["longest_wait_h"] == 1 and found["makespan_h"] == 2
