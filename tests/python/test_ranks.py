"""Where the time of ranks goes: tables, critical path, timeline, pictures."""

import csv
import gzip
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import odonata
from odonata.cli import main
from odonata.columns import codes, numbers
from odonata.errors import ExitCode, NotRecordedError
from odonata.plots.communication import matrix
from odonata.results import Result
from odonata.results.critical_path import KINDS, critical_path, shares
from odonata.results.perfetto import write_trace
from odonata.scenario import Scenario
from test_plots import ink

O_SEND, O_RECEIVE, COMPUTE = 200_000, 300_000, 5_000_000


def scenario(**record: Any) -> Scenario:
    """Broadcast along a chain of two ranks on a crossbar, and a stencil beside it."""
    return Scenario.from_dict(
        {
            "network": {
                "family": "crossbar",
                "nodes": 12,
                "links": {"terminal": {"bandwidth": "10 GB/s", "latency": "100 ns"}},
            },
            "mpi": {"send_overhead": "200 ns", "receive_overhead": "300 ns"},
            "record": record,
            "job": [
                {
                    "name": "pair",
                    "nodes": 2,
                    "motif": {
                        "kind": "broadcast",
                        "message": "1 kB",
                        "iterations": 3,
                        "compute": "5 us",
                    },
                },
                {
                    "name": "stencil",
                    "nodes": 8,
                    "motif": {"kind": "halo3d", "message": "10 kB", "iterations": 2},
                },
            ],
        }
    )


@pytest.fixture(scope="module")
def recorded() -> Result:
    return odonata.run(scenario(messages="all", rank_activity=True, communication=True))


def test_the_parts_of_a_ranks_time_add_up(recorded: Result) -> None:
    table = recorded.table("ranks")
    parts = [
        "compute_ps",
        "send_overhead_ps",
        "receive_overhead_ps",
        "send_wait_ps",
        "receive_wait_ps",
        "collective_ps",
    ]
    total = sum(numbers(table, part) for part in parts)
    assert (total == numbers(table, "total_ps")).all()
    pair = numbers(table, "job") == 0
    assert numbers(table, "compute_ps")[pair].tolist() == [3 * COMPUTE, 3 * COMPUTE]
    # Rank 0 sends one message of each iteration, rank 1 takes it in.
    assert numbers(table, "send_overhead_ps")[pair].tolist() == [3 * O_SEND, 0]
    assert numbers(table, "receive_overhead_ps")[pair].tolist() == [0, 3 * O_RECEIVE]


def test_the_critical_path_is_the_whole_run(recorded: Result) -> None:
    for job, end in enumerate(recorded.jobs["end_ps"].to_pylist()):
        path = critical_path(recorded, job)
        begin, until = numbers(path, "begin_ps"), numbers(path, "end_ps")
        assert begin[0] == 0
        assert until[-1] == end
        assert (begin[1:] == until[:-1]).all()
        assert (until > begin).all()
        # It changes from rank to rank by messages only.
        rank, to_rank = numbers(path, "rank"), numbers(path, "to_rank")
        assert (rank[1:] == to_rank[:-1]).all()
        jumps = rank != to_rank
        assert (codes(path, "kind")[jumps] == KINDS.index("network")).all()
        assert sum(shares(path).values()) == end


def test_the_critical_path_of_a_pipeline(recorded: Result) -> None:
    """Rank 0 computes and sends, rank 1 computes and receives, three times.

    Rank 1 is late by the first message; from then on it has more to do than rank 0 (receiving
    takes longer than sending), so that the next messages wait for it, not it for them.
    """
    path = critical_path(recorded, 0)
    steps = [(row["kind"], row["rank"], row["to_rank"]) for row in path.to_pylist()]
    assert steps == [
        ("compute", 0, 0),
        ("send", 0, 0),
        ("network", 0, 1),
        *[("receive", 1, 1), ("compute", 1, 1)] * 2,
        ("receive", 1, 1),
    ]
    parts = shares(path)
    assert parts["compute"] == 3 * COMPUTE
    assert parts["send"] == O_SEND
    assert parts["receive"] == 3 * O_RECEIVE
    end = recorded.jobs["end_ps"].to_pylist()[0]
    assert parts["network"] == end - 3 * COMPUTE - O_SEND - 3 * O_RECEIVE


def test_messages_and_matrix_agree(recorded: Result) -> None:
    sent = recorded.jobs["bytes_created"].to_pylist()
    for job in (0, 1):
        assert matrix(recorded, job).sum() == sent[job]
    pair = matrix(recorded, 0)
    assert pair.tolist() == [[0.0, 3_000.0], [0.0, 0.0]]
    sizes = recorded.table("message_sizes")
    chosen = numbers(sizes, "job") == 1
    assert numbers(sizes, "count")[chosen].sum() == recorded.jobs["messages_created"][1].as_py()
    assert (numbers(sizes, "low_bytes")[chosen] <= 10_000).all()
    assert (numbers(sizes, "high_bytes")[chosen] >= 10_000).all()


@pytest.mark.parametrize("name", ["ranks", "communication", "message_sizes", "critical_path"])
def test_pictures_show_something(recorded: Result, tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.png"
    getattr(recorded.plot, name)(path)
    assert ink(path) > 0.02
    # And say so where there is nothing to show.
    empty = odonata.run(scenario())
    getattr(empty.plot, name)(path)
    assert ink(path) > 0.001


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_the_timeline_is_in_the_trace_event_format(
    recorded: Result, tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"timeline{suffix}"
    count = write_trace(recorded, path)
    raw = path.read_bytes()
    trace = json.loads(gzip.decompress(raw) if suffix.endswith(".gz") else raw)
    events = trace["traceEvents"]
    assert len(events) == count
    by_phase: dict[str, list[dict[str, Any]]] = {}
    for event in events:
        by_phase.setdefault(event["ph"], []).append(event)
    assert set(by_phase) == {"M", "X", "s", "f", "C"}
    slices = by_phase["X"]
    assert len(slices) == recorded.table("rank_activity").num_rows
    assert all(event["dur"] > 0 for event in slices)
    # Slices of a thread do not overlap.
    for thread in {(event["pid"], event["tid"]) for event in slices}:
        own = sorted(
            (event["ts"], event["dur"])
            for event in slices
            if (event["pid"], event["tid"]) == thread
        )
        ends = np.array([begin + length for begin, length in own])
        assert (np.array([begin for begin, _ in own])[1:] >= ends[:-1] - 1e-6).all()
    # Every arrow has a beginning and an end, in this order.
    begins = {event["id"]: event["ts"] for event in by_phase["s"]}
    assert len(begins) == recorded.messages.num_rows == len(by_phase["f"])
    assert all(event["ts"] > begins[event["id"]] for event in by_phase["f"])
    again = tmp_path / f"again{suffix}"
    write_trace(recorded, again)
    assert again.read_bytes() == raw


def decoded(content: bytes) -> dict[int, list[Any]]:
    """The fields of a protocol buffer by their numbers: integers, or bytes of what has a length."""
    found: dict[int, list[Any]] = {}
    at = 0

    def varint() -> int:
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = content[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(content):
        key = varint()
        value: Any
        if key & 7 == 0:
            value = varint()
        else:
            length = 8 if key & 7 == 1 else varint()
            value = content[at : at + length]
            at += length
        found.setdefault(key >> 3, []).append(value)
    assert at == len(content)
    return found


@pytest.mark.parametrize("suffix", [".pftrace", ".pftrace.gz"])
def test_a_timeline_of_protocol_buffers(recorded: Result, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"timeline{suffix}"
    count = write_trace(recorded, path)
    raw = path.read_bytes()
    whole = gzip.decompress(raw) if suffix.endswith(".gz") else raw
    trace = [decoded(packet) for packet in decoded(whole)[1]]
    assert len(trace) == count
    tracks = [decoded(packet[60][0]) for packet in trace if 60 in packet]
    uuids = {track[1][0] for track in tracks}
    assert len(uuids) == len(tracks)
    names: dict[int, str] = {}
    open_at: dict[int, int] = {}
    slices, flows = [], {47: {}, 48: {}}
    for packet in trace:
        if 12 in packet:
            entry = decoded(decoded(packet[12][0])[2][0])
            names[entry[1][0]] = entry[2][0].decode()
        if 11 not in packet:
            continue
        event = decoded(packet[11][0])
        time, track = packet[8][0], event[11][0]
        assert track in uuids
        match event[9][0]:
            case 1:
                assert track not in open_at
                assert event[10][0] in names
                open_at[track] = time
            case 2:
                slices.append(time - open_at.pop(track))
            case 3:
                for field in (47, 48):
                    for flow in event.get(field, []):
                        assert flow not in flows[field]
                        flows[field][flow] = time
            case 4:
                assert struct.unpack("<d", event[44][0])[0] >= 0
    assert not open_at
    activity = recorded.table("rank_activity").to_pylist()
    # Whole nanoseconds, at either end.
    expected = [row["end_ps"] // 1000 - row["begin_ps"] // 1000 for row in activity]
    assert slices == expected
    assert len(flows[47]) == len(flows[48]) == recorded.messages.num_rows
    assert all(flows[48][number] >= begin for number, begin in flows[47].items())
    again = tmp_path / f"again{suffix}"
    write_trace(recorded, again)
    assert again.read_bytes() == raw
    if suffix == ".pftrace":
        json_path = tmp_path / "timeline.json"
        write_trace(recorded, json_path)
        assert len(raw) < json_path.stat().st_size / 2


def test_recorded_routers_have_counters(tmp_path: Path) -> None:
    what = scenario().with_set(
        {"record.rank_activity": True, "record.arrivals": {"routers": [0], "interval": "1 us"}}
    )
    result = odonata.run(what)
    arrivals = result.table("arrivals").to_pylist()
    assert arrivals
    write_trace(result, tmp_path / "timeline.pftrace")
    trace = [decoded(one) for one in decoded((tmp_path / "timeline.pftrace").read_bytes())[1]]
    tracks = {
        track[1][0]: track[2][0].decode()
        for packet in trace
        if 60 in packet
        for track in [decoded(packet[60][0])]
    }
    # What a counter says, for as long as it says so, is what came.
    came = dict.fromkeys({f"{row['class']} links to router 0" for row in arrivals}, 0.0)
    rates: dict[str, tuple[int, float]] = {}
    for packet in trace:
        event = decoded(packet[11][0]) if 11 in packet else {}
        name = tracks.get(event.get(11, [0])[0], "")
        if name in came:
            begin, rate = rates.get(name, (0, 0.0))
            came[name] += rate * (packet[8][0] - begin)
            rates[name] = (packet[8][0], struct.unpack("<d", event[44][0])[0])
    for name, amount in came.items():
        sent = sum(row["bytes"] for row in arrivals if name.startswith(f"{row['class']} "))
        assert amount == pytest.approx(sent, rel=0.01)


def test_perfetto_reads_it(recorded: Result, tmp_path: Path) -> None:
    protocol = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
    path = tmp_path / "timeline.pftrace"
    count = write_trace(recorded, path)
    trace = protocol.Trace.FromString(path.read_bytes())
    assert len(trace.packet) == count
    begins = [
        packet.track_event
        for packet in trace.packet
        if packet.track_event.type == protocol.TrackEvent.TYPE_SLICE_BEGIN
    ]
    assert len(begins) == recorded.table("rank_activity").num_rows
    threads = [
        packet.track_descriptor.thread.thread_name
        for packet in trace.packet
        if packet.track_descriptor.HasField("thread")
    ]
    assert "rank 0" in threads


def test_events_are_entered_and_left_in_turn(recorded: Result, tmp_path: Path) -> None:
    directory = recorded.save(tmp_path / "result")
    with pytest.raises(SystemExit) as exit_:
        main(["ranks", str(directory), "--pipit", str(tmp_path / "events.csv")])
    assert exit_.value.code == ExitCode.OK
    with (tmp_path / "events.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    times = [float(row["Timestamp (ns)"]) for row in rows]
    assert times == sorted(times)
    busy: dict[str, tuple[str, float]] = {}
    spent = 0.0
    for row, time in zip(rows, times, strict=True):
        if row["Event Type"] == "Enter":
            assert row["Process"] not in busy
            busy[row["Process"]] = (row["Name"], time)
        else:
            name, begin = busy.pop(row["Process"])
            assert name == row["Name"]
            spent += time - begin
    assert busy == {}
    activity = recorded.table("rank_activity").to_pylist()
    assert spent * 1e3 == pytest.approx(sum(row["end_ps"] - row["begin_ps"] for row in activity))
    assert len({row["Process"] for row in rows}) == len({(r["job"], r["rank"]) for r in activity})


def test_what_was_not_recorded_is_asked_for() -> None:
    result = odonata.run(scenario())
    assert result.table("rank_activity").num_rows == 0
    assert result.table("communication").num_rows == 0
    with pytest.raises(NotRecordedError, match="rank_activity = true"):
        critical_path(result, 0)


def test_the_command(recorded: Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = recorded.save(tmp_path / "result")
    timeline = tmp_path / "timeline.json.gz"
    with pytest.raises(SystemExit) as exit_:
        main(["ranks", str(directory), "--perfetto", str(timeline)])
    assert exit_.value.code == ExitCode.OK
    said = capsys.readouterr().out
    assert "Critical path of pair" in said
    assert "receive overhead" in said
    assert timeline.exists()
    with pytest.raises(SystemExit):
        main(["ranks", str(directory), "--json"])
    answer = json.loads(capsys.readouterr().out)
    assert [job["job"] for job in answer["jobs"]] == ["pair", "stencil"]
    assert answer["critical_paths"][0]["total_ps"] == recorded.jobs["end_ps"][0].as_py()


def test_the_command_without_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = odonata.run(scenario()).save(tmp_path / "result")
    with pytest.raises(SystemExit) as exit_:
        main(["ranks", str(directory), "--perfetto", str(tmp_path / "t.json")])
    assert exit_.value.code == ExitCode.USAGE
    assert "record.rank_activity=true" in capsys.readouterr().err
