"""Reconfigurable dragonflies, GRAP as a placement, traffic inside groups, by way of scenarios."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

import odonata
from odonata import Scenario, _engine
from odonata.errors import ScenarioError
from odonata.simulate import ask_engine

#: Six groups of 8 nodes with 8 links each, on as many switches.
MACHINE: dict[str, Any] = {"family": "reconfigurable-dragonfly", "p": 2, "a": 4, "h": 2, "g": 6}
PAPER = {"family": "reconfigurable-dragonfly", "p": 12, "a": 24, "h": 12, "g": 288}
ALL_TO_ALL = {"kind": "all-to-all", "message": "4 KiB"}
EXAMPLE = Path(__file__).parents[2] / "examples" / "reconfigurable.toml"


def scenario(network: dict[str, Any], *jobs: dict[str, Any]) -> Scenario:
    return Scenario.from_dict({"network": network, "job": list(jobs)})


def grap(nodes: int, **motif: Any) -> dict[str, Any]:
    return {"nodes": nodes, "placement": "grap", "motif": {**ALL_TO_ALL, **motif}}


def describe(found: Scenario) -> dict[str, Any]:
    described: dict[str, Any] = ask_engine(_engine.topology, found)["description"]
    return described


def test_the_machine_of_the_paper() -> None:
    """Section 5.1.2: 82,944 nodes; 287 rounds of 144 circuits meet every pair of groups, one more
    meets 144 of them again."""
    described = describe(scenario(PAPER, {"nodes": 2, "motif": ALL_TO_ALL}))
    assert (described["nodes"], described["groups"]) == (82_944, 288)
    assert (described["group_pair_links_min"], described["group_pair_links_max"]) == (1, 2)
    assert "41472 circuits, 288 switches of 288 ports" in described["network"]


def test_two_groups_of_a_job_have_all_circuits_between_them() -> None:
    found = scenario({**MACHINE, "circuits": "jobs"}, grap(14))
    links = {link["name"]: link["links"] for link in describe(found)["link_classes"]}
    assert links["global"] == 8
    result = odonata.run(found)
    assert result.jobs.column("mean_routers_visited").to_pylist()[0] < 4


@pytest.mark.parametrize(
    "steering", ["uniform", "min-max", "matching", "min-cost-flow", "birkhoff"]
)
def test_a_ring_of_groups_is_served_by_circuits_along_it(steering: str) -> None:
    """A plane of the grid in every group: with matched circuits, all 4 + 4 links of a group lead to
    its two neighbours, and no packet needs a third group."""
    halo = {"kind": "halo3d", "message": "64 KiB", "grid": [4, 2, 6]}
    job = {"nodes": 48, "placement": {"policy": "grap", "mode": "minimal-balance"}, "motif": halo}
    described = describe(scenario({**MACHINE, "circuits": "jobs", "steering": steering}, job))
    most = described["group_pair_links_max"]
    assert most == (2 if steering == "uniform" else 4)


def test_the_example_keeps_jobs_apart() -> None:
    """The stencil's four groups are a ring of circuits, which nobody needs to cross, and ranks
    at the same place of two groups sit on routers that circuits join: its packets visit two
    routers at most. That they could go by way of a third group costs a third virtual channel."""
    result = odonata.run(EXAMPLE)
    assert result.meta["virtual_channels"] == 3
    visited = result.routers_visited.filter(pc.equal(result.routers_visited["job"], 0))
    assert max(visited.column("routers").to_pylist()) == 2
    proof = ask_engine(_engine.verify, Scenario.from_file(EXAMPLE))
    assert proof["safe"]
    assert proof["proven"]


def test_noise_inside_groups_stays_there() -> None:
    noise = {
        "nodes": 40,
        "traffic": {"pattern": "within-group", "message": "64 B", "load": 0.1, "messages": 5},
    }
    result = odonata.run(scenario({**MACHINE, "circuits": "jobs"}, noise))
    assert max(result.routers_visited.column("routers").to_pylist()) == 2


@pytest.mark.parametrize(
    ("network", "job", "words"),
    [
        ({"circuits": "file"}, {}, "network.circuits_file"),
        ({"steering": "min-max"}, {}, 'circuits = "jobs"'),
        ({"links_per_switch": 3}, {}, "use a divisor of 8"),
        ({"switch_ports": 4}, {}, "would need 6 ports"),
        ({}, {"placement": {"policy": "grap", "mode": "custom"}}, "nodes_per_group"),
        ({}, {"placement": {"policy": "grap", "groups": "0-2"}}, "GRAP looks at all groups"),
        ({}, {"placement": {"policy": "even"}}, "placement.groups"),
        (
            {},
            {"placement": {"policy": "grap", "mode": "custom", "nodes_per_group": [8, 2]}},
            "add up to the job's nodes",
        ),
    ],
)
def test_flaws_say_what_to_do(network: dict[str, Any], job: dict[str, Any], words: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        odonata.run(scenario({**MACHINE, **network}, {**grap(14), **job}))
    assert words in str(caught.value)
