"""Study files: what they declare, what is wrong with bad ones, and what comes out of a sweep."""

import csv
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from odonata import Scenario, ScenarioError, run
from odonata.cli.commands import odonata
from odonata.cli.study import LIBRARY
from odonata.errors import OutputError
from odonata.files import fingerprint_of
from odonata.schema import study_schema
from odonata.study.cells import Cell
from odonata.study.dataset import DATASET_FILE, dataset_schema, read_dataset
from odonata.study.expression import Condition, ConditionError
from odonata.study.file import StudyFile
from odonata.study.findings import judge
from odonata.study.local import LocalExecutor
from odonata.study.measures import Measure
from odonata.study.run import STORE_FILE, estimate, run_sweep
from odonata.study.sweep import Sweep
from odonata.study.task import Outcome, Task, TaskError
from odonata.summary import JOB_FIGURES, LINK_CLASS_FIGURES, RUN_FIGURES
from odonata.toml_source import parse_toml

#: 2 arrangements × (minimal, valiant with 2 alphas) × 2 seeds.
STUDY = """
title = "Small"
repetitions = 2

[scenario]
network = { family = "dragonfly", p = 1, a = 2, h = 1 }
[[scenario.job]]
nodes = 6
mapping = "random"
motif = { kind = "all-to-all", message = "64 KiB", iterations = 4 }

[[axis]]
key = "network.arrangement"
values = ["absolute", "relative"]

[[axis]]
key = "network.routing"
values = ["minimal", "valiant"]

[[axis]]
name = "alpha"
key = "network.links.global.bandwidth"
values = [0.5, 2]
format = "{} GB/s"
when = "routing == 'valiant'"

[[measure]]
figure = "job.*.run_time_ps"
reduce = "maximum"
unit = "us"

[[measure]]
name = "busiest_global"
table = "links"
column = "utilisation"
only = "kind == 'global'"
reduce = "maximum"

[[figure]]
name = "run-time"
x = "alpha"
y = "run_time_us"
series = "arrangement"
only = "routing == 'valiant'"
relative_to = "arrangement == 'absolute' and alpha == 0.5"

[[finding]]
claim = "More bandwidth helps"
source = "nobody, table 0"
quantity = "difference"
y = "run_time_us"
this = "alpha == 2"
to = "alpha == 0.5"
at_most = -1

[quick]
only = "arrangement == 'absolute'"
repetitions = 1
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


def changed(file: Path, old: str, new: str) -> Path:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")
    return file


# --- Points ---------------------------------------------------------------------------


def test_axes_combine_and_conditional_ones_only_where_they_apply(file: Path) -> None:
    sweep = Sweep(StudyFile.from_file(file))
    combinations = [tuple(p.axes.values()) for p in sweep.points if p.scenario.seed == 1]
    assert combinations == [
        (arrangement, routing, alpha)
        for arrangement in ("absolute", "relative")
        for routing, alpha in (("minimal", None), ("valiant", 0.5), ("valiant", 2))
    ]
    assert [p.scenario.seed for p in sweep.points] == [1, 2] * 6
    assert [p.number for p in sweep.points] == list(range(12))
    last = sweep.points[-1].scenario.to_dict()
    assert last["network"]["links"]["global"]["bandwidth"] == "2 GB/s"
    # 6 · 5 messages of 16 packets, 4 times; 6.5 links each for Valiant.
    assert sweep.points[-1].packet_hops == 6 * 5 * 16 * 4 * 6.5
    quick = Sweep(StudyFile.from_file(file), quick=True)
    assert len(quick.points) == 3
    # What --quick leaves the same is the same point: a full study reuses it.
    assert {p.fingerprint() for p in quick.points} < {p.fingerprint() for p in sweep.points}
    assert [p.number for p in sweep.select("alpha == 2 and seed == 1")] == [4, 10]


def test_zipped_axes_and_settings_and_all_jobs(file: Path) -> None:
    text = """
[[axis]]
name = "size"
setting = [
    { label = "small", set = { "network.p" = 1, "job.0.nodes" = 6 } },
    { label = "large", set = { "network.p" = 2, "job.*.nodes" = 12 } },
]
zip = "machine"

[[axis]]
key = ["job.*.motif.message", "simulation.packet"]
name = "message"
values = ["1 KiB", "2 KiB"]
zip = "machine"

[[measure]]
figure = "job.*"""
    study = StudyFile.from_file(changed(file, '\n[[measure]]\nfigure = "job.*', text))
    points = Sweep(study).select("arrangement == 'absolute' and routing == 'minimal' and seed == 1")
    assert [(p.axes["size"], p.axes["message"]) for p in points] == [
        ("small", "1 KiB"),
        ("large", "2 KiB"),
    ]
    large = points[1].scenario
    assert (large.job[0].nodes, str(large.simulation.packet)) == (12, "2 KiB")


def test_rules_set_what_follows_from_the_axes(file: Path) -> None:
    rule = """
[[rule]]
when = "alpha == 2"
set = { "job.0.motif.iterations" = 8, "network.routing.via" = "router" }

[quick]
"""
    sweep = Sweep(StudyFile.from_file(changed(file, "\n[quick]\n", rule)))
    found = {
        (p.axes["alpha"], p.scenario.to_dict()["job"][0]["motif"]["iterations"])
        for p in sweep.points
    }
    assert found == {(None, 4), (0.5, 4), (2, 8)}
    with pytest.raises(
        ScenarioError, match=r"rule\[0\]\.set: job\[0\]\.motif\.iterations: found 0"
    ):
        Sweep(
            StudyFile.from_file(
                changed(file, '"job.0.motif.iterations" = 8', '"job.0.motif.iterations" = 0')
            )
        )


def test_repetitions_by_condition_and_seeds(file: Path) -> None:
    new = """seeds = [7, 9, 11]
repetitions = [{ when = "routing == 'minimal'", count = 1 }, { count = 3 }]"""
    sweep = Sweep(StudyFile.from_file(changed(file, "repetitions = 2\n", new + "\n")))
    seeds = [p.scenario.seed for p in sweep.select("arrangement == 'absolute'")]
    assert seeds == [7] + [7, 9, 11] * 2


@pytest.mark.parametrize(
    ("condition", "values", "holds"),
    [
        ("a == 1 and b in ['x', 'y']", {"a": 1, "b": "y"}, True),
        ("not a >= 2 or b != 'x'", {"a": 2, "b": "x"}, False),
        ("0 < a < 2", {"a": 1.5, "b": ""}, True),
        ("b == '1000 kB'", {"a": 0, "b": "1 MB"}, True),
        ("b < '1 MB'", {"a": 0, "b": "100 kB"}, True),
        ("a > 1", {"a": None, "b": ""}, False),
        ("a == none", {"a": None, "b": ""}, True),
        ("a != 1", {"a": None, "b": ""}, True),
        ("a == -1", {"a": -1, "b": ""}, True),
    ],
)
def test_conditions(condition: str, values: dict[str, object], holds: bool) -> None:
    assert Condition(condition, values).holds(values) is holds


@pytest.mark.parametrize(
    ("condition", "values", "fails"),
    [
        # Values that are still to come decide nothing, unless the others do.
        ("a == 1 and b == 2", {"a": 2}, True),
        ("a == 1 and b == 2", {"b": 1}, True),
        ("a == 1 and b == 2", {"a": 1}, False),
        ("a == 1 or b == 2", {"a": 2}, False),
        ("a == 1 or b == 2", {"a": 2, "b": 1}, True),
        ("not (a == 1 or b == 2)", {"a": 1}, True),
        ("not (a == 1 and b == 2)", {"a": 1}, False),
        ("b not in [1, a]", {"b": 1}, False),
        ("0 < a < b", {"a": -1}, False),
        ("a == 1", {}, False),
        ("a != b", {}, False),
    ],
)
def test_a_condition_fails_as_soon_as_nothing_can_save_it(
    condition: str, values: dict[str, object], fails: bool
) -> None:
    assert Condition(condition, ["a", "b"]).fails(values) is fails


@pytest.mark.parametrize(
    "text", ["a +", "a + 1 == 2", "__import__('os')", "a.b == 1", "c == 1", "a is 1", "a in b", ""]
)
def test_no_conditions(text: str) -> None:
    with pytest.raises(ConditionError, match="allowed"):
        Condition(text, ["a", "b"])


# --- Bad files ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "path", "message"),
    [
        ("repetitions = 2", "repetition = 2", "repetition", "did you mean `repetitions`"),
        ("repetitions = 2", "repetitions = 0", "repetitions", "at least 1"),
        ('"relative"]', '"relativ"]', "axis[0].values[1]", 'network.arrangement: found "relativ"'),
        ('"relative"]', "[1]]", "axis[0].values[1]", "give the others `labels`"),
        (
            'key = "network.arr',
            'name = "arrangement"\nkey = "network.ar',
            "axis[0].values[0]",
            "unknown key",
        ),
        (
            '"network.arrangement"',
            '"job.3.x"\nname = "arrangement"',
            "axis[0].values[0]",
            "an index from 0 to 0",
        ),
        ('when = "routing ==', 'when = "routin ==', "axis[2].when", "did you mean routing"),
        ("values = [0.5, 2]", 'values = [0.5, "fast"]', "axis[2].values[1]", "bandwidth"),
        ('name = "alpha"', 'name = "routing"', "axis[2].name", "differs from that of axis[1]"),
        ('name = "alpha"', 'name = "seed"', "axis[2].name", "a column of every dataset"),
        ("run_time_ps", "run_tim_ps", "measure[0].figure", "did you mean run_time_ps"),
        ('unit = "us"', 'unit = "MB"', "measure[0].unit", "ps, ns, us, ms, s"),
        ('column = "utilisation"', 'column = "class"', "measure[1].column", "utilisation"),
        ("kind == 'global'", "kin == 'global'", "measure[1].only", "did you mean kind"),
        ('x = "alpha"', 'x = "beta"', "figure[0].x", "an axis: arrangement, routing, alpha"),
        ("at_most = -1", "", "finding[0].at_most", "or `at_least`"),
        ("p = 1, ", 'p = "1", ', "scenario", "network.p: found"),
        ("[scenario]\n", 'base = "x.toml"\n[scenario]\n', "base", "exactly one of"),
        ("repetitions = 2", "repetitions = 2\nseeds = [1]", "seeds", "found 1 seeds"),
        ("[quick]\n", "[quick]\nset = { seed = -1 }\n", "quick.set", "seed: found -1"),
    ],
)
def test_bad_files(file: Path, old: str, new: str, path: str, message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        Sweep(StudyFile.from_file(changed(file, old, new)), quick="[quick]" in new)
    told = str(caught.value)
    assert told.startswith(f"{file}: ") and f": {path}: " in told
    assert message in str(caught.value)


def test_figures_and_findings_must_be_of_one_place(file: Path, tmp_path: Path) -> None:
    study = StudyFile.from_file(changed(file, 'this = "alpha == 2"', 'this = "alpha >= 0"'))
    table = run_sweep(Sweep(study), tmp_path / "out", executor=Instant())
    with pytest.raises(ScenarioError, match=r"finding\[0\]\.this: .* holds for 2 points"):
        judge(study, table)
    changed(file, 'series = "arrangement"\n', "")
    from odonata.study.drawing import draw

    with pytest.raises(ScenarioError, match=r"figure\[0\]: found several .* arrangement vary"):
        draw(StudyFile.from_file(file), table, tmp_path)


def test_schema_accepts_what_the_models_accept(file: Path) -> None:
    from odonata.scenario import tomllib

    check = jsonschema.Draft202012Validator(study_schema())
    examples = Path(__file__).resolve().parents[2] / "examples" / "studies"
    assert list(examples.glob("*.toml"))
    for path in (file, *LIBRARY.glob("*.toml"), *examples.glob("*.toml")):
        check.validate(tomllib.loads(path.read_text(encoding="utf-8")))
        StudyFile.from_file(path)
    with pytest.raises(jsonschema.ValidationError):
        check.validate({"title": "no measures"})


# --- Running --------------------------------------------------------------------------


class Instant:
    """Makes outcomes up at once: the run time is 10 µs for alpha 2, else 20 µs plus the seed."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    def run(self, tasks: list[Task], report: object) -> Iterator[tuple[Task, Outcome]]:
        from odonata import _engine

        for task in tasks:
            self.ran.append(task.name)
            seed = task.scenario.get("seed", 1)
            time_us = 10.0 if "alpha=2" in task.name else 20.0 + seed
            values = {"run_time_us": time_us, "busiest_global": None}
            yield (
                task,
                Outcome(values, 1.0, _engine.VERSION, _engine.SOURCES, task.scenario_fingerprint),
            )


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """A study file, and the dataset of a run of it that nothing disturbed."""
    directory = tmp_path_factory.mktemp("undisturbed")
    file = directory / "small.toml"
    file.write_text(STUDY, encoding="utf-8")
    table = run_sweep(Sweep(StudyFile.from_file(file)), directory / "out")
    assert len(table) == 12
    assert all(value > 0 for value in table["run_time_us"].to_pylist())
    return file, (directory / "out" / DATASET_FILE).read_bytes()


def test_dataset_has_its_documented_columns(undisturbed: tuple[Path, bytes]) -> None:
    file, _ = undisturbed
    table = read_dataset(file.parent / "out")
    study = StudyFile.from_file(file)
    assert table.schema.equals(dataset_schema(study), check_metadata=True)
    assert [(field.name, str(field.type)) for field in table.schema] == [
        ("point", "int32"),
        ("arrangement", "string"),
        ("routing", "string"),
        ("alpha", "double"),
        ("seed", "int64"),
        ("run_time_us", "double"),
        ("busiest_global", "double"),
        ("saturated", "list<element: string>"),
        ("fingerprint", "string"),
        ("version", "string"),
    ]
    assert table.schema.field("run_time_us").metadata[b"unit"] == "µs".encode()
    row = table.to_pylist()[4]
    point = Sweep(study).points[4]
    import odonata

    result = odonata.run(point.scenario)
    assert row["run_time_us"] == result.jobs["end_ps"][0].as_py() / 1e6
    links = result.to_pandas("links")
    assert row["busiest_global"] == links[links.kind == "global"].utilisation.max()
    assert row["fingerprint"] == fingerprint_of(point.scenario)


def test_killed_ten_times_it_ends_with_the_same_bytes(
    undisturbed: tuple[Path, bytes], tmp_path: Path
) -> None:
    file, expected = undisturbed
    out = tmp_path / "out"
    command = [sys.executable, "-c", "from odonata.cli import main; main()", "study", str(file)]
    command += ["--out", str(out), "--jobs", "2"]
    chance = random.Random(1)
    kills = 0
    grown: set[int] = set()
    while kills < 10:
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        # Up to the moment when it has begun to keep points, then a little further.
        store = out / STORE_FILE
        before = store.stat().st_size if store.exists() else 0
        until = time.monotonic() + 300
        while time.monotonic() < until and process.poll() is None:
            if store.exists() and store.stat().st_size > before:
                break
            time.sleep(0.002)
        time.sleep(chance.random() * 0.03)
        process.kill()
        process.wait()
        kills += 1
        grown.add(store.stat().st_size if store.exists() else 0)
        if (out / DATASET_FILE).exists():
            # It was done before the last kills: begin again with a part, the last line cut.
            (out / DATASET_FILE).unlink()
            lines = store.read_bytes().splitlines(keepends=True)
            store.write_bytes(b"".join(lines[:2]) + lines[2][:40])
    assert len(grown) > 2
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "12 of 12 points are done" in done.stdout
    assert (out / DATASET_FILE).read_bytes() == expected
    names = [json.loads(line)["name"] for line in store.read_text().splitlines()]
    assert len(names) == len(set(names)) == 12, "points were repeated"


def test_workers_end_with_the_study(tmp_path: Path, file: Path) -> None:
    """A worker that outlived a killed study would compute on for nobody."""
    changed(file, "iterations = 4", "iterations = 100000")
    command = [sys.executable, "-c", "from odonata.cli import main; main()", "study", str(file)]
    process = subprocess.Popen([*command, "--out", str(tmp_path / "out"), "--jobs", "2"])
    children: list[int] = []
    until = time.monotonic() + 20
    tasks = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not tasks.exists():
        process.kill()
        pytest.skip("this system does not list a process' children")
    while len(children) < 2 and time.monotonic() < until:
        children = [int(pid) for pid in tasks.read_text().split()]
        time.sleep(0.05)
    time.sleep(1.0)
    process.kill()
    process.wait()
    assert len(children) >= 2
    until = time.monotonic() + 10
    while time.monotonic() < until and any(_lives(pid) for pid in children):
        time.sleep(0.05)
    assert not [pid for pid in children if _lives(pid)]


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_only_what_is_missing_is_simulated(file: Path, tmp_path: Path) -> None:
    sweep = Sweep(StudyFile.from_file(file))
    out = tmp_path / "out"
    first = Instant()
    table = run_sweep(sweep, out, points=sweep.select("routing == 'minimal'"), executor=first)
    assert (len(first.ran), len(table)) == (4, 4)
    now = estimate(sweep.points, out)
    assert (now.points, now.done, now.measured) == (12, 4, True)
    # A second of processor time for each of 4; the others have 6.5 hops instead of 4.5.
    assert now.cpu_s == pytest.approx(8 * 6.5 / 4.5)
    second = Instant()
    assert len(run_sweep(sweep, out, executor=second)) == 12
    assert not set(first.ran) & set(second.ran)
    # Another measure is another record.
    changed(file, 'reduce = "maximum"\nunit', 'reduce = "minimum"\nunit')
    third = Instant()
    told: list[str] = []
    run_sweep(Sweep(StudyFile.from_file(file)), out, executor=third, notice=told.append)
    assert "12 that were simulated before" in told[0]
    assert "something else is measured" in told[0]
    assert len(third.ran) == 12


def test_findings_are_computed(file: Path, tmp_path: Path) -> None:
    study = StudyFile.from_file(file)
    table = run_sweep(Sweep(study), tmp_path / "out", executor=Instant())
    (verdict,) = judge(study, table)
    # Made up: 10 µs with alpha 2, 21 and 22 µs with alpha 0.5.
    assert [one.ours.value for one in verdict.observations] == [
        pytest.approx(100 * (10 / 21.5 - 1))
    ] * 2
    assert verdict.text == "holds"
    other = StudyFile.from_file(changed(file, "at_most = -1", "at_least = 10"))
    assert judge(other, table)[0].text == "does not hold"
    part = table.filter([row["arrangement"] == "" for row in table.to_pylist()])
    assert judge(other, part)[0].text == "not measured"


def test_best_range_and_scatter(file: Path, tmp_path: Path) -> None:
    text = """
[[finding]]
claim = "a"
source = "b"
quantity = "best"
y = "run_time_us"
only = "routing == 'valiant'"
over = ["alpha"]
values = { alpha = ALPHA }

[[finding]]
claim = "c"
source = "d"
quantity = "range"
y = "run_time_us"
over = ["arrangement"]
at_most = 1

[[finding]]
claim = "e"
source = "f"
quantity = "scatter"
y = "run_time_us"
only = "alpha != 2"
at_least = 4
at_most = 5
extreme = "largest"

[quick]
"""
    changed(file, "\n[quick]\n", text)
    original = file.read_text(encoding="utf-8")
    found = []
    for alpha in ("2", "0.5"):
        file.write_text(original.replace("ALPHA", alpha), encoding="utf-8")
        study = StudyFile.from_file(file)
        table = run_sweep(Sweep(study), tmp_path / f"out-{alpha}", executor=Instant())
        found.append([verdict.text for verdict in judge(study, table)[1:]])
    # (22 − 21) / 21.5 = 4.65 %; arrangements do not differ.
    assert found == [["holds"] * 3, ["does not hold", "holds", "holds"]]


def test_values_and_ratios(file: Path, tmp_path: Path) -> None:
    """Made up: 10 µs with alpha 2, 21 and 22 µs with alpha 0.5. Slack is a share of what is
    published: 25 µs less 14 % are 21.5 µs, the mean."""
    text = """
[[finding]]
claim = "a"
source = "b"
quantity = "value"
y = "run_time_us"
only = "alpha != 2 and arrangement == ''"
at_least = 25
at_most = 25
slack = SLACK

[[finding]]
claim = "c"
source = "d"
quantity = "ratio"
y = "run_time_us"
only = "arrangement == ''"
this = "alpha != 2"
to = "alpha == 2"
at_least = 2.1
at_most = 2.2
"""
    whole = file.read_text()
    for slack, word in ((14.1, "holds"), (13.9, "not excluded")):
        file.write_text(whole + text.replace("SLACK", str(slack)).replace("''", "'absolute'"))
        study = StudyFile.from_file(file)
        table = run_sweep(Sweep(study), tmp_path / f"out-{slack}", executor=Instant())
        value, ratio = judge(study, table)[1:]
        assert (value.unit, ratio.unit) == ("µs", "×")
        assert [one.ours.value for one in value.observations] == [pytest.approx(21.5)] * 2
        assert [one.ours.value for one in ratio.observations] == [pytest.approx(2.15)]
        # An interval of two repetitions is wide: what lies outside may still not be excluded.
        wide = {one.ours.high - one.ours.low for one in value.observations}
        assert min(wide) > 5
        assert value.text == word
        assert ratio.text == "holds"
        assert value.published == f"25 µs ± {slack} %"
        assert value.ours.startswith("21.5")


def test_boxes_of_quantiles(file: Path, tmp_path: Path) -> None:
    """A box that is drawn from five measures; here all of them the same, so that it is flat."""
    from odonata.study.drawing import draw

    changed(file, "relative_to = \"arrangement == 'absolute' and alpha == 0.5\"\n", "")
    boxes = f'kind = "box"\nshare_y = false\nquantiles = {["run_time_us"] * 5}\n'
    study = StudyFile.from_file(changed(file, 'x = "alpha"\n', f'x = "alpha"\n{boxes}'))
    table = run_sweep(Sweep(study), tmp_path / "out", executor=Instant())
    drawn = draw(study, table, tmp_path)
    assert all(path.stat().st_size > 5_000 for path in drawn)
    with pytest.raises(ScenarioError, match=r"quantiles: .*allowed: no value, but with kind"):
        StudyFile.from_file(changed(file, 'kind = "box"', 'kind = "bar"'))


CURVE = """
title = "A curve"

[scenario]
network = { family = "dragonfly", p = 1, a = 2, h = 1 }
[scenario.simulation]
duration = "20 us"
[[scenario.job]]
name = "load"
nodes = 6
traffic = { pattern = "uniform-random", message = "1 kB", load = 0.1 }

[[axis]]
name = "load"
key = "job.0.traffic.load"
values = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]

[[measure]]
figure = "job.load.message_latency_mean_ps"
unit = "ns"
name = "latency"

[[measure]]
figure = "link_class.global.utilisation_mean"

[[figure]]
name = "curve"
x = "load"
y = "latency_ns"

[[figure]]
name = "links"
x = "load"
y = "utilisation_mean"
"""


class Overloaded:
    """A load from which on traffic piles up, and one at which nothing arrives any more."""

    def run(self, tasks: list[Task], report: object) -> Iterator[tuple[Task, Outcome]]:
        from odonata import _engine

        for task in tasks:
            load = task.scenario["job"][0]["traffic"]["load"]
            latency = None if load == 0.2 else float("nan") if load == 0.6 else 100 * load
            values = {"latency_ns": latency, "utilisation_mean": load}
            saturated = ["load"] if load > 0.35 else []
            outcome = Outcome(
                values,
                1.0,
                _engine.VERSION,
                _engine.SOURCES,
                task.scenario_fingerprint,
                saturated,
            )
            yield task, outcome


def test_points_beyond_saturation_and_without_a_value_are_told_apart(tmp_path: Path) -> None:
    from odonata.study import drawing

    (tmp_path / "curve.toml").write_text(CURVE, encoding="utf-8")
    study = StudyFile.from_file(tmp_path / "curve.toml")
    table = run_sweep(Sweep(study), tmp_path / "out", executor=Overloaded())
    assert table["saturated"].to_pylist() == [[], [], [], ["load"], ["load"], ["load"]]
    seen: dict[str, Any] = {}

    def keep(figure: Any, path: Path) -> None:
        seen[path.stem] = figure

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "save", keep)
        drawing.draw(study, table, tmp_path)
    lines = seen["curve"].axes[0].lines

    def places(marker: str, alpha: float | None) -> list[float]:
        chosen = [x for x in lines if x.get_marker() == marker and (x.get_alpha() or 1.0) == alpha]
        return [round(float(x), 6) for line in chosen for x in line.get_xdata()]

    assert places("o", 1.0) == [0.1, 0.3]
    assert places("o", 0.4) == [0.4, 0.5]
    assert places("x", 1.0) == [0.2, 0.6]
    # No line leads over the point without a value, and those to saturated points are dotted.
    joined = {
        (tuple(line.get_xdata()), line.get_linestyle())
        for line in lines
        if len(line.get_xdata()) == 2 and line.get_marker() == "None"
    }
    assert joined == {((0.3, 0.4), ":"), ((0.4, 0.5), ":")}
    words = [text.get_text() for text in seen["curve"].legends[0].get_texts()]
    assert words == ["saturated", "no value"]
    # What links carry does not grow with the time: nothing to tell there.
    assert not seen["links"].legends


def test_what_a_worker_finds_says_which_jobs_are_saturated(tmp_path: Path) -> None:
    from odonata.study.task import simulate_task

    for load, saturated in ((0.02, []), (1.0, ["load"])):
        data = Scenario.from_toml(
            """
            simulation = { packet = "256 B", warmup = "10 us", duration = "50 us" }
            [network]
            family = "dragonfly"
            p = 2
            a = 2
            h = 1
            [[job]]
            name = "load"
            nodes = 12
            traffic = { pattern = "adversarial", message = "256 B", load = 0.5 }
            """
        ).with_set([f"job.0.traffic.load={load}"])
        task = Task("key", "", "a point", data.to_dict(), str(tmp_path), [])
        assert list(simulate_task(task).saturated) == saturated


def test_an_error_says_which_point_and_keeps_the_others(file: Path, tmp_path: Path) -> None:
    changed(file, '"relative"]', '"relative"]\n[[axis]]\nkey = "job.0.nodes"\nvalues = [6, 7]')
    sweep = Sweep(StudyFile.from_file(file))
    with pytest.raises(TaskError, match=r"at the point arrangement=.*nodes=7.*job\[0\]\.nodes"):
        run_sweep(sweep, tmp_path / "out", executor=LocalExecutor(1))
    with pytest.raises(OutputError, match="another process"):
        from odonata.study.execution import Store

        held = Store(tmp_path / "out" / STORE_FILE)
        try:
            run_sweep(sweep, tmp_path / "out")
        finally:
            held.close()


def test_command_line(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"

    def call(*options: str) -> tuple[int, str]:
        result = CliRunner().invoke(odonata, ["study", str(file), "--out", str(out), *options])
        return result.exit_code, result.output + str(result.exception or "")

    code, text = call("--dry-run", "--only", "alpha == 2")
    assert code == 0
    assert "4 points, 0 of them done" in text
    assert not out.exists()
    code, text = call("--quick", "--jobs", "1")
    assert code == 0, text
    assert "3 of 3 points are done" in text
    assert "holds: More bandwidth helps" in text
    assert (out / "run-time.png").stat().st_size > 10_000
    page = (out / "study.md").read_text(encoding="utf-8")
    assert "| 1 | More bandwidth helps | nobody, table 0 | at most -1 % |" in page
    assert (out / "study.toml").read_text(encoding="utf-8") == STUDY
    assert pq.read_table(out / DATASET_FILE).num_rows == 3
    for options, message in (
        (("--only", "beta == 2"), "--only: found the name beta"),
        (("--only", "alpha == 3"), "is true of none of 12 points"),
        (("--scheduler", "tcp://x"), "--executor dask only"),
        (("--executor", "dask"), "needs either --scheduler or --slurm"),
        (("--executor", "dask", "--slurm", "cores"), "allowed: KEY=VALUE"),
    ):
        code, text = call(*options)
        assert code != 0
        assert message in text
    result = CliRunner().invoke(odonata, ["study", "valdation"])
    assert "allowed: a study file, or one of" in result.output + str(result.exception)


def test_interrupted_it_says_how_to_go_on(file: Path, tmp_path: Path) -> None:
    changed(file, "iterations = 4", "iterations = 100000")
    command = [sys.executable, "-c", "from odonata.cli import main; main()", "study", str(file)]
    process = subprocess.Popen(
        [*command, "--out", str(tmp_path / "out")],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    until = time.monotonic() + 300
    while not (tmp_path / "out" / STORE_FILE).exists() and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(0.5)
    # As a terminal does: to the study and its workers.
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "run the same command again to go on" in said


# --- Measures -------------------------------------------------------------------------


def test_known_figures_are_those_of_a_summary() -> None:
    import odonata as package
    from odonata.study.sweep import Sweep as Points

    study = StudyFile.from_dict({**_inline(), "measure": [{"figure": "run.nodes"}]})
    summary = package.run(Points(study).points[0].scenario).summary_dict
    assert set(RUN_FIGURES) <= set(summary["run"])
    assert set(JOB_FIGURES) <= set(summary["jobs"][0])
    assert set(LINK_CLASS_FIGURES) <= set(summary["link_classes"][0])


def _inline() -> dict[str, object]:

    data = parse_toml(STUDY, "study")
    return {key: data[key] for key in ("title", "scenario")}


@pytest.mark.parametrize(
    ("measure", "column"),
    [
        ({"figure": "job.left.run_time_ps"}, "run_time_ps"),
        ({"figure": "job.left.run_time_ps", "unit": "ms"}, "run_time_ms"),
        ({"figure": "job.left.run_time_ps", "unit": "ms", "name": "left"}, "left_ms"),
        ({"figure": "run.created_bytes", "unit": "GB"}, "created_gb"),
        (
            {"figure": "link_class.global.bandwidth_bytes_per_s", "unit": "GB/s"},
            "bandwidth_gb_per_s",
        ),
        ({"figure": "link_class.global.utilisation_max"}, "utilisation_max"),
        ({"table": "links", "column": "busy_ps", "reduce": "p99", "unit": "us"}, "busy_us"),
        ({"table": "links", "column": "busy_ps", "reduce": "count", "name": "links"}, "links"),
    ],
)
def test_units_are_in_the_names_of_columns(measure: dict[str, str], column: str) -> None:
    assert Measure.model_validate(measure).column_name == column


def test_rows_count_as_often_as_their_weight_says() -> None:
    """Buckets of a histogram, weighted, have the mean and deviation of the messages themselves."""
    scenario = Scenario.from_file(
        Path(__file__).parents[2] / "examples/uniform-load.toml"
    ).with_set(["simulation.duration=20us", "simulation.warmup=0 s", "record.messages=all"])
    result = run(scenario)
    latency = result.to_pandas("messages").eval("delivered_ps - created_ps").dropna()
    buckets = {"table": "histograms", "column": "high_ps", "weight": "count", "unit": "us"}
    of_messages = {**buckets, "only": "quantity == 'message_latency'"}

    def value(reduce: str) -> float:
        found = Measure.model_validate({**of_messages, "reduce": reduce}).value(result)
        assert found is not None
        return found

    # A bucket's end is at most a 128th above what is in it.
    assert latency.mean() / 1e6 <= value("mean") <= latency.mean() / 1e6 * (1 + 1 / 128)
    assert value("standard-deviation") == pytest.approx(latency.std(ddof=0) / 1e6, rel=1 / 64)
    plain = {"table": "messages", "column": "bytes", "reduce": "standard-deviation"}
    assert Measure.model_validate(plain).value(result) == 0


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"weight": "quantity"}, 'found "quantity"; allowed: job, low_ps'),
        ({"reduce": "p99"}, "only with mean, sum, standard-deviation"),
        ({"table": None, "column": None, "figure": "run.packet_hops"}, "only with `table`"),
    ],
)
def test_weights_that_cannot_be(changed: dict[str, str | None], found: str) -> None:
    given = {"table": "histograms", "column": "high_ps", "weight": "count", "reduce": "mean"}
    data = {key: value for key, value in {**given, **changed}.items() if value is not None}
    with pytest.raises(ValueError, match=re.escape(found)):
        Measure.model_validate(data)


RULED = """
title = "By intervals"
judged = "intervals"
repetitions = 5
lacking = ["Figure 9: nobody counts that."]
[scenario]
[[axis]]
name = "load"
key = "job.0.traffic.load"
values = [0.1, 0.2]
[[measure]]
figure = "job.0.message_latency_mean_ps"
name = "latency"
unit = "us"
[[parameter]]
name = "buffers of 8 KiB"
from = "fit"
source = "the first finding"
fitted_to = ["at 10 %"]
[[parameter]]
name = "T = 50 %"
from = "paper"
source = "3.1.2"
[[finding]]
claim = "at 10 %"
source = "x"
quantity = "value"
y = "latency_us"
only = "load == 0.1"
at_least = 1.0
at_most = 1.2
[[finding]]
claim = "at 20 %"
source = "x"
quantity = "value"
y = "latency_us"
only = "load == 0.2"
at_least = 2.0
at_most = 2.2
slack = 0
"""


def _judged(values: list[float], *, quick: bool = False) -> list[str]:
    study = StudyFile.from_dict(parse_toml(RULED, "study"))
    return [verdict.text for verdict in judge(study, _measured(values), quick=quick)]


def _measured(values: list[float]) -> pa.Table:
    """The same values at both loads."""
    rows = [(load, seed, value) for load in (0.1, 0.2) for seed, value in enumerate(values)]
    load, seed, latency = (list(column) for column in zip(*rows, strict=True))
    names = ["load", "seed", "latency_us", "saturated"]
    return pa.table([load, seed, latency, [""] * len(rows)], names=names)


def test_verdicts_by_intervals() -> None:
    """Five seeds at least, the whole interval in the range or none of it."""
    inside = [2.09, 2.1, 2.1, 2.1, 2.11]
    fitted = "fitted to: buffers of 8 KiB"
    assert _judged(inside) == [fitted, "holds"]
    assert _judged(inside[:4])[1] == "undecided"
    # The mean lies inside, the interval reaches out; and the other way round.
    assert _judged([1.8, 2.1, 2.1, 2.1, 2.4])[1] == "undecided"
    assert _judged([2.1, 2.3, 2.3, 2.3, 2.4])[1] == "undecided"
    assert _judged([2.49, 2.5, 2.5, 2.5, 2.51])[1] == "does not hold"
    assert _judged(inside, quick=True) == ["no verdict under --quick"] * 2


def test_the_interval_of_a_scatter_is_that_of_another_sample() -> None:
    """Of 4,000 pairs of normal samples, the interval of the one holds the scatter of the other in
    95 % (± 1 %, three standard deviations); and it is made for the number of values."""
    draw = np.random.default_rng(3)
    for count in (5, 15):
        inside = 0
        for _ in range(4000):
            # Spread of 1 % of the mean, so that the median is 100 to within what does not matter.
            one, other = (
                Cell({}, dict(enumerate(100 + draw.standard_normal(count)))).relative_range()
                for _ in range(2)
            )
            inside += one.low <= other.value <= one.high
        assert abs(inside / 4000 - 0.95) < 0.0105


def test_a_choice_by_intervals_has_to_be_ahead_of_all_others() -> None:
    """Two routings and a published best: ahead of the other by more than the interval of pairs it
    holds, behind by more it does not, and within it, or with four seeds, nothing is said."""
    finding = """
[[finding]]
claim = "best"
source = "x"
quantity = "best"
y = "latency_us"
over = ["load"]
values = { load = 0.1 }
"""
    study = StudyFile.from_dict(parse_toml(RULED + finding, "study"))
    for other, count, word in (
        ([1.21, 1.19, 1.2, 1.2, 1.22], 5, "holds"),
        ([0.81, 0.79, 0.8, 0.8, 0.82], 5, "does not hold"),
        ([1.3, 0.8, 1.2, 0.9, 1.0], 5, "undecided"),
        ([1.21, 1.19, 1.2, 1.2, 1.22], 4, "undecided"),
    ):
        rows = [
            (load, seed, value)
            for load, values in ((0.1, [1.0] * 5), (0.2, other))
            for seed, value in enumerate(values[:count])
        ]
        columns = [list(column) for column in zip(*rows, strict=True)]
        names = ["load", "seed", "latency_us", "saturated"]
        table = pa.table([*columns, [""] * len(rows)], names=names)
        verdict = judge(study, table)[-1]
        assert verdict.text == word
        assert verdict.seeds == str(count)
        # A third routing that the study has and the data lack may be better than both.
        loads = [{"load": load} for load in (0.1, 0.2, 0.3)]
        assert judge(study, table, points=loads)[-1].text == "not measured"
        assert judge(study, table, points=loads[:2])[-1].text == word


def test_a_fit_names_findings_that_there_are() -> None:
    for wrong, place in (
        (RULED.replace('fitted_to = ["at 10 %"]', 'fitted_to = ["at 30 %"]'), "fitted_to[0]"),
        (RULED.replace('from = "paper"', 'from = "fit"'), "parameter[1].fitted_to"),
        (RULED.replace('from = "fit"', 'from = "paper"'), "parameter[0].fitted_to"),
    ):
        with pytest.raises(ScenarioError, match=re.escape(place)):
            StudyFile.from_dict(parse_toml(wrong, "study"))


def test_the_page_says_where_parameters_are_from_and_what_is_lacking() -> None:
    from odonata.study.dataset import build_dataset
    from odonata.study.page import page

    study = StudyFile.from_dict(parse_toml(RULED, "study"))
    table = build_dataset(study, [], {})
    text = page(study, table, judge(study, table), [], command="x", total=0)
    assert "| buffers of 8 KiB | a fit | the first finding; made on: at 10 % |" in text
    assert "| T = 50 % | the paper | 3.1.2 |" in text
    assert "- Figure 9: nobody counts that." in text


def test_a_fitted_finding_is_not_judged_by_its_combinations_either() -> None:
    from odonata.study.page import page

    study = StudyFile.from_dict(parse_toml(RULED, "study"))
    table = _measured([2.09, 2.1, 2.1, 2.1, 2.11])
    text = page(study, table, judge(study, table), [], command="x", total=0)
    fitted, held = text.split("### 1. ")[1].split("### 2. ")
    assert "| – |" in fitted
    assert "holds |" not in fitted
    assert "| holds |" in held


@pytest.mark.parametrize("name", ["feng2023", "kang2019", "kang2019-codes", "kaplan2017"])
def test_studies_of_publications_keep_the_rules(name: str) -> None:
    """docs/study-rules.md: verdicts by intervals, parameters with their origin, what is lacking;
    and the page has them as the study file does, beside no finding that the file has not."""
    from odonata.study.page import lacking_section, parameters_section

    study = StudyFile.from_file(LIBRARY / f"{name}.toml")
    assert study.judged == "intervals"
    docs = Path(__file__).parents[2] / "docs"
    page = (docs / f"study-{name}.md").read_text(encoding="utf-8")
    for section in (parameters_section(study), lacking_section(study)):
        assert section and section in page
    kept = docs / "studies" / f"study_{name.replace('-', '_')}_findings.csv"
    with kept.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["claim"] for row in rows} <= {finding.claim for finding in study.finding}
    assert all(row["seeds"].isdigit() for row in rows)
    for row in rows:
        if int(row["seeds"]) < 5:
            assert row["verdict"] == "undecided"
