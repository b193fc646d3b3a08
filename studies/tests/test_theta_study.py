"""The study of theta-amg.md: its page says what its table of runs says, its bounds hold."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

STUDIES = Path(__file__).resolve().parents[1]


@pytest.fixture
def runs() -> pd.DataFrame:
    return pd.read_csv(STUDIES / "data" / "theta_amg.csv")


def test_the_page_shows_the_table_of_runs(runs: pd.DataFrame) -> None:
    from theta.page import all_tables

    page = (STUDIES / "pages" / "theta-amg.md").read_text(encoding="utf-8")
    for name, table in all_tables(runs).items():
        assert table in page, f"{name} is out of date; run: make figures"


def test_no_run_is_faster_than_its_bounds(runs: pd.DataFrame) -> None:
    from theta.bounds import DIRECT_BETWEEN_GROUPS, DIRECT_IN_GROUP, EVERY

    for name, routings in {
        "terminal": EVERY,
        "router": EVERY,
        "chassis": EVERY,
        "group": EVERY,
        "green": DIRECT_IN_GROUP,
        "group_pair": DIRECT_BETWEEN_GROUPS,
    }.items():
        held = runs[runs.routing.isin(routings)]
        assert (held.run_time_us >= held[f"bound_{name}_us"]).all(), name


def test_bounds_of_a_wiring_small_enough_for_a_hand() -> None:
    from theta.bounds import Place, Traffic, all_bounds

    # Routers 0 and 1 of group 0 and router 96 of group 1, a node on each; every link 100 B/s.
    ends = [(0, 1, "green"), (1, 0, "green"), (0, 96, "blue"), (96, 0, "blue")]
    links = pd.DataFrame(ends, columns=["from_router", "to_router", "class"])
    links["kind"] = np.where(links["class"] == "blue", "global", "local")
    terminal = pd.DataFrame({"from_router": [-1], "to_router": [0], "class": ["terminal"]})
    links = pd.concat([links, terminal.assign(kind="terminal")], ignore_index=True)
    links["from_group"] = links.from_router // 96
    links["to_group"] = links.to_router // 96
    links["bandwidth_bytes_per_s"] = 100
    place = Place(np.array([0, 1, 2]), np.array([0, 1, 96]), np.array([0, 0, 1]))
    # Rank 0 sends 300 B to rank 1 and 200 B to rank 2.
    traffic = Traffic(np.array([0, 0]), np.array([1, 2]), np.array([300.0, 200.0]))
    found = {bound.name: bound.seconds for bound in all_bounds(traffic, place, links)}
    assert found == {
        "terminal": 5.0,  # 500 B leave node 0
        "router": 3.0,  # into router 1 over its only link; out of router 0 500 B over two
        "chassis": 2.0,  # 200 B leave routers 0 to 15
        "group": 2.0,
        "group_pair": 2.0,
        "green": 3.0,
    }
