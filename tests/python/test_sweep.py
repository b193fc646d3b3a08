"""Sweeps without a study file: the values that are meant, and what is found at each."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import odonata
from command import call
from odonata import Scenario, ScenarioError
from odonata.progress import LiveTable
from odonata.scenario.keys import full_key
from odonata.study.sweeping import sweep_study, values_of

SCENARIO = """
title = "A small shuffle"
[network]
family = "dragonfly"
p = 1
a = 2
h = 1
[network.links]
terminal = { bandwidth = "16 GB/s", latency = "10 ns" }
local = { bandwidth = "5 GB/s", latency = "10 ns" }
global = { bandwidth = "4 GB/s", latency = "100 ns" }
[[job]]
name = "shuffle"
nodes = 6
motif = { kind = "all-to-all", iterations = 1, message = "16 kB" }
"""

TORUS = """
[network]
family = "torus"
size = [3, 2]
p = 1
[network.links]
terminal = { bandwidth = "16 GB/s", latency = "10 ns" }
local = { bandwidth = "5 GB/s", latency = "10 ns" }
[[job]]
nodes = 6
motif = { kind = "all-to-all", iterations = 1, message = "16 kB" }
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(SCENARIO)
    return tmp_path / "small.toml"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("minimal,par", ["minimal", "par"]),
        ("0.1:0.9:0.1", [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]),
        ("1:4:1", [1, 2, 3, 4]),
        ("4:1:-1", [4, 3, 2, 1]),
        ("1:64:*4", [1, 4, 16, 64]),
        ("1:60:*4", [1, 4, 16]),
        ("0.5:2:0.5,8", [0.5, 1.0, 1.5, 2.0, 8]),
        ("8KiB:64 KiB:*2", ["8 KiB", "16 KiB", "32 KiB", "64 KiB"]),
        ("5%:15%:5%", ["5 %", "10 %", "15 %"]),
        ("0.5 us:1 us:0.5 us,2 us", ["0.5 us", "1.0 us", "2 us"]),
        ("1 MB", "1 MB"),
        ("[1, 2]", [1, 2]),
        ('"a,b"', "a,b"),
        ("{ kind = 'halo3d', message = '1 kB' }", {"kind": "halo3d", "message": "1 kB"}),
        ("10:30", "10:30"),
    ],
)
def test_values_are_those_meant(text: str, expected: object) -> None:
    assert values_of(text) == expected


@given(st.integers(-50, 50), st.integers(0, 40), st.integers(1, 999))
def test_ranges_have_both_ends_and_equal_steps(first: int, steps: int, step: int) -> None:
    # Thousandths have no exact floats; 0.1 + 0.2 would not be 0.3.
    low, by = first / 1000, step / 1000
    last = round(low + steps * by, 3)
    found = values_of(f"{low:.3f}:{last:.3f}:{by:.3f}")
    found = found if isinstance(found, list) else [found]
    assert found == [round(low + n * by, 3) for n in range(steps + 1)]


@pytest.mark.parametrize(
    "text", ["1:2:0", "1:2:-1", "0:8:*2", "1:8:*1", "0:1:0.0001", "8 KiB:1 MiB:*2"]
)
def test_ranges_without_end_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"found"):
        values_of(text)


def test_a_range_without_a_step_is_told_how_to_write_one(scenario: Path) -> None:
    for key, half in (("motif.message", "8KiB:64KiB"), ("nodes", "2:6")):
        with pytest.raises(ScenarioError, match=r"a range is FROM:TO:STEP"):
            sweep_study(Scenario.from_file(scenario), {f"job.0.{key}": values_of(half)})


def test_every_point_is_what_a_run_of_it_finds(scenario: Path) -> None:
    found = odonata.sweep(
        scenario,
        {"network.routing": ["minimal", "valiant"], "job.0.motif.iterations": [1, 2], "seed": 3},
        jobs=1,
    )
    rows = found.table.to_pylist()
    assert [(row["routing"], row["iterations"]) for row in rows] == [
        *(("minimal", 1), ("minimal", 2), ("valiant", 1), ("valiant", 2)),
    ]
    for row in rows:
        changes = {"network.routing": row["routing"], "job.0.motif.iterations": row["iterations"]}
        result = odonata.run(Scenario.from_file(scenario).with_set({**changes, "seed": 3}))
        (job,) = result.summary_dict["jobs"]
        assert row["run_time_us"] == job["run_time_ps"] / 1e6
        assert row["message_latency_p99_us"] == job["message_latency_p99_ps"] / 1e6
    assert found.directory is None
    assert "run_time_us" in found._repr_html_()
    assert len(found.plot("run_time_us").axes) == 1


def test_a_key_that_the_file_lacks_may_be_varied(scenario: Path) -> None:
    data = Scenario.from_file(scenario).to_dict()
    del data["job"][0]["motif"]["message"]
    scenario.write_text(SCENARIO.replace(', message = "16 kB"', ""))
    for lacking in (scenario, data):
        swept = odonata.sweep(lacking, {"job.0.motif.message": ["1 kB", "2 kB"]})
        assert swept.table["message"].to_pylist() == ["1 kB", "2 kB"]
        with pytest.raises(ScenarioError, match=r"motif\.message: missing"):
            odonata.sweep(lacking, {"job.0.motif.iterations": [1, 2]})


def test_keys_of_one_name_get_axes_of_two(scenario: Path) -> None:
    study = sweep_study(
        scenario,
        {
            "network.links.local.bandwidth": ["5 GB/s", "6 GB/s"],
            "network.links.global.bandwidth": ["4 GB/s", "5 GB/s"],
        },
    )
    assert [axis.column for axis in study.axis] == ["local_bandwidth", "global_bandwidth"]


def test_equal_links_and_what_is_offered_to_them(tmp_path: Path) -> None:
    job = {
        "nodes": 4,
        "traffic": {"pattern": "uniform-random", "message": "1 kB", "load": "50 %", "messages": 2},
    }
    crossbar = {"network": {"family": "crossbar", "nodes": 4}, "job": [job]}
    ring = {"network": {"family": "torus", "size": [4]}, "job": [job]}
    said: list[str] = []
    scenarios = [Scenario.from_dict(one) for one in (crossbar, ring)]
    odonata.sweep(scenarios[0], {}, networks=scenarios, jobs=1, notice=said.append)
    # By default all links of all families carry the same.
    assert said == []
    loads = {"job.0.traffic.load": [1.0, 1.5, 2.0]}
    odonata.sweep(scenarios[0], loads, jobs=1, notice=said.append)
    assert said == [
        "job.0.traffic.load is above 1: the job offers more than the links of its nodes carry, "
        "and the rest piles up"
    ]


def test_networks_of_other_scenarios_are_tried(scenario: Path, tmp_path: Path) -> None:
    (tmp_path / "torus.toml").write_text(TORUS)
    said: list[str] = []
    both = [scenario, tmp_path / "torus.toml"]
    found = odonata.sweep(scenario, {}, networks=both, jobs=1, notice=said.append)
    assert said == [
        "Links of the networks differ in bandwidth (small: terminal 16.0 GB/s, local 5.00 GB/s, "
        "global 4.00 GB/s; torus: terminal 16.0 GB/s, dim1 and dim2 5.00 GB/s)."
    ]
    rows = found.table.to_pylist()
    assert [row["network"] for row in rows] == ["small", "torus"]
    torus = Scenario.from_file(tmp_path / "torus.toml")
    (job,) = odonata.run(torus).summary_dict["jobs"]
    assert rows[1]["run_time_us"] == job["run_time_ps"] / 1e6


def test_the_scenarios_own_network_takes_part_only_if_asked(scenario: Path, tmp_path: Path) -> None:
    (tmp_path / "torus.toml").write_text(TORUS)
    study = sweep_study(
        scenario, {"network.router.delay": "70 ns"}, networks=[tmp_path / "torus.toml"]
    )
    ((label, changed),) = study.axis[0].settings()
    assert label == "torus"
    # A single value of the network is one of all that are tried.
    assert changed["network"]["router"]["delay"] == "70 ns"


def two_jobs(scenario: Path) -> None:
    text = scenario.read_text().replace("nodes = 6", "nodes = 3")
    scenario.write_text(text + text[text.index("[[job]]") :].replace('"shuffle"', '"sum, v1.5"'))


def test_each_job_has_its_figures(scenario: Path) -> None:
    two_jobs(scenario)
    key = "job.sum, v1.5.motif.message"
    found = odonata.sweep(scenario, {key: ["16 kB", "32 kB"]}, jobs=1)
    names = ["run_time_us", "message_latency_mean_us", "message_latency_p99_us"]
    of_jobs = [f"{job}_{name}" for job in ("shuffle", "sum_v1_5") for name in names]
    assert [measure.column_name for measure in found.study.measure] == [*of_jobs, "busiest_link"]
    for row in found.table.to_pylist():
        both = {key: row["message"]}
        for job in odonata.run(Scenario.from_file(scenario).with_set(both)).summary_dict["jobs"]:
            column = "shuffle" if job["name"] == "shuffle" else "sum_v1_5"
            assert row[f"{column}_run_time_us"] == job["run_time_ps"] / 1e6
    # Frames have what is looked at; every figure has its picture, though the page shows fewer.
    assert "fingerprint" not in found.to_pandas()
    assert "fingerprint" in found.to_pandas(fingerprint=True)
    assert len(found.study.figure) == 3
    assert len(found.plot("shuffle_message_latency_p99_us").axes) == 1
    # Names that a sweep changes are no names of figures.
    renamed = sweep_study(scenario, {"job.0.name": ["a", "b"]})
    assert renamed.measure[0].figure == "job.*.run_time_ps"


def test_last_parts_of_keys_name_them(scenario: Path) -> None:
    two_jobs(scenario)
    what = Scenario.from_file(scenario)
    assert full_key(what, "routing") == "network.routing"
    assert full_key(what, "seed") == "seed"
    assert full_key(what, "local_bandwidth") == "network.links.local.bandwidth"
    # Every job has it, with a table of its own.
    assert full_key(what, "placement") == "job.*.placement"
    assert full_key(what, "motif_message") == "job.*.motif.message"
    found = odonata.sweep(what.to_dict(), routing=["minimal", "valiant"], iterations=2, jobs=1)
    assert found.table["routing"].to_pylist() == ["minimal", "valiant"]
    by_key = odonata.run(scenario, set={"network.routing": "valiant", "job.*.motif.iterations": 2})
    expected = by_key.summary_dict["jobs"][0]["run_time_ps"] / 1e6
    assert found.table["shuffle_run_time_us"][1].as_py() == expected


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("rooting", r"no key ends so; .*did you mean routing\?"),
        ("bandwidth", "several keys end so; .*network.links.local.bandwidth"),
    ],
)
def test_names_of_no_one_key_are_refused(name: str, message: str, scenario: Path) -> None:
    with pytest.raises(ScenarioError, match=message):
        odonata.sweep(scenario, **{name: ["a", "b"]})


@pytest.mark.parametrize("width", [60, 80, 200, None])
def test_nothing_of_the_table_is_cut(
    width: int | None, scenario: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_jobs(scenario)
    values = "network.routing=minimal,valiant"
    placements = "job.shuffle.placement=contiguous,random-node"
    done = call("sweep", "small.toml", "--set", values, "--set", placements, directory=tmp_path)
    assert done.returncode == 0, done.stderr
    if width is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", str(width))
    shown = call("show", "results/small-sweep", directory=tmp_path).stdout
    lines = [line.rstrip() for line in shown.splitlines()]
    assert "…" not in shown
    heads = sum(line.lstrip().startswith("routing   placement") for line in lines)
    assert sum("random-node" in line for line in lines) == 2 * heads
    # A table per job, and one of the run; all in one where there is room.
    assert heads == {60: 3, 80: 3, 200: 1, None: 1}[width]
    assert lines.count("shuffle") == lines.count("sum, v1.5") == (heads > 1)
    assert width is None or max(map(len, lines)) <= width


def test_the_command_goes_on_and_leaves_a_study(scenario: Path, tmp_path: Path) -> None:
    command = ("sweep", "small.toml", "--set", "network.routing=minimal,valiant", "--jobs", "1")
    done = call(*command, "--json", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["directory"] == "results/small-sweep"
    assert [point["routing"] for point in answer["points"]] == ["minimal", "valiant"]
    directory = tmp_path / answer["directory"]
    kept = (directory / "points.jsonl").read_bytes()
    dataset = (directory / "dataset.parquet").read_bytes()

    # A value more: what is there is not simulated again.
    more = [*command[:3], "network.routing=minimal,valiant,par", *command[4:]]
    done = call(*more, directory=tmp_path)
    assert done.returncode == 0, done.stderr
    grown = (directory / "points.jsonl").read_bytes()
    assert grown.startswith(kept)
    assert grown.count(b"\n") == 3
    assert "par" in done.stdout

    # The study that it could have been finds the same.
    done = call(*command, "--out", "again", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    done = call("study", "again/study.toml", "--out", "study", "--jobs", "1", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "study" / "dataset.parquet").read_bytes() == dataset
    assert call("show", "again", directory=tmp_path).returncode == 0
    study = odonata.run_study(
        tmp_path / "again" / "study.toml", only="routing == 'valiant'", jobs=1
    )
    (row,) = study.table.to_pylist()
    assert row == pq.read_table(directory / "dataset.parquet").to_pylist()[1]
    assert call("report", "again", directory=tmp_path).returncode == 0


def test_a_point_that_cannot_be_is_told_and_the_others_go_on(
    scenario: Path, tmp_path: Path
) -> None:
    out = tmp_path / "swept"
    # The machine has 6 nodes.
    line = ("sweep", "small.toml", "--set", "job.shuffle.nodes=4,600", "--out", str(out))
    routings = ("--set", "network.routing=minimal,valiant")
    done = call(*line, *routings, directory=tmp_path)
    assert done.returncode == 3
    why = "job[0].nodes: found a job of 600 nodes; allowed: at most 6, all nodes of the machine"
    named = "nodes=600, routing=minimal; nodes=600, routing=valiant"
    for text in (done.stdout, call("show", str(out), directory=tmp_path).stdout):
        assert f"Failed: {named}: {why}" in " ".join(text.split())
    assert "2 of 4 points failed" in done.stderr and "failed.json says why" in done.stderr
    table = pq.read_table(out / "dataset.parquet", partitioning=None)
    assert table["nodes"].to_pylist() == [4, 4]
    failed = json.loads((out / "failed.json").read_text())["points"]
    assert [(row["nodes"], row["routing"], row["error"]) for row in failed] == [
        (600, "minimal", why),
        (600, "valiant", why),
    ]
    told = call(*line, *routings, "--json", directory=tmp_path)
    answer = json.loads(told.stdout)
    assert (len(answer["points"]), len(answer["failed"]), told.returncode) == (2, 2, 3)
    with pytest.warns(RuntimeWarning, match=r"1 points failed \(see `failed`\)"):
        swept = odonata.sweep(scenario, {"job.shuffle.nodes": [4, 600]})
    assert (swept.table.num_rows, swept.failed[0]["nodes"]) == (1, 600)
    # Where none can be, nothing is left.
    alone = call("sweep", "small.toml", "--set", "job.shuffle.nodes=600,700", directory=tmp_path)
    assert alone.returncode == 3 and "at the point nodes=" in alone.stderr
    # A value that is wrong everywhere is a mistake, of which one is told before anything runs.
    wrong = call("sweep", "small.toml", "--set", "network.routing=minimal,parr", directory=tmp_path)
    assert wrong.returncode == 2 and 'found "parr"' in wrong.stderr


def test_tables_and_lists_are_values_of_an_axis(scenario: Path) -> None:
    routing = {"algorithm": "ugal-l", "threshold": "1 KiB"}
    found = sweep_study(scenario, {"network.routing": ["minimal", routing], "network.a": [2, 4]})
    labels = [[label for label, _ in axis.settings()] for axis in found.axis]
    assert labels == [["minimal", "ugal-l threshold=1 KiB"], [2, 4]]
    assert [axis.column for axis in found.axis] == ["routing", "a"]
    assert values_of('minimal,{algorithm="ugal-l",threshold="1 KiB"}') == ["minimal", routing]
    torus = scenario.with_name("torus.toml")
    torus.write_text(TORUS)
    swept = odonata.sweep(torus, {"network.size": [[3, 2], [6, 2]]}, measure=["run.nodes"])
    assert swept.table["size"].to_pylist() == ["[3, 2]", "[6, 2]"]
    # A list of tables is what some keys take: one value.
    draws = [{"share": "10%", "class": "global"}]
    assert not sweep_study(scenario, {"failures.draw": draws, "network.a": [2, 4]}).axis[1:]


def test_measures_of_one_quantity_are_told_apart(scenario: Path) -> None:
    text = scenario.read_text().replace("nodes = 6", "nodes = 3")
    other = text[text.index("[[job]]") :].replace('"shuffle"', '"other job"')
    scenario.write_text(text + other.replace("16 kB", "32 kB"))
    figures = ["job.shuffle.run_time_ps", "job.other job.run_time_ps"]
    figures += ["job.*.run_time_ps", "job.*.run_time_ps:minimum"]
    found = odonata.sweep(scenario, {}, measure=figures, repetitions=2, jobs=1)
    names = ["shuffle_run_time_us", "other_job_run_time_us"]
    names += ["maximum_run_time_us", "minimum_run_time_us"]
    assert [measure.column_name for measure in found.study.measure] == names
    for row in found.table.to_pylist():
        one, other_job, most, least = (row[name] for name in names)
        # The other job sends twice as much.
        assert least == one < other_job == most
    # What nothing else is called like keeps its name.
    alone = sweep_study(scenario, {}, measure=figures[1:2], repetitions=2)
    assert [measure.column_name for measure in alone.measure] == ["run_time_us"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "found nothing to vary"),
        (("--set", "network.routing"), 'found "network.routing"; allowed: KEY=VALUE,VALUE'),
        (("--set", "network.p=1:2:0"), "found the step 0"),
        (("--set", "network.routing=minimal,fastest"), "fastest"),
        (("--set", "network.rooting=minimal,par"), "rooting"),
        (("--seeds", "2", "--measure", "job.*.speed"), "the quantity speed"),
        (("--set", "seed=1,2"), "use --seeds"),
        (
            ("--seeds", "2", *2 * ("--measure", "job.shuffle.run_time_ps")),
            'found "job.shuffle.run_time_ps" twice',
        ),
    ],
)
def test_what_cannot_be_swept_is_said(
    arguments: tuple[str, ...], message: str, scenario: Path, tmp_path: Path
) -> None:
    done = call("sweep", scenario, *arguments, directory=tmp_path)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert not (tmp_path / "results").exists()


def test_the_table_shows_points_while_others_run(scenario: Path) -> None:
    terminal = Console(file=io.StringIO(), force_terminal=True, width=100, height=30)
    drawn: list[str] = []
    study = sweep_study(scenario, {"network.routing": ["minimal", "valiant"]})
    with LiveTable(terminal, study) as live:

        def seen(point: object, values: object) -> None:
            live.seen(point, values)  # type: ignore[arg-type]
            plain = Console(file=io.StringIO(), width=100)
            plain.print(live.__rich__())
            drawn.append(plain.file.getvalue())  # type: ignore[attr-defined]

        odonata.sweep(
            scenario,
            {"network.routing": ["minimal", "valiant"]},
            jobs=1,
            progress=live,
            seen=seen,
        )
    assert len(drawn) == 2
    assert ("minimal" in drawn[0]) != ("valiant" in drawn[0])
    assert "minimal" in drawn[1]
    assert "valiant" in drawn[1]
    assert "█" in drawn[1]
