"""GPCNeT's tests and De Sensi's congestion impact, under each scheme of congestion control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from odonata.output import picture, warn, write_file
from odonata.study.execution import Point, Record
from odonata_studies.gpcnet.plan import Case, cases, few_cases
from odonata_studies.marked import titled

#: Files of the results.
PAGE_FILE, SIMULATED_FILE, FIGURE_FILE = "study.md", "simulated.csv", "gpcnet.png"


class GPCNeT:
    """The study."""

    title = "What congestors do to a job, under each scheme of congestion control"

    def __init__(self) -> None:
        self._cases: list[Case] = []
        self._quick = False

    def points(self, quick: bool) -> Sequence[Point]:
        """What is simulated."""
        self._cases, self._quick = list(few_cases() if quick else cases()), quick
        return [case.point() for case in self._cases]

    def finish(self, records: Mapping[str, Record], directory: Path) -> Sequence[str]:
        """Writes table, picture and page."""
        from odonata_studies.gpcnet.drawing import draw
        from odonata_studies.gpcnet.tables import conclusion, page, simulated

        found = simulated(self._cases, records)
        text = found.to_csv(index=False, lineterminator="\n", float_format="%.6g")
        write_file(directory / SIMULATED_FILE, text)
        with picture(Path(FIGURE_FILE), warn):
            draw(found, directory / FIGURE_FILE)
        write_file(
            directory / PAGE_FILE, page(titled(self.title, quick=self._quick), FIGURE_FILE, found)
        )
        return conclusion(found)
