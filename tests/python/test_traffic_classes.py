"""Traffic classes as users ask for them, and what they read of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from rich.console import Console

from odonata import Result, Scenario, display, interference, run, sweep, verify
from odonata.errors import ScenarioError
from odonata.report.summaries import print_summary

#: Two jobs that each offer 90 % of the one link between two routers.
NETWORK = """
[network]
family = "hyperx"
size = [2]
p = 2
links = { terminal = { bandwidth = "10 GB/s" }, local = { bandwidth = "10 GB/s" } }

[simulation]
warmup = "100 us"
duration = "500 us"
"""
RATE = 10e9
#: Virtual channels of which two classes would have 18.
NINE = {"network.routing": {"algorithm": "dimension-order", "virtual_channels": 9}}


def traffic_class(name: str, **keys: object) -> str:
    lines = [f"{key} = {json.dumps(value)}" for key, value in {"name": name, **keys}.items()]
    return "\n".join(["[[network.router.traffic_class]]", *lines, ""])


def job(name: str, node: int, more: str = "") -> str:
    return f"""
[[job]]
name = "{name}"
placement = [{node}, {node + 2}]
nodes = 2
traffic = {{ pattern = "bisection-pairs", message = "4 KiB", load = 0.9 }}
{more}
"""


def scenario(directory: Path, *parts: str) -> Scenario:
    file = directory / "scenario.toml"
    file.write_text("\n".join((NETWORK, *parts)), encoding="utf-8")
    return Scenario.from_file(file)


def two(directory: Path, first: str, second: str, *more: str) -> Scenario:
    """Both jobs, each of the class of its name."""
    classes = (first, second, *more)
    jobs = (job(name, node, f'traffic_class = "{name}"') for node, name in enumerate("ab"))
    return scenario(directory, *classes, *jobs)


def shares(result: Result) -> dict[str, float]:
    """What each class got of the link."""
    rows = result.table("traffic_classes").to_pylist()
    return {row["name"]: row["accepted_bytes_per_s"] / (2 * RATE) for row in rows}


def test_classes_get_their_shares_of_an_overloaded_link(tmp_path: Path) -> None:
    # Both ways, so that half of what each job gets passes each direction: 60 % and a third of the
    # rest, and two thirds of it.
    a = traffic_class("a", guaranteed="40 %")
    b = traffic_class("b", weight=2)
    result = run(two(tmp_path, a, b))
    console = Console(record=True, width=80)
    print_summary(console, result, None)
    printed = [" ".join(line.split()) for line in console.export_text().splitlines()]
    for row in result.table("traffic_classes").to_pylist():
        offered, delivered = (row[f"{which}_bytes_per_s"] for which in ("offered", "accepted"))
        assert f"{row['name']} 1 {display.rate(offered)} {display.rate(delivered)}" in printed
    found = shares(result)
    assert found["a"] == pytest.approx(0.4 + 0.6 / 3, rel=0.01)
    assert found["b"] == pytest.approx(0.6 * 2 / 3, rel=0.01)
    assert [row["jobs"] for row in result.table("traffic_classes").to_pylist()] == [1, 1]


def test_a_job_without_a_class_is_of_the_first(tmp_path: Path) -> None:
    classes = (traffic_class("a", largest="30 %"), traffic_class("b"))
    jobs = (job("one", 0), job("two", 1, 'traffic_class = "b"'))
    found = shares(run(scenario(tmp_path, *classes, *jobs)))
    assert found["a"] == pytest.approx(0.3, rel=0.01)
    assert found["b"] == pytest.approx(0.7, rel=0.01)


def test_without_classes_there_are_none(tmp_path: Path) -> None:
    result = run(scenario(tmp_path, job("one", 0)))
    assert result.table("traffic_classes").num_rows == 0


def test_results_do_not_depend_on_threads(tmp_path: Path) -> None:
    classes = (traffic_class("a", guaranteed="40 %"), traffic_class("b", largest="35 %"))
    one = run(two(tmp_path, *classes))
    threads = run(two(tmp_path, *classes).with_set({"simulation.threads": 2}))
    for name in ("traffic_classes", "jobs", "links"):
        assert one.table(name).equals(threads.table(name))


def test_the_proof_counts_the_channels_of_all_classes(tmp_path: Path) -> None:
    plain = verify(scenario(tmp_path, job("one", 0)))
    of_two = verify(two(tmp_path, traffic_class("a"), traffic_class("b")))
    assert of_two.safe and of_two.proven
    assert of_two.virtual_channels == 2 * plain.virtual_channels
    assert of_two.channels == 2 * plain.channels


def test_who_may_starve_is_said(tmp_path: Path) -> None:
    high = traffic_class("b", priority=1)
    (notice,) = two(tmp_path, traffic_class("a"), high).notices()
    assert '"a" may get nothing' in notice and '"b", of higher priority' in notice
    assert two(tmp_path, traffic_class("a", guaranteed="1 %"), high).notices() == []


def test_interference_and_sweeps_have_classes(tmp_path: Path) -> None:
    classes = (traffic_class("a"), traffic_class("b", priority=1))
    found = interference(two(tmp_path, *classes))
    plain = interference(scenario(tmp_path, job("a", 0), job("b", 1)))
    # Of 180 % the one of higher priority gets its 90 %, and half of what there is without.
    assert found.slowdown("b") < 1.5 < 5 < plain.slowdown("b")
    said: list[str] = []
    keys = {"network.router.credit_use": ["link", "crossbar"]}
    swept = sweep(two(tmp_path, *classes), keys, notice=said.append)
    assert swept.table.num_rows == 2
    assert [sentence.split(" may")[0] for sentence in said] == ['traffic class "a"']


@pytest.mark.parametrize(
    ("classes", "change", "words"),
    [
        (("guaranteed", "60 %", "50 %"), {}, ["traffic_class", "110.000 % guaranteed in all"]),
        (("largest", "60 %", "0 %"), {}, ["traffic_class[1].largest", "0.1 %"]),
        (("priority", 1, 2), {"simulation.engine": "flow"}, ["traffic_class", "none, as flows"]),
        (("priority", 1, 1), {"network.router.crossbar": 2}, ["traffic_class", "bounded crossbar"]),
        (
            ("weight", 1, 1),
            NINE,
            ["18 (9 for each of 2 classes)"],
        ),
        (("weight", 1, 1), {"job.a.traffic_class": "c"}, ["job[0].traffic_class", '"a", "b"']),
        (("weight", 1, 1), {"job.a.traffic_class": "b"}, ["traffic_class[0]", "no job's"]),
    ],
)
def test_flaws_name_their_key(
    tmp_path: Path,
    classes: tuple[str, object, object],
    change: dict[str, object],
    words: list[str],
) -> None:
    key, a, b = classes
    with pytest.raises(ScenarioError) as raised:
        given = two(tmp_path, traffic_class("a", **{key: a}), traffic_class("b", **{key: b}))
        run(given.with_set(change))
    for word in words:
        assert word in str(raised.value)


def test_more_guaranteed_than_the_largest_share_is_refused(tmp_path: Path) -> None:
    a = traffic_class("a", guaranteed="60 %", largest="50 %")
    with pytest.raises(ScenarioError, match="no more than its largest share, 50 %"):
        run(two(tmp_path, a, traffic_class("b")))


def test_a_class_needs_classes(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"job\[0\]\.traffic_class"):
        run(scenario(tmp_path, job("one", 0, 'traffic_class = "a"')))


#: One job on both routers: a collective of few bytes, then an exchange of many.
PHASES = """
[[job]]
name = "both"
nodes = 4
motif = {{ kind = "phases", phases = [
  {{ kind = "collective", operation = "allreduce", message = "8 B" }},
  {{ kind = "all-to-all", message = "64 KiB", window = 3 {bulk} }},
] }}
{more}
"""


def phases(directory: Path, bulk: str, *more: str) -> Scenario:
    classes = (traffic_class("a"), traffic_class("b"))
    text = PHASES.format(bulk=bulk, more="\n".join(more))
    network = NETWORK.split("[simulation]", maxsplit=1)[0]
    file = directory / "phases.toml"
    file.write_text("\n".join((network, *classes, text)), encoding="utf-8")
    return Scenario.from_file(file)


def message_class(name: str, **keys: object) -> str:
    given = {"traffic_class": name, **keys}.items()
    return "\n".join(["[[job.message_class]]", *(f"{key} = {json.dumps(v)}" for key, v in given)])


#: 4 ranks, 12 messages: of the exchange by its motif, of the collective 8 bytes each.
BULK = 12 * 65_536
SMALL = 4 * 2 * 8


@pytest.mark.parametrize(
    ("bulk", "more", "of_b"),
    [
        (', traffic_class = "b"', [], BULK),
        ("", [message_class("b", collective="allreduce")], SMALL),
        ("", [message_class("b", up_to="8 B")], SMALL),
        ("", [message_class("b", up_to="1 MiB")], BULK + SMALL),
        ("", [message_class("a", up_to="8 B"), message_class("b", up_to="64 KiB")], BULK),
        (', traffic_class = "a"', [message_class("b", collective="allreduce")], SMALL),
        (', traffic_class = "b"', [message_class("b", up_to="8 B")], BULK + SMALL),
    ],
)
def test_motifs_collectives_and_sizes_name_classes(
    tmp_path: Path, bulk: str, more: list[str], of_b: int
) -> None:
    given = phases(tmp_path, bulk, *more)
    result = run(given)
    rows = {row["name"]: row for row in result.table("traffic_classes").to_pylist()}
    assert rows["b"]["bytes_delivered"] == rows["b"]["bytes_created"] == of_b
    assert rows["a"]["bytes_delivered"] == rows["a"]["bytes_created"] == BULK + SMALL - of_b
    assert [row["jobs"] for row in rows.values()] == [1, 1]
    threads = run(given.with_set({"simulation.threads": 2}))
    assert threads.table("traffic_classes").equals(result.table("traffic_classes"))
    assert threads.table("iterations").equals(result.table("iterations"))


def test_requests_and_grants_have_a_class_and_count_in_none(tmp_path: Path) -> None:
    given = phases(tmp_path, "", message_class("b", control=True))
    asks = {"mpi.eager_limit": "1 KiB"}
    result = run(given.with_set(asks))
    rows = {row["name"]: row for row in result.table("traffic_classes").to_pylist()}
    assert (rows["a"]["bytes_delivered"], rows["b"]["bytes_delivered"]) == (BULK + SMALL, 0)
    assert verify(given.with_set(asks)).safe


@pytest.mark.parametrize(
    ("bulk", "more", "words"),
    [
        (', traffic_class = "c"', [], ["job[0].motif.phases[1].traffic_class", '"a", "b"']),
        ("", [message_class("c", up_to="1 B")], ["job[0].message_class[0].traffic_class"]),
        (
            "",
            [message_class("b", up_to="7 B")],
            ["job[0].message_class[0]", "no message of the job"],
        ),
        ("", [message_class("b", collective="barrier")], ["message_class[0]", "no message"]),
        ("", [message_class("b", control=True)], ["message_class[0]", "mpi.eager_limit"]),
        (
            "",
            [message_class("b", up_to="9 B"), message_class("a", collective="allreduce")],
            ["job[0].message_class[1]", "no entry before it is for"],
        ),
        (
            ', traffic_class = "b"',
            [message_class("a", up_to="8 B")],
            ["message_class[0]", "of another class"],
        ),
        ("", [message_class("b")], ["message_class[0]", "none of them"]),
        ("", [message_class("b", control=True, up_to="1 KiB")], ["message_class[0]", "alone"]),
        (
            "",
            [message_class("b", control=True), message_class("a", control=True)],
            ["message_class[1]", "another one"],
        ),
        (
            ', traffic_class = "b"',
            [message_class("a", up_to="64 KiB")],
            ["job[0].motif.phases[1].traffic_class", "of no message"],
        ),
    ],
)
def test_classes_of_messages_that_make_no_sense_are_refused(
    tmp_path: Path, bulk: str, more: list[str], words: list[str]
) -> None:
    with pytest.raises(ScenarioError) as raised:
        run(phases(tmp_path, bulk, *more))
    for word in words:
        assert word in str(raised.value)


def test_only_phases_and_programs_have_classes_beside_the_job(tmp_path: Path) -> None:
    two_classes = (traffic_class("a"), traffic_class("b"))
    of_traffic = job("one", 0, message_class("b", up_to="8 KiB"))
    with pytest.raises(ScenarioError, match="all messages of traffic are of its"):
        run(scenario(tmp_path, *two_classes, of_traffic))
    motif = '{ kind = "all-to-all", message = "1 KiB", traffic_class = "b" }'
    whole = f"[[job]]\nnodes = 4\nmotif = {motif}"
    with pytest.raises(ScenarioError, match=r"job\[0\]\.motif\.traffic_class.*only of a phase"):
        run(scenario(tmp_path, *two_classes, whole))
