"""``odonata replay``; what a replay does is tested in Rust."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import pytest

import odonata
from odonata import Scenario
from odonata.cli import main
from odonata.errors import ExitCode, ScenarioError, TraceError
from odonata.results import Result
from odonata.simulate.replaying import check_trace, dragonfly_for, replay_scenario

SCHEDULE = """\
num_ranks 3

rank 0 {
l1: calc 5000
l2: send 4096b to 1 tag 5
l2 requires l1
}

rank 1 {
l1: recv 4096b from 0 tag 5
l2: send 100b to 2 tag 6
l2 requires l1
}

rank 2 {
l1: recv 100b from 1 tag 6
}
"""


def command(*arguments: str) -> int | str | None:
    with pytest.raises(SystemExit) as stopped:
        main(["replay", *arguments])
    return stopped.value.code


@pytest.fixture
def schedule(tmp_path: Path) -> Path:
    file = tmp_path / "a.goal"
    file.write_text(SCHEDULE)
    return file


def simulated(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert command(*arguments, "--json", "--no-plots") == ExitCode.OK
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_a_trace_runs_on_a_network_of_its_size(
    schedule: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = simulated(capsys, str(schedule), "--out", str(tmp_path / "one"))
    (job,) = Result.load(tmp_path / "one").jobs.to_pylist()
    assert (job["messages_delivered"], job["bytes_delivered"]) == (2, 4196)
    assert found["directory"] == str(tmp_path / "one")
    # 5 us of computing, and ten times as much.
    simulated(capsys, str(schedule), "--compute-scale", "10", "--out", str(tmp_path / "ten"))
    (slow,) = Result.load(tmp_path / "ten").jobs.to_pylist()
    assert slow["end_ps"] - job["end_ps"] == 45_000_000


def test_several_traces_run_side_by_side(schedule: Path) -> None:
    trace = check_trace(schedule)
    scenario = replay_scenario([trace, trace], gap="0 s", ranks_per_node=2)
    assert scenario.job_names() == ["a", "a-2"]
    result = odonata.run(scenario)
    assert [job["messages_delivered"] for job in result.jobs.to_pylist()] == [2, 2]


def test_check_prints_what_a_trace_holds(
    schedule: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(str(schedule), "--check", "--json") == ExitCode.OK
    (trace,) = json.loads(capsys.readouterr().out)["traces"]
    assert (trace["format"], trace["ranks"]) == ("GOAL schedule (text)", 3)
    assert trace["facts"]["messages"] == "2"
    assert command(str(schedule), "--check") == ExitCode.OK
    assert "message bytes" in capsys.readouterr().out


def test_the_network_of_a_scenario_serves(schedule: Path, tmp_path: Path) -> None:
    file = tmp_path / "net.toml"
    file.write_text(
        '[network]\nfamily = "crossbar"\nnodes = 3\n\n'
        '[[job]]\nnodes = 2\nmotif = { kind = "all-to-all", message = "1 kB" }\n'
    )
    network = odonata.Scenario.from_file(file)
    scenario = replay_scenario([check_trace(schedule)], network=network)
    assert scenario.network.family == "crossbar"
    assert scenario.job_names() == ["a"]
    odonata.run(scenario)
    with pytest.raises(ScenarioError, match="nodes"):
        odonata.run(replay_scenario([check_trace(schedule)] * 2, network=network))


def test_codes_workloads_say_where_ranks_sit(
    schedule: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workload, allocation = tmp_path / "jobs.conf", tmp_path / "alloc.conf"
    workload.write_text("3 a.goal\n3 a.goal\n")
    allocation.write_text("10 20 30\n5 6 7\n")
    out = tmp_path / "out"
    codes = ("--workload", str(workload), "--allocation", str(allocation))
    simulated(capsys, *codes, "--out", str(out))
    scenario = Result.load(out).scenario
    assert scenario is not None
    assert scenario.job[0].placement == [10, 20, 30]
    workload.write_text("3 synthetic1\n3 a.goal\n")
    assert command(*codes) == ExitCode.USAGE
    assert "synthetic pattern" in capsys.readouterr().err
    workload.write_text("3 a.goal\n3 missing\n")
    assert command(*codes) == ExitCode.USAGE
    assert "no trace of job missing" in " ".join(capsys.readouterr().err.split())


def test_what_does_not_fit_is_refused(
    schedule: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for wrong in (
        ("--compute-scale", "1", "--gap", "1us"),
        ("--ranks", "4"),
        ("--workload", "x"),
        ("--repeat-rank", "xor"),
        # A schedule has no borders; others are none.
        ("--start", "time=1us"),
        ("--start", "solve"),
        ("--end", "time="),
        ("--end", "region=solve,iteration=0"),
        ("--end", "time=5"),
    ):
        assert command(str(schedule), *wrong) == ExitCode.USAGE
    schedule.write_text(SCHEDULE.replace("to 2 tag 6", "to 2 tag 7"))
    with pytest.raises(TraceError, match="would not come to an end"):
        check_trace(schedule.rename(tmp_path / "b.goal"))


def test_regions_of_interest_are_replayed(capsys: pytest.CaptureFixture[str]) -> None:
    file = Path(__file__).parents[3] / "shared/data/otf2-10ranks/traces.otf2"
    if not file.exists():
        pytest.skip("../shared/data/otf2-10ranks is not here")
    whole = dict(check_trace(file).facts)
    sums = {"region": "MPI_Allreduce", "iteration": 2}
    part = dict(check_trace(file, start=sums, end={"region": "MPI_Allreduce"}).facts)
    assert 0 < int(part["records"]) < int(whole["records"])
    assert part["ranks"] == whole["ranks"]
    with pytest.raises(TraceError, match="no rank calls a function"):
        check_trace(file, start={"region": "solve"})
    with pytest.raises(ScenarioError, match="one with `marker`"):
        check_trace(file, start={"function": "MPI_Allreduce"})
    border = ("--start", "region=MPI_Allreduce,iteration=2", "--end", "region=MPI_Allreduce")
    assert command(str(file), *border, "--check", "--json") == ExitCode.OK
    (found,) = json.loads(capsys.readouterr().out)["traces"]
    assert found["facts"] == part


@pytest.mark.parametrize(("nodes", "p"), [(1, 1), (6, 1), (7, 2), (72, 2), (73, 3), (1056, 4)])
def test_dragonflies_are_as_small_as_can_be(nodes: int, p: int) -> None:
    # p nodes, a = 2p routers, g = a·p + 1 groups: 6, 72, 342 and 1,056 nodes.
    assert dragonfly_for(nodes) == {"family": "dragonfly", "p": p, "a": 2 * p, "h": p}


def test_tracer_configurations_say_what_runs_where(
    schedule: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "tracer_config"
    config.write_text("global.bin\n2\na.goal job0 3 1\na.goal NA 3 1\n")
    # Job 0 by its own map; job 1 by the global one, in another order than that of its ranks.
    (tmp_path / "job0").write_bytes(struct.pack("<3i", 10, 30, 20))
    records = [(10, 0, 0), (30, 1, 0), (20, 2, 0), (5, 2, 1), (6, 0, 1), (7, 1, 1)]
    packed = b"".join(struct.pack("<3i", *record) for record in records)
    (tmp_path / "global.bin").write_bytes(packed)
    out = tmp_path / "out"
    simulated(capsys, "--tracer", str(config), "--out", str(out))
    result = Result.load(out)
    sits = sorted((row["job"], row["rank"], row["node"]) for row in result.placement.to_pylist())
    assert [node for _, _, node in sits] == [10, 30, 20, 6, 7, 5]
    # Without maps jobs follow each other.
    config.write_text("NA 2 a.goal NA 3 1 a.goal NA 3 1\n")
    simulated(capsys, "--tracer", str(config), "--out", str(tmp_path / "linear"))
    for text, words in (
        ("NA 1 a.goal NA 4 1", "has 3 ranks, but 4 are wanted"),
        ("NA 1 a.goal NA 3 2", "job 0 is replayed 2 times"),
        ("NA 1 a.goal job0", "ends before the number of ranks"),
        ("NA 1 a.goal missing 3 1", "missing"),
    ):
        config.write_text(text)
        assert command("--tracer", str(config)) == ExitCode.USAGE, text
        assert words in " ".join(capsys.readouterr().err.split())
    assert command("--tracer", str(config), str(schedule)) == ExitCode.USAGE


def test_maps_of_tracer_stand_for_placement_and_mapping(tmp_path: Path) -> None:
    (tmp_path / "job0").write_text("3\n0\n")
    job: dict[str, Any] = {
        "placement": {"rank_map": "job0"},
        "motif": {"kind": "all-to-all", "message": "1 kB"},
    }
    network = {"family": "crossbar", "nodes": 4}
    run = odonata.run(Scenario.from_dict({"network": network, "job": [job]}, directory=tmp_path))
    assert run.placement["node"].to_pylist() == [3, 0]
    job["mapping"] = "random"
    with pytest.raises(ScenarioError, match="`placement` has a map"):
        Scenario.from_dict({"network": network, "job": [job]}, directory=tmp_path)


def test_text_traces_of_liballprof_are_replayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for rank in range(2):
        world = f"6575616,{rank},2"
        message = f"1000:100:10,8,8:{1 - rank}:7:{world}"
        calls = (
            "# htor's PMPI Tracer 1.0 Output File\n# hostname: here.\n",
            "MPI_Init:-:1:2:10",
            # 5 us of computing before the first call, 20 us before the second.
            f"MPI_Isend:15:{message}:900:16",
            f"MPI_Recv:36:{message}:0:40",
            "MPI_Wait:40:900:0:41",
            "MPI_Finalize:41:-\n",
        )
        (tmp_path / f"trace-{rank}.txt").write_text("\n".join(calls))
    first = tmp_path / "trace-0.txt"
    simulated(capsys, str(first), "--out", str(tmp_path / "out"))
    (job,) = Result.load(tmp_path / "out").jobs.to_pylist()
    assert (job["messages_delivered"], job["bytes_delivered"]) == (2, 1600)
    found = check_trace(first)
    assert (found.format, found.ranks) == ("liballprof job", 2)
    assert dict(found.facts)["compute, longest rank"].startswith("25")
    with pytest.raises(SystemExit) as stopped:
        main(["trace", "show", str(first), "--json"])
    assert stopped.value.code == ExitCode.OK
    (shown,) = json.loads(capsys.readouterr().out)["traces"]
    assert shown["facts"] == {"host": "here."}
    kinds = {kind["kind"]: (kind["records"], kind["bytes_sent"]) for kind in shown["kinds"]}
    assert kinds["MPI_Isend"] == (2, 1600)
    assert kinds["MPI_Recv"] == (2, 0)
    with pytest.raises(TraceError, match="that of rank 0"):
        check_trace(tmp_path / "trace-1.txt")


def chakra_node(number: int, kind: int, after: list[int], micros: int = 0, **values: int) -> bytes:
    """A node of a Chakra trace with its length in front, as protobuf has it; all numbers < 2^14."""

    def field(number: int, value: int | bytes) -> bytes:
        if isinstance(value, bytes):
            return varint(number << 3 | 2) + varint(len(value)) + value
        return varint(number << 3) + varint(value)

    def varint(value: int) -> bytes:
        return bytes([value]) if value < 128 else bytes([value & 127 | 128, value >> 7])

    node = field(1, number) + field(3, kind) + field(5, bytes(after)) + field(7, micros)
    for name, value in values.items():
        node += field(10, field(1, name.encode()) + field(9, value))
    return varint(len(node)) + node


def test_chakra_traces_take_the_time_of_their_longest_path(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    message = {"comm_src": 0, "comm_dst": 1, "comm_tag": 5, "comm_size": 4096}
    compute, send, receive = 4, 5, 6

    def end(name: str, first: bytes, second: bytes) -> int:
        for rank, nodes in enumerate((first, second)):
            (tmp_path / f"{name}.{rank}.et").write_bytes(b"\x07\x0a\x050.0.4" + nodes)
        out = str(tmp_path / name)
        simulated(capsys, str(tmp_path / f"{name}.0.et"), "--out", out)
        (job,) = Result.load(out).jobs.to_pylist()
        assert (job["messages_delivered"], job["bytes_delivered"]) == (1, 4096)
        took: int = job["end_ps"]
        return took

    received = chakra_node(1, receive, [], **message)
    alone = end("alone", chakra_node(1, send, [], **message), received)
    computing = chakra_node(2, compute, [], micros=50)
    sent_after = computing + chakra_node(1, send, [2], **message)
    assert end("after", sent_after, received) == alone + 50_000_000
    # Nothing depends on it: the message goes on beside it.
    sent_beside = computing + chakra_node(1, send, [], **message)
    assert end("beside", sent_beside, received) == 50_000_000
    # The receiver computes when it has the message.
    then = received + chakra_node(2, compute, [1], micros=50)
    assert end("then", sent_after, then) == alone + 100_000_000


def test_chakra_traces_say_what_they_hold_and_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "t.0.et"
    whole = b"\x07\x0a\x050.0.4" + chakra_node(1, 4, [], 7, num_ops=9) + chakra_node(2, 2, [1])
    file.write_bytes(whole)
    with pytest.raises(SystemExit) as stopped:
        main(["trace", "show", str(file), "--json"])
    assert stopped.value.code == ExitCode.OK
    (shown,) = json.loads(capsys.readouterr().out)["traces"]
    assert (shown["format"], shown["ranks"], shown["records"]) == ("Chakra execution trace", 1, 2)
    assert {kind["kind"]: kind["records"] for kind in shown["kinds"]} == {
        "compute": 1,
        "memory load": 1,
    }
    assert shown["facts"] == {
        "form": "protobuf",
        "version": "0.0.4",
        "dependencies": "1",
        "attributes that a replay does not use": "num_ops 1",
    }
    assert dict(check_trace(file).facts)["not replayed: memory load"] == "1"
    file.write_bytes(whole[:-1])
    with pytest.raises(TraceError, match="truncated"):
        check_trace(file)
    file.write_bytes(whole + chakra_node(3, 4, [3]))
    with pytest.raises(TraceError, match="node 3 is part of a circle"):
        check_trace(file)
