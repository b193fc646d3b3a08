"""Probes, on a Slurm of shell scripts with real MPI: what is measured, and every way to fail."""

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import odonata
from command import call
from odonata.errors import ClusterError
from odonata_live.cluster import QueuedJob, read_topology
from odonata_live.cluster.clocks import Clocks
from odonata_live.cluster.places import NoNodesError, choose_nodes
from odonata_live.cluster.probe import Probe, Prober
from odonata_live.cluster.probes import ProbeRun, Probes, Series
from odonata_live.cluster.utilisation import exposure, spanning

CLI = (sys.executable, "-c", "import odonata.cli; odonata.cli.main()")

#: Three islands of two groups of four nodes.
TOPOLOGY = "\n".join(
    [f"SwitchName=s{i} Nodes=n[{4 * i}-{4 * i + 3}]" for i in range(6)]
    + [f"SwitchName=i{i} Switches=s[{2 * i}-{2 * i + 1}]" for i in range(3)]
    + ["SwitchName=top Switches=i[0-2]"]
)
ALL = [f"n{i}" for i in range(24)]


# --- Places ------------------------------------------------------------------------


@given(
    st.sampled_from(["same-group", "same-island", "different-islands"]),
    st.integers(2, 10),
    st.sets(st.sampled_from(ALL)),
    st.integers(0, 5),
)
def test_nodes_are_where_they_were_asked_for_or_there_are_none(
    placement: str, count: int, idle: set[str], seed: int
) -> None:
    topology = read_topology(TOPOLOGY)
    group, island = topology.leaf_of_node, topology.island_of_node()
    free = {name: sum(group[node] == name for node in idle) for name in set(group.values())}
    room = {name: sum(island[node] == name for node in idle) for name in set(island.values())}
    try:
        nodes = choose_nodes(placement, count, sorted(idle), topology, random.Random(seed))
    except ClusterError:
        # By brute force: no such nodes.
        if placement == "same-group":
            assert max(free.values()) < count
        elif placement == "same-island":
            halves = [
                [free[g] for g, i in topology.island_of_leaf.items() if i == name] for name in room
            ]
            assert not any(sum(two) >= count and min(two) > 0 for two in halves)
        else:
            least, more = divmod(count, min(3, count))
            rooms = sorted(room.values(), reverse=True)[: min(3, count)]
            assert any(have < least + (at < more) for at, have in enumerate(rooms)), (
                "there were such nodes"
            )
        return
    assert len(set(nodes)) == count
    assert set(nodes) <= idle
    groups = [group[node] for node in nodes]
    islands = [island[node] for node in nodes]
    if placement == "same-group":
        assert len(set(groups)) == 1
    elif placement == "same-island":
        assert len(set(islands)) == 1
        assert len(set(groups)) == 2
    else:
        shares = [islands.count(name) for name in set(islands)]
        assert len(shares) == min(3, count)
        assert max(shares) - min(shares) <= 1


def test_what_cannot_be_placed_is_said() -> None:
    topology = read_topology(TOPOLOGY)
    chance = random.Random(0)
    with pytest.raises(NoNodesError, match=r"no switch has 4 idle nodes now; most are on s0: 3"):
        choose_nodes("same-group", 4, ["n0", "n1", "n2", "n4"], topology, chance)
    with pytest.raises(ClusterError, match="no switch has 5 nodes; the largest has 4"):
        choose_nodes("same-group", 5, ALL, topology, chance)
    with pytest.raises(NoNodesError, match="3 islands with 2 idle nodes each are needed"):
        choose_nodes("different-islands", 6, ALL[:17], topology, chance)
    flat = read_topology("SwitchName=s0 Nodes=n[0-3]\nSwitchName=s1 Nodes=n[4-7]")
    with pytest.raises(ClusterError, match="no island of this topology has several groups"):
        choose_nodes("same-island", 4, ALL[:8], flat, chance)
    two = choose_nodes("different-islands", 4, ALL, topology, chance, islands=2)
    assert len({topology.island_of_node()[node] for node in two}) == 2


# --- Clocks and times --------------------------------------------------------------


@given(
    st.lists(
        st.tuples(st.integers(-(10**15), 10**15), st.floats(-100e-6, 100e-6)),
        min_size=1,
        max_size=5,
    ),
    st.integers(0, 10**6),
)
def test_clocks_with_offset_and_drift_are_brought_onto_one(
    ranks: list[tuple[int, float]], error: int
) -> None:
    """The truth is known: rank 0's time of each event comes back within the estimates' errors."""
    chance = np.random.default_rng(1)
    begin, end = 7 * 10**14, 7 * 10**14 + 20 * 10**9
    offsets = np.array([0, *(offset for offset, _ in ranks)])
    slopes = np.array([0.0, *(slope for _, slope in ranks)])

    def shown(at: np.ndarray) -> np.ndarray:
        return at + offsets + np.rint(slopes * (at - begin)).astype(np.int64)

    def estimate(at: int) -> np.ndarray:
        exact = shown(np.full(len(offsets), at)) - at
        off = chance.integers(-error, error + 1, len(offsets))
        off[0] = 0
        largest = np.full(len(offsets), error)
        largest[0] = 0
        return np.column_stack([np.full(len(offsets), at), exact + off, largest])

    clocks = Clocks(estimate(begin), estimate(end))
    truth = np.sort(chance.integers(begin, end, (50, 1)), axis=0)
    local = shown(np.broadcast_to(truth, (50, len(offsets))))
    # A drift that is no larger than the errors is not seen, and costs as much again.
    assert np.abs(clocks.to_first(local) - truth).max() <= 3 * error + 2


def test_times_by_hand() -> None:
    """Two ranks; the second one's clock is 1,000 ns ahead and does not drift."""
    clocks = Clocks(
        np.array([[0, 0, 0], [0, 1_000, 5]]), np.array([[10**9, 0, 0], [10**9, 1_000, 5]])
    )
    starts = np.array([[10_000, 11_010], [20_000, 21_000], [30_900, 31_000]])
    ends = np.array([[12_000, 14_000], [22_000, 31_500], [32_000, 33_000]])
    late = np.array([[0, 0], [0, 0], [1, 0]], dtype=np.int8)
    window = np.full(3, 10_000)
    planned = np.array([10_000, 20_000, 30_000])
    series = Series("bcast", 4, "window", starts, ends, late, planned, window, clocks)
    # The second ends after the next has begun, in the third a rank was late.
    assert series.valid().tolist() == [True, False, False]
    assert series.times_us("max").tolist() == [3.0]
    assert series.times_us("root").tolist() == [2.0]
    assert series.times_us("mean").tolist() == [2.5]
    barriers = Series("bcast", 4, "barrier", starts, ends, late, planned * 0, window * 0, clocks)
    assert barriers.times_us("max").tolist() == [2.99, 10.5, 2.0]
    again = Series.unpack("bcast", 4, "window", series.pack(), "here")
    assert again.times_us().tolist() == [3.0]
    with pytest.raises(ClusterError, match="here: not a series of times"):
        Series.unpack("bcast", 4, "window", b"PK", "here")


def test_exposure_is_of_the_groups_that_a_job_uses() -> None:
    groups = read_topology(TOPOLOGY).leaf_of_node
    inside = QueuedJob("1", "RUNNING", ("n0", "n1"))
    across = QueuedJob("2", "RUNNING", ("n2", "n5", "n6"))
    elsewhere = QueuedJob("3", "RUNNING", ("n12", "n16"))
    jobs = [inside, across, elsewhere]
    # Groups s0 and s1: of the second job one node has both others outside, two have one of two.
    assert exposure(jobs, groups, ["n0", "n4"]) == pytest.approx((1 + 2 * 0.5) / 8)
    assert exposure(jobs, groups, ["n0", "n3"]) == 0
    assert exposure(jobs, groups, ["n12", "n20"]) == pytest.approx(1 / 8)
    assert exposure(jobs, groups, ["n0", "n4"], exclude=("2",)) == 0
    assert spanning(jobs, groups, 24) == pytest.approx((1 + 1 + 2) / 24)


def test_runs_are_kept(tmp_path: Path) -> None:
    clocks = Clocks(np.zeros((2, 3), np.int64), np.zeros((2, 3), np.int64))
    starts = np.array([[1, 2], [3, 4]])
    none = np.zeros(2, np.int64)
    late = np.zeros((2, 2), np.int8)
    series = Series("reduce", 8, "barrier", starts, starts + 5_000, late, none, none, clocks)
    run = ProbeRun(
        *(5.0, "17", "same-group", ("n0", "n1"), ("s0", "s0"), ("i0", "i0")),
        *({"b": 0.25, "b1": 0.5}, {"b": 0.75}, True, "", {"mpi": "x"}, (series,)),
    )
    store = Probes(tmp_path / "p.sqlite", create=True)
    store.add(run)
    store.add(ProbeRun(6.0, "18", "any", (), (), (), {}, {}, False, "b changed by +0.2", {}))
    store.close()
    store = Probes(tmp_path / "p.sqlite")
    (found,) = store.runs()
    assert (found.nodes, found.groups, found.utilisation(), found.utilisation("b1")) == (
        *(("n0", "n1"), ("s0", "s0"), 0.5, 0.5),
    )
    assert found.series[0].times_us().tolist() == [5.0, 5.0]
    assert [run.counts for run in store.runs(all_=True)] == [True, False]
    assert np.isnan(list(store.runs(all_=True))[1].utilisation())


# --- A Slurm of scripts ------------------------------------------------------------

SCRIPTS = {
    "sinfo": 'case "$*" in *--states=idle*) cat idle ;; *) echo "n[0-23]" ;; esac',
    # The job of the probe itself is there as well, and does not count.
    "squeue": """
case "$*" in
*--jobs=*)
    if [ -e state ]; then cat state; exit 0; fi
    if kill -0 "$(cat pid)" 2>/dev/null; then echo "RUNNING|None"; exit 0; fi
    echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1 ;;
*) cat queue; [ ! -e next ] || mv next queue ;;
esac""",
    "scontrol": """
case "$*" in
*topology*) cat topology ;;
esac""",
    "sbatch": """
printf '%s\\n' "$@" > submitted
sed -n 's/--nodelist=//p' submitted > nodes
[ ! -e held ] || { echo 7; exit 0; }
cd "$(dirname "$(tail -n 1 submitted)")"
export SLURM_JOB_ID=7 SLURM_JOB_NODELIST="$(cat "$FAKE/nodes")"
setsid sh job.sh > job.out 2> job.err < /dev/null &
echo $! > "$FAKE/pid"
echo "7;emulated" """,
    # Slurm ends all of a job; here that is its session, as timeout has a group of its own.
    "scancel": r"""echo "$@" >> cancelled
[ -e pid ] || exit 0
awk -v job="$(cat pid)" '$6 == job { print $1 }' /proc/[0-9]*/stat 2>/dev/null | xargs -r kill
rm -f pid""",
    "srun": """
nodes=$(tr , ' ' < nodes)
case "$*" in
*--mpi=none*)
    while [ "${1#--}" != "$1" ]; do shift; done
    for node in $nodes; do (cd "$OLDPWD"; SLURMD_NODENAME=$node "$@"); done; exit 0 ;;
esac
cd "$OLDPWD"
rank=0
exec MPIEXEC -n "$(echo $nodes | wc -w)" sh -c '
SLURMD_NODENAME=$(cut -d , -f $((PMI_RANK + 1)) < "$FAKE/nodes") exec "$@"' x "$@" """,
}


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Starts jobs at once on this host; returns the directory of what it is told and tells."""
    pytest.importorskip("mpi4py")
    mpiexec = Path(sys.executable).parent / "mpiexec"
    if not mpiexec.exists():
        pytest.skip(f"no MPI: {mpiexec} is not there (pip install mpich)")
    fake = tmp_path / "fake"
    fake.mkdir()
    for name, script in SCRIPTS.items():
        text = script.replace("MPIEXEC", str(mpiexec))
        (fake / name).write_text(f'#!/bin/sh\ncd "$FAKE"\n{text.strip()}\n')
        (fake / name).chmod(0o755)
    (fake / "idle").write_text("n[0-3,8-11,16-19]\n")
    (fake / "topology").write_text(TOPOLOGY)
    (fake / "queue").write_text("1|RUNNING|n[4-7]\n7|RUNNING|n[0-3]\n9|PENDING|\n")
    monkeypatch.setenv("FAKE", str(fake))
    monkeypatch.setenv("PATH", f"{fake}:{os.environ['PATH']}")
    monkeypatch.setenv("MPIR_CVAR_ENABLE_GPU", "0")
    return fake


def quick(**changes: object) -> Probe:
    options: dict[str, object] = {
        "placement": "same-group",
        "ranks": 2,
        "collectives": ("bcast", "ping-pong"),
        "sizes": (1 << 10,),
        "iterations": 20,
        "budget_s": 60.0,
    }
    return Probe(**{**options, **changes})  # type: ignore[arg-type]


def prober(tmp_path: Path, lines: list[str] | None = None) -> Prober:
    said = [] if lines is None else lines
    return Prober(tmp_path / "work", chance=random.Random(1), say=said.append)


def test_a_probe_keeps_every_iteration_of_every_rank(slurm: Path, tmp_path: Path) -> None:
    collectives = ("bcast", "reduce", "alltoall", "allreduce", "barrier", "ping-pong")
    run = prober(tmp_path).run(
        quick(placement="different-islands", islands=2, collectives=collectives, sizes=(4, 1 << 15))
    )
    assert run.counts, run.why_not
    assert len(set(run.islands)) == 2
    # Four of 24 nodes run a job of several nodes; the probe itself does not count.
    assert run.before["b"] == run.after["b"] == pytest.approx(4 / 24)
    assert run.before["b_between_groups"] == 0
    assert [(one.collective, one.size_bytes) for one in run.series] == [
        *((name, 0 if name == "barrier" else 4) for name in collectives),
        *((name, 1 << 15) for name in collectives if name != "barrier"),
    ]
    for one in run.series:
        assert one.starts.shape == one.ends.shape == (20, 2)
        assert (one.ends >= one.starts).all()
        assert (one.times_us() > 0).all()
        # All ranks read one clock: it is within every estimate's error.
        for estimate in (one.clocks.before, one.clocks.after):
            assert (np.abs(estimate[:, 1]) <= estimate[:, 2]).all()
        assert (one.clocks.drift_ppm == 0).all()
    assert "MPICH" in run.environment["mpi"]
    assert [rank["host"] for rank in run.environment["ranks"]] == list(run.nodes)
    assert list((tmp_path / "work").iterdir()) == []
    submitted = (slurm / "submitted").read_text().splitlines()
    assert "--exclusive" in submitted
    assert "--time=2" in submitted


def test_barrier_starts_and_the_command_line(slurm: Path, tmp_path: Path) -> None:
    store = tmp_path / "p.sqlite"
    options = ["--ranks", "2", "--iterations", "20", "--start", "barrier", "--size", "1 KiB"]
    options += ["--work", str(tmp_path), "--collective", "allreduce", "--repeat", "2"]
    options += ["--placement", "same-group", "--every", "1 s"]
    done = subprocess.run(
        [*CLI, "cluster", "probe", str(store), *options, "--json"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    runs = json.loads(done.stdout)["runs"]
    assert [run["placement"] for run in runs] == ["same-group"] * 2
    assert all(run["counts"] for run in runs)
    answer = call("cluster", "probes", store, "--csv", directory=tmp_path)
    assert answer.returncode == 0, answer.stderr
    header, *rows = answer.stdout.splitlines()
    assert header.startswith("time_s,job,placement,counts,b,b1,b_shared,b_between_islands")
    assert len(rows) == 2
    answer = call("cluster", "probes", store, "--times", directory=tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert len(answer.stdout.splitlines()) == 1 + 2 * 20
    answer = call("cluster", "probes", store, directory=tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert "allreduce" in answer.stdout
    plan = call(
        *("cluster", "probe", store, "--ranks", "4", "--dry-run"),
        *("--placement", "different-islands", "--placement", "same-group"),
        directory=tmp_path,
    )
    assert plan.returncode == 0, plan.stderr
    assert "--nodelist=" in plan.stdout
    assert plan.stdout.count("0.67 node hours; 12 series") == 2


def test_a_command_is_timed_from_outside(slurm: Path, tmp_path: Path) -> None:
    command = f"echo x >> {tmp_path}/ran; sleep 0.2"
    run = prober(tmp_path).run(quick(command=command, iterations=3))
    assert run.counts, run.why_not
    (series,) = run.series
    assert (series.collective, series.iterations) == ("command", 3)
    assert (series.times_us() >= 0.2e6).all()
    assert (tmp_path / "ran").read_text() == "x\n" * 3
    failing = prober(tmp_path).run(quick(command="exit 3", iterations=2))
    assert not failing.counts
    assert failing.why_not == "2 of 2 runs of the command failed (3)"
    endless = prober(tmp_path).run(quick(command="sleep 100", iterations=2, budget_s=5.0))
    assert "1 of 1 runs of the command failed (timeout)" in endless.why_not


def test_a_run_during_which_b_changed_is_kept_and_marked(slurm: Path, tmp_path: Path) -> None:
    (slurm / "next").write_text("1|RUNNING|n[4-7]\n2|RUNNING|n[12-15]\n")
    run = prober(tmp_path).run(quick())
    assert not run.counts
    assert run.why_not == "b changed by +0.167"
    assert len(run.series) == 2
    (slurm / "queue").write_text("garbage")
    run = prober(tmp_path).run(quick(iterations=2))
    assert "utilisation before is unknown: squeue before: line 1: found 'garbage'" in run.why_not


def test_a_budget_ends_the_iterations(slurm: Path, tmp_path: Path) -> None:
    begin = time.monotonic()
    run = prober(tmp_path).run(quick(iterations=10**6, budget_s=8.0))
    assert time.monotonic() - begin < 25
    assert "the budget sufficed for" in run.why_not
    assert run.series[0].iterations > 20


def test_no_nodes_are_said_and_waited_for(slurm: Path, tmp_path: Path) -> None:
    (slurm / "idle").write_text("n[0-1]\n")
    lines: list[str] = []
    one = prober(tmp_path, lines)
    with pytest.raises(NoNodesError, match="no switch has 3 idle nodes now; most are on s0: 2"):
        one.run(quick(ranks=3))
    one.sleep = lambda _: (slurm / "idle").write_text("n[0-3]\n") and None  # type: ignore[func-returns-value]
    assert len(one.choose(quick(ranks=3), wait_s=60)) == 3
    assert "looking again for 60 s" in lines[0]
    (slurm / "idle").write_text("")
    with pytest.raises(NoNodesError):
        one.run(quick())
    assert not (slurm / "submitted").exists()


def test_an_unknown_topology_is_said(slurm: Path, tmp_path: Path) -> None:
    (slurm / "topology").write_text("")
    with pytest.raises(ClusterError, match="give a file with --topology, or --placement any"):
        prober(tmp_path).run(quick())


def fake_python(directory: Path, line: str) -> str:
    """A Python that says of each node what is asked, and never starts MPI."""
    file = directory / "python"
    file.write_text(f'#!/bin/sh\n[ "$2" = check ] || exit 9\nprintf "{line}\\n"\n')
    file.chmod(0o755)
    return str(file)


def test_missing_mpi_is_said_by_node(slurm: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    with pytest.raises(ClusterError, match=r"cannot load MPI on 2 of 2 nodes .*pip install mpi4py"):
        prober(tmp_path).run(quick(python=str(bare / "bin" / "python")))


def test_different_versions_are_said_by_node(slurm: Path, tmp_path: Path) -> None:
    line = "$SLURMD_NODENAME\\tok\\t3.11\\t4.1\\t2.4\\tMPICH $SLURMD_NODENAME"
    with pytest.raises(ClusterError, match=r"differ in their versions.*: n\d: Python 3.11, mpi4py"):
        prober(tmp_path).run(quick(python=fake_python(tmp_path, line)))


def test_nodes_that_do_not_answer_are_said(slurm: Path, tmp_path: Path) -> None:
    file = tmp_path / "python"
    file.write_text(
        '#!/bin/sh\n[ "$2" = check ] || exit 9\nmkdir once 2>/dev/null || exit 1\n'
        'printf "$SLURMD_NODENAME\\tok\\t3.11\\t4.1\\t2.4\\tMPICH\\n"\n'
    )
    file.chmod(0o755)
    with pytest.raises(ClusterError, match="1 of 2 nodes could be looked at before MPI is started"):
        prober(tmp_path).run(quick(python=str(file)))


def test_ranks_that_are_alone_are_said(slurm: Path, tmp_path: Path) -> None:
    # As srun without MPI does: each rank is started, none knows of another.
    alone = tmp_path / "alone"
    alone.write_text('#!/bin/sh\nfor i in 0 1; do SLURM_PROCID=$i "$@"; done\n')
    alone.chmod(0o755)
    with pytest.raises(ClusterError, match=r"each of the 2 processes is alone .*--launcher"):
        prober(tmp_path).run(quick(launcher=str(alone)))
    with pytest.raises(ClusterError, match=r"nothing was measured \(code 127\)"):
        prober(tmp_path).run(quick(launcher="no-such-launcher"))


def test_a_job_that_does_not_start_is_cancelled(slurm: Path, tmp_path: Path) -> None:
    (slurm / "held").touch()
    (slurm / "state").write_text("PENDING|Resources\n")
    with pytest.raises(ClusterError, match=r"has not begun after 1 s \(Resources\)"):
        prober(tmp_path).run(quick(start_within_s=1.0))
    assert (slurm / "cancelled").read_text() == "7\n"
    (slurm / "state").write_text("CANCELLED|None\n")
    with pytest.raises(ClusterError, match="ended without results"):
        prober(tmp_path).run(quick())


def test_a_slurm_that_is_away_meanwhile_is_waited_for(slurm: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    good = (slurm / "squeue").read_text()
    (slurm / "squeue").write_text(
        good.replace(
            "*--jobs=*)", "*--jobs=*) echo 'Unable to contact slurm controller' >&2; exit 1"
        )
    )
    run = prober(tmp_path, lines).run(quick(command="sleep 2", iterations=1))
    assert run.counts, run.why_not
    assert len(lines) == 1
    assert "Unable to contact slurm controller; waiting on for job 7" in lines[0]


def test_a_clock_that_was_set_is_said(slurm: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    launcher = tmp_path / "launcher"
    answer = 's/"clock_set_s": [^}]*/"clock_set_s": -7.0/'
    launcher.write_text(f"#!/bin/sh\nsrun \"$@\" && sed -i '{answer}' environment.json\n")
    launcher.chmod(0o755)
    run = prober(tmp_path, lines).run(quick(launcher=str(launcher), iterations=5))
    assert run.counts, run.why_not
    assert lines[0].startswith("the time of day of n")
    assert lines[0].endswith("was set by -7.0 s; iterations are not timed with it")


def test_what_cannot_be_kept_is_left_where_it_is(slurm: Path, tmp_path: Path) -> None:
    lines: list[str] = []

    def full(run: ProbeRun) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with pytest.raises(sqlite3.Error):
        prober(tmp_path, lines).run(quick(command="true", iterations=2), keep=full)
    (left,) = (tmp_path / "work").iterdir()
    assert lines == [f"job 7 could not be kept; its times are in {left}"]
    assert len((left / "command.txt").read_text().splitlines()) == 2


def test_slurm_that_answers_no_job_or_refuses(slurm: Path, tmp_path: Path) -> None:
    (slurm / "sbatch").write_text("#!/bin/sh\necho 'Submitted'\n")
    with pytest.raises(ClusterError, match="sbatch: found 'Submitted'"):
        prober(tmp_path).run(quick())
    (slurm / "sbatch").write_text("#!/bin/sh\necho 'sbatch: error: Invalid account' >&2; exit 1\n")
    with pytest.raises(ClusterError, match="Invalid account"):
        prober(tmp_path).run(quick())
    (slurm / "sbatch").unlink()
    if shutil.which("sbatch") is None:
        with pytest.raises(ClusterError, match="sbatch: not found"):
            prober(tmp_path).run(quick())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_cancels_the_job(slurm: Path, tmp_path: Path, number: int) -> None:
    options = ["--ranks", "2", "--placement", "same-group", "--command", "sleep 100"]
    process = subprocess.Popen(
        [*CLI, "cluster", "probe", str(tmp_path / "p.sqlite"), "--work", str(tmp_path), *options],
        stderr=subprocess.PIPE,
        text=True,
    )
    while not (slurm / "pid").exists():
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(number)
    assert process.stderr is not None
    said = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=30) == 128 + number
    assert "job 7 cancelled" in said
    assert "0 runs are kept" in said
    assert (slurm / "cancelled").read_text() == "7\n"


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(ClusterError, match="found 1 ranks; allowed: at least 2"):
        quick(ranks=1)
    with pytest.raises(ClusterError, match="found collective 'gossip'"):
        quick(collectives=("gossip",))
    with pytest.raises(ClusterError, match="found a message of 0 bytes"):
        quick(sizes=(0,))
    with pytest.raises(ClusterError, match="allowed: at least 5 s"):
        quick(budget_s=float("nan"))


# --- Skeletons ------------------------------------------------------------------------


class Recorded(Probe):
    """Leaves what each rank sent and received as well."""

    def specification(self) -> dict[str, object]:
        return super().specification() | {"record": True}


HACC = '{ kind = "hacc", cells = [16, 16, 16], compute = "1 ms" }'
MINI_AMR = '{ kind = "mini-amr", compute = "1 ms" }'


@pytest.mark.parametrize("text", [HACC, MINI_AMR])
def test_a_skeleton_sends_with_mpi_what_it_sends_in_the_simulator(
    slurm: Path, tmp_path: Path, text: str
) -> None:
    ranks, iterations = 4, 3
    (slurm / "idle").write_text("n[0-3]\n")
    found: dict[int, dict[str, list[list[int]]]] = {}

    def keep(run: ProbeRun) -> None:
        for file in (tmp_path / "work").glob("*/record-*.json"):
            found[int(file.stem.split("-")[1])] = json.loads(file.read_text())

    probe = Recorded(
        placement="same-group",
        ranks=ranks,
        skeletons=(text,),
        warm_up=1,
        iterations=iterations,
        budget_s=60.0,
    )
    run = prober(tmp_path).run(probe, keep=keep)
    assert run.counts, run.why_not
    (series,) = run.series
    assert series.collective == probe.programs[0].name
    assert series.starts.shape == (iterations, ranks)
    # Nobody computes for less than was asked for.
    assert series.times_us().min() >= 1000

    # On a network, by the engine: what each rank sends to each other, in bytes and messages.
    motif = dict(probe.programs[0].motif)
    scenario = odonata.Scenario.from_dict(
        {
            "network": {"family": "dragonfly", "p": 1, "a": 2, "h": 1},
            "record": {"communication": True},
            "job": [{"name": "skeleton", "nodes": ranks, "motif": motif}],
        }
    )
    simulated = odonata.run(scenario).table("communication").to_pylist()
    expected = {
        (row["source_rank"], row["destination_rank"]): (row["bytes"], row["messages"])
        for row in simulated
    }
    for side, mine in (("sent", 0), ("received", 1)):
        executed: dict[tuple[int, int], tuple[int, int]] = {}
        for rank, record in found.items():
            for peer, size in record[side]:
                pair = (rank, peer) if mine == 0 else (peer, rank)
                bytes_, messages = executed.get(pair, (0, 0))
                executed[pair] = (bytes_ + size, messages + 1)
        assert executed == expected
    # And in the order of the program.
    program = json.loads(probe.programs[0].program)["ranks"]
    for rank, record in found.items():
        sends = [step["send"][:2] for step in program[rank] if "send" in step]
        assert record["sent"] == sends


def test_skeletons_that_cannot_be_carried_out_are_refused(slurm: Path, tmp_path: Path) -> None:
    for text, why in (
        ("hac", "hac"),
        ("{ kind = ", "TOML|Invalid|allowed: a motif's kind"),
        ("{ size = 3 }", "found no kind"),
        ('{ kind = "sweep3d", grid = [3, 3] }', "grid"),
    ):
        with pytest.raises(ClusterError, match=why):
            prober(tmp_path).run(quick(skeletons=(text,)))
    with pytest.raises(ClusterError, match="one of them"):
        quick(command="true", skeletons=("hacc",))
    assert not (slurm / "submitted").exists()
