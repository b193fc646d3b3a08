"""Dumps of ``sacct`` without their header: which columns they seem to have."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from odonata.bounded import first_bytes

#: Kinds of fields by their form, in the order in which they are tried.
_FORMS = (
    ("time", re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d|Unknown|None")),
    ("duration", re.compile(r"(\d+-)?\d+:\d\d(:\d\d)?(\.\d+)?|UNLIMITED|Partition_Limit")),
    ("exit", re.compile(r"\d+:\d+")),
    (
        "state",
        re.compile(
            r"(COMPLETED|FAILED|TIMEOUT|CANCELLED( by \d+)?|NODE_FAIL|OUT_OF_MEMORY|PREEMPTED|"
            r"RUNNING|PENDING|REQUEUED|BOOT_FAIL|DEADLINE)\+?"
        ),
    ),
    ("hosts", re.compile(r"[A-Za-z][\w-]*(\[[\d,-]+\]|\d+)(,.*)?|None assigned")),
    ("count", re.compile(r"\d+")),
)
_JOB = re.compile(r"\d+(_\d+|_\[.*\]|\+\d+)?(\.\w+)?")
#: What fields of a form are called, in the order in which people list them; by how many there are.
_TIMES = {1: ("Submit",), 2: ("Submit", "Start"), 3: ("Submit", "Start", "End")}
_TIMES |= {4: ("Submit", "Eligible", "Start", "End")}
_NAMES = {
    "duration": ("Elapsed", "Timelimit"),
    "exit": ("ExitCode",),
    "state": ("State",),
    "hosts": ("NodeList",),
    "count": ("NNodes", "NCPUS"),
}


def headerless_hint(path: str | os.PathLike[str]) -> str | None:
    """What to type for a file that looks like ``sacct -P`` or ``-p`` without a header, if it does.

    Args:
        path: The file.
    """
    lines = first_bytes(Path(path), 1 << 16).decode("utf-8", "replace").splitlines()
    fields = next((line.split("|") for line in lines if line.strip()), [])
    if len(fields) < 4 or not _JOB.fullmatch(fields[0]):
        return None
    columns = ",".join(guessed_columns(fields))
    typed = f"--format sacct --columns {columns}"
    return (
        "It looks like the output of sacct -P without a header; name its columns, as far as they "
        f"can be guessed: odonata log describe {shlex.quote(str(path))} {typed} (correct what is "
        "wrong; columns called Field1, Field2 … are ignored)"
    )


def guessed_columns(fields: Sequence[str]) -> list[str]:
    """What the columns of a dump may be called, by a record of it.

    Args:
        fields: The record's, of which the first is the job's number.
    """
    kinds = [_kind(field) for field in fields[1:]]
    # Users are called as hosts are, and come before them; a time limit is no shorter than the time.
    *_, last = [None, *(place for place, kind in enumerate(kinds) if kind == "hosts")]
    kinds = ["" if kind == "hosts" and n != last else kind for n, kind in enumerate(kinds)]
    spans = [_seconds(f) for f, kind in zip(fields[1:], kinds, strict=True) if kind == "duration"]
    times = kinds.count("time")
    left = {kind: iter(names) for kind, names in _NAMES.items()}
    if len(spans) == 2 and spans[0] > spans[1]:
        left["duration"] = iter(_NAMES["duration"][::-1])
    left["time"] = iter(_TIMES.get(times, ()))
    return ["JobID", *(_name(left.get(kind, ()), place + 2) for place, kind in enumerate(kinds))]


def _name(names: Iterable[str], place: int) -> str:
    return next(iter(names), f"Field{place}")


def _seconds(text: str) -> float:
    """A duration as Slurm writes it; infinite without a number."""
    days, _, rest = text.rpartition("-")
    try:
        parts = [float(part) for part in rest.split(":")]
    except ValueError:
        return float("inf")
    seconds: float = sum(part * 60.0**place for place, part in enumerate(reversed(parts)))
    return seconds + 86400 * float(days or 0)


def _kind(field: str) -> str:
    return next((kind for kind, form in _FORMS if form.fullmatch(field)), "")
