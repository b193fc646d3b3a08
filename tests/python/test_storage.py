"""Servers of a file system: what they take when, who waits for whom, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import odonata
from odonata import Checkpoint, Scenario, ScenarioError
from odonata.simulate.checkpoint import CheckpointEvent
from test_threads import digests

#: In bytes per nanosecond; nanoseconds; bytes.
LINK, CABLE, ROUTER = 10.0, 100.0, 50.0
FLIT, PACKET, CONTROL, REQUEST = 32, 4096, 64, 64 * 4096
STORAGE = {
    "servers": 1,
    "placement": "contiguous",
    "write_bandwidth": "1 GB/s",
    "stripe_size": f"{REQUEST} B",
    "request": f"{REQUEST} B",
}


def alone(message: int) -> float:
    """Nanoseconds of a message over a switch that is empty, with cut-through: its bytes at the
    rate of the links, a flit once more, two cables, and the switch."""
    return (message + FLIT) / LINK + 2 * CABLE + ROUTER


def machine(
    jobs: list[dict[str, Any]], nodes: int = 16, engine: str = "packet", **storage: Any
) -> Scenario:
    """A switch, whose first nodes are servers; interfaces send one message after the other."""
    network = {
        "family": "crossbar",
        "nodes": nodes,
        "links": {"terminal": {"bandwidth": "10 GB/s", "latency": "100 ns"}},
        "nic": {"injection": "fifo"},
    }
    simulation = {"packet": f"{PACKET} B", "engine": engine}
    return Scenario.from_dict(
        {
            "network": network,
            "simulation": simulation,
            "storage": {**STORAGE, **storage},
            "job": jobs,
        }
    )


def writers(nodes: int, requests: int, name: str = "job", **motif: Any) -> dict[str, Any]:
    """A job whose ranks write as many requests each."""
    keys = {"kind": "checkpoint", "per_rank": f"{requests * REQUEST} B", **motif}
    return {"name": name, "nodes": nodes, "motif": keys}


def end(scenario: Scenario) -> float:
    """Nanoseconds until the last job ends."""
    return float(max(odonata.run(scenario).jobs["end_ps"].to_pylist())) / 1e3


@pytest.mark.parametrize("engine", ["packet", "flow"])
def test_one_request_after_the_other_takes_its_way_and_the_mediums_time(engine: str) -> None:
    scenario = machine([writers(1, 5)], engine=engine, in_flight=1, latency="3 us")
    each = alone(REQUEST) + REQUEST / 1.0 + 3_000 + alone(CONTROL)
    assert end(scenario) == pytest.approx(5 * each, rel=1e-3 if engine == "flow" else 1e-5)


@pytest.mark.parametrize("engine", ["packet", "flow"])
@pytest.mark.parametrize("medium", [1.0, 100.0])
def test_a_writer_has_the_slower_of_link_and_medium(engine: str, medium: float) -> None:
    """With eight requests under way the slower of both is busy from the first byte to the last; the
    other one adds what the first request (medium) or the last one (link) takes."""
    scenario = machine([writers(1, 40)], engine=engine, write_bandwidth=f"{medium} GB/s")
    slower = min(LINK, medium)
    once = REQUEST / max(LINK, medium) + FLIT / LINK + 2 * CABLE + ROUTER
    expected = once + 40 * REQUEST / slower + alone(CONTROL)
    assert end(scenario) == pytest.approx(expected, rel=1e-2 if engine == "flow" else 1e-5)


@pytest.mark.parametrize("engine", ["packet", "flow"])
@pytest.mark.parametrize(
    ("stripe_count", "shared"), [(1, False), (2, False), (4, False), (4, True), (1, True)]
)
def test_stripes_share_the_media_of_their_servers(
    engine: str, stripe_count: int, shared: bool
) -> None:
    """Eight writers, files on servers in turn: each of four servers writes as much as any other; a
    file of all of them lies on its own servers alone."""
    scenario = machine(
        [writers(8, 16, shared=shared)], engine=engine, servers=4, stripe_count=stripe_count
    )
    result = odonata.run(scenario)
    used = stripe_count if shared else 4
    share = 8 * 16 * REQUEST // used
    table = result.table("storage").to_pydict()
    assert table["server"] == list(range(used))
    assert table["node"] == list(range(used))
    assert table["written_bytes"] == [share] * used
    assert table["writes"] == [share // REQUEST] * used
    assert table["busy_ps"] == pytest.approx([share * 1e3] * used, rel=1e-6)
    # From its first request on it always has something to do; that is there at the latest when each
    # writer has sent one to every server of its file, all of them beginning with the same.
    for first, last, busy in zip(
        table["first_ps"], table["last_ps"], table["busy_ps"], strict=True
    ):
        assert last - first == busy
        assert first / 1e3 <= 8 * stripe_count * alone(REQUEST)


@pytest.mark.parametrize("requests", [10, 80])
def test_a_burst_buffer_takes_a_burst_at_its_rate_until_it_is_full(requests: int) -> None:
    """At 4 GB/s, emptied at 1 GB/s: 30 requests of room last for 40, which come meanwhile; then it
    goes on at 1 GB/s."""
    buffer = {"bandwidth": "4 GB/s", "capacity": f"{30 * REQUEST} B"}
    took = end(machine([writers(1, requests)], burst_buffer=buffer))
    burst = min(requests, 40) / 4 + max(requests - 40, 0) / 1
    expected = alone(REQUEST) + burst * REQUEST + alone(CONTROL)
    assert took == pytest.approx(expected, rel=1e-5)


def test_a_buffer_that_has_been_emptied_takes_the_next_burst_as_the_first() -> None:
    """Two bursts of 20 requests: 5 request times at 4 GB/s, 20 to empty it; and 15 of computing."""
    buffer = {"bandwidth": "4 GB/s", "capacity": f"{15 * REQUEST} B"}
    pause = alone(REQUEST) + 15 * REQUEST
    motif = {"iterations": 2, "compute": f"{pause} ns"}
    ends = odonata.run(machine([writers(1, 20, **motif)], burst_buffer=buffer)).table("iterations")
    first, second = ends["end_ps"].to_pylist()
    burst = alone(REQUEST) + 5 * REQUEST + alone(CONTROL)
    assert first / 1e3 == pytest.approx(pause + burst, rel=1e-5)
    assert second / 1e3 == pytest.approx(2 * (pause + burst), rel=1e-5)


def test_reads_come_at_the_rate_of_reading() -> None:
    """A restart reads what the first checkpoint writes; the medium is busy from the first question
    on, and the last answer takes its way."""
    motif = {"restart": True, "total": f"{10 * REQUEST} B", "per_rank": None}
    job = writers(1, 0, **motif)
    job["motif"] = {key: value for key, value in job["motif"].items() if value is not None}
    result = odonata.run(machine([job], read_bandwidth="2 GB/s"))
    reading = alone(CONTROL) + 10 * REQUEST / 2.0 + alone(REQUEST)
    writing = alone(REQUEST) + 10 * REQUEST / 1.0 + alone(CONTROL)
    row = result.table("storage").to_pylist()[0]
    assert (row["reads"], row["read_bytes"]) == (10, 10 * REQUEST)
    assert row["writes"] == 10
    took = result.jobs["end_ps"][0].as_py() / 1e3
    assert took == pytest.approx(reading + writing, rel=1e-5)
    assert result.jobs["messages_created"].to_pylist() == [20]


def test_jobs_share_a_server() -> None:
    """Two jobs of one writer each: the server works for both in turn, and neither is done much
    before the other; alone each takes half as long."""
    jobs = [writers(1, 40, "one"), writers(1, 40, "other")]
    together = odonata.run(machine(jobs))
    one, other = (time / 1e3 for time in together.jobs["end_ps"].to_pylist())
    expected = alone(REQUEST) + 80 * REQUEST + alone(CONTROL)
    # The first request shares the server's link with that of the other job.
    assert expected <= max(one, other) < expected + REQUEST / LINK
    assert min(one, other) > expected - 2 * REQUEST
    assert together.table("storage")["busy_ps"].to_pylist() == pytest.approx([40e3 * REQUEST] * 2)
    assert end(machine(jobs[:1])) < 0.51 * expected


def test_writers_collect_what_others_have() -> None:
    """The first of every four ranks writes for all: three shares come to it, and it writes four."""
    result = odonata.run(machine([writers(8, 4, ranks_per_writer=4)]))
    row = result.table("storage").to_pylist()[0]
    assert row["written_bytes"] == 8 * 4 * REQUEST
    # Two writers: 16 requests each; of the six others a message there, and a notice back.
    assert result.jobs["messages_created"].to_pylist() == [2 * 16 + 6 + 6]
    took = result.jobs["end_ps"][0].as_py() / 1e3
    assert took > 3 * 4 * REQUEST / LINK + 8 * 4 * REQUEST / 1.0


def test_a_model_is_written_with_its_optimisers_state() -> None:
    """Llama 3 8B: 14 bytes for each of its 8.03 billion parameters (model card)."""
    motif = {"kind": "checkpoint", "model": "llama-3-8b"}
    job = {"name": "training", "nodes": 8, "motif": motif}
    result = odonata.run(machine([job], engine="flow", write_bandwidth="5 GB/s", request="1 GB"))
    row = result.table("storage").to_pylist()[0]
    assert row["written_bytes"] == pytest.approx(14 * 8.03e9, rel=1e-3)


def test_a_training_writes_every_few_steps() -> None:
    training = {"kind": "training", "layers": 2, "hidden": 256, "sequence": 128}
    phases = [
        {"kind": "checkpoint", "total": "1 MiB", "restart": True, "write": False},
        {
            "repeat": 2,
            "phases": [
                {**training, "iterations": 3, "vocabulary": 0},
                {"kind": "checkpoint", "total": "2 MiB", "shared": True},
            ],
        },
    ]
    job = {"name": "training", "nodes": 8, "motif": {"kind": "phases", "phases": phases}}
    result = odonata.run(machine([job], servers=2, stripe_count=2))
    written = sum(result.table("storage")["written_bytes"].to_pylist())
    assert written == (2 * 2) << 20
    assert sum(result.table("storage")["read_bytes"].to_pylist()) == 1 << 20


def test_jobs_get_no_server() -> None:
    """Servers come first: of each group of a dragonfly a router's, and jobs take what is left."""
    data = machine([writers(54, 1)]).to_dict()
    data["network"] = {"family": "dragonfly", "p": 2, "a": 4, "h": 2}
    data["storage"] |= {"servers": 18}
    del data["storage"]["placement"]
    result = odonata.run(Scenario.from_dict(data))
    servers = result.table("storage")["node"].to_pylist()
    assert servers == [8 * group + node for group in range(9) for node in range(2)]
    placed = result.placement.to_pylist()
    assert len({row["node"] for row in placed}) == 72
    # The servers are the last ranks of the job.
    assert [row["node"] for row in placed if row["rank"] >= 54] == servers
    listed = {**data, "storage": {**data["storage"], "placement": [7, 3], "servers": 2}}
    result = odonata.run(Scenario.from_dict(listed))
    assert result.table("storage")["node"].to_pylist() == [7, 3]


def busy_machine(engine: str = "packet") -> Scenario:
    """Three jobs on a dragonfly, two of which write, beside a burst buffer."""
    data = machine(
        [
            {**writers(24, 3, "a", ranks_per_writer=3, restart=True), "placement": "random-node"},
            {**writers(16, 5, "b", shared=True, iterations=2), "start": "20 us"},
            {"name": "c", "nodes": 8, "motif": {"kind": "all-to-all", "message": "16 KiB"}},
        ],
        engine=engine,
    ).to_dict()
    data["network"] = {"family": "dragonfly", "p": 2, "a": 4, "h": 2, "routing": "ugal-l"}
    data["storage"] |= {
        "servers": 6,
        "placement": "spread",
        "stripe_count": 3,
        "write_bandwidth": "2 GB/s",
        "burst_buffer": {"bandwidth": "20 GB/s", "capacity": "4 MiB"},
    }
    return Scenario.from_dict(data)


def test_results_are_the_same_on_any_number_of_threads(tmp_path: Path) -> None:
    found = []
    for threads in (1, 3, 8):
        out = tmp_path / str(threads)
        odonata.run(busy_machine(), threads=threads).save(out, plots=False)
        found.append(digests(out))
    assert all(one == found[0] for one in found)


def test_a_run_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    """Some are taken while servers have requests in their queues. A long job beside those that
    write keeps the run from ending before it is stopped."""
    scenario = busy_machine().with_set({"job.c.motif.iterations": 800})
    odonata.run(scenario).save(tmp_path / "whole", plots=False)
    events: list[CheckpointEvent] = []

    def stop(progress: object) -> None:
        raise RuntimeError("enough")

    keep = Checkpoint(tmp_path / "out", simulated="400 us", on_event=events.append)
    with pytest.raises(RuntimeError, match="enough"):
        odonata.run(scenario, checkpoint=keep, progress=stop, threads=2)
    assert events[-1].kind == "written"
    odonata.run(scenario, checkpoint=keep).save(tmp_path / "out", plots=False)
    assert any(event.kind == "resumed" for event in events)
    assert digests(tmp_path / "out") == digests(tmp_path / "whole")


def test_flows_take_as_long_as_packets_where_media_are_slowest() -> None:
    jobs = [writers(8, 16, restart=True), writers(4, 16, "other", ranks_per_writer=2)]
    packets, flows = (end(machine(jobs, engine=engine, servers=4)) for engine in ("packet", "flow"))
    assert flows == pytest.approx(packets, rel=0.01)


@pytest.mark.parametrize("placement", ["random-node", "contiguous"])
def test_a_job_is_fitted_to_its_network_beside_servers(placement: str) -> None:
    """Servers stay where they are, whatever ranks are moved."""
    phases = [{"kind": "halo2d", "message": "4 KiB"}, {"kind": "checkpoint", "total": "1 MiB"}]
    job = {"name": "job", "nodes": 12, "motif": {"kind": "phases", "phases": phases}}
    mapping = {"policy": "linear", "refine": "swap"}
    scenario = machine([{**job, "placement": placement, "mapping": mapping}])
    assert odonata.run(scenario).table("storage")["written_bytes"].to_pylist() == [1 << 20]


@pytest.mark.parametrize(
    ("change", "path", "words"),
    [
        ({"servers": 17}, "storage.servers", "at most 16"),
        ({"servers": 0}, "storage.servers", "at least 1"),
        ({"servers": None}, "storage.servers", "a number of servers"),
        ({"servers": 3, "placement": [1, 2]}, "storage.servers", "2, as many as"),
        ({"servers": None, "placement": [1, 99]}, "storage.placement", "99"),
        ({"servers": None, "placement": [1, 1]}, "storage.placement", "1"),
        ({"placement": "isolated"}, "storage.placement", "spread"),
        ({"stripe_count": 2}, "storage.stripe_count", "1 to 1"),
        ({"stripe_count": 0}, "storage.stripe_count", "at least 1"),
        ({"write_bandwidth": "0 GB/s"}, "storage.write_bandwidth", "between 1 kB/s"),
        ({"write_bandwidth": None}, "storage.write_bandwidth", "must be given"),
        ({"read_bandwidth": "0 GB/s"}, "storage.read_bandwidth", "between 1 kB/s"),
        ({"stripe_size": "0 B"}, "storage.stripe_size", "at least"),
        ({"request": "0 B"}, "storage.request", "at least"),
        ({"in_flight": 0}, "storage.in_flight", "at least 1"),
        (
            {"burst_buffer": {"bandwidth": "1 GB/s", "capacity": "1 GB"}},
            "storage.burst_buffer.bandwidth",
            "more than",
        ),
        ({"burst_buffer": {"bandwidth": "2 GB/s"}}, "storage.burst_buffer.capacity", "given"),
        ({"server": 1}, "storage.server", "servers"),
        ({"servers": 14}, "job[0].nodes", "servers of [storage]"),
    ],
)
def test_what_is_no_file_system_is_refused(change: dict[str, Any], path: str, words: str) -> None:
    data = machine([writers(4, 1)]).to_dict()
    changed = {**data["storage"], **change}
    data["storage"] = {key: value for key, value in changed.items() if value is not None}
    with pytest.raises(ScenarioError) as error:
        odonata.run(Scenario.from_dict(data))
    assert [problem.path for problem in error.value.problems] == [path]
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("motif", "path", "words"),
    [
        ({}, "job[0].motif", "one of `per_rank`"),
        ({"total": "1 B", "per_rank": "1 B"}, "job[0].motif.total", "either"),
        ({"total": "1 B", "model": "llama-3-8b"}, "job[0].motif.model", "either"),
        ({"total": "0 B"}, "job[0].motif.total", "at least"),
        ({"total": "1 B", "write": False}, "job[0].motif.write", "restart"),
        ({"total": "1 B", "bytes_per_parameter": 2}, "job[0].motif.bytes_per_parameter", "model"),
        ({"total": "1 B", "ranks_per_writer": 5}, "job[0].motif.ranks_per_writer", "4 ranks"),
    ],
)
def test_what_is_no_checkpoint_is_refused(motif: dict[str, Any], path: str, words: str) -> None:
    job = {"name": "job", "nodes": 4, "motif": {"kind": "checkpoint", **motif}}
    with pytest.raises(ScenarioError) as error:
        odonata.run(machine([job]))
    assert [problem.path for problem in error.value.problems] == [path]
    assert words in str(error.value)


def test_a_checkpoint_needs_a_file_system_and_a_file_system_a_checkpoint() -> None:
    data = machine([writers(4, 1)]).to_dict()
    without = {key: value for key, value in data.items() if key != "storage"}
    with pytest.raises(ScenarioError, match=r"job\[0\].motif.kind.*\[storage\]"):
        odonata.run(Scenario.from_dict(without))
    data["job"] = [{"name": "job", "nodes": 4, "motif": {"kind": "all-to-all", "message": "1 B"}}]
    with pytest.raises(ScenarioError, match=r'storage.*the motif "checkpoint"'):
        odonata.run(Scenario.from_dict(data))
    # A job that only occupies its nodes leaves the servers where they are.
    data["job"].append({**writers(4, 1, "idle"), "idle": True})
    result = odonata.run(Scenario.from_dict(data))
    assert result.table("storage").num_rows == 0
    assert 0 not in result.placement["node"].to_pylist()
