"""The network itself: groups on a circle, routers within them, links between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize, to_rgb
from matplotlib.figure import Figure, SubFigure
from matplotlib.lines import Line2D

from odonata.columns import codes, labels, numbers
from odonata.plots.style import CLASS_COLOURS, FAINT, MUTED, job_colour

if TYPE_CHECKING:
    from odonata.results import Result

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

#: Above so many links between groups, one curve stands for all links of a pair of groups.
MOST_CURVES = 3_000
#: Above so many links within groups they are left out.
MOST_LOCAL_LINES = 6_000
#: Above so many nodes they are left out; routers show what their nodes do.
MOST_NODES = 3_000

LOCAL, GLOBAL = 1, 2

#: Colours of routers, and of those that are spines.
ROUTER, SPINE = "#444444", "#CC79A7"


@dataclass(frozen=True)
class Wiring:
    """What is drawn.

    Attributes:
        group_of_router: Shape: routers.
        cell_of_router: Row and column within the group, or ``None`` where groups have none.
            Shape: routers × 2.
        router_of_node: Shape: nodes.
        ends: Routers of each undirected link between routers. Shape: links × 2.
        kind: 1 local, 2 global. Shape: links.
        load: Utilisation of the busier direction, in 0..=1, or ``None`` if nothing ran.
        job_of_node: −1 for idle nodes, or ``None`` if nothing ran. Shape: nodes.
    """

    group_of_router: Ints
    cell_of_router: Ints | None
    router_of_node: Ints
    ends: Ints
    kind: Ints
    load: Floats | None = None
    job_of_node: Ints | None = None

    @cached_property
    def is_spine(self) -> npt.NDArray[np.bool_] | None:
        """Whether each router is a spine, or ``None`` if groups are not leaves and spines.

        Leaves have nodes and spines have none, every group has both, and a link within a group
        joins one of each. Shape: routers.
        """
        spine = np.bincount(self.router_of_node, minlength=len(self.group_of_router)) == 0
        groups = int(self.group_of_router.max()) + 1
        for part in (spine, ~spine):
            if len(np.unique(self.group_of_router[part])) < groups:
                return None
        local = self.ends[self.kind == LOCAL]
        return spine if (spine[local[:, 0]] != spine[local[:, 1]]).all() else None

    @classmethod
    def of_result(cls, result: Result) -> Wiring:
        """The wiring that a run used, with its link loads and its jobs' nodes."""
        links = result.links
        source, target = numbers(links, "from_router"), numbers(links, "to_router")
        node = numbers(links, "from_node")
        routers = result.routers
        cells = np.stack([numbers(routers, "row"), numbers(routers, "column")], axis=1)
        router_of_node = np.zeros(int(result.meta["nodes"]), dtype=np.int64)
        injects = node >= 0
        router_of_node[node[injects]] = target[injects]

        between = (source >= 0) & (target >= 0)
        known = labels(links, "kind")
        kind = np.where(codes(links, "kind") == known.index("global"), GLOBAL, LOCAL)[between]
        low = np.minimum(source, target)[between].astype(np.int64)
        high = np.maximum(source, target)[between].astype(np.int64)
        ends, first, link = np.unique(
            np.stack([low, high], axis=1), axis=0, return_index=True, return_inverse=True
        )
        load = np.zeros(len(ends))
        np.maximum.at(load, link.reshape(-1), numbers(links, "utilisation")[between])

        job_of_node = np.full(int(result.meta["nodes"]), -1, dtype=np.int64)
        job_of_node[numbers(result.placement, "node")] = numbers(result.placement, "job")
        # The most loaded links are drawn last, above the others.
        order = np.argsort(load, kind="stable")
        return cls(
            numbers(routers, "group").astype(np.int64),
            cells.astype(np.int64) if (cells >= 0).all() else None,
            router_of_node,
            ends[order],
            kind[first][order],
            load[order],
            job_of_node,
        )

    @classmethod
    def of_description(cls, description: Mapping[str, Any]) -> Wiring:
        """The wiring that ``odonata._engine.topology`` describes."""
        ends = np.stack([description["link_a"], description["link_b"]], axis=1).astype(np.int64)
        kind = np.asarray(description["link_kind"], dtype=np.int64)
        ends, first = np.unique(np.sort(ends, axis=1), axis=0, return_index=True)
        cells = None
        if "router_row" in description:
            cells = np.stack([description["router_row"], description["router_column"]], axis=1)
        return cls(
            np.asarray(description["group_of_router"], dtype=np.int64),
            None if cells is None else cells.astype(np.int64),
            np.asarray(description["node_router"], dtype=np.int64),
            ends,
            kind[first],
        )


@dataclass(frozen=True)
class Layout:
    """Where things are drawn, in units of the circle of groups.

    Attributes:
        group: Centres. Shape: groups × 2.
        router: Shape: routers × 2.
        node: Shape: nodes × 2.
        group_radius: Of the ring of a group's routers.
        router_radius: Room of one router.
    """

    group: Floats
    router: Floats
    node: Floats
    group_radius: float
    router_radius: float


def lay_out(wiring: Wiring) -> Layout:
    """Places groups on a circle, clockwise from the top, and nodes outside their routers.

    The routers of a group stand on a ring, on a grid where they have rows and columns, with
    rows counted outwards, or in two rows where they are leaves and spines, the leaves outside.
    """
    groups = int(wiring.group_of_router.max()) + 1
    sizes = np.bincount(wiring.group_of_router, minlength=groups)
    if groups == 1:
        centre, radius = np.zeros((1, 2)), 1.0
    else:
        angle = np.pi / 2 - 2 * np.pi * np.arange(groups) / groups
        centre = np.stack([np.cos(angle), np.sin(angle)], axis=1)
        # Neighbouring groups on the circle must not touch.
        radius = min(0.36, 0.80 * np.sin(np.pi / groups))
    # Within the unit circle, outwards along x and clockwise along −y.
    unit = np.zeros((len(wiring.group_of_router), 2))
    if wiring.cell_of_router is not None:
        # Rows are further apart than columns: there is room outwards.
        rows, columns = wiring.cell_of_router.max(axis=0)
        width = max(float(columns), 1.6 * float(rows), 1.0)
        cells = (2 * wiring.cell_of_router - [rows, columns]) / width
        unit = np.stack([1.6 * cells[:, 0], -cells[:, 1]], axis=1)
        room = min(0.24, 0.9 / width) * radius
    elif wiring.is_spine is not None:
        most = 1
        for group in np.arange(groups):
            for row, part in ((-0.62, wiring.is_spine), (0.62, ~wiring.is_spine)):
                members = np.flatnonzero((wiring.group_of_router == group) & part)
                count = len(members)
                along = np.linspace(1, -1, count) if count > 1 else np.zeros(1)
                unit[members] = np.stack([np.full(count, row), 1.15 * along], axis=1)
                most = max(most, count)
        room = min(0.24, 1.7 / most) * radius
    else:
        for group in np.flatnonzero(sizes > 1):
            members = np.flatnonzero(wiring.group_of_router == group)
            around = -2 * np.pi * np.arange(len(members)) / len(members)
            unit[members] = np.stack([np.cos(around), np.sin(around)], axis=1)
        room = min(0.24, 1.9 / int(sizes.max())) * radius
    turn = np.pi / 2 - 2 * np.pi * wiring.group_of_router / groups
    cosine, sine = np.cos(turn), np.sin(turn)
    turned = np.stack(
        [
            cosine * unit[:, 0] - sine * unit[:, 1],
            sine * unit[:, 0] + cosine * unit[:, 1],
        ],
        axis=1,
    )
    router = centre[wiring.group_of_router] + 0.74 * radius * turned

    node = np.zeros((len(wiring.router_of_node), 2))
    order = np.argsort(wiring.router_of_node, kind="stable")
    per_router = np.bincount(wiring.router_of_node, minlength=len(router))
    starts = np.concatenate([[0], np.cumsum(per_router)[:-1]])
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order)) - starts[wiring.router_of_node[order]]
    owner = wiring.router_of_node
    outward = router[owner] - centre[wiring.group_of_router[owner]]
    direction = np.arctan2(outward[:, 1], outward[:, 0])
    # A fan of at most 150 degrees on the far side of the group's centre.
    fan = np.minimum(np.radians(150), np.radians(48) * per_router[owner])
    spread = (place + 0.5) / np.maximum(per_router[owner], 1) - 0.5
    direction = direction + fan * spread
    node[:] = router[owner] + 1.05 * room * np.stack([np.cos(direction), np.sin(direction)], axis=1)
    return Layout(centre, router, node, radius, room)


def draw_topology(
    figure: Figure | SubFigure, wiring: Wiring, title: str, job_names: list[str] | None = None
) -> None:
    """Draws a network.

    Args:
        figure: An empty figure.
        wiring: What to draw.
        title: In one line.
        job_names: Names of the jobs of ``wiring.job_of_node``.
    """
    layout = lay_out(wiring)
    axes = figure.add_subplot()
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_title(title)
    shades = None
    if wiring.load is not None:
        shades = ScalarMappable(
            Normalize(0, max(float(wiring.load.max(initial=0.0)), 0.01) * 100), "viridis_r"
        )
    _local_links(axes, wiring, layout, shades)
    _global_links(axes, wiring, layout, shades)
    _routers_and_nodes(axes, wiring, layout)
    groups = len(layout.group)
    if 1 < groups <= 64:
        for group, centre in enumerate(layout.group):
            at = centre * (1 + 1.3 * layout.group_radius)
            axes.text(at[0], at[1], str(group), ha="center", va="center", fontsize=7.5, color=MUTED)
    extent = 1.3 if groups == 1 else 1 + 1.6 * layout.group_radius
    axes.set_xlim(-extent, extent)
    axes.set_ylim(-extent, extent)
    if shades is not None:
        bar = figure.colorbar(shades, ax=axes, shrink=0.6, pad=0.01)
        bar.outline.set_visible(False)
        bar.set_label("utilisation of the busier direction (%)")
    handles = _legend(wiring, job_names)
    axes.legend(handles=handles, loc="upper left", bbox_to_anchor=(-0.02, 1.0), handlelength=1.6)


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
    axes: Axes, wiring: Wiring, layout: Layout, shades: ScalarMappable | None
) -> None:
    chosen = wiring.kind == GLOBAL
    if not chosen.any():
        return
    if chosen.sum() <= MOST_CURVES:
        start, end = layout.router[wiring.ends[chosen, 0]], layout.router[wiring.ends[chosen, 1]]
        colours = _colours(wiring, chosen, shades)
        widths: Any = _line_width(wiring, int(chosen.sum()), few=150, thin=0.5)
    else:
        groups = len(layout.group)
        ends = np.sort(wiring.group_of_router[wiring.ends[chosen]], axis=1)
        pair, of_pair, count = np.unique(
            ends[:, 0] * groups + ends[:, 1], return_inverse=True, return_counts=True
        )
        start, end = layout.group[pair // groups], layout.group[pair % groups]
        # Curves end at the rim of the groups' discs.
        gap = end - start
        reach = 0.85 * layout.group_radius / np.linalg.norm(gap, axis=1, keepdims=True)
        start, end = start + reach * gap, end - reach * gap
        widths = np.clip(0.25 + 3.0 * count / count.max(), 0.3, 3.0) * (
            1.0 if len(pair) < 600 else 0.25
        )
        if shades is None or wiring.load is None:
            colours = CLASS_COLOURS["global"]
        else:
            mean = np.bincount(of_pair.reshape(-1), wiring.load[chosen]) / count
            colours = shades.to_rgba(100 * mean)
    curves = _curves(start, end)
    axes.add_collection(
        LineCollection(list(curves), colors=colours, linewidths=widths, alpha=0.75, zorder=2)
    )


def _curves(start: Floats, end: Floats) -> Floats:
    """Quadratic Bézier curves bent towards the middle of the circle. Shape: curves × 24 × 2."""
    middle = 0.30 * (start + end) / 2
    t = np.linspace(0, 1, 24)[None, :, None]
    curve: Floats = (
        (1 - t) ** 2 * start[:, None] + 2 * t * (1 - t) * middle[:, None] + t**2 * end[:, None]
    )
    return curve


def _routers_and_nodes(axes: Axes, wiring: Wiring, layout: Layout) -> None:
    # Marker areas are in points²; the circle of groups is about 400 points wide.
    scale = 190 / (1 + 1.6 * layout.group_radius)
    area = float(np.clip((scale * layout.router_radius) ** 2 * 0.9, 2.0, 170.0))
    jobs = wiring.job_of_node
    if len(layout.node) <= MOST_NODES:
        node_area = float(np.clip(area * 0.30, 0.8, 40.0))
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
            c=_plain_colours(wiring),
            linewidths=0.5,
            edgecolors="white",
            zorder=4,
        )
        return
    colours = _plain_colours(wiring) if jobs is None else _router_colours(wiring, jobs)
    axes.scatter(
        layout.router[:, 0],
        layout.router[:, 1],
        s=area,
        c=colours,
        linewidths=0.3,
        edgecolors="white",
        zorder=4,
    )


def _plain_colours(wiring: Wiring) -> list[str]:
    """The colours of routers where nothing is told of their nodes."""
    spine = wiring.is_spine
    if spine is None:
        return [ROUTER] * len(wiring.group_of_router)
    return [SPINE if is_spine else ROUTER for is_spine in spine]


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


def _legend(wiring: Wiring, job_names: list[str] | None) -> list[Line2D]:
    def dot(colour: str, label: str) -> Line2D:
        return Line2D([], [], linestyle="", marker="o", markersize=5, color=colour, label=label)

    if job_names is None:
        if wiring.is_spine is None:
            handles = [dot(ROUTER, "router")]
        else:
            handles = [dot(ROUTER, "leaf router"), dot(SPINE, "spine router")]
        drawn = {"local": _shows_local_links(wiring), "global": (wiring.kind == GLOBAL).any()}
        for name in (name for name, shown in drawn.items() if shown):
            handles.append(Line2D([], [], color=CLASS_COLOURS[name], label=f"{name} link"))
        return handles
    handles = [dot(job_colour(job), name) for job, name in enumerate(job_names[:8])]
    if wiring.job_of_node is not None and (wiring.job_of_node < 0).any():
        handles.append(dot(FAINT, "idle"))
    return handles
