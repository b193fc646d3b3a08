"""Bandwidths of NCCL's collectives in results: as nccl-tests counts them, and within the links'."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import odonata
from odonata import Scenario
from odonata.report.summaries import compute_rates, one_order_inside, one_ring
from odonata.results.bus_bandwidth import bus_factor
from odonata.study.comparing import compare
from odonata.study.file import Measure

#: Bandwidth of each of a node's four interfaces.
INTERFACE = 10e9
LINK = {"bandwidth": "10 GB/s", "latency": "100 ns"}


def data(operation: str, message: str, library: str = "nccl", **motif: Any) -> dict[str, Any]:
    """Eight nodes of four GPUs and interfaces on rails; the collective is called three times."""
    asked = {"kind": "collective", "operation": operation, "message": message, "iterations": 3}
    return {
        "node": {
            "ranks": 4,
            "interfaces": 4,
            "wiring": "rail-optimised",
            "interface": "pxn",
            "network": {"kind": "switch", "bandwidth": "100 GB/s", "latency": "200 ns"},
        },
        "network": {
            "family": "fat-tree",
            "down": [4, 8],
            "up": [4],
            "links": {"terminal": LINK, "level1": LINK},
        },
        "mpi": {"collectives": library},
        "simulation": {"engine": "flow"},
        "job": [
            {"name": "gpus", "nodes": 8, "ranks_per_node": 4, "motif": {**asked, **motif}},
        ],
    }


def found(**scenario: Any) -> list[dict[str, Any]]:
    result = odonata.run(Scenario.from_dict(data(**scenario)))
    collectives: list[dict[str, Any]] = result.summary_dict.get("collectives", [])
    return collectives


@pytest.mark.parametrize(
    ("operation", "message", "size", "factor"),
    [
        ("allreduce", "256 MiB", 256 << 20, 2 * 31 / 32),
        ("allgather", "8 MiB", 256 << 20, 31 / 32),
        ("reduce-scatter", "8 MiB", 256 << 20, 31 / 32),
        ("broadcast", "256 MiB", 256 << 20, 1.0),
        ("alltoall", "1 MiB", 32 << 20, 31 / 32),
    ],
)
def test_bandwidths_are_those_of_nccl_tests(
    operation: str, message: str, size: int, factor: float
) -> None:
    """Sizes count all blocks; the time is the mean of the calls."""
    result = odonata.run(Scenario.from_dict(data(operation, message)))
    (one,) = result.summary_dict["collectives"]
    (job,) = result.jobs.to_pylist()
    assert (one["job"], one["operation"], one["bytes"]) == ("gpus", operation, size)
    seconds = (job["end_ps"] - job["start_ps"]) * 1e-12 / 3
    assert one["time_ps"] * 1e-12 == pytest.approx(seconds)
    assert one["algorithm_bytes_per_s"] == pytest.approx(size / seconds)
    assert one["bus_bytes_per_s"] == pytest.approx(size / seconds * factor)
    assert bus_factor(operation, 32) == pytest.approx(factor)
    if operation == "alltoall":
        # Of 31 partners 28 are on other nodes, to which all goes over a GPU's interface.
        assert one["bus_bytes_per_s"] <= INTERFACE * 31 / 28
        assert (one["algorithm"], one["protocol"], one["channels"]) == ("rounds", None, None)
    else:
        # Along rings every node is left once for each channel: over four interfaces, each of two of
        # the eight channels, as NCCL takes those that it finds twice.
        assert one["bus_bytes_per_s"] <= 4 * INTERFACE
        ring = ("channel-rings", "simple", 8)
        assert (one["algorithm"], one["protocol"], one["channels"]) == ring


def test_rings_of_all_interfaces_come_near_to_what_they_carry() -> None:
    (one,) = found(operation="allgather", message="64 MiB")
    assert 0.9 * 4 * INTERFACE < one["bus_bytes_per_s"] <= 4 * INTERFACE


def test_a_named_algorithm_is_the_one_that_is_said() -> None:
    (tree,) = found(operation="allreduce", message="1 MiB", algorithm="double-tree")
    assert tree["algorithm"] == "double-tree"
    # One that is not NCCL's has no bus bandwidth.
    assert not found(operation="allreduce", message="1 MiB", algorithm="recursive-doubling")


@pytest.mark.parametrize(
    "scenario",
    [
        {"operation": "allreduce", "message": "1 MiB", "library": "mpich"},
        # The time is not that of the collective alone.
        {"operation": "allreduce", "message": "1 MiB", "compute": "1 us"},
    ],
)
def test_others_have_none(scenario: dict[str, Any]) -> None:
    assert not found(**scenario)


def test_they_are_stored_and_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from odonata.cli import main

    monkeypatch.setenv("COLUMNS", "160")
    file = tmp_path / "gpus.toml"
    file.write_text(Scenario.from_dict(data("allreduce", "256 MiB")).to_toml(), encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main(["run", str(file), "--out", str(tmp_path / "out"), "--no-plots"])
    assert not ended.value.code
    printed = capsys.readouterr().out
    assert "busbw" in printed and "channel-rings" in printed
    (one,) = json.loads((tmp_path / "out" / "summary.json").read_text())["collectives"]
    again = odonata.Result.load(tmp_path / "out").summary_dict["collectives"]
    assert again == [one]


def test_studies_and_comparisons_have_the_bandwidths(tmp_path: Path) -> None:
    """Figures of jobs are those of collectives; comparisons say which algorithms differ."""
    runs = []
    for message in ("1 MiB", "256 MiB"):
        result = odonata.run(Scenario.from_dict(data("allreduce", message)))
        (one,) = result.summary_dict["collectives"]
        measure = Measure(figure="job.gpus.bus_bytes_per_s", unit="GB/s")
        assert measure.value(result) == pytest.approx(one["bus_bytes_per_s"] / 1e9)
        directory = tmp_path / str(len(runs))
        result.save(directory)
        runs.append((directory, one))
    found = compare(*(directory for directory, _ in runs))
    values = [
        row["value"] for row in found.table.to_pylist() if row["quantity"] == "bus_bytes_per_s"
    ]
    assert values == pytest.approx([one["bus_bytes_per_s"] for _, one in runs])
    ways = [f"{one['algorithm']}, {one['protocol']}" for _, one in runs]
    assert ways[0] != ways[1]
    assert found.settings["collective of gpus"] == ways


def test_links_that_one_order_of_ranks_leaves_idle_are_told() -> None:
    """A mesh of four has twelve links each way, of which a ring takes four; switches have none."""
    given = data("allreduce", "1 MiB")
    assert one_order_inside(Scenario.from_dict(given)) is None
    given["node"]["network"]["kind"] = "mesh"
    told = one_order_inside(Scenario.from_dict(given))
    assert told is not None and "4 of the 12 links" in told


def test_a_ring_that_is_not_of_nccl_is_told() -> None:
    """It leaves a node by one interface, where a ring for each channel leaves by all."""
    given = data("allreduce", "1 MiB")
    given["node"]["interfaces"] = 1
    for algorithm in ("auto", "channel-rings", "ring"):
        given["job"][0]["motif"]["algorithm"] = algorithm
        assert one_ring(Scenario.from_dict(given)) == []
    given["node"]["interfaces"] = 2
    (told,) = one_ring(Scenario.from_dict(given))
    assert "2 interfaces" in told and "channel-rings" in told
    del given["job"][0]["motif"]["algorithm"]
    assert one_ring(Scenario.from_dict(given)) == []
    given["mpi"]["collectives"] = {"library": "nccl", "allreduce": "ring"}
    assert one_ring(Scenario.from_dict(given)) == [told]
    given["mpi"]["collectives"]["library"] = "mpich"
    assert one_ring(Scenario.from_dict(given)) == []


@pytest.mark.parametrize(
    ("own", "rate"),
    [
        ({}, "137 TFLOP/s"),
        ({"flop_rate": "989 TFLOP/s", "utilisation": 0.4}, "396 TFLOP/s"),
        ({"compute": "1 ms"}, None),
    ],
)
def test_the_rate_of_computing_is_told(own: dict[str, Any], rate: str | None) -> None:
    """The default's as well."""
    given = data("allreduce", "1 MiB")
    given["job"][0]["motif"] = {"kind": "training", "model": "llama-3-8b", "tensor": 4, **own}
    lines = compute_rates(Scenario.from_dict(given))
    expected = f"Ranks of gpus compute at {rate} (flop_rate, utilisation)."
    assert lines == ([expected] if rate else [])
