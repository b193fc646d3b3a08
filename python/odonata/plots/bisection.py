"""Bisection width over the ratio of global to local bandwidth."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from odonata.network.bisection import Width
from odonata.plots.style import JOB_COLOURS


def draw_bisection(figure: Figure, widths: Sequence[Width], title: str) -> None:
    """Draws one line per arrangement; where a width is not exact, the band between its bounds.

    Args:
        figure: What to draw in.
        widths: Of a sweep.
        title: Headline.
    """
    axes = figure.add_subplot()
    for place, arrangement in enumerate(dict.fromkeys(width.arrangement for width in widths)):
        line = sorted(
            (w for w in widths if w.arrangement == arrangement), key=lambda w: w.alpha or 0.0
        )
        alphas = [width.alpha or 0.0 for width in line]
        upper = [width.local_links or 0.0 for width in line]
        lower = [width.lower_bound_local_links or 0.0 for width in line]
        colour = JOB_COLOURS[place % len(JOB_COLOURS)]
        exact = all(width.is_exact for width in line)
        # Lines that lie on each other stay visible: each thinner than those before it.
        axes.plot(
            alphas,
            upper,
            color=colour,
            linewidth=3.2 - 0.9 * min(place, 2),
            marker="o",
            markersize=6.5 - 1.6 * min(place, 2),
            label=arrangement if exact else f"{arrangement} (best cut found; lower bound shaded)",
        )
        if not exact:
            axes.fill_between(alphas, lower, upper, color=colour, alpha=0.10, linewidth=0)
    axes.set_xlabel("α = global / local link bandwidth")
    axes.set_ylabel("Bisection width [bandwidth of a local link]")
    axes.set_ylim(bottom=0)
    axes.set_title(title)
    axes.legend()
