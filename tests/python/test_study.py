"""Studies: side by side, resumable, and verdicts that are computed."""

import json
import math
from pathlib import Path

import pytest

from odonata import Scenario
from odonata.results import Result
from odonata.study.execution import Point, Record, Store, run_points
from odonata.study.intervals import interval


def scenario(nodes: int = 4, duration: str = "20 us") -> Scenario:
    return Scenario.from_dict(
        {
            "network": {"family": "crossbar", "nodes": nodes},
            "simulation": {"duration": duration},
            "job": [
                {
                    "nodes": nodes,
                    "traffic": {"pattern": "uniform-random", "message": "4 KiB", "load": 0.3},
                }
            ],
        }
    )


SIMULATED: list[int] = []


def nodes_of(result: Result) -> Record:
    SIMULATED.append(result.meta["nodes"])
    return {"nodes": result.meta["nodes"], "end": result.meta["end_ps"]}


def test_points_run_once_and_keep_their_order(tmp_path: Path) -> None:
    SIMULATED.clear()
    points = [Point(f"{n} nodes", scenario(n), nodes_of, cost=n) for n in (2, 5, 3)]
    answer: list[tuple[float, int]] = []
    file = tmp_path / "points.jsonl"
    store = Store(file)
    found = run_points(points, jobs=2, store=store, progress=lambda *now: answer.append(now))
    store.close()
    assert list(found) == ["2 nodes", "5 nodes", "3 nodes"]
    assert [record["nodes"] for record in found.values()] == [2, 5, 3]
    assert answer[-1] == (pytest.approx(1.0), 3)
    assert sorted(SIMULATED) == [2, 3, 5]
    # A kill in the middle of a line loses that point, and only that.
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:2]) + lines[2][:-10])
    lost = json.loads(lines[2])["record"]["nodes"]
    SIMULATED.clear()
    store = Store(file)
    assert run_points(points, store=store) == found
    assert [lost] == SIMULATED
    # A changed scenario is another point.
    other = [Point("2 nodes", scenario(2, "30 us"), nodes_of)]
    why: list[str] = []
    again = run_points(other, store=store, notice=why.append)
    store.close()
    assert again["2 nodes"]["end"] == 30_000_000
    # Why is told of a point that was in the file when it was read; which one was last, and lost,
    # depends on which of two threads was first.
    assert len(why) == (lost != 2)
    assert all("the scenario changed since" in sentence for sentence in why)


def test_an_error_ends_the_study_and_keeps_what_is_done(tmp_path: Path) -> None:
    def fails(result: Result) -> Record:
        raise RuntimeError("on request")

    store = Store(tmp_path / "points.jsonl")
    points = [Point("good", scenario(2), nodes_of, 2.0), Point("bad", scenario(3), fails)]
    with pytest.raises(RuntimeError, match="on request"):
        run_points(points, jobs=1, store=store)
    assert store.get(points[0]) is not None
    store.close()
    with pytest.raises(ValueError, match="same name"):
        run_points([points[0], points[0]])


def test_interval_is_students() -> None:
    found = interval([1.0, 2.0, 3.0])
    # Deviation 1, three values, t = 4.303.
    assert (found.mean, found.deviation) == (2.0, 1.0)
    assert found.half_width == pytest.approx(4.303 / math.sqrt(3), rel=1e-3)
    assert math.isnan(interval([5.0]).half_width)
