"""A cable is pulled while an MPI program runs: `odonata control reroute` leads around it."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest

from emulated_fabric import End, Fabric
from network_experiment import CLI
from odonata import Scenario, _engine
from odonata_live.control import Plant
from odonata_live.control.rerouting import RouteJournal

HERE = Path(__file__).parent
MPIEXEC = Path(sys.executable).parent / "mpiexec"
NODES = [f"n{n}" for n in range(4)]
ADDRESSES = {name: f"10.6.0.{n + 1}" for n, name in enumerate(NODES)}
#: Two leaves of two nodes, and two spines.
NETWORK = {"family": "fat-tree", "down": [2, 2], "up": [2]}
#: Entries: router, sender, receiver, port from 0.
Entries = set[tuple[int, str, str, int]]


def entries_of(scenario: Scenario) -> Entries:
    """What the engine routes between all nodes."""
    pairs = list(permutations(range(len(NODES)), 2))
    ways = _engine.routes(scenario.normalised_json(), pairs)
    return {
        (router, NODES[one], NODES[other], port)
        for (one, other), way in zip(pairs, ways, strict=True)
        for router, port in way
    }


class Machine:
    """The fabric of a plant, its routers' entries, and the command that sets them."""

    def __init__(self, directory: Path) -> None:
        (directory / "machine.toml").write_text(
            Scenario.from_dict({"network": NETWORK}).to_toml(), encoding="utf-8"
        )
        (directory / "hosts").write_text("".join(f"{a} {name}\n" for name, a in ADDRESSES.items()))
        rows = "".join(
            f'[[router]]\nname = "r{n}"\ndriver = "ovs"\nat = "unix:{directory}/r{n}.mgmt"\n'
            for n in range(4)
        )
        self.file = directory / "plant.toml"
        self.file.write_text(
            'store = "routes.sqlite"\nscenario = "machine.toml"\nnodes = "n[0-3]"\n'
            f'addresses = "hosts"\n[driver.ovs]\nkind = "openflow"\ntimeout = 60\n{rows}'
        )
        network = Plant.from_file(self.file).network
        assert network is not None
        cables: dict[End, End] = {
            (f"r{one[0]}", one[1]): (f"r{other[0]}", other[1])
            for one, other in network.links.items()
            if one < other
        }
        cables |= {(f"r{at}", port): (name, None) for (at, port), name in network.node_at.items()}
        self.directory = directory
        self.fabric = Fabric(directory, ADDRESSES, [f"r{n}" for n in range(4)], cables)
        self.said: queue.Queue[str] = queue.Queue()
        self.command = subprocess.Popen(
            [*CLI, "control", "reroute", str(self.file), "--every", "1 s"],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self) -> None:
        for line in self.command.stdout or ():
            self.said.put(line)

    def entries(self) -> Entries:
        """What the routers hold, by ovs-ofctl."""
        node = {address: name for name, address in ADDRESSES.items()}
        return {
            (router, node[f["nw_src"]], node[f["nw_dst"]], int(f["actions"].split(":")[1]) - 1)
            for router in range(4)
            for f in self.fabric.flows(f"r{router}")
        }

    def mpi(self) -> subprocess.Popen[str]:
        """A rank of GTC on every node, for some seconds; all that they say passes the fabric."""
        launcher = self.directory / "launch"
        # mpiexec calls it as ssh: options, host, words of a command.
        launcher.write_text(
            '#!/bin/sh\nwhile [ "${1#-}" != "$1" ]; do shift; done\n'
            "host=$1; shift\n"
            'exec nsenter --net=/run/netns/n$((${host##*.} - 1)) sh -c "$*"\n'
        )
        launcher.chmod(0o755)
        command = [
            *(str(MPIEXEC), "-launcher", "ssh", "-launcher-exec", str(launcher), "-iface", "eth0"),
            # Leaves take turns, so that every message of the ring goes over a spine.
            *("-hosts", ",".join(ADDRESSES[name] for name in ("n0", "n2", "n1", "n3"))),
            *("-n", "4", "-ppn", "1", "-env", "UCX_TLS", "tcp,self"),
            *("-env", "UCX_NET_DEVICES", "eth0"),
            *(sys.executable, str(HERE / "gtc_skeleton.py"), "25", "20000", "20000", "0.05"),
        ]
        return subprocess.Popen(
            self.fabric.beside(command, "n0"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PATH": self.fabric.environment["PATH"]},
        )

    def close(self) -> None:
        self.command.terminate()
        self.command.wait(timeout=60)
        self.reader.join()
        assert self.command.stdout is not None
        self.command.stdout.close()
        self.fabric.close()


@pytest.fixture
def machine(switches_available: None) -> Iterator[Machine]:
    with tempfile.TemporaryDirectory(prefix="odonata-cable-") as name:
        made = Machine(Path(name))
        with contextlib.closing(made):
            yield made


@pytest.mark.skipif(not MPIEXEC.exists(), reason="no MPI beside this Python: pip install mpich")
def test_mpi_finishes_while_a_cable_is_pulled_and_put_back(machine: Machine) -> None:
    whole = Scenario.from_dict({"network": NETWORK})
    assert "all links are up" in machine.said.get(timeout=60)
    assert machine.entries() == entries_of(whole)
    # The cable that packets from n0 to n2 take up.
    (way,) = _engine.routes(whole.normalised_json(), [(0, 2)])
    (_, up), (spine, _) = way[:2]
    damaged = Scenario.from_dict(
        {"network": NETWORK, "failures": {"links": [{"routers": [0, spine]}]}}
    )
    mpi = machine.mpi()
    echoes = machine.fabric.echoes("n0", "n2", 800)
    try:
        time.sleep(1.0)
        assert mpi.poll() is None, mpi.communicate()[0]
        machine.fabric.set_link("r0", up, "down")
        said = machine.said.get(timeout=60)
        assert f"links are down: r0:{up + 1} - r{spine}:1;" in said, said
        assert machine.entries() == entries_of(damaged) != entries_of(whole)
        assert all(machine.fabric.passes(*pair) for pair in permutations(NODES, 2))
        out = mpi.communicate(timeout=60)[0]
        assert mpi.returncode == 0 and out.startswith("seconds"), out
        counted = re.search(r"(\d+) packets transmitted, (\d+) received", echoes.communicate()[0])
        assert counted
        lost = int(counted[1]) - int(counted[2])
        print(f"{lost} of {counted[1]} echoes lost, one every 5 ms; {said.strip()}")
    finally:
        for process in (mpi, echoes):
            if process.poll() is None:
                process.kill()
                process.communicate()
    # From the pull on at most what is sent in two periods; none where routers are asked at once.
    assert lost < 400
    # It is put back, and then both cables of a leaf are pulled.
    machine.fabric.set_link("r0", up, "up")
    assert "all links are up" in machine.said.get(timeout=60)
    assert machine.entries() == entries_of(whole)
    ups = sorted(port for at, port in Plant.from_file(machine.file).network.links if at == 0)
    for port in ups:
        machine.fabric.set_link("r0", port, "down")
    said = ""
    while "no way is left from" not in said:
        said = machine.said.get(timeout=60)
    # Within leaves alone.
    assert machine.fabric.passes("n0", "n1") and machine.fabric.passes("n2", "n3")
    assert machine.fabric.is_lost("n0", "n2")
    assert {(one, other) for _, one, other, _ in machine.entries()} == {
        *permutations(NODES[:2], 2),
        *permutations(NODES[2:], 2),
    }
    machine.command.terminate()
    machine.command.wait(timeout=60)
    journal = RouteJournal(Path(machine.file).parent / "routes.sqlite")
    changes = journal.changes()
    journal.close()
    assert [len(dark) for dark, *_ in changes][:3] == [0, 1, 0]
    assert all(made is not None and not error for _, _, made, _, error in changes)
    _, pulled, back, *_ = changes
    # Only what differs is sent.
    new, old = entries_of(damaged), entries_of(whole)
    places = [{entry[:3] for entry in of} for of in (new, old)]
    assert pulled[2:4] == (len(new - old), len(places[1] - places[0]))
    assert back[2:4] == (len(old - new), len(places[0] - places[1]))
    assert len(changes[-1][1]) == 8
