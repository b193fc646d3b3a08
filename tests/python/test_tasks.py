"""The eight tasks that people want to do: short, and they do what they say."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TASKS = Path(__file__).resolve().parents[2] / "examples" / "tasks"


def outcome(name: str, directory: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Runs a task in a directory of its own; what its variables are in the end."""
    monkeypatch.chdir(directory)
    return runpy.run_path(str(TASKS / f"{name}.py"))


@pytest.mark.parametrize("task", sorted(TASKS.glob("*.py")), ids=lambda path: path.stem)
def test_tasks_are_short_and_listed(task: Path) -> None:
    lines = [line for line in task.read_text(encoding="utf-8").splitlines() if line.strip()]
    assert len(lines) <= 15
    assert f"({task.name})" in (TASKS / "README.md").read_text(encoding="utf-8")


def test_there_are_eight() -> None:
    assert len(list(TASKS.glob("*.py"))) == 8


@pytest.mark.usefixtures("simulated_here")
def test_routings_and_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = outcome("routings_and_loads", tmp_path, monkeypatch)["found"]
    rows = found.table.to_pylist()
    assert len(rows) == 15
    latency = {(row["routing"], row["load"]): row["message_latency_mean_us"] for row in rows}
    for routing in ("minimal", "valiant", "ugal-l"):
        assert latency[routing, 0.1] < latency[routing, 0.9]
    # Valiant's detours cost where nothing is in the way.
    assert latency["minimal", 0.1] < latency["valiant", 0.1]
    assert (tmp_path / "routings-and-loads.png").stat().st_size > 10_000


def test_a_script_begins_once(tmp_path: Path) -> None:
    # Processes that simulate do not run the program again that they are started from.
    script = tmp_path / "mine.py"
    script.write_text(
        "print('begun')\nimport odonata\n"
        "scenario = odonata.Scenario.from_toml(odonata.first_scenario('crossbar', nodes=4))\n"
        "found = odonata.sweep(scenario, {'job.0.motif.iterations': [1, 2]}, jobs=2)\n"
        "print(found.table.num_rows)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["begun", "2"], done.stderr


def test_own_edge_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = outcome("own_edge_list", tmp_path, monkeypatch)["result"]
    assert (result.meta["nodes"], result.meta["routers"]) == (16, 8)
    assert (tmp_path / "ring.png").exists()


def test_trace_on_three_topologies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = outcome("trace_on_three_topologies", tmp_path, monkeypatch)["times"]
    assert list(times) == ["dragonfly", "fat-tree", "torus"]
    # The slowest rank computes for 4 steps of 27.5 us, and its network interface sends 16 faces of
    # 262,144 B at 25 GB/s.
    assert min(times.values()) > 4 * 27.5
    assert min(times.values()) > 16 * 262_144 / 25e9 * 1e6


def test_who_slows_whom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = outcome("who_slows_whom", tmp_path, monkeypatch)["found"]
    assert found.names == ["left", "middle", "right"]
    assert found.matrix.num_rows == 6


def test_job_log_three_policies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome("job_log_three_policies", tmp_path, monkeypatch)
    for policy in ("fcfs", "easy", "conservative"):
        assert (tmp_path / f"{policy}.png").exists()


def test_fat_tree_1024(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = outcome("fat_tree_1024", tmp_path, monkeypatch)["result"]
    assert result.meta["nodes"] == 1024


def test_graphml_round_trip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = outcome("graphml_round_trip", tmp_path, monkeypatch)
    assert found["graph"].number_of_nodes() == 27 + 27


def test_own_pattern(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = outcome("own_pattern", tmp_path, monkeypatch)["result"]
    (job,) = result.summary_dict["jobs"]
    assert job["bytes_delivered"] == 16 * 2**20
    sent = result.to_pandas("links").query("kind == 'terminal' and from_node.notna()")
    assert (sent["bytes"].loc[sent["bytes"] > 0] >= 2**20).all()
