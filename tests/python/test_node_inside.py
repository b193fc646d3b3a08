"""Nodes with an inside: which way messages take, what collectives take, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import odonata
from odonata import Checkpoint, OdonataError, Scenario, ScenarioError, _engine, verify
from odonata.batch.from_scenario import run_schedules
from odonata.cli import main
from odonata.names import INTERFACE_CHOICE
from odonata.network.cost import parts
from odonata.network.damage import damage_of
from odonata.simulate import ask_engine
from odonata.simulate.checkpoint import CheckpointEvent
from test_threads import digests

NVLINK, NIC = 100e9, 10e9
INSIDE_NS, CABLE_NS, ROUTER_NS = 200.0, 100.0, 50.0
FLIT, PACKET = 32, 4096
LINK = {"bandwidth": "10 GB/s", "latency": "100 ns"}


def machine(jobs: list[dict[str, Any]], **node: Any) -> dict[str, Any]:
    """A rail-optimised tree of 8 leaves, joined by 4 spines: 8 nodes of 4 GPUs."""
    inside = {"kind": "switch", "bandwidth": "100 GB/s", "latency": "200 ns"}
    own = {"ranks": 4, "interfaces": 4, "wiring": "rail-optimised", "network": inside}
    return {
        "node": {**own, **node},
        "network": {
            "family": "fat-tree",
            "down": [4, 8],
            "up": [4],
            "links": {"terminal": LINK, "level1": LINK},
        },
        "simulation": {"packet": f"{PACKET} B"},
        "job": jobs,
    }


def seconds(data: dict[str, Any]) -> float:
    """When the last job ends."""
    result = odonata.run(Scenario.from_dict(data))
    return float(max(result.jobs["end_ps"].to_pylist())) * 1e-12


def alone(ranks: list[int], **node: Any) -> float:
    """Time of one packet between two GPUs, each way at once."""
    motif = {"kind": "all-to-all", "message": f"{PACKET} B"}
    job = {"name": "pair", "nodes": 8, "ranks_per_node": 4, "ranks": 2}
    return seconds(machine([{**job, "mapping": ranks, "motif": motif}], **node))


def latency(inside: int, cables: int, routers: int) -> float:
    """A packet in an empty network with cut-through takes of all links the latency and the time of
    a flit, of all routers the delay, and once the rest of the packet, on the slowest link. The link
    of a rank takes 1 ps and has the bandwidth of all that is at the rank together."""
    rank = NVLINK + NIC
    flits = FLIT * (2 / rank + inside / NVLINK + cables / NIC)
    rest = (PACKET - FLIT) / (NIC if cables else NVLINK)
    fixed = inside * INSIDE_NS + cables * CABLE_NS + routers * ROUTER_NS
    return fixed * 1e-9 + 2e-12 + flits + rest


@pytest.mark.parametrize(
    ("interface", "ranks", "links"),
    [
        # From GPU 1 of node 0 to GPU 3 of node 2, of one unit: one leaf, and inside by the switch.
        ("rail", [1, 11], (2, 2, 5)),
        ("pxn", [1, 11], (2, 2, 5)),
        # By leaf, spine and leaf, straight from GPU to GPU.
        ("nearest", [1, 11], (0, 4, 5)),
        # Of the same number: never inside.
        ("rail", [1, 9], (0, 2, 3)),
        ("pxn", [1, 9], (0, 2, 3)),
        # To a node of the other unit: by a spine.
        ("rail", [1, 29], (0, 4, 5)),
        # Of one node: by the switch.
        ("rail", [0, 3], (2, 0, 3)),
        ("striped", [0, 3], (2, 0, 3)),
    ],
)
def test_a_packet_takes_what_its_links_and_routers_take(
    interface: str, ranks: list[int], links: tuple[int, int, int]
) -> None:
    assert alone(ranks, interface=interface) == pytest.approx(latency(*links), rel=1e-5)


def all_to_all(nodes: int, message: int, **node: Any) -> float:
    motif = {"kind": "all-to-all", "message": f"{message} B", "window": 1000}
    job = {"name": "all", "nodes": nodes, "ranks_per_node": 4, "motif": motif}
    data = machine([job], **node)
    data["simulation"]["engine"] = "flow"
    return seconds(data)


@pytest.mark.parametrize("interface", ["rail", "pxn", "nearest"])
def test_an_all_to_all_on_rails_fills_the_interfaces(interface: str) -> None:
    """With 4 nodes of one unit, through every interface go, each way, the messages of 4 GPUs to
    12 others over 4 interfaces, 12 of them; all are busy all the time."""
    message = 1_000_000
    bound = 12 * message / NIC
    assert (
        bound
        <= all_to_all(4, message, interface=interface)
        < 1.01 * bound
        + (
            # By the spines paths are drawn, some of them twice.
            2 * bound if interface == "nearest" else 0
        )
    )


@pytest.mark.parametrize(("kind", "times"), [("switch", 3), ("mesh", 1)])
def test_inside_a_node_a_switch_or_links_of_pairs_carry_all(kind: str, times: int) -> None:
    """Three messages leave every GPU: over its one link to the switch, or over a link each."""
    message = 10_000_000
    network = {"kind": kind, "bandwidth": "100 GB/s", "latency": "200 ns"}
    found = all_to_all(1, message, network=network)
    assert found == pytest.approx(times * message / NVLINK, rel=0.01)


def ring(engine: str, size: int, **node: Any) -> float:
    motif = {"kind": "collective", "operation": "allreduce", "message": f"{size} B"}
    job = {"name": "reduce", "nodes": 4, "ranks_per_node": 4}
    data = machine([{**job, "motif": {**motif, "algorithm": "ring"}}], **node)
    data["simulation"]["engine"] = engine
    return seconds(data)


@pytest.mark.parametrize("engine", ["flow", "packet"])
def test_a_ring_of_all_gpus_takes_its_closed_form(engine: str) -> None:
    """2(n - 1) steps of 1/n of the vector, each as long as its slowest message: from a node to the
    next by an interface."""
    n, size = 16, 16 * 1_024_000
    found = ring(engine, size, interface="pxn")
    step = size / n / NIC
    # From GPU 3 to GPU 0 inside, and by the leaf to the next node.
    slowest = (2 * INSIDE_NS + 2 * CABLE_NS + 5 * ROUTER_NS) * 1e-9
    assert found == pytest.approx(2 * (n - 1) * (step + slowest), rel=0.01)


def test_a_ring_of_single_packets_goes_twice_around() -> None:
    """A rank sends on what it has received: 2(n - 1) messages in a row, of which each round has 12
    inside nodes and 4 between them; what comes first and last is inside."""
    inside, between = latency(2, 0, 3), latency(2, 2, 5)
    found = ring("packet", 16 * PACKET, interface="pxn")
    assert found == pytest.approx(2 * (12 * inside + 4 * between) - 2 * inside, rel=1e-5)


def test_a_machine_costs_what_its_planes_cost() -> None:
    """Eight leaves and four spines of each plane, and the cables between them; no GPU."""
    planes = {"interfaces": 2, "planes": 2, "wiring": "together"}
    found = parts(Scenario.from_dict(machine([], **planes)))
    (said,) = Scenario.from_dict(machine([], **planes)).notices()
    assert "2 copies of the network, and as many times its switches and cables" in said
    assert (found.nodes, found.switches) == (32, {8: 2 * (8 + 4)})
    assert found.cables == {"terminal": 2 * 32, "level1": 2 * 32}


def test_planes_are_as_many_networks() -> None:
    """Striped over two planes of one interface each, a pair has both of them."""
    planes = {"interfaces": 2, "planes": 2, "wiring": "together", "interface": "striped"}
    motif = {"kind": "all-to-all", "message": "40 MB"}
    job = {"name": "pair", "nodes": 2, "ranks_per_node": 1, "motif": motif}
    both = seconds(machine([job], **planes))
    one = seconds(machine([job], **{**planes, "interface": "rail"}))
    assert one == pytest.approx(40e6 / NIC, rel=0.01)
    # Each of 9,766 packets is drawn: a half has a standard deviation of 1 %, and the larger counts.
    assert one / 2 < both < 1.04 * one / 2


@pytest.mark.parametrize("interface", INTERFACE_CHOICE)
@pytest.mark.parametrize("engine", ["packet", "flow"])
def test_results_are_the_same_on_any_number_of_threads(
    interface: str, engine: str, tmp_path: Path
) -> None:
    motif = {"kind": "all-to-all", "message": "8 KiB"}
    job = {"name": "all", "nodes": 6, "ranks_per_node": 3, "placement": "random-node"}
    data = machine([{**job, "motif": motif}], interface=interface)
    data["simulation"]["engine"] = engine
    found = []
    for threads in (1, 3, 8) if engine == "packet" else (1,):
        result = odonata.run(Scenario.from_dict(data), threads=threads)
        out = tmp_path / str(threads)
        result.save(out, plots=False)
        found.append(digests(out))
        assert result.meta["delivered_bytes"] == 18 * 17 * 8192
    assert all(one == found[0] for one in found)


def test_a_run_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    motif = {"kind": "all-to-all", "message": "64 KiB", "iterations": 20}
    job = {"name": "all", "nodes": 8, "ranks_per_node": 4, "motif": motif}
    scenario = Scenario.from_dict(machine([job], interface="striped"))
    odonata.run(scenario).save(tmp_path / "whole", plots=False)
    events: list[CheckpointEvent] = []

    def stop(progress: object) -> None:
        raise RuntimeError("enough")

    keep = Checkpoint(tmp_path / "out", simulated="200 us", on_event=events.append)
    with pytest.raises(RuntimeError, match="enough"):
        odonata.run(scenario, checkpoint=keep, progress=stop, threads=2)
    assert events[-1].kind == "written"
    odonata.run(scenario, checkpoint=keep).save(tmp_path / "out", plots=False)
    assert any(event.kind == "resumed" for event in events)
    assert digests(tmp_path / "out") == digests(tmp_path / "whole")


@pytest.mark.parametrize("interface", INTERFACE_CHOICE)
def test_routing_is_proved_free_of_deadlock(interface: str) -> None:
    proof = verify(Scenario.from_dict(machine([], interface=interface)))
    assert (proof.proven, proof.safe) == (True, True)


@pytest.mark.parametrize(
    ("change", "path", "words"),
    [
        ({"planes": 3}, "node.planes", "divides"),
        ({"interfaces": 3}, "node.interfaces", "4 ranks"),
        ({"interface": "nearest", "planes": 4, "wiring": "together"}, "node.interface", "pxn"),
        ({"planes": 4}, "node.wiring", "together"),
        ({"network": None}, "node.network", "4 ranks"),
        ({"interface": "own"}, "node.interface", "striped"),
        ({"ranks": 8, "interfaces": 8, "wiring": "together"}, "job[0].nodes", "4"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, Any], path: str, words: str) -> None:
    job = {"name": "all", "nodes": 8, "motif": {"kind": "all-to-all", "message": "1 B"}}
    data = machine([job], **change)
    data["node"] = {key: value for key, value in data["node"].items() if value is not None}
    with pytest.raises(ScenarioError) as error:
        odonata.run(Scenario.from_dict(data))
    assert error.value.problems[0].path == path
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("extra", "path"),
    [
        ({"mpi": {"within_node": {"send_overhead": "1 us"}}}, "mpi.within_node"),
    ],
)
def test_what_nodes_with_an_inside_do_not_have(extra: dict[str, Any], path: str) -> None:
    job = {"name": "all", "nodes": 8, "motif": {"kind": "all-to-all", "message": "1 B"}}
    with pytest.raises(ScenarioError) as error:
        odonata.run(Scenario.from_dict({**machine([job]), **extra}))
    assert error.value.problems[0].path == path


def test_a_node_has_no_more_ranks_than_gpus() -> None:
    motif = {"kind": "all-to-all", "message": "1 B"}
    job = {"name": "all", "nodes": 8, "ranks_per_node": 5, "motif": motif}
    with pytest.raises(ScenarioError, match="at most 4, the ranks of a node"):
        odonata.run(Scenario.from_dict(machine([job])))


@pytest.mark.parametrize("scheme", ["window", "ecn", "infiniband", "hpcc", "slingshot"])
def test_schemes_of_interfaces_leave_what_stays_in_a_node_alone(scheme: str) -> None:
    """Three GPUs send to the fourth of their node: no interface has a part in it, so that the time
    is that without a scheme, beside nodes that send to each other."""
    motif = {"kind": "collective", "operation": "gather", "algorithm": "linear", "message": "4 MiB"}
    inside = {"name": "inside", "nodes": 1, "ranks_per_node": 4, "motif": motif}
    between = {"name": "between", "nodes": 7, "ranks_per_node": 4, "motif": motif}
    data = machine([inside, between])

    def ends(nic: dict[str, Any]) -> list[int]:
        result = odonata.run(Scenario.from_dict({**data, "network": {**data["network"], **nic}}))
        return [int(end) for end in result.jobs["end_ps"].to_pylist()]

    assert ends({"nic": {"congestion_control": scheme}})[0] == ends({})[0]


def test_what_fails_of_a_network_of_such_nodes_is_left_out() -> None:
    """An interface, a leaf, a node and a link: by packets and by flows all that is sent arrives."""
    motif = {"kind": "all-to-all", "message": "8 KiB"}
    job = {"name": "all", "nodes": 5, "ranks_per_node": 4, "motif": motif}
    failures = {
        "links": [{"interface": "2/1"}, {"routers": [0, 8], "bandwidth": "50 %"}],
        "routers": [5],
        "nodes": [6],
    }
    data = {**machine([job], interface="nearest"), "failures": failures}
    for engine in ("packet", "flow"):
        data["simulation"]["engine"] = engine
        result = odonata.run(Scenario.from_dict(data))
        assert result.meta["delivered_bytes"] == 20 * 19 * 8192
        links = result.links.to_pylist()
        # Rank 1 of node 2, whose router comes after 12 of the tree and 5 of each node before.
        of_rank = [one for one in links if one["from_router"] == 12 + 2 * 5 + 1]
        dark = [one for one in of_rank if one["class"] == "interface"]
        assert not any(one["bytes"] for one in dark)
    proof = verify(Scenario.from_dict(data))
    assert (proof.proven, proof.safe) == (True, True)


@pytest.mark.parametrize("interface", ["rail", "pxn"])
def test_a_node_without_its_rail_is_out_of_service(interface: str) -> None:
    """Where messages keep to a rail, jobs get no node with a dark interface."""
    motif = {"kind": "all-to-all", "message": "8 KiB"}
    job = {"name": "all", "nodes": 7, "ranks_per_node": 4, "motif": motif}
    failures = {"links": [{"interface": "2/1"}]}
    data = {**machine([job], interface=interface), "failures": failures}
    result = odonata.run(Scenario.from_dict(data))
    sent = [one for one in result.links.to_pylist() if one["from_node"] is not None]
    nodes = {one["from_node"] // 4 for one in sent if one["bytes"]}
    assert nodes == {0, 1, 3, 4, 5, 6, 7}
    data["job"][0]["nodes"] = 8
    with pytest.raises(ScenarioError, match="7"):
        odonata.run(Scenario.from_dict(data))


@pytest.mark.parametrize("interface", ["nearest", "striped", "rail"])
def test_an_interface_fails_during_a_run(interface: str) -> None:
    """What is on its link is sent again over another one, or the job is aborted that has none."""
    motif = {"kind": "all-to-all", "message": "256 KiB"}
    own = {"name": "all", "nodes": 4, "ranks_per_node": 4, "motif": motif}
    failures = {
        "in_flight": "lost",
        "resend_after": "20 us",
        "reconvergence": "5 us",
        "links": [{"interface": "2/1", "at": "30 us"}],
    }
    data = {**machine([own], interface=interface), "failures": failures}
    found = []
    for threads in (1, 3):
        result = odonata.run(Scenario.from_dict(data), threads=threads)
        job = result.summary_dict["jobs"][0]
        found.append((job, result.links.to_pylist()))
    assert found[0] == found[1]
    assert job["packets_lost"] > 0
    aborted = interface == "rail"
    assert (job["aborted_ps"] is not None) == aborted
    if not aborted:
        assert result.meta["delivered_bytes"] == 16 * 15 * 256 * 1024


@pytest.mark.parametrize(
    ("failures", "path", "words"),
    [
        ({"links": [{"interface": "2/4"}]}, "failures.links[0]", "interfaces are 0 to 3"),
        ({"links": [{"interface": "8/0"}]}, "failures.links[0]", "nodes are 0 to 7"),
        ({"links": [{"interface": "2"}]}, "failures.links[0].interface", "7/2"),
        ({"links": [{"interface": "2/1", "count": 1}]}, "failures.links[0].count", "one link"),
        ({"nodes": [8]}, "failures.nodes", "0 to 7"),
    ],
)
def test_failures_that_there_cannot_be(failures: dict[str, Any], path: str, words: str) -> None:
    motif = {"kind": "all-to-all", "message": "1 B"}
    job = {"name": "all", "nodes": 2, "motif": motif}
    with pytest.raises(ScenarioError) as error:
        odonata.run(Scenario.from_dict({**machine([job]), "failures": failures}))
    assert error.value.problems[0].path == path
    assert words in str(error.value)


def test_an_interface_without_an_inside_is_its_node() -> None:
    data = machine([{"name": "all", "nodes": 2, "motif": {"kind": "all-to-all", "message": "1 B"}}])
    del data["node"]
    with pytest.raises(ScenarioError, match="give nodes an inside"):
        odonata.run(Scenario.from_dict({**data, "failures": {"links": [{"interface": "0/0"}]}}))


def test_what_has_failed_is_described_and_drawn(tmp_path: Path) -> None:
    """Nodes are counted, not ranks; routers are those of the network."""
    failures = {
        "links": [{"interface": "2/1"}, {"interface": "0/3", "bandwidth": "50 %"}],
        "routers": [9],
        "nodes": [6],
        "draw": [{"part": "links", "link_class": "inside", "count": 1}],
    }
    data = {**machine([], interface="nearest"), "failures": failures}
    scenario = Scenario.from_dict(data)
    damage = damage_of(scenario, ask_engine(_engine.topology, scenario))
    assert damage is not None
    described = damage.to_json()
    assert described["routers"] == [9]
    # Node 6, and the one with a broken link inside.
    assert len(described["nodes"]) == 2 and 6 in described["nodes"]
    assert [one["count"] for one in described["slower_links"]] == [1]
    assert "9" in damage.sentences()["Does not work"]["routers"]
    file = tmp_path / "gpus.toml"
    file.write_text(scenario.to_toml(), encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main(["topology", "draw", str(file), "--out", str(tmp_path / "gpus.png")])
    assert not ended.value.code
    assert (tmp_path / "gpus.png").exists()


def test_a_file_of_the_wiring_says_that_it_has_no_inside_of_nodes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rails.toml"
    file.write_text(Scenario.from_dict(machine([])).to_toml())
    with pytest.raises(SystemExit) as ended:
        main(["topology", "export", str(file), "--out", str(tmp_path / "rails.edges")])
    assert not ended.value.code
    said = " ".join(capsys.readouterr().err.split())
    assert "in the file every rank is a node" in said and "neither [node]" in said


def tree(engine: str, **links: Any) -> float:
    """Seconds of an all-reduce of 4 MiB along NCCL's trees among 32 GPUs."""
    motif = {"kind": "collective", "operation": "allreduce", "message": "4 MiB"}
    motif["algorithm"] = "double-tree"
    job = {"name": "all", "nodes": 8, "ranks_per_node": 4, "motif": motif}
    data = machine([job], interface="pxn")
    data["mpi"] = {"collectives": "nccl"}
    data["simulation"]["engine"] = engine
    for link in data["network"]["links"]:
        data["network"]["links"][link] = LINK | links
    return seconds(data)


def test_trees_take_flows_as_long_as_packets_that_block_no_others() -> None:
    """With buffers that take all of it; with room for a few packets, some hold up others."""
    flows = tree("flow")
    ample = tree("packet", buffer="16 MiB")
    assert ample == pytest.approx(flows, rel=0.02)
    assert tree("packet") > 1.1 * ample


@pytest.mark.parametrize("choice", ["rail", "pxn"])
def test_errors_name_the_interface_that_a_node_lacks(choice: str) -> None:
    job = {
        "name": "all",
        "nodes": 8,
        "ranks_per_node": 4,
        "motif": {"kind": "all-to-all", "message": "1 KiB"},
    }
    data = machine([job], interface=choice)
    data["failures"] = {"links": [{"interface": "5/2"}]}
    with pytest.raises(ScenarioError) as caught:
        odonata.run(Scenario.from_dict(data))
    text = str(caught.value)
    assert "interface 2 of node 5 has no way to others" in text
    assert f'node.interface = "{choice}"' in text
    assert '"nearest" or "striped"' in text
    # All nodes lack the rail of a router.
    data["failures"] = {"routers": "1, 5"}
    with pytest.raises(
        ScenarioError, match=r"no node is left .*interface 1 of node 0 .*7 more nodes"
    ):
        odonata.run(Scenario.from_dict(data))
    data["node"]["interface"] = "striped"
    odonata.run(Scenario.from_dict(data))


def queue(level: str, *jobs: tuple[int, int, int]) -> Scenario:
    """A queue of all-reduces of 8 MiB: nodes, GPUs of each and iterations of each job."""
    motif = {"kind": "collective", "operation": "allreduce", "message": "8 MiB"}
    entries = [
        {
            "name": f"job-{number}",
            "nodes": nodes,
            "ranks_per_node": gpus,
            "submit": f"{number} s",
            "motif": {**motif, "iterations": iterations},
        }
        for number, (nodes, gpus, iterations) in enumerate(jobs)
    ]
    data = machine(entries, interface="pxn")
    data["mpi"] = {"collectives": "nccl"}
    data["schedule"] = {"policy": "easy", "network": {"level": level}}
    return Scenario.from_dict(data)


@pytest.mark.parametrize("level", ["flow", "packet"])
def test_queues_get_whole_nodes(level: str) -> None:
    """Jobs of 5, 4 and 3 of the 8 nodes: the second waits for the first, the third starts at once,
    though its ranks are few. Each runs as long as its iterations take in a run of their own."""
    jobs = (5, 4, 20_000), (4, 2, 20_000), (3, 1, 20_000)
    (schedule,) = run_schedules(queue(level, *jobs))
    rows = {row["id"]: row for row in schedule.jobs.to_pylist()}
    first, second, third = (rows[f"job-{number}"] for number in range(3))
    assert (first["start_s"], third["start_s"]) == (0, 2)
    assert second["start_s"] == first["end_s"]
    for row, (nodes, gpus, iterations) in zip((first, second, third), jobs, strict=True):
        motif = {"kind": "collective", "operation": "allreduce", "message": "8 MiB"}
        job = {"name": "alone", "nodes": nodes, "ranks_per_node": gpus, "motif": motif}
        data = machine([job], interface="pxn")
        data["mpi"] = {"collectives": "nccl"}
        data["simulation"]["engine"] = level
        # To the next second; all leave their rails to each other.
        expected = iterations * seconds(data)
        assert row["end_s"] - row["start_s"] == pytest.approx(expected, abs=1.0, rel=0.02)


def test_jobs_of_a_log_use_the_gpus_that_they_asked_for(tmp_path: Path) -> None:
    """Slurm counts GPUs of all nodes (`--gpus`, `--gres`); jobs of as many are simulated once."""
    head = "JobID|Submit|Start|End|State|NNodes|AllocCPUS|ReqTRES|Timelimit|Elapsed"
    log = tmp_path / "gpus.txt"
    data = machine([], interface="pxn")
    motif = {"kind": "collective", "operation": "allreduce", "message": "8 MiB"}
    data["job"] = [{"name": "all", "nodes": 1, "motif": {**motif, "iterations": 1000}}]
    data["mpi"] = {"collectives": "nccl"}
    data["schedule"] = {
        "log": str(log),
        "nodes": 8,
        "network": {"level": "flow", "mix": ["all=100%"]},
    }

    def windows(*gpus: int) -> int:
        lines = [head]
        for number, count in enumerate(gpus):
            asked = f"billing=2,cpu=2,gres/gpu={count},node=2"
            day = f"2024-01-0{number + 1}T00:0"
            times = f"{day}0:00|{day}0:00|{day}0:40"
            lines.append(f"{number}|{times}|COMPLETED|2|2|{asked}|01:00:00|00:00:40")
        log.write_text("\n".join(lines) + "\n")
        (schedule,) = run_schedules(Scenario.from_dict(data))
        return int(schedule.summary["network"]["windows"]["simulated"])

    same = windows(8, 8)
    assert windows(8, 2) == 2 * same
    with pytest.raises(OdonataError, match=r"job 1 with 8 GPUs .*at most 4, node.ranks"):
        windows(8, 16)


@pytest.mark.parametrize(
    ("network", "hops"),
    [
        ({"kind": "mesh"}, {(0, 1): 1, (0, 2): 1}),
        ({"kind": "switch"}, {(0, 1): 2, (0, 2): 2}),
        ({"kind": "xgmi"}, {(0, 1): 1, (0, 2): 1}),
        ({"kind": "xgmi", "links": ["0-1:4", "1-2", "2-3:4", "3-0:2"]}, {(0, 1): 1, (0, 2): 2}),
        ({"kind": "pcie"}, {(0, 1): 2, (0, 3): 2}),
        ({"kind": "pcie", "ranks_per_switch": 2}, {(0, 1): 2, (0, 2): 4}),
    ],
)
def test_ways_inside_take_as_long_as_their_links(
    network: dict[str, Any], hops: dict[tuple[int, int], int]
) -> None:
    """A packet takes all latencies, a flit of each link, and the rest of it on the slowest."""
    inside = {"bandwidth": "100 GB/s", "latency": "200 ns", **network}
    for (one, other), links in hops.items():
        rate = NVLINK * (4 if "links" in network and (one, other) == (0, 1) else 1)
        job = {"name": "pair", "nodes": 1, "ranks_per_node": 4, "ranks": 2}
        motif = {"kind": "all-to-all", "message": f"{PACKET} B"}
        data = machine([{**job, "mapping": [one, other], "motif": motif}], network=inside)
        ends = [
            seconds({**data, "simulation": {"engine": e, "packet": f"{PACKET} B"}})
            for e in ("packet", "flow")
        ]
        routers = links + 1
        least = links * INSIDE_NS * 1e-9 + routers * ROUTER_NS * 1e-9 + PACKET / rate
        assert least < ends[0] < least + (links + 2) * FLIT / NVLINK + 4e-12
        assert ends[1] == pytest.approx(ends[0], rel=1e-6)
        assert verify(Scenario.from_dict(data)).safe


@pytest.mark.parametrize(
    ("network", "text"),
    [
        ({"kind": "xgmi", "links": ["0:1"]}, 'node.network.links: found "0:1"'),
        ({"kind": "xgmi", "links": ["0-4"]}, "[0, 4, 1] among the links"),
        ({"kind": "xgmi", "links": ["0-1", "2-3"]}, "ranks that no link joins"),
        ({"kind": "mesh", "links": ["0-1"]}, "node.network.links"),
        ({"kind": "switch", "ranks_per_switch": 2}, "node.network.ranks_per_switch"),
        ({"kind": "pcie", "ranks_per_switch": 3}, "a divisor of the 4 ranks"),
    ],
)
def test_what_joins_no_ranks_is_refused(network: dict[str, Any], text: str) -> None:
    inside = {"bandwidth": "100 GB/s", "latency": "200 ns", **network}
    job = {"name": "a", "nodes": 2, "motif": {"kind": "all-to-all", "message": "1 KiB"}}
    with pytest.raises(ScenarioError) as caught:
        odonata.run(Scenario.from_dict(machine([job], network=inside)))
    assert text in str(caught.value)


@pytest.mark.parametrize("engine", ["packet", "flow"])
@pytest.mark.parametrize(
    ("link", "other_way", "expected"),
    [
        # The narrower of link and interface, wherever the interface of the rail sits.
        (5.0, False, 5.0),
        (63.0, False, 10.0),
        # Peers and interface share the link.
        (5.0, True, 5.0),
        (9.0, True, 9.0),
    ],
)
def test_all_that_a_gpu_sends_crosses_its_pcie_link(
    engine: str, link: float, other_way: bool, expected: float
) -> None:
    """GPU 0 sends to the next node, or with GPU 1 of its switch among all three; in GB/s."""
    size = 4_000_000
    inside = {"kind": "pcie", "bandwidth": f"{link} GB/s", "latency": "200 ns"}
    ranks = [0, 1, 4] if other_way else [0, 4]
    motif = {"kind": "all-to-all", "message": f"{size} B", "window": 1000}
    shape = {"nodes": 2, "ranks_per_node": 4, "ranks": len(ranks), "mapping": ranks}
    job = {"name": "few", **shape, "motif": motif}
    data = machine([job], network={**inside, "ranks_per_switch": 2})
    data["simulation"]["engine"] = engine
    assert verify(Scenario.from_dict(data)).safe
    assert seconds(data) == pytest.approx((len(ranks) - 1) * size / expected / 1e9, rel=0.02)
