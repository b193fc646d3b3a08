"""Every study that ships runs with ``--quick``, on the cheapest of the points that it then has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from command import call
from odonata_studies import validation
from odonata_studies.longtail.plan import QUICK
from odonata_studies.papers import LIBRARY

ROOT = Path(__file__).resolve().parents[2]
FILES = [*sorted(LIBRARY.glob("*.toml")), *sorted(ROOT.glob("examples/studies/*.toml"))]

#: What is simulated of those that have more than a few points, or large ones.
ONLY = {
    "dragonfly-design": "traffic == 'next group' and arrangement == 'absolute'",
    "feng2023": "pattern == 'all-to-all' and groups == 2 and network == 'TDN' and noise == 0",
    "flow-accuracy": "pattern == 'halves' and routing == 'minimal'",
    "kang2019": (
        "pattern == 'uniform random' and background == 0 and intensity == 'under' and "
        "placement == 'contiguous'"
    ),
    "kang2019-codes": "background == 0 and intensity == 'under' and placement == 'contiguous'",
    "kaplan2017": (
        "pattern == 'bisection' and alpha == 4 and routing == 'minimal' and "
        "arrangement == 'absolute'"
    ),
    "measured-applications": (
        "application == 'LULESH' and routing == 'minimal' and placement == 'cluster' and "
        "arrangement == 'absolute'"
    ),
    "michelogiannakis2019-measured": "network == 'vanilla'",
    "michelogiannakis2019": "network == 'vanilla' and taper == 16 and load == 0.3 and seed == 1",
    "queue-orders": "policy == 'easy'",
    "sharing": "network == 'dragonfly' and routing == 'minimal' and company == 'alone'",
    "sharing-applications": "company == 'alone' and placement == 'isolated'",
    "steered-testbed": "tree == 'full' and network == 'standard' and computing == 'none'",
    "two-stencils": "alpha == 4 and routing == 'minimal'",
}


@pytest.mark.usefixtures("rendered_once", "simulated_here")
@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_study_files_run(file: Path, tmp_path: Path) -> None:
    text = file.read_text(encoding="utf-8")
    name = file.stem if file.parent == LIBRARY else file
    options = ["--quick"] if "[quick]" in text else []
    if file.stem in ONLY:
        options += ["--only", ONLY[file.stem]]
    done = call("study", name, *options, directory=tmp_path)
    if "Needs data files" in text and done.returncode == 2:
        assert "shared/data" in "".join(done.stderr.split())
        pytest.skip(f"{file.stem} needs data files that are not part of the repository")
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.rglob("study.md"))


@pytest.mark.usefixtures("rendered_once")
@pytest.mark.parametrize("name", ["resilience", "salimibeni2022", "validation"])
def test_studies_that_are_programs_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Enough moments for the forecasts, and of the validation what is compared with theory.
    less = replace(QUICK, month_ms=4, long_ms=6, experiment_ms=4, application_ms=16)
    extent = replace(less, experiments=("standard",))
    monkeypatch.setattr("odonata_studies.longtail.QUICK", extent)
    monkeypatch.setattr(validation, "reference_directory", lambda: None)
    done = call("study", name, "--quick", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "DIFFERS" not in done.stdout
