"""The network itself: routers and nodes where the layout places them, links between them."""

from __future__ import annotations

from dataclasses import replace
from textwrap import fill
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.colors import Normalize, to_rgb
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D
from matplotlib.patches import Wedge

from odonata.network.damage import Damage
from odonata.plots.layout import Layout, lay_out
from odonata.plots.style import CLASS_COLOURS, FAINT, MORE_IS_DARKER, MUTED, job_colour
from odonata.plots.wiring import GLOBAL, LOCAL, Floats, Ints, Wiring

#: Above this many links between groups, one curve stands for all links of a pair of groups.
MOST_CURVES = 800
#: Above this many links within groups they are left out.
MOST_LOCAL_LINES = 6_000
#: Where networks have no groups, this many links are drawn: the most loaded ones.
MOST_LINES = 20_000
#: Above this many nodes they are left out; routers show what their nodes do.
MOST_NODES = 3_000
#: Nodes smaller than this (radius in points) cannot be seen and are left out as well.
SMALLEST_NODE = 0.5
#: Where routers have less room than this (radius in points), a disc stands for their group.
SMALLEST_ROUTER = 1.0
#: Lines that would cover more than this share of their place are paler, some of them excepted.
COVERED = 0.6
#: What pale ones cover, as if they were white to the rest.
PALE = 0.3

#: Colours of routers, and of those that are spines or above the lowest level.
ROUTER, SPINE = "#444444", "#CC79A7"

#: Dashes of links that are dark, dots of those that are slower, and the colour of both.
_DARK, _SLOWER, _BROKEN = (0, (3, 1.5)), (0, (0.8, 1.6)), "#000000"
#: Dashes and dots of links that are dark for a part of the run.
_LATER = (0, (5, 1.5, 0.8, 1.5))

#: One of this many groups has its number, if not each has.
_ROUND = (1, *(base * 10**power for power in range(6) for base in (2, 5, 10)))

#: Characters of a line of the title, which has room for some more.
_TITLE_WIDTH = 64

#: Length of the picture's longer side in points, about.
_SIDE = 380.0


def draw_topology(
    figure: Figure | SubFigure,
    wiring: Wiring,
    title: str,
    job_names: list[str] | None = None,
    damage: Damage | None = None,
) -> None:
    """Draws a network.

    Args:
        figure: An empty figure.
        wiring: What to draw.
        title: In one line, which is broken if it is long.
        job_names: Names of the jobs of ``wiring.job_of_node``.
        damage: What of it does not work, if anything; ``wiring`` is of the whole.
    """
    layout = lay_out(wiring)
    whole = wiring
    if damage is not None:
        wiring = _left(wiring, damage)
    axes = figure.add_subplot()
    axes.set_aspect("equal")
    axes.set_axis_off()
    # Of the figure: beside a scale of colours that of axes with an aspect may be cut off.
    figure.suptitle(
        fill(title, _TITLE_WIDTH),
        x=0.02,
        ha="left",
        fontsize=rcParams["axes.titlesize"],
        fontweight=rcParams["axes.titleweight"],
    )
    shades = None
    if wiring.load is not None:
        shades = ScalarMappable(
            Normalize(0, max(float(wiring.load.max(initial=0.0)), 0.01) * 100), MORE_IS_DARKER
        )
    low, high = _frame(layout)
    scale = _SIDE / float((high - low).max())
    by_group = layout.has_groups and scale * layout.router_radius < SMALLEST_ROUTER
    if layout.has_groups:
        if not by_group:
            _local_links(axes, wiring, layout, shades)
        remarks = _global_links(axes, wiring, layout, shades, scale)
        _group_numbers(axes, layout)
    else:
        remarks = _lines(axes, wiring, layout, shades, scale)
    if layout.kind == "levels":
        low = low - [_level_names(axes, wiring, layout, float(low[0])), 0.0]
    if by_group:
        _groups(axes, wiring, layout)
        shows_nodes = False
    else:
        shows_nodes = _routers_and_nodes(axes, wiring, layout, scale)
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    if shades is not None:
        bar = figure.colorbar(shades, ax=axes, shrink=0.6, pad=0.01)
        bar.outline.set_visible(False)
        bar.set_label("utilisation of the busier direction (%)")
    handles = _legend(wiring, layout, job_names, by_group)
    if damage is not None:
        handles += _damage(axes, whole, layout, damage, by_group, shows_nodes)
    remarks += _remarks(wiring, layout, shows_nodes, by_group)
    handles += [Line2D([], [], linestyle="", label=remark) for remark in remarks]
    # Below the network, never over it.
    columns = _columns([str(handle.get_label()) for handle in handles], figure.bbox.width)
    figure.legend(handles=handles, loc="outside lower left", handlelength=1.6, ncols=columns)
    if isinstance(figure, Figure):
        # No higher than what is in it.
        shape = float((high - low)[1] / (high - low)[0])
        width = figure.get_figwidth()
        rows = -(-len(handles) // columns)
        headed = 0.4 + 0.22 * (1 + fill(title, _TITLE_WIDTH).count("\n"))
        figure.set_figheight(min(0.86 * width * shape + headed + 0.19 * rows, width + 1))


def _columns(labels: list[str], width: float) -> int:
    """Columns of the legend: two where there is much to say, and room for it beside each other."""
    half = -(-len(labels) // 2)
    letters = sum(max(map(len, part), default=0) for part in (labels[:half], labels[half:]))
    # A letter takes 0.06 inches, what stands before each column 0.55.
    return 2 if len(labels) > 3 and (0.06 * letters + 1.1) * rcParams["figure.dpi"] <= width else 1


def _left(wiring: Wiring, damage: Damage) -> Wiring:
    """The pairs of routers between which a link is left."""
    gone = {pair for pair, (lost, all_) in damage.lost.dark.items() if lost == all_}
    left = np.array([tuple(pair) not in gone for pair in wiring.ends.tolist()], dtype=bool)
    inside = None if wiring.is_inside is None else wiring.is_inside[left]
    return replace(wiring, ends=wiring.ends[left], kind=wiring.kind[left], is_inside=inside)


def _damage(
    axes: Axes, whole: Wiring, layout: Layout, damage: Damage, by_group: bool, shows_nodes: bool
) -> list[Line2D]:
    """Draws what does not work above the rest; returns its entries of the legend."""
    handles = []
    kinds = dict(zip(map(tuple, whole.ends.tolist()), whole.kind.tolist(), strict=True))
    for pairs, dashes, label in (
        (list(damage.lost.dark), _DARK, "link out of service"),
        (list(damage.later.dark), _LATER, "link that fails during the run"),
        (list(damage.slower), _SLOWER, "link that is slower"),
    ):
        paths: list[Floats] = []
        for between in (False, True):
            ends = np.array(
                [p for p in pairs if (kinds[p] == GLOBAL) == between], dtype=np.int64
            ).reshape(-1, 2)
            if not len(ends):
                continue
            if not layout.has_groups:
                paths += layout.paths(ends)[0]
            elif between:
                paths += list(_curves(*_ends(whole, layout, ends, by_group)))
            elif not by_group:
                paths += list(layout.router[ends])
        if paths:
            width = float(np.clip(26.0 / np.sqrt(len(paths) + 1), 0.5, 1.3))
            lines = LineCollection(
                paths, colors=_BROKEN, linewidths=width, linestyles=[dashes], zorder=3.5
            )
            axes.add_collection(lines)
            handles.append(Line2D([], [], color=_BROKEN, linestyle=dashes, label=label))
    for lost, marker, what in (
        (damage.lost, "x", "out of service"),
        (damage.later, "+", "that fails during the run"),
    ):
        places = [] if by_group else [layout.router[list(lost.routers)]]
        sorts = ["router"]
        if shows_nodes:
            places.append(layout.node[list(lost.nodes)])
            sorts = [name for name, of in (("router", lost.routers), ("node", lost.nodes)) if of]
        if lost.uplinks and not by_group:
            # Circuits lead elsewhere: what fails is at the router.
            routers = sorted({router for router, _ in lost.uplinks} - {*lost.routers})
            places.append(layout.router[routers])
            sorts = [name for name in sorts if name != "router" or lost.routers]
            sorts.append("uplink of the router")
        label = f"{' or '.join(sorts)} {what}"
        at = np.concatenate([np.zeros((0, 2)), *places])
        if len(at):
            size = float(np.clip(900.0 / len(layout.router), 6.0, 36.0))
            # The cross stands on white, as routers are dark.
            axes.scatter(at[:, 0], at[:, 1], s=2 * size, c="white", linewidths=0, zorder=5)
            look: dict[str, Any] = {"c": _BROKEN, "marker": marker, "linewidths": 1.2, "zorder": 6}
            axes.scatter(at[:, 0], at[:, 1], s=size, **look)
            cross: dict[str, Any] = {
                "marker": marker,
                "color": _BROKEN,
                "markersize": 5,
                "label": label,
            }
            handles.append(Line2D([], [], linestyle="", **cross))
    return handles


def _ends(wiring: Wiring, layout: Layout, ends: Ints, by_group: bool) -> tuple[Floats, Floats]:
    """Where links between groups begin and end: at routers, or at the middle of groups' discs."""
    if by_group:
        groups = wiring.group_of_router[ends]
        return layout.group[groups[:, 0]], layout.group[groups[:, 1]]
    return layout.router[ends[:, 0]], layout.router[ends[:, 1]]


def _frame(layout: Layout) -> tuple[Floats, Floats]:
    """The lower left and the upper right corner of the picture."""
    if layout.kind == "groups":
        extent = 1.3 if len(layout.group) == 1 else 1 + max(1.6 * layout.group_radius, 0.1)
        return np.array([-extent, -extent]), np.array([extent, extent])
    things = np.concatenate([layout.router, layout.node])
    low, high = things.min(axis=0), things.max(axis=0)
    margin = 0.03 * float((high - low).max()) + layout.router_radius
    if layout.wraps:
        margin += 0.42 * layout.cell
    return low - margin, high + margin


def _group_numbers(axes: Axes, layout: Layout) -> None:
    step = next(step for step in _ROUND if len(layout.group) <= 64 * step)
    for group, centre in list(enumerate(layout.group))[::step]:
        at = centre * (1 + max(1.3 * layout.group_radius, 0.85 * layout.group_radius + 0.045))
        axes.text(at[0], at[1], str(group), ha="center", va="center", fontsize=7.5, color=MUTED)


def _level_names(axes: Axes, wiring: Wiring, layout: Layout, left: float) -> float:
    """Writes beside each row what stands there and how many; returns the room that takes."""
    rows = layout.router[:, 1].round(6)
    lowest = rows[wiring.router_of_node[0]]
    levels = np.unique(rows)
    for height in levels:
        count = int((rows == height).sum())
        level = int((levels > lowest)[: np.searchsorted(levels, height) + 1].sum())
        if height < lowest:
            name = "switches in nodes"
        elif height == lowest:
            name = "leaves" if wiring.is_inside is None else "ranks"
        elif wiring.is_inside is None:
            name = f"level {level}"
        else:
            name = "leaves" if level == 1 else f"level {level - 1}"
        axes.text(
            left, height, f"{name}\n{count:,}", ha="right", va="center", fontsize=7.5, color=MUTED
        )
    return 0.36 if wiring.is_node_switch is not None else 0.22


def _colours(wiring: Wiring, chosen: npt.NDArray[np.bool_], shades: ScalarMappable | None) -> Any:
    if shades is None or wiring.load is None:
        name = "local" if (wiring.kind[chosen] == LOCAL).all() else "global"
        return CLASS_COLOURS[name]
    return shades.to_rgba(100 * wiring.load[chosen])


def _shows_local_links(wiring: Wiring) -> bool:
    return 0 < int((wiring.kind == LOCAL).sum()) <= MOST_LOCAL_LINES


def _line_width(wiring: Wiring, lines: int, few: int, thin: float) -> float:
    """Thinner where there are more lines than a few; rows of leaves and spines stand close."""
    if lines < few:
        return 0.9
    return thin if wiring.is_spine is None or lines < 1_500 else 0.15


def _lines(
    axes: Axes, wiring: Wiring, layout: Layout, shades: ScalarMappable | None, scale: float
) -> list[str]:
    """Draws the links of a network without groups, each by itself; returns what has to be said."""
    links = _drawn_links(wiring)
    paths, link = layout.paths(wiring.ends[links])
    link = links[link]
    # Ever thinner, or there would be nothing but ink.
    width = float(np.clip(26.0 / np.sqrt(len(links) + 1), 0.12, 1.3))
    if any(one.kind == "complete" and one.size > 4 for one in layout.dimensions):
        # Arcs over each other would fill their rows.
        width *= 0.4
    names = np.array([CLASS_COLOURS["local"], CLASS_COLOURS["global"]])
    chosen = _first_routers(layout) if layout.kind in ("levels", "free") else np.zeros(0, np.int64)
    first: npt.NDArray[np.bool_] = np.isin(wiring.ends[link], chosen).max(axis=1, initial=False)
    return _draw(
        axes,
        paths,
        np.full(len(paths), width),
        colours=names[np.where(wiring.kind[link] == GLOBAL, 1, 0)],
        load=None if wiring.load is None else wiring.load[link],
        shades=shades,
        first=first,
        whose="of one router" + (" of each level" if layout.kind == "levels" else ""),
        scale=scale,
    )


def _first_routers(layout: Layout) -> Ints:
    """The leftmost router of each level, or the first router where there are no levels."""
    if layout.kind != "levels":
        return np.zeros(1, dtype=np.int64)
    order = np.lexsort((layout.router[:, 0], layout.router[:, 1].round(6)))
    rows = layout.router[order, 1].round(6)
    first: Ints = order[np.concatenate([[True], rows[1:] != rows[:-1]])]
    return first


def _draw(
    axes: Axes,
    paths: list[Floats],
    widths: Floats,
    *,
    colours: npt.NDArray[np.str_],
    load: Floats | None,
    shades: ScalarMappable | None,
    first: npt.NDArray[np.bool_],
    whose: str,
    scale: float,
    zorder: float = 1.0,
) -> list[str]:
    """Draws lines so that they can be told apart however many there are.

    Where they would cover more than :data:`COVERED` of their place, all are pale but those of some
    routers or groups, or the most loaded ones.

    Args:
        axes: Where.
        paths: Points of each line. Ascending by load, if anything ran.
        widths: Of each line, in points.
        colours: Of each line, if nothing ran.
        load: Of each line, if something ran.
        shades: What the load is shown by.
        first: Which lines stand for all, if nothing ran.
        whose: Whose these are.
        scale: Points of the picture by unit of the layout.
        zorder: What lines are drawn above.

    Returns:
        What has to be said of it.
    """
    if not paths:
        return []
    lengths = np.array([np.hypot(*np.diff(path, axis=0).T).sum() for path in paths])
    points = np.concatenate(paths)
    place = float(np.prod(np.maximum(np.ptp(points, axis=0), 0.2)))
    covered = lengths * widths / scale / place

    def add(chosen: npt.NDArray[np.bool_], colour: Any, alpha: float, above: float) -> None:
        drawn = [path for path, is_one in zip(paths, chosen, strict=True) if is_one]
        # What stands for all is wider, too.
        wide = widths[chosen] * (1.6 if above and load is None else 1.0)
        lines = LineCollection(
            drawn, colors=colour, linewidths=wide, alpha=alpha, zorder=zorder + above
        )
        axes.add_collection(lines)

    if covered.sum() <= COVERED:
        everyone = np.ones(len(paths), dtype=np.bool_)
        add(everyone, colours if load is None or shades is None else _shade(shades, load), 0.85, 0)
        return []
    if load is None or shades is None:
        add(~first, colours[~first], _opacity(covered[~first]), 0)
        add(first, colours[first], 1.0, 0.5)
        return [f"the links {whose} are darker"] if first.any() else []
    # The most loaded ones, which come last, as many as there is room for.
    above = np.cumsum(covered[::-1])[::-1] <= COVERED
    rest = ~above
    add(rest, FAINT, _opacity(covered[rest]), 0)
    add(above, _shade(shades, load[above]), 1.0, 0.5)
    return ["less loaded links are grey"]


def _opacity(covered: Floats) -> float:
    """The opacity of lines that cover so much of their place each."""
    return float(np.clip(PALE / max(float(covered.sum()), 0.01), 0.03, 0.85))


def _shade(shades: ScalarMappable, load: Floats) -> Any:
    return shades.to_rgba(100 * load)


def _drawn_links(wiring: Wiring) -> Ints:
    """Which links are drawn where there are too many.

    The most loaded ones, which come last, or some of all parts where nothing ran.
    """
    count = len(wiring.ends)
    if count <= MOST_LINES:
        return np.arange(count)
    if wiring.load is not None:
        return np.arange(count - MOST_LINES, count)
    return np.linspace(0, count - 1, MOST_LINES).astype(np.int64)


def _local_links(axes: Axes, wiring: Wiring, layout: Layout, shades: ScalarMappable | None) -> None:
    chosen = wiring.kind == LOCAL
    if not _shows_local_links(wiring):
        return
    width = _line_width(wiring, int(chosen.sum()), few=400, thin=0.45)
    lines = LineCollection(
        list(layout.router[wiring.ends[chosen]]),
        colors=_colours(wiring, chosen, shades),
        linewidths=width,
        zorder=1,
    )
    axes.add_collection(lines)


def _global_links(
    axes: Axes, wiring: Wiring, layout: Layout, shades: ScalarMappable | None, scale: float
) -> list[str]:
    """Draws the links between groups; returns what has to be said."""
    chosen = wiring.kind == GLOBAL
    if not chosen.any():
        return []
    load = None if wiring.load is None else wiring.load[chosen]
    groups = wiring.group_of_router[wiring.ends[chosen]]
    if chosen.sum() <= MOST_CURVES:
        start, end = layout.router[wiring.ends[chosen, 0]], layout.router[wiring.ends[chosen, 1]]
        widths = np.full(len(start), _line_width(wiring, len(start), few=150, thin=0.5))
    else:
        ends = np.sort(groups, axis=1)
        pair, of_pair, count = np.unique(
            ends[:, 0] * len(layout.group) + ends[:, 1], return_inverse=True, return_counts=True
        )
        groups = np.stack([pair // len(layout.group), pair % len(layout.group)], axis=1)
        if load is not None:
            load = np.bincount(of_pair.reshape(-1), load) / count
            order = np.argsort(load, kind="stable")
            load, groups, count = load[order], groups[order], count[order]
        start, end = layout.group[groups[:, 0]], layout.group[groups[:, 1]]
        # Curves end at the rim of the groups' discs.
        gap = end - start
        reach = 0.85 * layout.group_radius / np.linalg.norm(gap, axis=1, keepdims=True)
        start, end = start + reach * gap, end - reach * gap
        # Thicker where more links are joined, and thinner where there are more pairs.
        thickest = float(np.clip(20.0 / np.sqrt(len(pair)), 0.4, 2.0))
        widths = np.clip(thickest * count / count.max(), 0.25, thickest)
    return _draw(
        axes,
        list(_curves(start, end)),
        widths,
        colours=np.full(len(start), CLASS_COLOURS["global"]),
        load=load,
        shades=shades,
        first=(groups == 0).any(axis=1),
        whose="of group 0",
        scale=scale,
        zorder=2.0,
    )


def _groups(axes: Axes, wiring: Wiring, layout: Layout) -> None:
    """Draws a disc for each group, of which each job has the share of the nodes that it has."""
    group = wiring.group_of_router[wiring.router_of_node]
    jobs = np.full(len(group), -1) if wiring.job_of_node is None else wiring.job_of_node
    kinds = int(jobs.max(initial=-1)) + 2
    tally = np.zeros((len(layout.group), kinds))
    np.add.at(tally, (group, jobs + 1), 1)
    ends = 360.0 * np.cumsum(tally, axis=1) / np.maximum(tally.sum(axis=1), 1)[:, None]
    colours = [FAINT, *(job_colour(job) for job in range(kinds - 1))]
    if wiring.job_of_node is None:
        colours[0] = ROUTER
    parts, faces = [], []
    for number, centre in enumerate(layout.group):
        for kind in np.flatnonzero(tally[number]):
            # Clockwise from the top.
            first = 90.0 - ends[number, kind]
            last = 90.0 - (ends[number, kind - 1] if kind else 0.0)
            parts.append(Wedge((centre[0], centre[1]), 0.85 * layout.group_radius, first, last))
            faces.append(colours[kind])
    axes.add_collection(PatchCollection(parts, facecolors=faces, linewidths=0, zorder=4))


def _curves(start: Floats, end: Floats) -> Floats:
    """Quadratic Bézier curves bent towards the middle of the circle. Shape: curves × 24 × 2."""
    middle = 0.30 * (start + end) / 2
    t = np.linspace(0, 1, 24)[None, :, None]
    curve: Floats = (
        (1 - t) ** 2 * start[:, None] + 2 * t * (1 - t) * middle[:, None] + t**2 * end[:, None]
    )
    return curve


def _routers_and_nodes(axes: Axes, wiring: Wiring, layout: Layout, scale: float) -> bool:
    """Draws them; returns whether nodes are drawn.

    Args:
        axes: Where.
        wiring: What.
        layout: Where exactly.
        scale: Points of the picture by unit of the layout.
    """
    # Marker areas are in points²; those of a group's ring stand apart.
    least = 4.0 if layout.has_groups else 2.0
    area = float(np.clip((scale * layout.router_radius) ** 2 * 0.9, least, 170.0))
    edge = 0.3 if area > 8 else 0.0
    jobs = wiring.job_of_node
    if _shows_nodes(layout, scale):
        node_area = float(np.clip((2 * scale * layout.node_radius) ** 2, 0.8, 40.0))
        colours = [
            FAINT if jobs is None or job < 0 else job_colour(int(job))
            for job in (jobs if jobs is not None else np.full(len(layout.node), -1))
        ]
        axes.scatter(
            layout.node[:, 0],
            layout.node[:, 1],
            s=node_area,
            c=colours,
            linewidths=0.25,
            edgecolors="#777777" if jobs is None else "white",
            zorder=3,
        )
        axes.scatter(
            layout.router[:, 0],
            layout.router[:, 1],
            s=area * 0.62,
            c=_plain_colours(wiring, layout),
            linewidths=0.5,
            edgecolors="white",
            zorder=4,
        )
        return True
    colours = _plain_colours(wiring, layout) if jobs is None else _router_colours(wiring, jobs)
    axes.scatter(
        layout.router[:, 0],
        layout.router[:, 1],
        s=area,
        c=colours,
        linewidths=edge,
        edgecolors="white",
        zorder=4,
    )
    return False


def _shows_nodes(layout: Layout, scale: float) -> bool:
    return len(layout.node) <= MOST_NODES and scale * layout.node_radius >= SMALLEST_NODE


def _plain_colours(wiring: Wiring, layout: Layout) -> list[str]:
    """The colours of routers where nothing is known of their nodes."""
    spine = _above(wiring, layout)
    if spine is None:
        return [ROUTER] * len(wiring.group_of_router)
    return [SPINE if is_spine else ROUTER for is_spine in spine]


def _above(wiring: Wiring, layout: Layout) -> npt.NDArray[np.bool_] | None:
    """Whether each router is a spine or above the lowest level, if there is such a thing."""
    if layout.kind == "levels":
        nodes = np.bincount(wiring.router_of_node, minlength=len(wiring.group_of_router))
        above: npt.NDArray[np.bool_] = nodes == 0
        return above
    return wiring.is_spine


def _router_colours(wiring: Wiring, jobs: Ints) -> Any:
    """The colour of the job with most nodes at each router, fainter the more of them idle."""
    routers, kinds = len(wiring.group_of_router), max(int(jobs.max()) + 1, 1)
    tally = np.zeros((routers, kinds))
    runs = jobs >= 0
    np.add.at(tally, (wiring.router_of_node[runs], jobs[runs]), 1)
    nodes = np.maximum(np.bincount(wiring.router_of_node, minlength=routers), 1)
    share = tally.sum(axis=1) / nodes
    strength = np.where(share > 0, 0.4 + 0.6 * share, 0.0)[:, None]
    full = np.array([to_rgb(job_colour(job)) for job in range(kinds)])[tally.argmax(axis=1)]
    return strength * full + (1 - strength) * np.array(to_rgb(FAINT))


def _legend(
    wiring: Wiring, layout: Layout, job_names: list[str] | None, by_group: bool
) -> list[Line2D]:
    def dot(colour: str, label: str) -> Line2D:
        return Line2D([], [], linestyle="", marker="o", markersize=5, color=colour, label=label)

    if job_names is None:
        if by_group:
            handles = [dot(ROUTER, "group")]
        elif _above(wiring, layout) is None:
            handles = [dot(ROUTER, "router")]
        elif layout.kind == "levels":
            handles = [dot(ROUTER, "router with nodes"), dot(SPINE, "router without")]
        else:
            handles = [dot(ROUTER, "leaf router"), dot(SPINE, "spine router")]
        drawn = {
            "local": _shows_local_links(wiring) and not by_group
            if layout.has_groups
            else (wiring.kind == LOCAL).any(),
            "global": (wiring.kind == GLOBAL).any(),
        }
        for name in (name for name, shown in drawn.items() if shown):
            called = ", ".join(wiring.classes.get(GLOBAL if name == "global" else LOCAL, ()))
            label = f"{name} link" + (f" ({called})" if called not in ("", name) else "")
            handles.append(Line2D([], [], color=CLASS_COLOURS[name], label=label))
        return handles
    handles = [dot(job_colour(job), name) for job, name in enumerate(job_names[:8])]
    if wiring.job_of_node is not None and (wiring.job_of_node < 0).any():
        handles.append(dot(FAINT, "idle"))
    return handles


def _remarks(wiring: Wiring, layout: Layout, shows_nodes: bool, by_group: bool) -> list[str]:
    """What the picture leaves out or draws in a way that has to be said."""
    remarks = []
    if layout.wraps:
        remarks.append("links that end beside a router wrap around")
    if by_group:
        remarks.append(
            f"a disc stands for a group: {len(layout.router):,} routers and {len(layout.node):,} "
            "nodes are not drawn"
        )
    elif not shows_nodes:
        remarks.append(f"{len(layout.node):,} nodes are not drawn")
    if layout.has_groups:
        local, between = int((wiring.kind == LOCAL).sum()), int((wiring.kind == GLOBAL).sum())
        if local and not by_group and not _shows_local_links(wiring):
            remarks.append(f"{local:,} local links are not drawn")
        if between > MOST_CURVES:
            remarks.append("a curve stands for all links of two groups")
    elif len(wiring.ends) > MOST_LINES:
        which = "" if wiring.load is None else "most loaded "
        remarks.append(f"{MOST_LINES:,} {which}of {len(wiring.ends):,} links are drawn")
    return remarks
