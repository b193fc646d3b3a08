"""The worked examples of docs/scenario.md are parts of scenarios: they are read as such."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from odonata import Scenario
from odonata.scenario.toml_source import parse_toml

ROOT = Path(__file__).resolve().parents[2]
GIVEN = runpy.run_path(str(ROOT / "docs" / "generators" / "scenario_examples.py"))
EXAMPLES: dict[str, str] = GIVEN["EXAMPLES"]
#: Tables of a job that an example may be alone.
OF_A_JOB = ("motif", "traffic", "placement", "mapping")


def whole(text: str) -> str:
    """An example with what it lacks of a scenario."""
    network, job = GIVEN["BASE"]["network"], GIVEN["BASE"]["job"]
    if text.startswith(OF_A_JOB):
        send = "" if text.startswith(OF_A_JOB[:2]) else EXAMPLES["halo3d"]
        return f'simulation = {{ duration = "50 us" }}\n{network}\n{job}{text}{send}'
    if text.startswith("[[job."):
        return f"{network}\n{job}{EXAMPLES['halo3d']}{text}"
    given: dict[str, Any] = parse_toml(text, "the example")
    if "schedule" in given:
        return text
    if "family" not in given.get("network", {}):
        text = f"{network}\n{text}"
    return text if "job" in given else f"{text}\n{job}{EXAMPLES['halo3d']}"


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_part_of_a_scenario(name: str) -> None:
    assert Scenario.from_toml(whole(EXAMPLES[name]))


def test_every_example_is_shown() -> None:
    page = (ROOT / "docs" / "scenario.md").read_text(encoding="utf-8")
    assert [name for name, text in EXAMPLES.items() if f"```toml\n{text}```\n" not in page] == []


def test_a_wrong_example_would_be_found() -> None:
    with pytest.raises(Exception, match="sizes"):
        Scenario.from_toml(whole('[network]\nfamily = "torus"\nsizes = [2]\n'))
