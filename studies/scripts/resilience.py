"""What failures cost: the study behind pages/resilience.md.

    .venv/bin/python studies/scripts/resilience.py [--as-is]    # a quarter of an hour

Runs ``odonata study resilience``, or what is missing of it in results/resilience, keeps what it
found in studies/ and writes the tables of the page. With ``--as-is`` nothing is simulated: page and
picture show the tables that are kept.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pandas as pd

from odonata.study import run_program
from odonata_studies.marked import with_tables
from odonata_studies.resilience import CONNECTIVITY_FILE, SIMULATED_FILE, Resilience
from odonata_studies.resilience.drawing import draw
from odonata_studies.resilience.tables import tables

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "studies" / "data"
PAGE = ROOT / "studies" / "pages" / "resilience.md"
FIGURE = PAGE.parent / "figures" / "resilience.png"
#: Tables of the study by the names under which they are kept.
KEPT = {
    SIMULATED_FILE: DATA / "resilience.csv",
    CONNECTIVITY_FILE: DATA / "resilience_connectivity.csv",
}


def main(options: list[str]) -> None:
    """Runs the study and keeps what it found."""
    if "--as-is" not in options:
        results = ROOT / "results" / "resilience"
        for line in run_program(Resilience(), results):
            print(line)
        for name, kept in KEPT.items():
            shutil.copyfile(results / name, kept)
    found, held = (pd.read_csv(kept) for kept in KEPT.values())
    draw(found, FIGURE)
    text = with_tables(PAGE.read_text(encoding="utf-8"), tables(found, held))
    PAGE.write_text(text, encoding="utf-8")
    print(PAGE.relative_to(ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])
