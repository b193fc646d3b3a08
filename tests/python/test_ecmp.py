"""ECMP: a path for each flow by hash, in packets and flows; flowlets; what is refused."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import odonata
from odonata import Checkpoint, Scenario, ScenarioError
from odonata.simulate.checkpoint import CheckpointEvent
from test_threads import digests

LINK = {"bandwidth": "10 GB/s", "latency": "100 ns"}
#: Two leaves of 16 nodes, joined by 16 spines: as many links up as nodes.
SPINES = 16
TREE = {
    "family": "fat-tree",
    "down": [SPINES, 2],
    "up": [SPINES],
    "links": {"terminal": LINK, "level1": LINK},
}
INSIDE = {"kind": "switch", "bandwidth": "100 GB/s", "latency": "200 ns"}
RAILS = {
    "node": {
        "ranks": 4,
        "interfaces": 4,
        "wiring": "rail-optimised",
        "interface": "pxn",
        "network": INSIDE,
    },
    "network": {"family": "fat-tree", "down": [4, 8], "up": [4]},
}
PLANES = {
    "node": {"ranks": 2, "interfaces": 2, "planes": 2, "network": INSIDE},
    "network": {"family": "dragonfly", "p": 2, "a": 4, "h": 4, "g": 5},
}
NETWORKS: dict[str, dict[str, Any]] = {
    "fat-tree": {"network": TREE},
    "three-levels": {"network": {"family": "fat-tree", "down": [4, 4, 4], "up": [4, 4]}},
    "dragonfly": {"network": {"family": "dragonfly", "p": 2, "a": 4, "h": 4, "g": 5}},
    "hyperx": {"network": {"family": "hyperx", "size": [4, 3], "p": 2, "parallel": [2, 2]}},
    "rails": RAILS,
    "planes": PLANES,
}


def scenario(base: dict[str, Any], load: dict[str, Any], **routing: Any) -> dict[str, Any]:
    """All nodes of a network with one job, under ECMP with these keys."""
    network = {**base["network"], "routing": {"algorithm": "ecmp", **routing}}
    return {
        **base,
        "network": network,
        "job": [{"name": "all", "placement": "contiguous", **load}],
    }


def shift(nodes: int, message: str, **traffic: Any) -> dict[str, Any]:
    """Every node of the first half sends to its counterpart in the second, and back."""
    pattern = {"pattern": "shift", "offset": nodes // 2, "message": message}
    pattern |= {"process": "aligned", "messages": 1, "interval": "1 ms", **traffic}
    return {"nodes": nodes, "traffic": pattern}


def bytes_of_links(data: dict[str, Any], **simulation: Any) -> dict[int, int]:
    """What every link between routers carried, by number."""
    data = {**data, "simulation": {**data.get("simulation", {}), **simulation}}
    result = odonata.run(Scenario.from_dict(data))
    links = result.links.to_pylist()
    return {
        number: link["bytes"]
        for number, link in enumerate(links)
        if link["kind"] != "terminal" and link["bytes"]
    }


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("keys", [{}, {"same_hash": True}, {"flows_per_pair": 3}])
def test_packets_and_flows_take_the_same_links(network: str, keys: dict[str, Any]) -> None:
    """Every message takes one path, which the hash gives: the same with packets and with flows."""
    motif = {"kind": "all-to-all", "message": "6000 B"}
    nodes = {"fat-tree": 32, "three-levels": 16, "dragonfly": 10, "hyperx": 10}.get(network, 5)
    data = scenario(NETWORKS[network], {"nodes": nodes, "motif": motif}, **keys)
    # Eager messages alone: what rendezvous messages ask for first takes no bandwidth of flows.
    data["mpi"] = {"eager_limit": "1 MB"}
    packets = bytes_of_links(data, packet="1 kB")
    assert bytes_of_links(data, packet="1 kB", engine="flow") == packets
    # Whole messages.
    assert packets and all(carried % 6000 == 0 for carried in packets.values())


@pytest.mark.parametrize("engine", ["packet", "flow"])
def test_a_shift_takes_as_long_as_its_fullest_link(engine: str) -> None:
    """As many nodes as links, each of a link's rate: balls in bins. The time is that of the link
    with most of them."""
    message = 4_000_000
    for seed in range(4):
        data = scenario(NETWORKS["fat-tree"], shift(2 * SPINES, f"{message} B"), hash_seed=seed)
        simulation = {"engine": engine, "duration": "900 ms", "packet": "8000 B"}
        data["simulation"] = simulation
        result = odonata.run(Scenario.from_dict(data))
        links = result.links.to_pylist()
        fullest = max(link["bytes"] for link in links if link["kind"] != "terminal")
        assert fullest % message == 0 and fullest >= 2 * message
        longest = max(result.jobs["message_latency_max_ps"].to_pylist()) * 1e-12
        assert longest == pytest.approx(fullest / 10e9, rel=0.02)


def paths(gap: str | None, interval: str, count: int = 64) -> Counter[int]:
    """Messages on each link up of one pair's, which sends one at an interval."""
    pattern = {"pattern": "shift", "offset": 1, "message": "1000 B", "process": "aligned"}
    traffic = {**pattern, "interval": interval, "messages": count}
    keys = {} if gap is None else {"flowlet_gap": gap}
    data = scenario(NETWORKS["fat-tree"], {"traffic": traffic}, **keys)
    # The first node of each leaf.
    data["job"][0]["placement"] = [0, SPINES]
    data["simulation"] = {"duration": "10 ms", "packet": "1 kB"}
    carried = bytes_of_links(data)
    return Counter({link: size // 1000 for link, size in carried.items()})


def test_a_pause_of_the_gap_begins_a_flowlet() -> None:
    """A message takes 0.1 us to leave, so that 9.9 us lie between two."""
    for gap in (None, "9901 ns"):
        assert set(paths(gap, "10 us").values()) == {64}
    found = paths("9900 ns", "10 us")
    # 64 flowlets each way on 16 paths, of two links: the expected number of unused ones is
    # 16 (15/16)^64 = 0.26.
    assert sum(found.values()) == 4 * 64
    assert len(found) > 4 * 12 and max(found.values()) < 14


def test_flowlets_are_the_same_on_any_number_of_threads_and_from_a_checkpoint(
    tmp_path: Path,
) -> None:
    traffic = {"pattern": "uniform-random", "load": 0.4, "message": "9 kB", "messages": 1500}
    load = {"nodes": 32, "traffic": traffic}
    data = scenario(NETWORKS["fat-tree"], load, flowlet_gap="400 ns", flows_per_pair=2)
    data["simulation"] = {"duration": "5 ms"}
    whole = Scenario.from_dict(data)
    for threads in (1, 3):
        odonata.run(whole, threads=threads).save(tmp_path / str(threads), plots=False)
    assert digests(tmp_path / "3") == digests(tmp_path / "1")
    events: list[CheckpointEvent] = []

    def stop(progress: object) -> None:
        raise RuntimeError("enough")

    keep = Checkpoint(tmp_path / "out", simulated="20 us", on_event=events.append)
    with pytest.raises(RuntimeError, match="enough"):
        odonata.run(whole, checkpoint=keep, progress=stop, threads=2)
    assert events[-1].kind == "written"
    odonata.run(whole, checkpoint=keep).save(tmp_path / "out", plots=False)
    assert any(event.kind == "resumed" for event in events)
    assert digests(tmp_path / "out") == digests(tmp_path / "1")
    # They are not the flows without pauses.
    del data["network"]["routing"]["flowlet_gap"]
    odonata.run(Scenario.from_dict(data)).save(tmp_path / "flows", plots=False)
    assert digests(tmp_path / "flows") != digests(tmp_path / "1")


@pytest.mark.parametrize("network", NETWORKS)
def test_no_network_of_flows_can_deadlock(network: str) -> None:
    motif = {"kind": "all-to-all", "message": "1 B"}
    data = scenario(NETWORKS[network], {"nodes": 2, "motif": motif})
    assert odonata.verify(Scenario.from_dict(data)).safe


def test_flows_go_around_a_link_that_fails() -> None:
    """The spine of a flow is taken out: it takes another, the other flows keep theirs."""
    whole = scenario(NETWORKS["fat-tree"], shift(2 * SPINES, "1000 B"))
    whole["simulation"] = {"duration": "2 ms", "packet": "1 kB"}
    assert bytes_of_links({**whole, "failures": {"routers": "5"}})


@pytest.mark.parametrize(
    ("routing", "simulation", "path", "words"),
    [
        ({"flowlet_gap": "1 us"}, {"engine": "flow"}, "network.routing.flowlet_gap", "pauses"),
        ({"flowlet_gap": "0 s"}, {}, "network.routing.flowlet_gap", "at least"),
        ({"flows_per_pair": 0}, {}, "network.routing.flows_per_pair", "1"),
        ({"choice": "by-load"}, {}, "network.routing.choice", "ecmp routing has no such option"),
        ({"per": "message"}, {}, "network.routing.per", "ecmp routing has no such option"),
        ({"minimal_links": "shortest"}, {}, "network.routing.minimal_links", "groups"),
        (
            {"algorithm": "minimal", "hash_seed": 1},
            {},
            "network.routing.hash_seed",
            "which is for ecmp",
        ),
    ],
)
def test_what_is_refused(
    routing: dict[str, Any], simulation: dict[str, Any], path: str, words: str
) -> None:
    motif = {"kind": "all-to-all", "message": "1 B"}
    data = scenario(NETWORKS["fat-tree"], {"nodes": 2, "motif": motif}, **routing)
    with pytest.raises(ScenarioError) as error:
        odonata.run(Scenario.from_dict({**data, "simulation": simulation}))
    assert error.value.problems[0].path == path
    assert words in str(error.value)


def test_flowlets_leave_the_links_that_are_full() -> None:
    """Flows that share a link wait for room, and pause: then they go elsewhere (LetFlow).

    Without pauses the time is that of the fullest link, with most of 16 flows thrown onto 16 links;
    with them it comes near to one flow a link.
    """
    motif = {"kind": "shift", "offset": SPINES, "message": "1 MB", "iterations": 4}
    alone = 4 * 1e6 / 10e9

    def seconds(seed: int, **keys: str) -> float:
        load = {"nodes": 2 * SPINES, "motif": motif}
        data = scenario(NETWORKS["fat-tree"], load, hash_seed=seed, **keys)
        result = odonata.run(Scenario.from_dict(data))
        return float(result.jobs["end_ps"].to_pylist()[0]) * 1e-12

    for seed in (0, 6, 7):
        whole, flowlets = seconds(seed), seconds(seed, flowlet_gap="200 ns")
        flows = whole / alone
        # Within the latency of a whole number of flows: 3, 5 and 4.
        assert flows == pytest.approx(round(flows), rel=0.01) and flows > 2.9
        assert alone < flowlets < 1.5 * alone
