"""The study's picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.image import AxesImage
from matplotlib.ticker import NullFormatter

from odonata.plots.style import CLASS_COLOURS, MORE_IS_DARKER, new_figure, save, style
from odonata.study.intervals import interval
from odonata_studies.gpcnet.plan import AGGRESSORS, SHARES, TESTS, VICTIMS
from odonata_studies.gpcnet.tables import impacts

_LOOKS = {"mean": (CLASS_COLOURS["local"], "o"), "p99": (CLASS_COLOURS["global"], "s")}

_TITLES = {
    "latency": "Ring, 8 B",
    "bandwidth": "Ring, 128 KiB, and barrier",
    "allreduce": "All-reduce, 8 B",
}


def draw(found: pd.DataFrame, path: Path) -> None:
    """Impact factors by scheme, and heat maps of victims beside aggressors."""
    with style():
        figure = new_figure(10.0, 7.2)
        above, below = np.asarray(figure.subfigures(2, 1, height_ratios=(1, 1.15)), object)
        here = found[found.aggressor == "GPCNeT"]
        schemes = list(here.scheme.unique())
        panels = above.subplots(1, len(TESTS), sharey=True)
        for axes, test in zip(panels, TESTS, strict=True):
            _factors(axes, found, test, schemes, int(here.share.iloc[0]))
        panels[0].set_ylabel("times worse beside\nGPCNeT's congestors")
        panels[0].legend(loc="upper right")
        schemes = list(found[found.aggressor != "GPCNeT"].scheme.unique())
        maps = below.subplots(1, max(len(schemes), 1), sharey=True, squeeze=False)[0]
        shown = None
        for axes, scheme in zip(maps, schemes, strict=False):
            shown = _map(axes, found, scheme)
        if shown is not None:
            bar = below.colorbar(shown, ax=list(maps), pad=0.01)
            bar.set_label("mean time beside over alone, C")
            bar.set_ticks([1, 2, 3, 5], labels=["1", "2", "3", "≥ 5"])
            bar.ax.minorticks_off()
        save(figure, path)


def _factors(axes: Axes, found: pd.DataFrame, test: str, schemes: list[str], share: int) -> None:
    for number, (figure, (colour, marker)) in enumerate(_LOOKS.items()):
        points = [
            (at, interval(factors))
            for at, scheme in enumerate(schemes)
            if (factors := impacts(found, test, scheme, "GPCNeT", share, figure))
        ]
        axes.errorbar(
            [at + 0.16 * (number - 0.5) for at, _ in points],
            [mean.mean for _, mean in points],
            [np.nan_to_num(mean.half_width) for _, mean in points],
            linestyle="none",
            color=colour,
            marker=marker,
            markersize=5,
            capsize=2,
            label={"mean": "mean", "p99": "99th percentile"}[figure],
        )
    axes.axhline(1, color="#BBBBBB", linewidth=0.8, zorder=0)
    axes.set_yscale("log")
    axes.set_ylim(0.8, 12)
    axes.set_yticks([1, 2, 5, 10], ["1", "2", "5", "10"])
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.set_title(_TITLES[test])
    axes.set_xticks(range(len(schemes)), schemes, rotation=30, ha="right")


def _map(axes: Axes, found: pd.DataFrame, scheme: str) -> AxesImage:
    rows = [(victim, aggressor) for aggressor in AGGRESSORS for victim in VICTIMS]
    factors = np.array(
        [
            [
                np.mean(impacts(found, victim, scheme, aggressor, share) or [np.nan])
                for share in SHARES
            ]
            for victim, aggressor in rows
        ]
    )
    axes.grid(visible=False)
    shown = axes.imshow(factors, norm=LogNorm(1, 5), cmap=MORE_IS_DARKER, aspect="auto")
    for (row, column), factor in np.ndenumerate(factors):
        colour = "white" if factor > 2 else "black"
        text = "–" if np.isnan(factor) else f"{factor:.3g}" if factor >= 10 else f"{factor:.2f}"
        axes.text(column, row, text, ha="center", va="center", fontsize=8, color=colour)
    axes.set_yticks(range(len(rows)), [f"{victim}, {aggressor}" for victim, aggressor in rows])
    axes.set_xticks(range(len(SHARES)), [f"{share} %" for share in SHARES])
    axes.set_xlabel("nodes that the aggressor has")
    axes.set_title(f"Congestion control: {scheme}")
    return shown
