"""The testbed of Michelogiannakis et al. 2019, section 5, in namespaces: GTC over steered uplinks.

By hand, as root; RESULTS is a directory for tables that studies/scripts/live_testbed.py reads:

    python live/tests/real/steered_testbed.py RESULTS --repetitions 5

Every node and every router is a network namespace; routers forward by the kernel, by destination.
A link is a pair of interfaces for each direction, shaped by a token bucket where it begins. The
uplinks of leaves go through four optical switches: `tc mirred`, set by `odonata_live.control`.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import functools
import itertools
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from emulated_switches import PATH, SPACES
from odonata_live.control import Controller, Plant
from odonata_live.control.network import by_destination

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
#: Address of every interface: what arrives is taken, and nobody has to ask who has which address.
MAC = "02:00:00:00:00:01"
JOB = 1

SCENARIO = """
title = "eight leaves of four nodes in two pods (Michelogiannakis et al. 2019, section 5)"
[network]
family = "fat-tree"
down = [{per_leaf}, {leaves}, 2]
up = [2, {top}]
routing = {{ algorithm = "up-down", choice = "by-destination" }}
[network.optical]
switch_ports = {ports}
links_per_switch = 2
"""


@dataclass(frozen=True)
class Shape:
    """How large it is.

    Attributes:
        top: Links of an aggregation switch to the top: 2 in full, 1 tapered.
        mbit: Rate of every link, Mb/s.
        per_leaf: Nodes of a leaf.
        leaves: Leaves of a pod.
    """

    top: int = 2
    mbit: int = 20
    per_leaf: int = 4
    leaves: int = 4

    @property
    def nodes(self) -> int:
        """Nodes in all."""
        return 2 * self.leaves * self.per_leaf


@dataclass
class SteeredTestbed:
    """The network, up while the context of :func:`build_testbed` lasts."""

    shape: Shape
    directory: Path
    plant: Plant
    pid: int
    mpiexec: str
    routes: dict[int, dict[str, int]] = field(default_factory=dict)

    def inside(self, *command: str, space: str | None = None) -> list[str]:
        """A command in the outer namespaces, or in those of a node or router."""
        outer = ["nsenter", f"--target={self.pid}", "--net", "--mount", "--"]
        inner = ["nsenter", f"--net=/run/netns/{space}"] if space else []
        return [*outer, *inner, *command]

    def run(self, *command: str, space: str | None = None, given: str = "") -> str:
        """What a command prints."""
        done = subprocess.run(
            self.inside(*command, space=space),
            input=given,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PATH": PATH},
        )
        if done.returncode != 0:
            raise RuntimeError(f"{shlex.join(command)}: {done.stderr.strip()[-2000:]}")
        return done.stdout

    def pairs(self) -> list[tuple[str, str]]:
        """All pairs of nodes."""
        names = [f"h{n}" for n in range(self.shape.nodes)]
        return [(one, other) for one in names for other in names if one != other]

    def set_straight(self) -> dict[str, float]:
        """Uplinks as without optical switches."""
        with Controller(self.plant) as control:
            ports = self.plant.switches[self.plant.names[0]].ports
            straight = [(name, n, n) for name in self.plant.names for n in range(ports)]
            outcome = control.set_circuits(JOB, self.plant.for_circuits(JOB, straight))
        return {**outcome.seconds, **self.follow()}

    def set_steered(self, sent: list[tuple[str, str, float]]) -> dict[str, float]:
        """Uplinks as algorithm 1 leads them for what nodes send."""
        nodes = [f"h{n}" for n in range(self.shape.nodes)]
        with Controller(self.plant) as control:
            outcome = control.set_circuits(JOB, self.plant.for_nodes(JOB, nodes, sent))
        return {**outcome.seconds, **self.follow()}

    def follow(self) -> dict[str, float]:
        """Lets routes follow the circuits that switches hold; seconds by stage."""
        begin = time.perf_counter()
        with Controller(self.plant) as control:
            held = control.settings()
        network = self.plant.network
        assert network is not None
        pairs = self.pairs()
        ways = network.ways([held[name] for name in self.plant.names], pairs)
        routes = {router: dict(of) for router, of in by_destination(ways, pairs).items()}
        decided = time.perf_counter()
        changed = 0
        for router in sorted(routes):
            old = self.routes.get(router, {})
            lines = [
                f"route replace {address(to)}/32 via 169.254.1.1 dev o{port} onlink"
                for to, port in sorted(routes[router].items())
                if old.get(to) != port
            ]
            lines += [
                f"route del {address(to)}/32" for to in sorted(set(old) - set(routes[router]))
            ]
            if lines:
                changed += len(lines)
                self.run("ip", "-batch", "-", space=f"r{router}", given="\n".join(lines) + "\n")
        self.routes = routes
        done = time.perf_counter()
        return {"routes decided": decided - begin, "routes set": done - decided, "entries": changed}


def dark_s(bed: SteeredTestbed, change: Callable[[], dict[str, float]]) -> dict[str, float]:
    """Makes a change while a node of either pod pings the other; with the time that none passed."""
    interval_s = 0.002
    command = ["ping", "-n", "-i", str(interval_s), address(f"h{bed.shape.nodes // 2}")]
    ping = subprocess.Popen(
        bed.inside(*command, space="h0"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert ping.stdout is not None
    ping.stdout.readline()
    ping.stdout.readline()
    seconds = change()
    time.sleep(0.3)
    ping.send_signal(signal.SIGINT)
    text = ping.communicate(timeout=60)[0]
    counts = re.search(r"(\d+) packets transmitted, (\d+) received", text)
    assert counts, text
    return {**seconds, "dark": (int(counts[1]) - int(counts[2])) * interval_s}


def address(node: str) -> str:
    """A node's address in the fabric."""
    return f"10.8.0.{int(node[1:]) + 1}"


def order(shape: Shape) -> list[int]:
    """Node of each rank: both neighbours of every rank are in the other pod."""
    half = shape.nodes // 2
    return [rank // 2 + half * (rank % 2) for rank in range(shape.nodes)]


def sent_by_gtc(shape: Shape) -> list[tuple[str, str, float]]:
    """What nodes send: as much to both neighbours in the torus."""
    nodes = order(shape)
    size = len(nodes)
    return [
        (f"h{nodes[rank]}", f"h{nodes[(rank + step) % size]}", 1.0)
        for rank in range(size)
        for step in (-1, 1)
    ]


@contextlib.contextmanager
def build_testbed(shape: Shape) -> Iterator[SteeredTestbed]:
    """Builds it; everything is gone with the context, or with this process."""
    with tempfile.TemporaryDirectory(prefix="odonata-testbed-") as name:
        directory = Path(name)
        ports = 4
        text = SCENARIO.format(
            per_leaf=shape.per_leaf, leaves=shape.leaves, top=shape.top, ports=ports
        )
        (directory / "machine.toml").write_text(text)
        switches = shape.leaves
        rows = []
        for number in range(switches):
            sides = (
                f"{side} = {json.dumps([f'{letter}{number}-{port}' for port in range(ports)])}\n"
                for side, letter in (("ingress", "u"), ("egress", "d"))
            )
            rows.append(
                f'[[switch]]\nname = "ocs{number}"\ndriver = "linux"\nnamespace = "NAMESPACE"\n'
                + "".join(sides)
            )
        plant_file = directory / "plant.toml"
        plant_text = (
            'store = "circuits.sqlite"\nscenario = "machine.toml"\n'
            f'nodes = "h[0-{shape.nodes - 1}]"\n[driver.linux]\nkind = "mirred"\ntimeout = 60\n'
            + "".join(rows)
        )
        plant_file.write_text(plant_text)
        plant = Plant.from_file(plant_file)
        process = subprocess.Popen(
            [*SPACES, "sh", "-e", "-c", script(shape, plant)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PATH": PATH},
        )
        assert process.stdout is not None and process.stdin is not None
        try:
            said, first = [], 0
            for line in process.stdout:
                if line.startswith("ready"):
                    first = int(line.split()[1])
                    break
                said.append(line)
            else:
                raise RuntimeError("".join(said[-20:]))
            # The namespace of the optical switches, as a process that sleeps there has it.
            pid = sleeper(process.pid, first)
            plant_file.write_text(plant_text.replace("NAMESPACE", f"/proc/{pid}/ns/net"))
            mpiexec = str(Path(sys.executable).parent / "mpiexec")
            yield SteeredTestbed(
                shape, directory, Plant.from_file(plant_file), process.pid, mpiexec
            )
        finally:
            process.stdin.close()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
            process.stdout.close()


def sleeper(unshared: int, inner: int) -> int:
    """Our number of a process that has another in its own namespace of processes."""
    waiting = [unshared]
    while waiting:
        pid = waiting.pop()
        with contextlib.suppress(OSError):
            status = Path(f"/proc/{pid}/status").read_text()
            numbers = re.search(r"^NSpid:\s+(.*)$", status, re.MULTILINE)
            if numbers and numbers[1].split()[-1] == str(inner) and len(numbers[1].split()) > 1:
                return pid
            for task in Path(f"/proc/{pid}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
    raise RuntimeError(f"process {inner} is not there")


def script(shape: Shape, plant: Plant) -> str:
    """The shell script that makes all namespaces, links and shapes."""
    network = plant.network
    assert network is not None
    names = [f"h{n}" for n in range(shape.nodes)]
    pairs = [(one, other) for one in names for other in names if one != other]
    straight = [frozenset(_straight(count)) for count in network.ports]
    turned = [frozenset(_turned(count)) for count in network.ports]
    # Ports and where they lead: every link is on the way of some pair.
    leads: dict[tuple[int, int], str] = {}
    for settings in (straight, turned):
        for pair, way in zip(pairs, network.ways(settings, pairs), strict=True):
            for place, hop in enumerate(way):
                leads[hop] = f"r{way[place + 1][0]}" if place + 1 < len(way) else pair[1]
    ingress = {hop: f"u{s}-{p}" for s, of in enumerate(network.ingress) for p, hop in enumerate(of)}
    egress = {
        f"d{s}-{p}": hop[0] for s, of in enumerate(network.egress) for p, hop in enumerate(of)
    }
    routers = sorted({router for router, _ in leads} | set(egress.values()))
    lines, shapes, inner = [], {}, {}
    bucket = f"root tbf rate {shape.mbit}mbit burst 16kb limit 300kb"

    def link(from_: str, out: str, to: str, into: str) -> None:
        lines.append(
            f"link add {out} netns {from_} address {MAC} type veth peer name {into} netns {to} "
            f"address {MAC}"
        )
        for space, device in ((from_, out), (to, into)):
            inner.setdefault(space, []).append(f"link set {device} up")

    spaces = [*names, *(f"r{router}" for router in routers), "ocs"]
    for space in spaces:
        # Without it there is no table by which a gateway is known for one.
        inner.setdefault(space, []).insert(0, "link set lo up")
    lines += [f"netns add {space}" for space in spaces]
    lines += ["link set lo up", "link add mgmt type bridge", "addr add 10.9.255.254/16 dev mgmt"]
    lines.append("link set mgmt up")
    for n, name in enumerate(names):
        lines.append(f"link add m{n} type veth peer name mgmt0 netns {name}")
        lines.append(f"link set m{n} master mgmt up")
    for (router, port), to in sorted(leads.items()):
        if (router, port) in ingress:
            link(f"r{router}", f"o{port}", "ocs", ingress[router, port])
        else:
            into = "eth0" if to.startswith("h") else f"i{router}-{port}"
            link(f"r{router}", f"o{port}", to, into)
        shapes.setdefault(f"r{router}", []).append(f"qdisc add dev o{port} {bucket}")
    for out, router in sorted(egress.items()):
        link("ocs", out, f"r{router}", f"i{out}")
    for name in names:
        # A node's own link is one for both directions.
        shapes.setdefault(name, []).append(f"qdisc add dev eth0 {bucket}")
        inner[name] += [
            f"addr add {address(name)}/32 dev eth0",
            f"addr add 10.9.0.{int(name[1:]) + 1}/16 dev mgmt0",
            "link set mgmt0 up",
            "neigh add 169.254.1.1 lladdr " + MAC + " dev eth0 nud permanent",
            f"route add 10.8.0.0/16 via 169.254.1.1 dev eth0 onlink src {address(name)}",
        ]
    for router, port in sorted(leads):
        inner[f"r{router}"].append(f"neigh add 169.254.1.1 lladdr {MAC} dev o{port} nud permanent")
    set_up = [
        "mount -t tmpfs none /run/netns 2>/dev/null || { mkdir -p /run/netns; "
        "mount -t tmpfs none /run/netns; }",
        "ip -batch - <<'END'\n" + "\n".join(lines) + "\nEND",
    ]
    for space in spaces:
        keys = (
            "net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0"
        )
        writes = [
            f"echo {pair.split('=')[1]} > /proc/sys/{pair.split('=')[0].replace('.', '/')}"
            for pair in keys.split()
        ]
        writes += [
            "for f in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 > $f; done",
            "for f in /proc/sys/net/ipv4/conf/*/send_redirects; do echo 0 > $f; done",
            "for f in /proc/sys/net/ipv6/conf/*/disable_ipv6; do echo 1 > $f || true; done",
        ]
        # What is one-way or may be led elsewhere needs to be up before routes name it.
        first = [line for line in inner.get(space, []) if line.startswith("link")]
        second = [line for line in inner.get(space, []) if not line.startswith("link")]
        body = "; ".join(writes)
        tc = shapes.get(space, [])
        set_up.append(
            f"nsenter --net=/run/netns/{space} sh -e <<'SPACE'\n{body}\n"
            + "ip -batch - <<'END'\n"
            + "\n".join([*first, *second])
            + "\nEND\n"
            + ("tc -batch - <<'END'\n" + "\n".join(tc) + "\nEND\n" if tc else "")
            + "SPACE"
        )
    set_up += ["nsenter --net=/run/netns/ocs sleep 1000000 &", "echo ready $!", "cat"]
    return "\n".join(set_up)


def _straight(count: int) -> Iterator[object]:
    from odonata_live.control import Connection

    return (Connection(n, n) for n in range(count))


def _turned(count: int) -> Iterator[object]:
    from odonata_live.control import Connection

    return (Connection(n, (n + count // 2) % count) for n in range(count))


class Meter(threading.Thread):
    """Reads the bytes that upper links have sent, again and again.

    Args:
        bed: The testbed.
        period_s: Between two readings.
    """

    def __init__(self, bed: SteeredTestbed, period_s: float = 0.5) -> None:
        super().__init__(daemon=True)
        self.period_s = period_s
        self.rows: list[tuple[float, str, int]] = []
        self._ended = threading.Event()
        network = bed.plant.network
        assert network is not None
        # Aggregation switches are where uplinks end; what leads up from there leads to the top.
        aggregation = {router for of in network.egress for router, _ in of}
        leaves = {router for of in network.ingress for router, _ in of}
        self._spaces = []
        for router in sorted(aggregation):
            ports = self._ports_up(bed, router, leaves | aggregation)
            holder = subprocess.Popen(
                bed.inside("sleep", "1000000", space=f"r{router}"), env={**os.environ, "PATH": PATH}
            )
            self._spaces.append((router, ports, holder))
            deadline = time.monotonic() + 60
            while f"{ports[0]}:" not in Path(f"/proc/{holder.pid}/net/dev").read_text():
                assert time.monotonic() < deadline, f"no process in the network of router {router}"
                time.sleep(0.01)
        self._read(0.0)

    @staticmethod
    def _ports_up(bed: SteeredTestbed, router: int, below: set[int]) -> list[str]:
        network = bed.plant.network
        assert network is not None
        straight = [frozenset(_straight(count)) for count in network.ports]
        found = set()
        for way in network.ways(straight, bed.pairs()):
            for here, there in itertools.pairwise(way):
                if here[0] == router and there[0] not in below:
                    found.add(f"o{here[1]}")
        return sorted(found)

    def run(self) -> None:
        """Reads until it is ended."""
        begin = time.monotonic()
        while not self._ended.wait(self.period_s):
            self._read(time.monotonic() - begin)
        self._read(time.monotonic() - begin)

    def _read(self, now: float) -> None:
        for router, ports, holder in self._spaces:
            text = Path(f"/proc/{holder.pid}/net/dev").read_text()
            for line in text.splitlines():
                device, _, numbers = line.strip().partition(":")
                if device in ports:
                    self.rows.append((now, f"r{router}-{device}", int(numbers.split()[8])))

    def end(self) -> list[tuple[float, str, int]]:
        """Seconds, link, bytes sent since it was made, reading by reading."""
        self._ended.set()
        self.join()
        for _, _, holder in self._spaces:
            holder.kill()
            holder.wait()
        return self.rows


def gtc(bed: SteeredTestbed, steps: int, plane: int, leaving: int, pause_s: float) -> list[float]:
    """Runs GTC on all nodes; seconds in all and at the end of each step."""
    launcher = bed.directory / "launch"
    # mpiexec calls it as ssh: options, host, words of a command.
    launcher.write_text(
        "#!/bin/sh\n"
        'while [ "${1#-}" != "$1" ]; do shift; done\n'
        'host=$1; shift\nexec nsenter --net=/run/netns/$host sh -c "$*"\n'
    )
    launcher.chmod(0o755)
    hosts = ",".join(f"h{node}" for node in order(bed.shape))
    command = [
        *(bed.mpiexec, "-launcher", "ssh", "-launcher-exec", str(launcher), "-iface", "mgmt"),
        *("-hosts", hosts, "-n", str(bed.shape.nodes), "-ppn", "1"),
        *("-env", "UCX_TLS", "tcp,self", "-env", "UCX_NET_DEVICES", "eth0"),
        *(sys.executable, str(HERE / "gtc_skeleton.py")),
        *(str(steps), str(plane), str(leaving), str(pause_s)),
    ]
    # In their namespace of processes: MPI reads /proc, which is that one's.
    init = Path(f"/proc/{bed.pid}/task/{bed.pid}/children").read_text().split()[0]
    there = ["nsenter", f"--target={init}", "--pid", "--net", "--mount", "--", *command]
    done = subprocess.run(
        there, capture_output=True, text=True, check=False, env={**os.environ, "PATH": PATH}
    )
    for line in done.stdout.splitlines():
        if line.startswith("seconds"):
            return [float(word) for word in line.split()[1:]]
    raise RuntimeError(f"GTC did not end: {done.stdout[-1000:]}{done.stderr[-2000:]}")


def main() -> None:
    """Runs all conditions, one after the other, in every repetition."""
    parser = argparse.ArgumentParser()
    parser.add_argument("results", type=Path)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--mbit", type=int, default=20)
    # 32,449 points of 8 bytes; 5 % of 10 particles a point, 12 numbers of 8 bytes each.
    parser.add_argument("--plane", type=int, default=259_592)
    parser.add_argument("--leaving", type=int, default=1_557_600)
    parser.add_argument("--pause", type=float, default=0.0)
    given = parser.parse_args()
    given.results.mkdir(parents=True, exist_ok=True)
    times = given.results / "live_testbed_times.csv"
    links = given.results / "live_testbed_links.csv"
    stages = given.results / "live_testbed_stages.csv"
    with (
        times.open("w", newline="") as times_file,
        links.open("w", newline="") as links_file,
        stages.open("w", newline="") as stages_file,
    ):
        time_rows, link_rows, stage_rows = (
            csv.writer(file, lineterminator="\n") for file in (times_file, links_file, stages_file)
        )
        time_rows.writerow(("repetition", "tree", "network", "pause_s", "seconds", "load"))
        link_rows.writerow(("tree", "network", "time_s", "link", "bytes"))
        stage_rows.writerow(("repetition", "tree", "to", "stage", "value"))
        with contextlib.ExitStack() as all_of_them:
            beds = {
                name: all_of_them.enter_context(build_testbed(Shape(top=top, mbit=given.mbit)))
                for name, top in (("full", 2), ("tapered", 1))
            }
            for repetition in range(given.repetitions):
                for tree, bed in beds.items():
                    for kind in ("standard", "steered"):
                        if kind == "standard":
                            seconds = bed.set_straight()
                        else:
                            sent = sent_by_gtc(bed.shape)
                            seconds = dark_s(bed, functools.partial(bed.set_steered, sent))
                        for stage, value in seconds.items():
                            stage_rows.writerow((repetition, tree, kind, stage, f"{value:.6f}"))
                        meter = Meter(bed)
                        meter.start()
                        took = gtc(bed, given.steps, given.plane, given.leaving, given.pause)
                        rows = meter.end()
                        load = os.getloadavg()[0]
                        row = (repetition, tree, kind, given.pause, f"{took[0]:.3f}", f"{load:.1f}")
                        time_rows.writerow(row)
                        print(*row, flush=True)
                        if repetition == 0:
                            link_rows.writerows(
                                (tree, kind, f"{t:.3f}", *rest) for t, *rest in rows
                            )
                for file in (times_file, links_file, stages_file):
                    file.flush()


if __name__ == "__main__":
    main()
