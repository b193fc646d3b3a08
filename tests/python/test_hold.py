"""Jobs that could start and are held while the network is busy: `[schedule.hold]`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import odonata
from command import call
from odonata.batch import SharedLinks, SharedPackets
from odonata.batch.waits import HELD, reasons
from odonata.errors import JobLogError
from test_network_in_loop import swf

#: Leaves of four nodes with one link up, as fast as a node's.
TREE = """
[network]
family = "fat-tree"
down = [4, 4]
up = [1]
routing = "up-down"
[network.links]
terminal = { bandwidth = "10 GB/s", latency = "10 ns" }
level1 = { bandwidth = "10 GB/s", latency = "10 ns" }
[[job]]
name = "any"
nodes = 2
motif = { kind = "all-to-all", message = "1 KiB" }
"""
#: Two jobs of six nodes that meet on the link of the second leaf, and a small one. Half of a job
#: sends to its other half, so that two nodes of each send over that link.
JOBS = [(0, 100, 6), (0, 100, 6), (40, 100, 1)]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    file = tmp_path / "tree.toml"
    file.write_text(TREE)
    return file


def links(machine: Path, level: type[Any] = SharedLinks, share: str = "100%", **more: Any) -> Any:
    """Jobs whose nodes send at half of their link's rate for a share of their time."""
    common: dict[str, Any] = {"mix": "halves=1", "communication_share": share, "injection": 0.5}
    return level(machine=machine, **common, **more)


def ends(made: odonata.batch.Schedule) -> list[int]:
    return made.jobs["end_s"].to_pylist()


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "depth:2"])
def test_who_would_share_a_full_link_waits(tree: Path, tmp_path: Path, policy: str) -> None:
    log = swf(tmp_path / "log.swf", JOBS, 16)

    def made(**hold: str) -> odonata.batch.Schedule:
        keys = {"hold": hold} if hold else {}
        return odonata.schedule(
            log, nodes=16, policy=policy, network=links(tree), limits=False, **keys
        )

    # Together each has half of the link: both take twice as long. The small one sends nothing.
    assert ends(made()) == [200, 200, 140]
    # The second would lose a half of its speed, and take as much from the first: all of its work.
    apart = made(above="99%")
    assert ends(apart) == [100, 200, 140]
    assert apart.jobs["held_s"].to_pylist() == [0, 100, 0]
    assert ends(made(above="101%")) == [200, 200, 140]
    # Held for 30 s: the first has 70 s of work left then, both go at half speed until second 170,
    # and the second has 30 s left.
    bounded = made(above="20%", at_most="30 s")
    assert ends(bounded) == [170, 200, 140]
    assert bounded.jobs["held_s"].to_pylist() == [0, 30, 0]
    assert [(one.text, one.jobs, one.wait_s) for one in reasons(bounded)] == [(HELD, 1, 30)]


def test_packets_hold_as_flows_do(tree: Path, tmp_path: Path) -> None:
    log = swf(tmp_path / "log.swf", JOBS, 16)
    network = links(tree, SharedPackets, window="100 us", message="4 KiB")

    def made(above: str) -> list[int]:
        keys = {"hold": {"above": above}}
        return ends(odonata.schedule(log, nodes=16, network=network, limits=False, **keys))

    # What is in buffers when a window ends has left its node, so that each loses less than a half.
    assert made("40%") == [100, 200, 140]
    first, second, _ = made("130%")
    assert first == pytest.approx(second, rel=0.05) and 130 < first <= 200


JOB = st.tuples(st.integers(0, 400), st.integers(1, 200), st.integers(1, 16))


@settings(max_examples=15)
@given(jobs=st.lists(JOB, min_size=2, max_size=25), above=st.sampled_from(["0%", "10%", "60%"]))
def test_no_job_starves_and_none_shares_nodes(
    tmp_path_factory: pytest.TempPathFactory, jobs: list[tuple[int, int, int]], above: str
) -> None:
    directory = tmp_path_factory.mktemp("queue")
    (directory / "tree.toml").write_text(TREE)
    (directory / "wide.toml").write_text(TREE.replace("down = [4, 4]", "down = [4, 100]"))
    log = swf(directory / "log.swf", sorted(jobs), 16)
    bound = 50
    for policy in ("fcfs", "easy", "conservative"):
        network = links(directory / "tree.toml")
        keys = {"hold": {"above": above, "at_most": f"{bound} s"}}
        made = odonata.schedule(log, nodes=16, policy=policy, network=network, limits=False, **keys)
        table = made.jobs.to_pandas()
        assert (table["fate"] == "finished").all()
        # Ends come before starts of the same second.
        moments = [(end, -size) for end, size in zip(table.end_s, table.nodes, strict=True)]
        moments += [(start, size) for start, size in zip(table.start_s, table.nodes, strict=True)]
        busy = np.cumsum([size for _, size in sorted(moments)])
        assert busy.max() <= 16 and busy[-1] == 0
        # With nodes for all of them nobody waits for longer than the bound.
        roomy = links(directory / "wide.toml")
        made = odonata.schedule(log, nodes=400, policy=policy, network=roomy, limits=False, **keys)
        assert max(made.jobs["wait_s"].to_pylist()) <= bound
        # Whose jobs send nothing is never held: equal to the second.
        quiet = links(directory / "tree.toml", share="0%")
        silent = odonata.schedule(log, nodes=16, policy=policy, network=quiet, limits=False, **keys)
        plain = odonata.schedule(log, nodes=16, policy=policy, limits=False)
        assert ends(silent) == ends(plain)
        assert silent.jobs["start_s"].to_pylist() == plain.jobs["start_s"].to_pylist()


def test_holding_that_changes_nothing_is_refused(tree: Path, tmp_path: Path) -> None:
    log = swf(tmp_path / "log.swf", JOBS, 16)
    with pytest.raises(JobLogError, match="hold: found no links that jobs share"):
        odonata.schedule(log, nodes=16, hold={"above": "10%"})
    with pytest.raises(JobLogError, match="above"):
        odonata.schedule(log, nodes=16, network=links(tree), hold={"above": "-10%"})
    done = call("schedule", log, "--nodes", "16", "--hold-at-most", "1h", directory=tmp_path)
    assert done.returncode == 2
    assert "--hold-above: missing; without it --hold-at-most would change nothing" in done.stderr


def test_the_command_line_holds_and_says_why_jobs_waited(tree: Path, tmp_path: Path) -> None:
    log = swf(tmp_path / "log.swf", JOBS, 16)
    options = ["--nodes", "16", "--network", "flow", "--machine", str(tree), "--no-limits"]
    options += ["--mpi-share", "100%", "--mix", "halves=1", "--injection", "50%"]
    options += ["--hold-above", "20%", "--out", "held"]
    done = call("schedule", log, *options, directory=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 job: they were held as the network was busy" in done.stdout
