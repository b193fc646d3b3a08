"""Equal scenarios give equal files, byte for byte, on any number of threads."""

from __future__ import annotations

import hashlib
from pathlib import Path

import odonata
from odonata import Scenario
from odonata.results import TIMING_FILE
from random_scenarios import scenarios

COUNT = 55
#: Beside one: as many as machines have, and more than most partitions have routers for, in turn.
THREADS = (8, 3)
#: The scenario whose pictures are drawn, which takes as long as many simulations. They are drawn
#: from the tables, which are compared for all.
PICTURED = 20


def digests(directory: Path) -> dict[str, str]:
    """SHA-256 of every file of a result but the one that holds what the run cost."""
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(directory.iterdir())
        if file.name != TIMING_FILE
    }


def test_results_are_the_same_on_any_number_of_threads(tmp_path: Path) -> None:
    families, routings, seen, ended_early = set(), set(), set(), 0
    for number, data in enumerate(scenarios(COUNT, tmp_path)):
        # By way of a file, as the command line has it.
        file = tmp_path / f"{number}.toml"
        file.write_text(Scenario.from_dict(data).to_toml(), encoding="utf-8")
        found = {}
        several = THREADS[number % len(THREADS)]
        for threads in (1, several):
            result = odonata.run(file, threads=threads)
            out = tmp_path / f"{number}-{threads}"
            result.save(out, plots=number == PICTURED)
            found[threads] = digests(out)
        assert len(found[1]) >= 12
        assert result.meta["delivered_bytes"] > 0, data
        assert found[several] == found[1], f"scenario {number}, {several} threads: {data}"
        ended_early += result.meta["precision_reached"] is True
        families.add(data["network"]["family"])
        routings.add(result.meta["routing"])
        seen.add(found[1]["jobs.parquet"])
    own = {"dragonfly", "dragonfly+", "reconfigurable-dragonfly", "crossbar", "fat-tree", "torus"}
    assert families == {*own, "edge-list", "graphml"}
    grouped = {"minimal", "valiant", "ugal-l", "ugal-g", "par"}
    assert routings == {
        *grouped,
        "fpar",
        "q-adaptive",
        "shortest-path",
        "up-down",
        "dimension-order",
        "tago",
    }
    assert len(seen) == COUNT, "no two scenarios measured the same"
    assert ended_early > 0
