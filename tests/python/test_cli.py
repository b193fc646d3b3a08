"""The command line up to the engine, which is replaced by a made-up one.

What the real engine does with it is tested in test_end_to_end.py.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import odonata._engine
import odonata.simulate.engine
from odonata.cli import main
from odonata.errors import ExitCode
from synthetic import engine_result

SCENARIO = """
title = "Small"
[network]
family = "dragonfly"
p = 2
a = 4
h = 2
[[job]]
name = "halo"
nodes = 36
motif = { kind = "all-to-all", message = "1 kB" }
[[job]]
name = "all-to-all"
nodes = 36
motif = { kind = "all-to-all", message = "1 kB" }
"""

NOW = {
    "now_ps": 400,
    "packets_delivered": 10,
    "bytes_delivered": 100,
    "packet_hops": 30,
    "fraction": 0.5,
}


class SpecError(Exception):
    pass


class SimulationError(Exception):
    pass


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The engine that commands see; a test changes what it returns or raises."""
    seen: list[dict[str, Any]] = []

    def run(spec: str, progress: Any) -> dict[str, Any]:
        seen.append(json.loads(spec))
        if progress is not None:
            progress(NOW)
        return engine_result(seed=seen[-1]["seed"])

    def bench(
        family: str,
        nodes: int,
        routing: str,
        choice: str,
        load: float,
        threads: int,
        seed: int,
        progress: Any,
    ) -> dict[str, Any]:
        progress(NOW)
        given = {"family": family, "nodes": nodes, "routing": routing, "choice": choice}
        return {**given, "load": load, "threads": threads}

    replaced = {
        "run": run,
        "bench": bench,
        "verify": lambda spec, progress, seconds: {
            "safe": True,
            "proven": True,
            "channels": 10,
            "dependencies": 12,
            "virtual_channels": 2,
            "cycle": [],
        },
        "SpecError": SpecError,
        "SimulationError": SimulationError,
        "seen": seen,
    }
    # Modules that are first imported under the fixture read scenarios by it as well.
    real = odonata._engine
    fake: Any = SimpleNamespace(**{**vars(real), **replaced})
    monkeypatch.setattr(odonata, "_engine", fake)
    monkeypatch.setattr("odonata.simulate.engine._engine", fake)
    yield fake
    # Other tests of this process import nothing anew.
    for module in list(sys.modules.values()):
        if vars(module).get("_engine") is fake and module is not odonata:
            vars(module)["_engine"] = real


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SCENARIO)
    return "small.toml"


def invoke(*arguments: str) -> int:
    with pytest.raises(SystemExit) as exit_:
        main(list(arguments))
    assert isinstance(exit_.value.code, int)
    return exit_.value.code


def test_run_prints_a_summary_and_fills_a_directory(
    engine: SimpleNamespace, scenario: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke("run", scenario) == ExitCode.OK
    printed = capsys.readouterr()
    assert "Two made-up jobs" in printed.out
    assert "results/small-1/overview.png" in printed.out
    # Not a terminal: no progress bar.
    assert printed.err == ""
    names = {path.name for path in Path("results/small-1").iterdir()}
    assert {"scenario.toml", "summary.json", "links.parquet", "overview.png"} <= names
    # The second run takes the next name.
    assert invoke("run", scenario, "--no-plots") == ExitCode.OK
    assert not list(Path("results/small-2").glob("*.png"))


def test_json_is_one_object_and_nothing_else(
    engine: SimpleNamespace, scenario: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke("run", scenario, "--json", "--no-plots", "--out", "here") == ExitCode.OK
    summary = json.loads(capsys.readouterr().out)
    assert summary["directory"] == "here"
    assert [job["name"] for job in summary["jobs"]] == ["halo", "all-to-all"]
    assert summary["timing"]["threads"] == 1
    assert invoke("show", "here", "--json") == ExitCode.OK
    assert json.loads(capsys.readouterr().out) == summary


def test_quiet_prints_nothing(
    engine: SimpleNamespace, scenario: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke("run", scenario, "--quiet", "--no-plots") == ExitCode.OK
    printed = capsys.readouterr()
    assert printed.out == printed.err == ""


def test_options_reach_the_engine(engine: SimpleNamespace, scenario: str) -> None:
    code = invoke(
        *("run", scenario, "--set", "network.p=4", "--seed", "7", "--threads", "3"),
        *("--no-plots", "--out", "out"),
    )
    assert code == ExitCode.OK
    spec = engine.seen[0]
    assert spec["network"]["topology"]["p"] == 4
    assert spec["seed"] == 7
    assert spec["simulation"]["threads"] == 3
    saved = Path("out/scenario.toml").read_text()
    assert "p = 4" in saved
    assert "seed = 7" in saved
    # Threads do not change the result, so they do not change what is kept of it.
    assert "threads" not in saved


def test_filled_directory_is_refused_before_the_simulation(
    engine: SimpleNamespace, scenario: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("full").mkdir()
    Path("full/precious").write_text("data")
    assert invoke("run", scenario, "--out", "full") == ExitCode.OUTPUT
    assert engine.seen == []
    assert [path.name for path in Path("full").iterdir()] == ["precious"]
    assert "full: already holds files" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (SpecError("network.g", "found 99"), ExitCode.USAGE, ": line 3: network.g: found 99"),
        (SimulationError("deadlock at 3 us"), ExitCode.SIMULATION, "deadlock at 3 us"),
        (KeyboardInterrupt(), ExitCode.INTERRUPTED, "nothing was written"),
        (MemoryError(), ExitCode.SIMULATION, "not enough memory"),
        (RuntimeError("odd"), ExitCode.INTERNAL, "RuntimeError: odd"),
    ],
)
def test_failures_have_documented_codes_and_no_traceback(
    engine: SimpleNamespace,
    scenario: str,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: ExitCode,
    text: str,
) -> None:
    def fail(spec: str, progress: Any) -> None:
        raise error

    engine.run = fail
    assert invoke("run", scenario, "--out", "out") == code
    printed = capsys.readouterr()
    assert text in printed.err
    assert "Traceback" not in printed.err
    assert printed.out == ""
    assert not Path("out").exists()


def test_debug_shows_where_an_error_came_from(
    engine: SimpleNamespace, scenario: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(spec: str, progress: Any) -> None:
        raise RuntimeError("odd")

    engine.run = fail
    assert invoke("run", scenario, "--debug") == ExitCode.INTERNAL
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["run", "none.toml"], "none.toml: cannot be read: No such file"),
        (["run", "small.toml", "--set", "network.q=1"], "network.q"),
        (["run", "small.toml", "--set", "nonsense"], "KEY=VALUE"),
        (["run", "small.toml", "--threads", "0"], "--threads"),
        (["run", "small.toml", "--colour"], "No such option"),
        (["bench", "--nodes", "0"], "--nodes"),
        (["fly"], "No such command"),
    ],
)
def test_wrong_usage_is_explained(
    engine: SimpleNamespace,
    scenario: str,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    text: str,
) -> None:
    assert invoke(*arguments) == ExitCode.USAGE
    assert text in capsys.readouterr().err


def test_a_possible_deadlock_has_its_own_code(
    engine: SimpleNamespace, scenario: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke("verify", scenario) == ExitCode.OK
    assert "Free of deadlock: routing minimal (default), " in capsys.readouterr().out
    engine.verify = lambda spec, progress, seconds: {
        "safe": False,
        "proven": True,
        "channels": 4,
        "dependencies": 4,
        "virtual_channels": 1,
        "cycle": ["r0 → r1 VC 0", "r1 → r0 VC 0"],
    }
    assert invoke("verify", scenario) == ExitCode.UNSAFE
    answer = capsys.readouterr().out
    assert "r1 → r0 VC 0" in answer
    assert "1 virtual channel per link" in " ".join(answer.split())
    assert invoke("verify", scenario, "--json") == ExitCode.UNSAFE
    told = json.loads(capsys.readouterr().out)
    assert told["safe"] is False and told["routing"] == "minimal"


def test_a_proof_that_is_out_of_time_has_its_own_code(
    engine: SimpleNamespace, scenario: str, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.verify = lambda spec, progress, seconds: {
        "safe": True,
        "proven": False,
        "channels": 4,
        "dependencies": 4,
        "virtual_channels": 1,
        "cycle": [],
        "verdict": f"not proven in time: no cycle in {seconds} s",
    }
    assert invoke("verify", scenario, "--time", "2.5") == ExitCode.UNPROVEN
    answer = capsys.readouterr().out
    assert "no cycle in 2.5 s" in answer and "Free of deadlock" not in answer
    assert invoke("verify", scenario, "--time", "2.5", "--json") == ExitCode.UNPROVEN
    assert json.loads(capsys.readouterr().out)["proven"] is False


def test_bench_passes_its_options_on(
    engine: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert invoke("bench", "--nodes", "1056", "--routing", "par", "--json") == ExitCode.OK
    figures = json.loads(capsys.readouterr().out)
    wanted = {"family": "dragonfly", "nodes": 1056, "routing": "par", "choice": "random"}
    assert figures == {**wanted, "load": 0.5, "threads": 1}


def test_schema_is_json(engine: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke("schema") == ExitCode.OK
    assert json.loads(capsys.readouterr().out)["title"] == "Odonata scenario"


def test_help_and_version_succeed(capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke("--version") == ExitCode.OK
    assert capsys.readouterr().out.startswith("odonata ")
    assert invoke("--help") == ExitCode.OK
    for command in ["run", "show", "verify", "topology", "trace", "schema", "bench"]:
        assert command in capsys.readouterr().out or invoke(command, "--help") == ExitCode.OK


@pytest.mark.parametrize(
    ("record", "asks"),
    [
        # One table that grows asks before it does; what grows in many places is weighed.
        ('arrivals = { interval = "1 ps" }', "the records of attribution and arrivals"),
        ('messages = "all"', "recorded messages"),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of the address space")
def test_a_run_that_memory_does_not_hold_says_what_asked(
    tmp_path: Path, record: str, asks: str
) -> None:
    (tmp_path / "s.toml").write_text(
        f"""
        [network]
        family = "dragonfly"
        p = 2
        a = 4
        h = 2
        [simulation]
        duration = "1 s"
        packet = "256 B"
        [record]
        {record}
        [[job]]
        name = "uniform"
        ranks = 72
        traffic = {{ pattern = "uniform-random", message = "256 B", load = 0.9 }}
        """
    )
    # 300 MB more than what the program takes for itself, of which it leaves 134.
    script = (
        "import resource, sys\n"
        "import odonata._engine, pyarrow\n"
        "from odonata.cli import main\n"
        "pages = int(open('/proc/self/statm').read().split()[0])\n"
        "most = pages * resource.getpagesize() + 300_000_000\n"
        "resource.setrlimit(resource.RLIMIT_AS, (most, most))\n"
        "main(['run', 's.toml', '--no-plots'])\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert found.returncode == ExitCode.SIMULATION, found.stderr
    assert f"not enough memory for {asks}: " in found.stderr
    assert not (tmp_path / "results").exists()
