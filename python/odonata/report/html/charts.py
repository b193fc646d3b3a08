"""Charts of a report, as Bokeh's figures.

Colours are given for a light page. ``page.js`` turns them where the page is dark: text, lines and
black by their parts in a chart, and the one continuous scale end for end, so that in either scheme
more stands out more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from bokeh.models import (
    BasicTicker,
    BoxAnnotation,
    ColorBar,
    ColumnDataSource,
    FixedTicker,
    HoverTool,
    Legend,
    LegendItem,
    LinearColorMapper,
    LogColorMapper,
    NumeralTickFormatter,
    Plot,
    Range1d,
    Span,
    TapTool,
    Whisker,
)
from bokeh.palettes import Viridis256
from bokeh.plotting import figure

from odonata.plots.style import job_colour

Floats = npt.NDArray[np.floating[Any]]

#: Jobs differ in their dashes too, for print and for eyes that do not tell colours apart.
DASHES = ("solid", "dashed", "dotdash", "dotted", "dashdot")
#: Lines of more points are thinned.
MOST_POINTS = 1_500

_HEIGHT = 340
_TOOLS = "pan,box_zoom,wheel_zoom,reset,save"
#: More is darker.
PALETTE = tuple(reversed(Viridis256))


def new(title: str, x: str, y: str, **options: Any) -> Any:
    """An empty chart as wide as the page's column.

    Args:
        title: What it shows.
        x: Label of the axis to the right, with its unit.
        y: Of the other one.
        options: Of ``bokeh.plotting.figure``.
    """
    settings: dict[str, Any] = {
        "title": title,
        "height": _HEIGHT,
        "sizing_mode": "stretch_width",
        "tools": _TOOLS,
        "toolbar_location": "above",
        "x_axis_label": x,
        "y_axis_label": y,
        "background_fill_color": None,
        "border_fill_color": None,
        "outline_line_color": None,
        "lod_threshold": None,
        **options,
    }
    chart = figure(**settings)
    chart.toolbar.logo = None
    chart.toolbar.active_scroll = None  # the wheel scrolls the page, unless a reader asks
    chart.xgrid.grid_line_color = chart.ygrid.grid_line_color = "#E6E6E6"
    chart.title.text_font_size = "14px"
    for axis in (*chart.xaxis, *chart.yaxis):
        axis.axis_label_text_font_style = "normal"
        axis.minor_tick_line_color = None
        axis.axis_line_color = axis.major_tick_line_color = "#888888"
    return chart


def colour(number: int) -> str:
    """The colour of a job, a result or a schedule by its place."""
    return job_colour(number)


def lines(
    chart: Any,
    curves: Mapping[str, tuple[Floats, Floats]],
    hover: Sequence[tuple[str, str]],
    *,
    steps: bool = False,
    first: int = 0,
) -> None:
    """Draws a line for each name; a click on its name in the legend hides it.

    Args:
        chart: Where.
        curves: Points by name, ascending in x.
        hover: What is shown under the pointer: label and Bokeh's form of a value.
        steps: Whether a value holds until the next.
        first: Place of the first one among the colours.
    """
    items = []
    for place, (name, (x, y)) in enumerate(curves.items(), first):
        x, y = thinned(np.asarray(x, float), np.asarray(y, float))
        source = ColumnDataSource({"x": x, "y": y, "name": [name] * len(x)})
        draw = chart.step if steps else chart.line
        options = {"mode": "after"} if steps else {}
        line = draw(
            "x",
            "y",
            source=source,
            line_color=colour(place),
            line_width=2,
            line_dash=DASHES[place // 7 % len(DASHES)] if len(curves) > 7 else _dash(place),
            **options,
        )
        items.append(LegendItem(label={"value": name}, renderers=[line]))
    chart.add_tools(HoverTool(tooltips=[("", "@name"), *hover], mode="mouse"))
    legend_below(chart, items)


def _dash(place: int) -> str:
    return DASHES[place % len(DASHES)]


#: Points across: of the narrowest chart; of a legend's line; of a letter beside it, on average of
#: the wide ones; around both. Points down: of a row of a legend.
_NARROWEST, _LINE, _LETTER, _AROUND, _ROW = 340, 34, 7, 12, 20


def legend_below(chart: Any, items: list[LegendItem]) -> None:
    """Adds a legend below the chart, in as many columns as the narrowest page has room for.

    What stands beyond the edge would be cut.
    """
    if not items:
        return
    longest = max(len(str(getattr(item.label, "value", item.label))) for item in items)
    columns = min(max(_NARROWEST // (_LINE + _LETTER * longest + _AROUND), 1), 4)
    # Further rows are not to take from the chart.
    chart.height += _ROW * ((len(items) - 1) // columns)
    chart.add_layout(
        Legend(
            items=items,
            orientation="horizontal",
            click_policy="mute" if len(items) > 1 else "none",
            background_fill_alpha=0,
            border_line_color=None,
            ncols=columns,
            label_text_font_size="12px",
            glyph_width=_LINE,
        ),
        "below",
    )


def thinned(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Fewer points of the same line: every this many, and all of the last tenth."""
    if len(x) <= MOST_POINTS:
        return x, y
    tail = MOST_POINTS // 2
    chosen = np.unique(
        np.concatenate(
            [
                np.linspace(0, len(x) - 1, MOST_POINTS - tail).astype(int),
                np.arange(len(x) - tail, len(x)),
            ]
        )
    )
    return x[chosen], y[chosen]


def distributions(
    samples: Mapping[str, tuple[Floats, Floats]], what: str, unit: str
) -> tuple[Any, Any]:
    """The cumulative distribution of samples, and what is beyond, with logarithmic axes.

    Args:
        samples: Values, ascending and above 0, and how many there are of each, by name.
        what: What is distributed, e.g. ``latency``.
        unit: Of the values.

    Returns:
        ECDF and CCDF.
    """
    below: dict[str, tuple[Floats, Floats]] = {}
    beyond: dict[str, tuple[Floats, Floats]] = {}
    for name, (value, count) in samples.items():
        total = float(count.sum())
        until = np.cumsum(count) / total
        below[name] = (value, 100 * until)
        beyond[name] = (value, np.concatenate([[1.0], 1 - until[:-1]]).clip(1 / total))
    label = f"{what} ({unit})"
    ecdf = new("How many are faster (ECDF)", label, "share (%)", x_axis_type="log")
    lines(ecdf, below, [(what, f"@x{{0.000a}} {unit}"), ("at most", "@y{0.00} %")], steps=True)
    ecdf.y_range = Range1d(0, 101)
    ccdf = new(
        "How many are slower (CCDF)",
        label,
        "share that takes as long or longer",
        x_axis_type="log",
        y_axis_type="log",
    )
    lines(ccdf, beyond, [(what, f"@x{{0.000a}} {unit}"), ("share", "@y{0.000000}")])
    for chart in (ecdf, ccdf):
        chart.xaxis.formatter = NumeralTickFormatter(format="0.[000]a")
    return ecdf, ccdf


def matrix(
    title: str,
    values: Floats,
    rows: Sequence[str],
    columns: Sequence[str],
    axes: tuple[str, str],
    legend: str,
    *,
    name: str = "",
    logarithmic: bool = False,
    format: str = "0.[00]",
) -> Any:
    """A heat map; cells without a value stay empty.

    Args:
        title: What it shows.
        values: Shape: rows × columns; NaN where there is none.
        rows: Names of the rows, from above.
        columns: Names of the columns.
        axes: What columns and rows are.
        legend: What the colours are, with the unit.
        name: By which the page's script finds the cells that a reader chooses.
        logarithmic: Whether the colours are.
        format: Of a value under the pointer.
    """
    row, column = np.nonzero(np.isfinite(values))
    shown = values[row, column]
    source = ColumnDataSource(
        {
            "row": row.astype(np.int32),
            "column": column.astype(np.int32),
            "value": shown.astype(np.float32),
        },
        name=name or None,
    )
    high = float(shown.max()) if len(shown) else 1.0
    low = float(shown[shown > 0].min()) if logarithmic and (shown > 0).any() else 0.0
    mapper: Any
    if logarithmic and low > 0 and high > low:
        mapper = LogColorMapper(palette=list(PALETTE), low=low, high=high)
    else:
        mapper = LinearColorMapper(palette=list(PALETTE), low=0.0, high=high or 1.0)
    count = max(len(rows), len(columns))
    size = int(np.clip(150 + 26 * len(rows), 260, 560))
    chart = new(
        title,
        axes[0],
        axes[1],
        height=size,
        sizing_mode="fixed",
        width=int(np.clip(230 + 26 * len(columns), 420, 700)),
        x_range=Range1d(-0.5, len(columns) - 0.5),
        y_range=Range1d(len(rows) - 0.5, -0.5),
    )
    chart.grid.grid_line_color = None
    cells = chart.rect(
        "column",
        "row",
        1,
        1,
        source=source,
        fill_color={"field": "value", "transform": mapper},
        line_color=None,
        dilate=True,
    )
    cells.nonselection_glyph = None
    for axis, names in ((chart.xaxis, columns), (chart.yaxis, rows)):
        step = max(1, -(-len(names) // 24))
        axis.ticker = FixedTicker(ticks=list(range(0, len(names), step)))
        axis.major_label_overrides = {place: names[place] for place in range(0, len(names), step)}
        axis.major_label_text_font_size = "11px" if count <= 40 else "9px"
    if max((len(one) for one in columns), default=0) > 4:
        chart.xaxis.major_label_orientation = 0.8
    chart.add_tools(
        HoverTool(
            tooltips=[(axes[1], "@row"), (axes[0], "@column"), (legend, f"@value{{{format}}}")],
            renderers=[cells],
        )
    )
    if name:
        chart.add_tools(TapTool(renderers=[cells]))
    add_scale(chart, mapper, legend)
    return chart


def add_scale(chart: Plot, mapper: Any, legend: str) -> None:
    """Adds the scale of colours at the right."""
    chart.add_layout(
        ColorBar(
            color_mapper=mapper,
            title=legend,
            title_text_font_style="normal",
            title_text_font_size="11px",
            background_fill_alpha=0,
            ticker=BasicTicker() if isinstance(mapper, LinearColorMapper) else "auto",
            width=14,
        ),
        "right",
    )


def bars(
    title: str,
    rows: Sequence[tuple[str, float, float, int, str]],
    x: str,
    *,
    hover: str = "@text",
) -> Any:
    """A Gantt chart: a row for each name, bars from when to when.

    Args:
        title: What it shows.
        rows: Name, begin, end, place among the colours, and what a reader reads of it.
        x: Label of time, with its unit.
        hover: What is shown under the pointer.
    """
    names = list(dict.fromkeys(row[0] for row in rows))
    chart = new(
        title,
        x,
        "",
        height=int(np.clip(110 + 26 * len(names), 160, 640)),
        y_range=list(reversed(names)),
    )
    source = ColumnDataSource(
        {
            "y": [row[0] for row in rows],
            "left": np.array([row[1] for row in rows], float),
            "right": np.array([row[2] for row in rows], float),
            "colour": [colour(row[3]) for row in rows],
            "text": [row[4] for row in rows],
        }
    )
    chart.hbar(
        "y",
        left="left",
        right="right",
        height=0.7,
        source=source,
        fill_color="colour",
        line_color="#FFFFFF",
    )
    chart.ygrid.grid_line_color = None
    chart.add_tools(HoverTool(tooltips=[("", "@y"), ("", hover)]))
    return chart


def rectangles(
    title: str,
    boxes: Mapping[str, Any],
    x: str,
    y: str,
    hover: Iterable[tuple[str, str]],
    marks: Iterable[tuple[float, float, float, float]] = (),
) -> Any:
    """Rectangles of several colours.

    Args:
        title: What it shows.
        boxes: Columns ``left``, ``right``, ``bottom``, ``top``, ``place`` (among the colours),
            and those that `hover` names.
        x: Label of the axis to the right.
        y: Of the other one.
        hover: What is shown under the pointer.
        marks: Hatched rectangles: left, right, bottom, top.
    """
    chart = new(title, x, y, height=440)
    columns = {key: value for key, value in boxes.items() if key != "place"}
    columns["colour"] = [colour(int(place) % 6) for place in boxes["place"]]
    chart.quad(
        left="left",
        right="right",
        bottom="bottom",
        top="top",
        source=ColumnDataSource(columns),
        fill_color="colour",
        line_color="#FFFFFF",
        line_width=0.4,
    )
    chart.add_tools(HoverTool(tooltips=list(hover)))
    for left, right, bottom, top in marks:
        box = BoxAnnotation(left=left, right=right, bottom=bottom, top=top)
        box.update(fill_alpha=0.1, fill_color="#000000", line_color="#777777", hatch_pattern="/")
        box.update(hatch_alpha=0.4)
        chart.add_layout(box)
    return chart


def intervals(chart: Any, bars: Sequence[tuple[int, float, float, float]]) -> None:
    """Adds intervals to lines.

    Args:
        chart: Where.
        bars: Place of the line among the colours, x, lower and upper end.
    """
    if not bars:
        return
    source = ColumnDataSource(
        {
            "x": np.array([bar[1] for bar in bars], float),
            "low": np.array([bar[2] for bar in bars], float),
            "high": np.array([bar[3] for bar in bars], float),
            "colour": [colour(bar[0]) for bar in bars],
        }
    )
    chart.segment("x", "low", "x", "high", source=source, line_color="colour", line_width=1.5)


def changes(title: str, rows: Sequence[Mapping[str, Any]], x: str, *, unit: str = " %") -> Any:
    """Figures with their intervals, a row each.

    Args:
        title: What it shows.
        rows: ``name``, ``value``, ``low`` and ``high`` (NaN where there is no interval), and
            ``place`` among the colours.
        x: Label of the axis, with its unit.
        unit: What stands after a value under the pointer.
    """
    names = list(dict.fromkeys(row["name"] for row in rows))
    chart = new(
        title,
        x,
        "",
        height=int(np.clip(120 + 24 * len(names), 180, 900)),
        y_range=list(reversed(names)),
    )
    if any(row["value"] < 0 for row in rows):
        chart.add_layout(Span(location=0, dimension="height", line_color="#888888"))
    source = ColumnDataSource(
        {
            "name": [row["name"] for row in rows],
            **{
                key: np.array([row[key] for row in rows], float) for key in ("value", "low", "high")
            },
            "result": [row["result"] for row in rows],
            "colour": [colour(row["place"]) for row in rows],
        }
    )
    chart.add_layout(
        Whisker(
            source=source,
            base="name",
            lower="low",
            upper="high",
            dimension="width",
            line_color="colour",
            line_width=2,
            upper_head=None,
            lower_head=None,
        )
    )
    chart.scatter("value", "name", source=source, size=9, fill_color="colour", line_color="#FFFFFF")
    chart.add_tools(
        HoverTool(
            tooltips=[
                ("", "@result @name"),
                ("value", f"@value{{0.[000]}}{unit}"),
                ("95 % interval", f"@low{{0.[000]}} to @high{{0.[000]}}{unit}"),
            ]
        )
    )
    return chart
