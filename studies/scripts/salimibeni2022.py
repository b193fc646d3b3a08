"""Long tails and background traffic: the study behind pages/study-salimibeni2022.md.

    .venv/bin/python studies/scripts/salimibeni2022.py [--quick] [--as-is] [DIR]

Runs the study, or what is missing of it in DIR (default: results/salimibeni2022), and keeps what it
found in studies/. With ``--as-is`` nothing is simulated: the page shows what is there.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from odonata.study import run_program
from odonata.study.execution import Store
from odonata.study.study import STORE_FILE
from odonata_studies.longtail import FINDINGS_FILE, MOMENTS_FILE, PAGE_FILE, LongTail
from odonata_studies.longtail.drawing import FIGURES

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "studies"
NAME = "study-salimibeni2022"
#: What the figures say, written after looking at them; the page has it behind the assumptions.
CONCLUSIONS = HOME / "data" / "salimibeni2022_conclusions.txt"


def main(arguments: list[str]) -> None:
    """Runs the study and keeps what it found."""
    quick, as_is = "--quick" in arguments, "--as-is" in arguments
    places = [one for one in arguments if not one.startswith("--")]
    directory = Path(places[0]) if places else ROOT / "results" / "salimibeni2022"
    study = LongTail()
    if not as_is:
        for line in run_program(study, directory, quick=quick):
            print(line)
        keep(directory)
        return
    with tempfile.TemporaryDirectory() as copied:
        # A copy: a study that still runs holds its store.
        shutil.copyfile(directory / STORE_FILE, Path(copied) / STORE_FILE)
        points, store = study.points(quick), Store(Path(copied) / STORE_FILE)
        records = {p.name: r for p in points if (r := store.get(p)) is not None}
        store.close()
        study.finish(records, Path(copied))
        keep(Path(copied))


def keep(directory: Path) -> None:
    """Copies the page, its figures and tables to where the docs have them."""
    text = (directory / PAGE_FILE).read_text(encoding="utf-8")
    for name in FIGURES:
        kept = f"{NAME}-{name}"
        shutil.copyfile(directory / name, HOME / "pages" / "figures" / kept)
        text = text.replace(f"({name})", f"(figures/{kept})")
    for name in (FINDINGS_FILE, MOMENTS_FILE):
        shutil.copyfile(directory / name, HOME / "data" / f"study_salimibeni2022_{name}")
    before, after = text.split("Written by `", 1)
    conclusions = CONCLUSIONS.read_text(encoding="utf-8")
    (HOME / "pages" / f"{NAME}.md").write_text(
        f"{before}{conclusions}\nWritten by `{after}", encoding="utf-8"
    )
    print((HOME / "pages" / f"{NAME}.md").relative_to(ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])
