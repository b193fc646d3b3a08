"""Pictures of a study's dataset, as its file declares them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
import pyarrow as pa
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D

from odonata.errors import Problem, ScenarioError
from odonata.output import picture, warn
from odonata.plots.style import (
    JOB_COLOURS,
    MUTED,
    draw_empty,
    new_figure,
    plain_powers,
    save,
    style,
)
from odonata.study.cells import Cell, Estimated, all_cells, cells, grouped, value_text
from odonata.study.expression import Condition, condition_of
from odonata.study.file import Figure, StudyFile

#: Letters that fit side by side below a panel.
_WIDEST = 40
#: Letters that fit in one line above it.
_TITLE_LENGTH = 38
#: Letters that fit in one line beside it.
_HEIGHT_LENGTH = 34
#: Values of x that have a tick each, and their least distance as a share of the axis.
_MOST_TICKS, _LEAST_GAP = 10, 0.07
#: How many times as high as all others saturated points are where the scale becomes logarithmic.
_DECADE = 10.0
#: Points of a marker, and how much larger those below others are, so that none is hidden.
_MARKER_SIZE, _LARGER = 4.5, 1.3
#: How strongly points beyond saturation are drawn.
_PALE = 0.4
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")


def draw(
    study: StudyFile, table: pa.Table, directory: Path, notice: Callable[[str], object] = warn
) -> list[Path]:
    """Draws every figure of a study.

    Args:
        study: The study.
        table: Its dataset; may lack points.
        directory: For the pictures.
        notice: Called with the picture that could not be drawn, and why. Default: a warning.

    Returns:
        Their files, without those that could not be drawn.

    Raises:
        ScenarioError: If a figure is wrong; names its key.
    """
    found = []
    for position, figure in enumerate(study.figure):
        path = directory / f"{figure.name}.png"
        with picture(Path(path.name), notice):
            save(_Drawing(study, position, figure, table).draw(), path)
            found.append(path)
    return found


def draw_figure(study: StudyFile, table: pa.Table, figure: Figure) -> Canvas:
    """Draws one of the figures of a study.

    Raises:
        ScenarioError: If the figure is wrong; names its key.
    """
    return _Drawing(study, study.figure.index(figure), figure, table).draw()


class _Drawing:
    """One picture."""

    def __init__(self, study: StudyFile, position: int, figure: Figure, table: pa.Table) -> None:
        self._study, self._figure, self._position = study, figure, position
        self._axes = [axis.column for axis in study.axis]
        only = self._condition("only", figure.only, [*self._axes, "seed"])
        there = all_cells(table, self._axes, figure.y, only)
        self._cells = [cell for cell in there if cell.values]
        #: Simulated, and nothing could be measured: distinguished from what is not simulated yet.
        self._voids = [cell for cell in there if not cell.values]
        self._job = self._job_of(figure.y)
        #: By combination of the axes: the five figures of its box.
        self._quantiles: dict[tuple[Any, ...], list[float]] = {}
        for measure in figure.quantiles or ():
            for cell in cells(table, self._axes, measure, only):
                self._quantiles.setdefault(tuple(cell.axes.values()), []).append(
                    cell.figure(figure.statistic)
                )
        if figure.relative_to is not None:
            self._cells = self._related(figure.relative_to)
        shown = [figure.x, *([figure.series] if figure.series else []), *figure.facets]
        self._check_complete(shown)
        self._order = {name: self._labels(name) for name in shown}
        series = self._order.get(figure.series or "", [None])
        self._colours = {value: JOB_COLOURS[n % len(JOB_COLOURS)] for n, value in enumerate(series)}
        self._markers = {value: _MARKERS[n % len(_MARKERS)] for n, value in enumerate(series)}

    def _condition(self, key: str, text: str | None, names: list[str]) -> Condition | None:
        return condition_of(text, names, f"figure[{self._position}].{key}", self._study.file)

    def _related(self, text: str) -> list[Cell]:
        """The cells divided by the one that the condition chooses among those like them."""
        condition = self._condition("relative_to", text, self._axes)
        assert condition is not None
        found = []
        for group in grouped(self._cells, self._axes, condition.names).values():
            base = [cell for cell in group if condition.holds(cell.axes)]
            if len(base) > 1:
                message = (
                    f'found "{text}", which holds for {len(base)} points that agree in all other '
                    "axes; allowed: a condition for one of them"
                )
                problem = Problem(f"figure[{self._position}].relative_to", message)
                raise ScenarioError([problem], self._study.file)
            if not base:
                continue
            unit = base[0].figure(self._figure.statistic)
            for cell in group:
                values = {seed: value / unit for seed, value in cell.values.items()}
                found.append(Cell(cell.axes, values, cell.saturated))
        return found

    def _check_complete(self, shown: Sequence[str]) -> None:
        """That every axis that varies is shown: else a place of the picture has several values."""
        for group in grouped(
            self._cells, self._axes, [a for a in self._axes if a not in shown]
        ).values():
            if len(group) > 1:
                varies = [a for a in self._axes if len({c.axes[a] for c in group}) > 1]
                message = (
                    f"found several values for one place, as {' and '.join(varies)} vary; "
                    "allowed: an axis is shown by `x`, `series` or `facets`, or fixed by `only`"
                )
                problem = Problem(f"figure[{self._position}]", message)
                raise ScenarioError([problem], self._study.file)

    def _labels(self, name: str) -> list[Any]:
        """The values of an axis that occur, in the order of the study file."""
        axis = next((a for a in self._study.axis if a.column == name), None)
        drawn = [*self._cells, *self._voids]
        there = {cell.axes[name] for cell in drawn} if axis is not None else set()
        listed = [] if axis is None else [label for label, _ in axis.settings()]
        known = [v for v in listed if v in there] + [v for v in there if v not in listed]
        return list(dict.fromkeys(known))

    def _job_of(self, column: str) -> str | None:
        """The job that a measure is of; ``*`` for all, ``None`` if it is of no job."""
        measure = next((m for m in self._study.measure if m.column_name == column), None)
        parts = [] if measure is None or measure.figure is None else measure.figure.split(".")
        return ".".join(parts[1:-1]) if len(parts) > 2 and parts[0] == "job" else None

    def _is_saturated(self, cell: Cell) -> bool:
        """Whether what is drawn is of a job whose traffic piles up."""
        return bool(cell.saturated) if self._job == "*" else self._job in cell.saturated

    # --- Drawing ----------------------------------------------------------------------

    def draw(self) -> Canvas:
        """The picture."""
        figure = self._figure
        columns = self._order[figure.facets[0]] if figure.facets else [None]
        rows = self._order[figure.facets[1]] if len(figure.facets) > 1 else [None]
        with style():
            if not self._cells and not self._voids:
                canvas = new_figure(5.0, 3.2)
                draw_empty(canvas, figure.title or figure.name, "no point has been simulated yet")
                return canvas
            # Wide enough for the panels and for the title.
            width = max(3.2 * len(columns) + 0.6, 4.8, 0.09 * len(figure.title))
            canvas = new_figure(width, 2.7 * len(rows) + 0.9)
            shape = (len(rows), len(columns))
            share = figure.share_y
            # Where scales differ, so may the values of x that occur.
            grid = canvas.subplots(*shape, squeeze=False, sharey=share, sharex=share)
            for row, panels in zip(rows, grid, strict=True):
                for column, axes in zip(columns, panels, strict=True):
                    self._panel(axes, column, row)
            # A shared scale is fixed when all panels are full.
            for axes in [grid[0][0]] if share else grid.flat:
                if figure.log_y or self._has_flat_lines():
                    axes.set_yscale("log")
                    plain_powers(axes.yaxis)
                elif figure.y_from_zero:
                    axes.set_ylim(bottom=0)
            for panels in grid:
                panels[0].set_ylabel(fill(self._y_label(), _HEIGHT_LENGTH))
            for axes in grid[-1]:
                axes.set_xlabel(figure.x_label or figure.x.replace("_", " "))
            if figure.title:
                canvas.suptitle(figure.title, x=0.01, ha="left", fontsize=10.5, weight="bold")
            self._legend(canvas)
            return canvas

    def _has_flat_lines(self) -> bool:
        """Whether saturated points, which grow with the run, would set the scale for the others."""
        if self._figure.kind != "line":
            return False
        found: dict[bool, list[float]] = {True: [], False: []}
        for cell in self._cells:
            found[self._is_saturated(cell)].append(cell.figure(self._figure.statistic))
        all_ = [*found[True], *found[False]]
        if not found[True] or not found[False] or min(all_) <= 0:
            return False
        return max(found[True]) > _DECADE * max(found[False])

    def _y_label(self) -> str:
        figure = self._figure
        if figure.y_label:
            return figure.y_label
        measure = next(m for m in self._study.measure if m.column_name == figure.y)
        return f"{measure.what} (relative)" if figure.relative_to else measure.label

    def _legend(self, canvas: Any) -> None:
        is_line = self._figure.kind == "line"
        handles = [
            Line2D(
                [],
                [],
                color=colour,
                marker=self._markers[value] if is_line else "s",
                linestyle="-" if is_line else "none",
                label=value_text(value),
            )
            for value, colour in self._colours.items()
            if self._figure.series is not None
        ]
        if any(self._is_saturated(cell) for cell in self._cells):
            look: dict[str, Any] = (
                {"marker": "o", "linestyle": ":"} if is_line else {"marker": "s", "linestyle": ""}
            )
            label = "saturated"
            handles.append(Line2D([], [], color=MUTED, alpha=_PALE, label=label, **look))
        if self._voids:
            label = "no value"
            handles.append(Line2D([], [], color=MUTED, linestyle="none", marker="x", label=label))
        if not handles:
            return
        canvas.legend(
            handles=handles,
            loc="outside lower center",
            ncols=min(len(handles), 6, max(1, int(canvas.get_figwidth() / 1.1))),
            title=(self._figure.series or "").replace("_", " "),
        )

    def _panel(self, axes: Axes, column: Any, row: Any) -> None:
        figure = self._figure
        facets = dict(zip(figure.facets, (column, row), strict=False))
        here = [c for c in self._cells if all(c.axes[k] == v for k, v in facets.items())]
        names = [f"{k.replace('_', ' ')}: {value_text(v)}" for k, v in facets.items()]
        title = ", ".join(names)
        axes.set_title(title if len(title) <= _TITLE_LENGTH else "\n".join(names), fontsize=9)
        voids = [c for c in self._voids if all(c.axes[k] == v for k, v in facets.items())]
        shown = [*here, *voids] if not figure.share_y else [*self._cells, *self._voids]
        places = self._places(shown)
        for number, value in enumerate(self._colours):
            chosen = {
                cell.axes[figure.x]: cell
                for cell in here
                if figure.series is None or cell.axes[figure.series] == value
            }
            missing = [
                places[cell.axes[figure.x]]
                for cell in voids
                if figure.series is None or cell.axes[figure.series] == value
            ]
            if chosen:
                if figure.kind == "line":
                    self._line(axes, chosen, places, value, missing)
                elif figure.kind == "bar":
                    self._bars(axes, chosen, places, value, number)
                else:
                    self._boxes(axes, chosen, places, value, number)
            shift = 0.0 if figure.kind == "line" else self._shift(number)[0]
            # An empty line counts as one at the page's corner when panels are laid out.
            if missing:
                axes.plot(
                    np.array(missing) + shift,
                    [0.02] * len(missing),
                    transform=axes.get_xaxis_transform(),
                    color=self._colours[value],
                    marker="x",
                    markersize=5,
                    linestyle="none",
                    clip_on=False,
                )
        if figure.kind != "line" or not _numeric(places):
            texts = [value_text(x) for x in places]
            axes.set_xticks(range(len(places)), texts)
            if sum(map(len, texts)) > _WIDEST:
                axes.tick_params(axis="x", rotation=35)
                for label in axes.get_xticklabels():
                    label.set(ha="right", rotation_mode="anchor")
            axes.grid(visible=False, axis="x")
        if figure.log_x and figure.kind == "line" and _numeric(places):
            axes.set_xscale("log")
            plain_powers(axes.xaxis)
        if (
            figure.kind == "line"
            and _numeric(places)
            and self._has_tick_each(list(places.values()))
        ):
            axes.set_xticks(list(places.values()), [value_text(x) for x in places])

    def _has_tick_each(self, places: Sequence[float]) -> bool:
        """Whether there is room for a tick at every value of x."""
        log = self._figure.log_x
        if not 1 < len(places) <= _MOST_TICKS or (log and min(places) <= 0):
            return False
        at = np.sort(np.log(places) if log else np.array(places))
        wide = sum(len(value_text(place)) for place in places) > _WIDEST
        return not wide and bool(np.diff(at).min() >= _LEAST_GAP * (at[-1] - at[0]))

    def _places(self, here: Sequence[Cell]) -> dict[Any, float]:
        """Where each value of x is drawn: at itself if all are numbers on a line."""
        there = {cell.axes[self._figure.x] for cell in here}
        order = [x for x in self._order[self._figure.x] if x in there]
        numbers = all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in order)
        if numbers and self._figure.kind == "line":
            return {x: float(x) for x in order}
        return {x: float(place) for place, x in enumerate(order)}

    def _estimates(self, chosen: Mapping[Any, Cell], places: Mapping[Any, float]) -> Any:
        """Places, figures and the lengths of their error bars, in the order of x."""
        order = sorted(chosen, key=lambda x: places[x])
        found = [self._estimate(chosen[x]) for x in order]
        bars = [
            (0.0, 0.0) if math.isnan(e.low) else (max(e.value - e.low, 0), max(e.high - e.value, 0))
            for e in found
        ]
        return [places[x] for x in order], [e.value for e in found], np.array(bars).T

    def _estimate(self, cell: Cell) -> Estimated:
        if self._figure.statistic == "mean":
            return cell.estimate("mean")
        return Estimated(cell.figure(self._figure.statistic))

    def _line(
        self,
        axes: Axes,
        chosen: Mapping[Any, Cell],
        places: Mapping[Any, float],
        value: Any,
        missing: Sequence[float],
    ) -> None:
        """Draws a line that ends where there is no value, and pales where there is no end.

        Args:
            axes: Where.
            chosen: Cells by x.
            places: Of every x.
            value: Of the series.
            missing: Places without a value.
        """
        x, y, bars = self._estimates(chosen, places)
        cells = {places[key]: cell for key, cell in chosen.items()}
        pale = np.array([self._is_saturated(cells[place]) for place in x])
        colour = self._colours[value]
        # Markers of later lines lie above.
        above = max(min(len(self._colours), 4) - 1 - list(self._colours).index(value), 0)
        for part, alpha in ((~pale, 1.0), (pale, _PALE)):
            if not part.any():
                continue
            axes.errorbar(
                np.array(x)[part],
                np.array(y)[part],
                yerr=bars[:, part] if bars[:, part].any() else None,
                color=colour,
                marker=self._markers[value],
                markersize=_MARKER_SIZE + _LARGER * above,
                markerfacecolor="white",
                linestyle="none",
                elinewidth=1.2,
                capsize=2,
                alpha=alpha,
            )
        for left, right in zip(range(len(x) - 1), range(1, len(x)), strict=True):
            if any(x[left] < place < x[right] for place in missing):
                continue
            beyond = pale[left] or pale[right]
            axes.plot(
                [x[left], x[right]],
                [y[left], y[right]],
                color=colour,
                linewidth=1.2,
                linestyle=":" if beyond else "-",
                alpha=_PALE if beyond else 1.0,
                zorder=1.9,
            )

    def _shift(self, number: int) -> tuple[float, float]:
        """Offset and width of what is drawn side by side."""
        width = 0.8 / len(self._colours)
        return (number - (len(self._colours) - 1) / 2) * width, width

    def _bars(
        self,
        axes: Axes,
        chosen: Mapping[Any, Cell],
        places: Mapping[Any, float],
        value: Any,
        number: int,
    ) -> None:
        shift, width = self._shift(number)
        x, y, bars = self._estimates(chosen, places)
        drawn = axes.bar(
            np.array(x) + shift,
            y,
            width * 0.92,
            yerr=bars if bars.any() else None,
            color=self._colours[value],
            error_kw={"linewidth": 0.9, "capsize": 2},
        )
        for bar, key in zip(drawn, sorted(chosen, key=lambda key: places[key]), strict=True):
            if self._is_saturated(chosen[key]):
                bar.set_alpha(_PALE)

    def _boxes(
        self,
        axes: Axes,
        chosen: Mapping[Any, Cell],
        places: Mapping[Any, float],
        value: Any,
        number: int,
    ) -> None:
        shift, width = self._shift(number)
        colour = self._colours[value]
        positions = [places[x] + shift for x in chosen]
        for key in chosen:
            if self._is_saturated(chosen[key]):
                # A band behind the box: its lines keep the colour of the series.
                low, high = places[key] + shift - width / 2, places[key] + shift + width / 2
                axes.axvspan(low, high, color=colour, alpha=0.12, linewidth=0)
        look: dict[str, Any] = {
            "positions": positions,
            "widths": width * 0.75,
            "manage_ticks": False,
            "boxprops": {"color": colour},
            "whiskerprops": {"color": colour},
            "capprops": {"color": colour},
            "medianprops": {"color": colour, "linewidth": 1.6},
        }
        if self._figure.quantiles is None:
            found = [list(cell.values.values()) for cell in chosen.values()]
            axes.boxplot(found, whis=(0, 100), **look)
            return
        keys = ("whislo", "q1", "med", "q3", "whishi")
        boxes = [
            dict(zip(keys, self._quantiles[tuple(cell.axes.values())], strict=True))
            for cell in chosen.values()
        ]
        axes.bxp(boxes, showfliers=False, **look)
        means = [cell.figure(self._figure.statistic) for cell in chosen.values()]
        axes.plot(
            positions,
            means,
            color=colour,
            marker="o",
            markersize=3.5,
            markerfacecolor="white",
            linestyle="none",
        )


def _numeric(places: Mapping[Any, float]) -> bool:
    return all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in places)
