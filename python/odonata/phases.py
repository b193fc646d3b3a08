"""Files of phases, which motifs name."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from odonata.errors import ScenarioError
from odonata.load import Job
from odonata.motif import Phase, PhaseFile, Phases, RepeatPhase
from odonata.problem import problems
from odonata.toml_source import parse_toml, read_text, with_lines


def read_phases(file: Path) -> list[Phase]:
    """The phases of a file.

    Raises:
        ScenarioError: If it cannot be read or is none.
    """
    text = read_text(file)
    data = parse_toml(text, str(file))
    try:
        return PhaseFile.model_validate(data).phases
    except ValidationError as error:
        found = ScenarioError(problems(error, PhaseFile), str(file))
        raise with_lines(found, text) from None


def check_phases(jobs: Iterable[Job], directory: Path) -> None:
    """Reads the files of phases that jobs name, so that errors have their lines.

    Args:
        jobs: Of a scenario.
        directory: What names of files are relative to.

    Raises:
        ScenarioError: If a file cannot be read or is none.
    """
    for job in jobs:
        _check(job.motif, directory)


def _check(part: Any, directory: Path) -> None:
    if isinstance(part, RepeatPhase):
        for phase in part.phases:
            _check(phase, directory)
    if isinstance(part, Phases):
        phases = part.phases
        if phases is None:
            file = directory / str(part.file)
            phases, directory = read_phases(file), file.parent
        for phase in phases:
            _check(phase, directory)
