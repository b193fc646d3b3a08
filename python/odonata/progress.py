"""Progress bars of runs, studies and proofs."""

from __future__ import annotations

import html
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.progress import (
    BarColumn,
    ProgressColumn,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar

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
    """A bar with its title, share, some texts between, and the time that remains.

    A context manager; within it, the bar is called with how far it is.

    Args:
        console: Where to draw; a line now and then if it is no terminal.
        title: What is done.
        texts: Names of the texts.
        total: Of what is done, where it is known at the beginning.
        remaining: The time. Default: by the speed of the last seconds.
    """

    def __init__(
        self,
        console: Console,
        title: str,
        *texts: str,
        total: float | None = None,
        remaining: ProgressColumn | None = None,
    ) -> None:
        self._lines = Lines(console, title)
        self._bar = Bar(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=None),
            TaskProgressColumn(),
            *(TextColumn(f"{{task.fields[{name}]}}") for name in texts),
            TextColumn("ETA"),
            remaining or TimeRemainingColumn(compact=True),
            console=console,
            transient=True,
            expand=True,
            disable=not console.is_terminal,
        )
        fields: dict[str, Any] = dict.fromkeys(texts, "")
        self._task = self._bar.add_task(escape(title), total=total, remaining="–", **fields)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._bar.stop()

    def _show(self, done: float, total: float, **texts: Any) -> None:
        self._bar.update(self._task, completed=done, total=total, **texts)
        self._lines(done / max(total, 1))


class ProofBar(_OneBar):
    """Shows how far a proof is; called with what is done and of all."""

    def __init__(self, console: Console) -> None:
        super().__init__(console, "Proving")

    def __call__(self, done: int, total: int) -> None:
        """Takes over a report."""
        self._show(done, total)


class StudyBar(_OneBar):
    """Shows how far a study is; called with the share of the work that is done, and simulations."""

    def __init__(self, console: Console, title: str) -> None:
        super().__init__(console, title, "said", total=1.0)

    def __call__(self, share: float, done: int) -> None:
        """Takes over a report."""
        self._show(share, 1.0, said=f"{done} simulations done")


class JobsBar(_OneBar):
    """Shows how many jobs of a log have ended; called with these and with all."""

    def __init__(self, console: Console, title: str) -> None:
        super().__init__(console, title, "said")

    def __call__(self, done: int, total: int) -> None:
        """Takes over a report."""
        self._show(done, total, said=f"{done:,} of {total:,} jobs")


class PredictionsBar(_OneBar):
    """Shows which prediction is made; called with those done, all, and the name of the next."""

    def __init__(self, console: Console) -> None:
        super().__init__(console, "Predicting", "name")

    def __call__(self, done: int, total: int, name: str) -> None:
        """Takes over a report."""
        self._show(done, total, name=escape(name))


class SweepBar(_OneBar):
    """Shows how far a study is, over all its points; called with each `StudyProgress`."""

    def __init__(self, console: Console, title: str) -> None:
        remaining = TextColumn("{task.fields[remaining]}")
        super().__init__(console, title, "said", total=1.0, remaining=remaining)

    def __call__(self, now: StudyProgress) -> None:
        """Takes over a report."""
        # Points take very different times: the bar's own estimate, from the last seconds, jumps.
        seconds = now.remaining_s
        self._bar.update(
            self._task,
            completed=now.share,
            said=f"{now.done} of {now.total} points",
            remaining="–" if seconds is None else str(timedelta(seconds=round(seconds))),
        )
        self._lines(now.share, seconds)

    def get_renderable(self) -> RenderableType:
        """The bar alone."""
        return self._bar.get_renderable()


class ProgressBar(_OneBar):
    """Shows how far a run is: simulated time, packets per second, time that remains.

    Called with each :class:`odonata.simulate.Progress`.
    """

    def __init__(self, console: Console) -> None:
        super().__init__(console, "Simulating", "simulated", "rate", total=1.0)
        self._seen: deque[tuple[float, int]] = deque()
        #: Simulated time at the last report, in picoseconds.
        self.now_ps = 0

    def __call__(self, progress: Progress) -> None:
        """Takes over a report."""
        self.now_ps = progress.now_ps
        if not self._seen:
            # A resumed run begins in the middle: what was done before is no sign of its speed.
            self._bar.reset(self._task, completed=progress.fraction)  # type: ignore[arg-type]
        self._show(
            progress.fraction,
            1.0,
            simulated=f"{display.duration(progress.now_ps)} simulated",
            rate=f"[cyan]{display.count(self._packets_per_s(progress))} packets/s[/]",
        )

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

    def __exit__(self, *exception: object) -> None:
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
    progress: Callable[..., object] | bool | None, bar: Callable[[Console], Any], title: str
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
