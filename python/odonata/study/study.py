"""What a study is, and which there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from odonata.output import Claim, warn
from odonata.study.execution import STORE_FILE, Point, Record, Store, run_points


class Study(Protocol):
    """A question that is answered by many simulations."""

    @property
    def title(self) -> str:
        """What it is about, for people."""

    def points(self, quick: bool) -> Sequence[Point]:
        """What is simulated; fewer and shorter runs if `quick`."""

    def finish(self, records: Mapping[str, Record], directory: Path) -> Sequence[str]:
        """Writes tables, figures and pages.

        Args:
            records: Of all points, by name.
            directory: Where to.

        Returns:
            What the terminal says about the outcome, line by line.
        """


def run_study(
    study: Study,
    directory: Path,
    *,
    quick: bool = False,
    jobs: int | None = None,
    progress: Callable[[float, int], object] | None = None,
    notice: Callable[[str], object] = warn,
) -> Sequence[str]:
    """Runs a study, or what is missing of it, and writes what it shows.

    Args:
        study: Which.
        directory: For its results; if it holds those of an earlier run, points that are done and
            have not changed are not simulated again.
        quick: Whether a coarse version is enough.
        jobs: Simulations at a time. Default: processors.
        progress: As of ``run_points``.
        notice: Called with the reason if what is there already is simulated again. Default: a
            warning.

    Returns:
        What the terminal says about the outcome, line by line.

    Raises:
        OutputError: If the directory cannot be written.
        KeyboardInterrupt: If it was interrupted; run it again to go on.
    """
    with Claim(directory, goes_on=STORE_FILE) as claim:
        lines = _run_study(study, claim, quick, jobs, progress, notice)
    return [*lines, f"Results: {directory}"]


def _run_study(
    study: Study,
    claim: Claim,
    quick: bool,
    jobs: int | None,
    progress: Callable[[float, int], object] | None,
    notice: Callable[[str], object],
) -> Sequence[str]:
    store = Store(claim.directory / STORE_FILE)
    try:
        points = study.points(quick)
        records = run_points(points, jobs=jobs, store=store, progress=progress, notice=notice)
    finally:
        store.close()
    with claim.updating(notice=notice) as partial:
        return study.finish(records, partial)


def _validation() -> Study:
    from odonata.study.validation import Validation

    return Validation()


def _long_tail() -> Study:
    from odonata.study.longtail import LongTail

    return LongTail()


#: Studies by name, each a function that makes it.
STUDIES: Mapping[str, Callable[[], Study]] = {
    "validation": _validation,
    "salimibeni2022": _long_tail,
}
