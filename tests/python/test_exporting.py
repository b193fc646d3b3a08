"""Networks written for other programs, read back with the library that others use."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import networkx
import pytest

import odonata
from command import call
from odonata import Scenario

DRAGONFLY = {"family": "dragonfly", "p": 2, "a": 4, "h": 2}
#: Groups with rows and columns, and three cables between two routers of a column.
GROUPS = {"group": "cray-xc", "rows": 2, "columns": 3, "column_links": 3}
XC = {**DRAGONFLY, "p": 1, "a": 6, "g": 3, **GROUPS}


def nodes(graph: networkx.Graph) -> dict[str, dict[str, Any]]:
    return {name: {k: v for k, v in of.items() if k != "label"} for name, of in graph.nodes.items()}


def links(graph: networkx.Graph) -> dict[str, tuple[frozenset[str], dict[str, Any]]]:
    """Ends and attributes by the file's name of the link."""
    if graph.is_multigraph():
        named = {key: (a, b, of) for a, b, key, of in graph.edges(keys=True, data=True)}
    else:
        named = {of["id"]: (a, b, of) for a, b, of in graph.edges(data=True)}
    return {
        str(key): (frozenset((a, b)), {k: v for k, v in of.items() if k != "id"})
        for key, (a, b, of) in named.items()
    }


@pytest.mark.parametrize(
    "network",
    [DRAGONFLY, XC, {"family": "fat-tree", "levels": 2, "radix": 4}],
)
def test_gexf_holds_what_graphml_holds(network: dict[str, Any], tmp_path: Path) -> None:
    wired = odonata.topology(Scenario.from_dict({"network": network}))
    plain = networkx.read_graphml(wired.export(tmp_path / "net.graphml"), force_multigraph=True)
    graph = networkx.read_gexf(wired.export(tmp_path / "net.gexf"))
    assert len(graph) == wired.description["nodes"] + wired.description["routers"]
    assert nodes(graph) == nodes(plain)
    assert links(graph) == links(plain)
    assert graph.number_of_edges() == wired.links.num_rows


def test_gexf_by_the_command_line_says_what_the_network_is(tmp_path: Path) -> None:
    """A title with what XML escapes, and several links between the same routers."""
    (tmp_path / "net.edges").write_text('title a <b> & "c"\n0 1\n0 1\n')
    (tmp_path / "s.toml").write_text('[network]\nfamily = "edge-list"\nfile = "net.edges"\n')
    out = tmp_path / "net.gexf"
    options = ["--format", "gexf", "--out", "net.gexf"]
    done = call("topology", "export", "s.toml", *options, directory=tmp_path)
    assert done.returncode == 0, done.stderr
    description = ElementTree.parse(out).find("{*}meta/{*}description")
    assert description is not None
    assert str(description.text).startswith('a <b> & "c"; link classes: terminal terminal ')
    graph = networkx.read_gexf(out)
    assert graph.number_of_edges("r0", "r1") == 2
    assert graph.nodes["n1"] == {"kind": "node", "number": 1, "label": "node 1"}


@pytest.mark.parametrize(
    ("options", "begins"),
    [
        (("--out", "x.edges"), b"# Odonata edge list"),
        (("--out", "x.graphml"), b"<?xml"),
        (("--out", "x.GEXF"), b"<?xml"),
        (("--out", "x.net"), b"#"),
        (("--out", "x.txt", "--format", "edge-list"), b"# Odonata edge list"),
        ((), b"<?xml"),
    ],
)
def test_the_ending_says_the_format(
    options: tuple[str, ...], begins: bytes, tmp_path: Path
) -> None:
    (tmp_path / "s.toml").write_text('[network]\nfamily = "dragonfly"\np = 1\na = 2\nh = 1\n')
    done = call("topology", "export", "s.toml", *options, "--json", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / json.loads(done.stdout)["file"]).read_bytes().startswith(begins)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--out", "x.edges", "--format", "graphml"),
            'found the ending ".edges", which is that of',
        ),
        (("--out", "x.png"), 'found the ending ".png"; allowed for networks: .graphml'),
        (("--out", "x"), 'found the ending ""'),
    ],
)
def test_a_format_that_contradicts_the_ending_is_refused(
    options: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    (tmp_path / "s.toml").write_text('[network]\nfamily = "dragonfly"\np = 1\na = 2\nh = 1\n')
    done = call("topology", "export", "s.toml", *options, directory=tmp_path)
    assert done.returncode == 4
    assert message in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["s.toml"]


RING = '[network]\nfamily = "torus"\nsize = [4]\np = 1\n[network.routing]\nalgorithm = '


def test_tables_route_as_the_algorithm_does(tmp_path: Path) -> None:
    """A ring needs two channels; run by its tables, every packet goes and ends as before."""
    job = '[[job]]\nnodes = 4\nmotif = { kind = "all-to-all", message = "8 kB" }\n'
    (tmp_path / "ring.toml").write_text(f'{RING}"dfsssp"\n{job}')
    (tmp_path / "dump").mkdir()
    for name in ("forwarding-tables", "virtual-channels"):
        options = ("--format", name, "--out", f"dump/{name}.csv")
        done = call("topology", "export", "ring.toml", *options, directory=tmp_path)
        assert done.returncode == 0, done.stderr
    # Each router has a way to the three nodes of others; each pair of nodes a channel.
    rows = [
        len((tmp_path / f"dump/{name}.csv").read_text().splitlines())
        for name in (
            "forwarding-tables",
            "virtual-channels",
        )
    ]
    assert rows == [1 + 4 * 3, 1 + 4 * 3]
    tabled = f'{RING}"forwarding-tables"\ntables = "dump"\n{job}'
    (tmp_path / "tabled.toml").write_text(tabled)
    before, after = (
        odonata.run(tmp_path / name, progress=False) for name in ("ring.toml", "tabled.toml")
    )
    for table in ("messages", "links", "jobs"):
        assert after.table(table).equals(before.table(table))


@pytest.mark.parametrize(
    ("algorithm", "format_", "message"),
    [
        ("minimal-adaptive", "forwarding-tables", "minimal-adaptive, which looks at queues"),
        ("shortest-path", "forwarding-tables", "shortest-path, which draws among several ports"),
        ("dimension-order", "virtual-channels", "which changes the channel on the way"),
        ("dimension-order", "opensm-lfts", 'family = "ibnetdiscover", of whose subnet they are'),
    ],
)
def test_what_no_tables_say_is_refused(
    algorithm: str, format_: str, message: str, tmp_path: Path
) -> None:
    # In a ring of five no two ways are equally long.
    ring = RING.replace("[4]", "[5]") if algorithm == "dimension-order" else RING
    (tmp_path / "s.toml").write_text(f'{ring}"{algorithm}"\n')
    done = call("topology", "export", "s.toml", "--format", format_, directory=tmp_path)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
