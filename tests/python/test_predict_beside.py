"""Collectives beside an aggressor: `odonata predict-collective --beside`."""

import json

import pytest

from odonata import predict_collective
from odonata.errors import MachineError
from odonata.machines.aggressor import Aggressor
from odonata.scenario import Scenario
from odonata.units import Duration, Size
from small_machine import odonata

#: Two switches of eight nodes each, joined by one link as fast as a node's.
TWO = """
[network]
family = "hyperx"
size = [2]
p = 8
links = { terminal = { bandwidth = "10 GB/s" }, local = { bandwidth = "10 GB/s" } }
[machine]
name = "Two"
hosts = [{ names = "n[00-15]", first_node = 0 }]
"""


def two(more: str = "") -> Scenario:
    return Scenario.from_toml(TWO + more)


def slower(scenario, hosts, aggressor, algorithm="ring", size="1 MiB"):
    (found,) = predict_collective(
        scenario, hosts, "allgather", size, algorithm=algorithm, beside=aggressor
    )
    return found.beside


def all_to_all(hosts, **keys):
    return Aggressor("all-to-all", tuple(hosts), Size("256 KiB"), **keys)


def test_who_shares_no_link_is_as_fast_as_alone():
    # Both on nodes of their own of one switch, whose crossbar is ideal.
    found = slower(two(), "n[00-03]", all_to_all(["n04", "n05", "n06"]))
    assert (found.least, found.median, found.most) == (1.0, 1.0, 1.0)
    assert (found.kind, found.hosts, found.calls) == ("all-to-all", 3, 5)


def test_a_shared_link_is_shared_evenly():
    """A ring of two over the link, and two that send to each other over it all the time: each has
    half of it in either direction, and a call takes twice as long but for its latencies."""
    found = slower(two(), ["n00", "n08"], all_to_all(["n01", "n09"]), size="16 MiB")
    assert found.median == pytest.approx(2.0, rel=0.03)


def test_a_pause_leaves_the_link():
    """Bursts that fill the link for as long as the pauses between them. At half of the link's rate
    a burst takes twice that time, so that two thirds of all time the call has half of the link, and
    one third all of it: two thirds of its rate."""
    aggressor = Aggressor(
        "all-to-all",
        ("n01", "n09"),
        Size("64 KiB"),
        Duration("200 us"),
        Duration("200 us"),
    )
    found = slower(two(), ["n00", "n08"], aggressor, size="128 MiB")
    assert found.median == pytest.approx(1.5, rel=0.05)


def test_an_incast_takes_its_share_of_a_link():
    """Four nodes send to one over the link, and so does the ring: it has a fifth."""
    incast = Aggressor("incast", ("n09", "n01", "n02", "n03", "n04"), Size("256 KiB"))
    assert slower(two(), ["n00", "n08"], incast).median == pytest.approx(5.0, rel=0.01)


def test_congestion_control_frees_who_only_shares_a_buffer_with_an_incast():
    """The link could carry all five flows, but the four fill the buffer behind it, which their node
    empties at its rate: each has a fourth of that, and the ring no more. Held back at their
    sources they leave it to the ring."""
    incast = Aggressor("incast", ("n09", "n01", "n02", "n03", "n04"), Size("256 KiB"))
    narrow, fast = 'bandwidth = "10 GB/s" } }', 'bandwidth = "50 GB/s", buffer = "1 MiB" } }'
    wide = TWO.replace(narrow, fast)
    assert wide != TWO
    free = slower(Scenario.from_toml(wide), ["n00", "n08"], incast, size="4 MiB")
    assert free.median == pytest.approx(4.0, rel=0.05)
    held = Scenario.from_toml(wide + '[network.nic]\ncongestion_control = "slingshot"')
    assert slower(held, ["n00", "n08"], incast, size="4 MiB").median == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize(
    ("hosts", "aggressor", "keys", "words"),
    [
        ("n[00-01]", ["n01", "n02"], {}, "found n01, which is the collective's as well"),
        ("n[00-01]", ["n02"], {}, "found 1 hosts; allowed: two or more"),
        ("n[00-01]", ["n02", "n99"], {}, "n99"),
        ("n[00-01]", ["n02", "n03"], {"burst": Duration("1 us")}, "allowed: both, or neither"),
    ],
)
def test_aggressors_that_are_not_possible(hosts, aggressor, keys, words):
    with pytest.raises(MachineError, match=words):
        slower(two(), hosts, all_to_all(aggressor, **keys))


def test_flows_see_no_queue():
    with pytest.raises(MachineError, match="found flow with --beside"):
        predict_collective(
            two(), "n[00-01]", "allgather", 8, engine="flow", beside=all_to_all(["n02", "n03"])
        )


def test_the_command(tmp_path):
    file = tmp_path / "two.toml"
    file.write_text(TWO)
    arguments = ["predict-collective", file, "--hosts", "n[00,08]", "--collective", "allgather"]
    arguments += ["--algorithm", "ring", "--bytes", "4MiB"]
    beside = ["--beside", "all-to-all", "--beside-hosts", "n[01,09]"]
    found = json.loads(odonata(*arguments, *beside, "--json").stdout)
    assert found["beside"]["median"] > 1.5
    assert "beside an all-to-all on 2 hosts: " in odonata(*arguments, *beside).stdout
    kept = tmp_path / "kept"
    odonata(*arguments, *beside, "--out", kept)
    again = json.loads(odonata("show", kept, "--json").stdout)
    assert again["predictions"][0]["beside"] == found["beside"]
    assert again["beside"][:2] == ["--beside", "all-to-all"]
    assert "beside_median" in (kept / "predictions.csv").read_text()
    assert "beside" not in json.loads(odonata(*arguments, "--json").stdout)
    for wrong, words in (
        (["--beside", "incast"], "--beside needs --beside-hosts"),
        (["--beside-hosts", "n01"], "need --beside"),
        ([*beside, "--burst", "ten"], "ten"),
    ):
        done = odonata(*arguments, *wrong, check=False)
        assert done.returncode != 0 and words in done.stderr
    # Neighbours on other routers: nothing of theirs is on the way.
    apart = ["--beside", "all-to-all", "--beside-hosts", "n[02,03]"]
    near = [argument if argument != "n[00,08]" else "n[00,01]" for argument in arguments]
    assert "Its queues never reach these calls" in odonata(*near, *apart).stdout
