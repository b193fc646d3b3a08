"""Does the packet engine do what theory and other simulators say?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from odonata.output import picture, warn, write_file
from odonata.study.execution import Point, Record
from odonata_studies.validation import comparison
from odonata_studies.validation.booksim import BookSim
from odonata_studies.validation.booksim_families import BookSimFamilies
from odonata_studies.validation.closed_forms import ClosedForms
from odonata_studies.validation.codes import Codes
from odonata_studies.validation.comparison import Comparison
from odonata_studies.validation.experiments import write as write_experiments
from odonata_studies.validation.sst import Sst

#: Data measured with other simulators, beside the checkout.
REFERENCE = Path("shared") / "reference"


def reference_directory() -> Path | None:
    """Where the data of other simulators are: beside the checkout or the working directory."""
    for start in (Path.cwd(), Path(__file__).resolve()):
        for directory in (start, *start.parents):
            if (directory / REFERENCE).is_dir():
                return directory / REFERENCE
    return None


class Validation:
    """The study.

    Args:
        reference: Directory of the reference data. Default: where they are found; without them
            only theory is compared with.
    """

    title = "Validation against theory and other simulators"

    def __init__(self, reference: Path | None = None) -> None:
        self._reference = reference or reference_directory()
        self._theory = ClosedForms(quick=False)
        self._booksim: BookSim | None = None
        self._others: tuple[BookSimFamilies | Sst | Codes, ...] = ()

    def _parts(self) -> list[ClosedForms | BookSim | BookSimFamilies | Sst | Codes]:
        booksim = [] if self._booksim is None else [self._booksim]
        return [self._theory, *booksim, *self._others]

    def points(self, quick: bool) -> list[Point]:
        """What is simulated."""
        self._theory = ClosedForms(quick)
        if self._reference is not None:
            self._booksim = BookSim(self._reference, quick)
            others = (BookSimFamilies, Sst, Codes)
            self._others = tuple(part(self._reference, quick) for part in others)
        return [point for part in self._parts() for point in part.points()]

    def comparisons(self, records: Mapping[str, Record]) -> list[Comparison]:
        """Every figure beside its reference."""
        return [c for part in self._parts() for c in part.comparisons(records)]

    def finish(self, records: Mapping[str, Record], directory: Path) -> Sequence[str]:
        """Writes tables, figures and the page."""
        from odonata_studies.validation.figures import draw
        from odonata_studies.validation.page import page

        found = self.comparisons(records)
        comparison.write(found, directory)
        experiments = self._booksim.experiments(records) if self._booksim else []
        write_experiments(experiments, directory / "experiments.csv")
        with picture(Path("validation.png"), warn):
            draw(found, directory / "validation.png")
        text = page(found, experiments, "validation.png")
        write_file(directory / "validation.md", text)
        lines = conclusion(found)
        if self._reference is None:
            lines.append(f"No data of other simulators found ({REFERENCE}); theory only.")
        return lines


def conclusion(found: Sequence[Comparison]) -> list[str]:
    """What the terminal says of comparisons, line by line."""
    verdicts = Counter(c.verdict for c in found)
    lines = [f"{count:4} {verdict}" for verdict, count in verdicts.most_common()]
    lines += [
        f"  {c.section}: {c.case}: {c.ours:.4g}, {c.source}: {c.reference:.4g}"
        for c in found
        if c.verdict == "DIFFERS"
    ]
    return lines
