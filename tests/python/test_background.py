"""Other jobs and the hosts' noise beside a predicted collective, and places of jobs on Tofu."""

import io
import itertools
import json
import tarfile

import numpy as np
import pytest

from command import call
from odonata.declared import Noise
from odonata.errors import MachineError
from odonata.machines.background import (
    APPLICATIONS,
    beside,
    interrupted_ns,
    read_jobs,
    traffic,
)
from odonata.machines.machine import Background
from odonata.machines.prediction import Predictor
from odonata.machines.tofu import FUGAKU, block, box, ring
from odonata.scenario import Scenario
from small_machine import EXAMPLES

# Two rows of eight nodes on one link: what crosses it has 1 GB/s.
SMALL = """
[network]
family = "torus"
size = [2]
wrap = [false]
p = 8
links.terminal = { bandwidth = "10 GB/s", latency = "1 ns" }
links.local = { bandwidth = "1 GB/s", latency = "1 ns" }
router = { delay = "0 ns" }
[simulation]
engine = "flow"
[machine]
name = "Small"
hosts = [{ names = "node[01-16]", first_node = 0 }]
spread = [{ size = "1 KiB", p10 = 0.5, p90 = 2.0 }]
background = { busy = "100 %", compute_rate = 100.0 }
[mpi]
noise = { detour_time = "0 s" }
"""
KNOWN = {f"node{n:02d}": n - 1 for n in range(1, 17)}


def small() -> Scenario:
    return Scenario.from_toml(SMALL)


def test_jobs_are_read_from_lines_folders_and_archives(tmp_path):
    lines = tmp_path / "jobs"
    lines.write_text("node[01-02,05]\n(null)\n# none\nnode03\nnode03.x,other9,node04\n")
    # One host is no job with messages, and hosts of elsewhere do not count.
    expected = [[0, 1, 4], [2, 3]]
    assert read_jobs(lines, KNOWN) == expected
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "10.txt").write_text("node03.x\nother9\nnode04\n")
    (folder / "9.txt").write_text("node05\nnode01\nnode02\n")
    assert read_jobs(folder, KNOWN) == expected
    with tarfile.open(tmp_path / "jobs.tar.gz", "w:gz") as archive:
        for name in ("10.txt", "9.txt"):
            data = (folder / name).read_bytes()
            info = tarfile.TarInfo(f"week/{name}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    assert read_jobs(tmp_path / "jobs.tar.gz", KNOWN) == expected


@pytest.mark.parametrize(
    ("text", "found"),
    [("node[01-\n", "is no list of hosts"), ("other[1-4]\n", "holds no job on two or more hosts")],
)
def test_what_are_no_jobs_is_refused(tmp_path, text, found):
    (tmp_path / "jobs").write_text(text)
    with pytest.raises(MachineError, match=found):
        read_jobs(tmp_path / "jobs", KNOWN)
    with pytest.raises(MachineError, match="cannot be read"):
        read_jobs(tmp_path / "missing", KNOWN)


def test_jobs_beside_share_no_node_and_leave_the_rest_free():
    random = np.random.default_rng(1)
    jobs = [list(range(first, first + 3)) for first in range(60)]
    found = beside(jobs, [0, 30], 20, random)
    taken = [node for nodes in found for node in nodes]
    assert len(taken) == len(set(taken)) == 18
    assert not {0, 30} & set(taken)


def test_an_application_sends_what_it_was_measured_to():
    for seed in range(20):
        random = np.random.default_rng(seed)
        job = traffic(0, [1, 2, 3, 4], 2.0, random, random)
        app = next(app for app in APPLICATIONS if job["name"].startswith(app.name))
        load = job["load"]["traffic"]
        # Six faces of the cube of 64 ranks; a rank has six neighbours, so that a face's rank sends
        # a sixth of its bytes through it.
        per_second = 6 * load["message_bytes"] / (load["offered"]["interval_ps"] / 1e12)
        assert per_second == pytest.approx(6 * 16 * app.rate / 6 * 2.0, rel=1e-6)
        assert 0 <= job["start_ps"] <= load["offered"]["interval_ps"]


def test_the_older_name_of_the_compute_rate_is_taken_with_a_warning() -> None:
    with pytest.warns(FutureWarning, match="compute_rate"):
        assert Background(pace=2.5).compute_rate == 2.5


def test_interruptions_are_of_the_longest_rank():
    noise = Noise()
    random = np.random.default_rng(1)
    # 4 ms in the mean: a call of 40 µs on one rank is hit by a hundredth, on 200 ranks by 1 - e^-2.
    one = interrupted_ns(noise, 1, 40_000, random)
    many = interrupted_ns(noise, 200, 40_000, random)
    assert np.mean(one > 0) == pytest.approx(0.01, abs=0.006)
    assert np.mean(many > 0) == pytest.approx(1 - np.exp(-2), abs=0.03)
    # In a second each rank loses 250 of 3.2 µs.
    assert interrupted_ns(noise, 1, 1e9, random).mean() == pytest.approx(8e5, rel=0.01)
    assert not interrupted_ns(Noise(detour_time="0 s"), 9, 1e9, random).any()


def test_calls_beside_others_scatter_by_what_they_share(tmp_path):
    jobs = tmp_path / "jobs"
    # Both on the same two routers as the ring of four, across the one link of 1 GB/s.
    jobs.write_text("node[03-04,11-12]\nnode[05-08,13-16]\n")
    hosts = ["node01", "node02", "node09", "node10"]
    busy = Predictor(small(), jobs=jobs, calls=40)
    case = busy.case(hosts, "allreduce", "ring", 4 << 20)
    alone = Predictor(small()).predict(case)
    assert alone.spread == "measured" and alone.p90_ns == 2 * alone.median_ns
    found = busy.predict(case)
    assert found.spread == "simulated" and found.median_ns == alone.median_ns
    assert found.p10_ns is not None and found.p90_ns is not None
    assert found.p10_ns <= found.median_ns < 1.02 * found.median_ns < found.p90_ns
    assert busy.predict(case) == found
    # On one router nobody else is in the way.
    within = busy.case(["node01", "node02"], "allreduce", "ring", 4 << 20)
    calm = busy.predict(within)
    assert calm.p10_ns == pytest.approx(calm.p90_ns, rel=1e-3)


def test_the_command_simulates_the_spread(tmp_path):
    machine, jobs, hosts = (tmp_path / name for name in ("machine.toml", "jobs", "hosts"))
    machine.write_text(SMALL)
    jobs.write_text("node[03-04,11-12]\n")
    hosts.write_text("node01\nnode09\n")
    base = ["predict-collective", machine, "--hosts", hosts, "--collective", "allreduce"]
    base += ["--algorithm", "ring", "--bytes", "4MiB", "--json"]

    def predicted(*more):
        done = call(*(str(one) for one in (*base, *more)), directory=tmp_path)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    by_option = predicted("--background", jobs, "--calls", 32)
    assert by_option["spread"] == "simulated"
    by_key = predicted("--set", f"machine.background.jobs={jobs}", "--calls", 32)
    assert by_key == by_option
    assert predicted()["spread"] == "measured"
    failed = call(*(str(one) for one in (*base, "--background", hosts)), directory=tmp_path)
    assert failed.returncode == 2 and "no job on two or more hosts" in failed.stderr


# --- Tofu -----------------------------------------------------------------------------------


def place(name: str, size=FUGAKU) -> tuple[int, ...]:
    number, found = int(name.removeprefix("tofu")), []
    for length in (*size, 2, 3, 2):
        number, here = divmod(number, length)
        found.append(here)
    return tuple(found)


@pytest.mark.parametrize("shape", [(2, 2, 2), (4, 4, 4), (6, 1, 16), (48, 2, 1), (2, 46, 4)])
def test_a_job_is_a_torus_of_neighbours(shape):
    hosts = block(shape)
    assert len(set(hosts)) == np.prod(shape)
    at = dict(zip(itertools.product(*(range(n) for n in reversed(shape))), hosts, strict=True))
    for where, host in at.items():
        for dimension, length in enumerate(reversed(shape)):
            if length > 1:
                other = list(where)
                other[dimension] = (where[dimension] + 1) % length
                apart = np.abs(np.subtract(place(host), place(at[tuple(other)])))
                assert apart.sum() == 1


def test_wrong_shapes_are_refused():
    for shape in ((3, 2, 2), (2, 2), (50, 2, 2), (2, 48, 2), (0, 2, 2)):
        with pytest.raises(MachineError, match="shape: found"):
            block(shape)
    assert ring(4) == [(0, 0), (1, 0), (1, 1), (0, 1)]


def test_a_job_is_predicted_in_its_part_of_the_network(monkeypatch):
    """Dimensions that wrap around are whole; the times are those in the whole network."""
    size, nodes = box((5, 4, 3), (False, True, False), [21, 22, 43])
    # Places (1, 0, 1), (2, 0, 1) and (3, 0, 2).
    assert (size, nodes) == ([3, 4, 2], [0, 1, 14])
    text = (EXAMPLES / "machines" / "fugaku.toml").read_text()
    small = text.replace("[24, 23, 24,", "[4, 3, 2,").replace("158975", "287")
    predictor = Predictor(Scenario.from_toml(small))
    assert predictor._boxed
    hosts = [f"tofu{number:04}" for number in (137, 2, 30, 31, 6, 209, 77, 130)]
    for operation in ("allreduce", "alltoall"):
        case = predictor.case(hosts, operation, "auto", 1 << 20)
        inside = predictor.predict(case)
        with monkeypatch.context() as whole:
            whole.setattr(predictor, "_boxed", False)
            assert predictor.predict(case) == inside
