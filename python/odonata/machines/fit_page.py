"""What the fit of a machine says of itself: its parameters, and how far it is off, on one page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from odonata import display
from odonata.machines.calibration import Calibration
from odonata.machines.measurements import Measurement
from odonata.units import Size

#: Names of the files of a machine that was fitted.
SCENARIO_FILE, PAGE_FILE, TABLE_FILE, FIGURE_FILE = (
    "machine.toml",
    "fit.md",
    "measurements.csv",
    "fit.png",
)

#: Ticks of predicted over measured times.
_RATIOS = (*(2.0**power for power in range(-8, -1)), 0.5, 0.7, 0.9, 1, 1.1, 1.4, 2,
           *(2.0**power for power in range(2, 9)))  # fmt: skip


def fit_page(calibrations: Sequence[Calibration], rows: Sequence[Measurement]) -> str:
    """The page, in Markdown.

    Args:
        calibrations: With one rank a node, then with several, or either.
        rows: All that was measured.
    """
    first = calibrations[0]
    parts = [f"# How well the model of {first.machine} fits", _read(rows)]
    for calibration in calibrations:
        several = max(row.per_node for row in calibration.used)
        if len(calibrations) > 1:
            parts.append(f"# {several} rank{'s' if several > 1 else ''} a node")
        if calibration is first:
            parts.append(f"![Predicted over measured times, by size]({FIGURE_FILE})")
        parts += ["## Errors", _errors(calibration), "## Parameters", _parameters(calibration)]
    return "\n\n".join(parts) + "\n"


def _read(rows: Sequence[Measurement]) -> str:
    operations = sorted({row.operation for row in rows})
    nodes = ", ".join(str(one) for one in sorted({row.nodes for row in rows}))
    return (
        f"{len(rows):,} measurements were read: {', '.join(operations)} on {nodes} nodes, from "
        f"{min(row.bytes for row in rows):,} to {max(row.bytes for row in rows):,} B."
    )


def _errors(calibration: Calibration) -> str:
    """Errors of the fit, and of each measurement left out, by collective and number of nodes."""
    fitted, left_out = calibration.fit_errors(), calibration.left_out_errors()
    lines = [
        "Predicted over measured medians, less one. *Left out*: what would be predicted of each "
        "measurement had the fit not had it (cross-validation).",
        "",
        "| collective | nodes | measurements | median | 90 % below | left out | 90 % below |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]

    def row(name: str, nodes: str, chosen: np.ndarray) -> str:
        figures = (
            f"{100 * share(np.abs(errors[chosen])):.0f} %"
            for errors in (fitted, left_out)
            for share in (np.median, _p90)
        )
        return f"| {name} | {nodes} | {int(chosen.sum())} | {' | '.join(figures)} |"

    of = [(one.operation, one.nodes) for one in calibration.used]
    for operation, nodes in sorted(set(of)):
        chosen = np.array([one == (operation, nodes) for one in of])
        lines.append(row(operation, str(nodes), chosen))
    lines.append(row("all", "", np.ones(len(of), dtype=bool)))
    if calibration.checked:
        inside = ", ".join(
            f"{100 * low - 100:+.0f} to {100 * high - 100:+.0f} % near {display.size(size)}"
            for size, low, high in calibration.errors
        )
        lines += [
            "",
            f"Of {calibration.checked} further measurements, which the fit did not use, eight of "
            f"ten are within {inside} of their predictions: `machine.errors`, by which predicted "
            "percentiles are wider.",
        ]
    return "\n".join(lines)


def _p90(values: np.ndarray) -> float:
    return float(np.quantile(values, 0.9))


def _parameters(calibration: Calibration) -> str:
    lines = [
        f"By least squares over {len(calibration.used)} measurements, with "
        f"{calibration.evaluations:,} simulations by the {calibration.engine} engine.",
        "",
        "| parameter | value | 68 % interval | |",
        "|---|--:|--:|---|",
    ]
    for one in calibration.parameters:
        said = "" if one.identified else "not determined by the measurements"
        value, low, high = (_figure(number) for number in (one.value, one.low, one.high))
        lines.append(f"| {one.name} | {value} {one.unit} | {low} to {high} | {said} |")
    return "\n".join(lines)


def _figure(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def draw_fit(calibrations: Sequence[Calibration], path: Path) -> None:
    """Draws predicted over measured times of each measurement left out, over its size."""
    from odonata.plots.style import OTHER_CLASS_COLOURS, new_figure, save, style

    markers = "osD^vPX"
    with style():
        figure = new_figure(7.0, 4.0)
        axes = figure.add_subplot()
        used = [row for one in calibrations for row in one.used]
        ratios = 1 + np.concatenate([one.left_out_errors() for one in calibrations])
        for number, operation in enumerate(sorted({row.operation for row in used})):
            chosen = np.array([row.operation == operation for row in used])
            axes.plot(
                np.array([row.bytes for row in used])[chosen],
                ratios[chosen],
                linestyle="none",
                marker=markers[number % len(markers)],
                markersize=4,
                color=OTHER_CLASS_COLOURS[number % len(OTHER_CLASS_COLOURS)],
                label=operation,
            )
        axes.axhline(1, color="#444444", linewidth=0.8, zorder=0)
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(lambda size, _: str(Size(round(size))))
        axes.set_yscale("log", base=2)
        farthest = max(1.0, float(np.abs(np.log2(ratios)).max()))
        ticks = [one for one in _RATIOS if abs(np.log2(one)) <= farthest + 0.05]
        axes.set_yticks(ticks, [f"{one:g}" for one in ticks])
        axes.set_ylim(2 ** -(farthest + 0.1), 2 ** (farthest + 0.1))
        axes.set_xlabel("size of a rank's vector")
        axes.set_ylabel("predicted / measured, each left out")
        axes.legend()
        save(figure, path)
