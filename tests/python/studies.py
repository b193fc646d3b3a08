"""Parts of the package's studies: the points that a test looks at, and no others."""

from __future__ import annotations

from typing import Any

from odonata.study.file import StudyFile


def part_of(study: StudyFile, only: str, quick: dict[str, Any] | None = None) -> StudyFile:
    """The study with fewer points, the rest of it as it is.

    Args:
        study: The study.
        only: Condition on its axes.
        quick: Keys of the scenario that ``--quick`` sets besides its own.
    """
    where = f"({only})" if study.where is None else f"({only}) and ({study.where})"
    changes: dict[str, Any] = {"where": where}
    if quick is not None:
        assert study.quick is not None
        keys = {**study.quick.set, **quick}
        changes["quick"] = study.quick.model_copy(update={"set": keys})
    return study.model_copy(update=changes)


def by_values(study: StudyFile) -> StudyFile:
    """A study whose findings are judged by the figures alone, as tests of a few runs have to."""
    return study.model_copy(update={"judged": "values"})
