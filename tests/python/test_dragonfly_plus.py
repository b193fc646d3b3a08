"""Dragonfly+ networks, their routing, and what learns its routes, by way of scenarios."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import odonata
from command import call
from odonata import Scenario, _engine
from odonata.plots.layout import lay_out
from odonata.plots.wiring import Wiring
from odonata.simulate import ask_engine

#: The machine of Kang et al. 2019, section 2.1.
KANG = {"family": "dragonfly+", "leaves": 24, "spines": 24, "p": 16, "h": 16, "g": 9}
SMALL = {"family": "dragonfly+", "leaves": 4, "spines": 4, "p": 2, "h": 4, "g": 5}
HALO = {"nodes": 36, "motif": {"kind": "halo3d", "message": "1 kB"}}


def topology(network: dict[str, Any], directory: Path = Path()) -> dict[str, Any]:
    scenario = Scenario.from_dict({"network": network, "job": [HALO]}, directory=directory)
    found: dict[str, Any] = ask_engine(_engine.topology, scenario)
    return found


def test_description_has_the_figures_of_the_paper() -> None:
    described = topology(KANG)["description"]
    assert (described["nodes"], described["routers"], described["groups"]) == (3456, 432, 9)
    assert described["group_pair_links_min"] == described["group_pair_links_max"] == 48
    assert described["leaves_and_spines"] == {"leaves_per_group": 24, "spines_per_group": 24}
    largest = described["largest_networks_of_this_radix"]
    # Equations 1 to 3 with 16 + 24 = 40 ports: 20·20 and 10·21 nodes per group.
    assert largest["radix"] == 40
    assert largest["dragonfly_plus_nodes"] == 400 * 401
    assert largest["dragonfly_nodes"] == 210 * 211
    assert largest["ratio"] == pytest.approx(400 * 401 / (210 * 211))
    assert "leaves_and_spines" not in topology({"family": "dragonfly", "p": 2, "a": 4, "h": 2})


def test_leaves_are_drawn_outside_of_spines() -> None:
    wiring = Wiring.of_description(topology(SMALL))
    assert wiring.is_spine is not None
    layout = lay_out(wiring)
    centre = np.linalg.norm(layout.router, axis=1)
    for group in range(5):
        here = wiring.group_of_router == group
        assert centre[here & ~wiring.is_spine].min() > centre[here & wiring.is_spine].min()
    assert len(np.unique(layout.router.round(6), axis=0)) == 40
    all_to_all = topology({"family": "dragonfly", "p": 2, "a": 4, "h": 2})
    assert Wiring.of_description(all_to_all).is_spine is None


def accepted(network: dict[str, Any], routing: str, nodes: int) -> float:
    """Bytes per second that arrive after a warm-up if all of a group send to the next one."""
    traffic = {"pattern": "adversarial", "k": 1, "message": "256 B", "load": 0.4}
    scenario = Scenario.from_dict(
        {
            "network": {
                **network,
                "routing": routing,
                "links": {"global": {"bandwidth": "4 GiB/s"}},
            },
            "simulation": {"duration": "60 us", "warmup": "30 us", "packet": "256 B"},
            "job": [{"nodes": nodes, "traffic": traffic}],
        }
    )
    result = odonata.run(scenario)
    rate: float = result.jobs.to_pylist()[0]["accepted_bytes_per_s"]
    return rate


def test_detours_help_against_the_next_group() -> None:
    plus = {routing: accepted(SMALL, routing, 40) for routing in ("minimal", "fpar", "par")}
    assert plus["fpar"] > 1.3 * plus["minimal"], plus
    assert plus["par"] > 1.3 * plus["minimal"], plus
    network = {"family": "dragonfly", "p": 2, "a": 4, "h": 2}
    found = {routing: accepted(network, routing, 72) for routing in ("minimal", "q-adaptive")}
    assert found["q-adaptive"] > 1.5 * found["minimal"], found


def shared(name: str) -> Path:
    for above in Path(__file__).resolve().parents:
        if (above / "shared" / "data" / name).exists():
            return above / "shared" / "data" / name
    pytest.skip(f"needs ../shared/data/{name.split('/')[0]}")


def test_a_configuration_of_codes_becomes_a_network(tmp_path: Path) -> None:
    file = shared("codes-confs/dragonfly-plus/dfp-test.conf")
    network = {"family": "codes", "file": file.name, "routing": "fpar"}
    data = {"network": network, "simulation": {"packet": "1 KiB"}, "job": [HALO]}
    scenario = Scenario.from_dict(data, directory=file.parent)
    # Written elsewhere, it still finds its files.
    written = tmp_path / "codes.toml"
    written.write_text(scenario.to_toml(directory=tmp_path), encoding="utf-8")
    result = odonata.run(written)
    assert result.meta["nodes"] == 80
    described = ask_engine(_engine.topology, Scenario.from_file(written))["description"]
    assert described["leaves_and_spines"]["spines_per_group"] == 4
    rates = {c["name"]: c["bandwidth_bytes_per_s"] for c in described["link_classes"]}
    assert rates["global"] == 1.5 * 2**30
    assert json.loads(scenario.normalised_json())["network"]["links"] == {}


def test_theta_of_codes_is_theta_of_its_link_list(tmp_path: Path) -> None:
    """The configuration that CODES has of Theta, and the list of the machine's tiles that its lists
    were made from, are one network: the same pairs of routers, as often, in the same classes."""
    read = {}
    for family, name in (
        ("codes", "modelnet-test-dragonfly-theta.conf"),
        ("cray-xc-file", "theta.interconnect"),
    ):
        file = shared(f"theta-topology/{name}")
        (tmp_path / f"{family}.toml").write_text(f"""
            network = {{ family = "{family}", file = "{file}" }}
            [[job]]
            nodes = 64
            placement = "spread"
            motif = {{ kind = "all-to-all", message = "1 KiB" }}
            """)
        done = call(
            *("topology", "export", f"{family}.toml", "--format", "edge-list"),
            *("--out", f"{family}.edges"),
            directory=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        lines = (tmp_path / f"{family}.edges").read_text().splitlines()
        found: Counter[tuple[int, int, str]] = Counter()
        for line in lines:
            if line.startswith("link "):
                _, one, other, kind = line.split()[:4]
                ends = sorted(int(end.split(":")[0]) for end in (one, other))
                found[ends[0], ends[1], "global" if kind == "blue" else kind] += 1
        read[family] = found
        done = call("run", f"{family}.toml", "--no-plots", "--out", family, directory=tmp_path)
        assert done.returncode == 0, done.stderr
    of_codes, of_cray = read.values()
    # 864 routers: 15 others in a row; 5 in a column, three links to each; 48 between two groups.
    assert of_codes.total() == 864 * 15 // 2 + 3 * 864 * 5 // 2 + 48 * 36
    assert of_codes == of_cray
