"""Who slows whom, and where: jobs alone, in pairs and together; attribution; arrivals."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from matplotlib.figure import Figure
from rich.console import Console

from odonata import Result, Scenario, ScenarioError, interference, run
from odonata.cli import main
from odonata.columns import numbers
from odonata.plots.interference import draw_latencies
from odonata.report.html.interference import section
from odonata.report.summaries import print_interference
from odonata.study import interference as module
from odonata.study.interference import quantile


def scenario(*jobs: dict[str, Any], **more: Any) -> Scenario:
    """72 nodes: node n is on router n // 2 of group n // 8; minimal routes."""
    return Scenario.from_dict(
        {"network": {"family": "dragonfly", "p": 2, "a": 4, "h": 2}, "job": list(jobs), **more}
    )


def flow(name: str, nodes: list[int], **more: Any) -> dict[str, Any]:
    """Every rank sends 40 messages of 16 packets to the next, at full rate."""
    traffic = {
        "pattern": "shift",
        "offset": 1,
        "load": 1.0,
        "message": "64 KiB",
        "process": "aligned",
        "messages": 40,
    }
    return {"name": name, "placement": nodes, "traffic": {**traffic, **more}}


SHARED = (flow("left", [0, 8]), flow("right", [1, 9]))
ENDLESS = {"name": "endless", "nodes": 8, "traffic": {"pattern": "uniform-random", "load": 0.2}}


def test_isolated_jobs_are_not_slowed_down() -> None:
    """Minimal routes between the groups of a job touch no link of another one's."""
    jobs = [
        {
            "name": name,
            "nodes": 16,
            "placement": "isolated",
            "traffic": {
                "pattern": "uniform-random",
                "load": 0.7,
                "message": "16 KiB",
                "messages": 30,
            },
        }
        for name in ("a", "b", "c")
    ]
    found = interference(scenario(*jobs))
    assert set(found.slowdowns["slowdown"].to_pylist()) == {1.0}
    caused = found.caused()
    off_diagonal = ~np.eye(3, dtype=bool)
    assert (caused[off_diagonal] == 1.0).all() and np.isnan(np.diag(caused)).all()
    waits = found.waits.to_pylist()
    assert waits and all(row["job"] == row["by_job"] for row in waits)


def test_jobs_that_share_links_slow_each_other_down() -> None:
    """Two flows over one link of either direction: each gets half of it, so takes twice as long."""
    found = interference(scenario(*SHARED))
    for name in ("left", "right"):
        assert found.slowdown(name, "run_time") == pytest.approx(2, rel=0.05)
        assert found.slowdown(name) > 2
        assert math.isnan(found.caused()[found.names.index(name)][found.names.index(name)])
    assert found.caused()[0, 1] == found.slowdown("left")
    rows = found.waits.to_pylist()
    assert rows == sorted(rows, key=lambda row: -row["waited_ps"])
    # What is lost to the other one is lost on the way that both take: router 0 of group 0 to
    # the other groups' first routers, or in front of it for room there.
    others = {row["link_name"] for row in rows if row["by_job"] != row["job"]}
    assert others and not any(name.endswith(", terminal") and "→ node" in name for name in others)
    shares = [row["share"] for row in rows if row["name"] == "left"]
    assert math.fsum(shares) == pytest.approx(1)
    with pytest.raises(KeyError, match="no slowdown 'p42'"):
        found.slowdown("left", "p42")


def test_a_target_runs_alone_and_in_pairs_with_each() -> None:
    third = flow("third", [40, 48])
    found = interference(scenario(*SHARED, third), target="left")
    assert found.target == 0
    assert set(found.slowdowns["name"].to_pylist()) == {"left"}
    by = dict(
        zip(found.matrix["by_name"].to_pylist(), found.matrix["slowdown"].to_pylist(), strict=True)
    )
    assert set(by) == {"right", "third"}
    assert by["right"] > 2 and by["third"] == 1
    beside = found.latencies["beside"].to_pylist()
    assert beside == ["alone", "together", "right", "third"]
    assert set(found.waits["name"].to_pylist()) == {"left"}
    few = interference(scenario(*SHARED, third), target=0, pairs=False, attribution=False)
    assert few.matrix.num_rows == few.waits.num_rows == 0
    assert few.slowdown(0) == found.slowdown("left")


def test_jobs_without_end_run_as_long_alone_as_with_the_others() -> None:
    traffic = {**ENDLESS["traffic"], "message": "4 KiB"}
    endless = {**ENDLESS, "placement": [0, 1, 2, 3, 8, 9, 10, 11], "traffic": traffic}
    other = flow("flow", [16, 17])
    found = interference(scenario(endless, other))
    rows = {row["beside"]: row for row in found.latencies.to_pylist() if row["name"] == "endless"}
    # Flows within a router of another group: nothing is shared, and equally much is sent. A
    # message of each of the 8 nodes may be on its last link when the run ends.
    assert abs(rows["alone"]["messages"] - rows["together"]["messages"]) <= 8
    assert rows["alone"]["messages"] > 500
    assert found.slowdown("endless") == pytest.approx(1, rel=0.01)


@pytest.mark.parametrize(
    ("jobs", "target", "words"),
    [
        ([SHARED[0]], None, ["1 jobs that do something", "at least 2"]),
        ([SHARED[0], {**SHARED[1], "idle": True}], None, ["1 jobs"]),
        (SHARED, "middle", ['"middle"', "left, right"]),
    ],
)
def test_what_cannot_be_compared(jobs: Any, target: str | None, words: list[str]) -> None:
    with pytest.raises(ScenarioError) as caught:
        interference(scenario(*jobs), target=target)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_flows_tell_how_much_and_not_at_which_links() -> None:
    flows = scenario(*SHARED, simulation={"engine": "flow"})
    with pytest.raises(ScenarioError, match=r'found "flow"; allowed: "packet".*attribution=False'):
        interference(flows)
    found = interference(flows, attribution=False)
    # Two flows share the common link.
    for name in ("left", "right"):
        assert found.slowdown(name, "run_time") == pytest.approx(2, rel=0.05)


def test_results_are_written_and_not_simulated_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    reports: list[tuple[float, int]] = []
    found = interference(
        scenario(*SHARED), out=out, progress=lambda share, done: reports.append((share, done))
    )
    assert reports[-1][1] == 3
    assert all(0 <= share <= 1 for share, _ in reports)
    pictures = {"latency.png", "matrix.png", "waits.png"}
    tables = {f"{name}.parquet" for name in found.tables}
    files = {file.name for file in out.iterdir()}
    assert files >= pictures | tables | {"interference.json", "scenario.toml"}
    for name in tables:
        for field in pq.read_schema(out / name):
            unit = {"ps": b"ps", "bytes": b"B"}.get(field.name.rsplit("_", 1)[-1])
            assert (field.metadata or {}).get(b"unit") == unit, (name, field.name)
    answer = json.loads((out / "interference.json").read_text())
    assert answer["jobs"][0]["slowdown"]["mean"] == found.slowdown("left")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("simulated again")

    monkeypatch.setattr("odonata.study.execution.simulate", refuse)
    again = interference(scenario(*SHARED), out=out)
    assert again.slowdowns.equals(found.slowdowns) and again.waits.equals(found.waits)


def test_the_command_tells_programs_and_people(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "jobs.toml"
    third = flow("third", [40, 48])
    file.write_text(scenario(*SHARED, third).to_toml())
    arguments = ["interference", str(file), "--out", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--json"])
    assert ended.value.code == 0
    answer = json.loads(capsys.readouterr().out)
    assert [job["job"] for job in answer["jobs"]] == ["left", "right", "third"]
    assert len(answer["matrix"]) == 6
    assert answer["jobs"][0]["links"][0]["by_name"] == "right"
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    text = capsys.readouterr().out
    assert ended.value.code == 0
    assert "left waited at links for" in text and "1.00×" in text
    assert "dragonfly, minimal routing" in text and "placement: listed nodes" in text
    figure = Figure()
    draw_latencies(figure, module.load(tmp_path / "out"))
    assert "whiskers: smallest and largest; dot: mean" in figure.axes[0].get_xlabel()
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--target", "nobody"])
    assert ended.value.code == 2 and "left, right, third" in capsys.readouterr().err


def incast_beside_a_shift(message: str, duration: str) -> Scenario:
    """Three nodes send to a fourth at full rate, two others to each other."""
    incast = {"pattern": "hot-spot", "hot_ranks": [0], "fraction": 1.0, "load": 1.0}
    shift = {"pattern": "shift", "offset": 1, "load": 0.3}
    jobs = [
        {"name": name, "placement": nodes, "traffic": {**traffic, "message": message}}
        for name, nodes, traffic in (("incast", [0, 8, 16, 24], incast), ("shift", [1, 9], shift))
    ]
    return scenario(*jobs, simulation={"duration": duration, "warmup": "20 us"})


def test_a_saturated_job_is_marked_and_lengths_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three nodes send three times what a fourth takes, which sends freely: half of all arrives."""
    what = incast_beside_a_shift("4 KiB", "120 us")
    found = interference(what, out=tmp_path, jobs=2)
    rows = {(row["name"], row["beside"]): row for row in found.latencies.to_pylist()}
    assert {row["end_ps"] for row in rows.values()} == {120_000_000}
    for beside in ("alone", "together"):
        assert rows["incast", beside]["saturated"] and not rows["shift", beside]["saturated"]
        assert rows["incast", beside]["delivered_share"] == pytest.approx(1 / 2, abs=0.03)
    sentence = module.saturated(found)
    assert list(sentence) == ["incast"] and "alone and with all others" in sentence["incast"]
    print_interference(Console(width=200), found, tmp_path)
    shown = capsys.readouterr().out
    assert "incast (saturated)" in shown and "shift (saturated)" not in shown
    assert "incast alone 120 µs" in shown and "all together 120 µs" in shown
    assert any("incast is saturated" in str(part) for part in section(tmp_path).parts)
    # Analyses of before this was kept lack it.
    file = tmp_path / "latencies.parquet"
    pq.write_table(
        pq.read_table(file).drop_columns(["end_ps", "delivered_share", "saturated"]), file
    )
    old = module.load(tmp_path)
    assert module.saturated(old) == {} and module.lengths(old) == []
    print_interference(Console(width=200), old, tmp_path)
    assert "Simulated" not in capsys.readouterr().out


def test_it_says_who_was_held_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Three nodes send to one at full rate, so that each has to wait for most of the time; the
    others' node takes all that comes."""
    what = incast_beside_a_shift("64 KiB", "200 us")
    held = what.with_set({"network.nic.congestion_control": "slingshot"})
    found = interference(held, target="shift", out=tmp_path)
    rows = found.held.to_pylist()
    assert [row["held_ps"] for row in rows] == sorted((r["held_ps"] for r in rows), reverse=True)
    assert {(row["name"], row["source_node"], row["destination_node"]) for row in rows} == {
        ("incast", node, 0) for node in (8, 16, 24)
    }
    # Each is permitted a third of what it would send.
    assert all(0.5 < row["held_ps"] / 180e6 <= 1 for row in rows)
    [of_incast] = module.figures(found)["held"]
    assert of_incast == {
        "name": "incast",
        "pairs": 3,
        "longest": {key: value for key, value in rows[0].items() if key != "name"},
    }
    assert module.load(tmp_path).held.equals(found.held)
    print_interference(Console(width=200), found, tmp_path)
    shown = capsys.readouterr().out
    assert "Congestion control held back 3 pairs of nodes of incast, the longest from" in shown
    parts = section(tmp_path).parts
    assert any("3 pairs of nodes held back" in str(part) for part in parts)
    # Analyses of before there was congestion control have no such table.
    (tmp_path / "held.parquet").unlink()
    assert module.load(tmp_path).held.num_rows == 0
    assert interference(what, target="shift").held.num_rows == 0


def test_quantiles_of_buckets() -> None:
    buckets = [(10, 10, 2), (20, 22, 1), (30, 30, 1)]
    assert [quantile(buckets, share) for share in (0, 0.5, 0.51, 0.75, 0.76, 1)] == [
        *(10, 10, 21, 21, 30, 30)
    ]
    assert quantile([], 0.5) is None
    assert module.QUANTILES[2] == 0.5


# --- What the engine records ------------------------------------------------------------


def attributed(threads: int = 1) -> Result:
    jobs = [
        {
            "name": name,
            "nodes": 30,
            "placement": "random-node",
            "traffic": {"pattern": "uniform-random", "load": load, "message": "8 KiB"},
        }
        for name, load in (("a", 0.3), ("b", 0.6))
    ]
    what = scenario(
        *jobs,
        simulation={"duration": "40 us", "warmup": "5 us"},
        record={
            "attribution": True,
            "arrivals": {"interval": "10 us", "groups": "3", "links": ["global"]},
        },
    )
    return run(what, threads=threads)


def test_the_jobs_of_a_link_make_up_the_link() -> None:
    result = attributed()
    jobs, links = result.table("link_jobs"), result.links
    link = numbers(jobs, "link").astype(np.int64)
    for column in ("bytes", "packets"):
        sums = np.bincount(link, weights=numbers(jobs, column), minlength=len(links))
        assert (sums == numbers(links, column)).all()
    longest = np.zeros(len(links), dtype=np.int64)
    np.maximum.at(longest, link, numbers(jobs, "stall_ps"))
    assert (longest <= numbers(links, "stall_ps")).all()
    waits = result.table("link_waits").to_pylist()
    assert {(row["job"], row["by_job"]) for row in waits} == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_arrivals_at_a_group_are_what_its_global_links_carry() -> None:
    result = attributed()
    rows = result.table("arrivals").to_pylist()
    assert {row["group"] for row in rows} == {3} and {row["kind"] for row in rows} == {"global"}
    assert {row["begin_ps"] for row in rows} == {0, 10**7, 2 * 10**7, 3 * 10**7}
    assert all(row["end_ps"] - row["begin_ps"] == 10**7 for row in rows)
    links = [row for row in result.links.to_pylist() if row["to_group"] == 3]
    carried = sum(row["bytes"] for row in links if row["kind"] == "global")
    # Links count what starts after 5 us, arrivals what has come before 40 us, from the start.
    arrived = sum(row["bytes"] for row in rows)
    late = sum(row["bytes"] for row in rows if row["begin_ps"] >= 10**7)
    assert late < carried < arrived
    # Global links bring what is bound for the group, once, and minimal routes nothing else.
    assert {row["direction"] for row in rows} == {"inbound"}


@pytest.mark.usefixtures("rendered_once")
def test_what_is_recorded_is_drawn(tmp_path: Path) -> None:
    files = {path.name for path in attributed().plot.save_all(tmp_path)}
    assert {"waits.png", "arrivals.png"} <= files
    plain = run(scenario(*SHARED))
    assert not {"waits.png", "arrivals.png"} & {p.name for p in plain.plot.save_all(tmp_path)}
    # Asked for all the same, they say what to set.
    for draw in (plain.plot.waits, plain.plot.arrivals):
        assert draw().axes


def test_records_do_not_depend_on_threads() -> None:
    one, two = attributed(), attributed(threads=3)
    for name in ("link_jobs", "link_waits", "arrivals"):
        assert one.table(name).num_rows and one.table(name).equals(two.table(name))


@pytest.mark.parametrize(
    ("record", "path", "words"),
    [
        ({"arrivals": {}}, "record.arrivals.interval", ["missing"]),
        (
            {"arrivals": {"interval": "1 us", "groups": [9]}},
            "record.arrivals.groups",
            ["found 9", "0 to 8"],
        ),
        (
            {"arrivals": {"interval": "1 us", "routers": [36]}},
            "record.arrivals.routers",
            ["found 36", "0 to 35"],
        ),
        (
            {"arrivals": {"interval": "1 us", "links": ["optical"]}},
            "record.arrivals.links",
            ['"optical"', "terminal, local, global"],
        ),
        (
            {"arrivals": {"interval": "1 us", "groups": [1], "routers": [1]}},
            "record.arrivals.groups",
            ["either `routers` or `groups`"],
        ),
    ],
)
def test_flaws_of_records_name_their_key(
    record: dict[str, Any], path: str, words: list[str]
) -> None:
    with pytest.raises(ScenarioError) as caught:
        run(scenario(*SHARED, record=record))
    [problem] = caught.value.problems
    assert problem.path == path
    assert all(word in problem.message for word in words), problem.message


def test_results_of_before_records_existed_can_be_read(tmp_path: Path) -> None:
    directory = run(scenario(*SHARED)).save(tmp_path / "old")
    (directory / "link_waits.parquet").unlink()
    assert Result.load(directory).table("link_waits").num_rows == 0


def test_idle_jobs_keep_their_nodes() -> None:
    first, second = SHARED
    both = run(scenario(first, second))
    alone = run(scenario(first, {**second, "idle": True}))
    assert alone.placement.equals(both.placement)
    assert alone.jobs["messages_created"].to_pylist() == [80, 0]
    endless = {**ENDLESS, "traffic": {**ENDLESS["traffic"], "message": "4 KiB"}}
    with pytest.raises(ScenarioError, match="a duration"):
        scenario(endless, {**second, "idle": True})
