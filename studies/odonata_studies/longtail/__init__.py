"""Long tails and background traffic on a simulated dragonfly+ (Salimi Beni and Cosenza 2022)."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from odonata.output import create, picture, warn, write_file
from odonata.study.execution import Point, Record
from odonata_studies.longtail.plan import QUICK, Extent, Found, Plan
from odonata_studies.longtail.probes import LARGE

#: Files of the results, beside the store.
PAGE_FILE, FINDINGS_FILE, CALLS_FILE, MOMENTS_FILE = (
    "study.md",
    "findings.csv",
    "calls.csv",
    "moments.csv",
)
#: Fits of families, which take minutes: kept for the next time.
FITS_FILE = "fits.json"


class LongTail:
    """The study.

    Args:
        extent: How much is simulated. Default: all of it, or a glimpse if quick.
    """

    title = "Long tails and background traffic on a dragonfly+ (Salimi Beni and Cosenza 2022)"

    def __init__(self, extent: Extent | None = None) -> None:
        self._extent = extent
        self._plan = Plan(extent or Extent())
        self._total, self._command, self._quick = 0, "", False

    def points(self, quick: bool) -> Sequence[Point]:
        """What is simulated."""
        self._plan = Plan(self._extent or (QUICK if quick else Extent()))
        self._command = "odonata study salimibeni2022" + (" --quick" if quick else "")
        points = self._plan.points()
        self._total, self._quick = len(points), quick
        return points

    def finish(self, records: Mapping[str, Record], directory: Path) -> Sequence[str]:
        """Writes tables, figures and the page."""
        from odonata_studies.longtail.drawing import FIGURES
        from odonata_studies.longtail.families import best_fits
        from odonata_studies.longtail.findings import all_findings, write_findings
        from odonata_studies.longtail.page import page

        found = Found(self._plan, records)
        findings = all_findings(found, quick=self._quick)
        write_findings(findings, directory / FINDINGS_FILE)
        _write_calls(found, directory / CALLS_FILE)
        _write_moments(found, directory / MOMENTS_FILE)
        names = []
        for name, (_, draw) in FIGURES.items():
            with picture(Path(name), warn):
                draw(found, directory / name)
                names.append(name)
        fits = [] if self._quick else best_fits(found, directory / FITS_FILE)
        text = page(found, findings, names, fits, command=self._command, total=self._total)
        write_file(directory / PAGE_FILE, text)
        return [f"{one.verdict:14} {one.claim}; ours {one.ours}" for one in findings]


def _write_calls(found: Found, path: Path) -> None:
    """Writes the quantiles of the large calls of every simulation that has them."""
    from odonata_studies.longtail.findings import CALLS_COLUMNS, distributions

    with create(path, "w") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        writer.writerow(CALLS_COLUMNS)
        writer.writerows(distributions(found, LARGE))


def _write_moments(found: Found, path: Path) -> None:
    """Writes every moment with its indicators."""
    with create(path, "w") as opened:
        writer = csv.writer(opened, lineterminator="\n")
        for moment in found.plan.moments:
            row = {"moment": moment.number, "day": f"{moment.day:.3f}", "jobs": len(moment.jobs)}
            row |= {name: f"{value:.4f}" for name, value in moment.indicators().items()}
            if moment.number == 0:
                writer.writerow(row)
            writer.writerow(row.values())


__all__ = ["LongTail"]
