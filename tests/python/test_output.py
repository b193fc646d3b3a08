"""Nothing is ever overwritten, nothing finished is lost, nothing is half done."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from command import Done, call
from odonata.errors import ExitCode, OutputError
from odonata.output import CLAIM_FILE, Claim, claim, new_file
from odonata.results import Result
from synthetic import engine_result

COMMAND = Path(sys.executable).with_name("odonata")
SCENARIO = """\
[network]
family = "dragonfly"
p = 1
a = 2
h = 1

[[job]]
name = "left"
nodes = 3
motif = { kind = "all-to-all", message = "1 KiB" }

[[job]]
name = "right"
nodes = 3
motif = { kind = "all-to-all", message = "1 KiB" }
"""
LOADED = """\
[network]
family = "dragonfly"
p = 1
a = 2
h = 1

[simulation]
packet = "64 B"
duration = "20 us"

[[job]]
nodes = 6
traffic = { pattern = "uniform-random", message = "64 B", load = 0.1 }
"""
STUDY = """\
title = "two routings"
base = "s.toml"
[[axis]]
key = "network.routing"
values = ["minimal", "valiant"]
[[measure]]
figure = "job.*.run_time_ps"
reduce = "maximum"
[[figure]]
name = "times"
kind = "bar"
x = "routing"
y = "run_time_ps"
"""
LOG = """\
; MaxNodes: 8
1 0 -1 60 4 -1 -1 4 60 -1 1 1 1 -1 1 -1 -1 -1
2 5 -1 60 8 -1 -1 8 60 -1 1 1 1 -1 1 -1 -1 -1
"""


def begin(arguments: Sequence[str | Path], folder: Path, **more: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [COMMAND, *arguments],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **more,  # type: ignore[call-overload]
    )


def odonata(folder: Path, *arguments: str | Path) -> Done:
    return call(*arguments, directory=folder)


def done(folder: Path, *arguments: str | Path) -> str:
    """Standard output of a command that must succeed."""
    found = odonata(folder, *arguments)
    assert found.returncode == ExitCode.OK, found.stderr
    return found.stdout


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (
        ("s.toml", SCENARIO),
        ("load.toml", LOADED),
        ("study.toml", STUDY),
        ("log.swf", LOG),
    ):
        (tmp_path / name).write_text(text)
    return tmp_path


# --- Directories of runs ------------------------------------------------------------------


def test_results_go_where_they_were_asked_for(folder: Path) -> None:
    """Into the working directory, through a link, and to a mount point alike: in place."""
    (folder / "here").mkdir()
    done(folder / "here", "run", "../s.toml", "--out", ".", "--no-plots")
    assert Result.load(folder / "here").jobs.num_rows == 2
    (folder / "real").mkdir()
    (folder / "link").symlink_to("real")
    done(folder, "run", "s.toml", "--out", "link", "--no-plots")
    assert (folder / "link").is_symlink()
    assert Result.load(folder / "real").jobs.num_rows == 2
    assert not [path for path in folder.rglob(".*") if path.is_file()]


def test_a_directory_is_refused_before_anything_is_simulated(folder: Path) -> None:
    endless = [*["run", "load.toml", "--set", "simulation.duration=100s", "--out"]]
    (folder / "full").mkdir()
    (folder / "full" / "precious").touch()
    (folder / "dangling").symlink_to("nowhere")
    for out, words in (
        ("full", "already holds files"),
        (".", "already holds files"),
        ("s.toml", "no directory"),
        ("s.toml/below", "cannot be written"),
        ("dangling", "no directory"),
        ("/proc/odonata", "cannot be written"),
    ):
        found = odonata(folder, *endless, out)
        assert found.returncode == ExitCode.OUTPUT, found.stderr
        assert words in found.stderr
    assert [path.name for path in (folder / "full").iterdir()] == ["precious"]


def test_simultaneous_runs_get_a_directory_each(folder: Path) -> None:
    runs = [begin(["run", "s.toml", "--no-plots", "--json"], folder) for _ in range(4)]
    found = [json.loads(run.communicate(timeout=300)[0])["directory"] for run in runs]
    assert [run.returncode for run in runs] == [0] * 4
    assert sorted(found) == [f"results/s-{number}" for number in range(1, 5)]
    for directory in found:
        assert Result.load(folder / directory).jobs.num_rows == 2


def test_of_two_runs_into_one_directory_one_is_refused_at_once(folder: Path) -> None:
    endless = begin(
        ["run", "load.toml", "--set", "simulation.duration=100s", "--out", "out"], folder
    )
    try:
        while not (folder / "out" / CLAIM_FILE).exists():
            time.sleep(0.01)
        second = odonata(folder, "run", "s.toml", "--out", "out")
        assert second.returncode == ExitCode.OUTPUT
        assert "another process is running there" in second.stderr
        endless.send_signal(signal.SIGINT)
        assert endless.wait(60) == ExitCode.INTERRUPTED
    finally:
        endless.kill()
        endless.communicate()
    # An interrupted run leaves nothing.
    assert not (folder / "out").exists()


def test_what_a_killed_run_leaves_is_taken_over(folder: Path) -> None:
    killed = begin(["run", "load.toml", "--set", "simulation.duration=100s"], folder)
    try:
        while not (folder / "results" / "load-1" / CLAIM_FILE).exists():
            time.sleep(0.01)
    finally:
        killed.kill()
        killed.communicate()
    assert (folder / "results" / "load-1").exists()
    found = json.loads(done(folder, "run", "load.toml", "--no-plots", "--json"))
    assert found["directory"] == "results/load-1"
    assert not (folder / "results" / "load-1" / CLAIM_FILE).exists()


def test_leftovers_are_removed_if_their_owner_is_dead(tmp_path: Path) -> None:
    old = time.time() - 3600
    abandoned = tmp_path / ".out.abc.partial"
    abandoned.mkdir()
    (abandoned / "jobs.parquet").touch()
    other = tmp_path / ".outer.abc.partial"
    other.mkdir()
    script = (
        "import time\nfrom pathlib import Path\nfrom odonata.output import new_file\n"
        f"with new_file(Path({str(tmp_path / 'out')!r})) as file:\n"
        "    print(file, flush=True)\n    time.sleep(600)\n"
    )
    owner = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        assert owner.stdout is not None
        held = Path(owner.stdout.readline().strip()).parent
        for path in (abandoned, other, held):
            os.utime(path, (old, old))
        with Claim(tmp_path / "out"):
            assert not abandoned.exists()
            assert held.exists()
            assert other.exists()
    finally:
        owner.kill()
        owner.communicate()
    os.utime(held, (old, old))
    with Claim(tmp_path / "out"):
        assert not held.exists()


def test_a_claim_is_for_one(tmp_path: Path) -> None:
    with Claim(tmp_path / "out"):
        with pytest.raises(OutputError, match="another process"):
            Claim(tmp_path / "out")
        with claim(None, "a", tmp_path) as first, claim(None, "a", tmp_path) as second:
            assert [first.directory.name, second.directory.name] == ["a-1", "a-2"]
    assert list(tmp_path.iterdir()) == []


def test_a_job_of_any_name_is_drawn(folder: Path) -> None:
    found = odonata(
        folder, "run", "s.toml", "--out", "out", "--all-plots", "--set", "job.0.name=$$"
    )
    assert (found.returncode, found.stderr) == (ExitCode.OK, "")
    assert (folder / "out" / "latency.png").exists()


def test_a_picture_that_fails_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        # The tables are there before anything is drawn.
        assert (tmp_path / "out" / "result.json").exists()
        raise ValueError("no such glyph")

    monkeypatch.setattr("odonata.plots.draw_timeline", broken)
    answer: list[str] = []
    Result.from_engine(engine_result()).save(tmp_path / "out", plots=True, notice=answer.append)
    assert answer == ["the picture timeline.png could not be drawn: ValueError: no such glyph"]
    assert (tmp_path / "out" / "latency.png").exists()
    assert not (tmp_path / "out" / "timeline.png").exists()
    assert Result.load(tmp_path / "out").jobs.num_rows


def test_stopped_while_pictures_are_drawn_the_tables_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("odonata.plots.draw_timeline", stop)
    with pytest.raises(KeyboardInterrupt):
        Result.from_engine(engine_result()).save(tmp_path / "out", plots=True)
    assert Result.load(tmp_path / "out").jobs.num_rows
    assert not [path for path in (tmp_path / "out").iterdir() if path.name.startswith(".")]


# --- Files --------------------------------------------------------------------------------


def test_a_file_appears_whole_and_replaces_none(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with pytest.raises(RuntimeError), new_file(path) as partial:
        partial.write_text("half")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
    with new_file(path) as partial:
        partial.write_text("whole")
        assert not path.exists()
    with pytest.raises(OutputError, match="exists already"), new_file(path):
        pytest.fail("begun")
    # Another one came while it was written: neither is lost.
    other = tmp_path / "b.csv"
    with (
        pytest.raises(OutputError, match=r"what was written is in .*b-2\.csv"),
        new_file(other) as partial,
    ):
        partial.write_text("ours")
        other.write_text("theirs")
    assert (other.read_text(), (tmp_path / "b-2.csv").read_text()) == ("theirs", "ours")


def test_no_command_replaces_a_file(folder: Path) -> None:
    done(
        folder,
        *("run", "s.toml", "--out", "out", "--no-plots", "--set", "record.rank_activity=true"),
    )
    for arguments in (
        ("topology", "draw", "s.toml", "--out", "x.png"),
        ("topology", "export", "s.toml", "--out", "x.graphml"),
        ("topology", "bisection", "s.toml", "--alpha", "1", "--out", "x.svg"),
        ("mapping", "s.toml", "--job", "left", "--out", "x.map"),
        ("ranks", "out", "--perfetto", "x.json.gz"),
        ("log", "convert", "log.swf", "x.parquet"),
        ("log", "generate", "x.swf", "--nodes", "8", "--jobs", "3"),
    ):
        name = next(name for name in arguments if name.startswith("x."))
        done(folder, *arguments)
        before = (folder / name).read_bytes()
        found = odonata(folder, *arguments)
        assert found.returncode == ExitCode.OUTPUT, arguments
        assert f"{name}: exists already" in found.stderr
        assert (folder / name).read_bytes() == before
        assert not list(folder.glob(".x.*"))


# --- Directories that go on ---------------------------------------------------------------


def test_another_question_in_the_same_directory_keeps_the_first_answer(folder: Path) -> None:
    for command, scenario, change, store in (
        (["interference"], "s.toml", "job.1.motif.message=64 KiB", "results/s-interference"),
        (
            ["saturation", "--highest", "0.4", "--tolerance", "50%"],
            "load.toml",
            "job.0.traffic.pattern=tornado",
            "results/load-saturation",
        ),
    ):
        done(folder, *command, scenario)
        first = contents(folder / store)
        assert b"[network]" in first["scenario.toml"]
        # The same again changes nothing.
        done(folder, *command, scenario)
        assert contents(folder / store) == first
        again = odonata(folder, *command, scenario, "--set", change)
        assert again.returncode == ExitCode.OK
        assert f"{store} showed before is now in {store}/earlier-1" in again.stderr
        second = contents(folder / store)
        first.pop("points.jsonl")
        assert {f"earlier-1/{name}": data for name, data in first.items()}.items() <= second.items()
        assert second["scenario.toml"] != first["scenario.toml"]


@pytest.mark.usefixtures("simulated_here")
def test_a_study_grows_in_place_and_another_one_does_not_replace_it(folder: Path) -> None:
    done(folder, "study", "study.toml", "--only", "routing == 'minimal'")
    done(folder, "study", "study.toml")
    out = folder / "results" / "study"
    assert not (out / "earlier-1").exists()
    first = contents(out)
    (folder / "study.toml").write_text(STUDY.replace('"valiant"', '"par"'))
    done(folder, "study", "study.toml")
    assert (out / "earlier-1" / "dataset.parquet").read_bytes() == first["dataset.parquet"]
    assert (out / "earlier-1" / "times.png").exists()
    # Not into a directory that holds something else.
    (folder / "mine").mkdir()
    (folder / "mine" / "study.md").write_text("my notes")
    refused = odonata(folder, "study", "study.toml", "--out", "mine")
    assert refused.returncode == ExitCode.OUTPUT
    assert contents(folder / "mine") == {"study.md": b"my notes"}


@pytest.mark.usefixtures("simulated_here")
def test_show_reads_every_kind_of_directory(folder: Path) -> None:
    for arguments, out, words in (
        (("run", "s.toml", "--no-plots"), "run", "left"),
        (("run", "s.toml", "--replications", "2"), "replications", "2 replications"),
        (("schedule", "log.swf", "--no-plots"), "schedule", "makespan"),
        (("study", "study.toml"), "study", "two routings"),
        (("interference", "s.toml"), "interference", "right"),
        (
            ("saturation", "load.toml", "--highest", "0.2", "--tolerance", "50%"),
            "saturation",
            "Offered load",
        ),
    ):
        before = done(folder, *arguments, "--out", out)
        if out == "replications":
            compared = done(folder, "compare", "run", out, "--out", "compared")
            assert done(folder, "show", "compared") == compared
            answer = json.loads(done(folder, "show", "compared", "--json"))
            assert list(answer["results"].values()) == ["run", out]
            assert answer["figures"]
        shown = done(folder, "show", out)
        assert words in before
        assert words in shown
        answer = json.loads(done(folder, "show", out, "--json"))
        assert answer["directory"] == out
        done(folder, "report", out, "--out", f"{out}.html")
    (folder / "points.jsonl").write_text("{}\n{}\n")
    unfinished = odonata(folder, "show", ".")
    assert unfinished.returncode == ExitCode.OUTPUT
    assert "not finished, 2 simulations are done" in unfinished.stderr
    nothing = odonata(folder, "show", "nowhere")
    assert nothing.returncode == ExitCode.OUTPUT
    assert "there is no such directory" in nothing.stderr


def with_full_disk(folder: Path, size: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command that cannot write files above a size in bytes."""
    script = (
        "import os, resource, sys\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))\n"
        "os.execv(sys.argv[1], sys.argv[1:])\n"
    )
    return subprocess.run(
        [sys.executable, "-c", script, COMMAND, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_a_full_disk_leaves_is_said_by_writer_and_reader(folder: Path) -> None:
    """Its tables whole, or nothing that is taken for a result."""
    # No table has more than 20 kB, and no picture less.
    found = with_full_disk(folder, 20_000, "run", "s.toml", "--out", "out")
    assert found.returncode == ExitCode.OUTPUT
    assert (
        "out: its tables are whole, but what shows them cannot be written: file too" in found.stderr
    )
    assert not list((folder / "out").glob("*.png"))
    assert Result.load(folder / "out").jobs.num_rows == 2
    # One replication of two can be written: what is there is not taken for both.
    done(folder, "run", "s.toml", "--out", "half/seed-1", "--no-plots")
    shown = odonata(folder, "show", "half")
    assert shown.returncode == ExitCode.OUTPUT
    assert "half: not a result directory: replications.parquet is missing" in shown.stderr
    # Of a study the points that were done are kept, and no dataset: it goes on from there.
    found = with_full_disk(folder, 2_000, "study", "study.toml", "--out", "study", "--jobs", "1")
    assert found.returncode == ExitCode.OUTPUT
    shown = odonata(folder, "show", "study")
    assert shown.returncode == ExitCode.OUTPUT
    assert "study: not finished, 2 simulations are done" in shown.stderr
    done(folder, "study", "study.toml", "--out", "study", "--jobs", "1")


@pytest.mark.parametrize("kind", ["run", "interference", "study", "ranks"])
def test_a_full_disk_is_exit_code_4(folder: Path, kind: str) -> None:
    """A limit on the size of files, as a quota sets one, stands in for it."""
    if kind == "ranks":
        done(
            folder,
            *("run", "s.toml", "--out", "out", "--no-plots", "--set", "record.rank_activity=true"),
        )
    arguments = {
        "run": ("run", "s.toml", "--no-plots"),
        "interference": ("interference", "s.toml"),
        "study": ("study", "study.toml", "--jobs", "1"),
        "ranks": ("ranks", "out", "--perfetto", "x.json"),
    }[kind]
    found = with_full_disk(folder, 2_000, *arguments)
    assert found.returncode == ExitCode.OUTPUT, found.stderr
    assert "cannot be written: file too large" in found.stderr
    assert not (folder / "x.json").exists()
    assert not list(folder.rglob("*.partial"))
