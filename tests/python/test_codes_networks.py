"""Networks that CODES wires from numbers, by way of scenarios and the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import odonata
from command import call
from odonata import Scenario, ScenarioError, _engine
from odonata.simulate import ask_engine

#: A torus of 32 nodes, as CODES ships it for replaying traces.
TORUS = """
LPGROUPS { MODELNET_GRP { repetitions="32"; nw-lp="1"; modelnet_torus="1"; } }
PARAMS {
   packet_size="512"; message_size="560";
   modelnet_order=( "torus" ); modelnet_scheduler="fcfs";
   n_dims="3"; dim_length="4,4,2"; link_bandwidth="10.0"; buffer_size="8192"; chunk_size="256";
}
"""
FAT_TREE = """
PARAMS {
   ft_type="0"; modelnet_order=( "fattree" ); num_levels="3"; switch_count="32"; switch_radix="8";
   router_delay="90"; vc_size="65536"; cn_vc_size="65536"; link_bandwidth="12.5";
   cn_bandwidth="12.5"; routing="adaptive";
}
"""
SLIM_FLY = """
PARAMS {
   modelnet_order=( "slimfly", "slimfly_router"); num_routers="5"; num_terminals="3";
   global_channels="5"; local_channels="2"; generator_set_X=("1","4");
   generator_set_X_prime=("2","3"); local_vc_size="25600"; global_vc_size="25600";
   cn_vc_size="25600"; local_bandwidth="9.0"; global_bandwidth="9.0"; cn_bandwidth="9.0";
}
"""


def scenario(folder: Path, text: str, **network: Any) -> Scenario:
    (folder / "net.conf").write_text(text)
    halo = {"nodes": 32, "motif": {"kind": "all-to-all", "message": "1 kB"}}
    network = {"family": "codes", "file": "net.conf", **network}
    return Scenario.from_dict({"network": network, "job": [halo]}, directory=folder)


def described(what: Scenario) -> dict[str, Any]:
    found: dict[str, Any] = ask_engine(_engine.topology, what)["description"]
    return found


@pytest.mark.parametrize(
    ("text", "like", "routing", "delay"),
    [
        (TORUS, {"family": "torus", "size": [4, 4, 2]}, "dimension-order", 50_000),
        # Eight pods of four leaves, two links to each of 16 top switches would be `ft_type` 1;
        # with one link there are 16 as well, four above each switch.
        (
            FAT_TREE,
            {"family": "fat-tree", "down": [4, 4, 8], "up": [4, 4]},
            "up-down",
            90_000,
        ),
        (SLIM_FLY, {"family": "slim-fly", "q": 5, "p": 3}, "shortest-path", 0),
    ],
)
def test_configurations_are_networks_of_our_families(
    tmp_path: Path, text: str, like: dict[str, Any], routing: str, delay: int
) -> None:
    what = scenario(tmp_path, text)
    ours = Scenario.from_dict({"network": like, "job": what.to_dict()["job"]})
    found, expected = described(what), described(ours)
    for figure in ("nodes", "routers", "radix_max", "diameter", "average_distance_nodes"):
        assert found[figure] == expected[figure], figure
    form = what.normalised()["network"]
    assert form["routing"]["algorithm"] == routing
    assert form["router"]["delay_ps"] == delay
    assert odonata.run(what).meta["nodes"] == found["nodes"]
    # What the scenario says goes before.
    given = scenario(tmp_path, text, routing="shortest-path", router={"delay": "7 ns"})
    form = given.normalised()["network"]
    assert form["routing"]["algorithm"] == "shortest-path"
    assert form["router"]["delay_ps"] == 7_000


def test_links_of_equal_structure_take_equal_time(tmp_path: Path) -> None:
    """A run on the torus of a configuration is one on ours with its links and buffers."""
    of_codes = odonata.run(scenario(tmp_path, TORUS))
    link = {"bandwidth": "10 GiB/s", "buffer": "8192 B"}
    network = {"family": "torus", "size": [4, 4, 2], "links": {"local": link}}
    jobs = scenario(tmp_path, TORUS).to_dict()["job"]
    ours = odonata.run(Scenario.from_dict({"network": network, "job": jobs}))
    assert of_codes.jobs.equals(ours.jobs)


def test_what_is_not_used_is_named(tmp_path: Path) -> None:
    what = scenario(tmp_path, TORUS)
    (notice,) = what.notices()
    assert "not used of this configuration: nw-lp, packet_size, message_size" in notice
    (tmp_path / "net.toml").write_text(what.to_toml(directory=tmp_path))
    for command in (("topology", "describe"), ("run", "--no-plots", "--out", "out")):
        done = call(command[0], *command[1:], "net.toml", directory=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "not used of this configuration" in " ".join(done.stderr.split())
    assert Scenario.from_dict({"network": {"family": "crossbar", "nodes": 4}}).notices() == []


def test_contradictions_name_file_line_and_key(tmp_path: Path) -> None:
    for text, words in (
        (TORUS.replace("n_dims", "n_dim"), "line 6: found the key `n_dim`"),
        (FAT_TREE.replace('"32"', '"30"'), "found 30 leaf switches"),
        (SLIM_FLY.replace('global_channels="5"', 'global_channels="4"'), "found 4; allowed: 5"),
    ):
        with pytest.raises(ScenarioError, match=r"net\.conf") as caught:
            odonata.run(scenario(tmp_path, text))
        assert words in str(caught.value)
        assert "network.file" in str(caught.value)
