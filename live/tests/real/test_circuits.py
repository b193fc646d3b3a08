"""Circuits on real switches: Open vSwitch by OpenFlow, Linux by tc."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulated_slurm import free_ports
from emulated_switches import PATH, SPACES, EmulatedSwitches
from odonata.errors import ControlError, DeviceError
from odonata_live.control import Connection, Controller, Plant, Switch
from odonata_live.control.drivers.openflow import OpenFlow


def test_tables_are_the_journals_and_no_frame_of_another_job_is_lost(
    switches_available: None,
) -> None:
    """A hundred changes on 15 bridges, of which some are killed, refused, or meet a switch gone."""
    # In a process of its own, which forks and has no threads.
    program = str(Path(__file__).with_name("circuits_experiment.py"))
    done = subprocess.run(
        [sys.executable, program, "--count", "100", "--seed", "1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    frames = found["frames"]
    assert frames["came"] == frames["sent"] > 0 and frames["strayed"] == 0
    assert frames["ways"] == 28
    assert found["done"] + found["killed"] + found["refused"] == 100
    assert min(found["done"], found["killed"], found["gone"], found["forbidden"]) > 3


def test_a_switch_refuses_who_is_no_longer_its_master(switches_available: None) -> None:
    """What a killed process has still on its way does not arrive after its successor has read."""
    with EmulatedSwitches(1, 4) as switches:
        switch = Switch("s0", "ovs", 4, True, {"at": f"unix:{switches.directory}/s0.mgmt"})
        first, second = OpenFlow(60, 20, None), OpenFlow(60, 20, None)
        first.make(switch, [Connection(0, 1, 7)])
        first.barrier(switch)
        assert second.read(switch) == {Connection(0, 1, 7)}
        first.make(switch, [Connection(2, 3, 7)])
        with pytest.raises(DeviceError, match="refuses: OpenFlow error, type 1, code 10"):
            first.barrier(switch)
        assert second.read(switch) == {Connection(0, 1, 7)}
        # Entries that are no circuits are told, not passed over.
        address = f"{switches.directory}/s0.mgmt"
        flow = ["ovs-ofctl", "-O", "OpenFlow13", "add-flow", address]
        switches.run(*flow, "priority=10,actions=drop")
        assert second.read(switch) == {Connection(0, 1, 7)}
        switches.run(*flow, "priority=30,in_port=3,actions=output:4")
        with pytest.raises(DeviceError, match="no circuit"):
            second.read(switch)
        first.close()
        second.close()


def test_a_switch_may_call_its_controller(switches_available: None) -> None:
    (port,) = free_ports(1)
    with EmulatedSwitches(2, 4) as switches:
        # The bridges are in a network of their own, so that the controller goes there as well.
        for bridge in range(2):
            switches.run(
                *("ovs-vsctl", "set", "bridge", f"s{bridge}"),
                f"other-config:datapath-id={bridge + 1:016x}",
            )
            switches.run("ovs-vsctl", "set-controller", f"s{bridge}", f"tcp:127.0.0.1:{port}")
        program = (
            "import sys\n"
            "from odonata_live.control import Connection, Switch\n"
            "from odonata_live.control.drivers.openflow import driver\n"
            f"ovs = driver({{'listen': '127.0.0.1:{port}', 'timeout': 60}}, 0)\n"
            "switches = [Switch(f's{n}', 'ovs', 4, True, {'datapath': n}) for n in (2, 1)]\n"
            "for n, switch in enumerate(switches):\n"
            "    ovs.make(switch, [Connection(0, n, 5)])\n"
            "    ovs.barrier(switch)\n"
            "    assert ovs.read(switch) == {Connection(0, n, 5)}\n"
            "ovs.close()\n"
        )
        subprocess.run(switches.inside([sys.executable, "-c", program]), check=True, timeout=120)
        assert switches.entries(0)[1][0] == 2 and switches.entries(1)[1][0] == 1


@pytest.fixture
def namespace(switches_available: None) -> Iterator[str]:
    """A network with four pairs of interfaces, `p0` and `h0` to `p3` and `h3`; its path."""
    links = "".join(
        f"ip link add p{n} type veth peer name h{n} && ip link set p{n} up && ip link set h{n} up\n"
        for n in range(4)
    )
    ipv6 = "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6 || true\n"
    holder = subprocess.Popen(
        [*SPACES, "sh", "-e", "-c", f"{ipv6}{links}echo ready\ncat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PATH": PATH},
    )
    assert holder.stdout is not None and holder.stdin is not None
    assert holder.stdout.readline() == "ready\n"
    yield f"/proc/{holder.pid}/ns/net"
    holder.stdin.close()
    holder.wait(timeout=60)
    holder.stdout.close()


def test_linux_is_a_switch(namespace: str, tmp_path: Path) -> None:
    """Frames follow circuits that `tc` sets; what it holds is read back, jobs too."""
    file = tmp_path / "plant.toml"
    file.write_text(
        'store = "circuits.sqlite"\n[driver.linux]\nkind = "mirred"\ntimeout = 60\n'
        '[[switch]]\nname = "ocs"\ndriver = "linux"\nports = 4\n'
        f'namespace = "{namespace}"\nnames = ["p0", "p1", "p2", "p3"]\n'
    )
    plant = Plant.from_file(file)
    with Controller(plant) as control:
        control.set_circuits(3, plant.for_circuits(3, [("ocs", 0, 1), ("ocs", 2, 3)]))
        assert control.settings()["ocs"] == {
            *(Connection(0, 1, 3), Connection(1, 0, 3), Connection(2, 3, 3), Connection(3, 2, 3)),
        }
        assert pass_frames(namespace, "h0:h1", "h2:h3") == [True] * 4
        control.set_circuits(3, plant.for_circuits(3, [("ocs", 0, 2), ("ocs", 1, 3)]))
        assert pass_frames(namespace, "h0:h2", "h1:h3") == [True] * 4
        control.give_back(3)
        assert {(*c.ends, c.job) for c in control.settings()["ocs"]} == {
            *((0, 2, 0), (2, 0, 0), (1, 3, 0), (3, 1, 0)),
        }
        # The switch is restarted: nothing is there; a job's circuits come back.
        control.set_circuits(4, plant.for_circuits(4, [("ocs", 0, 3)]))
        for name in ("p0", "p1", "p2", "p3"):
            tc(namespace, "qdisc", "del", "dev", name, "ingress")
    with Controller(plant) as control:
        assert any("missing" in difference for difference in control.verify())
        control.recover()
        assert control.settings()["ocs"] == {Connection(0, 3, 4), Connection(3, 0, 4)}
        assert control.verify() == []
        assert pass_frames(namespace, "h0:h3") == [True] * 2
        tc(
            *(namespace, "filter", "add", "dev", "p1", "ingress", "protocol", "ip", "pref", "5"),
            *("u32", "match", "u32", "0", "0"),
            *("action", "mirred", "egress", "redirect", "dev", "p2"),
        )
        with pytest.raises(DeviceError, match="a filter that is no circuit"):
            control.settings()
    file.write_text(file.read_text().replace('"p3"', '"p3;id"'))
    with Controller(Plant.from_file(file)) as control, pytest.raises(ControlError, match="p3;id"):
        control.settings()


def tc(namespace: str, *arguments: str) -> None:
    subprocess.run(["nsenter", f"--net={namespace}", "tc", *arguments], check=True)


def pass_frames(namespace: str, *pairs: str) -> list[bool]:
    """Whether frames pass, all of them and nowhere else, for each direction of the pairs."""
    program = str(Path(__file__).with_name("frames.py"))
    done = subprocess.run(
        ["nsenter", f"--net={namespace}", sys.executable, "-S", program, *pairs],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    ways = [list(map(int, line.split()[2:])) for line in done.stdout.splitlines()[1:]]
    return [sent == came > 0 and strayed == 0 for sent, came, strayed in ways]
