"""Worker processes on this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from odonata.errors import InternalError
from odonata.processes import isolated_main
from odonata.study.task import Outcome, Task, TaskError, failure, simulate_task

#: How often the study learns that time has passed, at least.
TICK_S = 0.2


class LocalExecutor:
    """Processes of this machine, one simulation in each at a time.

    They are processes and not threads so that one that is killed, such as for want of memory,
    takes neither the study nor its neighbours with it, and so that a stopped study can stop them
    at once. They end by themselves when the study's process does, however it ends.

    Args:
        processes: How many. Default: processors that this process may use.
    """

    def __init__(self, processes: int | None = None) -> None:
        self.processes = processes or available_processors()

    def run(
        self, tasks: Sequence[Task], report: Callable[[str, float], object]
    ) -> Generator[tuple[Task, Outcome | TaskError]]:
        """As [`Executor.run`][odonata.study.task.Executor.run]."""
        waiting = deque(tasks)
        workers = [_Worker() for _ in range(min(self.processes, len(tasks)))]
        by_pipe = {worker.pipe: worker for worker in workers}
        try:
            for worker in workers:
                worker.give(waiting)
            while any(worker.task is not None for worker in workers):
                busy = [worker.pipe for worker in workers if worker.task is not None]
                for pipe in wait(busy, timeout=TICK_S):
                    worker = by_pipe[pipe]  # type: ignore[index]
                    task = worker.task
                    assert task is not None
                    kind, content = worker.receive(task)
                    if kind == "share":
                        report(task.key, content)
                    else:
                        found = failure(task, content) if kind == "error" else content
                        worker.give(waiting)
                        yield task, found
                report("", 0.0)
        finally:
            for worker in workers:
                worker.end()


class _Worker:
    """A process and the pipe to it."""

    def __init__(self) -> None:
        # Not forked: a copy of a process with threads may hold locks that nobody releases.
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.task: Task | None = None
        self._process: BaseProcess = context.Process(target=_serve, args=(theirs,), daemon=True)
        with isolated_main():
            self._process.start()
        theirs.close()

    def give(self, waiting: deque[Task]) -> None:
        """Hands over the next task, if there is one."""
        self.task = waiting.popleft() if waiting else None
        if self.task is not None:
            try:
                self.pipe.send(self.task)
            except OSError:
                raise self._died(self.task) from None

    def receive(self, task: Task) -> tuple[str, Any]:
        """What it says: its share, its outcome or its error."""
        try:
            said: tuple[str, Any] = self.pipe.recv()
        except (EOFError, OSError):
            raise self._died(task) from None
        return said

    def _died(self, task: Task) -> TaskError:
        self._process.join(5)
        return TaskError(
            f"at the point {task.name}: its process ended without a word (exit code "
            f"{self._process.exitcode}); was it killed for want of memory? Try fewer --jobs."
        )

    def end(self) -> None:
        """Stops it, whatever it does."""
        self._process.terminate()
        self._process.join()
        self.pipe.close()


def _serve(pipe: Connection) -> None:
    """A worker's life: simulates what comes until its parent ends it, or ends itself."""
    # Ctrl-C reaches every process of the terminal; the parent decides what comes of it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    assert parent is not None
    sentinel = parent.sentinel

    def follow_parent() -> None:
        wait([sentinel])
        os._exit(1)

    threading.Thread(target=follow_parent, daemon=True).start()
    while True:
        task: Task = pipe.recv()
        try:
            pipe.send(("done", simulate_task(task, lambda share: pipe.send(("share", share)))))
        except Exception as error:
            pipe.send(("error", _portable(error)))


def _portable(error: Exception) -> Exception:
    """The error, or what can be said of one that cannot be sent to another process."""
    import pickle

    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return InternalError(f"{type(error).__name__}: {error}")
    return error


def available_processors() -> int:
    """Processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1
