"""A job log's schedule as a scenario: the file, the options that stand for its keys, studies."""

import inspect
import json
from pathlib import Path
from typing import Any

import click
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import odonata
from odonata import Scenario, ScenarioError
from odonata.batch import run_schedules
from odonata.batch.options import Span
from odonata.batch.table import ScheduleTable
from odonata.cli.commands import odonata as command
from odonata.cli.schedule import schedule as schedule_command
from odonata.cli.schedule_options import READING, SCHEDULE
from odonata.scenario.files import fingerprint_of, missing_files
from odonata.study.dataset import read_dataset
from odonata.table import Table
from test_batch import EXAMPLE, swf

#: Everything that a file can say, at values that are not those of the command below it.
FILE = """
title = "Worked example"

[schedule]
log = "example.swf"
policy = "fcfs"
compare = ["recorded", "easy/sjf"]
tau = "20 s"
"""

MOTIF = 'motif = { kind = "all-to-all", message = "1 KiB" }'

NETWORK = """
[network]
family = "dragonfly"
p = 2
a = 4
h = 2
links = { local = { bandwidth = "5 GiB/s" }, global = { bandwidth = "5 GiB/s" } }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "example.swf").write_text(swf(*EXAMPLE))
    path = tmp_path / "schedule.toml"
    path.write_text(FILE)
    return path


def call(*arguments: str | Path) -> Any:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def starts(directory: Path) -> dict[str, list[int]]:
    table = pq.read_table(directory / "jobs.parquet", partitioning=None).to_pandas()
    found: dict[str, list[int]] = (
        table.groupby("schedule", observed=True)["start_s"].apply(list).to_dict()
    )
    return found


def problems(text: str) -> dict[str, str]:
    with pytest.raises(ScenarioError) as error:
        Scenario.from_toml(text)
    return {problem.path: problem.message for problem in error.value.problems}


def test_a_file_is_what_the_options_say(file: Path, tmp_path: Path) -> None:
    by_file, by_options = tmp_path / "file", tmp_path / "options"
    assert call("schedule", file, "--out", by_file, "--no-plots").exit_code == 0
    log, options = tmp_path / "example.swf", ["--compare", "recorded", "--compare", "easy/sjf"]
    arguments = ["schedule", log, "--policy", "fcfs", "--tau", "20s", *options, "--no-plots"]
    assert call(*arguments, "--out", by_options).exit_code == 0
    # The worked example of test_batch: FCFS lets nobody overtake A and B.
    assert starts(by_file)["fcfs"] == [0, 10, 20, 20, 20]
    assert list(starts(by_file)) == ["fcfs", "recorded", "easy/sjf"]
    for name in ("jobs.parquet", "occupancy.parquet", "summary.json"):
        assert (by_file / name).read_bytes() == (by_options / name).read_bytes()
    in_python = run_schedules(Scenario.from_file(file))
    assert [one.name for one in in_python] == ["fcfs", "recorded", "easy/sjf"]
    assert in_python[0].jobs["start_s"].to_pylist() == [0, 10, 20, 20, 20]


def test_options_and_set_go_before_the_file_and_the_result_runs_again(
    file: Path, tmp_path: Path
) -> None:
    out, again = tmp_path / "out", tmp_path / "again"
    options = ["--policy", "easy", "--maintenance", "5s..50s", "--set", "schedule.tau=5 s"]
    done = call("schedule", file, *options, "--out", out, "--no-plots", "--compare", "fcfs")
    assert done.exit_code == 0, done.output
    assert list(starts(out)) == ["easy", "fcfs", "easy without maintenance"]
    # Nothing ends before the window at 5 s.
    assert min(starts(out)["easy"]) == 50
    kept = Scenario.from_file(out / "scenario.toml")
    assert kept.schedule is not None and kept.title == "Worked example"
    assert (kept.schedule.policy, kept.schedule.tau) == ("easy", Span("5 s"))
    assert call("schedule", out / "scenario.toml", "--out", again, "--no-plots").exit_code == 0
    for name in ("jobs.parquet", "summary.json"):
        assert (out / name).read_bytes() == (again / name).read_bytes()


def test_all_mistakes_of_a_file_are_told_at_once() -> None:
    found = problems(
        """
[schedule]
policy = "eazy"
compare = ["recorded", "easy/fast"]
every = 30
reading = { unit = "cores" }
network = { level = "flow", mix = ["x=y"], speed_ups = "f.csv", injection = "much" }
[[schedule.maintenance]]
start = "noon"
"""
    )
    assert found == {
        "schedule.policy": 'found "eazy"; allowed: fcfs, easy, conservative, '
        "conservative-replanned, depth:N (reservations for the first N)",
        "schedule.compare[1]": 'found "fast"; allowed: fcfs, sjf, ljf, smallest, largest, wfp, '
        "multifactor",
        "schedule.every": "found 30 without a unit; allowed: a duration with a unit such as "
        '"30 min" (units: s, min, h, d, w)',
        "schedule.reading.unit": 'found "cores"; allowed: "nodes", "processors"',
        "schedule.network.mix[0]": 'found "x=y"; allowed: NAME, or FROM..TO:NAME=SHARE,NAME=SHARE '
        "with sizes in nodes, such as 576..65536:adaptive=40%,custom=60%",
        "schedule.network.injection": 'found "much"; allowed: a share such as 25%',
        "schedule.network.speed_ups": "unknown key; allowed here: level, mix, mpi_share, machine, "
        "injection, placement, switch_delay, window_iterations",
        "schedule.maintenance[0].start": 'found "noon"; allowed: a date such as 2022-03-01T08:00 '
        '(UTC), or a duration after the first submission such as "12 h"',
        "schedule.maintenance[0].end": "missing; this key must be given: a text in quotes",
    }


@pytest.mark.parametrize(
    ("keys", "path", "message"),
    [
        ("multifactor = { age = 1 }", "schedule.multifactor", "with multifactor only"),
        ('every = "1 s"\nper_event = true', "schedule.per_event", "only without `every`"),
        ("share = 4\nwhole_nodes = true", "schedule.whole_nodes", "choose one"),
        ('compare = ["easy/fcfs"]', "schedule.compare[0]", "easy is there twice"),
        ('network = { level = "flow" }', "schedule.network.machine", "a table [network] in this"),
        (f'network = {{ level = "packet", machine = "m" }}\n{NETWORK}', "schedule.network.machine",
         "has a [network] of its own"),
        (f"[[job]]\nnodes = 1\n{MOTIF}", "job", "no jobs beside [schedule]"),
    ],
)  # fmt: skip
def test_keys_that_do_not_go_together(keys: str, path: str, message: str) -> None:
    found = problems(f'[schedule]\nlog = "x.swf"\n{keys}\n')
    assert list(found) == [path]
    assert message in found[path]


def test_mistakes_of_options_are_said_of_them(file: Path) -> None:
    failed = call("schedule", file, "--policy", "hard", "--tau", "3 parsec")
    assert isinstance(failed.exception, ScenarioError)
    by_option = {problem.path: problem.message for problem in failed.exception.problems}
    assert by_option.keys() == {"--policy", "--tau"}
    assert 'found unit "parsec"' in by_option["--tau"]
    failed = call("schedule", file, "--network", "flow")
    assert "a table [network] in this one" in str(failed.exception)
    failed = call("schedule", Path(__file__).parents[2] / "examples" / "demo.toml")
    assert "a table [schedule] with the key `log`" in str(failed.exception)


def test_other_commands_say_what_they_need(file: Path) -> None:
    assert "`odonata schedule` runs a scenario with" in str(call("run", file).exception)
    assert "network: missing" in str(call("verify", file).exception)
    file.write_text(FILE + NETWORK)
    # A network that jobs of a log share is proven like any other.
    assert "Free of deadlock" in call("verify", file).output
    with pytest.raises(ScenarioError, match="`odonata schedule` runs"):
        odonata.run(file)
    with pytest.raises(ScenarioError, match="network: missing; this key must be given"):
        Scenario.from_dict({"title": "nothing"})


def test_jobs_share_the_network_of_the_file(file: Path, tmp_path: Path) -> None:
    level = 'limits = false\nnetwork = { level = "flow", mpi_share = "50%", injection = "100%" }\n'
    file.write_text(FILE.replace('["recorded", "easy/sjf"]', "[]") + level + NETWORK)
    machine = tmp_path / "machine.toml"
    machine.write_text(NETWORK)
    (own,) = run_schedules(Scenario.from_file(file))
    other = tmp_path / "other.toml"
    named = level.replace('"flow"', '"flow", machine = "machine.toml"')
    other.write_text(FILE.replace('["recorded", "easy/sjf"]', "[]") + named)
    scenario = Scenario.from_file(other)
    (of_file,) = run_schedules(scenario)
    assert own.jobs.equals(of_file.jobs)
    # All but the last communicate beside others.
    assert all(
        run > said
        for run, said in zip(own.jobs["run_s"].to_pylist()[:4], (10, 10, 9, 8), strict=True)
    )
    # What the machine's network is counts, not how its file is written.
    before = fingerprint_of(scenario)
    machine.write_text('title = "The same"\n' + NETWORK)
    assert fingerprint_of(Scenario.from_file(other)) == before
    machine.write_text(NETWORK + 'routing = "valiant"\n')
    assert fingerprint_of(Scenario.from_file(other)) != before
    machine.unlink()
    assert [one.path for one in missing_files(Scenario.from_file(other))] == [
        "schedule.network.machine"
    ]


@pytest.mark.usefixtures("simulated_here")
def test_a_study_varies_a_schedule(file: Path, tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    text = """
title = "Policies"
base = "schedule.toml"
[[axis]]
key = "schedule.policy"
values = ["fcfs", "easy"]
[[measure]]
figure = "schedule.mean_wait_s"
[[measure]]
figure = "schedule.makespan_s"
unit = "min"
name = "makespan"
"""
    study.write_text(text)
    out = tmp_path / "out"
    done = call("study", study, "--out", out)
    assert done.exit_code == 0, done.output
    table = read_dataset(out)
    # Waits of the worked example: 0, 9, 18, 18, 17 s, and with backfill 0, 9, 18, 0, 7 s.
    assert table["mean_wait_s"].to_pylist() == pytest.approx([62 / 5, 34 / 5])
    assert table["makespan_min"].to_pylist() == pytest.approx([120 / 60, 110 / 60])
    # Another log is another point.
    log = tmp_path / "example.swf"
    before = fingerprint_of(Scenario.from_file(file))
    log.write_text(swf(*EXAMPLE[:4]))
    assert fingerprint_of(Scenario.from_file(file)) != before
    study.write_text(text.replace("schedule.mean_wait_s", "run.packet_hops"))
    failed = call("study", study, "--out", tmp_path / "other")
    assert "schedule.QUANTITY, as the scenario has a [schedule]" in str(failed.exception)


def keys(table: type[Table]) -> set[str]:
    return set(table.keys)


def test_every_key_has_an_option_and_every_option_a_key() -> None:
    listed = {option.key.removeprefix("schedule.") for option in (*READING, *SCHEDULE)}
    above = {key.split(".")[0] for key in listed}
    assert above == keys(ScheduleTable) - {"log"}
    parameters = {name for one in schedule_command.params for name in one.opts}
    for option in (*READING, *SCHEDULE):
        assert option.option in parameters
        assert isinstance(next(p for p in schedule_command.params if option.option in p.opts),
                          click.Option)  # fmt: skip


def test_defaults_of_files_are_those_of_the_function() -> None:
    arguments = inspect.signature(odonata.schedule).parameters
    table = ScheduleTable(log="x.swf")
    for key in ("nodes", "policy", "order", "estimates", "running_estimates", "every", "per_event"):
        assert getattr(table, key) == arguments[key].default
    assert table.limits == arguments["enforce_limits"].default
    for key in ("tau", "interval"):
        assert getattr(table, key) == Span(arguments[key].default)


def test_durations_of_logs_print_exactly() -> None:
    for text in ("10 s", "61 s", "1.5 h", "7 d", "3601 s"):
        assert str(Span(text)) == text
    assert Span(str(Span("1 min"))) == 60


def test_a_schema_checks_schedules(file: Path) -> None:
    import jsonschema

    from odonata.scenario.schema import scenario_schema

    schema = jsonschema.Draft202012Validator(scenario_schema())
    data = Scenario.from_file(file).to_dict()
    schema.validate(json.loads(json.dumps(data)))
    for wrong in ({}, {"schedule": {"log": "x", "policy": 3}}):
        with pytest.raises(jsonschema.ValidationError):
            schema.validate(wrong)


def test_schedules_that_differ_in_anything_are_compared(tmp_path: Path) -> None:
    """Each under a name that says how it differs, and each as it is by itself."""
    log, out = tmp_path / "example.swf", tmp_path / "out"
    log.write_text(swf(*EXAMPLE))
    wanted = ["easy", "easy+grap,grap.groups=5", "easy/sjf,estimates=perfect,limits=false"]
    compared = [word for one in wanted for word in ("--compare", one)]
    done = call("schedule", log, "--grap", "2", *compared, "--out", out, "--no-plots")
    assert done.exit_code == 0, done.exception
    found = starts(out)
    assert list(found) == ["easy+grap", *wanted]
    for position, options in enumerate(
        (
            ("--grap", "2"),
            (),
            ("--grap", "5"),
            ("--order", "sjf", "--estimates", "perfect", "--no-limits"),
        )
    ):
        alone = tmp_path / f"alone-{position}"
        done = call("schedule", log, *options, "--out", alone, "--no-plots")
        assert done.exit_code == 0, done.exception
        assert list(starts(alone).values()) == [found[list(found)[position]]]
    # The file that is kept says it again.
    again = tmp_path / "again"
    assert call("schedule", out / "scenario.toml", "--out", again, "--no-plots").exit_code == 0
    assert starts(again) == found


@pytest.mark.parametrize(
    ("which", "message"),
    [
        ("easy+grap", "easy+grap is there twice"),
        ("easy+grap,estimates=requested", "its keys have these values anyway"),
        ("easy,estimates=good", 'estimates: found "good"; allowed: requested, perfect'),
        ("easy,nodes=3", 'found "nodes"; allowed: keys of estimates'),
        ("easy,grap.groups=3", "+grap if, and only if"),
        ("easy+best", 'found "+best"; allowed: recorded, or POLICY'),
        ("easy,estimates", 'found "estimates"; allowed: recorded, or POLICY'),
    ],
)
def test_what_cannot_be_compared_is_said(which: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "example.swf").write_text(swf(*EXAMPLE))
    failed = call("schedule", tmp_path / "example.swf", "--grap", "2", "--compare", which)
    assert isinstance(failed.exception, ScenarioError)
    (problem,) = failed.exception.problems
    assert problem.path == "--compare"
    assert message in problem.message


def test_a_sweep_of_a_schedule_needs_no_measure(file: Path, tmp_path: Path) -> None:
    found = odonata.sweep(file, {"schedule.policy": ["fcfs", "conservative"]}, jobs=1)
    rows = found.table.to_pylist()
    for row in rows:
        (one, *_) = run_schedules(
            Scenario.from_file(file).with_set({"schedule.policy": row["policy"]})
        )
        assert row["mean_wait_min"] == pytest.approx(one.figure("mean_wait_s") / 60)
        assert row["max_wait_min"] == pytest.approx(one.figure("max_wait_s") / 60)
        assert row["mean_bounded_slowdown"] == one.figure("mean_bounded_slowdown")
        assert row["utilisation"] == one.figure("utilisation")


def test_schedules_of_several_directories_are_compared(tmp_path: Path) -> None:
    log = tmp_path / "example.swf"
    log.write_text(swf(*EXAMPLE))
    for name, options in (("one", ()), ("two", ("--policy", "fcfs", "--compare", "recorded"))):
        done = call("schedule", log, *options, "--out", tmp_path / name, "--no-plots")
        assert done.exit_code == 0, done.exception
    found = odonata.compare(tmp_path / "one", tmp_path / "two")
    labels = ["one: easy", "two: fcfs", "two: recorded"]
    assert [one.label for one in found.results] == labels
    assert found.settings["schedule.policy"] == ["easy", "fcfs", "recorded"]
    made = [
        one
        for name in ("one", "two")
        for one in json.loads((tmp_path / name / "summary.json").read_text()).values()
    ]
    rows = {(row["quantity"], row["result"]): row for row in found.table.to_pylist()}
    for label, summary in zip(labels, made, strict=True):
        row = rows["mean_wait_s", label]
        assert row["value"] == summary["wait_s"]["mean"]
        if label != labels[0]:
            change = summary["wait_s"]["mean"] / made[0]["wait_s"]["mean"] - 1
            assert row["change"] == pytest.approx(change)
    # One directory that holds several needs no other.
    assert len(odonata.compare(tmp_path / "two").results) == 2
    done = call("compare", tmp_path / "one", tmp_path / "two", "--out", tmp_path / "compared")
    assert done.exit_code == 0, done.exception
    with pytest.raises(ValueError, match="found 1 results; allowed: at least two"):
        odonata.compare(tmp_path / "one")


def test_a_schedule_has_a_log_or_jobs() -> None:
    found = problems("[schedule]\n")
    assert found == {
        "schedule.log": "found nothing; allowed: a job log; or [[job]]s, which are the queue then"
    }
