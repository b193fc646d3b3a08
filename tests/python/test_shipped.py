"""What the package brings along to start from: examples, and first scenarios."""

from __future__ import annotations

import json
import runpy
from collections import Counter
from pathlib import Path

import pytest

import odonata
from command import call
from odonata import Scenario
from odonata.cli.init import FAMILIES as OFFERED
from odonata.scenario.starting import FAMILIES, first_scenario
from odonata.scenario.toml_source import parse_toml
from odonata.shipped import EXAMPLES

ROOT = Path(__file__).resolve().parents[2]


def test_the_files_are_what_their_makers_make() -> None:
    made = runpy.run_path(str(ROOT / "tools" / "example_files.py"))["written"]()
    for name, content in made.items():
        assert (ROOT / "python" / "odonata" / "examples" / name).read_bytes() == content


def _files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_every_file_belongs_to_an_example() -> None:
    there = _files(ROOT / "python" / "odonata" / "examples")
    assert there == {file for one in EXAMPLES.values() for file in one.files}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_copied_whole(name: str, tmp_path: Path) -> None:
    done = call("example", name, "--out", tmp_path / "new", "--json", directory=tmp_path)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert _files(tmp_path / "new") == set(EXAMPLES[name].files)
    # Nothing is missing that it names.
    if answer["file"].endswith(".toml"):
        assert Scenario.from_file(answer["file"]).title
    again = call("example", name, "--out", tmp_path / "new", directory=tmp_path)
    assert again.returncode != 0
    assert "exists already" in again.stderr


def test_examples_are_listed_and_names_checked(tmp_path: Path) -> None:
    assert "job-log" in call("example", directory=tmp_path).stdout
    assert list(json.loads(call("example", "--json", directory=tmp_path).stdout)) == list(EXAMPLES)
    wrong = call("example", "demon", directory=tmp_path)
    assert wrong.returncode == 2
    assert "allowed: demo, two-stencils" in " ".join(wrong.stderr.split())
    with pytest.raises(KeyError, match="there are demo"):
        odonata.example("demon", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_trace_replays_to_its_end(tmp_path: Path) -> None:
    done = call(
        *("replay", odonata.example("trace", tmp_path), "--no-plots", "--json"), directory=tmp_path
    )
    (job,) = json.loads(done.stdout)["jobs"]
    # 16 ranks, 4 neighbours, 4 steps.
    assert job["messages_delivered"] == 16 * 4 * 4
    assert job["bytes_delivered"] == 256 * 262_144
    assert job["run_time_ps"] > 4 * 20_000_000  # computing alone, on the least loaded rank


def test_the_archive_of_mpi_replays_to_its_end(tmp_path: Path) -> None:
    done = call(
        *("replay", odonata.example("otf2", tmp_path), "--no-plots", "--json"), directory=tmp_path
    )
    (job,) = json.loads(done.stdout)["jobs"]
    # 4 ranks, 2 neighbours, 4 steps.
    assert job["messages_delivered"] == 4 * 2 * 4
    assert job["bytes_delivered"] == 32 * 262_144
    assert job["run_time_ps"] > 4 * 21_500_000  # computing alone, on the most loaded rank


def test_the_dumpi_trace_replays_to_known_messages(tmp_path: Path) -> None:
    file = odonata.example("dumpi", tmp_path)
    read = json.loads(call("trace", "show", file, "--json", directory=tmp_path).stdout)
    (trace,) = read["traces"]
    calls = {kind["kind"]: kind["records"] for kind in trace["kinds"]}
    # 4 ranks; 2 neighbours and an addition in each of 4 steps.
    assert calls == {
        **{f"MPI_{once}": 4 for once in ("Init", "Comm_rank", "Comm_size", "Finalize")},
        "MPI_Isend": 32,
        "MPI_Irecv": 32,
        "MPI_Waitall": 16,
        "MPI_Allreduce": 16,
    }
    done = call(
        *("replay", file, "--no-plots", "--json", "--set", "record.messages=all", "--out", "out"),
        directory=tmp_path,
    )
    (job,) = json.loads(done.stdout)["jobs"]
    # By recursive doubling, 4 ranks add a number up in 2 rounds of a message of 8 B from each.
    sizes = Counter(odonata.Result.load(tmp_path / "out").messages["bytes"].to_pylist())
    assert sizes == {262_144: 4 * 2 * 4, 8: 4 * 2 * 4}
    assert job["bytes_delivered"] == 32 * 262_144 + 32 * 8
    assert job["run_time_ps"] > 4 * 21_500_000  # computing alone, on the most loaded rank


# --- First scenarios ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "routing"), [(f, r) for f, one in FAMILIES.items() for r in one.routings]
)
def test_first_scenarios_are_safe(family: str, routing: str, tmp_path: Path) -> None:
    done = call(
        *("init", "mine.toml", "--family", family, "--nodes", "100", "--routing", routing),
        directory=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    proof = call("verify", "mine.toml", "--json", directory=tmp_path)
    assert json.loads(proof.stdout)["safe"], proof.stdout


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("nodes", [2, 3, 17, 1_024, 20_000])
def test_networks_are_large_enough(family: str, nodes: int) -> None:
    scenario = Scenario.from_dict(parse_toml(first_scenario(family, nodes=nodes), "first"))
    network = scenario.network
    size = {
        "dragonfly": lambda n: n.p * n.a * (n.g or n.a * n.h + 1),
        "dragonfly+": lambda n: n.p * n.leaves * (n.g or n.spines * n.h + 1),
        "fat-tree": lambda n: n.nodes,
        "torus": lambda n: n.size[0] * n.size[1] * n.size[2],
        "hyperx": lambda n: n.size[0] * n.size[1] * n.p,
        "crossbar": lambda n: n.nodes,
    }[family](network)
    assert size >= nodes
    assert scenario.job[0].nodes == nodes


def test_a_first_scenario_runs(tmp_path: Path) -> None:
    for name, options in (("stencil", ()), ("traffic", ("--load", "0.3"))):
        file = f"{name}.toml"
        done = call(
            "init", file, "--family", "fat-tree", "--nodes", "16", *options, directory=tmp_path
        )
        assert done.returncode == 0, done.stderr
        ran = call("run", file, "--no-plots", "--json", "--set", "seed=2", directory=tmp_path)
        assert json.loads(ran.stdout)["jobs"][0]["messages_delivered"] > 0


def test_the_command_offers_all_families() -> None:
    assert tuple(FAMILIES) == OFFERED


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--family", "ring"), "'ring' is not one of"),
        (("--nodes", "1"), "1 is not in the range"),
        (("--family", "torus", "--routing", "par"), 'found "par"; allowed: of torus'),
        (("--load", "2"), "2.0 is not in the range"),
    ],
)
def test_wrong_wishes_are_refused(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    done = call("init", *arguments, directory=tmp_path)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "scenario.toml").write_text("mine")
    done = call("init", directory=tmp_path)
    assert done.returncode != 0
    assert "exists already" in done.stderr
    assert (tmp_path / "scenario.toml").read_text() == "mine"
