"""Job logs and schedules: Python and command line."""

from __future__ import annotations

import gzip
import io
import json
import lzma
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import odonata
from odonata.batch import (
    JobLog,
    Multifactor,
    Window,
    recorded_schedule,
    save_schedules,
)
from odonata.batch.waits import BEHIND_OTHERS, TOO_FEW, reasons
from odonata.cli.commands import explain
from odonata.cli.commands import odonata as command
from odonata.errors import ExitCode, JobLogError, OutputError


def swf(*jobs: tuple[int, int, int, int]) -> str:
    """A log of 10 nodes; submission, nodes, run time and requested time of each job."""
    lines = ["; MaxNodes: 10", "; UnixStartTime: 1640995200"]
    for number, (submit, nodes, run, requested) in enumerate(jobs, 1):
        lines.append(
            f"{number} {submit} 5 {run} {nodes} -1 -1 {nodes} {requested} -1 1 {number % 2 + 1} "
            "-1 -1 -1 -1 -1 -1"
        )
    return "\n".join(lines) + "\n"


#: A holds 6 of 10 nodes until 10, B waits for it, D fits beside A and C does not: the worked
#: example of crates/scheduler/src/batch/tests.rs, where the numbers are derived.
EXAMPLE = ((0, 6, 10, 10), (1, 8, 10, 10), (2, 4, 9, 9), (2, 4, 8, 8), (3, 2, 100, 100))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "example.swf"
    path.write_text(swf(*EXAMPLE))
    return path


def starts(schedule: Any) -> list[int]:
    return schedule.jobs["start_s"].to_pylist()


def test_easy_of_the_worked_example(log: Path) -> None:
    schedule = odonata.schedule(log)
    assert starts(schedule) == [0, 10, 20, 2, 10]
    assert starts(odonata.schedule(log, policy="fcfs")) == [0, 10, 20, 20, 20]
    table = schedule.jobs.to_pandas()
    assert table["wait_s"].tolist() == [0, 9, 18, 0, 7]
    assert table["started"].tolist() == [
        "in-order",
        "in-order",
        "in-order",
        "backfilled",
        "backfilled",
    ]
    assert table["recorded_wait_s"].tolist() == [5] * 5
    assert schedule.summary["wait_s"]["mean"] == pytest.approx(34 / 5)
    assert schedule.summary["makespan_s"] == 110
    # 60 + 80 + 36 + 32 + 200 node-seconds on 10 nodes for 110 s.
    assert schedule.summary["utilisation"] == pytest.approx(408 / 1100)


def test_reasons_of_waits_are_what_was_free_at_submission(tmp_path: Path, log: Path) -> None:
    # B finds 4 nodes free and asks for 8, C asks for 4 when D's 4 are behind it in the queue, and
    # the last asks for 2 of none.
    found = reasons(odonata.schedule(log, policy="fcfs"))
    assert {(one.text, one.jobs, one.wait_s) for one in found} == {
        # B waits 9 s, the others, whose nodes were free but behind B, 18, 18 and 17 s.
        (TOO_FEW, 1, 9.0),
        (BEHIND_OTHERS, 3, 53.0),
    }
    assert found[0].text == BEHIND_OTHERS
    printed = CliRunner().invoke(
        command,
        ["schedule", str(log), "--no-plots", "--policy", "fcfs", "--out", str(tmp_path / "a")],
    )
    assert f"3 jobs: {BEHIND_OTHERS} (53 s in all)" in printed.output
    assert f"1 job: {TOO_FEW} (9 s in all)" in printed.output
    large = tmp_path / "large.swf"
    large.write_text(swf((0, 11, 10, 10), (1, 1, 10, 10)))
    (refused,) = reasons(odonata.schedule(large))
    assert refused.text == "the job asks for 11 nodes, but the machine has 10"


def test_sacct_without_a_header_gets_the_columns_to_type(tmp_path: Path) -> None:
    dump = tmp_path / "dump.txt"
    time = "2024-01-01T00:{}:00"
    fields = ["7", "ann1", *(time.format(n) for n in ("00", "01", "05")), "1-00:00:00", "00:04:00"]
    dump.write_text("|".join([*fields, "4", "COMPLETED", "n[1-4]"]) + "\n")
    with pytest.raises(JobLogError) as caught:
        odonata.read_job_log(dump)
    columns = "JobID,Field2,Submit,Start,End,Timelimit,Elapsed,NNodes,State,NodeList"
    assert f"--format sacct --columns {columns} (" in str(caught.value)
    job = odonata.read_job_log(dump, format="sacct", columns=columns.split(",")).jobs.to_pylist()[0]
    assert (job["run_s"], job["requested_s"], job["nodes"]) == (240, 86_400, 4)
    other = tmp_path / "other.txt"
    other.write_text("a|b|c|d\n")
    with pytest.raises(JobLogError) as caught:
        odonata.read_job_log(other)
    assert "--columns" not in str(caught.value)


def test_options_reach_the_engine(log: Path) -> None:
    assert starts(odonata.schedule(log, policy="depth:2")) == [0, 10, 20, 2, 10]
    # From the first submission on at multiples of 15 s: 0, 15, 30 …
    assert starts(odonata.schedule(log, policy="fcfs", every="15 s")) == [0, 15, 30, 30, 30]
    window = Window(start=5, end=50, name="repair")
    # A and B could not end before 5 s; everything starts when the machine is back.
    repaired = odonata.schedule(log, policy="fcfs", windows=[window])
    assert starts(repaired) == [50, 60, 70, 70, 70]
    multifactor = odonata.schedule(
        log, policy="fcfs", order=Multifactor(age=0, size=1, fair_share=0)
    )
    assert starts(multifactor) == starts(odonata.schedule(log, policy="fcfs", order="largest"))
    # The log asks for as many processors as nodes; 20 of them hold A, B, C and E at once
    # (6 + 8 + 4 + 2), and D follows when A ends.
    shared = odonata.schedule(log, share_processors=2)
    assert shared.summary["machine"] == 20
    assert starts(shared) == [0, 1, 2, 10, 3]


def test_grap_gives_groups_to_large_jobs(log: Path) -> None:
    # Two groups of 5 nodes: A (6 nodes) and B (8) are large and need both, so B follows
    # A at 10 and the small jobs wait for B's reservation or fit beside it.
    grap = odonata.schedule(log, grap_groups=2)
    table = grap.jobs.to_pandas()
    assert table["groups"].tolist() == [2, 2, 1, 1, 1]
    assert table["group_nodes"].tolist() == ["0:3,1:3", "0:4,1:4", "0:4", "1:4", "1:2"]
    # A leaves 2 nodes in each group: too few for C and D (4), and E (2) would still be there
    # when B needs 4 in each group at 10. At 20 C and D get a group each, which leaves 1 node
    # in each, so E comes when D ends, to its group.
    assert starts(grap) == [0, 10, 20, 20, 28]
    with pytest.raises(JobLogError, match=r"grap\.groups: found 11; allowed: 1 to 10"):
        odonata.schedule(log, grap_groups=11)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policy": "eazy"}, 'policy: found "eazy"; allowed: fcfs, easy'),
        ({"order": "random"}, 'order: found "random"; allowed: "fcfs", "sjf"'),
        ({"estimates": "good"}, 'estimates: found "good"; allowed: requested, perfect'),
        ({"estimates": 0.5}, "estimates are 0.5 times the run time; allowed: numbers from 1"),
        ({"every": "3 parsec"}, 'every: found unit "parsec"'),
        (
            {"every": "1 s", "per_event": True},
            "allowed: only without `every`: one of the two",
        ),
        ({"windows": [Window(9, 5)]}, "its end must lie after its start"),
        ({"windows": [Window(0, 5, nodes=11)]}, "withholds 11 nodes, but the machine has"),
        ({"nodes": 0}, "the machine has 0 nodes"),
        ({"tau": 0}, 'tau: found "0 s"; allowed: a duration at least 1 s'),
    ],
)
def test_wrong_options_are_explained(log: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(JobLogError) as error:
        odonata.schedule(log, **options)
    assert message in str(error.value)


def test_a_log_survives_parquet_and_swf(log: Path, tmp_path: Path) -> None:
    read = odonata.read_job_log(log)
    for ending in ("parquet", "swf"):
        again = odonata.read_job_log(read.save(tmp_path / f"copy.{ending}"))
        assert again.jobs.equals(read.jobs)
        assert again.meta["epoch"] == 1640995200
        assert again.machine_nodes == 10
    units = {
        field.name: (field.metadata or {}).get(b"unit")
        for field in pq.read_schema(tmp_path / "copy.parquet")
    }
    seconds = {name for name, unit in units.items() if unit == b"s"}
    assert {"submit_s", "start_s", "run_s", "cpu_s"} <= seconds
    assert seconds == {name for name in units if name.endswith("_s")}
    assert units["memory_kb"] == units["requested_memory_kb"] == b"kB"
    assert units["nodes"] is None
    with pytest.raises(OutputError, match="exists already"):
        read.save(tmp_path / "copy.swf")
    with pytest.raises(OutputError, match=r"allowed: \.swf, \.parquet"):
        read.save(tmp_path / "copy.csv")


def test_a_table_of_ones_own_is_a_log(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"submit_s": [5, 0], "run_s": [10, 20], "nodes": [1, 2], "user": ["ann", None]}
    )
    log = JobLog.from_table(frame, machine_nodes=4)
    assert log.jobs["submit_s"].to_pylist() == [0, 5]
    assert log.jobs["user"].to_pylist() == [None, "ann"]
    assert len(odonata.schedule(log).jobs) == 2
    with pytest.raises(JobLogError, match="needs a column nodes"):
        JobLog.from_table(frame.drop(columns="nodes"))
    with pytest.raises(JobLogError, match="row 0"):
        JobLog.from_table(frame.assign(nodes=0))
    with pytest.raises(JobLogError, match="name them"):
        odonata.schedule(JobLog.from_table(frame))


def test_logs_are_scaled_and_cut(log: Path) -> None:
    read = odonata.read_job_log(log)
    twice = read.scaled(nodes_factor=2, machine_nodes=15)
    assert twice.jobs["nodes"].to_pylist() == [12, 15, 8, 8, 4]
    assert twice.machine_nodes == 15
    assert read.selected(first=2).jobs["id"].to_pylist() == ["1", "2"]
    assert read.selected(from_s=2, until_s=3).jobs["id"].to_pylist() == ["3", "4"]
    with pytest.raises(JobLogError, match="allowed: numbers above 0"):
        read.scaled(arrivals_factor=0)


def test_synthetic_logs_are_of_the_model() -> None:
    drawn = odonata.generate_job_log(nodes=64, jobs=300, seed=3, request_factor=2)
    assert drawn.jobs.equals(
        odonata.generate_job_log(nodes=64, jobs=300, seed=3, request_factor=2).jobs
    )
    assert max(drawn.jobs["nodes"].to_pylist()) <= 64
    assert drawn.jobs["requested_s"].null_count == 0
    with pytest.raises(JobLogError, match="at least 2"):
        odonata.generate_job_log(nodes=1, jobs=3)


def run(*arguments: str | Path) -> Any:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def test_schedule_on_the_command_line(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run("schedule", log, "--compare", "recorded", "--compare", "fcfs/sjf", "--out", out)
    assert done.exit_code == 0, done.output
    assert "5 records, 5 jobs" in done.output
    names = sorted(path.name for path in out.iterdir())
    assert names == [
        "gantt.png",
        "jobs.parquet",
        "occupancy.parquet",
        "result.json",
        "scenario.toml",
        "summary.json",
        "timing.json",
        "utilisation.png",
        "waits.png",
    ]
    for name, column in (("jobs", "wait_s"), ("occupancy", "time_s")):
        field = pq.read_schema(out / f"{name}.parquet").field(column)
        assert field.metadata[b"unit"] == b"s"
    table = pq.read_table(out / "jobs.parquet", partitioning=None).to_pandas()
    assert table.groupby("schedule", observed=True)["start_s"].apply(list).to_dict() == {
        "easy": [0, 10, 20, 2, 10],
        "recorded": [5, 6, 7, 7, 8],
        # Shortest first: D (8 s) beside A; at 10 C (9 s) before B (10 s).
        "fcfs/sjf": [0, 19, 10, 2, 19],
    }
    summary = json.loads((out / "summary.json").read_text())
    assert summary["recorded"]["wait_s"]["mean"] == 5
    again = run("schedule", log, "--out", out)
    assert isinstance(again.exception, OutputError)
    assert isinstance(run("log", "describe", out / "jobs.parquet").exception, JobLogError)


def test_equal_schedules_are_equal_files(log: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        done = run("schedule", log, "--json", "--compare", "conservative", "--out", tmp_path / name)
        assert json.loads(done.stdout)["schedules"]["easy"]["summary"]["jobs"] == 5
    for file in (tmp_path / "a").iterdir():
        if file.name != "timing.json":
            assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes(), file.name


def test_windows_on_the_command_line(log: Path, tmp_path: Path) -> None:
    # Second 0 of the log is 2022-01-01T00:00 UTC.
    dated = "2022-01-01T00:00:05..2022-01-01T00:00:50"
    for number, window in enumerate((dated, "5s..50s")):
        out = tmp_path / str(number)
        done = run(
            "schedule",
            log,
            "--policy",
            "fcfs",
            "--maintenance",
            window,
            "--out",
            out,
            "--quiet",
            "--no-plots",
        )
        assert done.exit_code == 0 and done.output == ""
        # As with maintenance, and then without.
        found = pq.read_table(out / "jobs.parquet", partitioning=None)["start_s"].to_pylist()
        assert found == [50, 60, 70, 70, 70, 0, 10, 20, 20, 20]
    # User 2 (jobs 1, 3, 5) may use the 10 reserved nodes for as long as it ends in time.
    out = tmp_path / "reserved"
    done = run(
        "schedule", log, "--reservation", "0s..50s,10,2", "--out", out, "--json", "--no-plots"
    )
    assert done.exit_code == 0, done.output
    rows = pq.read_table(out / "jobs.parquet", partitioning=None).to_pandas()
    assert rows["start_s"].tolist()[:4] == [0, 50, 2, 50 + 10]
    assert rows["started"].tolist()[0] == "reservation"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--maintenance", "5s"], "allowed: START..END"),
        (["--maintenance", "x..y"], "allowed: a date such as"),
        (["--reservation", "0s..5s,3"], "names no users"),
        (["--maintenance", "0s..5s,3,ann"], "--reservation only"),
        (["--weight-age", "3"], "with multifactor only"),
        (["--compare", "easy"], "easy is there twice"),
        (["--compare", "hard"], '--compare: found "hard"'),
    ],
)
def test_wrong_usage_is_explained(
    log: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    failed = run("schedule", log, "--out", tmp_path / "out", *arguments)
    assert failed.exit_code != 0
    assert message in f"{failed.output}{failed.exception}"
    assert not (tmp_path / "out").exists()
    if isinstance(failed.exception, JobLogError):
        assert explain(failed.exception) is ExitCode.USAGE


def test_faults_are_counted_or_fatal(tmp_path: Path) -> None:
    path = tmp_path / "bad.swf"
    path.write_text(swf(*EXAMPLE) + "6 7 8\n7 9 0 -9 1 -1 -1 1 5 -1 1 1 -1 -1 -1 -1 -1 -1\n")
    done = run("log", "describe", path)
    assert done.exit_code == 0, done.output
    assert "column-count" in done.output and "negative-time" in done.output
    assert "3 columns instead of 18" in done.output
    report = json.loads(run("log", "describe", path, "--json").stdout)["report"]
    assert (report["records"], report["jobs"], report["dropped"]) == (7, 5, 2)
    strict = run("log", "describe", path, "--strict")
    assert isinstance(strict.exception, JobLogError)
    assert f"{path}:8: column-count" in str(strict.exception)


def test_logs_are_generated_and_converted(tmp_path: Path) -> None:
    drawn, cut = tmp_path / "drawn.swf", tmp_path / "cut.parquet"
    assert run("log", "generate", drawn, "--nodes", "32", "--jobs", "50").exit_code == 0
    done = run(
        "log",
        "convert",
        drawn,
        cut,
        "--first",
        "10",
        "--nodes-factor",
        "2",
        "--machine-nodes",
        "40",
        "--json",
    )
    assert json.loads(done.stdout)["jobs"] == 10
    assert odonata.read_job_log(cut).machine_nodes == 40
    assert isinstance(run("log", "convert", drawn, cut).exception, OutputError)


def test_a_log_without_starts_has_no_recorded_schedule(tmp_path: Path) -> None:
    drawn = odonata.generate_job_log(nodes=8, jobs=5)
    with pytest.raises(JobLogError, match="records no starts"):
        recorded_schedule(drawn)


def test_a_log_of_which_nothing_runs_is_scheduled_and_drawn(log: Path, tmp_path: Path) -> None:
    schedule = odonata.schedule(log, nodes=1)
    assert schedule.summary["jobs"] == schedule.summary["refused"] == 5
    out = save_schedules([schedule], tmp_path / "out", plots=True)
    assert (out / "waits.png").exists()


def test_a_log_without_jobs_is_an_error(log: Path, tmp_path: Path) -> None:
    path = tmp_path / "empty.swf"
    path.write_text("; MaxNodes: 10\n")
    short = tmp_path / "short.swf"
    short.write_text("; MaxNodes: 10\n1 2 3\n4 5 6\n")
    for file, message in ((path, "has no jobs"), (short, "no job is left of 2 records")):
        for words in (["log", "describe"], ["schedule"]):
            failed = run(*words, file)
            assert isinstance(failed.exception, JobLogError), failed.output
            assert message in str(failed.exception)
            assert explain(failed.exception) is ExitCode.USAGE
    failed = run("log", "convert", log, tmp_path / "none.swf", "--from", "20d")
    assert isinstance(failed.exception, JobLogError) and "no job is left" in str(failed.exception)
    assert not (tmp_path / "none.swf").exists()


@pytest.mark.parametrize("ending", ["gz", "xz"])
def test_compressed_logs_are_read(log: Path, tmp_path: Path, ending: str) -> None:
    packed = tmp_path / f"log.swf.{ending}"
    pack = {"gz": gzip.compress, "xz": lzma.compress}[ending]
    packed.write_bytes(pack(log.read_bytes()))
    assert odonata.read_job_log(packed).jobs.equals(odonata.read_job_log(log).jobs)


def test_more_columns_than_the_format_has(tmp_path: Path) -> None:
    path = tmp_path / "lists.swf"
    lists = ["{n1,n2}", "{3}", "7 {4}"]
    job = "{} 0 5 10 1 -1 -1 1 20 -1 1 1 1 1 1 1 -1 -1 {}\n"
    path.write_text("".join(job.format(number + 1, more) for number, more in enumerate(lists)))
    read = odonata.read_job_log(path)
    assert read.jobs["node_list"].to_pylist() == ["n1,n2", "3", "4"]
    assert read.report is not None
    rules = {rule["rule"]: rule["count"] for rule in read.report["rules"]}
    assert rules == {"extra-columns": 1}


@pytest.fixture
def cores(tmp_path: Path) -> Path:
    """Ten nodes of eight cores: three jobs side by side that leave 20 cores, and one for them."""
    path = tmp_path / "cores.swf"
    job = "{} 0 {} {} {cores} -1 -1 {cores} 1000 -1 1 1 1 1 1 1 -1 -1\n"
    sizes = [(0, 100, 20), (0, 100, 20), (0, 100, 20), (0, 100, 20)]
    lines = [
        job.format(number + 1, wait, run, cores=size)
        for number, (wait, run, size) in enumerate(sizes)
    ]
    path.write_text("; MaxNodes: 10\n; MaxProcs: 80\n" + "".join(lines))
    return path


def test_a_log_of_processors_is_scheduled_by_processors(cores: Path, tmp_path: Path) -> None:
    log = odonata.read_job_log(cores)
    assert (log.unit, log.machine) == ("processors", "10 nodes of 8 processors")
    assert log.meta["unit_because"] == "a job has 20, and MaxNodes is 10"
    # All four at once on 80 cores, as recorded; on whole nodes 3 each, and one has to wait.
    shared, recorded = odonata.schedule(log), recorded_schedule(log)
    for one in (shared, recorded):
        assert (one.unit, one.summary["machine"]) == ("processors", 80)
        assert one.summary["utilisation"] == 1
        assert one.jobs["processors"].to_pylist() == [20] * 4
        assert one.occupancy["busy_processors"].to_pylist()[0] == 80
        assert [c["processor_seconds"] for c in one.summary["classes"]] == [8000]
    assert starts(shared) == [0, 0, 0, 0]
    whole = odonata.schedule(log, whole_nodes=True)
    assert (whole.unit, whole.summary["machine"]) == ("nodes", 10)
    assert starts(whole) == [0, 0, 0, 100]
    assert whole.jobs["nodes"].to_pylist() == [3] * 4
    # What was recorded had 80 cores at a time: 12 whole nodes.
    assert recorded_schedule(log, whole_nodes=True).summary["utilisation"] == 1.2
    # Windows withhold nodes, whatever jobs count.
    window = Window(start=0, end=50, nodes=5)
    assert starts(odonata.schedule(log, windows=[window])) == [0, 0, 50, 50]
    with pytest.raises(JobLogError, match="whole-nodes"):
        odonata.schedule(log, grap_groups=2)
    with pytest.raises(JobLogError, match="choose one"):
        odonata.schedule(log, share_processors=8, whole_nodes=True)
    # The unit stays with the log.
    for ending in ("swf", "parquet"):
        again = odonata.read_job_log(log.save(tmp_path / f"copy.{ending}"))
        assert starts(odonata.schedule(again)) == [0, 0, 0, 0]
    twice = log.scaled(nodes_factor=2)
    assert twice.jobs["requested_processors"].to_pylist() == [40] * 4
    assert odonata.schedule(twice).summary["machine"] == 160


def test_the_unit_of_a_log_is_said_and_decided(cores: Path, tmp_path: Path) -> None:
    described = run("log", "describe", cores)
    assert "10 nodes of 8 processors" in described.output
    assert "processors (a job has 20, and MaxNodes is 10)" in described.output
    for number, (options, said) in enumerate(
        [
            ([], "scheduled on 80 processors."),
            (["--whole-nodes"], "scheduled on 10 nodes, sizes rounded up to whole nodes."),
            (["--unit", "nodes", "--larger", "cut"], "counts nodes (as it was asked for)"),
        ]
    ):
        out = tmp_path / str(number)
        done = run("schedule", cores, *options, "--out", out, "--no-plots")
        assert done.exit_code == 0, done.output
        assert said in " ".join(done.output.split())
        # Job 1 has 20 of the 10 nodes that the log is then told to count.
        assert ("cut down to it" in done.output) == ("cut" in options)
        assert "a schedule refuses it" not in done.output
    unit = json.loads((tmp_path / "0" / "result.json").read_text())["unit"]
    assert unit == "processors"


def test_progress_says_how_many_jobs_have_ended(tmp_path: Path) -> None:
    from rich.console import Console

    from odonata.progress import JobsBar

    drawn = odonata.generate_job_log(nodes=64, jobs=3000, request_factor=2)
    answer: list[tuple[int, int]] = []
    odonata.schedule(drawn, progress=lambda done, of: answer.append((done, of)))
    assert answer and answer == sorted(answer) and {of for _, of in answer} == {3000}
    shown = io.StringIO()
    with JobsBar(Console(file=shown, force_terminal=True, width=100), "Scheduling easy") as bar:
        bar(750, 3000)
    assert "Scheduling easy" in shown.getvalue()
    assert "25%" in shown.getvalue() and "750 of 3,000 jobs" in shown.getvalue()
    assert "ETA" in shown.getvalue()


def test_kth_sp2_is_scheduled_in_a_second() -> None:
    files = [
        above / "shared/data/kth-sp2-jobs/KTH-SP2-1996-2.1-cln.swf"
        for above in Path(__file__).resolve().parents
    ]
    found = next((file for file in files if file.exists()), None)
    if found is None:
        pytest.skip("there is no ../shared/data/kth-sp2-jobs")
    schedule = odonata.schedule(found)
    # Measured: 0.02 s; the bound leaves room for slow machines.
    assert schedule.cost["cpu_seconds"] < 1
    assert schedule.summary["jobs"] == 28_475
    assert schedule.summary["wait_s"]["mean"] / 3600 == pytest.approx(1.90, abs=0.01)
