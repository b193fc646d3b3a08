"""Functions of others: found, named like ours, part of what a scenario is known by, checked."""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import odonata
from odonata import Scenario, ScenarioError, plug_ins
from odonata.cli.commands import odonata as command
from odonata.errors import PlugInError
from odonata.plug_ins.calls import Compute, OrderCall, Receive, Send, measured, priorities, resolved
from odonata.scenario.files import fingerprint_of
from odonata.scenario.schema import scenario_schema
from odonata.scenario.toml_source import parse_toml
from odonata.study.dataset import read_dataset
from odonata.study.file import StudyFile
from odonata.study.run import estimate
from odonata.study.sweep import Sweep
from test_batch import EXAMPLE as LOG
from test_batch import starts, swf

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "plug-ins" / "python"
MODULE = "odonata_plug_in_example"

NETWORK = {"family": "dragonfly", "p": 2, "a": 4, "h": 2}
EXCHANGE = {"kind": "all-to-all", "message": "1 KiB"}


def install(folder: Path, name: str = "odonata-plug-in-example") -> Path:
    """What an installer leaves of the example, under the name of a distribution."""
    project = parse_toml((EXAMPLE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    groups = [
        "\n".join([f"[{group}]", *(f"{key} = {value}" for key, value in points.items())])
        for group, points in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n\n".join(groups) + "\n")
    module = folder / f"{MODULE}.py"
    module.write_bytes((EXAMPLE / f"{MODULE}.py").read_bytes())
    return module


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    module = install(tmp_path / "installed")
    monkeypatch.syspath_prepend(str(module.parent))
    yield module
    sys.modules.pop(MODULE, None)


@pytest.fixture
def registered() -> Iterator[Any]:
    """Registers functions for one test."""
    names: list[tuple[plug_ins.Kind, str]] = []

    def register(kind: plug_ins.Kind, function: Any, name: str = "mine") -> None:
        plug_ins.register(kind, name, function)
        names.append((kind, name))

    yield register
    for kind, name in names:
        plug_ins.unregister(kind, name)


def scenario(**job: Any) -> Scenario:
    return Scenario.from_dict({"network": NETWORK, "job": [{"nodes": 8, "motif": EXCHANGE, **job}]})


def call(*arguments: str | Path) -> Any:
    return CliRunner().invoke(command, [str(argument) for argument in arguments])


def test_the_example_runs(installed: Path, tmp_path: Path) -> None:
    what = Scenario.from_file(EXAMPLE / "scenario.toml")
    with resolved(what, what.normalised()) as form:
        ring, reversal = form["jobs"]
        # Every third of the 72 nodes, and of those that are left every second.
        assert ring["placement"]["nodes"] == list(range(0, 48, 3))
        left = [node for node in range(72) if node % 3 or node >= 48]
        assert reversal["placement"]["nodes"] == [*left[::2], *left[1::2]][:32]
        assert ring["mapping"]["node_of_rank"] == list(range(15, -1, -1))
    result = odonata.run(what)
    jobs = {job["name"]: job for job in result.summary_dict["jobs"]}
    # Two rounds of 16 ranks, and of 32 numbers of five bits the 8 that read the same backwards
    # have nobody to send to.
    assert jobs["ring"]["messages_delivered"] == 2 * 16
    assert jobs["ring"]["bytes_delivered"] == 2 * 16 * 4096
    assert jobs["ring"]["run_time_ps"] >= 2 * 16 * 1_000_000
    assert jobs["reversal"]["messages_delivered"] == 24 * 20
    data = parse_toml((EXAMPLE / "scenario.toml").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(scenario_schema()).validate(data)


def test_they_are_commands_names_too_and_results_run_again(installed: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = call("run", EXAMPLE / "scenario.toml", "--out", out, "--no-plots", "--quiet")
    assert done.exit_code == 0, done.output
    kept = Scenario.from_file(out / "scenario.toml")
    assert fingerprint_of(kept) == fingerprint_of(Scenario.from_file(EXAMPLE / "scenario.toml"))
    log = tmp_path / "example.swf"
    log.write_text(swf(*LOG))
    ordered = odonata.schedule(log, policy="fcfs", order="smallest-area")
    # Node-seconds that are asked for: 60, 80, 36, 32, 200. At 2 the fourth goes beside the
    # first; at 10, when both end, the third comes before the second, which has too few nodes
    # until 19, and the last fits beside that.
    assert starts(ordered) == [0, 19, 10, 2, 19]
    done = call("schedule", log, "--order", "smallest-area", "--out", tmp_path / "s", "--no-plots")
    assert done.exit_code == 0, done.output
    options = json.loads((tmp_path / "s" / "result.json").read_text())["schedules"]
    assert options["easy/smallest-area"]["order"]["kind"] == "smallest-area"


def test_what_a_plug_in_does_is_part_of_a_scenario(installed: Path) -> None:
    what = scenario(placement="every-other")
    before, other = fingerprint_of(what), fingerprint_of(scenario())
    same = scenario(placement={"plug_in": "every-other"})
    more = scenario(placement={"plug_in": "every-other", "parameters": {"stride": 4}})
    assert fingerprint_of(same) == before != fingerprint_of(more)
    installed.write_text(installed.read_text() + "\n# Changed.\n")
    assert fingerprint_of(what) != before
    assert fingerprint_of(scenario()) == other


@pytest.mark.usefixtures("simulated_here")
def test_a_study_keeps_what_a_plug_in_measures_and_knows_when_it_changed(
    installed: Path, tmp_path: Path
) -> None:
    study = tmp_path / "study.toml"
    study.write_text(
        """
title = "Placements"
[scenario]
network = { family = "dragonfly", p = 2, a = 4, h = 2 }
[[scenario.job]]
nodes = 8
motif = { kind = "all-to-all", message = "4 KiB" }
[[scenario.job]]
nodes = 8
motif = { kind = "all-to-all", message = "16 KiB" }
[[axis]]
key = "job.*.placement"
values = ["contiguous", "every-other"]
[[measure]]
plug_in = "slowest-over-fastest"
name = "spread"
"""
    )
    out = tmp_path / "out"
    done = call("study", study, "--out", out)
    assert done.exit_code == 0, done.output
    spread = read_dataset(out)["spread"].to_pylist()
    assert all(value > 1 for value in spread) and spread[0] != spread[1]

    def done_points() -> int:
        return estimate(Sweep(StudyFile.from_file(study)).points, out).done

    assert done_points() == 2
    installed.write_text(installed.read_text() + "\n# Changed.\n")
    assert done_points() == 0


def test_registered_functions_are_known_to_the_processes_of_a_study(
    installed: Path, registered: Any, tmp_path: Path
) -> None:
    import odonata_plug_in_example as example  # type: ignore[import-not-found]

    registered("placement", example.every_other)
    study = tmp_path / "study.toml"
    study.write_text(
        """
title = "One point"
[scenario]
network = { family = "dragonfly", p = 2, a = 4, h = 2 }
[[scenario.job]]
nodes = 8
placement = "mine"
motif = { kind = "all-to-all", message = "4 KiB" }
[[measure]]
figure = "job.job1.messages_delivered"
"""
    )
    done = call("study", study, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert read_dataset(tmp_path / "out")["messages_delivered"].to_pylist() == [8 * 7]


def test_random_numbers_follow_the_seed(registered: Any) -> None:
    registered("placement", lambda job: job.random.permutation(job.machine.free)[: job.nodes])

    def nodes(seed: int) -> list[int]:
        what = scenario(placement="mine").with_set({"seed": seed})
        with resolved(what, what.normalised()) as form:
            found: list[int] = form["jobs"][0]["placement"]["nodes"]
            return found

    assert nodes(1) == nodes(1) != nodes(2)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ([0, 1, 2, 3, 4, 5, 6, 6], "returned the node 6 twice"),
        ([0, 1, 2], "returned 3 numbers; allowed: 8 free nodes"),
        ([0, 1, 2, 3, 4, 5, 6, 72], "returned the node 72; allowed: nodes from 0 to 71"),
        ([0, 1, 2, 3, 4, 5, 6, 8], "the node 8, which another job has"),
        ([[0, 1], [2, 3]], "of shape (2, 2); allowed: a list of 8 free nodes"),
        ([[0], [1, 2]], "allowed: a list of 8 free nodes"),
        ("nodes", "allowed: a list of 8 free nodes"),
        (None, "allowed: a list of 8 free nodes"),
        ([0.5] * 8, "an array of float64"),
        # What has no end, or a billion items, is taken no further than there are nodes.
        (itertools.count(), "returned more than 8 items; allowed: a list of 8 free nodes"),
        (range(10**9), "returned more than 8 items"),
        ([range(10**9)], "returned more than 8 items"),
        ([[[range(10**9)]]], "lists in lists of lists"),
        (np.broadcast_to(0, 10**12), "an array of int64 of shape (1000000000000,)"),
        ([10**400] * 8, "an array of object"),
        ({0, 1, 2, 3, 4, 5, 6, 7}, "allowed: a list of 8 free nodes"),
        ((1 // (3 - node) for node in range(8)), "it failed: ZeroDivisionError"),
    ],
)
def test_a_placement_that_makes_no_sense_is_told(
    registered: Any, returned: Any, message: str
) -> None:
    registered("placement", lambda job: returned)
    job = {"nodes": 8, "motif": EXCHANGE}
    before = {**job, "name": "before", "placement": list(range(8, 16))}
    what = Scenario.from_dict({"network": NETWORK, "job": [before, {**job, "placement": "mine"}]})
    with pytest.raises(ScenarioError) as error:
        odonata.run(what)
    assert error.value.path == "job[1].placement"
    assert 'placement "mine" (registered' in str(error.value) and message in str(error.value)


@pytest.mark.parametrize(
    ("kind", "returned", "message"),
    [
        ("mapping", [0] * 8, "put 8 ranks on the node 0; allowed: 1 on a node"),
        ("mapping", [*range(7), 8], "returned 8; allowed: indices from 0 to 7"),
        ("pattern", [1, 2, 3, 4, 5, 6, 7, 8], "destination 8; allowed: ranks from 0 to 7"),
        ("pattern", [[1.0, 2.0]] * 8, "an array of shape (8, 2)"),
        ("pattern", [[-1.0] * 8] * 8, "negative or no number"),
        ("pattern", list(range(8)), "nobody sends anything"),
        ("application", [[]] * 7, "returned 7 lists of steps; allowed: 8"),
        ("application", [[Send(9, 8)]] * 8, "step 0 of rank 0 names the rank 9"),
        ("application", [[Compute("1 ps")]] * 8, "allowed: whole nanoseconds"),
        ("application", [[[Send(1, "3 parsec")]]] * 8, 'found unit "parsec"'),
        ("application", [["send"]] * 8, "allowed: Compute, Send, Receive, or a list of them"),
        ("application", 3, "allowed: a list of steps per rank"),
        ("mapping", itertools.repeat(0), "returned more than 8 items"),
        ("pattern", itertools.repeat([0.0]), "returned more than 8 items; allowed: an array of"),
        ("pattern", [itertools.repeat(0.0)] * 8, "returned more than 8 items"),
        ("pattern", [[10**400] * 8] * 8, "returned no numbers"),
        ("application", itertools.repeat([]), "returned more than 8 items"),
        ("application", [itertools.repeat(Compute("1 ns"))] * 8, "more than 1,000 items"),
        ("application", [[Compute("1 ns")] * 600] * 8, "more than 400 items"),
        ("application", [[[Compute("1 ns")] * 1001]] * 8, "more than 1,000 steps"),
        ("application", [itertools.repeat([])] * 8, "more than 1,000 items"),
        ("application", [[Send("one", 8)]] * 8, "step 0 of rank 0: 'str' object"),
        ("application", [[Send(1.5, 8)]] * 8, "step 0 of rank 0: 'float' object"),
    ],
)
def test_others_that_make_no_sense_are_told(
    registered: Any,
    monkeypatch: pytest.MonkeyPatch,
    kind: plug_ins.Kind,
    returned: Any,
    message: str,
) -> None:
    # That so many steps are refused does not depend on how many there may be.
    monkeypatch.setattr("odonata.plug_ins.calls.MOST_STEPS", 1_000)
    registered(kind, lambda job: returned)
    traffic = {"pattern": "mine", "load": 0.1, "message": "1 KiB", "messages": 1}
    job: dict[str, Any] = {
        "mapping": {"motif": EXCHANGE, "mapping": "mine"},
        "pattern": {"traffic": traffic},
        "application": {"motif": {"kind": "mine"}},
    }[kind]
    with pytest.raises(ScenarioError) as error:
        odonata.run(Scenario.from_dict({"network": NETWORK, "job": [{"nodes": 8, **job}]}))
    place = {"mapping": "mapping", "pattern": "traffic.pattern", "application": "motif.kind"}
    assert error.value.path == f"job[0].{place[kind]}"
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("kind", "returned", "message"),
    [
        ("order", range(10**9), "returned more than 2 items; allowed: an array of shape (2,)"),
        ("order", [10**400] * 2, "returned no numbers; allowed: a priority for each job"),
        ("measure", 10**400, "a whole number beyond 1.8e308"),
        ("measure", [0] * 10**6, "returned [0, 0, 0, 0, 0, 0, ...]; allowed: a number"),
    ],
)
def test_orders_and_measures_that_make_no_sense_are_told(
    kind: plug_ins.Kind, returned: Any, message: str
) -> None:
    mine = plug_ins.PlugIn(kind, "mine", lambda job: returned, "of a test")
    with pytest.raises(PlugInError) as error:
        if kind == "measure":
            measured(mine, None)
        else:
            jobs = pa.table({"id": ["1", "2"]})
            priorities(mine, OrderCall(jobs, 8, np.random.default_rng(1)))
    assert message in str(error.value)


def test_steps_side_by_side_end_before_the_next(registered: Any) -> None:
    # Ranks 0 and 1 exchange at once, and compute once both messages are there.
    def both(job: Any) -> list[list[Any]]:
        return [
            [[Send(1 - rank, "1 MiB"), Receive(1 - rank, "1 MiB")], Compute("50 us")]
            for rank in range(2)
        ]

    registered("application", both)
    result = odonata.run(scenario(nodes=2, motif={"kind": "mine"}))
    (job,) = result.summary_dict["jobs"]
    # 16 GiB/s of the terminal links: 61 us for 1 MiB, both ways at once.
    assert 61 + 50 < job["run_time_ps"] / 1e6 < 2 * 61 + 50


def test_a_function_that_fails_is_named_with_its_line(registered: Any) -> None:
    def failing(job: Any) -> None:
        raise ValueError("no idea")

    registered("placement", failing)
    with pytest.raises(ScenarioError, match=r"it failed: ValueError: no idea \(line \d+ of test_p"):
        odonata.run(scenario(placement="mine"))


def test_names_that_are_none_are_told_with_those_that_are(registered: Any) -> None:
    registered("placement", list, "corner")
    registered("pattern", list, "corner")
    for keys, path in (
        ({"placement": "conrer"}, "job[0].placement"),
        ({"placement": {"plug_in": "conrer"}}, "job[0].placement.plug_in"),
    ):
        with pytest.raises(ScenarioError, match="corner") as error:
            scenario(**keys)
        assert error.value.path == path
    with pytest.raises(ScenarioError, match=r"hot-spot.*corner"):
        traffic = {"pattern": "conrer", "load": 0.1, "message": "1 KiB"}
        Scenario.from_dict({"network": NETWORK, "job": [{"nodes": 8, "traffic": traffic}]})
    for kind, name, function, message in (
        ("placement", "spread", list, "Odonata has one of that name"),
        ("application", "halo3d", list, "Odonata has one of that name"),
        ("placement", "a b", list, "allowed: letters, digits"),
        ("routing", "mine", list, 'found the kind "routing"'),
        ("placement", "mine", 3, "allowed: a function"),
    ):
        with pytest.raises(PlugInError, match=message):
            plug_ins.register(kind, name, function)  # type: ignore[arg-type]


def test_a_plug_in_is_no_phase(registered: Any) -> None:
    registered("application", list)
    phases = {"kind": "phases", "phases": [EXCHANGE, {"kind": "mine"}]}
    with pytest.raises(ScenarioError, match="a plug-in is the motif of a whole job") as error:
        scenario(motif=phases)
    assert error.value.path == "job[0].motif.phases[1].kind"


def test_distributions_with_the_same_name_and_broken_ones_are_told(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = install(tmp_path / "other", "another-example")
    points = next(other.parent.glob("*.dist-info")) / "entry_points.txt"
    points.write_text("[odonata.placement]\nevery-other = nothing_of_that_name:corner\n")
    monkeypatch.syspath_prepend(str(other.parent))
    with pytest.raises(PlugInError, match=r"odonata-plug-in-example 1\.0.*have one each"):
        odonata.run(scenario(placement="every-other"))
    points.write_text("[odonata.placement]\ncorner = nothing_of_that_name:corner\n")
    # Entry points are read once for a search path.
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(PlugInError, match="cannot be imported: ModuleNotFoundError"):
        odonata.run(scenario(placement="corner"))


def test_the_crate_of_plug_ins_says_what_it_needs() -> None:
    """Its sources are compiled and run by crates/odonata/tests/plug_ins.rs; its manifest is not."""
    crate = EXAMPLE.parent / "rust"
    manifest = parse_toml((crate / "Cargo.toml").read_text(encoding="utf-8"))
    assert manifest["workspace"] == {}
    named = {name.replace("-", "_") for name in manifest["dependencies"]}
    text = "".join(file.read_text(encoding="utf-8") for file in (crate / "src").glob("*.rs"))
    used = set(re.findall(r"^use (\w+)", text, flags=re.M)) - {"std"}
    assert used == named
    for one in manifest["dependencies"].values():
        assert "path" not in one or (crate / one["path"] / "Cargo.toml").is_file()
    workspace = parse_toml((crate.parents[2] / "Cargo.toml").read_text(encoding="utf-8"))
    assert manifest["profile"]["quick"] == workspace["profile"]["quick"]


@pytest.mark.skipif(
    not os.environ.get("ODONATA_BUILD_CRATES"),
    reason="takes 130 s of processor time; set ODONATA_BUILD_CRATES=1",
)
def test_the_crate_of_plug_ins_builds_by_itself_and_runs() -> None:
    root, crate = EXAMPLE.parents[2], EXAMPLE.parent / "rust"
    shutil.copyfile(root / "Cargo.lock", crate / "Cargo.lock")
    command = ["cargo", "run", "--quiet", "--profile", "quick", "--target-dir", root / "target"]
    done = subprocess.run(
        [*command, "--", "scenario.toml"], cwd=crate, capture_output=True, text=True, check=True
    )
    assert "deadlock-free" in done.stdout
    assert "ring on nodes [0, 2, 4, 6, 8, 10, 12, 14]: 24 messages, 24576 bytes" in done.stdout
