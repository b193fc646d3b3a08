"""Which kind of result a directory holds, seen from a file that only this kind has."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from odonata.errors import OutputError
from odonata.output import CHECKPOINT_FILE

#: A file by which each kind is known, in the order in which they are looked for.
FILES: Mapping[str, str] = {
    "interference.json": "interference",
    "saturation.json": "saturation",
    "design.json": "design",
    "predictions.json": "predictions",
    "replications.parquet": "replications",
    "comparison.json": "comparison",
    "conclusion.txt": "program",
    "dataset.parquet": "study",
    "occupancy.parquet": "schedule",
    "result.json": "run",
}
#: Tables that a study which is a program may leave, and what each holds.
TABLES_OF_PROGRAMS: Mapping[str, str] = {
    "comparisons.csv": "Every figure beside its reference",
    "findings.csv": "What others found, and what this study finds",
}
#: The same for people.
WHAT = (
    "a run, replications, a comparison, a study, a schedule, a search for saturation, an analysis "
    "of interference, networks by design, predictions of collectives, or a study that is a program"
)


def kind_of(directory: str | os.PathLike[str]) -> str:
    """The kind of result in a directory.

    Raises:
        OutputError: If it holds none, or one that is not finished; says how to go on.
    """
    directory = Path(directory)
    if (directory / CHECKPOINT_FILE).exists():
        raise OutputError(
            f"{directory}: the run is not finished. Go on with it: "
            f"odonata run SCENARIO --resume {directory}"
        )
    for name, kind in FILES.items():
        if (directory / name).is_file():
            return kind
    if any(directory.glob("seed-*/result.json")):
        return "replications"
    if not directory.is_dir():
        raise OutputError(f"{directory}: there is no such directory")
    from odonata.study.execution import STORE_FILE

    store = directory / STORE_FILE
    if store.is_file():
        count = store.read_bytes().count(b"\n")
        raise OutputError(
            f"{directory}: not finished, {count} simulations are done; run the command again that "
            "began it, and it goes on"
        )
    raise OutputError(f"{directory}: found no results; allowed: the directory of {WHAT}")
