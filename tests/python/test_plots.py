"""Pictures: they show something, for usual and unusual results."""

import inspect
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib
import matplotlib.image
import numpy as np
import pytest
from matplotlib.figure import Figure

from odonata.batch import generate_job_log, schedule
from odonata.batch.plots import SchedulePlots
from odonata.errors import OutputError
from odonata.plots import Plots, save
from odonata.plots.groups import mean_utilisation
from odonata.plots.latency import share_between
from odonata.plots.layout import lay_out
from odonata.plots.style import MORE_IS_DARKER
from odonata.plots.wiring import Wiring
from odonata.results import Result
from synthetic import engine_result

PICTURES = ["overview", "latency", "link_load", "group_heatmap", "timeline", "topology"]


def ink(path: Path) -> float:
    """Share of the pixels that are not white."""
    pixels = matplotlib.image.imread(path)[:, :, :3]
    return float((pixels < 0.99).any(axis=2).mean())


@pytest.fixture(scope="module")
def result() -> Result:
    return Result.from_engine(engine_result())


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_not_blank(result: Result, tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.png"
    getattr(result.plot, name)(path)
    assert ink(path) > 0.02


def test_the_users_matplotlib_settings_stay_as_they_are(result: Result, tmp_path: Path) -> None:
    import matplotlib as mpl

    mpl.rcParams["font.size"] = 31.0
    try:
        result.plot.latency(tmp_path / "loud.png")
        assert mpl.rcParams["font.size"] == 31.0
    finally:
        mpl.rcdefaults()
    result.plot.latency(tmp_path / "plain.png")
    assert (tmp_path / "loud.png").read_bytes() == (tmp_path / "plain.png").read_bytes()


def without_traffic(raw: dict[str, Any]) -> None:
    """A run that ended before anything was measured."""
    raw["meta"] |= {"end_ps": 0}
    for table in ("timeline", "histograms", "iterations"):
        raw[table] = {column: [] for column in raw[table]}
    jobs = raw["jobs"]
    for column in jobs:
        if "latency" in column or column in ("mean_routers_visited", "end_ps"):
            jobs[column] = [-1] * 2 if not column.endswith("_mean_ps") else [float("nan")] * 2
        if column == "mean_routers_visited":
            jobs[column] = [float("nan")] * 2
    for column in ("bytes", "packets", "busy_ps", "stall_ps", "utilisation"):
        raw["links"][column] = 0 * raw["links"][column]


def as_one_router(raw: dict[str, Any]) -> None:
    """A crossbar: no link between routers, no groups."""
    keep = raw["links"]["kind"] == 0
    links = raw["links"] = {name: column[keep] for name, column in raw["links"].items()}
    links["link"] = np.arange(keep.sum())
    for column in ("from_router", "to_router"):
        links[column] = np.minimum(links[column], 0)
    for column in ("from_group", "to_group"):
        links[column] = 0 * links[column]
    raw["routers"] = {"router": [0], "group": [0], "row": [-1], "column": [-1]}
    raw["meta"] |= {"routers": 1, "groups": 1, "network": "crossbar of 72 nodes"}


def as_one_latency(raw: dict[str, Any]) -> None:
    """All messages took exactly the same time."""
    raw["histograms"] = {
        "job": [0, 1],
        "quantity": [0, 0],
        "low_ps": [640_000, 640_000],
        "high_ps": [640_000, 640_000],
        "count": [7, 9],
    }
    for column in raw["jobs"]:
        if column.startswith("message_latency"):
            raw["jobs"][column] = [640_000, 640_000]


@pytest.mark.parametrize("change", [without_traffic, as_one_router, as_one_latency])
def test_unusual_results_have_pictures_too(tmp_path: Path, change: Any) -> None:
    raw = engine_result()
    change(raw)
    result = Result.from_engine(raw)
    for path in result.plot.save_all(tmp_path):
        assert ink(path) > 0.002, path.name
    result.save(tmp_path / "out")


def test_bucket_shares_are_split_between_bins() -> None:
    # One bucket 0..9 with 30 values and one 10..19 with 10: half of the first is below 5.
    low, high, count = np.array([0, 10]), np.array([9, 19]), np.array([30, 10])
    share = share_between(np.array([0.0, 5.0, 15.0, 20.0]), low, high, count)
    assert share == pytest.approx([0.375, 0.375 + 0.125, 0.125])


def test_heat_map_averages_parallel_links() -> None:
    # Two links 0 → 1 with loads 0.2 and 0.4, one 1 → 0, none within a group.
    load = mean_utilisation(np.array([0, 0, 1]), np.array([1, 1, 0]), np.array([0.2, 0.4, 0.5]))
    assert load[0, 1] == pytest.approx(0.3)
    assert load[1, 0] == pytest.approx(0.5)
    assert np.isnan(load[0, 0])


def test_wiring_counts_each_link_once(result: Result) -> None:
    wiring = Wiring.of_result(result)
    # p=2 a=4 h=2: 9 groups of 4·3/2 local links, 9·8/2 global links.
    assert (wiring.kind == 1).sum() == 9 * 6
    assert (wiring.kind == 2).sum() == 36
    layout = lay_out(wiring)
    assert np.isfinite(layout.node).all()
    # No two routers on the same spot.
    assert len(np.unique(layout.router.round(6), axis=0)) == 36


# --- Files ------------------------------------------------------------------------------

FORMATS = ["png", "pdf", "svg"]


def methods(plots: type) -> list[str]:
    """Every picture that a class draws."""
    found = [name for name, _ in inspect.getmembers(plots, inspect.isfunction) if name[0] != "_"]
    return [name for name in found if name != "save_all"]


def check_whole(path: Path) -> None:
    """Checks that a file is a whole picture of the format that its name says."""
    raw = path.read_bytes()
    if path.suffix == ".svg":
        root = ElementTree.fromstring(raw)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert len(list(root.iter("{http://www.w3.org/2000/svg}path"))) > 10
    elif path.suffix == ".pdf":
        assert raw.startswith(b"%PDF-")
        assert raw.rstrip().endswith(b"%%EOF")
        assert b"CreationDate" not in raw
    else:
        assert ink(path) > 0.001


def check_formats(draw: Any, directory: Path) -> None:
    """Draws a picture once and writes it in every format."""
    figure = draw(directory / "picture.svg")
    for ending in FORMATS[:2]:
        save(figure, directory / f"picture.{ending}")
    for ending in FORMATS:
        check_whole(directory / f"picture.{ending}")
    assert len(list(directory.iterdir())) == len(FORMATS)


@pytest.mark.parametrize("name", methods(Plots))
def test_every_picture_has_every_format(result: Result, tmp_path: Path, name: str) -> None:
    check_formats(getattr(result.plot, name), tmp_path)


@pytest.mark.parametrize("name", methods(SchedulePlots))
def test_schedules_have_every_format(tmp_path: Path, name: str) -> None:
    log = generate_job_log(jobs=40, nodes=64, seed=3)
    check_formats(getattr(SchedulePlots([schedule(log)]), name), tmp_path)


@pytest.mark.parametrize("ending", FORMATS)
def test_equal_pictures_are_equal_files(result: Result, tmp_path: Path, ending: str) -> None:
    first, second = tmp_path / f"first.{ending}", tmp_path / f"second.{ending}"
    result.plot.latency(first)
    result.plot.latency(second)
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize(
    ("name", "found"),
    [("a.gif", 'the ending ".gif"'), ("a.jpeg", '".jpeg"'), ("a", "a name without an ending")],
)
def test_other_formats_are_refused_before_anything_is_drawn(
    result: Result, tmp_path: Path, name: str, found: str
) -> None:
    with pytest.raises(OutputError, match=r"allowed for pictures: \.png, \.pdf, \.svg") as error:
        result.plot.latency(tmp_path / name)
    assert found in str(error.value)
    assert not list(tmp_path.iterdir())


def test_a_picture_that_fails_leaves_the_one_before(
    result: Result, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "latency.svg"
    figure = result.plot.latency(path)
    whole = path.read_bytes()

    def fail(self: Figure, file: Any, **options: Any) -> None:
        file.write(b"<svg")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", fail)
    with pytest.raises(OSError, match="No space left"):
        save(figure, path)
    assert path.read_bytes() == whole
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


# --- What pictures say --------------------------------------------------------------------


def texts(figure: Figure) -> list[str]:
    """Every text of a figure and its parts."""
    from matplotlib.text import Text

    return [text.get_text() for text in figure.findobj(Text)]


def test_more_is_darker_in_every_picture(result: Result) -> None:
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import to_rgb

    shades = set()
    for name in methods(Plots):
        figure = getattr(result.plot, name)()
        shades |= {
            one.get_cmap().name
            for one in figure.findobj(lambda artist: isinstance(artist, ScalarMappable))
            if one.get_array() is not None
        }
    assert shades == {MORE_IS_DARKER}
    few, many = (to_rgb(matplotlib.colormaps[MORE_IS_DARKER](at)) for at in (0.0, 1.0))
    assert sum(many) < sum(few)
    # And nothing else is used behind its back.
    for file in Path(inspect.getfile(Plots)).parents[1].rglob("*.py"):
        for line in file.read_text(encoding="utf-8").splitlines():
            assert not any(f'cmap="{name}' in line for name in matplotlib.colormaps), file


def test_small_shares_are_not_rounded_away(tmp_path: Path) -> None:
    raw = engine_result()
    raw["links"]["utilisation"] = np.where(np.arange(len(raw["links"]["link"])) == 0, 0.0012, 0.0)
    words = "\n".join(texts(Result.from_engine(raw).plot.link_load()))
    assert "max 0.12 %" in words
    assert "max 0 %" not in words


def test_networks_are_named_once(result: Result) -> None:
    titled = texts(result.plot.overview())
    network = result.meta["network"]
    assert result.meta["title"] in titled
    assert sum(text.count(network) for text in titled) == 1
    raw = engine_result()
    raw["meta"]["title"] = ""
    untitled = texts(Result.from_engine(raw).plot.overview())
    assert network in untitled
    assert sum(text.count(network) for text in untitled) == 1


def test_a_large_single_group_has_a_heat_map(result: Result) -> None:
    raw = engine_result()
    routers = 600
    ring = np.arange(routers)
    links = {name: np.zeros(routers, dtype=column.dtype) for name, column in raw["links"].items()}
    links |= {
        "link": ring,
        "kind": ring * 0 + 1,
        "class": ring * 0 + 1,
        "from_router": ring,
        "to_router": (ring + 1) % routers,
        "from_node": ring * 0 - 1,
        "to_node": ring * 0 - 1,
        "utilisation": np.full(routers, 0.25),
    }
    raw["links"] = links
    raw["routers"] = {
        "router": ring,
        "group": ring * 0,
        "row": ring * 0 - 1,
        "column": ring * 0 - 1,
    }
    raw["meta"] |= {"groups": 1, "routers": routers}
    figure = Result.from_engine(raw).plot.group_heatmap()
    (image,) = figure.axes[0].images
    assert image.get_array().shape == (200, 200)
    # Three routers a row: the axis still counts routers.
    assert image.get_extent() == [-0.5, 599.5, 599.5, -0.5]


def bars_of_sizes(sizes: dict[str, Any]) -> tuple[list[tuple[str, float, float]], str]:
    """Bars of the upper panel: the label of their place, their height and how far they are off it.

    And what the axis is.
    """
    from matplotlib.patches import Rectangle

    raw = engine_result()
    raw["message_sizes"] = sizes
    upper, lower = Result.from_engine(raw).plot.message_sizes().axes
    labels = {
        round(tick): label.get_text()
        for tick, label in zip(lower.get_xticks(), lower.get_xticklabels(), strict=True)
    }
    found = []
    for bar in upper.patches:
        assert isinstance(bar, Rectangle)
        middle = bar.get_x() + bar.get_width() / 2
        found.append((labels[round(middle)], bar.get_height(), middle - round(middle)))
    return sorted(found), lower.get_xlabel()


def test_a_bar_of_message_sizes_stands_at_its_size() -> None:
    # The buckets of 8 KiB, 4 MB and 1000 B; two jobs have messages of 1000 B.
    bars, axis = bars_of_sizes(
        {
            "job": [0, 1, 0, 1],
            "low_bytes": [1000, 1000, 8192, 3_997_696],
            "high_bytes": [1000, 1000, 8255, 4_030_463],
            "count": [10, 30, 5, 7],
        }
    )
    assert axis == "size of the message"
    assert [bar[:2] for bar in bars] == [
        ("1.00 kB", 10),
        ("1.00 kB", 30),
        ("4.01 MB", 7),
        ("8 KiB", 5),
    ]
    # Two beside each other in the middle of their place, others in the middle of theirs.
    assert [bar[2] for bar in bars] == pytest.approx([-0.2, 0.2, 0, 0])


def test_many_message_sizes_share_places() -> None:
    size = np.unique(np.geomspace(1, 2**16, 200).astype(int))
    bars, axis = bars_of_sizes(
        {"job": 0 * size, "low_bytes": size, "high_bytes": size, "count": 1 + 0 * size}
    )
    assert "from a power of two to below the next" in axis
    # One size a bar from 1 to 4 B: 1, then 2 and 3, then 4 to 7; at the end 64 KiB.
    expected = {"1 B": 1, "2 B": 2, "4 B": 4, "64 KiB": 1}
    assert {name: height for name, height, _ in bars if name in expected} == expected
    assert sum(height for _, height, _ in bars) == len(size)
