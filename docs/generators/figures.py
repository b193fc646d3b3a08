"""The figures of ``docs/figures/``, each from scenarios of ``examples/``."""

from __future__ import annotations

from pathlib import Path

import odonata
from odonata.results import Result


def demo_figures(root: Path) -> None:
    """The picture of the bundled example that the README shows."""
    result: Result = odonata.run(root / "examples" / "demo.toml")
    figures = root / "docs" / "figures"
    figures.mkdir(exist_ok=True)
    result.plot.overview(figures / "demo-overview.png")
