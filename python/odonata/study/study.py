"""What a study that is a program is, and how it is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from odonata.output import Claim, warn, write_file
from odonata.study.execution import STORE_FILE, Point, Record, Store, run_points

#: What the terminal says about the outcome, line by line, in the directory of the results.
CONCLUSION_FILE = "conclusion.txt"


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


def run_program(
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
        with Store(directory / STORE_FILE) as store:
            points = study.points(quick)
            records = run_points(points, jobs=jobs, store=store, progress=progress, notice=notice)
        with claim.updating(notice=notice) as partial:
            lines = study.finish(records, partial)
            write_file(partial / CONCLUSION_FILE, "".join(f"{line}\n" for line in lines))
    return [*lines, f"Results: {directory}"]
