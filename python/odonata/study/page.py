"""The page of a study: what was varied, the pictures, published findings beside ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from odonata.output import rewrite, warn
from odonata.study.cells import value_text
from odonata.study.drawing import draw
from odonata.study.file import Axis, StudyFile
from odonata.study.findings import FEWEST, MEAN, NOTHING, Verdict, judge, write_findings

PAGE_FILE = "study.md"
FINDINGS_FILE = "findings.csv"
#: Combinations that a finding's own table lists; `findings.csv` has all.
_LISTED = 24


def write_page(
    study: StudyFile,
    table: pa.Table,
    directory: Path,
    *,
    command: str,
    total: int,
    quick: bool = False,
    points: Iterable[Mapping[str, Any]] | None = None,
    notice: Callable[[str], object] = warn,
) -> list[Verdict]:
    """Draws a study's pictures and writes its page.

    Args:
        study: The study.
        table: Its dataset; may lack points.
        directory: For the pictures, ``findings.csv`` and ``study.md``.
        command: That makes them.
        total: Simulations that belong to the study.
        quick: Whether they are those of ``--quick``.
        points: Values of the axes at every point, without which a range or a choice is judged by
            what is there.
        notice: Called with the picture that could not be drawn, and why. Default: a warning.

    Returns:
        What the data say of the findings.

    Raises:
        ScenarioError: If a figure or finding is wrong.
    """
    verdicts = judge(study, table, quick=quick, points=points)
    if verdicts:
        write_findings(verdicts, directory / FINDINGS_FILE)
    names = [path.name for path in draw(study, table, directory, notice)]
    text = page(study, table, verdicts, names, command=command, total=total)
    rewrite(directory / PAGE_FILE, text)
    return verdicts


#: Simulations up to which the tests of the documentation plan a study: some seconds.
MOST_PLANNED = 1_500


def _tried(study: StudyFile, total: int) -> str:
    """How tests of the documentation try the command of a study's page, or why they do not."""
    if "shared/data/" in str(study.to_dict()):
        return "not run: needs data that are not part of the project"
    if total > MOST_PLANNED:
        return f"not run: a study of {total:,} simulations, up to days"
    return "run with --dry-run: a study, up to days"


def page(
    study: StudyFile,
    table: pa.Table,
    verdicts: Sequence[Verdict],
    pictures: Sequence[str],
    *,
    command: str,
    total: int,
) -> str:
    """The page as Markdown.

    Args:
        study: The study.
        table: Its dataset.
        verdicts: Of its findings.
        pictures: Of its figures, relative to the page.
        command: That writes the page.
        total: Simulations that belong to the study; the page says if some are missing.
    """
    titles = {f"{one.name}.png": one.title or one.name for one in study.figure}
    shown = [f"![{title}]({name})\n" for name, title in titles.items() if name in pictures]
    parts = [f"# {study.title}\n", *_found(verdicts), *shown[:1]]
    if study.text:
        parts.append(study.text.strip() + "\n")
    parts.append(f"Written by\n\n<!-- {_tried(study, total)} -->\n```sh\n{command}\n```\n")
    parts.append(_setting(study, table, total))
    sections = (
        parameters_section(study),
        findings_section(study, verdicts),
        statements_section(study, verdicts),
        lacking_section(study),
    )
    parts += [section for section in sections if section]
    if shown[1:]:
        parts += ["## Figures\n", *shown[1:]]
    return "\n".join(parts)


#: What verdicts that say more than a count needs count as, by their beginnings.
_SHORT = {
    "holds in 0 ": "undecided in part",
    "holds in ": "holds in part",
    "fitted to": "fitted to",
}
#: Verdicts in the order in which they are counted; others follow.
_COUNTED = (
    *("holds", "holds in part", "not excluded", "undecided", "undecided in part"),
    *("does not hold", "fitted to"),
)


def _found(verdicts: Sequence[Verdict]) -> list[str]:
    """What came of the findings, in a sentence for the published ones and one for our own."""
    sentences = []
    for own, noun in ((False, "published findings"), (True, "statements of our own")):
        judged = (verdict.text for verdict in verdicts if verdict.finding.own == own)
        texts = [
            next((short for start, short in _SHORT.items() if text.startswith(start)), text)
            for text in judged
        ]
        order = [text for text in dict.fromkeys([*_COUNTED, *texts]) if text in texts]
        if texts:
            counts = ", ".join(f"{texts.count(text)} *{text}*" for text in order)
            sentences.append(f"Of {len(texts)} {noun}: {counts}.")
    return [" ".join(sentences) + "\n"] if sentences else []


def _setting(study: StudyFile, table: pa.Table, total: int) -> str:
    lines = ["| axis | keys | values simulated |", "|---|---|---|"]
    lines += [setting_row(axis, values_of(axis, table)) for axis in study.axis]
    axes = [table[name].to_pylist() for name in _axes(study)]
    points, runs = len(set(zip(*axes, strict=True))), len(table)
    lines.append(f"\n{runs} simulations of {points} combinations.\n")
    if runs < total:
        lines.append(f"**Not complete**: the study has {total} simulations.\n")
    return "\n".join(lines)


def values_of(axis: Axis, table: pa.Table) -> list[str]:
    """The values of an axis that a dataset has, as pages show them."""
    there = {value for value in table[axis.column].to_pylist() if value is not None}
    return [value_text(v) for v, _ in axis.settings() if v in there or str(v) in there]


def setting_row(axis: Axis, values: Sequence[str]) -> str:
    """The row of an axis on a study's page, with these of its values."""
    keys = [axis.key] if isinstance(axis.key, str) else list(axis.key or ())
    if axis.setting is not None:
        keys = list(dict.fromkeys(key for one in axis.setting for key in one.set))
    return f"| {axis.column} | {', '.join(f'`{key}`' for key in keys)} | {', '.join(values)} |"


def _axes(study: StudyFile) -> list[str]:
    return [axis.column for axis in study.axis] or ["version"]


_BY_VALUES = (
    "*Holds*: at every combination of the axes our figure lies in the published range. *Not "
    "excluded*: our figure lies outside, but its 95 % interval reaches the range.\n"
)
_BY_INTERVALS = (
    "*Holds*: at every combination of the axes the whole of our 95 % interval lies in the "
    "published range; *does not hold*: none of it does; *undecided*: some of it does, or there "
    f"are fewer than {FEWEST} repetitions.\n"
)
_ORIGINS = {
    "paper": "the paper",
    "program": "the authors' program",
    "data": "the authors' data",
    "assumption": "an assumption",
    "fit": "a fit",
}


def parameters_section(study: StudyFile) -> str:
    """Where a study's parameters are from, as a section of its page; empty if it does not say."""
    if not study.parameter:
        return ""
    lines = [
        "## Where the parameters are from\n",
        "| parameter | from | where, why |",
        "|---|---|---|",
    ]
    for one in study.parameter:
        on = f"; fitted on: {'; '.join(one.fitted_to)}" if one.fitted_to else ""
        lines.append(f"| {one.name} | {_ORIGINS[one.origin]} | {one.source}{on} |")
    return "\n".join(lines) + "\n"


def lacking_section(study: StudyFile) -> str:
    """What was published and is not in a study, as a section of its page; empty if nothing is.

    Of a study that has only statements of our own, what it leaves open.
    """
    if not study.lacking:
        return ""
    lines = "\n".join(f"- {what}" for what in study.lacking)
    own = bool(study.finding) and all(finding.own for finding in study.finding)
    return f"## {'What is not here' if own else 'Published, and not here'}\n\n{lines}\n"


def findings_section(study: StudyFile, verdicts: Sequence[Verdict]) -> str:
    """Published findings beside ours, as a section of a study's page; empty if there are none."""
    header = "| # | finding | source | published | ours | seeds | verdict |"
    return _judged_section(study, verdicts, False, "## Published findings beside ours\n", header)


def statements_section(study: StudyFile, verdicts: Sequence[Verdict]) -> str:
    """Statements of our own, as a section of a study's page; empty if there are none."""
    title = (
        "## Statements of our own\n\n"
        "Nobody published figures of what is simulated here. These statements ask of it what was "
        "published of other machines or other traffic, so that their verdicts say how far that "
        "carries over, not how well the model reproduces it.\n"
    )
    header = "| # | statement | taken from | range | ours | seeds | verdict |"
    return _judged_section(study, verdicts, True, title, header)


def _judged_section(
    study: StudyFile, verdicts: Sequence[Verdict], own: bool, title: str, header: str
) -> str:
    """A table of verdicts and, below it, their combinations; numbered as in the study file."""
    chosen = [
        (number, verdict)
        for number, verdict in enumerate(verdicts, start=1)
        if verdict.finding.own == own
    ]
    if not chosen:
        return ""
    rules = _BY_INTERVALS if study.judged == "intervals" else _BY_VALUES
    lines = [
        title,
        rules.replace("published range", "range") if own else rules,
        header,
        "|--:|---|---|---|---|--:|---|",
    ]
    for number, verdict in chosen:
        finding = verdict.finding
        lines.append(
            f"| {number} | {finding.claim} | {finding.source} | {verdict.published} "
            f"| {verdict.ours} | {verdict.seeds} | **{verdict.text}** |"
        )
    for number, verdict in chosen:
        if verdict.text == NOTHING:
            continue
        lines.append(f"\n### {number}. {verdict.finding.claim}\n")
        if verdict.finding.explanation and not verdict.holds:
            lines.append(verdict.finding.explanation.strip() + "\n")
        lines += _observations(verdict)
    return "\n".join(lines) + "\n"


def _observations(verdict: Verdict) -> list[str]:
    names = list(dict.fromkeys(name for one in verdict.observations for name in one.axes))
    choice = verdict.finding.values is not None
    behind = "stated is behind by" if verdict.finding.own else "published is behind by"
    columns = [*names, "ours", *([behind] if choice else []), "verdict"]
    lines = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    shown = sorted(verdict.observations, key=lambda one: one not in verdict.counted)
    rest = "does not count"
    if verdict.mean:
        shown, rest = [verdict.mean, *shown], "part of the mean"
    for one in shown[:_LISTED]:
        places = [
            value_text(one.axes.get(name, MEAN if one is verdict.mean else None)) for name in names
        ]
        ours = [*([one.choice] if choice else []), verdict.with_interval(one.ours)]
        # What a finding is not judged by, its combinations are not judged by either.
        judged = "–" if verdict.instead else one.verdict
        counts = judged if one in verdict.counted else rest
        lines.append(f"| {' | '.join([*places, *ours, counts])} |")
    if len(shown) > _LISTED:
        lines.append(f"\nand {len(shown) - _LISTED} more in `{FINDINGS_FILE}`.")
    return lines
