"""Routing by forwarding tables, from files to results."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest

from command import call
from odonata import Scenario, _engine, run
from odonata.errors import ScenarioError, SimulationError
from subnets import DATA, has

RING = {"family": "torus", "size": [5]}
NODES = 5


def clockwise(router: int, node: int) -> int:
    """Ports of a ring's router: its node, back, forth; of the first: its node, forth, back."""
    return 1 if router == 0 else 2


def shortest(router: int, node: int) -> int:
    """The nearer way round."""
    forth = clockwise(router, node)
    return forth if (node - router) % NODES <= NODES // 2 else 3 - forth


def past_the_first(source: int, to: int) -> int:
    """A channel of their own for packets that go by the link between the last and the first."""
    return int(abs(source - to) > NODES // 2)


def write_tables(file: Path, port: Callable[[int, int], int]) -> None:
    lines = [
        f"{router},{node},{port(router, node)}"
        for router in range(NODES)
        for node in range(NODES)
        if router != node
    ]
    file.write_text("\n".join(["router,destination,port", *lines, ""]))


def write_channels(file: Path, channel: Callable[[int, int], int]) -> None:
    lines = [
        f"{source},{to},{channel(source, to)}"
        for source in range(NODES)
        for to in range(NODES)
        if source != to
    ]
    file.write_text("\n".join(["source,destination,channel", *lines, ""]))


def ring(directory: Path, **options: Any) -> dict[str, Any]:
    routing = {"algorithm": "forwarding-tables", "tables": "forwarding-tables.csv", **options}
    return {**RING, "routing": routing}


def test_a_packet_takes_exactly_what_the_links_on_its_way_take(tmp_path: Path) -> None:
    write_tables(tmp_path / "forwarding-tables.csv", clockwise)
    motif = {"kind": "all-to-all", "message": "100 B"}
    latencies = {}
    for network, pair in (
        (ring(tmp_path), [1, 0]),
        # On a line there is one way, over the same links: from end to end.
        ({"family": "torus", "size": [5], "wrap": [False]}, [0, 4]),
        (ring(tmp_path), [0, 1]),
        ({"family": "torus", "size": [5], "wrap": [False]}, [0, 1]),
    ):
        job = {"nodes": 2, "placement": pair, "motif": motif}
        data = {"network": network, "job": [job], "record": {"messages": "all"}}
        messages = run(Scenario.from_dict(data, directory=tmp_path)).messages.to_pylist()
        there = next(m for m in messages if m["source_rank"] == 0)
        key = (network.get("wrap") is None, tuple(pair))
        latencies[key] = there["delivered_ps"] - there["created_ps"]
    assert latencies[True, (1, 0)] == latencies[False, (0, 4)]
    assert latencies[True, (0, 1)] == latencies[False, (0, 1)] < latencies[True, (1, 0)]


def test_channels_by_source_keep_a_full_ring_going(tmp_path: Path) -> None:
    """Everybody sends to everybody, with hardly a buffer."""
    write_tables(tmp_path / "forwarding-tables.csv", shortest)
    write_channels(tmp_path / "levels.csv", past_the_first)
    links = {name: {"buffer": "4 KiB"} for name in ("terminal", "local")}
    motif = {"kind": "all-to-all", "message": "64 KiB"}

    def scenario(**options: Any) -> Scenario:
        network = {**ring(tmp_path, **options), "links": links}
        job = {"nodes": NODES, "motif": motif}
        data = {"network": network, "simulation": {"packet": "4 KiB"}, "job": [job]}
        return Scenario.from_dict(data, directory=tmp_path)

    result = run(scenario(service_levels="levels.csv"))
    assert result.jobs["messages_delivered"].to_pylist() == [NODES * (NODES - 1)]
    with pytest.raises(SimulationError, match="deadlock"):
        run(scenario())


def test_verify_shows_the_cycle_and_proves_its_absence(tmp_path: Path) -> None:
    write_tables(tmp_path / "forwarding-tables.csv", shortest)
    write_channels(tmp_path / "virtual-channels.csv", past_the_first)
    job = {"nodes": NODES, "motif": {"kind": "all-to-all", "message": "1 KiB"}}
    for name, tables in (("alone", "forwarding-tables.csv"), ("both", ".")):
        data = {"network": ring(tmp_path, tables=tables), "job": [job]}
        scenario = Scenario.from_dict(data, directory=tmp_path)
        (tmp_path / f"{name}.toml").write_text(scenario.to_toml())
    done = call("verify", "alone.toml", "--json", directory=tmp_path)
    assert done.returncode == 5
    cycle = json.loads(done.stdout)["cycle"]
    assert len(cycle) == NODES
    # The first of the two ways round in which there is one.
    assert all(line.endswith("vc 0)") for line in cycle)
    # A directory is looked through for channels, too.
    done = call("verify", "both.toml", "--json", directory=tmp_path)
    found = json.loads(done.stdout)
    assert (found["safe"], found["proven"], found["virtual_channels"]) == (True, True, 2)


def test_mistakes_are_errors_at_their_key(tmp_path: Path) -> None:
    write_tables(tmp_path / "forwarding-tables.csv", shortest)
    write_tables(tmp_path / "lost.csv", lambda router, node: 1)
    (tmp_path / "short.csv").write_text("source,destination,channel\n0,1,0\n")
    (tmp_path / "opensm").mkdir()
    (tmp_path / "opensm" / "opensm-lfts.dump").write_text("Unicast lids [0-8] of switch …\n")
    job = {"nodes": NODES, "motif": {"kind": "all-to-all", "message": "1 KiB"}}
    for options, key, words in (
        ({"tables": None}, "tables", "found nothing; allowed: a file or a directory"),
        ({"tables": "nowhere.csv"}, "tables", "cannot be read"),
        ({"tables": "lost.csv"}, "tables", "go round for ever: routers "),
        ({"tables": "opensm"}, "tables", "give `subnet`, the output of `ibnetdiscover`"),
        ({"service_levels": "short.csv"}, "service_levels", "from node 0 to node 2"),
        ({"algorithm": "minimal"}, "tables", "no such option, which is for forwarding-tables"),
        ({"virtual_channels": 4}, "virtual_channels", "follows from a packet's source"),
        ({"subnet": "short.csv"}, "subnet", "line 1: found `source,destination,channel`"),
    ):
        network = ring(tmp_path, **options)
        network["routing"] = {k: v for k, v in network["routing"].items() if v is not None}
        data = {"network": network, "job": [job]}
        with pytest.raises((ScenarioError, _engine.SpecError)) as caught:
            run(Scenario.from_dict(data, directory=tmp_path))
        assert f"network.routing.{key}" in str(caught.value)
        assert words in str(caught.value)


def test_a_subnet_comes_back_as_the_network_that_it_was(tmp_path: Path) -> None:
    data = {
        "network": RING,
        "job": [{"nodes": 1, "motif": {"kind": "all-to-all", "message": "1 B"}}],
    }
    (tmp_path / "ring.toml").write_text(Scenario.from_dict(data).to_toml())
    done = call(
        *("topology", "export", "ring.toml", "--format", "ibsim", "--out", "ring.net"),
        directory=tmp_path,
    )
    assert done.returncode == 0
    found = _engine.read_ibnetdiscover(str(tmp_path / "ring.net"))
    assert [switch["name"] for switch in found["switches"]] == [f"S-{n}" for n in range(NODES)]
    assert [host["switch"] for host in found["hosts"]] == list(range(NODES))
    assert len(found["cables"]) == NODES
    data["network"] = {"family": "ibnetdiscover", "file": "ring.net"}
    (tmp_path / "again.toml").write_text(Scenario.from_dict(data).to_toml())
    done = call("topology", "describe", "again.toml", "--json", directory=tmp_path)
    described = json.loads(done.stdout)
    assert (described["routers"], described["nodes"], described["diameter"]) == (5, 5, 2)
    with pytest.raises(_engine.SpecError, match="line 2"):
        (tmp_path / "broken.txt").write_text("\nnonsense\n")
        _engine.read_ibnetdiscover(str(tmp_path / "broken.txt"))


SPINES, LEAVES = 2, 4
ADAPTERS = [0xC0, 0xC1, *range(0xC3, 0xC8)]


def rails(without: Collection[str] = ()) -> str:
    """What ibnetdiscover prints of hosts with two adapters, h0 with one, each on a leaf of its own.

    Spines have GUIDs 0xa0 and on, leaves 0xb0 and on, adapters 0xc0 and on, whose ports have those
    that are 0x100 higher.
    """
    spines = {f"spine{n}": 0xA0 + n for n in range(SPINES)}
    leaves = {f"leaf{n}": 0xB0 + n for n in range(LEAVES)}
    blocks = []
    for place, (name, guid) in enumerate(spines.items()):
        lines = [
            f'[{1 + n}] "S-{other:016x}"[{1 + place}] # "{leaf}" lid {other} 4xNDR'
            for n, (leaf, other) in enumerate(leaves.items())
        ]
        blocks.append((name, guid, lines))
    for n, (name, guid) in enumerate(leaves.items()):
        lines = [
            f'[{1 + place}] "S-{other:016x}"[{1 + n}] # "{spine}" lid {other} 4xNDR'
            for place, (spine, other) in enumerate(spines.items())
        ]
        for place in range(2):
            adapter, host = 0xC0 + 2 * n + place, f"h{2 * (n // 2) + place} mlx5_{n % 2}"
            if adapter in ADAPTERS:
                end = f'"H-{adapter:016x}"[1]({adapter + 0x100:x})'
                lines.append(f'[{3 + place}] {end} # "{host}" lid {adapter} 4xNDR')
        blocks.append((name, guid, lines))
    text = []
    for name, guid, lines in blocks:
        if name not in without:
            text += [f"switchguid={guid:#x}", f'Switch 8 "S-{guid:016x}" # "{name}" lid {guid}']
            text += [line for line in lines if not any(f'"{part}' in line for part in without)]
    return "\n".join([*text, ""])


WIRED = '[network]\nfamily = "ibnetdiscover"\nfile = "ibnetdiscover.txt"\n'
#: As `machine from-slurm` and `cluster failures` write it, by hosts with all their adapters.
BROKEN = (
    f'{WIRED}[network.links]\nterminal-4xNDR-by-2 = {{ bandwidth = "100 GB/s" }}\n'
    '[failures]\nswitches = ["spine0"]\nnodes = [3]\n'
)


def exported(format_: str, scenario: str, directory: Path, *options: str) -> str:
    done = call(
        *("topology", "export", scenario, "--format", format_, "--out", f"{format_}-{scenario}"),
        *options,
        directory=directory,
    )
    assert done.returncode == 0, done.stderr
    return (directory / f"{format_}-{scenario}").read_text()


@pytest.fixture
def wired(tmp_path: Path) -> Path:
    (tmp_path / "ibnetdiscover.txt").write_text(rails())
    (tmp_path / "whole.toml").write_text(WIRED)
    (tmp_path / "broken.toml").write_text(BROKEN)
    return tmp_path


@pytest.mark.parametrize(
    ("scenario", "spines", "lost_adapters"),
    [("whole.toml", [0xA0, 0xA1], ()), ("broken.toml", [0xA1], (0xC5, 0xC7))],
)
def test_opensm_is_told_the_guids_of_the_subnet(
    wired: Path, scenario: str, spines: list[int], lost_adapters: tuple[int, ...]
) -> None:
    """The top are the spines, though every second leaf has no host's first adapter."""

    def told(format_: str) -> list[list[int]]:
        lines = exported(format_, scenario, wired).splitlines()
        return [[int(word, 0) for word in line.split()] for line in lines]

    assert told("opensm-root-guids") == [[guid] for guid in spines]
    switches = [(0xA0, 0), (0xA1, 1), *((0xB0 + n, 2 + n) for n in range(LEAVES))]
    assert told("opensm-ids") == [[*one] for one in switches if one[0] >= spines[0]]
    assert told("opensm-guid-routing-order") == [
        [adapter + 0x100] for adapter in ADAPTERS if adapter not in lost_adapters
    ]


def test_a_net_file_of_a_subnet_has_its_guids(wired: Path) -> None:
    net = exported("ibsim", "whole.toml", wired)
    guids = [int(guid, 0) for guid in re.findall(r"(?:switch|ca)guid=(\w+)", net)]
    assert guids == [0xA0, 0xA1, 0xB0, 0xB1, 0xB2, 0xB3, 0xC0, 0xC1, 0xC4, 0xC5]


def test_a_guid_that_no_file_tells_is_not_made_up(wired: Path) -> None:
    untold = re.sub(r"\(1c\w\)", "", rails())
    (wired / "ibnetdiscover.txt").write_text(untold)
    options = ("--format", "opensm-guid-routing-order", "--out", "order")
    done = call("topology", "export", "whole.toml", *options, directory=wired)
    assert done.returncode == 2
    assert "no GUID of the adapter's port of h0 mlx5_0" in " ".join(done.stderr.split())


def test_tables_of_a_broken_subnet_are_of_what_works(wired: Path) -> None:
    """Verify takes them with the scenario that has the failures, and with today's subnet."""
    text = exported("opensm-lfts", "broken.toml", wired, "--set", "network.routing=dfsssp")
    owners = [int(guid, 0) for guid in re.findall(r"switch Lid \d+ guid (\w+)", text)]
    assert owners == [0xA1, 0xB0, 0xB1, 0xB2, 0xB3]
    lids = {int(lid, 0) for lid in re.findall(r"^(0x\w+) \d+ : ", text, re.MULTILINE)}
    works = {*ADAPTERS} - {0xC5, 0xC7}
    assert lids == {*owners, *works}
    tables = '[network.routing]\nalgorithm = "forwarding-tables"\ntables = "tables"\n'
    (wired / "tables").mkdir()
    (wired / "tables" / "opensm-lfts.dump").write_text(text)
    (wired / "tables" / "ibnetdiscover.txt").write_text(rails())
    (wired / "tabled.toml").write_text(BROKEN + tables)
    today = rails(without=["spine0", "h3 "])
    (wired / "today").mkdir()
    (wired / "today" / "ibnetdiscover.txt").write_text(today)
    network = f'{WIRED}interfaces = "nodes"\n{tables}'.replace('"tables"\n', '"tables.dump"\n')
    (wired / "today" / "today.toml").write_text(network)
    (wired / "today" / "tables.dump").write_text(text)
    for scenario in ("tabled.toml", "today/today.toml"):
        done = call("verify", scenario, "--json", directory=wired)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["safe"]


@has(DATA / "ibnetdiscover-ndr" / "fabric.txt")
def test_the_roots_of_a_real_fabric_are_its_spines(tmp_path: Path) -> None:
    fabric = DATA / "ibnetdiscover-ndr" / "fabric.txt"
    (tmp_path / "s.toml").write_text(WIRED.replace("ibnetdiscover.txt", str(fabric)))
    switches = _engine.read_ibnetdiscover(str(fabric))["switches"]
    spines = [switch["guid"] for switch in switches if "IBSPINE" in switch["name"]]
    roots = exported("opensm-root-guids", "s.toml", tmp_path).split()
    assert sorted(int(root, 0) for root in roots) == sorted(spines)
    assert len(spines) == 9
