"""Circuits that follow counted traffic: switches are files, routers are told what they counted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from connected import Connected
from odonata.errors import ControlError, DeviceError
from odonata_live.control import Controller, Plant
from odonata_live.control.drivers.recorder import driver
from odonata_live.control.following import Follower, Rule
from odonata_live.control.network import Hop

SCENARIO = """
title = "six nodes"
[network]
family = "reconfigurable-dragonfly"
p = 1
a = 2
h = 2
g = 3
circuits = "jobs"
steering = "min-max"
"""
NODES = [f"n{n}" for n in range(6)]
ROUTERS = "".join(f'[[router]]\nname = "r{n}"\ndriver = "ovs"\n' for n in range(6))
HOSTS = "".join(f"10.0.0.{n + 1} n{n}\n" for n in range(6))


class Router:
    """A router's session: its entries, and the bytes that they have forwarded."""

    constants = SimpleNamespace(
        OFPP_ANY=0, OFPG_ANY=0, OFPIT_APPLY_ACTIONS=0, OFPFC_ADD="add", OFPFC_DELETE_STRICT="delete"
    )
    messages = SimpleNamespace(
        OFPActionOutput=lambda port: SimpleNamespace(port=port),
        OFPMatch=lambda **fields: fields,
        OFPInstructionActions=lambda kind, actions: SimpleNamespace(actions=actions),
    )

    def __init__(self, after_each: Callable[[], None]) -> None:
        self.held: dict[tuple[str, str], Any] = {}
        self.after_each = after_each
        self.fails = False

    def send(self, kind: str, **fields: Any) -> None:
        pair = fields["match"]["ipv4_src"], fields["match"]["ipv4_dst"]
        if fields["command"] == "delete":
            del self.held[pair]
        else:
            before = self.held.get(pair)
            self.held[pair] = SimpleNamespace(
                **fields, byte_count=before.byte_count if before else 0
            )
        self.after_each()

    def barrier(self) -> None: ...

    def entries(self) -> list[Any]:
        if self.fails:
            raise DeviceError("switch r0: closed the connection")
        return list(self.held.values())

    def port(self, pair: tuple[str, str]) -> int:
        ((action,),) = (one.actions for one in self.held[pair].instructions)
        return int(action.port)


class Machine(Follower):
    """A follower whose routers are those above. Every packet finds its way after every message."""

    def __init__(self, directory: Path, rule: Rule) -> None:
        (directory / "machine.toml").write_text(SCENARIO)
        (directory / "hosts").write_text(HOSTS)
        file = directory / "plant.toml"
        switches = "".join(f'[[switch]]\nname = "o{n}"\ndriver = "files"\n' for n in range(4))
        file.write_text(
            'store = "circuits.sqlite"\nscenario = "machine.toml"\nnodes = "n[0-5]"\n'
            'addresses = "hosts"\n[driver.files]\nkind = "recorder"\n'
            f'[driver.ovs]\nkind = "openflow"\n{switches}{ROUTERS}'
        )
        self.complaints: list[str] = []
        self.watched = False
        self.routers = [Router(self.watch) for _ in range(6)]
        super().__init__(Plant.from_file(file), 1, NODES, rule, say=self.complaints.append)
        self._routers = Connected(self.plant, self.routers)
        with Controller(self.plant) as control:
            control.set_circuits(1, self.plant.for_nodes(1, NODES))
        self.begin()
        self.watched = True
        assert self.round().why == "first look"

    def send(self, one: int, other: int, count: int) -> None:
        pair = f"10.0.0.{one + 1}", f"10.0.0.{other + 1}"
        self.routers[one].held[pair].byte_count += count

    def watch(self) -> None:
        """Every packet that enters now arrives, by circuits that are set."""
        if not self.watched:
            return
        peers = self.peers()
        for one in range(6):
            for other in range(6):
                at, hops = one, 0
                while one != other:
                    pair = f"10.0.0.{one + 1}", f"10.0.0.{other + 1}"
                    leaving = self.routers[at].port(pair) - 1
                    if leaving == 0:
                        assert at == other
                        break
                    at, hops = peers[at, leaving], hops + 1
                    assert hops < 6, "in a circle"

    def peers(self) -> dict[Hop, int]:
        """The router behind every port of a router, by what switches hold."""
        peers = {(router, 1): router ^ 1 for router in range(6)}
        for number, ports in enumerate(self.network.ingress):
            for connection in self.lit[number]:
                (router, port), (peer, _) = ports[connection.ingress], ports[connection.egress]
                peers[router, port] = peer
        return peers

    @property
    def lit(self) -> list[Any]:
        recorder = driver({"directory": str(self.plant.file.parent)}, -1)
        return [recorder.read(switch) for switch in self.plant.switches.values()]

    def joined(self, one: int, other: int) -> int:
        """Circuits between two groups; a switch has one link of each."""
        return sum(any(c.ends == (one, other) for c in held) for held in self.lit)


QUICK = Rule(drain_s=0.0)


def test_circuits_follow_and_no_packet_is_without_a_way(tmp_path: Path) -> None:
    machine = Machine(tmp_path, QUICK)
    assert [machine.joined(0, 1), machine.joined(0, 2), machine.joined(1, 2)] == [1, 1, 2]
    machine.send(0, 2, 1_000_000)
    found = machine.round()
    # Three of four circuits; one keeps group 2 reachable. One circuit was worth 1, three 11/6.
    assert (found.why, found.sent) == ("changed", 1_000_000)
    assert found.gain == pytest.approx(5 / 6)
    assert machine.joined(0, 1) == 3
    machine.send(1, 5, 1_000_000)
    assert machine.round().why == "changed"
    assert machine.joined(0, 2) >= 2
    # The same again is no reason to change, nothing is none either.
    machine.send(1, 5, 2_000_000)
    assert machine.round().why == "the circuits are those for it"
    assert machine.round().why == "nothing was sent"


def test_what_is_not_worth_a_change_stays(tmp_path: Path) -> None:
    machine = Machine(tmp_path, Rule(margin=0.9, drain_s=0.0))
    machine.send(0, 2, 1_000_000)
    # 83 % more are less than 90.
    found = machine.round()
    assert found.why == "others are not worth the change"
    assert found.gain == pytest.approx(5 / 6)
    assert machine.joined(0, 1) == 1


def test_a_change_as_long_as_its_horizon_is_not_done(tmp_path: Path) -> None:
    machine = Machine(tmp_path, Rule(drain_s=0.0, horizon_s=1e-6))
    machine.send(0, 2, 1_000_000)
    # What a change takes is known after the first.
    assert machine.round().why == "changed"
    machine.send(0, 4, 1_000_000)
    assert machine.round().why == "others are not worth the change"


def test_counters_that_jump_back_count_from_there(tmp_path: Path) -> None:
    machine = Machine(tmp_path, QUICK)
    machine.send(0, 2, 5_000)
    assert machine.round().sent == 5_000
    for entry in machine.routers[0].held.values():
        entry.byte_count = 0
    machine.send(0, 2, 700)
    assert machine.round().sent == 700
    assert machine.complaints == ["counters of 1 pairs began anew, such as that from n0 to n2"]


def test_a_router_that_does_not_answer_is_told_of(tmp_path: Path) -> None:
    machine = Machine(tmp_path, QUICK)
    machine.routers[0].fails = True
    with pytest.raises(DeviceError, match="r0"):
        machine.round()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('addresses = "hosts"\n', "", "addresses: found nothing; allowed: a file like /etc/hosts"),
        (ROUTERS, "", "addresses: found a file; allowed: only with \\[\\[router\\]\\]"),
        ('name = "r5"\n', 'name = "r4"\n', 'router\\[5\\].name: found "r4" again'),
        ('[[router]]\nname = "r5"\ndriver = "ovs"\n', "", "found 5 routers; allowed: the 6"),
        ('"r0"\ndriver = "ovs"', '"r0"\ndriver = "files"', "a driver whose kind is openflow"),
        ('"r0"\ndriver = "ovs"', '"r0"\ndriver = "ovs"\nnames = [1, 1]', "different numbers"),
    ],
)
def test_plants_whose_routers_make_no_sense(old: str, new: str, words: str, tmp_path: Path) -> None:
    file = Machine(tmp_path, QUICK).plant.file
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(ControlError, match=words):
        Plant.from_file(file)


@pytest.mark.parametrize(
    ("hosts", "words"),
    [
        (HOSTS.replace("10.0.0.2", "10.0.0.1"), "two nodes have the same address"),
        (HOSTS.replace(" n3", " m3"), "no IPv4 address of 1 nodes, the first of them n3"),
        (HOSTS + "ten n9\n", 'line 7: found "ten"'),
    ],
)
def test_addresses_that_make_no_sense(hosts: str, words: str, tmp_path: Path) -> None:
    file = Machine(tmp_path, QUICK).plant.file
    (tmp_path / "hosts").write_text(hosts)
    with pytest.raises(ControlError, match=words):
        Plant.from_file(file)


def test_who_cannot_be_followed(tmp_path: Path) -> None:
    machine = Machine(tmp_path, QUICK)
    with pytest.raises(ControlError, match="found one node"):
        Follower(machine.plant, 1, ["n0"], QUICK)
    with pytest.raises(ControlError, match="found node n9"):
        Follower(machine.plant, 1, ["n0", "n9"], QUICK)
