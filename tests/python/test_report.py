"""Reports: what they say is what was found, and they open anywhere."""

from __future__ import annotations

import io
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from bokeh.models import Legend, LegendItem
from PIL import Image

import odonata
from browser import PROGRAM, Page, look
from command import call
from odonata import Result, Scenario, display, write_report
from odonata.report.html import charts
from odonata.report.html.charts import distributions, thinned
from odonata.report.html.page import MOST_BYTES
from odonata.report.html.run import latencies

SCENARIO = """
title = "Two <jobs> & their </script> names"
[network]
family = "dragonfly"
p = 2
a = 4
h = 2
routing = "minimal"
[network.links]
terminal = { bandwidth = "16 GiB/s", latency = "10 ns" }
local = { bandwidth = "5 GiB/s", latency = "10 ns" }
global = { bandwidth = "4 GiB/s", latency = "100 ns" }
[[job]]
name = "a <b>bold</b> job"
nodes = 36
motif = { kind = "halo3d", iterations = 2, message = "64 KiB" }
[[job]]
name = "other"
nodes = 36
motif = { kind = "all-to-all", iterations = 1, message = "16 KiB" }
[record]
attribution = true
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The same jobs under two routing algorithms."""
    directory = tmp_path_factory.mktemp("runs")
    (directory / "two.toml").write_text(SCENARIO)
    found = []
    for routing in ("minimal", "valiant"):
        scenario = Scenario.from_file(directory / "two.toml")
        result = odonata.run(scenario.with_set({"network.routing": routing}))
        found.append(result.save(directory / routing))
    return found


@pytest.fixture(scope="module")
def report(runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(runs[0], out=tmp_path_factory.mktemp("report") / "one.html")


def text_of(file: Path) -> str:
    """The page without its scripts."""
    page = file.read_text(encoding="utf-8")
    return re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.S)


def test_a_run_is_shown_with_its_figures(runs: list[Path], report: Path) -> None:
    page = text_of(report)
    result = Result.load(runs[0])
    for job in result.summary_dict["jobs"]:
        assert f">{display.duration(job['message_latency_p99_ps'])}<" in page
        assert f">{display.duration(job['run_time_ps'])}<" in page
    for one in result.summary_dict["link_classes"]:
        assert f">{display.percent(one['utilisation_max'])}<" in page
    parts = re.findall(r"<h3[^>]*>(.*?)</h3>", page)
    assert parts == [
        *("Summary", "Latency", "Link load", "Timeline", "Who slows whom", "Jobs", "Network"),
        "Scenario, and how to repeat it",
    ]
    assert 'routing = "minimal"' in page.replace("&quot;", '"')
    # Names that look like markup are names.
    assert "a &lt;b&gt;bold&lt;/b&gt; job" in page
    assert "<b>bold</b>" not in page


def test_the_links_that_can_be_chosen_are_those_of_the_table(
    runs: list[Path], report: Path
) -> None:
    found = re.search(
        r'<script type="application/json" id="data">(.*?)</script>',
        report.read_text(encoding="utf-8"),
        flags=re.S,
    )
    assert found is not None
    links = json.loads(found[1])["s0"]["links"]
    table = Result.load(runs[0]).links.to_pylist()
    assert len(links["link"]) == len(table)
    assert links["busy"] == sorted(links["busy"], reverse=True)
    for place, link in enumerate(links["link"]):
        assert links["bytes"][place] == table[link]["bytes"]
        assert links["fromGroup"][place] == table[link]["from_group"]
    # Jobs share a link's bytes without rest.
    at = np.array(links["jobAt"])
    shares = np.bincount(at, weights=links["jobBytes"], minlength=len(table))
    assert shares.tolist() == links["bytes"]


def test_the_file_needs_nothing_besides_itself(report: Path) -> None:
    page = text_of(report)
    assert not re.findall(r'(?:src|href|action|data)="(?!#|data:)[^"]*"', page)
    assert "default-src &#x27;none&#x27;" in page
    assert "Redistribution and use in source and binary forms" in page  # Bokeh's licence
    assert report.stat().st_size < MOST_BYTES


def test_distributions_are_those_of_the_samples() -> None:
    value, count = np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 1.0])
    ecdf, ccdf = distributions({"x": (value, count)}, "latency", "µs")
    below = ecdf.renderers[0].data_source.data
    beyond = ccdf.renderers[0].data_source.data
    assert below["y"].tolist() == [25, 75, 100]  # at most 1, 2, 4
    assert beyond["y"].tolist() == [1.0, 0.75, 0.25]  # at least 1, 2, 4
    assert beyond["x"].tolist() == below["x"].tolist() == [1, 2, 4]


def test_thinned_lines_keep_their_ends() -> None:
    x = np.arange(100_000.0)
    few, y = thinned(x, 2 * x)
    assert len(few) <= 1_500
    assert (few[0], few[-1]) == (0, 99_999)
    assert (np.diff(few) > 0).all()
    assert (y == 2 * few).all()


def test_latencies_are_those_of_the_histograms(runs: list[Path]) -> None:
    result = Result.load(runs[0])
    for job, (value, count) in zip(
        result.jobs.to_pylist(), latencies(result).values(), strict=True
    ):
        assert count.sum() == job["messages_delivered"]
        assert value[-1] >= job["message_latency_max_ps"]
        assert value[-1] <= job["message_latency_max_ps"] * (1 + 1 / 128) + 1


def test_a_legend_has_the_columns_that_a_narrow_page_has_room_for() -> None:
    # 340 points hold four times a line of 34 with 12 around and five letters of 7, and once 34 + 12
    # and forty letters.
    for name, columns, rows in (("easy", 4, 2), ("HyperX 2-D", 2, 3), ("n" * 40, 1, 6)):
        chart = charts.new("", "", "")
        height = chart.height
        items = [LegendItem(label={"value": name}, renderers=[]) for _ in range(6)]
        charts.legend_below(chart, items)
        (legend,) = chart.select({"type": Legend})
        assert legend.ncols == columns
        assert chart.height == height + 20 * (rows - 1)


def test_several_runs_are_compared_first(runs: list[Path], tmp_path: Path) -> None:
    page = text_of(write_report(*runs, out=tmp_path / "two.html"))
    assert re.findall(r"<h2[^>]*>(.*?)</h2>", page)[0] == "Comparison"
    assert "network.routing" in page
    found = odonata.compare(*runs)
    change = next(
        row
        for row in found.table.to_pylist()
        if row["quantity"] == "run_time_ps" and row["change"] is not None
    )
    assert f"{100 * change['change']:+.1f} %" in page
    # The same from the directory that `odonata compare` leaves.
    found.save(tmp_path / "compared")
    again = text_of(write_report(tmp_path / "compared", out=tmp_path / "compared.html"))
    assert f"{100 * change['change']:+.1f} %" in again
    assert again.count("<figure") >= 3


def test_replications_are_shown_with_their_intervals(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(SCENARIO)
    done = call(
        *("run", "two.toml", "--replications", "2", "--out", "both", "--jobs", "1", "--quiet"),
        directory=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    page = text_of(write_report(tmp_path / "both", out=tmp_path / "both.html"))
    assert "Means over all seeds" in page
    assert "one run of them, seed-1" in page


def test_a_schedule_is_shown(tmp_path: Path) -> None:
    log = odonata.generate_job_log(nodes=64, jobs=80, seed=1)
    from odonata.batch import save_schedules

    made = [odonata.schedule(log, policy=policy) for policy in ("fcfs", "easy")]
    save_schedules(made, tmp_path / "schedules", source={"file": "synthetic.swf"})
    page = text_of(write_report(tmp_path / "schedules", out=tmp_path / "schedules.html"))
    for one in made:
        assert f">{display.span(one.summary['wait_s']['mean'])}<" in page
        assert f">{display.percent(one.summary['utilisation'])}<" in page
    parts = re.findall(r"<h3[^>]*>(.*?)</h3>", page)
    assert parts[:4] == ["Summary", "Waits", "Timeline", "Gantt chart"]


def test_schedules_are_read_as_they_were_written(tmp_path: Path) -> None:
    from odonata.batch import save_schedules
    from odonata.batch.schedules import load_schedules

    log = odonata.generate_job_log(nodes=64, jobs=80, seed=1)
    made = [odonata.schedule(log, policy=policy) for policy in ("fcfs", "easy")]
    save_schedules(made, tmp_path / "schedules")
    found, answer = load_schedules(tmp_path / "schedules")
    assert [one.name for one in found] == ["fcfs", "easy"]
    assert answer["machine_nodes"] == 64
    for one, other in zip(found, made, strict=True):
        assert one.jobs["start_s"].to_pylist() == other.jobs["start_s"].to_pylist()
        assert one.occupancy.to_pylist() == other.occupancy.to_pylist()
        assert one.summary == json.loads(json.dumps(other.summary))


def test_interference_is_shown(runs: list[Path], tmp_path: Path) -> None:
    found = odonata.interference(
        Scenario.from_file(runs[0] / "scenario.toml"), jobs=1, out=tmp_path / "both"
    )
    page = text_of(write_report(tmp_path / "both", out=tmp_path / "both.html"))
    assert f">{found.slowdown('other', 'mean'):.3g}×<" in page
    parts = re.findall(r"<h3[^>]*>(.*?)</h3>", page)
    assert parts == ["Summary", "Who slows whom", "Scenario, and how to repeat it"]


def test_a_search_for_saturation_is_shown(tmp_path: Path) -> None:
    (tmp_path / "load.toml").write_text(
        SCENARIO.replace(
            'motif = { kind = "halo3d", iterations = 2, message = "64 KiB" }',
            'traffic = { pattern = "uniform-random", message = "256 B", load = 0.1 }',
        ).split('[[job]]\nname = "other"')[0]
        + '[simulation]\nduration = "20 us"\nwarmup = "5 us"\n'
    )
    options = ("--highest", "0.4", "--tolerance", "50%", "--jobs", "1", "--json")
    done = call("saturation", "load.toml", *options, "--out", "found", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    page = text_of(write_report(tmp_path / "found", out=tmp_path / "found.html"))
    for point in answer["curve"]:
        assert f">{point['load']:.4g}</th>" in page
        assert f">{display.duration(point['latency_p99_ps'])}<" in page
    parts = re.findall(r"<h3[^>]*>(.*?)</h3>", page)
    assert parts == ["Summary", "Load and latency", "Scenario, and how to repeat it"]
    # One that was stopped says how to go on.
    (tmp_path / "found" / "saturation.json").unlink()
    done = call("report", "found", directory=tmp_path)
    assert done.returncode == 4
    assert "not finished" in done.stderr


STUDY = """
title = "Loads and routing"
base = "base.toml"
repetitions = [{ count = 2 }]
[[axis]]
key = "network.routing"
values = ["minimal", "valiant"]
[[axis]]
key = "job.0.motif.iterations"
name = "iterations"
values = [1, 2]
[[measure]]
figure = "job.*.run_time_ps"
reduce = "maximum"
unit = "us"
"""


def test_a_study_is_shown(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text(SCENARIO)
    (tmp_path / "study.toml").write_text(STUDY)
    done = call("study", "study.toml", "--out", "found", "--jobs", "1", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    page = text_of(write_report(tmp_path / "found", out=tmp_path / "study.html"))
    assert ">minimal, valiant<" in page
    assert "study.toml" in page
    assert page.count("<figure") >= 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "there is no such directory"),
        (["empty"], "found no results; allowed: the directory of a run"),
        (["run", "--out", "there.html"], "exists already"),
        (["run", "--out", "page.pdf"], "found the ending '.pdf'"),
    ],
)
def test_what_cannot_be_reported_is_said(
    arguments: list[str], message: str, runs: list[Path], tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "run").symlink_to(runs[0])
    (tmp_path / "there.html").write_text("mine")
    done = call("report", *arguments, directory=tmp_path)
    assert done.returncode != 0
    assert message in " ".join(done.stderr.split())
    assert (tmp_path / "there.html").read_text() == "mine"


def test_the_command_says_where_the_report_is(runs: list[Path], tmp_path: Path) -> None:
    done = call("report", runs[0], "--json", directory=tmp_path)
    answer = json.loads(done.stdout)
    assert (tmp_path / answer["file"]).stat().st_size == answer["bytes"]
    assert answer["file"] == "results/report-1.html"


# --- In a browser -------------------------------------------------------------------------

#: What the page should look like, made by ODONATA_KEEP_PICTURES=1 after a look at it.
KEPT = Path(__file__).parent / "pictures"

in_browser = pytest.mark.skipif(PROGRAM is None, reason="there is no chromium")


async def opens_quietly(page: Page) -> None:
    drawn = await page.run("document.querySelectorAll('main figure .bk-Figure').length")
    assert drawn == await page.run("document.querySelectorAll('main figure').length")
    others = [one for one in page.requests if not one.startswith(("file:", "data:", "blob:"))]
    assert others == []


async def legends_are_whole_on_a_telephone(page: Page) -> None:
    narrow = {"width": 400, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    await page.call("Emulation.setDeviceMetricsOverride", **narrow)
    plots = (
        "[...Bokeh.documents[0]._all_models.values()].filter(plot => (plot.below ?? []).some("
        "one => one.type === 'Legend'))"
    )
    await page.until(f"{plots}.every(plot => plot.outer_width < 400)")
    # Points that are left beside the legend of each.
    rooms = await page.run(
        f"{plots}.map(plot => {{ const [inner, outer] = [plot.below.find(one => one.type === "
        "'Legend'), plot].map(one => Bokeh.index.find_one(one).el.getBoundingClientRect()); "
        "return Math.min(inner.left - outer.left, outer.right - inner.right); })"
    )
    assert rooms
    assert min(rooms) >= 0
    await page.call("Emulation.clearDeviceMetricsOverride")


async def fits(page: Page) -> None:
    """Nothing of the page is beside a telephone's screen, nor beside a wide one."""
    for width in (400, 1400):
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        await page.call("Emulation.setDeviceMetricsOverride", **size)
        await page.until(f"innerWidth === {width} && document.body.scrollWidth <= {width}")
        assert await page.run("document.documentElement.scrollWidth") <= width
    await page.call("Emulation.clearDeviceMetricsOverride")


async def links_are_chosen_by_keyboard_and_by_cell(page: Page) -> None:
    caption = "document.querySelector('.drill caption').textContent"
    assert re.match(r"\d+ links? from group \d+ to group \d+", await page.run(caption))
    # A cell of the map.
    await page.run(
        "(() => { const s = [...Bokeh.documents[0]._all_models.values()].find(m => "
        "/^pairs /.test(m.name ?? '')); const at = s.data.row.findIndex((r, i) => r === 3 && "
        "s.data.column[i] === 3); s.selected.indices = [at]; })()"
    )
    assert await page.run(caption) == "28 links from group 3 to group 3"
    # From the list to one link: tab to it, enter.
    await page.run("document.querySelector('.drill tbody button').focus()")
    await page.press("Enter", 13, "\r")
    await page.until("document.querySelector('.drill .one').textContent.includes('bandwidth')")
    answer = await page.run("document.querySelector('.drill .one').textContent")
    assert "of links.parquet" in answer
    assert "Sent by" in answer
    # What has the focus shows it.
    await page.press("Tab", 9)
    assert await page.run("getComputedStyle(document.activeElement).outlineWidth") == "3px"


async def looks(page: Page, scheme: str) -> np.ndarray:
    """The lightness of what is seen of the latencies."""
    await page.until(f"document.documentElement.dataset.scheme === '{scheme}'")
    await page.run("document.querySelector('#s0-1').scrollIntoView({behavior: 'instant'})")
    # Charts are drawn a frame after they are told to.
    frames = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    before = b""
    for _ in range(100):
        await page.run(frames)
        now = await page.picture()
        if now == before:
            break
        before = now
    return np.asarray(Image.open(io.BytesIO(now)).convert("L"), dtype=float)


#: Cells down and across in which pictures are compared: about 40 points each way, which no font
#: changes by much.
CELLS = (40, 30)
#: Least correlation with the picture of the page as it should be. In another font of common width
#: it is 0.9997, all in a typewriter's, which moves lines, 0.76, without its charts 0.04.
LIKE = 0.7


def coarse(shot: np.ndarray) -> np.ndarray:
    """How much there is in each cell of a picture: the mean distance from its ground."""
    there = np.abs(shot - np.median(shot))
    rows, columns = (size // cells * cells for size, cells in zip(there.shape, CELLS, strict=True))
    cells = there[:rows, :columns].reshape(CELLS[0], -1, CELLS[1], columns // CELLS[1])
    return cells.mean(axis=(1, 3))


def likeness(shot: np.ndarray, scheme: str) -> float:
    """Correlation of a picture with the one that is kept of the page."""
    kept = np.asarray(Image.open(KEPT / f"report-{scheme}.png"), dtype=float)
    return float(np.corrcoef(coarse(shot).ravel(), kept.ravel())[0, 1])


@in_browser
def test_the_page_in_a_browser(report: Path, tmp_path: Path) -> None:
    shots = {}

    async def by_day(page: Page) -> None:
        shots["light"] = await looks(page, "light")
        await opens_quietly(page)
        await links_are_chosen_by_keyboard_and_by_cell(page)
        await legends_are_whole_on_a_telephone(page)
        await fits(page)
        pdf = await page.call("Page.printToPDF", printBackground=False)
        assert len(pdf["data"]) > 50_000
        assert page.problems == []

    async def by_night(page: Page) -> None:
        shots["dark"] = await looks(page, "dark")
        await fits(page)
        # Whoever wants the other one gets it.
        await page.run(
            "(() => { const c = document.getElementById('scheme'); "
            "c.value = 'light'; c.dispatchEvent(new Event('change')); })()"
        )
        shots["chosen"] = await looks(page, "light")
        assert page.problems == []

        # A page without its charts is not taken for it.
        await page.run("document.querySelectorAll('main figure').forEach(f => f.innerHTML = '')")
        shots["empty"] = await looks(page, "light")

    look(report, tmp_path / "day", by_day)
    look(report, tmp_path / "night", by_night, dark=True)
    empty = shots.pop("empty")
    if os.environ.get("ODONATA_KEEP_PICTURES"):
        for scheme in ("light", "dark"):
            levels = np.rint(coarse(shots[scheme])).astype(np.uint8)
            Image.fromarray(levels).save(KEPT / f"report-{scheme}.png")
    for scheme in ("light", "dark"):
        assert likeness(shots[scheme], scheme) > LIKE, scheme
    assert likeness(empty, "light") < LIKE / 2
    assert np.median(shots["light"]) > 240
    assert np.median(shots["dark"]) < 40
    # What differs from the ground, lines and letters, is at the same places in all.
    light, dark, chosen = (np.abs(one - np.median(one)) > 60 for one in shots.values())
    assert light.mean() > 0.01
    for other, share in ((dark, 0.6), (chosen, 0.95)):
        assert (light & other).sum() / (light | other).sum() > share
