"""Files that a scenario names are known by what they hold, everywhere."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from odonata import _engine
from odonata.errors import CheckpointError, ScenarioError, SimulationError
from odonata.scenario import Scenario
from odonata.scenario.files import (
    difference,
    fingerprint_of,
    fingerprints_of,
    missing_files,
    named_files,
    words,
)
from odonata.simulate import run
from odonata.simulate.checkpoint import Checkpoint
from odonata.study.execution import Point, Store, run_points
from odonata.study.file import StudyFile
from odonata.study.interference import interference
from odonata.study.run import estimate, run_sweep
from odonata.study.saturation import find_saturation
from odonata.study.sweep import Sweep
from odonata.table import CLASSES

DRAGONFLY = {"family": "dragonfly", "p": 2, "a": 4, "h": 2}

#: A study's result depends on the scenarios of its points.
TABLES = (Scenario, *(one for one in CLASSES.values() if one.__module__ != "odonata.study.file"))

#: Keys with plain texts that name no file. Whoever adds a key of texts decides: here, or a file.
NO_FILES = {
    *("Failures.hosts", "Failures.switches", "Outage.hosts", "Outage.switches"),
    *("Failures.circuits", "Outage.circuits"),
    "NodeNetwork.links",
    *("LinkFailure.interface", "LinkFailure.port", "LinkFailure.switches"),
    *("MarkerBorder.marker", "RegionBorder.region"),
    "Scenario.title",
    *("Job.name", "TrafficClass.name"),
    # Of a job, of some of its messages, and of every motif.
    *(f"{one.__name__}.traffic_class" for one in TABLES),
    "Collective.algorithm",
    *("Arrivals.links", "DrawnFailures.link_class"),
    *("HostRange.names", "Machine.name"),
    *("Nccl.algo", "Nccl.proto"),
    *("Reading.columns", "Reading.separator", "Reservation.users"),
    *("PlugInMotif.kind", "PlugInTraffic.pattern"),
    *("PlacementPlugIn.plug_in", "MappingPlugIn.plug_in"),
}


def test_every_key_of_texts_names_a_file_or_is_known_not_to() -> None:
    undecided, named = set(), set()
    for table in TABLES:
        for key in table.keys.values():
            called = f"{table.__name__}.{key.key}"
            if key.file_parts is not None:
                named.add(called)
                continue
            # A key whose description speaks of a file relative to something is one.
            assert "elative to the scenario" not in key.text, called
            texts = ("text", {"list": "text"})
            if key.kind in texts and called not in NO_FILES and not key.words:
                undecided.add(called)
    assert not undecided
    assert {"MappingTable.matrix", "ReconfigurableDragonfly.circuits_file"} <= named
    assert {"Trace.file", "Codes.inter_file", "Phases.file", "EdgeList.file"} <= named


# --- One scenario for every key that names files ------------------------------------------

CSV = "0,0,9,0\n0,0,0,9\n9,0,0,0\n0,9,0,0\n"
CHANGED_CSV = "0,9,0,0\n0,0,9,0\n0,0,0,9\n9,0,0,0\n"


def _scenario(folder: Path, **parts: Any) -> Scenario:
    data: dict[str, Any] = {"network": DRAGONFLY, "job": []}
    return Scenario.from_dict({**data, **parts}, directory=folder)


def _matrix(folder: Path) -> tuple[Scenario, Path]:
    (folder / "m.csv").write_text(CSV)
    return _scenario(
        folder, job=[{"name": "a", "motif": {"kind": "matrix", "file": "m.csv"}}]
    ), folder / "m.csv"


def _mapping(folder: Path) -> tuple[Scenario, Path]:
    (folder / "m.csv").write_text(CSV)
    job = {
        "nodes": 4,
        "mapping": {"policy": "greedy", "matrix": "m.csv"},
        "motif": {"kind": "all-to-all", "message": "1 KiB"},
    }
    return _scenario(folder, job=[job]), folder / "m.csv"


def _mapping_file(folder: Path) -> tuple[Scenario, Path]:
    (folder / "map.txt").write_text("0\n1\n2\n3\n")
    job = {
        "nodes": 4,
        "mapping": {"file": "map.txt"},
        "motif": {"kind": "all-to-all", "message": "1 KiB"},
    }
    return _scenario(folder, job=[job]), folder / "map.txt"


def _rank_map(folder: Path) -> tuple[Scenario, Path]:
    (folder / "map.txt").write_text("0\n1\n2\n3\n")
    job = {
        "placement": {"rank_map": "map.txt"},
        "motif": {"kind": "all-to-all", "message": "1 KiB"},
    }
    return _scenario(folder, job=[job]), folder / "map.txt"


def _hosts(folder: Path) -> tuple[Scenario, Path]:
    (folder / "hosts.txt").write_text("n[0-71] 0\n")
    return _scenario(folder, machine={"hosts_file": "hosts.txt"}), folder / "hosts.txt"


def _jobs_beside(folder: Path) -> tuple[Scenario, Path]:
    (folder / "jobs.txt").write_text("n[0-3]\nn[4-7]\n")
    machine = {"background": {"jobs": "jobs.txt"}}
    return _scenario(folder, machine=machine), folder / "jobs.txt"


def _part_of_a_trace(folder: Path) -> tuple[Scenario, Path]:
    meta = ("hostname=here", "numprocs=2", "fileprefix=app", "version=1", "subversion=1")
    (folder / "app.meta").write_text("\n".join((*meta, "subsubversion=0", "")))
    for rank in range(2):
        (folder / f"app-{rank:04}.bin").write_bytes(b"what this rank did")
    job = {"motif": {"kind": "trace", "file": "app.meta"}}
    return _scenario(folder, job=[job]), folder / "app-0001.bin"


def _matrix_in_a_file_of_phases(folder: Path) -> tuple[Scenario, Path]:
    inner = folder / "inner"
    inner.mkdir(exist_ok=True)
    (inner / "m.csv").write_text(CSV)
    (inner / "phases.toml").write_text('[[phases]]\nkind = "matrix"\nfile = "m.csv"\n')
    job = {"nodes": 4, "motif": {"kind": "phases", "file": "inner/phases.toml"}}
    return _scenario(folder, job=[job]), inner / "m.csv"


def _network_file(key: str, **more: Any) -> Callable[[Path], tuple[Scenario, Path]]:
    def make(folder: Path) -> tuple[Scenario, Path]:
        (folder / "w.txt").write_text("some wiring\n")
        return _scenario(folder, network={**more, key: "w.txt"}), folder / "w.txt"

    return make


def _traffic_of_pods(folder: Path) -> tuple[Scenario, Path]:
    (folder / "w.txt").write_text("some traffic\n")
    optical = {"circuits": "matrix", "matrix_file": "w.txt", "switch_ports": 4}
    tree = {"family": "fat-tree", "down": [2, 2, 2], "up": [2, 2], "optical": optical}
    return _scenario(folder, network=tree), folder / "w.txt"


def _codes_list(folder: Path) -> tuple[Scenario, Path]:
    (folder / "net.conf").write_text(
        'PARAMS\n{\n   intra-group-connections="intra";\n   inter-group-connections="inter";\n}\n'
    )
    (folder / "intra").write_bytes(b"\0" * 24)
    (folder / "inter").write_bytes(b"\0" * 24)
    return _scenario(folder, network={"family": "codes", "file": "net.conf"}), folder / "inter"


def _schedule(file: str, text: str, **keys: Any) -> Callable[[Path], tuple[Scenario, Path]]:
    def make(folder: Path) -> tuple[Scenario, Path]:
        (folder / "log.swf").write_text("; MaxNodes: 4\n")
        (folder / file).write_text(text)
        schedule = {"schedule": {"log": "log.swf", **keys}}
        return Scenario.from_dict(schedule, directory=folder), folder / file

    return make


def _wiring_of_a_machine(folder: Path) -> tuple[Scenario, Path]:
    inner = folder / "inner"
    inner.mkdir(exist_ok=True)
    (inner / "w.txt").write_text("some wiring\n")
    machine = '[network]\nfamily = "edge-list"\nfile = "w.txt"\n'
    network = {"level": "flow", "machine": "inner/machine.toml"}
    scenario, _ = _schedule("inner/machine.toml", machine, network=network)(folder)
    return scenario, inner / "w.txt"


def _dumped(key: str) -> Callable[[Path], tuple[Scenario, Path]]:
    """A directory of tables, of which one file is another."""

    def make(folder: Path) -> tuple[Scenario, Path]:
        (folder / "dump").mkdir(exist_ok=True)
        for name in ("opensm-lfts.dump", "ibnetdiscover.txt", "path-records.txt", "w.txt"):
            (folder / "dump" / name).write_text("some tables\n")
        named = {} if key == "tables" else {key: "dump/w.txt"}
        routing = {"algorithm": "forwarding-tables", "tables": "dump", **named}
        name = "opensm-lfts.dump" if key == "tables" else "w.txt"
        return _scenario(folder, network={**DRAGONFLY, "routing": routing}), folder / "dump" / name

    return make


RECONFIGURABLE = {"family": "reconfigurable-dragonfly", "p": 2}
CASES = {
    "matrix": _matrix,
    "mapping.matrix": _mapping,
    "mapping.file": _mapping_file,
    "placement.rank_map": _rank_map,
    "part of a trace": _part_of_a_trace,
    "in a file of phases": _matrix_in_a_file_of_phases,
    "arrangement": _network_file("arrangement_file", **DRAGONFLY, arrangement="custom"),
    "circuits": _network_file("circuits_file", **RECONFIGURABLE, a=4, h=2, g=3, circuits="file"),
    "traffic of pods": _traffic_of_pods,
    "wiring": _network_file("wiring_file", **RECONFIGURABLE, g=3),
    "cray": _network_file("file", family="cray-xc-file"),
    "edge list": _network_file("file", family="edge-list"),
    "graphml": _network_file("file", family="graphml"),
    "gml": _network_file("file", family="gml"),
    "anynet": _network_file("file", family="anynet"),
    "ibnetdiscover": _network_file("file", family="ibnetdiscover"),
    "tables": _dumped("tables"),
    "subnet": _dumped("subnet"),
    "service levels": _dumped("service_levels"),
    "codes": _network_file("file", family="codes"),
    "a list that a configuration of CODES names": _codes_list,
    "schedule.log": _schedule("log.swf", "; MaxNodes: 4\n"),
    "speed-ups": _schedule(
        "gains.csv", "traffic,nodes\n", network={"level": "table", "speed_ups": "gains.csv"}
    ),
    "wiring of a schedule's machine": _wiring_of_a_machine,
}
#: Files that a run does not depend on.
ASIDE = {"machine.hosts_file": _hosts, "machine.background.jobs": _jobs_beside}


@pytest.mark.parametrize("case", CASES)
def test_a_file_may_move_but_not_change(case: str, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    scenario, file = CASES[case](tmp_path / "here")
    before, answer = fingerprint_of(scenario), words(scenario)
    assert not missing_files(scenario)
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    moved = Scenario.from_dict(scenario.to_dict(), directory=tmp_path / "there")
    assert fingerprint_of(moved) == before
    assert difference(answer, words(moved)) is None
    # Content of the same length, and at once: neither size nor a coarse time stamp tells it.
    content = bytearray(file.read_bytes())
    content[-2] ^= 1
    file.write_bytes(content)
    assert fingerprint_of(scenario) != before
    found = difference(answer, words(scenario))
    assert found is not None
    assert "the file" in found
    file.unlink()
    assert fingerprint_of(scenario) != before


def test_a_run_does_not_depend_on_the_names_of_hosts(tmp_path: Path) -> None:
    scenario, file = _hosts(tmp_path)
    before = fingerprint_of(scenario)
    file.write_text("m[0-71] 0\n")
    assert fingerprint_of(scenario) == before


def test_every_key_that_names_files_has_a_case(tmp_path: Path) -> None:
    covered = set()
    for number, make in enumerate([*CASES.values(), *ASIDE.values()]):
        folder = tmp_path / str(number)
        folder.mkdir()
        for file in named_files(make(folder)[0]):
            covered.add(str(file.place[-1]))
    keys = {
        key.key for table in TABLES for key in table.keys.values() if key.file_parts is not None
    }
    # The lists of CODES by themselves are read as those of a configuration are.
    assert keys - covered == {"intra_file", "inter_file"}


def test_a_saved_scenario_names_the_same_files(tmp_path: Path) -> None:
    for number, make in enumerate([*CASES.values(), *ASIDE.values()]):
        folder = tmp_path / str(number)
        (folder / "results" / "x").mkdir(parents=True)
        scenario, _ = make(folder)
        saved = folder / "results" / "x" / "scenario.toml"
        saved.write_text(scenario.to_toml(directory=saved.parent))
        again = Scenario.from_file(saved)
        assert not missing_files(again)
        assert fingerprint_of(again) == fingerprint_of(scenario)
        # Both together may move.
        moved = folder.rename(tmp_path / f"moved-{number}")
        again = Scenario.from_file(moved / "results" / "x" / "scenario.toml")
        assert not missing_files(again)


def test_fingerprints_of_scenarios_without_files_are_those_of_always(tmp_path: Path) -> None:
    one = _scenario(tmp_path, job=[{"nodes": 4, "motif": {"kind": "halo2d", "message": "1 MB"}}])
    other = Scenario.from_dict({**one.to_dict(), "title": "other"}, directory=tmp_path / "x")
    assert fingerprint_of(one) == fingerprint_of(other.with_set(["simulation.threads=3"]))
    assert fingerprint_of(one) != fingerprint_of(one.with_set(["seed=2"]))


def test_of_seeds_and_what_has_them_is_known_at_once(tmp_path: Path) -> None:
    """Nothing but the seed may differ in what the engine gets, of runs and of schedules."""
    seeds = [0, 1, 7, 2**63 - 1]
    for number, make in enumerate([*CASES.values(), *ASIDE.values()]):
        folder = tmp_path / str(number)
        folder.mkdir()
        scenario, _ = make(folder)
        slowly = [scenario.with_set({"seed": seed}) for seed in seeds]
        assert fingerprints_of(scenario, seeds) == [fingerprint_of(one) for one in slowly]
        assert [scenario.with_seed(seed) for seed in seeds] == slowly


# --- Who simulates again ------------------------------------------------------------------


@pytest.fixture
def matrix(tmp_path: Path) -> Iterator[Path]:
    """A matrix that some job exchanges, in the working directory."""
    before = Path.cwd()
    os.chdir(tmp_path)
    (tmp_path / "m.csv").write_text(CSV)
    yield tmp_path / "m.csv"
    os.chdir(before)


def _two_jobs(folder: Path) -> Scenario:
    return _scenario(
        folder,
        job=[
            {"name": "a", "nodes": 4, "motif": {"kind": "matrix", "file": "m.csv"}},
            {"name": "b", "nodes": 8, "motif": {"kind": "all-to-all", "message": "1 KiB"}},
        ],
    )


@pytest.mark.usefixtures("simulated_here")
def test_a_study_simulates_again_what_a_changed_file_decides(matrix: Path) -> None:
    study = StudyFile.from_dict(
        {
            "title": "stale",
            "scenario": {
                "network": DRAGONFLY,
                "job": [
                    {
                        "nodes": 4,
                        "mapping": {"policy": "greedy", "matrix": "m.csv"},
                        "motif": {"kind": "all-to-all", "message": "1 KiB"},
                    }
                ],
            },
            "axis": [{"key": "network.routing", "values": ["minimal", "valiant"]}],
            "measure": [{"figure": "job.*.run_time_ps", "reduce": "maximum"}],
        },
        file=str(matrix.parent / "study.toml"),
    )
    (matrix.parent / "study.toml").write_text("")
    out = matrix.parent / "out"
    answer: list[str] = []
    run_sweep(Sweep(study), out, notice=answer.append)
    assert not answer
    assert estimate(Sweep(study).points, out).done == 2
    matrix.write_text(CHANGED_CSV)
    sweep = Sweep(study)
    cost = estimate(sweep.points, out)
    assert cost.done == 0
    assert "2 that were simulated before" in cost.outdated[0]
    assert "m.csv (job[0].mapping.matrix) changed since" in cost.outdated[0]
    run_sweep(sweep, out, notice=answer.append)
    assert answer[: len(cost.outdated)] == list(cost.outdated)
    # What was shown before differs, and is kept.
    assert len(answer) == len(cost.outdated) + 1
    assert "earlier-1" in answer[-1]
    # What was simulated with the old file is still known.
    matrix.write_text(CSV)
    assert estimate(Sweep(study).points, out).done == 2


def test_a_study_says_which_file_is_missing(matrix: Path) -> None:
    study = StudyFile.from_dict(
        {
            "title": "missing",
            "scenario": {
                "network": DRAGONFLY,
                "job": [{"nodes": 4, "motif": {"kind": "matrix", "file": "m.csv"}}],
            },
            "axis": [{"key": "job.0.motif.file", "name": "file", "values": ["m.csv", "n.csv"]}],
            "measure": [{"figure": "job.*.run_time_ps", "reduce": "maximum"}],
        },
        file=str(matrix.parent / "study.toml"),
    )
    with pytest.raises(ScenarioError, match=r'axis\[0\].values\[1\].*"n.csv", which is no file'):
        Sweep(study)


def test_interference_and_saturation_simulate_again(matrix: Path) -> None:
    scenario = _two_jobs(matrix.parent)
    first = interference(scenario, out=matrix.parent / "i", notice=pytest.fail)
    matrix.write_text(CHANGED_CSV)
    answer: list[str] = []
    second = interference(scenario, out=matrix.parent / "i", notice=answer.append)
    assert first.slowdowns != second.slowdowns
    assert "m.csv (job[0].motif.file) changed since" in answer[0]

    data = scenario.to_dict()
    data["simulation"] = {"duration": "5 us", "packet": "512 B"}
    data["job"] = [
        {
            "nodes": 4,
            "mapping": {"policy": "greedy", "matrix": "m.csv"},
            "traffic": {"pattern": "uniform-random", "message": "512 B", "load": 0.1},
        }
    ]
    loaded = Scenario.from_dict(data, directory=matrix.parent)
    find_saturation(loaded, matrix.parent / "s", tolerance=0.5, notice=pytest.fail)
    matrix.write_text(CSV)
    answer.clear()
    find_saturation(loaded, matrix.parent / "s", tolerance=0.5, notice=answer.append)
    assert "m.csv (job[0].mapping.matrix) changed since" in answer[0]


def test_records_of_another_build_are_not_taken(
    matrix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = Point("one", _two_jobs(matrix.parent))
    file = matrix.parent / "points.jsonl"
    store = Store(file)
    run_points([point], store=store)
    assert store.outdated([point]) == []
    store.close()
    with monkeypatch.context() as other:
        other.setattr(_engine, "SOURCES", "0123")
        store = Store(file)
        assert store.get(point) is None
        assert "another build of Odonata" in store.outdated([point])[0]
        store.close()
    # As it was before builds were noted.
    entry = json.loads(file.read_text())
    old = {"name": "one", "fingerprint": "0", "record": entry["record"]}
    file.write_text(json.dumps(old) + "\n")
    store = Store(file)
    assert "not known which build" in store.outdated([point])[0]
    store.close()


def test_a_file_that_changes_meanwhile_spoils_the_point(matrix: Path) -> None:
    def keep(result: Any) -> dict[str, Any]:
        matrix.write_text(CHANGED_CSV)
        return {"figure": 1}

    file = matrix.parent / "points.jsonl"
    store = Store(file)
    with pytest.raises(SimulationError, match="changed while it was simulated"):
        run_points([Point("one", _two_jobs(matrix.parent), keep)], store=store)
    store.close()
    assert file.read_text() == ""


# --- Resuming -----------------------------------------------------------------------------


def _stopped(scenario: Scenario, directory: Path) -> None:
    def stop(now: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(scenario, checkpoint=Checkpoint(directory), progress=stop)
    assert (directory / "checkpoint").exists()


def _endless(folder: Path, **job: Any) -> Scenario:
    return _scenario(
        folder,
        simulation={"packet": "512 B", "duration": "1 s"},
        job=[
            {
                "nodes": 12,
                "traffic": {"pattern": "uniform-random", "message": "2 KiB", "load": 0.5},
                **job,
            }
        ],
    )


def test_a_changed_matrix_is_refused_by_its_name(matrix: Path) -> None:
    row = ",".join(["0"] * 11)
    matrix.write_text("\n".join([f"{row},9"] * 11 + [f"9,{row}"]) + "\n")
    scenario = _endless(matrix.parent, mapping={"policy": "greedy", "matrix": "m.csv"})
    out = matrix.parent / "out"
    _stopped(scenario, out)
    matrix.write_text("\n".join([f"{row},8"] * 11 + [f"8,{row}"]) + "\n")
    expected = r"job\[0\].mapping.matrix: the file m.csv does not hold what it held then"
    with pytest.raises(CheckpointError, match=expected):
        run(scenario, checkpoint=Checkpoint(out))


@pytest.mark.parametrize(
    ("change", "words_of_it"),
    [
        ("job.0.traffic.load=0.25", "job[0].traffic.load was 0.5 there and is 0.25 here"),
        ("job.0.traffic.message=1 KiB", 'job[0].traffic.message was "2 KiB" there and is "1 KiB"'),
        ("network.p=3", "network.p was 2 there and is 3 here"),
        (
            "network.links.global.latency=7 ns",
            'network.links.global.latency was not given there and is "7 ns" here',
        ),
        ("simulation.duration=2 s", 'simulation.duration was "1 s" there and is "2 s" here'),
        ("record.messages=all", 'record.messages was not given there and is "all" here'),
        ("mpi.eager_limit=1 KiB", 'mpi.eager_limit was not given there and is "1 KiB" here'),
        ("network.routing=valiant", 'network.routing was not given there and is "valiant"'),
        ("job.0.placement=spread", 'job[0].placement was not given there and is "spread"'),
    ],
)
def test_another_scenario_is_refused_in_its_own_words(
    change: str, words_of_it: str, tmp_path: Path
) -> None:
    scenario = _endless(tmp_path)
    _stopped(scenario, tmp_path / "out")
    with pytest.raises(CheckpointError) as refused:
        run(scenario.with_set([change]), checkpoint=Checkpoint(tmp_path / "out"))
    assert words_of_it in str(refused.value)
    # A name and the table that it stands for are one.
    assert difference({"routing": "par"}, {"routing": {"algorithm": "par"}}) is None
