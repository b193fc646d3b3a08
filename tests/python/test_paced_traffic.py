"""Traffic by a theoretical global link load, to several partners, with an end; groups of jobs."""

from pathlib import Path
from typing import Any

import pytest

from odonata import Scenario, ScenarioError, run
from odonata.units import GlobalLoad

GLOBAL = 4_250_000_000


def scenario(traffic: dict[str, Any], **changes: Any) -> Scenario:
    """72 nodes in 9 groups of 4 routers with 2 nodes."""
    job = {"name": "target", "nodes": 16, "traffic": {"pattern": "uniform-random", **traffic}}
    data: dict[str, Any] = {
        "network": {
            "family": "dragonfly",
            "p": 2,
            "a": 4,
            "h": 2,
            "links": {"global": {"bandwidth": "4.25 GB/s", "latency": "100 ns"}},
        },
        "simulation": {"duration": "20 us"},
        "job": [{**job, **changes}],
    }
    return Scenario.from_dict(data)


@pytest.mark.parametrize(
    "text", ["90 % TGLL", "90%TGLL", " 90 %  TGLL ", "0.9 TGLL", "9e5 ppm TGLL"]
)
def test_global_loads_are_read_as_people_write_them(text: str) -> None:
    assert GlobalLoad(text) == 900_000
    assert str(GlobalLoad(text)) == "90 % TGLL"
    assert GlobalLoad(text).fraction == 0.9


def test_a_load_and_a_message_give_the_interval_and_the_other_way_round() -> None:
    form = scenario({"load": "90 % TGLL", "message": "4 kB"}).normalised()["jobs"][0]["load"]
    assert form["traffic"]["offered"] == {"tgll": 0.9}
    assert form["traffic"]["message_bytes"] == 4_000
    form = scenario({"load": "130 % TGLL", "interval": "2 us"}).normalised()["jobs"][0]["load"]
    assert (form["traffic"]["message_bytes"], form["traffic"]["interval_ps"]) == (None, 2_000_000)
    share = scenario({"load": "50 %", "message": "1 kB"}).normalised()["jobs"][0]["load"]
    assert share["traffic"]["offered"] == {"load": 0.5}


@pytest.mark.parametrize(
    ("traffic", "path", "words"),
    [
        ({"load": "90 % TGLL"}, "message", ["nothing with `load`", "`interval`"]),
        ({"interval": "1 us"}, "message", ["a size"]),
        ({}, "message", ["none of them"]),
        (
            {"load": "90 % TGLL", "message": "1 kB", "interval": "1 us"},
            "interval",
            ["`load` and `interval` and `message`", "only without `message`"],
        ),
        ({"load": 0.5, "rate": "1 GB/s", "message": "1 kB"}, "rate", ["one of load, rate"]),
        ({"load": "90 TGLLs", "message": "1 kB"}, "load", ['"90 % TGLL"']),
        ({"load": "0 % TGLL", "message": "1 kB"}, "load", ["at least 0.0001 % TGLL"]),
        ({"load": "much", "message": "1 kB"}, "load", ["a number", '"90 % TGLL"', '"50 %"']),
        ({"load": 0.1, "message": "1 kB", "messages": 0}, "messages", ["at least 1"]),
        (
            {"pattern": "group-peers", "to": "some", "load": 0.1, "message": "1 kB"},
            "to",
            ['"next"', '"all"'],
        ),
    ],
)
def test_flaws_of_loads_name_their_key(
    traffic: dict[str, Any], path: str, words: list[str]
) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario(traffic)
    [problem] = caught.value.problems
    assert problem.path == f"job[0].traffic.{path}"
    assert all(word in problem.message for word in words), problem.message


def test_a_global_load_needs_a_global_link() -> None:
    alone = scenario({"load": "90 % TGLL", "message": "4 kB"}, nodes=4).with_set(["network.g=1"])
    with pytest.raises(ScenarioError, match="has no global link") as caught:
        run(alone, progress=False)
    assert caught.value.problems[0].path == "job[0].traffic.load"


def test_the_global_load_is_what_is_offered() -> None:
    """Equation 4 of Kang et al. 2019: 90 % of 4.25 GB/s in 16 ranks for 20 us."""
    traffic = {"load": "90 % TGLL", "message": "3825 B", "process": "aligned"}
    result = run(scenario(traffic), progress=False)
    # One message of each rank every microsecond, the first at 0.
    assert result.jobs["messages_created"].to_pylist() == [16 * 20]
    paced = result.meta["traffic"]
    assert paced == [
        {"job": "target", "message_bytes": 3825, "interval_ps": 1e6, "tgll": 0.9},
    ]


def test_messages_to_all_peers_end_and_so_does_the_run() -> None:
    """16 nodes are 2 groups of 8: each rank sends 3 times to its one counterpart."""
    traffic = {
        "pattern": "group-peers",
        "to": "all",
        "interval": "1 us",
        "message": "1 kB",
        "messages": 3,
    }
    job = {"record": {"messages": "all"}}
    data = scenario(traffic).to_dict()
    del data["simulation"]["duration"]
    result = run(Scenario.from_dict({**data, **job}), progress=False)
    rows = result.messages.to_pylist()
    assert len(rows) == 48
    assert all(row["destination_rank"] == (row["source_rank"] + 8) % 16 for row in rows)
    assert result.jobs["end_ps"].to_pylist() == [result.meta["end_ps"]]


@pytest.mark.parametrize("groups", ["6-8", "6, 7-8", [8, 6, 7]])
def test_placements_within_groups(groups: Any) -> None:
    """Groups 6 to 8 are nodes 48 to 71; evenly, the first node of every router comes first."""
    placement = {"policy": "even", "groups": groups}
    traffic = {"load": 0.1, "message": "1 kB"}
    result = run(scenario(traffic, nodes=12, placement=placement), progress=False)
    nodes = sorted(result.placement["node"].to_pylist())
    assert nodes == list(range(48, 72, 2))


def test_isolated_jobs_share_no_group() -> None:
    traffic = {"load": 0.1, "message": "1 kB"}
    data = scenario(traffic, nodes=12, placement="isolated").to_dict()
    other = {"name": "other", "nodes": 56, "traffic": data["job"][0]["traffic"]}
    result = run(Scenario.from_dict({**data, "job": [*data["job"], other]}), progress=False)
    rows = result.placement.to_pylist()
    groups = [{row["node"] // 8 for row in rows if row["job"] == job} for job in (0, 1)]
    assert groups == [{0, 1}, set(range(2, 9))]
    with pytest.raises(ScenarioError, match="7 of 9 groups"):
        run(
            Scenario.from_dict(
                {**data, "job": [{**other, "nodes": 16}, {**data["job"][0], "nodes": 57}]}
            )
        )


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ("8-6", ['"3-8"']),
        ("six", ['"3-8"']),
        ("0-9999999", ['"3-8"']),
        ([], ["at least 1 number"]),
        (3.5, ["a list of numbers", '"3-8"']),
    ],
)
def test_flaws_of_groups(groups: Any, words: list[str]) -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario({"load": 0.1, "message": "1 kB"}, placement={"groups": groups})
    [problem] = caught.value.problems
    assert problem.path == "job[0].placement.groups"
    assert all(word in problem.message for word in words), problem.message


def test_scenarios_with_all_of_it_read_back_equal(tmp_path: Path) -> None:
    traffic = {"pattern": "stencil", "dimensions": 2, "to": "next", "load": "90 % TGLL"}
    placement = {"policy": "random-node", "groups": "0-4"}
    made = scenario({**traffic, "interval": "1 us", "messages": 5}, placement=placement)
    file = tmp_path / "scenario.toml"
    file.write_text(made.to_toml())
    assert Scenario.from_file(file).normalised() == made.normalised()
