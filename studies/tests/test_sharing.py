"""The study of a victim and a bully: with minimal routes, isolation protects completely."""

from pathlib import Path

import pytest

from odonata.study.cells import cells
from odonata.study.file import StudyFile
from odonata.study.run import run_sweep
from odonata.study.sweep import Sweep
from odonata_studies.papers import LIBRARY
from studies import part_of

STUDY = LIBRARY / "sharing.toml"


@pytest.mark.usefixtures("simulated_here")
def test_isolation_protects_under_minimal_routing(tmp_path: Path) -> None:
    """Minimal routes between two groups use links of these two only (docs/interference.md)."""
    study = part_of(StudyFile.from_file(STUDY), "routing == 'minimal'")
    table = run_sweep(Sweep(study, quick=True), tmp_path)
    mean = {
        tuple(
            cell.axes[axis] for axis in ("network", "routing", "placement", "company")
        ): cell.figure("mean")
        for cell in cells(table, [axis.column for axis in study.axis], "latency_us")
    }
    for network in ("dragonfly", "dragonfly+"):
        alone, shared = (
            mean[network, "minimal", "isolated", company] for company in ("alone", "with the bully")
        )
        # Equal to the last message: no link has packets of both.
        assert alone == shared
        # With random nodes the two share links.
        assert mean[network, "minimal", "random-node", "with the bully"] > (
            1.05 * mean[network, "minimal", "random-node", "alone"]
        )
