"""OpenSM routes subnets that Odonata wires; Odonata reads its tables, proves them and runs them.

``ibsim`` simulates the switches and hosts of a net file, to which OpenSM and the diagnostic
programs speak as to real ones.
"""

from __future__ import annotations

import collections
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from odonata import Scenario, run

COMMAND = [str(Path(sys.executable).with_name("odonata"))]
PROGRAMS = ["opensm", "ibsim", "ibnetdiscover", "dump_fts", "ibtracert", "saquery", "unshare"]

SMALL_DRAGONFLY = {"family": "dragonfly", "p": 2, "a": 4, "h": 2}
DRAGONFLY = {"family": "dragonfly", "p": 4, "a": 8, "h": 4}


@pytest.fixture
def route(tmp_path: Path) -> Callable[..., Path]:
    """Exports a network, lets OpenSM route it, and gives the directory of what it wrote."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        pytest.skip(f"InfiniBand is not installed here: no {', '.join(missing)}")
    if os.geteuid() != 0:
        pytest.skip("only root makes the namespaces in which a subnet is simulated")

    def routed(network: dict[str, object], engine: str, *options: str) -> Path:
        directory = tmp_path / engine
        directory.mkdir()
        net = tmp_path / f"{engine}.net"
        write(directory / "wired.toml", network)
        command("topology", "export", directory / "wired.toml", "--format", "ibsim", "--out", net)
        namespace = ["unshare", "--pid", "--net", "--fork", "--kill-child", "--mount-proc"]
        script = Path(__file__).with_name("on_subnet.py")
        done = subprocess.run(
            [*namespace, sys.executable, str(script), str(net), engine, str(directory), *options],
            capture_output=True,
            text=True,
            check=False,
            timeout=500,
        )
        assert done.returncode == 0, done.stderr
        log = (directory / "osm.log").read_text(errors="replace")
        # Not another one in its place.
        assert f"{engine} tables configured on all switches" in log
        return directory

    return routed


def command(*arguments: str | Path, code: int = 0) -> str:
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    return done.stdout


def write(file: Path, network: dict[str, object], nodes: int | None = None) -> None:
    """Writes a scenario of an all-to-all on all nodes of a network of 1,056, 1,024, 128 or 72."""
    size = str(network.get("p") or network.get("radix") or 8)
    nodes = nodes or {"4": 1056, "16": 1024, "8": 128, "2": 72}[size]
    job = {"nodes": nodes, "motif": {"kind": "all-to-all", "message": "64 B"}}
    scenario = Scenario.from_dict({"network": network, "job": [job]}, directory=file.parent)
    file.write_text(scenario.to_toml())


def by_tables(
    directory: Path, network: dict[str, object], nodes: int | None = None, **options: object
) -> Path:
    routing = {"algorithm": "forwarding-tables", "tables": ".", **options}
    file = directory / "tabled.toml"
    write(file, {**network, "routing": routing}, nodes)
    return file


def proof(scenario: Path) -> dict[str, object]:
    """What `odonata verify` finds."""
    done = subprocess.run(
        [*COMMAND, "verify", str(scenario), "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 5), done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    assert found["safe"] == (done.returncode == 0)
    return found


def switches_on_the_way(directory: Path) -> collections.Counter[int]:
    """Switches between all pairs of different hosts, by the hops that OpenSM counts."""
    cabled = re.findall(
        r'^\[\d+\]\s+"H-(\w+)"\[\d+\]\(\w+\)\s+# "H-\d+" lid (\d+)',
        (directory / "ibnetdiscover.txt").read_text(),
        re.M,
    )
    hosts = {int(lid) for _, lid in cabled}
    on_switch: collections.Counter[str] = collections.Counter()
    table: list[tuple[str, int, int]] = []
    switch = ""
    for line in (directory / "opensm.fdbs").read_text().splitlines():
        if line.startswith("dump_ucast_routes"):
            switch = line.split()[-1]
        elif (entry := re.match(r"(0x\w+) : (\d+)\s+: (\d+)", line)) and int(entry[1], 16) in hosts:
            hops = int(entry[3])
            table.append((switch, int(entry[1], 16), hops))
            on_switch[switch] += hops == 1
    counted: collections.Counter[int] = collections.Counter()
    for switch, _, hops in table:
        # To a host on the switch itself there is a way from the others of it.
        counted[hops] += on_switch[switch] - (hops == 1)
    return +counted


def visited(scenario: Path) -> collections.Counter[int]:
    """Routers that the packets of an all-to-all have passed."""
    table = run(Scenario.from_file(scenario)).routers_visited
    return +collections.Counter(
        dict(zip(table["routers"].to_pylist(), table["packets"].to_pylist(), strict=True))
    )


def test_the_table_of_minhop_is_read_back_and_its_cycle_shown(
    route: Callable[..., Path],
) -> None:
    hosts = [("H-0", "H-1055"), ("H-17", "H-600"), ("H-4", "H-5")]
    traces = [part for pair in hosts for part in ("--trace", *pair)]
    directory = route(DRAGONFLY, "minhop", *traces)
    found = proof(by_tables(directory, DRAGONFLY))
    assert not found["safe"]
    cycle = found["cycle"]
    assert isinstance(cycle, list) and len(cycle) >= 3
    assert all(re.match(r"router \d+ -> router \d+ \(port \d+, vc 0\)", line) for line in cycle)
    # OpenSM counts the switches on the way of all pairs; ibsim's own packets go the same way.
    counted = switches_on_the_way(directory)
    assert counted.total() == 1056 * 1055
    assert visited(by_tables(directory, DRAGONFLY)) == counted
    for a, b in hosts:
        way = (directory / f"ibtracert-{a}-{b}.txt").read_text()
        network = {"family": "ibnetdiscover", "file": "ibnetdiscover.txt"}
        routing = {"algorithm": "forwarding-tables", "tables": "opensm.fdbs"}
        data = {
            "network": {**network, "routing": routing},
            "job": [
                {
                    "nodes": 2,
                    "placement": [int(a[2:]), int(b[2:])],
                    "motif": {"kind": "all-to-all", "message": "64 B"},
                }
            ],
        }
        result = run(Scenario.from_dict(data, directory=directory))
        table = result.routers_visited
        there = [n for n, count in zip(*table.select(["routers", "packets"]), strict=True) if count]
        assert way.count("-> switch port") in [n.as_py() for n in there]


@pytest.mark.parametrize("radix", [8, 16])
def test_a_fat_tree_by_ftree_is_simulated_switch_by_switch(
    route: Callable[..., Path], radix: int
) -> None:
    fat_tree: dict[str, object] = {"family": "fat-tree", "radix": radix}
    directory = route(fat_tree, "ftree", "--fts")
    scenario = by_tables(directory, fat_tree)
    found = proof(scenario)
    assert found["safe"] and found["proven"] and found["longest_route"] == 4
    counted = switches_on_the_way(directory)
    # Half of a switch's ports lead down, so that a leaf has as many nodes and a pod as many leaves.
    down = radix // 2
    nodes = 2 * down**3
    assert counted == {
        1: nodes * (down - 1),
        3: nodes * (down**2 - down),
        5: nodes * (nodes - down**2),
    }
    assert visited(scenario) == counted
    # The same tables, dumped by another program, which leaves the last LID out where that is a
    # multiple of 64, as of 1,024 nodes.
    if radix == 8:
        again = by_tables(directory, fat_tree, tables="dump_fts.txt", subnet="ibnetdiscover.txt")
        assert proof(again) == found
        # And with the network as discovered.
        discovered: dict[str, object] = {"family": "ibnetdiscover", "file": "ibnetdiscover.txt"}
        assert visited(by_tables(directory, discovered)) == counted


@pytest.mark.parametrize("engine", ["dfsssp", "lash"])
def test_what_is_free_of_deadlock_by_service_levels_is_proven_so(
    route: Callable[..., Path], engine: str
) -> None:
    directory = route(SMALL_DRAGONFLY, engine, "--records")
    scenario = by_tables(directory, SMALL_DRAGONFLY)
    found = proof(scenario)
    assert found["safe"] and found["proven"]
    assert isinstance(found["virtual_channels"], int) and found["virtual_channels"] > 1
    assert visited(scenario) == switches_on_the_way(directory)
    # All on one channel the same tables can deadlock.
    (directory / "path-records.txt").unlink()
    assert not proof(scenario)["safe"]


def test_opensm_routes_around_a_pulled_cable_as_our_shortest_paths_do(
    route: Callable[..., Path],
) -> None:
    """Outputs name the cable; OpenSM's ways are as long as those of the scenario with it."""
    whole: dict[str, object] = {"family": "ibnetdiscover", "file": "whole.txt"}
    # A global cable of the first router: its two groups are joined by no other.
    directory = route(SMALL_DRAGONFLY, "minhop", "--pull", "S-0", "6")
    write(directory / "whole.toml", {**whole, "routing": "shortest-path"}, 72)
    tables = []
    for output in ("ibnetdiscover.txt", "iblinkinfo.txt"):
        out = directory / f"{output}.toml"
        command("cluster", "failures", directory / "whole.toml", directory / output, "--out", out)
        tables.append(Scenario.from_file(out).to_dict()["failures"])
    assert tables[0] == tables[1]
    (pulled,) = tables[0]["links"]
    assert 0 in pulled["routers"] and "count" not in pulled
    counted = switches_on_the_way(directory)
    assert counted.total() == 72 * 71
    assert visited(directory / "iblinkinfo.txt.toml") == counted
    # And by the tables themselves, on what is left.
    discovered: dict[str, object] = {"family": "ibnetdiscover", "file": "ibnetdiscover.txt"}
    assert visited(by_tables(directory, discovered, 72)) == counted


def test_opensm_takes_our_tables(route: Callable[..., Path], tmp_path: Path) -> None:
    """What it sets on all switches is what we wrote for the subnet that it had found before."""
    tree: dict[str, object] = {"family": "fat-tree", "radix": 8}
    found = route(tree, "minhop")
    file = "ibnetdiscover.txt"

    def tables(directory: Path, routing: dict[str, object]) -> str:
        network = {"family": "ibnetdiscover", "file": file, "routing": routing}
        write(directory / "ours.toml", network, 128)
        out = directory / f"{routing['algorithm']}.csv"
        asked = ("--format", "forwarding-tables", "--out", out)
        command("topology", "export", directory / "ours.toml", *asked)
        return out.read_text()

    ours = tables(found, {"algorithm": "dfsssp"})
    written = tmp_path / "ours.lfts"
    command("topology", "export", found / "ours.toml", "--out", written)
    set_by_it = route(tree, "file", "--opensm=--lfts_file", f"--opensm={written}")
    log = (set_by_it / "osm.log").read_text(errors="replace")
    assert "cannot" not in log.lower()
    dump = {"algorithm": "forwarding-tables", "tables": "opensm-lfts.dump"}
    assert tables(set_by_it, dump) == ours
    assert tables(found, {**dump, "subnet": file}) != ours
