"""The figures of ``docs/figures/``, each from scenarios of ``examples/``."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import odonata
from odonata.network.bisection import bisection_sweep
from odonata.plots import new_figure, save, style
from odonata.plots.bisection import draw_bisection
from odonata.plots.interference import draw_all
from odonata.results import Result
from odonata.scenario import Scenario


def demo_figures(root: Path) -> None:
    """The picture of the bundled example that the README shows."""
    result: Result = odonata.run(root / "examples" / "demo.toml")
    figures = root / "docs" / "figures"
    figures.mkdir(exist_ok=True)
    result.plot.overview(figures / "demo-overview.png")


def bisection_figure(root: Path) -> None:
    """Bisection width over α of the machine of Kaplan et al. 2017, figure 2."""
    machine = {"family": "dragonfly", "p": 2, "a": 4, "h": 2}
    alphas = [0.5 + step / 8 for step in range(31)]
    widths = list(bisection_sweep(Scenario.from_dict({"network": machine}), alphas))
    with style():
        figure = new_figure(6.4, 3.8)
        draw_bisection(figure, widths, "Dragonfly of 9 groups of 4 routers, 2 global links each")
    save(figure, root / "docs" / "figures" / "bisection.png")


def interference_figures(root: Path) -> None:
    """Latencies and waits of the bundled example of jobs that slow each other down."""
    found = odonata.interference(root / "examples" / "interference.toml")
    figures = root / "docs" / "figures"
    with tempfile.TemporaryDirectory() as directory:
        draw_all(found, Path(directory))
        for name in ("latency", "waits"):
            shutil.copy(Path(directory) / f"{name}.png", figures / f"interference-{name}.png")
