"""``odonata show``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from odonata.cli import options
from odonata.cli.shared import command, notices, print_json, progress_terminal
from odonata.terminal import terminal


@command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--plots", is_flag=True, help="Draw all pictures of a run into the directory.")
@options.json
def show(directory: Path, plots: bool, as_json: bool) -> None:
    """Print again what an earlier command found, from its result directory.

    DIRECTORY is the result of a run, of replications, a comparison, a schedule, a study, a search
    for saturation, an analysis of interference, networks by design, predictions or a validation.
    """
    from odonata.results.kinds import kind_of

    kind = kind_of(directory)
    if plots:
        if _KINDS[kind] is not _run:
            raise click.UsageError(f"--plots is for results of runs; {directory} has its pictures")
        from odonata.results import Result

        Result.load(directory).plot.save_all(directory, notice=notices(progress_terminal()))
    _KINDS[kind](directory, as_json)


def _run(directory: Path, as_json: bool) -> None:
    from odonata.report.summaries import print_summary
    from odonata.results import Result

    result = Result.load(directory)
    if as_json:
        print_json({"directory": str(directory), **result.summary_dict, "timing": result.timing})
    else:
        print_summary(terminal(), result, directory)


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
    from odonata.report.summaries import print_interference
    from odonata.study.interference import figures, load

    found = load(directory)
    if as_json:
        print_json({"directory": str(directory), **figures(found)})
    else:
        print_interference(terminal(), found, directory)


def _saturation(directory: Path, as_json: bool) -> None:
    from odonata.report.summaries import print_saturation
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


def _design(directory: Path, as_json: bool) -> None:
    from odonata.report.summaries import print_design
    from odonata.study.design import load

    found = load(directory)
    if as_json:
        print_json({"directory": str(directory), **found.content})
    else:
        print_design(terminal(), found, directory)


def _predictions(directory: Path, as_json: bool) -> None:
    from odonata.cli.predict_collective import print_predictions
    from odonata.machines.predicted import content, load

    found = load(directory)
    if as_json:
        print_json({"directory": str(directory), "machine": found.name, **content(found)})
        return
    for row in [found.predictions] if found.algorithms else found.by_size:
        print_predictions(found.name, row)
    terminal().print(f"Results: {directory}", markup=False, soft_wrap=True)


def _replications(directory: Path, as_json: bool) -> None:
    from odonata.report.summaries import print_replications
    from odonata.study.replication import load

    scenario, table = load(directory)
    if as_json:
        print_json({"directory": str(directory), "figures": table.to_pylist()})
    else:
        print_replications(terminal(), scenario, table, directory)


def _comparison(directory: Path, as_json: bool) -> None:
    from odonata.report.summaries import print_comparison
    from odonata.study.comparing import load

    content, table = load(directory)
    if as_json:
        print_json({"directory": str(directory), **content, "figures": table.to_pylist()})
    else:
        print_comparison(terminal(), content, table, directory)


def _study(directory: Path, as_json: bool) -> None:
    from odonata.cli.study import print_verdicts
    from odonata.report.points import print_failed, print_points
    from odonata.study.bases import STUDY_FILE
    from odonata.study.dataset import read_dataset, read_failed
    from odonata.study.file import StudyFile
    from odonata.study.findings import judge

    chosen = StudyFile.from_file(directory / STUDY_FILE)
    table = read_dataset(directory, chosen)
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
        if failed := read_failed(directory):
            content["failed"] = failed
        print_json({"directory": str(directory), **content})
        return
    console = terminal()
    print_verdicts(console, chosen, verdicts)
    print_points(console, chosen, table.to_pylist(), directory)
    print_failed(console, read_failed(directory))
    console.print(f"{len(table)} points are done", highlight=False)
    console.print(f"Results: {directory} (dataset.parquet)", markup=False, soft_wrap=True)


def _program(directory: Path, as_json: bool) -> None:
    from odonata.bounded import csv_rows, read_text
    from odonata.errors import OutputError
    from odonata.output import reading
    from odonata.results.kinds import TABLES_OF_PROGRAMS
    from odonata.study.study import CONCLUSION_FILE

    with reading(directory):
        lines = read_text(directory / CONCLUSION_FILE).splitlines()
        content: dict[str, object] = {"directory": str(directory), "conclusion": lines}
        for file in (directory / name for name in TABLES_OF_PROGRAMS):
            if file.is_file():
                (_, header), *rows = csv_rows(read_text(file), str(file), OutputError)
                content[file.stem] = [dict(zip(header, row, strict=True)) for _, row in rows]
    if as_json:
        print_json(content)
        return
    for line in [*lines, f"Results: {directory}"]:
        terminal().print(line, markup=False, soft_wrap=True)


#: What prints each kind of result.
_KINDS: dict[str, Callable[[Path, bool], None]] = {
    "interference": _interference,
    "saturation": _saturation,
    "design": _design,
    "predictions": _predictions,
    "replications": _replications,
    "comparison": _comparison,
    "program": _program,
    "study": _study,
    "schedule": _schedule,
    "run": _run,
}
