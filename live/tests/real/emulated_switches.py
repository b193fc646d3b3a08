"""Open vSwitch in userspace as optical switches: bridges that patch port to port.

    with EmulatedSwitches(15, 8) as switches:
        switches.write_plant(directory)

Everything runs in namespaces of its own, which the kernel empties when it is closed or the Python
process dies. The outer end of port 3 of bridge s2 is the interface `h2-3` there.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

PROGRAMS = (
    "ovsdb-tool",
    "ovsdb-server",
    "ovs-vswitchd",
    "ovs-vsctl",
    "ovs-ofctl",
    "ip",
    "tc",
    "ping",
    "ethtool",
)
SPACES = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--net", "--mount"]
PATH = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])


class EmulationError(RuntimeError):
    """Switches did not start, or a command failed."""


def reason_to_skip_switches() -> str | None:
    """Why no switches can be emulated here; `None` if they can."""
    if os.geteuid() != 0:
        return "emulated switches need root"
    missing = [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]
    if missing:
        return f"emulated switches need {', '.join(missing)}: run tools/live-packages.sh"
    script = "ip link add up0 type veth peer name up1 && tc qdisc add dev up0 ingress"
    done = subprocess.run(
        [*SPACES, "sh", "-e", "-c", script], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        return f"emulated switches need network namespaces: {done.stderr.strip()}"
    return None


class OpenVSwitch:
    """Open vSwitch in userspace, in namespaces of its own; up until it is closed.

    Args:
        directory: Where its sockets lie.
        steps: Lines of shell that make the interfaces.
        adding: Words of ovs-vsctl that add the bridges.

    Raises:
        EmulationError: If it does not start.
    """

    def __init__(self, directory: Path, steps: Sequence[str], adding: Sequence[str]) -> None:
        self.directory = directory
        script = [
            # No daemon of IPv6 sends anything by itself.
            "echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6 || true",
            *steps,
            f"ovsdb-tool create {directory}/conf.db /usr/share/openvswitch/vswitch.ovsschema",
            f"ovsdb-server {directory}/conf.db --remote=punix:{directory}/db.sock --pidfile "
            "--detach --log-file -vconsole:off",
            "ovs-vsctl --no-wait init",
            f"ovs-vswitchd unix:{directory}/db.sock --pidfile --detach --log-file -vconsole:off "
            "--disable-system",
            shlex.join(["ovs-vsctl", *adding]),
            "echo ready",
            "cat",
        ]
        self._space = subprocess.Popen(
            [*SPACES, "sh", "-e", "-c", "\n".join(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self.environment,
        )
        assert self._space.stdout is not None
        said = []
        for line in self._space.stdout:
            if line == "ready\n":
                return
            said.append(line)
        self.close()
        raise EmulationError("Open vSwitch did not start:\n" + "".join(said[-20:]))

    def close(self) -> None:
        """Ends every process."""
        assert self._space.stdin is not None and self._space.stdout is not None
        with contextlib.suppress(OSError):
            self._space.stdin.close()
        try:
            self._space.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._space.send_signal(signal.SIGKILL)
            self._space.wait()
        self._space.stdout.close()

    @property
    def pid(self) -> int:
        """A process outside that has its networks and mounts."""
        return self._space.pid

    @property
    def environment(self) -> dict[str, str]:
        """Variables that commands of Open vSwitch need."""
        names = ("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR")
        return {**os.environ, "PATH": PATH, **dict.fromkeys(names, str(self.directory))}

    def run(self, *command: str) -> str:
        """What a command of Open vSwitch prints; its sockets are files, so that it runs outside."""
        done = subprocess.run(
            list(command),
            capture_output=True,
            text=True,
            env=self.environment,
            check=False,
            timeout=120,
        )
        if done.returncode != 0:
            raise EmulationError(f"{shlex.join(command)}: {done.stderr.strip()}")
        return done.stdout

    def flows(self, bridge: str) -> list[dict[str, str]]:
        """The fields of a bridge's entries, as ovs-ofctl prints them."""
        socket = str(self.directory / f"{bridge}.mgmt")
        asked = ("ovs-ofctl", "-O", "OpenFlow13", "--no-names", "dump-flows", socket)
        deadline = time.monotonic() + 60
        while True:
            try:
                answer = self.run(*asked)
                break
            except EmulationError as error:
                # A busy switch hangs up on who has just been let in: nothing was asked yet.
                if "failed to open socket" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
        lines = [
            line.replace(",", " ").split() for line in answer.splitlines() if "cookie=" in line
        ]
        return [dict(word.split("=", 1) for word in words if "=" in word) for words in lines]


def in_batch(links: Sequence[str]) -> str:
    """A line of shell for many commands of ip."""
    return "ip -batch - <<'END'\n" + "\n".join(links) + "\nEND"


def adding_bridge(name: str) -> list[str]:
    """Words of ovs-vsctl that add a bridge without entries."""
    words = ["--", "add-br", name, "--", "set", "bridge", name, "datapath_type=netdev"]
    return [*words, "protocols=OpenFlow13", "fail_mode=secure"]


def adding_port(bridge: str, interface: str, number: int) -> list[str]:
    """Words of ovs-vsctl that add a port to it."""
    words = ["--", "add-port", bridge, interface, "--", "set", "interface", interface]
    return [*words, f"ofport_request={number}"]


class EmulatedSwitches:
    """Bridges, up while the context lasts.

    Args:
        bridges: How many; they are called s0, s1, …
        ports: Of each.

    Attributes:
        directory: Where their sockets lie; removed at the end.
    """

    def __init__(self, bridges: int, ports: int) -> None:
        self.bridges = bridges
        self.ports = ports
        self.directory = Path()
        self._switches: OpenVSwitch | None = None

    def __enter__(self) -> EmulatedSwitches:
        self.directory = Path(tempfile.mkdtemp(prefix="odonata-ovs-"))
        try:
            self._switches = self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends every process and removes the directory."""
        if self._switches is not None:
            self._switches.close()
            self._switches = None
        shutil.rmtree(self.directory, ignore_errors=True)

    def _start(self) -> OpenVSwitch:
        links = ["link set lo up"]
        for bridge in range(self.bridges):
            for port in range(self.ports):
                inner, outer = f"p{bridge}-{port}", f"h{bridge}-{port}"
                links.append(f"link add {inner} type veth peer name {outer}")
                links += [f"link set {inner} up", f"link set {outer} up"]
        adding = [word for bridge in range(self.bridges) for word in self._adding(bridge)]
        return OpenVSwitch(self.directory, [in_batch(links)], adding)

    def _adding(self, bridge: int) -> list[str]:
        name = f"s{bridge}"
        words = adding_bridge(name)
        for port in range(self.ports):
            words += adding_port(name, f"p{bridge}-{port}", port + 1)
        return words

    def run(self, *command: str) -> str:
        """What a command of Open vSwitch prints."""
        assert self._switches is not None
        return self._switches.run(*command)

    def inside(self, command: list[str]) -> list[str]:
        """A command that runs where the interfaces are."""
        assert self._switches is not None
        return ["nsenter", f"--target={self._switches.pid}", "--net", "--", *command]

    def remove(self, bridge: int) -> None:
        """Takes a bridge away, with all that it holds."""
        self.run("ovs-vsctl", "del-br", f"s{bridge}")

    def add(self, bridge: int) -> None:
        """Brings a bridge back, without what it held; returns when it answers."""
        self.run("ovs-vsctl", *self._adding(bridge))
        deadline = time.monotonic() + 60
        while not (self.directory / f"s{bridge}.mgmt").exists():
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def limit(self, bridge: int, entries: int | None) -> None:
        """Lets a bridge refuse entries beyond a number of them; `None`: no longer."""
        if entries is None:
            self.run("ovs-vsctl", "clear", "bridge", f"s{bridge}", "flow_tables")
            return
        self.run(
            *("ovs-vsctl", "--", "--id=@full", "create", "Flow_Table", f"flow_limit={entries}"),
            *("overflow_policy=refuse", "--", "set", "bridge", f"s{bridge}", "flow_tables:0=@full"),
        )

    def entries(self, bridge: int) -> dict[int, tuple[int, int]]:
        """Entries by their port of entry, as ovs-ofctl reads them: port they lead to, cookie."""
        assert self._switches is not None
        found = {}
        for fields in self._switches.flows(f"s{bridge}"):
            _, _, output = fields["actions"].partition(":")
            found[int(fields["in_port"])] = (int(output), int(fields["cookie"], 16))
        return found

    def write_plant(self, directory: Path) -> Path:
        """The file of all bridges as optical switches whose circuits lead both ways."""
        rows = [
            f'[[switch]]\nname = "s{n}"\ndriver = "ovs"\nports = {self.ports}\n'
            f'at = "unix:{self.directory}/s{n}.mgmt"\n'
            for n in range(self.bridges)
        ]
        file = directory / "plant.toml"
        head = 'store = "circuits.sqlite"\n[driver.ovs]\nkind = "openflow"\ntimeout = 60\n'
        file.write_text(head + "".join(rows))
        return file
