"""Studies: many runs for one question, side by side, and what they show.

A study lists its [`Point`][odonata.study.execution.Point]s; ``run_points`` simulates them on all
cores and keeps what each found, so that a study that was killed goes on where it was::

    from odonata.study import run_program
    from odonata_studies.validation import Validation

    run_program(Validation(), Path("results/validation"), quick=True)

``odonata.study("study.toml")`` runs a study file: it is :func:`odonata.run_study`.
"""

from __future__ import annotations

from odonata.lazy import callable_as
from odonata.study.execution import Point, run_points
from odonata.study.study import Study, run_program

__all__ = ["Point", "Study", "run_points", "run_program"]

callable_as(__name__, "odonata.study.sweeping:run_study")
