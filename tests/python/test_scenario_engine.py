"""The binding: what the engine returns, and that it can be interrupted and never crashes."""

import json
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from odonata import Scenario, _engine, run
from odonata.errors import InternalError, ScenarioError
from odonata.simulate import ask_engine

NETWORK = {"family": "dragonfly", "p": 2, "a": 4, "h": 2}
ALL_TO_ALL = {"nodes": 72, "motif": {"kind": "all-to-all", "message": "1 kB"}}
ENDLESS = {
    "network": NETWORK,
    "simulation": {"duration": "1000 s"},
    "job": [
        {
            "nodes": 72,
            "traffic": {"pattern": "uniform-random", "message": "64 B", "load": 0.3},
        }
    ],
}


def scenario(**changes: object) -> Scenario:
    return Scenario.from_dict({"network": NETWORK, "job": [ALL_TO_ALL]}).with_set(changes)


def raw(what: Scenario) -> dict[str, dict[str, object]]:
    return _engine.run(what.normalised_json())


def test_a_crossbar_has_a_speed_up_or_the_bandwidth_that_this_makes() -> None:
    as_fast = {f"network.links.{kind}.bandwidth": "4 GB/s" for kind in ("terminal", "local")}
    slower = {"network.links.global.bandwidth": "2.5 GB/s"}

    def end_ps(crossbar: object) -> object:
        what = scenario(**as_fast, **slower, **{"network.router.crossbar": crossbar})
        return raw(what)["meta"]["end_ps"]

    assert end_ps(1.5) == end_ps("6 GB/s") != end_ps("4 GB/s") == end_ps(1)
    with pytest.raises(ScenarioError, match=r"router\.crossbar.*2\.5 GB/s.*4 GB/s.*links"):
        run(scenario(**as_fast, **slower, **{"network.router.crossbar": "2.5 GB/s"}))


def test_what_a_closed_loop_job_sends_arrives() -> None:
    found = raw(scenario())
    meta, jobs = found["meta"], found["jobs"]
    # Every rank sends one message to every other one.
    assert jobs["messages_delivered"].tolist() == [72 * 71]
    assert jobs["bytes_delivered"].tolist() == [72 * 71 * 1000]
    assert meta["delivered_bytes"] == meta["created_bytes"] == 72 * 71 * 1000
    assert meta["backlog_bytes"] == meta["in_flight_bytes"] == 0
    assert found["histograms"]["count"][found["histograms"]["quantity"] == 0].sum() == 72 * 71
    assert jobs["end_ps"][0] == meta["end_ps"] == found["iterations"]["end_ps"][-1]
    # What routers send to nodes is what nodes receive.
    links = found["links"]
    to_nodes = links["to_node"] >= 0
    assert links["bytes"][to_nodes].sum() == 72 * 71 * 1000
    assert links["bytes"][links["from_node"] >= 0].sum() == 72 * 71 * 1000
    # 36 routers with 2 + 3 + 2 ports, and 72 nodes.
    assert len(links["link"]) == 36 * 7 + 72


def test_tables_own_their_memory_and_have_stable_types() -> None:
    found = raw(scenario(**{"record.messages": "all"}))
    assert len(found["messages"]["bytes"]) == 72 * 71
    for name, table in found.items():
        if name == "meta":
            continue
        lengths = {len(column) for column in table.values()}
        assert len(lengths) == 1, name
        for column in table.values():
            assert isinstance(column, list) or column.dtype in (
                np.int8,
                np.int32,
                np.int64,
                np.float64,
            )


def test_equal_seeds_give_equal_tables_on_any_number_of_threads() -> None:
    changes = {"job.0.placement": "random-node", "job.0.mapping": "random"}
    first, again, threads, other = (
        raw(scenario(**changes, **more))
        for more in ({}, {}, {"simulation.threads": 3}, {"seed": 2})
    )
    for name, table in first.items():
        if name == "meta":
            continue
        for column, values in table.items():
            assert np.array_equal(values, again[name][column], equal_nan=column != "name"), column
            assert np.array_equal(values, threads[name][column], equal_nan=column != "name"), column
    assert not np.array_equal(first["placement"]["node"], other["placement"]["node"])


def test_jobs_share_the_machine_without_sharing_nodes() -> None:
    what = Scenario.from_dict(
        {
            "network": NETWORK,
            "job": [
                {**ALL_TO_ALL, "nodes": 20, "placement": "random-group"},
                {**ALL_TO_ALL, "nodes": 30, "placement": "spread", "ranks_per_node": 2},
                {**ALL_TO_ALL, "nodes": 22, "placement": "contiguous"},
            ],
        }
    )
    placement = raw(what)["placement"]
    nodes = [set(placement["node"][placement["job"] == job].tolist()) for job in range(3)]
    assert [len(n) for n in nodes] == [20, 30, 22]
    assert set.union(*nodes) == set(range(72))
    assert (placement["job"] == 1).sum() == 60


def test_load_is_a_fraction_of_the_terminal_bandwidth() -> None:
    traffic = {"pattern": "uniform-random", "message": "256 B", "load": 0.25}
    for ranks_per_node in (1, 4):
        what = Scenario.from_dict(
            {
                "network": NETWORK,
                "simulation": {"duration": "40 us", "warmup": "10 us", "packet": "256 B"},
                "job": [{"nodes": 72, "ranks_per_node": ranks_per_node, "traffic": traffic}],
            }
        )
        jobs = raw(what)["jobs"]
        offered = jobs["offered_bytes_per_s"][0] / (72 * 16 * 2**30)
        # About 36,000 messages (Poisson): one standard deviation is 0.5 % of the load.
        assert offered == pytest.approx(0.25, rel=0.02)


def test_a_proof_that_is_interrupted_or_out_of_time_tells_what_it_found() -> None:
    what = scenario(**{"network.routing": "par"}).normalised_json()

    def interrupt(_done: int, _total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"^stopped, not proven: no cycle"):
        _engine.verify(what, interrupt)
    proof = _engine.verify(what, seconds=1e-9)
    assert (proof["safe"], proof["proven"]) == (True, False)
    assert proof["verdict"].startswith("not proven in time: no cycle among the ")
    with pytest.raises(ValueError, match="negative"):
        _engine.verify(what, seconds=-1.0)


@pytest.mark.parametrize("algorithm", ["minimal", "valiant", "ugal-l", "ugal-g", "par"])
def test_every_algorithm_runs_and_is_proven(algorithm: str) -> None:
    what = scenario(**{"network.routing": algorithm})
    assert raw(what)["meta"]["routing"] == algorithm
    proof = _engine.verify(what.normalised_json())
    assert proof["safe"] and proof["proven"]
    assert proof["virtual_channels"] == raw(what)["meta"]["virtual_channels"]


@pytest.mark.parametrize("algorithm", ["valiant", "ugal-l", "par"])
def test_decisions_per_message_keep_packets_on_one_path(algorithm: str) -> None:
    """Messages of four packets, of which all go where the first went: what a link carries is a
    multiple of four. Packets that choose for themselves do not keep to that."""

    def packets(per: str) -> np.ndarray:
        routing = {"algorithm": algorithm, "per": per}
        changes = {"network.routing": routing, "simulation.packet": "250 B"}
        return np.asarray(raw(scenario(**changes))["links"]["packets"])

    followed = packets("message")
    assert followed.sum() > 0
    assert (followed % 4 == 0).all()
    assert (packets("packet") % 4 != 0).any()


def test_a_broken_channel_scheme_is_caught_by_the_proof() -> None:
    routing = {"algorithm": "valiant", "virtual_channels": 1}
    proof = _engine.verify(scenario(**{"network.routing": routing}).normalised_json())
    assert not proof["safe"]
    assert len(proof["cycle"]) >= 2
    assert "router" in proof["cycle"][0]


def test_export_reads_back_as_the_same_network(tmp_path: Path) -> None:
    for family, format_ in [("graphml", "graphml"), ("edge-list", "edge-list")]:
        path = tmp_path / "network"
        original = scenario()
        path.write_text(_engine.export(original.normalised_json(), format_))
        network = {"family": family, "file": str(path), "routing": "minimal"}
        again = Scenario.from_dict({"network": network, "job": [ALL_TO_ALL]})
        assert raw(original)["jobs"]["end_ps"] == raw(again)["jobs"]["end_ps"]
    with pytest.raises(_engine.SpecError, match="graphml, edge-list"):
        _engine.export(scenario().normalised_json(), "gexf")


def test_an_exported_tree_reads_back_beside_its_link_classes(tmp_path: Path) -> None:
    """The file says which classes are global, so that a scenario need not; it may not differ."""
    links = {
        name: {"bandwidth": "12.5 GB/s", "latency": f"{index + 1}00 ns", "buffer": "32 KiB"}
        for index, name in enumerate(("terminal", "level1", "level2"))
    }
    tree = {"family": "fat-tree", "down": [4, 4, 2], "up": [2, 2], "links": links}
    original = Scenario.from_dict({"network": tree})
    described = ask_engine(_engine.topology, original)["description"]
    assert [one["kind"] for one in described["link_classes"]] == ["terminal", "local", "global"]
    for format_ in ("graphml", "edge-list"):
        path = tmp_path / format_
        path.write_text(_engine.export(original.normalised_json(), format_))
        network = {"family": format_, "file": str(path), "links": links}
        again = ask_engine(_engine.topology, Scenario.from_dict({"network": network}))
        assert again["description"] == described
        wrong = {**links, "level2": {**links["level2"], "kind": "local"}}
        network = {"family": format_, "file": str(path), "links": wrong}
        with pytest.raises(ScenarioError, match="is global in the file"):
            ask_engine(_engine.topology, Scenario.from_dict({"network": network}))


# --- Interruption and defects -------------------------------------------------


def test_ctrl_c_stops_a_run() -> None:
    what = Scenario.from_dict(ENDLESS)
    timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
    # raise_signal in another thread of the process is noticed by the main one.
    timer.start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        _engine.run(what.normalised_json())
    assert time.monotonic() - start < 10


def test_what_progress_raises_ends_the_run() -> None:
    def stop(_: object) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        run(Scenario.from_dict(ENDLESS), progress=stop)


def test_the_interpreter_is_free_while_the_engine_computes() -> None:
    counted = 0
    done = threading.Event()

    def count() -> None:
        nonlocal counted
        while not done.wait(0.01):
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    reports = []

    def report(now: object) -> None:
        reports.append(now)
        if len(reports) == 3:
            raise StopIteration

    try:
        with pytest.raises(StopIteration):
            _engine.run(Scenario.from_dict(ENDLESS).normalised_json(), report)
    finally:
        done.set()
        thread.join()
    assert counted > 5
    assert [set(now) for now in reports] == [
        {"now_ps", "packets_delivered", "bytes_delivered", "packet_hops", "fraction"}
    ] * 3


def test_a_defect_is_an_exception_that_asks_for_a_report(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(_engine.InternalError, match=r"on request.*please report"):
        _engine._panic()
    assert "panicked" not in capfd.readouterr().err
    with pytest.raises(InternalError):
        ask_engine(lambda _: _engine._panic(), scenario())


def test_the_benchmark_reports_what_it_promises() -> None:
    figures = _engine.bench(load=0.2, duration_ps=500_000)
    wanted = {
        "family": "dragonfly",
        "nodes": 1056,
        "routing": "minimal",
        "load": 0.2,
        "threads": 1,
    }
    assert {key: figures[key] for key in wanted} == wanted
    for key in (
        "packet_hops",
        "events",
        "cpu_seconds",
        "wall_seconds",
        "packet_hops_per_cpu_second",
        "peak_rss_bytes",
        "mean_routers_visited",
        "accepted_load",
        "bytes_per_packet",
        "bytes_per_port",
    ):
        assert figures[key] > 0, key
    assert figures["accepted_load"] == pytest.approx(0.2, rel=0.1)
    with pytest.raises(_engine.SpecError, match="1056, 16512 or 82944"):
        _engine.bench(nodes=1000)
    with pytest.raises(ValueError, match="ugal-l"):
        _engine.bench(routing="ugal")
    with pytest.raises(ValueError, match="by-load"):
        _engine.bench(choice="best")
    tree = _engine.bench("fat-tree", choice="by-load", load=0.2, duration_ps=500_000)
    assert (tree["nodes"], tree["routing"]) == (1024, "up-down")
    json.dumps(figures)


def test_a_plain_list_of_pairs_is_a_network(tmp_path: Path) -> None:
    (tmp_path / "ring.txt").write_text("# a ring\n0 1\n1 2\n2 3 {}\n3 0\n")
    network = {"family": "edge-list", "file": str(tmp_path / "ring.txt")}
    all_to_all = {"nodes": 4, "motif": {"kind": "all-to-all", "message": "1 kB"}}
    result = run(Scenario.from_dict({"network": network, "job": [all_to_all]}))
    assert result.meta["nodes"] == 4
    # It says nothing of its name: the file's must do.
    assert result.meta["network"] == "ring.txt"
    assert result.jobs["messages_delivered"].to_pylist() == [12]
    described = ask_engine(
        _engine.topology,
        Scenario.from_dict(
            {"network": {**network, "nodes_per_router": 3}, "job": [{**all_to_all, "nodes": 12}]}
        ),
    )["description"]
    assert described["nodes"] == 12
    classes = {one["name"]: one["bandwidth_bytes_per_s"] for one in described["link_classes"]}
    assert classes == {"terminal": 16 * 2**30, "local": 16 * 2**30}
    # Its nodes come from one place.
    (tmp_path / "ring.txt").write_text("nodes 1 0\n0 1\n")
    with pytest.raises(ScenarioError, match=r"network\.nodes_per_router.*attaches nodes itself"):
        run(
            Scenario.from_dict(
                {"network": {**network, "nodes_per_router": 3}, "job": [{**all_to_all, "nodes": 1}]}
            )
        )
