"""Training steps: how long ranks wait for communication, and for which kind of parallelism."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import odonata
from odonata import Checkpoint, Scenario
from odonata.cli import main
from odonata.columns import labels, numbers
from odonata.report.summaries import bubbles
from odonata.results import Result
from odonata.results.perfetto import write_trace
from test_threads import digests

#: Bytes per nanosecond.
LINK = 10.0
LAYERS, HIDDEN, WORDS, BATCHES = 4, 64, 32, 2
#: Bytes of a layer of the plain shape, 2 for each parameter.
LAYER = 2 * (12 * HIDDEN**2 + 13 * HIDDEN)
#: A micro-batch between layers.
ACTIVATIONS = 2 * WORDS * HIDDEN


def step(
    ranks: int, engine: str = "flow", mpi: dict[str, Any] | None = None, **keys: Any
) -> Scenario:
    """A step on a switch without delays and without an embedding, whose collectives are rings."""
    plain = {"layers": LAYERS, "hidden": HIDDEN, "sequence": WORDS, "vocabulary": 0}
    motif = {"kind": "training", "micro_batch": 1, "micro_batches": BATCHES, **keys}
    motif = motif if "model" in keys else plain | motif
    link = {"bandwidth": "10 GB/s", "latency": "1 ns"}
    return Scenario.from_dict(
        {
            "network": {"family": "crossbar", "nodes": ranks, "links": {"terminal": link}},
            "simulation": {"engine": engine},
            "mpi": {"collectives": {"allreduce": "ring"}, **(mpi or {})},
            "job": [{"name": "step", "nodes": ranks, "motif": motif}],
        }
    )


def sent(result: Result) -> dict[str, int]:
    """Bytes of all ranks by kind."""
    table = result.table("parallelism")
    kinds = np.array(table["parallelism"].to_pylist())
    return {kind: int(numbers(table, "bytes")[kinds == kind].sum()) for kind in sorted(set(kinds))}


VOLUMES: list[tuple[dict[str, Any], int, dict[str, int]]] = [
    # A ring gives every rank 2 (n - 1)/n of the gradients.
    ({}, 4, {"data": 2 * 3 * LAYERS * LAYER}),
    # Two all-reduces a layer and direction.
    ({"tensor": 2}, 2, {"tensor": 2 * 2 * 1 * 2 * LAYERS * BATCHES * ACTIVATIONS}),
    (
        {"tensor": 2, "sequence_parallel": True},
        2,
        {"sequence": 2 * 2 * 1 * 2 * LAYERS * BATCHES * ACTIVATIONS},
    ),
    # Over the one boundary of stages, both ways.
    ({"pipeline": 2}, 2, {"pipeline": 2 * BATCHES * ACTIVATIONS}),
    # Keys and values of the other's half gathered, and their gradients scattered.
    (
        {"context": 2},
        2,
        {"context": 2 * 2 * LAYERS * BATCHES * ACTIVATIONS, "data": 2 * LAYERS * LAYER},
    ),
    # Gradients scattered, weights gathered.
    ({"zero": 1}, 4, {"zero": 2 * 3 * LAYERS * LAYER}),
    ({"zero": 3}, 4, {"zero": 3 * BATCHES * 3 * LAYERS * LAYER}),
    (
        {"tensor": 2, "pipeline": 2},
        8,
        {
            "data": 4 * 2 * LAYERS // 2 * LAYER // 2,
            "pipeline": 4 * 2 * BATCHES * ACTIVATIONS,
            "tensor": 4 * 2 * 2 * LAYERS // 2 * 2 * BATCHES * ACTIVATIONS,
        },
    ),
]


@pytest.mark.parametrize(("keys", "ranks", "expected"), VOLUMES, ids=str)
@pytest.mark.parametrize("engine", ["flow", "packet"])
def test_bytes_of_each_kind_are_those_of_the_papers(
    engine: str, keys: dict[str, Any], ranks: int, expected: dict[str, int]
) -> None:
    result = odonata.run(step(ranks, engine, **keys))
    # Messages are whole bytes.
    assert sent(result) == pytest.approx(expected, rel=1e-3)
    assert sum(sent(result).values()) == result.jobs["bytes_created"][0].as_py()


def test_words_go_to_their_experts_and_back() -> None:
    """Each of 2 ranks sends half its words, to 2 experts each: there and back, both ways."""
    keys: dict[str, Any] = {
        "model": "mixtral-8x7b",
        "sequence": 16,
        "micro_batches": 1,
        "expert": 2,
    }
    result = odonata.run(step(2, **keys))
    words = 16 * 2 * 4096 * 2
    assert sent(result)["expert"] == 2 * 4 * 32 * words // 2


@pytest.mark.parametrize("engine", ["flow", "packet"])
@pytest.mark.parametrize("keys", [keys for keys, *_ in VOLUMES] + [{"pipeline": 4}], ids=str)
def test_a_rank_computes_or_communicates(engine: str, keys: dict[str, Any]) -> None:
    scenario = step(8, engine, **keys)
    result = odonata.run(scenario)
    ranks, shares = result.table("ranks"), result.table("parallelism")
    rank = numbers(shares, "rank")
    exposed = np.bincount(rank, numbers(shares, "exposed_ps"), 8).astype(np.int64)
    idle = numbers(ranks, "total_ps") - numbers(ranks, "compute_ps")
    assert exposed.tolist() == idle.tolist()
    (job,) = result.summary_dict["jobs"]
    if "pipeline" in keys:
        # Stages that end before others wait for these.
        idle = job["run_time_ps"] - numbers(ranks, "compute_ps")
    assert job["exposed_mean_ps"] == pytest.approx(idle.mean())
    assert job["exposed_max_ps"] == idle.max()
    assert job["iteration_ps"] == job["run_time_ps"]
    parts = result.summary_dict["parallelism"]
    assert sum(one["exposed_mean_ps"] for one in parts) == pytest.approx(job["exposed_mean_ps"])
    assert sum(one["bytes_share"] for one in parts) == pytest.approx(1.0)


def ring(count: float, ranks: int) -> float:
    """Picoseconds of an all-reduce of so many bytes by a ring: 2 (n - 1) messages in turn, each
    over two cables and a router, with a flit once more."""
    return 2 * (ranks - 1) * ((count / ranks + 32) / LINK + 2 * 1 + 50) * 1e3


def exposed(result: Result) -> float:
    return float(result.summary_dict["jobs"][0]["exposed_max_ps"])


@pytest.mark.parametrize("ranks", [2, 4])
def test_without_overlap_all_communication_is_exposed(ranks: int) -> None:
    for compute in ("1 GFLOP/s", "1 TFLOP/s"):
        result = odonata.run(step(ranks, overlap=False, flop_rate=compute))
        expected = ring(LAYERS * LAYER, ranks)
        assert exposed(result) == pytest.approx(expected, rel=1e-3)


def test_with_overlap_only_the_last_bucket_is_exposed() -> None:
    """Two messages of an all-reduce between two ranks, and two parts of a layer behind which they
    hide; nothing is computed any more when the first layer's gradients come."""
    keys = {"flop_rate": "1 GFLOP/s", "bucket": "1 B"}
    result = odonata.run(step(2, **keys))
    assert exposed(result) == pytest.approx(ring(LAYER, 2), rel=1e-3)
    whole = odonata.run(step(2, overlap=False, flop_rate="1 GFLOP/s"))
    assert exposed(whole) == pytest.approx(ring(LAYERS * LAYER, 2), rel=1e-3)


#: A layer's way back takes 4 of 6 parts of its computing, of which the plain shape's parameters
#: are 24 operations for each word and the square of the hidden size, and attention's scores 4.
def backward(flops: float) -> float:
    """Picoseconds in which a layer's gradients are computed."""
    forward = WORDS * (24 * HIDDEN**2 + 4 * WORDS * HIDDEN)
    return 2 * forward / flops * 1e12


@pytest.mark.parametrize("engine", ["flow", "packet"])
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_gradients_go_on_while_a_rank_computes(engine: str, ranks: int) -> None:
    """All rounds of a layer hide behind the layer before it, if that takes longer, and the last
    layer's are exposed; otherwise so is what all take longer than computing."""
    asynchronous = {"progress": "asynchronous"}
    one = ring(LAYER, ranks)
    # Half as long as the computing, and twice as long.
    for share in (0.5, 2.0):
        flops = backward(1.0) * share / one
        keys = {"flop_rate": f"{flops:.0f} FLOP/s", "bucket": "1 B"}
        result = odonata.run(step(ranks, engine, asynchronous, **keys))
        if share < 1:
            assert exposed(result) == pytest.approx(one, rel=1e-3)
        else:
            # Rings that are under way at once hide each other's latencies, but no bytes.
            hidden = (LAYERS - 1) * backward(flops)
            least = LAYERS * 2 * (ranks - 1) / ranks * LAYER / LINK * 1e3
            assert least - hidden <= exposed(result) <= LAYERS * one - hidden
        # More rounds than a layer has parts do not hide otherwise.
        within_calls = exposed(odonata.run(step(ranks, engine, **keys)))
        if ranks > 2 and share < 1:
            assert within_calls > 1.5 * exposed(result)


def test_nccl_goes_on_while_a_rank_computes() -> None:
    """Unless it is told not to."""
    found = []
    for own in ({}, {"progress": "asynchronous"}, {"progress": "calls"}):
        mpi = {"collectives": {"library": "nccl", "allreduce": "ring"}, **own}
        keys = {"flop_rate": "1 GFLOP/s", "bucket": "1 B"}
        found.append(exposed(odonata.run(step(8, mpi=mpi, **keys))))
    usual, asynchronous, calls = found
    assert usual == asynchronous < calls


@pytest.mark.parametrize("steps", [1, 3])
def test_a_pipeline_idles_as_its_papers_say(steps: int) -> None:
    """Computing so slow that messages take no time beside it. Every stage idles for
    (p - 1)/(m + p - 1) of a step; stage i ends i ways back earlier, each 2/3 of a micro-batch,
    and waits for the others, after the last step as after all."""
    keys: dict[str, Any] = {"pipeline": 4, "micro_batches": 4, "flop_rate": "1 MFLOP/s"}
    result = odonata.run(step(4, **keys, iterations=steps))
    (part,) = result.summary_dict["parallelism"]
    (job,) = result.summary_dict["jobs"]
    assert part["parallelism"] == "pipeline"
    assert part["exposed_max_ps"] / job["iteration_ps"] == pytest.approx(3 / 7, rel=1e-3)
    assert part["exposed_share"] == pytest.approx(3 / 7, rel=1e-3)
    assert "no network shortens" in " ".join(bubbles(result.summary_dict))
    assert bubbles(odonata.run(step(2, tensor=2)).summary_dict) == []


def mixed(engine: str) -> Scenario:
    """All kinds but the experts', on a network in which they meet another job."""
    keys = {"tensor": 2, "pipeline": 2, "context": 2, "iterations": 2, "bucket": "50 kB"}
    data = step(16, engine, **keys).to_dict()
    data["network"] = {"family": "dragonfly", "p": 2, "a": 4, "h": 2, "routing": "minimal"}
    halo = {"kind": "halo3d", "message": "20 kB", "iterations": 60}
    data["job"].append({"name": "halo", "nodes": 16, "motif": halo})
    return Scenario.from_dict({**data, "record": {"rank_activity": True}})


def test_results_are_the_same_on_any_number_of_threads(tmp_path: Path) -> None:
    found = []
    for threads in (1, 3, 8):
        out = tmp_path / str(threads)
        odonata.run(mixed("packet"), threads=threads).save(out, plots=False)
        found.append(digests(out))
    assert all(one == found[0] for one in found)


@pytest.mark.parametrize("engine", ["flow", "packet"])
def test_a_run_goes_on_from_a_checkpoint(tmp_path: Path, engine: str) -> None:
    scenario = mixed(engine).with_set({"job.halo.motif.iterations": 3000})
    odonata.run(scenario).save(tmp_path / "whole", plots=False)

    def stop(progress: object) -> None:
        raise RuntimeError("enough")

    keep = Checkpoint(tmp_path / "out", simulated="30 us")
    with pytest.raises(RuntimeError, match="enough"):
        odonata.run(scenario, checkpoint=keep, progress=stop)
    odonata.run(scenario, checkpoint=keep).save(tmp_path / "out", plots=False)
    assert digests(tmp_path / "out") == digests(tmp_path / "whole")


def test_what_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    result = odonata.run(mixed("flow"))
    result.save(out, plots=False)
    step_of, halo = result.summary_dict["jobs"]
    assert halo["exposed_mean_ps"] is None and halo["iteration_ps"] > 0
    assert step_of["exposed_max_ps"] >= step_of["exposed_mean_ps"] > 0
    assert set(numbers(result.table("parallelism"), "job").tolist()) == {0}
    with pytest.raises(SystemExit):
        main(["show", str(out)])
    printed = capsys.readouterr().out
    for word in ("Training", "exposed", "slowest", "tensor", "context", "pipeline", "data"):
        assert word in printed
    with pytest.raises(SystemExit):
        main(["report", str(out), "--out", str(tmp_path / "page.html")])
    assert "exposed communication of a step" in (tmp_path / "page.html").read_text()
    write_trace(result, tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    names = {event["name"] for event in events if event["ph"] == "X"}
    assert "tensor: allreduce: wait-to-receive" in names
    activity = result.table("rank_activity")
    assert labels(activity, "parallelism")[:2] == ["tensor", "sequence"]


def test_results_of_before_there_were_shares_are_read(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    out = tmp_path / "out"
    odonata.run(mixed("flow")).save(out, plots=False)
    (out / "parallelism.parquet").unlink()
    activity = pq.read_table(out / "rank_activity.parquet").drop_columns(["parallelism"])
    pq.write_table(activity, out / "rank_activity.parquet")
    result = Result.load(out)
    assert result.table("parallelism").num_rows == 0
    assert result.table("rank_activity")["parallelism"].null_count == activity.num_rows
    assert result.summary_dict["jobs"][0]["exposed_mean_ps"] is None
