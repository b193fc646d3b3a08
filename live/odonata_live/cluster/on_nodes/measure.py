"""What a probe runs on the nodes of its job: Python with NumPy and mpi4py, without Odonata.

    measure.py check SPEC         what this node has, in a line; does not start MPI
    measure.py collectives SPEC   as a rank of MPI: times every iteration of every series; a series
                                  of a program carries out its steps, from a file beside SPEC
    measure.py command SPEC       on the job's first node: times a command from outside

SPEC is a JSON file in the job's directory, where results are left, each written beside and renamed.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Neither set nor slewed by what keeps the time of day.
CLOCK = getattr(time, "CLOCK_MONOTONIC_RAW", time.CLOCK_MONOTONIC)
#: Iterations between two looks at the time that is left take about so long.
BLOCK_S = 0.5
#: The last part of a wait is spent looking at the clock: waking up takes this long, and longer.
SPIN_NS = 300_000
#: The slope of a clock is used once it is known so well.
SLOPE_ERROR = 20e-6
#: Prefixes of the environment variables that decide how MPI communicates.
VARIABLES = ("FI_", "I_MPI_", "MPICH_", "MPIR_CVAR_", "MV2_", "OMPI_", "PSM2_", "PSM3_", "UCX_")
#: What the job's script takes for: the job cannot be measured, and `failure` says why.
CANNOT = 3


def now() -> int:
    """This node's clock, ns."""
    return time.clock_gettime_ns(CLOCK)


def host() -> str:
    """This node's name; Slurm's, where several are emulated on one host."""
    return os.environ.get("SLURMD_NODENAME") or platform.node()


def check() -> int:
    """Prints this node's name and the versions that have to be the same on all nodes."""
    try:
        import mpi4py

        mpi4py.rc.initialize = False
        import numpy
        from mpi4py import MPI

        library = " ".join(MPI.Get_library_version().replace("\0", "").split())[:200]
        fields = ["ok", platform.python_version(), mpi4py.__version__, numpy.__version__, library]
    except Exception as error:  # whatever a broken MPI raises is what is to be said
        fields = ["missing", " ".join(f"{type(error).__name__}: {error}".split())[:300]]
    print("\t".join([host(), *fields]), flush=True)
    return 0


def left_s(spec: dict[str, Any]) -> float:
    """What is left of the budget; the job's script says when it ends, by this node's time of day.

    Rank 0, which decides, is on the node of the script.
    """
    end = os.environ.get("PROBE_END_S")
    whole = float(spec["budget_s"])
    return whole if end is None else min(max(float(end) - time.time(), 0.0), whole)


def leave(directory: Path, name: str, content: bytes) -> None:
    """Writes a file whole or not at all."""
    partial = directory / f".{name}.partial"
    partial.unlink(missing_ok=True)
    # A new one: no link is followed.
    with partial.open("xb") as file:
        file.write(content)
    partial.replace(directory / name)


def fail(directory: Path, message: str) -> int:
    """Leaves why nothing can be measured."""
    leave(directory, "failure", message.encode())
    print(message, file=sys.stderr, flush=True)
    return CANNOT


class Ranks:
    """The ranks of a job that measures."""

    def __init__(self, spec: dict[str, Any], directory: Path) -> None:
        import numpy as np
        from mpi4py import MPI

        self.np, self.mpi, self.world = np, MPI, MPI.COMM_WORLD
        self.rank, self.size = self.world.Get_rank(), self.world.Get_size()
        self.spec, self.directory = spec, directory
        self.deadline = time.monotonic() + left_s(spec)
        #: Rank 0: the first and the latest estimate of all clocks, and slopes from these two.
        self.first: Any = None
        self.slopes = np.zeros(self.size)

    def unfit(self) -> str | None:
        """Why these ranks cannot measure what was asked for."""
        asked = self.spec["ranks"]
        if self.size == 1 and asked > 1:
            return (
                f"each of the {asked} processes is alone (MPI_COMM_WORLD has one rank): this MPI "
                "was not started by this launcher. Give --launcher, such as 'srun --mpi=pmi2', "
                "'srun --mpi=pmix' (`srun --mpi=list` names them) or mpiexec"
            )
        if self.size != asked:
            return f"MPI started {self.size} ranks; {asked} were asked for"
        # A launcher may hand the first node's environment to all; emulated nodes share a name.
        hosts = self.world.allgather((host(), platform.node()))
        if len(set(hosts)) < self.size:
            twice = next(name for name in hosts if hosts.count(name) > 1)
            return f"node {twice[0]} has {hosts.count(twice)} ranks; one rank a node is measured"
        return None

    # --- Clocks -----------------------------------------------------------------------

    def synchronise(self) -> Any:
        """Estimates by how much each rank's clock is ahead of rank 0's.

        Of several exchanges with each rank the fastest is taken; the clock was read between its
        two ends, so half of it is the largest error.

        Returns:
            On rank 0, for each rank: rank 0's clock then, the offset, the largest error, ns.
        """
        np, world = self.np, self.world
        word = np.zeros(1, np.int64)
        found = np.zeros((self.size, 3), np.int64)
        world.Barrier()
        if self.rank == 0:
            found[0, 0] = now()
            for other in range(1, self.size):
                fastest = 1 << 62
                for _ in range(self.spec["exchanges"]):
                    sent = now()
                    world.Send(word, other, 1)
                    world.Recv(word, other, 1)
                    back = now()
                    if back - sent < fastest:
                        fastest = back - sent
                        middle = sent + fastest // 2
                        found[other] = middle, int(word[0]) - middle, (fastest + 1) // 2
            for other in range(1, self.size):
                world.Send(word, other, 3)
            self._slopes(found)
        else:
            self._rest_until(1)
            for _ in range(self.spec["exchanges"]):
                world.Recv(word, 0, 1)
                word[0] = now()
                world.Send(word, 0, 1)
            self._rest_until(3)
            world.Recv(word, 0, 3)
        return found

    def _rest_until(self, tag: int) -> None:
        """Waits for a message of rank 0 without keeping a processor busy, as MPI does.

        Where ranks share processors, those whose turn it is not would delay the exchanges.
        """
        while not self.world.Iprobe(0, tag):
            time.sleep(1e-4)

    def _slopes(self, found: Any) -> None:
        """How much faster each clock runs than rank 0's, from the first estimate and this."""
        if self.first is None:
            self.first = found
            return
        np = self.np
        apart = np.maximum(found[:, 0] - self.first[:, 0], 1)
        known = (found[:, 2] + self.first[:, 2]) / apart < SLOPE_ERROR
        self.slopes = np.where(known, (found[:, 1] - self.first[:, 1]) / apart, 0.0)

    # --- Iterations -------------------------------------------------------------------

    def operation(self, collective: str, size: int) -> Callable[[], Any]:
        """What one iteration does. Of Alltoall `size` bytes go to each rank, as in OSU's tests."""
        np, world, add = self.np, self.world, self.mpi.SUM
        send, receive = np.zeros(size, np.uint8), np.zeros(size, np.uint8)
        if collective == "alltoall":
            all_ = size * self.size
            send, receive = np.zeros(all_, np.uint8), np.zeros(all_, np.uint8)
        last = self.size - 1

        def ping_pong() -> None:
            if self.rank == 0:
                world.Send(send, last, 2)
                world.Recv(receive, last, 2)
            elif self.rank == last:
                world.Recv(receive, 0, 2)
                world.Send(send, 0, 2)

        operations: dict[str, Callable[[], Any]] = {
            "bcast": lambda: world.Bcast(send, 0),
            "reduce": lambda: world.Reduce(send, receive, add, 0),
            "allreduce": lambda: world.Allreduce(send, receive, add),
            "alltoall": lambda: world.Alltoall(send, receive),
            "barrier": world.Barrier,
            "ping-pong": ping_pong,
        }
        return operations[collective]

    def run_series(self, series: dict[str, Any]) -> dict[str, Any]:
        """Times one collective at one size; on rank 0 what every rank saw.

        Returns:
            Arrays `starts`, `ends` (ns of each rank's own clock), `late` (whether the rank came
            after its start), each iterations × ranks; `planned` and `window` (ns of rank 0's clock;
            0 with barriers) by iteration; `clocks_before` and `clocks_after` by rank, as
            :meth:`synchronise` has them.
        """
        np, world = self.np, self.world
        operate = self.operation(series["collective"], series["bytes"])
        windowed, count = series["start"] == "window", self.spec["iterations"]
        pause = self.spec["interval_s"]
        took = self._warm_up(operate)
        before = self.synchronise()
        # Offsets are large where nodes came up at different times: whole ns, apart from slopes.
        line, slope = np.zeros(2, np.int64), np.zeros(1)
        world.Scatter(np.ascontiguousarray(before[:, :2]), line, 0)
        world.Scatter(self.slopes, slope, 0)
        reference, offset = int(line[0]), int(line[1])
        starts, ends = np.zeros(count, np.int64), np.zeros(count, np.int64)
        late, planned = np.zeros(count, np.int8), np.zeros(count, np.int64)
        windows = np.zeros(count, np.int64)
        window = int(3e9 * took + 1e9 * pause) + 2 * int(before[:, 2].max())
        done, order = 0, np.zeros(3, np.int64)
        while True:
            if self.rank == 0:
                left = self.deadline - time.monotonic()
                each = window / 1e9 if windowed else took + pause
                block = min(max(int(min(BLOCK_S, left / 2) / max(each, 1e-6)), 1), count - done)
                # What is left has to suffice for the iterations, and for gathering them.
                # A window that is too short shows before many iterations are lost to it.
                block = min(block, done + max(count // 10, 1))
                if left < 4 * each + self.spec["reserve_s"]:
                    block = 0
                order[:] = block, now() + max(2 * int(1e9 * took), 2_000_000), window
            world.Bcast(order, 0)
            block, first, step = (int(value) for value in order)
            if block == 0:
                break
            beyond = 0
            for index in range(done, done + block):
                if windowed:
                    goal = first + (index - done) * step
                    mine = goal + offset + int(slope[0] * (goal - reference))
                    late[index] = wait_until(mine)
                    planned[index], windows[index] = goal, step
                else:
                    if pause:
                        time.sleep(pause)
                    world.Barrier()
                starts[index] = now()
                operate()
                ends[index] = now()
                if windowed:
                    beyond += bool(late[index]) or ends[index] > mine + step
            if windowed:
                missed = world.reduce(int(beyond), op=self.mpi.MAX)
                if missed is not None and missed > 0.2 * block:
                    window = min(2 * window, int(1e9))
            done += block
        after = self.synchronise()
        found: dict[str, Any] = {
            "starts": self._gathered(starts[:done]),
            "ends": self._gathered(ends[:done]),
            "late": self._gathered(late[:done]),
        }
        found.update(planned=planned[:done], window=windows[:done])
        found.update(clocks_before=before, clocks_after=after)
        return found

    def run_program(self, series: dict[str, Any]) -> dict[str, Any]:
        """Carries out the steps of a program, and times its iterations, each after a barrier.

        Returns:
            As :meth:`run_series`.
        """
        np, world = self.np, self.world
        with gzip.open(self.directory / series["program"], "rt", encoding="utf-8") as file:
            program = json.load(file)
        steps = Steps(self, program)
        count = self.spec["warm_up"] + self.spec["iterations"]
        before = self.synchronise()
        starts, ends = np.zeros(count, np.int64), np.zeros(count, np.int64)
        done, go, longest = 0, np.zeros(1, np.int64), 0.0
        while done < count:
            if self.rank == 0:
                left = self.deadline - time.monotonic()
                go[0] = left > 2 * longest + self.spec["interval_s"] + self.spec["reserve_s"]
            world.Bcast(go, 0)
            if not go[0]:
                break
            if self.spec["interval_s"]:
                time.sleep(self.spec["interval_s"])
            world.Barrier()
            starts[done] = now()
            steps.run_iteration()
            ends[done] = now()
            longest = max(longest, 1e-9 * float(ends[done] - starts[done]))
            done += 1
        # Ranks that are ahead would wait in an exchange of clocks.
        world.Barrier()
        after = self.synchronise()
        if self.spec.get("record"):
            leave(self.directory, f"record-{self.rank}.json", json.dumps(steps.record).encode())
        kept = slice(min(self.spec["warm_up"], done), done)
        none = np.zeros(kept.stop - kept.start, np.int64)
        found: dict[str, Any] = {
            "starts": self._gathered(starts[kept]),
            "ends": self._gathered(ends[kept]),
            "late": self._gathered(none.astype(np.int8)),
        }
        found.update(planned=none, window=none)
        found.update(clocks_before=before, clocks_after=after)
        return found

    def _warm_up(self, operate: Callable[[], Any]) -> float:
        """Connections are made and memory is touched; the longest later iteration, s."""
        longest = 0.0
        for index in range(self.spec["warm_up"] + 3):
            self.world.Barrier()
            begin = time.perf_counter()
            operate()
            if index >= self.spec["warm_up"]:
                longest = max(longest, time.perf_counter() - begin)
        return float(self.world.allreduce(longest, op=self.mpi.MAX))

    def _gathered(self, mine: Any) -> Any:
        np = self.np
        all_ = np.zeros((self.size, mine.size), mine.dtype) if self.rank == 0 else None
        self.world.Gather(np.ascontiguousarray(mine), all_, 0)
        return None if all_ is None else np.ascontiguousarray(all_.T)

    def run(self) -> int:
        """Runs all series; leaves a file for each and one on the environment."""
        if reason := self.unfit():
            alone = self.size == 1
            first = os.environ.get("SLURM_PROCID", "0") == "0" if alone else self.rank == 0
            return fail(self.directory, reason) if first else CANNOT
        wall = time.time() - 1e-9 * now()
        self._leave_environment(0.0)
        for number, series in enumerate(self.spec["series"]):
            program = "program" in series
            found = self.run_program(series) if program else self.run_series(series)
            if self.rank == 0:
                packed = io.BytesIO()
                self.np.savez_compressed(packed, **found)
                leave(self.directory, f"series-{number}.npz", packed.getvalue())
        self._leave_environment(time.time() - 1e-9 * now() - wall)
        return 0

    def _leave_environment(self, clock_set_s: float) -> None:
        mine = {
            "host": host(),
            "own_name": platform.node(),
            "kernel": platform.release(),
            "machine": platform.machine(),
            "clock_set_s": clock_set_s,
        }
        everyone = self.world.gather(mine, 0)
        if everyone is None:
            return
        if len({rank["host"] for rank in everyone}) < self.size:
            # The launcher gave the first node's environment to all.
            everyone = [{**rank, "host": rank["own_name"]} for rank in everyone]
        import mpi4py

        content = {
            "mpi": " ".join(self.mpi.Get_library_version().replace("\0", "").split()),
            "mpi4py": mpi4py.__version__,
            "python": platform.python_version(),
            "numpy": self.np.__version__,
            "variables": {
                name: text
                for name, text in sorted(os.environ.items())
                if name.startswith(VARIABLES)
            },
            "ranks": everyone,
        }
        leave(self.directory, "environment.json", json.dumps(content).encode())


class Steps:
    """The steps of this rank's part of a program, on a communicator of its own."""

    def __init__(self, ranks: Ranks, program: dict[str, Any]) -> None:
        self.mpi, self.world = ranks.mpi, ranks.world.Dup()
        highest = self.world.Get_attr(self.mpi.TAG_UB)
        if highest is not None and program["channels"] > highest:
            raise ValueError(
                f"the program has {program['channels']} channels; this MPI has {highest} tags"
            )
        self.steps = iter(program["ranks"][ranks.rank])
        #: What is under way, by its name: MPI's request, and whether it is a receive.
        self.under_way: dict[int, tuple[Any, bool]] = {}
        self.sent = ranks.np.zeros(max(program["largest"], 1), ranks.np.uint8)
        self.room: dict[int, Any] = {}
        self.ranks = ranks
        #: If asked for, what was sent and received: peer, bytes, in order.
        self.record: dict[str, list[list[int]]] = {"sent": [], "received": []}
        self.recording = bool(ranks.spec.get("record"))

    def run_iteration(self) -> None:
        """All steps up to the end of an iteration, or of the program."""
        for step in self.steps:
            if step == "end":
                return
            ((kind, what),) = step.items()
            if kind == "compute":
                wait_until(now() + what // 1000)
            elif kind == "send":
                to, size, channel, name = what
                request = self.world.Isend([self.sent, size, self.mpi.BYTE], to, channel)
                self.under_way[name] = (request, False)
                if self.recording:
                    self.record["sent"].append([to, size])
            elif kind == "receive":
                sender, channel, name = what
                sender = self.mpi.ANY_SOURCE if sender is None else sender
                # Each that is under way has a place of its own, as MPI demands.
                if name not in self.room:
                    self.room[name] = self.ranks.np.zeros_like(self.sent)
                request = self.world.Irecv([self.room[name], self.mpi.BYTE], sender, channel)
                self.under_way[name] = (request, True)
            else:
                self._wait(what)

    def _wait(self, names: list[int]) -> None:
        under_way = [self.under_way.pop(name) for name in names]
        requests = [request for request, _ in under_way]
        if not self.recording:
            self.mpi.Request.Waitall(requests)
            return
        statuses = [self.mpi.Status() for _ in requests]
        self.mpi.Request.Waitall(requests, statuses)
        for (_, receives), status in zip(under_way, statuses, strict=True):
            if receives:
                size = status.Get_count(self.mpi.BYTE)
                self.record["received"].append([status.Get_source(), size])


def wait_until(time_ns: int) -> bool:
    """Waits for a time of this node's clock; whether it had passed already."""
    left = time_ns - now()
    if left <= 0:
        return True
    if left > SPIN_NS:
        time.sleep(1e-9 * (left - SPIN_NS))
    while now() < time_ns:
        pass
    return False


def command(spec: dict[str, Any], directory: Path) -> int:
    """Times a command from outside, again and again; each run is a line: start, end (ns), code."""
    deadline = time.monotonic() + left_s(spec) - spec["reserve_s"]
    with (directory / "command.txt").open("x", encoding="ascii") as times:
        for _ in range(spec["iterations"]):
            left = deadline - time.monotonic()
            if left <= 0:
                break
            begin = now()
            running = subprocess.Popen(spec["command"], shell=True, start_new_session=True)
            try:
                code: int | str = running.wait(timeout=left)
            except subprocess.TimeoutExpired:
                os.killpg(running.pid, 15)
                try:
                    running.wait(timeout=5)
                except subprocess.TimeoutExpired:
                    os.killpg(running.pid, 9)
                    running.wait()
                code = "timeout"
            print(begin, now(), code, file=times, flush=True)
            time.sleep(spec["interval_s"])
    return 0


def main(arguments: list[str]) -> int:
    """Does what the arguments say; returns the exit code."""
    task, file = arguments
    if task == "check":
        return check()
    path = Path(file)
    spec = json.loads(path.read_text(encoding="utf-8"))
    if task == "command":
        return command(spec, path.parent)
    return Ranks(spec, path.parent).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
