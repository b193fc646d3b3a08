"""Studies that are study files, and whose pages are in studies/pages.

    .venv/bin/python studies/scripts/study_files.py [--as-is] [NAME …]    # half an hour

Runs each study (or what is missing of it, in results/), draws its pictures into pages/figures and
writes its page. Equal versions give equal files. With ``--as-is`` nothing is simulated: the page
shows the points that are there, and says how many are missing.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pyarrow as pa

from odonata.study.file import StudyFile
from odonata.study.page import FINDINGS_FILE, PAGE_FILE, write_page
from odonata.study.run import run_sweep
from odonata.study.sweep import Sweep
from odonata_studies.papers import LIBRARY

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "studies"

#: Study files by the name of their page.
STUDIES = {
    **{
        f"study-{name}": ROOT / "examples" / "studies" / f"{name}.toml"
        for name in (
            *("two-stencils", "measured-applications", "sharing-applications"),
            *("steered-testbed", "michelogiannakis2019-measured"),
        )
    },
    **{f"study-{file.stem}": file for file in sorted(LIBRARY.glob("*.toml"))},
}
#: Data beside the checkout that a study needs.
NEEDS = {
    **{
        f"study-{name}": ROOT.parent / "shared" / "data" / "comm-matrices"
        for name in ("measured-applications", "sharing-applications")
    },
    "study-michelogiannakis2019-measured": ROOT.parent / "shared" / "data" / "facebook-trace",
}


def main(names: list[str]) -> None:
    """Runs the studies and keeps what they found."""
    as_is = "--as-is" in names
    for name in [name for name in names if name != "--as-is"] or STUDIES:
        if name in NEEDS and not NEEDS[name].is_dir():
            print(f"{name}: left as it is, as {NEEDS[name].relative_to(ROOT.parent)} is absent")
            continue
        sweep = Sweep(StudyFile.from_file(STUDIES[name]))
        directory = ROOT / "results" / STUDIES[name].stem
        table = run_sweep(sweep, directory, points=[] if as_is else None)
        keep(name, sweep, table, directory)


def keep(name: str, sweep: Sweep, table: pa.Table, directory: Path) -> None:
    """Writes a study's page, and its pictures and findings where the page links to them.

    Args:
        name: Of the page.
        sweep: The study.
        table: Its dataset.
        directory: Of its results.
    """
    file, study = STUDIES[name], sweep.study
    known = file.stem if file.parent == LIBRARY else file.relative_to(ROOT).as_posix()
    command = f"odonata study {known}"
    points = [point.axes for point in sweep.points]
    write_page(study, table, directory, command=command, total=len(points), points=points)
    text = (directory / PAGE_FILE).read_text(encoding="utf-8")
    for figure in study.figure:
        kept = f"{name}-{figure.name}.png"
        shutil.copyfile(directory / f"{figure.name}.png", HOME / "pages" / "figures" / kept)
        text = text.replace(f"({figure.name}.png)", f"(figures/{kept})")
    if study.finding:
        kept = f"{name.replace('-', '_')}_findings.csv"
        shutil.copyfile(directory / FINDINGS_FILE, HOME / "data" / kept)
        text = text.replace(f"`{FINDINGS_FILE}`", f"[{kept}](../data/{kept})")
    page = HOME / "pages" / f"{name}.md"
    page.write_text(text, encoding="utf-8")
    print(page.relative_to(ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])
