"""Judges what was simulated for a study by the study file as it is now, and rewrites its page.

    .venv/bin/python docs/studies/judged_again.py NAME [RESULTS]

Findings that the dataset in RESULTS has points of are judged from it, unless more is known of them.
The others are judged from docs/studies/study_NAME_findings.csv, which keeps figures, intervals and
seeds of what was simulated before: a study of days is not simulated again because the rules of its
verdicts have changed. Rewritten are that file and, in docs/study-NAME.md, the text and what stands
below these headings: parameters, findings, what is lacking. Everything else is left as it is.
"""

from __future__ import annotations

import csv
import dataclasses
import math
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
from study_files import DOCS, STUDIES

from odonata.study.cells import Estimated
from odonata.study.dataset import build_dataset, read_dataset
from odonata.study.file import StudyFile
from odonata.study.findings import (
    FAILS,
    HOLDS,
    Observation,
    Verdict,
    judge,
    verdict_of,
    write_findings,
)
from odonata.study.page import FINDINGS_FILE, findings_section, lacking_section, parameters_section
from odonata.study.sweep import Sweep


def main(name: str, results: Path | None = None) -> None:
    """Judges a study again and rewrites its page.

    Args:
        name: Of the study.
        results: Directory of a run of it.
    """
    study = StudyFile.from_file(STUDIES[f"study-{name}"])
    page = DOCS / f"study-{name}.md"
    kept = DOCS / "studies" / f"study_{name.replace('-', '_')}_findings.csv"
    table = build_dataset(study, [], {}) if results is None else read_dataset(results)
    verdicts = again(study, table, before(kept))
    write_findings(verdicts, kept)
    link = f"[{kept.name}](studies/{kept.name})"
    text = page.read_text(encoding="utf-8")
    text = with_introduction(text, study)
    for section in (
        parameters_section(study),
        findings_section(study, verdicts).replace(f"`{FINDINGS_FILE}`", link),
        lacking_section(study),
    ):
        text = with_section(text, section)
    page.write_text(text, encoding="utf-8")
    print(page.name)


def before(kept: Path) -> dict[str, list[Mapping[str, str]]]:
    """Rows of the findings that were kept, by claim."""
    found: dict[str, list[Mapping[str, str]]] = {}
    with kept.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["claim"], []).append(row)
    return found


def again(
    study: StudyFile, table: pa.Table, known: Mapping[str, Sequence[Mapping[str, str]]]
) -> list[Verdict]:
    """Verdicts of the dataset, and of what is known where it has nothing.

    Args:
        study: The study.
        table: Its dataset; may be empty.
        known: Rows of an earlier dataset's findings by claim.
    """
    found = []
    points = [point.axes for point in Sweep(study).points]
    for verdict in judge(study, table, points=points):
        rows = known.get(verdict.finding.claim, [])
        # A part of what was simulated before does not replace it.
        if len(verdict.observations) >= len(rows):
            found.append(verdict)
            continue
        observations = [_observation(study, verdict, row) for row in rows]
        found.append(dataclasses.replace(verdict, observations=observations, unit=rows[0]["unit"]))
    return found


def _observation(study: StudyFile, verdict: Verdict, row: Mapping[str, str]) -> Observation:
    numbers = (row["ours"], row["ci95_low"], row["ci95_high"])
    ours = Estimated(*(float(text) if text else math.nan for text in numbers))
    seeds = int(row["seeds"])
    axes: dict[str, float | str] = {}
    for part in filter(None, re.split(r", (?=\w+=)", row["at"])):
        axis, value = part.split("=", 1)
        number = re.fullmatch(r"\d+\.\d+", value)
        axes[axis] = float(value) if number else value
    if verdict.finding.values is None:
        judged = verdict_of(study, verdict.finding, ours, seeds)
    else:
        # How far the others are apart is not kept: a choice that is ours stays open.
        judged = FAILS if ours.low > 0 else ("undecided" if study.judged == "intervals" else HOLDS)
    return Observation(axes, ours, row["our_choice"], judged, seeds)


def with_introduction(text: str, study: StudyFile) -> str:
    """A page with the title and text of the study file."""
    head = f"# {study.title}\n\n{(study.text or '').strip()}\n\n"
    return head + text[text.index("Written by\n") :]


def with_section(text: str, section: str) -> str:
    """A page with a section in the place of the one of the same heading.

    A new one comes before the findings, or before the figures. An empty one changes nothing.
    """
    if not section:
        return text
    heading = section.split("\n", 1)[0]
    parts = re.split(r"(?m)^(?=## )", text)
    new = section.rstrip("\n") + "\n\n"
    for place, part in enumerate(parts):
        if part.split("\n", 1)[0] == heading:
            parts[place] = new
            return "".join(parts).rstrip("\n") + "\n"
    parameters = heading == "## Where the parameters are from"
    following = "## Published findings" if parameters else "## Figures"
    place = next((p for p, part in enumerate(parts) if part.startswith(following)), len(parts))
    parts.insert(place, new)
    return "".join(parts).rstrip("\n") + "\n"


if __name__ == "__main__":
    main(sys.argv[1], *map(Path, sys.argv[2:3]))
