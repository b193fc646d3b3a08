"""Bisection widths through the real engine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command import Done, call
from odonata import _engine
from odonata.errors import ExitCode, ScenarioError
from odonata.network.bisection import bisection_sweep, bisection_width
from odonata.scenario import Scenario
from odonata.simulate import ask_engine

SMALL: dict[str, Any] = {
    "family": "dragonfly",
    "p": 2,
    "a": 4,
    "h": 2,
    "links": {"local": {"bandwidth": "1 GB/s"}},
}


def scenario(**network: Any) -> Scenario:
    return Scenario.from_dict({"network": {**SMALL, **network}})


def test_the_sweep_has_the_crossovers_of_the_theory() -> None:
    """Hastings et al. 2015 as Kaplan et al. 2017 report it, section IV.A."""
    alphas = [0.5, 1.25, 1.5, 3.0, 3.5, 4.0]
    widths = {(w.arrangement, w.alpha): w for w in bisection_sweep(scenario(), alphas)}
    assert all(width.is_exact for width in widths.values())
    for alpha in alphas:
        absolute, relative, circulant = (
            widths[name, alpha].local_links or 0 for name in ("absolute", "relative", "circulant")
        )
        if alpha <= 1.25:
            assert absolute == relative == circulant == 4 + 16 * alpha
        elif alpha < 4:
            assert absolute < relative < circulant
        else:
            assert absolute < relative == circulant == 36
    # Balanced cuts: circulant's from a lower α, absolute's never.
    assert widths["circulant", 3.0].halves_every_group
    assert not widths["relative", 3.5].halves_every_group
    assert not any(w.halves_every_group for (name, _), w in widths.items() if name == "absolute")


def test_halves_can_be_counted_again() -> None:
    what = scenario(arrangement="circulant", links={"global": {"bandwidth": "10 GB/s"}})
    width = bisection_width(what)
    assert sorted(width.first_half_nodes + width.second_half_nodes) == list(range(72))
    assert len(width.first_half_nodes) == len(width.second_half_nodes) == 36
    found = ask_engine(_engine.topology, what)
    second = {int(found["node_router"][node]) for node in width.second_half_nodes}
    classes = found["description"]["link_classes"]
    cut = sum(
        classes[kind]["bandwidth_bytes_per_s"]
        for a, b, kind in zip(found["link_a"], found["link_b"], found["link_class"], strict=True)
        if (int(a) in second) != (int(b) in second)
    )
    assert cut == width.bandwidth_bytes_per_s


def test_bounds_stand_in_where_the_search_gives_up() -> None:
    exact = bisection_width(scenario())
    bounded = bisection_width(scenario(), steps=0)
    assert exact.is_exact and not bounded.is_exact
    assert (
        0
        < bounded.lower_bound_bytes_per_s
        <= exact.bandwidth_bytes_per_s
        <= bounded.bandwidth_bytes_per_s
    )


def test_alpha_is_of_dragonflies() -> None:
    crossbar = Scenario.from_dict({"network": {"family": "crossbar", "nodes": 4}})
    with pytest.raises(ScenarioError) as error:
        list(bisection_sweep(crossbar, [1.0]))
    assert error.value.path == "network.family"


def test_the_command(tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    file.write_text('[network]\nfamily = "dragonfly"\np = 2\na = 4\nh = 2\n', encoding="utf-8")

    def bisection(*arguments: str) -> Done:
        return call("topology", "bisection", "small.toml", *arguments, directory=tmp_path)

    one = bisection()
    assert one.returncode == 0, one.stderr
    assert "exactly" in one.stdout
    sweep = bisection("--alpha", "1:2:0.5", "--arrangement", "circulant", "--json")
    assert sweep.returncode == 0, sweep.stderr
    widths = json.loads(sweep.stdout)["widths"]
    assert [width["alpha"] for width in widths] == [1.0, 1.5, 2.0]
    # 4 + 16 α up to 1.5, then the cut that circulant has at 2.
    assert [round(width["local_links"], 3) for width in widths] == [20, 28, 32]
    drawn = bisection("--alpha", "1,2", "--out", "widths.png")
    assert drawn.returncode == 0, drawn.stderr
    assert (tmp_path / "widths.png").read_bytes()[:4] == b"\x89PNG"
    for wrong in (["--alpha", "4:1:1"], ["--alpha", "x"], ["--arrangement", "absolute"]):
        assert bisection(*wrong).returncode == ExitCode.USAGE
