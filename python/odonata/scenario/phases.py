"""Files of phases, which motifs name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from odonata.errors import ScenarioError
from odonata.motif import PhaseFile
from odonata.scenario.toml_source import parse_toml, read_text, with_lines
from odonata.table import Table


def read_phases(file: Path) -> Sequence[Table]:
    """The phases of a file.

    Raises:
        ScenarioError: If it cannot be read or is none.
    """
    text = read_text(file)
    try:
        return PhaseFile(**parse_toml(text, str(file))).phases
    except ScenarioError as error:
        raise with_lines(ScenarioError(error.problems, str(file)), text) from None
