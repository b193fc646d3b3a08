"""The command with the real engine: what a user sees."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from command import call as odonata
from odonata.errors import ExitCode
from odonata.output import CLAIM_FILE
from odonata.results import Result

ROOT = Path(__file__).resolve().parents[2]
COMMAND = Path(sys.executable).parent / "odonata"

SMALL = """
title = "Small"
seed = 5

[network]
family = "dragonfly"
p = 2
a = 4
h = 2
routing = "ugal-l"

[record]
messages = "all"

[[job]]
name = "stencil"
nodes = 32
placement = "random-node"
motif = { kind = "halo2d", message = "16 KiB", iterations = 3, compute = "1 us" }

[[job]]
name = "noise"
nodes = 16
placement = "random-node"
motif = { kind = "all-to-all", message = "4 KiB" }
"""

#: Runs for minutes, so that there is something to interrupt.
ENDLESS = SMALL.replace("iterations = 3", "iterations = 10000000")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "small.toml").write_text(SMALL)
    return tmp_path


def digests(directory: Path) -> dict[str, str]:
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(directory.iterdir())
        if file.name != "timing.json"
    }


def test_a_run_leaves_tables_pictures_and_a_summary(directory: Path) -> None:
    done = odonata("run", "small.toml", directory=directory)
    assert done.returncode == ExitCode.OK, done.stderr
    assert "Every byte is accounted for" in done.stdout
    # No progress bar where nobody looks.
    assert done.stderr == ""
    result = Result.load(directory / "results" / "small-1")
    # 32 ranks on a periodic grid send to 4 neighbours in each of 3 iterations;
    # 16 ranks send to 15 others.
    assert result.jobs["messages_delivered"].to_pylist() == [32 * 4 * 3, 16 * 15]
    assert len(result.messages) == 32 * 4 * 3 + 16 * 15
    assert result.meta["created_bytes"] == result.meta["delivered_bytes"]
    # 72 nodes, 36 routers of 2 + 3 + 2 ports.
    assert len(result.links) == 36 * 7 + 72
    # The overview at once, the others when they are asked for.
    out = directory / "results" / "small-1"
    assert [path.name for path in out.glob("*.png")] == ["overview.png"]
    shown = odonata("show", str(out), "--plots", directory=directory)
    assert shown.returncode == ExitCode.OK, shown.stderr
    assert "--plots (all pictures)" in done.stdout
    at_once = odonata("run", "small.toml", "--all-plots", directory=directory)
    assert at_once.returncode == ExitCode.OK, at_once.stderr
    assert "Next: odonata report" in at_once.stdout and "--plots" not in at_once.stdout
    again = {path.name for path in (directory / "results" / "small-2").glob("*.png")}
    pictures = {path.name for path in out.glob("*.png")}
    assert (
        pictures
        == again
        == {
            "overview.png",
            "latency.png",
            "link_load.png",
            "group_heatmap.png",
            "timeline.png",
            "topology.png",
            # Closed-loop jobs have ranks and messages; nothing else was recorded of them.
            "ranks.png",
            "message_sizes.png",
        }
    )


def test_json_has_what_programs_need(directory: Path) -> None:
    done = odonata("run", "small.toml", "--json", "--no-plots", directory=directory)
    assert done.returncode == ExitCode.OK, done.stderr
    summary = json.loads(done.stdout)
    job = summary["jobs"][0]
    for figure in ["min", "p25", "median", "p75", "p99", "max", "mean"]:
        assert job[f"message_latency_{figure}_ps"] > 0
    assert job["run_time_ps"] > 0
    assert 2 <= job["mean_routers_visited"] <= 7
    assert {entry["class"] for entry in summary["link_classes"]} == {"terminal", "local", "global"}
    assert summary["most_loaded_links"][0]["name"].startswith("r")
    assert summary["timing"]["cpu_seconds"] > 0


def test_equal_seeds_give_equal_files_on_any_number_of_threads(directory: Path) -> None:
    runs = {"a": ["--threads", "1"], "b": ["--threads", "2"], "c": ["--seed", "6", "--no-plots"]}
    for out, options in runs.items():
        done = odonata("run", "small.toml", "--out", out, *options, directory=directory)
        assert done.returncode == ExitCode.OK, done.stderr
    assert digests(directory / "a") == digests(directory / "b")
    links = "links.parquet"
    assert digests(directory / "a")[links] != digests(directory / "c")[links]


def test_the_saved_scenario_repeats_the_run(directory: Path) -> None:
    options = ["--set", "network.routing=valiant", "--seed", "9", "--no-plots"]
    assert (
        odonata("run", "small.toml", "--out", "first", *options, directory=directory).stderr == ""
    )
    odonata("run", "first/scenario.toml", "--out", "again", "--no-plots", directory=directory)
    assert digests(directory / "first") == digests(directory / "again")


def test_results_are_never_overwritten(directory: Path) -> None:
    odonata("run", "small.toml", "--out", "out", "--no-plots", directory=directory)
    before = digests(directory / "out")
    done = odonata("run", "small.toml", "--out", "out", "--seed", "8", directory=directory)
    assert done.returncode == ExitCode.OUTPUT
    assert "never overwritten" in done.stderr
    assert digests(directory / "out") == before


def seconds_of_work(process: int, started: float) -> float:
    """Processor time of a process, which does not depend on what else runs; time since it was
    started where the system does not tell."""
    stat = Path(f"/proc/{process}/stat")
    if not stat.exists():
        return time.monotonic() - started
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("kill", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_run_leaves_nothing(directory: Path, kill: signal.Signals) -> None:
    (directory / "endless.toml").write_text(ENDLESS)
    process = subprocess.Popen(
        [COMMAND, "run", "endless.toml", "--out", "out"],
        cwd=directory,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        started = time.monotonic()
        # Half a second of work after it has taken its directory, which it does before it simulates.
        begun: float | None = None
        while process.poll() is None:
            worked = seconds_of_work(process.pid, started)
            if begun is None and (directory / "out" / CLAIM_FILE).exists():
                begun = worked
            if begun is not None and worked - begun > 0.5:
                break
            time.sleep(0.02)
        assert process.poll() is None
        process.send_signal(kill)
        asked = time.monotonic()
        out, error = process.communicate(timeout=120)
    finally:
        process.kill()
        process.communicate()
    assert time.monotonic() - asked < 5
    if kill is signal.SIGINT:
        assert process.returncode == ExitCode.INTERRUPTED
        assert error.startswith("Interrupted: stopped at ")
        assert "nothing was written" in error
    else:
        assert process.returncode == -kill
    assert out == ""
    left = {path.name for path in directory.iterdir()} - {"endless.toml", "small.toml"}
    if kill is signal.SIGINT:
        assert left == set()
    else:
        # Only the claim to the directory, which the next run takes over.
        assert [path.name for path in (directory / "out").iterdir()] == [CLAIM_FILE]
        done = odonata("run", "small.toml", "--no-plots", "--out", "out", directory=directory)
        assert done.returncode == ExitCode.OK, done.stderr


SQUARE = """\
class terminal terminal 1000000000 10000 16384
class local local 1000000000 10000 16384
routers 0 3 group 0
nodes 1 0 terminal
nodes 1 1 terminal
nodes 1 2 terminal
nodes 1 3 terminal
link 0 1 local
link 2 3 local
"""


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        (["network.colour=red"], ["network.colour", "small.toml"]),
        (["network.links.local.bandwidth=5 furlongs"], ["network.links.local.bandwidth", "GB/s"]),
        (["network.links.local.latency=5"], ["network.links.local.latency", "unit"]),
        (["network.links.local.bandwidth=0 B/s"], ["network.links.local.bandwidth"]),
        (["network.g=99"], ["network.g", "99"]),
        (["job.0.nodes=1000"], ["job[0]", "1000", "72"]),
        (["job.0.motif.kind=matrix"], ["job[0].motif"]),
        (["network.routing=teleport"], ["network.routing", "minimal"]),
    ],
)
def test_bad_scenarios_are_explained(directory: Path, changes: list[str], text: list[str]) -> None:
    options = [part for change in changes for part in ("--set", change)]
    done = odonata("run", "small.toml", *options, directory=directory)
    assert done.returncode == ExitCode.USAGE, done.stderr
    for part in text:
        assert part in done.stderr
    assert "Traceback" not in done.stderr
    assert "panicked" not in done.stderr
    assert not (directory / "results").exists()


ALL_TO_ALL = 'nodes = 2\nmotif = { kind = "all-to-all", message = "1 kB" }\n'


@pytest.mark.parametrize(
    ("network", "job", "text"),
    [
        ('family = "edge-list"\nfile = "none.edges"', ALL_TO_ALL, ["none.edges", "No such file"]),
        # Routers 0 and 1 are one network, 2 and 3 another.
        ('family = "edge-list"\nfile = "split.edges"', ALL_TO_ALL, ["split.edges", "connected"]),
        ('family = "edge-list"\nfile = "broken.edges"', ALL_TO_ALL, ["broken.edges", "line 9"]),
        (
            'family = "crossbar"\nnodes = 8',
            'nodes = 8\nmotif = { kind = "matrix", file = "matrix.csv" }\n',
            ["job[0]", "501", "8"],
        ),
        (
            'family = "crossbar"\nnodes = 8',
            'motif = { kind = "matrix", file = "none.csv" }\n',
            ["none.csv", "No such file"],
        ),
    ],
)
def test_bad_files_are_explained(directory: Path, network: str, job: str, text: list[str]) -> None:
    (directory / "split.edges").write_text(SQUARE)
    (directory / "broken.edges").write_text(SQUARE.replace("link 2 3 local", "link 2 lo"))
    (directory / "matrix.csv").write_text("src,dst,bytes\n0,1,100\n500,2,100\n")
    (directory / "bad.toml").write_text(f"[network]\n{network}\n[[job]]\n{job}")
    done = odonata("run", "bad.toml", directory=directory)
    assert done.returncode == ExitCode.USAGE, done.stderr
    for part in text:
        assert part in done.stderr
    assert "Traceback" not in done.stderr
    assert "panicked" not in done.stderr


def test_a_truncated_link_list_names_the_line(directory: Path) -> None:
    theta = ROOT.parent / "shared" / "data" / "theta-topology" / "theta.interconnect"
    if not theta.exists():
        pytest.skip("needs ../shared/data/theta-topology")
    lines = theta.read_text().splitlines(keepends=True)
    (directory / "cut").write_text("".join(lines[:20_000]) + lines[20_000][:25])
    (directory / "cut.toml").write_text(
        '[network]\nfamily = "cray-xc-file"\nfile = "cut"\n'
        '[[job]]\nnodes = 2\nmotif = { kind = "all-to-all", message = "1 kB" }\n'
    )
    done = odonata("run", "cut.toml", directory=directory)
    assert done.returncode == ExitCode.USAGE
    assert "line 20001" in done.stderr


def test_an_unwritable_directory_is_noticed_first(directory: Path) -> None:
    (directory / "endless.toml").write_text(ENDLESS)
    done = odonata("run", "endless.toml", "--out", "/proc/odonata", directory=directory)
    assert done.returncode == ExitCode.OUTPUT
    assert "/proc/odonata: cannot be written" in done.stderr


def test_a_network_without_deadlock_is_proven_so(directory: Path) -> None:
    done = odonata("verify", "small.toml", "--json", directory=directory)
    assert done.returncode == ExitCode.OK, done.stderr
    assert json.loads(done.stdout)["safe"] is True
    assert "Free of deadlock" in odonata("verify", "small.toml", directory=directory).stdout


def test_too_few_virtual_channels_are_caught(directory: Path) -> None:
    options = ["--set", "network.routing=valiant", "--set", "network.routing.virtual_channels=1"]
    done = odonata("verify", "small.toml", *options, directory=directory)
    assert done.returncode == ExitCode.UNSAFE, done.stderr
    assert "Deadlock is possible" in done.stdout
    done = odonata("verify", "small.toml", *options, "--json", directory=directory)
    assert len(json.loads(done.stdout)["cycle"]) >= 2


def test_topologies_are_described_drawn_and_exported(directory: Path) -> None:
    done = odonata("topology", "describe", "small.toml", "--json", directory=directory)
    assert done.returncode == ExitCode.OK, done.stderr
    figures = json.loads(done.stdout)
    assert (figures["nodes"], figures["routers"], figures["groups"]) == (72, 36, 9)
    # Local, global, local.
    assert figures["diameter"] == 3
    assert odonata("topology", "describe", "small.toml", directory=directory).returncode == 0

    assert odonata("topology", "draw", "small.toml", directory=directory).returncode == 0
    assert (directory / "results/small-topology-1.png").stat().st_size > 10_000
    # A second time it takes the next name; a name that was asked for is never overwritten.
    assert odonata("topology", "draw", "small.toml", directory=directory).returncode == 0
    assert (directory / "results/small-topology-2.png").exists()
    options = ["draw", "small.toml", "--out", "results/small-topology-1.png"]
    again = odonata("topology", *options, directory=directory)
    assert again.returncode == ExitCode.OUTPUT
    assert "exists already" in again.stderr

    for ending, begin in [("svg", b"<?xml"), ("pdf", b"%PDF-")]:
        options = ["draw", "small.toml", "--out", f"drawn.{ending}"]
        done = odonata("topology", *options, directory=directory)
        assert done.returncode == ExitCode.OK, done.stderr
        assert (directory / f"drawn.{ending}").read_bytes().startswith(begin)
    done = odonata("topology", "draw", "small.toml", "--out", "a.gif", directory=directory)
    assert done.returncode == ExitCode.OUTPUT
    assert 'found the ending ".gif"; allowed for pictures: .png, .pdf, .svg' in done.stderr
    options = ["bisection", "small.toml", "--alpha", "1,2", "--out", "b.jpeg"]
    assert odonata("topology", *options, directory=directory).returncode == ExitCode.OUTPUT
    assert not list(directory.glob("[ab].*"))

    exported = [("graphml", "results/small-1.graphml"), ("edge-list", "results/small-1.edges")]
    for family, name in exported:
        done = odonata("topology", "export", "small.toml", "--format", family, directory=directory)
        assert done.returncode == ExitCode.OK, done.stderr
        (directory / "copy.toml").write_text(
            f'[network]\nfamily = "{family}"\nfile = "{name}"\n'
            '[[job]]\nnodes = 2\nmotif = { kind = "all-to-all", message = "1 kB" }\n'
        )
        copy = odonata("topology", "describe", "copy.toml", "--json", directory=directory)
        assert copy.returncode == ExitCode.OK, copy.stderr
        same = ["nodes", "routers", "groups", "diameter", "bisection_bandwidth_bytes_per_s"]
        assert {k: json.loads(copy.stdout)[k] for k in same} == {k: figures[k] for k in same}


def test_bench_reports_what_is_compared(directory: Path) -> None:
    done = odonata("bench", "--nodes", "1056", "--load", "0.1", "--json", directory=directory)
    assert done.returncode == ExitCode.OK, done.stderr
    figures = json.loads(done.stdout)
    assert {
        "nodes",
        "routing",
        "load",
        "threads",
        "packet_hops",
        "events",
        "cpu_seconds",
        "wall_seconds",
        "packet_hops_per_cpu_second",
        "peak_rss_bytes",
        "mean_routers_visited",
        "accepted_load",
    } <= set(figures)
    assert figures["nodes"] == 1056
    assert figures["accepted_load"] == pytest.approx(0.1, rel=0.05)


def test_output_to_a_closed_pipe_is_no_error(directory: Path) -> None:
    pipeline = f"'{COMMAND}' schema | head -n 1"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {pipeline}"],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "{\n", "")
