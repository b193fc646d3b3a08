"""Fat trees with optical switches above the leaves, and what networks are made of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import odonata
from odonata import Scenario, _engine
from odonata.cli.commands import odonata as main
from odonata.errors import ScenarioError
from odonata.network.cost import Prices, Watts, parts, power
from odonata.simulate import ask_engine

EXAMPLE = Path(__file__).parents[2] / "examples" / "steered-fat-tree.toml"

#: Four pods of two leaves with two nodes and two uplinks each.
TREE: dict[str, Any] = {"family": "fat-tree", "down": [2, 2, 4], "up": [2, 2]}


def shifted(optical: dict[str, Any] | None, routing: Any = "up-down", **job: Any) -> Scenario:
    """Every node sends to the one half of the machine further on: to another pod."""
    network = {**TREE, "routing": routing} | ({"optical": optical} if optical else {})
    traffic = {"pattern": "shift", "offset": 8, "message": "4 KiB", "load": 0.4, "messages": 30}
    return Scenario.from_dict(
        {
            "network": network,
            "simulation": {"packet": "256 B"},
            "job": [{"nodes": 16, "traffic": traffic, **job}],
        }
    )


def bytes_by_class(result: odonata.Result) -> dict[str, int]:
    links = result.table("links").to_pandas()
    between = links[(links.from_router >= 0) & (links.to_router >= 0)]
    return {str(name): int(of.bytes.sum()) for name, of in between.groupby("class", observed=True)}


@pytest.mark.parametrize("per", ["packet", "message"])
@pytest.mark.parametrize("algorithm", ["up-down", "steered"])
def test_steered_traffic_leaves_the_core(algorithm: str, per: str) -> None:
    routing = {"algorithm": algorithm, "per": per}
    before = odonata.run(shifted(None, routing))
    after = odonata.run(shifted({"switch_ports": 4, "circuits": "jobs"}, routing))
    sent = 16 * 30 * 4096
    assert bytes_by_class(before) == {"level1": 2 * sent, "level2": 2 * sent}
    core = bytes_by_class(after).get("level2", 0)
    # Always the circuits: nothing there. If they are idle: what waits goes by the core.
    assert core == 0 if algorithm == "up-down" else 0 <= core < 2 * sent
    for result in (before, after):
        assert result.meta["delivered_bytes"] == sent


def test_circuits_of_neighbouring_pods_only() -> None:
    """Half of the ports for each of two pods: pods 0 and 1, 2 and 3; the shift is to pod + 2."""
    optical = {"switch_ports": 4, "links_per_switch": 2, "circuits": "jobs"}
    far = odonata.run(shifted(optical))
    assert bytes_by_class(far)["level2"] == 2 * 16 * 30 * 4096
    near = shifted(optical).with_set(["job.0.traffic.offset=4"])
    # Nodes of pods 0 and 2 reach the pod beside theirs by circuits, those of 1 and 3 another block.
    assert bytes_by_class(odonata.run(near))["level2"] == 16 * 30 * 4096


def test_the_deadlock_proof_walks_the_circuits() -> None:
    for routing in ("up-down", "steered"):
        scenario = shifted({"switch_ports": 4, "circuits": "jobs"}, routing)
        proof = ask_engine(_engine.verify, scenario)
        assert proof["proven"] and proof["safe"] and proof["virtual_channels"] == 1
        assert proof["network"].endswith("16 uplinks steered")


def test_the_form_of_trees_without_switches_has_not_changed() -> None:
    """Points of studies are known by it."""
    topology = shifted(None).normalised()["network"]["topology"]
    keys = ["family", "radix", "levels", "nodes", "down", "up", "parallel", "taper"]
    assert sorted(topology) == sorted(keys)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("network.optical.links_per_switch=3", "do not divide the 4 uplinks of a pod's leaves"),
        ("network.optical.switch_ports=1", "has no room for 1 links of each of two pods"),
        ("network.optical.circuits=file", "circuits_file"),
        ("network.optical.circuits=best", '"unsteered", "jobs", "file"'),
        ("network.down=[2, 4]", "nothing to steer"),
        ("network.routing=valiant", "circuits of this network lead one way"),
        ("network.routing=shortest-path", "Use `up-down` or `steered`"),
        ("network.routing={algorithm='steered', choice='by-load'}", "goes by queues already"),
        ("network.taper=[1, 3]", "does not divide"),
    ],
)
def test_flaws_are_named(change: str, words: str) -> None:
    changes = [change]
    if "down" in change:
        changes.append("network.up=[2]")
    with pytest.raises(ScenarioError) as raised:
        odonata.run(shifted({"switch_ports": 4, "circuits": "jobs"}).with_set(changes))
    assert words in str(raised.value)


def test_a_steered_network_is_not_exported(tmp_path: Path) -> None:
    out = tmp_path / "net.graphml"
    done = CliRunner().invoke(main, ["topology", "export", str(EXAMPLE), "--out", str(out)])
    assert done.exit_code != 0 and not out.exists()
    assert "lead one way" in str(done.exception) + done.output
    straight = ["--set", "network.optical.circuits=unsteered", "--out", str(out)]
    done = CliRunner().invoke(main, ["topology", "export", str(EXAMPLE), *straight])
    assert done.exit_code == 0 and out.exists()


def test_parts_are_counted() -> None:
    """4 pods of 2 leaves and 2 switches of level 2, 4 at the top; 16 links on each level."""
    made_of = parts(shifted({"switch_ports": 4, "circuits": "jobs"}))
    # Leaves and level 2: two ports down, two up; the top one to each pod.
    assert made_of.switches == {4: 8 + 8 + 4}
    assert made_of.cables == {"terminal": 16, "level1": 16, "level2": 16}
    assert (made_of.optical_switches, made_of.optical_ports, made_of.one_way) == (4, 4, True)
    assert (made_of.transceivers, made_of.fibres, made_of.half_cables) == (96, 96, 32)
    watts = Watts(ring=0.003, switch_port=2.0, transceiver=1.0)
    static = made_of.static_watts(watts)
    # 4 switches of 4 paths over two rings.
    assert static == pytest.approx(
        {"switches": 160, "transceivers": 96, "optical_switches": 4 * 4 * 2 * 0.003}
    )
    plain = parts(shifted(None), copper=["terminal"])
    assert (plain.switches, plain.transceivers) == (made_of.switches, 64)
    assert plain.optical_switches == 0
    assert "optical_switches" not in plain.static_watts(watts)


def test_the_papers_switch_takes_96_milliwatts() -> None:
    """Section 7.1: 16 × 16, 3 mW a ring; section 7.2.4: three orders of magnitude less."""
    network = {"family": "fat-tree", "down": [1, 1, 16], "up": [1, 1]}
    network["optical"] = {"switch_ports": 16}
    made_of = parts(Scenario.from_dict({"network": network}))
    assert made_of.optical_switches == 1
    assert made_of.static_watts(Watts())["optical_switches"] == pytest.approx(0.096)
    assert 36 * Watts().switch_port == pytest.approx(1_000 * 0.096)


def test_power_per_throughput_of_a_run() -> None:
    scenario = shifted(None)
    result = odonata.run(scenario)
    made_of = parts(scenario)
    found = power(result, made_of, Watts(joules_per_byte=1e-9))
    # Leaf, level 2, top, level 2, leaf.
    assert found["switches_per_byte"] == pytest.approx(5)
    assert found["dynamic_joules_per_byte"] == pytest.approx(5e-9)
    static = sum(made_of.static_watts(Watts()).values())
    seconds = result.summary_dict["run"]["measured_ps"] / 1e12
    sent = 16 * 30 * 4096
    assert found["static_joules_per_byte"] == pytest.approx(static * seconds / sent)
    steered = power(odonata.run(shifted({"switch_ports": 4, "circuits": "jobs"})), made_of, Watts())
    assert steered["switches_per_byte"] == pytest.approx(3)
    assert steered["dynamic_joules_per_byte"] is None


def test_the_command_prints_parts_and_power(tmp_path: Path) -> None:
    result = odonata.run(Scenario.from_file(EXAMPLE))
    result.save(tmp_path / "run")
    words = ["topology", "describe", str(EXAMPLE), "--cost", "--run", str(tmp_path / "run")]
    done = CliRunner().invoke(main, [*words, "--json", "--watts", "transceiver=2"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.output)
    assert found["electronic_switches"] == 32 + 32 + 8
    assert found["optical_switches"] == 16
    assert found["static_watts_by_part"]["transceivers"] == 2 * found["transceivers"]
    assert 3 < found["run"]["switches_per_byte"] < 5
    shown = CliRunner().invoke(main, words)
    assert "optical switches" in shown.output and shown.exit_code == 0
    wrong = CliRunner().invoke(main, [*words, "--watts", "laser=2"])
    assert "PART one of ring, switch_port" in wrong.output
    alone = CliRunner().invoke(main, ["topology", "describe", str(EXAMPLE), "--copper", "level1"])
    assert "go with --cost" in alone.output


def test_prices_of_parts_add_up() -> None:
    """32 leaves, 32 aggregation switches, 8 cores, 16 optical switches; by hand."""
    made_of = parts(Scenario.from_file(EXAMPLE), copper=["terminal"])
    ports = sum(ports * count for ports, count in made_of.switches.items())
    optical = made_of.cables["level1"] + made_of.cables["level2"]
    prices = Prices(500, 100, optical_cable=300, copper_cable=0, optical_switch=7)
    assert made_of.price(prices) == {
        "switch": 72 * 500,
        "switch_port": 100 * ports,
        "optical_cable": 300 * optical,
        "copper_cable": 0,
        "optical_switch": 16 * 7,
    }
    # A price of switches is not needed, any other that the network has parts of is.
    with pytest.raises(ScenarioError) as lacking:
        made_of.price(Prices(switch_port=100))
    found = str(lacking.value)
    assert f"optical_cable: found no price; the network has {optical:,} of them" in found
    assert "copper_cable" in found and "optical_switch: found no price" in found
    with pytest.raises(ScenarioError, match="at least 0"):
        Prices(switch=float("inf"))
    words = ["topology", "describe", str(EXAMPLE), "--cost", "--copper", "terminal", "--json"]
    for part in ("switch_port=100", "optical_cable=300", "copper_cable=0", "optical_switch=7"):
        words += ["--price", part]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    content = json.loads(done.output)
    assert content["price"] == 100 * ports + 300 * optical + 16 * 7
    assert content["price_per_node"] == content["price"] / content["nodes"]


def test_a_reconfigurable_dragonfly_has_switches_of_unknown_power() -> None:
    network = {"family": "reconfigurable-dragonfly", "p": 2, "a": 4, "h": 2, "g": 6}
    made_of = parts(Scenario.from_dict({"network": {**network, "circuits": "jobs"}}))
    assert (made_of.optical_switches, made_of.optical_ports) == (8, 6)
    # 48 ends of global links, in circuits of two.
    assert made_of.cables["global"] == 24 and made_of.half_cables == 48
    assert "optical_switches" not in made_of.static_watts(Watts())


def test_what_is_no_power_is_refused() -> None:
    with pytest.raises(ScenarioError, match="at least 0"):
        Watts(ring=-1)
    with pytest.raises(ScenarioError, match="terminal, level1, level2"):
        parts(shifted(None), copper=["level9"])
