"""Progress bars of runs, studies and proofs."""

from __future__ import annotations

import html
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
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

from odonata import display
from odonata.report.points import points_table
from odonata.simulate import Progress
from odonata.terminal import terminal

if TYPE_CHECKING:
    from typing_extensions import Self

    from odonata.study.file import StudyFile
    from odonata.study.run import StudyProgress
    from odonata.study.sweep import SweepPoint

#: The rate shown is that of the last this many seconds.
RATE_WINDOW_S = 3.0


#: Where no bar can be drawn, such as in a batch job's file, a line says so often how far it is.
LINE_EVERY_S = 30.0


class Lines:
    """Says how far something is where no bar can be drawn: a line now and then.

    Args:
        console: Where to; nothing is said if it is a terminal, which has a bar.
        title: What is done.
    """

    def __init__(self, console: Console, title: str) -> None:
        self._console, self._title = console, title
        self._began = self._last = time.monotonic()
        self._from: float | None = None

    def __call__(self, share: float, remaining_s: float | None = None) -> None:
        """Takes over a report.

        Args:
            share: That is done.
            remaining_s: How long it still takes, if that is known better than from the share.
        """
        now = time.monotonic()
        if self._from is None:
            # What was done before says nothing of the speed.
            self._from = share
        if self._console.is_terminal or now - self._last < LINE_EVERY_S:
            return
        self._last = now
        gained = share - self._from
        if remaining_s is None and gained > 0:
            remaining_s = (now - self._began) * (1 - share) / gained
        left = "" if remaining_s is None else f", about {display.clock(remaining_s)} left"
        self._console.print(
            f"{self._title}: {display.percent(share)} done{left}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )


class _OneBar:
    """A bar with its title, share, some columns between, and the time that remains."""

    def __init__(self, console: Console, title: str, *columns: ProgressColumn) -> None:
        self._lines = Lines(console, title)
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
        console: Where to draw; a line now and then if it is no terminal.
    """

    def __init__(self, console: Console) -> None:
        super().__init__(console, "Proving")
        self._task = self._bar.add_task("Proving", total=None)

    def __call__(self, done: int, total: int) -> None:
        """Takes over a report."""
        self._bar.update(self._task, completed=done, total=total)
        self._lines(done / max(total, 1))


class StudyBar(_OneBar):
    """Shows how far a study is.

    A context manager; within it, call it with the share of the work that is done and how many
    simulations are.

    Args:
        console: Where to draw; a line now and then if it is no terminal.
        title: Of the study.
    """

    def __init__(self, console: Console, title: str) -> None:
        super().__init__(console, title, TextColumn("{task.fields[done]}"))
        self._task = self._bar.add_task(escape(title), total=1.0, done="")

    def __call__(self, share: float, done: int) -> None:
        """Takes over a report."""
        self._bar.update(self._task, completed=share, done=f"{done} simulations done")
        self._lines(share)


class JobsBar(_OneBar):
    """Shows how many jobs of a log have ended.

    A context manager; within it, call it with the jobs that have ended and with all.

    Args:
        console: Where to draw; a line now and then if it is no terminal.
        title: What is done.
    """

    def __init__(self, console: Console, title: str) -> None:
        super().__init__(console, title, TextColumn("{task.fields[done]}"))
        self._task = self._bar.add_task(escape(title), total=None, done="")

    def __call__(self, done: int, total: int) -> None:
        """Takes over a report."""
        said = f"{done:,} of {total:,} jobs"
        self._bar.update(self._task, completed=done, total=total, done=said)
        self._lines(done / max(total, 1))


class PredictionsBar(_OneBar):
    """Shows which prediction is being made.

    A context manager; within it, call it with how many are done, of how many, and the name of the
    next.

    Args:
        console: Where to draw; a line now and then if it is no terminal.
    """

    def __init__(self, console: Console) -> None:
        super().__init__(console, "Predicting", TextColumn("{task.fields[name]}"))
        self._task = self._bar.add_task("Predicting", total=None, name="")

    def __call__(self, done: int, total: int, name: str) -> None:
        """Takes over a report."""
        self._bar.update(self._task, completed=done, total=total, name=escape(name))
        self._lines(done / max(total, 1))


class SweepBar(Bar):
    """Shows how far a study is, over all its points, and the time that remains.

    A context manager; within it, call it with each :class:`odonata.study.run.StudyProgress`.

    Args:
        console: Where to draw; a line now and then if it is no terminal.
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
        self._lines = Lines(console, title)
        self._task = self.add_task(escape(title), total=1.0, done="", remaining="–")

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
        self._lines(now.share, seconds)


class ProgressBar(_OneBar):
    """Shows how far a run is: simulated time, packets per second, time that remains.

    A context manager; within it, call it with each :class:`odonata.simulate.Progress`.

    Args:
        console: Where to draw; a line now and then if it is no terminal.
    """

    def __init__(self, console: Console) -> None:
        super().__init__(
            console,
            "Simulating",
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
        self._lines(progress.fraction)

    def _packets_per_s(self, progress: Progress) -> float:
        now = time.monotonic()
        self._seen.append((now, progress.packets_delivered))
        while len(self._seen) > 2 and now - self._seen[0][0] > RATE_WINDOW_S:
            self._seen.popleft()
        since, delivered = self._seen[0]
        return (progress.packets_delivered - delivered) / max(now - since, 1e-9)


class LiveTable:
    """Shows the points of a sweep as they are done, with a bar for each value, and how far it is.

    A context manager; within it, call it with each :class:`odonata.study.run.StudyProgress`, and
    its ``seen`` with each point.

    Args:
        console: Where to draw; a line now and then if it is no terminal.
        study: What the sweep is.
    """

    def __init__(self, console: Console, study: StudyFile) -> None:
        self._study = study
        self._console = console
        self._bar = SweepBar(console, study.title)
        self._rows: dict[int, dict[str, Any]] = {}
        self._live = Live(
            self, console=console, transient=True, auto_refresh=True, refresh_per_second=5
        )

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def __call__(self, now: StudyProgress) -> None:
        """Takes over how far the sweep is."""
        self._bar(now)

    def seen(self, point: SweepPoint, values: Mapping[str, Any]) -> None:
        """Takes over a point that is done."""
        self._rows[point.number] = {**point.axes, "seed": point.scenario.seed, **values}

    def __rich__(self) -> Group:
        """The table of what is done, as much as fits, and the bar."""
        rows = [self._rows[number] for number in sorted(self._rows)]
        room = max(self._console.height - 8, 3)
        first, *_ = points_table(self._study, rows[-room:]).tables(self._console.width)
        return Group(first, self._bar.get_renderable())


# --- In Python ----------------------------------------------------------------------------


def in_notebook() -> bool:
    """Whether what is displayed goes to a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and "IPKernelApp" in shell.config


class NotebookBar:
    """Shows in a notebook how far something is.

    Called with what any of the bars above is called with.

    Args:
        title: What is done.
    """

    def __init__(self, title: str) -> None:
        from IPython.display import display as show

        self._title = title
        self._handle = show(self._html(0.0), display_id=True)

    def _html(self, share: float) -> Any:
        from IPython.display import HTML

        said = f"{html.escape(self._title)}: {100 * share:.0f} %"
        return HTML(f'<progress max="1" value="{share:.4f}"></progress> {said}')

    def __call__(self, *answer: Any) -> None:
        """Takes over a report."""
        self._handle.update(self._html(share_of(*answer)))

    def ended(self) -> None:
        """Shows that all is done: the last report may have come before."""
        self._handle.update(self._html(1.0))


def share_of(*answer: Any) -> float:
    """The share that is done, of what a bar is called with."""
    first = answer[0]
    if isinstance(first, Progress):
        return first.fraction
    if len(answer) == 1:
        return float(first.share)
    if isinstance(first, float):
        return first
    return first / answer[1] if answer[1] else 0.0


@contextmanager
def following(
    progress: Callable[..., object] | bool | None,
    bar: Callable[[Console], Any],
    title: str,
) -> Iterator[Callable[..., object] | None]:
    """A function to call with how far something is, within the block.

    Args:
        progress: A function of the caller; ``True`` for a bar in the terminal or notebook; or
            nothing.
        bar: Makes the terminal's.
        title: What is done.
    """
    if not progress:
        yield None
    elif progress is not True:
        yield progress
    elif in_notebook():
        shown = NotebookBar(title)
        yield shown
        shown.ended()
    else:
        with bar(terminal(stderr=True)) as drawn:
            yield drawn
