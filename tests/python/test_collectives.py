"""Collectives of scenarios: their names, what they send, and errors."""

import json

import pytest

from odonata import Scenario, ScenarioError, _engine, names
from odonata.collectives import ALGORITHMS

ROOTED = [one for one, keys in names.OPERATION_OPTIONS.items() if "root" in keys]

NETWORK = {"family": "dragonfly", "p": 2, "a": 2, "h": 1}


def scenario(operation: str, mpi: dict[str, object] | None = None, **motif: object) -> Scenario:
    message = {} if operation == "barrier" else {"message": "600 B"}
    whole = {"kind": "collective", "operation": operation, **message, **motif}
    job = {"nodes": 6, "motif": whole}
    return Scenario.from_dict({"network": NETWORK, "mpi": mpi or {}, "job": [job]})


def messages(what: Scenario) -> int:
    found = _engine.run(what.normalised_json())
    return int(found["jobs"]["messages_delivered"][0])


@pytest.mark.parametrize("operation", ALGORITHMS)
def test_the_engine_knows_the_same_names(operation: str) -> None:
    for name in ALGORITHMS[operation]:
        assert messages(scenario(operation, algorithm=name)) > 0
    unknown = json.loads(scenario(operation).normalised_json())
    unknown["jobs"][0]["load"]["motif"]["kind"]["algorithm"] = "none"
    with pytest.raises(Exception, match=r"use one of: (.*)") as caught:
        _engine.run(json.dumps(unknown))
    assert ", ".join(ALGORITHMS[operation]) in str(caught.value)
    assert "job[0].motif.algorithm" in str(caught.value)


@pytest.mark.parametrize("operation", [*ALGORITHMS, "alltoallv"])
def test_settings_reach_the_engine(operation: str) -> None:
    if operation == "exclusive-scan":
        return
    key = operation.replace("-", "_")
    for name in ALGORITHMS.get(operation, ("auto", "pairwise", "linear", "scattered")):
        settings: dict[str, object] = {"collectives": {key: name}}
        assert messages(scenario("allreduce", settings)) > 0
    unknown = json.loads(scenario("allreduce").normalised_json())
    unknown["mpi"]["collectives"]["algorithms"][operation] = "none"
    with pytest.raises(Exception, match=r"mpi\.collectives\." + key):
        _engine.run(json.dumps(unknown))


def test_what_is_named_is_carried_out() -> None:
    # Around the ring twice five blocks, from each of six ranks.
    assert messages(scenario("allreduce", algorithm="ring")) == 60
    assert messages(scenario("allreduce", {"collectives": {"allreduce": "ring"}})) == 60
    # Two pairs fold in and out; four ranks have two partners each.
    doubling = scenario("allreduce", {"collectives": {"allreduce": "ring"}}, algorithm="auto")
    assert messages(doubling) == 60
    assert messages(scenario("allreduce", algorithm="recursive-doubling")) == 2 + 8 + 2
    # 600 B to each of six: MPICH takes all at once, as fewer than eight do without
    # Bruck's; three rounds would be 18 messages.
    assert messages(scenario("alltoall")) == 30
    assert messages(scenario("alltoall", algorithm="bruck")) == 18
    assert messages(scenario("alltoall", algorithm="bruck", iterations=3)) == 54


def test_libraries_choose() -> None:
    # Among six, MPICH's gather is a tree of six, Open MPI's linear. Both send five
    # messages; those of the tree carry what was gathered.
    def sent(mpi: dict[str, object]) -> int:
        found = _engine.run(scenario("gather", mpi).normalised_json())
        return int(found["jobs"]["bytes_delivered"][0])

    assert sent({"collectives": "open-mpi"}) == sent({"collectives": {"gather": "linear"}}) == 3000
    # 1, 3 and 5 send one block, 2 sends two, 4 sends two.
    assert sent({"collectives": "mpich"}) == sent({}) == 600 * (3 + 2 + 2)


def test_combining_takes_time() -> None:
    def end(mpi: dict[str, object]) -> int:
        found = _engine.run(scenario("scan", mpi, algorithm="linear").normalised_json())
        return int(found["jobs"]["end_ps"][0])

    # Each of five ranks combines 600 B at 1 GB/s before the next one can.
    slower = end({"collectives": {"combine_bandwidth": "1 GB/s"}}) - end({})
    assert slower == 5 * 600_000


@pytest.mark.parametrize(
    ("motif", "path", "words"),
    [
        ({"operation": "bcast", "message": "1 B"}, "operation", ["bcast", "broadcast"]),
        ({"operation": "allreduce"}, "message", ["nothing", "a size"]),
        ({"operation": "barrier", "message": "1 B"}, "message", ["1 B", "no data"]),
        (
            {"operation": "scan", "message": "1 B", "root": 1},
            "root",
            ["1", ", ".join(ROOTED)],
        ),
        (
            {"operation": "gather", "message": "1 B", "algorithm": "ring"},
            "algorithm",
            ['"ring"', "auto, linear, binomial"],
        ),
    ],
)
def test_errors_say_what_is_allowed(motif: dict[str, object], path: str, words: list[str]) -> None:
    job = {"nodes": 6, "motif": {"kind": "collective", **motif}}
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_dict({"network": NETWORK, "job": [job]})
    assert f"job[0].motif.{path}" in str(caught.value)
    for word in words:
        assert word in str(caught.value)


def test_wrong_settings_name_their_key() -> None:
    for settings, path in [
        ("mvapich", "mpi.collectives"),
        ({"allreduce": "bruck"}, "mpi.collectives.allreduce"),
        ({"allredcue": "ring"}, "mpi.collectives.allredcue"),
        ({"segment": "0 B"}, "mpi.collectives.segment"),
    ]:
        with pytest.raises(ScenarioError) as caught:
            scenario("barrier", {"collectives": settings})
        assert path in str(caught.value)


def test_a_root_beyond_the_ranks() -> None:
    with pytest.raises(Exception, match=r"job\[0\]\.motif\.root.*ranks are 0 to 5"):
        _engine.run(scenario("broadcast", root=6).normalised_json())
