"""What Slurm tells of a cluster, in every form, and who sits where."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from command import call
from odonata import Scenario
from odonata.errors import ClusterError
from odonata_live.cluster import jobs, model
from odonata_live.cluster.occupancy import occupancy
from odonata_live.cluster.topologies import read_topology

DATA = Path(__file__).parents[3] / "shared" / "data"
SLURM = DATA / "slurm-outputs"


def has(path: Path) -> pytest.MarkDecorator:
    return pytest.mark.skipif(not path.exists(), reason=f"needs {path.name} of the shared data")


# --- Nodes, partitions, reservations --------------------------------------------------

TEXT = """NodeName=n0 Arch=x86_64 CPUTot=4 ActiveFeatures=fat,gpu Gres=(null) RealMemory=1000 \
State=IDLE+DRAIN Partitions=main,small  Reason=State=odd words
NodeName=n1 CPUTot=4 ActiveFeatures=(null) RealMemory=1000 State=IDLE Partitions=main
NodeName=n2 CPUTot=4 State=DOWN* Partitions=main
NodeName=n3 CPUTot=4 State=MIXED Partitions=main
NodeName=n4 CPUTot=4 State=IDLE+PLANNED Partitions=main
NodeName=n5 CPUTot=4 State=IDLE+CLOUD+POWERED_DOWN Partitions=main
NodeName=n6 CPUTot=4 State=IDLE+COMPLETING Partitions=main
NodeName=n7 CPUTot=4 State=IDLE+SOMETHING_NEW Partitions=main
"""
IDLE = {"n1", "n4", "n5"}
WORKS = {"n1", "n3", "n4", "n5", "n6"}


def check_nodes(nodes: dict[str, model.Node]) -> None:
    assert {name for name, node in nodes.items() if node.is_idle} == IDLE
    assert {name for name, node in nodes.items() if node.works} == WORKS
    assert nodes["n4"].is_planned


def test_nodes_of_text() -> None:
    nodes = model.read_node_list(TEXT)
    check_nodes(nodes)
    assert nodes["n0"].features == {"fat", "gpu"}
    assert nodes["n0"].partitions == ("main", "small")
    # With and without --oneliner.
    check_nodes(model.read_node_list(TEXT.replace(" State=", "\n   State=")))


@pytest.mark.parametrize("new", [False, True])
def test_nodes_of_json(new: bool) -> None:
    listed = []
    for line in TEXT.splitlines():
        fields = next(model.records(line, "NodeName"))
        words = fields["State"].rstrip("*").split("+")
        words += ["NOT_RESPONDING"] if "*" in fields["State"] else []
        node = {"name": fields["NodeName"], "partitions": fields["Partitions"].split(",")}
        state = {"state": words} if new else {"state": words[0].lower(), "state_flags": words[1:]}
        features = ["fat"] if new else "fat"
        listed.append({**node, **state, "active_features": features})
    nodes = model.read_node_list(json.dumps({"nodes": listed}))
    check_nodes(nodes)
    assert nodes["n3"].features == {"fat"}


def test_states_of_sinfo() -> None:
    states = model.read_states(
        "a idle\nb drained*\nc planned\nd idle~\ne mixed-\nf maint\na idle\n"
    )
    nodes = {name: model.Node(name, *state) for name, state in states.items()}
    assert [name for name, node in nodes.items() if node.is_idle] == ["a", "c", "d"]
    assert [name for name, node in nodes.items() if node.works] == ["a", "c", "d", "e"]
    with pytest.raises(ClusterError, match="line 1"):
        model.read_states("slurm_load_node error: Unable to contact slurm controller")


def test_partitions_and_reservations() -> None:
    text = (
        "PartitionName=main Default=YES DefaultTime=00:05:00 MaxTime=3-00:00:00 Nodes=n[0-3] "
        "OverSubscribe=EXCLUSIVE State=UP\nPartitionName=old MaxTime=UNLIMITED Nodes=(null) "
        "OverSubscribe=NO State=DRAIN\n"
    )
    partitions = model.read_partitions(text)
    main, old = partitions["main"], partitions["old"]
    assert (main.exclusive, main.time_limit_s, main.default_time_s) == (True, 3 * 86400, 300)
    assert (main.is_up, old.is_up, old.nodes, old.time_limit_s) == (True, False, (), None)
    text = "ReservationName=r StartTime=1700000000 EndTime=1700003600 Nodes=n[1-2] State=INACTIVE"
    assert model.read_reservations(text) == [
        model.Reservation("r", 1700000000, 1700003600, ("n1", "n2"))
    ]
    assert model.read_reservations("No reservations in the system") == []


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        *(("30", 1800), ("10:30", 630), ("1:00:05", 3605), ("2-0", 172800)),
        *(("1-02:03:04", 93784), ("1-12:30", 131400), ("UNLIMITED", None), ("NOT_SET", None)),
    ],
)
def test_time_limits(text: str, seconds: int | None) -> None:
    assert model.read_limit(text) == seconds


def test_time_limits_that_are_none() -> None:
    with pytest.raises(ClusterError, match="1-02:03:04"):
        model.read_limit("soon")


@has(SLURM)
def test_listings_of_real_clusters() -> None:
    for name, count in (("slurm-24.11.5/n.json", 8), ("rivosinc/sinfo_out.json", 4)):
        nodes = model.read_node_list((SLURM / name).read_text())
        assert len(nodes) == count
        assert {node.state for node in nodes.values()} <= {"IDLE", "MIXED", "ALLOCATED", "DOWN"}
    partitions = model.read_partitions((SLURM / "slurm-24.11.5/p.json").read_text())
    assert partitions["main"].nodes == tuple(f"n{i}" for i in range(8))
    assert not partitions["main"].exclusive
    text = (SLURM / "meta-gcm/sample-scontrol-show-config-output.txt").read_text(errors="replace")
    with pytest.raises(ClusterError, match="no partition"):
        model.read_partitions(text)
    found, _ = jobs.read_jobs((SLURM / "slurm-24.11.5/j.json").read_text())
    assert (found[0].required, found[0].most, found[0].waits) == (("n0", "n1", "n5"), 3, True)
    found, _ = jobs.read_jobs((SLURM / "squeue-22.05.8.json").read_text())
    assert found[0].nodes == ("n0", "n1", "n2")
    assert not found[0].holds_nodes


# --- Jobs -----------------------------------------------------------------------------


def line(id_: str, **changes: str) -> str:
    fields = {
        "%i": id_,
        "%A": id_.split("_")[0].split("+")[0],
        "%T": "PENDING",
        "%P": "main",
        "%D": "3",
        "%N": "",
        "%l": "10:00",
        "%S": str(jobs.UNTIL_PLACED_S),
        "%e": "N/A",
        "%V": "1700000000",
        "%h": "NO",
        "%n": "",
        "%x": "",
        "%v": "(null)",
        "%b": "N/A",
        "%E": "(null)",
        "%r": "BeginTime",
        "%f": "(null)",
        "%Q": "9",
    }
    fields.update({f"%{key}": value for key, value in changes.items()})
    return "\x1e" + "\x1f".join(fields.values()) + "\x1d\n"


def test_jobs_of_our_own_form() -> None:
    text = line("7") + line("8", T="RUNNING", Q="5", N="n[0-2]", S="1700000100", e="1700000700")
    (waits, runs), left_out = jobs.read_jobs(text)
    assert (waits.waits_for_us, waits.count, waits.limit_s) == (True, 3, 600)
    assert (waits.exclusive, waits.start_s, waits.submit_s) == (True, None, 1700000000)
    assert (runs.nodes, runs.start_s, runs.holds_nodes) == (("n0", "n1", "n2"), 1700000100, True)
    assert left_out == []
    assert jobs.read_jobs("") == ([], [])
    # Whom somebody holds, or whose user wants another time, does not wait for us.
    for changes in ({"Q": "0"}, {"S": "1900000000"}, {"S": "N/A"}, {"T": "RUNNING"}):
        assert not jobs.read_jobs(line("7", **changes))[0][0].waits_for_us


def test_tasks_of_arrays() -> None:
    def tasks(id_: str) -> list[str]:
        return list(jobs.read_jobs(line(id_))[0][0].tasks())

    assert tasks("5_[0,2-4,8-12:2]") == ["5_0", "5_2", "5_3", "5_4", "5_8", "5_10", "5_12"]
    assert tasks("5_3") == ["5_3"]
    throttled = jobs.read_jobs(line("4_[0-9%2]"))[0][0]
    assert throttled.is_throttled and throttled.count_tasks() == 10
    assert jobs.read_jobs(line("4+1"))[0][0].is_part
    # In a list that was cut off, at a letter, the last task may be another.
    assert tasks("4_[0-2,...]") == ["4_0", "4_1", "4_2"]
    cut = ",".join(map(str, range(0, 99999, 3)))[: (1 << 14) - 1]
    assert tasks(f"4_[{cut}]")[-1] == f"4_{cut.split(',')[-2]}"
    # Sixteen million tasks are a range.
    huge = jobs.read_jobs(line("4_[0-16777215]"))[0][0]
    assert (huge.count_tasks(), next(huge.tasks()), huge.key) == (1 << 24, "4_0", "4_*")


#: What no field may hold, and who else is affected: nobody.
BAD = [
    *({"l": "9" * 30}, {"l": "9" * 5000}, {"l": "soon"}, {"l": "-5"}, {"V": "9" * 40}),
    *({"V": "1e3"}, {"V": "-1"}, {"S": "9" * 25}, {"D": "9" * 25}, {"D": "-5"}, {"D": "0"}),
    *({"D": "1e3"}, {"D": "nan"}, {"A": "9" * 30}, {"A": "0"}, {"A": "x"}, {"A": "\u0663"}),
    *({"n": "n[0-99999999999]"}, {"x": "n[3"}, {"N": "n[0-9"}),
    *({"T": "RUNNING", "S": "9" * 25}, {"T": "RUNNING", "e": "9" * 25}),
    *({"i": "\u0663"}, {"i": "7_[9-3]"}, {"i": "7_[0-99999999999]"}, {"i": "8\nrelease 9"}),
    *({"i": ""}, {"i": "7_[a]"}, {"f": "a\x1d\n\x1e9\x1f9"}, {"f": "a\x1fb"}),
]


@pytest.mark.parametrize("changes", BAD, ids=lambda changes: ascii(changes)[:30])
def test_a_bad_record_is_left_out_and_named(changes: dict[str, str]) -> None:
    """Whatever else it holds; all numbers of the others are within what SQLite keeps."""
    text = line("6") + line(changes.get("i", "7"), **changes) + line("8")
    found, left_out = jobs.read_jobs(text)
    assert [job.id for job in found] == ["6", "8"]
    assert left_out and left_out[0].id in (changes.get("i", "7"), "7")
    assert left_out[0].why and len(str(left_out[0])) < 300


def test_two_records_of_one_job_are_none() -> None:
    found, left_out = jobs.read_jobs(line("7") + line("8") + line("7", D="5"))
    assert [job.id for job in found] == ["8"]
    assert [str(record) for record in left_out] == ["job 7 is left out: there are two of them"]


@pytest.mark.parametrize(
    "changes",
    [
        *({"time_limit": 1e300}, {"submit_time": 1 << 70}, {"node_count": -1}),
        *({"start_time": float("nan")}, {"priority": float("inf")}, {"job_id": 1 << 40}),
        *({"nodes": "n[0"}, {"job_state": []}, {"time_limit": {"number": 1 << 50}}),
        *({"job_state": 7}, {"array_job_id": 7, "array_task_string": "x"}),
    ],
    ids=str,
)
def test_a_bad_record_of_json_is_left_out(changes: dict[str, Any]) -> None:
    good = {"job_id": 6, "job_state": "PENDING", "node_count": 2}
    text = json.dumps({"jobs": [good, {**good, "job_id": 7, **changes}, {**good, "job_id": 8}]})
    found, left_out = jobs.read_jobs(text)
    # No state at all is one that waits.
    bad = changes != {"job_state": []}
    assert [job.id for job in found] == (["6", "8"] if bad else ["6", "7", "8"])
    assert len(left_out) == bad


@pytest.mark.parametrize(
    ("read", "good", "bad"),
    [
        (
            model.read_partitions,
            "PartitionName={} Nodes=n[0-3] MaxTime=1:00",
            "MaxTime=" + "9" * 30,
        ),
        (model.read_partitions, "PartitionName={} Nodes=n[0-3] MaxTime=1:00", "Nodes=n[0-"),
        (
            model.read_reservations,
            "ReservationName={} StartTime=5 EndTime=9",
            "EndTime=" + "9" * 30,
        ),
        (model.read_reservations, "ReservationName={} StartTime=5 EndTime=9", "StartTime=1e9"),
    ],
)
def test_a_bad_record_of_the_machine_is_left_out(read: Any, good: str, bad: str) -> None:
    key = bad.split("=")[0]
    odd = " ".join([word for word in good.split() if not word.startswith(f"{key}=")] + [bad])
    text = "\n".join((good.format("a"), odd.format("b"), good.format("c")))
    said: list[str] = []
    found = read(text, left_out=said.append)
    assert [getattr(one, "name", one) for one in found] == ["a", "c"]
    assert len(said) == 1 and " b: " in said[0] and "left out" in said[0]
    with pytest.raises(ClusterError, match=" b: "):
        read(text)


def test_a_bad_line_of_sinfo_is_left_out() -> None:
    said: list[str] = []
    assert set(model.read_states("a idle\nb\nc idle x\nd idle", left_out=said.append)) == {"a", "d"}
    assert len(said) == 2
    with pytest.raises(ClusterError, match="line 1"):
        model.read_states("slurm_load_node error: Unable to contact", left_out=said.append)


def test_cut_off_output_loses_the_last_job_only() -> None:
    text = line("7") + line("8")
    for end in range(len(line("7")), len(text) - 2):
        found, _ = jobs.read_jobs(text[:end])
        assert [job.id for job in found] == ["7"]


# --- Topologies -----------------------------------------------------------------------

TREE = "SwitchName=s0 Nodes=n[0-1]\nSwitchName=s1 Nodes=n[2-3]\nSwitchName=top Switches=s[0-1]\n"
FORMS = {
    "tree": TREE,
    "block": "BlockName=s0 Nodes=n[0-1]\nBlockName=s1 Nodes=n[2-3]\nBlockSizes=2\n",
    "yaml": """---
- topology: flat
  cluster_default: false
  flat: true
- topology: other
  tree:
    switches:
      - switch: x
        nodes: n[0-3]
- topology: real
  cluster_default: true
  tree:
    switches:
      - switch: top   # above all
        children: s[0-1]
      - switch: s0
        nodes: n[0-1]
      - switch: "s1"
        nodes: n[2-3]
""",
    "attributes": "NODE n0 CELL s0 SWITCH a\nNODE n1 CELL s0 SWITCH b\n"
    "NODE n[2-3] CELL s1 SWITCH a\n",
    "links": "n0 s0 terminal\nn1 s0 terminal\nn2 s1 terminal\nn3 s1 terminal\ns0 s1 global\n",
    "links without classes": "n0 s0\nn1 s0\nn2 s1\nn3 s1\ns0 s1\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_topologies_in_every_form(form: str) -> None:
    groups = read_topology(FORMS[form]).island_of_node()
    assert groups == {"n0": "s0", "n1": "s0", "n2": "s1", "n3": "s1"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1"),
        ("hello, world and more words", "allowed: topology.conf"),
        ("- topology: t\n  tree: {switches: [a]}", "no switches|not understood"),
        ("NODE n0 SWITCH a", "CELL"),
        ("a a\n", "linked with itself"),
    ],
)
def test_topologies_that_are_none(text: str, message: str) -> None:
    with pytest.raises(ClusterError, match=message):
        read_topology(text)


@pytest.mark.parametrize(
    ("network", "groups", "nodes_of_group"),
    [
        # A pod has half as many leaf switches as a switch has ports, each as many hosts.
        ({"family": "fat-tree", "radix": 4, "levels": 3}, 4, 4),
        ({"family": "fat-tree", "radix": 4, "levels": 2}, 4, 2),
        # p · a nodes; global links of three groups close triangles here.
        ({"family": "dragonfly", "p": 2, "a": 4, "h": 2, "g": 9}, 9, 8),
        ({"family": "dragonfly+", "p": 2, "leaves": 2, "spines": 2, "h": 2, "g": 3}, 3, 4),
    ],
    ids=["pods", "leaves", "dragonfly", "dragonfly+"],
)
def test_groups_of_a_subnet(
    network: dict[str, Any], groups: int, nodes_of_group: int, tmp_path: Path
) -> None:
    """What `topology export` writes for ibsim is what ibnetdiscover prints of it: no groups."""
    motif = {"kind": "all-to-all", "message": "1 B"}
    scenario = Scenario.from_dict({"network": network, "job": [{"nodes": 1, "motif": motif}]})
    (tmp_path / "scenario.toml").write_text(scenario.to_toml())
    done = call(
        *("topology", "export", "scenario.toml", "--format", "ibsim", "--out", "subnet"),
        directory=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "subnet").read_text()
    islands = Counter(read_topology(text).island_of_node().values())
    assert list(islands.values()) == [nodes_of_group] * groups
    with pytest.raises(ClusterError, match=r"fabric\.txt: .*line"):
        read_topology(text + "nonsense\n", "fabric.txt")


@has(DATA / "cluster-allocations" / "leonardo-nodes.txt")
def test_leonardo() -> None:
    """Its own page: 4,992 nodes; cells are numbered 1 to 22."""
    wiring = read_topology((DATA / "cluster-allocations" / "leonardo-nodes.txt").read_text())
    assert len(wiring.leaf_of_node) == 4992
    assert len(set(wiring.island_of_node().values())) == 22


# --- Who sits where -------------------------------------------------------------------


def cluster() -> tuple[model.Machine, list[jobs.Job]]:
    """Three groups of four: a job inside the first, one across the others, a node down."""
    names = [f"n{i}" for i in range(12)]
    busy = {"n0", "n4", "n5", "n8"}
    nodes = {n: model.Node(n, "ALLOCATED" if n in busy else "IDLE") for n in names}
    nodes["n11"] = model.Node("n11", "DOWN")
    running = [
        jobs.Job("1", 1, "RUNNING", nodes=("n0",)),
        jobs.Job("2", 2, "RUNNING", nodes=("n4", "n5", "n8")),
        jobs.Job("3", 3, "PENDING", count=2),
    ]
    return model.Machine(nodes), running


CONF = "".join(f"SwitchName=g{i} Nodes=n[{4 * i}-{4 * i + 3}]\n" for i in range(3))


def test_occupancy_counted_by_hand() -> None:
    look = occupancy(*cluster(), read_topology(CONF))
    counts = [
        [group.count(s) for s in ("idle", "inside", "spanning", "out")] for group in look.groups
    ]
    assert counts == [[3, 1, 0, 0], [2, 0, 2, 0], [2, 0, 1, 1]]
    assert look.free_groups == ("g0",)
    assert (look.idle, look.largest_small, look.largest_large) == (7, 3, 3)
    assert look.fragmentation == pytest.approx(1 - 3 / 4)
    assert look.spans["2"] == {"g1": 2, "g2": 1}
    # What a reservation has is nobody's to place on.
    machine, running = cluster()
    machine.nodes["n1"] = model.Node("n1", "IDLE", frozenset({"RESERVED"}))
    look = occupancy(machine, running, read_topology(CONF))
    assert (look.idle, look.groups[0].count("other"), look.largest_large) == (6, 1, 2)
    with pytest.raises(ClusterError, match="none of the cluster's nodes"):
        occupancy(*cluster(), read_topology("SwitchName=a Nodes=x[0-3]"))


def test_command_shows_and_draws(tmp_path: Path) -> None:
    machine, _ = cluster()
    rows = (f"NodeName={n.name} State={n.state} CPUTot=1" for n in machine.nodes.values())
    (tmp_path / "nodes").write_text("\n".join(rows))
    (tmp_path / "queue").write_text("1|RUNNING|n0\n2|RUNNING|n[4-5,8]\n3|PENDING|\n")
    (tmp_path / "topology").write_text(CONF)
    files = ("--sinfo", "nodes", "--squeue", "queue", "--topology", "topology")
    run = call("cluster", "show", *files, "--out", "groups.svg", directory=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "job 2 spans 2 groups: 2 in g1, 1 in g2" in run.stdout
    assert "1 of 3 groups are spanned by no job" in run.stdout
    picture = (tmp_path / "groups.svg").read_text()
    assert picture.count("<path") > 12
    answer = call("cluster", "show", *files, "--json", directory=tmp_path)
    assert answer.returncode == 0, answer.stderr
    content = json.loads(answer.stdout)
    assert content["groups"][2] == {
        "name": "g2",
        "nodes": 4,
        "idle": 2,
        "inside": 0,
        "spanning": 1,
        "other": 0,
        "out": 1,
        "spanned_by": ["2"],
    }
