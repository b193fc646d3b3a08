"""The figures of ``docs/figures/``, each from scenarios of ``examples/``."""

from __future__ import annotations

from pathlib import Path

import odonata
from odonata.results import Result


def demo_figures(root: Path) -> None:
    """The pictures of the bundled example that the README and the pages show."""
    result: Result = odonata.run(root / "examples" / "demo.toml")
    figures = root / "docs" / "figures"
    result.plot.overview(figures / "demo-overview.png")
    result.plot.topology(figures / "demo-topology.png")
