"""The pictures of the study."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from odonata.plots import new_figure, save, style
from odonata.plots.style import MORE_IS_DARKER, MUTED, class_colours

from .runs import CLASSES, PLACEMENTS, ROUTINGS, Kept, Run

#: Okabe and Ito's colours, with a marker each, so that the picture works in grey too.
ROUTING_LOOK = {
    "minimal": ("#000000", "o"),
    "UGAL-L": ("#E69F00", "v"),
    "PAR": ("#CC79A7", "D"),
    "PAR + groups": ("#0072B2", "s"),
    "Valiant": ("#009E73", "^"),
}
LEGEND = {"PAR + groups": "PAR + groups: also inside groups"}
PLACEMENT_COLOURS = {
    "contiguous": "#D55E00",
    "random-group": "#8C510A",
    "random-router": "#CC79A7",
    "random-node": "#56B4E9",
    "spread": "#0072B2",
}


def draw_study(rows: pd.DataFrame, kept: Mapping[Run, Kept], path: Path) -> None:
    """Run times, which links they wait for, and how long the last bytes take.

    Args:
        rows: The runs of the main part.
        kept: All runs.
        path: PNG to write.
    """
    with style():
        figure = new_figure(11.5, 8.4)
        grid = figure.add_gridspec(2, 2, height_ratios=[1.25, 1.0], width_ratios=[1.15, 1.0])
        _run_times(figure.add_subplot(grid[0, :]), rows)
        _busiest_links(figure, grid[1, 0], rows)
        _delivery(figure.add_subplot(grid[1, 1]), kept)
        figure.suptitle(
            "AMG2013 on 1,000 of Theta's 3,456 nodes: where its ranks sit decides how long it "
            "communicates",
            x=0.012,
            ha="left",
            fontsize=12.5,
            fontweight="bold",
        )
    save(figure, path)


def _run_times(axes: Axes, rows: pd.DataFrame) -> None:
    """One row per placement, one mark per routing; small marks are single seeds."""
    height = 0.145
    for place, placement in enumerate(PLACEMENTS):
        for turn, (routing, (colour, marker)) in enumerate(ROUTING_LOOK.items()):
            times = _times(rows, placement, routing)
            at = place + (turn - 2) * height
            if len(times) > 1:
                axes.plot([times.min(), times.max()], [at, at], color=colour, linewidth=1.2)
            axes.plot(times, np.full(len(times), at), "|", color=colour, markersize=4.5)
            axes.plot(
                times.mean(),
                at,
                marker,
                color=colour,
                markersize=6.5,
                linestyle="none",
                label=LEGEND.get(routing, routing) if place == 0 else None,
            )
            axes.annotate(
                f"{times.mean():.0f}",
                (times.max(), at),
                xytext=(7, 0),
                textcoords="offset points",
                va="center",
                fontsize=7.5,
                color=MUTED,
            )
    terminal = rows.bound_terminal_us.max()
    axes.axvline(terminal, color="#444444", linestyle=(0, (4, 3)), linewidth=1.0, zorder=1)
    axes.annotate(
        f"{terminal:.0f} µs: the busiest node\n"
        "cannot send faster, whatever\nthe placement and routing",
        (terminal, -0.4),
        xytext=(-6, 0),
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize=8,
        color="#444444",
    )
    for boundary in range(1, len(PLACEMENTS)):
        axes.axhline(boundary - 0.5, color="#E6E6E6", linewidth=0.7)
    axes.set_yticks(range(len(PLACEMENTS)), PLACEMENTS)
    axes.set_ylim(len(PLACEMENTS) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0, labelsize=10)
    axes.grid(axis="y", visible=False)
    axes.set_xlim(left=0)
    axes.set_xlabel("run time (µs); large marks: mean, small ticks: single seeds")
    axes.set_title("Run time by placement and routing (shorter is better)")
    axes.legend(loc="lower right", title="routing", alignment="left")


def _times(rows: pd.DataFrame, placement: str, routing: str) -> np.ndarray:
    chosen = rows[(rows.placement == placement) & (rows.routing == routing)]
    return chosen.run_time_us.to_numpy()


def _busiest_links(figure: Figure, place: object, rows: pd.DataFrame) -> None:
    """How long the busiest link of each class sends, beside the run time."""
    colours = class_colours(CLASSES)
    shown = ("minimal", "PAR + groups")
    inner = place.subgridspec(1, len(shown), wspace=0.06)  # type: ignore[attr-defined]
    first = None
    for column, routing in enumerate(shown):
        axes = figure.add_subplot(inner[0, column], sharex=first, sharey=first)
        first = first or axes
        chosen = rows[rows.routing == routing].groupby("placement").mean(numeric_only=True)
        for at, placement in enumerate(PLACEMENTS):
            values = chosen.loc[placement]
            axes.barh(
                at,
                values.run_time_us,
                height=0.82,
                color="#EEEEEE",
                label="run time" if at == 0 else None,
            )
            for slot, name in enumerate(CLASSES):
                axes.barh(
                    at + (slot - 1.5) * 0.185,
                    values[f"{name}_busiest_us"],
                    height=0.16,
                    color=colours[name],
                    label=name if at == 0 else None,
                )
        axes.set_ylim(len(PLACEMENTS) - 0.5, -0.5)
        axes.grid(axis="y", visible=False)
        axes.tick_params(axis="y", length=0, labelleft=column == 0)
        axes.set_yticks(range(len(PLACEMENTS)), PLACEMENTS)
        axes.set_xlabel(f"µs, under {routing}")
        if column == 0:
            axes.set_title("How long the busiest link of each class sends")
        else:
            axes.legend(loc="upper right", fontsize=8, handlelength=1.2)


def _delivery(axes: Axes, kept: Mapping[Run, Kept]) -> None:
    """Share of the bytes delivered over time, minimal routing, first seed."""
    for placement in PLACEMENTS:
        run = next(
            run
            for run in kept
            if (run.part, run.placement, run.routing, run.seed) == ("main", placement, "minimal", 1)
        )
        time, share = kept[run].delivered
        end = kept[run].row["run_time_us"]
        inside = time <= end
        axes.plot(
            np.concatenate([[0], time[inside], [end]]),
            100 * np.concatenate([[0], share[inside], [1]]),
            color=PLACEMENT_COLOURS[placement],
            linewidth=1.8,
            linestyle="--" if placement == "random-group" else "-",
            label=placement,
        )
    axes.set_ylim(0, 101)
    axes.set_xlim(left=0)
    axes.set_xlabel("time (µs)")
    axes.set_ylabel("bytes delivered (%)")
    axes.set_title("A few links hold up the end (minimal routing)")
    axes.legend(loc="lower right")


def draw_groups(kept: Mapping[Run, Kept], path: Path) -> None:
    """Bytes between groups under minimal routing: what a placement asks of the global links.

    Args:
        kept: All runs.
        path: PNG to write.
    """
    shown = ("contiguous", "random-node", "spread")
    with style():
        figure = new_figure(10.5, 4.25)
        panels = figure.subplots(1, len(shown), sharey=True)
        tables = []
        for placement in shown:
            run = next(
                run
                for run in kept
                if (run.part, run.placement, run.routing, run.seed)
                == ("main", placement, "minimal", 1)
            )
            tables.append(kept[run].between_groups / 1e6)
        most = max(table.max() for table in tables)
        for axes, placement, table in zip(panels, shown, tables, strict=True):
            shown_table = np.ma.masked_array(table, np.eye(len(table), dtype=bool))
            picture = axes.imshow(shown_table, cmap=MORE_IS_DARKER, vmin=0, vmax=most)
            axes.set_facecolor("#EEEEEE")
            axes.set_title(f"{placement}: {table.sum() / 1e3:.2f} GB")
            axes.set_xlabel("to group")
            axes.set_xticks(range(len(table)))
            axes.set_yticks(range(len(table)))
            axes.grid(visible=False)
            axes.spines[:].set_visible(False)
            axes.tick_params(length=0)
        panels[0].set_ylabel("from group")
        bar = figure.colorbar(picture, ax=list(panels), shrink=0.8, pad=0.02)
        bar.outline.set_visible(False)
        bar.set_label("MB over the 48 links of each pair of groups")
        figure.suptitle(
            "Bytes between groups, minimal routing",
            x=0.012,
            ha="left",
            fontsize=11.5,
            fontweight="bold",
        )
    save(figure, path)


assert set(ROUTING_LOOK) == set(ROUTINGS)
