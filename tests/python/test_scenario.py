"""Scenarios: files, code, changes, the engine's form, the schema."""

import json
import pickle
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import odonata
from odonata import Rate, Scenario, ScenarioError, Size
from odonata._engine import read_toml
from odonata.load import Job
from odonata.motif import Halo3d, Matrix
from odonata.network import Crossbar, Dragonfly, DragonflyLinks, Link, Routing
from odonata.scenario import Simulation, as_scenario, set_key
from odonata.scenario.schema import scenario_schema
from odonata.traffic import Traffic

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))

TWO_STENCILS = """
title = "Two stencil jobs share a small dragonfly"

[network]
family = "dragonfly"
p = 2
a = 4
h = 2
arrangement = "circulant"
routing = "minimal"

[network.links]
terminal = { bandwidth = "1 GB/s", latency = "10 ns" }
global = { bandwidth = "4 GB/s", latency = "100 ns" }

[[job]]
name = "left"
nodes = 36
placement = "spread"
motif = { kind = "halo3d", message = "1 MB", iterations = 20 }

[[job]]
ranks = 72
ranks_per_node = 2
placement = [0, 1, 2]
traffic = { pattern = "adversarial", message = "64 B", load = 0.5 }
"""


def test_file_and_code_make_the_same_scenario() -> None:
    from_code = Scenario(
        network=Dragonfly(
            p=2,
            a=4,
            h=2,
            arrangement="circulant",
            routing="minimal",
            links=DragonflyLinks(terminal={"bandwidth": "1 GB/s"}),
        ),
        job=[Job(nodes=36, motif=Halo3d(message="1 MB", iterations=20))],
    )
    from_text = Scenario.from_toml(
        """
        [network]
        family = "dragonfly"
        p = 2
        a = 4
        h = 2
        arrangement = "circulant"
        routing = "minimal"
        links.terminal.bandwidth = "1 GB/s"
        [[job]]
        nodes = 36
        motif = { kind = "halo3d", message = "1 MB", iterations = 20 }
        """
    )
    assert from_code == from_text
    assert from_code.to_toml() == from_text.to_toml()


def test_quantities_are_numbers_in_base_units() -> None:
    scenario = Scenario.from_toml(TWO_STENCILS)
    assert isinstance(scenario.network, Dragonfly)
    assert scenario.network.links.terminal.bandwidth == 10**9
    assert scenario.network.links.global_.latency == 100_000
    assert str(scenario.network.links.global_.latency) == "100 ns"


def test_the_engine_gets_integers_with_units_in_their_names() -> None:
    normalised = Scenario.from_toml(TWO_STENCILS).normalised()
    assert normalised["network"]["links"]["global"] == {
        "bandwidth_bytes_per_s": 4_000_000_000,
        "latency_ps": 100_000,
        "buffer_bytes": None,
        "kind": None,
    }
    # What is left out of a link class is the default: 16 GiB/s, 30 ns.
    assert normalised["network"]["links"]["local"]["bandwidth_bytes_per_s"] == 16 * 2**30
    left, right = normalised["jobs"]
    assert left["load"]["motif"]["kind"] == {
        "name": "halo",
        "message_bytes": 1_000_000,
        "dimensions": 3,
        "grid": None,
        "periodic": True,
    }
    assert right["name"] == "job2"
    assert right["placement"] == {"policy": "explicit", "nodes": [0, 1, 2]}
    assert right["load"]["traffic"]["offered"] == {"load": 0.5}
    assert right["load"]["traffic"]["pattern"] == {"name": "adversarial", "k": 1}


def test_keys_that_came_later_are_in_the_engine_s_form_only_where_they_are_given() -> None:
    # Points of studies are known by that form: what was simulated before stays known.
    text = TWO_STENCILS.replace(
        'motif = { kind = "halo3d",',
        'motif = { kind = "halo3d", order = "dimensions", blocking = true, periodic = false,',
    )
    text += '[mpi]\nrendezvous_completion = "acknowledged"\nsend_delay = "3.51 us"\n'
    given = Scenario.from_toml(text).normalised()
    plain = Scenario.from_toml(TWO_STENCILS).normalised()
    kind = given["jobs"][0]["load"]["motif"]["kind"]
    assert (kind["order"], kind["blocking"]) == ("dimensions", True)
    assert not {"order", "blocking"} & set(plain["jobs"][0]["load"]["motif"]["kind"])
    later = {"rendezvous_completion": "acknowledged", "send_delay_ps": 3_510_000}
    assert given["mpi"] == {**plain["mpi"], **later}
    assert not set(later) & set(plain["mpi"])


@pytest.mark.parametrize(
    ("motif", "form"),
    [
        ({"kind": "all-to-all"}, {}),
        ({"kind": "all-to-all", "blocking": True}, {"sends": {"blocking": True}}),
        ({"kind": "bisection", "order": "ascending"}, {"order": "ascending"}),
        (
            {"kind": "matrix", "file": "m.csv", "order": "ascending", "receives": "in-turn"},
            {"order": "ascending", "sends": {"receives": "in-turn"}},
        ),
    ],
)
def test_order_and_blocking_of_motifs(motif: dict[str, object], form: dict[str, object]) -> None:
    if motif["kind"] != "matrix":
        motif = {**motif, "message": "1 kB"}
    data = {"network": {"family": "dragonfly", "p": 2, "a": 4, "h": 2}}
    scenario = Scenario.from_dict({**data, "job": [{"nodes": 4, "motif": motif}]})
    kind = scenario.normalised()["jobs"][0]["load"]["motif"]["kind"]
    assert {key: kind[key] for key in ("order", "sends") if key in kind} == form


def test_receives_in_turn_need_one_order_for_all() -> None:
    motif = {"kind": "matrix", "file": "m.csv", "receives": "in-turn"}
    data = {"network": {"family": "dragonfly", "p": 2, "a": 4, "h": 2}}
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_dict({**data, "job": [{"nodes": 4, "motif": motif}]})
    assert caught.value.path == "job[0].motif.receives"
    assert "ascending" in str(caught.value)


@pytest.mark.parametrize("defaults", [False, True])
@pytest.mark.parametrize("file", [None, *EXAMPLES], ids=lambda f: f.name if f else "text")
def test_written_scenarios_read_back_equal(file: Path | None, defaults: bool) -> None:
    scenario = Scenario.from_file(file) if file else Scenario.from_toml(TWO_STENCILS)
    again = Scenario.from_toml(scenario.to_toml(defaults=defaults), file=scenario.file)
    assert again.normalised() == scenario.normalised()
    if not defaults:
        assert again == scenario


def test_paths_are_relative_to_the_scenario_and_move_with_it(tmp_path: Path) -> None:
    file = tmp_path / "scenarios" / "one.toml"
    file.parent.mkdir()
    file.write_text(
        """
        [network]
        family = "cray-xc-file"
        file = "../wiring.txt"
        [[job]]
        motif = { kind = "matrix", file = "matrix.csv" }
        """
    )
    scenario = Scenario.from_file(file)
    normalised = scenario.normalised()
    assert Path(normalised["network"]["topology"]["file"]).resolve() == tmp_path / "wiring.txt"
    results = tmp_path / "results" / "deep"
    moved = Scenario.from_toml(
        scenario.to_toml(directory=results), file=str(results / "scenario.toml")
    )
    assert isinstance(moved.job[0].motif, Matrix)
    assert moved.job[0].motif.file == "../../scenarios/matrix.csv"
    assert str(tmp_path) not in scenario.to_toml(directory=results)
    old, new = (
        Path(s.normalised()["jobs"][0]["load"]["motif"]["kind"]["file"]).resolve()
        for s in (scenario, moved)
    )
    assert old == new


# --- Changes ------------------------------------------------------------------


def test_changes_are_typed_like_toml() -> None:
    scenario = Scenario.from_toml(TWO_STENCILS).with_set(
        [
            "network.p=4",
            "job.0.motif.message=1 MiB",
            'job[0].name="first=1"',
            "network.routing=par",
            "network.links.local.latency = 20 ns",
            "job.1.placement=[3, 4]",
            "simulation.duration=1 ms",
        ]
    )
    assert isinstance(scenario.network, Dragonfly)
    assert scenario.network.p == 4
    assert scenario.network.routing == "par"
    assert scenario.network.links.local == Link(latency="20 ns")
    assert isinstance(scenario.job[0].motif, Halo3d)
    assert scenario.job[0].motif.message == Size("1 MiB")
    assert scenario.job[0].name == "first=1"
    assert scenario.job[1].placement == [3, 4]
    assert scenario.simulation.duration == 10**9


def test_an_option_of_a_named_algorithm_makes_it_a_table() -> None:
    scenario = Scenario.from_toml(TWO_STENCILS).with_set(["network.routing.choice=by-load"])
    assert scenario.network.routing == Routing(algorithm="minimal", choice="by-load")


def test_changes_from_code_keep_their_types_and_the_original() -> None:
    original = Scenario.from_toml(TWO_STENCILS)
    changed = original.with_set({"seed": 7, "network.links.terminal.bandwidth": "2 GB/s"})
    assert (original.seed, changed.seed) == (1, 7)
    assert changed.network.links.terminal.bandwidth == Rate("2 GB/s")  # type: ignore[union-attr]
    assert original.network.links.terminal.bandwidth == Rate("1 GB/s")  # type: ignore[union-attr]


def test_another_seed_is_as_a_changed_key() -> None:
    original = Scenario.from_toml(TWO_STENCILS)
    again, slowly = original.with_seed(7), original.with_set({"seed": 7})
    assert (original.seed, again.seed) == (1, 7)
    assert again == slowly
    assert again.to_toml() == slowly.to_toml() != original.to_toml()
    assert again.without_defaults() == slowly.without_defaults()
    assert again.directory == original.directory
    with pytest.raises(ScenarioError, match="seed"):
        original.with_seed(2**63)


@pytest.mark.parametrize(
    ("change", "path", "words"),
    [
        ("network.p", "--set", ["KEY=VALUE"]),
        ("network.q=3", "network.q", ["unknown key"]),
        ("job.7.nodes=3", "job[7]", ["0 to 1"]),
        ("job.middle.nodes=3", "job.middle", ["0 to 1, * or a name: left"]),
        ("network.p.x=3", "network.p", ["found 2", "no keys"]),
        ("network.p=four", "network.p", ['"four"', "whole number", "set by --set"]),
        ("job.0.motif={}", "job[0].motif.kind", ["nothing", "set by --set"]),
        ("job.0.motif.message=1 Megabyte", "job[0].motif.message", ["MB", "MiB"]),
    ],
)
def test_changes_that_make_no_sense(change: str, path: str, words: list[str]) -> None:
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_toml(TWO_STENCILS).with_set([change])
    assert caught.value.path == path
    for word in words:
        assert word in str(caught.value)


# --- Values, not places -------------------------------------------------------


def test_scenarios_are_immutable_and_survive_pickling() -> None:
    scenario = Scenario.from_toml(TWO_STENCILS, file="there/scenario.toml")
    with pytest.raises(AttributeError, match=r"seed cannot be assigned; .*with_set"):
        scenario.seed = 3
    with pytest.raises(TypeError, match=r"p cannot be assigned; .*with_set"):
        scenario.network["p"] = 3
    again = pickle.loads(pickle.dumps(scenario))
    assert again == scenario
    assert again.directory == Path("there")


def test_defaults_do_not_depend_on_each_other() -> None:
    scenario = Scenario(network=Crossbar(nodes=4))
    assert scenario.normalised()["network"]["routing"]["algorithm"] == "shortest-path"
    assert scenario.simulation == Simulation()
    traffic = Traffic(pattern="tornado", message="64 B", interval="1 us")
    assert traffic.engine_form()["offered"] == {"interval_ps": 1_000_000}


def test_defaults_of_the_engine_are_those_of_the_files() -> None:
    from odonata import _engine

    engine = json.loads(_engine.default_scenario())
    files = Scenario(network=Dragonfly(p=1, a=1, h=1, g=2)).normalised()
    links = files["network"].pop("links")
    assert engine["network"].pop("links") == {}  # left out: the engine's own
    assert files == engine
    given, left_out = (
        _engine.topology(json.dumps({**files, "network": {**files["network"], "links": classes}}))
        for classes in (links, {})
    )
    assert given["description"] == left_out["description"]


def test_an_option_left_at_its_default_leaves_no_trace_in_the_engines_form() -> None:
    """Points of studies are known by this form, older ones than the option among them."""
    usual = Routing(algorithm="par")
    assert usual == Routing(algorithm="par", per="packet")

    def form(routing: Routing) -> dict[str, Any]:
        network = Dragonfly(p=1, a=1, h=1, g=2, routing=routing)
        found: dict[str, Any] = Scenario(network=network).normalised()["network"]["routing"]
        return found

    assert "per" not in form(usual)
    assert form(Routing(algorithm="par", per="message"))["per"] == "message"


# --- Schema -------------------------------------------------------------------


def test_the_schema_is_one_and_describes_every_key() -> None:
    schema = scenario_schema()
    jsonschema.Draft202012Validator.check_schema(schema)

    def undescribed(name: str, table: dict[str, object]) -> list[str]:
        properties = table.get("properties", {})
        assert isinstance(properties, dict)
        described = {
            # A description that equals that of the table it refers to stands only there.
            key: value.get("description")
            or schema["$defs"][value["$ref"].rsplit("/", 1)[-1]].get("description")
            for key, value in properties.items()
        }
        return [f"{name}.{key}" for key, text in described.items() if not text]

    missing = undescribed("", schema)
    for name, table in schema["$defs"].items():
        assert table["additionalProperties"] is False, name
        missing += undescribed(name, table)
    assert missing == []
    assert "null" not in json.dumps(schema)


def test_quantities_in_the_schema_tell_their_units() -> None:
    latency = scenario_schema()["$defs"]["LongLink"]["properties"]["latency"]
    assert latency["x-quantity"] == "duration"
    assert "µs" in latency["x-units"]
    assert latency["default"] == "300 ns"


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda f: f.name)
def test_examples_pass_the_schema_and_the_models(file: Path) -> None:
    data = read_toml(file.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(scenario_schema()).validate(data)
    Scenario.from_file(file)


def test_a_link_class_of_a_wiring_file_may_leave_its_kind_out(tmp_path: Path) -> None:
    # Only a key that says which of several tables is meant is required beyond what the models need.
    (tmp_path / "pair.txt").write_text("0 1\n", encoding="utf-8")
    data = {
        "network": {
            "family": "edge-list",
            "file": str(tmp_path / "pair.txt"),
            "links": {"fast": {"bandwidth": "1 GB/s"}},
        },
        "job": [{"nodes": 2, "motif": {"kind": "all-to-all", "message": "1 KiB"}}],
    }
    schema = jsonschema.Draft202012Validator(scenario_schema())
    schema.validate(data)
    Scenario.from_dict(data)
    del data["network"]["family"]  # type: ignore[attr-defined]
    with pytest.raises(jsonschema.ValidationError):
        schema.validate(data)


@pytest.mark.parametrize(
    "change",
    [
        {"network.p": "four"},
        {"network.links.global.latency": "10 lightyears"},
        {"network.links.global.latency": 10},
        {"network.famly": "dragonfly"},
        {"job.0.motif.kind": "halo5d"},
        {"job.0.placement": 3},
        {"network.routing": "minimul"},
    ],
)
def test_schema_and_models_refuse_the_same(change: dict[str, object]) -> None:
    scenario = Scenario.from_toml(TWO_STENCILS)
    data = scenario.to_dict()
    for key, value in change.items():
        set_key(data, key, value)
    with pytest.raises(ScenarioError):
        Scenario.from_dict(data)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(scenario_schema()).validate(data)


def test_there_are_examples() -> None:
    assert EXAMPLES
    assert odonata.Scenario is Scenario


def test_a_file_may_lack_what_is_set(tmp_path: Path) -> None:
    """It has no end by itself; what is wrong with a change is told, not what the file lacks."""
    file = tmp_path / "endless.toml"
    file.write_text(
        '[network]\nfamily = "torus"\nsize = [4]\n'
        "[[job]]\nnodes = 4\n"
        'traffic = { pattern = "uniform-random", load = 0.1, message = "1 KiB" }\n'
    )
    with pytest.raises(ScenarioError, match=r"simulation\.duration: found nothing"):
        Scenario.from_file(file)
    changed = Scenario.from_file(file, changes=["simulation.duration=10us"])
    assert changed.simulation.duration == 10_000_000
    assert as_scenario(file, {"simulation.duration": "10 us"}) == changed
    assert odonata.run(file, set={"simulation.duration": "10 us"}).meta["end_ps"] == 10_000_000
    with pytest.raises(ScenarioError, match=r"simulation\.duraton: unknown key \(did you mean"):
        Scenario.from_file(file, changes=["simulation.duraton=10us"])
