"""Networks from files of other programs, as scenarios."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import odonata
from command import call
from odonata import Scenario
from subnets import DATA, has, subnet

ZOO = """graph [
  label "Three places"
  node [ id 0 label "A" ]
  node [ id 4 label "B" ]
  node [ id 7 label "C" ]
  edge [ source 0 target 4 LinkSpeedRaw 10000000000.0 ]
  edge [ source 4 target 7 LinkSpeedRaw 2500000000.0 ]
  edge [ source 7 target 0 ]
]
"""
ANYNET = "router 0 node 0 node 1 router 1 10\nrouter 1 node 2 router 2\nrouter 2 node 3 router 1\n"


def described(directory: Path, network: str) -> tuple[dict[str, Any], str]:
    (directory / "s.toml").write_text(f"[network]\n{network}")
    done = call("topology", "describe", "s.toml", "--json", directory=directory)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def classes(answer: dict[str, Any], key: str) -> dict[str, int]:
    return {one["name"]: one[key] for one in answer["link_classes"]}


def test_a_network_of_the_topology_zoo(tmp_path: Path) -> None:
    """Bandwidths are an eighth of the bits per second; links without a speed are as elsewhere."""
    (tmp_path / "zoo.gml").write_text(ZOO)
    answer, _ = described(tmp_path, 'family = "gml"\nfile = "zoo.gml"\nnodes_per_router = 3\n')
    assert (answer["network"], answer["routers"], answer["nodes"]) == ("Three places", 3, 9)
    assert classes(answer, "bandwidth_bytes_per_s") == {
        "terminal": 16 << 30,
        "local-10Gbps": 1_250_000_000,
        "local-2500Mbps": 312_500_000,
        "local": 16 << 30,
    }
    # What the scenario says of a class holds.
    own = '[network.links.local-10Gbps]\nbandwidth = "2 GB/s"\nlatency = "1 ms"\n'
    answer, _ = described(tmp_path, f'family = "gml"\nfile = "zoo.gml"\n{own}')
    assert classes(answer, "bandwidth_bytes_per_s")["local-10Gbps"] == 2_000_000_000
    assert classes(answer, "latency_ps")["local-10Gbps"] == 10**9


def test_a_network_of_booksim(tmp_path: Path) -> None:
    """A latency of ten cycles is ten times that of the links of one cycle."""
    (tmp_path / "file").write_text(ANYNET)
    answer, _ = described(tmp_path, 'family = "anynet"\nfile = "file"\n')
    assert (answer["routers"], answer["nodes"]) == (3, 4)
    assert {one["name"]: one["links"] for one in answer["link_classes"]} == {
        "terminal": 4,
        "local-10": 1,
        "local": 1,
    }
    assert classes(answer, "latency_ps") == {
        "terminal": 30_000,
        "local-10": 300_000,
        "local": 30_000,
    }
    own = '[network.links.local]\nbandwidth = "1 GB/s"\nlatency = "2 ns"\n'
    answer, _ = described(tmp_path, f'family = "anynet"\nfile = "file"\n{own}')
    assert classes(answer, "latency_ps")["local-10"] == 20_000


@pytest.mark.parametrize(("family", "text"), [("gml", ZOO), ("anynet", ANYNET)])
def test_they_are_simulated(family: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(text)
    scenario = Scenario.from_dict(
        {
            "network": {"family": family, "file": "file"},
            "job": [{"nodes": 3, "motif": {"kind": "all-to-all", "message": "1 kB"}}],
        },
        directory=tmp_path,
    )
    # Every rank to both others.
    assert odonata.run(scenario).meta["delivered_bytes"] == 3 * 2 * 1000


def test_hosts_of_a_subnet_are_nodes(tmp_path: Path) -> None:
    """n0 has two adapters of 50 GB/s; there is an aggregation node and a warning."""
    (tmp_path / "subnet").write_text(subnet())
    answer, said = described(tmp_path, 'family = "ibnetdiscover"\nfile = "subnet"\n')
    assert answer["nodes"] == 8
    assert classes(answer, "bandwidth_bytes_per_s") == {
        "terminal-4xNDR": 50_000_000_000,
        "terminal-4xNDR-by-2": 100_000_000_000,
        "local": 50_000_000_000,
    }
    assert "1 warning of ibnetdiscover's libraries between the lines" in said
    assert "10 ports of adapters on switches: 9 of 8 hosts; 1 aggregation nodes" in said
    ports = 'family = "ibnetdiscover"\nfile = "subnet"\ninterfaces = "nodes"\n'
    assert described(tmp_path, ports)[0]["nodes"] == 9


@has(DATA / "ibnetdiscover-ndr")
def test_the_hosts_of_a_real_fabric(tmp_path: Path) -> None:
    """109 hosts with four adapters, 11 with three, two with two, and 69 adapters without names."""
    file = DATA / "ibnetdiscover-ndr" / "fabric.txt"
    answer, said = described(tmp_path, f'family = "ibnetdiscover"\nfile = "{file}"\n')
    assert {one["name"]: one["links"] for one in answer["link_classes"]} == {
        "terminal-4xNDR-by-4": 109,
        "terminal-4xNDR-by-3": 11,
        "terminal-4xNDR-by-2": 2,
        "terminal-4xNDR": 69,
        "local": 532,
    }
    assert "122 hosts with adapters on several switches: each is one node on the switch" in said
