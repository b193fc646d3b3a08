"""Judges what was simulated for a study by the study file as it is now, and rewrites its page.

    .venv/bin/python docs/studies/judged_again.py NAME [RESULTS]

Findings that the dataset in RESULTS has points of are judged from it, unless more is known of them.
The others are judged from docs/studies/study_NAME_findings.csv, which keeps figures, intervals and
seeds of what was simulated before: a study of days is not simulated again because the rules of its
verdicts have changed. Of a finding that both have, each combination is the one with more seeds.
Rewritten are that file and, in docs/study-NAME.md, the text and what stands below these headings:
parameters, findings, our own statements, what is lacking. Everything else is left as it is.

Figures are kept with all their digits. Files of before that was so have four: where the fifth could
change a verdict, the one of the run stands if what was published is still the same. Otherwise it is
*undecided*, and a line says so.
"""

from __future__ import annotations

import csv
import dataclasses
import math
import re
import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
from study_files import DOCS, STUDIES

from odonata.study.cells import Estimated
from odonata.study.dataset import build_dataset, read_dataset
from odonata.study.file import StudyFile
from odonata.study.findings import (
    FAILS,
    HOLDS,
    UNDECIDED,
    Observation,
    Verdict,
    judge,
    verdict_of,
    write_findings,
)
from odonata.study.page import (
    FINDINGS_FILE,
    findings_section,
    lacking_section,
    parameters_section,
    statements_section,
)
from odonata.study.sweep import Sweep

#: Columns of kept findings that a verdict is computed from.
_NEEDED = (
    *("claim", "published", "at", "unit", "ours", "ci95_low", "ci95_high"),
    *("our_choice", "seeds", "verdict"),
)


def main(name: str, results: Path | None = None) -> None:
    """Judges a study again and rewrites its page.

    Args:
        name: Of the study.
        results: Directory of a run of it.

    Raises:
        SystemExit: If there is no such study file, or what is kept of it does not suffice.
    """
    if f"study-{name}" not in STUDIES:
        known = ", ".join(sorted(file.removeprefix("study-") for file in STUDIES))
        raise SystemExit(f"judged_again: found {name}, which has no study file; allowed: {known}")
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
        statements_section(study, verdicts).replace(f"`{FINDINGS_FILE}`", link),
        lacking_section(study),
    ):
        text = with_section(text, section)
    page.write_text(text, encoding="utf-8")
    print(page.name)


def before(kept: Path) -> dict[str, list[Mapping[str, str]]]:
    """Rows of the findings that were kept, by claim.

    Raises:
        SystemExit: If the file lacks a column that verdicts are computed from.
    """
    found: dict[str, list[Mapping[str, str]]] = {}
    with kept.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        lacking = [column for column in _NEEDED if column not in (rows.fieldnames or ())]
        if lacking:
            raise SystemExit(
                f"judged_again: {kept}: found no column {', '.join(lacking)}; allowed: the columns "
                "that a run of the study leaves in findings.csv. Simulate it again: "
                "docs/studies/study_files.py"
            )
        for row in rows:
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
        before = [_observation(study, verdict, row) for row in rows]
        observations = _together(before, verdict.observations)
        unit = rows[0]["unit"] if observations is before else verdict.unit
        found.append(dataclasses.replace(verdict, observations=observations, unit=unit))
    return found


def _together(before: Sequence[Observation], now: Sequence[Observation]) -> Sequence[Observation]:
    """What was known of a finding and what the dataset says, the better of both.

    Where both name combinations by the same axes, of each combination the one with more seeds.
    Otherwise all of the longer list: a part of what was simulated before does not replace it.
    """
    names = {frozenset(one.axes) for one in (*before, *now)}
    if not before or not now or len(names) > 1:
        return now if len(now) >= len(before) else before
    found = {tuple(one.axes.items()): one for one in before}
    for one in now:
        key = tuple(one.axes.items())
        if key not in found or one.seeds >= found[key].seeds:
            found[key] = one
    return list(found.values())


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
        figures = (ours, *_ends(numbers))
        possible = [verdict_of(study, verdict.finding, one, seeds) for one in figures]
        judged = possible[0]
        if len(set(possible)) > 1:
            judged = row["verdict"]
            if row["published"] != verdict.published or judged not in possible:
                print(f"undecided, as it is kept rounded: {verdict.finding.claim}; {row['at']}")
                judged = UNDECIDED
    else:
        # How far the others are apart is not kept: a choice that is ours stays open.
        judged = FAILS if ours.low > 0 else ("undecided" if study.judged == "intervals" else HOLDS)
    return Observation(axes, ours, row["our_choice"], judged, seeds)


def _ends(numbers: Sequence[str]) -> list[Estimated]:
    """The least and the largest figures, ends of intervals included, that are kept as these."""
    found = []
    for sign in (-1, 1):
        ends = [float(text) + sign * _half_a_digit(text) if text else math.nan for text in numbers]
        found.append(Estimated(*ends))
    return found


def _half_a_digit(text: str) -> float:
    """How far the figure that was kept as this text may be from it.

    Figures were kept with four digits, without zeros at the end, before all were kept.
    """
    number = Decimal(text)
    last = min(int(number.as_tuple().exponent), number.adjusted() - 3)
    return 0.5 * 10.0**last if number else 0.0


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
    later = ("## Published", "## Statements", "## Figures")
    following = later if heading == "## Where the parameters are from" else later[-1:]
    place = next((p for p, part in enumerate(parts) if part.startswith(following)), len(parts))
    parts.insert(place, new)
    return "".join(parts).rstrip("\n") + "\n"


if __name__ == "__main__":
    main(sys.argv[1], *map(Path, sys.argv[2:3]))
