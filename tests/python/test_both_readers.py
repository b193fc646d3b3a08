"""A scenario that Python holds is that of its file: what the engine reads by itself.

Python's objects hold parsed tables, which the engine gets as JSON; programs in Rust give it the
text. What comes of a file on both ways, and which keys are refused on which lines, has to be equal.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from odonata import Scenario, ScenarioError
from odonata._engine import scenario_form
from odonata.scenario.toml_text import toml_text
from random_scenarios import scenarios as random_scenarios
from test_normal_forms import tables

EXAMPLES = sorted(Path(__file__).resolve().parents[2].glob("examples/*.toml"))


def same(text: str, directory: Path) -> None:
    """Asserts that both read the same."""
    scenario = Scenario.from_dict(Scenario.from_toml(text).to_dict(), directory=directory)
    expected = scenario.normalised()
    found = json.loads(scenario_form(text, str(directory)))
    # Rust's types have what came later even where it is as by default.
    assert _without_defaults(found, expected) == expected


def _without_defaults(found: Any, expected: Any) -> Any:
    """What was found, without the keys of tables that are not expected."""
    if isinstance(found, dict) and isinstance(expected, dict):
        return {k: _without_defaults(v, expected[k]) for k, v in found.items() if k in expected}
    if isinstance(found, list) and isinstance(expected, list):
        return [_without_defaults(*pair) for pair in zip(found, expected, strict=True)]
    return found


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_examples_are_read_alike(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    scenario = Scenario.from_toml(text)
    if scenario.network is None:
        with pytest.raises(ValueError, match="network: missing"):
            scenario_form(text, str(file.parent.resolve()))
    else:
        same(text, file.parent.resolve())


def test_every_key_of_every_table_is_read_alike(tmp_path: Path) -> None:
    read = 0
    for name, data in tables():
        same(toml_text(data), Path("/"))
        read += 1
        assert name
    assert read > 100
    for data in random_scenarios(40, tmp_path):
        same(toml_text(data), tmp_path)


@pytest.mark.parametrize(
    ("key", "short", "full"),
    [
        ("placement", '"0, 3-5"', [0, 3, 4, 5]),
        ("placement", '"7"', [7]),
        ("mapping", '"ranks.map"', {"file": "ranks.map"}),
        ("mapping", '"of/ranks"', {"file": "of/ranks"}),
    ],
)
def test_texts_stand_for_lists_and_files(key: str, short: str, full: Any, tmp_path: Path) -> None:
    job = f'motif = {{ kind = "all-to-all", message = "1 kB" }}\n{key} = {short}\n'
    # A list says how many nodes there are.
    job += "" if key == "placement" else "nodes = 4\n"
    text = f'[network]\nfamily = "dragonfly"\np = 2\na = 4\nh = 2\n[[job]]\n{job}'
    same(text, tmp_path)
    found = Scenario.from_toml(text).to_dict()["job"][0][key]
    assert found == full


GOOD = """
seed = 3

[network]
family = "dragonfly"
p = 2
a = 4
h = 2
routing = "par"

[network.router]
delay = "50 ns"

[simulation]
duration = "1 ms"

[[job]]
nodes = 8
motif = { kind = "halo2d", message = "1 kB" }

[[job]]
name = "noise"
ranks = 4
traffic = { pattern = "uniform-random", message = "1 kB", load = 0.1 }
"""

HALO = 'motif = { kind = "halo2d", message = "1 kB" }'
NOISE = 'message = "1 kB", load = 0.1'


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("p = 2", "p = 0"),
        ("p = 2", "p = 2.5"),
        ("p = 2", 'p = "2"'),
        ("p = 2", ""),
        ("h = 2", "h = 2\nrows = 3"),
        ("h = 2", 'h = 2\ngroup = "cray-xc"'),
        ("h = 2", 'h = 2\narrangement = "custom"'),
        ("h = 2", "h = 2\nhh = 3\ng = -1"),
        ('"dragonfly"', '"draggonfly"'),
        ('"dragonfly"', '"torus"'),
        ('"dragonfly"\np = 2\na = 4\nh = 2', '"fat-tree"'),
        ('"dragonfly"\np = 2\na = 4\nh = 2', '"fat-tree"\nradix = 8\ndown = [4, 4]'),
        ('"dragonfly"\np = 2\na = 4\nh = 2', '"codes"\nmodel = "dragonfly_plus"'),
        ('"par"', '"parr"'),
        ('"par"', '{ algorithm = "par", threshold = true, weights = [1] }'),
        ('"par"', '{ threshold = "2 KiB", rate_up = 0.0, virtual_channels = 65 }'),
        ('"50 ns"', "50"),
        ('"50 ns"', '"2 h"'),
        ('"50 ns"', '"50 ns"\ncrossbar = 0.5'),
        ('"50 ns"', '"50 ns"\ncrossbar = "idael"'),
        ('"50 ns"', '"50 ns"\ncrossbar = "1 GB"'),
        ('"50 ns"', '"50 ns"\ncrossbar = "999 B/s"'),
        ('"50 ns"', '"50 ns"\ncrossbar = true'),
        ('"50 ns"', '"50 ns"\noccupancy = "requests"'),
        ('"1 ms"', '"1 ms"\nwarmup = "2 ms"'),
        ('duration = "1 ms"', 'warmup = "auto"'),
        ('"1 ms"', '"1 ms"\nprecision = "60 %"\nthreads = 0'),
        ("seed = 3", "seed = -3"),
        ("[simulation]", '[network.links.local]\nlatency = "0 ns"\n[simulation]'),
        ("[simulation]", "[network.links.green]\n[simulation]"),
        ("[simulation]", '[record]\nmessages = "some"\narrivals = {}\n[simulation]'),
        ("[simulation]", '[mpi]\neager_limit = 5\ngap = "2 h"\nrendezvous = 1\n[simulation]'),
        ("[simulation]", '[mpi]\ncollectives = "mpi"\n[simulation]'),
        ("[simulation]", "[mpi]\ncollectives = 3\n[simulation]"),
        (
            "[simulation]",
            '[mpi.collectives]\nreduce_scatter = "bruck"\nsegment = "0 B"\n[simulation]',
        ),
        (
            "[simulation]",
            '[mpi]\nhost_times = [{ size = "4 B", time = "1 ns" }, '
            '{ size = "2 B", time = "1 ns" }]\n[simulation]',
        ),
        (
            "[simulation]",
            '[mpi.within_node]\nhost_times = [{ size = "2 B", time = "1 us" }, '
            '{ size = "4 B", time = "1 ns" }]\n[simulation]',
        ),
        ("[simulation]", '[mpi]\nhost_times = [{ size = "0 B" }]\n[simulation]'),
        (
            '"dragonfly"\np = 2\na = 4\nh = 2',
            '"fat-tree"\ndown = [4, 4, 4]\nup = [1, 4, 4]\n'
            'optical = { circuits = "file", ports = 3 }',
        ),
        (
            '"dragonfly"\np = 2\na = 4\nh = 2',
            '"fat-tree"\ndown = [4, 4, 4]\nup = [1, 4, 4]\noptical = { matrix_file = "m" }',
        ),
        ("nodes = 8", "nodes = 0"),
        ("nodes = 8", ""),
        ("nodes = 8", "nodes = 8\nnode = 8"),
        ("nodes = 8", 'nodes = 8\nname = "noise"'),
        ("nodes = 8", 'nodes = 8\nname = ""'),
        ("nodes = 8", f"nodes = 8\nname = '{'x' * 201}'"),
        ("nodes = 8", 'nodes = 8\nplacement = "contigous"'),
        ("nodes = 8", "nodes = 8\nplacement = []"),
        ("nodes = 8", "nodes = 8\nplacement = 3"),
        ("nodes = 8", 'nodes = 8\nplacement = "5-3"'),
        ("nodes = 8", 'nodes = 8\nplacement = "7x"'),
        ("nodes = 8", 'nodes = 8\nmapping = "file"'),
        ("nodes = 8", 'nodes = 8\nmapping = "liner"'),
        ("nodes = 8", "nodes = 8\nplacement = [0, -1]"),
        ("nodes = 8", 'nodes = 8\nplacement = { policy = "grap", groups = [1] }'),
        ("nodes = 8", 'nodes = 8\nplacement = { policy = "even" }'),
        ("nodes = 8", 'nodes = 8\nplacement = { policy = "grap", mode = "custom" }'),
        ("nodes = 8", 'nodes = 8\nplacement = { policy = "even", groups = "3-1" }'),
        ("nodes = 8", 'placement = { rank_map = "map" }\nmapping = "linear"'),
        ("nodes = 8", 'nodes = 8\nmapping = { policy = "greedy", file = "m" }'),
        ("nodes = 8", 'nodes = 8\nmapping = { policy = "linear", matrix = "m" }'),
        ("nodes = 8", 'nodes = 8\nmapping = { policy = "random", objective = "hop-bytes" }'),
        (HALO, ""),
        (HALO, HALO + '\ntraffic = { pattern = "tornado", message = "1 B", load = 0.1 }'),
        (HALO, 'motif = "halo2d"'),
        (HALO, 'motif = { kind = "halo" }'),
        (HALO, "motif = { message = 3 }"),
        (HALO, 'motif = { kind = "halo2d", message = "0 B", grid = [2] }'),
        (HALO, 'motif = { kind = "collective", operation = "barrier", message = "1 B" }'),
        (
            HALO,
            'motif = { kind = "collective", operation = "alltoall", message = "1 B", root = 1 }',
        ),
        (
            HALO,
            'motif = { kind = "collective", operation = "scan", message = "1 B", algorithm = "x" }',
        ),
        (HALO, 'motif = { kind = "matrix", file = "m", receives = "in-turn" }'),
        (HALO, 'motif = { kind = "matrix", file = "m", scale = 2, total_bytes = "1 B" }'),
        (HALO, 'motif = { kind = "trace", file = "m", start = { region = "" } }'),
        (HALO, 'motif = { kind = "trace", file = "m", start = { iteration = 1 } }'),
        (HALO, 'motif = { kind = "sweep3d", cells = [1, 2], flop_rate = "0 FLOP/s" }'),
        (HALO, 'motif = { kind = "training", schedule = "2f2b" }'),
        (HALO, 'motif = { kind = "phases" }'),
        (HALO, 'motif = { kind = "phases", phases = [{ repeat = 0, phases = [] }] }'),
        (HALO, 'motif = { kind = "phases", phases = [{ compute = "1 ns" }, { kind = "halo" }] }'),
        (NOISE, 'message = "1 kB", load = 0'),
        (NOISE, 'message = "1 kB", load = "0 %"'),
        (NOISE, 'message = "1 kB", load = "90 % TGL"'),
        (NOISE, 'message = "1 kB"'),
        (NOISE, "load = 0.1"),
        (NOISE, 'message = "1 kB", load = 0.1, rate = "1 GB/s"'),
        (NOISE, 'message = "1 kB", interval = "1 us", load = 0.1'),
        (NOISE, NOISE + ', slot = "1 ns"'),
        (NOISE, NOISE + ', drift = "1 ns"'),
        (f'"uniform-random", {NOISE}', f'"stencil", {NOISE}, grid = [2, 2], dimensions = 2'),
        (f'"uniform-random", {NOISE}', f'"hot-spot", {NOISE}'),
    ],
)
def test_the_same_keys_are_refused_on_the_same_lines(old: str, new: str) -> None:
    assert old in GOOD
    text = GOOD.replace(old, new, 1)
    with pytest.raises(ScenarioError) as ours:
        Scenario.from_toml(text)
    with pytest.raises(ValueError, match=":") as theirs:
        scenario_form(text, "/")
    expected = {(problem.line, problem.path) for problem in ours.value.problems}
    lines = (
        re.match(r"(?:line (\d+): )?([\w.\[\]]+): ", one) for one in str(theirs.value).split("\n")
    )
    found = {(int(line[1] or 0), line[2]) for line in lines if line is not None}
    assert found == expected, str(theirs.value)


def test_files_are_found_from_where_the_scenario_lies() -> None:
    text = '[network]\nfamily = "edge-list"\nfile = "wiring.txt"\n'
    form: dict[str, Any] = json.loads(scenario_form(text, "/there"))
    assert form["network"]["topology"]["file"] == "/there/wiring.txt"
