"""Schedules whose jobs run as fast as a network lets them."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from click.testing import CliRunner

import odonata
from odonata.batch import Mix, SharedLinks, SharedPackets, SpeedUps
from odonata.batch.network import feng2023_modes
from odonata.batch.schedules import load_schedules
from odonata.cli.commands import odonata as main
from odonata.errors import JobLogError, ScenarioError


def swf(path: Path, jobs: list[tuple[int, int, int]], nodes: int) -> Path:
    """A log of (submission, run time, nodes)."""
    lines = [f"; MaxNodes: {nodes}", f"; MaxProcs: {nodes}"]
    for number, (submit, run, size) in enumerate(jobs, 1):
        fields = [number, submit, -1, run, size, -1, -1, size, -1, -1, 1, *[-1] * 7]
        lines.append(" ".join(map(str, fields)))
    path.write_text("\n".join(lines) + "\n")
    return path


def runs(schedule: odonata.batch.Schedule) -> list[int]:
    return schedule.jobs["run_s"].to_pylist()


MACHINE = """
[network]
family = "dragonfly"
p = 2
a = 4
h = 2
g = {groups}
routing = "{routing}"
[network.links]
terminal = {{ bandwidth = "10 GB/s", latency = "10 ns" }}
local = {{ bandwidth = "10 GB/s", latency = "10 ns" }}
global = {{ bandwidth = "{rate}", latency = "100 ns" }}
[[job]]
name = "any"
nodes = 2
motif = {{ kind = "all-to-all", message = "1 KiB" }}
"""


def machine(path: Path, routing: str = "minimal", groups: int = 9, rate: str = "5 GB/s") -> Path:
    file = path / f"{routing}-{groups}.toml"
    file.write_text(MACHINE.format(routing=routing, groups=groups, rate=rate))
    return file


def test_speed_ups_are_the_equation_of_the_paper(tmp_path: Path) -> None:
    log = swf(tmp_path / "log.swf", [(0, 1000, 64), (0, 1000, 128), (0, 1000, 4)], 256)
    table = SpeedUps(
        mix=["8..:adaptive"],
        communication_share=0.4,
        speed_ups={"adaptive": {64: 0.25, 256: 0.05}},
    )
    schedule = odonata.schedule(log, network=table)
    # 40 % of 1000 s is communication. 64 nodes save 25 % of it, 128 nodes 15 % (half-way in
    # the logarithm), and 4 nodes are in no class of the mix.
    assert runs(schedule) == [900, 940, 1000]
    assert schedule.jobs["log_run_s"].to_pylist() == [1000] * 3
    assert schedule.jobs["traffic"].to_pylist() == ["adaptive", "adaptive", None]
    assert schedule.jobs["communication_share"].to_pylist() == [0.4] * 3
    with pytest.raises(JobLogError, match="traffics with a speed-up: adaptive"):
        odonata.schedule(
            log,
            network=SpeedUps(
                mix=["custom"], communication_share=0.4, speed_ups={"adaptive": {64: 0.25}}
            ),
        )
    with pytest.raises(JobLogError, match="says of no job how much it communicates"):
        odonata.schedule(log, network=SpeedUps(mix=["8..:adaptive"], speed_ups=table.speed_ups))


def test_speed_ups_from_the_command_line(tmp_path: Path) -> None:
    log = swf(tmp_path / "log.swf", [(0, 1000, 600)], 1000)
    gains = tmp_path / "gains.csv"
    modes = ("minimal-balance", "adaptive", "custom-balance", "custom")
    gains.write_text("traffic,nodes,speed_up\n" + "".join(f"{mode},600,50%\n" for mode in modes))
    arguments = ["schedule", str(log), "--network", "table", "--mpi-share", "20%", "--no-plots"]
    out = ["--out", str(tmp_path / "out"), "--json"]
    result = CliRunner().invoke(main, [*arguments, "--speed-ups", str(gains), *out])
    assert result.exit_code == 0, result.output
    # 1000 − 200 × 50 %: one job on 600 of 1000 nodes for the whole makespan of 900 s.
    assert '"makespan_s": 900' in result.output
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "needs --speed-ups" in result.output
    result = CliRunner().invoke(main, ["schedule", str(log), "--mpi-share", "20%"])
    assert "no meaning with --network none" in result.output
    gains.write_text("traffic,nodes\nx,1\n")
    result = CliRunner().invoke(main, [*arguments, "--speed-ups", str(gains)])
    assert "found no column speed_up" in str(result.exception)


def test_a_mix_is_read() -> None:
    assert Mix.read("576..65536:a=40%,b=60%") == Mix({"a": 0.4, "b": 0.6}, 576, 65536)
    assert Mix.read("65537..:a") == Mix({"a": 1.0}, 65537, None)
    assert Mix.read("a=1,b=3") == Mix({"a": 1.0, "b": 3.0})
    with pytest.raises(JobLogError, match="allowed: NAME, or FROM"):
        Mix.read("x..y:a")


def test_a_job_alone_is_slowed_by_its_own_bottleneck(tmp_path: Path) -> None:
    # Two groups of 8 nodes with one link of 5 GB/s between them; each node of the first sends
    # 10 GB/s to one of the second: a sixteenth goes through. Half of 1000 s is communication.
    log = swf(tmp_path / "log.swf", [(0, 1000, 16)], 72)
    halves = SharedLinks(
        mix=["halves"], communication_share=0.5, machine=machine(tmp_path), injection=1.0
    )
    assert runs(odonata.schedule(log, network=halves)) == [500 + 500 * 16]

    def detoured(routing: str) -> int:
        file = machine(tmp_path, routing)
        network = SharedLinks(mix=["halves"], communication_share=0.5, machine=file, injection=1.0)
        return runs(odonata.schedule(log, network=network))[0]

    # By way of seven other groups: 8/7 of a node's 10 GB/s on each link of 5 GB/s.
    assert detoured("valiant") == 500 + math.ceil(500 * 8 / 7 * 2)
    # Adaptive routing sends an eighth directly if it can, here a quarter or nothing.
    assert detoured("par") == detoured("valiant")


#: Two leaf switches of four nodes, with links of half a node's rate to each spine.
TREE = """
class edge terminal 10000000000 10000 65536
class up local 5000000000 10000 65536
nodes 4 0 edge
nodes 4 1 edge
"""


@pytest.mark.parametrize("routing", ["up-down", "shortest-path"])
@pytest.mark.parametrize(("spines", "stretch"), [(1, 8), (2, 4), (8, 1)])
def test_jobs_on_a_tree_share_its_links_up(
    tmp_path: Path, routing: str, spines: int, stretch: int
) -> None:
    links = [f"link {leaf} {2 + spine} up" for spine in range(spines) for leaf in (0, 1)]
    (tmp_path / "tree.edges").write_text(TREE + "\n".join(links) + "\n")
    file = tmp_path / "tree.toml"
    network = f'family = "edge-list"\nfile = "tree.edges"\nrouting = "{routing}"\n'
    file.write_text(f"[network]\n{network}")
    # Four nodes send 10 GB/s each to the other leaf, over 5 GB/s to each spine.
    log = swf(tmp_path / "log.swf", [(0, 1000, 8)], 8)
    halves = SharedLinks(mix=["halves"], communication_share=0.5, machine=file, injection=1.0)
    assert runs(odonata.schedule(log, network=halves)) == [500 + 500 * stretch]
    # To all others alike: 4/7 of it leaves the leaf.
    each = SharedLinks(mix=["uniform"], communication_share=0.5, machine=file, injection=1.0)
    expected = 500 + math.ceil(500 * max(1, stretch * 4 / 7))
    assert runs(odonata.schedule(log, network=each)) == [expected]


def test_jobs_stretch_each_other_while_they_run_together(tmp_path: Path) -> None:
    # Two groups, eight links of 0.5 GB/s between them. Each job has two nodes in either group,
    # which send 20 GB/s to the other one: 2.5 GB/s on each link, so a fifth at most goes through;
    # on average half of that, 0.25 GB/s, so that two jobs fill the links and three get 2/15 each.
    log = swf(tmp_path / "log.swf", [(0, 1000, 4), (0, 1000, 4), (0, 400, 4)], 16)
    network = SharedLinks(
        mix=["halves"],
        communication_share=0.5,
        machine=machine(tmp_path, groups=2, rate="500 MB/s"),
        injection=1.0,
        placement="spread",
    )
    # With three, 1000 s of work take 500 + 500 × 7.5 = 4250 s: the third ends after 1700 s, when
    # the others have 600 left, which take three times as long.
    assert runs(odonata.schedule(log, network=network)) == [3500, 3500, 1700]


def test_placements_are_compared_with_their_stretch(tmp_path: Path) -> None:
    # The worked example above: contiguous jobs have a group each, and do not stretch each other.
    log = swf(tmp_path / "log.swf", [(0, 1000, 4), (0, 1000, 4), (0, 400, 4)], 16)
    where = machine(tmp_path, groups=2, rate="500 MB/s")
    arguments = ["schedule", str(log), "--network", "flow", "--machine", str(where)]
    arguments += ["--mix", "halves", "--mpi-share", "50%", "--injection", "100%"]
    arguments += ["--placement", "spread", "--no-plots", "--compare", "contiguous"]
    result = CliRunner().invoke(main, [*arguments, "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "easy,network.placement=contiguous" in "".join(result.output.split())
    rows = [line.split() for line in result.output.splitlines() if "over the log's" in line]
    # 3500, 3500 and 1700 s instead of 1000, 1000 and 400 s.
    assert {row[-3]: row[-2] for row in rows} == {"mean": "3.75", "p99": "4.24", "max": "4.25"}
    assert float(rows[0][-1]) < 3.75
    (slowed,) = (line.split() for line in result.output.splitlines() if "jobs slowed" in line)
    assert slowed[-2] == "3"
    assert "no job ran longer" not in result.output
    made = load_schedules(tmp_path / "out")[0][0]
    assert (made.figure("slowed_jobs"), made.figure("max_run_over_log")) == (3, 4.25)
    both = ["compare", str(tmp_path / "out"), str(tmp_path / "out"), "--out", str(tmp_path / "c")]
    assert "jobs slowed by the network" in CliRunner().invoke(main, both).output
    # With 1 % of its link's rate a job fills no link.
    little = [one if one != "100%" else "1%" for one in arguments]
    said = CliRunner().invoke(main, [*little, "--out", str(tmp_path / "little")]).output
    assert "easy: no job ran longer than in the log: no link was ever full" in " ".join(
        said.split()
    )
    alone = ["schedule", str(log), "--compare", "contiguous"]
    result = CliRunner().invoke(main, alone)
    assert "a placement with --network flow or packet" in " ".join(result.output.split())


def test_what_cannot_be_shared_is_refused(tmp_path: Path) -> None:
    log = swf(tmp_path / "log.swf", [(0, 1000, 16)], 100)
    network = SharedLinks(mix=["halves"], communication_share=0.5, machine=machine(tmp_path))
    with pytest.raises((JobLogError, ScenarioError), match="100 nodes of the schedule"):
        odonata.schedule(log, network=network)
    other = SharedLinks(mix=["tree"], communication_share=0.5, machine=machine(tmp_path))
    with pytest.raises(
        (JobLogError, ScenarioError), match="uniform, stencil, neighbouring, ring, halves"
    ):
        odonata.schedule(log, nodes=72, network=other)


OPTICAL = """
[network]
family = "reconfigurable-dragonfly"
p = 2
a = 4
h = 2
g = 6
{circuits}
[network.links]
terminal = {{ bandwidth = "10 GB/s", latency = "10 ns" }}
local = {{ bandwidth = "10 GB/s", latency = "10 ns" }}
global = {{ bandwidth = "5 GB/s", latency = "100 ns" }}
[[job]]
name = "any"
nodes = 2
motif = {{ kind = "all-to-all", message = "1 KiB" }}
"""


def optical(path: Path, circuits: str, **others: object) -> SharedLinks:
    """A reconfigurable dragonfly of six groups of 8 nodes, each node sending all it can."""
    file = path / f"optical-{abs(hash(circuits))}.toml"
    file.write_text(OPTICAL.format(circuits=circuits))
    given = {"mix": ["halves"], "communication_share": 0.5, "injection": 1.0, **others}
    return SharedLinks(machine=file, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("steering", ["uniform", "min-max", "matching", "birkhoff"])
def test_large_jobs_get_circuits_of_their_own(tmp_path: Path, steering: str) -> None:
    log = swf(tmp_path / "log.swf", [(0, 1000, 16), (2000, 1000, 16)], 48)
    jobs = optical(tmp_path, f'circuits = "jobs"\nsteering = "{steering}"')
    schedule = odonata.schedule(log, grap_groups=6, network=jobs)
    # All 8 links of 5 GB/s lie between the job's two groups, and 8 nodes of either send 80 GB/s to
    # the other: half goes through. 500 + 500 · 2 s of work, after the 0.1 s that circuits take, in
    # whole seconds. The second finds them as it needs them.
    assert runs(schedule) == [1501, 1500]
    circuits = schedule.summary["network"]["circuits"]
    assert circuits["large_jobs"] == 2
    assert circuits["reconfigurations"] == 1
    assert circuits["circuits_set"] == 8
    assert circuits["delay_s"] == pytest.approx(0.1)
    slow = optical(tmp_path, f'circuits = "jobs"\nsteering = "{steering}"', switch_delay="1 min")
    assert runs(odonata.schedule(log, grap_groups=6, network=slow)) == [1560, 1500]


def test_the_same_machine_with_fixed_circuits(tmp_path: Path) -> None:
    log = swf(tmp_path / "log.swf", [(0, 1000, 16)], 48)
    # 8 links to 5 other groups: one, or two, to each; 5 or 10 of 80 GB/s go through.
    fixed = odonata.schedule(log, network=optical(tmp_path, 'circuits = "uniform"'))
    assert runs(fixed)[0] in (500 + 500 * 16, 500 + 500 * 8)
    # By way of other groups as well: 20 of 40 GB/s on the way back from four others, half.
    adaptive = optical(tmp_path, 'circuits = "uniform"\nrouting = "par"')
    assert runs(odonata.schedule(log, network=adaptive))[0] < runs(fixed)[0]
    # GRAP places on it, too.
    placed = odonata.schedule(log, grap_groups=6, network=optical(tmp_path, 'circuits = "uniform"'))
    assert runs(placed) == runs(fixed)


def test_circuits_for_jobs_need_groups_of_their_own(tmp_path: Path) -> None:
    log = swf(tmp_path / "log.swf", [(0, 1000, 16)], 48)
    jobs = optical(tmp_path, 'circuits = "jobs"')
    with pytest.raises(JobLogError, match="place by GRAP"):
        odonata.schedule(log, network=jobs)
    with pytest.raises(JobLogError, match="allowed: 6, the groups of the network"):
        odonata.schedule(log, grap_groups=8, network=jobs)
    adaptive = optical(tmp_path, 'circuits = "jobs"\nrouting = "par"')
    with pytest.raises(JobLogError, match="other groups are no detour"):
        odonata.schedule(log, grap_groups=6, network=adaptive)


def test_modes_decide_places_and_traffic(tmp_path: Path) -> None:
    # Groups of 8 nodes. In Minimal Balance 17 nodes take 3 groups as equally as may be, in Custom
    # 8 + 6 + 3, in Custom Balance the next power of two: 4 groups. Small jobs have no mode.
    sizes = [(0, 10, 17), (100, 10, 8)]
    log = swf(tmp_path / "log.swf", sizes, 48)

    def placed(mode: str) -> list[tuple[int, str | None, str | None]]:
        network = optical(tmp_path, 'circuits = "jobs"', mix="by-mode")
        schedule = odonata.schedule(log, grap_groups=6, grap_modes=[mode], network=network)
        table = schedule.jobs.to_pylist()
        return [(row["groups"], row["mode"], row["traffic"]) for row in table]

    small = (1, None, "uniform")
    assert placed("minimal-balance") == [(3, "minimal-balance", "stencil"), small]
    assert placed("adaptive") == [(3, "adaptive", "uniform"), small]
    assert placed("custom-balance") == [(4, "custom-balance", "stencil"), small]
    assert placed("custom") == [(3, "custom", "neighbouring"), small]
    # The table has its speed-ups by mode.
    table = SpeedUps(mix="by-mode", communication_share=0.5, speed_ups={"custom": {16: 0.2}})
    schedule = odonata.schedule(log, grap_groups=6, grap_modes=["custom"], network=table)
    assert runs(schedule) == [9, 10]
    with pytest.raises(JobLogError, match="found balance; allowed: adaptive, minimal-balance"):
        odonata.schedule(log, grap_groups=6, grap_modes=["balance"])
    with pytest.raises(JobLogError, match="how many groups"):
        odonata.schedule(log, network=table)
    with pytest.raises(JobLogError, match="have a meaning with GRAP"):
        odonata.schedule(log, grap_modes=["custom"])


def test_the_modes_of_the_paper() -> None:
    assert feng2023_modes(82_944, 288) == (
        "289..575:minimal-balance",
        "576..65536:minimal-balance=40%,adaptive=40%,custom-balance=10%,custom=10%",
        "65537..:minimal-balance",
    )
    # On two groups 79 % of the machine are less than two groups.
    assert feng2023_modes(100, 2) == ("51..:minimal-balance",)


def test_circuits_from_the_command_line(tmp_path: Path) -> None:
    log = swf(tmp_path / "log.swf", [(0, 1000, 16)], 48)
    jobs = optical(tmp_path, 'circuits = "jobs"')
    arguments = ["schedule", str(log), "--grap", "6", "--network", "flow", "--machine"]
    arguments += [str(jobs.machine), "--mpi-share", "50%", "--injection", "100%", "--no-plots"]
    arguments += ["--mix", "by-mode", "--grap-modes", "adaptive", "--switch-delay", "10 s"]
    result = CliRunner().invoke(main, [*arguments, "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "circuits set" in result.output
    assert "8 in 1 goes" in result.output


def test_groups_of_a_real_machine(tmp_path: Path) -> None:
    name = "shared/data/theta-topology/theta.interconnect"
    here = Path(__file__).resolve()
    wiring = next((above / name for above in here.parents if (above / name).exists()), None)
    if wiring is None:
        pytest.skip("the list of Theta's links is not beside the checkout")
    file = tmp_path / "theta.toml"
    file.write_text(
        f"""[network]
family = "reconfigurable-dragonfly"
p = 4
wiring_file = "{wiring}"
g = 12
circuits = "jobs"
[[job]]
name = "any"
nodes = 2
motif = {{ kind = "all-to-all", message = "1 KiB" }}
"""
    )
    # 366 of 384 nodes in each of 12 groups; the job needs two of them.
    log = swf(tmp_path / "log.swf", [(0, 1000, 640)], 4392)
    network = SharedLinks(mix=["halves"], communication_share=0.5, machine=file, injection=1.0)
    schedule = odonata.schedule(log, grap_groups=12, network=network)
    circuits = schedule.summary["network"]["circuits"]
    # 48 · 11 links of every group, all of them between the two.
    assert (circuits["large_jobs"], circuits["circuits_set"]) == (1, 528)


def packets(path: Path, routing: str, **others: object) -> dict[str, object]:
    """72 nodes, all links alike, so that two levels of the network can be compared."""
    file = machine(path, routing, rate="10 GB/s")
    return {"machine": file, "communication_share": 0.5, "injection": 1.0, **others}


@pytest.mark.parametrize(("routing", "traffic"), [("minimal", "halves"), ("par", "uniform")])
def test_packets_agree_with_flows_on_a_job_alone(
    tmp_path: Path, routing: str, traffic: str
) -> None:
    # Minimal: one link of 10 GB/s for 8 nodes that send 10 GB/s each to the other group, an eighth:
    # 500 + 500 × 8 = 4500 s. The packets' run is what arrives of random messages: within 3 %.
    log = swf(tmp_path / "log.swf", [(0, 1000, 16)], 72)
    common = packets(tmp_path, routing, mix=[traffic])
    flows = runs(odonata.schedule(log, network=SharedLinks(**common)))[0]  # type: ignore[arg-type]
    schedule = odonata.schedule(log, network=SharedPackets(**common))  # type: ignore[arg-type]
    if traffic == "halves":
        assert flows == 4500
        assert runs(schedule)[0] == pytest.approx(4500, rel=0.03)
    else:
        # Adaptive routing of packets looks at queues; splits of flows are five.
        assert runs(schedule)[0] == pytest.approx(flows, rel=0.15)
    assert schedule.summary["network"]["windows"]["simulated"] >= 1


def test_packets_of_jobs_slow_each_other(tmp_path: Path) -> None:
    # As with flows above: two groups with eight links of 0.5 GB/s, on which each job sends
    # 20 GB/s in either direction, 40 % of the time. Alone a fifth goes through, so that a job
    # sends 0.2 GB/s per link on average. Two fit; of three five sixths of that arrive, a sixth of
    # what they would send: 0.6 + 0.4 · 6 s per second. The third ends after 1200 s, when the others
    # have 600 left, which take 0.6 + 0.4 · 5 s each.
    log = swf(tmp_path / "log.swf", [(0, 1000, 4), (0, 1000, 4), (0, 400, 4)], 16)
    common = {
        "mix": ["halves"],
        "communication_share": 0.4,
        "machine": machine(tmp_path, groups=2, rate="500 MB/s"),
        "injection": 1.0,
        "placement": "spread",
    }
    assert runs(odonata.schedule(log, network=SharedLinks(**common))) == [2760, 2760, 1200]  # type: ignore[arg-type]
    network = SharedPackets(**common, window="2 ms", warmup="500 us")  # type: ignore[arg-type]
    schedule = odonata.schedule(log, network=network)
    # Packets that choose among full links at random wait behind each other, so that eight links
    # carry less than eight times one: jobs take longer than as flows, by less than a fifth.
    for packet, flow in zip(runs(schedule), (2760, 2760, 1200), strict=True):
        assert flow <= packet <= 1.2 * flow
    # Three of jobs alone, then of three and of two together, and of one if the others end apart.
    assert schedule.summary["network"]["windows"]["simulated"] <= 6


def test_packets_on_circuits(tmp_path: Path) -> None:
    log = swf(tmp_path / "log.swf", [(0, 1000, 16), (2000, 1000, 16)], 48)
    given = optical(tmp_path, 'circuits = "jobs"')
    network = SharedPackets(
        machine=given.machine, mix=["halves"], communication_share=0.5, injection=1.0
    )
    schedule = odonata.schedule(log, grap_groups=6, network=network)
    # As flows: half of 80 GB/s fits over the 8 links of 5 GB/s, all of which the job gets, after
    # 0.1 s. Packets over the links of one router collide at its local ports: less, not more.
    first, second = runs(schedule)
    assert 1500 <= first <= 2200
    assert second == pytest.approx(first, abs=1)
    assert schedule.summary["network"]["circuits"]["circuits_set"] == 8
    file = tmp_path / "minimal.toml"
    text = OPTICAL.format(circuits='circuits = "jobs"\nrouting = "minimal"')
    file.write_text(text)
    minimal = SharedPackets(machine=file, mix=["halves"], communication_share=0.5)
    with pytest.raises(JobLogError, match="allowed: tago"):
        odonata.schedule(log, grap_groups=6, network=minimal)


def test_latency_stretches_where_throughput_does_not(tmp_path: Path) -> None:
    # Two jobs of 8 nodes on every other node of two groups, at half of what links carry: all
    # arrives, but messages wait for each other.
    log = swf(tmp_path / "log.swf", [(0, 1000, 8), (0, 1000, 8)], 72)
    common = packets(
        tmp_path, "minimal", mix=["uniform"], placement="random-node", communication_share=0.5
    )
    through = odonata.schedule(log, network=SharedPackets(**common))  # type: ignore[arg-type]
    late = odonata.schedule(log, network=SharedPackets(**common, stretch="latency"))  # type: ignore[arg-type]
    assert sum(runs(late)) > sum(runs(through))
    with pytest.raises(JobLogError, match="allowed: throughput, latency"):
        odonata.schedule(log, network=SharedPackets(**common, stretch="both"))  # type: ignore[arg-type]


def test_packets_from_the_command_line(tmp_path: Path) -> None:
    log = swf(tmp_path / "log.swf", [(0, 1000, 16)], 72)
    arguments = ["schedule", str(log), "--network", "packet", "--mpi-share", "50%", "--no-plots"]
    arguments += ["--machine", str(machine(tmp_path)), "--mix", "halves", "--window", "100us"]
    out = ["--warmup", "20us", "--message", "2KiB", "--stretch", "latency"]
    where = ["--out", str(tmp_path / "out"), "--json"]
    result = CliRunner().invoke(main, [*arguments, *out, *where])
    assert result.exit_code == 0, result.output
    assert '"windows"' in result.output
    arguments[3] = "flow"
    result = CliRunner().invoke(main, [*arguments, *out])
    assert "--window: has no meaning with --network flow" in result.output
