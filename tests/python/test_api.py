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


FULL = Scenario.from_toml(
    """
[network]
family = "dragonfly"
p = 2
a = 4
h = 2
[simulation]
warmup = "5 us"
duration = "25 us"
[[job]]
name = "neighbours"
nodes = 72
traffic = { pattern = "adversarial", message = "512 B", load = 0.5 }
"""
)


def test_functions_take_changes_as_commands_do() -> None:
    """By key, and by the last part of one."""
    for changes in ({"set": {"network.routing": "par"}}, {"routing": "par"}):
        assert odonata.run(FULL, duration="6 us", **changes).meta["routing"] == "par"
        assert odonata.verify(FULL, **changes).longest_route > odonata.verify(FULL).longest_route
    assert odonata.topology(FULL, set={"network.p": 3}).description["nodes"] == 108
    assert odonata.topology(FULL, p=3).description["nodes"] == 108
    two = FULL.with_set(
        {"job": [{**FULL.to_dict()["job"][0], "nodes": 36, "name": n} for n in "ab"]}
    )
    found = odonata.interference(two, set={"job.*.traffic.load": 0.1}, duration="8 us", jobs=2)
    assert [job.traffic.load for job in found.scenario.job] == [0.1, 0.1]
    assert found.scenario.simulation.duration == 8_000_000
    with pytest.raises(ScenarioError, match=r"did you mean routing\?"):
        odonata.run(FULL, rooting="par")


def test_saturation_over_seeds() -> None:
    found = odonata.saturation(FULL, seeds=2, highest=0.3, tolerance=0.2, jobs=2, warmup="2 us")
    assert list(found.by_seed) == [1, 2] and found.over_seeds is not None
    assert "over 2 seeds" in repr(found) and len(repr(found)) < 200
    assert str(found).count("\n") == len(found.points) + 1 and "saturated\n" in str(found)
    with pytest.raises(ValueError, match="at least 1"):
        odonata.saturation(FULL, seeds=0)


def test_a_printed_result_has_figures_and_says_what_is_saturated() -> None:
    result = odonata.run(FULL)
    text = str(result)
    assert "neighbours: 72 nodes, mean latency" in text and "per node" in text
    assert "saturated" in text
    assert "saturated" not in str(odonata.run(FULL, load=0.05))


def test_no_recorded_message_is_no_surprise(recwarn: pytest.WarningsRecorder) -> None:
    with pytest.warns(RuntimeWarning, match=r"record\.messages"):
        assert odonata.run(FULL, duration="6 us").to_pandas("messages").empty
    recwarn.clear()
    recorded = odonata.run(FULL, duration="6 us", set={"record.messages": "all"})
    assert not recorded.to_pandas("messages").empty and not recwarn.list
