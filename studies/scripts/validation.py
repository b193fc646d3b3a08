"""Validation of the packet engine: the study behind pages/validation.md.

    .venv/bin/python studies/scripts/validation.py    # minutes; rewrites the page and its figure

The same as ``odonata study validation``, whose results it keeps in studies/.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from generators.validation_page import KEPT, validation_page  # noqa: E402

from odonata.study import run_program  # noqa: E402
from odonata_studies.validation import Validation  # noqa: E402


def main() -> None:
    """Runs the study and keeps what it found."""
    with tempfile.TemporaryDirectory() as directory:
        for line in run_program(Validation(), Path(directory)):
            print(line)
        for name, kept in KEPT.items():
            shutil.copyfile(Path(directory) / name, ROOT / kept)
            print(kept)
    page = ROOT / "studies" / "pages" / "validation.md"
    page.write_text(validation_page(ROOT), encoding="utf-8")
    print(page.relative_to(ROOT))


if __name__ == "__main__":
    main()
