"""Study files of publications: they are complete, and keep the rules."""

from __future__ import annotations

import csv
from importlib.metadata import entry_points
from pathlib import Path

import jsonschema
import pytest

from odonata._engine import read_toml
from odonata.scenario.schema import study_schema
from odonata.study.file import StudyFile
from odonata_studies.papers import LIBRARY

STUDIES = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("file", sorted(LIBRARY.glob("*.toml")), ids=lambda path: path.stem)
def test_study_files_are_installed_by_name_and_meet_the_schema(file: Path) -> None:
    (point,) = entry_points(group="odonata.studies", name=file.stem)
    assert point.load() == file
    assert StudyFile.from_file(file).finding
    contents = read_toml(file.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(study_schema()).validate(contents)


@pytest.mark.parametrize("name", ["feng2023", "kang2019", "kang2019-codes", "kaplan2017"])
def test_studies_of_publications_keep_the_rules(name: str) -> None:
    """study-rules.md: verdicts by intervals, parameters with their origin, what is lacking; and the
    page has them as the study file does, beside no finding that the file has not."""
    from odonata.study.page import lacking_section, parameters_section

    study = StudyFile.from_file(LIBRARY / f"{name}.toml")
    assert study.judged == "intervals"
    page = (STUDIES / "pages" / f"study-{name}.md").read_text(encoding="utf-8")
    for section in (parameters_section(study), lacking_section(study)):
        assert section and section in page
    kept = STUDIES / "data" / f"study_{name.replace('-', '_')}_findings.csv"
    with kept.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["claim"] for row in rows} <= {finding.claim for finding in study.finding}
    assert all(row["seeds"].isdigit() for row in rows)
    for row in rows:
        if int(row["seeds"]) < 5:
            assert row["verdict"] == "undecided"
