"""What is asked of Slurm for jobs: nodes and begin times; by one ``scontrol`` for many of them.

``scontrol`` reads commands from its standard input, so that no process is made for each and no
shell sees any. They hold nothing but ids of jobs and names of nodes, both of known letters.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO

from odonata.errors import ClusterError
from odonata_live.cluster.jobs import UNTIL_PLACED

_JOB = re.compile(r"\d+(?:_\d+)?", re.ASCII)
_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
#: Beside what was refused, `scontrol` repeats what it is asked, broken as for a terminal.
_REFUSED = re.compile(r"\bfor job \d|\berror: ")


def pin(job: str, nodes: Sequence[str]) -> str:
    """The command that gives a waiting job its nodes."""
    return f"update jobid={_job(job)} NumNodes={len(nodes)} ReqNodeList={_nodes(nodes)}"


def begin(job: str) -> str:
    """The command that lets a job begin that waits for us. A hold stays what it is."""
    return f"update jobid={_job(job)} StartTime=now"


def unpin(job: str) -> str:
    """The command that takes a job's nodes back."""
    return f"update jobid={_job(job)} ReqNodeList="


def withdraw(job: str) -> str:
    """The command that lets a job wait for us that has not begun, and takes its nodes back."""
    return f"update jobid={_job(job)} StartTime={UNTIL_PLACED} ReqNodeList="


def leave(job: str, *, pinned: bool, refused: bool = False) -> list[str]:
    """Commands that leave a job to Slurm.

    Args:
        job: Its id.
        pinned: Whether it has nodes of ours.
        refused: Whether Slurm itself holds it, as it cannot run on these.
    """
    given_back = [unpin(job)] if pinned else []
    return [*given_back, f"release {_job(job)}" if refused else begin(job)]


def _job(job: str) -> str:
    if not _JOB.fullmatch(job):
        raise ClusterError(f"found {job!r:.40} as a job's id; allowed: such as 12 or 12_3")
    return job


def _nodes(nodes: Sequence[str]) -> str:
    if wrong := [node for node in nodes if not _NODE.fullmatch(node)]:
        raise ClusterError(f"found {wrong[0]!r:.40} as a node's name")
    return ",".join(nodes)


@dataclass(frozen=True)
class Session:
    """How ``scontrol`` is called.

    Attributes:
        timeout_s: How long one call may take, however many commands it gets.
        keep: Descriptors that it inherits: a lock that lasts as long as anybody may still act.
        beside: How many of them share commands that do not depend on each other: each waits for
            slurmctld most of its time.
    """

    timeout_s: float = 60.0
    keep: tuple[int, ...] = ()
    beside: int = 4

    def run(self, commands: Sequence[str], *, apart: bool = False) -> list[str]:
        """Carries commands out.

        Args:
            commands: One a line, in their order.
            apart: They are of different jobs, so that their order is of no matter.

        Returns:
            What was refused, a line each; what became of the jobs is for the queue to say.

        Raises:
            ClusterError: If ``scontrol`` cannot be run, or does not end in time.
        """
        if not commands:
            return []
        count = min(self.beside, -(-len(commands) // 8)) if apart else 1
        running: list[tuple[subprocess.Popen[bytes], IO[bytes]]] = []
        try:
            for part in range(count):
                running.append(self._start(commands[part::count]))
            deadline = time.monotonic() + self.timeout_s
            refused: list[str] = []
            for process, answer in running:
                process.wait(max(0.0, deadline - time.monotonic()))
                answer.seek(0)
                lines = answer.read().decode(errors="replace").splitlines()
                refused += [line for line in lines if _REFUSED.search(line)]
            return refused
        except subprocess.TimeoutExpired:
            raise ClusterError(
                f"scontrol: not done within {self.timeout_s:g} s. Is slurmctld up and not "
                "overloaded (`sdiag`)?"
            ) from None
        except OSError as error:
            raise ClusterError(f"scontrol: cannot be run: {error.strerror}") from error
        finally:
            for process, answer in running:
                if process.poll() is None:
                    process.kill()
                    process.wait()
                answer.close()

    def _start(self, commands: Sequence[str]) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
        # Files of memory: no pipe can fill up, and a full disk is of no matter.
        asked, answer = _memory("asked"), _memory("answer")
        try:
            with asked:
                asked.write("\n".join([*commands, ""]).encode())
                asked.seek(0)
                process = subprocess.Popen(
                    ["scontrol"],
                    stdin=asked,
                    stdout=answer,
                    stderr=subprocess.STDOUT,
                    pass_fds=self.keep,
                    preexec_fn=_die_with(os.getpid()),
                )
        except BaseException:
            answer.close()
            raise
        return process, answer


def _memory(name: str) -> IO[bytes]:
    return os.fdopen(os.memfd_create(name), "w+b")


_libc = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1


def _die_with(parent: int) -> Callable[[], None]:
    """What a daemon that was killed has begun ends with it."""

    def set_signal() -> None:
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return set_signal
