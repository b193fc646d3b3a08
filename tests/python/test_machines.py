"""Real machines: hosts, measured collectives, predictions, calibration."""

import json
import re

import pytest

from odonata import _engine, display
from odonata.errors import ExitCode, MachineError, ScenarioError
from odonata.machines.hostmodel import HostModel, by_size, copied
from odonata.machines.hosts import hosts_of, nodes_of, read_hosts
from odonata.machines.names import OPERATIONS, algorithm_of, measured_name, operation_of
from odonata.machines.prediction import (
    Case,
    Predictor,
    candidates,
    predict_collective,
    sends_without_waiting,
)
from odonata.scenario import Scenario
from odonata.simulate import run
from small_machine import EXAMPLES, HOSTS, SMALL, odonata, small

LUMI_CABINETS = {"nid006611": 12 * 128 + 123, "nid006612": 13 * 128, "nid007977": 23 * 128 + 125}
JOB = """
[[job]]
name = "pair"
nodes = 2
motif = { kind = "collective", operation = "allreduce", message = "1 kB" }
"""


# --- Hosts ----------------------------------------------------------------------------------


def test_hosts_are_nodes_in_the_order_of_lists(tmp_path):
    (tmp_path / "hosts").write_text("# comment\nb[1-3] 4\n\na[09-10] 0 # more\n")
    text = SMALL.replace(
        'hosts = [{ names = "node[01-16]", first_node = 0 }]', 'hosts_file="hosts"'
    )
    scenario = Scenario.from_dict(Scenario.from_toml(text).to_dict(), directory=tmp_path)
    assert hosts_of(scenario) == {"b1": 4, "b2": 5, "b3": 6, "a09": 0, "a10": 1}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("a[1-2] 0\na2 5", "hosts:2: host a2 is there already, on node 1"),
        ("a[1-2] 0\nb1 1", "hosts:2: node 1 of b1 is that of a2"),
        ("a[1-2]", 'hosts:1: found "a[1-2]"'),
        ("a[1-2 0", "is no list of hosts"),
    ],
)
def test_wrong_lists_of_hosts_are_refused(tmp_path, line, found):
    (tmp_path / "hosts").write_text(line)
    text = SMALL.replace(
        'hosts = [{ names = "node[01-16]", first_node = 0 }]', 'hosts_file="hosts"'
    )
    scenario = Scenario.from_dict(Scenario.from_toml(text).to_dict(), directory=tmp_path)
    with pytest.raises(MachineError) as error:
        hosts_of(scenario)
    assert found in str(error.value)


def test_allocations_are_checked():
    known = {"a1": 3, "a2": 1, "a3": 2}
    assert nodes_of(["a2", "a1.domain.org"], known, 1, "M") == [1, 3]
    # Each host as often as it has ranks, as allocations by rank list them.
    assert nodes_of(["a2", "a2", "a1", "a1"], known, 2, "M") == [1, 3]
    with pytest.raises(MachineError, match=r"host a4: M has none .* 3 hosts from a1 to a3"):
        nodes_of(["a1", "a4"], known, 1, "M")
    with pytest.raises(MachineError, match="host a1: is there twice, in places 1 and 3"):
        nodes_of(["a1", "a2", "a1"], known, 1, "M")
    with pytest.raises(MachineError, match="allowed: every host once, or 2 times in a row"):
        nodes_of(["a1", "a2", "a1", "a2"], known, 2, "M")


def test_a_file_of_hosts_has_one_in_a_line(tmp_path):
    file = tmp_path / "hosts"
    file.write_text("a1\n# not this\na2\n\n")
    assert read_hosts(file) == ["a1", "a2"]
    file.write_text("a1 a2\n")
    with pytest.raises(MachineError, match='hosts:1: found "a1 a2"; allowed: a host'):
        read_hosts(file)
    file.write_text("\n")
    with pytest.raises(MachineError, match="holds no hosts"):
        read_hosts(file)
    with pytest.raises(MachineError, match="there is no such file"):
        read_hosts(tmp_path / "none")


def test_a_scenario_without_hosts_is_no_machine():
    text = SMALL.replace('hosts = [{ names = "node[01-16]", first_node = 0 }]', "")
    with pytest.raises(MachineError, match="names no hosts"):
        Predictor(Scenario.from_toml(text))


def test_points_of_a_machine_grow():
    with pytest.raises(ScenarioError, match=r"machine.combine\[1\].size"):
        small('combine = [{size="2 kB", bandwidth="1 GB/s"}, {size="1 kB", bandwidth="1 GB/s"}]')
    with pytest.raises(ScenarioError, match=r"mpi.host_times\[1\].time"):
        small('[mpi]\nhost_times = [{size="1 kB", time="2 us"}, {size="2 kB", time="1 us"}]')


# --- The machines of the repository ----------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "hosts", "sample"),
    [
        # Fourth node of the first leaf; last of all: leaf 16 of cell 22, 40 places a leaf.
        ("leonardo", 4992, {"lrdn0004": 3, "lrdn4992": (21 * 18 + 15) * 40 + 37}),
        # x1305c6s0b0n0: cabinet 17 of those of LUMI-G, node (6 * 8 + 0) * 2 of it; x1300 ends and
        # x1301 begins, as features of Slurm say.
        ("lumi-g", 2978, {"nid005000": 0, "nid007202": 17 * 128 + 96, **LUMI_CABINETS}),
        # as05r3: the 23rd rack.
        ("mare-nostrum-5", 1120, {"as01r1b01": 0, "as05r3b10": 22 * 32 + 9}),
        ("lumi-c", 2048, {"nid001256": 256}),
        ("frontier", 9408, {"frontier00129": 128}),
        ("piz-daint", 7680, {"nid00384": 384}),
        ("fugaku", 158_976, {"tofu0012": 12, "tofu158975": 158_975}),
    ],
)
def test_machines_have_their_hosts(file, hosts, sample):
    scenario = Scenario.from_file(EXAMPLES / "machines" / f"{file}.toml")
    found = hosts_of(scenario)
    assert len(found) == hosts
    assert {name: found[name] for name in sample} == sample
    predictor = Predictor(scenario)
    names = list(found)[:8]
    case = predictor.case(names, "allreduce", "ring", 8192)
    prediction = predictor.predict(case)
    # Fourteen steps of some hundred ns on the wire at least, and not a millisecond.
    assert 14 * 200 < prediction.median_ns < 1_000_000
    if scenario.machine.spread:
        assert prediction.p10_ns < prediction.median_ns < prediction.p90_ns


@pytest.mark.parametrize(
    ("file", "total", "allowed"),
    # LUMI's user guide: total of all links between groups, both directions, in TB/s. One global
    # link more or less at each of a group's switches is 7 % of LUMI-G's and 14 % of LUMI-C's.
    # Frontier: 58.4 Tbit/s from each of 74 groups, four links to each of the others.
    [("lumi-g", 276, 0.03), ("lumi-c", 22.4, 0.001), ("frontier", 74 * 58.4 / 8, 0.02)],
)
def test_groups_have_the_bandwidth_that_is_published(file, total, allowed):
    network = Scenario.from_file(EXAMPLES / "machines" / f"{file}.toml").network
    links = network.g * network.a * network.h / 2
    bytes_per_s = 2 * links * int(network.links.global_.bandwidth)
    assert bytes_per_s == pytest.approx(total * 1e12, rel=allowed)


@pytest.mark.parametrize(("file", "per_node"), [("lumi-c", 1), ("mare-nostrum-5", 2)])
def test_longer_vectors_take_longer(file, per_node):
    """By every algorithm, as costs of messages grow with their size. Not so for the shortest ones:
    a rank that exchanges with all at once may be held up in sending by what arrives early.
    """
    predictor = Predictor.from_file(EXAMPLES / "machines" / f"{file}.toml")
    hosts = list(predictor.hosts)[:8]
    for operation in sorted(set(OPERATIONS.values())):
        for algorithm in candidates(operation, 8 * per_node):
            cases = (
                predictor.case(hosts, operation, algorithm, size, per_node)
                for size in (4096, 65_536, 1 << 20)
            )
            times = [predictor.predict(case).median_ns for case in cases]
            assert times == sorted(times), (operation, algorithm, times)


@pytest.mark.parametrize("file", ["lumi-c", "frontier"])
def test_hosts_that_nobody_measured_are_those_calibrated_on_lumi_g(file):
    measured, other = (
        Scenario.from_file(EXAMPLES / "machines" / f"{name}.toml") for name in ("lumi-g", file)
    )
    assert HostModel.of(other) == HostModel.of(measured)
    assert other.machine.spread == measured.machine.spread
    assert other.machine.errors == measured.machine.errors


# --- Names ----------------------------------------------------------------------------------


def test_measured_names_are_understood():
    assert measured_name("allreduce", "recursive_doubling_ompi").algorithm == "recursive-doubling"
    assert measured_name("allreduce", "recursive_doubling_over").library == "point-to-point"
    assert measured_name("allreduce", "default_mpich").algorithm == "auto"
    # PICO's own has a radix of two, Open MPI's of four.
    assert measured_name("allgather", "k_bruck_over").algorithm == "bruck"
    assert measured_name("allgather", "k_bruck_ompi").algorithm == "k-bruck"
    assert measured_name("allreduce", "default-ring").library == "fujitsu"
    # Open MPI's chains are four, its pipeline one.
    assert measured_name("broadcast", "chain_ompi").algorithm == "chains"
    assert measured_name("reduce", "default-chain").algorithm == "chains"
    assert measured_name("broadcast", "pipeline_ompi").algorithm == "chain"
    # Its linear gathers and scatters receive and send one after the other; Fujitsu's simple ones
    # and those of the benchmark do not.
    assert measured_name("gather", "linear_ompi").algorithm == "linear-in-turn"
    assert measured_name("scatter", "default-basic-linear").algorithm == "linear-in-turn"
    assert measured_name("scatter", "linear_nb_ompi").algorithm == "linear"
    assert measured_name("gather", "default-simple").algorithm == "linear"
    segmented = measured_name("allreduce", "bine_bdw_remap_segmented_over_16384")
    assert (segmented.algorithm, segmented.segment) == ("bine-segmented", 16384)
    assert segmented.library == "point-to-point"
    assert measured_name("allreduce", "bine_bdw_remap_segmented_over").segment is None
    assert (
        measured_name("allgather", "bine_block_by_block_over_any_even").algorithm == "bine-blocks"
    )
    assert measured_name("alltoall", "pairwise_ompi_over").algorithm == "pairwise"
    for operation, name, ours in (
        ("allreduce", "bine_block_by_block_any_even", "bine-blocks"),
        ("broadcast", "bine_bdw_static_over", "bine-scatter-allgather"),
        ("reduce-scatter", "bine_static_over", "bine"),
        ("reduce-scatter", "recursive_doubling_mpich", "recursive-doubling"),
        ("allreduce", "RECDOUB-L-UTOFU-0-1", "recursive-doubling"),
        ("allreduce", "RECDOUB-B_CONT-UTOFU-0-1", "rabenseifner"),
        ("alltoall", "BRUCK-LOG-MPI-0-1", "bruck"),
        # Over six interfaces, in segments, or along the dimensions of the torus.
        ("allreduce", "RECDOUB-L-UTOFU-0-6", None),
        ("allreduce", "RECDOUB-B_CONT-UTOFU-65536-1", None),
        ("allreduce", "BINE-L-UTOFU-0-1", None),
    ):
        assert measured_name(operation, name).algorithm == ours, name
    # What knows which ranks share a node is not simulated.
    assert measured_name("allgather", "bine_2_blocks_hierarcic_v1_over").algorithm is None
    assert algorithm_of("allreduce", "Segmented_Ring") == "segmented-ring"
    assert operation_of("MPI_Bcast".lower().removeprefix("mpi_")) == "broadcast"
    with pytest.raises(MachineError, match=r'"rong", which is none of allreduce .* ring'):
        algorithm_of("allreduce", "rong")
    with pytest.raises(MachineError, match=r'found "allredue"; .* did you mean allreduce'):
        operation_of("allredue")


# --- Predictions ----------------------------------------------------------------------------


def test_a_prediction_is_what_its_parts_take():
    # Two ranks, recursive doubling of 1000 B on 10 GB/s: call 1 us, copy at 1 GB/s 1 us, overheads
    # and half of the 2000 B that host times name on either side, one delay, 100 ns on the wire (a
    # crossbar is cut through by bytes: 0.1 ns more), sum at 2 GB/s 500 ns.
    more = """call = "1 us"
copy = [{size = "1 kB", bandwidth = "1 GB/s"}]
combine = [{size = "1 kB", bandwidth = "2 GB/s"}]
spread = [{size = "1 kB", p10 = 0.5, p90 = 3.0}]
[mpi]
send_overhead = "200 ns"
receive_overhead = "300 ns"
send_delay = "70 ns"
host_times = [{size = "2 kB", time = "100 ns"}]
"""
    predictor = Predictor(small(more))
    found = predictor.predict(
        predictor.case(HOSTS[:2], "allreduce", "recursive_doubling_ompi", 1000)
    )
    expected = 1000 + 1000 + 200 + 50 + 70 + 100.1 + 300 + 50 + 500
    assert found.median_ns == pytest.approx(expected, abs=0.2)
    assert found.p10_ns == found.median_ns * 0.5
    assert found.p90_ns == found.median_ns * 3


def test_both_engines_take_the_same_hosts():
    more = "[mpi]\nsend_overhead = '1 us'\nreceive_overhead = '1 us'\n"
    flow, packet = (Predictor(small(more), engine=engine) for engine in ("flow", "packet"))
    for algorithm in ("ring", "rabenseifner", "bine"):
        case = flow.case(HOSTS, "allreduce", algorithm, 1 << 16)
        times = [one.predict(case).median_ns for one in (flow, packet)]
        assert times[0] == pytest.approx(times[1], rel=0.02)


def test_blocks_share_the_size_of_the_vector():
    # Ring allgather of 16 blocks of 1000 B at 10 GB/s: 15 steps of 100 ns, and no time else.
    predictor = Predictor(small())
    found = predictor.predict(predictor.case(HOSTS, "allgather", "ring", 16_000))
    assert found.median_ns == pytest.approx(1_500, rel=0.01)


def to_each(n, k, size):
    return n * (n - 1) * size


def once(n, k, size):
    return (n - 1) * size


def twice(n, k, size):
    return 2 * (n - 1) * size


def all_in_each_round(n, k, size):
    return n * k * size


def half_in_each_round(n, k, size):
    return k * (n // 2) * size


#: What all ranks send together by algorithms whose data goes straight to where it is needed, or
#: whole along a tree: of n ranks, 2 to the power of k, with blocks or vectors of a size.
SENT = {
    "allgather": {
        to_each: "bruck k-bruck ring neighbour-exchange sparbit recursive-doubling bine-two-blocks "
        "bine-blocks"
    },
    "allreduce": {
        twice: "ring segmented-ring rabenseifner bine bine-segmented bine-blocks",
        all_in_each_round: "recursive-doubling bine-latency",
    },
    "alltoall": {
        to_each: "pairwise linear scattered",
        lambda n, k, size: n * half_in_each_round(n, k, size): "bruck bine",
    },
    "broadcast": {
        once: "linear binomial binomial-at-once binary chain chains knomial bine bine-at-once "
        "bine-near-at-once"
    },
    "gather": {once: "linear linear-in-turn", half_in_each_round: "binomial bine"},
    "reduce": {
        once: "linear binomial binomial-overlapped binary chain chains knomial bine",
    },
    "reduce-scatter": {
        to_each: "recursive-halving pairwise ring bine-blocks",
        lambda n, k, size: n * (k * n - (n - 1)) * size: "recursive-doubling",
    },
    "scatter": {once: "linear linear-in-turn", half_in_each_round: "binomial bine"},
}
#: What has to be sent at least.
NEEDED = {
    **dict.fromkeys(("allgather", "alltoall", "reduce-scatter"), to_each),
    **dict.fromkeys(("broadcast", "gather", "reduce", "scatter"), once),
    "allreduce": twice,
}


def bytes_sent(predictor, case):
    form = predictor.scenario.normalised()
    form["jobs"] = [predictor.job(case, HostModel.of(predictor.scenario))]
    ranks = json.loads(_engine.program(json.dumps(form), 0, 1))["ranks"]
    return sum(step["send"][1] for steps in ranks for step in steps if "send" in step)


@pytest.mark.parametrize("operation", sorted(set(OPERATIONS.values())))
def test_sizes_that_are_no_multiple_of_the_ranks_are_rounded_down(operation):
    """Every algorithm, at a size that leaves a remainder, sends what follows from its definition.

    Blocks are the whole part of the size over the number of ranks, as PICO's ``count / comm_sz``;
    vectors are sent whole. That each rank then holds what MPI promises is tested byte by byte in
    ``crates/load/src/collective/tests/data_flow.rs``.
    """
    predictor = Predictor(small())
    known = {name: rule for rule, names in SENT[operation].items() for name in names.split()}
    for ranks in (5, 6, 8, 16):
        for algorithm in candidates(operation, ranks):
            case = predictor.case(HOSTS[:ranks], operation, algorithm, 10_007)
            blocks = operation not in ("allreduce", "broadcast", "reduce")
            size = 10_007 // ranks if blocks else 10_007
            sent, k = bytes_sent(predictor, case), ranks.bit_length() - 1
            assert sent >= NEEDED[operation](ranks, k, size), (algorithm, ranks)
            if algorithm in known and ranks in (8, 16):
                assert sent == known[algorithm](ranks, k, size), (algorithm, ranks)


@pytest.mark.parametrize("sizes", [["1 kB"], ["1 kB", "1 MB"]])
def test_predictions_are_kept_shown_and_reported(sizes, tmp_path):
    """One size is drawn by algorithm, several as lines; the command on the page repeats them."""
    machine, out = tmp_path / "small.toml", tmp_path / "out"
    machine.write_text(SMALL)
    given = [word for size in sizes for word in ("--bytes", size)]
    command = ("predict-collective", machine, "--hosts", "node[01-08]", "--collective", "allreduce")
    done = odonata(*command, *given, "--out", out)
    predictions = json.loads((out / "predictions.json").read_text())["predictions"]
    found = predict_collective(machine, "node[01-08]", "allreduce", sizes)
    assert predictions == [one.to_dict() for one in found]
    assert odonata("show", out).stdout == done.stdout
    odonata("report", out, "--out", tmp_path / "one.html")
    page = (tmp_path / "one.html").read_text()
    for one in found:
        assert f">{one.algorithm}<" in page
        assert f">{display.duration(one.median_ns * 1_000)}<" in page
    assert '<h2 id="s0-title">allreduce on 8 hosts of Small</h2>' in page
    (repeated,) = re.findall(r"odonata (predict-collective scenario.toml [^<]*)", page)
    hosts = tmp_path / "hosts.txt"
    hosts.write_text("\n".join(HOSTS[:8]))
    words = repeated.replace("scenario.toml", str(out / "scenario.toml"))
    again = odonata(*words.replace("hosts.txt", str(hosts)).split(), "--json")
    rows = json.loads(again.stdout)
    rows = rows if isinstance(rows, list) else [rows]
    assert [one for row in rows for one in row["predictions"]] == predictions
    used = odonata(*command, *given, "--out", out, check=False)
    assert used.returncode == ExitCode.OUTPUT
    assert "already holds files" in used.stderr


def test_what_the_library_chooses_is_predicted_as_if_it_were_named():
    mpi = "[mpi]\nsend_overhead = '1 us'\ncollectives = { library = 'open-mpi-4.1' }\n"
    predictor = Predictor(small(mpi))
    for collective, size, expected in (
        # 16 ranks: the row for fewer than 32 of Open MPI's tables.
        ("allreduce", 2048, "recursive-doubling"),
        ("allreduce", 4096, "rabenseifner"),
        ("bcast", 1 << 20, "scatter-recursive-doubling"),
        ("reduce_scatter", 1 << 20, "ring"),
        ("scatter", 16 * 16384, "linear-in-turn"),
        ("alltoall", 16 * 511, "bruck"),
    ):
        chosen = predictor.case(HOSTS, collective, "auto", size)
        named = predictor.case(HOSTS, collective, expected, size)
        assert chosen.algorithm == expected
        times = [predictor.predict(case).median_ns for case in (chosen, named)]
        assert times[0] == times[1]


def test_open_mpi_sends_to_all_children_at_once():
    """1 MB to four ranks at 10 GB/s, by hand.

    Open MPI's root sends to ranks 1 and 2, which share its link for 200 us, then 1 sends to 3;
    MPICH's sends to 2, then to 1 while 2 sends to 3.
    """
    predictor = Predictor(small())
    for name, expected in (("binomial_ompi", 300_000), ("binomial", 200_000)):
        case = predictor.case(HOSTS[:4], "bcast", name, 1_000_000)
        assert predictor.predict(case).median_ns == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(
    ("collective", "name", "ranks", "expected"),
    [
        # Ranks 1 and 2 share the root's link for 200 us; then 1 sends to 3 and 2 sends to 4.
        ("bcast", "binary_ompi", 5, 300_000),
        # Heads 1, 3, 5 and 7 share it for 400 us and send to one more each; or eight hops.
        ("bcast", "chain_ompi", 9, 500_000),
        ("bcast", "pipeline_ompi", 9, 800_000),
        # 3 sends to 1 while 2 sends to the root, to which 1 sends then.
        ("reduce", "binary_ompi", 4, 200_000),
        # The root receives the messages of 1 and 2 at a time, in 200 us.
        ("reduce", "binary_ompi", 3, 200_000),
        ("reduce", "binomial_ompi", 4, 200_000),
        # 2, 4, 6 and 8 send to their heads; the root receives 400 us long.
        ("reduce", "chain_ompi", 9, 500_000),
    ],
)
def test_trees_of_open_mpi_take_what_its_sources_say(collective, name, ranks, expected):
    """1 MB at 10 GB/s, combined in no time, by hand."""
    predictor = Predictor(small('[mpi]\ncollectives = { segment = "1 GiB" }\n'))
    case = predictor.case(HOSTS[:ranks], collective, name, 1_000_000)
    assert predictor.predict(case).median_ns == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(
    ("collective", "algorithm", "size", "ranks"),
    [
        ("allreduce", "ring", 1 << 22, 64),
        ("allgather", "neighbor_ompi", 1 << 20, 64),
        ("allgather", "sparbit_over", 1 << 20, 64),
        ("allgather", "sparbit_over", 1 << 20, 100),
        ("allgather", "bine_block_by_block_over", 1 << 20, 64),
        ("allgather", "bine_block_by_block_over_any_even", 1 << 20, 126),
        ("alltoall", "pairwise_ompi", 1 << 20, 64),
        ("alltoall", "linear_ompi", 1 << 20, 64),
        ("allreduce", "bine_bdw_remap_segmented_over_4096", 1 << 22, 64),
    ],
)
def test_what_repeats_is_not_simulated_to_the_end(monkeypatch, collective, algorithm, size, ranks):
    """On a crossbar rounds are alike, so that a part of them tells what all take."""
    from odonata.machines import prediction

    more = "[mpi]\nsend_overhead = '200 ns'\nreceive_overhead = '300 ns'\nsend_delay = '1 us'\n"
    predictor = Predictor(
        Scenario.from_toml(SMALL.replace("01-16", "001-128").replace("16", "128") + more)
    )
    hosts = [f"node{n:03d}" for n in range(1, ranks + 1)]
    case = predictor.case(hosts, collective, algorithm, size)
    host = HostModel.of(predictor.scenario)
    whole = predictor.time_ns(case, host)
    monkeypatch.setattr(prediction, "MOST_WHOLE", 0)
    monkeypatch.setattr(prediction, "SHORTENED", 600)
    assert predictor.time_ns(case, host) == pytest.approx(whole, rel=0.02)


def test_delays_by_size_keep_nobody():
    """Two ranks exchange 1 kB at 10 GB/s: 2 us of delay each way at once, 100 ns on the wire."""
    more = "[mpi]\ndelay_times = [{size = '2 kB', time = '4 us'}]\n"
    for engine in ("flow", "packet"):
        predictor = Predictor(small(more), engine=engine)
        case = predictor.case(HOSTS[:2], "allreduce", "recursive-doubling", 1000)
        assert predictor.predict(case).median_ns == pytest.approx(2_100, rel=0.002)


def test_a_rank_has_its_share_of_the_interfaces():
    """1 MB to four ranks: a root's link of 10 GB/s carries two messages at once in 200 us, and a
    rank's share of 2 GB/s in 1 ms; the third message, alone, takes 100 us and 500 us."""
    share = SMALL.replace("[network]", '[network]\nnic = { rank_bandwidth = "2 GB/s" }')
    for text, expected in ((SMALL, 300_000), (share, 1_500_000)):
        predictor = Predictor(Scenario.from_toml(text))
        case = predictor.case(HOSTS[:4], "bcast", "binomial_ompi", 1_000_000)
        assert predictor.predict(case).median_ns == pytest.approx(expected, rel=0.01)
    # Packets have all of their node's link: refused in a run, left out of a prediction.
    with pytest.raises(ScenarioError, match=r'rank_bandwidth.* only with engine = "flow"'):
        run(Scenario.from_toml(share.replace('"flow"', '"packet"') + JOB))
    packet = Predictor(Scenario.from_toml(share), engine="packet")
    assert packet.predict(case).median_ns == pytest.approx(300_000, rel=0.02)


@pytest.mark.parametrize("engine", ["packet", "flow"])
def test_a_message_to_another_rank_than_the_last_costs_more(engine):
    """A linear scatter sends to fifteen ranks, one after the other; a ring always to one."""
    times = {}
    for overhead in ("0 ns", "500 ns"):
        predictor = Predictor(small(f"[mpi]\nredirect_overhead = '{overhead}'\n"), engine=engine)
        for collective, algorithm in (("scatter", "linear"), ("allgather", "ring")):
            case = predictor.case(HOSTS, collective, algorithm, 1_600)
            times[overhead, algorithm] = predictor.predict(case).median_ns
    # Each block takes 10 ns on the root's link, and the last is sent after all overheads.
    longer = times["500 ns", "linear"] - times["0 ns", "linear"]
    assert longer == pytest.approx(15 * 500 - 14 * 10, abs=1)
    assert times["500 ns", "ring"] - times["0 ns", "ring"] == pytest.approx(500, abs=1)


def test_jobs_of_many_ranks_may_differ():
    """Beyond ten ranks one has half as much of its node's link."""
    more = """rank_bandwidth = "4 GB/s"
[[machine.many_ranks]]
above = 5
send_delay = "500 us"
[[machine.many_ranks]]
above = 10
rank_bandwidth = "2 GB/s"
"""
    predictor = Predictor(small(more))
    times = []
    for ranks in (5, 10, 11):
        case = predictor.case(HOSTS[:ranks], "scatter", "linear", 1_000_000 * ranks)
        times.append(predictor.predict(case).median_ns)
    # A megabyte for each but the root itself, at the root's rate; the delay once, from six on, and
    # not where the table for more than ten counts.
    assert times[0] == pytest.approx(4 * 250_000, rel=0.01)
    assert times[1] == pytest.approx(9 * 250_000 + 500_000, rel=0.01)
    assert times[2] == pytest.approx(10 * 500_000, rel=0.01)


def test_long_buffers_are_new_in_each_call():
    """Their pages are touched at 1 GB/s before the first message: a buffer of a whole vector in
    allreduces by recursive doubling, two in reduce-scatters, none in a ring's allgather.
    """
    plain = Predictor(small())
    fresh = Predictor(small("[machine.fresh_buffers]\nabove = '1 MiB'\nbandwidth = '1 GB/s'\n"))
    buffers = {
        ("allreduce", "recursive-doubling"): 1,
        ("reduce-scatter", "recursive-halving"): 2,
        ("reduce-scatter", "ring"): 1,
        ("allgather", "ring"): 0,
    }
    for (operation, algorithm), count in buffers.items():
        for size in (1 << 20, 1 << 21):
            times = [
                one.predict(one.case(HOSTS[:4], operation, algorithm, size)).median_ns
                for one in (plain, fresh)
            ]
            longer = count * size if size > 1 << 20 else 0
            assert times[1] - times[0] == pytest.approx(longer, abs=2)


def test_two_buffers_are_new_where_one_is_not():
    """A reduce-scatter by recursive halving frees two buffers of its vector at once, which is more
    than glibc keeps; an allreduce and a ring's reduce-scatter free one, which it keeps."""
    plain = Predictor(small())
    more = "[machine.fresh_buffers]\npairs_above = '1 MiB'\nbandwidth = '1 GB/s'\n"
    pairs = Predictor(small(more))
    for operation, algorithm, size, longer in (
        ("reduce-scatter", "recursive-halving", 1 << 20, 0),
        ("reduce-scatter", "recursive-halving", 1 << 21, 1 << 22),
        ("reduce-scatter", "ring", 1 << 21, 0),
        ("allreduce", "recursive-doubling", 1 << 21, 0),
    ):
        times = [
            one.predict(one.case(HOSTS[:4], operation, algorithm, size)).median_ns
            for one in (plain, pairs)
        ]
        assert times[1] - times[0] == pytest.approx(longer, abs=2)


def test_pieces_of_new_buffers_are_registered_one_by_one():
    """Recursive halving among four sends 4 MB and 2 MB, each registered by both of its ends, first
    by the sender and then by the receiver: 100 us a piece and 1 ns for each of its bytes. Messages
    up to the eager limit are copied, and a buffer that stays is known to the interface."""
    mpi = "[mpi]\neager_limit = '3 MB'\n"
    new = "[machine.fresh_buffers]\nabove = '{}'\nbandwidth = '1 TB/s'\n"
    cost = "registration = '100 us'\nregistration_bandwidth = '1 GB/s'\n"

    def time(more, operation="reduce-scatter", algorithm="recursive-halving"):
        predictor = Predictor(small(more))
        return predictor.predict(
            predictor.case(HOSTS[:4], operation, algorithm, 8_000_000)
        ).median_ns

    before = time(mpi + new.format("1 MB"))
    assert time(mpi + new.format("1 MB") + cost) - before == pytest.approx(8_200_000, rel=1e-3)
    both = mpi.replace("3 MB", "1 MB")
    longer = time(both + new.format("1 MB") + cost) - time(both + new.format("1 MB"))
    assert longer == pytest.approx(12_400_000, rel=1e-3)
    stays = mpi + new.format("1 GB")
    assert time(stays + cost) == time(stays)
    allreduce = ("allreduce", "rabenseifner")
    assert time(both + new.format("1 MB") + cost, *allreduce) == time(
        both + new.format("1 MB"), *allreduce
    )


def test_segmented_allreduces_send_halves_whole_where_no_size_is_said():
    """As PICO's does since 27 May 2025: the same messages as with segments of the whole vector."""
    predictor = Predictor(small())
    times = [
        predictor.predict(predictor.case(HOSTS[:8], "allreduce", name, 1 << 20)).median_ns
        for name in ("bine_bdw_remap_segmented_over", "bine_bdw_remap_segmented_over_1048576")
    ]
    assert times[0] == times[1]
    case = predictor.case(HOSTS[:8], "allreduce", "bine-segmented", 1 << 20, segment=1 << 17)
    assert predictor.predict(case).median_ns != times[0]


@pytest.mark.parametrize("engine", ["packet", "flow"])
def test_blocking_sends_may_have_an_eager_limit_of_their_own(engine):
    """100 kB at 10 GB/s take 10 us; a request and a grant take the delay of 1 us each besides."""
    mpi = "[mpi]\nsend_delay = '1 us'\neager_limit = '8 KiB'\n"
    predictor = Predictor(small(f"blocking_eager_limit = '256 KiB'\n{mpi}"), engine=engine)
    times = {}
    for collective, algorithm in (("gather", "linear"), ("broadcast", "binomial-at-once")):
        for size in (100_000, 300_000):
            case = predictor.case(HOSTS[:2], collective, algorithm, size)
            times[algorithm, size] = predictor.predict(case).median_ns
    # A gather sends half of the vector, by MPI_Send: 50 and 150 kB at once.
    assert times["linear", 100_000] == pytest.approx(1_000 + 5_000, rel=0.01)
    assert times["linear", 300_000] == pytest.approx(1_000 + 15_000, rel=0.01)
    # A broadcast's tree sends by MPI_Isend: it asks first.
    assert times["binomial-at-once", 100_000] == pytest.approx(3_000 + 10_000, rel=0.01)
    long = predictor.case(HOSTS[:2], "gather", "linear", 600_000)
    assert predictor.predict(long).median_ns == pytest.approx(3_000 + 30_000, rel=0.01)


@pytest.mark.parametrize("name", ["binary", "binomial", "chain", "knomial", "pipeline"])
def test_broadcast_trees_of_open_mpi_send_without_waiting(name):
    """All of them are `ompi_coll_base_bcast_intra_generic`, which sends by MPI_Isend."""
    meant = measured_name("broadcast", f"{name}_ompi")
    case = Case("broadcast", meant.algorithm, 1 << 20, tuple(range(8)), 1)
    assert sends_without_waiting(case)


def test_what_is_not_copied_does_not_cost_copies():
    """Beyond 8 KiB, where a copy takes 4 ns, a straight line to the 16 ns of 1 MiB."""
    text = "{size = '16 KiB', time = '8 ns'}, {size = '128 KiB', time = '9 ns'}"
    more = f"[mpi]\nhost_times = [{text}, {{size = '1 MiB', time = '16 ns'}}]\n"
    host = HostModel.of(small(more))
    assert host.without_copies(8 << 10, 256 << 10).times == ((8 << 10, 4.0), (1 << 20, 16.0))
    # Where no longer message is known, nothing is.
    assert host.without_copies(8 << 10, 1 << 20) == host


def test_the_last_of_many_ranks_is_waited_for():
    """With a mean of 1 us: 1 + 1/2 + 1/3 + 1/4 of it for four ranks, one for a root."""
    late, on_time = (HostModel.of(small(f"entry_delay = '{mean}'\n")) for mean in ("1 us", "0 ns"))

    def waits(operation: str) -> float:
        times = (host.before_ns(operation, "linear", 4, 1) for host in (late, on_time))
        return next(times) - next(times)

    assert waits("gather") == pytest.approx(1_000 * 25 / 12)
    assert waits("broadcast") == pytest.approx(1_000)


def test_copies_of_a_vector():
    assert copied("allreduce", "ring", 64) == 1
    assert copied("broadcast", "binomial", 64) == 0
    assert copied("allgather", "ring", 64) == 1 / 64
    # From rank 0 blocks are in order, and trees combine the input with what comes first.
    assert copied("gather", "binomial", 64) == copied("scatter", "bine", 64) == 1 / 64
    assert copied("reduce", "binomial", 64) == 0
    # Two turns, and half of the blocks packed and unpacked in each of six rounds.
    assert copied("alltoall", "bruck", 64) == 8
    # Up and back again, of the rank that has most to move.
    assert copied("allgather", "bruck", 64) == 2


def test_blocks_that_are_permuted_are_copied_once():
    """PICO's `reorder_blocks` moves each block of 8 MB at 2 GB/s: 4 ms more than sending to whom
    a block belongs. Reduce-scatters order blocks where they copy their input anyway."""
    copying = small("copy = [{ size = '1 MB', bandwidth = '2 GB/s' }]\n")
    predictor = Predictor(copying)
    for operation, longer in (("allgather", 4_000_000), ("reduce-scatter", 0)):
        times = [
            predictor.predict(predictor.case(HOSTS[:4], operation, name, 8_000_000)).median_ns
            for name in ("bine_send_remap_over", "bine_permute_remap_over")
        ]
        assert times[1] - times[0] == pytest.approx(longer, abs=1)


def test_copies_that_mpich_makes():
    # Its own block into the buffer, and the blocks of all out of it in order.
    assert copied("allgather", "bruck", 64, "mpich") == 1 + 1 / 64
    assert copied("allgather", "k-bruck", 64, "mpich") == 1 + 1 / 64
    assert copied("allgather", "ring", 64, "mpich") == 1 / 64
    # Phase 1, half packed and half unpacked in six rounds, and two turns at the end.
    assert copied("alltoall", "bruck", 64, "mpich") == 9
    assert copied("reduce", "binomial", 64, "mpich") == 1


def test_the_name_of_an_algorithm_says_whose_copies_it_makes():
    """8 MiB at 1 GB/s take two copies by PICO's Bruck, one and an eighth by MPICH's, by name or as
    the scenario's library."""
    copies = "copy = [{ size = '1 MiB', bandwidth = '1 GB/s' }]\n[mpi]\ncollectives = "
    by_open_mpi = Predictor(small(copies + "{ library = 'open-mpi' }\n"))
    by_mpich = Predictor(small(copies + "'mpich'\n"))

    def copies_of(predictor: Predictor, name: str) -> float:
        case = predictor.case(HOSTS[:8], "allgather", name, 8 << 20)
        job = predictor.job(case, HostModel.of(predictor.scenario))
        return job["load"]["motif"]["compute_ps"] / ((8 << 20) * 1_000)

    for predictor in (by_open_mpi, by_mpich):
        assert copies_of(predictor, "k_bruck_over") == pytest.approx(2)
        assert copies_of(predictor, "brucks_mpich") == pytest.approx(9 / 8)
    assert copies_of(by_open_mpi, "bruck") == pytest.approx(2)
    assert copies_of(by_mpich, "bruck") == pytest.approx(9 / 8)


def test_values_between_sizes_go_with_the_logarithm():
    points = [(1, 10.0), (100, 30.0)]
    assert [by_size(points, size) for size in (1, 10, 100, 1000)] == [10, 20, 30, 30]
    assert by_size([], 5) == 0


@pytest.mark.parametrize(
    ("collective", "algorithm", "size", "hosts", "found"),
    [
        (
            "allgather",
            "ring",
            15,
            16,
            "found 15 for 16 ranks; allowed for allgather: at least 16",
        ),
        ("allreduce", "bine", 1024, 12, "found 12 ranks; allowed: a power of two"),
        ("allgather", "recursive_doubling_ompi", 1200, 12, "For 12 ranks there are bruck, k-bruck"),
        ("reduce_scatter", "recursive_doubling_mpich", 1200, 12, "allowed: a power of two"),
        ("allreduce", "ring", 0, 16, "bytes: found 0"),
        ("allreduce", "ring", 8, 1, "found 1 rank; allowed: at least 2"),
    ],
)
def test_what_cannot_be_is_refused(collective, algorithm, size, hosts, found):
    predictor = Predictor(small())
    with pytest.raises(MachineError) as error:
        predictor.case(HOSTS[:hosts], collective, algorithm, size)
    assert found in str(error.value)


def test_candidates_are_those_that_are_possible():
    assert "bine" in candidates("allreduce", 16)
    assert "bine" not in candidates("allreduce", 12)
    assert "auto" not in candidates("allreduce", 16)


def test_the_command_predicts(tmp_path):
    machine, hosts = tmp_path / "machine.toml", tmp_path / "hosts"
    machine.write_text(SMALL)
    hosts.write_text("\n".join(HOSTS[:4]))
    base = ["predict-collective", machine, "--hosts", hosts, "--collective", "allreduce", "--json"]
    one = json.loads(odonata(*base, "--algorithm", "ring", "--bytes", "64KiB").stdout)
    # Three steps of 16 KiB there and three back at 10 GB/s.
    assert one["median_ns"] == pytest.approx(6 * 1638.4, rel=0.01)
    assert one["p10_ns"] is None
    sizes = ("--bytes", "4096", "--bytes", "8192")
    several = json.loads(odonata(*base, "--algorithm", "ring", *sizes).stdout)
    assert [entry["bytes"] for entry in several] == [4096, 8192]
    best = json.loads(odonata(*base, "--bytes", "65536").stdout)
    assert best["fastest"] == best["predictions"][0]["algorithm"]
    assert best["median_ns"] == min(entry["median_ns"] for entry in best["predictions"])
    per_node = json.loads(
        odonata(*base, "--algorithm", "ring", "--bytes", "4096", "--per-node", "2").stdout
    )
    assert (per_node["nodes"], per_node["ranks"]) == (4, 8)
    table = odonata(*base[:-1], "--bytes", "4096").stdout
    assert "Small, flow engine" in table
    hosts.write_text("node99\n")
    failed = odonata(*base, "--bytes", "4096", check=False)
    assert failed.returncode == 2
    assert "host node99: Small has none of that name" in failed.stderr


def test_each_gpu_that_is_used_brings_its_interface():
    """Long all-reduces: a ring of NCCL enters each node at every GPU, through its interface.

    Bus bandwidth then grows as GPUs of a node are used, and never above the 50 GB/s of each (NDR).
    """
    file = EXAMPLES / "machines" / "h100-ndr.toml"
    predictor = Predictor.from_file(file)
    hosts = [f"node{number:02}" for number in range(1, 11)]
    for gpus in (1, 2, 4, 8):
        case = predictor.case(hosts, "allreduce", "auto", 1 << 32, gpus)
        ranks = len(hosts) * gpus
        bus = 2 * (ranks - 1) / ranks * case.size / predictor.predict(case).median_ns
        assert 45 * gpus < bus < 50 * gpus


def test_nccl_is_predicted_with_protocol_and_bus_bandwidth():
    """The bus bandwidth of nccl-tests: 2 (n - 1) / n of an all-reduce's size over its time."""
    predictor = Predictor(small("[mpi]\ncollectives = 'nccl'\n"))
    assert predictor.candidates("allreduce", 16) == ["auto"]
    hosts = HOSTS[:4]
    for collective, factor in (("allreduce", 1.5), ("allgather", 0.75), ("broadcast", 1.0)):
        case = predictor.case(hosts, collective, "auto", 1 << 26)
        found = predictor.predict(case)
        shown = found.to_dict()
        assert shown["protocol"] == case.protocol is not None
        expected = found.bytes / found.median_ns * factor
        assert shown["bus_bandwidth_gb_s"] == pytest.approx(expected)
    plain = Predictor(small()).predict(predictor.case(hosts, "allreduce", "ring", 1 << 20))
    assert "bus_bandwidth_gb_s" not in plain.to_dict()
