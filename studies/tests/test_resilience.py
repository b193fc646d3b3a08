"""The study of failures: equal cost, what holds a network together, and its page."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from odonata import Scenario, _engine, run
from odonata.errors import ScenarioError
from odonata.network.cost import parts
from odonata.simulate import ask_engine
from odonata_studies.resilience.connectivity import Wiring, wiring_of
from odonata_studies.resilience.plan import (
    FAILURES,
    LAYOUTS,
    NOTHING,
    SEEDS,
    SINGLA,
    Case,
    Layout,
    cases,
)
from odonata_studies.resilience.tables import tables, within

STUDIES = Path(__file__).resolve().parents[1]


@pytest.fixture
def found() -> pd.DataFrame:
    return pd.read_csv(STUDIES / "data" / "resilience.csv")


@pytest.fixture
def held() -> pd.DataFrame:
    return pd.read_csv(STUDIES / "data" / "resilience_connectivity.csv")


def wired(*ends: tuple[int, int]) -> Wiring:
    return Wiring(1 + max(map(max, ends)), np.array(ends))


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_networks_cost_the_same(layout: Layout) -> None:
    """The parts are counted by hand in the page: 4 switch ports and 1.5 cables for each node."""
    of = parts(Case(layout, "tables", NOTHING, "uniform", 1).scenario(), copper=["terminal"])
    nodes = of.cables["terminal"]
    assert sum(ports * count for ports, count in of.switches.items()) == 4 * nodes
    assert of.optical_cables == 1.5 * nodes


def test_both_networks_of_singla_are_made_of_the_same_switches() -> None:
    for layout in SINGLA:
        scenario = Case(layout, "by load", NOTHING, "permutation", 1).scenario()
        assert parts(scenario, copper=["terminal"]).switches == {12: 180}


def test_a_ring_survives_one_link_and_parallel_links_all_but_one() -> None:
    ring = wired((0, 1), (1, 2), (2, 3), (3, 0))
    assert {ring.connected_up_to(np.roll(range(4), by)) for by in range(4)} == {1}
    several = wired((0, 1), (1, 0), (0, 1))
    assert several.connected_up_to(np.array([2, 0, 1])) == 2
    # The bridge is the second to fail.
    bridged = wired((0, 1), (1, 2), (2, 0), (2, 3))
    assert bridged.connected_up_to(np.array([0, 3, 1, 2])) == 1
    assert wired((0, 1), (2, 3)).connected_up_to(np.array([0, 1])) == 0


@pytest.mark.parametrize(
    "network",
    [{"family": "slim-fly", "q": 3, "p": 1}, {"family": "dragonfly", "p": 1, "a": 4, "h": 1}],
    ids=lambda network: network["family"],
)
def test_the_engine_falls_apart_at_the_same_link(network: dict[str, object]) -> None:
    """`[failures]` with the links of an order, listed: nodes are cut off by the same one."""
    wiring = wiring_of(network)
    order = np.random.default_rng(3).permutation(len(wiring.ends))
    holds = wiring.connected_up_to(order)
    for failed, apart in ((holds, False), (holds + 1, True)):
        links = [{"routers": wiring.ends[link].tolist()} for link in order[:failed]]
        scenario = Scenario.from_dict({"network": network, "failures": {"links": links}})
        left = ask_engine(_engine.topology, scenario)
        assert any(left.get("node_out_of_service", [])) is apart


def test_isolated_routers_of_a_cube_in_closed_form() -> None:
    """2^n routers of n links: 2^n·f^n = ln 2."""
    cube = wiring_of({"family": "hyperx", "size": [2] * 6, "p": 1})
    assert cube.isolated_at() == pytest.approx((math.log(2) / 2**6) ** (1 / 6))


def test_networks_fall_apart_where_a_router_loses_its_last_link(held: pd.DataFrame) -> None:
    """In theory (Erdős and Rényi 1960, Burtin 1977) both shares are one in large networks."""
    large = held[held.nodes >= 2048]
    assert (large.half - large.isolated).abs().max() < 1.0
    assert (held.most <= held.half).all()


def test_published_shares_are_met_as_the_page_says(held: pd.DataFrame) -> None:
    others = held[~within(held)]
    assert {*zip(others.family, others.nodes, strict=True)} == {
        ("fat tree", 2048),
        ("3-D torus", 4096),
        ("3-D torus", 8192),
    }


def test_routing_that_needs_what_is_missing_is_refused() -> None:
    """Why the page's adaptive routing of HyperX is not `dal`, and the dragonfly's not minimal."""
    by_name = {layout.name: layout for layout in LAYOUTS}
    for name, routing in (("HyperX 3-D", "dal"), ("dragonfly", "minimal")):
        layout = replace(by_name[name], routing={"adaptive": routing})
        with pytest.raises(ScenarioError, match=r"lattice|no global link joins"):
            run(Case(layout, "adaptive", FAILURES[1], "uniform", 1, duration_us=2).scenario())


def test_every_point_was_simulated(found: pd.DataFrame) -> None:
    columns = ["network", "routing", "failed", "percent", "traffic", "seed"]
    planned = {
        (c.layout.name, c.routing, c.failure.part, c.failure.percent, c.traffic, c.seed)
        for c in cases()
    }
    assert set(found[columns].itertuples(index=False, name=None)) == planned
    assert len(found) == len(planned)
    assert len(SEEDS) >= 5


def test_failures_leave_as_many_nodes_as_routers_had(found: pd.DataFrame) -> None:
    """Failed links cut nobody off here; of direct networks 5 % of the routers have 5 % of nodes."""
    whole = found[found.percent == 0].groupby("network").nodes.first()
    for (network, part), nodes in found.groupby(["network", "failed"]).nodes:
        if part == "routers" and network in ("HyperX 3-D", "torus 3-D", "Slim Fly", "Jellyfish"):
            assert nodes.max() / whole[network] == pytest.approx(0.95, abs=0.01)
        elif part != "routers":
            assert (nodes == whole[network]).all()


def test_page_shows_the_tables(found: pd.DataFrame, held: pd.DataFrame) -> None:
    page = (STUDIES / "pages" / "resilience.md").read_text(encoding="utf-8")
    for name, table in tables(found, held).items():
        assert table in page, f"{name} is out of date; run: studies/scripts/resilience.py --as-is"
