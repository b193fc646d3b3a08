"""``docs/validation.md`` from what the study found."""

from __future__ import annotations

from pathlib import Path

from odonata.study.validation.comparison import read
from odonata.study.validation.experiments import read as read_experiments
from odonata.study.validation.page import page

#: What the study leaves in its directory, and where it is kept.
KEPT = {
    "comparisons.csv": Path("docs/studies/validation_comparisons.csv"),
    "experiments.csv": Path("docs/studies/validation_experiments.csv"),
    "validation.png": Path("docs/figures/validation.png"),
}


def validation_page(root: Path) -> str:
    """The page.

    Args:
        root: Of the repository.
    """
    comparisons = read(root / KEPT["comparisons.csv"])
    experiments = read_experiments(root / KEPT["experiments.csv"])
    return page(comparisons, experiments, "figures/validation.png")
