"""Routes around links that are down; routers are told which of their ports are."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from connected import Connected
from odonata import Scenario, _engine
from odonata.errors import ControlError, DeviceError, ScenarioError
from odonata_live.control import Controller, Plant
from odonata_live.control.network import Hop
from odonata_live.control.rerouting import Look, Rerouter, told

#: Two leaves of two nodes, and two spines.
TREE = '[network]\nfamily = "fat-tree"\ndown = [2, 2]\nup = [2]\n'
#: Four routers of a node each in a ring of which every two neighbours are joined by two cables.
RING = '[network]\nfamily = "edge-list"\nfile = "ring"\nnodes_per_router = 1\n'
#: Three groups of two routers with a node each, a link between every two groups.
GROUPS = '[network]\nfamily = "dragonfly"\np = 1\na = 2\nh = 1\ng = 3\nrouting = "minimal"\n'


class Router:
    """A router's session: its ports, and its entries."""

    constants = SimpleNamespace(
        OFPP_ANY=0, OFPG_ANY=0, OFPIT_APPLY_ACTIONS=0, OFPFC_ADD="add", OFPFC_DELETE_STRICT="delete"
    )
    messages = SimpleNamespace(
        OFPActionOutput=lambda port: SimpleNamespace(port=port),
        OFPMatch=lambda **fields: fields,
        OFPInstructionActions=lambda kind, actions: SimpleNamespace(actions=actions),
    )

    def __init__(self, radix: int) -> None:
        self.held: dict[tuple[str, str], Any] = {}
        self.up = dict.fromkeys(range(1, radix + 1), True)
        self.fails = self.refuses = False

    def ports(self) -> dict[int, bool]:
        if self.fails:
            raise DeviceError("switch: closed the connection")
        return dict(self.up)

    def send(self, kind: str, **fields: Any) -> None:
        pair = fields["match"]["ipv4_src"], fields["match"]["ipv4_dst"]
        if fields["command"] == "delete":
            del self.held[pair]
        else:
            self.held[pair] = SimpleNamespace(**fields)

    def barrier(self) -> None:
        if self.refuses:
            raise DeviceError("switch refuses: OpenFlow error, type 5, code 1")

    def entries(self) -> list[Any]:
        return list(self.held.values())


class Machine(Rerouter):
    """A plant whose routers are those above."""

    def __init__(self, directory: Path, network: str) -> None:
        edges = "".join(f"{n} {(n + 1) % 4}\n" * 2 for n in range(4))
        (directory / "ring").write_text(edges)
        (directory / "machine.toml").write_text(network)
        self.scenario = Scenario.from_file(directory / "machine.toml")
        shape = _engine.topology(self.scenario.normalised_json())
        nodes, routers = len(shape["node_router"]), len(shape["group_of_router"])
        (directory / "hosts").write_text("".join(f"10.0.0.{n} n{n}\n" for n in range(nodes)))
        rows = "".join(f'[[router]]\nname = "r{n}"\ndriver = "ovs"\n' for n in range(routers))
        self.file = directory / "plant.toml"
        self.file.write_text(
            'store = "routes.sqlite"\nscenario = "machine.toml"\naddresses = "hosts"\n'
            f'nodes = "n[0-{nodes - 1}]"\n[driver.ovs]\nkind = "openflow"\n{rows}'
        )
        self.complaints: list[str] = []
        super().__init__(Plant.from_file(self.file), say=self.complaints.append)
        self.routers = [Router(radix) for radix in self.network.radix]
        self._routers = Connected(self.plant, self.routers)

    def pull(self, *ends: Hop, up: bool = False) -> None:
        """Takes down one end of links, or brings it up."""
        for router, port in ends:
            self.routers[router].up[port + 1] = up

    def entries(self) -> set[tuple[int, int, int, int]]:
        """Router, sender, receiver, port from 0."""
        return {
            (
                number,
                *(int(address.split(".")[-1]) for address in pair),
                entry.instructions[0].actions[0].port - 1,
            )
            for number, router in enumerate(self.routers)
            for pair, entry in router.held.items()
        }

    def routed(self, failures: dict[str, Any] | None = None) -> set[tuple[int, int, int, int]]:
        """What the engine routes with `[failures]`, between the nodes that are left."""
        data = self.scenario.to_dict() | ({"failures": failures} if failures else {})
        spec = Scenario.from_dict(data, directory=self.file.parent).normalised_json()
        out = _engine.topology(spec).get("node_out_of_service", [0] * len(self.network.nodes))
        left = [node for node, gone in enumerate(out) if not gone]
        pairs = list(permutations(left, 2))
        ways = _engine.routes(spec, pairs)
        return {(r, *pair, p) for pair, way in zip(pairs, ways, strict=True) for r, p in way}


def test_entries_are_those_of_the_damaged_network_and_come_back(tmp_path: Path) -> None:
    with Machine(tmp_path, TREE) as machine:
        assert machine.look().dark == ()
        whole = machine.entries()
        assert whole == machine.routed()
        # One end says so; the other need not.
        machine.pull((0, 2))
        found = machine.look()
        assert found.dark == ("r0:3 - r2:1",) and found.cut == ()
        damaged = machine.entries()
        assert damaged == machine.routed({"links": [{"routers": [0, 2]}]}) != whole
        # What is new at a place that had none or another, and what is left over.
        places = [{entry[:3] for entry in of} for of in (whole, damaged)]
        assert (found.made, found.removed) == (len(damaged - whole), len(places[0] - places[1]))
        # Nothing has changed since, so that nothing is sent and nothing written.
        assert machine.look().seconds == 0
        machine.pull((0, 2), up=True)
        assert machine.look().dark == () and machine.entries() == whole
        assert [len(dark) for dark, *_ in machine.journal.changes()] == [0, 1, 0]


@pytest.mark.parametrize("which", [0, 1])
def test_of_two_cables_the_one_that_is_left_is_taken(tmp_path: Path, which: int) -> None:
    """Each of two cables carries some pairs before; after, all are on the other."""
    with Machine(tmp_path, RING) as machine:
        machine.look()
        cables = sorted(end for end, (there, _) in machine.network.links.items() if end[0] < there)
        both = [end for end in cables if (end[0], machine.network.links[end][0]) == (0, 1)]
        assert len(both) == 2
        before = machine.entries()
        gone, left = both[which], both[1 - which]
        machine.pull(gone)
        assert machine.look().cut == ()
        used = {(router, port) for router, _, _, port in machine.entries()}
        ends = [machine.network.links[one] for one in (gone, left)]
        assert gone not in used and ends[0] not in used
        assert left in used and ends[1] in used
        # The same routers are passed as with the link in [failures], which takes the first.
        failed = machine.routed({"links": [{"routers": [0, 1], "count": 1}]})
        assert {entry[:3] for entry in machine.entries()} == {entry[:3] for entry in failed}
        machine.pull(gone, up=True)
        machine.look()
        assert machine.entries() == before


def test_parts_of_a_network_that_falls_apart_are_routed_each_by_itself(tmp_path: Path) -> None:
    with Machine(tmp_path, RING) as machine:
        links = machine.network.links
        between = [{0, 1}, {2, 3}]
        machine.pull(*(end for end, (there, _) in links.items() if {end[0], there} in between))
        found = machine.look()
        # The ring is cut into routers 1 and 2, and 3 and 0.
        assert len(found.cut) == 8 and ("n0", "n1") in found.cut
        assert {entry[1:3] for entry in machine.entries()} == {(1, 2), (2, 1), (0, 3), (3, 0)}
        assert "no way is left from n0 to n1, n0 to n2, n1 to n0, n1 to n3 and 4 more" in told(
            found
        )


def test_all_links_are_down(tmp_path: Path) -> None:
    with Machine(tmp_path, TREE) as machine:
        machine.pull(*machine.network.links)
        found = machine.look()
        assert len(found.dark) == 4 and len(found.cut) == 8
        # Two nodes of a leaf need none.
        assert {entry[:3] for entry in machine.entries()} == {
            *((0, 0, 1), (0, 1, 0), (1, 2, 3), (1, 3, 2)),
        }


def test_a_node_whose_cable_is_pulled_is_cut_off_alone(tmp_path: Path) -> None:
    with Machine(tmp_path, TREE) as machine:
        machine.pull((0, 0))
        found = machine.look()
        assert found.dark == ("r0:1 - n0",)
        assert set(found.cut) == {
            pair for pair in permutations(machine.network.nodes, 2) if "n0" in pair
        }


def test_ports_that_the_network_does_not_have_are_told_of_once(tmp_path: Path) -> None:
    with Machine(tmp_path, TREE) as machine:
        machine.routers[2].up[9] = False
        for _ in range(2):
            assert machine.look().dark == ()
        (said,) = machine.complaints
        assert said.startswith("router r2 reports port 9, which the network does not have")


def test_ports_that_are_not_there_are_down(tmp_path: Path) -> None:
    with Machine(tmp_path, TREE) as machine:
        del machine.routers[3].up[2]
        assert machine.look().dark == ("r1:4 - r3:2",)


def test_a_router_that_does_not_answer_changes_nothing_unless_its_links_are_down(
    tmp_path: Path,
) -> None:
    with Machine(tmp_path, TREE) as machine:
        machine.look()
        before = machine.entries()
        machine.routers[2].fails = True
        with pytest.raises(DeviceError, match="closed the connection"):
            machine.look()
        assert machine.entries() == before
        # Spine 2 is off: its neighbours say so.
        machine.pull((0, 2), (1, 2))
        assert len(machine.look().dark) == 2
        held = {entry for entry in machine.entries() if entry[0] != 2}
        assert held == machine.routed({"routers": [2]})


def test_what_routers_refuse_is_written_and_done_again(tmp_path: Path) -> None:
    with Machine(tmp_path, TREE) as machine:
        machine.routers[0].refuses = True
        with pytest.raises(DeviceError, match="refuses"):
            machine.look()
        machine.routers[0].refuses = False
        assert machine.look().cut == () and machine.entries() == machine.routed()
        assert [error[:14] for *_, error in machine.journal.changes()] == ["switch refuses", ""]


def test_a_routing_that_does_not_take_what_is_left_says_so(tmp_path: Path) -> None:
    with Machine(tmp_path, GROUPS) as machine:
        machine.look()
        before = machine.entries()
        # Groups 0 and 1 are joined by way of group 2 alone, which minimal routes do not take.
        machine.pull((0, 2))
        with pytest.raises(ScenarioError, match="no global link joins group 0 to group 1"):
            machine.look()
        assert machine.entries() == before


def test_plants_that_cannot_be_rerouted(tmp_path: Path) -> None:
    machine = Machine(tmp_path, TREE)
    with pytest.raises(ControlError, match="found one node"):
        Rerouter(machine.plant, ["n0"])
    with pytest.raises(ControlError, match="found node n9"):
        Rerouter(machine.plant, ["n0", "n9"])
    # There is no circuit to set.
    with pytest.raises(ControlError, match=r"switch: found nothing; allowed: .*reroute"):
        Controller(machine.plant).__enter__()
    with machine, pytest.raises(ControlError, match="another `odonata control` has been at work"):
        Rerouter(machine.plant, wait_s=0.1).__enter__()


@pytest.mark.parametrize(
    ("network", "words"),
    [
        (TREE + "[failures]\nrouters = [2]\n", "failures: found a table; allowed: none"),
        (
            '[network]\nfamily = "reconfigurable-dragonfly"\np = 1\na = 2\nh = 1\ng = 3\n',
            "network: found optical switches; allowed: a network without",
        ),
    ],
)
def test_scenarios_that_do_not_fit(network: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(ControlError, match=words):
        Machine(tmp_path, network)


def test_a_plant_needs_switches_or_routers(tmp_path: Path) -> None:
    file = Machine(tmp_path, TREE).file
    file.write_text(file.read_text().split("[[router]]")[0])
    with pytest.raises(ControlError, match=r"switch: found nothing; allowed: it is needed, or"):
        Plant.from_file(file)


def test_a_look_is_told_in_a_line() -> None:
    assert (
        told(Look((), (), 3, 0, 0.01)) == "all links are up; 3 entries set, 0 taken off in 0.010 s"
    )
