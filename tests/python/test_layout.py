"""How networks are drawn: what their wiring is made of, and where routers are placed then."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PatchCollection

from odonata.plots import Wiring, draw_topology, new_figure, style
from odonata.plots.layout import Layout, lay_out
from odonata.plots.structure import Dimension, RouterGraph, dimensions, levels

Ints = npt.NDArray[np.int64]


def grid(*sizes: int, wraps: bool = True, complete: bool = False) -> Ints:
    """Links of a torus, a mesh or a HyperX."""
    number = {place: index for index, place in enumerate(product(*map(range, sizes)))}
    links = set()
    for place in number:
        for axis, size in enumerate(sizes):
            steps = range(1, size) if complete else [1]
            for step in steps:
                at = place[axis] + step
                if at >= size and not wraps:
                    continue
                other = (*place[:axis], at % size, *place[axis + 1 :])
                if other != place:
                    links.add(tuple(sorted((number[place], number[other]))))
    return np.array(sorted(links))


def fat_tree(k: int) -> tuple[Ints, Ints]:
    """Links of a k-ary fat tree, and its routers with nodes."""
    half = k // 2
    edge = k * half
    links = []
    for pod, here, other in product(range(k), range(half), range(half)):
        links.append((pod * half + here, edge + pod * half + other))
        links.append((edge + pod * half + other, 2 * edge + other * half + here))
    return np.array(links), np.arange(edge)


def shuffled(routers: int, ends: Ints, seed: int = 5) -> tuple[Ints, Ints]:
    """The same network with other numbers, and the new number of each router."""
    number = np.random.default_rng(seed).permutation(routers)
    return np.sort(number[ends], axis=1), number


def wiring(
    routers: int, ends: Ints, with_nodes: Ints | None = None, groups: Ints | None = None
) -> Wiring:
    return Wiring(
        np.zeros(routers, dtype=np.int64) if groups is None else groups,
        None,
        np.repeat(np.arange(routers) if with_nodes is None else with_nodes, 2),
        ends,
        np.ones(len(ends), dtype=np.int64),
    )


def found(routers: int, ends: Ints) -> list[tuple[str, int]] | None:
    factors = dimensions(RouterGraph(routers, ends), ends)
    return None if factors is None else [(one.kind, one.size) for one in factors]


@pytest.mark.parametrize(
    ("sizes", "options", "expected"),
    [
        ((5, 3), {}, [("ring", 5), ("ring", 3)]),
        ((6, 5, 3), {}, [("ring", 6), ("ring", 5), ("ring", 3)]),
        # A ring of four is a product of two lines: a hypercube's squares are rings.
        ((4, 4, 4), {}, [("ring", 4)] * 3),
        ((2, 2, 2, 2), {}, [("ring", 4)] * 2),
        ((2, 2, 2), {}, [("ring", 4), ("line", 2)]),
        ((5, 4), {"wraps": False}, [("line", 5), ("line", 4)]),
        ((7,), {"wraps": False}, [("line", 7)]),
        ((9,), {}, [("ring", 9)]),
        ((6, 5), {"complete": True}, [("complete", 6), ("complete", 5)]),
        ((8, 8, 8), {}, [("ring", 8)] * 3),
    ],
)
def test_products_are_recognised_whatever_their_routers_are_called(
    sizes: tuple[int, ...], options: dict[str, bool], expected: list[tuple[str, int]]
) -> None:
    routers = int(np.prod(sizes))
    ends, _ = shuffled(routers, grid(*sizes, **options))
    assert found(routers, ends) == expected


def test_what_is_nearly_a_product_is_none() -> None:
    ends = grid(5, 6)
    # Two links crossed: degrees stay what they were.
    swapped = ends.copy()
    one, other = 3, 40
    swapped[one, 1], swapped[other, 1] = ends[other, 1], ends[one, 1]
    assert found(30, np.unique(np.sort(swapped, axis=1), axis=0)) is None
    assert found(30, ends[:-1]) is None
    outer = [(i, (i + 1) % 5) for i in range(5)]
    petersen = outer + [(i, i + 5) for i in range(5)] + [(5 + i, 5 + (i + 2) % 5) for i in range(5)]
    assert found(10, np.sort(np.array(petersen), axis=1)) is None


def neighbours_are_one_cell_apart(layout: Layout, ends: Ints) -> bool:
    gap = layout.router[ends[:, 0]] - layout.router[ends[:, 1]]
    length = np.sqrt((gap**2).sum(axis=1))
    return bool(np.isclose(length.min(), layout.cell))


def test_a_torus_is_a_grid_whose_outer_links_are_stubs() -> None:
    ends, _ = shuffled(48, grid(8, 6))
    layout = lay_out(wiring(48, ends))
    assert layout.kind == "grid" and layout.wraps
    x, y = (np.unique(layout.router[:, axis].round(9)) for axis in (0, 1))
    assert (len(x), len(y)) == (8, 6)
    assert neighbours_are_one_cell_apart(layout, ends)
    paths, link = layout.paths(ends)
    # 8 + 6 links wrap around and are two stubs each.
    assert len(paths) == len(ends) + 14
    lengths = np.array([np.hypot(*(path[-1] - path[0])) for path in paths])
    assert lengths.max() == pytest.approx(layout.cell)
    assert np.bincount(link).max() == 2


def test_no_link_of_a_torus_of_three_dimensions_passes_another_router() -> None:
    ends = grid(4, 5, 3)
    layout = lay_out(wiring(60, ends))
    paths, link = layout.paths(ends)
    for path, index in zip(paths, link.tolist(), strict=True):
        others = np.delete(layout.router, ends[index], axis=0)
        along = path[-1] - path[0]
        share = np.clip((others - path[0]) @ along / (along @ along), 0, 1)
        gap = others - (path[0] + share[:, None] * along)
        assert np.sqrt((gap**2).sum(axis=1)).min() > 0.05 * layout.cell


def test_a_fat_tree_stands_in_rows_with_its_pods_together() -> None:
    ends, leaves = fat_tree(6)
    ends, number = shuffled(45, ends)
    leaves = number[leaves]
    has_nodes = np.isin(np.arange(45), leaves)
    level = levels(RouterGraph(45, ends), has_nodes, ends)
    assert level is not None
    assert np.bincount(level).tolist() == [18, 18, 9]
    layout = lay_out(wiring(45, ends, leaves))
    assert layout.kind == "levels"
    assert [len(np.unique(layout.router[level == row, 1])) for row in range(3)] == [1, 1, 1]
    # A pod's routers are next to each other in both lower rows.
    for first in (0, 18):
        for pod in range(6):
            members = number[first + 3 * pod : first + 3 * pod + 3]
            row = np.sort(layout.router[level == level[members[0]], 0])
            places = np.sort(np.searchsorted(row, layout.router[members, 0]))
            assert (np.diff(places) == 1).all()
    # Nodes are drawn below.
    assert layout.node[:, 1].max() < layout.router[level == 0, 1].min()


def test_rows_of_gpu_machines_are_named_and_switches_within_nodes_stand_below() -> None:
    """Two nodes of two ranks, each on the switch of its node and on one of two rails."""
    ranks, switches, rails = range(4), (4, 4, 5, 5), (6, 7, 6, 7)
    ends = np.array([*zip(ranks, switches, strict=True), *zip(ranks, rails, strict=True)])
    inside = np.arange(8) < 4
    what = replace(wiring(8, ends, np.arange(4)), router_of_node=np.arange(4), is_inside=inside)
    height = lay_out(what).router[:, 1]
    assert height[4] == height[5] < height[:4].min() and height[6] == height[7] > height[:4].max()
    with style():
        figure = new_figure(6.8, 6.8)
        draw_topology(figure, what, "Nodes with rails")
        figure.draw_without_rendering()
    names = [text for text in figure.axes[0].texts if text.get_text()]
    said = [text.get_text().replace("\n", " ") for text in names]
    assert said == ["switches in nodes 2", "ranks 4", "leaves 2"]
    for text in names:
        assert figure.bbox.x0 <= text.get_window_extent().x0


@pytest.mark.parametrize("loads", [False, True])
def test_a_title_of_two_lines_is_within_the_picture(loads: bool) -> None:
    what = wiring(45, *fat_tree(6))
    if loads:
        nodes, links = len(what.router_of_node), len(what.ends)
        what = replace(what, load=np.linspace(0, 1, links), job_of_node=np.zeros(nodes, np.int64))
    with style():
        figure = new_figure(7.6, 6.8)
        name = "a network of a name so long that it takes two lines " * 2
        draw_topology(figure, what, name.strip(), ["halo"] if loads else None)
        figure.draw_without_rendering()
    (title,) = figure.texts
    assert "\n" in title.get_text()
    assert title.get_window_extent().y1 <= figure.bbox.y1
    highest = max(text.get_window_extent().y1 for text in figure.axes[0].texts)
    assert highest < title.get_window_extent().y0


def test_a_network_without_known_structure_fills_the_picture() -> None:
    chance = np.random.default_rng(2)
    ends = np.unique(np.sort(chance.integers(0, 80, (240, 2)), axis=1), axis=0)
    ends = ends[ends[:, 0] != ends[:, 1]]
    ends = np.unique(np.concatenate([ends, [(i, i + 1) for i in range(79)]]), axis=0)
    layout = lay_out(wiring(80, ends))
    assert layout.kind == "free"
    radius = np.sqrt((layout.router**2).sum(axis=1))
    # Neither a ring nor a blob.
    assert np.quantile(radius, 0.25) < 0.55
    assert np.quantile(radius, 0.75) > 0.45
    # Distances say something of hops, which those on a circle hardly do.
    hops = np.stack([RouterGraph(80, ends).distances([router]) for router in range(80)])
    apart = np.triu_indices(80, 1)

    def agreement(place: npt.NDArray[np.float64]) -> float:
        gap = np.sqrt(((place[:, None] - place[None]) ** 2).sum(axis=2))
        return float(np.corrcoef(gap[apart], hops[apart])[0, 1])

    turn = 2 * np.pi * np.arange(80) / 80
    circle = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    assert agreement(layout.router) > agreement(circle) + 0.3


def test_a_larger_network_is_laid_out_by_pivots() -> None:
    # A long ladder with rungs missing is no product, and long in the picture, too.
    ends = np.array([link for link in grid(450, 2, wraps=False) if link[0] % 7])
    rails = np.array([(i, i + 2) for i in range(898)])
    ends = np.unique(np.sort(np.concatenate([ends, rails, [(0, 1)]]), axis=1), axis=0)
    layout = lay_out(wiring(900, ends))
    assert layout.kind == "free"
    gap = np.sqrt(((layout.router[0] - layout.router) ** 2).sum(axis=1))
    assert np.corrcoef(gap, np.arange(900) // 2)[0, 1] > 0.9


def test_groups_that_are_complete_stay_on_their_circle() -> None:
    # A HyperX whose rows are groups is wired as a dragonfly is.
    groups = np.arange(20) // 5
    layout = lay_out(wiring(20, grid(4, 5, complete=True), groups=groups))
    assert layout.kind == "groups" and layout.has_groups
    # Groups that are planes of a torus are not.
    layout = lay_out(wiring(60, grid(3, 4, 5), groups=np.arange(60) // 20))
    assert layout.kind == "grid"


def test_dimensions_count_along_rings_and_lines() -> None:
    ends = grid(6, 5)
    factors = dimensions(RouterGraph(30, ends), ends)
    assert factors is not None
    for one in factors:
        assert isinstance(one, Dimension)
        steps = np.abs(one.coordinate[ends[:, 0]] - one.coordinate[ends[:, 1]])
        assert set(steps.tolist()) == {0, 1, one.size - 1}


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (wiring(48, grid(8, 6)), ["router", "local link", "wrap around"]),
        (wiring(96, grid(16, 6, complete=True)), ["router", "local link"]),
        (wiring(45, *fat_tree(6)), ["router with nodes", "router without", "local link"]),
        (wiring(2048, grid(16, 16, 8)), ["4,096 nodes are not drawn"]),
    ],
    ids=["torus", "hyperx", "fat tree", "large torus"],
)
def test_pictures_say_what_is_drawn_and_what_is_not(what: Wiring, words: list[str]) -> None:
    with style():
        figure = new_figure(6.8, 6.8)
        draw_topology(figure, what, "A network")
        figure.draw_without_rendering()
    text = "\n".join(text.get_text() for text in figure.legends[0].get_texts())
    for word in words:
        assert word in text
    # Title and legend are within the picture.
    whole = figure.bbox
    (title,) = figure.texts
    for box in (title.get_window_extent(), figure.legends[0].get_window_extent()):
        assert whole.x0 <= box.x0 and box.x1 <= whole.x1
        assert whole.y0 <= box.y0 and box.y1 <= whole.y1


def dragonfly(groups: int, routers: int) -> tuple[Ints, Ints, Ints]:
    """Ends and kinds of the links, and the group of each router: all groups joined once."""
    ends, kinds = [], []
    for group in range(groups):
        own = range(group * routers, (group + 1) * routers)
        ends += [(a, b) for a in own for b in own if a < b]
        kinds += [1] * (len(ends) - len(kinds))
        for other in range(group + 1, groups):
            ends.append((group * routers + other % routers, other * routers + group % routers))
            kinds.append(2)
    return np.array(ends), np.array(kinds), np.arange(groups * routers) // routers


@pytest.mark.parametrize("loads", [False, True], ids=["wiring", "loads"])
@pytest.mark.parametrize("groups", [9, 73], ids=["small", "large"])
def test_large_networks_are_drawn_by_groups(groups: int, loads: bool) -> None:
    ends, kinds, group = dragonfly(groups, 12)
    nodes = np.repeat(np.arange(12 * groups), 6)
    what = Wiring(group, None, nodes, ends, kinds)
    if loads:
        load = np.linspace(0, 1, len(ends))
        jobs = np.where(np.arange(len(nodes)) % 4 == 0, 0, -1)
        what = replace(what, load=load, job_of_node=jobs)
    with style():
        figure = new_figure(7.6 if loads else 6.8, 6.8)
        draw_topology(figure, what, "A dragonfly", ["halo"] if loads else None)
        figure.draw_without_rendering()
    (legend,), axes = figure.legends, figure.axes[0]
    # The legend is below the drawing, not over it, and none of it is cut off.
    assert legend.get_window_extent().y1 <= axes.get_window_extent().y0
    assert legend.get_window_extent().x1 <= figure.bbox.x1
    text = "\n".join(text.get_text() for text in legend.get_texts())
    assert ("a disc stands for a group" in text) == (groups == 73)
    if groups == 73:
        pies = [one for one in axes.collections if isinstance(one, PatchCollection)]
        # A quarter of the nodes of each group are the job's, and the others idle.
        assert len(pies[0].get_paths()) == (2 * 73 if loads else 73)
        # The middle shows lines on a light ground; with all curves at full strength 2 % of it are
        # light.
        canvas = figure.canvas
        assert isinstance(canvas, FigureCanvasAgg)
        canvas.draw()
        image = np.asarray(canvas.buffer_rgba())[::-1, :, :3]
        box = axes.get_window_extent()
        x, y, reach = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2, box.height / 6
        middle = image[int(y - reach) : int(y + reach), int(x - reach) : int(x + reach)]
        assert (middle.mean(axis=2) > 200).mean() > 0.4
