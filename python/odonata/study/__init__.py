"""Studies: many runs for one question, side by side, and what they show.

A study lists its [`Point`][odonata.study.execution.Point]s; ``run_points`` simulates them on all
cores and keeps what each found, so that a study that was killed goes on where it was::

    from odonata.study import STUDIES, run_study

    run_study(STUDIES["validation"](), Path("results/validation"), quick=True)
"""

from __future__ import annotations

from odonata.study.execution import Point, run_points
from odonata.study.study import STUDIES, Study, run_study

__all__ = ["STUDIES", "Point", "Study", "run_points", "run_study"]
