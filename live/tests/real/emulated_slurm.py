"""A real Slurm on one host: a controller, any number of emulated nodes, own keys.

    with EmulatedSlurm(8, cores=4) as slurm:
        job = slurm.submit("-N3", "-n6", command="sleep 2")
        slurm.wait_until_done(timeout_s=30)
        slurm.jobs()[job]["NodeList"]

Everything lies in a directory of its own and runs in a PID namespace of its own, which
the kernel empties when the cluster is closed or the Python process dies, however it dies.
Commands of Slurm (`slurm.run("squeue")`) run outside of it, with `SLURM_CONF` set, and so
may any other program: `slurm.environment` is what it needs.

Needs root, `unshare` and the packages of tools/live-packages.sh: `reason_to_skip` says
what is missing.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from emulated_network import CONTROLLER, Network

DAEMONS = ("munged", "slurmctld", "slurmd")
COMMANDS = ("sbatch", "scontrol", "sinfo", "squeue", "unshare")


class EmulationError(RuntimeError):
    """The cluster did not start, or a command of Slurm failed."""


def _program(name: str) -> str | None:
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
    return shutil.which(name, path=path)


def reason_to_skip() -> str | None:
    """Why no Slurm can be emulated here; `None` if it can."""
    if os.geteuid() != 0:
        return "emulated Slurm needs root"
    missing = [name for name in (*DAEMONS, *COMMANDS) if _program(name) is None]
    if missing:
        return f"emulated Slurm needs {', '.join(missing)}: run tools/live-packages.sh"
    namespace = subprocess.run(
        ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    if namespace.returncode != 0:
        return f"emulated Slurm needs PID namespaces: {namespace.stderr.strip()}"
    return None


@dataclass(frozen=True)
class Nodes:
    """Nodes that are alike.

    Attributes:
        count: How many; they are numbered on through all groups, `n0`, `n1`, …
        cores: Cores of a node.
        sockets: Sockets, among which the cores are divided.
        threads: Threads of a core; Slurm's CPUs are cores × threads.
        memory_mb: `RealMemory`, MiB.
        features: `Features`.
        gres: Generic resources and how many a node has, as `{"gpu:a100": 4}`.
        weight: `Weight`; nodes with lower ones are given away first.
    """

    count: int
    cores: int = 4
    sockets: int = 1
    threads: int = 1
    memory_mb: int = 1000
    features: tuple[str, ...] = ()
    gres: Mapping[str, int] = field(default_factory=dict)
    weight: int = 1


@dataclass(frozen=True)
class Partition:
    """A partition: its nodes (`ALL` or Slurm's list, `n[0-3]`) and other keys."""

    name: str
    nodes: str = "ALL"
    options: Mapping[str, str | int] = field(default_factory=dict)


class EmulatedSlurm:
    """A cluster, up while the context lasts.

    Args:
        nodes: Groups of equal nodes, or how many nodes of `cores` cores.
        cores: Cores of each node where `nodes` is a number.
        partitions: The partitions, the first being the default; by default `main` of all
            nodes, without a limit.
        parameters: Lines of slurm.conf by key, which replace ours: `SchedulerParameters`,
            `SelectTypeParameters`, `PriorityType`, … `None` leaves one out.
        topology: Lines of topology.conf; with any, the topology is `topology/tree`.
        start_timeout_s: How long the nodes may take to become idle.
        network: Gives every node a network namespace in it, and its topology to Slurm; there
            must be as many nodes. Without it all nodes are on the host's loopback.

    Attributes:
        directory: Where it all lies; removed at the end.
        node_names: `n0` and so on.
        environment: The variables that commands of Slurm need.
        enter: What a command has to begin with to see the cluster: nothing without a network.
        at_close: Called before anything else when the cluster is closed, the newest first: ends
            what runs beside it.

    Raises:
        EmulationError: On entering, if daemons end or nodes do not come up, with the
            ends of their logs.
    """

    def __init__(
        self,
        nodes: int | Sequence[Nodes] = 4,
        *,
        cores: int = 4,
        partitions: Sequence[Partition] = (Partition("main"),),
        parameters: Mapping[str, str | int | None] | None = None,
        topology: Sequence[str] = (),
        start_timeout_s: float = 180,
        network: Network | None = None,
    ) -> None:
        self.groups = [Nodes(nodes, cores=cores)] if isinstance(nodes, int) else list(nodes)
        self.node_names = [f"n{i}" for i in range(sum(group.count for group in self.groups))]
        self.partitions = list(partitions)
        self.parameters = dict(parameters or {})
        self.network = network
        self.topology = list(topology) or (network.topology() if network else [])
        if network is not None and network.size != len(self.node_names):
            raise ValueError(f"{len(self.node_names)} nodes in a network of {network.size}")
        self.enter: list[str] = []
        self.start_timeout_s = start_timeout_s
        self.directory = Path()
        self.environment: dict[str, str] = {}
        self.at_close: list[Callable[[], None]] = []
        self._namespace: subprocess.Popen[str] | None = None

    # --- Up and down ----------------------------------------------------------------

    def __enter__(self) -> EmulatedSlurm:
        # MUNGE wants directories that only root writes to; jobs of other users pass through.
        self.directory = Path(tempfile.mkdtemp(prefix="odonata-slurm-"))
        self.directory.chmod(0o755)
        try:
            # Somebody may take a port between our looking and the daemon's.
            for last in (False, False, True):
                try:
                    self._start()
                    return self
                except EmulationError as error:
                    if last or "Address already in use" not in str(error):
                        raise
                    self._stop()
        except BaseException:
            self.close()
            raise
        raise AssertionError("the last attempt returns or raises")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends every process of the cluster and removes its directory."""
        while self.at_close:
            self.at_close.pop()()
        self._stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _stop(self) -> None:
        if self._namespace is None:
            return
        # The first process of the namespace waits for the end of its input; when it ends,
        # the kernel kills all others.
        with contextlib.suppress(OSError):
            if self._namespace.stdin is not None:
                self._namespace.stdin.close()
        try:
            self._namespace.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._namespace.send_signal(signal.SIGKILL)
            self._namespace.wait()
        if self._namespace.stdout is not None:
            self._namespace.stdout.close()
        self._namespace = None

    def _start(self) -> None:
        for name in ("munge", "state", "spool", "run", "log", "tmp"):
            shutil.rmtree(self.directory / name, ignore_errors=True)
            (self.directory / name).mkdir(mode=0o755)
        for node in self.node_names:
            (self.directory / "spool" / node).mkdir()
            (self.directory / "tmp" / node).mkdir()
        key = self.directory / "munge" / "key"
        key.touch(mode=0o400)
        key.write_bytes(os.urandom(128))
        self._write_configuration()
        configuration = str(self.directory / "slurm.conf")
        self.environment = {
            **{name: text for name, text in os.environ.items() if not name.startswith("SLURM")},
            "SLURM_CONF": configuration,
            "SLURM_TIME_FORMAT": "%s",
        }
        munge = self.directory / "munge"
        steps = [
            [
                _program("munged") or "munged",
                f"--key-file={munge}/key",
                f"--socket={munge}/socket",
                f"--pid-file={self.directory}/run/munged.pid",
                f"--log-file={self.directory}/log/munged.log",
                f"--seed-file={munge}/seed",
                "--num-threads=2",
            ],
            [_program("slurmctld") or "slurmctld", "-f", configuration],
        ]
        nodes = [
            [_program("slurmd") or "slurmd", "-N", node, "-f", configuration]
            for node in self.node_names
        ]
        script = [shlex.join(step) for step in steps]
        script[1:1] = self._before_controller()
        spaces = ["--pid", "--fork", "--kill-child", "--mount-proc"]
        starts = [shlex.join(node) for node in nodes]
        if self.network is not None:
            spaces += ["--net", "--mount", "--uts"]
            script = [self.network.set_up(), *script]
            starts = [self.network.on_node(i, node) for i, node in enumerate(nodes)]
        # Each start waits for its daemon: side by side, 64 of them take as long as a few.
        script += [f'{start} & starting="$starting $!"' for start in starts]
        script.append("for one in $starting; do wait $one; done")
        self._namespace = subprocess.Popen(
            ["unshare", *spaces, "sh", "-e", "-c", "\n".join([*script, "cat"])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=self.environment,
            cwd=self.directory,
        )
        if self.network is not None:
            # Not by --pid: whoever enters that way is init's child, and outlives nobody.
            target = f"--target={self._namespace.pid}"
            self.enter = ["nsenter", target, "--net", "--mount", "--uts", "--"]
        self._drain()
        self._wait_for_nodes()

    def _before_controller(self) -> list[str]:
        """Lines of shell that start what the controller needs, after MUNGE."""
        return []

    def _drain(self) -> None:
        """Keeps what daemons print before they have logs."""
        self._printed: list[str] = []
        out = self._namespace.stdout if self._namespace else None

        def read() -> None:
            with contextlib.suppress(ValueError):
                self._printed.extend(out or ())

        threading.Thread(target=read, daemon=True).start()

    def _wait_for_nodes(self) -> None:
        deadline = time.monotonic() + self.start_timeout_s
        states = ""
        while time.monotonic() < deadline:
            if self._namespace is None or self._namespace.poll() is not None:
                raise EmulationError(f"a daemon of Slurm did not start\n{self._logs()}")
            time.sleep(0.05)
            # Commands of Slurm would wait long for a controller that is not there.
            if not self._controller_listens():
                continue
            asked = subprocess.run(
                [*self.enter, "sinfo", "--noheader", "--Node", "--format=%N %T"],
                capture_output=True,
                text=True,
                env=self.environment,
                check=False,
            )
            states = asked.stdout or asked.stderr
            idle = {line.split()[0] for line in asked.stdout.splitlines() if "idle" in line.split()}
            if asked.returncode == 0 and idle == set(self.node_names):
                return
        raise EmulationError(
            f"{len(self.node_names)} nodes are not idle after {self.start_timeout_s:g} s:\n"
            f"{states}{self._logs()}"
        )

    def _controller_listens(self) -> bool:
        if self.network is None:
            return listens(self._controller_port)
        sockets = subprocess.run(
            [*self.enter, "ss", "-Hltn", f"sport = :{self._controller_port}"],
            capture_output=True,
            check=False,
        )
        return bool(sockets.stdout.strip())

    def _logs(self) -> str:
        ends = ["".join(self._printed[-20:])]
        for log in sorted((self.directory / "log").glob("*.log")):
            lines = log.read_text(errors="replace").splitlines()[-8:]
            ends += [f"--- {log.name}", *lines]
        return "\n".join(ends)

    # --- Configuration ----------------------------------------------------------------

    def _write_configuration(self) -> None:
        ports = free_ports(len(self.node_names) + 1)
        self._controller_port = ports[0]
        base = self.directory
        lines: dict[str, str | int | None] = {
            "ClusterName": "emulated",
            "SlurmctldHost": f"localhost({CONTROLLER})" if self.network else "localhost",
            "SlurmctldPort": ports[0],
            "SlurmUser": "root",
            "SlurmdUser": "root",
            "AuthType": "auth/munge",
            "AuthInfo": f"socket={base}/munge/socket",
            "CredType": "cred/munge",
            "StateSaveLocation": f"{base}/state",
            "SlurmdSpoolDir": f"{base}/spool/%n",
            # A directory per node, or steps of two nodes of this host meet in one directory.
            "TmpFS": f"{base}/tmp/%n",
            "SlurmctldPidFile": f"{base}/run/slurmctld.pid",
            "SlurmdPidFile": f"{base}/run/slurmd.%n.pid",
            "SlurmctldLogFile": f"{base}/log/slurmctld.log",
            "SlurmdLogFile": f"{base}/log/slurmd.%n.log",
            "ProctrackType": "proctrack/linuxproc",
            "TaskPlugin": "task/none",
            "JobAcctGatherType": "jobacct_gather/none",
            "MpiDefault": "none",
            "ReturnToService": 2,
            # Nodes have what we say, not what this host has.
            "SlurmdParameters": "config_overrides",
            "SelectType": "select/cons_tres",
            "SelectTypeParameters": "CR_Core",
            "SchedulerType": "sched/backfill",
            "AccountingStorageType": "accounting_storage/none",
            "JobCompType": "jobcomp/filetxt",
            "JobCompLoc": f"{base}/finished.txt",
            # scontrol knows finished jobs as long as a test may last.
            "MinJobAge": 7200,
            "KillWait": 2,
        }
        gres_types = sorted({name.split(":")[0] for group in self.groups for name in group.gres})
        if gres_types:
            lines["GresTypes"] = ",".join(gres_types)
        if self.topology:
            lines["TopologyPlugin"] = "topology/tree"
            (base / "topology.conf").write_text("\n".join(self.topology) + "\n")
        lines.update(self.parameters)
        text = [f"{key}={value}" for key, value in lines.items() if value is not None]
        gres: list[str] = []
        names = enumerate(zip(self.node_names, ports[1:], strict=True))
        for group in self.groups:
            for _ in range(group.count):
                number, (name, port) = next(names)
                address = self.network.address(number) if self.network else "127.0.0.1"
                text.append(_node_line(name, address, port, group))
                gres += self._gres_lines(name, group)
        (base / "gres.conf").write_text("\n".join(gres) + "\n")
        for index, partition in enumerate(self.partitions):
            options: dict[str, str | int] = {
                "Default": "NO" if index else "YES",
                "MaxTime": "INFINITE",
                "State": "UP",
                **partition.options,
            }
            keys = " ".join(f"{key}={value}" for key, value in options.items())
            text.append(f"PartitionName={partition.name} Nodes={partition.nodes} {keys}")
        (base / "slurm.conf").write_text("\n".join(text) + "\n")

    def _gres_lines(self, node: str, group: Nodes) -> Iterator[str]:
        for resource, count in group.gres.items():
            name, _, kind = resource.partition(":")
            # Slurm believes in GPUs that have a file each, whatever the file is.
            devices = [self.directory / "run" / f"{node}-{name}{kind}{i}" for i in range(count)]
            for device in devices:
                device.touch()
            files = ",".join(map(str, devices))
            kind = f" Type={kind}" if kind else ""
            yield f"NodeName={node} Name={name}{kind} Count={count} File={files}"

    # --- Use --------------------------------------------------------------------------

    def run(self, *command: str, timeout_s: float = 180) -> str:
        """What a command prints.

        Raises:
            EmulationError: If it fails, with what it says.
        """
        done = subprocess.run(
            [*self.enter, *command],
            capture_output=True,
            text=True,
            env=self.environment,
            cwd=self.directory,
            timeout=timeout_s,
            check=False,
        )
        if done.returncode != 0:
            raise EmulationError(f"{shlex.join(command)}: {done.stderr.strip()}\n{self._logs()}")
        return done.stdout

    def submit(self, *options: str, command: str = "sleep 1") -> int:
        """Submits a batch job that runs one shell command; its id."""
        out = self.run(
            "sbatch", "--parsable", "--output=/dev/null", *options, "--wrap", f"exec {command}"
        )
        return int(out.strip().split(";")[0])

    def jobs(self) -> dict[int, dict[str, str]]:
        """All jobs, finished ones too, by id: what `scontrol show jobs` says of them."""
        text = self.run("scontrol", "show", "jobs", "--oneliner")
        records = (fields(line) for line in text.splitlines() if line.startswith("JobId="))
        return {int(record["JobId"]): record for record in records}

    def restart_controller(self, timeout_s: float = 60) -> None:
        """Starts the controller again, which was killed; returns when it answers.

        Raises:
            EmulationError: If it does not.
        """
        assert self._namespace is not None
        # The first process of the namespace: of its child's, whose end ends them all.
        children = Path(f"/proc/{self._namespace.pid}/task/{self._namespace.pid}/children")
        first = children.read_text().split()[0]
        configuration = str(self.directory / "slurm.conf")
        program = _program("slurmctld") or "slurmctld"
        inside = ["nsenter", f"--target={first}", "--pid", program, "-f", configuration]
        subprocess.run([*self.enter, *inside], env=self.environment, check=True)
        deadline = time.monotonic() + timeout_s
        while not self._controller_listens():
            if time.monotonic() > deadline:
                raise EmulationError(f"the controller is not up again\n{self._logs()}")
            time.sleep(0.1)

    def wait_until_done(self, timeout_s: float) -> None:
        """Waits until no job waits or runs.

        Raises:
            EmulationError: After `timeout_s` seconds, with the queue.
        """
        deadline = time.monotonic() + timeout_s
        while queue := self.run("squeue", "--noheader", "--format=%i %T %r"):
            if time.monotonic() > deadline:
                raise EmulationError(f"jobs after {timeout_s:g} s:\n{queue}{self._logs()}")
            time.sleep(0.2)


def fields(line: str) -> dict[str, str]:
    """The `Key=value` pairs of a line of `scontrol --oneliner`."""
    keys = list(re.finditer(r"(?:^| )([A-Za-z][A-Za-z0-9_/:]*)=", line))
    ends = [match.start() for match in keys[1:]] + [len(line)]
    return {
        match[1]: line[match.end() : end].strip() for match, end in zip(keys, ends, strict=True)
    }


def _node_line(name: str, address: str, port: int, group: Nodes) -> str:
    if group.cores % group.sockets:
        raise ValueError(f"{group.cores} cores in {group.sockets} sockets")
    keys: dict[str, str | int] = {
        "NodeHostname": "localhost",
        "NodeAddr": address,
        "Port": port,
        "CPUs": group.cores * group.threads,
        "Sockets": group.sockets,
        "CoresPerSocket": group.cores // group.sockets,
        "ThreadsPerCore": group.threads,
        "RealMemory": group.memory_mb,
        "Weight": group.weight,
        "State": "UNKNOWN",
    }
    if group.features:
        keys["Features"] = ",".join(group.features)
    if group.gres:
        keys["Gres"] = ",".join(f"{name}:{count}" for name, count in group.gres.items())
    return f"NodeName={name} " + " ".join(f"{key}={value}" for key, value in keys.items())


def listens(port: int) -> bool:
    """Whether somebody listens on a TCP port of this host."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_ports(count: int) -> list[int]:
    """Successive TCP ports that nobody listens on, below those that the kernel gives out."""
    for _ in range(200):
        first = random.SystemRandom().randrange(10_000, 32_000 - count)
        ports = range(first, first + count)
        with contextlib.ExitStack() as bound:
            try:
                for port in ports:
                    probe = bound.enter_context(socket.socket())
                    probe.bind(("0.0.0.0", port))
            except OSError:
                continue
            return list(ports)
    raise EmulationError(f"no {count} free ports in a row between 10000 and 32000")
