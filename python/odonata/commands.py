"""Commands that are no function of another module: under their names, as people type them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odonata.output import new_file, write_file
from odonata.scenario.starting import first_scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from odonata.tails import Fit, Modes, Tail


def init(file: str | os.PathLike[str], family: str = "dragonfly", **how: Any) -> Path:
    """Writes a first scenario, as ``odonata init`` does.

    Args:
        file: Must not exist yet.
        family: Of its network.
        **how: Further arguments of :func:`odonata.first_scenario`.

    Returns:
        The file.

    Raises:
        ScenarioError: If there is no such family, size, load or algorithm.
        OutputError: If the file exists or cannot be written.
    """
    text = first_scenario(family, **how)
    with new_file(Path(file)) as partial:
        write_file(partial, text)
    return Path(file)


def show(directory: str | os.PathLike[str]) -> Any:
    """What an earlier command or function left in a directory, as the function returns it.

    Args:
        directory: Of the results.

    Returns:
        A :class:`~odonata.Result`, a :class:`~odonata.Saturation`, an
        :class:`~odonata.Interference`, a :class:`~odonata.Design`, a list of schedules,
        predictions, or the table of a sweep, a study, replications or a comparison.

    Raises:
        OutputError: If it holds no results.
    """
    from odonata.results.kinds import kind_of

    place = Path(directory)
    kind = kind_of(place)
    if kind == "run":
        from odonata.results import Result

        return Result.load(place)
    if kind == "schedule":
        from odonata.batch.schedules import load_schedules

        return load_schedules(place)[0]
    if kind == "study":
        from odonata.study.dataset import read_dataset

        return read_dataset(place)
    if kind == "program":
        from odonata.study.study import CONCLUSION_FILE

        return (place / CONCLUSION_FILE).read_text(encoding="utf-8")
    import importlib

    # The table is what is left of replications and comparisons beside what it is of.
    modules = {
        "saturation": "odonata.study.saturation",
        "interference": "odonata.study.interference",
        "design": "odonata.study.design",
        "predictions": "odonata.machines.predicted",
        "replications": "odonata.study.replication",
        "comparison": "odonata.study.comparing",
    }
    found = importlib.import_module(modules[kind]).load(place)
    return found[1] if isinstance(found, tuple) else found


@dataclass(frozen=True)
class Tails:
    """How samples are distributed.

    Attributes:
        tail: Measures of the right tail.
        modes: Whether there are several, and where.
        fits: Families of distributions, the best first.
    """

    tail: Tail
    modes: Modes
    fits: Sequence[Fit]


def tails(
    samples: str | os.PathLike[str] | ArrayLike,
    column: str | None = None,
    families: Sequence[str] | None = None,
) -> Tails:
    """Tail measures, modes and best-fitting distributions of samples.

    Args:
        samples: Numbers; or their file, or the directory of a run, as of
            :func:`odonata.read_samples`.
        column: Of a table.
        families: Those to fit. Default: all.

    Raises:
        SampleError: If there are too few samples, or they cannot be read.
    """
    from odonata.tails import find_modes, fit_families, measure_tail, read_samples

    values: Any = samples
    if isinstance(samples, (str, os.PathLike)):
        values = read_samples(Path(samples), column)
    return Tails(measure_tail(values), find_modes(values), fit_families(values, families))
