"""``odonata show``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import click

from odonata.cli.shared import debug_option, json_option, print_json, terminal


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@json_option
@debug_option
def show(directory: Path, as_json: bool) -> None:
    """Print again what an earlier command found, from its result directory.

    DIRECTORY is the result of a run, of replications, a comparison, a schedule, a study, a search
    for saturation, an analysis of interference or a validation.
    """
    for file, print_kind in _KINDS.items():
        if (directory / file).is_file():
            print_kind(directory, as_json)
            return
    _refuse_unfinished(directory)
    if _is_schedule(directory):
        _schedule(directory, as_json)
    else:
        _run(directory, as_json)


def _run(directory: Path, as_json: bool) -> None:
    from odonata.report import print_summary
    from odonata.results import Result

    result = Result.load(directory)
    if as_json:
        print_json({"directory": str(directory), **result.summary_dict, "timing": result.timing})
    else:
        print_summary(terminal(), result, directory)


def _is_schedule(directory: Path) -> bool:
    from odonata.results import RESULT_FILE

    try:
        return "schedules" in json.loads((directory / RESULT_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False


def _schedule(directory: Path, as_json: bool) -> None:
    from odonata.batch.schedules import load_outcomes
    from odonata.cli.schedule import print_outcomes

    outcomes = load_outcomes(directory)
    if as_json:
        found = {one.name: {"summary": one.summary, "cost": one.cost} for one in outcomes}
        print_json({"directory": str(directory), "schedules": found})
    else:
        print_outcomes(terminal(), outcomes, directory)


def _interference(directory: Path, as_json: bool) -> None:
    from odonata.report import print_interference
    from odonata.study.interference import figures, load

    found = load(directory)
    if as_json:
        print_json({"directory": str(directory), **figures(found)})
    else:
        print_interference(terminal(), found, directory)


def _saturation(directory: Path, as_json: bool) -> None:
    from odonata.report import print_saturation
    from odonata.results import SCENARIO_FILE
    from odonata.scenario import Scenario
    from odonata.study.saturation import curve, figures, load

    found = load(directory)
    if as_json:
        print_json({"directory": str(directory), **figures(found), "curve": curve(found)})
        return
    file = directory / SCENARIO_FILE
    title = Scenario.from_file(file).title if file.exists() else ""
    print_saturation(terminal(), title, found, directory)


def _replications(directory: Path, as_json: bool) -> None:
    from odonata.report import print_replications
    from odonata.study.replication import load

    scenario, table = load(directory)
    if as_json:
        print_json({"directory": str(directory), "figures": table.to_pylist()})
    else:
        print_replications(terminal(), scenario, table, directory)


def _comparison(directory: Path, as_json: bool) -> None:
    from odonata.report import print_comparison
    from odonata.study.comparing import load

    content, table = load(directory)
    if as_json:
        print_json({"directory": str(directory), **content, "figures": table.to_pylist()})
    else:
        print_comparison(terminal(), content, table, directory)


def _validation(directory: Path, as_json: bool) -> None:
    from odonata.output import reading
    from odonata.study.validation import conclusion
    from odonata.study.validation.comparison import read, table

    with reading(directory):
        found = read(directory / "comparisons.csv")
    if as_json:
        print_json({"directory": str(directory), "comparisons": table(found).to_pylist()})
        return
    for line in [*conclusion(found), f"Results: {directory}"]:
        terminal().print(line, markup=False, soft_wrap=True)


def _study(directory: Path, as_json: bool) -> None:
    from odonata.cli.study import print_verdicts
    from odonata.study.dataset import read_dataset
    from odonata.study.file import STUDY_FILE, StudyFile
    from odonata.study.findings import judge

    chosen = StudyFile.from_file(directory / STUDY_FILE)
    table = read_dataset(directory)
    verdicts = judge(chosen, table)
    if as_json:
        findings = [
            {
                "claim": one.finding.claim,
                "published": one.published,
                "ours": one.ours,
                "verdict": one.text,
            }
            for one in verdicts
        ]
        points = table.to_pylist()
        content = {"title": chosen.title, "findings": findings, "points": points}
        print_json({"directory": str(directory), **content})
        return
    console = terminal()
    print_verdicts(console, chosen, verdicts)
    console.print(f"{len(table)} points are done", highlight=False)
    console.print(f"Results: {directory} (dataset.parquet)", markup=False, soft_wrap=True)


def _refuse_unfinished(directory: Path) -> None:
    """Says of a study that was stopped how to go on with it.

    Raises:
        OutputError: If it is one.
    """
    from odonata.errors import OutputError
    from odonata.study.execution import STORE_FILE

    file = directory / STORE_FILE
    if file.is_file():
        count = file.read_bytes().count(b"\n")
        raise OutputError(
            f"{directory}: not finished, {count} simulations are done; run the command again that "
            "began it, and it goes on"
        )


#: A file by which the directory of a kind of result is known, and what prints it.
_KINDS: dict[str, Callable[[Path, bool], None]] = {
    "interference.json": _interference,
    "saturation.json": _saturation,
    "replications.parquet": _replications,
    "comparison.json": _comparison,
    "comparisons.csv": _validation,
    "dataset.parquet": _study,
}
