"""Running from Python."""

import time
from pathlib import Path

import pytest

import odonata
from odonata import Scenario, ScenarioError
from odonata.simulate import Progress

TEXT = """
[network]
family = "dragonfly"
p = 2
a = 4
h = 2
[[job]]
nodes = 72
motif = { kind = "all-to-all", message = "4 KiB", iterations = 40 }
"""


def test_a_scenario_or_its_file_can_be_run(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(TEXT.replace("iterations = 40", "iterations = 1"))
    by_name = odonata.run(tmp_path / "a.toml")
    built = odonata.run(Scenario.from_file(tmp_path / "a.toml"))
    assert by_name.links.equals(built.links)
    assert repr(built) == "<Result of dragonfly p=2 a=4 h=2 g=9 (absolute), minimal; jobs: job1>"


def test_a_seed_replaces_the_scenarios(tmp_path: Path) -> None:
    scenario = Scenario.from_toml(TEXT).with_set({"job.0.placement": "random-node", "seed": 3})
    small = scenario.with_set({"job.0.nodes": 8, "job.0.motif.iterations": 1})
    assert odonata.run(small, seed=4).placement != odonata.run(small).placement
    assert odonata.run(small, seed=3).placement == odonata.run(small).placement


def test_progress_is_reported_and_can_stop_the_run() -> None:
    seen: list[Progress] = []

    def stop_half_way(progress: Progress) -> None:
        seen.append(progress)
        if progress.fraction > 0.0:
            raise KeyboardInterrupt

    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        odonata.run(
            Scenario.from_toml(TEXT).with_set({"job.0.motif.iterations": 1_000_000}),
            progress=stop_half_way,
        )
    assert time.monotonic() - started < 20
    assert all(0 <= progress.fraction <= 1 for progress in seen)
    assert seen[-1].packets_delivered > 0


def test_errors_of_the_engine_name_the_key() -> None:
    with pytest.raises(ScenarioError, match=r"job\[0\]") as raised:
        odonata.run(Scenario.from_toml(TEXT).with_set({"job.0.nodes": 73}))
    assert raised.value.path.startswith("job[0]")


def test_tables_open_in_pandas() -> None:
    result = odonata.run(Scenario.from_toml(TEXT).with_set({"job.0.motif.iterations": 1}))
    links = result.to_pandas("links")
    assert set(links["class"].unique()) == {"terminal", "local", "global"}
    # Everything that a node receives comes over its terminal link.
    received = links[links["to_node"].notna()]["bytes"].sum()
    assert received == 72 * 71 * 4096
