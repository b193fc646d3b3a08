"""Keeps what a study found: its tables as CSV, and its page and picture made of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence

import pandas as pd

from odonata.study import Study, run_program
from odonata_studies.marked import write_tables
from odonata_studies.rows import STUDIES


def keep(
    name: str,
    study: Study,
    kept: Mapping[str, str],
    draw: Callable[..., None],
    tables: Callable[..., Mapping[str, str]],
    options: Sequence[str],
) -> None:
    """Runs a study, or what is missing of it, and writes its page's tables and picture.

    Args:
        name: Of its page and picture, and of the directory of its results.
        study: The study.
        kept: The CSV in `data/` that each file of the results is kept as.
        draw: Draws the picture of the kept tables, into the path that follows them.
        tables: The page's tables, by name, of the kept ones.
        options: ``--as-is``: simulate nothing, and show the tables that are kept.
    """
    page, data = STUDIES / "pages" / f"{name}.md", STUDIES / "data"
    if "--as-is" not in options:
        results = STUDIES.parent / "results" / name
        for line in run_program(study, results):
            print(line)
        for file, as_ in kept.items():
            shutil.copyfile(results / file, data / as_)
    found = [pd.read_csv(data / as_) for as_ in kept.values()]
    draw(found[0], page.parent / "figures" / f"{name}.png")
    write_tables(page, tables(*found))
    print(page.relative_to(STUDIES.parent))
