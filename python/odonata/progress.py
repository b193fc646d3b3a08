"""Progress bars of runs, studies and proofs."""

from __future__ import annotations

import time
from collections import deque
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    ProgressColumn,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import (
    Progress as Bar,
)
from typing_extensions import Self

from odonata import display
from odonata.simulate import Progress

if TYPE_CHECKING:
    from odonata.study.run import StudyProgress

#: The rate shown is that of the last so many seconds.
RATE_WINDOW_S = 3.0


class _OneBar:
    """A bar with its title, share, some columns between, and the time that remains."""

    def __init__(self, console: Console, *columns: ProgressColumn) -> None:
        self._bar = Bar(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            *columns,
            TextColumn("ETA"),
            TimeRemainingColumn(compact=True),
            console=console,
            transient=True,
            expand=True,
            disable=not console.is_terminal,
        )

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()


class ProofBar(_OneBar):
    """Shows how far a proof is; a context manager that is called with what is done and of all.

    Args:
        console: Where to draw; nothing is drawn if it is no terminal.
    """

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._task = self._bar.add_task("Proving", total=None)

    def __call__(self, done: int, total: int) -> None:
        """Takes over a report."""
        self._bar.update(self._task, completed=done, total=total)


class StudyBar(_OneBar):
    """Shows how far a study is.

    A context manager; within it, call it with the share of the work that is done and how many
    simulations are.

    Args:
        console: Where to draw; nothing is drawn if it is no terminal.
        title: Of the study.
    """

    def __init__(self, console: Console, title: str) -> None:
        super().__init__(console, TextColumn("{task.fields[done]}"))
        self._task = self._bar.add_task(title, total=1.0, done="")

    def __call__(self, share: float, done: int) -> None:
        """Takes over a report."""
        self._bar.update(self._task, completed=share, done=f"{done} simulations done")


class JobsBar(_OneBar):
    """Shows how many jobs of a log have ended.

    A context manager; within it, call it with the jobs that have ended and with all.

    Args:
        console: Where to draw; nothing is drawn if it is no terminal.
        title: What is done.
    """

    def __init__(self, console: Console, title: str) -> None:
        super().__init__(console, TextColumn("{task.fields[done]}"))
        self._task = self._bar.add_task(title, total=None, done="")

    def __call__(self, done: int, total: int) -> None:
        """Takes over a report."""
        said = f"{done:,} of {total:,} jobs"
        self._bar.update(self._task, completed=done, total=total, done=said)


class SweepBar(Bar):
    """Shows how far a study is, over all its points, and the time that remains.

    A context manager; within it, call it with each :class:`odonata.study.run.StudyProgress`.

    Args:
        console: Where to draw; nothing is drawn if it is no terminal.
        title: Of the study.
    """

    def __init__(self, console: Console, title: str) -> None:
        super().__init__(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            TextColumn("{task.fields[done]}"),
            TextColumn("ETA {task.fields[remaining]}"),
            console=console,
            transient=True,
            expand=True,
            disable=not console.is_terminal,
        )
        self._task = self.add_task(title, total=1.0, done="", remaining="–")

    def __call__(self, now: StudyProgress) -> None:
        """Takes over a report."""
        # Points take very different times: the bar's own estimate, from the last seconds, jumps.
        seconds = now.remaining_s
        remaining = "–" if seconds is None else str(timedelta(seconds=round(seconds)))
        self.update(
            self._task,
            completed=now.share,
            done=f"{now.done} of {now.total} points",
            remaining=remaining,
        )


class ProgressBar(_OneBar):
    """Shows how far a run is: simulated time, packets per second, time that remains.

    A context manager; within it, call it with each :class:`odonata.simulate.Progress`.

    Args:
        console: Where to draw; nothing is drawn if it is no terminal.
    """

    def __init__(self, console: Console) -> None:
        super().__init__(
            console,
            TextColumn("{task.fields[simulated]}"),
            TextColumn("{task.fields[rate]}", style="cyan"),
        )
        self._task = self._bar.add_task("Simulating", total=1.0, simulated="", rate="")
        self._seen: deque[tuple[float, int]] = deque()
        #: Simulated time at the last report, in picoseconds.
        self.now_ps = 0

    def __call__(self, progress: Progress) -> None:
        """Takes over a report."""
        self.now_ps = progress.now_ps
        if not self._seen:
            # A resumed run begins in the middle: what was done before is no sign of its speed.
            self._bar.reset(self._task, completed=progress.fraction)  # type: ignore[arg-type]
        self._bar.update(
            self._task,
            completed=progress.fraction,
            simulated=f"{display.duration(progress.now_ps)} simulated",
            rate=f"{display.count(self._packets_per_s(progress))} packets/s",
        )

    def _packets_per_s(self, progress: Progress) -> float:
        now = time.monotonic()
        self._seen.append((now, progress.packets_delivered))
        while len(self._seen) > 2 and now - self._seen[0][0] > RATE_WINDOW_S:
            self._seen.popleft()
        since, delivered = self._seen[0]
        return (progress.packets_delivered - delivered) / max(now - since, 1e-9)
