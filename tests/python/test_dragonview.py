"""Tables for DragonView: the columns that it reads, and bytes that are neither lost nor doubled."""

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import odonata
from command import call
from odonata import Result, Scenario
from odonata.errors import NotRecordedError
from odonata.results.dragonview import write_tables

#: Three groups of two rows and three columns, with three cables between routers of a column.
GROUPS = {"group": "cray-xc", "rows": 2, "columns": 3, "column_links": 3}
XC = {"family": "dragonfly", "p": 2, "a": 6, "h": 2, "g": 3, "routing": "minimal", **GROUPS}
MESSAGE = 1_000
JOBS = [
    {"name": name, "nodes": 18, "motif": {"kind": "all-to-all", "message": f"{MESSAGE} B"}}
    for name in ("left", "right")
]


def run(network: dict[str, Any], jobs: list[dict[str, Any]]) -> Result:
    return odonata.run(Scenario.from_dict({"network": network, "job": jobs}))


def rows(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    folder = tmp_path_factory.mktemp("dragonview")
    result = run(XC, JOBS)
    result.save(folder / "both")
    done = call("export", "both", "--out", "tables", directory=folder)
    assert done.returncode == 0, done.stderr
    return result, folder / "tables"


def test_the_files_have_the_columns_that_dragonview_reads(written: tuple[Result, Path]) -> None:
    """DragonView takes six numbers of a row of counters, a colour, and the rest by their heads."""
    _, tables = written
    heads = {file.name: file.read_text().split("\n")[0] for file in tables.glob("*.csv")}
    assert heads == {
        "runs.csv": "name,counters,jobs",
        "both.links.csv": "sg,sr,sc,dg,dr,dc,color,bytes,packets,busy_ps,stall_ps,utilisation",
        "both.jobs.csv": "g,r,c,n,core,jobid",
    }
    (listed,) = rows(tables / "runs.csv")
    assert listed == {"name": "both", "counters": "both.links.csv", "jobs": "both.jobs.csv"}


def test_links_have_the_colour_of_where_they_lead(written: tuple[Result, Path]) -> None:
    """Both directions: 2 in each of 6 rows of 3 routers, three times 3 columns in each of 3 groups,
    and 12 blue ports in each group."""
    result, tables = written
    links = rows(tables / "both.links.csv")
    assert Counter(link["color"] for link in links) == {
        "g": 6 * 3 * 2,
        "k": 3 * 3 * 3 * 2,
        "b": 3 * 12,
    }
    for link in links:
        same = [link[f"s{what}"] == link[f"d{what}"] for what in "grc"]
        if link["color"] == "b":
            assert not same[0]
        else:
            assert same == [True, link["color"] == "g", link["color"] == "k"]
    frame = result.links.to_pandas()
    by_class = frame.groupby("class", observed=True)["bytes"].sum()
    for color, name in (("g", "green"), ("k", "black"), ("b", "global")):
        found = sum(int(link["bytes"]) for link in links if link["color"] == color)
        assert found == by_class[name] > 0


def test_what_leaves_a_router_is_what_reaches_it(written: tuple[Result, Path]) -> None:
    """In an all-to-all every node receives as much as it sends, and so does every router."""
    _, tables = written
    balance: Counter[tuple[str, ...]] = Counter()
    for link in rows(tables / "both.links.csv"):
        balance[link["sg"], link["sr"], link["sc"]] += int(link["bytes"])
        balance[link["dg"], link["dr"], link["dc"]] -= int(link["bytes"])
    assert len(balance) == 18
    assert set(balance.values()) == {0}


def test_blue_bytes_are_those_of_messages_between_groups(written: tuple[Result, Path]) -> None:
    """Minimal paths take one blue link. A job has 18 nodes, and those in other groups of every one
    of them get a message."""
    _, tables = written
    groups = Counter((row["jobid"], row["g"]) for row in rows(tables / "both.jobs.csv"))
    pairs = sum(count * (18 - count) for count in groups.values())
    blue = [row for row in rows(tables / "both.links.csv") if row["color"] == "b"]
    assert sum(int(row["bytes"]) for row in blue) == pairs * MESSAGE


def test_every_rank_is_a_core_of_its_node(tmp_path: Path) -> None:
    motif = {"kind": "all-to-all", "message": "1 kB"}
    job = {"nodes": 3, "ranks_per_node": 2, "placement": [0, 1, 35], "motif": motif}
    result = run(XC, [job])
    write_tables({"one": result}, tmp_path / "tables")
    found = [tuple(map(int, row.values())) for row in rows(tmp_path / "tables" / "one.jobs.csv")]
    # Node 35 is the second on router 17: group 2, row 1, column 2.
    where = [(0, 0, 0, 0), (0, 0, 0, 1), (2, 1, 2, 1)]
    assert found == [(*place, core, 0) for place in where for core in (0, 1)]


def test_a_group_without_rows_is_one_row(tmp_path: Path) -> None:
    job = {"nodes": 72, "motif": {"kind": "all-to-all", "message": "100 B"}}
    result = run({"family": "dragonfly", "p": 2, "a": 4, "h": 2}, [job])
    write_tables({"plain": result}, tmp_path / "tables")
    links = rows(tmp_path / "tables" / "plain.links.csv")
    # 9 groups of 4 routers, all joined: 12 directions in each; 8 global ports of each.
    assert Counter(link["color"] for link in links) == {"g": 9 * 12, "b": 9 * 8}
    assert {(link["sr"], link["sc"]) for link in links} == {("0", str(c)) for c in range(4)}


def test_networks_without_groups_are_refused(tmp_path: Path) -> None:
    network = {"family": "fat-tree", "levels": 2, "radix": 4}
    job = {"nodes": 8, "motif": {"kind": "all-to-all", "message": "1 kB"}}
    with pytest.raises(NotRecordedError, match=r"tree: found fat tree .* within groups"):
        write_tables({"tree": run(network, [job])}, tmp_path / "tables")
    assert not (tmp_path / "tables").exists()


def test_names_tell_runs_apart(written: tuple[Result, Path]) -> None:
    _, tables = written
    found = call("export", "both", "tables/../both", directory=tables.parent)
    assert found.returncode == 2
    assert "same name" in found.stderr
