"""One kind of input, every command: topologies, queues, nodes, logs and hosts in all forms."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

import odonata
from odonata.cli.commands import odonata as command
from odonata.errors import ClusterError, MachineError
from odonata.machines.hosts import hosts_of, read_hosts
from odonata_live.cluster.model import read_node_list
from odonata_live.cluster.nodes import Topology
from odonata_live.cluster.topologies import read_topology, read_topology_file
from subnets import DATA, has, subnet

SLURM = DATA / "slurm-outputs"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(one) for one in arguments])


# --- The same cluster in every form: n0 to n3 on s0, n4 to n7 on s1, both below a spine ---


def gml() -> str:
    names = ["s0", "s1", "top", *(f"n{n}" for n in range(8))]
    nodes = "".join(f'  node [ id {i} label "{name}" ]\n' for i, name in enumerate(names))
    links = [(0, 2), (1, 2), *((3 + n, n // 4) for n in range(8))]
    edges = "".join(f"  edge [ source {a} target {b} ]\n" for a, b in links)
    return f"graph [\n  directed 0\n{nodes}{edges}]\n"


def graphml() -> str:
    names = ["s0", "s1", "top", *(f"n{n}" for n in range(8))]
    links = [("s0", "top"), ("s1", "top"), *((f"n{n}", f"s{n // 4}") for n in range(8))]
    nodes = "".join(f'<node id="{name}"/>' for name in names)
    edges = "".join(f'<edge source="{a}" target="{b}"/>' for a, b in links)
    return f'<graphml><graph edgedefault="undirected">{nodes}{edges}</graph></graphml>'


TOPOLOGIES = {
    "tree.conf": "SwitchName=s0 Nodes=n[0-3]\nSwitchName=s1 \\\n Nodes=n[4-7]\n"
    "SwitchName=top Switches=s[0-1]\n",
    "block.conf": "BlockName=s0 Nodes=n[0-3]\nBlockName=s1 Nodes=n[4-7]\nBlockSizes=4,8\n",
    # As Slurm 25.05's documentation writes both.
    "topology.yaml": """---
- topology: topo1
  cluster_default: true
  tree:
    switches:
      - switch: sw_root
        children: s[0-1]
      - switch: s0
        nodes: n[0-3]
      - switch: s1
        nodes: n[4-7]
- topology: topo2
  cluster_default: false
  block:
    block_sizes:
      - 2
      - 4
    blocks:
      - block: b0
        nodes: n[0-1]
- topology: topo3
  cluster_default: false
  flat: true
""",
    "block.yaml": """---
- topology: topo2
  cluster_default: true
  block:
    block_sizes:
      - 4
      - 8
    blocks:
      - block: s0
        nodes: n[0-3]
      - block: s1
        nodes: n[4-7]
""",
    "attributes": "NODE n[0-3] SWITCH s0 CELL a\nNODE n[4-7] SWITCH s1 CELL b\n",
    "links": "".join(f"n{n} s{n // 4}\n" for n in range(8)) + "s0 top\ns1 top\n",
    "subnet": subnet(),
    "graph.gml": gml(),
    "graph.graphml": graphml(),
    "wiring.edges": "title two\nrouters 0 1 group 0\nrouter 2 group 0\nnodes 4 0\nnodes 4 1\n"
    "link 0 2\nlink 1 2\n",
    "machine.toml": '[network]\nfamily = "dragonfly"\np = 4\na = 1\nh = 1\ng = 2\n'
    '[machine]\nhosts = [{ names = "n[0-7]", first_node = 0 }]\n',
}

QUEUE = {
    "jobs": [
        {
            "job_id": number,
            "job_state": state,
            "nodes": nodes,
            "partition": "main",
            "node_count": {"set": True, "number": count},
            "time_limit": {"set": True, "number": 10},
            "submit_time": {"set": True, "number": 1_700_000_000},
            "start_time": {"set": bool(nodes), "number": 1_700_000_000},
            "end_time": {"set": bool(nodes), "number": 1_700_000_600},
            "priority": {"set": True, "number": 5},
        }
        for number, state, nodes, count in (
            (1, ["RUNNING"], "n[2-5]", 4),
            (2, ["PENDING"], "", 6),
        )
    ],
    "last_update": {"set": True, "number": 1_700_000_060},
}
CONF = """ClusterName=c
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
NodeName=n[0-7] CPUs=1 State=UNKNOWN
PartitionName=main Nodes=n[0-7] Default=YES MaxTime=INFINITE State=UP OverSubscribe=EXCLUSIVE
"""
STATES = {f"n{n}": "ALLOCATED" if 2 <= n < 6 else "IDLE" for n in range(8)}
NODES = {
    "scontrol": "\n".join(
        f"NodeName={name} CPUTot=1 State={state}\n   Reason=none" for name, state in STATES.items()
    ),
    "scontrol.json": json.dumps(
        {"nodes": [{"name": name, "state": [state]} for name, state in STATES.items()]}
    ),
    "sinfo.json": json.dumps(
        {
            "sinfo": [
                {"node": {"state": [state]}, "nodes": {"nodes": [name]}}
                for name, state in STATES.items()
            ]
        }
    ),
    "sinfo": "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"
    "main*        up   infinite      4  alloc n[2-5]\n"
    "main*        up   infinite      4   idle n[0-1,6-7]\n",
    "sinfo -N -l": "Mon Jun 02 10:00:00 2025\nNODELIST   NODES PARTITION       STATE CPUS REASON\n"
    + "".join(f"{name}  1  main*  {state.lower()}  1  none\n" for name, state in STATES.items()),
    "%N %T": "".join(f"{name} {state.lower()}\n" for name, state in STATES.items()),
    "%N|%t": "HOSTNAMES|STATE\n" + "".join(f"{n}|{s.lower()[:5]}\n" for n, s in STATES.items()),
}
#: Which nodes there are, and no more.
NAMES = {"names": "".join(f"{name}\n" for name in STATES), "list": "n[0-3] n[4-7]\n"}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in {**TOPOLOGIES, **NODES, **NAMES, "slurm.conf": CONF}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "queue.json").write_text(json.dumps(QUEUE))
    return tmp_path


@pytest.mark.parametrize("form", TOPOLOGIES)
def test_every_command_takes_every_form_of_topology(form: str, files: Path) -> None:
    options = ("--squeue", files / "queue.json", "--sinfo", files / "scontrol", "--json")
    topology = ("--topology", files / form)
    used = run("cluster", "utilisation", *options, *topology)
    assert used.exit_code == 0, used.output
    # A job of 4 nodes has 2 in each group: 2 · 2 · (4 − 2) / 3, of 8 nodes.
    assert json.loads(used.stdout)["b_between_islands"] == pytest.approx(8 / 3 / 8)
    shown = run("cluster", "show", *options, *topology)
    assert shown.exit_code == 0, shown.output
    groups = json.loads(shown.stdout)["groups"]
    assert [(one["nodes"], one["idle"], one["spanning"]) for one in groups] == 2 * [(4, 2, 2)]
    predicted = run("cluster", "what-if", *options, *topology, "--policy", "contiguous")
    assert predicted.exit_code == 0, predicted.output
    (job,) = json.loads(predicted.stdout)["contiguous"]["jobs"]
    # Six nodes are free once job 1 ends, 540 s after the queue was printed.
    assert (job["job"], job["start_s"]) == ("2", 540)


# A subnet is taken with its cables, by --links.
@pytest.mark.parametrize("form", [form for form in TOPOLOGIES if form != "subnet"])
def test_the_scenario_of_a_machine_has_its_switches_and_hosts(form: str, files: Path) -> None:
    out, taken = files / "machine", files / "taken"
    taken.write_text("n[1-3]\nn[4-7]\n")
    options = ("--topology", files / form, "--nodes", str(taken), "--out", out)
    name = 'mine, a "b" \\ c'
    written = run("cluster", "machine", *options, "--bandwidth", "10 GB/s", "--name", name)
    assert written.exit_code == 0, written.output

    def parts(of: Topology) -> tuple[set[frozenset[str]], set[frozenset[str]]]:
        of_switches, of_islands = (
            {frozenset(n for n in at if at[n] == one) - {"n0"} for one in at.values()}
            for at in (of.leaf_of_node, of.island_of_node())
        )
        return of_switches, of_islands

    known = read_topology_file(files / form, notice=lambda sentence: None)
    assert parts(read_topology_file(out / "machine.toml")) == parts(known)
    described = odonata.topology(out / "machine.toml").description
    assert described["nodes"] == 7
    # Three nodes and four, below one switch: no link carries less than the nodes below it.
    bandwidths = sorted(one["bandwidth_bytes_per_s"] for one in described["link_classes"])
    assert bandwidths == [10e9, 30e9, 40e9]
    assert odonata.verify(out / "machine.toml")
    assert odonata.Scenario.from_file(out / "machine.toml").title == name
    assert described["network"] == name
    next_ = f"odonata schedule LOG --network flow --machine {out / 'machine.toml'} --mpi-share 30%"
    assert next_ in " ".join(written.output.split())


LEAVES = """
SwitchName=l0 Nodes=n[0-3]
SwitchName=l1 Nodes=n[4-7]
SwitchName=l2 Nodes=n[8-11]
SwitchName=l3 Nodes=n[12-15]
"""
#: What stands above the leaves, routers in all, links by kind, and what comments say.
ABOVE = {
    "SwitchName=s[0] Switches=l[0-3]": (5, {"global": (4, 40e9)}, "names"),
    "SwitchName=s0 Switches=l[0-3]\nSwitchName=s1 Switches=l[0-3]": (
        6,
        {"global": (8, 20e9)},
        "names",
    ),
    # A tree of three levels: two switches join each pair of leaves, two cores each of these.
    "SwitchName=a0 Switches=l[0-1]\nSwitchName=a1 Switches=l[0-1]\n"
    "SwitchName=a2 Switches=l[2-3]\nSwitchName=a3 Switches=l[2-3]\n"
    "SwitchName=c0 Switches=a[0,2]\nSwitchName=c1 Switches=a[1,3]": (
        10,
        {"local": (8, 20e9), "global": (4, 40e9)},
        "names",
    ),
    # No switch joins all: one more is assumed.
    "SwitchName=a0 Switches=l[0-1]\nSwitchName=a1 Switches=l[2-3]": (
        7,
        {"local": (4, 40e9), "global": (2, 80e9)},
        "one more joins 2 parts",
    ),
    "": (5, {"global": (4, 40e9)}, "one switch joins the leaves"),
}


@pytest.mark.parametrize("above", ABOVE)
def test_switches_side_by_side_are_several(above: str, tmp_path: Path) -> None:
    (tmp_path / "topology.conf").write_text(LEAVES + above + "\n")
    out = tmp_path / "machine"
    options = ("--topology", tmp_path / "topology.conf", "--bandwidth", "10 GB/s", "--out", out)
    assert run("machine", "from-slurm", *options).exit_code == 0
    routers, links, said = ABOVE[above]
    assert said in (out / "machine.toml").read_text()
    described = odonata.topology(out / "machine.toml").description
    assert (described["nodes"], described["routers"]) == (16, routers)
    found = {
        one["kind"]: (one["links"], one["bandwidth_bytes_per_s"])
        for one in described["link_classes"]
        if one["kind"] != "terminal"
    }
    assert found == links
    # No taper: a job on all nodes is not stretched by its network.
    log = tmp_path / "log.swf"
    log.write_text("; MaxNodes: 16\n1 0 -1 1000 16 -1 -1 16 -1 -1 1 1 1 1 1 1 -1 -1\n")
    network = odonata.batch.SharedLinks(
        mix=["halves"], communication_share=0.5, machine=out / "machine.toml", injection=1.0
    )
    assert odonata.schedule(log, network=network).jobs["run_s"].to_pylist() == [1000]


def test_a_machine_without_its_topology_or_with_strangers_is_refused(files: Path) -> None:
    missing = run("cluster", "machine")
    assert (
        "found no topology; allowed: --topology FILE, such as topology.conf, or --links"
        in " ".join(missing.output.split())
    )
    strangers = run("cluster", "machine", "--topology", files / "links", "--nodes", "n[7-8]")
    assert "1 of 2 nodes are on no switch there, such as n8" in str(strangers.exception)
    # Nothing of a subnet's cables is lost without a word, and sinfo's lines are no links.
    cabled = run("cluster", "machine", "--topology", files / "subnet")
    assert f"allowed: --links {files / 'subnet'}" in str(cabled.exception)
    (files / "states").write_text("n1 idle\nn2 alloc\nn3 drain*\n")
    states = run("cluster", "machine", "--topology", files / "states")
    assert "line 1: found 'n1 idle', nodes and their states" in str(states.exception)


def test_the_cables_of_a_machine_say_its_links(files: Path) -> None:
    # Of the two cables to the spine, one runs at a quarter of the lanes, and n5's rate is not told.
    cables = subnet().replace('"top" lid 1 4xNDR', '"top" lid 1 1xNDR', 1)
    cables = cables.replace('"s0" lid 1 4xNDR', '"s0" lid 1 1xNDR')
    cables = cables.replace('"n5 mlx5_0" lid 1 4xNDR', '"n5 mlx5_0" lid 1')
    (files / "cables").write_text(cables)
    out = files / "machine"
    options = ("--links", files / "cables", "--topology", files / "tree.conf", "--out", out)
    written = run("cluster", "machine", *options, "--bandwidth", "7 GB/s", "--latency", "150 ns")
    assert written.exit_code == 0, written.output
    classes = odonata.topology(out / "machine.toml").description["link_classes"]
    found = {one["name"]: (one["links"], one["bandwidth_bytes_per_s"]) for one in classes}
    assert found == {
        # n0 has two ports; n5's bandwidth is the one given.
        "terminal-4xNDR-by-2": (1, 100e9),
        "terminal-4xNDR": (6, 50e9),
        "terminal": (1, 7e9),
        "local-1xNDR": (1, 12.5e9),
        "local-4xNDR": (1, 50e9),
    }
    assert {one["latency_ps"] for one in classes} == {150_000}
    scenario = odonata.Scenario.from_file(out / "machine.toml")
    # Nodes are numbered along the ports.
    assert hosts_of(scenario) == {f"n{n}": n for n in range(8)}
    told, assumed = (out / "machine.toml").read_text().split("# Assumed")
    assert "# - local-1xNDR: 1 links of 12.5 GB/s\n" in told
    assert "terminal:" not in told
    assert "# - every link has a latency of 150 ns\n# - terminal: 1 links of 7 GB/s\n" in assumed
    assert odonata.verify(scenario)


def test_cables_that_say_otherwise_are_told(files: Path) -> None:
    (files / "cables").write_text(subnet())
    links = ("--links", files / "cables")
    changes_nothing = run("cluster", "machine", *links, "--bandwidth", "7 GB/s")
    assert "tells the rates of all links" in str(changes_nothing.exception)
    (files / "slurm").write_text("SwitchName=a Nodes=n[0-2,4]\nSwitchName=b Nodes=n[3,5-6]\n")
    options = ("--topology", files / "slurm", "--out", files / "part")
    done = run("cluster", "machine", *links, *options)
    assert done.exit_code == 0, done.output
    assert "the nodes of a are on 2 switches, such as s0 and s1: the cables count" in done.output
    scenario = odonata.Scenario.from_file(files / "part" / "machine.toml")
    assert hosts_of(scenario) == {f"n{n}": n for n in range(7)}
    (files / "slurm").write_text("SwitchName=a Nodes=n[0-8]\n")
    stranger = run("cluster", "machine", *links, "--topology", files / "slurm")
    assert "1 of 9 nodes are on no switch there, such as n8" in str(stranger.exception)
    (files / "slurm").write_text("SwitchName=a Nodes=cn[1-3]\n")
    other = run("cluster", "machine", *links, "--topology", files / "slurm")
    assert str(other.exception) == (
        f"{files / 'cables'}: 3 of 3 nodes are on no switch there, such as cn1; allowed: its 8 "
        "nodes, such as n0: are these of two machines?"
    )


@has(DATA / "ibnetdiscover-ndr" / "fabric.txt")
def test_a_real_fabric_becomes_a_machine(tmp_path: Path) -> None:
    fabric = DATA / "ibnetdiscover-ndr" / "fabric.txt"
    done = run("cluster", "machine", "--links", fabric, "--out", tmp_path / "ndr")
    assert done.exit_code == 0, done.output
    scenario = odonata.Scenario.from_file(tmp_path / "ndr" / "machine.toml")
    # So many hosts are named by adapters (docs/forwarding-tables.md).
    assert len(hosts_of(scenario)) == 122
    assert "local: 532 links of 50 GB/s" in (tmp_path / "ndr" / "machine.toml").read_text()
    options = ("--links", fabric, "--nodes", "a05-p1-dgx-01-c01,a05-p1-dgx-01-c03")
    two = run("cluster", "machine", *options, "--out", tmp_path / "two")
    told = (
        "191 nodes, 2 of them with a name in hosts.txt; the others are 120 hosts that are not "
        "asked for and 69 adapters that name no host"
    )
    assert told in " ".join(two.output.split())
    written = (tmp_path / "two" / "machine.toml").read_text().replace("\n# ", " ")
    assert told in written
    assert odonata.topology(tmp_path / "two" / "machine.toml").description["nodes"] == 191
    described = run("topology", "describe", tmp_path / "two" / "machine.toml").output
    assert "my cluster (subnet ibnetdiscover.txt)" in described


@pytest.mark.parametrize("form", [*NODES, *NAMES])
def test_every_command_takes_every_form_of_nodes(form: str, files: Path) -> None:
    assert list(read_node_list((files / form).read_text())) != []
    options = ("--squeue", files / "queue.json", "--sinfo", files / form)
    topology = ("--topology", files / "tree.conf")
    used = run("cluster", "utilisation", *options, "--json")
    assert used.exit_code == 0, used.output
    assert json.loads(used.stdout)["n_t"] == 8
    shown = run("cluster", "show", *options, *topology, "--json")
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.stdout)["idle_nodes"] == 4
    assert ("tells no states" in shown.stderr) == (form in NAMES)
    if form not in NAMES:
        states = {name: node.state for name, node in read_node_list(NODES[form]).items()}
        assert states == STATES
        predicted = run(
            *("cluster", "what-if", *options, *topology, "--policy", "grap", "--policy", "slurm"),
            *("--conf", files / "slurm.conf", "--json"),
        )
        assert predicted.exit_code == 0, predicted.output
        for policy in json.loads(predicted.stdout).values():
            assert policy["jobs"][0]["start_s"] == pytest.approx(540, abs=60)


def test_what_if_asks_for_what_a_file_cannot_tell(files: Path) -> None:
    (files / "queue.txt").write_text("1|RUNNING|n[2-5]\n2|PENDING|\n")
    nodes, topology = ("--sinfo", files / "scontrol"), ("--topology", files / "tree.conf")
    (files / "machine.toml").write_text(
        '[network]\nfamily = "dragonfly"\np = 1\na = 4\nh = 1\ng = 2\n'
    )
    grap = ("--squeue", files / "queue.json", *nodes, *topology, "--policy", "grap")
    flow = ("--network", "flow", "--machine", files / "machine.toml", "--mpi-share", "30%")
    for options, message in (
        ((*grap, "--injection", "30%"), "--injection, --switch-delay need --network flow"),
        ((*grap, *flow, "--injection", "much"), "a share such as 25%"),
        ((*grap, *flow, "--switch-delay", "soon"), "switch delay: "),
        (("--squeue", files / "queue.json"), "--squeue and --sinfo go together"),
        (("--squeue", files / "queue.json", *nodes), "--squeue with --policy slurm needs --conf"),
        (
            ("--squeue", files / "queue.txt", *nodes, *topology, "--policy", "grap"),
            "does not tell when job 1 began",
        ),
        (("--squeue", files / "queue.json", *nodes, "--policy", "grap"), "no topology: give"),
    ):
        failed = run("cluster", "what-if", *options)
        assert failed.exit_code != 0
        assert message in f"{failed.output}{failed.exception}"


def test_groups_and_topologies_are_one_option() -> None:
    """One name, one text, one type: whichever command it is."""
    group = command.get_command(click.Context(command), "cluster")
    assert isinstance(group, click.Group)
    for name, expected in (("topology", 8), ("squeue", 4), ("sinfo", 4)):
        found = [
            option
            for one in group.commands.values()
            for option in one.params
            if isinstance(option, click.Option) and name in (option.name, *option.opts)
        ]
        assert len(found) == expected
        assert len({(*one.opts, (one.help or "")[:60]) for one in found}) == 1


# --- Mistakes --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("SwitchName=a Nodes=n[0-1]\n# no\nSwitchName=b Nodes=n[1-2]\n", (1, 3)),
        ("SwitchName=a \\\n Nodes=n[0-1]\nSwitchName=b Nodes=n[1-2]\n", (1, 3)),
        ("BlockName=a Nodes=n[0-1]\nBlockName=b Nodes=n[1-2]\n", (1, 2)),
        (
            "- topology: t\n  tree:\n    switches:\n      - switch: a\n        nodes: n[0-1]\n"
            "      - switch: b\n        nodes: n1\n",
            (4, 6),
        ),
        ("NODE n1 SWITCH a CELL x\nNODE n1 SWITCH b CELL x\n", (1, 2)),
        ("router 0 node 1 router 1\nrouter 1 node 2\nnode 1 router 1\n", (1, 3)),
    ],
)
def test_a_node_on_two_switches_is_told_with_both_lines(text: str, lines: tuple[int, int]) -> None:
    with pytest.raises(ClusterError) as raised:
        read_topology(text, "there")
    first, second = lines
    assert f"there: line {second}" in str(raised.value)
    assert f"in line {first}" in str(raised.value)


def test_a_scenario_without_hosts_says_what_it_lacks(tmp_path: Path) -> None:
    file = tmp_path / "machine.toml"
    file.write_text(TOPOLOGIES["machine.toml"].split("[machine]")[0])
    with pytest.raises(ClusterError, match=r"machine\.hosts"):
        read_topology_file(file)


def test_renamed_options_are_accepted_with_a_notice(files: Path) -> None:
    old = ("--squeue", files / "queue.json", "--nodes", files / "scontrol")
    topology = ("--topology", files / "tree.conf")
    shown = run("cluster", "show", *old, *topology, "--json")
    assert shown.exit_code == 0, shown.output
    assert "--nodes is called --sinfo now" in shown.stderr
    assert json.loads(shown.stdout)["idle_nodes"] == 4
    both = run("cluster", "show", *old, "--sinfo", files / "scontrol", *topology)
    assert "--nodes is the old name of --sinfo: give one of them" in both.output
    assert "--nodes" not in run("cluster", "show", "--help").output


# --- Hosts -----------------------------------------------------------------------------


def test_hosts_are_a_list_or_a_file(tmp_path: Path) -> None:
    assert read_hosts("n[0-2,7]") == ["n0", "n1", "n2", "n7"]
    (tmp_path / "hosts").write_text("n[0-1]  # first\n\nx7\nn0\n")
    # In the order of ranks, as often as they are there.
    assert read_hosts(tmp_path / "hosts") == ["n0", "n1", "x7", "n0"]
    for given, message in (
        (tmp_path / "none", "there is no such file"),
        ("hosts.txt", "there is no such file"),
        ("n[0-", "found"),
    ):
        with pytest.raises(MachineError, match=message):
            read_hosts(given)


def test_every_command_takes_hosts_in_both_forms(files: Path) -> None:
    (files / "hosts").write_text("n0\nn1\n")
    options = ("--squeue", files / "queue.json", "--sinfo", files / "scontrol", "--json")
    for hosts in ("n[0-1]", files / "hosts"):
        used = run(
            *("cluster", "utilisation", *options, "--topology", files / "tree.conf"),
            *("--hosts", hosts),
        )
        assert used.exit_code == 0, used.output
        # On s0 with both: two of its four nodes communicate.
        assert json.loads(used.stdout)["exposed_groups"]["n_c"] == 2


# --- Files of others -------------------------------------------------------------------


@has(DATA / "ibnetdiscover-ndr")
def test_a_real_fabric_has_its_hosts() -> None:
    """582 adapters, 40 of them aggregation nodes; what names no host cannot be Slurm's."""
    said: list[str] = []
    wiring = read_topology_file(DATA / "ibnetdiscover-ndr" / "fabric.txt", said.append)
    assert len(wiring.leaf_of_node) == 122
    assert Counter(name.split("-")[0] for name in wiring.leaf_of_node)["B11"] == 1
    (counted, spread) = said
    assert "582 ports of adapters on switches: 473 of 122 hosts; 69 that name no host" in counted
    assert "40 aggregation nodes of switches" in counted
    assert "on several switches: each is taken to be on the first of them" in spread


@has(SLURM)
@pytest.mark.parametrize(
    ("name", "nodes", "states"),
    [
        ("slurm-24.11.5/n.json", 8, {"IDLE": 8}),
        ("slurm-24.11.5/si.json", 8, {"IDLE": 8}),
        ("rivosinc/sinfo_out.json", 4, None),
        ("meta-gcm/sample-sinfo-output.txt", 3, {"ALLOCATED": 2, "IDLE": 1}),
        ("meta-gcm/sinfo-output-for-structured.txt", None, None),
        # Counted by hand: 21 + 2 mixed and 12 + 2 idle, the second drained or reserved.
        ("sonar/tests_testdata_node_output.txt", 42, {"MIXED": 23, "IDLE": 14, "ALLOCATED": 5}),
    ],
)
def test_nodes_as_other_sites_print_them(
    name: str, nodes: int | None, states: dict[str, int] | None
) -> None:
    found = read_node_list((SLURM / name).read_text())
    if nodes is not None:
        assert len(found) == nodes
    assert all(node.state != "UNKNOWN" for node in found.values())
    if states is not None:
        assert Counter(node.state for node in found.values()) == states


@has(SLURM)
@pytest.mark.parametrize(
    "name",
    ["meta-gcm/sample-scontrol-output.txt", "sonar/tests_testdata_partition_output.txt"],
)
def test_partitions_and_jobs_are_no_nodes(name: str) -> None:
    with pytest.raises(ClusterError, match="allowed: the output of `scontrol show nodes`"):
        read_node_list((SLURM / name).read_text())


def test_labels_of_graphs_are_the_hosts(tmp_path: Path) -> None:
    """As networkx writes GML and GraphML; and vertices that say what they are."""
    import networkx

    graph: Any = networkx.Graph()
    graph.add_edges_from((f"h{n}", f"leaf{n // 3}") for n in range(9))
    graph.add_edges_from((f"leaf{n}", "spine") for n in range(3))
    networkx.write_gml(graph, tmp_path / "net.gml")
    networkx.write_graphml(graph, tmp_path / "net.graphml")
    for name in ("net.gml", "net.graphml"):
        wiring = read_topology_file(tmp_path / name)
        assert wiring.leaf_of_node == {f"h{n}": f"leaf{n // 3}" for n in range(9)}
        assert wiring.island_of_leaf == {f"leaf{n}": f"leaf{n}" for n in range(3)}


def test_booksims_own_example_has_nine_nodes_on_three_routers() -> None:
    text = (
        "router 0 node 0 node 1 node 2 router 1\nrouter 1 node 3 node 4 node 5\n"
        "router 2 node 6 node 7 node 8 router 1 router 0\n"
    )
    wiring = read_topology(text)
    assert wiring.leaf_of_node == {f"node{n}": f"router{n // 3}" for n in range(9)}


def test_what_if_takes_nodes_down(files: Path) -> None:
    """Job 2 asks for 6 of 8 nodes, 4 of which job 1 has for 540 s more: it starts then, and never
    without the four nodes of a switch. With one node less there are 7: it starts all the same."""
    options = ("--squeue", files / "queue.json", "--sinfo", files / "scontrol")
    rest = ("--topology", files / "tree.conf", "--policy", "contiguous")

    def starts(*without: str) -> tuple[dict[str, Any], list[float | None]]:
        done = run("cluster", "what-if", *options, *rest, "--json", *without)
        assert done.exit_code == 0, done.output
        said = json.loads(done.stdout)
        found = (said, said.get("without", {}))
        return found[1], [one["contiguous"]["jobs"][0]["start_s"] for one in found if one]

    assert starts() == ({}, [540])
    said, both = starts("--without", "s1")
    assert both == [540, None]
    assert (said["nodes"], said["ends_s"], said["free_s"]) == (
        ["n4", "n5", "n6", "n7"],
        {"1": 540},
        540,
    )
    said, both = starts("--without", "n[6]")
    assert both == [540, 540] and said["ends_s"] == {} and said["free_s"] == 0
    said, both = starts("--without", "n6", "--without", "n7", "--without", "n0")
    assert both == [540, None] and said["nodes"] == ["n0", "n6", "n7"]
    # At a time: job 2 waits for its end where its limit of 600 s reaches into it; 540 s from now
    # job 1 has ended.
    for policy in ("contiguous", "slurm"):
        other = (*rest[:2], "--conf", files / "slurm.conf", "--policy", policy, "--json")
        for window, start in (("600s..+10min", 1200), ("2h..", 540), ("10s..+8min", 540)):
            shown = run("cluster", "what-if", *options, *other, "--without", f"{window},s1")
            assert shown.exit_code == 0, (shown.output, shown.exception)
            said = json.loads(shown.stdout)
            (job,) = said["without"][policy]["jobs"]
            # Slurm looks now and then, and its nodes are free a little later.
            assert job["start_s"] == pytest.approx(start, abs=4 if policy == "slurm" else 0)
            assert said["without"]["ends_s"] == ({"1": 540} if window == "10s..+8min" else {})
            assert said["without_times"][0]["begin_s"] > 1_700_000_000
    shown = run("cluster", "what-if", *options, *rest, "--without", "2h..+1h,s1")
    assert "s1 is out from 2023-11-15 00:14 UTC to 2023-11-15 01:14 UTC" in shown.output
    assert "no job runs there then" in shown.output
    # The snapshot is of 2023-11-14 22:14:20 UTC.
    for clock, times in (
        ("23:00..1:30", "2023-11-14 23:00 UTC to 2023-11-15 01:30 UTC, 45 min 40 s"),
        ("22:14..+1h", "2023-11-15 22:14 UTC to 2023-11-15 23:14 UTC, 23 h 59 min"),
        ("2023-11-20T12:00..14:00", "2023-11-20 12:00 UTC to 2023-11-20 14:00 UTC, 5 d 13 h"),
    ):
        shown = run("cluster", "what-if", *options, *rest, "--without", f"{clock},s1")
        assert f"s1 is out from {times} from now" in shown.output
    for wrong in ("2h..1h,s1", "noon..,s1", "2h..+1h", "24:00..,s1"):
        failed = run("cluster", "what-if", *options, *rest, "--without", wrong)
        assert "allowed: START..END,NODES" in " ".join(failed.output.split()), failed.output
        assert "after now, 2023-11-14 22:14 UTC" in " ".join(failed.output.split())
    shown = run("cluster", "what-if", *options, *rest, "--without", "s0", "--jobs")
    assert "without 4 nodes: jobs there: 1; the last, 1, ends in 9 min 00 s" in shown.output
    failed = run("cluster", "what-if", *options, *rest, "--without", "s9")
    assert failed.exit_code != 0
    assert "found 's9'; allowed: nodes" in f"{failed.output}{failed.exception}"
    log = ("--log", files / "queue.json", "--conf", files / "slurm.conf")
    for more in (("--without", "s0"), rest[:2], rest[2:], ("--for", "1 d"), options[:2]):
        refused = run("cluster", "what-if", *log, *more).output
        assert f"{more[0]} and --log do not go together" in " ".join(refused.split())


def test_what_if_says_whom_it_leaves_out_and_why(files: Path) -> None:
    """Job 2 asks for 6 nodes; who is held does not wait for nodes."""
    held = {**QUEUE["jobs"][1], "priority": {"set": True, "number": 0}}
    queue = {**QUEUE, "jobs": [*QUEUE["jobs"]]}
    queue["jobs"] += [
        {**held, "job_id": 3 + n, "state_reason": why}
        for n, why in enumerate(["JobHeldUser", "JobHeldUser", "JobHeldAdmin"])
    ]
    unlimited = {"set": False, "infinite": True, "number": 0}
    queue["jobs"][0] = {**QUEUE["jobs"][0], "time_limit": unlimited}
    (files / "queue.json").write_text(json.dumps(queue))
    options = ("--squeue", files / "queue.json", "--topology", files / "tree.conf")
    policy = ("--policy", "grap")

    def said(sinfo: str, *more: str | Path) -> str:
        shown = run("cluster", "what-if", *options, *policy, "--sinfo", files / sinfo, *more)
        assert shown.exit_code == 0, (shown.output, shown.exception)
        return " ".join(shown.output.split())

    told = said("scontrol", "--without", "n2")
    assert "held, and so left out: 3 jobs, such as 3; JobHeldUser: 2, JobHeldAdmin: 1" in told
    assert "jobs there: 1; the last, 1, has no time limit" in told
    assert '"held": [ "3", "4", "5" ]' in said("scontrol", "--json")
    # No partition is known, or sinfo names another one.
    assert "no partition is known" in told
    assert "(2): not within 12 h" in told and "its partition" not in told
    for name, why in (
        ("main", "(2): not within 12 h"),
        ("debug", "(2): its partition main is not among those that are known: debug"),
    ):
        row = {"node": {"state": ["IDLE"]}, "nodes": {"nodes": ["n[0-7]"]}}
        (files / "named").write_text(json.dumps({"sinfo": [{**row, "partition": {"name": name}}]}))
        told = said("named")
        assert why in told and "no partition is known" not in told
    two = [{**row, "partition": {"name": name}} for name in ("debug", "main")]
    known = read_node_list(json.dumps({"sinfo": two}))
    assert known["n7"].partitions == ("debug", "main")
    # By name.
    queue["jobs"][1] = {**QUEUE["jobs"][1], "node_count": 2, "required_nodes": "n[0-1]"}
    (files / "queue.json").write_text(json.dumps(queue))
    told = said("scontrol")
    assert "not placed by grap, as they name their nodes: 1 job (2); Slurm starts them" in told


def test_files_of_two_clusters_are_refused(files: Path, tmp_path: Path) -> None:
    (files / "others.conf").write_text("SwitchName=s0 Nodes=m[0-3]\nSwitchName=s1 Nodes=m[4-7]\n")
    asked = ("cluster", "what-if", "--squeue", files / "queue.json", "--sinfo", files / "scontrol")
    asked += ("--policy", "grap", "--topology")
    failed = run(*asked, files / "others.conf")
    assert "scontrol: does not fit the topology" in str(failed.exception)
    for name, fits in (("tree", True), ("others", False)):
        out = tmp_path / name
        made = run("cluster", "machine", "--topology", files / f"{name}.conf", "--out", out)
        assert made.exit_code == 0, (made.output, made.exception)
        machine = ("--machine", out / "machine.toml")
        for more in (("--without", "n0"), ("--network", "flow", "--mpi-share", "10%")):
            done = run(*asked, files / "tree.conf", *machine, *more)
            assert (done.exit_code == 0) == fits, (done.output, done.exception)
            assert fits or "found hosts such as m0, and none" in str(done.exception)


def test_what_if_takes_a_spine_down(files: Path) -> None:
    """No node is lost with one of four spines: leaves keep three of four links, and job 1, with
    two nodes on either, may be slower for the 540 s that it still runs."""
    machine = files / "machine.toml"
    machine.write_text('[network]\nfamily = "fat-tree"\ndown = [4, 2]\nup = [4]\n')
    options = ("--squeue", files / "queue.json", "--sinfo", files / "scontrol")
    rest = ("--topology", files / "tree.conf", "--policy", "contiguous", "--machine", machine)
    # Leaves are routers 0 and 1, spines 2 to 5.
    done = run("cluster", "what-if", *options, *rest, "--without", "3", "--json")
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)["without_switches"]
    expected = {"switch": "3", "neighbours": 2, "links_left": 3, "links": 4}
    expected |= {"hosts_without_a_rail": []}
    assert (said["switches"], said["ends_s"]) == ([expected], {"1": 540})
    shown = run("cluster", "what-if", *options, *rest, "--without", "3", "--without", "2")
    assert "its 2 neighbours keep 3 of 4 links or more (75%" in " ".join(shown.output.split())
    assert "keep 2 of 3 links or more (67%" in " ".join(shown.output.split())
    assert "which may miss it: 1; the last, 1, ends in 9 min 00 s" in shown.output
    for name, words in (
        ("0", "takes 4 nodes with it"),
        ("9", "there is no router 9"),
        ("s9", "s9"),
    ):
        failed = run("cluster", "what-if", *options, *rest, "--without", name)
        assert failed.exit_code != 0 and words in f"{failed.output}{failed.exception}"
    alone = run("cluster", "what-if", *options, *rest[:4], "--without", "top")
    assert "with --machine also a switch of its network" in f"{alone.output}{alone.exception}"
    unused = run("cluster", "what-if", *options, *rest)
    assert "--machine needs --network flow, or --without" in unused.output


def test_what_if_tells_whose_rail_a_switch_is(files: Path, tmp_path: Path) -> None:
    """Second adapters of n0 to n3 are on a switch of their own, where the network has no nodes."""
    hosts = {1: [0, 1, 2, 3], 2: [4, 5, 6, 7], 3: [0, 1, 2, 3]}
    lines = []
    for leaf, nodes in hosts.items():
        lines += [f"switchguid=0x{leaf}", f'Switch 8 "S-{leaf:016x}" # "s{leaf}"']
        for port, node in enumerate(nodes, 1):
            guid, adapter = 16 * leaf + port + 256, leaf == 3
            lines.append(f'[{port}] "H-{guid:016x}"[1] # "n{node} mlx5_{adapter:d}" lid 1 4xNDR')
        for top in (8, 9):
            lines.append(f'[{top - 1}] "S-{top:016x}"[{leaf}] # "top{top}" lid 1 4xNDR')
    for top in (8, 9):
        lines += [f"switchguid=0x{top}", f'Switch 8 "S-{top:016x}" # "top{top}"']
        lines += [f'[{at}] "S-{at:016x}"[{top - 1}] # "s{at}" lid 1 4xNDR' for at in hosts]
    (tmp_path / "cables").write_text("\n".join(lines) + "\n")
    out = tmp_path / "machine"
    written = run("cluster", "machine", "--links", tmp_path / "cables", "--out", out)
    assert written.exit_code == 0, written.output
    options = ("--squeue", files / "queue.json", "--sinfo", files / "scontrol")
    rest = ("--topology", files / "tree.conf", "--policy", "contiguous")
    asked = ("cluster", "what-if", *options, *rest, "--machine", out / "machine.toml", "--without")
    rail = " ".join(run(*asked, "s3").output.split())
    assert "4 hosts lose a rail, an adapter on it (n0, n1, n2, …)" in rail
    assert "no node loses its way" not in rail
    said = json.loads(run(*asked, "s3", "--json").stdout)["without_switches"]["switches"][0]
    assert said["hosts_without_a_rail"] == ["n0", "n1", "n2", "n3"]
    assert "without switch top8 no node loses its way" in run(*asked, "top8").output
    assert "takes 4 nodes with it" in str(run(*asked, "0").exception)


def test_a_spine_of_slurms_topology_has_its_name(files: Path, tmp_path: Path) -> None:
    tops = "".join(f"SwitchName=top{n} Switches=s[0-1]\n" for n in (1, 2))
    (files / "tops.conf").write_text(
        f"SwitchName=s0 Nodes=n[0-3]\nSwitchName=s1 Nodes=n[4-7]\n{tops}"
    )
    (files / "all").write_text("n[0-7]\n")
    out = tmp_path / "machine"
    asked = ("cluster", "machine", "--topology", files / "tops.conf", "--nodes", files / "all")
    written = run(*asked, "--out", out)
    assert written.exit_code == 0, (written.output, written.exception)
    options = ("--squeue", files / "queue.json", "--sinfo", files / "scontrol")
    rest = ("--topology", files / "tree.conf", "--policy", "contiguous")
    asked = ("cluster", "what-if", *options, *rest, "--machine", out / "machine.toml", "--without")
    told = run(*asked, "2h..+1h,top2").output
    assert "without switch top2 no node loses its way; its 2 neighbours keep 1 of 2 links" in told
    assert "top2 is out from" in told and "which may miss it" not in told
    assert "which may miss it: 1; the last, 1, ends in 9 min 00 s" in run(*asked, "top1").output
    assert "one of the 4 switches, such as s0" in str(run(*asked, "top3").exception)
