"""What failed links and routers cost networks of equal cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from odonata.output import picture, warn, write_file
from odonata.study.execution import Point, Record
from odonata_studies.marked import titled
from odonata_studies.resilience.plan import Case, cases, few_cases

#: Files of the results.
PAGE_FILE, SIMULATED_FILE, CONNECTIVITY_FILE, FIGURE_FILE = (
    "study.md",
    "simulated.csv",
    "connectivity.csv",
    "resilience.png",
)


class Resilience:
    """The study."""

    title = "What failed links and routers cost networks of equal cost"

    def __init__(self) -> None:
        self._cases: list[Case] = []
        self._quick = False

    def points(self, quick: bool) -> Sequence[Point]:
        """What is simulated."""
        self._cases, self._quick = list(few_cases() if quick else cases()), quick
        return [case.point() for case in self._cases]

    def finish(self, records: Mapping[str, Record], directory: Path) -> Sequence[str]:
        """Writes tables, picture and page."""
        from odonata_studies.resilience.connectivity import QUICK, WHOLE, connectivity
        from odonata_studies.resilience.drawing import draw
        from odonata_studies.resilience.tables import conclusion, page, simulated

        found = simulated(self._cases, records)
        held = connectivity(QUICK if self._quick else WHOLE)
        for table, name in ((found, SIMULATED_FILE), (held, CONNECTIVITY_FILE)):
            text = table.to_csv(index=False, lineterminator="\n", float_format="%.6g")
            write_file(directory / name, text)
        with picture(Path(FIGURE_FILE), warn):
            draw(found, directory / FIGURE_FILE)
        write_file(
            directory / PAGE_FILE,
            page(titled(self.title, quick=self._quick), FIGURE_FILE, found, held),
        )
        return conclusion(found, held)
