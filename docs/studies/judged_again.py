"""Judges what was simulated for a study by the study file as it is now, and rewrites its page.

    .venv/bin/python docs/studies/judged_again.py NAME [RESULTS …]

A study of days is not simulated again because the rules of its verdicts have changed, because
points were added to it, or because they are simulated elsewhere. What is known is in two files:

- docs/studies/study_NAME_points.csv: what was measured at each point, from which findings are
  judged. The points in RESULTS, directories of runs of the study, are added to it, of whatever
  build and version of the study file, if the study still has their scenario.
- docs/studies/study_NAME_findings.csv: figures, intervals and seeds of all findings, also of points
  that were simulated before points were kept. Of a finding that both files have, each combination
  is the one with more seeds. A mean or an extreme takes its combinations from both, and stays as
  it was while they lack some.

Rewritten are these files and, in docs/study-NAME.md, the text and what stands below these headings:
parameters, findings, our own statements, what is lacking. With RESULTS, also the values of the
axes, the numbers of simulations, and the pictures whose points are all there. Everything else is
left as it is.

Figures are kept with all their digits. Files of before that was so have four: where the fifth could
change a verdict, the one of the run stands if what was published is still the same. Otherwise it is
*undecided*, and a line says so. The same holds for a choice whose points are not kept, as how far
the other choices are behind is not in a file of findings.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import math
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
from study_files import DOCS, STUDIES

from odonata.study.cells import Estimated
from odonata.study.dataset import build_dataset
from odonata.study.drawing import draw
from odonata.study.execution import STORE_FILE, Record
from odonata.study.expression import Condition
from odonata.study.file import StudyFile
from odonata.study.findings import (
    FAILS,
    FEWEST,
    HOLDS,
    MEAN,
    OPEN,
    UNDECIDED,
    Observation,
    Verdict,
    judge,
    mean_of,
    verdict_of,
    write_findings,
)
from odonata.study.page import (
    FINDINGS_FILE,
    all_values_of,
    findings_section,
    lacking_section,
    parameters_section,
    setting_row,
    statements_section,
    values_of,
)
from odonata.study.sweep import Sweep

#: Sections of a page that depend on the study file or its verdicts, in the order of the page.
_SECTIONS = (
    "## Where the parameters are from",
    "## Published findings beside ours",
    "## Statements of our own",
    "## Published, and not here",
    "## What is not here",
    "## Figures",
)
#: Columns of kept findings with the figure and the ends of its interval.
_FIGURES = ("ours", "ci95_low", "ci95_high")
#: Columns that a verdict is computed from.
_NEEDED = ("claim", "published", "at", "unit", *_FIGURES, "our_choice", "seeds", "verdict")


def main(name: str, *results: Path) -> None:
    """Judges a study again and rewrites its page.

    Args:
        name: Of the study.
        results: Directories of runs of it.

    Raises:
        SystemExit: If there is no such study file, or what is kept of it does not suffice.
    """
    if f"study-{name}" not in STUDIES:
        allowed = ", ".join(sorted(file.removeprefix("study-") for file in STUDIES))
        raise SystemExit(f"judged_again: found {name}, which has no study file; allowed: {allowed}")
    study = StudyFile.from_file(STUDIES[f"study-{name}"])
    page = DOCS / f"study-{name}.md"
    stem = f"study_{name.replace('-', '_')}"
    kept, kept_points = (DOCS / "studies" / f"{stem}_{what}.csv" for what in ("findings", "points"))
    known_points = points_before(kept_points)
    simulated = known_points | points_of(results)
    sweep = Sweep(study)
    table = _table(sweep, simulated)
    if simulated:
        write_points(table, kept_points)
        if len(table) < len(simulated):
            print(f"{len(simulated) - len(table)} points left out: not scenarios of the study")
    known = before(kept)
    verdicts = again(sweep, table, known)
    write_findings(verdicts, kept)
    with_digits_of(kept, known)
    link = f"[{kept.name}](studies/{kept.name})"
    text = page.read_text(encoding="utf-8")
    text = with_introduction(text, study)
    if results:
        added = {one: record for one, record in simulated.items() if one not in known_points}
        text = with_simulations(text, sweep, _table(sweep, added))
        text = with_pictures(text, sweep, table, page)
    for section in (
        parameters_section(study),
        findings_section(study, verdicts).replace(f"`{FINDINGS_FILE}`", link),
        statements_section(study, verdicts).replace(f"`{FINDINGS_FILE}`", link),
        lacking_section(study),
    ):
        text = with_section(text, section)
    own = [finding.own for finding in study.finding]
    gone = (_SECTIONS[1], _SECTIONS[3]) if all(own) else () if any(own) else (_SECTIONS[2],)
    for heading in gone:
        text = without_section(text, heading)
    page.write_text(text, encoding="utf-8")
    print(page.name)


def points_of(results: Sequence[Path]) -> dict[str, Record]:
    """What runs of a study have simulated, by scenario, of any build and version of its file.

    Raises:
        SystemExit: If one of these directories holds no points.
    """
    found: dict[str, Record] = {}
    for directory in results:
        try:
            lines = (directory / STORE_FILE).read_text(encoding="utf-8").splitlines(keepends=True)
        except FileNotFoundError:
            raise SystemExit(
                f"judged_again: {directory}: found no {STORE_FILE}; allowed: directories of runs "
                "of the study"
            ) from None
        # The last line of a run that goes on may not be whole yet.
        for point in (json.loads(line) for line in lines if line.endswith("\n")):
            found[point["scenario"]] = point["record"]
    return found


def points_before(kept: Path) -> dict[str, Record]:
    """Records of the points that were kept, by scenario."""
    if not kept.exists():
        return {}
    found: dict[str, Record] = {}
    with kept.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        names = list(rows.fieldnames or ())
        measures = names[names.index("seed") + 1 : names.index("saturated")]
        for row in rows:
            found[row["fingerprint"]] = {
                "values": {name: float(row[name]) if row[name] else None for name in measures},
                "saturated": row["saturated"].split("; ") if row["saturated"] else [],
                "version": row["version"],
            }
    return found


def write_points(table: pa.Table, kept: Path) -> None:
    """Writes the points of a dataset: its columns, but for the place of a point in the study."""
    rows = table.drop_columns(["point"]).to_pylist()
    with kept.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, table.column_names[1:], lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow(row | {"saturated": "; ".join(row["saturated"] or ())})


def _table(sweep: Sweep, records: Mapping[str, Record]) -> pa.Table:
    """The dataset of a study's points whose scenario has a record."""
    simulated = {
        point.fingerprint(): records[point.scenario_fingerprint]
        for point in sweep.points
        if point.scenario_fingerprint in records
    }
    return build_dataset(sweep.study, sweep.points, simulated)


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
            if row["at"] == MEAN:
                continue
            found.setdefault(row["claim"], []).append(row)
    return found


def with_digits_of(kept: Path, known: Mapping[str, Sequence[Mapping[str, str]]]) -> None:
    """Writes figures that were kept rounded with the digits that they were kept with.

    With all digits of what they were read as they would pass for figures that never were rounded.
    """
    texts = {
        (claim, row["at"], name, float(row[name])): row[name]
        for claim, rows in known.items()
        for row in rows
        for name in _FIGURES
        if row[name]
    }
    with kept.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        for name in filter(row.get, _FIGURES):
            row[name] = texts.get((row["claim"], row["at"], name, float(row[name])), row[name])
    with kept.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else _NEEDED, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def again(
    sweep: Sweep, table: pa.Table, known: Mapping[str, Sequence[Mapping[str, str]]]
) -> list[Verdict]:
    """Verdicts of the dataset, and of what is known where it has nothing.

    Args:
        sweep: All points of the study.
        table: Its dataset; may be empty.
        known: Rows of an earlier dataset's findings by claim.
    """
    study, found = sweep.study, []
    points = [point.axes for point in sweep.points]
    # A part of what a mean or an extreme is of may be in the dataset, the rest in what is known.
    parts = study.model_copy(
        update={
            "finding": [
                finding.model_copy(update={"combinations": "every"}) for finding in study.finding
            ]
        }
    )
    for finding, part in zip(study.finding, judge(parts, table, points=points), strict=True):
        verdict = dataclasses.replace(part, finding=finding)
        rows = known.get(finding.claim, [])
        before = [_observation(study, verdict, row) for row in rows]
        now = _in_full(study, table, verdict, before)
        observations = _together(before, now)
        if finding.combinations != "every" and len(observations) < verdict.combination_count:
            observations = before
        unit = rows[0]["unit"] if observations is before else verdict.unit
        mean = mean_of(study, finding, observations)
        found.append(dataclasses.replace(verdict, observations=observations, mean=mean, unit=unit))
    return found


def _in_full(
    study: StudyFile, table: pa.Table, verdict: Verdict, before: Sequence[Observation]
) -> Sequence[Observation]:
    """What the dataset says, named by the axes by which it was before.

    A dataset that has points of one value only of an axis does not name it.
    """
    names = {name for one in before for name in one.axes}
    columns = {axis.column: table[axis.column].to_pylist() for axis in study.axis}
    columns["seed"] = table["seed"].to_pylist()
    chosen: Sequence[int] = range(len(table))
    if verdict.finding.only is not None:
        arrays = {name: np.array(values, dtype=object) for name, values in columns.items()}
        mask = Condition(verdict.finding.only, list(columns)).mask(arrays, len(table))
        chosen = [int(row) for row in np.flatnonzero(mask)]
    found = []
    for one in verdict.observations:
        axes = dict(one.axes)
        for name in names - axes.keys():
            values = {columns[name][row] for row in chosen}
            if len(values) == 1:
                axes[name] = values.pop()
        ordered = {axis.column: axes[axis.column] for axis in study.axis if axis.column in axes}
        found.append(dataclasses.replace(one, axes=ordered))
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
    numbers = tuple(row[name] for name in _FIGURES)
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
        unknown = "as it is kept rounded"
    elif study.judged == "intervals" and seeds < FEWEST:
        possible, unknown = [UNDECIDED], ""
    else:
        # How far the other choices are behind is not kept.
        possible = [HOLDS, UNDECIDED, OPEN, FAILS]
        unknown = "as another choice was published when it was judged"
    judged = possible[0]
    if len(set(possible)) > 1:
        judged = row["verdict"]
        if row["published"] != verdict.published or judged not in possible:
            print(f"undecided, {unknown}: {verdict.finding.claim}; {row['at']}")
            judged = UNDECIDED
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


def with_simulations(text: str, sweep: Sweep, table: pa.Table) -> str:
    """A page with the axes of the study file, and numbers that include those of a dataset.

    Either all or none of the dataset's points are counted on the page already.
    """
    study = sweep.study
    begin, end = text.index("| axis | keys"), text.index("## ", text.index("| axis | keys"))
    known = {
        cells[0].strip(): f", {cells[2].strip()}, "
        for cells in (row.strip("|").split("|") for row in text[begin:end].splitlines()[2:])
        if len(cells) == 3
    }
    counted = re.search(r"([\d,]+) simulations of ([\d,]+) combinations", text[begin:end])
    if counted is None:
        raise SystemExit("the page does not say how many simulations there are")
    runs, combinations = (int(number.replace(",", "")) for number in counted.groups())
    points = sweep.points
    if runs + len(table) <= len(points):
        axes = [axis.column for axis in study.axis]
        runs += len(table)
        combinations += len(table.group_by(axes).aggregate([]))
    rows = []
    for axis in study.axis:
        before, added = known.get(axis.column, ""), values_of(axis, table)
        there = [one for one in all_values_of(axis) if f", {one}, " in before or one in added]
        rows.append(setting_row(axis, there))
    lines = ["| axis | keys | values simulated |", "|---|---|---|", *rows]
    lines.append(f"\n{runs} simulations of {combinations} combinations.\n")
    if runs < len(points):
        lines.append(f"**Not complete**: the study has {len(points)} simulations.\n")
    return text[:begin] + "\n".join(lines) + "\n" + text[end:]


def with_pictures(text: str, sweep: Sweep, table: pa.Table, page: Path) -> str:
    """A page with the pictures whose points are all in a dataset; copies them beside the others."""
    study = sweep.study
    names = [axis.column for axis in study.axis]
    columns = {name: table[name].to_pandas().to_numpy(dtype=object) for name in names}

    def is_complete(only: str | None) -> bool:
        if only is None:
            return len(table) == len(sweep.points)
        there = Condition(only, names).mask(columns, len(table)).sum()
        return bool(there == len(sweep.select(only)) > 0)

    drawn = study.model_copy(update={"figure": [f for f in study.figure if is_complete(f.only)]})
    with tempfile.TemporaryDirectory() as directory:
        for path in draw(drawn, table, Path(directory)):
            shutil.copyfile(path, DOCS / "figures" / f"{page.stem}-{path.name}")
    links = []
    for figure in study.figure:
        kept = f"figures/{page.stem}-{figure.name}.png"
        if figure in drawn.figure or f"({kept})" in text:
            links.append(f"![{figure.title or figure.name}]({kept})\n")
    return with_section(text, "## Figures\n\n" + "\n".join(links)) if links else text


def with_section(text: str, section: str) -> str:
    """A page with a section in the place of the one of the same heading.

    A new one comes before those that follow it in the order of pages. An empty one changes nothing.
    """
    if not section:
        return text
    heading = section.split("\n", 1)[0]
    parts = _parts(text)
    new = section.rstrip("\n") + "\n\n"
    headings = [part.split("\n", 1)[0] for part in parts]
    if heading in headings:
        parts[headings.index(heading)] = new
    else:
        later = _SECTIONS[_SECTIONS.index(heading) + 1 :]
        parts.insert(next((p for p, one in enumerate(headings) if one in later), len(parts)), new)
    return "".join(parts).rstrip("\n") + "\n"


def without_section(text: str, heading: str) -> str:
    """A page without the section of a heading."""
    return "".join(part for part in _parts(text) if part.split("\n", 1)[0] != heading)


def _parts(text: str) -> list[str]:
    """What stands before the first section, and the sections."""
    return re.split(r"(?m)^(?=## )", text)


if __name__ == "__main__":
    main(sys.argv[1], *map(Path, sys.argv[2:]))
