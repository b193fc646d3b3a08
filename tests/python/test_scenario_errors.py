"""Bad scenarios: every message names file, key, what was found and what is allowed."""

import json
import pickle
from pathlib import Path

import pytest

from odonata import Scenario, ScenarioError
from odonata.errors import ExitCode, Problem
from odonata.load import Job
from odonata.motif import Halo3d
from odonata.network import Dragonfly

GOOD = """
[network]
family = "dragonfly"
p = 2
a = 4
h = 2

[network.links]
terminal = { bandwidth = "1 GB/s", latency = "10 ns" }

[[job]]
nodes = 36
motif = { kind = "halo3d", message = "1 MB", iterations = 20 }

[[job]]
name = "noise"
nodes = 8
motif = { kind = "uniform-random", message = "64 B" }
"""


def error_of(text: str, file: str = "bad.toml") -> ScenarioError:
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_toml(text, file=file)
    return caught.value


@pytest.mark.parametrize(
    ("old", "new", "path", "words"),
    [
        # Unknown keys, with the nearest known one.
        ("h = 2", "h = 2\narangement = 3", "network.arangement", ["`arrangement`", "rows"]),
        ("[network.links]", "[network.link]", "network.link", ["did you mean `links`?"]),
        ("latency =", "latncy =", "network.links.terminal.latncy", ["`latency`", "buffer"]),
        ("iterations", "iteration", "job[0].motif.iteration", ["`iterations`"]),
        ("[[job]]\nname", "[[jobs]]\nname", "jobs", ["did you mean `job`?"]),
        ("[network]", "sede = 3\n[network]", "sede", ["did you mean `seed`?"]),
        # Missing keys.
        ("p = 2\n", "", "network.p", ["missing"]),
        (', message = "64 B"', "", "job[1].motif.message", ["missing"]),
        ('family = "dragonfly"', "", "network.family", ["nothing", "cray-xc-file"]),
        ('kind = "halo3d", ', "", "job[0].motif.kind", ["nothing", "all-to-all"]),
        ("nodes = 8\n", "", "job[1].nodes", ["nothing", "ranks"]),
        # Units.
        ('"10 ns"', "10", "network.links.terminal.latency", ["10 without a unit", '"100 ns"']),
        ('"10 ns"', '"10"', "network.links.terminal.latency", ["without a unit", "us"]),
        ('"10 ns"', '"10 MB"', "network.links.terminal.latency", ['unit "MB"', "a duration"]),
        ('"1 MB"', '"1 MB/s"', "job[0].motif.message", ['unit "MB/s"', "KiB"]),
        ('"1 GB/s"', '"1 Gb/s"', "network.links.terminal.bandwidth", ['"Gbit/s" (bits)']),
        ('"10 ns"', '"0.1 ps"', "network.links.terminal.latency", ["whole number of ps"]),
        # Values out of range.
        (
            '"1 GB/s"',
            '"0 GB/s"',
            "network.links.terminal.bandwidth",
            ["0 GB/s", "between 1 kB/s and"],
        ),
        ('"10 ns"', '"0 ns"', "network.links.terminal.latency", ['"0 ns"', "between 1 ps and"]),
        ('"10 ns"', '"2 h"', "network.links.terminal.latency", ['"2 h"', "1 ps and 1 h"]),
        ('"10 ns"', '"1201 h"', "network.links.terminal.latency", ["1201 h", "50 days"]),
        ('"64 B"', '"0 B"', "job[1].motif.message", ["at least 1 B"]),
        ("p = 2", "p = 0", "network.p", ["found 0", "at least 1"]),
        ("p = 2", "p = -3", "network.p", ["found -3"]),
        # Values of another type.
        ("p = 2", "p = 2.5", "network.p", ["2.5", "whole number"]),
        ("p = 2", 'p = "2"', "network.p", ['"2"', "whole number"]),
        ("p = 2", "p = true", "network.p", ["true", "whole number"]),
        ("nodes = 8", "nodes = [8]", "job[1].nodes", ["a list of 1", "whole number"]),
        ("nodes = 8", 'nodes = 8\nplacement = "sprad"', "job[1].placement", ['"spread"?']),
        ("nodes = 8", "nodes = 8\nplacement = 3", "job[1].placement", ["found 3", "a name or"]),
        ("nodes = 8", "nodes = 8\nplacement = [0, -1]", "job[1].placement[1]", ["at least 0"]),
        # Names.
        ('"dragonfly"', '"dragonfli"', "network.family", ['did you mean "dragonfly"?']),
        ('"halo3d"', '"halo3"', "job[0].motif.kind", ['"halo3d"']),
        ("h = 2", 'h = 2\nrouting = "ugal"', "network.routing", ['"ugal-l"', "par"]),
        ("h = 2", "h = 2\nrouting = { algorithm = 3 }", "network.routing.algorithm", ["found 3"]),
        (
            "h = 2",
            'h = 2\nrouting = { algorithm = "fpar", threshold = 1.5 }',
            "network.routing.threshold",
            ["found 1.5", "at most 1"],
        ),
        # Keys that need or exclude each other.
        ("h = 2", 'h = 2\narrangement = "custom"', "network.arrangement_file", ["nothing"]),
        ("h = 2", 'h = 2\narrangement_file = "x"', "network.arrangement_file", ["only with"]),
        ("h = 2", 'h = 2\ngroup = "cray-xc"', "network.rows", ["nothing", "cray-xc"]),
        ("h = 2", "h = 2\nrow_links = 2", "network.row_links", ["only with"]),
        ("terminal =", "green =", "network.links.green", ["terminal, local, global"]),
        ('name = "noise"', 'name = "job1"', "job[1].name", ["differs from that of job[0]"]),
        (
            'motif = { kind = "uniform-random", message = "64 B" }',
            "",
            "job[1]",
            ["neither", "motif", "traffic"],
        ),
        (
            'motif = { kind = "uniform-random", message = "64 B" }',
            'traffic = { pattern = "tornado", message = "64 B", load = 0.5, rate = "1 GB/s" }',
            "job[1].traffic.rate",
            ["`load` and `rate`", "one of"],
        ),
        (
            'motif = { kind = "uniform-random", message = "64 B" }',
            'traffic = { pattern = "tornado", message = "64 B" }',
            "job[1].traffic.load",
            ["none of them"],
        ),
        (
            'motif = { kind = "uniform-random", message = "64 B" }',
            'traffic = { pattern = "hot-spot", message = "64 B", load = 0.1, hot_ranks = [] }',
            "job[1].traffic.hot_ranks",
            ["at least 1 entries"],
        ),
    ],
)
def test_every_mistake_names_its_key(old: str, new: str, path: str, words: list[str]) -> None:
    assert old in GOOD
    error = error_of(GOOD.replace(old, new, 1))
    assert path in [problem.path for problem in error.problems], error
    for word in words:
        assert word in str(error)
    for line in str(error).splitlines():
        assert line.startswith("bad.toml: ")
    assert error.exit_code == ExitCode.USAGE


def test_every_mistake_has_the_line_of_its_key_or_table() -> None:
    text = GOOD.replace("p = 2", "p = 0").replace('"64 B"', '"64"').replace("h = 2", "hh = 2")
    error = error_of(text)
    lines = {problem.path: problem.line for problem in error.problems}
    # The missing key `h` is told at its table.
    assert lines == {
        "network.p": 4,
        "network.h": 2,
        "network.hh": 6,
        "job[1].motif.message": 18,
    }
    assert all(text.splitlines()[line - 1] for line in lines.values())
    assert "bad.toml: line 4: network.p: found 0" in str(error)


def test_what_a_file_does_not_hold_has_no_line() -> None:
    scenario = Scenario.from_toml(GOOD, file="bad.toml")
    with pytest.raises(ScenarioError) as caught:
        scenario.with_set(["network.p=0", "job.1.nodes=0"])
    assert [problem.line for problem in caught.value.problems] == [0, 0]
    assert str(caught.value).startswith("bad.toml: network.p: found 0")
    changed = scenario.with_set(["job.1.nodes=9"])
    problems = [Problem("job[1].nodes", "too many"), Problem("job[0].nodes", "too many")]
    assert [one.line for one in changed.error(problems).problems] == [0, 12]
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_toml("title = 1")
    assert {one.path: one.line for one in caught.value.problems} == {"title": 1, "network": 0}


def test_traffic_alone_needs_a_duration() -> None:
    text = GOOD[: GOOD.index("[[job]]")] + (
        '[[job]]\nnodes = 4\ntraffic = { pattern = "tornado", message = "64 B", load = 0.5 }'
    )
    error = error_of(text)
    assert (error.path, error.found) == ("simulation.duration", "nothing")
    longer = text + '\n[simulation]\nduration = "1 us"\nwarmup = "1 us"'
    assert error_of(longer).path == "simulation.warmup"
    Scenario.from_toml(longer.replace('warmup = "1 us"', 'warmup = "0.9 us"'))


def test_all_mistakes_are_told_at_once() -> None:
    text = GOOD.replace("p = 2", "p = 0").replace('"64 B"', '"64"').replace("h = 2", "hh = 2")
    error = error_of(text)
    paths = {problem.path for problem in error.problems}
    assert paths == {"network.p", "network.h", "network.hh", "job[1].motif.message"}
    assert len(str(error).splitlines()) == 4


def test_errors_hold_what_was_found_and_allowed() -> None:
    error = error_of(GOOD.replace("p = 2", "p = 0"))
    assert (error.path, error.found, error.allowed) == ("network.p", "0", "at least 1")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.path) == (str(error), "network.p")


# --- Files --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "where", "words"),
    [
        ("p = = 2", "line 2, column 5", []),
        ("p = 10 ns", "line 2, column 5", ['quantities are texts in quotes: "10 ns"']),
        ('x = { latency = "10 ns", bandwidth = 1 GB/s }', "line 2", ['"1 GB/s"']),
        ('p = "unfinished', "line 2", []),
        ("family = dragonfly", "line 2, column 10", ['texts are in quotes: "dragonfly"']),
    ],
)
def test_wrong_toml_names_line_and_column(line: str, where: str, words: list[str]) -> None:
    error = error_of(f"[network]\n{line}")
    assert str(error).startswith("bad.toml: line 2")
    assert where in str(error)
    assert line in str(error)
    for word in words:
        assert word in str(error)


def test_a_list_of_cables_is_told_from_a_scenario(tmp_path: Path) -> None:
    fabric = tmp_path / "fabric.txt"
    fabric.write_text('vendid=0x2c9\nSwitch\t65 "S-2c5eab0300b87b40"\t# "leaf" base port 0\n')
    with pytest.raises(ScenarioError, match=f"odonata machine from-slurm --links {fabric}"):
        Scenario.from_file(fabric)


def test_missing_unreadable_and_binary_files(tmp_path: Path) -> None:
    missing = tmp_path / "none.toml"
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"title = '\xff'")
    for file, words in [
        (missing, "No such file or directory"),
        (tmp_path, "directory"),
        (binary, "not UTF-8"),
    ]:
        with pytest.raises(ScenarioError, match=words) as caught:
            Scenario.from_file(file)
        assert str(caught.value).startswith(f"{file}: ")


# --- Built in code ------------------------------------------------------------


def test_code_gets_the_same_errors() -> None:
    with pytest.raises(ScenarioError) as caught:
        Dragonfly(p=2, a=0, h=2)
    assert caught.value.path == "a"
    with pytest.raises(ScenarioError) as caught:
        Halo3d(message="1 megabyte")
    assert caught.value.path == "message"
    with pytest.raises(ScenarioError) as caught:
        Scenario(network=Dragonfly(p=2, a=4, h=2), job=[{"nodes": 4, "motif": {"kind": "x"}}])
    assert caught.value.path == "job[0].motif.kind"
    with pytest.raises(ScenarioError) as caught:
        Job(nodes=3, motif=Halo3d(message="1 MB"), plaement="spread")
    assert caught.value.path == "plaement"
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_dict({"network": 3})
    assert caught.value.path == "network"


# --- What only the engine can tell --------------------------------------------

DRAGONFLY = {"family": "dragonfly", "p": 2, "a": 4, "h": 2}
DRAGONFLY_PLUS = {"family": "dragonfly+", "leaves": 4, "spines": 4, "p": 2, "h": 2}
HALO = {"nodes": 36, "motif": {"kind": "halo3d", "message": "1 kB"}}
UNIFORM = {"pattern": "uniform-random", "message": "64 B", "load": 0.1}


def engine_error(data: dict[str, object], directory: Path) -> ScenarioError:
    """What reading or running a scenario fails with."""
    from odonata.simulate import run

    with pytest.raises(ScenarioError) as caught:
        run(Scenario.from_dict(data, file=str(directory / "bad.toml")))
    assert caught.value.file == str(directory / "bad.toml")
    return caught.value


def dragonfly(**keys: object) -> dict[str, object]:
    return {"network": {**DRAGONFLY, **keys}, "job": [HALO]}


def job(**keys: object) -> dict[str, object]:
    return {"network": DRAGONFLY, "job": [keys]}


@pytest.mark.parametrize(
    ("data", "path", "words"),
    [
        (dragonfly(g=10), "network.g", ["p=2 a=4 h=2 g=10 does not close", "1 to 9"]),
        (dragonfly(group="cray-xc", rows=3, columns=2), "network.rows", ["a=4", "hold 6"]),
        (
            dragonfly(links={"local": {"buffer": "1 KiB"}}),
            "network.links.local.buffer",
            ["1024 B", "one packet"],
        ),
        (
            {"network": DRAGONFLY, "job": []},
            "job",
            ["none", "at least one job"],
        ),
        (job(nodes=73, motif=HALO["motif"]), "job[0].nodes", ["73 nodes", "at most 72"]),
        (
            {"network": DRAGONFLY, "job": [HALO, {**HALO, "nodes": 37}]},
            "job[1].nodes",
            ["37 nodes", "at most 36", "job1"],
        ),
        (
            job(nodes=4, ranks=9, ranks_per_node=2, motif=HALO["motif"]),
            "job[0].ranks",
            ["9 ranks", "at most 8", "4 nodes × 2"],
        ),
        (
            job(nodes=8, motif={"kind": "halo3d", "message": "1 kB", "grid": [2, 2, 3]}),
            "job[0].motif.grid",
            ["12", "8 ranks"],
        ),
        (
            job(nodes=8, motif={"kind": "transpose", "message": "1 kB"}),
            "job[0].motif",
            ["square", "4 and 9"],
        ),
        (
            job(nodes=8, motif={"kind": "broadcast", "message": "1 kB", "root": 8}),
            "job[0].motif.root",
            ["rank 8", "0 to 7"],
        ),
        (
            job(placement=[1, 2, 2], motif=HALO["motif"]),
            "job[0].placement",
            ["node 2 is listed twice"],
        ),
        (
            job(placement=[1, 72], motif=HALO["motif"]),
            "job[0].placement",
            ["no node 72", "0 to 71"],
        ),
        (
            job(nodes=2, mapping=[0, 2], motif=HALO["motif"]),
            "job[0].mapping",
            ["2 for rank 1", "0 to 1"],
        ),
        (
            {
                "network": DRAGONFLY,
                "simulation": {"duration": "1 us"},
                "job": [{"nodes": 8, "traffic": {**UNIFORM, "pattern": "adversarial"}}],
            },
            "job[0].traffic.k",
            ["1 blocks", "at least 2"],
        ),
        (
            {"network": {**DRAGONFLY_PLUS, "g": 4}, "job": [HALO]},
            "network.g",
            ["does not close", "g = 3 or 5", "h = 3"],
        ),
        (
            dragonfly(routing="fpar"),
            "network.routing.algorithm",
            ["leaf and spine routers", "group 0 have nodes"],
        ),
        (
            {"network": {**DRAGONFLY_PLUS, "routing": "q-adaptive"}, "job": [HALO]},
            "network.routing.algorithm",
            ["all-to-all"],
        ),
        (
            dragonfly(
                routing={
                    "algorithm": "minimal",
                    "paths": "shortest-path",
                    "minimal_links": "shortest",
                }
            ),
            "network.routing.minimal_links",
            ['"shortest"', "only routes over `paths`"],
        ),
        (
            {**dragonfly(), "simulation": {"settle": "1 us"}},
            "simulation.settle",
            ["1000000 ps", 'engine = "flow"'],
        ),
        (
            {
                **dragonfly(routing={"algorithm": "valiant", "per": "message"}),
                "simulation": {"engine": "flow"},
            },
            "network.routing.per",
            ['found "message"', "simulation.paths"],
        ),
        (
            {"network": {"family": "codes", "file": "none.conf"}, "job": [HALO]},
            "network.file",
            ["none.conf", "No such file"],
        ),
        (
            {
                "network": {"family": "cray-xc-file", "file": "none.txt"},
                "job": [HALO],
            },
            "network.file",
            ["none.txt", "No such file"],
        ),
        (
            job(motif={"kind": "matrix", "file": "none.csv"}),
            "job[0].motif.file",
            ["none.csv", "No such file"],
        ),
    ],
)
def test_semantic_errors_name_their_key(
    data: dict[str, object], path: str, words: list[str], tmp_path: Path
) -> None:
    error = engine_error(data, tmp_path)
    assert error.path == path, error
    for word in words:
        assert word in str(error)
    if error.found:
        assert f"found {error.found}; allowed: {error.allowed}" in str(error)


@pytest.mark.parametrize(
    ("data", "path", "words"),
    [
        (
            dragonfly(routing={"algorithm": "minimal", "candidates": 2}),
            "network.routing.candidates",
            ["minimal routing has no such option", "ugal-l"],
        ),
        (
            dragonfly(routing={"algorithm": "par", "threshold": 0.5}),
            "network.routing.threshold",
            ["found 0.5 without a unit", "B"],
        ),
        (
            # Whatever its value: "paper" is what `fpar` has by default.
            dragonfly(routing={"algorithm": "par", "rules": "paper"}),
            "network.routing.rules",
            ["par routing has no such option", "for fpar:", "candidates, threshold"],
        ),
        (
            dragonfly(routing={"algorithm": "shortest-path", "minimal_links": "all"}),
            "network.routing.minimal_links",
            ["shortest-path routing has no such option", "ugal-g, par, tago and ecmp", "choice"],
        ),
        (
            dragonfly(routing={"algorithm": "minimal", "exploration": 0.5}),
            "network.routing.exploration",
            ["no such option", "q-adaptive"],
        ),
        (
            dragonfly(routing={"algorithm": "q-adaptive", "per": "message"}),
            "network.routing.per",
            ["q-adaptive routing has no such option", "for minimal,"],
        ),
    ],
)
def test_keys_of_other_algorithms_are_refused_at_reading(
    data: dict[str, object], path: str, words: list[str]
) -> None:
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_dict(data)
    assert caught.value.path == path
    for word in words:
        assert word in str(caught.value)


def test_mistakes_of_building_are_told_together_and_beside_those_of_reading(
    tmp_path: Path,
) -> None:
    grid = {"nodes": 8, "motif": {"kind": "halo2d", "message": "1 kB", "grid": [3, 5]}}
    root = {"nodes": 8, "motif": {"kind": "broadcast", "message": "1 kB", "root": 8}}
    data = {**dragonfly(g=50), "job": [grid, root]}
    expected = ["network.g", "job[0].motif.grid", "job[1].motif.root"]
    error = engine_error(data, tmp_path)
    assert [problem.path for problem in error.problems] == expected
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_dict({**data, "sede": 3})
    assert [problem.path for problem in caught.value.problems] == ["sede", *expected]


def test_routing_that_does_not_fit_is_told_with_that_which_does(tmp_path: Path) -> None:
    network = {"family": "fat-tree", "radix": 4, "levels": 2, "routing": "par"}
    job = {"nodes": 8, "motif": {"kind": "halo2d", "message": "1 kB"}}
    error = engine_error({"network": network, "job": [job]}, tmp_path)
    assert error.path == "network.routing.algorithm"
    assert 'family "fat-tree" has routing = "up-down"' in str(error)


def test_a_change_of_a_key_in_the_wrong_table_is_told_where_it_belongs() -> None:
    scenario = Scenario.from_toml(GOOD)
    with pytest.raises(ScenarioError, match=r"did you mean `network\.routing`") as caught:
        scenario.with_set(["routing=par"])
    assert caught.value.path == "routing"


def test_both_spellings_of_all_to_all_are_taken() -> None:
    for motif, kind in [
        ({"kind": "alltoall", "message": "1 kB"}, "all-to-all"),
        ({"kind": "collective", "operation": "all-to-all", "message": "1 kB"}, "collective"),
    ]:
        data = {"network": DRAGONFLY, "job": [{"nodes": 8, "motif": motif}]}
        read = Scenario.from_dict(data).to_dict()["job"][0]["motif"]
        assert read["kind"] == kind
        assert read.get("operation", "alltoall") == "alltoall"


def test_disconnected_wiring_is_refused(tmp_path: Path) -> None:
    (tmp_path / "two.edges").write_text(
        "class terminal terminal 1000000000 10000 4096\n"
        "class local local 1000000000 10000 4096\n"
        "routers 0 3 group 0\n"
        "nodes 1 0\nnodes 1 1\nnodes 1 2\nnodes 1 3\n"
        "link 0 1\nlink 2 3\n"
    )
    data = {"network": {"family": "edge-list", "file": "two.edges"}, "job": [HALO]}
    error = engine_error(data, tmp_path)
    assert error.path == "network.file"
    assert "two.edges" in str(error)
    assert "reach" in str(error) or "connect" in str(error)


def test_a_matrix_with_more_ranks_than_places_is_refused(tmp_path: Path) -> None:
    (tmp_path / "matrix.csv").write_text("src,dst,bytes\n0,9,100\n9,0,100\n")
    motif = {"kind": "matrix", "file": "matrix.csv"}
    error = engine_error(job(nodes=4, ranks_per_node=2, motif=motif), tmp_path)
    assert error.path == "job[0].motif.file"
    for word in ["10 ranks", "at most 8", "4 nodes × 2", "nodes to 5"]:
        assert word in str(error)


def test_a_truncated_link_list_is_refused(tmp_path: Path) -> None:
    lines = [
        "c0-0c0s0a0l00(0:0:0) green -> c0-0c0s1a0l00(0:0:1)",
        "c0-0c0s0a0l50(0:0:0) ptile -> processor",
        "c0-0c0s1a0l00(0:0:1) green -> c0-0c0s0a0l00(0:0:0)",
        "c0-0c0s1a0l50(0:0:1) ptile -> processor",
    ]
    whole, half, torn = (tmp_path / name for name in ("whole", "half", "torn"))
    whole.write_text("\n".join(lines) + "\n")
    half.write_text("\n".join(lines[:2]) + "\n")
    torn.write_text("\n".join(lines)[:-30] + "\n")
    network = {"family": "cray-xc-file"}
    small = {**HALO, "nodes": 8}
    from odonata.simulate import run

    data = {"network": {**network, "file": "whole"}, "job": [small]}
    assert run(Scenario.from_dict(data, directory=tmp_path)).meta["nodes"] == 8
    for file, line in [(half, "line 1"), (torn, "line 4")]:
        data = {"network": {**network, "file": file.name}, "job": [small]}
        error = engine_error(data, tmp_path)
        assert error.path == "network.file"
        assert line in str(error)
        assert "truncated" in str(error)


def test_the_engine_checks_what_reaches_it_by_other_ways() -> None:
    from odonata import _engine

    normalised = Scenario.from_dict(dragonfly()).normalised()
    normalised["network"]["links"]["local"]["bandwidth_bytes_per_s"] = 0
    with pytest.raises(_engine.SpecError) as caught:
        _engine.run(json.dumps(normalised))
    assert caught.value.args[0] == "network.links.local.bandwidth"
    with pytest.raises(_engine.SpecError, match="unknown field `networc`"):
        _engine.run('{"networc": {}}')
