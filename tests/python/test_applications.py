"""Applications and phases in scenarios: every skeleton runs, and defaults are the engine's."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

import odonata
from odonata.application import SKELETONS
from odonata.errors import ScenarioError
from odonata.scenario import Scenario

#: Parameters that make a skeleton small.
SMALL: dict[str, dict[str, Any]] = {
    "halo3d-26": {"cells": [6, 6, 6], "reduce": True},
    "sweep3d": {"cells": [6, 6, 6], "kba": 2},
    "fft": {"points": [16, 12, 10]},
    "lulesh": {"size": 4},
    "amg": {"points": [8, 8, 8]},
    "milc": {"sites": [4, 4, 4, 4]},
    "nekbone": {"elements": [2, 2, 2], "order": 4},
    "mini-amr": {"stages": 3, "variables": 2, "cells": [4, 4, 4]},
    "hacc": {"cells": [8, 8, 8]},
    "gtc": {"plane_points": 200, "toroidal": 4},
    "training": {
        "layers": 4,
        "hidden": 64,
        "sequence": 16,
        "vocabulary": 100,
        "micro_batches": 3,
        "tensor": 2,
        "pipeline": 2,
    },
}


#: Eight ranks are no multiple of three.
BAD_GTC = {"kind": "gtc", "toroidal": 3}


def scenario(motif: dict[str, Any], nodes: int = 8, **keys: Any) -> Scenario:
    data = {
        "network": {"family": "dragonfly", "p": 2, "a": 2, "h": 1},
        "job": [{"nodes": nodes, "motif": motif}],
    }
    return Scenario.from_dict(data, **keys)


def test_every_skeleton_is_small_somewhere() -> None:
    kinds = [skeleton.keys["kind"].default for skeleton in SKELETONS]
    assert sorted(kinds) == sorted(SMALL)


@pytest.mark.parametrize("kind", SMALL)
def test_a_skeleton_runs_and_ends_its_iterations(kind: str) -> None:
    motif = {"kind": kind, "iterations": 2, "compute": "10 us", **SMALL[kind]}
    result = odonata.run(scenario(motif))
    row = result.table("jobs").to_pylist()[0]
    assert row["messages_delivered"] == row["messages_created"] > 0
    # Each of two iterations computes for 10 us, somewhere; the end cannot be sooner.
    assert row["end_ps"] >= 20_000_000
    assert result.table("iterations").num_rows == 2


def test_phases_are_the_sum_of_their_parts() -> None:
    halo = {"kind": "halo3d", "message": "1 kB", "iterations": 2}
    sweep = {"kind": "sweep3d", **SMALL["sweep3d"]}
    training = {"kind": "training", **SMALL["training"]}

    def sent(motif: dict[str, Any]) -> tuple[int, int]:
        row = odonata.run(scenario(motif)).table("jobs").to_pylist()[0]
        return row["messages_created"], row["bytes_created"]

    phases = [
        halo,
        {"compute": "3 us"},
        {"repeat": 2, "phases": [sweep, {"repeat": 3, "phases": [halo]}, training]},
    ]
    parts = [(7, sent(halo)), (2, sent(sweep)), (2, sent(training))]
    expected = tuple(sum(times * part[i] for times, part in parts) for i in (0, 1))
    assert sent({"kind": "phases", "phases": phases}) == expected


def test_phases_can_lie_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "apps").mkdir()
    (tmp_path / "apps" / "matrix.csv").write_text("0,10\n20,0\n")
    file = tmp_path / "apps" / "app.toml"
    file.write_text(
        '[[phases]]\nkind = "matrix"\nfile = "matrix.csv"\n\n'
        '[[phases]]\nrepeat = 2\n\n[[phases.phases]]\nkind = "halo2d"\nmessage = "1 kB"\n'
    )
    motif = {"kind": "phases", "file": "apps/app.toml", "iterations": 3}
    result = odonata.run(scenario(motif, nodes=2, directory=tmp_path))
    row = result.table("jobs").to_pylist()[0]
    # Two ranks of a wrapped line: two messages each.
    assert row["bytes_created"] == 3 * (30 + 2 * 4 * 1_000)
    assert result.table("iterations").num_rows == 3

    file.write_text('phases = [ { kind = "halo2d", message = "1 kb" } ]')
    with pytest.raises(ScenarioError, match=r"app\.toml") as error:
        scenario(motif, nodes=2, directory=tmp_path).normalised()
    assert error.value.problems[0].path == "job[0].motif.file"
    assert "line 1: phases[0].message: " in error.value.problems[0].message
    file.unlink()
    with pytest.raises(ScenarioError, match="No such file"):
        scenario(motif, nodes=2, directory=tmp_path).normalised()


def test_phases_survive_being_written() -> None:
    motif = {
        "kind": "phases",
        "phases": [
            {"compute": "3 us"},
            {"repeat": 2, "phases": [{"kind": "lulesh", "size": 4}, {"compute": "1 us"}]},
        ],
    }
    first = scenario(motif)
    again = Scenario.from_toml(first.to_toml())
    assert again.normalised() == first.normalised()


def test_paths_in_phases_move_with_the_scenario(tmp_path: Path) -> None:
    inner = {"kind": "matrix", "file": "m.csv"}
    motif = {"kind": "phases", "phases": [{"repeat": 2, "phases": [copy.copy(inner)]}]}
    text = scenario(motif, nodes=2, directory=tmp_path).to_toml(directory=tmp_path / "below")
    assert 'file = "../m.csv"' in text


@pytest.mark.parametrize(
    ("motif", "path", "allowed"),
    [
        ({"kind": "sweep3d", "kba": 51}, "job[0].motif.kba", "1 to 50"),
        ({"kind": "training", "pipeline": 5}, "job[0].motif.pipeline", "a divisor of the 24"),
        ({"kind": "milc", "grid": [2, 2, 2, 2]}, "job[0].motif.grid", "8 ranks"),
        (
            {
                "kind": "phases",
                "phases": [{"repeat": 2, "phases": [{"kind": "gtc", "toroidal": 3}]}],
            },
            "job[0].motif.phases[0].phases[0].toroidal",
            "a divisor of 8",
        ),
        ({"kind": "phases", "phases": []}, "job[0].motif.phases", "at least 1"),
        ({"kind": "phases"}, "job[0].motif.phases", "either `phases` or `file`"),
        ({"kind": "lulesh", "flop_rate": "1 GB/s"}, "job[0].motif.flop_rate", "GFLOP/s"),
    ],
)
def test_wrong_parameters_are_named(motif: dict[str, Any], path: str, allowed: str) -> None:
    with pytest.raises(ScenarioError) as error:
        odonata.run(scenario(motif))
    [found] = error.value.problems
    assert found.path == path
    assert allowed in found.message
