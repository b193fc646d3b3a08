"""Skeletons of applications, for MPI to carry out: the steps that the simulator's ranks take."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from odonata.errors import ClusterError, ScenarioError
from odonata.scenario import Scenario


@dataclass(frozen=True)
class Skeleton:
    """What every rank does, step by step.

    Attributes:
        name: Its motif's kind, such as ``hacc``.
        motif: As a scenario has it.
        program: JSON: ``channels``, ``largest`` (bytes of a message) and ``ranks``, the steps of
            each (``odonata._engine.program``).
    """

    name: str
    motif: Mapping[str, Any]
    program: str

    @property
    def iterations(self) -> int:
        """How many the program has."""
        first: list[Any] = json.loads(self.program)["ranks"][0]
        return first.count("end")


def read_skeleton(text: str, ranks: int, iterations: int) -> Skeleton:
    """The program of a skeleton, or of any other motif, on this many ranks.

    It is what the simulator would simulate: collectives as the messages of the scenario's default
    algorithms, computing as time.

    Args:
        text: A motif as a scenario has it: its kind (``hacc``), or a table
            (``{ kind = "mini-amr", compute = "1 ms" }``).
        ranks: Of the job, one a node.
        iterations: How many.

    Raises:
        ClusterError: If it is no motif, does not run on this many ranks, or cannot be written down.
    """
    motif = _motif(text)
    motif["iterations"] = iterations
    job = {"name": "skeleton", "nodes": ranks, "motif": motif}
    try:
        scenario = Scenario.from_dict(
            {"network": {"family": "crossbar", "nodes": ranks}, "job": [job]}
        )
        from odonata import _engine
        from odonata.simulate import ask_engine

        program: str = ask_engine(_engine.program, scenario, 0, iterations)
    except ScenarioError as error:
        raise ClusterError(f"--skeleton {text}: {error}") from None
    found = Skeleton(str(motif["kind"]), motif, program)
    if found.iterations != iterations:
        raise ClusterError(
            f"--skeleton {text}: has {found.iterations} iterations to time, {iterations} were "
            "asked for; allowed: a motif that repeats itself"
        )
    return found


def _motif(text: str) -> dict[str, Any]:
    """A motif as a scenario has it."""
    if not text.lstrip().startswith("{"):
        return {"kind": text.strip()}
    from odonata import _engine

    try:
        motif = _engine.read_toml(f"motif = {text}")["motif"]
    except ValueError as error:
        raise ClusterError(
            f"--skeleton {text}: {error}; allowed: a motif's kind, or a table as in a scenario, "
            'such as { kind = "hacc", compute = "2 ms" }'
        ) from None
    if not isinstance(motif, dict) or "kind" not in motif:
        raise ClusterError(f"--skeleton {text}: found no kind; allowed: a motif with its kind")
    return dict(motif)
