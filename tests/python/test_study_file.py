"""Study files: what they declare, what is wrong with bad ones, and what comes out of a sweep."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from odonata import Scenario, ScenarioError, run
from odonata.cli.commands import odonata
from odonata.errors import OutputError
from odonata.results.summary import JOB_FIGURES, LINK_CLASS_FIGURES, RUN_FIGURES
from odonata.scenario.files import fingerprint_of
from odonata.scenario.schema import study_schema
from odonata.scenario.toml_source import parse_toml
from odonata.study.dataset import DATASET_FILE, dataset_schema, read_dataset
from odonata.study.drawing import draw_figure
from odonata.study.expression import Condition, ConditionError
from odonata.study.file import Measure, StudyFile
from odonata.study.findings import judge
from odonata.study.local import LocalExecutor
from odonata.study.run import STORE_FILE, estimate, run_sweep
from odonata.study.sweep import Sweep
from odonata.study.task import TaskError
from studies import STUDY, Instant, changed


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(STUDY, encoding="utf-8")
    return path


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


def test_the_limit_counts_combinations_that_conditions_leave(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = StudyFile.from_file(file)
    # Among 2 · 2 · 2 values, minimal routing has no alpha: six combinations.
    monkeypatch.setattr("odonata.study.sweep.MOST_COMBINATIONS", 6)
    assert len(Sweep(study).points) == 6 * 2
    monkeypatch.setattr("odonata.study.sweep.MOST_COMBINATIONS", 5)
    with pytest.raises(ScenarioError, match="axis: found more than 5 combinations; allowed: fewer"):
        Sweep(study)
    # One before the first axis, 2 after it, 4 after the second, 6 after the third.
    monkeypatch.setattr("odonata.study.sweep.MOST_COMBINATIONS", 6)
    monkeypatch.setattr("odonata.study.sweep.MOST_TRIED", 13)
    assert len(Sweep(study).points) == 6 * 2
    monkeypatch.setattr("odonata.study.sweep.MOST_TRIED", 12)
    with pytest.raises(ScenarioError, match="found more than 12 combinations and beginnings"):
        Sweep(study)


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
            "the index 0",
        ),
        ('when = "routing ==', 'when = "routin ==', "axis[2].when", "did you mean routing"),
        ("values = [0.5, 2]", 'values = [0.5, "fast"]', "axis[2].values[1]", "bandwidth"),
        ('name = "alpha"', 'name = "routing"', "axis[2].name", "differs from that of axis[1]"),
        ('name = "alpha"', 'name = "seed"', "axis[2].name", "a column of every dataset"),
        ("run_time_ps", "run_tim_ps", "measure[0].figure", "did you mean run_time_ps"),
        ('unit = "us"', 'unit = "MB"', "measure[0].unit", "ps, ns, us, ms, s"),
        ('column = "utilisation"', 'column = "class"', "measure[1].column", "utilisation"),
        ("kind == 'global'", "kin == 'global'", "measure[1].only", "did you mean kind"),
        ('table = "links"', 'table = "link"', "measure[1].table", 'did you mean "links"'),
        (
            'name = "alpha"',
            'name = "Alpha"',
            "axis[2].name",
            "a name of at most 60 characters: a-z",
        ),
        ('name = "run-time"', 'name = "a/b"', "figure[0].name", "first a letter or digit"),
        ('"{} GB/s"', '"GB/s"', "axis[2].format", "a text with {} for the value"),
        ('"difference"', '"diference"', "finding[0].quantity", 'did you mean "difference"'),
        ('"difference"', '"value"', "finding[0].this", 'no value with quantity = "value"'),
        ("at_most = -1", "values = { alpha = [1] }", "finding[0].values.alpha", "true or false"),
        ('reduce = "maximum"\nunit', 'reduce = "p0"\nunit', "measure[0].reduce", "such as p99"),
        ("[quick]\n", "duration = 1\n[quick]\n", "finding[0].duration", "unknown key; allowed"),
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
    answer = str(caught.value)
    assert answer.startswith(f"{file}: ") and f": {path}: " in answer
    assert message in str(caught.value)


def test_all_mistakes_of_a_file_are_told_at_once_with_their_lines(file: Path) -> None:
    changed(file, "repetitions = 2", "repetitions = [{ count = 0 }]\nself = 1")
    changed(file, 'column = "utilisation"', 'column = "utilisation"\nfigure = "run.nodes"')
    with pytest.raises(ScenarioError) as caught:
        StudyFile.from_file(file)
    assert [(p.path, p.message.partition("; allowed")[0]) for p in caught.value.problems] == [
        ("repetitions[0].count", "found 0"),
        ("measure[1].figure", "found figure and table"),
        ("self", "unknown key"),
    ]
    assert f"{file}: line 3: repetitions[0].count: " in str(caught.value)
    # What only Python knows is told of all tables too.
    file.write_text(STUDY, encoding="utf-8")
    changed(changed(file, 'unit = "us"', 'unit = "MB"'), '"utilisation"', '"class"')
    with pytest.raises(ScenarioError) as caught:
        StudyFile.from_file(file)
    assert [p.path for p in caught.value.problems] == ["measure[0].unit", "measure[1].column"]


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
    from odonata._engine import read_toml

    check = jsonschema.Draft202012Validator(study_schema())
    examples = Path(__file__).resolve().parents[2] / "examples" / "studies"
    assert list(examples.glob("*.toml"))
    for path in (file, *examples.glob("*.toml")):
        check.validate(read_toml(path.read_text(encoding="utf-8")))
        StudyFile.from_file(path)
    with pytest.raises(jsonschema.ValidationError):
        check.validate({"title": "no measures"})


# --- Running --------------------------------------------------------------------------


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
        ("aborted", "list<element: string>"),
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
    answer: list[str] = []
    run_sweep(Sweep(StudyFile.from_file(file)), out, executor=third, notice=answer.append)
    assert "12 that were simulated before" in answer[0]
    assert "something else is measured" in answer[0]
    assert len(third.ran) == 12


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


def test_a_store_that_was_changed_is_refused(file: Path, tmp_path: Path) -> None:
    """With its line, and nothing of it is lost. Lines without a checksum, as they were before there
    was one, are checked for what the study measures."""
    sweep = Sweep(StudyFile.from_file(file))
    out = tmp_path / "out"
    whole = run_sweep(sweep, out)
    store = out / STORE_FILE
    lines = store.read_bytes().splitlines(keepends=True)
    second = json.loads(lines[1])
    measure = next(iter(second["record"]["values"]))

    def changed_to(**parts: Any) -> bytes:
        return json.dumps({**second, **parts}).encode() + b"\n"

    def without_checksum(record: Any) -> bytes:
        plain = {key: value for key, value in second.items() if key != "checksum"}
        return json.dumps({**plain, "record": record}).encode() + b"\n"

    record = second["record"]
    renamed = {"renamed" if key == measure else key: v for key, v in record["values"].items()}
    for line, message in (
        (changed_to(name="another"), "its checksum is another one"),
        (changed_to(record={**record, "cpu_s": 1e9}), "its checksum is another one"),
        (changed_to(record={**record, "values": renamed}), "its checksum is another one"),
        (b"not JSON\n", "it is no JSON"),
        (b"[]\n", "allowed: an object"),
        (b'{"name": "x", "record": {}}\n', 'key "fingerprint"; allowed: this key'),
        (
            without_checksum({**record, "values": renamed}),
            f'key "values.{measure}"; allowed: this key',
        ),
        (
            without_checksum({**record, "values": {**record["values"], measure: "x"}}),
            f'key "values.{measure}"; allowed: a number',
        ),
        (without_checksum({}), 'key "values"; allowed: this key'),
    ):
        found = lines[0] + line + b"".join(lines[2:])
        store.write_bytes(found)
        for ask in (
            lambda: run_sweep(sweep, out),
            lambda: estimate(sweep.points, out),
        ):
            with pytest.raises(OutputError, match=r"line 2: not as it was written") as error:
                ask()
            assert message in str(error.value), line
        assert store.read_bytes() == found
    # One of before there was a checksum, as it was written.
    store.write_bytes(lines[0] + without_checksum(record) + b"".join(lines[2:]))
    assert run_sweep(sweep, out).equals(whole)
    # What the message advises.
    store.write_bytes(lines[0] + b"".join(lines[2:]))
    again = run_sweep(sweep, out, executor=LocalExecutor(1))
    assert again.drop_columns(["version"]).equals(whole.drop_columns(["version"]))


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


def test_scenarios_of_points_are_files_that_run_as_the_points_do(
    file: Path, tmp_path: Path
) -> None:
    there = tmp_path / "scenarios"

    def call(*options: str) -> str:
        result = CliRunner().invoke(odonata, ["study", str(file), *options])
        return result.output + str(result.exception or "")

    text = call("--only", "alpha == 2 and seed == 2", "--scenarios", str(there))
    assert f"2 scenarios: {there}" in text.replace("\n", "")
    points = Sweep(StudyFile.from_file(file)).select("alpha == 2 and seed == 2")
    names = [f"point-{point.number:02}.toml" for point in points]
    assert sorted(path.name for path in there.iterdir()) == sorted(names)
    for point, name in zip(points, names, strict=True):
        assert f"Point {point.number}: {point.name}" in (there / name).read_text(encoding="utf-8")
        written = Scenario.from_file(there / name)
        assert fingerprint_of(written) == point.scenario_fingerprint
    for options, message in (
        (("--scenarios", str(there)), "Choose another directory with --scenarios"),
        (("--scenarios", str(tmp_path / "new"), "--dry-run"), "found --dry-run with --scenarios"),
        (("--scenarios", str(tmp_path / "new"), "--out", "x"), "found --out with --scenarios"),
        (("--scenarios", str(tmp_path / "new"), "--only", "alpha == 3"), "is true of none of"),
    ):
        assert message in call(*options)
    assert not (tmp_path / "new").exists()
    result = CliRunner().invoke(odonata, ["study", "validation", "--only", "alpha == 3"])
    assert "--only is for study files" in result.output + str(result.exception)


def test_studies_that_are_programs_are_listed_and_written_as_scenarios(tmp_path: Path) -> None:
    def call(*options: str) -> str:
        result = CliRunner().invoke(odonata, ["study", "gpcnet", "--quick", *options])
        assert result.exit_code == 0, result.output
        return " ".join(result.output.split())

    listed = call("--dry-run", "--out", str(tmp_path / "none"))
    assert "16 points, 0 of them done" in listed
    assert "The work of 16 points is unknown" in listed
    assert "latency / none / beside GPCNeT 80 % / 1" in listed
    assert not (tmp_path / "none").exists()
    there = tmp_path / "points"
    assert "16 scenarios" in call("--scenarios", str(there))
    assert {file.name for file in there.iterdir()} == {f"point-{n:02}.toml" for n in range(16)}
    assert Scenario.from_file(there / "point-00.toml").job[0].name == "victim"


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


def test_ticks_of_logarithmic_axes_are_plain_numbers(file: Path, tmp_path: Path) -> None:
    """Texts are not read as mathematics, since names of jobs are theirs; 10^2 would be one."""
    data = parse_toml(file.read_text(encoding="utf-8"), str(file))
    figure = {**data["figure"][0], "kind": "line", "log_x": True, "log_y": True}
    study = StudyFile.from_dict({**data, "figure": [figure]})
    table = run_sweep(Sweep(study), tmp_path / "out", executor=Instant())
    canvas = draw_figure(study, table, study.figure[0])
    canvas.draw_without_rendering()
    for axes in canvas.axes:
        for axis in (axes.xaxis, axes.yaxis):
            for label in (*axis.get_majorticklabels(), *axis.get_minorticklabels()):
                assert re.fullmatch(r"[\d.e+–-]*", label.get_text()), label.get_text()


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
        ({"figure": "run.created_bytes", "per": "1 ms", "unit": "GiB/s"}, "created_gib_per_s"),
        (
            {"table": "arrivals", "column": "bytes", "reduce": "sum", "per": "run.simulated_ps"},
            "bytes_per_s",
        ),
    ],
)
def test_units_are_in_the_names_of_columns(measure: dict[str, str], column: str) -> None:
    assert Measure(**measure).column_name == column


def test_bytes_per_duration_are_a_rate() -> None:
    """Four nodes send 1 MiB each to the next, at the same time: 4 MiB in all."""
    traffic = {"pattern": "shift", "offset": 1, "load": 1.0, "message": "1 MiB", "messages": 1}
    network = {"family": "crossbar", "nodes": 4}
    job = {"name": "ring", "nodes": 4, "traffic": traffic}
    result = run(Scenario.from_dict({"network": network, "job": [job]}))

    def rate(per: str, unit: str) -> float | None:
        figure = {"figure": "run.created_bytes", "per": per, "unit": unit}
        return Measure(**figure).value(result)

    sent = 4 * 2**20
    assert rate("1 ms", "GiB/s") == pytest.approx(sent / 1e-3 / 2**30, rel=1e-12)
    run_time_s = result.summary_dict["jobs"][0]["run_time_ps"] * 1e-12
    assert rate("job.ring.run_time_ps", "B/s") == pytest.approx(sent / run_time_s, rel=1e-12)


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"figure": "run.packet_hops"}, "only of bytes, which packet_hops is not"),
        ({"per": "0 s"}, "more than 0"),
        ({"per": "job.a.run_tim_ps"}, "a duration of the summary"),
        ({"per": "job.*.run_time_ps"}, "a duration of the summary"),
        ({"per": "run.packet_hops"}, "a duration of the summary"),
        ({"unit": "us"}, "B/s, kB/s, MB/s, GB/s"),
    ],
)
def test_rates_that_cannot_be(changed: dict[str, str], found: str) -> None:
    with pytest.raises(ValueError, match=re.escape(found)):
        Measure(**{"figure": "run.created_bytes", "per": "1 ms", **changed})


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
        found = Measure(**{**of_messages, "reduce": reduce}).value(result)
        assert found is not None
        return found

    # A bucket's end is at most a 128th above what is in it.
    assert latency.mean() / 1e6 <= value("mean") <= latency.mean() / 1e6 * (1 + 1 / 128)
    assert value("standard-deviation") == pytest.approx(latency.std(ddof=0) / 1e6, rel=1 / 64)
    plain = {"table": "messages", "column": "bytes", "reduce": "standard-deviation"}
    assert Measure(**plain).value(result) == 0


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
        Measure(**data)
