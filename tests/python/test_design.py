"""Networks of every family for a number of nodes: laid out, priced, compared."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import networkx as nx
import pytest
from click.testing import CliRunner

import odonata
from odonata.cli.commands import odonata as command
from odonata.network.cost import Prices
from odonata.network.layouts import IN_PORTS, KINDS, ONE_SWITCH, Layout, fit, scenario_of
from odonata.study.design import TRAFFIC, lay_out, load


def graph_of(kind: str, layout: Layout) -> nx.MultiGraph:
    """The routers and the links between them, as wired."""
    scenario = scenario_of(KINDS[kind], layout, KINDS[kind].flows[0])
    graph = odonata.topology(scenario).to_networkx()
    graph.remove_nodes_from([node for node in list(graph) if node[0] == "node"])
    return graph


#: Cables in groups and pods are of copper.
OF_COPPER = Prices(switch_port=1, optical_cable=8, copper_cable=0.5, local_cable=2)


@pytest.mark.parametrize("prices", [IN_PORTS, OF_COPPER])
@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize(("nodes", "radix"), [(16, 16), (64, 16), (300, 24), (1000, 36)])
def test_parts_of_a_layout_are_those_of_the_network(
    name: str, nodes: int, radix: int, prices: Prices
) -> None:
    found = fit(KINDS[name], nodes, radix, prices, most=None, full=True)
    too_many = {ONE_SWITCH: 16, "full mesh": 64}
    if isinstance(found, str):
        # Tori have three routers or more along each dimension.
        assert nodes > too_many.get(name, nodes) or (name, nodes) == ("torus 3-D", 16), found
        return
    assert nodes <= too_many.get(name, nodes)
    layout, made_of = found.layout, found.parts
    assert made_of.nodes == layout.nodes >= nodes
    assert sum(made_of.switches.values()) == layout.switches
    assert max(made_of.switches) == layout.radix <= radix
    local = layout.local if prices is OF_COPPER else 0
    assert made_of.optical_cables == layout.cables - local
    assert found.price == pytest.approx(layout.price(prices), rel=1e-12)


@pytest.mark.parametrize("name", ["full mesh", "HyperX 2-D", "HyperX 3-D", "torus 3-D", "Slim Fly"])
def test_the_bound_is_what_shortest_paths_leave(name: str) -> None:
    """All pairs of nodes share shortest paths evenly; the fullest direction of a link decides.

    Sides of even length, so that a torus has as many ways round a ring as the formula has it.
    """
    layout = next(
        one
        for one in KINDS[name].layouts(64, 16)
        if name != "torus 3-D" or one.network["size"] == [4, 4, 4]
    )
    graph = nx.Graph(graph_of(name, layout))
    p = layout.network["p"]
    # Betweenness of an undirected link counts a pair once, and each pair sends both ways over it.
    loads = nx.edge_betweenness_centrality(graph, normalized=False)
    nodes = p * len(graph)
    fullest = max(loads.values()) * p * p / nodes
    mean = sum(loads.values()) / len(loads) * p * p / nodes
    expected = 1 / (mean if name == "Slim Fly" else fullest)
    assert layout.bound == pytest.approx(expected, rel=1e-9)


def test_full_trees_carry_a_shift_and_tapered_ones_half_of_it() -> None:
    found = odonata.design(64, radix=16, traffic=["worst-shift"], jobs=1)
    full, tapered, *others = found.networks
    assert (full.name, tapered.name) == ("fat tree", "fat tree 1:2")
    # Each pair of nodes has a path of its own by D-mod-K; half as many uplinks carry half.
    assert full.share("worst-shift", "flow") > 0.95
    assert tapered.share("worst-shift", "flow") == pytest.approx(0.5, abs=0.03)
    # On a dragonfly all of a group's nodes want the links to one other group, or take detours.
    dragonfly = next(one for one in others if one.name == "dragonfly")
    assert dragonfly.share("worst-shift", "flow") < 0.5
    assert found.per_money(full, "worst-shift", "flow") == 1
    money = found.per_money(tapered, "worst-shift", "flow") * tapered.relative_price
    shares = [one.share("worst-shift", "flow") for one in (tapered, full)]
    assert money == pytest.approx(shares[0] / shares[1])


def test_uniform_traffic_is_random_permutations_and_steps_of_an_all_to_all_are_shifts() -> None:
    chosen = lay_out(64, traffic=["uniform", "all-to-all"], radix=16)
    for point in chosen.points(packets=False)[:4:2]:
        scenario = point.scenario.with_set({"record.messages": "all"})
        messages = odonata.run(scenario).messages
        pairs = Counter(
            zip(
                messages["source_node"].to_pylist(),
                messages["destination_node"].to_pylist(),
                strict=True,
            )
        )
        # Eight permutations, all of them different: every node sends and receives as much.
        assert Counter(a for a, _ in pairs.elements()) == dict.fromkeys(range(64), 8)
        assert Counter(b for _, b in pairs.elements()) == dict.fromkeys(range(64), 8)
        assert set(pairs.values()) == {1}
        offsets = {(b - a) % 64 for a, b in pairs}
        in_order = json.loads(point.name)[1] == "all-to-all"
        assert (len(offsets) == 8) is in_order


def test_equal_cost_buys_the_most_bandwidth_for_the_price_of_the_full_tree() -> None:
    nodes, radix = 1024, 32
    cheap, dear = lay_out(nodes, radix=radix), lay_out(nodes, radix=radix, equal="cost")
    assert dear.design.budget == cheap.design.networks[0].price
    least = {one.name: one for one in cheap.design.networks}
    for one in dear.design.networks:
        assert one.price <= dear.design.budget * (1 + 1e-9)
        if least[one.name].price <= dear.design.budget:
            assert one.bound >= least[one.name].bound
    # None of a family's layouts within the budget has more.
    (hyperx,) = (one for one in dear.design.networks if one.name == "HyperX 2-D")
    within = [
        layout.bound
        for layout in KINDS["HyperX 2-D"].layouts(nodes, radix)
        if layout.price(IN_PORTS) <= dear.design.budget
    ]
    assert hyperx.bound == max(within) > least["HyperX 2-D"].bound


def test_what_does_not_fit_is_left_out_with_the_reason() -> None:
    chosen = lay_out(4096, radix=8)
    assert "does not fit 8 ports and 4,096 nodes" in chosen.design.left_out["fat tree"]
    assert "Slim Fly" in chosen.design.left_out
    assert [one.name for one in chosen.design.networks]
    tight = lay_out(256, radix=32, budget=800.0)
    assert tight.design.equal == "cost"
    assert "costs" in tight.design.left_out["dragonfly"]
    assert all(one.price <= 800 for one in tight.design.networks)


def test_a_budget_that_buys_nothing_is_refused_line_by_line() -> None:
    with pytest.raises(odonata.ScenarioError) as caught:
        lay_out(65536, radix=32, budget=1000.0)
    first, *families = caught.value.problems[0].message.splitlines()
    assert first == "found no family for 65,536 nodes; allowed: a larger radix or budget"
    assert len(families) == len(KINDS)
    assert all("e+" not in line for line in families)
    assert any("the budget is 1,000" in line for line in families)


def test_gpus_are_interfaces_of_the_network(tmp_path: Path) -> None:
    """What leaves a node does so over as many links as 64 nodes of one have, one rank on each."""
    options = {"radix": 16, "traffic": ["worst-shift"], "jobs": 2}
    with_gpus = odonata.design(16, gpus=4, out=tmp_path / "gpus", **options)
    plain = odonata.design(64, **options)
    assert with_gpus.who == "16 nodes of 4 GPUs (64 interfaces)"
    for one in with_gpus.networks:
        assert one.nodes % 4 == 0
        (same,) = (other for other in plain.networks if other.name == one.name)
        if one.network == same.network and one.name.startswith("fat tree"):
            # The way inside nodes adds latency, and takes nothing of their links.
            mine, its = (which.share("worst-shift", "flow") for which in (one, same))
            assert mine == pytest.approx(its, rel=0.05) and mine <= its
    assert load(tmp_path / "gpus").content["gpus"] == 4
    (file, *_) = (tmp_path / "gpus").glob("fat-tree*.toml")
    node = odonata.Scenario.from_file(file).node
    assert node is not None and (node.ranks, node.interfaces) == (4, 4)
    with pytest.raises(odonata.ScenarioError, match="gpus: found 65; allowed: 1 to 64"):
        lay_out(64, gpus=65)


def test_rails_are_networks_of_their_own_for_as_many_times_the_price() -> None:
    options = {"radix": 16, "traffic": ["worst-shift"], "jobs": 2}
    one, two = odonata.design(64, **options), odonata.design(64, rails=2, **options)
    assert two.who == "64 nodes on 2 rails (128 interfaces)"
    for alone, both in zip(one.networks, two.networks, strict=True):
        assert both.network == alone.network
        assert (both.nodes, both.switches) == (2 * alone.nodes, 2 * alone.switches)
        assert both.price == pytest.approx(2 * alone.price)
        assert both.relative_price == alone.relative_price
        if both.name.startswith("fat tree"):
            # Messages stay on a rail; only the way inside nodes is longer. Detours are random.
            mine, its = (which.share("worst-shift", "flow") for which in (both, alone))
            assert mine == pytest.approx(its, rel=0.05)
    # 4 GPUs have two interfaces on each of two rails, of half the ends.
    chosen = lay_out(64, radix=16, gpus=4, rails=2)
    assert chosen.design.who == "64 nodes of 4 GPUs on 2 rails (256 interfaces)"
    assert chosen.fitted["fat tree"].layout.nodes == chosen.design.networks[0].nodes // 2 == 128
    node = chosen.points(packets=False)[0].scenario.node
    assert node is not None and (node.ranks, node.interfaces, node.planes) == (4, 4, 2)


def test_links_have_the_bandwidth_that_is_asked_for(tmp_path: Path) -> None:
    options = {"radix": 16, "traffic": ["stencil"], "jobs": 2}
    slow = odonata.design(16, bandwidth="12.5 GB/s", **options)
    fast = odonata.design(16, bandwidth="400 Gbit/s", out=tmp_path / "fast", **options)
    assert fast.bandwidth == load(tmp_path / "fast").bandwidth == "50 GB/s"
    for one, other in zip(slow.networks, fast.networks, strict=True):
        # A quarter of the time, but for the links' latencies: less than 2 µs of 40.
        (took,), (less,) = ([m.run_time_ps for m in which.measured] for which in (one, other))
        assert less == pytest.approx(took / 4, abs=2e6)
    with pytest.raises(odonata.ScenarioError, match='bandwidth: found "50"'):
        lay_out(16, bandwidth="50")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rails": 9}, "rails: found 9; allowed: 1 to 8"),
        ({"rails": 3, "gpus": 4}, "rails: found 3; allowed: 1 to 8, of which 4 GPUs are"),
        ({"traffic": ["ring"]}, 'traffic: found "ring"; allowed: uniform'),
        ({"traffic": ["uniform", "uniform"]}, "traffic: found .* twice"),
        ({"traffic": []}, "traffic: found none"),
        ({"radix": 4}, "radix: found 4; allowed: 8 to"),
        ({"equal": "power"}, 'equal: found "power"'),
        ({"budget": 5.0, "equal": "nodes"}, "budget: found 5"),
        ({"equal": "cost", "budget": -1.0}, "budget: found -1"),
        ({"price": {"switch_port": 300}}, "found no price"),
    ],
)
def test_wrong_arguments_are_named(options: dict[str, object], message: str) -> None:
    with pytest.raises(odonata.ScenarioError, match=message):
        lay_out(64, **{"radix": 16, **options})  # type: ignore[arg-type]


def test_prices_are_those_that_are_given() -> None:
    prices = Prices(switch_port=300, optical_cable=400, copper_cable=50)
    chosen = lay_out(64, radix=16, price=prices)
    for one in chosen.design.networks:
        expected = 300 * one.ports + 400 * one.optical_cables + 50 * one.nodes
        assert one.price == pytest.approx(expected)
    assert chosen.design.networks[0].relative_price == 1


def test_one_switch_of_each_rail_is_enough_where_it_has_ports_for_all() -> None:
    assert lay_out(65, radix=64).design.networks[0].name == "fat tree"
    for options in ({}, {"gpus": 8, "rails": 8}, {"gpus": 8, "rails": 8, "equal": "cost"}):
        found = lay_out(64, radix=64, **options).design  # type: ignore[arg-type]
        one, tree = found.networks[:2]
        rails = found.rails
        assert (one.name, one.switches, one.optical_cables) == (ONE_SWITCH, rails, 0)
        assert (one.price, one.relative_price) == (64 * rails, 1)
        # Ports of two levels are three for a node, and a cable joins two of them.
        assert (tree.name, tree.relative_price) == ("fat tree", 4)
        assert found.reference is one and found.dear_as_one == ONE_SWITCH
    done = odonata.design(16, radix=16, traffic=["worst-shift"], jobs=1)
    assert done.networks[0].share("worst-shift", "flow") > 0.95
    assert done.per_money(done.networks[0], "worst-shift", "flow") == 1


def test_cables_within_groups_are_of_copper_at_a_price_of_their_own() -> None:
    usual = {"switch": 5000, "switch_port": 400, "optical_cable": 1200, "copper_cable": 150}
    dear, cheap = (
        {one.name: one for one in lay_out(1024, radix=64, price=price).design.networks}
        for price in (usual, {**usual, "local_cable": 150})
    )
    assert dear["dragonfly"].relative_price == pytest.approx(1.45, abs=0.01)
    assert cheap["dragonfly"].relative_price == pytest.approx(1.07, abs=0.01)
    assert cheap["dragonfly"].static_watts < dear["dragonfly"].static_watts
    # A tree of two levels has no pods, and HyperX no groups.
    for name in ("fat tree", "HyperX 2-D"):
        assert cheap[name] == dear[name]


def test_a_random_graph_is_no_full_mesh() -> None:
    networks = {one.name: one.network for one in lay_out(1024, radix=64).design.networks}
    assert networks["full mesh"] == {"family": "hyperx", "size": [32], "p": 32}
    random = networks["Jellyfish"]
    assert random["degree"] < random["routers"] - 1


def test_the_command_writes_what_show_and_report_read(tmp_path: Path) -> None:
    out = tmp_path / "d"
    call = ["design", "--nodes", "32", "--radix", "16", "--traffic", "stencil", "--packets"]
    run = CliRunner()
    first = run.invoke(command, [*call, "--out", str(out), "--json"])
    assert first.exit_code == 0, first.output
    answer = json.loads(first.stdout)
    assert {m["engine"] for one in answer["networks"] for m in one["measured"]} == {
        "flow",
        "packet",
    }
    lines = (out / "points.jsonl").read_text().splitlines()
    # By flows all routings of each network, and one by packets.
    simulated = [len(KINDS[one["name"]].flows) + 1 for one in answer["networks"]]
    assert len(lines) == sum(simulated)
    again = run.invoke(command, [*call, "--out", str(out), "--json"])
    assert json.loads(again.stdout) == answer
    assert (out / "points.jsonl").read_text().splitlines() == lines
    shown = run.invoke(command, ["show", str(out)])
    assert shown.exit_code == 0
    assert "By packets: share of the nodes' bandwidth" in shown.stdout
    assert load(out).content == json.loads(json.dumps(load(out).content)) | {
        key: load(out).content[key] for key in ("networks", "traffic")
    }
    page = (out / "report.html").read_text()
    assert "Layouts and what they cost" in page
    for one in answer["networks"]:
        file = out / f"{one['name'].lower().replace(' ', '-').replace(':', '-')}.toml"
        name = str(file).replace("dragonfly+", "dragonfly-plus")
        assert odonata.Scenario.from_file(name).job[0].nodes == 32
    table = load(out).table.to_pandas()
    assert all(0 < share <= 1 for share in table["stencil_flow_share"])
    assert math.isclose(table["stencil_packet_per_money"][0], 1)


def test_traffic_is_what_the_command_offers() -> None:
    from odonata.cli import design as offered
    from odonata.study import design as known

    assert tuple(TRAFFIC) == offered.TRAFFIC
    for name in ("NODES", "RADIX", "GPUS", "RAILS", "BANDWIDTH"):
        assert getattr(offered, name) == getattr(known, name)


@pytest.mark.parametrize("family", ["dragonfly", "dragonfly+", "torus", "hyperx"])
def test_a_first_scenario_has_exactly_so_many_nodes_or_says_why_not(family: str) -> None:
    for nodes in (72, 4000, 4001):
        text = odonata.first_scenario(family, nodes=nodes)
        scenario = odonata.Scenario.from_toml(text)
        has = odonata.topology(scenario).description["nodes"]
        said = [line for line in text.splitlines() if "has exactly" in line]
        if has == nodes:
            assert not said
        else:
            assert said == [next(line for line in said if line.startswith(f"# {has:,} nodes: "))]
            assert said[0].endswith(f"has exactly {nodes:,}")
