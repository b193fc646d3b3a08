"""``studies/pages/validation.md`` from what the study found."""

from __future__ import annotations

from pathlib import Path

from odonata_studies.validation.comparison import read
from odonata_studies.validation.experiments import read as read_experiments
from odonata_studies.validation.page import page

#: What the study leaves in its directory, and where it is kept.
KEPT = {
    "comparisons.csv": Path("studies/data/validation_comparisons.csv"),
    "experiments.csv": Path("studies/data/validation_experiments.csv"),
    "validation.png": Path("studies/pages/figures/validation.png"),
}


def validation_page(root: Path) -> str:
    """The page.

    Args:
        root: Of the repository.
    """
    comparisons = read(root / KEPT["comparisons.csv"])
    experiments = read_experiments(root / KEPT["experiments.csv"])
    return page(comparisons, experiments, "figures/validation.png")
