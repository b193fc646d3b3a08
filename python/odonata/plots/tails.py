"""The distribution of samples, and its tail."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from odonata.libraries import scipy_stats
from odonata.plots.style import JOB_COLOURS, MUTED, plain_powers
from odonata.tails.fits import Fit
from odonata.tails.measures import Tail


def draw_tail(
    figure: Figure,
    samples: NDArray[np.float64],
    tail: Tail,
    fits: Sequence[Fit],
    title: str,
    quantity: str,
) -> None:
    """Draws a histogram, and beside it the share of samples above each value.

    Both with the best fits; the second with logarithmic axes, where a long tail is a slow descent.

    Args:
        figure: What to draw in.
        samples: All of them.
        tail: Their measures.
        fits: The best first; three different ones at most are drawn.
        title: Headline.
        quantity: What the samples are, with their unit, for the axes.
    """
    left, right = figure.subplots(1, 2)
    left.set_title(title)
    shown = samples[samples <= np.quantile(samples, 0.995)]
    left.hist(shown, bins=60, density=True, color=MUTED, alpha=0.35, linewidth=0)
    positive = np.sort(samples[samples > 0])
    share = 1 - np.arange(positive.size) / positive.size
    right.step(positive, share, where="post", color="black", linewidth=1.6, label="samples")
    stats = scipy_stats() if fits else None
    drawn = [fit for fit in fits if not fit.failure and not fit.same_as][:3]
    for fit, colour in zip(drawn, JOB_COLOURS, strict=False):
        family = getattr(stats, fit.family)(*fit.parameters.values())
        x = np.linspace(shown.min(), shown.max(), 400)
        left.plot(x, family.pdf(x), color=colour, label=fit.family)
        if positive.size:
            x = np.geomspace(positive[0], positive[-1], 400)
            right.plot(x, family.sf(x), color=colour, label=fit.family)
    marks = (("median", tail.median, ":"), ("mean", tail.mean, "-"), ("p85", tail.p85, "--"))
    for name, at, line in marks:
        left.axvline(at, color="black", linestyle=line, linewidth=1, label=f"{name} {at:.4g}")
    left.set_xlabel(quantity)
    left.set_ylabel("Density [1 / unit]")
    left.set_xlim(right=float(shown.max()))
    left.legend()
    right.set_xscale("log")
    right.set_yscale("log")
    right.set_ylim(bottom=0.5 / max(positive.size, 1), top=1.3)
    plain_powers(right.xaxis, right.yaxis)
    right.set_xlabel(quantity)
    right.set_ylabel("Share of samples above")
    right.legend()
